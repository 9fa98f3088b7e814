"""A player's correspondence with one server: letters come in, are checked, and say how matches stand; forms go out.

Sans-IO: bytes in, events out. A letter to be sent is kept in the memory, with its bytes fixed, before anybody may
send it. Time, randomness and the signer are handed in. A letter that is not the server's own changes nothing. The
server's key is that of the first answer to a letter of ours, and no other from then on; its signed heads must never
tell two stories. Without a key, the player's letters answer the server's instead, each of which can be answered
once. Implements docs/attachments.md, from the reader's side.
"""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING, Literal

from pbem.failpoints import passing
from pbem.games import Refused, rules, titles
from pbem.identity import ed25519_points
from pbem.mail.commands import COMMANDS
from pbem.mail.commands.sections import written as written_sections
from pbem.mail.message import ADDRESS
from pbem.match.terms import Terms
from pbem.match.transcript import sha256_hex, statement, written
from pbem.player import forms
from pbem.player.bulletin import LIMITS, NotGenuine, hear, opened
from pbem.player.memory import Memory, Place, Sent
from pbem.player.standing import OVER, misshapen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.games import Options, Orders, Setup
    from pbem.json_object import JsonObject
    from pbem.mail.commands.sections import Read
    from pbem.mail.message import Letter
    from pbem.phrase import Phrase
    from pbem.player.bulletin import Heard

__all__ = ["POINTS", "Correspondence", "Event", "Impossible", "Judged", "Party", "meant"]

POINTS = ("letter taken in", "form signed", "form kept", "letter sent", "sending noted")
"""The points at which a player's program may be stopped dead without harm; tests stop it there."""

Kind = Literal[
    "foreign",
    "unpinned",
    "forged",
    "doubled",
    "news",
    "answer",
    "challenge",
    "account",
    "open",
    "contradiction",
    "bounced",
]


class Impossible(Exception):
    """Something cannot be sent in the present state; the text tells the player why."""


@dataclass(frozen=True, slots=True)
class Party:
    """Who writes to whom: the player's name and address, the server's name and address."""

    name: str
    address: str
    server: str
    server_address: str

    @property
    def namespace(self) -> str:
        """The namespace of signatures."""
        return f"pbem@{self.server}"


@dataclass(frozen=True, slots=True)
class Event:
    """The outcome of a letter: its kind, the match that it is about, and what the player should know.

    `foreign`: not from this server; `unpinned`: it says so, but no key is known yet that would prove it; `forged`: it
    says so, and is not, or not for this player; `doubled`: it was read before; `news` about a match; an `answer` to a
    letter of ours; a `challenge`; an `account`; the `open` list; a `contradiction`, which accuses the server;
    `bounced`: a letter of ours came back.
    """

    kind: Kind
    subject: str = ""
    match: str = ""
    said: str = ""
    faults: tuple[str, ...] = ()
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """Legal orders or a legal setup: the canonical text, and what it leaves unused."""

    text: str
    unused: tuple[Phrase, ...] = ()


class Correspondence:
    """The letters of one player and one server.

    `sign` makes an armoured signature of a text for a namespace; None: a player without a key, whose letters go to
    the reply addresses of the server's letters. `random` returns octets; `failpoint` is called at each of `POINTS`.
    """

    def __init__(
        self,
        party: Party,
        memory: Memory,
        sign: Callable[[bytes, str], str] | None,
        random: Callable[[int], bytes],
        failpoint: Failpoints = passing,
    ) -> None:
        self.party = party
        self.memory = memory
        self._sign = sign
        self._random = random
        self._at = failpoint

    # Letters in.

    def receive(self, raw: bytes, now: datetime) -> list[Event]:
        """Take in a letter: all of it is on the disk afterwards, or nothing happened.

        Whatever is in it, this raises only `sqlite3.Error`, if the memory cannot be written.
        """
        try:
            with self.memory.transaction():
                events = self._receive(raw, now)
        except sqlite3.Error:
            raise  # no fault of the letter: it is taken in when there is room
        except Exception as error:
            # A letter may come from anybody: none may keep those behind it from being read.
            return [Event("forged", said=f"it cannot be taken in: {type(error).__name__}")]
        self._at("letter taken in")
        return events

    def _receive(self, raw: bytes, now: datetime) -> list[Event]:
        if len(raw) > LIMITS.message_bytes:
            return [Event("foreign", said="it is larger than any letter of a server")]
        try:
            letter = opened(raw)
        except NotGenuine as error:
            return [Event("foreign", said=str(error))]
        if bounced := self._bounced(letter):
            return [bounced]
        try:
            heard = hear(letter)
            if heard is None:
                return [self._without_bulletin(letter)]
            self._demand_ours(heard)
        except NotGenuine as error:
            return [Event("forged", letter.subject, said=str(error))]
        hashed = sha256_hex(raw.replace(b"\r\n", b"\n"))  # mailboxes differ in this alone
        if self.memory.has_read(hashed):
            return [Event("doubled", letter.subject)]
        if (pinned := self.memory.fact("server_key")) is None:
            if not any(self._answered(letter, item) or self._is_asked(item) for item in heard.items):
                return [Event("unpinned", letter.subject)]
            self.memory.know("server_key", heard.key)
        elif pinned != heard.key:
            said = f"it is signed with the key {heard.key}, and the server's is {pinned}"
            return [Event("forged", letter.subject, said=said)]
        number = self.memory.keep(hashed, written(now), letter.subject, letter.text or "", raw)
        return self._taken_in(number, letter, heard, now)

    def _without_bulletin(self, letter: Letter) -> Event:
        if (letter.sender or "").lower() != self.party.server_address.lower():
            return Event("foreign", letter.subject)
        return Event("forged", letter.subject, said="it has no signed bulletin, so that anybody may have written it")

    def _demand_ours(self, heard: Heard) -> None:
        if heard.server != self.party.server:
            raise NotGenuine(f"it is signed by another server, {heard.server}")
        if heard.to.lower() != self.party.address.lower():
            raise NotGenuine(f"it was written to {heard.to}")

    def _answered(self, letter: Letter, item: JsonObject) -> Sent | None:
        """The letter of ours that an item answers: at first, only its server can have read its Message-ID.

        An unknown sender gets a short answer, which is in no thread.
        """
        found = [sent for known in letter.in_reply_to if (sent := self.memory.by_message_id(known))]
        found += self.memory.sent("register", "", self.memory.fact("fingerprint") or "")
        found += self.memory.prepared("confirm", "")
        return next((sent for sent in found if sha256_hex(sent.message_id.encode()) == item.get("answers")), None)

    def _is_asked(self, item: JsonObject) -> bool:
        """Whether an item answers our registration, which holds a secret of ours."""
        asked = self.memory.sent("register", "", self.memory.fact("fingerprint") or "")
        words = [sha256_hex(" ".join(sent.form.split()).encode()) for sent in asked]
        return item.get("about") == "challenge" and item.get("asked") in words

    def _bounced(self, letter: Letter) -> Event | None:
        """A letter of ours that came back: only its receiver knows its Message-ID."""
        if not any(part.content_type == "message/delivery-status" for part in letter.root.walk()):
            return None
        for found in _MESSAGE_ID.findall(letter.raw[:_QUOTED]):
            sent = self.memory.by_message_id(found.decode())
            if sent is not None and sent.state in {"ready", "sent"} and _failed(letter):
                self.memory.settle(sent.id, "bounced")
                return Event("bounced", letter.subject, sent.match, sent=sent)
        return None

    def _taken_in(self, number: int, letter: Letter, heard: Heard, now: datetime) -> list[Event]:
        """Carry out the changes in a genuine letter's items."""
        events: list[Event] = []
        standings = {}
        for item in heard.items:
            if item.get("about") == "match" and (wrong := misshapen(item)) is not None:
                events.append(
                    Event("forged", letter.subject, said=f"what it says of a match has no such form: {wrong}")
                )
            elif item.get("about") == "match":
                name = str(item["match"])
                self.memory.file(number, name)
                standings[name] = item
                events += self._standing(number, letter, item, heard, now)
            elif item.get("about") == "challenge":
                events += self._challenged(letter, item)
            elif item.get("about") == "account" and item.get("player") == self.party.name:
                code = str(item.get("code") or "")
                self.memory.know("account", self.party.name)
                self.memory.know("recovery_code", code)
                self.memory.forget("challenge")
                events.append(Event("account", letter.subject, said=code))
            elif item.get("about") == "reply" and (place := _place_of(item)):
                self.memory.put_place(number, place)
        if any(item.get("about") == "command" and item.get("command") == "list" for item in heard.items):
            found = [item for item in heard.items if item.get("about") == "open" and _match_named(item)]
            self.memory.know("open", json.dumps(found))
            events.append(Event("open", letter.subject))
        if not any(event.kind == "contradiction" for event in events):
            self._put_files(heard, standings)
        return events + self._answers(letter, heard)

    def _put_files(self, heard: Heard, standings: Mapping[str, JsonObject]) -> None:
        """Keep the files of a letter that are about its matches."""
        for document in heard.files.values():
            self._put(document, standings)
        for name, content in heard.texts.items():
            match = name.partition("-")[0]
            if match in standings:
                self.memory.put_signed_text(match, name, content)
        for name, content in heard.bundles.items():
            match = name.partition("-")[0].partition(".")[0]
            if match in standings:
                seq = (standings[match].get("head") or {}).get("seq", 0)
                self.memory.put_bundle(match, name, seq, content)

    def _challenged(self, letter: Letter, item: JsonObject) -> list[Event]:
        challenge = str(item.get("challenge"))
        if not _KNOWN.fullmatch(challenge):
            return []
        if self.memory.fact("account") or item.get("fingerprint") != self.memory.fact("fingerprint"):
            return []
        self.memory.know("challenge", challenge)
        return [Event("challenge", letter.subject, said=challenge)]

    def _standing(self, number: int, letter: Letter, item: JsonObject, heard: Heard, now: datetime) -> list[Event]:
        """Record how a match stands, unless something newer is known; the heads must belong to one chain."""
        match = item["match"]
        if item.get("player") != self.party.name:
            return [Event("forged", letter.subject, match, "it is about another player")]
        if (wrong := self._head(number, match, item.get("head"), heard.key)) is not None:
            self.memory.alarm(written(now), match, wrong)
            return [Event("contradiction", letter.subject, match, wrong)]
        if (wrong := self._unsealed(item)) is not None:
            self.memory.alarm(written(now), match, wrong)
            return [Event("contradiction", letter.subject, match, wrong)]
        known = self.memory.standing(match)
        if known is None or _age(item, heard.time) >= _age(known[1], known[0]):
            self.memory.stand(match, heard.time, item)
        return [Event("news", letter.subject, match)]

    def _unsealed(self, item: JsonObject) -> str | None:
        """The fault if a sealed match is reported as a refereed one: its setup would be asked for openly."""
        fact = f"sealed {item['match']}"
        if item.get("sealed") or (item["agreement"] or {}).get("sealed"):
            self.memory.know(fact, "yes")
        elif self.memory.fact(fact):
            return "it was agreed on as a sealed match, and the server tells of it as of one that is not"
        return None

    def _head(self, number: int, match: str, head: object, key: str) -> str | None:
        """The fault of a signed head, if any; a good one is remembered."""
        match head:
            case None:
                return None
            case {"seq": int(seq), "head": str(hashed), "signature": str(signature)}:
                said = statement(self.party.server, match, seq, hashed)
            case _:
                return "its head is damaged"
        try:
            holds = ed25519_points.holds(bytes.fromhex(key), bytes.fromhex(signature), said)
        except ValueError:
            holds = False
        if not holds:
            return f"the signature of its head after entry {seq} does not hold"
        known = self.memory.head(match, seq)
        if known is not None and known != hashed:
            return f"the server signed two heads after entry {seq}: {known} and {hashed}"
        self.memory.put_head(match, seq, hashed, signature, number)
        return None

    def _put(self, document: JsonObject, standings: Mapping[str, JsonObject]) -> None:
        """Keep a JSON file about one of the letter's matches, for this player's seat."""
        kind = _KINDS.get(str(document.get("pbem")))
        standing = standings.get(str(document.get("match")))
        if kind is None or standing is None or document.get("server") != self.party.server:
            return
        game, turn = document.get("game", -1), document.get("turn", 0)
        if document.get("seat") != standing.get("seat") or not all(
            type(number) is int and 0 <= number < _AFTER for number in (game, turn)
        ):
            return
        if kind != "reports" and (document.get("rules") != standing["rules"] or standing["rules"] not in titles()):
            return
        if not isinstance(document.get(_HOLDS[kind]), list if kind == "reports" else dict):
            return
        if kind == "position" and not turn:
            turn = _AFTER  # the game is over: this is the last position there is
        seq = (standing.get("head") or {}).get("seq", 0)
        if kind == "position" and document.get("sealed"):
            turn, kind = 0, _SEALED  # the latest has all that was told in this game
        self.memory.put((standing["match"], game, turn, kind), seq, document)

    def _answers(self, letter: Letter, heard: Heard) -> list[Event]:
        """The server's answers to letters of ours."""
        events = []
        for item in heard.items:
            ours = self._answered(letter, item) if item.get("about") == "command" else None
            if ours is None:
                continue
            outcome, faults = str(item.get("outcome")), item.get("faults")
            found = tuple(map(str, faults)) if isinstance(faults, list) else ()
            state = {"refused": "refused", "asked": "asked", "unplaced": "refused"}.get(outcome, "done")
            if ours.state == "done" and state != "done":
                continue  # what was obeyed stays so; who saw the letter since can write under its Message-ID
            self.memory.settle(ours.id, state, json.dumps(found))
            ours = ours._replace(state=state)
            events.append(Event("answer", letter.subject, ours.match, outcome, found, ours))
        return events

    # How things stand.

    @property
    def matches(self) -> list[JsonObject]:
        """How each match stands, by the newest letters."""
        return self.memory.standings()

    @property
    def programs(self) -> set[str]:
        """The players who are programs, by any match: a program stays one."""
        return {
            one["players"][seat - 1]
            for one in self.matches
            for seat in one.get("programs", ())
            if type(seat) is int and 0 < seat <= len(one["players"])
        }

    @property
    def open_list(self) -> list[JsonObject]:
        """The open list, by the latest letter."""
        found: list[JsonObject] = json.loads(self.memory.fact("open") or "[]")
        return found

    def standing(self, match: str) -> JsonObject:
        """How a match stands; raises `Impossible` if no letter told of it."""
        known = self.memory.standing(match)
        if known is None:
            raise Impossible(f"No letter about {match} has come. `pbem play` lists your matches.")
        return known[1]

    def position(self, match: str) -> JsonObject | None:
        """The latest position of a match, as a letter's file brought it."""
        return self.memory.latest(match, "position")

    def sealed_position(self, match: str) -> JsonObject | None:
        """What was told last about the current game of a sealed match."""
        return self.memory.paper(match, self.standing(match)["game"], 0, _SEALED)

    def pending(self, match: str) -> Sent | None:
        """Setup or orders for what is due now that are on their way, or accepted."""
        standing = self.standing(match)
        command, place = _due(standing)
        if not place:
            return None
        alive = [sent for sent in self.memory.sent(command, match, place) if sent.state not in {"refused", "asked"}]
        return alive[-1] if alive and not _is_past(standing, alive[-1]) else None

    # Judging, by the games' own rules, on what letters brought.

    def judge_orders(self, match: str, text: str) -> Judged:
        """Judge orders for the turn that is due; raises `Refused`, or `Impossible` if none are due."""
        position = self.position_asked(match)
        judge = rules(position["rules"])
        try:
            state = judge.recalled(position["view"], position["seat"])
            orders: Orders = judge.order(state, position["seat"], text)
            return Judged(orders.text, judge.unused(state, position["seat"], orders))
        except Refused:
            raise
        except Exception as error:  # the server may have sent anything
            raise Impossible(f"The position of {match} cannot be read; write `report {match}` for it.") from error

    def judge_setup(self, match: str, text: str) -> Judged:
        """Judge the setup of the next game; raises `Refused`, or `Impossible`."""
        asked, options = self.setup_asked(match), self.setup_options(match)
        try:
            setup: Setup = rules(asked["rules"]).setup(options, asked["seat"], text)
        except Refused:
            raise
        except Exception as error:  # the server may have sent anything
            raise Impossible(f"What is asked for as the setup of {match} cannot be read.") from error
        return Judged(setup.text)

    def setup_asked(self, match: str) -> JsonObject:
        """The request for the setup of the next game; raises `Impossible`."""
        standing = self.standing(match)
        if standing["phase"] != "setup":
            raise Impossible(f"{match} asks for no setup now: it is {standing['phase']}.")
        asked = self.memory.paper(match, standing["game"], 0, "setup")
        if asked is None:
            raise Impossible(f"The letter that asks for the setup of {match} has not come.")
        return asked

    def setup_options(self, match: str) -> Options:
        """The options of the game whose setup is due; raises `Impossible`."""
        asked, standing = self.setup_asked(match), self.standing(match)
        try:
            return rules(asked["rules"]).options(asked["options"], len(standing["players"]))
        except Exception as error:  # the server may have sent anything
            raise Impossible(f"What is asked for as the setup of {match} cannot be read.") from error

    def position_asked(self, match: str) -> JsonObject:
        """The position of the turn for which this player has to order; raises `Impossible`."""
        standing = self.standing(match)
        if standing["phase"] != "playing":
            raise Impossible(f"{match} asks for no orders now: it is {standing['phase']}.")
        position = self.memory.paper(match, standing["game"], standing["turn"], "position")
        if position is None:
            raise Impossible(f"The letter that brings turn {standing['turn']} of {match} has not come.")
        if position["view"].get("entitled") is None or (not standing["asked"] and not self._ordered(standing)):
            raise Impossible(f"It is not your move in {match}.")
        return position

    def _ordered(self, standing: JsonObject) -> bool:
        """Whether orders of ours are accepted for the turn, and may still be replaced."""
        return int(standing["rev"]) > 1

    # Letters out.

    def order(self, match: str, text: str, now: datetime, *, final: bool = False) -> Sent:
        """Prepare orders for the turn that is due: signed, and on the disk. The same again is the same letter.

        Raises `Refused`, `Impossible`.
        """
        judged = self.judge_orders(match, text)
        standing = self.standing(match)
        # An empty form counts as a question, unless it says that it is final.
        final = final or not judged.text
        head = f"orders {match} turn {standing['turn']}"
        return self._stand("orders", standing, head, judged.text, now, final=final)

    def set_up(self, match: str, text: str, now: datetime) -> Sent:
        """Prepare the setup that is due, in the same way."""
        judged = self.judge_setup(match, text)
        standing = self.standing(match)
        return self._stand("setup", standing, f"setup {match} game {standing['game']}", judged.text, now)

    def _stand(
        self, command: str, standing: JsonObject, head: str, text: str, now: datetime, *, final: bool = False
    ) -> Sent:
        """Prepare a form that counts until a higher revision replaces it."""
        match, place = standing["match"], _due(standing)[1]
        before = self.memory.sent(command, match, place)
        if before and before[-1].state != "refused" and not _is_past(standing, before[-1]):
            fields = self._fields(standing, before[-1].rev)
            if before[-1].form == forms.block(head, fields, text, final=final):
                return self.again(before[-1])
        rev = max([int(standing["rev"]), *(sent.rev + 1 for sent in before)])
        form = forms.block(head, self._fields(standing, rev), text, final=final)
        return self._prepare(command, match, place, rev, form, standing["address"], now)

    def again(self, sent: Sent) -> Sent:
        """The same letter as was prepared before: if it bounced, it is sent once more, unchanged."""
        if sent.state != "bounced":
            return sent
        with self.memory.transaction():
            self.memory.settle(sent.id, "ready")
        return sent._replace(state="ready")

    def _fields(self, standing: JsonObject, rev: int) -> dict[str, object]:
        return {"server": self.party.server, "player": self.party.name, "prev": standing["prev"], "rev": rev}

    def seal(self, match: str, place: str, commitment: str, note: str | None, now: datetime) -> Sent:
        """Prepare a commitment to a setup, of which the server learns only the hash; `place` is that of its game."""
        standing = self.standing(match)
        sections = [("commitment", (commitment,), ""), *_noted(note)]
        rev = max([int(standing["rev"]), *(sent.rev + 1 for sent in self.memory.sent("seal", match, place))])
        fields = self._fields(standing, rev)
        return self._sealed(standing, f"seal {match} game {standing['game']}", fields, place, rev, sections, now)

    def step(
        self, match: str, place: str, turn: int, sections: Sequence[Read], note: str | None, now: datetime
    ) -> Sent:
        """Prepare the steps of a sealed match that are due; the first belongs to this turn."""
        standing = self.standing(match)
        head = f"step {match} game {standing['game']} turn {turn}"
        return self._unrevised(standing, head, place, [*sections, *_noted(note)], now)

    def reveal(self, match: str, place: str, sections: Sequence[Read], now: datetime) -> Sent:
        """Prepare the reveal after a game of a sealed match."""
        standing = self.standing(match)
        return self._unrevised(standing, f"reveal {match} game {standing['game']}", place, sections, now)

    def _unrevised(
        self, standing: JsonObject, head: str, place: str, sections: Sequence[Read], now: datetime
    ) -> Sent:
        """Prepare a letter that is never replaced: it differs only if an earlier one was refused."""
        rev = len(self.memory.sent(head.split(maxsplit=1)[0], standing["match"], place)) + 1
        fields = self._fields(standing, rev)
        del fields["rev"]
        return self._sealed(standing, head, fields, place, rev, sections, now)

    def _sealed(
        self,
        standing: JsonObject,
        head: str,
        fields: Mapping[str, object],
        place: str,
        rev: int,
        sections: Sequence[Read],
        now: datetime,
    ) -> Sent:
        form = forms.block(head, fields, written_sections(sections))
        command, match, *_ = head.split()
        return self._prepare(command, match, place, rev, form, standing["address"], now)

    def say(self, match: str, words: str, now: datetime) -> Sent:
        """Prepare a sentence about a running match, such as `resign m1` or `draw m1 offer`."""
        standing = self.standing(match)
        if standing["phase"] not in {"setup", "playing"}:
            raise Impossible(f"{match} is {standing['phase']}: there is nothing to say about it now.")
        command, place = words.split(maxsplit=1)[0], _spoken(standing, words)
        before = self.memory.sent(command, match, place)
        if before and before[-1].state not in {"refused", "done"}:
            return self.again(before[-1])
        # What withdraws something has the next revision of just that.
        said = standing["rev"] - 1 if COMMANDS[command].withdraws else standing["said"].get(command, 0)
        rev = max([int(said) + 1, *(sent.rev + 1 for sent in before)])
        turn = {"turn": standing["turn"]} if standing["phase"] == "playing" else {"game": standing["game"]}
        where: dict[str, object] = {"server": self.party.server, "player": self.party.name, **turn}
        form = forms.sentence(words, {**where, "prev": standing["prev"], "rev": rev})
        return self._prepare(command, match, place, rev, form, standing["address"], now)

    def has_said(self, match: str, words: str) -> bool:
        """Whether this sentence was prepared before in the present state of the match."""
        return bool(self.memory.sent(words.split(maxsplit=1)[0], match, _spoken(self.standing(match), words)))

    def terms(self, match: str) -> Terms:
        """The terms of a proposal, exactly those whose hash `accept` names; raises `Impossible`."""
        standing = self.standing(match)
        try:
            found = Terms.read(standing["agreement"])
            hashed = found.hash(self.party.server, match)
        except (KeyError, TypeError, ValueError) as error:
            raise Impossible(f"The terms of {match} cannot be read.") from error
        if hashed != standing["hash"]:
            raise Impossible(
                f"The hash that the server gives for {match} is not that of its terms: do not accept it."
            )
        return found

    def agreed(self, match: str) -> Terms | None:
        """The terms to which we agreed from here; None if no such letter was written."""
        known = self.memory.fact(f"agreed {match}")
        return Terms.read(json.loads(known)) if known else None

    def accept(self, match: str, now: datetime, comment: str = "") -> Sent:
        """Prepare the agreement to a proposal, by the hash of its terms; the signed text may have comments."""
        standing = self.standing(match)
        if standing["phase"] != "proposed":
            raise Impossible(f"{match} is {standing['phase']}: there is nothing to accept.")
        if standing["accepted"]:
            raise Impossible(f"You have agreed to {match}; others have not yet.")
        self.terms(match)
        self.memory.know(f"agreed {match}", json.dumps(standing["agreement"]))
        before = self.memory.sent("accept", match, standing["hash"])
        if before and before[-1].state != "refused":
            return self.again(before[-1])
        form = forms.sentence(f"accept {match} {standing['hash']}", {}, comment)
        rev = len(before) + 1
        return self._prepare("accept", match, standing["hash"], rev, form, standing["address"], now)

    def tell(self, words: str, now: datetime, *, match: str = "", text: str = "") -> Sent:
        """Prepare something signed that belongs to no turn: `new`, `join`, `decline`, `withdraw`, `press`, `set`."""
        rev = self.memory.count() + 1
        place = {"server": self.party.server, "player": self.party.name, "rev": rev}
        form = forms.block(words, place, text)
        known = self.memory.standing(match) if match else None
        address = known[1]["address"] if known else self.party.server_address
        return self._prepare(words.split(maxsplit=1)[0], match, "", rev, form, address, now)

    def ask(self, words: str, now: datetime) -> Sent:
        """Prepare a question, such as `list open`; signed, so that it is answered in full."""
        form, rev = forms.checked(f"{words}\n"), self.memory.count() + 1
        return self._prepare("ask", "", "", rev, form, self.party.server_address, now)

    def register(self, public_key: str, fingerprint: str, now: datetime) -> Sent:
        """Prepare the letter that asks for an account; the same one again as long as it is not answered."""
        before = self.memory.sent("register", "", fingerprint)
        failed = any(sent.state == "refused" for sent in self.memory.sent("confirm", "", self._challenge))
        if before and before[-1].state != "refused" and not failed:
            return self.again(before[-1])
        # Not as long as a recovery code, which is masked wherever it is repeated.
        form = forms.registration(self.party.name, public_key, self._random(20).hex())
        with self.memory.transaction():
            self.memory.know("fingerprint", fingerprint)
            rev = len(before) + 1
            address = self.party.server_address
            return self._prepare("register", "", fingerprint, rev, form, address, now, sign=False)

    def register_mailbox(self, now: datetime) -> Sent:
        """Prepare the letter that asks for an account without a key, in the same way."""
        before = self.memory.sent("register", "", _MAILBOX)
        failed = before and any(sent.state == "refused" for sent in self._brought_back(before[-1]))
        if before and before[-1].state != "refused" and not failed:
            return self.again(before[-1])
        with self.memory.transaction():
            self.memory.know("fingerprint", _MAILBOX)
            to, form = self.party.server_address, forms.checked(f"register {self.party.name}\n")
            return self._prepare("register", "", _MAILBOX, len(before) + 1, form, to, now, sign=False)

    def _brought_back(self, asked: Sent) -> list[Sent]:
        """The letter that answered the server's question whether this mailbox is ours."""
        return self.memory.sent("confirm", "", f"{_MAILBOX} {asked.rev}")

    def _bring_back(self, now: datetime) -> Sent | None:
        """Prepare the answer to that question, if any: the same words, to the address that only we were told."""
        asked = self.memory.sent("register", "", _MAILBOX)
        if self.memory.fact("account") or not asked or asked[-1].state != "asked":
            return None
        if before := self._brought_back(asked[-1]):
            return self.again(before[-1])
        place = f"{_MAILBOX} {asked[-1].rev}"
        return self._prepare("confirm", "", place, 1, asked[-1].form, self.party.server_address, now)

    @property
    def _challenge(self) -> str:
        return self.memory.fact("challenge") or ""

    def confirm(self, now: datetime) -> Sent | None:
        """Prepare the answer to the challenge of our key, if there is one; a refused answer is not repeated."""
        if self._sign is None:
            return self._bring_back(now)
        challenge = self._challenge
        if not challenge or self.memory.fact("account"):
            return None
        if before := self.memory.sent("confirm", "", challenge):
            return self.again(before[-1])
        form = forms.confirm(self.party.name, self.party.server, challenge)
        return self._prepare("confirm", "", challenge, 1, form, self.party.server_address, now)

    def _prepare(  # noqa: PLR0913 - what makes a letter
        self,
        command: str,
        match: str,
        place: str,
        rev: int,
        form: str,
        to: str,
        now: datetime,
        *,
        sign: bool = True,
    ) -> Sent:
        """Sign a form, and keep it with the bytes of its letter: from now on it leaves unchanged, or not at all."""
        signed, place_ = form, None
        if sign and self._sign is not None:
            signed += self._sign(form.encode(), self.party.namespace)
        elif sign and (place_ := self._reply_place(command, match)) is not None:
            to = place_.address
        self._at("form signed")
        host = self.party.address.rpartition("@")[2]
        message_id = f"<{self._random(16).hex()}@{host}>"
        answers = place_.message_id if place_ else ""
        raw = self._letter(to, signed, f"{command} {match}".strip(), message_id, now, answers)
        with self.memory.transaction():
            for other in self.memory.sent(command, match, place):
                if other.rev == rev and other.form == form:
                    return other
                if other.rev == rev:
                    raise Impossible("Another `pbem play` was quicker: look at what it sent, then say it again.")
            if place_ and command != "ask":  # questions use nothing up
                self.memory.spend(place_)
            sent = self.memory.prepare(Sent(0, message_id, command, match, place, rev, form, raw, to, "ready"))
        self._at("form kept")
        return sent

    def _reply_place(self, command: str, match: str) -> Place | None:
        """The address for a letter without a key: it must answer a letter about its match and turn.

        A letter about no match answers a letter of that kind, or one that is good for nothing else any more. None: a
        question does not need one. Raises `Impossible`.
        """
        places = self.memory.places()
        known = self.memory.standing(match) if match else None
        if known is None:
            fitting = [place for place in places if not place.match] or [
                place for place in places if self._is_past(place)
            ]
        else:
            own = [place for place in places if place.match == match]
            fitting = [place for place in own if not self._is_past(place)]
            if COMMANDS[command].place == "player":
                fitting = [place for place in own if self._is_past(place)] or fitting
        if not fitting and command != "ask":
            question = f"status {match}" if known else "whoami"
            raise Impossible(
                "Without a key, a letter of yours answers one of the server's, and all that came are answered."
                f" Wait for the next one, or ask for it: pbem play ask {question}"
            )
        return fitting[0] if fitting else None

    def _is_past(self, place: Place) -> bool:
        """Whether a match has moved on since a letter about it, or is over."""
        known = self.memory.standing(place.match)
        if known is None:
            return False
        now = (known[1]["game"], known[1]["turn"])
        return (place.game, place.turn) != now or known[1]["phase"] in OVER

    def _letter(self, to: str, text: str, subject: str, message_id: str, now: datetime, answers: str) -> bytes:
        letter = EmailMessage(SMTP)
        letter["From"] = self.party.address
        letter["To"] = to
        letter["Subject"] = subject
        letter["Date"] = format_datetime(now)
        letter["Message-ID"] = message_id
        if answers:
            letter["In-Reply-To"] = letter["References"] = answers
        letter.set_content(text)
        return letter.as_bytes()

    def unsent(self) -> list[Sent]:
        """Prepared letters that may not have left; those that are too late by now are given up."""
        left = []
        for sent in self.memory.in_state("ready"):
            known = self.memory.standing(sent.match) if sent.match else None
            if known and sent.command in {"orders", "setup"} and _due(known[1])[1] != sent.place:
                with self.memory.transaction():
                    self.memory.settle(sent.id, "refused", json.dumps(["it was too late to send it"]))
            else:
                left.append(sent)
        return left

    def has_left(self, sent: Sent) -> None:
        """Record that the mail system has accepted a letter."""
        self._at("letter sent")
        with self.memory.transaction():
            now = self.memory.by_message_id(sent.message_id)
            if now is not None and now.state == "ready":
                self.memory.settle(sent.id, "sent")
        self._at("sending noted")


def meant(game: str, judge: Callable[[str], object], text: str) -> str | None:
    """What refused orders or a refused setup were probably meant to say; None if that is refused, too."""
    found = rules(game).meant(text)
    try:
        judge(found)
    except Refused:
        return None
    return found if found.strip() != text.strip() else None


_KINDS = {"setup 1": "setup", "position 1": "position", "reports 1": "reports"}
_HOLDS = {"setup": "options", "position": "view", "reports": "reports"}
_SEALED = "sealed position"
_AFTER = 10**9
_QUOTED = 256 << 10
_MESSAGE_ID = re.compile(rb"<[!-;=?-~]{1,200}>")
_KNOWN = re.compile("[0-9a-f]{1,128}")
_NAME = re.compile("m[1-9][0-9]{0,8}")
_MAILBOX = "mailbox"
"""Stands where others have the fingerprint of their key."""


def _match_named(item: JsonObject) -> bool:
    name = item.get("match")
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _place_of(item: JsonObject) -> Place | None:
    """Where a letter can be answered, if the item has the right form."""
    match item:
        case {"address": str(address), "message_id": str(message_id), "game": int(game), "turn": int(turn)}:
            name = item.get("match") or ""
        case _:
            return None
    ours = ADDRESS.fullmatch(address) and _MESSAGE_ID.fullmatch(message_id.encode("ascii", "replace"))
    return Place(message_id, address, name, game, turn) if ours and (not name or _NAME.fullmatch(name)) else None


def _age(standing: JsonObject, time: str) -> tuple[int, int, str]:
    """The sort key of standings: later ones are greater."""
    return (standing.get("head") or {}).get("seq", 0), int(standing["rev"]), time


def _due(standing: JsonObject) -> tuple[str, str]:
    """The command for which a match waits, and its place; no place if it waits for none."""
    if standing["phase"] == "setup":
        return "setup", f"game {standing['game']}"
    if standing["phase"] == "playing":
        return "orders", f"game {standing['game']} turn {standing['turn']}"
    return "", ""


def _spoken(standing: JsonObject, words: str) -> str:
    """The place of a sentence: it may be repeated when the state of the match has changed."""
    return f"{words}; {_due(standing)[1]}; {standing['prev']}"


def _is_past(standing: JsonObject, sent: Sent) -> bool:
    """Whether a setup or orders were withdrawn since they were sent, or replaced from elsewhere."""
    return int(standing["rev"]) > sent.rev + 1


def _noted(note: str | None) -> list[Read]:
    """The section for a note to self."""
    return [("note", (), note)] if note else []


def _failed(letter: Letter) -> bool:
    """Whether a delivery status says that something failed for good (RFC 3464 2.3.3)."""
    said = [part.content.lower() for part in letter.parts if part.content_type == "message/delivery-status"]
    return any(re.search(rb"^action:\s*failed", content, re.MULTILINE) for content in said)
