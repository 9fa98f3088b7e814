"""The pages in a language that nobody speaks: what stands in English on them is in no catalogue."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from judges.messages import pseudo_language
from judges.strange_place import TAG, run, strange_place
from vectors.matches import VECTORS

from pbem.i18n import template_folder
from pbem.letters.render import Templates
from pbem.pages import Home, composer, home_page
from pbem.pages.match_page import replay
from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path

VECTOR = VECTORS / "good" / "default.pbem.zip"
TOLD = {"alt", "aria-label", "data-head", "label", "placeholder", "title"}
"""Attributes that are shown or read out."""


class Visible(HTMLParser):
    """The words of a page before its scripts run, without input, code and the names of languages."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "style", "code", "pre", "svg"} or (tag == "a" and "hreflang" in dict(attrs)):
            self._hidden.append(tag)
        self.texts += [value or "" for name, value in attrs if name in TOLD]

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


KNOWN = re.compile(
    r"play\.example|pbem\.localhost|\S+@\S+|https://\S+|tag:\S+|\bt1\.(?:jsonl|pbem-tournament\.zip)"
    r"|[0-9a-f]{64}|(?:ssh )?SHA256:\S+|[a-z]+/\S+"
    r"|Spaceships|Dueling Masters of Space-Time|Shoot 'em up Spaceships"
    r"|\b(?:ann|bob|carl|cem|dora|emil|guest|house|pbem)\b"
    r"|\b(?:lundo|mardo|merkredo|vendredo|sabato|diman\w+|Marto|tagoj|UTC)\b"
    r"|\bb?(?:[ROYGB][vwxyz][1-5])+\b|\b(?:DS|KC|FS|PC|MD|HS|LS|AG|LG)[1-9]?\b|\b[A-L]: [FLMRS]+"
)
"""Addresses, files, hashes, the names of games and people, what Unicode's tables say, and the notation of games."""


def in_english(page: str) -> list[str]:
    """The texts of a page with an English word: in the language of these tests every word has its marks."""
    visible = Visible()
    visible.feed(page)
    return [text for text in visible.texts if re.search("[A-Za-z]{2,}", KNOWN.sub("", text))]


@pytest.mark.long
def test_every_word_of_a_page_comes_from_a_catalogue(tmp_path: Path) -> None:
    place, site = tmp_path / "place", tmp_path / "site"
    place.mkdir()
    site.mkdir()
    run(strange_place(place), "pages.strange_site", str(site))
    # The rules are a document, which a language has as a whole or not at all.
    paths = [path for path in site.glob("*ml") if not path.name.startswith("rules-")]
    found = {path.name: in_english(path.read_text("utf-8")) for path in paths}
    assert len(found) >= 19
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_every_word_of_some_pages_comes_from_a_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the test above."""
    pseudo_language(tmp_path, TAG)
    monkeypatch.setattr("pbem.pages.Templates", lambda: Templates(template_folder(), tmp_path))
    composed = composer("spaceships", Home("play.example", "pbem@play.example"), TAG)
    for page in (home_page("", bool, TAG), composed, replay(bundle.read(VECTOR.read_bytes()), language=TAG)):
        assert "⟦" in page
        assert in_english(page) == []
