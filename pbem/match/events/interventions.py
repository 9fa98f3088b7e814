"""The operator's interventions in a match: everybody who reads the transcript sees when, and why.

Implements protocol.md, "A match"; docs/operating.md says when to do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.entry_type import EntryType, mapping, number, one_of, text
from pbem.match.events.ended import abandon
from pbem.match.state import PAUSE, PHASES, RESTORED, RUNNING
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.json_object import JsonObject
    from pbem.match.remaking import Remaking
    from pbem.match.state import Match
    from pbem.match.step import Step


MOST_STOPS = 1000
"""The maximum number of pauses in one turn: each new one examines all earlier ones."""


def pause(step: Step, reason: str) -> None:
    """Pause the match: what is sent is kept, and nothing begins or resolves."""
    _under_way(step.match, "pause", paused=False)
    _stand_still(step, "paused", reason, {"by": "operator", "reason": reason})


def restored(step: Step, generation: int) -> None:
    """The server was restored from a backup: until somebody has checked, nothing may be told a second time."""
    _under_way(step.match, "restored", paused=None)
    _stand_still(step, "restored", RESTORED, {"generation": generation})
    step.match = replace(step.match, generation=generation, restored=step.match.seq)


def resume(step: Step, reason: str) -> None:
    """Resume the match; what became due meanwhile happens with `advance`."""
    _under_way(step.match, "resume", paused=True)
    forgot = step.match.paused == RESTORED
    step.append_entry("resumed", {"by": "operator", "reason": reason})
    clocks = {seat: clock.released(PAUSE, step.world.now) for seat, clock in step.match.clocks.items()}
    step.match = replace(step.match, paused="", clocks=clocks)
    step.notify("resumed", reason=reason, forgot=forgot)


def stop(step: Step, reason: str) -> None:
    """End the match for good: a game under way is abandoned as it stands and revealed, and nobody wins."""
    _under_way(step.match, "end", paused=None)
    step.append_entry("stopped", {"by": "operator", "reason": reason})
    step.match = replace(step.match, paused="")
    abandon(step, f"operator: {reason}", by="operator")


def _under_way(match: Match, event: str, *, paused: bool | None) -> None:
    """Refuse an operator's event that makes no sense now; with `paused` None, it always does."""
    if match.phase not in RUNNING:
        says = Phrase("the match is {phase}, not under way", phase=PHASES[match.phase])
        raise Refused(Fault(event, match.id, says))
    if paused is not None and bool(match.paused) != paused:
        message = Phrase("the match is not paused") if paused else Phrase("the match is paused")
        raise Refused(Fault(event, match.id, message))


def _stand_still(step: Step, kind: str, why: str, body: JsonObject) -> None:
    step.append_entry(kind, body)
    clocks = {seat: clock.halted(PAUSE, step.world.now) for seat, clock in step.match.clocks.items()}
    step.match = replace(step.match, paused=why or kind, resolve_at=None, clocks=clocks)
    step.notify(kind, **body)


def remake(remaking: Remaking) -> Step:
    """The intervention again, by the server's bare word: it need only make sense."""
    if any(len(clock.stops) > MOST_STOPS for clock in remaking.match.clocks.values()):
        raise remaking.untrue(None, f"the match stood still more than {MOST_STOPS:,} times in one turn")
    step = remaking.at_work()
    if remaking.entry.type == "restored":
        restored(step, int(remaking.entry.body["generation"]))
    else:
        event = {"paused": pause, "resumed": resume, "stopped": stop}[remaking.entry.type]
        event(step, str(remaking.entry.body["reason"]))
    return step


_BODY = mapping({"by": one_of("operator"), "reason": text})

PAUSED = EntryType("paused", _BODY, remake=remake, says="paused by the operator: {reason}", between=True)

RESUMED = EntryType("resumed", _BODY, remake=remake, says="resumed by the operator: {reason}", between=True)

STOPPED = EntryType("stopped", _BODY, remake=remake, says="stopped by the operator: {reason}")

RESTORED_ENTRY = EntryType(
    "restored",
    mapping({"generation": number}),
    remake=remake,
    says="the server was restored from a backup (generation {generation}); paused",
    between=True,
)
