"""The state of a match: immutable, the fold of its transcript and of the submissions that wait.

Here live the parts of a match and the facts that follow from them. A `Step` advances it; `events` holds all changes.
Implements protocol.md, "A match".
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self, TypedDict, TypeVar, overload

import msgspec
from msgspec.structs import replace

from pbem.games import Options, Orders, Report, Rules, Setup, ShownReports, State, rules
from pbem.grown import Grown
from pbem.match import stored_orders
from pbem.match.transcript import BEFORE, utc
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.documents import SetAside
    from pbem.match.pinned_keys import Player
    from pbem.match.play import Play
    from pbem.match.seat_clock import Clock
    from pbem.match.step import Signed
    from pbem.match.terms import Terms

    T = TypeVar("T")


class Reports(tuple[Report, ...]):
    """The reports of one turn; what each reader may read of them is computed once."""

    shown: dict[int | None, ShownReports]

    def __new__(cls, reports: Iterable[Report]) -> Self:
        """The reports in their order."""
        made = super().__new__(cls, reports)
        made.shown = {}
        return made


class Played(msgspec.Struct, frozen=True):
    """A played turn: the head that letters had printed for it, the orders by seat, and its reports."""

    prev: str
    orders: Mapping[int, str]
    reports: Reports | None
    """None once a later turn holds what every reader knows: see `Match.folded`."""
    chance: str = ""
    """The seed of what chance dealt in this turn, in a game with dice or cards."""


AGREEING = ("open", "proposed")
"""The phases before all players have agreed."""

RUNNING = ("setup", "playing")
"""The phases in which the match waits for setups, orders or reveals."""

_NOT_PLAYED = {
    "open": Phrase("the match has not begun: not everybody has accepted"),
    "proposed": Phrase("the match has not begun: not everybody has accepted"),
    "declined": Phrase("the match was declined"),
    "withdrawn": Phrase("the proposal of the match was withdrawn"),
    "closed": Phrase("the match is over"),
}
"""The reasons why no turn is played in a match that is not running."""

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
"""The name of each phase in a sentence."""

PAUSE = "pause"
RESTORED = "restored from a backup"
"""The reasons for which all clocks of a match stand."""

UNREACHABLE = "unreachable"
"""The reason for which a seat's clock stands while letters do not reach its player."""


class MatchPlace(TypedDict, total=False):
    """The place that a sentence names, besides the head."""

    game: int
    turn: int | None


class Submission(msgspec.Struct, frozen=True):
    """One seat's submission (perhaps withdrawn): canonical text, revision, and its opening or receipt."""

    rev: int
    text: str
    paper: str
    letter: bytes
    final: bool = False
    standing: bool = True
    evidence: bytes = b""
    aside: tuple[SetAside, ...] = ()
    """Earlier submissions for the same place that were set aside, without those that a higher revision replaced."""
    written: str = ""
    """Conditional orders of which one branch counts, as they were written; empty for others."""

    @staticmethod
    def of(
        rev: int | None, text: str, paper: str, signed: Signed, before: Submission | None, *, final: bool = False
    ) -> Submission:
        """The submission that a signed letter brings, in the place of one before."""
        aside = before.aside if before else ()
        return Submission(rev or 1, text, paper, signed.raw, final, evidence=signed.evidence, aside=aside)

    @property
    def level(self) -> str:
        """The level of its letter: `key` or `mailbox`."""
        return "mailbox" if self.evidence else "key"

    @property
    def branch(self) -> str:
        """The branch of conditional orders that counts; empty if they have no conditions, or it is not known."""
        return self.paper.partition("\nbranch ")[2].partition("\n")[0]

    @property
    def octets(self) -> int:
        """The length of its letters together, with those that were set aside."""
        return len(self.letter) + sum(len(aside.letter) for aside in self.aside)

    @property
    def received(self) -> list[str]:
        """The times of arrival of its letter and of those set aside before, by their papers."""
        papers = (self.paper, *(aside.paper for aside in self.aside))
        return [paper.partition("\nreceived ")[2].partition("\n")[0] for paper in papers]


Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Score = Annotated[int, msgspec.Meta(ge=-(10**9), le=10**9)]
Line = Annotated[str, msgspec.Meta(max_length=400)]


class MatchOutcome(msgspec.Struct, frozen=True):
    """The result of a match that is over: the seats that share the win; none, if nobody won.

    Its limits are for programs that are told of it.
    """

    winners: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1, le=9)], ...], msgspec.Meta(max_length=9)]
    scores: tuple[Score, ...]
    reason: Line


class Ended(MatchOutcome, frozen=True):
    """The end of one game of the match."""

    turns: Count


class Nomination(msgspec.Struct, frozen=True):
    """The nominee for a seat, by name, and the seats that agree, each with the name of the player who said so."""

    name: str
    willing: Mapping[int, str]


class _NoOptions(NamedTuple):
    seats: int = 0
    changed: Mapping[str, object] = MappingProxyType({})


_NO_OPTIONS = _NoOptions()
"""The options before any game is asked for."""


class Match(msgspec.Struct, frozen=True):
    """The state of a match. Immutable; `prev` is the head that the last letters printed and orders must cite."""

    id: str
    server: str
    terms: Terms
    rules_hash: str
    """The hash of the agreed terms."""
    play: Play
    """The mode in which its games are played, with what only that mode knows of the game."""
    phase: str = "proposed"
    seq: int = 0
    head: str = BEFORE
    prev: str = BEFORE
    players: tuple[Player, ...] = ()
    game: int = 0
    options: Options = _NO_OPTIONS
    """The options of the game that is asked for or played."""
    setups: Mapping[int, Submission] = msgspec.field(default_factory=dict)
    orders: Mapping[int, Submission] = msgspec.field(default_factory=dict)
    stored: Mapping[tuple[int, int], Submission] = msgspec.field(default_factory=dict)
    """Orders for later turns, by seat and turn, and default orders at `DEFAULT`; not judged yet."""
    position: State | None = None
    """The position as the server knows it: where nobody knows all, the public one."""
    turns: Grown[Played] = msgspec.field(default_factory=Grown)
    """The turns of this game."""
    left: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The seats that left this game while the others played on, each with the turn that was due."""
    before_leaving: Mapping[int, State] = msgspec.field(default_factory=dict)
    """The position of each in that turn, by which its orders were judged."""
    games: Grown[Ended] = msgspec.field(default_factory=Grown)
    previous: str | None = None
    resolve_at: datetime | None = None
    clocks: Mapping[int, Clock] = msgspec.field(default_factory=dict)
    """The clocks of all seats that were asked, with or without an answer, so that no clock reveals an answer."""
    banks: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Seconds left in the banks of the seats that have drawn on theirs."""
    missed: frozenset[int] = frozenset()
    """The seats whose time and grace are over for their present answer."""
    late_from: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """The time from which letters are late for the present request, by the seats that missed it."""
    default_late_from: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """The time from which default orders are late for the turns of this game that each seat missed."""
    misses: Mapping[int, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """The entries of each seat's consecutive misses."""
    offers: Mapping[str, Mapping[int, tuple[int, ...]]] = msgspec.field(default_factory=dict)
    """The seats that offer something on which all must agree: of a draw, each with the seats that would share it."""
    unreachable: Mapping[int, datetime] = msgspec.field(default_factory=dict)
    """The seats whose players no letter reaches, each with the time since when, by the transcript."""
    nominated: Mapping[int, Nomination] = msgspec.field(default_factory=dict)
    """The nominees, by seat."""
    former: Mapping[tuple[int, str], Player] = msgspec.field(default_factory=dict)
    """The players who left a seat since the present setups or orders were asked for, by seat and name."""
    paused: str = ""
    """The reason of a pause, if there is one: the operator's, or a restored backup."""
    generation: int = 1
    """The number of times that the server was restored from a backup, plus one, as far as the entries say."""
    restored: int = 0
    """The entry of the last of these restores; 0 if there was none."""
    outcome: JsonObject | None = None
    time: str = ""
    """The time of the last entry: times never run backwards."""
    replies: str = ""
    """The secret of the reply addresses for what is due, if somebody plays by mailbox."""
    chance: str = ""
    """The secret of the chain of this game's dice or cards, which only the server has."""
    sentence_revs: Mapping[tuple[int, str], int] = msgspec.field(default_factory=dict)
    """The last revision of each of a seat's sentences since the last letters, so that none is obeyed twice."""

    @property
    def submissions(self) -> Mapping[int, Submission]:
        """The submissions for what is due: setups before the game begins, then the orders of the turn."""
        return self.setups if self.phase == "setup" else self.orders

    @property
    def waiting(self) -> list[Submission]:
        """All that players have sent and no entry has taken up, also for later turns."""
        return [*self.setups.values(), *self.orders.values(), *self.stored.values()]

    def submission(self, seat: int, turn: int) -> Submission | None:
        """The seat's last submission for a turn, or for the setups, even if it was withdrawn."""
        is_due = self.phase == "setup" or turn == self.turn
        return self.submissions.get(seat) if is_due else self.stored.get((seat, turn))

    @property
    def place(self) -> MatchPlace:
        """The present place for a sentence, besides the head: the turn, or the game to begin."""
        return self.place_of(self.turn)

    def place_of(self, turn: int) -> MatchPlace:
        """The place of a submission for this turn, or for the game to begin."""
        return {"turn": turn} if self.phase == "playing" else {"game": self.game}

    @property
    def letter_place(self) -> tuple[int, int]:
        """The game and the turn that letters are about now; after the last game, one more than was played."""
        return self.game + (self.phase == "closed"), self.turn

    @property
    def last_revealed(self) -> int:
        """The last game that is revealed: what opens with it is open to all at once."""
        return self.game - 1

    @property
    def rules(self) -> Rules:
        """The rules of the match's game."""
        return rules(self.terms.game)

    @property
    def pace(self) -> int:
        """The seconds for what is due: the agreed pace, or the fraction of it that the rules give to the turn."""
        return int(self.terms.pace * (self.play.pace(self, self.playing) if self.playing else 1))

    @property
    def awaits(self) -> Phrase | None:
        """The word for the letters that a game over by its rules still waits for; None if it is not over."""
        return self.play.awaits(self)

    @property
    def asks_for(self) -> Phrase:
        """The submission that it asks its players for now: a setup, a turn with the name that its game gives it."""
        if (last := self.awaits) is not None:
            return last
        if self.phase != "playing":
            return Phrase("setup")
        period = self.play.period(self, self.under_way)
        if period is None:
            return Phrase("turn {turn}", turn=self.turn)
        return Phrase("turn {turn} ({period})", turn=self.turn, period=period)

    def owes(self, seat: int) -> tuple[str, ...]:
        """The steps due from a seat, in order, where turns have steps."""
        return self.play.owes(self, seat)

    @property
    def seats(self) -> range:
        """The seats, from 1."""
        return range(1, len(self.terms.players) + 1)

    @property
    def totals(self) -> tuple[int, ...]:
        """Each seat's scores of the finished games, added up."""
        return tuple(sum(ended.scores[seat - 1] for ended in self.games) for seat in self.seats)

    @property
    def turn(self) -> int:
        """The turn that is due; 0 while setups are due."""
        return self.playing.turn if self.playing else 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the present players, in seat order."""
        return tuple(player.name for player in self.players) or self.terms.players

    def name(self, seat: int) -> str:
        """The player's name."""
        return self.players[seat - 1].name if self.players else self.terms.players[seat - 1]

    def seat_of(self, player: str) -> int | None:
        """The player's seat, if any."""
        return self.names.index(player) + 1 if player in self.names else None

    def asked(self, seat: int) -> bool:
        """True if the match still waits for something from this seat."""
        if self.phase == "setup":
            return self.rules.secret_setups and not standing(self.setups, seat)
        return self.phase == "playing" and self.play.asked(self, seat)

    @property
    def playing(self) -> State | None:
        """The position of the game that is being played; None in any other phase."""
        return self.position if self.phase == "playing" else None

    @property
    def under_way(self) -> State:
        """The position of a game that has begun."""
        assert self.position is not None, "no game has begun"
        return self.position

    def setup_of(self, seat: int, text: str) -> Setup:
        """A seat's setup of this text, for the game that is asked for; raises `Refused`."""
        return self.rules.setup(self.options, seat, text)

    def orders_of(self, seat: int, text: str) -> Orders:
        """A seat's orders of this text, for the turn that is due; raises `Refused`."""
        return self.rules.order(self.under_way, seat, text)

    @property
    def in_game(self) -> tuple[int, ...]:
        """The seats that nobody has given up in the game that is being played; before it begins, all."""
        return self.playing.remaining if self.playing else tuple(self.seats)

    @property
    def choosing(self) -> list[int]:
        """The seats that have a choice in the turn that is being played."""
        return [seat for seat, forced in self.position.due.items() if forced is None] if self.position else []

    def deadline(self, seat: int) -> datetime | None:
        """The deadline of what a seat still owes, if there is one."""
        return self.clocks[seat].deadline if seat in self.clocks and self.asked(seat) else None

    def setup_text(self, seat: int) -> str:
        """The canonical setup of a seat; empty in a game without setups."""
        return self.setups[seat].text if seat in self.setups else ""

    @property
    def begins_by_itself(self) -> bool:
        """True if the next game waits for nobody: it has no setups."""
        return self.phase == "setup" and not self.rules.secret_setups

    def silent_by_now(self, seat: int) -> bool:
        """True if the match no longer waits for this seat: it missed its time, and the terms say what follows."""
        if self.terms.silence.plays == "default":
            return seat in self.missed and stored_orders.default(self, seat) is not None
        return seat in self.missed and not self.terms.silence.claimable

    @property
    def wakes(self) -> datetime | None:
        """The next time at which a clock causes an event; None if there is none."""
        if self.paused:
            return None
        if self.begins_by_itself:
            return utc(self.time)
        times = [
            clock.following() for seat, clock in self.clocks.items() if self.asked(seat) and seat not in self.missed
        ]
        return min((time for time in (*times, self.resolve_at) if time is not None), default=None)

    def printed(self, head: str) -> bool:
        """True if letters of this game printed this head: orders in advance may cite an earlier one than `prev`."""
        return head == self.prev or any(turn.prev == head for turn in reversed(self.turns))

    def shown(self, seat: int | None) -> Sequence[ShownReports]:
        """The reports of this game's turns as the seat (None: the public) may read them."""
        return _Shown(self, seat)

    def show(self, seat: int | None, reports: Reports) -> ShownReports:
        """The reports of a turn as the seat may read them, without what the game does not show."""
        if seat not in reports.shown:
            shown = self.play.show(self, seat, reports)
            reports.shown[seat] = ShownReports([report for report in shown if report is not None])
        return reports.shown[seat]

    def view(self, seat: int | None) -> Mapping[str, object] | None:
        """Everything that the seat knows about the position; None before the game begins."""
        return self.play.view(self, self.position, seat) if self.position else None

    def keep_view(self, seat: int | None) -> bool:
        """Keep the view with the latest turn, so that later views can begin with it; returns False if it has none."""
        told = self.play.latest(self, seat)
        if told.memory is None:
            self.view(seat)
        told.kept = told.memory is not None
        return told.kept

    def folded(self) -> Match:
        """The match without the reports of earlier turns, if the latest turn holds the view of each reader."""
        whole = next((at for at, turn in enumerate(self.turns) if turn.reports is not None), 0)
        if len(self.turns) - whole < 2 or not self.play.keeps_views(self):
            return self
        earlier = (replace(turn, reports=None) for turn in self.turns[whole:-1])
        return replace(self, turns=Grown((*self.turns[:whole], *earlier, self.turns[-1])))


class _Shown(Sequence[ShownReports]):
    """The reports of each turn as a seat may read them: filtered on access, because views begin with the latest."""

    def __init__(self, match: Match, seat: int | None) -> None:
        self._match = match
        self._seat = seat

    def __len__(self) -> int:
        return len(self._match.turns)

    @overload
    def __getitem__(self, at: int) -> ShownReports: ...

    @overload
    def __getitem__(self, at: slice) -> list[ShownReports]: ...

    def __getitem__(self, at: int | slice) -> ShownReports | list[ShownReports]:
        if isinstance(at, slice):
            return [self[turn] for turn in range(*at.indices(len(self)))]
        reports = self._match.turns[at].reports
        assert reports is not None, "what this turn told is no longer here"
        return self._match.show(self._seat, reports)


def not_played(match: Match) -> Phrase:
    """The reason why no turn of this match is being played."""
    return _NOT_PLAYED.get(match.phase, _SETUPS)


def standing(submissions: Mapping[int, Submission], seat: int) -> Submission | None:
    """A seat's submission, unless it was withdrawn."""
    submission = submissions.get(seat)
    return submission if submission and submission.standing else None


def losing_seats(match: Match) -> list[int]:
    """The seats that lose the game, or leave it, by their silence, unless their answer came in after all.

    None once it is over, but for what the match still awaits.
    """
    rule = match.terms.silence
    most = rule.setups if match.phase == "setup" else rule.turns
    if match.awaits or not most:
        return []
    return [seat for seat in sorted(match.missed) if len(match.misses.get(seat, ())) >= most]


def only_one_without(seats: Iterable[int], *without: int) -> tuple[int, ...]:
    """The single seat that remains of these without the others; nobody if none or several remain."""
    left = tuple(seat for seat in seats if seat not in without)
    return left if len(left) == 1 else ()


def seated(match: Match, seat: int, player: Player) -> Match:
    """The match with this player in this seat, otherwise unchanged."""
    return replace(match, players=(*match.players[: seat - 1], player, *match.players[seat:]))


def without(seats: Mapping[int, T], *left_out: int) -> dict[int, T]:
    """A mapping by seats without these."""
    return {seat: value for seat, value in seats.items() if seat not in left_out}
