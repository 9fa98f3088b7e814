"""Matches that are not in memory: a desk that starts anew before each letter plays on as one that never stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Referee, attachment, known

from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from in_a_box.referee import Mailbox

FLEETS = {"ann": "MD Rv1 Rv2 Rv3", "bob": "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"}
SHIPS = {
    "ann": "A c1 N\nB d1 N\nC e1 N",
    "bob": "D c9 S\nE d9 S\nF e9 S",
    "cem": "G a4 E\nH a5 E\nI a6 E",
    "dan": "J i4 W\nK i5 W\nL i6 W",
}
PIECES = {
    "ann": "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
    "bob": "* I2 I4 I6 I8 I10 G1 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G2 G4 G6 G8\nH J1",
}


def everything_known(referee: Referee) -> list[str]:
    match = referee.match()
    return [known(match, reader) for reader in (*match.seats, None)]


def played_on(referee: Referee, person: Mailbox, orders: str) -> None:
    """One letter to a desk that knows only the store, and what everybody knows by then, in memory and replayed."""
    referee.open_desk()
    referee.send(person, person.filled("orders", f"final\n{orders}"))
    warm = everything_known(referee)
    referee.read_cold()
    assert everything_known(referee) == warm


def ends_well(referee: Referee, winner: Mailbox, *others: Mailbox) -> None:
    for person in others:
        referee.open_desk()
        referee.send(person, "resign m1 match\n")
    checks = list(verify(attachment(winner.find(", the end"), ".zip"), Letters))
    assert all(check.holds for check in checks), checks[-1]


def test_spaceships(referee: Referee) -> None:
    ann, bob = people = referee.table("spaceships", "fleet: cost:3\nsettle: 0", FLEETS)
    early = ann.filled("orders", "Gz1").replace("turn 1", "turn 9", 1)
    for strike in ("Gv1", "Gv2", "Gv3"):
        for person, orders in zip(people, (strike, ""), strict=True):
            played_on(referee, person, orders)
    assert referee.match().turn == 4
    referee.open_desk()
    referee.send(ann, early)  # cites what the first letter printed
    assert referee.match().stored
    referee.read_cold()
    ends_well(referee, ann, bob)


@pytest.mark.parametrize(
    ("game", "setups", "orders"),
    [
        ("shoot-em-up", SHIPS, ["ABC", "DEF", "GHI", "JKL"] * 3),
        ("dueling-masters", PIECES, ["Z1 D1-D2", "Z1 G2-G3", "Z1 D2-D3", "Z1 G3-G2"]),
    ],
)
def test_the_other_games(referee: Referee, game: str, setups: dict[str, str], orders: Sequence[str]) -> None:
    people = referee.table(game, "", setups)
    for number, one in enumerate(orders):
        moves = "\n".join(f"{ship} RRR" for ship in one) if game == "shoot-em-up" else one
        played_on(referee, people[number % len(people)], moves)
    assert referee.match().turn > 3
    ends_well(referee, *people)
