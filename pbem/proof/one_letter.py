"""The one command that a letter without a form gives at a reply address, which names its place.

The desk and verification both call this, so that nobody understands such a letter in a way of their own, or chooses
between its texts. Match, head and revision follow from the address in To. A DKIM signature must cover that
(`mailbox_evidence.signed_detail`).
Implements protocol.md, "Identity", level `mailbox`; docs/bundle.md, "Letters without a form".
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pbem import games
from pbem.mail.commands import ARMOR, COMMANDS, WRAPPED, Command, clean, masked, parse, row_of
from pbem.mail.quotes import marked
from pbem.match.asking import token
from pbem.match.step import here
from pbem.requests import Accept, InMatch, Resign, SubmitOrders, SubmitSetup, Substitute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Fault
    from pbem.mail.commands import AnyCommand
    from pbem.match.state import Match

SENTENCES: Mapping[str, frozenset[str]] = {
    "proposed": frozenset({"accept"}),
    "setup": frozenset({"clear", "resign"}),
    "playing": frozenset({"clear", "resign", "draw", "annul", "extend", "claim", "substitute"}),
}
"""The commands that need no match at an address of each phase, and whose letters a bundle holds.

In phase `setup`, others have their effect long before the addresses of that phase may be shown.
"""

NAMED = re.compile(r"\A(orders|setup)[:,]?\s+", re.I)
"""The word that may stand before orders."""

FINAL = re.compile(r"(?<![^\s,;])final(?![^\s,;.])[,;.]?", re.I)

YES = (
    r"yes|yeah|yep|sure|accept(ed)?|agreed?"
    r"|ja|jawohl|gerne?|klar|einverstanden|angenommen|abgemacht|akzeptiert?|akzeptiere|nehme|dabei"
)
RECEIVED = re.compile(r"ok|okay|fine|passt")
"""The words that may also mean that a letter was read: enough for a form that came back, and not for terms."""

POLITE = (
    r"i|we|with|it|of|course|the|this|match|game|please|thanks|thank|you|very|much|gladly|play|to|all|right"
    r"|let|us|s|d|m|ll|am|in|love|like|would|happy|glad|ready"
    r"|ich|wir|bin|sind|an|die|das|diese|partie|spiel|bitte|danke|sehr|doch|natürlich|alles|spielen|mit"
    r"|lass|lasst|uns|spiele|mach|mache|los|geht|auf|freue|mich|dir|euch"
)
"""The words that a consent may hold beside such a one, in the languages of the letters; with others it is prose."""

MOST = 4000
"""The most characters of what several texts would submit, all together: a server judges them while others wait."""

_STOPS = re.compile(r"stop(?!\w)", re.I)
_ACCEPTANCE = re.compile(r"^accept (m\d{1,9})\s{1,9}([0-9a-f]{8,64})\b", re.M)
_SAYS_NOTHING = re.compile(r"(?:#[^\n]*|[\s,;])*")
"""Comments, which help desks put above their letters, and what only separates words."""

_LETTERS = re.compile(r"[^\W\d_]+")
_DOUBT = re.compile(r"[\d?\uff1f]")
"""A digit may be an order's, and a question agrees to nothing."""
_MARK = re.compile(r"^ *>? *", re.M)
_ROUND = " .!"


def counting(match: Match, seat: int, rev: int, used: str, texts: Sequence[str]) -> list[tuple[str, AnyCommand]]:
    """The texts of a letter that count at the reply address of this seat and revision, and the command of each.

    `used` is the detail of the address in the signed To. The letter gives the command only if there is just one. Of
    several texts, others are of gateways and mail programs: only what is legal counts.
    """
    read = [(text, _given(match, seat, rev, used, parse(text, signed=False).short, text)) for text in texts]
    found = [(text, command) for text, command in read if command is not None]
    if len(texts) < 2:
        return found
    if sum(len(command.block or "") for _, command in found) > MOST:
        return []
    return [
        (text, command)
        for text, command in found
        if command.block is None or not faults_of(match, seat, command.block)
    ]


def faults_of(match: Match, seat: int, text: str) -> tuple[Fault, ...]:
    """The faults of a text for the setup or the orders that are due."""
    if match.phase == "setup":
        return games.faults(match.rules.setup, match.options, seat, text)
    return games.faults(match.rules.order, match.position, seat, text)


def _given(match: Match, seat: int, rev: int, used: str, short: str, text: str) -> AnyCommand | None:
    """The command that a text gives there; `short` is its first paragraph if it has no command."""
    if not short or _STOPS.match(short) or used != f"{match.id}.{token(match, seat, rev)}":
        return None
    sentence = named(match, short)
    if sentence is not None and sentence.name not in SENTENCES[match.phase]:
        return None
    request = sentence.request if sentence else _submitted(match, seat, short, text)
    if isinstance(request, Accept) and not _is_of_these_terms(match, text, quoted=sentence is None):
        return None
    if request is None:
        return None
    block = request.text if isinstance(request, SubmitOrders | SubmitSetup) else None
    shown = masked(short)
    return Command(row_of(request).name, shown, shown, 1, here(match, seat, rev, request), block=block)


def named(match: Match, short: str) -> AnyCommand | None:
    """The one command that a text is, if it only leaves out this match; None if it says anything else."""
    name, rest = [*short.strip(_ROUND).split(None, 1), "", ""][:2]
    spec = COMMANDS.get(name.lower())
    if spec is None or not issubclass(spec.request, InMatch):
        return None
    if spec.request is Accept and rest.lower() in {"", match.id}:
        rest = match.rules_hash
    if not rest and spec.request is Resign and match.phase == "playing":
        rest = f"game {match.game}"
    reading = parse(f"{name} {match.id} {rest}")
    if len(reading.commands) != 1 or reading.ignored:
        return None
    (command,) = reading.commands
    is_bare = not (command.faults or command.fields)
    return command if is_bare and command.match == match.id and _is_here(command, match) else None


def _is_here(command: AnyCommand, match: Match) -> bool:
    """True unless a sentence names another turn or game; in phase `setup` no turn is due (0 would be `default`)."""
    if command.name not in SENTENCES["playing"]:
        return True
    return command.form.turn in {None, match.turn or None} and command.form.game in {None, match.game}


def consents(text: str, *, to_terms: bool = False) -> bool:
    """True if a text says yes, and nothing else."""
    words = _LETTERS.findall(text.lower())
    agree = [word for word in words if re.fullmatch(YES, word) or (not to_terms and RECEIVED.fullmatch(word))]
    others = [word for word in words if not (re.fullmatch(YES, word) or RECEIVED.fullmatch(word))]
    return bool(agree) and all(re.fullmatch(POLITE, word) for word in others) and not _DOUBT.search(text)


def says_something(text: str) -> bool:
    """True if a text holds more than comments."""
    return _SAYS_NOTHING.fullmatch(text) is None


def _submitted(
    match: Match, seat: int, short: str, text: str
) -> Accept | SubmitSetup | SubmitOrders | Substitute | None:
    """The request that is due, in the player's own words, or what a yes agrees to in the letter that is quoted."""
    if match.phase == "proposed":
        return Accept(match=match.id, hash=match.rules_hash) if consents(short, to_terms=True) else None
    if consents(short):
        return quoted(match, seat, text)
    if WRAPPED.search(short):
        return None
    own = NAMED.sub("", short)
    if match.phase == "setup":
        return SubmitSetup(match=match.id, text=own.strip()) if says_something(own) else None
    orders, final = FINAL.sub("", own).strip(), FINAL.search(short) is not None
    # `final` alone orders nothing; comments alone say nothing.
    counts = says_something(orders) or (final and not orders)
    return SubmitOrders(match=match.id, text=orders, final=final) if counts else None


def _is_of_these_terms(match: Match, text: str, *, quoted: bool) -> bool:
    """True if a text quotes the acceptance of these terms, and of no others; a mere `accept` need not be `quoted`."""
    # A line of its own, which a mail program may have broken: what an opponent wrote is marked within our letters.
    lines = _MARK.sub("", clean(text).partition(ARMOR)[0])
    found = {hashed for of, hashed in _ACCEPTANCE.findall(lines) if of == match.id}
    return found == {match.rules_hash} or not (found or quoted)


def quoted(match: Match, seat: int, text: str) -> SubmitSetup | SubmitOrders | Substitute | None:
    """The request of the one form for this place in the quoted letter; no quote within it counts.

    It submits what is due, or agrees to a substitute.
    """
    lines = [_unmarked(line) for line in marked(clean(text).partition(ARMOR)[0]).split("\n")]
    head = f"orders {match.id} turn {match.turn}" if match.turn else f"setup {match.id} game {match.game}"
    agrees = f"substitute {match.id} "
    firsts = {at: line.strip().lower() for at, line in enumerate(lines) if line is not None}
    heads = [at for at, line in firsts.items() if line == head or (match.turn and line.startswith(agrees))]
    if len(heads) != 1:
        return None
    # A program that breaks the lines of a quote leaves some without a mark: what follows is not all that was there.
    whole = takewhile(lambda line: line is not None, lines[heads[0] :])
    command = parse("\n".join(line for line in whole if line is not None), signed=False).commands[0]
    form, request = command.form, command.request
    if not isinstance(request, SubmitSetup | SubmitOrders | Substitute) or command.faults or form.rev is None:
        return None
    if not isinstance(request, Substitute) and not says_something(request.text):
        return None
    return request if form == here(match, seat, form.rev, request) else None


def _unmarked(line: str) -> str | None:
    """A line of a letter that is quoted, without its mark; None if it is of a quote within it, or of none."""
    first, rest = line.lstrip(" ")[:1], line.lstrip(" ")[1:].lstrip(" ")
    return rest if first == ">" and not rest.startswith(">") else None
