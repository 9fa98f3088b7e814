"""Players who plan at random: orders in advance and by default, with conditions and target lists, revised, withdrawn.

Whatever becomes of them, the bundle holds for both verifiers, and no letter that was kept accuses the server.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from in_a_box.inquiries import held
from in_a_box.referee import SERVER, Referee, attachment
from judges.honest import accused
from playing import random_players
from playing.conditions import CONDITIONAL, with_conditions

from verifier import verified

TURNS = 8
OVER = timedelta(days=11)
"""Pace and grace, and a day."""
LIST = "next " + " ".join(a + b + c for a in "RO" for b in "vwxyz" for c in "12345")


class Planner:
    """The plans of both players."""

    def __init__(self, referee: Referee, game: str, dice: Random) -> None:
        self.referee, self.dice, self.game = referee, dice, game
        self.players = random_players.PLAYERS[game]
        at = dice.randrange(len(self.players.options))
        self.raw, _ = self.players.options[at]
        self.revs: dict[tuple[int, str], int] = {}

    def begin(self) -> None:
        referee = self.referee
        options = [f"{name}: {_written(value)}" for name, value in self.raw.items()]
        settle = self.dice.choice(("settle: 0", "settle: 2h"))
        ann, bob = referee.agreed("\n".join(["miss: default", settle, *options]), self.game)
        self.people = {1: ann, 2: bob}
        match = referee.match()
        assert match.options is not None
        for seat, person in self.people.items():
            written = self.players.setup(self.dice, match.options, seat)
            setup = match.rules.setup(match.options, seat, written).text
            referee.send(person, person.filled("setup", setup))

    def view(self, seat: int) -> dict[str, Any]:
        found = self.referee.match().view(seat)
        assert found is not None
        return dict(found)

    def text(self, seat: int) -> str:
        """Orders that were legal now, with conditions mostly, or a target list."""
        view = self.view(seat)
        now = [self.players.orders(self.dice, view) for _ in range(2)] if view.get("entitled") else ["Z1 D1-D2"] * 2
        if self.game == "spaceships" and self.dice.random() < 0.4:
            now[0] = LIST if self.dice.random() < 0.8 else "next Rv1"
        if self.dice.random() < 0.75:
            return with_conditions(self.dice, self.game, now[0] or "next Rv1", now[1] or "Rv1")
        return now[0]

    def plan(self, seat: int) -> None:
        turn = self.referee.match().turn
        place = self.dice.choice(("default", *(f"turn {turn + ahead}" for ahead in (0, 1, 2, 3))))
        rev = self.revs[seat, place] = self.revs.get((seat, place), 0) + self.dice.choice((0, 1, 1, 1))
        if self.dice.random() < 0.15:
            self.send(seat, f"clear m1 {place}", max(rev, 1))
        else:
            self.send(seat, f"orders m1 {place}", max(rev, 1), self.text(seat))

    def send(self, seat: int, command: str, rev: int, text: str = "") -> None:
        person, prev = self.people[seat], self.referee.match().prev
        block = f"{text or '# none'}\nend\n" if command.startswith("orders") else ""
        form = f"{command}\nserver {SERVER}\nplayer {person.name}\nprev {prev}\nrev {rev}\n{block}"
        self.referee.send(person, form, follow=False)

    def play(self) -> None:
        referee, dice = self.referee, self.dice
        for _ in range(60):
            match = referee.match()
            if match.phase != "playing" or match.turn > TURNS or match.position is None:
                break
            for seat in self.people:
                for _ in range(dice.choice((0, 0, 1, 2))):
                    if referee.match().phase == "playing":
                        self.plan(seat)
            if dice.random() < 0.3:
                referee.read_cold()
            if dice.random() < 0.3:
                referee.wait(dice.choice((timedelta(hours=3), OVER)))
            match = referee.match()
            if match.phase != "playing" or match.position is None:
                break
            for seat, forced in match.position.due.items():
                if forced is None and dice.random() < 0.6 and referee.match().turn == match.turn:
                    text = self.players.orders(dice, self.view(seat))
                    place = f"turn {match.turn}"
                    rev = self.revs[seat, place] = self.revs.get((seat, place), 0) + 1
                    self.send(seat, f"orders m1 {place}", rev, text)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {number}" for name, number in value.items()) + "}"
    return str(value)


def test_whatever_is_planned_holds(referee: Referee) -> None:
    assert b"\nbranch 2\n" in check(referee, "spaceships", 0), "there was something to tell"


@pytest.mark.long
@pytest.mark.parametrize("game", CONDITIONAL)
@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_planned_holds_at_length(referee: Referee, game: str, seed: int) -> None:
    check(referee, game, seed)


def check(referee: Referee, game: str, seed: int) -> bytes:
    dice = Random(f"plans {game} {seed}")
    planner = Planner(referee, game, dice)
    planner.begin()
    planner.play()
    if referee.match().phase != "closed":
        loser = dice.choice((1, 2))
        referee.send(planner.people[loser], "resign m1 game 1\n")
        if referee.match().phase != "closed":
            referee.send(planner.people[loser], "resign m1 match\n")
        assert referee.match().phase == "closed", (referee.match().phase, planner.people[loser].text)
    for person in planner.people.values():
        letter = person.find(", the end")
        held(letter)
        verified(bundle := attachment(letter, ".zip"))
    assert accused(referee) == []
    return bundle
