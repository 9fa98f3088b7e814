"""The checks after a simulated week, whatever happened to the server: all promises of reliability.md.

Those that hold of any server are in `world.promises`; here are those that a week's people can tell of.

Each check looks at what people outside saw (replies, letters, bundles) and at the store at the end; none knows what
happened in between.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from world.promises import Seen, answered_by, broken, items_of, misses, name_of

from pbem.desk.strangers import EACH
from pbem.store.database import from_db
from pbem.store.inbox import Inbox
from pbem.store.operator import Instructions
from pbem.store.vault import Vault, load_key
from simulation.liars import obeyed
from simulation.sealed import untrue
from simulation.told_of_matches import told_of_matches
from simulation.verdicts import judged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pbem.store.database import Database
    from simulation.world import World

TO = re.compile(rb"(?im)^To: .*?([^\s<>]+@[^\s<>]+)")
SET_ASIDE = re.compile(rb"(?m)^Subject: \[pbem\] (A|Your) letter was set aside\r$")
REFUSED = re.compile("is not paused|is paused|not under way")
"""What the server may answer to an instruction that came too late."""


class Broken(AssertionError):
    """A promise was not kept."""


def check(world: World) -> None:
    """Raises `Broken` with everything that does not hold."""
    with world.machine.store() as database:
        vault = Vault(load_key(world.machine.config.store_key))
        # A letter refused because a sync failed, or a commit got no answer, may still be there: nobody can tell.
        refused = {} if world.figures.full or world.figures.distant else world.refused
        operator = world.operator
        lost = {*operator.lost, *_set_aside(world, database, vault)}
        answered = world.answered.keys() - lost
        seen = Seen(
            database,
            vault,
            [one for one in world.answered if one in answered],
            _remembered(world, database),
            world.players.values(),
            world.proved,
            refused,
            lost,
            operator.ended,
            untrue(world),
        )
        found = [
            *_no_fault_of_ours(world),
            *(world.base.wrong if world.base is not None else ()),
            *world.twice,
            *broken(seen),
            *_kept_at_once(world, database, vault),
            *_obeyed(world, database),
            *_one_use(world, seen.taken),
            *_answered_as_before(world, lost),
            *_nobody_was_late(world),
            *_nobody_reads_along(world),
            *told_of_matches(world, seen.taken, database),
            *(line for part in world.parts for line in part.broken()),
            *obeyed(world),
            *judged(world, database, vault),
        ]
    matches = {match: proved.bundle.entries for (match, _), proved in world.proved.items() if proved.bundle}
    world.figures.matches = len(matches.keys() | world.operator.ended)
    world.figures.turns = sum(entry.type == "turn" for entries in matches.values() for entry in entries)
    if found:
        raise Broken("\n".join(found))


def _no_fault_of_ours(world: World) -> Iterator[str]:
    """The server logged no fault of its own."""
    yield from (f"the server's own fault: {fault}" for fault in world.faults)


def _remembered(world: World, database: Database) -> list[tuple[str, bytes]]:
    """The letters that were sent, without those that a restored server forgot, for whom each is, and its bytes."""
    rows = database.rows("SELECT message_id, recipient FROM outbox")
    written = {(row["message_id"], row["recipient"]) for row in rows}
    return [
        (taken.recipient, taken.raw)
        for at, taken in enumerate(world.taken)
        if at not in world.operator.forgotten or (name_of(taken.raw).decode(), taken.recipient) in written
    ]


def _set_aside(world: World, database: Database, vault: Vault) -> Iterator[tuple[bytes, str]]:
    """The letters that were set aside as case 9 says: the server died three times since they came, and told so."""
    inbox = Inbox(database, vault)
    told = {(taken.recipient, subject[1]) for taken in world.taken if (subject := SET_ASIDE.search(taken.raw))}
    for row in database.rows("SELECT id, sender, received FROM inbox WHERE state = 'aside'"):
        ended = world.aside.get(row["id"], world.now())
        deaths = sum(from_db(row["received"]) <= at <= ended for at in world.deaths)
        if deaths >= 3 and {(row["sender"], b"Your"), (world.machine.config.operator, b"A")} <= told:
            yield inbox.raw(row["id"]), row["sender"]


def _kept_at_once(world: World, database: Database, vault: Vault) -> Iterator[str]:
    """A letter that was answered with 250 was stored then, and not only when its program sent it once more.

    A provider answers for its mailbox, and by a clock that is set right nobody can tell.
    """
    inbox = Inbox(database, vault)
    if world.figures.steps or "mailbox" in world.has:
        return
    for (raw, sender), again in world.repeated.items():
        rows = database.rows("SELECT id, received FROM inbox WHERE sender = ?", (sender,))
        came = [from_db(row["received"]) for row in rows if inbox.raw(row["id"]) == raw]
        if came and min(came) >= again and (raw, sender) not in world.operator.lost:
            yield f"answered with 250, and lost until it was sent again: {name_of(raw).decode()} of {sender}"


def _obeyed(world: World, database: Database) -> Iterator[str]:
    """Each instruction of the operator's was carried out, or refused because the match was in no such state."""
    instructions = Instructions(database)
    for number in world.operator.given:
        state, answer = instructions.outcome(number)
        if state == "waiting":
            yield f"an instruction of the operator's waits for ever: {number}"
        elif state == "refused" and not REFUSED.search(answer):
            yield f"the operator was refused: {answer}"


def _one_use(world: World, remembered: Sequence[tuple[str, bytes]]) -> Iterator[str]:
    """Promise 4: a reply address is good for one letter."""
    for one in world.keyless:
        came = {raw for recipient, raw in remembered if recipient == one.address}
        done = {item.get("answers") for raw in came for item in items_of(raw) if item.get("outcome") == "done"}
        sent = {name_of(raw): to for to, raw in one.sent}
        uses = Counter(to for name, to in sent.items() if sha256(name).hexdigest() in done)
        yield from (
            f"{number} letters had effect by one reply address: {to}" for to, number in uses.items() if number > 1
        )


def _answered_as_before(world: World, lost: Collection[tuple[bytes, str]]) -> Iterator[str]:
    """A stranger with few letters gets an answer to each.

    A letter may be handled a day after it came, or after days in a mailbox: those of the days around count with it.
    """
    days = Counter(at.date() for (_, sender), at in world.answered.items() if sender == world.stranger.address)
    answers = [taken.raw for taken in world.taken if taken.recipient == world.stranger.address]
    answered = {hashed for raw in answers for hashed in answered_by(raw)}
    for (raw, sender), at in world.answered.items():
        day = at.date()
        within = world.handled_within + bool(world.figures.steps)  # the server's days may begin at other hours
        around = sum(days[day + timedelta(days=by)] for by in range(-within, within + 1))
        asked = sender == world.stranger.address and (raw, sender) not in lost
        if asked and around <= EACH and sha256(name_of(raw)).hexdigest() not in answered:
            yield f"a stranger got no answer on {day}, with {around} letters around it: {name_of(raw).decode()}"


def _nobody_was_late(world: World) -> Iterator[str]:
    """Nobody lost time because of the server or the post; but a clock that was ahead ends days off too soon."""
    for (match, _), proved in world.proved.items():
        for entry, name in misses(proved):
            other = world.players[name]
            hastened = world.figures.steps and other.away[0] < other.away[1]
            if not other.may_be_late(match) and not hastened and (other.signs or not world.week.troubles):
                yield f"{match}: {other.name} missed a deadline that was never near: {entry.body}"


def _nobody_reads_along(world: World) -> Iterator[str]:
    """Promise 4: no letter goes to the wrong person, and none shows a setup before its game ends."""
    for taken in world.taken:
        to = TO.search(taken.raw)
        if to is None or to[1].decode() != taken.recipient:
            yield f"{name_of(taken.raw).decode()} was sent to {taken.recipient}, and says {to and to[1].decode()}"
    found = {
        player: [secret for match in player.letters.matches.standings for secret in player.secrets(match.match)]
        for player in world.players.values()
    }
    matches: defaultdict[bytes, set[str]] = defaultdict(set)
    for match, secret in [one for secrets in found.values() for one in secrets]:
        matches[secret].add(match)  # two small fleets may be the same
    for player, secrets in found.items():
        for taken in world.taken:
            other = world.people.get(taken.recipient)
            if other is not None and other is not player:
                for match, secret in secrets:
                    told = secret in taken.raw and secret not in {own for _, own in found[other]}
                    told = told and not any(part.may_read(other.name, match, taken.at) for part in world.parts)
                    if told and not any(world.is_over(one, taken.at) for one in matches[secret]):
                        yield f"{taken.recipient} read of {match} what is {player.name}'s"
