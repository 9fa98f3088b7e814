"""The answer to a letter: every command of it echoed, with its outcome below.

The outcomes were decided before. A sender for whom nobody vouches is told little, and no word of the letter is
repeated. Implements protocol.md, "Commands", and reliability.md, case 35.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.desk import bulletin
from pbem.desk.outcomes import SHORT, Reply
from pbem.desk.seats import SeatContext, answered_at, seat_at
from pbem.desk.strangers import EACH
from pbem.games import titles
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, AnyCommand, Reading, masked, own_runs, unattributed
from pbem.match.state import RUNNING
from pbem.match.transcript import written
from pbem.pages import served
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.config.server import Config
    from pbem.desk.caller import Caller
    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_letters import MatchLetters
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.desk.seats import Seats
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Facts
    from pbem.store.players import Players

    Answered = tuple[AnyCommand, Reply]

_ONE_MORE_STEP = Phrase("[pbem] One more step")
"""The same, where it asks for something."""

_ANSWER = 1024 * 1024
"""The most octets of an answer with its attachments; it says what was left out."""

_ECHO = 4000
"""The most characters of a command that are echoed."""


_SUBJECT = 60
"""The most characters of a letter's subject that are repeated."""


@dataclass(eq=False, repr=False)
class AnswerWriter:
    """The answers to letters."""

    config: Config
    players: Players
    mailboxes: ReplyTokens
    letters: LetterWriter
    match_letters: MatchLetters
    seats: Seats

    def write(
        self, caller: Caller, reading: Reading, replies: Sequence[Answered], *, due: Reply | None, last: bool
    ) -> None:
        """One letter with every command echoed and its answer below; separate letters go before it.

        `due`: what a letter without a command is told of the player's matches.
        `last`: letters that change nothing get no more answers today.
        """
        # A command of this letter may have chosen another language.
        name, language = caller.player.name if caller.player else None, caller.language
        if name:
            language = self.players.setting(name, "language", language)
        at = self._thread(caller, replies)
        # A form that asks somebody without a seat is about the same place.
        out = OutgoingLetter("", "", place=caller.answers)
        going_on = self.mailboxes.go_on(caller.tokens, caller.letter, caller.player, caller.now)
        for _, reply in replies:
            self._send_before(caller, reply, at, language)
        if at is not None:
            out = self.match_letters.thread(at.match, at.row, at.seat, Phrase("your letter"))
        asked = next((reply.reply_to for _, reply in replies if reply.reply_to), None)
        out.reply_to = asked or going_on or out.reply_to
        out.subject, out.language, out.room = SHORT, language, _ANSWER
        subject, match = masked(caller.letter.subject)[:_SUBJECT], at.match.id if at else None
        answered = {"subject": subject, "received": caller.received, "match": match}
        out.text = self.letters.template(
            "letters/answer.txt",
            answers=self._answers(caller, replies, out, language),
            ignored=[] if reading.optout or caller.repeated else _recognised(own_lines(reading.ignored, name)),
            adds=caller.understood.adds and not caller.repeated,
            stopped=reading.optout,
            several=not replies and caller.letter.several,
            html_only=None if reading.meant is None else answered,
            due=due and self._section("", due.template, due.facts, language),
            last=last,
            player=caller.player is not None,
            games=titles(),
            pages=served(self.config.pages, "index"),
        )
        if not caller.repeated:
            out.answer(caller.letter)
        self.letters.send(caller.address, out, caller.now)

    def _thread(self, caller: Caller, replies: Sequence[Answered]) -> SeatContext | None:
        """The seat in whose thread the answer goes, so that what is written next finds the match, too.

        It is that of a command, or of the letter that is answered, or the player's only match under way.
        """
        at = next((reply.at for _, reply in replies if reply.at is not None), None)
        at = at or answered_at(self.seats, caller)
        if at is None and caller.keyless_name:
            numbers = self.seats.archive.matches.of_player(caller.keyless_name, ("proposed", *RUNNING))
            at = seat_at(self.seats, numbers[0], caller.keyless_name) if len(numbers) == 1 else None
        return at

    def _send_before(self, caller: Caller, reply: Reply, at: SeatContext | None, language: str) -> None:
        """Send the separate letters that go with a reply."""
        for letter in reply.letters:
            letter.language = language
            if at is not None and letter.detail is None and caller.keyless_name:
                letter.detail, letter.place = self.mailboxes.detail_for(at.match, at.seat), at.place
            self.letters.send(caller.address, letter, caller.now)

    def _answers(
        self, caller: Caller, replies: Sequence[Answered], out: OutgoingLetter, language: str
    ) -> list[Facts]:
        """Each command with its answer; its files and what programs read go into the letter."""
        told, out.open = [], bool(replies)
        for command, reply in replies:
            out.open = out.open and (reply.open or COMMANDS[command.name].open)
            out.attachments += [file for file in reply.attachments if file not in out.attachments]
            out.bulletin += self._items(caller, command, reply, language)
            told.append(self._section(command.echo, reply.template, reply.facts, language))
        return told

    def _section(self, echo: str, template: str, facts: Mapping[str, object], language: str) -> Facts:
        """A command, the text below it, and what proves something."""
        echo = echo if len(echo) <= _ECHO else f"{echo[:_ECHO]}\n..."
        words = self.letters.rendered(self.letters.template(f"answers/{template}.txt", **facts), language)
        return {"echo": echo, "text": words.text.strip("\n"), "proofs": words.proofs}

    def _items(self, caller: Caller, command: AnyCommand, reply: Reply, language: str) -> list[JsonObject]:
        """The outcome of a command of this caller's letter, for programs."""
        found = reply.facts.get("faults", ()) if reply.outcome == "refused" else ()
        faults = [self.letters.text(fault.message, language)[:_FAULT] for fault in found[:_FAULTS]]
        match = command.match or (reply.at.match.id if reply.at is not None else None)
        answer = bulletin.of_answer(command, match, reply.outcome, faults, caller.letter, written(caller.received))
        return [answer, *reply.items]

    def write_short(self, caller: Caller, replies: Sequence[Answered]) -> None:
        """A short answer with which the owner of the address can go on: perhaps somebody else wrote the letter."""
        out, told = OutgoingLetter(SHORT, ""), []
        for command, reply in replies:
            if reply.letters:  # the rules of a game: there is no more to say
                (out,) = reply.letters
            else:
                # Quote nothing of the letter, not even the name in its request.
                facts = {**reply.facts, "name": ""}
                if isinstance(faults := facts.get("faults"), list):
                    facts["faults"] = [fault._replace(token=None) for fault in faults]
                told.append(self._section("", reply.template, facts, caller.language))
                out.bulletin += self._items(caller, command, reply, caller.language)
                out.reply_to = reply.reply_to
        asked = any(reply.outcome == "asked" for _, reply in replies)
        if asked and out.subject == SHORT:
            out.subject = _ONE_MORE_STEP
        out.language, out.open = caller.language, True
        out.reply_to = out.reply_to or self.mailboxes.write_back(caller.address, caller.player, caller.now)
        out.text = out.text or self.letters.template("letters/short.txt", told=told, asked=asked, most=EACH)
        self.letters.send(caller.address, out, caller.now)


_FAULTS, _FAULT = 20, 500
"""The faults of a command that its answer tells programs, as many as it tells people; and the characters of each."""


_FOOTER = re.compile(
    r"Sent (?:from|via|with) (?:my )?\w.{0,100}|Get (?:Outlook|BlueMail) for .{1,100}|Yahoo Mail: .{1,60}"
    r"|Outlook für .{1,100} (?:beziehen|herunterladen).{0,60}|Holen Sie sich Outlook für .{1,100}"
    r"|Gesendet (?:von|mit|über|via) .{1,100}|Von (?:meine[mr] )?.{1,60} gesendet\.?"
    r"|Diese Nachricht wurde von .{1,100} gesendet\.?"
)
"""The footers that phones and their mail programs write beneath a letter, in English and German."""


_NAME = r"[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*){0,2}"

_CLOSING = re.compile(
    r"(?:(?:with )?(?:(?:my|our|and|kind|best|warm|many|kindest|warmest) )*(?:regards|wishes|greetings)"
    r"|best|cheers|thanks|thank you|yours(?: sincerely)?|see you|danke|vielen dank|bis bald|lg|vg|mfg"
    r"|(?:mit )?(?:(?:vielen?|lieben?|besten?|schönen?|herzlichen?|freundlichen?) )*gr(?:ü(?:ß|ss)en?|u(?:ß|ss)))"
    rf"(?:[ ,.!]*|[ ,.!]+(?P<name>{_NAME}))",
    re.I,
)
"""The last words of a letter, with a name behind them perhaps."""


def _unclosed(lines: list[str], name: str | None) -> list[str]:
    """The lines without a closing at their end and the name below it, which may stand alone if it is the player's."""
    if lines and lines[-1].strip(" .,-").lower() == name:
        lines = lines[:-1]
    last = len(lines) - 1
    above = _CLOSING.fullmatch(lines[last - 1].strip()) if last > 0 else None
    if above and not above["name"] and re.fullmatch(_NAME, lines[last].strip()):
        return lines[: last - 1]
    return lines[:last] if lines and _CLOSING.fullmatch(lines[last].strip()) else lines


def _recognised(lines: Sequence[str]) -> list[str]:
    """The first of the ignored lines, enough to recognise them."""
    shown: list[str] = [line.strip()[:70] for line in lines[:10]]
    return [*shown, Phrase("... and {count} more lines", count=len(lines) - 10)] if len(lines) > 10 else shown


def own_lines(ignored: Sequence[str], name: str | None = None) -> list[str]:
    """The ignored lines that are the player's own, without a closing at their end, or the player's name."""
    return _unclosed(_lines_of(ignored), name)


def own_words(text: str) -> list[str]:
    """The same lines of an unsigned text, also those of its commands; a closing may be all that it says."""
    runs = own_runs(text)
    return own_lines(runs) or _lines_of(runs)


def _lines_of(ignored: Sequence[str]) -> list[str]:
    """The ignored lines that are the player's own: no comments, quotes, their authors, nor what phones add."""
    lines: list[str] = []
    for run in ignored:
        if run.startswith(">"):
            lines = unattributed(lines) if lines and lines[-1].endswith(":") else lines
        elif not run.startswith("--"):
            lines += [line.rstrip() for line in run.splitlines() if line.strip()]
    return [line for line in lines if not (line.lstrip().startswith("#") or _FOOTER.fullmatch(line.strip()))]
