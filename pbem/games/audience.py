"""The audiences of a report, and the part of a report that one of them may read.

Each game has one table, `SHOWN` in its `knowledge` module: by kind of report and field, the audiences to which the
field goes. A kind, a field or an audience that is not in the table gets nothing, inside nested values too. Here
live the audiences and the cutting, but no game's table. Implements protocol.md, "Secrets".
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Union

if TYPE_CHECKING:
    from pbem.games import Report


class Audience(Enum):
    """The reader of a report."""

    OWNER = "the seat whose action it was"
    OPPONENT = "any other seat that is still in the game"
    ELIMINATED = "a seat that has nothing left in the game, and reads on"
    OBSERVER = "somebody who follows the match by mail without a seat"
    PUBLIC = "anybody at all"


EVERYBODY: Final = frozenset(Audience)

ANY: Final = "*"
"""In the place of a field: whatever fields there are."""

Fields = Mapping[str, Union[frozenset[Audience], "Fields"]]
"""The readers by field; for a field that holds an object, or a list of objects, the fields of these."""

Shown = Mapping[str, Fields]
"""The fields by kind of report."""


def everybody(*fields: str) -> Fields:
    """Fields that everybody may read."""
    return dict.fromkeys(fields, EVERYBODY)


def audience(owner: int | None, seat: int | None, seats: range) -> Audience | None:
    """The audience that a seat (None: the public) is for an owner's report; None for no seat of the game.

    An eliminated seat is told what an opponent is told, and an observer what the public is told: a report does not
    show who they are, so no table tells them apart.
    """
    if seat is None:
        return Audience.PUBLIC
    if seat not in seats:
        return None
    return Audience.OWNER if seat == owner else Audience.OPPONENT


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
