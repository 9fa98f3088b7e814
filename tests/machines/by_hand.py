"""Players who write to the server by hand, with letters as any mail program makes them, and read what comes back.

They know only what their letters say, and fill in the forms in them.
"""

from __future__ import annotations

import email
import email.policy
import json
import queue
import smtplib
import time
from copy import copy
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from machines import post_office
from machines.post_office import SERVER, Trouble

from pbem.identity import ssh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from machines.post_office import PostOffice


class Letter:
    """A letter as its reader sees it: the text without what it quotes, and the attachments."""

    def __init__(self, raw: bytes) -> None:
        self.message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(self.message, EmailMessage)
        part = self.message.get_body(("plain",))
        whole = str(part.get_content()).replace("\r\n", "\n") if part else ""
        self.text = "\n".join(line for line in whole.split("\n") if not line.startswith(">"))

    def parts(self) -> list[Letter]:
        """The letter, as many times as it tells of something, each with the text about that alone."""
        found = []
        for text in self.text.split(f"\n\n{'=' * 72}\n\n"):
            part = copy(self)
            part.text = text
            found.append(part)
        return found

    def form(self, kind: str, length: int | None = None) -> str:
        """The form that begins with this word, up to its `end` or so many lines long."""
        lines = self.text.split("\n")
        start = next((at for at, line in enumerate(lines) if line.startswith(f"{kind} ")), None)
        if start is None:
            raise Trouble(f"a letter without a form “{kind}”:\n\n{self.text}")
        end = start + length if length else lines.index("end", start) + 1
        return "\n".join(lines[start:end]) + "\n"

    def filled(self, kind: str, block: str) -> str:
        head = self.form(kind).removesuffix("end\n").rstrip("\n")
        return f"{head}\n{block}\nend\n"

    def attached(self, suffix: str) -> dict[str, Any]:
        """The content of an attachment for programs."""
        found: dict[str, Any] = json.loads(self.attachment(suffix)[1])
        return found

    def attachment(self, suffix: str) -> tuple[str, bytes]:
        for part in self.message.iter_attachments():
            name = part.get_filename() or ""
            if name.endswith(suffix):
                content = part.get_content()
                return name, content if isinstance(content, bytes) else str(content).encode()
        raise Trouble(f"the letter “{self.message['Subject']}” has no attachment {suffix}")


@dataclass
class Player:
    """One player: an address, a key, and the letters that came and were not yet taken up."""

    name: str
    office: PostOffice
    arrivals: queue.Queue[bytes]
    key: Ed25519PrivateKey
    letters: list[Letter] = field(default_factory=list)
    sent: int = 0

    @property
    def address(self) -> str:
        return f"{self.name}@mail.example"

    def send(self, text: str, *, answering: Letter | None = None, sign: bool = True) -> None:
        """Mail a text, signed as `pbem sign` would, to the server or in answer to one of its letters."""
        self.sent += 1
        message = EmailMessage(email.policy.SMTP)
        message["From"] = f"{self.name.title()} <{self.address}>"
        message["To"] = str(answering.message["Reply-To"] or f"pbem@{SERVER}") if answering else f"pbem@{SERVER}"
        message["Subject"] = f"Re: {answering.message['Subject']}" if answering else "A match"
        message["Message-ID"] = f"<{self.sent}.{self.name}@mail.example>"
        message.set_content(text + (ssh.sign(self.key, text.encode(), f"pbem@{SERVER}") if sign else ""))
        with smtplib.SMTP("127.0.0.1", self.office.port, timeout=post_office.PATIENCE) as connection:
            connection.send_message(message)

    def wait(self, words: str) -> Letter:
        """The letter that says these words, now or soon."""
        end = time.monotonic() + post_office.PATIENCE
        while True:
            for letter in self.letters:
                if words in letter.text:
                    self.letters.remove(letter)
                    return letter
            self._receive(words, end)

    def any(self) -> Letter:
        """The next letter, whatever it says."""
        end = time.monotonic() + post_office.PATIENCE
        while not self.letters:
            self._receive("anything", end)
        return self.letters.pop(0)

    def _receive(self, words: str, end: float) -> None:
        try:
            letter = Letter(self.arrivals.get(timeout=0.25))
        except queue.Empty:
            assert self.office.servers is not None
            self.office.servers.check()
            if time.monotonic() > end:
                waiting = "".join(f"\n  {letter.message['Subject']}" for letter in self.letters)
                raise Trouble(f"{self.name} waits in vain for “{words.strip()}”; unread:{waiting}") from None
            return
        if "nothing was changed" in letter.text:
            raise Trouble(f"{self.name} was refused:\n\n{letter.text}")
        self.letters += letter.parts()


def new_player(name: str, office: PostOffice) -> Player:
    """A player with a fresh key and a mailbox."""
    player = Player(name, office, queue.Queue(), Ed25519PrivateKey.generate())
    player.arrivals = office.box(player.address)
    return player


def register(player: Player) -> None:
    player.send(f"register {player.name}\n{ssh.public(player.key)} {player.name}@mail.example\n", sign=False)
    challenge = player.wait("To prove that the key")
    player.send(challenge.form("confirm").replace("NAME", player.name), answering=challenge)
    player.wait(f"You are registered as {player.name}.")


def agree(players: Sequence[Player], game: str, terms: str) -> None:
    """The first proposes a match under these terms, the others accept it."""
    first, *others = players
    names = " ".join(other.name for other in others)
    place = f"server {SERVER}\nplayer {first.name}"
    first.send(f"new {game} with {names}\n{place}\n{terms}\nsettle: 0\nend\n")
    first.wait("Proposed:")
    for other in others:
        proposal = other.wait("accept m1")
        other.send(proposal.form("accept", 1), answering=proposal)
