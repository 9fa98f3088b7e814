"""The page's verifier, for every test of the pages."""

from __future__ import annotations

import pytest
from page_scripts.javascript import Scripts

from pbem.pages.match_page import checking


@pytest.fixture
def verifier() -> Scripts:
    return Scripts(*checking("spaceships", sealed=True))
