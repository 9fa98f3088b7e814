"""Walk a transcript again: the same events, from the letters and papers that it names, must give the same entries.

One walk serves two readers. The store restores a match by it, trusting its own rows; `verify` proves a bundle by it,
trusting nothing. What differs is the `Source` that the forms come from. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pbem.games import Refused
from pbem.match import agreements, ahead, pace, substitutes
from pbem.match.clock import SLACK, floor
from pbem.match.keys import KeyChange
from pbem.match.life import UNREACHABLE, Form, Match, Notice, Player, Signed, Step, World
from pbem.match.papers import NotAPaper, Opening, Receipt
from pbem.match.terms import Terms
from pbem.match.transcript import Entry, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Kind = TypeVar("Kind")

__all__ = ["Source", "Untrue", "begin", "retrace"]


class Untrue(Exception):  # noqa: N818 - what it says of the bundle
    """A transcript that does not prove what it says: the entry, the file if one is to blame, and the reason."""

    def __init__(self, seq: int, path: str | None, reason: str) -> None:
        super().__init__(f"entry {seq}: {path + ': ' if path else ''}{reason}")
        self.seq = seq
        self.path = path
        self.reason = reason


class Source(Protocol):
    """Where the papers of a match are, and how its letters are read."""

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle, or None when it is not there."""

    def form(  # noqa: PLR0913, PLR0917 - all that is known of a letter
        self,
        match: Match,
        kind: str,
        seat: int,
        letter: bytes,
        paper: Opening | Receipt | None,
        evidence: bytes = b"",
    ) -> Form:
        """What the letter, signed by that seat, said; raises ValueError when it is not so.

        `kind` is "setup", "orders", "resign game", "resign match", "extend" and its seconds, "claim", "draw" or
        "annul" and its word, or "substitute", who is to have whose seat, and the newcomer's hash of the rules.
        `paper` is the opening or receipt that names the letter; `evidence` stands for the signature of a letter at
        level `mailbox`.
        """

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Raises ValueError when the letters do not prove this change of the seat's keys."""


@dataclass(slots=True)
class _Salts:
    """The randomness of the past: hands out the salts that the papers tell of, in the order of their use."""

    salts: Iterator[str]

    def __call__(self, _length: int) -> bytes:
        return bytes.fromhex(next(self.salts, ""))


def begin(first: Entry) -> Match:
    """The match that a transcript's first entry speaks of, before it was agreed; raises `Untrue`."""
    body = first.body
    try:
        if first.type != "agreed":
            raise ValueError(first.type)
        return Match(str(body["match"]), str(body["server"]), Terms.read(body["terms"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Untrue(first.seq, None, "not the beginning of a match") from error


def retrace(
    entries: Sequence[Entry],
    source: Source,
    *,
    until: int | None = None,
    passed: Callable[[Entry], None] | None = None,
    told: Callable[[Notice], None] | None = None,
) -> Match:
    """The match after these entries, or the first `until` of them; `passed` is told of each that was found true.

    `told` is told of everything that the players were to be told.

    Raises `Untrue` at the first that does not follow.
    """
    match = begin(entries[0])
    at = 0
    while at < (len(entries) if until is None else until):
        step = _Walk(match, entries[at], source).step()
        for made in step.entries:
            if at >= len(entries):
                raise Untrue(made.seq, None, f"the transcript breaks off before the entry `{made.type}`")
            _compare(made, entries[at])
            if passed:
                passed(made)
            at += 1
        if told:
            for notice in step.notices:
                told(notice)
        match = step.match
    return match


@dataclass(slots=True)
class _Walk:
    """One entry that begins something, and the match before it."""

    match: Match
    entry: Entry
    source: Source

    def step(self) -> Step:
        """The step that this entry tells of, made again."""
        makers = {
            "agreed": self.agreed,
            "commitments": self.commitments,
            "turn": self.turn,
            "resigned": self.resigned,
            "missed": self.missed,
            "forfeited": self.forfeited,
            "extended": self.extended,
            "claimed": self.claimed,
            "draw": self.agreement,
            "annul": self.agreement,
            "moved": self.told,
            "halted": self.told,
            "vacation": self.told,
            "keys": self.keys,
            "substitute": self.substitute,
            "substituted": self.substituted,
            "paused": self.operated,
            "resumed": self.operated,
            "restored": self.operated,
            "stopped": self.operated,
        }
        maker = makers.get(self.entry.type)
        if maker is None:
            raise self.untrue(None, f"`{self.entry.type}` does not follow here")
        try:
            step = maker()
        except (Refused, NotAPaper, LookupError, TypeError, ValueError, AssertionError, OverflowError) as error:
            raise self.untrue(None, f"does not follow: {error}") from error
        if not step.entries:
            raise self.untrue(None, "nothing was to happen here")
        for paper in step.papers:
            room, _, _ = paper.path.partition("/")
            found = self.source.paper(paper.path)
            if found != paper.content:
                named = (made.seq for made in step.entries if made.type == _NAMED_BY.get(room))
                raise Untrue(
                    next(named, self.entry.seq), paper.path, "is missing" if found is None else _DIFFERENT[room]
                )
        return step

    def agreed(self) -> Step:
        players = tuple(
            Player.read(player) for player in (self.entry.body["players"][str(seat)] for seat in self.match.seats)
        )
        if tuple(player.name for player in players) != self.match.terms.players:
            raise self.untrue(None, "the players are not those of the terms")
        step = self.at_work(iter(()))
        step.agree(players)
        return step

    def commitments(self) -> Step:
        openings = {}
        for seat in self.match.seats:
            path = f"openings/game-{self.match.game}-seat-{seat}.txt"
            content = self.file(path)
            if digest(content) != self.entry.body["commitments"][str(seat)]:
                raise self.untrue(path, "does not open the commitment")
            openings[seat] = self.read(path, Opening.read, content)
        salts = [openings[seat].salt for seat in self.match.seats]
        step = self.at_work(chain(salts, self.later_salts(1)))
        for seat, opening in openings.items():
            letter = f"letters/game-{self.match.game}-setup-seat-{seat}.eml"
            form, signed = self.signed("setup", seat, letter, opening)
            self.judged(letter, step.setup, seat, form, signed)
        step.advance()
        return step

    def turn(self) -> Step:
        body = self.entry.body
        name = f"game-{self.match.game}-turn-{self.match.turn}"
        receipts = {}
        for seat in self.match.seats:
            if str(seat) not in body["orders"]:
                continue
            path = f"receipts/{name}-seat-{seat}.txt"
            content = self.file(path)
            if digest(content) != body["orders"][str(seat)]:
                raise self.untrue(path, "is not the receipt that the transcript names")
            receipts[seat] = self.read(path, Receipt.read, content)
        sent = {seat: receipt for seat, receipt in receipts.items() if not receipt.by_default}
        defaults = {seat: receipt for seat, receipt in receipts.items() if receipt.by_default}
        # Default orders had another receipt before: the salt of that is not told, and does not matter.
        salts = [*(each.salt for each in sent.values()), *("" for _ in defaults)]
        salts += [*(each.salt for each in defaults.values()), *self.report_salts(name, body)]
        step = self.at_work(chain(salts, self.later_salts(self.match.turn + 1)))
        step.match = replace(step.match, stored={})
        for seat, receipt in {**sent, **defaults}.items():
            letter = f"letters/{name}-seat-{seat}.eml"
            form, signed = self.signed("orders", seat, letter, receipt)
            if receipt.by_default and seat not in self.match.missed:
                raise self.untrue(letter, f"default orders, although seat {seat} had not missed the turn")
            event = partial(ahead.store, step) if receipt.by_default else step.order
            self.judged(letter, event, seat, form, signed)
        step.match = replace(step.match, resolve_at=step.world.now)
        step.advance()
        return step

    def report_salts(self, name: str, body: Mapping[str, Any]) -> Iterator[str]:
        for seat in (*self.match.seats, None):
            path = f"reports/{name}-seat-{seat}.json" if seat else f"reports/{name}.json"
            content = self.file(path)
            if digest(content) != (body["shown"][str(seat)] if seat else body["reports"]):
                raise self.untrue(path, "is not the report that the transcript names")
            yield self.read(path, lambda text: str(json.loads(text)["salt"]), content)

    def later_salts(self, turn: int) -> Iterator[str]:
        """The salts of the turns from this one on: asked for only when such a turn asked nobody for orders."""
        while True:
            name = f"game-{self.match.game}-turn-{turn}"
            for seat in (*self.match.seats, None):
                path = f"reports/{name}-seat-{seat}.json" if seat else f"reports/{name}.json"
                yield str(json.loads(self.file(path))["salt"])
            turn += 1

    def resigned(self) -> Step:
        whole_match = self.entry.body["match"] is True
        seat, signed = self.letter("resign", "resign match" if whole_match else "resign game")
        step = self.at_work(iter(()))
        step.resign(seat, signed, whole_match=whole_match)
        return step

    def extended(self) -> Step:
        seconds = self.entry.body["seconds"]
        seat, signed = self.letter("extend", f"extend {seconds}")
        step = self.at_work(iter(()))
        pace.extend(step, seat, seconds, signed)
        return step

    def claimed(self) -> Step:
        seat, signed = self.letter("claim", "claim")
        step = self.at_work(iter(()))
        pace.claimed(step, seat, self.entry.body["against"], signed)
        return step

    def agreement(self) -> Step:
        what, word = self.entry.type, str(self.entry.body["word"])
        seat, signed = self.letter(what, f"{what} {word}")
        step = self.at_work(iter(()))
        agreements.agree(step, what, seat, word, signed)
        return step

    def missed(self) -> Step:
        """A miss: no earlier than pace and grace allow, whatever the player's zone, which nobody else knows."""
        step = self.at_work(iter(()))
        seat = self.seat()
        clock = self.match.clocks[seat]
        deadline = _moment(self.entry.body["deadline"])
        if deadline < floor(clock.since, clock.time - clock.bank):
            raise self.untrue(None, "the deadline is earlier than what was agreed")
        if step.world.now < deadline + timedelta(seconds=clock.grace) - SLACK:
            raise self.untrue(None, "the grace after the deadline was not over")
        if seat in self.match.missed:
            raise self.untrue(None, "this seat had missed its time before")
        late = replace(clock, since=deadline, time=0, bank=0, stops=(), weekends=True)
        step.match = replace(step.match, clocks={**self.match.clocks, seat: late})
        pace.miss(step, seat)
        return step

    def forfeited(self) -> Step:
        step = self.at_work(iter(()))
        step.forfeit(self.entry.body["seats"])
        return step

    def told(self) -> Step:
        """What the server noted of the clocks: they are its own, and all that must hold of them is in `missed`."""
        step = self.at_work(iter(()))
        step.enter(self.entry.type, self.entry.body)
        if self.entry.body.get("reason") == UNREACHABLE:
            halted = self.entry.type == "halted"
            seats = [self.seat()] if halted else self.entry.body["seats"]
            found = {seat: since for seat, since in self.match.unreachable.items() if seat not in seats}
            lost = dict.fromkeys(seats, step.world.now) if halted else {}
            step.match = replace(step.match, unreachable={**found, **lost})
        return step

    def substitute(self) -> Step:
        body = self.entry.body
        seat, name = body["for"], str(body["name"])
        if type(seat) is not int or seat not in self.match.seats:
            raise self.untrue(None, "no seat of this match")
        by, signed = self.letter("substitute", f"substitute {name} for {self.match.name(seat)}")
        step = self.at_work(iter(()))
        substitutes.nominate(step, by, seat, name, signed)
        return step

    def substituted(self) -> Step:
        """The newcomer's letter is read by the newcomer's keys, which count from this entry on."""
        match, seat = self.match, self.seat()
        player = Player.read(self.entry.body["player"])
        self.match = substitutes.seated(match, seat, player)
        kind = f"substitute {player.name} for {match.name(seat)} {match.rules_hash}"
        _, signed = self.letter("substituted", kind)
        self.match = match
        step = self.at_work(iter(()))
        substitutes.take_over(step, seat, player, signed)
        return step

    def keys(self) -> Step:
        seat = self.seat()
        letters = {}
        for who, expected in self.entry.body["letters"].items():
            path = KeyChange.path(self.entry.seq, seat, who)
            letters[who] = self.file(path)
            if digest(letters[who]) != expected:
                raise self.untrue(path, "is not the letter that the transcript names")
        change = KeyChange.read(self.entry.body, letters)
        self.source.keys(self.match, seat, change)
        step = self.at_work(iter(()))
        step.keys(seat, change)
        return step

    def seat(self) -> int:
        seat = self.entry.body["seat"]
        if type(seat) is not int or seat not in self.match.seats:
            raise self.untrue(None, "no seat of this match")
        return seat

    def letter(self, what: str, kind: str) -> tuple[int, Signed]:
        """The seat that the entry names, and its letter, which says what the entry says."""
        seat = self.seat()
        path = f"letters/{what}-{self.entry.seq}-seat-{seat}.eml"
        letter = self.file(path)
        if digest(letter) != self.entry.body["mail"]:
            raise self.untrue(path, "is not the letter that the transcript names")
        level = self.entry.body.get("level", "key")
        evidence = self.evidence(path, self.entry.body.get("evidence", ""))
        self.form(kind, seat, path, letter, None, evidence)
        return seat, Signed(letter, level, "", evidence)

    def operated(self) -> Step:
        """What the operator did follows from nothing but the server's word: it need only make sense."""
        step = self.at_work(iter(()))
        if self.entry.type == "restored":
            step.restored(int(self.entry.body["generation"]))
            return step
        event = {"paused": step.pause, "resumed": step.resume, "stopped": step.stop}[self.entry.type]
        event(str(self.entry.body["reason"]))
        return step

    def at_work(self, salts: Iterator[str]) -> Step:
        body = self.entry.body
        now = _moment(self.entry.time)
        return Step(self.match, World(now, _Salts(salts), str(body.get("version")), str(body.get("server_key"))))

    def signed(self, kind: str, seat: int, path: str, paper: Opening | Receipt) -> tuple[Form, Signed]:
        letter = self.file(path)
        if digest(letter) != paper.mail:
            raise self.untrue(path, "is not the letter that was received")
        evidence = self.evidence(path, paper.evidence)
        form = self.form(kind, seat, path, letter, paper, evidence)
        key = paper.key if isinstance(paper, Receipt) else ""
        return form, Signed(letter, paper.level, key, evidence)

    def evidence(self, path: str, expected: str) -> bytes:
        """What stands beside the letter of this path for its signature; empty where nothing does."""
        if not expected:
            return b""
        beside = path.replace("letters/", "evidence/").replace(".eml", ".txt")
        content = self.file(beside)
        if digest(content) != expected:
            raise self.untrue(beside, "is not the evidence that the transcript names")
        return content

    def form(  # noqa: PLR0913, PLR0917 - all that is known of a letter
        self, kind: str, seat: int, path: str, letter: bytes, paper: Opening | Receipt | None, evidence: bytes
    ) -> Form:
        try:
            return self.source.form(self.match, kind, seat, letter, paper, evidence)
        except ValueError as error:
            raise self.untrue(path, str(error)) from error

    def judged(self, path: str, event: Callable[[int, Form, Signed], object], *arguments: Any) -> None:
        try:
            event(*arguments)
        except Refused as refused:
            raise self.untrue(path, f"not legal: {refused}") from refused

    def file(self, path: str) -> bytes:
        content = self.source.paper(path)
        if content is None:
            raise self.untrue(path, "is missing")
        return content

    def read(self, path: str, reader: Callable[[str], Kind], content: bytes) -> Kind:
        try:
            return reader(content.decode())
        except (ValueError, KeyError, TypeError) as error:
            raise self.untrue(path, "cannot be read") from error

    def untrue(self, path: str | None, reason: str) -> Untrue:
        return Untrue(self.entry.seq, path, reason)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


_NAMED_BY = {"records": "revealed"}
"""The papers that another entry names than the one which the event began with."""

_DIFFERENT = {
    "openings": "is not the opening of the setup that was sent",
    "receipts": "is not the receipt of the orders that were sent",
    "reports": "these are not the reports that the rules give",
    "records": "is not the record of the game that was played",
    "letters": "is not the letter that was received",
    "evidence": "is not the evidence that was found",
}


def _compare(made: Entry, found: Entry) -> None:
    if made.canonical() == found.canonical():
        return
    if made.type != found.type:
        raise Untrue(found.seq, None, f"`{made.type}` should stand here, not `{found.type}`")
    parts = sorted(key for key in {*made.body, *found.body} if made.body.get(key) != found.body.get(key))
    where = f"`{'`, `'.join(parts)}`" if parts else "its number, time or place in the chain"
    raise Untrue(found.seq, None, f"{found.type}: {where} is not what follows from the letters and the rules")
