"""Several machines of one player: one that was lost, and two that play at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import Owner, live, live_out, live_until, propose
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from in_a_box.referee import Referee


pytestmark = pytest.mark.usefixtures("quick")


class Another(Owner):
    """Another machine of the same player, which decides otherwise."""

    def __init__(self, first: Owner, path: Path) -> None:
        super().__init__(first.referee, first.person, path)
        self.random = type(self.random)("another machine")
        self.restart()
        self.chance = "another"
        self.memory.keep(first.memory.account())
        self.agent.use_words(first.agent.words)


def both_honest(owners: Sequence[Owner]) -> None:
    for owner in owners:
        assert not owner.accusations
        assert owner.letters.matches.standing("m1").phase == "closed"
        proof = owner.proof
        assert proof.holds, proof.checks[-1]
        assert "honest; seat 2: honest" in " ".join(check.found for check in proof.checks)


@pytest.mark.parametrize("letters", [5, 6, 7, *(pytest.param(letters, marks=pytest.mark.long) for letters in (8, 9))])
def test_whoever_lost_a_machine_goes_on_with_six_words(
    referee: Referee, owners: list[Owner], tmp_path: Path, letters: int
) -> None:
    """Whatever was said last: committed, opened or answered."""
    ann, bob = owners
    propose(referee, owners, "spaceships")
    for _ in live(owners):
        if len(ann.sent) >= letters and ann.letters.matches.standing("m1").phase == "playing":
            break
    else:
        raise AssertionError("the game was over before")
    other = Another(ann, tmp_path / "new" / "memory.sqlite")
    other.taken = len(ann.person.letters.came)
    other.letters.ask("report m1", referee.now)
    other.flush()
    live_out([other, bob])
    both_honest([other, bob])
    assert not other.refusals
    other.close()


@pytest.mark.parametrize("asks", [True, False])
def test_whoever_lost_machine_and_letters_in_the_first_turn_goes_on_from_what_was_signed(
    referee: Referee, owners: list[Owner], tmp_path: Path, asks: bool
) -> None:
    """In Shoot 'em up seat 2 opens first, and cites a head that only lost letters showed; a reminder is enough."""
    ann, bob = owners
    propose(referee, owners, "shoot-em-up")
    live_until(owners, lambda: referee.match().owes(2) == ("open",))
    assert referee.match().turn == 1
    other = Another(bob, tmp_path / "new" / "memory.sqlite")
    other.taken = len(bob.person.letters.came)
    if asks:
        other.letters.ask("report m1", referee.now)
        other.flush()
    else:
        referee.wait(timedelta(days=9))
        assert len(bob.person.letters.came) > other.taken
    live_out([ann, other])
    assert ann.proof.holds
    assert referee.match().phase == "closed"
    assert referee.match().games[-1].reason == "rules"
    assert not other.refusals
    assert not other.accusations
    other.close()


def test_without_the_words_nothing_is_said(referee: Referee, owners: list[Owner], tmp_path: Path) -> None:
    ann, bob = owners
    propose(referee, owners, "spaceships")
    live_until(owners, lambda: len(ann.sent) >= 7)
    other = Another(ann, tmp_path / "new" / "memory.sqlite")
    other.agent.use_words("lusab babad gutih tugad mudof sakat")
    other.letters.ask("report m1", referee.now)
    live_out([other, bob])
    assert other.agent.vault.secrets("m1", 1) is None
    assert not other.memory.prepared("step", "m1")
    assert "Take over those that you wrote down: pbem play words" in other.agent.hindered["m1"]
    other.close()


def test_two_agents_on_one_account_say_one_thing(referee: Referee, owners: list[Owner], tmp_path: Path) -> None:
    """They decide differently; what came first counts, and the other learns it from the note."""
    ann, bob = owners
    other = Another(ann, tmp_path / "new" / "memory.sqlite")
    propose(referee, owners, "spaceships")
    live_out([ann, other, bob])
    both_honest([ann, bob])
    assert not other.accusations
    assert other.sent
    other.close()


def test_orders_that_were_committed_to_cannot_be_others_later(referee: Referee, owners: list[Owner]) -> None:
    """Another file of secrets was put back: they are taken from the note again."""
    ann = owners[0]
    propose(referee, owners, "spaceships")
    live_until(owners, lambda: len(ann.sent) >= 7)
    newest = ann.agent.vault.secrets("m1", 1)
    assert newest is not None
    ann.agent.vault.keep(replace(newest, orders={**newest.orders, str(max(newest.by_turn)): ""}))
    live_out(owners)
    both_honest(owners)


def test_who_only_looks_changes_nothing(referee: Referee, owners: list[Owner]) -> None:
    """`pbem play` may look while the agent keeps what it is about to say: it would write what is older over that."""
    ann = owners[0]
    propose(referee, owners, "spaceships")
    live_until(owners, lambda: len(ann.sent) >= 7)
    newest = ann.agent.vault.secrets("m1", 1)
    assert newest is not None
    older = newest.without_orders(max(newest.by_turn))
    ann.agent.vault.keep(older)
    ann.receive()
    ann.agent.asks("m1")
    assert ann.agent.shown("m1").turn > 1
    assert ann.agent.vault.secrets("m1", 1) == older
    live_out(owners)
    both_honest(owners)
