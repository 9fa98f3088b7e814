"""Slips of the pen that every notation knows: what dashes, commas and comments come to where a word is meant.

For what a text was probably meant to say, which is asked back and never played unasked: the notations stay strict.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["plain"]

_DASHES: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_SEPARATORS: Final = dict.fromkeys(map(ord, ",;"), " ")
_COMMENT: Final = re.compile(r"#[^\n\r]*")


def plain(text: str) -> str:
    """A text with plain dashes, with blanks for commas and semicolons, and without comments; its lines stay."""
    return _COMMENT.sub("", text).translate(_DASHES | _SEPARATORS)
