"""The small text files of a match that are hashed: openings of setups and receipts of orders.

Both are lines of `key value` with a block at the end or none, so that `sha256sum -c` is a complete verifier and
a person can read them. The salt keeps the hash from being guessed. Implements protocol.md, "Commitments".
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["NotAPaper", "Opening", "Receipt"]


class NotAPaper(ValueError):  # noqa: N818 - what it says of the text
    """The text is no opening, or no receipt, as this module writes them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What opens a commitment: a setup, where it belongs, the letter it came in, and a salt."""

    server: str
    match: str
    game: int
    seat: int
    player: str
    rules: str
    mail: str
    salt: str
    setup: str

    def text(self) -> str:
        """The file whose SHA-256 is the commitment."""
        head = "".join(f"{field.name} {getattr(self, field.name)}\n" for field in fields(self)[:-1])
        return f"pbem opening 1\n{head}setup\n{self.setup}\nend\n"

    @classmethod
    def read(cls, text: str) -> Opening:
        """The opening of this very text; raises `NotAPaper`."""
        head, mark, rest = text.partition("\nsetup\n")
        values = _values("pbem opening 1", head, [field.name for field in fields(cls)[:-1]])
        if not mark or not rest.endswith("\nend\n"):
            raise NotAPaper("no setup")
        numbers = {name: _number(name, values.pop(name)) for name in ("game", "seat")}
        opening = cls(**values, **numbers, setup=rest.removesuffix("\nend\n"))  # type: ignore[arg-type]
        if opening.text() != text:
            raise NotAPaper("not as an opening is written")
        return opening


@dataclass(frozen=True, slots=True)
class Receipt:
    """What stands for orders until their turn is resolved: where they belong, their letter, and a salt."""

    server: str
    match: str
    game: int
    turn: int
    seat: int
    player: str
    rev: int
    level: str
    key: str
    mail: str
    salt: str

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        head = "".join(f"{field.name} {getattr(self, field.name)}\n" for field in fields(self))
        return f"pbem receipt 1\n{head}"

    @classmethod
    def read(cls, text: str) -> Receipt:
        """The receipt of this very text; raises `NotAPaper`."""
        values = _values("pbem receipt 1", text.removesuffix("\n"), [field.name for field in fields(cls)])
        numbers = {name: _number(name, values.pop(name)) for name in ("game", "turn", "seat", "rev")}
        receipt = cls(**values, **numbers)  # type: ignore[arg-type]
        if receipt.text() != text:
            raise NotAPaper("not as a receipt is written")
        return receipt


def _values(title: str, head: str, names: list[str]) -> dict[str, str]:
    lines = head.split("\n")
    if lines[0] != title or len(lines) != len(names) + 1:
        raise NotAPaper(f"not {title!r}")
    values: dict[str, str] = {}
    for name, line in zip(names, lines[1:], strict=True):
        key, _, value = line.partition(" ")
        if key != name:
            raise NotAPaper(f"no {name}")
        values[name] = value
    return values


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotAPaper(f"{name} is no number")
    return int(value)
