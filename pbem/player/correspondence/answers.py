"""The letters of ours that a letter answers or brings back: each is known by a secret that it was sent with.

Whoever reads a letter of ours on its way knows its Message-ID, can write other words under it, and can add headers to
the answer. So an answer must name our words, too; and what the server once obeyed is not refused since. Implements
docs/attachments.md, "`about`: `command`", from the reader's side.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.mail.commands import COMMANDS, parse
from pbem.match.documents import Opening, Receipt, Withdrawal
from pbem.match.transcript import sha256_hex, voucher, written
from pbem.phrase import Phrase
from pbem.player.known import AccountKnown
from pbem.player.server_letter import Event
from pbem.proof.compare.index import is_signature
from pbem.proof.compare.papers import read_acknowledged
from pbem.proof.kept_letters import kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.mail.commands import AnyCommand
    from pbem.mail.message import Letter
    from pbem.player.memory import Memory, SentForm
    from pbem.player.server_letter import HeardBulletin
    from pbem.proof.compare.ends import Sent
    from pbem.proof.kept import Answered


MESSAGE_ID = re.compile(rb"<[!-;=?-~]{1,200}>")
_QUOTED = 256 << 10
_DUE = {"setup", "orders", "seal", "step", "reveal"}
_PATIENCE = timedelta(hours=1)
_PAPERS: Mapping[str, type[Sent]] = {"setup": Opening, "seal": Receipt, "orders": Receipt, "clear": Withdrawal}
"""The papers that acknowledge what we sent, by its command."""


class Answers:
    """Finds the letters of ours to which the server's letters refer, settles them, and repeats what got no answer."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def answered(self, letter: Letter, item: JsonObject) -> SentForm | None:
        """The letter of ours that an item answers: at first, only its server can have read its Message-ID.

        An unknown sender gets a short answer, which is in no thread.
        """
        found = [sent for known in letter.in_reply_to if (sent := self._memory.by_message_id(known))]
        return _named([*found, *self._asked()], item)

    def _told_of(self, letter: Letter, item: JsonObject) -> SentForm | None:
        """The letter of ours that an item of its server answers, in its thread or outside."""
        ours = self.answered(letter, item)
        ours = ours or _named(self._memory.in_state("ready", "sent", "asked", "refused", "bounced"), item)
        return ours if ours is not None and _says(ours, item.get("words")) else self._obeyed(item)

    def _obeyed(self, item: JsonObject) -> SentForm | None:
        """The letter of ours whose words were obeyed under whatever Message-ID, as in a copy that came first.

        Only who has our key can have them obeyed. Our own letter may then get no answer any more: others can use up
        the few that are for words that came before.
        """
        name, match = str(item.get("command")), item.get("match")
        if item.get("outcome") not in {"done", "again"} or name not in COMMANDS or not COMMANDS[name].signed:
            return None
        prepared = self._memory.prepared(name.partition(" ")[0], match if isinstance(match, str) else "")
        return next((sent for sent in prepared if sent.state != "done" and _says(sent, item.get("words"))), None)

    def is_asked(self, item: JsonObject) -> bool:
        """True if an item answers our registration, which holds a secret of ours."""
        return item.get("about") == "challenge" and any(_says(sent, item.get("asked")) for sent in self._asked())

    def _asked(self) -> list[SentForm]:
        """Our registrations."""
        return self._memory.sent("register", "", self._memory.account().fingerprint)

    def bounced(self, letter: Letter) -> Event | None:
        """A letter of ours that came back: only its receiver knows its Message-ID."""
        said = [part.content.lower() for part in letter.parts if part.content_type == "message/delivery-status"]
        # A permanent failure (RFC 3464 2.3.3).
        if not any(re.search(rb"^action:\s*failed", content, re.MULTILINE) for content in said):
            return None
        for found in MESSAGE_ID.findall(letter.raw[:_QUOTED]):
            sent = self._memory.by_message_id(found.decode())
            if sent is not None and sent.state in {"ready", "sent"}:
                self._memory.settle(sent.id, "bounced")
                return Event("bounced", letter.subject, sent.match, sent=sent)
        return None

    def settle(self, letter: Letter, heard: HeardBulletin, now: datetime) -> list[Event]:
        """Record the server's answers to letters of ours.

        Nothing was done of which no proof is left: the server could deny it, and nobody would convict it.
        """
        events = []
        for item in heard.items:
            ours = self._told_of(letter, item) if item.get("about") == "command" else None
            if ours is None:
                continue
            outcome, faults = str(item.get("outcome")), item.get("faults")
            found = tuple(map(str, faults)) if isinstance(faults, list) else ()
            state = {"refused": "refused", "asked": "asked", "unplaced": "refused"}.get(outcome, "done")
            if ours.state == "done" and state != "done":
                continue  # what was obeyed stays so; who saw the letter since can write under its Message-ID
            if state == "done" and not _is_proof(letter, heard, item, ours):
                said = Phrase("the answer that `{command}` was done brings no proof of it", command=ours.command)
                self._memory.alarm(written(now), ours.match, str(said))
                events.append(Event("contradiction", letter.subject, ours.match, said))
                continue
            # A restored server refuses what cites a forgotten head: it cannot know what came of that before, and asks
            # again in the matches of ours.
            forgets = heard.generation > ours.generation and self._memory.standing(ours.match) is not None
            if state != "refused" or not forgets:
                self._memory.settle(ours.id, state, json.dumps(found))
            if ours.command == "register" and state == "asked":
                # The server's, if it can be answered: that of the letter's header is not signed.
                reply = next((item for item in heard.items if item.get("about") == "reply"), {})
                with self._memory.noting(AccountKnown) as account:
                    account.asked_by = str(reply.get("message_id", ""))
                    if all(sent.generation < heard.generation for sent in self._memory.prepared("confirm", "")):
                        account.name = None  # it was restored, and has forgotten the account
            ours = ours._replace(state=state)
            events.append(Event("answer", letter.subject, ours.match, outcome, found, ours))
        return events

    def repeat(self, heard: HeardBulletin, now: datetime) -> None:
        """Have what was due sent once more, unchanged, where the server writes about its match and has not answered.

        A mail system may lose a letter that it accepted. A restored server asks again by itself for what it forgot.
        """
        matches = {item.get("match") for item in heard.items if item.get("about") == "match"}
        for sent in self._memory.in_state("sent"):
            known = self._memory.standing(sent.match) if sent.match in matches else None
            if known is None or sent.command not in _DUE or abs(now - sent.written) < _PATIENCE:
                continue
            if sent.generation >= known.generation:
                self._memory.send_again(sent)


def _named(found: Sequence[SentForm], item: JsonObject) -> SentForm | None:
    """The letter whose Message-ID an item names by its hash."""
    return next((sent for sent in found if sha256_hex(sent.message_id.encode()) == item.get("answers")), None)


def _says(sent: SentForm, words: object) -> bool:
    """True if this is the hash of a letter's words, as the server reads them: without comments after them."""
    return any(command.words == words for command in parse(sent.form).commands)


def _is_proof(letter: Letter, heard: HeardBulletin, item: JsonObject, ours: SentForm) -> bool:
    """True if an answer that our letter was done names the command and its place, and brings the receipt."""
    said = kept("", letter.raw)  # as it is compared with the bundle
    here = item.get("mail"), item.get("words"), item.get("outcome")
    told = [one for one in said.answered if (one.mail, one.words, one.outcome) == here]
    if not any(_is_about(one, command) for one in told for command in parse(ours.form).commands):
        return False
    # Signed setups and orders are acknowledged as often as they come; a letter without a key answers the server's.
    is_once = ours.command == "clear" or b"\r\nIn-Reply-To: " in ours.raw
    if ours.command not in _PAPERS or (item.get("outcome") == "again" and is_once):
        return True
    shown = [one for one in said.papers if (one.server, one.match) == (heard.server, ours.match)]
    signed = [(one.sha256, one.signature, voucher(one.server, one.match, one.sha256)) for one in shown]
    vouched = {hashed for hashed, signature, statement in signed if is_signature(heard.key, signature, statement)}
    # It may name a copy of our letter that came before, but nobody else's, and nothing else of ours.
    places = {f"{heard.server} {ours.match} {place} rev {ours.rev}" for place in ours.place.split("; ")}
    ways = (way for one in said.attached for way in one.ways if sha256_hex(way) in vouched)
    papers = [paper for way in ways if isinstance(paper := read_acknowledged(way), _PAPERS[ours.command])]
    return any(_place(paper) in places and f"\nplayer {paper.player}\n" in ours.form for paper in papers)


def _place(paper: Sent) -> str:
    """The server and match of a paper, and its place there, with its revision."""
    turn = "" if isinstance(paper, Opening) or not paper.turn else f" turn {paper.turn}"
    default = " default" if not isinstance(paper, Opening) and paper.by_default else ""
    return f"{paper.server} {paper.match} game {paper.game}{turn}{default} rev {paper.rev}"


def _is_about(told: Answered, command: AnyCommand) -> bool:
    """True if an answer is about these words, and the match and the tournament that they name."""
    names = {command.match, getattr(command.request, "tournament", None)} - {None}
    return (told.command, told.words) == (command.name, command.words) and names <= {*told.about}
