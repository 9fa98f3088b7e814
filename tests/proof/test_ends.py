"""Each end of what a server acknowledged, as a lie: the bundle, or the receipt that was kept, convicts it.

The rows are those of docs/bundle.md, "The end of what was acknowledged".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from attackers import pretexts
from attackers.droppers import GAMES, SEAT, Dropper, convicted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from in_a_box.referee import Referee


class Row(NamedTuple):
    """A lie, and the settings in which it can be told."""

    tell: Callable[[Dropper], bytes]
    games: tuple[str, ...] = tuple(GAMES)
    by_key: tuple[bool, ...] = (True, False)
    ways: tuple[str, ...] = ("in its turn", "in advance", "conditional")
    sealed: bool = False


ONCE = ("in its turn",)
SETUPS = ("replaced", "never_came", "came_too_late", "withdrawn")
ORDERS = ("replaced", "missed", "forfeited", "withdrawn", "missed_and_sent_again", "missed_and_left")
DEFAULTS = (
    "replaced",
    "refused",
    "refused_at_the_end",
    "never_came",
    "refused_although_legal",
    "withdrawn",
    "left_later",
)
REFUSED = ("refused", "refused_at_the_end", "missed_at_the_end")
WITHDRAWALS = ("withdrawn_setup_played", "withdrawn_setup_forgotten")


def rows(names: Iterable[str], **settings: Any) -> list[Row]:
    return [Row(getattr(pretexts, name), **settings) for name in names]


ROWS = (
    *rows((*(f"setup_{end}" for end in SETUPS), *WITHDRAWALS), ways=ONCE, sealed=True),
    *rows(f"orders_{end}" for end in ORDERS),
    *rows(("orders_left_later", "withdrawn_orders_played", "withdrawn_orders_forgotten")),
    *rows(["setup_of_an_earlier_letter"], by_key=(False,), ways=ONCE),
    *rows(["orders_of_an_earlier_letter"], by_key=(False,)),
    *rows(["default_of_an_earlier_letter"], by_key=(False,), ways=("in its turn", "conditional")),
    *rows(["orders_came_too_late"], ways=("in its turn", "conditional")),
    *rows(
        ("orders_refused", "orders_refused_at_the_end", "orders_missed_at_the_end"),
        ways=("in advance", "conditional"),
    ),
    *rows(["orders_replaced_by_refused_ones"], by_key=(True,)),
    *rows(["orders_of_a_refused_letter"], by_key=(True,), ways=("in its turn", "conditional")),
    *rows(["setup_missed_and_handed_over"], ways=ONCE),
    *rows(["orders_missed_and_handed_over"]),
    *rows(("orders_of_a_newcomer", "orders_handed_over_later"), by_key=(True,), ways=ONCE),
    *rows((f"default_{end}" for end in DEFAULTS), ways=("in its turn", "conditional")),
    *rows(["default_left_later", "withdrawn_default_played"], ways=("in its turn", "conditional")),
)
CELLS = [
    [
        (row, game, by_key, way, sealed)
        for game in row.games
        for by_key in row.by_key
        for way in row.ways
        for sealed in (False, True)[: 1 + row.sealed]
        if not (way == "conditional" and not GAMES[game].conditional) and (by_key or not sealed)
    ]
    for row in ROWS
]
"""The settings of each lie."""
WALK = [cells[number * 5 % len(cells)] for number, cells in enumerate(CELLS)]


Cell = tuple[Row, str, bool, str, bool]


def named(cell: Cell) -> str:
    row, game, by_key, way, sealed = cell
    return f"{row.tell.__name__} {game} {'key' if by_key else 'mailbox'} {way}{' sealed' if sealed else ''}"


def told(referee: Referee, patch: pytest.MonkeyPatch, cell: Cell) -> str:
    row, game, by_key, way, sealed = cell
    lie = Dropper(referee, patch, GAMES[game], by_key=by_key, way=way, sealed=sealed)
    content = row.tell(lie)
    return convicted(content, *lie.people.values())


@pytest.mark.parametrize("cell", WALK, ids=named)
def test_a_lie_about_each_end_convicts(referee: Referee, monkeypatch: pytest.MonkeyPatch, cell: Cell) -> None:
    """Each lie in one of its settings."""
    assert told(referee, monkeypatch, cell)


@pytest.mark.long
@pytest.mark.parametrize("cell", [cell for cells in CELLS for cell in cells], ids=named)
def test_in_each_setting(referee: Referee, monkeypatch: pytest.MonkeyPatch, cell: Cell) -> None:
    assert told(referee, monkeypatch, cell)


def test_a_form_that_came_back_untouched_orders_nothing(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server asks about it; nor may it play it as if no orders were meant."""
    lie = Dropper(referee, monkeypatch, GAMES["spaceships"])
    lie.begin()
    raw = referee.raw(lie.bob, referee.signed(lie.bob, lie.bob.form("orders")))
    referee.deliver(raw, lie.bob.address)
    assert not lie.match.orders
    lie.put(orders={SEAT: lie.obey(raw, 1)})
    lie.at = 1
    found = convicted(lie.play_on(), lie.bob)
    assert "holds no `orders` for this place" in found
