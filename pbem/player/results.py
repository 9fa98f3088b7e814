"""What comes of letters and of a player's actions, as types: a terminal prints them, the page at home draws them.

Each type is declared where it comes from, and has its own words, which are told in the language of whoever shows it.
Others' words cannot move the cursor, nor begin a line of ours: they pass through `line_of`. Implements
docs/playing.md.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pbem.games import Refused
from pbem.phrase import Phrase, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Say = Callable[[str], str]
    """Puts a phrase into words; any other text stays as it is."""


_LONGEST = 500  # characters of others within a line of ours


class ToldLine(NamedTuple):
    """A line of what is told; what is `loud` is an error or a warning."""

    text: str
    loud: bool = False


class PlayResult(msgspec.Struct, frozen=True):
    """Something that came of a letter or of an action."""

    def told(self, say: Say, /) -> Iterator[ToldLine]:
        """Its words, where a text may have several lines; none if it does not matter to the player."""
        raise NotImplementedError


def lines(result: PlayResult | Refused, say: Say = str) -> list[ToldLine]:
    """The words of a result, as `say` puts phrases."""
    told = not_legal(result, say) if isinstance(result, Refused) else result.told(say)
    return [ToldLine(line, loud) for phrase, loud in told for line in say(phrase).split("\n")]


def line_of(text: str, say: Say = str) -> str:
    """Others' words within a line of ours: they stay within the line, and cannot begin one of their own."""
    return clean(say(text)).replace("\n", "\\n")[:_LONGEST]


def faults(messages: Iterable[str], say: Say) -> Iterator[ToldLine]:
    """Faults, a line for each."""
    return (ToldLine(f"  - {line_of(message, say)}", loud=True) for message in messages)


def not_legal(refused: Refused, say: Say) -> Iterator[ToldLine]:
    """The words for orders or a setup that are not legal."""
    yield ToldLine(Phrase("Not legal; nothing was signed or sent:"), loud=True)
    yield from faults([fault.message for fault in refused.faults], say)


def in_a_sentence(error: Exception) -> Phrase:
    """What is wrong, if letters or the memory are: no fault of the program."""
    if not isinstance(error, sqlite3.Error):  # a contradiction
        return Phrase("The server's statements cannot all be true: {found}", found=clean(str(error)))
    # Every step is on the disk before the next one: the same command continues where this one stopped.
    return Phrase(
        "The memory cannot be read or written: {error}. Nothing is lost; run the same command again.", error=error
    )


def indented(text: str) -> str:
    """Lines of a letter within what we say."""
    return "".join(f"    {line}\n" for line in text.splitlines())
