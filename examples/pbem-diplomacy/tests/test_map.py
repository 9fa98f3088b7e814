"""The map is drawn from facts: provinces touch where they border, and everything on the board is to be seen."""

from __future__ import annotations

from math import dist
from xml.etree import ElementTree

from pbem_diplomacy import RULES
from pbem_diplomacy.drawing import drawn
from pbem_diplomacy.geography import standard
from pbem_diplomacy.map_shapes import HEIGHT, WIDTH, cells, points
from pbem_diplomacy.orders import MOVE, SUPPORT, Order
from pbem_diplomacy.recall import view


def test_provinces_touch_if_and_only_if_they_border() -> None:
    board = standard()
    borders: dict[tuple[str, str], float] = {}
    for cell in cells():
        for at, beyond in enumerate(cell.beyond):
            if cell.province in board.provinces and beyond in board.provinces and beyond != cell.province:
                pair = min(cell.province, beyond), max(cell.province, beyond)
                length = dist(cell.corners[at], cell.corners[(at + 1) % len(cell.corners)])
                borders[pair] = borders.get(pair, 0) + length / 2
    touching = {pair for pair, length in borders.items() if length > 0.5}
    assert touching == {(code, other) for code in board.provinces for other in board.neighbours[code] if code < other}


def test_each_province_has_its_name_on_the_map() -> None:
    assert points().keys() - standard().provinces.keys() == {"IRELAND", "SWITZERLAND"}
    for x, y in (places[0] for code, places in points().items() if code in standard().provinces):
        assert 0 < x < WIDTH
        assert 0 < y < HEIGHT


def test_a_picture_has_units_and_orders() -> None:
    state = RULES.begin(RULES.options({"powers": "France Germany"}, 2), [])
    orders = [
        (Order("FRANCE", "A", "PAR", MOVE, "BUR"), True),
        (Order("FRANCE", "A", "MAR", SUPPORT, "BUR", "A", "PAR"), True),
        (Order("GERMANY", "A", "MUN", MOVE, "BUR"), False),
    ]
    root = ElementTree.fromstring(drawn(view(state, 1, []), orders))
    titles = [element.findtext("{*}title", "") for element in root if element.tag.endswith("}g")]
    assert sorted(titles)[:2] == ["Austria A Bud", "Austria A Vie"]
    assert len(titles) == len(state.units)
    lines = [element.get("stroke-dasharray") for element in root if element.get("stroke-width") in {"3", "1.8"}]
    assert lines == [None, "2 4", "7 4"]
