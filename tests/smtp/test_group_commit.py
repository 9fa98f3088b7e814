"""Calls that share a commit: which of them are carried out together, and who waits for whom."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pbem.smtp.storing import GroupCommit

if TYPE_CHECKING:
    import pytest


class Ledger:
    """Notes the batches that were carried out, and says that more are coming while `coming` is above nought."""

    def __init__(self, most: int = 8) -> None:
        self.batches: list[list[int]] = []
        self.coming = 0
        self.together: GroupCommit[int, int] = GroupCommit(self.carry_out, most, lambda: self.coming > 0)

    async def carry_out(self, items: list[int]) -> list[int | Exception]:
        self.batches.append(items)
        await asyncio.sleep(0)
        return [ValueError(item) if item < 0 else 2 * item for item in items]


def test_what_comes_meanwhile_waits_for_the_next_turn_and_no_batch_is_too_large() -> None:
    async def scene() -> None:
        ledger = Ledger(most=2)
        first = ledger.together(1)
        await asyncio.sleep(0)
        assert ledger.batches == [[1]]
        await asyncio.gather(first, *(ledger.together(item) for item in (2, 3, 4)))
        assert ledger.batches == [[1], [2, 3], [4]]
        # A full one waits for nobody, whoever else is about to come.
        ledger.coming = 1
        waiting = [ledger.together(5), ledger.together(6)]
        for _ in range(3):
            await asyncio.sleep(0)
        assert ledger.batches[3:] == [[5, 6]]
        await asyncio.gather(*waiting)

    asyncio.run(scene())


def test_nobody_waits_on_when_the_last_one_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.smtp.storing.MOMENT", 60.0)

    async def scene() -> None:
        ledger = Ledger()
        ledger.coming = 1
        first = ledger.together(1)
        await asyncio.sleep(0)
        second = ledger.together(2)
        for _ in range(3):
            await asyncio.sleep(0)
        assert ledger.batches == [], "another is about to come"
        ledger.coming = 0
        await asyncio.gather(first, second, ledger.together(3))
        assert ledger.batches == [[1, 2, 3]]

    asyncio.run(asyncio.wait_for(scene(), 30))
