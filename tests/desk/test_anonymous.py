"""Matches that hide who plays: until one is over, nothing that anybody else gets depends on who sits where."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held
from in_a_box.referee import SERVER, Mailbox, Referee, attachment, body, form_in
from in_a_box.small_games import SHIPS
from in_a_box.watched import HOUR, Watched, blotted, contents
from judges.honest import accused

from pbem.desk.public import Public

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from pathlib import Path

SETUPS = tuple(SHIPS.values())[:3]
STILL = tuple("\n".join(f"{line[0]}: LRL" for line in setup.split("\n")) for setup in SETUPS)
OPTIONS = "anonymous: yes\nsettle: 0\nmax_turns: 2\nmiss: forfeit"


def opened(referee: Referee, people: Sequence[Mailbox], options: str = OPTIONS, match: str = "m1") -> None:
    """People in seat order, who agree on a match, with their setups sent: turn 1 is due."""
    first, *others = people
    referee.send(first, f"new shoot-em-up\nseats: 3\n{options}\nend\n")
    for other in others:
        referee.send(other, f"join {match}\n")
    for other in others:
        asking = next(one for one in reversed(list(other.letters)) if f"\naccept {match}" in body(one))
        referee.send(other, form_in(body(asking), "accept", lines=1))
    for person, setup in zip(people, SETUPS, strict=True):
        referee.send(person, person.filled("setup", setup))


def turn(referee: Referee, people: Sequence[Mailbox]) -> None:
    referee.turn(*zip(people, STILL, strict=False))


@pytest.fixture
def people(referee: Referee) -> list[Mailbox]:
    return [referee.registered(name) for name in ("ann", "bob", "cem")]


class TestTerms:
    @pytest.mark.parametrize(
        ("proposal", "fault"),
        [
            ("new shoot-em-up with bob cem\nanonymous: yes\nend\n", "name nobody, and let players join"),
            ("new shoot-em-up with dan@mail.example\nanonymous: yes\nend\n", "name nobody, and let players join"),
            ("new spaceships\nanonymous: yes\nsealed: yes\nend\n", "a sealed match cannot be anonymous"),
            ("new spaceships\nanonymous: yes\npace: none\nend\n", "there are deadlines"),
            ("new spaceships\nanonymous: yes\nunreachable: stands\nend\n", "unreachable is loses"),
        ],
    )
    def test_what_would_tell_who_plays_is_refused(
        self, referee: Referee, people: list[Mailbox], proposal: str, fault: str
    ) -> None:
        referee.send(people[0], proposal)
        assert fault in " ".join(people[0].text.split())

    def test_no_tournament_has_such_matches(self, referee: Referee, people: list[Mailbox]) -> None:
        referee.send(people[0], "tournament new spaceships\ncloses: 2026-12-20\nanonymous: yes\nend\n")
        assert "are not anonymous" in people[0].text

    def test_nobody_is_called_like_a_seat(self, referee: Referee) -> None:
        person = referee.person("seat-3")
        referee.send(person, "register seat-3\n")
        assert "confirm seat-3" not in person.text

    def test_the_hash_of_the_terms_tells_nothing(self, tmp_path: Path) -> None:
        hashes = set()
        for order in (("ann", "bob", "cem"), ("dan", "cem", "ann")):
            (folder := tmp_path / "".join(order)).mkdir()
            referee = Referee(folder)
            opened(referee, [referee.registered(name) for name in order])
            hashes.add(referee.match().rules_hash)
            referee.close()
        assert len(hashes) == 1


class TestPlay:
    def test_the_end_tells_who_played(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people)
        ann, bob, cem = people
        referee.send(bob, "press m1 to seat-1\nWho are you?\nend\n")
        assert "seat-2 writes to you alone" in ann.text
        referee.send(ann, "press m1 to bob\nYou are bob.\nend\n")
        assert "no other player of the match" in ann.text
        referee.send(ann, "transcript m1\n", sign=False)
        assert "you get it once the match is over" in " ".join(ann.text.split())
        assert "You are ann, seat 1." in body(ann.find("begins"))
        turn(referee, people)
        referee.read_cold()
        turn(referee, people)
        end = ann.find(", the end")
        assert "bob" in body(end)
        assert "cem" in body(end)
        assert held(end)[-1].startswith("a draw")
        closed = body(cem.find("the match is closed"))
        assert "\nnew shoot-em-up\n" in closed
        assert "\nseats: 3\n" in closed
        referee.send(cem, "transcript m1\n", sign=False)
        assert attachment(cem.last, ".zip")

    def test_a_deadline_after_summer_time_began_tells_no_zone(self, referee: Referee, people: list[Mailbox]) -> None:
        referee.now = datetime(2026, 3, 26, 12, tzinfo=UTC)
        for person, zone in zip(people, ("Europe/Berlin", "America/New_York", "UTC"), strict=True):
            referee.send(person, f"set timezone {zone}\n")
        opened(referee, people)
        deadlines = {clock.deadline for clock in referee.match().clocks.values()}
        assert deadlines == {datetime(2026, 4, 2, 12, tzinfo=UTC)}

    def test_a_bundle_of_an_earlier_game_waits_for_the_end(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people, f"{OPTIONS}\nkind: scored\ngames: 2")
        for _ in range(2):
            turn(referee, people)
        end = people[0].find("game 1, the end")
        assert not [part for part in end.iter_attachments() if (part.get_filename() or "").endswith(".zip")]
        assert "The proof comes with the end of the match" in body(end)
        assert "bob" not in body(end)

    def test_a_draw_is_shared_by_seats(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people)
        ann, bob, cem = people
        refusals = set()
        for name in ("bob", "dan"):
            referee.send(ann, f"draw m1 offer for {name}\n")
            assert f"`{name}`: this is nobody who still plays this game" in ann.text
            refusals.add(ann.text.replace(name, "NAME"))
        assert len(refusals) == 1
        referee.send(ann, "draw m1 offer for seat-1 seat-2\n")
        assert "a draw of seat-1, seat-2 alone" in " ".join(cem.text.split())
        referee.send(bob, "draw m1 decline for seat-1\n")
        assert "`decline` ends all offers: name nobody" in bob.text
        for person in (bob, cem):
            referee.send(person, "draw m1 accept for seat-1 seat-2\n")
        end = ann.find(", the end")
        held(end)
        assert "ann, bob" in " ".join(body(end).split()), body(end)

    def test_a_substitute_takes_a_hidden_seat(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people)
        ann, bob, cem = people
        dan = referee.registered("dan")
        referee.send(bob, "substitute m1 cem for seat-2\n")
        refused = bob.text
        referee.send(bob, "substitute m1 zoe for seat-2\n")
        assert bob.text == refused.replace("cem", "zoe")
        referee.send(bob, "substitute m1 dan for seat-2\n")
        for person in (ann, cem):
            asked = body(person.find("who takes a seat?"))
            assert "wants" in asked
            assert not re.search(r"\b(ann|bob|cem) wants", asked)
            referee.send(person, form_in(asked, "substitute"))
        assert "Will you take seat-2's seat" in dan.text
        assert not re.search(r"\b(ann|bob|cem)\b", dan.text)
        referee.send(dan, form_in(dan.text, "substitute"))
        welcome = dan.find("your seat")
        assert not any(b"bob" in attached for attached in attachments(welcome))
        assert not re.search(r"\b(ann|bob|cem)\b", body(welcome))
        assert "seat-2 has another player" in ann.text
        assert "seat-2 has taken your seat" in bob.text
        for _ in range(2):
            turn(referee, [ann, dan, cem])
        assert held(cem.find(", the end"))[-1].startswith("a draw")
        assert referee.desk.people.standing("shoot-em-up", "bob").abandoned == 0, "who leaves in good order"

    def test_who_lost_a_hidden_seat_is_counted_at_the_end(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people, OPTIONS.replace("forfeit", "wait"))
        ann, _, cem = people
        dan = referee.registered("dan")
        referee.turn((ann, STILL[0]), (cem, STILL[2]))
        referee.wait(11 * 24 * HOUR)
        for person in (ann, cem):
            referee.send(person, "substitute m1 dan for seat-2\n")
        referee.send(dan, form_in(dan.text, "substitute"))
        assert dan.find("your seat")
        assert referee.desk.people.standing("shoot-em-up", "bob").abandoned == 0
        assert referee.desk.people.turns("bob").asked == 0
        referee.send(dan, dan.filled("orders", f"final\n{STILL[1]}"))
        turn(referee, [ann, dan, cem])
        assert referee.desk.people.standing("shoot-em-up", "bob").abandoned == 1
        found = [referee.desk.people.turns(name) for name in ("ann", "bob", "dan")]
        assert [(one.asked, one.in_time) for one in found] == [(3, 3), (2, 1), (2, 2)]


class TestOtherMatches:
    """Facts that other matches tell of a player by name must not be recognised in one that hides the player."""

    def test_a_hidden_match_makes_no_acquaintances(self, referee: Referee, people: list[Mailbox]) -> None:
        opened(referee, people)
        ann, bob, _ = people
        referee.send(ann, "new spaceships with bob\nend\n")
        referee.send(ann, "press m2\nAre you in m1?\nend\n")
        assert "passed on once another player has accepted" in " ".join(ann.text.split())
        for _ in range(2):
            turn(referee, people)
        referee.send(ann, "press m2\nYou were in m1.\nend\n")
        assert "You were in m1." in bob.text


def attachments(letter: object) -> list[bytes]:
    return [part.get_payload(decode=True) for part in letter.iter_attachments()]  # type: ignore[attr-defined]


@dataclass
class World:
    """A match in which these have the seats, and do what players do beside it."""

    referee: Watched
    names: tuple[str, str, str]
    """The players in seat order; ann is watched."""
    heard: dict[str, list[tuple[timedelta, list[object]]]] = field(default_factory=dict)
    pages: list[bytes] = field(default_factory=list)

    def play(self) -> None:
        referee = self.referee
        everybody = {name: referee.registered(name) for name in ("ann", "bob", "cem", "eve", "fay")}
        ann, bob, cem, eve, fay = everybody.values()
        people = [everybody[name] for name in self.names]
        # They differ in all that players can differ in.
        referee.send(bob, "set timezone Asia/Tokyo\nset language de\nset program yes\n")
        referee.send(cem, "set timezone America/New_York\nset format words\n")
        referee.send(ann, "block cem\n")
        referee.send(ann, "new spaceships with bob\nend\n")
        referee.send(bob, form_in(bob.text, "accept", lines=1))
        opened(referee, people, OPTIONS.replace("forfeit", "wait"), "m2")
        referee.send(eve, "observe m1\nobserve m2\n")
        for number in (1, 2):
            start = referee.now
            self.look(ann, eve, fay)
            referee.until(start + HOUR)
            referee.send(people[1], f"press m2\nTurn {number}.\nend\n")
            referee.send(people[1], f"press m2 public\nTo all, in turn {number}.\nend\n")
            referee.send(people[2], f"press m2 to seat-1 seat-2\nTo two, in turn {number}.\nend\n")
            referee.send(bob, f"vacation {(start + 480 * HOUR).date()} to {(start + 500 * HOUR).date()}\n")
            self.look(ann, eve, fay)
            referee.send(bob, "vacation off\n")
            referee.send(people[2], "draw m2 offer\n")
            referee.send(people[1], "draw m2 decline\n")
            referee.send(people[1], "extend m2 2d\n")
            self.look(ann, eve, fay)
            turn(referee, people[: 4 - number])  # in turn 2, seat 3 is silent
            self.look(ann, eve, fay)
            referee.until(start + 14 * 24 * HOUR)
        # Who joins is told of with the turns that came in time.
        for match, person in (("m3", bob), ("m4", cem)):
            referee.send(fay, "new spaceships\nend\n")
            referee.send(person, f"join {match}\n")
        self.look(ann, eve, fay)
        for to, time, raw in referee.noted:
            self.heard.setdefault(to.partition("@")[0], []).append((time, [*contents(raw), len(raw)]))
        assert accused(referee) == []
        referee.close()

    def look(self, *readers: Mailbox) -> None:
        for reader in readers:
            self.referee.send(reader, "status\nlist open\nlist mine\nstandings\n", sign=False)
        for reader in readers[:1]:
            self.referee.send(reader, "status m2\ndiary m2\ntranscript m2\nreport m2\n", sign=False)
        site = Public(SERVER, self.referee.database, self.referee.vault).site()
        self.pages.append(blotted(json.dumps(site, default=repr, sort_keys=True).encode()))


def test_nobody_learns_who_sits_where(tmp_path: Path) -> None:
    one = World(Watched(tmp_path / "one"), ("ann", "bob", "cem"))
    other = World(Watched(tmp_path / "other"), ("ann", "cem", "bob"))
    for world in (one, other):
        world.play()
    assert one.pages == other.pages
    for name in ("ann", "eve", "fay"):
        assert len(one.heard[name]) == len(other.heard[name])
        for (time, found), (other_time, other_found) in zip(one.heard[name], other.heard[name], strict=True):
            assert time == other_time
            assert found == other_found
    told = [part for _, parts in one.heard["ann"] for part in parts if isinstance(part, bytes)]
    assert any(b"missed the deadline" in part for part in told)
