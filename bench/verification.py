"""How fast letters are verified: `judge` of each Ed25519 format, from a letter that was read and from its bytes.

    .venv/bin/python bench/verification.py [seconds]

Each letter holds other orders; none is judged twice in a round. Beside each figure stands its ratio to the floor: one
bare Ed25519 verification of the same machine in the same run. No goal is tested elsewhere: a test that measures time
fails on a busy day.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: E402

from pbem.identity import judge, parse_key, ssh  # noqa: E402
from pbem.mail.letter import read  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

VERIFICATIONS_A_SECOND = 1000
LETTERS = 200
SERVER = "play.example"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key()


def orders(number: int) -> str:
    cells = " ".join(
        f"{'ROYGB'[number // 25 % 5]}{'vwxyz'[number // 5 % 5]}{1 + number % 5} Gx{1 + n}" for n in range(4)
    )
    prev = hashlib.sha256(str(number).encode()).hexdigest()
    return f"orders m{number} turn 5\nserver {SERVER}\nplayer anna\nprev {prev}\nrev 1\n{cells} sYw3\nend\n"


def by_ssh(text: str) -> str:
    return text + ssh.sign(KEY, text.encode(), f"pbem@{SERVER}")


def by_ed25519(text: str) -> str:
    return f"{text}signature: {base64.b64encode(KEY.sign(text.encode())).decode()}\n"


def by_minisign(text: str) -> str:
    signature = KEY.sign(hashlib.blake2b(text.encode()).digest())
    comment = "timestamp:1790000000\tfile:orders.txt\thashed"
    first = base64.b64encode(b"ED" + b"pbem-key" + signature).decode()
    whole = base64.b64encode(KEY.sign(signature + comment.encode())).decode()
    return (
        f"{text}untrusted comment: signature from minisign secret key\n{first}\ntrusted comment: {comment}\n{whole}\n"
    )


KEYS = {
    "ssh": ssh.public(KEY),
    "minisign": base64.b64encode(b"Ed" + b"pbem-key" + PUBLIC.public_bytes_raw()).decode(),
    "ed25519": PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
}
SIGNERS: dict[str, Callable[[str], str]] = {"ssh": by_ssh, "minisign": by_minisign, "ed25519": by_ed25519}


def letter(text: str) -> bytes:
    head = (
        f"Received: from mail.example by {SERVER}; Sat, 21 Nov 2026 12:00:00 +0000\nFrom: Anna <anna@mail.example>\n"
        f"To: pbem+m1.0123456789abcdef@{SERVER}\nSubject: Re: [pbem m1] Spaceships, game 1, turn 5\n"
        f"Message-ID: <{hashlib.sha256(text.encode()).hexdigest()}@mail.example>\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=utf-8\n\n"
    )
    return (head + text).replace("\n", "\r\n").encode()


def a_second(call: Callable[[], int], seconds: float) -> float:
    """The best of several rounds of a call that says how many things it did."""
    best = 0.0
    until = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < until:
        start = time.process_time()  # of this process alone, whatever else the machine does
        done = call()
        best = max(best, done / (time.process_time() - start))
        rounds += 1
    return best


def floor(seconds: float) -> float:
    messages = [orders(number).encode() for number in range(LETTERS)]
    signed = [(KEY.sign(message), message) for message in messages]

    def call() -> int:
        for signature, message in signed:
            PUBLIC.verify(signature, message)
        return len(signed)

    return a_second(call, seconds)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    bare = floor(seconds)
    print(f"Verifying signed letters, per second and core; the floor is one bare Ed25519 verification: {bare:,.0f}")
    for name, sign in SIGNERS.items():
        raws = [letter(sign(orders(number))) for number in range(LETTERS)]
        keys = [parse_key(KEYS[name])]
        letters = [read(raw) for raw in raws]
        assert all(judge(one, keys, SERVER).kind == "valid" for one in letters)

        def judged(letters: list = letters, keys: list = keys) -> int:
            for one in letters:
                judge(one, keys, SERVER)
            return len(letters)

        def whole(raws: list = raws, keys: list = keys) -> int:
            for raw in raws:
                judge(read(raw), keys, SERVER)
            return len(raws)

        verdicts, with_mail = a_second(judged, seconds), a_second(whole, seconds)
        said = "goal met" if verdicts >= VERIFICATIONS_A_SECOND else "GOAL MISSED"
        print(f"  {name:<9} judged {verdicts:,.0f} (1/{bare / verdicts:.1f} of the floor)", end="; ")
        print(f"with reading the mail {with_mail:,.0f} (1/{bare / with_mail:.1f}); ", end="")
        print(f"goal {VERIFICATIONS_A_SECOND:,}: {said}")


if __name__ == "__main__":
    main()
