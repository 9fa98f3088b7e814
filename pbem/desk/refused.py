"""The error of a command that has one fault, as nearly all refused ones have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused

if TYPE_CHECKING:
    from pbem.phrase import Phrase


def refused(rule: str, token: str | None, message: Phrase) -> Refused:
    """The refusal of a command for one fault."""
    return Refused(Fault(rule, token, message))
