"""The commands of one letter together: which of them are answered, and which may not share a letter.

Other players are shown letters, and of one letter only one submission for a place is ever acknowledged. Implements
protocol.md, "Commands".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault
from pbem.mail.commands import COMMANDS
from pbem.phrase import Phrase
from pbem.requests import DEFAULT, SubmitOrders

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pbem.mail.commands import AnyCommand, Reading

_COMMANDS = 20
"""The most commands of one letter that are answered."""


def to_answer(reading: Reading) -> tuple[list[AnyCommand], list[str]]:
    """The commands to answer, each once, and the first lines of the commands left out.

    A command that must be alone in its letter is not merged with its copy: verifiers count both.
    """
    once: dict[Hashable, AnyCommand] = {}
    for at, command in enumerate(reading.commands):
        once.setdefault(at if COMMANDS[command.name].alone else command.same, command)
    wanted = list(once.values())
    return wanted[:_COMMANDS], [command.echo.partition("\n")[0] for command in wanted[_COMMANDS:]]


def unfit_together(command: AnyCommand, together: Sequence[AnyCommand]) -> Fault | None:
    """The fault of a command that must not share its letter with the others: other players are shown that letter."""
    spec = COMMANDS[command.name]
    others = [other for other in together if other is not command]
    if spec.alone and others:
        return Fault(command.name, None, Phrase("opponents get this letter: send nothing else in it"))
    if spec.shown != "never" and len({one.match for one in together if one.match}) > 1:
        return Fault(command.name, command.match, Phrase("one match per letter: this letter names several"))
    specs = [COMMANDS[other.name] for other in others]
    shows = (
        (spec.secret and other.shown != "never") or (spec.shown == "at once" and other.private) for other in specs
    )
    if any(shows):
        return Fault(command.name, None, Phrase("opponents get this letter: send nothing secret in it"))
    for clash, reason in _CLASHES:
        if any(clash(command, other) for other in others):
            return Fault(command.name, command.match, reason)
    return None


def _replaces(command: AnyCommand, other: AnyCommand) -> bool:
    """True if another command submits something else for the same place.

    Revisions do not tell which is meant: of one letter, only one is ever acknowledged (docs/bundle.md, section 10).
    """
    place = (command.name, command.match, command.form.turn)
    if not COMMANDS[command.name].stands or place != (other.name, other.match, other.form.turn):
        return False
    ours, theirs = command.form, other.form
    for pair in ((ours.game, theirs.game), (ours.server, theirs.server), (ours.player, theirs.player)):
        if len({*pair} - {None}) > 1:  # without a key, these may be left out
            return False
    request = other.request
    untouched = isinstance(request, SubmitOrders) and request.untouched
    return not other.faults and not untouched and other.same != command.same


def _withdraws(command: AnyCommand, other: AnyCommand) -> bool:
    """True if a command withdraws the submission of another one in its letter."""
    if other.name not in COMMANDS[command.name].withdraws or command.match != other.match:
        return False
    turn = command.form.turn
    return turn == other.form.turn or (turn is None and other.form.turn != DEFAULT)


_CLASHES: Sequence[tuple[Callable[[AnyCommand, AnyCommand], bool], Phrase]] = (
    (_withdraws, Phrase("this letter also submits what it withdraws: send one of the two")),
    (
        lambda one, other: _withdraws(other, one),
        Phrase("this letter also withdraws what it submits: send one of the two"),
    ),
    (_replaces, Phrase("this letter submits two of these: send one")),
)
"""The reasons why one command and another cannot both be meant."""
