"""Players who are programs: how one says so, who is told, and the ratings of matches with them."""

from __future__ import annotations

import pytest
from in_a_box.referee import Mailbox, Referee, body, form_in, new

from pbem.config.server import HousePlayer
from pbem.identity import ssh
from pbem.store.people import People

SMALL = "fleet: cost:3"
SETUPS = {"ann": "MD Rv1 Rv2 Rv3", "bob": "LG1 Rv1\nLG2 Rv3\nLG3 Bz5", "robo": "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"}


def program(referee: Referee, name: str = "robo") -> Mailbox:
    robo = referee.registered(name)
    referee.send(robo, "set program yes\n")
    assert "From now on you are a program; this cannot be undone" in robo.text
    return robo


def words(person: Mailbox) -> str:
    return " ".join(person.text.split())


class TestSaying:
    def test_it_is_for_ever(self, referee: Referee) -> None:
        robo = program(referee)
        referee.send(robo, "set program no\n")
        assert "robo is a program for ever" in robo.text
        referee.send(robo, "set program yes\n")
        assert "From now on you are a program; this cannot be undone" in robo.text
        referee.send(robo, "whoami\n", sign=False)
        assert "You are a program, and others are told so" in robo.text
        assert "program yes" in robo.text

    def test_a_person_may_say_so_and_is_none(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        referee.send(ann, "set program no\n")
        assert "You are a person" in ann.text
        referee.send(ann, "whoami\n", sign=False)
        assert "You are a program" not in ann.text
        program(referee, "ann2")

    def test_whoever_others_agreed_to_play_with_stays_a_person(self, referee: Referee) -> None:
        ann, _bob = referee.registered("ann"), referee.registered("bob")
        referee.send(ann, "new spaceships\nend\n")
        referee.send(ann, "new spaceships with bob\nend\n")
        referee.send(ann, "set program yes\n")
        assert "the others there agreed to play with a person: first end m1, m2" in words(ann)
        assert not People(referee.database).is_program("ann")
        for match in ("m1", "m2"):
            referee.send(ann, f"withdraw {match}\n")
        referee.send(ann, "set program yes\n")
        assert People(referee.database).is_program("ann")


class TestTold:
    def test_on_the_open_list_and_in_acceptances(self, referee: Referee) -> None:
        robo, ann = program(referee), referee.registered("ann")
        referee.send(robo, "new spaceships\nend\n")
        referee.send(ann, "list open\n", sign=False)
        assert "m1     Spaceships, proposed by robo, a program\n" in ann.text
        referee.send(ann, "join m1\n")
        assert "seats     1 robo (a program), 2 ann\n" in ann.text
        assert "robo, a program, has not finished a match of Spaceships here yet." in words(ann)
        referee.send(ann, form_in(ann.text, "accept", lines=1))
        assert "seats     1 robo (a program), 2 ann\n" in body(ann.find("send your setup"))
        referee.send(ann, "list\n", sign=False)
        assert "m1    Spaceships, robo, a program - ann" in ann.text

    def test_where_one_takes_a_seat(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, (SETUPS["ann"], SETUPS["bob"]))
        program(referee)
        referee.send(bob, "substitute m1 robo for bob\n")
        assert "robo is a program" in ann.text


class TestRatings:
    def played(self, referee: Referee, first: Mailbox, second: Mailbox, number: int) -> None:
        """A match that the first resigns."""
        referee.send(first, new(first, "spaceships", second.name, options=SMALL))
        referee.send(second, form_in(second.text, "accept", lines=1))
        for person in (first, second):
            referee.send(person, person.filled("setup", SETUPS[person.name]))
        referee.send(first, f"resign m{number} match\n")

    def test_a_match_with_a_program_changes_the_second_table_alone(self, referee: Referee) -> None:
        ann, bob, robo = referee.registered("ann"), referee.registered("bob"), program(referee)
        people = People(referee.database)
        self.played(referee, ann, bob, 1)
        before = people.standings("spaceships", "people", 10)
        assert [(one.player, one.won) for one in before] == [("bob", 1), ("ann", 0)]
        assert people.standings("spaceships", "programs", 10) == []
        self.played(referee, ann, robo, 2)
        assert people.standings("spaceships", "people", 10) == before
        best, other = people.standings("spaceships", "programs", 10)
        assert (best.player, best.played, best.won, best.program) == ("robo", 1, 1, True)
        assert (other.player, other.played, other.won, other.program) == ("ann", 1, 0, False)
        assert best.mean is not None
        assert other.mean == before[1].mean, "each table begins with nothing"
        referee.send(bob, "standings\n", sign=False)
        first, second = bob.text.split("Spaceships, matches with programs\n")
        assert "robo" not in first
        assert "bob" not in second
        assert second.index("robo, a program\n") < second.index("ann\n")
        assert "Matches with programs have tables of their own" in second
        robo_sees = people.standing("spaceships", "ann")
        assert (robo_sees.played, robo_sees.pool) == (1, "people")
        ann_sees = people.standing("spaceships", "robo")
        assert (ann_sees.played, ann_sees.pool) == (1, "programs")


class TestWelcome:
    @pytest.fixture
    def housed(self, referee: Referee) -> Referee:
        referee.configure(house=HousePlayer(name="robo", address="robo@mail.example"))
        return referee

    def test_names_the_house(self, housed: Referee) -> None:
        program(housed)
        ann = housed.registered("ann")
        assert "Nobody there yet? Write robo for NAME:\nrobo is a program" in ann.text
        form = form_in(ann.text, "new", 4)
        housed.deliver(housed.raw(ann, housed.signed(ann, form.replace("NAME", "robo"))), ann.address)
        assert "It has been sent to robo" in ann.text

    @pytest.mark.parametrize("house", [True, False])
    def test_names_nobody_who_is_no_program_and_nobody_where_there_is_no_house(
        self, housed: Referee, *, house: bool
    ) -> None:
        if house:
            housed.registered("robo")
        else:
            housed.configure(house=HousePlayer())
            program(housed)
        ann = housed.registered("ann")
        assert "Nobody there yet" not in "".join(body(letter) for letter in ann.letters)

    @pytest.mark.parametrize("house", [HousePlayer(), HousePlayer(name="house"), HousePlayer(name="robo")])
    def test_names_that_speak_for_the_server_are_for_nobody(self, referee: Referee, house: HousePlayer) -> None:
        referee.configure(house=house)
        eve = referee.person("house")
        for name in ("house", "admin", "postmaster", house.name or "abuse"):
            referee.send(eve, f"register {name}\n{ssh.public(eve.key)} eve@home\n", sign=False)
            assert "this name is taken" in eve.text, name

    @pytest.mark.parametrize(
        ("said", "kept"),
        [("new spaceships with robo", ""), ("new spaceships with robo fleet: cost:3\npace: 2d", "fleet: cost:3")],
    )
    def test_a_proposal_without_end_comes_back_completed(self, housed: Referee, said: str, kept: str) -> None:
        program(housed)
        ann = housed.registered("ann")
        housed.send(ann, f"{said}\n")
        assert "Refused; nothing was changed" in ann.text
        form = form_in(ann.text, "new")
        assert form.startswith("new spaceships with robo\nserver play.example\nplayer ann\n")
        assert kept in form
        housed.send(ann, form)
        assert "It has been sent to robo" in ann.text

    def test_the_house_writes_to_as_many_as_play_with_it(self, housed: Referee) -> None:
        robo, ann = program(housed), housed.registered("ann")
        housed.send(ann, "new spaceships with robo end\n")
        housed.send(robo, form_in(robo.text, "accept", lines=1))
        for number in range(51):
            housed.send(robo, f"press m1\n{number} is it.\nend\n")
        assert "try again tomorrow" not in robo.text
