"""The form of every entry's body, key by key: nothing may stand in a bundle that nobody checks.

What a body says is proved elsewhere, by making the entry again; a running game's entries, and what is the server's
bare word, have this alone. It is for bundles of version 2; those of version 1 were never told apart so finely.
Implements docs/bundle.md, "Entries".
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from pbem.match.retrace import Untrue
from pbem.match.transcript import is_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.match.transcript import Entry

__all__ = ["check"]

_HASH = re.compile(r"[0-9a-f]{64}")
_LONGEST = 200_000
"""So many characters a text in a body may have: the public key of an OpenPGP certificate is the longest."""


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 10**9


def _like(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values


def _none(value: Any) -> bool:
    return value is None


def _list(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _by_seat(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return isinstance(value, dict) and all(
            re.fullmatch(r"[1-9]", seat) is not None and check(inner) for seat, inner in value.items()
        )

    return fits


def _object(
    form: Mapping[str, Callable[[Any], bool]], may: Mapping[str, Callable[[Any], bool]] | None = None
) -> Callable[[Any], bool]:
    """An object with these keys, and perhaps those."""
    allowed = {**form, **(may or {})}
    return lambda value: (
        isinstance(value, dict)
        and form.keys() <= value.keys() <= allowed.keys()
        and all(allowed[key](inner) for key, inner in value.items())
    )


def _anything(value: Any) -> bool:
    return isinstance(value, dict)


def _bool(value: Any) -> bool:
    return isinstance(value, bool)


def _time(value: Any) -> bool:
    return isinstance(value, str) and is_time(value)


def _day(value: Any) -> bool:
    """Whether it is a day of the calendar."""
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_hash = _like(_HASH)


def _is_seat(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 9


_seats = _list(_is_seat)
_MAILBOX = {"level": lambda value: value == "mailbox", "evidence": _hash}
_letter = _object({"mail": _hash, "received": _time}, _MAILBOX)
_key = _object({"format": _text, "fingerprint": _text, "public": _text})
_player = _object({"name": _text, "keys": _list(_key)}, {"mailbox": _hash})
_announced = _object({"seat": _is_seat, "from": _day, "to": _day})
_called_off = _object({"seat": _is_seat, "from": _none, "to": _none})
_word = _one_of("offer", "accept", "decline")
_operator = _object({"by": lambda value: value == "operator", "reason": _text})


def _days(value: Any) -> bool:
    """Of a vacation, or that it was called off."""
    return _announced(value) or _called_off(value)


def _said(**form: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A sentence of a player's, with its letter."""
    return _object({**form, "mail": _hash, "received": _time, "rev": _number}, _MAILBOX)


BODIES: Mapping[str, Callable[[Any], bool]] = {
    "agreed": _object(
        {
            "bundle": _number,
            "letters": _by_seat(_letter),
            "version": _text,
            "server": _text,
            "server_key": _hash,
            "match": _text,
            "terms": _anything,
            "rules": _hash,
            "players": _by_seat(_player),
        }
    ),
    "commitments": _object(
        {"trace": _hash, "game": _number, "options": _anything, "commitments": _by_seat(_hash)},
    ),
    "turn": _object(
        {
            "trace": _hash,
            "game": _number,
            "turn": _number,
            "orders": _by_seat(_hash),
            "shown": _by_seat(_hash),
            "reports": _hash,
            "default": _seats,
        }
    ),
    "missed": _object({"game": _number, "turn": _number, "seat": _is_seat, "deadline": _time}),
    "forfeited": _object({"game": _number, "seats": _seats}),
    "extended": _said(seat=_is_seat, to=_seats, seconds=_number),
    "claimed": _said(seat=_is_seat, against=_seats),
    "draw": _said(seat=_is_seat, word=_word),
    "annul": _said(seat=_is_seat, word=_word),
    "resigned": _said(seat=_is_seat, match=_bool),
    "substitute": _said(**{"seat": _is_seat, "for": _is_seat, "name": _text}),
    "substituted": _said(seat=_is_seat, player=_player),
    "keys": _object(
        {
            "seat": _is_seat,
            "change": _one_of("added", "revoked", "replaced"),
            "how": _text,
            "added": _list(_key),
            "revoked": _list(_text),
            "letters": _object({}, {"old": _hash, "new": _hash}),
        }
    ),
    "moved": _object({"seats": _seats, "reason": _one_of("outage", "delivery", "unreachable"), "until": _time}),
    "halted": _object({"seat": _is_seat, "reason": _one_of("delivery", "unreachable")}),
    "vacation": _days,
    "paused": _operator,
    "resumed": _operator,
    "stopped": _operator,
    "restored": _object({"generation": _number}),
    "ended": _object(
        {
            "trace": _hash,
            "game": _number,
            "turns": _number,
            "winner": _number,
            "scores": _list(_whole),
            "reason": _text,
        }
    ),
    "revealed": _object({"game": _number, "record": _hash}),
    "closed": _object({"winner": _number, "scores": _list(_whole), "reason": _text}, {"trace": _hash}),
}
"""The form of the body of each type."""


_BY_SEAT = ("letters", "players", "commitments", "orders", "shown")
"""The parts of bodies that are objects by seat."""

_OF_SEATS = ("seats", "to", "against", "default")
"""The parts of bodies that are lists of seats; the `to` of a vacation is a day, or none."""


def check(entry: Entry, seats: int) -> None:
    """Raises `Untrue` unless the entry is of a known type, and its body, of so many seats, has just what such has."""
    form = BODIES.get(entry.type)
    if form is None:
        raise Untrue(entry.seq, None, f"`{entry.type}` is no type of entry")
    if not form(entry.body):
        raise Untrue(entry.seq, None, f"{entry.type}: its body has not the form of one")
    named = {part: [entry.body.get(part, 0)] for part in ("seat", "for")}
    if entry.type != "vacation":
        named |= {part: entry.body.get(part, []) for part in _OF_SEATS}
    if entry.type != "keys":
        named |= {part: [*map(int, entry.body.get(part, ()))] for part in _BY_SEAT}
    for part, found in named.items():
        if any(seat > seats for seat in found):
            raise Untrue(entry.seq, None, f"{entry.type}: `{part}` names a seat that there is not")
