"""Battleship without a referee: the owner of a sea answers the shots at it, and the setups are revealed in the end.

If the players alternate, one opens the shots, and the other answers, in one letter with the next shots. Together, one
commits to shots before the other opens theirs: so neither knows where the other shoots. Implements ruling 8.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Refused, Result, ShownReports, refuse
from pbem.games.sealed import COMMIT, Answering, Own, Paper, misplaced
from pbem.grown import Grown
from pbem.phrase import Phrase
from pbem_battleship import FLEET, RULES, Options, Shots, Side, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.games import Report
    from pbem.games.sealed import SealedStep


class Table(NamedTuple):
    """The public facts of a sealed game."""

    options: Options
    turn: int = 1
    done: int = 0
    """The number of steps of this turn that were made."""
    opened: Mapping[int, tuple[str, ...]] = {}
    """The squares shot at in this turn, by seat."""
    answered: Mapping[int, tuple[str, ...]] = {}
    """The answers of this turn, by the seat that answers."""
    sides: tuple[Side, Side] = (Side(), Side())
    """Both sides, without ships."""
    scores: tuple[int, int] = (sum(FLEET.values()),) * 2
    """The squares of each seat's ships that were not called to be hit."""
    played: Grown[ShownReports] = Grown()
    result: Result | None = None

    @property
    def due(self) -> dict[int, None]:
        """The seat that owes a step."""
        return {} if self.result else {self.steps[0][0]: None}

    @property
    def remaining(self) -> tuple[int, int]:
        """Both seats."""
        return 1, 2

    @property
    def position(self) -> State:
        """The position without ships."""
        return State(self.options, self.turn, self.sides, self.result)

    @property
    def steps(self) -> list[tuple[int, str]]:
        """The steps that are left of this turn, each with its seat, and the first of the next."""
        first, *_ = _steps(self.options, self.turn + 1)
        return [*_steps(self.options, self.turn)[self.done :], first]


def _steps(options: Options, turn: int) -> list[tuple[int, str]]:
    """The steps of a turn, each with its seat; who makes the last also makes the first of the next turn."""
    one, other = 2 - turn % 2, 1 + turn % 2
    if options.turns == "together":
        return [(one, COMMIT), (other, "open"), (one, "open"), (one, "answers"), (other, "answers")]
    return [(one, "open"), (other, "answers")]


def _answer(line: str) -> Mapping[str, str] | None:
    """An answer such as `B7 miss`, `B7 hit`, `B7 hit carrier`; None if it is none."""
    match line.split():
        case [square, "miss" | "hit" as result]:
            return {"square": square, "result": result}
        case [square, "hit", ship] if ship in FLEET:
            return {"square": square, "result": "hit", "sunk": ship}
    return None


def _lines(text: str, squares: Iterable[str]) -> list[str]:
    """A text as lines, each from a square that was shot at, however mail broke them."""
    lines: list[list[str]] = []
    for word in text.split():
        if word in squares or not lines:
            lines.append([])
        lines[-1].append(word)
    return [" ".join(words) for words in lines]


def _told(seat: int, lines: Iterable[str]) -> list[Report]:
    """The reports of a seat's shots, from the answers to them."""
    return [{"seat": seat, "kind": "shot", **(_answer(line) or {})} for line in lines]


def _contradiction(table: Table, seat: int, lines: Iterable[str]) -> Fault | None:
    """The fault in answers that no fleet can give, after those of earlier turns."""
    reports = [report for turn in table.played for report in turn if report["seat"] != seat] + _told(3 - seat, lines)
    hits, sunk = 0, list[str]()
    for report in reports:
        hits += report["result"] == "hit"
        sunk += [report["sunk"]] if "sunk" in report else []
        afloat = [size for name, size in FLEET.items() if name not in sunk]
        least = sum(FLEET[name] for name in sunk)
        if len(sunk) != len({*sunk}) or not least <= hits <= least + sum(size - 1 for size in afloat):
            return Fault("6", report["square"], Phrase("no fleet has such hits and sunk ships"))
    return None


def _finished(table: Table) -> Table:
    """The table of the next turn, once all shots of this one are answered."""
    reports = ShownReports(
        report for seat in sorted(table.opened) for report in _told(seat, table.answered[3 - seat])
    )
    sides, scores = list(table.sides), list(table.scores)
    for seat, squares in table.opened.items():
        sides[seat - 1] = sides[seat - 1]._replace(fired=sides[seat - 1].fired.union(squares))
        sides[2 - seat] = sides[2 - seat]._replace(struck=sides[2 - seat].struck.union(squares))
        scores[2 - seat] -= sum(report["result"] == "hit" for report in reports if report["seat"] == seat)
    (one, two), left = sides, (scores[0], scores[1])
    # If somebody answers `miss` to the last square, the reveal shows that it is false.
    over = not all(left) or table.turn == table.options.most_turns
    turn = table.turn + (not over)
    played = table.played.and_(reports)
    return Table(table.options, turn, 0, {}, {}, (one, two), left, played, Result.of(left) if over else None)


class SealedBattleship(Answering[Options, Table, State, Shots]):
    """The rules as played sealed."""

    game = RULES
    papers: Mapping[str, Paper] = {
        "open": Paper("shots", ("after", "orders", "salt")),
        "answers": Paper("answers", ("to",), to=("open",)),
    }
    reveals = True

    def begin(self, options: Options) -> Table:
        """The table before turn 1."""
        return Table(options)

    def owed(self, table: Table, seat: int) -> tuple[str, ...]:
        """The steps that a seat owes now, all in one letter."""
        if table.result:
            return ()
        return tuple(step for _, step in takewhile(lambda step: step[0] == seat, table.steps))

    def judge(self, table: Table, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The canonical lines of a step; raises `Refused`."""
        if step == COMMIT:
            return ()
        if step == "open":
            return RULES.order(table.position, seat, text).squares
        squares = table.opened[3 - seat]
        lines = _lines(text, squares)
        refuse(misplaced(lines, squares, "end", lambda line: _answer(line) is not None))
        if fault := _contradiction(table, seat, lines):
            raise Refused(fault)
        return tuple(lines)

    def enter(self, table: Table, seat: int, step: str, lines: Iterable[str]) -> Table:
        """The table after a step."""
        told = tuple(lines)
        if step == "open":
            table = table._replace(opened={**table.opened, seat: told})
        elif step == "answers":
            table = table._replace(answered={**table.answered, seat: told})
        table = table._replace(done=table.done + 1)
        ended = table.done == len(_steps(table.options, table.turn))
        return _finished(table) if ended else table

    def lines(self, own: Own[State, Shots], table: Table, step: str) -> tuple[str, ...]:
        """The lines of a step, as an honest owner writes them."""
        if step == COMMIT:
            return ()
        if step == "open":
            return own.orders("4").squares
        answers = own.state.sides[own.seat - 1].answers(table.opened[3 - own.seat])
        return tuple(" ".join(answer.values()) for answer in answers)

    def side_after(self, own: Own[State, Shots], reports: list[Report]) -> Side:
        """The player's side after a turn with these reports."""
        side = own.state.sides[own.seat - 1]
        shots = {seat: [report["square"] for report in reports if report["seat"] == seat] for seat in (1, 2)}
        return side._replace(struck=side.struck.union(shots[3 - own.seat]), fired=side.fired.union(shots[own.seat]))

    def ruling(self, step: SealedStep, honest: tuple[str, ...]) -> str:
        """The ruling that a step broke."""
        del honest
        return "4" if step.step == "open" else "8"


SEALED: Final = SealedBattleship()
