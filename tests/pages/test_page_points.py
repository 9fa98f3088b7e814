"""Ed25519 on the page: keys and signatures that prove nothing are refused before a browser is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attackers.forgers import with_entry
from msgspec.structs import replace
from page_scripts.verifying import fails
from vectors.matches import good
from world.mutations import signed_again

from pbem.identity import ed25519_points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from page_scripts.javascript import Scripts

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
YS = (*sorted(ed25519_points.SMALL), 2, 3, P - 2, P - 3, *range(P, 2**255))


def points() -> Iterator[bytes]:
    for y in YS:
        yield y.to_bytes(32, "little")
        yield (y | 1 << 255).to_bytes(32, "little")


@pytest.fixture
def credulous(verifier: Scripts) -> Scripts:
    """A browser for which every signature holds."""
    verifier.evaluate("() => { crypto.subtle.verify = async () => true; }")
    return verifier


def test_keys_under_which_nothing_is_proved_are_refused_alike(credulous: Scripts) -> None:
    found = good("claim")
    verdicts = set()
    for key in (*points(), b"", bytes(31), bytes([2, *bytes(32)])):
        other = signed_again(with_entry(found, 0, lambda body: body.update(server_key=key.hex())))  # noqa: B023 - called at once
        said = fails(credulous, other)
        assert (said is None) == ed25519_points.is_sound(key), (key, said)
        assert said is None or said == f"server: the key {key.hex()} is none under which a signature proves anything"
        verdicts.add(said is None)
    assert verdicts == {True, False}


def test_signatures_that_are_written_otherwise_are_refused_alike(credulous: Scripts) -> None:
    found = good("claim")
    made = found.signatures[1]
    numbers = (0, 1, ORDER - 1, ORDER, ORDER + 1, ORDER + int.from_bytes(made[32:], "little"), 2**256 - 1)
    cases = [point + made[32:] for point in points()] + [made[:32] + one.to_bytes(32, "little") for one in numbers]
    verdicts = set()
    for signature in (made, *cases, made[:63], made + b"\0", b""):
        said = fails(credulous, replace(found, signatures=(found.signatures[0], signature, *found.signatures[2:])))
        assert (said is None) == ed25519_points.is_sound_signature(signature), (signature, said)
        assert said is None or said == "server: entry 2: the server's signature does not hold"
        verdicts.add(said is None)
    assert verdicts == {True, False}
