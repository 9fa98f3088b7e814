"""The changes of `simulation.forgeries`, signed with the server's key of tests/in_a_box/referee.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attackers.forgers import SERVER_KEY, signed_again

from simulation import forgeries

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle


def mutated(found: Bundle, dice: forgeries.Dice) -> bytes:
    """The bundle with one change."""
    return forgeries.mutated(found, dice, SERVER_KEY)


def with_body(found: Bundle, at: int, body: dict[str, Any], **more: Any) -> Bundle:
    """The bundle with another body of an entry."""
    return signed_again(forgeries.with_body(found, at, body, **more))


def rewritten(found: Bundle, path: str, paper: bytes) -> Bundle:
    """The bundle with another paper, and its hash wherever the old one was named."""
    return signed_again(forgeries.rewritten(found, path, paper))
