"""A sealed game: the papers that its players write, hash and open, and the state of what everybody was told.

The papers of steps are public at once; those of setups and orders stay with their owners until they are opened, under
salts that follow from one seed. Nothing is judged here. Implements docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from pbem.games.sealed import Falsehood, SealedStep
from pbem.grown import Grown
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.games import Result
    from pbem.games.sealed import SealedRules, Table

SETUP, ORDERS = "setup", "orders"
"""The papers that stay with their owner where the game does not open them before its end."""

KEEPS_SECRETS = Phrase("this match is sealed: keep your secrets, and send what is due; `help sealed` says how")

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


HONEST, SILENT = "honest", "not revealed"

Verdict = Mapping[int, str | Falsehood]
"""The verdict on each seat: `honest`, `not revealed`, or the falsehood that it told."""


class Filed(msgspec.Struct, frozen=True):
    """A step as it is in the transcript, and the paper that it brought."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]
    values: Mapping[str, str]
    """The hashes and the salt of the paper's head, by name; none of a commitment."""
    paper: str
    """SHA-256 of the paper; of a commitment, of that to which it commits."""
    path: str
    """The path of the paper in the bundle; empty for a commitment."""
    mail: str
    """SHA-256 of the letter."""
    letter: str
    """The path of the letter in the bundle."""
    prev: str
    """The head that the letter cites."""
    seq: int = 0
    head: str = ""
    """The number of its entry, and the head of the transcript after it."""


class Revealed(msgspec.Struct, frozen=True):
    """A seat's reveal after the game: it opens all the seat's commitments."""

    setup: str
    orders: Mapping[int, str]
    """The orders of each turn."""


class Ending(msgspec.Struct, frozen=True):
    """The end of the game by what everybody was told, and what follows."""

    result: Result
    closes: tuple[tuple[int, ...], str] | None = None
    """The winners of the match and the reason, where it closes with this game whatever was agreed on its length."""
    by: str = ""
    """The cause, as the letters say it."""
    resignation: str = ""
    """The path of the letter by which a seat gave up the game, if one did."""

    @property
    def given_up(self) -> bool:
        """True if the loser resigned or was silent: then the loser has no way left to win."""
        return self.result.reason in {"resignation", "forfeit"}


class SealedGameState(msgspec.Struct, frozen=True):
    """All commitments and everything told in a game so far."""

    commitments: Mapping[int, str] = msgspec.field(default_factory=dict)
    """The hashes of the papers of the setups, by seat; none before the game begins."""
    seals: Mapping[int, str] = msgspec.field(default_factory=dict)
    """The paths of the letters by which the seats committed to these."""
    steps: Grown[Filed] = msgspec.field(default_factory=Grown)
    """In the order of the transcript."""
    printed: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The heads that letters printed since a seat owes something, by seat: a step may cite any of them."""
    ending: Ending | None = None
    reveals: Mapping[int, Revealed] = msgspec.field(default_factory=dict)

    @property
    def letters(self) -> dict[str, int]:
        """The paths of the letters that make the game, in their order, and the turn of the last step of each."""
        return dict(
            [(path, 0) for _, path in sorted(self.seals.items())] + [(one.letter, one.turn) for one in self.steps]
        )

    def of(self, seat: int, turn: int) -> Iterator[Filed]:
        """The steps of a seat in the turn that is due, the latest first."""
        for filed in reversed(self.steps):
            if filed.turn < turn:
                return
            if filed.seat == seat:
                yield filed

    def committed(self, seat: int, turn: int) -> Filed | None:
        """The commitment that the next paper of this seat in this turn must open."""
        latest = next(self.of(seat, turn), None)
        return latest if latest and not latest.path else None

    def steps_for_rules(self) -> list[SealedStep]:
        """The steps as the rules know them."""
        return [SealedStep(filed.turn, filed.seat, filed.step, filed.lines) for filed in self.steps]


class SealedMoment(msgspec.Struct, frozen=True):
    """A sealed game at one moment: what a step is judged by, alike at the server, in a verifier, and by a player."""

    rules: SealedRules
    server: str
    match: str
    number: int
    """The number of the game in the match."""
    players: tuple[str, ...]
    terms: str
    """The hash of the agreed terms."""
    game: SealedGameState
    table: Table
    restored: bool = False
    """True if the server was restored from a backup: papers may have been made after a head that it has forgotten."""

    def place(self, seat: int) -> PaperPlace:
        """The place of a seat's papers."""
        return PaperPlace(self.server, self.match, self.number, seat, self.players[seat - 1])
