"""The demo keeps its promises: it plays, proves, leaves everything to be looked at, and wipes only what it made."""

from __future__ import annotations

import mailbox
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "demo", "--keep", str(folder), *arguments]
    return subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "kept"


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    done = demo(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return done.stdout


def test_somebody_registers_proposes_to_the_house_and_plays_to_the_end(shown: str) -> None:
    assert "ann$ pbem play new spaceships house 'settle: 0' --yes" in shown
    assert re.search(r"^    m1, turn 2: you order$", shown, re.MULTILINE)
    assert re.search(r"^Stopwatch: the first report \d+\.\d s after the setups", shown, re.MULTILINE)
    assert re.search(r"m1: closed: (you won|you lost to house|a draw)", shown)
    assert "The server has stopped, status 0." in shown


def test_the_boards_are_shown_and_the_proof_holds(shown: str) -> None:
    assert re.search("^    house's space +0 cells destroyed", shown, re.MULTILINE)
    assert "m1: verified: " in shown
    assert "game 1: the record replays" in shown
    assert "house played blind, at level 2" in shown
    assert "FAIL" not in shown
    assert "Everything holds." in shown


@pytest.mark.parametrize(
    ("game", "people", "words"),
    [
        pytest.param(
            "dueling-masters",
            ("ann",),
            (r"goes from [A-J]\d+ to [A-J]\d+", "house's pieces"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            "shoot-em-up",
            ("ann", "bob"),
            ("ships? left", r"bob\$ pbem play accept m1", "with bob, house"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_another_game_is_played_to_the_end_and_proved(
    game: str, people: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    done = demo(tmp_path / "kept", "--game", game)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in words:
        assert re.search(word, done.stdout), word
    assert "house played blind" in done.stdout
    assert "Everything holds." in done.stdout
    for name in people:
        assert ends(tmp_path / "kept" / name) == 1


@pytest.mark.long
def test_a_sealed_match_is_played_by_agents_and_the_server_holds_no_secret(tmp_path: Path) -> None:
    done = demo(tmp_path / "kept", "--sealed", "--game", "dueling-masters")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_sealed(done.stdout)
    assert re.search(r"^ann, at pbem agent, turn 1: m1 [A-Z]\d [A-J]\d+-[A-J]\d+$", done.stdout, re.MULTILINE)


@pytest.mark.long
def test_sealed_matches_of_all_games(tmp_path: Path) -> None:
    done = demo(tmp_path / "kept", "--sealed")
    assert done.returncode == 0, done.stdout + done.stderr
    games = done.stdout.split("====")[1:]
    assert len(games) == 3
    for shown in games:
        assert_sealed(shown)


def assert_sealed(shown: str) -> None:
    assert "opened with its own key: nothing was found." in shown
    assert "house played blind" in shown
    assert "Everything holds." in shown
    assert re.search(r"^\d\.\d\d letters a turn for all players together", shown, re.MULTILINE)
    assert re.search(r"^openings/game-1-seat-1\.txt: OK$", shown, re.MULTILINE)


def ends(maildir: Path) -> int:
    """The number of letters that announce the end of the match."""
    subjects = [str(letter["Subject"]) for letter in mailbox.Maildir(maildir, create=False)]
    return sum(", the end: " in " ".join(subject.split()) for subject in subjects)


@pytest.mark.usefixtures("shown")
def test_what_is_left_behind(folder: Path) -> None:
    assert ends(folder / "ann") == 1
    assert ends(folder / "house") == 1
    assert not len(mailbox.Maildir(folder / "operator", create=False))
    for name in ("store.sqlite", "server.log", "m1-game-1.pbem.zip", "seed.eml"):
        assert (folder / name).stat().st_size


def test_a_folder_that_it_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    done = demo(tmp_path)
    assert done.returncode == 1
    assert "was not made by the demo" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]
