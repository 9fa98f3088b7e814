"""5. The entries, one after the other; and the order of work."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509 import InvalidVersion

from verifier.agreed import agreed, keys
from verifier.conventions import No, Unknown, Wrong, must
from verifier.ends import closed, ended, ended_sealed, revealed, unrevealed
from verifier.events import (
    claimed,
    extended,
    forfeited,
    leave,
    left,
    missed,
    offered,
    operator,
    resigned,
    substitute,
    substituted,
    told,
)
from verifier.forms import check_form
from verifier.rules import Refused
from verifier.running import running_step, runs_from
from verifier.sealed import (
    ask_reveals,
    asks,
    late_verdict,
    letter_of_steps,
    one_step,
    reveal,
    sealed,
    turn_told,
    verdict,
)
from verifier.state import Match
from verifier.terms import is_judged
from verifier.transcript import LISTS, Entry, check_heads, committed, read_file, read_transcript
from verifier.turn import commitments, turn
from verifier.without_rules import check_without_rules, step_without_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BEGIN: dict[str, Callable[[Match, Entry], None]] = {
    "commitments": commitments,
    "turn": turn,
    "missed": missed,
    "extended": extended,
    "forfeited": forfeited,
    "left": left,
    "claimed": claimed,
    "draw": offered,
    "annul": offered,
    "moved": told,
    "halted": told,
    "vacation": told,
    "keys": keys,
    "substitute": substitute,
    "substituted": substituted,
    "resigned": resigned,
    **dict.fromkeys(("paused", "resumed", "restored", "stopped"), operator),
    "sealed": sealed,
    "step": letter_of_steps,
    "reveal": reveal,
    "verdict": late_verdict,
}
FOLLOW: dict[str, Callable[[Match, Entry, Any], None]] = {
    "left": leave,
    "ended": ended,
    "revealed": revealed,
    "closed": closed,
    "step": one_step,
    "told": turn_told,
    "verdict": verdict,
    "ended sealed": ended_sealed,
}
AT_ONCE: dict[str, Callable[[Match, Entry, Any], None]] = {"asks": asks, "reveals": ask_reveals}
"""The event after an entry without one of its own."""


def step(match: Match, entry: Entry, before: Entry | None) -> None:
    if before is None:
        agreed(match, entry)
        return
    if match.due:
        kind, said = match.due.pop(0)
        type_ = {"told": "turn", "ended sealed": "ended"}.get(kind, kind)
        must((entry.type, entry.time) == (type_, before.time), f"{type_} must follow")
        if kind == "turn":
            turn(match, entry)
        else:
            FOLLOW[kind](match, entry, said)
    else:
        must(match.phase in {"setup", "playing"} and entry.type in BEGIN, f"{entry.type} cannot stand here")
        BEGIN[entry.type](match, entry)
    while match.due and match.due[0][0] in AT_ONCE:
        kind, said = match.due.pop(0)
        AT_ONCE[kind](match, entry, said)


UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, AssertionError, NotImplementedError),
    *(Refused, UnsupportedAlgorithm, InvalidVersion),
)


@contextlib.contextmanager
def judging(entry: Entry) -> Iterator[None]:
    """Report each fault in this block at this entry."""
    try:
        yield
    except No as error:
        found = re.match(r"[a-z]+/\S+", str(error))
        raise Wrong(entry.seq, found[0] if found else None, str(error)) from error
    except UNREADABLE as error:
        raise Wrong(entry.seq, None, f"{entry.type}: what it says or names has not its form") from error


def check_entries(match: Match, entries: Sequence[Entry]) -> None:
    running = runs_from(entries)
    turns = -1
    before: Entry | None = None
    for entry in entries:
        with judging(entry):
            check_form(match, entry)
            must(before is None or entry.time >= before.time, "time runs backwards")
            if not match.judged:
                step_without_rules(match, entry, running=running is not None and entry.seq >= running)
            elif running is None or entry.seq < running:
                step(match, entry, before)
            else:
                must((not match.due and match.phase == "setup") or entry.seq > running, "cannot stand here")
                turns += entry.type == "turn"
                running_step(match, entry, turns)
                turns = max(turns, 0)
        before = entry
    if match.due:
        raise Wrong(len(entries) + 1, None, f"{match.due[0][0]} must follow")


def verified(content: bytes) -> Match:
    """The match as it stands at the end of a bundle that holds."""
    path = None
    try:
        members = read_file(content)
        path = "transcript.jsonl"
        entries = read_transcript(members[path])
        match = Match({name: paper for name, paper in members.items() if name not in LISTS})
        match.shown = {entry.body["game"] for entry in entries if entry.type == "revealed"}
        if entries[-1].type == "closed":
            match.shown.add(len(match.shown) + 1)
        check_form(match, entries[0])
        path = "heads.txt"
        check_heads(entries, members[path])
        first = entries[0].body
        match.judged = is_judged(first["terms"])
        check_entries(match, entries)
        path = "commitments.sha256"
        made = ""
        for name, commitment in (one for entry in entries for one in committed(entry, members)):
            made += f"{commitment}  {name}\n" if name in members and f"  {name}\n" not in made else ""
        must(members[path] == made.encode(), "not the commitments")
        path = None
        if not match.judged:
            check_without_rules(match, entries)
            raise Unknown(1, None, f"the rules of {match.terms['game']} are not here (13)")
    except (No, *UNREADABLE) as error:
        raise Wrong(None, path, str(error)) from error
    match.check_all_named(len(entries))
    if match.is_sealed and match.phase == "playing":
        unrevealed(match, match.seats)
    return match
