"""A whole match as its players see it: the real daemon, `pbem play` at one end, letters by hand at the other."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import demo
import pytest
from demo import PostOffice, Servers, headed, new_player, register
from demo_players import dueling_masters

if TYPE_CHECKING:
    from pathlib import Path

    from demo import Letter

pytestmark = pytest.mark.long


class Terminal:
    """Ann, who knows what her terminal knows."""

    def __init__(self, folder: Path, server: Servers) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.environment = {**os.environ, "HOME": str(self.home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        given = ("--address", "ann@mail.example", "--new-key", "--in", f"maildir:{folder / 'ann'}")
        assert "You are ann" in self(
            "register", "ann@play.example", *given, "--out", f"smtp://127.0.0.1:{server.ports[0]}"
        )

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            [demo.PBEM, "play", "--wait", "60", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    text = "Your half is rows A to E"

    def attached(self, _suffix: str) -> dict[str, Any]:
        """The position, as the scripted player asks for it."""
        with closing(sqlite3.connect(self.home / ".local/state/pbem/ann@play.example.sqlite")) as memory:
            query = "SELECT content FROM papers WHERE kind = 'position' ORDER BY turn DESC LIMIT 1"
            found: dict[str, Any] = json.loads(memory.execute(query).fetchone()[0])
            return found


def test_a_match_against_letters_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PATIENCE", 120.0)  # nothing here is timed, and the machine may be busy
    office, random = PostOffice(tmp_path), Random("ann")
    with office.opened():
        server = Servers(tmp_path, office.port, "store.sqlite", 1)
        try:
            office.box("operator@play.example")
            office.box("ann@mail.example")
            bob = new_player(tmp_path, "bob", "1", server, office)
            register(bob)
            ann = Terminal(tmp_path, server)
            ann("new", "dueling-masters", "bob", "max_turns: 12", "settle: 0", "--yes")
            proposal = bob.wait("accept m1")
            bob.send(proposal.form("accept", 1), answering=proposal)
            asked = bob.wait("send your setup")
            ann("wait", "m1")
            ann("setup", "m1", *dueling_masters.setup(random, ann).splitlines(), "--yes")  # type: ignore[arg-type]
            bob.send(asked.filled("setup", dueling_masters.setup(bob.random, asked)), answering=asked)
            letter: Letter = bob.wait(headed(dueling_masters, 1, "the game begins"))
            for turn in range(1, 13):
                if turn % 2:
                    ann("wait", "m1")
                    assert f"turn {turn}: your move" in ann("m1")
                    ann("m1", dueling_masters.orders(random, ann), "--final", "--yes")  # type: ignore[arg-type]
                else:
                    orders = dueling_masters.orders(bob.random, letter)
                    bob.send(letter.filled("orders", f"final\n{orders}"), answering=letter)
                letter = bob.wait(headed(dueling_masters, 1, f"turn {turn}\n"))
                if "The game is over." in letter.text:
                    break
            bob.wait("the match is closed")
            assert "closed: " in ann()
            assert "m1: verified: " in ann("verify", "m1")
            server.stop()
        finally:
            server.kill()
