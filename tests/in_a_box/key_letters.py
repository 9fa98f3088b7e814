"""Letters about keys: signed by any key or none, and what a player and a bundle then say of it."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import TYPE_CHECKING

from in_a_box.referee import Mailbox, Referee, body, form_in, sent_from, whole_sentence

from pbem.identity import parse_key, ssh

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

CODE = re.compile(r"(?:[0-9a-f]{4}-){7}[0-9a-f]{4}")


def line(key: Ed25519PrivateKey) -> str:
    return ssh.public(key)


def fingerprint(key: Ed25519PrivateKey) -> str:
    return parse_key(line(key)).fingerprint


def send(referee: Referee, person: Mailbox, text: str, key: Ed25519PrivateKey | None) -> None:
    """A letter signed by this key, or by none, for whose address its mail server vouches."""
    signed = referee.signed(person, text, key) if key else text
    referee.deliver(referee.raw(person, signed, headers=sent_from(person.address)), person.address)
    if key and person.letters and (whole := whole_sentence(person.text)):
        del person.letters[-1]
        send(referee, person, whole, key)


def add(referee: Referee, person: Mailbox, new: Ed25519PrivateKey) -> None:
    send(referee, person, f"key add\n{line(new)}\n", person.key)
    send(referee, person, form_in(person.text, "confirm"), new)
    assert "is yours, and valid from now on" in person.text, person.text


def said(person: Mailbox) -> str:
    """The latest letter on one line."""
    return " ".join(person.text.replace("\n> ", "\n").split())


def code_of(person: Mailbox) -> str:
    """The latest recovery code that the player was told."""
    return next(found[0] for letter in reversed(person.letters) if (found := CODE.search(body(letter))))


def play(referee: Referee, ann: Mailbox, bob: Mailbox, cells: tuple[str, ...] = ("Rv1", "Rv3", "Bz5")) -> None:
    for cell in cells:
        referee.turn((ann, cell), (bob, ""))


def entries(bundle: bytes) -> list[dict[str, object]]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        lines = archive.read("transcript.jsonl").splitlines()
    return [json.loads(line) for line in lines]


def changes(bundle: bytes) -> list[dict[str, object]]:
    return [entry["body"] for entry in entries(bundle) if entry["type"] == "keys"]  # type: ignore[misc]  # JSON
