"""A desk that takes over from one that died: what that had leased is given back, whatever the disk does meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pbem.store.errors import FullError
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from in_a_box.referee import Referee

    from pbem.store.inbox import Inbox


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

    def fail_once(inbox: Inbox) -> int:
        asked.append(True)
        if full and full.pop():
            raise FullError("no room")
        return release_all(inbox)

    monkeypatch.setattr(type(inbox), "release_all", fail_once)
    with pytest.raises(FullError):
        desk.may_decide()
    assert all(desk.may_decide() for _ in range(3))
    assert len(asked) == 2, "what this desk leases itself is not given back"
    assert desk.handle_next(referee.now) == 1
