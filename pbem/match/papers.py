"""The small text files of a match that are hashed: openings of setups, receipts of orders, evidence of mailboxes.

All are lines of `key value` with a block at the end or none, so that `sha256sum -c` is a complete verifier and
a person can read them. The salt keeps the hash from being guessed. Implements protocol.md, "Commitments" and
"Identity".
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from pbem.match.transcript import digest

__all__ = ["Evidence", "NotAPaper", "Opening", "Receipt", "pinned_mailbox"]


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
    evidence: str = field(default="", kw_only=True)
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    salt: str
    setup: str

    @property
    def level(self) -> str:
        """The level of the letter: `key` or `mailbox`."""
        return "mailbox" if self.evidence else "key"

    def text(self) -> str:
        """The file whose SHA-256 is the commitment."""
        return f"pbem opening 1\n{_head(self, _names(Opening)[:-1])}setup\n{self.setup}\nend\n"

    @classmethod
    def read(cls, text: str) -> Opening:
        """The opening of this very text; raises `NotAPaper`."""
        head, mark, rest = text.partition("\nsetup\n")
        values = _values("pbem opening 1", head, _names(cls)[:-1])
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
    evidence: str = field(default="", kw_only=True)
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    orders: str = field(default="", kw_only=True)
    """`default` where they are default orders, of turn 0 until they are played; else the line is not there."""
    salt: str

    @property
    def by_default(self) -> bool:
        """Whether these are orders for whichever turn is missed."""
        return self.orders == "default"

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"pbem receipt 1\n{_head(self, _names(Receipt))}"

    @classmethod
    def read(cls, text: str) -> Receipt:
        """The receipt of this very text; raises `NotAPaper`."""
        values = _values("pbem receipt 1", text.removesuffix("\n"), _names(cls))
        numbers = {name: _number(name, values.pop(name)) for name in ("game", "turn", "seat", "rev")}
        receipt = cls(**values, **numbers)  # type: ignore[arg-type]
        if receipt.text() != text or receipt.orders not in {"", "default"}:
            raise NotAPaper("not as a receipt is written")
        return receipt


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a letter counts at level `mailbox`: whose word was taken for its From, and the word itself."""

    server: str
    match: str
    player: str
    mail: str
    """SHA-256 of the letter."""
    received: str
    """When, UTC to the second: by then the signature must not have expired."""
    token: str
    """SHA-256 of the single-use reply token that the letter brought back."""
    by: str
    """`dkim`: the letter's DKIM signature holds with this key record. `server`: our mail server said so."""
    name: str
    """Where the DNS kept the key record, or the authserv-id of our mail server."""
    record: str
    """The TXT record as the DNS gave it, or the Authentication-Results header of the letter."""

    @property
    def key(self) -> str:
        """What stands in a receipt where else the fingerprint of a key does."""
        return f"{self.by}:{self.name}"

    def text(self) -> str:
        """The file whose SHA-256 the opening, receipt or entry names."""
        return f"pbem evidence 1\n{_head(self, _names(Evidence))}"

    @classmethod
    def read(cls, text: str) -> Evidence:
        """The evidence of this very text; raises `NotAPaper`."""
        evidence = cls(**_values("pbem evidence 1", text.removesuffix("\n"), _names(cls)))
        if evidence.text() != text or evidence.by not in {"dkim", "server"}:
            raise NotAPaper("not as evidence is written")
        return evidence


def pinned_mailbox(server: str, match: str, address: str) -> str:
    """What stands for a mailbox in the transcript, which may be shown to anybody: a hash, in place of the address."""
    text = f"pbem mailbox 1\nserver {server}\nmatch {match}\naddress {address.lower()}\n"
    return digest(text.encode("utf-8", "replace"))


_OPTIONAL = ("evidence", "orders")
"""Lines that stand in some papers of a kind only."""


def _names(paper: type[Evidence | Opening | Receipt]) -> list[str]:
    return [each.name for each in fields(paper)]


def _head(paper: Evidence | Opening | Receipt, names: list[str]) -> str:
    return "".join(
        f"{name} {getattr(paper, name)}\n" for name in names if name not in _OPTIONAL or getattr(paper, name)
    )


def _values(title: str, head: str, names: list[str]) -> dict[str, str]:
    lines = head.split("\n")
    there = {line.partition(" ")[0] for line in lines}
    names = [name for name in names if name not in _OPTIONAL or name in there]
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
