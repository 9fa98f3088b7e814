"""The operator's instructions: matches pause, resume and end by a transcript entry that everybody is told of."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held, types
from in_a_box.referee import Mailbox, Referee, body, form_in, html, new
from in_a_box.restores import back_up, begin_anew, put_back
from in_a_box.stores import of_sqlite

from pbem.match.events import interventions
from pbem.store.operator import survey

if TYPE_CHECKING:
    from pbem.match.step import Step


def test_a_paused_match_keeps_what_is_sent_and_resolves_nothing(referee: Referee) -> None:
    ann, bob = referee.begun()
    assert referee.instruct("pause") == ("done", "m1 is paused")
    for person in (ann, bob):
        assert "the server moves" in body(person.find("the match is paused"))
    assert survey(referee.database)["paused"] == {"m1": "2026-03-01T12:00:00Z"}
    referee.turn((ann, ""), (bob, ""))
    assert "The match is paused" in ann.text
    referee.wait(timedelta(days=3))
    referee.open_desk()
    referee.wait(timedelta(days=3))
    assert types(referee) == ["agreed", "commitments", "paused"]
    assert referee.instruct("pause") == ("refused", "the match is paused")
    assert referee.instruct("resume", reason="it has moved") == ("done", "m1 is playing")
    assert types(referee) == ["agreed", "commitments", "paused", "resumed", "turn"]
    assert "it has moved" in body(bob.find("the match goes on"))
    assert "turn 1" in str(bob.last["Subject"])
    assert referee.instruct("resume") == ("refused", "the match is not paused")
    assert survey(referee.database)["paused"] == {}


def test_an_ended_match_is_revealed_without_a_winner_and_proves_itself(referee: Referee) -> None:
    ann, bob = referee.begun("kind: scored\ngames: 3")
    referee.turn((ann, ""), (bob, ""))
    referee.instruct("pause")
    referee.send(ann, "transcript m1\n")
    running = held(ann.last)
    assert "not revealed yet" in running[-2]
    referee.instruct("resume")
    assert referee.instruct("end", reason="the players asked for it") == ("done", "m1 is closed")
    assert types(referee)[-4:] == ["stopped", "ended", "revealed", "closed"]
    closed = body(bob.find("the match is closed"))
    assert "nobody has won it:\n\n  the players asked for it\n" in closed
    reveal = ann.find(", the end")
    assert referee.database.rows("SELECT player, abandoned, drawn FROM standings ORDER BY player") == [
        {"player": "ann", "abandoned": 1, "drawn": 0},
        {"player": "bob", "abandoned": 1, "drawn": 0},
    ]
    assert "The operator of the server ended Spaceships game 1, without a winner" in body(reveal)
    assert "The operator of the server ended Spaceships game 1, without a winner" in html(reveal)
    referee.send(ann, "transcript m1\n")
    found = held(ann.last)
    assert "paused by the operator: the server moves" in found
    assert "stopped by the operator: the players asked for it" in found
    assert referee.instruct("end") == ("refused", "the match is closed, not under way")


def test_an_unknown_match_and_a_fault_of_ours_are_answered(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    assert referee.instruct("pause", "m7") == ("refused", "there is no match m7")
    ann, bob = referee.begun()
    referee.send(ann, new(ann, "shoot-em-up", "bob"))
    assert referee.instruct("end", "m2") == ("done", "m2 is declined")
    for person in (ann, bob):
        assert "The operator of the server" in body(person.find("declined"))
    referee.send(bob, "accept m2\n")
    assert "this match is declined; there is nothing to accept" in bob.text
    monkeypatch.setattr("pbem.match.events.interventions.pause", lambda *_: 1 // 0)
    state, answer = referee.instruct("pause")
    assert state == "refused"
    assert "under the reference" in answer
    monkeypatch.undo()
    referee.send(ann, "status m1\n")
    assert "paused" not in ann.text


def test_after_a_restore_every_match_stands_still_before_any_letter_is_handled(referee: Referee) -> None:
    ann, bob = referee.begun()
    referee.turn((ann, ""))
    referee.send(ann, new(ann, "shoot-em-up", "bob"))
    assert begin_anew(referee, 4) == 5
    proposals = sum("accept m2" in body(letter) for letter in bob.letters)
    referee.turn((bob, ""))
    assert sum("accept m2" in body(letter) for letter in bob.letters) == proposals + 1, "he may have accepted it"
    assert types(referee) == ["agreed", "commitments", "restored"]
    told = body(bob.find("the server was restored"))
    assert "turn 1 is due" in told
    assert "operator@play.example" in told
    assert "generation 5" in told
    referee.instruct("resume", reason="both players agree to go on")
    assert types(referee) == ["agreed", "commitments", "restored", "resumed", "turn"]
    referee.send(ann, "resign m1 match\n")
    referee.send(ann, "transcript m1\n")
    assert any("restored from a backup (generation 5)" in line for line in held(ann.last))


@of_sqlite
def test_a_match_that_fails_after_a_restore_lets_no_other_go_on(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = referee.begun()
    referee.send(ann, new(ann, "shoot-em-up", "bob"))
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    pause = interventions.restored

    def failing(step: Step, generation: int) -> None:
        assert step.match.id != "m1"
        pause(step, generation)

    monkeypatch.setattr(interventions, "restored", failing)
    put_back(referee, back_up(referee))
    assert [bool(referee.match(number).paused) for number in (1, 2)] == [False, True]


@of_sqlite
@pytest.mark.restored
@pytest.mark.parametrize("turn", [0, 1])
def test_after_a_restore_players_get_on_by_what_their_letters_tell(referee: Referee, turn: int) -> None:
    """Orders that came after the backup are forgotten: their player is told so, and sends them with a new form."""
    ann, bob = referee.begun()
    referee.send(bob, bob.filled("orders", "Gx3"))
    referee.send(ann, "set language de\n")
    backup = back_up(referee)
    referee.send(ann, ann.filled("orders", "Gx3 bGx1Gx3"))
    late = ""
    if turn:
        referee.wait(timedelta(minutes=10))
        late = ann.filled("orders", "")
    put_back(referee, backup)
    assert "was du noch einmal schicken sollst" in " ".join(body(ann.last).split())
    assert "you are told what to send again" in " ".join(body(bob.last).split())
    if late:
        referee.send(ann, late)
        assert "falsches `prev`" in ann.text
        assert types(referee)[-1] == "restored"
    referee.instruct("resume", reason="both agree")
    told, other = body(ann.last), " ".join(body(bob.last).split())
    assert "keine Befehle für Zug 1 da" in told
    assert "Your revision 1 is here, and stands" in other
    referee.send(ann, form_in(told, "orders").replace("\nend", "\nGx3 bGx1Gx3\nend"))
    referee.wait(timedelta(minutes=10))
    assert types(referee)[-2:] == ["resumed", "turn"]


def test_a_head_that_was_never_ours_is_told_to_the_operator(referee: Referee, operator: Mailbox) -> None:
    ann, _ = referee.begun()
    form = ann.filled("orders", "final\n")
    first = ann.form("setup").split("prev ")[1][:64]
    referee.send(ann, form.replace(form.split("prev ")[1][:64], first))
    assert not operator.letters
    for number in range(5):
        referee.send(ann, form.replace(form.split("prev ")[1][:64], str(number) * 64))
    assert "Signed orders or a signed setup of ann in m1" in operator.letters[0].get_content()
    assert len(operator.letters) == 3
