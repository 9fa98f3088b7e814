"""The reader in a process of its own: it reads as we would, and what it dies of harms one letter alone."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import structlog
from domains import Domain, rsa_key
from material import KEYS, ODD, SIGNED, mails
from referee import Referee

from pbem.config.limits import Limits
from pbem.config.values import Duration
from pbem.desk.reading import Asked, Found, InProcess, Reader, ReaderError
from pbem.desk.wiring import Desk
from pbem.identity import BadKey, Key, parse_key
from pbem.mail.compose import Composer
from pbem.mail.message import Letter, Unreadable
from pbem.server.sandbox import Worker
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.store.inbox import InboxRow

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


def outcome(reader: Reader, raw: bytes) -> Letter | tuple[str, Letter | None]:
    try:
        return reader.read(raw)
    except Unreadable as error:
        return error.reason, error.letter


def parsed(reader: Reader, data: str | bytes) -> Key | str:
    try:
        return reader.parse_key(data)
    except BadKey as error:
        return str(error)


@pytest.mark.odd
def test_a_worker_reads_and_judges_as_we_do(worker: Worker, odd_mail: list[Path]) -> None:
    ours = InProcess(Limits())
    letters = odd_mail + mails(SIGNED)
    keys = [
        parse_key((KEYS / name).read_bytes())
        for name in ("pgp-anna.pub.asc", "sm-p256.crt", "ssh-ed25519.pub", "minisign.pub")
    ]
    kinds = set()
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for path in letters:
        raw = path.read_bytes()
        read = outcome(ours, raw)
        assert outcome(worker, raw) == read, path
        if isinstance(read, Letter):
            understood = ours.understand(read, keys, "play.example", at)
            assert worker.bounce(read) == ours.bounce(read), path
            assert worker.understand(read, keys, "play.example", at) == understood, path
            assert worker.vouch(read, {}, "play.example", at) == ours.vouch(read, {}, "play.example", at), path
            kinds.add(understood.heard.verdict.kind)
    assert kinds >= {"none", "valid", "bad", "unknown key"}


def asked(raws: list[bytes], keys: list[Key] | None) -> list[Asked]:
    return [Asked(raw, keys, datetime(2026, 3, 1, 12, tzinfo=UTC)) for raw in raws]


def plain(found: Found) -> object:
    letter = found.letter
    return (letter.reason, letter.letter) if isinstance(letter, Unreadable) else (letter, found.understood)


def test_letters_asked_together_are_read_and_judged_as_we_do(worker: Worker) -> None:
    letters = [path.read_bytes() for path in mails(SIGNED) + mails(ODD)[:40]]
    keys = [parse_key((KEYS / "ssh-ed25519.pub").read_bytes())]
    ours = InProcess(Limits())
    for offered in (keys, [], None):
        for reader in (ours, worker):
            reader.ask(asked(letters, offered), "play.example")
        found = worker.found()
        assert [plain(one) for one in found] == [plain(one) for one in ours.found()]
        assert all(one.understood is None for one in found) == (offered is None)
    assert worker.found() == []


def test_what_is_asked_by_the_way_disturbs_nothing(worker: Worker) -> None:
    raws = [SMALL, SMALL + b"2\r\n", SMALL + b"3\r\n"]
    worker.ask(asked(raws, None), "play.example")
    assert worker.read(SMALL + b"other\r\n").raw == SMALL + b"other\r\n"
    assert [isinstance(one.letter, Letter) and one.letter.raw for one in worker.found()] == raws
    worker.ask(asked(raws, None), "play.example")
    worker.ask(asked(raws[:1], None), "play.example")
    assert len(worker.found()) == 1


def test_who_asks_by_the_way_waits_for_no_other_letter() -> None:
    """The desk asks so in its transaction: whatever strangers' letters are read meanwhile must not hold that up."""
    with closing(Worker(Limits())) as worker:
        stuck = pid(worker)
        os.kill(stuck, signal.SIGSTOP)
        worker.ask(asked([SMALL, SMALL + b"2\r\n"], None), "play.example")
        assert worker.read(SMALL + b"other\r\n").sender == "anna@mail.example"
        os.kill(stuck, signal.SIGCONT)
        assert [isinstance(one.letter, Letter) for one in worker.found()] == [True, True]
        assert pid(worker) == stuck


def test_a_letter_that_ends_the_worker_takes_no_other_down_with_it() -> None:
    with closing(Worker(ROOMY)) as worker:
        worker.ask(asked([SMALL, big(10_000_000), SMALL + b"3\r\n"], None), "play.example")
        first, second, third = worker.found()
        assert isinstance(second.letter, ReaderError)
        assert isinstance(first.letter, Letter)
        assert isinstance(third.letter, Letter)


def test_a_worker_vouches_as_we_do(worker: Worker) -> None:
    ours, domain = InProcess(Limits()), Domain("mail.example", key=rsa_key(1024))
    told = b"Authentication-Results: mx.play.example; dkim=pass header.d=mail.example\r\n"
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for raw in (SMALL, domain.craft(SMALL), told + domain.craft(SMALL), domain.craft(SMALL) + b"footer\r\n"):
        for records in ({domain.where: domain.record}, {domain.where: None}, {}):
            theirs = worker.vouch(worker.read(raw), records, "mx.play.example", at)
            assert theirs == ours.vouch(ours.read(raw), records, "mx.play.example", at)


def test_keys_are_read_and_refused_alike(worker: Worker) -> None:
    for path in KEYS.glob("*"):
        for data in (path.read_bytes(), path.read_bytes().decode("utf-8", "replace")):
            assert parsed(worker, data) == parsed(InProcess(Limits()), data), path


def test_what_is_beyond_the_limits_is_refused_with_its_headers(worker: Worker) -> None:
    parts = b"Content-Type: multipart/mixed; boundary=b\r\n" + SMALL + b"--b\r\n\r\nx\r\n" * 60 + b"--b--\r\n"
    with pytest.raises(Unreadable, match="50 parts") as caught:
        worker.read(parts)
    assert caught.value.letter is not None
    assert caught.value.letter.sender == "anna@mail.example"
    assert worker.bounce(caught.value.letter).kind == "unclear"


def test_bounces_are_read_alike(worker: Worker) -> None:
    failed = b"X-Failed-Recipients: bob@mail.example\r\nSubject: Mail delivery failed\r\n"
    many = b"Content-Type: multipart/mixed; boundary=b\r\n" + failed + SMALL + b"--b\r\n\r\nx\r\n" * 60 + b"--b--\r\n"
    with pytest.raises(Unreadable) as caught:
        worker.read(many)
    for letter in (worker.read(failed + b"\r\nsorry\r\n"), worker.read(SMALL), caught.value.letter):
        assert letter is not None
        assert worker.bounce(letter) == InProcess(Limits()).bounce(letter)
    assert worker.bounce(worker.read(failed + b"\r\nsorry\r\n")).kind == "permanent"


def test_a_worker_that_died_is_followed_by_another(worker: Worker) -> None:
    for _ in range(2):
        before = pid(worker)
        os.kill(before, signal.SIGKILL)
        os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
        assert worker.read(SMALL).sender == "anna@mail.example"
        assert pid(worker) != before


def test_one_that_dies_over_a_letter_says_so_and_the_next_is_read(worker: Worker) -> None:
    before = pid(worker)
    os.kill(before, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (before, signal.SIGKILL)).start()
    with pytest.raises(ReaderError, match="died"):
        worker.read(SMALL)
    assert worker.read(SMALL).sender == "anna@mail.example"


def test_a_deadline_ends_what_takes_too_long() -> None:
    with closing(Worker(Limits(reading=Duration(seconds=0.5)))) as worker:
        stuck = pid(worker)
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(ReaderError, match="took too long"):
            worker.read(SMALL)
        with pytest.raises(ProcessLookupError):
            os.kill(stuck, 0)
        assert worker.read(SMALL).sender == "anna@mail.example"


def test_memory_is_limited() -> None:
    with closing(Worker(ROOMY)) as worker:
        assert len(worker.read(big(1_000_000)).raw) > 999_000
        with pytest.raises(ReaderError, match="died"):
            worker.read(big(10_000_000))
        assert worker.read(SMALL).sender == "anna@mail.example"


def test_an_orphan_ends_by_itself() -> None:
    worker = Worker(Limits())
    orphan = pid(worker)
    assert worker._socket is not None
    assert worker._process is not None
    worker._socket.close()
    assert worker._process.wait(20) == 0
    assert orphan != pid(worker)
    worker.close()


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


def test_a_worker_loads_no_more_than_it_reads_with() -> None:
    code = "import sys, pbem.server.sandbox; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    )
    assert {name for name in loaded if name.startswith("pbem.desk")} == {"pbem.desk", "pbem.desk.reading"}
    rooms = {"boards", "letters", "pages", "smtp", "store"}
    assert not loaded & ({f"pbem.{room}" for room in rooms} | {"jinja2", "PIL", "sqlite3"})
    # What few letters need is loaded by those.
    assert not loaded & {"asn1crypto", "cryptography.x509", "dkim", "dns", "flufl.bounce", "pysequoia"}


def test_a_letter_that_kills_the_reader_is_set_aside_and_the_others_flow(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    with closing(Worker(ROOMY)) as worker, closing(referee):
        composer = Composer("play.example", "pbem", referee.templates)
        referee.desk = Desk(
            referee.config, referee.database, referee.vault, referee.signing_key, composer, referee.die, worker
        )
        operator = referee.person("operator")
        referee.people["operator@play.example"] = operator
        bad = referee.inbox.put(Envelope("x@mail.example", ("pbem@play.example",)), big(10_000_000), referee.now)
        anna = referee.person("anna")
        referee.send(anna, "help\n", sign=False)
        assert "help" in anna.text
        assert referee.inbox.outcome(bad)[0] == "aside"
        assert str(operator.last["Subject"]) == "[pbem] A letter was set aside"


def test_a_reader_that_cannot_be_started_costs_no_letter_an_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    referee = Referee(tmp_path)
    with closing(Worker(Limits())) as worker, closing(referee):
        composer = Composer("play.example", "pbem", referee.templates)
        referee.desk = Desk(
            referee.config, referee.database, referee.vault, referee.signing_key, composer, referee.die, worker
        )
        os.kill(pid(worker), signal.SIGKILL)
        time.sleep(0.05)
        monkeypatch.setattr("sys.executable", "/nowhere/python")
        referee.inbox.put(Envelope("x@mail.example", ("pbem@play.example",)), SMALL, referee.now)
        for _ in range(5):
            with pytest.raises(ReaderError, match="cannot be started"):
                referee.desk.handle_next(referee.now)
        monkeypatch.undo()
        assert referee.desk.handle_next(referee.now)
        assert referee.inbox.count("done") == 1


class Faint(InProcess):
    """A reader that goes away once the letters are in hand."""

    well = False

    def found(self) -> list[Found]:
        if not self.well:
            raise ReaderError("the reader cannot be started")
        return super().found()


def test_letters_in_hand_are_given_back_when_the_reader_goes_away(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    with closing(referee):
        reader = Faint(Limits())
        composer = Composer("play.example", "pbem", referee.templates)
        referee.desk = Desk(
            referee.config, referee.database, referee.vault, referee.signing_key, composer, referee.die, reader
        )
        for name in "xyz":
            referee.inbox.put(Envelope(f"{name}@mail.example", ("pbem@play.example",)), SMALL, referee.now)
        for _ in range(5):
            with pytest.raises(ReaderError):
                referee.desk.handle_next(referee.now)
        reader.well = True
        assert referee.desk.handle_next(referee.now) == 3
        assert referee.inbox.count("done") == 3


def test_the_next_letters_are_read_meanwhile_but_none_with_one_that_failed(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    with closing(referee):
        leased = []
        lease_some = referee.desk.inbox.lease_some

        def lease(most: int, now: datetime, *, fresh: bool = False) -> list[InboxRow]:
            rows = lease_some(most, now, fresh=fresh)
            leased.append([(row.id, row.attempts) for row in rows])
            return rows

        referee.desk.inbox.lease_some = lease  # type: ignore[method-assign]  # for this test alone
        for number in range(20):
            raw = SMALL.replace(b"<1@", b"<%d@" % number)
            referee.inbox.put(Envelope("anna@mail.example", ("pbem@play.example",)), raw, referee.now)
        referee.inbox.lease(referee.now)
        referee.inbox.release(1)
        assert referee.desk.handle_next(referee.now) == 19
        assert referee.desk.handle_next(referee.now) == 1
        assert referee.inbox.count("done") == 20
        fresh = [(number, 0) for number in range(2, 21)]
        assert leased == [fresh[:8], fresh[8:16], fresh[16:], [], [(1, 1)]]


def test_a_budget_of_work_ends_what_works_too_long() -> None:
    """Whatever the time: one that had to wait for its turn on a busy machine has spent nothing of it."""
    limits = msgspec.structs.replace(ROOMY, reading_processor=Duration(seconds=0.02))
    with closing(Worker(limits)) as worker:
        before = pid(worker)
        worker.ask(asked([SMALL + b"help\r\n" * 900_000, SMALL], []), "play.example")
        first, second = worker.found()
        assert isinstance(first.letter, ReaderError)
        assert isinstance(second.letter, Letter)
        assert pid(worker) != before
        waits = pid(worker)
        os.kill(waits, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (waits, signal.SIGCONT)).start()
        assert worker.read(SMALL).sender == "anna@mail.example"
        assert pid(worker) == waits


def test_a_letter_of_commands_alone_is_no_flood(worker: Worker) -> None:
    worker.ask(asked([SMALL + b"list list list list list list list list\r\n" * 4900], []), "play.example")
    (found,) = worker.found()
    assert found.understood is not None
    assert len(found.understood.reading.commands) == 200
    assert len(found.understood.reading.ignored) == 1
