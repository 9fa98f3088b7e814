"""`pbem play --browser`: all of `pbem play` on a page of this machine, until Ctrl-C or a press of its button.

Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import os
import signal
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from pbem.cli.play.foundation import PlayTable
from pbem.cli.play.page_room import PlayRoom, tried
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.letters.render import Templates
from pbem.phrase import Phrase
from pbem.player.page_port import PagePort

if TYPE_CHECKING:
    from collections.abc import Mapping


_USED = Phrase(
    "This address was used up: it opens the page once. Go to the tab that it opened. If you did not open it, somebody"
    " else on this machine did: press Ctrl-C in the terminal, and start `pbem play --browser` again."
)


def run(table: PlayTable, match: str = "") -> None:
    """Serve the page for a table's account, or for all if it names none, and open it in the browser at a match."""
    first = f"{table.account.id}/{match}" if match else ""
    language = _language(os.environ)
    room = PlayRoom(table.folders, first, language)
    names = table.folders.accounts
    tables = [table] if table.name or match else [PlayTable(table.folders, name, 0.0) for name in names]
    port = PagePort(os.urandom, room, Templates().of(language).say(_USED))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with room.afterwards:
            for one in tables:
                room.afterwards.callback(one.afterwards.close)
                if wrong := tried(partial(room.seat, one)):
                    click.echo(wrong, err=True)
            click.echo(f"Your matches are on a page, until you press Ctrl-C here, or Stop there:\n\n    {port.url}\n")
            click.launch(port.url)
            room.work.run(room.look)
    except KeyboardInterrupt:
        click.echo("Stopped.")
    finally:
        room.news.tell({"stopped": True})  # no tab may go on asking this port: it may be another's next
        port.stop()


def _language(environment: Mapping[str, str]) -> str:
    """The language of this user, as far as the page speaks it: a player's installation may have English alone."""
    named = environment.get("LC_ALL") or environment.get("LC_MESSAGES") or environment.get("LANG") or ""
    tag = named.partition(".")[0].partition("_")[0]
    return tag if tag in LANGUAGES and find_spec("babel") else ENGLISH
