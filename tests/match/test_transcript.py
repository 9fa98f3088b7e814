"""The chain of entries: one way to write each, strict reading, and no link that can be changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pbem.match.transcript import (
    BEFORE,
    BrokenChain,
    Entry,
    TranscriptError,
    canonical,
    follow,
)
from pbem.match.transcript_replay import _compare

ASCII = st.text(st.characters(max_codepoint=127), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ASCII, inner, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(ASCII, VALUES, max_size=4)


def chain(length: int = 4) -> list[Entry]:
    entries: list[Entry] = []
    for number in range(1, length + 1):
        before = entries[-1].head if entries else BEFORE
        entries.append(Entry(number, before, "2026-03-01T12:00:00Z", "turn", {"turn": number}))
    return entries


@given(VALUES)
def test_canonical_bytes_are_json_and_stay_the_same(value: Any) -> None:
    written = canonical(value)
    assert json.loads(written) == value
    assert canonical(json.loads(written)) == written
    assert written.isascii()
    assert b"\n" not in written


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), b"x", {1: 2}, {None: 1}, {"é": 1}, {"a": {"b": [1.5]}}, {1, 2}, object(), [1, [2, (3, 0.1)]]],
    ids=lambda value: type(value).__name__,
)
def test_other_kinds_are_refused(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        canonical(value)
    assert str(caught.value) not in {"", "None"}


@given(BODIES)
def test_an_entry_reads_as_it_was_written(body: dict[str, Any]) -> None:
    entry = Entry(3, "ab" * 32, "2026-03-01T12:00:00Z", "turn", body)
    assert Entry.read(entry.canonical()) == entry


GOOD = Entry(1, BEFORE, "2026-03-01T12:00:00Z", "agreed", {"x": 1, "y": "é"}).canonical()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"seq":1', b'"seq": 1'),
        (b'"seq":1', b'"seq":true'),
        (b'"seq":1', b'"seq":01'),
        (b'"seq":1', b'"seq":1,"seq":1'),
        (b'"seq":1', b'"seq":1,"more":1'),
        (b'"seq":1,', b""),
        (b'{"x":1,"y":"\\u00e9"}', b"[]"),
        (b'"x":1', b'"x":1.5'),
        (b'"x":1', b'"\\u00e9":1'),
        (b'"x":1', b'"x":' + b"1" * 5000),
        (b"\\u00e9", "é".encode()),
        (b"\\u00e9", b"\\u00E9"),
        (b"\\u00e9", b"\xff"),
        (b'"type":"agreed"', b'"type":["agreed"]'),
        (b'"time":"2026-03-01T12:00:00Z"', b'"time":1'),
        (b'"prev":"', b'"prev":null,"p":"'),
        (b'{"body"', b' {"body"'),
        (b'{"body"', b'[{"body"'),
    ],
)
def test_anything_else_is_refused(old: bytes, new: bytes) -> None:
    assert Entry.read(GOOD)
    assert old in GOOD
    with pytest.raises(ValueError):  # noqa: PT011 - any, with the words of json or of ours
        Entry.read(GOOD.replace(old, new))


@pytest.mark.parametrize("at", range(4))
def test_every_broken_link_is_found(at: int) -> None:
    entries = chain()

    def broken(changed: list[Entry]) -> int:
        with pytest.raises(BrokenChain) as caught:
            follow(changed)
        return caught.value.seq

    if at < 3:
        assert broken([*entries[:at], replace(entries[at], body={"turn": 99}), *entries[at + 1 :]]) == at + 2
        assert broken([*entries[:at], *entries[at + 1 :]]) == at + 1
    assert broken([*entries[:at], replace(entries[at], prev="f" * 64), *entries[at + 1 :]]) == at + 1
    assert broken([*entries[:at], replace(entries[at], seq=at + 2), *entries[at + 1 :]]) == at + 1
    assert broken([*entries[:at], entries[at], *entries[at:]]) == at + 2
    if at:
        swapped = [*entries[: at - 1], entries[at], entries[at - 1], *entries[at + 1 :]]
        assert broken(swapped) == at


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"body": {"turn": 2}}, "turn: `turn` is not what follows from the letters and the rules"),
        ({"body": {"turn": 2, "seat": 1}}, "turn: `seat`, `turn` is not what follows"),
        ({"time": "2026-03-01T12:00:01Z"}, "turn: its number, time or place in the chain is not what follows"),
        ({"prev": "1" * 64}, "turn: its number, time or place in the chain is not what follows"),
        ({"type": "ended"}, "`turn` should stand here, not `ended`"),
    ],
)
def test_it_is_said_in_what_an_entry_differs_from_what_follows(changed: dict[str, Any], says: str) -> None:
    (made,) = chain(1)
    _compare(made, replace(made))
    with pytest.raises(TranscriptError) as caught:
        _compare(made, replace(made, **changed))
    assert says in str(caught.value)
