"""Machine instructions of fixed work, counted by valgrind's callgrind: figures that do not depend on the neighbours.

A process does the work under callgrind. Whenever it forks a child that ends at once, callgrind prints the
instructions so far, so a piece of work is the difference of two counts. The start of a command is a whole process.
"""

from __future__ import annotations

import compileall
import gc
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING

import pbem
from bench import servers
from bench.measure import Goal, Part
from bench.rules import busy_turns
from bench.table import Table
from pbem.games import rules
from pbem.proof.verification import verify
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from in_a_box.referee import Mailbox

LETTER, TURN, RULES = "a signed letter to effect", "a whole turn", "the rules of a turn"
VERIFIED, PUT = "a verified turn", "a put of the intake"
SHORT, LONG = "a short bundle verified", "a long bundle verified"
HELP, VERIFY, PLAY = "pbem --help", "pbem verify --help", "pbem play --help"

GOALS = {LETTER: 7.5, TURN: 45, RULES: 0.355, VERIFIED: 9.5, PUT: 0.45, HELP: 80, VERIFY: 450, PLAY: 550}
"""The most millions of instructions for each piece."""

COUNT = 10
"""The number of repetitions of each piece; of a verified turn, the turns of the long bundle beyond the short one."""


def measure(_rounds: int) -> list[Part]:
    """Millions of instructions of each piece; one round is enough."""
    part = Part("Instructions of fixed work", "millions of instructions")
    if not shutil.which("valgrind"):
        part.notes.append("not measured: valgrind is not installed")
        return [part]
    compileall.compile_dir(str(Path(pbem.__file__).parent), quiet=1)  # as pip leaves what it installs
    names, marks = _counted(sys.executable, "-m", "bench.instructions")
    for name, begin, end in zip(names, marks[0:-1:2], marks[1:-1:2], strict=True):
        part.figures.setdefault(name, []).append((end - begin) / 1e6)
    (long,), (short,) = part.figures.pop(LONG), part.figures.pop(SHORT)
    part.figures[VERIFIED] = [(long - short) / COUNT]
    part.figures[RULES] = [figure / COUNT for figure in part.figures[RULES]]
    for start in (HELP, VERIFY, PLAY):
        command, *words = start.split()
        _, marks = _counted(str(Path(sys.executable).with_name(command)), *words)
        part.figures[start] = [marks[-1] / 1e6]
    part.goals = [Goal(name, mean(part.figures[name]), goal, " million", most=True) for name, goal in GOALS.items()]
    return [part]


def _counted(*command: str) -> tuple[list[str], list[int]]:
    """The lines that a process prints, and its counts: at each mark, and at its end."""
    callgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*callgrind, *command], env=environment, check=True, capture_output=True, text=True)
    counts = re.findall(r"^==\d+== Collected : (\d+)$", done.stderr, re.MULTILINE)
    return done.stdout.splitlines(), [int(count) for count in counts]


def _mark() -> None:
    """Have callgrind print the instructions so far."""
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def _piece(name: str, work: Callable[[], object]) -> None:
    """Do a piece of work between two marks."""
    _mark()
    work()
    _mark()
    print(name)


class _Bench:
    """Ann and Bob in two matches: of one a short bundle is left, in the other the work is counted."""

    def __init__(self, folder: Path) -> None:
        self.table = Table(folder, matches=2)
        self.referee, self.desk = self.table.referee, self.table.referee.running
        self.people = self.table.ann, self.table.bob
        self.turns = busy_turns(Random(20), 8)[:COUNT]

    def work(self) -> None:
        """Do all pieces; what is done for the first time, and then loaded or compiled, is done before."""
        for match in (1, 2):
            for _ in range(2):
                self.table.turn(match)
        short = self.bundle(1)
        self.verify(short)
        self.resolve()
        gc.collect()
        gc.freeze()
        for _ in range(COUNT):
            _piece(LETTER, partial(self.effect, self.people[0], self.orders(self.people[0])))
        for _ in range(COUNT):
            _piece(TURN, partial(self.turn, [(person, self.orders(person, final=True)) for person in self.people]))
            self.referee.collect()
        _piece(RULES, self.resolve)
        for _ in range(COUNT):
            _piece(PUT, partial(self.put, self.people[0], self.orders(self.people[0], size=2048)))
        self.referee.work()
        _piece(SHORT, partial(self.verify, short))
        _piece(LONG, partial(self.verify, self.bundle(2)))

    def orders(self, person: Mailbox, *, final: bool = False, size: int = 0) -> bytes:
        """Orders in the second match."""
        return self.table.orders(person, 2, next(self.table.revisions), final=final, size=size)

    def put(self, person: Mailbox, raw: bytes) -> None:
        """A letter from SMTP into the inbox, on its own."""
        envelope = Envelope(person.address, ("pbem@play.example",), "192.0.2.0/24")
        self.referee.inbox.put_all([(envelope, raw)], lambda: self.referee.now, 1000)

    def effect(self, person: Mailbox, raw: bytes) -> None:
        """A letter from SMTP to its answer in the outbox."""
        self.put(person, raw)
        self.desk.handle_next(self.referee.now)

    def turn(self, letters: list[tuple[Mailbox, bytes]]) -> None:
        """All players' orders, to the reports in the outbox."""
        for person, raw in letters:
            self.effect(person, raw)
        self.desk.tick(self.referee.now)

    def resolve(self) -> None:
        """Turns with eight orders or more a side, from the orders' text to the reports of the rules."""
        judge = rules("spaceships")
        for state, texts in self.turns:
            judge.turn(state, {seat: judge.order(state, seat, text) for seat, text in texts.items()})

    def bundle(self, match: int) -> bytes:
        """The bundle of a match that ends now."""
        self.referee.send(self.table.bob, f"resign m{match} game 1\n")
        return self.table.bundle(match)

    def verify(self, content: bytes) -> None:
        """A whole bundle verified."""
        assert all(check.holds for check in verify(content))


if __name__ == "__main__":
    with servers.folder() as _folder:
        _Bench(_folder).work()
