"""The page around a composer that hands the composed orders over to `pbem play`, on a port of this machine.

The composer is in a frame, unchanged and from the same origin, so that the legal orders can be read from it. This
page may send them to where it came from, and nothing else. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

from pbem.pages import page


def handover(title: str, frame: str) -> str:
    """The page, whose frame shows the composer at this place, such as `composer#...`."""
    allowed = "frame-src 'self'; connect-src 'self'; "
    return page("handover", title, ("handover.js",), shown={"frame": frame}, allowed=allowed)
