"""Seven who do not know each other: press to some, one who falls silent, a substitute, and a draw of three."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from attackers.forgers import checked, proof, second
from in_a_box.outside import MARCH, referee_of
from in_a_box.referee import Referee, body, form_in
from judges.honest import accused

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox

NAMES = ("ann", "bob", "carl", "dan", "erin", "fay", "gus")
TERMS = "seats: 7\nanonymous: yes\npace: 2d\ngrace: 1d\nsettle: 0\nmiss: leave\nsubstitutes: majority"


def walk(referee: Referee, *people: Mailbox) -> None:
    referee.turn(*((person, "walk 1") for person in people))


def silence(referee: Referee, *others: Mailbox) -> None:
    walk(referee, *others)
    referee.wait(timedelta(days=3, minutes=1))


def heard(person: Mailbox) -> str:
    return "\n".join(map(body, person.letters))


def begun(referee: Referee) -> list[Mailbox]:
    """The seven, who have agreed on a match."""
    people = [referee.registered(name) for name in NAMES]
    first, *others = people
    referee.send(first, f"new march\n{TERMS}\nend\n")
    for other in others:
        referee.send(other, "join m1\n")
    for other in others:
        asking = next(one for one in reversed(list(other.letters)) if "\naccept m1" in body(one))
        referee.send(other, form_in(body(asking), "accept", lines=1))
    return people


def test_answers_that_name_all_others_are_no_wider_than_a_letter(tmp_path: Path) -> None:
    with referee_of(tmp_path, "march", MARCH) as referee:
        ann, *_ = begun(referee)
        answers = {
            "observe m1\n": "You now watch m1",
            "extend m1 1d\n": "and seat-7 have 1 day more for turn 1",
            "draw m1 offer for seat-1 seat-3 seat-5\n": "Offered: a draw of seat-1, seat-3, seat-5.",
        }
        for command, answer in answers.items():
            writer = referee.registered("ivy") if "observe" in command else ann
            referee.send(writer, command)
            said = [line for line in writer.text.split("\n") if not line.startswith(">")]
            assert answer in " ".join(said)
            assert max(map(len, said)) <= 78, command
        referee.close()


def test_seven_play_to_a_draw_of_three(tmp_path: Path) -> None:
    with referee_of(tmp_path, "march", MARCH) as referee:
        people = begun(referee)
        ann, bob, carl, dan, erin, fay, gus = people
        walk(referee, *people)
        assert referee.match().turn == 2

        # Ann writes to two, and the others hear nothing of it.
        before = {person.name: len(person.letters) for person in people}
        referee.send(ann, "press m1 to seat-3 seat-5\nShall we share it, we three?\nend\n")
        for person in (carl, erin):
            assert "seat-1 writes to you" in body(person.letters[-1])
            assert "Shall we share it" in body(person.letters[-1])
        for person in (bob, dan, fay, gus):
            assert len(person.letters) == before[person.name]

        # Gus is silent twice, and leaves; Fay hands her seat to Hal, on whom most of the others agree.
        others = [ann, bob, carl, dan, erin, fay]
        silence(referee, *others)
        silence(referee, *others)
        position = referee.match().position
        assert position
        assert position.remaining == (1, 2, 3, 4, 5, 6)
        assert "seat-7 was silent for too long and has left this game." in heard(ann)
        hal = referee.registered("hal")
        referee.send(fay, "substitute m1 hal for seat-6\n")
        for person in (ann, bob, carl):
            referee.send(person, "substitute m1 hal for seat-6\n")
        assert "Most of the players agree." in hal.text
        assert max(map(len, hal.text.split("Once you")[0].split("\n"))) <= 78
        referee.send(hal, form_in(hal.text, "substitute"))
        assert referee.match().name(6) == "hal"
        others[-1] = hal
        walk(referee, *others)

        # Three share it, and all who are left agree.
        referee.send(ann, "draw m1 offer for seat-1 seat-3 seat-5\n")
        assert "a draw of seat-1, seat-3, seat-5 alone" in heard(bob)
        for person in (bob, carl, dan, erin):
            assert referee.match().phase == "playing"
            referee.send(person, "draw m1 accept for seat-1 seat-3 seat-5\n")
        for person in people:  # whom they named themselves, they know
            unknown = "|".join(name for name in NAMES if name != person.name)
            assert not re.search(rf"\b({unknown})\b", heard(person)), person.name
        referee.send(hal, "draw m1 accept for seat-1 seat-3 seat-5\n")
        assert referee.match().phase == "closed"
        assert (referee.match().outcome or {})["winners"] == [1, 3, 5]
        assert "ann, carl, erin share the match" in heard(bob)
        found = proof(referee, bob)
        assert all(check.holds for check in checked(found))
        assert second(found) is None, "its rules are not there"
        assert accused(referee) == []
        referee.close()
