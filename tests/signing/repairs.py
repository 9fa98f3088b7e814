"""Octets that Windows adds to signed files, and links that mail programs add to names in letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FORM = "new spaceships with carol@mail.example, dave@mail.example\nserver play.example\nplayer ann\nend\n"

MARK = "\ufeff"

FILES: dict[str, Callable[[str], str]] = {
    "Notepad, UTF-8 with BOM": lambda form: MARK + form.replace("\n", "\r\n"),
    "Notepad, without a last line end": lambda form: MARK + form.replace("\n", "\r\n").removesuffix("\r\n"),
    "VS Code, UTF-8 with BOM": lambda form: MARK + form,
    "Get-Content |": lambda form: form.replace("\n", "\r\n"),
    "Get-Content -Raw |": lambda form: f"{form}\r\n",
    "Get-Content -Raw |, CR LF": lambda form: form.replace("\n", "\r\n") + "\r\n",
    "Get-Content -Raw |, $OutputEncoding with BOM": lambda form: f"{MARK}{form}\r\n",
    "Notepad with BOM, then Get-Content -Raw |": lambda form: MARK + form.replace("\n", "\r\n") + "\r\n",
    "a here-string |": lambda form: form.removesuffix("\n") + "\r\n",
    "echo | of cmd.exe": lambda form: form.removesuffix("\n") + " \r\n",
}
"""The file that ssh-keygen or gpg read."""


def _linked(form: str, server: str, address: str) -> str:
    linked = form.replace("server play.example", f"server {server}")
    for name in ("carol@mail.example", "dave@mail.example"):
        linked = linked.replace(name, address.format(name))
    return linked


LINKS: dict[str, Callable[[str], str]] = {
    name: lambda form, server=server, address=address: _linked(form, server, address)  # type: ignore[misc]  # defaults
    for name, server, address in (
        ("Outlook", "play.example<http://play.example>", "{0}<mailto:{0}>"),
        ("Outlook of now", "play.example<https://play.example/>", "{0}<mailto:{0}>"),
        ("Gmail", "play.example <http://play.example>", "{0} <{0}>"),
        ("Apple Mail", "play.example <http://play.example/>", "{0} <mailto:{0}>"),
        ("Thunderbird, wrapped", "play.example\n<http://play.example>", "{0}\n<mailto:{0}>"),
        ("Proton Mail", "[play.example](http://play.example)", "[{0}](mailto:{0})"),
        ("a browser", "play.example<http://PLAY.example/>", "{0}<MAILTO:{0}>"),
    )
}
"""The text of the letter."""

OTHERS = {
    "another server": ("play.example", "play.example<http://evil.example>"),
    "a page of the server": ("play.example", "play.example<http://play.example/evil>"),
    "a longer name": ("play.example", "play.example<http://play.example.evil>"),
    "a shorter name": ("play.example", "evil.play.example<http://play.example>"),
    "another address": ("carol@mail.example", "carol@mail.example<mailto:eve@mail.example>"),
    "a subject": ("carol@mail.example", "carol@mail.example<mailto:carol@mail.example?subject=x>"),
    "another address in Markdown": ("carol@mail.example", "[carol@mail.example](mailto:eve@mail.example)"),
    "words that go on": ("play.example", "play.example<http://play.example>evil"),
    "words of another line": ("play.example", "play.example\n\n<http://play.example>"),
    "neither link nor address": ("play.example", "play.example <play.example>"),
    "another scheme": ("play.example", "play.example<ftp://play.example>"),
}
"""Links that say something else, or are none: they stay."""
