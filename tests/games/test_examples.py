"""Our examples of packages with games: their own tests, matches by mail, and proofs with and without the package."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

import pytest
from babel.messages.pofile import read_po
from click.testing import CliRunner
from in_a_box.outside import enabled, found_in, install
from in_a_box.referee import Referee, attachment, form_in, new
from in_a_box.sealed_seats import agreed
from in_a_box.sealed_seats import play as play_sealed
from judges.messages import PLACE
from playing import random_players

from pbem.cli.group import group
from pbem.testing import subject

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "marbles": ROOT / "examples" / "marbles",
    "battleship": ROOT / "examples" / "pbem-battleship",
    "diplomacy": ROOT / "examples" / "pbem-diplomacy",
    "liars-dice": ROOT / "examples" / "pbem-liars-dice",
}
"""By game: the folder of the package."""


def source(game: str) -> Path:
    return EXAMPLES[game] / f"pbem_{game.replace('-', '_')}"


def test_each_example_is_here() -> None:
    for game, folder in EXAMPLES.items():
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        assert project["entry-points"]["pbem.games"] == {game: source(game).name}
    assert sorted(EXAMPLES.values()) == sorted((ROOT / "examples").iterdir())


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=pytest.mark.long) if game != "marbles" else game for game in EXAMPLES]
)
def test_its_own_tests_pass(game: str, tmp_path: Path) -> None:
    """They run as their writers run them, with the kit and its match by mail."""
    install(tmp_path, f"pbem-{game}", game=game, source=source(game))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, "tests"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        cwd=EXAMPLES[game],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("game", [game for game in EXAMPLES if (source(game) / "templates" / "de").exists()])
def test_its_german_is_complete(game: str, tmp_path: Path) -> None:
    """The command in its pyproject.toml, which its translators use, finds nothing to translate."""
    pot = tmp_path / "messages.pot"
    extract = ["--quiet", "extract", "-F", "pyproject.toml", "-k", "Phrase", "-o", str(pot), "."]
    command = [sys.executable, "-m", "babel.messages.frontend", *extract]
    subprocess.run(command, cwd=EXAMPLES[game], check=True, capture_output=True)
    with pot.open("rb") as one, (source(game) / "templates" / "de" / "messages.po").open("rb") as other:
        said = {message.id for message in read_po(one) if message.id}
        german = [message for message in read_po(other, locale="de", abort_invalid=True) if message.id]
    assert said == {message.id for message in german}
    for message in german:
        english, own = (each if isinstance(each, tuple | list) else [each] for each in (message.id, message.string))
        assert not message.fuzzy
        assert all(own), english
        assert sorted(PLACE.findall(str(english[-1]))) == sorted(PLACE.findall(str(own[-1]))), english


def play(referee: Referee, game: str) -> bytes:
    """The bundle of a match by mail that is played to its end."""
    random, players = Random(f"by mail {game}"), subject(game).players
    raw, seats = players.options[0]
    people = [referee.registered(name) for name in ("ann", "bob", "cid")[:seats]]
    lines = "".join(f"{key}: {value}\n" for key, value in raw.items())
    referee.send(people[0], new(people[0], game, *(one.name for one in people[1:]), options=lines))
    for one in people[1:]:
        referee.send(one, form_in(one.text, "accept", lines=1))
    while (match := referee.match()).phase in {"setup", "playing"}:
        seat = next(seat for seat in match.seats if match.asked(seat))
        person = people[seat - 1]
        if match.phase == "setup":
            referee.send(person, person.filled("setup", players.setup(random, match.options, seat)))
        else:
            text = players.orders(random, dict(match.view(seat) or {}))
            referee.send(person, person.filled("orders", f"final\n{text}"))
    return attachment(people[0].find("the end"), ".zip")


def verified(file: Path, *games: str) -> tuple[int, str]:
    """The status and the output of `pbem verify`."""
    done = CliRunner().invoke(group, [*(word for game in games for word in ("--game", game)), "verify", str(file)])
    return done.exit_code, done.output


@pytest.mark.parametrize("game", ["marbles", "liars-dice", pytest.param("diplomacy", marks=pytest.mark.long)])
def test_a_match_by_mail_is_proved_where_the_package_is(game: str, tmp_path: Path) -> None:
    file = tmp_path / "m1.pbem.zip"
    with enabled(tmp_path / "site", game, source(game)):
        referee = Referee(tmp_path)
        file.write_bytes(play(referee, game))
        referee.close()
    status, said = verified(file)
    assert status == 3
    assert f'OPEN  rules      the rules of "{game}" are not installed: pip install pbem-{game}==0.1.0, if you' in said
    with found_in(tmp_path / "site"):
        status, said = verified(file)
        assert status == 3
        assert f'the game "{game}" of pbem-{game} 0.1.0 is not enabled: pbem --game {game}' in said
        status, said = verified(file, game)
        assert (status, "by the very code that was agreed on" in said) == (0, True), said


def nothing_is_hit(step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{line.split()[0]} miss" for line in lines) if step == "answers" else lines


@pytest.mark.parametrize("lie", [False, True])
def test_a_sealed_match_is_proved_and_a_false_answer_convicted(
    lie: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = "battleship"
    with enabled(tmp_path / "site", game, source(game)):
        players = subject(game).players
        monkeypatch.setitem(random_players.PLAYERS, game, players)
        raw, _ = players.options[0]
        referee = Referee(tmp_path)
        lines = "".join(f"{key}: {value}\n" for key, value in raw.items())
        ann, bob = agreed(referee, "ann", "bob", game=game, options=lines)
        if lie:
            bob.lie = nothing_is_hit
        play_sealed(referee, [ann, bob])
        match = referee.match()
        assert match.phase == "closed"
        assert (match.games[0].reason, match.games[0].winners) == (
            ("false", (1,)) if lie else ("rules", match.games[0].winners)
        )
        file = tmp_path / "m1.pbem.zip"
        file.write_bytes(attachment(ann.box.find("the end"), ".zip"))
        referee.close()
        status, said = verified(file, game)
        assert status == 0, said
    status, said = verified(file)
    assert (status, "OPEN  rules" in said) == (3, True), said
