"""Orders in advance in sealed matches: they wait at their player's, and count once, as if they had been typed."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from datetime import timedelta
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import Owner, propose
from in_a_box.referee import Referee
from in_a_box.small_games import PIECES
from in_a_box.table import ANN, BOB
from machines.deaths import Death, Killed
from msgspec.structs import astuple

from pbem.failpoints import passing
from pbem.games import Refused
from pbem.player import correspondence, sealed_agent
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.play_facts import composed
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.failpoints import Failpoints

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:3"
SETUPS = {"spaceships": {"ann": ANN, "bob": BOB}, "dueling-masters": PIECES}
ANSWERS = {"spaceships": dict.fromkeys(range(1, 9), ""), "dueling-masters": {2: "Z1 G2-G3"}}
"""What Bob orders, by turn."""
PLAN = "if lost any then Rv2 else if Rv1 hit and sunk LG then next Rv1 Rv3 else Gx3"
"""It stands for Rv3 in turn 2."""
OVER = timedelta(days=8)
"""The pace, and a day."""


class Planner(Owner):
    """An owner who types some orders, and plans others in turn 1."""

    def __init__(self, referee: Referee, name: str, folder: Path, failpoint: Failpoints = passing) -> None:
        super().__init__(referee, referee.person(name), folder / name / "memory.sqlite", failpoint)
        self.typed: dict[int, str] = {}
        self.plans: dict[int, str] = {}
        self.asked: set[int] = set()

    def decide(self, match: str) -> None:
        now, standing = self.referee.now, self.letters.matches.standing(match)
        page = composed(self.agent, standing) or {}
        assert {"sealed", "options", "rules"} - page.keys() == {"sealed"}
        if standing.phase == "setup":
            self.agent.set_up(match, SETUPS[standing.rules][self.person.name], now)
            return
        turn = self.agent.shown(match).turn
        assert (page["turn"], page["asked"], page["view"]) == (turn, True, self.agent.shown(match).view)
        self.asked.add(turn)
        for later, text in self.plans.items():
            if turn == 1:
                self.agent.ahead.store(match, later, text)
        if turn in self.typed:
            self.agent.order(match, self.typed[turn], now)


def play(ann: Planner, bob: Planner) -> None:
    """Go on until nobody does anything any more; who is killed begins again."""
    for _ in range(600):
        before = len(ann.sent), len(bob.sent)
        try:
            moved = bool(ann.look())
        except Killed:
            ann.restart()
            moved = True
        if not (bool(bob.look()) | moved) and before == (len(ann.sent), len(bob.sent)):
            return
    raise AssertionError("it goes on for ever")


@pytest.fixture
def sit(referee: Referee, tmp_path: Path) -> Iterator[Callable[..., tuple[Planner, Planner]]]:
    """Ann, with what she types and plans, and Bob; they have played as far as that goes."""
    seated: list[Planner] = []

    def sit(
        typed: dict[int, str],
        plans: dict[int, str],
        death: Failpoints = passing,
        folder: str = "",
        game: str = "spaceships",
    ) -> tuple[Planner, Planner]:
        (tmp_path / folder / "desk").mkdir(parents=True)
        at = Referee(tmp_path / folder / "desk") if folder else referee
        ann = Planner(at, "ann", tmp_path / folder, death)
        bob = Planner(at, "bob", tmp_path / folder)
        ann.typed, ann.plans = typed, plans
        bob.typed = ANSWERS[game]
        for one in (ann, bob):
            while not one.memory.account().name:
                try:
                    one.register()
                except Killed:
                    one.restart()
        propose(at, [ann, bob], game)
        seated.extend((ann, bob))
        play(ann, bob)
        return ann, bob

    yield sit
    for one in seated:
        one.close()


def keep(ann: Planner, plans: dict[int, str]) -> None:
    """Keep orders in advance that nobody judges."""
    secrets, standing = ann.agent.vault.secrets("m1", 1), ann.letters.matches.standing("m1")
    assert secrets is not None
    ann.agent.vault.keep_plans("m1", 1, ann.agent.game(standing).commitment(secrets), plans)


def orders_of(ann: Planner) -> list[str]:
    """Ann's proved orders, by turn."""
    proof = ann.proof
    assert proof.holds, proof.checks[-1]
    assert not ann.accusations
    assert not ann.refusals
    bundle = ann.memory.bundle("m1")
    assert bundle is not None
    with zipfile.ZipFile(BytesIO(bundle)) as papers:
        (reveal,) = [
            text
            for name in papers.namelist()
            if "ann" in (text := papers.read(name).decode(errors="replace")) and "\nreveal m1 game 1" in f"\n{text}"
        ]
    return [" ".join(part.split("done")[0].split()[1:]) for part in reveal.split("\norders ")[1:]]


def test_a_plan_is_followed_as_if_it_had_been_typed(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    """No letter differs, not even in its length: nothing of the plan leaves the machine."""
    planned, _ = sit({1: "Rv1", 3: "Bz5"}, {2: PLAN})
    assert planned.asked == {1, 3}
    assert [astuple(one) for one in planned.agent.followed] == [("m1", 2, 2, "Rv3")]
    assert orders_of(planned) == ["Rv1", "Rv3", "Bz5"]
    typed, _ = sit({1: "Rv1", 2: "Rv3", 3: "Bz5"}, {}, folder="typed")
    assert planned.sent == typed.sent


@pytest.mark.parametrize(
    ("plan", "branch"), [("if left G2 then Z1 D2-D3", 1), ("if met G2 then W A10-B8 else Z1 D2-D3", 2)]
)
def test_a_plan_asks_about_both_turns_since_the_own_one(
    sit: Callable[..., tuple[Planner, Planner]], plan: str, branch: int
) -> None:
    ann, _ = sit({1: "Z1 D1-D2"}, {3: plan}, game="dueling-masters")
    assert [astuple(one) for one in ann.agent.followed] == [("m1", 3, branch, "Z1 D2-D3")]


def test_a_plan_that_does_not_fit_is_not_followed_and_its_player_is_asked(
    sit: Callable[..., tuple[Planner, Planner]],
) -> None:
    plan = "if Rv1 hit then Rv3 Rv3 Rv2 Rv1 Gx3 else Rv2"
    ann, bob = sit({1: "Rv1"}, {2: plan})
    assert ann.agent.asks("m1")
    assert not ann.agent.followed
    unused = ann.agent.ahead.plans("m1", ann.referee.now).unused
    assert unused is not None
    assert unused.text == plan
    assert unused.faults[0].message == "branch 1 counts, and no other; its orders are not legal"
    ann.typed = {2: "Rv3", 3: "Bz5"}
    play(ann, bob)
    assert ann.agent.ahead.plans("m1", ann.referee.now).unused is None
    assert orders_of(ann) == ["Rv1", "Rv3", "Bz5"]


def test_default_orders_count_once_the_deadline_is_over(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    ann, bob = sit({1: "Rv1"}, {DEFAULT: "next Rv3 Bz5"})
    assert ann.agent.asks("m1")
    for _ in range(2):
        ann.referee.wait(OVER)
        play(ann, bob)
    assert orders_of(ann) == ["Rv1", "Rv3", "Bz5"]


def test_what_waits_can_be_replaced_and_taken_back(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    ann, bob = sit({}, {})
    for text in ("Gx3", "Rv3"):
        ann.agent.ahead.store("m1", 2, text)
    ann.agent.ahead.store("m1", 3, "Bz5")
    ann.restart()
    assert ann.agent.ahead.plans("m1", ann.referee.now).waiting == {2: "Rv3", 3: "Bz5"}
    ann.agent.ahead.forget("m1", 3)
    with pytest.raises(Impossible, match="Nothing waits in m1 "):
        ann.agent.ahead.forget("m1", 3)
    with pytest.raises(Impossible, match="too late to order turn 1 of m1 "):
        ann.agent.ahead.store("m1", 1, "Rv1")
    with pytest.raises(Refused):
        ann.agent.ahead.store("m1", 2, "if Rv1 hot then Rv3")
    with pytest.raises(Refused):
        ann.agent.order("m1", PLAN, ann.referee.now)
    ann.typed = {1: "Rv1", 3: "Gx3"}
    play(ann, bob)
    assert 2 not in ann.asked


def test_a_plan_for_a_turn_that_was_ordered_counts_no_more(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    ann, _ = sit({1: "Rv1", 2: "Rv3"}, {3: "Gx3"})
    assert 2 in ann.asked
    assert 3 not in ann.asked
    keep(ann, {2: "Gx3", 3: "Gx3"})
    assert 2 not in ann.agent.ahead.plans("m1", ann.referee.now).waiting
    with pytest.raises(Impossible, match="Nothing waits in m1 "):
        ann.agent.ahead.forget("m1", 2)


def test_a_plan_can_be_taken_back_while_its_match_is_stopped(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    """Its turn has come, and only its player's decision about the server is waited for: it must not go first."""
    ann, bob = sit({}, {})
    ann.agent.held.accuse("m1", Contradiction("no"), ann.referee.now)
    keep(ann, {1: "Gx3", 2: "Rv3"})
    ann.agent.ahead.store("m1", 3, "Bz5")
    assert ann.agent.ahead.plans("m1", ann.referee.now).waiting == {1: "Gx3", 2: "Rv3", 3: "Bz5"}
    ann.agent.ahead.forget("m1", 1)
    ann.agent.take_back("m1", ann.referee.now)
    ann.typed = {1: "Rv1"}
    play(ann, bob)
    assert orders_of(ann) == ["Rv1", "Rv3", "Bz5"]


def test_plans_are_for_the_game_in_which_they_were_made(sit: Callable[..., tuple[Planner, Planner]]) -> None:
    """After a server was restored from a backup, one of the same number may begin with another setup."""
    ann, bob = sit({1: "Rv1"}, {})
    other = "0" * 64
    ann.agent.vault.keep_plans("m1", 1, other, {2: "Gx3", DEFAULT: "Gx3"})
    assert ann.agent.vault.plans("m1", 1, other)
    assert ann.agent.ahead.plans("m1", ann.referee.now).waiting == {}
    ann.referee.wait(OVER)
    play(ann, bob)
    assert not ann.agent.followed


def test_a_plan_is_judged_when_it_is_kept(
    sit: Callable[..., tuple[Planner, Planner]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program of the same player may order its turn while this one waits."""
    ann, bob = sit({}, {})
    alone = ann.agent.vault.alone

    @contextmanager
    def later() -> Iterator[None]:
        monkeypatch.undo()
        ann.typed = {1: "Rv1", 2: "Rv3"}
        play(ann, bob)
        with alone():
            yield

    monkeypatch.setattr(ann.agent.vault, "alone", later)
    with pytest.raises(Impossible, match="too late to order turn 2 of m1 "):
        ann.agent.ahead.store("m1", 2, "Gx3")


@pytest.mark.parametrize(
    ("point", "number"),
    [
        *((point, 4) for point in sealed_agent.POINTS),
        *((point, 6) for point in correspondence.POINTS),
    ],
)
def test_a_plan_counts_once_wherever_its_agent_dies(
    sit: Callable[..., tuple[Planner, Planner]], point: str, number: int
) -> None:
    death = Death(point, number)
    ann, _ = sit({1: "Rv1", 3: "Bz5"}, {2: PLAN}, death)
    assert death.deaths
    assert orders_of(ann) == ["Rv1", "Rv3", "Bz5"]
    steps = [sent for sent in ann.memory.in_state("done", "sent", "ready") if sent.command == "step"]
    assert len({sent.raw for sent in steps}) == len({sent.place for sent in steps})


@pytest.mark.long
@pytest.mark.parametrize("number", range(3, 14))
def test_a_plan_counts_once_however_often_its_agent_dies(
    sit: Callable[..., tuple[Planner, Planner]], number: int
) -> None:
    ann, _ = sit({1: "Rv1", 3: "Bz5"}, {2: PLAN}, Death(None, number))
    assert orders_of(ann) == ["Rv1", "Rv3", "Bz5"]
