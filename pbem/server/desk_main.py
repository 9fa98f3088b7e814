"""The life of the desk's process, as the process itself leads it: it is handed what it needs, works, and ends.

It ends when the daemon says so, and at once when the daemon is gone. `desk_process` starts and watches it.
Implements reliability.md, cases 9 and 32.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from pbem.desk.reading import ReaderError
from pbem.games.outside import UnusableGame
from pbem.mail.dkim_signing import BadDkimKey
from pbem.server.desk_messages import (
    ASKED,
    EASE,
    FAILED,
    FILES,
    HERE,
    READY,
    STOP,
    WAKE,
    WORKED,
)
from pbem.server.desk_opening import opened
from pbem.server.logs import configure_logs
from pbem.store.errors import StoreError
from pbem.store.vault import KeyFileError

if TYPE_CHECKING:
    from pbem.server.desk_opening import Supplies
    from pbem.server.desk_work import Work


def main() -> None:
    """The whole life of the desk's process whose line to the daemon is its standard input."""
    with socket.socket(fileno=os.dup(0)) as line:
        import pbem.desk.wiring  # noqa: F401 - it takes a while, in which the daemon opens the store

        supplies = received(line)
        configure_logs(supplies.config.log)
        gc.freeze()  # what was loaded stays: for the collector to look at all of it takes as long as ten letters
        sys.exit(serve(line, supplies))


def received(line: socket.socket) -> Supplies:
    """Receive what the daemon hands over. The files that hold the store's lock are ours until this process ends."""
    socket.recv_fds(line, len(FILES), 8)
    try:
        with Connection(os.dup(line.fileno())) as daemon:
            supplies: Supplies = daemon.recv()  # pickled by who started us
    except (EOFError, OSError):  # it is gone
        sys.exit(1)
    return supplies


def serve(line: socket.socket, supplies: Supplies) -> int:
    """Work until the daemon says stop; returns the process's status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the daemon, which tells us
    try:
        with opened(supplies, partial(_say, line, WORKED)) as work:
            threading.Thread(target=_listen, args=(line, work), daemon=True).start()
            _say(line, READY)
            work()
    except (StoreError, KeyFileError, BadDkimKey, ReaderError, UnusableGame) as error:
        _say(line, FAILED + str(error).encode())
        return 1
    return 0


def _say(line: socket.socket, word: bytes) -> None:
    """Tell the daemon; one that has not read for long knows as much already, and one that is gone need not know."""
    with contextlib.suppress(OSError):
        line.send(word, socket.MSG_DONTWAIT)


def _listen(line: socket.socket, work: Work) -> None:
    """Listen to the daemon; without one, nothing here is ours any more."""
    while said := _heard(line):
        if EASE in said:
            work.ease()
        if ASKED in said:
            _say(line, HERE)
        if WAKE in said:
            work.wake()
        if STOP in said:
            work.stop()
    os._exit(1)


def _heard(line: socket.socket) -> bytes:
    with contextlib.suppress(OSError):
        return line.recv(4096)
    return b""
