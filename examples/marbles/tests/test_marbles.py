"""The game keeps to everything that pbem relies on; and what its rules say, it does."""

from __future__ import annotations

import pytest
from pbem_marbles import RULES

from pbem.games import Refused
from pbem.games.outside import enable
from pbem.testing import CHECKS, subject

enable(["marbles"])
GAME = subject("marbles")


@pytest.mark.parametrize("check", CHECKS)
def test_the_game_conforms(check: str) -> None:
    CHECKS[check](GAME)


def test_whoever_is_right_first_has_won() -> None:
    options = RULES.options({}, 2)
    state = RULES.begin(options, [RULES.setup(options, 1, "hide 3"), RULES.setup(options, 2, "hide 4")])
    state, reports = RULES.turn(state, {1: RULES.order(state, 1, "guess 5")})
    assert RULES.show(reports[0], 2) == {"seat": 1, "kind": "guess", "number": 5, "answer": "fewer"}
    state, _ = RULES.turn(state, {2: RULES.order(state, 2, "guess 3")})
    assert state.result is not None
    assert state.result.winners == (2,)


@pytest.mark.parametrize("text", ["", "hide", "hide 0", "hide 10", "hide 5 6", "guess 5"])
def test_what_is_no_setup_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        RULES.setup(RULES.options({}, 2), 1, text)
    assert [fault.rule for fault in refused.value.faults] == ["1"]
