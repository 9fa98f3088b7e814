"""The end of every command: its exit status, and one line on standard error if it could not be done.

A script must be able to tell a verdict from a full disk, so nothing but a verdict ends with 1.
Implements docs/verification.md, "Exit status".
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, suppress
from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import click


class Status(IntEnum):
    """The exit statuses of all commands."""

    WELL = 0
    REFUSED = 1
    UNREADABLE = 2
    OPEN = 3
    NOT_DONE = 4


def unreadable(cause: str) -> click.ClickException:
    """The error to raise if a file is not what the command reads; the cause may quote the file."""
    from click import ClickException

    from pbem.phrase import clean

    class Unreadable(ClickException):
        exit_code = Status.UNREADABLE

    return Unreadable(clean(cause))


@contextmanager
def exiting() -> Iterator[None]:
    """Exit with a status, and one line if it could not be done, however the command ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a narrow terminal encoding is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdin is None:  # closed by whoever started us: nothing is to be read there
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 - Path takes a sixth of `pbem --help`; until the end
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - Path raises: a container's user may have no entry in passwd
        os.environ["HOME"] = "/"
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # at the interpreter's own end, a full disk would be a traceback
    except SystemExit:
        raise
    except BaseException as error:
        status: int = Status.NOT_DONE
        with suppress(OSError):  # standard error may be closed or full as well
            status = _reported(error)
        # Let the interpreter end in silence: it would try again to write what a full disk or a closed pipe refused.
        for stream in (sys.stdout, sys.stderr):
            if stream is None:
                continue
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(status)


def _reported(error: BaseException) -> int:
    """Print the cause of an unusual end, and return the exit status."""
    import click  # takes longer to import than all of `pbem --help`

    match error:
        case click.exceptions.Exit():  # `--help` and the like
            return error.exit_code
        case click.ClickException():
            error.show()
            # Click's own default means a verdict.
            return error.exit_code if error.exit_code != 1 else Status.NOT_DONE
        case KeyboardInterrupt() | EOFError() | click.Abort():
            click.echo("\nAborted.", err=True)
        case BrokenPipeError():
            pass  # whoever reads us, such as `head`, has enough
        case OSError():
            from pbem.phrase import harmless

            cause = error.strerror or str(error)
            told = cause if error.filename is None else f"{os.fsdecode(error.filename)}: {cause}"
            click.echo(f"Error: {harmless(told)}", err=True)
        case MemoryError():
            click.echo("Error: out of memory", err=True)
        case _:  # a fault of the program
            import traceback

            traceback.print_exception(error)
    return Status.NOT_DONE
