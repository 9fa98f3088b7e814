"""The check of a bundle whose game nobody can judge here: everything but what only its rules can say.

Chain and heads are checked before. Here, each paper must be one that an entry or another paper names by its hash,
what a revealed game needs must be there, and each letter must be signed by a key of its player. Whether setups and
orders were legal, and whether reports and results follow from them, stays open. Implements docs/bundle.md, 13.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pbem.mail import commands
from pbem.match.modes import MODES
from pbem.match.remaking import evidence_path
from pbem.match.terms import named_in_terms
from pbem.match.transcript import TranscriptError, canonical, sha256_hex
from pbem.proof.agreement import agrees
from pbem.proof.named_papers import keys_in, letter_of, named, named_letter, revealed
from pbem.proof.signed_letters import signed_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.match.play import Play
    from pbem.match.state import Match
    from pbem.proof.bundle import Bundle

_HASH = re.compile(rb"[0-9a-f]{64}")
_SEAT = re.compile(r"-seat-([0-9]{1,2})\b")


def check(found: Bundle, match: Match) -> str:
    """Check the papers and letters of a bundle, and say what was checked; raises `TranscriptError`."""
    first = found.entries[0]
    if first.body["rules"] != match.rules_hash:
        raise TranscriptError(first.seq, None, "agreed: `rules` is not the hash of the terms")
    if not match.terms.as_announced:
        raise TranscriptError(first.seq, None, "agreed: these are not the terms of a tournament's matches")
    _check_kinds(found, match.play)
    _check_needed(found, match.play)
    _check_named(found)
    signed = _check_signed(found, match)
    vouched = sum(path.startswith("letters/") for path in found.papers) - signed
    mailbox = f", {vouched} came from mailboxes" if vouched else ""
    return f"each of {len(found.papers)} papers is named, {signed} letters are signed by their players{mailbox}"


def _check_kinds(found: Bundle, play: Play) -> None:
    """Check that all agreed, each by a letter, and that no entry is of another kind of match."""
    agreed = found.entries[0].body
    seats = [str(seat) for seat in range(1, len(agreed["terms"]["players"]) + 1)]
    names = [player["name"] for player in agreed["players"].values()]
    expected = [*named_in_terms(names, anonymous="anonymous" in agreed["terms"])]
    if not (
        sorted(agreed["players"]) == sorted(agreed["letters"]) == seats and expected == agreed["terms"]["players"]
    ):
        raise TranscriptError(1, None, "agreed: other seats or players than in the terms")
    others = frozenset[str]().union(*(mode.entries for mode in MODES)) - play.entries
    for entry in found.entries[1:]:
        is_other = entry.type in others
        if entry.type in {"turn", "ended"}:
            is_other = ("trace" in entry.body) != play.hides
        if not play.hides and not entry.body.keys().isdisjoint({"replies", "chance"}):
            is_other = True
        if entry.type == "agreed" or is_other:
            raise TranscriptError(entry.seq, None, f"`{entry.type}` does not follow here")


def _check_needed(found: Bundle, play: Play) -> None:
    """Check that what an entry names by its path is what it names, and that it is there, but for a running game.

    Where nothing is hidden, turns name only reports: each seat's papers have entries of their own.
    """
    until = revealed(found, play)
    for at, entry in enumerate(found.entries):
        papers = named(entry) if play.hides or entry.type != "turn" else []
        for path, digest in (*papers, *named_letter(entry)):
            is_here = _is_here(found, entry.seq, path, digest, needed=at < until)
            if is_here and path.startswith(("openings/", "receipts/")):
                try:
                    letters = list(letter_of(found, path))
                except ValueError as error:
                    raise TranscriptError(entry.seq, path, f"cannot be read: {error}") from error
                for letter, sha256 in letters:
                    _is_here(found, entry.seq, letter, sha256, needed=at < until)


def _is_here(found: Bundle, seq: int, path: str, digest: str, *, needed: bool) -> bool:
    """True if a paper is here, as it is named; raises `TranscriptError` if it is another, or missing and needed."""
    content = found.papers.get(path)
    if content is None and needed:
        raise TranscriptError(seq, path, "is missing")
    if content is not None and sha256_hex(content) != digest:
        raise TranscriptError(seq, path, "is not what the transcript names")
    return content is not None


def _check_named(found: Bundle) -> None:
    """Check that each paper is named by an entry, or by a paper that is."""
    left: dict[str, list[str]] = defaultdict(list)
    for path, content in found.papers.items():
        left[sha256_hex(content)].append(path)
    following = [canonical(dict(entry.body)) for entry in found.entries]
    while following:
        for digest in _HASH.findall(following.pop()):
            papers = left.pop(digest.decode(), [])
            following += [found.papers[path] for path in papers if not path.startswith("letters/")]
    if left:
        raise TranscriptError(len(found.entries), min(min(paths) for paths in left.values()), "is named by no entry")


def _check_signed(found: Bundle, match: Match) -> int:
    """Check that each letter without evidence is signed by a key of its seat; returns their number."""
    keys: Mapping[int, list[Mapping[str, str]]] = defaultdict(list)
    for seat, key in keys_in(found.entries):
        keys[seat].append(key)
    signed = 0
    for path, letter in found.papers.items():
        place = _SEAT.search(path)
        if not path.startswith("letters/") or place is None or evidence_path(path) in found.papers:
            continue
        seat = int(place[1])
        try:
            _, text = signed_text(letter, keys[seat], match.name(seat), match.server)
            if path.startswith("letters/agreed-"):
                said = (command.form for command in commands.parse(text).commands if not command.faults)
                if not any(agrees(form, match, seat, b"", by_rules=False) for form in said):
                    raise ValueError("does not accept the terms of this match")
        except ValueError as error:
            raise TranscriptError(len(found.entries), path, str(error)) from error
        signed += 1
    return signed
