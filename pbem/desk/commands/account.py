"""Accounts: registering by a key or by the mailbox, what an account holds, and its settings.

Implements protocol.md, "Commands" (`register`, `confirm`, `whoami`, `set`) and "Identity".
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.desk import account_keys, bulletin
from pbem.desk.commands import proposals
from pbem.desk.commands.key_commands import confirm_key, unlike
from pbem.desk.refused import refused
from pbem.desk.reply import IN_YOUR_NAME, Reply, refusal
from pbem.desk.timekeeper import TIMEZONE
from pbem.games import Fault, Refused, titles
from pbem.identity import STATES, BadKey
from pbem.mail.commands import COMMANDS, SETTINGS
from pbem.match.seat_clock import written, zone_named
from pbem.match.state import RUNNING
from pbem.phrase import Phrase
from pbem.store.database import to_db
from pbem.store.players import Challenge, KeyRow

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import AnyCommand, Command
    from pbem.requests import Choose, Confirm, Register, WhoAmI
    from pbem.store.players import PlayerRow

_WAITING = 5
"""The most waiting registrations of one address, which anybody can have asked for; a proved letter may go on."""

_PATIENCE = timedelta(days=30)
"""The lifetime of a registration that waits for its answer."""

_A_DAY = timedelta(days=1)

_NO_NAMES = frozenset(
    {"pbem", "referee", "operator", "server", "open", "mine", "none", "all", "nobody", "everybody"}
).union(
    {"house", "program", "admin", "administrator", "moderator", "root", "system", "daemon", "mailer-daemon"},
    {"postmaster", "abuse", "hostmaster", "webmaster", "security", "noreply", "no-reply"},  # roles (RFC 2142)
    *(name.split() for name in COMMANDS),
)
"""Names that would be taken for somebody who speaks for the server, or for a word of a command."""


def register(desk: Desk, caller: Caller, command: Command[Register]) -> Reply:
    """`register`: an account for the caller's address, by a key that has to prove itself, or by the mailbox."""
    name = command.request.name
    if caller.player is not None:
        known = Phrase("your address is already registered as {name}", name=caller.player.name)
        raise refused("register", name, known)
    if name == "name":  # copied from our own letters and pages as it stands there
        raise refused("register", "NAME", Phrase("write a name of your choice in its place"))
    if desk.players.by_name(name) or _is_reserved(desk, caller, name):
        raise refused("register", name, Phrase("this name is taken; choose another"))
    try:
        key = caller.understood.new_key(command.request)
    except BadKey as error:
        raise refused("register", None, error.reason) from error
    if key is None:
        return _register_mailbox(desk, caller, command, name)
    if key.state != "pinned":
        raise refused("register", key.fingerprint, Phrase("this key is {state}", state=STATES[key.state]))
    if desk.players.owner(key.fingerprint):
        raise refused("register", key.fingerprint, Phrase("this key is already registered"))
    found = desk.players.challenges(caller.address)
    same = next((old for old in found if (old.name, old.key.fingerprint) == (name, key.fingerprint)), None)
    if same is None and len(found) >= _WAITING and not caller.tokens:
        return _too_many(desk, caller, command)
    # Asked again, the same form stands: whoever asks in that name must not make the form at hand void.
    challenge = same.challenge if same else desk.world(caller.now).salt()
    waiting = Challenge(caller.address, name, KeyRow(key.format, key.fingerprint, key.public), challenge)
    desk.players.await_answer(waiting, to_db(caller.now), to_db(desk.time.ago(caller.now, _PATIENCE)))
    facts = {"name": name, "format": key.format, "fingerprint": key.fingerprint, "challenge": challenge}
    items = [bulletin.of_challenge(command, key.fingerprint, challenge)]
    return Reply("register", facts, outcome="asked", items=items)


def _is_reserved(desk: Desk, caller: Caller, name: str) -> bool:
    """True if a name is not for players; the name of the server's house is only for its address."""
    house = desk.config.house_name
    if name == house:
        return caller.address.lower() != desk.config.house.address.lower()
    return name in _NO_NAMES


def _too_many(desk: Desk, caller: Caller, command: AnyCommand) -> Reply:
    return refusal(command, IN_YOUR_NAME, desk.mailboxes.write_back(caller.address, None, caller.now))


def _register_mailbox(desk: Desk, caller: Caller, command: AnyCommand, name: str) -> Reply:
    """An account without a key: a reply token goes to the mailbox, and registers when it comes back."""
    proof = caller.proof
    if proof is None or (proof.holds and proof.token and proof.token.name != name):
        if desk.mailboxes.asked("register", caller.address, _A_DAY, caller.now) >= _WAITING and not caller.tokens:
            return _too_many(desk, caller, command)
        reply_to = desk.mailboxes.ask("register", caller.address, name, caller.now)
        return Reply("register_mailbox", {"name": name}, reply_to=reply_to, outcome="asked")
    if proof.missing is not None:
        raise refused("register", None, proof.missing)
    _add_player(desk, caller, name, None)
    facts = {"name": name, "games": titles(), "house": _house(desk)}
    return Reply("registered_mailbox", facts, items=[bulletin.of_account(name, None)])


def confirm(desk: Desk, caller: Caller, command: Command[Confirm]) -> Reply:
    """`confirm`: a challenge comes back signed, for a registration, a new key or an address."""
    if (answer := confirm_key(desk, caller, command)) is not None:
        return answer
    found = desk.players.challenges(caller.address)
    name = command.request.name
    of_key = [old for old in found if old.key.fingerprint == caller.verdict.key]
    waiting = next((old for old in of_key if old.name == name), of_key[0] if of_key else None)
    if caller.player is not None and caller.player.name == name:
        return _account(desk, caller.player)
    if waiting is None:
        raise refused("confirm", None, Phrase("this address has no pending registration"))
    wanted = {"confirm": waiting.name, "server": desk.config.server, "challenge": waiting.challenge}
    given = {"confirm": name, **command.fields}
    faults = unlike(wanted, given)
    if desk.players.by_name(name):
        faults.append(Fault("confirm", name, Phrase("this name has been taken meanwhile; register another")))
    if desk.players.owner(waiting.key.fingerprint):
        faults.append(Fault("confirm", None, Phrase("this key has been registered meanwhile")))
    if faults:
        raise Refused(*faults)
    _add_player(desk, caller, name, waiting.key)
    desk.players.answered(caller.address)
    code = account_keys.new_code(desk, name, caller.now)
    facts = {"name": name, "games": titles(), "code": code, "house": _house(desk)}
    return Reply("confirm", facts, items=[bulletin.of_account(name, code)])


def _house(desk: Desk) -> str:
    """The program that plays with anybody; empty while there is none here."""
    name = desk.config.house_name
    return name if name and desk.people.is_program(name) else ""


def _add_player(desk: Desk, caller: Caller, name: str, key: KeyRow | None) -> None:
    """Add a player, who keeps the language of the letter and gets the seats to which the address was invited."""
    desk.players.add(name, caller.address, key, to_db(caller.now))
    if caller.language != desk.config.language:
        desk.players.suppose(name, "language", caller.language)
    desk.people.opt_in(caller.address)
    proposals.welcome(desk, name, caller.address, caller.now)


def whoami(desk: Desk, caller: Caller, _command: Command[WhoAmI]) -> Reply:
    """`whoami`: the account, its addresses, keys and settings."""
    return _account(desk, caller.known_player)


def _account(desk: Desk, player: PlayerRow) -> Reply:
    chosen = {name: desk.players.setting(player.name, name, values[0]) for name, values in SETTINGS.items()}
    chosen["language"] = desk.letters.language_of(player)
    return Reply(
        "whoami", account_keys.account(desk, player) | {"settings": chosen, "turns": desk.people.turns(player.name)}
    )


def choose(desk: Desk, caller: Caller, command: Command[Choose]) -> Reply:
    """`set`: time zone, language, how letters come and what they contain; and that the player is a program."""
    name, value = command.request.name, command.request.value
    if name == "program":
        _judge_program(desk, caller, caller.known_player, value)
    if name == TIMEZONE:
        zone = zone_named(value)
        if zone is None:
            raise refused("set", value, Phrase("no such time zone; write one such as Europe/Berlin or UTC"))
        value = zone
    desk.players.choose(caller.known_player.name, name, value)
    if (name, value) == ("mail", "each"):
        desk.held.hurry(caller.known_player.name, caller.now)
    now = written(caller.now, value) if name == TIMEZONE else None
    return Reply("set", {"name": name, "value": value, "now": now})


def _judge_program(desk: Desk, caller: Caller, player: PlayerRow, value: str) -> None:
    """Refuse to turn a program into a person, or a player with whom others agreed to play into a program."""
    if desk.people.is_program(player.name):
        if value == "no":
            raise refused("set", "program no", Phrase("{name} is a program for ever", name=player.name))
        return
    if value == "no":
        return
    faults = []
    if caller.verdict.kind != "valid":
        faults.append(Fault("set", "program yes", Phrase("only a signature with your key says this")))
    if begun := desk.archive.matches.of_player(player.name, ("open", "proposed", *RUNNING)):
        others = Phrase("the others there agreed to play with a person: first end {matches}")
        named = ", ".join(f"m{number}" for number in begun)
        faults.append(Fault("set", "program yes", others.given(matches=named)))
    if faults:
        raise Refused(*faults)
