"""The rules of a game as HTML, from the text that `rules GAME` mails: sections, tables, boards, numbered rulings.

The one source is `templates/GAME/rules.txt`. Each section and each ruling gets an anchor (`#section-3`,
`#ruling-17`), and pages, terminal and site read a ruling by its number. Implements docs/games.md, step 1.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_SECTION = re.compile(r"([1-9][0-9]?)\. (\S.*)")
_RULING = re.compile(r" {0,3}([1-9][0-9]{0,2})\. (\S.*)")
_BULLET = "  * "
_CODE = re.compile(r"`([^`]+)`")
_TERM = re.compile(r"\b[A-ZÄÖÜ]{3,}\b")
"""A word of a term where it is explained, in capitals."""
_PANELS = re.compile(" {4,}")
"""The gap between boards that stand side by side."""


class RulesText(NamedTuple):
    """The rules of a game in a language."""

    title: str
    body: Markup
    rulings: Mapping[int, str]
    """The words of each ruling, by its number."""


@cache
def rules_text(game: str, language: str) -> RulesText:
    """The rules of a game; raises jinja2's error if no game of this name has any."""
    text = Templates().of(language).render(f"{game}/rules.txt")
    blocks = [block.splitlines() for block in re.split(r"\n[ \n]*\n", text.strip("\n"))]
    (title, *rest), *blocks = blocks
    drawn, rulings = [], dict[int, str]()
    for block in ([rest] if rest else []) + blocks:
        if found := list(_rulings(block)):
            rulings |= found
            items = Markup("\n").join(
                Markup('<li id="ruling-{0}" value="{0}">{1}</li>').format(number, _words(words))
                for number, words in found
            )
            drawn.append(Markup('<ol class="rulings">\n{}\n</ol>').format(items))
        else:
            drawn.append(_block(block))
    return RulesText(title, Markup("\n").join(drawn), rulings)


def rulings(game: str, language: str) -> dict[str, str]:
    """The rulings of a game by their numbers, each as HTML for a dialog."""
    found = rules_text(game, language).rulings
    shown = Markup("<p><strong>{}.</strong> {}</p>")
    return {str(number): str(shown.format(number, _words(words))) for number, words in found.items()}


def _rulings(block: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The rulings of a block, if it is a list of them."""
    if len(block) == 1 or not _RULING.fullmatch(block[0]):
        return
    for item in re.split(r"\n(?= {0,3}[1-9][0-9]{0,2}\. )", "\n".join(block)):
        found = _RULING.fullmatch(" ".join(item.split()))
        assert found is not None
        yield int(found[1]), found[2]


def _block(lines: Sequence[str], *, headed: bool = True) -> Markup:
    """A block of lines between two blank ones; `headed`: a table in it may begin with the heads of its columns."""
    if (heading := _SECTION.fullmatch(lines[0])) and lines == [lines[0].upper()]:
        return Markup('<h2 id="section-{0}">{0}. {1}</h2>').format(*heading.groups())
    if not all(line.startswith("  ") for line in lines):
        return Markup("<p>{}</p>").format(_words(" ".join(line.strip() for line in lines)))
    if lines[0].startswith(_BULLET):
        items = re.split(r"\n {2}\* ", "\n" + "\n".join(lines))[1:]
        return Markup("<ul>{}</ul>").format(
            Markup("").join(Markup("<li>{}</li>").format(_words(" ".join(item.split()))) for item in items)
        )
    indents = [len(line) - len(line.lstrip()) for line in lines]
    if "  " not in lines[0].strip() and indents[0] < min(indents[1:], default=0):
        return Markup('<p class="eyebrow">{}</p>').format(lines[0].strip()) + _block(lines[1:], headed=False)
    tokens = " ".join(lines).split()
    if "." in tokens and max(map(len, tokens)) < 3:
        panels = list(zip(*(_PANELS.split(line.strip()) for line in lines), strict=True))
        return Markup('<div class="stage"><div class="boards{}">{}</div></div>').format(
            " space" if len(panels) > 1 else "",
            Markup("").join(_board([row.split() for row in panel]) for panel in panels),
        )
    if len(rows := _rows(lines)) > 1 or len(rows[0]) > 1:
        return _table(rows, headed=headed and len(rows[0]) > 2)
    return Markup("<pre>{}</pre>").format("\n".join(line[min(indents) :] for line in lines))


def _words(text: str) -> Markup:
    """The words of a paragraph: what one writes to the server as code, and explained terms strong."""
    marked = _TERM.sub(r"<strong>\g<0></strong>", str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", marked))  # noqa: S704 - escaped before it was marked


def _rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of a table, whose columns are two blanks apart in all lines; one row of one cell for other text."""
    width = max(map(len, lines))
    padded = [f"{line:{width}}" for line in lines]
    blank = "".join(" " if all(line[at] == " " for line in padded) else "x" for at in range(width))
    starts = [0, *(gap.end() for gap in re.finditer(r"(?<=x) {2,}(?=x)", blank))]
    rows: list[list[str]] = []
    for line in padded if len(starts) > 1 else ():
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], width], strict=True)]
        if cells[0] or not rows:
            rows.append(cells)
        else:  # the row above goes on
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
    return rows or [[""]]


def _table(rows: Sequence[Sequence[str]], *, headed: bool) -> Markup:
    """A table, with the heads of its columns in the first row or without heads."""
    head, body = (rows[0], rows[1:]) if headed else ((), rows)
    heads = Markup("").join(Markup('<th scope="col">{}</th>').format(cell) for cell in head)
    each = (
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            row[0], Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row[1:])
        )
        for row in body
    )
    top = Markup("<thead><tr>{}</tr></thead>").format(heads) if head else ""
    return Markup('<div class="scroll"><table class="due">{}<tbody>\n{}\n</tbody></table></div>').format(
        top, Markup("\n").join(each)
    )


def _board(rows: Sequence[Sequence[str]]) -> Markup:
    """A board that the text draws, a word for each square; its heads, if it has them, begin with its name."""
    heads = () if "." in rows[0] else rows[0]
    name = heads[0] if len(heads) == len(rows[-1]) else ""
    top = Markup("").join(Markup('<th scope="col">{}</th>').format(cell) for cell in heads[bool(name) :])
    drawn = Markup("").join(
        Markup("<tr>{}{}</tr>").format(
            Markup('<th scope="row">{}</th>').format(row[0]) if heads else "",
            Markup("").join(map(_square, row[bool(heads) :])),
        )
        for row in rows[bool(heads) :]
    )
    if heads:
        top = Markup('<thead><tr><th class="corner">{}</th>{}</tr></thead>').format(name, top)
    table = Markup('<table class="grid">{}<tbody>{}</tbody></table>').format(top, drawn)
    return Markup('<div class="plane" data-plane="{}">{}</div>').format(name, table) if name else table


def _square(word: str) -> Markup:
    if word == ".":
        return Markup("<td></td>")
    kind = "seen" if word == "#" else "own"
    return Markup('<td class="{}"><span><span class="hull">{}</span></span></td>').format(kind, word)
