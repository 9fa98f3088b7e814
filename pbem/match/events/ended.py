"""A game is over: it is scored and revealed, and the next one is asked for, or the match is closed.

Implements protocol.md, "A match" (reveal, length, victory).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Result
from pbem.match.asking import ask_for_setups, banks, file_replies_of_setups, show_replies_of_setups
from pbem.match.dealt import shown_at_the_end
from pbem.match.entry_type import EntryType, hash_, list_of, mapping, number, seats, text, whole
from pbem.match.record import Record, RecordedResult, write
from pbem.match.state import Ended
from pbem.match.step import Document
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.match.record import Turn
    from pbem.match.state import Match
    from pbem.match.step import Step


Closing = tuple[tuple[int, ...], str]
"""The winners of a match, and the reason of its end."""


def end_game(
    step: Step, result: Result, *, closes: Closing | None = None, by: str = "", resignation: str = ""
) -> None:
    """The game is over: its secrets are revealed, and the match goes on or closes.

    `closes` names the winners of the match and the reason, if the match ends with this game, whatever its length;
    `resignation` is the path of the letter by which the game was given up; `by` is who ended it for all: "operator",
    "annulled" (both players), or nobody.
    """
    step.match.play.end(step, result, closes, by, resignation)


def conclude(
    step: Step,
    result: Result,
    record: Record | None,
    trace: Mapping[str, str] = MappingProxyType({}),
    *,
    closes: Closing | None = None,
    by: str = "",
    **facts: object,
) -> None:
    """End the game with this result, reveal its record, if all is known, and let the match go on or close.

    `trace` names what was set aside up to the end, if it was filed.
    """
    match = step.match
    turns = len(match.turns) if record is None else len(record.turns)
    ended = Ended(tuple(result.winners), tuple(result.scores), result.reason, turns)
    games = match.games.and_(ended)
    over = closes is not None or _match_is_over(replace(match, games=games), ended)
    step.append_entry(
        "ended",
        {
            **trace,
            "game": match.game,
            "turns": turns,
            "winners": list(result.winners),
            "scores": list(result.scores),
            "reason": result.reason,
        },
    )
    if record is not None:
        content = write(record).encode()
        step.papers.append(Document(f"records/game-{match.game}.pbem.toml", content, match.game))
        next_setups = {} if over else file_replies_of_setups(step, match.game + 1)
        body = {"game": match.game, "record": sha256_hex(content), **shown_at_the_end(step), **next_setups}
        step.append_entry("revealed", body)
        step.match = replace(step.match, previous=sha256_hex(content))
    step.match = replace(
        step.match,
        phase="ended",  # until the next game begins, or the match closes, in this very step
        games=games,
        orders={},
        stored={},
        resolve_at=None,
        banks=banks(step),
        clocks={},
        missed=frozenset(),
        offers={},
    )
    step.notify("ended", game=match.game, ended=ended, by=by, **facts)
    if closes is not None:
        close(step, *closes)
    elif over:
        early = match.terms.kind == "single" and ended.reason != "rules"
        close(step, _winners(step.match, ended), ended.reason if early else "agreed length")
    else:
        carried = match.rules.carry(match.options, result)
        ask_for_setups(step, carried if match.terms.kind == "continued" else match.terms.first_options())


def give_up(
    step: Step,
    winners: tuple[int, ...],
    reason: str,
    closes: Closing | None = None,
    *,
    by: str = "",
    resignation: str = "",
) -> None:
    """The game that is played ends as it stands, with these winners; before a game, the match is closed."""
    match = step.match
    if match.playing is not None:
        result = Result(winners, match.playing.scores, reason)
        end_game(step, result, closes=closes, by=by, resignation=resignation)
    else:
        close(step, *(closes or (winners, reason)))


def abandon(step: Step, reason: str = "abandoned", by: str = "") -> None:
    """Nobody plays on: a game under way is revealed as it stands, nobody wins, and the match is closed."""
    give_up(step, (), "abandoned", ((), reason), by=by)


def record_of(match: Match, result: Result, setups: Mapping[int, str], turns: Sequence[Turn]) -> Record:
    """The record of the game that is over, with the setups by seat, and its turns."""
    return Record(
        game=match.terms.game,
        rules=match.terms.edition,
        match=match.id,
        round=match.game,
        previous=match.previous,
        options=dict(match.options.changed),
        seats=tuple((match.name(seat), setups[seat]) for seat in match.seats),
        turns=tuple(turns),
        left=match.left,
        result=RecordedResult.of(result, len(match.seats)),
    )


def _match_is_over(match: Match, ended: Ended) -> bool:
    terms = match.terms
    if terms.games is not None and len(match.games) >= terms.games:
        return True
    return terms.target is not None and max(match.totals, default=sum(ended.scores)) >= terms.target


def _winners(match: Match, ended: Ended) -> tuple[int, ...]:
    """The match's winners by its victory condition."""
    if match.terms.kind == "single" or match.terms.victory == "last game":
        return ended.winners
    return Result.of(match.totals).winners


ENTRY = EntryType(
    "ended",
    mapping(
        {
            "game": number,
            "turns": number,
            "winners": seats,
            "scores": list_of(whole),
            "reason": text,
        },
        {"trace": hash_},
    ),
    says="game {game} ended: winners {winners}, scores {scores}, {reason}",
)

REVEALED = EntryType(
    "revealed",
    mapping({"game": number, "record": hash_}, {"chance": hash_, "replies": hash_}),
    says="game {game}: the record replays",
    opens=True,
    silent=True,
)


def close(step: Step, winners: tuple[int, ...], reason: str) -> None:
    """The match is over."""
    outcome = {"winners": list(winners), "scores": list(step.match.totals), "reason": reason}
    over: dict[str, object] = {"outcome": outcome, "clocks": {}, "missed": frozenset(), "offers": {}}
    trace = {}
    if step.match.phase == "setup":
        trace = step.file_trace("end", step.match.last_revealed)
        over |= {"setups": {}, "resolve_at": None}
        show_replies_of_setups(step)
    step.append_entry("closed", {**outcome, **trace})
    step.match = replace(step.match, phase="closed", **over)
    step.notify("closed")


CLOSED = EntryType(
    "closed",
    mapping({"winners": seats, "scores": list_of(whole), "reason": text}, {"trace": hash_}),
    says="the match is closed: winners {winners}, scores {scores}",
)
