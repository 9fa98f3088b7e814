"""A sealed match from its agreement to its verdict, of owners who keep their secrets and sign all that they send.

No desk and no store: letters are read as `proof` reads them, and lead a `Step` on. What an owner writes can be
falsified on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import SERVER, Die
from msgspec.structs import replace
from playing.sealed_writer import SealedWriter
from world.mutations import SERVER_KEY

from pbem.identity import parse_key, ssh
from pbem.mail import commands
from pbem.mail.commands import sections
from pbem.match.events.begun import agree
from pbem.match.events.endings import resign
from pbem.match.events.sealed_events import reveal, seal, take
from pbem.match.modes import proposed
from pbem.match.pinned_keys import Player
from pbem.match.progress import advance, tick
from pbem.match.step import Environment, Signed, Step
from pbem.match.terms import Terms
from pbem.match.transcript import Entry, statement, written
from pbem.proof.bundle import Bundle, write
from pbem.proof.verification import Check, Proved, verify
from pbem.requests import Section
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.requests import Requested, SignedForm, TakeSteps

NAMES = ("anna", "bob", "carl", "dora")


@dataclass
class Owner(SealedWriter):
    """A player with own secrets, and a key."""

    name: str = ""
    key: Ed25519PrivateKey = field(init=False, repr=False)
    seed: bytes = b""
    lie: Callable[[Owner, Section], Section] = lambda _, section: section
    """What becomes of each section before it is sent."""
    tells: Callable[[int, str, tuple[str, ...]], tuple[str, ...]] = lambda _turn, _step, lines: lines
    """What it tells in the place of the true lines of a step."""
    setting_up: Callable[[Match], str] | None = None
    ordering: Callable[[Random, dict[str, Any]], str] | None = None

    def __post_init__(self) -> None:
        self.name = self.name or NAMES[self.seat - 1]
        self.key = Ed25519PrivateKey.from_private_bytes(Die(f"key {self.seat}")(32))

    @property
    def salting(self) -> bytes:
        return self.seed

    def tell(self, turn: int, step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
        return self.tells(turn, step, lines)

    def set_up(self, match: Match) -> str:
        return self.setting_up(match) if self.setting_up else super().set_up(match)

    def order(self, match: Match, view: dict[str, Any]) -> str:
        return self.ordering(self.random, view) if self.ordering else super().order(match, view)

    def begin(self, match: Match) -> Section:
        """The commitment to a new setup."""
        self.seed, self.setup, self.orders, self.after = self.random.randbytes(32), "", {}, {}
        return self.lie(self, super().begin(match))

    def steps(self, match: Match, *, most: int = 9) -> list[Section]:
        """All that is owed, or the first of it."""
        return [self.lie(self, section) for section in self.owed(match, most)]

    def reveals(self) -> list[Section]:
        return [self.lie(self, section) for section in super().reveals()]


class SealedMatch:
    """A match being played; `match` as it stands, with all of its entries and papers."""

    def __init__(self, game: str = "spaceships", seed: int = 1, seats: int = 2, /, **lines: str) -> None:
        self.owners = [Owner(seat, Random(f"{seed} {seat}")) for seat in range(1, seats + 1)]
        self.server = SERVER_KEY
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.die = Die(f"sealed {seed}")
        self.entries: list[Entry] = []
        self.papers: dict[str, bytes] = {}
        self.notices: list[Notice] = []
        self.letters = 0
        names = tuple(owner.name for owner in self.owners)
        self.match = proposed("m1", SERVER, Terms.propose(game, {"sealed": "yes", **lines}, names, timedelta(0)))
        self._agree(lines)

    def _agree(self, lines: Mapping[str, str]) -> None:
        first, *others = self.owners
        options = "\n".join(f"{key}: {value}" for key, value in {"sealed": "yes", **lines}.items())
        named = " ".join(other.name for other in others)
        head = f"new {self.match.terms.game} with {named}\nserver {SERVER}\nplayer {first.name}\n"
        consents = [self.sign(first, f"{head}{options}\nend\n")]
        consents += [self.sign(owner, f"accept m1 {self.match.rules_hash}\n") for owner in others]
        players = []
        for owner in self.owners:
            public = ssh.public(owner.key)
            key = {"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public}
            players.append(Player(owner.name, (key,)))
        with_ = self.step()
        agree(with_, tuple(players), consents)
        self.done(with_)

    def fork(self) -> SealedMatch:
        """The same match, to be played on in another way."""
        other = copy(self)
        other.owners = [deepcopy(owner, {id(owner.key): owner.key}) for owner in self.owners]
        other.entries, other.papers, other.notices = [*self.entries], {**self.papers}, [*self.notices]
        other.die = deepcopy(self.die)
        return other

    def step(self) -> Step:
        key = self.server.public_key().public_bytes_raw().hex()
        return Step(self.match, Environment(self.now, self.die, "pbem 0.1.0", key))

    def done(self, step: Step) -> None:
        advance(step)
        self.match = step.match
        self.entries += step.entries
        self.notices += step.notices
        for document in step.papers:
            assert document.path not in self.papers
            self.papers[document.path] = document.content

    def sign(self, owner: Owner, text: str) -> Signed:
        """A letter as it comes, a minute after the last one."""
        self.now += timedelta(minutes=1)
        self.letters += 1
        body = text + ssh.sign(owner.key, text.encode(), f"pbem@{SERVER}")
        raw = f"From: {owner.name}@mail.example\nMessage-ID: <{self.letters}@mail.example>\n\n{body}"
        fingerprint = parse_key(ssh.public(owner.key)).fingerprint
        return Signed(raw.replace("\n", "\r\n").encode(), "key", fingerprint, received=written(self.now))

    def letter(
        self, owner: Owner, command: str, place: str, found: list[Section], rev: str = ""
    ) -> tuple[SignedForm[Any], Signed]:
        """A signed letter with these sections, and what it says."""
        head = f"{command} m1 {place}\nserver {SERVER}\nplayer {owner.name}\nprev {self.match.prev}\n{rev}"
        text = f"{head}{sections.written(found)}\nend\n"
        (read,) = commands.parse(text).commands
        assert not read.faults, read.faults
        return read.form, self.sign(owner, text)

    # What players do.

    def seal(self, owner: Owner, rev: int = 1) -> None:
        found = [owner.begin(self.match)]
        said, signed = self.letter(owner, "seal", f"game {self.match.game}", found, f"rev {rev}\n")
        step = self.step()
        seal(step, owner.seat, said, signed)
        self.done(step)

    def tell(self, owner: Owner, *, most: int = 9) -> None:
        found = owner.steps(self.match, most=most)
        said, signed = self.letter(owner, "step", f"game {self.match.game} turn {self.match.turn}", found)
        self.take(owner, said, signed)

    def take(self, owner: Owner, said: SignedForm[TakeSteps], signed: Signed) -> None:
        step = self.step()
        take(step, owner.seat, said, signed)
        self.done(step)

    def say(self, owner: Owner, command: str, event: Callable[..., object]) -> None:
        """A sentence that has its effect at once."""
        place = f"turn {self.match.turn}" if self.match.phase == "playing" else f"game {self.match.game}"
        text = f"{command}\nserver {SERVER}\nplayer {owner.name}\nprev {self.match.prev}\n{place}\nrev 1\n"
        (read,) = commands.parse(text).commands
        assert not read.faults, read.faults
        signed = self.sign(owner, text)
        step = self.step()
        event(step, owner.seat, read.form, signed)
        self.done(step)

    def reveal(self, owner: Owner) -> None:
        said, signed = self.letter(owner, "reveal", f"game {self.match.game}", owner.reveals())
        step = self.step()
        reveal(step, owner.seat, said, signed)
        self.done(step)

    def resign(self, owner: Owner, *, whole_match: bool = False) -> None:
        what = "match" if whole_match else f"game {self.match.game}"
        self.say(owner, f"resign m1 {what}", resign)

    def wait(self, days: int) -> None:
        for _ in range(days):
            self.now += timedelta(days=1)
            step = self.step()
            tick(step)
            self.done(step)

    def begin(self) -> None:
        for owner in self.owners:
            self.seal(owner)

    def play(self, turns: int = 1000, *, most: int = 9) -> None:
        """Play on until so many turns are told, or the game is over as told; `most` steps a letter."""
        while self.match.phase == "playing" and not self.match.awaits and len(self.match.turns) < turns:
            owed = [owner for owner in self.owners if self.match.owes(owner.seat)]
            self.tell(owed[0], most=most)

    def finish(self) -> None:
        """Begin, play and reveal a whole game."""
        self.begin()
        self.play()
        for owner in self.owners if self.match.awaits else ():
            self.reveal(owner)

    # What becomes of it.

    def bundle(self) -> bytes:
        signatures = [self.server.sign(statement(SERVER, "m1", one.seq, one.head)) for one in self.entries]
        return write(Bundle(self.entries, signatures, self.papers))

    def checks(self) -> list[Check]:
        return list(verify(self.bundle()))

    def proved(self) -> Match:
        """The match as its bundle proves it, to the second verifier as well; everything must hold."""
        proved, content = Proved(), self.bundle()
        last = list(verify(content, proved=proved))[-1]
        assert last.holds, last
        verified(content)
        assert proved.match is not None
        return proved.match

    def types(self) -> list[str]:
        return [entry.type for entry in self.entries]


Change = Callable[[tuple[str, ...], str], tuple[tuple[str, ...], str]]
"""What becomes of the words and the text of a section."""


def changed(name: str, change: Change | None) -> Callable[[Owner, Section], Section]:
    """A change that falsifies the sections of this name."""

    def lie(_: Owner, section: Section) -> Section:
        return section if section[0] != name or change is None else Section(name, *change(section[1], section[2]))

    return lie


def said_otherwise(form: SignedForm[Requested], key: str, value: object) -> SignedForm[Requested]:
    """A form with another value in one of its lines."""
    return replace(form, **{key: value})
