"""Plain words that mean a command, such as a refusal, a resignation, a draw. None of them is obeyed.

Only an answer can tell whether they were meant: it offers the form to send back (`pbem.desk.short_answers`). What
counts without a form is in `pbem.proof.one_letter`. Implements protocol.md, "Commands".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pbem.desk.answer_letter import own_lines
from pbem.desk.match_facts import rematch_of
from pbem.mail.commands import masked
from pbem.match.events.endings import ways_to_resign
from pbem.match.state import RUNNING
from pbem.proof.one_letter import consents

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.mail.commands import Reading
    from pbem.match.state import Match


class _Meaning(NamedTuple):
    """One row: whether this seat may give the command now; the words that mean it; and the form that does it."""

    fits: Callable[[Match, int], bool]
    words: re.Pattern[str]
    form: Callable[[Match, int, str], str]
    """The form, by the match, the seat, and the text that begins with the words."""


_NO = re.compile(
    r"(?:sorry,? )?(?:no|nope|nein|not now|not interested|(?:leider |lieber )?nicht)"
    r"(?:,? (?:thanks|thank you|danke|sorry|vielen dank|leider nicht|lieber nicht|not now|jetzt nicht))?"
    r"|(?:i |ich )?(?:decline|lehne (?:leider )?ab|kann leider nicht|möchte (?:leider |lieber )?nicht)",
    re.I,
)

_GLAD = (
    r"(?i)\b(?:(?:(?:sounds|klingt) )?(?:good|great|fun|perfect|gut|super|prima|toll|perfekt)|i.m in|count me in"
    r"|why not|warum nicht|with pleasure|mit vergnügen)\b(?! game)"
)
"""Words that probably say yes, and that verification does not take for a yes."""

_MEANINGS = (
    _Meaning(lambda match, _: match.phase == "proposed", _NO, lambda match, *_: f"decline {match.id}"),
    _Meaning(
        lambda match, _: match.phase in RUNNING,
        re.compile(
            r"(?:i |ich )?(?:resign|surrender|concede|give up|kapituliere|aufgeben"
            r"|gebe? (?:mich geschlagen|(?:die partie |das spiel )?auf))(?: (?:the game|now))?",
            re.I,
        ),
        lambda match, *_: ways_to_resign(match)[0],
    ),
    _Meaning(
        lambda match, _: match.phase == "playing",
        re.compile(r"(?:(?:i |ich )?(?:offer|biete) )?(?:a |ein )?(?:draw|remis|unentschieden)(?: an)?", re.I),
        lambda match, *_: f"draw {match.id} offer",
    ),
    _Meaning(
        lambda match, seat: match.play.due(match, seat) == "orders" and match.rules.empty_orders,
        re.compile(r"nothing|none|no orders|pass|i pass|nichts|keine(?: befehle)?|(?:ich )?passe", re.I),
        lambda match, *_: f"orders {match.id} turn {match.turn}\nfinal\nend",
    ),
    _Meaning(
        lambda match, _: match.phase == "closed" and match.terms.proposed,
        re.compile(
            r"(?:shall we |let's )?(?:have |play )?(?:a |another )?(?:rematch|game|again|revanche)(?: please)?"
            r"|noch (?:ein ?mal|eine(?: partie)?|ein spiel)|noch ?mal|(?:eine )?neue partie",
            re.I,
        ),
        lambda match, seat, _: "\n".join(rematch_of(match, seat)),
    ),
    _Meaning(
        lambda match, _: match.phase == "closed" or bool(match.games),
        re.compile(
            r"(?:that was a )?(?:good|great|nice|fun) (?:game|match)|gg|well played|congratulations|congrats"
            r"|(?:gutes|tolles|schönes) spiel|gut gespielt|(?:herzlichen )?glückwunsch|(?:vielen )?dank[es]?|thanks"
            r"|thank you(?: all)?",
            re.I,
        ),
        lambda match, _, text: f"press {match.id}\n{text}\nend",
    ),
)

SENTENCE_END = re.compile(r"[.!?\n]+\s*|\Z")

ORDERS = r"(?:orders?|setup|moves?|befehle?|züge?|aufstellung)"
"""The words for what a player submits."""

_ABOVE = (
    re.compile(
        r"(?i)(?:hi|hello|hey|dear|good (?:morning|evening|day)|hallo|liebe[rs]?|guten (?:morgen|abend|tag)|moin)"
        r"(?: [^\W\d_]+){0,2}(?:[ ,.!]*(?:\n|\Z)|[,.!] *)"
    ),
    re.compile(rf"(?i)(?:[^\W\d_]{{1,20}} ){{0,5}}{ORDERS}(?: (?:for turn|für zug) \d+)?(?: *:\s*|[.,!]?\n)"),
)
"""The salutation, and the words that introduce orders, such as `Here is my setup:`."""


def below_salutation(reading: Reading) -> Reading:
    """The reading of a letter without a form as if it had no salutation, and nothing introduced its orders."""
    short, ignored = masked(reading.short), reading.ignored
    for above in _ABOVE:
        if found := above.match(short):
            dropped, said = {*short.split("\n")}, short[found.end() :]
            ignored = [*filter(None, said.split("\n")), *(run for run in ignored if run.strip() not in dropped)]
            below = (said, *(command.echo for command in reading.commands), *own_lines(ignored), short)
            short = next(filter(None, below))
    return replace(reading, short=short, ignored=ignored)


def refuses(text: str) -> bool:
    """True if a text says no, and nothing else."""
    return _NO.fullmatch(" ".join(text.split()).strip(" .!,;")) is not None


def agrees(text: str) -> bool:
    """True if a text probably says yes, and nothing else."""
    return consents(re.sub(_GLAD, "ok", text))


def meant(match: Match, seat: int, text: str) -> str | None:
    """The form of the command that the first sentence of a text probably means; None if none."""
    first = SENTENCE_END.split(text, maxsplit=1)[0].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    said = " ".join(first.split()).strip(" ,;")
    rows = (row for row in _MEANINGS if row.words.fullmatch(said) and row.fits(match, seat))
    return next((row.form(match, seat, text) for row in rows), None)
