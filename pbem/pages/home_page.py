"""The page at home, on which a player plays all matches: `pbem play --browser` serves it."""

from __future__ import annotations

from pbem.games import BUILT_IN, titles
from pbem.i18n import ENGLISH
from pbem.pages import page


def home_page(first: str, language: str = ENGLISH) -> str:
    """The page, which begins with a match, such as `anna@play.example/m1`, or with the list of all."""
    games = titles()
    shown = {"games": games, "practised": {name: games[name] for name in BUILT_IN}}
    scripts = ("say.js", "board.js", "sshsig.js", "passkey.js", "home/rooms.js")
    allowed = "frame-src 'self'; connect-src 'self'; "
    title = "pbem"
    return page("home/home", title, scripts, shown=shown, data={"first": first}, allowed=allowed, language=language)
