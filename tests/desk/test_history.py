"""All matches on one page, the diary of a match, and how reliable players are: read as those who get them."""

from __future__ import annotations

from datetime import timedelta

from in_a_box.referee import Mailbox, Referee, body, form_in
from in_a_box.small_games import DESTROYERS
from judges.golden import reads_like

DAY = timedelta(days=1)


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    return referee.begun(f"fleet: cost:3\n{options}", DESTROYERS)


class TestStatus:
    def test_all_own_matches_on_one_page(self, referee: Referee) -> None:
        ann, bob = begun(referee, "kind: scored\ngames: 3")
        referee.turn((ann, ""), (bob, ""))
        referee.send(bob, "set timezone Europe/Berlin\n")
        carl = referee.registered("carl")
        referee.send(bob, "new dueling-masters with carl\nend\n")
        referee.send(carl, "new spaceships with bob\nend\n")
        referee.send(bob, "new shoot-em-up\nseats: 2\nend\n")
        referee.send(bob, "new spaceships with ann\nend\n")
        referee.send(ann, form_in(body(ann.find("proposes a match")), "accept", lines=1))
        referee.send(ann, "resign m1 game 1\n")
        referee.send(bob, f"vacation {(referee.now + 20 * DAY).date()} to {(referee.now + 22 * DAY).date()}\n")
        assert ann.find("game 2, send your setup")
        referee.send(ann, "status\n", sign=False)
        assert "bob's vacation: Saturday 21 March 2026 to Monday 23 March 2026" in ann.text
        referee.send(bob, "status\n", sign=False)
        reads_like(bob.last, "history/status-of-all")


class TestDiary:
    def test_what_happened_and_when(self, referee: Referee) -> None:
        ann, bob = begun(referee, "kind: scored\ngames: 2")
        referee.send(bob, "set timezone America/New_York\n")
        referee.turn((ann, ""), (bob, ""))
        referee.wait(DAY / 8)
        referee.send(ann, "press m1\nShall we call it a draw?\nend\n")
        referee.send(ann, "draw m1 offer\n")
        referee.send(bob, "draw m1 decline\n")
        referee.send(bob, "vacation 2026-03-05 to 2026-03-07\n")
        referee.outage(timedelta(hours=3))
        referee.send(ann, "extend m1 2d\n")
        referee.wait(20 * DAY)
        referee.registered("carl")
        referee.send(ann, ann.filled("orders", "final"))
        referee.send(ann, "substitute m1 carl for bob\n")
        carl = referee.people["carl@mail.example"]
        referee.send(carl, form_in(carl.text, "substitute"))
        referee.send(carl, "set timezone Europe/Berlin\n")
        referee.send(carl, "resign m1 game 1\n")
        referee.send(carl, "diary m1\n", sign=False)
        reads_like(carl.last, "history/diary")
        referee.send(ann, "resign m1 match\n")
        referee.send(ann, "diary m1\n", sign=False)
        assert "the match is closed; carl has won" in ann.text

    def test_reports_of_earlier_games_come_again(self, referee: Referee) -> None:
        ann, bob = begun(referee, "kind: scored\ngames: 2")
        referee.turn((ann, ""), (bob, ""))
        referee.turn((ann, ""), (bob, "Rv1"))
        referee.send(ann, "resign m1 game 1\n")
        referee.open_desk()
        referee.send(bob, "report m1 game 1 turn 2\n", sign=False)
        assert any("The report is sent again, in a separate letter." in body(letter) for letter in bob.letters)
        again = body(bob.find("game 1, turn 2, again"))
        assert "Turn 2" in again
        assert "Rv1" in again


class TestReliability:
    def test_is_counted_and_shown_before_one_accepts(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: pass\nkind: scored\ngames: 3")
        for _ in range(4):
            referee.turn((ann, ""), (bob, ""))
        referee.send(ann, ann.filled("orders", "final"))
        referee.wait(11 * DAY)
        referee.send(bob, "whoami\n", sign=False)
        assert "You sent 5 of 6 turns on time (too few to mean much)." in bob.text
        for _ in range(5):
            referee.turn((ann, ""), (bob, ""))
        carl = referee.registered("carl")
        referee.send(carl, "whoami\n", sign=False)
        assert "You have not finished a turn here yet" in carl.text
        referee.send(bob, "new spaceships with carl\nend\n")
        reads_like(carl.last, "history/proposal-of-bob")
        referee.send(bob, "new spaceships\nend\n")
        referee.send(carl, "list open\n", sign=False)
        assert "bob sent 10 of 11 turns on time (90%)." in carl.text
        referee.send(carl, "join m3\n")
        assert "bob sent 10 of 11 turns on time (90%)." in carl.text
        assert "carl has not finished a match of Spaceships here yet.\n\n" in bob.text
        nemo = referee.person("nemo")
        referee.send(bob, "new spaceships with nemo@mail.example\nend\n")
        assert "bob sent 10 of 11 turns on time (90%)." in nemo.text
