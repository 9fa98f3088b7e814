"""A tournament of another package's game: by the code that was announced, by other code, and without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desk.test_tournaments import CLOSES, Club
from in_a_box.outside import enabled, found_in, install
from in_a_box.referee import Referee, placed

from pbem.games.outside import enable
from pbem.letters.render import Templates
from pbem.proof.tournament_proof import verify_tournament

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> tuple[bytes, list[bytes]]:
    """The tournament, and the bundles of its matches."""
    with enabled(tmp_path / "site"):
        referee = Referee(tmp_path, templates=Templates())
        club = Club(referee, "ann", "bob", "carl")
        ann = club.people["ann"]
        referee.send(ann, f"tournament new marbles\n{placed(ann)}closes: {CLOSES}\nmost: 12\nsettle: 0\nend\n")
        assert "Announced." in ann.text, ann.text
        club.enter("ann", "bob", "carl")
        club.start()
        for pairing in club.awaited:
            club.win(pairing, min(pairing.players))
        found = referee.desk.tournaments.archive.bundle(1, letters=True), club.bundles()
        assert {check.standing for check in verify_tournament(*found)} == {"ok"}
        referee.close()
    return found


def test_other_code_that_replays_alike_leaves_only_the_announcement_open(
    files: tuple[bytes, list[bytes]], tmp_path: Path
) -> None:
    path = install(tmp_path / "other", version="0.2.0") / "__init__.py"
    path.write_text(path.read_text("utf-8").replace('"""The rules."""', '"""All rules."""'), "utf-8")
    with found_in(tmp_path / "other"):
        enable(["marbles"])
        found = list(verify_tournament(*files))
    assert [check.what for check in found if check.standing != "ok"] == ["rules"]


def test_without_the_rules_it_is_open(files: tuple[bytes, list[bytes]]) -> None:
    found = list(verify_tournament(*files))
    assert {check.standing for check in found} == {"ok", "OPEN"}, found
    unproved = [check.what for check in found if check.standing == "OPEN"]
    assert unproved == ["rules", "m1", "m2", "m3"]
    assert 'the rules of "marbles" are not installed: pip install pbem-marbles==0.1.0, if you trust it' in str(found)
