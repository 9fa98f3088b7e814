"""Who writes to whom: the two sides of a correspondence."""

from __future__ import annotations

import msgspec

__all__ = ["Party"]


class Party(msgspec.Struct, frozen=True):
    """Who writes to whom: the player's name and address, the server's name and address."""

    name: str
    address: str
    server: str
    server_address: str

    @property
    def namespace(self) -> str:
        """The namespace of signatures."""
        return f"pbem@{self.server}"
