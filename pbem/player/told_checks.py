"""What a server tells of a sealed game, held against what it told before, what was agreed to, and what was signed.

Each check raises `Contradiction` where two things cannot both be true. What passes is remembered, and later letters
are held against it. What a document says by itself is `sealed_game`'s, and signatures are `signed_steps`'. Implements
sealed.md 1.5 and 1.6.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pbem.match.transcript import canonical, sha256_hex
from pbem.player.correspondence import Impossible
from pbem.player.sealed_game import Contradiction
from pbem.player.signed_steps import check, check_seal, unproved

if TYPE_CHECKING:
    from pbem.json_object import JsonObject
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import Memory
    from pbem.player.sealed import Secrets
    from pbem.player.sealed_game import SealedState, ToldGame

__all__ = ["check_agreed", "check_own", "check_told", "check_unrevealed"]


def check_agreed(letters: Correspondence, standing: JsonObject, terms: str) -> None:
    """Check that a setup is due at our seat, under the agreed terms: otherwise it could not be opened."""
    agreed = letters.agreed(standing["match"])
    if agreed is None:
        return  # it was proposed from here, or agreed to elsewhere
    hashed = agreed.hash(letters.party.server, standing["match"])
    if terms != hashed or agreed.players[standing["seat"] - 1] != standing["player"]:
        raise Contradiction("the setup is asked for under other terms, or at another seat, than were agreed on")


def check_unrevealed(memory: Memory, standing: JsonObject) -> None:
    """Check that a game in which a reveal was requested is over: otherwise the requester learned the secrets."""
    revealed = memory.sent("reveal", standing["match"], f"game {standing['game']}")
    if revealed and any(set(owed) - {"reveal"} for owed in standing["sealed"]["owes"].values()):
        raise Contradiction("the server had you lay your secrets open, and now the game goes on")


def check_told(memory: Memory, game: ToldGame) -> None:
    """Check that keys, steps and commitments are those told before, and those signed; raises `Impossible`, too."""
    match = game.place.match
    _check_keys(memory, match, game.told)
    _check_begun(memory, game)
    _check_steps(memory, game)
    _check_heads(memory, game)
    for seat, name in game.told.seals.items():
        seal = memory.signed_text(match, name)
        if seal is not None:
            check_seal(game, int(seat), seal)
    _check_signed(memory, game)


def _check_keys(memory: Memory, match: str, told: SealedState) -> None:
    """Check that the others' keys are those that were told first: with other keys, it may be somebody else."""
    fact = f"keys {match}"
    known: dict[str, list[str]] = json.loads(memory.fact(fact) or "{}")
    for seat, keys in told.keys.items():
        if not known.setdefault(seat, keys) or not keys:
            raise Contradiction(f"seat {seat} has no key")
        if not set(known[seat]) & set(keys):
            raise Contradiction(f"seat {seat} has other keys than before, and none of the old ones")
        known[seat] = keys
    memory.know(fact, json.dumps(known))


def _check_begun(memory: Memory, game: ToldGame) -> None:
    """Check that all letters tell the same terms, commitments and options."""
    told = game.told
    begun, fact = (
        sha256_hex(canonical([told.terms, told.commitments, dict(game.options.changed)])),
        _named("begun", game),
    )
    before = memory.fact(fact)
    if before is None:
        memory.know(fact, begun)
    elif before != begun:
        raise Contradiction("this game began otherwise, by what was told before: terms, options, commitments")


def _check_steps(memory: Memory, game: ToldGame) -> None:
    """Check that a step that was told does not change, and neither does its head.

    Papers are told only for recent steps, so they are compared only if both letters have them.
    """
    fact = _named("steps", game)
    now = [[step.seq, step.head, step.said, step.paper] for step in game.told.steps]
    before = json.loads(memory.fact(fact) or "[]")
    for then, told in zip(before, now, strict=False):
        if then[:3] != told[:3] or (then[3] and told[3] and then[3] != told[3]):
            raise Contradiction("the steps of this game are other ones than were told before")
        told[3] = told[3] or then[3]
    if (told_so_far := now + before[len(now) :]) != before:
        memory.know(fact, json.dumps(told_so_far))


def _check_heads(memory: Memory, game: ToldGame) -> None:
    """Check that each entry has one head, in all letters."""
    for step in game.told.steps:
        shown = memory.head(game.place.match, step.seq)
        if shown is not None and shown != step.head:
            raise Contradiction(f"the server told two heads after entry {step.seq}: {shown} and {step.head}")


def _check_signed(memory: Memory, game: ToldGame) -> None:
    """Check that the others signed what was told: what they signed for this turn and the last must have come."""
    match, fact = game.place.match, _named("proved", game)
    heads = memory.heads(match) | {step.seq: step.head for step in game.told.steps}
    for at, steps in unproved(game, int(memory.fact(fact) or 0)):
        first = steps[0]
        content = memory.signed_text(match, first.letter) if first.letter else None
        if content is not None:
            check(game, at, steps, content, heads)
        elif steps[-1].turn >= game.table.turn - 1:
            raise Impossible(
                f"what {game.players[first.seat - 1]} signed has not come; `pbem play ask report {match}` asks"
            )
        memory.know(fact, str(at + len(steps)))


def _named(fact: str, game: ToldGame) -> str:
    """The name of a fact about this game."""
    return f"{fact} {game.place.match} game {game.place.game}"


def check_own(game: ToldGame, secrets: Secrets) -> None:
    """Check that what is told in our name is what we said."""
    seat = game.place.seat
    given = secrets.by_turn
    steps = [step for step in game.steps if step.seat != seat or step.turn in given or step.turn == 0]
    if steps != list(game.steps):
        return  # another machine of ours went on, and its note has not come
    false = game.rules.first_false(game.options, seat, secrets.setup, given, steps)
    if false is not None:
        raise Contradiction(f"turn {false.turn}, {false.step}: that is told under your name, and you did not say it")
