"""Material for all tests; `--corpora FOLDER` adds the odd mail of somebody else's collection.

With `--accused` each test of the desk asks at its end whether the letters that it sent accuse the server.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from data.material import EXAMPLES, ODD, SIGNED, mails
from hypothesis import settings
from in_a_box.referee import Referee
from in_a_box.stores import NEEDS_POSTGRESQL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

# No deadlines: tests are never timed. The same examples in each run, so that a green suite stays green.
settings.register_profile("pbem", deadline=None, derandomize=True)
settings.register_profile(
    "night", deadline=None, max_examples=int(os.environ.get("EXAMPLES", "1000")), print_blob=True
)
settings.load_profile("pbem")


MEMORY = Path("/dev/shm")
FOLDER = "pbem-run-"
ROOM = 4 << 30
"""Octets that must be free in memory; the tests' files take half as many at once."""


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A command that a test runs in this process configures logs, and would silence those of the tests after it."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--corpora", metavar="FOLDER", type=Path, help="odd mail to be tried beside our own")
    parser.addoption("--accused", action="store_true", help="hold the letters of the desk's tests against it")
    parser.addoption("--no-english", action="store_true", help="say the letters of the desk's tests in no English")


def _foreign(config: pytest.Config) -> list[Path]:
    folder = config.getoption("corpora")
    return [] if folder is None else mails(folder)


def files_in_memory(memory: Path, environment: MutableMapping[str, str]) -> Callable[[], None] | None:
    """Have the tests' files in memory, where a sync takes no time: kills take none, and power cuts are simulated.

    They are gone afterwards, unlike those in a TMPDIR that is set: what is returned removes them. Those of runs that
    were killed are removed here: nobody else gives that memory back.
    """
    if "TMPDIR" in environment or not memory.is_dir():
        return None
    for left in memory.glob(f"{FOLDER}*"):
        with suppress(OSError):
            if left.stat().st_uid == os.getuid():
                os.close(_held(left))
                shutil.rmtree(left, ignore_errors=True)
    if min(shutil.disk_usage(memory).free, _available()) < ROOM:
        return None
    with suppress(OSError):
        folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=memory))
        folder.chmod(0o755)  # tests become other users
        held = _held(folder)  # until this process ends, however that is
        environment["TMPDIR"] = str(folder)

        def remove() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)

        return remove
    return None


def _held(folder: Path) -> int:
    """A file that marks the folder as in use; raises OSError if it is."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _available() -> int:
    """The octets of memory that programs may still take: a file system in memory may be larger."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2].split()
    except OSError:
        told = []
    return int(told[0]) * 1024 if told else ROOM


def pytest_configure(config: pytest.Config) -> None:
    if remove := files_in_memory(MEMORY, os.environ):
        tempfile.tempdir = None  # to be asked for anew
        atexit.register(remove)  # multiprocessing has files there until this process ends
    gc.disable()  # until all is collected: what is imported is no garbage
    folder = config.getoption("corpora")
    if folder is not None and not _foreign(config):
        raise pytest.UsageError(f"no .eml and no .mbox below {folder}")


def pytest_collection_finish() -> None:
    """Freeze all that was imported and collected, so that the garbage collector does not walk through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was tried; a header would not be shown, because we are quiet."""
    missed = [
        report for report in terminalreporter.stats.get("skipped", []) if NEEDS_POSTGRESQL in str(report.longrepr)
    ]
    if missed:
        terminalreporter.section("LEFT OUT: the store in PostgreSQL", sep="!")
        terminalreporter.write_line(
            f"{len(missed)} tests of it, and all others of the store on it: make test-postgresql"
        )
    folder = config.getoption("corpora")
    if folder is not None:
        ours, signed, foreign = len(mails(ODD)), len(mails(SIGNED)), len(_foreign(config))
        terminalreporter.write_line(f"Odd mail: {ours} of our own, {signed} signed, {foreign} from {folder}.")


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    found = Referee(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="session")
def odd_mail(pytestconfig: pytest.Config) -> list[Path]:
    """The files of odd mail: our own, and those of a collection that was named."""
    ours = mails(ODD)
    assert len(ours) > 100
    return ours + _foreign(pytestconfig)


@pytest.fixture(scope="session")
def odd_and_signed_mail(odd_mail: list[Path]) -> list[bytes]:
    """Odd mail and signed mail, with the line ends that SMTP knows."""
    paths = odd_mail + mails(SIGNED)
    return [path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for path in paths]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `example` each worked example, of the games that its module names in GAMES."""
    if "example" in metafunc.fixturenames:
        folders = [EXAMPLES / game for game in metafunc.module.GAMES]
        found = [(path, folder.name) for folder in folders for path in _examples(folder)]
        names = [f"{game}/{path.name.removesuffix('.pbem.toml')}" for path, game in found]
        metafunc.parametrize("example", [path for path, _ in found], ids=names)


def _examples(folder: Path) -> list[Path]:
    """The records of a folder; where there are none, one that cannot be opened, so that its test fails."""
    return sorted(folder.glob("*.pbem.toml")) or [folder / "missing.pbem.toml"]
