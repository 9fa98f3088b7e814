"""A week of a server in one thread: the daemon as it is wired, its players, the post, and all their troubles.

All randomness comes from the seed. What happens is written into a trace: the same seed gives the same story, octet
for octet. `simulation.invariants` says what must hold afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import logging
import re
import sys
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Self
from unittest.mock import patch

import msgspec
import structlog

from pbem.player import secret_vault
from pbem.server.http_call import fetched, told
from pbem.store import own_keys
from simulation.elsewhere import LEASE, SILENCE, Elsewhere, slowed
from simulation.imap import Provider
from simulation.keyless import KeylessPart
from simulation.liars import Liar, Reader
from simulation.loop import PLACE, Loop
from simulation.mailers import SMARTHOST, Moods, Post, Smarthost
from simulation.network import Network, Troubles
from simulation.notices import Topics
from simulation.operators import Operator
from simulation.players import Habits, Keyless, Player, Stranger, Third, resolve
from simulation.sealed import Sealed
from simulation.server import Machine
from simulation.story import Line, span
from simulation.substitutes import Substitutes
from simulation.summer import Summer
from simulation.tournament import Tournament
from simulation.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, MutableMapping
    from pathlib import Path

    from pbem.proof.verification import Proved
    from pbem.server import http_call
    from pbem.server.http_call import Tell
    from pbem.smtp.dns import Resolve
    from simulation.keyless import KeylessPlayer
    from simulation.parts import Part

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DAY = 86_400.0
YEAR = timedelta(days=365)
AT_A_START = "ahead at a start"
WEEKEND = 60 * 3600.0  # seconds from Friday evening to Monday morning
STOPPED = 600.0  # seconds until a server, whatever it was doing, has noticed that its clock leapt
OFTEN = 7200.0  # seconds between two looks of a program
LONGEST = 60 * DAY
"""Longer than anything takes that ends at all."""
OVER = re.compile(rb'name="?(m[0-9]+)[^"]*\.pbem\.zip')
"""The part that has the proof of a match."""

GAMES = {
    "spaceships": "fleet: cost:3",
    "dueling-masters": "max_turns: 30",
    "shoot-em-up": "board: 7x7",
}
PARTS: dict[str, type[Part]] = {
    part.name: part for part in (Sealed, KeylessPart, Witnesses, Topics, Summer, Tournament, Provider, Substitutes)
}
"""What a week may have beside open matches of players with keys."""


def _leap(draw: Random) -> tuple[str, timedelta]:
    """How a clock leaps, and by how much."""
    kind = draw.choice((AT_A_START, "ahead", "back"))
    return kind, {AT_A_START: YEAR, "ahead": timedelta(hours=draw.uniform(2, 20)), "back": -timedelta(days=1)}[kind]


class Week(msgspec.Struct, frozen=True):
    """What a simulated week is like."""

    days: float = 7.0
    games: tuple[str, ...] = tuple(GAMES)
    parts: tuple[str, ...] = tuple(PARTS)
    """What it may have beside open matches of players with keys."""
    leisure: float = 10 * 3600.0
    """The longest time in seconds until a player reads a new letter."""
    pace: str = "1d"
    careless: float = 0.5
    """The probability that a player is careless."""
    forged: float = 0.03
    deaths: int = 12
    """About how many deaths of each machine, its server and its desk happen; two are lost half as often besides."""
    accidents: bool = True
    """Whether outages of days happen, and clocks are set."""
    steps: float = 0.3
    """The probability that the server's clock is set wrong, and right again."""
    troubles: bool = True
    """Whether the network and other people's servers have troubles."""
    pauses: float = 0.3
    """The probability that the operator pauses a match."""
    restores: float = 0.1
    """The probability that a backup is restored."""
    backup: float = 1.0
    """Its age in hours, in which several turns may be played."""
    moves: float = 0.1
    """The probability that the store is moved."""
    liars: float = 0.3
    """The probability that one of the players lies."""
    held: float = 0.03
    """The probability that a reader on the way takes a player's letter away, or delays it."""
    distant: float = 0.3
    """The probability that two servers share a database elsewhere, which they do not always reach."""
    lies: int = 3
    """With how many changes a server tries to lie about each match afterwards."""


@dataclass
class Figures:
    """The result of a week."""

    kills: int = 0
    power_cuts: int = 0
    desk_deaths: int = 0
    stalls: int = 0
    stops: int = 0
    outages: int = 0
    steps: int = 0
    full: int = 0
    vacations: int = 0
    pauses: int = 0
    restores: int = 0
    moves: int = 0
    distant: int = 0
    naps: int = 0
    takeovers: int = 0
    """How often another server decided than before."""
    told: int = 0
    """Lies by mail."""
    lies: int = 0
    """Lies of a server, told in bundles and letters."""
    letters_in: int = 0
    letters_out: int = 0
    attempts: int = 0
    seconds: float = 0.0
    turns: int = 0
    matches: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(**{name: value + getattr(other, name) for name, value in vars(self).items()})


@dataclass
class Taken:
    """A letter that the smarthost accepted."""

    recipient: str
    raw: bytes
    at: float


class World:
    """One seed."""

    options = GAMES
    began = START
    """When the week begins."""
    handled_within = 1
    """How many days after it came a letter may be handled."""

    def __init__(self, folder: Path, seed: str, week: Week | None = None) -> None:  # noqa: PLR0915 - a world is many things
        self.folder = folder
        self.seed = seed
        self.week = week or Week()
        self.figures = Figures()
        self.loop = Loop(self.random("loop"))
        troubles = Troubles() if self.week.troubles else Troubles(0, 0, 0, 0)
        self.network = self.loop.network = Network(self.loop, seed, troubles)
        self.moods = Moods() if self.week.troubles else Moods(0, 0, 0, 0)
        self.post = Post(self.loop, self.network, seed, self._brought)
        self.trace = hashlib.sha256()
        self.story: list[Line] = []
        """The trace in words."""
        self.hurried = False
        """Whether the week is over, and the rest is being finished."""
        self.answered: dict[tuple[bytes, str], datetime] = {}
        """Letters that were answered with 250, who sent them, and when."""
        self.deaths: list[datetime] = []
        """When a server or its desk died, hung or slept."""
        self.aside: dict[int, datetime] = {}
        """When letters were set aside, by their place in the inbox."""
        self.repeated: dict[tuple[bytes, str], datetime] = {}
        """Letters among them that their programs sent once more, and when first."""
        self.refused: dict[tuple[bytes, str], None] = {}
        """Letters that were given up after one attempt, answered with 4xx."""
        self.proved: dict[tuple[str, bytes], Proved] = {}
        """What was found in the bundles that verify, by match and bundle."""
        self.taken: list[Taken] = []
        self._known: dict[tuple[str, bytes], float] = {}
        """The letters of which a server must know that the smarthost took them, and since when."""
        self.twice: list[str] = []
        """The letters that were sent once more, though their first sending was in no doubt."""
        self._overs: dict[str, float] = {}
        """When the first letter with the proof of a match was sent."""
        self.excused: set[str] = {"the clock leapt: nothing is decided", "letter set aside"}
        """What the server may log as an error."""
        self._context = copy_context()
        """Where the world's own tasks run, on no machine, whoever starts them."""
        self.faults: list[str] = []
        """The faults of its own that the server logged."""
        draw = self.random("habits")
        self.names = ("ann", "bob", "cem")[: len(self.week.games) + 1]
        self.undecided = Keyless(self, folder)
        self.keyless: list[Keyless | KeylessPlayer] = [self.undecided]
        self.resolve: Resolve = resolve
        """The DNS."""
        self.tell: Tell = told()
        """HTTP, as topics are told by it."""
        self.fetch: http_call.Post = fetched
        """How witnesses are asked."""
        self.author: Callable[[bytes, str], str] = lambda _, sender: sender
        """Who sent a letter, as the server can tell."""
        self.has = self._parts()
        self.parts = [PARTS[name](self) for name in self.has]
        liar = self.random("liar")
        self._lying = liar.choice(self.names) if liar.random() < self.week.liars else ""
        self.players = {name: self._player(name, self._habits(draw)) for name in self.names}
        self.players |= {one.name: one for part in self.parts for one in part.newcomers()}
        self.reader = Reader(self)
        self.stranger = Stranger(self)
        self.third = Third(self)
        far = self.random("distant")
        apart = far.random() < self.week.distant and not any(isinstance(part, Provider) for part in self.parts)
        self.base = Elsewhere(self) if apart else None
        """The database that two servers share."""
        self.machines: list[Machine] = []
        for _ in range(2 if apart else 1):
            self.machines.append(Machine(self))
        self.machine = self.machines[0]
        self.figures.distant += apart
        self.operator = Operator(self)
        self._smarthosts = 0
        self._under_way = 0
        """How many letters are on their way to a mailbox."""
        self._door = self.network.listen(self._smarthost, "smarthost.example", SMARTHOST)
        self._door.serving = True

    def later(self, seconds: float, what: Callable[..., object], *given: object) -> None:
        """Do something of the world's own after this many seconds."""
        self.loop.call_later(seconds, what, *given, context=self._context)

    def random(self, name: str) -> Random:
        return Random(f"{self.seed} {name}")

    def _parts(self) -> list[str]:
        """The parts that this week has, of those that it may have."""
        names = self.week.parts
        return [name for name in names if len(names) == 1 or self.random(f"has {name}").random() < PARTS[name].often]

    def _player(self, name: str, habits: Habits) -> Player:
        found = [player for part in self.parts if (player := part.player(name, habits)) is not None]
        return found[0] if found else (Liar if name == self._lying else Player)(self, name, habits, self.folder)

    def _habits(self, draw: Random) -> Habits:
        careless = draw.random() < self.week.careless
        rates = draw.random() * 0.1, draw.random() * 0.5, draw.random() * 0.2, draw.random() * 0.2
        return Habits(*rates) if careless else Habits()

    def now(self) -> datetime:
        """The time."""
        return self.began + timedelta(seconds=self.loop.time())

    def begin(self, what: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task of the world's own, which survives the machine's deaths."""
        return self.loop.create_task(what, context=self._context.copy())

    def hear(self, method: str, event: MutableMapping[str, Any]) -> None:
        """The server logged something."""
        if event["event"] == "letter set aside":
            self.aside[event["inbox"]] = self.now()
        dead = any(machine.dead for machine in self.machines if machine.host == PLACE.get())
        is_error = method in {"error", "exception", "critical"} and event["event"] not in self.excused
        if is_error and not dead:
            words = {name: value for name, value in event.items() if name != "event"}
            error = words.pop("exc_info", None)
            if error is True:
                error = sys.exc_info()[1]
            if error is not None:
                words["error"] = repr(error)
            # What is no fault of the server's: a full disk, and a database that is out of reach.
            trouble = {"FullError", "BusyError", "'451'"} if self.figures.distant else {"FullError"}
            if not any(one in str(words) for one in trouble):
                self.faults.append(f"{self.now():%a %d %b %H:%M:%S} {event['event']} {words}")

    def note_death(self, kind: str) -> None:
        """A server or its desk ends, or stops for a while, at work on whatever letter it has leased."""
        setattr(self.figures, kind, getattr(self.figures, kind) + 1)
        self.deaths.append(self.now())

    def note(self, *words: object, raw: bytes = b"") -> None:
        """Write a line of the story, perhaps about a letter."""
        text = " ".join(map(str, words))
        self.trace.update(f"{self.loop.time():.6f} {text} {hashlib.sha256(raw).hexdigest()}\n".encode())
        self.story.append(Line(self.now(), text, raw))

    # The post.

    def _brought(self, raw: bytes, sender: str, reply: str, given_up: bool) -> None:
        self.figures.attempts += 1
        sender = self.author(raw, sender)
        answer = f"is answered with {reply[:3]}" if reply else "is not answered"
        self.note(f"a letter of {sender} {answer}:", raw=raw)
        if given_up and reply.startswith("4") and (raw, sender) not in self.answered:
            self.refused[raw, sender] = None
        if reply.startswith("250") and (raw, sender) not in self.answered:
            self.answered[raw, sender] = self.now()
            self.figures.letters_in += 1
            if sender in self.people:
                self.third.hear(raw, sender)
                for player in self.players.values():
                    if isinstance(player, Liar) and player.address != sender:
                        player.hear(raw)

    @property
    def pairs(self) -> list[tuple[Player, Player]]:
        """Who plays each of the week's games; the first one proposes it."""
        found = [self.players[name] for name in self.names]
        return [(found[at % len(found)], found[(at + 1) % len(found)]) for at in range(len(self.week.games))]

    @property
    def people(self) -> dict[str, Player]:
        return {player.address: player for player in self.players.values()}

    def _smarthost(self) -> Smarthost:
        self._smarthosts += 1
        return Smarthost(self.loop, self.random(f"smarthost {self._smarthosts}"), self.moods, self._take, self._sure)

    def _sure(self, recipient: str, raw: bytes, is_sure: bool) -> None:
        """A server knows that its letter was accepted, or may not have heard it after all."""
        if is_sure:
            self._known[recipient, raw] = self.loop.time()
        else:
            self._known.pop((recipient, raw), None)

    def _note_twice(self, recipient: str, raw: bytes) -> None:
        """A letter is sent again: none that is undisturbed does that, nor one that had it before it slept."""
        since = self._known.pop((recipient, raw), None)
        if since is None or self.figures.full or self.figures.restores:
            return
        if all(one.is_undisturbed_since(since - LEASE * (self.base is not None)) for one in self.machines):
            self.twice.append(f"sent twice, and the first time in no doubt: a letter to {recipient}: {self.now()}")

    def _take(self, recipient: str, raw: bytes) -> None:
        self.note(f"the server's letter to {recipient} has left:", raw=raw)
        self.figures.letters_out += 1
        self._note_twice(recipient, raw)
        number = len(self.taken)
        self.taken.append(Taken(recipient, raw, self.loop.time()))
        for match in OVER.findall(raw):
            self.note_over(match.decode())
        for part in self.parts:
            part.take(recipient, raw)
        draw = self.random(f"way {number}")
        if recipient == self.undecided.address:
            self.loop.call_later(draw.random() * 120, self.undecided.receive, raw)
        if (player := self.people.get(recipient)) is not None:
            self._carry(player, raw, draw.random() * 120)
            if self.week.troubles and draw.random() < 0.02:
                self._carry(player, raw, draw.random() * self.week.leisure)

    def _carry(self, player: Player, raw: bytes, seconds: float) -> None:
        """Put a letter into a mailbox after this many seconds."""

        def arrive() -> None:
            self._under_way -= 1
            player.receive(raw)

        self._under_way += 1
        self.loop.call_later(seconds, arrive)

    def is_over(self, match: str, at: float) -> bool:
        """Whether somebody who read everything sent by then knew that the first game was over."""
        return at >= self._overs.get(match, float("inf"))

    def note_over(self, match: str) -> None:
        """Somebody was told that a match is over, and may reveal secrets."""
        self._overs.setdefault(match, self.loop.time())

    # The week.

    def run(self) -> Figures:
        """Run the week, and then finish whatever is left."""
        gc.disable()  # garbage collection may be reported, at times that do not follow from the seed
        try:
            # A note to self is sealed under a key that takes a while to make; nothing here depends on that.
            rounds = patch.object(secret_vault, "_ROUNDS", 1)
            with logs(self), rounds, self.elsewhere():
                self.loop.run_until_complete(self.begin(self._run()))
        finally:
            gc.enable()
        self.figures.seconds = self.loop.time()
        return self.figures

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Put the store elsewhere, if this week has two servers."""
        if self.base is None:
            yield
            return
        with slowed(), patch("pbem.store.database._connected", self.base.connected):
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything."""
        for player in self.players.values():
            player.close()
        self.undecided.close()
        for part in self.parts:
            part.close()
        for machine in self.machines:
            machine.leave()
        self.loop.end()
        for machine in self.machines:
            machine.disk.close()

    async def _run(self) -> None:
        self._righted()
        self.machine.start()
        if self.base is not None:
            self.begin(self.base.watch())
            self.begin(self.follow(self.machines[1]))
        for part in self.parts:
            part.begin()
        accidents = self.begin(self._accidents())
        looks = self.begin(self._act())
        await self._begin()
        await asyncio.sleep(max(self.week.days * DAY - self.loop.time(), 0))
        accidents.cancel()
        looks.cancel()
        self.hurried = True
        self.network.troubles = Troubles(0, 0, 0, 0)
        self.moods = Moods(0, 0, 0, 0)
        self._door.serving = True
        if self.base is not None:
            self.base.lossy = 0.0
            self.base.away.clear()
            self.base.set_by = timedelta()
        for machine in self.machines:
            machine.deaths, machine.disk.fails_after = 0, None
            machine.down_until, machine.set_by, machine.synchronised = 0, timedelta(), True
            machine.wake()
        for part in self.parts:
            part.finish()
        await self.operator.finish()
        await self._settle()
        for machine in self.machines:
            await machine.stop()

    async def follow(self, machine: Machine) -> None:
        """Start the second server, with the keys of the first, once that has any."""
        assert self.base is not None
        while True:
            await asyncio.sleep(60)
            if self.machine.runs and self.base.path.exists():
                with self.machine.store() as database:
                    if own_keys.begun(database):
                        break
        machine.take_keys(self.machine)
        machine.start()

    async def _act(self) -> None:
        """Programs look now and then whether something is due, also if no letter comes."""
        while True:
            await asyncio.sleep(OFTEN)
            for player in self.players.values():
                player.act()

    async def _begin(self) -> None:
        for player in self.players.values():
            player.begin()
        self.undecided.begin()
        self.stranger.ask()
        while not all(player.registered for player in self.players.values()):
            assert self.loop.time() < LONGEST, f"not everybody is registered: {self.state()}"
            await asyncio.sleep(600)
        for at, (game, (first, other)) in enumerate(zip(self.week.games, self.pairs, strict=True)):
            draw = self.random(f"settle {at}")
            terms = {"settle": draw.choice(("0", "10m")), "pace": self.week.pace}
            terms |= draw.choice(({}, {"grace": "1h"}))
            for part in self.parts:
                terms |= part.terms(at)
            first.propose(
                game, other, "\n".join([GAMES[game], *(f"{name}: {value}" for name, value in terms.items())])
            )
        for part in self.parts:
            part.play()

    async def _settle(self) -> None:
        """Wait until all matches are closed, and all letters are where they belong."""
        give_up = self.loop.time() + LONGEST
        while not self._over():
            self._look_at_servers()
            assert self.loop.time() < give_up, f"the week does not come to its end: {self.state()}"
            for player in self.players.values():
                player.look()
            await asyncio.sleep(3600)
        while self._waits():
            self._look_at_servers()
            assert self.loop.time() < give_up, f"something waits for ever: {self.state()}"
            await asyncio.sleep(3500)  # a witness that refuses is asked each hour
            for player in self.players.values():
                player.look()

    def _look_at_servers(self) -> None:
        """End a week in which two servers did wrong: it might go on for ever."""
        assert self.base is None or not self.base.wrong, "; ".join(self.base.wrong)

    def _waits(self) -> bool:
        unread = self._under_way or any(player.unread for player in self.players.values())
        unread = unread or any(part.waits for part in self.parts)
        return bool(
            unread or self.post.waiting or not all(machine.runs for machine in self.machines) or self.machine.waits()
        )

    def _over(self) -> bool:
        standings = [one for player in self.players.values() for one in player.played]
        over = all(one.phase == "closed" or one.match in self.operator.ended for one in standings)
        return len(standings) >= 2 * len(self.week.games) and over

    def state(self) -> str:
        """What is known about a world that has stopped."""
        standings = [
            f"for {player.name} {one.match} is {one.phase}, at turn {one.turn}{', and something is due' * one.asked}"
            for player in self.players.values()
            for one in player.letters.matches.standings
        ]
        waits = f"{self.post.waiting} letters wait on their way to the server, and {self.machine.waits()} there"
        return "; ".join([*standings, waits, *self.faults[-3:]])

    async def _accidents(self) -> None:
        """The operator's troubles, each at its time."""
        draw = self.random("accidents")
        week = self.week.days * DAY
        befall: list[tuple[float, Callable[[], Any]]] = []
        for _ in range(self.week.deaths // 2):
            machine = self.machine if self.base is None else draw.choice(self.machines)
            kind = draw.choice(
                (machine.kill, machine.cut_power, machine.cut_power_soon, machine.cut_power_soon, machine.end)
            )
            befall.append((draw.random() * week, kind))
        if self.week.accidents:
            if draw.random() < 0.3:
                befall.append((draw.random() * week * 0.6, self._outage(draw)))
            if draw.random() < self.week.steps:
                befall.append((draw.random() * week * 0.7, self._step(draw)))
            if draw.random() < 0.1:
                befall.append((draw.random() * week * 0.6, self._weekend(draw)))
            if draw.random() < 0.3:
                befall.append((draw.random() * week * 0.7, self._silence(draw)))
            if draw.random() < 0.3:
                befall.append((draw.random() * week * 0.7, self._full(draw)))
        if self.base is not None:
            befall += self._far(self.base)
        befall += self.operator.plan()
        for time, what in sorted(befall, key=lambda one: one[0]):
            await asyncio.sleep(max(time - self.loop.time(), 0))
            what()

    def _outage(self, draw: Random) -> Callable[[], None]:
        length = draw.uniform(2 * 3600, 3 * DAY)
        gone = (
            self.machines if self.base is None else draw.choice((self.machines, self.machines[:1], self.machines[1:]))
        )

        def begin() -> None:
            self.figures.outages += 1
            for machine in gone:
                self.note(machine.name, "is down for", span(length))
                machine.down_until = self.loop.time() + length
                machine.kill()

        return begin

    def _weekend(self, draw: Random) -> Callable[[], None]:
        """A machine sleeps, and goes on by itself: nobody loses time by that."""
        machine = draw.choice(self.machines)

        def begin() -> None:
            if machine.runs:
                machine.sleep(WEEKEND)

        return begin

    def _step(self, draw: Random) -> Callable[[], None]:
        """A clock leaps, nobody vouches for it, and it is set right after hours: until then nothing is decided."""
        kind, step = _leap(draw)
        wrong: list[Machine | Elsewhere] = [*self.machines]
        if self.base is not None:
            wrong = [draw.choice([*wrong, self.base])]
        length, boots = draw.uniform(1800, 12 * 3600), 0

        def begin() -> None:
            clocks: list[Machine | Elsewhere] = [*self.machines, *([self.base] if self.base else [])]
            if any(one.set_by for one in clocks) or not all(machine.synchronised for machine in self.machines):
                return  # one was wrong from the beginning, or is to be accepted by hand, as none is that is wrong
            self.figures.steps += 1
            self.note("the clock is set", kind, "by", span(step.total_seconds()))
            for one in wrong:
                one.set_clock(step, synchronised=False)
            nonlocal boots
            boots = self.machine.boots
            if kind == AT_A_START and self.base is None:
                self.machine.cut_power()
            self.loop.call_later(length / 2, self.stranger.write)
            if self.base is None:
                self.later(STOPPED, lambda: self.later(length - STOPPED, end, self._decided()))
            else:
                self.later(length, end, None)

        def end(before: tuple[object, ...] | None) -> None:
            found = before and not self.hurried and self._decided()
            # Across a boot nobody knows how much time went by, and less than a day may have.
            booted = kind == "ahead" and self.machine.boots != boots
            if found and found != before and not booted:
                self.faults.append(f"something was decided while nobody vouched for the clock: {before} {found}")
            self.note("the clock is set right")
            for one in wrong:
                one.set_clock(timedelta(), synchronised=True)

        return begin

    def _decided(self) -> tuple[object, ...] | None:
        """What only a decision changes, and what is noted of time; None while the server is down."""
        queries = (
            "SELECT value FROM meta WHERE name = 'clock'",
            "SELECT value FROM meta WHERE name = 'heartbeat'",
            "SELECT count(*) FROM entries",
            "SELECT count(*) FROM inbox WHERE state IN ('done', 'aside')",
            "SELECT count(*) FROM outbox WHERE reply LIKE '%given up%'",
        )
        if not self.machine.runs:
            return None
        with self.machine.store() as database:
            return tuple(database.scalar(query) for query in queries)

    def _righted(self) -> None:
        """Perhaps the clock is wrong from the beginning, and is set right: that is vouched for, or accepted.

        Then it leaps as it does when it is set wrong, but is right.
        """
        draw = self.random("righted")
        if not self.week.accidents or draw.random() >= self.week.steps / 3:
            return
        wrong: Machine | Elsewhere = self.base or self.machine
        kind, leap = _leap(draw)
        wrong.set_clock(-leap, synchronised=False)
        vouched, length = draw.random() < 0.5, draw.uniform(600, 6 * 3600)

        def right() -> None:
            self.figures.steps += 1
            self.note("the clock, wrong from the beginning, is set right,", "vouched for" if vouched else "by hand")
            wrong.set_clock(timedelta(), synchronised=vouched)
            if kind == AT_A_START and self.base is None:
                self.machine.cut_power()
            for machine in self.machines:
                machine.synchronised = vouched
            if not vouched:
                self.later(length, accept)

        def accept() -> None:
            """As `pbem clock accept` does; later the kernel vouches for it."""
            self.note("the operator accepts the clock")
            self.begin(self.operator.accept_clock())

        self.later(draw.uniform(0.1, 0.7) * self.week.days * DAY, right)

    def _full(self, draw: Random) -> Callable[[], None]:
        """The disk is full, or fails to sync, now and then or always, for some hours."""
        length, faults = draw.uniform(600, 3 * 3600), self.machine.disk.faults
        kind = draw.choice(("full", "sync"))

        def begin() -> None:
            self.figures.full += 1
            self.note("the disk", {"full": "is full", "sync": "fails to sync"}[kind], "for", span(length))
            setattr(faults, kind, draw.choice((0.02, 0.3, 1.0)))
            self.loop.call_later(length, setattr, faults, kind, 0.0)

        return begin

    def _far(self, base: Elsewhere) -> Iterator[tuple[float, Callable[[], Any]]]:
        """Servers sleep, or do not reach the database that they share; some commits get no answer for some hours."""
        draw, week = self.random("far"), self.week.days * DAY
        for _ in range(self.week.deaths // 2):
            machine = draw.choice(self.machines)
            seconds = draw.random() * draw.choice((SILENCE, 3 * LEASE, 0.2 * week))
            what = draw.choice((machine.sleep, machine.be_cut_off))
            yield draw.random() * week, partial(what, seconds)
        if draw.random() < 0.5:
            length, chance = draw.uniform(0.05, 0.3) * week, draw.choice((0.02, 0.1, 0.3))

            def begin() -> None:
                self.note("some commits get no answer for", span(length))
                base.lossy = chance
                self.loop.call_later(length, end)

            def end() -> None:
                base.lossy = 0.0
                for machine in self.machines:
                    machine.disturb()

            yield draw.random() * 0.8 * week, begin

    def _silence(self, draw: Random) -> Callable[[], None]:
        """The smarthost is unreachable."""
        length = draw.uniform(3600, DAY)

        def begin() -> None:
            self.note("the smarthost is out of reach for", span(length))
            self._door.serving = False
            self.loop.call_later(length, setattr, self._door, "serving", True)

        return begin


@contextlib.contextmanager
def logs(world: World) -> Iterator[None]:
    """Send the server's log only to the world."""

    def hear(_logger: object, method: str, event: MutableMapping[str, Any]) -> Any:
        world.hear(method, event)
        raise structlog.DropEvent

    logging.disable(logging.CRITICAL)
    structlog.configure(processors=[hear])
    try:
        yield
    finally:
        structlog.reset_defaults()
        logging.disable(logging.NOTSET)
