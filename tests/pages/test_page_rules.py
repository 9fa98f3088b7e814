"""The page's rules and the referee's: setups and orders, legal and mangled, judged by both."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from page_scripts.javascript import Scripts
from playing.random_players import PLAYERS, play, sensible_orders

from pbem.games import GAMES, Refused, parts, rules
from pbem.games.spaceships.space import CELLS
from pbem.pages import ruled

if TYPE_CHECKING:
    from collections.abc import Callable

Verdict = tuple[str | None, list[list[str | None]]]
"""Canonical text of what is legal, else None; and the faults, each by ruling and token."""

TOKENS = {
    "spaceships": ["Rv1", "Gx3", "Bz5", "Rv1-Gw2", "DS", "KC", "LG1", "LG2", "AG", "HS2", ".", "sRv1", "bRv1Rv3",
                   "b Gx1-Gx3 (DS1)", "mR Gx3", "m Gx3", "kRv1 Gx3", "m2", "x", "rv1", "Rv6", ",", ";", "# no", "\n"],
    "dueling-masters": ["*", "W", "B", "X1", "Z4", "Z5", "H", "H2", "A1", "A10", "E5", "F1", "J10", "K1", "A11", "w",
                        "A1-B2", "Z1 A1-C3", ",", "# no", "\n", "-"],
    "shoot-em-up": ["A", "B", "D", "A b1 N", "B: FMS", "C FMS", "A: FM", "c1", "b9", "z1", "N", "X", ":", "\n"],
}  # fmt: skip


def judged(judge: Callable[[], Any]) -> Verdict:
    try:
        return judge().text, []
    except Refused as refused:
        return None, [[fault.rule, fault.token] for fault in refused.faults]


def mangled(random: Random, text: str, game: str) -> str:
    """A text with a word or two changed: mostly illegal, sometimes still legal."""
    parts = re.findall(r"\s+|[^\s]+", text)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        at = random.randrange(len(parts) + 1)
        change = random.randrange(5)
        if change == 0:
            parts.insert(at, f" {random.choice(TOKENS[game])} ")
        elif change == 1 and parts:
            parts[at % len(parts)] = f" {random.choice(TOKENS[game])} "
        elif change == 2 and parts:
            del parts[at % len(parts)]
        elif change == 3 and len(parts) > 1:
            one, other = random.sample(range(len(parts)), 2)
            parts[one], parts[other] = parts[other], parts[one]
        elif parts:
            word = parts[at % len(parts)]
            cut = random.randrange(len(word) + 1)
            parts[at % len(parts)] = word[:cut] + random.choice("RGBvz15 ANH*-") + word[cut + 1 :]
    return "".join(parts)


def as_grids(setup: str) -> str:
    """A setup of Spaceships in the form of five grids."""
    where = {cell: line.split()[0] for line in setup.split("\n") for cell in line.split()[1:]}
    return "\n".join(" ".join(where.get(c + r + n, ".") for n in "12345") for c in "ROYGB" for r in "vwxyz")


def setups(game: str, count: int) -> list[tuple[dict[str, Any], int, str, Verdict]]:
    random, judge, player = Random(11), rules(game), PLAYERS[game]
    cases = []
    for _ in range(count):
        raw, seats = random.choice(player.options)
        options, seat = judge.options(raw, seats), random.randint(1, seats)
        text = player.setup(random, options, seat)
        if game == "spaceships" and random.random() < 0.2:
            text = as_grids(judge.setup(options, seat, text).text)
        text = mangled(random, text, game)
        verdict = judged(lambda: judge.setup(options, seat, text))  # noqa: B023 - called at once
        cases.append((dict(options.changed), seat, text, verdict))
    return cases


def as_target_list(random: Random, text: str) -> str:
    """Orders of Spaceships with a target list somewhere, and further cells in it."""
    words = text.split(" ")
    at = random.randint(0, len(words))
    return " ".join([*words[:at], "next", *words[at:], *random.choices(list(CELLS), k=random.choice([0, 2, 30]))])


def orders(game: str, count: int) -> list[tuple[dict[str, Any], str, Verdict]]:
    random, judge, player = Random(12), rules(game), PLAYERS[game]
    cases: list[tuple[dict[str, Any], str, Verdict]] = []
    while len(cases) < count:
        raw, seats = random.choice(player.options)
        other = {"orders": sensible_orders} if game == "spaceships" and random.random() < 0.7 else {}
        one = play(game, random, raw, seats, most=40, **other)
        for turn, state in enumerate(one.states):
            for seat in state.due:
                shown = [
                    [s for report in reports if (s := judge.show(report, seat))] for reports in one.reports[:turn]
                ]
                view: Any = parts.view(judge, state, seat, shown)
                for _ in range(4):
                    text = mangled(random, player.orders(random, view) if view["entitled"] else "", game)
                    if game == "spaceships" and random.random() < 0.3:
                        text = as_target_list(random, text)
                    verdict = judged(lambda: judge.order(state, seat, text))  # noqa: B023 - called at once
                    cases.append((view, text, verdict))
    return cases[:count]


def alike(cases: list[Any], verdicts: list[Any], *, coarse: bool) -> None:
    legal = 0
    for case, (text, faults) in zip(cases, verdicts, strict=True):
        wanted_text, wanted_faults = case[-1]
        legal += wanted_text is not None
        assert (text, bool(faults)) == (wanted_text, bool(wanted_faults)), (case, faults)
        if not coarse:
            assert faults == wanted_faults, case
    assert len(cases) / 10 < legal < len(cases) * 9 / 10  # both verdicts were tried


JUDGE = """(cases) => cases.map((case_) => {
    const judged = RULES.%s(...case_);
    return [judged.faults.length ? null : judged.text, judged.faults.map((fault) => [fault.rule, fault.token])];
})"""


@pytest.mark.parametrize("game", GAMES)
def test_setups_are_judged_alike(game: str) -> None:
    cases = setups(game, 150)
    scripts = Scripts("say.js", *ruled(game))
    alike(cases, scripts.evaluate(JUDGE % "setup", [case[:-1] for case in cases]), coarse=False)


@pytest.mark.parametrize("game", GAMES)
def test_orders_are_judged_alike(game: str) -> None:
    """The faults of Dueling Masters' moves are told apart less finely by the page: only the verdict is compared."""
    cases = orders(game, 200)
    scripts = Scripts("say.js", *ruled(game))
    verdicts = scripts.evaluate(JUDGE % "orders", [case[:-1] for case in cases])
    alike(cases, verdicts, coarse=game == "dueling-masters")
