"""Orders that are stored for later turns, and default orders: which of them could be played now.

Orders that no position could make legal were refused at once; the rest is judged when the turn comes, by the position
and the keys of that moment. What is illegal then is not used: its player is told why, and the bundle keeps it.
Implements protocol.md, "A match" and "Commands" (`orders`), with docs/readings.md, "Orders in advance".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.games import Fault, Refused, parts
from pbem.match.documents import Receipt, SetAside
from pbem.phrase import Phrase
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.games import Orders
    from pbem.match.state import Match, Submission


class TakenUp(msgspec.Struct, frozen=True):
    """The fate of orders in advance when their turn came: they count, or are unused because of these faults."""

    submission: Submission
    faults: tuple[Fault, ...] = ()


def judge(match: Match, seat: int, submission: Submission) -> Orders:
    """The orders of a stored text in the position and with the keys of this moment; raises `Refused`."""
    position, receipt = match.under_way, Receipt.read(submission.paper)
    if not match.players[seat - 1].counts(receipt.level, receipt.key, match.prev):
        message = Phrase("they no longer count: the key that signed them is revoked")
        if receipt.level == "mailbox":
            message = Phrase("they no longer count: you have a key now")
        raise Refused(Fault("keys", None, message))
    if seat not in match.choosing:
        raise Refused(Fault("orders", None, Phrase("you have nothing to order in turn {turn}", turn=match.turn)))
    return match.rules.order(position, seat, submission.text)


def counting(match: Match, seat: int, submission: Submission, orders: Orders) -> Submission:
    """A submission as it counts in the turn that is due: in canonical form, its receipt with the branch, if any."""
    if branch := parts.branch(match.rules, match.under_way, seat, submission.text):
        paper = replace(Receipt.read(submission.paper), branch=str(branch)).text()
        submission = replace(submission, paper=paper, written=submission.text)
    return replace(submission, text=orders.text)


def taken_up(match: Match, seat: int, stored: Submission) -> TakenUp:
    """The fate of stored orders now: they count, in canonical form, or are unused."""
    try:
        return TakenUp(counting(match, seat, stored, judge(match, seat, stored)))
    except Refused as refused:
        unused = SetAside(stored.paper, stored.letter, stored.evidence)
        return TakenUp(replace(stored, standing=False, aside=(*stored.aside, unused)), refused.faults)


def default(match: Match, seat: int) -> Submission | None:
    """The default orders that are played now if this seat misses the turn, if they are legal."""
    stored = match.stored.get((seat, DEFAULT))
    if match.phase != "playing" or match.terms.silence.plays != "default" or stored is None or not stored.standing:
        return None
    taken = taken_up(match, seat, stored)
    return None if taken.faults else taken.submission


def refused_default(match: Match, seat: int) -> Submission | None:
    """The orders of a seat for the turn that it misses, with default orders set aside that cannot be played in it."""
    stored = match.stored.get((seat, DEFAULT))
    if match.phase != "playing" or stored is None or not stored.standing or default(match, seat) is not None:
        return None
    sent = match.orders.get(seat) or replace(stored, rev=0, text="", standing=False, aside=())
    return replace(sent, aside=(*sent.aside, SetAside(stored.paper, stored.letter, stored.evidence)))


def faults_of_default(match: Match, seat: int) -> tuple[Fault, ...]:
    """The faults of a seat's default orders in the present position."""
    stored = match.stored.get((seat, DEFAULT))
    return taken_up(match, seat, stored).faults if stored and stored.standing and match.phase == "playing" else ()


def drop(match: Match, seat: int) -> Match:
    """The match without anything stored for a seat, because somebody else has it now."""
    return replace(match, stored={place: kept for place, kept in match.stored.items() if place[0] != seat})
