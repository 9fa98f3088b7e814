"""The optional parts of a game: what it can do beside its seven methods, and what holds of a game without them.

A part is found by its name in the game's package (`part_of`). `ahead`, `slips`, `without`, `pace`, `period`, `side`
and `offers` are functions, `recall` and `conditions` have several. Here live the calls, each with its default; the
parts `sealed`, `boards`, `words` and `players` are looked up where they are used, except for what `words` has for a
small terminal.
Implements docs/games.md, "Optional parts".
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pbem.games import Refused, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Fault, Game, Options, Orders, Report, Setup, State
    from pbem.games.conditional_orders import Branch
    from pbem.games.squares import Board, Glance, Line
    from pbem.phrase import Phrase

    AnyGame = Game[Any, Any, Any, Any]

OF_RULES: Final = ("ahead", "slips", "without", "pace", "period", "side", "recall", "conditions", "offers")
"""The parts that are called here, by name."""

_WHOLE: Final = Fraction(1)

T = TypeVar("T")


def _call(rules: AnyGame, part: str, name: str | None, default: T, *arguments: object) -> T:
    """The result of a part, or of a function in it; the default of a game without it."""
    found = part_of(rules.name, part) if name is None else getattr(part_of(rules.name, part), name, None)
    result: T = default if found is None else found(*arguments)
    return result


def ahead(rules: AnyGame, state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    """The faults in one seat's orders for a later turn (0: any), whatever the position will be then."""
    return _call(rules, "ahead", None, (), state, seat, turn, text)


def meant(rules: AnyGame, text: str) -> str:
    """The probable meaning of a setup or orders, one slip away; it need not be legal either."""
    return _call(rules, "slips", None, text, text)


def without(rules: AnyGame, state: State, seat: int, edition: int) -> State | None:
    """The position once a seat has resigned and the others play on; None if this ends the game for all."""
    return _call(rules, "without", None, None, state, seat, edition)


def pace(rules: AnyGame, state: State) -> Fraction:
    """The fraction of the agreed pace that players have for the turn that is due, such as a day of a week."""
    return _call(rules, "pace", None, _WHOLE, state)


def period(rules: AnyGame, state: State) -> Phrase | None:
    """The name that a game gives to the turn that is due, such as `Fall 1901`; None if it has only a number."""
    return _call(rules, "period", None, None, state)


def side(rules: AnyGame, state: State, seat: int) -> Sequence[str]:
    """The words, beside its player's name, for what a seat plays, such as `germany` and `deutschland`."""
    return _call(rules, "side", None, (), state, seat)


def view(rules: AnyGame, state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> Mapping[str, object]:
    """Everything that a seat knows about the position, as a JSON object for its letters.

    `turns` holds the reports of each turn played as `show` gave them to this seat: all knowledge of the others comes
    from there and nowhere else; only the seat's own side is read from the state. `entitled` says what the seat may
    order, and is None if it is not asked: a player's program reads no more than that.
    """
    found = getattr(part_of(rules.name, "recall"), "view", _reports)
    view: Mapping[str, object] = found(state, seat, turns)
    return view


def views(
    rules: AnyGame, state: State, seats: int, turns: Sequence[Sequence[Report]]
) -> dict[int, Mapping[str, object]]:
    """The view of each of so many seats; `turns` holds all reports of each turn."""
    told = {
        seat: [[said for report in turn if (said := rules.show(report, seat))] for turn in turns]
        for seat in range(1, seats + 1)
    }
    return {seat: view(rules, state, seat, reports) for seat, reports in told.items()}


def _reports(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> Mapping[str, object]:
    return {
        "seat": seat,
        "turn": state.turn,
        "options": dict(state.options.changed),
        "reports": [list(reports) for reports in turns],
        "entitled": True if state.due.get(seat or 0, ()) is None else None,
    }


def recalled(rules: AnyGame, view: Mapping[str, object], seat: int) -> State | None:
    """The position as far as a seat's own side of a view shows it, for `order` and `unused` to judge that seat.

    It says nothing about the others, and no turn can be played from it. Raises KeyError, TypeError, ValueError or
    IndexError on anything but a view of the game with this seat's side in it. None if only the server can judge.
    """
    return _call(rules, "recall", "recalled", None, view, seat)


def unused(rules: AnyGame, state: State, seat: int, orders: Orders) -> tuple[Phrase, ...]:
    """The strikes and the like that orders leave unused and the turn takes away, each kind with its number."""
    return _call(rules, "recall", "unused", (), state, seat, orders)


def offers(rules: AnyGame, view: Mapping[str, object]) -> Sequence[str]:
    """The orders among which the seat of a view can choose, or their beginnings: each a line."""
    return _call(rules, "offers", None, (), view)


def depends(rules: AnyGame, text: str) -> bool:
    """True if what orders stand for depends on what their seat knows when they are played."""
    return _call(rules, "conditions", "depends", False, text)


def branch(rules: AnyGame, state: State, seat: int, text: str) -> int:
    """The number of the branch that counts in legal orders with conditions; 0 if they have none."""
    return _call(rules, "conditions", "branch", 0, state, seat, text)


def branches(rules: AnyGame, state: State, seat: int, text: str) -> tuple[Branch, ...]:
    """The branches of orders with conditions, of which `ahead` finds no fault; none if they have none."""
    return _call(rules, "conditions", "branches", (), state, seat, text)


def unasked(rules: AnyGame, state: State, seat: int, text: str, before: str) -> tuple[Phrase, ...]:
    """The conditions that ask in vain: the seat's orders of the turn `before` bring no report of that."""
    return _call(rules, "conditions", "unasked", (), state, seat, text, before)


def with_reports(rules: AnyGame, state: State, turns: Sequence[Sequence[Report]]) -> State:
    """The position with the reports of all turns before it, on which conditions of orders may rest."""
    return _call(rules, "conditions", "with_reports", state, state, turns)


def glance(rules: AnyGame, view: Mapping[str, object], names: Mapping[int, str]) -> Glance | None:
    """A view in the few lines of a terminal; None of a game that has only the texts of its letters."""
    return _call(rules, "words", "glance", None, view, names)


def end_at_a_glance(
    rules: AnyGame, views: Mapping[int, Mapping[str, object]], names: Mapping[int, str], seat: int
) -> Glance | None:
    """The sides as they were, by the views of all seats, in the few lines of a terminal; None as for `glance`."""
    return _call(rules, "words", "end_at_a_glance", None, views, names, seat)


def in_brief(rules: AnyGame, reports: Sequence[Report], seat: int, names: Mapping[int, str]) -> Iterable[Line]:
    """The lines of what changed in a turn for one seat."""
    return _call(rules, "words", "in_brief", (), reports, seat, names)


def is_the_example(rules: AnyGame, options: Options, seat: int, text: str) -> bool:
    """True if a legal setup, in canonical text, is the example that letters show: whoever sends it hides nothing."""
    example: str | None = _call(rules, "words", "example", None, options.changed, seat)
    try:
        setup: Setup | None = rules.setup(options, seat, example) if example is not None else None
    except Refused:
        return False
    return setup is not None and setup.text == text


def pictured(rules: AnyGame) -> Board | None:
    """The first player's board when all begin with the examples, to show strangers; None for a game without it."""
    options = rules.options({}, least := min(rules.seats))
    seats = range(1, least + 1)
    examples = [_call(rules, "words", "example", "", options.changed, seat) for seat in seats]
    if not all(examples) or part_of(rules.name, "boards") is None:
        return None
    setups = [rules.setup(options, seat, text) for seat, text in zip(seats, examples, strict=True)]
    boards: list[Board] = _call(rules, "boards", "boards", [], view(rules, rules.begin(options, setups), 1, ()))
    return boards[0]
