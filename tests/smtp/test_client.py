"""The conversation with the smarthost, said by dialogs: what leaves, and what each reply means."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from machines import certificate

from pbem.config.mail import SmarthostConfig
from pbem.config.values import Duration
from pbem.server.ways_out import access_token
from pbem.smtp.delivery import Permanent, Smarthost, Temporary

if TYPE_CHECKING:
    from pathlib import Path

ANNA, US = "anna@example.org", "pbem+b01@play.example"
RAW = b"Subject: report\r\n\r\n.\r\n..dots\r\nend\r\n"
WIRE = b"Subject: report\r\n\r\n..\r\n...dots\r\nend\r\n.\r\n"
MAIL, RCPT, DATA = b"MAIL FROM:<pbem+b01@play.example>\r\n", b"RCPT TO:<anna@example.org>\r\n", b"DATA\r\n"
HELLO = b"250-mail.example\r\n250 SIZE 1000000\r\n"
GO, TAKEN = b"354 go ahead\r\n", b"250 2.0.0 taken\r\n"
OK = b"250 ok\r\n"
QUIT = (b"QUIT\r\n", b"221 bye\r\n")
END = b""

Exchange = tuple[bytes, bytes]
"""The octets expected before anything is answered, and the answer; b"" hangs up."""


GREETED: Exchange = (b"EHLO play.example\r\n", HELLO)
BEGUN: list[Exchange] = [(MAIL, OK), (RCPT, OK), (DATA, GO)]
LETTER = [*BEGUN, (WIRE, TAKEN)]
RESET = (b"RSET\r\n", OK)


class Server:
    """Says its part of a dialog, connection by connection; what comes otherwise than expected is kept as a fault."""

    def __init__(self, *dialogs: list[Exchange]) -> None:
        self.dialogs = [*dialogs]
        self.faults: list[str] = []
        self.sessions = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sessions += 1
        for expected, answer in self.dialogs.pop(0) if self.dialogs else []:
            try:
                heard = await asyncio.wait_for(reader.readexactly(len(expected)), 5)
            except (asyncio.IncompleteReadError, TimeoutError) as error:
                heard = getattr(error, "partial", b"")
            if heard != expected:
                self.faults.append(f"{heard!r} in place of {expected!r}")
                break
            if answer == END:
                break
            for half in (answer[: len(answer) // 2], answer[len(answer) // 2 :]):
                writer.write(half)
                await asyncio.sleep(0)
        else:
            if rest := await reader.read():
                self.faults.append(f"{rest!r} at the end")


def host(port: int, timeout: float = 5, **more: Any) -> Smarthost:
    return Smarthost(
        SmarthostConfig(host="127.0.0.1", port=port, timeout=Duration(seconds=timeout), **more), server="play.example"
    )


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Scene = Callable[[Smarthost], Awaitable[None]]


def against(talk: Talk, scene: Scene, timeout: float = 5) -> None:
    """Play a scene against somebody who talks, and hear them out."""

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example\r\n")
        with contextlib.suppress(ConnectionError):
            await talk(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def main() -> None:
        async with await asyncio.start_server(session, "127.0.0.1", 0) as listener:
            smarthost = host(listener.sockets[0].getsockname()[1], timeout)
            await asyncio.wait_for(scene(smarthost), 10)
            await smarthost.rest()
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - connections come to their end
                await asyncio.sleep(0.001)

    asyncio.run(main())


def play(server: Server, scene: Scene) -> None:
    """Play a scene with the smarthost, which must hear all of its dialogs and nothing else."""
    against(server.talk, scene)
    assert server.faults == []
    assert server.dialogs == []


async def send(smarthost: Smarthost) -> str:
    return await smarthost.send(US, ANNA, RAW)


def says(error: type[Exception], words: str) -> Scene:
    async def scene(smarthost: Smarthost) -> None:
        with pytest.raises(error, match=words):
            await send(smarthost)

    return scene


async def taken(smarthost: Smarthost) -> None:
    assert await send(smarthost) == "2.0.0 taken"


def test_a_smarthost_that_knows_no_ehlo_gets_helo() -> None:
    refused = [(b"EHLO play.example\r\n", b"500 what\r\n"), (b"HELO play.example\r\n", OK)]
    play(Server([*refused, *LETTER, QUIT]), taken)


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([OK, b"550 no\r\n"], Permanent),
        ([OK, b"450 later\r\n"], Temporary),
        ([OK, OK, b"554 5.7.1 never\r\n"], Permanent),
        ([OK, OK, b"451 not now\r\n"], Temporary),
        ([OK, OK, OK], Temporary),
        ([OK, OK, GO, b"554 never\r\n"], Permanent),
        ([OK, OK, GO, b"452 full\r\n"], Temporary),
        ([OK, OK, GO, b"550 5.4.5 Daily user sending limit exceeded\r\n"], Temporary),
        ([OK, OK, GO, b"354 what\r\n"], Temporary),
    ],
)
def test_a_refusal_is_told_and_leaves_the_connection_usable(replies: list[bytes], error: type[Exception]) -> None:
    async def scene(smarthost: Smarthost) -> None:
        await says(error, f"^{replies[-1].decode().strip()}$")(smarthost)
        await taken(smarthost)

    refused = list(zip((MAIL, RCPT, DATA, WIRE), replies, strict=False))
    play(Server([GREETED, *refused, RESET, *LETTER, QUIT]), scene)


@pytest.mark.parametrize(
    ("mail", "error"),
    [
        (b"550 not you\r\n", Permanent),
        (b"451 later\r\n", Temporary),
        (b"530 log in\r\n", Temporary),
        (b"550 5.4.5 enough\r\n", Temporary),
    ],
)
def test_a_refused_sender_ends_a_new_connection(mail: bytes, error: type[Exception]) -> None:
    play(Server([GREETED, (MAIL, mail), QUIT]), says(error, mail.decode().strip()))


@pytest.mark.parametrize(
    "dialog",
    [
        [(b"EHLO play.example\r\n", END)],
        [GREETED, (MAIL, END)],
        [GREETED, (MAIL, OK), (RCPT, END)],
        [GREETED, *BEGUN, (WIRE, END)],
        [GREETED, *BEGUN, (WIRE[:9], END)],
    ],
)
def test_a_connection_that_ends_in_the_middle_is_no_verdict(dialog: list[Exchange]) -> None:
    play(Server(dialog), says(Temporary, "EOF|ost|Reset"))


@pytest.mark.parametrize("last", [END, b"421 enough\r\n"])
def test_a_kept_connection_that_takes_no_more_letters_is_replaced(last: bytes) -> None:
    async def scene(smarthost: Smarthost) -> None:
        await taken(smarthost)
        await taken(smarthost)

    play(Server([GREETED, *LETTER, (MAIL, last)], [GREETED, *LETTER, QUIT]), scene)


def test_a_kept_connection_that_took_the_sender_is_not_tried_again_elsewhere() -> None:
    async def scene(smarthost: Smarthost) -> None:
        await taken(smarthost)
        await says(Temporary, "EOF|ost|Reset")(smarthost)

    server = Server([GREETED, *LETTER, *BEGUN, (WIRE, END)])
    play(server, scene)
    assert server.sessions == 1


async def hears(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Greet, and hear the beginning of a letter."""
    await reader.readuntil(b"\n")
    writer.write(HELLO)
    await reader.readexactly(len(MAIL))


@pytest.mark.parametrize("stage", [b"", b"250-half"])
def test_silence_is_no_verdict_and_ends_the_connection(stage: bytes) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hears(reader, writer)
        writer.write(stage)
        await reader.read()

    against(silent, says(Temporary, "Timed out"), 0.1)


@pytest.mark.parametrize("reply", [b"hello\r\n", b"250-" + b"x" * 40_000, b"250-more\r\n" * 9000, b"\r\n"])
def test_what_is_no_reply_is_no_verdict(reply: bytes) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hears(reader, writer)
        writer.write(reply)
        await reader.readuntil(b"QUIT\r\n")

    against(babble, says(Temporary, "Malformed|too long"))


@pytest.mark.parametrize(
    ("raw", "wire"),
    [
        (b"a\nb\rc\r\n", b"a\r\nb\r\nc\r\n.\r\n"),
        (b"a\r\n.\n.\r.", b"a\r\n..\r\n..\r\n..\r\n.\r\n"),
        (b"\r\r\n\n", b"\r\n\r\n\r\n.\r\n"),
        (b".", b"..\r\n.\r\n"),
        (b"a\n.\nRCPT TO:<evil@x.example>\n", b"a\r\n..\r\nRCPT TO:<evil@x.example>\r\n.\r\n"),
        (b"", b"\r\n.\r\n"),
    ],
)
def test_what_leaves_has_whole_line_ends_and_one_end(raw: bytes, wire: bytes) -> None:
    async def scene(smarthost: Smarthost) -> None:
        await smarthost.send(US, ANNA, raw)

    play(Server([GREETED, *BEGUN, (wire, TAKEN), QUIT]), scene)


class Vault:
    """Takes letters of those who logged in, on a connection that nobody can read."""

    def __init__(self) -> None:
        self.taken: list[tuple[bool, bytes]] = []

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        secured = server.transport.get_extra_info("sslcontext") is not None  # type: ignore[union-attr]  # it is connected
        self.taken.append((secured and session.authenticated, envelope.original_content))
        return "250 taken"

    def login(self, _server: Any, _session: Any, _envelope: Any, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=mechanism == "PLAIN" and data == LoginPassword(b"pbem", b"secret"), handled=False)


class TokenVault(Vault):
    """Lets in who brings the token of the hour."""

    token = "ya29.first"

    async def auth_XOAUTH2(self, _server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802 - aiosmtpd calls it so
        said = base64.b64decode(args[1])
        return AuthResult(success=said == f"user=pbem\1auth=Bearer {self.token}\1\1".encode(), handled=False)


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The TLS contexts of a server, and of a client that trusts it."""
    files = certificate.make(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    trusting = ssl.create_default_context(cafile=files[0])
    trusting.check_hostname = False
    return context, trusting


def test_an_access_token_is_asked_for_at_each_connection(tmp_path: Path) -> None:
    """One that is over, or cannot be had now, lets letters wait."""
    context, trusting = contexts(tmp_path)

    async def main() -> None:
        vault = TokenVault()
        exclude = ["LOGIN", "PLAIN"]
        listener = await asyncio.get_running_loop().create_server(
            lambda: SMTP(vault, auth_require_tls=True, auth_exclude_mechanism=exclude, tls_context=context),
            "127.0.0.1",
            0,
        )
        port = listener.sockets[0].getsockname()[1]
        config = SmarthostConfig(
            host="127.0.0.1", port=port, tls="starttls", user="pbem", timeout=Duration(seconds=5)
        )
        printed = []
        command = f"echo {vault.token}"

        async def token() -> str:
            printed.append(command)
            return await access_token(command)

        smarthost = Smarthost(config, server="play.example", token=token, tls_context=trusting)
        async with listener:
            for _ in range(2):
                assert await send(smarthost) == "taken"
            assert len(printed) == 1
            await smarthost.rest()
            vault.token = "ya29.second"
            with pytest.raises(Temporary, match="535"):
                await send(smarthost)
            command = "false"
            with pytest.raises(Temporary, match="false: ended with status 1"):
                await send(smarthost)
            command = f"echo {vault.token}"
            assert await send(smarthost) == "taken"
            await smarthost.rest()
        assert vault.taken == [(True, RAW)] * 3

    asyncio.run(main())


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("password", ["secret", "wrong"])
def test_letters_go_over_a_secured_connection_of_somebody_who_logged_in(
    tmp_path: Path, tls: Any, password: str
) -> None:
    context, trusting = contexts(tmp_path)

    async def main() -> None:
        vault = Vault()

        def session() -> SMTP:
            inside: dict[str, Any] = {"tls_context": context, "require_starttls": True} if tls == "starttls" else {}
            # Its own requirement of TLS knows nothing of connections that begin with it.
            return SMTP(vault, authenticator=vault.login, auth_require_tls=tls == "starttls", **inside)

        listener = await asyncio.get_running_loop().create_server(
            session, "127.0.0.1", 0, ssl=context if tls == "implicit" else None
        )
        config = SmarthostConfig(
            host="127.0.0.1",
            port=listener.sockets[0].getsockname()[1],
            tls=tls,
            user="pbem",
            timeout=Duration(seconds=5),
        )
        smarthost = Smarthost(config, server="play.example", password=password, tls_context=trusting)
        async with listener:
            for _ in range(2):
                if password == "wrong":
                    with pytest.raises(Temporary, match="535"):
                        await send(smarthost)
                else:
                    assert await send(smarthost) == "taken"
            await smarthost.rest()
        assert vault.taken == ([] if password == "wrong" else [(True, RAW), (True, RAW)])

    asyncio.run(main())
