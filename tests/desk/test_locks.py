"""Reading, judging and parsing is done while the store is not locked: dialogues with all of it in them."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from datetime import timedelta
from time import process_time
from typing import TYPE_CHECKING

import structlog
from in_a_box.referee import SERVER, Referee, body, sent_from, whole_sentence
from judges.unlocked import watched

from pbem.desk.letter_writer import LetterWriter
from pbem.desk.wiring import Desk
from pbem.letters.draft import OutgoingLetter, TemplateText
from pbem.phrase import Phrase
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pbem.letters.render import InWords

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"


def test_a_match_with_all_that_is_read_and_judged(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    met, seen = watched(monkeypatch)
    referee.registered("carl")  # so that the opening is played, and not copied
    ann, bob = referee.begun()
    referee.send(ann, f"set format pictures\nserver {SERVER}\nplayer ann\nend\n")
    referee.send(bob, f"set mail digest\nserver {SERVER}\nplayer bob\nend\n")
    referee.turn((ann, ORDERS), (bob, ORDERS))
    referee.send(ann, "sheet m1\nsheet spaceships\nreport m1 all\ntranscript m1\nrules spaceships\n")
    referee.send(bob, f"resign m1 match\nserver {SERVER}\nplayer bob\nend\n")
    referee.wait(timedelta(days=2))
    assert not met
    assert seen >= {"InProcess.read", "received", "vouch", "judge", "parse_key", "parse"}


def test_what_waits_for_a_digest_and_is_taken_with_the_next_letter(referee: Referee) -> None:
    """Both are decided together, and the second one takes the first along."""
    ann, bob = referee.begun()
    referee.send(bob, f"set mail digest\nserver {SERVER}\nplayer bob\nrev 1\n")
    referee.send(ann, "draw m1 offer\n", follow=False)
    offer = whole_sentence(ann.text)
    assert offer is not None
    before = len(bob.letters)
    for text in (f"press m1\nserver {SERVER}\nplayer ann\nrev 7\ngood luck\nend\n", offer):
        referee.put(ann, text)
    referee.work()
    (told,) = bob.letters[before:]
    assert body(told).index("good luck") < body(told).index("draw m1 accept")


def test_letters_that_take_long_have_their_effect_one_by_one(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters that came together are decided together, and the intake waits: eight held the store for 0.8 s."""
    ann, _ = referee.begun()
    head = ann.form("orders").split("\nrev")[0]
    for rev in range(1, 9):
        referee.put(ann, f"{head}\nrev {rev}\n{'( ' * 4900}\nend\n")
    decided: list[float] = []
    decision = Desk.decision

    @contextmanager
    def timed(desk: Desk) -> Iterator[None]:
        began = process_time()
        with decision(desk):
            yield
        decided.append(process_time() - began)

    monkeypatch.setattr(Desk, "decision", timed)
    assert referee.running.handle_next(referee.now) == 8
    assert max(decided) < sum(decided) / 3


def test_each_digest_has_a_transaction_of_its_own(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are all due at seven, and those of a large tournament held the store for seconds."""
    people = [referee.registered(name) for name in ("ann", "bob", "carl", "dave")]
    for person in people[1:]:
        referee.send(person, f"set mail digest\nserver {SERVER}\nplayer {person.name}\nend\n")
    desk = referee.desk
    for person in people[1:]:
        player = desk.players.by_name(person.name)
        assert player is not None
        with desk.database.transaction():
            desk.letters.hold(player, 0, [OutgoingLetter(Phrase("the table"), "It is 1 to 0.")], referee.now)
    sent: list[int] = []
    decision = desk.decision

    @contextmanager
    def counted() -> Iterator[None]:
        before = referee.outbox.count()
        with decision():
            yield
        sent.append(referee.outbox.count() - before)

    monkeypatch.setattr(desk.due_tasks, "decision", counted)
    referee.wait(timedelta(days=1))
    assert [count for count in sent if count] == [1, 1, 1]


def test_what_cannot_be_put_into_words_harms_its_letter_alone(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters are decided together, and the others have their effect."""
    people = [referee.registered(name) for name in ("ann", "bob", "carl")]
    words = LetterWriter.rendered

    def fails(letter_writer: LetterWriter, draft: TemplateText | str, language: str) -> InWords:
        if isinstance(draft, TemplateText) and draft.template == "answers/games.txt":
            raise ZeroDivisionError
        return words(letter_writer, draft, language)

    monkeypatch.setattr(LetterWriter, "rendered", fails)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    numbers = [
        referee.inbox.put(
            Envelope(who.address, (f"pbem@{SERVER}",)),
            referee.raw(who, text, headers=sent_from(who.address)),
            referee.now,
        )
        for who, text in zip(people, ("help\n", "games\n", "standings\n"), strict=True)
    ]
    referee.work()
    structlog.reset_defaults()
    assert [referee.inbox.outcome(number)[0] for number in numbers] == ["done", "aside", "done"]
    assert [len(who.letters) for who in people] == [3, 3, 3]
    assert "was set aside" in str(people[1].last["Subject"])
