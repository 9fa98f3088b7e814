"""The talk between systemd and a service: sockets that are handed over, and the news that the service is ready.

Both are a few environment variables and one datagram, as sd_listen_fds(3) and sd_notify(3) describe them. Without
systemd nothing here does anything. Nothing of mail lives here.
"""

from __future__ import annotations

import os
import socket
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = 3  # SD_LISTEN_FDS_START


def sockets(environment: Mapping[str, str]) -> dict[str, list[socket.socket]]:
    """The listening sockets handed to this process, by their names (FileDescriptorName=); can be called once."""
    found: dict[str, list[socket.socket]] = defaultdict(list)
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return found
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    for at in range(int(environment.get("LISTEN_FDS", "0"))):
        os.set_inheritable(FIRST + at, False)
        found[names[at] if at < len(names) else "unknown"].append(socket.socket(fileno=FIRST + at))
    return found


def notify(environment: Mapping[str, str], state: str) -> None:
    """Tell systemd a state such as `READY=1`; does nothing if nobody listens."""
    place = environment.get("NOTIFY_SOCKET", "")
    if not place:
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as bell:
        bell.connect(address)
        bell.sendall(state.encode())
