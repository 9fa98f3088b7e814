"""The entries of a tournament: their forms, their heads, and the result of a match that one of them tells.

They are written, hashed and signed as those of a match, with domain strings of their own, so that none can be shown
as the other. Implements docs/bundle.md, 12.1, 12.3 and 12.7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import msgspec

from pbem.games import Result
from pbem.match.entry_type import (
    Form,
    anything,
    either,
    hash_,
    host,
    list_of,
    mapping,
    number,
    one_of,
    player,
    seats,
    text,
    time,
    whole,
)
from pbem.match.events.leaving import SILENT
from pbem.match.transcript import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.json_object import JsonObject

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_MATCH = re.compile(r"m[1-9][0-9]{0,8}")
_TOURNAMENT = re.compile(r"t[1-9][0-9]{0,8}")


class TournamentEntry(Entry, frozen=True, dict=True):
    """One entry of a tournament."""

    TAG: ClassVar[bytes] = b"pbem tournament entry 1\n"


def tournament_statement(server: str, tournament: str, seq: int, head: str) -> bytes:
    """The text about a head that the server signs with its Ed25519 key, and that is a leaf of its log."""
    lines = f"server {server}\ntournament {tournament}\nseq {seq}\nhead {head}\n"
    return f"pbem tournament head 1\n{lines}".encode()


def _matches(pattern: re.Pattern[str]) -> Form:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


_name, _match = _matches(_NAME), _matches(_MATCH)


def _player(value: object) -> bool:
    return player(value) and isinstance(value, dict) and _name(value["name"])


def _none_or(form: Form) -> Form:
    return lambda value: value is None or form(value)


def _by_letter(form: Mapping[str, Form], more: Mapping[str, Form] | None = None) -> Form:
    """A body that names the letter on which it rests, and the hash of what the letter says."""
    letter = {"mail": hash_, "received": time, "words": hash_}
    return mapping({**form, **letter}, {"level": one_of("mailbox"), "evidence": hash_, **(more or {})})


def _ruling(what: str, **form: Form) -> Form:
    """A ruling, by the organiser's letter or by the operator's bare word."""
    ruling = {"what": one_of(what), "reason": text, **form}
    by_letter = _by_letter({**ruling, "by": one_of("organiser")}, {"organiser": _player})
    return either(mapping({**ruling, "by": one_of("operator")}), by_letter)


PLACE: Mapping[str, Form] = {"round": number, "board": number, "players": list_of(_name)}

FORMS: Mapping[str, Form] = {
    "announced": _by_letter(
        {
            "register": number,
            "version": text,
            "server": host,
            "server_key": hash_,
            "tournament": _matches(_TOURNAMENT),
            "terms": anything,
            "rules": hash_,
            "secret": _none_or(hash_),
            "organiser": _player,
        }
    ),
    "entered": _by_letter({"player": _player, "team": _none_or(_name)}),
    "left": _by_letter({"player": _name}),
    "challenged": _by_letter({"player": _name, "against": _name}),
    "started": mapping({"secret": hash_, "order": list_of(_name)}),
    "paired": mapping(
        {
            "pairs": list_of(mapping({**PLACE, "match": _match})),
            "byes": list_of(_name),
            "unfinished": list_of(_match),
            "rematches": number,
        }
    ),
    "result": mapping(
        {
            "match": _match,
            "closed": hash_,
            "players": list_of(_name),
            "winners": seats,
            "scores": list_of(whole),
            "reason": text,
            "turns": number,
            "missed": list_of(number),
            "silent": seats,
            "resigned": seats,
        }
    ),
    "ruled": either(
        _ruling("annul", match=_match),
        _ruling("substitute", player=_name, **{"for": _name}),
        _ruling("close"),
    ),
    "restored": mapping({"generation": number}),
    "withdrawn": mapping({"player": _name, "why": one_of("left", "silent"), "games": text}),
    "ended": mapping({"reason": one_of("played", "too few", "ruled", "full"), "table": list_of(list_of(anything))}),
}
"""The form of each type of entry."""

WIN, DRAW, LOSS = 2, 1, 0
"""The points of a seat against each that is below it, level with it, and above it."""

Meetings = tuple[tuple[int, ...], ...]
"""The points of each seat against each seat; against itself it has none."""


class MatchResult(msgspec.Struct, frozen=True):
    """The body of an entry `result`, but for the match's name."""

    closed: str
    """The head of the match's last entry."""
    players: tuple[str, ...]
    """The players at the end: a substitute may have taken a seat."""
    winners: tuple[int, ...]
    scores: tuple[int, ...]
    reason: str
    turns: int
    """The turns of all games."""
    missed: tuple[int, ...]
    """The missed deadlines of each seat."""
    silent: tuple[int, ...]
    """The seats that lost a game by silence, or left it so."""
    resigned: tuple[int, ...]
    """The seats that resigned a game, or the match."""

    @classmethod
    def read(cls, body: JsonObject) -> MatchResult:
        """The result in the body of an entry."""
        return msgspec.convert({key: value for key, value in body.items() if key != "match"}, cls)

    @property
    def won(self) -> tuple[int, ...]:
        """The seats that won or share: if it ended because some were silent or resigned, several others share."""
        gone = {*self.silent, *self.resigned}
        others = tuple(seat for seat, _ in enumerate(self.players, start=1) if seat not in gone)
        stopped = self.reason in {"forfeit", "resignation"} and 1 < len(others) < len(self.players)
        return self.winners or (others if stopped else ())

    @property
    def meetings(self) -> Meetings:
        """The points of each seat against each other one, by their places.

        There are none if nobody has won, or if several share what was never played.
        """
        if not self.won or (len(self.winners) > 1 and not self.turns):
            return ((LOSS,) * len(self.players),) * len(self.players)
        places = Result(self.won, self.scores).places
        return tuple(
            tuple(LOSS if other == seat else _points(places[seat], place) for other, place in enumerate(places))
            for seat, _ in enumerate(places)
        )

    @property
    def points(self) -> tuple[int, ...]:
        """The points of each seat."""
        return tuple(map(sum, self.meetings))

    @property
    def played(self) -> bool:
        """True if it counts in tie-breaks: a turn was resolved, and somebody has won."""
        return self.turns > 0 and bool(self.won)


def _points(own: int, other: int) -> int:
    """The points of one place against another."""
    return WIN if own < other else DRAW if own == other else LOSS


def result_of(entries: Sequence[Entry]) -> JsonObject | None:
    """The body of the entry `result` about the match of this transcript; None if it is not over."""
    agreed, closed = entries[0].body, entries[-1]
    if closed.type != "closed":
        return None
    players = {int(seat): player["name"] for seat, player in agreed["players"].items()}
    missed = dict.fromkeys(players, 0)
    silent: set[int] = set()
    resigned: set[int] = set()
    for entry in entries:
        if entry.type == "substituted":
            players[entry.body["seat"]] = entry.body["player"]["name"]
        elif entry.type == "missed":
            missed[entry.body["seat"]] += 1
        elif entry.type in {"forfeited", "claimed"}:
            silent |= {*entry.body.get("seats", ()), *entry.body.get("against", ())}
        elif entry.type == "left" and entry.body["cause"] == SILENT:
            silent.add(entry.body["seat"])
        elif entry.type == "resigned":
            resigned.add(entry.body["seat"])
    return {
        "match": agreed["match"],
        "closed": closed.head,
        "players": [players[seat] for seat in sorted(players)],
        **{key: closed.body[key] for key in ("winners", "scores", "reason")},
        "turns": sum(entry.type == "turn" for entry in entries),
        "missed": [missed[seat] for seat in sorted(missed)],
        "silent": sorted(silent),
        "resigned": sorted(resigned),
    }
