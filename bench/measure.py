"""How the benches measure and what they print: rounds of all contestants in turn, and a line for each goal.

A figure by itself says how busy the machine was. So each goal is a ratio of two figures of the same rounds: the
contestants run one after the other, again and again, and the ratio is taken round by round; its median counts.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Goal", "Part", "alternate", "median", "ratios"]


@dataclass
class Goal:
    """A figure that is to reach its mark: at least `mark`, or at most if `most`."""

    what: str
    figure: float
    mark: float
    unit: str = " x"
    most: bool = False
    spread: tuple[float, float] | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is as good as it should be."""
        return self.figure <= self.mark if self.most else self.figure >= self.mark

    def __str__(self) -> str:
        spread = f" ({written(self.spread[0])} to {written(self.spread[1])})" if self.spread else ""
        bound = "at most" if self.most else "at least"
        said = "met" if self.met else "MISSED"
        return f"{self.what}: {written(self.figure)}{self.unit}{spread}, goal {bound} {written(self.mark)}: {said}"


@dataclass
class Part:
    """One bench: its figures by contestant, one of each round, and the goals that they are held against."""

    title: str
    unit: str
    figures: dict[str, list[float]] = field(default_factory=dict)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"## {self.title}", ""]
        if self.figures:
            lines += [f"| {self.unit} | median | least | most |", "| --- | ---: | ---: | ---: |"]
            lines += [
                f"| {name} | {written(median(found))} | {written(min(found))} | {written(max(found))} |"
                for name, found in self.figures.items()
            ]
            lines.append("")
        lines += [f"- {goal}" for goal in self.goals]
        lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines) + "\n"


def alternate(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """The figures of each contestant, all of them once a round; every other round backwards."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name in list(contestants)[:: -1 if number % 2 else 1]:
            figures[name].append(contestants[name]())
    return figures


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """The one figure divided by the other, round by round."""
    return [one / other for one, other in zip(above, below, strict=True)]


def median(figures: Sequence[float]) -> float:
    """The median."""
    return statistics.median(figures)


def ratio_goal(what: str, above: Sequence[float], below: Sequence[float], mark: float, *, most: bool = False) -> Goal:
    """A goal for the median of the ratios of the rounds."""
    found = ratios(above, below)
    return Goal(what, median(found), mark, most=most, spread=(min(found), max(found)))


def written(figure: float) -> str:
    """A figure with as many digits as mean something."""
    if abs(figure) >= 1000:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"
