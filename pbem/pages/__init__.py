"""Pages that people open in a browser: self-contained files that load nothing and send nothing.

This module puts a page together from `templates/pages/`, with style and script inside it, and a policy (CSP level 3)
that allows only these two, by their hashes. No web server, no build step; `tests/pages/` and `tests/browser/` compare
the script's rules with the referee's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from pbem.games import BUILT_IN, part_of, rules, titles
from pbem.games.sealed import sealed_rules
from pbem.i18n import ENGLISH, LANGUAGES, catalogue, say, template_folder
from pbem.json_object import DEPTH
from pbem.letters.render import Templates
from pbem.mail.commands.arguments import WRITTEN
from pbem.mail.commands.table import COMMANDS
from pbem.match.events import TYPES
from pbem.match.transcript import VERSION, canonical
from pbem.pages.rules_text import rules_text, rulings
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_SAID = re.compile(r'\bsay\(("(?:[^"\\]|\\.)*")')
"""A message in a script: the first argument of `say`, a literal in double quotes, which JSON reads."""


class Home(NamedTuple):
    """The server that a page is made for: its name, its mail address, and the delimiter of its sub-addresses."""

    server: str
    address: str
    delimiter: str = "+"


_COMPOSING = (
    *("draft.js", "home.js", "report.js", "ed25519.js", "sshsig.js", "passkey.js", "keyring.js"),
    *("composer.js", "registration.js"),
)
"""The common scripts of all composers, each a noun; the last two work the page."""


def composer(game: str, home: Home | None = None, language: str = ENGLISH) -> str:
    """The page on which a player composes setups and orders of a game; raises KeyError for any but our own.

    It writes letters only to its `home`; without one, it asks before it writes to an unknown server.
    """
    if game not in BUILT_IN:
        raise KeyError(game)
    own = sorted((template_folder() / "pages" / "composer" / game).glob("*.js"))  # a noun each, where a game has more
    drawn = ("board.js", "scene.js", *(f"composer/{game}/{path.name}" for path in own), f"composer/{game}.js")
    scripts = ("say.js", *ruled(game), *drawn, *_COMPOSING)
    data = home and home._asdict()
    shown = {"game": game, "home": home, "rulings": numbered_rulings(game, language)}
    return page("composer", rules(game).title, scripts, shown=shown, data=data, language=language)


def rules_page(
    game: str, server: str = "", files: Sequence[tuple[str, str, str | None]] = (), language: str = ENGLISH
) -> str:
    """The rules of a game; on the site of a server with its name, and this page in each language."""
    shown = {
        "game": game,
        "server": server,
        "text": rules_text(game, language).body,
        "index": page_file("index", language),
        "board": page_file(game, language) if server and game in BUILT_IN else "",
        "files": files,
    }
    title = Phrase("{title}: the rules", title=rules(game).title)
    return page("rules", title, (), shown=shown, language=language)


def lesson_page(
    game: str, server: str = "", files: Sequence[tuple[str, str, str | None]] = (), language: str = ENGLISH
) -> str:
    """A lesson of a few steps on the board of a game of ours: at home, or on the site of a server as `rules_page`."""
    shown = {
        "game": game,
        "server": server,
        "index": page_file("index", language),
        "board": page_file(game, language) if server else f"./#play-{game}",
        "rules": page_file(f"rules-{game}", language) if server else f"rules?game={game}",
        "files": files,
    }
    title = Phrase("{title} in five steps", title=rules(game).title)
    scripts = ("say.js", "board.js", f"lessons/{game}.js", "lessons/lesson.js")
    return page("lesson", title, scripts, shown=shown, language=language)


def numbered_rulings(game: str, language: str) -> Markup:
    """The rulings of a game, HTML by number, as JSON within a page."""
    return _verbatim(_inline(rulings(game, language)))


def home_page(first: str, practised: Callable[[str], bool], language: str = ENGLISH) -> str:
    """The page, which begins with a match, such as `anna@play.example/m1`, or with the list of all.

    It offers to play those games that programs have `practised`; only ours have lessons.
    """
    games = titles()
    shown = {
        "games": games,
        "practised": {name: games[name] for name in filter(practised, games)},
        "taught": BUILT_IN,
    }
    scripts = ("say.js", "board.js", "sshsig.js", "passkey.js", "home/rooms.js")
    allowed = "frame-src 'self'; connect-src 'self'; img-src 'self' data:; "
    return page("home/home", "pbem", scripts, shown=shown, data={"first": first}, allowed=allowed, language=language)


def told(game: str) -> tuple[str, ...]:
    """The scripts of a game's tables, of what reports tell if something is secret in it, and of its boards."""
    knowledge = f"knowledge/{game}.js"
    found = (knowledge,) if (template_folder() / "pages" / knowledge).is_file() else ()
    return ("tables.js", f"tables/{game}.js", *found, f"boards/{game}.js")


def ruled(game: str) -> tuple[str, ...]:
    """The scripts that judge the setups and orders of a game."""
    return (*told(game), f"rules/{game}.js")


def page_file(name: str, language: str = ENGLISH) -> str:
    """The name under which a page is served: its own (a composer has the game's), and its language if not English."""
    return f"{name}.html" if language == ENGLISH else f"{name}.{language}.html"


def served(pages: str, name: str) -> dict[str, str]:
    """The address of a page in each language; none if `pages`, the address at which they are served, is ""."""
    return {language: pages + page_file(name, language) for language in LANGUAGES if pages}


def page(
    name: str,
    title: str,
    scripts: Sequence[str],
    *,
    shown: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    allowed: str = "",
    language: str = ENGLISH,
) -> str:
    """A page by its template's name, with the style and these scripts (see `script`) in it, in a language.

    The template is given `shown`, the page's script `data`, a JSON object. `allowed` adds to the page's policy.
    """
    style = "\n" + script("page.css")
    joined = "".join(f"\n{script(each, language)}" for each in scripts)
    scripted = f"script-src '{hash_of(joined)}'; " if scripts else ""
    sources = f"{scripted}style-src '{hash_of(style)}'; {allowed}"
    policy = f"default-src 'none'; {sources}base-uri 'none'; form-action 'none'"
    values: dict[str, object] = {
        **(shown or {}),
        "title": title,
        "language": language,
        "policy": _verbatim(policy),
        "style": _verbatim(style),
        "script": _verbatim(joined),
    }
    for element, content in (("data", data), ("messages", messages(tuple(scripts), language))):
        if content:
            values[element] = _verbatim(_inline(dict(content)))
    return Templates().of(language).render(f"pages/{name}.html", **values)


@cache
def messages(scripts: tuple[str, ...], language: str) -> dict[str, str]:
    """The messages of these scripts, by their English; none for English."""
    if language == ENGLISH:
        return {}
    known = catalogue((template_folder(),), language)
    said = (_SAID.findall(script(name)) for name in scripts)
    return {message: known.gettext(message) for found in said for message in map(json.loads, found)}


def _verbatim(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - ours, or escaped as its place wants it


def script(name: str, language: str = ENGLISH) -> str:
    """A part of a page by its name: a file of `templates/pages`, or a table that the program writes.

    `tables.js` makes `FORMS`, which tells of letters, entries and bundles; `tables/GAME.js` makes `FACTS`, which
    tells of a game: its cells, pieces, limits, and the papers of its sealed steps. Their phrases are in the language.
    """
    folder, _, file = name.partition("/")
    if name == "tables.js":
        made = "FORMS"
        table: dict[str, object] = {
            "depth": DEPTH,
            "fields": {name: spec.fields for name, spec in COMMANDS.items() if spec.block and spec.fields},
            "letters": {name: kind.letter for name, kind in TYPES.items() if kind.letter},
            "version": VERSION,
            "written": WRITTEN,
        }
    elif folder == "tables":
        made, game = "FACTS", file.removesuffix(".js")
        table = {"name": game, **part_of(game, "boards").FACTS}
        if sealed := sealed_rules(game):
            papers = {step: {**paper._asdict(), "values": paper.values} for step, paper in sealed.papers.items()}
            opens = next(step for step, paper in sealed.papers.items() if paper.ordered)
            table["sealed"] = {"opens": opens, "papers": papers}
    else:
        return (template_folder() / "pages" / name).read_text(encoding="utf-8")
    return f"const {made} = {_inline(_said(table, language))};\n"


def _said(value: object, language: str) -> object:
    """A value of JSON, its phrases in a language."""
    if isinstance(value, dict):
        return {key: _said(each, language) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_said(each, language) for each in value]
    return say(value, catalogue((template_folder(),), language))


def _inline(value: object) -> str:
    """A value as JSON within a page: nothing in it can end the element."""
    return canonical(value).decode().replace("<", "\\u003c")


def hash_of(text: str) -> str:
    """The source of a script or style in a page's policy (CSP level 3): its hash."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def deflated(content: bytes) -> bytes:
    """Octets as raw deflate (RFC 1951), which browsers unpack."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def fragment(state: Mapping[str, object]) -> str:
    """The part of a link to the composer after its `#`: the state, deflated, in base64url."""
    return base64.urlsafe_b64encode(deflated(canonical(state))).decode().rstrip("=")
