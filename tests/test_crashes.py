"""The crash matrix: the daemon is killed at every point of a letter's way, and nobody notices.

Two players play whole matches by mail and repeat what got no 250. Each letter has its effect once, each report leaves
in the same bytes however often it is sent, and each match ends with a proof that holds. Promises 1 and 3 of
reliability.md; cases 1, 2, 29 and 30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from machines.deaths import End
from machines.lives import Figures, Table

from pbem.failpoints import ALL
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


TRANSACTIONS = ("transaction written", "transaction committed") * 3


class Plan:
    """Which life ends where: all points in turn, in a random order, again and again; `most` in all."""

    def __init__(self, most: int) -> None:
        self.left: list[str] = []
        self.most = most

    def __call__(self, random: Random) -> End | None:
        self.most -= 1
        if self.most < 0:
            return None
        self.left = self.left or random.sample(ALL + TRANSACTIONS, len(ALL + TRANSACTIONS))
        point = self.left.pop()
        # Transactions are many: the first ones are those of the start, and each letter has several.
        return End(point, random.randint(1, 14) if point.startswith("transaction") else random.choice((1, 1, 2)))


def play(folder: Path, seed: str, plan: Plan, figures: Figures) -> None:
    table = Table(folder, seed, plan, figures)
    table.play()
    checks = list(verify(table.bundle(), Letters))
    assert checks
    assert all(check.holds for check in checks), [check for check in checks if not check.holds]


def test_a_match_over_many_deaths(tmp_path: Path) -> None:
    figures = Figures()
    plan = Plan(25)
    while plan.most > 0:
        folder = tmp_path / str(figures.matches)
        folder.mkdir()
        play(folder, f"short {figures.matches}", plan, figures)
    print(figures)
    assert figures.kills.total() >= 20


@pytest.mark.long
def test_five_hundred_deaths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = Figures()
    plan = Plan(10_000)
    while figures.kills.total() < 500:
        folder = tmp_path / str(figures.matches)
        folder.mkdir()
        play(folder, f"long {figures.matches}", plan, figures)
    assert set(figures.kills) >= set(ALL)
    with capsys.disabled():
        print(f"\n{figures}")
