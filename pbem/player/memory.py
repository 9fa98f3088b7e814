"""The memory of a player's side: letters read, the states of matches, forms signed and sent.

It is one SQLite file that only the player may read. What is written is on the disk when a transaction
ends: a form is kept before it leaves, with the exact bytes of its letter, so that it leaves once, or again unchanged.
Only storage; `correspondence` says what it means.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from pbem.durable import make_folder
from pbem.match.view import MatchView
from pbem.player import PlayerTrouble
from pbem.player.known import AccountKnown, Known
from pbem.tournament.tournament_state import TournamentView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from pbem.json_object import JsonObject
    from pbem.match.view import TranscriptHead


_Kind = TypeVar("_Kind", bound=Known)

_EDITION = 1
"""The edition of the tables; 0 is that of a new file."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (kind TEXT NOT NULL, place TEXT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (kind, place));
CREATE TABLE IF NOT EXISTS seen (handle TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS forged (handle TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS letters (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, came TEXT NOT NULL, subject TEXT NOT NULL,
    text TEXT NOT NULL, raw BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS about (letter INTEGER NOT NULL, match TEXT NOT NULL, PRIMARY KEY (letter, match));
CREATE TABLE IF NOT EXISTS matches (id TEXT PRIMARY KEY, time TEXT NOT NULL, standing TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tournaments (id TEXT PRIMARY KEY, standing TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS papers (
    match TEXT NOT NULL, game INTEGER NOT NULL, turn INTEGER NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL,
    content TEXT NOT NULL, PRIMARY KEY (match, game, turn, kind));
CREATE TABLE IF NOT EXISTS heads (
    match TEXT NOT NULL, generation INTEGER NOT NULL, seq INTEGER NOT NULL, head TEXT NOT NULL,
    signature TEXT NOT NULL, letter INTEGER NOT NULL, forgotten INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, generation, seq));
CREATE TABLE IF NOT EXISTS bundles (match TEXT PRIMARY KEY, name TEXT NOT NULL, seq INTEGER NOT NULL,
    content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS texts (
    match TEXT NOT NULL, content BLOB NOT NULL, seq INTEGER NOT NULL, forgotten INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, content));
CREATE TABLE IF NOT EXISTS talk (id INTEGER PRIMARY KEY, match TEXT NOT NULL, player TEXT NOT NULL,
    text TEXT NOT NULL, alone INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS alarms (id INTEGER PRIMARY KEY, time TEXT NOT NULL, match TEXT NOT NULL,
    said TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS replies (
    message_id TEXT PRIMARY KEY, letter INTEGER NOT NULL, address TEXT NOT NULL, match TEXT NOT NULL,
    game INTEGER NOT NULL, turn INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS sent (
    id INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, command TEXT NOT NULL, match TEXT NOT NULL,
    place TEXT NOT NULL, rev INTEGER NOT NULL, form TEXT NOT NULL, raw BLOB NOT NULL, to_address TEXT NOT NULL,
    state TEXT NOT NULL, faults TEXT NOT NULL DEFAULT '[]', first INTEGER NOT NULL, generation INTEGER NOT NULL,
    UNIQUE (command, match, place, rev));
"""


class BadMemory(PlayerTrouble):
    """The file cannot be used; the text says why."""


class SentForm(NamedTuple):
    """A letter of the player's: its command, its place in a match, its bytes, and what became of it.

    `state`: ready (on the disk, perhaps sent), sent, done, refused, asked, or bounced. `first` and `generation`: the
    server's, as far as was known, when it was prepared, and when it was last to be sent.
    """

    id: int
    message_id: str
    command: str
    match: str
    place: str
    rev: int
    form: str
    raw: bytes
    to: str
    state: str
    faults: str = "[]"
    first: int = 1
    generation: int = 1

    @property
    def written(self) -> datetime:
        """The date that it bears."""
        return parsedate_to_datetime(message_from_bytes(self.raw)["Date"])

    @property
    def about(self) -> str:
        """What it is, in a few words."""
        if self.command == "ask":
            return self.form.partition("\n")[0]
        place = self.place if self.command in {"orders", "setup"} else ""
        return " ".join(filter(None, [self.command, self.match, place]))


_REST, _LONGEST_REST = timedelta(hours=1), timedelta(days=1)


def may_repeat(refused: Sequence[SentForm], now: datetime) -> bool:
    """True if letters were refused so long ago that the same may be sent again, in a new one.

    What was written while our own clock was wrong is refused for its date, and later taken. One hour, then two, four,
    and so on pass in between, a day at most.
    """
    tried = refused[-1].written - refused[0].written
    return abs(now - refused[-1].written) >= min(max(tried, _REST), _LONGEST_REST)


class SignedText(NamedTuple):
    """A file with what a player signed in a sealed match."""

    content: bytes
    counts: bool = True
    """False if the server was restored, and has forgotten it: its seat is bound to it all the same."""


class AnswerPlace(NamedTuple):
    """The reply address of a letter from the server, with its Message-ID, and its match, if any."""

    message_id: str
    address: str
    match: str
    game: int
    turn: int


class Alarm(NamedTuple):
    """A lasting accusation of the server, unless its owner takes it back."""

    time: str
    match: str
    said: str


_SENT = "id, message_id, command, match, place, rev, form, raw, to_address, state, faults, first, generation"


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction, which others wait for: all or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        database.rollback()  # on a full disk it may have ended by itself
        raise


class Memory:
    """The memory of one account; with `path` None it is not kept, for tests and trials.

    Opening it raises `BadMemory`; all calls raise `sqlite3.Error` if the file fails, for example on a full disk.
    """

    def __init__(self, path: Path | None) -> None:
        try:
            if path is not None:
                # The file is there then, and only its owner can read it.
                make_folder(path.parent)
                file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    os.fchmod(file, 0o600)  # a copy that was brought back may be open to others
                finally:
                    os.close(file)
            self._database = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise BadMemory(f"{path}: {error}") from error
        try:
            self._open()
        except (BadMemory, sqlite3.Error) as error:
            self.close()
            raise BadMemory(f"{path}: {error}") from error

    def _open(self) -> None:
        edition = self._value("PRAGMA user_version")
        if edition > _EDITION or (not edition and self._value("SELECT 1 FROM sqlite_master")):
            raise BadMemory("another pbem wrote it, which may know what this one would do twice: use that one")
        # A form must be on the disk before it leaves, and a letter before its mailbox is told that it was read.
        # EXTRA: as long as the name of a journal that was removed is on the disk, a power cut takes the commit back.
        self._database.execute("PRAGMA synchronous = EXTRA")
        self._database.executescript(_SCHEMA)
        if edition < _EDITION:
            self._database.execute(f"PRAGMA user_version = {_EDITION}")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction: all or nothing; it is on the disk afterwards."""
        return nullcontext() if self._database.in_transaction else transaction(self._database)

    def _value(self, query: str, *values: object) -> Any:
        """The first value of the first row; None if there is no row."""
        row = self._database.execute(query, values).fetchone()
        return row[0] if row else None

    # Facts, each kind by its place: that of the account has none, others have a match, a game, a generation.

    def known(self, kind: type[_Kind], *place: str | int) -> _Kind:
        """What is known of this kind."""
        content = self._value("SELECT content FROM facts WHERE kind = ? AND place = ?", kind.kind, _place(place))
        return msgspec.json.decode(content, type=kind) if content else kind()

    def account(self) -> AccountKnown:
        """What is known of the account."""
        return self.known(AccountKnown)

    @contextmanager
    def noting(self, kind: type[_Kind], *place: str | int) -> Iterator[_Kind]:
        """What is known of this kind, to be changed; it is stored at the end, unless something was raised."""
        with self.transaction():
            known = self.known(kind, *place)
            before = msgspec.json.encode(known)
            yield known
            if msgspec.json.encode(known) != before:
                self.keep(known, *place)

    def keep(self, known: Known, *place: str | int) -> None:
        """Store what is known of a kind, whatever was before."""
        row = (known.kind, _place(place), msgspec.json.encode(known).decode())
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", row)

    def generation(self, match: str = "") -> int:
        """The server's generation, by the newest letter; that in which a match stands, if it is known."""
        known = self.standing(match) if match else None
        return known.generation if known else self.account().generation

    # Letters.

    def has_seen(self, handle: str) -> bool:
        """True if the letter at this place was looked at."""
        return self._value("SELECT 1 FROM seen WHERE handle = ?", handle) is not None

    def see(self, handle: str, *, forged: bool = False) -> None:
        """Remember that the letter at this place was looked at, and if it was taken for forged."""
        with self.transaction():
            self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (handle,))
            if forged:
                self._database.execute("INSERT OR IGNORE INTO forged VALUES (?)", (handle,))

    def read_forged_again(self) -> None:
        """Forget that letters were looked at which were taken for forged."""
        self._database.execute("DELETE FROM seen WHERE handle IN (SELECT handle FROM forged)")
        self._database.execute("DELETE FROM forged")

    def has_read(self, sha256: str) -> bool:
        """True if a letter of these bytes was taken in."""
        return self._value("SELECT 1 FROM letters WHERE sha256 = ?", sha256) is not None

    def keep_letter(self, sha256: str, came: str, subject: str, text: str, raw: bytes) -> int:
        """Keep a letter from the server; returns its number."""
        row = (sha256, came, subject, text, raw)
        query = "INSERT INTO letters (sha256, came, subject, text, raw) VALUES (?, ?, ?, ?, ?)"
        return int(self._database.execute(query, row).lastrowid or 0)

    def file(self, letter: int, match: str) -> None:
        """Record that a letter is about a match."""
        self._database.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (letter, match))

    def letters(self, match: str) -> list[tuple[str, bytes]]:
        """The letters about a match, as they came, each with its identifier here."""
        query = "SELECT id, raw FROM letters JOIN about ON letter = id WHERE match = ? ORDER BY id"
        return [(f"letter {number}", raw) for number, raw in self._database.execute(query, (match,))]

    def texts(self, match: str) -> list[tuple[str, str]]:
        """Subject and text of each letter about a match, as they came."""
        query = "SELECT subject, text FROM letters JOIN about ON letter = id WHERE match = ? ORDER BY id"
        return self._database.execute(query, (match,)).fetchall()

    def talked(self, match: str, player: str, text: str, *, alone: bool) -> None:
        """Keep the words of a player to the others of a match, or to some of them alone."""
        self._database.execute(
            "INSERT INTO talk (match, player, text, alone) VALUES (?, ?, ?, ?)", (match, player, text, alone)
        )

    def talk(self, match: str) -> list[tuple[str, str, int]]:
        """The words of the players of a match in their order: by whom, the text, and whether to some alone."""
        return self._database.execute(
            "SELECT player, text, alone FROM talk WHERE match = ? ORDER BY id", (match,)
        ).fetchall()

    def last_text(self) -> str:
        """The text of the last letter that was taken in."""
        return self._value("SELECT text FROM letters ORDER BY id DESC LIMIT 1") or ""

    # Matches.

    def standing(self, match: str) -> MatchView | None:
        """The state of a match, by the newest bulletin."""
        standing = self._value("SELECT standing FROM matches WHERE id = ?", match)
        return msgspec.json.decode(standing, type=MatchView) if standing else None

    def standing_time(self, match: str) -> str:
        """The time of that bulletin; empty if there is none."""
        return self._value("SELECT time FROM matches WHERE id = ?", match) or ""

    def standings(self) -> list[MatchView]:
        """The states of all matches, by their numbers."""
        rows = self._database.execute("SELECT standing FROM matches ORDER BY length(id), id")
        return [msgspec.json.decode(standing, type=MatchView) for (standing,) in rows]

    def stand(self, time: str, standing: MatchView) -> None:
        """Record the state of a match, and the time of the bulletin."""
        row = (standing.match, time, msgspec.json.encode(standing).decode())
        self._database.execute("INSERT OR REPLACE INTO matches VALUES (?, ?, ?)", row)

    def tournament(self, name: str) -> TournamentView | None:
        """The state of a tournament, by the newest bulletin."""
        standing = self._value("SELECT standing FROM tournaments WHERE id = ?", name)
        return msgspec.json.decode(standing, type=TournamentView) if standing else None

    def tournaments(self) -> list[TournamentView]:
        """The states of all tournaments, by their numbers."""
        rows = self._database.execute("SELECT standing FROM tournaments ORDER BY length(id), id")
        return [msgspec.json.decode(standing, type=TournamentView) for (standing,) in rows]

    def stand_in(self, standing: TournamentView) -> None:
        """Record the state of a tournament."""
        row = (standing.tournament, msgspec.json.encode(standing).decode())
        self._database.execute("INSERT OR REPLACE INTO tournaments VALUES (?, ?)", row)

    def paper(self, match: str, game: int, turn: int, kind: str) -> JsonObject | None:
        """A JSON file that a letter brought: a requested setup, a position, or the reports of a turn."""
        query = "SELECT content FROM papers WHERE match = ? AND game = ? AND turn = ? AND kind = ?"
        paper: JsonObject | None = json.loads(self._value(query, match, game, turn, kind) or "null")
        return paper

    def latest(self, match: str, kind: str) -> JsonObject | None:
        """The file of this kind about the latest turn."""
        query = "SELECT content FROM papers WHERE match = ? AND kind = ? ORDER BY game DESC, turn DESC LIMIT 1"
        paper: JsonObject | None = json.loads(self._value(query, match, kind) or "null")
        return paper

    def put(self, place: tuple[str, int, int, str], seq: int, content: JsonObject) -> None:
        """Keep such a file, unless one from a later letter is kept."""
        query = (
            "INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (match, game, turn, kind) DO UPDATE SET"
            " seq = excluded.seq, content = excluded.content WHERE excluded.seq >= papers.seq"
        )
        self._database.execute(query, (*place, seq, json.dumps(content, sort_keys=True)))

    def head(self, match: str, seq: int, generation: int = 0) -> str | None:
        """The head after this entry, as the first letter showed it: of this generation, or if it is not forgotten."""
        which = "generation = ?" if generation else "forgotten = ?"
        query = f"SELECT head FROM heads WHERE match = ? AND seq = ? AND {which} ORDER BY generation"
        head: str | None = self._value(query, match, seq, generation)
        return head

    def heads(self, match: str) -> dict[int, str]:
        """The heads that letters showed, by their entries; without those that the server has forgotten."""
        query = "SELECT seq, head FROM heads WHERE match = ? AND NOT forgotten ORDER BY seq, generation DESC"
        return dict(self._database.execute(query, (match,)))

    def put_head(
        self, match: str, generation: int, told: TranscriptHead, letter: int, *, forgotten: bool = False
    ) -> None:
        """Remember a signed head, in the generation whose letter showed it."""
        row = (match, generation, told.seq, told.head, told.signature, letter, forgotten)
        self._database.execute("INSERT OR IGNORE INTO heads VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def forget_since(self, told: MatchView, seq: int) -> list[int]:
        """A generation began with this entry: what letters of earlier ones told since then counts no more.

        The letters stay, and so do the heads in them, as evidence. Returns the entries that the server has forgotten.
        """
        match, generation = told.match, told.generation
        lost = "match = ? AND generation < ? AND seq >= ?"
        self._database.execute(f"UPDATE heads SET forgotten = 1 WHERE {lost}", (match, generation, seq))
        self._database.execute("UPDATE texts SET forgotten = 1 WHERE match = ? AND seq >= ?", (match, seq))
        # The position of the turn that is due now, and all before it, is the same in both stories.
        past = "match = ? AND kind <> 'setup' AND (turn = 0 OR (game, turn) >= (?, ? + (kind = 'position')))"
        self._database.execute(f"DELETE FROM papers WHERE {past}", (match, told.game, told.turn))
        self._database.execute("UPDATE papers SET seq = 0 WHERE match = ?", (match,))
        self._database.execute("DELETE FROM bundles WHERE match = ?", (match,))
        rows = self._database.execute(
            f"SELECT DISTINCT seq FROM heads WHERE {lost} ORDER BY seq", (match, generation, seq)
        )
        return [number for (number,) in rows]

    def bundle(self, match: str) -> bytes | None:
        """The latest bundle of a match."""
        content: bytes | None = self._value("SELECT content FROM bundles WHERE match = ?", match)
        return content

    def put_bundle(self, match: str, name: str, seq: int, content: bytes) -> None:
        """Keep a bundle, unless a later one is kept."""
        query = (
            "INSERT INTO bundles VALUES (?, ?, ?, ?) ON CONFLICT (match) DO UPDATE SET name = excluded.name,"
            " seq = excluded.seq, content = excluded.content WHERE excluded.seq >= bundles.seq"
        )
        self._database.execute(query, (match, name, seq, content))

    def signed_texts(self, match: str) -> list[SignedText]:
        """All that letters brought of what was signed in a sealed match."""
        query = "SELECT content, NOT forgotten FROM texts WHERE match = ? ORDER BY seq, rowid"
        return [SignedText(content, bool(counts)) for content, counts in self._database.execute(query, (match,))]

    def put_signed_text(self, match: str, seq: int, content: bytes) -> None:
        """Keep what somebody signed, from a letter of this entry: what was forgotten since counts again."""
        query = "INSERT INTO texts VALUES (?, ?, ?, 0) ON CONFLICT (match, content) DO UPDATE SET forgotten = 0"
        self._database.execute(query, (match, content, seq))

    def forget_signed_texts(self, match: str) -> None:
        """Forget what was signed in a match; the server tells it again when it is asked to."""
        self._database.execute("DELETE FROM texts WHERE match = ?", (match,))

    def alarm(self, time: str, match: str, said: str) -> None:
        """Remember an accusation of the server, once."""
        if not self._value("SELECT 1 FROM alarms WHERE match = ? AND said = ?", match, said):
            self._database.execute("INSERT INTO alarms (time, match, said) VALUES (?, ?, ?)", (time, match, said))

    def forget_alarm(self, match: str, said: str) -> None:
        """Forget an accusation that its owner took back."""
        self._database.execute("DELETE FROM alarms WHERE match = ? AND said = ?", (match, said))

    def alarms(self) -> list[Alarm]:
        """All accusations."""
        return [Alarm(*row) for row in self._database.execute("SELECT time, match, said FROM alarms ORDER BY id")]

    # Where letters are answered, once each.

    def put_place(self, letter: int, place: AnswerPlace) -> None:
        """Record a place where a letter may be answered."""
        fields = "letter, message_id, address, match, game, turn"
        query = f"INSERT OR IGNORE INTO replies ({fields}) VALUES (?, ?, ?, ?, ?, ?)"
        self._database.execute(query, (letter, *place))

    def places(self) -> list[AnswerPlace]:
        """The places to which nothing was sent yet, newest first."""
        query = "SELECT message_id, address, match, game, turn FROM replies WHERE NOT spent ORDER BY letter DESC"
        return [AnswerPlace(*row) for row in self._database.execute(query)]

    def spend(self, place: AnswerPlace) -> None:
        """Record that something was sent to this place."""
        self._database.execute("UPDATE replies SET spent = 1 WHERE message_id = ?", (place.message_id,))

    # Letters of the player's own.

    def prepare(self, sent: SentForm) -> SentForm:
        """Keep a letter that is to be sent, under a new number."""
        query = (
            "INSERT INTO sent (message_id, command, match, place, rev, form, raw, to_address, state, faults, first,"
            " generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        generation = self.generation(sent.match)
        found = self._database.execute(query, (*sent[1:11], generation, generation))
        return sent._replace(id=int(found.lastrowid or 0), first=generation, generation=generation)

    def settle(self, number: int, state: str, faults: str = "[]") -> None:
        """Record what became of a letter."""
        self._database.execute("UPDATE sent SET state = ?, faults = ? WHERE id = ?", (state, faults, number))

    def send_again(self, sent: SentForm) -> SentForm:
        """Have a letter leave once more, unchanged, to the server as it is now."""
        again = sent._replace(state="ready", faults="[]", generation=self.generation(sent.match))
        query = "UPDATE sent SET state = ?, faults = ?, generation = ? WHERE id = ?"
        self._database.execute(query, (again.state, again.faults, again.generation, again.id))
        return again

    def sent(self, command: str, match: str, place: str) -> list[SentForm]:
        """The letters prepared with a command at a place, oldest first."""
        return self._sent("command = ? AND match = ? AND place = ? ORDER BY rev", command, match, place)

    def prepared(self, command: str, match: str) -> list[SentForm]:
        """The letters prepared with a command about a match, oldest first."""
        return self._sent("command = ? AND match = ? ORDER BY id", command, match)

    def by_message_id(self, message_id: str) -> SentForm | None:
        """The letter of this Message-ID."""
        return next(iter(self._sent("message_id = ?", message_id)), None)

    def in_state(self, *states: str) -> list[SentForm]:
        """The letters in these states, oldest first."""
        return self._sent(f"state IN ({', '.join('?' * len(states))}) ORDER BY id", *states)

    def _sent(self, which: str, *values: str) -> list[SentForm]:
        rows = self._database.execute(f"SELECT {_SENT} FROM sent WHERE {which}", values)
        return [SentForm(*row) for row in rows]

    def count(self) -> int:
        """The number of letters prepared."""
        return int(self._value("SELECT count(*) FROM sent"))


def _place(place: Sequence[str | int]) -> str:
    return " ".join(map(str, place))
