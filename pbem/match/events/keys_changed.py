"""The keys of a seat changed.

Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.entry_type import EntryType, hash_, key, list_of, mapping, one_of, seat_number, text
from pbem.match.pinned_keys import KeyChange
from pbem.match.state import PHASES, RUNNING, seated
from pbem.match.step import Document
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.match.remaking import Remaking
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


def change(step: Step, seat: int, changed: KeyChange) -> None:
    """The keys of a seat changed; waiting submissions stay as they are, and so does the head that they cite."""
    match = step.match
    if match.phase not in RUNNING:
        raise Refused(Fault("keys", match.id, Phrase("this match is {phase}", phase=PHASES[match.phase])))
    player = changed.after(match.players[seat - 1], match.prev)
    step.papers += [
        Document(changed.path(match.seq + 1, seat, who), letter) for who, letter in sorted(changed.letters.items())
    ]
    step.append_entry("keys", changed.body(seat))
    step.match = seated(step.match, seat, player)
    step.notify("keys", seat, by=match.name(seat), change=changed)


def remake(remaking: Remaking) -> Step:
    """The change of keys again, from the letters that prove it."""
    seat = remaking.seat()
    letters = {}
    for who, expected in remaking.entry.body["letters"].items():
        path = KeyChange.path(remaking.entry.seq, seat, who)
        letters[who] = remaking.hashed(path, expected, "is not the letter that the transcript names")
    changed = KeyChange.read(remaking.entry.body, letters)
    remaking.source.keys(remaking.match, seat, changed)
    step = remaking.at_work()
    change(step, seat, changed)
    return step


def _named(entry: Entry) -> Iterator[tuple[str, str]]:
    for who, value in entry.body["letters"].items():
        yield KeyChange.path(entry.seq, entry.body["seat"], who), value


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    """The change of a seat's keys in words, with the letters that prove it."""
    body = entry.body
    fingerprints = ", ".join(key["fingerprint"] for key in body["added"]) or ", ".join(body["revoked"])
    proof = {"added": "the old and the new key signed", "revoked": "a key of the seat signed"}
    word = proof.get(body["change"], "the new key signed; that the old ones gave way is the server's word")
    return f"seat {body['seat']}, key {body['change']} ({body['how']}): {fingerprints}; {word}"


ENTRY = EntryType(
    "keys",
    mapping(
        {
            "seat": seat_number,
            "change": one_of("added", "revoked", "replaced"),
            "how": text,
            "added": list_of(key),
            "revoked": list_of(text),
            "letters": mapping({}, {"old": hash_, "new": hash_}),
        }
    ),
    remake=remake,
    says=_says,
    papers=_named,
    between=True,
    of_player=True,
)
