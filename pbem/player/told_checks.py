"""Checks what was signed in a sealed game against what came before, what was agreed, and what we say ourselves.

A *contradiction* accuses the server: nothing more is sent in the match. What passes is remembered, for later letters.
`signed_texts` judges a game on its own. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbem.match.transcript import canonical, sha256_hex, written
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.known import GameKnown, MatchKnown
from pbem.player.signed_texts import Changed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import Memory
    from pbem.player.sealed_view import SealedSide
    from pbem.player.secret_vault import Secrets
    from pbem.player.signed_texts import SealedState


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

    def what(self, match: str) -> str:
        """The accusation held in a match; raises `Impossible` if there is none."""
        if (accused := self.accused(match)) is not None:
            return accused
        raise Impossible("Nothing is held against anybody in {match}.", match=match)

    def demand_none(self, match: str) -> None:
        """Raise `Impossible` if something is held in a match."""
        if (said := self.accused(match)) is not None:
            raise Impossible(
                "Nothing more is sent in {match}, because the server's statements cannot all be true: {said}."
                " To go on anyway: `pbem play take-back {match}`",
                match=match,
                said=said,
            )

    def take_back(self, match: str) -> None:
        """Take back what is held in a match; raises `Impossible` if it is nothing."""
        held = self.what(match)
        with self._memory.noting(MatchKnown, match) as known:
            known.accused = None
            known.taken_back.append(held)
            self._memory.forget_alarm(match, held)

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
    """Check that a setup is due at our seat, under the agreed terms: otherwise its commitment could not be opened."""
    agreed = letters.matches.agreed(standing.match)
    if agreed is None:
        return  # it was proposed from here, or agreed to elsewhere
    hashed = agreed.hash(letters.account.server, standing.match)
    if standing.hash != hashed or standing.player not in agreed.players[standing.seat - 1 : standing.seat]:
        raise Contradiction("the server asks for a setup under other terms, or at another seat, than were agreed on")


def check_unrevealed(memory: Memory, standing: MatchView, game: SealedSide) -> None:
    """Check that a game in which we revealed does not go on: otherwise the server has learned the secrets.

    A server that was restored since may ask once more for the steps that it had before.
    """
    revealed = memory.sent("reveal", standing.match, f"game {standing.game}")
    again = all(sent.generation < standing.generation for sent in revealed)
    answers = memory.known(GameKnown, *_game(game)).answers
    papers = _papers(game)
    forgotten = any(len(papers.get(seat, ())) < len(before) for seat, before in answers.items())
    if revealed and not standing.revealing and not (again and forgotten):
        raise Contradiction("the server had you reveal your secrets, and now the game goes on")


def check_known(memory: Memory, held: Accusations, game: SealedSide) -> None:
    """Check that keys, terms and what was signed are as they were before; raises `Contradiction`."""
    match = game.place.match
    with held.unless_taken_back(match):
        check_keys(memory, match, game.told)
    # Each seat signs one answer at each place, also after a restore: whoever saw what others told after the backup
    # must not answer otherwise.
    with held.unless_taken_back(match), memory.noting(GameKnown, *_game(game)) as known:
        for seat, now in _papers(game).items():
            before = known.answers.get(seat, [])
            if any(then != paper for then, paper in zip(before, now, strict=False)):
                raise Changed("the terms, options or steps of this game differ from those told before")
            known.answers[seat] = now + before[len(now) :]


def check_keys(memory: Memory, match: str, told: SealedState) -> None:
    """Check that the keys that were told first still count, or did: new ones may be somebody else's."""
    with memory.noting(MatchKnown, match) as known:
        for seat, keys in told.keys.items():
            if not keys:
                raise Contradiction(f"seat {seat} has no key")
            if not set(known.keys.setdefault(seat, keys)) & set(keys):
                raise Changed(f"seat {seat} has new keys, and none of the old ones")


def _papers(game: SealedSide) -> dict[str, list[str]]:
    """The hashes of all papers of each seat, or of those to which it committed; at "0" of terms and options."""
    signed = game.play.game
    found = {str(seat): [commitment] for seat, commitment in signed.commitments.items()}
    for step in signed.steps:
        found[str(step.seat)].append(step.paper)
    return {"0": [sha256_hex(canonical([game.play.terms, dict(game.options.changed)]))], **found}


def forget_told(memory: Memory, standing: MatchView) -> None:
    """Forget what was told before: what is told next is what later letters are checked against."""
    with memory.noting(MatchKnown, standing.match) as known:
        known.keys = {}
    memory.forget(GameKnown, standing.match, standing.game)


def _game(game: SealedSide) -> tuple[str, int]:
    return game.place.match, game.place.game


def check_own(game: SealedSide, secrets: Secrets) -> None:
    """Check that what was told in our name is what we said."""
    seat = game.place.seat
    given = secrets.by_turn
    steps = [step for step in game.steps if step.seat != seat or step.turn in given or step.turn == 0]
    if steps != list(game.steps):
        return  # another machine of ours went on, and its note has not arrived
    false = game.rules.first_false(game.options, seat, secrets.setup, given, steps)
    if false is not None:
        raise Contradiction(f"turn {false.turn}, {false.step}: this was told in your name, and you did not say it")
