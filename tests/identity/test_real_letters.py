"""Letters that players' real programs made, each mailed and played with by hand: tests/identity/letters/README.md."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from pbem import identity
from pbem.identity import parse_key
from pbem.mail import commands
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY, normal_text

judge = partial(identity.judge, words=VOCABULARY)

LETTERS = Path(__file__).parent / "letters"
RECEIVED = datetime(2026, 11, 21, 17, tzinfo=UTC)
KEYS = {
    path.stem: parse_key(path.read_bytes(), RECEIVED)
    for path in LETTERS.iterdir()
    if path.suffix in {".asc", ".pem", ".pub"}
}
BY = {
    "gpg-clearsign": "gina",
    "gpg-detached-armored": "gina",
    "gpg-detached-binary": "gina",
    "mutt-pgp-mime": "mike",
    "openssl-smime-detached": "olga",
    "openssl-smime-opaque": "olga",
    "ssh-keygen-pasted": "sam",
    "ssh-keygen-attached": "sam",
}


def raw(name: str) -> bytes:
    return (LETTERS / f"{name}.eml").read_bytes()


def test_no_letter_is_left_out() -> None:
    assert BY.keys() == {path.stem for path in LETTERS.glob("*.eml")}
    assert set(BY.values()) == KEYS.keys()


@pytest.mark.parametrize("name", BY)
def test_who_signed_and_what(name: str) -> None:
    verdict = judge(read_letter(raw(name)), list(KEYS.values()), "play.example", at=RECEIVED)
    assert verdict.kind == "valid", verdict.reason
    assert verdict.key == KEYS[BY[name]].fingerprint
    (command,) = commands.parse(normal_text(verdict)).commands
    assert (command.name, command.fields["player"]) == ("orders", BY[name])
    assert command.fields["server"] == "play.example"
    assert command.form.rev == 1
    assert not command.faults


@pytest.mark.parametrize("name", BY)
def test_changed_anywhere_it_says_nothing_else(name: str) -> None:
    """Each byte in turn: whatever still verifies is the same text."""
    letter, keys = raw(name), [KEYS[BY[name]]]
    text = commands.parse(normal_text(judge(read_letter(letter), keys, "play.example", at=RECEIVED))).commands[0].echo
    changed = bytearray(letter)
    for at in range(0, len(letter), 17):
        changed[at] ^= 1 << at % 7
        verdict = judge(read_letter(bytes(changed)), keys, "play.example", at=RECEIVED)
        if verdict.kind == "valid":
            assert commands.parse(normal_text(verdict)).commands[0].echo == text
        changed[at] = letter[at]
