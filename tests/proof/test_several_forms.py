"""Letters of several commands: what the desk obeys of them is what a proof finds in them, years later."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import holds
from in_a_box.referee import SERVER, Mailbox, Referee, form_in, placed
from judges.honest import bundles_now
from playing.random_letters import Table
from vectors.matches import SETUPS, SMALL, asked, home, keyless, proposed, reply

from verifier import verified

if TYPE_CHECKING:
    from pathlib import Path

ARMED = (SETUPS[1], SETUPS[0])
"""The second one has something to order."""


def sentence(referee: Referee, person: Mailbox, words: str, rev: int = 1, place: str = "turn 1\n") -> str:
    return f"{words}\n{placed(person)}prev {referee.match().prev}\nrev {rev}\n{place}end\n"


def proved(referee: Referee, ann: Mailbox) -> None:
    """Ann resigns, so that all letters are shown; both verifiers find that all bundles hold."""
    referee.send(ann, "resign m1 match\n")
    assert referee.match().phase == "closed"
    for content in bundles_now(referee):
        holds(content)
        verified(content)


def ordered(referee: Referee) -> dict[int, tuple[int, str]]:
    return {seat: (orders.rev, orders.text) for seat, orders in referee.match().orders.items()}


def test_orders_in_advance_that_name_no_head_and_are_not_used(referee: Referee) -> None:
    ann, bob = keyless(referee, ARMED)
    early = "orders m1 turn 2 final\nRv1 Rv2 Rv3 Rv4 Rv5\nend\n"
    reply(referee, home(), bob, bob.filled("orders", "final\nRv1") + early, asked(bob, "orders"))
    referee.turn((ann, ""))
    assert not referee.match().orders[2].standing
    reply(referee, home(), bob, bob.filled("orders", "final\nRv3", rev=2), asked(bob, "orders"))
    referee.turn((ann, ""))
    assert referee.match().turn == 3
    proved(referee, ann)


def test_the_form_as_it_came_stands_above_the_one_filled_in(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, SETUPS)
    referee.send(ann, ann.form("orders") + ann.filled("orders", "final\nRv1"))
    assert "Rv1" in referee.match().orders[1].text
    referee.turn((bob, ""))
    proved(referee, ann)


@pytest.mark.parametrize("elsewhere", ["server other.example\n", "player bob\n"])
def test_orders_for_another_place_stand_above_those_that_count(referee: Referee, elsewhere: str) -> None:
    ann, bob = referee.begun(SMALL, SETUPS)
    others = re.sub(f"{elsewhere.partition(' ')[0]} .*\n", elsewhere, ann.filled("orders", "final\nRv2"))
    referee.send(ann, others + ann.filled("orders", "final\nRv1"))
    assert ordered(referee) == {1: (1, "Rv1")}
    referee.turn((bob, ""))
    proved(referee, ann)


@pytest.mark.parametrize("revs", [("", ""), ("", "rev 7\n"), ("rev 7\n", ""), ("rev 1\n", "rev 2\n")])
def test_two_sets_of_orders_by_a_player_without_a_key(referee: Referee, revs: tuple[str, str]) -> None:
    """One letter submits one: else the receipts of two would have one letter."""
    ann, bob = keyless(referee, ARMED)
    where = asked(bob, "orders")
    texts = [f"orders m1 turn 1\n{rev}{cell}\nend\n" for rev, cell in zip(revs, ("Rv1", "Rv3"), strict=True)]
    reply(referee, home(), bob, "".join(texts), where)
    assert not ordered(referee)
    assert "this letter submits two of these" in " ".join(bob.text.split())
    reply(referee, home(), bob, bob.filled("orders", "final\nRv1"), where)
    referee.turn((ann, ""))
    proved(referee, ann)


def test_two_setups_of_which_one_leaves_out_its_game(referee: Referee) -> None:
    domain, _, bob = proposed(referee)
    reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
    two = f"setup m1\n{SETUPS[0]}\nend\nsetup m1 game 1\n{SETUPS[1]}\nend\n"
    reply(referee, domain, bob, two, asked(bob, "setup"))
    assert "this letter submits two of these" in " ".join(bob.text.split())
    assert not referee.match().setups


def test_the_form_as_it_came_is_no_second_set_of_orders(referee: Referee) -> None:
    ann, bob = keyless(referee, ARMED)
    where, form = asked(bob, "orders"), bob.form("orders")
    reply(referee, home(), bob, f"orders m1 turn 1\nRv1\nend\n{form}", where)
    assert ordered(referee) == {2: (1, "Rv1")}
    referee.turn((ann, ""))
    proved(referee, ann)


@pytest.mark.parametrize(("between", "obeyed"), [(0, False), (19, False), (198, False), (199, True), (300, True)])
def test_a_withdrawal_far_below_in_the_same_letter(referee: Referee, between: int, *, obeyed: bool) -> None:
    """Beyond what is answered it still withdraws; beyond what is read it is not there, for anybody."""
    ann, bob = referee.begun(SMALL, SETUPS)
    others = "".join(f"help x{number}\n" for number in range(between))
    withdrawal = sentence(referee, ann, "clear m1 turn 1", 2, "")
    referee.send(ann, ann.filled("orders", "final\nRv1") + others + withdrawal)
    assert bool(referee.match().orders) == obeyed
    if not obeyed:
        referee.turn((ann, "Rv1"))
    referee.turn((bob, ""))
    assert referee.match().turn == 2
    proved(referee, ann)


@pytest.mark.parametrize("place", ["", "game 1\n", "turn 1\n"])
def test_a_withdrawal_without_a_signature_that_leaves_out_its_place(referee: Referee, place: str) -> None:
    ann, bob = keyless(referee, ARMED)
    where = asked(bob, "orders")
    reply(referee, home(), bob, bob.filled("orders", "final\nRv1"), where)
    reply(referee, home(), bob, f"clear m1\nserver {SERVER}\nrev 5\n{place}end\n", str(bob.last["Reply-To"]))
    assert "Withdrawn" in bob.text
    proved(referee, ann)


def test_whoever_names_a_substitute_says_no_hash(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, SETUPS)
    referee.registered("carl")
    named = sentence(referee, ann, f"substitute m1 carl for ann {referee.match().rules_hash}")
    referee.send(ann, named)
    assert "the hash is for the newcomer to say" in ann.text
    assert referee.match().nominated == {}
    proved(referee, ann)


@pytest.mark.parametrize(
    ("words", "place", "fault"),
    [
        ("draw m1 offer", "turn 1\ngame 7\n", "wrong `game`; expected 1"),
        ("clear m1 turn 1", "turn 2\n", "`turn` appears twice"),
        ("clear m1 turn 1", "turn 1\ngame 7\n", "wrong `game`; expected 1"),
        ("clear m1 default", "turn 1\n", "`turn` appears twice"),
        ("resign m1 game 1", "turn 1\ngame 2\n", "`game` appears twice"),
        ("resign m1 match", "turn 1\ngame 2\n", "wrong `game`; expected 1"),
    ],
)
def test_a_sentence_for_two_places(referee: Referee, words: str, place: str, fault: str) -> None:
    ann, bob = referee.begun(f"{SMALL}\nmiss: default", SETUPS)
    referee.turn((ann, "Rv1"))
    entries = referee.match().seq
    referee.send(ann, sentence(referee, ann, words, 2, place))
    assert fault in " ".join(ann.text.split())
    assert referee.match().seq == entries
    assert ordered(referee) == {1: (1, "Rv1")}
    referee.turn((bob, ""))
    proved(referee, ann)


def test_a_sentence_for_two_places_above_the_one_that_counts(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, SETUPS)
    wrong = sentence(referee, ann, "draw m1 offer", place="turn 1\ngame 7\n")
    referee.send(ann, wrong + sentence(referee, ann, "draw m1 offer"))
    assert referee.match().offers
    proved(referee, ann)


def test_a_sentence_before_the_game_that_names_a_turn(referee: Referee) -> None:
    ann, _ = referee.agreed(SMALL)
    referee.send(ann, sentence(referee, ann, "annul m1 offer", place="game 1\nturn 3\n"))
    assert "wrong `turn`" in ann.text
    assert not referee.match().offers
    proved(referee, ann)


@pytest.mark.parametrize("seed", range(6))
def test_random_letters(tmp_path: Path, seed: int) -> None:
    """Whatever of them the desk obeys, both verifiers find that players said it, and a restarted desk knows it."""
    referee = Referee(tmp_path)
    table = Table(referee, Random(seed))
    for _ in range(12):
        table.play(1)
        referee.read_cold()
    proved(referee, table.first)
    referee.close()
