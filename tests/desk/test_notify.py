"""`set notify`: what a topic beside the mail is told, and that it is told nothing before its code came back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from in_a_box.referee import Mailbox, Referee, body
from in_a_box.small_games import DESTROYERS

from pbem.config.server import NotifyConfig
from pbem.store.questions import Notification

URL = "https://ntfy.example/Anns_phone"
DAY = timedelta(days=1)


@pytest.fixture
def allowing(referee: Referee) -> Referee:
    """A server whose operator allows topics at one host."""
    referee.configure(notify=NotifyConfig(hosts=("ntfy.example",)))
    return referee


def posted(referee: Referee, *, arrived: bool = True) -> list[str]:
    """The posts that are due now, each as its topic and its text."""
    told = list[Notification]()
    while due := referee.desk.notifications.due(referee.now, referee.now + DAY, 9):
        told += due
        for one in due:
            referee.desk.notifications.settle(one, arrived=arrived)
    return [f"{one.topic.url}: {one.topic.text}" for one in told]


def code_of(texts: list[str]) -> str:
    (text,) = texts
    return text.partition("`set notify ")[2].partition("`")[0]


def notified(referee: Referee, person: Mailbox) -> None:
    referee.send(person, f"set notify {URL}\n")
    referee.send(person, f"set notify {code_of(posted(referee))}\n")
    assert "From now on, your topic at ntfy.example is told" in person.text


def test_nothing_but_a_code_goes_to_a_topic_before_the_code_comes_back(allowing: Referee) -> None:
    ann, bob = allowing.begun("fleet: cost:3", DESTROYERS)
    allowing.send(ann, f"set notify {URL}\n")
    assert "A code is on its way to your topic at ntfy.example" in ann.text
    (text,) = posted(allowing)
    code = code_of([text])
    assert text == (
        f"{URL}: To be notified here when something is due, answer our letter with\n`set notify {code}`. If you"
        " asked play.example for nothing, do nothing:\nnothing more comes."
    )
    allowing.turn((bob, ""), (ann, ""))
    allowing.wait(7 * DAY)
    assert posted(allowing) == []
    allowing.send(ann, "set notify aaaaaaaa\n")
    assert "this is not the code that was posted last" in ann.text
    allowing.turn((bob, ""), (ann, ""))
    assert posted(allowing) == []
    allowing.send(ann, f"set notify {code.upper()}\n")
    allowing.turn((bob, ""), (ann, ""))
    assert len(posted(allowing)) == 1


def test_a_topic_is_told_that_something_is_due_and_no_word_of_the_match(allowing: Referee) -> None:
    ann, bob = allowing.begun("fleet: cost:3", DESTROYERS)
    notified(allowing, ann)
    allowing.turn((bob, ""), (ann, ""))
    assert posted(allowing) == [
        f"{URL}: Something is due from you, until Sunday 8 March 2026, 12:00 UTC.\nThe letter is in your mailbox."
    ]
    allowing.wait(3 * DAY)
    assert posted(allowing) == []
    allowing.wait(2 * DAY)
    assert len(posted(allowing)) == 1, "a reminder"
    allowing.send(bob, "draw m1 offer\n")
    assert posted(allowing) == [], "not all that comes by mail"


def test_a_topic_is_told_when_the_digest_goes(allowing: Referee) -> None:
    ann, bob = allowing.begun("fleet: cost:3", DESTROYERS)
    notified(allowing, ann)
    allowing.send(ann, "set mail digest\n")
    allowing.turn((bob, ""), (ann, ""))
    assert posted(allowing) == []
    allowing.wait(DAY)
    (text,) = posted(allowing)
    assert "until Sunday 8 March 2026, 12:00 UTC" in text


def test_whoami_shows_the_topic_until_it_is_off(allowing: Referee) -> None:
    ann, bob = allowing.begun("fleet: cost:3", DESTROYERS)
    allowing.send(ann, f"set notify {URL}\n")
    allowing.send(ann, "whoami\n")
    assert f"This topic waits for its code (`set notify CODE`):\n  {URL}\n" in ann.text
    allowing.send(ann, f"set notify {code_of(posted(allowing))}\n")
    allowing.send(ann, "whoami\n")
    assert f"Something that is due is also told to your topic:\n  {URL}\n" in ann.text
    allowing.send(ann, "set notify off\n")
    assert "You are notified by mail alone" in ann.text
    allowing.send(ann, "whoami\n")
    assert URL not in ann.text
    allowing.turn((bob, ""), (ann, ""))
    assert posted(allowing) == []


def test_a_server_allows_no_topic_unless_its_operator_does(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.send(ann, f"set notify {URL}\n")
    assert "this server notifies nobody beside the mail" in ann.text
    assert posted(referee) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://ntfy.example.evil.example/t",
        "https://evil.example/t",
        "https://ntfy.example:8443/t",
        "https://127.0.0.1/t",
        "http://ntfy.example/t",
        "https://ann@ntfy.example/t",
        "https://ntfy.example@evil.example/t",
        "https://ntfy.example/t/publish?message=x",
        "https://ntfy.example/t?x",
        "https://ntfy.example/t#x",
        "https://ntfy.example/../t",
        "https://ntfy.example/",
        "https://ntfy.example/%0d%0ax",
        "https://ntfy.example\\@evil.example/t",
        f"https://ntfy.example/{'t' * 65}",
        "file:///etc/passwd",
    ],
)
def test_only_topics_at_allowed_hosts_are_accepted(allowing: Referee, url: str) -> None:
    ann = allowing.registered("ann")
    allowing.send(ann, f"set notify {url}\n")
    assert allowing.desk.notifications.of("ann") is None
    assert posted(allowing) == []


def test_codes_to_one_topic_are_few_whoever_asks(allowing: Referee) -> None:
    people = [allowing.registered(name) for name in ("ann", "bob", "carl", "dora")]
    for person in people:
        allowing.send(person, f"set notify {URL}\n")
    assert len(posted(allowing)) == 3
    assert "too many codes were posted there today" in people[-1].text


def test_the_code_of_another_topic_confirms_none(allowing: Referee) -> None:
    ann = allowing.registered("ann")
    allowing.send(ann, f"set notify {URL}\n")
    own = code_of(posted(allowing))
    allowing.send(ann, "set notify https://ntfy.example/victim\n")
    allowing.send(ann, f"set notify {own}\n")
    assert not allowing.desk.notifications.is_confirmed("ann")


def test_nobody_sets_it_in_anothers_name(allowing: Referee) -> None:
    ann, eve = allowing.registered("ann"), allowing.registered("eve")
    eve.address, address = ann.address, eve.address
    allowing.send(eve, f"set notify {URL}\n", sign=False)
    allowing.send(eve, f"set notify {URL}\n")
    assert allowing.desk.notifications.of("ann") is None
    assert address != eve.address


def test_a_letter_that_others_are_shown_sets_no_topic(allowing: Referee) -> None:
    ann, _ = allowing.begun("fleet: cost:3", DESTROYERS)
    place = "server play.example\nplayer ann\nprev 0\nrev 9\n"
    allowing.send(ann, ann.filled("orders", "final") + f"set notify {URL}\n{place}", follow=False)
    assert "opponents get this letter: send nothing secret in it" in ann.text
    assert allowing.desk.notifications.of("ann") is None
    assert URL not in ann.text


def test_twenty_failures_in_a_row_end_notifications_by_a_letter(allowing: Referee) -> None:
    ann, bob = allowing.begun("fleet: cost:3", DESTROYERS)
    notified(allowing, ann)
    notifications = allowing.desk.notifications
    for number in range(20):
        assert notifications.is_confirmed("ann"), number
        with allowing.database.transaction():
            notifications.tell("ann", "due", allowing.now)
        posted(allowing, arrived=False)
        allowing.work()
    assert ann.last["Subject"] == "[pbem] No more notifications"
    assert "did not arrive there" in body(ann.last)
    assert notifications.of("ann") is None
    before = len(ann.letters)
    allowing.work()
    assert len(ann.letters) == before
    allowing.turn((bob, ""), (ann, ""))


def test_a_day_has_thirty_at_most(allowing: Referee) -> None:
    ann, _ = allowing.begun("fleet: cost:3", DESTROYERS)
    notified(allowing, ann)
    player = allowing.desk.players.by_name("ann")
    assert player is not None
    told = 0
    for _ in range(40):
        with allowing.database.transaction():
            allowing.desk.letters._notify(player, [""], allowing.now)
        told += len(posted(allowing))
    assert told == 30
