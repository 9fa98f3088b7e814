"""Faults that are put into the server to show that a simulated week finds them; people have really made each of them.

A plant replaces something in pbem while its block lasts. Other tests would find some of them, too; here they show
whether the weeks are hard enough, and the checks after each week strict enough.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from pbem.desk.reply_tokens import ReplyTokens
from pbem.desk.tournament.tournament_director import Director
from pbem.games import rules
from pbem.identity.sender_auth import Voucher
from pbem.match.changed import replace
from pbem.match.seat_clock import Clock, vacation_stop
from pbem.match.state import PAUSE
from pbem.player.correspondence.outgoing import FormOutbox
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import Secrets
from pbem.proof.compare.finding import JudgedLetter
from pbem.proof.prove import Against
from pbem.server.fetching import Fetcher
from pbem.store.errors import BusyError
from pbem.store.inbox import Inbox
from pbem.store.noted_time import Noted, Outages
from pbem.store.outbox import Outbox
from pbem.store.owners import _SENDINGS
from pbem.store.questions import Notifications
from pbem.store.sqlite import Sqlite
from pbem.store.tokens import Tokens
from pbem.tournament import crosstable
from pbem.tournament.tournament_entries import result_of
from pbem.tournament.tournament_state import Tournament
from pbem.tournament.tournament_step import TournamentStep
from simulation.elsewhere import Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime

    from pbem.mail.message import Letter
    from pbem.match.seat_clock import Stop
    from pbem.match.state import Match
    from pbem.match.transcript import Entry
    from pbem.player.memory import SentForm
    from pbem.store.inbox import InboxRow
    from pbem.store.tokens import Token
    from pbem.tournament.tournament_state import Pairing
    from simulation.runs import Plant
    from simulation.world import World

__all__ = ["PLANTED"]


@contextmanager
def commit_without_sync(_world: World) -> Iterator[None]:
    """A commit is not on disk when it returns: what SQLite advises for write-ahead logging."""
    prepare = Sqlite.prepare

    def hastily(engine: Sqlite) -> None:
        prepare(engine)
        engine.run("PRAGMA synchronous = NORMAL")

    with patch.object(Sqlite, "prepare", hastily):
        yield


@contextmanager
def lease_of_the_dead(_world: World) -> Iterator[None]:
    """What a desk had leased when it died is not given to the next one."""
    with patch.object(Inbox, "release_all", lambda _, **__: 0):
        yield


@contextmanager
def token_good_twice(_world: World) -> Iterator[None]:
    """A reply address is not used up by the letter that had an effect."""
    with patch.object(Tokens, "use", lambda *_: None):
        yield


@contextmanager
def miss_in_an_outage(_world: World) -> Iterator[None]:
    """An outage of the server moves no deadline."""
    with patch.object(Outages, "add", lambda *_: None):
        yield


@contextmanager
def any_clock_is_believed(_world: World) -> Iterator[None]:
    """The server goes by its clock, however it leaps."""
    with patch.object(Noted, "leapt", lambda *_: timedelta()):
        yield


@contextmanager
def sent_before_its_commit(world: World) -> Iterator[None]:
    """A letter is sent as soon as it is written, before it is on disk."""
    put = Outbox.put

    def eagerly(outbox: Outbox, recipient: str, message_id: str, raw: bytes, created: datetime) -> None:
        world.loop.call_soon(world._take, recipient, raw)
        put(outbox, recipient, message_id, raw, created)

    with patch.object(Outbox, "put", eagerly):
        yield


@contextmanager
def setup_in_the_open(_world: World) -> Iterator[None]:
    """A program sends its setup as in any match, also where it is sealed."""

    def openly(agent: Agent, match: str, text: str, now: datetime) -> SentForm:
        agent.vault.keep(Secrets.begun(agent._place(agent.letters.matches.standing(match)), text, agent._random))
        return agent.letters.set_up(match, text, now)

    with patch.object(Agent, "set_up", openly):
        yield


@contextmanager
def miss_in_a_pause(_world: World) -> Iterator[None]:
    """A match that the operator pauses stands still, and its deadlines do not move."""
    halted = Clock.halted

    def run_on(clock: Clock, reason: str, began: datetime) -> Clock:
        return clock if reason == PAUSE else halted(clock, reason, began)

    with patch.object(Clock, "halted", run_on):
        yield


@contextmanager
def vouched_for_once(_world: World) -> Iterator[None]:
    """A provider whose signature was once found good is believed from then on."""
    evidence, good = ReplyTokens._evidence, list[Voucher]()

    def credulous(tokens: ReplyTokens, letter: Letter, row: InboxRow, found: Voucher, token: Token) -> Any:
        if found.verdict.kind == "valid":
            good[:] = [found]
        elif good:
            found = replace(found, verdict=good[0].verdict, name=good[0].name)
        return evidence(tokens, letter, row, found, token)

    with patch.object(ReplyTokens, "_evidence", credulous):
        yield


@contextmanager
def restored_as_if_nothing_was(_world: World) -> Iterator[None]:
    """After a restore the server plays on, and tells nobody that it forgot something."""
    with patch("pbem.desk.instructions.Operator._restored", lambda *_: "restored"):
        yield


@contextmanager
def deaf_to_witnesses(_world: World) -> Iterator[None]:
    """A witness that lost its memory says what it knows, and is asked the same again."""
    with patch("pbem.desk.witnesses.Witnesses._behind", lambda *_: "witness is behind"):
        yield


@contextmanager
def moved_without_its_outbox(_world: World) -> Iterator[None]:
    """A table is left out when the store is moved: the letters that wait in it are never sent."""
    with patch("pbem.store.restore.LEFT", frozenset({"owners", "outbox"})):
        yield


@contextmanager
def told_without_a_code(_world: World) -> Iterator[None]:
    """A topic counts as confirmed as soon as somebody names it."""
    with patch.object(Notifications, "is_confirmed", lambda topics, player: topics.of(player) is not None):
        yield


@contextmanager
def told_for_ever(_world: World) -> Iterator[None]:
    """What arrived at a topic is not noted."""
    with patch.object(Notifications, "settle", lambda *_, **__: None):
        yield


@contextmanager
def any_signature_holds(_world: World) -> Iterator[None]:
    """A signature counts if its key is the player's, whatever the text is."""
    with patch("pbem.identity.ssh.verify", lambda *_: True):
        yield


@contextmanager
def vacation_without_a_zone(_world: World) -> Iterator[None]:
    """A day off begins and ends as in Greenwich, wherever its player lives."""

    def in_greenwich(first: date, last: date, _zone: str, now: datetime) -> Stop:
        return vacation_stop(first, last, "UTC", now)

    with patch("pbem.desk.commands.beside_orders.vacation_stop", in_greenwich):
        yield


@contextmanager
def any_date_will_do(_world: World) -> Iterator[None]:
    """A letter may say that it was written at any time."""
    with patch("pbem.desk.authenticate.misdated", lambda *_: None):
        yield


@contextmanager
def deaf_and_on_time(_world: World) -> Iterator[None]:
    """The clock knows nothing of a mailbox that gives no answer: time goes on, and no letter lies there."""
    with patch.object(Inbox, "_looked", lambda *_: None), patch.object(Inbox, "heard_until", lambda _, now: now):
        yield


@contextmanager
def result_forgotten(world: World) -> Iterator[None]:
    """The result of a match is taken after its end is on disk: who dies in between never takes it."""
    over = Director.over

    def later(director: Director, match: Match, now: datetime) -> Callable[[], None]:
        dies = world.machine.draw.random() < 0.1
        return (lambda: None) if dies else over(director, match, now)

    with patch.object(Director, "over", later):
        yield


@contextmanager
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


@contextmanager
def pair_left_out(_world: World) -> Iterator[None]:
    """The last pair of the last round never meets."""
    whole = crosstable.round_robin

    def most(*given: Any, **how: Any) -> Any:
        return list(whole(*given, **how))[:-1]

    with patch("pbem.tournament.fold.round_robin", most):
        yield


@contextmanager
def any_place_will_do(_world: World) -> Iterator[None]:
    """Signed words count wherever they come, whatever match and player they name."""
    with patch("pbem.desk.dispatch._demand_place", lambda *_: None):
        yield


@contextmanager
def moved_before_it_is_kept(_world: World) -> Iterator[None]:
    """A letter is moved away in its mailbox, and stored then."""

    def hastily(fetcher: Fetcher) -> bool:
        came = False
        for found in fetcher.mailbox.letters():
            came = fetcher._moved(found.handle)
            fetcher.points("letter moved")
            fetcher._in_loop(fetcher.keeping.letter, found.raw)
        return came

    with patch.object(Fetcher, "_look", hastily):
        yield


@contextmanager
def any_mailbox_will_do(_world: World) -> Iterator[None]:
    """Words that nobody signed count in the name of whoever is said to have written them."""
    with patch("pbem.desk.dispatch.Dispatch._demand_mailbox", lambda *_: None):
        yield


@contextmanager
def entries_are_not_made_again(_world: World) -> Iterator[None]:
    """The verifier makes each entry again, and does not compare it with the one that it was given."""
    with patch("pbem.match.transcript_replay._compare", lambda *_: None):
        yield


@contextmanager
def letters_are_not_held_against_it(_world: World) -> Iterator[None]:
    """`pbem verify --against` finds nothing in any letter."""
    with patch.object(Against, "judge", lambda _, kept: JudgedLetter(kept, ())):
        yield


@contextmanager
def altered_letters_are_believed(_world: World) -> Iterator[None]:
    """`pbem verify --against` takes what a letter shows as signed for signed."""
    with patch("pbem.proof.compare.index.is_signature", lambda *_: True):
        yield


@contextmanager
def commits_on_hearsay(_world: World) -> Iterator[None]:
    """A letter whose commit got no answer is taken for stored."""
    put_all = Inbox.put_all

    def hope(inbox: Inbox, letters: Sequence[Any], *rest: Any, **more: Any) -> list[int | None]:
        try:
            return put_all(inbox, letters, *rest, **more)
        except BusyError:
            return [0] * len(letters)

    with patch.object(Inbox, "put_all", hope):
        yield


@contextmanager
def left_is_arrived(_world: World) -> Iterator[None]:
    """A program takes a letter that its mail system accepted for one that arrived, and looks for no answer."""
    has_left = FormOutbox.has_left

    def trust(outbox: FormOutbox, sent: SentForm) -> None:
        has_left(outbox, sent)
        if sent.match:  # an account begins with an answer
            outbox._memory.settle(sent.id, "done")

    with patch.object(FormOutbox, "has_left", trust):
        yield


@contextmanager
def writes_on_when_deposed(_world: World) -> Iterator[None]:
    """A connection that was lost is replaced, and decides on, though another server may decide by now."""
    with patch.object(Remote, "_reach_to_write", Remote._reach):
        yield


@contextmanager
def condition_of_the_other(_world: World) -> Iterator[None]:
    """A condition is judged for the other seat than the one that ordered: seats are counted from 0 somewhere."""
    game = type(rules("spaceships"))
    holds = game.holds  # type: ignore[attr-defined] # of the games whose orders may have conditions

    def for_the_other(self: Any, state: Any, seat: int, *rest: Any) -> bool:
        return bool(holds(self, state, 3 - seat, *rest))

    with patch.object(game, "holds", for_the_other):
        yield


@contextmanager
def opened_is_honest(_world: World) -> Iterator[None]:
    """Whoever reveals what opens all commitments is honest: what was told meanwhile is not computed again."""
    with patch("pbem.games.sealed.Answering.first_false", lambda *_: None):
        yield


@contextmanager
def sendings_of_the_dead(_world: World) -> Iterator[None]:
    """What a dead server was sending is given back to nobody."""
    with patch("pbem.store.owners._SENDINGS", f"{_SENDINGS} AND FALSE"):
        yield


@contextmanager
def nobody_is_asked(_world: World) -> Iterator[None]:
    """Whom one player names for a seat may take it: the others are told, and not asked."""
    with patch("pbem.match.events.substituted._unwilling", lambda *_: []):
        yield


@contextmanager
def sendings_of_the_living(_world: World) -> Iterator[None]:
    """What a server is sending is given back as soon as another asks, though the first one lives."""
    with patch("pbem.store.owners._SENDINGS", "UPDATE outbox SET state = 'waiting' WHERE state = 'leased'"):
        yield


@contextmanager
def silent_for_ever(_world: World) -> Iterator[None]:
    """A server that decides and falls silent keeps its lock, as long as its connections stand."""
    with patch.object(Remote, "depose", lambda *_: None):
        yield


PLANTED: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        commit_without_sync,
        lease_of_the_dead,
        token_good_twice,
        miss_in_an_outage,
        any_clock_is_believed,
        sent_before_its_commit,
        setup_in_the_open,
        vouched_for_once,
        moved_before_it_is_kept,
        deaf_and_on_time,
        result_forgotten,
        result_counted_again,
        pair_left_out,
        vacation_without_a_zone,
        told_without_a_code,
        told_for_ever,
        deaf_to_witnesses,
        miss_in_a_pause,
        restored_as_if_nothing_was,
        moved_without_its_outbox,
        any_signature_holds,
        any_date_will_do,
        any_place_will_do,
        any_mailbox_will_do,
        entries_are_not_made_again,
        letters_are_not_held_against_it,
        altered_letters_are_believed,
        commits_on_hearsay,
        left_is_arrived,
        condition_of_the_other,
        opened_is_honest,
        nobody_is_asked,
        writes_on_when_deposed,
        sendings_of_the_dead,
        sendings_of_the_living,
        silent_for_ever,
    )
}
"""The plants by their names."""
