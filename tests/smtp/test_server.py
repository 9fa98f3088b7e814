"""Intake over real sockets: what is stored, what is refused, and that nothing ends the server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest
from machines.office import HELLO, TEXT, Client, Office, serve, speak, until

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.values import Duration, Listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n",
        b".\r\n..\r\n.a\r\n",
        b"x" * 60_000 + b"\r\n",
        b"\x00\xff\xfe\r\n",
        b"a\nb\rc\n.\nd\r.\re\n.\r\n.\nMAIL FROM:<x@y>\r\n",
    ],
)
def test_every_octet_arrives(raw: bytes) -> None:
    async def dialog(client: Client) -> None:
        await client.say(b"DATA")
        stuffed = (b"\r\n" + raw).replace(b"\r\n.", b"\r\n..")[2:]
        assert (await client.say(stuffed + b".")).startswith("250")

    assert [raw for _, raw in speak(dialog).letters] == [raw]


def test_an_exception_in_a_command_is_not_shown() -> None:
    async def scene(office: Office) -> None:
        def broken(_: str) -> bool:
            raise ZeroDivisionError("secret")

        setattr(office.intake.recipients, "knows", broken)  # noqa: B010 - as a fault of ours
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:2])
            assert await client.say(HELLO[2]) == "451 4.3.0 local trouble (reference ref42)"

    serve(scene)


@pytest.mark.parametrize("line", [b"NOOP", b"HELP", b"VRFY x@y", b"EHLO x"])
def test_idle_commands_are_limited(line: bytes) -> None:
    async def dialog(client: Client) -> None:
        replies = [await client.say(line) for _ in range(51)]
        assert replies[49].startswith("2")
        assert replies[50].startswith("421")

    speak(dialog, [])


@contextlib.asynccontextmanager
async def sending(office: Office, address: str = "127.0.0.1") -> AsyncIterator[Client]:
    """A client that has sent a whole letter, which is stored once the office's gate is open."""
    office.gate = asyncio.Event()
    async with office.client(address) as client:
        await client.reply()
        await client.open()
        await client.say(b"DATA")
        client.writer.write(TEXT + b".\r\n")
        await client.writer.drain()
        await until(lambda: not any(session.may_be_ended for session in office.intake.admission.sessions))
        yield client


def opened(office: Office) -> None:
    """Let the letters that are being stored be stored."""
    assert office.gate is not None
    office.gate.set()


def test_case_04_a_client_that_hangs_up_after_the_final_dot_leaves_a_whole_letter() -> None:
    async def scene(office: Office) -> None:
        async with sending(office):
            pass
        await until(lambda: not office.intake.admission.sessions)
        opened(office)
        await until(lambda: bool(office.letters))

    assert serve(scene).letters[0][1] == TEXT


@pytest.mark.parametrize("sent", [b"half a let", TEXT, TEXT + b".", TEXT + b".\r"])
def test_a_client_that_hangs_up_before_the_end_leaves_nothing(sent: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            client.writer.write(sent)
        await until(lambda: not office.intake.admission.sessions)

    assert serve(scene).letters == []


def test_closing_waits_for_a_letter_that_is_being_stored() -> None:
    async def scene(office: Office) -> None:
        async with sending(office) as client:
            closing = asyncio.create_task(office.intake.close())
            await asyncio.sleep(0.1)
            assert not closing.done()
            opened(office)
            assert (await client.reply()).startswith("250")
            assert (await client.reply()).startswith("421 4.3.2")
            await closing

    assert len(serve(scene).letters) == 1


def test_a_session_does_not_end_between_the_final_dot_and_its_reply() -> None:
    async def scene(office: Office) -> None:
        async with sending(office) as client:
            await asyncio.sleep(0.6)
            opened(office)
            assert (await client.reply()).startswith("250")

    assert len(serve(scene, limits=Limits(session=Duration(seconds=0.4), idle=Duration(seconds=0.3))).letters) == 1


def silent_for(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr("pbem.connections.PATIENCE", seconds)


def test_who_has_been_silent_longest_makes_room_when_all_connections_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(office: Office) -> None:
        async with office.client("127.0.1.1") as one, office.client("127.0.2.1") as two:
            await one.reply()
            await two.reply()
            await asyncio.sleep(0.3)
            await one.say(b"NOOP")
            async with office.client("127.0.3.1") as three:
                assert (await three.reply()).startswith("220")
                assert await two.reply() == "421 4.7.0 others wait, come again"
                await three.letter(HELLO)
                # Of those who are left nobody has been silent for long.
                async with office.client("127.0.4.1") as four:
                    assert (await four.reply()).startswith("421 4.7.0 too many")
                await one.letter(HELLO)

    silent_for(monkeypatch, 0.2)
    assert len(serve(scene, limits=Limits(connections=2)).letters) == 2


def test_case_33_many_silent_connections_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 33: whatever they began to say, and however often they come again."""

    async def scene(office: Office) -> None:
        async with contextlib.AsyncExitStack() as stack:
            beginnings = [[], HELLO[:1], HELLO[:2], HELLO]
            for number in range(60):
                idle = await stack.enter_async_context(office.client(f"127.0.{number}.1"))
                if (await idle.reply()).startswith("220"):
                    await idle.open(beginnings[number % 4])
                    if number % 8 == 3:
                        await idle.say(b"DATA")
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.05)
            for number in range(10):
                async with office.client(f"127.1.{number}.1") as client:
                    assert (await client.reply()).startswith("220")
                    await client.letter(HELLO)

    silent_for(monkeypatch, 0.02)
    assert len(serve(scene, limits=Limits(connections=20)).letters) == 10


def test_who_says_a_little_now_and_then_keeps_nobody_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that brings letters keeps its connection."""

    async def scene(office: Office) -> None:
        async with office.client("127.0.1.1") as one, office.client("127.0.2.1") as two:
            for client in (one, two):
                await client.reply()
                await client.open()
            await asyncio.sleep(0.3)
            assert (await one.data(TEXT)).startswith("250")
            async with office.client("127.0.3.1") as three:
                assert (await three.reply()).startswith("220")
                assert await two.reply() == "421 4.7.0 others wait, come again"
                async with office.client("127.0.4.1") as four:
                    assert (await four.reply()).startswith("421 4.7.0 too many")
                await three.letter(HELLO)

    monkeypatch.setattr("pbem.connections.BUSY", 0.25)
    assert len(serve(scene, limits=Limits(connections=2)).letters) == 2


def test_a_network_with_more_than_its_share_makes_room_though_it_is_not_silent() -> None:
    async def scene(office: Office) -> None:
        async with contextlib.AsyncExitStack() as stack:
            many = [await stack.enter_async_context(office.client(f"127.0.9.{number}")) for number in range(1, 9)]
            for client in many:
                assert (await client.reply()).startswith("220")
            async with office.client("127.0.1.1") as other:
                assert (await other.reply()).startswith("220")
                assert await many[0].reply() == "421 4.7.0 others wait, come again"
                await other.letter(HELLO)

    assert len(serve(scene, limits=Limits(connections=8, connections_per_address=1)).letters) == 1


def test_a_letter_that_is_being_stored_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(office: Office) -> None:
        async with sending(office, "127.0.1.1") as one:
            async with office.client("127.0.2.1") as two:
                assert (await two.reply()).startswith("421 4.7.0 too many")
            opened(office)
            assert (await one.reply()).startswith("250")

    silent_for(monkeypatch, 0.0)
    assert len(serve(scene, limits=Limits(connections=1)).letters) == 1


def test_a_letter_carries_the_network_of_its_client() -> None:
    async def dialog(client: Client) -> None:
        for address in (
            b"192.0.2.7",
            b"IPV6:2001:db8:1:2:3::4",
            b"[UNAVAILABLE]",
            b"127.0.0.1",
            b"::ffff:198.51.100.9",
        ):
            assert (await client.say(b"XFORWARD NAME=x ADDR=%s" % address)).startswith("250")
            await client.letter()

    networks = [envelope.network for envelope, _ in speak(dialog, HELLO[:1]).letters]
    assert networks == ["192.0.2.0/24", "2001:db8:1:2::/64", "", "", "198.51.100.0/24"]


LMTP = [b"LHLO client.example", HELLO[1], *[b"RCPT TO:<pbem+%d@play.example>" % number for number in range(3)]]


def test_lmtp_over_a_unix_socket(tmp_path: Path) -> None:
    async def scene(office: Office) -> None:
        path = tmp_path / "lmtp"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))
        (place,) = await office.intake.listen("lmtp", ListenerConfig(listen=Listen(path=path)))
        assert place.path == str(path)
        assert path.stat().st_mode & 0o777 == 0o660
        await office.intake.open()
        with pytest.raises(OSError, match="in use"):
            await Office().intake.listen("lmtp", ListenerConfig(listen=Listen(path=path)))
        for _ in range(2):
            reader, writer = await asyncio.open_unix_connection(path)
            client = Client(reader, writer)
            await client.reply()
            await client.open(LMTP)
            assert (await client.data(TEXT)).startswith("250")
            writer.close()
            await writer.wait_closed()
        await office.intake.close()
        assert not path.exists()

    assert len(serve(scene, "lmtp", Limits(connections_per_address=1)).letters) == 2
