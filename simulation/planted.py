"""Faults that are put into the server to show that a simulated week finds them; people have really made each of them.

A plant replaces something in pbem while its block lasts. Other tests would find some of them, too; here they show
whether the weeks are hard enough, and the checks after each week strict enough.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from msgspec.structs import replace

from pbem.desk.reply_tokens import ReplyTokens
from pbem.identity.sender_auth import Voucher
from pbem.player.correspondence.outgoing import FormOutbox
from pbem.proof.compare.finding import JudgedLetter
from pbem.proof.prove import Against
from pbem.server.fetching import Fetcher
from pbem.store.errors import BusyError
from pbem.store.inbox import Inbox
from pbem.store.noted_time import Noted
from pbem.store.outbox import Outbox
from pbem.store.owners import _SENDINGS
from pbem.store.questions import Notifications
from pbem.store.sqlite import Sqlite
from simulation.elsewhere import Remote
from simulation.runs import CALM, CHANCES, Plant
from simulation.world import Week

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from pbem.desk.caller import Incoming
    from pbem.player.memory import SentForm
    from pbem.store.tokens import Token
    from simulation.world import World

__all__ = ["FALSE", "LYING", "ONE", "PLANTED", "SHORT_CALM", "Fault", "planted"]

BUSY = Week(days=0.5, games=("spaceships",), parts=(), leisure=1800.0, pace="4h", deaths=30)
ONE = replace(BUSY, deaths=2, lies=0, **dict.fromkeys(set(CHANCES) - {"careless", "forged"}, 0.0))
"""For one further part."""
QUIET = Week(games=("spaceships",), parts=(), deaths=2, careless=0.0, troubles=False)
SHORT_CALM = replace(CALM, days=0.5, games=("shoot-em-up",), leisure=1800.0)
LYING = replace(SHORT_CALM, liars=1.0)
FALSE = replace(SHORT_CALM, lies=20)
SHARED = replace(SHORT_CALM, days=0.3, distant=1.0, deaths=20, troubles=True)


class Fault(NamedTuple):
    """A fault, and weeks that find it: little happens in them beside what it needs."""

    plant: Plant
    week: Week
    cheap: bool


PLANTED: dict[str, Fault] = {}
"""The faults by name: those here, and those of `simulation.planted_matches`."""


def planted(week: Week, *, cheap: bool = False) -> Callable[[Callable[[World], Iterator[None]]], None]:
    """Adds a fault to the table; it is `cheap` if a few weeks find it in seconds."""

    def add(plant: Callable[[World], Iterator[None]]) -> None:
        PLANTED[plant.__name__] = Fault(contextmanager(plant), week, cheap)

    return add


@planted(BUSY)
def commit_without_sync(_world: World) -> Iterator[None]:
    """A commit is not on disk when it returns: what SQLite advises for write-ahead logging."""
    prepare = Sqlite.prepare

    def hastily(engine: Sqlite) -> None:
        prepare(engine)
        engine.run("PRAGMA synchronous = NORMAL")

    with patch.object(Sqlite, "prepare", hastily):
        yield


@planted(BUSY)
def lease_of_the_dead(_world: World) -> Iterator[None]:
    """What a desk had leased when it died is not given to the next one."""
    with patch.object(Inbox, "release_all", lambda _, **__: 0):
        yield


@planted(
    Week(days=3.0, games=("spaceships",), parts=(), deaths=0, careless=0.0, troubles=False, accidents=False),
    cheap=True,
)
def token_good_twice(_world: World) -> Iterator[None]:
    """A reply address is not used up by the letter that had an effect."""
    with patch.object(ReplyTokens, "use", lambda *_: None):
        yield


@planted(replace(QUIET, steps=1.0))
def any_clock_is_believed(_world: World) -> Iterator[None]:
    """The server goes by its clock, however it leaps."""
    with patch.object(Noted, "leapt", lambda *_: timedelta()):
        yield


@planted(BUSY)
def sent_before_its_commit(world: World) -> Iterator[None]:
    """A letter is sent as soon as it is written, before it is on disk."""
    put = Outbox.put

    def eagerly(outbox: Outbox, recipient: str, message_id: str, raw: bytes, created: datetime) -> None:
        world.loop.call_soon(world._take, recipient, raw)
        put(outbox, recipient, message_id, raw, created)

    with patch.object(Outbox, "put", eagerly):
        yield


@planted(replace(ONE, parts=("keyless",), days=1.0, careless=0.0))
def vouched_for_once(_world: World) -> Iterator[None]:
    """A provider whose signature was once found good is believed from then on."""
    evidence, good = ReplyTokens._evidence, list[Voucher]()

    def credulous(tokens: ReplyTokens, mail: Incoming, token: Token) -> Any:
        found = mail.understood.voucher
        if found.verdict.kind == "valid":
            good[:] = [found]
        elif good:
            found = replace(found, verdict=good[0].verdict, name=good[0].name)
        return evidence(tokens, replace(mail, understood=replace(mail.understood, voucher=found)), token)

    with patch.object(ReplyTokens, "_evidence", credulous):
        yield


@planted(replace(SHORT_CALM, restores=1.0), cheap=True)
def restored_as_if_nothing_was(_world: World) -> Iterator[None]:
    """After a restore the server plays on, and tells nobody that it forgot something."""
    with patch("pbem.desk.instructions.Operator._restore", lambda *_: "restored"):
        yield


@planted(replace(ONE, parts=("witnesses",), days=1.0))
def deaf_to_witnesses(_world: World) -> Iterator[None]:
    """A witness that lost its memory says what it knows, and is asked the same again."""
    with patch("pbem.desk.witnesses.Witnesses._behind", lambda *_: "witness is behind"):
        yield


@planted(replace(SHORT_CALM, moves=1.0, troubles=True))
def moved_without_its_outbox(_world: World) -> Iterator[None]:
    """A table is left out when the store is moved: the letters that wait in it are never sent."""
    with patch("pbem.store.restore.LEFT", frozenset({"owners", "outbox"})):
        yield


@planted(replace(ONE, parts=("notices",)), cheap=True)
def told_without_a_code(_world: World) -> Iterator[None]:
    """A topic counts as confirmed as soon as somebody names it."""
    with patch.object(Notifications, "is_confirmed", lambda topics, player: topics.of(player) is not None):
        yield


@planted(replace(ONE, parts=("notices",), days=0.25))
def told_for_ever(_world: World) -> Iterator[None]:
    """What arrived at a topic is not noted."""
    with patch.object(Notifications, "settle", lambda *_, **__: None):
        yield


@planted(LYING)
def any_signature_holds(_world: World) -> Iterator[None]:
    """A signature counts if its key is the player's, whatever the text is."""
    with patch("pbem.identity.ssh.verify", lambda *_: True):
        yield


@planted(LYING)
def any_date_will_do(_world: World) -> Iterator[None]:
    """A letter may say that it was written at any time."""
    with patch("pbem.desk.authenticate.misdated", lambda *_: None):
        yield


@planted(replace(ONE, parts=("mailbox",), days=2.0, careless=0.0))
def deaf_and_on_time(_world: World) -> Iterator[None]:
    """The clock knows nothing of a mailbox that gives no answer: time goes on, and no letter lies there."""
    with patch.object(Inbox, "_looked", lambda *_: None), patch.object(Inbox, "heard_until", lambda _, now: now):
        yield


@planted(LYING)
def any_place_will_do(_world: World) -> Iterator[None]:
    """Signed words count wherever they come, whatever match and player they name."""
    with patch("pbem.desk.dispatch._demand_place", lambda *_: None):
        yield


@planted(replace(ONE, parts=("mailbox",), deaths=30))
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


@planted(LYING)
def any_mailbox_will_do(_world: World) -> Iterator[None]:
    """Words that nobody signed count in the name of whoever is said to have written them."""
    with patch("pbem.desk.dispatch.Dispatch._demand_mailbox", lambda *_: None):
        yield


@planted(FALSE)
def entries_are_not_made_again(_world: World) -> Iterator[None]:
    """The verifier makes each entry again, and does not compare it with the one that it was given."""
    with patch("pbem.match.transcript_replay._compare", lambda *_: None):
        yield


@planted(FALSE)
def letters_are_not_held_against_it(_world: World) -> Iterator[None]:
    """`pbem verify --against` finds nothing in any letter."""
    with patch.object(Against, "judge", lambda _, kept: JudgedLetter(kept, ())):
        yield


@planted(FALSE)
def altered_letters_are_believed(_world: World) -> Iterator[None]:
    """`pbem verify --against` takes what a letter shows as signed for signed."""
    with patch("pbem.proof.compare.index.is_signature", lambda *_: True):
        yield


@planted(replace(SHORT_CALM, distant=1.0))
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


@planted(replace(SHORT_CALM, held=0.3))
def left_is_arrived(_world: World) -> Iterator[None]:
    """A program takes a letter that its mail system accepted for one that arrived, and looks for no answer."""
    has_left = FormOutbox.has_left

    def trust(outbox: FormOutbox, sent: SentForm) -> None:
        has_left(outbox, sent)
        if sent.match:  # an account begins with an answer
            outbox._memory.settle(sent.id, "done")

    with patch.object(FormOutbox, "has_left", trust):
        yield


@planted(SHARED)
def writes_on_when_deposed(_world: World) -> Iterator[None]:
    """A connection that was lost is replaced, and decides on, though another server may decide by now."""
    with patch.object(Remote, "_reach_to_write", Remote._reach):
        yield


@planted(SHARED)
def sendings_of_the_dead(_world: World) -> Iterator[None]:
    """What a dead server was sending is given back to nobody."""
    with patch("pbem.store.owners._SENDINGS", f"{_SENDINGS} AND FALSE"):
        yield


@planted(replace(SHARED, deaths=2))
def sendings_of_the_living(_world: World) -> Iterator[None]:
    """What a server is sending is given back as soon as another asks, though the first one lives."""
    with patch("pbem.store.owners._SENDINGS", "UPDATE outbox SET state = 'waiting' WHERE state = 'leased'"):
        yield


@planted(replace(SHARED, days=1.0))
def silent_for_ever(_world: World) -> Iterator[None]:
    """A server that decides and falls silent keeps its lock, as long as its connections stand."""
    with patch.object(Remote, "depose", lambda *_: None):
        yield
