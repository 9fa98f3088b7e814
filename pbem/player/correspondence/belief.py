"""The changes that a letter known to be the server's makes in the memory, by its items and files.

Even the server's own word must fit what it told before: its signed heads never tell two stories, and a sealed match
stays one; anything else is an alarm, and not believed. A server that was restored from a backup tells another story,
in a later generation: that is believed, and an alarm names what it has forgotten. Implements docs/attachments.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pbem.games import GAMES
from pbem.identity import ed25519_points
from pbem.mail.mail_addresses import ADDRESS
from pbem.match.documents import SIGNED_TEXT
from pbem.match.transcript import statement, written
from pbem.match.view import OVER, MatchView
from pbem.phrase import Phrase
from pbem.player.correspondence.answers import MESSAGE_ID
from pbem.player.known import AccountKnown, MatchKnown, OpenMatches
from pbem.player.memory import AnswerPlace
from pbem.player.server_letter import Event
from pbem.tournament.tournament_state import TournamentView

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.mail.message import Letter
    from pbem.player.account_file import Account
    from pbem.player.memory import Memory
    from pbem.player.server_letter import HeardBulletin


_KINDS = {"setup 1": "setup", "position 1": "position", "reports 1": "reports"}
_SEALED_KINDS = {"setup 1": "setup", "position 1": "setup"}
"""Both say the same of a sealed game: what else there is to know was signed."""
_HOLDS = {"setup": ("options", dict), "position": ("view", dict), "reports": ("reports", list)}
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
        events = self._begin_generation(letter, heard, now)
        standings = dict[str, MatchView]()
        about = {
            "tournament": self._enter,
            "challenge": self._challenged,
            "account": self._registered,
            "reply": self._may_answer,
            "press": self._talked,
        }
        for item in heard.items:
            if item.get("about") == "match":
                found = self._told_of(item, letter)
                if isinstance(found, Event):
                    events.append(found)
                    continue
                self._memory.file(number, found.match)
                standings[found.match] = found
                events += self._standing(number, letter, found, heard, now)
            elif item.get("about") == "command":
                self._memory.file(number, str(item.get("match")))
            elif take := about.get(str(item.get("about"))):
                events += take(number, letter, item, now)
        # The answer to `list` replaces the whole open list, also by an empty one.
        if any((item.get("about"), item.get("command")) == ("command", "list") for item in heard.items):
            opens = [item for item in heard.items if item.get("about") == "open"]
            self._memory.keep(OpenMatches([item for item in opens if _NAME.fullmatch(str(item.get("match")))]))
            events.append(Event("open", letter.subject))
        # A letter that contradicts earlier ones brings no files: they may be those of the other story.
        if not any(event.kind == "contradiction" for event in events):
            latest = self._memory.generation
            self._put_files(heard, {m: told for m, told in standings.items() if told.generation == latest(m)})
        return events

    def _told_of(self, item: JsonObject, letter: Letter) -> MatchView | Event:
        """How a match of this player's stands, by an item; or the alarm that it cannot be one."""
        try:
            standing = msgspec.convert(item, MatchView, str_keys=True)
            if not ADDRESS.fullmatch(standing.address):
                raise msgspec.ValidationError("its address is none")
        except msgspec.ValidationError as wrong:
            said = Phrase("what it says of a match has no such form: {wrong}", wrong=wrong)
            return Event("forged", letter.subject, said=said)
        # Seats of others are none of this player's business, even if the server signed it.
        if standing.player != self._account.name:
            return Event("forged", letter.subject, standing.match, Phrase("it is about another player"))
        return standing

    def _begin_generation(self, letter: Letter, heard: HeardBulletin, now: datetime) -> list[Event]:
        """The alarms of the first letter of a server that was restored: matches that it has forgotten are over."""
        began = heard.generation
        if began <= self._memory.generation():
            return []
        with self._memory.noting(AccountKnown) as account:
            account.generation = began
        events = []
        first, last = heard.forgotten.get("matches", (0, 0))
        for known in self._memory.standings():
            if first <= int(known.match[1:]) <= last and known.generation < began and known.phase not in OVER:
                self._memory.stand(heard.time, msgspec.structs.replace(known, phase="withdrawn", generation=began))
                events.append(self._forgot(letter, known.match, began, "the whole match", now))
        first, last = heard.forgotten.get("tournaments", (0, 0))
        for entered in self._memory.tournaments():
            if first <= int(entered.tournament[1:]) <= last and entered.phase != "ended":
                self._memory.stand_in(msgspec.structs.replace(entered, phase="ended", generation=began))
                events.append(self._forgot(letter, entered.tournament, began, "the whole tournament", now))
        return events

    def _forgot(self, letter: Letter, about: str, generation: int, what: str, now: datetime) -> Event:
        """The alarm that a restored server has forgotten what it told."""
        said = f"the server was restored from a backup (generation {generation}), and has forgotten {what}"
        self._memory.alarm(written(now), about, said)
        return Event("forgotten", letter.subject, about, said)

    def _enter(self, number: int, letter: Letter, item: JsonObject, now: datetime) -> list[Event]:
        """Record how a tournament stands, unless something newer is known."""
        try:
            told = msgspec.convert(item, TournamentView)
        except msgspec.ValidationError:
            return []
        name = told.tournament
        self._memory.file(number, name)
        known = self._memory.tournament(name)
        if known is not None and (known.hash, known.agreement) != (told.hash, told.agreement):
            said = "the server tells other terms of the tournament than before"
            self._memory.alarm(written(now), name, said)
            return [Event("contradiction", letter.subject, name, said)]
        if known is not None and (told.generation, told.seq) < (known.generation, known.seq):
            return []
        self._memory.stand_in(told)
        if known is None or known.restored == told.restored or known.seq < told.restored:
            return []
        lost = f"the tournament's entries {told.restored} to {known.seq}, which it had told"
        return [self._forgot(letter, name, told.generation, lost, now)]

    def _put_files(self, heard: HeardBulletin, standings: Mapping[str, MatchView]) -> None:
        """Keep the files of a letter that are about its matches."""
        for document in heard.files.values():
            self._put(document, standings)
        for name, content in heard.texts.items():
            match = name.partition("-")[0]
            if match in standings and name.endswith(SIGNED_TEXT):
                self._memory.put_signed_text(match, standings[match].seq, content)
        for name, content in heard.bundles.items():
            match = name.partition("-")[0].partition(".")[0]
            if match in standings:
                self._memory.put_bundle(match, name, standings[match].seq, content)

    def _may_answer(self, number: int, _letter: Letter, item: JsonObject, _now: datetime) -> list[Event]:
        """Note the address to which the player may answer once, if it has the right form."""
        match item:
            case {"address": str(address), "message_id": str(message_id), "game": int(game), "turn": int(turn)}:
                name = item.get("match") or ""
            case _:
                return []
        ours = ADDRESS.fullmatch(address) and MESSAGE_ID.fullmatch(message_id.encode("ascii", "replace"))
        if ours and (not name or _NAME.fullmatch(name)):
            self._memory.put_place(number, AnswerPlace(message_id, address, name, game, turn))
        return []

    def _talked(self, _number: int, _letter: Letter, item: JsonObject, _now: datetime) -> list[Event]:
        match item:
            case {"match": str(match), "by": str(by), "text": str(text), "alone": bool(alone)} if (
                self._memory.standing(match)
            ):
                self._memory.talked(match, by, text, alone=alone)
        return []

    def _registered(self, _number: int, letter: Letter, item: JsonObject, _now: datetime) -> list[Event]:
        if item.get("player") != self._account.name:
            return []
        code = str(item.get("code") or "")
        with self._memory.noting(AccountKnown) as account:
            account.name, account.challenge = self._account.name, ""
        return [Event("account", letter.subject, said=code)]

    def _challenged(self, _number: int, letter: Letter, item: JsonObject, _now: datetime) -> list[Event]:
        challenge = str(item.get("challenge"))
        if not _KNOWN.fullmatch(challenge):
            return []
        with self._memory.noting(AccountKnown) as account:
            if item.get("fingerprint") != account.fingerprint:
                return []
            account.challenge = challenge
        return [Event("challenge", letter.subject, said=challenge)]

    def _standing(
        self, number: int, letter: Letter, standing: MatchView, heard: HeardBulletin, now: datetime
    ) -> list[Event]:
        """Record how a match stands, unless something newer is known; the heads must belong to one chain."""
        match, known = standing.match, self._memory.standing(standing.match)
        events = self._lost(letter, known, standing, now) if known else []
        wrong = self._head(number, standing, known, heard) or self._unsealed(standing)
        if wrong is not None:
            self._memory.alarm(written(now), match, wrong)
            return [*events, Event("contradiction", letter.subject, match, wrong)]
        if known is None or _age(standing, heard.time) >= _age(known, self._memory.standing_time(match)):
            self._memory.stand(heard.time, standing)
        return [*events, Event("news", letter.subject, match)]

    def _lost(self, letter: Letter, known: MatchView, told: MatchView, now: datetime) -> list[Event]:
        """The alarm if the server has forgotten something of a match: heads of a later generation take over."""
        if told.generation < known.generation:  # a late letter, perhaps of entries that were forgotten
            new = told.seq and self._memory.head(told.match, told.seq, told.generation) is None
            lost = [told.seq] if new and _is_forgotten(told, known) else []
        elif told.generation == known.generation or (_was_over(told, known) and told.seq >= known.seq):
            return []
        else:
            # A match that was under way has the entry `restored`; one that was not has begun anew.
            since = told.restored if told.restored != known.restored else 0
            lost = self._memory.forget_since(told, since)
        if not lost:
            return []
        entries = f"entry {lost[0]}" if len(lost) == 1 else f"entries {lost[0]} to {lost[-1]}"
        generation = max(known.generation, told.generation)
        return [self._forgot(letter, told.match, generation, f"{entries}, which it had signed", now)]

    def _unsealed(self, standing: MatchView) -> str | None:
        """The fault if a sealed match is reported as a refereed one: its setup would be asked for openly."""
        entered = self._memory.tournament(standing.tournament) if standing.tournament else None
        agreed = entered.agreement.get("match") if entered else standing.agreement
        with self._memory.noting(MatchKnown, standing.match) as known:
            known.sealed = known.sealed or bool(standing.sealed or (agreed or {}).get("sealed"))
        if known.sealed and not standing.sealed and not (standing.agreement or {}).get("sealed"):
            return "it was agreed on as a sealed match, and the server tells of it as of one that is not"
        return None

    def _head(self, number: int, standing: MatchView, known: MatchView | None, heard: HeardBulletin) -> str | None:
        """The fault of a signed head, if any; a good one is remembered. `known`: the state of the match before."""
        match, told = standing.match, standing.head
        if told is None:
            return "it shows no head" if standing.phase in {"setup", "playing", "closed"} else None
        said = statement(self._account.server, match, told.seq, told.head)
        if not ed25519_points.holds(bytes.fromhex(heard.key), bytes.fromhex(told.signature), said):
            return f"the signature of its head after entry {told.seq} does not hold"
        generation = standing.generation
        forgotten = known is not None and _is_forgotten(standing, known)
        others = [self._memory.head(match, told.seq, generation)]
        others += [] if forgotten else [self._memory.head(match, told.seq)]
        for other in others:
            if other is not None and other != told.head:
                return f"the server signed two heads after entry {told.seq}: {other} and {told.head}"
        # A part of a daily letter may be older than the letter.
        fell = known is not None and heard.generation < known.generation
        if known is not None and fell and heard.time > self._memory.standing_time(match):
            return f"the server's generation was {known.generation}, and later {heard.generation}"
        self._memory.put_head(match, generation, told, number, forgotten=forgotten)
        return None

    def _put(self, document: JsonObject, standings: Mapping[str, MatchView]) -> None:
        """Keep a JSON file about one of the letter's matches, for this player's seat."""
        standing = standings.get(str(document.get("match")))
        if standing is None:
            return
        kind = (_SEALED_KINDS if standing.sealed else _KINDS).get(str(document.get("pbem")))
        if kind is None:
            return
        where = {"server": self._account.server, "seat": standing.seat}
        if kind != "reports":
            where["rules"] = standing.rules
        game, turn = document.get("game", -1), 0 if kind == "setup" else document.get("turn", 0)
        placed = all(type(number) is int and 0 <= number < _AFTER for number in (game, turn))
        name, form = _HOLDS[kind]
        if not (placed and where.items() <= document.items() and isinstance(document.get(name), form)):
            return
        if standing.sealed and standing.rules not in GAMES:  # no agent can answer; others may be shown later
            return
        if kind == "position":
            turn = turn or _AFTER  # without a turn the game is over: this is the last position there is
        self._memory.put((standing.match, game, turn, kind), standing.seq, document)


def _was_over(newer: MatchView, older: MatchView) -> bool:
    """True if the match was over when the server was restored between these two: then nothing of it is forgotten."""
    return newer.phase in OVER and newer.restored == older.restored


def _is_forgotten(told: MatchView, known: MatchView) -> bool:
    """True if the server has forgotten the entry of an earlier generation of which a late letter tells."""
    return told.generation < known.generation and told.seq >= known.restored and not _was_over(known, told)


def _age(standing: MatchView, time: str) -> tuple[int, int, int, str]:
    """The sort key of standings: later ones are greater."""
    return standing.generation, standing.seq, standing.rev, time
