"""The table [witness]: the cosigners of this server's log. See docs/witnesses.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from pbem.config.values import LOOPBACK, ConfigTable, Duration
from pbem.verifier_key import COSIGNATURE, MOST_SIGNATURES, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator


_SUBMISSION = re.compile(r"(https?)://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]{1,253})(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")


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
        place = _SUBMISSION.fullmatch(url)
        if not place or urlsplit(url).port == 0:  # what is no port raises ValueError
            raise ValueError(f'"{text}": write the key, a blank, and its https address')
        if place[1] == "http" and place[2].strip("[]") not in LOOPBACK:
            raise ValueError(f'"{text}": a witness on another machine is asked by https')
        return cls(VerifierKey.read(key), url)

    def __str__(self) -> str:
        return f"{self.key} {self.url}"


class WitnessConfig(ConfigTable, frozen=True):
    """The witnesses of this server's log."""

    cosigners: tuple[Cosigner, ...] = ()
    every: Duration = Duration(minutes=10)

    def faults(self, server: str) -> Iterator[str]:
        """The faults of the witnesses of this server."""
        if len(self.cosigners) >= MOST_SIGNATURES:
            yield f"witness: cosigners: a checkpoint has room for {MOST_SIGNATURES - 1}"
        names = [one.key.name for one in self.cosigners]
        if len(names) != len(set(names)):
            yield "witness: cosigners: two of them have one name"
        for one in self.cosigners:
            if one.key.kind != COSIGNATURE or one.key.name == server:
                yield f"witness: cosigners: {one.key} is the key of no other cosigner"
