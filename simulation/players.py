"""The players of a simulated week: programs of the house at mailboxes of their own, and what careless people do.

A player reads the mailbox now and then, answers what needs an answer, and leaves delivery to a mail server. Careless
ones read days later, send letters twice, and send again what was right a turn ago. A third person writes in their
names.
"""

from __future__ import annotations

import base64
import math
import re
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from world.correspondent import SERVER, TO, Correspondent, close_if_forgotten
from world.promises import items_of

from pbem.games.spaceships.words import EXAMPLE, FURTHER_EXAMPLE
from pbem.mail.dkim_signing import DkimSigner
from pbem.match.transcript import utc
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.player.memory import Memory

if TYPE_CHECKING:
    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from simulation.world import World

TOGETHER = 0.4  # share of the longest time until a player looks: many look at these hours at once

GRACE = 3600.0  # seconds of the shortest grace of a week's matches
MINUTES = 180.0  # seconds before its end in which the last answers are written

BACK = 600.0  # seconds at most from the end of a vacation to the first look

KEY = Path(__file__).with_name("mailbox-provider.key")
"""The key of who provides mailboxes: thrown away, and always the same, so that a seed is one story."""
SHOWN = {*EXAMPLE.splitlines(), *FURTHER_EXAMPLE.splitlines()}
"""Ships that each request for a setup shows."""
MESSAGE_ID = re.compile(rb"(?im)^Message-ID: (\S+)")


class Habits(NamedTuple):
    """What a player does, and how probable it is."""

    late: float = 0.0
    """The mailbox is read days later."""
    last: float = 0.0
    """An answer is written in the last minutes of the grace."""
    double: float = 0.0
    """A letter is sent twice, octet for octet."""
    again: float = 0.0
    """An old letter is sent again much later, as a new letter."""

    @property
    def careless(self) -> bool:
        return any(self)


class Player(Correspondent):
    """The same in a simulated week, with its habits."""

    def __init__(self, world: World, name: str, habits: Habits, folder: Path) -> None:
        super().__init__(world.seed, name, folder, world.now, self._bring)
        self.world = world
        self.habits = habits
        self.came: list[bytes] = []
        self.unread: list[bytes] = []
        self._looks = False
        self.away = 0.0, 0.0
        """From when until when no mail is read and no program runs, in seconds of the loop."""

    @property
    def played(self) -> list[MatchView]:
        parts = self.world.parts
        return [one for one in super().played if not any(part.has_left(self.name, one.match) for part in parts)]

    def may_be_late(self, match: str) -> bool:  # noqa: ARG002 - a liar's answers to that differ
        """Whether this player may miss deadlines of a match."""
        return self.habits.late > 0 or self.habits.last > 0

    @property
    def is_away(self) -> bool:
        """Whether the player is on vacation now."""
        return self.away[0] <= self.world.loop.time() < self.away[1] and not self.world.hurried

    def act(self) -> None:
        if not self.is_away:
            super().act()

    def receive(self, raw: bytes) -> None:
        """A letter arrived in the mailbox; it is read at the next look."""
        self.came.append(raw)
        self.unread.append(raw)
        if not self._looks:
            self._looks = True
            wait = self.world.week.leisure * self.random.random()
            if self.random.random() < 0.7:
                # Many look when others do: at the full hour of the evening, say.
                hours, now = self.world.week.leisure * TOGETHER, self.world.loop.time()
                wait = math.ceil((now + wait) / hours) * hours - now
            if self.random.random() < self.habits.late:
                wait += timedelta(days=0.5 + 2.5 * self.random.random()).total_seconds()
            if self.habits.last and self.random.random() < self.habits.last:
                deadlines = (utc(item["deadline"]) for item in items_of(raw) if item.get("deadline"))
                left = [(deadline - self.world.now()).total_seconds() for deadline in deadlines]
                wait = max([wait, *(one + GRACE - self.random.random() * MINUTES for one in left)])
            self.world.loop.call_later(0 if self.world.hurried else wait, self.look)

    def look(self) -> None:
        """Read new letters, and answer them; after a vacation, soon after its end."""
        if self.is_away:
            wait = self.away[1] - self.world.loop.time() + self.random.random() * BACK
            self.world.loop.call_later(wait, self.look)
            return
        self._looks = False
        unread, self.unread = self.unread, []
        if unread:
            self.world.note(self.name, "reads", len(unread), "letters" if len(unread) > 1 else "letter")
        self.read(unread)

    def _before_it_acts(self) -> None:
        for standing in self.played:
            if standing.phase == "closed":
                self.world.note_over(standing.match)
            elif standing.phase == "playing" and self.world.hurried:
                self._resign(standing)

    def _resign(self, standing: MatchView) -> None:
        """End a game that is still running when the week ends."""
        match = standing.match
        words = f"resign {match} game {standing.game}"
        if not self.letters.has_said(match, words, self.world.now()):
            self.letters.say(match, words, self.world.now())
        self.program._waiting.discard(match)

    def _bring(self, sent: SentForm) -> None:
        if (sent.raw, self.address) in self.world.answered:
            self.world.repeated.setdefault((sent.raw, self.address), self.world.now())
        self.world.reader.bring(self, sent)
        if self.habits.careless and not self.world.hurried:
            self._be_careless(sent)

    def _be_careless(self, sent: SentForm) -> None:
        if self.random.random() < self.habits.double:
            self._hand_in(sent.to, sent.raw, self.random.random() * self.world.week.leisure)
        if self.random.random() < self.habits.again:
            marked = b"Message-ID: <again.%d." % self.random.randrange(10**9)
            raw = re.sub(rb"(?im)^Message-ID: <", marked, sent.raw, count=1)
            delay = self.random.random() * self.world.week.days / 3.5 * 86_400
            self._hand_in(sent.to, raw, delay, once=True)

    def _hand_in(self, to: str, raw: bytes, delay: float = 0.0, *, once: bool = False) -> None:
        """Give a letter to the mail server that delivers it."""
        self.world.post.post(self.address, to, raw, delay, once=once)

    def say(self, words: str, text: str = "") -> str:
        """Write something that belongs to no match; returns the Message-ID of the letter."""
        sent = self.letters.tell(words, self._now(), text=text)
        self._post()
        return sent.message_id

    def secrets(self, match: str) -> list[tuple[str, bytes]]:
        """The secrets of a match that nobody else may read before it is over, and the match."""
        setups = [
            sent.form.partition("\nrev ")[2].partition("\n")[2] for sent in self.memory.prepared("setup", match)
        ]
        setups = [setup.strip().removesuffix("end").strip() for setup in setups]
        # A fleet of one ship may be a line of the example in each request for a setup.
        found = [setup.replace("\n", "\r\n").encode() for setup in setups if setup not in SHOWN]
        # A fleet of one ship is told when it is destroyed.
        found += [one for one in self.hidden(match) if b" " not in one or b"\r\n" in one]
        return [(match, secret) for secret in (*found, *(seed.hex().encode() for seed in self.seeds(match)))]

    def hidden(self, match: str) -> list[bytes]:
        """What not even the server may read before a sealed match is over."""
        kept = self.program.agent.vault.secrets(match, 1)
        found = [kept.setup, kept.seed] if kept else []
        return [text.replace("\n", "\r\n").encode() for text in found if text not in SHOWN]


@cache
def _record() -> str:
    """The key of who provides mailboxes, as the DNS gives it."""
    public = load_pem_private_key(KEY.read_bytes(), None).public_key()
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return f"v=DKIM1; k=rsa; p={base64.b64encode(public.public_bytes(*form)).decode()}"


def provider(folder: Path) -> DkimSigner:
    """Signs letters as the provider of all mailboxes."""
    key = folder / KEY.name
    key.touch(0o600)
    key.write_bytes(KEY.read_bytes())
    return DkimSigner("s1", "mail.example", key)


async def resolve(name: str) -> str:
    """The DNS: it has one key, with which the provider of all mailboxes signs."""
    return _record() if name == "s1._domainkey.mail.example" else ""


class Keyless:
    """Somebody without a key, whose letters count through their reply addresses, and who has second thoughts."""

    name = "dan"
    address = "dan@mail.example"
    _PAUSE = 86_400.0  # longest time in seconds until the next letter
    _ZONES = ("Europe/Berlin", "Asia/Tokyo", "America/Lima", "Africa/Cairo", "Australia/Perth", "Asia/Kolkata")

    def __init__(self, world: World, folder: Path) -> None:
        self._world = world
        self._random = Random(f"{world.seed} keyless")
        self._memory = Memory(None)
        close_if_forgotten(self, self._memory)
        account = Account(self.name, SERVER, TO, self.address, "", "", "")
        self._letters = Correspondence(account, self._memory, None, self._random.randbytes)
        self._begun = False
        self._sign = provider(folder)
        self.sent: list[tuple[str, bytes]] = []
        """To which address each letter went, and its bytes."""

    def close(self) -> None:
        self._memory.close()

    def begin(self) -> None:
        self._letters.registration.register_mailbox(self._world.now())
        self._post()

    def receive(self, raw: bytes) -> None:
        """Read a letter, and write the next one some time later."""
        self._letters.inbox.receive(raw, self._world.now())
        if self._memory.account().name is None:
            self._letters.registration.register_mailbox(self._world.now())
            self._letters.registration.confirm(self._world.now())
            self._post()
        elif not self._begun:
            self._begun = True
            self._world.loop.call_later(self._random.random() * self._PAUSE, self._write)

    def _write(self) -> None:
        if self._world.hurried:
            return
        self._world.loop.call_later(self._random.random() * self._PAUSE, self._write)
        with suppress(Impossible):  # there is nothing to answer now
            self._letters.tell(f"set timezone {self._random.choice(self._ZONES)}", self._world.now())
            self._post()

    def _post(self) -> None:
        for sent in self._letters.outbox.unsent():
            self._bring(sent.to, sent.raw, 0)
            self._letters.outbox.has_left(sent)
            if sent.command == "set" and self._random.random() < 0.5:
                # To the address that the first letter used up: it changes nothing.
                other = re.sub(rb"(set timezone) \S+", rb"\1 UTC", sent.raw)
                other = re.sub(rb"(?im)^Message-ID: <", b"Message-ID: <other.", other, count=1)
                self._bring(sent.to, other, self._random.random() * 2 * self._PAUSE)

    def _bring(self, to: str, raw: bytes, delay: float) -> None:
        self.sent.append((to, raw))
        self._world.post.post(self.address, to, self._sign(raw, self._world.now()), delay)


class Stranger:
    """Somebody without an account, for whom nobody vouches, and who asks the same every day."""

    address = "eve@mail.example"
    _EVERY = 86_400.0

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[bytes] = []

    def ask(self) -> None:
        """Ask, and again a day later."""
        if not self._world.hurried:
            self.write()
            self._world.loop.call_later(self._EVERY, self.ask)

    def write(self) -> None:
        """Send one letter."""
        number = len(self.asked)
        head = f"From: {self.address}\nTo: {TO}\nSubject: x\nMessage-ID: <{number}.eve@mail.example>\n"
        self.asked.append(f"{head}\nhelp\n".replace("\n", "\r\n").encode())
        self._world.post.post(self.address, TO, self.asked[-1])


class Third:
    """Somebody who reads others' mail, and writes in their names."""

    address = "mallory@mail.example"

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"{world.seed} third")
        self.came: list[bytes] = []

    def hear(self, raw: bytes, sender: str) -> None:
        """A letter passes by; sometimes it is misused."""
        if self._world.hurried or self._random.random() >= self._world.week.forged:
            return
        delay = self._random.random() * self._world.week.days / 7 * 86_400
        number = self._random.randrange(10**9)
        match self._random.randrange(3):
            case 0:  # the signed words, in a letter of the attacker's own
                found = raw.replace(sender.encode(), self.address.encode())
                self._world.post.post(self.address, TO, self._numbered(found, number), delay, once=True)
            case 1:  # the same in the player's name, through another server
                self._world.post.post(self.address, TO, self._numbered(raw, number), delay, once=True)
            case _:  # words that nobody signed
                text = self._random.choice(("resign m1 game 1", "accept m2", "stop", "withdraw m3"))
                head = f"From: {sender}\nTo: {TO}\nSubject: x\nMessage-ID: <forged.{number}@mail.example>\n\n{text}\n"
                self._world.post.post(sender, TO, head.replace("\n", "\r\n").encode(), delay, once=True)

    def _numbered(self, raw: bytes, number: int) -> bytes:
        return re.sub(rb"(?im)^Message-ID: <", b"Message-ID: <forged.%d." % number, raw, count=1)
