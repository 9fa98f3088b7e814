"""What `pbem verify` says of an entry that it found true, of each type; docs/bundle.md lists them."""

from __future__ import annotations

import pytest
from vectors.matches import good

from pbem.match.events import TYPES
from pbem.match.transcript import Entry

DKIM = "mailbox, DKIM with the key record that the server kept"
SENTENCES = {
    ("one-leaves", 1): "agreed by ann, bob, cem: shoot-em-up, rules 13ca0c81c98340c5...",
    ("claim", 2): "game 1: the commitments open; the setups are signed and legal",
    ("claim", 3): "seat 2 missed turn 1 of game 1: pace and grace were over",
    ("claim", 4): "seat 1 claimed from the silent seats [2], signed",
    ("claim", 5): "game 1 ended: winners [1], scores [3, 3], forfeit",
    ("claim", 6): "game 1: the record replays",
    ("claim", 7): "the match is closed: winners [1], scores [3, 3]",
    ("continued", 9): "game 2, turn 1: orders signed (ann: key, bob: key) and legal; the reports follow",
    ("default", 4): "game 1, turn 1: orders signed (ann: key, bob: key, by default) and legal; the reports follow",
    ("draw", 4): "a gift of 259200 seconds from seat 1 to seats [2], signed",
    ("draw", 6): "seat 2, of a draw: decline, signed",
    ("draw", 12): "seat 1, of annulling the match: accept, signed",
    ("forfeit", 12): "seats [1, 2] lost game 2 by their silence",
    ("keys", 3): (
        "seat 1, key added (signed): SHA256:K2jJ+ds2z+9d6HSUvjXQEkMxEw2rFu86ymYGWi9x02I; the old and the new key"
        " signed"
    ),
    ("keys", 4): (
        "seat 1, key revoked (signed): SHA256:qHx7U/c4fXuVHjIDKOanaKfLnvra1eI7bHRwtFbUBRA; a key of the seat signed"
    ),
    ("keys", 7): (
        "seat 1, key replaced (recovery code): SHA256:H/7S92WgBpbANZYJEZQMhavj5JloQuebmyysvZ9Gu9I; the new key"
        " signed; that the old ones gave way is the server's word"
    ),
    ("mailbox", 2): f"game 1: the commitments open; the setups are signed (bob: {DKIM}) and legal",
    ("mailbox", 3): f"game 1, turn 1: orders signed (ann: key, bob: {DKIM}) and legal; the reports follow",
    ("mailbox", 5): f"seat 2 resigned the game, signed ({DKIM})",
    ("resignation", 7): "seat 1 resigned the match, signed",
    ("one-leaves", 4): "seat 2 resigned the game, signed",
    ("sealed", 2): "game 1: all have committed to their setups, signed; they keep them to themselves",
    ("sealed-dueling-masters", 5): "game 1, turn 2: seat 2: departs, signed, as it was due",
    ("sealed-dueling-masters", 4): "game 1, turn 1: the reports follow from what both told",
    ("sealed-dueling-masters", 24): ("game 1: seat 2 revealed, signed; it opens all that the seat had committed to"),
    ("sealed-silent", 20): "game 1: seat 1: not revealed; seat 2: honest",
    ("substitute", 5): "seat 1 wants carl in seat 2, signed",
    ("substitute", 6): (
        "carl takes seat 2, as agreed, signed; from here on counts: SHA256:PNXsE0dvgXCbqG7iuHX1LJKiam6L487/"
        "JVhG8EHGeLU"
    ),
}


@pytest.mark.parametrize(("name", "seq"), SENTENCES)
def test_what_is_said_of_an_entry(name: str, seq: int) -> None:
    found = good(name)
    entry = found.entries[seq - 1]
    assert TYPES[entry.type].sentence(entry, found.papers) == SENTENCES[name, seq]


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        (
            "verdict",
            {"game": 2, "verdicts": {"1": {"false": {"turn": 3, "step": "answers", "ruling": "22"}}, "2": "honest"}},
            "game 2: seat 1: false in turn 3, answers (ruling 22); seat 2: honest",
        ),
        (
            "substituted",
            {"seat": 2, "player": {"name": "carl", "keys": []}},
            "carl takes seat 2, as agreed, signed; from here on counts: the mailbox",
        ),
        (
            "turn",
            {"game": 1, "turn": 4, "orders": {}},
            "game 1, turn 4: no orders but forced and empty ones; the reports follow",
        ),
        ("halted", {"seat": 2, "reason": "delivery"}, "the clock of seat 2 stands: delivery (the server's word)"),
        ("moved", {"seats": [1, 2], "reason": "x"}, "deadlines of seats [1, 2] moved: x (the server's word)"),
        ("vacation", {"seat": 2}, "a vacation of seat 2 (the server's word)"),
        ("paused", {"reason": "x"}, "paused by the operator: x"),
        ("resumed", {"reason": "x"}, "resumed by the operator: x"),
        ("stopped", {"reason": "x"}, "stopped by the operator: x"),
        ("restored", {"generation": 3}, "the server was restored from a backup (generation 3); paused"),
    ],
)
def test_what_is_said_of_an_entry_of_no_bundle_here(kind: str, body: dict[str, object], says: str) -> None:
    assert TYPES[kind].sentence(Entry(1, "", "", kind, body), {}) == says
