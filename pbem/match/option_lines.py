"""The option lines of a proposal or an announcement: each kind of option reads its line and writes it again.

A table of options (`terms`, `tournament_terms`) is what help prints and the lines are judged by. Implements
protocol.md, "A match".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from pbem.games import Fault, Refused
from pbem.match.entry_type import day
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Choice(msgspec.Struct, frozen=True):
    """A word out of a few, the first by default."""

    says: Phrase
    words: tuple[str, ...]

    @property
    def default(self) -> object:
        """The value of the first word."""
        return self.words[0]

    def read(self, key: str, text: str) -> object:
        """The word, in lower case."""
        word = " ".join(text.lower().split())
        if word not in self.words:
            raise Refused(Fault(key, word, Phrase("{key} is one of: {words}", key=key, words=", ".join(self.words))))
        return word

    def written(self, value: object) -> str:
        """The word."""
        return str(value)


class Switch(Choice, frozen=True):
    """The words `no`, the default, and `yes`: a truth value."""

    words: tuple[str, ...] = ("no", "yes")

    @property
    def default(self) -> object:
        """False."""
        return False

    def read(self, key: str, text: str) -> object:
        """True for the second word."""
        return Choice.read(self, key, text) == self.words[1]

    def written(self, value: object) -> str:
        """The word of a truth value."""
        return self.words[bool(value)]


class Number(msgspec.Struct, frozen=True):
    """A whole number within bounds."""

    says: Phrase
    default: int | None = None
    bounds: tuple[int, int] = (1, 9999)

    def read(self, key: str, text: str) -> object:
        """The number."""
        least, most = self.bounds
        if not (re.fullmatch(r"[1-9][0-9]{0,3}", text) and least <= int(text) <= most):
            says = Phrase("{key} is a number from {least} to {most}", key=key, least=least, most=most)
            raise Refused(Fault(key, text, says))
        return int(text)

    def written(self, value: object) -> str:
        """The digits; no line gives 0."""
        return str(value or "")


class Time(msgspec.Struct, frozen=True):
    """A time within bounds, in seconds; the word `none` may stand for 0."""

    says: Phrase
    default: int | None
    """None: each server has its own."""
    bounds: tuple[int, int]
    none: bool = False

    def read(self, key: str, text: str) -> object:
        """The seconds."""
        if self.none and text.strip().lower() == "none":
            return 0
        seconds = duration(text)
        least, most = self.bounds
        if seconds is None or not least <= seconds <= most:
            given = {"key": key, "least": least // _UNITS["h"], "most": most // _UNITS["d"]}
            raise Refused(Fault(key, text, _TIMES[bool(least), self.none].given(**given)))
        return seconds

    def written(self, value: Any) -> str:
        """The time in the largest unit that is exact."""
        if not value:
            return "none" if self.none else "0"
        return next(f"{value // size}{unit}" for unit, size in reversed(_UNITS.items()) if value % size == 0)


class Day(msgspec.Struct, frozen=True):
    """A day: its first second, as a time in UTC."""

    says: Phrase
    default: None = None

    def read(self, key: str, text: str) -> object:
        """The time with which the day begins."""
        if not day(text.strip()):
            raise Refused(Fault(key, text.strip() or None, Phrase("{key} is a day, such as 2026-12-20", key=key)))
        return f"{text.strip()}T00:00:00Z"

    def written(self, value: object) -> str:
        """The day of a time."""
        return str(value or "")[: len("2026-12-20")]


Option = Choice | Number | Time | Day

_TIMES = {
    (False, False): Phrase("{key} is a time such as 10m, 2h or 1d, at most {most}d, or 0"),
    (True, False): Phrase("{key} is a time such as 10m, 2h or 1d, at least {least}h and at most {most}d"),
    (True, True): Phrase("{key} is a time such as 10m, 2h or 1d, at least {least}h and at most {most}d, or none"),
}
"""The faults of a malformed time, by two properties: it has a minimum, and it may be `none`."""


class OptionLines:
    """Option lines and their faults, all of which are collected."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines = lines
        self.faults: list[Fault] = []

    def refuse(self, what: str, token: str | None, says: Phrase) -> None:
        """Note a fault."""
        self.faults.append(Fault(what, token, says))

    def values(self, options: Mapping[str, Option]) -> dict[str, object]:
        """The values of these options, without those whose lines are at fault."""
        values = {}
        for key, option in options.items():
            try:
                values[key] = option.read(key, self.lines[key]) if key in self.lines else option.default
            except Refused as refused:
                self.faults += refused.faults
        return values


def duration(text: str) -> int | None:
    """Seconds of a time such as `10m`, `2h`, `3d` or `0`; None if it is malformed."""
    time = re.fullmatch(r"([0-9]{1,6}) ?([smhd])", text.strip().lower())
    if time:
        return int(time[1]) * _UNITS[time[2]]
    return 0 if text.strip() == "0" else None
