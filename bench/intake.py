"""Letters accepted: what stands behind a 250, and what it costs beside servers that promise less."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench import load, servers
from bench.measure import Part, alternate, ratio_goal

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = 2000
STOCK, POSTFIX, OURS = "aiosmtpd, nothing done", "Postfix to maildir", "pbem, 250 after fsync"


def measure(rounds: int) -> list[Part]:
    """Several letters on each of eight connections, then one letter a connection; 2 KiB each."""
    with ExitStack() as stack:
        missing = servers.absent()
        ports = {
            name: stack.enter_context(start())
            for name, start in servers.CONTESTANTS.items()
            if not any(absent.startswith(name) for absent in missing)
        }
        many = _part("several letters a connection", ports, rounds, keep=True, count=LETTERS)
        many.goals.append(
            ratio_goal("pbem beside aiosmtpd doing nothing", many.figures[OURS], many.figures[STOCK], 1.3)
        )
        if POSTFIX in ports:
            many.goals.append(
                ratio_goal("pbem beside Postfix to maildir", many.figures[OURS], many.figures[POSTFIX], 4)
            )
        many.notes += [f"not measured: {name}" for name in missing]
        single = _part("one letter a connection", ports, rounds, keep=False, count=LETTERS // 2)
        single.goals.append(
            ratio_goal("pbem beside aiosmtpd doing nothing", single.figures[OURS], single.figures[STOCK], 0.9)
        )
    return [many, single]


def _part(title: str, ports: dict[str, int], rounds: int, *, keep: bool, count: int) -> Part:
    costs = []

    def sender(port: int) -> Callable[[], float]:
        def send() -> float:
            load.letters(port, count // 10, keep=keep)
            done = load.letters(port, count, keep=keep)
            costs.append(done.cost)
            return done.a_second

        return send

    part = Part(f"Letters accepted, {title}, eight connections, 2 KiB", "letters a second")
    part.figures = alternate({name: sender(port) for name, port in ports.items()}, rounds)
    part.notes.append(f"load by {load.NAME}: {sum(costs) / len(costs) * 1e6:.0f} us of processor time a letter")
    return part
