"""A player's correspondence: a match is played from letters alone, and only the server's own letters change it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Referee, new, placed, sent_from
from in_a_box.table import ANN, SMALL, TO, Side
from player.changed_letters import bob_of, forged

from pbem.desk.strangers import EACH
from pbem.games import Refused
from pbem.letters.render import Templates
from pbem.match.transcript import sha256_hex
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.player.forms import Unfit
from pbem.player.play_facts import tournament_terms
from pbem.player.play_table import Verified, prove

if TYPE_CHECKING:
    from pathlib import Path


class TestAMatch:
    def test_the_same_again_is_the_same_letter_and_others_are_a_new_one(
        self, playing: Side, referee: Referee
    ) -> None:
        first = playing.letters.order("m1", "Gx3", referee.now)
        again = playing.letters.order("m1", " Gx3 # the same", referee.now)
        assert again == first
        other = playing.letters.order("m1", "Gx4", referee.now)
        assert (first.rev, other.rev) == (1, 2)
        playing.flush()
        assert playing.sent[-2:] == [first.raw, other.raw]
        playing.receive()
        assert playing.letters.order("m1", "Gx4", referee.now).raw == other.raw
        assert playing.letters.outbox.unsent() == []
        for _ in range(2):
            playing.letters.say("m1", "draw m1 offer", referee.now)
            playing.letters.withdraw("m1", 3, referee.now)
        assert len(playing.letters.outbox.unsent()) == 2

    def test_nobody_orders_out_of_turn(self, playing: Side, referee: Referee) -> None:
        with pytest.raises(Impossible, match="No letter about m2 "):
            playing.letters.order("m2", "Gx3", referee.now)
        with pytest.raises(Impossible, match="m1 asks for no setup now: it is being played"):
            playing.letters.set_up("m1", ANN, referee.now)
        playing.memory._database.execute("DELETE FROM papers")
        for turn, what in ((None, "turn 1"), (2, "the position")):
            with pytest.raises(Impossible, match=f"The letter that brings {what} of m1 has not come"):
                playing.letters.order("m1", "Gx3", referee.now, turn=turn)
        playing.post(playing.letters.say("m1", "resign m1 match", referee.now))
        assert playing.letters.matches.standing("m1").phase == "closed"
        with pytest.raises(Impossible, match="m1 asks for no orders now: it is closed"):
            playing.letters.order("m1", "Gx3", referee.now)
        with pytest.raises(Impossible, match="m1 is closed"):
            playing.letters.say("m1", "draw m1 offer", referee.now)
        with pytest.raises(Impossible, match="m1 is closed: there is nothing to accept"):
            playing.letters.accept("m1", referee.now)

    @pytest.mark.parametrize("odd", ["\x1b[31m", "a\0b", "\x7f", "caf\udce9"])
    def test_characters_that_the_server_refuses_are_not_signed(
        self, playing: Side, referee: Referee, odd: str
    ) -> None:
        before = playing.memory.count()
        with pytest.raises(Unfit, match="a character that programs read in different ways, U"):
            playing.letters.tell("press m1", referee.now, match="m1", text=odd)
        with pytest.raises(Unfit, match="a character that programs read in different ways, U"):
            playing.letters.ask(f"list {odd}", referee.now)
        assert playing.memory.count() == before

    def test_what_another_player_writes_is_kept_as_it_was_written(self, playing: Side, referee: Referee) -> None:
        referee.send(bob_of(referee), "press m1\nGood luck!\n\nYou will need it.\nend\n")
        referee.send(bob_of(referee), "press m1 to ann\nThis is for you.\nend\n")
        playing.receive()
        assert playing.memory.talk("m1") == [
            ("bob", "Good luck!\n\nYou will need it.", 0),
            ("bob", "This is for you.", 1),
        ]

    def test_press_that_would_be_a_command_is_not_signed(self, playing: Side, referee: Referee) -> None:
        before = playing.memory.count()
        with pytest.raises(Unfit, match="command"):
            playing.letters.tell("press m1", referee.now, match="m1", text="so\nend\nresign m1")
        assert playing.memory.count() == before

    @pytest.mark.parametrize("end", ["\r", "\v", "\f", "\x1c", "\x85", "\u2028"])
    def test_press_is_signed_with_the_line_ends_of_its_letter(
        self, playing: Side, referee: Referee, end: str
    ) -> None:
        """With others its signature would not hold."""
        sent = playing.letters.tell("press m1", referee.now, match="m1", text=f"One line{end}and another.")
        assert [event.said for event in playing.post(sent) if event.kind == "answer"] == ["done"]

    def test_a_question_is_answered_each_time_that_it_is_asked(self, playing: Side, referee: Referee) -> None:
        """The same signed words again would be answered three times a day, and then no more."""
        for _ in range(EACH + 3):
            events = playing.post(playing.letters.ask("list open", referee.now))
            assert [event.said for event in events if event.kind == "answer"] == ["done"]
            assert "ignored" not in playing.person.text

    def test_the_rules_come_in_a_letter_that_is_believed(self, playing: Side, referee: Referee) -> None:
        events = playing.post(playing.letters.ask("rules spaceships", referee.now))
        assert [(event.kind, event.said) for event in events] == [("answer", "done")]

    def test_what_was_obeyed_is_not_refused_since(self, playing: Side, referee: Referee) -> None:
        """The opponent has seen the letter by which she accepted, and writes in her name under its Message-ID."""
        (accepted,) = playing.memory.prepared("accept", "m1")
        assert accepted.state == "done"
        ann = playing.person
        lines = f"From: {ann.address}\nTo: {TO}\nMessage-ID: {accepted.message_id}\n\n{accepted.form}"
        referee.deliver((sent_from(ann.address) + lines).replace("\n", "\r\n").encode(), ann.address)
        assert "must be signed" in ann.text
        assert "answer" not in [event.kind for event in playing.receive()]
        assert playing.memory.prepared("accept", "m1") == [accepted]

    def test_another_game_of_three(self, referee: Referee, ann: Side) -> None:
        """Setups are judged by how many sit there, which no letter's file says but the bulletin does."""
        bob, cem = referee.registered("bob"), referee.registered("cem")
        referee.send(bob, new(bob, "shoot-em-up", "ann", "cem", options="board: 7x7"))
        ann.receive()
        ann.post(ann.letters.accept("m1", referee.now))
        referee.send(cem, f"accept m1 {ann.letters.matches.standing('m1').hash}\n")
        ann.receive()
        with pytest.raises(Refused):
            ann.letters.judge.setup("m1", "A c1 N\nB d1 N\nC e1 N")
        events = ann.post(ann.letters.set_up("m1", "D c7 S\nE d7 S\nF e7 S", referee.now))
        assert [event.said for event in events if event.kind == "answer"] == ["done"]


class TestRegistering:
    def test_a_challenge_from_elsewhere_pins_no_key(self, referee: Referee) -> None:
        """Only the server knows the letter: knowing address and public key is not enough, and shuts nobody out."""
        side = Side(referee, referee.person("ann"), None)
        asked = side.letters.registration.register(side.key, side.fingerprint, referee.now)
        evil = Ed25519PrivateKey.generate()
        challenge = {"about": "challenge", "fingerprint": side.fingerprint, "challenge": "0" * 64}
        answer: dict[str, object] = {"about": "command", "command": "register", "match": None, "outcome": "asked"}
        words = f"register ann {side.key} ann@home"
        for answers in (None, "0" * 64, sha256_hex(b"<guess@mail.example>"), sha256_hex(words.encode())):
            raw = forged(evil, [answer | {"answers": answers}, challenge | {"asked": answers}])
            assert [event.kind for event in side.letters.inbox.receive(raw, referee.now)] == ["unpinned"]
        assert side.memory.account().server_key is None
        side.post(asked)
        assert side.memory.account().server_key == referee.desk.archive.key
        first, again = (side.letters.registration.confirm(referee.now) for _ in range(2))
        assert first == again is not None
        side.close()


def test_a_true_bundle_of_another_match_proves_nothing(playing: Side, referee: Referee) -> None:
    """A server that has something to hide could mail one under this one's name."""
    playing.post(playing.letters.say("m1", "resign m1 match", referee.now))
    bundle = playing.memory.bundle("m1")
    assert bundle is not None
    playing.memory.put_bundle("m2", "m2-game-1.pbem.zip", 9, bundle)
    proof = prove(playing.memory, "m2")
    assert proof is not None
    assert not proof.holds
    ((said, loud),) = Verified("m2", proof).told(str)
    assert (said, loud) == ("m2: the proof FAILS: the bundle is that of m1", True)
    assert playing.proof.holds


def test_two_at_once_send_one_letter(playing: Side, referee: Referee) -> None:
    """Two commands look at the same standing, and both sign, for one place and revision."""
    account, sign, random = playing.letters.account, playing._sign, playing.random
    other = Correspondence(account, playing.memory, sign, random)
    for mine, theirs in (("Gx3", "Gx4"), ("Gx5", "Gx5")):

        def signing(text: bytes, namespace: str, theirs: str = theirs) -> str:
            other.order("m1", theirs, referee.now)  # while the key's owner is asked for a passphrase
            return sign(text, namespace)

        slow = Correspondence(account, playing.memory, signing, random)
        if mine == theirs:
            assert slow.order("m1", mine, referee.now) == other.order("m1", theirs, referee.now)
        else:
            with pytest.raises(Impossible, match="quicker"):
                slow.order("m1", mine, referee.now)
    sent = playing.memory.sent("orders", "m1", "game 1 turn 1")
    assert [(one.rev, one.form.splitlines()[5]) for one in sent] == [(1, "Gx4"), (2, "Gx5")]


def test_terms_are_accepted_by_their_own_hash_alone(referee: Referee, ann: Side) -> None:
    """A server could show one pace, and have another one signed."""
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    ann.receive()
    standing = ann.letters.matches.standing("m1")
    assert ann.letters.matches.terms("m1").pace
    assert standing.agreement is not None
    lies: tuple[dict[str, Any], ...] = (
        {"hash": "0" * 64},
        {"agreement": {**standing.agreement, "pace": 60}},
        {"agreement": {}},
    )
    for lie in lies:
        ann.memory.stand("2026-03-01T12:00:00Z", msgspec.structs.replace(standing, **lie))
        with pytest.raises(Impossible, match=r"for m1 is not that of its terms|terms of m1 cannot"):
            ann.letters.accept("m1", referee.now)
    assert not ann.letters.outbox.unsent()


def test_tournaments_are_entered_by_the_hash_of_their_own_terms_alone(referee: Referee, ann: Side) -> None:
    """A server could show one pace, and have another one signed for all matches."""
    bob = referee.registered("bob")
    referee.send(bob, f"tournament new spaceships\n{placed(bob)}closes: 2026-03-10\n{SMALL}\nend\n")
    ann.post(ann.letters.ask("tournament t1", referee.now))
    ann.receive()
    told = ann.memory.tournament("t1")
    assert told is not None
    assert tournament_terms(ann.letters, "t1", Templates())[1] == told.hash
    paced = {**told.agreement, "match": {**told.agreement["match"], "pace": 60}}
    for lie in ({"hash": "0" * 64}, {"agreement": paced}, {"agreement": {**told.agreement, "match": {}}}):
        ann.memory.stand_in(msgspec.structs.replace(told, **lie))
        with pytest.raises(Impossible, match=r"for t1 is not that of its terms|terms of t1 cannot"):
            tournament_terms(ann.letters, "t1", Templates())


def test_a_setting_counts_again_after_an_older_memory_is_brought_back(playing: Side, referee: Referee) -> None:
    """It counts from a lower revision, and the server obeys no words twice."""
    older = playing.memory._database.serialize()
    for value in ("digest", "each"):
        playing.post(playing.letters.tell(f"set mail {value}", referee.now))
    playing.close()
    assert playing.path is not None
    playing.path.write_bytes(older)
    playing.start()
    referee.wait(timedelta(hours=1))
    playing.post(playing.letters.tell("set mail digest", referee.now))
    assert referee.desk.letters.setting("ann", "mail") == "digest"


def test_who_registered_while_the_clock_was_ahead_asks_anew(referee: Referee, tmp_path: Path) -> None:
    with closing(Side(referee, referee.person("ann"), tmp_path / "memory.sqlite")) as ann:
        registration = ann.letters.registration
        lost = registration.register(ann.key, ann.fingerprint, referee.now + timedelta(days=30))
        ann.letters.outbox.has_left(lost)
        assert registration.is_overdue(ann.fingerprint, referee.now)
        ann.register()
