"""The page of a match: its finished games to step through, and its bundle to be checked in the browser.

Here lives what the page shows, made from the bundle alone by the rules; what it proves, it proves from the bundle's
own bytes, by `templates/pages/verify.js`. Nothing of a game that is not revealed is shown. Implements protocol.md,
"Transcript".
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from pbem.boards import drawn
from pbem.games import rules
from pbem.games.squares import PLAIN
from pbem.mail.compose import Templates
from pbem.match import bundle, record
from pbem.pages import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.games import Report, Rules, State
    from pbem.games.squares import Board
    from pbem.match.record import Record

__all__ = ["replay"]


def replay(content: bytes, templates: Templates | None = None) -> str:
    """The page of a bundle; raises `NotABundle`, and `NotARecord` or `Illegal` for a record that cannot be played."""
    found = bundle.read(content)
    templates = templates or Templates()
    paths = [path for path in found.papers if path.startswith("records/")]
    records = [record.read(found.papers[path].decode()) for path in sorted(paths, key=lambda path: (len(path), path))]
    agreed = found.entries[0].body
    title = f"{agreed.get('match')} at {agreed.get('server')}"
    games = [_game(one, templates) for one in records]
    packed = base64.b64encode(content).decode()
    scripts = ("board.js", "verify.js", "replay.js")
    return page("replay", title, ("page.css",), scripts, templates, games=games, bundle=packed)


def _game(one: Record, templates: Templates) -> dict[str, Any]:
    judge = rules(one.game)
    names = {seat: name for seat, (name, _) in enumerate(one.seats, start=1)}
    events = templates.environment.get_template(f"{one.game}/events.txt").module
    steps = []
    for state, reports in _turns(judge, one):
        said = str(events.events(reports, None, names)) if reports is not None else ""  # type: ignore[attr-defined]
        drawn = [_board(board) for board in _open_boards(judge, state, one, reports)]
        steps.append({"events": said, "boards": drawn, "scores": list(state.scores)})
    return {
        "title": judge.title,
        "round": one.round or 1,
        "names": list(names.values()),
        "setups": [setup for _, setup in one.seats],
        "steps": steps,
        "result": {"winner": one.result.winner, "scores": list(one.result.scores), "reason": one.result.reason}
        if one.result
        else None,
    }


def _turns(judge: Rules, one: Record) -> Iterator[tuple[State, list[Report] | None]]:
    """The position at the start, then after each turn with the turn's reports."""
    options = judge.options(one.options, len(one.seats))
    state = judge.begin(
        options, [judge.setup(options, seat, text) for seat, (_, text) in enumerate(one.seats, start=1)]
    )
    yield state, None
    for turn in one.turns:
        orders = {seat: judge.order(state, seat, text) for seat, text in turn.orders.items()}
        state, reports = judge.turn(state, orders)
        yield state, reports


def _open_boards(judge: Rules, state: State, one: Record, reports: Sequence[Report] | None) -> list[Board]:
    """Each side as its own player sees it; the board that all share once. What is fresh is of this turn."""
    seats = range(1, len(one.seats) + 1)
    last = [list(reports)] if reports is not None else []
    game = drawn(one.game)
    if game is None:
        return []
    every = [game.boards(judge.view(state, seat, last))[0] for seat in seats]
    return every if every[0].seat else every[:1]


def _board(board: Board) -> dict[str, Any]:
    panels = [
        {
            "name": panel.name,
            "columns": list(panel.columns),
            "rows": list(panel.rows),
            "squares": [
                [down, along, square.symbol, square.tint.replace(" ", ""), int(square.fresh)]
                for down, row in enumerate(panel.squares)
                for along, square in enumerate(row)
                if square != PLAIN
            ],
        }
        for panel in board.panels
    ]
    return {"seat": board.seat, "panels": panels}
