"""A server that says in a signed answer that a letter was done, and then plays as if it had not come."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from textwrap import wrap
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import Store, against, both, holds, proof, saying, with_entry
from in_a_box.bulletins import FIELD, bulletin
from in_a_box.inquiries import early, sentence_of
from in_a_box.mailing_club import Club
from in_a_box.referee import SERVER, body, form_in, new
from in_a_box.sealed_seats import agreed
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, key
from world.mutations import signed_again

from pbem.identity import parse_key, ssh
from pbem.match.transcript import announcement, canonical, sha256_hex
from pbem.proof.kept_letters import kept
from pbem.proof.tournament_proof import compared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import EmailMessage

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from in_a_box.referee import Mailbox, Referee

    from pbem.proof.bundle import Bundle
    from pbem.proof.tournament_proof import TournamentCheck

DAY = timedelta(days=1)


def answers(found: Bundle, letters: Sequence[EmailMessage]) -> list[str]:
    """The findings in the answers of kept letters that contradict a bundle that holds."""
    holds(found)
    bench = against(found)
    findings = [one for letter in letters for one in bench.judge(kept("", letter.as_bytes())).findings]
    return [one.found for one in findings if one.standing == "two stories" and one.what == "answer"]


def outcomes(letter: EmailMessage) -> list[str]:
    """The outcomes that a letter tells of the commands that it answers."""
    return [item["outcome"] for item in bulletin(letter)["items"] if item["about"] == "command"]


def also_naming(told: EmailMessage, key: Ed25519PrivateKey, **names: str) -> EmailMessage:
    """The letter with other names in what it tells of each command, signed as the server signs it."""
    document = bulletin(told)
    for item in document["items"]:
        if item["about"] == "command":
            item.update(names)
    del document["signature"]
    said = announcement(SERVER, sha256_hex(canonical(document)))
    packed = base64.b64encode(canonical(document | {"signature": key.sign(said).hex()})).decode()
    told.replace_header(FIELD, " ".join(wrap(packed, 70)))
    return told


def forgetful(store: Store, loser: Mailbox) -> Referee:
    """The server as it was, a day later: it has forgotten all letters since, and the match is over."""
    liar = store.again()
    liar.now += DAY
    liar.send(loser, "resign m1 match\n")
    return liar


class TestMatches:
    @pytest.mark.parametrize("text", ["decline m1", "withdraw m1"])
    def test_what_was_declined_is_never_played(self, referee: Referee, text: str) -> None:
        ann, bob = referee.registered("ann"), referee.registered("bob")
        referee.send(ann, new(ann, "spaceships", "bob", options=SMALL))
        accept = form_in(bob.text, "accept", lines=1)
        store = Store(referee)
        by = bob if text.startswith("decline") else ann
        referee.send(by, f"{text}\n")
        told = by.last
        liar = store.again()
        liar.send(bob, accept)
        assert answers(proof(liar, ann), [told])
        liar.send(bob, "resign m1 match\n")
        assert answers(proof(liar, ann), [told])

    @pytest.mark.parametrize("text", ["draw m1 offer", "annul m1 offer", "extend m1 2d", "resign m1 match"])
    def test_a_sentence_that_was_done_has_its_entry(self, referee: Referee, text: str) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        whole = sentence_of(referee, bob, f"{text}\n")
        store = Store(referee)
        referee.send(bob, whole)
        told = bob.last
        assert not answers(proof(referee, bob), [told])
        liar = forgetful(store, ann)
        assert answers(proof(liar, ann), [told])
        assert answers(proof(liar, ann), [also_naming(told, liar.signing_key, tournament="t9")])

    @pytest.mark.parametrize("text", ["draw m1 offer", "extend m1 2d", "resign m1 match"])
    def test_words_that_were_obeyed_before_have_the_entry_of_another_letter(
        self, referee: Referee, text: str
    ) -> None:
        """Or a server could say so of the first letter, which then never had its effect."""
        ann, bob = referee.begun(SMALL, SETUPS)
        whole = sentence_of(referee, bob, f"{text}\n")
        store = Store(referee)
        for _ in range(2):
            referee.send(bob, whole)
        told = bob.last
        assert outcomes(told) == ["again"]
        assert not answers(proof(referee, bob), [told])
        liar = forgetful(store, ann)
        assert answers(proof(liar, ann), [told])

    def test_a_refused_command_is_obeyed_before_with_another_one_of_its_letter(self, referee: Referee) -> None:
        """The answer says `again` to both, and is no lie."""
        ann, bob = referee.begun(SMALL, SETUPS)
        offer = sentence_of(referee, bob, "draw m1 offer\n")
        both = offer + offer.replace("draw m1 offer", "claim m1", 1)
        for _ in range(2):
            referee.send(bob, both)
        told = bob.last
        assert outcomes(told) == ["again", "again"]
        referee.send(ann, "resign m1 match\n")
        assert not answers(proof(referee, ann), [told])

    @pytest.mark.parametrize(("who", "text"), [("bob", "substitute"), ("carl", "substitute"), ("carl", "none")])
    def test_so_has_what_is_said_of_a_seat(self, referee: Referee, who: str, text: str) -> None:
        """Whoever names a substitute, and the substitute who takes the seat; who declines it enters nothing."""
        ann, bob = referee.begun(SMALL, SETUPS)
        carl = referee.registered("carl")
        word = sentence_of(referee, bob, "substitute m1 carl for bob\n")
        if who == "carl":
            for one in (bob, ann):
                referee.send(one, "substitute m1 carl for bob\n")
            word = "substitute m1 none for bob\n" if text == "none" else carl.form("substitute")
        store, by = Store(referee), carl if who == "carl" else bob
        referee.send(by, word)
        told = by.last
        assert not answers(proof(referee, ann), [told])
        liar = forgetful(store, ann)
        assert bool(answers(proof(liar, ann), [told])) == (text != "none")

    @pytest.mark.parametrize("then", ["substituted", "orders that came late"])
    def test_default_orders_are_played_as_soon_as_a_turn_is_missed(self, referee: Referee, then: str) -> None:
        """A server that forgot them lets the opponent give the seat to somebody else, or waits for other orders."""
        ann, bob = referee.begun(f"{SMALL}\nmiss: default", SETUPS)
        carl = referee.registered("carl")
        store = Store(referee)
        early(referee, bob, "default", "")
        told = bob.last
        liar = store.again()
        liar.now += DAY
        liar.turn((ann, "Rv1"))
        liar.wait(11 * DAY)
        if then == "substituted":
            liar.send(ann, "substitute m1 carl for bob\n")
            liar.send(carl, carl.form("substitute"))
            liar.turn((carl, ""))
        else:
            liar.turn((bob, ""))
        liar.send(ann, "resign m1 match\n")
        found = against(proof(liar, ann)).judge(kept("", told.as_bytes()))
        assert ("two stories", "receipt of default orders of game 1, rev 1") in {
            (one.standing, one.what) for one in found.findings
        }

    @pytest.mark.parametrize("change", ["added", "revoked", "replaced"])
    def test_a_change_of_keys_was_told_to_the_opponent(self, referee: Referee, change: str) -> None:
        """The answer names no match, but the opponent's letter shows the head of the entry."""
        ann, bob = referee.begun(SMALL, SETUPS)
        code = body(ann.letters[1]).split("lose your keys:\n\n")[1].split()[0]
        new = key("ann")
        asking = {"added": f"key add\n{ssh.public(new)}\n", "replaced": f"recover {code}\n{ssh.public(new)}\n"}
        if change != "revoked":
            store = Store(referee)
        referee.send(ann, asking.get(change, asking["added"]), sign=change != "replaced")
        referee.send(ann, form_in(ann.text, "confirm"), key=new)
        if change == "revoked":
            store = Store(referee)
            referee.send(ann, f"key revoke {parse_key(ssh.public(ann.key)).fingerprint}\n", key=new)
        told = bob.last
        liar = forgetful(store, ann)
        found = against(proof(liar, bob)).judge(kept("", told.as_bytes()))
        assert found.standing == "two stories", found

    @pytest.mark.parametrize("restored", [False, True])
    @pytest.mark.parametrize("what", ["step", "reveal"])
    def test_a_step_of_a_sealed_match_that_was_done_has_its_entry(
        self, referee: Referee, what: str, *, restored: bool
    ) -> None:
        """Or its player loses by the clock, or because nothing was revealed."""
        seats = agreed(referee, "ann", "bob", options="fleet: cost:3\npace: 2d\n")
        ann, bob = seats
        while referee.match().phase == "setup" or what not in {one.split()[0] for one in self.owed(referee, 2)}:
            assert ann.write(referee) or bob.write(referee)
        store = Store(referee)
        assert bob.write(referee)
        told = bob.box.last
        assert not answers(proof(referee, bob.box), [told])
        liar = store.again(restored=restored)
        liar.wait(9 * DAY)
        for _ in range(4):
            if liar.match().owes(1):  # she knows of the step, too
                ann.write(liar)
            liar.wait(9 * DAY)
        assert answers(proof(liar, ann.box), [told])

    @pytest.mark.parametrize("moved", [timedelta(seconds=1), timedelta(days=1)])
    def test_what_was_done_was_received_when_the_answer_said(self, referee: Referee, moved: timedelta) -> None:
        """Or a server could obey a sentence after a deadline that had come before it."""
        ann, bob = referee.begun(SMALL, SETUPS)
        whole = sentence_of(referee, bob, "extend m1 2d\n")
        raw = referee.raw(bob, whole + ssh.sign(bob.key, whole.encode(), f"pbem@{SERVER}"))
        store = Store(referee)
        referee.deliver(raw, bob.address)
        told = bob.last
        liar = store.again()
        liar.now += moved
        liar.deliver(raw, bob.address)
        liar.send(ann, "resign m1 match\n")
        assert answers(proof(liar, ann), [told])

    def test_a_sentence_came_no_earlier_than_its_answer_says(self, referee: Referee) -> None:
        """The bundle alone does not tell: what a letter cites, a clock that was set back later may date."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(bob, "draw m1 offer\n")
        told = bob.last
        referee.send(ann, "draw m1 accept\n")
        found = proof(referee, ann)
        at = next(number for number, entry in enumerate(found.entries) if entry.type == "draw")
        came = datetime.fromisoformat(found.entries[at].body["received"])
        earlier = f"{came - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
        assert answers(found, [told]) == []
        lie = signed_again(with_entry(found, at, saying(received=earlier)))
        assert both(lie)
        assert answers(lie, [told])

    @pytest.mark.parametrize("outcome", ["done", "again"])
    def test_orders_that_were_done_have_a_receipt(self, referee: Referee, outcome: str) -> None:
        """A server that sent none could drop them, and nothing would be left of them but its word."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(bob, bob.filled("orders", "final"))
        told = bob.last
        referee.send(ann, "resign m1 match\n")
        bench = against(proof(referee, ann))

        def standings() -> set[tuple[str, str]]:
            shown = kept("", told.as_bytes())
            shown = replace(shown, answered=tuple(replace(one, outcome=outcome) for one in shown.answered))
            return {(one.standing, one.what) for one in bench.judge(shown).findings if one.standing != "agrees"}

        assert standings() == set()
        told.set_payload([part for part in told.iter_parts() if not part.is_attachment()])
        assert ("open", "answer") in standings()

    @pytest.mark.parametrize("signed", ["the same", "others"])
    def test_a_copy_of_orders_has_the_receipt_of_its_words(self, referee: Referee, signed: str) -> None:
        """Whoever reads them on their way may send them on: that leaves nothing open, but other orders do."""
        ann, bob = referee.begun(SMALL, SETUPS)
        orders = referee.signed(bob, bob.filled("orders", "final"))
        for _ in range(2):
            referee.deliver(referee.raw(bob, orders), bob.address)
        told = bob.last
        referee.send(ann, ann.filled("orders", "final"))
        referee.send(ann, "resign m1 match\n")
        shown = kept("", told.as_bytes())
        if signed == "others":
            shown = replace(shown, answered=tuple(replace(one, words="0" * 64) for one in shown.answered))
        found = against(proof(referee, ann)).judge(shown)
        assert found.standing == ("agrees" if signed == "the same" else "open"), found.findings

    @pytest.mark.parametrize("signed", ["the same", "others"])
    def test_a_withdrawal_that_was_obeyed_before_is_in_a_trace(self, referee: Referee, signed: str) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(bob, bob.filled("orders", "final"))
        whole = sentence_of(referee, bob, "clear m1\n")
        for _ in range(2):
            referee.send(bob, whole)
        told = bob.last
        assert outcomes(told) == ["again"]
        for one in (bob, ann):
            referee.send(one, one.filled("orders", "final", rev=3))
        referee.send(ann, "resign m1 match\n")
        shown = kept("", told.as_bytes())
        if signed == "others":
            shown = replace(shown, answered=tuple(replace(one, words="0" * 64) for one in shown.answered))
        found = against(proof(referee, ann)).judge(shown)
        assert found.standing == ("silent" if signed == "the same" else "open"), found.findings

    def owed(self, referee: Referee, seat: int) -> tuple[str, ...]:
        owed = referee.match().owes(seat)
        return tuple("reveal" if one == "reveal" else "step" for one in owed)


def lies(club: Club, letters: Sequence[EmailMessage]) -> list[str]:
    """The findings in kept letters that contradict a tournament that holds."""
    club.proof()
    content = club.referee.desk.director.archive.bundle(1, letters=True)
    found: list[TournamentCheck] = list(compared(content, (kept("", one.as_bytes()) for one in letters), ()))
    assert {check.what for check in found} <= {"letter", "log"}
    return [check.found for check in found if check.standing == "FAIL"]


class TestTournaments:
    @pytest.fixture
    def club(self, referee: Referee) -> Club:
        return Club(referee, "ann", "bob", "carl", "dora")

    def lying(self, club: Club, store: Store, *, restored: bool = False) -> Club:
        """The same club with a server that forgot what came since; nobody keeps its letters."""
        other = Club(store.again(restored=restored))
        other.people = club.people
        return other

    def kept_by(self, club: Club, name: str) -> list[EmailMessage]:
        return list(club.people[name].letters)

    def test_letters_of_an_honest_server_agree(self, club: Club) -> None:
        club.announce("ann")
        club.enter("ann", "bob", "carl", "dora")
        club.say("dora", "leave t1")
        club.start()
        for pairing in club.awaited:
            club.win(pairing, pairing.players[0])
        for name in club.people:
            assert not lies(club, self.kept_by(club, name))

    @pytest.mark.parametrize("restored", [False, True])
    @pytest.mark.parametrize("what", ["enter", "leave", "rule", "challenge"])
    def test_what_was_done_is_not_left_out(self, club: Club, what: str, *, restored: bool) -> None:
        club.announce("ann", "format: ladder" if what == "challenge" else "")
        club.enter("ann", "bob", "carl")
        text = {
            "enter": f"enter t1 {club.t.rules_hash}",
            "leave": "leave t1",
            "challenge": "challenge t1 carl",
            "rule": "rule t1 close\nreason: so it is\nend",
        }[what]
        if what != "enter":
            club.enter("dora")
        name = "ann" if what == "rule" else "dora"
        before, store = len(club.people[name].letters), Store(club.referee)
        assert "Refused" not in club.say(name, text)
        told = self.kept_by(club, name)[before:]
        assert not lies(club, told)
        other = self.lying(club, store, restored=restored)
        if what == "challenge":  # a ladder goes on, and has as many entries as the letter told of
            other.say("carl", "challenge t1 ann")
        else:
            other.start()
        assert any(f"`{what}` was done" in lie for lie in lies(other, told)), told[0].as_string()
        beside = [also_naming(one, other.referee.signing_key, match="m9") for one in told]
        assert any(f"`{what}` was done" in lie for lie in lies(other, beside))

    def test_the_secret_of_the_lot_is_chosen_once(self, club: Club) -> None:
        """The server knows who entered, and announces the tournament again with a lot that suits it."""
        store = Store(club.referee)
        club.announce("ann")
        club.enter("bob")
        told = self.kept_by(club, "bob")
        other = self.lying(club, store)
        other.announce("ann")
        assert other.t.secret_hash != club.t.secret_hash
        other.enter("bob")
        assert any("different entries" in lie for lie in lies(other, told))
