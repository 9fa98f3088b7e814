"""The lot: the order of the entrants, which follows from what is fixed before anybody can know it.

The server commits to a secret when it announces the tournament, and reveals it at the start. The signed words of each
entry are hashed with it; they bind the server, which knows its secret. Against a server that plays together with an
entrant only a beacon helps: a signature of the drand network, of a round that is fixed before entries close.
Implements docs/bundle.md, 12.5.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pbem.match.transcript import sha256_hex, utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.json_object import JsonObject

QUICKNET: Final = (
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e"
    "17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
)
"""The public key of drand's network "quicknet", which the terms name, so that no verifier must know the network."""

NETWORK: Final = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
"""The hash by which drand's servers know the network."""

_GENESIS, _PERIOD = 1692803367, 3
"""The second of quicknet's first round, and the seconds between two rounds."""

_AFTER = timedelta(hours=1)
"""The time between the last entry and the beacon's round, because clocks are wrong."""

NONE, UNREACHABLE = "none", "unreachable"
"""The beacon of a lot without one, and of a lot whose beacon could not be fetched for `PATIENCE`."""

PATIENCE = timedelta(days=3)


def beacon_of(closes: str) -> JsonObject:
    """The beacon of a tournament whose entries close at this time: the first round an hour later, and its key."""
    elapsed = int((utc(closes) + _AFTER).timestamp()) - _GENESIS
    return {"round": -(-elapsed // _PERIOD) + 1, "key": QUICKNET}


def round_of(beacon: Mapping[str, object]) -> int:
    """The round of a beacon."""
    return int(str(beacon["round"]))


def out_at(beacon: Mapping[str, object]) -> datetime:
    """The time at which the signature of a round is out."""
    return datetime.fromtimestamp(_GENESIS + (round_of(beacon) - 1) * _PERIOD, UTC)


def holds(beacon: Mapping[str, object], signature: str) -> bool | None:
    """True if this is the network's signature of the round; None if the package that can tell is not installed.

    The scheme is drand's `bls-unchained-g1-rfc9380`. A point beside the subgroup would hold as well, so that whoever
    adds one could choose among very many signatures.
    """
    try:
        from py_ecc.bls.g2_primitives import pubkey_to_G1, signature_to_G2, subgroup_check
        from py_ecc.bls.hash_to_curve import hash_to_G1
        from py_ecc.optimized_bls12_381 import FQ12, G2, final_exponentiate, neg, pairing
    except ImportError:
        return None
    message = sha256(round_of(beacon).to_bytes(8, "big")).digest()
    try:
        # The package names them for Ethereum's scheme, in which keys and signatures have changed groups.
        key, signed = signature_to_G2(bytes.fromhex(str(beacon["key"]))), pubkey_to_G1(bytes.fromhex(signature))
    except ValueError:
        return False
    if not (subgroup_check(key) and subgroup_check(signed)):
        return False
    hashed = hash_to_G1(message, b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_", sha256)
    left, right = (pairing(of, point, False) for of, point in ((G2, signed), (key, neg(hashed))))
    return bool(final_exponentiate(left * right) == FQ12.one())


def seed(rules: str, secret: str, entries: Mapping[str, str], beacon: str) -> str:
    """The seed of a lot: `rules` is the hash of the terms; `entries` has by name the hash of each entry's words."""
    lines = [
        "pbem lot 1",
        rules,
        secret,
        *(f"{name} {entries[name]}" for name in sorted(entries)),
        f"beacon {beacon}",
    ]
    return sha256_hex("".join(f"{line}\n" for line in lines).encode())


def order(seed: str, names: Iterable[str]) -> list[str]:
    """The entrants in the order of the lot."""
    return sorted(names, key=lambda name: sha256_hex(f"{seed} {name}\n".encode()))
