"""The mail servers around ours: those that deliver players' letters and retry, and the smarthost for outgoing mail.

Both speak SMTP over the simulated network, and are as moody as real ones: they ask to try again later, hang up when a
letter is accepted, accept it and deny it, and send an accepted letter once more.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.loop import Loop
    from simulation.network import Network

INTAKE, SMARTHOST = 25, 587
"""The ports at which our server listens, and its smarthost."""

PATIENCE = 300.0  # seconds that a client waits for a whole session
RETRIES = 60.0, 1800.0  # seconds until it tries again, at first and later


class Bringer(asyncio.Protocol):
    """One attempt to deliver a letter; `over` is told the reply, or "" if there was none.

    `forgotten` is told a 250 that the client forgets, before it sends the letter once more.
    """

    def __init__(
        self,
        loop: Loop,
        random: Random,
        sender: str,
        recipient: str,
        raw: bytes,
        over: Callable[[str], None],
        forgotten: Callable[[str], None],
    ) -> None:
        self._over = over
        self._forgotten = forgotten
        self._heard = b""
        self._answered = False
        message = raw.replace(b"\r\n.", b"\r\n..") + b".\r\n"
        letter = [f"MAIL FROM:<{sender}>\r\n".encode(), f"RCPT TO:<{recipient}>\r\n".encode(), b"DATA\r\n"]
        if random.random() < 0.3:
            # RFC 2920: three commands at once, and three replies.
            self._script = [b"EHLO mail.example\r\n", b"".join(letter), b"", b"", message]
        else:
            self._script = [b"EHLO mail.example\r\n", *letter, message]
        self._again = random.random() < 0.03
        """Whether the client forgets the reply, and sends the letter once more."""
        self._letter = [*letter, message]
        self._timer = loop.call_later(PATIENCE, self._give_up)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while b"\n" in self._heard:
            line, self._heard = self._heard.split(b"\n", 1)
            if line[3:4] != b"-":
                self._hear(line.strip().decode())

    def _hear(self, reply: str) -> None:
        if self._answered:
            return
        if not self._script and reply.startswith("250"):
            if self._again:
                self._again = False
                self._forgotten(reply)
                self._script = self._letter[1:]
                self._transport.write(self._letter[0])
            else:
                self._end(reply)
        elif reply[:1] not in {"2", "3"}:
            self._end(reply)
        elif self._script and (said := self._script.pop(0)):
            self._transport.write(said)

    def _end(self, reply: str) -> None:
        if not self._answered:
            self._answered = True
            self._timer.cancel()
            self._transport.write(b"QUIT\r\n")
            self._transport.close()
            self._over(reply)

    def _give_up(self) -> None:
        self._end("")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        if not self._answered:
            self._answered = True
            self._timer.cancel()
            self._over("")


class Post:
    """The mail servers of everybody who writes to us."""

    def __init__(
        self, loop: Loop, network: Network, seed: str, told: Callable[[bytes, str, str, bool], None]
    ) -> None:
        self._loop = loop
        self._network = network
        self._seed = seed
        self._told = told
        """Is told of each attempt: the letter, its sender, the reply, and whether it is the only attempt."""
        self._number = 0
        self.waiting = 0
        """How many letters are neither accepted nor refused yet."""

    def post(self, sender: str, recipient: str, raw: bytes, delay: float = 0.0, *, once: bool = False) -> None:
        """Deliver a letter, retrying until it is accepted or refused for good; with `once`, try only once."""
        self._number += 1
        random = Random(f"{self._seed} letter {self._number}")
        address = f"198.51.100.{1 + self._number % 3}"
        tries = 0
        self.waiting += 1

        def attempt() -> None:
            nonlocal tries
            tries += 1
            bringer = Bringer(self._loop, random, sender, recipient, raw, over, forgotten)
            hosts = self._network.hosts(INTAKE)
            if len(hosts) > 1:
                random.shuffle(hosts)  # as with MX records of one preference
            for host in hosts:
                with suppress(ConnectionRefusedError):
                    self._network.join(bringer, (host, INTAKE), (address, 40_000))
                    return
            bringer._timer.cancel()
            over("")

        def forgotten(reply: str) -> None:
            # What follows is another attempt, which may fail.
            self._told(raw, sender, reply, False)

        def over(reply: str) -> None:
            self._told(raw, sender, reply, once)
            if once or reply[:1] in {"2", "5"}:
                self.waiting -= 1
                return
            least, most = RETRIES
            self._loop.call_later(min(least * 2 ** min(tries, 9), most) * (0.5 + random.random()), attempt)

        self._loop.call_later(delay + random.random() * 5, attempt)


@dataclass
class Moods:
    """The probability of each mood of a smarthost, for each letter."""

    later: float = 0.02
    """It asks to try again, at any of the four commands."""
    hangs_up: float = 0.02
    """It accepts the letter, and hangs up without a reply."""
    lies: float = 0.01
    """It accepts the letter, and denies it."""
    silent: float = 0.01
    """It accepts the letter, and is silent for a long time."""


class Smarthost(asyncio.Protocol):
    """One session of the server that accepts our letters; `take` gets each letter.

    `sure` is told that a client must know that its letter was accepted, or that it may not have heard so after all.
    """

    def __init__(
        self,
        loop: Loop,
        random: Random,
        moods: Moods,
        take: Callable[[str, bytes], None],
        sure: Callable[[str, bytes, bool], None] = lambda *_: None,
    ) -> None:
        self._loop = loop
        self._random = random
        self._moods = moods
        self._take = take
        self._sure = sure
        self._last: tuple[str, bytes] | None = None
        """The last letter of which the client was told that it was accepted, if the client may not have heard it."""
        self._heard = b""
        self._mailing = False
        self._recipient = ""
        self._data: bytes | None = None
        self._pipelining = random.random() < 0.7
        self._refuses = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._say("220 smarthost.example")

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while True:
            if self._data is not None:
                end = self._heard.find(b"\r\n.\r\n") if not self._heard.startswith(b".\r\n") else -2
                if end == -1:
                    return
                raw, self._heard = self._heard[: end + 2], self._heard[end + 5 :]
                self._data = None
                self._taken(raw.replace(b"\r\n..", b"\r\n."))
            elif b"\n" in self._heard:
                line, self._heard = self._heard.split(b"\n", 1)
                self._obey(line.strip().decode())
            else:
                return

    def _obey(self, line: str) -> None:
        verb = line[:4].upper()
        later = self._random.random() < self._moods.later and verb in {"MAIL", "RCPT", "DATA"}
        if verb == "MAIL":
            self._mailing, self._recipient = not later, ""
        if verb == "EHLO":
            self._say("250-smarthost.example\r\n250 PIPELINING" if self._pipelining else "250 smarthost.example")
        elif later:
            self._say("451 4.3.0 come again")
        elif verb == "RCPT" and not self._mailing:
            self._say("503 5.5.1 from whom?")
        elif verb == "RCPT":
            self._recipient = line[line.index("<") + 1 : line.index(">")]
            self._say("250 2.1.5 ok")
        elif verb == "DATA" and not self._recipient:
            self._say("503 5.5.1 to whom?")
        elif verb == "DATA":
            self._data = b""
            self._say("354 go on")
        elif verb == "QUIT":
            self._last = None
            self._say("221 2.0.0 bye")
            self._transport.close()
        else:
            self._say("250 2.0.0 ok")

    def _taken(self, raw: bytes) -> None:
        mood, moods = self._random.random(), self._moods
        if mood < moods.later:
            self._say("451 4.3.0 come again")
            return
        self._take(self._recipient, raw)
        mood -= moods.later
        if mood < moods.hangs_up:
            self._transport.abort()
        elif mood < moods.hangs_up + moods.lies:
            self._say("451 4.3.0 come again")
        elif mood < moods.hangs_up + moods.lies + moods.silent:
            self._loop.call_later(3600, self._say, "250 2.0.0 taken at last")
        else:
            self._last = self._recipient, raw
            self._sure(*self._last, True)
            self._say("250 2.0.0 taken")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        if self._last is not None:
            self._sure(*self._last, False)

    def _say(self, reply: str) -> None:
        self._transport.write(f"{reply}\r\n".encode())
