"""Others' characters, shown so that none is hidden, and what merely looks alike can be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.games import Fault

_PRINTED = bytes(range(0x20, 0x7F)) + b"\n"


def visible(text: str) -> str:
    """A text in which nothing is hidden: characters that cannot be printed are escaped."""
    if text.isascii() and not text.encode().translate(None, _PRINTED):  # a quarter of the time of what follows
        return text
    if text.replace("\n", "").isprintable():
        return text
    kept = {"\n": "\n", "\t": " ", "\xa0": " "}
    return "".join(
        char if char.isprintable() else kept.get(char) or char.encode("unicode_escape").decode() for char in text
    )


def escaped(fault: Fault) -> Fault:
    """A fault in which letters that merely look alike can be told apart."""

    def ascii_only(text: str) -> str:
        # Latin letters such as the u with two dots look like no other, and are in people's names.
        return "".join(
            char if "\xc0" <= char <= "\xff" and char.isalpha() else char.encode("ascii", "backslashreplace").decode()
            for char in text
        )

    def told(phrase: Phrase) -> Phrase:
        return phrase.given(**{name: told_fact(fact) for name, fact in phrase.facts.items()})

    def told_fact(fact: object) -> object:
        if isinstance(fact, Phrase):
            return told(fact)
        return ascii_only(fact) if isinstance(fact, str) else fact

    return fault._replace(token=fault.token and ascii_only(fault.token), message=told(fault.message))
