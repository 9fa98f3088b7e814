"""The reading of agreed options, as a proposal writes them, by a game's table of readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pbem.games import Fault
from pbem.phrase import Phrase

Readers = Mapping[str, Callable[[object], object]]
"""The reader of each option: it turns a TOML value into the option's, or raises ValueError with a phrase."""

T = TypeVar("T")


def one_of(values: Sequence[T], says: Phrase) -> Callable[[object], T]:
    """A reader of an option with these values, all of one type: to Python, true is a 1, but not to players."""

    def read(value: object) -> T:
        if type(value) is not type(values[0]) or value not in values:
            raise ValueError(says)
        return value

    return read


def read_options(
    raw: Mapping[str, object], readers: Readers, seats: int, able: Sequence[int], otherwise: Phrase
) -> tuple[dict[str, Any], list[Fault]]:
    """The options that can be read, and the faults, each named by its option; `otherwise` is said of the seats."""
    faults = []
    if type(seats) is not int or seats not in able:
        faults.append(Fault("seats", None, otherwise))
    agreed: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in readers:
            faults.append(Fault(str(name), str(name), Phrase("there is no option {name}", name=name)))
            continue
        try:
            agreed[name] = readers[name](value)
        except ValueError as error:
            faults.append(Fault(name, name, Phrase("option {name}: {reason}", name=name, reason=error.args[0])))
    return agreed, faults
