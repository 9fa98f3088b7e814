"""Letters of a sealed game that its server should have refused, and who finds it: the other player's program."""

from __future__ import annotations

import pytest
from attackers import sealed_lies


@pytest.mark.parametrize("name", sealed_lies.RULES)
def test_a_step_that_the_server_should_have_refused_is_found(name: str) -> None:
    """But for the head that a letter cites, which is the server's word until the bundle is verified."""
    assert sealed_lies.player_finds(*sealed_lies.entered(name)) == (name != "the head that is cited")


def test_a_letter_of_another_turn_is_none_of_this_one() -> None:
    """A verifier looks for letters by their turn, and would not find it either."""
    table = sealed_lies.after(sealed_lies.begun(), 2)
    lie = sealed_lies.signed(table, 1, turn=2)
    assert sealed_lies.server_finds(table, lie)
    with sealed_lies.without("the head that is cited"):
        table.take(*lie)
    assert sealed_lies.player_finds(table, lie)
