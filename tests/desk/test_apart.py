"""Decisions see what they write, although nothing of it is written while they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from referee import ANN, BOB, SERVER
from stores import of_sqlite

from pbem.store.database import Database
from pbem.store.errors import OvertakenError
from pbem.store.inbox import Envelope
from pbem.store.sqlite import Sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest
    from referee import Referee

ORDERS = "Rv1 Rv2 Rv3 Rv4 Rv5 Rw1 Rw2"
DECISIONS = 30
"""At least so many are made in what follows."""


@of_sqlite
def test_no_query_finds_otherwise_when_its_decision_is_written(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked again when it is written, behind what was written before it, and gives the same rows.

    As if others had written meanwhile, which is what lets a decision be held against the store.
    """
    overtaken: list[str] = []
    behind_lock: list[bool] = []
    decide = Database.decide

    def noted(
        database: Database, decision: Callable[[], object], *, locked: bool = False, about: Iterable[str] = ()
    ) -> object:
        behind_lock.append(locked)
        try:
            return decide(database, decision, locked=locked, about=about)
        except OvertakenError as error:
            overtaken.append(str(error))
            raise

    monkeypatch.setattr(Database, "decide", noted)
    monkeypatch.setattr(Sqlite, "written", lambda _: object())
    ann, bob = referee.begun("miss: pass", (ANN, BOB))
    for setting in ("mail digest", "language de", "mail each"):
        referee.send(ann, f"set {setting}\n")
        referee.turn((ann, ORDERS), (bob, ORDERS))
    together(referee, *(referee.raw(one, referee.signed(one, "games\n")) for one in (ann, bob, ann)))
    together(referee, *(referee.raw(referee.person(f"eve{number}"), "help\n") for number in (1, 2, 1, 1, 2)))
    referee.send(bob, f"resign m1 match\nserver {SERVER}\nplayer bob\nend\n")
    assert not overtaken
    assert len(behind_lock) > DECISIONS
    assert not any(behind_lock)


def together(referee: Referee, *raws: bytes) -> None:
    """Letters that are worked on in one decision."""
    for raw in raws:
        sender = raw.partition(b"<")[2].partition(b">")[0].decode()
        referee.inbox.put(Envelope(sender, (f"pbem@{SERVER}",)), raw, referee.now)
    referee.work()
