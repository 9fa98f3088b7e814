"""The orders, or the `clear`, that a letter without a form gives at a reply address of its turn.

The desk and verification both call this, so that nobody understands such a letter in a way of their own. Place, head
and revision follow from the address in To. A DKIM signature must cover that (`mailbox_evidence.signed_detail`).
Implements protocol.md, "Identity", level `mailbox`; docs/bundle.md, "Letters without a form".
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pbem.mail.commands import ARMOR, WRAPPED, Command, clean, masked, parse, row_of
from pbem.mail.quotes import marked
from pbem.match.replies import token
from pbem.match.signed import here
from pbem.requests import Clear, SubmitOrders

if TYPE_CHECKING:
    from pbem.mail.commands import AnyCommand
    from pbem.match.state import Match

NAMED = re.compile(r"\A(orders|setup)[:,]?\s+", re.I)
"""The word that may stand before orders."""

FINAL = re.compile(r"(?<![^\s,;])final(?![^\s,;.])[,;.]?", re.I)

YES = re.compile(
    r"yes|yeah|yep|sure|ok|okay|accept(ed)?|agreed?|fine"
    r"|ja|jawohl|gerne?|klar|einverstanden|angenommen|abgemacht|akzeptiert?|akzeptiere|nehme|dabei|passt"
)
POLITE = re.compile(
    r"i|we|with|it|of|course|the|this|match|game|please|thanks|thank|you|very|much|gladly|play|to|all|right"
    r"|ich|wir|bin|sind|an|die|das|diese|partie|spiel|bitte|danke|sehr|doch|natürlich|alles|spielen|mit"
)
"""The words that a consent may hold beside such a one, in the languages of the letters; with others it is prose."""

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")


def given(match: Match, seat: int, rev: int, used: str, short: str, text: str) -> AnyCommand | None:
    """The command that a letter gives at the reply address of this seat and revision; None if it gives none.

    `used` is the detail of the address in the signed To, `short` the first paragraph of a text without a command
    (`Reading.short`).
    """
    if not short or used != f"{match.id}.{token(match, seat, rev)}":
        return None
    request: Clear | SubmitOrders | None
    if short.strip(" .!").lower() == "clear":
        request = Clear(match=match.id)
    elif consents(short):
        request = _quoted(match, seat, text)
    elif WRAPPED.search(short):
        return None
    else:
        orders = FINAL.sub("", NAMED.sub("", short)).strip()
        request = SubmitOrders(match=match.id, text=orders, final=FINAL.search(short) is not None) if orders else None
    if request is None:
        return None
    block = request.text if isinstance(request, SubmitOrders) else None
    shown = masked(short)
    return Command(row_of(request).name, shown, shown, 1, here(match, seat, rev, request), block=block)


def consents(text: str) -> bool:
    """True if a text says yes, and nothing else."""
    words = _LETTERS.findall(text.lower())
    others = [word for word in words if not YES.fullmatch(word)]
    return len(others) < len(words) and all(map(POLITE.fullmatch, others)) and not _DIGIT.search(text)


def _quoted(match: Match, seat: int, text: str) -> SubmitOrders | None:
    """The orders in the one form for this place in the letter that is quoted; never those of a quote within it."""
    lines = [_unmarked(line) for line in marked(clean(text).partition(ARMOR)[0]).split("\n")]
    head = f"orders {match.id} turn {match.turn}"
    heads = [at for at, line in enumerate(lines) if line is not None and line.strip().lower() == head]
    if len(heads) != 1:
        return None
    # A program that breaks the lines of a quote leaves some without a mark: what follows is not all that was there.
    whole = takewhile(lambda line: line is not None, lines[heads[0] :])
    form = parse("\n".join(line for line in whole if line is not None), signed=False).commands[0]
    request = form.request
    if not isinstance(request, SubmitOrders) or form.faults or not request.text or form.form.rev is None:
        return None
    return request if form.form == here(match, seat, form.form.rev, request) else None


def _unmarked(line: str) -> str | None:
    """A line of a letter that is quoted, without its mark; None if it is of a quote within it, or of none."""
    first, rest = line.lstrip(" ")[:1], line.lstrip(" ")[1:].lstrip(" ")
    return rest if first == ">" and not rest.startswith(">") else None
