"""The replay of a transcript: the same events, from the letters and papers that it names, must give the same entries.

One replay serves two readers: the store uses it to restore a match, trusting its own rows; `verify` uses it to
prove a bundle, trusting nothing. Only the `Source` of the forms differs. Each type of entry says in `events` how it
is made again. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

import msgspec

from pbem.games import Refused
from pbem.match import traces
from pbem.match.changed import replace
from pbem.match.documents import Evidence, NamedMailbox, NotADocument, Opening, Receipt, Withdrawal, salt_in
from pbem.match.events import TYPES
from pbem.match.progress import advance
from pbem.match.signed import Signed, SignedForm
from pbem.match.state import BUNDLES, Match
from pbem.match.step import Environment, Step
from pbem.match.terms import Terms
from pbem.match.traces import SetAside, Trace
from pbem.match.transcript import Entry, TranscriptError, sha256_hex, utc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.keys import KeyChange, Player
    from pbem.match.state import Place
    from pbem.match.step import Notice

Kind = TypeVar("Kind")
Arguments = TypeVarTuple("Arguments")

__all__ = ["Proving", "Sentence", "Source", "TranscriptReplay", "UnvouchedError", "begin", "replay_transcript"]


class Sentence(msgspec.Struct, frozen=True):
    """What an entry that rests on a sentence says about the letter, which has no paper."""

    rev: int


Proving = Opening | Receipt | Withdrawal | Sentence
"""What names a letter: the papers of one that was sent before its entry, or the entry of a sentence."""


class UnvouchedError(ValueError):
    """The fault lies with the evidence for a letter."""


class Source(Protocol):
    """The source of a match's papers, and of the forms in its letters."""

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle, or None when it is not there."""

    def form(
        self,
        match: Match,
        kind: str,
        seat: int,
        letter: bytes,
        paper: Proving | None,
        evidence: bytes,
        received: str,
    ) -> SignedForm:
        """What the letter, signed by that seat, said; raises ValueError if that is not true.

        `kind` is "agreed", "setup", "orders", "seal", "step", "reveal", "clear", "resign game", "resign match",
        "extend" and its seconds, "claim", "draw" or "annul" and its word, or "substitute", who is to have whose seat,
        and the newcomer's hash of the rules. `paper` is what names the letter; `evidence` stands for the signature of
        a letter at level `mailbox`. A revision of None is one that the letter left to its reply address. `received`
        is when it is said to have come.
        """

    def unused(self, match: Match, seat: int, letter: bytes, receipt: Receipt, evidence: bytes) -> None:
        """Raises ValueError unless the letter holds such orders, and they could not be played at this point."""

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Raises ValueError if the letters do not prove this change of the seat's keys."""


class _Past(Environment, frozen=True):
    """The environment as it was: salts, and what was set aside, are those in the papers."""

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
        return salt_in(content)


def begin(first: Entry) -> Match:
    """The match in a transcript's first entry, before it was agreed; raises `TranscriptError`."""
    body = first.body
    try:
        if first.type != "agreed":
            raise ValueError(first.type)
        version = body.get("bundle", 1)  # at first the version was not written
        if type(version) is not int or version not in BUNDLES:
            raise TranscriptError(first.seq, None, f"a bundle of version {version}, which this program cannot read")
        return Match(str(body["match"]), str(body["server"]), Terms.read(body["terms"]))
    except (KeyError, TypeError, ValueError) as error:
        raise TranscriptError(first.seq, None, "not the beginning of a match") from error


def replay_transcript(
    entries: Sequence[Entry],
    source: Source,
    *,
    until: int | None = None,
    passed: Callable[[Entry], None] | None = None,
    told: Callable[[Notice], None] | None = None,
) -> Match:
    """The match after these entries, or the first `until` of them; `passed` is called for each that was found true.

    `told` is called with everything that the players had to be told.

    Raises `TranscriptError` at the first that does not follow.
    """
    match = begin(entries[0])
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]] = {}
    at = 0
    while at < (len(entries) if until is None else until):
        step = TranscriptReplay(match, entries[at], source, entries, played).step()
        for made in step.entries:
            if at >= len(entries):
                raise TranscriptError(made.seq, None, f"the transcript breaks off before the entry `{made.type}`")
            _compare(made, entries[at])
            if passed:
                passed(made)
            at += 1
        if told:
            for notice in step.notices:
                told(notice)
        match = step.match
    return match


class TranscriptReplay(msgspec.Struct):
    """One entry that other entries may follow from, and the match before it."""

    match: Match
    entry: Entry
    source: Source
    entries: Sequence[Entry]
    """All of them: what follows by itself names its papers, too."""
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]]
    """The default orders that were played so far, by game and seat, each with the end of the time that was missed."""
    traces: dict[str, list[tuple[int, SetAside]]] = msgspec.field(default_factory=dict)
    """What was found set aside, by the path of the trace that names it."""

    def step(self) -> Step:
        """The step of this entry, made again."""
        kind = TYPES.get(self.entry.type)
        if kind is None or kind.remake is None:
            raise self.untrue(None, f"`{self.entry.type}` does not follow here")
        try:
            step = kind.remake(self)
        except (Refused, NotADocument, LookupError, TypeError, ValueError, AssertionError, OverflowError) as error:
            raise self.untrue(None, f"does not follow: {error}") from error
        if not step.entries:
            raise self.untrue(None, "nothing was to happen here")
        for paper in step.papers:
            found = self.source.paper(paper.path)
            if found != paper.content:
                room, _, _ = paper.path.partition("/")
                named = (made.seq for made in step.entries if made.type in _named_by(paper.path))
                raise TranscriptError(
                    next(named, self.entry.seq), paper.path, "is missing" if found is None else _DIFFERENT[room]
                )
        return step

    def pinned(self, seat: int, player: Player) -> Player:
        """The player, with the paper that names the mailbox that the entry pins."""
        if not player.mailbox:
            return player
        path = f"evidence/mailbox-{self.entry.seq}-seat-{seat}.txt"
        content = self.file(path)
        named = self.read(path, NamedMailbox.read, content)
        place = (self.match.server, self.match.id, seat, player.name)
        if sha256_hex(content) != player.mailbox or (named.server, named.match, named.seat, named.player) != place:
            raise self.untrue(path, "is not the mailbox that the transcript names")
        return replace(player, named=named)

    def was_not_withdrawn(self, path: str, paper: Opening | Receipt, aside: Sequence[tuple[int, SetAside]]) -> None:
        """Check that what was set aside had a lower revision than what counts."""
        revs = [traces.read(one.paper).rev for seat, one in aside if seat == paper.seat]
        if paper.rev <= max(revs, default=-1):
            raise self.untrue(path, f"was withdrawn, or not used, before: revision {max(revs)} was set aside")

    def was_not_played(self, path: str, paper: Withdrawal) -> None:
        """Check that default orders are not played for a miss after their withdrawal."""
        if not paper.by_default:
            return
        for played, over in self.played.get((paper.game, paper.seat), ()):
            if played.rev < paper.rev and utc(paper.received) < over:
                raise self.untrue(path, f"withdrew the default orders that were played in turn {played.turn}")

    def set_aside(self, match: Match, what: str) -> list[tuple[int, SetAside]]:
        """What was set aside up to an entry: each was withdrawn by a letter, or is illegal at this point."""
        path = f"traces/game-{match.game}-{what}.txt"
        if path not in self.traces:
            try:
                self.traces[path] = self.traced(match, path, what)
            except TranscriptError as error:  # it is the next entry that names the trace
                raise TranscriptError(match.seq + 1, error.path, error.reason) from error
        return self.traces[path]

    def traced(self, match: Match, path: str, what: str) -> list[tuple[int, SetAside]]:
        """The contents of the trace of this path."""
        content = self.file(path)
        named = next((entry.body.get("trace") for entry in self.entries[match.seq : match.seq + 1]), None)
        if named is not None and sha256_hex(content) != named:
            raise self.untrue(path, "is not the trace that the transcript names")
        found = sorted(self.read(path, Trace.read, content).named.items())
        return [self.aside(match, where, expected, what) for where, expected in found]

    def aside(self, match: Match, where: str, expected: str, what: str) -> tuple[int, SetAside]:
        """One thing that was set aside: its letter proves it, and it belongs here."""
        content = self.file(where)
        if sha256_hex(content) != expected:
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

    def in_place(self, match: Match, path: str, form: SignedForm, paper: Withdrawal) -> None:
        """Whether a withdrawal names this place, and no other."""
        playing = match.phase == "playing"
        place: Place = {"turn": paper.turn} if playing else {"game": match.game}
        step = replace(self.at_work(), match=match)
        if faults := step.misplaced(form, paper.seat, None, in_advance=playing, **place):
            raise self.untrue(path, f"not said here: {Refused(*faults)}")

    def goes_on(self) -> None:
        """Check that the match is not paused: nobody's time runs then."""
        if self.match.paused:
            raise self.untrue(None, f"`{self.entry.type}`, although the match was paused")

    def seat(self) -> int:
        """The seat that the entry names, which is one of the match by the form of the entry."""
        return int(self.entry.body["seat"])

    def sentence(self, what: str, kind: str) -> tuple[int, SignedForm, Signed]:
        """The seat that the entry names, and its letter, which must say what the entry says."""
        seat, body = self.seat(), self.entry.body
        path = f"letters/{what}-{self.entry.seq}-seat-{seat}.eml"
        signed = self.named(path, body)
        form = self.form(kind, seat, path, signed, Sentence(body["rev"]))
        if form.rev is None:
            form = replace(form, rev=int(body["rev"]))
        return seat, form, signed

    def brought(self, kind: str, event: Callable[[Step, int, SignedForm, Signed], object]) -> Step:
        """The step to which the letter of this entry leads, of this kind, signed by the seat that the entry names."""
        seat = self.seat()
        path = f"letters/{kind}-{self.entry.seq}-seat-{seat}.eml"
        signed = self.named(path, self.entry.body)
        form = self.form(kind, seat, path, signed, None)
        step = self.at_work()
        self.judged(path, event, step, seat, form, signed)
        return step

    def named(self, path: str, body: JsonObject) -> Signed:
        """The letter that an entry or a paper names."""
        letter = self.file(path)
        if sha256_hex(letter) != body["mail"]:
            raise self.untrue(path, "is not the letter that the transcript names")
        evidence = self.evidence(path, body.get("evidence", ""))
        received = str(body.get("received", ""))
        self.on_time(path, received)
        return Signed(letter, "mailbox" if evidence else "key", "", received, evidence)

    def on_time(self, path: str, received: str) -> None:
        """Check that no letter has an effect before it comes."""
        if utc(received) > utc(self.entry.time):
            raise self.untrue(path, "was received after its effect")

    def at_work(self) -> Step:
        """A step at the moment of the entry, with the salts from its papers."""
        body = self.entry.body
        now = utc(self.entry.time)
        world = _Past(
            now,
            bytes,
            str(body.get("version")),
            str(body.get("server_key")),
            source=self.source,
            asides=self.set_aside,
        )
        return Step(self.match, world)

    def signed(self, kind: str, seat: int, path: str, paper: Opening | Receipt) -> tuple[SignedForm, Signed]:
        """The letter of a setup or orders, as its paper names it, and what it says."""
        letter = self.file(path)
        if sha256_hex(letter) != paper.mail:
            raise self.untrue(path, "is not the letter that was received")
        evidence = self.evidence(path, paper.evidence)
        self.on_time(path, paper.received)
        key = paper.key if isinstance(paper, Receipt) else ""
        signed = Signed(letter, paper.level, key, paper.received, evidence)
        form = self.form(kind, seat, path, signed, paper)
        return form if form.rev is not None else replace(form, rev=paper.rev), signed

    def evidence(self, path: str, expected: str) -> bytes:
        """The evidence that replaces the signature of the letter of this path; empty if there is none."""
        if not expected:
            return b""
        beside = _beside(path)
        content = self.file(beside)
        if sha256_hex(content) != expected:
            raise self.untrue(beside, "is not the evidence that the transcript names")
        self.read(beside, Evidence.read, content)
        return content

    def form(self, kind: str, seat: int, path: str, signed: Signed, paper: Proving | None) -> SignedForm:
        """What the letter of this path says, signed by this seat."""
        try:
            return self.source.form(self.match, kind, seat, signed.raw, paper, signed.evidence, signed.received)
        except ValueError as error:
            raise self.unproved(path, error) from error

    def unproved(self, path: str, error: ValueError) -> TranscriptError:
        """The fault of the letter of this path, or of its evidence."""
        return self.untrue(_beside(path) if isinstance(error, UnvouchedError) else path, str(error))

    def judged(self, path: str, event: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Advance a step by a letter that must be legal."""
        try:
            event(*arguments)
        except Refused as refused:
            raise self.untrue(path, f"not legal: {refused}") from refused

    def file(self, path: str) -> bytes:
        """The file of this path, which must be there."""
        content = self.source.paper(path)
        if content is None:
            raise self.untrue(path, "is missing")
        return content

    def read(self, path: str, reader: Callable[[str], Kind], content: bytes) -> Kind:
        """The paper of this path."""
        try:
            return reader(content.decode())
        except (ValueError, KeyError, TypeError) as error:
            raise self.untrue(path, "cannot be read") from error

    def untrue(self, path: str | None, reason: str) -> TranscriptError:
        """The error about this entry."""
        return TranscriptError(self.entry.seq, path, reason)

    @staticmethod
    def advance(step: Step) -> None:
        """Do what is due once everything is in that the entry names (events cannot import `progress`)."""
        advance(step)


def _beside(letter: str) -> str:
    """The path of the evidence for a letter."""
    return letter.replace("letters/", "evidence/").replace(".eml", ".txt")


_NO_SALT = "0" * 64


def _named_by(path: str) -> Sequence[str]:
    """The types of the entries that name this paper, if they differ from the one with which the event began."""
    if path.startswith("records/"):
        return ["revealed"]
    return ["ended", "closed"] if path.startswith("traces/") and path.endswith("-end.txt") else []


_DIFFERENT = {
    "openings": "is not the opening of the setup that was sent",
    "steps": "is not the paper of the step that was sent",
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
        raise TranscriptError(found.seq, None, f"`{made.type}` should stand here, not `{found.type}`")
    parts = sorted(key for key in {*made.body, *found.body} if made.body.get(key) != found.body.get(key))
    where = f"`{'`, `'.join(parts)}`" if parts else "its number, time or place in the chain"
    raise TranscriptError(
        found.seq, None, f"{found.type}: {where} is not what follows from the letters and the rules"
    )
