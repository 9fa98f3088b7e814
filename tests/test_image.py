"""The image, and config/compose: what gets in, what it is made of, and that each part that is named is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from click import Group
from data.material import WHEEL, of_checkout

from pbem.cli.group import group
from pbem.config.file import load
from pbem.store_place import PostgresqlAddress

ROOT = Path(__file__).parent.parent
PATTERNS = [
    line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and not line.startswith("#")
]
STEPS = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
BUILDING, LAST = STEPS.split("\nFROM ")[1:]
LOCK = (ROOT / "requirements-image.lock").read_text("utf-8")
BACKEND = (ROOT / "requirements-build.lock").read_text("utf-8")
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
    """Return whether a file of the build's folder goes to the builder: the last pattern that matches it decides."""
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
    """Return whether a path matches a pattern part by part: a `*` ends at a slash."""
    one, other = path.split("/"), pattern.split("/")
    return len(one) == len(other) and all(map(fnmatchcase, one, other))


def context(folder: Path) -> Path:
    """The files that the builder gets of a checkout in which an operator keeps secrets."""
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


@of_checkout
def test_what_is_sent_makes_a_package_that_can_begin(tmp_path: Path) -> None:
    """As the image's first stage does, offline, with the builder's own hatchling."""
    source = context(tmp_path / "src")
    assert (source / "requirements-image.lock").is_file()
    assert (source / "requirements-build.lock").is_file()
    assert "cd /src && /opt/build/bin/python -m hatchling build -t wheel -d /wheel" in BUILDING
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(path).namelist()
    version = path.name.split("-")[1]
    assert sorted(name.replace(version, "VERSION", 1) for name in names) == WHEEL.read_text("utf-8").splitlines()


def test_every_package_that_is_installed_has_a_hash() -> None:
    installs = re.findall(r"pip install ([^&\n]*)", STEPS)
    assert len(installs) == 3
    for words in installs:
        assert re.search(r"--require-hashes -r /src/requirements-(build|image)\.lock", words) or (
            {"--no-deps", "--no-index", "/wheel/pbem-*.whl"} <= set(words.split())
        ), words
    for lock in (LOCK, BACKEND):
        assert all("--hash=sha256:" in package for package in re.split(r"\n(?=[a-z])", lock.strip()))


def test_only_what_runs_is_in_the_last_stage() -> None:
    assert re.findall(r"(?m)^COPY (.*)$", LAST) == ["--from=build /opt/pbem /opt/pbem"]
    assert "pip" not in LAST
    assert "hatchling" not in LOCK


def test_it_runs_as_a_user_whose_number_says_that_it_is_not_root() -> None:
    (user, number) = re.findall(r"(?m)^USER (\d+):(\d+)$", LAST)[0]
    assert user == number != "0"
    assert f"useradd --uid {user} --user-group" in LAST


def test_its_labels_say_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', LAST)) == {
        "title": project["name"],
        "description": project["description"],
        "version": project["version"],
        "licenses": project["license"],
    }


def test_the_lock_of_the_image_has_what_a_server_needs_in_the_tested_versions() -> None:
    def pinned(lock: str) -> dict[str, str]:
        return dict(re.findall(r"(?m)^([a-z0-9.-]+)==([^ ;]+)", lock))

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["server"], "psycopg", "psycopg-binary"]
    names = {re.split(r"[^\w.-]", one)[0].replace(".", "-") for one in wanted}
    image, tested = pinned(LOCK), pinned((ROOT / "requirements.lock").read_text("utf-8"))
    assert names <= image.keys()
    both = image | pinned(BACKEND)
    assert {name: version for name, version in both.items() if tested.get(name, version) != version} == {}
    assert not {"pytest", "mypy", "ruff"} & both.keys()


# config/compose: no container is made of it here.


FOLDER = ROOT / "config" / "compose"
COMPOSE: dict[str, Any] = json.loads((FOLDER / "compose.json").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("one", "two")
KEYS = {"build", "depends_on", "environment", "healthcheck", "image", "ports", "restart", "volumes"}
"""The keys of a service in the Compose specification that are used here."""

CONDITIONS = {"service_started", "service_healthy"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_what_the_specification_knows(name: str) -> None:
    service = SERVICES[name]
    assert COMPOSE.keys() == {"name", "services", "volumes"}
    assert service.keys() <= KEYS
    assert isinstance(service["image"], str)
    assert all(isinstance(value, str) for value in service.get("environment", {}).values())
    for port in service.get("ports", ()):
        host, outside, inside = port.split(":")
        assert host == "127.0.0.1", "nobody else's business"
        assert outside.isdecimal()
        assert inside.isdecimal()
    for volume in service.get("volumes", ()):
        source = volume.split(":")[0]
        assert (FOLDER / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]
    for other, how in service.get("depends_on", {}).items():
        assert how["condition"] in CONDITIONS
        assert "healthcheck" in SERVICES[other] or how["condition"] == "service_started"
    if check := service.get("healthcheck"):
        assert check["test"][0] == "CMD"


def test_its_image_is_made_from_the_file_in_this_repository() -> None:
    build = SERVICES["one"]["build"]
    file = (FOLDER / build["context"]).resolve() / build["dockerfile"]
    assert file == ROOT / "Containerfile"
    assert SERVICES["one"]["image"] == SERVICES["two"]["image"]


@pytest.mark.parametrize("name", OURS)
def test_a_server_finds_its_configuration_its_keys_and_the_others(name: str) -> None:
    service = SERVICES[name]
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in service["volumes"]}
    config = load(FOLDER / mounted[service["environment"]["PBEM_CONFIG"]])
    assert str(config.keys.parent) in mounted
    assert isinstance(config.store, PostgresqlAddress)
    database = SERVICES["database"]["environment"]
    assert config.store.url == f"postgresql://{database['POSTGRES_USER']}@database/{database['POSTGRES_DB']}"
    assert config.smarthost.host in SERVICES
    assert service["ports"][0].endswith(f":{config.smtp.listen.port}")
    program, command = service["healthcheck"]["test"][1:]
    assert program == "pbem"
    assert isinstance(group, Group)
    assert group.get_command(group.make_context("pbem", ["--help"], resilient_parsing=True), command) is not None


def test_the_second_begins_when_the_first_has_made_the_keys() -> None:
    assert SERVICES["two"]["depends_on"]["one"]["condition"] == "service_healthy"
    assert len({port for name in OURS for port in SERVICES[name]["ports"]}) == len(OURS)
