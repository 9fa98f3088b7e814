"""The image: what gets into it, and that it is made of what the lock names; no container was ever made of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATTERNS = [
    line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and not line.startswith("#")
]
STEPS = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
LOCK = (ROOT / "requirements-image.lock").read_text("utf-8")
SECRETS = (
    *(
        "pbem.toml",
        "password",
        "secret.env",
        "keys/store.key",
        "keys/signing.key",
        "games/pbem.toml",
        "games/password",
    ),
    *("pbem.sqlite", "pbem.sqlite-wal", "pbem.sqlite.lock", ".git/config", ".env", "docs/password", "backup.sqlite"),
    *("config/pbem.toml", "config/password", "config/keys/store.key", "config/compose/pbem.toml"),
)


def sent(path: str) -> bool:
    """Whether a file of the build's folder goes to the builder: the last pattern that matches it decides."""
    ways = [path, *map(str, Path(path).parents)]
    found = True
    for pattern in PATTERNS:
        bare = pattern.removeprefix("!")
        anywhere = bare.removeprefix("**/")
        if any(fits(way, bare) for way in ways) or (
            anywhere != bare and any(fits(p, anywhere) for p in Path(path).parts)
        ):
            found = pattern.startswith("!")
    return found


def fits(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern part by part: a `*` ends at a slash."""
    one, other = path.split("/"), pattern.split("/")
    return len(one) == len(other) and all(map(fnmatchcase, one, other))


def context(folder: Path) -> Path:
    """What the builder of this checkout gets, where an operator keeps secrets in it."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(sent, [*known.split("\0")[:-1], *SECRETS]):
        there = folder / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if name in SECRETS and name != "config/compose/pbem.toml":
            there.write_text("a secret")
        else:
            shutil.copy(ROOT / name, there)
    return folder


def test_no_secret_of_an_operator_is_sent_to_the_builder() -> None:
    assert [name for name in SECRETS if sent(name)] == []
    assert not sent("pbem/__pycache__/config.cpython-313.pyc")


def test_what_is_sent_makes_a_package_that_can_begin(tmp_path: Path) -> None:
    """As the image's last step does, offline, with the builder's own hatchling."""
    source = context(tmp_path / "src")
    assert (source / "requirements-image.lock").is_file()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(path).namelist()
    assert {"pbem/cli/serve.py", "pbem/examples/pbem.example.toml", "pbem/examples/init/mailbox.toml"} <= set(names)
    assert {
        f"pbem/{name}"
        for name in subprocess.run(
            ["git", "ls-files", "templates"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    } <= set(names)


def test_every_package_that_is_installed_has_a_hash() -> None:
    for step in re.findall(r"pip install [^&\n]*", STEPS):
        assert ("--require-hashes -r /src/requirements-image.lock" in step) or (
            {"--no-deps", "--no-index", "--no-build-isolation"} <= set(step.split())
        ), step
    assert len(re.findall("pip install ", STEPS)) == 2
    packages = re.split(r"\n(?=[a-z])", LOCK.strip())
    assert all("--hash=sha256:" in package for package in packages)


def test_the_lock_of_the_image_has_what_a_server_needs_in_the_tested_versions() -> None:
    def pinned(lock: str) -> dict[str, str]:
        return dict(re.findall(r"(?m)^([a-z0-9.-]+)==([^ ;]+)", lock))

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["server"], "psycopg", "psycopg-binary"]
    names = {re.split(r"[^\w.-]", one)[0].replace(".", "-") for one in wanted}
    image, tested = pinned(LOCK), pinned((ROOT / "requirements.lock").read_text("utf-8"))
    assert names | {"hatchling"} <= image.keys()
    assert {name: version for name, version in image.items() if tested.get(name, version) != version} == {}
    assert not {"pytest", "mypy", "ruff"} & image.keys()
