"""A club of eight plays a double round robin through a real daemon: programs, and people with keys and without.

One leaves, one falls silent, and a substitute takes a place. In the end, both verifiers compute the table from files.
"""

from __future__ import annotations

import email
import email.policy
import itertools
import json
import os
import re
import smtplib
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from in_a_box.referee import body, form_in
from machines.ahead import AheadClock, AheadServers
from machines.post_office import PBEM, PostOffice
from signing.domains import Domain, rsa_key
from world.members import Machine, Member

from pbem.games import Refused
from pbem.player.correspondence import Correspondence
from pbem.player.server_letter import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from email.message import EmailMessage

    from pbem.player.memory import SentForm

ROOT = Path(__file__).parents[2]
SERVER = "pbem@play.example"
HOME = Domain("mail.example", key=rsa_key(1024))
ONE_SHIP = "MD Rv1 Rv2 Rv3"
SHOTS = ("Gx3", "Gx4")
"""What people order in the first turns of a game, before they resign the match."""

TERMS = """\
format: double round robin
entrants: 8
closes: {closes}
programs: yes
at-once: 4
keys: optional
pace: 1h
grace: 0
fleet: cost:3
settle: 0"""


class Party(Protocol):
    """Whoever takes part."""

    name: str

    def look(self) -> bool:
        """Read new letters, and do what is due; returns True if anything came or went."""


class Person(Member):
    """Somebody who sets up, orders twice, and resigns; or does nothing while silent."""

    silent = False

    def act(self) -> None:
        if self.silent:
            return
        now = self.clock()
        for standing in self.letters.matches.standings:
            match = standing.match
            if not standing.asked or self.letters.matches.pending(match) is not None:
                continue
            if standing.phase == "setup":
                self.letters.set_up(match, ONE_SHIP, now)
            elif standing.turn > len(SHOTS) or not self.shoot(match, SHOTS[standing.turn - 1]):
                self.resign(match)

    def resign(self, match: str) -> None:
        words_ = f"resign {match} match"
        if not self.letters.has_said(match, words_, self.clock()):
            self.letters.say(match, words_, self.clock())

    def shoot(self, match: str, cell: str) -> bool:
        """Order a strike; returns False if there is none left."""
        try:
            self.letters.order(match, cell, self.clock(), final=True)
        except Refused:
            return False
        return True


class Guest(Person):
    """Somebody with `pbem play` and without a key, for whom the mail provider vouches."""

    keyed = False

    def begin(self) -> None:
        self.letters = Correspondence(self.account, self.memory, None, os.urandom)
        self.letters.registration.register_mailbox(self.clock())

    def send(self, sent: SentForm) -> str:
        deliver(self.account.mail_out, self.account.address, sent.to, HOME.sign(sent.raw, self.clock()))
        return "sent"


class ByHand:
    """Somebody with a mail program alone, who answers letters above the quote: and orders bare."""

    def __init__(self, folder: Path, port: int, name: str, clock: AheadClock) -> None:
        self.name, self.clock = name, clock
        self._port, self._maildir = port, folder / name / "new"
        self._numbers = itertools.count(1)
        self._read: set[str] = set()
        self.came: list[EmailMessage] = []
        self.write(f"register {name}", SERVER)

    def write(self, text: str, to: str) -> None:
        address = f"{self.name}@mail.example"
        head = f"From: {address}\nTo: {to}\nSubject: Re: game\nMessage-ID: <{next(self._numbers)}.{address}>\n\n"
        raw = HOME.sign((head + text + "\n").replace("\n", "\r\n").encode(), self.clock())
        deliver(f"smtp://127.0.0.1:{self._port}", address, to, raw)

    def reply(self, text: str, letter: EmailMessage) -> None:
        """Answer a letter as phones do, with all of it quoted below."""
        quoted = "".join(f"> {line}\n" for line in body(letter).split("\n"))
        to = str(letter["Reply-To"]).rpartition("<")[2].rstrip(">")
        self.write(f"{text}\n\nOn 1 March, 12:00 <{to}>\nwrote:\n\n{quoted}", to)

    def look(self) -> bool:
        fresh = sorted(
            (path for path in self._maildir.glob("*") if path.name not in self._read), key=os.path.getmtime
        )
        for path in fresh:
            self._read.add(path.name)
            letter = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            self.came.append(letter)
            self.answer(letter, body(letter))
        return bool(fresh)

    def answer(self, letter: EmailMessage, text: str) -> None:
        """Do what a letter asks for."""
        resign = f"resign {str(letter['Reply-To']).partition('+')[2].partition('.')[0]} match"
        if f"\nregister {self.name}\n" in text:
            self.reply(f"register {self.name}", letter)
        elif re.search("^setup m", text, re.MULTILINE):
            self.reply(f"{form_in(text, 'setup').partition('end')[0].rstrip()}\n{ONE_SHIP}\nend", letter)
        elif asked := re.search(r"^Turn ([0-9]+): what you may order$", text, re.MULTILINE):
            turn = int(asked[1])
            self.reply(SHOTS[turn - 1] if turn <= len(SHOTS) else resign, letter)
        elif "you have no conventional strike" in text:
            self.reply(resign, letter)

    @property
    def bundles(self) -> Iterator[tuple[str, bytes]]:
        """The bundles that came, with their names."""
        for letter in self.came:
            for part in letter.iter_attachments():
                if (name := part.get_filename() or "").endswith(".pbem.zip"):
                    yield f"{self.name}-{name}", part.get_content()

    def answered(self, words_: str) -> EmailMessage | None:
        """The latest letter with these words."""
        return next((letter for letter in reversed(self.came) if words_ in body(letter)), None)


def deliver(host: str, sender: str, to: str, raw: bytes) -> None:
    with smtplib.SMTP("127.0.0.1", int(host.rpartition(":")[2]), timeout=60) as connection:
        connection.sendmail(sender, [to], raw)


def until(club: Iterable[Party], condition: Callable[[], object], patience: float = 240.0) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "\n\n".join(map(last, club))
        for each in club:
            each.look()
        time.sleep(0.01)


def last(each: Party) -> str:
    text = body(each.came[-1]) if isinstance(each, ByHand) else ""
    return f"{each.name}: {each.memory.last_text() if isinstance(each, Member) else text}"[-900:]


def quiet(club: Iterable[Party]) -> None:
    """Wait until nothing comes or goes any more: whoever could do anything has done it."""
    still = time.monotonic()
    while time.monotonic() < still + 2:
        if any([each.look() for each in club]):  # noqa: C419 - each has its turn
            still = time.monotonic()
        time.sleep(0.01)


@pytest.mark.long
def test_a_club_of_eight(tmp_path: Path) -> None:
    office, clock = PostOffice(tmp_path), AheadClock(tmp_path / "ahead")
    clock.leap(timedelta())
    (tmp_path / "records.json").write_text(json.dumps({HOME.where: HOME.record}))
    programs, keyed = {"p1": 1, "p2": 2, "p3": 3, "p4": 3}, ("ann", "bob", "emil")
    with office.opened():
        server = AheadServers(tmp_path, office.port, "store.sqlite")
        office.servers = server
        for name in (
            "operator@play.example",
            *(f"{name}@mail.example" for name in (*programs, *keyed, "gus", "hal")),
        ):
            office.box(name)
        members: list[Member] = []
        try:
            port = server.ports[0]
            members += [Machine(tmp_path, port, name, clock, level) for name, level in programs.items()]
            members += [Person(tmp_path, port, name, clock) for name in keyed]
            members += [Guest(tmp_path, port, "gus", clock)]
            play(tmp_path, members, ByHand(tmp_path, port, "hal", clock), clock)
            server.stop()
        finally:
            for member in members:
                member.memory.close()
            server.kill()


def play(folder: Path, members: Sequence[Member], hal: ByHand, clock: AheadClock) -> None:
    party: list[Party] = [*members, hal]
    club = {member.name: member for member in members}
    ann, bob, gus, emil = (club[name] for name in ("ann", "bob", "gus", "emil"))

    def done(*forms: tuple[Member, SentForm]) -> None:
        until(party, lambda: all(member.state(form).startswith("done") for member, form in forms))

    until(
        party, lambda: all(member.memory.fact("account") for member in members) and hal.answered("You are registered")
    )
    closes = (clock() + timedelta(days=30)).date().isoformat()
    done((ann, ann.tell("tournament new spaceships", TERMS.format(closes=closes))))
    told = ann.memory.tournament("t1")
    assert told is not None
    # bob is silent from the first match on.
    assert isinstance(bob, Person)
    bob.silent = True
    enter = f"enter t1 {told.hash}"
    done(*((member, member.tell(enter)) for member in members if member is not emil))
    hal.write("tournament t1", SERVER)
    until(party, lambda: hal.answered(enter))
    letter = hal.answered(enter)
    assert letter is not None
    hal.reply(enter, letter)
    until(party, lambda: hal.answered("You are in."))
    # After two games, gus leaves, and hal is ill: emil plays on in his place.
    until(party, lambda: sum(one.phase == "closed" for one in gus.letters.matches.standings) > 1)
    done((gus, gus.tell("leave t1")))
    done((ann, ann.tell("rule t1 substitute emil for hal", "reason: hal is ill")))
    done((emil, emil.tell(enter)))

    def over() -> list[bytes]:
        """The letter that brings the end: answers to ann may tell of it, too, and come before or after."""
        return [raw for _, raw in ann.memory.letters("t1") if b"Subject: [pbem t1] it is over" in raw]

    # Once nothing happens any more, bob's deadlines pass; in the end, also those of matches that do not count.
    leaps = 0
    while not over() or any(one.phase != "closed" for member in members for one in member.letters.matches.standings):
        quiet(party)
        clock.leap(timedelta(minutes=61))
        leaps += 1
        assert leaps < 30, "\n\n".join(map(last, party))
    (raw,) = over()
    (file,) = (part.content for part in opened(raw).parts if str(part.filename).endswith(".pbem-tournament.zip"))
    judge(folder, members, hal, file)


def judge(folder: Path, members: Sequence[Member], hal: ByHand, file: bytes) -> None:
    """From files alone, by programs of their own: the tournament's from the last letter, the matches' from theirs."""
    bundles = folder / "bundles"
    bundles.mkdir()
    matches = {standing.match for member in members for standing in member.letters.matches.standings}
    for match, member in itertools.product(matches, members):
        if found := member.memory.bundle(match):
            (bundles / f"{match}-{member.name}.zip").write_bytes(found)
    for name, content in hal.bundles:
        (bundles / name).write_bytes(content)
    whole, public = folder / "t1.pbem-tournament.zip", folder / "pages" / "t1.pbem-tournament.zip"
    whole.write_bytes(file)
    run(PBEM, "publish", str(folder / "pages"), "--config", str(folder / "pbem.toml"))
    tables = set()
    for place in (whole, public):
        first = run(PBEM, "verify", str(place), "--bundles", str(bundles), status=0 if place is whole else 3)
        second = run(sys.executable, "-m", "verifier", str(place), "--bundles", str(bundles))
        tables |= {re.findall("^(?:ok +table +|table: )(.*)$", said, re.MULTILINE)[0] for said in (first, second)}
        for said in (
            "bob is out (silent), games annulled",
            "gus is out (left), games annulled",
            "emil plays on for hal",
            "emil may play on for hal, by the organiser's word, signed: hal is ill",
        ):
            assert said in first
    (table,) = tables
    assert table.endswith(("bob 0, gus 0", "gus 0, bob 0")), table


def run(*command: str, status: int = 0) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout
