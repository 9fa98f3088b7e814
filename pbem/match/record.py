"""The game record: one whole game in the open, read from TOML, written in one canonical form, and replayed.

Game-blind: only `pbem.games` knows the meaning of setups and orders, the number of seats, and whether turns
alternate. No mail, no database: `pbem replay` imports little more than this. Implements record-format.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict, TypeVar

from pbem.games import GAMES, Refused, Report, Result, Rules, State, parts, rules
from pbem.games.draws import play_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pbem.json_object import JsonObject

T = TypeVar("T")
U = TypeVar("U")

REASONS = ("rules", "agreement", "resignation", "forfeit", "abandoned")

_KEYS = (
    "record",
    "game",
    "rules",
    "note",
    "match",
    "round",
    "previous",
    "options",
    "seat",
    "turn",
    "left",
    "result",
    "extra",
)


# Limits against hostile records: tomllib takes quadratic time over dotted keys, and nests them deeper than recursion
# can go.
_DOTTED = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+)++")
_PARTS = 100
_VALUES = 300_000  # a turn of two has four; each outweighs its text by far
_LONG_NUMBER = re.compile(r"(?<!\w)[0-9][0-9A-Fa-f_ox]{4999}")  # tomllib takes a hundred octets for each digit
_ALL_PARTS = 100_000  # of all keys; each costs it several objects and walks
_DEPTH = 100
_SEED = re.compile("[0-9a-f]{64}")

LONGEST = 256 * 1024
"""The most characters of a setup or of orders: no letter has more octets, and the rules list every fault in them."""


class NotARecord(ValueError):
    """The text is not a record at all: no TOML, no `record`, or an unknown game."""


class Illegal(ValueError):
    """The fault of a refused record: turn (0 for setups), seat or None, order as written or None, message."""

    def __init__(self, turn: int, seat: int | None, order: str | None, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.turn = turn
        self.seat = seat
        self.order = order
        self.message = message
        self.rule = rule
        """The ruling that the first named fault breaks, if it is one of the game's."""
        self.game: str | None = None


class Turn(NamedTuple):
    """The orders of one turn by seat, as written."""

    orders: Mapping[int, str]
    note: str | None = None
    chance: str = ""
    """The seed of what chance dealt, in a game with dice or cards."""


class RecordedResult(NamedTuple):
    """The result in a record: winner (0 for a draw), scores in seat order, reason; several winners, if not all."""

    winner: int
    scores: tuple[int, ...]
    reason: str = "rules"
    winners: tuple[int, ...] = ()

    @classmethod
    def of(cls, result: Result, seats: int) -> RecordedResult:
        """The record's words for a result of a game with so many seats."""
        winners = tuple(result.winners)
        alone, several = len(winners) == 1, 1 < len(winners) < seats
        return cls(winners[0] if alone else 0, tuple(result.scores), result.reason, winners if several else ())


class Record(NamedTuple):
    """One game: names and setups in seat order, turns in order, options other than default."""

    game: str
    seats: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...] = ()
    options: Mapping[str, object] = MappingProxyType({})
    rules: int = 1
    note: str | None = None
    match: str | None = None
    round: int | None = None
    previous: str | None = None
    left: Mapping[int, int] = MappingProxyType({})
    """The seats that left the game while the others played on, each with the turn that was due."""
    result: RecordedResult | None = None
    extra: Mapping[str, object] | None = None


class GameResult(TypedDict):
    """The state of a game at the end of its record, as `pbem replay --json` prints it."""

    over: bool
    winner: int | None
    winners: NotRequired[list[int]]
    """The winners, if several have won and others have not."""
    scores: list[int]
    reason: str | None


class ReplayedTurn(NamedTuple):
    """A turn of a record: the position before it, its reports, and the position after it."""

    before: State
    reports: Sequence[Report]
    after: State


class Replay(NamedTuple):
    """The replay of a record: the reports of each turn, the last position, and the result."""

    turns: tuple[tuple[Report, ...], ...]
    state: State
    result: GameResult


def read(text: str) -> Record:
    """The record of a text; raises `NotARecord`, or `Illegal` for forbidden keys and senseless values.

    Most of these are errors of turn 0 without a seat; a setup or orders that are not text belong to their seat and
    turn.
    """
    table = _table(text)
    try:
        return _record(table)
    except Illegal as illegal:
        illegal.game = table["game"]
        raise


def _table(text: str) -> JsonObject:
    """The TOML table of a record; raises `NotARecord`, before parsing if the text would cost too much."""
    if sum(map(text.count, "[{=")) > _VALUES:
        raise NotARecord(f"more than {_VALUES:,} keys, lists and tables, which is over the limit")
    if _LONG_NUMBER.search(text):
        raise NotARecord("not TOML that anybody would write: a number of thousands of digits")
    parts = 0
    for key in _DOTTED.finditer(text):
        dots = key[0].count(".")
        parts += dots
        if dots >= _PARTS or parts > _ALL_PARTS:
            raise NotARecord("not TOML that anybody would write: keys of hundreds of parts")
    import tomllib

    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise NotARecord(f"not TOML: {error}") from error
    if "record" not in table:
        raise NotARecord("no record: the key `record` is missing")
    game = table.get("game")
    if not isinstance(game, str):
        raise NotARecord("no record of a known game")
    if game not in GAMES:
        from pbem.games.outside import not_enabled

        raise NotARecord(f"no record of a known game: {not_enabled(game)}")
    return table


def _record(table: JsonObject) -> Record:
    """The record of a table; a setup or orders that are not text are a fault of their seat and turn."""
    _known(table, _KEYS, "the record")
    if type(table["record"]) is not int or table["record"] != 1:
        raise _fault("`record` is 1, the version of the format")
    edition = _typed(table, "rules", int, 1)
    if edition not in rules(table["game"]).editions:
        raise _fault(f"there is no edition {edition} of the rulings of {table['game']}")
    number = _typed(table, "round", int, None)
    if number is not None and number < 1:
        raise _fault("`round` is a number from 1")
    seats = [_seat(seat) for seat in _tables(table, "seat")]
    keys = frozenset(map(str, range(1, len(seats) + 1)))
    turns = [_turn(number, turn, keys) for number, turn in enumerate(_tables(table, "turn"), start=1)]
    extra: dict[str, object] | None = _typed(table, "extra", dict, None)
    _demand_shallow(extra)
    record = Record(
        game=table["game"],
        seats=tuple(seats),
        turns=tuple(turns),
        options=_typed(table, "options", dict, {}),
        rules=edition,
        note=_typed(table, "note", str, None),
        match=_typed(table, "match", str, None),
        round=number,
        previous=_typed(table, "previous", str, None),
        left=_left(table, len(seats)),
        result=_recorded_result(table, len(seats)),
        extra=extra,
    )
    # Only a replay shows which fault comes first if a setup or orders are not text.
    texts: list[object] = [setup for _, setup in record.seats]
    texts.extend(text for turn in record.turns for text in turn.orders.values())
    if not all(isinstance(text, str) for text in texts):
        replay(record)  # which raises
    return record


def _demand_shallow(extra: object) -> None:
    level = [extra]
    for _ in range(_DEPTH):
        # Lists and tables have others inside them.
        insides = (
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        )
        level = [inner for inside in insides for inner in inside]
    if level:
        raise _fault("[extra] is nested too deeply")


def _fault(message: str) -> Illegal:
    return Illegal(0, None, None, message)


def _known(table: Iterable[str], keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise Illegal(0, None, key, f"{where} has no key {key!r}")


def _typed(table: Mapping[str, object], key: str, kind: type[T], default: U) -> T | U:
    if key not in table:
        return default
    value = table[key]
    # bool is an int to Python, not to TOML.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _fault(f"`{key}` is not a {_KINDS[kind]}")
    return value


_KINDS: Mapping[type, str] = {int: "whole number", str: "text", dict: "table", list: "list"}


def _tables(table: Mapping[str, object], key: str) -> list[JsonObject]:
    tables: list[JsonObject] = _typed(table, key, list, [])
    if not all(isinstance(item, dict) for item in tables):
        raise _fault(f"`[[{key}]]` is a list of tables")
    return tables


def _seat(table: JsonObject) -> tuple[str, str]:
    _known(table, ("name", "setup"), "a seat")
    name: str = _typed(table, "name", str, "")
    return name, table.get("setup")  # type: ignore[return-value]  # judged by _record


def _turn(number: int, table: JsonObject, keys: frozenset[str]) -> Turn:
    orders = {}
    for key, text in table.items():
        if key in {"note", "chance"}:
            continue
        if key not in keys:
            raise Illegal(0, None, key, f"turn {number} has no key {key!r}")
        orders[int(key)] = text
    seed = _typed(table, "chance", str, "")
    if seed and not _SEED.fullmatch(seed):
        raise Illegal(number, None, "chance", f"`chance` of turn {number} is not a seed of 64 hex digits")
    return Turn(orders, _typed(table, "note", str, None), seed)


def _left(table: Mapping[str, object], seats: int) -> dict[int, int]:
    left: dict[int, int] = {}
    for gone in _tables(table, "left"):
        _known(gone, ("seat", "turn"), "a seat that left")
        seat, turn = _typed(gone, "seat", int, None), _typed(gone, "turn", int, None)
        if seat is None or turn is None:
            raise _fault("a seat that left needs `seat` and `turn`")
        if not 1 <= seat <= seats or seat in left:
            raise _fault(f"seat {seat} is none of this game, or left twice")
        left[seat] = turn
    return left


def _recorded_result(table: Mapping[str, object], seats: int) -> RecordedResult | None:
    if "result" not in table:
        return None
    result = _typed(table, "result", dict, {})
    _known(result, ("winner", "winners", "scores", "reason"), "the result")
    reason = _typed(result, "reason", str, "rules")
    if reason not in REASONS:
        raise _fault(f"`reason` is one of: {', '.join(REASONS)}")
    if "winner" not in result or "scores" not in result:
        raise _fault("the result needs `winner` and `scores`")
    scores = _typed(result, "scores", list, [])
    if not all(type(score) is int for score in scores):
        raise _fault("`scores` are whole numbers")
    winner, winners = _typed(result, "winner", int, 0), _typed(result, "winners", list, [])
    some = [seat for seat in range(1, seats + 1) if seat in winners]
    if "winners" in result and (winner or winners != some or not 1 < len(some) < seats):
        raise _fault("`winners` are several seats of this game, ascending, but not all; `winner` is 0 then")
    return RecordedResult(winner, tuple(scores), reason, tuple(some))


def write(record: Record) -> str:
    """The canonical form of a record: byte for byte the same for the same game."""
    lines = ["record = 1", f"game = {_quoted(record.game)}", f"rules = {record.rules}"]
    for key in ("note", "match", "round", "previous"):
        value = getattr(record, key)
        if value is not None:
            lines.append(f"{key} = {toml_value(value)}")
    if record.options:
        lines += ["", "[options]", *(f"{_key(key)} = {toml_value(value)}" for key, value in record.options.items())]
    for name, setup in record.seats:
        lines += ["", "[[seat]]", f"name = {_quoted(name)}", f"setup = {_block(setup)}"]
    for turn in record.turns:
        lines += ["", "[[turn]]", *(f"{seat} = {_block(text)}" for seat, text in sorted(turn.orders.items()))]
        if turn.chance:
            lines.append(f"chance = {_quoted(turn.chance)}")
        if turn.note is not None:
            lines.append(f"note = {_quoted(turn.note)}")
    # By turn, then by seat: one order, whatever that of the mapping.
    for turn_due, seat in sorted((turn_due, seat) for seat, turn_due in record.left.items()):
        lines += ["", "[[left]]", f"seat = {seat}", f"turn = {turn_due}"]
    if record.result is not None:
        result = record.result
        lines += ["", "[result]", f"winner = {result.winner}"]
        if result.winners:
            lines.append(f"winners = {toml_value(list(result.winners))}")
        lines.append(f"scores = {toml_value(list(result.scores))}")
        lines.append(f"reason = {_quoted(result.reason)}")
    text = "\n".join(lines) + "\n"
    if record.extra is not None:
        import tomli_w

        text += "\n" + (tomli_w.dumps({"extra": record.extra}) if record.extra else "[extra]\n")
    return text


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key)


def toml_value(value: object) -> str:
    """A value in TOML, as records and option lines write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(inner) for inner in value) + "]"
    return str(value)


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, except that TOML also requires DEL to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(text: str) -> str:
    """A multi-line basic string for several lines, or a basic string for a single line."""
    if "\n" not in text:
        return _quoted(text)
    lines = (_quoted(line)[1:-1] for line in text.split("\n"))
    return '"""\n' + "\n".join(lines) + '"""'


def replay(record: Record) -> Replay:
    """Play a record through the rules; raises `Illegal` naming turn, seat and order."""
    try:
        return _RecordReplay(record).replay()
    except Illegal as illegal:
        illegal.game = record.game
        raise


def replayed(record: Record) -> Iterator[ReplayedTurn]:
    """Each turn of a record, one by one, after one that only puts the setups in; raises `Illegal` as `replay` does.

    The result is not judged.
    """
    return _RecordReplay(record).turns()


class _RecordReplay:
    """The replay of one record, turn by turn."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rules: Rules = rules(record.game)

    def replay(self) -> Replay:
        turns = []
        for _, reports, after in self.turns():
            turns.append(tuple(reports))
            state = after
        del turns[0]
        for seat, turn_due in self.record.left.items():
            if not 1 <= turn_due <= len(turns) + (state.result is None):
                raise Illegal(len(turns), seat, None, f"turn {turn_due}, in which this seat left, never came")
        state = self.leave(state, len(turns) + 1)
        return Replay(tuple(turns), state, self.result(state, len(turns)))

    def turns(self) -> Iterator[ReplayedTurn]:
        state = self.begin()
        yield ReplayedTurn(state, (), state)
        for number, turn in enumerate(self.record.turns, start=1):
            before = self.leave(state, number)
            if before.result is not None:
                raise Illegal(number, None, None, "the game was over before this turn")
            state, reports = self.play(before, number, turn)
            yield ReplayedTurn(before, reports, state)

    def begin(self) -> State:
        seats = self.record.seats
        try:
            if len(seats) not in self.rules.seats:
                raise _fault(f"{self.rules.title} is not played by {len(seats)}")
            options = self.rules.options(self.record.options, len(seats))
        except Refused as refused:
            raise _illegal(0, None, refused) from refused
        judge = partial(self.rules.setup, options)
        texts = enumerate((text for _, text in seats), start=1)
        setups = [_judged(judge, 0, seat, "setup of this seat is", text) for seat, text in texts]
        return self.rules.begin(options, setups)

    def leave(self, state: State, number: int) -> State:
        """The position at the start of a turn, without the seats that had left by then."""
        for seat in sorted(seat for seat, turn_due in self.record.left.items() if turn_due == number):
            without = parts.without(self.rules, state, seat, self.record.rules)
            if without is None:
                raise Illegal(number, seat, None, "the others do not play on when this seat leaves")
            state = without
        return state

    def play(self, state: State, number: int, turn: Turn) -> tuple[State, list[Report]]:
        orders = {}
        for seat in sorted({*state.due, *turn.orders}):
            if seat not in state.due:
                raise Illegal(number, seat, None, "this seat has no orders in this turn")
            judge = partial(self.rules.order, state)
            orders[seat] = _judged(judge, number, seat, "orders of this seat are", turn.orders.get(seat))
        if bool(turn.chance) != self.rules.chance:
            says = "`chance` is missing" if self.rules.chance else "this game has no `chance`"
            raise Illegal(number, None, None, f"turn {number}: {says}")
        return play_turn(self.rules, state, orders, turn.chance)

    def result(self, state: State, last: int) -> GameResult:
        """The result, after a check that the recorded one, if any, agrees."""
        seats, recorded = len(self.record.seats), self.record.result
        by_rules = state.result and RecordedResult.of(state.result, seats)
        # The record claims an end by the rules: they must give the same result.
        if recorded is not None and recorded.reason == "rules":
            if by_rules is None:
                raise Illegal(last, None, None, "the rules have not ended the game")
            if recorded._replace(winners=recorded.winners or by_rules.winners) != by_rules:  # which need not be named
                won = f"winners {list(by_rules.winners)}" if by_rules.winners else f"winner {by_rules.winner}"
                raise Illegal(last, None, None, f"the result is {won}, scores {list(by_rules.scores)}")
        # It claims another end: the winner may be any seat, but the scores are those of the position.
        elif recorded is not None:
            if by_rules is not None:
                raise Illegal(last, None, None, "the rules had ended the game before")
            if not 0 <= recorded.winner <= seats:
                raise Illegal(last, None, None, "the winner is no seat of this game")
            if recorded.scores != tuple(state.scores):
                raise Illegal(last, None, None, f"the scores of the position are {list(state.scores)}")
        ended = by_rules or recorded
        if ended is None:
            return {"over": False, "winner": None, "scores": list(state.scores), "reason": None}
        shared: GameResult = {
            "over": True,
            "winner": ended.winner,
            "scores": list(ended.scores),
            "reason": ended.reason,
        }
        if ended.winners:
            shared["winners"] = list(ended.winners)
        return shared


def _judged(judge: Callable[[int, str], T], turn: int, seat: int, what: str, text: object) -> T:
    """A seat's setup or orders, as the rules judge them."""
    if not isinstance(text, str):
        raise Illegal(turn, seat, None, f"the {what} missing, or no text")
    if len(text) > LONGEST:
        raise Illegal(turn, seat, None, f"longer than any letter: {len(text):,} characters, {LONGEST:,} at most")
    try:
        return judge(seat, text)
    except Refused as refused:
        raise _illegal(turn, seat, refused) from refused


def _illegal(turn: int, seat: int | None, refused: Refused) -> Illegal:
    first = refused.faults[0]
    return Illegal(turn, seat, first.token, first.message, first.rule)
