"""The log of all heads: they go into the tree, into checkpoints, and to witnesses.

A checkpoint is made when it is due, or at once when a game was revealed. Another task asks the witnesses, by HTTP.
Their answers count only because of their signatures. Implements docs/witnesses.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from pbem.desk.daily_limits import WITNESS_BEHIND, WITNESS_REFUSED
from pbem.match.transcript import statement
from pbem.phrase import Phrase
from pbem.tlog import tree
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import NotANote, Note, NoteSignature, holds, signed
from pbem.tournament.tournament_entries import tournament_statement

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from structlog.typing import FilteringBoundLogger

    from pbem.config.server import Config
    from pbem.config.values import Cosigner
    from pbem.desk.daily_limits import DailyCounts
    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.outcomes import Decision
    from pbem.store.questions import WitnessRequest, WitnessRequests
    from pbem.store.tlog import TransparencyLog

_AT_ONCE = 200
"""The most heads that one transaction puts into the tree."""

_AGAIN = timedelta(hours=1)
"""After how long a witness that did not answer is asked again."""

_OK, _CONFLICT, _UNPROVED = 200, 409, 422
_KNOWN_SIZE = re.compile(r"[0-9]{1,18}\n?")

_LOG: FilteringBoundLogger = structlog.get_logger("witnesses")


@dataclass(eq=False, repr=False)
class Witnesses:
    """The log of all heads, and the witnesses that cosign its checkpoints."""

    config: Config
    decision: Decision
    log: TransparencyLog
    requests: WitnessRequests
    letters: LetterWriter
    counts: DailyCounts
    signing_key: Ed25519PrivateKey
    logged_all: bool = False
    """True if the heads of times when no log was kept are in its queue."""

    def look(self, now: datetime) -> datetime | None:
        """Do what is due for the log, if it has witnesses; returns when to call again."""
        if not self.config.witness.cosigners:
            return None
        if not self.logged_all:
            with self.decision():
                self.log.queue_all()
            self.logged_all = True
        more = True
        while more:
            with self.decision():
                more = self._take_answer(now)
        waits, latest = self.log.waits(), self.log.latest()
        # Who died in between had put heads into the tree, and made no checkpoint of it.
        unstated = self.log.size > (latest.size if latest else 0)
        due = now if latest is None or waits else latest.time + self.config.witness.every
        if waits is not None or unstated:
            if due > now:
                return due
            more = True
            while more:
                with self.decision():
                    more = self._put_in()
            # A checkpoint of the tree.
            with self.decision():
                size = self.log.size
                text = str(Checkpoint(self.config.server, size, tree.root(size, self.log.node)))
                note = Note(text, (signed(self.config.server, self.signing_key, text),))
                self.log.state(size, str(note), now)
        asked = [self._ask_when_due(witness, now) for witness in self.config.witness.cosigners]
        return min(filter(None, asked), default=None)

    def _put_in(self) -> bool:
        """Put the next heads into the tree; returns True if there were any."""
        heads = self.log.queued(_AT_ONCE)
        size = self.log.size
        fresh: dict[tuple[int, int], bytes] = {}

        def node(level: int, number: int) -> bytes:
            return fresh.get((level, number)) or self.log.node(level, number)

        server = self.config.server
        for number, head in enumerate(heads, start=size):
            leaf = statement(server, f"m{head.match}", head.seq, head.head)
            if head.match < 0:
                leaf = tournament_statement(server, f"t{-head.match}", head.seq, head.head)
            grown = list(tree.grown(number, tree.leaf_hash(leaf), node))
            fresh |= {(level, place): found for level, place, found in grown}
            self.log.add(number, head, grown)
        return bool(heads)

    def _ask_when_due(self, witness: Cosigner, now: datetime) -> datetime | None:
        """Ask a witness that did not cosign the last checkpoint; returns when to look again."""
        latest, asked = self.log.latest(), self.log.asked(witness.key.name)
        if latest is None or Note.read(latest.note).by(witness.key):
            return None
        if asked and asked.wanted >= latest.size and asked.asked <= now < asked.asked + _AGAIN:
            return asked.asked + _AGAIN
        with self.decision():
            # It knows the tree up to the size that it cosigned: all else is its bare word.
            known = (row.size for row in self.log.cosigned() if Note.read(row.note).by(witness.key))
            self._ask(witness, next(known, asked.size if asked else 0), now)
        return now + _AGAIN

    def _ask(self, witness: Cosigner, old: int, now: datetime) -> None:
        latest = self.log.latest()
        assert latest is not None
        old = min(old, latest.size)
        note = Note.read(latest.note)
        proof = tuple(tree.consistency(old, latest.size, self.log.node))
        request = CosignRequest(old, proof, Note(note.text, note.signatures[:1]))
        self.log.ask(witness.key.name, old, latest.size, now)
        self.requests.put(witness.key.name, str(request), now)

    def _cosigned(self, size: int, text: str, now: datetime) -> str:
        found = self.log.checkpoint(size)
        if found is None:
            return "cosignature of a checkpoint that is unknown"
        note = before = Note.read(found.note)
        names = []
        for line in text.splitlines():
            try:
                signature = NoteSignature.read(line.strip())
            except NotANote:
                continue
            by = (signature.name, signature.id)
            witness = next((one for one in self.config.witness.cosigners if (one.key.name, one.key.id) == by), None)
            if witness and not note.by(witness.key) and holds(witness.key, note.text, signature):
                note = note.with_(signature)
                names.append(signature.name)
                # It is asked for the rest of the tree, if there is more by now.
                latest = self.log.latest()
                if latest is not None and latest.size > found.size:
                    self._ask(witness, found.size, now)
                else:
                    self.log.ask(witness.key.name, found.size, found.size, now)
        if note == before:
            return "no new cosignature of a witness of ours"
        self.log.cosign(found.size, str(note))
        return f"checkpoint {found.size} cosigned by {', '.join(names)}"

    def _behind(self, witness: Cosigner, size: int, now: datetime) -> str:
        """A witness knows another size than we believed: it is asked from there, once for each size that it names."""
        asked, latest = self.log.asked(witness.key.name), self.log.latest()
        if asked is None or asked.size == size or latest is None or Note.read(latest.note).by(witness.key):
            return f"witness knows {size}"
        if self.counts.left(WITNESS_BEHIND, now, witness.key.name) < 0:
            return f"witness knows {size}; not asked from there any more today"
        self._ask(witness, size, now)
        return f"witness knows {size}, asked from there"

    def _take_answer(self, now: datetime) -> bool:
        """Take in a witness's answer; returns True if there was one."""
        answered = self.requests.answered()
        if answered is None:
            return False
        self.requests.drop(answered.witness)
        witness = next((one for one in self.config.witness.cosigners if one.key.name == answered.witness), None)
        if witness is not None:
            became = self._answered(witness, answered, now)
            _LOG.info("witness answered", witness=answered.witness, status=answered.status, became=became)
        return True

    def _answered(self, witness: Cosigner, answered: WitnessRequest, now: datetime) -> str:
        """The outcome of an answer, by the status codes of C2SP tlog-witness, add-checkpoint."""
        asked, latest, said = CosignRequest.read(answered.request), self.log.latest(), answered.said or ""
        if answered.status == _OK:
            return self._cosigned(Checkpoint.read(asked.note.text).size, said, now)
        why = {_CONFLICT: "forked", _UNPROVED: "unproved"}.get(answered.status or 0, "")
        if answered.status == _CONFLICT and _KNOWN_SIZE.fullmatch(said):
            size = int(said)
            if size != asked.old and latest is not None and size <= latest.size:
                return self._behind(witness, size, now)
            why = "forked" if size == asked.old else "behind"
        text = f"HTTP {answered.status}\n{said}".rstrip()
        # It does not cosign: tell the operator. Without a reason, it does not know the log.
        _LOG.error("witness refused", witness=witness.key.name, why=why)
        refuses = Phrase("[pbem] A witness refuses our log")
        subject = refuses if why else Phrase("[pbem] A witness does not know our log")
        facts = {"name": witness.key.name, "why": why, "text": f"{text}\n\n{asked.note}"}
        self.letters.tell_operator(WITNESS_REFUSED, now, subject, facts, about=(witness.key.name,))
        return f"witness refused: {why or 'it does not know the log'}"
