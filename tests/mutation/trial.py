"""The trial of a mutant: in a fork the code of one function is exchanged, and tests run until one fails."""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import resource
import signal
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import pytest
from mutation.reach import AT_IMPORT, FOLDER, Reach, say, silence
from mutation.rooms import ROOMS, ROOT, modules

import simulation.runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mutation.mutants import Mutant

WAITS = 20  # seconds that a test may wait for what a mutant never does

KILLED, SURVIVED, NOT_REACHED = OUTCOMES = "killed", "survived", "not reached"
THE_SAME = "the same"
"""The word for a mutant that is none: its byte code is the same."""


@dataclass(frozen=True)
class Verdict:
    """The result of a mutant: `by` is the test that failed; `tests` of `reached` ran, in `seconds` of our time."""

    mutant: str
    path: str
    line: int
    function: str
    diff: str
    outcome: str
    by: str = ""
    tests: int = 0
    reached: int = 0
    seconds: float = 0.0


class Trial:
    """Tries the mutants in forks of the process that collected all tests."""

    def __init__(self, chosen: Sequence[Mutant], patience: float, whole: bool) -> None:
        self._chosen, self._patience, self._whole = chosen, patience, whole
        self._forked = False
        self._noticed: Counter[tuple[str, str]] = Counter()
        self._trusted: set[str] = set()
        self._distrusted: set[str] = set()
        """Tests that fail in a fork without any mutant."""

    def pytest_collection(self) -> None:
        """Do not shrink failing examples: the first will do."""
        from hypothesis import Phase, settings  # noqa: PLC0415  only now: pytest rewrites its plug-in

        settings.register_profile("mutants", settings.default, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")
        simulation.runs.MEMORY = Path(tempfile.gettempdir())  # which is removed, whatever is killed in it

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        reach = Reach(session.items, [path for room in ROOMS for path in modules(room)])
        for name in {mutant.source.name for mutant in self._chosen}:
            # What is loaded only when it is needed, such as a command, has functions to be exchanged as well.
            importlib.import_module(".".join(Path(name).with_suffix("").parts).removesuffix(".__init__"))
        live = _live_functions()
        _warm_up(reach.usable, reach)
        gc.freeze()
        started = time.monotonic()
        with (FOLDER / "verdicts.jsonl").open("a", encoding="utf-8") as out:
            for at, mutant in enumerate(self._chosen, start=1):
                verdict = self._try(mutant, reach, live)
                out.write(json.dumps(asdict(verdict)) + "\n")
                out.flush()
                if verdict.outcome != KILLED or at % 50 == 0:
                    passed = f"{at}/{len(self._chosen)}, {time.monotonic() - started:.0f} s"
                    say(f"{passed}: {mutant.name} {verdict.outcome}")
        return True

    def _try(self, mutant: Mutant, reach: Reach, live: dict[tuple[str, str, int], list[FunctionType]]) -> Verdict:
        source, mutation = mutant.source, mutant.mutation
        line, _ = first, last = source.lines(mutation)
        function, *span = source.function(mutation)
        text = source.mutated(mutation)
        diff = source.difference(text)

        def verdict(outcome: str, by: str = "", tests: int = 0, reached: int = 0, seconds: float = 0.0) -> Verdict:
            return Verdict(mutant.name, source.name, line, function, diff, outcome, by, tests, reached, seconds)

        old = _code_of(compile(source.text, str(source.path), "exec", dont_inherit=True), function, *span)
        try:
            new = _code_of(compile(text, str(source.path), "exec", dont_inherit=True), function, *span)
        except SyntaxError:
            return verdict(THE_SAME)
        if _content(old) == _content(new):
            return verdict(THE_SAME)
        # Closures that were made before live on with their own code.
        exchanged = [
            (function, changed)
            for code, changed in zip(_with_inner(old), _with_inner(new), strict=False)
            if (code.co_name, code.co_freevars) == (changed.co_name, changed.co_freevars)
            for function in live.get((str(source.path), code.co_name, code.co_firstlineno), ())
        ]
        kept = [(function, function.__code__) for function, _ in exchanged]
        tests = reach.tests(source.path, first, last) if exchanged else []
        if not tests:
            at_import = AT_IMPORT in reach.contexts(source.path, first, last)
            return verdict(AT_IMPORT if at_import else NOT_REACHED)
        # Who noticed others here is asked first.
        tests.sort(key=lambda item: self._noticed[source.name, item.nodeid], reverse=True)
        if self._whole:
            near = {item.nodeid for item in tests}
            tests += [item for item in reach.tests(source.path, 1, len(source.text)) if item.nodeid not in near]
        started = time.monotonic()
        while True:
            few = self._few([item for item in tests if item.nodeid not in self._distrusted], reach)
            by = self._fork(exchanged, few, reach)
            if by in self._trusted.union({"", "at once"}):
                break
            blind = bool(self._fork(kept, [item for item in few if item.nodeid == by], reach))
            (self._distrusted if blind else self._trusted).add(by)
            if not blind:
                break
            say(f"left out, as it fails in a fork without any mutant: {by}")
        self._noticed[source.name, by] += 1
        seconds = round(time.monotonic() - started, 2)
        return verdict(KILLED if by else SURVIVED, by, len(few), len(tests), seconds)

    def _few(self, tests: Sequence[pytest.Item], reach: Reach) -> Sequence[pytest.Item]:
        """The first tests, as many as our patience allows."""
        spent, enough = 0.0, 0
        while enough < len(tests) and spent < self._patience:
            spent += reach.seconds[tests[enough].nodeid]
            enough += 1
        return tests[:enough]

    def _fork(
        self, exchanged: Sequence[tuple[FunctionType, CodeType]], tests: Sequence[pytest.Item], reach: Reach
    ) -> str:
        """The test that noticed, or nothing."""
        running = FOLDER / f"running-{os.getpid()}"
        running.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._forked = True
            try:
                os.setsid()
                silence()
                resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
                for function, code in exchanged:
                    function.__code__ = code
                for at, item in enumerate(tests):
                    running.write_text(item.nodeid, "utf-8")
                    signal.setitimer(signal.ITIMER_PROF, 3 + 20 * reach.seconds[item.nodeid])
                    signal.setitimer(signal.ITIMER_REAL, WAITS + 20 * reach.seconds[item.nodeid])
                    following = tests[at + 1] if at + 1 < len(tests) else None
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                os._exit(0)
            except BaseException:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        return (running.read_text("utf-8") if running.exists() else "at once") if status else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._forked:
            os._exit(1)


def _warm_up(items: Sequence[pytest.Item], reach: Reach) -> None:
    """Run a test of each folder, so that not each fork loads libraries and compiles templates anew.

    What the rooms' own code made on the way is forgotten again: a mutant would not make the same.
    """
    from in_a_box.referee import Openings  # noqa: PLC0415  only now: pytest rewrites its plug-ins

    by_folder: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: reach.seconds[item.nodeid]):
        by_folder[item.nodeid.rpartition("/")[0]].append(item)
    for found in by_folder.values():
        item = found[len(found) // 2]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    rooms = tuple(str(ROOT / "pbem" / room) for room in ROOMS)
    for thing in gc.get_objects():
        if isinstance(thing, Openings):
            thing.forget()
        elif type(thing).__name__ == "_lru_cache_wrapper" and isinstance(thing.__wrapped__, FunctionType):
            code = thing.__wrapped__.__code__
            if code.co_filename.startswith(rooms) or (
                code.co_filename.startswith(str(ROOT / "tests")) and code.co_name != "_templates"
            ):
                thing.cache_clear()


def _code_of(code: CodeType, name: str, first: int, last: int) -> CodeType:
    """The code of the outermost function of that name, which begins in those lines."""
    found = next(_codes(code, name, first, last))
    assert found.co_name == name
    return found


def _codes(code: CodeType, name: str, first: int, last: int) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name and first <= constant.co_firstlineno <= last:
                yield constant
            yield from _codes(constant, name, first, last)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of all named functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.startswith("<"):
            yield from _with_inner(constant)


def _content(code: CodeType) -> tuple[object, ...]:
    constants = tuple(_content(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants


def _live_functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    gc.unfreeze()
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            code = thing.__code__
            found[code.co_filename, code.co_name, code.co_firstlineno].append(thing)
    return found
