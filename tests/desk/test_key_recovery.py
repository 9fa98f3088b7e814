"""Lost keys: a player gets new ones by the recovery code, or by the mailbox alone after notice and delay."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import structlog
from in_a_box.inquiries import held
from in_a_box.key_letters import CODE, changes, code_of, fingerprint, line, play, said, send
from in_a_box.referee import SERVER, Mailbox, Referee, another, attachment, body, confirming, form_in, sent_from
from in_a_box.small_games import FLEETS, SMALL
from in_a_box.stores import at_rest
from vectors.matches import proof

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class TestRecoveryCode:
    def test_the_new_key_takes_the_others_place(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        first, old, new = code_of(ann), ann.key, another("ann")
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        send(referee, ann, f"recover {first}\n{line(new)}\n", None)
        assert "proof recovery-code" in said(ann)
        assert not CODE.search(ann.text)
        send(referee, ann, form_in(ann.text, "confirm"), new)
        assert "has replaced all your others" in said(ann)
        assert fingerprint(old) in said(ann)
        second = code_of(ann)
        assert second != first
        told = body(bob.find("ann has changed keys"))
        assert "done with the player's recovery code" in told
        assert not CODE.search(told)
        send(referee, ann, "clear m1\n", old)
        assert "is revoked" in said(ann)
        send(referee, ann, f"recover {first}\n{line(another('third'))}\n", None)
        assert "this is not your recovery code" in said(ann)
        referee.send(bob, bob.filled("orders", "final\n"))
        ann.key = new
        play(referee, ann, bob, ("Rv3", "Bz5"))
        bundle = attachment(bob.find(", the end"), ".zip")
        assert any("(recovery code)" in one and "the server's word" in one for one in held(bob.find(", the end")))
        for code in (first, second):
            assert code.encode() not in bundle
            assert code.replace("-", "").encode() not in bundle

    def test_wrong_codes_are_logged_and_never_repeated_and_of_the_right_one_only_a_hash_rests(
        self, referee: Referee
    ) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        code, new = code_of(ann), another("ann")
        wrong = code[:-4] + ("0000" if code[-4:] != "0000" else "1111")
        structlog.reset_defaults()
        referee.open_desk()
        with structlog.testing.capture_logs() as entries:
            for _ in range(6):
                raw = referee.raw(
                    ann,
                    f"recover {wrong}\n{line(new)}\n",
                    subject=f"recover {wrong}",
                    headers=sent_from(ann.address),
                )
                referee.deliver(raw, ann.address)
                assert "this is not your recovery code" in said(ann)
                assert wrong[:20] not in str(ann.last)
        logged = [entry for entry in entries if entry["event"] == "wrong recovery code"]
        assert [entry["log_level"] for entry in logged] == ["info"] * 5 + ["warning"]
        assert wrong[:20] not in str(entries)
        with structlog.testing.capture_logs() as entries:
            send(referee, ann, f"recover {code.upper().replace('-', '')} {line(new)}\n", None)
        assert "proof recovery-code" in said(ann)
        assert "commands: recover" in str(entries)
        files = at_rest(referee.database)
        for form in (code, code.replace("-", "")):
            assert form.encode() not in files.lower()
            assert form not in str(entries).lower()

    def test_the_code_alone_or_another_players_is_nothing(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        code, new = code_of(ann), another("ann")
        send(referee, bob, f"recover {code}\n{line(new)}\n", None)
        assert "this is not your recovery code" in said(bob)
        send(referee, ann, f"recover {code}\n", None)
        assert "paste the new public key" in said(ann)
        send(referee, ann, f"recover {code}\n{line(new)}\n", None)
        form = form_in(ann.text, "confirm")
        send(referee, ann, form, another("other"))
        assert "nothing was done with it" in said(ann)
        send(referee, ann, "status m1\n", ann.key)
        assert "Refused" not in said(ann)


class TestMailboxAlone:
    def lost(self, referee: Referee, ann: Mailbox, new: Ed25519PrivateKey) -> None:
        send(referee, ann, f"recover\n{line(new)}\n", None)
        form = form_in(body(ann.find("says that your keys are lost")), "confirm")
        send(referee, ann, form, new)
        assert "replaces all your others on" in said(ann), ann.text

    def test_a_mailbox_replaces_all_keys_after_notice_and_delay(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        old, new, first = ann.key, another("ann"), code_of(ann)
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        prev = ann.form("orders").split("prev ")[1].split()[0]
        self.lost(referee, ann, new)
        told = body(bob.find("says that all keys are lost"))
        assert fingerprint(new) in told
        assert "Sunday 8 March 2026, 12:00 UTC" in told
        assert not changes(proof(referee, bob))
        referee.wait(timedelta(days=7) - timedelta(seconds=1))
        send(referee, ann, "clear m1\n", new)
        assert "is not yours yet" in said(ann)
        referee.open_desk()
        referee.wait(timedelta(seconds=1))
        done = body(ann.find("Your keys"))
        assert fingerprint(new) in done
        assert code_of(ann) == first, "the code stays good, and nothing of it is mailed"
        assert not CODE.search(done)
        assert "objected in time" in body(bob.find("ann has changed keys"))
        assert not CODE.search(body(bob.last))
        send(referee, ann, "clear m1\n", old)
        assert "is revoked" in said(ann)
        assert prev in bob.form("orders")
        referee.send(bob, bob.filled("orders", "final\n"))
        ann.key = new
        play(referee, ann, bob, ("Rv3", "Bz5"))
        bundle = attachment(bob.find(", the end"), ".zip")
        assert any("(mailbox, after notice and delay)" in one for one in held(bob.find(", the end")))
        (change,) = changes(bundle)
        assert change["revoked"] == [fingerprint(old)]

    def test_the_delay_does_not_run_while_the_server_is_down(self, referee: Referee) -> None:
        """The players who could have objected then have as much time afterwards, and are told the new day."""
        ann, bob = referee.begun(SMALL, FLEETS)
        self.lost(referee, ann, another("ann"))
        referee.outage(timedelta(days=8))
        assert "Monday 16 March 2026" in body(bob.find("says that all keys are lost"))
        referee.wait(timedelta(days=6))
        assert not changes(proof(referee, bob))
        referee.wait(timedelta(days=2))
        assert len(changes(proof(referee, bob))) == 1

    def test_who_recovers_and_keeps_keys_all_day_fills_no_opponents_mailbox(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        before = len(bob.letters)
        for number in range(9):
            new = another(f"new{number}")
            text = f"recover\n{line(new)}\n"
            send(referee, ann, text, None)
            if "Refused" in ann.text:  # what answers this letter is read all the same
                raw = referee.raw(ann, text, headers=sent_from(ann.address))
                referee.deliver(raw, ann.address, str(ann.last["Reply-To"]))
            form = form_in(body(ann.find("Somebody says that your keys are lost")), "confirm")
            assert fingerprint(new) in form
            send(referee, ann, form, new)
            send(referee, ann, f"key keep\n# {number}\n", ann.key)
        assert 0 < len(bob.letters) - before <= 10

    @pytest.mark.parametrize("by", ["key keep\nserver play.example\nplayer ann\n", "orders", "press m1\nHi.\nend\n"])
    def test_an_old_key_stops_it(self, referee: Referee, by: str) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        old, new = ann.key, another("ann")
        self.lost(referee, ann, new)
        send(referee, ann, "help key\nnonsense\n", old)
        send(referee, ann, ann.filled("orders", "no orders"), old)
        assert "stay as they are" not in body(ann.letters[-2]) + ann.text, "what has no effect stops nothing"
        send(referee, ann, ann.filled("orders", "Rv1") if by == "orders" else by, old)
        told = [" ".join(body(letter).split()) for letter in ann.letters[-2:]]
        assert any("Your keys stay as they are" in text for text in told)
        assert "no other replaces them" in body(bob.find("still has a key"))
        referee.wait(timedelta(days=30))
        assert not changes(proof(referee, bob))
        send(referee, ann, "clear m1\n", new)
        assert "nothing was done with it" in said(ann)

    def test_a_key_that_is_somebody_elses_by_then_is_not_taken(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        self.lost(referee, ann, another("ann"))
        eve = referee.person("eve")
        eve.key = another("ann")
        referee.send(eve, f"register eve\n{line(eve.key)}\n", sign=False)
        referee.send(eve, confirming(eve))
        assert "You are registered" in eve.text
        referee.wait(timedelta(days=30))
        assert referee.desk.changes.next_due() is None
        assert not changes(proof(referee, bob))
        send(referee, ann, ann.filled("orders", "Rv1"), ann.key)
        assert referee.match().orders

    def test_an_old_key_stops_it_in_a_letter_that_is_read_late(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        self.lost(referee, ann, another("ann"))
        due = referee.desk.changes.next_due()
        assert due is not None
        referee.now = due - timedelta(minutes=1)
        referee.alive()
        referee.put(ann, "key keep\nserver play.example\nplayer ann\n")
        for _ in range(3):
            referee.now += timedelta(minutes=1)
            following = referee.running.tick(referee.now)
            assert following is not None
            assert following > referee.now
        referee.work()
        assert "no other replaces them" in body(bob.find("still has a key"))
        referee.wait(timedelta(days=30))
        assert not changes(proof(referee, bob))

    def test_an_old_key_stops_it_though_a_copy_was_refused_first(self, referee: Referee) -> None:
        """A thief who reads the mail of this address has the copy refused, by a date above it."""
        ann, bob = referee.begun(SMALL, FLEETS)
        said = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Rv1")))
        self.lost(referee, ann, another("ann"))
        referee.deliver(b"Date: Mon, 1 Jan 2001 00:00:00 +0000\r\n" + said, "eve@elsewhere.example")
        assert not [letter for letter in bob.letters if "still has a key" in str(letter["Subject"])]
        referee.deliver(said, ann.address)
        assert "no other replaces them" in body(bob.find("still has a key"))
        referee.wait(timedelta(days=30))
        assert not changes(proof(referee, bob))

    def test_an_old_letter_of_the_old_key_does_not_stop_it(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        new = another("ann")
        seen = referee.signed(ann, ann.filled("orders", "Rv1"))
        referee.deliver(referee.raw(ann, seen), ann.address)
        unknown = referee.signed(ann, "a letter to a list\n")
        self.lost(referee, ann, new)
        for replayed in (seen, unknown):
            referee.deliver(referee.raw(ann, replayed), "eve@elsewhere.example")
        referee.wait(timedelta(days=7))
        assert len(changes(proof(referee, bob))) == 1

    def test_the_form_goes_to_the_registered_address_alone(self, referee: Referee) -> None:
        ann, bob = referee.begun(f"{SMALL}\npace: none", FLEETS)
        theirs = another("eve")
        before = len(bob.letters)
        send(referee, ann, f"recover\n{line(theirs)}\n", None)  # by somebody else at the same provider
        assert "A form is on its way" in said(ann)
        assert "challenge" not in said(ann)
        assert len(bob.letters) == before
        place = f"confirm ann\nserver {SERVER}\nchallenge {'0' * 64}\n"
        guess = f"{place}fingerprint {fingerprint(theirs)}\nproof mailbox\nend\n"
        send(referee, ann, guess, theirs)
        assert "the form said `challenge" in said(ann)
        referee.wait(timedelta(days=30))
        assert not changes(proof(referee, bob))
        assert not [one for one in bob.letters[before:] if "keys" in str(one["Subject"])]

    def test_asking_again_does_not_void_the_form_or_the_delay(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        new = another("ann")
        send(referee, ann, f"recover\n{line(new)}\n", None)
        form = form_in(body(ann.find("says that your keys are lost")), "confirm")
        send(referee, ann, f"recover\n{line(new)}\n", None)
        send(referee, ann, form, new)
        assert "replaces all your others on" in said(ann)
        send(referee, ann, f"recover\n{line(new)}\n", None)
        assert "its delay runs" in said(ann)
        for _ in range(9):
            send(referee, ann, f"recover\n{line(another('eve'))}\n", None)
        assert "Answer this letter with your command" in said(ann)
        referee.wait(timedelta(days=7))
        assert len(changes(proof(referee, bob))) == 1

    def test_the_code_overtakes_it(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        code = code_of(ann)
        self.lost(referee, ann, another("thief"))
        send(referee, ann, f"recover {code}\n{line(another('ann'))}\n", None)
        send(referee, ann, form_in(ann.text, "confirm"), another("ann"))
        referee.wait(timedelta(days=30))
        (change,) = changes(proof(referee, bob))
        assert change["how"] == "recovery code"
