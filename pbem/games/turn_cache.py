"""The outcome of earlier turns, cached with the last of them, so that a view need not begin with the first turn.

`view` in each game's `knowledge` uses it, and decides what to keep. Nothing is kept if the reports of turns are
plain lists, as in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from pbem.games import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.games import Report

__all__ = ["Picture", "copies", "followed"]

Known = TypeVar("Known")


def followed(
    turns: Sequence[Sequence[Report]],
    begun: Callable[[], Known],
    copied: Callable[[Known], Known],
    follow: Callable[[Known, Sequence[Report], int], None],
) -> Known:
    """What all turns add up to: `follow` adds the reports of a turn, of this number, to what was known before."""
    done, kept = _remembered(turns)
    known = begun() if kept is None else copied(kept)
    for turn, reports in enumerate(turns[done:], start=done + 1):
        follow(known, reports, turn)
    if turns and isinstance(latest := turns[-1], Told):
        latest.memory = copied(known)
        _forget(turns[max(0, done - 1) : -1])
    return known


class Picture:
    """What reports have told of one seat's side: it has containers alone, of things that do not change."""

    def copy(self) -> Self:
        """A copy of the picture, to be changed."""
        made = type(self)()
        vars(made).update({name: container.copy() for name, container in vars(self).items()})
        return made


APicture = TypeVar("APicture", bound=Picture)


def copies(pictures: Mapping[int, APicture]) -> dict[int, APicture]:
    """Copies of the pictures of all seats."""
    return {seat: picture.copy() for seat, picture in pictures.items()}


def _remembered(turns: Sequence[Sequence[Report]]) -> tuple[int, Any]:
    """The latest number of turns after which something was kept, and what; 0 and None if nothing was."""
    for count in range(len(turns), 0, -1):
        reports = turns[count - 1]
        if isinstance(reports, Told) and reports.memory is not None:
            return count, reports.memory
    return 0, None


def _forget(turns: Sequence[Sequence[Report]]) -> None:
    """Keep nothing after these turns, for something was kept after a later one."""
    for reports in turns:
        assert isinstance(reports, Told)
        if not reports.kept:
            reports.memory = None
