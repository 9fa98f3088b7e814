"""Waiting for a page whose policy forbids what Playwright's own `wait_for_function` does after its first look."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 30.0  # seconds


def until(page: Page, holds: str) -> None:
    """Wait until an expression of the page holds; raises TimeoutError."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(f"Boolean({holds})"):
        if time.monotonic() > end:
            raise TimeoutError(holds)
        page.wait_for_timeout(20)
