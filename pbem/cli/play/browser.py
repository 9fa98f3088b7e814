"""`pbem play --browser`: serves the page at home until Ctrl-C; `pbem.player.page_room` is what it shows and does."""

from __future__ import annotations

import os
import signal
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from pbem.i18n import ENGLISH, LANGUAGES
from pbem.player.page_room import PlayRoom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.player.play_table import PlayTable


def run(table: PlayTable, match: str = "") -> None:
    """Serve the page for a table's account, or for all if it names none, and open it in the browser at a match."""
    first = f"{table.account.id}/{match}" if match else ""
    room = PlayRoom(table.folders, first, _language(os.environ), click.echo)
    port = room.port()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with room.afterwards:
            named = [table] if table.name or match else None
            for one in named or (room.table(name, table.front) for name in table.folders.accounts):
                if wrong := room.tried(partial(room.seat, one)):
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
