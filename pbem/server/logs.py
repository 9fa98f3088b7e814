"""Logs: lines of JSON on standard error, with no word of any letter in them, the same in every process of a server.

Event loop and libraries write in their own form, hundreds of times when descriptors run out, and may quote what
passed through them: of each kind of `Complaints`, only the first words, the kind and the place are logged, and only a
few. Implements reliability.md, promise 4 and case 40.
"""

from __future__ import annotations

import errno
import logging
import re
import sys
import time
import traceback
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from pbem.config.server import LogConfig


def configure_logs(config: LogConfig) -> None:
    """Send structured logs to standard error, one line each, with no word of any letter in them."""
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if config.format == "text" or (config.format == "auto" and sys.stderr.isatty()):
        renderer = _in_words
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _frames,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[config.level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    # A library's own line on standard error is no JSON, and may quote a letter.
    logging.lastResort = ComplaintListener(Complaints())
    # aiosmtpd logs commands and addresses; what matters of them is logged by `pbem.smtp`.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)


_EVERYDAY: Mapping[str, str] = {
    "store open": "",
    "decides": "",
    "ready": "",
    "letter handled": "Letter {inbox} came: {outcome}.",
    "letter sent": "Letter {outbox} went out.",
    "letter waits": "Letter {outbox} was not taken ({code}), and is tried again later.",
    "letter given up": "Letter {outbox} was not taken ({code}), and is given up: `pbem outbox show {outbox}`.",
    "mailbox out of reach": "The mailbox does not answer: {trouble}. Tried again in {again:.0f} s.",
    "what lay in the mailbox before is left alone": "Older letters in the mailbox are left alone: {letters}.",
    "outage": "The server did not run, or had no mailbox, for {seconds} s: deadlines move by as much.",
    "house started": "The house has begun to play.",
    "site published": "The site is at {address}",
    "site not published": "The site is not up to date: {error}",
    "stopping": "Stopping ...",
    "stopped": "Stopped.",
}
"""The words for a terminal of what happens every day; "" where other words on it say so."""


def _in_words(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    """A line for whoever watches a terminal: the time there, and what happened; other events name their facts."""
    time_here = datetime.fromisoformat(event.pop("timestamp")).astimezone()
    level, name = event.pop("level"), event.pop("event")
    if not (words := _EVERYDAY.get(name, name)):
        raise structlog.DropEvent
    facts = "" if name in _EVERYDAY else "".join(f", {key} {value}" for key, value in event.items())
    said = words.format_map(event) if name in _EVERYDAY else words
    loud = "" if level in {"debug", "info"} else f"{level.upper()}: "
    return f"{time_here:%H:%M:%S}  {loud}{said}{facts}"


def _frames(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Log only an exception's kind and place: its text may quote a letter."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        event["exception"] = type(error).__name__
        event["frames"] = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        if error.__cause__ is not None:
            event["cause"] = type(error.__cause__).__name__
    return event


PAUSE = 60.0  # seconds in which a kind of complaint is logged once
KINDS = 100  # of so many it is known when they were logged last

_WORDS = re.compile(r"[A-Za-z .,'-]{0,60}")


class Complaints:
    """Logs complaints; to be set as an event loop's exception handler."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[tuple[str, str, str], tuple[float, int]] = {}
        """The time at which a kind was last logged, and how often it was met since."""

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        """A complaint of the event loop."""
        error = context.get("exception")
        self.tell("asyncio", str(context.get("message", "")), error if isinstance(error, BaseException) else None)

    def tell(self, who: str, message: str, error: BaseException | None) -> None:
        """Log it, or count it."""
        found = _WORDS.match(message)
        words = found[0].strip() if found else ""
        trouble = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
        kind = (who, words, trouble or type(error).__name__)
        logged, more = self._logged.get(kind, (-PAUSE, 0))
        if self._clock() - logged < PAUSE:
            self._logged[kind] = (logged, more + 1)
            return
        if len(self._logged) >= KINDS:
            self._logged.clear()
        self._logged[kind] = (self._clock(), 0)
        facts: dict[str, object] = {"trouble": trouble} if trouble else {}
        if more:
            facts["more"] = more
        structlog.get_logger().error("complaint", of=who, words=words, exc_info=error, **facts)


class ComplaintListener(logging.Handler):
    """Hands over what libraries log with Python's `logging`."""

    def __init__(self, complaints: Complaints) -> None:
        super().__init__(logging.WARNING)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        """A complaint of a library: its message before anything is filled in."""
        error = record.exc_info[1] if record.exc_info else None
        self._complaints.tell(record.name, str(record.msg).partition("%")[0], error)
