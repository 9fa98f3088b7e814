"""A whole match as its players see it: the real daemon, `pbem play` at one end, letters by hand at the other."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from by_hand import new_player, register
from demo import Terminal
from post_office import PostOffice, Servers
from random_players import PLAYERS

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
