"""The state of a match: immutable, the fold of its transcript and of the submissions that wait.

Here live the parts of a match and what follows from them alone. A `Step` advances it; `events` has what may happen to
it. Implements protocol.md, "A match".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, cast, overload

import msgspec

from pbem.games import Options, Rules, State, Told, rules
from pbem.games.sealed import SealedRules, sealed_rules
from pbem.grown import Grown
from pbem.match import stored_orders
from pbem.match.changed import replace
from pbem.match.transcript import BEFORE
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from pbem.games.sealed import Table
    from pbem.json_object import JsonObject
    from pbem.match.pinned_keys import Player
    from pbem.match.sealed_game import ToldGame
    from pbem.match.seat_clock import Clock
    from pbem.match.terms import Terms
    from pbem.match.traces import SetAside
    from pbem.match.turns import Played, Reports

__all__ = [
    "AGREEING",
    "BUNDLE",
    "BUNDLES",
    "PAUSE",
    "PHASES",
    "RESTORED",
    "RUNNING",
    "SEALED_BUNDLE",
    "UNREACHABLE",
    "Ended",
    "Match",
    "Nomination",
    "Submission",
    "not_played",
    "only_one_without",
    "seated",
    "standing",
]

BUNDLE = 2
"""The version of the bundles of refereed matches that begin now."""

SEALED_BUNDLE = 3
"""The same of sealed matches: since version 3, a player who gave up a game cannot win it, whatever is revealed.

Refereed matches have no verdict, so nothing changed for them, and older programs go on reading them."""

BUNDLES = (BUNDLE, SEALED_BUNDLE)
"""The versions that entry 1 may name."""

AGREEING = ("open", "proposed")
"""The phases in which it is not sure yet that the match will be played."""

RUNNING = ("setup", "playing")
"""The phases in which something is asked of the players."""

_NOT_PLAYED = {
    "open": Phrase("the match has not begun: not everybody has accepted"),
    "proposed": Phrase("the match has not begun: not everybody has accepted"),
    "declined": Phrase("the match was declined"),
    "withdrawn": Phrase("the proposal of the match was withdrawn"),
    "closed": Phrase("the match is over"),
}
"""Why nothing is asked in a match that is not running."""

_SETUPS = Phrase("no turn is being played: setups are due")

PHASES: Mapping[str, Phrase] = {
    "proposed": Phrase("proposed"),
    "open": Phrase("open"),
    "setup": Phrase("setup"),
    "playing": Phrase("playing"),
    "closed": Phrase("closed"),
    "declined": Phrase("declined"),
    "withdrawn": Phrase("withdrawn"),
}
"""How a sentence calls each phase."""

PAUSE = "pause"
RESTORED = "restored from a backup"
"""Why all clocks of a match stand while it is paused."""

UNREACHABLE = "unreachable"
"""Why a seat's clock stands while letters do not reach its player."""


class MatchPlace(TypedDict, total=False):
    """The place that a sentence names, apart from the head."""

    game: int
    turn: int | None


@dataclass(frozen=True, slots=True)
class Submission:
    """One seat's submission (perhaps withdrawn): canonical text, revision, and its opening or receipt."""

    rev: int
    text: str
    paper: str
    letter: bytes = field(repr=False)
    final: bool = False
    standing: bool = True
    evidence: bytes = field(default=b"", repr=False)
    aside: tuple[SetAside, ...] = ()
    """What was sent for the same before and was set aside; what a higher revision replaced is not among it."""

    @property
    def level(self) -> str:
        """The level of its letter: `key` or `mailbox`."""
        return "mailbox" if self.evidence else "key"

    @property
    def octets(self) -> int:
        """How long its letters are together, with those that were set aside."""
        return len(self.letter) + sum(len(aside.letter) for aside in self.aside)

    @property
    def received(self) -> list[str]:
        """When its letter came, and those of what was set aside before, by their papers."""
        papers = (self.paper, *(aside.paper for aside in self.aside))
        return [paper.partition("\nreceived ")[2].partition("\n")[0] for paper in papers]


class Ended(msgspec.Struct, frozen=True):
    """How one game of the match ended."""

    winner: int
    scores: tuple[int, ...]
    reason: str
    turns: int


class Nomination(msgspec.Struct, frozen=True):
    """Who is to take a seat, by name, and the seats that agree."""

    name: str
    willing: frozenset[int]


class Match(msgspec.Struct, frozen=True):
    """The state of a match. Immutable; `prev` is the head that the last letters printed and orders must cite."""

    id: str
    server: str
    terms: Terms
    phase: str = "proposed"
    seq: int = 0
    head: str = BEFORE
    prev: str = BEFORE
    players: tuple[Player, ...] = ()
    game: int = 0
    options: Options | None = None
    setups: Mapping[int, Submission] = msgspec.field(default_factory=dict)
    orders: Mapping[int, Submission] = msgspec.field(default_factory=dict)
    stored: Mapping[tuple[int, int], Submission] = msgspec.field(default_factory=dict)
    """By seat and turn: orders for later turns, and default orders at `DEFAULT`; not judged yet."""
    position: State | None = None
    """Of a sealed game the table: what everybody was told."""
    sealed_game: ToldGame | None = None
    """Since all seats committed to their setups, in a sealed match."""
    turns: Grown[Played] = msgspec.field(default_factory=Grown)
    """Those of this game."""
    left: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The seats that resigned this game while the others played on, each with the turn that was due."""
    games: Grown[Ended] = msgspec.field(default_factory=Grown)
    previous: str | None = None
    resolve_at: datetime | None = None
    clocks: Mapping[int, Clock] = msgspec.field(default_factory=dict)
    """Of the seats that are asked, whether their answer is in or not: one seat cannot learn that from another's."""
    banks: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Seconds left in the banks of the seats that have drawn on theirs."""
    missed: frozenset[int] = frozenset()
    """The seats whose time and grace are over for what they are asked."""
    too_late: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """From when on letters came too late for what is asked, by the seats that missed it, whoever has them since."""
    stood_in: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """From when on default orders came too late for the turns of this game that each seat missed."""
    silent: Mapping[int, int] = msgspec.field(default_factory=dict)
    """How often in a row a seat missed what it was asked for."""
    offers: Mapping[str, frozenset[int]] = msgspec.field(default_factory=dict)
    """Who wants what must be agreed on, such as a draw: offers that stand."""
    unreachable: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """The seats whose players no letter reaches, and since when the transcript says so."""
    nominated: Mapping[int, Nomination] = msgspec.field(default_factory=dict)
    """Who is to take a seat, by seat."""
    paused: str = ""
    """Why the match stands still, if it does: the operator's reason, or a restored backup."""
    outcome: JsonObject | None = None
    bundle: int = BUNDLE
    """The version of its bundles, see `BUNDLES`."""
    time: str = ""
    """That of the last entry: times never run backwards."""
    said: Mapping[tuple[int, str], int] = msgspec.field(default_factory=dict)
    """The last revision of each sentence that a seat has said since the last letters: none is obeyed twice."""

    @property
    def place(self) -> MatchPlace:
        """The present place for a sentence, apart from the head: the turn, or the game to begin."""
        return {"turn": self.turn} if self.phase == "playing" else {"game": self.game}

    @property
    def rules(self) -> Rules:
        """The rules of the match's game."""
        return rules(self.terms.game)

    @property
    def sealed_rules(self) -> SealedRules | None:
        """The rules for sealed play; None in a refereed match."""
        return sealed_rules(self.terms.game) if self.terms.sealed else None

    @property
    def table(self) -> Table:
        """The position of a sealed game that has begun."""
        assert self.sealed_game is not None
        return cast("Table", self.position)

    @property
    def revealing(self) -> bool:
        """Whether the game is over by what was told, and the match waits for reveals."""
        return self.phase == "playing" and self.sealed_game is not None and self.sealed_game.ending is not None

    def owes(self, seat: int) -> tuple[str, ...]:
        """What is due from this seat in a sealed match: `seal`, the steps in order, or `reveal`; none otherwise."""
        if self.sealed_rules is None or not self.asked(seat):
            return ()
        if self.phase == "setup":
            return ("seal",)
        return ("reveal",) if self.revealing else self.sealed_rules.owed(self.table, seat)

    @property
    def seats(self) -> range:
        """The seats, from 1."""
        return range(1, len(self.terms.players) + 1)

    @property
    def rules_hash(self) -> str:
        """The hash of the agreed terms."""
        return self.terms.hash(self.server, self.id)

    @property
    def totals(self) -> tuple[int, ...]:
        """Each seat's scores of the finished games, added up."""
        return tuple(sum(ended.scores[seat - 1] for ended in self.games) for seat in self.seats)

    @property
    def turn(self) -> int:
        """The turn that is due; 0 while setups are."""
        return self.position.turn if self.position and self.phase == "playing" else 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those who have the seats now, in seat order."""
        return tuple(player.name for player in self.players) or self.terms.players

    def name(self, seat: int) -> str:
        """The player's name."""
        return self.players[seat - 1].name if self.players else self.terms.players[seat - 1]

    def seat_of(self, player: str) -> int | None:
        """The player's seat, if any."""
        return self.names.index(player) + 1 if player in self.names else None

    def asked(self, seat: int) -> bool:
        """Whether the match still waits for something from this seat."""
        if self.phase == "setup":
            return not standing(self.setups, seat)
        if self.revealing:
            assert self.sealed_game is not None
            return seat not in self.sealed_game.reveals
        if self.phase == "playing" and self.position:
            return self.position.due.get(seat, 0) is None and not standing(self.orders, seat)
        return False

    def silent_by_now(self, seat: int) -> bool:
        """Whether the match no longer waits for this seat: it missed its time, and the terms say what follows."""
        if self.terms.miss == "default":
            return seat in self.missed and stored_orders.default(self, seat) is not None
        return seat in self.missed and self.terms.miss != "wait"

    @property
    def wakes(self) -> datetime | None:
        """The next moment at which the clock makes something happen."""
        if self.paused:
            return None
        times = [
            clock.following() for seat, clock in self.clocks.items() if self.asked(seat) and seat not in self.missed
        ]
        return min((time for time in (*times, self.resolve_at) if time is not None), default=None)

    def printed(self, head: str) -> bool:
        """Whether letters of this game printed this head: orders in advance may cite an earlier one than `prev`."""
        return head == self.prev or any(turn.prev == head for turn in reversed(self.turns))

    def shown(self, seat: int | None) -> Sequence[Told]:
        """The reports of this game's turns as the seat (None: the public) may read them."""
        return _Shown(self, seat)

    def show(self, seat: int | None, reports: Reports) -> Told:
        """The reports of a turn as the seat may read them, without what the game does not show."""
        if seat not in reports.shown:
            rules = self.rules
            # What is told in a sealed game, all of its players have told each other.
            shown = reports if self.terms.sealed else [rules.show(report, seat) for report in reports]
            reports.shown[seat] = Told([report for report in shown if report is not None])
        return reports.shown[seat]

    def view(self, seat: int | None) -> Mapping[str, object] | None:
        """Everything that the seat knows about the position; None before the game begins."""
        if self.position is not None and self.sealed_rules is not None:
            return self.sealed_rules.view(self.table, seat)
        return self.rules.view(self.position, seat, self.shown(seat)) if self.position else None

    def keep_view(self, seat: int | None) -> bool:
        """Keep, with the latest turn, what views of later turns can begin with; return whether there is anything."""
        told = self.table.played[-1] if self.terms.sealed else self.shown(seat)[-1]
        if told.memory is None:
            self.view(seat)
        told.kept = told.memory is not None
        return told.kept

    def folded(self) -> Match:
        """The same match without the reports of earlier turns, if the latest holds what every reader knows."""
        whole = next((at for at, turn in enumerate(self.turns) if turn.reports is not None), 0)
        if len(self.turns) - whole < 2:
            return self
        if not self.terms.sealed:  # there the table has all that was told
            for reader in (*self.seats, None):
                if not self.keep_view(reader):
                    return self
        earlier = (replace(turn, reports=None) for turn in self.turns[whole:-1])
        return replace(self, turns=Grown((*self.turns[:whole], *earlier, self.turns[-1])))


class _Shown(Sequence[Told]):
    """What a seat may read of each turn; reports are cut only when read, because a view begins with the latest."""

    def __init__(self, match: Match, seat: int | None) -> None:
        self._match = match
        self._seat = seat

    def __len__(self) -> int:
        return len(self._match.turns)

    @overload
    def __getitem__(self, at: int) -> Told: ...

    @overload
    def __getitem__(self, at: slice) -> list[Told]: ...

    def __getitem__(self, at: int | slice) -> Told | list[Told]:
        if isinstance(at, slice):
            return [self._told(turn) for turn in self._match.turns[at]]
        return self._told(self._match.turns[at])

    def _told(self, turn: Played) -> Told:
        assert turn.reports is not None, "what this turn told is no longer here"
        return self._match.show(self._seat, turn.reports)


def not_played(match: Match) -> Phrase:
    """Why there is no turn of this match to say anything about."""
    return _NOT_PLAYED.get(match.phase, _SETUPS)


def standing(submissions: Mapping[int, Submission], seat: int) -> Submission | None:
    """A seat's submission, unless it was withdrawn."""
    submission = submissions.get(seat)
    return submission if submission and submission.standing else None


def only_one_without(seats: Iterable[int], without: int) -> int:
    """The only one of these seats that is left without that other; 0 if there are several."""
    left = [seat for seat in seats if seat != without]
    return left[0] if len(left) == 1 else 0


def seated(match: Match, seat: int, player: Player) -> Match:
    """The match with this player in that seat, and nothing else changed."""
    return replace(match, players=(*match.players[: seat - 1], player, *match.players[seat:]))
