"""The reach of each test: the lines that it runs, and its duration. coverage.py measures both once."""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import sys
from collections import defaultdict
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage
import pytest
from mutation.rooms import ROOMS, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence


FOLDER = ROOT / ".mutation"
PROGRAMS = {Path(sys.executable).name, "pbem"}
QUICKEST, QUICK = 5, 0.3
"""The tests of each file that come before all others, a number; and the most seconds of a module's own."""
AT_IMPORT = "at import"
"""The word for a mutant that no test tries: only what runs once, at import, comes by."""


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
            or not stale.isdisjoint({item.nodeid, *shared_fixtures(item)})
        ]
        again = {item.nodeid for item in missing}
        self.seconds: dict[str, float] = kept["seconds"]
        self.shared: dict[str, float] = kept["shared"]
        self.failed: list[str] = [test for test in kept["failed"] if test not in again]
        self.starts: list[str] = [test for test in kept["starts"] if test not in again]
        if missing:
            say(f"measuring what {len(missing)} of {len(items)} tests reach")
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
            say(f"left out, as they fail without any mutant: {' '.join(self.failed)}")
        started = {item.nodeid for item in items if {item.nodeid, *shared_fixtures(item)} & {*self.starts}}
        say(f"left out, as they start processes, which have no mutant: {len(started)} of {len(items)} tests")
        self.usable = [item for item in items if item.nodeid not in started.union(self.failed)]
        self._data = coverage.CoverageData(str(self._database))
        self._data.read()
        self._users: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in self.usable:
            for context in (item.nodeid, *shared_fixtures(item)):
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
        shared = {context for item in tests[:QUICKEST] for context in shared_fixtures(item)}
        some = sum(self.seconds[item.nodeid] for item in tests) / len(tests)
        return some + sum(self.shared.get(context, 0.0) for context in shared)


def shared_fixtures(item: pytest.Item) -> Iterator[str]:
    for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009 - it is private to pytest
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


def silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _in_a_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        try:
            silence()
            work()
            os._exit(0)
        except BaseException as error:
            (FOLDER / "error.txt").write_text(repr(error), "utf-8")
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"could not measure: {(FOLDER / 'error.txt').read_text('utf-8')}")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
