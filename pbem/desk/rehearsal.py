"""The rehearsal of a turn: rules of other packages run in a copy of the process first, which can be stopped.

A turn has an effect only if its rules came to an end in time. If they did not, or raised something, the match is
paused, so that nothing is lost, and the operator is told. Implements docs/operating.md, "Games of other packages".
"""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, Final

import structlog

from pbem.desk.daily_limits import RULES_FAILED, Writing, tell_operator
from pbem.match.step import Unresolved
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.match.state import Match

PROCESSOR: Final = 5
"""Seconds of processor time that the rules may take for a turn."""

_WALL: Final = 20
"""Seconds after which they are stopped in any case: letters of all matches wait meanwhile."""

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


def rehearse(desk: Writing, now: datetime, match: Match, turn: Callable[[], object]) -> None:
    """Try a turn; raises `Unresolved`, and tells the operator, if it raises something or takes too long."""
    why = _tried(turn)
    if not why:
        return
    _LOG.error("rules failed", match=match.id, game=match.terms.game, turn=match.turn, why=why)
    package = str(match.terms.rules_package or match.terms.game)
    subject = Phrase("[pbem] {match} is paused: the rules failed", match=match.id)
    facts = {"match": match.id, "turn": match.turn, "package": package, "why": why}
    tell_operator(desk, RULES_FAILED, now, subject, facts, about=[match.id])
    raise Unresolved(f"the rules of {package} failed in turn {match.turn}: {why}")


def _tried(turn: Callable[[], object]) -> str:
    """Run this in a copy of the process; returns what went wrong, or nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run(turn, writing)
    os.close(writing)
    with open(reading, "rb") as answers:  # noqa: PTH123 - a pipe has no path
        said = answers.read().decode()
    os.waitpid(child, 0)
    return said.removeprefix("=") if said else "they did not come to an end"


def _run(turn: Callable[[], object], answer: int) -> None:
    """In the copy: run this, say whether it raised, and end at once, because nothing else here is ours."""
    said = "="
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_WALL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold secrets
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
        turn()
    except BaseException as error:
        said += f"they raised {type(error).__name__}"
    finally:
        os.write(answer, said.encode())
        os._exit(0)
