"""The proof of the clock: no empty order without a miss, no miss before its time, no gift and no claim unsigned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import SERVER, Referee, attachment
from judges import sentences

from pbem.match.changed import replace
from pbem.match.transcript import BEFORE, Entry, statement
from pbem.proof import bundle
from pbem.proof.bundle import Bundle
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = timedelta(days=1)
ANN = "MD Rv1 Rv2 Rv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


@pytest.fixture(scope="module")
def referee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Referee]:
    referee = Referee(tmp_path_factory.mktemp("proof"))
    yield referee
    referee.close()


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


def found(content: Bundle) -> str:
    """What the last check says; all before it hold."""
    checks = list(verify(bundle.write(content), Letters))
    assert all(check.holds for check in checks[:-1])
    return checks[-1].found if not checks[-1].holds else "holds"


def rewritten(content: Bundle, referee: Referee, changes: dict[int, Entry | None]) -> Bundle:
    """What a server would make that rewrites the past: entries changed or left out, the chain signed again."""
    entries: list[Entry] = []
    for entry in content.entries:
        changed = changes.get(entry.seq, entry)
        if changed is not None:
            before = entries[-1].head if entries else BEFORE
            entries.append(replace(changed, seq=len(entries) + 1, prev=before))
    signatures = [referee.signing_key.sign(statement(SERVER, "m1", entry.seq, entry.head)) for entry in entries]
    return Bundle(tuple(entries), tuple(signatures), content.papers)


def entry(content: Bundle, kind: str, number: int = 0) -> Entry:
    return [entry for entry in content.entries if entry.type == kind][number]


def with_body(old: Entry, **changes: Any) -> Entry:
    return replace(old, body={**old.body, **changes})


def test_what_was_missed_is_told_and_holds(passed: Bundle, claimed: Bundle, referee: Referee) -> None:
    kinds = [entry.type for entry in passed.entries]
    assert kinds == [
        *("agreed", "missed", "commitments", "extended", "missed", "turn", "missed"),
        *("forfeited", "ended", "revealed", "closed"),
    ]
    assert found(passed) == found(claimed) == "holds"
    assert found(rewritten(passed, referee, {})) == "holds"


def test_an_empty_order_without_a_miss(passed: Bundle, referee: Referee) -> None:
    """The gift of time goes, too: its letter is named by its number."""
    miss = entry(passed, "missed", 1)
    assert "entry 5: nothing was to happen here" in found(rewritten(passed, referee, {miss.seq: None}))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_deadline_before_its_time(passed: Bundle, referee: Referee, number: int) -> None:
    miss = entry(passed, "missed", number)
    early = with_body(miss, deadline=miss.body["deadline"].replace("T12", "T08"))
    assert "the deadline is earlier than what was agreed" in found(rewritten(passed, referee, {miss.seq: early}))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_miss_before_the_grace_was_over(passed: Bundle, referee: Referee, number: int) -> None:
    miss = entry(passed, "missed", number)
    early = replace(miss, time=miss.body["deadline"])
    assert "the grace after the deadline was not over" in found(rewritten(passed, referee, {miss.seq: early}))


def test_a_miss_of_another_seat(passed: Bundle, referee: Referee) -> None:
    miss = entry(passed, "missed", 1)
    assert found(rewritten(passed, referee, {miss.seq: with_body(miss, seat=1)})) != "holds"
    assert found(rewritten(passed, referee, {miss.seq: with_body(miss, seat=3)})) != "holds"


def test_a_game_lost_by_one_silence(passed: Bundle, referee: Referee) -> None:
    """Turn 1 was missed once: the game cannot be over."""
    lost = replace(entry(passed, "forfeited"), time=entry(passed, "turn").time)
    content = rewritten(passed, referee, {entry(passed, "turn").seq: lost})
    # Bob's setup was late, but it came: his first silence in a row is that of turn 1.
    assert sentences.NOBODY_WAS_SILENT_FOR_THAT_LONG in found(content)


def test_who_was_not_silent_does_not_lose(passed: Bundle, referee: Referee) -> None:
    lost = entry(passed, "forfeited")
    for seats in ([1], [1, 2], []):
        assert sentences.DOES_NOT_FOLLOW in found(
            rewritten(passed, referee, {lost.seq: with_body(lost, seats=seats)})
        )


def test_a_gift_of_another_size(passed: Bundle, referee: Referee) -> None:
    gift = entry(passed, "extended")
    content = rewritten(passed, referee, {gift.seq: with_body(gift, seconds=86400)})
    assert "holds no `extend 86400` for this place" in found(content)
    content = rewritten(passed, referee, {gift.seq: with_body(gift, to=[1])})
    assert "`to` is not what follows" in found(content)


def test_a_gift_whose_letter_is_not_there(passed: Bundle) -> None:
    papers = {path: paper for path, paper in passed.papers.items() if "extend" not in path}
    assert "letters/extend-4-seat-1.eml" in found(replace(passed, papers=papers))


def test_a_claim_nobody_signed(claimed: Bundle, referee: Referee) -> None:
    claim = entry(claimed, "claimed")
    lies: list[dict[str, Any]] = [{"seat": 2, "against": [1]}, {"against": [1]}, {"against": []}, {"mail": "0" * 64}]
    for body in lies:
        assert found(rewritten(claimed, referee, {claim.seq: with_body(claim, **body)})) != "holds"
    miss = entry(claimed, "missed")
    assert found(rewritten(claimed, referee, {miss.seq: None})) != "holds"
