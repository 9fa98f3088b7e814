"""The checks of a game, by name: what `pbem` relies on, whatever the game is. See docs/games.md."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pbem.games import Fault, Refused, parts
from pbem.games.draws import Draws, play_turn
from pbem.games.outside import unpinned
from pbem.json_object import DEPTH, depth
from pbem.mail.commands import parse
from pbem.mail.commands.arguments import WRITTEN
from pbem.match.record import read, write
from pbem.match.transcript import canonical
from pbem.phrase import Phrase
from pbem.player import forms
from pbem.requests import SubmitOrders, SubmitSetup
from pbem.testing.again import reports_hash, whole_hash
from pbem.testing.secrecy import recalled, secret, told
from pbem.testing.subject import Nonconforming, PlayedGame, demand, play_on, readers, record_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pbem.games import Orders, Report, Setup
    from pbem.testing.subject import Subject

LONGEST: Final = 64 * 1024  # characters of a text that a player may send
SECONDS: Final = 2.0  # of processor time that the judgement of one text may take
_OCTETS: Final = 1 << 20  # of the reports of a turn, and of a view
_LARGEST: Final = 1 << 53  # beyond it, other languages' numbers are not exact
_RECORDED: Final = 40  # turns of a record that the kit writes

_IMPURE: Final = frozenset(
    {
        *("asyncio", "ctypes", "datetime", "glob", "http", "importlib", "io", "locale", "logging", "multiprocessing"),
        *("os", "pathlib", "platform", "random", "secrets", "shutil", "signal", "socket", "sqlite3", "ssl"),
        *("subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid", "zoneinfo"),
    }
)
"""The modules that bring in a clock, randomness, files or the network."""

_CALLED: Final = frozenset({"__import__", "eval", "exec", "hash", "id", "input", "open", "print"})


def pure(subject: Subject) -> None:
    """No clock, no randomness, no files, no network: the same orders give the same game, anywhere."""
    for path in sorted(subject.folder.rglob("*.py")):
        place = path.relative_to(subject.folder)
        if place.parts[0] in {"players.py", "tests"}:
            continue
        for line, name in _used(ast.parse(path.read_text("utf-8"))):
            demand(name.partition(".")[0] not in _IMPURE | _CALLED, f"{place}, line {line}: uses {name}")


def _used(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The modules that are imported when a program runs, and the functions that are called by a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from ((child.lineno, alias.name) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level:
            yield child.lineno, child.module or ""
        elif isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            yield child.lineno, child.func.id
        yield from _used(child)


def pinned(subject: Subject) -> None:
    """Name the exact versions of the libraries beside pbem, and have them: no hash covers the code of these."""
    found = unpinned(subject.name)
    demand(not found, f"without an exact version that is installed here: {', '.join(found)}")


def options(subject: Subject) -> None:
    """Options are filled in, written and read back; whatever is no option is refused."""
    judge = subject.judge
    for raw, seats in subject.players.options:
        found = judge.options(raw, seats)
        demand(found.seats == seats, f"options({raw}, {seats}).seats is {found.seats}")
        changed = dict(found.changed)
        _check_plain(f"`changed` of {raw}", changed)
        demand(judge.options(changed, seats) == found, f"`changed` of {raw} gives other options: {changed}")
        unknown = {**raw, "no such option": 1}
        demand(_refuses(f"options({unknown})", judge.options, unknown, seats), "an unknown option is not refused")
        for wrong in ({**raw, key: odd} for key in raw for odd in _ODD_VALUES):
            _refuses(f"options({wrong})", judge.options, wrong, seats)
    for number in {0, 1, 10, -1} - {*judge.seats}:
        demand(_refuses(f"{number} seats", judge.options, {}, number), f"{number} seats are not refused")


_ODD_VALUES: Final[tuple[object, ...]] = (None, True, -1, 10**30, "", "x", [], [-1], {}, {"x": {}}, 1.5)


def _refuses(what: str, call: Callable[..., object], *arguments: object) -> bool:
    """True if a call refuses; any other exception is a fault, and so is a refusal that says nothing."""
    try:
        with _limited(what):
            call(*arguments)
    except Refused as refused:
        demand(refused.faults, f"{what} is refused without a fault")
        for fault in refused.faults:
            demand(isinstance(fault, Fault) and isinstance(fault.message, Phrase), f"{what}: {fault} is no Fault")
            demand(isinstance(fault.rule, str), f"{what}: {fault} names no ruling")
        return True
    except Nonconforming:
        raise
    except Exception as error:  # whatever a game raises
        raise Nonconforming(f"{what} raises {type(error).__name__}: {error}") from error
    return False


@contextmanager
def _limited(what: str) -> Iterator[None]:
    """Stop what takes too much processor time; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: object) -> None:
        raise Nonconforming(f"{what} takes more than {SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def texts(subject: Subject) -> None:
    """Whatever somebody writes is legal or refused, within the time: nothing else is raised."""
    random, judge = Random(f"texts {subject.name}"), subject.judge
    for at, game in enumerate(subject.played[:: subject.seeds]):
        asked = [
            (state, seat, text)
            for state, texts in zip(game.states, game.orders, strict=False)  # after the last turn nobody orders
            for seat, text in texts.items()
            if state.due[seat] is None
        ]
        if not asked:
            continue
        (state, seat, own), first = random.choice(asked), game.setups[0]
        for text in (*_odd(first, subject.players.nearly, random), *(() if at else _long(first))):
            _refuses(_named("setup", text), judge.setup, game.options, 1, text)
            _refuses(_named("slips", text), parts.meant, judge, text)
        for text in (*_odd(own, subject.players.nearly, random), *(() if at else _long(own))):
            if not _refuses(_named("order", text), judge.order, state, seat, text):
                _refuses(_named("unused", text), parts.unused, judge, state, seat, judge.order(state, seat, text))
            _refuses(_named("slips", text), parts.meant, judge, text)
            _refuses(
                _named("ahead", text),
                parts.ahead,
                judge,
                state,
                seat,
                random.choice((0, state.turn + 1, 10**6)),
                text,
            )


def ahead(subject: Subject) -> None:
    """No later position calls impossible what could be stored before: a verifier judges by a later one."""
    judge = subject.judge
    for game in subject.played:
        for seat in range(1, len(game.setups) + 1):
            ordered = [texts[seat] for texts in game.orders if seat in texts]
            for text in (*ordered[:: len(ordered) // 8 + 1], *subject.players.nearly):
                stored = 0
                for state in game.states[:: len(game.states) // 16 + 1]:
                    found = parts.ahead(judge, state, seat, 0, text)
                    said = f"{text!r} could be stored before turn {stored}, and not in turn {state.turn}: {found}"
                    demand(not (found and stored), said)
                    stored = stored or (not found and state.turn)


def _named(method: str, text: str) -> str:
    return f"{method} of {text[:60]!r}{f' ({len(text)} characters)' if len(text) > 60 else ''}"


def _odd(legal: str, nearly: Sequence[str], random: Random) -> Iterator[str]:
    """Texts that somebody could send: from a legal one, from nearly legal ones, and from nothing."""
    yield from ("", " ", "\0", "?", "\n\n", "\u2013", "end", "# none", "9" * 5000, *nearly)
    yield from (legal.upper(), legal.lower(), legal.replace(" ", ""), f"{legal}\n{legal}")
    # Digits by `str.isdigit`, of which `int` knows nothing.
    yield from (re.sub("[0-9]", "\u00b2", text) for text in (legal, *nearly))
    for _ in range(20):
        at, length = random.randrange(len(legal) + 1), random.choice((0, 1, 1, 5))
        instead = random.choice(("", " ", "\n", "x", "0", "-", "\u00e9", "\U0001d7d7", legal[:3]))
        yield legal[:at] + instead + legal[at + length :]


def _long(legal: str) -> Iterator[str]:
    """Texts as long as they may be."""
    for piece in filter(None, ("(", "a ", " ", "1\n", legal, f"{legal} ", f"{legal}\n")):
        yield piece * (LONGEST // len(piece))


def turns(subject: Subject) -> None:
    """A turn is resolved once and for all, counts on, and leaves the position before it as it was."""
    judge = subject.judge
    for game, number in subject.positions():
        state, after = game.states[number], game.states[number + 1]
        what = f"turn {number + 1}"
        demand(state.turn == number + 1, f"{what}: the state says turn {state.turn}")
        demand(
            state.due and set(state.due) <= set(state.remaining), f"{what}: {state.due} of {state.remaining} are due"
        )
        demand(len(after.scores) == len(game.setups), f"{what}: scores {after.scores}")
        pace = parts.pace(judge, state)
        demand(isinstance(pace, Fraction) and 0 < pace <= 1, f"{what}: pace {pace!r} is no Fraction up to 1")
        period = parts.period(judge, state)
        demand(period is None or isinstance(period, Phrase), f"{what}: period {period!r} is no phrase")
        words = [word for seat in state.remaining for word in parts.side(judge, state, seat)]
        names = all(re.fullmatch(WRITTEN["player"], word) for word in words)
        demand(names, f"{what}: of {words}, some could be no player's name")
        silent = [seat for seat, forced in state.due.items() if judge.empty_orders and forced is None]
        refused = [seat for seat in silent if _refuses("empty orders", judge.order, state, seat, "")]
        demand(not refused, f"{what}: empty orders of seats {refused} are refused, in spite of `empty_orders`")
        orders = {seat: judge.order(state, seat, text) for seat, text in game.orders[number].items()}
        seed = game.chance[number]
        again = play_turn(judge, state, orders, seed)
        demand(again == (after, game.reports[number]), f"{what} gives another position or reports when played again")


def chance(subject: Subject) -> None:
    """The dealing follows from the stream of the turn alone, and from all of it; a position keeps no stream."""
    judge, differs = subject.judge, not subject.judge.chance
    demand(judge.chance or not judge.secret_chance, "`secret_chance` without `chance`")
    for game, number in subject.positions() if judge.chance else ():
        state, seed = game.states[number], game.chance[number]
        orders = {seat: judge.order(state, seat, text) for seat, text in game.orders[number].items()}
        other = play_turn(judge, state, orders, seed[::-1])
        differs = differs or other != (game.states[number + 1], game.reports[number])
        again = play_turn(judge, state, orders, seed)
        said = f"turn {number + 1} gives another position or reports after a turn with another chance"
        demand(again == (game.states[number + 1], game.reports[number]), said)
        kept = [name for name, value in _held(again[0]) if isinstance(value, Draws)]
        demand(not kept, f"the position keeps the chance of a turn: {', '.join(kept)}")
    demand(differs, "the game says `chance`, and draws nothing")


def _held(value: object, name: str = "state", deep: int = 6) -> Iterator[tuple[str, object]]:
    """The values that an object holds, each with its name."""
    yield name, value
    if deep == 0 or isinstance(value, str | int):
        return
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        inner: dict[Any, Any] = dict(enumerate(value))
    elif isinstance(value, dict):
        inner = value
    else:
        named = getattr(value, "_fields", getattr(value, "__slots__", ()))
        inner = dict(getattr(value, "__dict__", {})) | {one: getattr(value, one, None) for one in named}
    for key, one in inner.items():
        yield from _held(one, f"{name}.{key}", deep - 1)


def ends(subject: Subject) -> None:
    """A game ends within its own limit, with a result that stays; what is carried over are options."""
    judge = subject.judge
    for game in subject.played:
        last, result = game.states[-1], game.states[-1].result
        demand(
            result is not None, f"a random game is not over after {len(game.orders)} turns: {game.options.changed}"
        )
        demand(not last.due, f"the game is over, and {last.due} are due")
        demand(tuple(last.scores) == tuple(result.scores), f"scores {last.scores} are not those of {result}")
        winners = [seat for seat in range(1, len(game.setups) + 1) if seat in result.winners]
        demand(list(result.winners) == winners, f"these are no seats in their order: {result}")
        demand(all(type(score) is int for score in result.scores), f"scores are whole numbers: {result}")
        demand(last.turn == len(game.orders), f"after turn {len(game.orders)}, the last, the state says {last.turn}")
        carried = judge.carry(game.options, result)
        changed, seats = dict(carried.changed), len(game.setups)
        refused = _refuses(f"options({changed})", judge.options, changed, seats)
        same = not refused and judge.options(changed, seats) == carried
        demand(same, f"`carry` gives options that `options` refuses or reads otherwise: {changed}")


def without(subject: Subject) -> None:
    """Once a seat has resigned and the others play on, it stays out, and they come to an end."""
    judge, random = subject.judge, Random(f"without {subject.name}")
    for game in subject.played:
        number = random.randrange(len(game.orders))
        state, seats = game.states[number], range(1, len(game.setups) + 1)
        seat = random.choice(state.remaining)
        after = parts.without(judge, state, seat, judge.editions[-1])
        if after is None:
            continue
        what = f"without seat {seat} from turn {state.turn} on"
        demand(after.turn == state.turn, f"{what}: the state says turn {after.turn}")
        told = {one: [shown(judge, reports, one) for reports in game.reports[:number]] for one in seats}
        rest = PlayedGame(game.game, game.options, game.setups, states=[after])
        for most in (0, subject.players.turns):  # at once, and then to the end
            play_on(judge, subject.players, random, rest, told, most)
            for state in rest.states:
                demand(seat not in state.remaining, f"{what}: it remains in turn {state.turn}")
                due, remaining = set(state.due), set(state.remaining)
                demand(due <= remaining, f"{what}: {due} of {remaining} are due in turn {state.turn}")
        demand(rest.states[-1].result is not None, f"{what}: the game is not over after {len(rest.orders)} turns")


def notation(subject: Subject) -> None:
    """The canonical text means the same again, also after a way through the mail, and needs no correction."""
    judge = subject.judge
    for game in subject.played:
        for seat, text in enumerate(game.setups if judge.secret_setups else (), start=1):
            _check_text(subject, partial(judge.setup, game.options, seat), text, f"setup m1 game 1\n{_PLACE}")
    for game, number in subject.positions():
        state = game.states[number]
        for seat, text in game.orders[number].items():
            if state.due[seat] is None:
                judged = partial(judge.order, state, seat)
                head = f"orders m1 turn {number + 1}\n{_PLACE}final\n"
                _check_text(subject, judged, judged(text).text, head)


_PLACE: Final = "server a.example\nplayer ann\nrev 1\n"


def _check_text(subject: Subject, judged: Callable[[str], Setup | Orders], text: str, head: str) -> None:
    """Check a canonical text, alone and in the form of a letter."""
    demand(text == text.strip("\n"), f"the canonical text {text!r} begins or ends with a line end")
    try:
        found = parse(forms.checked(f"{head}{text}\nend\n")).commands[0].form.request
    except forms.Unfit as error:
        raise Nonconforming(f"the canonical text {text!r} comes through no mail: {error}") from error
    assert isinstance(found, SubmitOrders | SubmitSetup)
    likely = parts.meant(subject.judge, text)
    for said, what in ((text, "again"), (found.text, "through the mail"), (likely, "corrected")):
        try:
            means = judged(said).text
        except Refused as refused:
            raise Nonconforming(
                f"the canonical text {text!r} is, {what}, {said!r}, and refused: {refused}"
            ) from refused
        demand(means == text, f"the canonical text {text!r} is, {what}, {said!r}, and means {means!r}")


def plain(subject: Subject) -> None:
    """Reports and views are JSON that any language reads: not deep, not large, whole numbers."""
    for game in subject.played:
        for reader in readers(len(game.setups)):
            told_so_far: list[Sequence[Report]] = []
            for number, reports in enumerate(game.reports):
                told_so_far.append(shown(subject.judge, reports, reader))
                view = parts.view(subject.judge, game.states[number + 1], reader, told_so_far)
                offers = list(parts.offers(subject.judge, view)) if reader and view.get("entitled") else []
                for what, value in (("reports", list(reports)), ("the view", view), ("the offers", offers)):
                    _check_plain(f"{what} of turn {number + 1}", value)
                lines = all(isinstance(offer, str) and offer.isprintable() for offer in offers)
                demand(lines, f"`offers` of turn {number + 1} are not lines of text: {offers}")


def _check_plain(what: str, value: object) -> None:
    try:
        content = canonical(value)
    except (TypeError, ValueError) as error:
        raise Nonconforming(f"{what} is not JSON: {error}") from error
    demand(json.loads(content) == value, f"{what} changes on its way through JSON: {str(value)[:200]}")
    demand(len(content) <= _OCTETS, f"{what} has {len(content)} octets, and may have {_OCTETS}")
    demand(depth(content) <= DEPTH, f"{what} is nested deeper than {DEPTH}")
    demand(all(abs(number) < _LARGEST for number in _numbers(value)), f"{what} has a number beyond 2^53")


def _numbers(value: object) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)


def again(subject: Subject) -> None:
    """Another process, which puts sets into another order, finds the same reports and views."""
    records = [record_of(game, subject.judge.editions[-1]) for game in subject.played]
    here = [whole_hash(record) for record in records]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-m", "pbem.testing.again", subject.name],
        input=json.dumps([write(record) for record in records]),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    demand(done.returncode == 0, f"another process cannot replay it: {done.stderr[-500:]}")
    same = [one == other for one, other in zip(here, json.loads(done.stdout), strict=True)]
    demand(all(same), f"in {same.count(False)} of {len(same)} games, another process finds other reports or views")


def editions(subject: Subject) -> None:
    """The rules of an edition never change: its records give the reports that they gave when they were written."""
    for edition in subject.judge.editions:
        paths = sorted((subject.records / f"edition-{edition}").glob("*.pbem.toml"))
        demand(paths, f"edition {edition} has no records: pbem check-game {subject.name} --write")
        for path in paths:
            record = read(path.read_text("utf-8"))
            demand(record.rules == edition, f"{path.name} is of edition {record.rules}, and lies with {edition}")
            said = f"edition {edition} has changed: {path.name} gives other reports or another result"
            demand((record.extra or {}).get("reports") == reports_hash(record), said)


def write_records(subject: Subject) -> list[Path]:
    """Write records of the editions that have none, and return their paths. Those that there are stay as they are."""
    written = []
    for edition in subject.judge.editions:
        folder = subject.records / f"edition-{edition}"
        if any(folder.glob("*.pbem.toml")):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for case in range(len(subject.players.beginnings)):
            record = record_of(subject.play(case, 0, _RECORDED), edition)
            record = record._replace(extra={"reports": reports_hash(record)})
            path = folder / f"{case + 1}.pbem.toml"
            path.write_text(write(record), "utf-8")
            written.append(path)
    return written


def mail(subject: Subject) -> None:
    """A match is played by mail, with all letters that a game has words for, and its bundle is verified."""
    try:
        from pbem.testing.by_mail import play_by_mail
    except ModuleNotFoundError as missing:
        raise Nonconforming(f"a match by mail needs {missing.name}: install pbem[server]") from missing
    play_by_mail(subject)


CHECKS: Final[Mapping[str, Callable[[Subject], None]]] = {
    check.__name__: check
    for check in (
        *(pure, pinned, options, texts, ahead, turns, chance, ends, without, notation, told, secret, recalled, plain),
        *(again, editions, mail),
    )
}
"""The checks by name, the quickest first; each raises `Nonconforming`."""
