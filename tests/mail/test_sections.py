"""The letters of sealed matches: a step or a reveal is read section by section, and written in lines that survive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mail.one_command import HASH, asked, only

from pbem.mail.commands.sections import written
from pbem.requests import Section, Sections

if TYPE_CHECKING:
    from pbem.mail.commands import AnyCommand


def sections_of(command: AnyCommand) -> tuple[Section, ...]:
    """The sections of a letter of a sealed match."""
    assert isinstance(command.request, Sections)
    return command.request.sections


STEP = f"""step m17 game 2 turn 5
server play.example
player anna
prev {HASH}
answers {"ab" * 32} {"cd" * 32}
beam Rv1 miss
strike Gx3 hit explodes Gx3 Gx4
done
commit {"ef" * 32}
note QUJDREVG
R0hJ
end
"""


def test_a_step_is_read_section_by_section() -> None:
    step = only(STEP)
    assert step.faults == ()
    assert step.fields == {"server": "play.example", "player": "anna", "prev": HASH}
    assert (asked(step)["game"], asked(step)["turn"]) == (2, 5)
    assert sections_of(step) == (
        ("answers", ("ab" * 32, "cd" * 32), "beam Rv1 miss\nstrike Gx3 hit explodes Gx3 Gx4"),
        ("commit", ("ef" * 32,), ""),
        ("note", (), "QUJDREVGR0hJ"),
    )


def test_a_reveal_brings_the_setup_and_the_orders_of_many_turns() -> None:
    reveal = only(
        f"reveal m17 game 2 seed {HASH} setup DS Rv1 Rv2\nKC Gx1 done orders 1 Gx3 done orders 12 pass done end"
    )
    assert reveal.faults == ()
    assert sections_of(reveal) == (
        ("seed", (HASH,), ""),
        ("setup", (), "DS Rv1 Rv2\nKC Gx1"),
        ("orders", ("1",), "Gx3"),
        ("orders", ("12",), "pass"),
    )


@pytest.mark.parametrize(
    ("block", "token", "says"),
    [
        ("commit 12ab", "12ab", "64 hex digits"),
        ("commit", None, "64 hex digits"),
        (f"commit {HASH} commit {HASH}", "commit", "appears twice"),
        (f"answers {HASH} {HASH} beam Rv1 miss", None, "`done`"),
        (f"commit {HASH} Gx3", "Gx3", "expected here"),
        (f"seed {HASH}", "seed", "expected here"),
        ("note", None, "base64"),
        ("note QUJ!", "QUJ!", "base64"),
        (f"note QUJD commit {HASH}", "QUJDcommit8c1f8c1f8c", "base64"),
        (f"note {'QUJD' * 1400}", None, "at most 4096 octets"),
        (f"departs {HASH} Z1 B2", None, "`done`"),
    ],
)
def test_what_is_no_section_is_a_fault(block: str, token: str | None, says: str) -> None:
    (fault,) = only(f"step m17 game 2 turn 5\n{block}\nend").faults
    assert fault.token == token
    assert says in fault.message


def test_setups_are_laid_open_in_turn_0_and_no_note_is_echoed() -> None:
    step = only(STEP.replace("turn 5", "turn 0"))
    assert asked(step)["turn"] == 0
    assert step.faults == ()
    assert step.echo == "step m17 game 2 turn 0"


def test_orders_of_one_turn_are_laid_open_once() -> None:
    (fault,) = only(f"reveal m17 game 2\nseed {HASH}\norders 1 a done\norders 1 b done\nend").faults
    assert fault.token == "orders 1"


def test_what_is_written_is_read_again_in_lines_that_no_program_breaks() -> None:
    sections = (
        ("open", (HASH, "ab" * 32, "cd" * 32), "beam Rv1 Rv2 Rv3\nstrike Gx3"),
        ("flash", (HASH,), ""),
        ("departs", (HASH, "ab" * 32), "W1 A1"),
        ("setup", (HASH,), "A c1\nN B"),
        ("note", (), "QUJD" * 100),
    )
    block = written(Section(*section) for section in sections)
    assert max(map(len, block.split("\n"))) <= 72
    step = only(f"step m17 game 2 turn 5\n{block}\nend")
    assert step.faults == ()
    assert sections_of(step) == sections
