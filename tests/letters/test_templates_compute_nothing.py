"""Boards are Python, templates are prose: no template of a game computes, counts, or goes from cell to cell.

What a template may do: choose between sentences, name a ready-made thing (`with`), and go through a list of such
things to say a sentence, or set a line, of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jinja2 import nodes

from pbem.games import GAMES
from pbem.i18n import LANGUAGES, template_folder
from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENT = Templates().environment
FOLDERS = [folder for game in GAMES for folder in (game, *(f"{one}/{game}" for one in LANGUAGES[1:]))]
TEMPLATES = sorted(
    str(path.relative_to(template_folder()))
    for folder in FOLDERS
    for path in (template_folder() / folder).iterdir()
    if path.suffix in {".txt", ".html"}
)

KEPT = (nodes.Assign, nodes.AssignBlock, nodes.NSRef)
"""Variables that are set, and so can be counted with or added to."""
RECKONED = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg, nodes.Concat)
"""Arithmetic and the joining of texts; `%` on a text, too."""
PADDED = {"batch", "center", "format", "replace", "round", "slice", "sort", "sum", "wordwrap"}
"""Filters that lay out, or count."""
CELLS = {"cells", "columns", "panels", "rows", "squares", "splitlines", "split", "range", "namespace", "dict"}
"""What boards are made of, and what makes a list for a loop."""


def computed(source: str) -> Iterator[str]:
    """What a template does that is no prose."""
    tree = ENVIRONMENT.parse(source)
    for kind in (*KEPT, *RECKONED):
        for node in tree.find_all(kind):
            yield f"line {node.lineno}: {kind.__name__}"
    for filtered in tree.find_all(nodes.Filter):
        if filtered.name in PADDED:
            yield f"line {filtered.lineno}: {filtered.name}"
    for call in tree.find_all(nodes.Call):
        if getattr(call.node, "name", getattr(call.node, "attr", "")) in CELLS:
            yield f"line {call.lineno}: a call that makes a list"
    for part in tree.find_all(nodes.Slice):
        yield f"line {part.lineno}: a slice"
    for loop in tree.find_all(nodes.For):
        if isinstance(loop.iter, nodes.Const) or getattr(loop.iter, "attr", "") in CELLS:
            yield f"line {loop.lineno}: a loop over cells"
        if any(found.attr in {"index", "index0"} for found in loop.find_all(nodes.Getattr)):
            yield f"line {loop.lineno}: a loop that counts"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_of_a_game_is_prose(name: str) -> None:
    assert list(computed((template_folder() / name).read_text("utf-8"))) == []
