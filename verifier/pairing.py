"""12.6 Pairing, without what a tournament keeps: who meets whom, and in which seats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LISTS = 1000
Pairs = list[tuple[str, str]]


def groups(names: Sequence[str], most: int) -> list[list[str]]:
    """Lines by ordinal, dealt to as few groups as the terms allow."""
    count = -(-len(names) // most)
    return [list(names[at::count]) for at in range(count)]


def berger(lines: Sequence[str], *, double: bool) -> list[Pairs]:
    """The rounds of a group; whoever would meet the number that nobody has is free."""
    even = len(lines) + len(lines) % 2
    rounds = []
    for number in range(even - 1):
        shift = number * even // 2

        def at(place: int, shift: int = shift) -> int:
            return (place + shift - 1) % (even - 1) + 1

        pairs = [(even, at(1)) if number % 2 else (at(1), even)]
        pairs += [(at(k), at(even + 1 - k)) for k in range(2, even // 2 + 1)]
        rounds.append([(lines[a - 1], lines[b - 1]) for a, b in pairs if max(a, b) <= len(lines)])
    return rounds + ([[(b, a) for a, b in pairs] for pairs in rounds] if double else [])


def swiss(ranked: Sequence[str], met: Callable[[str, str], bool]) -> tuple[Pairs, int]:
    """The pairs of a round, the higher one first; and how many were allowed to meet again."""
    for allowed in range(len(ranked) // 2 + 1):
        failed: set[tuple[tuple[str, ...], int]] = set()
        pairs = paired(tuple(ranked), met, allowed, failed)
        if pairs is not None:
            return pairs, allowed
    raise AssertionError("all may meet again")


def paired(
    rest: tuple[str, ...], met: Callable[[str, str], bool], allowed: int, failed: set[tuple[tuple[str, ...], int]]
) -> Pairs | None:
    if not rest:
        return []
    if (rest, allowed) in failed:
        return None
    one = rest[0]
    for other in rest[1:]:
        again = int(met(one, other))
        if again <= allowed and len(failed) < LISTS:
            more = paired(tuple(name for name in rest[1:] if name != other), met, allowed - again, failed)
            if more is not None:
                return [(one, other), *more]
    failed.add((rest, allowed))
    return None
