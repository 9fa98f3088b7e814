"""`pbem publish`: the page of a match from its bundle, or all pages of a server as a folder of plain files.

Only reading and printing live here; `pages` puts pages together, and `desk.public` decides what may be told.
Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option, opened
from pbem.cli.ending import unreadable
from pbem.cli.verify import kept_letters, witness_keys
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.match.record import NotARecord
from pbem.pages.match_page import Witnessed, noted, replay
from pbem.phrase import clean
from pbem.proof.bundle import OtherVersion, load, read
from pbem.proof.compare.chain import latest
from pbem.proof.kept_letters import kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.verifier_key import VerifierKey


@click.command()
@click.argument("place", metavar="BUNDLE|DIR", type=click.Path(path_type=Path))
@config_option
@click.option(
    "--language", type=click.Choice(LANGUAGES), default=ENGLISH, show_default=True, help="Language of BUNDLE's page."
)
@click.option(
    "--against",
    multiple=True,
    metavar="LETTER",
    type=click.Path(exists=True, path_type=Path),
    help="A letter that you kept, or a folder of them: BUNDLE's page shows what witnesses saw by it.",
)
@click.option(
    "--notes",
    multiple=True,
    metavar="RECORD",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A record of BUNDLE to which you added notes: its page shows them, turn by turn.",
)
@click.option("--witness", "witnesses", multiple=True, metavar="KEY", help="A witness whose key BUNDLE's page names.")
def publish(
    place: Path,
    config_file: Path,
    language: str,
    against: tuple[Path, ...],
    notes: tuple[Path, ...],
    witnesses: tuple[str, ...],
) -> None:
    """Print the page of the match in BUNDLE, or bring the pages of this server in DIR up to date.

    The page of a match steps through its finished games and carries the proof, to be checked in the browser. The
    whole bundle is in it, letters and their senders' addresses included. With --against it also carries what those
    letters prove of the server's log, and with --witness whose cosignatures to look for there. For --notes, unpack
    BUNDLE, and write lines such as note = "Here I should have fired." into a copy of records/game-1.pbem.toml: at its
    top, or below the [[turn]] that they are about.

    DIR holds, in each language, an index with the standings, the open invitations and the public matches; a page
    for each invitation, to be passed on; a page for each finished public match (without the players' letters), and
    a picture of its decisive turn, which other sites show of a link to it if `pages` is set; a page for each
    tournament, with its transcript, and as the file that `pbem verify` reads (without letters, too); feeds (Atom)
    of all that, with the turns of each public match; and the pages on which players compose orders. It holds
    nothing of a private match, and of a running match only how it stands. Only files that changed are written, and
    they are renamed into place; run it as often as you like, while the server runs.

    Pages load nothing and send nothing. Exit status 2: the file is not a bundle, or is larger than the limits.
    """
    if place.is_file():
        _print(place, against, notes, witness_keys(witnesses), language)
    elif against or notes or witnesses:
        raise click.UsageError("--against, --notes and --witness are for the page of a BUNDLE")
    else:
        _fill(place, config_file)


def _print(
    bundle: Path, against: Sequence[Path], notes: Sequence[Path], witnesses: Sequence[VerifierKey], language: str
) -> None:
    letters = [kept(source, raw) for source, raw in kept_letters(against)]
    try:
        found = read(load(bundle))
        logged = latest(chain.from_iterable(one.logged for one in letters), found, witnesses)
        keys = [str(key) for key in witnesses]
        said: list[dict[str, object]] = []
        for path in notes:
            try:
                said += noted(found, path.read_text("utf-8-sig"))
            except (OSError, ValueError, NotARecord) as error:
                raise unreadable(f"{path}: {error}") from error
        page = replay(found, witnessed=Witnessed(logged, keys), press=said, language=language).encode()
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
