"""The words of commands: others' are made harmless, ours are in the page's language while one is open.

Nothing is imported here that takes long: `pbem replay` needs it, too.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def harmless(text: str, kept: str = "") -> str:
    """The text with its control characters written out, but for those kept: strangers must not move the cursor."""
    return "".join(char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in text)


_LONGEST = 500  # characters of others within a line of ours

_say: ContextVar[Callable[[str], str]] = ContextVar("_say", default=str)


@contextmanager
def spoken(say: Callable[[str], str]) -> Iterator[None]:
    """Have everything said in the words that `say` finds for a phrase."""
    token = _say.set(say)
    try:
        yield
    finally:
        _say.reset(token)


def tell(phrase: str, *, loud: bool = False) -> None:
    """Print a phrase, whose facts must be harmless; what is `loud` is an error or a warning."""
    click.echo(said(phrase), err=loud)


def said(phrase: str) -> str:
    """A phrase in words; any other text as it is."""
    return _say.get()(phrase)


def line_of(text: str) -> str:
    """Others' words within a line of ours: they stay within the line, and cannot begin one of their own."""
    return clean(said(text)).replace("\n", "\\n")[:_LONGEST]


def clean(text: str) -> str:
    """Others' words: nothing in them can move the cursor."""
    return harmless(text, kept="\n")
