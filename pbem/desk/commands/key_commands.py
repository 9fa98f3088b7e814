"""Commands about keys and addresses: a key is added, revoked, kept or recovered, an address added.

An old key, the recovery code, or the mailbox alone asks for a new key, which proves itself by signing a form.
Implements protocol.md, "Commands" (`key add`, `key revoke`, `recover`, `address add`) and "Identity" (keys).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec.structs import replace

from pbem.desk import account_keys
from pbem.desk.caller import Caller, refused
from pbem.desk.commands import proposals
from pbem.desk.daily_limits import ADDRESS_CHALLENGE, KEY_CHANGE, RECOVERY, RECOVERY_CONFIRMED, WRONG_CODE, DailyLimit
from pbem.desk.outcomes import IN_YOUR_NAME, Reply, refusal
from pbem.desk.reply_tokens import split
from pbem.desk.seats import running
from pbem.desk.strangers import Strangers, one_mailbox
from pbem.games import Fault, refuse
from pbem.identity import STATES, BadKey, Key
from pbem.identity.security_keys import way
from pbem.match.pinned_keys import HOW, KeyChange
from pbem.match.seat_clock import written
from pbem.match.state import standing
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.requests import AddAddress, AddKey, Confirm, KeepKeys, Recover, RevokeKey
from pbem.store.database import from_db, to_db
from pbem.store.players import KeyRow, PlayerRow, WaitingKey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.account_keys import Keyring
    from pbem.desk.commands.proposals import Offers
    from pbem.mail.commands import AnyCommand, Command
    from pbem.store.people import People

_MOST_KEYS = 10

_SHORT_KEY, _ALL_KEYS = 1000, 256 << 10
"""Characters of a key that a player may always have, and of all keys that one had here, before there are only such.

Each letter of a sealed match brings all keys that counted in it: a player who changes long ones every day must not
make the other's letters larger than mail servers take.
"""

_MOST_ADDRESSES = 5

_MOST_WAITING = 5
"""The most new keys of a player that may await confirmation, if they were asked for in the same way."""

_THE_FORM_SAID = Phrase("the form said `{name} {value}`")

_TOO_MUCH = Phrase("your keys are too long together: take a short one, such as an SSH key of the kind ed25519")

_NO_KEY = Phrase(
    "you have no key yet; `recover` with a key below it makes it yours, after notice to your opponents and a delay"
)

_PASTE = Phrase("paste the new public key below, such as `{command}` and then `ssh-ed25519 AAAA...`")

_PASTE_OR_ATTACH = Phrase(
    "paste the new public key below, such as `{command}` and then `ssh-ed25519 AAAA...`; or attach it, and write"
    " its fingerprint after `key add`: your signature must cover that very key"
)

_LOG: FilteringBoundLogger = structlog.get_logger("keys")


def add(keys: Keyring, caller: Caller, command: Command[AddKey]) -> Reply:
    """`key add`: an old key asks for a new one."""
    _demand_key(caller, command)
    player = caller.known_player
    _fit(caller, command)
    key = _new_key(keys, caller, command)
    if len(player.keys) >= _MOST_KEYS:
        raise refused(command.name, None, Phrase("you have {most_keys} keys; revoke one first", most_keys=_MOST_KEYS))
    return _challenge(keys, caller, player, key, "old-key", caller.verdict.key, caller.letter.raw)


def revoke(keys: Keyring, caller: Caller, command: Command[RevokeKey]) -> Reply:
    """`key revoke`: a key no longer counts."""
    _demand_key(caller, command)
    player = caller.known_player
    _fit(caller, command)
    given = command.request.fingerprint
    if gone := key_changes.named((key.fingerprint for key in player.former), given):
        raise refused(command.name, given, Phrase("{gone} is revoked already", gone=gone[0]))
    found = key_changes.named((key.fingerprint for key in player.keys), given)
    if len(found) != 1:
        several = Phrase("several of your keys begin with this; write more of the fingerprint")
        raise refused(command.name, given, several if found else Phrase("`whoami` lists your keys"))
    if len(player.keys) == 1:
        reason = Phrase(
            "this is your only key: add another first (`key add`), or replace it at once with your recovery code"
            " (`recover CODE`)"
        )
        raise refused(command.name, given, reason)
    _demand_left(keys, KEY_CHANGE, player, caller.now, "key")
    keys.players.revoke_key(found[0], to_db(caller.now))
    keys.changes.forget(player.name, asked_by=found[0])
    change = KeyChange("revoked", HOW["old-key"], (), tuple(found), {"old": caller.letter.raw})
    account_keys.stop_encrypting(keys, player, caller.now)
    matches = running(keys.seats, player.name)
    waiting = [seated.match.id for seated in matches if standing(seated.match.submissions, seated.seat)]
    account_keys.enter(keys, player, change, caller.now)
    account_keys.tell_changed(keys, player, change, caller.now, but=caller.address)
    return Reply("key_revoked", {"fingerprint": found[0], "waiting": waiting})


def keep(keys: Keyring, caller: Caller, _command: Command[KeepKeys]) -> Reply:
    """`key keep`: the player still has a key: nothing is recovered."""
    return Reply("key_kept", {"stopped": account_keys.stop_recoveries(keys, caller)})


def recover(keys: Keyring, caller: Caller, command: Command[Recover]) -> Reply:
    """`recover`: all keys are lost, and a new one replaces them."""
    player = caller.known_player
    key = _new_key(keys, caller, command)
    code = command.request.code
    if code is None:
        if not caller.tokens and keys.counts.left(RECOVERY, caller.now, player.name) < 0:
            return refusal(command, IN_YOUR_NAME, keys.mailboxes.write_back(caller.address, player, caller.now))
        asked, delay = _challenge(keys, caller, player, key, "mailbox", None, b""), account_keys.delay(keys.config)
        subject = Phrase("Somebody says that your keys are lost")
        account_keys.write(keys, player.address, "own_recovery", subject, caller.now, **asked.facts, delay=delay)
        return Reply("recovery_asked", {"delay": delay})
    # 128 bits are beyond guessing: wrong codes are counted, and never stand in the way of the right one.
    if not account_keys.is_code(keys.players, player, code):
        most = keys.config.recovery.codes_per_day
        left = keys.counts.left(WRONG_CODE, caller.now, player.name, most=most)
        log = _LOG.warning if left == -1 else _LOG.info
        log("wrong recovery code", player=player.name, today=most - left)
        return refusal(command, Phrase("this is not your recovery code"))
    return _challenge(keys, caller, player, key, "recovery-code", None, b"")


def add_address(
    keys: Keyring, people: People, strangers: Strangers, caller: Caller, command: Command[AddAddress]
) -> Reply:
    """`address add`: one more mailbox to write from: the challenge mailed there must come back signed."""
    player = caller.known_player
    address = command.request.address
    local, _, domain = address.lower().partition("@")
    own = keys.config.mail_address.partition("@")
    if player.keyless:
        raise refused(command.name, None, Phrase("only a key can confirm a second address: see `help signing`"))
    if address.lower() in [known.lower() for known in player.addresses]:
        raise refused(command.name, address, Phrase("this address is yours already"))
    if any(people.opted_out(one) for one in (address, one_mailbox(address))):
        raise refused(command.name, address, Phrase("we send no mail there: somebody wrote `stop` from it"))
    if keys.players.by_address(address) or (split(local, keys.config)[0], domain) == own[::2]:
        raise refused(command.name, address, Phrase("this address cannot be used"))
    if len(player.addresses) >= _MOST_ADDRESSES:
        reason = Phrase("you have {most_addresses} addresses already", most_addresses=_MOST_ADDRESSES)
        raise refused(command.name, address, reason)
    _demand_left(keys, ADDRESS_CHALLENGE, player, caller.now, command.name)
    if not strangers.may_be_named(address, caller.now):
        raise refused(command.name, address, Phrase("enough letters went there today; try again tomorrow"))
    challenge = keys.seats.world(caller.now).salt()
    keys.players.await_address(player.name, address, challenge, to_db(caller.now))
    facts = {"name": player.name, "address": address, "challenge": challenge}
    account_keys.write(keys, address, "address", Phrase("Is this your address?"), caller.now, **facts)
    return Reply("address_asked", facts)


def confirm_key(keys: Keyring, offers: Offers, caller: Caller, command: Command[Confirm]) -> Reply | None:
    """`confirm`: a challenge for a new key or address comes back; None if no registered player has that challenge."""
    if caller.player is None:
        return None
    player = caller.player
    given = {"name": command.request.name, **command.fields}
    if not caller.waits or caller.verdict.key in {key.fingerprint for key in player.keys}:
        return _confirm_address(keys, offers, caller, player, command)
    found = [one for one in keys.changes.of_player(player.name) if one.key.fingerprint == caller.verdict.key]
    if not found:
        return None
    waiting = next((one for one in found if one.proof == given.get("proof")), found[0])
    wanted = {"name": player.name, "server": keys.config.server, "challenge": waiting.challenge}
    wanted |= {"fingerprint": waiting.key.fingerprint, "proof": waiting.proof}
    refuse(unlike(wanted, given))
    if from_db(waiting.created) < keys.time.ago(caller.now, account_keys.PATIENCE):
        raise refused("confirm", None, Phrase("this form is too old; ask for another"))
    if keys.players.owner(waiting.key.fingerprint):
        raise refused("confirm", None, Phrase("this key was registered meanwhile"))
    _fit(caller, command)
    return _prove(keys, caller, player, waiting)


def unlike(wanted: Mapping[str, str], given: Mapping[str, str]) -> list[Fault]:
    """The lines of a form that came back changed, or not at all."""
    return [
        Fault("confirm", f"{name} {given.get(name, '')}", _THE_FORM_SAID.given(name=name, value=value))
        for name, value in wanted.items()
        if given.get(name) != value
    ]


def _confirm_address(
    keys: Keyring, offers: Offers, caller: Caller, player: PlayerRow, command: Command[Confirm]
) -> Reply | None:
    found = keys.players.waiting_addresses(player=player.name)
    waiting = next((one for one in found if one.challenge == command.request.challenge), None)
    place = (command.request.name, command.fields.get("server"))
    if waiting is None or place != (player.name, keys.config.server):
        return None
    if keys.players.by_address(waiting.address):
        raise refused("confirm", waiting.address, Phrase("this address was registered meanwhile"))
    keys.players.confirm_address(player.name, waiting.address, to_db(caller.now))
    proposals.welcome(offers, player.name, waiting.address, caller.now)
    return Reply("address_added", {"address": waiting.address, "first": player.address})


def _prove(keys: Keyring, caller: Caller, player: PlayerRow, waiting: WaitingKey) -> Reply:
    """The new key has signed."""
    if waiting.proof == "mailbox":
        return _wait(keys, caller, player, waiting)
    _demand_left(keys, KEY_CHANGE, player, caller.now, "key")
    if waiting.proof == "recovery-code":
        change, code = account_keys.replace_all(keys, player, waiting, caller.letter.raw, caller.now)
    else:
        letters, code = {"old": waiting.letter, "new": caller.letter.raw}, None
        change = KeyChange("added", HOW[waiting.proof], (waiting.key.document(),), (), letters)
        keys.players.add_key(player.name, waiting.key, to_db(caller.now))
        keys.changes.forget(player.name, fingerprint=waiting.key.fingerprint)
        account_keys.enter(keys, player, change, caller.now)
    account_keys.tell_changed(keys, player, change, caller.now, but=caller.address)
    return Reply("key_added", {"change": change, "code": code, "key": waiting.key})


def _wait(keys: Keyring, caller: Caller, player: PlayerRow, waiting: WaitingKey) -> Reply:
    """The mailbox is proved: everybody is told, and the delay begins."""
    due = from_db(waiting.due) if waiting.due else caller.now + keys.config.recovery.delay
    if waiting.due is None:
        _demand_left(keys, RECOVERY_CONFIRMED, player, caller.now, "recover")
        for other in keys.changes.of_player(player.name):
            if other.due is not None:
                keys.changes.forget(player.name, proof="mailbox", fingerprint=other.key.fingerprint)
        keys.changes.ask(replace(waiting, letter=caller.letter.raw, due=to_db(due)))
        account_keys.tell_recovery(keys, player, waiting, due, caller.now, but=caller.address)
    told = written(due, keys.time.zone(player.name))
    return Reply("recovery_waits", {"due": told, "fingerprint": waiting.key.fingerprint}, open=True)


def _new_key(keys: Keyring, caller: Caller, command: Command[AddKey] | Command[Recover]) -> Key:
    """The key that a letter brings, if a player may have it; raises `Refused`."""
    try:
        key = caller.understood.new_key(command.request)
    except BadKey as error:
        raise refused(command.name, None, error.reason) from error
    if key is None and isinstance(command.request, AddKey) and command.request.fingerprint:
        raise refused(command.name, command.request.fingerprint, Phrase("attach the key of this fingerprint"))
    if key is None:
        reason = _PASTE_OR_ATTACH if caller.verdict.kind == "valid" else _PASTE
        raise refused(command.name, None, reason.given(command=command.name))
    if key.state != "pinned":
        raise refused(command.name, key.fingerprint, Phrase("this key is {state}", state=STATES[key.state]))
    player = caller.known_player
    if any(key.fingerprint == known.fingerprint for known in player.keys):
        raise refused(command.name, key.fingerprint, Phrase("this key is yours already"))
    if keys.players.owner(key.fingerprint):
        raise refused(command.name, key.fingerprint, Phrase("this key was used here before; make a new one"))
    length, before = len(key.public), sum(len(known.public) for known in (*player.keys, *player.former))
    if length > _SHORT_KEY and length + before > _ALL_KEYS:
        raise refused(command.name, key.fingerprint, _TOO_MUCH)
    return key


def _challenge(
    keys: Keyring, caller: Caller, player: PlayerRow, key: Key, proof: str, asked_by: str | None, letter: bytes
) -> Reply:
    """Keep the request, and return the form that the new key has to sign."""
    now = caller.now
    row = KeyRow(key.format, key.fingerprint, key.public)
    keys.changes.forget_older(player.name, to_db(keys.time.ago(now, account_keys.PATIENCE)))
    waiting = [one for one in keys.changes.of_player(player.name) if one.proof == proof]
    same = next((one for one in waiting if one.key.fingerprint == row.fingerprint), None)
    if same is not None and same.due is not None:
        raise refused("recover", row.fingerprint, Phrase("this key is confirmed already, and its delay runs"))
    # By the mailbox alone anybody can ask: who did is not to be in the way of who may.
    if proof != "mailbox" and same is None and len(waiting) >= _MOST_WAITING:
        raise refused("key", None, Phrase("too many new keys await confirmation; confirm one of them"))
    # Asked again, the same form stands: whoever asks in the player's name must not make the form at hand void.
    challenge = same.challenge if same else keys.seats.world(now).salt()
    keys.changes.ask(WaitingKey(player.name, proof, row, challenge, to_db(now), asked_by, letter))
    facts = {"name": player.name, "format": way(row.format, row.public), "fingerprint": row.fingerprint}
    return Reply("challenge", facts | {"challenge": challenge, "proof": proof})


def _demand_left(keys: Keyring, limit: DailyLimit, player: PlayerRow, now: datetime, name: str) -> None:
    """Refuse a command if it would tell others too often today."""
    if keys.counts.left(limit, now, player.name) >= 0:
        return
    if limit is KEY_CHANGE:
        too_often = Phrase("keys may be changed {changes_a_day} times a day; try again tomorrow")
        raise refused(name, None, too_often.given(changes_a_day=limit.most))
    too_often = Phrase("{letters_a_day} such letters went out today; try again tomorrow")
    raise refused(name, None, too_often.given(letters_a_day=limit.most))


def _demand_key(caller: Caller, command: AnyCommand) -> None:
    if caller.verdict.kind != "valid":
        raise refused(command.name, None, _NO_KEY)


def _fit(caller: Caller, command: AnyCommand) -> None:
    """The letter becomes evidence, for opponents to see; raises `Refused`."""
    if reason := key_changes.unfit(caller.letter):
        message = Phrase(
            "{reason}, and your opponents get this letter as proof: write a new one with nothing but the command",
            reason=reason,
        )
        raise refused(command.name, None, message)
