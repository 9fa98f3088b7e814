"""Whoever comes with much waits for the own turn: others do not wait for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from pbem.smtp.storing import Crowded, Shares

if TYPE_CHECKING:
    from collections.abc import Coroutine


class Place:
    """A place with one table, at which everybody sits for a moment."""

    def __init__(self, each: int, in_all: int) -> None:
        self.turns = Shares(each, in_all)
        self.table = asyncio.Lock()
        self.served: list[str] = []

    async def come(self, party: str) -> None:
        async with self.turns.of(party), self.table:
            await asyncio.sleep(0)
            self.served.append(party)


def play(*guests: Coroutine[None, None, None]) -> list[BaseException | None]:
    async def scene() -> list[BaseException | None]:
        return await asyncio.gather(*guests, return_exceptions=True)

    return asyncio.run(scene())


def test_who_is_one_too_many_of_a_party_or_in_all_is_told() -> None:
    place = Place(3, 5)
    outcomes = play(*(place.come("many") for _ in range(5)), *(place.come(str(number)) for number in range(4)))
    assert [isinstance(outcome, Crowded) for outcome in outcomes] == [False] * 3 + [True] * 2 + [False] * 2 + [
        True
    ] * 2


def test_whoever_is_gone_makes_room() -> None:
    async def scene() -> None:
        place = Place(1, 1)
        for _ in range(3):
            await place.come("one")
        with pytest.raises(ZeroDivisionError):
            async with place.turns.of("one"):
                raise ZeroDivisionError
        gone = asyncio.create_task(place.come("one"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await place.come("other")

    asyncio.run(scene())
