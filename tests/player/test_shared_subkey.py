"""An opponent whose later OpenPGP key revokes a subkey that it shares with an earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pbem.proof.normal_form import judged_by_others

FOLDER = Path(__file__).with_name("shared_subkey")
EARLIER = (FOLDER / "earlier.asc").read_text()
LATER = (FOLDER / "later.asc").read_text()
"""It has the subkey of the earlier key, and says that it is no longer used."""


@pytest.mark.parametrize("keys", [(EARLIER, LATER), (LATER, EARLIER)], ids=["beside it", "in place of it"])
def test_a_later_key_takes_back_nothing_that_was_signed(keys: tuple[str, str]) -> None:
    """Otherwise a program would find all earlier letters unsigned, accuse the server, and lose by the clock."""
    signed = (FOLDER / "step.txt").read_bytes()
    assert judged_by_others(signed, keys, "play.example").verdict.kind == "valid"
    assert judged_by_others(signed, [LATER], "play.example").verdict.kind == "revoked"
