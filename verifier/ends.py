"""5.3, 5.16, 5.17 and 7.4: asking, and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.conventions import must
from verifier.papers import read_replies, record
from verifier.rules import Result, best
from verifier.traces import trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.state import Match
    from verifier.transcript import Entry


Closing = tuple[tuple[int, ...], str]
"""The winners of the match, and the reason."""


def ask_setups(match: Match, entry: Entry, last: Result) -> None:
    match.game += 1
    match.phase = "setup"
    first = match.rules.options(match.terms["options"], len(match.seats))
    carried = match.terms["kind"] == "continued" and match.game > 1
    match.options = match.rules.carry(first, last.scores) if carried else first
    match.prev, match.printed, match.replies = entry.head, [], ""
    replies = f"replies-game-{match.game}"  # which may be missing if the game is not revealed
    if f"evidence/{replies}.txt" in match.papers or match.game in match.shown:
        match.replies = read_replies(match, entry, replies)
    match.setups, match.position, match.played, match.left = {}, None, [], []
    match.commitments, match.told, match.owing, match.ending, match.reveals = {}, [], {}, None, {}
    match.said.clear()
    ask(match, entry, match.seats)


def ask_orders(match: Match, entry: Entry) -> None:
    match.opened = entry.time
    ask(match, entry, match.asked)
    if not match.asked:
        match.due.append(("turn", None))


def ask(match: Match, entry: Entry, seats: Sequence[int]) -> None:
    match.missed.clear()
    match.offers.clear()
    match.former.clear()
    match.draw_on_banks(entry.time)
    match.clocks = {seat: match.clock(seat, entry.time) for seat in seats if match.terms["pace"]}


def lose(match: Match, losers: Sequence[int]) -> None:
    playing = match.position.remaining if match.phase == "playing" else match.seats
    left = [seat for seat in playing if seat not in losers]
    winners, reason = alone(left), "forfeit" if left else "abandoned"
    stop(match, winners, reason, (winners, reason), whole=False)


def alone(seats: Sequence[int]) -> tuple[int, ...]:
    """The only one of these seats has won; of several, nobody has."""
    return tuple(seats) if len(seats) == 1 else ()


def abandon(match: Match, reason: str) -> None:
    stop(match, (), "abandoned", ((), reason), whole=True)


def stop(match: Match, winners: tuple[int, ...], reason: str, closing: Closing, *, whole: bool) -> None:
    """The game is over, and the `whole` match perhaps; where no game is played, only that can be."""
    if match.phase == "playing":
        end_game(match, Result(winners, match.position.scores, reason), closing if whole else None)
    else:
        match.due.append(("closed", closing))


def end_game(match: Match, result: Result, closing: Closing | None = None) -> None:
    """The game is over; `closing` says how the match is, where it does not go on."""
    if not match.is_sealed:
        match.due += [("ended", result), ("revealed", (result, closing))]
    elif match.position.reveals and result.reason != "abandoned":
        match.due.append(("reveals", (result, closing)))
    else:
        unrevealed(match, match.seats)
        end_sealed(match, result, open_record(match), closing)


def ended(match: Match, entry: Entry, result: Result) -> None:
    made = {"game": match.game, "turns": len(match.played), "reason": result.reason}
    made |= {"winners": list(result.winners), "scores": list(result.scores)}
    if not match.is_sealed:
        trace(match, entry, f"game-{match.game}-end", match.position.turn)
    must({key: one for key, one in entry.body.items() if key != "trace"} == made, "another end")


def revealed(match: Match, entry: Entry, said: tuple[Result, Closing | None]) -> None:
    result, closing = said
    must(entry.body["game"] == match.game, "another game")
    path = f"records/game-{match.game}.pbem.toml"
    must(match.paper(path, entry.body["record"]) == record(match, result), f"{path} does not come out")
    match.previous = entry.body["record"]
    go_on_or_close(match, entry, result, closing)


def go_on_or_close(match: Match, entry: Entry, result: Result, closing: Closing | None) -> None:
    match.results.append(result)
    match.totals = [total + score for total, score in zip(match.totals, result.scores, strict=True)]
    match.phase, target = "ended", match.terms["target"]
    if closing is not None:
        match.due.append(("closed", closing))
    elif match.terms["games"] == match.game or (target is not None and max(match.totals) >= target):
        single = match.terms["kind"] == "single" and result.reason != "rules"
        by_last = match.terms["kind"] == "single" or match.terms["victory"] == "last game"
        winners = result.winners if by_last else best(match.totals).winners
        match.due.append(("closed", (winners, result.reason if single else "agreed length")))
    else:
        ask_setups(match, entry, result)


def closed(match: Match, entry: Entry, said: Closing) -> None:
    made = {"winners": list(said[0]), "scores": match.totals, "reason": said[1]}
    if match.phase == "setup":
        trace(match, entry, f"game-{match.game}-end", 0)
    must({key: one for key, one in entry.body.items() if key != "trace"} == made, "another end of the match")
    match.phase = "closed"


def unrevealed(match: Match, seats: Sequence[int]) -> None:
    """Say what the steps of these seats leave open (11.3), as long as no verdict judges them."""
    for seat in seats if match.terms["game"] == "spaceships" else ():
        name = match.players[seat].name
        match.open.append(f"whether what {name} ordered in game {match.game} was due, as it is not revealed")


def end_sealed(match: Match, result: Result, played: list[dict[int, str]] | None, closing: Closing | None) -> None:
    if played is None:
        match.due.append(("ended sealed", (result, closing)))
        return
    match.played = played
    match.due += [("ended", result), ("revealed", (result, closing))]


def ended_sealed(match: Match, entry: Entry, said: tuple[Result, Closing | None]) -> None:
    result, closing = said
    ended(match, entry, result)
    go_on_or_close(match, entry, result, closing)


def open_record(match: Match) -> list[dict[int, str]] | None:
    """The orders of the turns, where all was opened as the game went on."""
    opened_ = {(one.turn, one.seat): "\n".join(one.lines) for one in match.told if one.path.startswith("openings/")}
    if match.position.reveals or not all((0, seat) in opened_ for seat in match.seats):
        return None
    match.setups = {seat: match.rules.setup(match.options, seat, opened_[0, seat]) for seat in match.seats}
    return [{seat: opened_[at, seat] for seat in match.seats} for at in range(1, len(match.played) + 1)]
