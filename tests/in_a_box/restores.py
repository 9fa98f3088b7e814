"""A store that is put back from a backup, in a new generation, as `pbem restore` puts it there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from in_a_box.stores import connection

from pbem.store.operator import Instructions, begin_generation

if TYPE_CHECKING:
    from in_a_box.referee import Referee


def back_up(referee: Referee) -> sqlite3.Connection:
    into = sqlite3.connect(":memory:")
    connection(referee.database).backup(into)
    return into


def put_back(referee: Referee, backup: sqlite3.Connection, above: int = 1) -> int:
    """Put the copy in place of the store, and start the server: all matches are paused. Returns the generation."""
    with closing(backup):
        backup.backup(connection(referee.database))
    referee.outbox.release_all()
    referee.inbox.release_all()
    generation = begin_anew(referee, above)
    referee.work()
    return generation


def begin_anew(referee: Referee, above: int) -> int:
    """Start the server in a new generation, whatever it forgot. Returns the generation."""
    with referee.database.transaction():
        generation = begin_generation(referee.database, above)
        Instructions(referee.database).give("restored", "", "", "root", referee.now)
    referee.open_desk()
    return generation


def resume_all(referee: Referee) -> None:
    """Resume all matches, as `pbem match resume --all` does."""
    for number in referee.desk.archive.matches.in_phases("setup", "playing"):
        Instructions(referee.database).give(
            "resume", f"m{number}", "restored; play on from here", "root", referee.now
        )
    referee.work()
