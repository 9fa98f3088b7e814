"""Somebody with `pbem play` at a Maildir, whose letters go out by SMTP; and a program of some strength there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from world.correspondent import SERVER, TO, program

from pbem.player import mail_out, signing
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.exchange import fetch, flush
from pbem.player.mail_in import OwnMaildir
from pbem.player.memory import Memory
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import SecretVault

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from pbem.player.correspondence.event import Event
    from pbem.player.memory import SentForm


class Member:
    """Somebody who opens an account, and then does what `act` says."""

    keyed = True

    def __init__(self, folder: Path, port: int, name: str, clock: Callable[[], datetime]) -> None:
        self.own = folder / f"{name}-own"
        self.own.mkdir()
        self.name, self.clock = name, clock
        maildir = folder / name
        key = str(self.own / "key") if self.keyed else ""
        self.account = Account(
            *(name, SERVER, TO, f"{name}@mail.example", key),
            *(f"maildir:{maildir}", f"smtp://127.0.0.1:{port}"),
        )
        self.memory = Memory(self.own / "memory.sqlite")
        self.source = OwnMaildir(maildir)
        self.begin()

    def begin(self) -> None:
        signing.make(self.own / "key", self.name)
        self.key = signing.read(self.own / "key", lambda _: "", lambda: None)
        self.letters = Correspondence(self.account, self.memory, self.key.sign, os.urandom)
        self.agent = Agent(self.letters, SecretVault(self.own / "secrets"), os.urandom)
        self.register()

    def register(self) -> None:
        self.letters.registration.register(self.key.public, self.key.fingerprint, self.clock())

    def look(self) -> bool:
        """Read new letters, and do what is due; returns True if anything came or went."""
        events = list(fetch(self.letters, self.source, self.clock))
        self.hear(events)
        return self.flush() or bool(events)

    def hear(self, events: list[Event]) -> None:
        if self.memory.fact("account") is None and any(event.kind in {"challenge", "answer"} for event in events):
            self.letters.registration.confirm(self.clock())
        if self.memory.fact("account"):
            self.act()

    def act(self) -> None:
        """Do what is due."""

    def flush(self) -> bool:
        left = list(flush(self.letters, self.send))
        assert all(one[2] for one in left), left
        return bool(left)

    def send(self, sent: SentForm) -> str:
        return mail_out.send(self.account, sent)

    def tell(self, words_: str, text: str = "") -> SentForm:
        return self.letters.tell(words_, self.clock(), text=text)

    def state(self, sent: SentForm) -> str:
        found = self.memory.by_message_id(sent.message_id)
        return f"{found.state} {found.faults}" if found else ""


class Machine(Member):
    """A program of some strength."""

    def __init__(self, folder: Path, port: int, name: str, clock: Callable[[], datetime], level: int = 1) -> None:
        self.level = level
        super().__init__(folder, port, name, clock)

    def register(self) -> None:
        self.program = program(self.agent, self.account, os.urandom, self.level)
        self.program.begin(self.key.public, self.key.fingerprint, self.clock())

    def hear(self, events: list[Event]) -> None:
        self.program.hear(events, self.clock())
        self.program.act(self.clock())
