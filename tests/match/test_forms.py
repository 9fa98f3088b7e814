"""The forms of the bodies of entries: what has each of them, and what is as near to it as a forger would try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pbem.match import entry_type
from pbem.match.events import check
from pbem.match.transcript import BEFORE, Entry, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.match.entry_type import Form

HASH, TIME = "0f" * 32, "2026-03-01T12:00:00Z"
LETTER = {"mail": HASH, "received": TIME}
AT_MAILBOX = {**LETTER, "level": "mailbox", "evidence": HASH}
KEY = {"format": "ssh", "fingerprint": "SHA256:x", "public": "ssh-ed25519 AAAA"}

FORMS: dict[str, tuple[Form, Sequence[object], Sequence[object]]] = {
    "text": (entry_type.text, ["", "x" * 200_000], ["x" * 200_001, None, 1, ["x"]]),
    "number": (entry_type.number, [0, 1, 999_999_999], [-1, 10**9, True, 1.0, "1", None]),
    "whole": (entry_type.whole, [0, -1, 999_999_999, -999_999_999], [10**9, -(10**9), False, 1.0, "1", None]),
    "seat": (entry_type.seat_number, [1, 9], [0, 10, True, "1", None]),
    "boolean": (entry_type.boolean, [True, False], [0, 1, "true", None]),
    "null": (entry_type.one_of(None), [None], [0, "", False]),
    "anything": (entry_type.anything, [{}, {"x": [1]}], [None, [], "x"]),
    "hash": (entry_type.hash_, [HASH, "0" * 64], [HASH[1:], HASH + "0", HASH.upper(), f"{HASH}\n", None, 1]),
    "time": (entry_type.time, [TIME], ["2026-03-01T12:00:00", "2026-13-01T12:00:00Z", "x", "", None, 1]),
    "day": (entry_type.day, ["2026-03-01"], ["2026-3-1", "20260301", "2026-02-30", "x", "", None, 1]),
    "one of": (entry_type.one_of("a", "b"), ["a", "b"], ["c", "ab", "", None]),
    "either": (entry_type.either(entry_type.number, entry_type.one_of(None)), [1, None], ["1", -1]),
    "list": (entry_type.list_of(entry_type.number), [[], [1, 2]], [[1, "2"], ["1", 2], (1,), {1: 1}, None]),
    "by seat": (
        entry_type.by_seat(entry_type.number),
        [{}, {"1": 5, "9": 0}],
        [{"1": "5"}, {"1": 5, "2": None}, {"0": 5}, {"10": 5}, {"x": 5}, [5], None],
    ),
    "mapping": (
        entry_type.mapping({"a": entry_type.number}, {"b": entry_type.text}),
        [{"a": 1}, {"a": 1, "b": "x"}],
        [{}, {"b": "x"}, {"a": "1"}, {"a": 1, "b": 2}, {"a": 1, "c": 1}, ["a"], None],
    ),
    "seats": (entry_type.seats, [[], [1], [1, 3]], [[3, 1], [1, 1], [0], [10], ["1"], (1,), "1", None]),
    "letter": (
        entry_type.letter,
        [LETTER, AT_MAILBOX],
        [{}, {"mail": HASH}, {"received": TIME}, {**LETTER, "level": "key"}, {**LETTER, "evidence": "x"}],
    ),
    "key": (entry_type.key, [KEY], [{**KEY, "public": None}, {**KEY, "format": 1}, {**KEY, "more": ""}, {}]),
    "player": (
        entry_type.player,
        [{"name": "anna", "keys": []}, {"name": "anna", "keys": [KEY, KEY], "mailbox": HASH}],
        [{"name": "anna"}, {"keys": []}, {"name": "anna", "keys": [{}]}, {"name": "a", "keys": [], "mailbox": ""}],
    ),
    "sentence": (
        entry_type.sentence_form(to=entry_type.number),
        [{**LETTER, "rev": 1, "to": 2}, {**AT_MAILBOX, "rev": 1, "to": 2}],
        [{**LETTER, "rev": 1}, {**LETTER, "to": 2}, {**LETTER, "rev": -1, "to": 2}, {"rev": 1, "to": 2}],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_has_the_form_and_nothing_else(name: str) -> None:
    form, values, others = FORMS[name]
    assert [value for value in values if not form(value)] == []
    assert [value for value in others if form(value)] == []


SENTENCE = {**LETTER, "rev": 1}
NAMED = [
    ("resigned", {"seat": 3, "match": True, **SENTENCE}, "seat"),
    ("substitute", {"seat": 1, "for": 3, "name": "carl", **SENTENCE}, "for"),
    ("forfeited", {"game": 1, "seats": [1, 3]}, "seats"),
    ("extended", {"seat": 1, "to": [1, 3], "seconds": 60, **SENTENCE}, "to"),
    ("verdict", {"game": 1, "verdicts": {"1": "honest", "3": "honest"}}, "verdicts"),
]


@pytest.mark.parametrize(("kind", "body", "part"), NAMED, ids=[part for _, _, part in NAMED])
def test_an_entry_names_no_seat_that_there_is_not(kind: str, body: dict[str, object], part: str) -> None:
    entry = Entry(1, BEFORE, TIME, kind, body)
    check(entry, 3)
    with pytest.raises(TranscriptError, match=f"{kind}: `{part}` names a seat that there is not"):
        check(entry, 2)
