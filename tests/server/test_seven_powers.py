"""Diplomacy by mail through a daemon whose clock is moved on: seven play to a draw of three.

Of the seven, four have keys, two have telephones and none, one is at `pbem play`. They write by SMTP, and know only
what their letters say. Needs libfaketime (Debian: `apt-get install faketime`).
"""

from __future__ import annotations

import os
import re
import smtplib
import subprocess
from contextlib import closing
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import parseaddr
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.outside import found_in, install
from machines.faked_clock import LIBRARY, TRUSTED, FakedClock
from machines.named_server import PROGRAM, name_server
from machines.post_office import PBEM, SERVER, Letter, PostOffice, served
from machines.waiting import until
from signing.domains import Domain

from pbem.games import outside
from pbem.identity import ssh
from pbem.player.memory import Memory
from pbem.testing import subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = [pytest.mark.long, pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed")]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "pbem-diplomacy" / "pbem_diplomacy"
HOME = Domain("mail.example")
PATIENCE = 120.0  # seconds
TERMS = "seats: 7\nanonymous: yes\npace: 2d\ngrace: 1d\nsettle: 0\nmiss: leave\nsubstitutes: majority"
WROTE = {
    "en": "On Mon, 30 Nov 2026, 12:00 pbem <{}> wrote:",
    "de": "Am Mo., 30. Nov. 2026 um 12:00 schrieb pbem <{}>:",
}


class Person:
    """Somebody with a mailbox, and a key, or a telephone whose program quotes what it answers."""

    def __init__(self, name: str, office: PostOffice, language: str = "") -> None:
        self.name = name
        self.key = None if language else Ed25519PrivateKey.generate()
        self.letters: list[Letter] = []
        self._language = language
        self._port = office.port
        self._arrivals = office.box(self.address)
        self._files: set[str] = set()
        self._asking: Letter | None = None
        self._sent = 0

    @property
    def address(self) -> str:
        return f"{self.name}@mail.example"

    def fetch(self) -> None:
        while not self._arrivals.empty():
            letter = Letter(self._arrivals.get_nowait())
            files = {part.get_filename() or "" for part in letter.message.iter_attachments()}
            self.letters.append(letter)
            self._files |= files
            if "m1-game-1-position.json" in files:
                self._asking = letter

    def was_told(self, turn: int) -> bool:
        """True if the reports of a turn came."""
        self.fetch()
        return f"m1-game-1-turn-{turn}.json" in self._files

    def heard(self, words: str, since: int = 0) -> Letter | None:
        """The latest letter with these words (a regular expression), among those that came since."""
        self.fetch()
        found = (
            letter for letter in reversed(self.letters[since:]) if re.search(words, " ".join(letter.text.split()))
        )
        return next(found, None)

    def wait(self, words: str, since: int = 0) -> Letter:
        until(lambda: self.heard(words, since), PATIENCE)
        letter = self.heard(words, since)
        assert letter
        return letter

    def send(self, text: str, answering: Letter | None = None, *, signed: bool = True) -> None:
        """Mail a text with a signature, or above what it answers, from a domain that signs its letters."""
        self._sent += 1
        to = parseaddr(str((answering and answering.message["Reply-To"]) or f"pbem@{SERVER}"))[1]
        if self.key and signed:
            text += ssh.sign(self.key, text.encode(), f"pbem@{SERVER}")
        elif answering:
            quoted = "".join(f"> {line}\n" for line in answering.text.split("\n"))
            text = f"{text}\n\n{WROTE[self._language].format(to)}\n\n{quoted}"
        message = EmailMessage(SMTP)
        message["From"], message["To"] = f"{self.name.title()} <{self.address}>", to
        message["Subject"] = f"Re: {answering.message['Subject']}" if answering else "A match"
        message["Message-ID"] = f"<{self._sent}.{self.name}@mail.example>"
        message.set_content(text + "\n", cte="quoted-printable")
        covered = ("from", "to", "subject", "message-id", "content-type", "content-transfer-encoding")
        raw = message.as_bytes() if self.key else HOME.craft(message.as_bytes(), headers=covered)
        with smtplib.SMTP("127.0.0.1", self._port, timeout=PATIENCE) as connection:
            connection.sendmail(self.address, [to], raw)

    def say(self, text: str) -> None:
        """Sign a command, and the form in which it comes back completed."""
        self.fetch()
        before = len(self.letters)
        self.send(f"{text}\n")
        completed = self.wait(f"server {SERVER}", before)
        form = re.search(rf"(?ms)^{text.split(maxsplit=1)[0]} .*?\n(?=\n)", completed.text)
        assert form
        self.send(form[0], completed)

    def register(self) -> None:
        if self.key:
            self.send(f"register {self.name}\n{ssh.public(self.key)} {self.address}\n", signed=False)
            challenge = self.wait("To prove that the key")
            self.send(challenge.form("confirm").replace("NAME", self.name), challenge)
        else:
            self.send(f"register {self.name}")
            self.send(f"register {self.name}", self.wait("answer this letter"))
        self.wait("You are registered")

    def join(self) -> None:
        if self.key:
            self.say("join m1")
        else:
            self.send("list open")
            self.send("join m1", self.wait("Diplomacy.* m1|m1 .*Diplomacy"))

    def agree(self, command: str) -> None:
        """Agree to what a letter asks, by the first line of its form; to terms, a telephone says `yes`."""
        asked = self.wait(rf"{command} m1 ")
        self.send("yes" if command == "accept" and not self.key else asked.form(f"{command} m1", 1), asked)

    def asked(self) -> tuple[int, dict[str, Any], Letter | None]:
        """The latest turn for which orders were asked for, and the position before it."""
        self.fetch()
        letter = self._asking
        assert letter
        turn = re.search(r"^orders m1 turn (\d+)", letter.text, re.MULTILINE)
        return int(turn[1]) if turn else 0, letter.attached("-position.json")["view"], letter

    def order(self, text: str, letter: Letter | None) -> None:
        assert letter
        self.send(letter.filled("orders", f"final\n{text}") if self.key else text or "nothing", letter)


class AtTerminal:
    """Somebody at `pbem play`."""

    def __init__(self, name: str, office: PostOffice, folder: Path, clock: FakedClock, site: Path) -> None:
        self.name = name
        self._maildir, self._port, self._clock = folder / name, office.port, clock
        self._home = folder / f"{name}-home"
        office.box(f"{name}@mail.example")
        paths = {"HOME": str(self._home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        self._environment = {**os.environ, **paths, "PBEM_GAMES": "diplomacy", "PYTHONPATH": str(site)}

    def __call__(self, *words: str, patience: float = PATIENCE, statuses: Sequence[int] = (0,)) -> str:
        command = self._clock.program("from pbem.cli import main\nmain()", "play", "--wait", str(patience), *words)
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode in statuses, (words, done.stdout, done.stderr)
        return done.stdout

    def register(self) -> None:
        ways = ("--in", f"maildir:{self._maildir}", "--out", f"smtp://127.0.0.1:{self._port}")
        self("register", f"{self.name}@{SERVER}", "--address", f"{self.name}@mail.example", "--new-key", *ways)

    def join(self) -> None:
        self("join", "m1", "--yes")

    def agree(self, command: str) -> None:
        self("wait")
        self(command, "m1", "--yes")

    def asked(self) -> tuple[int, dict[str, Any], Letter | None]:
        self("wait", patience=0.1, statuses=(0, 3))
        with closing(Memory(self._home / f".local/state/pbem/{self.name}@{SERVER}.sqlite")) as memory:
            standing = memory.standing("m1")
            assert standing
            paper = memory.paper("m1", 1, standing.turn, "position")
        return standing.turn, paper["view"] if paper else {}, None

    def order(self, text: str, letter: Letter | None) -> None:
        del letter
        self("m1", *(text.splitlines() or ["--nothing"]), "--final", "--yes")


class Club:
    """Who plays, and their clock."""

    def __init__(self, folder: Path, office: PostOffice, clock: FakedClock, site: Path) -> None:
        keys = [Person(name, office) for name in ("ann", "bob", "carl", "dan")]
        self.ann, self.bob, self.carl, self.dan = keys
        self.erin, self.fay = Person("erin", office, "en"), Person("fay", office, "de")
        self.gus = AtTerminal("gus", office, folder, clock, site)
        self.people: list[Person | AtTerminal] = [*keys, self.erin, self.fay, self.gus]
        self.seats: dict[str, str] = {}
        """The names by which the others know each."""
        self.due = 1
        self._ordered: dict[str, int] = {}
        self._office, self._clock, self._random = office, clock, Random("seven powers")

    @property
    def by_letters(self) -> list[Person]:
        return [one for one in self.people if isinstance(one, Person)]

    def agree(self) -> None:
        for one in self.people:
            one.register()
        self.ann.say(f"new diplomacy\n{TERMS}\nend")
        self.ann.wait("Proposed:")
        for one in self.people[1:]:
            one.join()
        for one in self.people[1:]:
            one.agree("accept")
        for person in self.by_letters:
            person.wait(r"\borders m1 turn 1\b")
        until(lambda: all(one.asked()[1] for one in self.people))  # a terminal takes what has come by then
        self.seats = {one.name: f"seat-{one.asked()[1]['seat']}" for one in self.people}

    def order(self, silent: Person | None = None) -> bool:
        """Have all send the orders that are due; true if they were asked of who is silent, too."""
        missing = False
        for one in self.people:
            turn, view, letter = one.asked()
            if turn != self.due or not view["entitled"] or self._ordered.get(one.name) == turn:
                continue
            if one is silent:
                missing = True
            else:
                one.order(subject("diplomacy").players.orders(self._random, view), letter)
                self._ordered[one.name] = turn
        return missing

    def turn(self, silent: Person | None = None) -> bool:
        """Play the turn that is due; true if who is silent missed it."""
        missed = self.order(silent)
        if missed:
            self._clock.move(timedelta(days=3, hours=1))
            self.ann.send("games\n")  # any letter has the server look at its clock
        self._be_told()
        return missed

    def _be_told(self) -> None:
        until(lambda: all(one.was_told(self.due) for one in self.by_letters), PATIENCE)
        self.due += 1

    def whisper(self) -> None:
        """Ann writes to two, and nobody else hears of it."""
        words = "Shall we share it, we three?"
        self.ann.say(f"press m1 to {self.seats['carl']} {self.seats['erin']}\n{words}\nend")
        for one in (self.carl, self.erin):
            one.wait(words[:-1])
        for one in (self.bob, self.dan, self.fay):
            assert one.heard(words[:-1]) is None

    def leave(self) -> None:
        """Dan is silent in two turns, and leaves."""
        missed = 0
        while missed < 2:
            missed += self.turn(self.dan)
        self.ann.wait(f"{self.seats['dan']} was silent for too long and has left")
        self.people.remove(self.dan)

    def substitute(self) -> Person:
        """Bob is silent in one turn; before he leaves, most of the others let Hal take the seat."""
        while not self.turn(self.bob):
            pass
        while not self.order(self.bob):  # whoever owes orders has no say in who is late
            self._be_told()
        hal = Person("hal", self._office)
        hal.register()
        for one in (self.ann, self.carl):
            one.say(f"substitute m1 hal for {self.seats['bob']}")
        for one in (self.erin, self.fay):
            one.agree("substitute")
        asked = hal.wait("substitute m1")
        hal.send(asked.form("substitute m1"), asked)
        hal.wait("orders m1 turn")
        self.people[self.people.index(self.bob)] = hal
        return hal

    def share(self, hal: Person) -> Letter:
        """All who are left agree that three share the game; the letter about the end."""
        three = " ".join(self.seats[name] for name in ("ann", "carl", "erin"))
        self.ann.say(f"draw m1 offer for {three}")
        for one in (self.carl, hal):
            one.say(f"draw m1 accept for {three}")
        for one in (self.erin, self.fay):
            offer = one.wait("draw accept for")
            one.send(offer.form("draw accept", 1), offer)
        self.gus("draw", "m1", "accept", *(f"--for={seat}" for seat in three.split()), "--yes")
        return self.ann.wait("ann, carl, erin share")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the package is installed: for the server, for the terminal, and here."""
    install(tmp_path / "site", "pbem-diplomacy", game="diplomacy", source=SOURCE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    with found_in(tmp_path / "site"):
        outside.enable(["diplomacy"])
        yield tmp_path / "site"


@pytest.fixture
def club(tmp_path: Path, site: Path) -> Iterator[Club]:
    """Seven people, and a server by their clock, which ends well."""
    clock, office = FakedClock(tmp_path / "clock"), PostOffice(tmp_path)
    with name_server({HOME.where: HOME.record}) as port, office.opened():
        office.box(f"operator@{SERVER}")
        program = clock.program(PROGRAM.format(port=port), "serve")
        with served(office, tmp_path, program=program, more=f'[games]\nenabled = ["diplomacy"]\n{TRUSTED}'):
            yield Club(tmp_path, office, clock, site)


def verdict(bundle: Path, *words: str) -> tuple[int, str]:
    """The exit status of `pbem verify`, and what it says."""
    done = subprocess.run([PBEM, *words, "verify", str(bundle)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_seven_play_to_a_draw_of_three(tmp_path: Path, club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    club.agree()
    club.turn()
    club.whisper()
    club.leave()
    hal = club.substitute()
    club.turn()
    name, content = club.share(hal).attachment(".pbem.zip")
    assert "checks hold" in club.gus("verify", "m1")
    (bundle := tmp_path / name).write_bytes(content)
    status, said = verdict(bundle, "--game", "diplomacy")
    assert status == 0, said
    monkeypatch.delenv("PYTHONPATH")
    status, said = verdict(bundle)
    assert (status, "OPEN  rules" in said) == (3, True), said
