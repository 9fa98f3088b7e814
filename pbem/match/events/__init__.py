"""The events of a match: each makes its entry, makes it again, checks it and words it.

Each event takes a `Step` and advances it. If the player may not do this, it raises `Refused` with all faults, and
nothing has changed. Here is the registry of all types of entry. Implements protocol.md, "A match" and "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.events import (
    begun,
    clocks,
    ended,
    endings,
    interventions,
    keys_changed,
    leaving,
    sealed_events,
    silence,
    substituted,
    turn,
)
from pbem.match.transcript import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.entry_type import EntryType
    from pbem.match.transcript import Entry

TYPES: Mapping[str, EntryType] = {
    one.name: one
    for one in (
        begun.AGREED,
        begun.COMMITMENTS,
        sealed_events.SEALED,
        sealed_events.STEP,
        turn.ENTRY,
        sealed_events.REVEAL,
        sealed_events.VERDICT,
        silence.MISSED,
        silence.FORFEITED,
        leaving.ENTRY,
        clocks.EXTENDED,
        silence.CLAIMED,
        endings.OFFERED_DRAW,
        endings.ANNULMENT,
        endings.RESIGNED,
        substituted.NOMINATED,
        substituted.SUBSTITUTED,
        keys_changed.ENTRY,
        clocks.MOVED,
        clocks.HALTED,
        clocks.ON_VACATION,
        interventions.PAUSED,
        interventions.RESUMED,
        interventions.STOPPED,
        interventions.RESTORED_ENTRY,
        ended.ENTRY,
        ended.REVEALED,
        ended.CLOSED,
    )
}
"""The types of entries, by name."""

BEGIN = frozenset(name for name, kind in TYPES.items() if kind.begins)
OPEN = frozenset(name for name, kind in TYPES.items() if kind.opens)
"""The types of the entries with which games begin, and with which all their papers are open."""

_BY_SEAT = ("letters", "players", "commitments", "receipts", "orders", "shown", "verdicts")
"""The parts of bodies that are objects by seat."""

_OF_SEATS = ("seats", "to", "against", "default", "winners", "sharing")
"""The parts of bodies that are lists of seats; the `to` of a vacation is a day, or none."""


def check(entry: Entry, seats: int) -> None:
    """Raises `TranscriptError` unless the entry's type is known, and its body fits that type and number of seats."""
    kind = TYPES.get(entry.type)
    if kind is None:
        raise TranscriptError(entry.seq, None, f"`{entry.type}` is no type of entry")
    if not kind.form(entry.body):
        raise TranscriptError(entry.seq, None, f"{entry.type}: its body has not the form of one")
    named = {part: [entry.body.get(part, 0)] for part in ("seat", "for")}
    if entry.type != "vacation":
        named |= {part: entry.body.get(part, []) for part in _OF_SEATS}
    if entry.type != "keys":
        named |= {part: [*map(int, entry.body.get(part, ()))] for part in _BY_SEAT}
    for part, found in named.items():
        if any(seat > seats for seat in found):
            raise TranscriptError(entry.seq, None, f"{entry.type}: `{part}` names a seat that there is not")
