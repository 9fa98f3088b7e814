"""The writing of letters: what a seat may know of a match goes into a template, and the letter into the outbox.

It was decided before who is told what; the wording is in `templates/`. A decision only names the facts of a letter:
the letter is put into words, drawn and composed while the store is not locked. Views and reports come only through
`Match.view` and `Match.show`, so a letter cannot say more than the game lets its reader know. Implements
protocol.md, "Addresses and threads" and "Secrets".
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pbem.boards import drawn
from pbem.boards.picture import draw
from pbem.boards.sheet import sheet
from pbem.desk import bulletin, mailing_lists, sealed_state
from pbem.games import GAMES, Refused
from pbem.i18n import ENGLISH
from pbem.letters import subjects
from pbem.letters.digest import MOST, can_wait, joined, next_digest, pack, together, unpack
from pbem.letters.draft import Composing, Drawing, OutgoingLetter, TemplateText
from pbem.letters.notices import NOTICES
from pbem.mail.calendar import appointment
from pbem.mail.commands import SETTINGS
from pbem.mail.language import asked_for
from pbem.match import stored_orders
from pbem.match.clock import VACATION, on_a_day, written, zone_named
from pbem.match.sealed_documents import SETUP
from pbem.match.transcript import Entry, canonical, sha256_hex
from pbem.pages import Home, composer, fragment, page_file
from pbem.phrase import Phrase, Span
from pbem.proof import bundle
from pbem.store.decision import Later

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.boards import Drawn
    from pbem.desk.matches import MatchRepository
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.games import Fault
    from pbem.games.squares import Board
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed
    from pbem.mail.compose import Attachment, Composer
    from pbem.mail.message import Letter
    from pbem.match.events.step import Entered
    from pbem.match.state import Ended, Match, Submission
    from pbem.match.step import Notice
    from pbem.store.digest_queue import DigestQueue
    from pbem.store.matches import MatchRow
    from pbem.store.outbox import Outbox
    from pbem.store.people import People
    from pbem.store.players import PlayerRow, Players


class LetterWriter:
    """Writes the letters of a server; `random` makes Message-IDs that reveal nothing; the composers are at `pages`.

    Without their own `return_paths`, letters carry the same secret in a header, which bounces quote.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        composer: Composer,
        outbox: Outbox,
        players: Players,
        people: People,
        archive: MatchRepository,
        random: Callable[[int], bytes],
        mailboxes: ReplyTokens,
        held: DigestQueue,
        operator: str = "",
        pages: str = "",
        language: str = ENGLISH,
        *,
        return_paths: bool = True,
    ) -> None:
        self._return_paths = return_paths
        self.language = language
        """What is written to those who chose no other."""
        self._held = held
        self._operator = operator
        self._composer = composer
        self._outbox = outbox
        self._players = players
        self._people = people
        self._archive = archive
        self._random = random
        self._pages = pages
        self._mailboxes = mailboxes
        self._blank: dict[tuple[str, str], bytes] = {}
        self._pages_written: dict[tuple[str, str], str] = {}

    def draft(self, template: str, /, **facts: Any) -> TemplateText:
        """A template with its facts, to be rendered later."""
        return TemplateText(template, {"server": self._composer.server, "operator": self._operator, **facts})

    def write(self, draft: TemplateText | str, language: str) -> str:
        """The text of a draft or a phrase in a language."""
        templates = self._composer.templates.of(language)
        if not isinstance(draft, TemplateText):
            return templates.say(draft)
        if draft.template not in _THE_SAME:
            return templates.render(draft.template, **draft.facts)
        if (page := self._pages_written.get((draft.template, language))) is None:
            page = self._pages_written[draft.template, language] = templates.render(draft.template, **draft.facts)
        return page

    def _setting(self, player: str, name: str) -> str:
        """The player's choice, or the default."""
        return self._players.setting(player, name, SETTINGS[name][0])

    def language_of(self, player: PlayerRow | None, letter: Letter | None = None) -> str:
        """The language that a player chose; otherwise the one that a letter asks for, or the server's own."""
        chosen = self._players.setting(player.name, "language", "") if player else ""
        return chosen or (letter and asked_for(letter)) or self.language

    def send(self, address: str, out: OutgoingLetter, now: datetime) -> str:
        """Put a letter into the outbox, with its bytes and its Message-ID fixed for ever; its Message-ID.

        For a player without a key, it has a Reply-To that is good for one letter.
        """
        player = self._players.by_address(address)
        language = out.language or self.language_of(player)
        if player is not None and player.level == "mailbox" and not out.asks:
            out.detail = out.detail or self._mailboxes.draw()
            out.reply_to = self._composer.reply_address(out.detail)
            self._mailboxes.give(out.detail, player, out.place, now)
        message_id, reply_to = self._composer.answerable(out.reply_to, self._random(16).hex())
        leave_to = None
        if player and out.mailing and self._composer.delimiter:  # without sub-addresses, one click can carry no token
            leave_to = self._mailboxes.ask("write", address, player.name, now)
        places = (reply_to, leave_to)
        composed = _as_it_is(out)
        if out.bulletin and out.reply_to and not out.asks and (player is None or player.level == "mailbox"):
            where = reply_to or self._composer.address
            composed.bulletin = [*out.bulletin, bulletin.of_reply(where, message_id, out.place)]
        letter = partial(self._compose, address, composed, language, message_id, now, places)
        self._outbox.put(address, message_id, Later(letter, b""), now)
        return message_id

    def _compose(
        self,
        address: str,
        out: OutgoingLetter,
        language: str,
        message_id: str,
        now: datetime,
        places: tuple[str | None, str | None],
    ) -> bytes:
        """The bytes of a letter; `places`: where to answer it, and where to leave its list."""
        reply_to, leave_to = places
        made = self._made(out, language)
        attachments = [(name, kind, _content(content)) for name, kind, content in made.attachments]
        return self._composer.compose(
            address,
            self.write(made.subject, language),
            visible(str(made.text)),
            message_id=message_id,
            date=now,
            reply_to=reply_to,
            in_reply_to=out.in_reply_to,
            references=out.references,
            attachments=attachments,
            html=visible(str(made.html)) if made.html else None,
            pictures=made.pictures,
            mailing=(out.mailing, leave_to) if out.mailing and leave_to else None,
            bulletin=self._bulletin(address, made, attachments, now),
            returns="" if self._return_paths else self._outbox.return_token(address, message_id),
        )

    def _bulletin(self, address: str, made: OutgoingLetter, files: Sequence[Attachment], now: datetime) -> bytes:
        """A letter's signed bulletin; nothing if there is nothing to say."""
        if not made.bulletin:
            return b""
        key, sign = self._archive.key, self._archive.announce
        return canonical(bulletin.sealed(self._composer.server, address, now, made.bulletin, files, key, sign))

    def _made(self, out: OutgoingLetter, language: str) -> OutgoingLetter:
        """A letter with its words, its picture and its files, in a language."""
        if out.parts:
            parts = [self._made(part, language) for part in out.parts]

            def render(template: str, **facts: Any) -> str:
                return self.write(self.draft(template, **facts), language)

            named = [part.subject for part in parts]
            preface = render("letters/digest.txt", subjects=named) if out.digest else ""
            return together(parts, render, preface)
        html, pictures = out.html, out.pictures
        if out.composing is not None:
            out = self._with_composing(out, out.composing, language)
            html = out.html
        if out.drawing is not None and isinstance(html, TemplateText):
            content = draw(out.drawing.boards, out.drawing.names)
            content_id = f"{sha256_hex(content)[:32]}@{self._composer.server}"
            pictures = [*pictures, (content_id, out.drawing.file_name, content)]
            html = replace(html, facts={**html.facts, "picture": content_id})
        # An answer has the subject of what it answers, or mail programs see no thread.
        say = partial(self.write, language=language)
        said = say(out.subject) if out.in_reply_to else subjects.fitting(out.subject, say)
        text = self.write(out.text, language)
        enclosed, left_out = _within(out.room, text, out.attachments)
        if out.room is not None and len(text) > out.room:
            text = text[: out.room].rpartition("\n")[0] + "\n...\n\n" + self.write(_CUT, language) + "\n"
        if left_out:
            text += "\n" + self.write(_LEFT_OUT.given(names=", ".join(left_out)), language) + "\n"
        return replace(
            out,
            subject=said,
            text=text,
            html=self.write(html, language) if html else None,
            drawing=None,
            pictures=pictures,
            attachments=enclosed,
        )

    def _with_composing(self, out: OutgoingLetter, told: Composing, language: str) -> OutgoingLetter:
        """A letter with the composer's data, as a file and, if the pages are served, as a link."""
        words = {name: self.write(text, language).strip("\n") for name, text in told.words.items()}
        content = {**told.content, **words}
        carried = fragment(content if told.linked is None else {**told.linked, **words}) if told.pages else ""
        roomy = told.linked is None or len(carried) < _LINK
        link = f"{told.pages}{page_file(told.game, language)}#{carried}" if told.pages and roomy else ""
        text, html = (
            replace(draft, facts={**draft.facts, "composer": link}) if isinstance(draft, TemplateText) else draft
            for draft in (out.text, out.html)
        )
        enclosed: list[Enclosed] = [(told.file_name, "application/json", canonical(content))]
        if told.enclose:
            home = Home(self._composer.server, self._composer.address, self._composer.delimiter)
            page = composer(told.game, home, language).encode()
            enclosed.append((page_file(told.game, language), "text/html", page))
        before, after = out.attachments[: told.place], out.attachments[told.place :]
        return replace(out, text=text or "", html=html, composing=None, attachments=[*before, *enclosed, *after])

    def sheet(self, title: str, boards: Sequence[Board], words: TemplateText, language: str) -> bytes:
        """A record sheet as a PDF."""
        return sheet(title, boards, self.write(words, language))

    def blank_sheet(self, game: str, title: str, language: str) -> bytes:
        """The empty sheet of a game that has boards, drawn once."""
        if (known := self._blank.get((game, language))) is None:
            boards = drawn(game)
            assert boards is not None
            known = self.sheet(title, boards.blank(), self.draft(f"{game}/sheet.txt", m=None), language)
            self._blank[game, language] = known
        return known

    @property
    def address(self) -> str:
        """The server's address, of no match."""
        return self._composer.address

    def sub_address(self, detail: str) -> str:
        """The server's sub-address with this detail."""
        return self._composer.sub_address(detail)

    def post(
        self, row: MatchRow, seat: int, outs: Sequence[tuple[str, OutgoingLetter]], match: Match, now: datetime
    ) -> None:
        """Send a seat letters, each with its kind, as one: at once, or with the next digest if all can wait."""
        player = self._players.by_name(row.of(seat).player)
        if player is None:
            return
        if self._setting(player.name, "mail") == "digest":
            zone = zone_named(self._players.setting(player.name, "timezone", "UTC")) or "UTC"
            due = next_digest(now, zone)
            if all(can_wait(kind, match, seat, due) for kind, _ in outs):
                language = self.language_of(player)
                for _, out in outs:
                    self._held.hold(player.name, row.number, _Packed(out, partial(self._made, out, language)), due)
                return
        # What waits about the same match comes with it: nobody is to read of the end before the turn.
        waiting = [_unpacked(held.content) for held in self._held.take(player.name, row.number)]
        self._send_together(player, [*waiting, *(out for _, out in outs)], now)

    def send_digests(self, now: datetime) -> None:
        """Send the digests that are due; to a player without a key, one for each match, for its reply address."""
        for name in self._held.due(now):
            player = self._players.by_name(name)
            assert player is not None
            matches: dict[int, list[OutgoingLetter]] = {}
            for row in self._held.take(name):
                matches.setdefault(row.match if player.level == "mailbox" else 0, []).append(_unpacked(row.content))
            for outs in matches.values():
                self._send_together(player, outs, now, digest=True)

    def next_digest(self) -> datetime | None:
        """When the next digest is due."""
        return self._held.next_due()

    def hurry(self, player: str, now: datetime) -> None:
        """Send what waits for this player at the next opportunity: no digest is wanted any more."""
        self._held.hurry(player, now)

    def _send_together(
        self, player: PlayerRow, outs: list[OutgoingLetter], now: datetime, *, digest: bool = False
    ) -> None:
        for first in range(0, len(outs), MOST):
            self._send_as_one(player, outs[first : first + MOST], now, digest=digest)

    def _send_as_one(self, player: PlayerRow, outs: list[OutgoingLetter], now: datetime, *, digest: bool) -> None:
        one = joined(outs, digest=digest)
        if digest:
            one.mailing = mailing_lists.DIGESTS
        for out in outs:
            if out is not one and out.detail and out.detail != one.detail:
                self._mailboxes.give(out.detail, player, out.place, now)
        message_id = self.send(player.address, one, now)
        # Of several turns of a match the last one is asked for.
        for (match, seat), asked in {out.watch[:2]: out.watch[2] for out in outs if out.watch}.items():
            self._outbox.watch(message_id, match, seat, asked)

    def tell(self, notices: Sequence[Notice], latest: Match, row: MatchRow, now: datetime) -> None:
        """Tell each seat's player of its notices in one letter; `latest` is the match after all of them."""
        letters: dict[int, list[tuple[str, OutgoingLetter]]] = {}
        for notice in notices:
            player = self._players.by_name(row.of(notice.seat).player)
            unasked = NOTICES[notice.kind].unasked
            if player is not None and not (unasked and self._setting(player.name, "reminders") == "off"):
                wanted = self._setting(player.name, "format")
                out = self.notice(notice, latest, row, wanted, now)
                out.mailing = mailing_lists.REMINDERS if unasked else None
                clock = notice.match.clocks.get(notice.seat)
                if clock and NOTICES[notice.kind].starts_clock:
                    out.watch = (row.number, notice.seat, clock.since)
                letters.setdefault(notice.seat, []).append((notice.kind, out))
            if _is_for_observers(notice, notices):
                self._to_observers(
                    notice.match, row, _subject(notice, observed=True), now, partial(self._observed, notice, row)
                )
        for seat, outs in letters.items():
            outs.sort(key=lambda out: (not NOTICES[out[0]].says_why, not NOTICES[out[0]].leads))
            ends = any(NOTICES[kind].leads for kind, _ in outs)
            for kind, out in outs:  # of what ended a game the end says enough
                out.named = not (ends and (kind == "turn" or NOTICES[kind].says_why))
            self.post(row, seat, outs, latest, now)

    def _observed(self, notice: Notice, row: MatchRow) -> TemplateText:
        """A notice as observers read it: the public view, and never a fact of the seat that it was for."""
        match, facts = notice.match, dict[str, Any]()
        if notice.kind == "turn":
            turn = notice.facts["turn"]
            facts = {"turn": turn, "reports": match.show(None, match.turns[turn - 1].reports)}
        elif notice.kind == "step":
            told = notice.facts["told"].reports
            facts = {"turns": [{"turn": turn, "reports": match.show(None, told[turn])} for turn in told]}
        elif notice.kind == "ended":
            ended = notice.facts["ended"]
            facts = {"ended": ended, "outcome": _outcome_of_game(match, ended), "setups": _setups(match)}
        elif notice.kind == "closed":
            facts = {"outcome": _outcome_of_match(match)}
        facts |= {"kind": notice.kind, "view": match.view(None), "m": self.public_facts(match, row)}
        return self.draft("letters/observed.txt", **facts)

    def tell_observers_press(self, match: Match, row: MatchRow, by: str, text: str, now: datetime) -> None:
        """Send observers press that its writer made public."""
        facts = {"kind": "press", "by": by, "text": text, "m": self.public_facts(match, row)}
        write = partial(self.draft, "letters/observed.txt", **facts)
        self._to_observers(match, row, Phrase("{by} writes to all", by=by), now, write)

    def _to_observers(
        self, match: Match, row: MatchRow, subject: Phrase, now: datetime, write: Callable[[], TemplateText]
    ) -> None:
        observers = self._people.observers(row.number)
        text = write() if observers else None
        subject = subjects.about(match.id, match.rules.title, subject)
        for name in observers:
            player = self._players.by_name(name)
            if text and player is not None and not self._people.opted_out(player.address):
                m: Any = text.facts["m"]
                own = {"m": m | {"in_words": self._setting(name, "format") == "words"}}
                out = OutgoingLetter(subject, replace(text, facts={**text.facts, **own}))
                out.references = [self._composer.message_id(f"{match.id}.thread")]
                out.mailing = mailing_lists.observers_of(match.id)
                self.send(player.address, out, now)

    def public_facts(self, match: Match, row: MatchRow, latest: Match | None = None) -> dict[str, Any]:
        """What every letter of a match may say to anybody: the `m` of the templates, without a seat."""
        last = latest or match
        return {
            "id": match.id,
            "title": match.rules.title,
            "game_name": match.terms.game,
            "game": match.game,
            "turn": match.turn,
            "kind": match.terms.kind,
            "phase": match.phase,
            "revealing": match.revealing,
            "paused": match.paused,
            "terms": match.terms,
            "settling": duration(match.terms.settle),
            "pace": duration(match.terms.pace),
            "grace": duration(match.terms.grace),
            "bank": duration(match.terms.bank),
            "options": dict(match.options.changed) if match.options else {},
            "names": {seat: named(name) for seat, name in enumerate(match.names, start=1)},
            "levels": {seat: self._players.level(name) for seat, name in enumerate(match.names, start=1)},
            "programs": self.programs(match),
            "me": None,
            "owes": {},
            "in_words": False,
            "next": {},
            "finished": match.games,
            "totals": match.totals,
            "rules_hash": match.rules_hash,
            "terms_signature": self._archive.vouch(match.id, match.rules_hash) if match.phase == "proposed" else "",
            "server": match.server,
            "head": last.head,
            "seq": last.seq,
            "signature": self._signature(last, row),
            "key": self._archive.key,
        }

    def notice(self, notice: Notice, latest: Match, row: MatchRow, wanted: str, now: datetime) -> OutgoingLetter:
        """The letter of a notice; `wanted` is the reader's setting `format`."""
        match, seat = notice.match, notice.seat
        facts = dict(notice.facts)
        out = self.thread(match, row, seat, _subject(notice), latest)
        if notice.kind == "turn":
            facts |= self.turn_facts(match, seat, facts, out)
            facts["composer"] = ""
            self._position(match, row, seat, facts["view"], out, facts["reports"])
        elif notice.kind == "begin":
            facts |= {"view": match.view(seat), "commitments": _commitments(match), "levels": _levels(match)}
            facts["composer"] = ""
            self._position(match, row, seat, facts["view"], out)
        elif notice.kind == "setup":
            facts["composer"] = ""
            self._setup(match, row, seat, out)
        elif notice.kind in _OF_SEALED or (match.terms.sealed and notice.kind in _ASK_AGAIN):
            facts = self._of_sealed(notice, row, out)
        elif notice.kind == "ended":
            facts |= self._reveal(match, row, seat, facts, out)
        elif notice.kind == "closed":
            facts |= {"outcome": _outcome_of_match(match), "rematch": self._rematch(match, seat)}
            facts["address"] = self.address
        elif notice.kind == "extended":
            facts |= {"by": match.name(facts["by"]), "given": duration(facts["seconds"])}
        elif notice.kind == "offer":
            facts["by"] = match.name(facts["by"])
        elif notice.kind in _OF_SEATS:
            facts |= self._of_seats(notice, row, out)
        elif notice.kind in ("missed", "vacation"):
            facts["who"] = facts["seat"]
            facts["moved_on"] = _stage(latest) != _stage(match)
            # What is stored, and whether it is legal, is for its own player alone.
            own = notice.kind == "missed" and facts["who"] == seat and match.terms.miss == "default"
            facts["default"] = stored_orders.default(match, seat) if own else None
            facts["faults"] = (
                [escaped(fault) for fault in stored_orders.faults_of_default(match, seat)] if own else []
            )
        if NOTICES[notice.kind].brings_deadline:
            out.attachments += self._appointment(match, seat, now)
        facts["m"] = self.facts(match, row, seat, latest)
        game = drawn(match.terms.game)
        facts.setdefault("boards", game.boards(facts["view"]) if game and facts.get("view") else None)
        out.text = self.draft(NOTICES[notice.kind].text, **facts)
        if wanted not in {"text", "words"} and NOTICES[notice.kind].html and game:
            self._show(notice, game, facts, wanted, out)
        return out

    def _show(self, notice: Notice, game: Drawn, facts: dict[str, Any], wanted: str, out: OutgoingLetter) -> None:
        """Give a letter its HTML part, with the boards that its reader may see."""
        match = notice.match
        facts["picture"] = None
        if match.position is not None:
            if facts["boards"] is None:
                facts["view"] = match.view(notice.seat)
                facts["boards"] = game.boards(facts["view"])
            facts["happened"] = game.happened(facts["reports"]) if facts.get("reports") else None
            if wanted == "pictures":
                names = dict(enumerate(match.names, start=1))
                out.drawing = Drawing(facts["boards"], names, f"{match.id}-game-{match.game}-boards.png")
        out.html = self.draft(f"letters/{notice.kind}.html", **facts)

    def thread(
        self, match: Match, row: MatchRow, seat: int, subject: Phrase, latest: Match | None = None
    ) -> OutgoingLetter:
        """An empty letter in the thread of a match, whose present state is `latest`; its Reply-To names the match.

        For a player without a key, the Reply-To is good once.
        """
        keyless = self._players.level(match.name(seat)) == "mailbox"
        detail = self._mailboxes.draw(match.id) if keyless else match.id
        out = OutgoingLetter(
            subjects.about(match.id, match.rules.title, subject),
            "",
            reply_to=self._composer.reply_address(detail),
            detail=detail if keyless else None,
            place=(row.number, match.game, match.turn),
            references=[self._composer.message_id(f"{match.id}.thread")],
        )
        out.bulletin = self._for_programs(latest or match, row, seat, out)
        return out

    def _for_programs(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> list[JsonObject]:
        """The bulletin's items about a match for a seat: how it stands, and what witnesses have seen."""
        assert out.reply_to is not None
        signature = self._signature(match, row)
        standing = bulletin.of_match(match, row, seat, signature, out.reply_to, self.programs(match))
        logged = self._archive.logged(row.number)
        return [standing, bulletin.of_log(match.id, *logged)] if logged else [standing]

    def programs(self, match: Match) -> list[int]:
        """The seats of a match that programs have."""
        return [seat for seat, name in enumerate(match.names, start=1) if self._people.is_program(name)]

    def _signature(self, match: Match, row: MatchRow) -> str:
        """The server's signature of the match's head, in hex; nothing before the first entry."""
        if not match.seq:
            return ""
        entry = self._archive.entry(row.number, match.seq)
        return entry.signature.hex() if entry else ""

    def facts(self, match: Match, row: MatchRow, seat: int, latest: Match) -> dict[str, Any]:
        """What every letter of a match may say to this seat: the `m` of the templates."""
        submission = match.orders.get(seat) if match.phase == "playing" else match.setups.get(seat)
        keys = self._players.keys(match.name(seat))
        return self.public_facts(match, row, latest) | {
            "time": _time_of(match, seat),
            "me": seat,
            "in_words": self._setting(match.name(seat), "format") == "words",
            "level": self._players.level(match.name(seat)),
            "asked": match.asked(seat),
            "owes": {other: match.owes(other) for other in match.seats} if match.terms.sealed else {},
            "remains": match.phase == "playing" and match.position is not None and seat in match.position.remaining,
            "rev": submission.rev + 1 if submission else 1,
            "prev": match.prev,
            "next": {what: rev + 1 for (said_by, what), rev in match.said.items() if said_by == seat},
            "address": self._composer.sub_address(match.id),
            "format": keys[-1].format if keys else "ssh",
        }

    def _appointment(self, match: Match, seat: int, now: datetime) -> list[Attachment]:
        """The seat's deadline as a calendar file, when it has one."""
        deadline = match.clocks[seat].deadline if seat in match.clocks else None
        if deadline is None:
            return []
        what = "reveal" if match.revealing else f"turn-{match.turn}" if match.phase == "playing" else "setup"
        name = f"{match.id}-game-{match.game}-{what}"
        summary = _APPOINTMENT.given(title=match.rules.title, match=match.id, game=match.game, what=_asked_for(match))
        address = self._composer.sub_address(match.id)
        uid = f"{name}-seat-{seat}@{match.server}"
        language = self.language_of(self._players.by_name(match.name(seat)))
        texts = (
            self.write(summary, language),
            self.write(Phrase("To be sent to {address}", address=address), language),
        )
        return [appointment(name, uid, texts, deadline, now, match.seq)]

    def turn_facts(self, match: Match, seat: int, facts: Mapping[str, Any], out: OutgoingLetter) -> dict[str, Any]:
        """The facts for the report of a turn; its reports are attached as the file that the transcript hashes."""
        name = f"{match.id}-game-{match.game}-turn-{facts['turn']}.json"
        out.attachments.append((name, "application/json", facts["file"]))
        taken_up, stand_in = facts["taken_up"], facts["stand_in"]
        played = None
        if stand_in is not None:
            receipt = f"{match.id}-game-{match.game}-turn-{facts['turn']}-default.receipt.txt"
            paper = stand_in.paper.encode()
            out.attachments.append((receipt, "text/plain", paper))
            signature = self._archive.vouch(match.id, sha256_hex(paper))
            played = {"text": stand_in.text, "file": receipt, "hash": sha256_hex(paper), "signature": signature}
        return {
            "played": played,
            "others_by_default": [match.name(other) for other in facts["by_default"] if other != seat],
            "unused": [escaped(fault) for fault in taken_up.faults] if taken_up else [],
            "later": sorted(turn for (owner, turn), kept in match.stored.items() if owner == seat and kept.standing),
            "view": match.view(seat),
            "over": _is_over(match),
            "file_name": name,
            "file_hash": sha256_hex(facts["file"]),
            "file_signature": self._archive.vouch(match.id, sha256_hex(facts["file"])),
        }

    def _compose_with(
        self,
        match: Match,
        seat: int,
        what: str,
        content: Mapping[str, Any],
        words: Mapping[str, TemplateText | str],
        out: OutgoingLetter,
    ) -> None:
        """Give a letter the data for the page on which its answer is composed."""
        name = f"{match.id}-game-{match.game}-{what}.json"
        deadline = _time_of(match, seat)["deadline"]
        words = {**words, "deadline": deadline} if deadline else words
        pages = self._pages if drawn(match.terms.game) else ""
        wanted = self._players.setting(match.name(seat), "composer", SETTINGS["composer"][0]) == "on"
        once = what == "setup" and match.game == 1  # it is the same page all through a match
        told = {**content, "deadline": None}
        sealed = content.get("sealed")
        linked = {**told, "sealed": sealed_state.for_page(sealed)} if sealed else None
        place = len(out.attachments)
        out.composing = Composing(name, told, words, pages, match.terms.game, wanted and once, place, linked)

    def _position(
        self,
        match: Match,
        row: MatchRow,
        seat: int,
        view: Mapping[str, Any] | None,
        out: OutgoingLetter,
        reports: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """The position and its form, for programs: docs/attachments.md."""
        content = self._position_document(match, row, seat, view, out)
        names = dict(enumerate(match.names, start=1))
        happened = {"game_name": match.terms.game, "reports": reports, "seat": seat, "names": names}
        words = {"events": self.draft("letters/events.txt", **happened)} if reports else {}
        self._compose_with(match, seat, "position", content, words, out)

    def _position_document(
        self, match: Match, row: MatchRow, seat: int, view: Mapping[str, Any] | None, out: OutgoingLetter
    ) -> dict[str, Any]:
        submission = match.orders.get(seat)
        assert match.options is not None
        return {
            "pbem": "position 1",
            "rules": match.terms.game,
            "address": out.reply_to if self._composer.delimiter else self.address,
            "server": match.server,
            "match": match.id,
            "game": match.game,
            "turn": match.turn,
            "seat": seat,
            "player": match.name(seat),
            "names": list(match.names),
            "events": "",
            "asked": match.asked(seat),
            "prev": match.prev,
            "rev": submission.rev + 1 if submission else 1,
            "standing": _standing(submission),
            "view": view,
            **self._sealed(match, row, seat, out),
        }

    def _sealed(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> dict[str, Any]:
        """The additional data of a sealed match; what the others signed comes as files."""
        if not match.terms.sealed:
            return {}
        assert match.options is not None
        matches = self._archive.matches
        texts = sealed_state.signed_texts(match, seat, row.number, matches)
        out.attachments += texts
        note = matches.note(row.number, match.game, seat)
        sealed = sealed_state.of_seat(match, seat, note, texts)
        return {"options": dict(match.options.changed), "sealed": sealed}

    def _setup(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> None:
        """The requested setup, for programs: docs/attachments.md."""
        self._compose_with(match, seat, "setup", self._setup_document(match, row, seat, out), {}, out)

    def _setup_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> dict[str, Any]:
        assert match.options is not None
        submission = match.setups.get(seat) if match.terms.sealed else None
        return {
            "pbem": "setup 1",
            "rules": match.terms.game,
            "address": out.reply_to if self._composer.delimiter else self.address,
            "server": match.server,
            "match": match.id,
            "game": match.game,
            "seat": seat,
            "player": match.name(seat),
            "names": list(match.names),
            "prev": match.prev,
            "rev": submission.rev + 1 if submission else 1,
            "options": dict(match.options.changed),
            **self._sealed(match, row, seat, out),
        }

    def sealed_files(self, match: Match, row: MatchRow, seat: int) -> list[Enclosed]:
        """The files about a sealed match that an answer brings to the player's program."""
        out = self.thread(match, row, seat, Phrase("your letter"))
        if match.phase == "setup":
            document, what = self._setup_document(match, row, seat, out), "setup"
        elif match.phase == "playing":
            document, what = self._position_document(match, row, seat, match.view(seat), out), "position"
        else:
            return []
        whole = {**document, "deadline": _time_of(match, seat)["deadline"]}
        name = f"{match.id}-game-{match.game}-{what}.json"
        return [*out.attachments, (name, "application/json", canonical(whole))]

    def _of_sealed(self, notice: Notice, row: MatchRow, out: OutgoingLetter) -> dict[str, Any]:
        """The facts of a letter about a sealed match: steps, what is due, or that somebody revealed everything."""
        match, seat = notice.match, notice.seat
        if notice.kind == "revealed":
            return {"by": match.name(notice.facts["seat"])}
        if match.phase == "setup":
            self._setup(match, row, seat, out)
            return {**notice.facts, "composer": ""}
        facts: dict[str, Any] = {"view": match.view(seat), "composer": ""}
        reports: list[Mapping[str, Any]] = []
        if notice.kind in _ASK_AGAIN:
            facts |= notice.facts
        if notice.kind == "step":
            told, files = self.steps(match, seat, notice.facts["told"])
            out.attachments += files
            reports = [report for one in told["turns"] for report in one["reports"]]
            facts |= {**told, "reports": reports}
        self._position(match, row, seat, facts["view"], out, reports)
        return facts

    def steps(self, match: Match, seat: int, told: Entered) -> tuple[dict[str, Any], list[Attachment]]:
        """The result of a letter with steps, as a seat is told; with the reports of each turn that it finished."""
        turns: list[dict[str, object]] = []
        files: list[Attachment] = []
        for turn, reports in told.reports.items():
            name, content = f"{match.id}-game-{match.game}-turn-{turn}.json", told.files[turn][seat]
            files.append((name, "application/json", content))
            signature = self._archive.vouch(match.id, sha256_hex(content))
            paper = {"file_name": name, "file_hash": sha256_hex(content), "file_signature": signature}
            turns.append({"turn": turn, "reports": match.show(seat, reports), **paper})
        facts = {"by": match.name(told.seat), "turn": told.turn, "steps": [one.step for one in told.steps]}
        return {**facts, "turns": turns, "over": _is_over(match)}, files

    def _of_seats(self, notice: Notice, row: MatchRow, out: OutgoingLetter) -> dict[str, Any]:
        """The facts about a seat that changes hands: for the newcomer, its setup and all that it knows."""
        match, seat, facts = notice.match, notice.seat, notice.facts
        if notice.kind == "substitute":
            told = {"by": match.name(facts["by"]), "leaver": match.name(facts["seat"]), "gone": facts["seat"]}
            return told | {"program": self._people.is_program(facts["name"])}
        if notice.kind == "substituted":
            return {"who": match.name(facts["seat"]), "keys": match.players[facts["seat"] - 1].keys}
        if match.phase != "playing":
            return {"setup": None}
        submission = match.setups[seat]
        name = f"{match.id}-game-{match.game}-seat-{seat}.opening.txt"
        out.attachments.append((name, "text/plain", submission.paper.encode()))
        welcome: dict[str, Any] = {
            "view": match.view(seat),
            "commitments": _commitments(match),
            "levels": _levels(match),
        }
        self._position(match, row, seat, welcome["view"], out)
        welcome |= {"setup": submission.text, "file_name": name, "composer": ""}
        hashed = sha256_hex(submission.paper.encode())
        return welcome | {"file_hash": hashed, "file_signature": self._archive.vouch(match.id, hashed)}

    def _rematch(self, match: Match, seat: int) -> dict[str, Any]:
        """A proposal of the same match to the same players, with this player in the first seat."""
        name = match.name(seat)
        others = [match.name(other) for other in match.seats if other != seat]
        return {"players": others, "lines": match.terms.lines(), "rev": self._players.said(name) + 1}

    def _reveal(
        self, match: Match, row: MatchRow, seat: int, facts: Mapping[str, Any], out: OutgoingLetter
    ) -> dict[str, Any]:
        game = drawn(match.terms.game)
        truth, view = _truth(match), match.view(seat)
        name = f"{match.id}-game-{match.game}.pbem.zip"
        content, _ = self.bundle(match, row, None)
        out.attachments.append((name, "application/zip", content))
        return {
            "outcome": _outcome_of_game(match, facts["ended"]),
            "setups": _setups(match),
            "levels": _levels(match),
            "bundle_name": name,
            "truth": truth,
            "view": view,
            "boards": None if game is None else game.truth(truth, seat) if truth else game.boards(view or {}),
        }

    def bundle(self, match: Match, row: MatchRow, seat: int | None) -> tuple[Callable[[], bytes], str]:
        """The bundle of a match: its finished games, and what this seat may see of the running one."""
        rows = self._archive.matches.entries(row.number)
        running = match.game if match.phase == "playing" else 0
        papers = self._archive.matches.papers(row.number, len(match.games), running, seat)

        def write() -> bytes:
            entries = [Entry.read(entry.entry) for entry in rows]
            return bundle.write(bundle.Bundle(entries, [entry.signature for entry in rows], papers))

        return write, f"{match.id}.pbem.zip"

    def old_turns(
        self, match: Match, row: MatchRow, seat: int, game: int, turns: Sequence[int]
    ) -> OutgoingLetter | None:
        """The reports of past turns again, from the files that were mailed; None if there were none."""
        what = Phrase("turn {turn}", turn=turns[0]) if len(turns) == 1 else Phrase("all turns")
        out = self.thread(match, row, seat, Phrase("game {game}, {what}, again", game=game, what=what))
        again = []
        for turn in turns:
            file = self._archive.matches.paper(row.number, f"reports/game-{game}-turn-{turn}-seat-{seat}.json")
            if file is None:
                continue  # what the secrets of a sealed game show, nobody was told
            name = f"{match.id}-game-{game}-turn-{turn}.json"
            out.attachments.append((name, "application/json", file))
            again.append(
                {"turn": turn, "reports": json.loads(file)["reports"], "file": name, "hash": sha256_hex(file)}
            )
        m = self.facts(match, row, seat, match)
        out.text = self.draft("letters/again.txt", m=m, game=game, again=again)
        return out if again else None


class _Packed(Later[bytes]):
    """A letter that waits for a digest, packed once it is in words."""

    def __init__(self, out: OutgoingLetter, make: Callable[[], OutgoingLetter]) -> None:
        super().__init__(lambda: pack(make()), b"")
        self.out = out


def _unpacked(content: bytes | Later[bytes]) -> OutgoingLetter:
    """A letter that waited; one that began to wait in this very decision is not in words yet."""
    if isinstance(content, _Packed):
        return content.out
    assert isinstance(content, bytes)
    return unpack(content)


def _as_it_is(out: OutgoingLetter) -> OutgoingLetter:
    """A copy of a letter as it is now."""
    return replace(out, pictures=[*out.pictures], attachments=[*out.attachments], references=[*out.references])


def _within(room: int | None, text: str, enclosed: Sequence[Enclosed]) -> tuple[list[Enclosed], list[str]]:
    """The files for which there is room beside a text, and the names of the others, which are not even made."""
    kept: list[Enclosed] = []
    left = None if room is None else room - len(text)
    for at, (name, kind, content) in enumerate(enclosed):
        made = _content(content)
        if left is not None and (left := left - len(made)) < 0:
            return kept, [name for name, _, _ in enclosed[at:]]
        kept.append((name, kind, made))
    return kept, []


_THE_SAME = frozenset(f"{game}/rules.txt" for game in GAMES)
"""The templates of pages that say the same to everybody."""

_CUT = Phrase("This answer became too long, and the rest is left out: ask for it in separate letters.")
_LEFT_OUT = Phrase("Not attached, because this letter became too long: {names}. Ask for them in separate letters.")


def _content(content: bytes | Callable[[], bytes]) -> bytes:
    return content if isinstance(content, bytes) else content()


_LINK = 8000
"""How many characters a link to a page of a sealed match may carry: it has all that was told, and grows."""

_MATTERS = {"draw": Phrase("a draw?"), "annul": Phrase("annul the match?")}
_APPOINTMENT = Phrase("{title} {match}, game {game}, {what}")

_OF_SEALED = frozenset({"step", "reveals", "revealed"})
"""The letters of sealed matches alone."""

_ASK_AGAIN = frozenset({"reminder", "resumed"})
"""The letters that ask for what was asked for before: of a sealed match they bring all that a program needs."""

_OF_SEATS = frozenset({"substitute", "substituted", "welcome"})
"""The letters about a seat that changes hands."""


_PRINTED = bytes(range(0x20, 0x7F)) + b"\n"


def visible(text: str) -> str:
    """A text in which nothing is hidden: characters that cannot be printed are escaped."""
    if text.isascii() and not text.encode().translate(None, _PRINTED):  # a quarter of the time of what follows
        return text
    if text.replace("\n", "").isprintable():
        return text
    kept = {"\n": "\n", "\t": " ", "\xa0": " "}
    return "".join(
        char if char.isprintable() else kept.get(char) or char.encode("unicode_escape").decode() for char in text
    )


def escaped(fault: Fault) -> Fault:
    """A fault in which letters that merely look alike can be told apart."""

    def ascii_only(text: str) -> str:
        return text.encode("ascii", "backslashreplace").decode()

    def told(phrase: Phrase) -> Phrase:
        return phrase.given(**{name: told_fact(fact) for name, fact in phrase.facts.items()})

    def told_fact(fact: object) -> object:
        if isinstance(fact, Phrase):
            return told(fact)
        return ascii_only(fact) if isinstance(fact, str) else fact

    return fault._replace(token=fault.token and ascii_only(fault.token), message=told(fault.message))


def _subject(notice: Notice, *, observed: bool = False) -> Phrase:
    match, subject = notice.match, NOTICES[notice.kind].subject
    assert subject is not None, "a notice of a match says what it is about"
    matter = _MATTERS.get(str(notice.facts.get("agreement")), "")
    told = notice.facts.get("told", notice)
    who = match.name(notice.facts.get("seat", told.seat))
    turn = told.turn if notice.kind == "step" else match.turn
    facts = {
        "who": who,
        "game": match.game,
        "turn": turn,
        "what": _asked_for(match),
        "matter": matter,
        **notice.facts,
    }
    if notice.kind == "ended":
        facts["result"] = _result(match, notice.facts["ended"], 0 if observed else notice.seat)
    return subject.given(**facts)


def _result(match: Match, ended: Ended, seat: int) -> Phrase:
    """How a game ended, as its reader sees it; seat 0: an observer."""
    if not ended.winner:
        return Phrase("drawn") if ended.reason in {"rules", "agreement"} else Phrase("no winner")
    if ended.winner == seat:
        return Phrase("you won")
    if seat and len(match.seats) == 2:
        return Phrase("you lost")
    return Phrase("{name} won", name=match.name(ended.winner))


def _asked_for(match: Match) -> Phrase:
    if match.revealing:
        return Phrase("reveal")
    return Phrase("turn {turn}", turn=match.turn) if match.phase == "playing" else Phrase("setup")


def named(name: str) -> str:
    """A player's name, or that the seat is still free."""
    return Phrase("(free)") if name.startswith("?") else name


def called(name: str, *, program: bool) -> str:
    """A player's name for others to choose from; a program is marked as one."""
    return Phrase("{name}, a program", name=name) if program else named(name)


def _is_for_observers(notice: Notice, notices: Sequence[Notice]) -> bool:
    """Whether observers are told what a notice tells its seat: once, and for steps only their result."""
    if notice.kind == "step" and not notice.facts["told"].reports:
        return False
    first = min(one.seat for one in notices if one.kind == notice.kind)
    return notice.seat == first and NOTICES[notice.kind].public


def _stage(match: Match) -> tuple[object, ...]:
    """How far a match is."""
    return match.phase, match.game, match.turn, len(match.games)


def _is_over(match: Match) -> bool:
    return match.position is None or match.position.result is not None


def _standing(submission: Submission | None) -> dict[str, Any] | None:
    """The orders already there when a turn begins, because they came in advance."""
    if submission is None or not submission.standing:
        return None
    return {"rev": submission.rev, "final": submission.final, "orders": submission.text}


def _truth(match: Match) -> dict[int, Mapping[str, Any]] | None:
    """How everything was, as each owner saw it; None unless everybody revealed it, truthfully."""
    rules, game = match.sealed_rules, match.sealed_game
    if rules is None or game is None or not rules.reveals:
        return {owner: match.view(owner) or {} for owner in match.seats}
    if len(game.reveals) < len(match.seats):
        return None
    assert match.options is not None
    try:
        own = {
            owner: rules.own(match.options, owner, revealed.setup, revealed.orders, match.table)
            for owner, revealed in sorted(game.reveals.items())
        }
    except Refused:
        return None
    return {owner: rules.own_view(side, match.table) for owner, side in own.items()}


def _setups(match: Match) -> dict[int, str]:
    """The setups, once none of them is secret any more."""
    game = match.sealed_game
    if game is not None and match.sealed_rules is not None:
        if match.sealed_rules.reveals:
            return {seat: revealed.setup for seat, revealed in sorted(game.reveals.items())}
        opened = {step.seat: "\n".join(step.lines) for step in game.steps if step.step == SETUP}
        return dict(sorted(opened.items()))
    return {seat: submission.text for seat, submission in sorted(match.setups.items())}


def _commitments(match: Match) -> dict[int, str]:
    if match.sealed_game is not None:
        return dict(sorted(match.sealed_game.commitments.items()))
    return {seat: sha256_hex(submission.paper.encode()) for seat, submission in sorted(match.setups.items())}


def _levels(match: Match) -> dict[int, str]:
    """The level at which each setup came."""
    if match.terms.sealed:
        return dict.fromkeys(match.seats, "key")
    return {seat: submission.level for seat, submission in sorted(match.setups.items())}


@lru_cache
def duration(seconds: int) -> Phrase:
    """A length of time in words."""
    return Span(seconds) if seconds else Phrase("none")


def _time_of(match: Match, seat: int) -> dict[str, Any]:
    """What a letter to this seat says about its own clock, and about others' vacations."""
    clock = match.clocks.get(seat)
    deadline, patience = (clock.deadline, clock.patience) if clock else (None, None)
    stops = clock.stops if clock else ()
    return {
        "runs": clock is not None,
        "over": seat in match.missed,
        "silent": match.silent.get(seat, 0),
        "deadline": written(deadline, clock.zone) if clock and deadline else None,
        "patience": written(patience, clock.zone) if clock and patience and clock.grace else None,
        "bank": duration(clock.bank) if clock and clock.bank else None,
        "stops": [
            {
                "reason": stop.reason,
                "began": written(stop.began, clock.zone),
                "ended": written(stop.ended, clock.zone) if stop.ended else None,
            }
            for stop in stops
            if clock and (deadline is None or stop.began < deadline)
        ],
        "away": [
            {
                "seat": other,
                "first": on_a_day(stop.began, clock.zone),
                "last": on_a_day(stop.ended - _MOMENT, clock.zone),
            }
            for other, clock in sorted(match.clocks.items())
            for stop in clock.stops
            if other != seat and stop.reason == VACATION and stop.ended
        ],
    }


_MOMENT = timedelta(seconds=1)


def _outcome_of_game(match: Match, ended: Ended) -> dict[str, Any]:
    return {
        "winner": match.name(ended.winner) if ended.winner else None,
        "reason": ended.reason,
        "turns": ended.turns,
    }


def _outcome_of_match(match: Match) -> dict[str, Any]:
    outcome = match.outcome or {}
    winner = outcome.get("winner")
    return {"winner": match.name(winner) if winner else None, "reason": outcome.get("reason")}
