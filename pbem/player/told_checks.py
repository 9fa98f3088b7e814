"""Checks what a server tells about a sealed game against what it told before, what was agreed, and what was signed.

A *contradiction* accuses the server: nothing more is sent in the match. A text that another player signed and that
cannot be read (`Unread`) accuses nobody: the player decides. What passes is remembered, for later letters.
`sealed_view` judges a document on its own, and `signed_texts` what was signed. Implements sealed.md 1.5 and 1.6.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbem.mail.commands import parse
from pbem.match.transcript import canonical, sha256_hex, written
from pbem.player.correspondence.standings import Impossible
from pbem.player.known import GameKnown, MatchKnown, StepsKnown
from pbem.player.sealed_view import Changed, Contradiction
from pbem.player.signed_texts import Unread, check_resigned, check_seal, check_steps, unproved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import Memory
    from pbem.player.sealed_view import SealedSide
    from pbem.player.secret_vault import Secrets


log = logging.getLogger(__name__)


class Accusations:
    """The accusations in the matches of one account."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def accused(self, match: str) -> str | None:
        """The contradiction found in a match, if any."""
        return self._memory.known(MatchKnown, match).accused

    def unread(self, match: str) -> tuple[str, str] | None:
        """The reason why a signed text of a match cannot be read, and the text; None if all can."""
        return self._memory.known(MatchKnown, match).unread

    def accuse(self, match: str, wrong: Contradiction, now: datetime) -> None:
        """Hold a contradiction against the server."""
        with self._memory.noting(MatchKnown, match) as known:
            known.accused = str(wrong)
            self._memory.alarm(written(now), match, str(wrong))

    def doubt(self, match: str, unread: Unread) -> bool:
        """Note that a signed text cannot be read; returns whether that is new."""
        held = str(unread), unread.content.decode("utf-8", "replace")
        with self._memory.noting(MatchKnown, match) as known:
            new, known.unread = known.unread != held, held
        return new

    def read(self, match: str) -> None:
        """Note that every signed text can be read, or was taken as it is."""
        with self._memory.noting(MatchKnown, match) as known:
            known.unread = None

    def what(self, match: str) -> str:
        """The accusation or doubt held in a match; raises `Impossible` if there is none."""
        if (accused := self.accused(match)) is not None:
            return accused
        if (unread := self.unread(match)) is not None:
            return unread[0]
        raise Impossible("Nothing is held against anybody in {match}.", match=match)

    def take_back(self, match: str) -> None:
        """Take back what is held in a match; raises `Impossible` if it is nothing."""
        held = self.what(match)
        with self._memory.noting(MatchKnown, match) as known:
            known.accused = known.unread = None
            known.taken_back.append(held)
            self._memory.forget_alarm(match, held)

    @contextmanager
    def unless_taken_back(self, match: str) -> Iterator[None]:
        """Pass over a contradiction or an unread text that was taken back; any other is raised.

        If something was told otherwise before, that was forgotten when it was taken back: it may not change again.
        """
        try:
            yield
        except Changed:
            raise
        except (Contradiction, Unread) as wrong:
            if str(wrong) not in self._memory.known(MatchKnown, match).taken_back:
                raise


def check_agreed(letters: Correspondence, standing: MatchView, terms: str) -> None:
    """Check that a setup is due at our seat, under the agreed terms: otherwise its commitment could not be opened."""
    agreed = letters.matches.agreed(standing.match)
    if agreed is None:
        return  # it was proposed from here, or agreed to elsewhere
    hashed = agreed.hash(letters.account.server, standing.match)
    if terms != hashed or agreed.players[standing.seat - 1] != standing.player:
        raise Contradiction("the server asks for a setup under other terms, or at another seat, than were agreed on")


def check_unrevealed(memory: Memory, standing: MatchView, game: SealedSide) -> None:
    """Check that a game in which a reveal was requested is over: otherwise the requester learned the secrets.

    A server that was restored since may ask once more for the steps that were told before.
    """
    revealed = memory.sent("reveal", standing.match, f"game {standing.game}")
    again = all(sent.generation < standing.generation for sent in revealed)
    answers = memory.known(GameKnown, standing.match, standing.game).answers
    for seat, steps in standing.sealed.owes.items() if standing.sealed and revealed else ():
        told = sum(step.seat == seat for step in game.told.steps)
        if set(steps) - {"reveal"} and not (again and told < len(answers.get(str(seat), ()))):
            raise Contradiction("the server had you reveal your secrets, and now the game goes on")


def check_told(memory: Memory, held: Accusations, game: SealedSide) -> None:
    """Check that keys, steps and commitments are those told before, and those signed.

    Raises `Contradiction`; `Unread` for a signed text that cannot be read, and `Impossible` for one that is missing.
    """
    match = game.place.match
    for compare in (_check_keys, _check_begun, _check_answers, _check_steps, _check_heads):
        with held.unless_taken_back(match):
            compare(memory, game)
    for seat, name in game.told.seals.items():
        seal = memory.signed_text(match, name)
        if seal is not None:
            with held.unless_taken_back(match):
                check_seal(game, int(seat), seal)
    _check_signed(memory, held, game)


def _check_keys(memory: Memory, game: SealedSide) -> None:
    """Check that the others' keys are those that were told first: new keys may be somebody else's."""
    with memory.noting(MatchKnown, game.place.match) as known:
        for seat, keys in game.told.keys.items():
            if not known.keys.setdefault(seat, keys) or not keys:
                raise Contradiction(f"seat {seat} has no key")
            if not set(known.keys[seat]) & set(keys):
                raise Changed(f"seat {seat} has new keys, and none of the old ones")
            known.keys[seat] = keys


def _check_begun(memory: Memory, game: SealedSide) -> None:
    """Check that all letters tell the same terms, commitments and options."""
    begun = sha256_hex(canonical([game.told.terms, game.told.commitments, dict(game.options.changed)]))
    with memory.noting(GameKnown, *_game(game)) as known:
        if known.begun not in {"", begun}:
            raise Changed("the terms, options or commitments of this game differ from those told before")
        known.begun = begun


def _check_answers(memory: Memory, game: SealedSide) -> None:
    """Check that each seat has one answer at each place, also after the server was restored from a backup.

    Whoever saw what the others told after the backup must not answer otherwise. Letters have papers only of recent
    steps, so these are compared only if both letters have them.
    """
    told = dict[str, list[tuple[str, str | None]]]()
    for step in game.told.steps:
        told.setdefault(str(step.seat), []).append((step.said, step.paper))
    with memory.noting(GameKnown, *_game(game)) as known:
        for seat, now in told.items():
            before = known.answers.get(seat, [])
            for at, ((then, paper), (said, new)) in enumerate(zip(before, now, strict=False)):
                if then != said or (paper and new and paper != new):
                    raise Changed("the steps of this game differ from those told before")
                now[at] = (said, new or paper)
            known.answers[seat] = now + before[len(now) :]


def _check_steps(memory: Memory, game: SealedSide) -> None:
    """Check that the entries of steps do not change, nor their heads, unless the server was restored."""
    now = [(step.seq, step.head) for step in game.told.steps]
    with memory.noting(StepsKnown, *_game(game), memory.generation(game.place.match)) as known:
        if any(then != told for then, told in zip(known.steps, now, strict=False)):
            raise Changed("the steps of this game differ from those told before")
        known.steps = now + known.steps[len(now) :]


def _check_heads(memory: Memory, game: SealedSide) -> None:
    """Check that each entry has the same head in all letters."""
    for step in game.told.steps:
        shown = memory.head(game.place.match, step.seq)
        if shown is not None and shown != step.head:
            raise Contradiction(f"the server told two heads after entry {step.seq}: {shown} and {step.head}")


def _check_signed(memory: Memory, held: Accusations, game: SealedSide) -> None:
    """Check that the others signed what was told; what they signed for this turn and the last must have arrived."""
    match, heads = game.place.match, _heads(memory, game)
    place = (*_game(game), memory.generation(match))
    cited = memory.known(StepsKnown, *place).cited
    for at, count in unproved(game, len(cited)):
        first, last, prev = game.told.steps[at], game.told.steps[at + count - 1], ""
        cited += [""] * (at - len(cited))
        content = memory.signed_text(match, first.letter) if first.letter else None
        if content is not None:
            with held.unless_taken_back(match):
                prev = check_steps(game, at, count, content, heads, cited[:at])
        elif last.turn >= game.table.turn - 1:
            raise Impossible(
                "what {what} signed has not arrived: `pbem play ask report {match}`",
                what=game.players[first.seat - 1],
                match=match,
            )
        cited[at:] = [prev] * count
        with memory.noting(StepsKnown, *place) as known:
            known.cited = cited


def has_resigned(memory: Memory, game: SealedSide) -> bool:
    """Return whether the other player signed that this game is given up."""
    name = game.told.resigned
    content = memory.signed_text(game.place.match, name) if name else None
    if content is None:
        return False
    heads = _heads(memory, game)
    try:
        check_resigned(game, 3 - game.place.seat, content, heads, _begun(memory, game, heads))
    except (Contradiction, Unread) as wrong:
        log.warning("%s: %s", game.place.match, wrong)  # the owner is asked, as if nobody had brought it
        return False
    return True


def _begun(memory: Memory, game: SealedSide, heads: Mapping[int, str]) -> int:
    """The entry that our commitment to this game's setup cites; 0 in the first game. Raises `Contradiction`.

    Letters of earlier games cite earlier entries. The server's letter that asked for the setup would not do: another
    one could come later, and name an earlier head.
    """
    match, number = game.place.match, game.place.game
    if number == 1:
        return 0
    cited = [parse(sent.form).commands[0].fields.get("prev") for sent in memory.sent("seal", match, f"game {number}")]
    found = [seq for seq, head in heads.items() if head in cited]
    if not found:
        raise Contradiction(f"game {number}: it is not known here which head our own commitment to a setup cites")
    return min(found)


def _heads(memory: Memory, game: SealedSide) -> dict[int, str]:
    """The heads that letters showed, by their entries."""
    return memory.heads(game.place.match) | {step.seq: step.head for step in game.told.steps}


def forget_told(memory: Memory, standing: MatchView) -> None:
    """Forget what was told before: what is told next is what later letters are checked against."""
    with memory.noting(MatchKnown, standing.match) as known:
        known.keys = {}
    memory.forget(GameKnown, standing.match, standing.game)
    memory.forget(StepsKnown, standing.match, standing.game, standing.generation)


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
