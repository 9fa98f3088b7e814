"""Tournaments as a lying server signs them, and what both verifiers say of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from in_a_box.referee import SERVER
from in_a_box.signed_club import SignedClub, signed_tournament
from msgspec.structs import replace

from pbem.identity import ssh
from pbem.match.transcript import BEFORE, Entry, sha256_hex
from pbem.proof.normal_form import hash_of_entry_words
from pbem.proof.tournament_proof import TournamentCheck, verify_tournament
from pbem.tournament.tournament_entries import TournamentEntry
from verifier import Wrong, judged_tournament

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def checks(content: bytes, bundles: Iterable[bytes] | None = None) -> list[TournamentCheck]:
    """The verdict, to which the second verifier comes, too, which shares nothing with this program."""
    given = list(bundles or ())
    found = list(verify_tournament(content, None if bundles is None else given))
    assert second_verdict(content, given) == verdict(found)
    assert "cannot be checked" not in found[-1].found, "it stumbled"
    return found


def verdict(found: Iterable[TournamentCheck]) -> str:
    standings = {check.standing for check in found}
    return "convicted" if "FAIL" in standings else "open" if "OPEN" in standings else "holds"


def second_verdict(content: bytes, bundles: Iterable[bytes]) -> str:
    try:
        return "open" if judged_tournament(content, bundles).open else "holds"
    except Wrong:
        return "convicted"


def holds(content: bytes, bundles: Sequence[bytes]) -> list[TournamentCheck]:
    """Everything is found true."""
    found = checks(content, bundles)
    assert {check.standing for check in found} <= {"ok", "WORD"}, found
    return found


def fails(content: bytes, *words: str, bundles: Iterable[bytes] | None = None) -> str:
    """The words about what is found false; all of these are among them."""
    judged_so = checks(content, bundles)
    found = [f"{check.path or ''} {check.what}: {check.found}" for check in judged_so]
    standings = [check.standing for check in judged_so]
    assert standings.count("FAIL") == 1, found
    fault = found[standings.index("FAIL")]
    for word in words:
        assert word in fault, fault
    return fault


def chained(entries: Iterable[TournamentEntry]) -> list[TournamentEntry]:
    """The entries as one chain, which their server signs again."""
    made: list[TournamentEntry] = []
    for entry in entries:
        head = made[-1].head if made else BEFORE
        made.append(TournamentEntry(len(made) + 1, head, entry.time, entry.type, entry.body))
    return made


def index(entries: Sequence[Entry], kind: str) -> int:
    return next(at for at, entry in enumerate(entries) if entry.type == kind)


def forged(club: SignedClub, at: int, **body: Any) -> bytes:
    """The tournament with another body of one entry."""
    entries = list(club.entries)
    entries[at] = replace(entries[at], body={**entries[at].body, **body})
    return signed_tournament(chained(entries), club.papers)


def rewritten(club: SignedClub, name: str, text: str, key: Ed25519PrivateKey | None) -> bytes:
    """The tournament with another letter of somebody's entry, signed by a key or by none."""
    at = next(at for at, one in enumerate(club.entries) if one.body.get("player", {}) == club.player(name).document())
    raw = club.mailed(name, text + (ssh.sign(key, text.encode(), f"pbem@{SERVER}") if key else ""))
    body = {**club.entries[at].body, "mail": sha256_hex(raw), "words": hash_of_entry_words(text)}
    entries = [*club.entries[:at], replace(club.entries[at], body=body)]
    papers = {path: paper for path, paper in club.papers.items() if int(path.split("-")[-1].split(".")[0]) <= at}
    return signed_tournament(chained(entries), papers | {f"letters/entered-{at + 1}.eml": raw})


def with_paper(club: SignedClub, path: str, content: bytes) -> bytes:
    return signed_tournament(club.entries, club.papers | {path: content})
