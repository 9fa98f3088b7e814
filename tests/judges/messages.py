"""What is said to people: every message of the templates and of the program, and how a language is made of them.

The same as `make catalogue` finds. A language is generated here that nobody speaks: whatever stands in English in its
letters is in no catalogue.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po
from judges.german import WIDTH

ROOT = Path(__file__).parents[2]

PHRASES = ("Phrase", "Impossible", "BadAccount", "CannotSign", "Missing", "NotGenuine", "NotSent")
"""What makes a phrase of its arguments, as `make catalogue` names it, too."""

KEYWORDS: dict[str, Any] = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    **dict.fromkeys(PHRASES),
    "say": None,
}

PLACE = re.compile(r"%\(\w+\)s|\{[a-z_]+\}")
"""Where a fact goes: of a template's message, of a phrase's."""

LEFT_ALONE = re.compile(rf"{PLACE.pattern}|`[^`]*`|<code>.*?</code>|<[^>]*>|%%", re.DOTALL)
"""What no language says otherwise: facts, what is typed, and the marks of HTML."""

_PARTS = re.compile(rf"({LEFT_ALONE.pattern})|([^\W\d_]+|.)", re.DOTALL)

_COLUMNS = re.compile(r".* {2,}(?=\S)| +")
"""Of a line in columns, all but the last; of one that is indented, what is before it."""

_SENTENCE = re.compile("[A-Z`%{].{50,}[.:]")
"""What stands on a line of its own, if it is long, and can be several."""

_USUAL = 40
"""The length for which a translator leaves room where a fact goes."""

_BLANK, _REST = "\ue000", "\ue001"

_TYPED = re.compile(
    r"`[^`]*`|<(code|pre|style)\b.*?</\1>|<[^>]*>"
    r"|\b(?:key|mailbox), \w+ (?:key|mailbox)\b"
    r"|\b[Ii]f [\w -]+ then\b"
    r"|the players asked for it|the server moves|it has moved|both players agree to go on|bob is ill"
    r"|^[ *]*(?:ssh-keygen|gpg|openssl|pbem|new|set|substitute|address) [^\n]*",
    re.DOTALL | re.MULTILINE,
)
"""What is typed, levels and conditions, what operators and organisers of tests write, and what is of HTML."""

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
        inside = f"{folder}/"
        own = [(pattern.removeprefix(inside), method) for pattern, method in methods if pattern.startswith(inside)]
        given = {pattern.removeprefix(inside): values for pattern, values in options.items()}
        extracted: Any = extract_from_dir(root / folder, own, given, KEYWORDS)
        for place, _, text, _, context in extracted:
            found.setdefault((context, text), set()).add(f"{folder}/{place}")
    return found


def pseudo(text: str) -> str:
    """A text in the language that nobody speaks: every word is strange, and what is left alone is as it was.

    It is a third longer than English, as translations are, and its paragraphs are wrapped, as a translator does it:
    lines that are indented or have columns stay lines, and only their last column grows.
    """
    said = text.strip()
    before, _, after = text.partition(said) if said else (text, "", "")
    if "\n" not in said and not after.endswith("\n") and not _SENTENCE.fullmatch(said):
        return f"{before}⟦{_longer(said, len('⟦⟧'))}⟧{after}"
    if said[0] in ",;.":  # it goes on in a line of the template
        return f"{before}⟦{_longer(said)}⟧{after}"
    indent = before.rpartition("\n")[2]
    lines: list[str] = []
    paragraph: list[str] = []
    for line in [*(indent + said).split("\n"), ""]:
        start = _COLUMNS.match(line)
        if line and start is None:
            paragraph.append(line)
            continue
        lines += _wrapped(_longer(" ".join(paragraph), len("⟦⟧")), "")
        paragraph = []
        if start:
            lines += _wrapped(_longer(line[start.end() :]), _longer(start[0], len(start[0])))
        else:
            lines.append("")
    whole = "\n".join(lines).strip()
    return f"{before}⟦{whole}⟧{after}"


def _longer(text: str, brackets: int = 0) -> str:
    """A text in strange letters, each word grown so that the whole, with its brackets, is a third longer."""
    said, room = "", -3 * brackets
    for kept, part in _PARTS.findall(text):
        strange = part.translate(_STRANGE)
        room += len(part)
        if part.isalpha() and room > 2:
            strange += strange[-1] * (room // 3)
            room %= 3
        said += kept or strange
    return said


def _wrapped(text: str, start: str) -> list[str]:
    """A paragraph in lines that fit a letter, if no fact in it is longer than most are."""
    held = LEFT_ALONE.sub(lambda found: _held(found[0]), text)
    lines = wrap(
        held,
        WIDTH - len("⟦⟧"),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BLANK, " ").replace(_REST, "") for line in lines]


def _held(kept: str) -> str:
    """What is left alone as one word, as long as it will probably be."""
    room = _USUAL if PLACE.fullmatch(kept) else len(kept) + 10 * len(PLACE.findall(kept))
    return kept.replace(" ", _BLANK).ljust(room, _REST)


def pseudo_last_line(ending: str) -> str:
    """The last line of the message with this ending."""
    (message,) = (text for _, text in messages() if isinstance(text, str) and text.endswith(ending))
    return pseudo(message).rstrip("\n").rpartition("\n")[2] + "\n"


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
