"""Slips of the pen that occur in every notation: dashes, commas and comments, and what phones put around words.

They help to find what a text was probably meant to say. The player is asked; nothing is played unasked: the notations
stay strict.
"""

from __future__ import annotations

import re
from typing import Final

from pbem.games.player_text import without_comments

_DASHES: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_SEPARATORS: Final = dict.fromkeys(map(ord, ",;"), " ")
_PUT_AROUND: Final = re.compile(r"""(?<!\S)["'`]+|(?<=[\w)])[.!?"'`]++(?!\S)""")
_PICTURES: Final = re.compile(r"[^\w\s\x00-\x7f]")


def plain(text: str) -> str:
    """A text with plain dashes, with blanks for commas and pictures, and without comments and quotes; its lines stay.

    A sentence's end may stand behind a word: phones write it unasked.
    """
    words = without_comments(text).translate(_DASHES | _SEPARATORS)
    return _PUT_AROUND.sub(" ", _PICTURES.sub(" ", words))
