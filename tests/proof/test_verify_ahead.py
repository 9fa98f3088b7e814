"""The proof of orders before their turn: in no other turn, and by default only where a turn was missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import fails_for_both
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import rewritten

from pbem.match.documents import NotADocument, Receipt

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle


@pytest.fixture
def found() -> Bundle:
    """Ann ordered turn 2 in advance, Bob missed turns 1 and 2 and played by default, and both ordered turn 3."""
    return good("default")


def receipt_of(found: Bundle, turn: int, seat: int) -> Receipt:
    return Receipt.read(found.papers[f"receipts/game-1-turn-{turn}-seat-{seat}.txt"].decode())


def receipted(found: Bundle, turn: int, seat: int, **changes: Any) -> Bundle:
    """The bundle of a server that changes a receipt."""
    paper = replace(receipt_of(found, turn, seat), **changes).text().encode()
    return rewritten(found, f"receipts/game-1-turn-{turn}-seat-{seat}.txt", paper)


def test_default_orders_have_the_revision_of_their_letter(found: Bundle) -> None:
    fails_for_both(receipted(found, 2, 2, rev=2), "holds no `default orders`")


def test_receipts_say_which_orders_they_are_of(found: Bundle) -> None:
    receipt = receipt_of(found, 2, 2)
    assert receipt.by_default
    assert "\norders default\nreceived " in receipt.text()
    for text in (receipt.text().replace("orders default", "orders other"), receipt.text() + "orders default\n"):
        with pytest.raises(NotADocument):
            Receipt.read(text)
