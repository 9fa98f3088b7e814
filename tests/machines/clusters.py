"""A database of PostgreSQL with a standby, in processes of our own: it fails over when the first one dies.

Debian's programs, as in `.ci/postgresql`: in a temporary folder, reachable by Unix sockets in it alone. A commit
waits for the standby. After a failover the standby is the database, and a new standby is made of it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from machines.lives import PATIENCE, children

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET = ".s.PGSQL.5432"
_SHARED_MEMORY = Path("/dev/shm")


def _programs() -> Path:
    """The folder of Debian's newest PostgreSQL programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return found[-1]


@dataclass
class Node:
    """One server of PostgreSQL: its folder has the data and the socket."""

    folder: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it as a machine ends whose power fails: all of its processes at once."""
        os.kill(self.process.pid, signal.SIGSTOP)  # it starts no further one
        for process in (*children(self.process.pid), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()


class Pair:
    """A database and its standby."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failovers = 0
        self._nodes = 0
        self._running: list[Node] = []
        self._following = threading.Thread(target=self._follow, name="standby")
        self._closing = False
        self.standby: Node | None = None

    def begin(self) -> None:
        """Start both, and let commits wait for the standby."""
        self.alone()
        self._follow()
        give_up = time.monotonic() + PATIENCE
        while self.say("SELECT state FROM pg_stat_replication") != "streaming":
            assert time.monotonic() < give_up, "the standby does not follow"
            time.sleep(0.05)
        self.set("synchronous_standby_names", "*")

    def alone(self) -> None:
        """Start a database without a standby."""
        first = self._new_folder()
        _run("initdb", "-D", first / "data", "-U", "pbem", "--auth=trust", "-E", "UTF8", "--no-sync")
        self.primary = self._start(first)
        self.say("CREATE DATABASE pbem", "postgres")

    @property
    def url(self) -> str:
        """The database as it is reached now."""
        return f"postgresql://pbem@/pbem?host={self.primary.folder}"

    @property
    def both(self) -> str:
        """Whichever of the two can be written to."""
        assert self.standby is not None
        hosts = f"{self.primary.folder},{self.standby.folder}"
        return f"postgresql://pbem@/pbem?host={hosts}&target_session_attrs=read-write"

    def _follow(self) -> None:
        """Make a standby of the database, however often that crashes meanwhile."""
        while self.standby is None and not self._closing:
            folder = self._new_folder()
            command: list[str | Path] = ["-h", self.primary.folder, "-U", "pbem", "-D", folder / "data"]
            if not _begin("pg_basebackup", *command, "-R", "--checkpoint=fast", "--no-sync").wait():
                with (folder / "data" / "postgresql.auto.conf").open("a") as settings:
                    settings.write("synchronous_standby_names = '*'\n")  # from when it takes over
                self.standby = self._start(folder)

    def ready(self) -> bool:
        """True if the standby has all that was committed."""
        return self.standby is not None and self.say("SELECT sync_state FROM pg_stat_replication") == "sync"

    def fail_over(self) -> None:
        """Let the database die as its machine would, and its standby take over."""
        assert self.standby is not None
        self._running.remove(self.primary)
        self.primary.kill()
        shutil.rmtree(self.primary.folder)
        self.primary, self.standby = self.standby, None
        _run("pg_ctl", "promote", "-D", self.primary.folder / "data", "-w", "-t", int(PATIENCE))
        self.failovers += 1
        self._following = threading.Thread(target=self._follow, name="standby")
        self._following.start()

    def crash(self) -> None:
        """Kill one of its processes: it ends all connections, and recovers from its log."""
        clients = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        if pid := self.say(f"SELECT pid FROM pg_stat_activity WHERE {clients} LIMIT 1"):
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def set(self, name: str, value: str) -> None:
        """Change a setting of the database."""
        self.say(f"ALTER SYSTEM SET {name} = '{value}'")
        self.say("SELECT pg_reload_conf()")

    def close(self) -> None:
        """Leave nothing running."""
        self._closing = True
        if self._following.ident:
            self._following.join()
        for node in self._running:
            node.kill()

    def _new_folder(self) -> Path:
        self._nodes += 1
        folder = self.folder / str(self._nodes)
        folder.mkdir()
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        return folder

    def _start(self, folder: Path) -> Node:
        settings = {"listen_addresses": "", "max_connections": "100", "wal_retrieve_retry_interval": "100ms"}
        more = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        node = Node(folder, _begin("postgres", "-D", folder / "data", "-k", folder, *more))
        self._running.append(node)
        give_up = time.monotonic() + PATIENCE
        while subprocess.run([_programs() / "pg_isready", "-q", "-h", folder], check=False).returncode:
            assert node.process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < give_up, "PostgreSQL does not begin"
            time.sleep(0.05)
        return node

    def say(self, sql: str, database: str = "pbem") -> str:
        """The result of one statement; "" if the database cannot be reached."""
        command: list[str | Path] = [
            _programs() / "psql",
            "-h",
            self.primary.folder,
            "-U",
            "pbem",
            "-d",
            database,
            "-AtXqc",
            sql,
        ]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return str(done.stdout).strip()


def _begin(program: str, *words: str | Path | int) -> subprocess.Popen[bytes]:
    """Start one of PostgreSQL's programs; what it says goes into the folder of the node that it is told of."""
    data = next(word for word in words if isinstance(word, Path) and word.name == "data")
    with (data.parent / "log").open("ab") as log:
        command: list[str | Path] = [_programs() / program, *map(str, words)]
        if os.getuid() == 0:  # it may not run this itself
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=data.parent)


def _run(program: str, *words: str | Path | int) -> None:
    data = next(word for word in words if isinstance(word, Path) and word.name == "data")
    assert _begin(program, *words).wait() == 0, (data.parent / "log").read_text()


@contextmanager
def pair() -> Iterator[Pair]:
    """A database with a standby, in memory where that can be had: what is tried is no disk."""
    with _made(_SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None) as both:
        both.begin()
        yield both


@contextmanager
def single(folder: Path) -> Iterator[Pair]:
    """A database without a standby, in a folder below this one."""
    with _made(folder) as database:
        database.alone()
        yield database


@contextmanager
def _made(base: Path | None) -> Iterator[Pair]:
    folder = Path(tempfile.mkdtemp(prefix="pbem-", dir=base))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    made = Pair(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
