"""A referee in a box for tests: the real desk and store, letters by hand, a clock and a die that are handed in."""

from __future__ import annotations

import email
import email.policy
import functools
import hashlib
import itertools
import json
import re
import sqlite3
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.headerregistry import HeaderRegistry
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.boxes import Inbox, Outbox
from in_a_box.stores import POSTGRESQL, connection, place
from msgspec.structs import replace

from pbem.config.server import Config, HousePlayer, Identity
from pbem.desk.letter_handling import WorkingDesk
from pbem.desk.reading import InProcess
from pbem.desk.wiring import Desk
from pbem.games import rules
from pbem.games.outside import template_folders
from pbem.identity import ssh
from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Generation
from pbem.store.database import Database
from pbem.store.inbox import Envelope
from pbem.store.noted_time import Outages
from pbem.store.operator import Instructions, forgotten, generation
from pbem.store.questions import RANKS, Lookups
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
    from email.message import EmailMessage

    from pbem.match.state import Match

SERVER = "play.example"
SOFTWARE = "pbem 0.1.0"
"""The version in transcripts: fixed, so that vectors and golden letters stay as they are in later versions."""
MAIL_SERVER = "mx.play.example"
"""Our own mail server, whose word is taken for where a letter came from."""
WHOLE = ("Sign these lines as they stand, and send them:\n\n", "wie sie sind, und schick sie:\n\n")
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEPT = 64
"""Openings that are kept, of half a megabyte each."""

ANN = "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS Bv5 Bw5"
BOB = "DS Ry3-Oz4\nKC Yv1-Yw3\nFS Bv1-Bw2\nMD Gx3 Gx4 Gx5\nLS Rv1"


_templates = functools.cache(Templates)
"""The templates of all tests with the same games: to compile them takes longer than most tests do."""


@functools.cache
def _empty_store() -> bytes:
    """The file of a new store: SQLite takes longer over its tables than most tests do."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        Database(path).close()
        return path.read_bytes()


class Die:
    """Randomness that is the same in each run; nothing here is secret."""

    def __init__(self, seed: str = "die") -> None:
        self._seed = seed
        self.cast = 0

    def __call__(self, length: int) -> bytes:
        made = b""
        while len(made) < length:
            made += hashlib.sha256(f"{self._seed} {self.cast}".encode()).digest()
            self.cast += 1
        return made[:length]


POLICY = email.policy.default.clone(header_factory=functools.lru_cache(10_000)(HeaderRegistry()))
"""The standard library's reading of headers, each once: it takes most of the time that a letter is read in."""


class Letters(Sequence["EmailMessage"]):
    """Letters that came, oldest first, each parsed when it is first looked at: most never are."""

    def __init__(self, came: Iterable[bytes] = (), numbers: Iterable[int] = ()) -> None:
        self.came = list(came)
        """All that came, as it came, whatever was taken away since."""
        self.numbers = list(numbers)
        """The numbers of those that are left."""
        self._all: list[EmailMessage | bytes] = [self.came[number] for number in numbers]

    def bring(self, raw: bytes) -> None:
        self.numbers.append(len(self.came))
        self._all.append(raw)
        self.came.append(raw)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        letter = self._all[at]
        if isinstance(letter, bytes):
            letter = self._all[at] = email.message_from_bytes(letter, policy=POLICY)
        return letter

    def text(self, at: int) -> str:
        """The text of a letter, cached by its bytes."""
        letter = self._all[at]
        return _text_of(letter) if isinstance(letter, bytes) else body(letter)

    def __delitem__(self, at: Any) -> None:
        del self._all[at], self.numbers[at]


@functools.lru_cache(256)
def _text_of(raw: bytes) -> str:
    return body(email.message_from_bytes(raw, policy=POLICY))


@dataclass
class Mailbox:
    """A player's side: address, key, and the letters that came, oldest first."""

    name: str
    address: str
    key: Ed25519PrivateKey
    letters: Letters = field(default_factory=Letters)

    @property
    def last(self) -> EmailMessage:
        letter: EmailMessage = self.letters[-1]
        return letter

    @property
    def text(self) -> str:
        return self.letters.text(-1)

    def find(self, subject: str) -> EmailMessage:
        """The latest letter about this, by its subject or the title of one of its parts."""
        return next(letter for letter in reversed(self.letters) if any(subject in title for title in titles(letter)))

    def form(self, kind: str) -> str:
        """The latest form of this kind that a letter brought."""
        for number in reversed(range(len(self.letters))):
            lines = self.letters.text(number).split("\n")
            for at, line in enumerate(lines):
                if line.startswith(f"{kind} m"):
                    return "\n".join(lines[at : lines.index("end", at) + 1]) + "\n"
        raise AssertionError(f"no form of kind {kind}")

    def filled(self, kind: str, text: str, rev: int | None = None) -> str:
        """The latest form, filled in, whatever was in it; who orders nothing says so."""
        form = self.form(kind).split("\n")
        head = "\n".join(form[: next(at for at, line in enumerate(form) if line.startswith("rev ")) + 1])
        text = "# none" if kind == "orders" and not text.strip() else text
        if rev is not None:
            head = "\n".join(f"rev {rev}" if line.startswith("rev ") else line for line in head.split("\n"))
        return f"{head}\n{text}\nend\n"


def sent_from(address: str) -> str:
    """The header of our mail server above a letter whose client may send for that address."""
    return f"Authentication-Results: {MAIL_SERVER}; spf=pass smtp.mailfrom={address}\n"


def titles(letter: EmailMessage) -> Iterator[str]:
    """The subject of a letter, and the titles of its parts, each written as a subject."""
    yield str(letter["Subject"])
    for title in re.findall(r"^(?!>).*, match m[0-9]+.*: .*$", body(letter), re.MULTILINE):
        yield title.replace(": ", ", ")


def body(letter: EmailMessage) -> str:
    part = letter.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def html(letter: EmailMessage) -> str:
    part = letter.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def attachment(letter: EmailMessage, suffix: str) -> bytes:
    for part in letter.iter_attachments():
        if (part.get_filename() or "").endswith(suffix):
            content = part.get_content()
            return content if isinstance(content, bytes) else content.encode()
    raise AssertionError(f"nothing ends in {suffix}")


@dataclass(frozen=True)
class Opening:
    """The state after an opening: the store, the counters of dice and letters, and the letters of each mailbox."""

    store: sqlite3.Connection
    cast: tuple[int, int]
    sent: int
    asked: tuple[str, ...]
    letters: tuple[tuple[str, tuple[bytes, ...], tuple[int, ...]], ...]


class Openings:
    """Openings that were played, of which each referee that asks for the same goes on with a copy.

    A hundred tests begin with the same letters. Referees share what nothing but their `seed`, what they were given,
    and these letters can have made; whoever bends a server before its first letter has it play for itself.
    """

    def __init__(self) -> None:
        self._played: dict[Hashable, Opening] = {}

    def get(self, key: Hashable) -> Opening | None:
        return self._played.get(key)

    def keep(self, key: Hashable, opening: Opening) -> None:
        """Keep the latest: tests of one module, which often begin alike, follow each other."""
        while len(self._played) >= KEPT:
            self._played.pop(next(iter(self._played))).store.close()
        self._played[key] = opening

    def forget(self) -> None:
        """Have all of them played anew."""
        while self._played:
            self._played.popitem()[1].store.close()


def known(match: Match, seat: int | None) -> str:
    """All that a seat knows of a position, in the order in which templates find it."""
    return json.dumps(match.view(seat))


class Referee:
    """The desk of play.example on a store of its own."""

    def __init__(
        self,
        folder: Path,
        seed: str = "die",
        openings: Openings | None = None,
    ) -> None:
        self.config = Config(
            server=SERVER,
            operator="operator@play.example",
            identity=Identity(MAIL_SERVER),
            house=HousePlayer(name="house", address="house@mail.example"),
        )
        self.now = START
        self.die = Die(seed)
        self.folder = folder
        self.templates = _templates(*template_folders())
        self.nonces = Die("nonce")
        self.vault = Vault(bytes(32), self.nonces)
        store = folder / "store.sqlite"
        self._openings = None if POSTGRESQL or store.exists() else openings
        if not (POSTGRESQL or store.exists()):
            store.touch(0o600)
            store.write_bytes(_empty_store())
        self.database = Database(place(store))
        if not POSTGRESQL:
            # No machine loses its power under a test; what is written in that fear is tried with the real daemon.
            self.database.execute("PRAGMA synchronous = OFF")
        # Where a test does not close it: Python 3.13 calls a connection that is collected open a fault.
        weakref.finalize(self, self.database.close)
        self.inbox = Inbox(self.database, self.vault)
        self.outbox = Outbox(self.database, self.vault)
        self.signing_key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self.lookups = Lookups(self.database)
        self.records: dict[str, str | None] = {}
        """The DNS: TXT records by name, None if its server does not answer."""
        self.asked: list[str] = []
        self.people: dict[str, Mailbox] = {}
        self.away: set[str] = set()
        """Addresses whose server asks to come again."""
        self.retry = timedelta(minutes=10)
        self.sent = itertools.count(1)
        self.open_desk()
        self._seed = seed
        self._new = (self.desk, self.database.engine.changes)

    def open_desk(self) -> None:
        """The desk, as after a restart: nothing of it is remembered but the store."""
        composer = Composer(
            SERVER,
            "pbem",
            self.templates,
            delimiter=self.config.delimiter,
            generation=Generation(generation(self.database), forgotten(self.database)),
        )
        self.desk = Desk(
            self.config,
            self.database,
            self.vault,
            self.signing_key,
            composer,
            self.die,
            InProcess(self.config.limits),
            software=SOFTWARE,
        )

    def configure(self, **changes: Any) -> None:
        """Change these keys of the configuration, and start the desk anew."""
        self.config = replace(self.config, **changes)
        self.open_desk()

    def read_cold(self) -> Match:
        """The first match as the desk had it in memory, and replayed from the store: it is the same.

        Afterwards the desk is as after a restart.
        """
        warm = self.match()
        self.open_desk()
        cold = self.match()
        readers = (*cold.seats, None)
        assert [known(cold, reader) for reader in readers] == [known(warm, reader) for reader in readers]
        for part in cold.__struct_fields__:
            assert getattr(cold, part) == getattr(warm, part), part
        assert cold == warm
        return cold

    @property
    def running(self) -> WorkingDesk:
        return WorkingDesk(self.desk)

    def match(self, number: int = 1) -> Match:
        """The match as the desk has it."""
        loaded = self.desk.archive.load(number)
        assert loaded is not None
        return loaded[0]

    def close(self) -> None:
        self.database.close()

    def person(self, name: str) -> Mailbox:
        mailbox = Mailbox(name, f"{name}@mail.example", own_key(name))
        self.people[mailbox.address] = mailbox
        return mailbox

    def registered(self, name: str) -> Mailbox:
        person = self.person(name)
        self.send(person, f"register {name}\n{ssh.public(person.key)} {name}@home\n", sign=False)
        self.send(person, confirming(person))
        assert "You are registered" in person.text
        return person

    def signed(self, person: Mailbox, text: str, key: Ed25519PrivateKey | None = None) -> str:
        return text + ssh.sign(key or person.key, text.encode(), f"pbem@{SERVER}")

    def raw(self, person: Mailbox, text: str, *, subject: str = "orders", headers: str = "") -> bytes:
        lines = (
            f"From: {person.name} <{person.address}>\nTo: pbem@{SERVER}\nSubject: {subject}\n"
            f"Message-ID: <{next(self.sent)}.{person.name}@mail.example>\n{headers}"
            f"Content-Type: text/plain; charset=utf-8\n\n{text}"
        )
        return lines.encode().replace(b"\n", b"\r\n")

    def send(
        self,
        person: Mailbox,
        text: str,
        *,
        sign: bool = True,
        key: Ed25519PrivateKey | None = None,
        to: str = f"pbem@{SERVER}",
        follow: bool = True,
    ) -> None:
        """A letter of a player's, who signs the whole sentence that comes back if it did not say its place."""
        headers = "" if sign else sent_from(person.address)
        raw = self.raw(person, self.signed(person, text, key) if sign else text, headers=headers)
        self.deliver(raw, person.address, to)
        while sign and follow and person.letters and (whole := whole_sentence(person.text)):
            del person.letters[-1]
            self.deliver(self.raw(person, self.signed(person, whole, key)), person.address, to)

    def put(self, person: Mailbox, text: str) -> None:
        """Put a player's signed letter into the inbox, where it waits for the desk."""
        raw = self.raw(person, self.signed(person, text))
        self.inbox.put(Envelope(person.address, (f"pbem@{SERVER}",)), raw, self.now)

    def handle_waiting(self) -> None:
        """Have the desk handle the letters that wait, and do nothing else that is due."""
        while self.running.handle_next(self.now):
            pass

    def deliver(self, raw: bytes, sender: str, to: str = f"pbem@{SERVER}", network: str = "") -> None:
        """A letter as the intake stores it, and all that the desk makes of it."""
        self.inbox.put(Envelope(sender, (to,), network), raw, self.now)
        self.work()

    def work(self) -> None:
        while self.running.handle_next(self.now) or self.look_up():
            pass
        while (following := self.running.tick(self.now)) is not None and following <= self.now:
            pass
        self.collect()

    def instruct(
        self, what: str, about: str = "m1", reason: str = "the server moves", ruling: str = ""
    ) -> tuple[str, str]:
        """The outcome of an operator's instruction."""
        given = Instructions(self.database)
        number = given.give(what, about, reason, "root", self.now, ruling=ruling)
        self.work()
        return given.outcome(number)

    def look_up(self) -> bool:
        """Ask the DNS, as the daemon's task does; returns whether there was anything to ask."""
        due = [one for rank in RANKS for one in self.lookups.due(self.now, rank, 20)]
        for lookup in due:
            self.asked.append(lookup.name)
            record = self.records.get(lookup.name, "")
            if record is None and lookup.tries > 1:
                self.lookups.postpone(lookup, self.now + timedelta(minutes=5))
            else:
                self.lookups.settle(lookup, record, self.now)
        return bool(due)

    def wait(self, time: timedelta) -> None:
        """Time goes by, and the daemon looks at the clock whenever something is due."""
        end = self.now + time
        while True:
            times = self.running.tick(self.now), self.outbox.next_due()
            following = min(filter(None, times), default=None)
            self.collect()
            if self.now >= end:
                break
            self.now = min(end, max(following or end, self.now + timedelta(seconds=1)))
            self.alive()
        self.work()

    def alive(self) -> None:
        """The daemon has been at work all the while, as its heartbeat says."""
        with self.database.transaction():
            Outages(self.database).beat(self.now)

    def outage(self, time: timedelta) -> None:
        """Nothing runs for a time; then a new daemon starts."""
        self.running.tick(self.now)
        self.alive()
        self.now += time
        self.open_desk()
        self.work()

    def collect(self) -> None:
        while row := self.outbox.lease(self.now):
            if row.recipient in self.away:
                with self.database.transaction():
                    self.outbox.failed(row.id, "451 4.7.1 greylisted", self.now, self.now + self.retry)
                continue
            if row.recipient in self.people:
                self.people[row.recipient].letters.bring(row.raw)
            with self.database.transaction():
                self.outbox.delivered(row.id, "250 ok", self.now)

    def agreed(self, options: str = "", game: str = "spaceships") -> tuple[Mailbox, Mailbox]:
        """Ann and Bob, registered and in match m1, their setups asked for."""
        ann, bob = self.opened((game, options, "ann", "bob"), lambda: self._agree(game, options, ("ann", "bob")))
        return ann, bob

    def begun(self, options: str = "", setups: tuple[str, str] = (ANN, BOB)) -> tuple[Mailbox, Mailbox]:
        """The same, with both setups sent: turn 1 is due."""
        ann, bob = self.table("spaceships", options, dict(zip(("ann", "bob"), setups, strict=True)))
        return ann, bob

    def table(self, game: str, options: str, setups: Mapping[str, str]) -> list[Mailbox]:
        """People by name in seat order, registered, agreed on match m1, with their setups sent: turn 1 is due."""
        return self.opened((game, options, *setups.items()), lambda: self._begin(game, options, setups))

    def _agree(self, game: str, options: str, names: Iterable[str]) -> list[Mailbox]:
        people = [self.registered(name) for name in names]
        first, *others = people
        self.send(first, new(first, game, *(other.name for other in others), options=options))
        for other in others:
            self.send(other, form_in(other.text, "accept", lines=1))
        return people

    def _begin(self, game: str, options: str, setups: Mapping[str, str]) -> list[Mailbox]:
        people = self._agree(game, options, setups)
        for person in people if rules(game).secret_setups else ():
            self.send(person, person.filled("setup", setups[person.name]))
        return people

    def opened(self, asked: Hashable, play: Callable[[], list[Mailbox]]) -> list[Mailbox]:
        """Whom `play` gives: played here, or by another referee of the same seed that was given the same."""
        if self._openings is None or self.people or self._new != (self.desk, self.database.engine.changes):
            return play()
        key = (asked, self._given())
        if opening := self._openings.get(key):
            return self._go_on_from(opening)
        people = play()
        self._openings.keep(key, self._left(people))
        return people

    def _given(self) -> Hashable:
        """All that a new referee may have been given before its first letter."""
        given = (self.config, self.records, self.away, self.retry, self.now, self.sent, self.asked)
        return self._seed, self.die.cast, self.nonces.cast, self.templates, repr(given)

    def _left(self, people: list[Mailbox]) -> Opening:
        store = sqlite3.connect(":memory:")
        connection(self.database).backup(store)
        sent = next(self.sent)
        self.sent = itertools.count(sent)
        letters = tuple((one.name, tuple(one.letters.came), tuple(one.letters.numbers)) for one in people)
        opening = Opening(store, (self.die.cast, self.nonces.cast), sent, tuple(self.asked), letters)
        weakref.finalize(opening, store.close)
        return opening

    def _go_on_from(self, opening: Opening) -> list[Mailbox]:
        opening.store.backup(connection(self.database))
        self.die.cast, self.nonces.cast = opening.cast
        self.sent = itertools.count(opening.sent)
        self.asked = list(opening.asked)
        people = [self.person(name) for name, _, _ in opening.letters]
        for person, (_, came, numbers) in zip(people, opening.letters, strict=True):
            person.letters = Letters(came, numbers)
        self.open_desk()
        return people

    def turn(self, *ordered: tuple[Mailbox, str]) -> None:
        for person, orders in ordered:
            self.send(person, person.filled("orders", f"final\n{orders}"))


def whole_sentence(text: str) -> str | None:
    """The sentences that a letter brings with their places filled in, ready to be signed."""
    found = [whole for mark in WHOLE for whole in text.split(mark)[1:]]
    return "".join(whole[: whole.index("\nend\n")] + "\nend\n" for whole in found) or None


def own_key(name: str) -> Ed25519PrivateKey:
    """The key with which a player of this name signs, here and in the test vectors."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def another(name: str) -> Ed25519PrivateKey:
    return own_key(f"another {name}")


def new(person: Mailbox, game: str, *others: str, options: str = "") -> str:
    return f"new {' '.join([game, *(['with', *others] if others else [])])}\n{placed(person)}{options}\nend\n"


def placed(person: Mailbox) -> str:
    """The lines that tie a player's words to this server and player."""
    return f"server {SERVER}\nplayer {person.name}\n"


def confirming(person: Mailbox) -> str:
    """The form that came for a key, with the name in it that a short answer leaves out."""
    return form_in(person.text, "confirm").replace("confirm NAME\n", f"confirm {person.name}\n")


def form_in(text: str, kind: str, lines: int | None = None) -> str:
    found = text.split("\n")
    at = next(number for number, line in enumerate(found) if line.startswith(f"{kind} "))
    end = at + lines if lines else found.index("end", at) + 1
    return "\n".join(found[at:end]) + "\n"
