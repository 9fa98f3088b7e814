"""The trace of what was set aside, filed with the entry that closes the setups, the turn or the game.

`traces` has the documents themselves. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match import stored_orders
from pbem.match.step import Document
from pbem.match.traces import SetAside, Trace
from pbem.match.transcript import sha256_hex
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.match.step import Step


def file_trace(step: Step, what: str, game: int) -> dict[str, str]:
    """File what was set aside up to the next entry with the papers of this game; returns how the entry names it."""
    match = step.match
    found = step.world.set_aside(match, what)
    if found is None:
        found = _set_aside(step.match, at_end=what == "end")
    path = f"traces/game-{match.game}-{what}.txt"
    place = (match.server, match.id, match.game, match.turn)
    trace = Trace.of(place, step.world.salt(path), (aside for _, aside in found)).text().encode()
    for _, aside in found:
        step.papers.append(Document(aside.path, aside.paper.encode(), game))
        step.file_letter(aside.stem, aside.letter, aside.evidence, game, None)
    step.papers.append(Document(path, trace, game))
    return {"trace": sha256_hex(trace)}


def _set_aside(match: Match, *, at_end: bool) -> list[tuple[int, SetAside]]:
    """The papers set aside for what is due, by seat; at the end of the game, default orders, too."""
    submissions = match.setups if match.phase == "setup" else match.orders
    found = [(seat, aside) for seat, sent in sorted(submissions.items()) for aside in sent.aside]
    for seat in match.seats if at_end and match.phase == "playing" else ():
        if stored := match.stored.get((seat, DEFAULT)):
            found += [(seat, aside) for aside in stored.aside]
            if seat in match.missed and stored.standing and stored_orders.default(match, seat) is None:
                found.append((seat, SetAside(stored.paper, stored.letter, stored.evidence)))
    return found
