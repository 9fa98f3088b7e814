"""The tables in the scripts of pages: what the program knows, written into a page, not a second time by hand.

`tables.js` makes `FORMS`, which tells of letters, entries and bundles; `tables/GAME.js` makes `FACTS`, which tells of
a game: its cells, pieces, limits, and the papers of its sealed steps. Their phrases are in the page's language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import part_of
from pbem.games.sealed import sealed_rules
from pbem.i18n import ENGLISH, catalogue, say, template_folder
from pbem.json_object import DEPTH
from pbem.mail.commands.arguments import WRITTEN
from pbem.mail.commands.table import COMMANDS
from pbem.match.events import TYPES
from pbem.match.transcript import VERSION, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]


def script(name: str, language: str = ENGLISH) -> str | None:
    """The script of a table by its name among those of a page; None for a script that is written by hand."""
    if name == "tables.js":
        return _script("FORMS", _forms(), language)
    folder, _, file = name.partition("/")
    return _script("FACTS", _facts(file.removesuffix(".js")), language) if folder == "tables" else None


def _script(name: str, table: Table, language: str) -> str:
    text = canonical(_said(table, language)).decode().replace("<", "\\u003c")  # nothing in it can end the element
    return f"const {name} = {text};\n"


def _said(value: object, language: str) -> object:
    """A value of JSON, its phrases in a language."""
    if isinstance(value, dict):
        return {key: _said(each, language) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_said(each, language) for each in value]
    return say(value, catalogue((template_folder(),), language))


def _forms() -> Table:
    return {
        "depth": DEPTH,
        "fields": {name: spec.fields for name, spec in COMMANDS.items() if spec.block and spec.fields},
        "letters": {name: kind.letter for name, kind in TYPES.items() if kind.letter},
        "version": VERSION,
        "written": WRITTEN,
    }


def _facts(game: str) -> Table:
    facts = {"name": game, **part_of(game, "boards").FACTS}
    if sealed := sealed_rules(game):
        papers = {step: {**paper._asdict(), "values": paper.values} for step, paper in sealed.papers.items()}
        opens = next(step for step, paper in sealed.papers.items() if paper.ordered)
        facts["sealed"] = {"opens": opens, "papers": papers}
    return facts
