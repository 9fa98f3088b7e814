"""A whole match as its players see it: the real daemon, `pbem play` at one end, letters by hand at the other."""

from __future__ import annotations

import time
from contextlib import ExitStack
from random import Random
from typing import TYPE_CHECKING

import pytest
from demo.whole_match import AtAgent, Terminal
from machines.by_hand import new_player, register
from machines.post_office import PATIENCE, PostOffice, Servers
from playing.random_players import PLAYERS

from pbem.games import rules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long


def test_a_match_against_letters_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    office, random = PostOffice(tmp_path), Random("bob")
    with office.opened():
        server = office.servers = Servers(tmp_path, office.port, "store.sqlite")
        try:
            office.box("operator@play.example")
            bob, ann = new_player("bob", office), Terminal(tmp_path, "ann", office, "by hand")
            register(bob)
            ann.register()
            ann("new", "dueling-masters", "bob", "max_turns: 12", "settle: 0", "--yes")
            proposal = bob.wait("accept m1")
            bob.send(proposal.form("accept", 1), answering=proposal)
            asked = bob.wait("send your setup")
            ann.wait()
            ann("setup", "m1", *ann.setup(), "--yes")
            options = rules("dueling-masters").options({"max_turns": 12}, 2)
            bob.send(asked.filled("setup", PLAYERS["dueling-masters"].setup(random, options, 2)), answering=asked)
            letter = bob.wait(": the game begins")
            for turn in range(1, 13):
                if turn % 2:
                    ann.wait()
                    ann("m1")
                    assert f"turn {turn}: your move" in capsys.readouterr().out
                    ann("m1", *ann.orders(), "--final", "--yes")
                else:
                    view = letter.attached("position.json")["view"]
                    orders = PLAYERS["dueling-masters"].orders(random, view)
                    bob.send(letter.filled("orders", f"final\n{orders}"), answering=letter)
                letter = bob.wait(f": turn {turn}\n")
                if "The game is over." in letter.text:
                    break
            bob.wait("the match is closed")
            ann("verify", "m1")
            ann("m1")
            shown = capsys.readouterr().out
            assert "closed: " in shown
            assert "m1: verified: " in shown
            server.stop()
        finally:
            server.kill()


def test_nobody_is_asked_for_more_once_a_sealed_match_is_resigned(tmp_path: Path) -> None:
    """Both agents reveal by themselves: bob, who resigned, waited here for ann to be silent, and won."""
    office = PostOffice(tmp_path)
    with office.opened(), ExitStack() as afterwards:
        server = office.servers = Servers(tmp_path, office.port, "store.sqlite")
        afterwards.callback(server.kill)
        office.box("operator@play.example")
        ann, bob = people = [Terminal(tmp_path, name, office, "resigned") for name in ("ann", "bob")]
        for person in people:
            person.register()
        ann("new", "spaceships", "bob", "sealed: yes", "fleet: cost:12", "--yes")
        bob.wait()
        bob("accept", "m1", "--yes")
        for person in people:
            person.wait()
            person("setup", "m1", *person.setup(), "--yes")
        agents = [AtAgent(person, tmp_path / f"{person.name}.log") for person in people]
        for agent in agents:
            afterwards.callback(agent.close)
        end = time.monotonic() + 2 * PATIENCE
        while ann.standing.turn < 2:
            for agent in agents:
                if turn := agent.asked():
                    agent.type(turn)
            assert time.monotonic() < end, "turn 1 is not played"
            time.sleep(0.2)
        bob("resign", "m1", "--whole", "--yes")
        end = time.monotonic() + PATIENCE
        while ann.standing.phase != "closed":
            assert time.monotonic() < end, "ann's agent does not reveal"
            time.sleep(0.2)
        outcome = ann.standing.outcome
        assert outcome is not None
        assert (outcome.winner, outcome.reason) == (1, "resignation")
        ann("verify", "m1")
        server.stop()
