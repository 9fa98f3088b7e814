"""A signed form is found beneath a greeting, whichever command it begins with: the table of commands says which."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from data.material import IN_FORCE, KEYS
from in_a_box.referee import Mailbox
from signing.openpgp_maker import BINARY, TEXT, Signer
from signing.signers import by_clear_openpgp, by_ssh, pasted

from pbem import identity
from pbem.identity import parse_key, readings
from pbem.mail.commands import COMMANDS
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY, normal_text

if TYPE_CHECKING:
    from collections.abc import Callable

judge = partial(identity.judge, words=VOCABULARY)

ANN = Mailbox("ann", "ann@mail.example", Ed25519PrivateKey.from_private_bytes(b"a" * 32))
GREETING = (
    "Dear referee,\n\nwe are late, sorry: the reasons are many.\nReport follows. List of players as before:\n\n"
)
PGP = Signer()
FILES = ("pgp-anna.pub.asc", "ssh-rsa.pub")
PINNED = [*(parse_key((KEYS / file).read_bytes()) for file in FILES), parse_key(PGP.certificate())]

INLINE: dict[str, Callable[[str], bytes]] = {
    "ssh": lambda text: by_ssh(ANN, text),
    "openpgp": lambda text: pasted(ANN, text + PGP.over(text.encode(), kind=BINARY)),
    "openpgp, a text's": lambda text: pasted(ANN, text + PGP.over(text.encode(), kind=TEXT)),
    "openpgp, in the clear": lambda text: by_clear_openpgp(ANN, text),
}


@pytest.mark.parametrize(
    ("name", "way"), [*((name, "ssh") for name in COMMANDS), *(("orders", way) for way in INLINE)]
)
def test_every_command_beneath_a_greeting(name: str, way: str) -> None:
    form = COMMANDS[name]
    text = f"{name} m17 game 2\n"
    if form.has_fields:
        text += "server play.example\nplayer ann\nend\n"
    raw = INLINE[way](text)
    for greeted in (raw, raw.replace(b"\r\n\r\n", b"\r\n\r\n" + GREETING.replace("\n", "\r\n").encode(), 1)):
        verdict = judge(read_letter(greeted), PINNED, "play.example", at=IN_FORCE)
        assert (verdict.kind, normal_text(verdict).split()) == ("valid", text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_signed_form_that_was_put_on_one_line(name: str) -> None:
    """Its fields are known, too."""
    form = f"{name} m17\nserver play.example\nplayer ann\nprev {'8c' * 32}\nrev 1\nend\n"
    assert form.encode() in list(readings(f"Hello,\n{' '.join(form.split())}\n", VOCABULARY))


def test_the_vocabulary_is_the_tables() -> None:
    """Identity has no vocabulary of its own."""
    assert VOCABULARY.commands == tuple(COMMANDS)
    words = identity.Vocabulary(("attack",), ("at",))
    assert b"attack\nat noon\nend\n" in list(readings("Hello,\nattack at noon end\n", words))
    assert not any(reading.startswith(b"draw") for reading in readings("Hello,\ndraw m1 offer\n", words))
    assert any(re.match(rb"draw m1 offer\n\Z", reading) for reading in readings("Hi,\ndraw m1 offer\n", VOCABULARY))
