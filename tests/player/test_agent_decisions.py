"""What an agent cannot decide by itself: what another player signed cannot be read, or its player knows better.

Silence of the agent would lose the game, for whoever caused it.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.machine import Machine
from in_a_box.owners import Owner, in_second_turn, live, live_out, propose, seated, steps_of

from pbem.desk import position_files
from pbem.player.correspondence.standings import Impossible
from pbem.player.known import MatchKnown, StepsKnown
from pbem.player.signed_texts import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from in_a_box.referee import Referee

    from pbem.mail.compose import Attachment
    from pbem.match.state import Match

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:8"
"""A game in which there is a third turn."""


class Damaging:
    """A desk, of before letters were read at receipt as the other will, that shows bob something unreadable of ann's.

    `at` says in which of the names of files it does.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
        self.at = at
        self._signed_texts = position_files.signed_texts
        monkeypatch.setattr(position_files, "signed_texts", self.signed_texts)

    def signed_texts(self, match: Match, seat: int, number: int, matches: Any) -> list[Attachment]:
        found = self._signed_texts(match, seat, number, matches)
        return [(name, kind, self._damaged(content, name, seat)) for name, kind, content in found]

    def _damaged(self, content: bytes, name: str, seat: int) -> bytes:
        return content.replace(b"BEGIN", b"BEGUN") if seat == 2 and self.at in name else content


class Deciding(Owner):
    """A player who goes on when asked."""

    went_on = 0

    def decide(self, match: str) -> None:
        if self.agent.held.unread(match):
            self.went_on += 1
            assert not self.agent.take_back(match, self.referee.now)
        else:
            super().decide(match)


@pytest.fixture
def deciding(referee: Referee, tmp_path: Path) -> Iterator[list[Owner]]:
    with seated(referee, tmp_path, Owner, Deciding) as found:
        yield found


@pytest.mark.parametrize("at", ["seal", "step-"])
def test_what_cannot_be_read_accuses_nobody_and_its_player_decides(
    referee: Referee, deciding: list[Owner], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    Damaging(monkeypatch, at)
    propose(referee, deciding, "spaceships")
    _, bob = deciding
    live_out(deciding)
    assert isinstance(bob, Deciding)
    assert bob.went_on == (1 if at == "seal" else len(told_of(bob, "unread")))
    assert "what ann signed cannot be read (game 1, " in told_of(bob, "unread")[0]
    assert not bob.accusations
    assert referee.match().phase == "closed"
    assert referee.match().games[-1].reason == "rules"


def told_of(owner: Owner, kind: str) -> list[str]:
    return [event.said for event in owner.heard if event.kind == kind]


def test_until_its_player_decides_nothing_is_sent_but_what_the_player_says(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    Damaging(monkeypatch, "step-")
    propose(referee, owners, "spaceships")
    ann, bob = owners
    while not bob.agent.held.unread("m1"):
        ann.look()
        bob.agent.hear(bob.receive(), referee.now)
        if not bob.agent.held.unread("m1"):
            bob.look()
    assert bob.agent.asks("m1")
    assert not bob.agent.act(referee.now)
    with pytest.raises(Unread, match="what ann signed cannot be read"):
        bob.agent.order("m1", "Rv1", referee.now)
    found = bob.agent.held.unread("m1")
    assert found is not None
    assert "-----BEGUN SSH SIGNATURE-----" in found[1]

    ann.receive()
    ann.letters.say("m1", "resign m1 game 1", referee.now)
    ann.flush()
    bob.agent.hear(bob.receive(), referee.now)
    bob.agent.reveal("m1", referee.now)
    bob.flush()
    game = referee.match().sealed_game
    assert game is not None
    assert 2 in game.reveals


def test_what_can_be_read_later_needs_no_decision(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Damaging(monkeypatch, "step-")
    propose(referee, owners, "spaceships")
    ann, bob = owners
    while not bob.agent.held.unread("m1"):
        ann.look()
        bob.agent.hear(bob.receive(), referee.now)
        if not bob.agent.held.unread("m1"):
            bob.look()
    desk.at = "nowhere"
    bob.letters.ask("report m1", referee.now)
    bob.flush()
    assert not bob.agent.hear(bob.receive(), referee.now)
    assert not bob.agent.held.unread("m1")
    live_out(owners)
    assert referee.match().phase == "closed"


@pytest.mark.parametrize("at", ["step-", "m1-"])
def test_a_program_goes_on(referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Nobody is there whom it could ask, and in silence it would lose by the clock. One letter may bring several."""
    Damaging(monkeypatch, at)
    ann = Owner(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")
    house = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite")
    with closing(ann), closing(house):
        ann.register()
        house.live()
        propose(referee, [ann, house], "spaceships")
        for _ in range(400):
            if not (bool(ann.look()) | bool(house.look())) and referee.match().phase == "closed":
                break
        assert referee.match().phase == "closed"
        assert referee.match().games[-1].reason in {"rules", "resignation"}


def test_an_accusation_that_is_taken_back_was_never_made(referee: Referee, owners: list[Owner]) -> None:
    """Here the fault is in what bob's agent remembers, and bob knows better."""
    ann, bob = owners
    in_second_turn(referee, owners)
    bob.memory.keep(MatchKnown(keys={"1": ["ssh-ed25519 another"]}), "m1")
    live_out(owners)
    (said,) = {alarm.said for alarm in bob.memory.alarms()}
    assert "seat 1 has new keys" in said
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


def test_after_a_backup_was_restored_what_was_signed_is_checked_anew(referee: Referee, owners: list[Owner]) -> None:
    """What bob's agent was told before are other steps: their letters say nothing of those that are told now."""
    ann, bob = owners
    in_second_turn(referee, owners)
    place, false = ("m1", 1, 1), "f" * 64
    known = bob.memory.known(StepsKnown, *place)
    assert any(known.cited)
    bob.memory.keep(StepsKnown([(1, false)], [false] * len(known.cited)), *place)
    for _ in live(owners):
        if bob.memory.alarms():
            break
    assert not bob.agent.take_back("m1", referee.now)
    assert false not in bob.memory.known(StepsKnown, *place).cited
    live_out(owners)
    assert not bob.memory.alarms()
    assert referee.match().phase == "closed"
    assert not ann.accusations


def test_whatever_else_is_found_is_held(referee: Referee, owners: list[Owner]) -> None:
    """Of a server that was forgiven once."""
    _, bob = owners
    in_second_turn(referee, owners)
    for time in ("once", "twice"):
        with bob.memory.noting(MatchKnown, "m1") as known:
            known.keys = {"1": [f"ssh-ed25519 {time}"]}
        for _ in live(owners):
            if bob.memory.alarms():
                break
        (alarm,) = bob.memory.alarms()
        assert alarm.said == "seat 1 has new keys, and none of the old ones"
        assert not bob.agent.take_back("m1", referee.now)
