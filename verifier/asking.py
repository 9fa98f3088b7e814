"""5.3 Asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.conventions import moment, seconds
from verifier.papers import replies_of_setups
from verifier.state import Clock, Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.rules import Result
    from verifier.transcript import Entry


def ask_setups(match: Match, entry: Entry, last: Result) -> None:
    match.game += 1
    match.phase = "setup"
    first = match.rules.options(match.terms["options"], len(match.seats))
    carried = match.terms["kind"] == "continued" and match.game > 1
    match.options = match.rules.carry(first, last.scores) if carried else first
    match.prev, match.printed, match.replies = entry.head, [], replies_of_setups(match, entry)
    match.setups, match.position, match.played, match.left = {}, None, [], []
    match.commitments, match.told, match.owing, match.ending, match.reveals = {}, [], {}, None, {}
    match.said.clear()
    match.missed.clear()
    match.offers.clear()
    match.former.clear()
    start_clocks(match, entry, match.seats)


def ask_orders(match: Match, entry: Entry) -> None:
    match.opened = entry.time
    match.missed.clear()
    match.offers.clear()
    match.former.clear()
    start_clocks(match, entry, match.asked)
    if not match.asked:
        match.due.append(("turn", None))


def start_clocks(match: Match, entry: Entry, seats: Sequence[int]) -> None:
    pace = match.terms["pace"]
    match.clocks = {seat: Clock(moment(entry.time), seconds(pace)) for seat in seats if pace}
