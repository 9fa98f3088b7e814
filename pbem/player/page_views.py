"""The page at home: what it may ask for, and its views of matches, tournaments and boards, each of a player's table.

Views only read. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from markupsafe import Markup

from pbem.boards.picture import draw, miniature
from pbem.games import BUILT_IN, GAMES, part_of, parts, rules
from pbem.pages import Home, composer, fragment, hash_of, script
from pbem.pages.match_page import replay
from pbem.phrase import clean
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.page_port import PageAnswer
from pbem.player.play_facts import (
    composed,
    match_facts,
    revealed,
    seen,
    terms_of,
    tournament_facts,
    tournament_terms,
)
from pbem.proof.bundle import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.letters.render import Templates
    from pbem.match.view import MatchView
    from pbem.player.play_table import PlayTable

_OFFERS = script("offers.js")
_DRAWN = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
"""The policy of boards, which are drawn as in letters."""
_STILL = "sandbox allow-same-origin; "
_CHOSEN = f"script-src '{hash_of(_OFFERS)}'; "
"""What it has besides, without a script, and with the one for orders to choose from."""


class MatchRequest(msgspec.Struct):
    """A request about a match of an account."""

    account: str
    match: str = ""


class ComposedRequest(MatchRequest):
    """Orders or a setup, for the moment of a match that was shown."""

    text: str = ""
    final: bool = False
    turn: int | None = None
    """Another turn than the one that is due, or `DEFAULT`."""
    shown: tuple[str, int, int, str] = ("", 0, 0, "")


class SentenceRequest(MatchRequest):
    """A command beside orders, and what follows it."""

    what: str = ""
    word: str = ""
    to: str = ""
    """The readers of a message, if it is for some alone."""
    shown: tuple[str, int, int, str] | None = None


class TakingPartRequest(msgspec.Struct):
    """Entering a tournament, by the hash of the terms that were shown, or leaving it."""

    account: str
    tournament: str
    what: Literal["enter", "leave"]
    hash: str = ""
    team: str = ""


class PractiseRequest(msgspec.Struct):
    """A game against a program, at home."""

    game: str


class RegisterRequest(msgspec.Struct):
    """An account to be opened, as `pbem play register` has it; a password goes into its file at once."""

    account: str
    address: str
    server_address: str = ""
    key: str = ""
    new_key: bool = False
    passkey: str = ""
    """The line of a passkey that the page made, with its name for its device."""
    mail_in: str = ""
    mail_out: str = ""
    password: str = ""
    password_file: str = ""
    password_command: str = ""
    token_command: str = ""


class TouchedRequest(msgspec.Struct):
    """The answer of a page that was asked for a signature: the signature, or why there is none."""

    number: int
    armor: str = ""
    error: str = ""


class PageViews:
    """The views of the page, in its language; each shows a match or tournament of a table by its name."""

    def __init__(self, templates: Templates, language: str) -> None:
        self._templates = templates
        self._language = language
        self.named: Mapping[str, Callable[[PlayTable, str], JsonObject | PageAnswer]] = {
            "match": self._match,
            "tournament": self._tournament,
            "composer": self._composer,
            "board": self._board,
            "replay": self._replay,
            "picture": self._picture,
            "miniature": self._miniature,
        }

    def _match(self, table: PlayTable, match: str) -> JsonObject:
        letters, standing = table.letters, table.letters.matches.standing(match)
        composing = composed(table.agent, standing)
        board = self._on_board(table, standing, composing)
        facts = match_facts(table.agent, standing, table.now())
        return facts | {
            "refused": [self._templates.say(message) for message in facts["refused"]],
            "conditions": self._conditions(standing),
            "composing": composing is not None,
            "board": board,
            "position": self._position(table, standing, composing)
            if board == "composer" and standing.rules in BUILT_IN
            else f"&turn={standing.game}.{standing.turn}",  # made here, and so a page of its own in each turn
            "rematch": self._rematch(table, standing) if standing.phase == "closed" else "",
            "terms": self._terms(table, standing) if standing.phase in {"proposed", "open"} else "",
            "letters": letters.memory.texts(match),
            "talk": letters.memory.talk(match),
        }

    @staticmethod
    def _on_board(table: PlayTable, standing: MatchView, composing: JsonObject | None) -> str:
        """The view that shows a match on its board: a match that is over can be stepped through; "" for none."""
        if standing.phase == "closed" and standing.rules in GAMES and table.letters.memory.bundle(standing.match):
            return "replay"
        if composing is not None or (standing.rules in BUILT_IN and standing.phase in {"playing", "closed"}):
            return "composer"
        return "board" if standing.phase in {"playing", "closed"} and standing.rules in GAMES else ""

    def _position(self, table: PlayTable, standing: MatchView, composing: JsonObject | None) -> str:
        """The part of the board's address that says what is asked for, where things stand, and what happened last."""
        found = seen(table.agent, standing)
        if composing is None:
            if found is None:
                return ""
            names = ("rules", "match", "game", "turn", "seat", "player", "address", "prev", "rev")
            place = {name: getattr(standing, name) for name in names} | {"names": standing.players}
            composing = {"pbem": "position 1", **place, "server": table.account.server, "view": found["view"]}
        if found is not None and (reports := found["reports"]):
            told = {"game_name": standing.rules, "reports": reports, "seat": standing.seat, "names": standing.names}
            events = clean(self._templates.render("letters/events.txt", **told)).strip()
            composing = composing | {"reports": reports, "events": events}
        return f"#{fragment(composing)}"

    @staticmethod
    def _rematch(table: PlayTable, standing: MatchView) -> str:
        """The lines after `new` that propose the same match again; "" if its terms are not known here."""
        terms = table.letters.matches.agreed_or_entered(standing.match)
        others = [name for seat, name in standing.names.items() if seat != standing.seat]
        lines = [f"{name}: {value}" for name, value in terms.lines().items()] if terms else []
        return "\n".join([f"{standing.rules} with {', '.join(others)}", *lines]) if terms else ""

    def _conditions(self, standing: MatchView) -> Sequence[JsonObject]:
        """The conditions to choose from, each with its words."""
        words: Any = part_of(standing.rules, "words") if standing.rules in GAMES else None
        return [
            {"form": form, "words": self._templates.say(words.atom_said(tuple(form.split())))}
            for form in getattr(words, "CONDITIONS", ())
        ]

    def _terms(self, table: PlayTable, standing: MatchView) -> str:
        facts = terms_of(table.letters, standing)
        return clean(self._templates.render("letters/terms.txt", m=facts))

    def _tournament(self, table: PlayTable, match: str) -> JsonObject:
        letters = table.letters
        told = letters.memory.tournament(match)
        terms, hash_ = tournament_terms(letters, match, self._templates)
        assert told is not None
        return tournament_facts(letters, told) | {
            "hash": hash_,
            "terms": terms,
            "table": msgspec.to_builtins(told.table),
            "letters": letters.memory.texts(match),
        }

    def _composer(self, table: PlayTable, match: str) -> PageAnswer:
        home = Home(table.account.server, table.account.server_address)
        standing = table.letters.matches.standing(match)
        if standing.rules in BUILT_IN:
            return PageAnswer(composer(standing.rules, home, self._language).encode(), framed=True)
        if standing.phase == "setup":
            return self._outside(standing, "setup", {"options": table.letters.matches.setup_asked(match)["options"]})
        return self._outside(standing, "orders", seen(table.agent, standing) or {})

    def _board(self, table: PlayTable, match: str) -> PageAnswer:
        return self._drawn(table, match, lambda standing, found: self._outside(standing, "", found))

    @staticmethod
    def _drawn(table: PlayTable, match: str, show: Callable[[MatchView, JsonObject], PageAnswer]) -> PageAnswer:
        """A match as its player knows it; raises `Impossible`."""
        standing = table.letters.matches.standing(match)
        try:
            found = seen(table.agent, standing)
            if found is None:
                raise Impossible("Nothing is to be seen of {match} yet.", match=match)
            return show(standing, found)
        except (Contradiction, Impossible, sqlite3.Error):
            raise
        except Exception as error:  # the server may have sent anything
            raise Impossible("The letters about {match} cannot be shown.", match=match) from error

    def _outside(self, standing: MatchView, asked: str, found: JsonObject) -> PageAnswer:
        """A match as in letters, with a place to write what is asked for: the game has no page of its own."""
        game, drawer = standing.rules, part_of(standing.rules, "boards")
        view, reports = found.get("view"), found.get("reports")
        facts = {"rules": game, "seat": standing.seat, "names": standing.names, **found, "boards": None}
        if drawer is not None and view is not None:
            facts |= {"boards": drawer.boards(view), "happened": drawer.happened(reports) if reports else None}
        else:
            template = "player/setup.txt" if asked == "setup" else "player/match.txt"
            facts["text"] = self._templates.render(template, **facts)
        offers = parts.offers(rules(game), view) if asked and view is not None else ()
        facts |= {"title": rules(game).title, "asked": asked, "offers": offers, "script": Markup(_OFFERS)}  # noqa: S704 - ours
        page = self._templates.render("player/stands.html", **facts)
        return PageAnswer(page.encode(), policy=_DRAWN + (_CHOSEN if offers else _STILL), framed=True)

    @staticmethod
    def _picture(table: PlayTable, match: str) -> PageAnswer:
        """Both sides of a match that is over and its result as a PNG, to be passed on; raises `Impossible`."""
        standing = table.letters.matches.standing(match)
        boards: Any = part_of(standing.rules, "boards") if standing.rules in GAMES else None
        views = revealed(table.letters, match) if boards else None
        if views is None:
            raise Impossible("No bundle of {match} has come: it comes when a game has ended.", match=match)
        results = zip(standing.names.items(), standing.totals, strict=True)
        names = {seat: f"{name}: {score}" for (seat, name), score in results}
        return PageAnswer(draw(boards.truth(views, standing.seat), names), "image/png")

    def _miniature(self, table: PlayTable, match: str) -> PageAnswer:
        """The boards of a match as its player knows them, as a small PNG; raises `Impossible`."""

        def drawn(standing: MatchView, found: JsonObject) -> PageAnswer:
            boards = part_of(standing.rules, "boards").boards(found["view"])
            return PageAnswer(miniature(boards), "image/png")

        return self._drawn(table, match, drawn)

    def _replay(self, table: PlayTable, match: str) -> PageAnswer:
        content = table.letters.memory.bundle(match)
        if content is None:
            raise Impossible("No bundle of {match} has come: it comes when a game has ended.", match=match)
        standing = table.letters.matches.standing(match)
        try:
            page = replay(read(content), seat=standing.seat, language=self._language)
        except Exception as error:  # the rules of another package may do anything
            raise Impossible("The bundle of {match} cannot be shown.", match=match) from error
        return PageAnswer(page.encode(), framed=True)
