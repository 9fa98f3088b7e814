"""People by mail: the open list, invitations, observers, silence and standings."""

from __future__ import annotations

import pytest
from in_a_box import keyless
from in_a_box.bulletins import bulletin
from in_a_box.referee import ANN, BOB, Mailbox, Referee, attachment, body, form_in, html, placed
from in_a_box.small_games import FLEETS
from judges.honest import accused

from pbem.identity import ssh
from pbem.store.database import to_db
from pbem.store.people import People
from pbem.store.players import Players

SMALL = "fleet: cost:3"


def test_an_open_proposal_is_joined_from_the_list(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships\nend\n")
    assert "It is on the open list" in ann.text
    referee.send(bob, "list open\n", sign=False)
    assert "m1     Spaceships, proposed by ann" in bob.text
    assert "1 of 2 seats is free" in bob.text
    referee.send(bob, "join m1\n")
    assert "You have a seat in m1" in bob.text
    assert "bob joins your match m1" in ann.text
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    assert "setup m1 game 1" in ann.text
    assert "bob has seat 2" in ann.text
    referee.send(ann, "list open\n", sign=False)
    assert "There are no open invitations" in ann.text


def test_what_joining_refuses(referee: Referee) -> None:
    ann, bob, cy = referee.registered("ann"), referee.registered("bob"), referee.registered("cy")
    referee.send(ann, "new spaceships\nend\n")
    referee.send(ann, "join m1\n")
    assert "you have a seat in it already" in ann.text
    referee.send(bob, "join m1\n", sign=False)
    assert "must be signed" in bob.text
    referee.send(bob, "join m2\n")
    assert "not on the open list" in bob.text
    referee.send(bob, "join m1\n")
    referee.send(cy, "join m1\n")
    assert "not on the open list" in cy.text
    referee.send(cy, "status m1\n", sign=False)
    assert "you have no such match" in cy.text


def test_a_player_cannot_fill_the_open_list(referee: Referee) -> None:
    ann = referee.registered("ann")
    for number in range(20):
        referee.send(ann, f"new spaceships\nkind: scored\ntarget: {number + 1}\nend\n")
        assert "It is on the open list" in ann.text
    referee.send(ann, "new spaceships\nkind: scored\ntarget: 99\nend\n")
    assert "too many of your proposals are unanswered" in ann.text


def test_a_proposal_is_withdrawn(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships with bob\nend\n")
    referee.send(bob, "withdraw m1\n")
    assert "ann proposed it" in bob.text
    referee.send(ann, "withdraw m1\n")
    assert "Withdrawn" in ann.text
    assert "ann withdrew" not in bob.text, "who has not answered has nothing to do any more"
    referee.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
    assert "withdrawn; there is nothing to accept" in " ".join(bob.text.split())


def test_an_address_is_invited_once_and_finds_the_proposals(referee: Referee) -> None:
    ann, cy = referee.registered("ann"), referee.person("cy")
    referee.send(ann, f"new spaceships with {cy.address}\nend\n")
    assert f"Seat 2 is kept for {cy.address}, who has been invited" in " ".join(ann.text.split())
    assert "ann invites you to play Spaceships" in cy.text
    assert "<table" in html(cy.last)
    assert "mailto:pbem@play.example?subject=register" in html(cy.last)
    referee.send(ann, f"new spaceships with {cy.address.upper()}\nkind: scored\ngames: 2\nend\n")
    assert len(cy.letters) == 1
    assert "No invitation was sent" in ann.text
    referee.send(cy, f"register cy\n{ssh.public(cy.key)} cy@home\n", sign=False)
    referee.send(cy, form_in(cy.text, "confirm"))
    subjects = [str(letter["Subject"]) for letter in cy.letters]
    assert sum("proposes a match to you" in subject for subject in subjects) == 2
    referee.send(cy, form_in(body(cy.find("[pbem m1] ")), "accept", lines=1))
    assert "setup m1 game 1" in ann.text


@pytest.mark.parametrize("options", ["", "keys: demanded\n"])
def test_who_wants_no_mail_is_not_told_from_nobody(referee: Referee, options: str) -> None:
    ann, bob = referee.registered("ann"), referee.person("bob")

    def asked(who: str) -> str:
        referee.send(ann, f"new spaceships with {who}\n{options}end\n")
        return " ".join(body(ann.last).split()).replace(who, "WHO")

    unknown = asked("cy")
    with referee.database.transaction():
        Players(referee.database).add("bob", bob.address, None, to_db(referee.now))
        People(referee.database).opt_out([bob.address], to_db(referee.now))
    referee.desk.players.forget()
    assert "no player is called WHO, or WHO wants no mail" in unknown
    assert asked("bob") == unknown


def test_who_wants_no_mail_gets_none(referee: Referee) -> None:
    ann, bob, cy = referee.registered("ann"), referee.registered("bob"), referee.person("cy")
    referee.send(bob, f"stop\n{placed(bob)}")
    assert "You will get no more mail from here" in bob.text
    before = len(bob.letters)
    referee.send(ann, "new spaceships with bob\nend\n")
    assert "no player is called bob, or bob wants no mail about new matches" in " ".join(ann.text.split())
    assert len(bob.letters) == before
    referee.send(ann, f"new spaceships with {bob.address}\nend\n")
    assert len(bob.letters) == before
    assert "No invitation was sent" in ann.text
    referee.send(cy, "stop\n", sign=False)
    referee.send(cy, "stop\n", sign=False, to=str(cy.last["Reply-To"]))
    before = len(cy.letters)
    referee.send(ann, f"new spaceships with {cy.address}\nend\n")
    assert len(cy.letters) == before
    referee.send(bob, "new spaceships with ann\nend\n")
    referee.send(ann, "new spaceships with bob\nkind: scored\ngames: 2\nend\n")
    assert "proposes a match to you" in str(bob.last["Subject"])


def test_stop_is_for_all_addresses_of_a_player(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    other = Mailbox("bob", "bob@office.example", bob.key)
    referee.people[other.address] = other
    referee.send(bob, f"address add {other.address}\n")
    referee.send(other, form_in(other.text, "confirm"))
    referee.send(other, f"stop\n{placed(bob)}")
    assert "You will get no more mail from here" in other.text
    assert "What you proposed, or entered, stands" in other.text
    before = len(bob.letters)
    referee.send(ann, "new spaceships with bob\nend\n")
    assert "bob wants no mail about new matches" in " ".join(ann.text.split())
    assert len(bob.letters) == before
    referee.send(other, "new spaceships with ann\nend\n")
    referee.send(ann, "new spaceships with bob\nkind: scored\nend\n")
    assert "proposes a match to you" in str(bob.last["Subject"])


def test_stop_does_not_end_a_running_match(referee: Referee) -> None:
    ann, bob = referee.agreed(SMALL)
    referee.send(bob, f"stop\n{placed(bob)}")
    referee.send(ann, ann.filled("setup", FLEETS[0]))
    referee.send(bob, bob.filled("setup", FLEETS[1]))
    assert "the game begins" in body(bob.find("begins"))


def test_an_observer_gets_the_public_view_and_nothing_else(referee: Referee) -> None:
    ann, bob = referee.begun()
    cy = referee.registered("cy")
    referee.send(cy, "observe m1\n")
    assert "You now watch m1 (Spaceships, ann - bob)" in cy.text
    before = len(cy.letters)
    referee.turn((ann, "Gz1"), (bob, "Gz5"))
    assert len(cy.letters) == before + 1
    letter = cy.text
    assert "turn 1" in letter
    assert not list(cy.last.iter_attachments())
    for secret in (*ANN.split(), *BOB.split(), "Your form", "rev 1", "prev "):
        if len(secret) > 2:
            assert secret not in letter, secret
    referee.send(ann, "press m1\nbetween us\nend\n")
    assert "between us" not in cy.text
    referee.send(ann, "press m1 public\nto all of you\nend\n")
    assert "to all of you" in cy.text
    assert "to all of you" in bob.text
    referee.send(ann, "press m1 public opinion is\nagainst you\nend\n")
    assert "public opinion is" in bob.text
    assert "against you" not in cy.text
    referee.send(cy, "unobserve m1\n")
    before = len(cy.letters)
    referee.turn((ann, "Gx4"), (bob, "Gv5"))
    assert len(cy.letters) == before


def test_who_may_observe_what(referee: Referee) -> None:
    ann, bob, cy = referee.registered("ann"), referee.registered("bob"), referee.registered("cy")
    referee.send(
        ann,
        "new spaceships\nprivacy: Private\nend\nnew spaceships\nseats: 3\nend\nnew spaceships\nseats: many\nend\n",
    )
    told = " ".join(ann.text.split())
    assert "`private`: a private match is not on the open list: name your opponents" in told
    assert told.count(": Spaceships is for 2 players") == 2
    referee.send(ann, "new spaceships with bob\nprivacy: private\nend\n")
    assert "nobody else may watch" in bob.text
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(cy, "observe m1\n")
    assert "there is no such match to watch" in cy.text
    referee.send(cy, "unobserve m1\n", follow=False)
    assert "you do not watch this match" in cy.text
    referee.send(ann, "new spaceships with bob\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(bob, "observe m2\n")
    assert "you play in it" in bob.text
    stranger = referee.person("dora")
    referee.send(stranger, "observe m2\n", sign=False)
    assert "not registered" in stranger.text


def test_an_observer_sees_the_end(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    cy = referee.registered("cy")
    referee.send(cy, "observe m1\n")
    referee.send(ann, "resign m1 match\n")
    ended = body(cy.find("the end"))
    assert "bob wins" in ended
    assert "The setup of ann" in ended
    assert not list(cy.find("the end").iter_attachments())
    assert "bob has won the match" in cy.text
    referee.send(cy, "observe m1 # again\n")
    assert "this match is over, and there is nothing more to watch" in cy.text
    assert attachment(bob.find("the end"), ".zip")


def test_no_two_seats_are_kept_for_one_address(referee: Referee) -> None:
    """Whoever registers there would get both, and could accept for one alone: the match would never begin."""
    ann, cy = referee.registered("ann"), referee.person("cy")
    referee.send(ann, f"new shoot-em-up with {cy.address} {cy.address.upper()}\nend\n")
    assert "the same player twice" in ann.text
    assert not cy.letters
    referee.send(ann, f"new shoot-em-up with {cy.address} dan@mail.example\nend\n")
    assert "Seat 3 is kept for dan@mail.example" in ann.text


def joined(referee: Referee, options: str = "") -> list[Mailbox]:
    """Bob and Cy have joined Ann's match of four."""
    ann, bob, cy = people = [referee.registered(name) for name in ("ann", "bob", "cy")]
    referee.send(ann, f"new shoot-em-up\nseats: 4\n{options}\nend\n")
    for person in (bob, cy):
        referee.send(person, "join m1\n")
    assert "We are waiting for more players" in bob.text
    return people


def test_who_joined_an_open_match_hears_that_it_is_off(referee: Referee) -> None:
    ann, bob, _ = joined(referee)
    referee.send(ann, "withdraw m1\n")
    assert "ann withdrew match m1" in bob.text
    assert "Withdrawn" in ann.text


@pytest.mark.parametrize("options", ["settle: 0", "settle: 0\nanonymous: yes"])
def test_who_declines_an_open_match_frees_the_seat_alone(referee: Referee, options: str) -> None:
    """The others play, and no letter that the one kept accuses the server."""
    ann, bob, cy = joined(referee, options)
    referee.send(bob, "decline m1\n")
    assert "the others have been told" in bob.text
    for person in (ann, cy):
        assert "The seat is free again; we are waiting for more players" in person.text
        assert bulletin(person.last)["items"][0]["phase"] == "open"
    referee.send(ann, "list open\n", sign=False)
    assert "m1" in ann.text
    referee.send(bob, "status m1\n", sign=False)
    assert "you have no such match" in bob.text
    more = [referee.registered(name) for name in ("dan", "eve")]
    for person in more:
        referee.send(person, "join m1\n")
    for person in (cy, *more):
        referee.send(person, form_in(person.text, "accept", lines=1))
    assert referee.match().phase == "setup"
    assert referee.match().names == ("ann", "dan", "cy", "eve")
    referee.send(bob, "list open\n", sign=False)
    assert "m1" not in body(bob.last)
    for person in (cy, *more):
        referee.send(person, "resign m1 match\n")
    assert accused(referee) == []


def test_one_word_in_answer_to_the_seat_frees_it_again(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.send(ann, "new shoot-em-up\nseats: 4\nend\n")
    bob = keyless.registered(referee, "bob")
    keyless.answer(referee, bob, "join m1\n")
    assert "You have a seat in m1" in body(bob.last)
    keyless.answer(referee, bob, "decline\n")
    assert "the others have been told" in body(bob.last)
    assert "The seat is free again" in ann.text


def test_who_was_named_and_declines_an_open_match_ends_it(referee: Referee) -> None:
    """The proposal names that player, and so no other may sit there."""
    ann, bob, cy = [referee.registered(name) for name in ("ann", "bob", "cy")]
    referee.send(ann, "new shoot-em-up with bob\nseats: 4\nend\n")
    referee.send(cy, "join m1\n")
    referee.send(bob, "decline m1\n")
    assert referee.match().phase == "declined"
    assert "bob declined match m1" in ann.text


def test_an_address_that_becomes_a_players_second_one_gets_the_seats_kept_for_it(referee: Referee) -> None:
    """Nobody can register there any more: the seat would be free for ever. Who has a seat gets no second one."""
    ann, bob = referee.registered("ann"), referee.registered("bob")
    other = Mailbox("bob", "bob@office.example", bob.key)
    referee.people[other.address] = other
    for match in ("spaceships with", "shoot-em-up with bob"):
        referee.send(ann, f"new {match} {other.address}\nend\n")
    referee.send(bob, "block eve\n")
    eve = referee.registered("eve")
    referee.send(eve, f"new spaceships with {other.address}\nend\n")
    referee.send(bob, f"address add {other.address}\n")
    referee.send(other, form_in(other.text, "confirm"))
    assert "is yours as well" in body(other.find("Re: "))
    assert [str(letter["Subject"]) for letter in bob.letters if "proposes" in str(letter["Subject"])] == [
        "[pbem m1] Spaceships, ann proposes a match to you"
    ]
    referee.send(bob, form_in(body(bob.find("ann proposes")), "accept", lines=1))
    assert referee.match(1).phase == "setup"
    assert [referee.match(number).phase for number in (2, 3)] == ["open", "open"]
