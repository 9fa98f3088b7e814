"""Sealed matches from agreement to verdict: who is asked for what, what is refused, and how a game ends."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from judges.refusals import messages
from playing.sealed_match import SealedMatch, changed, said_otherwise

from pbem.games import Refused, Result, rules
from pbem.match.events.clocks import extend
from pbem.match.events.endings import agree
from pbem.match.events.sealed_events import judge, reveal, seal, table_of
from pbem.match.events.silence import claim
from pbem.match.events.substituted import nominate
from pbem.match.step import here
from pbem.requests import Claim, Draw, Section, Substitute, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Callable


SMALL = {"fleet": "cost:3"}


def small(turns: int | None = None, seed: int = 1, /, **lines: str) -> SealedMatch:
    """A match of a few ships; with turns, it has begun and so many were played."""
    table = SealedMatch("spaceships", seed, 2, **SMALL, **lines)
    if turns is not None:
        table.begin()
        table.play(turns)
    return table


def over(seed: int = 1, /, **lines: str) -> SealedMatch:
    """A match whose game is over as told."""
    table = small(None, seed, **lines)
    table.begin()
    table.play()
    assert table.match.awaits
    return table


def refused(event: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        event()
    return str(caught.value)


def test_each_is_asked_for_what_is_due() -> None:
    table = small()
    anna, bob = table.owners
    assert [table.match.owes(seat) for seat in (1, 2)] == [("seal",), ("seal",)]
    table.seal(bob)
    assert [table.match.owes(seat) for seat in (1, 2)] == [("seal",), ()]
    table.seal(anna)
    assert [table.match.owes(seat) for seat in (1, 2)] == [("commit",), ()]
    assert table.match.clocks.keys() == {1}
    table.tell(anna)
    assert [table.match.owes(seat) for seat in (1, 2)] == [(), ("open",)]
    table.tell(bob)
    table.tell(anna)
    assert [table.match.owes(seat) for seat in (1, 2)] == [(), ("answers", "commit")]
    assert refused(lambda: table.tell(anna)).endswith("the match waits for another player")
    table.tell(bob, most=1)
    assert len(table.match.turns) == 1
    assert table.types()[-2:] == ["step", "turn"]
    assert [table.match.owes(seat) for seat in (1, 2)] == [(), ("commit",)]


def test_who_writes_half_a_letter_gains_no_time() -> None:
    table = small(0)
    for owner in (0, 1, 0):
        table.tell(table.owners[owner])
    clock = table.match.clocks[2]
    table.now += timedelta(days=2)
    table.tell(table.owners[1], most=1)
    assert table.match.clocks.keys() == {2}
    assert table.match.clocks[2].since == clock.since
    table.now += timedelta(days=2)
    table.tell(table.owners[1])
    assert table.match.clocks.keys() == {1}
    assert table.match.clocks[1].since == table.now
    table.proved()


# What is refused


def test_nobody_takes_over_a_seat() -> None:
    table = small(0)
    carl, signed = here(table.match, 1, 1, Substitute(name="carl")), table.sign(table.owners[0], "")
    assert "nobody can take over" in refused(lambda: nominate(table.step(), 1, 1, carl, signed))


def test_a_seal_is_replaced_until_the_game_begins() -> None:
    table = small()
    anna, bob = table.owners
    table.seal(anna)
    first = anna.commitment(table.match)
    assert "use a higher one" in refused(lambda: table.seal(anna))
    table.seal(anna, rev=2)
    table.seal(bob)
    commitments = table.entries[-1].body["commitments"]
    assert commitments == {"1": anna.commitment(table.match), "2": bob.commitment(table.match)}
    assert first not in commitments.values()
    assert "no commitment is due" in refused(lambda: table.seal(anna, rev=3))
    table.proved()


def test_the_same_seal_again_changes_nothing() -> None:
    table = small()
    anna = table.owners[0]
    said, signed = table.letter(anna, "seal", "game 1", [anna.begin(table.match)], "rev 1\n")
    step = table.step()
    first = seal(step, 1, said, signed)
    table.done(step)
    step = table.step()
    assert seal(step, 1, said, signed) is first
    assert step.match is table.match


def test_a_letter_brings_what_is_due() -> None:
    table = small()
    anna = table.owners[0]
    said, signed = table.letter(anna, "seal", "game 1", [], "rev 1\n")
    assert "the line `commitment HASH` is missing" in refused(lambda: seal(table.step(), 1, said, signed))
    table.begin()
    said, signed = table.letter(anna, "step", "game 1 turn 1", [Section("open", ("0" * 64,) * 3, "sGx1")])
    assert "what is due from you: `commit`" in refused(lambda: table.take(anna, said, signed))
    for owner in table.owners:
        table.tell(owner)
    anna.lie = changed("open", lambda words, text: (words[:2], text))
    assert "`open` begins with AFTER ORDERS SALT" in refused(lambda: table.tell(anna))
    anna.lie = changed("", None)
    table.play()
    for section in (Section("seed", (anna.seed.hex(),), ""), Section("setup", (), anna.setup)):
        said, signed = table.letter(anna, "reveal", "game 1", [section])
        assert "`seed` and `setup` are due" in refused(partial(reveal, table.step(), 1, said, signed))


def test_a_reveal_is_said_at_its_place() -> None:
    table = over()
    anna = table.owners[0]
    said, signed = table.letter(anna, "reveal", "game 1", anna.reveals())
    wrong = said_otherwise(said, "prev", "0" * 64)
    assert "wrong `prev`" in refused(lambda: reveal(table.step(), 1, wrong, signed))
    reveal(table.step(), 1, said, signed)


# How it ends


def test_a_reveal_must_open_all_that_was_committed_to() -> None:
    table = over()
    anna = table.owners[0]
    before = table.match
    last = max(anna.orders)
    cases = [
        ("seed", lambda _, text: (("0" * 64,), text), "not those that you committed to", "setup"),
        ("setup", lambda words, _: (words, "MD Rv1 Rv2 Rv3"), "seed and setup are not those", "setup"),
        ("setup", lambda words, _: (words, "no ship"), "seed and setup are not those", "setup"),
        ("orders", lambda words, _: (words, "sRv1"), "the orders of turn 1 are not those", "orders 1"),
    ]
    for name, change, says, token in cases:
        anna.lie = changed(name, change)
        with pytest.raises(Refused) as caught:
            table.reveal(anna)
        assert says in str(caught.value)
        assert (caught.value.faults[0].rule, caught.value.faults[0].token) == ("reveal", token)
    anna.lie = changed("", None)
    kept = anna.orders.pop(last)
    assert f"the orders of turn {last} are missing" in refused(lambda: table.reveal(anna))
    anna.orders[last] = kept
    assert table.match is before
    table.reveal(anna)
    assert "you have revealed this game" in refused(lambda: table.reveal(anna))


def test_lines_broken_by_mail_programs_open_all_the_same() -> None:
    table = over()
    for owner in table.owners:
        owner.lie = lambda _, section: section._replace(text="\n".join(section.text.split(" ")))
        table.reveal(owner)
    assert table.match.phase == "closed"
    table.proved()


def test_nothing_is_revealed_before_the_end() -> None:
    table = small(1)
    assert "before the game is over" in refused(lambda: table.reveal(table.owners[0]))


@pytest.mark.parametrize("silent", [1, 2])
def test_who_does_not_reveal_loses(silent: int) -> None:
    table = over()
    told = table.match.games, table_of(table.match).result
    table.reveal(table.owners[2 - silent])
    assert table.match.awaits
    table.wait(11)
    assert table.match.phase == "closed"
    assert table.types()[-4:] == ["missed", "verdict", "ended", "closed"]
    assert table.entries[-3].body["verdicts"] == {str(3 - silent): "honest", str(silent): "not revealed"}
    (ended,) = table.match.games
    assert (ended.winners, ended.reason) == ((3 - silent,), "not revealed")
    assert ended.scores[silent - 1] == 0
    assert not told[0]
    table.proved()


def test_who_does_not_reveal_scores_nothing() -> None:
    """However many home planets are left, as told."""
    table = SealedMatch("dueling-masters", 1, 2, max_turns="2")
    table.begin()
    table.play()
    assert table_of(table.match).result == Result((1, 2), (1, 1))
    table.reveal(table.owners[1])
    table.wait(11)
    (ended,) = table.match.games
    assert (ended.winners, ended.scores, ended.reason) == ((2,), (0, 1), "not revealed")


def test_a_game_that_nobody_reveals_is_annulled() -> None:
    table = over()
    table.wait(11)
    assert table.match.outcome == {"winners": [], "scores": [0, 0], "reason": "annulled"}
    assert table.types()[-5:] == ["missed", "missed", "verdict", "ended", "closed"]
    table.proved()


def test_while_the_reveals_are_due_nothing_else_is_decided() -> None:
    table = over()
    form = here(table.match, 1, 1, Draw(word="offer"))
    signed = table.sign(table.owners[0], "")
    assert "what is due is a `reveal`" in refused(lambda: table.resign(table.owners[0]))
    assert "what is due is a `reveal`" in refused(lambda: agree(table.step(), 1, form, signed))
    table.reveal(table.owners[0])
    assert "nobody has missed" in refused(lambda: claim(table.step(), 1, here(table.match, 1, 1, Claim()), signed))
    assert "no step is due" in refused(
        lambda: table.take(table.owners[1], here(table.match, 1, 1, TakeSteps()), signed)
    )


def test_nothing_is_judged_before_all_have_revealed_or_missed_their_time() -> None:
    one = over()
    one.reveal(one.owners[0])
    for table in (small(1), one):
        assert messages(judge, table.step()) == ["nothing is to be judged yet"]


def resigned_and_silent(**lines: str) -> SealedMatch:
    """Seat 2 resigned the whole match and revealed; the other did not."""
    table = small(1, 1, **lines)
    table.resign(table.owners[1], whole_match=True)
    table.reveal(table.owners[1])
    table.wait(11)
    table.proved()
    return table


@pytest.mark.parametrize("kind", ["single", "scored", "continued"])
def test_who_resigned_does_not_win_because_the_other_is_silent(kind: str) -> None:
    table = resigned_and_silent(kind=kind, **({} if kind == "single" else {"games": "2"}))
    (ended,) = table.match.games
    assert (ended.winners, ended.reason) == ((), "not revealed")
    assert table.match.outcome == {"winners": [], "scores": [0, 0], "reason": "not revealed"}


def test_a_late_step_is_taken_where_the_others_wait() -> None:
    table = small(1)
    (slow,) = (seat for seat in (1, 2) if table.match.owes(seat))
    table.wait(11)
    table.tell(table.owners[slow - 1])
    assert table.match.missed == frozenset()
    table.proved()


def test_who_was_late_and_still_owes_a_step_is_given_time() -> None:
    """The first of the late steps ended the silence, and so there is no miss to be forgiven."""
    table = small(1)
    table.tell(table.owners[0])
    slow = table.owners[1]
    assert len(table.match.owes(2)) > 1
    table.wait(11)
    table.tell(slow, most=1)
    assert table.match.missed == {2}
    table.say(table.owners[0], "extend m1 1d", extend)
    assert table.match.missed == frozenset()
    table.proved()


def test_an_offer_stands_until_the_turn_is_told() -> None:
    table = small(1)
    mover = 1 if table.match.owes(1) else 2
    table.say(table.owners[2 - mover], "draw m1 offer", agree)
    prev = table.match.prev
    table.tell(table.owners[mover - 1])
    assert table.match.offers["draw"] == {3 - mover: (1, 2)}
    assert prev != table.match.prev
    table.play(2)
    assert not table.match.offers


def test_survivors_carry_over_once_both_have_revealed() -> None:
    table = small(kind="continued", games="2")
    table.begin()
    table.play()
    for owner in table.owners:
        table.reveal(owner)
    match = table.match
    assert (match.phase, match.game) == ("setup", 2)
    first = match.games[0]
    expected = rules("spaceships").carry(match.terms.first_options(), first)  # type: ignore[arg-type]
    assert match.options == expected
    assert [match.owes(seat) for seat in (1, 2)] == [("seal",), ("seal",)]
    table.finish()
    assert table.match.phase == "closed"
    assert [entry.body["game"] for entry in table.entries if entry.type == "verdict"] == [1, 2]
    table.proved()


def test_who_does_not_reveal_loses_a_continued_match() -> None:
    table = small(kind="continued", games="2")
    table.begin()
    table.play()
    table.reveal(table.owners[0])
    table.wait(11)
    assert table.match.outcome is not None
    assert (table.match.outcome["winners"], table.match.outcome["reason"]) == ([1], "not revealed")
    table.proved()
