"""The values of tables: lengths of time, places to listen, witnesses; and the base of all tables."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import msgspec

from pbem.networks import HOST
from pbem.verifier_key import VerifierKey

LONGEST = timedelta(days=365_000)  # what is subtracted from a time must leave a date
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"([0-9]{1,9})([smhd])")
LOOPBACK = frozenset({"", "127.0.0.1", "::1", "localhost"})

Count = Annotated[int, msgspec.Meta(ge=1)]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class Duration(timedelta):
    """A length of time, written as a whole number and a unit: 60s, 10m, 6h, 5d."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The duration that a text names; raises ValueError."""
        match = DURATION.fullmatch(text)
        if match is None:
            raise ValueError(f'"{text}" is no duration: write a number and one of s, m, h, d, such as "10m"')
        duration = cls(**{UNITS[match[2]]: int(match[1])})
        if duration > LONGEST:
            raise ValueError(f'"{text}" is longer than a thousand years')
        return duration


class Listen:
    """A place to listen at: host and port (0: any free one), a Unix socket, systemd's sockets, or nowhere."""

    __slots__ = ("host", "path", "port", "systemd")

    def __init__(self, host: str = "", port: int = 0, path: Path | None = None, *, systemd: bool = False) -> None:
        self.host = host
        self.port = port
        self.path = path
        self.systemd = systemd

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port`, `[host]:port`, `unix:/path`, `systemd` or the empty text; raises ValueError."""
        if not text:
            return cls()
        if text == "systemd":
            return cls(systemd=True)
        if text.startswith("unix:"):
            return cls(path=Path(text.removeprefix("unix:")))
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not HOST.fullmatch(host) or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise ValueError(f'"{text}" is no place to listen: write host:port, unix:/path or systemd')
        return cls(host, int(port))

    def __bool__(self) -> bool:
        return bool(self.host or self.path or self.systemd)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listen) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        if self.systemd:
            return "systemd"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.host else ""


class ConfigTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all tables: unknown keys are errors, and nothing changes after loading."""


_SUBMISSION = r"(https?)://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]{1,253})(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?"


class Cosigner:
    """A witness of this server's log: its key, as C2SP writes it, and where it is asked."""

    __slots__ = ("key", "url")

    def __init__(self, key: VerifierKey, url: str) -> None:
        self.key = key
        self.url = url

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `name+hash+key url`; raises ValueError. Without TLS, HTTP is for this machine alone."""
        key, _, url = text.strip().partition(" ")
        url = url.strip()
        place = re.fullmatch(_SUBMISSION, url)
        if not place or urlsplit(url).port == 0:  # what is no port raises ValueError
            raise ValueError(f'"{text}": write the key, a blank, and its https address')
        if place[1] == "http" and place[2].strip("[]") not in LOOPBACK:
            raise ValueError(f'"{text}": a witness on another machine is asked by https')
        return cls(VerifierKey.read(key), url)

    def __str__(self) -> str:
        return f"{self.key} {self.url}"
