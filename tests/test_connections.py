"""Ports of this machine that many connections hold at once: some are ended, so that all the others are served."""

from __future__ import annotations

import http.client
import smtplib
import socket
import threading
from contextlib import ExitStack, contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from in_a_box.referee import Die

from pbem.player.mail_in import LmtpListener
from pbem.player.page_port import PageAnswer, PagePort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

MOST = 16


@contextmanager
def page() -> Iterator[tuple[int, Callable[[], object]]]:
    room = Mock()
    room.view.return_value = PageAnswer(b"<p>page</p>")
    port = PagePort(Die("page"), room, "used")
    session = port.enter()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port.server_address[1], timeout=10)
        connection.request("GET", port.path, headers={"Host": port.origin[7:], "Cookie": f"pbem={session}"})
        assert connection.getresponse().read() == b"<p>page</p>"
        connection.close()

    try:
        yield int(port.server_address[1]), ask
    finally:
        port.stop()


@contextmanager
def mailbox() -> Iterator[tuple[int, Callable[[], object]]]:
    listener = LmtpListener("127.0.0.1", 0)

    def ask() -> None:
        with smtplib.LMTP("127.0.0.1", int(listener.server_address[1]), timeout=10) as connection:
            assert connection.docmd("LHLO", "x")[0] == 250

    try:
        yield int(listener.server_address[1]), ask
    finally:
        listener.close()


@pytest.mark.parametrize("served", [page, mailbox])
def test_connections_that_say_nothing_take_no_more_than_their_room(
    served: Callable[[], AbstractContextManager[tuple[int, Callable[[], object]]]],
) -> None:
    """Else any user of the machine takes all descriptors of a process, and a server takes no mail any more."""
    before = threading.active_count()
    with served() as (port, ask), ExitStack() as stack:
        lines = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)) for _ in range(5 * MOST)]
        for line in lines[: 4 * MOST]:
            line.settimeout(3)  # sooner than any silence ends one
            while line.recv(100):  # a greeting, and then the end
                pass
        ask()
        until = monotonic() + 20  # a thread outlives its connection by a moment, on a busy machine by more
        while threading.active_count() - before > MOST + 3 and monotonic() < until:
            sleep(0.01)
        assert threading.active_count() - before <= MOST + 3
