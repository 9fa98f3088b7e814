"""`pbem`: the commands, each in its own module, which is imported only when it is run.

A command that is not run costs nothing, so `pbem replay` starts without mail, database or cryptography, and
`pbem --help` without click, which takes longer to import than all else that it needs. Implements design.md, "Layout",
`cli/`.
"""

from __future__ import annotations

import sys

from pbem.cli.command_table import help_text
from pbem.cli.ending import exiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> None:
    """Run `pbem` with these words, or with those of the command line."""
    if words is None:
        words = sys.argv[1:]
    if list(words) in (["--help"], ["help"]):
        with exiting():
            print(help_text())
        return
    from pbem.cli.group import group

    group(list(words), prog_name="pbem")
