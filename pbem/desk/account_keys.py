"""The life of a player's keys: signing, changes, and the notices about them.

A change is entered in the transcript of each running match, with the letters that prove it. A recovery by the
mailbox alone takes effect after a delay in which every old key can stop it. The commands that ask for changes are in
`commands/key_commands.py`. Implements protocol.md, "Identity" (keys).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.desk.letter_writer import keys_of
from pbem.desk.seats import Seats, running
from pbem.identity import Key, Verdict, encryption
from pbem.identity.security_keys import passkey_host
from pbem.letters.draft import Facts, OutgoingLetter
from pbem.match import seat_clock
from pbem.match.events import keys_changed
from pbem.match.naming import hides_players
from pbem.match.pinned_keys import HOW, KeyChange
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase, Span
from pbem.requests import Recover
from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.config.server import Config
    from pbem.desk.caller import Caller
    from pbem.desk.daily_limits import DailyCounts
    from pbem.desk.match_environment import OutagesAndZones
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.mail.commands import Reading
    from pbem.store.players import KeyChanges, PlayerRow, Players, WaitingKey
    from pbem.store.questions import Notifications

_OPEN = frozenset({"own_recovery", "own_recovery_waits"})
"""The letters that are never encrypted: the player's keys may be lost."""

PATIENCE = timedelta(days=7)
"""The lifetime of a challenge."""


@dataclass(frozen=True, eq=False, repr=False)
class Keyring:
    """The keys of players: where they, their changes and what stands for them are kept; the matches that pin them."""

    players: Players
    changes: KeyChanges
    counts: DailyCounts
    mailboxes: ReplyTokens
    seats: Seats
    time: OutagesAndZones
    config: Config
    topics: Notifications
    beside: Callable[[str, KeyChange], None]
    """Hears of a player's changed keys, for matches that are to begin; raises `Refused` where there is no room."""


# The signer.


def offered(keys: Keyring, sender: str, player: PlayerRow | None) -> list[Key]:
    """The keys that may have signed a letter from this address: no others are tried.

    They include revoked keys, so that they can be reported, and keys that wait for their first signature.
    """
    if player is None:
        rows = [waiting.key for waiting in keys.players.challenges(sender)]
        rows += [key for owner in _newcomers(keys.players, sender) for key in owner.keys]
        return keys_of(rows)
    rows = [*player.keys, *(waiting.key for waiting in keys.changes.of_player(player.name))]
    return keys_of(rows) + [replace(key, state="revoked") for key in keys_of(player.former)]


def writer(keys: Keyring, sender: str, player: PlayerRow | None, verdict: Verdict) -> tuple[PlayerRow | None, bool]:
    """The player who wrote, and whether by a key that counts: it and the address are confirmed."""
    if verdict.kind != "valid":
        return player, False
    if player is not None:
        return player, any(key.fingerprint == verdict.key for key in player.keys)
    owners = (o for o in _newcomers(keys.players, sender) for key in o.keys if key.fingerprint == verdict.key)
    return next(owners, None), False


def _newcomers(players: Players, sender: str) -> list[PlayerRow]:
    """The players who said that this address is theirs."""
    names = [waiting.player for waiting in players.waiting_addresses(address=sender)]
    return [player for player in map(players.by_name, names) if player is not None]


def holds_secret(keys: Keyring, sender: str, player: PlayerRow | None, reading: Reading) -> bool:
    """True if a letter holds a secret that only its player was mailed: the recovery code, or a challenge."""
    challenges = {waiting.challenge for waiting in keys.players.challenges(sender)}
    challenges |= {waiting.challenge for waiting in keys.players.waiting_addresses(address=sender)}
    if player is not None:
        challenges |= {waiting.challenge for waiting in keys.changes.of_player(player.name)}
        asked = (command.request for command in reading.commands)
        codes = (one.code for one in asked if isinstance(one, Recover))
        if any(code is not None and is_code(keys.players, player, code) for code in codes):
            return True
    return any(command.fields.get("challenge") in challenges for command in reading.commands)


def is_code(players: Players, player: PlayerRow, code: str) -> bool:
    """True if this is the player's recovery code."""
    return hmac.compare_digest(players.recovery_hash(player.name) or "", _hash(player.name, code))


# A player's keys.


def new_code(keys: Keyring, name: str, now: datetime) -> str:
    """A new recovery code in place of the old one: 128 bits, told once, and kept only as a hash."""
    code = keys.seats.world(now).random(16)
    keys.players.set_recovery_hash(name, _hash(name, code.hex()), to_db(now))
    return code.hex("-", 2)


def account(keys: Keyring, player: PlayerRow) -> dict[str, object]:
    """The facts of an account, for `whoami`."""
    waiting = [one for one in keys.changes.of_player(player.name) if one.proof != "mailbox" or one.due]
    zone = keys.time.zone(player.name)
    return {
        "player": player,
        "waiting": [(one, seat_clock.written(from_db(one.due), zone) if one.due else None) for one in waiting],
        "keys": [
            (key, _day(key.added), _day(key.revoked), passkey_host(key.public))
            for key in (*player.keys, *player.former)
        ],
        "waiting_addresses": keys.players.waiting_addresses(player=player.name),
        "has_code": keys.players.recovery_hash(player.name) is not None,
    }


# Recovery by the mailbox alone.


def delay(config: Config) -> Phrase:
    """The delay, in words, before a key counts that only the mailbox proves: everybody is warned meanwhile."""
    return Span.of(int(config.recovery.delay.total_seconds()))


def stop_recoveries(keys: Keyring, caller: Caller) -> bool:
    """An old key signed a new letter: stop recoveries by the mailbox alone; returns True if there were any."""
    player = caller.known_player
    found = [waiting for waiting in keys.changes.of_player(player.name) if waiting.proof == "mailbox"]
    if not found:
        return False
    keys.changes.forget(player.name, proof="mailbox")
    facts = {"by": player.name, "old": caller.verdict.key}
    tell_player(keys, player, "own_recovery_stopped", Phrase("Your keys stay as they are"), caller.now, facts)
    if any(waiting.due for waiting in found):
        subject = Phrase("{player} still has a key", player=player.name)
        tell_opponents(keys, player, "recovery_stopped", subject, caller.now, facts)
    return True


def carry_out(keys: Keyring, until: datetime, now: datetime) -> None:
    """Replace old keys with new ones whose delay was over by then, within the caller's transaction."""
    for waiting in keys.changes.due(to_db(until)):
        player = keys.players.known(waiting.player)
        if keys.players.owner(waiting.key.fingerprint):
            keys.changes.forget(player.name, fingerprint=waiting.key.fingerprint)
            continue
        change, code = replace_all(keys, player, waiting, waiting.letter, now)
        write(keys, player.address, "own_keys", Phrase("Your keys"), now, name=player.name, change=change, code=code)
        tell_changed(keys, player, change, now, but=player.address)


def put_off(keys: Keyring, gap: timedelta, now: datetime) -> None:
    """Move delays that run by the length of an outage, within the caller's transaction; all are told the new time.

    During an outage nobody can object.
    """
    for waiting in keys.changes.delayed():
        assert waiting.due is not None
        due = from_db(waiting.due) + gap
        keys.changes.ask(replace(waiting, due=to_db(due)))
        player = keys.players.known(waiting.player)
        tell_recovery(keys, player, waiting, due, now)


def tell_recovery(
    keys: Keyring, player: PlayerRow, waiting: WaitingKey, due: datetime, now: datetime, *, but: str = ""
) -> None:
    """Tell the player and the opponents from when on a key counts that only the mailbox proves."""
    facts = {"by": player.name, "due": due, "fingerprint": waiting.key.fingerprint}
    subject = Phrase("Somebody says that your keys are lost")
    tell_player(keys, player, "own_recovery_waits", subject, now, facts, but=but)
    subject = Phrase("{player} says that all keys are lost", player=player.name)
    tell_opponents(keys, player, "recovery", subject, now, facts)


# Common steps of all changes.


def replace_all(
    keys: Keyring, player: PlayerRow, waiting: WaitingKey, letter: bytes, now: datetime
) -> tuple[KeyChange, str | None]:
    """Replace all keys with the new one; returns the change, and the recovery code if there is a new one."""
    gone = tuple(key.fingerprint for key in player.keys)
    change = KeyChange("replaced", HOW[waiting.proof], (waiting.key.document(),), gone, {"new": letter})
    for fingerprint in gone:
        keys.players.revoke_key(fingerprint, to_db(now))
    keys.players.add_key(player.name, waiting.key, to_db(now))
    stop_encrypting(keys, player, now)
    keys.changes.forget(player.name)
    enter(keys, player, change, now)
    # An intruder in the mailbox must not void the owner's code, with which the owner takes the account back.
    keeps = waiting.proof == "mailbox" and keys.players.recovery_hash(player.name) is not None
    return change, None if keeps else new_code(keys, player.name, now)


def stop_encrypting(keys: Keyring, before: PlayerRow, now: datetime) -> None:
    """Let a player's letters come in the clear, and say so, if none of the keys that are left can decrypt them.

    If none could before, either, such as an expired one, letters without contents go on to come in their place.
    """
    player = keys.players.known(before.name)
    could, can = (encryption.usable(keys_of(row.keys), now) for row in (before, player))
    if could and not can and keys.players.setting(player.name, "encrypted", "no") == "yes":
        keys.players.choose(player.name, "encrypted", "no")
        tell_player(keys, player, "in_the_clear", Phrase("Your letters are no longer encrypted"), now, {})


def enter(keys: Keyring, player: PlayerRow, change: KeyChange, now: datetime) -> None:
    """Enter a change in the transcript of each running match, and tell the opponents there; raises `Refused`."""
    keys.beside(player.name, change)
    for seated in running(keys.seats, player.name):
        step = seated.step(now)
        keys_changed.change(step, seated.seat, change)
        seated.commit(step)


def tell_changed(keys: Keyring, player: PlayerRow, change: KeyChange, now: datetime, *, but: str) -> None:
    """Tell the player about changed keys, at every address except the one that is answered."""
    tell_player(keys, player, "own_keys", Phrase("Your keys"), now, {"change": change, "code": None}, but=but)


def tell_opponents(
    keys: Keyring, player: PlayerRow, template: str, subject: Phrase, now: datetime, facts: Facts
) -> None:
    """Tell the others at each running match."""
    for seated in running(keys.seats, player.name):
        for other in seated.match.seats:
            if other != seated.seat and not hides_players(seated.match):
                told = _by_the_clock_of(keys, seated.match.name(other), facts)
                seated.write_at_once(other, template, subject, now, **told)


def tell_player(
    keys: Keyring, player: PlayerRow, template: str, subject: Phrase, now: datetime, facts: Facts, *, but: str = ""
) -> None:
    """Tell the player, at every address except the one that is answered."""
    told = _by_the_clock_of(keys, player.name, facts)
    for address in player.addresses:
        if address.lower() != but.lower():
            write(keys, address, template, subject, now, name=player.name, **told)


def _by_the_clock_of(keys: Keyring, player: str, facts: Facts) -> Facts:
    """The facts, with the time from which keys count, in a player's local time."""
    due = facts.get("due")
    if isinstance(due, datetime):
        return {**facts, "due": seat_clock.written(due, keys.time.zone(player))}
    return facts


def write(keys: Keyring, address: str, template: str, subject: Phrase, now: datetime, /, **facts: object) -> None:
    """A letter about keys or addresses, to one address."""
    text = keys.seats.letters.template(f"letters/{template}.txt", mailbox=keys.config.mail_address, **facts)
    out = OutgoingLetter(Phrase("[pbem] {subject}", subject=subject), text, open=template in _OPEN)
    keys.seats.letters.send(address, out, now)


def _hash(player: str, code: str) -> str:
    """The hash of a recovery code: 128 bits need no slow hash."""
    return sha256_hex(f"pbem recovery code 1\n{player}\n{code}\n".encode())


def _day(time: str | None) -> str | None:
    return from_db(time).date().isoformat() if time else None
