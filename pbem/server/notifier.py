"""Posts notifications: a line of text to a player's topic, as ntfy takes it.

Here live the check of the host and of its address, and the task that posts. A notification is a courtesy: no letter
and no deadline waits for it, and the store is not locked meanwhile. The connection goes to the very address that was
checked, so that a name that changes its address in between leads nowhere else. Implements docs/operating.md,
"Notifications".
"""

from __future__ import annotations

import http.client
import socket
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from pbem.networks import is_public
from pbem.server.http_call import SILENCE, Unreachable, fetched, is_passing
from pbem.smtp.rounds import Asking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from pbem.smtp.delivery import Means
    from pbem.store.questions import Notification, Notifications

    Tell = Callable[[str, str, str], Awaitable[int]]
    """Posts a title and a text to a topic's URL, and returns the HTTP status. Raises `Unreachable`."""

RETRIES = (timedelta(minutes=1), timedelta(minutes=10))  # what is waited before each next try
AT_ONCE = 8  # requests under way
LEASE = timedelta(minutes=2)  # until another process repeats the requests of one that died

log = structlog.get_logger()


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


class Notifier(Asking["Notification"]):
    """The task that posts what is due, to topics at these hosts, under the title of this server."""

    def __init__(
        self, notifications: Notifications, hosts: Collection[str], title: str, means: Means, tell: Tell
    ) -> None:
        super().__init__(means)
        self._notifications = notifications
        self._hosts = hosts
        self._title = title
        self._tell = tell

    async def _round(self) -> float:
        room = AT_ONCE - len(self._under_way)
        if not room:
            return self._means.longest_wait  # the end of each wakes us
        now = self._means.now()
        for notification in await self._means.run(self._notifications.due, now, now + LEASE, room):
            self._begin(notification)
        return self._until(await self._means.run(self._notifications.next_due))

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
            await self._means.run(lambda: self._notifications.settle(due, arrived=arrived))
            self._means.settled()
        else:
            await self._means.run(self._notifications.postpone, due, self._means.now() + RETRIES[due.tries - 1])
