"""Mutation testing: would a test notice if the code were a little wrong?

mutmut makes the mutants, small errors each; here lives how they are tried cheaply. All tests are collected once. Then
a process is forked for each mutant, the code of the one function is exchanged in it, and the tests that reach the
changed lines run, quickest first, until one fails. What tests reach, and how long they take, coverage.py measures
once. What survived can be tried again, by all tests that reach its module: one test reaches a line for another now
and then, as what it made is kept.

No mutants are made of annotations, casts, docstrings, decorators and decorated functions (by mutmut), nor of what
compiles to the same byte code, and none of what runs once, when a module is imported: tables, and the fields of
classes. The letters of words for people are left alone, too.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import hashlib
import importlib
import io
import json
import math
import os
import random
import resource
import runpy
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import coverage
import libcst
import pytest
from libcst.matchers import Call, Name, findall
from libcst.metadata import MetadataWrapper, PositionProvider
from mutation.rooms import ROOMS
from mutmut.mutation.file_mutation import create_mutations, deep_replace

import simulation.runs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from libcst import FunctionDef, Module
    from mutmut.mutation.file_mutation import Mutation

ROOT = Path(__file__).parents[2]
OPTIONS = ("-s", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist")
FOLDER = ROOT / ".mutation"
PROGRAMS = {Path(sys.executable).name, "pbem"}
QUICKEST, QUICK = 5, 0.3
"""How many tests of each file come first, before all others; and those of a module itself that take no longer."""
WAITS = 20  # seconds that a test may wait for what a mutant never does

KILLED, SURVIVED, NOT_REACHED = OUTCOMES = "killed", "survived", "not reached"
THE_SAME, AT_IMPORT = "the same", "at import"
"""What is no mutant: its byte code is the same, or only what runs once, at import, comes by."""


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


class Source:
    """A module that is mutated: its text, and all mutants of its functions, in the order of the text."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path.relative_to(ROOT))
        self.text = path.read_text("utf-8")
        module, mutations, *_ = create_mutations(self.name, self.text)
        self._module: Module = module
        casts = [node for node in findall(module, Call(func=Name("cast"))) if isinstance(node, libcst.Call)]
        self._types = {id(node) for cast in casts for node in (cast, cast.args[0].value)}
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._positions = wrapper.resolve(PositionProvider)
        self.mutations = [found for found in mutations if self._is_in_a_body(found)]

    def _is_in_a_body(self, mutation: Mutation) -> bool:
        function = mutation.contained_by_top_level_function
        if function is None or type(function).__name__ != "FunctionDef" or mutation.original_node is function:
            return False
        if _is_a_sentence(mutation.original_node) or id(mutation.original_node) in self._types:
            return False
        return bool(self.lines(mutation)[0] >= self._positions[function.body].start.line)

    def lines(self, mutation: Mutation) -> tuple[int, int]:
        """The first and the last line of what is changed."""
        position = self._positions[mutation.original_node]
        return position.start.line, position.end.line

    def function(self, mutation: Mutation) -> tuple[str, int, int]:
        """The name of the function or method that is changed, its first line and its last."""
        function: FunctionDef | None = mutation.contained_by_top_level_function
        assert function is not None
        first = function.decorators[0] if function.decorators else function
        return function.name.value, self._positions[first].start.line, self._positions[function].end.line

    def mutated(self, mutation: Mutation) -> str:
        changed = deep_replace(self._module, mutation.original_node, mutation.mutated_node)
        return str(changed.code)

    def difference(self, mutated: str) -> str:
        """The lines that a mutant removes, and those in their place."""
        lines = difflib.unified_diff(self.text.splitlines(), mutated.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _is_a_sentence(node: object) -> bool:
    """Words for people, whose letters say nothing of what the code does; the catalogues' test reads them."""
    return isinstance(node, libcst.SimpleString) and " " in node.value.strip("\"' ")


@dataclass(frozen=True)
class Mutant:
    """One change of one module, by its number there."""

    source: Source
    number: int

    @property
    def name(self) -> str:
        return f"{self.source.name}:{self.number}"

    @property
    def mutation(self) -> Mutation:
        return self.source.mutations[self.number]


class Reach:
    """The lines that each test reaches, and its duration: measured once for all rooms, kept in a file.

    Measured again are tests whose file has changed, and those that reached a module that has changed, as soon as they
    are collected for a room. A fixture that several tests share is made in the first of them alone; so it has a
    context of its own, and all tests that use it reach what it reaches.
    """

    def __init__(self, items: Sequence[pytest.Item], sources: Sequence[Path]) -> None:
        self._kept, self._database = FOLDER / "reach.json", FOLDER / "coverage"
        files = {item.path for item in items}
        now = {str(path.relative_to(ROOT)): _hash(path.read_bytes()) for path in (*sources, *files)}
        kept = json.loads(self._kept.read_text("utf-8")) if self._kept.exists() else {"files": {}}
        before: dict[str, str] = kept["files"]
        if not {str(path.relative_to(ROOT)) for path in sources} <= before.keys():
            kept = {"seconds": {}, "shared": {}, "failed": [], "starts": [], "stale": []}
            self._database.unlink(missing_ok=True)
        changed = {ROOT / name for name in now if before.get(name) != now[name]}
        stale = {*kept["stale"], *self._who_reached(changed.intersection(sources))}
        missing = [
            item
            for item in items
            if item.nodeid not in kept["seconds"]
            or item.path in changed
            or not stale.isdisjoint({item.nodeid, *_shared_fixtures(item)})
        ]
        again = {item.nodeid for item in missing}
        self.seconds: dict[str, float] = kept["seconds"]
        self.shared: dict[str, float] = kept["shared"]
        self.failed: list[str] = [test for test in kept["failed"] if test not in again]
        self.starts: list[str] = [test for test in kept["starts"] if test not in again]
        if missing:
            _say(f"measuring what {len(missing)} of {len(items)} tests reach")
            _in_a_child(lambda: self._measure(missing, sources, changed))
            measured = json.loads((FOLDER / "measured.json").read_text("utf-8"))
            self.seconds |= measured["seconds"]
            self.shared |= measured["shared"]
            self.failed += measured["failed"]
            self.starts += measured["starts"]
            stale -= measured["seconds"].keys() | measured["shared"].keys()
            kept |= {"seconds": self.seconds, "shared": self.shared, "failed": self.failed, "starts": self.starts}
            kept |= {"files": before | now, "stale": sorted(stale)}
            self._kept.write_text(json.dumps(kept), "utf-8")
        if self.failed:
            _say(f"left out, as they fail without any mutant: {' '.join(self.failed)}")
        started = {item.nodeid for item in items if {item.nodeid, *_shared_fixtures(item)} & {*self.starts}}
        _say(f"left out, as they start processes, which have no mutant: {len(started)} of {len(items)} tests")
        self.usable = [item for item in items if item.nodeid not in started.union(self.failed)]
        self._data = coverage.CoverageData(str(self._database))
        self._data.read()
        self._users: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in self.usable:
            for context in (item.nodeid, *_shared_fixtures(item)):
                self._users[context].append(item)
        self._lines: dict[str, dict[int, list[str]]] = {}

    def _who_reached(self, modules: set[Path]) -> set[str]:
        """The tests and shared fixtures that reached any of the modules."""
        if not self._database.exists():
            return set()
        data = coverage.CoverageData(str(self._database))
        data.read()
        lines = [line for path in modules for line in data.contexts_by_lineno(str(path)).values()]
        return {context for contexts in lines for context in contexts}

    def _measure(self, items: Sequence[pytest.Item], sources: Sequence[Path], changed: set[Path]) -> None:
        seconds: dict[str, float] = {}
        failed: list[str] = []
        measured = coverage.Coverage(
            data_file=str(FOLDER / "coverage-new"),
            config_file=False,
            branch=False,
            concurrency=["thread", "greenlet"],
            include=[str(ROOT / "pbem" / room / "*") for room in ROOMS],
        )
        watcher = _Watcher(measured, failed)
        items[0].config.pluginmanager.register(watcher)
        measured.start()
        for at, item in enumerate(items):
            started, watcher.spent, watcher.context = _processor_time(), 0.0, item.nodeid
            measured.switch_context(item.nodeid)
            following = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = round(_processor_time() - started - watcher.spent, 4)
        measured.switch_context(AT_IMPORT)
        for path in sources:
            runpy.run_path(str(path), run_name="once more")
        measured.stop()
        measured.save()
        total = coverage.CoverageData(str(self._database))
        if self._database.exists():
            total.read()
            total.purge_files([str(path) for path in changed])
        total.update(measured.get_data())
        total.write()
        (FOLDER / "measured.json").write_text(
            json.dumps(
                {"seconds": seconds, "shared": watcher.shared, "failed": failed, "starts": sorted(watcher.starts)}
            ),
            "utf-8",
        )

    def tests(self, path: Path, from_: int, to: int) -> list[pytest.Item]:
        """The tests that reach any of the lines, in the order in which they are worth a try.

        First those of the module itself, or of its package; then the quickest of each file, those of the room first;
        then the others.
        """
        contexts = self.contexts(path, from_, to)
        found = {item.nodeid: item for context in contexts for item in self._users.get(context, ())}
        by_file: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in sorted(found.values(), key=lambda item: (self.seconds[item.nodeid], item.nodeid)):
            by_file[item.nodeid.partition("::")[0]].append(item)
        inner = path.relative_to(ROOT / "pbem")
        of_package = inner.parent.with_name(f"test_{inner.parent.name}.py")
        own = [f"tests/{file}" for file in (inner.with_name(f"test_{path.name}"), of_package)]
        room = f"tests/{inner.parts[0]}/"
        first = [item for file in own for item in by_file.get(file, ()) if self.seconds[item.nodeid] < QUICK]
        by_file |= {file: [item for item in by_file.get(file, ()) if item not in first] for file in own}
        others = [tests for tests in by_file.values() if tests]
        others.sort(key=lambda tests: (not tests[0].nodeid.startswith(room), self._price(tests)))
        return [
            *first,
            *(item for tests in others for item in tests[:QUICKEST]),
            *(item for tests in others for item in tests[QUICKEST:]),
        ]

    def contexts(self, path: Path, first: int, last: int) -> set[str]:
        """All that reaches any of the lines: tests, shared fixtures, `AT_IMPORT`."""
        name = str(path)
        if name not in self._lines:
            self._lines[name] = self._data.contexts_by_lineno(name)
        return {context for line in range(first, last + 1) for context in self._lines[name].get(line, ())}

    def _price(self, tests: Sequence[pytest.Item]) -> float:
        """The cost of a first answer from a file: a test, and its shared fixtures."""
        shared = {context for item in tests[:QUICKEST] for context in _shared_fixtures(item)}
        some = sum(self.seconds[item.nodeid] for item in tests) / len(tests)
        return some + sum(self.shared.get(context, 0.0) for context in shared)


def _shared_fixtures(item: pytest.Item) -> Iterator[str]:
    for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009
        yield from (_context(definition) for definition in definitions if definition.scope != "function")


def _context(definition: pytest.FixtureDef[object]) -> str:
    return f"fixture {definition.baseid}::{definition.argname}"


class _Watcher:
    """Gives shared fixtures a context of their own, keeps their time; notes what fails or starts processes."""

    def __init__(self, measured: coverage.Coverage, failed: list[str]) -> None:
        self._measured, self._failed = measured, failed
        self.context, self.spent = "", 0.0
        self.shared: dict[str, float] = {}
        self.starts: set[str] = set()
        sys.addaudithook(self._heard)
        start = BaseProcess.start

        def noted(process: BaseProcess) -> None:
            self.starts.add(self.context)
            start(process)

        BaseProcess.start = noted  # type: ignore[assignment, method-assign]

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        """A program of another language may run: no mutant is expected there."""
        if event == "subprocess.Popen" and {Path(str(word)).name for word in details[1][:1]} & PROGRAMS:
            self.starts.add(self.context)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before, spent, started = self.context, self.spent, _processor_time()
        self.context = _context(fixturedef)
        self._measured.switch_context(self.context)
        try:
            return (yield)
        finally:
            took = _processor_time() - started
            self.shared[self.context] = round(took, 4)
            self.context, self.spent = before, spent + took
            self._measured.switch_context(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self._failed:
            self._failed.append(report.nodeid)


def _processor_time() -> float:
    return sum(os.times()[:4])


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
                    _say(f"{passed}: {mutant.name} {verdict.outcome}")
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
            _say(f"left out, as it fails in a fork without any mutant: {by}")
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
                _silence()
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


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _in_a_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        try:
            _silence()
            work()
            os._exit(0)
        except BaseException as error:
            (FOLDER / "error.txt").write_text(repr(error), "utf-8")
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"could not measure: {(FOLDER / 'error.txt').read_text('utf-8')}")


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


def modules(room: str) -> list[Path]:
    return sorted(path for path in (ROOT / "pbem" / room).rglob("*.py") if path.name != "view.py")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's interval, 95 %, of a share."""
    z, share = 1.96, killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
    return middle - half, middle + half


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    paths = [ROOT / name for name in arguments.files] or [p for room in arguments.room for p in modules(room)]
    if arguments.again:
        return list(_survivors(paths))
    mutants = [Mutant(source, number) for source in map(Source, paths) for number in range(len(source.mutations))]
    _say(f"{len(mutants)} mutants of {len(paths)} modules")
    if arguments.sample and arguments.sample < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    return sorted(mutants, key=lambda mutant: (mutant.source.name, mutant.number))


def _survivors(paths: Sequence[Path]) -> Iterator[Mutant]:
    """The mutants that survived their last trial, if they can still be made."""
    latest: dict[tuple[str, str], Verdict] = {}
    for written in (FOLDER / "verdicts.jsonl").read_text("utf-8").splitlines():
        verdict = Verdict(**json.loads(written))
        latest[verdict.path, verdict.diff] = verdict
    left = [verdict for verdict in latest.values() if verdict.outcome in {SURVIVED, NOT_REACHED}]
    for path in paths:
        diffs = {verdict.diff for verdict in left if ROOT / verdict.path == path}
        if not diffs:
            continue
        gone = {line for diff in diffs for line in diff.split("\n") if line.startswith("-")}
        source = Source(path)
        lines = source.text.splitlines()
        for number, mutation in enumerate(source.mutations):
            first, last = source.lines(mutation)
            touched = any(f"-{line}" in gone for line in lines[first - 1 : last])
            if touched and source.difference(source.mutated(mutation)) in diffs:
                yield Mutant(source, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="modules; otherwise those of a room")
    parser.add_argument("--room", choices=ROOMS, nargs="*", default=[*ROOMS])
    parser.add_argument("--sample", type=int, default=0, help="as many mutants, by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="what survived, by all tests that reach its module")
    parser.add_argument("--patience", type=float, default=30, help="seconds of tests for one mutant")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    os.chdir(ROOT)
    verdicts = FOLDER / "verdicts.jsonl"
    before = verdicts.stat().st_size if verdicts.exists() else 0
    trial = Trial(chosen(arguments), arguments.patience, whole=arguments.again)
    rooms = {Path(name).parts[1] for name in arguments.files} or {*arguments.room}
    folders = sorted({tests for room in rooms for tests in ROOMS[room]})
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="tests-") as scratch:
        options = [*OPTIONS, f"--basetemp={scratch}/tests", "-m", "not long and not browser"]
        pytest.main([*options, *folders], plugins=[trial])
    with verdicts.open("rb") as file:
        file.seek(before)
        report([Verdict(**json.loads(line)) for line in file])


def report(verdicts: Sequence[Verdict]) -> None:
    """The killed share of each room, and who survived."""
    for verdict in verdicts:
        if verdict.outcome in {SURVIVED, NOT_REACHED}:
            print(f"\n{verdict.mutant} {verdict.function}, line {verdict.line}: {verdict.outcome}")
            print(f"  {verdict.tests} of {verdict.reached} tests\n{verdict.diff}")
    print()
    for room in ROOMS:
        tried = [v for v in verdicts if v.path.startswith(f"pbem/{room}/") and v.outcome in OUTCOMES]
        if tried:
            killed = sum(v.outcome == KILLED for v in tried)
            low, high = interval(killed, len(tried))
            print(f"{room}: {killed} of {len(tried)} killed, {killed / len(tried):.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
