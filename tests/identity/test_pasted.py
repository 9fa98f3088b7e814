"""A signed text, passed on with its signature, is judged alike by everybody."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from data.material import KEYS
from in_a_box.referee import SERVER, Mailbox
from signing.signers import WAYS

from pbem import identity
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY

FORM = f"step m17 game 2 turn 5\nserver play.example\nplayer anna\nprev {'8c1f' * 16}\ncommit {'ab' * 32}\nend\n"
TEXTS = {"openpgp, clear-signed", "ssh", "passkey"}
ANN = Mailbox("anna", "anna@mail.example", Ed25519PrivateKey.generate())


def judged(raw: bytes, key: identity.Key) -> identity.Verdict:
    return identity.judge(read_letter(raw), [key], SERVER, words=VOCABULARY)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("greeting", ["", "Dear server,\n\nhere it is:\n\n"])
def test_a_signed_text_is_judged_alike_wherever_it_is_pasted(way: str, greeting: str) -> None:
    _, file, sign = WAYS[way]
    key = identity.parse_key((KEYS / file).read_bytes())
    raw = sign(ANN, FORM)
    if greeting and way in TEXTS:
        raw = raw.replace(b"\r\n\r\n", b"\r\n\r\n" + greeting.replace("\n", "\r\n").encode(), 1)
    first = judged(raw, key)
    assert first.kind == "valid"
    assert bool(first.pasted) == (way in TEXTS)
    if first.pasted:
        again = judged(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + first.pasted.encode(), key)
        assert (again.kind, again.signed, again.pasted) == ("valid", first.signed, first.pasted)
        assert "Dear server" not in first.pasted
