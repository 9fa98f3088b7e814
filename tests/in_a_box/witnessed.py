"""Proofs that entries of a bundle are in the log of its server, and letters that bring them, made by hand."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Referee, attachment

from pbem.match.transcript import statement
from pbem.proof import bundle
from pbem.tlog import tree
from pbem.tlog.checkpoint import Checkpoint, InclusionProof
from pbem.tlog.note import Note, cosigned, signed
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pbem.proof.bundle import Bundle

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
"""The server's, as a referee of the tests has it."""


def witness(name: str) -> tuple[VerifierKey, Ed25519PrivateKey]:
    """A witness of this name: its key for others, and its own."""
    own = Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32)[:32])
    return VerifierKey(name, COSIGNATURE, own.public_key().public_bytes_raw()), own


def short_match(folder: Path) -> Bundle:
    """The bundle of a match of one turn, which its players had with a referee in this folder."""
    referee = Referee(folder)
    ann, bob = referee.begun("settle: 0")
    referee.turn((ann, ""), (bob, ""))
    referee.send(bob, "resign m1 match\n")
    content = attachment(ann.find(", the end"), ".zip")
    referee.close()
    return bundle.read(content)


def about(found: Bundle) -> tuple[str, str]:
    body = found.entries[0].body
    return body["server"], body["match"]


def proof(
    found: Bundle,
    seq: int,
    times: Mapping[str, int],
    *,
    before: int = 5,
    behind: int = 3,
    head: str = "",
    key: Ed25519PrivateKey = KEY,
    origin: str = "",
) -> InclusionProof:
    """That an entry is in a log, between so many leaves of others, cosigned by witnesses of these names then."""
    server, match = about(found)
    heads = [head if entry.seq == seq and head else entry.head for entry in found.entries]
    own = [statement(server, match, number, one) for number, one in enumerate(heads[:seq], start=1)]
    leaves = [b"x%d" % number for number in range(before)] + own + [b"y%d" % number for number in range(behind)]
    nodes: dict[tuple[int, int], bytes] = {}
    for number, leaf in enumerate(leaves):
        for level, place, content in tree.grown(number, tree.leaf_hash(leaf), lambda *at: nodes[at]):
            nodes[level, place] = content
    text = str(Checkpoint(origin or server, len(leaves), tree.root(len(leaves), lambda *at: nodes[at])))
    lines = [cosigned(name, witness(name)[1], text, time) for name, time in times.items()]
    note = Note(text, (signed(server, key, text), *lines))
    place = before + seq - 1
    return InclusionProof(place, tuple(tree.inclusion(place, len(leaves), lambda *at: nodes[at])), note)


def letter(found: Bundle, items: Sequence[Mapping[str, object]]) -> bytes:
    server, match = about(found)
    bulletin = {"pbem": "bulletin 1", "server": server, "items": [{"match": match, **item} for item in items]}
    packed = base64.b64encode(json.dumps(bulletin).encode()).decode()
    folded = "\r\n ".join(packed[at : at + 60] for at in range(0, len(packed), 60))
    return f"From: pbem@{server}\r\nSubject: {match}\r\nX-Pbem-Bulletin: {folded}\r\n\r\nHello\r\n".encode()


def logged(seq: int, shown: InclusionProof | str) -> dict[str, object]:
    """The item of a bulletin that brings a proof."""
    return {"about": "log", "seq": seq, "proof": str(shown)}


def signed_head(found: Bundle, seq: int, head: str, key: Ed25519PrivateKey = KEY) -> dict[str, object]:
    """The item of a bulletin that shows a head."""
    server, match = about(found)
    signature = key.sign(statement(server, match, seq, head)).hex()
    return {"about": "match", "head": {"seq": seq, "head": head, "signature": signature}}
