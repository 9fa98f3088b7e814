"""The page around a composer that hands the composed orders over to `pbem play`, on a port of this machine.

The composer is in a frame, unchanged and from the same origin, so that the legal orders can be read from it. This
page may send them to where it came from, and nothing else. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from markupsafe import Markup

from pbem.i18n import template_folder
from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["handover"]


def handover(title: str, frame: str) -> str:
    """The page, whose frame shows the composer at this place, such as `composer#...`."""
    folder = template_folder() / "pages"
    style, script = (f"\n{(folder / name).read_text('utf-8')}" for name in ("page.css", "handover.js"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; frame-src 'self';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    shown: Mapping[str, object] = {name: _verbatim(text) for name, text in (("policy", policy), ("style", style))}
    return Templates().render("pages/handover.html", title=title, frame=frame, script=_verbatim(script), **shown)


def _verbatim(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - ours alone


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
