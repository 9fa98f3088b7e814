"""A desk that tells the second player of a sealed match, Bob, something else than it knows, in league with Ann."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.desk import bulletin
from pbem.desk.sealed_files import SealedFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from pbem.match.state import Match
    from pbem.match.view import MatchView

ANN, BOB = 1, 2


def lie_in_files(
    monkeypatch: pytest.MonkeyPatch, lie: Callable[[Match, Any, Any], object], *names: str, seat: int = BOB
) -> None:
    """Change the files for programs that go to a seat: what they say, and what is attached beside them.

    They are those of positions; or those that SealedFiles makes by these methods.
    """
    for name in names or ("position_document",):
        honest = getattr(SealedFiles, name)

        def document(files: SealedFiles, match: Match, row: Any, to: int, out: Any, honest: Any = honest) -> Any:
            found = honest(files, match, row, to, out)
            if to == seat:
                lie(match, found, out)
            return found

        monkeypatch.setattr(SealedFiles, name, document)


def lie_in_bulletins(monkeypatch: pytest.MonkeyPatch, lie: Callable[[MatchView, Any], object]) -> None:
    """Change what bulletins say to Bob of how the match stands."""
    honest = bulletin.of_match

    def of_match(stands: MatchView) -> Any:
        found = honest(stands)
        if stands.seat == BOB:
            lie(stands, found)
        return found

    monkeypatch.setattr(bulletin, "of_match", of_match)
