"""Names that a mail program turned into links, when it wrote a letter as plain text: the links are left out.

Only a link to the very word before it, so that nothing is lost that somebody could read. The second verifier and the
page in a browser have the same pattern. Implements docs/bundle.md, 6.3.
"""

from __future__ import annotations

import re

_NAME = r"(?:mailto:|https?://)?([!-+\--:=?-~]{1,320}?)/?"  # visible ASCII, but for what separates names
_LINKED = (
    r"(?ia)"
    # Outlook: `play.example<http://play.example>`; Gmail, Apple Mail and Thunderbird, with a blank or a line end:
    # `ann@mail.example <mailto:ann@mail.example>`, also without `mailto:`.
    rf"(?<![^\s,;])(?:({_NAME})(?: |(\n))?<(?:mailto:|https?://|(?=[^\s<>]*@))\2/?>"
    # Proton Mail: `[play.example](http://play.example)`.
    rf"|\[({_NAME})\]\((?:mailto:|https?://)\5/?\))(?![^\s,;.:])"
)


def unlinked(text: str, *, joined: bool = False) -> str:
    """A text whose white space is blanks and LF, without the links that repeat the words before them.

    A line end before a link stays, so that no line becomes part of a comment; where lines are `joined`, it goes, too.
    """
    return re.sub(_LINKED, r"\1\4" if joined else r"\1\3\4", text) if "<" in text or "](" in text else text
