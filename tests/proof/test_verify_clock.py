"""The proof of the clock: no empty order without a miss, no miss before its time, no gift and no claim unsigned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import fails, holds, saying, with_entry
from in_a_box.referee import Referee, attachment
from world.mutations import signed_again

from pbem.match.changed import replace
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.bundle import Bundle

DAY = timedelta(days=1)
ANN = "MD Rv1 Rv2 Rv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """A game in which Bob missed his setup and turn 1, and the last turns, after a gift of time."""
    referee = Referee(tmp_path_factory.mktemp("passed"))
    ann, bob = referee.agreed("fleet: cost:3\nsettle: 0\nmiss: pass")
    referee.send(ann, ann.filled("setup", ANN))
    referee.wait(11 * DAY)
    referee.send(bob, bob.filled("setup", BOB))
    referee.turn((ann, "Rv1"))
    referee.send(ann, "extend m1 2d\n")
    referee.wait(13 * DAY)
    referee.turn((ann, "Rv3"))
    referee.wait(11 * DAY)
    yield bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """A game that was claimed."""
    referee = Referee(tmp_path_factory.mktemp("claimed"))
    ann, _ = referee.begun("fleet: cost:3\nsettle: 0", (ANN, BOB))
    referee.turn((ann, "Rv1"))
    referee.wait(11 * DAY)
    referee.send(ann, "claim m1\n")
    yield bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()


def at(found: Bundle, kind: str, number: int = 0) -> int:
    """Which entry is the first of this kind, the second, and so on."""
    return [at for at, entry in enumerate(found.entries) if entry.type == kind][number]


def told(found: Bundle, place: int, *, time: str = "", **body: Any) -> Bundle:
    """What a server would make that rewrites the past: an entry changed, the chain signed again."""
    forged = with_entry(found, place, saying(**body))
    entries = list(forged.entries)
    entries[place] = replace(entries[place], time=time or entries[place].time)
    return signed_again(replace(forged, entries=entries))


def without(found: Bundle, place: int) -> Bundle:
    return signed_again(replace(found, entries=(*found.entries[:place], *found.entries[place + 1 :])))


def test_what_was_missed_is_told_and_holds(passed: Bundle, claimed: Bundle) -> None:
    kinds = [entry.type for entry in passed.entries]
    assert kinds == [
        *("agreed", "missed", "commitments", "extended", "missed", "turn", "missed"),
        *("forfeited", "ended", "revealed", "closed"),
    ]
    holds(passed)
    holds(claimed)


def test_an_empty_order_without_a_miss(passed: Bundle) -> None:
    """The gift of time goes, too: its letter is named by its number."""
    fails(without(passed, at(passed, "missed", 1)), "entry 5: nothing was to happen here")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_miss_before_its_time(passed: Bundle, number: int) -> None:
    miss = at(passed, "missed", number)
    deadline = passed.entries[miss].body["deadline"]
    early = told(passed, miss, deadline=deadline.replace("T12", "T08"))
    fails(early, "the deadline is earlier than what was agreed")
    fails(told(passed, miss, time=deadline), "the grace after the deadline was not over")


@pytest.mark.parametrize("seat", [1, 3])
def test_a_miss_of_another_seat(passed: Bundle, seat: int) -> None:
    fails(told(passed, at(passed, "missed", 1), seat=seat))


def test_a_game_lost_by_one_silence(passed: Bundle) -> None:
    """Turn 1 was missed once: the game cannot be over."""
    turn = at(passed, "turn")
    entries = list(passed.entries)
    entries[turn] = replace(entries[at(passed, "forfeited")], time=entries[turn].time)
    # Bob's setup was late, but it came: his first silence in a row is that of turn 1.
    fails(signed_again(replace(passed, entries=entries)), "nobody was silent for that long")


@pytest.mark.parametrize("seats", [[1], [1, 2], []])
def test_who_was_not_silent_does_not_lose(passed: Bundle, seats: list[int]) -> None:
    fails(told(passed, at(passed, "forfeited"), seats=seats), "does not follow")


def test_a_gift_of_another_size(passed: Bundle) -> None:
    gift = at(passed, "extended")
    fails(told(passed, gift, seconds=86400), "holds no `extend 86400` for this place")
    fails(told(passed, gift, to=[1]), "`to` is not what follows")


def test_a_claim_nobody_signed(claimed: Bundle) -> None:
    claim = at(claimed, "claimed")
    lies: list[dict[str, Any]] = [{"seat": 2, "against": [1]}, {"against": [1]}, {"against": []}, {"mail": "0" * 64}]
    for lie in lies:
        fails(told(claimed, claim, **lie))
    fails(without(claimed, at(claimed, "missed")))
