"""The page at home, on which a player plays all matches: `pbem play --browser` serves it."""

from __future__ import annotations

from pbem.games import GAMES, rules
from pbem.i18n import ENGLISH
from pbem.pages import page


def home_page(first: str, language: str = ENGLISH) -> str:
    """The page, which begins with a match, such as `anna@play.example/m1`, or with the list of all."""
    shown = {"games": {name: rules(name).title for name in GAMES}}
    scripts = ("say.js", "board.js", "sshsig.js", "passkey.js", "home/rooms.js")
    allowed = "frame-src 'self'; connect-src 'self'; "
    title = "pbem"
    return page("home/home", title, scripts, shown=shown, data={"first": first}, allowed=allowed, language=language)
