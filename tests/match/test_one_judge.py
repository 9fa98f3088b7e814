"""One judge: each of its rules holds for the server, for a verifier, and for a player who is told of a step.

Once there were two, and what one of them let through was an attack. So here a rule is taken out of the judge, and
then nobody of the three finds what it forbids: none of them has another copy of it.
"""

from __future__ import annotations

import pytest
from attackers.sealed_lies import (
    RULES,
    after,
    begun,
    entered,
    player_finds,
    server_finds,
    signed,
    verifier_finds,
    without,
)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_holds_for_all_three_by_the_same_code(name: str) -> None:
    before = begun()
    lie = RULES[name].lie(before)
    assert server_finds(before, lie)
    table, told = entered(name)
    assert verifier_finds(table)
    assert player_finds(table, told) == (name != "the head that is cited")  # players do not know the server's
    with without(name):
        assert not server_finds(before, lie)
        assert not verifier_finds(table)
        # A text that answers a paper which has not come waits for it, and is not judged.
        assert player_finds(table, told) == (name == "the paper that is answered")


def test_what_is_honest_is_taken_by_all_three() -> None:
    table = after(begun(), 2)
    lie = signed(table, 1)
    assert not server_finds(table, lie)
    table.take(*lie)
    assert not verifier_finds(table)
    assert not player_finds(table, lie)
