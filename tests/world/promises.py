"""The promises about mail that hold of any server, simulated or a process of its own, whatever happened to it.

They are held against what people outside saw, and against the store at the end; what happened in between is not known
here.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from pbem.desk.outcomes import SAID_BEFORE, UNVOUCHED
from pbem.match.sealed_game import SILENT
from pbem.player.blind import replayed
from pbem.proof.verification import Proved, verify
from pbem.store.inbox import Inbox
from pbem.store.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from world.correspondent import Correspondent

    from pbem.json_object import JsonObject
    from pbem.match.transcript import Entry
    from pbem.store.database import Database
    from pbem.store.vault import Vault

MESSAGE_ID = re.compile(rb"(?im)^Message-ID:\s+(\S+)")
IN_REPLY_TO = re.compile(rb"(?im)^In-Reply-To:\s+(\S+)")
DOUBTED = b"\r\nSubject: [pbem] Your letter\r\n"
"""In the answer to a letter for which nobody vouches."""
BULLETIN = re.compile(rb"(?m)^X-Pbem-Bulletin:((?:(?:\r\n)?[ \t]+\S+)+)")


@dataclass(frozen=True)
class Seen:
    """Observations of a server: its store at the end, and its mail."""

    database: Database
    vault: Vault
    answered: Collection[tuple[bytes, str]]
    """The letters that were answered with 250, and who sent them."""
    taken: Sequence[tuple[str, bytes]]
    """Whom each letter was for that the smarthost took, and its bytes, each time that it took it."""
    players: Collection[Correspondent]
    proved: dict[tuple[str, bytes], Proved]
    """What was found in the proofs that verify, by match and bundle."""
    refused: Collection[tuple[bytes, str]] = ()
    """The letters that were answered with 4xx alone."""
    lost: Collection[tuple[bytes, str]] = ()
    """The letters that a server forgot, which were answered with 250 after the backup that was restored."""
    ended: Collection[str] = ()
    """The matches that the operator ended because players had been told what the server then forgot."""
    untrue: Collection[tuple[str, int]] = ()
    """The seats, by match, that told something false in a sealed match: they were not played as their seeds say."""


def broken(seen: Seen) -> Iterator[str]:
    """Everything that does not hold."""
    for promise in PROMISES:
        yield from promise(seen)


def sound(seen: Seen) -> Iterator[str]:
    """The store is undamaged."""
    yield from (f"the store is damaged: {line}" for line in seen.database.engine.damage())


def kept(seen: Seen) -> Iterator[str]:
    """Promises 1 and 2: what was answered with 250 is stored and handled; what was refused for good is not."""
    inbox = Inbox(seen.database, seen.vault)
    rows = seen.database.rows("SELECT id, sender, state FROM inbox ORDER BY id")
    there = {(inbox.raw(row["id"]), row["sender"]): row["state"] for row in rows}
    if len(there) != len(rows):
        yield f"{len(rows) - len(there)} letters were stored twice"
    for raw, sender in seen.answered:
        if (state := there.get((raw, sender))) != "done":
            yield f"answered with 250, and {state or 'lost'}: {name_of(raw).decode()} of {sender}"
    for raw, sender in seen.refused:
        if (raw, sender) in there:
            yield f"answered with 4xx alone, and kept: {name_of(raw).decode()} of {sender}"


def one_effect(seen: Seen) -> Iterator[str]:
    """Promise 1: a letter that was stored has one effect, and one answer.

    While the DNS denies the key of its provider, a letter without one of its own gets the answer for strangers, which
    does not name it; beyond the day's limit, which others may use up, it gets none. Somebody who is no player yet
    gets a few answers a day: letters of days, which come together from a mailbox that was out of reach, may be more.
    Words that were refused before, and that anybody may have sent again, get no second refusal beyond the limit.
    """
    answers: defaultdict[str, set[bytes]] = defaultdict(set)
    for raw in {raw for _, raw in seen.taken}:
        for hashed in answered_by(raw):
            answers[hashed].add(name_of(raw))
    names = {sha256(name).hexdigest(): name.decode() for name in map(name_of, [raw for raw, _ in seen.answered])}
    for hashed, letters in sorted(answers.items()):
        if len(letters) > 1:
            yield f"{len(letters)} answers to {names.get(hashed, hashed)}"
    lost = {name_of(raw).decode() for raw, _ in seen.lost}
    inbox = Inbox(seen.database, seen.vault)
    repeated, unvouched = (
        {
            name_of(inbox.raw(row["id"])).decode()
            for row in seen.database.rows("SELECT id FROM inbox WHERE outcome LIKE ?", (f"{silence.outcome}%",))
        }
        for silence in (SAID_BEFORE, UNVOUCHED)
    )
    for player in seen.players:
        refused = {(sent.command, sent.match, sent.place) for sent in player.memory.in_state("refused")}
        doubted = {name_of(raw) for to, raw in seen.taken if to == player.address and DOUBTED in raw}
        waits = [
            sent
            for sent in player.memory.in_state("ready", "sent")
            if sent.message_id not in lost
            and (hashed := sha256(sent.message_id.encode()).hexdigest()) in names  # others were lost on their way
            and hashed not in answers
            and not (sent.message_id in unvouched and not player.signs)
            and not (sent.message_id in repeated and (sent.command, sent.match, sent.place) in refused)
            and sent.match not in seen.ended
            and (sent.command != "register" or player.memory.account().name is None)
        ]
        for sent in waits[0 if player.signs else len(doubted) :]:
            yield f"no answer to {sent.message_id} of {player.name}: {sent.command} {sent.match} {sent.place}"


def same_bytes(seen: Seen) -> Iterator[str]:
    """Promise 3: each letter is sent with the bytes that were written, and each written letter is sent."""
    outbox = Outbox(seen.database, seen.vault)
    copies: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
    for recipient, raw in seen.taken:
        copies[name_of(raw).decode(), recipient].add(raw)
    rows = seen.database.rows("SELECT id, message_id, recipient, state FROM outbox ORDER BY id")
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


def one_story(seen: Seen) -> Iterator[str]:
    """Promise 3: no letter that anybody got shows two heads of one match at the same place."""
    signed = {
        (f"m{row['match']}", row["seq"]): row["head"]
        for row in seen.database.rows("SELECT match, seq, head FROM entries ORDER BY match, seq")
    }
    for player in seen.players:
        for event in player.events:
            # A letter that somebody else wrote in a player's name gets a short answer, which goes to the player.
            in_short = event.said == "it has no signed bulletin, so that anybody may have written it"
            # The answer to a second copy of a registration may be the first letter: there is no key to judge it by.
            early = event.kind == "unpinned" and event.subject.startswith(("Re: register", "[pbem] One more step"))
            told = event.kind in {"forged", "contradiction", "unpinned", "bounced"} and not in_short and not early
            if told and event.match not in seen.ended:
                yield f"{player.name} was told: {event.kind}: {event.subject}: {event.said}"
        for alarm in player.memory.alarms():
            if alarm.match not in seen.ended:
                yield f"{player.name}: alarm: {alarm.match}: {alarm.said}"
        for standing in player.letters.matches.standings:
            match = standing.match
            if match in seen.ended:
                continue
            for seq, head in player.memory.heads(match).items():
                if signed.get((match, seq)) != head:
                    yield f"{player.name} was shown another head of {match} after entry {seq}"


def all_proved(seen: Seen) -> Iterator[str]:
    """Each match is over, verifies, and was played blind."""
    for player in seen.players:
        for standing in player.played:
            match = standing.match
            content = player.memory.bundle(match)
            if match in seen.ended:
                continue
            if standing.phase != "closed" or content is None:
                yield f"{match} is {standing.phase} for {player.name}, {'no' if content is None else 'a'} bundle"
            elif (match, content) not in seen.proved:
                proved = Proved()
                *_, last = verify(content, proved=proved)
                if not last.holds:
                    yield f"{match} of {player.name} does not verify: {last}"
                    continue
                seen.proved[match, content] = proved
                seeds = [seed for other in seen.players for seed in other.seeds(match)]
                for finding in replayed(proved, seeds):
                    unknown = finding.standing == "open" and _is_unplayed(proved)
                    false = any(finding.what == f"seat {seat}" for at, seat in seen.untrue if at == match)
                    if finding.standing != "agrees" and not unknown and not false:
                        yield f"{match}: not played blind: {finding}"


def misses(proved: Proved) -> Iterator[tuple[Entry, str]]:
    """Each missed deadline of a match, and whose it was: a seat may have changed hands."""
    assert proved.bundle is not None
    entries = proved.bundle.entries
    seats = {seat: player["name"] for seat, player in entries[0].body["players"].items()}
    for entry in entries:
        if entry.type == "substituted":
            seats[str(entry.body["seat"])] = entry.body["player"]["name"]
        if entry.type == "missed":
            yield entry, seats[str(entry.body["seat"])]


def _is_unplayed(proved: Proved) -> bool:
    """True if a match ended before setups or reveals: nobody can tell how it was played."""
    assert proved.bundle is not None
    entries = proved.bundle.entries
    silent = any(SILENT in entry.body["verdicts"].values() for entry in entries if entry.type == "verdict")
    if proved.match is not None and proved.match.terms.tournament is not None:
        return True  # letters of entry commit to no seed
    types = {entry.type for entry in entries}
    return silent or "stopped" in types or not types & {"commitments", "turn", "reveal"}


PROMISES = (sound, kept, one_effect, same_bytes, one_story, all_proved)


def answered_by(raw: bytes) -> Iterator[str]:
    """The hashes of the Message-IDs that a letter answers, by its header and by its bulletin.

    A letter received before gets a short answer outside its thread; the bulletin names the letter.
    """
    if (found := IN_REPLY_TO.search(raw)) is not None:
        yield sha256(found[1]).hexdigest()
    yield from (item["answers"] for item in items_of(raw) if item.get("answers"))


def items_of(raw: bytes) -> list[JsonObject]:
    """The items of a letter's bulletin."""
    if (found := BULLETIN.search(raw)) is None:
        return []
    items: list[JsonObject] = json.loads(base64.b64decode(b"".join(found[1].split())))["items"]
    return items


def name_of(raw: bytes) -> bytes:
    found = MESSAGE_ID.search(raw)
    return found[1] if found is not None else b"?"
