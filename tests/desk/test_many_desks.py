"""Several desks work on one store: each letter has one effect, in its place, whatever the others decide meanwhile."""

from __future__ import annotations

import random
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referee import SERVER, Die, Mailbox, Referee, form_in, new
from stores import POSTGRESQL, heard
from structlog.testing import capture_logs

from pbem.desk import clock, late_delivery
from pbem.desk.authenticate import authenticate
from pbem.desk.decisions import decide
from pbem.desk.reading import InProcess
from pbem.desk.reply_tokens import NeedsDns
from pbem.desk.wiring import Desk
from pbem.identity import parse_key, ssh
from pbem.mail.compose import Composer
from pbem.store.database import Database, to_db
from pbem.store.errors import BusyError, OvertakenError
from pbem.store.inbox import ATTEMPTS, Envelope
from pbem.store.operator import Box, Instructions
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.store.engine import Engine
    from pbem.store.inbox import InboxRow

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"


@pytest.fixture
def other(referee: Referee) -> Iterator[Desk]:
    """A second desk of the same server, on a connection of its own."""
    with closing(Database(referee.database.place, owner="the other")) as database:
        yield beside(referee, database)


def beside(referee: Referee, database: Database) -> Desk:
    composer = Composer(SERVER, "pbem", referee.templates)
    reader = InProcess(referee.config.limits)
    signing_key = referee.signing_key
    return Desk(referee.config, database, referee.vault, signing_key, composer, Die(database.owner), reader)


def put(referee: Referee, person: Mailbox, text: str, to: str = f"pbem@{SERVER}") -> int:
    """A letter of a player's, which waits."""
    raw = referee.raw(person, referee.signed(person, text))
    return referee.inbox.put(Envelope(person.address, (to,)), raw, referee.now)


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> list[str]:
    """Let something happen once, when the first answer is put into words: it was decided, and is not written yet."""
    compose = Composer.compose
    done: list[str] = []

    def composed(*given: Any, **named: Any) -> bytes:
        if not done:
            done.append("begun")
            do()
        return compose(*given, **named)

    monkeypatch.setattr(Composer, "compose", composed)
    return done


@pytest.mark.parametrize("cold", [False, True])
def test_two_desks_take_turns(referee: Referee, other: Desk, *, cold: bool) -> None:
    """What waits of a match is no part of its head: a desk that goes by the head alone never resolves a turn."""
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
    desks = [referee.desk, other]
    for desk in desks:
        assert desk.archive.load(1)
    for cell in ("Rv1", "Rv3", "Bz5"):
        for person, text in ((ann, cell), (bob, "")):
            desks.reverse()
            if cold:
                desks[0].archive.forget()
            referee.desk = desks[0]
            referee.turn((person, text))
    assert any(", the end" in str(letter["Subject"]) for letter in ann.letters)


def test_two_last_orders_at_once_resolve_the_turn_once(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each desk decides that the other player's orders are awaited still; the later one decides anew."""
    ann, bob = referee.begun()
    for person in (ann, bob):
        put(referee, person, person.filled("orders", f"final\n{ORDERS}"))
    before = len(ann.letters), len(bob.letters)
    lease = referee.desk.inbox.lease_some
    monkeypatch.setattr(
        referee.desk.inbox, "lease_some", lambda _most, now, *, fresh=False: [] if fresh else lease(1, now)
    )
    done = meanwhile(monkeypatch, lambda: other.handle_next(referee.now))
    assert referee.desk.handle_next(referee.now)
    assert done
    assert referee.match().turn == 2
    referee.work()
    assert referee.inbox.count("done") == referee.inbox.count()
    assert (len(ann.letters), len(bob.letters)) == (before[0] + 2, before[1] + 2)  # a receipt, and the reports


def test_a_key_that_is_added_while_a_match_begins_is_pinned_in_it(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob's acceptance was decided on with the keys that Ann had before."""
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, new(ann, "spaceships", "bob", options=""))
    key = parse_key(ssh.public(Ed25519PrivateKey.from_private_bytes(bytes(32))))

    def change() -> None:
        with other.database.transaction():
            other.players.add_key("ann", KeyRow(key.format, key.fingerprint, key.public), to_db(referee.now))

    done = meanwhile(monkeypatch, change)
    put(referee, bob, form_in(bob.text, "accept", lines=1))
    referee.work()
    assert done
    (first, *_) = referee.desk.archive.matches.entries(1)
    assert key.fingerprint.encode() in first.entry


def test_a_key_that_is_added_while_a_letter_waits_for_the_dns_is_known_to_the_next(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom a letter found that is left for later, the decision on the others stands on as well."""
    ann = referee.registered("ann")
    first, second = (put(referee, ann, f"help {topic}") for topic in ("key", "mailbox"))
    judged: list[int] = []

    def waits(desk: Desk, letter: Any, row: InboxRow, *given: Any) -> Any:
        judged.append(row.id)
        found = authenticate(desk, letter, row, *given)
        if row.id == first:
            raise NeedsDns(("mail.example",), 1)
        return found

    def change() -> None:
        with other.database.transaction():
            other.players.add_key("ann", KeyRow("ssh", "SHA256:new", "ssh-ed25519 new"), to_db(referee.now))

    monkeypatch.setattr("pbem.desk.inbox.authenticate", waits)
    done = meanwhile(monkeypatch, change)
    assert referee.desk.handle_next(referee.now)
    assert done
    assert judged.count(second) > 1
    assert referee.inbox.outcome(second) == ("done", "commands: help")


def test_letters_of_one_sender_come_in_order(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    first = put(referee, ann, ann.filled("orders", ORDERS, 1))
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [first]
    put(referee, ann, ann.filled("orders", ORDERS, 2))
    of_bob = put(referee, bob, bob.filled("orders", ORDERS))
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [of_bob]
    referee.desk.inbox.give_back(first)
    assert [row.envelope.sender for row in other.inbox.lease_some(8, referee.now)] == [ann.address] * 2


def test_a_desk_knows_that_letters_wait_behind_one_in_hand(referee: Referee, other: Desk) -> None:
    """It looks again soon: nobody wakes it when there is no more than the backlog."""
    ann, _ = referee.begun()
    assert not referee.desk.held_up()
    put(referee, ann, "status")
    put(referee, ann, "whoami")
    (in_hand,) = other.inbox.lease_some(1, referee.now)
    assert not referee.desk.handle_next(referee.now)
    assert referee.desk.held_up()
    other.inbox.give_back(in_hand.id)
    assert referee.desk.handle_next(referee.now) == 2
    assert not referee.desk.held_up()


def test_letters_to_the_address_of_one_match_come_in_order(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    to = "pbem+m1.0123456789abcdef@play.example"
    first = put(referee, ann, ann.filled("orders", ORDERS), to)
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [first]
    put(referee, bob, bob.filled("orders", ORDERS), to)
    elsewhere = put(referee, referee.person("eve"), "status", "pbem+m2.0123456789abcdef@play.example")
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [elsewhere]


def test_a_letter_that_waits_for_its_match_is_not_overtaken_by_the_next(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    to = "pbem+m1.0123456789abcdef@play.example"
    of_bob = put(referee, bob, bob.filled("orders", ORDERS), to)
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [of_bob]
    first = put(referee, ann, ann.filled("orders", ORDERS, 1), to)
    second = put(referee, ann, ann.filled("orders", ORDERS, 2))
    assert other.inbox.lease_some(8, referee.now) == []
    elsewhere = put(referee, referee.person("eve"), "status")
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [elsewhere]
    referee.desk.inbox.give_back(of_bob)
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [of_bob, first, second]


def test_a_letter_that_another_failed_at_meanwhile_comes_alone(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was chosen with others, then in the hands of a desk that died; its sender's next does not overtake it."""
    first, of_bob, second = (put(referee, referee.person(name), "help") for name in ("ann", "bob", "ann"))
    chosen = referee.desk.inbox._fresh

    def then_it_failed(queries: Any, most: int) -> Any:
        rows = chosen(queries, most)
        assert other.inbox.lease(referee.now)
        other.inbox.release_all(other.database.owner)
        return rows

    monkeypatch.setattr(referee.desk.inbox, "_fresh", then_it_failed)
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [of_bob]
    assert referee.inbox.outcome(second) == referee.inbox.outcome(first) == ("waiting", None)


@pytest.mark.parametrize("handled", [True, False])
def test_what_a_desk_had_in_hand_that_was_given_up_has_no_second_effect(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch, *, handled: bool
) -> None:
    """It slept while its letters were given to another, which handled them or is about to; then it wakes."""
    ann, _ = referee.begun()
    number = put(referee, ann, ann.filled("orders", ORDERS))
    before = len(ann.letters)

    def sleeps() -> None:
        assert other.inbox.release_all(referee.database.owner) == 1
        referee.database.execute("UPDATE inbox SET suspect = 0")
        assert other.handle_next(referee.now) if handled else other.inbox.lease_some(8, referee.now)

    done = meanwhile(monkeypatch, sleeps)
    referee.work()
    assert done
    assert referee.inbox.outcome(number) == (("done", "commands: orders") if handled else ("leased", None))
    assert len(ann.letters) == before + handled


def test_one_desk_gives_back_only_its_own(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    put(referee, ann, ann.filled("orders", ORDERS))
    (row,) = referee.desk.inbox.lease_some(8, referee.now)
    put(referee, bob, bob.filled("orders", ORDERS))
    (its,) = other.inbox.lease_some(8, referee.now)
    for act in (other.inbox.give_back, other.inbox.release):
        act(row.id)
    assert other.inbox.release_all(other.database.owner) == 1
    assert referee.inbox.outcome(row.id) == ("leased", None)
    assert referee.inbox.outcome(its.id) == ("waiting", None)


@pytest.mark.parametrize("together", [False, True])
def test_a_letter_that_was_given_to_another_meanwhile_has_not_failed(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch, *, together: bool
) -> None:
    """Its server was silent for so long that others held it for dead; what it has in hand beside that is its own."""
    ann, bob = referee.begun()
    number = put(referee, ann, ann.filled("orders", ORDERS))
    its = put(referee, bob, bob.filled("orders", ORDERS)) if together else 0
    before = len(ann.letters)

    def take() -> None:
        sql = "UPDATE inbox SET state = 'waiting', suspect = 1 WHERE id = ?"
        other.database.execute(sql, (number,))
        (row,) = other.inbox.lease_some(8, referee.now)
        assert row.id == number

    done = meanwhile(monkeypatch, take)
    with capture_logs() as logs:
        assert referee.desk.handle_next(referee.now) == 1 + together
    assert done
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["inbox"] for entry in logs if entry["event"] == "letter is another server's"] == [number]
    assert referee.inbox.outcome(number) == ("leased", None)
    assert not together or referee.inbox.outcome(its)[0] == "done"
    assert referee.database.scalar("SELECT attempts FROM inbox WHERE id = ?", (number,)) == 0
    other.inbox.give_back(number)
    referee.work()
    assert referee.inbox.outcome(number)[0] == "done"
    assert len(ann.letters) == before + 1


def test_a_letter_that_is_overtaken_again_and_again_delays_no_other(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an opponent does all the while to the match that it is about."""
    _, bob = referee.begun()
    compose = Composer.compose

    def composed(self: Composer, to: str, *given: Any, **named: Any) -> bytes:
        if to == bob.address:
            with other.database.transaction():
                other.database.write("UPDATE matches SET version = version + 1")
        return compose(self, to, *given, **named)

    monkeypatch.setattr(Composer, "compose", composed)
    to = "pbem+m1.0123456789abcdef@play.example"
    first, second = (put(referee, bob, bob.filled("orders", ORDERS, rev), to) for rev in (1, 2))
    behind, elsewhere = put(referee, referee.person("fay"), "help", to), put(referee, referee.person("eve"), "help")
    with pytest.raises(OvertakenError):
        referee.desk.handle_next(referee.now)
    outcomes = [referee.inbox.outcome(number)[0] for number in (first, second, behind, elsewhere)]
    assert outcomes == ["leased", "leased", "leased", "done"]
    monkeypatch.undo()
    referee.work()
    assert referee.inbox.count("done") == referee.inbox.count()


def test_two_desks_tell_of_one_outage(referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them begin with the server, and find the same old heartbeat."""
    referee.registered("ann")
    referee.now += timedelta(days=2)
    done = meanwhile(monkeypatch, lambda: clock.beat(other, referee.now + timedelta(seconds=1)))
    before = referee.outbox.count()
    clock.beat(referee.desk, referee.now)
    assert done
    assert referee.outbox.count() == before + 1
    assert referee.database.scalar("SELECT count(*) FROM outages") == 1


def test_two_desks_draw_in_once_what_waits_when_the_clock_was_set_back(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    referee.registered("ann")
    referee.alive()
    referee.now -= timedelta(days=1)
    due = referee.now + timedelta(days=3)
    sql = "INSERT INTO held (player, match, due, sealed) VALUES ('ann', 1, ?, ?)"
    referee.database.execute(sql, (to_db(due), b""))
    done = meanwhile(monkeypatch, lambda: clock.beat(other, referee.now))
    clock.beat(referee.desk, referee.now)
    assert done
    assert referee.desk.letters.next_digest() == due - timedelta(days=1)


def test_two_desks_obey_an_instruction_once(referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restore all desks begin at once, and each looks at what the operator ordered first."""
    ann, _ = referee.begun()
    Instructions(referee.database).give("restored", None, "", "root", referee.now)
    before = len(ann.letters)
    done = meanwhile(monkeypatch, lambda: other.obey(referee.now))
    referee.desk.obey(referee.now)
    assert done
    assert sum(b'"restored"' in entry.entry for entry in referee.desk.archive.matches.entries(1)) == 1
    referee.collect()
    assert len(ann.letters) == before + 1


@pytest.mark.parametrize("arrived", [False, True])
def test_two_desks_see_to_a_late_letter_once(referee: Referee, other: Desk, *, arrived: bool) -> None:
    ann, bob = referee.begun()
    referee.away = {bob.address}
    referee.turn((ann, ORDERS), (bob, ORDERS))
    if arrived:
        referee.wait(timedelta(hours=5))
        (watched,) = [one for one in referee.outbox.watched(10) if one.seat == 2]
        referee.outbox.lease(referee.now)
        referee.database.execute("UPDATE outbox SET settled = ? WHERE id = ?", (to_db(referee.now), watched.id))
    else:
        referee.now += timedelta(hours=5)
    (found,), _ = late_delivery.due(referee.desk, referee.now)
    before = len(referee.desk.archive.matches.entries(1)), referee.outbox.count()
    for desk in (referee.desk, other):
        decide(desk, partial(late_delivery.see_to, desk, found, referee.now))
    after = len(referee.desk.archive.matches.entries(1)), referee.outbox.count()
    assert after == (before[0] + 1, before[1] + arrived)


def test_two_desks_tell_once_that_room_runs_out(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for desk in (referee.desk, other):
        monkeypatch.setattr(desk.database, "room", lambda: 0)
    before = referee.outbox.count()
    done = meanwhile(monkeypatch, lambda: other.housekeeping.look(referee.now))
    referee.desk.housekeeping.look(referee.now)
    assert done
    assert referee.outbox.count() == before + 1


def test_two_desks_set_a_letter_aside_once(referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    number = put(referee, referee.person("eve"), "help")
    referee.database.execute("UPDATE inbox SET attempts = ?", (ATTEMPTS,))
    before = referee.outbox.count()
    done = meanwhile(monkeypatch, lambda: other.handle_next(referee.now))
    assert not referee.desk.handle_next(referee.now)
    assert done
    assert referee.inbox.outcome(number)[0] == "aside"
    assert referee.outbox.count() == before + 2  # to the operator, and to its sender


def test_a_letter_that_the_operator_had_tried_again_is_not_set_aside(referee: Referee, other: Desk) -> None:
    """It was found with all attempts spent, and is in the hands of another desk by now."""
    number = put(referee, referee.person("eve"), "help")
    referee.database.execute("UPDATE inbox SET attempts = ?", (ATTEMPTS,))
    Box(referee.database, "inbox").retry(number, referee.now)
    assert other.inbox.lease(referee.now)
    with referee.database.transaction():
        assert not referee.desk.inbox.set_aside(number, "reference")
    assert referee.inbox.outcome(number) == ("leased", None)


def test_two_desks_count_to_one_sum(referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted of all letters is counted of each, and nothing is decided anew for it."""
    texts = [f"From: eve{number}@x.example\r\nMessage-ID: <{number}@x>\r\n\r\nhelp\r\n" for number in range(3)]
    for number, text in enumerate(texts):
        referee.inbox.put(Envelope(f"eve{number}@x.example", (f"pbem@{SERVER}",)), text.encode(), referee.now)
    lease = referee.desk.inbox.lease_some
    monkeypatch.setattr(
        referee.desk.inbox, "lease_some", lambda _most, now, *, fresh=False: [] if fresh else lease(1, now)
    )
    done = meanwhile(monkeypatch, lambda: other.handle_next(referee.now))
    asked = heard(referee.database)
    assert referee.desk.handle_next(referee.now)
    assert done
    tried = "SELECT writes FROM store" if POSTGRESQL else "ROLLBACK"
    assert asked.count(tried) == 3  # the heartbeat, before it was read, and when it was tried: not once more
    assert referee.database.scalar("SELECT count FROM daily WHERE mark = 'answers to strangers'") == len(texts)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_a_match_by_three_desks_that_interrupt_each_other(tmp_path_factory: Any, seed: int) -> None:
    """Wherever one puts an answer into words another may work: the match goes as it would with one desk."""
    chance = random.Random(seed)
    folder: Path = tmp_path_factory.mktemp("desks")
    referee = Referee(folder)
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
    bases = [Database(referee.database.place, owner=f"desk {number}") for number in (2, 3)]
    desks = [referee.desk, *(beside(referee, base) for base in bases)]
    busy: list[Desk] = []
    compose = Composer.compose

    def work(desk: Desk) -> None:
        busy.append(desk)
        try:
            desk.handle_next(referee.now)
            desk.tick(referee.now)
        finally:
            busy.pop()

    def composed(*given: Any, **named: Any) -> bytes:
        if (idle := [desk for desk in desks if desk not in busy]) and chance.random() < 0.5:
            work(chance.choice(idle))
        return compose(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Composer, "compose", composed)
        for cell in ("Rv1", "Rv3", "Bz5"):
            texts = [(ann, f"{cell}"), (bob, "")]
            chance.shuffle(texts)
            for person, text in texts:
                for rev in (1, 2):
                    put(referee, person, person.filled("orders", f"final\n{text}" if rev == 2 else text, rev))
            for _ in range(40):
                work(chance.choice(desks))
            referee.collect()
    for base in bases:
        base.close()
    assert referee.inbox.count("done") == referee.inbox.count()
    assert any(", the end" in str(letter["Subject"]) for letter in ann.letters)
    ends = [letter for letter in bob.letters if ", the end" in str(letter["Subject"])]
    assert len(ends) == 1
    referee.close()


@pytest.mark.parametrize("which", range(2))
def test_a_commit_whose_answer_is_lost_keeps_no_letter_in_hand(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """Leased or written: the letter has its effect once, by this desk, however long that lives."""
    ann = referee.registered("ann")
    commit, left = type(referee.database.engine).commit, [which + 1]

    def lost(engine: Engine) -> None:
        commit(engine)
        left[0] -= 1
        if not left[0]:
            raise BusyError("the answer was lost")

    referee.inbox.put(
        Envelope(ann.address, (f"pbem@{SERVER}",)), referee.raw(ann, referee.signed(ann, "games\n")), referee.now
    )
    monkeypatch.setattr(type(referee.database.engine), "commit", lost)
    for _ in range(3):
        with suppress(BusyError):
            referee.work()
    assert left[0] <= 0
    assert referee.inbox.count("done") == referee.inbox.count()
    assert sum("In-Reply-To" in letter for letter in ann.letters[2:]) == 1
