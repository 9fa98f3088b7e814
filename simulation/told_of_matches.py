"""The checks of matches after a week: their letters, bundles and standings against each other.

docs/bundle.md and docs/threats.md promise all of it. Nothing here knows how the server works: a check compares what
players were sent with what they can prove.
"""

from __future__ import annotations

import email
import json
import re
from collections import Counter, defaultdict
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from world.promises import items_of, misses, name_of

from pbem.match.transcript import utc
from pbem.store.noted_time import Outages
from simulation.operators import RESTORED
from simulation.server import SKEW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle
    from pbem.store.database import Database
    from simulation.world import World

ATTACHED = re.compile(rb'filename="?([^";\r\n]+)')
REPORT = re.compile(rb"m[0-9]+-game-[0-9]+-turn-[0-9]+\.json")
POSITION = re.compile(r"m[0-9]+-game-[0-9]+-(position|turn-[0-9]+)\.json")
SALT = re.compile(rb'\bsalt"?[ :]"?([0-9a-f]{64})')

ASKS = {"agreed", "commitments", "turn"}
"""The entries that ask for a setup or for orders."""
FURTHER = {"extended", "substituted", "vacation", "delivery", "unreachable", "step", "sealed"}
"""The entries, and reasons in them, with which a deadline may move further than time goes by."""
BEAT = timedelta(minutes=2)
"""An outage is counted from the last heartbeat, which may be a minute older than a letter."""


def told_of_matches(world: World, remembered: Sequence[tuple[str, bytes]], database: Database) -> Iterator[str]:
    """Everything that does not hold; `remembered` are the letters that the server knows to have sent."""
    bundles = {match: proved.bundle for (match, _), proved in world.proved.items() if proved.bundle}
    yield from _told_once(world, remembered)
    yield from _told_no_more(world)
    yield from _salts_differ(bundles)
    yield from _grace_is_whole(world, bundles)
    yield from _received_in_time(world)
    yield from _moved_no_further(world, bundles, Outages(database))
    yield from _counted_once(world, bundles, database)
    yield from _break_is_noticed(world)


def _told_once(world: World, remembered: Sequence[tuple[str, bytes]]) -> Iterator[str]:
    """Each player gets the report of a turn in one letter, however often that is sent.

    A letter with nothing but reports was asked for: it has them again.
    """
    letters: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
    for recipient, raw in remembered:
        if recipient in world.people:
            files = set(ATTACHED.findall(raw))
            reports = set(filter(REPORT.fullmatch, files))
            for name in reports if files - reports else ():
                letters[recipient, name.decode()].add(name_of(raw))
    for (recipient, report), names in letters.items():
        if len(names) > 1 and not world.figures.restores:
            yield f"{len(names)} letters with one report: {report} to {recipient}"


def _told_no_more(world: World) -> Iterator[str]:
    """A position in Spaceships shows of the other what the reports to this seat have told, and nothing else."""
    told: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
    for taken in world.taken:
        if taken.recipient not in world.people or b"-position.json" not in taken.raw:
            continue
        parts = email.message_from_bytes(taken.raw).walk()
        content = [part.get_payload(decode=True) for part in parts if POSITION.fullmatch(part.get_filename(""))]
        files = [json.loads(text) for text in content if isinstance(text, bytes)]
        for file in sorted(files, key=lambda file: "view" in file):
            seat = file["match"], file["game"], file["seat"]
            if "view" not in file:
                told[seat] |= {*_words(file.get("reports", ()))}
            elif file.get("rules") != "spaceships" or "known" not in file["view"]:
                continue  # another game, in which pieces that move leave traces beside their reports
            elif (known := {*_words(file["view"]["known"])}) and seat not in told:
                told[seat] = known  # before the first turn: the names of its fields
            elif more := known - told[seat]:
                yield f"{seat[0]}: a position shows what no report has told: {sorted(more)} to {taken.recipient}"


def _words(value: object) -> Iterator[str]:
    """All text in a JSON value, with the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _words([*value.values()])
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)


def _salts_differ(bundles: dict[str, Bundle]) -> Iterator[str]:
    """No two papers have the same salt: who knows one could guess the other."""
    papers: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for bundle in bundles.values():
        for path, paper in bundle.papers.items():
            if not path.startswith("letters/") and (salt := SALT.search(paper)):
                papers[salt[1]].add(paper)
    for digits, same in papers.items():
        if len(same) > 1:
            yield f"{len(same)} papers have one salt: {digits.decode()}"


def _grace_is_whole(world: World, bundles: dict[str, Bundle]) -> Iterator[str]:
    """A miss waits for the whole grace, to the second; where summer time begins, by the clock on the wall."""
    for match, bundle in bundles.items() if "summer" not in world.has else ():
        grace = timedelta(seconds=bundle.entries[0].body["terms"]["grace"])
        for entry in bundle.entries:
            if entry.type == "missed" and utc(entry.time) < utc(entry.body["deadline"]) + grace:
                yield f"{match}: missed before the grace was over, at {entry.time}: {entry.body}"


def _received_in_time(world: World) -> Iterator[str]:
    """Nobody misses a turn whose orders count, and were answered with 250 before the end of the grace."""
    came = {(name_of(raw).decode(), sender): at for (raw, sender), at in reversed(world.answered.items())}
    sure = not (world.figures.steps or world.figures.restores)
    for (match, _), proved in world.proved.items() if sure else ():
        assert proved.bundle is not None
        for entry, name in misses(proved):
            entries, player = proved.bundle.entries[: entry.seq - 1], world.players[name]
            asked = max(utc(earlier.time) for earlier in entries if earlier.type in ASKS)
            ends = utc(entry.body["deadline"]) + timedelta(seconds=entries[0].body["terms"]["grace"] - SKEW)
            game, turn = entry.body["game"], entry.body["turn"]
            what, place = ("orders", f"game {game} turn {turn}") if turn else ("setup", f"game {game}")
            for sent in player.memory.sent(what, match, place):
                at = came.get((sent.message_id, player.address), ends)
                # Orders for a later turn are judged once more when it comes.
                if sent.state == "done" and asked <= at < ends:
                    yield f"{match}: {name} missed a turn, with orders that came at {at}: {entry.body}"


def _moved_no_further(world: World, bundles: dict[str, Bundle], outages: Outages) -> Iterator[str]:
    """No deadline moves further, from one letter to the next about the same turn, than time went by between them.

    It may, if others gave time, the seat changed hands, the player has days off, a letter was late, a setup was asked
    for once more, or a clock was set right. A server whose mailbox does not answer writes letters in an outage, which
    moves deadlines by its whole length when it is over.
    """
    if world.figures.steps or world.figures.restores:
        return
    plain = {match for match, bundle in bundles.items() if not any(map(_moves_further, bundle.entries))}
    told: dict[tuple[object, ...], tuple[datetime, datetime]] = {}
    for taken in world.taken:
        for item in items_of(taken.raw):
            if item.get("about") != "match" or item["match"] not in plain or item["deadline"] is None:
                continue
            turn = item["match"], item["seat"], item["game"], item["turn"]
            sent, deadline = parsedate_to_datetime(email.message_from_bytes(taken.raw)["Date"]), utc(item["deadline"])
            earlier, before = told.get(turn, (sent, deadline))
            since = min((began for began, _ in outages.since(earlier) if began < earlier), default=earlier)
            if deadline - before > max(sent - since, timedelta()) + BEAT:
                yield f"{turn}: the deadline moved from {before} to {deadline} between {earlier} and {sent}"
            told[turn] = sent, deadline


def _moves_further(entry: Entry) -> bool:
    """True if an entry may move a deadline further than a pause does; in a sealed match, each step asks anew."""
    again = entry.type == "missed" and not entry.body["turn"]
    return again or entry.type in FURTHER or entry.body.get("reason") in FURTHER


def _counted_once(world: World, bundles: dict[str, Bundle], database: Database) -> Iterator[str]:
    """The standings count each match of a player once, as soon as it is closed; none that was annulled."""
    if world.operator.ended or world.figures.restores:
        return
    ends = [(bundle.entries, bundle.entries[-1]) for bundle in bundles.values()]
    closed = [entries for entries, end in ends if end.type == "closed" and end.body["reason"] != "annulled"]
    expected = Counter((entries[0].body["terms"]["game"], name) for entries in closed for name in _names(entries))
    query = "SELECT game, player, sum(played + abandoned) AS number FROM standings GROUP BY game, player"
    counted = Counter({(row["game"], row["player"]): row["number"] for row in database.rows(query)})
    for game, name in expected | counted:
        if (number := counted[game, name]) != (played := expected[game, name]):
            yield f"{number} matches count for {name}, who has played {played} to their end: {game}"


def _names(entries: Sequence[Entry]) -> list[str]:
    """The players in the seats of a match at its end."""
    seats = {seat: player["name"] for seat, player in entries[0].body["players"].items()}
    for entry in entries:
        if entry.type == "substituted":
            seats[str(entry.body["seat"])] = entry.body["player"]["name"]
    return [*seats.values()]


def _break_is_noticed(world: World) -> Iterator[str]:
    """Whoever has a letter of what a restored server forgot can say so when asked: the program keeps an alarm."""
    for player in world.players.values():
        told: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for item in [item for raw in player.came for item in items_of(raw)]:
            if item.get("about") == "match" and item["head"] is not None:
                told[item["match"]].append((item["generation"], item["restored"], item["head"]["seq"]))
        for match in told.keys() - {alarm.match for alarm in player.memory.alarms() if RESTORED in alarm.said}:
            latest, restored, _ = max(told[match])
            lost = [seq for generation, _, seq in told[match] if generation < latest and 0 < restored <= seq]
            if lost:
                yield f"{player.name} does not know that the server forgot entry {max(lost)} of {match}"
