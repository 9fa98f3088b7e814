"""The faults for which something is refused: a setup, an order, options, or an event of a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.games import Fault


def _faults(judge: Callable[..., object], arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Fault, ...]:
    with pytest.raises(Refused) as refused:
        judge(*arguments, **named)
    assert all(str(fault.message) not in {"", "None"} for fault in refused.value.faults)
    return refused.value.faults


def refused(judge: Callable[..., object], *arguments: Any, **named: Any) -> list[str]:
    """The rule of each fault."""
    return [fault.rule for fault in _faults(judge, arguments, named)]


def faults(judge: Callable[..., object], *arguments: Any, **named: Any) -> list[tuple[str, str | None, int | None]]:
    """The rule, token and line of each fault."""
    return [(fault.rule, fault.token, fault.line) for fault in _faults(judge, arguments, named)]


def messages(judge: Callable[..., object], *arguments: Any, **named: Any) -> list[str]:
    """The sentence of each fault."""
    return [str(fault.message) for fault in _faults(judge, arguments, named)]
