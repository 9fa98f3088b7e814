"""`pbem publish`: the page of a match from its bundle, or all pages of a server as a folder of plain files.

Only reading and printing live here; `pages` puts pages together, and `desk.public` decides what may be told.
Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

from pathlib import Path

import click

from pbem.cli.common import config_option, opened
from pbem.cli.ending import unreadable
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.pages.match_page import replay
from pbem.phrase import clean
from pbem.proof.bundle import OtherVersion, load, read


@click.command()
@click.argument("place", metavar="BUNDLE|DIR", type=click.Path(path_type=Path))
@config_option
@click.option(
    "--language", type=click.Choice(LANGUAGES), default=ENGLISH, show_default=True, help="Language of BUNDLE's page."
)
def publish(place: Path, config_file: Path, language: str) -> None:
    """Print the page of the match in BUNDLE, or bring the pages of this server in DIR up to date.

    The page of a match steps through its finished games and carries the proof, to be checked in the browser. The
    whole bundle is in it, letters and their senders' addresses included.

    DIR holds, in each language, an index with the standings, the open invitations and the public matches; a page
    for each invitation, to be passed on; a page for each finished public match (without the players' letters); a page
    for each tournament, with its transcript, and as the file that `pbem verify` reads (without letters, too); and the
    pages on which players compose orders. It holds nothing of a private match, and of a running match only how it
    stands. Only files that changed are written, and they are renamed into place; run it as often as you like, while
    the server runs.

    Pages load nothing and send nothing. Exit status 2: the file is not a bundle, or is larger than the limits.
    """
    if place.is_file():
        _print(place, language)
    else:
        _fill(place, config_file)


def _print(bundle: Path, language: str) -> None:
    try:
        page = replay(read(load(bundle)), language=language).encode()
    except OtherVersion as error:
        raise click.ClickException(clean(f"{bundle}: {error}")) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # no bundle; text without bytes; odd values
        raise unreadable(f"{bundle}: {error}") from error
    click.echo(page, nl=False)


def _fill(folder: Path, config_file: Path) -> None:
    from pbem.desk.public import Public
    from pbem.desk.tournament.tournament_pages import public_tournaments
    from pbem.pages import site

    with opened(config_file) as store:
        public = Public(store.config.server, store.database, store.vault)
        config = store.config
        home = {"server": config.server, "address": config.mail_address, "delimiter": config.delimiter}
        facts = {**home, "pages": config.pages, "house": config.house_name, **public.site()}
        try:
            tournaments = list(public_tournaments(config.server, store.database, store.vault))
            witnesses = [str(witness.key) for witness in config.witness.cosigners]
            done = site.publish(folder, site.pages(facts, public.finished(), witnesses, tournaments))
        except OSError as error:
            raise click.ClickException(f"{folder}: {error.strerror or error}") from error
    click.echo(f"{folder}: {len(done.written)} written, {len(done.kept)} unchanged, {len(done.removed)} removed.")
