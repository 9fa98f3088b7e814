"""The words and the picture that sites show of a link to the page of a match.

The picture shows the last game as it stood after its decisive turn, with everything that was secret: it is made of
records, which a bundle has of revealed games only. The same match gives the same octets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pbem.boards.picture import card
from pbem.games import part_of, rules
from pbem.i18n import catalogue, say, template_folder
from pbem.pages import page_file
from pbem.pages.match_page import decisive_turns
from pbem.phrase import Phrase
from pbem.tournament.tournament_entries import result_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games.squares import Board
    from pbem.json_object import JsonObject
    from pbem.proof.bundle import Bundle


class LinkPreview(NamedTuple):
    """A link as a site shows it: a title, a line, and a PNG."""

    title: str
    line: str
    picture: bytes


def picture_file(name: str, language: str) -> str:
    """The name under which a picture is served, as `page_file`."""
    return page_file(name, language).removesuffix("html") + "png"


def link_preview(found: Bundle, language: str) -> LinkPreview | None:
    """Title, line and picture of a match that is closed; None if none of its games was revealed."""
    decided = decisive_turns(found)
    result = result_of(found.entries)
    if not decided or result is None:
        return None
    number, last = max(decided.items())
    known = catalogue((template_folder(),), language)

    def words(phrase: Phrase) -> str:
        return str(say(phrase, known))

    agreed = found.entries[0].body
    turn = Phrase("The decisive turn: {turn}", turn=last.turn) if last.turn else Phrase("before the first turn")
    game = [words(Phrase("game {game}", game=number))] if number > 1 else []
    line = [rules(last.record.game).title, *game, words(turn), f"{agreed['match']}, {agreed['server']}"]
    title = f"{', '.join(result['players'])}: {words(_won(result, words(Phrase(' to '))))}"
    names = {seat: name for seat, (name, _) in enumerate(last.record.seats, start=1)}
    judge = rules(last.record.game)
    views: dict[int, Mapping[str, object]] = {}
    for seat in range(1, len(last.record.seats) + 1):
        told = [[said for report in turn if (said := judge.show(report, seat))] for turn in last.reports]
        views[seat] = judge.view(last.state, seat, told)
    boards: list[Board] = part_of(last.record.game, "boards").truth(views, 1)
    return LinkPreview(title, " · ".join(line), card(title, " · ".join(line), boards, names))


def _won(result: JsonObject, to: str) -> Phrase:
    """The winner and the scores, the winner's first."""
    winner, scores = result["winner"], list(result["scores"])
    if not winner:
        return Phrase("Nobody won, {scores}", scores=to.join(map(str, scores)))
    first = scores.pop(winner - 1)
    return Phrase(
        "{winner} won, {scores}", winner=result["players"][winner - 1], scores=to.join(map(str, [first, *scores]))
    )
