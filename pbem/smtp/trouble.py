"""Our own faults, as clients hear of them: a 4xx reply and a reference, under which the log says what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import structlog

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger()


class Trouble(msgspec.Struct, frozen=True):
    """Makes the references."""

    reference: Callable[[], str]

    def reply(self, reply: str, error: BaseException | None) -> str:
        """Log our own fault under a new reference, and return a reply that names only that reference."""
        reference = self.reference()
        log.error("intake trouble", reference=reference, reply=reply[:3], exc_info=error)
        return f"{reply} (reference {reference})"
