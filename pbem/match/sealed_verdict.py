"""The verdict on a sealed game whose players have revealed: who was honest, and what follows for its result.

Pure. A seat that refuses to reveal has no say. If one of two seats is honest, it has won; a game in which nobody was
honest is annulled. Implements docs/playing.md and docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Result
from pbem.games.sealed import settled as settle
from pbem.match.events.ended import Closing, record_of
from pbem.match.record import Turn
from pbem.match.sealed_game import HONEST, ORDERS, SETUP, SILENT
from pbem.match.state import only_one_without

if TYPE_CHECKING:
    from pbem.games.sealed import Falsehood, SealedRules
    from pbem.match.record import Record
    from pbem.match.sealed_game import Ending, SealedGameState, Verdict
    from pbem.match.state import Match


FALSE = "false"
"""The reason of a result where somebody told something false; `SILENT` where somebody would not reveal."""

ANNULLED = "annulled"


def verdict(match: Match, rules: SealedRules, game: SealedGameState) -> Verdict:
    """The verdict on each seat by its own reveal."""
    found: dict[int, str | Falsehood] = dict.fromkeys(match.seats, SILENT)
    for seat, revealed in game.reveals.items():
        false = rules.first_false(match.options, seat, revealed.setup, revealed.orders, game.steps_for_rules())
        found[seat] = false or HONEST
    return found


def closed_by(match: Match, ending: Ending, result: Result, found: Verdict) -> Closing | None:
    """The match's winner and the reason if it was resigned: as it is when it is resigned, unless that winner lied.

    A single match is over with its game, and has the winners of that.
    """
    if ending.closes is None:
        return None
    winners, _ = ending.closes
    if any(found[seat] != HONEST for seat in winners):
        return result.winners, result.reason
    return None if match.terms.kind == "single" else ending.closes


def true_result(match: Match, ending: Ending, game: SealedGameState) -> tuple[Result, Record]:
    """The result of a game in which everybody was honest, and its record."""
    setups = {seat: revealed.setup for seat, revealed in game.reveals.items()}
    played = len(match.turns)  # a turn that somebody left unanswered does not count
    orders = {
        seat: {turn: text for turn, text in revealed.orders.items() if turn <= played}
        for seat, revealed in game.reveals.items()
    }
    settled = settle(match.rules, match.options, setups, orders)
    told = ending.result
    result = settled.result or Result(told.winners, settled.scores, told.reason)
    return result, record_of(match, result, setups, [Turn(orders) for orders in settled.orders])


def result_of_lies(match: Match, ending: Ending, found: Verdict) -> Result:
    """The result of a game in which somebody was dishonest: the other one has won, unless both were."""
    dishonest = [seat for seat, word in found.items() if word != HONEST]
    if len(dishonest) == len(match.seats):
        return Result((), tuple(0 for _ in match.seats), ANNULLED)
    honest = only_one_without(match.seats, dishonest[0])
    scores = tuple(
        score if seat in honest else 0 for seat, score in zip(match.seats, ending.result.scores, strict=True)
    )
    gave_up = ending.given_up and honest != ending.result.winners
    return Result(() if gave_up else honest, scores, SILENT if found[dishonest[0]] == SILENT else FALSE)


def open_record(match: Match, rules: SealedRules, game: SealedGameState, result: Result) -> Record | None:
    """The record of a game whose players have opened everything during the game; None if they have not."""
    names = {step: kind.name for step, kind in rules.papers.items()}
    opened = [filed for filed in game.steps if names.get(filed.step) in {SETUP, ORDERS}]
    texts = {(filed.turn, filed.seat): "\n".join(filed.lines) for filed in opened}
    setups = {seat: texts[0, seat] for seat in match.seats if (0, seat) in texts}
    if rules.reveals or len(setups) < len(match.seats):
        return None
    turns = [Turn({seat: texts[turn, seat] for seat in match.seats}) for turn in range(1, len(match.turns) + 1)]
    return record_of(match, result, setups, turns)
