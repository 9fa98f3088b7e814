"""A sequence that never changes, and shares its items with those that grew out of it.

A verifier keeps the match as it was after each turn: with all turns in each, n turns would take n squared over two
pointers, 350 MB for 9,300 turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item_co = TypeVar("Item_co", covariant=True)


class Grown(Sequence[Item_co], Generic[Item_co]):
    """A sequence to which an item is added in constant time; it keeps all that ever grew out of it alive."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: Iterable[Item_co] = ()) -> None:
        self._items = list(items)
        self._count = len(self._items)

    def and_(self, item: Item_co) -> Grown[Item_co]:  # type: ignore[misc]  # nothing is written into this one
        """The sequence with this item behind all others."""
        # Behind the last item there may be those of another sequence that grew out of this one.
        is_last = 0 < self._count == len(self._items)
        made = Grown[Item_co]()
        made._items = self._items if is_last else self._items[: self._count]
        made._items.append(item)
        made._count = self._count + 1
        return made

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Item_co: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Item_co, ...]: ...

    def __getitem__(self, at: int | slice) -> Item_co | tuple[Item_co, ...]:
        if isinstance(at, slice):
            return tuple(self._items[place] for place in range(*at.indices(self._count)))
        return self._items[range(self._count)[at]]

    def __iter__(self) -> Iterator[Item_co]:
        return islice(self._items, self._count)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grown) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
