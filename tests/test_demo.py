"""The demo keeps its promises: it plays, proves, leaves everything to be looked at, and wipes only what it made."""

from __future__ import annotations

import mailbox
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).with_name("demo.py")


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--keep", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "kept"


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    done = demo(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return done.stdout


def test_both_games_are_played_to_the_end_and_the_match_is_closed(shown: str) -> None:
    for game in (1, 2):
        assert re.search(rf"^game {game}, turn 5: ann \d+ hits?, bob \d+ hits?$", shown, re.MULTILINE)
        assert re.search(rf"^game {game}: .* after \d+ turns\. Scores: ann \d+, bob \d+$", shown, re.MULTILINE)
    assert re.search("(won|lost) the match|The match is a draw", shown)
    assert "The server has stopped, status 0." in shown


def test_one_letter_is_shown_and_the_proof_holds(shown: str) -> None:
    assert "bob's space, as you know it" in shown
    assert "game 2: the record replays" in shown
    assert "FAIL" not in shown
    assert "Everything holds." in shown


@pytest.mark.parametrize(
    ("game", "players", "words"),
    [
        ("dueling-masters", 2, ("departs from", "right bob's as you know them")),
        ("shoot-em-up", 3, (r"left are [A-I]( [A-I]){0,6}$", "ships? left", "bob has seat 2; cem has seat 3")),
    ],
)
def test_another_game_is_played_to_the_end_and_proved(
    game: str, players: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = demo(tmp_path / "kept", "--game", game)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^game 1: .* after \d+ turns\. Scores: ann \d+, bob \d+", done.stdout, re.MULTILINE)
    for word in words:
        assert re.search(word, done.stdout, re.MULTILINE), word
    assert "game 1: the record replays" in done.stdout
    assert "Everything holds." in done.stdout
    maildirs = [path for path in (tmp_path / "kept").iterdir() if (path / "new").is_dir() and path.name != "operator"]
    assert len(maildirs) == players
    for path in maildirs:
        subjects = [str(letter["Subject"]) for letter in mailbox.Maildir(path, create=False)]
        assert sum(", the end: " in " ".join(subject.split()) for subject in subjects) == 1


@pytest.mark.usefixtures("shown")
def test_what_is_left_behind(folder: Path) -> None:
    for name in ("ann", "bob"):
        subjects = [str(letter["Subject"]) for letter in mailbox.Maildir(folder / name, create=False)]
        assert sum("the match is closed" in subject for subject in subjects) == 1
        assert stat.S_IMODE((folder / f"{name}.key").stat().st_mode) == 0o600
    assert not len(mailbox.Maildir(folder / "operator", create=False))
    for name in ("store.sqlite", "server.log", "m1-game-2.pbem.zip"):
        assert (folder / name).stat().st_size


def test_a_folder_that_it_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    done = demo(tmp_path)
    assert done.returncode == 1
    assert "was not made by the demo" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]
