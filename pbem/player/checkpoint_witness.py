"""A witness: it remembers the last checkpoint of each log, and cosigns the next one if that log only grew.

What it remembers is on disk before an answer leaves: a witness that forgot would sign two trees. Its listener speaks
without TLS: to make it public, put a web server in front of it. Implements docs/witnesses.md, "To be a witness", and
C2SP tlog-witness, add-checkpoint.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.config.values import Listen
from pbem.connections import LimitedThreads
from pbem.identity import ssh
from pbem.player.account_file import BadAccount, beside, read_settings
from pbem.player.memory import transaction
from pbem.player.quiet_handler import QuietHandler
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import NotANote, Note, cosigned
from pbem.tlog.tree import EMPTY, is_consistent
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.connections import Asked


_NAME = r"^[^\s+]{1,253}$"


class WitnessSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; paths are absolute once loaded."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME, description="a name without blanks or +")]
    """The witness's name: preferably one of its own under a domain, such as witness.example."""
    listen: str
    """The host:port at which it listens."""
    logs: tuple[str, ...]
    """Each log's key."""
    key: str = "witness_ed25519"
    memory: str = "witness.sqlite"


def load(path: Path) -> WitnessSettings:
    """The settings of a file; raises `BadAccount` with what is wrong."""
    settings = read_settings(WitnessSettings, path)
    try:
        if not Listen.parse(settings.listen).host:
            raise ValueError(f"listen: {settings.listen}: write host:port")
        for text in settings.logs:
            if VerifierKey.read(text).kind != LOG:
                raise ValueError(f"{text}: not the key of a log")
    except ValueError as error:
        raise BadAccount(f"{path}: {error}") from error
    return msgspec.structs.replace(settings, key=beside(path, settings.key), memory=beside(path, settings.memory))


class Answer(msgspec.Struct, frozen=True):
    """A witness's answer to a request.

    `cosigned`: `note` is remembered, with the cosignature. `behind`: the log must start from the size that the
    witness knows. `forked`: the log signed two trees of one size; both notes prove it to everybody. `unproved`: the
    proof does not show that the tree only grew; that convicts nobody, because anybody who has a note can send it with
    another proof. `refused`: not a note of this log.
    """

    outcome: Literal["cosigned", "behind", "forked", "unproved", "refused"]
    note: Note | None = None
    size: int = 0


class Witness:
    """A witness with its memory. Raises `BadAccount` for a key that is none, and sqlite3.Error."""

    def __init__(self, settings: WitnessSettings) -> None:
        self._settings = settings
        try:
            key = ssh.load(Path(settings.key).read_bytes())
        except (OSError, ValueError, TypeError) as error:
            raise BadAccount(f"{settings.key}: {error}") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise BadAccount(f"{settings.key}: a witness signs with an Ed25519 key")
        self._key = key
        self._logs = [VerifierKey.read(log) for log in settings.logs]
        memory = Path(settings.memory)
        memory.touch(0o600)
        self._database = sqlite3.connect(memory, isolation_level=None)
        self._database.executescript(_TABLES)

    @property
    def verifier(self) -> VerifierKey:
        """The key that verifies its cosignatures."""
        return VerifierKey(self._settings.name, COSIGNATURE, self._key.public_key().public_bytes_raw())

    def close(self) -> None:
        """Close the memory."""
        self._database.close()

    def knows(self, origin: str) -> bool:
        """True if it witnesses a log of this name."""
        return any(log.name == origin for log in self._logs)

    def answer(self, request: CosignRequest, now: datetime) -> Answer:
        """The answer to a request; what must be remembered is on disk when this returns."""
        origin = request.note.text.partition("\n")[0]
        with transaction(self._database):
            known = self._known(origin)
            made = self._judge(request, Note.read(known) if known else None, now)
            if made.outcome == "cosigned":
                self._database.execute("INSERT OR REPLACE INTO logs VALUES (?, ?)", (origin, str(made.note)))
            elif made.note is not None:  # both notes: the one known now will be forgotten
                said = f"{made.outcome} {origin} {made.size}"
                notes = f"This was cosigned here:\n\n{known or ''}\nThis came now:\n\n{made.note}"
                self._note_refusal(now, f"{said}\n\n{notes}")
        return made

    def _judge(self, request: CosignRequest, known: Note | None, now: datetime) -> Answer:
        """The answer, if `known` is the last note of that log that was cosigned here."""
        try:
            found = Checkpoint.read(request.note.text)
        except NotANote:
            return Answer("refused")
        own = next((own for log in self._logs if log.name == found.origin and (own := request.note.by(log))), None)
        if own is None:
            return Answer("refused")
        note = Note(request.note.text, (own,))  # anybody can add lines to a note
        before = Checkpoint.read(known.text) if known else Checkpoint(found.origin, 0, EMPTY)
        if found.size == before.size and found.root != before.root:
            return Answer("forked", note, before.size)
        if request.old != before.size or found.size < before.size:
            return Answer("behind", None, before.size)
        if not is_consistent(before.size, before.root, found.size, found.root, request.proof):
            return Answer("unproved", note, before.size)
        own_line = cosigned(self._settings.name, self._key, note.text, int(now.timestamp()))
        return Answer("cosigned", note.with_(own_line), found.size)

    def _note_refusal(self, now: datetime, text: str) -> None:
        query = "INSERT INTO refused (time, said) VALUES (?, ?) ON CONFLICT DO NOTHING"
        self._database.execute(query, (now.isoformat(), text))

    def forget(self, origin: str, now: datetime) -> str | None:
        """Have a log begin anew; returns the note that was remembered, which stays among the refusals, or None."""
        with transaction(self._database):
            note = self._known(origin)
            if note is not None:
                self._database.execute("DELETE FROM logs WHERE origin = ?", (origin,))
                self._note_refusal(now, f"forgotten {origin}\n\n{note}")
        return note

    def refused(self) -> list[tuple[str, str]]:
        """The refusals, oldest first: when, and the note that was refused, with the one cosigned before.

        Among them what was forgotten: it proves something for as long as somebody has it.
        """
        with closing(self._database.execute("SELECT time, said FROM refused ORDER BY id")) as rows:
            return [(time, said) for time, said in rows]

    def _known(self, origin: str) -> str | None:
        """The last note of a log that was cosigned here."""
        with closing(self._database.execute("SELECT note FROM logs WHERE origin = ?", (origin,))) as rows:
            found: tuple[str] | None = rows.fetchone()
        return found[0] if found else None


_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS logs (origin TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY, time TEXT NOT NULL, said TEXT NOT NULL UNIQUE);
"""


PATIENCE = 5.0  # seconds without an octet
MOST = 16 * 1024  # octets of a request: one with the longest proof has less


class WitnessListener(LimitedThreads, HTTPServer):
    """Answers in threads of its own until `close`; `said` is told the outcome of each request. Raises OSError."""

    def __init__(self, settings: WitnessSettings, now: Callable[[], datetime], said: Callable[[str], None]) -> None:
        place = Listen.parse(settings.listen)
        if ":" in place.host:
            self.address_family = socket.AF_INET6
        super().__init__((place.host, place.port), _WitnessHandler)
        self._settings = settings
        self._now = now
        self._said = said
        threading.Thread(target=self.serve_forever, args=(0.05,), name="witness", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()

    def answer(self, text: str) -> tuple[int, str]:
        """Status and body of the answer to a request with this body."""
        try:
            request = CosignRequest.read(text)
            found = Checkpoint.read(request.note.text)
        except NotANote as error:
            return 400, f"{error}\n"
        with closing(Witness(self._settings)) as witness:  # a connection of its own: each request has its thread
            if not witness.knows(found.origin):
                return 404, "no log that is witnessed here\n"
            if request.old > found.size:
                return 400, "the old size is beyond the checkpoint's\n"
            made = witness.answer(request, self._now())
        self._said(f"{made.outcome}: {found.origin} {made.size}")
        if made.outcome == "cosigned" and made.note is not None:
            return 200, f"{made.note.signatures[-1]}\n"
        if made.outcome in {"behind", "forked"}:
            return 409, f"{made.size}\n"
        if made.outcome == "unproved":
            return 422, "the proof does not show that the log only grew\n"
        return 403, "not signed with the key of this log\n"

    def handle_error(self, request: Asked, client_address: object) -> None:  # noqa: ARG002 - clients are not logged
        """Report an error, unless it is that the client has gone away."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self._said(f"a request failed: {error}")


class _WitnessHandler(QuietHandler):
    server: WitnessListener
    timeout = PATIENCE

    def do_POST(self) -> None:  # noqa: N802 - as http.server names it
        length = self.headers.get("Content-Length") or ""
        if self.path.rpartition("/")[2] != "add-checkpoint":
            self._say(404)
        elif not (length.isascii() and length.isdigit()):
            self._say(411)
        elif len(length) > 9 or int(length) > MOST:
            self._say(413)
        else:
            text = self.rfile.read(int(length)).decode("utf-8", "replace")
            self.server.keep(self.connection)
            try:
                self._say(*self.server.answer(text))
            except (sqlite3.Error, BadAccount):  # what it remembers, or its key, is out of reach
                self._say(503)
                raise

    def _say(self, status: int, text: str = "") -> None:
        kind = "text/x.tlog.size" if status == 409 else "text/plain; charset=utf-8"
        self.answer(status, text.encode(), {"Content-Type": kind})
