"""The sandbox: a separate process parses the letters, signatures and keys of strangers.

A worker has a deadline, a budget of work and a memory limit, but no store, no keys and no network; its answers are
decoded by type. We frame messages ourselves: those of `multiprocessing.connection` have no deadline once their first
octet came, and a worker that a letter has taken over may stop there. Implements reliability.md, case 16.
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
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from pbem.config.limits import Limits
from pbem.config.values import Duration
from pbem.desk.reading import Findings, Question, ReaderError, find
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

START = 60.0  # seconds until a new worker counts as stuck: a loaded machine takes its time
LENGTH = 4  # octets of a frame's length
PIECE = 64 * 1024  # octets of an answer that are taken in at once
NICE = 10  # how much less of the processor a reader is given than others
ALARM = 2.0  # seconds after our own deadline, when a worker whose daemon was killed ends itself

log = structlog.get_logger()


class _Broken(msgspec.Struct, frozen=True, tag=True):
    """An unexpected exception: its kind and its places, never its text, which may quote the letter."""

    kind: str
    frames: list[str]


class _Ready(msgspec.Struct, frozen=True, tag=True):
    pass


_Reply = Findings | _Broken | _Ready


def _document(value: object) -> object:
    if isinstance(value, Phrase):
        return value.document
    raise NotImplementedError(type(value))


_encoder = msgspec.msgpack.Encoder(enc_hook=_document)


class Worker:
    """A reader whose work is done in a separate process; for one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadline = limits.reading.total_seconds()
        # The longest honest answer. It repeats each nested part besides the whole that contains it, and each text:
        # decoded, as signed, as other programs read it, and in pieces, with up to three octets for each one.
        self._most = (2 * (limits.depth + 2) + 48) * limits.message_bytes + 2**20
        self._decoder: msgspec.msgpack.Decoder[_Reply] = msgspec.msgpack.Decoder(
            _Reply, dec_hook=lambda _, document: Phrase.read(document)
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
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

    def read(self, questions: Sequence[Question]) -> list[Findings | ReaderError]:
        """The worker's findings about each letter; one on which it fails does not affect the others.

        Raises `ReaderError` when no worker can be started.
        """
        found: list[Findings | ReaderError] = []
        for question in questions:
            self.get_ready()
            try:
                found.append(self._findings(question))
            except ReaderError as error:
                found.append(error)
        return found

    def close(self) -> None:
        """End the worker."""
        self._end("")

    def _start(self) -> None:
        limits = msgspec.json.encode(self._limits, enc_hook=Duration.total_seconds)
        command = [sys.executable, "-I", "-m", __name__, limits.decode()]
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
                        env={"LC_ALL": "C.UTF-8"},  # our own environment may hold secrets
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
        self._socket.close()  # what is sent or received on it now fails
        self._process = None

    def _findings(self, question: Question) -> Findings:
        """The findings about one letter; raises `ReaderError`."""
        try:
            self._socket.settimeout(self._deadline)
            _send(self._socket, question)
        except TimeoutError:
            raise self._failed("took too long") from None
        except OSError:
            raise self._failed("died") from None
        reply = self._receive(time.monotonic() + self._deadline)
        if isinstance(reply, _Broken):
            log.error("reader trouble", exception=reply.kind, frames=reply.frames)
            raise ReaderError(f"{reply.kind} while reading")
        if not isinstance(reply, Findings):
            raise self._failed("answered something else")
        return reply

    def _receive(self, end: float) -> _Reply:
        """The next frame; raises `ReaderError`."""
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
        while len(self._received) < count:
            self._socket.settimeout(max(end - time.monotonic(), 0.001))
            piece = self._socket.recv(max(count - len(self._received), PIECE))
            if not piece:
                raise ConnectionResetError
            self._received += piece
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def _failed(self, what: str) -> ReaderError:
        """End the worker, start another for the next letters, and return the error about this one."""
        started = self._started
        self._end(what)
        if started:
            self._start()
        return ReaderError(f"the reader {what}")


def work() -> None:
    """Run a worker: frames in, frames out, until the daemon hangs up."""
    limits = msgspec.json.decode(sys.argv[1], type=Limits, dec_hook=lambda _, value: Duration(seconds=value))
    # Reading needs few of the rights of this process.
    resource.setrlimit(resource.RLIMIT_DATA, (limits.reading_bytes, limits.reading_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the letter
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the daemon, which hangs up when it is done
    os.umask(0o077)
    # Others' letters give way to the intake and to the desk. The desk itself does not: it holds the store's lock.
    with contextlib.suppress(OSError):
        os.nice(NICE)
    decoder = msgspec.msgpack.Decoder(Question)
    with socket.socket(fileno=0) as daemon, daemon.makefile("rb") as incoming:
        _send(daemon, _Ready())
        while len(head := incoming.read(LENGTH)) == LENGTH:
            question = decoder.decode(incoming.read(int.from_bytes(head, "big")))
            # Without a handler, SIGALRM ends the process in any code, even if the daemon was killed meanwhile.
            signal.setitimer(signal.ITIMER_REAL, limits.reading.total_seconds() + ALARM)
            # SIGPROF ends it after too much processor time: on a busy machine, a letter takes longer, not more work.
            signal.setitimer(signal.ITIMER_PROF, limits.reading_processor.total_seconds())
            reply = _answer(question, limits)
            for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 0)
            _send(daemon, reply)


def _answer(question: Question, limits: Limits) -> Findings | _Broken:
    try:
        return find(question, limits)
    except MemoryError:
        raise  # a process that ran out of memory must not read another letter
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        return _Broken(type(error).__name__, [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-8:]])


def _send(other: socket.socket, frame: Question | _Reply) -> None:
    data = _encoder.encode(frame)
    other.sendall(len(data).to_bytes(LENGTH, "big") + data)


if __name__ == "__main__":
    work()
