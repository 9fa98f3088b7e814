"""A witness by HTTP, written from C2SP tlog-witness alone: what it answers, for `http_double`."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from machines.http_double import Answer

from pbem.tlog.tree import is_consistent
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from machines.http_double import Asked

TIME = 1772366400


class Double:
    """Knows the logs by their keys, and the last size and root of each that it cosigned."""

    def __init__(self, *logs: VerifierKey, name: str = "double.example") -> None:
        self.logs = {log.name: log for log in logs}
        self.known: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self._key = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
        self.verifier = VerifierKey(name, COSIGNATURE, self._key.public_key().public_bytes_raw())

    def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked.path)
        head, _, note = asked.body.decode().partition("\n\n")
        old, *proof = head.split("\n")
        text, _, lines = note.rpartition("\n\n")
        text += "\n"
        origin, size, root = text.split("\n")[:3]
        if origin not in self.logs:
            return Answer(404)
        if not any(self._is_signed(origin, text, line) for line in lines.splitlines()):
            return Answer(403)
        before, now = int(old.removeprefix("old ")), int(size)
        known, known_root = self.known.get(origin, (0, b""))
        if before > now:
            return Answer(400)
        if before != known:
            return Answer(409, b"%d\n" % known, {"Content-Type": "text/x.tlog.size"})
        new_root = base64.b64decode(root)
        if before == now and known_root != new_root:
            return Answer(409)
        if not is_consistent(before, known_root, now, new_root, [base64.b64decode(one) for one in proof]):
            return Answer(422)
        self.known[origin] = now, new_root
        signed = self._key.sign(f"cosignature/v1\ntime {TIME}\n{text}".encode())
        line = base64.b64encode(self.verifier.id + TIME.to_bytes(8, "big") + signed).decode()
        return Answer(200, f"— {self.verifier.name} {line}\n".encode())

    def _is_signed(self, origin: str, text: str, line: str) -> bool:
        _, name, encoded = line.split(" ")
        content, key = base64.b64decode(encoded), self.logs[origin]
        if name != origin or content[:4] != key.id:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(key.public).verify(content[4:], text.encode())
        except InvalidSignature:
            return False
        return True
