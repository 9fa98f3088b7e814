"""A network in memory: streams that split data at any octet, delay it, and are cut.

Each connection has its own source of randomness, so that nothing depends on who asks first. Nothing here knows what
is said over it: see `simulation.mailers`.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from simulation.loop import PLACE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import Context

    from simulation.loop import Loop

LONG = 20_000, 500
"""Within how many octets a connection that will be cut is cut: towards the listener, and back."""


@dataclass
class Troubles:
    """The probability of each event."""

    cut: float = 0.04
    split: float = 0.5
    slow: float = 0.02
    refused: float = 0.02


class Stream(asyncio.Transport):
    """One end of a connection; what arrives there is handled in its `context`, on its machine."""

    def __init__(
        self, loop: Loop, random: Random, troubles: Troubles, names: tuple[Any, Any], left: float, context: Context
    ) -> None:
        super().__init__({"peername": names[1], "sockname": names[0]})
        self.context = context
        self._loop = loop
        self._random = random
        self._troubles = troubles
        self._left = left
        """Octets after which it is cut."""
        self.other: Stream = self
        self._protocol: Any = None
        self._then = 0.0
        """When the last data that was sent arrives."""
        self._closing = False
        self.lost = False
        self._paused = False
        self._held: list[bytes | None] = []

    # What asyncio asks of a transport.

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        found: asyncio.BaseProtocol = self._protocol
        return found

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return not self._paused

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        held, self._held = self._held, []
        for data in held:
            self._loop.call_soon(self._arrive, data, context=self.context)

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def write(self, data: Any) -> None:
        if self._closing or not data:
            return
        for piece in self._pieces(bytes(data)):
            if self._left < len(piece):
                self._send(piece[: int(self._left)])
                self._cut()
                return
            self._left -= len(piece)
            self._send(piece)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._send(None)
            self._loop.call_soon(self.lose, None, context=self.context)

    def abort(self) -> None:
        self._closing = True
        self.lose(None)
        self._loop.call_later(self._delay(), self.other.lose, ConnectionResetError("cut"), context=self.other.context)

    # Delivery.

    def _pieces(self, data: bytes) -> list[bytes]:
        if self._random.random() >= self._troubles.split or len(data) < 2:
            return [data]
        most = 4 if len(data) > 100 else min(len(data) - 1, 8)
        ends = sorted(self._random.sample(range(1, len(data)), min(self._random.randint(1, most), len(data) - 1)))
        return [data[begin:end] for begin, end in zip([0, *ends], [*ends, len(data)], strict=True)]

    def _delay(self) -> float:
        most = 40.0 if self._random.random() < self._troubles.slow else 0.03
        return self._random.random() * most

    def _send(self, data: bytes | None) -> None:
        """Let data arrive after everything sent before; None is the end."""
        self._then = max(self._then, self._loop.time() + self._delay()) + 1e-6
        self._loop.call_at(self._then, self.other.come, data, context=self.other.context)

    def _cut(self) -> None:
        self._closing = True
        error = ConnectionResetError("cut")
        self._loop.call_later(self._delay(), self.lose, error, context=self.context)
        self._loop.call_at(self._then + self._delay(), self.other.lose, error, context=self.other.context)

    def come(self, data: bytes | None) -> None:
        """Data from the other end arrives."""
        if self.lost:
            return
        if self._paused:
            self._held.append(data)
        else:
            self._arrive(data)

    def _arrive(self, data: bytes | None) -> None:
        if self.lost:
            return
        protocol = self._protocol
        if data is None:
            if not protocol.eof_received():
                self._closing = True
                self.lose(None)
            return
        if self._closing:
            return
        if isinstance(protocol, asyncio.BufferedProtocol):
            while data:
                room = protocol.get_buffer(len(data))
                count = min(len(room), len(data))  # type: ignore[arg-type]
                room[:count] = data[:count]  # type: ignore[index]
                protocol.buffer_updated(count)
                data = data[count:]
        else:
            protocol.data_received(data)

    def lose(self, error: Exception | None) -> None:
        """This end is over."""
        self._closing = True
        if not self.lost:
            self.lost = True
            self._protocol.connection_lost(error)


class _Socket:
    def __init__(self, name: tuple[str, int]) -> None:
        self._name = name

    def getsockname(self) -> tuple[str, int]:
        return self._name


@dataclass
class Door:
    """A listener; stands for `asyncio.Server`."""

    factory: Callable[[], asyncio.BaseProtocol]
    place: tuple[str, int]
    context: Context
    serving: bool = False
    sockets: Sequence[_Socket] = field(default_factory=list)

    async def start_serving(self) -> None:
        self.serving = True

    def close(self) -> None:
        self.serving = False


class Network:
    """All listeners, and the connections between them."""

    def __init__(self, loop: Loop, seed: str, troubles: Troubles) -> None:
        self._loop = loop
        self._seed = seed
        self.troubles = troubles
        self._doors: dict[tuple[str, int], Door] = {}
        self._number = 0
        self._streams: list[Stream] = []
        """All ends of connections on machines."""

    def listen(self, factory: Any, host: str, port: int, **_: object) -> Door:
        door = self._doors[host, port] = Door(factory, (host, port), copy_context())
        door.sockets = [_Socket(door.place)]
        return door

    async def connect(self, factory: Any, host: str, port: int, **_: object) -> tuple[Any, Any]:
        """As `loop.create_connection`, after a moment."""
        random = self._own_random()
        await asyncio.sleep(random.random() * 0.05)
        if random.random() < self.troubles.refused:
            raise ConnectionRefusedError(111, "refused")
        protocol = factory()
        return self.join(protocol, (host, port), (host, 1025), random), protocol

    def hosts(self, port: int) -> list[str]:
        """The hosts of which each has, or had, a listener at a port."""
        return [host for host, other in self._doors if other == port]

    def join(
        self, protocol: Any, place: tuple[str, int], name: tuple[str, int], random: Random | None = None
    ) -> Stream:
        """Connect a protocol to the listener at a place; raises ConnectionRefusedError."""
        door = self._doors.get(place)
        if door is None or not door.serving or self._loop.sleeps(door.context.get(PLACE, "")):
            raise ConnectionRefusedError(111, "nobody listens")
        random = random or self._own_random()
        cut = random.random() < self.troubles.cut
        forth, back = (random.randrange(most) if cut and random.random() < 0.7 else float("inf") for most in LONG)
        near = Stream(self._loop, random, self.troubles, (name, door.place), forth, copy_context())
        far = Stream(self._loop, random, self.troubles, (door.place, name), back, door.context.copy())
        near.other, far.other = far, near
        answering: Any = far.context.run(door.factory)
        near.set_protocol(protocol)
        far.set_protocol(answering)
        ours = [stream for stream in (near, far) if stream.context.get(PLACE, "")]
        self._streams = [*(stream for stream in self._streams if not stream.lost), *ours]
        far.context.run(answering.connection_made, far)
        protocol.connection_made(near)
        return near

    def unplug(self, place: str) -> None:
        """A machine is gone: its listeners are closed, and its connections end silently."""
        for door in self._doors.values():
            if door.context.get(PLACE, "") == place:
                door.serving = False
        gone = [stream for stream in self._streams if stream.context.get(PLACE, "") == place]
        for stream in gone:
            stream.abort()

    def _own_random(self) -> Random:
        self._number += 1
        return Random(f"{self._seed} connection {self._number}")
