"""Games that are soon over, and setups for them; those of Dueling Masters are as long as any."""

from __future__ import annotations

SMALL = "fleet: cost:3\nsettle: 0"
FLEETS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
"""The fleets of Ann and of Bob, who loses his to three strikes."""
DESTROYERS = ("MD Rv1 Rv2 Rv3", "MD Gz3 Gz4 Gz5")
"""Fleets of a missile destroyer each."""

SHIPS = {
    "ann": "A b1 N\nB c1 N\nC d1 N",
    "bob": "D b9 S\nE c9 S\nF d9 S",
    "cem": "G a2 E\nH a3 E\nI a4 E",
    "dan": "J i2 W\nK i3 W\nL i4 W",
}
"""The ships of four in Shoot 'em up Spaceships."""

PIECES = {
    "ann": "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
    "bob": "* I2 I4 I6 I8 I10 G1 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G2 G4 G6 G8\nH J1",
}
