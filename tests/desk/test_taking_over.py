"""A desk that takes over from one that died: what that had leased is given back, whatever the disk does meanwhile."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from pbem.store.errors import BusyError, FullError
from pbem.store.inbox import ATTEMPTS, REST, Envelope, Inbox

if TYPE_CHECKING:
    from in_a_box.referee import Referee


def test_letters_of_a_dead_desk_are_given_back_once_the_disk_can_be_written(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desk that could not do so at its beginning left them leased for as long as it lived."""
    inbox: Inbox = referee.desk.inbox
    raw = b"From: eve@mail.example\nTo: pbem@play.example\nMessage-ID: <1@mail.example>\n\nhelp\n"
    inbox.put(Envelope("eve@mail.example", ("pbem@play.example",), ""), raw, referee.now)
    assert len(inbox.lease_some(1, referee.now)) == 1
    referee.open_desk()
    desk, full, asked = referee.running, [True], list[bool]()
    release_all = type(inbox).release_all

    def fail_once(inbox: Inbox, *, blame: bool) -> int:
        asked.append(True)
        if full and full.pop():
            raise FullError("no room")
        return release_all(inbox, blame=blame)

    monkeypatch.setattr(type(inbox), "release_all", fail_once)
    with pytest.raises(FullError):
        desk.may_decide()
    assert all(desk.may_decide() for _ in range(3))
    assert len(asked) == 2, "what this desk leases itself is not given back"
    assert desk.handle_next(referee.now) == 1


@pytest.mark.parametrize("dies", [False, True])
def test_no_letter_is_to_blame_for_a_connection_that_broke(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, *, dies: bool
) -> None:
    """A letter at hand three times when the database went out of reach was set aside (whole week 52)."""
    inbox, raw = (
        referee.desk.inbox,
        b"From: eve@mail.example\nTo: pbem@play.example\nMessage-ID: <1@mail.example>\n\nhelp\n",
    )
    inbox.put(Envelope("eve@mail.example", ("pbem@play.example",), ""), raw, referee.now)

    def out_of_reach(point: str) -> None:
        if point == "letter read":
            referee.database.engine.decides = False
            raise BusyError("the connection broke")

    for number in range(ATTEMPTS + 1):
        monkeypatch.setattr(referee.desk, "points", out_of_reach)
        assert referee.running.may_decide()
        with contextlib.suppress(BusyError):
            referee.running.handle_next(referee.now + number * REST)
        if dies:
            referee.open_desk()
    monkeypatch.undo()
    assert referee.running.may_decide()
    assert bool(referee.running.handle_next(referee.now + (ATTEMPTS + 1) * REST)) is not dies
    assert [row["state"] for row in referee.database.rows("SELECT state FROM inbox")] == ["aside" if dies else "done"]
