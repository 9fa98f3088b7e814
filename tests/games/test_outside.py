"""Games of other packages: which are found, which are refused and by whose fault, and what is never imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from games.test_kit import rewrite
from in_a_box.outside import enabled, found_in, install, record

from pbem.games import BUILT_IN, GAMES, part_of, rules, titles
from pbem.games.outside import PACKAGES, Package, UnusableGame, enable, not_enabled, template_folders
from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(*games: str) -> str:
    with pytest.raises(UnusableGame) as caught:
        enable(games)
    assert GAMES == {**BUILT_IN}
    assert not PACKAGES
    return str(caught.value)


def test_a_game_that_is_enabled_is_there_with_its_templates_and_its_parts(tmp_path: Path) -> None:
    with enabled(tmp_path):
        enable(["marbles"])  # again
        assert rules("marbles").title == "Marbles" == titles()["marbles"]
        assert part_of("marbles", "boards") is None
        assert template_folders()[1:] == (tmp_path / "pbem_marbles" / "templates",)
        assert "MARBLES" in Templates().render("marbles/rules.txt")
    assert GAMES == {**BUILT_IN}


def test_a_package_may_translate_its_words_and_none_of_ours(tmp_path: Path) -> None:
    folder = install(tmp_path) / "templates" / "de"
    (folder / "marbles").mkdir(parents=True)
    (folder / "marbles" / "rules.txt").write_text("MURMELN\n", "utf-8")
    said = {"A number was guessed.": "Eine Zahl wurde geraten.", "say `{verb}`": "x", "Sent on.\\n": "Theirs.\\n"}
    entries = "".join(f'msgid "{english}"\nmsgstr "{german}"\n\n' for english, german in said.items())
    head = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=utf-8\\n"\n\n'
    (folder / "messages.po").write_text(head + entries, "utf-8")
    with found_in(tmp_path):
        enable(["marbles"])
        german = Templates(language="de")
        events = german.environment.get_template("marbles/events.txt").module
        assert str(events.summary([], 1, {})) == "Eine Zahl wurde geraten."  # type: ignore[attr-defined]
        assert german.render("marbles/rules.txt") == "MURMELN\n"
        assert german.render("answers/press.txt") == Templates(*template_folders()[:1], language="de").render(
            "answers/press.txt"
        )


def test_what_is_not_named_is_not_imported(tmp_path: Path) -> None:
    (install(tmp_path) / "__init__.py").write_text("raise SystemExit('imported')\n")
    with found_in(tmp_path):
        enable([])
        assert not_enabled("marbles") == (
            'the game "marbles" of pbem-marbles 0.1.0 is not enabled: pbem --game marbles'
        )
        assert not_enabled("chess") == 'the rules of "chess" are not installed'
        assert not_enabled("../../etc") == 'the rules of "../../etc" are not installed'
        assert "pbem_marbles" not in sys.modules


def test_a_game_of_our_own_cannot_be_taken(tmp_path: Path) -> None:
    install(tmp_path, game="spaceships")
    with found_in(tmp_path):
        assert refused("spaceships") == (
            '"spaceships" is a game of pbem itself: it is always enabled, and no package can replace it'
        )
        assert rules("spaceships").title == "Spaceships"


def test_two_packages_with_one_game_are_both_named(tmp_path: Path) -> None:
    install(tmp_path / "one")
    install(tmp_path / "other", name="pbem-more-marbles", version="2.0")
    with found_in(tmp_path / "one", tmp_path / "other"):
        assert refused("marbles") == (
            'there are two games "marbles", of pbem-marbles 0.1.0 and pbem-more-marbles 2.0:'
            " uninstall one of the packages"
        )
        assert not {name for name in sys.modules if name.startswith("pbem_")}


@pytest.mark.parametrize("game", ["letters", "de", "Chess", "", "a b", "-", "../x"])
def test_some_names_are_none_of_a_game(game: str, tmp_path: Path) -> None:
    with found_in(tmp_path):
        assert refused(game) == f'no game can be named "{game}"'


def test_a_game_that_nobody_has_is_refused(tmp_path: Path) -> None:
    with found_in(tmp_path):
        assert refused("chess") == 'no package that is installed here has a game "chess"'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "INTERFACE = 1",
            "INTERFACE = 2",
            "is for interface 2 of games, and this pbem has interface 1: install another",
        ),
        ("INTERFACE = 1", "", "is for interface None of games"),
        ("RULES = Rules()", "", 'has no RULES with the name "marbles"'),
        ('name = "marbles"', 'name = "spaceships"', 'has no RULES with the name "marbles"'),
        ("RULES = Rules()", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
    ],
)
def test_a_game_that_does_not_fit_is_refused_in_a_sentence(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    rewrite(install(tmp_path) / "__init__.py", before, after)
    with found_in(tmp_path):
        message = refused("marbles")
        assert message.startswith('the game "marbles" of pbem-marbles 0.1.0 ')
        assert said in message


def test_a_single_module_is_refused(tmp_path: Path) -> None:
    install(tmp_path)
    rewrite(tmp_path / "pbem_marbles-0.1.0.dist-info" / "entry_points.txt", "pbem_marbles", "pbem_marbles.rules")
    (tmp_path / "pbem_marbles" / "rules.py").write_text("from pbem_marbles import INTERFACE, RULES\n")
    with found_in(tmp_path):
        assert "is one module, and no package" in refused("marbles")


# The identity of the code.


def code(site: Path) -> str | None:
    with found_in(site):
        enable(["marbles"])
        return PACKAGES["marbles"].code


def test_the_code_is_hashed_as_it_is(tmp_path: Path) -> None:
    """Whatever RECORD says of it: and neither byte code nor what pip writes beside it count."""
    folder = install(tmp_path)
    first = code(tmp_path)
    assert first is not None
    assert code(tmp_path) == first, "byte code has been written since"
    info = tmp_path / "pbem_marbles-0.1.0.dist-info"
    (info / "INSTALLER").write_text("pip\n")
    record(tmp_path, "pbem_marbles")
    rewrite(info / "RECORD", "\n", "\n\n")
    assert code(tmp_path) == first
    rewrite(folder / "templates" / "marbles" / "rules.txt", "MARBLES", "MARBLE")
    second = code(tmp_path)
    (folder / "more.py").write_text("")
    record(tmp_path, "pbem_marbles")
    assert len({first, second, code(tmp_path)}) == 3
    (folder / "more.py").unlink()
    with found_in(tmp_path):
        assert "is damaged: " in refused("marbles")


@pytest.mark.parametrize(
    ("requires", "known"),
    [("click", True), ("click>=99", True), (f"click=={version('click')}", True), ("click==99", False),
     ("click (==99)", False), ("none-of-this-name==1", False), ("none-of-this-name==1 ; extra == 'x'", True)],
)  # fmt: skip
def test_code_is_other_code_without_the_libraries_that_it_pins(tmp_path: Path, requires: str, *, known: bool) -> None:
    install(tmp_path)
    (metadata,) = tmp_path.glob("*.dist-info/METADATA")
    metadata.write_text(f"{metadata.read_text()}Requires-Dist: {requires}\n")
    assert (code(tmp_path) is not None) == known


def test_code_that_lies_elsewhere_has_no_hash(tmp_path: Path) -> None:
    """`pip install -e` leaves it elsewhere."""
    folder = install(tmp_path / "site")
    folder.rename(tmp_path / "pbem_marbles")
    info = tmp_path / "site" / "pbem_marbles-0.1.0.dist-info"
    (tmp_path / "site" / "_marbles.pth").write_text(f"{tmp_path}\n")
    (info / "RECORD").write_text(f"_marbles.pth,,\n{info.name}/RECORD,,\n")
    with found_in(tmp_path / "site", tmp_path):
        enable(["marbles"])
        assert PACKAGES["marbles"] == Package("pbem-marbles", "0.1.0", None)


@pytest.mark.parametrize(
    "wrong",
    [
        *(None, {}, [], "pbem-marbles"),
        {"name": "a", "version": "1"},
        {"name": "a", "version": "1", "code": "0" * 63},
        {"name": "a b", "version": "1", "code": None},
        {"name": "a", "version": "1; true", "code": None},
        {"name": "-r", "version": "1", "code": None},
        {"name": "a", "version": "1", "code": None, "more": 1},
    ],
)
def test_what_names_no_package_is_refused(wrong: object) -> None:
    """A server may write anything into its terms; it is printed as part of a command."""
    with pytest.raises(ValueError, match="no package"):
        Package.read(wrong)


# The command line.


def pbem(site: Path, *words: str, games: str = "") -> subprocess.CompletedProcess[str]:
    code = "import sys; from pbem.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.pathsep.join(sys.path)}", "PBEM_GAMES": games}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False
    )


RECORD = """record = 1
game = "marbles"
[[seat]]
setup = "hide 3"
[[seat]]
setup = "hide 4"
[[turn]]
1 = "guess 4"
"""


@pytest.mark.parametrize(
    "enabling",
    [
        lambda *words: (("--game", "marbles", *words), ""),
        lambda *words: (words, "marbles"),
    ],
)
def test_a_player_enables_a_game_by_an_option_or_for_all_commands(
    enabling: Callable[..., tuple[tuple[str, ...], str]], tmp_path: Path
) -> None:
    install(tmp_path)
    file = tmp_path / "game.pbem.toml"
    file.write_text(RECORD)
    refused = pbem(tmp_path, "replay", str(file))
    assert refused.returncode == 2
    assert 'no record of a known game: the game "marbles" of pbem-marbles 0.1.0 is not enabled' in refused.stdout
    words, games = enabling("replay", str(file))
    done = pbem(tmp_path, *words, games=games)
    assert "seat 1 guess number: 4 answer: right hidden: 4" in done.stdout
    assert done.returncode == 0
    wrong = pbem(tmp_path, "--game", "chess", "replay", str(file))
    assert wrong.returncode == 2
    assert 'Error: no package that is installed here has a game "chess"' in wrong.stderr


def test_a_proof_without_the_package_of_a_game_is_no_wrong_use(tmp_path: Path) -> None:
    bundle = Path(__file__).parents[1] / "vectors" / "good" / "ssh.pbem.zip"
    done = pbem(tmp_path, "--game", "chess", "verify", str(bundle))
    assert (done.returncode, done.stderr) == (0, "")
