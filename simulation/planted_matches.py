"""Faults in matches, planted as in `simulation.planted`: in clocks, seats, secrets, reports and results."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from msgspec.structs import replace

from pbem.desk.letter_handling import WorkingDesk
from pbem.desk.match_archive import MatchRepository
from pbem.desk.match_letters import MatchLetters
from pbem.desk.tournament.tournament_director import Director
from pbem.games import part_of, parts, rules
from pbem.games.spaceships.space import names
from pbem.match.events.clocks import OUTAGE
from pbem.match.seat_clock import Clock, vacation_stop
from pbem.match.state import PAUSE
from pbem.match.step import Environment
from pbem.player.correspondence.belief import Belief
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import Secrets
from pbem.store.inbox import Inbox
from pbem.store.noted_time import Outages
from pbem.store.tlog import TransparencyLog
from pbem.tournament import crosstable
from pbem.tournament.tournament_entries import result_of
from pbem.tournament.tournament_state import Tournament
from pbem.tournament.tournament_step import TournamentStep
from simulation.planted import LYING, ONE, PLANTED, SHORT_CALM, planted
from simulation.players import Habits
from simulation.runs import CALM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime

    from pbem.match.seat_clock import Stop
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.match.transcript import Entry
    from pbem.player.memory import SentForm
    from pbem.tournament.tournament_state import Pairing
    from simulation.world import World

__all__ = ["PLANTED"]

REGISTERED = 36_000.0  # seconds after which a match is under way


@planted(replace(SHORT_CALM, days=4.0, games=("spaceships",), leisure=3600.0, pace="12h", accidents=True), cheap=True)
def miss_in_an_outage(_world: World) -> Iterator[None]:
    """An outage of the server moves no deadline."""
    with patch.object(Outages, "add", lambda *_: None):
        yield


@planted(
    replace(CALM, games=("dueling-masters",), days=3.0, leisure=5 * 3600.0, pace="8h", accidents=True, steps=0.0)
)
def outage_counted_twice(_world: World) -> Iterator[None]:
    """Clocks stand in an outage, and their time is lengthened by it as well."""
    with_stops = Clock.with_stops

    def lengthened(clock: Clock, reason: str, stops: Sequence[Stop]) -> Clock:
        stood = sum((stop.ended - stop.began for stop in stops if stop.ended), timedelta())
        longer = replace(clock, time=clock.time + int(stood.total_seconds()))
        return with_stops(longer if reason == OUTAGE else clock, reason, stops)

    with patch.object(Clock, "with_stops", lengthened):
        yield


@planted(replace(SHORT_CALM, days=1.0, careless=1.0))
def miss_beside_a_letter(world: World) -> Iterator[None]:
    """A server that dies at work on late letters looks at the clock first, and not which of them came in time."""
    world.later(REGISTERED, world.machine.planned.extend, ["letter leased"] * 9)
    for player in world.players.values():
        player.habits = Habits(last=1.0)
    handle_next = WorkingDesk.handle_next

    def hastily(desk: WorkingDesk, now: datetime) -> int:
        desk.tick(now)
        return handle_next(desk, now)

    with patch.object(Inbox, "oldest_unhandled", lambda _: None), patch.object(WorkingDesk, "handle_next", hastily):
        yield


@planted(replace(ONE, parts=("sealed",)), cheap=True)
def setup_in_the_open(_world: World) -> Iterator[None]:
    """A program sends its setup as in any match, also where it is sealed."""

    def openly(agent: Agent, match: str, text: str, now: datetime) -> SentForm:
        agent.vault.keep(Secrets.begun(agent._place(agent.letters.matches.standing(match)), text, agent._random))
        return agent.letters.set_up(match, text, now)

    with patch.object(Agent, "set_up", openly):
        yield


@planted(replace(SHORT_CALM, days=2.0, pauses=1.0))
def miss_in_a_pause(_world: World) -> Iterator[None]:
    """A match that the operator pauses stands still, and its deadlines do not move."""
    halted = Clock.halted

    def run_on(clock: Clock, reason: str, began: datetime) -> Clock:
        return clock if reason == PAUSE else halted(clock, reason, began)

    with patch.object(Clock, "halted", run_on):
        yield


@planted(replace(ONE, parts=("summer",), days=3.0, careless=0.0))
def vacation_without_a_zone(_world: World) -> Iterator[None]:
    """A day off begins and ends as in Greenwich, wherever its player lives."""

    def in_greenwich(first: date, last: date, _zone: str, now: datetime) -> Stop:
        return vacation_stop(first, last, "UTC", now)

    with patch("pbem.desk.commands.beside_orders.vacation_stop", in_greenwich):
        yield


@planted(replace(ONE, parts=("tournament",), games=("spaceships", "shoot-em-up")))
def result_forgotten(world: World) -> Iterator[None]:
    """The result of a match is taken after its end is on disk: who dies in between never takes it."""
    over = Director.over

    def later(director: Director, match: Match, now: datetime) -> Callable[[], None]:
        dies = world.machine.draw.random() < 0.1
        return (lambda: None) if dies else over(director, match, now)

    with patch.object(Director, "over", later):
        yield


@planted(replace(ONE, parts=("tournament",), games=("spaceships", "shoot-em-up")))
def result_counted_again(world: World) -> Iterator[None]:
    """A server that does not know whether it took the result of a match takes it again."""
    over, pairing_of = Director.over, Tournament.pairing_of

    def take(step: TournamentStep, entries: Sequence[Entry]) -> None:
        body = result_of(entries)
        if body is not None and step.tournament.phase == "playing":
            step._append("result", body)

    def without_result(t: Tournament, match: str) -> Pairing | None:
        found = pairing_of(t, match)
        return found and replace(found, result=None)

    def again(director: Director, match: Match, now: datetime) -> Callable[[], None]:
        then = over(director, match, now)
        return then if world.machine.draw.random() < 0.5 else lambda: (then(), over(director, match, now)())[1]

    with (
        patch.object(Director, "over", again),
        patch.object(TournamentStep, "take", take),
        patch.object(Tournament, "pairing_of", without_result),
    ):
        yield


@planted(replace(ONE, parts=("tournament",), games=("spaceships", "shoot-em-up")))
def pair_left_out(_world: World) -> Iterator[None]:
    """The last pair of the last round never meets."""
    whole = crosstable.round_robin

    def most(*given: Any, **how: Any) -> Any:
        return list(whole(*given, **how))[:-1]

    with patch("pbem.tournament.fold.round_robin", most):
        yield


@planted(replace(SHORT_CALM, parts=("keyless",), games=("spaceships",), days=1.0))
def condition_of_the_other(_world: World) -> Iterator[None]:
    """A condition is judged for the other seat than the one that ordered: seats are counted from 0 somewhere."""
    conditions = type(part_of("spaceships", "conditions"))
    holds = conditions.holds

    def for_the_other(self: Any, state: Any, seat: int, *rest: Any) -> bool:
        return bool(holds(self, state, 3 - seat, *rest))

    with patch.object(conditions, "holds", for_the_other):
        yield


@planted(replace(LYING, parts=("sealed",), games=("spaceships",), days=1.0))
def opened_is_honest(_world: World) -> Iterator[None]:
    """Whoever reveals what opens all commitments is honest: what was told meanwhile is not computed again."""
    with patch("pbem.games.sealed.Answering.first_false", lambda *_: None):
        yield


@planted(replace(SHORT_CALM, parts=("substitutes",), days=1.0))
def nobody_is_asked(_world: World) -> Iterator[None]:
    """Whom one player names for a seat may take it: the others are told, and not asked."""
    with patch("pbem.match.events.substituted._unwilling", lambda *_: []):
        yield


@planted(SHORT_CALM, cheap=True)
def report_sent_twice(_world: World) -> Iterator[None]:
    """The report of a turn is written twice, and so sent in two letters."""
    tell = MatchLetters.tell

    def twice(letters: MatchLetters, notices: Sequence[Notice], *rest: Any) -> None:
        tell(letters, notices, *rest)
        tell(letters, [notice for notice in notices if notice.kind == "turn"], *rest)

    with patch.object(MatchLetters, "tell", twice):
        yield


@planted(replace(SHORT_CALM, games=("spaceships",)))
def cell_too_many_in_a_report(_world: World) -> Iterator[None]:
    """A report of a strike names one more cell than the rules let anybody know."""
    game = type(rules("spaceships"))
    turn = game.turn

    def talkative(*given: Any) -> Any:
        state, reports = turn(*given)
        for report in reports[:1]:
            report["explosions"] = [*report.get("explosions", ()), "Yz1"]
        return state, reports

    with patch.object(game, "turn", staticmethod(talkative)):
        yield


@planted(replace(SHORT_CALM, games=("spaceships",)))
def cell_too_many_in_a_position(_world: World) -> Iterator[None]:
    """The position in a letter shows one undamaged cell of the other's ships that no report has told."""
    view = parts.view

    def talkative(game: Any, state: Any, seat: int | None, turns: Any) -> Any:
        shown: Any = view(game, state, seat, turns)
        for other, known in shown["known"].items() if shown["turn"] > 1 else ():
            cells = names(state.sides[int(other) - 1].setup.cells)
            shown = {**shown, "known": {other: {**known, "ship": [*known["ship"], *cells[:1]]}}}
        return shown

    with patch.object(parts, "view", talkative):
        yield


@planted(replace(SHORT_CALM, careless=1.0, days=2.0))
def grace_short_by_a_second(_world: World) -> Iterator[None]:
    """The grace ends a second before it is over."""
    ends = vars(Clock)["grace_ends"].fget

    def early(clock: Clock) -> datetime | None:
        return None if (end := ends(clock)) is None else end - timedelta(seconds=1)

    with patch.object(Clock, "grace_ends", property(early)):
        yield


@planted(SHORT_CALM, cheap=True)
def rated_twice(_world: World) -> Iterator[None]:
    """A match counts twice in the standings."""
    rate = MatchRepository._rate

    def again(archive: MatchRepository, match: Match) -> None:
        rate(archive, match)
        rate(archive, match)

    with patch.object(MatchRepository, "_rate", again):
        yield


@planted(SHORT_CALM, cheap=True)
def not_rated(_world: World) -> Iterator[None]:
    """A match that was played to its end does not count in the standings."""
    with patch.object(MatchRepository, "_rate", lambda *_: None):
        yield


@planted(SHORT_CALM, cheap=True)
def one_salt_for_all(_world: World) -> Iterator[None]:
    """All papers have the same salt."""
    with patch.object(Environment, "salt", lambda *_: "5a" * 32):
        yield


@planted(replace(SHORT_CALM, parts=("witnesses",)), cheap=True)
def heads_not_logged(_world: World) -> Iterator[None]:
    """No head of a transcript is put into the log that witnesses see."""
    with patch.object(TransparencyLog, "queue", lambda *_, **__: None):
        yield


@planted(replace(SHORT_CALM, restores=1.0, days=1.0, backup=6.0))
def break_not_noticed(_world: World) -> Iterator[None]:
    """A player's program believes a restored server, and does not say what that forgot."""
    with patch.object(Belief, "_lost", lambda *_: []):
        yield
