"""A witness by HTTP, written from C2SP tlog-witness alone; and whatever else may answer in its place."""

from __future__ import annotations

import base64
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.tlog.tree import is_consistent
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIME = 1772366400


class Double:
    """Knows the logs by their keys, and the last size and root of each that it cosigned."""

    def __init__(self, *logs: VerifierKey, name: str = "double.example") -> None:
        self.logs = {log.name: log for log in logs}
        self.known: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self._key = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
        self.verifier = VerifierKey(name, COSIGNATURE, self._key.public_key().public_bytes_raw())

    def __call__(self, path: str, body: bytes) -> tuple[int, str, bytes]:
        """Status, type and body of the answer."""
        self.asked.append(path)
        head, _, note = body.decode().partition("\n\n")
        old, *proof = head.split("\n")
        text, _, lines = note.rpartition("\n\n")
        text += "\n"
        origin, size, root = text.split("\n")[:3]
        if origin not in self.logs:
            return 404, "text/plain", b""
        if not any(self._is_signed(origin, text, line) for line in lines.splitlines()):
            return 403, "text/plain", b""
        before, now = int(old.removeprefix("old ")), int(size)
        known, known_root = self.known.get(origin, (0, b""))
        if before > now:
            return 400, "text/plain", b""
        if before != known:
            return 409, "text/x.tlog.size", b"%d\n" % known
        new_root = base64.b64decode(root)
        if before == now and known_root != new_root:
            return 409, "text/plain", b""
        if not is_consistent(before, known_root, now, new_root, [base64.b64decode(one) for one in proof]):
            return 422, "text/plain", b""
        self.known[origin] = now, new_root
        signed = self._key.sign(f"cosignature/v1\ntime {TIME}\n{text}".encode())
        line = base64.b64encode(self.verifier.id + TIME.to_bytes(8, "big") + signed).decode()
        return 200, "text/plain", f"— {self.verifier.name} {line}\n".encode()

    def _is_signed(self, origin: str, text: str, line: str) -> bool:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        _, name, encoded = line.split(" ")
        content, key = base64.b64decode(encoded), self.logs[origin]
        if name != origin or content[:4] != key.id:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(key.public).verify(content[4:], text.encode())
        except InvalidSignature:
            return False
        return True


@contextmanager
def serving(answer: Callable[[str, bytes], tuple[int, str, bytes]], slow: float = 0.0) -> Iterator[str]:
    """Where this answers; `slow`: seconds between two octets of its answers. What begins with `*` has no end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.say(*answer(self.path, self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self) -> None:
            self.say(*answer(self.path, b""))

        def say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if not body.startswith(b"*"):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                while body.startswith(b"*"):
                    self.wfile.write(body)
                for start in range(0, len(body), 1 if slow else len(body) or 1):
                    self.wfile.write(body[start : start + 1] if slow else body)
                    self.wfile.flush()
                    time.sleep(slow)
            except OSError:
                return  # nobody listens any more

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/of/logs"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
