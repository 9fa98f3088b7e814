"""The faults that a game finds in a setup or an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import Refused

if TYPE_CHECKING:
    from collections.abc import Callable


def _refused(judge: Callable[..., object], arguments: tuple[Any, ...]) -> Refused:
    with pytest.raises(Refused) as refused:
        judge(*arguments)
    return refused.value


def faults(judge: Callable[..., object], *arguments: Any) -> list[tuple[str, str | None, int | None]]:
    """The rule, token and line of each fault."""
    return [(fault.rule, fault.token, fault.line) for fault in _refused(judge, arguments).faults]


def messages(judge: Callable[..., object], *arguments: Any) -> list[str]:
    """The sentence of each fault."""
    return [str(fault.message) for fault in _refused(judge, arguments).faults]
