"""The form of a match's item: what breaks whoever prints it is not believed."""

from __future__ import annotations

import msgspec
import pytest

from pbem.match.state import Ended, MatchOutcome


@pytest.mark.parametrize("kind", [MatchOutcome, Ended])
def test_scores_that_no_json_can_hold_are_not_believed(kind: type[msgspec.Struct]) -> None:
    said = {"winners": [1], "scores": [23, -1], "reason": "", "turns": 9}
    assert msgspec.convert(said, kind)
    with pytest.raises(msgspec.ValidationError, match="scores"):
        msgspec.convert({**said, "scores": [10**4299]}, kind)
