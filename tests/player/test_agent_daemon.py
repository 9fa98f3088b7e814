"""`pbem agent` against an opponent who signs in odd dress, at the real daemon: what it cannot read is not taken."""

from __future__ import annotations

import queue
import smtplib
import time
from random import Random
from typing import TYPE_CHECKING

import pytest
from demo.whole_match import AtAgent, Terminal
from in_a_box.referee import Mailbox, body
from in_a_box.sealed_seats import SealedSeat
from judges import sentences
from machines import post_office
from machines.by_hand import Player, new_player, register
from machines.post_office import SERVER, PostOffice, Servers
from signing.dresses import DRESSES, beside, part

from pbem.identity import ssh

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

ODD = ("byte order mark", "mixed line ends", "a last blank, no line feed")


class ByHand:
    """Bob, who signs each letter in odd dress before he sends it as it is."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.seat = SealedSeat(Mailbox(player.name, player.address, player.key), Random("bob"))
        self.refused: list[str] = []

    def read(self) -> None:
        """Take in what came."""
        while True:
            try:
                self.seat.box.letters.bring(self.player.arrivals.get(timeout=0.1))
            except queue.Empty:
                return

    def refusal(self) -> str:
        """The text of the next letter that refuses something."""
        letters = self.seat.box.letters
        while True:
            letters.bring(self.player.arrivals.get(timeout=post_office.PATIENCE))
            if "Refused; nothing was changed." in (text := body(letters[-1])):
                return text

    def send(self, content: bytes) -> None:
        self.player.sent += 1
        head = f"From: {self.player.address}\r\nTo: pbem@{SERVER}\r\nSubject: sealed\r\n"
        number = f"Message-ID: <{self.player.sent}.bob@mail.example>\r\n"
        with smtplib.SMTP("127.0.0.1", self.player.office.port, timeout=post_office.PATIENCE) as connection:
            connection.sendmail(self.player.address, f"pbem@{SERVER}", (head + number).encode() + content)

    def due(self) -> bytes:
        """What is due by what was read, if anything; the same each time."""
        text = (self.seat.letter() or "").encode()
        self.seat.plan |= self.seat.orders
        return text

    def write(self) -> None:
        """Send what is due: dressed, and then plain; and see that it was taken."""
        text = self.due()
        if not text:
            return
        odd = DRESSES[ODD[len(self.refused) % len(ODD)]](text)
        signature = ssh.sign(self.player.key, odd, f"pbem@{SERVER}").encode()
        self.send(beside(part(odd, "f.txt"), part(signature, "f.txt.sig")))
        self.refused.append(self.refusal())
        self.send(part(text + ssh.sign(self.player.key, text, f"pbem@{SERVER}").encode()))
        while self.due() == text:
            self.seat.box.letters.bring(self.player.arrivals.get(timeout=post_office.PATIENCE))


def test_no_letter_in_odd_dress_keeps_the_agent_from_answering(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    office = PostOffice(tmp_path)
    with office.opened():
        server = office.servers = Servers(tmp_path, office.port, "store.sqlite")
        try:
            office.box("operator@play.example")
            bob, ann = new_player("bob", office), Terminal(tmp_path, "ann", office, "odd dress")
            register(bob)
            ann.register()
            ann("new", "spaceships", "bob", "sealed: yes", "fleet: cost:12", "settle: 0", "--yes")
            proposal = bob.wait("accept m1")
            bob.send(proposal.form("accept", 1), answering=proposal)
            ann.wait()
            ann("setup", "m1", *ann.setup(), "--yes")
            hand = ByHand(bob)
            agent = AtAgent(ann, tmp_path / "agent.log")
            try:
                end = time.monotonic() + post_office.PATIENCE
                while len(hand.refused) <= len(ODD):
                    hand.read()
                    hand.write()
                    if ann.standing.phase == "playing" and (turn := agent.asked()):
                        agent.type(turn)
                    assert time.monotonic() < end, (tmp_path / "agent.log").read_text()
            finally:
                agent.close()
            assert all(sentences.COULD_NOT_VERIFY_YOURS_THERE in " ".join(text.split()) for text in hand.refused)
            ann()
            assert "ALARM" not in capsys.readouterr().err + (tmp_path / "agent.log").read_text()
            server.stop()
        finally:
            server.kill()
