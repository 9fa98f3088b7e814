"""A letter's bulletin, for programs: how matches stand for its reader, outcomes of commands, what a key has to sign.

Its items, and the hashes of the files for programs, form one document that the server signs, so that a program can
tell such a letter from a forged one. An item never says more than the text of its letter may. Implements
docs/attachments.md, "The bulletin".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.match.documents import SIGNED_TEXT
from pbem.match.transcript import sha256_hex, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.mail.commands import AnyCommand
    from pbem.mail.compose import Attachment, Generation
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.match.view import MatchView
    from pbem.tlog.checkpoint import InclusionProof


def of_match(stands: MatchView) -> JsonObject:
    """The item of a match: its view for the letter's reader."""
    return {"about": "match", **msgspec.to_builtins(stands, str_keys=True)}


def of_log(seq: int, proof: InclusionProof, about: Mapping[str, str]) -> JsonObject:
    """The proof that an entry is in the witnessed log, the latest that witnesses have seen; and what it is `about`.

    That is a `match`, or a `tournament` with the `head` of the entry.
    """
    return {"about": "log", "seq": seq, "proof": str(proof), **about}


def of_open(match: Match, free: Sequence[int], programs: Sequence[int], since: str) -> JsonObject:
    """A match of the open list: its terms, its free seats, and when it was listed."""
    told = {"about": "open", "match": match.id, "agreement": match.terms.document(), "since": since}
    return told | {"free": list(free), "programs": list(programs)}


def of_answer(
    command: AnyCommand, match: str | None, outcome: str, faults: Sequence[str], letter: Letter, received: str
) -> JsonObject:
    """The outcome of a command, about this match, of the letter that is answered; faults in the reader's language.

    The letter is named by the hash of its Message-ID: nobody else knows that at first, and a hash carries no message.
    Who saw the letter since can write under its Message-ID: so the hash of the words is there, too; and that of the
    whole letter, with the time at which it came, so that what was refused can never be said to have been obeyed.
    """
    told: JsonObject = {"about": "command", "command": command.name, "match": match, "outcome": outcome}
    told["tournament"] = getattr(command.request, "tournament", None)
    answers = sha256_hex(letter.message_id.encode("utf-8", "replace")) if letter.message_id else None
    told |= {"faults": list(faults), "words": command.words, "answers": answers}
    return told | {"mail": sha256_hex(letter.raw), "received": received}


def of_challenge(command: AnyCommand, fingerprint: str, challenge: str) -> JsonObject:
    """The challenge that a key has to sign, to prove itself, and the hash of the words that brought the key.

    Some mail programs replace a letter's Message-ID, so that its writer does not know it.
    """
    told = {"about": "challenge", "fingerprint": fingerprint, "challenge": challenge}
    return told | {"asked": command.words}


def of_press(match: str, by: str, text: str, *, alone: bool) -> JsonObject:
    """The words of another player of a match to the reader; `alone` if not all others got them."""
    return {"about": "press", "match": match, "by": by, "alone": alone, "text": text}


def of_reply(address: str, message_id: str, place: tuple[int, int, int] | None) -> JsonObject:
    """The address at which a reader without a key can answer this letter once; `place`: its match, game and turn."""
    number, game, turn = place or (0, 0, 0)
    about = {"match": f"m{number}" if number else None, "game": game, "turn": turn}
    return {"about": "reply", "address": address, "message_id": message_id, **about}


def of_account(name: str, code: str | None) -> JsonObject:
    """The reader's name here from now on, and the account's recovery code; None without a key."""
    return {"about": "account", "player": name, "code": code}


def of_rules(game: str) -> JsonObject:
    """The rules of a game, which are the words of this letter."""
    return {"about": "rules", "game": game}


def is_for_programs(name: str, kind: str) -> bool:
    """True if an attached file is one of those that programs read, and whose hash the bulletin has."""
    return kind == "application/json" or name.endswith(SIGNED_TEXT)


def unsigned(
    server: str,
    generation: Generation,
    to: str,
    time: datetime,
    items: Sequence[JsonObject],
    files: Sequence[Attachment],
    key: str,
) -> JsonObject:
    """The bulletin of a letter: items, and the hashes of JSON files and signed texts by their names.

    `generation` is the store's: a restored server has forgotten what letters of earlier ones told.
    """
    return {
        "pbem": "bulletin 1",
        "server": server,
        "generation": generation.number,
        "forgotten": dict(generation.forgotten),
        "to": to,
        "time": written(time),
        "items": list(items),
        "files": {name: sha256_hex(content) for name, kind, content in files if is_for_programs(name, kind)},
        "key": key,
    }
