"""The remaking of an entry: checks the letters and papers that it names, and passes them to its event again.

The events get a `Remaking`, and know how each type of entry is made; `replay` is the loop above them. There are two
`Source`s of papers and letters: the store trusts its own rows (`pbem.desk.match_archive`), a verifier trusts nothing
(`pbem.proof.signed_letters`, which reads the letters). Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

import msgspec
from msgspec.structs import replace

from pbem.games import Refused
from pbem.match.dealt import shown_link
from pbem.match.documents import (
    Evidence,
    NamedMailbox,
    Opening,
    Receipt,
    Replies,
    SetAside,
    Trace,
    Withdrawal,
    read_set_aside,
    salt_in,
)
from pbem.match.state import seated
from pbem.match.step import Environment, Signed, Step, here, misplaced
from pbem.match.transcript import Entry, TranscriptError, sha256_hex, utc
from pbem.requests import Clear, SignedForm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.pinned_keys import KeyChange, Player
    from pbem.match.state import Match
    from pbem.requests import Requested

Kind = TypeVar("Kind")
Arguments = TypeVarTuple("Arguments")


class Sentence(msgspec.Struct, frozen=True):
    """The facts about a letter with a sentence, from its entry, because it has no paper."""

    rev: int


class Consent(msgspec.Struct, frozen=True):
    """The fact about a letter that agrees at its reply address: the revision of that."""

    rev: int


Proving = Opening | Receipt | Withdrawal | Sentence | Consent
"""The document that names a letter: a paper from before its entry, or the entry of a sentence or an agreement."""


class UnvouchedError(ValueError):
    """A fault of the evidence for a letter, and not of the letter."""


class Source(Protocol):
    """The source of a match's papers, and of the forms in its letters."""

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle, or None when it is not there."""

    def proved_form(
        self, match: Match, wanted: SignedForm[Requested], seat: int, signed: Signed, paper: Proving | None
    ) -> SignedForm[Requested]:
        """The form in a letter, signed by that seat, that makes the wanted request; raises ValueError.

        For setups, orders and sections, whose text no entry holds, only the kind of the request is compared. The
        form, or its reply address, must name each part of the wanted place. `paper` names the letter.
        """

    def unused(self, match: Match, seat: int, signed: Signed, receipt: Receipt) -> None:
        """Raises ValueError unless the letter holds such orders, and they could not be played at this point."""

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Raises ValueError if the letters do not prove this change of the seat's keys."""


class _Past(Environment, frozen=True, kw_only=True):
    """The environment of the past: salts and set-aside submissions come from the papers."""

    remaking: Remaking

    def begins(self, match: Match) -> bool:
        return match.seq != self.remaking.until

    def set_aside(self, match: Match, what: str) -> Sequence[tuple[int, SetAside]]:
        return self.remaking.set_aside(match, what)

    def reply_salt(self, match: Match, path: str, game: int) -> str:
        if match.seq == len(self.remaking.entries) or "replies" not in self.remaking.entries[match.seq].body:
            return ""
        if self.remaking.source.paper(path) is None and self._is_hidden(game):
            return ""
        content = self.remaking.hashed(path, self.remaking.entries[match.seq].body["replies"], "is not what it names")
        return self.remaking.read(path, Replies.read, content).salt

    def hidden_replies(self, match: Match, game: int) -> dict[str, str]:
        body = self.remaking.entries[match.seq].body
        return {"replies": body["replies"]} if "replies" in body and self._is_hidden(game) else {}

    def _is_hidden(self, game: int) -> bool:
        """True if the setups of a game are not revealed yet, nor the match closed."""
        return not any(
            entry.type == "closed" or (entry.type == "revealed" and entry.body["game"] == game)
            for entry in self.remaking.entries
        )

    def chain(self, path: str) -> str:
        return (self.remaking.source.paper(path) or b"").decode()  # no bundle can have a paper of this name

    def link(self, match: Match) -> str:
        return shown_link(self.remaking.entries[match.seq :])

    def salt(self, path: str = "") -> str:
        if "-turn-0-" in path:  # default orders get their salt in the turn in which they are played
            return _NO_SALT
        return salt_in(self.remaking.source.paper(path) or b"")


class Remaking(msgspec.Struct):
    """One entry that other entries may follow from, and the match before it."""

    match: Match
    entry: Entry
    source: Source
    entries: Sequence[Entry]
    """All entries of the match: events that follow automatically name their papers in later entries."""
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]]
    """The default orders that were played so far, by game and seat, each with the end of the time that was missed."""
    advance: Callable[[Step], None]
    """Advances the match once all answers are in; a callback, because `progress` is above the events."""
    traces: dict[str, list[tuple[int, SetAside]]] = msgspec.field(default_factory=dict)
    """The papers set aside, by the path of the trace that names them."""
    until: int | None = None
    """The number of entries before a game that is not revealed: it has no papers yet, and is not begun again."""

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
        """Check that all submissions set aside had a lower revision than this paper."""
        revs = [read_set_aside(submission.paper).rev for seat, submission in aside if seat == paper.seat]
        if paper.rev <= max(revs, default=-1):
            raise self.untrue(path, f"was withdrawn, or not used, before: revision {max(revs)} was set aside")

    def was_not_played(self, path: str, paper: Withdrawal) -> None:
        """Check that no default orders were played for a miss after this withdrawal of them."""
        if not paper.by_default:
            return
        for played, over in self.played.get((paper.game, paper.seat), ()):
            if played.rev < paper.rev and utc(paper.received) < over:
                raise self.untrue(path, f"withdrew the default orders that were played in turn {played.turn}")

    def set_aside(self, match: Match, what: str) -> list[tuple[int, SetAside]]:
        """The papers set aside up to an entry: each was withdrawn by a letter, or is illegal at this point."""
        path = f"traces/game-{match.game}-{what}.txt"
        if path not in self.traces:
            try:
                self.traces[path] = self.traced(match, path, what)
            except TranscriptError as error:  # the next entry names the trace
                raise TranscriptError(match.seq + 1, error.path, error.reason) from error
        return self.traces[path]

    def traced(self, match: Match, path: str, what: str) -> list[tuple[int, SetAside]]:
        """The contents of the trace of this path."""
        content = self.file(path)
        named = next((entry.body.get("trace") for entry in self.entries[match.seq : match.seq + 1]), None)
        if named is not None and sha256_hex(content) != named:
            raise self.untrue(path, "is not the trace that the transcript names")
        papers = sorted(self.read(path, Trace.read, content).named.items())
        return [self.aside(match, where, expected, what) for where, expected in papers]

    def aside(self, match: Match, where: str, expected: str, what: str) -> tuple[int, SetAside]:
        """One submission that was set aside, after a check that its letter proves it, and that it belongs here."""
        content = self.hashed(where, expected, "is not what the trace names")
        paper = self.read(where, read_set_aside, content)
        by_default = paper.by_default and (what == "end" or isinstance(paper, Receipt))
        place = (match.server, match.id, match.game, 0 if by_default else match.turn)
        if (paper.server, paper.match, paper.game, paper.turn) != place or paper.by_default != by_default:
            raise self.untrue(where, "does not belong here")
        # The turn that ended the game by the rules has a trace of its own.
        is_over = match.playing is not None and match.playing.result is not None and len(match.turns) >= match.turn
        if what == "end" and is_over and not by_default:
            raise self.untrue(where, "belongs to the turn that ended the game")
        submission = SetAside(paper.text(), b"")
        letter = f"letters/{submission.stem}.eml"
        signed = self.sent(letter, paper)
        match = self.held(match, where, paper)
        # It was withdrawn, or else could not be played.
        if isinstance(paper, Withdrawal):
            self.was_not_played(where, paper)
            self.was_withdrawn(match, letter, signed, paper)
        else:
            if paper.branch:
                raise self.untrue(where, "names a branch, although it was not played")
            self.was_waiting(match, where, paper)
            try:
                self.source.unused(match, paper.seat, signed, paper)
            except ValueError as error:
                raise self.unproved(letter, error) from error
        submission = replace(submission, letter=signed.raw, evidence=signed.evidence)
        if where != submission.path:
            raise self.untrue(where, "does not belong here")
        return paper.seat, submission

    def held(self, match: Match, path: str, paper: Receipt | Withdrawal) -> Match:
        """The match with the paper's player in its seat, as now, or before that one left it or the game."""
        if match.left.get(paper.seat) == match.turn:
            match = replace(match, position=match.before_leaving[paper.seat])
        if paper.seat in match.seats and paper.player == match.name(paper.seat):
            return match
        if (former := match.former.get((paper.seat, paper.player))) is None:
            raise self.untrue(path, "does not belong here")
        return seated(match, paper.seat, former)

    def was_waiting(self, match: Match, path: str, paper: Receipt) -> None:
        """Check that unused orders waited for this turn when it was asked for, and that default orders were due."""
        if paper.by_default:
            if paper.seat not in match.choosing:
                raise self.untrue(path, f"was not due: seat {paper.seat} is not asked in this turn")
            return
        before = map(self.entries.__getitem__, range(match.seq - 1, -1, -1))
        opened = next(entry for entry in before if entry.type in {"commitments", "turn"})
        if utc(paper.received) > utc(opened.time):
            raise self.untrue(path, f"was received after entry {opened.seq}, which asked for these orders")

    def was_withdrawn(self, match: Match, path: str, signed: Signed, paper: Withdrawal) -> None:
        """Check that the letter of a withdrawal withdraws just this place."""
        place = match.place_of(paper.turn)
        wanted = SignedForm(Clear(match=match.id), rev=paper.rev, **place)
        before = seated(self.match, paper.seat, match.players[paper.seat - 1])
        form = self.form(wanted, paper.seat, path, signed, paper, before)
        if faults := misplaced(match, form, paper.seat, None, **place):
            raise self.untrue(path, f"not said here: {Refused(*faults)}")

    def goes_on(self) -> None:
        """Check that the match is not paused: no clock runs in a pause."""
        if self.match.paused:
            raise self.untrue(None, f"`{self.entry.type}`, although the match was paused")

    def seat(self) -> int:
        """The seat that the entry names; the check of the entry's form has made sure that it exists."""
        return int(self.entry.body["seat"])

    def sentence(self, what: str, request: Requested) -> tuple[int, SignedForm[Requested], Signed]:
        """The seat that the entry names, the form in its letter, which must make this request, and the letter."""
        seat, body = self.seat(), self.entry.body
        path = f"letters/{what}-{self.entry.seq}-seat-{seat}.eml"
        signed = self.named(path, body)
        wanted = here(self.match, seat, int(body["rev"]), request)
        return seat, self.form(wanted, seat, path, signed, Sentence(body["rev"])), signed

    def named(self, path: str, body: JsonObject, by: str = "the transcript names") -> Signed:
        """The letter that an entry names; it arrived no later than the entry.

        The other rules about the time of arrival, which entries and papers call `received`:
        - A time is written as UTC to the second: `_Paper` in `documents`, `entry_type` for entries.
        - The letter's own date lies near it: `misdated` in `pbem/proof/signed_letters.py`.
        - Evidence names the same time (`BundleLetters._judge_once` there), at which its DKIM signature must hold
          (`pbem/proof/mailbox_evidence.py`). A letter that counts twice by one address has one time (there, too).
        - An entry is no earlier than any letter that waits: `SeatContext.step`.
        - Orders that came before a miss would have prevented it: `_came_after_a_miss` in `events/turn.py`; default
          orders withdrawn by then are not played: `was_not_played`.
        """
        letter = self.hashed(path, body["mail"], f"is not the letter that {by}")
        evidence = self.evidence(path, body.get("evidence", ""))
        received = str(body.get("received", ""))
        if utc(received) > utc(self.entry.time):
            raise self.untrue(path, "was received after its effect")
        return Signed(letter, "mailbox" if evidence else "key", "", received, evidence)

    def sent(self, path: str, paper: Opening | Receipt | Withdrawal) -> Signed:
        """The letter that a paper names."""
        body = {"mail": paper.mail, "evidence": paper.evidence, "received": paper.received}
        return replace(self.named(path, body, "was received"), key="" if isinstance(paper, Opening) else paper.key)

    def at_work(self) -> Step:
        """A step at the moment of the entry, with the salts from its papers."""
        now, body = utc(self.entry.time), self.entry.body
        version, key = str(body.get("version")), str(body.get("server_key"))
        return Step(self.match, _Past(now, bytes, version, key, is_past=True, remaking=self))

    def signed(
        self, wanted: SignedForm[Requested], seat: int, path: str, paper: Opening | Receipt
    ) -> tuple[SignedForm[Requested], Signed]:
        """The form in the letter of a setup or orders, and the letter, which the paper names."""
        signed = self.sent(path, paper)
        return self.form(replace(wanted, rev=paper.rev), seat, path, signed, paper), signed

    def evidence(self, path: str, expected: str) -> bytes:
        """The evidence that replaces the signature of the letter of this path; empty if there is none."""
        if not expected:
            return b""
        beside = evidence_path(path)
        content = self.hashed(beside, expected, "is not the evidence that the transcript names")
        self.read(beside, Evidence.read, content)
        return content

    def form(
        self,
        wanted: SignedForm[Requested],
        seat: int,
        path: str,
        signed: Signed,
        paper: Proving | None,
        match: Match | None = None,
    ) -> SignedForm[Requested]:
        """The form in the letter of this path, by this seat, that makes the request; `match`: as it was then."""
        try:
            return self.source.proved_form(match or self.match, wanted, seat, signed, paper)
        except ValueError as error:
            raise self.unproved(path, error) from error

    def unproved(self, path: str, error: ValueError) -> TranscriptError:
        """The fault of the letter of this path, or of its evidence."""
        return self.untrue(evidence_path(path) if isinstance(error, UnvouchedError) else path, str(error))

    def judged(self, path: str, event: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        """Call an event for a letter, which must be legal."""
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

    def hashed(self, path: str, expected: str, fault: str) -> bytes:
        """The file of this path, which must have this hash; otherwise raises this fault."""
        content = self.file(path)
        if sha256_hex(content) != expected:
            raise self.untrue(path, fault)
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


def evidence_path(letter: str) -> str:
    """The path of the evidence for a letter."""
    return letter.replace("letters/", "evidence/").replace(".eml", ".txt")


_NO_SALT = "0" * 64


def of_sentence(
    what: str,
    request: Callable[[Match, JsonObject], Requested],
    event: Callable[[Step, int, SignedForm[Requested], Signed], object],
) -> Callable[[Remaking], Step]:
    """Return the function that remakes an entry of a sentence: it applies the entry's request again.

    `what` is the name of its letter's file, before number and seat.
    """

    def remake(remaking: Remaking) -> Step:
        asked = request(remaking.match, remaking.entry.body)
        seat, form, signed = remaking.sentence(what, asked)
        step = remaking.at_work()
        event(step, seat, form, signed)
        return step

    return remake


def of_letter(
    what: str,
    wanted: Callable[[Match], SignedForm[Requested]],
    event: Callable[[Step, int, SignedForm[Requested], Signed], object],
) -> Callable[[Remaking], Step]:
    """Return the function that remakes an entry without its letter's words: it applies the letter's request again."""

    def remake(remaking: Remaking) -> Step:
        seat = remaking.seat()
        path = f"letters/{what}-{remaking.entry.seq}-seat-{seat}.eml"
        signed = remaking.named(path, remaking.entry.body)
        form = remaking.form(wanted(remaking.match), seat, path, signed, None)
        step = remaking.at_work()
        remaking.judged(path, event, step, seat, form, signed)
        return step

    return remake
