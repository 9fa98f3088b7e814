"""Cases 1 to 15, 25, 26, 32 and 33 of reliability.md: taking letters in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import smtplib
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machines import certificate
from machines.house import Echo, House, configured, run
from machines.lives import Server
from machines.office import HELLO, TEXT, Client, Office, serve, speak
from machines.waiting import until
from structlog.testing import capture_logs

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.values import Duration, Listen
from pbem.smtp.storing import Refusal
from pbem.store.database import Database
from pbem.store.errors import BusyError, FullError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


LETTER = b"From: anna@mail.example\r\nMessage-ID: <1@mail.example>\r\n\r\nhelp\r\n"
LHLO = [b"LHLO client.example", HELLO[1], *[b"RCPT TO:<pbem+%d@play.example>" % number for number in range(3)]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.kill()


def letters(server: Server) -> list[bytes]:
    with server.store() as (database, inbox, _):
        return [inbox.raw(row["id"]) for row in database.rows("SELECT id FROM inbox ORDER BY id")]


def outgoing(server: Server) -> int:
    with server.store() as (_, _, outbox):
        return outbox.count()


def test_case_01_a_server_killed_during_data_keeps_no_half_letter(server: Server) -> None:
    server.start()
    with smtplib.SMTP("127.0.0.1", server.port) as client:
        client.ehlo()
        client.mail("anna@mail.example")
        client.rcpt("pbem@play.example")
        client.docmd("DATA")
        client.send(LETTER + b"\r\n.\r")
        server.kill()
        client.close()
    assert letters(server) == []
    server.start()
    assert server.send(LETTER).startswith("250")
    assert letters(server) == [LETTER]


def test_case_03_a_letter_answered_with_250_outlives_a_power_cut(tmp_path: Path) -> None:
    """The whole letter is in the files when 250 is said; the test below shows that it is on the disk."""
    saved = tmp_path / "saved"
    config = configured(tmp_path / "store")

    def save(point: str) -> None:
        if point == "250 said":
            shutil.copytree(tmp_path / "store", saved)

    async def scene(house: House) -> None:
        with Database(config.store) as other, other.transaction():
            sending = asyncio.create_task(house.send())
            await asyncio.sleep(0.3)
            assert not sending.done(), "250 was said while nothing could be written"
        assert (await sending)[0] == 250
        for database in (house.daemon._inbox._database, house.desk.database):
            found = [database.scalar(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")]
            assert found == ["wal", 2, 1]

    run(config, scene, points=save)
    with Database(saved / "pbem.sqlite") as database:
        assert database.scalar("SELECT count(*) FROM inbox") == 1


@pytest.mark.long
def test_case_03_a_letter_is_on_the_disk_before_its_250(tmp_path: Path) -> None:
    """With strace: after the last write to the log of the store comes its fdatasync, and only then the 250."""
    config = tmp_path / "pbem.toml"
    config.write_text('server = "play.example"\n[smtp]\nlisten = "127.0.0.1:0"\n')
    trace, ready = tmp_path / "trace", tmp_path / "ready.json"
    command = ["strace", "-f", "-y", "-e", "trace=pwrite64,fdatasync,fsync,sendto", "-o", str(trace), sys.executable]
    script = "from pbem.cli.serve import serve; serve()"
    command += ["-c", script, "--config", str(config), "--ready-file", str(ready)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        until(ready.exists)
        server = Server(tmp_path)
        server.port = int(ready.read_text().rpartition(":")[2].strip("} \n"))
        assert server.send(LETTER).startswith("250")
        traced = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(traced[0]), signal.SIGTERM)
    calls = trace.read_text().splitlines()
    said = next(at for at, call in enumerate(calls) if "250 2.0.0 stored" in call)
    log = [call for call in calls[:said] if "-wal>" in call]
    assert any("pwrite64" in call for call in log)
    assert "fdatasync" in log[-1] or "fsync" in log[-1], log[-3:]


def test_case_05_slow_client_slow_handler(tmp_path: Path) -> None:
    async def slow_client(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")

            async def drip() -> None:
                while True:
                    client.writer.write(b"x\r\n")
                    await asyncio.sleep(0.02)

            dripping = asyncio.create_task(drip())
            assert await client.reply() == "421 4.4.2 session too long"
            dripping.cancel()

    assert serve(slow_client, limits=Limits(session=Duration(seconds=0.5))).letters == []

    async def slow_desk(house: House) -> None:
        """The handler only stores: a desk that is at work keeps nobody waiting."""
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work(_: datetime) -> bool:
            asyncio.run_coroutine_threadsafe(done.wait(), loop).result()
            return False

        house.desk.handle_next = work
        house.daemon.wake()
        assert (await house.send())[0] == 250
        assert (await house.send(TEXT + b"another\r\n"))[0] == 250
        done.set()

    run(configured(tmp_path), slow_desk)


def test_case_06_a_full_disk_loses_no_letter(tmp_path: Path) -> None:
    async def scene(house: House) -> None:
        database = house.daemon._inbox._database
        pages = database.scalar("PRAGMA page_count")
        database.execute(f"PRAGMA max_page_count = {pages}")
        big = TEXT + (b"x" * 900 + b"\r\n") * 200
        code, text = await house.send(big)
        assert (code, text[:5]) == (452, b"4.3.1")
        assert database.scalar("SELECT count(*) FROM inbox") == 0
        database.execute(f"PRAGMA max_page_count = {pages + 10_000}")
        assert (await house.send(big))[0] == 250
        await house.until(lambda: bool(house.post.sent))

    run(configured(tmp_path), scene)


def test_case_07_database_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.store.sqlite.BUSY_SECONDS", 0.05)
    monkeypatch.setattr("pbem.server.desk_work.TROUBLE_WAIT", 0.01)
    monkeypatch.setattr("pbem.smtp.delivery.TROUBLE_WAIT", 0.01)

    async def scene(house: House) -> None:
        with Database(tmp_path / "pbem.sqlite") as other:
            with other.transaction():
                assert (await house.send())[0] == 451
            assert (await house.send())[0] == 250
        await house.until(lambda: len(house.post.sent) == 1)

    run(configured(tmp_path), scene)


def test_case_08_unexpected_exception() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            office.trouble = ZeroDivisionError("the secret of anna")
            assert await client.data(TEXT) == "451 4.3.0 local trouble, come again (reference ref42)"
            office.trouble = None
            await client.letter()

    assert len(serve(scene).letters) == 1


@pytest.mark.parametrize(
    ("raw", "trouble", "reply"),
    [
        (TEXT, None, "250"),
        (TEXT, ZeroDivisionError(), "451"),
        (TEXT, BusyError(), "451"),
        (TEXT, FullError(), "452"),
        (TEXT, Refusal("450 4.7.1 no"), "450"),
        (b"x" * 262_145, None, "500"),
        (b"x\r\n" * 5001, None, "552"),
        (b"x\r\n" * 150_000, None, "552"),
    ],
)
def test_case_10_lmtp_with_several_recipients(raw: bytes, trouble: Exception | None, reply: str) -> None:
    async def scene(office: Office) -> None:
        office.trouble = trouble
        async with office.client() as client:
            await client.reply()
            await client.open(LHLO)
            assert (await client.say(b"RCPT TO:<nobody@play.example>"))[:3] == "550"
            await client.say(b"DATA")
            client.writer.write(raw + b"\r\n.\r\nNOOP\r\n")
            replies = [await client.reply() for _ in range(4)]
            # What was sent along after a message that is far too big is dropped with it, and the session ends.
            assert [line[:3] for line in replies] == [*[reply] * 3, "250" if len(raw) < 300_000 else "421"]

    serve(scene, "lmtp")


def test_case_11_flood() -> None:
    """Connections beyond the cap, NOOPs, one byte a second: each is ended with a 421, and the others are served."""

    async def scene(office: Office) -> None:
        async with contextlib.AsyncExitStack() as stack:
            flood = [await stack.enter_async_context(office.client("127.0.0.2")) for _ in range(12)]
            greetings = [(await client.reply())[:3] for client in flood]
            assert greetings.count("220") == 5
            assert greetings.count("421") == 7
            dripping = [client for client, greeting in zip(flood, greetings, strict=True) if greeting == "220"]
            for client in dripping[1:]:
                client.writer.write(b"N")
            async with office.client("127.0.0.3") as other:
                await other.reply()
                await other.letter(HELLO)
            replies = [await dripping[0].say(b"NOOP") for _ in range(51)]
            assert replies[-1][:3] == "421"
            assert [await client.reply() for client in dripping[1:]] == ["421 4.4.2 session too long"] * 4

    limits = Limits(connections_per_address=5, session=Duration(seconds=1.5))
    assert len(serve(scene, limits=limits).letters) == 1


def memory(pid: int) -> int:
    """The most memory that a process ever had, in octets."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.mark.parametrize(
    ("raw", "reply"),
    [
        (b"\r\n" * 15_000_000, "552 5.3.4 message has too many lines"),
        ((b"x" * 998 + b"\r\n") * 30_000, "552 5.3.4 message too big"),
        (b"x" * 30_000_000, "500 5.5.2 line too long"),
    ],
    ids=["empty lines", "big", "one line"],
)
def test_case_12_a_letter_that_is_too_large_is_refused(server: Server, raw: bytes, reply: str) -> None:
    server.start()
    assert server.send(LETTER).startswith("250")
    before = memory(server.pid)
    assert server.send(raw) == reply
    assert memory(server.pid) - before < 64 * 2**20
    assert server.send(LETTER + b"another\r\n").startswith("250")
    assert len(letters(server)) == 2


def test_case_13_line_over_1000_octets() -> None:
    whole = b"x" * 5000 + b"\r\n" + b"y" * 65_536 + b"\r\n"

    async def dialog(client: Client) -> None:
        assert (await client.data(whole)).startswith("250")
        await client.open(HELLO[1:])
        assert await client.data(b"z" * 65_537 + b"\r\n") == "500 5.5.2 line too long"

    assert [raw for _, raw in speak(dialog).letters] == [whole]


SMUGGLED = [
    b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r.\r\n", b"\r\n.\n", b"\r\n.\r", b"\n\r\n.\n\r\n", b"\r\n.\r\r\n",
    b"\n.\r", b"\r.\n",
    b"\r\n\0.\r\n", b"\r\n.\0\r\n", b"\r\0\n.\r\n", b"\r\n.\r\0\n", b"\0\n.\n", b"\r\n. \r\n", b"\r\n..\r\n",
]  # fmt: skip


@pytest.mark.parametrize("protocol", ["smtp", "lmtp"])
@pytest.mark.parametrize("end", SMUGGLED)
def test_case_14_no_second_letter_is_smuggled_in_one(end: bytes, protocol: str) -> None:
    async def dialog(client: Client) -> None:
        await client.say(b"DATA")
        inner = b"MAIL FROM:<evil@x.example>\r\nRCPT TO:<pbem@play.example>\r\nDATA\r\nevil"
        assert (await client.say(b"a" + end + inner + b"\r\n.")).startswith("250")
        assert (await client.say(b"NOOP")).startswith("250")

    assert [
        envelope.sender
        for envelope, _ in speak(
            dialog,
            [HELLO[0].replace(b"EHLO", b"LHLO") if protocol == "lmtp" else HELLO[0], *HELLO[1:]],
            protocol=protocol,
        ).letters
    ] == ["anna@example.org"]


@pytest.mark.parametrize("control", [b"\r", b"\0", b"\x0b", b"\x1b", b"\x7f"])
def test_case_14_no_command_holds_what_may_end_it_elsewhere(control: bytes) -> None:
    async def dialog(client: Client) -> None:
        for mail in (b"an%sna", b'"an%sna"', b"anna@example.org>%sRCPT TO:<pbem"):
            assert (await client.say(b"MAIL FROM:<" + mail % control + b"@play.example>")).startswith("500")
        assert (await client.say(HELLO[1])).startswith("250")
        assert (await client.say(b"RCPT TO:<pbem+x%s@play.example>" % control)).startswith("500")
        assert (await client.say(HELLO[2] + control)).startswith("500")
        assert (await client.say(b"DATA")).startswith("503")

    assert not speak(dialog, HELLO[:1]).letters


def test_case_14_chunks_are_not_taken_for_commands() -> None:
    """Nobody sends them who heard that they are not offered (RFC 3030)."""

    async def dialog(client: Client) -> None:
        client.writer.write(b"BDAT 99 LAST\r\nRSET\r\n" + b"\r\n".join([*HELLO[1:], b"DATA", TEXT + b".", b""]))
        assert b"250" not in await client.reader.read()

    assert not speak(dialog).letters


def test_case_14_what_follows_the_end_without_waiting_is_a_letter_of_its_own() -> None:
    """PIPELINING (RFC 2920 3.1): a letter's end and the next one's commands may come in one go."""

    async def dialog(client: Client) -> None:
        client.writer.write(b"DATA\r\n" + TEXT + b".\r\n" + b"\r\n".join([*HELLO[1:], b"DATA", TEXT + b".", b""]))
        codes = [(await client.reply())[:3] for _ in range(6)]
        assert codes == ["354", "250", "250", "250", "354", "250"]

    assert [raw for _, raw in speak(dialog).letters] == [TEXT, TEXT]


def test_case_15_plaintext_after_starttls(tmp_path: Path) -> None:
    cert, key = certificate.make(tmp_path)
    listener = ListenerConfig(listen=Listen("127.0.0.1", 0), certificate=cert, certificate_key=key)
    injected = b"\r\n".join([b"STARTTLS", b"EHLO evil", b"MAIL FROM:<evil@x.example>", HELLO[2], b""])

    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            assert "STARTTLS" in await client.say(HELLO[0])
            client.writer.write(injected)
            assert (await client.reply()).startswith("220")
            context = ssl.create_default_context(cafile=cert)
            await client.writer.start_tls(context, server_hostname="play.example")
            # Had the plain text been kept, there would be a greeting, a sender and a recipient by now.
            assert (await client.say(b"DATA"))[:3] == "503"
            assert (await client.say(HELLO[1]))[:3] == "503"
            assert "STARTTLS" not in await client.say(HELLO[0])
            await client.letter()
        async with office.client() as client:
            await client.reply()
            await client.say(HELLO[0])
            client.writer.write(injected)
            assert (await client.reply()).startswith("220")
            await client.writer.drain()
            client.writer.write(b"DATA\r\n")  # no TLS at all
            assert b"354" not in await client.reader.read()

    assert [envelope.sender for envelope, _ in serve(scene, listener=listener).letters] == ["anna@example.org"]


def test_case_33_half_a_tls_handshake_makes_room_without_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate.make(tmp_path)
    listener = ListenerConfig(listen=Listen("127.0.0.1", 0), certificate=cert, certificate_key=key)

    async def scene(office: Office) -> None:
        async with office.client("127.0.1.1") as half:
            await half.reply()
            await half.say(HELLO[0])
            assert (await half.say(b"STARTTLS")).startswith("220")
            half.writer.write(b"\x16\x03\x01\x02\x00\x01")
            await asyncio.sleep(0.05)
            async with office.client("127.0.2.1") as client:
                await client.reply()
                await client.letter(HELLO)

    monkeypatch.setattr("pbem.connections.PATIENCE", 0.01)
    with capture_logs() as logs:
        assert len(serve(scene, listener=listener, limits=Limits(connections=1)).letters) == 1
    assert not [line for line in logs if line["log_level"] == "error"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\n" + b"\r\n".join([*HELLO, b"DATA", TEXT + b".", b""]),
        b"\x16\x03\x01\x02\x00" + bytes(512),
        bytes(range(256)) * 100,
    ],
    ids=["HTTP", "TLS", "binary"],
)
def test_case_15_what_is_no_smtp_at_all_ends_nothing(garbage: bytes) -> None:
    async def dialog(client: Client) -> None:
        client.writer.write(garbage)
        client.writer.write_eof()
        with contextlib.suppress(ConnectionError):
            assert b"354" not in await client.reader.read()

    assert speak(dialog, []).letters == []


def test_case_25_same_message_id_other_bytes(server: Server) -> None:
    server.start()
    for word in (b"help", b"games"):
        assert server.send(LETTER.replace(b"help", word)).startswith("250")
    until(lambda: outgoing(server) == 2)
    assert letters(server) == [LETTER, LETTER.replace(b"help", b"games")]


def test_case_26_same_letter_twice(server: Server) -> None:
    server.start()
    for _ in range(3):
        assert server.send(LETTER).startswith("250")
    until(lambda: outgoing(server) == 1)
    server.stop()
    server.start()
    assert server.send(LETTER).startswith("250")
    server.stop()
    assert letters(server) == [LETTER]
    assert outgoing(server) == 1


def test_case_32_the_desk_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes over a letter, the next ones are taken in, and none is asked to come again."""
    go_on = threading.Event()
    handle_next = Echo.handle_next

    def busy(self: Echo, now: datetime) -> bool:
        go_on.wait(30)
        return handle_next(self, now)

    monkeypatch.setattr(Echo, "handle_next", busy)

    async def scene(house: House) -> None:
        began = time.monotonic()
        for number in range(20):
            assert (await house.send(LETTER + b"%d\r\n" % number))[0] == 250
        assert time.monotonic() - began < 10
        assert not house.post.sent
        go_on.set()
        await house.until(lambda: len(house.post.sent) == 20)

    run(configured(tmp_path), scene)
