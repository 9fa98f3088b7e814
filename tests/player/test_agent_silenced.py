"""A server that lies twice in the same words: its player's word is enough, each time, to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.owners import live, live_out, propose
from player.lying_desk import lie_in_bulletins, lie_in_files

from pbem.desk import sealed_files
from pbem.player.forms import Unfit

if TYPE_CHECKING:
    from in_a_box.owners import Owner
    from in_a_box.referee import Referee

    from pbem.match.state import Match

pytestmark = pytest.mark.usefixtures("quick")


def until_hindered(owners: list[Owner]) -> None:
    for _ in live(owners):
        if "no player has signed" in owners[1].agent.hindered.get("m1", ""):
            return
    raise AssertionError(owners[1].agent.hindered)


def taken_back(referee: Referee, bob: Owner) -> None:
    bob.agent.take_back("m1", referee.now)
    bob.flush()


def test_what_was_taken_back_once_can_be_taken_back_again(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    lies = [True]

    def lie(match: Match, _document: object, out: Any) -> None:
        if lies[0] and match.turn >= 1:
            out.attachments.append(("m1-step-99-seat-1.signed.txt", "text/plain", f"Hello {match.turn}\n".encode()))

    lie_in_files(monkeypatch, lie)
    propose(referee, owners, "spaceships")
    for times in range(3):
        lies[0] = times < 2
        if lies[0]:
            until_hindered(owners)
            lies[0] = False
            taken_back(referee, owners[1])
            for owner in live(owners):
                if owner is owners[1]:
                    break
    live_out(owners)
    assert referee.match().phase == "closed", owners[1].agent.hindered


def test_keys_that_cannot_be_read_are_forgotten_with_the_accusation(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, lies = sealed_files.of_seat, [True]

    def of_seat(match: Match, note: str | None) -> Any:
        told = honest(match, note)
        return told | {"keys": {**told["keys"], "1": ["no key"]}} if lies[0] else told

    monkeypatch.setattr(sealed_files, "of_seat", of_seat)
    propose(referee, owners, "spaceships")
    live_out(owners)
    lies[0] = False
    for _ in range(4):
        for owner in owners:
            if owner.agent.hindered:
                taken_back(referee, owner)
        live_out(owners)
    assert referee.match().phase == "closed", [owner.agent.hindered for owner in owners]


def test_a_setup_is_chosen_by_the_options_that_were_agreed(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another fleet would be illegal, and its player lose, once it is revealed."""
    other = {"options": {"fleet": "cost:6"}}
    lie_in_files(monkeypatch, lambda _match, told, _out: told.update(other), "setup_document", "position_document")
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert not owners[1].memory.prepared("seal", "m1")
    assert "other options than were agreed on" in " ".join(owners[1].accusations)


def test_a_setup_that_was_said_to_be_withdrawn_can_be_opened(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server asks for another one, and keeps that back: who could open only the last one would lose."""
    bob, state = owners[1], sealed_files.of_seat
    monkeypatch.setattr(sealed_files, "of_seat", lambda match, _: state(match, None))
    propose(referee, owners, "spaceships")
    with monkeypatch.context() as patch:
        lie_in_bulletins(patch, lambda stands, told: told.update(asked=stands.phase == "setup"))
        bob.look()
        bob.look()
        bob.agent.hear(bob.receive(), referee.now)
        bob.chance = "another"
        assert bob.agent.asks("m1")
        bob.decide("m1")
        for sent in bob.letters.outbox.unsent():
            bob.letters.outbox.has_left(sent)
    bob.letters.ask("report m1", referee.now)
    live_out(owners)
    assert len({sent.form.partition("\nnote")[0][-64:] for sent in bob.memory.prepared("seal", "m1")}) > 1
    assert referee.match().phase == "closed", bob.agent.hindered
    assert not bob.accusations


def test_a_revision_that_no_form_can_name_hinders_its_match_alone(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the program, which plays the others."""
    bob = owners[1]
    lie_in_bulletins(monkeypatch, lambda _stands, told: told.update(rev=10**9))
    propose(referee, owners, "spaceships")
    bob.look()
    bob.receive()
    with pytest.raises(Unfit):
        bob.decide("m1")
    assert bob.agent.act(referee.now) == []
    assert "`rev` must be a whole number" in bob.agent.hindered["m1"]
