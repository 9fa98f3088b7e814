"""The subjects of letters: they name the match, and are short enough to be read whole in a list of letters.

Pure: phrases go in, and come out, shortened where necessary. Implements design.md, "One place for one fact".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST: Final = 69
"""The most characters of a subject of ours: lists of letters show no more."""

_ABOUT: Final = Phrase("[pbem {match}] {title}, {subject}")
_BRIEF: Final = Phrase("[pbem {match}] {subject}")
_MORE: Final = " ..."
_TOLD: Final = re.compile(r"(?:Re: )?\[pbem(?: [mt][0-9]{1,9})?\]")
"""The part of a subject that everybody may know: mail programs sort letters by it."""


def about(match: str, title: str, subject: str) -> Phrase:
    """The subject of a letter about a match."""
    return _ABOUT.given(match=match, title=title, subject=subject)


def fitting(subject: str, say: Callable[[str], str]) -> str:
    """A subject; if it is too long, without the game's title, and then cut."""
    said = say(subject)
    if len(said) > LONGEST and isinstance(subject, Phrase) and subject.template == _ABOUT.template:
        said = say(_BRIEF.given(**subject.facts))
    return said if len(said) <= LONGEST else said[: LONGEST - len(_MORE)].rstrip() + _MORE


def outside(subject: str) -> str:
    """The subject that an encrypted letter has for everybody: it names at most a match or a tournament."""
    told = _TOLD.match(subject)
    return told[0] if told else "[pbem]"


def joined(subjects: Sequence[str]) -> str:
    """The subject of a letter that joins letters with these subjects; what they share is said once.

    If there is no room for all, the first and the last are named.
    """
    first, *others = dict.fromkeys(subjects)
    others = [_without(subject, first) for subject in others]
    for shown in ([first, *others], [first, "...", *others[-1:]]):
        if len(named := "; ".join(shown)) <= LONGEST:
            return named
    return first + _MORE if len(first) + len(_MORE) <= LONGEST else first


def _without(subject: str, first: str) -> str:
    """A subject without the beginning that it shares with the first: the match, the title and the game."""
    for end in ("] ", ", ", ", "):
        head, mark, rest = first.partition(end)
        if not subject.startswith(head + mark) or not mark:
            break
        subject, first = subject.removeprefix(head + mark), rest
    return subject
