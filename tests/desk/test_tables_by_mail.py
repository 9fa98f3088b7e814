"""A tournament at tables of three by mail: three rounds of a march, with one who falls silent and one who leaves."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.mailing_club import Club
from in_a_box.outside import MARCH, referee_of
from in_a_box.referee import START, body, placed
from judges.golden import reads_like

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.tournament.tournament_state import Pairing

DAY = timedelta(days=1)
NAMES = ("ann", "bob", "carl", "dan", "erin", "fay", "gus", "hal", "ida")
TERMS = f"""closes: {(START + 4 * DAY).date().isoformat()}
format: swiss
seats: 3
rounds: 3
pace: 1d
grace: 0
settle: 0
miss: leave
"""


@pytest.fixture
def club(tmp_path: Path) -> Iterator[Club]:
    with referee_of(tmp_path, "march", MARCH) as referee:
        yield Club(referee, *NAMES)


def raced(club: Club, pairing: Pairing) -> None:
    """The players walk as far as they come before the others in the alphabet; then all but the first resign."""
    first, second, third = sorted(pairing.players)
    for name, steps in ((first, 3), (second, 2), (third, 1)):
        person = club.people[name]
        club.referee.send(person, person.filled("orders", f"final\nwalk {steps}"))
    for name in (third, second):
        club.say(name, f"resign {pairing.match} game 1")


def test_nine_play_three_rounds(club: Club, tmp_path: Path) -> None:
    ann, bob, gus = (club.people[name] for name in ("ann", "bob", "gus"))
    club.say("bob", "set language de")
    club.referee.send(ann, f"tournament new march\n{placed(ann)}{TERMS}end\n")
    assert "Announced." in ann.text
    club.say("bob", "tournament t1")
    reads_like(ann.last, "tables/announced")
    reads_like(bob.last, "de/tables/announced")
    for name in NAMES:
        club.say(name, f"enter t1 {club.t.rules_hash}")
    club.start()
    assert [len(pairing.names) for pairing in club.awaited] == [3, 3, 3]

    # Gus is silent in the first round; so two of his table play on to the end.
    silent = next(pairing for pairing in club.awaited if "gus" in pairing.players)
    for pairing in club.awaited:
        if pairing != silent:
            raced(club, pairing)
    others = sorted({*silent.players} - {"gus"})
    for _ in range(2):
        for name, steps in zip(others, (3, 2), strict=True):
            person = club.people[name]
            club.referee.send(person, person.filled("orders", f"final\nwalk {steps}"))
        club.referee.wait(DAY + timedelta(minutes=2))
    club.say(others[1], f"resign {silent.match} game 1")
    result = next(pairing.result for pairing in club.t.pairings if pairing.match == silent.match)
    assert result is not None
    seat = {name: result.players.index(name) for name in silent.players}
    assert result.silent == (seat["gus"] + 1,)
    assert [result.points[seat[name]] for name in (*others, "gus")] == [4, 2, 0]

    # Hal leaves; his match of the second round stays his, and the third is played by six, with two byes.
    assert club.t.round == 2
    assert "You have left" in club.say("hal", "leave t1")
    club.say("ann", "tournament t1")
    club.say("bob", "tournament t1")
    reads_like(ann.last, "tables/second-round")
    reads_like(bob.last, "de/tables/second-round")
    for pairing in club.awaited:
        raced(club, pairing)
    assert club.t.round == 3
    assert (len(club.awaited), len(club.t.byes)) == (2, 2)
    assert not [pairing for pairing in club.awaited if "hal" in pairing.names]
    assert {name: club.t.entrants[name].out for name in ("gus", "hal")} == {"gus": "", "hal": "kept"}
    for pairing in club.awaited:
        raced(club, pairing)

    assert club.t.phase == "ended"
    reads_like(next(one for one in ann.letters if "[pbem t1] it is over" in str(one["Subject"])), "tables/end")
    assert "number 1 of 9, with 12 points" in body(ann.letters[-1])
    found = club.proof(club.bundles())
    assert not [line for line in found if line.startswith("FAIL")]
    assert gus.letters
    club.publish(tmp_path / "pages")
    page = (tmp_path / "pages" / "t1.html").read_text()
    assert "Each opponent who ends below gives 2 points" in page
    for pairing in club.t.pairings:
        assert " \N{EN DASH} ".join(pairing.names) in page
        assert pairing.result is not None
        assert ":".join(map(str, pairing.result.points)) in page


def test_nobody_who_is_silent_ends_a_match_for_all(club: Club) -> None:
    ann = club.people["ann"]
    club.referee.send(ann, f"tournament new march\n{placed(ann)}{TERMS.replace('leave', 'pass')}end\n")
    assert "in a tournament, miss is forfeit or leave" in ann.text


def test_who_has_a_bye_is_told(club: Club) -> None:
    club.referee.send(club.people["ann"], f"tournament new march\n{placed(club.people['ann'])}{TERMS}end\n")
    club.say("bob", "set language de")
    for name in NAMES[:-1]:
        club.say(name, f"enter t1 {club.t.rules_hash}")
    club.start()
    for number in (1, 2):
        said = {name: club.people[name].text for name in club.t.byes[-2:]}
        assert len(said) == 2
        for name, text in said.items():
            says = "In Runde {} von t1 bist du spielfrei" if name == "bob" else "In round {} of t1 you have a bye"
            assert says.format(number) in text, text
        for pairing in club.awaited if number == 1 else ():
            raced(club, pairing)
    letters = [body(letter) for person in club.people.values() for letter in person.letters]
    assert len(club.t.byes) == sum(bye in text for text in letters for bye in ("you have a bye", "bist du spielfrei"))
