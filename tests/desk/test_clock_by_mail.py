"""The clock as players meet it: reminders, misses, gifts, vacations, zones, banks, outages."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import icalendar
import pytest
from in_a_box.bulletins import bulletin
from in_a_box.inquiries import held, proved, types
from in_a_box.referee import SERVER, Mailbox, Referee, attachment, body, form_in, placed
from in_a_box.small_games import FLEETS, SMALL
from judges.golden import reads_like
from signing.domains import Domain, rsa_key

from pbem.config.mail import MailboxConfig
from pbem.store.inbox import Inbox, Look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from email.message import EmailMessage
    from pathlib import Path


DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
REMINDER = "a reminder"
OVER = "a deadline was missed"


def begun(referee: Referee, options: str = "", first: str = "") -> tuple[Mailbox, Mailbox]:
    """A small game by mail; `first` is what Bob sends before his first letter of the match."""
    if not first:
        ann, bob = referee.begun(f"{SMALL}\n{options}", FLEETS)
        return ann, bob
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(bob, first)
    referee.send(ann, f"new spaceships with bob\n{SMALL}\n{options}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", FLEETS[0]))
    referee.send(bob, bob.filled("setup", FLEETS[1]))
    return ann, bob


def since(person: Mailbox, number: int) -> list[tuple[str, str]]:
    """Day and hour, and what it is about, of the letters that came after so many."""
    return [
        (
            datetime.strptime(str(letter["Date"]), "%a, %d %b %Y %H:%M:%S %z").strftime("%d.%m. %H:%M"),
            str(letter["Subject"]).rpartition(": ")[2].rpartition(", ")[2],
        )
        for letter in person.letters[number:]
    ]


def entries(referee: Referee) -> list[dict[str, object]]:
    rows = referee.database.execute("SELECT entry FROM entries WHERE match = 1 ORDER BY seq")
    return [json.loads(row[0]) for row in rows]


def deadline(letter: EmailMessage) -> datetime:
    """The deadline in the calendar file of a letter."""
    (event,) = icalendar.Calendar.from_ical(attachment(letter, ".ics")).walk("VEVENT")
    time = event.decoded("dtstart")
    assert isinstance(time, datetime)
    return time


class TestReminders:
    def test_half_time_one_day_before_at_the_deadline_and_grace(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, ann.filled("orders", "Rv1"))
        before, others = len(bob.letters), len(ann.letters)
        referee.wait(30 * DAY)
        assert since(bob, before) == [
            ("05.03. 00:00", REMINDER),
            ("07.03. 12:00", REMINDER),
            ("08.03. 12:00", REMINDER),
            ("11.03. 12:00", OVER),
        ]
        assert since(ann, others) == [("11.03. 12:00", OVER)]
        for number, name in enumerate(("half", "day", "deadline", "missed")):
            reads_like(bob.letters[before + number], f"clock/{name}")
        reads_like(ann.last, "clock/missed-by-the-other")

    def test_setups_have_a_deadline_too(self, referee: Referee) -> None:
        ann, bob = referee.agreed(SMALL)
        before = len(ann.letters)
        referee.send(bob, bob.filled("setup", FLEETS[1]))
        referee.wait(9 * DAY)
        assert [what for _, what in since(ann, before)] == [REMINDER] * 3
        reads_like(ann.letters[before], "clock/setup-half")
        assert deadline(bob.find("send your setup")) == datetime(2026, 3, 8, 12, tzinfo=UTC)

    def test_no_pace_no_deadline(self, referee: Referee) -> None:
        _ann, bob = begun(referee, "pace: none")
        before = len(bob.letters)
        assert "There is no deadline" in body(bob.find("game 1 begins"))
        assert referee.running.tick(referee.now) is None
        referee.wait(400 * DAY)
        assert len(bob.letters) == before

    def test_deadlines_are_in_the_players_zone_and_in_a_calendar_file(self, referee: Referee) -> None:
        referee.now = datetime(2026, 3, 25, 23, 30, tzinfo=UTC)
        ann, bob = begun(referee, first="set timezone europe/berlin\n")
        reads_like(next(letter for letter in bob.letters if "Your time zone" in body(letter)), "clock/timezone")
        letter = bob.find("game 1 begins")
        assert "Your orders are due by\n    Thursday 2 April 2026, 00:30 Europe/Berlin (UTC+2)\n" in body(letter)
        assert deadline(letter) == datetime(2026, 4, 1, 22, 30, tzinfo=UTC)
        letter = ann.find("game 1 begins")
        assert "Your orders are due by\n    Wednesday 1 April 2026, 23:30 UTC\n" in body(letter)
        assert deadline(letter) == datetime(2026, 4, 1, 23, 30, tzinfo=UTC)
        (event,) = icalendar.Calendar.from_ical(attachment(letter, ".ics")).walk("VEVENT")
        assert str(event["SUMMARY"]) == "Spaceships m1, game 1, turn 1"
        (alarm,) = event.walk("VALARM")
        assert str(alarm["DESCRIPTION"]) == "Spaceships m1, game 1, turn 1"


class TestMisses:
    def test_wait_until_the_opponent_claims(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, "claim m1\n")
        assert "the match is also waiting for you" in ann.text
        referee.send(ann, ann.filled("orders", "Rv1"))
        referee.wait(10 * DAY - timedelta(seconds=1))
        referee.send(ann, "claim  m1\n")
        assert "nobody has missed the deadline and the grace period" in ann.text
        referee.wait(60 * DAY)
        assert types(referee)[-1] == "missed"
        referee.send(bob, "claim m1\n")
        assert "the match is also waiting for you" in bob.text
        referee.send(ann, "claim m1 # now\n")
        assert "Your claim is granted" in ann.text
        reads_like(ann.find("game 1, the end"), "clock/claimed-end")
        assert types(referee)[-5:] == ["missed", "claimed", "ended", "revealed", "closed"]
        found = proved(referee, bob)
        assert "seat 1 claimed from the silent seats [2], signed" in found
        assert "game 1 ended: winners [1], scores [3, 3], forfeit" in found

    @pytest.mark.parametrize("sender", ["eve@elsewhere.example", "bob@mail.example"])
    def test_strangers_whose_name_servers_say_nothing_stop_no_clock(self, referee: Referee, sender: str) -> None:
        """A letter that waits for the DNS only to learn how it may be answered has no effect in a match."""
        ann, _ = begun(referee)
        referee.turn((ann, "Rv1"))
        referee.wait(10 * DAY - timedelta(minutes=1))
        home = Domain(sender.partition("@")[2], key=rsa_key(1024))
        referee.records[home.where] = None
        letter = f"From: {sender}\r\nTo: pbem@{SERVER}\r\nMessage-ID: <1@elsewhere.example>\r\n\r\nhelp\r\n"
        referee.deliver(home.sign(letter.encode(), referee.now), sender)
        assert "missed" not in types(referee)
        referee.wait(timedelta(minutes=2))
        assert referee.inbox.count("waiting") == 1
        assert types(referee)[-1] == "missed"

    def test_pass_empty_orders_are_played(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: pass")
        referee.turn((ann, "Rv1"))
        referee.wait(11 * DAY)
        assert types(referee)[-2:] == ["missed", "turn"]
        assert "destroyed your LG1" in body(bob.find("game 1, turn 1"))
        turn = entries(referee)[-1]["body"]
        assert isinstance(turn, dict)
        assert list(turn["orders"]) == ["1"], "an empty order has no letter, and no receipt"
        proved(referee, bob)
        referee.turn((bob, ""), (ann, "Rv3"))
        referee.turn((bob, ""), (ann, "Bz5"))
        assert "seat 2 missed turn 1 of game 1: pace and grace were over" in proved(referee, bob)

    def test_no_entry_is_before_a_letter_that_came_while_the_clock_stood(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The clock stands still while an older letter waits, and others are handled."""
        ann, bob = begun(referee, "miss: pass")
        referee.turn((ann, "Rv1"))
        referee.wait(10 * DAY - timedelta(minutes=2))
        heard = [referee.now]
        monkeypatch.setattr(Inbox, "heard_until", lambda *_: heard[-1])
        referee.now += timedelta(minutes=9)
        referee.send(ann, f"draw m1 offer\n{placed(ann)}")
        heard.append(heard[0] + timedelta(minutes=3))
        referee.work()
        assert types(referee)[-3:] == ["draw", "missed", "turn"]
        proved(referee, bob)

    def test_pass_silent_twice_in_a_row_loses_the_game(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: pass\nkind: scored\ngames: 3")
        for shot in ("Gv1", "Gv2"):
            referee.turn((ann, shot))
            referee.wait(11 * DAY)
        assert types(referee)[-4:] == ["missed", "forfeited", "ended", "revealed"]
        assert "You lost Spaceships game 1 after 1 turn, because you missed the deadline" in body(
            bob.find("game 1, the end")
        )
        assert "You lose the game if nothing arrives by" in body(bob.find("turn 1"))
        reads_like(bob.find(OVER), "clock/missed-twice")
        # The next game's setup is the third miss in a row.
        referee.send(ann, ann.filled("setup", FLEETS[0]))
        referee.wait(11 * DAY)
        assert types(referee)[-3:] == ["missed", "forfeited", "closed"]
        assert "You have lost the match, because you missed the deadline and the grace" in body(bob.find("closed"))
        proved(referee, ann)

    def test_forfeit_waits_for_an_opponent_with_more_time(self, referee: Referee) -> None:
        """Nobody wins by being silent a little longer; and who comes before all are in has cost nobody anything."""
        ann, bob = begun(referee, "miss: forfeit")
        referee.send(ann, "extend m1 5d\n")
        referee.wait(11 * DAY)
        assert types(referee)[-2:] == ["extended", "missed"]
        referee.turn((ann, "Rv1"), (bob, ""))
        assert types(referee)[-1] == "turn"
        proved(referee, bob)

    def test_a_game_is_abandoned_if_all_are_silent(self, referee: Referee) -> None:
        ann, _bob = begun(referee, "miss: forfeit")
        referee.wait(11 * DAY)
        assert types(referee)[-6:] == ["missed", "missed", "forfeited", "ended", "revealed", "closed"]
        told = ann.find("game 1, the end")
        reads_like(told, "clock/abandoned-end")
        assert "game 1 ended: winners [], scores [3, 3], abandoned" in proved(referee, ann)

    @pytest.mark.parametrize(("miss", "days"), [("pass", 20), ("forfeit", 10)])
    def test_a_setup_that_never_comes(self, referee: Referee, miss: str, days: int) -> None:
        ann, bob = referee.agreed(f"{SMALL}\nmiss: {miss}")
        referee.send(ann, ann.filled("setup", FLEETS[0]))
        referee.wait(days * DAY - HOUR)
        assert "closed" not in types(referee)
        if miss == "pass":
            reads_like(next(letter for letter in bob.letters if OVER in str(letter["Subject"])), "clock/missed-setup")
        referee.wait(HOUR)
        assert types(referee)[-3:] == ["missed", "forfeited", "closed"]
        assert "You have lost the match" in body(bob.find("closed"))
        proved(referee, bob)

    def test_a_setup_that_is_claimed(self, referee: Referee) -> None:
        ann, bob = referee.agreed(SMALL)
        referee.send(ann, ann.filled("setup", FLEETS[0]))
        referee.wait(11 * DAY)
        referee.send(ann, "claim m1\n")
        assert types(referee)[-3:] == ["missed", "claimed", "closed"]
        proved(referee, bob)
        for one in (ann, bob):  # no game ended, so that nothing else brings the proof
            closed = one.find("closed")
            assert "pbem verify m1.pbem.zip" in body(closed)
            held(closed)


class TestGifts:
    def test_of_time(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, "extend m1 3d\n")
        assert "bob has 3 days more for turn 1" in ann.text
        letter = bob.find("you have more time")
        reads_like(letter, "clock/extended")
        assert deadline(letter) == datetime(2026, 3, 11, 12, tzinfo=UTC)
        before, after = (
            icalendar.Calendar.from_ical(attachment(one, ".ics")).walk("VEVENT")[0]
            for one in (bob.find("game 1 begins"), letter)
        )
        assert before["UID"] == after["UID"]
        assert int(str(before["SEQUENCE"])) < int(str(after["SEQUENCE"])), "it takes the place"
        referee.turn((ann, "Rv1"))
        referee.wait(13 * DAY - HOUR)
        assert "missed" not in types(referee)
        referee.wait(HOUR)
        assert types(referee)[-1] == "missed"

    def test_whose_orders_are_in_is_not_asked_for_any(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.turn((bob, ""))
        referee.send(ann, "extend m1 3d\n")
        assert "nothing is due from you" in bob.text
        assert "due by" not in bob.text


class TestVacations:
    def test_the_clock_stands_and_opponents_are_told(self, referee: Referee) -> None:
        referee.now = datetime(2026, 12, 17, 12, tzinfo=UTC)
        ann, bob = begun(referee, first="set timezone Europe/Berlin\n")
        referee.send(bob, "vacation 2026-12-20 to 2027-01-03\n")
        reads_like(bob.last, "clock/vacation-answer")
        reads_like(ann.last, "clock/vacation")
        referee.turn((ann, "Rv1"))
        before = len(bob.letters)
        referee.wait(30 * DAY)
        assert since(bob, before) == [
            ("05.01. 00:00", REMINDER),
            ("07.01. 12:00", REMINDER),
            ("08.01. 12:00", REMINDER),
            ("11.01. 12:00", OVER),
        ]
        days = "    Sunday 20 December 2026, 00:00 Europe/Berlin (UTC+1)\nuntil\n    Monday 4 January 2027, 00:00"
        assert f"Your clock does not run during your vacation, from\n{days}" in body(bob.letters[before])
        proved(referee, ann)

    def test_a_future_vacation_does_not_stop_the_clock_yet(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        for first, last in (("2026-03-22", "2026-03-29"), ("2026-03-06", "2026-03-08")):
            referee.send(bob, f"vacation {first} to {last}\n")
            told = [body(bob.last), body(ann.last)]
            referee.send(bob, "status m1\n", sign=False)
            referee.send(bob, "vacation off\n")
            for text in (*told, *map(body, bob.letters[-2:]), body(ann.last)):
                assert not re.search(r"Your\s+clocks?\s+(is|are)\s+stopped|runs?\s+again|(is|are)\s+back", text), text

    def test_off(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(bob, "vacation 2026-03-03 to 2026-03-20\n")
        referee.wait(4 * DAY)
        referee.send(bob, "vacation off\n")
        assert "Your vacation is called off, and no longer stops your clocks" in bob.text
        reads_like(ann.last, "clock/vacation-off")
        referee.send(bob, "status m1\n", sign=False)
        assert "due by\n    Wednesday 11 March 2026, 00:00 UTC" in bob.text
        referee.send(bob, "vacation off # again\n")
        assert "no present or future vacation" in bob.text
        referee.send(bob, "vacation 2026-06-01 to 2026-06-25\n")
        assert "You have 2 days of vacation left in 2026" in bob.text

    def test_whoever_plays_with_nobody_who_is_told_hears_of_none(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        referee.send(ann, "vacation 2026-03-02 to 2026-03-04\n")
        assert "On these days your clocks stand still." in ann.text
        assert "have been told" not in ann.text

    def test_who_is_back_may_leave_again_on_the_same_day(self, referee: Referee) -> None:
        _ann, bob = begun(referee)
        referee.send(bob, "vacation 2026-03-01 to 2026-03-20\n")
        referee.wait(DAY)
        referee.send(bob, "vacation off\n")
        referee.send(bob, "vacation 2026-03-02 to 2026-03-04\n")
        assert "Your vacation: Monday 2 March 2026 to Wednesday 4 March 2026" in bob.text
        assert "You have 26 days of vacation left in 2026" in bob.text

    def test_the_budget_is_of_each_year(self, referee: Referee) -> None:
        referee.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        ann = referee.registered("ann")
        for days, said in (
            ("2026-12-01 to 2026-12-31", "31 days of vacation in 2026; 30 a year are allowed"),
            ("2026-12-02 to 2027-01-30", "Your vacation: Wednesday 2 December 2026 to Saturday 30 January 2027"),
            ("2027-01-30 to 2027-01-30", "you have a vacation from 2026-12-02 to 2027-01-30"),
            ("2027-02-01 to 2027-02-01", "31 days of vacation in 2027"),
            ("2026-11-29 to 2026-11-30", "cannot begin before today, 2026-11-30"),
            ("2026-11-30 to 2026-11-29", "a vacation must end after it begins"),
            ("2026-11-31 to 2026-12-01", "there is no such day"),
            ("2027-02-01 to 2028-02-01", "more than a year ahead"),
            ("tomorrow to 2026-12-01", "ignored"),
        ):
            referee.send(ann, f"vacation {days}\n")
            assert said in ann.text, (days, ann.text)


class TestBanksAndWeekends:
    def test_a_bank_is_drawn_on_and_told_to_its_owner_alone(self, referee: Referee) -> None:
        ann, bob = begun(referee, "pace: 3d\nbank: 10d\ngrace: 0\nmiss: forfeit")
        assert "including the 10 days left in your bank" in body(bob.find("game 1 begins"))
        referee.turn((ann, "Rv1"))
        referee.wait(7 * DAY)
        referee.turn((bob, ""))
        assert "including the 6 days left in your bank" in body(bob.find("turn 1"))
        assert "including the 10 days left in your bank" in body(ann.find("turn 1"))
        assert deadline(bob.find("turn 1")) == datetime(2026, 3, 17, 12, tzinfo=UTC)
        referee.read_cold()
        referee.turn((ann, "Gv1"))
        referee.wait(9 * DAY)
        assert types(referee)[-4:] == ["forfeited", "ended", "revealed", "closed"]
        proved(referee, ann)

    def test_a_bank_that_is_used_up_is_not_there_again_when_the_setup_is_asked_for_once_more(
        self, referee: Referee
    ) -> None:
        ann, bob = referee.agreed(f"{SMALL}\npace: 3d\nbank: 10d\ngrace: 0\nmiss: pass")
        referee.send(ann, ann.filled("setup", FLEETS[0]))
        referee.wait(14 * DAY)
        assert "left in your bank" not in body(bob.find(OVER))
        assert "nothing arrives by\n    Tuesday 17 March 2026, 12:00" in body(bob.find(OVER))
        referee.read_cold()
        referee.wait(3 * DAY)
        assert types(referee)[-4:] == ["missed", "missed", "forfeited", "closed"]
        proved(referee, ann)


def with_mailbox(referee: Referee, *, looked: bool = True) -> None:
    """The server has its letters from a mailbox, which it has just read, or is about to."""
    referee.configure(mailbox=MailboxConfig(maildir="/var/mail/games"))
    if looked:
        look(referee)
    referee.work()


def look(referee: Referee, *, read: bool = True) -> None:
    referee.desk.inbox.note_look(Look(referee.now, referee.now if read else None))


def unheard(referee: Referee, time: timedelta) -> None:
    """The mailbox answers nothing for a while, in which the server works on."""
    end = referee.now + time
    while referee.now < end:
        referee.now = min(end, referee.now + timedelta(minutes=50))
        referee.work()


class TestOutages:
    def test_an_outage_of_three_days_moves_the_deadline_and_says_so(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.turn((ann, "Rv1"))
        referee.wait(DAY)
        referee.outage(3 * DAY)
        before = len(bob.letters)
        referee.wait(20 * DAY)
        assert since(bob, before) == [
            ("08.03. 00:00", REMINDER),
            ("10.03. 12:00", REMINDER),
            ("11.03. 12:00", REMINDER),
            ("14.03. 12:00", OVER),
        ]
        reads_like(bob.letters[before], "clock/after-an-outage")
        assert types(referee)[-2:] == ["moved", "missed"]
        assert not any("moved: outage" in line for line in proved(referee, ann))
        referee.send(ann, "claim m1\n")
        assert "deadlines of seats [1, 2] moved: outage (the server's word)" in proved(referee, ann)

    def test_the_program_hears_the_deadline_that_has_moved_even_in_a_refusal(self, referee: Referee) -> None:
        ann, _ = begun(referee)
        referee.outage(3 * DAY)
        referee.send(ann, ann.filled("orders", "Xx9"))
        assert "Refused" in ann.text
        (item,) = (item for item in bulletin(ann.letters[-1])["items"] if item["about"] == "match")
        assert item["deadline"] == "2026-03-11T12:00:00Z"

    def test_orders_that_wait_when_it_starts_again_are_not_late(self, referee: Referee) -> None:
        """The desk looks at its letters before its clock: the letter is in, whatever the clock would have said."""
        ann, bob = begun(referee, "miss: forfeit")
        referee.turn((ann, "Rv1"))
        referee.running.tick(referee.now)
        referee.now += 40 * DAY
        referee.open_desk()
        referee.turn((bob, ""))
        assert "missed" not in types(referee)

    def test_a_mailbox_that_is_out_of_reach_for_days_is_one(self, referee: Referee) -> None:
        """The letters that lie there came in time; the first of them meets the deadline that has moved."""
        ann, bob = begun(referee, "miss: forfeit\nbank: 10d")
        referee.turn((ann, "Rv1"))
        with_mailbox(referee)
        before = len(bob.letters)
        unheard(referee, 20 * DAY)
        assert "missed" not in types(referee)
        assert len(bob.letters) == before, "reminders wait, too"
        following = referee.running.tick(referee.now)
        assert following is None or following > referee.now, "the desk rests"
        look(referee, read=False)
        referee.turn((bob, ""))
        assert "missed" not in types(referee)
        assert types(referee)[-2:] == ["moved", "turn"]
        look(referee)
        referee.work()
        assert OVER not in [what for _, what in since(bob, before)]
        assert "including the 10 days left in your bank" in body(bob.find("turn 1"))
        proved(referee, bob)

    @pytest.mark.parametrize("writes", [False, True])
    def test_nobody_misses_a_deadline_before_the_mailbox_was_read_to_its_end(
        self, referee: Referee, *, writes: bool
    ) -> None:
        """An outage too short to move a deadline: the letter that lay in the mailbox is read first."""
        ann, bob = begun(referee, "miss: forfeit")
        referee.turn((ann, "Rv1"))
        with_mailbox(referee)
        while "missed" not in types(referee) and referee.now < datetime(2026, 3, 11, 11, 45, tzinfo=UTC):
            look(referee)
            referee.work()
            referee.now += timedelta(minutes=30)
        unheard(referee, timedelta(minutes=20))
        assert referee.now > datetime(2026, 3, 11, 12, 1, tzinfo=UTC)
        look(referee, read=False)
        referee.work()
        assert "missed" not in types(referee)
        if writes:
            referee.turn((bob, ""))
        referee.now += timedelta(minutes=1)
        look(referee)
        referee.work()
        assert ("missed" in types(referee)) is not writes
        assert "moved" not in types(referee)

    def test_nobody_misses_a_deadline_before_what_lay_in_the_mailbox_is_handled(self, referee: Referee) -> None:
        """It came to us after the deadline, and the desk is behind; it may have lain there before."""
        ann, bob = begun(referee, "miss: forfeit")
        referee.turn((ann, "Rv1"))
        with_mailbox(referee)
        while referee.now < datetime(2026, 3, 11, 11, 45, tzinfo=UTC):
            look(referee)
            referee.work()
            referee.now += timedelta(minutes=30)
        unheard(referee, timedelta(minutes=20))
        referee.put(bob, bob.filled("orders", "final"))
        for _ in range(3):
            look(referee)
            referee.running.tick(referee.now)
            assert "missed" not in types(referee)
            referee.now += timedelta(minutes=1)
        referee.work()
        assert types(referee)[-1] == "turn"

    def test_a_mailbox_that_was_set_aside_for_months_was_not_out_of_reach(self, referee: Referee) -> None:
        """The server had its letters by SMTP meanwhile."""
        _ann, bob = begun(referee)
        by_smtp = referee.config
        with_mailbox(referee)
        referee.config = by_smtp
        referee.open_desk()
        referee.wait(100 * DAY)
        with_mailbox(referee, looked=False)
        referee.now += timedelta(minutes=1)
        look(referee)
        referee.turn((bob, ""))
        assert "moved" not in types(referee)
        with referee.database.transaction():
            assert not referee.desk.time.outages(datetime.min.replace(tzinfo=UTC))

    def test_an_answer_noted_late_by_another_server_sets_no_clock_back(self, referee: Referee) -> None:
        """Two servers share a store, and one of them stood still between the answer and the note."""
        begun(referee)
        with_mailbox(referee)
        late = Look(referee.now)
        referee.now += timedelta(minutes=10)
        look(referee)
        referee.work()
        referee.desk.inbox.note_look(late)
        heard = referee.desk.inbox.heard_until(referee.now)
        assert not referee.desk.time.is_beat_due(heard)


class TestSecrets:
    """Until the other's orders are in, letters are the same whether she has answered, and however often."""

    PLANS: tuple[list[str], ...] = ([], ["Rv5"], ["Rv5", "clear"], ["Rv5", "Rv4"])

    @pytest.mark.parametrize("miss", ["wait", "pass", "forfeit", "default"])
    def test_late_orders_stay_hidden_from_an_opponent_who_owes_orders(self, tmp_path: Path, miss: str) -> None:
        """Whatever Bob or the newcomer asks, the answers are the same whether Ann has answered since or not."""
        told = []
        for number, plan in enumerate(self.PLANS):
            (tmp_path / str(number)).mkdir()
            with closing(Referee(tmp_path / str(number))) as referee:
                ann, bob = begun(referee, f"pace: 2d\ngrace: 1d\nmiss: {miss}")
                carl = referee.registered("carl")
                if miss == "pass":  # Ann alone missed turn 1, and turn 2 is due
                    referee.send(bob, bob.filled("orders", "final"))
                referee.wait(4 * DAY)
                before = len(bob.letters), len(carl.letters)
                turn = 2 if miss == "pass" else 1
                self.answer(referee, ann, plan, turn)
                for text in (
                    *("substitute m1 carl for ann\n", "substitute m1 carl for bob\n", "substitute m1 none for bob\n"),
                    *(
                        "claim m1\n",
                        "draw m1 offer\n",
                        "annul m1 offer\n",
                        "extend m1 1d\n",
                        f"clear m1 turn {turn}\n",
                    ),
                ):
                    referee.send(bob, text)
                preview = f"preview m1 turn {turn}\nRv5\nend\n"
                for text in ("status\n", "status m1\n", "list mine\n", "diary m1\n", "report m1 all\n", preview):
                    referee.send(bob, text, sign=False)
                for text in ("substitute m1 carl for ann\n", "substitute m1 carl for bob\n"):
                    referee.send(carl, text)
                referee.wait(DAY / 2)
                told.append(_without_chance([*bob.letters[before[0] :], *carl.letters[before[1] :]]))
        assert len(told[0]) > 15
        assert told[0] == told[1] == told[2] == told[3]

    def test_a_newcomer_does_not_see_whether_a_player_has_answered(self, tmp_path: Path) -> None:
        """Bob names Carl while his orders are in, and withdraws them: Carl does not see whether Ann has answered."""
        told = []
        for number, plan in enumerate(self.PLANS[:2]):
            (tmp_path / str(number)).mkdir()
            with closing(Referee(tmp_path / str(number))) as referee:
                ann, bob = begun(referee, "pace: 2d\ngrace: 1d")
                carl = referee.registered("carl")
                referee.send(bob, bob.filled("orders", ""))
                referee.wait(4 * DAY)
                referee.send(bob, "substitute m1 carl for ann\n")
                assert "carl has been asked" in bob.text
                referee.send(bob, "clear m1 turn 1\n")
                before = len(carl.letters)
                self.answer(referee, ann, plan, 1)
                for text in ("substitute m1 carl for ann\n", f"substitute m1 carl for ann {'0' * 64}\n"):
                    referee.send(carl, text)
                told.append(_without_chance(carl.letters[before:]))
        assert len(told[0]) == 2
        assert told[0] == told[1]

    def answer(self, referee: Referee, ann: Mailbox, plan: Sequence[str], turn: int) -> None:
        for rev, orders in enumerate(plan, 1):
            text = f"clear m1 turn {turn}\n" if orders == "clear" else ann.filled("orders", orders, rev)
            referee.send(ann, text)
        referee.sent = itertools.count(1000)  # an answer names the letter that it answers, whatever Ann sent before


def _without_chance(letters: Iterable[EmailMessage]) -> list[bytes]:
    """Without Message-ID and boundaries, which are drawn by lot."""
    chance = rb"(?m)^List-Unsubscribe:.*\n(?:[ \t].*\n)*|^(?:Message-ID|In-Reply-To|References| <).*\n|=_[0-9a-f]{32}"
    return [re.sub(chance, b"", letter.as_bytes()) for letter in letters]


class TestCrashes:
    def test_a_match_over_which_the_clock_stumbles_holds_up_no_other(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _ann, bob = begun(referee)
        before = len(bob.letters)
        tick = "pbem.match.progress.tick"

        def stumble(_step: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(tick, stumble)
        referee.now += 5 * DAY
        referee.alive()
        assert referee.running.tick(referee.now) == referee.now + HOUR
        monkeypatch.undo()
        referee.wait(HOUR)
        assert since(bob, before) == [("06.03. 13:00", REMINDER)]


def test_whose_vacation_is_over_is_not_said_to_be_away(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.send(bob, "vacation 2026-03-02 to 2026-03-03\n")
    referee.wait(4 * DAY)
    for text in ("status m1\n", "status\n"):
        referee.send(ann, text, sign=False)
        assert "bob's vacation: Monday 2 March 2026 to Tuesday 3 March 2026." in ann.text
        assert "is away" not in ann.text
