"""The house beside a server: what it is given, how it is started, started again and stopped. A script plays it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from machines.house import configured
from machines.lives import lives
from structlog.testing import capture_logs

from pbem.config.server import HousePlayer
from pbem.server import house_program
from pbem.server.examination import surroundings
from pbem.server.house_program import HouseProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest


TELLS = """
import json, os, sys, time
descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
told = {"pid": os.getpid(), "words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
told["open"] = [one for one in descriptors if os.path.exists(f"/proc/self/fd/{one}")]
with open("told.part", "w") as file:
    json.dump(told, file)
os.rename("told.part", "told.json")
time.sleep(600)
"""
"""Says what it was given, and stays."""


def script(text: str, *words: str) -> Sequence[str]:
    return (sys.executable, "-c", text, *words)


def watch(program: HouseProgram, condition: Callable[[], object]) -> None:
    """Let it work until then, and stop it."""

    async def main() -> None:
        working = asyncio.create_task(program.work())
        try:
            async with asyncio.timeout(20):
                while not condition():  # noqa: ASYNC110 - the condition is a file's, not an event of ours
                    await asyncio.sleep(0.01)
        finally:
            program.stop()
            await asyncio.wait_for(working, 20)

    asyncio.run(main())


def test_the_house_inherits_nothing_of_the_server(tmp_path: Path) -> None:
    secret = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(secret, True)
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "PGPASSWORD": "secret", "NOTIFY_SOCKET": "@x"}
    told = tmp_path / "told.json"
    program = HouseProgram(script(TELLS), tmp_path, environment)

    try:
        watch(program, told.exists)
    finally:
        os.close(secret)
    found = json.loads(told.read_text())
    assert found["environment"] == {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}
    assert found["open"] == [0, 1, 2]
    assert found["folder"] == str(tmp_path)
    assert not lives(found["pid"])
    assert program.deaths == 0


def test_one_that_dies_is_started_again_after_growing_pauses(tmp_path: Path) -> None:
    dies = 'import sys; open("lives", "a").write("x"); sys.exit(3)'
    program = HouseProgram(script(dies), tmp_path, os.environ, first=0.01)

    with capture_logs() as logs:
        watch(program, lambda: program.deaths == 4)
    deaths = [line for line in logs if line["event"] == "house died"]
    assert [line["again_in"] for line in deaths] == [0.01, 0.02, 0.04, 0.08]
    assert {(line["status"], line["log_level"]) for line in deaths} == {(3, "warning")}
    assert (tmp_path / "lives").read_text() == "xxxx"


def test_one_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house_program, "LAST_MOMENTS", 0.1)
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{TELLS}"
    told = tmp_path / "told.json"
    program = HouseProgram(script(deaf), tmp_path, os.environ)

    watch(program, told.exists)
    assert not lives(json.loads(told.read_text())["pid"])


def test_the_house_ends_when_the_server_is_killed(tmp_path: Path) -> None:
    house = f"from pbem.bound_process import end_with_its_parent; end_with_its_parent()\n{TELLS}"
    server = (
        "import asyncio, os, pathlib, sys; from pbem.server.house_program import HouseProgram;"
        " asyncio.run(HouseProgram(sys.argv[2:], pathlib.Path(sys.argv[1]), os.environ).work())"
    )
    told = tmp_path / "told.json"
    with subprocess.Popen(script(server, str(tmp_path), *script(house)), stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 20
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    house_process = json.loads(told.read_text())["pid"]
    while lives(house_process) and time.monotonic() < end:
        time.sleep(0.01)
    assert not lives(house_process)


def test_check_config_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "opponent.toml"
    config = configured(tmp_path, house=HousePlayer(config=str(file)))
    assert [one.found for one in surroundings(config) if one.what == "house"] == [f"{file} cannot be read"]
    file.touch()
    assert [one.found for one in surroundings(config) if one.what == "house"] == [
        "nobody can register as house: give its address"
    ]
    config = configured(tmp_path, house=HousePlayer(config=str(file), address="house@mail.example"))
    assert [one for one in surroundings(config) if one.what == "house"] == []
