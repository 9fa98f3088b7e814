"""Sockets from systemd, and the word that the server is ready: tried without systemd, by its own protocol."""

from __future__ import annotations

import os
import smtplib
import socket
import subprocess
import sys
from pathlib import Path

from pbem.server import systemd

SERVE = "from pbem.cli.serve import serve; serve()"


def test_without_systemd_nothing_is_taken_or_said() -> None:
    assert systemd.sockets({}) == {}
    assert systemd.sockets({"LISTEN_PID": "1", "LISTEN_FDS": "1"}) == {}
    systemd.notify({}, "READY=1")


def serve(folder: Path, names: str, *sockets: socket.socket) -> subprocess.Popen[str]:
    """`pbem serve` as systemd would start it, with these sockets as its descriptors 3 and up."""
    config = folder / "pbem.toml"
    config.write_text('server = "play.example"\n[smtp]\nlisten = "systemd"\n[lmtp]\nlisten = "systemd"\n')
    # A shell puts the sockets in their places; LISTEN_PID names the process that it becomes.
    moves = " ".join(f"{3 + at}<&{sock.fileno()}" for at, sock in enumerate(sockets, 6))
    back = " ".join(f"{3 + at}<&{9 + at}" for at in range(len(sockets)))
    script = f'exec {moves}; exec {back}; LISTEN_PID=$$ exec "$@"' if sockets else 'LISTEN_PID=$$ exec "$@"'
    command = ["bash", "-c", script, "bash", sys.executable, "-c", SERVE, "--config", str(config)]
    environment = {
        **os.environ,
        "LISTEN_FDS": str(len(sockets)),
        "LISTEN_FDNAMES": names,
        "NOTIFY_SOCKET": str(folder / "bell"),
    }
    passed = tuple(sock.fileno() for sock in sockets)
    return subprocess.Popen(command, env=environment, pass_fds=passed, stderr=subprocess.PIPE, text=True)


def test_sockets_are_taken_over_by_name_and_readiness_is_told(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell,
        socket.socket(socket.AF_UNIX) as lmtp,
        socket.create_server(("127.0.0.1", 0)) as smtp,
    ):
        bell.bind(str(tmp_path / "bell"))
        bell.settimeout(30)
        lmtp.bind(str(tmp_path / "lmtp"))
        lmtp.listen()
        with serve(tmp_path, "lmtp:smtp", lmtp, smtp) as server:
            try:
                assert bell.recv(100) == b"READY=1"
                with smtplib.SMTP("127.0.0.1", smtp.getsockname()[1], timeout=10) as client:
                    assert client.ehlo()[0] == 250
                with smtplib.LMTP(str(tmp_path / "lmtp")) as client:
                    assert client.docmd("LHLO", "client.example")[0] == 250
                server.terminate()
                assert bell.recv(100) == b"STOPPING=1"
                server.communicate(timeout=30)
                assert server.returncode == 0
            finally:
                server.kill()
    assert (tmp_path / "lmtp").is_socket(), "the socket is systemd's"


def test_a_socket_that_was_not_handed_over_is_named(tmp_path: Path) -> None:
    with serve(tmp_path, "") as server:
        _, errors = server.communicate(timeout=30)
    assert server.returncode == 1
    assert "no socket with FileDescriptorName=smtp" in errors
    assert "Traceback" not in errors


def unit(name: str) -> dict[str, list[str]]:
    """The settings of a unit that we deliver, by name."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parents[2] / "config" / "systemd" / name).read_text("utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_the_house_is_confined_like_the_server_and_sees_nothing_of_it() -> None:
    server, house = unit("pbem.service"), unit("pbem-opponent.service")
    own = {"Requires", "Type", "Description", "After", "ExecStart", "User", "Group", "StateDirectory", "Restart"}
    limits = {"SystemCallFilter", "MemoryMax"}
    for key in server.keys() - own - limits:
        assert house[key] == server[key], key
    assert house["SystemCallFilter"] == server["SystemCallFilter"][:2], "it limits no memory of its own processes"
    assert house["User"] != server["User"]
    assert house["Group"] != server["Group"]
    (hidden,) = house["InaccessiblePaths"]
    config = server["ExecStart"][0].rpartition(" ")[2]
    assert set(hidden.split()) == {f"-/var/lib/{server['StateDirectory'][0]}", f"-{Path(config).parent}"}
    assert house["ExecStart"][0].startswith(server["ExecStart"][0].partition(" ")[0])
