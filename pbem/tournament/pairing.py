"""The lot, and the pairs of a round: round robins by the Berger tables, Swiss rounds by Monrad with backtracking.

The lot follows from what is fixed before anybody can know it: the server commits to a secret when it announces the
tournament, and reveals it at the start. The signed words of each entry are hashed with it, and bind the server, which
knows its secret.

Pure functions of names. A proof needs rules that never change, and that fit on a page: so no pairing library, and no
balance of colours, which hardly matter in these games. Implements docs/bundle.md, 12.5 and 12.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

MOST = 1000
"""The search for a pairing ends when it has found so many lists of lines without one: results that a server made up
could make it take for ever. In honest tournaments there were no more than twenty."""


def drawn(rules: str, secret: str, entries: Mapping[str, str]) -> list[str]:
    """The entrants in the order of the lot: by the hash of the terms, and that of the words of each one's entry."""
    lines = ["pbem lot 1", rules, secret, *(f"{name} {entries[name]}" for name in sorted(entries))]
    seed = sha256_hex("".join(f"{line}\n" for line in lines).encode())
    return sorted(entries, key=lambda name: sha256_hex(f"{seed} {name}\n".encode()))


def berger(names: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """The rounds of a single round robin, each with its pairs in the order of the boards; the first has seat 1.

    With an odd number, whoever would meet the missing last one has a free round.
    """
    last = len(names) + len(names) % 2
    for number in range(last - 1):
        shift = number * last // 2

        def turned(place: int, shift: int = shift) -> int:
            return (place - 1 + shift) % (last - 1) + 1

        top = (turned(1), last) if number % 2 == 0 else (last, turned(1))
        pairs = [top, *((turned(place), turned(last + 1 - place)) for place in range(2, last // 2 + 1))]
        yield [(names[a - 1], names[b - 1]) for a, b in pairs if max(a, b) <= len(names)]


def round_robin(groups: Sequence[Sequence[str]], *, double: bool) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """All pairs of all groups by round, each with its round and board; boards are numbered through the groups."""
    tables = [list(berger(names)) for names in groups]
    if double:
        tables = [[*table, *([(b, a) for a, b in pairs] for pairs in table)] for table in tables]
    for number in range(max(map(len, tables))):
        pairs = [pair for table in tables if number < len(table) for pair in table[number]]
        for board, pair in enumerate(pairs, start=1):
            yield number + 1, board, pair


def monrad(ranked: Sequence[str], met: Collection[frozenset[str]]) -> tuple[list[tuple[str, str]], int]:
    """The pairs of a Swiss round, and the number of pairs that meet again; `ranked` is an even number of names.

    The highest without a partner meets the next below whom it has not met; if the rest cannot be paired then, the
    next one. So this is the first complete pairing in lexicographic order; and if there is none, or the search for it
    takes too long, the first one with a single rematch, then with two, and so on.
    """
    for rematches in range(len(ranked) // 2 + 1):
        pairs = _first_pairing(tuple(ranked), met, rematches, set())
        if pairs is not None:
            return pairs, rematches
    raise AssertionError("with enough rematches, everybody can be paired")


def _first_pairing(
    left: tuple[str, ...], met: Collection[frozenset[str]], rematches: int, dead: set[tuple[tuple[str, ...], int]]
) -> list[tuple[str, str]] | None:
    """The first complete pairing with at most this many rematches; `dead` has what was found not to have one."""
    if not left:
        return []
    if (left, rematches) in dead:
        return None
    first, *others = left
    for at, other in enumerate(others):
        still = rematches - (frozenset((first, other)) in met)
        if still < 0:
            continue
        if len(dead) >= MOST:
            return None
        rest = _first_pairing((*others[:at], *others[at + 1 :]), met, still, dead)
        if rest is not None:
            return [(first, other), *rest]
    dead.add((left, rematches))
    return None
