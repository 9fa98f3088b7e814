"""A type of entry: the form of its body, how it is made again, and the sentence that says it was found true.

Here are the forms, too, key by key: nothing may be in a bundle unchecked. What a body says is proved by remaking the
entry; for the server's bare word, its form is the only check. Implements docs/bundle.md, "Entries".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from pbem.match.transcript import is_time
from pbem.networks import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.match.remaking import Remaking
    from pbem.match.step import Step
    from pbem.match.transcript import Entry

Form = Callable[[object], bool]
"""True if a value of JSON has this form."""

_HASH = re.compile(r"[0-9a-f]{64}")
_SEAT = re.compile(r"[1-9]")
_LONGEST = 200_000
"""The maximum length of a text in a body: the public key of an OpenPGP certificate is the longest."""


def text(value: object) -> bool:
    """Any text within the length limit."""
    return isinstance(value, str) and len(value) <= _LONGEST


def host(value: object) -> bool:
    """A server's name."""
    return isinstance(value, str) and DOMAIN.fullmatch(value) is not None


def number(value: object) -> bool:
    """A whole number, not negative."""
    return type(value) is int and 0 <= value < 10**9


def whole(value: object) -> bool:
    """Any whole number."""
    return type(value) is int and abs(value) < 10**9


def seat_number(value: object) -> bool:
    """The number of a seat."""
    return type(value) is int and 1 <= value <= 9


def boolean(value: object) -> bool:
    """True or false."""
    return isinstance(value, bool)


def anything(value: object) -> bool:
    """Any object: it is checked elsewhere."""
    return isinstance(value, dict)


def hash_(value: object) -> bool:
    """A SHA-256 in hex."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def time(value: object) -> bool:
    """A time as entries write it."""
    return isinstance(value, str) and is_time(value)


def day(value: object) -> bool:
    """A day of the calendar."""
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def one_of(*values: str | None) -> Form:
    """One of these texts, or null."""
    return lambda value: value in values


def either(*forms: Form) -> Form:
    """Any of these forms."""
    return lambda value: any(form(value) for form in forms)


def list_of(form: Form) -> Form:
    """A list of values of this form."""
    return lambda value: isinstance(value, list) and all(map(form, value))


def by_seat(form: Form) -> Form:
    """An object with one such value per seat."""
    return lambda value: (
        isinstance(value, dict)
        and all(_SEAT.fullmatch(seat) is not None and form(inner) for seat, inner in value.items())
    )


def mapping(form: Mapping[str, Form], may: Mapping[str, Form] | None = None) -> Form:
    """An object with these keys, and optional ones."""
    allowed = {**form, **(may or {})}
    return lambda value: (
        isinstance(value, dict)
        and form.keys() <= value.keys() <= allowed.keys()
        and all(allowed[key](inner) for key, inner in value.items())
    )


_numbers = list_of(seat_number)
_MAILBOX: Mapping[str, Form] = {"level": one_of("mailbox"), "evidence": hash_}
letter = mapping({"mail": hash_, "received": time}, {**_MAILBOX, "rev": number})
key = mapping({"format": text, "fingerprint": text, "public": text})
player = mapping({"name": text, "keys": list_of(key)}, {"mailbox": hash_})


def seats(value: object) -> bool:
    """The numbers of seats, ascending, each once."""
    return _numbers(value) and isinstance(value, list) and value == sorted(set(value))


def sentence_form(**form: Form) -> Form:
    """A player's sentence, with its letter."""
    return mapping({**form, "mail": hash_, "received": time, "rev": number}, _MAILBOX)


class EntryType(msgspec.Struct, frozen=True):
    """One type of entry; each is in a module of `events`, with its event."""

    name: str
    form: Form
    """The form of its body."""
    says: str | Callable[[Entry, Mapping[str, bytes]], str]
    """The sentence of `pbem verify` about a true one: words with parts of the body, or made with the papers."""
    remake: Callable[[Remaking], Step] | None = None
    """The step that it tells of, made again; None for one that only follows from another one."""
    papers: Callable[[Entry], Iterable[tuple[str, str]]] = lambda _entry: ()
    """The papers of a running game that it names, each path with its hash."""
    between: bool = False
    """True if it may stand between the turns of a game."""
    among: int = 2
    """The least number of seats of a game in which it may."""
    letter: str = ""
    """The name of the file of its player's letter, before number and seat."""
    begins: bool = False
    """True if a game begins with it."""
    opens: bool = False
    """True if no paper of its game is secret from then on."""
    of_player: bool = False
    """True if it tells of a player, not of the game: diaries have none of a player whom the match hides."""
    silent: bool = False
    """True if it says nothing to people that the one before it did not."""

    def sentence(self, entry: Entry, papers: Mapping[str, bytes]) -> str:
        """The sentence about an entry of this type that was found true."""
        if isinstance(self.says, str):
            return self.says.format(**{"seat": None, "seats": None, "reason": None, **entry.body})
        return self.says(entry, papers)
