"""Matches in a store of before bundles of version 2: they are shown, and none is played on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import form_in
from judges import sentences

from pbem.desk.public import Public
from pbem.match.changed import replace
from pbem.match.state import RUNNING
from pbem.match.transcript import Entry
from pbem.store.schema import migrations

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee

    from pbem.match.state import Match

ENDED = "operator: this server's new version cannot continue it"


def upgraded(referee: Referee) -> Match:
    """Match m1 as if it had begun as version 1, after the store was opened by this program."""
    archive = referee.desk.archive.matches
    first = Entry.read(archive.entries(1)[0].entry)
    old = {key: value for key, value in first.body.items() if key not in {"bundle", "letters"}}
    with referee.database.transaction():
        entry = replace(first, body=old)
        referee.database.write("UPDATE entries SET entry = ? WHERE match = 1 AND seq = 1", (entry.canonical(),))
        referee.database.write("DELETE FROM consents")
        (closing,) = (script for script in migrations() if "SET phase = 'closed'" in script)
        referee.database.write(closing.strip().rstrip(";"))
    referee.open_desk()
    return referee.match()


@pytest.fixture
def pair(referee: Referee) -> tuple[Mailbox, Mailbox]:
    return referee.begun("privacy: public\npace: 3d\ngrace: 1d")


def test_one_under_way_is_over_for_a_reason(referee: Referee, pair: tuple[Mailbox, Mailbox]) -> None:
    ann, bob = pair
    orders = ann.filled("orders", "Rv1")
    match = upgraded(referee)
    assert (match.phase, match.names, match.game) == ("closed", ("ann", "bob"), 1)
    assert match.outcome == {"winner": 0, "scores": [0, 0], "reason": ENDED}
    referee.send(ann, orders)
    assert sentences.THE_MATCH_IS_OVER in ann.text
    referee.send(bob, "status m1\n")
    assert "match m1: closed" in bob.text
    assert not Public(referee.config.server, referee.database, referee.vault).site()["running"]
    assert referee.desk.archive.matches.in_phases(*RUNNING) == referee.desk.archive.matches.due("2999", 9) == []


def test_one_that_was_over_keeps_its_result(referee: Referee, pair: tuple[Mailbox, Mailbox]) -> None:
    ann, bob = pair
    referee.send(bob, "resign m1 match\n")
    before = referee.match()
    match = upgraded(referee)
    assert (match.games, match.outcome) == (before.games, before.outcome)
    referee.send(ann, "list mine\n")
    assert "m1" in ann.text
    (finished,) = Public(referee.config.server, referee.database, referee.vault).finished()
    assert (finished.summary["winner"], finished.bundle) == ("ann", None), "no page can check it"


def test_a_proposal_whose_letters_were_not_kept_is_agreed_to_once_more(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships with bob\nend\n")
    with referee.database.transaction():
        referee.database.write("DELETE FROM consents")
    referee.open_desk()
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    assert referee.match().phase == "proposed"
    referee.send(ann, form_in(ann.text, "accept", lines=1))
    assert referee.match().phase == "setup"
    first = json.loads(referee.desk.archive.matches.entries(1)[0].entry)
    assert sorted(first["body"]["letters"]) == ["1", "2"]
