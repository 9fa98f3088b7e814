"""Decisions that an agent leaves to its player: a signed text is unreadable, or the player knows better."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.owners import Owner, in_second_turn, live_out, live_until, propose, steps_of
from player.lying_desk import lie_in_files

from pbem.identity import ssh
from pbem.match.events.sealed_events import sealed
from pbem.player.correspondence.standings import Impossible
from pbem.player.known import MatchKnown

if TYPE_CHECKING:
    from in_a_box.referee import Referee


pytestmark = pytest.mark.usefixtures("quick")
HOUR = timedelta(hours=1)
FLEET = "cost:8"
"""A game in which there is a third turn."""


ANOTHER_KEY = "seat 1 signed with a key that was not told at first: is it that player's?"


def other_key(number: int) -> str:
    return ssh.public(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


@pytest.mark.parametrize("at", ["seal-seat-1", "step-"])
def test_what_cannot_be_read_is_held_against_the_server_that_entered_it(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Only a signed text shows what the other player is bound to, and bob's program cannot read what he is shown."""

    def damage(_match: object, _document: object, out: Any) -> None:
        out.attachments = [
            (name, kind, content.replace(b"BEGIN", b"BEGUN") if at in name else content)
            for name, kind, content in out.attachments
        ]

    lie_in_files(monkeypatch, damage)
    propose(referee, owners, "spaceships")
    ann, bob = owners
    live_out(owners)
    (said,) = {alarm.said for alarm in bob.memory.alarms()}
    assert said == "a text came that no player has signed"
    assert not ann.accusations
    assert steps_of(referee.match(), 2) == 0
    assert not bob.agent.asks("m1")
    assert not bob.agent.take_back("m1", referee.now)
    live_out(owners)
    assert steps_of(referee.match(), 2) == 0
    assert bob.agent.hindered["m1"] == said

    ann.letters.say("m1", "resign m1 game 1", referee.now)
    live_out(owners)
    game = sealed(referee.match()).game
    assert referee.match().phase == "closed" or 2 in game.reveals


def test_an_accusation_that_is_taken_back_was_never_made(referee: Referee, owners: list[Owner]) -> None:
    """Here the fault is in what bob's agent remembers, and bob knows better."""
    ann, bob = owners
    in_second_turn(referee, owners)
    bob.memory.keep(MatchKnown(keys={"1": [other_key(1)]}), "m1")
    live_out(owners)
    (said,) = {alarm.said for alarm in bob.memory.alarms()}
    assert said == ANOTHER_KEY
    with pytest.raises(Impossible, match="pbem play take-back m1"):
        bob.agent.reveal("m1", referee.now)
    before = steps_of(referee.match(), 2)

    assert not bob.agent.take_back("m1", referee.now)
    assert not bob.memory.alarms()
    with pytest.raises(Impossible, match="Nothing is held"):
        bob.agent.take_back("m1", referee.now)
    live_out(owners)
    assert steps_of(referee.match(), 2) > before
    assert not bob.memory.alarms()
    assert referee.match().phase == "closed"
    assert not ann.accusations


def test_whatever_else_is_found_is_held(referee: Referee, owners: list[Owner]) -> None:
    """The server was forgiven once before."""
    _, bob = owners
    in_second_turn(referee, owners)
    for time in (1, 2):
        with bob.memory.noting(MatchKnown, "m1") as known:
            known.keys = {"1": [other_key(time)]}
        bob.letters.ask("report m1", referee.now)
        live_until(owners, bob.memory.alarms)
        (alarm,) = bob.memory.alarms()
        assert alarm.said == ANOTHER_KEY
        assert not bob.agent.take_back("m1", referee.now)


def test_what_was_refused_is_not_decided_anew(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server, or whoever has a copy of the letter, could have it entered: nobody could open it then."""
    ann, bob = owners
    propose(referee, owners, "spaceships")
    live_out([bob])
    before = bob.memory.count()
    bob.decide("m1")
    assert bob.memory.count() == before, "the same again is the same letter"
    refused(bob, "seal")
    bob.chance = "another setup"
    with pytest.raises(Impossible, match="cannot be changed"):
        bob.decide("m1")
    with monkeypatch.context() as patch:
        patch.setattr(bob, "decide", lambda _: None)
        referee.wait(HOUR)
        live_out(owners)
        for instruction, asked in (("pause", False), ("resume", True)):
            referee.instruct(instruction)
            bob.receive()
            assert bob.agent.shown("m1").asked == asked
    bob.agent.order("m1", "", referee.now)
    refused(bob, "step")
    with pytest.raises(Impossible, match="cannot be changed"):
        bob.agent.order("m1", "Rv1", referee.now)
    assert not bob.agent.asks("m1")
    referee.wait(HOUR)
    live_out(owners)
    assert referee.match().phase == "closed"
    assert not ann.accusations + bob.accusations


def refused(bob: Owner, command: str) -> None:
    """The server says so of his last letter."""
    bob.memory.settle(bob.memory.prepared(command, "m1")[-1].id, "refused")
