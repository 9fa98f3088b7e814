"""Ratings: what a closed match makes of its players' standings.

The arithmetic is openskill's (Plackett-Luce), for two players and for more. Nothing here is stored or told.
Implements protocol.md, "Commands" (`standings`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from openskill.models import PlackettLuce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.store.people import Standing

__all__ = ["PROVISIONAL", "rated"]

PROVISIONAL = 5
"""Below so many matches a rating is provisional, and marked."""

_MODEL = PlackettLuce()


def rated(standings: Sequence[Standing], winner: int, *, abandoned: bool) -> list[Standing]:
    """The standings, in seat order, after a match: `winner` is a seat, or 0 for a draw.

    A match that was abandoned (nobody played it to an end) is counted apart and moves no rating.
    """
    if abandoned:
        return [replace(found, abandoned=found.abandoned + 1) for found in standings]
    teams = [
        [_MODEL.rating() if found.mean is None else _MODEL.rating(mu=found.mean, sigma=found.deviation)]
        for found in standings
    ]
    ranks = [1.0 if winner in (0, seat) else 2.0 for seat in range(1, len(standings) + 1)]
    after = _MODEL.rate(teams, ranks=ranks)
    return [
        replace(
            found,
            played=found.played + 1,
            won=found.won + (winner == seat),
            drawn=found.drawn + (winner == 0),
            mean=team[0].mu,
            deviation=team[0].sigma,
        )
        for seat, (found, team) in enumerate(zip(standings, after, strict=True), 1)
    ]
