r"""SMTP and LMTP as texts: each file here is one conversation, with the exact replies.

# a comment
= limits recipients=2 idle=1        beforehand: limits, `lmtp`, `tls`, or what goes wrong: `trouble busy`
> EHLO client.example               the client says this, and CRLF
>> \x00half a line                  the client sends just this; \r \n \x.. and {x*70000} in both
< 250 HELP                          the server says exactly this line
= handshake                         both change to TLS
< (closed)                          the server hangs up
= stored 1                          so many letters have been stored
"""

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from machines import certificate
from machines.office import Office, serve

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.values import Duration, Listen
from pbem.smtp.storing import Refusal
from pbem.store.errors import BusyError, FullError

if TYPE_CHECKING:
    from machines.office import Client

FILES = sorted(Path(__file__).parent.glob("*.txt"))
TROUBLE = {
    "busy": BusyError(),
    "full": FullError(),
    "bug": ZeroDivisionError("a secret"),
    "refused": Refusal("450 4.7.1 too many letters from your network, come again tomorrow"),
    "none": None,
}


def octets(text: str) -> bytes:
    text = re.sub(r"\{(.+?)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def limits(words: list[str]) -> Limits:
    given: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        given[name] = Duration(seconds=float(value)) if name in {"idle", "session"} else int(value)
    return Limits(**given)


class Dialog:
    """One file: how the server is set up, and then line after line."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
        self.protocol = "smtp"
        self.limits = Limits()
        self.certificate = ("", "")
        while self.lines and self.lines[0].startswith("="):
            what, *words = self.lines.pop(0).removeprefix("=").split()
            if what == "limits":
                self.limits = limits(words)
            elif what == "lmtp":
                self.protocol = "lmtp"
            elif what == "tls":
                self.certificate = certificate.make(folder)
            else:
                raise AssertionError(f"{path.name}: what is `= {what}`?")

    def play(self) -> None:
        cert, key = self.certificate
        listener = ListenerConfig(Listen("127.0.0.1", 0), cert, key)
        serve(self.scene, self.protocol, self.limits, listener)

    async def scene(self, office: Office) -> None:
        async with office.client() as client:
            for number, line in enumerate(self.lines, 1):
                kind, _, text = line.partition(" ")
                if kind == ">":
                    client.writer.write(octets(text) + b"\r\n")
                elif kind == ">>":
                    client.writer.write(octets(text))
                elif kind == "<":
                    assert await heard(client) == text, f"line {number} of the dialog"
                else:
                    await self.event(office, client, text.split())

    async def event(self, office: Office, client: Client, words: list[str]) -> None:
        if words == ["handshake"]:
            context = ssl.create_default_context(cafile=self.certificate[0])
            await client.writer.start_tls(context, server_hostname="play.example")
        elif words[0] == "stored":
            assert len(office.letters) == int(words[1])
        else:
            assert words[0] == "trouble"
            office.trouble = TROUBLE[words[1]]


async def heard(client: Client) -> str:
    try:
        line = await asyncio.wait_for(client.reader.readline(), 30)
    except ConnectionError:
        line = b""
    return line.decode("ascii").removesuffix("\r\n") if line else "(closed)"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_dialog(path: Path, tmp_path: Path) -> None:
    Dialog(path, tmp_path).play()


def test_there_are_dialogs() -> None:
    assert len(FILES) >= 20
