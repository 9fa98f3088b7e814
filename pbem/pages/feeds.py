"""Feeds of what happens on a server, for feed readers: what its pages show, in the order in which it happened.

`desk/public.py` decides what is told. The same news give the same octets: all times are of the transcripts. The ids
never change, wherever the pages are served. Implements RFC 4287 (Atom) and RFC 4151 (`tag:`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import msgspec

from pbem.i18n import ENGLISH, LANGUAGES, catalogue, say, template_folder
from pbem.pages import page_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from pbem.phrase import Phrase

FEED = "feed"
"""The name of the feed of the whole server; that of a match or tournament has its name."""

MOST = 100
"""The most entries of a feed: readers keep what they have seen."""

_BEGIN = "1970-01-01T00:00:00Z"
"""The time of a feed in which there is nothing yet: the standard demands one."""


class News(msgspec.Struct, frozen=True):
    """Something that happened in a match or tournament."""

    about: str
    """The match or tournament."""
    seq: int
    """The entry of its transcript; 0: what was before."""
    time: str
    title: Phrase
    front: bool = True
    """True if the feed of the whole server has it, too."""


def feed_file(name: str, language: str = ENGLISH) -> str:
    """The name under which a feed is served, as `page_file`."""
    return page_file(name, language).removesuffix("html") + "xml"


def feeds(site: Mapping[str, object], news: Iterable[News], own: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """All feeds by their files; `own` are the matches and tournaments that have a page."""
    by_name: dict[str, list[News]] = {FEED: []}
    for one in news:
        by_name.setdefault(one.about, []).append(one)
        if one.front:
            by_name[FEED].append(one)
    for name, told in by_name.items():
        latest = sorted(told, key=lambda one: (one.time, int(one.about[1:]), one.seq), reverse=True)[:MOST]
        for language in LANGUAGES:
            yield feed_file(name, language), _feed(site, name, latest, own, language)


def _feed(
    site: Mapping[str, object], name: str, news: Collection[News], own: Collection[str], language: str
) -> bytes:
    server, pages = str(site["server"]), str(site["pages"])
    # RFC 4151 wants a date at which the name was the server's, so that its next owner makes other ids; 2026 is the
    # first of January. For a name that was assigned later this is not to the letter; but any date that we could find
    # in the store would tell of a private match, or change the ids with what is public. Ids collide only if an
    # earlier owner of the name ran a pbem, too, and at the same address.
    tag = f"tag:{server},2026:{'' if language == ENGLISH else f'{language}/'}"

    def page_of(about: str) -> str:
        return pages + page_file(about if about in own else "index", language)

    def add(to: ElementTree.Element, kind: str, text: str = "", **attributes: str) -> None:
        ElementTree.SubElement(to, kind, attributes).text = text or None

    top = ElementTree.Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": language})
    add(top, "id", f"{tag}{name}")
    add(top, "title", server if name == FEED else f"{name}, {server}")
    add(top, "updated", max((one.time for one in news), default=_BEGIN))
    author = ElementTree.SubElement(top, "author")
    add(author, "name", server)
    if pages:
        add(top, "link", rel="self", type="application/atom+xml", href=pages + feed_file(name, language))
    add(top, "link", rel="alternate", type="text/html", href=page_of(name))
    for one in news:
        entry = ElementTree.SubElement(top, "entry")
        add(entry, "id", f"{tag}{one.about}/{one.seq}")
        add(entry, "title", str(say(one.title, catalogue((template_folder(),), language))))
        add(entry, "updated", one.time)
        add(entry, "link", rel="alternate", type="text/html", href=page_of(one.about))
    ElementTree.indent(top, "")
    written: bytes = ElementTree.tostring(top, "utf-8", xml_declaration=True)
    return written + b"\n"
