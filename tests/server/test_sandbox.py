"""The reader in a process of its own: it reads as we would, and what it dies of harms one letter alone."""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import structlog
from data.material import KEYS, SIGNED, mails
from signing.domains import Domain, rsa_key

from pbem.config.limits import Limits
from pbem.config.values import Duration
from pbem.desk.reading import Findings, InProcess, LetterReader, Question, ReaderError
from pbem.identity import Key, parse_key
from pbem.server.sandbox import Worker
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from in_a_box.referee import Referee

    from pbem.mail.message import Letter

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
SMALL = b"From: anna@mail.example\r\nMessage-ID: <1@mail.example>\r\n\r\nhelp\r\n"
ROOMY = Limits(message_bytes=40_000_000, message_lines=1_000_000, reading_bytes=60_000_000)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with closing(Worker(Limits())) as worker:
        yield worker


def big(octets: int) -> bytes:
    return SMALL + (b"x" * 998 + b"\r\n") * (octets // 1000)


def pid(worker: Worker) -> int:
    worker.get_ready()
    assert worker._process is not None
    return worker._process.pid


def read(reader: LetterReader, raw: bytes) -> Letter | None:
    """A letter as a reader reads it; raises what the reader says went wrong with it."""
    (answer,) = reader.read([Question(raw, AT)])
    if isinstance(answer, ReaderError):
        raise answer
    return answer.letter


def sender(reader: LetterReader, raw: bytes) -> str | None:
    letter = read(reader, raw)
    assert letter is not None
    return letter.sender


def asked(raws: list[bytes], keys: list[Key] | None) -> list[Question]:
    return [Question(raw, AT, "play.example", keys) for raw in raws]


def letters(answers: list[Findings | ReaderError]) -> list[bytes | None]:
    """The letters that were read, and None for each that was not."""
    return [one.letter.raw if isinstance(one, Findings) and one.letter is not None else None for one in answers]


@pytest.mark.odd
def test_letters_are_read_and_judged_as_we_do(worker: Worker, odd_mail: list[Path]) -> None:
    raws = [path.read_bytes() for path in odd_mail + mails(SIGNED)]
    names = ("pgp-anna.pub.asc", "sm-p256.crt", "ssh-ed25519.pub")
    keys = [parse_key((KEYS / name).read_bytes()) for name in names]
    kinds = set()
    for start in range(0, len(raws), 8):
        answers = worker.read(asked(raws[start : start + 8], keys))
        assert answers == InProcess(Limits()).read(asked(raws[start : start + 8], keys))
        said = [one.understood for one in answers if isinstance(one, Findings)]
        kinds |= {one.judged.verdict.kind for one in said if one is not None}
    assert kinds >= {"none", "valid", "bad", "unknown key"}
    nobody: list[list[Key] | None] = [[], None]
    for offered in nobody:
        answers = worker.read(asked(raws[:8], offered))
        assert answers == InProcess(Limits()).read(asked(raws[:8], offered))
        assert all((one.understood is None) == (offered is None) for one in answers if isinstance(one, Findings))


def test_a_worker_vouches_as_we_do(worker: Worker) -> None:
    domain = Domain("mail.example", key=rsa_key(1024))
    told = b"Authentication-Results: mx.play.example; dkim=pass header.d=mail.example\r\n"
    told_by_the_dns: list[dict[str, str | None]] = [{domain.where: domain.record}, {domain.where: None}, {}]
    kinds = set()
    for raw in (SMALL, domain.craft(SMALL), told + domain.craft(SMALL), domain.craft(SMALL) + b"footer\r\n"):
        for records in told_by_the_dns:
            question = Question(raw, AT, "play.example", [], "mx.play.example", records)
            (answer,) = worker.read([question])
            assert InProcess(Limits()).read([question]) == [answer]
            assert isinstance(answer, Findings)
            assert answer.understood is not None
            voucher = answer.understood.voucher
            assert bool(voucher.wanted) == (domain.where.encode() not in raw and b"DKIM" in raw and not records)
            kinds.add((voucher.verdict.kind, bool(voucher.told)))
    assert kinds >= {("none", False), ("valid", False), ("unknown key", True), ("bad", False)}


def test_what_is_beyond_the_limits_is_refused_with_its_headers(worker: Worker) -> None:
    failed = b"X-Failed-Recipients: bob@mail.example\r\nSubject: Mail delivery failed\r\n"
    parts = b"Content-Type: multipart/mixed; boundary=b\r\n" + SMALL + b"--b\r\n\r\nx\r\n" * 60 + b"--b--\r\n"
    for raw, kind in ((parts, "unclear"), (failed + parts, "permanent")):
        (answer,) = worker.read([Question(raw, AT, "play.example", [], returned=True)])
        assert isinstance(answer, Findings)
        assert answer.beyond is not None
        assert "50 parts" in answer.beyond
        assert answer.understood is None
        assert answer.letter is not None
        assert answer.letter.sender == "anna@mail.example"
        assert answer.delivery_report is not None
        assert answer.delivery_report.kind == kind


def test_one_that_dies_over_a_letter_says_so_and_the_next_is_read(worker: Worker) -> None:
    before = pid(worker)
    os.kill(before, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (before, signal.SIGKILL)).start()
    with pytest.raises(ReaderError, match="died"):
        read(worker, SMALL)
    assert sender(worker, SMALL) == "anna@mail.example"


def test_a_deadline_ends_what_takes_too_long() -> None:
    with closing(Worker(Limits(reading=Duration(seconds=0.5)))) as worker:
        stuck = pid(worker)
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(ReaderError, match="took too long"):
            read(worker, SMALL)
        with pytest.raises(ProcessLookupError):
            os.kill(stuck, 0)
        assert sender(worker, SMALL) == "anna@mail.example"


def test_a_worker_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBEM_SECRET", "x")
    with closing(Worker(Limits())) as worker, Path("/dev/null").open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        folder = Path(f"/proc/{pid(worker)}")
        assert b"SECRET" not in (folder / "environ").read_bytes()
        assert sorted(int(entry.name) for entry in (folder / "fd").iterdir())[:3] == [0, 1, 2]
        assert len(list((folder / "fd").iterdir())) == 3
        limits = (folder / "limits").read_text()
        assert f"Max data size             {512 * 1024 * 1024}" in limits


def test_a_letter_that_kills_the_reader_three_times_is_set_aside_and_the_others_flow(referee: Referee) -> None:
    with closing(Worker(ROOMY)) as worker:
        referee.desk.reader = worker
        operator = referee.person("operator")
        referee.people["operator@play.example"] = operator
        bad = referee.inbox.put(Envelope("x@mail.example", ("pbem@play.example",)), big(10_000_000), referee.now)
        anna = referee.person("anna")
        referee.send(anna, "help\n", sign=False)
        assert "help" in anna.text
        assert referee.inbox.outcome(bad)[0] == "aside"
        assert referee.database.scalar("SELECT attempts FROM inbox WHERE id = ?", (bad,)) == 3
        assert str(operator.last["Subject"]) == "[pbem] A letter was set aside"


def test_a_reader_that_cannot_be_started_costs_no_letter_an_attempt(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Worker(Limits())) as worker:
        referee.desk.reader = worker
        killed = pid(worker)
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
        monkeypatch.setattr("sys.executable", "/nowhere/python")
        referee.inbox.put(Envelope("x@mail.example", ("pbem@play.example",)), SMALL, referee.now)
        for _ in range(5):
            with pytest.raises(ReaderError, match="cannot be started"):
                referee.running.handle_next(referee.now)
        monkeypatch.undo()
        assert referee.running.handle_next(referee.now)
        assert referee.inbox.count("done") == 1


def test_a_budget_of_work_ends_what_works_too_long() -> None:
    """Whatever the time: one that had to wait for its turn on a busy machine has spent nothing of it."""
    limits = msgspec.structs.replace(ROOMY, reading_processor=Duration(seconds=0.02))
    with closing(Worker(limits)) as worker:
        before = pid(worker)
        first, second = worker.read(asked([SMALL + b"help\r\n" * 900_000, SMALL], []))
        assert isinstance(first, ReaderError)
        assert isinstance(second, Findings)
        assert pid(worker) != before
        waits = pid(worker)
        os.kill(waits, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (waits, signal.SIGCONT)).start()
        assert sender(worker, SMALL) == "anna@mail.example"
        assert pid(worker) == waits


def test_a_letter_of_commands_alone_is_no_flood(worker: Worker) -> None:
    (answer,) = worker.read(asked([SMALL + b"list list list list list list list list\r\n" * 4900], []))
    assert isinstance(answer, Findings)
    assert answer.understood is not None
    assert len(answer.understood.reading.commands) == 200
    assert len(answer.understood.reading.ignored) == 4876, "each line of the rest"
