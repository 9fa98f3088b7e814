"""A game is over: it is scored and revealed, and the next one is asked for, or the match is closed.

Implements protocol.md, "A match" (reveal, length, victory).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Result
from pbem.match.asking import ask_for_setups, banks
from pbem.match.changed import replace
from pbem.match.entry_type import EntryType
from pbem.match.events.closed import close
from pbem.match.forms import hash_, list_of, mapping, number, text, whole
from pbem.match.record import Record, RecordedResult, Turn, write
from pbem.match.set_aside import file_trace
from pbem.match.state import Ended
from pbem.match.step import Document
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


def end_game(step: Step, result: Result, *, goes_on: bool, by: str = "") -> None:
    """The game is over: what was secret is laid open, and the match goes on or closes."""
    match = step.match
    assert match.position is not None
    turns = len(match.turns)
    ended = Ended(result.winner, tuple(result.scores), result.reason, turns)
    record = write(_record(match, result)).encode()
    path = f"records/game-{match.game}.pbem.toml"
    step.papers.append(Document(path, record, match.game))
    trace = file_trace(step, "end", match.game)
    step.append_entry(
        "ended",
        {
            **trace,
            "game": match.game,
            "turns": turns,
            "winner": result.winner,
            "scores": list(result.scores),
            "reason": result.reason,
        },
    )
    step.append_entry("revealed", {"game": match.game, "record": sha256_hex(record)})
    step.match = replace(
        step.match,
        phase="ended",
        games=(*match.games, ended),
        previous=sha256_hex(record),
        orders={},
        stored={},
        resolve_at=None,
        banks=banks(step),
        clocks={},
        missed=frozenset(),
        offers={},
    )
    step.notify("ended", game=match.game, ended=ended, by=by)
    if not goes_on:
        return
    if _match_is_over(step.match, ended):
        early = match.terms.kind == "single" and ended.reason != "rules"
        close(step, _winner(step.match, ended), ended.reason if early else "agreed length")
    else:
        assert match.options is not None
        carried = match.rules.carry(match.options, result)
        ask_for_setups(step, carried if match.terms.kind == "continued" else match.terms.first_options())


def abandon(step: Step, reason: str = "abandoned", by: str = "") -> None:
    """Nobody plays on: a game under way is laid open as it stands, nobody wins, and the match is closed."""
    match = step.match
    if match.position is not None and match.phase == "playing":
        end_game(step, Result(0, match.position.scores, "abandoned"), goes_on=False, by=by)
    close(step, 0, reason)


def _record(match: Match, result: Result) -> Record:
    assert match.options is not None
    return Record(
        game=match.terms.game,
        rules=match.terms.edition,
        match=match.id,
        round=match.game,
        previous=match.previous,
        options=dict(match.options.changed),
        seats=tuple((match.name(seat), match.setups[seat].text) for seat in match.seats),
        turns=tuple(Turn(dict(turn.orders)) for turn in match.turns),
        left=match.left,
        result=RecordedResult(result.winner, tuple(result.scores), result.reason),
    )


def _match_is_over(match: Match, ended: Ended) -> bool:
    terms = match.terms
    if terms.games is not None and len(match.games) >= terms.games:
        return True
    return terms.target is not None and max(match.totals, default=sum(ended.scores)) >= terms.target


def _winner(match: Match, ended: Ended) -> int:
    """The match's winner by its victory condition: a seat, or 0 for a draw."""
    if match.terms.kind == "single" or match.terms.victory == "last game":
        return ended.winner
    totals = match.totals
    best = [seat for seat in match.seats if totals[seat - 1] == max(totals)]
    return best[0] if len(best) == 1 else 0


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    body = entry.body
    return f"game {body['game']} ended: winner {body['winner']}, scores {body['scores']}, {body['reason']}"


def _revealed(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    return f"game {entry.body['game']}: the record replays"


ENTRY = EntryType(
    "ended",
    mapping(
        {
            "trace": hash_,
            "game": number,
            "turns": number,
            "winner": number,
            "scores": list_of(whole),
            "reason": text,
        }
    ),
    says=_says,
)

REVEALED = EntryType("revealed", mapping({"game": number, "record": hash_}), says=_revealed, silent=True)
