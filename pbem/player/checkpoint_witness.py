"""A witness: it remembers the last checkpoint of each log, and cosigns the next one if that log only grew.

What it remembers is on disk before an answer leaves: a witness that forgot would sign two trees. Letters from anybody
but its logs are ignored. `witness_http` is its HTTP side. Implements docs/witnesses.md, "To be
a witness".
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.config.toml_file import converted
from pbem.config.values import Listen
from pbem.config.witnessing import Correspondent
from pbem.identity import ssh
from pbem.mail.message import Unreadable, read
from pbem.match.transcript import sha256_hex
from pbem.player.account_file import Account, BadAccount, beside, read_settings
from pbem.player.correspondence.outgoing import composed
from pbem.player.memory import SentForm, transaction
from pbem.player.server_letter import LIMITS
from pbem.tlog.checkpoint import CosignRequest
from pbem.tlog.cosigning import REPEATED, Answer, answer, answer_text
from pbem.tlog.note import NotANote, Note
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.mail.message import Letter


_NAME = r"^[^\s+]{1,253}$"


class WitnessSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; paths are absolute once loaded."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME, description="a name without blanks or +")]
    """The witness's name: preferably one of its own under a domain, such as witness.example."""
    logs: tuple[str, ...]
    """Each log's key, a blank, and the address that answers go to."""
    address: str = ""
    mail_in: str = ""
    """Empty if it is asked only by HTTP."""
    mail_out: str = ""
    listen: str = ""
    """The host:port at which it listens for requests by HTTP."""
    key: str = "witness_ed25519"
    memory: str = "witness.sqlite"
    password_file: str = ""
    password_command: str = ""
    token_command: str = ""

    @property
    def account(self) -> Account:
        """The mailbox and submission of its letters, as an account."""
        mail = self.address, self.address, self.key, self.mail_in, self.mail_out
        return Account(
            "witness", "witness.invalid", *mail, self.password_file, self.password_command, self.token_command
        )


def load(path: Path) -> WitnessSettings:
    """The settings of a file; raises `BadAccount` with what is wrong."""
    settings = read_settings(WitnessSettings, path)
    try:
        if not settings.mail_in and not settings.listen:
            raise ValueError("how is it asked? Give address, mail_in and mail_out, or listen, or all of them")
        if settings.mail_in:
            converted(Account, msgspec.structs.asdict(settings.account))
        if Listen.parse(settings.listen).path or settings.listen == "systemd":
            raise ValueError(f"listen: {settings.listen}: write host:port")
        for text in settings.logs:
            log = Correspondent.parse(text)
            if log.key.kind != LOG or log.by_http:
                raise ValueError(f"{text}: not the key of a log")
    except ValueError as error:
        raise BadAccount(f"{path}: {error}") from error
    return msgspec.structs.replace(settings, key=beside(path, settings.key), memory=beside(path, settings.memory))


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
        self._logs = [Correspondent.parse(log) for log in settings.logs]
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

    def has_seen(self, handle: str) -> bool:
        """True if a letter was seen before."""
        return self._row("SELECT 1 FROM seen WHERE handle = ?", handle) is not None

    def receive(self, raw: bytes, handle: str, now: datetime) -> str:
        """Take in a letter; returns the outcome in a few words. An answer, if any, is then ready to be sent."""
        try:
            letter = read(raw, LIMITS)
            request = CosignRequest.read((letter.text or "").strip() + "\n")
        except (Unreadable, NotANote):
            request = None
        with transaction(self._database):
            said = "" if request is None else self._judge(request, letter, now)
            self._database.execute("INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING", (handle,))
        return said

    def knows(self, origin: str) -> bool:
        """True if it witnesses a log of this name."""
        return any(log.key.name == origin for log in self._logs)

    def answer(self, request: CosignRequest, now: datetime) -> Answer:
        """The answer to a request that did not come by mail; what must be remembered is on disk when this returns."""
        with transaction(self._database):
            return self._answer(request, now)[0]

    def _answer(self, request: CosignRequest, now: datetime) -> tuple[Answer, str]:
        """The answer, and its text with the notes that convict the log; part of the caller's transaction."""
        origin = request.note.text.partition("\n")[0]
        row = self._row("SELECT note FROM logs WHERE origin = ?", origin)
        known = Note.read(row[0]) if row else None
        keys = [log.key for log in self._logs]
        made = answer(request, keys, known, self._settings.name, self._key, int(now.timestamp()))
        if made.outcome == "cosigned":
            self._database.execute("INSERT OR REPLACE INTO logs VALUES (?, ?)", (origin, str(made.note)))
        text = answer_text(made, origin, str(known) if known else "")
        if made.outcome in {"forked", "unproved"}:  # both notes: the one known now will be forgotten
            self._note_refusal(now, text)
        return made, text

    def _note_refusal(self, now: datetime, text: str) -> None:
        query = "INSERT INTO refused (time, said) VALUES (?, ?) ON CONFLICT DO NOTHING"
        self._database.execute(query, (now.isoformat(), text))

    def _judge(self, request: CosignRequest, letter: Letter, now: datetime) -> str:
        origin = request.note.text.partition("\n")[0]
        made, text = self._answer(request, now)
        log = next((log for log in self._logs if log.key.name == origin), None)
        if made.outcome == "refused" or log is None:
            return "a checkpoint of no log that is witnessed here"
        said = f"{made.outcome}: {origin} {made.size}"
        if not made.grew and self._repeated(origin, now) > REPEATED:
            return f"{said}; not answered any more today"
        raw = self._reply(log, f"Checkpoint {made.size} of {origin}: {made.outcome}", text, letter, now)
        self._database.execute("INSERT INTO replies (address, raw) VALUES (?, ?)", (log.address, raw))
        self._database.execute(
            "DELETE FROM replies WHERE address = ? AND id NOT IN"
            " (SELECT id FROM replies WHERE address = ? ORDER BY id DESC LIMIT ?)",
            (log.address, log.address, REPEATED),
        )
        return said

    def _repeated(self, origin: str, now: datetime) -> int:
        """The number of requests about a log that brought nothing new today, this one included."""
        day = now.date().isoformat()
        self._database.execute("DELETE FROM repeated WHERE day <> ?", (day,))
        self._database.execute(
            "INSERT INTO repeated VALUES (?, ?, 1) ON CONFLICT (origin) DO UPDATE SET times = times + 1",
            (origin, day),
        )
        row = self._row("SELECT times FROM repeated WHERE origin = ?", origin)
        return int(row[0]) if row else 0

    def _reply(self, log: Correspondent, subject: str, text: str, letter: Letter, now: datetime) -> bytes:
        name = sha256_hex(f"{letter.message_id}\n{text}".encode())[:32]
        message_id = f"<{name}@{self._settings.address.rpartition('@')[2]}>"
        reply = composed(self._settings.address, log.address, subject, message_id, now)
        reply["Auto-Submitted"] = "auto-replied"
        reply.set_content(text, cte="base64")
        return reply.as_bytes()

    def unsent(self) -> Iterator[SentForm]:
        """The answers that are ready to be sent."""
        with closing(self._database.execute("SELECT id, address, raw FROM replies ORDER BY id")) as rows:
            found = rows.fetchall()
        for number, address, raw in found:
            yield SentForm(number, f"<{number}>", "witness", "", "", 0, "", raw, address, "ready")

    def has_left(self, sent: SentForm) -> None:
        """Note that an answer was handed over for sending."""
        self._database.execute("DELETE FROM replies WHERE id = ?", (sent.id,))

    def forget(self, origin: str, now: datetime) -> str | None:
        """Have a log begin anew; returns the note that was remembered, which stays among the refusals, or None."""
        with transaction(self._database):
            row = self._row("SELECT note FROM logs WHERE origin = ?", origin)
            if row is None:
                return None
            self._database.execute("DELETE FROM logs WHERE origin = ?", (origin,))
            self._note_refusal(now, f"forgotten {origin}\n\n{row[0]}")
        return row[0]

    def refused(self) -> list[tuple[str, str]]:
        """The refusals, oldest first: when, and the text that the log was told, with the note cosigned before.

        Among them what was forgotten: it proves something for as long as somebody has it.
        """
        with closing(self._database.execute("SELECT time, said FROM refused ORDER BY id")) as rows:
            return [(time, said) for time, said in rows]

    def _row(self, query: str, *values: object) -> tuple[str, ...] | None:
        with closing(self._database.execute(query, values)) as rows:
            found: tuple[str, ...] | None = rows.fetchone()
        return found


_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS seen (handle TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS logs (origin TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY, time TEXT NOT NULL, said TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS repeated (origin TEXT PRIMARY KEY, day TEXT NOT NULL, times INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS replies (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL, raw BLOB NOT NULL);
"""
