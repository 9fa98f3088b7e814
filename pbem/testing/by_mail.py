"""One match by mail: the desk as a server has it, and scripted players who write with their own programs.

There is no network, and no time passes. Every letter is read, judged, answered, composed and read again as in
earnest, so that a missing template or a view that no player can order from is found here.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from email import message_from_bytes, policy
from itertools import count
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import TYPE_CHECKING

import structlog.testing
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.config.server import Config
from pbem.desk.letter_handling import WorkingDesk
from pbem.desk.reading import InProcess
from pbem.desk.wiring import Desk
from pbem.games import part_of
from pbem.games.outside import template_folders
from pbem.identity import ssh
from pbem.letters.render import Templates
from pbem.mail.compose import Composer
from pbem.match.record import toml_value
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.memory import Memory
from pbem.player.play_table import prove
from pbem.store.database import Database
from pbem.store.inbox import Envelope
from pbem.store.outbox import Sent
from pbem.store.vault import Vault
from pbem.testing.subject import Nonconforming, demand

if TYPE_CHECKING:
    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.testing.subject import Subject

_SERVER = "check.example"
_MATCH = "m1"
_ADDRESS = f"pbem@{_SERVER}"
_NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_TOGETHER = 16  # letters that leave at once
_ORDERS = 40  # after which the match is resigned: what happens then is like what happened before
_COLUMNS = 78
_NAMES = ("ann", "bob", "carl", "dora", "emil", "fay", "gus", "hal", "ida")


def play_by_mail(subject: Subject) -> None:
    """Play a match of a game by mail, and verify its bundle; raises `Nonconforming`."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as afterwards:
        office = _Office(subject, Path(folder), afterwards)
        raw, seats = subject.players.options[0]
        people = [_Person(office, name, afterwards) for name in _NAMES[:seats]]
        for person in people:
            person.register()
        first, *others = people
        lines = [f"{name}: {value if isinstance(value, str) else toml_value(value)}" for name, value in raw.items()]
        first.tell(f"new {subject.name} with {', '.join(other.name for other in others)}", "\n".join(lines))
        for other in others:
            other.post(other.letters.accept(_MATCH, _NOW))
        _play(subject, people)
        for words in _QUESTIONS:
            first.ask(words.format(game=subject.name))
        if part_of(subject.name, "boards") is not None:
            first.ask(f"sheet {subject.name}")
        for person in people:
            proof = prove(person.letters.memory, _MATCH)
            if proof is None:
                raise Nonconforming(f"{person.name} got no bundle")
            demand(proof.holds, f"the bundle does not hold: {proof.checks[-1].found}")


_QUESTIONS = ("help {game}", "rules {game}", "games", "standings", "status m1", "report m1 game 1", "diary m1")


def _play(subject: Subject, people: list[_Person]) -> None:
    """Setups and orders, until the match is over."""
    random = Random(f"mail {subject.name}")
    for turn in count():
        running = [person for person in people if person.standing.phase in {"setup", "playing"}]
        if not running:
            return
        person = next((one for one in running if one.standing.asked), None)
        if person is None:
            raise Nonconforming("nobody is asked for anything, and the match is not over")
        if turn > _ORDERS:
            person.post(person.letters.say(_MATCH, "resign m1 match", _NOW))
        elif person.standing.phase == "setup":
            options = person.letters.judge.options(_MATCH)
            text = subject.players.setup(random, options, person.standing.seat)
            person.post(person.letters.set_up(_MATCH, text, _NOW))
        else:
            view = person.letters.matches.position_asked(_MATCH)["view"]
            person.post(person.letters.order(_MATCH, subject.players.orders(random, view), _NOW, final=True))


class _Office:
    """The desk of a server, and its post."""

    def __init__(self, subject: Subject, folder: Path, afterwards: ExitStack) -> None:
        self._subject = subject
        config, vault = Config(server=_SERVER, operator="operator@check.example"), Vault(os.urandom(32), os.urandom)
        database = afterwards.enter_context(closing(Database(folder / "store.sqlite")))
        composer, reader = Composer(_SERVER, "pbem", Templates()), InProcess(config.limits)
        self._desk = Desk(config, database, vault, Ed25519PrivateKey.generate(), composer, os.urandom, reader)
        self._work = WorkingDesk(self._desk)
        self.people: dict[str, Correspondence] = {}

    def deliver(self, raw: bytes, sender: str, to: str) -> None:
        """Take a letter in, do all that follows, and bring the answers; raises `Nonconforming` if the desk fails."""
        self._desk.inbox.put(Envelope(sender, (to,), ""), raw, _NOW)
        with structlog.testing.capture_logs() as logged:
            while self._work.handle_next(_NOW):
                pass
            self._work.tick(_NOW)
        for line in logged:
            if error := line.get("exc_info"):
                raise Nonconforming(f"{_letter_of(error)}: {self._subject.raised(error)}") from error
        sent: list[Sent] = []
        while rows := self._desk.outbox.exchange(sent, _NOW, _TOGETHER).rows:
            for row in rows:
                if row.recipient in self.people:
                    _check_width(row.raw)
                    self.people[row.recipient].inbox.receive(row.raw, _NOW)
            sent = [Sent(row.id, "250 ok", _NOW, "delivered") for row in rows]


def _letter_of(error: Exception) -> str:
    """The letter that cannot be made, by its own template, which is the outermost; the game's are inside it."""
    ours = template_folders()[0]
    called = (Path(frame.filename) for frame in extract_tb(error.__traceback__))
    letter = next((path for path in called if path.is_relative_to(ours)), None)
    return "a letter cannot be handled" if letter is None else f"{letter.relative_to(ours).as_posix()} cannot be made"


def _check_width(raw: bytes) -> None:
    """Check that no line of a letter's text is wider than a terminal."""
    letter = message_from_bytes(raw, policy=policy.default)
    text = letter.get_body(("plain",))
    for line in text.get_content().splitlines() if text else ():
        said = f"the letter {letter['Subject']!r} has a line of {len(line)} columns, and may have {_COLUMNS}: {line}"
        demand(len(line) <= _COLUMNS, said)


class _Person:
    """A player with a key, and with `pbem play`'s own memory of all letters."""

    def __init__(self, office: _Office, name: str, afterwards: ExitStack) -> None:
        self.name, self._office, self._key = name, office, Ed25519PrivateKey.generate()
        self._address = f"{name}@mail.example"
        account = Account(name, _SERVER, _ADDRESS, self._address, "key", "", "")
        memory = afterwards.enter_context(closing(Memory(None)))
        self.letters = Correspondence(account, memory, lambda text, of: ssh.sign(self._key, text, of), os.urandom)
        office.people[self._address] = self.letters

    @property
    def standing(self) -> MatchView:
        """The state of the match, by the letters that came."""
        return self.letters.matches.standing(_MATCH)

    def register(self) -> None:
        """Open the account."""
        public = ssh.public(self._key)
        self.post(self.letters.registration.register(public, ssh.parse(public).fingerprint, _NOW))
        confirm = self.letters.registration.confirm(_NOW)
        assert confirm is not None
        self.post(confirm)

    def tell(self, words: str, text: str) -> None:
        """Sign and send words that belong to no turn."""
        self.post(self.letters.tell(words, _NOW, text=text))

    def ask(self, words: str) -> None:
        """Ask the server something."""
        self.post(self.letters.ask(words, _NOW))

    def post(self, sent: SentForm) -> None:
        """Send a letter, whose answers come at once; raises `Nonconforming` if it is refused."""
        self.letters.outbox.has_left(sent)
        self._office.deliver(sent.raw, self._address, sent.to)
        now = self.letters.memory.by_message_id(sent.message_id)
        state = now.state if now else "lost"
        demand(state in {"done", "asked"}, f"`{sent.command}` of {self.name} is {state}: {now.faults if now else ''}")
