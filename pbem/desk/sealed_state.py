"""The data of a sealed match for programs: commitments, what was told, and who signed it.

Everything in it is public among the players, except the reader's note, which nobody else can read. Implements
docs/attachments.md, "Sealed matches".
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pbem.desk.bulletin import SIGNED_TEXT
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.json_object import JsonObject
    from pbem.mail.compose import Attachment
    from pbem.match.pinned_keys import Player
    from pbem.match.sealed_game import Filed
    from pbem.match.state import Match
    from pbem.store.matches import Matches


def of_seat(match: Match, seat: int, note: str | None, texts: Sequence[Attachment]) -> JsonObject:
    """The state of a sealed match for a seat: what it owes, and everything that was told in this game."""
    attached = {name for name, _, _ in texts}
    found: JsonObject = {
        "owes": list(match.owes(seat)),
        "terms": match.rules_hash,
        "note": note,
        "keys": {str(one): keys_of(match.players[one - 1]) for one in match.seats},
    }
    game = match.sealed_game
    if game is None:
        return found
    seals = {str(one): _seal_name(match, one) for one in match.seats if _seal_name(match, one) in attached}
    steps = [_step(match, filed, attached) for filed in game.steps]
    commitments = {str(one): commitment for one, commitment in sorted(game.commitments.items())}
    name = _resignation_name(match)
    resigned = name if name in attached else None
    return found | {"commitments": commitments, "seals": seals, "steps": steps, "resigned": resigned}


def keys_of(player: Player) -> list[str]:
    """The keys that letters told here may be signed with: a revoked one signed what was entered before."""
    return [key["public"] for key in (*player.keys, *(key for _, key in player.former))]


def _step(match: Match, filed: Filed, attached: set[str]) -> JsonObject:
    told: JsonObject = {
        "turn": filed.turn,
        "seat": filed.seat,
        "step": filed.step,
        "lines": list(filed.lines),
        "seq": filed.seq,
        "head": filed.head,
    }
    if filed.turn < match.turn - 2:  # a letter with a step of the last turn may begin with one of the turn before
        return told
    name = _name(match, filed)
    proved: JsonObject = {"values": dict(filed.values), "paper": filed.paper, "mail": filed.mail}
    return told | proved | {"letter": name if name in attached else None}


def signed_texts(match: Match, seat: int, number: int, matches: Matches) -> list[Attachment]:
    """The texts that the others signed in this turn and the last, for the reader at this seat."""
    return [
        (name, "text/plain", text.encode())
        for name, mail in dict(_letters(match, seat, number, matches)).items()
        if (text := matches.text(number, mail)) is not None
    ]


def _letters(match: Match, seat: int, number: int, matches: Matches) -> Iterator[tuple[str, str]]:
    """The others' letters that count here: the name of each file, and the SHA-256; steps may share a letter."""
    game = match.sealed_game
    if game is None:
        return
    for other, path in sorted(game.seals.items()) if match.turn <= 1 else ():
        letter = matches.paper(number, path) if other != seat else None
        if letter is not None:
            yield _seal_name(match, other), sha256_hex(letter)
    for filed in game.steps:
        if filed.seat != seat and _is_late(match, filed):
            yield _name(match, filed), filed.mail
    if name := _resignation_name(match):
        assert game.ending is not None
        letter = matches.paper(number, game.ending.resignation)
        if letter is not None:
            yield name, sha256_hex(letter)


def _is_late(match: Match, filed: Filed) -> bool:
    """True if a step is of this turn or the last one."""
    return filed.turn >= match.turn - 1


def _name(match: Match, filed: Filed) -> str:
    return f"{match.id}-{PurePosixPath(filed.letter).stem}{SIGNED_TEXT}"


def _resignation_name(match: Match) -> str:
    """The file of the signed resignation that ended the game; empty if none did."""
    ending = match.sealed_game.ending if match.sealed_game else None
    return (
        f"{match.id}-{PurePosixPath(ending.resignation).stem}{SIGNED_TEXT}" if ending and ending.resignation else ""
    )


def _seal_name(match: Match, seat: int) -> str:
    return f"{match.id}-game-{match.game}-seal-seat-{seat}{SIGNED_TEXT}"
