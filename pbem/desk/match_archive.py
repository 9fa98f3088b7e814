"""Matches from the store and back: from the cache if the version is right, otherwise replayed from the transcript.

This module knows how a `Match` is stored in rows. Every call is part of a decision; after a failed one, the desk
restores the cache. Implements design.md, "The rules interface": only orders are stored, no states.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.desk.ratings import left_unwillingly, rated, reliability
from pbem.games import Result
from pbem.match.documents import Receipt, SetAside
from pbem.match.modes import proposed
from pbem.match.naming import hides_players
from pbem.match.seat_clock import Clock
from pbem.match.state import Submission
from pbem.match.step import Signed
from pbem.match.terms import Terms
from pbem.match.transcript import BEFORE, Entry, announcement, statement, voucher
from pbem.match.transcript_replay import replay_transcript
from pbem.proof import bundle
from pbem.proof.signed_letters import BundleLetters
from pbem.requests import DEFAULT, Requested, Sections, SignedForm, SubmitOrders, SubmitSetup
from pbem.store.database import from_db, to_db
from pbem.store.matches import EntryRow, Matches, MatchRow, PressRow, SubmissionRow
from pbem.tlog.checkpoint import InclusionProof
from pbem.tlog.note import Note
from pbem.tlog.tree import inclusion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.match.pinned_keys import KeyChange
    from pbem.match.remaking import Proving
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.store.people import People
    from pbem.store.tlog import CheckpointRow, TransparencyLog

WARM = 1500
"""The size of the cache of matches; the others are replayed when a letter comes.

A match of a hundred turns takes about 90 KiB, and one of a thousand 600, without the letters that wait in it.
"""

LETTERS = 128 * 1024 * 1024
"""The most octets of letters that wait in cached matches: without a limit, players could fill the memory."""


def at_rest(row: MatchRow, server: str = "", replies: str = "") -> Match:
    """A match by its row alone, as it was proposed, whatever it has become."""
    terms, taken = Terms.read(json.loads(row.terms)), {seat.seat: seat.player for seat in row.seats}
    players = [taken.get(seat, f"?{seat}") for seat, _ in enumerate(terms.players, start=1)]
    return proposed(f"m{row.number}", server, terms, phase=row.phase, replies=replies, players=players)


def nothing_is_signed(_statement: bytes) -> bytes:
    """No signature: the caller only reads."""
    raise AssertionError("nothing is written here")


@dataclass(eq=False, repr=False)
class MatchRepository:
    """The matches of a server; `_sign` makes the server's signature of a statement; `key` (in hex) verifies it.

    A caller that only reads matches needs neither.
    """

    matches: Matches
    _people: People
    _server: str
    _sign: Callable[[bytes], bytes] = nothing_is_signed
    key: str = ""
    _log: TransparencyLog | None = None
    _warm: dict[int, tuple[int, Match, int]] = field(default_factory=dict)
    """The cached matches, each with the version of its row before it and the octets of the letters that wait in it
    behind; the least recently used first."""
    _all_octets: int = 0
    """The sum of these octets: to add them up at each load would take longer the more matches are cached."""
    _last: dict[int, EntryRow] = field(default_factory=dict)
    """The last entries of cached matches, as they were signed: each letter about a match shows one."""
    _before: dict[int, tuple[int, Match, int] | None] = field(default_factory=dict)
    """The cached matches that this decision changed, as they were before it: the decision may be undone."""

    def begin(self) -> None:
        """Note that a decision begins: earlier ones are committed."""
        self._before.clear()

    def forget(self) -> None:
        """Restore the cache as it was when the decision began, so that a refused letter costs no replay."""
        for number, before in self._before.items():
            self._drop(number)
            if before is not None:
                self._put(number, *before)
        self._before.clear()

    def vouch(self, match: str, sha256: str) -> str:
        """The server's signature of a paper, in hex, with which a player can prove a letter's contents to anybody."""
        return self._sign(voucher(self._server, match, sha256)).hex()

    def announce(self, sha256: str) -> str:
        """The server's signature of a letter's bulletin, in hex."""
        return self._sign(announcement(self._server, sha256)).hex()

    def load(self, number: int) -> tuple[Match, MatchRow] | None:
        """The match of this number, and its row; None if there is none."""
        row = self.matches.row(number)
        return None if row is None else self._loaded(row)

    def known(self, number: int) -> tuple[Match, MatchRow]:
        """The match of a number that must exist, and its row."""
        return self._loaded(self.matches.known(number))

    def _loaded(self, row: MatchRow) -> tuple[Match, MatchRow]:
        number = row.number
        version, match, _ = self._warm.get(number, (None, None, 0))
        if match is None or version != row.version:
            match = self._restore(row)
        match = match.folded()
        self._keep(number, match, row.version)
        return match, row

    def bundle(self, match: Match, row: MatchRow, seat: int | None = None) -> bytes:
        """The bundle of a match: its finished games, and the papers of the running one that this seat may see."""
        rows = self.matches.entries(row.number)
        running = match.game if match.phase == "playing" else 0
        papers = self.matches.papers(row.number, len(match.games), running, seat)
        entries = [Entry.read(entry.entry) for entry in rows]
        return bundle.write(bundle.Bundle(entries, [entry.signature for entry in rows], papers))

    def entry(self, number: int, seq: int) -> EntryRow | None:
        """An entry of a transcript as it was signed; None if there is none of this number."""
        last = self._last.get(number)
        if last is None or last.seq != seq:
            last = self.matches.entry(number, seq)
            if last is not None and number in self._warm:
                self._last[number] = last
        return last

    def logged(self, number: int) -> tuple[int, InclusionProof] | None:
        """The proof that the latest witnessed head of a match is in the log, with the head's number."""
        return latest_proof(self._log, number) if self._log is not None else None

    def first_seen(self, number: int) -> tuple[int, InclusionProof] | None:
        """The proof that a match's last head is in the log, by the first stored checkpoint in which witnesses saw it.

        It stays the same when the log grows. If no witness saw the last head yet, the result of `logged`.
        """
        if self._log is None:
            return None
        place = self._log.place(number, self._log.size)
        checkpoint = self._log.witnessed(place[0]) if place else None
        return proof_in(self._log, place, checkpoint) or latest_proof(self._log, number)

    def _keep(self, number: int, match: Match, version: int) -> None:
        before = self._warm.get(number)
        if before is None or before[0] != version:
            self._before.setdefault(number, before)
        octets = before[2] if before and before[1] is match else sum(kept.octets for kept in match.waiting)
        self._put(number, version, match, octets)
        while len(self._warm) > WARM or (self._all_octets > LETTERS and len(self._warm) > 1):
            self._drop(next(iter(self._warm)))

    def _put(self, number: int, version: int, match: Match, octets: int) -> None:
        self._all_octets += octets - self._warm.pop(number, (0, None, 0))[2]
        self._warm[number] = version, match, octets

    def _drop(self, number: int) -> None:
        self._all_octets -= self._warm.pop(number, (0, None, 0))[2]
        self._last.pop(number, None)

    def _restore(self, row: MatchRow) -> Match:
        if row.head == BEFORE:
            return at_rest(row, self._server, self.matches.secret(row.number))
        entries = [Entry.read(entry.entry) for entry in self.matches.entries(row.number)]
        match = replay_transcript(entries, _Rows(row.number, self.matches))
        rows = self.matches.waiting(row.number, match.game, match.turn)
        waiting = {r.seat: _submission(r) for r in rows if (r.game, r.turn) == (match.game, match.turn)}
        if match.phase == "setup":
            match = replace(match, setups=waiting)
        elif match.phase == "playing":
            stored = {
                (row.seat, DEFAULT if row.turn == _OF_DEFAULTS else row.turn): _submission(row)
                for row in rows
                if row.game == match.game and _ahead(row, match)
            }
            # In turn 0 of a sealed game, in which setups are told, the rows are those of its seals.
            match = replace(match, orders=waiting if match.turn else {}, stored=stored)
        clock = json.loads(row.clock or '{"clocks": {}, "banks": {}}')
        return replace(
            match,
            resolve_at=from_db(row.resolve_at) if row.resolve_at else None,
            clocks={int(seat): msgspec.convert(kept, Clock) for seat, kept in clock["clocks"].items()},
            banks={int(seat): left for seat, left in clock["banks"].items()},
        )

    def save(self, number: int, before: Match, step: Step) -> None:
        """Write a step's result: entries with the server's signatures, papers, the row."""
        match, phase = step.match, before.phase
        for paper in step.papers:
            self.matches.file(number, paper.path, paper.opens_with, paper.seat, paper.content)
        if step.entries:
            self._enter(number, before, step.entries)
        for entry in step.entries:
            if entry.type == "left":  # what its seat had sent for this turn keeps its trace
                self.matches.give_up(number, entry.body["game"], entry.body["turn"] + 1, entry.body["seat"])
        for game, turn, seat, submission in step.submitted:
            self._write(number, game, turn, seat, submission)
        clock = {
            "clocks": msgspec.to_builtins(match.clocks, str_keys=True),
            "banks": {str(seat): left for seat, left in match.banks.items()},
        }
        resolve_at, due = (to_db(time) if time else None for time in (match.resolve_at, match.wakes))
        self.matches.update(number, match.phase, resolve_at, clock if any(clock.values()) else None, due)
        if (cached := self._warm.get(number)) is not None:
            self._keep(number, match, cached[0] + 1)
        # Of a match that hides its players, all is counted at its end: whoever's count moves was asked, or left, now.
        if not hides_players(match):
            entries = step.entries
            if hides_players(before):
                entries = [Entry.read(row.entry) for row in self.matches.entries(number)]
                before = replace(before, missed=frozenset())
                for player in left_unwillingly(entries):
                    self._people.count_abandoned(match.terms.game, player, match.names)
            for player, in_time in reliability(before, entries):
                self._people.count_turn(player, in_time=in_time)
        if match.phase == "closed" != phase:
            self._rate(match)

    def _enter(self, number: int, before: Match, entries: Sequence[Entry]) -> None:
        """Sign entries, and append them to the transcript and to the queue of the log."""
        rows = []
        for entry in entries:
            signature = self._sign(statement(self._server, before.id, entry.seq, entry.head))
            rows.append(EntryRow(entry.seq, entry.canonical(), entry.head, signature))
        self.matches.append(number, before.head, rows)
        if self._log is not None:
            hurry = any(entry.type == "revealed" for entry in entries)
            self._log.queue(number, [row.seq for row in rows], hurry=hurry)
        if number in self._warm:
            self._last[number] = rows[-1]

    def _rate(self, match: Match) -> None:
        """Write the effect of a closed match on its players' standings."""
        outcome = match.outcome
        assert outcome is not None, "a closed match has one"
        result = Result(tuple(outcome["winners"]), tuple(outcome["scores"]), str(outcome["reason"]))
        if result.reason == "annulled":
            return
        abandoned = not match.games or result.reason == "abandoned" or result.reason.startswith("operator: ")
        pool = self._people.pool(match.names)
        standings = [self._people.standing(match.terms.game, name, pool) for name in match.names]
        after = rated(standings, result, abandoned=abandoned)
        self._people.record(match.terms.game, after)

    def consent(self, number: int, seat: int, signed: Signed) -> None:
        """Keep the letter by which a seat agrees to the proposal."""
        content = {
            "level": signed.level,
            "key": signed.key,
            "evidence": signed.evidence.decode(),
            "received": signed.received,
            "rev": signed.rev,
        }
        self.matches.consent(number, seat, content, signed.raw)

    def consents(self, number: int) -> dict[int, Signed]:
        """The letters by which seats agreed, by seat."""
        return {
            seat: Signed(
                letter,
                content["level"],
                content["key"],
                content["received"],
                content["evidence"].encode(),
                content["rev"],
            )
            for seat, content, letter in self.matches.consents(number)
        }

    def submit(self, number: int, match: Match, seat: int, submission: Submission, turn: int | None = None) -> None:
        """Store what a seat submitted or withdrew, before the step to which it may lead; `match` is as it was then.

        `turn` differs from the turn that is due for orders in advance and default orders.
        """
        assert (match.phase, match.turn > 0) in (("setup", False), ("playing", True)), "nothing may be submitted now"
        place = match.turn if turn is None else _OF_DEFAULTS if turn == DEFAULT else turn
        self._write(number, match.game, place, seat, submission)

    def _write(self, number: int, game: int, turn: int, seat: int, submission: Submission) -> None:
        content = {name: getattr(submission, name) for name in _PLAIN}
        content["evidence"] = submission.evidence.decode()
        content["aside"] = [
            [one.paper, base64.b64encode(one.letter).decode(), one.evidence.decode()] for one in submission.aside
        ]
        self.matches.submit(number, SubmissionRow(game, turn, seat, content, submission.letter))

    def publish(self, number: int, match: Match, by: str, text: str, time: str) -> None:
        """Keep press that its writer made public, with its place in a public match."""
        if match.terms.privacy != "public":
            return
        played = match.games[-1].turns if match.phase == "closed" and match.games else 0
        self.matches.publish(number, PressRow(match.game, match.turn or played, by, text), time)


class _Rows:
    """The rows of the store as a source for a replay, without checks: they were made when the letters came.

    All papers are loaded at once, but letters one by one: players who pad them could fill the memory.
    """

    def __init__(self, number: int, matches: Matches) -> None:
        self._papers = matches.papers_but_letters(number)
        self._submitted = matches.submitted(number)
        self._letter = lru_cache(maxsize=8)(partial(matches.paper, number))
        """The replay reads each letter twice: for its words, and to compare it with what the step files."""

    def paper(self, path: str) -> bytes | None:
        return self._letter(path) if path.startswith("letters/") else self._papers.get(path)

    def proved_form(
        self, match: Match, wanted: SignedForm[Requested], seat: int, signed: Signed, paper: Proving | None
    ) -> SignedForm[Requested]:
        asked = wanted.request
        if isinstance(asked, Sections):  # only the letter holds its words
            return BundleLetters({}).proved_form(match, wanted, seat, signed, paper)
        if isinstance(asked, SubmitSetup | SubmitOrders):
            content = self._submitted[match.game, match.turn if isinstance(asked, SubmitOrders) else 0, seat]
            final = {"final": content["final"]} if isinstance(asked, SubmitOrders) else {}
            asked = replace(asked, text=content.get("written") or content["text"], **final)
            wanted = replace(wanted, request=asked, rev=content["rev"])
        return replace(wanted, server=match.server, player=match.name(seat), prev=match.prev)

    def unused(self, match: Match, seat: int, signed: Signed, receipt: Receipt) -> None:
        """Accept: our own orders were judged when their turn came."""

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Accept: our own entries were judged when the letters came."""


_PLAIN = ("rev", "text", "paper", "final", "standing", "written")
"""The fields of a submission that are stored unchanged."""

_OF_DEFAULTS = -1
"""The turn in the rows of default orders; 0 is the turn of setups."""


def _ahead(row: SubmissionRow, match: Match) -> bool:
    """True if the row holds orders sent before their turn, by the player who has the seat now."""
    early = row.turn == _OF_DEFAULTS or row.turn > match.turn
    return early and Receipt.read(row.content["paper"]).player == match.name(row.seat)


def _submission(row: SubmissionRow) -> Submission:
    content = row.content
    aside = [SetAside(it[0], base64.b64decode(it[1]), it[2].encode()) for it in content.get("aside", ())]
    return Submission(
        **{name: content[name] for name in _PLAIN if name in content},
        letter=row.letter,
        evidence=content.get("evidence", "").encode(),
        aside=tuple(aside),
    )


def proof_in(
    log: TransparencyLog, place: tuple[int, int] | None, checkpoint: CheckpointRow | None
) -> tuple[int, InclusionProof] | None:
    """The proof that the leaf at a place is below a checkpoint, with the number of its head."""
    if checkpoint is None or place is None:
        return None
    hashes = inclusion(place[0], checkpoint.size, log.node)
    return place[1], InclusionProof(place[0], tuple(hashes), Note.read(checkpoint.note))


def latest_proof(log: TransparencyLog, number: int) -> tuple[int, InclusionProof] | None:
    """The proof that the latest witnessed head of a match is in the log; below zero, that of a tournament."""
    checkpoint = log.witnessed()
    return proof_in(log, log.place(number, checkpoint.size) if checkpoint else None, checkpoint)
