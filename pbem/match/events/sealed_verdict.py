"""All seats of a sealed game have revealed, or missed their time for it: each is judged by its own secrets.

A seat that refuses to reveal has no say. If one of two seats is honest, it has won; a game in which nobody was honest
is annulled. Implements docs/bundle.md, "Sealed matches" (`verdict`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused, Result
from pbem.games.sealed import settled as settle
from pbem.match.entry_forms import by_seat, either, mapping, number, one_of, text
from pbem.match.entry_type import EntryType
from pbem.match.events.ended import conclude, record_of
from pbem.match.record import Turn
from pbem.match.sealed_game import HONEST, SILENT
from pbem.match.sealed_letters import verdict
from pbem.match.state import only_one_without
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.record import Record
    from pbem.match.remaking import Remaking
    from pbem.match.sealed_game import Ending, Verdict
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.transcript import Entry

FALSE = "false"
"""The reason of a result where somebody told something false; `SILENT` where somebody would not reveal."""

ANNULLED = "annulled"


def judge(step: Step) -> None:
    """Judge the finished game, and end it. Raises `Refused` while a reveal is still due."""
    match = step.match
    if match.sealed_game is None or match.sealed_game.ending is None or not due(match):
        raise Refused(Fault("verdict", match.id, Phrase("nothing is to be judged yet")))
    ending, found = match.sealed_game.ending, verdict(match)
    verdicts = {
        str(seat): word if isinstance(word, str) else {FALSE: word._asdict()} for seat, word in sorted(found.items())
    }
    step.append_entry("verdict", {"game": match.game, "verdicts": verdicts})
    result, record = _result(match, ending, found)
    closes = _closes(match, ending, result, found)
    if closes is None and record is None and (match.terms.kind == "continued" or result.reason == ANNULLED):
        closes = result.winner, result.reason
    conclude(step, result, record, closes=closes, by=ending.by, verdict=found)


def _closes(match: Match, ending: Ending, result: Result, found: Verdict) -> tuple[int, str] | None:
    """The match's winner and the reason if it was resigned: as it is when it is resigned, unless that winner lied.

    A single match is over with its game, and has the winner of that.
    """
    if ending.closes is None:
        return None
    winner, _ = ending.closes
    if found[winner] != HONEST:
        return result.winner, result.reason
    return None if match.terms.kind == "single" else ending.closes


def due(match: Match) -> bool:
    """True if the verdict is due: everybody has revealed, or missed the time for it."""
    return match.revealing and not any(match.asked(seat) and seat not in match.missed for seat in match.seats)


def _result(match: Match, ending: Ending, found: Verdict) -> tuple[Result, Record | None]:
    """The result of the game, and its record if all of it is known and true."""
    assert match.sealed_game is not None
    assert match.options is not None
    dishonest = [seat for seat, word in found.items() if word != HONEST]
    if not dishonest:
        reveals = match.sealed_game.reveals
        setups = {seat: revealed.setup for seat, revealed in reveals.items()}
        played = len(match.turns)  # a turn that somebody left unanswered does not count
        orders = {
            seat: {turn: text for turn, text in revealed.orders.items() if turn <= played}
            for seat, revealed in reveals.items()
        }
        settled = settle(match.rules, match.options, setups, orders)
        told = ending.result
        result = settled.result or Result(told.winner, settled.scores, told.reason)
        return result, record_of(match, result, setups, [Turn(orders) for orders in settled.orders])
    if len(dishonest) == len(match.seats):
        return Result(0, tuple(0 for _ in match.seats), ANNULLED), None
    honest = only_one_without(match.seats, dishonest[0])
    scores = tuple(
        score if seat == honest else 0 for seat, score in zip(match.seats, ending.result.scores, strict=True)
    )
    gave_up = ending.given_up and honest != ending.result.winner
    return Result(0 if gave_up else honest, scores, SILENT if found[dishonest[0]] == SILENT else FALSE), None


def remake(remaking: Remaking) -> Step:
    """The verdict after the last deadline for a reveal was missed."""
    remaking.goes_on()
    step = remaking.at_work()
    judge(step)
    return step


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    words = []
    for seat, word in entry.body["verdicts"].items():
        if isinstance(word, str):
            words.append(f"seat {seat}: {word}")
        else:
            false = word[FALSE]
            words.append(f"seat {seat}: false in turn {false['turn']}, {false['step']} (ruling {false['ruling']})")
    return f"game {entry.body['game']}: {'; '.join(words)}"


_FALSEHOOD = mapping({FALSE: mapping({"turn": number, "step": text, "ruling": text})})

ENTRY = EntryType(
    "verdict",
    mapping({"game": number, "verdicts": by_seat(either(one_of(HONEST, SILENT), _FALSEHOOD))}),
    remake=remake,
    says=_says,
)
