"""Changed copies of both kinds of classes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pbem.match.changed import replace
from pbem.match.state import Match, Submission
from pbem.match.terms import Terms

TERMS = Terms.propose("dueling-masters", {}, ("ann", "bob"), timedelta(0))
MATCH = Match("m1", "play.example", TERMS)
SUBMISSION = Submission(1, "Rv1", "paper", b"letter")


def test_a_changed_copy_has_the_changes_and_all_else() -> None:
    assert replace(MATCH, game=2, phase="setup") == Match("m1", "play.example", TERMS, game=2, phase="setup")
    assert replace(SUBMISSION, rev=2, final=True) == Submission(2, "Rv1", "paper", b"letter", final=True)
    assert (MATCH.game, SUBMISSION.rev) == (0, 1)


@pytest.mark.parametrize("value", [MATCH, SUBMISSION])
def test_no_field_is_made_up(value: Any) -> None:
    with pytest.raises(TypeError):
        replace(value, nosuch=1)
