"""The port of the page at home: for the browser that brings the token first, and for nobody else, whoever asks."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Die

from pbem.player import page_port
from pbem.player.page_port import LatestNews, PageAnswer, PagePort, as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pbem.json_object import JsonObject

TEXT = {"text": "Gx3"}


class Room:
    """A page, and a list of what was done."""

    def __init__(self) -> None:
        self.done: list[tuple[str, JsonObject]] = []

    def view(self, name: str, asked: Mapping[str, str]) -> PageAnswer | None:
        return {"": PageAnswer(b"<p>page</p>"), "frame": PageAnswer(asked.get("a", "").encode(), framed=True)}.get(
            name
        )

    def act(self, name: str, asked: JsonObject) -> PageAnswer | None:
        self.done.append((name, asked))
        return as_json({"done": name}) if name == "send" else None


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.fixture
def port(room: Room) -> Iterator[PagePort]:
    found = PagePort(Die("page"), room, "used up")
    yield found
    found.stop()


def ask(
    port: PagePort, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, bytes, Mapping[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port.server_address[1], timeout=10)
    try:
        given = {"Host": port.origin.removeprefix("http://"), **headers}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def entered(port: PagePort) -> str:
    """The cookie of the browser that brings the token first."""
    status, content, headers = ask(port, "GET", port.url.removeprefix(port.origin))
    assert status == 200
    assert f"url={port.path}".encode() in content
    return headers["Set-Cookie"].partition(";")[0]


def test_who_brings_the_token_gets_a_cookie_for_a_path_that_nobody_can_guess(port: PagePort) -> None:
    assert port.server_address[0] == "127.0.0.1"
    found = ask(port, "GET", port.url.removeprefix(port.origin))[2]["Set-Cookie"]
    assert re.fullmatch(rf"pbem=[0-9a-f]{{32}}; Path={port.path}; HttpOnly; SameSite=Strict", found)
    assert port.path not in port.url
    assert ask(port, "GET", port.path, Cookie=found.partition(";")[0])[:2] == (200, b"<p>page</p>")


def test_nobody_else_can_answer_for_localhost(port: PagePort) -> None:
    """Browsers try ::1 first, and go on where nobody listens."""
    number = int(port.server_address[1])
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match=r"in use|assign"):
            other.bind(("::1", number))
    with pytest.raises(OSError, match=r"refused|assign"):
        socket.create_connection(("::1", number), 5)


def test_the_token_counts_once(port: PagePort) -> None:
    entered(port)
    status, content, headers = ask(port, "GET", port.url.removeprefix(port.origin))
    assert (status, content) == (403, b"used up")
    assert "Set-Cookie" not in headers


def test_before_anybody_came_no_session_is_known(port: PagePort) -> None:
    assert not port.knows(port._session)
    assert ask(port, "GET", port.path, Cookie=f"pbem={port._session}")[0] == 403


def test_nothing_is_kept_or_framed_or_told_elsewhere(port: PagePort) -> None:
    cookie = entered(port)
    headers = ask(port, "GET", port.path, Cookie=cookie)[2]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert "Access-Control-Allow-Origin" not in headers
    framed = ask(port, "GET", f"{port.path}frame?a=b", Cookie=cookie)
    assert framed[1] == b"b"
    assert framed[2]["X-Frame-Options"] == "SAMEORIGIN"
    assert framed[2]["Content-Security-Policy"] == "frame-ancestors 'self'"


def test_what_is_pressed_is_done(port: PagePort, room: Room) -> None:
    cookie = entered(port)
    said = {"Origin": port.origin, "Content-Type": "application/json", "Cookie": cookie}
    assert ask(port, "POST", f"{port.path}send", json.dumps(TEXT), **said)[:2] == (200, b'{"done": "send"}')
    assert ask(port, "POST", f"{port.path}other", json.dumps(TEXT), **said)[0] == 400
    assert room.done == [("send", TEXT), ("other", TEXT)]


OURS = {"Origin": "{origin}", "Content-Type": "application/json", "Cookie": "{cookie}"}
REBOUND = {"Host": "rebound.example:{port}"}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/", "", OURS, 403),
        ("GET", "/0123456789abcdef0123456789abcdef/", "", OURS, 403),
        ("GET", "ftp://[/", "", OURS, 400),
        ("GET", "{path}../../etc/passwd", "", OURS, 404),
        ("GET", "{path}", "", {}, 403),
        ("GET", "{path}", "", {"Cookie": "pbem=0123456789abcdef0123456789abcdef"}, 403),
        ("GET", "{path}", "", {"Cookie": "pbem=é"}, 403),
        ("GET", "{path}", "", OURS | REBOUND, 403),
        ("GET", "{path}", "", OURS | {"Host": "127.0.0.1:{port}"}, 403),
        ("GET", "{path}", "", OURS | {"Host": "rebound.localhost:{port}"}, 403),
        ("GET", "{token}", "", {"Host": "127.0.0.1:{port}"}, 403),
        ("GET", "{token}", "", REBOUND, 403),
        ("GET", "{path}", "", OURS | {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "{path}", "", OURS | {"Sec-Fetch-Site": "same-site"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Origin": "http://evil.example"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Origin": "http://localhost:1"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Origin": "null"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), {"Content-Type": "application/json", "Cookie": "{cookie}"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Cookie": ""}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Sec-Fetch-Site": "none"}, 403),
        ("POST", "{path}send", json.dumps(TEXT), OURS | {"Content-Type": "text/plain"}, 415),
        ("POST", "{path}send", "x" * 100_001, OURS, 413),
        ("POST", "{path}send", "", OURS | {"Content-Length": "9" * 5000}, 413),
        ("POST", "{path}send", "", OURS | {"Content-Length": "-1"}, 413),
        ("POST", "{path}send", "Gx3", OURS, 400),
        ("POST", "{path}send", "[1]", OURS, 400),
        ("POST", "{path}send", "[" * 50_000, OURS, 400),
        ("PUT", "{path}send", json.dumps(TEXT), OURS, 501),
    ],
)
def test_nobody_else_is_served(
    port: PagePort, room: Room, method: str, path: str, body: str, headers: dict[str, str], status: int
) -> None:
    facts = {"token": port.url.removeprefix(port.origin), "path": port.path, "origin": port.origin}
    facts |= {"cookie": entered(port), "port": str(port.server_address[1])}
    given = {name: value.format(**facts).encode("utf-8").decode("latin-1") for name, value in headers.items()}
    assert ask(port, method, path.format(**facts), body, **given)[0] == status
    assert room.done == []


@pytest.mark.parametrize(
    "others",
    [
        "{ours}; pbem=tossed",
        "pbem=tossed; {ours}",
        "{ours}; flag",
        "{ours}; a@b,c=1",
        '{ours}; a b="',
        "={ours}x; {ours}",
    ],
)
def test_cookies_of_other_ports_keep_nobody_out(port: PagePort, others: str) -> None:
    assert ask(port, "GET", port.path, Cookie=others.format(ours=entered(port)))[0] == 200


@pytest.mark.parametrize("kind", ["tcp", "tcp6"])
@pytest.mark.parametrize(("owner", "refused"), [(4242, True), (os.getuid(), False), (0, False)])
def test_another_user_who_read_the_address_in_the_list_of_processes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, owner: int, refused: bool
) -> None:
    number = f"{int.from_bytes(bytes([127, 0, 0, 1]), sys.byteorder):08X}"
    number = number if kind == "tcp" else f"0000000000000000FFFF0000{number}"
    row = f" 0: {number}:9C40 {number}:1F90 01 00000000:00000000 00:00000000 00000000 {owner} 0 1 1 0 20 4 30 10 -1"
    (tmp_path / "table").write_text(f"  sl  local_address ...\n{row}\n")
    monkeypatch.setattr(page_port, "_CONNECTIONS", (str(tmp_path / "none"), str(tmp_path / "table")))
    assert page_port._is_of_another_user(("127.0.0.1", 0x9C40), 0x1F90) is refused
    assert not page_port._is_of_another_user(("127.0.0.1", 0x9C41), 0x1F90)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")
def test_a_refused_user_does_not_use_the_token_up(port: PagePort, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(page_port, "_is_of_another_user", lambda *_: True)
        assert ask(port, "GET", port.url.removeprefix(port.origin))[0] == 403
    entered(port)


@pytest.mark.skipif(not hasattr(socket, "MSG_MORE"), reason="only Linux sends words and end at once")
def test_who_goes_away_before_the_answer_does_not_use_the_token_up(port: PagePort) -> None:
    request = f"GET {port.url.removeprefix(port.origin)} HTTP/1.1\r\nHost: {port.origin[7:]}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port.server_address[1]), 10) as line:
        line.send(request, socket.MSG_MORE)
        line.shutdown(socket.SHUT_WR)  # the end comes with the words
        assert line.recv(1000).startswith(b"HTTP/1.0 403")
    entered(port)


def test_a_slow_body_holds_nobody_up(port: PagePort, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PagePort, "longest", 0.5)
    cookie, began = entered(port), time.monotonic()
    with socket.create_connection(("127.0.0.1", port.server_address[1]), 10) as line:
        head = [f"POST {port.path}send HTTP/1.1", f"Host: {port.origin[7:]}", f"Origin: {port.origin}"]
        head += [f"Cookie: {cookie}", "Content-Type: application/json", "Content-Length: 100", "", "{"]
        line.sendall("\r\n".join(head).encode())
        assert ask(port, "GET", port.path, Cookie=cookie)[0] == 200
        while line.recv(1000):
            pass
    assert time.monotonic() - began < 5
    assert room.done == []


def test_news_wait_until_there_is_some() -> None:
    news = LatestNews("first")
    assert news.after(0, 10) == (1, "first")
    assert news.after(1, 0.01) == (1, "first")
    threading.Timer(0.05, lambda: news.tell("second")).start()
    assert news.after(1, 10) == (2, "second")
    news.tell("second")
    assert news.after(1, 10) == (2, "second")
