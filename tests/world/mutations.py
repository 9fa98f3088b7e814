"""Changes of a bundle by seed: what a forger without the server's key could do, and what the server itself could."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from pbem.match.transcript import BEFORE, sha256_hex, statement
from pbem.proof import bundle
from pbem.proof.bundle import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.match.transcript import Entry

Dice = random.Random
SERVER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
"""The key of tests/in_a_box/referee.py."""
OTHERS: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    2,
    3,
    999,
    "",
    "x",
    "none",
    "accept",
    [],
    {},
    [1],
    [2],
    {"1": 1},
    "2026-03-01T12:00:00Z",
)
STEP_WORDS = {b"miss": b"hit", b"hit": b"miss", b"none": b"ship", b"ship": b"none"}


def mutated(found: Bundle, dice: Dice, key: Ed25519PrivateKey = SERVER_KEY) -> bytes:
    """The bundle with one change, signed again with the server's key where that is of use."""
    ways: tuple[Callable[[Bundle, Dice], Bundle], ...] = (
        *(body_changed, body_changed, body_changed, paper_changed, paper_rewritten, paper_rewritten, line_rewritten),
        *(paper_dropped, papers_swapped, letter_exchanged, letter_exchanged, entry_dropped, entry_again),
        *(entries_swapped, cut, time_changed, hash_exchanged, step_rewritten, commitment_exchanged),
    )
    while True:
        way = dice.choice((*ways, None))
        if way is None:
            return octet_changed(bundle.write(found), dice)
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # what no bundle can be made of
            return bundle.write(signed_again(way(found, dice), key=key))


def signed_again(found: Bundle, at: int = 0, *, key: Ed25519PrivateKey = SERVER_KEY) -> Bundle:
    """The chain made whole from this entry on and signed, as a server would do that rewrites the past."""
    entries: list[Entry] = list(found.entries[:at])
    for entry in found.entries[at:]:
        before = entries[-1].head if entries else BEFORE
        entries.append(replace(entry, seq=len(entries) + 1, prev=before))
    body = entries[0].body
    server, number = str(body.get("server")), str(body.get("match"))
    try:
        signatures = [key.sign(statement(server, number, entry.seq, entry.head)) for entry in entries]
    except UnicodeError:  # a name that has no bytes cannot be signed
        signatures = [bytes(64) for _ in entries]
    return Bundle(tuple(entries), tuple(signatures), found.papers)


def octet_changed(content: bytes, dice: Dice) -> bytes:
    made = bytearray(content)
    made[dice.randrange(len(made))] ^= 1 << dice.randrange(8)
    return bytes(made)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each list or object in a body with each of its keys."""
    found: list[tuple[Any, Any]] = []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += [(value, key), *places(value[key])]
    return found


def body_changed(found: Bundle, dice: Dice) -> Bundle:
    at = dice.randrange(len(found.entries))
    body = json.loads(json.dumps(found.entries[at].body))
    owner, key = dice.choice(places(body))
    value, what = owner[key], dice.randrange(5)
    if what == 0:
        del owner[key]
    elif what == 1 and isinstance(owner, list):
        owner.insert(key, value)
    elif what == 1:
        owner["more"] = dice.choice(OTHERS)
    elif isinstance(value, int) and not isinstance(value, bool):
        owner[key] = value + dice.choice((-1, 1, 1000))
    elif isinstance(value, str) and value and what == 2:
        place = dice.randrange(len(value))
        owner[key] = value[:place] + dice.choice("0a19 Z") + value[place + 1 :]
    else:
        owner[key] = dice.choice(OTHERS)
    return with_body(found, at, body)


def with_body(found: Bundle, at: int, body: dict[str, Any], **more: Any) -> Bundle:
    entries = list(found.entries)
    entries[at] = replace(entries[at], body=body, **more)
    return signed_again(replace(found, entries=tuple(entries)))


def rewritten(found: Bundle, path: str, paper: bytes) -> Bundle:
    """The bundle with another paper, and its hash wherever the old one was named."""
    papers, entries = {**found.papers, path: paper}, list(found.entries)
    changed = {sha256_hex(found.papers[path]): sha256_hex(paper)}
    while changed:
        old, new = changed.popitem()
        for name, other in papers.items():
            if not name.endswith(".eml") and old.encode() in other:
                papers[name] = other.replace(old.encode(), new.encode())
                changed[sha256_hex(other)] = sha256_hex(papers[name])
        entries = [renamed(entry, old, new) for entry in entries]
    return signed_again(replace(found, entries=tuple(entries), papers=papers))


def renamed(entry: Entry, old: str, new: str) -> Entry:
    return replace(entry, body=json.loads(json.dumps(entry.body).replace(old, new)))


def one_paper(found: Bundle, dice: Dice) -> str:
    return dice.choice(sorted(found.papers))


def paper_changed(found: Bundle, dice: Dice) -> Bundle:
    path = one_paper(found, dice)
    return replace(found, papers={**found.papers, path: octet_changed(found.papers[path], dice)})


def paper_rewritten(found: Bundle, dice: Dice) -> Bundle:
    path = one_paper(found, dice)
    return rewritten(found, path, octet_changed(found.papers[path], dice))


def line_rewritten(found: Bundle, dice: Dice) -> Bundle:
    """One line of a paper away, twice, or with another number."""
    path = one_paper(found, dice)
    lines = found.papers[path].split(b"\n")
    at = dice.randrange(len(lines))
    other = re.sub(rb"[0-9]+", lambda one: str(int(one[0]) + 1).encode() if len(one[0]) < 9 else one[0], lines[at])
    lines[at : at + 1] = dice.choice(([], [lines[at], lines[at]], [other]))
    return rewritten(found, path, b"\n".join(lines))


def step_rewritten(found: Bundle, dice: Dice) -> Bundle:
    """Another word in a step of a sealed game, such as a hit in place of a miss, and all hashes that follow."""
    steps = [path for path in sorted(found.papers) if path.startswith("steps/")]
    if not steps:
        return line_rewritten(found, dice)
    path = dice.choice(steps)
    words = re.split(rb"(\s)", found.papers[path])
    at = dice.choice([at for at, word in enumerate(words) if word.strip()])
    words[at] = STEP_WORDS.get(words[at]) or dice.choice([word for word in words if word.strip()])
    return rewritten(found, path, b"".join(words))


def commitment_exchanged(found: Bundle, dice: Dice) -> Bundle:
    """Another hash that a seat of a sealed game committed to, of its setup or of a step."""
    hashes = [
        named
        for entry in found.entries
        if entry.type in {"sealed", "step"}
        for named in re.findall(r"[0-9a-f]{64}", json.dumps(entry.body))
    ]
    if not hashes:
        return hash_exchanged(found, dice)
    old, new = dice.choice(hashes), dice.choice((dice.choice(hashes), dice.randbytes(32).hex()))
    return replace(found, entries=tuple(renamed(entry, old, new) for entry in found.entries))


def paper_dropped(found: Bundle, dice: Dice) -> Bundle:
    path = one_paper(found, dice)
    return replace(found, papers={name: paper for name, paper in found.papers.items() if name != path})


def papers_swapped(found: Bundle, dice: Dice) -> Bundle:
    one, other = dice.choices(sorted(found.papers), k=2)
    return replace(found, papers={**found.papers, one: found.papers[other], other: found.papers[one]})


def letter_exchanged(found: Bundle, dice: Dice) -> Bundle:
    """Another letter of the match in the place of one, with papers and entries that fit."""
    letters = [path for path in sorted(found.papers) if path.startswith("letters/")]
    if len(letters) < 2:
        return body_changed(found, dice)
    one, other = dice.sample(letters, k=2)
    return rewritten(found, one, found.papers[other])


def entry_dropped(found: Bundle, dice: Dice) -> Bundle:
    at = dice.randrange(1, len(found.entries))
    return replace(found, entries=(*found.entries[:at], *found.entries[at + 1 :]))


def entry_again(found: Bundle, dice: Dice) -> Bundle:
    at, to = dice.randrange(len(found.entries)), dice.randrange(1, len(found.entries) + 1)
    return replace(found, entries=(*found.entries[:to], found.entries[at], *found.entries[to:]))


def entries_swapped(found: Bundle, dice: Dice) -> Bundle:
    entries = list(found.entries)
    at = dice.randrange(len(entries) - 1)
    entries[at : at + 2] = entries[at + 1], entries[at]
    return replace(found, entries=tuple(entries))


def cut(found: Bundle, dice: Dice) -> Bundle:
    """A match that goes on after some entry, without the papers that were filed later (as well as can be told)."""
    entries = found.entries[: dice.randrange(1, len(found.entries))]
    said = "".join(json.dumps(entry.body) for entry in entries)
    kept = {path: paper for path, paper in found.papers.items() if sha256_hex(paper) in said}
    named = said + "".join(paper.decode("utf-8", "replace") for path, paper in kept.items() if path.endswith(".txt"))
    papers = {path: paper for path, paper in found.papers.items() if sha256_hex(paper) in named}
    return replace(found, entries=entries, papers=papers if dice.randrange(2) else kept)


def time_changed(found: Bundle, dice: Dice) -> Bundle:
    """The time of an entry, and of those that came with it, or of this one alone."""
    at = dice.randrange(len(found.entries))
    entries, old = list(found.entries), found.entries[at].time
    new = dice.choice([entry.time for entry in entries] + [f"{old[:-3]}07Z", f"{old[:11]}23{old[13:]}"])
    alone = dice.randrange(2)
    made = [replace(entry, time=new) if entry.time == old and not alone else entry for entry in entries]
    made[at] = replace(entries[at], time=new)
    return replace(found, entries=tuple(made))


def hash_exchanged(found: Bundle, dice: Dice) -> Bundle:
    """Another paper's hash in the place of one, in an entry."""
    hashes = sorted({sha256_hex(paper) for paper in found.papers.values()})
    at = dice.randrange(len(found.entries))
    named = [one for one in hashes if one in json.dumps(found.entries[at].body)]
    if not named:
        return body_changed(found, dice)
    return replace(
        found,
        entries=tuple(
            renamed(entry, dice.choice(named), dice.choice(hashes)) if place == at else entry
            for place, entry in enumerate(found.entries)
        ),
    )
