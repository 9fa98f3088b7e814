"""The kill matrix of the player's side: it is stopped dead at each point, and no order is lost or doubled.

Whoever starts it again only says the same as before, as a person does, or a program that plays.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Referee, new
from in_a_box.table import ANN, BOB, SMALL, Side
from machines.deaths import Death, Killed

from pbem.player.correspondence import POINTS
from pbem.player.proving import prove

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CELLS = ("Rv1", "Rv3", "Bz5")


def one_life(ann: Side) -> None:
    """What a run of `pbem play` does: fetch, send what lies ready, then what is due."""
    now = ann.referee.now
    ann.receive()
    ann.flush()
    if not ann.memory.fact("account"):
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


def play(folder: Path, death: Death) -> Side:
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
        if ann.memory.fact("account"):
            bob_does("new", lambda: referee.send(bob, new(bob, "spaceships", "ann", options=SMALL)))
        if standings and standings[0].phase == "setup":
            bob_does("setup", lambda: referee.send(bob, bob.filled("setup", BOB)))
        if standings and standings[0].phase == "playing":
            bob_does(standings[0].turn, lambda: referee.turn((bob, "")))
        if standings and standings[0].phase == "closed" and ann.memory.bundle("m1"):
            break
    referee.close()
    return ann


def check(ann: Side) -> None:
    """The match went as it would have gone, and each form left with one content, however often it left."""
    proof = prove(ann.memory, "m1")
    assert proof is not None
    assert proof.holds
    contents = defaultdict(set)
    for sent in ann.memory.in_state("ready", "sent", "done", "refused", "asked", "bounced"):
        assert sent.state in {"sent", "done"} or (sent.command, sent.state) == ("register", "asked"), sent
        contents[sent.command, sent.place, sent.rev].add(sent.raw)
    assert all(len(raws) == 1 for raws in contents.values())
    assert set(ann.sent) == {raw for raws in contents.values() for raw in raws}
    (standing,) = ann.letters.matches.standings
    assert (standing.phase, standing.ended[0].turns) == ("closed", 3)
    orders = [sent for sent in ann.memory.in_state("done", "sent") if sent.command == "orders"]
    assert [(sent.place, sent.rev) for sent in orders] == [(f"game 1 turn {turn}", 1) for turn in (1, 2, 3)]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("number", [1, 4])
def test_one_death(tmp_path: Path, point: str, number: int) -> None:
    death = Death(point, number)
    ann = play(tmp_path, death)
    try:
        assert death.deaths == {point: 1}
        check(ann)
    finally:
        ann.close()


@pytest.mark.long
@pytest.mark.parametrize("number", range(3, 14))
def test_many_deaths(tmp_path: Path, number: int) -> None:
    death = Death(None, number)
    ann = play(tmp_path, death)
    try:
        assert death.deaths
        check(ann)
    finally:
        ann.close()
