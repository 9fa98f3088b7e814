"""Counts of cells, lines and placements: each known by arithmetic of its own, so a wrong table shows at once."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbem.games.spaceships import ships, space

# Boxes: the product of the free places along each axis, summed over the ways to lie.
PLACEMENTS = {"DS": 4876, "KC": 360, "FS": 240, "PC": 150, "MD": 225, "HS": 300, "AG": 300, "LS": 125, "LG": 125}


def apart(one: str, other: str) -> tuple[int, ...]:
    axes = zip((space.COLOURS, space.LETTERS, space.NUMBERS), one, other, strict=True)
    return tuple(abs(axis.index(a) - axis.index(b)) for axis, a, b in axes)


@pytest.mark.parametrize("code", PLACEMENTS)
def test_placements(code: str) -> None:
    found = ships.placements(code)
    assert len(found) == len(set(found)) == PLACEMENTS[code]
    assert all(ships.fits(code, mask) for mask in found)


def test_types_are_the_rule_books() -> None:
    assert list(ships.TYPES) == ["DS", "KC", "FS", "PC", "MD", "HS", "LS", "AG", "LG"]
    assert [kind.cost for kind in ships.TYPES.values()] == [8, 6, 4, 4, 3, 3, 3, 2, 1]
    assert [kind.size for kind in ships.TYPES.values()] == [8, 6, 4, 4, 3, 2, 1, 2, 1]


def test_cells_stand_in_coordinate_order() -> None:
    assert len(space.NAMES) == 125
    assert space.NAMES[:6] == ("Rv1", "Rv2", "Rv3", "Rv4", "Rv5", "Rw1")
    assert space.NAMES[-1] == "Bz5"


def test_adjacent_cells_share_a_face() -> None:
    for cell, name in enumerate(space.NAMES):
        beside = {other for other in space.NAMES if sum(apart(name, other)) == 1}
        assert set(space.names(space.ADJACENT[cell])) == beside


def test_beam_lines() -> None:
    assert len(space.LINES) == 2 * 603
    for ends, (targets, _) in space.LINES.items():
        first, middle, last = (space.NAMES[target] for target in targets)
        assert ends == first + last
        assert apart(first, middle) == apart(middle, last)
        assert max(apart(first, middle)) == 1
        assert space.LINES[last + first][0] == targets[::-1]
        assert space.LINES[last + first][1] == space.LINES[ends][1]


def test_lines_of_one_direction_are_parallel() -> None:
    count = [75, 75, 75, 45, 45, 45, 45, 45, 45, 27, 27, 27, 27]
    found = [direction for _, direction in space.LINES.values()]
    assert sorted((found.count(direction) // 2 for direction in range(13)), reverse=True) == count


def test_parts() -> None:
    assert len(space.PARTS) == 6**3 - 1
    assert space.names(space.PARTS["Gx3"]) == ["Gx3"]
    assert space.PARTS["G"].bit_count() == space.PARTS["x"].bit_count() == space.PARTS["3"].bit_count() == 25
    assert space.names(space.PARTS["G3"]) == ["Gv3", "Gw3", "Gx3", "Gy3", "Gz3"]


def test_cube_fires_in_every_direction_and_slab_in_those_of_its_plane() -> None:
    assert ships.lines_of_fire(space.box("Rv1", "Ow2")).bit_count() == 13
    assert ships.lines_of_fire(space.box("Bv1", "Bw4")).bit_count() == 4
    assert ships.lines_of_fire(space.mask_of(["Rv1", "Rv3"])) == 0


def greatest_matching(cells: list[str]) -> int:
    beside = [pair for pair in combinations(cells, 2) if sum(apart(*pair)) == 1]
    for size in range(len(cells) // 2, 0, -1):
        for chosen in combinations(beside, size):
            if len({cell for pair in chosen for cell in pair}) == 2 * size:
                return size
    return 0


@given(st.sets(st.sampled_from(space.names(space.box("Rv1", "Rx2") | space.box("Ov1", "Ov2"))), max_size=7))
def test_pairs_are_a_greatest_matching(cells: Any) -> None:
    assert ships.pairs(space.mask_of(list(cells))) == greatest_matching(sorted(cells))


@pytest.mark.parametrize(
    "cells",
    ["Rx3 Rx4 Rx5 Ry3 Ry5 Rz3 Rz4 Rz5", "Rv1 Rv2 Rw1 Rw2 Gv1 Gv2 Gw1 Gw2", "Rv1 Rv2 Rv3 Rw1 Rw2 Rw3 Rx1 Rv4"],
)
def test_these_are_no_death_stars(cells: Any) -> None:
    assert not ships.fits("DS", space.mask_of(cells.split()))
