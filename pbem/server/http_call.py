"""Requests by HTTP, with limits of time and size: those to witnesses, and the notifications of players' topics.

No letter and no deadline waits for a notification; its connection goes to the very address that was checked, so that
a name that changes its address in between leads nowhere else. No redirections, and no proxies from the environment.
Implements docs/witnesses.md, "What is asked" (C2SP tlog-witness), and docs/operating.md, "Notifications".
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from pbem.networks import is_public
from pbem.smtp.rounds import Asker, in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from pbem.smtp.rounds import TaskServices
    from pbem.store.questions import Notification, Notifications, WitnessRequest, WitnessRequests

    Connected = Callable[[str], http.client.HTTPConnection]
    Post = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
    """Posts a body to a URL, and returns the status and the answer's body. Raises `Unreachable`."""
    Tell = Callable[[str, str, str], Awaitable[int]]
    """Posts a title and a text to a topic's URL, and returns the HTTP status. Raises `Unreachable`."""

SILENCE = 10.0  # seconds without an octet
PATIENCE = 30.0  # seconds for one request and the whole answer
MOST = 16 * 1024  # octets of an answer: sixteen signatures, as long as any, have less
LEASE = timedelta(minutes=2)  # until another process repeats the requests of one that died
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)  # of a witness
RETRIES = (timedelta(minutes=1), timedelta(minutes=10))  # what is waited before each next try of a topic
AT_ONCE = 8  # notifications under way
_LATER = frozenset({408, 425, 429})

log = structlog.get_logger()


class Unreachable(Exception):
    """Nobody answered; a later attempt may succeed."""


class _Call:
    """One request, in a thread of its own; `cut` ends it from another thread."""

    def __init__(self, url: str, body: bytes, title: str, connected: Connected) -> None:
        self._path = urlsplit(url).path
        self._body = body
        self._title = title
        self._over = False
        self._socket: socket.socket | None = None
        self._connection = connected(url)

    def __call__(self) -> tuple[int, bytes]:
        connection = self._connection
        try:
            connection.connect()
            self._socket = connection.sock
            if self._over:
                raise Unreachable("no connection in time")
            headers = {"User-Agent": "pbem", "Connection": "close", "Content-Type": "text/plain; charset=utf-8"}
            if self._title:
                headers["Title"] = self._title
            connection.request("POST", self._path, self._body, headers)
            with connection.getresponse() as response:
                content = b""
                while len(content) <= MOST and (some := response.read1(MOST)):
                    content += some
                if len(content) > MOST:
                    raise Unreachable("the answer is too long")
                return response.status, content
        except OSError as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        except (http.client.HTTPException, ValueError) as error:  # whose text is the other side's
            raise Unreachable(type(error).__name__) from error
        finally:
            connection.close()

    def cut(self) -> None:
        """Stop waiting for the other side."""
        self._over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, which would wait


def connection_to(url: str) -> http.client.HTTPConnection:
    """A connection to the host of a URL, at whatever address it has."""
    place = urlsplit(url)
    if place.scheme == "https":
        return http.client.HTTPSConnection(place.netloc, timeout=SILENCE, context=ssl.create_default_context())
    return http.client.HTTPConnection(place.netloc, timeout=SILENCE)


async def fetched(url: str, body: bytes, title: str = "", connected: Connected = connection_to) -> tuple[int, bytes]:
    """Status and body of the answer to what is posted. Raises `Unreachable`.

    `connected` makes the connection to a URL, which is not open yet; a `title` is told as a header.
    """
    call = _Call(url, body, title, connected)
    try:
        return await asyncio.wait_for(in_thread("http", call), PATIENCE)
    except TimeoutError:
        raise Unreachable("no answer in time") from None
    finally:
        call.cut()


def is_passing(status: int) -> bool:
    """True for a status that says to come again."""
    return status >= 500 or status in _LATER


class WitnessAsker(Asker["WitnessRequest"]):
    """The task that asks what is due, keeps the answers, and wakes the desk; `urls` has the witnesses' by name."""

    def __init__(
        self, requests: WitnessRequests, urls: Mapping[str, str], services: TaskServices, post: Post
    ) -> None:
        super().__init__(services)
        self._requests = requests
        self._urls = urls
        self._post = post

    async def _round(self) -> float:
        following, now = await self._services.run(self._requests.next_due), self._services.now()
        if following is not None and following <= now:
            for request in await self._services.run(self._requests.due, now, now + LEASE):
                self._begin(request)
            following = await self._services.run(self._requests.next_due)
        return self._until(following)

    async def _ask(self, asked: WitnessRequest) -> None:
        url = self._urls.get(asked.witness)
        if url is None:  # no witness of ours any more
            await self._services.run(self._requests.settle, asked, 0, "")
            return
        try:
            status, content = await self._post(f"{url.rstrip('/')}/add-checkpoint", asked.request.encode())
            # It says to come again, or nothing about what was asked.
            if is_passing(status) or not (status == 200 or status >= 400):
                raise Unreachable(f"HTTP {status}")
        except Unreachable as error:
            log.warning("witness out of reach", witness=asked.witness, tries=asked.tries, trouble=str(error))
            pause = min(FIRST_RETRY * 2 ** min(asked.tries - 1, 6), LONGEST_RETRY)
            await self._services.run(self._requests.postpone, asked, self._services.now() + pause)
            return
        # A stranger wrote it: no control characters other than line ends.
        plain = "".join(char for char in content.decode("utf-8", "replace") if char.isprintable() or char == "\n")
        await self._services.run(self._requests.settle, asked, status, plain)
        self._services.settled()


class CheckedConnection(http.client.HTTPSConnection):
    """A connection to a host at a public address of it."""

    def __init__(self, netloc: str, context: ssl.SSLContext, allowed: Callable[[str], bool]) -> None:
        super().__init__(netloc, timeout=SILENCE, context=context)
        self._tls = context
        self._allowed = allowed

    def connect(self) -> None:
        """Look up the host, check what was found, and connect there; raises OSError."""
        trouble = OSError("no public address")
        for family, kind, protocol, _, place in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
            if self._allowed(str(place[0])):
                raw = socket.socket(family, kind, protocol)
                try:
                    raw.settimeout(self.timeout)
                    raw.connect(place)
                    self.sock = self._tls.wrap_socket(raw, server_hostname=self.host)
                    return
                except OSError as error:  # such as an IPv6 address where there is no IPv6
                    raw.close()
                    trouble = error
        raise trouble


def told(context: ssl.SSLContext | None = None, allowed: Callable[[str], bool] = is_public) -> Tell:
    """Posting over this machine's network, with its certificates; `allowed` is asked of each address."""

    def connected(url: str) -> CheckedConnection:
        return CheckedConnection(urlsplit(url).netloc, context or ssl.create_default_context(), allowed)

    async def tell(url: str, title: str, text: str) -> int:
        status, _ = await fetched(url, text.encode(), title, connected)
        return status

    return tell


class Notifier(Asker["Notification"]):
    """The task that posts what is due, to topics at these hosts, under the title of this server."""

    def __init__(
        self, notifications: Notifications, hosts: Collection[str], title: str, services: TaskServices, tell: Tell
    ) -> None:
        super().__init__(services)
        self._notifications = notifications
        self._hosts = hosts
        self._title = title
        self._tell = tell

    async def _round(self) -> float:
        room = AT_ONCE - len(self._under_way)
        if not room:
            return self._services.longest_wait  # the end of each wakes us
        now = self._services.now()
        for notification in await self._services.run(self._notifications.due, now, now + LEASE, room):
            self._begin(notification)
        return self._until(await self._services.run(self._notifications.next_due))

    async def _ask(self, due: Notification) -> None:
        host = urlsplit(due.topic.url).netloc
        try:
            if host not in self._hosts:
                raise Unreachable("no longer allowed")
            status = await self._tell(due.topic.url, self._title, due.topic.text)
            arrived = status == http.client.OK
            trouble = "" if arrived else f"HTTP {status}"
            final = not is_passing(status)
        except Unreachable as error:
            arrived, trouble, final = False, str(error), False
        if not arrived:  # the topic is as good as a password: only its host is logged
            log.warning("notification failed", host=host, tries=due.tries, trouble=trouble)
        if arrived or final or due.tries > len(RETRIES):
            await self._services.run(lambda: self._notifications.settle(due, arrived=arrived))
            self._services.settled()
        else:
            await self._services.run(self._notifications.postpone, due, self._services.now() + RETRIES[due.tries - 1])
