"""Seven in one match: answers that name all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.outside import MARCH, referee_of
from in_a_box.referee import Referee, body, form_in

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox

NAMES = ("ann", "bob", "carl", "dan", "erin", "fay", "gus")
TERMS = "seats: 7\nanonymous: yes"


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
