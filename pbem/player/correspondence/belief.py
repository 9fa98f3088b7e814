"""The changes that a letter known to be the server's makes in the memory, by its items and files.

Even the server's own word must have the form of it, be for this player, and fit what it told before: its signed heads
must never tell two stories, and a sealed match stays one. What contradicts that is an alarm, and is not believed.
`incoming` decides whether a letter is the server's at all. Implements docs/attachments.md, from the reader's side.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from pbem.games import GAMES
from pbem.identity import ed25519_points
from pbem.mail.message import ADDRESS
from pbem.match.transcript import statement, written
from pbem.phrase import Phrase
from pbem.player.correspondence.answers import MESSAGE_ID
from pbem.player.correspondence.event import Event
from pbem.player.correspondence.standings import SEALED_POSITION
from pbem.player.memory import AnswerPlace
from pbem.player.standing import MatchStanding, TournamentStanding

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.mail.message import Letter
    from pbem.player.account_file import Account
    from pbem.player.memory import Memory
    from pbem.player.server_letter import HeardBulletin


_KINDS = {"setup 1": "setup", "position 1": "position", "reports 1": "reports"}
_HOLDS = {"setup": "options", "position": "view", "reports": "reports"}
_AFTER = 10**9
_KNOWN = re.compile("[0-9a-f]{1,128}")
_NAME = re.compile("m[1-9][0-9]{0,8}")


class Belief:
    """Takes over the letters of one server into one player's memory."""

    def __init__(self, account: Account, memory: Memory) -> None:
        self._account = account
        self._memory = memory

    def take_over(self, number: int, letter: Letter, heard: HeardBulletin, now: datetime) -> list[Event]:
        """Carry out the changes in a genuine letter's items and files; the letter is kept under this number."""
        events: list[Event] = []
        standings = dict[str, MatchStanding]()
        for item in heard.items:
            if item.get("about") == "match":
                try:
                    standing = MatchStanding.read(item)
                except msgspec.ValidationError as wrong:
                    said = Phrase("what it says of a match has no such form: {wrong}", wrong=wrong)
                    events.append(Event("forged", letter.subject, said=said))
                    continue
                # Seats of others are none of this player's business, even if the server signed it.
                if standing.player != self._account.name:
                    events.append(
                        Event("forged", letter.subject, standing.match, Phrase("it is about another player"))
                    )
                    continue
                self._memory.file(number, standing.match)
                standings[standing.match] = standing
                events += self._standing(number, letter, standing, heard, now)
            elif item.get("about") == "tournament":
                self._enter(number, item)
            elif item.get("about") == "challenge":
                events += self._challenged(letter, item)
            elif item.get("about") == "account" and item.get("player") == self._account.name:
                code = str(item.get("code") or "")
                self._memory.know("account", self._account.name)
                self._memory.know("recovery_code", code)
                self._memory.forget("challenge")
                events.append(Event("account", letter.subject, said=code))
            elif item.get("about") == "reply" and (place := _place_of(item)):
                self._memory.put_place(number, place)
        # The answer to `list` replaces the whole open list, also by an empty one.
        if any(item.get("about") == "command" and item.get("command") == "list" for item in heard.items):
            found = [item for item in heard.items if item.get("about") == "open" and _match_named(item)]
            self._memory.know("open", json.dumps(found))
            events.append(Event("open", letter.subject))
        # A letter that contradicts earlier ones brings no files: they may be those of the other story.
        if not any(event.kind == "contradiction" for event in events):
            self._put_files(heard, standings)
        return events

    def _enter(self, number: int, item: JsonObject) -> None:
        """Record how a tournament stands, unless something newer is known."""
        try:
            told = TournamentStanding.read(item)
        except msgspec.ValidationError:
            return
        self._memory.file(number, told.tournament)
        known = self._memory.tournament(told.tournament)
        if known is None or told.seq >= known.seq:
            self._memory.stand_in(told)

    def _put_files(self, heard: HeardBulletin, standings: Mapping[str, MatchStanding]) -> None:
        """Keep the files of a letter that are about its matches."""
        for document in heard.files.values():
            self._put(document, standings)
        for name, content in heard.texts.items():
            match = name.partition("-")[0]
            if match in standings:
                self._memory.put_signed_text(match, name, content)
        for name, content in heard.bundles.items():
            match = name.partition("-")[0].partition(".")[0]
            if match in standings:
                self._memory.put_bundle(match, name, standings[match].seq, content)

    def _challenged(self, letter: Letter, item: JsonObject) -> list[Event]:
        challenge = str(item.get("challenge"))
        if not _KNOWN.fullmatch(challenge):
            return []
        if self._memory.fact("account") or item.get("fingerprint") != self._memory.fact("fingerprint"):
            return []
        self._memory.know("challenge", challenge)
        return [Event("challenge", letter.subject, said=challenge)]

    def _standing(
        self, number: int, letter: Letter, standing: MatchStanding, heard: HeardBulletin, now: datetime
    ) -> list[Event]:
        """Record how a match stands, unless something newer is known; the heads must belong to one chain."""
        match = standing.match
        wrong = self._head(number, standing, heard.key) or self._unsealed(standing)
        if wrong is not None:
            self._memory.alarm(written(now), match, wrong)
            return [Event("contradiction", letter.subject, match, wrong)]
        known = self._memory.standing(match)
        if known is None or _age(standing, heard.time) >= _age(known, self._memory.standing_time(match)):
            self._memory.stand(heard.time, standing)
        return [Event("news", letter.subject, match)]

    def _unsealed(self, standing: MatchStanding) -> str | None:
        """The fault if a sealed match is reported as a refereed one: its setup would be asked for openly."""
        fact = f"sealed {standing.match}"
        if standing.sealed or (standing.agreement or {}).get("sealed"):
            self._memory.know(fact, "yes")
        elif self._memory.fact(fact):
            return "it was agreed on as a sealed match, and the server tells of it as of one that is not"
        return None

    def _head(self, number: int, standing: MatchStanding, key: str) -> str | None:
        """The fault of a signed head, if any; a good one is remembered."""
        match, told = standing.match, standing.head
        if told is None:
            return None
        said = statement(self._account.server, match, told.seq, told.head)
        try:
            holds = ed25519_points.holds(bytes.fromhex(key), bytes.fromhex(told.signature), said)
        except ValueError:
            holds = False
        if not holds:
            return f"the signature of its head after entry {told.seq} does not hold"
        known = self._memory.head(match, told.seq)
        if known is not None and known != told.head:
            return f"the server signed two heads after entry {told.seq}: {known} and {told.head}"
        self._memory.put_head(match, told.seq, told.head, told.signature, number)
        return None

    def _put(self, document: JsonObject, standings: Mapping[str, MatchStanding]) -> None:
        """Keep a JSON file about one of the letter's matches, for this player's seat."""
        kind = _KINDS.get(str(document.get("pbem")))
        standing = standings.get(str(document.get("match")))
        if kind is None or standing is None or document.get("server") != self._account.server:
            return
        game, turn = document.get("game", -1), document.get("turn", 0)
        if document.get("seat") != standing.seat or not all(
            type(number) is int and 0 <= number < _AFTER for number in (game, turn)
        ):
            return
        if kind != "reports" and document.get("rules") != standing.rules:
            return
        if document.get("sealed") and standing.rules not in GAMES:  # no agent can answer; others may be shown later
            return
        if not isinstance(document.get(_HOLDS[kind]), list if kind == "reports" else dict):
            return
        if kind == "position" and not turn:
            turn = _AFTER  # the game is over: this is the last position there is
        if kind == "position" and document.get("sealed"):
            turn, kind = 0, SEALED_POSITION  # the latest has all that was told in this game
        self._memory.put((standing.match, game, turn, kind), standing.seq, document)


def _match_named(item: JsonObject) -> bool:
    name = item.get("match")
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _place_of(item: JsonObject) -> AnswerPlace | None:
    """The reply address in an item, if it has the right form."""
    match item:
        case {"address": str(address), "message_id": str(message_id), "game": int(game), "turn": int(turn)}:
            name = item.get("match") or ""
        case _:
            return None
    ours = ADDRESS.fullmatch(address) and MESSAGE_ID.fullmatch(message_id.encode("ascii", "replace"))
    return (
        AnswerPlace(message_id, address, name, game, turn) if ours and (not name or _NAME.fullmatch(name)) else None
    )


def _age(standing: MatchStanding, time: str) -> tuple[int, int, str]:
    """The sort key of standings: later ones are greater."""
    return standing.seq, standing.rev, time
