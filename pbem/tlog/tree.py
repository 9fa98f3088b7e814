"""The Merkle tree of a log: its root, and proofs that a leaf is in it, or that it only grew.

Only the hashes of complete subtrees are stored: `nodes(level, number)` is the hash over the 2**level leaves that
begin at leaf number * 2**level. Implements RFC 6962, 2.1 (the same as RFC 9162, 2.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

Nodes = Callable[[int, int], bytes]
"""The hash of a complete subtree, by level and number."""

EMPTY = hashlib.sha256().digest()
"""The root of a tree without leaves."""


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + leaf).digest()


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def grown(size: int, leaf: bytes, nodes: Nodes) -> Iterator[tuple[int, int, bytes]]:
    """The nodes that a new leaf, given by its hash, completes in a tree of this size: level, number, hash of each."""
    level, number, found = 0, size, leaf
    yield level, number, found
    while number % 2:
        found = _parent(nodes(level, number - 1), found)
        level, number = level + 1, number // 2
        yield level, number, found


def root(size: int, nodes: Nodes) -> bytes:
    """The root of the first `size` leaves."""
    return _range(0, size, nodes) if size else EMPTY


def inclusion(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that the leaf of this index is in the tree of the first `size` leaves."""
    return _path(index, 0, size, nodes)


def consistency(old: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that the tree of the first `old` leaves is a prefix of the tree of the first `size`."""
    return _difference(old, 0, size, nodes, whole=True) if 0 < old < size else []


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> bool:
    """True if a leaf, given by its hash, has this index in the tree with the expected root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    sides, found = _sides(index, size - 1), leaf
    if len(proof) != len(sides):
        return False
    for is_left, beside in zip(sides, proof, strict=True):
        found = _parent(beside, found) if is_left else _parent(found, beside)
    return found == expected


def is_consistent(old: int, old_root: bytes, size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """True if a tree of `size` leaves extends one of `old` leaves, given their roots (RFC 9162, 2.1.4.2)."""
    if not 0 <= old <= size:
        return False
    if old in {0, size}:
        return not proof and (old_root == new_root if old else True)
    path = list(proof)
    if not old & (old - 1):  # the proof leaves out the hash of a complete subtree: it is the old root
        path.insert(0, old_root)
    number, last = old - 1, size - 1
    while number % 2:
        number, last = number // 2, last // 2
    sides = _sides(number, last)
    if len(path) != 1 + len(sides):
        return False
    before = after = path[0]
    for is_left, beside in zip(sides, path[1:], strict=True):
        if is_left:
            before, after = _parent(beside, before), _parent(beside, after)
        else:
            after = _parent(after, beside)
    return before == old_root and after == new_root


def _sides(number: int, last: int) -> list[bool]:
    """The side of each hash beside the way from this node up to the root: True if it stands at the left."""
    sides = []
    while last:
        is_left = number % 2 == 1 or number == last
        sides.append(is_left)
        while is_left and number and not number % 2:
            number, last = number // 2, last // 2
        number, last = number // 2, last // 2
    return sides


def _split(count: int) -> int:
    """The largest power of two smaller than this number of leaves."""
    return 1 << (count - 1).bit_length() - 1


def _range(start: int, end: int, nodes: Nodes) -> bytes:
    """The hash over the leaves from `start` up to `end`, as RFC 6962 splits the tree."""
    count = end - start
    if not count & (count - 1):
        return nodes(count.bit_length() - 1, start // count)
    middle = start + _split(count)
    return _parent(_range(start, middle, nodes), _range(middle, end, nodes))


def _path(index: int, start: int, end: int, nodes: Nodes) -> list[bytes]:
    if end - start == 1:
        return []
    middle = start + _split(end - start)
    if index < middle:
        return [*_path(index, start, middle, nodes), _range(middle, end, nodes)]
    return [*_path(index, middle, end, nodes), _range(start, middle, nodes)]


def _difference(old: int, start: int, end: int, nodes: Nodes, *, whole: bool) -> list[bytes]:
    if old == end:
        return [] if whole else [_range(start, end, nodes)]
    middle = start + _split(end - start)
    if old <= middle:
        return [*_difference(old, start, middle, nodes, whole=whole), _range(middle, end, nodes)]
    return [*_difference(old, middle, end, nodes, whole=False), _range(start, middle, nodes)]
