"""The heaviest letters of each kind cost little more than any of their size, and nothing counts that should not."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest
from attackers.hostile_letters import HEAD, ORDERS, SIGNER, WORDS, full, keys, letters, plain
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from judges.reasons import is_whole
from signing.domains import Domain, rsa_key
from signing.openpgp_maker import Signer, armored

from pbem.config.limits import Limits
from pbem.desk.reading import Question, find
from pbem.identity import Key, parse_key, smime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RECEIVED = datetime(2028, 1, 1, tzinfo=UTC)
MOST = 1.0
"""Seconds of the processor's time that reading a letter may take: twice what it takes where no neighbour is loud."""


def understood(raw: bytes, offered: tuple[Key, ...] = ()) -> tuple[str, list[str]]:
    """The verdict on a letter, and its commands."""
    question = Question(raw, RECEIVED, "play.example", [*(offered or keys())], returned=True)
    found = find(question, Limits()).understood
    if found is None:
        return "unreadable", []
    assert is_whole(found.judged.verdict.reason)
    return found.judged.verdict.kind, [command.name for command in found.reading.commands]


def cost(work: Callable[[], object], times: int = 1) -> float:
    """Seconds of the processor's time, the least of so many."""
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def costly(works: Mapping[str, Callable[[], object]]) -> list[str]:
    """The names of those that cost too much, also when they are tried again."""
    return [name for name, work in works.items() if cost(work) > MOST and cost(work, 5) > MOST]


def test_case_31_each_costs_little_and_says_what_it_should() -> None:
    heavy = dict(letters())
    wrong = {}

    def understand(name: str) -> None:
        kind, said = understood(heavy[name].raw)
        # Of what is signed within what is signed nothing is said.
        nested = name.startswith("S/MIME in") and name != "S/MIME in S/MIME, 1 deep"
        if kind not in heavy[name].kinds or (nested and said):
            wrong[name] = (kind, said)

    works = {name: partial(understand, name) for name in heavy}
    assert not costly(works)
    assert not wrong
    assert len(heavy) > 350


def test_der_is_measured_before_it_is_taken_apart() -> None:
    """DER of honest programs is parsed; DER that is too deep, too long, or in too many pieces is not."""
    smime.walk_der(b"\x30\x80\x02\x01\x01\x24\x80\x04\x01x\0\0\0\0")
    smime.walk_der(b"\x30\x84\0\0\0\x05\x04\x03abc and what is behind")
    smime.walk_der(b"\x30\x80" + b"\x05\0" * (smime.PIECES - 2) + b"\0\0")
    smime.walk_der(b"\x30\x80" * smime.DEPTH + b"\0\0" * smime.DEPTH)
    for damaged in (
        b"", b"\x30", b"\x30\x05\x04\x01x", b"\x30\x80\x04\x01x", b"\x04\x80x\0\0", b"\x30\x03\x04\x05x",
        b"\x3f\x81\x01\x00", b"\x30\x85\0\0\0\0\x02\x05\0", b"\x06\x81\x80" + bytes(128), b"\x30\x02\x30\x01",
        b"\x30\x80" * (smime.DEPTH + 1) + b"\0\0" * (smime.DEPTH + 1),
        b"\x30\x80" + b"\x05\0" * (smime.PIECES - 1) + b"\0\0",
        b"\x02\x82\x30\0" + bytes(0x3000),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            smime.walk_der(damaged)


def test_a_key_of_many_subkeys_costs_little() -> None:
    """The key has the largest number of subkeys, all bound, and each might have signed the letter."""
    others = [Signer(key=Ed25519PrivateKey.from_private_bytes(bytes([at]) * 32)) for at in range(20)]
    many = parse_key(SIGNER.certificate(*(SIGNER.subkey(other.body) for other in others)), RECEIVED)
    text = full(WORDS, 240_000)
    signature = armored("SIGNATURE", SIGNER.signature(1, b"another text")).replace("\n", "\r\n")
    raw = plain(f"{text}{signature}")
    assert understood(raw, (many,))[0] == "bad"
    assert not costly({"many": partial(understood, raw, (many,))})


def test_many_keys_that_a_signature_may_be_of_cost_little() -> None:
    """A player's certificates, also the revoked ones, may all hold the subkey that a signature names."""
    shared = Signer(key=Ed25519PrivateKey.from_private_bytes(b"%032d" % 99))
    owners = [Signer(key=Ed25519PrivateKey.from_private_bytes(b"%032d" % at)) for at in range(60)]
    offered = tuple(parse_key(owner.certificate(owner.subkey(shared.body)), RECEIVED) for owner in owners)
    text = "a \u2019 <mailto:a> \u00a0 end\r\n"
    lines = [f"{ORDERS.split(' Rw1')[0]} {text}" for _ in range(6)]
    armor = armored("SIGNATURE", shared.signature(1, b"x")).replace("\n", "\r\n")
    works = {}
    for size in (3000, 200_000):
        raw = plain(full("".join(lines), size) + armor)
        assert understood(raw, offered)[0] == "bad"
        works[f"{size} octets"] = partial(understood, raw, offered)
    assert not costly(works)


def _ten_that_do_not_hold(domain: Domain, letter: bytes) -> bytes:
    """Signatures over the right body, so that each is verified to its end."""
    signed = domain.craft(letter)
    signature = re.sub(rb"(?<=; b=).", lambda at: b"C" if at[0] == b"B" else b"B", signed[: -len(letter)])
    return signature * 10 + letter


def test_dkim_of_many_signatures_over_many_headers() -> None:
    domain = Domain("mail.example", key=rsa_key(1024))
    letter = plain(full(WORDS, 200_000))
    records: dict[str, str | None] = {domain.where: domain.record}

    def vouched(raw: bytes) -> str:
        found = find(Question(raw[:262_144], RECEIVED, keys=[], records=records), Limits()).understood
        if found is None:
            return "unreadable"
        assert is_whole(found.voucher.verdict.reason)
        return found.voucher.verdict.kind

    once = domain.craft(letter)
    assert vouched(once) == "valid"
    signature = once[: len(once) - len(letter)]
    over = ("from",) * 40 + ("to", "subject", "date", "x") * 40
    heavy = {
        "part of the body": (domain.craft(letter, l="10"), {"refused"}),
        "nothing of the body": (domain.craft(letter, l="0"), {"refused"}),
        "a body that is longer than it is": (domain.craft(letter, l="999999999"), {"refused"}),
        "many signatures": (signature * 150 + letter, {"valid", "refused"}),
        "many that do not hold": (signature.replace(b"bh=", b"bh=A") * 150 + letter, {"bad", "refused"}),
        "ten over short words": (_ten_that_do_not_hold(domain, plain(full("a " * 30, 240_000))), {"bad"}),
        "headers signed again and again": (domain.craft(letter, headers=over), {"valid", "refused"}),
        "blanks": (domain.craft(plain(full(" " * 400))), {"valid", "bad"}),
        "many blanks": (domain.craft(plain(full(" \t" * 20_000))), {"bad", "refused"}),
        "a long signature": (
            b"DKIM-Signature: v=1; " + b"a=b; " * 10_000 + b"\r\n" + letter,
            {"bad", "refused", "none"},
        ),
        "many From": (domain.craft(HEAD.encode() + letter), {"bad", "refused", "none"}),
    }
    wrong = {name: found for name, (raw, kinds) in heavy.items() if (found := vouched(raw)) not in kinds}
    assert not wrong
    works = {name: partial(vouched, raw) for name, (raw, _) in heavy.items()}
    assert not costly(works)
