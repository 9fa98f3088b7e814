"""Intake over real sockets: what is stored, what is refused, and that nothing ends the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from machines.office import HELLO, TEXT, Client, Office, serve, until

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.values import Duration, Listen
from pbem.smtp.storing import Refusal
from pbem.store.errors import BusyError, FullError
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from pathlib import Path


def one_letter(raw: bytes = TEXT, **attributes: Any) -> tuple[Office, str]:
    """Send one letter to an office in a certain state; the office and the reply to the final dot."""
    replies: list[str] = []

    async def scene(office: Office) -> None:
        for name, value in attributes.items():
            setattr(office, name, value)
        async with office.client() as client:
            assert (await client.reply()).startswith("220 play.example")
            await client.open()
            replies.append(await client.data(raw))
            assert (await client.say(b"QUIT")).startswith("221")

    return serve(scene), replies[0]


def test_a_letter_is_stored_before_250_is_said() -> None:
    async def scene(office: Office) -> None:
        office.gate = asyncio.Event()
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            client.writer.write(TEXT + b".\r\n")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reader.readline(), 0.1)
            office.gate.set()
            assert await client.reply() == "250 2.0.0 stored"

    assert serve(scene).letters == [(Envelope("anna@example.org", ("pbem@play.example",)), TEXT)]


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
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            stuffed = (b"\r\n" + raw).replace(b"\r\n.", b"\r\n..")[2:]
            assert (await client.say(stuffed + b".")).startswith("250")

    assert [raw for _, raw in serve(scene).letters] == [raw]


def test_several_letters_in_one_connection_and_the_null_sender() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            for sender in (b"<anna@example.org>", b"<>"):
                await client.open([HELLO[0], b"MAIL FROM:" + sender, b"RCPT TO:<PBEM+m17.tok@Play.Example>"])
                assert (await client.data(TEXT)).startswith("250")

    letters = serve(scene).letters
    assert [envelope.sender for envelope, _ in letters] == ["anna@example.org", ""]
    assert letters[0][0].recipients == ("PBEM+m17.tok@Play.Example",)


@pytest.mark.parametrize("end", [b"RSET", b"EHLO client.example", b"QUIT", b"", b"DATA"])
def test_a_letter_has_begun_from_mail_until_it_is_here_or_given_up(end: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:2])
            assert len(office.intake.admission.writing) == 1
            if end == b"DATA":
                await client.say(HELLO[2])
                await client.data(TEXT)
            elif end:
                await client.say(end)
        while office.intake.admission.sessions:
            assert not end or not office.intake.admission.writing
            await asyncio.sleep(0.01)
        assert not office.intake.admission.writing

    serve(scene)


@pytest.mark.parametrize(
    ("recipient", "code"),
    [
        (b"<pbem@play.example>", "250"),
        (b"<pbem+x@play.example>", "250"),
        (b"<postmaster@play.example>", "250"),
        (b"<Postmaster>", "250"),
        (b"<pbem+@play.example>", "550"),
        (b"<pbemx@play.example>", "550"),
        (b"<anna@play.example>", "550"),
        (b"<pbem@other.example>", "550"),
        (b"<pbem@play.example.evil.example>", "550"),
        (b"<pbem%other.example@play.example>", "550"),
        (b"<@play.example:x@other.example>", "550"),
        (b"<pbem>", "550"),
        (b"<>", "5"),
        (b"<p\xc3\xa9bem@play.example>", "500"),
        (b"(" * 300, "4"),
    ],
)
def test_only_our_own_recipients_are_known(recipient: bytes, code: str) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:2])
            reply = await client.say(b"RCPT TO:" + recipient)
            assert reply.startswith(code) or (code == "4" and reply[:1] in "45"), reply
            if code != "250":
                assert (await client.say(b"DATA")).startswith("503")

    assert serve(scene).letters == []


def test_own_trouble_is_a_451_with_a_reference_and_no_word_of_it() -> None:
    office, reply = one_letter(trouble=ZeroDivisionError("secret of anna"))
    assert reply == "451 4.3.0 local trouble, come again (reference ref42)"
    assert office.letters == []


def test_a_busy_store_is_a_451() -> None:
    assert one_letter(trouble=BusyError("database is locked"))[1].startswith("451 4.3.0")


def test_a_full_disk_is_a_452() -> None:
    assert one_letter(trouble=FullError("disk"))[1].startswith("452 4.3.1")


def test_a_refusal_is_said_as_it_is() -> None:
    assert one_letter(trouble=Refusal("450 4.7.1 too many"))[1] == "450 4.7.1 too many"


def test_the_server_lives_on_after_trouble() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            office.trouble = RuntimeError("x")
            await client.open()
            assert (await client.data(TEXT)).startswith("451")
            office.trouble = None
            await client.open(HELLO[1:])
            assert (await client.data(TEXT)).startswith("250")

    assert len(serve(scene).letters) == 1


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


@pytest.mark.parametrize(
    ("raw", "reply"),
    [
        (b"x\r\n" * 100_000, "552 5.3.4"),
        (b"\r\n" * 5001, "552 5.3.4"),
        (b"x" * 66_000 + b"\r\n", "500 5.5.2"),
        (b"x" * 70_000 + b"\r\n.x\r\n", "500 5.5.2"),
        (b"x" * 1_000_000 + b"\r\n", "500 5.5.2"),
    ],
)
def test_what_is_too_big_is_refused_and_the_session_goes_on(raw: bytes, reply: str) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            assert (await client.data(raw)).startswith(reply)
            await client.open(HELLO[1:])
            assert (await client.data(TEXT)).startswith("250")

    assert [raw for _, raw in serve(scene).letters] == [TEXT]


def test_a_declared_size_is_believed_at_once() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:1])
            assert (await client.say(HELLO[1] + b" SIZE=262145")).startswith("552")
            assert (await client.say(HELLO[1] + b" SIZE=262144 BODY=8BITMIME")).startswith("250")
            assert (await client.say(b"RSET")).startswith("250")
            assert (await client.say(HELLO[1] + b" SMTPUTF8")).startswith("5")

    serve(scene)


def test_thirty_megabytes_of_empty_lines_are_read_past() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            assert (await client.say(b"\r\n" * 15_000_000 + b".")).startswith("552")
            assert (await client.say(b"NOOP")).startswith("250")

    assert serve(scene).letters == []


def test_a_message_without_end_is_hung_up_on() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            with contextlib.suppress(ConnectionError):
                for _ in range(100):
                    client.writer.write(b"x" * 10_000)
                    await client.writer.drain()
            assert await client.reply() in {"500 5.5.2 line too long", ""}
            assert await client.reply() in {"421 4.7.0 out of step", ""}
            assert await client.reply() == ""

    assert serve(scene, limits=Limits(message_bytes=5000, line_bytes=1000)).letters == []


def test_too_many_recipients_are_deferred_and_the_others_served() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:2] + [b"RCPT TO:<pbem+%d@play.example>" % number for number in range(10)])
            assert (await client.say(HELLO[2])).startswith("452 4.5.3")
            assert (await client.data(TEXT)).startswith("250")

    assert len(serve(scene).letters[0][0].recipients) == 10


def test_letters_in_one_connection_are_limited() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            for _ in range(2):
                await client.open()
                await client.data(TEXT)
            assert (await client.say(HELLO[1])).startswith("421")
            assert await client.reply() == ""

    assert len(serve(scene, limits=Limits(messages_per_connection=2)).letters) == 2


@pytest.mark.parametrize("line", [b"NOOP", b"HELP", b"VRFY x@y", b"EHLO x"])
def test_idle_commands_are_limited(line: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            replies = [await client.say(line) for _ in range(51)]
            assert replies[49].startswith("2")
            assert replies[50].startswith("421")

    serve(scene)


@pytest.mark.parametrize("line", [b"", b"\xff\xfe", b"x" * 3000, b"MAIL FROM:<a@b> A=B C"])
def test_nonsense_ends_the_session(line: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.say(HELLO[0])
            replies = [await client.say(line) for _ in range(22)]
            assert replies[0].startswith("5")
            assert any(reply.startswith("421") for reply in replies)
            assert replies[-1] == ""

    serve(scene)


@pytest.mark.parametrize("first", [b"POST / HTTP/1.1", b"GET / HTTP/1.0"])
def test_a_browser_cannot_post_a_letter(first: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            body = b"\r\n".join([first, b"Host: x", b"", *HELLO, b"DATA", TEXT + b".", b"QUIT"])
            reply = await client.say(body)
            assert reply.startswith("421")
            assert await client.reply() == ""

    assert serve(scene).letters == []


def test_binary_and_a_tls_hello_are_dropped() -> None:
    async def scene(office: Office) -> None:
        for garbage in (os.urandom(5000), b"\x16\x03\x01\x02\x00" + bytes(512), bytes(100_000)):
            async with office.client() as client:
                await client.reply()
                client.writer.write(garbage)
                client.writer.write_eof()
                with contextlib.suppress(ConnectionError):
                    await client.reader.read()

    assert serve(scene).letters == []


def test_starttls_without_a_certificate_is_refused() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            assert "STARTTLS" not in await client.say(HELLO[0])
            assert (await client.say(b"STARTTLS")).startswith("454")
            assert not (await client.say(b"AUTH PLAIN AGEAYg==")).startswith("2")

    serve(scene)


@pytest.mark.parametrize(
    "smuggled", [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r.\r\n", b"\r\n.\n", b"\r\n.\r", b"\r\n\x00.\r\n"]
)
def test_only_crlf_dot_crlf_ends_a_message(smuggled: bytes) -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            inner = b"MAIL FROM:<evil@x.example>\r\nRCPT TO:<pbem@play.example>\r\nDATA\r\nevil"
            assert (await client.say(b"a" + smuggled + inner + b"\r\n.")).startswith("250")
            client.writer.write(b"QUIT\r\n")
            assert (await client.reply()).startswith("221")

    assert [envelope.sender for envelope, _ in serve(scene).letters] == ["anna@example.org"]


def test_a_client_that_hangs_up_after_the_final_dot_leaves_a_whole_letter() -> None:
    async def scene(office: Office) -> None:
        office.gate = asyncio.Event()
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            client.writer.write(TEXT + b".\r\n")
            await client.writer.drain()
            await asyncio.sleep(0.1)
        await until(lambda: not office.intake.admission.sessions)
        office.gate.set()
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
        office.gate = asyncio.Event()
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            client.writer.write(TEXT + b".\r\n")
            await client.writer.drain()
            await asyncio.sleep(0.1)
            closing = asyncio.create_task(office.intake.close())
            await asyncio.sleep(0.1)
            assert not closing.done()
            office.gate.set()
            assert (await client.reply()).startswith("250")
            assert (await client.reply()).startswith("421 4.3.2")
            await closing

    assert len(serve(scene).letters) == 1


def test_an_idle_client_is_told_421() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            assert await client.reply() == "421 4.4.2 idle too long"
            assert await client.reply() == ""

    serve(scene, limits=Limits(idle=Duration(seconds=0.2)))


def test_a_session_does_not_end_between_the_final_dot_and_its_reply() -> None:
    async def scene(office: Office) -> None:
        office.gate = asyncio.Event()
        async with office.client() as client:
            await client.reply()
            await client.open()
            await client.say(b"DATA")
            client.writer.write(TEXT + b".\r\n")
            await asyncio.sleep(0.6)
            office.gate.set()
            assert (await client.reply()).startswith("250")

    assert len(serve(scene, limits=Limits(session=Duration(seconds=0.4), idle=Duration(seconds=0.3))).letters) == 1


def test_connections_from_one_address_are_capped_and_room_is_made_again() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as one, office.client() as two:
            assert (await one.reply()).startswith("220")
            assert (await two.reply()).startswith("220")
            async with office.client() as three:
                assert (await three.reply()).startswith("421 4.7.0")
        await until(lambda: not office.intake.admission.sessions)
        async with office.client() as four:
            assert (await four.reply()).startswith("220")

    serve(scene, limits=Limits(connections_per_address=2))


def test_connections_in_all_are_capped_and_those_open_are_served() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as one:
            assert (await one.reply()).startswith("220")
            for _ in range(20):
                async with office.client() as other:
                    assert (await other.reply()).startswith("421")
            await one.open()
            assert (await one.data(TEXT)).startswith("250")

    assert len(serve(scene, limits=Limits(connections=1)).letters) == 1


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
                await three.open()
                assert (await three.data(TEXT)).startswith("250")
                # Of those who are left nobody has been silent for long.
                async with office.client("127.0.4.1") as four:
                    assert (await four.reply()).startswith("421 4.7.0 too many")
                await one.open()
                assert (await one.data(TEXT)).startswith("250")

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
                    await client.open()
                    assert (await client.data(TEXT)).startswith("250")

    silent_for(monkeypatch, 0.02)
    assert len(serve(scene, limits=Limits(connections=20)).letters) == 10


def test_who_says_a_little_now_and_then_keeps_nobody_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who brings letters goes on."""

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
                await three.open()
                assert (await three.data(TEXT)).startswith("250")

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
                await other.open()
                assert (await other.data(TEXT)).startswith("250")

    assert len(serve(scene, limits=Limits(connections=8, connections_per_address=1)).letters) == 1


def test_a_letter_that_is_being_stored_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(office: Office) -> None:
        office.gate = asyncio.Event()
        async with office.client("127.0.1.1") as one:
            await one.reply()
            await one.open()
            await one.say(b"DATA")
            one.writer.write(TEXT + b".\r\n")
            await until(lambda: not any(session.may_be_ended for session in office.intake.admission.sessions))
            async with office.client("127.0.2.1") as two:
                assert (await two.reply()).startswith("421 4.7.0 too many")
            office.gate.set()
            assert (await one.reply()).startswith("250")

    silent_for(monkeypatch, 0.0)
    assert len(serve(scene, limits=Limits(connections=1)).letters) == 1


def test_a_letter_carries_the_network_of_its_client() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            await client.open(HELLO[:1])
            for address in (
                b"192.0.2.7",
                b"IPV6:2001:db8:1:2:3::4",
                b"[UNAVAILABLE]",
                b"127.0.0.1",
                b"::ffff:198.51.100.9",
            ):
                assert (await client.say(b"XFORWARD NAME=x ADDR=%s" % address)).startswith("250")
                await client.open(HELLO[1:])
                assert (await client.data(TEXT)).startswith("250")

    networks = [envelope.network for envelope, _ in serve(scene).letters]
    assert networks == ["192.0.2.0/24", "2001:db8:1:2::/64", "", "", "198.51.100.0/24"]


LMTP = [b"LHLO client.example", HELLO[1], *[b"RCPT TO:<pbem+%d@play.example>" % number for number in range(3)]]


@pytest.mark.parametrize(
    ("raw", "trouble", "reply"),
    [
        (TEXT, None, "250"),
        (TEXT, ZeroDivisionError("secret"), "451"),
        (TEXT, BusyError(), "451"),
        (TEXT, FullError(), "452"),
        (TEXT, Refusal("450 4.7.1 no"), "450"),
        (b"\r\n" * 6000, None, "552"),
        (b"x" * 70_000 + b"\r\n", None, "500"),
    ],
)
def test_lmtp_gives_a_reply_for_each_recipient(raw: bytes, trouble: Exception | None, reply: str) -> None:
    async def scene(office: Office) -> None:
        office.trouble = trouble
        async with office.client() as client:
            await client.reply()
            await client.open(LMTP)
            assert (await client.say(b"RCPT TO:<nobody@play.example>")).startswith("550")
            replies = [await client.data(raw), await client.reply(), await client.reply()]
            assert [line[:3] for line in replies] == [reply] * 3
            assert (await client.say(b"NOOP")).startswith("250")

    letters = serve(scene, "lmtp").letters
    assert len(letters) == (reply == "250")


def test_lmtp_has_its_own_greeting() -> None:
    async def scene(office: Office) -> None:
        async with office.client() as client:
            await client.reply()
            assert (await client.say(HELLO[0])).startswith("500")
            await client.open(LMTP[:2])
            assert (await client.say(b"DATA")).startswith("503")

    serve(scene, "lmtp")


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


@pytest.mark.odd
def test_every_odd_mail_is_taken_in_as_it_is(odd_mail: list[Path]) -> None:
    mails = [path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for path in odd_mail]
    mails = [mail if mail.endswith(b"\r\n") else mail + b"\r\n" for mail in mails]

    async def scene(office: Office) -> None:
        for start in range(0, len(mails), 50):
            async with office.client() as client:
                await client.reply()
                for mail in mails[start : start + 50]:
                    await client.open()
                    await client.say(b"DATA")
                    stuffed = (b"\r\n" + mail).replace(b"\r\n.", b"\r\n..")[2:]
                    assert (await client.say(stuffed + b".")).startswith("250")

    # More commands than a client needs: each letter begins with EHLO here.
    letters = serve(scene, limits=Limits(session=Duration(timedelta(minutes=1).seconds))).letters
    assert [raw for _, raw in letters] == mails
