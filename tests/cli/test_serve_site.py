"""`pbem serve --site`: the public pages over HTTP, beside a server at work, and nothing else of the machine."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from machines.post_office import serving
from machines.waiting import until
from world.listening import free_port

from pbem import connections
from pbem.cli.group import group
from pbem.server import site_server

if TYPE_CHECKING:
    from pathlib import Path


def asked(port: int, name: str, method: str = "GET") -> tuple[int, str]:
    """The status and the text of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest(method, name)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_the_public_pages_are_served_and_nothing_else(tmp_path: Path) -> None:
    config, port = tmp_path / "pbem.toml", free_port()
    config.write_text(
        'server = "play.example"\nstore = "pbem.sqlite"\nkeys = "keys"\n[smtp]\nlisten = "127.0.0.1:0"\n'
    )
    words = ("--config", str(config), "--site", f"127.0.0.1:{port}")
    log = tmp_path / "log"
    with log.open("wb") as errors, serving(tmp_path / "ready", *words, stderr=errors):
        until(lambda: '"site published"' in log.read_text(), 60)
        assert f'"address": "http://127.0.0.1:{port}/"' in log.read_text()
        assert asked(port, "/")[0] == 200, "whoever is told of it finds it there"
        assert "mailto:pbem@play.example" in asked(port, "/")[1]
        assert asked(port, "/spaceships.de.html?later")[0] == 200
        assert asked(port, "/index.html", "HEAD") == (200, "")
        for name in (
            "/published.json",
            "/../pbem.toml",
            "/%2e%2e/pbem.toml",
            "//etc/passwd",
            "/nothing.html",
            "/pbem",
        ):
            assert asked(port, name)[0] == 404, name
        assert asked(port, "/", "POST")[0] == 501


def test_there_is_a_limit_to_visitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_server._Site, "at_once", 1)
    monkeypatch.setattr(connections, "PATIENCE", 60.0)
    monkeypatch.setattr(site_server, "bound", lambda *_: ("true",))
    with (
        site_server.served_site(("127.0.0.1", 0), tmp_path / "pbem.toml") as place,
        socket.create_connection(place) as first,
    ):
        with socket.create_connection(place, timeout=30) as second:
            assert second.recv(1) == b"", "who comes too many is let go at once"
        first.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert first.recv(12) == b"HTTP/1.0 404"


@pytest.mark.parametrize("place", ["8080", ":8080", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", "a..b:80"])
def test_a_site_has_an_address_and_a_port(tmp_path: Path, place: str) -> None:
    (tmp_path / "pbem.toml").write_text('server = "play.example"\n[smtp]\nlisten = ""\n')
    done = CliRunner().invoke(group, ["serve", "--config", str(tmp_path / "pbem.toml"), "--site", place])
    assert done.exit_code == 2
    assert "write ADDRESS:PORT" in done.output


def test_a_place_for_the_site_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    (tmp_path / "pbem.toml").write_text('server = "play.example"\n[smtp]\nlisten = ""\n')
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        site = f"127.0.0.1:{taken.getsockname()[1]}"
        for place, why in ((site, "Address already in use"), ("192.0.2.1:80", "Cannot assign requested address")):
            done = CliRunner().invoke(group, ["serve", "--config", str(tmp_path / "pbem.toml"), "--site", place])
            assert (done.exit_code, done.output) == (4, f"Error: cannot listen at {place}: {why}\n")


def test_a_site_may_have_an_address_of_ipv6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET6) as other:
        try:
            other.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    monkeypatch.setattr(site_server, "bound", lambda *_: ("true",))
    with (
        site_server.served_site(("::1", 0), tmp_path / "pbem.toml") as place,
        socket.create_connection(place, timeout=30) as visitor,
    ):
        visitor.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert visitor.recv(12) == b"HTTP/1.0 404"
