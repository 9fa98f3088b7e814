"""Each end of what a server acknowledged, as a lie: the bundle, or the receipt that was kept, convicts it.

The rows are those of docs/bundle.md, "The end of what was acknowledged".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from attackers import pretexts
from attackers.droppers import GAMES, SEAT, Dropper, convicted

if TYPE_CHECKING:
    from collections.abc import Callable

    from in_a_box.referee import Referee


class Row(NamedTuple):
    """A lie, and the settings in which it can be told."""

    tell: Callable[[Dropper], bytes]
    games: tuple[str, ...] = tuple(GAMES)
    by_key: tuple[bool, ...] = (True, False)
    ways: tuple[str, ...] = ("in its turn", "in advance", "conditional")
    sealed: bool = False


def rows(*names: str, **settings: Any) -> list[Row]:
    return [Row(getattr(pretexts, name), **settings) for name in names]


ONCE, HERE, AHEAD = ("in its turn",), ("in its turn", "conditional"), ("in advance", "conditional")
ROWS: dict[tuple[str, str], list[Row]] = {
    ("left", "setup"): [
        *rows("setup_left_later", ways=ONCE, sealed=True),
        *rows("setup_missed_and_handed_over", ways=ONCE),
    ],
    ("left", "orders"): [
        *rows("orders_left_later", "orders_missed_and_left", "orders_missed_and_handed_over"),
        *rows("orders_of_a_newcomer", "orders_handed_over_later", by_key=(True,), ways=ONCE),
    ],
    ("left", "default orders"): rows("default_left_later", "default_missed_and_handed_over", ways=HERE),
    ("left", "withdrawal"): rows("withdrawn_orders_left_later"),
    ("played", "setup"): rows("setup_replaced", ways=ONCE, sealed=True),
    ("played", "orders"): [
        *rows("orders_replaced"),
        *rows("orders_of_a_refused_letter", by_key=(True,), ways=HERE),
    ],
    ("played", "default orders"): rows("default_replaced", ways=HERE),
    ("refused by the rules", "orders"): rows(
        "orders_refused", "orders_refused_at_the_end", "orders_missed_at_the_end", ways=AHEAD
    ),
    ("refused by the rules", "default orders"): rows(
        "default_refused", "default_refused_at_the_end", "default_refused_although_legal", ways=HERE
    ),
    ("replaced", "setup"): rows("setup_of_an_earlier_letter", by_key=(False,), ways=ONCE),
    ("replaced", "orders"): rows("orders_of_an_earlier_letter", by_key=(False,)),
    ("replaced", "default orders"): rows("default_of_an_earlier_letter", by_key=(False,), ways=HERE),
    ("withdrawn", "setup"): rows("setup_withdrawn", ways=ONCE, sealed=True),
    ("withdrawn", "orders"): [
        *rows("orders_withdrawn"),
        *rows("orders_replaced_by_refused_ones", by_key=(True,)),
    ],
    ("withdrawn", "default orders"): rows("default_withdrawn", ways=HERE),
    ("took effect", "withdrawal"): [
        *rows("withdrawn_setup_played", ways=ONCE, sealed=True),
        *rows("withdrawn_orders_played"),
        *rows("withdrawn_default_played", ways=HERE),
    ],
    ("never came", "setup"): rows("setup_never_came", ways=ONCE, sealed=True),
    ("never came", "orders"): rows("orders_missed", "orders_forfeited", "orders_missed_and_sent_again"),
    ("never came", "default orders"): rows("default_never_came", ways=HERE),
    ("never came", "withdrawal"): [
        *rows("withdrawn_setup_forgotten", ways=ONCE, sealed=True),
        *rows("withdrawn_orders_forgotten"),
        *rows("withdrawn_default_forgotten", ways=HERE),
    ],
    ("came too late", "setup"): rows("setup_came_too_late", ways=ONCE, sealed=True),
    ("came too late", "orders"): rows("orders_came_too_late", ways=HERE),
}
"""By end, and what is said to have come to it."""
CELLS = [
    [
        (row, game, by_key, way, sealed)
        for game in row.games
        for by_key in row.by_key
        for way in row.ways
        for sealed in (False, True)[: 1 + row.sealed]
        if not (way == "conditional" and not GAMES[game].conditional) and (by_key or not sealed)
    ]
    for told_of in ROWS.values()
    for row in told_of
]
"""The settings of each lie."""
WALK = [cells[number * 5 % len(cells)] for number, cells in enumerate(CELLS)]


Cell = tuple[Row, str, bool, str, bool]


def test_each_cell_of_the_table_has_its_lies() -> None:
    page = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text("utf-8")
    table = page.partition("### The end of what was acknowledged\n")[2].partition("| end | of what | proof |")[2]
    cells, end = set(), ""
    for row in table.partition("\n\n")[0].split("\n")[2:]:
        _, named_end, kinds, *_ = (part.strip() for part in row.split("|"))
        end = named_end or end
        kinds = kinds.replace("all", "setup, orders, default orders, withdrawal")
        cells |= {(end, kind) for kind in kinds.split(", ")}
    assert cells == ROWS.keys()


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
