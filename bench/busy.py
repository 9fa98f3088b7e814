"""Letters accepted while the desk is busy, beside a desk that leaves all letters alone: both in one run.

Half of the letters are orders that a player signed, half are a stranger's. What keeps the desk busy is a backlog of
letters that ask for much, and it grows by what is sent. Both stores begin with the same players and matches.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from attackers.hostile_letters import letters as hostile_letters
from in_a_box.boxes import Inbox

from bench import load, servers
from bench.measure import Goal, Part, ratio_goal
from bench.table import START, Table
from pbem.store.database import Database
from pbem.store.inbox import Envelope
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator

SLICES = 3
SLICE = 6400
"""Letters to the one and to the other in turn, so often in a round: the machine is the same for both, and each turn
takes seconds, as a flood does, so that what a desk had in hand when it began counts for little."""

MATCHES = 8
HEAVY = 96
IDLE, BUSY = "the desk idle", "the desk busy"
SHEETS = "".join(f"sheet {game}\nrules {game}\n" for game in ("spaceships", "dueling-masters")) + "status\n" * 20
HOSTILE = ("DER with long tags", "lines in base64", "options", "nesting", "marks untrusted comment:")


def measure(rounds: int) -> list[Part]:
    """Letters of 2 KiB from eight connections."""
    with ExitStack() as stack:
        alone, busy = (stack.enter_context(servers.folder()) for _ in range(2))
        table = Table(busy, MATCHES)
        table.referee.close()
        shutil.copytree(busy, alone, dirs_exist_ok=True)
        ports, processes = {}, {}
        for name, folder, module in ((IDLE, alone, "intake"), (BUSY, busy, "whole")):
            ports[name] = servers.free_port()
            command = [sys.executable, "-m", f"bench.servers.{module}", str(folder), str(ports[name])]
            processes[name] = stack.enter_context(servers.running(command, ports[name]))
        bench = _Bench(table, busy, ports, processes[BUSY])
        part = Part("Letters accepted, half of them signed, eight connections, 2 KiB", "letters a second")
        part.figures = {IDLE: [], BUSY: []}
        for _ in range(rounds):
            for name, figure in bench.round().items():
                part.figures[name].append(figure)
    part.goals.append(ratio_goal("while the desk is busy", part.figures[BUSY], part.figures[IDLE], 0.9))
    part.goals.append(Goal("letters that were asked to come again", bench.refused, 0, unit="", most=True))
    part.notes.append(f"handled meanwhile: {min(bench.handled)} to {max(bench.handled)} letters a round")
    part.notes.append(f"waiting at the end of a round: {min(bench.left)} to {max(bench.left)}")
    return [part]


class _Bench:
    def __init__(self, table: Table, folder: Path, ports: dict[str, int], process: int) -> None:
        self.table = table
        self.folder = folder
        self.ports = ports
        self.process = process
        self.sent = 0
        self.refused = 0
        self.handled: list[int] = []
        self.left: list[int] = []
        self.hostile = [letter.raw for name, letter in hostile_letters() if name in HOSTILE]

    def round(self) -> dict[str, float]:
        """Letters a second to each, while the other does nothing."""
        seconds = dict.fromkeys((IDLE, BUSY), 0.0)
        with Database(self.folder / "store.sqlite") as database:
            inbox = Inbox(database, Vault(bytes(32)))
            inbox.put_all(list(self._heavy()), lambda: START + timedelta(seconds=1))
            load.letters(self.ports[BUSY], 8)  # wakes the desk
            time.sleep(0.5)
            before = inbox.count("done")
            for _ in range(SLICES):
                for name in (IDLE, BUSY):
                    with _standing_still(self.process) if name == IDLE else nullcontext():
                        done = load.given(self.ports[name], self._letters(), self.folder)
                    seconds[name] += SLICE / done.a_second
                    self.refused += done.refused
            self.left.append(inbox.count("waiting"))
            self.handled.append(inbox.count("done") - before)
            assert self.left[-1], "the desk was not kept busy to the end"
            while inbox.count("waiting") + inbox.count("leased"):
                time.sleep(0.2)
        return {name: SLICES * SLICE / taken for name, taken in seconds.items()}

    def _letters(self) -> list[bytes]:
        raws = []
        for _ in range(SLICE // 2):
            self.sent += 1
            match, rev = self.sent % MATCHES + 1, self.sent // MATCHES + 1
            raws.append(self.table.orders(self.table.ann, match, rev, size=2048))
            head = f"From: eve{self.sent % 50}@mail.example\r\nMessage-ID: <{self.sent}@eve>\r\n\r\nhelp\r\n"
            raws.append(head.encode() + b"> something quoted\r\n" * 100)
        return raws

    def _heavy(self) -> list[tuple[Envelope, bytes]]:
        found = []
        for number in range(HEAVY):
            self.sent += 1
            raw = self.hostile[number // 16 % len(self.hostile)].replace(b"<1@", b"<heavy.%d@" % self.sent)
            sender = f"evil{self.sent}@x.example"
            if number % 16:
                ann = self.table.ann
                text = f"whoami\nserver play.example\nplayer ann\nrev {self.sent}\n{SHEETS}"
                raw, sender = self.table.referee.raw(ann, self.table.referee.signed(ann, text)), ann.address
            found.append((Envelope(sender, ("pbem@play.example",)), raw))
        return found


@contextmanager
def _standing_still(process: int) -> Iterator[None]:
    """While the block lasts, a server and all processes that it has take no time of anybody's."""
    processes = [process, *_children(process)]
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in reversed(processes):
            os.kill(each, signal.SIGCONT)


def _children(process: int) -> Iterator[int]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, path.read_text("ascii").split()):
            yield child
            yield from _children(child)
