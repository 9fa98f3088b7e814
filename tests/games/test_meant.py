"""Guesses of the intended text: one slip away from the notation; correct text is never changed."""

from __future__ import annotations

import re

import pytest

from pbem.games import parts, rules

SHIPS = "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS1 Bv5 Bw5"


@pytest.mark.parametrize(
    ("game", "written", "meant"),
    [
        ("spaceships", "gx3 GY3 yy1 YY2 bx1", "Gx3 Gy3 Yy1 Yy2 Bx1"),
        ("spaceships", "Bgx1gx3 BBX1\u2013BX3 bgx1gx3(ds2)", "bGx1Gx3 bBx1-Bx3 bGx1Gx3(DS2)"),
        ("spaceships", "SYW3 krv1 GX3 M2 ox4 mgx OX4", "sYw3 kRv1 Gx3 m2 Ox4 mGx Ox4"),
        ("spaceships", "S yw3 B gx1 gx3", "s Yw3 B Gx1 Gx3"),
        ("spaceships", SHIPS.lower(), SHIPS),
        ("spaceships", re.sub("(?m)^([A-Z]+1?) ", r"\1: ", SHIPS), SHIPS),
        ("spaceships", "hello gx9 end", "hello gx9 end"),
        (
            "spaceships",
            "\u201cGx3, Gy3.\u201d bGx1Gx3(ds2). \U0001f680\ufe0f 'sYw3' `Gx4`!",
            "Gx3 Gy3 bGx1Gx3(DS2) sYw3 Gx4",
        ),
        ("dueling-masters", "Z2 A1-C3.", "Z2 A1-C3"),
        ("shoot-em-up", "A: FMS.\nB: SSS!", "A: FMS\nB: SSS"),
        ("dueling-masters", "z2 a1\u2014c10", "Z2 A1-C10"),
        ("dueling-masters", "Z2, A1 C3", "Z2 A1-C3"),
        ("dueling-masters", "* b1 b3\nw a10\nh a1", "* B1 B3\nW A10\nH A1"),
        ("shoot-em-up", "a: fms\nb sss\nc: l r l", "A: FMS\nB: SSS\nC: LRL"),
        ("shoot-em-up", "A F,M,S; B: sss, C=LRL", "A: FMS\nB: SSS\nC: LRL"),
        ("shoot-em-up", "a: C1 n\nb d1, E", "A c1 N\nB d1 E"),
        ("shoot-em-up", "a: fms or so", "a: fms or so"),
    ],
)
def test_one_slip_is_mended(game: str, written: str, meant: str) -> None:
    assert re.sub(" +", " ", parts.meant(rules(game), written)).strip() == meant


@pytest.mark.parametrize(
    ("game", "right"),
    [
        ("spaceships", "Gx3 bGx1Gx3 bGx1-Gx3(DS2) sYw3 m2 Ox4 mGx Ox4 my Ox4 mY Ox4 kRv1 Gx3 s Yw3 b Gx1 Gx3"),
        ("spaceships", SHIPS),
        ("spaceships", ". . DS DS .\nMD1 . . LG3 ."),
        ("dueling-masters", "Z2 A1-C3"),
        ("dueling-masters", "* B1 B3\nW A10\nH1 A1"),
        ("shoot-em-up", "A: FMS\nB: SSS"),
        ("shoot-em-up", "A c1 N\nB d1 E"),
    ],
)
def test_what_is_right_stays(game: str, right: str) -> None:
    assert parts.meant(rules(game), right) == right
