"""The outcome of earlier turns, cached with the last of them, so that a view need not begin with the first turn.

`view` in each game's `knowledge` uses it, and decides what to keep. Nothing is kept if the reports of turns are
plain lists, as in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from pbem.games import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.games import Report


class Copied(Protocol):
    """Something that can be copied."""

    def copy(self) -> Self:
        """A copy, to be changed."""


Known = TypeVar("Known", bound=Copied)


def followed(
    turns: Sequence[Sequence[Report]],
    begun: Callable[[], Known],
    follow: Callable[[Known, Sequence[Report], int], None],
) -> Known:
    """The sum of all turns: `follow` adds the reports of a turn, of this number, to the knowledge before it."""
    done, known = next(_remembered(turns), (0, None))
    known = begun() if known is None else known.copy()
    for turn, reports in enumerate(turns[done:], start=done + 1):
        follow(known, reports, turn)
    if turns and isinstance(latest := turns[-1], Told):
        latest.memory = known.copy()
        _forget(turns[max(0, done - 1) : -1])
    return known


APicture = TypeVar("APicture")


class Pictures(dict[int, APicture]):
    """Knowledge from reports by seat: objects that have only containers, of things that do not change."""

    def copy(self) -> Self:
        """A copy of the pictures, to be changed."""
        return type(self)({seat: _copy(picture) for seat, picture in self.items()})


def _copy(picture: APicture) -> APicture:
    made = type(picture)()
    vars(made).update({name: container.copy() for name, container in vars(picture).items()})
    return made


def _remembered(turns: Sequence[Sequence[Report]]) -> Iterator[tuple[int, Any]]:
    """The numbers of turns after which something was kept, and what, the latest first."""
    for count in range(len(turns), 0, -1):
        reports = turns[count - 1]
        if isinstance(reports, Told) and reports.memory is not None:
            yield count, reports.memory


def _forget(turns: Sequence[Sequence[Report]]) -> None:
    """Keep nothing after these turns, for something was kept after a later one."""
    for reports in turns:
        assert isinstance(reports, Told)
        if not reports.kept:
            reports.memory = None
