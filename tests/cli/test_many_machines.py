"""The operator's commands on a store in PostgreSQL: beside real servers that share it, and without one."""

from __future__ import annotations

import contextlib
import json
import smtplib
import time
from typing import TYPE_CHECKING

import pytest
from cli.test_operator import House
from in_a_box.referee import Referee
from in_a_box.stores import of_postgresql, place
from machines.post_office import serving

from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = of_postgresql


class Town(House):
    """Servers that share a store, each at a port of its own; nobody takes what they send: it waits."""

    def __init__(self, folder: Path, store: str) -> None:
        super().__init__(folder)
        self.listen = 0
        self.take(store)

    @contextlib.contextmanager
    def server(self, name: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
        """A server, and the port at which it takes letters."""
        with serving(self.folder / f"{name}.json", "--config", str(self.config)) as (server, places):
            yield server, places["smtp"]["port"]


@pytest.fixture
def town(tmp_path: Path) -> Town:
    """Match m1 under way, turn 2 due."""
    folder = tmp_path / "played"
    folder.mkdir()
    referee = Referee(folder)
    ann, bob = referee.begun()
    referee.turn((ann, "Gx3 bGx1Gx3"), (bob, ""))
    address = referee.database.place
    referee.close()
    assert isinstance(address, PostgresqlAddress)
    return Town(tmp_path, address.url)


def test_two_servers_share_a_store_and_one_goes_on_when_the_other_is_killed(town: Town) -> None:
    letter = "From: eve{0}@mail.example\r\nMessage-ID: <{0}@mail.example>\r\n\r\nhelp\r\n"
    with town.server("one") as (one, _), town.server("other") as (_, port):
        assert "runs on 2 machines" in town.run("status")
        town.run("match", "pause", "m1", "--reason", "the weather")
        one.kill()
        one.wait()
        for number in range(5):
            with smtplib.SMTP("127.0.0.1", port, timeout=10) as smtp:
                smtp.sendmail(f"eve{number}@mail.example", ["pbem@play.example"], letter.format(number))
        end = time.monotonic() + 30
        while (found := json.loads(town.run("status", "--json")))["inbox"]["done"] < 15 and time.monotonic() < end:
            time.sleep(0.1)
    assert (found["inbox"]["done"], found["inbox"]["waiting"], found["inbox"]["leased"]) == (15, 0, 0)
    assert list(found["paused"]) == ["m1"]


def test_without_a_server_an_instruction_is_obeyed_at_once(town: Town) -> None:
    town.run("match", "pause", "m1", "--reason", "the weather")
    assert list(json.loads(town.run("status", "--json"))["paused"]) == ["m1"]
    told = town.run("doctor", "--no-mail", status=1)  # nobody runs, and the letters wait
    assert "all seals open" in told
    assert "pg_amcheck" in told
    assert "m1         playing" in told
    assert "verifies" in told


def test_what_cannot_be_done_here_is_said_in_a_sentence(town: Town) -> None:
    assert "pg_dump" in town.run("backup", str(town.folder / "backup"), status=4)
    (town.folder / "file").touch()
    assert "pg_restore" in town.run("restore", str(town.folder / "file"), "--yes", status=4)
    told = town.run("check-config", status=0)
    assert "pg_dump" in told
    assert "is there" in told


def test_a_store_moves_into_a_file_and_back(town: Town) -> None:
    (address,) = [line.split('"')[1] for line in town.config.read_text().split("\n") if line.startswith("store")]
    file, new = town.folder / "moved.sqlite", place(town.folder / "new")
    assert isinstance(new, PostgresqlAddress)
    with town.server("one"):
        assert "a server works on" in town.run("move-store", address, str(file), status=4)
    before = json.loads(town.run("status", "--json"))
    assert before["matches"] == {"playing": 1}
    assert "rows were copied" in town.run("move-store", address, str(file))
    town.take(str(file))
    assert json.loads(town.run("status", "--json")) == before
    assert "there is a store already" in town.run("move-store", str(file), address, status=4)
    town.run("move-store", str(file), new.url)
    town.take(new.url)
    assert json.loads(town.run("status", "--json")) == before
    assert "verifies" in town.run("doctor", "--no-mail", status=1)
    assert "there is no store" in town.run("move-store", str(town.folder / "nothing"), new.url, status=4)


def test_a_restore_goes_through_a_file(town: Town) -> None:
    """docs/many-machines.md, "Backup and restore": what was loaded from a dump begins a new generation."""
    (address,) = [line.split('"')[1] for line in town.config.read_text().split("\n") if line.startswith("store")]
    loaded, file, new = town.folder / "loaded.sqlite", town.folder / "pbem.sqlite", place(town.folder / "restored")
    assert isinstance(new, PostgresqlAddress)
    town.run("move-store", address, str(loaded))
    town.take(str(file))
    assert "generation 2" in town.run("restore", str(loaded), "--yes")
    town.run("move-store", str(file), new.url)
    town.take(new.url)
    found = json.loads(town.run("status", "--json"))
    assert (found["generation"], found["instructions"]) == (2, 1)
