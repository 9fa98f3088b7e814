"""The replay of a transcript: the same events, from the letters and papers that it names, must give the same entries.

One replay serves two readers: the store uses it to restore a match, trusting its own rows; `verify` uses it to
prove a bundle, trusting nothing. Only the `Source` of the forms differs. Each type of entry says in `events` how it
is made again, with what `remaking` hands it. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused
from pbem.match.documents import NotADocument
from pbem.match.events import TYPES
from pbem.match.modes import proposed
from pbem.match.progress import advance
from pbem.match.remaking import Remaking
from pbem.match.terms import Terms
from pbem.match.transcript import Entry, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.match.documents import Receipt
    from pbem.match.remaking import Source
    from pbem.match.state import Match
    from pbem.match.step import Notice, Step


def begin(first: Entry) -> Match:
    """The match in a transcript's first entry, before it was agreed; raises `TranscriptError`."""
    body = first.body
    try:
        if first.type != "agreed":
            raise ValueError(first.type)
        return proposed(str(body["match"]), str(body["server"]), Terms.read(body["terms"]))
    except (KeyError, TypeError, ValueError) as error:
        raise TranscriptError(first.seq, None, "not the beginning of a match") from error


def replay_transcript(
    entries: Sequence[Entry],
    source: Source,
    *,
    until: int | None = None,
    passed: Callable[[Entry], None] | None = None,
    on_notices: Callable[[Sequence[Notice]], None] | None = None,
) -> Match:
    """The match after these entries, or the first `until` of them; `passed` is called for each that was found true.

    `on_notices` is called with the notices of each step.

    Raises `TranscriptError` at the first that does not follow.
    """
    match = begin(entries[0])
    played: dict[tuple[int, int], list[tuple[Receipt, datetime]]] = {}
    at = 0
    while at < (len(entries) if until is None else until):
        step = _remade(Remaking(match, entries[at], source, entries, played, advance, until=until))
        for made in step.entries:
            if at >= len(entries):
                raise TranscriptError(made.seq, None, f"the transcript breaks off before the entry `{made.type}`")
            _compare(made, entries[at])
            if passed:
                passed(made)
            at += 1
        if on_notices:
            on_notices(step.notices)
        match = step.match
    return match


def _remade(remaking: Remaking) -> Step:
    """The step of an entry, made again."""
    entry = remaking.entry
    kind = TYPES.get(entry.type)
    if kind is None or kind.remake is None:
        raise remaking.untrue(None, f"`{entry.type}` does not follow here")
    try:
        step = kind.remake(remaking)
    except (Refused, NotADocument, LookupError, TypeError, ValueError, AssertionError, OverflowError) as error:
        raise remaking.untrue(None, f"does not follow: {error}") from error
    if not step.entries:
        raise remaking.untrue(None, "nothing was to happen here")
    for paper in step.papers:
        found = remaking.source.paper(paper.path)
        if found != paper.content:
            room, _, name = paper.path.partition("/")
            # Some papers are named by an entry after the one with which the event began.
            later = {"records": ("revealed",), "traces": ("ended", "closed") if name.endswith("-end.txt") else ()}
            named = (made.seq for made in step.entries if made.type in later.get(room, ()))
            raise TranscriptError(
                next(named, entry.seq), paper.path, "is missing" if found is None else _DIFFERENT[room]
            )
    return step


_DIFFERENT = {
    "openings": "is not the opening of the setup that was sent",
    "steps": "is not the paper of the step that was sent",
    "receipts": "is not the receipt of the orders that were sent",
    "reports": "these are not the reports that the rules give",
    "records": "is not the record of the game that was played",
    "letters": "is not the letter that was received",
    "evidence": "is not the evidence that was found",
    "withdrawals": "is not the withdrawal that was sent",
    "traces": "is not the trace of what was set aside",
}


def _compare(made: Entry, found: Entry) -> None:
    if made.head == found.head:
        return
    if made.type != found.type:
        raise TranscriptError(found.seq, None, f"`{made.type}` should stand here, not `{found.type}`")
    parts = sorted(key for key in {*made.body, *found.body} if made.body.get(key) != found.body.get(key))
    where = f"`{'`, `'.join(parts)}`" if parts else "its number, time or place in the chain"
    raise TranscriptError(
        found.seq, None, f"{found.type}: {where} is not what follows from the letters and the rules"
    )
