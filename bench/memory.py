"""What the daemon holds in memory: idle, with idle connections, and after many letters."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench import load, servers
from bench.measure import Goal, Part
from bench.table import Table

CONNECTIONS = 500
LETTERS = 20_000
KIB = 1024


def measure(_rounds: int) -> list[Part]:
    """The daemon's resident memory, and the shares of a connection and of letters in it."""
    part = Part("Memory of the daemon", "MiB resident")
    with ExitStack() as stack:
        folder = stack.enter_context(servers.folder())
        Table(folder).referee.close()
        port = servers.free_port()
        command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port)]
        process = stack.enter_context(servers.running(command, port))
        idle = _resident(process)
        (desk,) = _children(process)
        part.figures["idle"] = [idle / KIB]
        part.figures["its desk, idle"] = [_resident(desk) / KIB]
        part.goals.append(Goal("the idle daemon", idle / KIB, 70, unit=" MiB", most=True))
        load.letters(port, 200)
        _worked_off(folder)
        before = _resident(process)
        talks = [stack.enter_context(_connected(port)) for _ in range(CONNECTIONS)]
        share = (_resident(process) - before) / CONNECTIONS
        part.goals.append(Goal(f"each of {CONNECTIONS} idle connections", share, 12, unit=" KiB", most=True))
        for talk in talks:
            talk.close()
        load.letters(port, 1000)
        _worked_off(folder)
        before = _resident(process) + _resident(desk)
        load.letters(port, LETTERS)
        _worked_off(folder)
        after = _resident(process) + _resident(desk)
        part.figures[f"both after {LETTERS:,} letters"] = [after / KIB]
        growth = (after - before) / KIB
        part.goals.append(Goal(f"growth over {LETTERS:,} letters", growth, 10, unit=" MiB", most=True))
        readers = sum(map(_resident, _children(desk)))
        part.notes.append(f"the reader, a process of its own, beside them: {readers / KIB:.0f} MiB")
    return [part]


def _connected(port: int) -> socket.socket:
    talk = socket.create_connection(("127.0.0.1", port))
    talk.recv(100)
    talk.sendall(b"EHLO mail.example\r\n")
    talk.recv(500)
    return talk


def _worked_off(folder: Path) -> None:
    """Wait until the desk has nothing left to do: what it takes is none of a connection's."""
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite", timeout=10)) as store:
        while store.execute("SELECT 1 FROM inbox WHERE state IN ('waiting', 'leased') LIMIT 1").fetchone():
            time.sleep(0.1)


def _resident(process: int) -> float:
    """KiB."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]
