"""Players' programs after a server was restored from a backup: they play on from there, and their alarm stays."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.owners import Owner, live, live_out, live_until, propose
from in_a_box.referee import new, placed
from in_a_box.restores import back_up, put_back, resume_all
from in_a_box.table import Side
from player.program_matches import entered

from pbem.mail.commands import parse
from pbem.match.events.sealed_events import sealed
from pbem.player.memory import SentForm
from pbem.proof.verification import verify
from pbem.requests import Reveal, Seal, Section, TakeSteps
from pbem.store.inbox import Envelope
from verifier import verified

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from in_a_box.machine import Machine
    from in_a_box.referee import Mailbox, Referee


pytestmark = pytest.mark.usefixtures("quick")


def backed_up_in(referee: Referee, owners: Sequence[Owner], steps: int) -> sqlite3.Connection:
    """Play until there are so many steps."""
    for _ in live(owners):
        game = sealed(referee.match()).game
        if game.commitments and len(game.steps) >= steps:
            break
    return back_up(referee)


def play(owners: Sequence[Owner | Machine], referee: Referee, turns: int) -> None:
    """Play so many turns, or to the end."""
    last = referee.match().turn + turns
    live_until(owners, lambda: referee.match().phase == "closed" or referee.match().turn >= last)


def forgotten(owner: Side) -> list[str]:
    """The alarms that the server has forgotten something."""
    return [alarm.said for alarm in owner.memory.alarms() if "and has forgotten" in alarm.said]


def demand_proved(owner: Side) -> None:
    """The bundle of the first match holds."""
    bundle = owner.memory.bundle("m1")
    assert bundle is not None
    (*_, last) = verify(bundle)
    assert last.holds, last
    assert verified(bundle).phase == "closed"


GAMES = ("spaceships", "dueling-masters", "shoot-em-up")


@pytest.mark.parametrize(
    ("game", "steps", "turns"),
    [
        *((game, 3, 4) for game in GAMES),
        *(pytest.param(game, steps, 100, marks=pytest.mark.long) for game in GAMES for steps in (0, 1, 5, 8)),
    ],
)
def test_sealed_matches_go_on_with_the_same_answers(
    referee: Referee, owners: list[Owner], game: str, steps: int, turns: int
) -> None:
    propose(referee, owners, game)
    backup = backed_up_in(referee, owners, steps)
    play(owners, referee, turns)
    referee.work()
    put_back(referee, backup)
    live_out(owners)
    assert referee.match().paused
    resume_all(referee)
    live_out(owners)
    assert referee.match().phase == "closed"
    assert referee.match().games[-1].reason == "rules"
    for owner in owners:
        assert forgotten(owner)
        assert {alarm.said for alarm in owner.memory.alarms()} == set(forgotten(owner))
        assert not owner.agent.held.accused("m1")
        demand_proved(owner)
        assert all(len(answers) == 1 for answers in answers_of(owner).values())


def answers_of(owner: Side) -> dict[tuple[str, int], set[Section]]:
    """All that a player ever signed at each place of a sealed match."""
    found: dict[tuple[str, int], set[Section]] = {}
    for command in ("seal", "step", "reveal"):
        for sent in owner.memory.prepared(command, "m1"):
            request = parse(sent.form).commands[0].form.request
            assert isinstance(request, Seal | TakeSteps | Reveal)
            sections = [section for section in request.sections if section.name != "note"]
            first = int(sent.place.rpartition(" ")[2]) if command == "step" else 1
            for at, section in enumerate(sections, first):
                found.setdefault((command, at), set()).add(section)
    return found


def test_a_step_that_waited_in_the_backup_is_signed_again(referee: Referee, owners: list[Owner]) -> None:
    """The restored server refuses it, as the match is paused, and knows the letter from then on."""
    propose(referee, owners, "spaceships")
    backed_up_in(referee, owners, 3).close()
    owner, sent = owners[0], list[SentForm]()
    while not sent:
        for one in owners:
            one.agent.hear(one.receive(), referee.now)
            one.agent.act(referee.now)
            if not one.letters.outbox.unsent() and one.agent.asks("m1"):
                one.decide("m1")
            if sent := one.letters.outbox.unsent():
                owner = one
                break
    raw, address = sent[0].raw, owner.person.address
    referee.inbox.put(Envelope(address, (sent[0].to,), ""), raw, referee.now)
    backup = back_up(referee)
    referee.work()
    live_out(owners)
    put_back(referee, backup)
    live_out(owners)
    resume_all(referee)
    live_out(owners)
    assert referee.match().phase == "closed"
    assert all(len(answers) == 1 for one in owners for answers in answers_of(one).values())


def test_another_answer_of_the_opponent_is_an_accusation_in_any_generation(
    referee: Referee, owners: list[Owner]
) -> None:
    """Whoever knows what was told after the backup must not order anew."""
    ann, bob = owners
    propose(referee, owners, "spaceships")
    backup = backed_up_in(referee, owners, 3)
    secrets, last = bob.agent.vault.secrets("m1", 1), bob.memory.count()
    assert secrets is not None
    play(owners, referee, 2)
    put_back(referee, backup)
    with bob.agent.vault.alone():
        bob.agent.vault.keep(msgspec.structs.replace(secrets, orders={}, after={}))
    bob.memory._database.execute("DELETE FROM sent WHERE id > ? AND command = 'step'", (last,))
    bob.chance = "another"
    resume_all(referee)
    live_out(owners)
    assert "seat 2: two different steps were signed at one place" in str(ann.agent.held.accused("m1"))
    assert referee.match().phase == "playing"
    assert all(len(answers) == 1 for answers in answers_of(ann).values())


def proposed_by(referee: Referee, ann: Side) -> Mailbox:
    """Bob, who has proposed m1 to Ann."""
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options="settle: 0\nfleet: cost:3"))
    ann.receive()
    return bob


def test_a_later_generation_drops_no_evidence_and_an_earlier_one_is_not_believed_again(
    referee: Referee, ann: Side
) -> None:
    bob = proposed_by(referee, ann)
    ann.post(ann.letters.accept("m1", referee.now))
    ann.post(ann.letters.set_up("m1", "MD Rv1 Rv2 Rv3", referee.now))
    backup = back_up(referee)
    referee.send(bob, bob.filled("setup", "MD Rv1 Rv2 Rv3"))
    ann.receive()
    before = ann.memory.letters("m1")
    known = ann.letters.matches.standing("m1")
    assert known.seq == 2
    put_back(referee, backup, above=6)
    (forgot,) = [event.said for event in ann.receive() if event.kind == "forgotten"]
    assert forgot.endswith("(generation 7), and has forgotten entry 2, which it had signed")
    assert ann.memory.letters("m1")[: len(before)] == before
    assert ann.memory.head("m1", 2, 1) == known.head.head if known.head else False
    # As if somebody had put back a snapshot of the disk.
    with referee.database.transaction():
        referee.database.set_meta("generation", "1")
    referee.open_desk()
    referee.wait(timedelta(hours=1))
    resume_all(referee)
    (wrong,) = {event.said for event in ann.receive() if event.kind == "contradiction"}
    assert wrong == "the server's generation was 7, and later 1"
    assert {alarm.said for alarm in ann.memory.alarms()} >= {forgot, wrong}
    assert ann.letters.matches.standing("m1").generation == 7


@pytest.mark.parametrize(
    ("known", "lost", "phase"),
    [
        (False, "the whole tournament", "ended"),
        (True, "the tournament's entries 2 to 2, which it had told", "open"),
    ],
)
def test_what_a_restored_server_has_forgotten_of_a_tournament_is_an_alarm(
    referee: Referee, ann: Side, lost: str, phase: str, *, known: bool
) -> None:
    bob, backup = referee.registered("bob"), back_up(referee)
    referee.send(bob, f"tournament new spaceships\n{placed(bob)}closes: 2026-03-10\nend\n")
    if known:
        backup = back_up(referee)
    ann.post(ann.letters.ask("tournament t1", referee.now))
    told = ann.memory.tournament("t1")
    assert told is not None
    ann.post(ann.letters.tell(f"enter t1 {told.hash}", referee.now))
    put_back(referee, backup)
    ann.post(ann.letters.ask("tournament t1" if known else "list open", referee.now))
    assert forgotten(ann) == [f"the server was restored from a backup (generation 2), and has forgotten {lost}"]
    assert [one.phase for one in ann.memory.tournaments()] == [phase]


def test_tournaments_of_programs_end_by_themselves(referee: Referee, tmp_path: Path) -> None:
    """With matches that began after the backup, which the restored server begins anew under other names."""
    with entered(referee, tmp_path, "pace: 1d\ngrace: 0") as (club, sides):
        backup = None
        for _ in live(sides):
            if backup is None and referee.match().phase == "playing":
                backup = back_up(referee)
            if backup is not None and len([one for one in club.t.pairings if one.match]) > 2:
                break
        assert backup is not None
        put_back(referee, backup)
        live_out(sides)
        resume_all(referee)
        live_out(sides)
        assert club.t.phase == "ended"
        for side in sides:
            standings = side.letters.matches.standings
            assert {standing.phase for standing in standings} <= {"closed", "withdrawn"}
        assert any(alarm.match == "t1" for side in sides for alarm in side.memory.alarms())
        assert any("has forgotten the whole match" in said for side in sides for said in forgotten(side))
        club.proof(club.bundles())


def test_what_was_accepted_after_the_backup_is_proposed_again(referee: Referee, ann: Side) -> None:
    """Otherwise the player believes that the match is under way, and the proposer that nobody answered."""
    bob = proposed_by(referee, ann)
    backup = back_up(referee)
    ann.post(ann.letters.accept("m1", referee.now))
    begun = len(ann.person.letters.came)
    ann.post(ann.letters.set_up("m1", "MD Rv1 Rv2 Rv3", referee.now))
    referee.send(bob, bob.filled("setup", "MD Rv1 Rv2 Rv3"))
    late = ann.person.letters.came[begun:]
    ann.taken = len(ann.person.letters.came)
    put_back(referee, backup)
    ann.receive()
    assert ann.letters.matches.standing("m1").phase == "proposed"
    (alarm,) = forgotten(ann)
    for raw in late:  # of the turn that was forgotten, too
        ann.letters.inbox.receive(raw, referee.now)
    assert [said.partition("forgotten ")[2] for said in forgotten(ann)] == [
        alarm.partition("forgotten ")[2],
        "entry 2, which it had signed",
    ]
    ann.post(ann.letters.accept("m1", referee.now))
    ann.post(ann.letters.set_up("m1", "MD Rv1 Rv2 Rv3", referee.now))
    assert ann.letters.matches.standing("m1").phase == "setup"
    assert {alarm.said for alarm in ann.memory.alarms()} == set(forgotten(ann))


def test_a_match_that_began_after_the_backup_and_is_declined_now_was_forgotten(referee: Referee, ann: Side) -> None:
    bob, carl = referee.registered("bob"), referee.registered("carl")
    referee.send(bob, new(bob, "shoot-em-up", "ann", "carl", options="settle: 0"))
    ann.receive()
    ann.post(ann.letters.accept("m1", referee.now))
    backup = back_up(referee)
    (accept,) = set(re.findall("accept m1 [0-9a-f]{64}", carl.text))
    referee.send(carl, accept)
    ann.receive()
    assert ann.letters.matches.standing("m1").phase == "setup"
    put_back(referee, backup)
    referee.send(carl, f"decline m1\n{placed(carl)}")
    ann.receive()
    assert ann.letters.matches.standing("m1").phase == "declined"
    assert len(forgotten(ann)) == 1


def test_a_refusal_about_a_match_of_others_is_heard_after_a_restore(referee: Referee, ann: Side) -> None:
    """The player was asked to take a seat there, say: no later letter of that match would ask again."""
    put_back(referee, back_up(referee))
    none, words = "0" * 64, "substitute m1 ann for bob"
    form = f"{words}\n{none}\nserver play.example\nplayer ann\nturn 1\nprev {none}\nrev 1\nend\n"
    ann.post(ann.letters.outbox.prepare("substitute", "m1", words, 1, form, referee.now))
    assert [sent.state for sent in ann.memory.prepared("substitute", "m1")] == ["refused"]


def test_the_end_of_a_match_that_a_later_restore_did_not_touch_stays(referee: Referee, ann: Side) -> None:
    """A letter from between the two restores may come late: it is of the same story."""
    bob = proposed_by(referee, ann)
    ann.post(ann.letters.accept("m1", referee.now))
    put_back(referee, back_up(referee))
    ann.receive()
    begun = len(ann.person.letters.came)
    resume_all(referee)
    referee.send(bob, f"resign m1 match\n{placed(bob)}turn 0\n")
    late = ann.person.letters.came[begun:]
    ann.receive()
    put_back(referee, back_up(referee), above=2)
    referee.send(ann.person, "status m1")
    ann.receive()
    known = ann.letters.matches.standing("m1")
    assert (known.phase, known.generation, known.restored) == ("closed", 3, 2)
    assert late
    for raw in late:
        ann.letters.inbox.receive(raw, referee.now)
    assert not ann.memory.alarms()


def test_a_late_question_about_the_account_closes_nothing(referee: Referee, tmp_path: Path) -> None:
    """Only a server that was restored since may have forgotten that it was answered."""
    with closing(Side(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")) as ann:
        ann.post(ann.letters.registration.register(ann.key, ann.fingerprint, referee.now))
        ann.letters.registration.register(ann.key, ann.fingerprint, referee.now, anew=True)
        ann.flush()
        late = ann.person.letters.came[ann.taken :]
        ann.taken += len(late)
        confirm = ann.letters.registration.confirm(referee.now)
        assert late
        assert confirm is not None
        ann.post(confirm)
        for raw in late:
            ann.letters.inbox.receive(raw, referee.now)
        assert ann.memory.account().name == "ann"
