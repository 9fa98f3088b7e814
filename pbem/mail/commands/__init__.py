"""The command language of letters: text in, commands with their arguments and blocks out.

`table` has one row per command; `arguments` reads its arguments; `cursor` leaves quotes out, and goes over the words;
`reader` turns a text into commands. No rules of games, no decisions: the desk decides whether a command is obeyed.
Implements protocol.md, "Commands" and "Identity" (the signed forms).
"""

from pbem.mail.commands.arguments import FIELDS, NAME_THE_MATCH, OF_ANY_PLACE, SETTINGS, masked
from pbem.mail.commands.cursor import ARMOR, clean, own_runs, own_text, unattributed
from pbem.mail.commands.reader import (
    ALONE,
    BROKEN,
    WRAPPED,
    AnyCommand,
    Command,
    Reading,
    asked_by_nothing,
    asked_by_subject,
    holds_commands,
    parse,
    without_effect,
)
from pbem.mail.commands.table import COMMANDS, CommandSpec, row_of

__all__ = [
    "ALONE",
    "ARMOR",
    "BROKEN",
    "COMMANDS",
    "FIELDS",
    "NAME_THE_MATCH",
    "OF_ANY_PLACE",
    "SETTINGS",
    "WRAPPED",
    "AnyCommand",
    "Command",
    "CommandSpec",
    "Reading",
    "asked_by_nothing",
    "asked_by_subject",
    "clean",
    "holds_commands",
    "masked",
    "own_runs",
    "own_text",
    "parse",
    "row_of",
    "unattributed",
    "without_effect",
]
