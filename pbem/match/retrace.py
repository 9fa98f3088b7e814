"""Walk a transcript again: the same events, from the letters and papers that it names, must give the same entries.

One walk serves two readers. The store restores a match by it, trusting its own rows; `verify` proves a bundle by it,
trusting nothing. What differs is the `Source` that the forms come from. Matches that began as `bundle 1` are walked
as they were then: their letters did not say all of their places, and left no trace of what was withdrawn. Implements
protocol.md, "Transcript".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pbem.games import Refused
from pbem.match import agreements, ahead, pace, substitutes, traces
from pbem.match.changed import replace
from pbem.match.keys import KeyChange
from pbem.match.life import (
    BUNDLE,
    PAUSE,
    RUNNING,
    UNREACHABLE,
    Form,
    Match,
    Notice,
    Player,
    Signed,
    Step,
    World,
    here,
)
from pbem.match.papers import SALT, Evidence, NamedMailbox, NotAPaper, Opening, Receipt, Withdrawal
from pbem.match.terms import Terms
from pbem.match.traces import SetAside, Trace
from pbem.match.transcript import Entry, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.match.clock import Clock

Kind = TypeVar("Kind")

__all__ = ["Proving", "Sentence", "Source", "Untrue", "UnvouchedError", "begin", "retrace"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What the entry that rests on a sentence says of its letter, which has no paper."""

    rev: int


Proving = Opening | Receipt | Withdrawal | Sentence
"""What names a letter: the papers of one that was sent before its entry, or the entry of a sentence."""


MOST_STOPS = 1000
"""So often a match may stand still in one turn: each time is looked at again at the next."""


class Untrue(Exception):  # noqa: N818 - what it says of the bundle
    """A transcript that does not prove what it says: the entry, the file if one is to blame, and the reason."""

    def __init__(self, seq: int, path: str | None, reason: str) -> None:
        super().__init__(f"entry {seq}: {path + ': ' if path else ''}{reason}")
        self.seq = seq
        self.path = path
        self.reason = reason


class UnvouchedError(ValueError):
    """What is wrong with a letter lies with the evidence beside it."""


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
        paper: Proving | None,
        evidence: bytes = b"",
        received: str = "",
    ) -> Form:
        """What the letter, signed by that seat, said; raises ValueError when it is not so.

        `kind` is "agreed", "setup", "orders", "clear", "resign game", "resign match", "extend" and its seconds,
        "claim", "draw" or "annul" and its word, or "substitute", who is to have whose seat, and the newcomer's hash
        of the rules. `paper` is what names the letter; `evidence` stands for the signature of a letter at
        level `mailbox`. A revision of None is one that the letter left to its reply address. `received` is when it is
        said to have come; empty in bundles of version 1.
        """

    def unused(self, match: Match, seat: int, letter: bytes, receipt: Receipt, evidence: bytes) -> None:
        """Raises ValueError unless the letter holds such orders, and they could not be played at this point."""

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Raises ValueError when the letters do not prove this change of the seat's keys."""


@dataclass(frozen=True, slots=True)
class _Past(World):
    """The world as it was: salts, and what was set aside, are those that the papers tell of."""

    source: Source | None = None
    asides: Callable[[Match, str], Sequence[tuple[int, SetAside]]] | None = None

    def set_aside(self, match: Match, what: str) -> Sequence[tuple[int, SetAside]]:
        assert self.asides is not None
        return self.asides(match, what)

    def salt(self, path: str = "") -> str:
        assert self.source is not None
        if "-turn-0-" in path:  # default orders get the salt that counts with the turn for which they are played
            return _NO_SALT
        content = self.source.paper(path)
        if content is None:
            return ""
        return _salt(content)


def begin(first: Entry) -> Match:
    """The match that a transcript's first entry speaks of, before it was agreed; raises `Untrue`."""
    body = first.body
    try:
        if first.type != "agreed":
            raise ValueError(first.type)
        if "bundle" in body and (type(body["bundle"]) is not int or body["bundle"] != BUNDLE):
            raise Untrue(first.seq, None, f"a bundle of version {body['bundle']}, which this program cannot read")
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
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]] = {}
    at = 0
    while at < (len(entries) if until is None else until):
        step = _Walk(match, entries[at], source, entries, played).step()
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
    entries: Sequence[Entry]
    """All of them: what follows by itself names its papers, too."""
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]]
    """The default orders that were played so far, by game and seat, each with the end of the time that was missed."""
    traces: dict[str, list[tuple[int, SetAside]]] = field(default_factory=dict)
    """What was found set aside, by the path of the trace that names it."""

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
            found = self.source.paper(paper.path)
            if found != paper.content:
                room, _, _ = paper.path.partition("/")
                named = (made.seq for made in step.entries if made.type in _named_by(paper.path))
                raise Untrue(
                    next(named, self.entry.seq), paper.path, "is missing" if found is None else _DIFFERENT[room]
                )
        return step

    def agreed(self) -> Step:
        body = self.entry.body
        players = [Player.read(body["players"][str(seat)]) for seat in self.match.seats]
        if tuple(player.name for player in players) != self.match.terms.players:
            raise self.untrue(None, "the players are not those of the terms")
        if "bundle" not in body:
            step = self.at_work()
            step.agree(tuple(players))
            return step
        self.match = replace(self.match, bundle=BUNDLE)
        players = [self.pinned(seat, player) for seat, player in enumerate(players, start=1)]
        at_first = self.match
        self.match = replace(self.match, players=tuple(players))
        consents = [self.consent(seat) for seat in self.match.seats]
        self.match = at_first
        step = self.at_work()
        step.agree(tuple(players), consents)
        return step

    def pinned(self, seat: int, player: Player) -> Player:
        """The player with the paper that says which mailbox it is that the entry pins."""
        if not player.mailbox:
            return player
        path = f"evidence/mailbox-{self.entry.seq}-seat-{seat}.txt"
        content = self.file(path)
        named = self.read(path, NamedMailbox.read, content)
        place = (self.match.server, self.match.id, seat, player.name)
        if digest(content) != player.mailbox or (named.server, named.match, named.seat, named.player) != place:
            raise self.untrue(path, "is not the mailbox that the transcript names")
        return replace(player, named=named)

    def consent(self, seat: int) -> Signed:
        """The letter by which a seat proposed or accepted the terms."""
        path = f"letters/agreed-seat-{seat}.eml"
        named = self.entry.body["letters"][str(seat)]
        signed = self.named(path, named)
        self.form("agreed", seat, path, signed, None)
        return signed

    def commitments(self) -> Step:
        step = self.at_work()
        aside = self.set_aside(self.match, "setup")
        for seat in self.match.seats:
            path = f"openings/game-{self.match.game}-seat-{seat}.txt"
            content = self.file(path)
            if digest(content) != self.entry.body["commitments"][str(seat)]:
                raise self.untrue(path, "does not open the commitment")
            opening = self.read(path, Opening.read, content)
            letter = f"letters/game-{self.match.game}-setup-seat-{seat}.eml"
            self.was_not_withdrawn(path, opening, aside)
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
        self.check_reports(name, body)
        aside = self.set_aside(self.match, f"turn-{self.match.turn}")
        step = self.at_work()
        step.match = replace(step.match, stored={})
        for seat, receipt in {**sent, **defaults}.items():
            letter = f"letters/{name}-seat-{seat}.eml"
            form, signed = self.signed("orders", seat, letter, receipt)
            if not receipt.by_default:
                self.was_not_withdrawn(letter, receipt, aside)
                self.came_after_a_miss(letter, receipt, aside)
            elif seat not in self.match.missed:
                raise self.untrue(letter, f"default orders, although seat {seat} had not missed the turn")
            if receipt.by_default:
                self.played.setdefault((receipt.game, seat), []).append((receipt, self.missed_from(seat)))
            event = partial(ahead.store, step) if receipt.by_default else step.order
            self.judged(letter, event, seat, form, signed)
        step.match = replace(step.match, resolve_at=step.world.now)
        step.advance()
        return step

    def was_not_withdrawn(self, path: str, paper: Opening | Receipt, aside: Sequence[tuple[int, SetAside]]) -> None:
        """What was set aside had a lower revision than what counts."""
        revs = [traces.read(one.paper).rev for seat, one in aside if seat == paper.seat]
        if paper.rev <= max(revs, default=-1):
            raise self.untrue(path, f"was withdrawn, or not used, before: revision {max(revs)} was set aside")

    def was_not_played(self, path: str, paper: Withdrawal) -> None:
        """Default orders are not played for a miss once they are withdrawn."""
        if not paper.by_default:
            return
        for played, over in self.played.get((paper.game, paper.seat), ()):
            if played.rev < paper.rev and _moment(paper.received) < over:
                raise self.untrue(path, f"withdrew the default orders that were played in turn {played.turn}")

    def came_after_a_miss(self, path: str, receipt: Receipt, aside: Sequence[tuple[int, SetAside]]) -> None:
        """Where the seat's time counted as missed, nothing of it stood by then."""
        seat, match = receipt.seat, self.match
        if seat not in match.missed or match.bundle == 1:
            return
        over = self.missed_from(seat)
        gone = [traces.read(one.paper).received for other, one in aside if other == seat]
        if all(_moment(when) > over for when in gone) and _moment(receipt.received) < over:
            raise self.untrue(path, f"came in time: it was received before the time of seat {seat} was over")

    def missed_from(self, seat: int) -> datetime:
        """From when on what came was too late for what the seat missed: no later than the miss itself."""
        missed = _moment(self.match.missed_at[seat])
        return min(self.match.clocks[seat].patience or missed, missed)

    def check_reports(self, name: str, body: Mapping[str, Any]) -> None:
        for seat in (*self.match.seats, None):
            path = f"reports/{name}-seat-{seat}.json" if seat else f"reports/{name}.json"
            content = self.file(path)
            if digest(content) != (body["shown"][str(seat)] if seat else body["reports"]):
                raise self.untrue(path, "is not the report that the transcript names")
            if self.match.bundle > 1 and not SALT.fullmatch(_salt(content)):
                raise self.untrue(path, "has no salt")

    def set_aside(self, match: Match, what: str) -> list[tuple[int, SetAside]]:
        """What was set aside up to an entry: each withdrawn by a letter, or not legal at this point."""
        if match.bundle == 1:
            return []
        path = f"traces/game-{match.game}-{what}.txt"
        if path not in self.traces:
            try:
                self.traces[path] = self.traced(match, path, what)
            except Untrue as error:  # it is the next entry that names the trace
                raise Untrue(match.seq + 1, error.path, error.reason) from error
        return self.traces[path]

    def traced(self, match: Match, path: str, what: str) -> list[tuple[int, SetAside]]:
        content = self.file(path)
        named = next((entry.body.get("trace") for entry in self.entries[match.seq : match.seq + 1]), None)
        if named is not None and digest(content) != named:
            raise self.untrue(path, "is not the trace that the transcript names")
        found = sorted(self.read(path, Trace.read, content).named.items())
        return [self.aside(match, where, expected, what) for where, expected in found]

    def aside(self, match: Match, where: str, expected: str, what: str) -> tuple[int, SetAside]:
        """One thing that was set aside: its letter says so, and it belongs here."""
        content = self.file(where)
        if digest(content) != expected:
            raise self.untrue(where, "is not what the trace names")
        paper = self.read(where, traces.read, content)
        by_default = paper.by_default and what == "end"
        place = (match.server, match.id, match.game, 0 if by_default else match.turn)
        if (paper.server, paper.match, paper.game, paper.turn) != place or paper.by_default != by_default:
            raise self.untrue(where, "does not belong here")
        found = SetAside(paper.text(), b"")
        letter = f"letters/{found.stem}.eml"
        signed = self.named(letter, {"mail": paper.mail, "evidence": paper.evidence, "received": paper.received})
        if paper.seat not in match.seats or paper.player != match.name(paper.seat):
            raise self.untrue(where, "does not belong here")
        if isinstance(paper, Withdrawal):
            self.was_not_played(where, paper)
            form = self.form("clear", paper.seat, letter, signed, paper)
            self.in_place(match, letter, replace(form, rev=form.rev or paper.rev), paper)
        else:
            try:
                self.source.unused(match, paper.seat, signed.raw, paper, signed.evidence)
            except ValueError as error:
                raise self.unproved(letter, error) from error
        found = replace(found, letter=signed.raw, evidence=signed.evidence)
        if where != found.path:
            raise self.untrue(where, "does not belong here")
        return paper.seat, found

    def in_place(self, match: Match, path: str, form: Form, paper: Withdrawal) -> None:
        """Whether a withdrawal was said at this place, and at no other."""
        playing = match.phase == "playing"
        place: dict[str, Any] = {"turn": paper.turn} if playing else {"game": match.game}
        step = replace(self.at_work(), match=match)
        if faults := step.misplaced(form, paper.seat, None, in_advance=playing, **place):
            raise self.untrue(path, f"not said here: {Refused(*faults)}")

    def resigned(self) -> Step:
        whole_match = self.entry.body["match"] is True
        seat, form, signed = self.sentence("resign", "resign match" if whole_match else "resign game")
        step = self.at_work()
        step.resign(seat, form, signed, whole_match=whole_match)
        return step

    def extended(self) -> Step:
        seconds = self.entry.body["seconds"]
        seat, form, signed = self.sentence("extend", f"extend {seconds}")
        step = self.at_work()
        pace.extend(step, seat, seconds, form, signed)
        return step

    def claimed(self) -> Step:
        seat, form, signed = self.sentence("claim", "claim")
        step = self.at_work()
        pace.claimed(step, seat, self.entry.body["against"], form, signed)
        return step

    def agreement(self) -> Step:
        what, word = self.entry.type, str(self.entry.body["word"])
        seat, form, signed = self.sentence(what, f"{what} {word}")
        step = self.at_work()
        agreements.agree(step, what, seat, word, form, signed)
        return step

    def missed(self) -> Step:
        """A miss: no earlier than pace and grace allow, whatever the player's zone, which nobody else knows."""
        self.goes_on()
        step = self.at_work()
        seat = self.seat()
        clock = self.match.clocks[seat]
        deadline = _moment(self.entry.body["deadline"])
        pauses = tuple(stop for stop in clock.stops if stop.reason == PAUSE)
        late = replace(clock, since=deadline, time=0, bank=0, stops=pauses, weekends=True)
        if _before(deadline, late, clock.since, clock.time - clock.bank):
            raise self.untrue(None, "the deadline is earlier than what was agreed")
        if _before(step.world.now, late, deadline, clock.grace):
            raise self.untrue(None, "the grace after the deadline was not over")
        if seat in self.match.missed:
            raise self.untrue(None, "this seat had missed its time before")
        step.match = replace(step.match, clocks={**self.match.clocks, seat: late})
        pace.miss(step, seat)
        return step

    def goes_on(self) -> None:
        """Nobody's time runs while the match stands still."""
        if self.match.paused:
            raise self.untrue(None, f"`{self.entry.type}`, although the match was paused")

    def forfeited(self) -> Step:
        self.goes_on()
        step = self.at_work()
        step.forfeit(self.entry.body["seats"])
        return step

    def told(self) -> Step:
        """What the server noted of the clocks: they are its own, and all that must hold of them is in `missed`."""
        if self.match.bundle > 1 and self.match.phase not in RUNNING:
            raise self.untrue(None, f"`{self.entry.type}` does not follow here")
        step = self.at_work()
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
        by, form, signed = self.sentence("substitute", f"substitute {name} for {self.match.name(seat)}")
        step = self.at_work()
        substitutes.nominate(step, by, seat, name, form, signed)
        return step

    def substituted(self) -> Step:
        """The newcomer's letter is read by the newcomer's keys, which count from this entry on."""
        match, seat = self.match, self.seat()
        player = Player.read(self.entry.body["player"])
        if match.bundle > 1:
            player = self.pinned(seat, player)
        self.match = substitutes.seated(match, seat, player)
        kind = f"substitute {player.name} for {match.name(seat)} {match.rules_hash}"
        _, form, signed = self.sentence("substituted", kind)
        self.match = match
        step = self.at_work()
        substitutes.take_over(step, seat, player, form, signed)
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
        step = self.at_work()
        step.keys(seat, change)
        return step

    def seat(self) -> int:
        seat = self.entry.body["seat"]
        if type(seat) is not int or seat not in self.match.seats:
            raise self.untrue(None, "no seat of this match")
        return seat

    def sentence(self, what: str, kind: str) -> tuple[int, Form, Signed]:
        """The seat that the entry names, and its letter, which says what the entry says."""
        seat, body, match = self.seat(), self.entry.body, self.match
        path = f"letters/{what}-{self.entry.seq}-seat-{seat}.eml"
        signed = self.named(path, body)
        form = self.form(kind, seat, path, signed, Sentence(body["rev"]) if match.bundle > 1 else None)
        if match.bundle == 1:  # such letters named their place where they liked to
            form = here(match, seat, 1)
        elif form.rev is None:
            form = replace(form, rev=int(body["rev"]))
        return seat, form, signed

    def named(self, path: str, body: Mapping[str, Any]) -> Signed:
        """The letter that an entry or a paper names."""
        letter = self.file(path)
        if digest(letter) != body["mail"]:
            raise self.untrue(path, "is not the letter that the transcript names")
        evidence = self.evidence(path, body.get("evidence", ""))
        received = str(body.get("received", ""))
        self.on_time(path, received)
        return Signed(letter, "mailbox" if evidence else "key", "", evidence, received)

    def on_time(self, path: str, received: str) -> None:
        """No letter has an effect before it comes, and none of a later version comes at no time."""
        if self.match.bundle > 1 and _moment(received) > _moment(self.entry.time):
            raise self.untrue(path, "was received after its effect")

    def operated(self) -> Step:
        """What the operator did follows from nothing but the server's word: it need only make sense."""
        if any(len(clock.stops) > MOST_STOPS for clock in self.match.clocks.values()):
            raise self.untrue(None, f"the match stood still more than {MOST_STOPS:,} times in one turn")
        step = self.at_work()
        if self.entry.type == "restored":
            step.restored(int(self.entry.body["generation"]))
            return step
        event = {"paused": step.pause, "resumed": step.resume, "stopped": step.stop}[self.entry.type]
        event(str(self.entry.body["reason"]))
        return step

    def at_work(self) -> Step:
        body = self.entry.body
        now = _moment(self.entry.time)
        world = _Past(
            now,
            bytes,
            str(body.get("version")),
            str(body.get("server_key")),
            source=self.source,
            asides=self.set_aside,
        )
        return Step(self.match, world)

    def signed(self, kind: str, seat: int, path: str, paper: Opening | Receipt) -> tuple[Form, Signed]:
        letter = self.file(path)
        if digest(letter) != paper.mail:
            raise self.untrue(path, "is not the letter that was received")
        evidence = self.evidence(path, paper.evidence)
        if (self.match.bundle > 1) != bool(paper.received):
            raise self.untrue(path, "its paper is of another version")
        self.on_time(path, paper.received)
        key = paper.key if isinstance(paper, Receipt) else ""
        signed = Signed(letter, paper.level, key, evidence, paper.received)
        form = self.form(kind, seat, path, signed, paper)
        return form if form.rev is not None else replace(form, rev=paper.rev), signed

    def evidence(self, path: str, expected: str) -> bytes:
        """What stands beside the letter of this path for its signature; empty where nothing does."""
        if not expected:
            return b""
        beside = _beside(path)
        content = self.file(beside)
        if digest(content) != expected:
            raise self.untrue(beside, "is not the evidence that the transcript names")
        if self.match.bundle > 1 and not self.read(beside, Evidence.read, content).place:
            raise self.untrue(beside, "is of another version")
        return content

    def form(self, kind: str, seat: int, path: str, signed: Signed, paper: Proving | None) -> Form:
        try:
            return self.source.form(self.match, kind, seat, signed.raw, paper, signed.evidence, signed.received)
        except ValueError as error:
            raise self.unproved(path, error) from error

    def unproved(self, path: str, error: ValueError) -> Untrue:
        """What is wrong with the letter of this path, or with what stands beside it."""
        return self.untrue(_beside(path) if isinstance(error, UnvouchedError) else path, str(error))

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


def _beside(letter: str) -> str:
    """The path of the evidence for a letter."""
    return letter.replace("letters/", "evidence/").replace(".eml", ".txt")


_NO_SALT = "0" * 64


def _salt(paper: bytes) -> str:
    """The salt in a paper, which is not parsed: it is compared with the one that is made with this salt."""
    if paper.startswith(b"{"):
        return paper.rpartition(b'"salt":"')[2].partition(b'"')[0].decode()
    return paper.partition(b"\nsalt ")[2].partition(b"\n")[0].decode()


def _before(moment: datetime, clock: Clock, start: datetime, seconds: int) -> bool:
    """Whether the clock had not run so long, in whatever zone, which nobody else knows."""
    floor = clock.floor(start, seconds)
    return floor is None or moment < floor


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)  # written in another way, it is not what is made again


def _named_by(path: str) -> Sequence[str]:
    """The types of the entries that name this paper, where it is another one than that which the event began with."""
    if path.startswith("records/"):
        return ["revealed"]
    return ["ended", "closed"] if path.startswith("traces/") and path.endswith("-end.txt") else []


_DIFFERENT = {
    "openings": "is not the opening of the setup that was sent",
    "receipts": "is not the receipt of the orders that were sent",
    "reports": "these are not the reports that the rules give",
    "records": "is not the record of the game that was played",
    "letters": "is not the letter that was received",
    "evidence": "is not the evidence that was found",
    "withdrawals": "is not the withdrawal that was sent",
    "traces": "is not the trace of what was set aside",
}


def _compare(made: Entry, found: Entry) -> None:
    if made.head == found.head:
        return
    if made.type != found.type:
        raise Untrue(found.seq, None, f"`{made.type}` should stand here, not `{found.type}`")
    parts = sorted(key for key in {*made.body, *found.body} if made.body.get(key) != found.body.get(key))
    where = f"`{'`, `'.join(parts)}`" if parts else "its number, time or place in the chain"
    raise Untrue(found.seq, None, f"{found.type}: {where} is not what follows from the letters and the rules")
