"""The HTML parts of letters: what mail clients keep, what fits, what is said, and that nothing else is said."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from playing.random_players import play, sensible_orders

from pbem.boards import TINTS
from pbem.games import GAMES, part_of, parts, rules
from pbem.letters.digest import framed_html, framed_text
from pbem.letters.draft import LetterSection, WrittenLetter
from pbem.letters.render import InWords, Templates

if TYPE_CHECKING:
    from pbem.testing import PlayedGame

TEMPLATES = Templates()
LANGUAGES = ("en", "de")
NAMES = {1: "<i>Ann</i>", 2: "Bob & Co", 3: "'Cem\"", 4: "d<script>"}
SEATS = {"spaceships": 2, "dueling-masters": 2, "shoot-em-up": 4}
SQUARES = {
    "spaceships": r"\b[ROYGB][v-z][1-5]\b",
    "dueling-masters": r"\b[A-J][0-9]+\b",
    "shoot-em-up": r"\b[a-z][0-9]+\b",
}
WIDEST: dict[str, dict[str, Any]] = {
    "spaceships": {"fleet": "cost:120"},
    "dueling-masters": {"homes": 3},
    "shoot-em-up": {"board": "26x26"},
}

TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "body",
        "div",
        "h1",
        "h2",
        "h3",
        "p",
        "b",
        "br",
        "hr",
        "code",
        "pre",
        "a",
        "table",
        "tr",
        "th",
        "td",
        "ol",
        "ul",
        "li",
        "img",
    ]
)
"""The tags that Gmail, Outlook, Apple Mail and Thunderbird all keep: not style, script, svg or form."""
ATTRIBUTES = frozenset(
    [
        "lang",
        "charset",
        "name",
        "content",
        "style",
        "border",
        "cellspacing",
        "cellpadding",
        "align",
        "summary",
        "width",
        "height",
        "scope",
        "bgcolor",
        "colspan",
        "role",
        "href",
        "clear",
        "src",
        "alt",
    ]
)
PROPERTIES = frozenset(
    [
        "font-family",
        "font-size",
        "line-height",
        "margin",
        "padding",
        "border",
        "border-top",
        "border-bottom",
        "border-collapse",
        "border-color",
        "background-color",
        "color",
        "text-align",
        "white-space",
        "word-wrap",
        "clear",
        "display",
        "max-width",
        "height",
    ]
)
"""No position, float, flex, grid, transform, variables or media queries: clients drop them."""


LEVELS = ("key", "mailbox")


class Page(HTMLParser):
    """Every tag, attribute and property of a page; tags must close in order."""

    VOID = ("meta", "br", "hr", "img")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def properties(self) -> list[tuple[str, str]]:
        declared = [one for name, value in self.attributes if name == "style" for one in value.split(";") if one]
        return [(one.partition(":")[0].strip(), one.partition(":")[2].strip()) for one in declared]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@cache
def played(game: str, *, widest: bool = False) -> PlayedGame:
    raw: dict[str, Any] = WIDEST[game] if widest else {}
    other: dict[str, Any] = {"orders": sensible_orders} if game == "spaceships" else {}
    return play(game, Random(7), raw, SEATS[game], most=12, **other)


TIME = {
    "runs": True,
    "over": False,
    "misses": 0,
    "deadline": "Sunday 8 March 2026, 13:00 Europe/Berlin (UTC+1)",
    "grace_ends": "Monday 9 March 2026, 13:00 Europe/Berlin (UTC+1)",
    "pace": "5 days",
    "bank": "6 days",
    "stops": [{"reason": "vacation", "began": "Sunday", "ended": "Monday"}],
    "away": [{"seat": 1, "first": "2026-03-10", "last": "2026-03-12"}],
}


def boards_of(game: str) -> Any:
    found = part_of(game, "boards")
    assert found is not None
    return found


def facts(game: PlayedGame, seat: int, turn: int) -> dict[str, Any]:
    """The facts that the letter writer hands to the templates after a turn (0: before the first)."""
    judge = rules(game.game)
    shown = [[found for one in reports if (found := judge.show(one, seat))] for reports in game.reports[:turn]]
    view = parts.view(judge, game.states[turn], seat, shown)
    over = game.states[turn].result is not None
    m: dict[str, Any] = {
        "match": "m17", "title": judge.title, "rules": game.game, "game": 2, "turn": turn + 1,
        "phase": "playing", "seat": seat,
        "names": {number: NAMES[number] for number in range(1, SEATS[game.game] + 1)},
        "in_words": False,
        "asked": not over and seat in game.states[turn].due, "rev": 1, "prev": "ab" * 32, "server": "play.example",
        "ended": [SimpleNamespace(scores=[3, 0, 1, 2][: SEATS[game.game]])],
        "totals": [3, 0, 1, 2][: SEATS[game.game]], "address": "pbem+m17.k3y@play.example",
        "seq": 9, "head": SimpleNamespace(head="cd" * 32, signature="ef" * 64),
        "key": "67" * 32, "format": "ssh", "level": "key", "brief": False,
        "terms": SimpleNamespace(
            edition=1, options={}, kind="scored", games=2, settle=0,
            target=None, victory="sum of scores", privacy="public",
            pace=259200, grace=86400, miss="pass", weekends="free", bank=1814400, sealed=False,
        ),
        "time": TIME, "remains": True, "revealing": False,
        "hash": "45" * 32, "options": {},
    }  # fmt: skip
    return {
        "m": m,
        "server": "play.example",
        "turn": turn,
        "reports": shown[-1] if turn else [],
        "view": view,
        "boards": boards_of(game.game).boards(view),
        "happened": boards_of(game.game).happened(shown[-1]) if turn else None,
        "over": over,
        "composer": "https://play.example/pbem/spaceships.html#abc-_",
        "picture": "ab12@play.example",
        "shown": [],
        "file_name": "m17-game-2-turn-1.json",
        "file_hash": "01" * 32,
        "file_signature": "5a" * 64,
        "commitments": dict.fromkeys(m["names"], "23" * 32),
        "levels": {seat: LEVELS[seat % 2] for seat in m["names"]},
        "by_default": (2,),
        "others_by_default": [m["names"][2]],
        "played": None,
        "taken_up": None,
        "unused": [],
        "later": [turn + 3],
        "outcome": {"winner": NAMES[1], "turns": turn, "reason": "rules"},
        "ended": SimpleNamespace(scores=[3, 0, 1, 2][: SEATS[game.game]]),
        "setups": dict.fromkeys(m["names"], "A c1 N\n<b>"),
        "bundle_name": "m17-game-2.pbem.zip",
        "apart": False,
        "by": "",
    }


def letters(game: PlayedGame) -> list[tuple[str, dict[str, Any]]]:
    last = len(game.orders)
    # At the end: every seat's view, and the boards of all as they were.
    truth = {owner: facts(game, owner, last)["view"] for owner in range(1, SEATS[game.game] + 1)}
    laid_open = {"truth": truth, "boards": boards_of(game.game).truth(truth, 2)}
    return [
        ("setup", facts(game, 1, 0) | {"view": None}),
        ("begin", facts(game, 1, 0)),
        *(("turn", facts(game, seat, turn)) for turn in (1, last // 2, last) for seat in (1, 2)),
        ("ended", facts(game, 2, last) | laid_open),
    ]


def render(kind: str, given: dict[str, Any], language: str = "en") -> str:
    words = TEMPLATES.of(language)
    sections = [LetterSection(InWords(""), words.words(f"letters/{kind}.html", **given))]
    page = framed_html(WrittenLetter("", sections))
    assert page is not None
    return words.render("letters/together.html", **page)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("widest", "language"), [(False, "en"), (True, "en"), (True, "de")])
def test_clients_keep_all_of_it(game: str, widest: bool, language: str) -> None:
    for kind, given in letters(played(game, widest=widest)):
        html = render(kind, given, language)
        page = Page(html)
        assert page.tags <= TAGS
        assert {name for name, _ in page.attributes} <= ATTRIBUTES
        assert {name for name, _ in page.properties} <= PROPERTIES
        assert not [value for _, value in page.properties if re.search(r"url|var\(|calc|!|expression|rgb|hsl", value)]
        assert {value.partition(":")[0] for name, value in page.attributes if name == "href"} <= {"mailto", "https"}
        assert {value.partition(":")[0] for name, value in page.attributes if name == "src"} <= {"cid"}
        assert len(html) < 80_000
        assert html.isascii() or language != "en"
        assert max(map(len, html.split("\n"))) < 998 * 8


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_name_becomes_markup(game: str, language: str) -> None:
    for kind, given in letters(played(game)):
        html = render(kind, given, language)
        assert "<i>Ann" not in html
        assert "<script" not in html
        assert "Bob & " not in html
        assert "&amp;amp;" not in html
        assert "&amp;lt;" not in html
        assert "<i>Ann</i>" in Page(html).text


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_letter_says_what_the_text_says(game: str, language: str) -> None:
    answer = {
        "en": "Answer this letter with the form",
        "de": "Antworte auf diesen Brief mit dem ausgefüllten Formular",
    }
    for kind, given in letters(played(game)):
        text = Page(render(kind, given, language)).text
        plain = framed_text([LetterSection(TEMPLATES.of(language).words(f"letters/{kind}.txt", **given))])
        if kind in {"begin", "turn"} and given["m"]["asked"]:
            assert f"orders m17 turn {given['m']['turn']} server play.example player " in text
            told = {"mailbox": answer[language], "key": "ssh-keygen -Y sign -n pbem@play.example"}
            assert told[given["m"]["level"]] in text
        assert given["m"]["head"].head in text
        # Every square that the text names is named here, too: nothing of the position or the events is left out.
        squares = SQUARES[game]
        assert set(re.findall(squares, plain)) <= set(re.findall(squares, text))


@pytest.mark.parametrize("tint", [tint for tint in TINTS.values() if tint.background])
def test_ink_can_be_read_on_its_tint(tint: tuple[str, str]) -> None:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    one, other = sorted(map(light, tint), reverse=True)
    assert (one + 0.05) / (other + 0.05) >= 4.5


def test_three_layers_are_as_wide_as_a_phone() -> None:
    """390 pixels, less the margins of a page; each grid has its own margin and the lines of its cells."""
    (board, _) = part_of("spaceships", "boards").blank()
    drawn = TEMPLATES.environment.filters["grids"](board, "")
    head = drawn[drawn.index("<tr>") : drawn.index("</tr>")]
    widths = [int(width) + 1 for width in re.findall('width="([0-9]+)"', head)]
    assert len(widths) == 6
    assert 3 * (sum(widths) + 1 + 6) <= 390 - 2 * 8
