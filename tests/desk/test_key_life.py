"""The life of keys by mail, with a match running: added and revoked; what others get, and what is proved."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held, proved
from in_a_box.key_letters import add, changes, code_of, entries, fingerprint, line, play, said, send
from in_a_box.referee import SERVER, Mailbox, Referee, another, attachment, body, form_in, placed
from in_a_box.small_games import FLEETS, SMALL
from signing.openpgp_maker import Signer, packet
from vectors.matches import proof

from pbem.identity import ssh
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class TestAdding:
    def test_a_key_is_added_by_the_old_and_the_new_one(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        old, new = ann.key, another("ann")
        prev = re.search(r"prev \w+", ann.form("orders"))
        send(referee, ann, f"key add\n{line(new)}\n", old)
        assert fingerprint(new) in said(ann)
        assert "proof old-key" in said(ann)
        send(referee, ann, form_in(ann.text, "confirm"), new)
        assert "is yours, and valid from now on" in said(ann)
        told = body(bob.find("ann has changed keys"))
        assert fingerprint(new) in told
        assert "This was signed with both an old key and the new one" in told
        send(referee, ann, ann.filled("orders", "final\nRv1"), new)
        assert "You have no such" not in said(ann)
        ann.key = new
        referee.send(bob, bob.filled("orders", "final\n"))
        ann.key = old
        referee.turn((ann, "Rv3"), (bob, ""))
        assert prev
        assert prev[0] not in ann.form("orders")
        referee.turn((ann, "Bz5"), (bob, ""))
        bundle = attachment(bob.find(", the end"), ".zip")
        found = held(bob.find(", the end"))
        assert any(f"key added (signed): {fingerprint(new)}; the old and the new key signed" in one for one in found)
        (change,) = changes(bundle)
        assert change["seat"] == 1
        assert [key["fingerprint"] for key in change["added"]] == [fingerprint(new)]  # type: ignore[attr-defined]  # JSON

    def test_the_new_key_counts_only_once_it_signed(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        new = another("ann")
        send(referee, ann, f"key add\n{line(new)}\n", ann.key)
        form = form_in(ann.text, "confirm")
        for text in (ann.filled("orders", "Rv1"), "press m1\nhello\nend\n", "key keep\n", "whoami\n"):
            before = len(bob.letters)
            send(referee, ann, text, new)
            assert "is not yours yet" in said(ann), text
            assert len(bob.letters) == before
        for key in (ann.key, bob.key, None):
            send(referee, ann, form, key)
            assert "valid from now on" not in said(ann)
        for old, changed in (("server play", "server other"), ("challenge ", "challenge 0"), ("old-key", "mailbox")):
            send(referee, ann, form.replace(old, changed), new)
            assert "the form said" in said(ann)
        send(referee, ann, form.replace("confirm ann", "confirm bob"), new)
        assert "the form said `name ann`" in said(ann)
        assert not changes(proof(referee, bob))
        referee.open_desk()
        send(referee, ann, form, new)
        assert "valid from now on" in said(ann)

    def test_only_an_own_old_key_may_ask(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        new = another("ann")
        send(referee, ann, f"key add\n{line(new)}\n", None)
        assert "must be signed" in said(ann)
        send(referee, ann, f"key add\n{line(new)}\n", bob.key)
        assert "nothing was done with it" in said(ann)
        send(referee, ann, f"key add\n{line(bob.key)}\n", ann.key)
        assert "was used here before" in said(ann)
        send(referee, ann, f"key add\n{line(ann.key)}\n", ann.key)
        assert "is yours already" in said(ann)
        send(referee, ann, "key add\n", ann.key)
        assert "paste the new public key" in said(ann)
        send(referee, ann, f"key add\n{line(new)}\nplayer bob\n", ann.key)
        send(referee, ann, f"key revoke {fingerprint(ann.key)}\nserver other.example\n", ann.key)
        assert "wrong `server`; expected play.example" in said(ann)
        send(referee, ann, f"key add\n{line(new)}\n\nstatus m1\n", ann.key)
        assert "send nothing else in it" in said(ann)
        assert not changes(proof(referee, bob))

    @pytest.mark.parametrize("named", [True, False])
    def test_an_attached_key_must_be_signed_for(self, referee: Referee, *, named: bool) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        new = another("ann")
        text = f"key add {fingerprint(new)}\n{placed(ann)}" if named else f"key add\n{placed(ann)}"
        raw = (
            f"From: {ann.address}\nTo: pbem@{SERVER}\nSubject: key\nMIME-Version: 1.0\n"
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
            f"{referee.signed(ann, text)}\n--b\nContent-Type: text/plain\n"
            f"Content-Disposition: attachment; filename=new.pub\n\n{line(new)}\n--b--\n"
        )
        referee.deliver(raw.replace("\n", "\r\n").encode(), ann.address)
        if not named:
            assert "write its fingerprint after `key add`" in said(ann)
            return
        send(referee, ann, form_in(ann.text, "confirm"), new)
        assert "valid from now on" in said(ann)
        proved(referee, ann)

    def test_a_letter_that_others_may_not_see_proves_nothing(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        new = another("ann")
        for beside in ("> your setup: MD Rv1 Rv2 Rv3\n", f"I keep {code_of(ann)}\n", "as in orders m1\n"):
            send(referee, ann, f"key add\n{line(new)}\n\n# {beside}", ann.key)
            if not beside.startswith(">"):
                assert "opponents get this letter as proof" in said(ann)
        raw = referee.raw(ann, referee.signed(ann, f"key add\n{line(new)}\n") + "\n> MD Rv1\n")
        referee.deliver(raw, ann.address)
        assert "it quotes another letter" in said(ann)

    def test_a_key_asked_for_by_a_key_revoked_meanwhile_is_not_added(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        stolen, own, theirs = ann.key, another("own"), another("theirs")
        add(referee, ann, own)
        send(referee, ann, f"key add\n{line(theirs)}\n", stolen)
        form = form_in(ann.text, "confirm")
        send(referee, ann, f"key revoke {fingerprint(stolen)}\n", own)
        send(referee, ann, form, theirs)
        assert fingerprint(theirs) in said(ann)
        assert "nothing was done with it" in said(ann)
        assert [change["change"] for change in changes(proof(referee, bob))] == ["added", "revoked"]


class TestRevoking:
    def test_a_revoked_key_is_told_as_such_and_what_it_signed_before_counts(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        old, new = ann.key, another("ann")
        add(referee, ann, new)
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        head = ann.form("orders")
        send(referee, ann, f"key revoke {fingerprint(old)[:15]}\n", new)
        assert "What you sent before still stands in m1" in said(ann)
        told = body(bob.find("ann has changed keys"))
        assert "has revoked a key" in told
        assert fingerprint(old) in told
        before = len(bob.letters)
        send(referee, ann, ann.filled("orders", "final\nGv1", rev=2), old)
        assert f"The key {fingerprint(old)} is revoked" in said(ann)
        assert fingerprint(new) in said(ann).partition("registered")[2]
        assert fingerprint(old) not in said(ann).partition("registered")[2]
        send(referee, ann, f"key add\n{line(old)}\n", new)
        assert "was used here before" in said(ann)
        send(referee, ann, f"key revoke {fingerprint(old)}\n", new)
        assert f"{fingerprint(old)} is revoked already" in said(ann)
        referee.open_desk()
        referee.send(bob, bob.filled("orders", "final\n"))
        assert "strike    Rv1  hit" in body(ann.find("game 1, turn 1"))
        assert len(bob.letters) > before
        assert head != ann.form("orders")
        ann.key = new
        play(referee, ann, bob, ("Rv3", "Bz5"))
        held(bob.find(", the end"))

    def test_the_last_key_stays(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        send(referee, ann, f"key revoke {fingerprint(ann.key)}\n", ann.key)
        assert "this is your only key" in said(ann)
        send(referee, ann, f"key revoke {fingerprint(bob.key)}\n", ann.key)
        assert "`whoami` lists your keys" in said(ann)
        add(referee, ann, another("ann"))
        send(referee, ann, "key revoke SHA256:\n", ann.key)
        assert "`whoami` lists your keys" in said(ann)
        send(referee, ann, f"key revoke {fingerprint(ann.key)}\n", bob.key)
        assert "nothing was done with it" in said(ann)
        assert len(changes(proof(referee, bob))) == 1


class TestEverywhere:
    def test_a_key_is_added_to_all_matches_of_its_player(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        for number in (2, 3, 4):
            referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n# {number}\n")
            if number < 4:
                referee.send(bob, form_in(bob.text, "accept", lines=1))
        proposal = form_in(bob.text, "accept", lines=1)
        referee.send(bob, "resign m2 match\n")
        before = len(bob.letters)
        new = another("ann")
        add(referee, ann, new)
        subjects = [str(letter["Subject"]) for letter in bob.letters[before:]]
        assert [subject[:10] for subject in subjects] == ["[pbem m1] ", "[pbem m3] "]
        referee.send(bob, proposal)
        assert "the match begins" in said(bob)
        for number in (1, 3, 4):
            referee.send(bob, f"transcript m{number}\n", sign=False)
            bundle = attachment(bob.last, ".zip")
            held(bob.last)
            assert len(changes(bundle)) == (number != 4)
        (first, *_) = entries(bundle)
        assert len(first["body"]["players"]["1"]["keys"]) == 2  # type: ignore[index]  # JSON

    def test_a_second_address(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        other = referee.person("annas-other")
        send(referee, ann, f"address add {other.address}\n", None)
        assert "must be signed" in said(ann)
        send(referee, ann, f"address add {bob.address}\n", ann.key)
        assert "cannot be used" in said(ann)
        send(referee, ann, f"address add pbem+m1@{SERVER}\n", ann.key)
        assert "cannot be used" in said(ann)
        silent = referee.person("annas-silent")
        send(referee, silent, "stop\n", None)
        referee.send(silent, "stop\n", sign=False, to=str(silent.last["Reply-To"]))
        send(referee, ann, f"address add {silent.address}\n", ann.key)
        assert "we send no mail there: somebody wrote `stop` from it" in " ".join(said(ann).split())
        send(referee, ann, f"address add {other.address}\n", ann.key)
        assert "challenge" not in said(ann)
        form = form_in(other.text, "confirm")
        for text in ("status m1\n", "list mine\n", "whoami\n"):
            send(referee, other, text, None)
            assert "MD" not in said(other)
            send(referee, other, text, ann.key)
            assert "Spaceships" not in said(other)
            assert "not yours yet" in said(other)
        send(referee, other, form, bob.key)
        send(referee, other, form, None)
        send(referee, ann, "whoami\n", None)
        assert f"The form for the address {other.address} has not come back yet" in said(ann)
        send(referee, other, form, ann.key)
        assert "is yours as well" in said(other)
        send(referee, other, ann.filled("orders", "Rv5"), ann.key)
        assert "Rv5" in said(other)
        referee.send(bob, bob.filled("orders", "final"))
        assert "turn 1" in str(ann.last["Subject"])
        assert "turn 2" not in str(other.last["Subject"])
        send(referee, other, "whoami\n", None)
        assert other.address in said(other)
        other.key = ann.key
        add(referee, other, another("ann"))
        assert fingerprint(another("ann")) in body(ann.find("Your keys"))


def test_orders_in_advance_need_a_key_that_still_counts(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    add(referee, ann, another("ann"))
    form = ann.filled("orders", "final\nRv3")
    for turn, key in ((2, ann.key), (3, ann.key), (4, another("ann"))):
        send(referee, ann, form.replace("turn 1", f"turn {turn}"), key)
    play(referee, ann, bob, ("Rv1",))
    send(referee, ann, f"key revoke {fingerprint(ann.key)}\n", another("ann"))
    ann.key = another("ann")
    referee.turn((bob, ""))
    told = " ".join(body(ann.find("turn 2")).split())
    assert "The orders that you sent in advance for turn 3 are not used" in told
    assert "they no longer count: the key that signed them is revoked" in told
    play(referee, ann, bob, ("Rv3",))
    assert "We already have your orders for turn 4" in body(ann.find("turn 3"))
    referee.turn((bob, ""))
    assert "not revealed yet" in " ".join(proved(referee, bob))


def together(referee: Referee, person: Mailbox, *said: tuple[str, Ed25519PrivateKey]) -> None:
    """Letters that wait together are judged ahead by the keys of that moment: what they were is looked up again."""
    for text, key in said:
        raw = referee.raw(person, text + ssh.sign(key, text.encode(), f"pbem@{SERVER}"))
        referee.inbox.put(Envelope(person.address, (f"pbem@{SERVER}",)), raw, referee.now)
    referee.work()


def test_a_letter_beside_the_one_that_revokes_its_key_is_judged_anew(referee: Referee) -> None:
    ann, new = referee.registered("ann"), another("new")
    add(referee, ann, new)
    revoke = f"key revoke {fingerprint(ann.key)}\n{placed(ann)}"
    together(referee, ann, (revoke, new), (f"set language de\n{placed(ann)}", ann.key))
    assert "is revoked" in body(ann.letters[-2])
    assert str(ann.last["Subject"]) == "[pbem] A letter in your name was not accepted"
    assert referee.desk.players.setting("ann", "language", "none") == "none"


def test_who_changes_long_keys_every_day_makes_no_letters_long(referee: Referee) -> None:
    """Each letter of a sealed match brings the keys that counted: in the end no mail server would take one."""
    ann, bob = referee.agreed("sealed: yes\nfleet: cost:3")
    for number in range(8):
        signer = Signer(another(f"long {number}"))
        referee.send(ann, f"key add\n{signer.certificate(behind=packet(17, bytes(46_000)))}")
        if "too long together" in said(ann):
            break
        text = form_in(ann.text, "confirm").rstrip("\n")
        signed = f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{text}\n"
        send(referee, ann, signed + signer.over(text.encode(), referee.now), None)
        assert "is yours, and valid from now on" in ann.text, ann.text
        referee.send(ann, f"key revoke {signer.fingerprint.hex()}\n")
        referee.wait(timedelta(hours=12))
    assert number > 2
    add(referee, ann, another("short"))
    referee.send(bob, "report m1\n")
    assert len(bob.letters.came[-1]) < 500_000


def test_who_agreed_with_a_key_that_is_gone_is_told_why_to_agree_once_more(referee: Referee) -> None:
    """Also who proposed the match: nobody proposes one to oneself."""
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
    add(referee, ann, another("ann"))
    send(referee, ann, f"key revoke {fingerprint(ann.key)}\n", another("ann"))
    ann.key = another("ann")
    referee.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
    assert "ann proposes a match" not in ann.text
    assert ann.text.startswith("ann's match: agree once more, as your keys have changed.")
    referee.send(ann, form_in(ann.text, "accept", lines=1))
    assert referee.match().phase == "setup"
