"""A server that says in a signed answer that a letter was done, and then plays as if it had not come."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import Store, against, holds, proof
from desk.test_tournaments import Club
from in_a_box.inquiries import sentence_of
from in_a_box.referee import form_in, new
from in_a_box.sealed_seats import agreed

from pbem.proof.kept_letters import kept
from pbem.proof.tournament_letters import compared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import EmailMessage

    from in_a_box.referee import Referee

    from pbem.proof.bundle import Bundle
    from pbem.proof.tournament_proof import TournamentCheck

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
DAY = timedelta(days=1)


def answers(found: Bundle, letters: Sequence[EmailMessage]) -> list[str]:
    """What the answers in kept letters say against a bundle that holds."""
    holds(found)
    bench = against(found)
    findings = [one for letter in letters for one in bench.judge(kept("", letter.as_bytes())).findings]
    return [one.found for one in findings if one.standing == "two stories" and one.what == "answer"]


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
        liar = store.again()
        liar.now += DAY
        liar.send(ann, "resign m1 match\n")
        assert answers(proof(liar, ann), [told])

    @pytest.mark.parametrize("what", ["step", "reveal"])
    def test_a_step_of_a_sealed_match_that_was_done_has_its_entry(self, referee: Referee, what: str) -> None:
        """Or its player loses by the clock, or because nothing was revealed."""
        seats = agreed(referee, "ann", "bob", options="fleet: cost:3\npace: 2d\n")
        ann, bob = seats
        while referee.match().phase == "setup" or what not in {one.split()[0] for one in self.owed(referee, 2)}:
            assert ann.write(referee) or bob.write(referee)
        store = Store(referee)
        assert bob.write(referee)
        told = bob.box.last
        assert not answers(proof(referee, bob.box), [told])
        liar = store.again()
        liar.wait(9 * DAY)
        for _ in range(4):
            if liar.match().owes(1):  # she knows of the step, too
                ann.write(liar)
            liar.wait(9 * DAY)
        assert answers(proof(liar, ann.box), [told])

    def test_orders_that_were_done_have_a_receipt(self, referee: Referee) -> None:
        """A server that sent none could drop them, and nothing would be left of them but its word."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(bob, bob.filled("orders", "final"))
        told = bob.last
        referee.send(ann, "resign m1 match\n")
        bench = against(proof(referee, ann))

        def standings() -> set[str]:
            return {one.standing for one in bench.judge(kept("", told.as_bytes())).findings}

        assert standings() == {"agrees"}
        told.set_payload([part for part in told.iter_parts() if not part.is_attachment()])
        assert standings() == {"open"}

    def owed(self, referee: Referee, seat: int) -> tuple[str, ...]:
        owed = referee.match().owes(seat)
        return tuple("reveal" if one == "reveal" else "step" for one in owed)


def lies(club: Club, letters: Sequence[EmailMessage]) -> list[str]:
    """What kept letters say against a tournament that holds."""
    club.proof()
    content = club.referee.desk.tournaments.archive.bundle(1, letters=True)
    found: list[TournamentCheck] = list(compared(content, (kept("", one.as_bytes()) for one in letters), ()))
    return [check.found for check in found if check.standing == "FAIL"]


class TestTournaments:
    @pytest.fixture
    def club(self, referee: Referee) -> Club:
        return Club(referee, "ann", "bob", "carl", "dora")

    def lying(self, club: Club, store: Store) -> Club:
        """The same club with a server that forgot what came since; nobody keeps its letters."""
        other = Club(store.again())
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

    @pytest.mark.parametrize("what", ["enter", "leave", "rule", "challenge"])
    def test_what_was_done_is_not_left_out(self, club: Club, what: str) -> None:
        club.announce("ann", "format: ladder" if what == "challenge" else "")
        club.enter("ann", "bob", "carl")
        text = {
            "enter": f"enter t1 {club.t.rules}",
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
        other = self.lying(club, store)
        if what == "challenge":  # a ladder goes on, and has as many entries as the letter told of
            other.say("carl", "challenge t1 ann")
        else:
            other.start()
        assert any(f"`{what}` was done" in lie for lie in lies(other, told)), told[0].as_string()

    def test_the_secret_of_the_lot_is_chosen_once(self, club: Club) -> None:
        """Who entered is known, and the server announces the tournament again, with a lot that suits it."""
        store = Store(club.referee)
        club.announce("ann")
        club.enter("bob")
        told = self.kept_by(club, "bob")
        other = self.lying(club, store)
        other.announce("ann")
        assert other.t.secret != club.t.secret
        other.enter("bob")
        assert any("different entries" in lie for lie in lies(other, told))
