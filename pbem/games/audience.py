"""The knowledge of a reader: the audiences of reports, the part of one that each may read, and the sum of all turns.

Each game has one table, `SHOWN` in its `knowledge` module: by kind of report and field, the audiences to which the
field goes. What is not in the table goes to nobody, inside nested values too. Implements protocol.md, "Secrets".
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar, Union

from pbem.games import ShownReports

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pbem.games import Report


class Audience(Enum):
    """The reader of a report."""

    OWNER = "the seat whose action it was"
    NAMED = "any other seat that the report names"
    OPPONENT = "any other seat that is still in the game"
    ELIMINATED = "a seat that has nothing left in the game, and reads on"
    OBSERVER = "somebody who follows the match by mail without a seat"
    PUBLIC = "anybody at all"


EVERYBODY: Final = frozenset(Audience)
_OWNER: Final = frozenset({Audience.OWNER})
_NAMED: Final = _OWNER | {Audience.NAMED}

ANY: Final = "*"
"""In the place of a field: whatever fields there are."""

Fields = Mapping[str, Union[frozenset[Audience], "Fields"]]
"""The readers by field; for a field that holds an object, or a list of objects, the fields of these."""

Shown = Mapping[str, Fields]
"""The fields by kind of report."""


def everybody(*fields: str) -> Fields:
    """Fields that everybody may read."""
    return dict.fromkeys(fields, EVERYBODY)


def owner(*fields: str) -> Fields:
    """Fields that only the seat of the report may read."""
    return dict.fromkeys(fields, _OWNER)


def named(*fields: str) -> Fields:
    """Fields that the seat of the report may read, and those that it names."""
    return dict.fromkeys(fields, _NAMED)


def audience(owner: int | None, seat: int | None, seats: range, named: Collection[int] = ()) -> Audience | None:
    """The audience that a seat (None: the public) is for an owner's report; None for no seat of the game.

    `named` are the seats that the report names as its readers.

    An eliminated seat is told what an opponent is told, and an observer what the public is told: a report does not
    show who they are, so no table tells them apart.
    """
    if seat is None:
        return Audience.PUBLIC
    if seat not in seats:
        return None
    if seat == owner:
        return Audience.OWNER
    return Audience.NAMED if seat in named else Audience.OPPONENT


def cut(report: Report, shown: Shown, reader: Audience | None) -> Report | None:
    """The part of a report that this audience may read; None if that is nothing."""
    fields = shown.get(str(report.get("kind")))
    if fields is None or reader is None or not _reads(fields, reader):
        return None
    return _only(report, fields, reader)


def _reads(fields: Fields, reader: Audience) -> bool:
    """True if any of the fields, however deep, goes to this reader."""
    for allowed in fields.values():
        if allowed is EVERYBODY:
            return True
        if reader in allowed if isinstance(allowed, frozenset) else _reads(allowed, reader):
            return True
    return False


_NOBODY: Final[frozenset[Audience]] = frozenset()

_LEAVES = frozenset({str, int, bool, type(None)})
"""The kinds of nearly all values: they hold no others."""


def _only(value: Report, fields: Fields, reader: Audience) -> Report:
    left: Report = {}
    for name, inner in value.items():
        allowed = fields[name] if name in fields else fields.get(ANY, _NOBODY)
        if isinstance(allowed, frozenset):
            readable = allowed is EVERYBODY or reader in allowed
            if readable and (type(inner) in _LEAVES or _is_plain(inner)):
                left[name] = inner
        elif _reads(allowed, reader):
            several = isinstance(inner, list)
            some = [_only(each, allowed, reader) for each in (inner if several else [inner])]
            left[name] = some if several else some[0]
    return left


def _is_plain(value: object) -> bool:
    """True if a value has no inner fields, which the table would have to name."""
    return not any(isinstance(each, Mapping) for each in (value if isinstance(value, list) else [value]))


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
    # The number of turns after which something was kept at last, and what.
    done, known = 0, None
    for count in range(len(turns), 0, -1):
        if (kept := getattr(turns[count - 1], "memory", None)) is not None:
            done, known = count, kept
            break
    known = begun() if known is None else known.copy()
    for turn, reports in enumerate(turns[done:], start=done + 1):
        follow(known, reports, turn)
    if turns and isinstance(latest := turns[-1], ShownReports):
        latest.memory = known.copy()
        # Something was kept after a later turn than these.
        for earlier in turns[max(0, done - 1) : -1]:
            assert isinstance(earlier, ShownReports)
            if not earlier.kept:
                earlier.memory = None
    return known


APicture = TypeVar("APicture")


class Pictures(dict[int, APicture]):
    """Knowledge from reports by seat: objects that have only containers, of things that do not change."""

    def copy(self) -> Self:
        """A copy of the pictures, to be changed."""
        copies = type(self)({seat: type(picture)() for seat, picture in self.items()})
        for seat, picture in self.items():
            vars(copies[seat]).update({name: container.copy() for name, container in vars(picture).items()})
        return copies
