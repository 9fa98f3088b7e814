"""What is said to people: every message of the templates and of the program, and how a language is made of them.

The same as `make catalogue` finds. A language is generated here that nobody speaks: whatever stands in English in its
letters is in no catalogue.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LEFT_ALONE", "PLACE", "left_in_english", "messages", "pseudo", "pseudo_language"]

ROOT = Path(__file__).parents[2]

KEYWORDS: dict[str, Any] = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "Phrase": None,
    "say": None,
}

PLACE = re.compile(r"%\(\w+\)s|\{[a-z_]+\}")
"""Where a fact goes: of a template's message, of a phrase's."""

LEFT_ALONE = re.compile(rf"{PLACE.pattern}|`[^`]*`|<code>.*?</code>|<[^>]*>|%%", re.DOTALL)
"""What no language says otherwise: facts, what is typed, and the marks of HTML."""

_TYPED = re.compile(
    r"`[^`]*`|<(code|pre|style)\b.*?</\1>|<[^>]*>"
    r"|the players asked for it|the server moves|it has moved|both players agree to go on|bob is ill"
    r"|^[ *]*(?:ssh-keygen|gpg|minisign|openssl|pbem|new|set|substitute|address) [^\n]*",
    re.DOTALL | re.MULTILINE,
)
"""What is typed, what operators and organisers of tests write, and what is of HTML."""

_ENGLISH = re.compile(r"(?<![\w'-])[A-Za-z]?[a-z]+,?(?: [a-z]{2,}){2,}(?![\w'-])")

_DATE = "date"
"""The context of patterns, which are no words."""

_STRANGE = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "áƀćďéƒǧĥíĵķĺɱńóƥɋŕśťúṽŵẋýžÁƁĆĎÉƑǦĤÍĴĶĹṀŃÓƤɊŔŚŤÚṼŴẊÝŽ"
)

Message = tuple[str | None, str | tuple[str, str]]
"""Its context, and its text, or that of one and that of several."""


@cache
def messages(root: Path = ROOT) -> dict[Message, set[str]]:
    """Every message, with the files in which it stands."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        mappings = tomllib.load(file)["tool"]["babel"]["mappings"]
    methods, options = [], {}
    for mapping in mappings:
        patterns = mapping.pop("pattern")
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            methods.append((pattern, mapping["method"]))
            options[pattern] = {name: value for name, value in mapping.items() if name != "method"}
    found: dict[Message, set[str]] = {}
    # No folder but these: what lies beside them (a virtual environment, say) is nobody's message.
    for folder in ("pbem", "templates"):
        for place, _, text, _, context in _extracted(root, folder, methods, options):
            found.setdefault((context, text), set()).add(f"{folder}/{place}")
    return found


def _extracted(
    root: Path, folder: str, methods: list[tuple[str, str]], options: dict[str, dict[str, str]]
) -> Iterator[tuple[str, int, Any, list[str], str | None]]:
    inside = f"{folder}/"
    own = [(pattern.removeprefix(inside), method) for pattern, method in methods if pattern.startswith(inside)]
    given = {pattern.removeprefix(inside): values for pattern, values in options.items()}
    return extract_from_dir(root / folder, own, given, KEYWORDS)


def pseudo(text: str) -> str:
    """A text in the language that nobody speaks: every word is strange, and what is left alone is as it was."""
    parts = LEFT_ALONE.split(text)
    kept = LEFT_ALONE.findall(text)
    strange = [part.translate(_STRANGE) for part in parts]
    whole = "".join(part + word for part, word in zip(strange, [*kept, ""], strict=True))
    said = whole.strip()
    before, _, after = whole.partition(said) if said else (whole, "", "")
    return f"{before}⟦{said}⟧{after}"


def left_in_english(text: str) -> list[str]:
    """Where three or more plain words stand in a row in a text of the language that nobody speaks."""
    bare = "\n".join(line for line in _TYPED.sub(" ", text).split("\n") if not line.lstrip().startswith((">", ":")))
    return [found for found in _ENGLISH.findall(bare) if " kaj " not in found]  # a list of names, in Esperanto


def pseudo_language(folder: Path, tag: str, *roots: Path) -> None:
    """Write the language that nobody speaks among the templates of this folder."""
    catalog = Catalog(locale=tag, fuzzy=False)
    for root in (ROOT, *roots):
        for context, text in messages(root):
            if isinstance(text, tuple):
                catalog.add(text, tuple(map(pseudo, text)), context=context)  # Esperanto has one and several, too
            else:
                catalog.add(text, text.replace("-", "/") if context == _DATE else pseudo(text), context=context)
    (folder / tag).mkdir(parents=True)
    with (folder / tag / "messages.po").open("wb") as file:
        write_po(file, catalog)
