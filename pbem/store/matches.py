"""Matches at rest: terms, seats, transcript entries, papers, and the submissions of each turn.

Only storage, in plain rows: `pbem.match` knows what they mean. The vault seals everything that holds a secret
(papers, submissions, letters). Entries are appended at an expected head. Every call is part of the caller's
transaction. Implements protocol.md, "Transcript" and "Commitments".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import asdict

from pbem.store.rows import SealedRows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.store.database import Database
    from pbem.store.vault import Vault


class HeadMoved(Exception):
    """Somebody else appended to this transcript first; nothing was written."""


class SeatRow(msgspec.Struct, frozen=True):
    """A seat of a match: its player, and whether it accepted."""

    seat: int
    player: str
    accepted: bool


class MatchRow(msgspec.Struct, frozen=True):
    """A match as its row says: number, phase, terms as JSON, head, when to resolve, and its seats."""

    number: int
    phase: str
    terms: str
    head: str
    version: int
    """Another one whenever what is written of the match has changed, its submissions too."""
    resolve_at: str | None
    clock: str | None
    """The state of its clocks, as JSON."""
    seats: tuple[SeatRow, ...]
    """Those that are taken."""

    def of(self, seat: int) -> SeatRow:
        """The row of a seat that is taken."""
        return next(row for row in self.seats if row.seat == seat)


class EntryRow(msgspec.Struct, frozen=True):
    """A transcript entry: its canonical bytes, its head and the server's signature of the head."""

    seq: int
    entry: bytes
    head: str
    signature: bytes


class SubmissionRow(msgspec.Struct, frozen=True):
    """A submission of a game's turn (0: the setup) and seat: a JSON object, and the letter it came in."""

    game: int
    turn: int
    seat: int
    content: JsonObject
    letter: bytes


class PressRow(msgspec.Struct, frozen=True):
    """A player's message to everybody, in a game while a turn was due (0: before the first)."""

    game: int
    turn: int
    player: str
    text: str


class Registers(SealedRows):
    """The common rows of matches and tournaments: numbers, entries at an expected head, times for the clock."""

    def __init__(self, database: Database, vault: Vault, what: Literal["match", "tournament"]) -> None:
        super().__init__(database, vault)
        self._column = what
        self._table, self._entries, self._letter = (
            ("matches", "entries", "m") if what == "match" else ("tournaments", "tournament_entries", "t")
        )

    def numbers(self) -> list[int]:
        """All numbers, the oldest first."""
        return [row[0] for row in self._database.execute(f"SELECT number FROM {self._table} ORDER BY number")]

    def due(self, now: str, limit: int) -> list[int]:
        """Those in which the clock has something to do by now, the longest due first."""
        query = f"SELECT number FROM {self._table} WHERE due <= ? ORDER BY due, number LIMIT ?"
        return [row[0] for row in self._database.execute(query, (now, limit))]

    def next_due(self) -> datetime | None:
        """The time at which the clock has something to do next."""
        return self._database.moment(f"SELECT min(due) FROM {self._table} WHERE due IS NOT NULL")

    def look_at(self, number: int, due: str) -> None:
        """Make the clock look at one at this time, whatever was planned."""
        self._database.execute(f"UPDATE {self._table} SET due = ? WHERE number = ?", (due, number))

    def append(self, number: int, expected: str, entries: Iterable[EntryRow]) -> None:
        """Append entries to one whose head is as expected; raises `HeadMoved` if it is not."""
        head = expected
        for entry in entries:
            self._database.put(self._entries, **{self._column: number}, **asdict(entry))
            head = entry.head
        sql = f"UPDATE {self._table} SET head = ? WHERE number = ? AND head = ?"
        if self._database.write(sql, (head, number, expected)).rowcount != 1:
            raise HeadMoved(f"{self._letter}{number}")


class Matches(Registers):
    """The matches of a store."""

    def __init__(self, database: Database, vault: Vault) -> None:
        super().__init__(database, vault, "match")

    def look_at_all(self, now: str) -> None:
        """Make the clock look now at all in which it will have something to do."""
        self._database.execute("UPDATE matches SET due = ? WHERE due > ?", (now, now))

    def created(self, number: int) -> str:
        """The time at which a match was proposed."""
        return str(self._database.scalar("SELECT created FROM matches WHERE number = ?", (number,)))

    def plan(self, head: str, time: str) -> int:
        """Keep a number for a match that a tournament begins soon. Returns it."""
        return self.create({}, (), head, time, "planned")

    def create(
        self, terms: JsonObject, seats: Iterable[tuple[int, str, bool]], head: str, time: str, phase: str
    ) -> int:
        """Keep a new proposal; for each taken seat: number, player and whether accepted. Returns its number."""
        row = {"phase": phase, "terms": json.dumps(terms), "head": head, "created": time}
        number = self._database.insert("matches", "number", **row)
        for seat, player, accepted in seats:
            self._database.execute("INSERT INTO seats VALUES (?, ?, ?, ?)", (number, seat, player, int(accepted)))
        return number

    def seat(self, number: int, seat: int, player: str | None, terms: JsonObject, phase: str) -> None:
        """Give a free seat of a proposal to a player, with the terms that name them; or take it back (None)."""
        self._database.execute("DELETE FROM seats WHERE match = ? AND seat = ?", (number, seat))
        if player is not None:
            self._database.execute("INSERT INTO seats VALUES (?, ?, ?, 0)", (number, seat, player))
        self._database.execute(
            "UPDATE matches SET terms = ?, phase = ?, version = version + 1 WHERE number = ?",
            (json.dumps(terms), phase, number),
        )

    def reseat(self, number: int, seat: int, player: str) -> None:
        """Give a seat that is taken to another player."""
        self._database.execute("UPDATE seats SET player = ? WHERE match = ? AND seat = ?", (player, number, seat))

    def give_up(self, number: int, game: int, turn: int, seat: int) -> None:
        """Forget a seat's waiting submissions for this turn, in advance and by default (-1): they no longer count."""
        query = "DELETE FROM submissions WHERE match = ? AND game = ? AND seat = ? AND (turn >= ? OR turn = -1)"
        self._database.execute(query, (number, game, seat, turn))

    def pending(self, player: str) -> int:
        """The number of proposals by this player (who has the first seat) that wait for an answer."""
        query = (
            "SELECT count(*) FROM seats JOIN matches ON number = match"
            " WHERE player = ? AND seat = 1 AND phase IN ('open', 'proposed')"
        )
        return int(self._database.scalar(query, (player,)))

    def row(self, number: int) -> MatchRow | None:
        """The match of this number; None if there is none, or if it is only planned by a tournament."""
        query = (
            "SELECT phase, terms, head, version, resolve_at, clock, seat, player, accepted"
            " FROM matches LEFT JOIN seats ON match = number WHERE number = ? AND phase <> 'planned' ORDER BY seat"
        )
        rows = self._database.execute(query, (number,)).fetchall()
        if not rows:
            return None
        phase, terms, head, version, resolve_at, clock, *_ = rows[0]
        seats = [SeatRow(seat, player, bool(accepted)) for *_, seat, player, accepted in rows if seat is not None]
        return MatchRow(number, phase, terms, head, version, resolve_at, clock, tuple(seats))

    def known(self, number: int) -> MatchRow:
        """The match of a number that must exist; raises `LookupError`."""
        if (row := self.row(number)) is None:
            raise LookupError(f"there is no match {number}")
        return row

    def of_player(self, player: str, phases: tuple[str, ...] = ()) -> list[int]:
        """The numbers of the player's matches, of all phases or of these, oldest first."""
        query = "SELECT match FROM seats WHERE player = ? ORDER BY match"
        if phases:
            both = "SELECT match FROM seats JOIN matches ON number = match WHERE player = ?"
            query = f"{both} AND phase IN {_values(phases)} ORDER BY match"
        return [row[0] for row in self._database.execute(query, (player, *phases))]

    def accept(self, number: int, seat: int) -> None:
        """Note that a seat accepted the terms."""
        self._database.execute("UPDATE seats SET accepted = 1 WHERE match = ? AND seat = ?", (number, seat))

    def ask_again(self, number: int, seat: int) -> None:
        """Record that a seat's agreement no longer counts."""
        self._database.execute("UPDATE seats SET accepted = 0 WHERE match = ? AND seat = ?", (number, seat))
        self._database.execute("DELETE FROM consents WHERE match = ? AND seat = ?", (number, seat))

    def consent(self, number: int, seat: int, content: JsonObject, letter: bytes) -> None:
        """Keep the letter by which a seat agreed, with a JSON object about it."""
        row = self._sealed("consents", match=number, seat=seat, sealed=json.dumps(content).encode(), letter=letter)
        self._database.put("consents", "match, seat", **row)

    def consents(self, number: int) -> list[tuple[int, JsonObject, bytes]]:
        """The letters by which seats agreed, in seat order: seat, object and letter."""
        rows = self._opened_rows("consents", "SELECT * FROM consents WHERE match = ? ORDER BY seat", (number,))
        return [(row["seat"], json.loads(row["sealed"]), row["letter"]) for row in rows]

    def update(
        self,
        number: int,
        phase: str,
        resolve_at: str | None,
        clock: JsonObject | None = None,
        due: str | None = None,
    ) -> None:
        """Set a match's phase, the time at which its turn resolves, how its clocks stand and when they are due."""
        self._database.execute(
            "UPDATE matches SET phase = ?, resolve_at = ?, clock = ?, due = ?, version = version + 1"
            " WHERE number = ?",
            (phase, resolve_at, json.dumps(clock) if clock else None, due, number),
        )

    def keep_note(self, number: int, game: int, seat: int, note: str) -> None:
        """Keep what a seat wrote to itself in a game, which nobody else can read, in place of its last such note."""
        row = self._sealed("notes_to_self", match=number, seat=seat, game=game, sealed=note.encode())
        self._database.put("notes_to_self", "match, seat", **row)

    def note(self, number: int, game: int, seat: int) -> str | None:
        """A seat's last note to itself in a game."""
        note = self._secret("notes_to_self", "sealed", match=number, game=game, seat=seat)
        return None if note is None else note.decode()

    def keep_text(self, number: int, mail: str, text: str) -> None:
        """Keep what a player signed with its signature, by the SHA-256 of its letter, for the other players."""
        row = self._sealed("signed_texts", match=number, mail=mail, sealed=text.encode())
        self._database.add("signed_texts", **row)

    def text(self, number: int, mail: str) -> str | None:
        """The signed text of a letter, with its signature."""
        text = self._secret("signed_texts", "sealed", match=number, mail=mail)
        return None if text is None else text.decode()

    def note_press(self, number: int, player: str, time: str) -> None:
        """Record that a player wrote to the others then, but not what."""
        self._database.execute("INSERT INTO press_times VALUES (?, ?, ?)", (number, player, time))

    def press_times(self, number: int) -> list[tuple[str, str]]:
        """The writers of messages to the others, and the times, oldest first."""
        query = "SELECT player, time FROM press_times WHERE match = ? ORDER BY time"
        return [(row[0], row[1]) for row in self._database.execute(query, (number,))]

    def entries(self, number: int) -> list[EntryRow]:
        """The whole transcript, in order."""
        query = "SELECT seq, entry, head, signature FROM entries WHERE match = ? ORDER BY seq"
        return self._database.read(EntryRow, query, (number,))

    def entry(self, number: int, seq: int) -> EntryRow | None:
        """The entry of this number."""
        query = "SELECT seq, entry, head, signature FROM entries WHERE match = ? AND seq = ?"
        return self._database.read_one(EntryRow, query, (number, seq))

    def signature(self, number: int, head: str) -> EntryRow | None:
        """The entry with this head."""
        query = "SELECT seq, entry, head, signature FROM entries WHERE match = ? AND head = ?"
        return self._database.read_one(EntryRow, query, (number, head))

    def file(self, number: int, path: str, opens_with: int, seat: int | None, content: bytes) -> None:
        """Keep a paper of the match; one that is filed again opens with the game that is named last."""
        row = self._sealed("papers", match=number, path=path, game=opens_with, seat=seat, sealed=content)
        self._database.put("papers", "match, path", **row)

    def secret(self, number: int) -> str:
        """64 hex digits that nobody can guess, always the same for a match: of the addresses for its agreement."""
        return self._vault.digest(f"pbem proposal m{number}".encode())

    def paper(self, number: int, path: str) -> bytes | None:
        """One paper of the match."""
        return self._secret("papers", "sealed", match=number, path=path)

    def papers(self, number: int, games: int, game: int, seat: int | None) -> dict[str, bytes]:
        """All papers of the first `games` games, and those of the game `game` that belong to the seat."""
        return self._papers("match = ? AND (game <= ? OR (game = ? AND seat = ?))", number, games, game, seat)

    def papers_but_letters(self, number: int) -> dict[str, bytes]:
        """All papers of the match that are no letters, by path."""
        return self._papers("match = ? AND substr(path, 1, 8) <> 'letters/'", number)

    def _papers(self, condition: str, *values: int | None) -> dict[str, bytes]:
        rows = self._opened_rows("papers", f"SELECT * FROM papers WHERE {condition}", values)
        return {row["path"]: row["sealed"] for row in rows}

    def publish(self, number: int, row: PressRow, time: str) -> None:
        """Keep press that its writer made public; other press is never kept."""
        self._database.put("press", match=number, time=time, **asdict(row))

    def press(self, number: int) -> list[PressRow]:
        """The messages to everybody in a match, oldest first."""
        query = "SELECT game, turn, player, text FROM press WHERE match = ? ORDER BY id"
        return self._database.read(PressRow, query, (number,))

    def in_phases(self, *phases: str) -> list[int]:
        """The numbers of the matches in these phases, oldest first."""
        query = f"SELECT number FROM matches WHERE phase IN {_values(phases)} ORDER BY number"
        return [row[0] for row in self._database.execute(query, phases)]

    def submit(self, number: int, row: SubmissionRow) -> None:
        """Keep a submission; it replaces the seat's earlier one for that turn."""
        place = {"match": number, "game": row.game, "turn": row.turn, "seat": row.seat}
        sealed = self._sealed("submissions", **place, sealed=json.dumps(row.content).encode(), letter=row.letter)
        self._database.put("submissions", ", ".join(place), **sealed)

    def submitted(self, number: int) -> dict[tuple[int, int, int], JsonObject]:
        """The objects of all submissions, those of finished turns included, by game, turn and seat."""
        query = "SELECT match, game, turn, seat, sealed FROM submissions WHERE match = ? ORDER BY game, turn, seat"
        rows = self._opened_rows("submissions", query, (number,))
        return {(row["game"], row["turn"], row["seat"]): json.loads(row["sealed"]) for row in rows}

    def waiting(self, number: int, game: int, turn: int) -> list[SubmissionRow]:
        """A game's setups and, while a turn is due (0: none is), orders for it, for later ones, and by default."""
        due = "(turn = 0 OR (? > 0 AND (turn < 0 OR turn >= ?)))"
        query = f"SELECT * FROM submissions WHERE match = ? AND game = ? AND {due} ORDER BY turn, seat"
        rows = self._opened_rows("submissions", query, (number, game, turn, turn))
        return [
            SubmissionRow(game, row["turn"], row["seat"], json.loads(row["sealed"]), row["letter"]) for row in rows
        ]


def games_of(database: Database) -> set[str]:
    """The games of all matches of a store."""
    query = "SELECT DISTINCT json_extract(terms, '$.game') FROM matches WHERE phase <> 'planned'"
    return {game for (game,) in database.execute(query)}


def _values(phases: tuple[str, ...]) -> str:
    """A list in SQL with a placeholder for each phase."""
    return f"({', '.join('?' * len(phases))})"
