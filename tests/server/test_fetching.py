"""A server whose letters lie in a mailbox: each is kept first, then moved, and has its effect once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import time
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from machines.deaths import End
from machines.house import House, configured, run
from machines.lives import Server
from world.imap_server import PASSWORD, USER, Account, Broken, Session, serving
from world.points import FETCHING

from pbem.config.mail import MailboxConfig
from pbem.mailbox import FetchedLetter, Handle, LeftAlone, Withheld, none_skipped
from pbem.mailbox.maildir import put
from pbem.server.examination import mailbox
from pbem.server.fetching import Fetcher, Keeping
from pbem.store.database import Database, to_db
from pbem.store.errors import FullError
from pbem.store.inbox import Inbox, Look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.config.server import Config

LETTER = (
    b"Return-Path: <anna@example.org>\r\nDelivered-To: pbem+m1.tok%d@play.example\r\n"
    b"From: Anna <anna@example.org>\r\nTo: pbem@play.example, other@example.org\r\nSubject: %d\r\n\r\nhelp\r\n"
)

MARCH = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.fetching.FIRST_RETRY", 0.01)


def with_mailbox(folder: Path, port: int) -> Config:
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o600)
    box = MailboxConfig(imap="127.0.0.1", port=port, tls="none", user=USER, password_file=str(folder / "password"))
    config = configured(folder, mailbox=box)
    assert not config.wrong()
    return config


async def looked(house: House, account: Account) -> None:
    """Wait until letters that come from now on are read."""
    await house.until(lambda: "UID SEARCH" in account.seen)


def test_letters_are_fetched_answered_and_moved(tmp_path: Path) -> None:
    account = Account()
    letters = [LETTER % (number, number) for number in range(3)]

    async def scene(house: House) -> None:
        await looked(house, account)
        for raw in letters[:2]:
            account.put(raw)
        await house.until(lambda: len(house.post.sent) == 2)
        account.put(letters[2])  # while it waits
        await house.until(lambda: len(house.post.sent) == 3)
        await house.until(lambda: not account.raws())

    with serving(account) as port:
        house = run(with_mailbox(tmp_path, port), scene)
    assert account.raws("pbem/done") == letters
    assert {(sender, recipient) for sender, recipient, _ in house.post.sent} == {
        ("pbem@play.example", "anna@example.org")
    }, "the account alone may send: no return path of each letter's own"


def test_the_last_answer_of_the_mailbox_is_noted(tmp_path: Path) -> None:
    """Nobody misses a later deadline: a letter may lie there. After an hour, the doctor says so."""
    ever = datetime(2999, 1, 1, tzinfo=UTC)

    async def scene(house: House) -> None:
        inbox, began = house.daemon._inbox, house.daemon.machine.now()
        await house.until(lambda: inbox.oldest_unhandled() is not None)
        read = inbox.oldest_unhandled()
        assert read is not None
        assert began - timedelta(minutes=1) < read <= inbox.heard_until(ever) < ever
        minutes = (timedelta(minutes=59), timedelta(minutes=61))
        found = [one.found for time in minutes for one in mailbox(inbox, house.daemon.config, read + time)]
        assert [text[:42] for text in found] == [f"not read to its end since {to_db(read)[:16]}"]

    with serving(Account()) as port:
        run(with_mailbox(tmp_path, port), scene)


def test_what_lay_there_before_the_first_start_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Years of somebody's mail: not fetched, not answered and not moved, at this start or any other."""
    account = Account(flags={"Spam": "\\Junk"})
    account.folders["Spam"] = {}
    old = [LETTER % (number, number) for number in range(20)]
    for raw in old:
        account.put(raw)
    account.put(old[0], "Spam")

    async def first(house: House) -> None:
        await looked(house, account)
        account.put(LETTER % (90, 90))
        await house.until(lambda: len(account.raws("pbem/done")) == 1)

    with serving(account) as port:
        run(with_mailbox(tmp_path, port), first)
        assert account.raws() == old
        for number in (91, 92):  # while it is down
            account.put(LETTER % (number, number))
        run(with_mailbox(tmp_path, port), lambda house: house.until(lambda: len(account.raws("pbem/done")) == 3))
        assert account.raws() == old
        # The folder is made anew: its UIDs say nothing any more, but the days do.
        account.validity += 1
        account.dates = dict.fromkeys([*account.folders["INBOX"], *account.folders["Spam"]], date(2020, 1, 1))
        account.put(LETTER % (93, 93))
        run(with_mailbox(tmp_path, port), lambda house: house.until(lambda: len(account.raws("pbem/done")) == 4))
    assert account.raws() == old
    assert account.raws("Spam") == old[:1]
    assert account.raws("pbem/done") == [LETTER % (number, number) for number in (90, 91, 92, 93)]
    said = [line for line in capsys.readouterr().out.splitlines() if "left alone" in line]
    assert len(said) == 1
    assert "letters=21" in said[0]


def test_a_mark_that_cannot_be_kept_lets_nothing_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    account.put(LETTER % (1, 1))
    add, left = Database.add, [FullError("no room"), ZeroDivisionError("x")]

    def failing(database: Database, table: str, **row: object) -> bool:
        if left and str(row.get("name")).startswith("mailbox "):
            assert "UID FETCH" not in account.seen
            raise left.pop()
        return add(database, table, **row)

    monkeypatch.setattr(Database, "add", failing)

    with serving(account) as port:
        run(with_mailbox(tmp_path, port), lambda house: looked(house, account))
    assert not left
    assert len(account.raws()) == 1
    assert "UID FETCH" not in account.seen


def test_what_cannot_be_kept_stays_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    put_all, left = Inbox.put_all, [FullError("no room"), ZeroDivisionError("x")]

    def failing(*arguments: Any, **more: Any) -> object:
        if left:
            assert account.raws(), "moved, and not kept"
            raise left.pop()
        return put_all(*arguments, **more)

    monkeypatch.setattr(Inbox, "put_all", failing)

    async def scene(house: House) -> None:
        await looked(house, account)
        account.put(LETTER % (1, 1))
        await house.until(lambda: bool(house.post.sent) and not account.raws())

    with serving(account) as port:
        run(with_mailbox(tmp_path, port), scene)
    assert not left
    assert len(account.raws("pbem/done")) == 1


def test_a_provider_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    account, breaks = Account(), ["IDLE", "UID MOVE", "UID FETCH", "LOGIN"]

    def passing(at: str) -> None:
        if breaks and at == breaks[-1]:
            breaks.pop()
            raise Broken

    account.passing = passing

    async def scene(house: House) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(serving(account, port=port))
            await looked(house, account)
            for number in range(3):
                account.put(LETTER % (number, number))
            await house.until(lambda: len(house.post.sent) == 3 and not account.raws() and not breaks)

    house = run(with_mailbox(tmp_path, port), scene)
    assert len(house.post.sent) == 3
    assert len(account.raws("pbem/done")) == 3


@pytest.mark.parametrize("point", FETCHING)
def test_killed_on_the_way_of_a_letter_that_is_fetched(tmp_path: Path, point: str) -> None:
    """`kill -9` at each point, twice: each letter has one row, one answer, and lies where nobody looks again."""
    maildir = tmp_path / "Maildir"
    (maildir / "new").mkdir(parents=True)
    (maildir / "cur").mkdir()
    # A letter that was in hand at both deaths is suspected of them, and would rest for a minute.
    server = Server(tmp_path, more=f'[mailbox]\nmaildir = "{maildir}"\n', rest=timedelta(0))
    server.start()
    with server.store() as (database, _, _):
        while database.meta(f"mailbox {maildir}") is None:
            time.sleep(0.005)
    server.stop()
    for number in range(5):
        put(maildir, f"{number}", (LETTER % (number, number)).replace(b"\r\n", b"\n"))
    for count in (1, 2):
        server.start(End(point, count))
        assert server.wait() == -9
    server.start()
    done = maildir / ".pbem.done" / "cur"
    try:
        with server.store() as (database, inbox, _):
            while database.scalar("SELECT count(*) FROM inbox WHERE state = 'done'") < 5 or any(
                (maildir / "new").iterdir()
            ):
                assert server.alive
                time.sleep(0.005)
            assert inbox.count() == 5
            assert database.scalar("SELECT count(*) FROM outbox WHERE recipient = 'anna@example.org'") == 3
            assert len(list(done.iterdir())) == 5
    finally:
        server.stop()


class Talkative:
    """A mailbox that says at every moment that something came."""

    looks = 0

    def mark(self, now: datetime) -> LeftAlone:
        return LeftAlone(now.isoformat(), 0)

    def leave(self, mark: str) -> None:
        """Nothing lies there."""

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        del skips
        self.looks += 1
        return iter(())

    def wait(self, seconds: float) -> None:
        """At once."""

    def done(self, handle: Handle) -> None:
        raise AssertionError(handle)

    def interrupt(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


class Full(Talkative):
    """A mailbox with letters that take it an hour each to give."""

    def __init__(self, fetched: list[datetime]) -> None:
        self.fetched = fetched

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        del skips
        for number in range(3 if len(self.fetched) == 1 else 0):
            self.fetched.append(self.fetched[-1] + timedelta(hours=1))
            yield FetchedLetter(b"", Handle("INBOX", str(number)))

    def done(self, handle: Handle) -> None:
        """Moved."""


class Stingy(Talkative):
    """A mailbox that is looked at every ten minutes, and does not give letters that come at these looks."""

    def __init__(self, *letters: int, deleted: int = 9999, time: datetime = MARCH) -> None:
        self.time = time
        self._letters = letters
        self._deleted = deleted

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        self.looks += 1
        self.time += timedelta(minutes=10)
        there = [Handle("INBOX", str(come)) for come in self._letters if come <= self.looks < self._deleted]
        if kept_back := [handle for handle in there if not skips(handle)]:
            raise Withheld(kept_back, "no")
        return iter(())


class Clogged(Full):
    """A mailbox with a hundred letters that it does not give, and one after them; ten of them break a look off."""

    def __init__(self) -> None:
        self.time = MARCH

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        self.time += timedelta(minutes=1)
        there = (Handle("INBOX", str(number)) for number in range(100))
        kept_back = [handle for handle in there if not skips(handle)][:10]
        if len(kept_back) < 10:
            yield FetchedLetter(b"", Handle("INBOX", "last"))
        if kept_back:
            raise Withheld(kept_back, "no", broken_off=len(kept_back) == 10)


def noted_of(
    box: Talkative, now: Callable[[], datetime], most: int = 99, *, until: datetime = MARCH, patience: float = 60.0
) -> list[Look | str]:
    """The steps of a fetcher until the mailbox was read to its end by then, or as it keeps its last letter."""
    steps = list[Look | str]()

    async def scene() -> None:
        async def keep(_: bytes) -> None:
            steps.append("kept")
            if steps.count("kept") == most:
                fetcher.stop()

        async def mark(given: str | None) -> str | None:
            return given

        async def before() -> datetime | None:
            return MARCH

        whole = asyncio.Event()

        async def look(found: Look) -> None:
            if not whole.is_set():
                steps.append(found)
            if found.read is not None and found.read >= until:
                whole.set()

        def seconds() -> float:
            return (now() - MARCH).total_seconds()

        fetcher = Fetcher(box, Keeping(keep, mark, look, before, now), 60.0, seconds)
        work = asyncio.create_task(fetcher.work())
        try:
            async with asyncio.timeout(patience):
                await asyncio.wait([work, asyncio.create_task(whole.wait())], return_when=asyncio.FIRST_COMPLETED)
        finally:
            fetcher.stop()
            await work

    asyncio.run(scene())
    return steps


def test_a_look_that_takes_long_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter is an answer, also when the machine slept before it; the desk knows before it reads the letter.

    But only at the end is it known that no older one waits there.
    """
    monkeypatch.setattr("pbem.server.fetching.REST", 600.0)
    times = [datetime(2026, 3, 2, tzinfo=UTC)]
    steps = noted_of(Full(times), lambda: times[-1])
    first, *hours = times
    assert steps == [*(step for time in hours for step in (Look(time), "kept")), Look(times[-1], first)]


def test_a_look_that_is_broken_off_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.fetching.REST", 600.0)
    times = [datetime(2026, 3, 2, tzinfo=UTC)]
    assert noted_of(Full(times), lambda: times[-1], most=2)[2:] == [Look(times[2]), "kept"]


HOURS = timedelta(hours=1)


def read_again(box: Stingy, until: datetime) -> tuple[datetime, datetime]:
    """When it was noted that the mailbox was read to its end by then or later; and by when."""
    steps = noted_of(box, lambda: box.time, until=until)
    last = steps[-1]
    assert isinstance(last, Look)
    assert last.read is not None
    answers = [step.answered for step in steps if isinstance(step, Look)]
    assert all(later - answer < HOURS for answer, later in itertools.pairwise(answers)), "no time stands still"
    return last.answered, last.read


@pytest.fixture
def _restless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.fetching.REST", 0.0)


@pytest.mark.usefixtures("_restless")
@pytest.mark.parametrize(("deleted", "hours"), [(19, 3), (9999, 24)])
def test_deadlines_wait_for_a_letter_that_is_withheld(deleted: int, hours: int) -> None:
    """As long as it is there, and not for ever."""
    noted, read = read_again(Stingy(2, deleted=deleted), MARCH + HOURS)
    assert noted - read == timedelta(minutes=10)
    assert MARCH + hours * HOURS <= noted <= MARCH + (hours + 2) * HOURS


@pytest.mark.usefixtures("_restless")
def test_letters_that_are_withheld_one_after_the_other_put_no_deadline_off_for_ever() -> None:
    """Somebody writes such a letter twice a day: each is waited for, and what came before it is not."""
    noted, read = read_again(Stingy(*range(1, 9999, 72)), MARCH + 100 * HOURS)
    assert timedelta() < noted - read < 36 * HOURS


@pytest.mark.usefixtures("_restless")
def test_however_many_are_withheld_the_letters_after_them_are_fetched() -> None:
    """Until then the mailbox was not read to its end."""
    box = Clogged()
    *before, last = noted_of(box, lambda: box.time, most=1)
    assert last == "kept"
    assert all(isinstance(step, Look) and step.read is None for step in before)
    assert box.time < MARCH + 12 * HOURS


@pytest.mark.usefixtures("_restless")
@pytest.mark.parametrize(("down", "hours"), [(20, 4), (2000, 1)])
def test_a_server_that_is_started_each_day_does_not_wait_a_day_anew(down: int, hours: int) -> None:
    """But an hour at least: it may have come just now."""
    started = MARCH + down * HOURS
    noted, _ = read_again(Stingy(1, time=started), started)
    assert started + hours * HOURS <= noted <= started + (hours + 2) * HOURS


def test_a_provider_that_wakes_us_for_nothing_is_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.fetching.REST", 600.0)
    box = Talkative()
    with pytest.raises(TimeoutError):
        noted_of(box, lambda: MARCH, until=MARCH + HOURS, patience=0.1)
    assert box.looks == 1


@pytest.mark.parametrize(
    ("capabilities", "lies"),
    [
        ("IMAP4rev1 IDLE MOVE", {"UID MOVE": b"TAG NO [OVERQUOTA] full\r\n"}),
        ("IMAP4rev1 IDLE UIDPLUS", {"UID STORE": b"TAG NO read only\r\n"}),
        ("IMAP4rev1 MOVE", {"UID MOVE": b"TAG OK done\r\n"}),
    ],
)
def test_letters_that_cannot_be_moved_keep_back_no_others_and_are_not_fetched_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capabilities: str, lies: dict[str, bytes]
) -> None:
    """The folder for read letters is full, or nobody may delete any, or the provider only says that it moved them."""
    monkeypatch.setattr("pbem.server.fetching.REST", 0.01)
    monkeypatch.setattr("pbem.mailbox.imap.Imap.wait", lambda _, seconds: time.sleep(min(seconds, 0.01)))
    account = Account(capabilities=tuple(capabilities.split()), lies=lies)

    async def scene(house: House) -> None:
        await looked(house, account)
        for number in range(3):
            account.put(LETTER % (number, number))
        await house.until(lambda: len(house.post.sent) == 3)
        await asyncio.sleep(0.1)
        fetched = account.seen.count("UID FETCH")
        account.put(LETTER % (3, 3))
        await house.until(lambda: len(house.post.sent) == 4)
        await asyncio.sleep(0.2)
        assert account.seen.count("UID FETCH") == fetched + 1

    with serving(account) as port:
        run(with_mailbox(tmp_path, port), scene)


def test_a_letter_at_which_the_provider_hangs_up_keeps_back_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot read the letter itself; each time a new connection begins with that letter."""
    account = Account()
    fetch = Session.do_uid_fetch

    def hang_up(session: Session, rest: str) -> None:
        if rest.startswith("1 "):
            raise Broken
        fetch(session, rest)

    monkeypatch.setattr(Session, "do_uid_fetch", hang_up)

    async def scene(house: House) -> None:
        await looked(house, account)
        for number in range(3):
            account.put(LETTER % (number, number))
        await house.until(lambda: len(house.post.sent) == 2 and len(account.raws()) == 1)

    with serving(account) as port:
        run(with_mailbox(tmp_path, port), scene)
