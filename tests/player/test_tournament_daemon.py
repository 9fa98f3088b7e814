"""A club of eight plays a double round robin through a real daemon: programs, and people."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.machine import words
from machines.post_office import PostOffice, Servers

from pbem.player import mail_out, signing
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.exchange import fetch, flush
from pbem.player.mail_in import OwnMaildir
from pbem.player.memory import Memory
from pbem.player.program import Program
from pbem.player.program_config import GameLimits, PlayerLimits, ProgramSettings
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import SecretVault
from pbem.player.server_letter import opened
from pbem.proof.tournament_proof import verify_tournament

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.player.memory import SentForm


class Member:
    """A member of the club, who resigns each match at once."""

    def __init__(self, folder: Path, port: int, name: str) -> None:
        own = folder / f"{name}-own"
        own.mkdir()
        signing.make(own / "key", name)
        self.name, self.resigns = name, True
        maildir = folder / name
        self.account = Account(
            *(name, "play.example", "pbem@play.example", f"{name}@mail.example", str(own / "key")),
            *(f"maildir:{maildir}", f"smtp://127.0.0.1:{port}"),
        )
        self.key = signing.read(own / "key", lambda _: "", lambda: None)
        self.memory = Memory(own / "memory.sqlite")
        self.letters = Correspondence(self.account, self.memory, self.key.sign, os.urandom)
        self.agent = Agent(self.letters, SecretVault(own / "secrets"), os.urandom)
        self.source = OwnMaildir(maildir)
        self.letters.registration.register(self.key.public, self.key.fingerprint, datetime.now(UTC))

    def look(self) -> None:
        now = datetime.now(UTC)
        for event in fetch(self.letters, self.source, lambda: now):
            if event.kind == "challenge":
                self.letters.registration.confirm(now)
        self.act(now)
        self.flush()

    def flush(self) -> None:
        for sent, said, left in flush(self.letters, lambda sent: mail_out.send(self.account, sent)):
            assert left, (sent.command, said)

    def act(self, now: datetime) -> None:
        for standing in self.letters.matches.standings if self.memory.fact("account") else ():
            said = f"resign {standing.match} match"
            if self.resigns and standing.phase == "setup" and not self.letters.has_said(standing.match, said, now):
                self.letters.say(standing.match, said, now)

    def tell(self, words_: str, text: str = "") -> SentForm:
        return self.letters.tell(words_, datetime.now(UTC), text=text)

    def state(self, sent: SentForm) -> str:
        found = self.memory.by_message_id(sent.message_id)
        return f"{found.state} {found.faults}" if found else ""


class Machine(Member):
    """A program of some strength."""

    def __init__(self, folder: Path, port: int, name: str, level: int) -> None:
        super().__init__(folder, port, name)
        settings = ProgramSettings(
            account=self.account, play=PlayerLimits(), games={"spaceships": GameLimits(level=level)}
        )
        self.program = Program(self.agent, settings, os.urandom, words)
        self.program.begin(self.key.public, self.key.fingerprint, datetime.now(UTC))

    def look(self) -> None:
        now = datetime.now(UTC)
        self.program.hear(list(fetch(self.letters, self.source, lambda: now)), now)
        self.program.act(now)
        self.flush()


def until(members: list[Member], condition: Callable[[], object], patience: float = 240.0) -> None:
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            stuck = [
                (member.name, member.memory.fact("account"), member.memory.last_text()[-600:]) for member in members
            ]
            raise AssertionError("\n\n".join(f"{name} {account}: {text}" for name, account, text in stuck))
        for member in members:
            member.look()


@pytest.mark.long
def test_a_club_of_eight(tmp_path: Path) -> None:
    office = PostOffice(tmp_path)
    names = ("p1", "p2", "p3", "p4", "ann", "bob", "carl", "dora", "emil")
    with office.opened():
        server = Servers(tmp_path, office.port, "store.sqlite")
        office.servers = server
        for name in ("operator@play.example", "house@mail.example", *(f"{name}@mail.example" for name in names)):
            office.box(name)
        members: list[Member] = []
        try:
            port = server.ports[0]
            members += [Machine(tmp_path, port, f"p{at}", min(at, 3)) for at in (1, 2, 3, 4)]
            members += [Member(tmp_path, port, name) for name in names[4:]]
            play(tmp_path, members)
            server.stop()
        finally:
            for member in members:
                member.memory.close()
            server.kill()


def play(folder: Path, members: list[Member]) -> None:
    club = {member.name: member for member in members}
    until(members, lambda: all(member.memory.fact("account") for member in members))
    ann = club["ann"]
    text = "format: double round robin\nentrants: 8\ncloses: {}\nprograms: yes\nat-once: 4\n{}"
    closes = datetime.now(UTC).date().replace(year=datetime.now(UTC).year + 1, day=1).isoformat()
    closes = min(closes, datetime.fromtimestamp(time.time() + 30 * 86400, UTC).date().isoformat())
    sent = ann.tell("tournament new spaceships", text.format(closes, "fleet: cost:1\nsettle: 0"))
    until(members, lambda: ann.memory.tournament("t1") or "refused" in ann.state(sent))
    told = ann.memory.tournament("t1")
    assert told is not None, ann.state(sent)
    for member in members:
        member.resigns = False
    entered = {name: club[name].tell(f"enter t1 {told.hash}") for name in club if name != "emil"}
    until(members, lambda: all(club[name].state(form).startswith("done") for name, form in entered.items()))
    until(
        members, lambda: all(any(one.tournament for one in club[name].letters.matches.standings) for name in entered)
    )
    # One leaves, and one is ill: a substitute plays on in the same place.
    left = club["dora"].tell("leave t1")
    until(members, lambda: club["dora"].state(left).startswith("done"))
    ruled = ann.tell("rule t1 substitute emil for bob", "reason: bob is ill")
    until(members, lambda: ann.state(ruled).startswith("done"))
    took = club["emil"].tell(f"enter t1 {told.hash}")
    until(members, lambda: club["emil"].state(took).startswith("done"))
    for member in members:
        member.resigns = True

    def last_letters() -> list[bytes]:
        """The letter that brings the end: answers to ann may tell of it, too, and come before or after."""
        return [raw for _, raw in ann.memory.letters("t1") if b"Subject: [pbem t1] it is over" in raw]

    until(members, last_letters, 900)
    (raw,) = last_letters()
    text = next(part.content for part in opened(raw).parts if part.content_type == "text/plain").decode()
    assert re.search(r"^ +1  p[1-4] ", text, re.MULTILINE), text
    assert "bob                " in text
    # From files alone: the tournament's from the last letter, each match's from a letter to one of its players.
    (file,) = (part.content for part in opened(raw).parts if str(part.filename).endswith(".pbem-tournament.zip"))
    matches = {standing.match for member in members for standing in member.letters.matches.standings}
    found = [member.memory.bundle(match) for match in matches for member in members]
    checks = list(verify_tournament(file, filter(None, found)))
    (folder / "t1.pbem-tournament.zip").write_bytes(file)
    assert {check.standing for check in checks} == {"ok", "WORD"}, [one for one in checks if one.standing != "ok"]
    assert sum(check.what.startswith("m") for check in checks) == len(matches) >= 42
