"""The forms that the body of an entry can have, key by key: nothing may be in a bundle unchecked.

The contents of a body are proved elsewhere, by remaking the entry. For the entries of a running game, and for the
server's bare word, this check is the only one. Implements docs/bundle.md, "Entries".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from pbem.match.transcript import is_time

Form = Callable[[object], bool]
"""True if a value of JSON has this form."""

_HASH = re.compile(r"[0-9a-f]{64}")
_SEAT = re.compile(r"[1-9]")
_LONGEST = 200_000
"""The maximum length of a text in a body: the public key of an OpenPGP certificate is the longest."""


def text(value: object) -> bool:
    """Any text within the length limit."""
    return isinstance(value, str) and len(value) <= _LONGEST


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


def said(**form: Form) -> Form:
    """A player's sentence, with its letter."""
    return mapping({**form, "mail": hash_, "received": time, "rev": number}, _MAILBOX)
