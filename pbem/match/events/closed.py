"""The match is over.

Implements protocol.md, "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.changed import replace
from pbem.match.entry_forms import hash_, list_of, mapping, number, text, whole
from pbem.match.entry_type import EntryType
from pbem.match.replies import show_replies_of_setups
from pbem.match.set_aside import file_trace

if TYPE_CHECKING:
    from pbem.match.step import Step


def close(step: Step, winner: int, reason: str) -> None:
    """The match is over."""
    outcome = {"winner": winner, "scores": list(step.match.totals), "reason": reason}
    over: dict[str, object] = {"outcome": outcome, "clocks": {}, "missed": frozenset(), "offers": {}}
    trace = {}
    if step.match.phase == "setup":
        trace = file_trace(step, "end", step.match.game - 1)
        over |= {"setups": {}, "resolve_at": None}
        show_replies_of_setups(step)
    step.append_entry("closed", {**outcome, **trace})
    step.match = replace(step.match, phase="closed", **over)
    step.notify("closed")


ENTRY = EntryType(
    "closed",
    mapping({"winner": number, "scores": list_of(whole), "reason": text}, {"trace": hash_}),
    says="the match is closed: winner {winner}, scores {scores}",
)
