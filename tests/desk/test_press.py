"""Messages between players: to all, to some alone, which nobody else learns of, and when the terms allow them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Mailbox, Referee, attachment, body
from in_a_box.small_games import SHIPS
from in_a_box.watched import HOUR, Watched, contents
from judges.honest import accused

from pbem.proof.bundle import read as read_bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from pathlib import Path

    Heard = dict[str, list[tuple[timedelta, list[object]]]]

STILL = {name: "\n".join(f"{line[0]}: LRL" for line in setup.split("\n")) for name, setup in SHIPS.items()}


FOR_SOME = (" an bob\nhello", "\nto bob, cem\nhello", " bob, cem\nhello", " bob: hello")
"""Behind `press m1`: the beginnings of messages whose writers missed the right words."""


def table(referee: Referee, options: str = "settle: 0") -> list[Mailbox]:
    return referee.table("shoot-em-up", options, SHIPS)


def got(person: Mailbox, text: str) -> int:
    return sum(text in body(letter) for letter in person.letters)


class TestTo:
    def test_only_those_named_get_it(self, referee: Referee) -> None:
        ann, bob, cem, dan = table(referee)
        referee.send(ann, "press m1 to bob\nLet us take cem.\nend\n")
        assert "Sent on to bob, and to nobody else." in ann.text
        assert "ann writes to you alone, in match m1" in bob.text
        assert "Let us take cem." in bob.text
        assert "press m1 to ann\n" in bob.text
        assert not got(cem, "Let us") + got(dan, "Let us")
        referee.send(bob, "press m1 to ann, dan\nThe three of us.\nend\n")
        assert "bob writes to you, dan" in " ".join(ann.text.split())
        assert "press m1 to bob ann\n" in dan.text
        assert not got(cem, "The three")

    @pytest.mark.parametrize(
        ("command", "fault"),
        [
            ("press m1 to bob I shall take cem\nend\n", "no other player of the match"),
            ("press m1 to be, or not to be end\n", "give only players' names"),
            ("press m1 to bob: hello!\nend\n", "give only players' names"),
            ("press m1 to\nbob hello\nend\n", "give only players' names"),
            ("press m1 to ann\nhello\nend\n", "no other player of the match"),
            ("press m1 to gil\nhello\nend\n", "no other player of the match; there are bob, cem, dan"),
            *((f"press m1{words}\nend\n", "begins as if it were for some") for words in FOR_SOME),
        ],
    )
    def test_what_is_meant_for_one_never_goes_to_all(self, referee: Referee, command: str, fault: str) -> None:
        ann, *others = table(referee)
        before = [len(person.letters) for person in others]
        referee.send(ann, command)
        assert fault in " ".join(ann.text.split())
        assert [len(person.letters) for person in others] == before

    def test_it_is_in_no_bundle_and_in_no_diary(self, referee: Referee) -> None:
        ann, bob, cem, dan = table(referee)
        referee.send(ann, "press m1 to bob\nFor your eyes.\nend\n")
        for person in (ann, bob, cem, dan):
            referee.send(person, "diary m1\n", sign=False)
            assert "writes a message" not in person.text
        for person in (ann, cem, dan):
            referee.send(person, "resign m1 match\n")
        bundle = read_bundle(attachment(bob.find("the end"), ".zip"))
        assert not any(b"For your eyes" in paper for paper in bundle.papers.values())
        assert not any(b"For your eyes" in entry.canonical() for entry in bundle.entries)

    def test_who_is_blocked_is_not_told(self, referee: Referee) -> None:
        ann, bob, *_ = table(referee)
        referee.send(bob, "block ann\n")
        referee.send(ann, "press m1 to bob\nAre you there?\nend\n")
        assert "Sent on to bob" in ann.text
        assert not got(bob, "Are you there?")


class TestTerms:
    def test_none_before_the_match_is_over(self, referee: Referee) -> None:
        people = table(referee, "settle: 0\npress: none")
        ann, bob, *_ = people
        for to in ("", " public", " to bob"):
            referee.send(ann, f"press m1{to}\nHello.\nend\n")
            assert "by the terms, players write to each other only once" in ann.text
        referee.send(ann, "status m1\n", sign=False)
        for person in people[:3]:
            referee.send(person, "resign m1 match\n")
        referee.send(ann, "press m1\nWell played.\nend\n")
        assert "Well played." in bob.text
        assert accused(referee) == []

    def test_between_turns_by_the_writers_own_orders(self, referee: Referee) -> None:
        people = table(referee, "settle: 0\npress: between turns")
        ann, bob, *others = people
        referee.send(bob, bob.filled("orders", STILL["bob"]))
        referee.send(ann, "press m1 to bob\nBefore.\nend\n")
        assert "Before." in bob.text
        referee.send(bob, "press m1 to ann\nAfter.\nend\n")
        assert "your orders are in" in bob.text
        assert not got(ann, "After.")
        referee.send(bob, "clear m1\n")
        referee.send(bob, "press m1 to ann\nAnd again.\nend\n")
        assert "And again." in ann.text
        referee.turn(*((person, STILL[person.name]) for person in [ann, *others]))
        referee.send(bob, bob.filled("orders", f"final\n{STILL['bob']}", 3))
        referee.send(ann, "press m1\nIn turn 2.\nend\n")
        assert "In turn 2." in bob.text

    def test_a_proposal_says_so(self, referee: Referee) -> None:
        ann, bob = referee.registered("ann"), referee.registered("bob")
        referee.send(ann, "new spaceships with bob\npress: None\nend\n")
        assert "press     none before the match is over" in bob.text
        referee.send(ann, "new spaceships with bob\npress: sometimes\nend\n")
        assert "press is one of: all, between turns, none" in ann.text


class TestNobodyElseLearnsOfIt:
    """Two worlds that differ in the press between ann and bob: all that anybody else gets is the same."""

    def world(self, folder: Path, write: Callable[[Referee, Mailbox, Mailbox], None]) -> Heard:
        referee = Watched(folder)
        people = table(referee, "settle: 0\nmax_turns: 3\nmiss: forfeit")
        eva = referee.registered("eva")
        referee.send(eva, "observe m1\n")
        for turn in (1, 2):
            start = referee.now
            write(referee, *people[:2])
            referee.until(start + HOUR)
            for person in people[2:]:
                referee.send(person, "status m1\ndiary m1\nlist mine\ntranscript m1\n", sign=False)
            referee.send(people[2], f"press m1 to dan\nTurn {turn}.\nend\n")
            referee.until(start + 2 * HOUR)
            referee.turn(*((person, STILL[person.name]) for person in people))
        heard: Heard = {}
        for to, time, raw in referee.noted:
            heard.setdefault(to.partition("@")[0], []).append((time, [*contents(raw), len(raw)]))
        assert accused(referee) == []
        referee.close()
        return heard

    def test_between_others(self, tmp_path: Path) -> None:
        def quiet(_referee: Referee, _ann: Mailbox, _bob: Mailbox) -> None:
            pass

        def chatty(referee: Referee, ann: Mailbox, bob: Mailbox) -> None:
            for number in range(55):  # more than a day's messages: the last are refused
                referee.send(ann, f"press m1 to bob\n{referee.now}: cem is next, {number}.\nend\n")
            referee.send(bob, f"press m1 to ann\n{'Dan? ' * 700}\nend\n")

        one, other = self.world(tmp_path / "one", quiet), self.world(tmp_path / "other", chatty)
        parts = chain.from_iterable(contents for _, contents in other["bob"])
        messages = [part for part in parts if isinstance(part, bytes) and b": cem is next, " in part]
        assert len(messages) == 2 * 50, "in the text, and for programs"
        for name in ("cem", "dan", "eva"):
            assert one[name] == other[name], name


class TestToAll:
    @pytest.mark.parametrize(
        "words", [" bob, cem, dan\nhello", "\nbob\nhello", " bob says hello", " public\nto bob: hello", "\nan hello"]
    )
    def test_what_is_meant_for_all_goes_to_all(self, referee: Referee, words: str) -> None:
        ann, *others = table(referee)
        referee.send(ann, f"press m1{words}\nend\n")
        assert [got(person, "hello") for person in others] == [1, 1, 1]
