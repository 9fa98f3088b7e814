"""The manual page, made from the help of the commands: `make manual`.

Do not edit the page: a test compares it with the commands. Implements man-pages(7).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from pbem.cli.ending import Status
from pbem.cli.group import group

if TYPE_CHECKING:
    from collections.abc import Iterator


MEANINGS = {
    Status.WELL: "Done; or the verdict is good.",
    Status.REFUSED: "The verdict is bad: it does not hold, is not legal, was refused by the server, or has faults.",
    Status.UNREADABLE: "No verdict: a file is not what the command reads, or the command line is wrong.",
    Status.OPEN: "The verdict is open; or what was waited for did not happen.",
    Status.NOT_DONE: "It could not be done: a full disk, a missing permission, a server that is not there, Ctrl-C.",
}
"""A sentence for each exit status."""


def manual() -> str:
    """The page in roff, for section 1."""
    lines = [
        ".TH PBEM 1",
        ".SH NAME",
        r"pbem \- a referee for slow games by e\-mail",
        ".SH SYNOPSIS",
        r".B pbem",
        r".I COMMAND",
        "[OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        _roff(str(group.help)),
        ".SH OPTIONS",
    ]
    context = click.Context(group, info_name="pbem")
    lines += [*_options(group, context), ".SH COMMANDS"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        lines += _command(command, f"pbem {name}", context)
    lines += [
        ".SH EXIT STATUS",
        *(line for status, meaning in MEANINGS.items() for line in (".TP", rf"\fB{status}\fP", _roff(meaning))),
        ".SH ENVIRONMENT",
        ".TP",
        r"\fBPBEM_CONFIG\fP",
        "The configuration, where \\fB\\-\\-config\\fP names none.",
        ".TP",
        r"\fBPBEM_GAMES\fP",
        "Games of other packages, separated by blanks, as if by \\fB\\-\\-game\\fP.",
        ".SH FILES",
        ".TP",
        r"\fIpbem.toml\fP",
        "The configuration; \\fIpbem.example.toml\\fP in the folder of examples explains every setting.",
    ]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A command, and those within it."""
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield ".SS " + _roff(" ".join([name, *command.collect_usage_pieces(context)]))
    paragraphs = re.split(r"\n\s*\n", command.help or "")
    for at, paragraph in enumerate(paragraphs):
        yield from [".PP"] * bool(at)
        yield _roff(" ".join(paragraph.replace("\b", "").split()))
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _command(found, f"{name} {inner}", context)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in record[0]:
            yield from (".TP", rf"\fB{_roff(record[0])}\fP", _roff(" ".join(record[1].split())))


def _roff(text: str) -> str:
    """Text without special meaning in roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    click.echo(manual(), nl=False)
