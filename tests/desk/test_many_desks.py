"""Several desks work on one store: each letter has one effect, in its place, whatever the others decide meanwhile."""

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referee import SERVER, Die, Mailbox, Referee, form_in, new
from stores import heard

from pbem.desk.reading import InProcess
from pbem.desk.wiring import Desk
from pbem.mail.compose import Composer
from pbem.store.database import Database, to_db
from pbem.store.inbox import Envelope
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"


@pytest.fixture
def other(referee: Referee) -> Iterator[Desk]:
    """A second desk of the same server, on a connection of its own."""
    with closing(Database(referee.database.place)) as database:
        yield beside(referee, database, "the other")


def beside(referee: Referee, database: Database, owner: str) -> Desk:
    composer = Composer(SERVER, "pbem", referee.templates)
    reader = InProcess(referee.config.limits)
    signing_key = referee.signing_key
    return Desk(referee.config, database, referee.vault, signing_key, composer, Die(owner), reader, owner=owner)


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
    assert any("what was secret" in str(letter["Subject"]) for letter in ann.letters)


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

    def change() -> None:
        with other.database.transaction():
            other.players.add_key("ann", KeyRow("ssh", "SHA256:new", "ssh-ed25519 new"), to_db(referee.now))

    done = meanwhile(monkeypatch, change)
    put(referee, bob, form_in(bob.text, "accept", lines=1))
    referee.work()
    assert done
    (first, *_) = referee.desk.archive.matches.entries(1)
    assert b"SHA256:new" in first.entry


def test_letters_of_one_sender_come_in_order(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    first = put(referee, ann, ann.filled("orders", ORDERS, 1))
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [first]
    put(referee, ann, ann.filled("orders", ORDERS, 2))
    of_bob = put(referee, bob, bob.filled("orders", ORDERS))
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [of_bob]
    referee.desk.inbox.give_back(first)
    assert [row.envelope.sender for row in other.inbox.lease_some(8, referee.now)] == [ann.address] * 2


def test_letters_to_the_address_of_one_match_come_in_order(referee: Referee, other: Desk) -> None:
    ann, bob = referee.begun()
    to = "pbem+m1.0123456789abcdef@play.example"
    first = put(referee, ann, ann.filled("orders", ORDERS), to)
    assert [row.id for row in referee.desk.inbox.lease_some(8, referee.now)] == [first]
    put(referee, bob, bob.filled("orders", ORDERS), to)
    elsewhere = put(referee, bob, "status", "pbem+m2.0123456789abcdef@play.example")
    assert [row.id for row in other.inbox.lease_some(8, referee.now)] == [elsewhere]


@pytest.mark.parametrize("handled", [True, False])
def test_what_a_desk_had_in_hand_that_was_given_up_has_no_second_effect(
    referee: Referee, other: Desk, monkeypatch: pytest.MonkeyPatch, *, handled: bool
) -> None:
    """It slept while its letters were given to another, which handled them or is about to; then it wakes."""
    ann, _ = referee.begun()
    number = put(referee, ann, ann.filled("orders", ORDERS))
    before = len(ann.letters)

    def sleeps() -> None:
        assert other.inbox.release_all(referee.desk.owner) == 1
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
    assert other.inbox.release_all(other.owner) == 1
    assert referee.inbox.outcome(row.id) == ("leased", None)
    assert referee.inbox.outcome(its.id) == ("waiting", None)


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
    assert asked.count("ROLLBACK") == 2  # before it was read, and when it was tried: not once more
    assert referee.database.scalar("SELECT count FROM daily WHERE mark = 'answers to strangers'") == len(texts)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_a_match_by_three_desks_that_interrupt_each_other(tmp_path_factory: Any, seed: int) -> None:
    """Wherever one puts an answer into words another may work: the match goes as it would with one desk."""
    chance = random.Random(seed)
    folder: Path = tmp_path_factory.mktemp("desks")
    referee = Referee(folder)
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
    bases = [Database(referee.database.place) for _ in range(2)]
    desks = [referee.desk, *(beside(referee, base, f"desk {number}") for number, base in enumerate(bases, 2))]
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
    assert any("what was secret" in str(letter["Subject"]) for letter in ann.letters)
    ends = [letter for letter in bob.letters if "what was secret" in str(letter["Subject"])]
    assert len(ends) == 1
    referee.close()
