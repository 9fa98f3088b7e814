"""Openings and receipts: what is written reads back, and nothing else reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pbem.match.documents import (
    Evidence,
    NamedMailbox,
    NotADocument,
    Opening,
    Receipt,
    Trace,
    Withdrawal,
    salt_in,
)
from pbem.match.transcript import written

WORDS = st.from_regex(r"[a-z0-9.:/+-]{1,12}", fullmatch=True)
HASHES = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
SMALL = st.integers(min_value=0, max_value=999_999_999)
SETUPS = st.text(st.sampled_from("DSRv1 \nend\nsetup"), max_size=60)

TIMES = st.datetimes(max_value=datetime(9999, 12, 31)).map(lambda time: written(time.replace(tzinfo=UTC)))  # noqa: DTZ001
REVS = st.integers(min_value=1, max_value=999_999_999)

OPENINGS = st.builds(
    Opening,
    server=WORDS,
    match=WORDS,
    game=SMALL,
    seat=SMALL,
    player=WORDS,
    rules=HASHES,
    mail=HASHES,
    salt=HASHES,
    setup=SETUPS,
    received=TIMES,
    rev=REVS,
)

RECEIVED = "2026-03-01T12:00:00Z"
PLACE: Any = {"server": "play.example", "match": "m17", "game": 2, "seat": 1, "player": "anna"}
OPENING = Opening(
    **PLACE,
    rules="5d" * 32,
    mail="77" * 32,
    received=RECEIVED,
    rev=2,
    salt="ab" * 32,
    setup="DS Rv1-Rv3\nLG Gv1",
)
OF_ORDERS: Any = {
    **PLACE,
    "turn": 5,
    "level": "key",
    "key": "SHA256:x+/",
    "mail": "77" * 32,
    "received": RECEIVED,
    "salt": "ab" * 32,
}
RECEIPT = Receipt(**OF_ORDERS, rev=3)
PAPERS: list[Opening | Receipt] = [OPENING, RECEIPT]
WITHDRAWAL = Withdrawal(**OF_ORDERS, rev=4)
MAILBOX = NamedMailbox(
    server="play.example", match="m17", seat=1, player="anna", address="anna@mail.example", salt="ab" * 32
)
# The same, of letters at level `mailbox`.
VOUCHED: list[Opening | Receipt] = [
    replace(OPENING, evidence="cd" * 32),
    replace(RECEIPT, level="mailbox", evidence="cd" * 32),
]
EVIDENCE = Evidence(
    server="play.example",
    match="m17",
    player="bob",
    mail="77" * 32,
    received="2026-03-01T12:00:00Z",
    token="ab" * 32,
    place="game 2 turn 5",
    by="dkim",
    name="s1._domainkey.a.example",
    record="p=AA",
)


def test_evidence_is_named_beside_the_letter_and_nowhere_else() -> None:
    for paper, without in zip(VOUCHED, PAPERS, strict=True):
        line = f"mail {'77' * 32}\nevidence {'cd' * 32}\n"
        assert line in paper.text()
        assert type(paper).read(paper.text()) == paper
        assert paper.level == "mailbox"
        assert without.level == "key"
        assert paper.text().replace(f"evidence {'cd' * 32}\n", "").replace("mailbox", "key") == without.text()


def test_evidence_reads_back_and_says_what_it_rests_on() -> None:
    assert Evidence.read(EVIDENCE.text()) == EVIDENCE
    assert EVIDENCE.key == "dkim:s1._domainkey.a.example"
    for text in (
        EVIDENCE.text() + "x",
        EVIDENCE.text().replace("by dkim", "by magic"),
        EVIDENCE.text().replace("place game 2 turn 5\n", ""),
        "",
    ):
        with pytest.raises(NotADocument):
            Evidence.read(text)


def test_what_a_setup_or_a_report_says_is_no_salt() -> None:
    salted = replace(OPENING, setup=f"LG Rv1\nsalt {'0' * 64}\nend")
    assert salt_in(salted.text().encode()) == "ab" * 32
    assert salt_in(b'{"reports":[{"salt":"00"}],"salt":"abab"}') == "abab"


@given(OPENINGS)
def test_openings_read_back(opening: Opening) -> None:
    assert Opening.read(opening.text()) == opening


@pytest.mark.parametrize("time", ["", "2026-13-01T12:00:00Z", "2026-03-01T12:00:00", "2026-03-01T13:00:00+01:00"])
def test_a_time_is_written_in_one_way(time: str) -> None:
    """Any other would mean another moment to who reads it elsewhere."""
    for paper in PAPERS:
        with pytest.raises(NotADocument, match="received is no time" if time else "as a paper"):
            type(paper).read(paper.text().replace(f"received {RECEIVED}", f"received {time}"))


@given(st.sampled_from([*PAPERS, *VOUCHED, EVIDENCE, WITHDRAWAL, MAILBOX]), st.data())
def test_what_is_changed_reads_as_another_paper_or_not_at_all(
    paper: Opening | Receipt | Evidence | Withdrawal | NamedMailbox, data: st.DataObject
) -> None:
    text = paper.text()
    at = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["drop", "double", "change"]))
    char = data.draw(st.sampled_from("x0 \n\r\t\u00a0\u0660"))
    middle = {"drop": "", "double": text[at] * 2, "change": char}[kind]
    changed = text[:at] + middle + text[at + 1 :]
    try:
        read = type(paper).read(changed)
    except NotADocument:
        return
    assert read.text() == changed
    assert (read == paper) == (changed == text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pbem opening 1", "pbem opening 2"),
        (f"received {RECEIVED}\n", ""),
        ("rev 2\n", ""),
        ("rev 2", "rev 0"),
        ("game 2\nseat 1", "seat 1\ngame 2"),
        ("game 2", "game 02"),
        ("game 2", "game ²"),
        ("game 2", f"game {'9' * 5000}"),
        ("game 2", "game  2"),
        ("player anna\n", ""),
        ("\nend\n", "\nend"),
        ("\nend\n", "\nend\n\n"),
        ("\nsetup\n", "\n"),
        ("\n", "\r\n"),
    ],
)
def test_an_opening_is_read_strictly(old: str, new: str) -> None:
    assert old in OPENING.text()
    with pytest.raises(NotADocument):
        Opening.read(OPENING.text().replace(old, new))


PATHS = [f"withdrawals/game-2-turn-5-withdrawn-seat-{seat}-rev-4.txt" for seat in (1, 2)]
TRACE = Trace("play.example", "m17", 2, 5, "ab" * 32, dict.fromkeys(PATHS, "77" * 32))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trace 1", "trace 2"),
        ("turn 5", "turn 05"),
        ("77  w", "77 w"),
        ("withdrawals/", "letters/"),
        ("\n", "\r\n"),
        (f"{'77' * 32}  {PATHS[0]}\n{'77' * 32}  {PATHS[1]}", f"{'77' * 32}  {PATHS[1]}\n{'77' * 32}  {PATHS[0]}"),
    ],
)
def test_a_trace_is_read_strictly(old: str, new: str) -> None:
    assert Trace.read(TRACE.text()) == TRACE
    assert old in TRACE.text()
    with pytest.raises(NotADocument, match="trace"):
        Trace.read(TRACE.text().replace(old, new))
