"""Changed copies are those of `dataclasses.replace`."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from pbem.match.changed import replace
from pbem.match.state import Match, Nomination
from pbem.match.terms import Terms

TERMS = Terms.propose("dueling-masters", {}, ("ann", "bob"), timedelta(0))
VALUES = [(Match("m1", "play.example", TERMS), {"game": 2}), (Nomination("carl", frozenset()), {"name": "dan"})]


@pytest.mark.parametrize(("value", "changes"), VALUES)
def test_a_changed_copy_has_the_changes_and_all_else(value: Any, changes: dict[str, Any]) -> None:
    assert replace(value, **changes) == dataclasses.replace(value, **changes) != value


@pytest.mark.parametrize("value", [value for value, _ in VALUES])
def test_no_field_is_made_up(value: Any) -> None:
    with pytest.raises(TypeError):
        replace(value, nosuch=1)
