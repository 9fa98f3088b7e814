"""Old letters are deleted, evidence stays, and the operator is told in time that room runs out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.inquiries import held
from in_a_box.small_games import FLEETS

from pbem.config.values import Duration
from pbem.identity import ssh
from pbem.store.database import Database
from pbem.store.errors import BusyError

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee

SMALL = "fleet: cost:3\nsettle: 0\npace: none"
MONTH = timedelta(days=31)


@pytest.fixture
def forgetful(referee: Referee) -> Referee:
    """A referee that keeps handled letters for a month."""
    limits = msgspec.structs.replace(referee.config.limits, letters_kept=Duration(days=30))
    referee.configure(limits=limits)
    return referee


def rows(referee: Referee, table: str) -> int:
    return int(referee.database.scalar(f"SELECT count(*) FROM {table}"))


def later(referee: Referee, time: timedelta) -> None:
    """The daemon looks at the clock some day, as long as there is something to do."""
    referee.now += time
    referee.alive()
    for _ in range(20):
        referee.running.tick(referee.now)
        referee.collect()


def test_case_36_handled_and_sent_letters_go_and_the_match_is_played_on_and_proved(forgetful: Referee) -> None:
    referee = forgetful
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.turn((ann, "Rv1"), (bob, ""))
    assert rows(referee, "inbox") > 5
    assert rows(referee, "outbox") > 5
    later(referee, MONTH)
    assert rows(referee, "inbox") == 0
    # What set a clock going and may still tell of a delay stays.
    assert rows(referee, "outbox") <= 2
    for cell in ("Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    referee.send(ann, "transcript m1\n", sign=False)
    held(ann.last)
    assert referee.match().phase == "closed"


def test_words_that_had_their_effect_have_none_when_their_letter_is_forgotten(forgetful: Referee) -> None:
    referee = forgetful
    ann = referee.registered("ann")
    referee.send(ann, "set mail digest\n")
    received = [referee.inbox.raw(row["id"]) for row in referee.database.rows("SELECT id FROM inbox")]
    again = next(raw for raw in received if b"set mail digest" in raw and b"rev" in raw)
    referee.send(ann, "set mail each\n")
    later(referee, MONTH)
    referee.deliver(again, ann.address)
    assert referee.desk.players.setting("ann", "mail", "") == "each"


def test_what_strangers_left_goes(forgetful: Referee) -> None:
    referee = forgetful
    for number in range(5):
        one = referee.person(f"stranger{number}")
        referee.deliver(referee.raw(one, f"register {one.name}\n{ssh.public(one.key)}\n"), one.address)
        referee.deliver(referee.raw(one, "help\n"), one.address)
    assert rows(referee, "challenges") == 5
    assert rows(referee, "reply_tokens") == 10
    assert rows(referee, "daily") > 5
    later(referee, MONTH)
    assert [rows(referee, table) for table in ("challenges", "reply_tokens", "inbox", "outbox")] == [0, 0, 0, 0]
    zoe = referee.registered("zoe")
    assert rows(referee, "daily") <= 4
    assert "registered" in zoe.text


def test_case_36_the_operator_hears_that_room_runs_out_once_a_day(
    referee: Referee, operator: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [10**12]
    monkeypatch.setattr(type(referee.database.engine), "room", lambda _: room[0])
    referee.work()
    assert len(operator.letters) == 0
    room[0] = 100 * 2**20
    for _ in range(3):
        referee.open_desk()  # also across restarts
        referee.work()
    assert len(operator.letters) == 1
    assert "has 100 MiB left" in operator.text
    referee.wait(timedelta(days=1))
    assert len(operator.letters) == 2


def test_the_operator_hears_of_it_though_the_store_was_busy(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BusyError("the store is busy")

    referee.work()
    monkeypatch.setattr(type(referee.database.engine), "room", lambda _: 0)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "transaction", fail)
        with pytest.raises(BusyError):
            referee.desk.due_tasks.tick(referee.now)
    referee.desk.due_tasks.tick(referee.now)
    assert referee.outbox.count() == 1
