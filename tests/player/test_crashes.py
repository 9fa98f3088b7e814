"""The kill matrix of the player's side: it is stopped dead at each point, and no order is lost or doubled.

Whoever starts it again only says the same as before, as a person does, or a program that plays. An agent of a sealed
match loses no secret, either, and says no step twice.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import RAW, Owner, propose
from in_a_box.referee import Referee, new
from in_a_box.table import ANN, BOB, SMALL, Side
from machines.deaths import Death, Killed

from pbem.player import correspondence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.player.memory import SentForm
    from pbem.proof.prove import Proof

CELLS = ("Rv1", "Rv3", "Bz5")
SPACESHIPS = "spaceships"


def one_life(ann: Side) -> None:
    """Run `pbem play` once: fetch letters, send those that lie ready, then do what is due."""
    now = ann.referee.now
    ann.receive()
    ann.flush()
    if not ann.memory.account().name:
        ann.letters.registration.register(ann.key, ann.fingerprint, now)
        ann.letters.registration.confirm(now)
    for standing in ann.letters.matches.standings:
        if standing.phase == "proposed" and not standing.accepted:
            ann.letters.accept("m1", now)
        elif standing.asked and standing.phase == "setup":
            ann.letters.set_up("m1", ANN, now)
        elif standing.asked and standing.phase == "playing":
            ann.letters.order("m1", CELLS[standing.turn - 1], now, final=True)
    ann.flush()


def play_openly(folder: Path, death: Death) -> Side:
    """A whole match; bob, who is never interrupted, answers whatever he is asked."""
    referee = Referee(folder)
    bob = referee.registered("bob")
    ann = Side(referee, referee.person("ann"), folder / "ann" / "memory.sqlite", death)
    asked: set[object] = set()

    def bob_does(what: object, do: Callable[[], None]) -> None:
        if what not in asked:
            asked.add(what)
            do()

    for _ in range(120):
        try:
            one_life(ann)
        except Killed:
            ann.restart()
        standings = ann.letters.matches.standings
        if ann.memory.account().name:
            bob_does("new", lambda: referee.send(bob, new(bob, "spaceships", "ann", options=SMALL)))
        if standings and standings[0].phase == "setup":
            bob_does("setup", lambda: referee.send(bob, bob.filled("setup", BOB)))
        if standings and standings[0].phase == "playing":
            bob_does(standings[0].turn, lambda: referee.turn((bob, "")))
        if standings and standings[0].phase == "closed" and ann.memory.bundle("m1"):
            break
    referee.close()
    return ann


def written(ann: Side) -> tuple[Proof, list[SentForm]]:
    """The proof of the match, which holds, and all forms that ann ever made."""
    proof = ann.proof
    assert proof.holds, proof.checks[-1]
    return proof, list(ann.memory.in_state("ready", "sent", "done", "refused", "asked", "bounced"))


def check_openly(ann: Side) -> None:
    """The match went as it would have gone, and each form left with one content, however often it left."""
    contents = defaultdict(set)
    for sent in written(ann)[1]:
        assert sent.state in {"sent", "done"} or (sent.command, sent.state) == ("register", "asked"), sent
        contents[sent.command, sent.place, sent.rev].add(sent.raw)
    assert all(len(raws) == 1 for raws in contents.values())
    assert set(ann.sent) == {raw for raws in contents.values() for raw in raws}
    (standing,) = ann.letters.matches.standings
    assert (standing.phase, standing.ended[0].turns) == ("closed", 3)
    orders = [sent for sent in ann.memory.in_state("done", "sent") if sent.command == "orders"]
    assert [(sent.place, sent.rev) for sent in orders] == [(f"game 1 turn {turn}", 1) for turn in (1, 2, 3)]


def play_sealed(referee: Referee, folder: Path, death: Death, game: str = SPACESHIPS) -> Owner:
    """A whole match, of two agents, in which ann's dies; whoever starts her again only does the same as before."""
    ann = Owner(referee, referee.person("ann"), folder / "ann" / "memory.sqlite", death)
    bob = Owner(referee, referee.person("bob"), folder / "bob" / "memory.sqlite")
    bob.register()
    while not ann.memory.account().name:
        try:
            ann.register()
        except Killed:
            ann.restart()
    propose(referee, [ann, bob], game)
    for _ in range(800):
        try:
            moved = bool(ann.look())
        except Killed:
            ann.restart()
            moved = True
        if not (bool(bob.look()) | moved) and ann.letters.matches.standing("m1").phase == "closed":
            break
    bob.close()
    return ann


def check_sealed(ann: Owner, verdict: str = "honest; seat 2: honest") -> None:
    """The match went as it would have gone: each letter left with one content, and each step was said once."""
    assert ann.letters.matches.standing("m1").phase == "closed"
    assert not ann.accusations
    assert not ann.refusals
    proof, forms = written(ann)
    assert verdict in " ".join(check.found for check in proof.checks)
    contents = defaultdict(set)
    for sent in forms:
        contents[sent.command, sent.place].add(sent.raw)
    steps = {at: raws for at, raws in contents.items() if at[0] in {"seal", "step", "reveal"}}
    assert len(steps) > 4
    assert all(len(raws) == 1 for raws in steps.values())


@pytest.mark.parametrize("point", correspondence.POINTS)
@pytest.mark.parametrize("number", [1, 4])
def test_one_death(tmp_path: Path, point: str, number: int) -> None:
    death = Death(point, number)
    with closing(play_openly(tmp_path, death)) as ann:
        assert death.deaths == {point: 1}
        check_openly(ann)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", [4, *(pytest.param(number, marks=pytest.mark.long) for number in (3, 5))])
def test_secrets_on_the_disk_suffice(
    referee: Referee, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before the letter was made that opens one turn and commits to the next; no note comes back."""
    monkeypatch.setattr("pbem.player.secret_vault._NOTE", 0)
    death = Death("secrets kept", number)
    with closing(play_sealed(referee, tmp_path, death, "shoot-em-up")) as ann:
        assert death.deaths == {"secrets kept": 1}
        check_sealed(ann, "the record replays")  # there is nothing that could be hidden until the end


@pytest.mark.long
@pytest.mark.parametrize("number", range(3, 14))
def test_many_deaths(tmp_path: Path, number: int) -> None:
    death = Death(None, number)
    with closing(play_openly(tmp_path, death)) as ann:
        assert death.deaths
        check_openly(ann)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("game", [SPACESHIPS, "dueling-masters"])
@pytest.mark.parametrize("number", range(3, 14))
def test_many_deaths_of_an_agent(referee: Referee, tmp_path: Path, number: int, game: str) -> None:
    assert game in RAW
    death = Death(None, number)
    with closing(play_sealed(referee, tmp_path, death, game)) as ann:
        assert death.deaths
        check_sealed(ann)
