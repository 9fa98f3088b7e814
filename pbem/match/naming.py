"""The names of seats: their players', or, while a match hides who plays, those of the seats alone.

All that is told or decided for a reader is told and decided by the match as `seen_by` that reader, in which nothing
is left of the other players: no name, key, level, zone or vacation. Implements docs/threats.md, "Anonymous matches".
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.match.pinned_keys import Player

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.match.state import Match

SEAT_NAME = re.compile(r"seat-[0-9]+")
"""The pattern of the names of seats, which no player may have."""

_WORDS = re.compile(r"[\w-]+")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
"""No name has any; people write them."""


def seat_name(seat: int) -> str:
    """The name of a seat, as letters write it, and as players write it in commands."""
    return f"seat-{seat}"


def is_free(name: str) -> bool:
    """True if a name stands for a seat that nobody has taken yet."""
    return name.startswith("?")


def hides_players(match: Match) -> bool:
    """True if only the server and its operator may know yet who has which seat."""
    return match.terms.anonymous and match.phase != "closed"


def called(match: Match, seat: int) -> str:
    """The name of a seat in what its players sign: it stays the same when a match no longer hides them."""
    return seat_name(seat) if match.terms.anonymous else match.name(seat)


def seen_by(match: Match, reader: int, latest: Match | None = None) -> Match:
    """The match as its seat `reader` may know it (0: everybody), if `latest` is how it stands now."""
    if not hides_players(latest or match):
        return match

    def hidden(seat: int, name: str) -> Player:
        return Player(name if is_free(name) else seat_name(seat), ())

    players = match.players or tuple(Player(name, ()) for name in match.names)
    return replace(
        match,
        players=tuple(
            player if seat == reader else hidden(seat, player.name) for seat, player in enumerate(players, start=1)
        ),
        former={},
        unreachable={seat: since for seat, since in match.unreachable.items() if seat == reader},
        clocks={
            seat: clock if seat == reader else replace(clock, zone="UTC", stops=())
            for seat, clock in match.clocks.items()
        },
        setups={  # not who sent one, and at which level
            seat: sent if seat == reader else replace(sent, letter=b"", evidence=b"", aside=())
            for seat, sent in match.setups.items()
        },
    )


def others_called(match: Match, reader: int) -> Mapping[str, int]:
    """The other seats by each word that a reader may write for them: their names, and what they play.

    A word that could be for two is for none: a player may have the name of what another one plays.
    """
    seen = seen_by(match, reader)
    words = {seat: {seen.name(seat), *_sides(match, seat)} for seat in match.seats if seat != reader}
    found = Counter(chain.from_iterable(words.values()))
    return {word: seat for seat, own in words.items() for word in own if found[word] == 1}


def is_for_some(match: Match, reader: int, line: str) -> bool:
    """True if a line begins like `press to NAME`, `to NAME` or `an NAME`, and names some others, but not all."""
    others = others_called(match, reader)
    words = _WORDS.findall(line.lower().translate(_UMLAUTS))
    begins = len(list(takewhile({"press", "to", "an", "die", "only", "nur", match.id}.__contains__, words)))
    named = {others[word] for word in takewhile(others.__contains__, words[begins:])}
    return words[:1] in (["press"], ["to"], ["an"], ["nur"]) and set() < named < {*others.values()}


def playing(seen: Match, seat: int) -> str:
    """The name of a seat, as a reader sees it, with what it plays: `bob (Italy)`."""
    sides = _sides(seen, seat)
    return f"{seen.name(seat)} ({sides[0].capitalize()})" if sides else seen.name(seat)


def _sides(match: Match, seat: int) -> Sequence[str]:
    """The words for what a seat plays, once there is a position."""
    return match.play.side(match, match.position, seat) if match.position is not None else ()
