"""Checks what was signed in a sealed game against what came before, what was agreed, and what we say ourselves.

A *contradiction* accuses the server: nothing more is sent in the match. What passes is remembered, for later letters.
`signed_texts` judges a game on its own. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbem.match.transcript import canonical, written
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.known import MatchKnown
from pbem.player.signed_texts import Changed, SealedState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.terms import Terms
    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import Memory
    from pbem.player.sealed_view import SealedSide
    from pbem.player.secret_vault import Secrets


class Accusations:
    """The accusations in the matches of one account."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def accused(self, match: str) -> str | None:
        """The contradiction found in a match, if any."""
        return self._memory.known(MatchKnown, match).accused

    def accuse(self, match: str, wrong: Contradiction, now: datetime) -> None:
        """Hold a contradiction against the server."""
        with self._memory.noting(MatchKnown, match) as known:
            known.accused = str(wrong)
            self._memory.alarm(written(now), match, str(wrong))

    def demand_none(self, match: str) -> None:
        """Raise `Impossible` if something is held in a match."""
        if (said := self.accused(match)) is not None:
            raise Impossible(
                "Nothing more is sent in {match}, because the server's statements cannot all be true: {said}."
                " To go on anyway: `pbem play take-back {match}`",
                match=match,
                said=said,
            )

    def take_back(self, match: str, *, again: bool) -> None:
        """Take back what is held in a match; raises `Impossible` if it is nothing, unless it was before."""
        with self._memory.noting(MatchKnown, match) as known:
            if known.accused is not None:
                known.taken_back.append(known.accused)
                self._memory.forget_alarm(match, known.accused)
            elif not again:
                raise Impossible("Nothing is held against anybody in {match}.", match=match)
            # What is told next is what later letters are checked against.
            known.accused, known.keys, known.begun = None, {}, {}

    @contextmanager
    def unless_taken_back(self, match: str) -> Iterator[None]:
        """Pass over a contradiction that was taken back; any other is raised.

        If something was told otherwise before, that was forgotten when it was taken back: it may not change again.
        """
        try:
            yield
        except Changed:
            raise
        except Contradiction as wrong:
            if str(wrong) not in self._memory.known(MatchKnown, match).taken_back:
                raise


def check_agreed(letters: Correspondence, standing: MatchView) -> None:
    """Check that a setup is due at our seat, under the agreed terms: otherwise its commitment could not be opened.

    Of a continued match, only the first game has the agreed options.
    """
    match, told = standing.match, letters.matches.setup_asked(standing.match)["options"]
    terms = letters.matches.agreed_or_entered(match)
    if terms is not None and (standing.game == 1 or terms.kind != "continued") and told != _changed(terms):
        raise Contradiction("the server asks for a setup by other options than were agreed on")
    agreed = letters.matches.agreed(match)
    if agreed is None:
        return  # it was proposed from here, or agreed to elsewhere
    hashed = agreed.hash(letters.account.server, match)
    if standing.hash != hashed or standing.player not in agreed.players[standing.seat - 1 : standing.seat]:
        raise Contradiction("the server asks for a setup under other terms, or at another seat, than were agreed on")


def _changed(terms: Terms) -> JsonObject:
    """The options of the first game, as a file tells them."""
    changed: JsonObject = json.loads(canonical(dict(terms.first_options().changed)))
    return changed


def check_unrevealed(memory: Memory, standing: MatchView, game: SealedSide) -> None:
    """Check that a game in which we revealed does not go on: otherwise the server has learned the secrets.

    A server that was restored since may ask once more for the steps that it had before.
    """
    revealed = memory.sent("reveal", standing.match, f"game {standing.game}")
    again = game.signed.goes_on and all(sent.generation < standing.generation for sent in revealed)
    if revealed and not standing.revealing and not again:
        raise Contradiction("the server had you reveal your secrets, and now the game goes on")


def first_keys(memory: Memory, standing: MatchView, file: JsonObject) -> dict[str, list[str]]:
    """The keys of each seat that were told first: later ones may be somebody else's.

    Raises `Contradiction` if terms or options of the game are not those that were told first: by others, it might
    have ended.
    """
    begun = standing.hash, file["options"]
    with memory.noting(MatchKnown, standing.match) as known:
        for seat, keys in SealedState.read(file.get("sealed")).keys.items():
            known.keys.setdefault(seat, keys)
        if known.begun.setdefault(standing.game, begun) != begun:
            raise Changed("the terms or options of this game differ from those told before")
        return known.keys


def check_own(game: SealedSide, secrets: Secrets) -> None:
    """Check that what was told in our name is what we said."""
    false = game.rules.first_false(game.options, game.place.seat, secrets.setup, secrets.by_turn, game.steps)
    if false is not None:
        raise Contradiction(f"turn {false.turn}, {false.step}: this was told in your name, and you did not say it")
