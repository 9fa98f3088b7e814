"""A game record replayed to one hash: of everything that comes of it, or of its reports alone.

As a program, `python -m pbem.testing.again GAME` hashes the records that it reads, a JSON list of texts: another
process, with another seed for the hashes of Python, must find the same.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pbem.games import BUILT_IN, faults, parts, rules
from pbem.games.outside import enable
from pbem.match.record import read, replay
from pbem.match.transcript import canonical, sha256_hex
from pbem.testing.subject import World, readers, shown

if TYPE_CHECKING:
    from pbem.match.record import Record


def reports_hash(record: Record) -> str:
    """The hash of the reports and the result of a record, which an edition of rules never changes."""
    replayed = replay(record)
    return sha256_hex(canonical({"reports": [list(turn) for turn in replayed.turns], "result": replayed.result}))


def whole_hash(record: Record) -> str:
    """The hash of all that any reader is told in the course of a record."""
    judge, seats = rules(record.game), len(record.seats)
    world = World(
        judge,
        judge.options(record.options, seats),
        [setup for _, setup in record.seats],
        [dict(turn.orders) for turn in record.turns],
        [turn.chance for turn in record.turns],
    )
    everything: list[object] = []
    told: dict[int | None, list[list[object]]] = {reader: [] for reader in readers(seats)}
    for seat, setup in enumerate(world.setups, start=1):
        everything += [faults(judge.setup, world.options, seat, text) for text in _cut(setup)]
    for number, (state, reports) in enumerate(world.positions()):
        for reader, known in told.items():
            if number:
                known.append(list(shown(judge, reports, reader)))
            everything.append(parts.view(judge, state, reader, known))  # type: ignore[arg-type]  # reports, as JSON has them
        for seat, orders in world.orders[number].items() if number < len(world.orders) else ():
            everything += [faults(judge.order, state, seat, text) for text in _cut(orders)]
        everything += [list(reports), list(state.scores), [*state.due], list(state.remaining)]
        sides = [[*parts.side(judge, state, seat)] for seat in range(1, seats + 1)]
        everything += [str(parts.pace(judge, state)), parts.period(judge, state), sides]
    return sha256_hex(canonical({"all": everything, "told": list(told.values())}))


def _cut(text: str) -> list[str]:
    """Parts of a text that are refused, or legal: what is told of them is the same in each process, too."""
    return [text[: len(text) * part // 4] for part in range(4)]


def main() -> None:
    """Print the hashes of the records on standard input."""
    (game,) = sys.argv[1:]
    enable([] if game in BUILT_IN else [game])
    print(json.dumps([whole_hash(read(text)) for text in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
