"""A program in sealed matches: what it revealed is played again, also where the game has no record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from player.program_matches import judged
from playing.sealed_match import SealedMatch

from pbem.match.events.sealed_events import table_of
from pbem.match.transcript import canonical
from pbem.player.blind import Plan, comment
from pbem.player.opponent import Position

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random
    from typing import Any

    from playing.sealed_match import Owner

    from pbem.match.state import Match
    from pbem.match.step import Signed

PLAN = Plan("play.example", "bob", "spaceships", 1, b"sixteen octets..")
ANNA, BOB = 0, 1


def set_up(match: Match) -> str:
    assert match.options is not None
    return PLAN.setup(match.game, match.options, 2)


class Sealed(SealedMatch):
    """Two short games of anna against the program bob, who may play one of them by hand."""

    def __init__(self, by_hand: int = 0, fleet: str = "cost:9") -> None:
        self.by_hand = by_hand
        super().__init__("spaceships", 3, 2, fleet=fleet, kind="scored", games="2")

    def _agree(self, lines: Mapping[str, str]) -> None:
        self.owners[BOB].setting_up, self.owners[BOB].ordering = set_up, self.ordered
        super()._agree(lines)

    def sign(self, owner: Owner, text: str) -> Signed:
        return super().sign(owner, text + comment(PLAN.commitment) if text.startswith("accept") else text)

    def ordered(self, _: Random, view: dict[str, Any]) -> str:
        match = self.match
        assert match.options is not None
        if self.by_hand == match.game and match.turn == 1:
            return ""
        seen, told = json.loads(canonical([view, list(table_of(match).played)]))
        return PLAN.orders(match.game, match.turn, Position(match.options, 2, seen, told))

    def game(self, *reveals: int) -> None:
        """A game of one step a letter; who does not reveal lets the time pass."""
        self.begin()
        self.play(most=1)
        for seat in reveals:
            self.reveal(self.owners[seat])
        if len(reveals) < len(self.owners):
            self.wait(20)

    def judged(self) -> tuple[str, str]:
        (finding,) = judged(self.bundle(), [PLAN.seed])
        return finding.standing, finding.found


@pytest.mark.parametrize("reveals", [(ANNA, BOB), (BOB,)])
def test_what_was_played_by_hand_is_found_whether_the_other_reveals_or_not(reveals: tuple[int, ...]) -> None:
    played = Sealed(by_hand=1)
    played.game(*reveals)
    played.game(ANNA, BOB)
    standing, found = played.judged()
    assert standing == "contradicts"
    assert "game 1, turn 1: bob sent “”" in found


def test_a_program_that_lied_is_played_again_up_to_its_lie() -> None:
    played = Sealed(fleet="standard")
    played.owners[BOB].tells = lambda turn, step, lines: lines[1:] if (turn, step) == (1, "open") else lines
    played.begin()
    played.play(1, most=1)
    bob = played.owners[BOB]
    ordered = bob.orders[1]
    bob.orders[1] = " ".join(word for word in ordered.split() if not word.startswith("b"))  # as it was told
    played.play(2, most=1)
    bob.orders[1] = ordered
    played.resign(played.owners[ANNA])
    for owner in played.owners:
        played.reveal(owner)
    (verdict,) = [entry.body["verdicts"] for entry in played.entries if entry.type == "verdict"]
    assert verdict["2"] == {"false": {"turn": 1, "step": "open", "ruling": "21"}}
    assert played.judged()[0] == "agrees"


def test_a_program_that_reveals_nothing_of_a_game_is_not_said_to_be_blind() -> None:
    """It may have played that game by hand."""
    played = Sealed(by_hand=1)
    played.game(ANNA)
    played.game(ANNA, BOB)
    assert played.judged() == ("open", "game 1: bob revealed nothing of it")
