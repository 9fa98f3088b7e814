"""Admission beyond a network's letters of a day: by what proves the sender, never by what is written.

That the limit is kept is in `tests/server/test_daemon.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import reply_to
from in_a_box.referee import SERVER, Referee

from pbem.desk.reading import Findings, InProcess, ReaderError
from pbem.desk.strangers import BOUNCES, DeskAdmission
from pbem.store.database import Database
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.config.limits import Limits

TO = (f"pbem@{SERVER}",)


@pytest.fixture
def admission(referee: Referee) -> Iterator[DeskAdmission]:
    with Database(referee.database.place) as database:
        yield DeskAdmission(referee.config, database, referee.vault, InProcess)


def known(admission: DeskAdmission, referee: Referee, raw: bytes, *to: str) -> bool:
    return admission.knows(Envelope("whoever@example.org", to or TO), raw, referee.now)


def test_a_players_signature_lets_in_and_nothing_that_anybody_can_write(
    admission: DeskAdmission, referee: Referee
) -> None:
    ann = referee.registered("ann")
    raw = referee.raw(ann, referee.signed(ann, "resign m1\n"))
    assert known(admission, referee, raw)
    assert not known(admission, referee, referee.raw(ann, "resign m1\n"))
    assert not known(admission, referee, raw.replace(b"resign m1", b"resign m2"))
    assert not known(admission, referee, raw.replace(b"ann@mail", b"bob@mail"))
    eve = referee.person("eve")
    assert not known(admission, referee, referee.raw(eve, referee.signed(eve, "help\n")))


def test_words_that_were_handled_let_nobody_in_again(admission: DeskAdmission, referee: Referee) -> None:
    """Others have seen them, and can send them in ever new letters."""
    ann = referee.registered("ann")
    text = referee.signed(ann, "new spaceships\nend\n")
    assert known(admission, referee, referee.raw(ann, text))
    referee.deliver(referee.raw(ann, text), ann.address)
    assert not known(admission, referee, referee.raw(ann, text))


def test_an_answer_to_a_letter_of_ours_is_let_in_until_there_was_one(
    admission: DeskAdmission, referee: Referee
) -> None:
    ann = referee.person("ann")
    referee.send(ann, "register ann\n", sign=False)
    to = reply_to(ann.last)
    assert known(admission, referee, referee.raw(ann, "register ann\n"), to)
    assert not known(admission, referee, referee.raw(ann, "register ann\n"), f"pbem+register.{'a' * 20}@{SERVER}")
    assert not known(admission, referee, referee.raw(ann, "register ann\n"), to.replace("pbem+", "other+"))


def test_a_letter_that_cannot_be_read_in_its_time_is_not_let_in(referee: Referee) -> None:
    seconds: list[float] = []

    class Stuck(InProcess):
        def __init__(self, limits: Limits) -> None:
            super().__init__(limits)
            seconds.append(limits.reading.total_seconds())

        def read(self, _: object) -> list[Findings | ReaderError]:
            return [ReaderError("took too long")]

    ann = referee.registered("ann")
    with Database(referee.database.place) as database:
        admission = DeskAdmission(referee.config, database, referee.vault, Stuck)
        assert not known(admission, referee, referee.raw(ann, referee.signed(ann, "help\n")))
    assert seconds == [2.0]


def test_a_bounce_of_a_letter_of_ours_is_let_in_a_few_times(admission: DeskAdmission, referee: Referee) -> None:
    referee.registered("ann")
    row = referee.database.row("SELECT id, token FROM outbox ORDER BY id DESC LIMIT 1")
    assert row is not None
    path = f"pbem+b{row['token']}@{SERVER}"
    for number in range(5):
        assert admission.knows(Envelope("", (path,)), b"", referee.now) == (number < BOUNCES)
        inbox = referee.inbox.put(Envelope("", (path,)), bytes([number]), referee.now)
        with referee.database.transaction():
            referee.outbox.bounce(row["id"], inbox, "unclear", "", referee.now)
    assert not admission.knows(Envelope("", (f"pbem+b{'0' * 20}@{SERVER}",)), b"", referee.now)
    assert not admission.knows(Envelope("", TO), b"", referee.now)
