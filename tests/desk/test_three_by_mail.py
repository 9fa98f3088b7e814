"""A game of three people through the desk: one of them is out early, and reads on to the reveal."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest
from in_a_box.inquiries import held
from in_a_box.referee import Mailbox, Referee, attachment, body
from in_a_box.small_games import SHIPS
from judges.honest import accused

from pbem.desk.ratings import rated
from pbem.games import Result, parts
from pbem.proof.bundle import read as read_bundle
from pbem.store.people import PlayerStanding

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox

    from pbem.games.shoot_em_up.knowledge import View
    from pbem.match.state import Match

OPTIONS = "board: 5x5\nsettle: 0"
SETUPS = {"ann": "A b1 E\nB c1 W\nC d1 N", "bob": "D b5 S\nE c5 S\nF d5 S", "cem": "G a2 N\nH a3 E\nI a4 S"}
TURNS = (
    {"ann": "A: SSL\nB: LRL\nC: LRL", "bob": "D: LRL\nE: LRL\nF: LRL", "cem": "G: MFF\nH: LFF\nI: MFF"},
    {"ann": "A RRR\nB LLL\nC: LRL", "bob": "D: LRL\nE: LLL\nF: LRL"},
    {"ann": "A: LRL\nB: LRL\nC: LRL", "bob": "D: RMS\nE: RSS\nF: RRR"},
)
"""G, H and I ram each other in turn 1, D rams E, which has a shield, in turn 3."""


def play(referee: Referee, people: list[Mailbox], turn: dict[str, str]) -> None:
    referee.turn(*((person, turn[person.name]) for person in people if person.name in turn))


def begun(referee: Referee, options: str = OPTIONS) -> list[Mailbox]:
    return referee.table("shoot-em-up", options, SETUPS)


def test_three_play_to_the_reveal_and_one_is_out_early(referee: Referee) -> None:
    people = begun(referee, f"{OPTIONS}\nmax_turns: 3")
    for person in people:
        begin = body(person.find("game 1 begins"))
        assert "\n   4 Iv .  .  .  .\n   3 H> .  .  .  .\n   2 G^ .  .  .  .\n   1 .  A> B< C^ .\n" in begin
        assert "orders m1 turn 1" in begin
    play(referee, people, TURNS[0])
    ann, _, cem = people
    assert "a3       your I, hit by your G and your H: destroyed" in body(cem.find("turn 1"))
    assert "You have nothing to do in turn 2" in body(cem.find("turn 1"))
    assert "orders m1" not in body(cem.find("turn 1"))
    for number, turn in enumerate(TURNS[1:], start=2):
        referee.read_cold()
        play(referee, people, turn)
        for person in people:
            report = person.find(f"turn {number}")
            seat = ["ann", "bob", "cem"].index(person.name) + 1
            assert "Action 1\n" in body(report)
            file = json.loads(attachment(report, ".json"))
            assert (file["turn"], file["seat"]) == (number, seat)
            assert file["reports"] == json.loads(attachment(ann.find(f"turn {number}"), ".json"))["reports"]
    for person in people:
        reveal = person.find(", the end")
        assert "cem" in body(reveal)
        found = held(reveal)
        assert found[-1].startswith("ann won, scores [3, 2, 0]")
        won = "You have won the match" if person is people[0] else "ann has won the match"
        assert won in body(person.find("the match is closed"))


def test_who_is_out_is_told_so_and_may_order_nothing(referee: Referee) -> None:
    people = begun(referee)
    ann, _, cem = people
    last_form = cem.filled("orders", "final\nG: MFF\nH: LFF\nI: MFF")
    play(referee, people, TURNS[0])
    prev = ann.form("orders").split("prev ")[1].split("\n")[0]
    old = last_form.split("prev ")[1].split("\n")[0]
    referee.send(cem, last_form.replace("turn 1", "turn 2").replace(old, prev))
    assert "you have nothing to order in turn 2" in cem.text
    referee.send(cem, "status m1\nlist mine\nreport m1 turn 1\n", sign=False)
    assert "You have no ships left and nothing to order in turn 2" in cem.text
    assert "orders m1 turn" not in cem.text
    assert "You have submitted no orders" not in cem.text
    assert "Action 1\n" in body(cem.find("again"))
    referee.send(cem, "press m1\nHave fun.\nend\n")
    assert "Have fun." in ann.text


def in_game(referee: Referee) -> tuple[int, ...]:
    position = referee.match().position
    assert position
    return position.remaining


@pytest.mark.parametrize("branch", [0, 1])
def test_orders_of_who_resigns_are_accounted_for(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, branch: int
) -> None:
    """Those with conditions of a game that has them, too: their receipt named a branch, and none is played."""
    monkeypatch.setattr(parts, "branch", lambda _rules, _state, seat, _text: branch if seat == 2 else 0)
    people = begun(referee, f"{OPTIONS}\nmax_turns: 1")
    ann, bob, cem = people
    referee.turn((bob, "D: LRL\nE: LRL\nF: LRL"))
    referee.send(bob, "resign m1 match\n")
    assert referee.match().phase == "playing"
    referee.turn((ann, "A: LRL\nB: LRL\nC: LRL"), (cem, "G: LRL\nH: LRL\nI: LRL"))
    end = bob.find(", the end")
    held(end)
    assert accused(referee) == []
    papers = read_bundle(attachment(end, ".zip")).papers
    # The resignation is the proof: orders of who resigned leave no trace.
    assert not [path for path in papers if path.startswith("receipts/game-1-turn-1-") and "seat-2" in path]


@pytest.mark.parametrize("seed", range(3))
def test_whoever_leaves_when_the_bundle_holds_and_no_letter_accuses(referee: Referee, seed: int) -> None:
    """Four send, withdraw, miss turns and resign at random; two verifiers and all letters agree with the server."""
    dice = random.Random(seed)
    people = referee.table("shoot-em-up", "settle: 0\nmiss: default\npace: 2d\ngrace: 1d\nmax_turns: 4", SHIPS)
    for _ in range(60):
        match = referee.match()
        if match.phase == "closed":
            break
        assert match.position
        seat = dice.choice(match.position.remaining)
        person, ships = people[seat - 1], "ABCDEFGHIJKL"[seat * 3 - 3 : seat * 3]
        living = [ship for ship in ships if ship in view_of(match)]
        orders = "\n".join(f"{ship}: {''.join(dice.choices('LRFMS', k=3))}" for ship in living)
        form = person.filled("orders", orders, rev=dice.randrange(1, 90)) if match.asked(seat) else ""
        what = dice.choice(("orders", "orders", "orders", "default", "clear", "draw", "wait", "resign"))
        if what == "orders" and form:
            referee.turn((person, orders))
        elif what == "default" and form:
            referee.send(person, form.replace(f"orders m1 turn {match.turn}", "orders m1 default", 1))
        elif what in {"clear", "draw", "resign"}:
            words = {"clear": "clear m1", "draw": "draw m1 offer", "resign": "resign m1 game 1"}
            referee.send(person, f"{words[what]}\n")
        elif what == "wait":
            referee.wait(timedelta(days=4))
    while (match := referee.match()).phase != "closed":
        assert match.position
        referee.send(people[match.position.remaining[0] - 1], "resign m1 game 1\n")
    for person in people:
        held(person.find(", the end"))
    assert accused(referee) == []


def view_of(match: Match) -> set[str]:
    """The letters of the ships that are left."""
    view = match.view(None)
    assert view
    return {ship["ship"] for ship in cast("View", view)["ships"]}


def test_who_left_a_game_plays_the_next_one(referee: Referee) -> None:
    people = begun(referee, f"{OPTIONS}\nkind: scored\ngames: 2\nmax_turns: 1\npace: 7d\nbank: 2d")
    ann, bob, cem = people
    referee.send(bob, "resign m1 game 1\n")
    assert sorted(referee.match().clocks) == [1, 3]
    referee.turn((ann, "A: LRL\nB: LRL\nC: LRL"), (cem, "G: LRL\nH: LRL\nI: LRL"))
    assert (referee.match().game, referee.match().left) == (2, {})
    assert sorted(referee.match().clocks) == [1, 2, 3]
    for person in people:
        referee.send(person, person.filled("setup", SETUPS[person.name]))
    assert in_game(referee) == (1, 2, 3)


def test_setups_are_open_when_all_are_in_and_not_before(referee: Referee) -> None:
    ann, bob = referee.agreed(OPTIONS, game="shoot-em-up")
    referee.send(ann, ann.filled("setup", SETUPS["ann"]))
    assert "A b1 E" not in "".join(body(letter) for letter in bob.letters)
    referee.send(bob, bob.filled("setup", SETUPS["bob"]))
    assert "A  b1  east" in body(bob.find("game 1 begins"))


def test_ratings_know_who_came_second() -> None:
    after = rated([PlayerStanding(name) for name in "abc"], Result((2,), (5, 3, 6)), abandoned=False)
    means = {standing.player: standing.mean or 0 for standing in after}
    assert means["b"] > means["c"] > means["a"]
    assert [(standing.won, standing.drawn) for standing in after] == [(0, 0), (1, 0), (0, 0)]
