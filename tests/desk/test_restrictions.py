"""What was agreed on additional ships holds in every next game of a continued match, by mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.inquiries import held

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee

OPTIONS = "fleet: cost:3\nadditional_allowed: {LG = 4, AG = 1}\nsettle: 0\nkind: continued\ngames: 3"
MD = "MD Rv1 Rv2 Rv3"
WITH_LG_AND_AG = f"{MD}\nLG Gx1\nAG Gv1 Gv2"
WITH_ANOTHER_MD = "MD1 Rv1 Rv2 Rv3\nMD2 Gv1 Gv2 Gv3"
FOUR_LG = "LG1 Gx1\nLG2 Gx3\nLG3 Gx5\nLG4 Gy1"
NEXT = f"{MD}\n{FOUR_LG}\nAG Gv1 Gv2"
NEXT_WITH_TWO_AG = f"{MD}\nLG1 Gx1\nLG2 Gx3\nAG1 Gv1 Gv2\nAG2 Yv1 Yv2"
NEXT_WITH_SIX_LG = f"{MD}\n{FOUR_LG}\nLG5 Gy3\nLG6 Gy5"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


def play(referee: Referee, ann: Mailbox, bob: Mailbox) -> None:
    """Ann wins, and keeps all that she has."""
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))


def refused(referee: Referee, ann: Mailbox, setup: str) -> bool:
    referee.send(ann, ann.filled("setup", setup))
    return "there are more ships of a type than agreed (ruling 9)" in " ".join(ann.text.split())


def test_additional_ships_are_of_the_types_agreed_in_every_next_game(referee: Referee) -> None:
    ann, bob = referee.begun(OPTIONS, (MD, BOB))
    play(referee, ann, bob)
    assert refused(referee, ann, WITH_ANOTHER_MD)
    referee.send(ann, ann.filled("setup", WITH_LG_AND_AG))
    referee.send(bob, bob.filled("setup", BOB))
    play(referee, ann, bob)
    assert refused(referee, ann, NEXT_WITH_TWO_AG)
    assert refused(referee, ann, NEXT_WITH_SIX_LG)
    referee.send(ann, ann.filled("setup", NEXT))
    referee.send(bob, bob.filled("setup", BOB))
    play(referee, ann, bob)
    held(ann.find("game 3, the end"))
