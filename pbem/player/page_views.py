"""The page at home: what it may ask for, and its views of matches, tournaments and boards, each of a player's table.

Views only read. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pbem.boards.picture import draw, miniature
from pbem.games import BUILT_IN, GAMES, part_of, rules
from pbem.pages import Home, composer, fragment
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

_DRAWN = "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-same-origin; "
"""The policy of boards, which are drawn as in letters."""


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
            "position": self._position(table, standing, composing) if board == "composer" else "",
            "rematch": self._rematch(table, standing) if standing.phase == "closed" else "",
            "terms": self._terms(table, standing) if standing.phase in {"proposed", "open"} else "",
            "letters": letters.memory.texts(match),
            "talk": letters.memory.talk(match),
        }

    @staticmethod
    def _on_board(table: PlayTable, standing: MatchView, composing: JsonObject | None) -> str:
        """The view that shows a match on its board: a match that is over can be stepped through; "" for none."""
        known = standing.rules in BUILT_IN
        if standing.phase == "closed" and known and table.letters.memory.bundle(standing.match) is not None:
            return "replay"
        if composing is not None or (known and standing.phase in {"playing", "closed"}):
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
        return tournament_facts(told) | {
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
            asked_for = table.letters.matches.setup_asked(match)
            return self._plain(standing, "setup", options=asked_for["options"])
        return self._plain(standing, "orders", **(seen(table.agent, standing) or {}))

    def _plain(self, standing: MatchView, asked: str, **facts: object) -> PageAnswer:
        """A match as text, with a place to write what is asked for: pages do not know the game."""
        game, template = standing.rules, "player/setup.txt" if asked == "setup" else "player/match.txt"
        facts |= {"rules": game, "seat": standing.seat, "names": standing.names}
        text = self._templates.render(template, **facts)
        page = self._templates.render("player/plain.html", title=rules(game).title, text=text, asked=asked)
        return PageAnswer(page.encode(), policy=_DRAWN, framed=True)

    def _board(self, table: PlayTable, match: str) -> PageAnswer:
        standing = table.letters.matches.standing(match)
        try:
            found = seen(table.agent, standing)
            if found is None:
                raise Impossible("Nothing is to be seen of {match} yet.", match=match)
            if part_of(standing.rules, "boards") is None:
                return self._plain(standing, "", **found)
            text = self._drawn(standing, found)
        except (Contradiction, Impossible, sqlite3.Error):
            raise
        except Exception as error:  # the server may have sent anything
            raise Impossible("The letters about {match} cannot be shown.", match=match) from error
        return PageAnswer(text.encode(), policy=_DRAWN, framed=True)

    def _drawn(self, standing: MatchView, found: JsonObject) -> str:
        boards, reports = part_of(standing.rules, "boards"), found["reports"]
        return self._templates.render(
            "player/stands.html",
            rules=standing.rules,
            title=rules(standing.rules).title,
            seat=standing.seat,
            names=standing.names,
            reports=reports,
            happened=boards.happened(reports) if reports else None,
            view=found["view"],
            boards=boards.boards(found["view"]),
        )

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

    @staticmethod
    def _miniature(table: PlayTable, match: str) -> PageAnswer:
        """The boards of a match as its player knows them, as a small PNG; raises `Impossible`."""
        standing = table.letters.matches.standing(match)
        boards: Any = part_of(standing.rules, "boards") if standing.rules in GAMES else None
        try:
            found = seen(table.agent, standing) if boards else None
            drawn = boards.boards(found["view"]) if found else []
        except (Contradiction, Impossible, sqlite3.Error):
            raise
        except Exception as error:  # the server may have sent anything
            raise Impossible("The letters about {match} cannot be shown.", match=match) from error
        if not drawn:
            raise Impossible("Nothing is to be seen of {match} yet.", match=match)
        return PageAnswer(miniature(drawn), "image/png")

    def _replay(self, table: PlayTable, match: str) -> PageAnswer:
        content = table.letters.memory.bundle(match)
        if content is None:
            raise Impossible("No bundle of {match} has come: it comes when a game has ended.", match=match)
        standing = table.letters.matches.standing(match)
        if standing.rules not in BUILT_IN:
            raise Impossible("Pages do not know this game. `pbem verify` checks its bundle.")
        page = replay(read(content), seat=standing.seat, language=self._language)
        return PageAnswer(page.encode(), framed=True)
