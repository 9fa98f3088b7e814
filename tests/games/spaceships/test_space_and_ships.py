"""Counts of cells, lines and placements: each known by arithmetic of its own, so a wrong table shows at once."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_cube_fires_in_every_direction_and_slab_in_those_of_its_plane() -> None:
    assert ships.lines_of_fire(space.box("Rv1", "Ow2")).bit_count() == 13
    assert ships.lines_of_fire(space.box("Bv1", "Bw4")).bit_count() == 4
    assert ships.lines_of_fire(space.mask_of(["Rv1", "Rv3"])) == 0


@pytest.mark.parametrize(
    "cells",
    ["Rx3 Rx4 Rx5 Ry3 Ry5 Rz3 Rz4 Rz5", "Rv1 Rv2 Rw1 Rw2 Gv1 Gv2 Gw1 Gw2", "Rv1 Rv2 Rv3 Rw1 Rw2 Rw3 Rx1 Rv4"],
)
def test_these_are_no_death_stars(cells: Any) -> None:
    assert not ships.fits("DS", space.mask_of(cells.split()))
