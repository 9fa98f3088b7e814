"""The table [witness]: the cosigners of this server's log, and the logs that it cosigns. See docs/witnesses.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from pbem.config.values import LOOPBACK, ConfigTable, Duration
from pbem.verifier_key import COSIGNATURE, LOG, MOST_SIGNATURES, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator


_ADDRESS = re.compile(r"[^\s@<>\x00-\x20]{1,64}@[A-Za-z0-9.-]{1,253}")
_SUBMISSION = re.compile(r"(https?)://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]{1,253})(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")


class Correspondent:
    """A log or a witness: its key, as C2SP writes it, and the address of its mail, or where it is asked by HTTP."""

    __slots__ = ("address", "key")

    def __init__(self, key: VerifierKey, address: str) -> None:
        self.key = key
        self.address = address

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `name+hash+key address`; raises ValueError. Without TLS, HTTP is for this machine alone."""
        key, _, address = text.strip().partition(" ")
        address = address.strip()
        if "://" not in address:
            known = _ADDRESS.fullmatch(address) is not None
        else:
            place = _SUBMISSION.fullmatch(address)
            known = place is not None and urlsplit(address).port != 0  # what is no port raises ValueError
            if place and place[1] == "http" and place[2].strip("[]") not in LOOPBACK:
                raise ValueError(f'"{text}": a witness on another machine is asked by https')
        if not known:
            raise ValueError(f'"{text}": write the key, a blank, and its mail address, or its https address')
        return cls(VerifierKey.read(key), address)

    @property
    def by_http(self) -> bool:
        """True if it is asked by HTTP, and not by mail."""
        return "://" in self.address

    def __str__(self) -> str:
        return f"{self.key} {self.address}"


class WitnessConfig(ConfigTable, frozen=True):
    """The witnesses of this server's log, and the logs that this server witnesses."""

    cosigners: tuple[Correspondent, ...] = ()
    logs: tuple[Correspondent, ...] = ()
    every: Duration = Duration(minutes=10)

    def faults(self, server: str) -> Iterator[str]:
        """The faults of the logs and witnesses of this server."""
        if len(self.cosigners) >= MOST_SIGNATURES:
            yield f"witness: cosigners: a checkpoint has room for {MOST_SIGNATURES - 1}"
        for name, kind, given in (("cosigners", COSIGNATURE, self.cosigners), ("logs", LOG, self.logs)):
            names = [one.key.name for one in given]
            if len(given) != len(set(names)):
                yield f"witness: {name}: two of them have one name"
            for one in given:
                if one.key.kind != kind or one.key.name == server:
                    yield f"witness: {name}: {one.key} is the key of no other {name.removesuffix('s')}"
        for one in self.logs:
            if one.by_http:
                yield f"witness: logs: {one.key}: the logs of others are witnessed here by mail"
