"""The life of one match: an event and the match go in, the next match and its decisions come out.

`proposed -> agreed -> [setup -> playing -> ended -> revealed] for each game -> closed`. A `Match` is the fold of its
transcript and of the submissions that wait; a `Step` is what an event leads to: entries for the transcript, papers
to keep, notices to the seats. Who may act was decided before (identity); how a letter reads comes after
(templates). What the clock does to a match is in `pace`. Implements protocol.md, "A match".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from pbem.games import Fault, Options, Refused, Report, Result, Rules, State, Told, rules
from pbem.match import ahead
from pbem.match.changed import replace
from pbem.match.clock import Calendar, Clock, Stop
from pbem.match.keys import KeyChange, Player
from pbem.match.papers import Opening, Receipt, Withdrawal
from pbem.match.record import Record, RecordedResult, Turn, write
from pbem.match.traces import SetAside, Trace
from pbem.match.transcript import BEFORE, Entry, canonical, digest, written
from pbem.match.turns import Played, Reports, Turns
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pbem.match.terms import Terms

__all__ = [
    "BUNDLE",
    "RUNNING",
    "Ended",
    "Form",
    "Match",
    "Nomination",
    "Notice",
    "Paper",
    "Player",
    "Signed",
    "Step",
    "Submission",
    "World",
    "at_reply_address",
    "here",
    "standing",
]

BUNDLE = 2
"""The version of the bundles of matches that begin now; those of version 1 are read, and played on, as they began.

Since version 2 the terms are proved by letters, papers say when their letters came, and what was withdrawn or not
used leaves a trace."""

RUNNING = ("setup", "playing")
"""The phases in which something is asked of the players."""

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


@dataclass(frozen=True, slots=True)
class World:
    """What is handed in: the time, the random bytes of the operating system, and who we are."""

    now: datetime
    random: Callable[[int], bytes]
    version: str
    server_key: str
    calendar: Callable[[str], Calendar] = field(default=lambda _: Calendar())
    """The wall clock and the vacations of a player, by name."""
    heard: datetime | None = None
    """Up to when all letters are handled that were received; None: all are. What came in time is no miss."""
    outages: Callable[[datetime], Sequence[Stop]] = field(default=lambda _: ())
    """The times in which the server was out of reach, of those that ended after a moment."""

    @property
    def time(self) -> str:
        """The time as entries write it: UTC to the second."""
        return written(self.now)

    def salt(self, _path: str = "") -> str:
        """64 hex digits that nobody can guess, for the paper of this path."""
        return self.random(32).hex()

    def set_aside(self, _match: Match, _what: str) -> Sequence[tuple[int, SetAside]] | None:
        """What was set aside by then, by seat, where a trace of it exists already."""
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """The signed form around a setup, orders or a withdrawal: what ties the words to one place and moment."""

    server: str | None
    player: str | None
    prev: str | None
    rev: int | None
    game: int | None = None
    turn: int | None = None
    final: bool = False
    text: str = ""


def here(match: Match, seat: int, rev: int) -> Form:
    """The place at which the match stands, as a form of this seat and revision says it."""
    playing = match.phase == "playing"
    return Form(
        match.server,
        match.name(seat),
        match.prev,
        rev,
        game=None if playing else match.game,
        turn=match.turn if playing else None,
    )


def at_reply_address(form: Form, match: Match, seat: int) -> Form:
    """A form of the level `mailbox` with its place filled in: the address that it answers names what it leaves out.

    A revision that it leaves out stays so.
    """
    place = here(match, seat, 0)
    return replace(
        form,
        server=form.server or place.server,
        player=form.player or place.player,
        prev=form.prev or place.prev,
        game=form.game or place.game,
        turn=place.turn if form.turn is None else form.turn,
    )


@dataclass(frozen=True, slots=True)
class Signed:
    """The signed letter that a form came in: its raw bytes, its level and the fingerprint of its key.

    At level `mailbox` the evidence stands for the signature, and `key` names what it rests on.
    """

    raw: bytes
    level: str
    key: str
    evidence: bytes = b""
    received: str = ""
    """When it was received, UTC to the second, as papers write it."""

    @property
    def evidence_hash(self) -> str:
        """SHA-256 of the evidence; empty where a key signed."""
        return digest(self.evidence) if self.evidence else ""

    @property
    def hash(self) -> str:
        """SHA-256 of the letter as it was received."""
        return digest(self.raw)


@dataclass(frozen=True, slots=True)
class Submission:
    """What stands (or stood, once withdrawn) of one seat: canonical text, revision, and its opening or receipt."""

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
    def received(self) -> list[str]:
        """When its letter came, and those of what was set aside before, as their papers say; not in version 1."""
        papers = (self.paper, *(aside.paper for aside in self.aside))
        return list(filter(None, (paper.partition("\nreceived ")[2].partition("\n")[0] for paper in papers)))


@dataclass(frozen=True, slots=True)
class Paper:
    """A file of the match's evidence, by its path in the bundle; `seat` may see it before the reveal, if any."""

    path: str
    content: bytes = field(repr=False)
    game: int = 0
    seat: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a seat is to be told: the kind names the letter's template, the match is as it was then."""

    kind: str
    seat: int
    match: Match = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """How one game of the match ended."""

    winner: int
    scores: tuple[int, ...]
    reason: str
    turns: int


@dataclass(frozen=True, slots=True)
class Nomination:
    """Who is to take a seat, by name, and the seats that want it so."""

    name: str
    willing: frozenset[int]


@dataclass(frozen=True)  # without slots: see `changed`
class Match:
    """A match as it stands. Immutable; `prev` is the head that the last letters printed and orders must cite."""

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
    setups: Mapping[int, Submission] = field(default_factory=dict)
    orders: Mapping[int, Submission] = field(default_factory=dict)
    stored: Mapping[tuple[int, int], Submission] = field(default_factory=dict)
    """By seat and turn: orders for later turns, and default orders at the turn `ahead.DEFAULT`; not judged yet."""
    position: State | None = None
    turns: Turns = field(default_factory=Turns)
    """Those of this game."""
    games: tuple[Ended, ...] = ()
    previous: str | None = None
    resolve_at: datetime | None = None
    clocks: Mapping[int, Clock] = field(default_factory=dict)
    """Of the seats that are asked, whether their answer is in or not: one seat cannot learn that from another's."""
    banks: Mapping[int, int] = field(default_factory=dict)
    """Seconds left in the banks of the seats that have drawn on theirs."""
    missed: frozenset[int] = frozenset()
    """The seats whose time and grace are over for what they are asked."""
    missed_at: Mapping[int, str] = field(default_factory=dict)
    """The time of the entry by which each seat last missed its time, whoever has it since."""
    silent: Mapping[int, int] = field(default_factory=dict)
    """How often in a row a seat missed what it was asked for."""
    offers: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Who wants what must be agreed on, such as a draw: offers that stand."""
    unreachable: Mapping[int, datetime] = field(default_factory=dict)
    """The seats whose players no letter reaches, and since when the transcript says so."""
    nominated: Mapping[int, Nomination] = field(default_factory=dict)
    """Who is to take a seat, by seat."""
    paused: str = ""
    """Why the match stands still, if it does: the operator's reason, or a restored backup."""
    outcome: Mapping[str, Any] | None = None
    bundle: int = 1
    """The version of its bundles, see `BUNDLE`."""
    time: str = ""
    """That of the last entry: times never run backwards."""
    said: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """The last revision of each sentence that a seat has said since the last letters: none is obeyed twice."""

    @property
    def place(self) -> dict[str, int]:
        """What a sentence names of where the match stands, beside the head: the turn, or the game to begin."""
        return {"turn": self.turn} if self.phase == "playing" else {"game": self.game}

    @property
    def rules(self) -> Rules:
        """The rules of the match's game."""
        return rules(self.terms.game)

    @property
    def seats(self) -> range:
        """The seats, from 1."""
        return range(1, len(self.terms.players) + 1)

    @property
    def rules_hash(self) -> str:
        """The hash of the agreed rules."""
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
        """Whether the match waits for something of this seat that is not there yet."""
        if self.phase == "setup":
            return not standing(self.setups, seat)
        if self.phase == "playing" and self.position:
            return self.position.due.get(seat, 0) is None and not standing(self.orders, seat)
        return False

    def silent_by_now(self, seat: int) -> bool:
        """Whether the match does not wait for this seat any more: it missed its time, and what follows was agreed."""
        if self.terms.miss == "default":
            return seat in self.missed and ahead.default(self, seat) is not None
        return seat in self.missed and self.terms.miss != "wait"

    @property
    def wakes(self) -> datetime | None:
        """The next moment at which something is to happen by the clock."""
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
        """The reports of a turn as the seat may read them; what the game does not show is not there."""
        if seat not in reports.shown:
            rules = self.rules
            shown = [rules.show(report, seat) for report in reports]
            reports.shown[seat] = Told([report for report in shown if report is not None])
        return reports.shown[seat]

    def view(self, seat: int | None) -> dict[str, Any] | None:
        """All that the seat knows of the position; None before the game begins."""
        return self.rules.view(self.position, seat, self.shown(seat)) if self.position else None


class _Shown(Sequence[Told]):
    """What a seat may read of each turn, cut when it is read: a view begins with the latest."""

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
            return [self._match.show(self._seat, turn.reports) for turn in self._match.turns[at]]
        return self._match.show(self._seat, self._match.turns[at].reports)


def standing(submissions: Mapping[int, Submission], seat: int) -> Submission | None:
    """What stands of a seat, and was not withdrawn."""
    submission = submissions.get(seat)
    return submission if submission and submission.standing else None


def _alone(seats: Iterable[int], without: int) -> int:
    """The one seat among these that is left without another; 0 if there are several."""
    left = [seat for seat in seats if seat != without]
    return left[0] if len(left) == 1 else 0


@dataclass(slots=True)
class Step:
    """The match after an event, and everything that the event leads to, in order."""

    match: Match
    world: World
    entries: list[Entry] = field(default_factory=list)
    papers: list[Paper] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    submitted: list[tuple[int, int, int, Submission]] = field(default_factory=list)
    """What came to stand by itself, without a letter: game, turn and seat, and the submission."""

    # Events. Each raises `Refused`, with all faults, when the player may not do this, and then nothing changed.

    def agree(self, players: tuple[Player, ...], consents: Sequence[Signed] = ()) -> None:
        """All players accepted, by these letters: the transcript begins, and setups are asked for.

        Without letters, as of a proposal that was made before they were kept, the bundle is one of version 1.
        """
        match = self.match
        if match.phase != "proposed":
            raise Refused(
                Fault(
                    "accept",
                    match.id,
                    Phrase("this match is {phase} and waits for no agreement", phase=PHASES[match.phase]),
                )
            )
        self.match = replace(match, players=players, bundle=BUNDLE if consents else 1)
        letters = {}
        for seat, (player, signed) in enumerate(zip(players, consents, strict=False), start=1):
            self.file_letter(f"agreed-seat-{seat}", signed.raw, signed.evidence, 0, seat)
            letters[str(seat)] = self.named(signed)
            self.file_mailbox(seat, player)
        self.enter(
            "agreed",
            {
                **({"bundle": BUNDLE, "letters": letters} if consents else {}),
                "version": self.world.version,
                "server": match.server,
                "server_key": self.world.server_key,
                "match": match.id,
                "terms": match.terms.document(),
                "rules": match.rules_hash,
                "players": {str(seat): player.document() for seat, player in enumerate(players, start=1)},
            },
        )
        self._ask_for_setups(match.terms.first_options())

    def setup(self, seat: int, form: Form, signed: Signed) -> Submission:
        """A seat's secret setup of the game that is about to begin; the game begins with the last one."""
        match = self.match
        self.demand_key(signed)
        before = match.setups.get(seat)
        faults = self.misplaced(form, seat, before, game=match.game)
        if match.phase != "setup" or match.options is None:
            raise Refused(Fault("setup", None, Phrase("no setup is being asked for")))
        try:
            setup = match.rules.setup(match.options, seat, form.text)
        except Refused as refused:
            faults.extend(refused.faults)
        if faults:
            raise Refused(*faults)
        if same := self.again(before, form, setup.text):
            return same
        opening = Opening(
            match.server,
            match.id,
            match.game,
            seat,
            match.name(seat),
            match.rules_hash,
            signed.hash,
            self.world.salt(f"openings/game-{match.game}-seat-{seat}.txt"),
            setup.text,
            evidence=signed.evidence_hash,
            **({"received": signed.received, "rev": form.rev or 1} if match.bundle > 1 else {}),  # type: ignore[arg-type]
        )
        submission = Submission(
            form.rev or 1,
            setup.text,
            opening.text(),
            signed.raw,
            evidence=signed.evidence,
            aside=before.aside if before else (),
        )
        self.match = replace(match, setups={**match.setups, seat: submission})
        self.answered(seat, signed)
        return submission

    def order(self, seat: int, form: Form, signed: Signed) -> Submission:
        """A seat's whole set of orders of the turn that is due; replaces what stood before."""
        match = self.match
        if match.phase != "playing" or match.position is None:
            raise Refused(Fault("orders", None, Phrase("no turn is being played")))
        self.demand_key(signed)
        before = match.orders.get(seat)
        faults = self.misplaced(form, seat, before, in_advance=True, turn=match.turn)
        if match.position.due.get(seat, 0) is not None:
            raise Refused(
                Fault("orders", None, Phrase("turn {turn} does not ask for orders of yours", turn=match.turn))
            )
        try:
            orders = match.rules.order(match.position, seat, form.text)
        except Refused as refused:
            faults.extend(refused.faults)
        if faults:
            raise Refused(*faults)
        if same := self.again(before, form, orders.text):
            return same
        submission = self.receipted(seat, match.turn, form, signed, orders.text, before)
        self.match = replace(match, orders={**match.orders, seat: submission})
        self.answered(seat, signed)
        return submission

    def receipted(  # noqa: PLR0913, PLR0917 - what a receipt tells
        self, seat: int, turn: int, form: Form, signed: Signed, text: str, before: Submission | None
    ) -> Submission:
        """A seat's orders for a turn, in words that are kept so, with the receipt that names their letter."""
        match = self.match
        receipt = Receipt(
            match.server,
            match.id,
            match.game,
            turn,
            seat,
            match.name(seat),
            form.rev or 1,
            signed.level,
            signed.key,
            signed.hash,
            self.world.salt(f"receipts/game-{match.game}-turn-{turn}-seat-{seat}.txt"),
            evidence=signed.evidence_hash,
            orders="" if turn != ahead.DEFAULT else "default",
            received=signed.received if match.bundle > 1 else "",
        )
        return Submission(
            form.rev or 1,
            text,
            receipt.text(),
            signed.raw,
            final=form.final,
            evidence=signed.evidence,
            aside=before.aside if before else (),
        )

    def submit(self, seat: int, submission: Submission) -> None:
        """Let orders stand, or be known as not standing, that were sent before the turn came."""
        match = self.match
        self.submitted.append((match.game, match.turn, seat, submission))
        self.match = replace(match, orders={**match.orders, seat: submission})
        if submission.standing:
            self._answered_at(seat, self.world.now)

    def clear(self, seat: int, form: Form, signed: Signed) -> Submission:
        """Withdraw what stands: orders of this turn, or the setup while the game has not begun; what it was."""
        match = self.match
        if match.phase not in RUNNING:
            raise Refused(Fault("clear", None, Phrase("nothing is being asked for")))
        where = "setups" if match.phase == "setup" else "orders"
        submissions: Mapping[int, Submission] = getattr(match, where)
        submission = standing(submissions, seat)
        if submission is None:
            raise Refused(Fault("clear", None, Phrase("nothing of yours stands")))
        withdrawn = self.withdrawn(seat, match.turn, form, signed, submission)
        self.match = replace(self.match, resolve_at=None, **{where: {**submissions, seat: withdrawn}})
        self._answered_at(seat, None)
        return submission

    def withdrawn(self, seat: int, turn: int, form: Form, signed: Signed, before: Submission) -> Submission:
        """What stood, once it is withdrawn: it leaves a trace, and its revision is used up. Raises `Refused`."""
        match = self.match
        self.demand_key(signed)
        playing = match.phase == "playing"
        place: dict[str, Any] = {"turn": turn} if playing else {"game": match.game}
        if faults := self.misplaced(form, seat, before, again=False, in_advance=playing, **place):
            raise Refused(*faults)
        paper = Withdrawal(
            match.server,
            match.id,
            match.game,
            turn,
            seat,
            match.name(seat),
            form.rev or 1,
            signed.level,
            signed.key,
            signed.hash,
            evidence=signed.evidence_hash,
            orders="default" if playing and turn == ahead.DEFAULT else "",
            received=signed.received,
            salt=self.world.salt(),
        )
        aside = SetAside(paper.text(), signed.raw, signed.evidence)
        return replace(before, rev=form.rev or 1, standing=False, aside=(*before.aside, aside))

    def answered(self, seat: int, signed: Signed) -> None:
        """Note that a seat's answer came in, when its letter was received, however long the desk took."""
        received = datetime.fromisoformat(signed.received) if signed.received else self.world.now
        self._answered_at(seat, min(received, self.world.now))

    def _answered_at(self, seat: int, when: datetime | None) -> None:
        """Reminders whose time went by meanwhile are not made up for."""
        if clock := self.match.clocks.get(seat):
            clock = replace(clock, reminded=clock.reminders_by(self.world.now), answered=when)
            self.match = replace(self.match, clocks={**self.match.clocks, seat: clock})

    def resign(self, seat: int, form: Form, signed: Signed, *, whole_match: bool) -> None:
        """Give up the game, or the whole match: the position's scores stand.

        Who alone remains then has won; of several who remain nobody has. Who is out of the game has nothing to give
        up, and the others play on.
        """
        match = self.match
        if match.phase not in RUNNING:
            raise Refused(Fault("resign", None, Phrase("the match is not being played")))
        if match.phase == "setup" and not whole_match:
            raise Refused(
                Fault(
                    "resign",
                    None,
                    Phrase("no game has begun; `resign {id} match` resigns the whole match", id=match.id),
                )
            )
        in_game = match.position.remaining if match.position and match.phase == "playing" else tuple(match.seats)
        if seat not in in_game:
            raise Refused(Fault("resign", None, Phrase("you are out of this game, and the others play on")))
        winner = _alone(in_game, seat)
        said = self.sentence("resign", seat, form, signed)
        self.enter("resigned", {"seat": seat, "match": whole_match, **said})
        if match.position is not None and match.phase == "playing":
            self.end_game(Result(winner, match.position.scores, "resignation"), goes_on=not whole_match)
        if whole_match and self.match.phase != "closed":
            self.close(winner if match.terms.kind == "single" else _alone(match.seats, seat), "resignation")

    def forfeit(self, seats: Iterable[int]) -> None:
        """Seats that were silent for too long lose the game, or the whole match where no game has begun."""
        match = self.match
        lost = sorted(seats)
        allowed = [seat for seat in match.seats if seat in self._lost()]
        if not lost or not set(lost) <= set(allowed):
            raise Refused(Fault("forfeit", None, Phrase("nobody was silent for so long")))
        self.enter("forfeited", {"game": match.game, "seats": lost})
        self.lose(lost)

    def lose(self, seats: Sequence[int]) -> None:
        """End what is being played by the silence of these seats: nobody wins when all of them were silent."""
        match = self.match
        in_game = match.position.remaining if match.position and match.phase == "playing" else tuple(match.seats)
        others = [seat for seat in in_game if seat not in seats]
        winner = others[0] if len(others) == 1 else 0
        reason = "forfeit" if others else "abandoned"
        if match.position is not None and match.phase == "playing":
            self.end_game(Result(winner, match.position.scores, reason), goes_on=True)
        else:
            self.close(winner, reason)

    def keys(self, seat: int, change: KeyChange) -> None:
        """The keys of a seat changed; what waits stays as it is, and so does the head that it cites."""
        match = self.match
        if match.phase not in RUNNING:
            raise Refused(Fault("keys", match.id, Phrase("this match is {phase}", phase=PHASES[match.phase])))
        player = change.after(match.players[seat - 1], match.prev)
        self.papers += [
            Paper(change.path(match.seq + 1, seat, who), letter) for who, letter in sorted(change.letters.items())
        ]
        self.enter("keys", change.body(seat))
        players = (*match.players[: seat - 1], player, *match.players[seat:])
        self.match = replace(self.match, players=players)
        others = (other for other in match.seats if other != seat)
        self.notices += [
            Notice("keys", other, self.match, {"by": match.name(seat), "change": change}) for other in others
        ]

    def advance(self) -> None:
        """Do what is due by now: begin the game when all setups are in, resolve the turn when all orders are."""
        match = self.match
        if match.paused:
            return
        if match.phase == "setup":
            if all(standing(match.setups, seat) for seat in match.seats):
                self._begin()
            elif all(standing(match.setups, seat) or match.silent_by_now(seat) for seat in match.seats):
                self.forfeit(seat for seat in self._lost() if not standing(match.setups, seat))
        elif match.phase == "playing" and match.position:
            asked = [seat for seat, forced in match.position.due.items() if forced is None]
            waiting = {seat: standing(match.orders, seat) for seat in asked}
            if not all(orders or match.silent_by_now(seat) for seat, orders in waiting.items()):
                return
            settled = match.resolve_at or self.world.now + match.terms.settling
            if settled > self.world.now and not all(orders is None or orders.final for orders in waiting.values()):
                self.match = replace(match, resolve_at=settled)
            elif lost := [seat for seat in self._lost() if not waiting.get(seat)]:
                self.forfeit(lost)
            else:
                self._resolve()
                self._go_on()
                self.advance()  # the next turn's orders may all be here already

    def _lost(self) -> list[int]:
        """The seats whose silence costs them the game, unless their answer came in after all."""
        match = self.match
        if match.terms.claimable:
            return []
        return [
            seat for seat in sorted(match.missed) if match.terms.miss == "forfeit" or match.silent.get(seat, 0) > 1
        ]

    # The operator's. Whoever reads the transcript sees when, and why.

    def pause(self, reason: str) -> None:
        """Let the match stand still: what is sent is kept, and nothing begins or resolves."""
        self._under_way("pause", paused=False)
        self._stand_still("paused", reason, {"by": "operator", "reason": reason})

    def restored(self, generation: int) -> None:
        """The server was restored from a backup: until somebody looked, nothing may be told a second time."""
        self._under_way("restored", paused=None)
        self._stand_still("restored", RESTORED, {"generation": generation})

    def resume(self, reason: str) -> None:
        """Let the match go on; what became due meanwhile comes with `advance`."""
        self._under_way("resume", paused=True)
        forgot = self.match.paused == RESTORED
        self.enter("resumed", {"by": "operator", "reason": reason})
        clocks = {seat: clock.released(PAUSE, self.now) for seat, clock in self.match.clocks.items()}
        self.match = replace(self.match, paused="", clocks=clocks)
        self.tell("resumed", reason=reason, forgot=forgot)

    def stop(self, reason: str) -> None:
        """End the match for good: a game under way is abandoned as it stands and revealed, and nobody wins."""
        self._under_way("end", paused=None)
        self.enter("stopped", {"by": "operator", "reason": reason})
        self.match = replace(self.match, paused="")
        self.abandon(f"operator: {reason}", by="operator")

    def abandon(self, reason: str = "abandoned", by: str = "") -> None:
        """Nobody plays on: a game under way is laid open as it stands, nobody wins, and the match is closed."""
        match = self.match
        if match.position is not None and match.phase == "playing":
            self.end_game(Result(0, match.position.scores, "abandoned"), goes_on=False, by=by)
        self.close(0, reason)

    def _under_way(self, event: str, *, paused: bool | None) -> None:
        """Refuse an event of the operator's where it makes no sense; `paused` None: it always does."""
        match = self.match
        if match.phase not in RUNNING:
            raise Refused(
                Fault(event, match.id, Phrase("the match is {phase}, not under way", phase=PHASES[match.phase]))
            )
        if paused is not None and bool(match.paused) != paused:
            message = Phrase("the match is not paused") if paused else Phrase("the match is paused")
            raise Refused(Fault(event, match.id, message))

    def _stand_still(self, kind: str, why: str, body: dict[str, Any]) -> None:
        self.enter(kind, body)
        clocks = {seat: clock.halted(PAUSE, self.now) for seat, clock in self.match.clocks.items()}
        self.match = replace(self.match, paused=why or kind, resolve_at=None, clocks=clocks)
        self.tell(kind, **body)

    # What events have in common.

    def demand_key(self, signed: Signed) -> None:
        """Refuse a letter at level `mailbox` where the players agreed that keys are demanded."""
        if signed.level == "mailbox" and self.match.terms.keys == "demanded":
            raise Refused(
                Fault("keys", None, Phrase("this match demands a signature by a key; `help signing` says how"))
            )

    def file_letter(self, name: str, letter: bytes, evidence: bytes, game: int, seat: int | None) -> None:
        """Keep a player's letter, and what vouches for it where that is no signature."""
        self.papers.append(Paper(f"letters/{name}.eml", letter, game, seat))
        if evidence:
            self.papers.append(Paper(f"evidence/{name}.txt", evidence, game, seat))

    def file_mailbox(self, seat: int, player: Player) -> None:
        """Keep the paper that says whose mailbox the next entry pins, if it pins one."""
        if player.named is not None:
            path = f"evidence/mailbox-{self.match.seq + 1}-seat-{seat}.txt"
            self.papers.append(Paper(path, player.named.text().encode(), 0, seat))

    def named(self, signed: Signed) -> dict[str, Any]:
        """How an entry names the letter that it rests on."""
        named = {"mail": signed.hash}
        if signed.evidence:
            named |= {"level": "mailbox", "evidence": signed.evidence_hash}
        return named | ({"received": signed.received} if self.match.bundle > 1 else {})

    def sentence(self, what: str, seat: int, form: Form, signed: Signed, player: str = "") -> dict[str, Any]:
        """Take a sentence that has its effect at once: keep its letter, and say how the next entry names it.

        It must name the place at which the match stands, and is obeyed once. Before a game begins its letter belongs
        to what is revealed already: nothing of the game to come is in it. Raises `Refused`.
        """
        match = self.match
        self.demand_key(signed)
        before = 0 if player else match.said.get((seat, what), 0)
        faults = self.misplaced(form, seat, None, player=player or match.name(seat), **dict[str, Any](match.place))
        if form.rev is not None and form.rev <= before:
            faults.append(Fault("rev", f"rev {form.rev}", _USED_UP.given(rev=before)))
        if faults:
            raise Refused(*faults)
        game = match.game if match.phase == "playing" else match.game - 1
        self.file_letter(f"{what}-{match.seq + 1}-seat-{seat}", signed.raw, signed.evidence, game, seat)
        if match.bundle == 1:
            return self.named(signed)
        self.match = replace(match, said={**match.said, (seat, what): form.rev or 1})
        return self.named(signed) | {"rev": form.rev}

    def misplaced(
        self,
        form: Form,
        seat: int,
        before: Submission | None,
        *,
        again: bool = True,
        in_advance: bool = False,
        **place: Any,
    ) -> list[Fault]:
        """The faults of the form itself: said at another place, or older than what was said before.

        `again` allows the revision that stands, `in_advance` any head that letters of this game printed.
        """
        match = self.match
        wanted: dict[str, Any] = {"server": match.server, "player": match.name(seat), "prev": match.prev, **place}
        faults = []
        for key, value in wanted.items():
            given = getattr(form, key)
            if given is None:
                faults.append(Fault(key, None, Phrase("the form does not say `{key} {value}`", key=key, value=value)))
            elif given != value and not (key == "prev" and in_advance and match.printed(given)):
                faults.append(Fault(key, f"{key} {given}", Phrase("this is `{key} {value}`", key=key, value=value)))
        if form.rev is None:
            faults.append(Fault("rev", None, Phrase("the form does not say its revision, such as `rev 1`")))
        elif before and (form.rev < before.rev or (form.rev == before.rev and not again)):
            faults.append(Fault("rev", f"rev {form.rev}", _USED_UP.given(rev=before.rev)))
        return faults

    @staticmethod
    def again(before: Submission | None, form: Form, text: str) -> Submission | None:
        """What stands already, when the very same is sent again; raises when one revision has two contents."""
        if before is None or form.rev != before.rev:
            return None
        if before.standing and before.text == text and before.final == form.final:
            return before
        raise Refused(
            Fault(
                "rev",
                f"rev {form.rev}",
                Phrase("rev {rev} was here before with other content; use a higher one", rev=before.rev),
            )
        )

    def enter(self, kind: str, body: dict[str, Any]) -> Entry:
        """The next entry of the transcript: no earlier than the one before, and than any letter that waits came.

        The server's clock may have been set back since.
        """
        match = self.match
        time = self.world.time
        if match.bundle > 1:
            time = max(time, match.time, *_received(match, body))
        entry = Entry(match.seq + 1, match.head, time, kind, body)
        self.entries.append(entry)
        self.match = replace(match, seq=entry.seq, head=entry.head, time=time)
        return entry

    @property
    def now(self) -> datetime:
        """From when on counts what an entry led to: now, or the time of the entry, if the clock was set back."""
        match, now = self.match, self.world.now
        return max(now, datetime.fromisoformat(match.time)) if match.bundle > 1 and match.time else now

    def tell(self, kind: str, **facts: Any) -> None:
        """Tell every seat."""
        self.notices.extend(Notice(kind, seat, self.match, facts) for seat in self.match.seats)

    def _ask_for_setups(self, options: Options) -> None:
        match = self.match
        self.match = replace(
            match,
            phase="setup",
            prev=match.head,
            game=match.game + 1,
            options=options,
            setups={},
            orders={},
            stored={},
            position=None,
            turns=Turns(),
            resolve_at=None,
            banks=self._banks(),
            missed=frozenset(),
            offers={},
            said={},
        )
        self.start_clocks(match.seats)
        self.tell("setup")

    def _banks(self) -> dict[int, int]:
        """What is left in each bank when what was asked for is over."""
        drawn = {
            seat: clock.left_in_bank(clock.answered or self.world.now)
            for seat, clock in self.match.clocks.items()
            if self.match.terms.bank
        }
        return {**self.match.banks, **drawn}

    def start_clocks(self, seats: Iterable[int]) -> None:
        """Set the clocks of these seats going, from now on; all others stand."""
        terms = self.match.terms
        clocks = {}
        for seat in seats if terms.pace else ():
            calendar = self.world.calendar(self.match.name(seat))
            bank = self.match.banks.get(seat, terms.bank)
            clocks[seat] = Clock(
                since=self.now,
                time=terms.pace + bank,
                grace=terms.grace,
                bank=bank,
                zone=calendar.zone,
                weekends=terms.weekends == "count",
                stops=calendar.vacations,
            )
            if self.match.paused:
                clocks[seat] = clocks[seat].halted(PAUSE, self.now)
            if seat in self.match.unreachable:
                clocks[seat] = clocks[seat].halted(UNREACHABLE, self.now)
        self.match = replace(self.match, clocks=clocks)

    def _ask_for_orders(self, position: State) -> None:
        """Set the clocks going of those who are asked in this position."""
        self.match = replace(self.match, banks=self._banks(), missed=frozenset(), offers={})
        asked = [seat for seat, forced in position.due.items() if forced is None]
        self.start_clocks(asked if position.result is None else ())

    def _begin(self) -> None:
        match = self.match
        assert match.options is not None
        for seat, submission in sorted(match.setups.items()):
            opening = f"openings/game-{match.game}-seat-{seat}.txt"
            self.papers.append(Paper(opening, submission.paper.encode(), match.game, seat))
            letter = f"game-{match.game}-setup-seat-{seat}"
            self.file_letter(letter, submission.letter, submission.evidence, match.game, seat)
        trace = self.trace("setup", match.game)
        self.enter(
            "commitments",
            {
                **trace,
                "game": match.game,
                "options": dict(match.options.changed),
                "commitments": {
                    str(seat): digest(submission.paper.encode()) for seat, submission in sorted(match.setups.items())
                },
            },
        )
        setups = [match.rules.setup(match.options, seat, match.setups[seat].text) for seat in match.seats]
        position = match.rules.begin(match.options, setups)
        head = self.match.head
        begun = {seat: replace(submission, aside=()) for seat, submission in match.setups.items()}
        self.match = replace(
            self.match, phase="playing", setups=begun, prev=head, position=position, silent={}, said={}
        )
        self._ask_for_orders(position)
        self.tell("begin")
        self._go_on()

    def _resolve(self) -> None:
        match = self.match
        assert match.position is not None
        due = match.position.due
        stand_ins = self._stand_ins()
        sent = {seat: orders for seat, orders in match.orders.items() if orders.standing}
        given = dict(sorted({**sent, **stand_ins}.items()))
        texts = {seat: (given.get(seat) or forced or _NONE).text for seat, forced in due.items()}
        orders = {seat: match.rules.order(match.position, seat, text) for seat, text in texts.items()}
        position, reports = match.rules.turn(match.position, orders)
        name = f"game-{match.game}-turn-{match.turn}"
        for seat, counts in given.items():
            self.papers.append(Paper(f"receipts/{name}-seat-{seat}.txt", counts.paper.encode(), match.game, seat))
            self.file_letter(f"{name}-seat-{seat}", counts.letter, counts.evidence, match.game, seat)
        told = Reports(reports)
        files = {seat: self._report_file(seat, match.show(seat, told)) for seat in match.seats}
        everything = self._report_file(None, reports)
        for seat, content in files.items():
            self.papers.append(Paper(f"reports/{name}-seat-{seat}.json", content, match.game, seat))
        self.papers.append(Paper(f"reports/{name}.json", everything, match.game))
        trace = self.trace(f"turn-{match.turn}", match.game)
        self.enter(
            "turn",
            {
                **trace,
                "game": match.game,
                "turn": match.turn,
                "orders": {str(seat): digest(submission.paper.encode()) for seat, submission in given.items()},
                "shown": {str(seat): digest(content) for seat, content in files.items()},
                "reports": digest(everything),
                **({"default": list(stand_ins)} if stand_ins or match.bundle > 1 else {}),
            },
        )
        self.match = replace(
            self.match,
            position=position,
            turns=match.turns.and_(Played(match.prev, texts, told)),
            orders={},
            resolve_at=None,
            prev=self.match.head,
            said={},
            silent={seat: times for seat, times in match.silent.items() if seat not in sent},
        )
        self._ask_for_orders(position)
        taken_up = ahead.take_up(self)
        for seat, content in files.items():
            facts = {
                "turn": match.turn,
                "reports": match.show(seat, told),
                "file": content,
                "levels": {number: orders.level for number, orders in given.items()},
                "by_default": tuple(stand_ins),
                "stand_in": stand_ins.get(seat),
                "taken_up": taken_up.get(seat),
            }
            self.notices.append(Notice("turn", seat, self.match, facts))

    def _stand_ins(self) -> dict[int, Submission]:
        """The default orders that are played in this turn, by seat, each with its receipt for this turn."""
        match = self.match
        found = {}
        for seat in sorted(match.missed):
            orders = None if standing(match.orders, seat) else ahead.default(match, seat)
            if orders is not None:
                path = f"receipts/game-{match.game}-turn-{match.turn}-seat-{seat}.txt"
                receipt = replace(Receipt.read(orders.paper), turn=match.turn, salt=self.world.salt(path))
                found[seat] = replace(orders, paper=receipt.text())
                self.submitted.append((match.game, match.turn, seat, found[seat]))
        return found

    def _report_file(self, seat: int | None, reports: Sequence[Report]) -> bytes:
        """The reports of the turn as mailed to a seat (None: all of them): the file that the transcript hashes."""
        match = self.match
        name = f"game-{match.game}-turn-{match.turn}"
        return canonical(
            {
                "pbem": "reports 1",
                "server": match.server,
                "match": match.id,
                "game": match.game,
                "turn": match.turn,
                "seat": seat,
                "salt": self.world.salt(f"reports/{name}-seat-{seat}.json" if seat else f"reports/{name}.json"),
                "reports": reports,
            }
        )

    def _go_on(self) -> None:
        """Play on while turns ask nobody, and end the game when the rules ended it."""
        while (position := self.match.position) is not None:
            if position.result is not None:
                self.end_game(position.result, goes_on=True)
                return
            if any(forced is None for forced in position.due.values()):
                return
            self._resolve()

    def end_game(self, result: Result, *, goes_on: bool, by: str = "") -> None:
        """The game is over: what was secret is laid open, and the match goes on or closes."""
        match = self.match
        assert match.position is not None
        turns = len(match.turns)
        ended = Ended(result.winner, tuple(result.scores), result.reason, turns)
        record = write(self._record(result)).encode()
        path = f"records/game-{match.game}.pbem.toml"
        self.papers.append(Paper(path, record, match.game))
        trace = self.trace("end", match.game)
        self.enter(
            "ended",
            {
                **trace,
                "game": match.game,
                "turns": turns,
                "winner": result.winner,
                "scores": list(result.scores),
                "reason": result.reason,
            },
        )
        self.enter("revealed", {"game": match.game, "record": digest(record)})
        self.match = replace(
            self.match,
            phase="ended",
            games=(*match.games, ended),
            previous=digest(record),
            orders={},
            stored={},
            resolve_at=None,
            banks=self._banks(),
            clocks={},
            missed=frozenset(),
            offers={},
        )
        self.tell("ended", game=match.game, ended=ended, by=by)
        if not goes_on:
            return
        if self._match_is_over(ended):
            early = match.terms.kind == "single" and ended.reason != "rules"
            self.close(self._winner(ended), ended.reason if early else "agreed length")
        else:
            assert match.options is not None
            carried = match.rules.carry(match.options, result)
            self._ask_for_setups(carried if match.terms.kind == "continued" else match.terms.first_options())

    def trace(self, what: str, game: int) -> dict[str, str]:
        """What was set aside up to the next entry, kept with the papers of this game, and how the entry names it."""
        match = self.match
        if match.bundle == 1:
            return {}
        found = self.world.set_aside(match, what)
        if found is None:
            found = self._set_aside(at_end=what == "end")
        path = f"traces/game-{match.game}-{what}.txt"
        place = (match.server, match.id, match.game, match.turn)
        trace = Trace.of(place, self.world.salt(path), (aside for _, aside in found)).text().encode()
        for _, aside in found:
            self.papers.append(Paper(aside.path, aside.paper.encode(), game))
            self.file_letter(aside.stem, aside.letter, aside.evidence, game, None)
        self.papers.append(Paper(path, trace, game))
        return {"trace": digest(trace)}

    def _set_aside(self, *, at_end: bool) -> list[tuple[int, SetAside]]:
        """What was set aside for what is due, by seat; at the end of the game of its default orders, too."""
        match = self.match
        submissions = match.setups if match.phase == "setup" else match.orders
        found = [(seat, aside) for seat, sent in sorted(submissions.items()) for aside in sent.aside]
        for seat in match.seats if at_end and match.phase == "playing" else ():
            if stored := match.stored.get((seat, ahead.DEFAULT)):
                found += [(seat, aside) for aside in stored.aside]
                if seat in match.missed and stored.standing and ahead.default(match, seat) is None:
                    found.append((seat, SetAside(stored.paper, stored.letter, stored.evidence)))
        return found

    def _record(self, result: Result) -> Record:
        match = self.match
        assert match.options is not None
        return Record(
            game=match.terms.game,
            rules=match.terms.edition,
            match=match.id,
            round=match.game,
            previous=match.previous,
            options=dict(match.options.changed),
            seats=tuple((match.name(seat), match.setups[seat].text) for seat in match.seats),
            turns=tuple(Turn(dict(turn.orders)) for turn in match.turns),
            result=RecordedResult(result.winner, tuple(result.scores), result.reason),
        )

    def _match_is_over(self, ended: Ended) -> bool:
        terms = self.match.terms
        if terms.games is not None and len(self.match.games) >= terms.games:
            return True
        return terms.target is not None and max(self.match.totals, default=sum(ended.scores)) >= terms.target

    def _winner(self, ended: Ended) -> int:
        """The match's winner by its victory condition: a seat, or 0 for a draw."""
        if self.match.terms.kind == "single" or self.match.terms.victory == "last game":
            return ended.winner
        totals = self.match.totals
        best = [seat for seat in self.match.seats if totals[seat - 1] == max(totals)]
        return best[0] if len(best) == 1 else 0

    def close(self, winner: int, reason: str) -> None:
        """The match is over."""
        outcome = {"winner": winner, "scores": list(self.match.totals), "reason": reason}
        over: dict[str, Any] = {"outcome": outcome, "clocks": {}, "missed": frozenset(), "offers": {}}
        trace = {}
        if self.match.phase == "setup":
            trace = self.trace("end", self.match.game - 1)
            over |= {"setups": {}, "resolve_at": None}
        self.enter("closed", {**outcome, **trace})
        self.match = replace(self.match, phase="closed", **over)
        self.tell("closed")


def _received(match: Match, body: Mapping[str, Any]) -> Iterator[str]:
    """When the letters came that wait, and those by which a match is agreed."""
    for submission in (*match.setups.values(), *match.orders.values(), *match.stored.values()):
        yield from submission.received
    for letter in body.get("letters", {}).values() if "terms" in body else ():
        yield letter["received"]


@dataclass(frozen=True, slots=True)
class _NoOrders:
    text: str = ""


_NONE = _NoOrders()

_USED_UP = Phrase("rev {rev} was here before; use a higher one")
