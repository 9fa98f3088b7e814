"""Sealed matches as the server played them by mail: nobody is accused, and the store tells the same again."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.sealed_seats import agreed, play
from judges.honest import accused, bundles_now
from vectors.matches import proof

from pbem.desk import sealed_files
from pbem.identity import ssh
from pbem.proof import bundle
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Callable

    from in_a_box.referee import Referee
    from in_a_box.sealed_seats import SealedSeat


def test_the_store_tells_the_same_again_at_every_point(referee: Referee) -> None:
    """Replayed from the transcript and its letters, as from memory."""
    seats = agreed(referee, "ann", "bob", options="fleet: cost:3\n")
    while play(referee, seats, 1):
        referee.read_cold()
    assert referee.match().phase == "closed"


def an_end_that_was_none(told: dict[str, Any]) -> None:
    told["revealing"] = True


def a_key_of_its_own(told: dict[str, Any]) -> None:
    told["keys"]["1"].append(ssh.public(Ed25519PrivateKey.generate()))


@pytest.mark.parametrize("lie", [an_end_that_was_none, a_key_of_its_own])
def test_what_one_player_was_told_beside_what_was_signed_is_held_against_the_bundle(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, lie: Callable[[dict[str, Any]], None]
) -> None:
    seats = in_the_second_turn(referee)
    of_seat = sealed_files.of_seat

    def told(*what: Any) -> Any:
        found = of_seat(*what)
        lie(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(sealed_files, "of_seat", told)
        referee.send(seats[1].box, "report m1\n")
    play(referee, seats)
    assert referee.match().phase == "closed"
    assert re.search(
        r"position of game 1, turn \d+'.* shows (another position than follows|a key that no entry)",
        str(accused(referee)),
    )


def test_what_nobody_signed_is_held_against_the_bundle_while_the_match_goes_on(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server need not close the match, but its letter shows up to where the bundle must have everything."""
    seats = in_the_second_turn(referee)
    texts, ann = sealed_files.signed_texts, seats[0].box
    resigns = referee.signed(ann, "resign m1 match\n").encode()

    def other(*what: Any) -> Any:
        return [*texts(*what), ("m1-resign-99-seat-1.signed.txt", "text/plain", resigns)]

    with monkeypatch.context() as patch:
        patch.setattr(sealed_files, "signed_texts", other)
        referee.send(seats[1].box, "report m1\n")
    assert "the bundle has no such letter" in str(accused(referee))


def in_the_second_turn(referee: Referee) -> list[SealedSeat]:
    seats = agreed(referee, "ann", "bob", game="spaceships")
    while not (referee.match().phase == "playing" and referee.match().turn > 1 and referee.match().owes(1)):
        assert play(referee, seats, 1)
    return seats


def test_what_the_other_signed_for_one_player_alone_is_held_against_the_bundle(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server in league with ann shows bob another commitment of hers than it enters."""
    seats = in_the_second_turn(referee)
    texts, ann = sealed_files.signed_texts, seats[0].box

    def other(*what: Any) -> Any:
        found = texts(*what)
        name, kind, content = next(one for one in found if b"\ncommit" in one[2] and "seat-1" in one[0])
        words = re.sub(r"(commit\s+)[0-9a-f]{64}", rf"\g<1>{'cd' * 32}", content.decode().partition("-----BEGIN")[0])
        return [*(one for one in found if one[0] != name), (name, kind, referee.signed(ann, words).encode())]

    with monkeypatch.context() as patch:
        patch.setattr(sealed_files, "signed_texts", other)
        referee.send(seats[1].box, "report m1\n")
    play(referee, seats)
    assert "something else was signed in the letter of the bundle" in str(accused(referee))


def test_while_a_sealed_game_runs_its_bundle_has_what_was_said_beside_its_steps(referee: Referee) -> None:
    ann, bob = in_the_second_turn(referee)
    for seat, words in ((ann, "draw m1 offer\n"), (ann, "annul m1 offer\n"), (bob, "extend m1 1d\n")):
        referee.send(seat.box, words)
    assert {"extended", "draw", "annul"} <= {entry.type for entry in bundle.read(proof(referee, bob.box)).entries}
    assert accused(referee) == []
    assert verified(bundles_now(referee)[-1])


def test_a_restarted_server_takes_no_seal_for_an_answer_in_the_turn_before_the_first(referee: Referee) -> None:
    """Bob committed to a setup and never tells it: Ann may claim the game."""
    ann, bob = agreed(referee, "ann", "bob", game="shoot-em-up", options="board: 5x5\n")
    play(referee, [ann, bob], 2)
    ann.write(referee)
    referee.wait(timedelta(days=11))
    assert (referee.match().turn, referee.match().missed) == (0, frozenset({2}))
    referee.open_desk()
    referee.send(ann.box, "claim m1\n")
    assert referee.match().awaits or referee.match().phase == "closed", ann.box.text
