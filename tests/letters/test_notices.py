"""The table of notices: whatever a match tells its seats has a row, a subject and a template; no row is left over."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pbem
from pbem.i18n import template_folder
from pbem.match import events

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(pbem.__file__).parent


def told() -> Iterator[str]:
    """The kinds of notices of which a match tells, or a desk that knows more of its letters."""
    for path in [*ROOT.joinpath("match").rglob("*.py"), *ROOT.joinpath("desk").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {"notify", "Notice"}:
                constants = (one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant))
                yield from (value for value in constants if isinstance(value, str))


def test_the_diary_has_words_for_every_type_of_entry() -> None:
    diary = (template_folder() / "answers" / "diary.txt").read_text("utf-8")
    for kind in events.TYPES.values():
        assert (f'kind == "{kind.name}"' in diary) != kind.silent, kind.name
