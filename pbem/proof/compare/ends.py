"""The ends to which acknowledged submissions come, each with what proves it.

`ENDS` is the table of docs/bundle.md, "The end of what was acknowledged"; there is no other end. Each end is judged
by a `Case`: a submission in one turn that it was for.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pbem.match.documents import Opening, Receipt, Withdrawal
from pbem.match.transcript import utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.match.transcript import Entry

AGAIN = timedelta(days=1)
"""The most by which the later of two letters may seem to have come earlier: a server whose clock stands, and whose
machine boots, counts from the same time again, and their own dates may be as wrong."""

Sent = Opening | Receipt | Withdrawal


class EndProof(NamedTuple):
    """The entry that proves an end, and what it says, for people."""

    entry: Entry
    words: str = ""


class Case(NamedTuple):
    """A submission in one turn that it was for, with all that the bundle says of that turn."""

    paper: Sent
    turn: int
    """0: the setups."""
    closing: Entry | None
    """The entry that closed the turn: `commitments`, `sealed` or `turn`."""
    ended: Entry | None
    """The entry that ended the game or the match, if none closed the turn."""
    silenced: Entry | None
    """The entry that brought this end, or took the seat out, because the seat was silent in this very turn."""
    stood: Opening | Receipt | None
    """The paper of what was played; unknown before the game is revealed."""
    departure: EndProof | None
    """The entry by which its player left the seat, before the turn was closed."""
    at_once: bool
    """True if these default orders were to be played as soon as the turn was missed: it waited for nobody else."""
    is_named: bool
    """True if the closing entry names this very paper."""
    is_aside: bool
    """True if the trace of the turn names this very paper; of default orders, that of a turn that was missed."""
    aside: list[Receipt | Withdrawal]
    """The later submissions in the trace of the turn, by which it was replaced."""

    @property
    def for_any_miss(self) -> bool:
        """True if these are default orders, for a turn that was missed; a receipt of a turn is for that one."""
        return isinstance(self.paper, Receipt) and self.paper.by_default and self.paper.turn != self.turn

    @property
    def last(self) -> Entry | None:
        """The entry after which nothing could be sent for the turn."""
        return self.closing or self.ended


# The ends. Each gives the proof that a case has come to it, or None.


def _left(case: Case) -> EndProof | None:
    return case.departure


def _played(case: Case) -> EndProof | None:
    if case.closing is None or isinstance(case.paper, Withdrawal):
        return None
    paper, stood = case.paper, case.stood
    by_default = False
    if case.for_any_miss and isinstance(stood, Receipt) and isinstance(paper, Receipt):
        # The receipt of what was played is that of these default orders, made for the turn.
        by_default = replace(stood, turn=0, salt=paper.salt, branch="") == paper
    return EndProof(case.closing) if case.is_named or by_default else None


def _replaced(case: Case) -> EndProof | None:
    if case.closing is None or case.stood is None or isinstance(case.paper, Withdrawal):
        return None
    if case.for_any_miss and not is_by_default(case.stood):
        return None if case.at_once else EndProof(case.closing, "replaced by orders for the turn")
    if is_later(case.stood, case.paper) and is_by_default(case.stood) == case.for_any_miss:
        return EndProof(case.closing, f"replaced by rev {case.stood.rev}")
    return None


def _set_aside(case: Case) -> EndProof | None:
    if case.last is None or not case.aside or isinstance(case.paper, Withdrawal):
        return None
    last = max(case.aside, key=lambda one: one.rev)
    done = "withdrawn by" if isinstance(last, Withdrawal) else "replaced by orders that were not legal, in"
    return EndProof(case.last, f"{done} rev {last.rev}")


def _refused(case: Case) -> EndProof | None:
    if case.last is None or not case.is_aside or not isinstance(case.paper, Receipt):
        return None
    return EndProof(case.last, "not legal when its turn came")


def _withdrew(case: Case) -> EndProof | None:
    if case.last is None or not case.is_aside or not isinstance(case.paper, Withdrawal):
        return None
    if case.stood is None or is_by_default(case.stood) or is_later(case.stood, case.paper):
        return EndProof(case.last, "withdrawn")
    return None


def _never_came(case: Case) -> EndProof | None:
    if case.ended is None or case.silenced:
        return None
    ended = case.ended
    # The turn, or the setups, had been asked for when the game, or the match, was ended.
    was_due = ended.type == "closed" or case.turn <= ended.body["turns"] + (ended.body["reason"] != "rules")
    if isinstance(case.paper, Withdrawal) and was_due:
        return None  # it is in the trace of the end
    return EndProof(ended, f"it ended before with entry {ended.seq}")


def _came_too_late(case: Case) -> EndProof | None:
    if case.silenced is None or utc(case.paper.received) <= utc(case.silenced.time):
        return None
    return EndProof(case.silenced, f"came after entry {case.silenced.seq}")


ENDS: tuple[Callable[[Case], EndProof | None], ...] = (
    *(_left, _played, _refused, _replaced, _set_aside, _withdrew),
    *(_never_came, _came_too_late),
)
"""The ends, of which the first that is proved counts."""


def is_later(one: Sent, other: Sent) -> bool:
    """True if one is of another letter with a higher revision, which came later, as far as the server's clock tells.

    Revisions that letters do not give are the server's: it could make that of an earlier letter, or of the same one,
    the higher one.
    """
    return one.rev > other.rev and one.mail != other.mail and utc(other.received) - utc(one.received) <= AGAIN


def is_by_default(one: Sent) -> bool:
    """True if these are default orders, or the receipt of a turn that was played by them."""
    return isinstance(one, Receipt) and one.by_default
