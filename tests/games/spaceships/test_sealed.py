"""Contradictions with an owner's earlier answers: each is refused at once, with its ruling."""

from __future__ import annotations

from typing import Any

import pytest
from judges.refusals import faults

from pbem.games import Refused, Result
from pbem.games.sealed import Falsehood, SealedStep
from pbem.games.spaceships import RULES
from pbem.games.spaceships.sealed import SEALED, Table
from pbem.games.spaceships.space import CELLS, mask_of
from pbem.games.spaceships.told import Space


def table(
    options: dict[str, Any],
    *,
    own: str = "",
    other: str = "",
    answered: str = "",
    seat: int = 1,
    **told: Any,
) -> Table:
    """A turn in which one seat has laid `own` open, the other `other`, and answers; `told` is of the one's space."""
    for name in ("destroyed", "ship", "empty"):
        told[name] = mask_of(told.get(name, "").split())
    told["ship"] |= told["destroyed"]
    told["named"] = {CELLS[cell]: ship for cell, ship in told.get("named", {}).items()}
    told["lost"] = {ship: mask_of(cells.split()) for ship, cells in told.get("lost", {}).items()}
    opened = {seat: lines(own), 3 - seat: lines(other)}
    spaces = (Space(**told), Space()) if seat == 1 else (Space(), Space(**told))
    return Table(
        RULES.options({"fleet": "cost:24"} | options, 2),
        committed=True,
        opened=opened,
        answered={3 - seat: lines(answered)} if answered else {},
        spaces=spaces,
    )


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.split("/")) if text else ()


OF_A_LINE = {"16", "22", "23", "25", "27", "28"}
"""The rulings against which one line alone can be: it is shown."""


def blamed(position: Table, seat: int, step: str, text: str) -> set[str]:
    """The rules that a step breaks; the empty set if it stands."""
    try:
        SEALED.judge(position, seat, step, text.replace("/", " "))
    except Refused as refused:
        for fault in refused.faults:
            assert str(fault.message)
            assert "None" not in str(fault.message)
            assert "{" not in str(fault.message)
            assert fault.rule not in OF_A_LINE or fault.token in lines(text)
        return {fault.rule for fault in refused.faults}
    return set()


@pytest.mark.parametrize(
    ("told", "struck", "answer", "rule"),
    [
        ({}, "Rv1", "miss", ""),
        ({}, "Rv1", "hit", ""),
        ({"ship": "Rv1"}, "Rv1", "hit", ""),
        ({"destroyed": "Rv1"}, "Rv1", "duplicate", ""),
        ({"empty": "Rv1"}, "Rv1", "hit", "22"),
        ({"ship": "Rv1"}, "Rv1", "miss", "22"),
        ({"destroyed": "Rv1"}, "Rv1", "miss", "22"),
        ({"destroyed": "Rv1"}, "Rv1", "hit", "22"),
        ({}, "Rv1", "duplicate", "22"),
        ({}, "Rv1", "hit explodes Rv1 Rv2", ""),
        ({}, "Rv1", "hit explodes Rv2", "23"),
        ({}, "Rv1", "hit explodes Rv1 Rw2", "23"),
        ({}, "Rv1", "hit explodes Rv1 Rv2 Rw1", "23"),
        ({"destroyed": "Rv2"}, "Rv1", "hit explodes Rv1 Rv2", "23"),
        ({"empty": "Rv2"}, "Rv1", "hit explodes Rv1 Rv2", "23"),
        ({}, "Rv1", "hit destroyed LG Rv1", ""),
        ({}, "Rv1", "hit destroyed AG Rv1 Rv3", "27"),
        ({}, "Rv1", "hit explodes Rv1 destroyed LS Rv1", "27"),
        ({}, "Rv1", "hit destroyed AG Rv1 Rv2", "27"),
        ({"destroyed": "Rv2"}, "Rv1", "hit destroyed AG Rv1 Rv2", ""),
        ({"destroyed": "Rv1"}, "Rv1", "duplicate destroyed LG Rv1", "27"),
        ({}, "Rv1", "hit explodes Rv1 Rv2 destroyed LG Rv1", "27"),
        ({"named": {"Rv1": "LS"}, "ship": "Rv1"}, "Rv1", "hit destroyed LG Rv1", "27"),
        ({"named": {"Gx1": "LG"}, "ship": "Gx1"}, "Rv1", "hit destroyed LG Rv1", "27"),
        ({"lost": {"LG": "Gx1"}, "destroyed": "Gx1", "named": {"Gx1": "LG"}}, "Rv1", "hit destroyed LG Rv1", "27"),
        ({"lost": {"LG1": "Gx1"}, "destroyed": "Gx1", "named": {"Gx1": "LG1"}}, "Rv1", "hit destroyed LG Rv1", "6"),
        ({"lost": {"LG1": "Gx1"}, "destroyed": "Gx1", "named": {"Gx1": "LG1"}}, "Rv1", "hit destroyed LG2 Rv1", ""),
    ],
)
def test_strikes(told: dict[str, Any], struck: str, answer: str, rule: str) -> None:
    position = table({}, other=f"strike {struck}", **told)
    assert blamed(position, 1, "answers", f"strike {struck} {answer}") == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("told", "answer", "rule"),
    [
        ({}, "none", ""),
        ({}, "ship", ""),
        ({"destroyed": "Rv1"}, "destroyed", ""),
        ({"ship": "Rv1"}, "none", "25"),
        ({"destroyed": "Rv1"}, "none", "25"),
        ({"destroyed": "Rv1"}, "ship", "25"),
        ({"empty": "Rv1"}, "ship", "25"),
        ({}, "destroyed", "25"),
    ],
)
def test_scans(told: dict[str, Any], answer: str, rule: str) -> None:
    position = table({}, other="scan Rv1", **told)
    assert blamed(position, 1, "answers", f"scan Rv1 {answer}") == ({rule} if rule else set())


def test_a_missile_explodes_each_time_alike() -> None:
    position = table({}, other="strike Rv1/strike Rv1")
    assert not blamed(position, 1, "answers", "strike Rv1 hit explodes Rv1 Rv2/strike Rv1 duplicate explodes Rv1 Rv2")
    assert blamed(position, 1, "answers", "strike Rv1 hit explodes Rv1 Rv2/strike Rv1 duplicate") == {"23"}


def test_what_was_launched_does_not_explode_nor_is_it_hit() -> None:
    position = table({}, own="death Rv1", other="strike Rv1")
    assert not blamed(position, 1, "answers", "death Rv1/strike Rv1 duplicate")
    assert blamed(position, 1, "answers", "death Rv1/strike Rv1 hit") == {"22"}
    assert blamed(position, 1, "answers", "death Rv1/strike Rv1 duplicate explodes Rv1") == {"23"}


def test_scouts_and_death_stars_never_fly_kamikazes() -> None:
    position = table({}, own="death Rv1", other="scan Gx1")
    assert blamed(position, 1, "answers", "death Rv1 destroyed LS Rv1/scan Gx1 none") == {"16"}
    assert not blamed(position, 1, "answers", "death Rv1 destroyed LG Rv1/scan Gx1 none")


@pytest.mark.parametrize(
    ("told", "answer", "rule"),
    [
        ({}, "none", ""),
        ({}, "KC", ""),
        ({"destroyed": "Rv1"}, "KC destroyed", ""),
        ({"ship": "Rv1"}, "none", "28"),
        ({"empty": "Rv1"}, "KC", "28"),
        ({}, "KC destroyed", "28"),
        ({"destroyed": "Rv1"}, "KC", "28"),
        ({"ship": "Rv1", "named": {"Rv1": "PC"}}, "KC", "28"),
        ({"destroyed": "Gx1", "lost": {"LG": "Gx1"}, "named": {"Gx1": "LG"}}, "LG", "28"),
        ({"ship": "Gx1", "named": {"Gx1": "LG"}}, "LG", "6"),
        ({"ship": "Gx1", "named": {"Gx1": "DS"}}, "DS1", "6"),
    ],
)
def test_flashcube_data(told: dict[str, Any], answer: str, rule: str) -> None:
    """Seat 2 lost a ship, and seat 1 says what stands there in its own space."""
    position = table({}, own="strike Rv1", answered="strike Rv1 hit destroyed LG Rv1", **told)
    position = position._replace(commits=2)
    assert blamed(position, 1, "answers", f"flash Rv1 {answer}") == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("options", "ships", "rule"),
    [
        ({"fleet": "standard"}, "KC1 KC2", "7"),
        ({"fleet": "standard"}, "FS PC", "7"),
        ({"fleet": "standard"}, "FS KC", ""),
        ({"fleet": "standard", "additional": [6, 0]}, "KC1 KC2", ""),
        ({"fleet": "standard", "additional": [6, 0], "additional_allowed": {"AG": 3}}, "KC1 KC2", "7"),
        ({"fleet": "cost:10"}, "KC1 KC2", "7"),
        ({"fleet": "cost:12"}, "KC1 KC2", ""),
        ({"fleet": "cost:12", "allowed": {"KC": 1, "FS": 3}}, "KC1 KC2", "7"),
        ({"fleet": "cost:12", "allowed": {"KC": 1}, "additional": [6, 0], "additional_allowed": {}}, "KC1 KC2", "7"),
    ],
)
def test_ships_that_no_fleet_has(options: dict[str, Any], ships: str, rule: str) -> None:
    named = dict(zip(("Rv1", "Rw5"), ships.split(), strict=True))
    position = table(options, other="scan Gx1", named=named, ship="Rv1 Rw5")
    assert blamed(position, 1, "answers", "scan Gx1 none") == ({rule} if rule else set())


def test_a_game_ends_when_no_ship_is_left_and_only_then() -> None:
    position = table({"fleet": "cost:1"}, other="strike Rv1", own="strike Gx1")
    assert not blamed(position, 1, "answers", "strike Rv1 hit destroyed LG Rv1/over fleet")
    assert blamed(position, 1, "answers", "strike Rv1 hit destroyed LG Rv1") == {"30"}
    assert blamed(position, 1, "answers", "strike Rv1 miss/over fleet") == {"30"}
    assert blamed(position, 1, "answers", "strike Rv1 miss/over idle") == {"31"}
    assert not blamed(
        position._replace(opened={1: (), 2: lines("strike Rv1")}), 1, "answers", "strike Rv1 miss over idle"
    )


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("strike Rv1/scan Gx1", set()),
        ("beam Rv1 Rv2 Rv3/strike Rv1", set()),
        ("beam Rv3 Rv2 Rv1", set()),
        ("", set()),
        ("scan Gx1/strike Rv1", {"21"}),
        ("beam Rv1 Rv2 Rv4", {"sealed"}),
        ("beam Rv1 Rv3 Rv2", {"sealed"}),
        ("strike Rv9", {"sealed"}),
        ("strike Rv1 Rv2", {"sealed"}),
        ("Rv1", {"sealed"}),
        ("scan Rv1/scan Rv2", {"18"}),
        ("/".join(["beam Rv1 Rv2 Rv3"] * 4), {"17"}),
        ("death Rv1", {"16"}),
        ("death Rv2", {"16"}),
        ("death Rv3", set()),
        ("death Rv3/death Rv3", {"16"}),
    ],
)
def test_what_nobody_can_have_ordered(text: str, rules: set[str]) -> None:
    position = table({}, empty="Rv1", destroyed="Rv2")._replace(opened={})
    assert blamed(position, 1, "open", text) == rules


@pytest.mark.parametrize(
    ("options", "lost", "strikes", "beams"),
    [
        ({"fleet": "standard"}, [], 9, 1),
        ({"fleet": "standard"}, ["KC"], 6, 1),
        ({"fleet": "standard"}, ["DS"], 8, 0),
        ({"fleet": "standard", "additional": [16, 0]}, ["DS1"], 24, 2),
        ({"fleet": "cost:24"}, [], 24, 3),
        ({"fleet": "cost:24", "additional": [3, 0]}, ["KC"], 21, 2),
    ],
)
def test_more_than_any_fleet_that_is_left_may_order(
    options: dict[str, Any], lost: list[str], strikes: int, beams: int
) -> None:
    """An opponent who asks for more than is due would be convicted, but have the answers."""
    position = table(options, lost=dict.fromkeys(lost, "Rv1"))._replace(opened={})
    for word, most, rule in (("strike Gx3", strikes, "14"), ("beam Gx1 Gx2 Gx3", beams, "17")):
        assert not blamed(position, 1, "open", " ".join([word] * most))
        assert blamed(position, 1, "open", " ".join([word] * (most + 1))) == {rule}


@pytest.mark.parametrize(
    "text",
    [
        "strike Rv1 miss",
        "strike Rv1 miss/scan Gx1 none/scan Gx1 none",
        "strike Rv1 miss/scan Gx1 none/over",
        "strike Rv1 miss/scan Gx1 none/over soon",
        "strike Rv1 miss/scan Gx1 none/over idle/over idle",
        "strike Rv1 miss/scan Gx1 none/flash Rv1 none",
        "strike Rv2 miss/scan Gx1 none",
        "scan Gx1 none/strike Rv1 miss",
        "strike Rv1/scan Gx1 none",
        "strike Rv1 perhaps/scan Gx1 none",
        "strike Rv1 hit explodes/scan Gx1 none",
        "strike Rv1 hit explodes Rv2 Rv1/scan Gx1 none",
        "strike Rv1 hit imploded Rv1/scan Gx1 none",
        "strike Rv1 miss explodes Rv1/scan Gx1 none",
        "strike Rv1 hit destroyed/scan Gx1 none",
        "strike Rv1 hit destroyed XX Rv1/scan Gx1 none",
        "strike Rv1 hit destroyed AG Rv2 Rv1/scan Gx1 none",
        "strike Rv1 miss/scan Gx1 destroyed destroyed LG Gx1",
        "nothing/strike Rv1 miss/scan Gx1 none",
    ],
)
def test_forms_of_answers(text: str) -> None:
    position = table({}, other="strike Rv1/scan Gx1")
    assert blamed(position, 1, "answers", text) == {"sealed"}


def test_flashcube_data_is_of_the_cells_that_were_asked_and_ends_no_game() -> None:
    position = table({}, own="strike Rv1", answered="strike Rv1 hit destroyed LG Rv1")
    first = position._replace(commits=1, answered={1: (), 2: position.answered[2]})
    assert not blamed(first, 1, "flash", "flash Rv1 none")
    for text in ("", "flash Rv2 none", "flash Rv1 none over idle", "flash Rv1", "flash Rv1 XX", "flash Rv1 KC gone"):
        assert blamed(first, 1, "flash", text) == {"sealed"}, text


def test_who_is_idle_says_so_and_who_is_not_is_convicted() -> None:
    """Ruling 31: a player who could strike records nothing, and calls that the end."""
    setup = "LG Rv1"
    steps = [SealedStep(1, 1, "commit", ()), SealedStep(1, 2, "open", ()), SealedStep(1, 1, "open", ())]
    options = RULES.options({"fleet": "cost:1"}, 2)
    lie = SealedStep(1, 1, "answers", ("over idle",))
    assert SEALED.first_false(options, 1, setup, {1: ""}, [*steps, lie]) == Falsehood(1, "answers", "31")
    told = SealedStep(1, 1, "answers", ())
    assert SEALED.first_false(options, 1, setup, {1: ""}, [*steps, told]) is None
    assert SEALED.first_false(options, 1, "LS Rv1", {1: ""}, [*steps, told]) == Falsehood(0, "setup", "7")


@pytest.mark.parametrize(
    ("told", "owed"),
    [
        ("strike Rv1 miss", ("answers", "commit")),
        ("strike Rv1 hit destroyed LG Rv1/over fleet", ("answers",)),
        ("strike Rv1 miss/over idle", ("answers",)),
    ],
)
def test_nobody_commits_to_orders_of_a_turn_that_never_comes(told: str, owed: tuple[str, ...]) -> None:
    position = table({}, own="strike Rv1", seat=2, answered=told)
    assert SEALED.owed(position, 2) == owed
    assert SEALED.owed(position, 1) == ()


def test_a_line_that_is_no_answer_is_shown() -> None:
    for text in ("strike Rv1 perhaps", "strike Rv1 hit destroyed XX Rv1"):
        found = faults(SEALED.judge, table({}, other="strike Rv1"), 1, "answers", text)
        assert found == [("sealed", text, None)]
    unopened = table({})._replace(opened={})
    assert faults(SEALED.judge, unopened, 1, "open", "strike Rv1 strike Rv9") == [("sealed", "strike Rv9", None)]
    ended = "strike Rv1 miss over idle over fleet"
    found = faults(SEALED.judge, table({}, other="strike Rv1"), 1, "answers", ended)
    assert found == [("sealed", "over fleet", None)]


def test_a_game_that_an_idle_player_ends_has_no_winner_before_fleets_are_laid_open() -> None:
    """A scout alone strikes nobody: the game ends with its first turn, undecided as far as anybody knows."""
    options = RULES.options({"fleet": "cost:3"}, 2)
    position = SEALED.begin(options)
    setups = {1: "LS Rv1", 2: "MD Gx1 Gx2 Gx3"}
    orders = {1: "sRv2", 2: "Rv2"}
    while not position.result:
        (seat,) = position.due
        for step in SEALED.owed(position, seat):
            own = SEALED.own(options, seat, setups[seat], {1: orders[seat]}, position)
            position = SEALED.enter(position, seat, step, SEALED.lines(own, position, step))
    assert position.result == Result((1, 2), (0, 0))
    assert position.turn == 1
    own = SEALED.own(options, 1, setups[1], {1: orders[1]}, position)
    assert own.state.turn == 1
    for view in (SEALED.own_view(own, position), SEALED.view(position, 1)):
        assert view["over"]
        assert view["entitled"] is None


STRUCK = "beam Rv1 Rv2 Rv3/strike Gx1/scan Gx2"
TRUE = (
    "beam Rv1 hit explodes Rv1 Rv2/beam Rv2 duplicate explodes Rv1 Rv2 Rv3 destroyed MD Rv1 Rv2 Rv3"
    "/beam Rv3 duplicate explodes Rv2 Rv3/strike Gx1 hit/scan Gx2 ship"
)


def found_false(step: str, told: str) -> Falsehood | None:
    """The falsehood of seat 1, which struck Gx1 in the first turn; all its other steps are honest."""
    options, setup, orders = RULES.options({"fleet": "cost:9"}, 2), "MD Rv1 Rv2 Rv3\nKC Gx1-Gy3", {1: "Gx1"}
    position, steps = SEALED.begin(options), []
    for seat, name, text in (
        (1, "commit", ""),
        (2, "open", STRUCK),
        (1, "open", "strike Gx1"),
        (1, "answers", TRUE),
        (2, "answers", "strike Gx1 hit destroyed LG Gx1"),
        (1, "flash", "flash Gx1 KC"),
    ):
        if seat == 1:
            own = SEALED.own(options, 1, setup, orders, position)
            assert SEALED.lines(own, position, name) == lines(text), "the honest line"
        said = told if (seat, name) == (1, step) else text
        steps.append(SealedStep(1, seat, name, lines(said)))
        if said != text:
            break
        position = SEALED.enter(position, seat, name, lines(said))
    return SEALED.first_false(options, 1, setup, orders, steps)


@pytest.mark.parametrize(
    ("step", "old", "new", "ruling"),
    [
        ("open", "strike Gx1", "strike Gx2", "21"),
        ("answers", "beam Rv1 hit explodes Rv1 Rv2", "beam Rv1 miss", "22"),
        ("answers", "beam Rv1 hit explodes Rv1 Rv2", "beam Rv1 hit explodes Rv1", "23"),
        ("answers", "beam Rv1 hit explodes Rv1 Rv2", "beam Rv1 hit", "23"),
        ("answers", "Rv3 destroyed MD Rv1 Rv2 Rv3", "Rv3", "27"),
        ("answers", "Rv3 destroyed MD Rv1 Rv2 Rv3", "Rv3 destroyed HS Rv1 Rv2", "27"),
        ("answers", "strike Gx1 hit", "strike Gx1 miss", "22"),
        ("answers", "strike Gx1 hit", "strike Gx1 hit explodes Gx1", "23"),
        ("answers", "strike Gx1 hit", "strike Gx1 hit destroyed LG Gx1", "27"),
        ("answers", "scan Gx2 ship", "scan Gx2 none", "25"),
        ("answers", "strike Gx1 hit/scan Gx2 ship", "strike Gx1 miss/scan Gx2 none", "22"),
        ("answers", "scan Gx2 ship", "scan Gx2 ship/over idle", "31"),
        ("flash", "flash Gx1 KC", "flash Gx1 KC destroyed", "28"),
        ("flash", "flash Gx1 KC", "flash Gx1 none", "28"),
    ],
)
def test_the_ruling_that_the_first_false_line_breaks(step: str, old: str, new: str, ruling: str) -> None:
    honest = {"open": "strike Gx1", "answers": TRUE, "flash": "flash Gx1 KC"}[step]
    assert found_false(step, honest) is None
    assert old in honest
    assert found_false(step, honest.replace(old, new)) == Falsehood(1, step, ruling)


def test_each_beam_whose_ends_both_hit_burns_out() -> None:
    """Ruling 29; the owner knows which ships fired, and the table does not."""
    options = RULES.options({"fleet": "cost:24"}, 2)
    setups = {1: "DS1 Rv1-Ow2\nDS2 Gv1-Yw2\nDS3 Rx4-Oy5", 2: "KC1 Rx1-Ry3\nKC2 Ov1-Yv3\nKC3 Gv1-Bv3\nKC4 Rz1-Oz3"}
    orders = {1: "bRx1Rx3(DS1) bRy1Ry3(DS2) bYx1Yx3(DS3)", 2: ""}
    position = SEALED.begin(options)
    while not position.played:
        (seat,) = position.due
        for step in SEALED.owed(position, seat):
            own = SEALED.own(options, seat, setups[seat], {1: orders[seat]}, position)
            position = SEALED.enter(position, seat, step, SEALED.lines(own, position, step))
    own = SEALED.own(options, 1, setups[1], {1: orders[1]}, position)
    assert [ship for ship, _ in own.state.sides[0].entitled.beams] == [2], "DS3 hit nothing"
