"""Letters in HTML alone: the words that their writer wrote, as lines of text.

Here live the tags by which mail programs mark quotes, their authors, and signatures.
Words read here count for nothing by themselves: programs differ in what HTML says, and verifiers read text.
No tree is made, and only the beginning is read. Implements reliability.md, case 18.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.mail.quotes import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 64 * 1024
"""Characters that are read: an answer stands above its quote. End tags that nothing began cost as many looks each as
there are elements open."""

_BLANKS = re.compile(r"[ \t\n\f]+")
_LINES = re.compile(
    r"address|article|body|center|d[dlt]|div|fieldset|footer|form|h[1-6r]|header|li|main|[ou]l|p|pre|section|table|tr"
)
"""Elements that stand on lines of their own."""

_NO_WORDS = re.compile(r"button|head|math|noscript|object|script|select|style|svg|template|textarea|title")
_QUOTES = re.compile(
    r"(?:^|[ _-])(?:gmail_quote|gmail_attr|gmail_extra|yahoo_quoted|moz-cite-prefix|moz-email-headers-table"
    r"|protonmail_quote|tutanota_quote|mail-quote|divrplyfwdmsg|outlookmessageheader|zmail_extra|bloop_markdown_quote"
    r"|k9mail_quote|aolreplacedbody|quote)(?![a-z0-9])"
)
_FOOTS = re.compile(
    r"(?:^|[ _-])(?:gmail_signature(?:_prefix)?|moz-signature|applemailsignature|protonmail_signature_block"
    r"|composer_signature|bloop_sign|ms-outlook-mobile-signature|mail-signature|k9mail-signature|signature)(?![a-z0-9])"
)
"""Classes and ids, lower case, of what mail programs put around what their user did not write just now."""

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all")
_BORDER = re.compile(
    r"border-top\s*:\s*(?:solid\s+#(?:e1e1e1|b5c4df)\b|1(?:\.0)?pt\s+solid\s+rgb\(\s*(?:181|225)\b)"
    r"|border-color\s*:\s*rgb\(\s*(?:181|225)\b"
)
"""The line that the kinds of Outlook draw above a quote."""
_RULES = frozenset({"stopspelling", "zwchr"})  # ids of that line, by Outlook and Zimbra
_PREFORMATTED = re.compile(r"white-space\s*:\s*(?:pre|break-spaces)")


def own_words(page: str) -> str:
    """The lines that the writer of an HTML letter wrote; each quote is a line with only `>`."""
    from lxml import etree

    words = _Words()
    parser = etree.HTMLParser(target=words)
    # What must not stand in XML either is none of these words; without a first element nothing is told of.
    parser.feed(f"<html><body>{page[:MOST]}")
    parser.close()
    return words.text


class _Words:
    """The events of a parser, turned into lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._left_out = 0
        """The number of open elements that are left out, those inside them included."""
        self._preformatted: list[bool] = [False]
        self._over = False

    @property
    def text(self) -> str:
        """The lines that were found."""
        return "\n".join([*self._lines, "".join(self._line).strip(" ")])

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if self._over:
            return
        if self._left_out:
            self._left_out += 1
            return
        named = f"{attributes.get('class', '')} {attributes.get('id', '')}".lower()
        style = attributes.get("style", "").lower()
        is_rule = tag == "hr" and ("tabindex" in attributes or _RULES & {*named.split()})
        if is_rule or _BORDER.search(style):
            self._quote()
            self._over = True
        elif tag == "blockquote" or _QUOTES.search(named) or attributes.get("name", "").lower() == "quote":
            self._quote()
            self._left_out = 1
        elif _NO_WORDS.fullmatch(tag) or _FOOTS.search(named) or _HIDDEN.search(style):
            self._end_line()
            self._left_out = 1
        else:
            self._preformatted.append(self._preformatted[-1] or tag == "pre" or bool(_PREFORMATTED.search(style)))
            self._place(tag)

    def _place(self, tag: str) -> None:
        """Put what an element holds on its place: on a line of its own, or behind a blank."""
        if tag == "br":
            self._new_line()
        elif _LINES.fullmatch(tag):
            self._end_line()
        elif tag in {"td", "th"}:
            self._line.append(" ")

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._over:
            return
        if self._left_out:
            self._left_out -= 1
            return
        if len(self._preformatted) > 1:
            self._preformatted.pop()
        if _LINES.fullmatch(tag):
            self._end_line()

    def data(self, text: str) -> None:
        """Text stands there."""
        if self._over or self._left_out:
            return
        if not self._preformatted[-1]:
            self._line.append(_BLANKS.sub(" ", text))
            return
        first, *others = text.split("\n")
        self._line.append(first)
        for line in others:
            self._new_line()
            self._line.append(line)

    def close(self) -> None:
        """Nothing follows."""

    def _quote(self) -> None:
        self._end_line()
        self._lines.append(">")

    def _end_line(self) -> None:
        """End a line that has begun."""
        if "".join(self._line).strip(" "):
            self._new_line()
        self._line = []

    def _new_line(self) -> None:
        line = "".join(self._line).strip(" ")
        self._over = self._over or SEPARATOR.fullmatch(line) is not None
        self._lines.append(">" if self._over else line)
        self._line = []
