"""The package as it is installed: what is in it, what an index shows, and what its light commands do without."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from data.material import WHEEL
from judges.bill_of_materials import BILL, bill, normal
from judges.golden import is_kept

from pbem.cli.command_table import COMMANDS
from pbem.cli.group import group

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).parents[1]
OWN = ("config/pbem.toml", "config/password", "config/init/password", "config/postfix/sasl_passwd")
"""Files that an operator may keep beside the examples in a checkout."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIGHT = ("replay", "verify", "sign", "play", "agent", "opponent", "witness", "page", "check-game", "new-game")

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from pbem.cli import main
main()
"""


SERVER = {*map(normal, PROJECT["optional-dependencies"]["server"])} - {"dnspython"}
HEAVY = sorted(module for module, names in packages_distributions().items() if SERVER & {*map(normal, names)})
"""The modules of the server's libraries; dnspython comes with dkimpy, too."""


ALONE = WITHOUT.replace("MISSING", repr(set(HEAVY)))
"""The start of a command where none of the server's libraries is installed."""


def run(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in this environment."""
    environment = os.environ | environment
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("verify", "tests/vectors/good/kind.pbem.zip"), 0, "Everything holds."),
        (("page", "spaceships"), 0, "<!DOCTYPE html>"),
        (("replay", "README.md"), 2, "README.md"),
        (("play", "--help"), 0, "register"),
        (("--help",), 0, "serve"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_light_command_needs_none_of_them(words: tuple[str, ...], status: int, said: str) -> None:
    if words[0] == "verify":
        words = ("verify", str(sorted((ROOT / "tests" / "vectors" / "good").glob("*.zip"))[0]))
    done = run(sys.executable, "-c", ALONE, *words)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_other_command_says_what_it_needs() -> None:
    code = ALONE.replace(" import main\nmain()", ".group import group\n")
    code += "from click.testing import CliRunner\nfor name in sys.argv[1:]:\n"
    code += "    done = CliRunner().invoke(group, [name, '--help'])\n"
    code += "    print(name, done.exit_code, done.output, end='')\n"
    names = sorted(COMMANDS.keys() - {*LIGHT, "init"})
    lines = run(sys.executable, "-c", code, *names).stdout.splitlines()
    assert len(lines) == len(names)
    for name, line in zip(names, lines, strict=True):
        assert line.startswith(f"{name} 4 Error: `pbem {name}` needs the libraries of the server")
        assert line.endswith("install pbem with them, as pbem[server]")


def test_completion_names_all_commands_and_imports_none() -> None:
    words = (sys.executable, "-c", ALONE)
    done = run(*words, _PBEM_COMPLETE="bash_complete", COMP_WORDS="pbem ", COMP_CWORD="1")
    assert {f"plain,{name}" for name in COMMANDS} <= set(done.stdout.split()), done.stderr


def test_the_manual_page_says_what_the_commands_say() -> None:
    # In a process of its own: commands name the games that are enabled when they are imported.
    manual = run(sys.executable, ".ci/manual.py").stdout
    assert (ROOT / "docs" / "pbem.1").read_text() == manual, "run `make manual`"
    for name in COMMANDS:
        assert f".SS pbem {name.replace('-', chr(92) + '-')}" in manual


def ours(folder: str) -> list[Path]:
    """The files of a folder that are the project's."""
    return [ROOT / name for name in run("git", "ls-files", folder).stdout.split()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built where an operator's own files lie beside ours."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("config", "docs", "examples", "pbem", "share", "templates"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in OWN:
        (folder / name).write_text("a secret")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completions_are_those_of_the_click_that_is_locked(shell: str) -> None:
    names = {"bash": "bash-completion/completions/pbem", "zsh": "zsh/site-functions/_pbem"}
    path = ROOT / "share" / names.get(shell, "fish/vendor_completions.d/pbem.fish")
    done = run(sys.executable, "-c", "from pbem.cli import main; main([])", _PBEM_COMPLETE=f"{shell}_source")
    assert path.read_text("utf-8") == done.stdout, "run `make manual`"


TYPED = {
    "bash": """
        source share/bash-completion/completions/pbem
        COMP_WORDS=(pbem ver); COMP_CWORD=1
        _pbem_completion pbem ver pbem; echo "${COMPREPLY[@]}"
        """,
    "zsh": """
        compdef() { registered=$1 }; compadd() { print -l -- $completions }
        _describe() { print -l -- ${completions_with_descriptions%%:*} }
        words=(pbem ver); CURRENT=2
        source share/zsh/site-functions/_pbem; $registered
        """,
    "fish": "source share/fish/vendor_completions.d/pbem.fish; complete -C 'pbem ver'",
}
"""In each shell: `pbem ver`, and the tabulator."""


@pytest.mark.parametrize("shell", TYPED)
def test_a_shell_completes_the_name_of_a_command(shell: str) -> None:
    """In bash always; in the others where they are installed."""
    if shell != "bash" and not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    done = run(shell, "-c", TYPED[shell], PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert done.stdout.split("\t")[0].split() == ["verify"], done.stderr


def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_holds_all_that_the_program_reads(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for folder, installed in (("templates", "pbem/templates"), ("pbem", "pbem")):
        files = [
            str(path.relative_to(ROOT)).removeprefix(folder)
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
        assert files
        assert {f"{installed}{name}" for name in files} <= names
    ours = ("tests", "bench", "verifier", "pbem/tests")
    assert not [name for name in names if name.startswith(ours) or "__pycache__" in name]
    assert any(name.endswith("share/man/man1/pbem.1") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_what_is_in_the_wheel_was_named_deliberately(wheel: zipfile.ZipFile) -> None:
    """`GOLDEN=write pytest tests/test_wheel.py` names it anew: look at what came or went before you commit it."""
    version = PROJECT["version"]
    names = sorted(name.replace(f"pbem-{version}", "pbem-VERSION", 1) for name in wheel.namelist())
    is_kept(WHEEL, "\n".join([*names, ""]))


def test_the_wheel_has_the_bill_of_materials_of_the_lock(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if "/sboms/" in name]
    assert name == f"pbem-{PROJECT['version']}.dist-info/sboms/{BILL.name}"
    assert wheel.read(name).decode() == bill(), "run `make materials`"


def test_no_address_is_invented(wheel: zipfile.ZipFile) -> None:
    """The project has none yet: whoever gives it one names it here first."""
    found = metadata(wheel)
    assert "urls" not in PROJECT
    assert [key for key in found.keys() if key in {"Project-URL", "Home-page", "Download-URL"}] == []  # noqa: SIM118
    invented = re.compile(r"https?://|www\.|@")
    assert not invented.search(str(found.get_payload()))
    assert not [value for key, value in found.items() if key != "Requires-Dist" and invented.search(value)]
    for name in ("docs/pbem.cdx.json", "Containerfile", "SECURITY.md"):
        assert "://" not in (ROOT / name).read_text("utf-8"), name


def test_a_new_game_comes_from_the_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    words = ("-P", "-c", "from pbem.cli import main; main()", "new-game", "new", "chess")
    done = run(sys.executable, *words, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    made = {path.relative_to(tmp_path / "new") for path in (tmp_path / "new").rglob("*") if path.is_file()}
    names = {path.relative_to(ROOT / "examples" / "marbles").as_posix() for path in ours("examples/marbles")}
    assert {path.as_posix().replace("chess", "marbles") for path in made} == names


def test_what_an_index_shows_points_at_nothing_that_is_not_there(wheel: zipfile.ZipFile) -> None:
    found = metadata(wheel)
    text = str(found.get_payload())
    assert "pbem verify" in text
    assert not re.findall(r"\]\(", text)
    assert (found["License-Expression"], found.get_all("License-File")) == ("MIT", ["LICENSE"])
    assert not [one for one in found.get_all("Classifier", []) if one.startswith("License ::")]  # PEP 639
    assert "MIT License" in (ROOT / "LICENSE").read_text()
    for name in re.findall(r"`pbem ([a-z-]+)", text):
        assert name in COMMANDS
    assert CliRunner().invoke(group, ["--version"]).output.strip().endswith(str(found["Version"]))
