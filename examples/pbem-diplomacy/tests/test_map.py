"""The map is drawn from facts: provinces touch where they border, and everything on the board is to be seen."""

from __future__ import annotations

from itertools import combinations
from math import dist
from xml.etree import ElementTree

from pbem_diplomacy import RULES
from pbem_diplomacy.boards import EMPTY
from pbem_diplomacy.drawing import COLOURS, FAILED, LAND, NAME, NOBODY, OWNED, SEA, beside, drawn, named, place
from pbem_diplomacy.geography import standard
from pbem_diplomacy.map_shapes import HEIGHT, WIDTH, cells, points
from pbem_diplomacy.orders import BUILD, DISBAND, MOVE, SUPPORT, WAIVE, Order
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


def _box(at: tuple[float, float], left: float, up: float, right: float, down: float) -> tuple[float, ...]:
    return at[0] - left, at[1] - up, at[0] + right, at[1] + down


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """True if two boxes share more than a hair's breadth."""
    return all(max(one[at], other[at]) + 3 < min(one[at + 2], other[at + 2]) for at in (0, 1))


def test_names_can_be_read_on_a_telephone() -> None:
    """At 390 pixels, of which a letter leaves 350 to its picture, names are 9 pixels high, and nothing is on them."""
    assert NAME * 350 / WIDTH > 9
    board = standard()
    names = {
        code: _box(named(code), 25, 19, 39 if board.provinces[code].centre else 25, 5) for code in board.provinces
    }
    places = {each: code for code, one in board.provinces.items() for each in (code, *one.coasts)}
    units = [_box(place(each), 17, 14, 17, 14) for each in places]
    for code, box in names.items():
        assert 0 < box[0] < box[2] < WIDTH, code
        assert 0 < box[1] < box[3] < HEIGHT, code
        line = box[0], box[1] - 6, box[2], box[3] + 6  # where two names touched, one would be taken for the other
        assert [other for other in names if other != code and _overlap(line, names[other])] == [], code
        assert [unit for unit in units if _overlap(box, unit)] == [], code
        nearest = min(places, key=lambda each: dist(place(each), ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)))
        assert places[nearest] == code
    for each, code in places.items():
        retreating = _box(beside(each), 17, 14, 17, 14)
        assert [name for name, box in names.items() if _overlap(box, retreating)] == [], each
        close = {places[other] for other in places if dist(place(other), beside(each)) < 24}
        assert not close, (each, code)


def test_who_owns_a_centre_is_seen_by_its_colour() -> None:
    def mixed(colour: str, share: float = 1.0) -> list[float]:
        parts = ([int(each[at : at + 2], 16) for at in (1, 3, 5)] for each in (colour, LAND))
        return [share * one + (1 - share) * other for one, other in zip(*parts, strict=True)]

    shades = {power: mixed(colour, OWNED) for power, colour in COLOURS.items()}
    shades |= {colour: mixed(colour) for colour in (LAND, NOBODY, SEA)}
    alike = [pair for pair in combinations(shades, 2) if dist(*(shades[each] for each in pair)) < 30]
    assert not alike


def test_a_winter_shows_what_was_built_and_removed() -> None:
    built, removed, waived = (
        Order("FRANCE", "A", "PAR", BUILD),
        Order("TURKEY", "F", "ANK", DISBAND),
        Order("ITALY", "", "", WAIVE),
    )
    shown = drawn(EMPTY, [(built, True), (removed, True), (waived, True)])
    x, y = place("PAR")
    assert f'<circle cx="{x:.0f}" cy="{y:.0f}" r="25"' in shown
    x, y = place("ANK")
    assert f'd="M{x - 14:.0f} {y - 14:.0f}l28 28' in shown


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
    lines = [
        element.get("stroke-dasharray")
        for element in root
        if element.get("stroke-width") in {"5", "3"} and element.tag.endswith("}line")
    ]
    assert lines == [None, "3 7", "11 7"]


def test_arrows_have_their_heads_above_the_names() -> None:
    shown = drawn(EMPTY, [(Order("ITALY", "A", "ROM", MOVE, "VEN"), False)])
    assert shown.index("<line ") < shown.index(">Ven<") < shown.index(f'" fill="{FAILED}"')


def test_a_dislodged_unit_has_a_red_edge_and_leaves_the_letter_of_the_other() -> None:
    """The edge is parted from the unit by white: Austria's units are red themselves."""
    view = {**EMPTY, "units": ["RUSSIA A GAL"], "dislodged": [{"unit": "AUSTRIA A GAL"}]}
    retreating, other = drawn(view).split("<g>")[1:]
    assert "Austria A Gal" in retreating
    assert retreating.index(f'stroke="{FAILED}" stroke-width="12"') < retreating.index('stroke="#ffffff"')
    assert "Russia A Gal" in other
    assert dist(place("GAL"), beside("GAL")) >= 25
