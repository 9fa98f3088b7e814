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

from pbem.cli.command_table import COMMANDS
from pbem.cli.group import group
from pbem.cli.manual import manual

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).parents[1]
OWN = ("config/pbem.toml", "config/password", "config/init/password", "config/postfix/sasl_passwd")
"""What an operator may keep beside the examples in a checkout."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIGHT = ("replay", "verify", "sign", "play", "agent", "opponent", "witness", "page")

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


def distributions(requirements: list[str]) -> set[str]:
    """Their names, as they are compared (PEP 503)."""
    names = (re.split(r"[^\w.-]", requirement)[0] for requirement in requirements)
    return {re.sub(r"[._-]+", "-", name).lower() for name in names}


SERVER = distributions(PROJECT["optional-dependencies"]["server"]) - {"dnspython"}
HEAVY = sorted(module for module, names in packages_distributions().items() if distributions(names) & SERVER)
"""The modules of the server's libraries; dnspython comes with dkimpy, too."""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """A command where none of the server's libraries is installed."""
    code = WITHOUT.replace("MISSING", repr(set(HEAVY)))
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_libraries_of_the_server_are_known() -> None:
    assert {"aiosmtpd", "babel", "PIL", "sqlite_utils", "structlog", "flufl"} <= set(HEAVY)
    assert not set(HEAVY) & {"click", "cryptography", "dkim", "dns", "imap_tools", "jinja2", "msgspec"}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("verify", "tests/vectors/good/kind.pbem.zip"), 0, "Everything holds."),
        (("page", "spaceships"), 0, "<!DOCTYPE html>"),
        (("replay", "README.md"), 2, "README.md"),
        (("sign", "--help"), 0, "Sign a form"),
        (("play", "--help"), 0, "register"),
        (("agent", "--help"), 0, "Play sealed matches"),
        (("init", "--help"), 0, "configuration of a new server"),
        (("--help",), 0, "serve"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_light_command_needs_none_of_them(words: tuple[str, ...], status: int, said: str) -> None:
    if words[0] == "verify":
        words = ("verify", str(sorted((ROOT / "tests" / "vectors" / "good").glob("*.zip"))[0]))
    done = run(*words)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_other_command_says_what_it_needs() -> None:
    code = WITHOUT.replace("MISSING", repr(set(HEAVY))).replace(" import main\nmain()", ".group import group\n")
    code += "from click.testing import CliRunner\nfor name in sys.argv[1:]:\n"
    code += "    done = CliRunner().invoke(group, [name, '--help'])\n"
    code += "    print(name, done.exit_code, done.output, end='')\n"
    names = sorted(COMMANDS.keys() - {*LIGHT, "init"})
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(names)
    for name, line in zip(names, lines, strict=True):
        assert line.startswith(f"{name} 1 Error: `pbem {name}` needs the libraries of the server")
        assert line.endswith("pip install 'pbem[server]'")


def test_completion_names_all_commands_and_imports_none() -> None:
    code = WITHOUT.replace("MISSING", repr(set(HEAVY)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"_PBEM_COMPLETE": "bash_complete", "COMP_WORDS": "pbem ", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {f"plain,{name}" for name in COMMANDS} <= set(done.stdout.split()), done.stderr


def test_the_manual_page_says_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "pbem.1").read_text() == manual(), "run `make manual`"
    for name in COMMANDS:
        assert f".SS pbem {name.replace('-', chr(92) + '-')}" in manual()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built where an operator's own files lie beside ours."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("config", "docs", "pbem", "templates"):
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
    assert not [name for name in names if name.startswith(("tests", "bench", "pbem/tests")) or "__pycache__" in name]
    assert any(name.endswith("share/man/man1/pbem.1") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_of_the_configuration_the_wheel_holds_our_examples_alone(wheel: zipfile.ZipFile) -> None:
    """Those for compose are of no use without the checkout that builds the image."""
    known = subprocess.run(["git", "ls-files", "config"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = {name.removeprefix("config/") for name in known.split() if not name.startswith("config/compose/")}
    examples = "pbem/examples/"
    held = {name.removeprefix(examples) for name in wheel.namelist() if name.startswith(examples)}
    assert held == ours


def test_what_an_index_shows_points_at_nothing_that_is_not_there(wheel: zipfile.ZipFile) -> None:
    found = metadata(wheel)
    text = str(found.get_payload())
    assert "pbem verify" in text
    assert not re.findall(r"\]\(", text)
    assert found["License-Expression"] == "MIT"
    assert "MIT License" in (ROOT / "LICENSE").read_text()
    for name in re.findall(r"`pbem ([a-z-]+)", text):
        assert name in COMMANDS
    assert CliRunner().invoke(group, ["--version"]).output.strip().endswith(str(found["Version"]))
