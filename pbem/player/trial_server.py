"""The trial server at home: its files, and the process that runs it while somebody plays.

It is reachable only from this machine, files each letter in a Maildir, and has a house to play with. Of the server,
only its command is used here, in a process of its own: `pbem play` has to work without the server's libraries.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pbem.bound_process import bound
from pbem.config.file import home
from pbem.config.toml_file import toml
from pbem.durable import replace
from pbem.examples import example_folder
from pbem.player import PlayerTrouble
from pbem.player.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = "pbem.localhost"
"""The name of every trial server."""
ADDRESS = f"pbem@{SERVER}"


class TrialServerError(PlayerTrouble):
    """The trial server at home cannot be used; the text says why."""


_FILES = {"house.toml": "house.toml", "pbem.toml": "home.toml"}
"""The files of a trial server, each with its example; pbem.toml comes last, since it makes it a server."""
_PATIENCE = 60.0  # seconds until the server listens
_ENDING = 20.0  # seconds in which it ends


def begin() -> None:
    """Write the files of this user's trial server, unless a server is configured there.

    Raises `TrialServerError` where no server can run: then nothing is written.
    """
    if find_spec("aiosmtpd") is None:
        raise TrialServerError("This needs the libraries of the server: install pbem with them, as pbem[server]")
    config_file = home(os.environ)
    folder = config_file.parent
    if config_file.exists():
        return
    port = str(_free_port()).encode()
    try:
        for name, example in _FILES.items():
            content = (example_folder() / "init" / example).read_bytes()
            content = content.replace(b"$examples", str(example_folder()).encode())
            replace(folder / name, content.replace(b":2525", b":" + port))
    except OSError as error:
        raise TrialServerError(f"{folder}: {error.strerror}") from error


def offer(game: str) -> None:
    """Have this user's trial server and its house play a game, once they start; raises `TrialServerError`."""
    begin()
    listens_at()
    config_file = home(os.environ)
    house_file = config_file.with_name("house.toml")
    try:
        played, enabled = toml(house_file).get("games"), toml(config_file).get("games")
        if isinstance(played, dict) and game in played:
            return
        # Only a game of another package is not in the examples; the server must enable it, too.
        names = [*(enabled.get("enabled", ()) if isinstance(enabled, dict) else ()), game]
        kept = re.sub(r"(?m)^\[games\]\nenabled = .*\n", "", config_file.read_text("utf-8"))
        replace(config_file, f"{kept}[games]\nenabled = {json.dumps(names)}\n".encode())
        replace(house_file, f"{house_file.read_text('utf-8')}[games.{game}]\n".encode())
    except OSError as error:
        raise TrialServerError(f"{config_file.parent}: {error.strerror}") from error


def letters(address: str) -> Path:
    """The Maildir in which a trial server of this user files the letters to an address."""
    return home(os.environ).parent / "mail" / address


def listens_at() -> tuple[str, int]:
    """The host and port of this user's trial server; raises `TrialServerError` if another one is configured there."""
    config_file = home(os.environ)
    with suppress(OSError, ValueError):  # somebody may have written anything into it
        match toml(config_file):
            case {"server": server, "smtp": {"listen": str(listen)}, "house": _} if server == SERVER:
                host, _, port = listen.rpartition(":")
                return host, int(port)
    raise TrialServerError(
        f"{config_file} is not the configuration of a trial server with a house: play there with `pbem play"
        " register`, or move the file away"
    )


def house_is_there() -> bool:
    """True if the house has an account and is known as a program, which takes some seconds at the first start."""
    file = home(os.environ).with_name("house.sqlite")
    if not file.exists():
        return False
    with closing(Memory(file)) as memory:
        return any(sent.command == "set" for sent in memory.in_state("done"))


@contextmanager
def running() -> Iterator[None]:
    """Have this user's trial server at work; if it does not run yet, it runs as long as this lasts."""
    begin()
    config_file = home(os.environ)
    place = listens_at()
    if _is_open(config_file, place):
        yield
        return
    with tempfile.TemporaryDirectory() as folder, config_file.with_name("server.log").open("ab") as log:
        ready = Path(folder, "ready")
        command = bound("serve", "--config", str(config_file), "--ready-file", str(ready))
        with subprocess.Popen(  # noqa: S603 - this very program
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        ) as process:
            try:
                # It listens when the file is there.
                until = time.monotonic() + _PATIENCE
                while not ready.exists():
                    if process.poll() is not None or time.monotonic() > until:
                        last = Path(log.name).read_text("utf-8", "replace").strip().splitlines()[-1:]
                        raise TrialServerError(f"The trial server does not start: {' '.join(last)}")
                    time.sleep(0.02)
                yield
            finally:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_ENDING)
                process.kill()


def _free_port() -> int:
    """The usual port, or any other where another user, or another program, has that."""
    for port in (2525, 0):
        with suppress(OSError), socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            return int(taken.getsockname()[1])
    raise TrialServerError("no port is free")


def _is_at_work(config_file: Path) -> bool:
    """True if this very server runs: whoever else listens at its port must get none of its letters."""
    with suppress(FileNotFoundError), config_file.with_name("pbem.sqlite.lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _is_open(config_file: Path, place: tuple[str, int]) -> bool:
    """Wait for a server that has just been started; False if none runs, or it ends after a command that was killed.

    Raises `TrialServerError` if it runs, and does not listen.
    """
    until = time.monotonic() + _PATIENCE
    while _is_at_work(config_file):
        with suppress(OSError), socket.create_connection(place, timeout=1.0):
            return True
        if time.monotonic() > until:
            raise TrialServerError(f"The trial server does not listen at {place[0]}:{place[1]}.")
        time.sleep(0.1)
    return False
