"""A second verifier of bundles, which shares nothing with pbem: a module for each section of docs/bundle.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.conventions import OtherVersion, Unknown, Wrong
from verifier.entries import verified
from verifier.tournament import verified_tournament
from verifier.tournament_matches import check_matches
from verifier.transcript import TOURNAMENT_LISTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verifier.state import Match
    from verifier.tournament_state import Tournament

__all__ = ["OtherVersion", "Unknown", "Wrong", "judged", "judged_tournament", "verified"]


def judged(content: bytes, bundles: Iterable[bytes] = ()) -> Match:
    """The match, or the tournament, as it stands at the end of a file that holds; it says what is left open."""
    if not content.startswith(TOURNAMENT_LISTS[0].encode(), 30):
        return verified(content)
    return judged_tournament(content, bundles)


def judged_tournament(content: bytes, bundles: Iterable[bytes]) -> Tournament:
    """A tournament that holds, with those of its matches whose bundles are here."""
    state = verified_tournament(content)
    check_matches(state, bundles)
    return state
