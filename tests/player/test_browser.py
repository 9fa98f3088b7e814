"""Orders taken back from the browser: once, from the page itself, and from nobody else on this machine or the Web."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Die
from pbem.player.browser import Handed, Port

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = json.dumps({"text": "Gx3", "final": True})


@pytest.fixture
def port() -> Iterator[Port]:
    found = Port(Die("browser"))
    found.serve("<p>page</p>", "<p>composer</p>")
    yield found
    found.stop()


def ask(port: Port, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port.server_address[1], timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_page_and_its_composer_are_served_to_who_knows_the_address(port: Port) -> None:
    assert ask(port, "GET", port.path) == (200, b"<p>page</p>")
    assert ask(port, "GET", f"{port.path}composer") == (200, b"<p>composer</p>")
    assert port.server_address[0] == "127.0.0.1"


def test_orders_are_taken_once(port: Port) -> None:
    assert port.wait(0) is None
    assert ask(port, "POST", port.path, ORDERS, Origin=port.origin)[0] == 204
    assert ask(port, "POST", port.path, json.dumps({"text": "", "final": True}), Origin=port.origin)[0] == 410
    assert port.wait(0) == Handed("Gx3", final=True)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/", None, {}, 404),
        ("GET", "/0123456789abcdef0123456789abcdef/", None, {}, 404),
        ("GET", "{path}../composer", None, {}, 404),
        ("GET", "{path}", None, {"Host": "rebound.example"}, 404),
        ("POST", "{path}", ORDERS, {}, 403),
        ("POST", "{path}", ORDERS, {"Origin": "http://evil.example"}, 403),
        ("POST", "{path}", ORDERS, {"Origin": "{origin}", "Host": "rebound.example"}, 403),
        ("POST", "/", ORDERS, {"Origin": "{origin}"}, 403),
        ("POST", "{path}", "x" * 100_001, {"Origin": "{origin}"}, 413),
        ("POST", "{path}", "Gx3", {"Origin": "{origin}"}, 400),
        ("POST", "{path}", '{"text": 3, "final": true}', {"Origin": "{origin}"}, 400),
        ("POST", "{path}", "[" * 50_000, {"Origin": "{origin}"}, 400),
        ("PUT", "{path}", ORDERS, {"Origin": "{origin}"}, 501),
    ],
)
def test_nobody_else_is_served(
    port: Port, method: str, path: str, body: str | None, headers: dict[str, str], status: int
) -> None:
    facts = {"path": port.path, "origin": port.origin}
    given = {name: value.format(**facts) for name, value in headers.items()}
    assert ask(port, method, path.format(**facts), body, **given)[0] == status
    assert port.wait(0) is None
