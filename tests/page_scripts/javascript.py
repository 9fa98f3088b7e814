"""The scripts of the pages in a JavaScript engine without a browser: QuickJS, which pip brings.

Here lives what such a script is given in the place of a browser; `javascript.js` is the half of it that is written in
JavaScript. There is no document: a script that asks for one while it is loaded fails. What pages look like, and how
they answer to a hand or a keyboard, is tried in `tests/browser/`.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import quickjs
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from pbem.i18n import ENGLISH, template_folder
from pbem.pages import messages, script

PAGES = template_folder() / "pages"
HOST = Path(__file__).with_suffix(".js")

ASKED = """(source, argument, settle) => {
    const settled = (kind) => (value) => settle(kind, JSON.stringify(value === undefined ? null : value));
    Promise.resolve().then(() => eval(source)(argument))
        .then(settled("value"), (error) => settled("error")(`${error}\\n${error.stack}`));
}"""


class Failed(Exception):
    """A script raised something, or waits for what never comes."""


class Scripts:
    """An engine with these scripts of pages in it, loaded in their order, which speak this language."""

    def __init__(self, *names: str, language: str = ENGLISH) -> None:
        self.context = quickjs.Context()
        self.context.eval(f"globalThis.MESSAGES = {json.dumps(messages(names, language))}")
        for answer in (decoded, digest, is_point, verifies, inflated):
            self.context.add_callable(answer.__name__, answer)
        for source in (HOST.read_text(encoding="utf-8"), *(script(name, language) for name in names)):
            self.context.eval(source)

    def evaluate(self, source: str, argument: Any = None) -> Any:
        """What a function of this source returns, at once or later; raises Failed."""
        settled: dict[str, Any] = {}
        self.context.add_callable("settle", lambda kind, value: settled.update({kind: json.loads(value)}))
        ask, settle = self.context.eval(ASKED), self.context.get("settle")
        ask(source, self.context.parse_json(json.dumps(argument)), settle)
        while not settled and self.context.execute_pending_job():
            pass
        if "value" not in settled:
            raise Failed(settled.get("error", "it waits for ever"))
        return settled["value"]


# What Python answers. Nothing may be raised through the engine.


def decoded(octets: str) -> str:
    """Text as TextDecoder reads it (WHATWG Encoding, 8.1)."""
    return bytes.fromhex(octets).decode("utf-8", "replace").removeprefix("\ufeff")


def digest(name: str, octets: str) -> str:
    return hashlib.new(name.replace("-", ""), bytes.fromhex(octets)).hexdigest()


def point(octets: bytes) -> ec.EllipticCurvePublicKey:
    """A point of P-256, as lenient as some engines are: the hybrid encoding is read, too."""
    plain = b"\4" + octets[1:] if octets[:1] in {b"\6", b"\7"} else octets
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), plain)


def is_point(octets: str) -> bool:
    """Whether OpenSSL says that this is a point of P-256."""
    try:
        point(bytes.fromhex(octets))
    except ValueError:
        return False
    return True


def verifies(name: str, key: str, signature: str, said: str) -> bool:
    """Whether OpenSSL says that a signature holds, of Ed25519 or, in two numbers of 32 octets, of P-256."""
    raw, made, message = map(bytes.fromhex, (key, signature, said))
    try:
        if name == "Ed25519":
            Ed25519PublicKey.from_public_bytes(raw).verify(made, message)
        else:
            r, s = int.from_bytes(made[:32], "big"), int.from_bytes(made[32:], "big")
            point(raw).verify(encode_dss_signature(r, s), message, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def inflated(octets: str) -> str | None:
    try:
        return zlib.decompress(bytes.fromhex(octets), -15).hex()
    except zlib.error:
        return None
