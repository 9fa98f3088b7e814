"""Attacks with fresh eyes: what a server with its key, an opponent or an odd but honest player can bring about."""

from __future__ import annotations

import email.utils
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import fails, holds, index, proof, renamed, signed_again, with_entry, with_papers
from in_a_box.inquiries import early, sentence_of
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in
from judges import sentences
from signing.domains import Domain, rsa_key

from pbem.desk.commands import proposals
from pbem.games import Refused
from pbem.match import advance_orders, submissions
from pbem.match.changed import replace
from pbem.match.documents import Evidence, Receipt, Withdrawal
from pbem.match.traces import SetAside, Trace
from pbem.match.transcript import Entry, sha256_hex
from pbem.proof import bundle
from pbem.proof.compare.against import Against
from pbem.proof.kept_letters import kept
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Proved, verify
from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

    from pbem.match.signed import Signed
    from pbem.match.state import Submission
    from pbem.match.step import Step
    from pbem.proof.bundle import Bundle
    from pbem.requests import Clear, SignedForm, SubmitOrders

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
DAY = timedelta(days=1)
HOME = Domain("mail.example", key=rsa_key(1024))

DEFAULT = f"{SMALL}\nmiss: default\npace: 2d\ngrace: 1d"
"""Terms in which default orders are played."""

BAD = {"open", "broken", "contradicts", "two stories"}


DSN = """From: MAILER-DAEMON@mx.example
To: {to}
Subject: undelivered
Auto-Submitted: auto-replied
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

help
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; bob@mail.example
Action: failed
Status: 5.1.1
--b--
"""


def bounced(referee: Referee, person: Mailbox) -> None:
    """The latest letter to a person comes back."""
    query = "SELECT token FROM outbox WHERE recipient = ? ORDER BY id DESC"
    to = f"pbem+b{referee.database.scalar(query, (person.address,))}@play.example"
    referee.deliver(DSN.format(to=to).replace("\n", "\r\n").encode(), "", to)


def reply_to(letter: EmailMessage) -> str:
    return email.utils.parseaddr(str(letter["Reply-To"]))[1]


class Post:
    """A referee among people without keys, whose domain signs what they send."""

    def __init__(self, folder: Path) -> None:
        self.referee = Referee(folder)
        self.referee.records[HOME.where] = HOME.record

    def reply(self, person: Mailbox, text: str, *, to: str | None = None) -> None:
        """An answer to the person's latest letter."""
        address = to or reply_to(person.last)
        raw = self.referee.raw(person, text).replace(b"To: pbem@play.example", f"To: {address}".encode())
        self.referee.deliver(HOME.sign(raw, self.referee.now), person.address, address)

    def registered(self, name: str) -> Mailbox:
        person = self.referee.person(name)
        self.referee.send(person, f"register {name}\n", sign=False)
        self.reply(person, f"register {name}")
        assert sentences.YOU_ARE_REGISTERED_AS in person.text
        return person

    def agreed(self, options: str) -> tuple[Mailbox, Mailbox]:
        """Ann with a key and Bob without, in match m1, their setups asked for."""
        ann, bob = self.referee.registered("ann"), self.registered("bob")
        self.referee.send(ann, f"new spaceships with bob\n{options}\nend\n")
        self.reply(bob, form_in(bob.text, "accept", lines=1))
        return ann, bob


def standings(found: Bundle, *people: Mailbox) -> dict[str, str]:
    """How the kept letters of these people stand to a bundle that holds."""
    proved = Proved()
    checks = list(verify(bundle.write(found), Letters, None, proved))
    assert all(check.holds for check in checks), checks[-1]
    assert proved.bundle is not None
    assert proved.match is not None
    against = Against(proved.bundle, proved.match, proved.told)
    letters = [against.judge(kept(one.name, raw.as_bytes())) for one in people for raw in one.letters]
    return {finding.found: finding.standing for letter in letters for finding in letter.findings}


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return Post(tmp_path)


def hand_over(referee: Referee, leaver: Mailbox, newcomer: Mailbox, other: Mailbox) -> None:
    sentence = f"substitute m1 {newcomer.name} for {leaver.name}\n"
    referee.send(leaver, sentence)
    referee.send(other, sentence)
    referee.send(newcomer, form_in(body(newcomer.find("will you")), "substitute"))
    assert "your seat" in str(newcomer.find("your seat")["Subject"])


def accused(referee: Referee, *people: Mailbox) -> dict[str, str]:
    """What the letters of honest players find against the honest bundle."""
    found = proof(referee, people[0])
    holds(found)
    return {told: standing for told, standing in standings(found, *people).items() if standing in BAD}


class TestServerWithItsKey:
    def test_default_orders_are_not_played_after_their_withdrawal(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The withdrawal that the trace names came days before the time was over."""
        honest = advance_orders.withdraw

        def lying(step: Step, seat: int, form: SignedForm[Clear], signed: Signed) -> Submission:
            turn = form.turn or 0
            stood = step.match.stored[seat, turn]
            submission = honest(step, seat, form, signed)
            aside = step.match.stored[seat, turn].aside
            stored = {**step.match.stored, (seat, turn): replace(stood, aside=aside)}
            step.match = replace(step.match, stored=stored)
            return submission

        monkeypatch.setattr(advance_orders, "withdraw", lying)
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        referee.send(ann, "clear m1 default\n")
        assert "Withdrawn: default orders" in body(ann.last)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        assert referee.match().turn == 2, "the server played what was withdrawn"
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        assert found.entries[index(found, "turn", 1, 1)].body["default"] == [1]
        fails(found, "withdrew the default orders that were played in turn 1")

    def test_refused_orders_are_no_excuse_to_drop_those_that_stand(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Orders that cite the head of their own turn did not come in advance, and are nothing `unused`."""
        honest = submissions.order

        def lying(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
            try:
                return honest(step, seat, form, signed)
            except Refused:
                match, before = step.match, step.match.orders[seat]
                found = submissions.receipted(step, seat, match.turn, form, signed, form.request.text, before)
                unused = SetAside(found.paper, found.letter, found.evidence)
                gone = replace(found, standing=False, aside=(*before.aside, unused))
                step.match = replace(match, orders={**match.orders, seat: gone})
                return gone

        monkeypatch.setattr(submissions, "order", lying)
        ann, bob = referee.begun(f"{SMALL}\nmiss: pass\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        receipt = ann.last
        assert "stand, revision 1" in body(receipt)
        referee.send(ann, ann.filled("orders", "mGx3 Gx4", rev=2))  # not legal: the honest server refuses it
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(4 * DAY)
        assert referee.match().turn == 2, "the server passed for Ann, whose legal orders it had"
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        fails(found, "letters/game-1-turn-1-unused-seat-1-rev-2.eml", "that could be stored")

    def test_refused_default_orders_are_no_excuse_either(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What no position can make good was never stored: it is nothing `unused`, and excuses no claim."""
        honest = advance_orders.store

        def lying(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
            try:
                return honest(step, seat, form, signed)
            except Refused:
                match, before = step.match, step.match.stored[seat, 0]
                found = submissions.receipted(step, seat, 0, form, signed, form.request.text, before)
                step.match = replace(match, stored={**match.stored, (seat, 0): found})
                return found

        monkeypatch.setattr(advance_orders, "store", lying)
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        receipt = ann.last
        assert "Stored, revision 1" in body(receipt)
        early(referee, ann, "default", "Bz9 nonsense", rev=2)  # the honest server refuses it at once
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        referee.send(bob, "claim m1\n")
        assert sentences.YOUR_CLAIM_IS_GRANTED in bob.text
        found = proof(referee, bob)
        monkeypatch.undo()
        fails(found, "letters/game-1-default-unused-seat-1-rev-2.eml", "that could be stored")

    def test_nobody_is_added_to_those_who_were_named(self, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fail: `new shoot-em-up with bob` proposes a game of two, and a third is the server's word alone."""
        monkeypatch.setattr(proposals, "_more_seats", lambda _game, taken, _wanted: (range(taken + 1, 4), []))
        ann, bob, eve = (referee.registered(name) for name in ("ann", "bob", "eve"))
        referee.send(ann, "new shoot-em-up with bob\nserver play.example\nplayer ann\nend\n")
        referee.send(eve, "join m1\nserver play.example\nplayer eve\n")
        assert referee.match().terms.players == ("ann", "bob", "eve")
        for other in (bob, eve):
            referee.send(other, f"accept m1 {referee.match().rules_hash}\n")
        with referee.database.transaction():
            Instructions(referee.database).give("end", 1, "x", "me", referee.now)
        referee.work()
        fails(proof(referee, bob), "letters/agreed-seat-1.eml")

    def test_a_match_is_not_missed_while_it_is_paused(self, referee: Referee) -> None:
        """While the match is paused nobody's time runs, so that no `missed` (and no `forfeited`) stands."""
        _, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        found = proof(referee, bob)
        at = index(found, "missed", 1, 1)
        time = found.entries[at - 1].time
        pause = Entry(0, "", time, "paused", {"by": "operator", "reason": "the weekend"})
        entries = (*found.entries[:at], pause, *found.entries[at:])
        forged = signed_again(replace(found, entries=entries), at)
        fails(forged, "missed")

    def test_the_time_of_a_pause_does_not_count(self, referee: Referee) -> None:
        """The deadline of a miss is later by the pauses that the transcript itself shows."""
        _, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        found = proof(referee, bob)
        at = index(found, "missed", 1, 1)
        first, last = found.entries[at - 1].time, found.entries[at].time
        pause = Entry(0, "", first, "paused", {"by": "operator", "reason": "a week off"})
        resume = Entry(0, "", last, "resumed", {"by": "operator", "reason": "we go on"})
        entries = (*found.entries[:at], pause, resume, *found.entries[at:])
        fails(signed_again(replace(found, entries=entries), at), "deadline")

    def test_no_file_lies_in_a_bundle_that_no_entry_names(self, referee: Referee) -> None:
        """It `is named by no entry`; it was only looked for when default orders were stored again."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        assert referee.match().turn == 2
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        path = "receipts/game-1-turn-0-seat-1.txt"
        assert path not in found.papers
        fails(with_papers(found, {path: b"anything at all\n"}), path, "named by no entry")

    def test_a_letter_of_one_place_is_not_used_at_another(self, post: Post) -> None:
        """One reply token was given out for one place: the same letter does not count in two games."""
        referee = post.referee
        ann, bob = post.agreed(f"{SMALL}\nkind: scored\ngames: 2")
        for game in (1, 2):
            referee.send(ann, ann.filled("setup", SETUPS[0]))
            post.reply(bob, bob.filled("setup", SETUPS[1]), to=reply_to(bob.find("send your setup")))
            assert (referee.match().game, referee.match().turn) == (game, 1)
            post.reply(bob, "orders m1 turn 1\nfinal\nend\n", to=reply_to(bob.last))
            referee.send(ann, ann.filled("orders", "Rv1"))
            assert referee.match().turn == 2
            if game == 1:
                referee.send(ann, "resign m1 game 1\n")
        with referee.database.transaction():
            Instructions(referee.database).give("end", 1, "x", "me", referee.now)
        referee.work()
        found = bundle.read(attachment(ann.find(", the end"), ".pbem.zip"))
        holds(found)
        first, second = (f"game-{game}-turn-1-seat-2" for game in (1, 2))
        letter = found.papers[f"letters/{first}.eml"]
        evidence = Evidence.read(found.papers[f"evidence/{first}.txt"].decode())
        assert evidence.place == "game 1 turn 1"
        moved = replace(evidence, place="game 2 turn 1").text().encode()
        old = found.papers[f"receipts/{second}.txt"]
        receipt = Receipt.read(old.decode())
        receipt = replace(receipt, mail=sha256_hex(letter), evidence=sha256_hex(moved), received=evidence.received)
        papers = {
            f"letters/{second}.eml": letter,
            f"evidence/{second}.txt": moved,
            f"receipts/{second}.txt": receipt.text().encode(),
        }
        at = index(found, "turn", 2, 1)
        forged = with_entry(
            with_papers(found, papers),
            at,
            lambda b: renamed(b, sha256_hex(old), sha256_hex(papers[f"receipts/{second}.txt"])),
        )
        fails(signed_again(forged, at), f"evidence/{second}.txt")

    def test_evidence_without_its_place_is_none(self, post: Post) -> None:
        """That of an agreement, too, which is compared with no place of the match."""
        ann, _ = post.agreed(SMALL)
        with post.referee.database.transaction():
            Instructions(post.referee.database).give("end", 1, "x", "me", post.referee.now)
        post.referee.work()
        found = proof(post.referee, ann)
        holds(found)
        path = "evidence/agreed-seat-2.txt"
        old = replace(Evidence.read(found.papers[path].decode()), place="").text().encode()
        forged = with_entry(found, 0, lambda body: body["letters"]["2"].update(evidence=sha256_hex(old)))
        assert b"\nplace \n" in old
        fails(signed_again(with_papers(forged, {path: old})), f"entry 1: {path}: cannot be read")

    def test_a_withdrawal_names_its_player(self, referee: Referee) -> None:
        """A withdrawal or unused receipt in a trace that names another player than sits there fails."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        referee.send(ann, "clear m1\n")
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        (path,) = [path for path in found.papers if path.startswith("withdrawals/")]
        lie = replace(Withdrawal.read(found.papers[path].decode()), player="bob").text().encode()
        where = "traces/game-1-end.txt"
        trace = Trace.read(found.papers[where].decode())
        told = replace(trace, named={path: sha256_hex(lie)}).text().encode()
        at = index(found, "ended", 1)
        forged = with_entry(
            with_papers(found, {path: lie, where: told}), at, lambda b: b.update(trace=sha256_hex(told))
        )
        fails(signed_again(forged, at), path)

    def test_what_came_before_withdraws_nothing(self, referee: Referee) -> None:
        """Convict: a `clear` that was received before the orders (and refused then) withdrew nothing."""
        ann, bob = referee.begun(f"{SMALL}\nmiss: pass\npace: 2d\ngrace: 1d", SETUPS)
        for _ in range(4):  # more than a clock that was set back accounts for
            referee.now += timedelta(hours=7)
            referee.alive()
        referee.send(ann, ann.filled("orders", "Rv1"))
        receipt = ann.last
        referee.send(ann, "clear m1\n")
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(4 * DAY)
        assert referee.match().turn == 2
        with referee.database.transaction():
            Instructions(referee.database).give("end", 1, "x", "me", referee.now)
        referee.work()
        found = proof(referee, bob)
        (path,) = [path for path in found.papers if path.startswith("withdrawals/")]
        withdrawal = Withdrawal.read(found.papers[path].decode())
        before = replace(withdrawal, received="2026-03-01T12:30:00Z").text().encode()
        where = "traces/game-1-turn-1.txt"
        trace = Trace.read(found.papers[where].decode())
        told = replace(trace, named={path: sha256_hex(before)}).text().encode()
        at = index(found, "turn", 1, 1)
        forged = with_entry(
            with_papers(found, {path: before, where: told}), at, lambda b: b.update(trace=sha256_hex(told))
        )
        forged = signed_again(forged, at)
        ann.letters[:] = [receipt]
        assert Receipt.read(attachment(receipt, ".txt").decode()).received > "2026-03-01T12:30:00Z"
        assert "two stories" in standings(forged, ann).values()


class TestHonestButOdd:
    def test_a_withdrawal_for_a_turn_that_never_came(self, referee: Referee) -> None:
        """Agree: the rules ended the game in the turn before the one whose orders were withdrawn."""
        ann, bob = referee.begun(SMALL, SETUPS)
        for cell in ("Rv1", "Rv3"):
            referee.turn((ann, cell), (bob, ""))
        early(referee, ann, "turn 4", "Rv5")
        referee.send(ann, "clear m1 turn 4\n")
        assert "Withdrawn" in ann.text
        referee.turn((ann, "Bz5"), (bob, ""))
        assert accused(referee, ann, bob) == {}

    def test_a_withdrawn_setup_while_the_game_is_played(self, referee: Referee) -> None:
        """Be `open` (or agree): the trace of the setups is shown with the reveal; now it convicts at once."""
        ann, bob = referee.agreed(SMALL)
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        referee.send(ann, "clear m1\n")
        referee.send(ann, ann.filled("setup", SETUPS[0], 3))
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        assert referee.match().turn == 1
        assert set(accused(referee, ann, bob).values()) <= {"open"}

    def test_default_orders_withdrawn_before_the_seat_changed_hands(self, referee: Referee) -> None:
        """Agree: given up with the seat."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        carl = referee.registered("carl")
        early(referee, ann, "default", "Rv1")
        referee.send(ann, "clear m1 default\n")
        hand_over(referee, ann, carl, bob)
        referee.send(bob, "resign m1 match\n")
        assert accused(referee, bob, ann, carl) == {}

    def test_default_orders_before_the_seat_changed_hands(self, referee: Referee) -> None:
        """Agree: given up with the seat, whatever the newcomer's default orders are."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        carl = referee.registered("carl")
        early(referee, ann, "default", "Rv5", rev=3)
        hand_over(referee, ann, carl, bob)
        early(referee, carl, "default", "Rv1", rev=1)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        assert referee.match().turn == 2
        referee.send(bob, "resign m1 match\n")
        assert accused(referee, bob, ann, carl) == {}

    def test_who_left_and_came_back(self, referee: Referee) -> None:
        """Agree: what Ann had sent was given up with the seat, although she has it again."""
        ann, bob = referee.begun(SMALL, SETUPS)
        carl = referee.registered("carl")
        referee.send(ann, ann.filled("orders", "Rv5"))
        hand_over(referee, ann, carl, bob)
        hand_over(referee, carl, ann, bob)
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(bob, "resign m1 match\n")
        assert accused(referee, bob, ann, carl) == {}

    def test_a_match_abandoned_because_no_letter_arrived(self, referee: Referee) -> None:
        """Agree: Bob's orders stood, and the match was ended because letters did not reach him."""
        ann, bob = referee.begun(f"{SMALL}\nunreachable: stands", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        for _ in range(11):
            bounced(referee, bob)
            bounced(referee, bob)  # and so does the letter that says so
            referee.wait(DAY)
        referee.send(ann, "claim m1\n")
        assert sentences.YOUR_CLAIM_IS_GRANTED in ann.text
        assert accused(referee, ann, bob) == {}

    def test_default_orders_that_came_while_the_time_ran_out(self, referee: Referee) -> None:
        """Not convict: they came after the grace, a minute before the server noted the miss."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        form = ann.filled("orders", "Rv3", 2).replace("turn 1", "default", 1)
        referee.send(bob, bob.filled("orders", "final\n"))
        patience = referee.match().clocks[1].grace_ends
        assert patience is not None
        referee.wait(patience - referee.now - timedelta(seconds=1))
        assert not referee.match().missed
        referee.now += timedelta(minutes=1)
        referee.alive()
        raw = referee.raw(ann, referee.signed(ann, form))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now)
        referee.now += timedelta(minutes=1)
        referee.alive()
        referee.running.tick(referee.now)
        referee.work()
        assert referee.match().turn == 2
        assert "Stored, revision 2" in body(ann.find("orders"))
        referee.send(bob, "resign m1 match\n")
        assert accused(referee, bob, ann) == {}

    def test_two_withdrawals_in_one_letter(self, referee: Referee) -> None:
        """Hold: one letter withdrew the orders of the turn and the default orders, each with rev 2."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        early(referee, ann, "default", "Rv1")
        turn, default = (sentence_of(referee, ann, f"clear m1{which}\n") for which in ("", " default"))
        referee.send(ann, turn + default)
        assert not referee.match().stored.get((1, 0), None) or not referee.match().stored[1, 0].standing
        assert not referee.match().orders[1].standing
        referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    @pytest.mark.parametrize("text", ["draw m1 offer", "annul m1 offer", "resign m1 match", "extend m1 3d"])
    def test_a_bare_sentence_above_the_whole_one(self, referee: Referee, text: str) -> None:
        """Hold: the bare sentence was not obeyed, the whole one beneath it was."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        whole = sentence_of(referee, ann, f"{text}\n")
        entries = referee.match().seq
        referee.send(ann, f"{text}\n\n{whole}", follow=False)
        assert referee.match().seq > entries
        if referee.match().phase != "closed":
            referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_a_used_up_revision_above_the_next(self, referee: Referee) -> None:
        """Hold: the first offer of the letter was refused as said before, the second counted."""
        ann, bob = referee.begun(SMALL, SETUPS)
        first = sentence_of(referee, ann, "draw m1 offer\n")
        referee.send(ann, first)
        referee.send(bob, "draw m1 decline\n")
        entries = referee.match().seq
        referee.send(ann, first + first.replace("rev 1", "rev 2"), follow=False)
        assert referee.match().seq == entries + 1
        referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_two_gifts_in_one_letter(self, referee: Referee) -> None:
        """Hold: both gifts, rev 1 and rev 2, were given; or the desk refuses the second."""
        ann, bob = referee.begun(SMALL, SETUPS)
        first = sentence_of(referee, ann, "extend m1 3d\n")
        referee.send(ann, first + first.replace("rev 1", "rev 2"), follow=False)
        referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_a_clock_that_was_set_back(self, referee: Referee) -> None:
        """Hold: between the receipt of a letter and its effect the server's clock was put right."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now + timedelta(minutes=1))
        referee.now -= timedelta(seconds=5)
        referee.work()
        assert referee.match().turn == 2
        referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_what_was_replaced_in_a_game_that_is_played(self, referee: Referee) -> None:
        """Not be `open`: the player's own bundle holds the receipt of the higher revision that was played."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv5"))
        referee.send(ann, ann.filled("orders", "Rv1", rev=2))
        referee.send(bob, bob.filled("orders", "final\n"))
        assert referee.match().turn == 2
        found = proof(referee, ann)
        assert "receipts/game-1-turn-1-seat-1.txt" in found.papers
        assert {told: one for told, one in standings(found, ann).items() if one in BAD} == {}

    def test_one_setup_with_two_revisions_in_one_letter(self, referee: Referee) -> None:
        """Hold: the same setup twice in one letter, the second time with the next revision."""
        ann, bob = referee.agreed(SMALL)
        first, second = (ann.filled("setup", SETUPS[0], rev) for rev in (1, 2))
        referee.send(ann, first + second)
        assert referee.match().setups[1].rev == 2
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_a_bare_claim_above_the_whole_one(self, referee: Referee) -> None:
        """Hold: the bare claim was not obeyed, the whole one beneath it was."""
        ann, bob = referee.begun(f"{SMALL}\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        referee.wait(9 * DAY)
        whole = sentence_of(referee, ann, "claim m1\n")
        referee.send(ann, f"claim m1\n\n{whole}", follow=False)
        assert referee.match().phase == "closed"
        holds(proof(referee, bob))
