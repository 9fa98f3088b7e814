"""The set-up of logs: lines of JSON on standard error, with no word of any letter in them.

Here events and exceptions become lines, in the same way in every process of a server.
Implements reliability.md, promise 4.
"""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from pbem.server.complaints import ComplaintListener, Complaints

if TYPE_CHECKING:
    from pbem.config.server import LogConfig


def configure_logs(config: LogConfig) -> None:
    """Send structured logs to standard error, one line each, with no word of any letter in them."""
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if config.format == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=False)
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
