"""`--against` never accuses an honest server: each kind of match, all letters of all, against all bundles."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Mailbox, Referee, body, form_in, new, placed
from in_a_box.restores import begin_anew
from judges.honest import accused
from vectors.matches import GOOD, SETUPS, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = timedelta(days=1)


class Patient(Mailbox):
    """Somebody who looks for a form once the digest has come."""

    referee: Told

    def form(self, kind: str) -> str:
        self.referee.morning(self)
        return super().form(kind)


class Told(Referee):
    """A referee whose people read that language, want digests or not, and are watched by Olga."""

    def __init__(self, folder: Path, seed: str, language: str, *, digests: bool) -> None:
        self.chosen = {"language": language, **({"mail": "digest"} if digests else {})}
        self.watched = False
        super().__init__(folder, seed)

    def person(self, name: str) -> Mailbox:
        found = super().person(name)
        patient = Patient(found.name, found.address, found.key)
        patient.referee = self
        self.people[patient.address] = patient
        return patient

    def deliver(self, raw: bytes, sender: str, to: str = "pbem@play.example", network: str = "") -> None:
        super().deliver(raw, sender, to, network)
        if self.watched or not self.database.rows("SELECT match FROM entries WHERE match = 1"):
            return
        self.watched = True
        olga = self.registered("olga")
        with self.database.transaction():
            for row in self.database.rows("SELECT name FROM players"):
                for setting, value in self.chosen.items():
                    self.desk.players.choose(row["name"], setting, value)
        self.send(olga, "observe m1\n")

    def morning(self, person: Mailbox) -> None:
        """Until nothing waits for this reader."""
        while self.database.rows("SELECT id FROM held WHERE player = ?", (person.name,)):
            self.wait(DAY)


def troubled(referee: Referee) -> bytes:
    """All that happens to clocks: a pause, a backup, an outage, a vacation, late letters, a gift, a lost deadline."""
    ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 3", SETUPS)
    referee.send(bob, "vacation 2026-03-05 to 2026-03-08\n")
    referee.instruct("pause")
    referee.turn((ann, "Rv1"))
    referee.instruct("resume")
    begin_anew(referee, 4)
    referee.instruct("resume")
    referee.outage(timedelta(hours=5))
    referee.away = {bob.address}
    referee.turn((bob, ""))
    referee.wait(3 * DAY)
    referee.away.clear()
    referee.wait(DAY)
    referee.turn((ann, "Rv3"))
    referee.wait(20 * DAY)
    referee.send(ann, "extend m1 3d\n")
    referee.send(ann, "press m1\nWhere are you?\nend\n")
    referee.turn((bob, ""))
    referee.send(ann, "draw m1 offer\n")
    referee.send(bob, "draw m1 accept\n")
    referee.send(ann, ann.filled("setup", SETUPS[0]))
    referee.send(ann, "clear m1\n")
    referee.send(ann, "annul m1 offer\n")
    referee.send(bob, "annul m1 accept\n")
    return b""


def unreachable(referee: Referee) -> bytes:
    """No letter reaches Bob for long, so that Ann may leave; both had sent orders."""
    ann, bob = referee.begun(f"{SMALL}\nunreachable: stands", SETUPS)
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(bob, bob.filled("orders", ""))
    referee.away = {bob.address}
    referee.retry = timedelta(hours=6)
    referee.send(bob, "status m1\n", sign=False)
    referee.wait(2 * DAY)
    waiting = "SELECT id FROM outbox WHERE recipient = ? AND state = 'waiting'"
    for row in referee.database.rows(waiting, (bob.address,)):
        referee.database.execute("UPDATE outbox SET state = 'leased' WHERE id = ?", (row["id"],))
        referee.outbox.failed(row["id"], "550 no more", referee.now, None)
    referee.work()
    referee.wait(12 * DAY)
    referee.send(ann, "claim m1\n")
    return b""


def stopped(referee: Referee) -> bytes:
    """The operator ends a match while orders, orders in advance and default orders wait."""
    ann, bob = referee.begun(f"{SMALL}\nmiss: default", SETUPS)
    for place in ("turn 1", "turn 3", "default"):
        form = ann.filled("orders", "Rv1")
        referee.send(ann, form.replace("orders m1 turn 1", f"orders m1 {place}"))
    referee.send(bob, bob.filled("orders", ""))
    referee.instruct("end")
    return b""


def left_at_setup(referee: Referee) -> bytes:
    """Bob resigns while setups are asked for; Ann had sent two, and withdrawn them."""
    ann, bob = referee.agreed(SMALL)
    referee.send(ann, ann.filled("setup", SETUPS[0]))
    referee.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3", rev=2))
    referee.send(ann, "clear m1\n")
    referee.send(bob, bob.filled("setup", SETUPS[1]))
    referee.send(bob, "resign m1 match\n")
    return b""


def lost_at_setup(referee: Referee) -> bytes:
    """Bob never sets up, and the match is forfeited; Ann had set up in time."""
    ann, _ = referee.agreed(f"{SMALL}\nmiss: pass")
    referee.send(ann, ann.filled("setup", SETUPS[0]))
    referee.wait(30 * DAY)
    return b""


def nobody_answers(referee: Referee) -> bytes:
    """Both miss a turn, and both lose: the match is abandoned."""
    ann, bob = referee.begun(f"{SMALL}\nmiss: forfeit", SETUPS)
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.wait(30 * DAY)
    return b""


KINDS: dict[str, Callable[[Referee], bytes]] = {
    **GOOD,
    **{kind.__name__: kind for kind in (troubled, unreachable, stopped, left_at_setup)},
    **{kind.__name__: kind for kind in (lost_at_setup, nobody_answers)},
}
WAYS = [(language, digests) for language in ("en", "de") for digests in (False, True)]


def played(folder: Path, name: str, language: str, *, digests: bool) -> Told:
    """This kind of match, to where it goes, and then all asked for that can be."""
    referee = Told(folder, name, language, digests=digests)
    KINDS[name](referee)
    for person in list(referee.people.values()):
        referee.send(person, "status m1\nreport m1 all\ndiary m1\ntranscript m1\n", sign=False)
    referee.wait(2 * DAY)
    return referee


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_letter_accuses_an_honest_server(tmp_path: Path, name: str) -> None:
    """Each kind once, in one of the four ways in which letters come."""
    language, digests = WAYS[sorted(KINDS).index(name) % len(WAYS)]
    referee = played(tmp_path, name, language, digests=digests)
    assert accused(referee, everywhere=False) == []
    referee.close()


class Copied(Referee):
    """A referee to whom each letter comes three times in one second, in different envelopes."""

    copies = False

    def deliver(self, raw: bytes, sender: str, to: str = "pbem@play.example", network: str = "") -> None:
        if self.copies:
            super().deliver(raw, "eve@far.example", network="192.0.2.0")
        super().deliver(raw, sender, to, network)
        if self.copies:
            super().deliver(raw, "", "pbem+any@play.example", network)
        self.copies = bool(self.database.rows("SELECT match FROM entries"))


@pytest.mark.parametrize("name", ["mailbox", "one-letter", "troubled"])
def test_no_answer_to_a_copy_accuses_it(tmp_path: Path, name: str) -> None:
    """Answers name a letter by its octets and its second: what one obeys, no other may refuse."""
    referee = Copied(tmp_path, name)
    KINDS[name](referee)
    outcomes = {row["outcome"] for row in referee.database.rows("SELECT outcome FROM inbox")}
    assert "came twice" in outcomes
    assert accused(referee, everywhere=False) == []
    referee.close()


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_nor_in_whatever_way_they_come(tmp_path: Path, name: str, way: tuple[str, bool]) -> None:
    referee = played(tmp_path, name, way[0], digests=way[1])
    assert accused(referee) == []
    referee.close()


def test_a_digest_tells_of_games_that_began_in_two_matches(referee: Referee) -> None:
    """Ann reads both beginnings in one letter; each list of commitments is of its own match."""
    ann, bob = referee.agreed(SMALL)
    referee.send(ann, new(ann, "spaceships", "bob", options=f"{SMALL}\npace: 3d"))
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, "set mail digest\n")
    for match in (referee.match(2), referee.match(1)):
        for person, fleet in ((ann, SETUPS[0]), (bob, SETUPS[1])):
            place = f"{placed(person)}prev {match.prev}\nrev 1\n"
            referee.send(person, f"setup {match.id} game 1\n{place}{fleet}\nend\n")
    referee.wait(2 * DAY)
    assert body(ann.find("Your digest")).count("The commitments to them:") == 2
    assert accused(referee) == []


@pytest.mark.parametrize(
    "text",
    [
        f"All setups for game 1 of m1 are in. The commitments to them:\nann:\n{'a' * 64}\nbob:\n{'b' * 64}\n",
        f"  match     m1\n  game      Toy, rulings of edition 1\n  hash      {'c' * 64}\n",
    ],
    ids=("commitments", "terms"),
)
def test_a_message_that_comes_back_to_be_signed_is_not_its_word(referee: Referee, text: str) -> None:
    ann, _ = referee.begun(SMALL, SETUPS)
    referee.send(ann, f"press m1\nHello\n{text}end\n", follow=False)
    assert text in ann.text.partition("Sign these lines")[2]
    assert accused(referee) == []
