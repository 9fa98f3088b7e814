"""A game of three people through the desk: one of them is out early, and reads on to the reveal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from referee import Referee, attachment, body

from pbem.proof.signed_letters import Letters
from pbem.proof.verify import verify

if TYPE_CHECKING:
    from referee import Mailbox

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
    assert "You have nothing to do in turn 2." in body(cem.find("turn 1"))
    assert "orders m1" not in body(cem.find("turn 1"))
    for number, turn in enumerate(TURNS[1:], start=2):
        referee.read_three_ways()
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
        checks = list(verify(attachment(reveal, ".zip"), Letters))
        assert all(check.holds for check in checks), checks
        assert checks[-1].found.startswith("ann won, scores [3, 2, 0]")
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
    assert "You have no ships left and nothing to order in turn 2." in cem.text
    assert "orders m1 turn" not in cem.text
    assert "You have submitted no orders" not in cem.text
    assert "Action 1\n" in body(cem.find("again"))
    referee.send(cem, "press m1\nHave fun.\nend\n")
    assert "Have fun." in ann.text


def test_the_turn_waits_for_all_who_have_ships_and_for_nobody_else(referee: Referee) -> None:
    people = begun(referee)
    ann, bob, cem = people
    referee.turn((ann, TURNS[0]["ann"]), (cem, TURNS[0]["cem"]))
    assert "turn 1" not in str(bob.last["Subject"])
    referee.turn((bob, TURNS[0]["bob"]))
    assert "turn 1" in str(cem.find("turn 1")["Subject"])
    referee.turn((bob, TURNS[1]["bob"]))
    referee.send(ann, ann.filled("orders", "A: LLL"))
    assert ann.text.count("(ruling 8)") == 2
    referee.turn((ann, TURNS[1]["ann"]))
    assert "turn 2" in str(cem.last["Subject"])


def test_a_resignation_among_three_ends_the_game_without_a_winner(referee: Referee) -> None:
    people = begun(referee)
    ann, bob, _ = people
    referee.send(bob, "resign m1 game 1\n")
    reveal = ann.find(", the end")
    assert "Spaceships game 1 ends without a winner after 0 turns" in body(reveal)
    assert all(check.holds for check in verify(attachment(reveal, ".zip"), Letters))
    assert "The match ends without a winner, because a player resigned." in body(ann.find("the match is closed"))


def test_of_the_last_two_the_other_wins(referee: Referee) -> None:
    people = begun(referee)
    ann, bob, cem = people
    play(referee, people, TURNS[0])
    referee.send(bob, "resign m1 match\n")
    for person in (ann, cem):
        assert "Spaceships game 1 after 1 turn, because a player" in body(person.find(", the end"))
        assert "won the match, because a player resigned" in body(person.find("the match is closed"))
    checks = list(verify(attachment(cem.find(", the end"), ".zip"), Letters))
    assert all(check.holds for check in checks), checks


def test_who_is_out_has_nothing_to_resign(referee: Referee) -> None:
    people = begun(referee)
    ann, bob, cem = people
    play(referee, people, TURNS[0])
    before = len(ann.letters), len(bob.letters)
    for what in ("game 1", "match"):
        referee.send(cem, f"resign m1 {what}\n")
        assert "you are out of this game, and the others play on" in cem.text
    assert (len(ann.letters), len(bob.letters)) == before
    play(referee, people, TURNS[1])
    assert "turn 2" in str(cem.last["Subject"])


def test_setups_are_open_when_all_are_in_and_not_before(referee: Referee) -> None:
    ann, bob = referee.agreed(OPTIONS, game="shoot-em-up")
    referee.send(ann, ann.filled("setup", SETUPS["ann"]))
    assert "A b1 E" not in "".join(body(letter) for letter in bob.letters)
    referee.send(bob, bob.filled("setup", SETUPS["bob"]))
    assert "A  b1  east" in body(bob.find("game 1 begins"))


def test_reading_commands(referee: Referee) -> None:
    ann = begun(referee)[0]
    referee.send(ann, "games\nrules shoot-em-up\npreview m1 turn 1\nA: FMS\nB: LRL\nC: SSS\nend\n", sign=False)
    assert "Legal. This was a preview; nothing was submitted.\n\n  A: FMS\n  B: LRL\n  C: SSS" in ann.text
    assert "SHOOT 'EM UP SPACESHIPS" in body(ann.find("The rules of"))
    for letter in ann.letters:
        assert body(letter).isascii()
        assert all(len(line) <= 80 for line in body(letter).split("\n") if not line.startswith(">"))


def test_a_report_of_no_turn_is_refused(referee: Referee) -> None:
    ann = begun(referee)[0]
    referee.send(ann, "report m1\n", sign=False)
    assert "there is no report of that turn" in ann.text
