"""Faults of a server that can be found from outside, without changing anything: one finding per line.

Here live the checks of `pbem check-config` (the surroundings of the configuration) and `pbem doctor` (the store,
every transcript, the clock, the queues, and a letter that makes a round trip). Other modules make the findings;
this one collects them and puts them into plain words.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pbem.desk.match_archive import MatchRepository
from pbem.games.outside import PACKAGES, UnusableGame, enable
from pbem.identity import BadKey, parse_key
from pbem.mail.compose import Content
from pbem.mail.dkim_signing import BadDkimKey, DkimSigner
from pbem.mailbox import PasswordError, password
from pbem.match.state import RUNNING
from pbem.match.transcript import TranscriptError
from pbem.proof.verification import verify
from pbem.server.desk_work import open_composer
from pbem.smtp.intake import certified
from pbem.store import own_keys
from pbem.store.database import from_db, is_there, standby_of, to_db
from pbem.store.errors import StoreError
from pbem.store.inbox import Inbox
from pbem.store.matches import Matches
from pbem.store.operator import Box, Busy, survey
from pbem.store.outbox import Outbox
from pbem.store.owners import UNDONE, Role, at_work, left_behind, roles_at_work
from pbem.store.people import People
from pbem.store.questions import Lookups
from pbem.store.rows import unsound
from pbem.store.vault import KeyFileError, Sealed, load_key
from pbem.store_place import PostgresqlAddress
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from pbem.config.mail import MailboxConfig, SmarthostConfig
    from pbem.config.server import Config
    from pbem.config.values import Listen
    from pbem.mail.compose import Composer
    from pbem.server.operators_store import OperatorsStore
    from pbem.server.server_clock import ServerClock
    from pbem.store.database import Database
    from pbem.store.own_keys import OwnKeys
    from pbem.store.vault import Vault

STILL = timedelta(minutes=5)
"""The longest that time may stand still before the operator should know."""

STUCK = timedelta(minutes=10)
"""The longest that a letter may wait at the desk, or a turn that is due, while the daemon runs."""

FAULTS = 20
"""The most damaged rows that are reported."""

SLOW = timedelta(days=1)
"""The longest that a letter may wait for the smarthost before the operator should know."""


class Diagnosis(msgspec.Struct, frozen=True):
    """One check: whether all is well, and what was found."""

    well: bool
    what: str
    found: str


def surroundings(config: Config) -> Iterator[Diagnosis]:
    """Check what the configuration names: files, folders, names and places to listen at."""
    yield _folder("store", config.store) if isinstance(config.store, Path) else _database(config.store)
    for path in (config.store_key, config.signing_key):
        well = f"{path} is a key, and private"
        yield _tried("keys", partial(load_key, path), well) if path.exists() else _folder("keys", path)
    if config.smarthost.user and not config.smarthost.secrets:
        yield Diagnosis(False, "smarthost", "has a user, and no password_file, password_command or token_command")
    yield from _password("smarthost", config.smarthost)
    yield from _mailbox(config.mailbox)
    # With Maildirs, letters leave without a mail server.
    if not config.smarthost.maildirs:
        yield _named("smarthost", config.smarthost.host, config.smarthost.port)
    yield from _listeners(config)
    if (file := config.house.config) and not os.access(file, os.R_OK):
        yield Diagnosis(False, "house", f"{file} cannot be read")
    elif config.house_name and not config.house.address:
        yield Diagnosis(False, "house", f"nobody can register as {config.house_name}: give its address")
    yield from _games(config)
    # Without a selector, the smarthost signs.
    if config.dkim.selector:
        where = f"{config.dkim.selector}._domainkey.{config.dkim_domain}"
        signer = partial(DkimSigner, config.dkim.selector, config.dkim_domain, config.dkim.key_file)
        yield _tried("dkim", signer, f"letters are signed; the public key belongs into the DNS under {where}")
    if not config.operator:
        yield Diagnosis(
            False, "operator", "nobody is told of letters set aside and of dead addresses: set an address"
        )


def _listeners(config: Config) -> Iterator[Diagnosis]:
    if not config.smtp.listen and not config.lmtp.listen and not config.mailbox:
        yield Diagnosis(False, "listen", "no way in: smtp.listen, lmtp.listen and the mailbox are all empty")
    for name, listener in (("smtp", config.smtp), ("lmtp", config.lmtp)):
        if listener.listen:
            yield _place(name, listener.listen)
        if listener.certificate:
            both = f"{listener.certificate} and {listener.certificate_key}"
            yield _tried(name, partial(certified, listener), f"{both} belong together", both)


def _games(config: Config) -> Iterator[Diagnosis]:
    for game in config.games.enabled:
        try:
            enable([game])
        except UnusableGame as error:
            yield Diagnosis(False, "games", str(error))
        else:
            package = PACKAGES[game]
            code = f"code {package.code}" if package.code else "whose code lies elsewhere: no proof can name it"
            yield Diagnosis(True, "games", f"{game} is of {package}, {code}")


def _mailbox(box: MailboxConfig) -> Iterator[Diagnosis]:
    if box:
        yield Diagnosis(True, "mailbox", "what lies there when it is first read is left alone, and not answered")
    if box.maildir:
        there = Path(box.maildir, "new").is_dir() and os.access(box.maildir, os.R_OK | os.W_OK | os.X_OK)
        yield Diagnosis(there, "mailbox", f"{box.maildir} {'is there' if there else 'is no Maildir that we may use'}")
    elif box.imap:
        yield from _password("mailbox", box)
        yield _named("mailbox", box.imap, box.port)


def _password(what: str, account: MailboxConfig | SmarthostConfig) -> Iterator[Diagnosis]:
    """Check that the password's file is readable only by us; a command is not run."""
    if account.password_file:
        yield _tried(what, partial(password, account.password_file, ""), f"{account.password_file} is there")


def _named(what: str, host: str, port: int) -> Diagnosis:
    addresses = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return _tried(what, addresses, f"{host} has an address", host)


def _folder(what: str, file: Path) -> Diagnosis:
    folder = file.parent
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        return Diagnosis(False, what, f"{there} cannot be written by this user")
    if file.exists() and file.stat().st_mode & 0o077:
        return Diagnosis(False, what, f"{file} may be read by others: chmod 600 {file}")
    return Diagnosis(True, what, f"{file} {'is there' if file.exists() else 'will be made at the first start'}")


_STANDBY = {
    True: "commits wait for a standby: if it takes over, it has all that was answered for",
    False: "a standby follows, and commits do not wait for it: if it takes over, the last letters that were answered"
    " for may be gone, and turns that were reported; see synchronous_standby_names and synchronous_commit",
    None: "no standby is seen; what one that takes over would have is not known here",
}


def _database(address: PostgresqlAddress) -> Diagnosis:
    try:
        there = is_there(address)
        standby = standby_of(address)
    except StoreError as error:
        return Diagnosis(False, "store", str(error))
    except ImportError:
        return Diagnosis(False, "store", "psycopg is not installed: install pbem as pbem[postgresql]")
    return Diagnosis(
        True,
        "store",
        f"{address} {'is there' if there else 'will be filled at the first start'}; {_STANDBY[standby]}; not looked"
        " at: its backups (pg_dump, pg_basebackup)",
    )


def _place(name: str, place: Listen) -> Diagnosis:
    if place.systemd:
        return Diagnosis(True, name, f"a socket that systemd hands over under the name {name}")
    if place.path is not None:
        there = place.path.parent.is_dir()
        return Diagnosis(there, name, f"{place}" if there else f"there is no folder {place.path.parent}")
    addresses = partial(socket.getaddrinfo, place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return _tried(name, addresses, f"{place}", f"{place}")


def _tried(what: str, call: Callable[[], object], well: str, of: str = "") -> Diagnosis:
    """The finding about a call: well if it succeeds; `of` is the subject of the operating system's error."""
    try:
        call()
    except (BadDkimKey, KeyFileError, PasswordError) as error:
        return Diagnosis(False, what, str(error))
    except OSError as error:
        return Diagnosis(False, what, f"{of}: {error.strerror}")
    return Diagnosis(True, what, well)


def examined(what: str, findings: Iterable[Diagnosis]) -> Iterator[Diagnosis]:
    """The findings; if damage stops the search, a last finding says so."""
    try:
        yield from findings
    except Exception as error:  # whatever it is, the operator asked what is wrong
        yield Diagnosis(False, what, f"cannot be examined further: {type(error).__name__}: {error}")


def of_store(opened: OperatorsStore, deadline: float) -> Iterator[Diagnosis]:
    """Examine a server's store, and all that goes by it; by a letter, too, if it has some seconds for its way."""
    config, database, vault, now = opened.config, opened.database, opened.vault, opened.clock
    yield from examined("store", store(database, vault))
    own = own_keys.load(config.store_key, config.signing_key, os.urandom)
    yield from examined("keys", keys(database, own, config.server))
    yield from examined("matches", transcripts(database, vault, config, own.public))
    yield from examined("clock", clock(now))
    yield from examined("room", room(database, config))
    yield from examined("mailbox", mailbox(Inbox(database, vault, config.mailbox_account), config, now()))
    yield from examined("queues", queues(database, vault, now()))
    if deadline and at_work(database, now()):
        with suppress(BadDkimKey):  # said among the surroundings
            yield mail_loop(opened, open_composer(config, database), deadline)


def store(database: Database, vault: Vault) -> Iterator[Diagnosis]:
    """Check that the file is sound, its tables agree, and their contents are what was written."""
    damage = database.engine.damage()
    faults = [*damage, *islice(unsound(database, vault), FAULTS)]
    try:
        database.engine.check_high_water()
    except StoreError as error:
        faults.append(str(error))
    for fault in faults:
        yield Diagnosis(False, "store", fault)
    elsewhere = isinstance(database.place, PostgresqlAddress)
    if not faults:
        yield Diagnosis(True, "store", "all seals open" if elsewhere else "sound, and all seals open")
    if elsewhere:
        yield Diagnosis(True, "store", _STANDBY[standby_of(database.place)])
        yield Diagnosis(True, "store", "not looked at: files and indexes (pg_amcheck), and backups (pg_dump)")


def keys(database: Database, own: OwnKeys, server: str) -> Iterator[Diagnosis]:
    """Check that the server's keys belong to its store, and the players' keys to their fingerprints."""
    try:
        own_keys.check(database, own)
        own_keys.check_name(database, server)
        log = VerifierKey(server, LOG, bytes.fromhex(own.public))
        yield Diagnosis(True, "keys", f"those of this store; the key of its log is {log}")
    except StoreError as error:
        yield Diagnosis(False, "keys", str(error))
    for row in database.rows("SELECT player, fingerprint, public FROM keys ORDER BY player, fingerprint"):
        try:
            same = parse_key(row["public"]).fingerprint == row["fingerprint"]
        except BadKey:
            same = False
        if not same:
            yield Diagnosis(False, "keys", f"a key of {row['player']} is not the one that it was")


def transcripts(database: Database, vault: Vault, config: Config, server_key: str) -> Iterator[Diagnosis]:
    """Check that every match follows from its letters and papers, and verifies as it would for anybody."""
    matches = Matches(database, vault)
    archive = MatchRepository(matches, People(database), config.server, lambda _: b"", server_key)
    for number in matches.numbers():
        try:
            yield _transcript(archive, number, server_key)
        except TranscriptError as error:
            yield Diagnosis(False, f"m{number}", str(error))
        except Sealed as error:
            yield Diagnosis(False, f"m{number}", f"{error} does not open: another key, or damaged")
        except Exception as error:  # one match that cannot be examined must not hide the others
            yield Diagnosis(False, f"m{number}", f"cannot be examined: {type(error).__name__}: {error}")


def _transcript(archive: MatchRepository, number: int, server_key: str) -> Diagnosis:
    match, row = archive.known(number)
    rows = archive.matches.entries(number)
    if not rows:
        return Diagnosis(row.phase not in {*RUNNING, "closed"}, match.id, f"{row.phase}, no transcript")
    if rows[-1].head != row.head or match.phase != row.phase:
        return Diagnosis(False, match.id, "its row does not agree with its transcript")
    for check in verify(archive.bundle(match, row), server_key):
        if not check.holds:
            return Diagnosis(False, match.id, f"{check.what}: {check.found}")
    return Diagnosis(True, match.id, f"{row.phase}, {len(rows)} entries, verifies")


def clock(server: ServerClock) -> Iterator[Diagnosis]:
    """Check that the clock is believed, and that time does not stand still."""
    if server.stop is not None:
        yield Diagnosis(False, "clock", f"{server.stop}. Until then nothing is decided")
    elif server.behind > STILL:
        found = f"it is behind {server():%Y-%m-%d %H:%M} UTC, which was noted: until then time stands still"
        yield Diagnosis(False, "clock", found)
    else:
        vouched = "vouched for" if server.is_vouched() else "and if it leaps, nobody vouches for it"
        yield Diagnosis(True, "clock", f"{server():%Y-%m-%d %H:%M} UTC, {vouched}")


def room(database: Database, config: Config) -> Iterator[Diagnosis]:
    """Check that there is room for the store, where its machine can tell."""
    free = database.engine.room()
    if free is not None:
        least = 3 * config.limits.reserve_bytes
        yield Diagnosis(free >= least, "room", f"{free // 2**20} MiB are free; it should have {least // 2**20}")


def mailbox(inbox: Inbox, config: Config, now: datetime) -> Iterator[Diagnosis]:
    """Check that the mailbox, if there is one, is read to its end: games may stand until it is."""
    read = inbox.mailbox_read()
    if config.mailbox and (read is None or now - read > config.clock.outage):
        since = f"since {to_db(read)[:16]}" if read else "yet"
        found = f"not read to its end {since}: see the log. Until it is, nobody misses a deadline"
        yield Diagnosis(False, "mailbox", found)


def queues(database: Database, vault: Vault, now: datetime) -> Iterator[Diagnosis]:
    """Check that letters are processed, as far as the store shows."""
    found = survey(database)
    daemon = at_work(database, now)
    yield Diagnosis(daemon is not None, "daemon", works(daemon, left_behind(database)))
    if daemon is not None:
        yield from (Diagnosis(False, "roles", said) for said in undone(database, now))
    for box, letters, oldest, patience in (
        ("inbox", found["inbox"], found["inbox_oldest"], STUCK),
        ("outbox", found["outbox"], found["outbox_oldest"], SLOW),
    ):
        late = oldest is not None and now - from_db(oldest) > patience
        waiting = letters["waiting"] + letters["leased"]
        yield Diagnosis(not late, box, f"{waiting} waiting{f', the oldest since {oldest[:16]}' if oldest else ''}")
    if again := Lookups(database).next_due(now):
        whose = "this machine's name server, or those of a sender's domain"
        yield Diagnosis(False, "dns", f"no answer from {whose}; a letter waits until {to_db(again)[:16]}")
    if aside := found["inbox"]["aside"]:
        yield Diagnosis(False, "inbox", f"{aside} set aside: `pbem inbox list`")
    due = Matches(database, vault).next_due()
    if due and now - due > STUCK:
        yield Diagnosis(False, "turns", f"something was due at {to_db(due)[:16]} and is not done")
    for player, since in found["unreachable"].items():
        yield Diagnosis(False, "players", f"letters to {player} do not arrive since {since[:16]}")


def undone(database: Database, now: datetime) -> list[str]:
    """The roles that no server on a store has, each with the consequence."""
    done = roles_at_work(database, now)
    missing = [role for role in Role if done is not None and role not in done]
    return [f"no server has the role {role}: {UNDONE[role]}" for role in missing]


def works(daemon: int | list[str] | None, left: Sequence[int]) -> str:
    """The daemons at work on a store, in words; see `at_work` and `left_behind`."""
    if left:
        return f"does not run, and has left behind what still holds the store: process {', '.join(map(str, left))}"
    if isinstance(daemon, list):
        return f"runs on {len(daemon)} machines" if len(daemon) > 1 else "runs"
    return f"runs, process {daemon}" if daemon else "does not run"


def mail_loop(store: OperatorsStore, composer: Composer, deadline: float) -> Diagnosis:
    """Send a letter to ourselves through the smarthost, and check that it comes back within `deadline` seconds.

    A server that files its letters in Maildirs gets none back: there it only has to be filed.
    """
    database, now, maildirs = store.database, store.clock, store.config.smarthost.maildirs
    token = os.urandom(8).hex()
    address = composer.sub_address("canary" if maildirs else f"canary.{token}")
    text = "A letter to see that mail goes out and comes in. Nobody need read it.\n"
    message_id = composer.message_id(f"canary.{token}")
    raw = composer.compose(address, "[pbem] canary", Content(text), message_id=message_id, date=now())
    outbox, inbox, since = Outbox(database, store.vault), Inbox(database, store.vault), now()
    with database.transaction():
        outbox.put(address, message_id, raw, now())
        number = outbox.number(address, message_id)
    store.wake()
    begun = time.monotonic()
    while time.monotonic() - begun < deadline:
        if any(message_id.encode() in raw for raw in inbox.received_since(since)):
            return Diagnosis(True, "mail", f"a letter to {address} came back in {time.monotonic() - begun:.1f} s")
        row = Box(database, "outbox").show(number)
        if maildirs and row["state"] == "delivered":
            return Diagnosis(True, "mail", f"a letter to {address} was filed in {maildirs}")
        if row["state"] == "failed":
            return Diagnosis(False, "mail", f"the smarthost did not take a letter to {address}: {row['reply']}")
        time.sleep(0.1)
    row = Box(database, "outbox").show(number)
    if row["state"] == "delivered":
        return Diagnosis(False, "mail", f"the smarthost took a letter to {address}; it did not come back in time")
    with suppress(Busy):  # it is just being sent, or was
        Box(database, "outbox").drop(number, now())
    unanswered = "the smarthost has not answered" if row["state"] == "leased" else "no attempt was made"
    return Diagnosis(False, "mail", f"a letter to {address} could not be sent: {row['reply'] or unanswered}")
