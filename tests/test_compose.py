"""config/compose: its form, and that what it names is there; no container was ever made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click import Group

from pbem.cli.group import group
from pbem.config.file import load
from pbem.store_place import PostgresqlAddress

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "config" / "compose"
COMPOSE: dict[str, Any] = json.loads((FOLDER / "compose.json").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("one", "two")
KEYS = {"build", "depends_on", "environment", "healthcheck", "image", "ports", "restart", "volumes"}
"""Of a service, those of the Compose specification that are used here."""

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
