"""The sandbox: letters, signatures and keys of strangers are taken apart in a separate process.

Here lives the `Reader` that hands the bytes to a worker with a deadline, a budget of work and a memory limit, and
starts another when it dies. A worker has no store, no keys and no network; what it sends back is decoded by type,
so that only plain letters, verdicts and commands can result. `pbem.desk.reading` has what a worker does.
Implements reliability.md, "Ground facts" (parsing in a child process with a deadline and a memory limit), case 16.

We frame messages ourselves: the frames of `multiprocessing.connection` have no deadline once their first octet came
(`poll` waits only for that one), nor while they are sent, and a worker that a letter has taken over may stop in the
middle of one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import traceback
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from pbem.config.limits import Limits
from pbem.config.values import Duration
from pbem.desk.reading import AT_HAND, Asked, Found, InProcess, ReaderError, Understood
from pbem.identity import BadKey, Key
from pbem.identity.sender_auth import Voucher
from pbem.mail.bounces import Bounce
from pbem.mail.message import Letter, Unreadable
from pbem.phrase import Phrase
from pbem.proof.signed_letters import Heard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Worker"]

START = 60.0  # seconds until a new worker counts as stuck: a loaded machine takes its time
LENGTH = 4  # octets of a frame's length
AHEAD = 64 * 1024  # octets of requests that may wait in a worker's socket
ALARM = 2.0  # seconds after our own deadline, when a worker whose daemon was killed ends itself

log = structlog.get_logger()


# What goes to the worker.


class _Read(msgspec.Struct, frozen=True, tag=True):
    raw: bytes
    keys: list[Key] | None = None
    server: str = ""
    at: datetime | None = None


class _Understand(msgspec.Struct, frozen=True, tag=True):
    raw: bytes
    keys: list[Key]
    server: str
    at: datetime


class _Show(msgspec.Struct, frozen=True, tag=True):
    content: bytes
    keys: list[str]
    server: str


class _Vouch(msgspec.Struct, frozen=True, tag=True):
    raw: bytes
    records: dict[str, str | None]
    authserv_id: str
    at: datetime


class _ParseText(msgspec.Struct, frozen=True, tag=True):
    data: str
    at: datetime | None


class _ParseBytes(msgspec.Struct, frozen=True, tag=True):
    data: bytes
    at: datetime | None


class _Bounced(msgspec.Struct, frozen=True, tag=True):
    raw: bytes


_Request = _Bounced | _Read | _Understand | _Show | _Vouch | _ParseText | _ParseBytes

# What comes back.


class _Letter(msgspec.Struct, frozen=True, tag=True):
    letter: Letter
    understood: Understood | None


class _Unreadable(msgspec.Struct, frozen=True, tag=True):
    reason: Phrase
    letter: Letter | None


class _Understood(msgspec.Struct, frozen=True, tag=True):
    understood: Understood


class _Shown(msgspec.Struct, frozen=True, tag=True):
    heard: Heard


class _Voucher(msgspec.Struct, frozen=True, tag=True):
    voucher: Voucher


class _Key(msgspec.Struct, frozen=True, tag=True):
    key: Key


class _Bounce(msgspec.Struct, frozen=True, tag=True):
    bounce: Bounce


class _BadKey(msgspec.Struct, frozen=True, tag=True):
    reason: Phrase


class _Broken(msgspec.Struct, frozen=True, tag=True):
    """An unexpected exception: its kind and its places, never its text, which may quote the letter."""

    kind: str
    frames: list[str]


class _Ready(msgspec.Struct, frozen=True, tag=True):
    pass


_Reply = _Bounce | _Letter | _Unreadable | _Understood | _Shown | _Voucher | _Key | _BadKey | _Broken | _Ready


def _document(value: object) -> object:
    if isinstance(value, Phrase):
        return value.document
    raise NotImplementedError(type(value))


def _phrase(_kind: type, document: object) -> Phrase:
    return Phrase.read(document)


_encoder = msgspec.msgpack.Encoder(enc_hook=_document)


class _Batch:
    """Requests to a worker, how many of them were sent, and the answers so far."""

    def __init__(self, requests: Sequence[_Request]) -> None:
        self.frames = [_encoder.encode(request) for request in requests]
        self.replies: list[_Reply | ReaderError] = []
        self.sent = 0
        self.in_socket = 0
        """Octets of requests that were sent and not answered."""

    @property
    def next(self) -> bytes | None:
        """The next request to send, if its worker's socket has room for it.

        Sending to a blocked worker must not keep us from listening to it.
        """
        if self.sent == len(self.frames):
            return None
        frame = self.frames[self.sent]
        return frame if self.sent == len(self.replies) or self.in_socket + len(frame) <= AHEAD else None

    def answered(self, reply: _Reply | ReaderError) -> None:
        """Note the answer to the first request that has none."""
        self.in_socket -= len(self.frames[len(self.replies)])
        self.replies.append(reply)

    def lost(self) -> None:
        """Forget what was sent ahead: it was lost with the worker."""
        self.sent, self.in_socket = len(self.replies), 0


class Worker:
    """A reader whose work is done in a separate process; for one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadline = limits.reading.total_seconds()
        # Each nested part is sent along with the whole that it is cut from. Its text is there decoded, as what was
        # signed, and in pieces, with up to three octets for each of its own.
        self._most = (2 * (limits.depth + 2) + 24) * limits.message_bytes + 2**20
        self._decoder: msgspec.msgpack.Decoder[_Reply] = msgspec.msgpack.Decoder(_Reply, dec_hook=_phrase)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._received = bytearray()
        self._asked = _Batch([])
        self._beside: Worker | None = None
        self._started = False
        self._start()

    def get_ready(self) -> None:
        """Make sure that a worker waits for letters; raises `ReaderError` if none can be started."""
        if self._process is None or self._process.poll() is not None:
            self._end("ended between letters" if self._process else "was closed")
            self._start()
        if self._started:
            return
        reply = self._receive(time.monotonic() + START)
        if not isinstance(reply, _Ready):
            raise self._failed("did not get ready")
        self._started = True

    def read(self, raw: bytes) -> Letter:
        """Read a letter; raises `Unreadable` and `ReaderError`."""
        found = self._as_found(self._ask(_Read(raw))).letter
        if isinstance(found, Exception):
            raise found
        return found

    def ask(self, asked: Sequence[Asked], server: str) -> None:
        """Send letters to the worker, as many as its socket takes; it reads them whatever we do meanwhile."""
        with contextlib.suppress(ReaderError):
            self._complete(self._asked)
        self._asked = _Batch(
            [_Read(one.raw, None if one.keys is None else list(one.keys), server, one.at) for one in asked]
        )
        if self._started:
            try:
                self._send_ahead(self._asked)
            except ReaderError:
                self._asked.lost()

    def found(self) -> list[Found]:
        """What the worker found; it already has the next letter while it reads one."""
        batch, self._asked = self._asked, _Batch([])
        self._complete(batch)
        return [self._as_found(reply) for reply in batch.replies]

    def _as_found(self, reply: _Reply | ReaderError) -> Found:
        if isinstance(reply, _Unreadable):
            return Found(Unreadable(reply.reason, reply.letter))
        if isinstance(reply, _Letter):
            return Found(reply.letter, reply.understood)
        return Found(reply if isinstance(reply, ReaderError) else self._failed("answered something else"))

    def understand(self, letter: Letter, keys: Sequence[Key], server: str, at: datetime) -> Understood:
        """Say who signed a letter, and what it says; raises `ReaderError`."""
        reply = self._ask(_Understand(letter.raw, list(keys), server, at))
        if not isinstance(reply, _Understood):
            raise self._failed("answered something else")
        return reply.understood

    def shown(self, content: bytes, keys: Sequence[str], server: str) -> Heard:
        """Read a signed text as the other players will; raises `BadKey` and `ReaderError`."""
        reply = self._ask(_Show(content, list(keys), server))
        if isinstance(reply, _BadKey):
            raise BadKey(reply.reason)
        if not isinstance(reply, _Shown):
            raise self._failed("answered something else")
        return reply.heard

    def vouch(self, letter: Letter, records: Mapping[str, str | None], authserv_id: str, at: datetime) -> Voucher:
        """Say who vouches for a letter's From; raises `ReaderError`."""
        reply = self._ask(_Vouch(letter.raw, dict(records), authserv_id, at))
        if not isinstance(reply, _Voucher):
            raise self._failed("answered something else")
        return reply.voucher

    def parse_key(self, data: str | bytes, at: datetime | None = None) -> Key:
        """Read a public key; raises `BadKey` and `ReaderError`."""
        reply = self._ask(_ParseText(data, at) if isinstance(data, str) else _ParseBytes(data, at))
        if isinstance(reply, _BadKey):
            raise BadKey(reply.reason)
        if not isinstance(reply, _Key):
            raise self._failed("answered something else")
        return reply.key

    def bounce(self, letter: Letter) -> Bounce:
        """Read what came to a return path; raises `ReaderError`."""
        reply = self._ask(_Bounced(letter.raw))
        if not isinstance(reply, _Bounce):
            raise self._failed("answered something else")
        return reply.bounce

    def close(self) -> None:
        """End the worker."""
        self._end("")
        if self._beside is not None:
            self._beside.close()

    def _start(self) -> None:
        command = [sys.executable, "-I", "-m", __name__, _plain(self._limits)]
        with contextlib.ExitStack() as unless_started:
            try:
                ours, theirs = socket.socketpair()
                unless_started.callback(ours.close)
                with theirs:
                    self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                        command,
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,  # a library's last words may quote the letter
                        cwd="/",
                        env={"LC_ALL": "C.UTF-8"},  # what our own environment holds is none of its business
                    )
            except OSError as error:
                raise ReaderError(f"the reader cannot be started: {error.strerror}") from error
            unless_started.pop_all()
        self._socket, self._started = ours, False
        self._received.clear()

    def _end(self, reason: str) -> None:
        """End the worker, and forget what it held."""
        if self._process is not None:
            self._process.kill()
            status = self._process.wait()
            if reason:
                log.error("reader ended", reason=reason, status=status)
        if self._socket is not None:
            self._socket.close()
        self._process = self._socket = None
        self._asked.lost()

    def _ask(self, request: _Request) -> _Reply:
        if self._asked.frames:
            # Who asks by the way holds up others meanwhile, and waits for no letters but its own.
            self._beside = self._beside or Worker(self._limits)
            return self._beside._ask(request)  # noqa: SLF001 - another worker
        batch = _Batch([request])
        self._complete(batch)
        (reply,) = batch.replies
        if isinstance(reply, ReaderError):
            raise reply
        return reply

    def _complete(self, batch: _Batch) -> None:
        """Wait for the answers to all requests; a failed one does not affect the others.

        Raises `ReaderError` when no worker can be started.
        """
        while len(batch.replies) < len(batch.frames):
            if batch.sent == len(batch.replies):
                self.get_ready()
            try:
                self._send_ahead(batch)
                reply = self._receive(time.monotonic() + self._deadline)
                if isinstance(reply, _Broken):
                    log.error("reader trouble", exception=reply.kind, frames=reply.frames)
                    batch.answered(ReaderError(f"{reply.kind} while reading"))
                else:
                    batch.answered(reply)
            except ReaderError as error:
                batch.answered(error)
                batch.lost()

    def _send_ahead(self, batch: _Batch) -> None:
        while (frame := batch.next) is not None:
            self._send(frame)
            batch.in_socket += len(frame)
            batch.sent += 1

    def _send(self, request: bytes) -> None:
        """Send a frame; raises `ReaderError`."""
        assert self._socket is not None
        try:
            self._socket.settimeout(self._deadline)
            self._socket.sendall(len(request).to_bytes(LENGTH, "big") + request)
        except TimeoutError:
            raise self._failed("took too long") from None
        except OSError:
            raise self._failed("died") from None

    def _receive(self, end: float) -> _Reply:
        """The next frame; raises `ReaderError`."""
        assert self._socket is not None
        try:
            length = int.from_bytes(self._octets(LENGTH, end), "big")
            if length > self._most:
                raise self._failed("answered too much")
            return self._decoder.decode(self._octets(length, end))
        except TimeoutError:
            raise self._failed("took too long") from None
        except OSError:
            raise self._failed("died") from None
        except (msgspec.DecodeError, RecursionError):
            raise self._failed("answered nonsense") from None

    def _octets(self, count: int, end: float) -> bytes:
        assert self._socket is not None
        while len(self._received) < count:
            self._socket.settimeout(max(end - time.monotonic(), 0.001))
            piece = self._socket.recv(max(count - len(self._received), AHEAD))
            if not piece:
                raise ConnectionResetError
            self._received += piece
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def _failed(self, what: str) -> ReaderError:
        """End the worker, start another for the next letters, and say what happened to this one."""
        started = self._started
        self._end(what)
        if started:
            self._start()
        return ReaderError(f"the reader {what}")


def _plain(limits: Limits) -> str:
    """The limits as JSON for a worker's command line, durations in seconds."""
    values = {name: getattr(limits, name) for name in limits.__struct_fields__}
    plain = {name: value.total_seconds() if isinstance(value, Duration) else value for name, value in values.items()}
    return msgspec.json.encode(plain).decode()


def _limits(text: str) -> Limits:
    return msgspec.convert(msgspec.json.decode(text), Limits, dec_hook=lambda _, value: Duration(seconds=value))


def work() -> None:
    """A worker's whole life: frames in, frames out, until the daemon hangs up."""
    limits = _limits(sys.argv[1])
    _confine(limits.reading_bytes)
    reader = InProcess(limits)
    # What follows reading finds the letter still at hand, even when others were read meanwhile.
    reader.read = lru_cache(2 * AT_HAND)(reader.read)  # type: ignore[method-assign]
    decoder = msgspec.msgpack.Decoder(_Request)
    with socket.socket(fileno=0) as daemon, daemon.makefile("rb") as incoming:
        _send(daemon, _Ready())
        while len(head := incoming.read(LENGTH)) == LENGTH:
            request = decoder.decode(incoming.read(int.from_bytes(head, "big")))
            # By its default SIGALRM ends the process, whatever code is running: even when nobody waits any more.
            signal.setitimer(signal.ITIMER_REAL, limits.reading.total_seconds() + ALARM)
            # So does SIGPROF when so much work was done: on a busy machine a letter takes longer, not more work.
            signal.setitimer(signal.ITIMER_PROF, limits.reading_processor.total_seconds())
            reply = _answer(reader, request)
            for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 0)
            _send(daemon, reply)


def _answer(reader: InProcess, request: _Request) -> _Reply:
    try:
        if isinstance(request, _Read):
            letter = reader.read(request.raw)
            understood = request.at and reader.understood(letter, request.keys, request.server, request.at)
            return _Letter(letter, understood or None)
        if isinstance(request, _Bounced):
            return _Bounce(_bounce(reader, request.raw))
        if isinstance(request, _Understand):
            letter = reader.read(request.raw)
            return _Understood(reader.understand(letter, request.keys, request.server, request.at))
        if isinstance(request, _Show):
            return _Shown(reader.shown(request.content, request.keys, request.server))
        if isinstance(request, _Vouch):
            letter = reader.read(request.raw)
            return _Voucher(reader.vouch(letter, request.records, request.authserv_id, request.at))
        return _Key(reader.parse_key(request.data, request.at))
    except Unreadable as error:
        return _Unreadable(error.reason, error.letter)
    except BadKey as error:
        return _BadKey(error.reason)
    except MemoryError:
        raise  # whatever is left of this process is not to be trusted with another letter
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        return _Broken(type(error).__name__, [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-8:]])


def _bounce(reader: InProcess, raw: bytes) -> Bounce:
    """Read a bounce; beyond the limits of letters, its headers must be enough."""
    try:
        letter = reader.read(raw)
    except Unreadable as error:
        if error.letter is None:
            raise
        letter = error.letter
    return reader.bounce(letter)


def _send(daemon: socket.socket, reply: _Reply) -> None:
    data = _encoder.encode(reply)
    daemon.sendall(len(data).to_bytes(LENGTH, "big") + data)


def _confine(memory: int) -> None:
    """Remove the rights of this process that reading does not need."""
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the letter
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the daemon, which hangs up when it is done
    os.umask(0o077)


if __name__ == "__main__":
    work()
