"""Verification: letters' signatures, and the whole bundle of a match of a thousand turns.

Each letter holds other orders; none is judged twice in a round. The floor of a letter is one Ed25519
verification. The floor of a bundle is what nobody can leave out: hashing every file of it, checking every signature
in it, and playing its turns again by the rules.
"""

from __future__ import annotations

import hashlib
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench import servers
from bench.measure import Goal, Part, alternate, ratio_goal
from bench.table import ORDERS, Table
from pbem.games import rules
from pbem.identity import judge, parse_key, ssh
from pbem.mail.message import read_letter
from pbem.proof.bundle import read as read_bundle
from pbem.proof.normal_form import VOCABULARY
from pbem.proof.verification import verify

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


SIGNED = [(KEY.sign(text), text) for text in (orders(number).encode() for number in range(LETTERS))]


def letter(text: str) -> bytes:
    head = (
        f"Received: from mail.example by {SERVER}; Sat, 21 Nov 2026 12:00:00 +0000\nFrom: Anna <anna@mail.example>\n"
        f"To: pbem+m1.0123456789abcdef@{SERVER}\nSubject: Re: [pbem m1] Spaceships, game 1, turn 5\n"
        f"Message-ID: <{hashlib.sha256(text.encode()).hexdigest()}@mail.example>\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=utf-8\n\n"
    )
    return (head + text).replace("\n", "\r\n").encode()


FLOOR = "Ed25519 alone"
TURNS = 1000
BUNDLE, LEAST = "pbem verify", "hashes, signatures and turns alone"


def measure(rounds: int) -> list[Part]:
    """Letters a second, and a bundle's milliseconds."""
    return [_letters(rounds), _bundle(rounds)]


def _letters(rounds: int) -> Part:
    contestants: dict[str, Callable[[], float]] = {FLOOR: lambda: _a_second(_bare)}
    letters = [read_letter(letter(by_ssh(orders(number)))) for number in range(LETTERS)]
    keys = [parse_key(ssh.public(KEY))]
    assert all(judge(one, keys, SERVER, words=VOCABULARY).kind == "valid" for one in letters)

    def judged() -> None:
        for one in letters:
            judge(one, keys, SERVER, words=VOCABULARY)

    contestants["ssh"] = partial(_a_second, judged)
    part = Part("Signed letters verified", "letters a second")
    part.figures = alternate(contestants, rounds)
    part.goals = [Goal("ssh, letters a second", max(part.figures["ssh"]), VERIFICATIONS_A_SECOND, unit="")]
    return part


def _bare() -> None:
    for signature, message in SIGNED:
        PUBLIC.verify(signature, message)


def _a_second(call: Callable[[], None]) -> float:
    done, start = 0, time.process_time()  # of this process alone, whatever else the machine does
    while time.process_time() < start + 0.5:
        call()
        done += LETTERS
    return done / (time.process_time() - start)


def _bundle(rounds: int) -> Part:
    with servers.folder() as folder:
        table = Table(Path(folder))
        for _ in range(TURNS):
            table.turn()
        table.referee.send(table.bob, "resign m1 game 1\n")
        content = table.bundle(1)
        table.referee.close()
    found = read_bundle(content)
    judge_ = rules("spaceships")
    state = table.opening
    signed = [(KEY.sign(raw), raw) for path, raw in found.papers.items() if path.endswith(".eml")]
    signed += [(KEY.sign(entry.canonical()), entry.canonical()) for entry in found.entries]

    def least() -> None:
        for paper in found.papers.values():
            hashlib.sha256(paper).digest()
        for entry in found.entries:
            hashlib.sha256(entry.canonical()).digest()
        for signature, message in signed:
            PUBLIC.verify(signature, message)
        position = state
        for _ in range(TURNS):
            position, _ = judge_.turn(position, {seat: judge_.order(position, seat, ORDERS) for seat in (1, 2)})

    def ours() -> None:
        checks = list(verify(content))
        assert all(check.holds for check in checks)

    part = Part(f"A bundle of {TURNS} turns verified", "milliseconds")
    part.figures = alternate({LEAST: lambda: _milliseconds(least), BUNDLE: lambda: _milliseconds(ours)}, rounds)
    goal = f"pbem verify of {TURNS} turns beside its floor"
    part.goals.append(ratio_goal(goal, part.figures[BUNDLE], part.figures[LEAST], 3.5, most=True))
    return part


def _milliseconds(call: Callable[[], None]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1000
