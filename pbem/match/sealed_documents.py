"""The papers of sealed matches: their owners write, hash and open them, and nobody else can make them.

Text files of `key value` lines with one block, like the other papers of a match, so that `sha256sum -c` is a complete
verifier. The papers of steps are public at once; those of setups and orders stay with their owners until they are
opened, under salts that follow from one seed. Nothing is judged here. Implements docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import msgspec

from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SETUP, ORDERS = "setup", "orders"
"""The papers that stay with their owner where the game does not open them before its end."""

NOTHING = "0" * 64
"""The hash in a paper where there is no other paper to name."""


class PaperPlace(msgspec.Struct, frozen=True):
    """The place of a player's papers: server, match, game, seat and name."""

    server: str
    match: str
    game: int
    seat: int
    player: str


def salt(seed: bytes, place: PaperPlace, turn: int, what: str) -> str:
    """The salt (64 hex digits) of the paper of this name, from this seed; for a setup the turn is 0.

    HMAC-SHA256, so that no salt reveals another, and seed and texts are enough to make every paper again.
    """
    label = (
        f"pbem salt 1\nserver {place.server}\nmatch {place.match}\ngame {place.game}\nseat {place.seat}\n"
        f"turn {turn}\nwhat {what}\n"
    )
    return hmac.new(seed, label.encode(), "sha256").hexdigest()


def paper(name: str, place: PaperPlace, turn: int, values: Mapping[str, str], lines: Sequence[str]) -> str:
    """A paper: its name, such as `strikes`, the hashes and the salt in its head, in their order, and its lines.

    A setup's has no turn.
    """
    head = {
        "server": place.server,
        "match": place.match,
        "game": place.game,
        **({"turn": turn} if name != SETUP else {}),
        "seat": place.seat,
        "player": place.player,
        **values,
    }
    return "\n".join(
        [f"pbem sealed {name} 1", *(f"{key} {value}" for key, value in head.items()), name, *lines, "end\n"]
    )


def setup_paper(seed: bytes, place: PaperPlace, rules: str, text: str) -> str:
    """The paper of a setup, with the hash of the terms: its owner commits to it, and opens it at the end."""
    values = {"rules": rules, "salt": salt(seed, place, 0, SETUP)}
    return paper(SETUP, place, 0, values, text.split("\n") if text else ())


def orders_paper(seed: bytes, place: PaperPlace, turn: int, setup: str, text: str) -> str:
    """The paper of a turn's orders, with the commitment to the setup."""
    values = {"setup": setup, "salt": salt(seed, place, turn, ORDERS)}
    return paper(ORDERS, place, turn, values, text.split("\n") if text else ())


def lines_of(paper: str, name: str) -> str:
    """The lines of a paper of this name."""
    return paper.partition(f"\n{name}\n")[2].removesuffix("end\n").removesuffix("\n")


def path(name: str, place: PaperPlace, turn: int, number: int = 1) -> str:
    """The path of a paper in a bundle; `number` distinguishes papers of one name that a seat wrote in one turn."""
    if name == SETUP:
        return f"openings/game-{place.game}-seat-{place.seat}.txt"
    where = f"game-{place.game}-turn-{turn}-seat-{place.seat}"
    if name == ORDERS:
        return f"openings/{where}.txt"
    return f"steps/{where}-{name}{f'-{number}' if number > 1 else ''}.txt"


def hashed(paper: str) -> str:
    """SHA-256 of a paper, in hex."""
    return sha256_hex(paper.encode())
