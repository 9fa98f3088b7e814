"""The order of a letter about a match; what follows after the end; and how a list is left."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Mailbox, Referee, body, confirming, form_in, placed, sent_from, whole_sentence
from in_a_box.small_games import FLEETS, SMALL

from pbem.identity import ssh

if TYPE_CHECKING:
    from email.message import EmailMessage


RULE = "\n" + "-" * 72 + "\n"
DAY = timedelta(days=1)


def played(referee: Referee, options: str = SMALL) -> tuple[Mailbox, Mailbox]:
    ann, bob = referee.begun(options, FLEETS)
    for shot in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, shot), (bob, ""))
    return ann, bob


def clicked(referee: Referee, person: Mailbox, letter: EmailMessage, text: str = "") -> str:
    """Leave the list of a letter by a click, as a mail program does; returns the answer."""
    left = re.fullmatch(r"<mailto:([^?>]+)\?subject=([^>]+)>", str(letter["List-Unsubscribe"]).strip())
    assert left is not None
    to, subject = left[1], left[2].replace("%20", " ")
    number = next(referee.sent)
    raw = f"From: {person.address}\nTo: {to}\nSubject: {subject}\nMessage-ID: <{number}@mail.example>\n\n{text}\n"
    before = len(person.letters)
    referee.deliver(raw.replace("\n", "\r\n").encode(), person.address, to)
    return body(person.letters[-1]) if len(person.letters) > before else ""


class TestOrder:
    def test_a_turn_says_first_what_came_of_it_and_last_what_proves_it(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        referee.turn((ann, "Rv1"), (bob, ""))
        letter = ann.find("turn 1")
        text = body(letter)
        assert text.startswith("You hit 1 and sank LG1; you lost nothing.\n\nSpaceships, match m1: turn 1\n")
        assert body(bob.find("turn 1")).startswith("You hit nothing; you lost 1, and with them LG1.\n")
        order = (
            "Your orders are due by",
            "\n  strike ",
            "Your space ",
            "what you may order",
            "\norders m1 turn 2",
            RULE,
        )
        places = [text.index(words) for words in order]
        assert places == sorted(places)
        told, proofs = text.split(RULE)
        assert not re.search("[0-9a-f]{64}", told.replace(form_in(text, "orders"), ""))
        assert proofs.count("  signature ") == 2
        page = letter.get_body(("html",))
        assert page is not None
        shown = page.get_content()
        assert shown.index("You hit 1 and sank LG1") < shown.index("What happened") < shown.index("Transcript of")

    def test_the_end_says_the_result_first_shows_both_sides_and_what_to_do_next(self, referee: Referee) -> None:
        ann, bob = played(referee)
        for person, won in ((ann, "You won"), (bob, "You lost")):
            letter = person.find(", the end")
            assert str(letter["Subject"]).endswith(f"the end: {won.lower()}; the match is closed")
            text = body(letter)
            assert text.startswith(f"{won} Spaceships game 1 after 3 turns.\n")
            other = "bob" if person is ann else "ann"
            order = (
                "Your space, as it was",
                f"{other}'s space, as it was",
                "pbem verify",
                "turn 3",
                "For a rematch",
                RULE,
            )
            places = [text.index(words) for words in order]
            assert places == sorted(places)
            assert text.count(RULE) == 1
            assert text.count("  head ") == 1
            assert len([line for line in text.split("\n") if " 3 of 3  Rv1 Rv2 Rv3" in line]) == 1
        assert "as you know it" not in body(ann.find(", the end"))

    @pytest.mark.parametrize(
        "game", ["kind: scored\ngames: 1", "miss: forfeit\npace: 3d\ngrace: 12h\nweekends: free"]
    )
    def test_a_rematch_is_one_reply(self, referee: Referee, game: str) -> None:
        ann, bob = played(referee, f"{SMALL}\n{game}")
        referee.send(bob, form_in(body(bob.find("the match is closed")), "new"))
        assert "Proposed:" in bob.text
        again = referee.match(2)
        first = referee.match(1)
        assert again.terms.lines() == first.terms.lines()
        assert again.names == ("bob", "ann")
        referee.send(ann, form_in(body(ann.find("proposes a match")), "accept", lines=1))
        assert ann.find("send your setup")
        assert referee.match(2).phase == "setup"


class TestLists:
    def test_observers_leave_by_one_click(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        cy = referee.registered("cy")
        referee.send(cy, "observe m1\n")
        assert cy.last["List-Id"] is None
        referee.turn((ann, "Rv1"), (bob, ""))
        letter = cy.find("turn 1")
        assert body(letter).startswith("ann hit 1 and sank LG1; bob hit nothing.\n")
        assert letter["List-Id"] == "<m1.observers.play.example>"
        assert letter["List-Help"] == "<mailto:pbem@play.example?subject=help>"
        assert "watch m1" in clicked(
            referee, cy, letter, "This message was automatically generated by a mail program."
        )
        before = len(cy.letters)
        referee.turn((ann, "Rv3"), (bob, ""))
        assert len(cy.letters) == before
        assert ann.find("turn 2")["List-Unsubscribe"] is None

    def test_reminders_are_left_by_one_click(self, referee: Referee) -> None:
        ann, bob = referee.begun(f"{SMALL}\npace: 4d", FLEETS)
        referee.wait(2 * DAY)
        letter = ann.find("a reminder")
        assert letter["List-Id"] == "<reminders.play.example>"
        assert "No more reminders" in clicked(referee, ann, letter)
        referee.wait(3 * DAY)
        assert len([one for one in ann.letters if "a reminder" in str(one["Subject"])]) == 1
        assert len([one for one in bob.letters if "a reminder" in str(one["Subject"])]) > 1
        # The address is good for one letter, and for nothing but leaving.
        assert "Nothing shows that this letter came from you" in clicked(referee, ann, letter)

    def test_the_address_is_good_for_nothing_else(self, referee: Referee) -> None:
        ann, _ = referee.begun(f"{SMALL}\npace: 4d", FLEETS)
        referee.wait(2 * DAY)
        letter = ann.find("a reminder")
        assert "must be signed" in clicked(referee, ann, letter, "set format text\nresign m1 match")
        assert referee.match().phase == "playing"
        assert ann.find("a reminder") is letter

    def test_setups_are_asked_for_at_once(self, referee: Referee) -> None:
        ann, bob = (referee.registered(name) for name in ("ann", "bob"))
        referee.send(ann, "set mail digest\n")
        referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
        referee.send(bob, form_in(bob.text, "accept", lines=1))
        assert "send your setup" in str(ann.last["Subject"])


class TestSettings:
    def test_boards_in_words(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        referee.send(ann, "set format words\n")
        assert "describes the boards in words" in ann.text
        referee.turn((ann, "Rv1"), (bob, "mRv1 Gx3"))
        letter = ann.find("turn 1")
        text = body(letter)
        assert letter.get_body(("html",)) is None
        assert "R 1 2 3 4 5" not in text
        assert "Red v1 to v3: MD\n" in text
        assert "Green x3: searched, empty, struck last turn\n" in text
        assert "Red v1: LG1, destroyed, shot at last turn\n" in text
        assert "All other cells: not searched" in text
        assert "R 1 2 3 4 5" in body(bob.find("turn 1"))
        referee.send(ann, "status m1\n", sign=False)
        assert "Red v1 to v3: MD\n" in ann.text

    @pytest.mark.parametrize("game", ["spaceships", "dueling-masters"])
    def test_the_published_example_is_no_secret(self, referee: Referee, game: str) -> None:
        ann, bob = referee.agreed("", game=game)
        for person in (ann, bob):
            shown = body(person.find("send your setup")).partition("has seen it too):\n\n")[2].partition("\n\n")[0]
            referee.send(person, person.filled("setup", shown))
            assert "Your setup stands" in person.text
            assert "this is the example of our letters and rules" in person.text

    @pytest.mark.parametrize(
        ("setting", "first", "later"), [("language", "en", "de"), ("timezone", "Europe/Berlin", "Asia/Tokyo")]
    )
    def test_signed_words_of_no_place_win_over_no_choice(
        self, referee: Referee, setting: str, first: str, later: str
    ) -> None:
        """They may have been held back on their way, or be meant for another server."""
        ann = referee.registered("ann")
        held_back = referee.raw(ann, referee.signed(ann, f"set {setting} {later}\n"))
        referee.send(ann, f"set {setting} {first}\n{placed(ann)}")
        referee.deliver(held_back, "evil@elsewhere.example")
        assert referee.desk.players.setting("ann", setting, "") == first
        whole = f"set {setting} {later}\n{placed(ann)}rev 2\nend\n"
        assert whole in ann.text
        referee.send(ann, whole)
        assert referee.desk.players.setting("ann", setting, "") == later

    def test_the_language_of_the_letter_that_registered_is_no_choice(self, referee: Referee) -> None:
        ann = referee.person("ann")
        asks = f"register ann\n{ssh.public(ann.key)} ann@home\n"
        german = "Accept-Language: de\n" + sent_from(ann.address)
        referee.deliver(referee.raw(ann, asks, headers=german), ann.address)
        signed = referee.signed(ann, confirming(ann))
        referee.deliver(referee.raw(ann, signed, headers=german), ann.address)
        referee.send(ann, "whoami\n")
        assert "  language de\n" in ann.text
        referee.send(ann, "set language en\n", follow=False)
        assert "Your letters come in English" in ann.text
        referee.send(ann, "set language de\n", follow=False)
        assert whole_sentence(ann.text) == f"set language de\n{placed(ann)}rev 3\nend\n"


def test_of_two_setups_in_one_letter_none_counts(referee: Referee) -> None:
    """Only their order would decide."""
    ann, _ = referee.agreed(SMALL)
    two = [ann.filled("setup", fleet).replace("rev 1\n", "") for fleet in FLEETS]
    assert two[0] != two[1]
    referee.send(ann, "".join(two), follow=False)
    assert ann.text.count("this letter submits two of these") == 2
    assert not referee.match().setups
