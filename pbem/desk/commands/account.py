"""Accounts: registering by a key or by the mailbox, settings, a topic beside the mail, blocks, and `stop`.

A name that is blocked need not be anybody's, or the answer would tell who has an account. Implements protocol.md,
"Commands" (`register`, `confirm`, `whoami`, `set`, `block`, `stop`), and docs/operating.md, "Notifications".
"""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pbem.desk import account_keys, bulletin
from pbem.desk.caller import Caller, Trust, refused
from pbem.desk.commands import proposals
from pbem.desk.commands.key_commands import confirm_key, unlike
from pbem.desk.daily_limits import NOTIFY_CODE
from pbem.desk.letter_writer import keys_of
from pbem.desk.match_environment import TIMEZONE
from pbem.desk.outcomes import IN_YOUR_NAME, SHORT, Reply, refusal
from pbem.games import Fault, Refused, refuse, titles
from pbem.identity import STATES, BadKey, encryption
from pbem.identity.security_keys import way
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, SETTINGS, Command
from pbem.match.naming import SEAT_NAME
from pbem.match.seat_clock import written, zone_named
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase, either
from pbem.store.database import to_db
from pbem.store.players import Challenge, KeyRow, PlayerRow, Players
from pbem.store.questions import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.config.server import Config
    from pbem.desk.account_keys import Keyring
    from pbem.desk.commands.proposals import Offers
    from pbem.requests import Block, Choose, Confirm, Notify, Register, Unblock, WhoAmI
    from pbem.store.outbox import DigestQueue
    from pbem.store.people import People

    Agreed = Callable[[str], list[str]]
    """Names the matches and tournaments in which others agreed to play with a player."""


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


_MOST = 500
"""The most names that one player may block."""

_A_WEEK = timedelta(days=7)


def register(keys: Keyring, offers: Offers, caller: Caller, command: Command[Register]) -> Reply:
    """`register`: an account for the caller's address, by a key that has to prove itself, or by the mailbox."""
    try:
        return _register(keys, offers, caller, command)
    except Refused as fault:
        if caller.player is not None or command.request.key or _is_too_often(keys, caller):
            raise
        # The answer to this refusal registers by whatever name it gives, at once.
        reply_to = keys.mailboxes.ask("register", caller.address, command.request.name, caller.now)
        told = refusal(command, fault.faults[0].message, reply_to)
        told.facts = {**told.facts, "faults": [*fault.faults]}
        return told


def _register(keys: Keyring, offers: Offers, caller: Caller, command: Command[Register]) -> Reply:
    name = command.request.name
    if caller.player is not None:
        known = Phrase("your address is already registered as {name}", name=caller.player.name)
        raise refused("register", name, known)
    if name == "name":  # copied from our own letters and pages as it stands there
        raise refused("register", "NAME", Phrase("write a name of your choice in its place"))
    if keys.players.by_name(name) or _is_reserved(keys.config, caller, name):
        raise refused("register", name, Phrase("this name is taken; choose another"))
    try:
        key = caller.understood.new_key(command.request)
    except BadKey as error:
        raise refused("register", None, error.reason) from error
    if key is None:
        return _register_mailbox(keys, offers, caller, command)
    match = command.request.match
    if key.state != "pinned":
        raise refused("register", key.fingerprint, Phrase("this key is {state}", state=STATES[key.state]))
    if keys.players.owner(key.fingerprint):
        raise refused("register", key.fingerprint, Phrase("this key is already registered"))
    found = keys.players.challenges(caller.address)
    same = next((old for old in found if (old.name, old.key.fingerprint) == (name, key.fingerprint)), None)
    if same is None and len(found) >= _WAITING and not caller.tokens:
        return refusal(command, IN_YOUR_NAME, keys.mailboxes.write_back(caller.address, None, caller.now))
    # Asked again, the same form stands: whoever asks in that name must not make the form at hand void.
    challenge = same.challenge if same else keys.seats.world(caller.now).salt()
    waiting = Challenge(caller.address, name, KeyRow(key.format, key.fingerprint, key.public), challenge, match)
    keys.players.await_answer(waiting, to_db(caller.now), to_db(keys.time.ago(caller.now, _PATIENCE)))
    facts = {
        "name": name,
        "format": way(key.format, key.public),
        "fingerprint": key.fingerprint,
        "challenge": challenge,
    }
    items = [bulletin.of_challenge(command, key.fingerprint, challenge)]
    return Reply("register", facts, outcome="asked", items=items)


def _is_reserved(config: Config, caller: Caller, name: str) -> bool:
    """True if a name is not for players; the name of the server's house is only for its address."""
    if name == config.house_name:
        return caller.address.lower() != config.house.address.lower()
    return name in _NO_NAMES or SEAT_NAME.fullmatch(name) is not None


def _is_too_often(keys: Keyring, caller: Caller) -> bool:
    """True if so many registrations of this address wait that somebody else may have asked for them."""
    waiting = keys.mailboxes.asked("register", caller.address, _A_DAY, caller.now)
    return waiting >= _WAITING and not caller.tokens


def _register_mailbox(keys: Keyring, offers: Offers, caller: Caller, command: Command[Register]) -> Reply:
    """An account without a key: a reply token goes to the mailbox, and registers when it comes back."""
    proof, name, match = caller.proof, command.request.name, command.request.match
    if proof is None:
        if _is_too_often(keys, caller):
            return refusal(command, IN_YOUR_NAME, keys.mailboxes.write_back(caller.address, None, caller.now))
        reply_to = keys.mailboxes.ask("register", caller.address, name, caller.now)
        return Reply("register_mailbox", {"name": name, "match": match}, reply_to=reply_to, outcome="asked")
    if proof.missing is not None:
        raise refused("register", None, proof.missing)
    facts = _add_player(keys, offers, caller, name, None, match)
    return Reply("registered_mailbox", facts, items=[bulletin.of_account(name, None)])


def confirm(keys: Keyring, offers: Offers, caller: Caller, command: Command[Confirm]) -> Reply:
    """`confirm`: a challenge comes back signed, for a registration, a new key or an address."""
    if (answer := confirm_key(keys, offers, caller, command)) is not None:
        return answer
    found = keys.players.challenges(caller.address)
    name = command.request.name
    of_key = [old for old in found if old.key.fingerprint == caller.verdict.key]
    waiting = next((old for old in of_key if old.name == name), of_key[0] if of_key else None)
    if caller.player is not None and caller.player.name == name:
        return _account(keys, offers.people, caller.player)
    if waiting is None:
        raise refused("confirm", None, Phrase("this address has no pending registration"))
    wanted = {"confirm": waiting.name, "server": keys.config.server, "challenge": waiting.challenge}
    given = {"confirm": name, **command.fields}
    faults = unlike(wanted, given)
    if keys.players.by_name(name):
        faults.append(Fault("confirm", name, Phrase("this name has been taken meanwhile; register another")))
    if keys.players.owner(waiting.key.fingerprint):
        faults.append(Fault("confirm", None, Phrase("this key has been registered meanwhile")))
    refuse(faults)
    facts = _add_player(keys, offers, caller, name, waiting.key, waiting.match)
    keys.players.answered(caller.address)
    code = account_keys.new_code(keys, name, caller.now)
    return Reply("confirm", facts | {"code": code}, items=[bulletin.of_account(name, code)])


def _add_player(
    keys: Keyring, offers: Offers, caller: Caller, name: str, key: KeyRow | None, match: str | None
) -> dict[str, object]:
    """Add a player, who keeps the language of the letter and gets the seats to which the address was invited.

    Whoever came by an open invitation to a match has that seat, too; its proposal comes in a letter of its own.
    Returns the facts for the answer: the games, the program that plays with anybody, if it has an account, and why
    that seat was missed.
    """
    keys.players.add(name, caller.address, key, to_db(caller.now))
    if caller.language != keys.config.language:
        keys.players.suppose(name, "language", caller.language)
    offers.people.opt_in(caller.addresses)
    proposals.welcome(offers, name, caller.address, caller.now)
    missed: Sequence[Fault] = ()
    if match is not None:
        try:
            proposals.take_seat(offers, int(match.removeprefix("m")), name, caller.now)
        except Refused as refused_seat:  # the account stands: it was not for this seat alone
            missed = refused_seat.faults
    house = keys.config.house_name if offers.people.is_program(keys.config.house_name) else ""
    return {"name": name, "games": titles(), "house": house, "match": match, "missed": missed}


def whoami(keys: Keyring, people: People, caller: Caller, _command: Command[WhoAmI]) -> Reply:
    """`whoami`: the account, its addresses, keys and settings."""
    return _account(keys, people, caller.known_player)


def _account(keys: Keyring, people: People, player: PlayerRow) -> Reply:
    chosen = {name: keys.players.setting(player.name, name, values[0]) for name, values in SETTINGS.items()}
    chosen["language"] = keys.seats.letters.language_of(player)
    topic = keys.topics.of(player.name)
    told = {
        "settings": chosen,
        "turns": people.turns(player.name),
        "topic": topic.url if topic else None,
        "confirmed": keys.topics.is_confirmed(player.name),
    }
    return Reply("whoami", account_keys.account(keys, player) | told)


def choose(
    players: Players, people: People, agreed: Agreed, held: DigestQueue, caller: Caller, command: Command[Choose]
) -> Reply:
    """`set`: time zone, language, how letters come and what they contain; and that the player is a program."""
    name, value = command.request.name, command.request.value
    if name == "program":
        _judge_program(players, people, agreed, caller, value)
    if (name, value) == ("encrypted", "yes"):
        _demand_decrypting(people, caller)
    if name == TIMEZONE:
        zone = zone_named(value)
        if zone is None:
            raise refused("set", value, Phrase("no such time zone; write one such as Europe/Berlin or UTC"))
        value = zone
    players.choose(caller.known_player.name, name, value)
    if (name, value) == ("mail", "each"):
        held.hurry(caller.known_player.name, caller.now)
    now = written(caller.now, value) if name == TIMEZONE else None
    able = encryption.usable(keys_of(caller.known_player.keys), caller.now) if name == "encrypted" else []
    return Reply("set", {"name": name, "value": value, "now": now, "able": able})


def _demand_decrypting(people: People, caller: Caller) -> None:
    """Refuse encrypted letters to whoever could not read them."""
    player = caller.known_player
    if people.is_program(player.name):
        raise refused("set", "encrypted yes", Phrase("you are a program, and programs read no encrypted letters"))
    keys = keys_of(player.keys)
    if encryption.usable(keys, caller.now):
        return
    if not keys:
        raise refused("set", "encrypted yes", Phrase("you have no key: see `help key`"))
    faults = [(key.fingerprint, encryption.fault(key, caller.now)) for key in keys]
    raise Refused(*(Fault("set", fingerprint, fault) for fingerprint, fault in faults if fault))


def _judge_program(players: Players, people: People, agreed: Agreed, caller: Caller, value: str) -> None:
    """Refuse to turn a program into a person, or a player with whom others agreed to play into a program."""
    player = caller.known_player
    if (known := people.is_program(player.name)) and value == "no":
        raise refused("set", "program no", Phrase("{name} is a program for ever", name=player.name))
    if known or value == "no":
        return
    faults = []
    if caller.verdict.kind != "valid":
        faults.append(Fault("set", "program yes", Phrase("only a signature with your key says this")))
    if value == "yes" and players.setting(player.name, "encrypted", "no") == "yes":
        faults.append(Fault("set", "program yes", Phrase("programs read no encrypted letters: `set encrypted no`")))
    if begun := agreed(player.name):
        others = Phrase("the others there agreed to play with a person: first end {matches}")
        faults.append(Fault("set", "program yes", others.given(matches=", ".join(begun))))
    refuse(faults)


def block(people: People, caller: Caller, command: Command[Block]) -> Reply:
    """`block`: nothing more comes from a player."""
    player, name = caller.known_player.name, command.request.name
    if name == player:
        raise refused("block", name, Phrase("this is you"))
    if len(people.blocked(player)) >= _MOST:
        raise refused("block", name, Phrase("you block {most} names already", most=_MOST))
    people.block(player, name, to_db(caller.now))
    return Reply("block", {"name": name, "off": False, "blocked": people.blocked(player)})


def unblock(people: People, caller: Caller, command: Command[Unblock]) -> Reply:
    """`unblock`: letters come from the player again."""
    player, name = caller.known_player.name, command.request.name
    if not people.unblock(player, name):
        raise refused("unblock", name, Phrase("you do not block {name}", name=name))
    return Reply("block", {"name": name, "off": True, "blocked": people.blocked(player)})


def notify(keys: Keyring, caller: Caller, command: Command[Notify]) -> Reply:
    """`set notify`: a topic, whose code is posted there; that code; or that there is to be none."""
    player, value = caller.known_player, command.request.value
    if value == "off":
        keys.topics.drop(player.name)
        return Reply("set_notify", {"state": "off"})
    if value.startswith("https:"):
        return _post_code(keys, caller, command, value)
    topic = keys.topics.of(player.name)
    if topic is None or topic.code != value:
        raise refused("set notify", None, Phrase("this is not the code that was posted last"))
    keys.topics.confirm(player.name, topic)
    return Reply("set_notify", {"state": "on", "host": urlsplit(topic.url).netloc})


def _post_code(keys: Keyring, caller: Caller, command: Command[Notify], url: str) -> Reply:
    """Have a code posted to a topic: nothing else goes there before it comes back."""
    host, hosts, letters = urlsplit(url).netloc, keys.config.notify.hosts, keys.seats.letters
    if not hosts:
        raise refused("set notify", None, Phrase("this server notifies nobody beside the mail"))
    if host not in hosts:
        raise refused("set notify", host, Phrase("topics are possible at {hosts}", hosts=either(hosts)))
    # By the topic, whoever names it: it may be a stranger's.
    if keys.counts.left(NOTIFY_CODE, caller.now, sha256_hex(url.encode())) < 0:
        return refusal(command, Phrase("too many codes were posted there today; try again tomorrow"))
    code = base64.b32encode(keys.seats.world(caller.now).random(5)).decode().lower()
    language = letters.language_of(caller.known_player)
    text = letters.text(letters.template("letters/notify_code.txt", code=code), language)
    keys.topics.add(caller.known_player.name, Topic(url, code, text.strip()), caller.now)
    return Reply("set_notify", {"state": "asked", "host": host})


def stop_mail(keys: Keyring, people: People, caller: Caller, place: Mapping[str, str]) -> bool:
    """Send the owner of the address no more mail, if the owner said so; otherwise ask there. Returns True if so.

    `place` is the place that the letter names.
    """
    address, now, player = caller.address, caller.now, caller.player.name if caller.player else ""
    # A signed letter that does not say that it is this player's, for this server, proves nothing.
    says_place = caller.verdict.kind != "valid" or place == {"server": keys.config.server, "player": player}
    answered = next((token for token in caller.tokens if token.purpose == "stop"), None)
    if answered is not None:
        keys.mailboxes.use(answered, caller.letter, now)
    elif not (caller.new and player and says_place):
        if not people.opted_out(address) and not keys.mailboxes.asked("stop", address, _A_WEEK, now):
            text = keys.seats.letters.template("letters/stop.txt")
            out = OutgoingLetter(SHORT, text, asks=True, language=caller.language)
            out.reply_to = keys.mailboxes.ask("stop", address, player, now)
            if caller.trust is not Trust.STRANGER:
                out.answer(caller.letter)
            keys.seats.letters.send(address, out, now)
        return False
    people.opt_out(caller.addresses, to_db(now))
    return True
