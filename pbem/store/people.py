"""People around the matches: seats that wait for somebody, invitations, observers, silence, blocks, standings.

Only storage: who may join or watch what is decided at the desk. Every call is part of the caller's transaction.
Implements protocol.md, "Commands" (`join`, `observe`, `standings`, `stop`, `block`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import asdict, replace

from pbem.store.players import Players

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pbem.store.database import Database

Pool = Literal["people", "programs"]
"""A table of ratings: that of matches among people, or that of matches with a program in a seat."""

_HIDDEN = '%"anonymous": true%'
"""The terms of a match that hides who plays, as the store holds them."""

_FREE = "FROM free_seats AS free WHERE seat NOT IN (SELECT seat FROM seats WHERE match = free.match)"
"""The seats that nobody has taken yet."""

POOLS: tuple[Pool, ...] = ("people", "programs")


class Turns(msgspec.Struct, frozen=True):
    """A player's reliability: the setups and turns that were requested in all games, and those that came in time."""

    asked: int = 0
    in_time: int = 0


class PlayerStanding(msgspec.Struct, frozen=True):
    """A player's standing in one game and pool: matches, and the rating's mean and deviation."""

    player: str
    played: int = 0
    won: int = 0
    drawn: int = 0
    abandoned: int = 0
    """Matches that did not end on the board: counted separately, and not rated."""
    mean: float | None = None
    deviation: float | None = None
    turns: Turns = Turns()
    pool: Pool = "people"
    program: bool = False
    """True if the player is a program."""


class People:
    """The people of a store."""

    def __init__(self, database: Database, players: Players | None = None) -> None:
        self._database = database
        self._players = players or Players(database)

    # Seats that wait for somebody: for an address that was invited, or (None) for anybody.

    def keep_free(self, match: int, seat: int, address: str | None) -> None:
        """Keep a seat for whoever joins, or for the address that is invited."""
        self._database.execute("INSERT INTO free_seats VALUES (?, ?, ?)", (match, seat, address))

    def free(self, match: int) -> dict[int, str | None]:
        """The seats of a match that wait for somebody, and the address each is kept for, if any."""
        query = f"SELECT seat, address {_FREE} AND match = ? ORDER BY seat"
        return dict(self._database.execute(query, (match,)).fetchall())

    def kept_for(self, address: str) -> list[tuple[int, int]]:
        """The matches to which the address is invited, each with the seat."""
        query = f"SELECT match, seat {_FREE} AND address = ? COLLATE NOCASE ORDER BY match, seat"
        return [(row[0], row[1]) for row in self._database.execute(query, (address,))]

    def is_offered(self, match: int, seat: int) -> bool:
        """True if the seat is, or was until somebody took it, free for anybody, and the match is still open."""
        query = "SELECT 1 FROM free_seats WHERE match = ? AND seat = ? AND address IS NULL"
        return self._database.scalar(query, (match, seat)) is not None

    def open_matches(self) -> list[int]:
        """The matches of the open list, newest first."""
        query = f"SELECT DISTINCT match {_FREE} AND address IS NULL ORDER BY match DESC"
        return [row[0] for row in self._database.execute(query)]

    def withdraw(self, match: int) -> None:
        """Stop keeping any seat of the match; nobody is told any more that it is proposed."""
        self._database.execute("DELETE FROM free_seats WHERE match = ?", (match,))
        self._database.execute("DELETE FROM unasked WHERE match = ?", (match,))

    def invite(self, mailbox: str, time: str) -> None:
        """Note that a mailbox is invited."""
        self._database.write("INSERT INTO invited VALUES (?, ?)", (mailbox, time))

    def is_invited(self, mailbox: str) -> bool:
        """True if it was invited before: nobody is invited twice."""
        return self._database.scalar("SELECT 1 FROM invited WHERE address = ?", (mailbox,)) is not None

    # Those who want no more mail.

    def opt_out(self, addresses: Iterable[str], time: str) -> None:
        """Note that these addresses want no more mail, except about running matches."""
        for address in addresses:
            self._database.add("silent", address=address, since=time)

    def opted_out(self, address: str) -> bool:
        """True if the address wants no more mail."""
        return self._database.scalar("SELECT 1 FROM silent WHERE address = ? COLLATE NOCASE", (address,)) is not None

    def opt_in(self, addresses: Iterable[str]) -> None:
        """Note that these addresses want mail again."""
        for address in addresses:
            self._database.execute("DELETE FROM silent WHERE address = ? COLLATE NOCASE", (address,))

    # Letters that nobody asked for.

    def played_together(self, player: str, other: str) -> bool:
        """True if these two have, or had, seats in a match that began, and that does not hide who plays."""
        query = (
            "SELECT 1 FROM seats AS own JOIN seats AS theirs ON theirs.match = own.match"
            " JOIN matches ON number = own.match WHERE own.player = ? AND theirs.player = ?"
            " AND (phase = 'closed' OR phase IN ('setup', 'playing') AND terms NOT LIKE ?) LIMIT 1"
        )
        return self._database.execute(query, (player, other, _HIDDEN)).fetchone() is not None

    def hold_back(self, player: str, match: int, due: str) -> None:
        """Tell the player of a match, which is proposed or in which a seat is offered, no earlier than then."""
        self._database.add("unasked", player=player, match=match, due=due)

    def held_back(self, player: str) -> list[int]:
        """The matches of which the player is to be told, oldest first."""
        query = "SELECT match FROM unasked WHERE player = ? ORDER BY match"
        return [row[0] for row in self._database.execute(query, (player,))]

    def held_back_until(self, time: str) -> list[str]:
        """The players who are to be told of some by then."""
        query = "SELECT DISTINCT player FROM unasked WHERE due <= ? ORDER BY player"
        return [row[0] for row in self._database.execute(query, (time,))]

    def next_held_back(self) -> datetime | None:
        """The time at which the next player is to be told of some."""
        return self._database.moment("SELECT min(due) FROM unasked")

    def told(self, player: str) -> None:
        """Note that the player was told of these."""
        self._database.execute("DELETE FROM unasked WHERE player = ?", (player,))

    # Blocks.

    def block(self, player: str, other: str, time: str) -> None:
        """Note that the player wants nothing from the other, whether there is such a player or not."""
        self._database.add("blocks", player=player, blocked=other, since=time)

    def unblock(self, player: str, other: str) -> bool:
        """Note that the player wants letters from the other again; False if none were unwanted."""
        sql = "DELETE FROM blocks WHERE player = ? AND blocked = ?"
        return self._database.execute(sql, (player, other)).rowcount == 1

    def blocked(self, player: str) -> list[str]:
        """Those from whom the player wants nothing, by name."""
        query = "SELECT blocked FROM blocks WHERE player = ? ORDER BY blocked"
        return [row[0] for row in self._database.execute(query, (player,))]

    def blocks(self, player: str, other: str) -> bool:
        """True if the player wants nothing from the other."""
        query = "SELECT 1 FROM blocks WHERE player = ? AND blocked = ?"
        return self._database.execute(query, (player, other)).fetchone() is not None

    # Observers.

    def observe(self, match: int, player: str, time: str) -> None:
        """Let the player watch the match from now on."""
        self._database.add("observers", match=match, player=player, since=time)

    def unobserve(self, match: int, player: str) -> bool:
        """Let the player no longer watch the match; False if the player did not."""
        sql = "DELETE FROM observers WHERE match = ? AND player = ?"
        return self._database.execute(sql, (match, player)).rowcount == 1

    def observers(self, match: int) -> list[str]:
        """The observers of the match, in the order in which they came."""
        query = "SELECT player FROM observers WHERE match = ? ORDER BY since, player"
        return [row[0] for row in self._database.execute(query, (match,))]

    # Standings.

    def is_program(self, player: str) -> bool:
        """True if the player has said to be a program."""
        return self._players.setting(player, "program", "no") == "yes"

    def programs(self, players: Iterable[str]) -> list[int]:
        """The seats of those among these players who are programs."""
        return [seat for seat, player in enumerate(players, start=1) if self.is_program(player)]

    def pool(self, players: Iterable[str]) -> Pool:
        """The pool in which a match of these players is rated."""
        return "programs" if any(map(self.is_program, players)) else "people"

    def standing(self, game: str, player: str, pool: Pool | None = None) -> PlayerStanding:
        """The player's standing in a game, an empty one before the first match.

        Without a pool, it is that of programs for a program, and that of people for anybody else.
        """
        program = self.is_program(player)
        pool = pool or ("programs" if program else "people")
        query = "SELECT * FROM standings WHERE game = ? AND pool = ? AND player = ?"
        found = self._database.read_one(PlayerStanding, query, (game, pool, player)) or PlayerStanding(
            player, pool=pool
        )
        return replace(found, turns=self.turns(player), program=program)

    def turns(self, player: str) -> Turns:
        """The number of turns that were requested from the player, and of those that came in time."""
        query = "SELECT asked, in_time FROM turns WHERE player = ?"
        return self._database.read_one(Turns, query, (player,)) or Turns()

    def count_turn(self, player: str, *, in_time: bool) -> None:
        """Count one more turn that was requested from the player."""
        self._database.execute(
            "INSERT INTO turns VALUES (?, 1, ?) ON CONFLICT (player)"
            " DO UPDATE SET asked = turns.asked + 1, in_time = turns.in_time + excluded.in_time",
            (player, int(in_time)),
        )

    def count_abandoned(self, game: str, player: str, players: Iterable[str]) -> None:
        """Count one more match of these players that this one left unfinished."""
        found = self.standing(game, player, self.pool(players))
        self.record(game, [replace(found, abandoned=found.abandoned + 1)])

    def standings(self, game: str, pool: Pool, most: int) -> list[PlayerStanding]:
        """The players of a game, the best rated first, by the rating's lower bound (mean less three deviations)."""
        query = "SELECT * FROM standings WHERE game = ? AND pool = ? ORDER BY sure DESC NULLS LAST, player LIMIT ?"
        rows = self._database.read(PlayerStanding, query, (game, pool, most))
        return [replace(found, program=self.is_program(found.player)) for found in rows]

    def record(self, game: str, standings: Iterable[PlayerStanding]) -> None:
        """Keep these standings, each in its pool, replacing the earlier ones."""
        for found in standings:
            rated = found.mean is not None and found.deviation is not None
            sure = found.mean - 3 * found.deviation if rated else None  # type: ignore[operator]  # rated: both are there
            row = asdict(found)
            del row["turns"], row["program"]
            self._database.put("standings", "game, pool, player", game=game, sure=sure, **row)
