"""A whole turn: two signed letters in, both reports with text and HTML durably in the outbox; and its parts.

The floor is the sum of the parts, each timed alone on the very letters and facts of that turn: reading and verifying,
parsing, resolving, rendering, building MIME, and as many commits of as many octets.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import servers
from bench.measure import Part, alternate, ratio_goal
from bench.table import ORDERS, Table
from pbem.games import rules
from pbem.identity import Key, judge
from pbem.letters.render import Templates
from pbem.mail import commands, message
from pbem.mail.compose import Composer
from pbem.proof.signed_letters import VOCABULARY
from pbem.store.database import Database
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 12
WHOLE = "a whole turn"


def measure(rounds: int) -> list[Part]:
    """Milliseconds a turn, and of each part alone."""
    part = Part("A whole turn of Spaceships, from two signed letters to both reports", "milliseconds a turn")
    with servers.folder() as folder:
        bench = _Bench(Path(folder))
        contestants: dict[str, Callable[[], float]] = {WHOLE: bench.whole}
        contestants |= {name: partial(_milliseconds, call) for name, call in bench.parts().items()}
        part.figures = alternate(contestants, rounds)
    floor = [sum(round_) for round_ in zip(*(part.figures[name] for name in bench.parts()), strict=True)]
    part.figures["the parts together"] = floor
    part.goals.append(
        ratio_goal("a whole turn beside the sum of its parts", part.figures[WHOLE], floor, 1.6, most=True)
    )
    return [part]


class _Bench:
    def __init__(self, folder: Path) -> None:
        self.table = Table(folder)
        self.referee = self.table.referee
        self.rendered: list[tuple[str, dict[str, Any]]] = []
        self.composed: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.table.turn()
        self.listen()
        self.raws = [self.table.orders(person, 1, 1, final=True) for person in (self.table.ann, self.table.bob)]
        self.table.turn()
        self.deaf()
        self.key = {
            person.name: Key("ssh", row.fingerprint, row.public)
            for person in (self.table.ann, self.table.bob)
            for row in self.referee.desk.players.keys(person.name)
        }
        self.state = self.table.position()
        self.disk = Database(folder / "parts.sqlite", migrations=("CREATE TABLE letters (raw BLOB) STRICT;",))
        self.sizes = [len(raw) for raw in self.raws]

    def listen(self) -> None:
        """Note what is rendered and composed."""
        self.original = Templates.render, Composer.compose
        render, compose = self.original

        def noted_render(templates: Templates, name: str, /, **values: Any) -> str:
            self.rendered.append((name, values))
            return render(templates, name, **values)

        def noted_compose(composer: Composer, *arguments: Any, **more: Any) -> bytes:
            self.composed.append((arguments, more))
            self.composer = composer
            return compose(composer, *arguments, **more)

        Templates.render, Composer.compose = noted_render, noted_compose  # type: ignore[method-assign, assignment]  # for a while

    def deaf(self) -> None:
        """Note no more."""
        Templates.render, Composer.compose = self.original  # type: ignore[method-assign]  # as they were

    def whole(self) -> float:
        """The milliseconds of a turn, both letters signed beforehand."""
        total = 0.0
        for _ in range(TURNS):
            people = self.table.ann, self.table.bob
            raws = [(person.address, self.table.orders(person, 1, 1, final=True)) for person in people]
            desk, referee = self.referee.desk, self.referee
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
            "reading and verifying two letters": self.verify,
            "parsing two letters": self.parse,
            "judging and resolving": self.resolve,
            "rendering the four letters": self.render,
            "building their MIME": self.compose,
            "six commits": self.commit,
        }

    def verify(self) -> None:
        """As the reader does."""
        for raw in self.raws:
            read = message.read(raw)
            name = (read.sender or "").partition("@")[0]
            assert judge(read, [self.key[name]], "play.example", words=VOCABULARY).kind == "valid"

    def parse(self) -> None:
        """As the desk does."""
        for raw in self.raws:
            commands.parse(message.read(raw).text or "")

    def resolve(self) -> None:
        """Both sides' orders, the turn, and what each seat and the public may read."""
        judge_ = rules("spaceships")
        orders = {seat: judge_.order(self.state, seat, ORDERS) for seat in (1, 2)}
        _, reports = judge_.turn(self.state, orders)
        for seat in (1, 2, None):
            shown = [judge_.show(report, seat) for report in reports]
            judge_.view(self.state, seat, [[report for report in shown if report]])

    def render(self) -> None:
        """The same templates with the same facts."""
        for name, values in self.rendered:
            self.composer.templates.render(name, **values)

    def compose(self) -> None:
        """The same letters."""
        for arguments, more in self.composed:
            self.composer.compose(*arguments, **more)

    def commit(self) -> None:
        """For each letter: kept, leased, and its effects, of which one holds both reports."""
        out = 2 * sum(len(self.composer.compose(*arguments, **more)) for arguments, more in self.composed) // 3
        for size in (*self.sizes, 0, 0, out // 4, out):
            with self.disk.transaction():
                self.disk.execute("INSERT INTO letters VALUES (?)", (os.urandom(size),))


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(TURNS):
        call()
    return (time.perf_counter() - start) / TURNS * 1000
