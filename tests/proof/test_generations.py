"""The generations of a server, and ends of matches, in its transcript and in its letters: both must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.desk import bulletin
from pbem.proof.kept_letters import kept
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify
from verifier import Wrong, verified

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee


def named(referee: Referee, generation: int) -> None:
    """The server names this generation, whatever happened."""
    with referee.database.transaction():
        referee.database.set_meta("generation", str(generation))
    referee.open_desk()


def restored(referee: Referee, generation: int) -> None:
    named(referee, generation)
    referee.instruct("restored", "", "")


def bundled(referee: Referee) -> bytes:
    return referee.desk.archive.bundle(*referee.desk.archive.known(1), None)


def told(referee: Referee, person: Mailbox) -> list[tuple[str, str]]:
    """The findings in a player's letters, against the bundle."""
    proved = Proved(keep_notices=True)
    *_, last = verify(bundled(referee), proved=proved)
    assert last.holds
    assert proved.bundle
    assert proved.match
    against = Against(proved.bundle, proved.match)
    letters = [against.judge(kept(str(at), raw)) for at, raw in enumerate(person.letters.came)]
    return [(one.standing, one.what) for letter in letters for one in letter.findings if one.standing != "agrees"]


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("generations", [(1,), (5, 5), (5, 4)])
def test_both_verifiers_refuse_a_generation_that_is_no_later_one(
    referee: Referee, generations: tuple[int, ...], *, over: bool
) -> None:
    ann, _ = referee.begun()
    for generation in generations:
        restored(referee, generation)
    if over:
        referee.send(ann, "resign m1 match\n")
    *_, last = verify(bundled(referee))
    assert not last.holds
    assert "`generation`: not a later one" in last.found
    with pytest.raises(Wrong, match="no later generation"):
        verified(bundled(referee))


def test_letters_of_an_honest_server_agree_with_its_restores(referee: Referee) -> None:
    ann, _ = referee.begun()
    referee.send(ann, "status m1\n")
    restored(referee, 5)
    referee.send(ann, "status m1\n")
    assert told(referee, ann) == []
    referee.send(ann, "resign m1 match\n")
    named(referee, 7)
    referee.send(ann, "transcript m1\n")
    assert told(referee, ann) == []


@pytest.mark.parametrize(("first", "then"), [(9, 5), (5, 5), (1, 6)])
def test_a_generation_that_no_entry_tells_of_is_two_stories(referee: Referee, first: int, then: int) -> None:
    """Named before the restore of which the transcript tells, or instead of it."""
    ann, _ = referee.begun()
    named(referee, first)
    referee.send(ann, "status m1\n")
    restored(referee, 5)
    named(referee, then)
    referee.send(ann, "status m1\n")
    assert set(told(referee, ann)) == {("two stories", "generation")}


@pytest.mark.parametrize(
    ("over", "lie", "what"),
    [
        (False, {"phase": "closed"}, "phase"),
        (True, {"phase": "playing"}, "phase"),
        (False, {"paused": True}, "pause"),
    ],
)
def test_an_end_or_a_pause_that_no_entry_tells_of_is_two_stories(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, *, over: bool, lie: dict[str, Any], what: str
) -> None:
    """A player who believes it sends no more orders, and misses turns."""
    ann, _ = referee.begun()
    if over:
        referee.send(ann, "resign m1 match\n")
    item = bulletin.of_match
    monkeypatch.setattr(bulletin, "of_match", lambda stands: item(stands) | lie)
    referee.send(ann, "status m1\n")
    assert set(told(referee, ann)) == {("two stories", what)}
