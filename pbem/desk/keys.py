"""The life of a player's keys and addresses: added, revoked, lost and recovered; and who is told.

A new key is asked for by an old one, by the recovery code, or by the mailbox alone, and proves itself by signing a
form. The mailbox alone takes effect after a delay in which every old key can stop it. What changed is entered in the
transcript of each running match, with the letters that prove it. Implements protocol.md, "Identity" (keys).
"""

from __future__ import annotations

import hmac
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog

from pbem.desk.answer import IN_YOUR_NAME, Answer, refusal
from pbem.desk.clerk import Out, duration
from pbem.desk.table import commit
from pbem.games import Fault, Refused
from pbem.identity import STATES, BadKey, Key
from pbem.match.events import keys as keys_changed
from pbem.match.keys import HOW, KeyChange
from pbem.match.state import RUNNING
from pbem.match.step import Step
from pbem.match.transcript import digest
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.store.database import moment, stamp
from pbem.store.keychanges import WaitingKey
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pbem.config import Config
    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.beforehand import Beforehand
    from pbem.desk.clerk import Clerk
    from pbem.desk.mailbox import Mailboxes
    from pbem.identity import Verdict
    from pbem.mail.commands import Command, Reading
    from pbem.match.state import Match
    from pbem.match.step import World
    from pbem.store.keychanges import KeyChanges
    from pbem.store.matches import MatchRow
    from pbem.store.people import People
    from pbem.store.players import PlayerRow, Players

__all__ = ["KeyLife"]

_MOST_KEYS = 10
_MOST_ADDRESSES = 5
_CHANGES_A_DAY = 10
"""How often a day a player may change keys: opponents are told of each."""

_LETTERS_A_DAY = 5
"""How many challenges a day are mailed for one player to an address that need not have asked for them."""

_PATIENCE = timedelta(days=7)
"""How long a challenge may be answered."""


_NO_KEY = Phrase(
    "you have no key yet; `recover` with one beneath it makes it yours, after notice to your opponents and a delay"
)


_PASTE = Phrase("paste the new public key beneath, such as `{command}` and then `ssh-ed25519 AAAA...`")
_PASTE_OR_ATTACH = Phrase(
    "paste the new public key beneath, such as `{command}` and then `ssh-ed25519 AAAA...`; or attach it, and write"
    " its fingerprint after `key add`: you must sign for that very key"
)


class KeyLife:
    """The keys of a server's players; `today` counts what happened today, by a mark, this time included."""

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        config: Config,
        players: Players,
        changes: KeyChanges,
        archive: Archive,
        clerk: Clerk,
        world: Callable[[datetime], World],
        today: Callable[[str, datetime], int],
        people: People,
        reader: Beforehand,
        mailboxes: Mailboxes,
    ) -> None:
        self._config = config
        self._players = players
        self._changes = changes
        self._archive = archive
        self._clerk = clerk
        self._world = world
        self._today = today
        self._people = people
        self._reader = reader
        self._mailboxes = mailboxes
        self._log: Any = structlog.get_logger("keys")
        self.commands: dict[str, Callable[[Caller, Command], Answer]] = {
            "key add": self.add,
            "key revoke": self.revoke,
            "key keep": self.keep,
            "recover": self.recover,
            "address add": self.add_address,
        }

    @property
    def delay(self) -> Phrase:
        """How long everybody is warned before a new key counts that nothing but the mailbox speaks for: in words."""
        return duration(int(self._config.recovery.delay.total_seconds()))

    # Who signs.

    def offered(self, sender: str, player: PlayerRow | None) -> list[Key]:
        """The keys that a letter from this address may be signed with: no others are tried.

        The revoked ones are among them, to be told as such, and those that wait for their first signature.
        """
        if player is None:
            rows = [waiting.key for waiting in self._players.challenges(sender)]
            rows += [key for owner in self._newcomers(sender) for key in owner.keys]
            return [Key(row.format, row.fingerprint, row.public) for row in rows]
        rows = [*player.keys, *(waiting.key for waiting in self._changes.of_player(player.name))]
        keys = [Key(row.format, row.fingerprint, row.public) for row in rows]
        return keys + [Key(row.format, row.fingerprint, row.public, state="revoked") for row in player.former]

    def writer(self, sender: str, player: PlayerRow | None, verdict: Verdict) -> tuple[PlayerRow | None, bool]:
        """The player who wrote, and whether the key or the address is not the player's yet."""
        if verdict.kind != "valid":
            return player, False
        if player is not None:
            return player, all(key.fingerprint != verdict.key for key in player.keys)
        owners = (o for o in self._newcomers(sender) for key in o.keys if key.fingerprint == verdict.key)
        owner = next(owners, None)
        return owner, owner is not None

    def _newcomers(self, sender: str) -> list[PlayerRow]:
        """The players who said that this address is theirs."""
        names = [waiting.player for waiting in self._players.waiting_addresses(address=sender)]
        return [player for player in map(self._players.by_name, names) if player is not None]

    # Commands.

    def add(self, caller: Caller, command: Command) -> Answer:
        """An old key asks for a new one."""
        _demand_key(caller, command)
        player = _player(caller)
        _fit(caller, command)
        key = self._new_key(caller, command)
        if len(player.keys) >= _MOST_KEYS:
            raise Refused(
                Fault(command.name, None, Phrase("you have {most_keys} keys; revoke one first", most_keys=_MOST_KEYS))
            )
        return self._challenge(caller, player, key, "old-key", caller.verdict.key, caller.letter.raw)

    def revoke(self, caller: Caller, command: Command) -> Answer:
        """A key is not to count any more."""
        _demand_key(caller, command)
        player = _player(caller)
        _fit(caller, command)
        given = command.arguments["fingerprint"]
        if gone := key_changes.named((key.fingerprint for key in player.former), given):
            raise Refused(Fault(command.name, given, Phrase("{gone} is revoked already", gone=gone[0])))
        found = key_changes.named((key.fingerprint for key in player.keys), given)
        if len(found) != 1:
            reason = Phrase("more of it, please: several of your keys begin so")
            if not found:
                reason = Phrase("`whoami` lists your keys")
            raise Refused(Fault(command.name, given, reason))
        if len(player.keys) == 1:
            reason = Phrase(
                "this is your only key: add another first (`key add`), or let a new one take its place at once with"
                " your recovery code (`recover CODE`)"
            )
            raise Refused(Fault(command.name, given, reason))
        self._count(player, caller.now)
        self._players.revoke_key(found[0], stamp(caller.now))
        self._changes.forget(player.name, asked_by=found[0])
        change = KeyChange("revoked", HOW["old-key"], (), tuple(found), {"old": caller.letter.raw})
        waiting = self._what_waits(player)
        self._enter(player, change, caller.now)
        self._tell_changed(player, change, caller.now, but=caller.address)
        return Answer("key_revoked", {"fingerprint": found[0], "waiting": waiting})

    def keep(self, caller: Caller, _command: Command) -> Answer:
        """The player still has a key: nothing is recovered."""
        return Answer("key_kept", {"stopped": self.stop(caller)})

    def recover(self, caller: Caller, command: Command) -> Answer:
        """All keys are lost, and a new one is there."""
        player = _player(caller)
        key = self._new_key(caller, command)
        code = command.arguments.get("code")
        if code is None:
            return self._recover_by_mailbox(caller, command, player, key)
        # 128 bits are beyond guessing: wrong codes are counted, and never stand in the way of the right one.
        if not self._is_code(player, code):
            count = self._today(f"wrong codes {player.name}", caller.now)
            log = self._log.warning if count == self._config.recovery.codes_per_day + 1 else self._log.info
            log("wrong recovery code", player=player.name, today=count)
            return refusal(command, Phrase("this is not your recovery code"))
        return self._challenge(caller, player, key, "recovery-code", None, b"")

    def _is_code(self, player: PlayerRow, code: str) -> bool:
        return hmac.compare_digest(self._players.recovery_hash(player.name) or "", _hash(player.name, code))

    def told(self, sender: str, player: PlayerRow | None, reading: Reading) -> bool:
        """Whether a letter holds what only the player was told: the recovery code, or a challenge that waits."""
        challenges = {waiting.challenge for waiting in self._players.challenges(sender)}
        challenges |= {waiting.challenge for waiting in self._players.waiting_addresses(address=sender)}
        if player is not None:
            challenges |= {waiting.challenge for waiting in self._changes.of_player(player.name)}
            codes = (command.arguments.get("code") for command in reading.commands)
            if any(code is not None and self._is_code(player, code) for code in codes):
                return True
        return any(command.fields.get("challenge") in challenges for command in reading.commands)

    def add_address(self, caller: Caller, command: Command) -> Answer:
        """One more mailbox to write from: what is mailed there must come back signed."""
        player = _player(caller)
        address = command.arguments["address"]
        local, _, domain = address.lower().partition("@")
        own = self._config.mail_address.partition("@")
        if address.lower() in [known.lower() for known in player.addresses]:
            raise Refused(Fault(command.name, address, Phrase("this address is yours already")))
        if self._people.silent(address):
            raise Refused(
                Fault(command.name, address, Phrase("nothing is mailed there: somebody wrote `stop` from it"))
            )
        if self._players.by_address(address) or (local.partition(self._config.delimiter)[0], domain) == own[::2]:
            raise Refused(Fault(command.name, address, Phrase("this address cannot be used")))
        if len(player.addresses) >= _MOST_ADDRESSES:
            raise Refused(
                Fault(
                    command.name,
                    address,
                    Phrase("you have {most_addresses} addresses already", most_addresses=_MOST_ADDRESSES),
                )
            )
        self._spare(f"address challenges {player.name}", command.name, caller.now)
        challenge = self._world(caller.now).salt()
        self._players.await_address(player.name, address, challenge, stamp(caller.now))
        facts = {"name": player.name, "address": address, "challenge": challenge}
        self._write(address, "address", Phrase("Is this your address?"), caller.now, **facts)
        return Answer("address_asked", facts)

    def confirm(self, caller: Caller, command: Command) -> Answer | None:
        """A challenge comes back; None when it is none of a registered player's."""
        if caller.player is None:
            return None
        player = caller.player
        given = {"name": command.arguments["name"], **command.fields}
        if not caller.waits or caller.verdict.key in {key.fingerprint for key in player.keys}:
            return self._confirm_address(caller, player, command)
        found = [one for one in self._changes.of_player(player.name) if one.key.fingerprint == caller.verdict.key]
        if not found:
            return None
        waiting = next((one for one in found if one.proof == given.get("proof")), found[0])
        wanted = {
            "name": player.name,
            "server": self._config.server,
            "challenge": waiting.challenge,
            "fingerprint": waiting.key.fingerprint,
            "proof": waiting.proof,
        }
        faults = [
            Fault(
                "confirm",
                f"{name} {given.get(name, '')}",
                Phrase("the form said `{name} {value}`", name=name, value=value),
            )
            for name, value in wanted.items()
            if given.get(name) != value
        ]
        if faults:
            raise Refused(*faults)
        if moment(waiting.created) + _PATIENCE < caller.now:
            raise Refused(Fault("confirm", None, Phrase("this form is too old; ask for another")))
        if self._players.owner(waiting.key.fingerprint):
            raise Refused(Fault("confirm", None, Phrase("this key was registered meanwhile")))
        _fit(caller, command)
        return self._prove(caller, player, waiting)

    def _confirm_address(self, caller: Caller, player: PlayerRow, command: Command) -> Answer | None:
        found = self._players.waiting_addresses(player=player.name)
        waiting = next((one for one in found if one.challenge == command.fields.get("challenge")), None)
        place = (command.arguments["name"], command.fields.get("server"))
        if waiting is None or place != (player.name, self._config.server):
            return None
        if self._players.by_address(waiting.address):
            raise Refused(Fault("confirm", waiting.address, Phrase("this address was registered meanwhile")))
        self._players.confirm_address(player.name, waiting.address, stamp(caller.now))
        return Answer("address_added", {"address": waiting.address, "first": player.address})

    def _prove(self, caller: Caller, player: PlayerRow, waiting: WaitingKey) -> Answer:
        """The new key has signed."""
        if waiting.proof == "mailbox":
            return self._wait(caller, player, waiting)
        self._count(player, caller.now)
        if waiting.proof == "recovery-code":
            change, code = self._replace(player, waiting, caller.letter.raw, caller.now)
        else:
            letters = {"old": waiting.letter, "new": caller.letter.raw}
            change, code = KeyChange("added", HOW[waiting.proof], (_document(waiting.key),), (), letters), None
            self._players.add_key(player.name, waiting.key, stamp(caller.now))
            self._changes.forget(player.name, fingerprint=waiting.key.fingerprint)
            self._enter(player, change, caller.now)
        self._tell_changed(player, change, caller.now, but=caller.address)
        return Answer("key_added", {"change": change, "code": code, "key": waiting.key})

    # Recovery by the mailbox alone.

    def _recover_by_mailbox(self, caller: Caller, command: Command, player: PlayerRow, key: Key) -> Answer:
        if not caller.tokens and self._today(f"recoveries {player.name}", caller.now) > _LETTERS_A_DAY:
            return refusal(command, IN_YOUR_NAME, self._mailboxes.write_back(caller.address, player, caller.now))
        facts = self._challenge(caller, player, key, "mailbox", None, b"").facts
        facts |= {"delay": self.delay}
        self._write(player.address, "own_recovery", Phrase("Your keys are said to be lost"), caller.now, **facts)
        return Answer("recovery_asked", {"delay": self.delay})

    def _wait(self, caller: Caller, player: PlayerRow, waiting: WaitingKey) -> Answer:
        """The mailbox is proved: everybody is told, and the delay runs."""
        if waiting.due is not None:
            return Answer("recovery_waits", {"due": moment(waiting.due), "fingerprint": waiting.key.fingerprint})
        due = caller.now + self._config.recovery.delay
        for other in self._changes.of_player(player.name):
            if other.due is not None:
                self._changes.forget(player.name, proof="mailbox", fingerprint=other.key.fingerprint)
        self._changes.ask(replace(waiting, letter=caller.letter.raw, due=stamp(due)))
        facts = {"by": player.name, "due": due, "fingerprint": waiting.key.fingerprint}
        subject = Phrase("Your keys are said to be lost")
        self._tell_player(player, "own_recovery_waits", subject, caller.now, facts, but=caller.address)
        subject = Phrase("{player} says that all keys are lost", player=player.name)
        self._tell_opponents(player, "recovery", subject, caller.now, facts)
        return Answer("recovery_waits", facts)

    def stop(self, caller: Caller) -> bool:
        """An old key signed a new letter: nothing is recovered by the mailbox alone; whether anything would have."""
        player = _player(caller)
        found = [waiting for waiting in self._changes.of_player(player.name) if waiting.proof == "mailbox"]
        if not found:
            return False
        self._changes.forget(player.name, proof="mailbox")
        facts = {"by": player.name, "old": caller.verdict.key}
        self._tell_player(player, "own_recovery_stopped", Phrase("Your keys stay as they are"), caller.now, facts)
        if any(waiting.due for waiting in found):
            subject = Phrase("{player} has a key after all", player=player.name)
            self._tell_opponents(player, "recovery_stopped", subject, caller.now, facts)
        return True

    def carry_out(self, now: datetime) -> None:
        """Let the new keys whose delay is over take the old ones' place, within the caller's transaction."""
        for waiting in self._changes.due(stamp(now)):
            player = self._players.by_name(waiting.player)
            assert player is not None
            if self._players.owner(waiting.key.fingerprint):
                self._changes.forget(player.name, fingerprint=waiting.key.fingerprint)
                continue
            change, code = self._replace(player, waiting, waiting.letter, now)
            self._write(
                player.address, "own_keys", Phrase("Your keys"), now, name=player.name, change=change, code=code
            )
            for address in player.more_addresses:
                self._write(address, "own_keys", Phrase("Your keys"), now, name=player.name, change=change, code=None)

    def next_due(self) -> datetime | None:
        """When the next delay is over."""
        due = self._changes.next_due()
        return moment(due) if due else None

    # What changes have in common.

    def new_code(self, name: str, now: datetime) -> str:
        """A new recovery code in place of the old one: 128 bits, told once, and kept as a hash alone."""
        code = self._world(now).random(16)
        self._players.set_recovery_hash(name, _hash(name, code.hex()), stamp(now))
        return code.hex("-", 2)

    def account(self, player: PlayerRow) -> dict[str, Any]:
        """What `whoami` shows."""
        waiting = [one for one in self._changes.of_player(player.name) if one.proof != "mailbox" or one.due]
        return {
            "player": player,
            "waiting": [(one, moment(one.due) if one.due else None) for one in waiting],
            "keys": [(key, _day(key.added), _day(key.revoked)) for key in (*player.keys, *player.former)],
            "waiting_addresses": self._players.waiting_addresses(player=player.name),
            "has_code": self._players.recovery_hash(player.name) is not None,
        }

    def _new_key(self, caller: Caller, command: Command) -> Key:
        """The key that a letter brings, fit to be somebody's; raises `Refused`."""
        try:
            key = key_changes.asked(
                command, caller.verdict, caller.letter, read=self._reader.read, parse_key=self._parse_key(caller.now)
            )
        except BadKey as error:
            raise Refused(Fault(command.name, None, error.reason)) from error
        if key is None and "fingerprint" in command.arguments:
            raise Refused(
                Fault(command.name, command.arguments["fingerprint"], Phrase("attach the key of this fingerprint"))
            )
        if key is None:
            reason = _PASTE_OR_ATTACH if caller.verdict.kind == "valid" else _PASTE
            reason = reason.given(command=command.name)
            raise Refused(Fault(command.name, None, reason))
        if key.state != "pinned":
            raise Refused(
                Fault(command.name, key.fingerprint, Phrase("this key is {state}", state=STATES[key.state]))
            )
        player = _player(caller)
        if any(key.fingerprint == known.fingerprint for known in player.keys):
            raise Refused(Fault(command.name, key.fingerprint, Phrase("this key is yours already")))
        if self._players.owner(key.fingerprint):
            raise Refused(
                Fault(command.name, key.fingerprint, Phrase("this key was used here before; make a new one"))
            )
        return key

    def _parse_key(self, at: datetime) -> Callable[[str | bytes], Key]:
        return lambda data: self._reader.parse_key(data, at)

    def _challenge(  # noqa: PLR0913, PLR0917 - what is kept until the challenge comes back
        self, caller: Caller, player: PlayerRow, key: Key, proof: str, asked_by: str | None, letter: bytes
    ) -> Answer:
        """Keep what was asked for, and give the form that the new key is to sign."""
        now = caller.now
        row = KeyRow(key.format, key.fingerprint, key.public)
        self._changes.forget_older(player.name, stamp(now - _PATIENCE))
        waiting = [one for one in self._changes.of_player(player.name) if one.proof == proof]
        same = next((one for one in waiting if one.key.fingerprint == row.fingerprint), None)
        if same is not None and same.due is not None:
            raise Refused(
                Fault("recover", row.fingerprint, Phrase("this key is confirmed already, and its delay runs"))
            )
        # By the mailbox alone anybody can ask: who did is not to be in the way of who may.
        if proof != "mailbox" and same is None and len(waiting) >= _LETTERS_A_DAY:
            raise Refused(
                Fault("key", None, Phrase("too many new keys wait for their confirmation; confirm one of them"))
            )
        # Asked again, the same form stands: whoever asks in the player's name must not make the form at hand void.
        challenge = same.challenge if same else self._world(now).salt()
        self._changes.ask(WaitingKey(player.name, proof, row, challenge, stamp(now), asked_by, letter))
        facts = {"name": player.name, "key": row, "challenge": challenge, "proof": proof}
        return Answer("challenge", facts)

    def _replace(
        self, player: PlayerRow, waiting: WaitingKey, letter: bytes, now: datetime
    ) -> tuple[KeyChange, str | None]:
        """The new key takes the place of all others; the change, and the recovery code if there is a new one."""
        gone = tuple(key.fingerprint for key in player.keys)
        change = KeyChange("replaced", HOW[waiting.proof], (_document(waiting.key),), gone, {"new": letter})
        for fingerprint in gone:
            self._players.revoke_key(fingerprint, stamp(now))
        self._players.add_key(player.name, waiting.key, stamp(now))
        self._changes.forget(player.name)
        self._enter(player, change, now)
        # Whoever got into the mailbox must not make the owner's code void: it is what takes the account back.
        keeps = waiting.proof == "mailbox" and self._players.recovery_hash(player.name) is not None
        return change, None if keeps else self.new_code(player.name, now)

    def _enter(self, player: PlayerRow, change: KeyChange, now: datetime) -> None:
        """Enter a change in the transcript of each running match, and tell the opponents there."""
        for match, row, seat in self._running(player):
            step = Step(match, self._world(now))
            keys_changed.change(step, seat, change)
            commit(self._archive, self._clerk, match, row, step)

    def _running(self, player: PlayerRow) -> Iterator[tuple[Match, MatchRow, int]]:
        for number in self._archive.matches.of_player(player.name):
            row = self._archive.matches.row(number)
            if row is None or row.phase not in RUNNING:
                continue
            loaded = self._archive.load(number)
            assert loaded is not None
            seat = loaded[0].seat_of(player.name)
            assert seat is not None
            yield *loaded, seat

    def _what_waits(self, player: PlayerRow) -> list[str]:
        """The matches in which something that the player signed waits for its turn."""
        found = []
        for match, _, seat in self._running(player):
            standing = (match.orders if match.phase == "playing" else match.setups).get(seat)
            if standing and standing.standing:
                found.append(match.id)
        return found

    def _tell_changed(self, player: PlayerRow, change: KeyChange, now: datetime, *, but: str) -> None:
        self._tell_player(player, "own_keys", Phrase("Your keys"), now, {"change": change, "code": None}, but=but)

    def _tell_opponents(
        self, player: PlayerRow, template: str, subject: Phrase, now: datetime, facts: dict[str, Any]
    ) -> None:
        """Tell the others at each running match."""
        for match, row, seat in self._running(player):
            for other in match.seats:
                to = self._players.by_name(match.name(other))
                if other == seat or to is None:
                    continue
                out = self._clerk.thread(match, row, other, subject)
                m = self._clerk.facts(match, row, other, match)
                out.text = self._clerk.draft(f"letters/{template}.txt", m=m, **facts)
                self._clerk.send(to.address, out, now)

    def _tell_player(  # noqa: PLR0913 - a letter
        self,
        player: PlayerRow,
        template: str,
        subject: Phrase,
        now: datetime,
        facts: dict[str, Any],
        *,
        but: str = "",
    ) -> None:
        """Tell the player, at every address but the one that is answered."""
        for address in player.addresses:
            if address.lower() != but.lower():
                self._write(address, template, subject, now, name=player.name, **facts)

    def _write(self, address: str, template: str, subject: Phrase, now: datetime, /, **facts: Any) -> None:
        text = self._clerk.draft(f"letters/{template}.txt", mailbox=self._config.mail_address, **facts)
        self._clerk.send(address, Out(Phrase("[pbem] {subject}", subject=subject), text), now)

    def _count(self, player: PlayerRow, now: datetime) -> None:
        if self._today(f"key changes {player.name}", now) > _CHANGES_A_DAY:
            raise Refused(
                Fault(
                    "key",
                    None,
                    Phrase(
                        "keys may be changed {changes_a_day} times a day; come back tomorrow",
                        changes_a_day=_CHANGES_A_DAY,
                    ),
                )
            )

    def _spare(self, mark: str, name: str, now: datetime) -> None:
        if self._today(mark, now) > _LETTERS_A_DAY:
            raise Refused(
                Fault(
                    name,
                    None,
                    Phrase(
                        "{letters_a_day} such letters went out today; come back tomorrow",
                        letters_a_day=_LETTERS_A_DAY,
                    ),
                )
            )


def _demand_key(caller: Caller, command: Command) -> None:
    if caller.verdict.kind != "valid":
        raise Refused(Fault(command.name, None, _NO_KEY))


def _player(caller: Caller) -> PlayerRow:
    assert caller.player is not None
    return caller.player


def _document(key: KeyRow) -> dict[str, str]:
    return {"format": key.format, "fingerprint": key.fingerprint, "public": key.public}


def _hash(player: str, code: str) -> str:
    """The hash of a recovery code: one of 128 bits needs no slow one."""
    return digest(f"pbem recovery code 1\n{player}\n{code}\n".encode())


def _fit(caller: Caller, command: Command) -> None:
    """The letter becomes evidence, for opponents to see; raises `Refused`."""
    if reason := key_changes.unfit(caller.letter):
        message = Phrase(
            "{reason}, and your opponents get this letter as the proof: write a new one, of the command alone",
            reason=reason,
        )
        raise Refused(Fault(command.name, None, message))


def _day(time: str | None) -> str | None:
    return moment(time).date().isoformat() if time else None
