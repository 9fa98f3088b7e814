"""A whole turn: two signed letters in, both reports with text and HTML durably in the outbox; and its lean parts.

The floor is the sum of what nobody can do without, done as plainly as can be on the very letters of that turn: bare
Ed25519, boards of nothing but f-strings, MIME joined by hand, and as many commits of as many octets.
"""

from __future__ import annotations

import os
import time
from base64 import encodebytes
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench import servers
from bench.measure import Goal, Part, alternate, median, ratio_goal
from bench.table import Table
from pbem.boards import TINTS
from pbem.games import part_of
from pbem.mail.compose import Composer
from pbem.store.database import Database
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.games.squares import Board

TURNS = 12
WHOLE = "a whole turn"
SIGNATURES = 5
"""Of the server's in a turn: a head, two receipts, two reports."""


def measure(rounds: int) -> list[Part]:
    """Milliseconds a turn, and of each lean part."""
    part = Part("A whole turn of Spaceships, from two signed letters to both reports", "milliseconds a turn")
    with servers.folder() as folder:
        bench = _Bench(Path(folder))
        contestants: dict[str, Callable[[], float]] = {WHOLE: bench.whole}
        contestants |= {name: partial(_milliseconds, call) for name, call in bench.parts().items()}
        part.figures = alternate(contestants, rounds)
    floor = [sum(round_) for round_ in zip(*(part.figures[name] for name in bench.parts()), strict=True)]
    part.figures["the lean parts together"] = floor
    whole = part.figures[WHOLE]
    part.goals += [
        Goal(WHOLE, median(whole), 8, " ms", most=True, spread=(min(whole), max(whole))),
        ratio_goal("a whole turn beside its lean parts", whole, floor, 2.5, most=True),
    ]
    return [part]


class _Bench:
    def __init__(self, folder: Path) -> None:
        self.table = Table(folder)
        self.referee = self.table.referee
        # The referee of the tests does not wait for the disk, and the server does.
        self.referee.database.execute("PRAGMA synchronous = FULL")
        self.composed: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.table.turn()
        self.listen()
        raws = [self.table.orders(person, 1, 1, final=True) for person in (self.table.ann, self.table.bob)]
        self.table.turn()
        self.deaf()
        self.boards = self.drawn()
        self.key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self.signed = [(raw, self.key.sign(raw)) for raw in raws]
        self.disk = Database(folder / "parts.sqlite", migrations=("CREATE TABLE letters (raw BLOB) STRICT;",))
        self.sizes = [len(raw) for raw in raws]

    def listen(self) -> None:
        """Note what is composed."""
        self.original = compose = Composer.compose

        def noted(composer: Composer, *arguments: Any, **more: Any) -> bytes:
            self.composed.append((arguments, more))
            return compose(composer, *arguments, **more)

        Composer.compose = noted  # type: ignore[method-assign, assignment]  # for a while

    def deaf(self) -> None:
        """Note no more."""
        Composer.compose = self.original  # type: ignore[method-assign]  # as it was

    def drawn(self) -> list[Board]:
        """The boards that both readers see."""
        game, match = part_of("spaceships", "boards"), self.referee.match()
        assert game is not None
        return [board for seat in match.seats for board in game.boards(match.view(seat) or {})]

    def whole(self) -> float:
        """The milliseconds of a turn, both letters signed beforehand."""
        total = 0.0
        for _ in range(TURNS):
            people = self.table.ann, self.table.bob
            raws = [(person.address, self.table.orders(person, 1, 1, final=True)) for person in people]
            desk, referee = self.referee.running, self.referee
            start = time.perf_counter()
            for address, raw in raws:
                referee.inbox.put(Envelope(address, ("pbem@play.example",)), raw, referee.now)
                desk.handle_next(referee.now)
            desk.tick(referee.now)
            total += time.perf_counter() - start
            referee.collect()
            for person in people:
                del person.letters[:-8]
        return total / TURNS * 1000

    def parts(self) -> dict[str, Callable[[], object]]:
        """What a turn cannot do without."""
        return {
            "two signatures verified, five made": self.sign,
            "the boards of two readers by f-strings": self.draw,
            "four letters as MIME, joined by hand": self.write,
            "six commits": self.commit,
        }

    def sign(self) -> None:
        """Bare Ed25519, over the letters as they came and over as much as stands in a voucher."""
        public = self.key.public_key()
        for raw, signature in self.signed:
            public.verify(signature, raw)
        for _ in range(SIGNATURES):
            self.key.sign(bytes(128))

    def draw(self) -> None:
        """Each board as text and as HTML."""
        for board in self.boards:
            _text(board), _html(board)

    def write(self) -> list[bytes]:
        """The same texts, HTML and files."""
        return [_mime(*arguments[:3], **more) for arguments, more in self.composed]

    def commit(self) -> None:
        """For each letter: kept, leased, and its effects, of which one holds both reports."""
        out = 2 * sum(map(len, self.write())) // 3
        for size in (*self.sizes, 0, 0, out // 4, out):
            with self.disk.transaction():
                self.disk.execute("INSERT INTO letters VALUES (?)", (os.urandom(size),))


def _text(board: Board) -> str:
    return "\n".join(
        f"{panel.name} {' '.join(panel.columns)}\n"
        + "\n".join(
            f"{name} {''.join([f'{square.text:2}' for square in row])}"
            for name, row in zip(panel.rows, panel.squares, strict=True)
        )
        for panel in board.panels
    )


def _html(board: Board) -> str:
    return "\n".join(
        f"<table><tr><th>{panel.name}</th>{''.join([f'<th>{column}</th>' for column in panel.columns])}</tr>"
        + "\n".join(
            f"<tr><th>{name}</th>"
            + "".join([f'<td bgcolor="{TINTS[square.tint].background}">{square.symbol}</td>' for square in row])
            + "</tr>"
            for name, row in zip(panel.rows, panel.squares, strict=True)
        )
        + "</table>"
        for panel in board.panels
    )


def _mime(
    to: str, subject: str, text: str, /, *, html: str | None, attachments: Any, message_id: str, **_: Any
) -> bytes:
    files = "".join(
        f"--mixed\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: attachment; filename={name}\r\n\r\n{encodebytes(content).decode()}\r\n"
        for name, kind, content in attachments
    )
    page = f"--other\r\nContent-Type: text/html\r\n\r\n{html}\r\n" if html else ""
    letter = (
        f"From: pbem@play.example\r\nTo: {to}\r\nSubject: {subject}\r\nMessage-ID: {message_id}\r\n"
        "Content-Type: multipart/mixed; boundary=mixed\r\n\r\n"
        "--mixed\r\nContent-Type: multipart/alternative; boundary=other\r\n\r\n"
        f"--other\r\nContent-Type: text/plain\r\n\r\n{text}\r\n{page}--other--\r\n{files}--mixed--\r\n"
    )
    return letter.encode()


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(TURNS):
        call()
    return (time.perf_counter() - start) / TURNS * 1000
