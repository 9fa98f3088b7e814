"""The Merkle tree of RFC 6962: published roots and proofs, and every tree against its definition."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbem.tlog import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

# The eight leaves of the reference implementation of Certificate Transparency, and their roots.
LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


class Grown:
    """A tree with all of its nodes."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._nodes: dict[tuple[int, int], bytes] = {}
        for number, leaf in enumerate(leaves):
            for level, place, found in list(tree.grown(number, tree.leaf_hash(leaf), self.node)):
                assert (level, place) not in self._nodes
                self._nodes[level, place] = found

    def node(self, level: int, number: int) -> bytes:
        return self._nodes[level, number]


def defined(leaves: Sequence[bytes]) -> bytes:
    """The root by the words of RFC 6962, 2.1."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    return hashlib.sha256(b"\1" + defined(leaves[:middle]) + defined(leaves[middle:])).digest()


def test_published_roots() -> None:
    grown = Grown(LEAVES)
    assert tree.root(0, grown.node) == tree.EMPTY == defined([])
    assert [tree.root(size, grown.node).hex() for size in range(1, 9)] == list(ROOTS)


@pytest.mark.parametrize("size", range(1, 34))
def test_every_proof_of_a_tree_holds_and_no_other_does(size: int) -> None:
    leaves = [bytes([number]) for number in range(size)]
    grown = Grown(leaves)
    root = tree.root(size, grown.node)
    assert root == defined(leaves)
    for index in range(size):
        leaf, proof = tree.leaf_hash(leaves[index]), tree.inclusion(index, size, grown.node)
        assert tree.is_included(leaf, index, size, proof, root)
        others = {(index + 1) % size, index ^ 1} - {index}
        assert not any(tree.is_included(leaf, other, size, proof, root) for other in others)
        assert not tree.is_included(leaf, index, size, [*proof, root], root)
        assert not proof or not tree.is_included(leaf, index, size, proof[:-1], root)
        assert not tree.is_included(tree.leaf_hash(b"x"), index, size, proof, root)
    for old in range(size + 1):
        before, proof = tree.root(old, grown.node), tree.consistency(old, size, grown.node)
        assert tree.is_consistent(old, before, size, root, proof)
        if 0 < old < size:
            other = Grown([b"x", *leaves[1:]])
            forked = tree.root(old, other.node)
            assert not tree.is_consistent(old, forked, size, root, proof)
            assert not tree.is_consistent(old, forked, size, root, tree.consistency(old, size, other.node))
            assert not tree.is_consistent(old, before, size, tree.root(size, other.node), proof)
            assert not tree.is_consistent(old, before, size, root, proof[1:])


@given(
    st.integers(0, 70),
    st.integers(-1, 70),
    st.lists(st.binary(min_size=32, max_size=32), max_size=8),
    st.binary(min_size=32, max_size=32),
)
def test_nothing_made_up_is_believed(old: int, size: int, proof: list[bytes], root: bytes) -> None:
    assert not tree.is_included(root, old, size, proof, tree.EMPTY)
    assert tree.is_consistent(old, root, size, tree.EMPTY, proof) is (old == 0 and size >= 0 and not proof)
