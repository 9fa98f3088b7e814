"""Players: addresses, keys and their changes, challenges, settings, vacations, handled texts, who is unreachable.

Only storage: the desk decides who may register or change what. The letters that prove a change of keys are sealed.
Every call is part of the caller's transaction. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from pbem.store.rows import SealedRows

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.identity import Format
    from pbem.store.database import Database

T = TypeVar("T")


class KeyRow(msgspec.Struct, frozen=True):
    """A public key as stored: its format, fingerprint and text, and the times of its addition and revocation."""

    format: Format
    fingerprint: str
    public: str
    added: str = ""
    revoked: str | None = None

    def document(self) -> dict[str, str]:
        """The key as transcripts list it."""
        return {"format": self.format, "fingerprint": self.fingerprint, "public": self.public}


class PlayerRow(msgspec.Struct, frozen=True):
    """A registered player: name, first address, and keys, oldest first."""

    name: str
    address: str
    keys: tuple[KeyRow, ...]
    """The valid keys; the revoked ones are `former`."""
    former: tuple[KeyRow, ...] = ()
    more_addresses: tuple[str, ...] = ()
    """The other addresses from which the player may write."""
    unreachable: str | None = None
    """The time since which letters to the player do not arrive; None if nothing shows that."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, the first one first."""
        return (self.address, *self.more_addresses)

    @property
    def level(self) -> str:
        """The level that the player's letters need: `mailbox`, until a first key makes it `key` for good."""
        return "key" if self.keys or self.former else "mailbox"

    @property
    def keyless(self) -> bool:
        """True if the player never had a key: letters count by the mailbox."""
        return self.level == "mailbox"


class VacationRow(msgspec.Struct, frozen=True):
    """A vacation: its first and last day, and the times between which clocks stand for it."""

    first: str
    last: str
    began: str
    ended: str


class Challenge(msgspec.Struct, frozen=True):
    """A registration that waits for its challenge to come back signed."""

    address: str
    name: str
    key: KeyRow
    challenge: str
    match: str | None = None
    """The match of an invitation, in which the player then has a seat."""


class WaitingAddress(msgspec.Struct, frozen=True):
    """A player's further address that waits for its challenge to come back."""

    address: str
    player: str
    challenge: str


_SETTINGS = "SELECT name, value FROM settings WHERE player = ?"
"""All settings that a player chose, or that were assumed: one cached query serves every setting."""

_SUPPOSED = "supposed {}"
"""The name of an assumed setting's row; no command can set a name with a blank."""

_PLAYER = (
    "SELECT name, players.address, since, format, fingerprint, public, added, revoked, more.address FROM players"
    " LEFT JOIN keys ON keys.player = name LEFT JOIN unreachable ON unreachable.player = name"
    " LEFT JOIN addresses AS more ON more.player = name AND confirmed IS NOT NULL"
    " WHERE {} ORDER BY added, fingerprint, confirmed, more.address"
)
_BY_NAME = _PLAYER.format("name = :value")
_BY_ADDRESS = _PLAYER.format(
    # One set of names: by two conditions with `OR`, SQLite 3.53 reads all unreachable players first.
    "name IN (SELECT name FROM players WHERE address = :value COLLATE NOCASE UNION"
    " SELECT player FROM addresses WHERE address = :value COLLATE NOCASE AND confirmed IS NOT NULL)"
)


_EFFECT, _CHANGED = 1, 2
"""The bits of a signed text's effects in the store."""


class HandledRow(msgspec.Struct, frozen=True):
    """A signed text that was handled before: the time of its last arrival, and its effects."""

    time: str
    effect: bool
    """True if one of its commands was obeyed that is obeyed only once."""
    changed: bool
    """True if one of its commands was obeyed that changes something."""


class Players:
    """The players of a store, cached until the transaction is over."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[tuple[str, str], Any] = {}
        self._cached_in = 0

    def forget(self) -> None:
        """Empty the cache: something was changed, or a change was undone."""
        self._cache.clear()

    def by_address(self, address: str) -> PlayerRow | None:
        """The player with this address, the first or a further one; case does not matter."""
        return self._player(_BY_ADDRESS, address)

    def by_name(self, name: str) -> PlayerRow | None:
        """The player of this name."""
        return self._player(_BY_NAME, name)

    def known(self, name: str) -> PlayerRow:
        """The player of a name that must exist."""
        row = self.by_name(name)
        assert row is not None
        return row

    def _player(self, query: str, value: str) -> PlayerRow | None:
        row = self._cached(query, value, self._read)
        if row is not None:
            self._cache[_BY_NAME, row.name] = row
        return row

    def _cached(self, query: str, value: str, read: Callable[[str, str], T]) -> T:
        """The result of `read`, cached until the transaction is over."""
        if self._cached_in != self._database.begun or not self._database.in_transaction:
            self._cached_in = self._database.begun
            self.forget()
        if (query, value) not in self._cache:
            self._cache[query, value] = read(query, value)
        result: T = self._cache[query, value]
        return result

    def _read(self, query: str, value: str) -> PlayerRow | None:
        rows = self._database.execute(query, {"value": value}).fetchall()
        if not rows:
            return None
        name, address, since, *_ = rows[0]
        # Each key stands beside each further address.
        own = [row[3:] for row in rows if row[0] == name]
        keys = [KeyRow(*key) for key in dict.fromkeys(row[:-1] for row in own) if key[0] is not None]
        valid = tuple(key for key in keys if key.revoked is None)
        former = tuple(key for key in keys if key.revoked is not None)
        addresses = tuple(more for more in dict.fromkeys(row[-1] for row in own) if more is not None)
        return PlayerRow(name, address, valid, former, addresses, since)

    def keys(self, player: str) -> tuple[KeyRow, ...]:
        """The player's valid keys, oldest first."""
        row = self.by_name(player)
        return row.keys if row else ()

    def level(self, player: str, keys: object = "") -> str | None:
        """The level that this player's letters need, by terms about `keys`, too; None if there is no such player."""
        row = self.by_name(player)
        return "key" if keys == "demanded" else row.level if row else None

    def owner(self, fingerprint: str) -> str | None:
        """The name of the player who has this key, or had it."""
        return self._database.text("SELECT player FROM keys WHERE fingerprint = ?", (fingerprint,))

    def setting(self, player: str, name: str, default: str) -> str:
        """The player's choice for a setting; without one, the assumed value, or the default."""
        chosen = self._settings(player)
        return chosen.get(name, chosen.get(_SUPPOSED.format(name), default))

    def has_chosen(self, player: str, name: str) -> bool:
        """True if the player ever chose this setting."""
        return name in self._settings(player)

    def _settings(self, player: str) -> dict[str, str]:
        return self._cached(
            _SETTINGS, player, lambda sql, name: dict(self._database.execute(sql, (name,)).fetchall())
        )

    def suppose(self, player: str, name: str, value: str) -> None:
        """Assume a value for a setting until the player chooses one."""
        self.choose(player, _SUPPOSED.format(name), value)

    def choose(self, player: str, name: str, value: str) -> None:
        """Store the player's choice for a setting."""
        self.forget()
        self._database.put("settings", "player, name", player=player, name=name, value=value)

    def vacations(self, player: str, since: str = "") -> list[VacationRow]:
        """The player's vacations that ended, or will end, after a moment, oldest first."""
        query = "SELECT first, last, began, ended FROM vacations WHERE player = ? AND ended > ? ORDER BY began"
        return self._database.read(VacationRow, query, (player, since))

    def take_vacation(self, player: str, row: VacationRow) -> None:
        """Store a vacation."""
        self._database.put("vacations", "player, began", player=player, **asdict(row))

    def call_off(self, player: str, now: str, today: str) -> None:
        """End the current vacation, with today as its last day, and delete later ones."""
        self._database.execute("DELETE FROM vacations WHERE player = ? AND began >= ?", (player, now))
        self._database.execute(
            "UPDATE vacations SET ended = ?, last = ? WHERE player = ? AND ended > ?", (now, today, player, now)
        )

    def add(self, name: str, address: str, key: KeyRow | None, time: str) -> None:
        """Add a player, with a first key or without one."""
        self.forget()
        self._database.execute("INSERT INTO players VALUES (?, ?, ?)", (name, address, time))
        if key is not None:
            self.add_key(name, key, time)

    def add_key(self, name: str, key: KeyRow, time: str) -> None:
        """Add a key to a player; no player may have it, or have had it."""
        self.forget()
        self._database.put("keys", player=name, **asdict(replace(key, added=time)))

    def revoke_key(self, fingerprint: str, time: str) -> None:
        """Revoke a key; it stays known, so that nobody can register it again."""
        self.forget()
        self._database.execute("UPDATE keys SET revoked = ? WHERE fingerprint = ?", (time, fingerprint))

    def await_address(self, player: str, address: str, challenge: str, time: str) -> None:
        """Store the challenge that is mailed to a further address of the player."""
        row = {"address": address, "challenge": challenge, "created": time, "confirmed": None}
        self._database.put("addresses", "address COLLATE NOCASE, player", player=player, **row)

    def waiting_addresses(self, *, address: str | None = None, player: str | None = None) -> list[WaitingAddress]:
        """The addresses whose challenge has not come back: this one, for any player, or all of this player."""
        query = (
            "SELECT address, player, challenge FROM addresses WHERE confirmed IS NULL"
            " AND (address = :address COLLATE NOCASE OR player = :player) ORDER BY created, address"
        )
        return self._database.read(WaitingAddress, query, {"address": address, "player": player})

    def confirm_address(self, player: str, address: str, time: str) -> None:
        """Add a further address to the player."""
        self.forget()
        self._database.execute(
            "UPDATE addresses SET confirmed = ? WHERE address = ? COLLATE NOCASE AND player = ?",
            (time, address, player),
        )

    def recovery_hash(self, player: str) -> str | None:
        """The hash of the player's recovery code, if there is one."""
        return self._database.text("SELECT hash FROM recovery_codes WHERE player = ?", (player,))

    def set_recovery_hash(self, player: str, code_hash: str, time: str) -> None:
        """Store the hash of a new recovery code, in place of the old one."""
        self._database.put("recovery_codes", "player", player=player, hash=code_hash, created=time)

    def challenges(self, address: str) -> list[Challenge]:
        """The registrations that wait for an answer from this address, one per name and key, oldest first."""
        query = (
            "SELECT address, name, format, fingerprint, public, challenge, match FROM challenges"
            " WHERE address = ? COLLATE NOCASE ORDER BY created, fingerprint, name"
        )
        rows = self._database.execute(query, (address,))
        return [Challenge(row[0], row[1], KeyRow(row[2], row[3], row[4]), row[5], row[6]) for row in rows]

    def await_answer(self, waiting: Challenge, time: str, too_old: str) -> None:
        """Store a challenge, or renew it; delete all from before `too_old`."""
        self._database.execute("DELETE FROM challenges WHERE created < ?", (too_old,))
        row = {"address": waiting.address, "name": waiting.name, "challenge": waiting.challenge, "created": time}
        key = "address COLLATE NOCASE, name, fingerprint"
        self._database.put("challenges", key, **row, match=waiting.match, **waiting.key.document())

    def answered(self, address: str) -> None:
        """Delete the challenges of this address."""
        self._database.execute("DELETE FROM challenges WHERE address = ? COLLATE NOCASE", (address,))

    def unreachable(self, player: str) -> str | None:
        """The time since which letters to this player do not arrive; None if nothing shows that."""
        row = self.by_name(player)
        return row.unreachable if row else None

    def out_of_reach(self) -> dict[str, str]:
        """All players to whom letters do not arrive, each with the time since when."""
        query = "SELECT player, since FROM unreachable ORDER BY since, player"
        return {row["player"]: row["since"] for row in self._database.rows(query)}

    def note_unreachable(self, player: str, since: str, letter: int) -> bool:
        """Note that a letter, by its number in the outbox, did not arrive; returns True if that is new."""
        self.forget()
        return self._database.add("unreachable", player=player, since=since, letter=letter)

    def note_reached(self, player: str) -> None:
        """Note that the player can be reached again."""
        self.forget()
        self._database.write("DELETE FROM unreachable WHERE player = ?", (player,))

    def handled(self, player: str, signed: str) -> HandledRow | None:
        """The row of the player's signed text with this hash; None if it is new."""
        query = "SELECT received, effect FROM handled WHERE player = ? AND signed = ?"
        row = self._database.row(query, (player, signed))
        return HandledRow(row["received"], bool(row["effect"] & _EFFECT), bool(row["effect"])) if row else None

    def handled_count(self, player: str) -> int:
        """The number of the player's signed texts that were handled."""
        return int(self._database.scalar("SELECT count(*) FROM handled WHERE player = ?", (player,)))

    def handle(self, player: str, signed: str, time: str, *, effect: bool, changed: bool) -> None:
        """Record a signed text, so that it never has its effect a second time."""
        came = _EFFECT * effect | _CHANGED * changed
        self._database.execute(
            "INSERT INTO handled VALUES (?, ?, ?, ?) ON CONFLICT (player, signed) DO UPDATE SET"
            " received = excluded.received, effect = handled.effect | excluded.effect",
            (player, signed, time, came),
        )


class WaitingKey(msgspec.Struct, frozen=True):
    """A waiting new key: the proof by which it was requested, the challenge, and since when."""

    player: str
    proof: str
    """"old-key", "recovery-code" or "mailbox"."""
    key: KeyRow
    challenge: str
    created: str
    asked_by: str | None = None
    """The fingerprint of the old key that asked."""
    letter: bytes = b""
    """Signed by the old key that asked; once a delay runs, signed by the new one."""
    due: str | None = None
    """The end of the delay; None while the challenge has not come back."""


class KeyChanges(SealedRows):
    """The waiting changes of a store."""

    def ask(self, waiting: WaitingKey) -> None:
        """Keep a change, in place of an earlier one of the same key by the same proof."""
        row = asdict(waiting) | waiting.key.document()
        del row["key"]
        self._database.put("key_changes", "player, proof, fingerprint", **self._sealed("key_changes", **row))

    def of_player(self, player: str) -> list[WaitingKey]:
        """The player's waiting changes, oldest first."""
        return self._where("player = ?", player)

    def due(self, now: str) -> list[WaitingKey]:
        """The changes whose delay is over."""
        return self._where("due <= ?", now)

    def delayed(self) -> list[WaitingKey]:
        """The changes whose delay runs."""
        return self._where("due IS NOT NULL")

    def next_due(self) -> datetime | None:
        """The end of the next delay."""
        return self._database.moment("SELECT min(due) FROM key_changes")

    def forget(
        self, player: str, *, asked_by: str | None = None, proof: str | None = None, fingerprint: str | None = None
    ) -> None:
        """Forget the player's changes: all, or those asked by one key, by one proof, or for one key."""
        self._database.write(
            "DELETE FROM key_changes WHERE player = :player"
            " AND (CAST(:asked_by AS TEXT) IS NULL OR asked_by = :asked_by)"
            " AND proof = coalesce(:proof, proof) AND fingerprint = coalesce(:fingerprint, fingerprint)",
            {"player": player, "asked_by": asked_by, "proof": proof, "fingerprint": fingerprint},
        )

    def forget_older(self, player: str, created: str) -> None:
        """Forget the player's changes whose challenge did not come back since then."""
        self._database.write(
            "DELETE FROM key_changes WHERE player = ? AND created < ? AND due IS NULL", (player, created)
        )

    def _where(self, condition: str, *values: str) -> list[WaitingKey]:
        """The changes for which a condition holds, oldest first."""
        query = f"SELECT * FROM key_changes WHERE {condition} ORDER BY created, fingerprint"
        rows = self._opened_rows("key_changes", query, values)
        keys = [KeyRow(row.pop("format"), row.pop("fingerprint"), row.pop("public")) for row in rows]
        return [WaitingKey(key=key, **row) for key, row in zip(keys, rows, strict=True)]
