"""Sealed matches from agreement to verdict."""

from __future__ import annotations

from sealed_match import SealedMatch


def test_a_whole_sealed_game_is_played_revealed_and_proved() -> None:
    table = SealedMatch()
    table.finish()
    assert table.match.phase == "closed"
    assert table.types()[:2] == ["agreed", "sealed"]
    assert table.types()[-6:] == ["reveal", "reveal", "verdict", "ended", "revealed", "closed"]
    proved = table.proved()
    assert proved.outcome == table.match.outcome
    assert proved.head == table.match.head
