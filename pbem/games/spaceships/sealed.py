"""Spaceships without a referee: the visible part of orders, the owners' answers, and the reports as a merge of both.

Only the other's visible strikes and the owner's launches change a space, so its owner can answer for
it. Everything destroyed is told, so everybody can check an answer against what was told before. Here live the
public table, the owner's side and the verdict. Implements docs/sealed.md, "Spaceships"; rulings 20-34.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Result, ShownReports, refuse
from pbem.games.sealed import COMMIT, Answering, Own, Paper, misplaced
from pbem.games.spaceships import RULES, turn
from pbem.games.spaceships.fleet import Options
from pbem.games.spaceships.notation import Orders
from pbem.games.spaceships.space import CELLS, LINES, NAMES, cells, mask_of, names
from pbem.games.spaceships.told import Line, Space, Telling, entitlement, flash_text, read_flash, read_line
from pbem.games.spaceships.turn import NOBODY, Side, State, first_to_report
from pbem.grown import Grown
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pbem.games import Report
    from pbem.games.sealed import SealedStep


_OPENED: Final = ("beam", "strike", "scan", "death")
"""The lines of what is revealed, in the order of ruling 21."""
_WORDS: Final = frozenset({*_OPENED, "flash", "over"})
"""The first words of lines in papers."""

# Lines of papers


def _opened(lines: Iterable[str]) -> Orders:
    """Opened orders, without their secrets."""
    return _visible_orders((line.split()[0], name) for line in lines for name in line.split()[1:])


def _visible_orders(targets: Iterable[tuple[str, str]]) -> Orders:
    """The visible part of orders, from the first word of its line and the name of each cell."""
    found: dict[str, list[int]] = {word: [] for word in _OPENED}
    for word, name in targets:
        found[word].append(CELLS[name])
    beams, strikes, scans, launches = found.values()
    ends = iter(beams)
    lines = tuple((line, 0) for line in zip(ends, ends, ends, strict=True))
    return Orders("", lines, tuple(strikes), tuple(scans), tuple(launches), 0)


# The table


class Answers(NamedTuple):
    """One seat's answers of a turn, as their paper has them."""

    lines: tuple[Line, ...]
    flashes: tuple[Report, ...]
    """Flashcube data for the ships that the other side named."""
    over: str

    @property
    def lost(self) -> list[Line]:
        """The lines that name a destroyed ship, in order."""
        return [line for line in self.lines if line.ship]


class Table(NamedTuple):
    """The public facts of a sealed game of Spaceships."""

    options: Options
    turn: int = 1
    commits: int = 1
    """The seat that commits in this turn; the other opens first."""
    committed: bool = False
    opened: Mapping[int, tuple[str, ...]] = {}
    answered: Mapping[int, tuple[str, ...]] = {}
    """The lines of this turn's opened orders and answers, each by seat."""
    spaces: tuple[Space, Space] = (Space(), Space())
    """The spaces at the start of the turn."""
    played: Grown[ShownReports] = Grown()
    result: Result | None = None

    @property
    def due(self) -> dict[int, None]:
        """The one seat that owes a step."""
        return {seat: None for seat in self.remaining if _owed(self, seat)}

    @property
    def remaining(self) -> tuple[int, int]:
        """Both seats: the game is over when one has nothing left."""
        return 1, 2

    @property
    def scores(self) -> tuple[int, int]:
        """No score is told before the fleets are."""
        return 0, 0

    @property
    def position(self) -> State:
        """The position without a secret of either side."""
        return State(self.options, self.turn, (NOBODY, NOBODY), self.result)


def _owed(table: Table, seat: int) -> tuple[str, ...]:
    commits, opens = table.commits, 3 - table.commits
    due: tuple[str, ...] = ("flash", COMMIT)
    who = commits
    if not table.committed:
        due = (COMMIT,)
    elif opens not in table.opened:
        who, due = opens, ("open",)
    elif commits not in table.opened:
        due = ("open", "answers")
    elif commits not in table.answered:
        due = ("answers",)
    elif opens not in table.answered:
        who, due = opens, ("answers", COMMIT)
    if table.result or seat != who:
        return ()
    over = any(line.startswith("over ") for lines in table.answered.values() for line in lines[-1:])
    return due[:1] if over else due


def _answers(lines: Iterable[str]) -> Answers:
    """Answers from judged lines."""
    told, flashes, over = [], [], ""
    for line in lines:
        word, *rest = line.split()
        if word == "over":
            over = line
        elif word == "flash":
            flashes.append(read_flash(rest))
        else:
            told.append(read_line(word, rest))
    return Answers(tuple(told), tuple(flashes), over)


def _lines(text: str) -> list[str]:
    """A text as lines, each from a word that begins one up to the next such word, however mail broke them."""
    lines: list[list[str]] = []
    for word in text.split():
        if word in _WORDS or not lines:
            lines.append([])
        lines[-1].append(word)
    return [" ".join(words) for words in lines]


def _opens(line: str) -> bool:
    word, *named = line.split()
    if word == "beam" and len(named) == 3 and all(cell in CELLS for cell in named):
        first, middle, last = named
        return LINES.get(first + last, ((),))[0] == (CELLS[first], CELLS[middle], CELLS[last])
    return word in _OPENED[1:] and len(named) == 1 and named[0] in CELLS


def _impossible(table: Table, seat: int, orders: Orders) -> Iterator[Fault]:
    """Opened orders to which no fleet can have been entitled."""
    space, lost = table.spaces[seat - 1], Counter(ship[:2] for ship in table.spaces[seat - 1].lost)
    strikes, beams = entitlement(table.options, seat, lost)
    scans = max(1, _fresh(table.played[-1], seat).bit_count()) if table.played else 1
    for rule, count, most in (
        ("14", len(orders.strikes), strikes),
        ("17", len(orders.beams), beams),
        ("18", len(orders.scans), scans),
    ):
        if count > most:
            yield Fault(rule, None, Phrase("no fleet may order that many of one kind this turn"))
    for place, cell in enumerate(orders.launches):
        if cell in orders.launches[:place] or (space.destroyed | space.empty) >> cell & 1:
            yield Fault("16", f"death {NAMES[cell]}", Phrase("there is nothing left to be launched"))


def _fresh(reports: Iterable[Report], seat: int) -> int:
    """The cells of a seat's space that one turn destroyed."""
    found = 0
    for report in reports:
        if report["kind"] == "kamikaze death":
            found |= mask_of([report["cell"]]) if report["seat"] == seat else 0
        elif report["seat"] != seat:
            found |= mask_of(
                [*([report["cell"]] if report["result"] == "hit" else ()), *report.get("explosions", ())]
            )
    return found


def _asked(table: Table, seat: int) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The questions to a seat: strikes, scans and launches in its space, and the cells of flashcube data."""
    first = first_to_report(table.options, table.turn)
    own, other = (_opened(table.opened[who]) for who in (seat, 3 - seat))
    flashes = []
    if 3 - seat in table.answered:
        lost = _answers(table.answered[3 - seat]).lost
        flashes = [("flash", cell) for line in lost for cell in cells(line.ship_cells)]
    if seat in table.answered:
        return [], flashes
    deaths = [("death", cell) for cell in own.launches]
    looked = [
        *(("beam", cell) for line, _ in other.beams for cell in line),
        *(("strike", cell) for cell in other.strikes),
        *(("scan", cell) for cell in other.scans),
    ]
    return deaths + looked if first == seat else looked + deaths, flashes


def _judge_answers(table: Table, seat: int, lines: list[str]) -> None:
    """Judge whether the answers are complete, and agree with what was told; raises `Refused`."""
    told, flashed = _asked(table, seat)
    wanted = [f"{kind} {NAMES[cell]}" for kind, cell in told + flashed]
    started = seat in table.answered
    faults = misplaced(lines, wanted, "over", lambda line: _is_answer(line, started=started))
    if len(lines) > len(wanted) + 1:
        faults.append(Fault("sealed", lines[-1], Phrase("this is not a line of an answer")))
    if not faults:
        answered = table if started else table._replace(answered={**table.answered, seat: tuple(lines)})
        faults = _entered(answered, seat, _answers(lines).flashes).faults
    refuse(faults)


def _is_answer(line: str, *, started: bool) -> bool:
    """True if a line can be read; `started` if the seat's space is told already, so that the game is not over."""
    word, *rest = line.split()
    if word == "over":
        return not started and line in ("over fleet", "over idle")
    try:
        read_flash(rest) if word == "flash" else read_line(word, rest)
    except (ValueError, LookupError):
        return False
    return True


def _entered(table: Table, seat: int, flashes: Iterable[Report]) -> Telling:
    """A seat's space with the answers that it gave in this turn, and with its flashcube data."""
    orders, answers = _opened(table.opened[seat]), _answers(table.answered[seat])
    told = Telling(table.options, seat, table.spaces[seat - 1], mask_of([NAMES[cell] for cell in orders.launches]))
    for line in answers.lines:
        told.tell(line)
    left = iter(flashes)
    for line in _answers(table.answered.get(3 - seat, ())).lost:
        by = told.start if _is_early(table, seat, line) else told.destroyed
        for flash in islice(left, line.ship_cells.bit_count()):
            told.flash(flash, by)
    told.end(answers.over, orders)
    return told


def _is_early(table: Table, seat: int, lost: Line) -> bool:
    """True if a seat gives flashcube data for this ship before the strikes on its own space are reported."""
    return lost.kind != "death" and first_to_report(table.options, table.turn) == seat


def _finished(table: Table, flashed: Iterable[str] = ()) -> Table:
    """The table after the last step of a turn, which may be the committing seat's flashcube data."""
    answers = {seat: _answers(lines) for seat, lines in table.answered.items()}
    commits, opens = table.commits, 3 - table.commits
    flashes = {commits: _answers(flashed).flashes, opens: answers[opens].flashes}
    one, two = (_entered(table, seat, flashes[seat]).space() for seat in (1, 2))
    over = [seat for seat in (1, 2) if answers[seat].over]
    beaten = [seat for seat in over if answers[seat].over == "over fleet"]
    winners = tuple(seat for seat in (1, 2) if len(beaten) != 1 or seat not in beaten)
    # Both sides' reports, in the order of ruling 21.
    first = first_to_report(table.options, table.turn)
    given = {seat: iter(found) for seat, found in flashes.items()}
    told = ShownReports()
    for owner, answered in answers.items():
        for line in answered.lines:
            told.append(_report(owner if line.kind == "death" else 3 - owner, line, given[3 - owner]))
    told.sort(key=lambda report: (report["seat"] != first, report["kind"] == "kamikaze death"))
    return table._replace(
        turn=table.turn if over else table.turn + 1,
        commits=commits if answers[opens].lost else opens,
        committed=False,
        opened={},
        answered={},
        spaces=(one, two),
        played=table.played.and_(told),
        result=Result(winners, table.scores) if over else None,
    )


def _report(seat: int, line: Line, flashes: Iterator[Report]) -> Report:
    kind, result = _REPORTED.get(line.kind, line.kind), _REPORTED.get(line.result, line.result)
    report: Report = {"seat": seat, "kind": kind, "cell": NAMES[line.cell]}
    if result:
        report["result"] = result
    if line.explosions:
        report["explosions"] = names(line.explosions)
    if line.ship:
        report["destroyed"] = {"ship": line.ship, "cells": names(line.ship_cells)}
        report["flashcube"] = list(islice(flashes, line.ship_cells.bit_count()))
    return report


_REPORTED: Final = {"death": "kamikaze death", "duplicate": "duplicate hit"}
"""The terms of reports that have a shorter word in papers."""


# The owner's side


OwnSide = Own[State, Orders]


def _resolved(own: OwnSide, other: Orders) -> tuple[list[Report], Side]:
    """The turn's effect on the player's space: the reports on it, without flashcubes, and the side after it."""
    seat = own.seat
    orders = {seat: own.orders("39"), 3 - seat: other._replace(launches=())}
    state, reports = turn.resolve(own.state, orders)
    about = [report for report in reports if report["seat"] != seat or report["kind"] == "kamikaze death"]
    return about, state.sides[seat - 1]


def _answered(own: OwnSide, table: Table) -> tuple[str, ...]:
    """The lines of the player's answers and flashcube data in this turn."""
    reports, after = _resolved(own, _opened(table.opened[3 - own.seat]))
    lines = [
        Line(
            "death" if report["kind"] == "kamikaze death" else report["kind"],
            CELLS[report["cell"]],
            report.get("result", "").removesuffix(" hit"),
            mask_of(report.get("explosions", [])),
            report["destroyed"]["ship"] if "destroyed" in report else "",
            mask_of(report["destroyed"]["cells"] if "destroyed" in report else []),
        ).text
        for report in reports
    ]
    lines += _flashes(own, table, after)
    if not after.score:
        lines.append("over fleet")
    elif turn.gives_up(own.state.sides[own.seat - 1].entitled, own.orders("39")):
        lines.append("over idle")
    return tuple(lines)


def _flashes(own: OwnSide, table: Table, after: Side) -> list[str]:
    """Flashcube data of the player's space for the ships that the other side named (ruling 28)."""
    before = own.state.sides[own.seat - 1]
    setup = before.setup
    launched = mask_of([NAMES[cell] for cell in own.orders("39").launches])
    lines = []
    for lost in _answers(table.answered.get(3 - own.seat, ())).lost:
        destroyed = before.destroyed | launched if _is_early(table, own.seat, lost) else after.destroyed
        for cell in cells(lost.ship_cells):
            owner = setup.owner[cell]
            ship = setup.ships[owner].name if owner >= 0 else None
            lines.append(flash_text({"cell": NAMES[cell], "ship": ship, "destroyed": bool(destroyed >> cell & 1)}))
    return lines


_RULINGS: Final = {"beam": "22", "strike": "22", "scan": "25", "death": "27", "flash": "28"}


def _exploded(line: str) -> str:
    """The part of a line about explosions."""
    return line.partition(" explodes ")[2].partition(" destroyed ")[0]


class SealedSpaceships(Answering[Options, Table, State, Orders]):
    """The rules of Spaceships as played sealed; stateless."""

    game = RULES
    papers: Mapping[str, Paper] = {
        "open": Paper("strikes", ("after", "orders", "salt"), empty=True),
        "answers": Paper("answers", ("to", "own"), to=("open",), empty=True),
        "flash": Paper("flash", ("to",), to=("answers",)),
    }
    reveals = True

    owed = staticmethod(_owed)

    def begin(self, options: Options) -> Table:
        """The table before turn 1, in which seat 1 commits."""
        return Table(options)

    def ruling(self, step: SealedStep, honest: tuple[str, ...]) -> str:
        """The ruling broken by the first line that differs from an honest owner's."""
        line, other = next(pair for pair in zip_longest(honest, step.lines, fillvalue="over") if pair[0] != pair[1])
        word, said = line.split()[0], other.split()
        if step.step == "open":
            return "21"
        if "over" in (word, said[0]):
            return "31"  # the remaining fleet follows from the ships that were named
        if word in ("beam", "strike") and line.split()[2] == said[2]:
            return "23" if _exploded(line) != _exploded(other) else "27"
        return _RULINGS[word]

    def judge(self, table: Table, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The canonical lines of a step; raises `Refused` with all faults of form, or all contradictions."""
        lines = _lines(text)
        if step == "open":
            # Revealed orders must be possible, given what was reported.
            faults = [
                Fault("sealed", line, Phrase("this is not a line of revealed orders"))
                for line in lines
                if not _opens(line)
            ]
            order = [_OPENED.index(line.split()[0]) for line in lines] if not faults else []
            if order != sorted(order):
                faults.append(Fault("21", None, Phrase("beams come first, then strikes, scans and kamikaze deaths")))
            if not faults:
                faults = list(_impossible(table, seat, _opened(lines)))
            refuse(faults)
        elif step != COMMIT:
            _judge_answers(table, seat, lines)
        return tuple(lines)

    def enter(self, table: Table, seat: int, step: str, lines: Iterable[str]) -> Table:
        """The table after a step; total on judged lines."""
        told = tuple(lines)
        if step == COMMIT:
            return table._replace(committed=True)
        if step == "open":
            return table._replace(opened={**table.opened, seat: told})
        if step == "flash":
            return _finished(table, told)
        table = table._replace(answered={**table.answered, seat: told})
        if seat == table.commits or _answers(told).lost:
            return table
        return _finished(table)

    def lines(self, own: OwnSide, table: Table, step: str) -> tuple[str, ...]:
        """The lines of a step, as an honest owner writes them; raises `Refused` if orders are missing."""
        if step == "open":
            # Without the ship that fires a beam, and the missile that is launched.
            orders = own.orders("39")
            return (
                *(f"beam {' '.join(NAMES[cell] for cell in line)}" for line, _ in orders.beams),
                *(f"strike {NAMES[cell]}" for cell in orders.strikes),
                *(f"scan {NAMES[cell]}" for cell in orders.scans),
                *(f"death {NAMES[cell]}" for cell in orders.launches),
            )
        if step == "answers":
            return _answered(own, table)
        if step == "flash":
            _, after = _resolved(own, _opened(table.opened[3 - own.seat]))
            return tuple(_flashes(own, table, after))
        return ()

    def side_after(self, own: OwnSide, reports: list[Report]) -> Side:
        """The player's side after a turn with these reports."""
        told = ((report["kind"].split()[-1], report["cell"]) for report in reports if report["seat"] != own.seat)
        _, side = _resolved(own, _visible_orders(told))
        beams = [report["result"] for report in reports if (report["seat"], report["kind"]) == (own.seat, "beam")]
        burnt_out = side.burnt_out
        for place, (_, ship) in enumerate(own.orders("39").beams):
            if beams[3 * place] == beams[3 * place + 2] == "hit":  # ruling 29
                burnt_out |= 1 << ship
        able = tuple(beam for beam in side.entitled.beams if not burnt_out >> beam[0] & 1)
        return side._replace(burnt_out=burnt_out, entitled=side.entitled._replace(beams=able))


SEALED: Final = SealedSpaceships()
