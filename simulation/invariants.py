"""What must hold after a simulated week, whatever happened to the server: all promises of reliability.md.

Each check looks at what people outside saw (replies, letters, bundles) and at the store at the end; none knows what
happened in between.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter, defaultdict
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from pbem.desk.strangers import EACH
from pbem.player.blind import replayed
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Proved, verify
from pbem.store.inbox import Inbox
from pbem.store.outbox import Outbox
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.json_object import JsonObject
    from pbem.store.database import Database
    from simulation.players import Player
    from simulation.world import World

MESSAGE_ID = re.compile(rb"(?im)^Message-ID: (\S+)")
IN_REPLY_TO = re.compile(rb"(?im)^In-Reply-To:\s+(\S+)")
BULLETIN = re.compile(rb"(?m)^X-Pbem-Bulletin:((?:(?:\r\n)?[ \t]+\S+)+)")
TO = re.compile(rb"(?im)^To: .*?([^\s<>]+@[^\s<>]+)")


class Broken(AssertionError):
    """A promise was not kept."""


def check(world: World) -> None:
    """Raises `Broken` with everything that does not hold."""
    with world.machine.store() as database:
        vault = Vault(load_key(world.machine.config.store_key))
        found = [
            *_no_fault_of_ours(world),
            *_sound(database),
            *_kept(world, database, Inbox(database, vault)),
            *_one_effect(world),
            *_one_use(world),
            *_answered_as_before(world),
            *_same_bytes(world, database, Outbox(database, vault)),
            *_one_story(world, database),
            *_proved(world),
            *_nobody_reads_along(world),
        ]
    if found:
        raise Broken("\n".join(found))


def _no_fault_of_ours(world: World) -> Iterator[str]:
    """The server logged no fault of its own."""
    yield from (f"the server's own fault: {fault}" for fault in world.faults)


def _sound(database: Database) -> Iterator[str]:
    yield from (f"the store is damaged: {line}" for line in database.engine.damage())


def _kept(world: World, database: Database, inbox: Inbox) -> Iterator[str]:
    """Promises 1 and 2: what was answered with 250 is stored and handled; what was refused for good is not."""
    rows = database.rows("SELECT id, sender, state FROM inbox ORDER BY id")
    there = {(inbox.raw(row["id"]), row["sender"]): row["state"] for row in rows}
    if len(there) != len(rows):
        yield f"{len(rows) - len(there)} letters were stored twice"
    for raw, sender in world.answered:
        if (state := there.get((raw, sender))) != "done":
            yield f"answered with 250, and {state or 'lost'}: {_name(raw).decode()} of {sender}"
    # A letter refused because a sync failed may still be there: neither SQLite nor Linux can tell.
    refused = {} if world.figures.full else world.refused
    for raw, sender in refused:
        if (raw, sender) in there:
            yield f"answered with 4xx alone, and kept: {_name(raw).decode()} of {sender}"


def _one_effect(world: World) -> Iterator[str]:
    """Promise 1: a letter that was stored has one effect, and one answer."""
    answers: defaultdict[str, set[bytes]] = defaultdict(set)
    for raw in {taken.raw for taken in world.taken}:
        for hashed in _answered(raw):
            answers[hashed].add(_name(raw))
    names = {sha256(name).hexdigest(): name.decode() for name in map(_name, [raw for raw, _ in world.answered])}
    for hashed, letters in sorted(answers.items()):
        if len(letters) > 1:
            yield f"{len(letters)} answers to {names.get(hashed, hashed)}"
    for player in world.players.values():
        for sent in player.memory.in_state("ready", "sent"):
            yield f"no answer to {sent.message_id} of {player.name}: {sent.command} {sent.match} {sent.place}"


def _one_use(world: World) -> Iterator[str]:
    """Promise 4: a reply address is good for one letter."""
    came = {taken.raw for taken in world.taken if taken.recipient == world.keyless.address}
    done = {item.get("answers") for raw in came for item in _items(raw) if item.get("outcome") == "done"}
    uses = Counter(to for to, raw in world.keyless.sent if sha256(_name(raw)).hexdigest() in done)
    yield from (
        f"{number} letters had effect by one reply address: {to}" for to, number in uses.items() if number > 1
    )


def _answered_as_before(world: World) -> Iterator[str]:
    """The days of a clock that was wrong use up nobody's answers: a stranger with few letters gets one to each.

    A letter may be handled a day after it came, so that those of the days around count with it.
    """
    days = Counter(day for (_, sender), day in world.answered.items() if sender == world.stranger.address)
    answers = [taken.raw for taken in world.taken if taken.recipient == world.stranger.address]
    answered = {hashed for raw in answers for hashed in _answered(raw)}
    for (raw, sender), day in world.answered.items():
        around = sum(days[day + timedelta(days=by)] for by in (-1, 0, 1))
        if sender == world.stranger.address and around <= EACH and sha256(_name(raw)).hexdigest() not in answered:
            yield f"a stranger got no answer on {day}, with {around} letters in three days: {_name(raw).decode()}"


def _same_bytes(world: World, database: Database, outbox: Outbox) -> Iterator[str]:
    """Promise 3: each letter is sent with the bytes that were written, and each written letter is sent."""
    copies: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
    for taken in world.taken:
        copies[_name(taken.raw).decode(), taken.recipient].add(taken.raw)
    rows = database.rows("SELECT id, message_id, recipient, state FROM outbox ORDER BY id")
    written = {(row["message_id"], row["recipient"]): row for row in rows}
    for place in sorted(copies.keys() - written.keys()):
        yield f"sent, and not written: {place}"
    for place in sorted(written.keys() - copies.keys()):
        yield f"written, and not sent: {place} ({written[place]['state']})"
    for place in sorted(written.keys() & copies.keys()):
        if copies[place] != {outbox.raw(written[place]["id"])}:
            yield f"{len(copies[place])} letters of one Message-ID: {place}"
        if written[place]["state"] != "delivered":
            yield f"{place} is {written[place]['state']}"


def _one_story(world: World, database: Database) -> Iterator[str]:
    """Promise 3: no letter that anybody got shows two heads of one match at the same place."""
    signed = {
        (f"m{row['match']}", row["seq"]): row["head"]
        for row in database.rows("SELECT match, seq, head FROM entries ORDER BY match, seq")
    }
    for player in world.players.values():
        for event in player.events:
            # A letter that somebody else wrote in a player's name gets a short answer, which goes to the player.
            in_short = event.said == "it has no signed bulletin, so that anybody may have written it"
            if event.kind in {"forged", "contradiction", "unpinned", "bounced"} and not in_short:
                yield f"{player.name} was told: {event.kind}: {event.subject}: {event.said}"
        for alarm in player.memory.alarms():
            yield f"{player.name}: alarm: {alarm.match}: {alarm.said}"
        for standing in player.letters.matches.standings:
            match = standing.match
            for seq, head in player.memory.heads(match).items():
                if signed.get((match, seq)) != head:
                    yield f"{player.name} was shown another head of {match} after entry {seq}"


def _proved(world: World) -> Iterator[str]:
    """Each match verifies, was played blind, and nobody lost time because of the server or the post."""
    for player in world.players.values():
        for standing in player.letters.matches.standings:
            match = standing.match
            bundle = player.memory.bundle(match)
            if standing.phase != "closed" or bundle is None:
                yield f"{match} is {standing.phase} for {player.name}, {'no' if bundle is None else 'a'} bundle"
                continue
            yield from _one_bundle(world, player, match, bundle)


def _one_bundle(world: World, player: Player, match: str, content: bytes) -> Iterator[str]:
    known = world.proved.get(content)
    if known is None:
        proved = Proved()
        *_, last = verify(content, Letters, None, proved)
        known = world.proved[content] = proved
        if not last.holds:
            yield f"{match} of {player.name} does not verify: {last}"
            return
        assert proved.bundle is not None
        if match not in world.closed:
            world.closed.add(match)
            world.figures.matches += 1
            world.figures.turns += sum(entry.type == "turn" for entry in proved.bundle.entries)
        seeds = [seed for other in world.players.values() for seed in other.seeds(match)]
        for finding in replayed(proved, seeds):
            if finding.standing != "agrees":
                yield f"{match}: not played blind: {finding}"
    assert known.bundle is not None
    seats = known.bundle.entries[0].body["players"]
    for entry in known.bundle.entries:
        if entry.type == "missed":
            other = world.players[seats[str(entry.body["seat"])]["name"]]
            if not other.habits.late:
                yield f"{match}: {other.name} missed a deadline that was never near: {entry.body}"


def _nobody_reads_along(world: World) -> Iterator[str]:
    """Promise 4: no letter goes to the wrong person, and none shows a setup before its game ends."""
    for taken in world.taken:
        to = TO.search(taken.raw)
        if to is None or to[1].decode() != taken.recipient:
            yield f"{_name(taken.raw).decode()} was sent to {taken.recipient}, and says {to and to[1].decode()}"
    for player in world.players.values():
        secrets = [secret for match in player.letters.matches.standings for secret in player.secrets(match.match)]
        for taken in world.taken:
            other = world.people.get(taken.recipient)
            if other is not None and other is not player:
                for match, secret in secrets:
                    # Two small fleets may be the same: then each reads of its own.
                    told = secret in taken.raw and (match, secret) not in other.secrets(match)
                    if told and not world.is_over(match, taken.at):
                        yield f"{taken.recipient} read of {match} what is {player.name}'s"


def _answered(raw: bytes) -> Iterator[str]:
    """The hashes of the Message-IDs that a letter answers, by its header and by its bulletin.

    A letter received before gets a short answer outside its thread; the bulletin names the letter.
    """
    if (found := IN_REPLY_TO.search(raw)) is not None:
        yield sha256(found[1]).hexdigest()
    yield from (item["answers"] for item in _items(raw) if item.get("answers"))


def _items(raw: bytes) -> list[JsonObject]:
    """What a letter's bulletin says."""
    if (found := BULLETIN.search(raw)) is None:
        return []
    items: list[JsonObject] = json.loads(base64.b64decode(b"".join(found[1].split())))["items"]
    return items


def _name(raw: bytes) -> bytes:
    found = MESSAGE_ID.search(raw)
    return found[1] if found is not None else b"?"
