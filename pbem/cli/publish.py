"""`pbem publish`: the page of a match from its bundle, or all pages of a server as a folder of plain files.

Only reading and printing live here; `pages` puts pages together, and `desk.public` decides what may be told.
Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pbem.cli.common import config_option, opened
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.pages.replay import replay
from pbem.proof.bundle import BeyondLimits, load, read

__all__ = ["publish"]


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
    for each finished public match (without the players' letters); and the pages on which players compose orders. It
    holds nothing of a private match, and of a running match only how it stands. Only files that changed are
    written, and they are renamed into place; run it as often as you like, beside the server.

    Pages load nothing and send nothing. Exit status 1: the file is not a bundle, or the store cannot be read; 2:
    the file is larger than the limits.
    """
    if place.is_file():
        _print(place, language)
    else:
        _fill(place, config_file)


def _print(bundle: Path, language: str) -> None:
    try:
        page = replay(read(load(bundle)), language=language).encode()
    except (ValueError, KeyError, TypeError) as error:  # ValueError: no bundle, and text that has no bytes
        click.echo(f"{bundle}: {error}", err=True)
        sys.exit(2 if isinstance(error, BeyondLimits) else 1)
    click.echo(page, nl=False)


def _fill(folder: Path, config_file: Path) -> None:
    from pbem.desk.public import Public
    from pbem.pages import site

    with opened(config_file) as store:
        public = Public(store.config.server, store.database, store.vault)
        config = store.config
        home = {"server": config.server, "address": config.mail_address, "delimiter": config.delimiter}
        facts = {**home, **public.site()}
        try:
            done = site.publish(folder, site.pages(facts, public.finished()))
        except OSError as error:
            raise click.ClickException(f"{folder}: {error}") from error
    click.echo(
        f"{folder}: {len(done.written)} written, {len(done.kept)} as they were, {len(done.removed)} taken away."
    )
