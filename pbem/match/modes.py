"""The modes of matches, and how a match in one of them begins.

A mode is a class of `Play`; `CONTRIBUTING.md` says what one more takes. `desk/wiring.py` gives each its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.pinned_keys import Player
from pbem.match.refereed import RefereedMode
from pbem.match.sealed_mode import SealedMode
from pbem.match.state import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.match.play import Play
    from pbem.match.terms import Terms


MODES: Sequence[type[Play]] = (RefereedMode, SealedMode)


def proposed(
    match: str, server: str, terms: Terms, *, phase: str = "proposed", replies: str = "", players: Sequence[str] = ()
) -> Match:
    """A match that was proposed, and has not begun; `players` are those who have a seat now, if that is known."""
    mode = SealedMode(terms.game) if terms.sealed else RefereedMode()
    seated = tuple(Player(name, ()) for name in players)
    return Match(match, server, terms, terms.hash(server, match), mode, phase, replies=replies, players=seated)
