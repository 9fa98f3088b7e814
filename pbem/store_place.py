"""The address of a store: a file, or a PostgreSQL database, whose password must never be shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Self

_URL = r"postgres(?:ql)?://(?:[^\s@/?#\[\]]*@)?(?P<shown>[A-Za-z0-9._,:%\[\]-]*(?:/[A-Za-z0-9._%-]*)?)(?:\?[^\s#]*)?"
"""A connection URI of libpq. We refuse others, because libpq's error texts might quote a part of a password."""


class PostgresqlAddress:
    """The address of a database, in libpq's format; as a string, it has no user, password or options."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(_URL, url)
        if found is None:
            raise ValueError(
                "this is no address of a database such as postgresql://user@host/name; in a password, characters"
                " such as @ : / # ? are written as %40 %3A %2F %23 %3F, or it is left to ~/.pgpass"
            )
        self.url = url
        self._shown = f"postgresql://{found['shown']}"

    @classmethod
    def parse(cls, text: str) -> Path | Self:
        """The place that a text names: a path, unless it begins as an address does; raises ValueError."""
        return cls(text) if re.match(r"postgres(ql)?:", text) else Path(text)

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PostgresqlAddress) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)


Place = Path | PostgresqlAddress
"""The address of a store."""
