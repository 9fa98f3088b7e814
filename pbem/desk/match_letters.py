"""The letters of a match: each event as the facts of a template, for each reader.

The event has chosen the notices and their seats. Views and reports come only through `Match.view` and `Match.show`,
so a letter cannot say more than the game lets its reader know. Implements protocol.md, "Addresses and threads" and
"Secrets".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from pbem.boards.drawn import drawings
from pbem.desk import bulletin
from pbem.desk.match_facts import (
    LetterView,
    branch_facts,
    is_for_observers,
    is_over,
    outcome_of_game,
    outcome_of_match,
    rematch_of,
    stage_of,
    subject_of,
    time_of,
)
from pbem.games import part_of, parts
from pbem.identity.security_keys import way
from pbem.letters import draft, mailing_lists
from pbem.letters.draft import Drawing, Facts, OutgoingLetter, TemplateText, WrittenLetter
from pbem.letters.safe_text import escaped
from pbem.mail.calendar import Appointment, attached
from pbem.match import stored_orders
from pbem.match.events.endings import agreeing
from pbem.match.naming import hides_players, seen_by
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import written
from pbem.match.transcript import sha256_hex
from pbem.match.view import TranscriptHead, view
from pbem.phrase import Phrase, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from types import ModuleType

    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_archive import MatchRepository
    from pbem.desk.position_files import PositionFiles
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.json_object import JsonObject
    from pbem.mail.compose import Attachment, Composer
    from pbem.match.play import Play
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.match.view import MatchView
    from pbem.store.matches import MatchRow
    from pbem.store.people import People
    from pbem.store.players import Players

_APPOINTMENT = Phrase("{title} {match}, game {game}, {what}")
_PROOF = Phrase("game {game}, the proof")

_OF_SEATS = frozenset({"substitute", "substituted", "welcome"})
"""The kinds of notices about a seat that gets another player."""

_BESIDE = 1 << 20
"""The largest bundle, in octets, that shares a letter with other news. Players can make it as large as they like, and
a mail server that refuses it must not also keep the request for the next setup from its reader."""


@dataclass(eq=False, repr=False)
class MatchLetters:
    """Writes the letters of matches, for players and observers."""

    _writer: LetterWriter
    _files: Mapping[type[Play], PositionFiles]
    _composer: Composer
    _players: Players
    _people: People
    _archive: MatchRepository
    _mailboxes: ReplyTokens
    _beside: Callable[[Match, str], tuple[list[JsonObject], Facts]]
    """The items of a bulletin and the facts about its end that a tournament adds to one of its matches."""

    def tell(self, notices: Sequence[Notice], latest: Match, row: MatchRow, now: datetime) -> None:
        """Tell each seat's player of its notices in one letter; `latest` is the match after all of them."""
        letters: dict[int, list[tuple[str, OutgoingLetter]]] = {}
        for told in notices:
            notice = replace(told, match=seen_by(told.match, told.seat, latest))
            if (out := self._to_player(notice, latest, row, now)) is not None:
                letters.setdefault(notice.seat, []).append((notice.kind, out))
            if is_for_observers(notice, notices):
                public = replace(told, match=seen_by(told.match, 0, latest))
                subject = subject_of(public, observed=True)
                self._to_observers(public.match, row, subject, now, partial(self._observed, public, row))
        for seat, outs in letters.items():
            outs.sort(key=lambda out: ((spec := NOTICES[out[0]]).closes, not spec.says_why, not spec.leads))
            ends = any(NOTICES[kind].leads or NOTICES[kind].closes for kind, _ in outs)
            # If a game ended, do not also name what ended it: the letter about the end says enough.
            for kind, out in outs:
                out.named = not (ends and (kind == "turn" or NOTICES[kind].says_why))
            self._writer.post(row, seat, outs, latest, now)

    def _to_player(self, notice: Notice, latest: Match, row: MatchRow, now: datetime) -> OutgoingLetter | None:
        """The letter about a notice; None if there is nobody in the seat, or its player wants no such letters."""
        spec, player = NOTICES[notice.kind], self._players.by_name(row.of(notice.seat).player)
        if spec.of_player and hides_players(notice.match):
            return None
        if player is None or (spec.unasked and self._writer.setting(player.name, "reminders") == "off"):
            return None
        out = self.notice(notice, latest, row, self._writer.setting(player.name, "format"), now)
        out.mailing = mailing_lists.REMINDERS if spec.unasked else None
        if clock := notice.match.clocks.get(notice.seat):
            if spec.starts_clock:
                out.watch = (row.number, notice.seat, clock.since)
            if spec.unasked or spec.starts_clock:
                out.due = written(clock.deadline, clock.zone) if clock.deadline else ""
        return out

    def _observed(self, notice: Notice, row: MatchRow) -> TemplateText:
        """A notice for observers, from the public view; it never contains the facts that only its seat may know."""
        match = notice.match
        facts: Facts = {}
        if notice.kind == "turn":
            turn = notice.facts["turn"]
            facts = {"turn": turn, "reports": match.show(None, match.turns[turn - 1].reports)}
        elif notice.kind == "step":
            told = notice.facts["told"].reports
            facts = {"turns": [{"turn": turn, "reports": match.show(None, told[turn])} for turn in told]}
        elif notice.kind == "ended":
            ended = notice.facts["ended"]
            facts = {"ended": ended, "outcome": outcome_of_game(match, ended), "setups": match.play.setups(match)}
        elif notice.kind == "closed":
            facts = {"outcome": outcome_of_match(match)}
        facts |= {"kind": notice.kind, "view": match.view(None), "m": self.view(match, row)}
        return self._writer.template("letters/observed.txt", **facts)

    def tell_observers_press(self, match: Match, row: MatchRow, by: str, text: str, now: datetime) -> None:
        """Send observers press that its writer made public."""
        facts = {"kind": "press", "by": by, "text": text, "m": self.view(match, row)}
        write = partial(self._writer.template, "letters/observed.txt", **facts)
        self._to_observers(match, row, Phrase("{by} writes to all", by=by), now, write)

    def _to_observers(
        self, match: Match, row: MatchRow, subject: Phrase, now: datetime, write: Callable[[], TemplateText]
    ) -> None:
        observers = self._people.observers(row.number)
        if not observers:
            return
        out = OutgoingLetter(draft.subject_about(match.id, match.rules.title, subject), write())
        out.references = [self._writer.thread(match.id)]
        out.mailing = mailing_lists.of_observers(match.id)
        # Hundreds may observe, and the store is locked meanwhile: write each version of the letter only once.
        version = cache(partial(self._for_observers, out))
        for name in observers:
            player = self._players.by_name(name)
            if player is not None and not self._people.opted_out(player.address):
                wanted, language = self._writer.setting(name, "format"), self._writer.language_of(player)
                self._writer.send(player.address, version(wanted, language), now)

    def _for_observers(self, out: OutgoingLetter, wanted: str, language: str) -> WrittenLetter:
        assert isinstance(out.text, TemplateText)
        m: Any = out.text.facts["m"]
        facts = {**out.text.facts, "m": replace(m, in_words=wanted == "words")}
        return self._writer.written(replace(out, text=replace(out.text, facts=facts)), language)

    def files_of(self, match: Match) -> PositionFiles:
        """The files of matches of this mode."""
        return self._files[type(match.play)]

    def view(self, match: Match, row: MatchRow, seat: int = 0, latest: Match | None = None) -> LetterView:
        """The view of a match for a seat, or for readers without one: the `m` of the templates.

        Its head is that of `latest`, the match after all that the letter's batch brought.
        """
        match = seen_by(match, seat, latest)
        stands = msgspec.structs.asdict(self._stands(match, row, seat, self._composer.address, latest))
        if seat:
            stands["address"] = self._composer.sub_address(match.id)
        return LetterView(
            **stands,
            **(self._of_seat(match, row, seat) if seat else {}),
            server=match.server,
            key=self._archive.key,
            terms=match.terms,
            terms_signature=self._archive.vouch(match.id, match.rules_hash) if match.phase == "proposed" else "",
            options=dict(match.options.changed),
            levels={number: self._players.level(name) for number, name in enumerate(match.names, start=1)},
            owes={number: match.owes(number) for number in match.seats},
        )

    def _of_seat(self, match: Match, row: MatchRow, seat: int) -> Facts:
        """The facts that a view of a match has only for this seat."""
        own = self.own_key(match.name(seat), match.terms.keys)
        others = {other: match.name(other) for other in match.seats if other != seat}
        here = {other: name for other, name in others.items() if not name.startswith("?")}
        sent = match.submissions.get(seat)
        return own | {
            "brief": self._mailboxes.stand_for_place(match) and own["level"] == "mailbox",
            "in_words": self._writer.setting(match.name(seat), "format") == "words",
            "remains": match.playing is not None and seat in match.playing.remaining,
            "time": time_of(match, seat),
            "standing": sent if sent and sent.standing else None,
            "others": list(here.values()),
            "undecided": [name for other, name in here.items() if not row.of(other).accepted],
            "late": [name for other, name in others.items() if other in match.missed],
            "unreachable": [name for other, name in others.items() if other in match.unreachable],
        }

    def own_key(self, name: str, keys: str = "") -> Facts:
        """The level of a reader of a `LetterView`, and the format of the reader's key."""
        own = self._players.keys(name)
        way_to_sign = way(own[-1].format, own[-1].public) if own else "ssh"
        return {"level": self._players.level(name, keys), "format": way_to_sign}

    def _stands(self, match: Match, row: MatchRow, seat: int, address: str, latest: Match | None) -> MatchView:
        last = latest or match
        entry = self._archive.entry(row.number, last.seq) if last.seq else None
        return view(
            match,
            seat,
            accepted=row.of(seat).accepted if seat else True,
            programs=self._people.programs(match.names),
            head=TranscriptHead(last.seq, last.head, entry.signature.hex()) if entry else None,
            # The store's now: a letter may wait for a daily one.
            generation=self._composer.generation.number,
            address=address,
        )

    def notice(self, notice: Notice, latest: Match, row: MatchRow, wanted: str, now: datetime) -> OutgoingLetter:
        """The letter of a notice; `wanted` is the reader's setting `format`."""
        match, seat = notice.match, notice.seat
        out = self.thread(match, row, seat, subject_of(notice), latest)
        facts = {**notice.facts, **self._facts_of(notice, row, latest, out, now)}
        facts["m"] = self.view(match, row, seat, latest)
        if NOTICES[notice.kind].brings_deadline:
            out.attachments += self._appointment(match, seat, now)
        game = part_of(match.terms.game, "boards")
        facts.setdefault("boards", game.boards(facts["view"]) if game and facts.get("view") else None)
        out.text = self._writer.template(NOTICES[notice.kind].text, **facts)
        if wanted not in {"text", "words"} and NOTICES[notice.kind].html and game:
            self._show(notice, game, facts, wanted, out)
        return out

    def _facts_of(self, notice: Notice, row: MatchRow, latest: Match, out: OutgoingLetter, now: datetime) -> Facts:
        """The facts of a letter besides those of its notice; attaches its files."""
        match, seat, facts = notice.match, notice.seat, notice.facts
        if (own := self.files_of(match).facts_of(self, notice, row, out)) is not None:
            return own
        match notice.kind:
            case "begin":
                return self._position(match, row, seat, out)
            case "setup" | "resumed":
                return self._asked(match, row, seat, out)
            case "turn":
                return self._of_turn(notice, row, out)
            case "ended":
                return self._reveal(notice, latest, row, out, now)
            case "closed":
                return self._close(notice, latest, row, out, now)
            case "extended":
                return {"by": match.name(facts["by"]), "given": Span.of(facts["seconds"])}
            case "offer":
                answers = seat in agreeing(match, facts["agreement"])
                return {"by": match.name(facts["by"]), "some": facts["sharing"], "answers": answers}
            case "left":
                view = self.files_of(match).position(match, row, seat, out) if facts["asks"] else None
                return {"who": facts["seat"], "view": view}
            case "missed" | "vacation":
                return _of_missed(notice, latest)
        return self._of_seats(notice, row, out) if notice.kind in _OF_SEATS else {}

    def _show(self, notice: Notice, game: ModuleType, facts: Facts, wanted: str, out: OutgoingLetter) -> None:
        """Add the HTML part to a letter, with the boards that its reader may see."""
        match = notice.match
        facts["picture"] = None
        if match.position is not None:
            if facts["boards"] is None:
                facts["view"] = match.view(notice.seat)
                facts["boards"] = game.boards(facts["view"])
            facts["happened"] = game.happened(facts["reports"]) if facts.get("reports") else None
            drawn = drawings(facts["boards"])
            facts["shown"] = [board.words for board in drawn]
            if wanted == "pictures" or drawn:
                names = dict(enumerate(match.names, start=1))
                out.drawing = Drawing(facts["boards"], names, f"{match.id}-game-{match.game}-boards.png")
        out.html = self._writer.template(f"letters/{notice.kind}.html", **facts)

    def thread(
        self, match: Match, row: MatchRow, seat: int, subject: Phrase, latest: Match | None = None, kind: str = ""
    ) -> OutgoingLetter:
        """An empty letter in the thread of a match, whose present state is `latest`; its Reply-To names the match.

        For a player without a key, the Reply-To holds a token: it proves the mailbox, and only once.
        """
        keyless = self._players.level(match.name(seat)) == "mailbox"
        # Plain words in answer to a letter that talks are a message.
        talks = kind in NOTICES and NOTICES[kind].talks
        detail = self._mailboxes.detail_for(match, seat, talks=talks) if keyless else match.id
        reply_to = self._composer.reply_address(detail)
        out = OutgoingLetter(
            draft.subject_about(match.id, match.rules.title, subject),
            "",
            reply_to=reply_to,
            detail=detail if keyless else None,
            place=(row.number, *match.letter_place),
            references=[self._writer.thread(match.id)],
        )
        # For programs: the state of the match, and the proof that witnesses saw its head.
        now = seen_by(latest or match, seat)
        out.bulletin = [bulletin.of_match(self._stands(now, row, seat, reply_to, now))]
        if (logged := self._archive.logged(row.number)) is not None:
            out.bulletin.append(bulletin.of_log(*logged, {"match": match.id}))
        out.bulletin += self._beside(match, now.name(seat))[0]
        return out

    def about(
        self, match: Match, row: MatchRow, seat: int, subject: Phrase, template: str, /, **facts: object
    ) -> OutgoingLetter:
        """A letter in the thread of a match, from a template, which also gets the facts of the match."""
        out = self.thread(match, row, seat, subject, kind=template)
        m = self.view(match, row, seat)
        facts["has_places"] = bool(self._composer.delimiter)
        out.text = self._writer.template(f"letters/{template}.txt", m=m, **facts)
        if template in NOTICES and NOTICES[template].html and self._writer.shows(match.name(seat)):
            board = parts.pictured(match.rules)
            out.html = self._writer.template(f"letters/{template}.html", m=m, board=board, **facts)
        return out

    def _appointment(self, match: Match, seat: int, now: datetime) -> list[Attachment]:
        """The seat's deadline as a calendar file, when it has one."""
        deadline = match.clocks[seat].deadline if seat in match.clocks else None
        if deadline is None:
            return []
        asked = match.asks_for
        what = f"turn-{match.turn}" if "turn" in asked.facts else asked
        summary = _APPOINTMENT.given(title=match.rules.title, match=match.id, game=match.game, what=asked)
        address = self._composer.sub_address(match.id)
        language = self._writer.language_of(self._players.by_name(match.name(seat)))
        say = partial(self._writer.text, language=language)
        texts = say(summary), say(Phrase("To be sent to {address}", address=address))
        due = Appointment(match.server, match.id, match.game, what, seat, *texts, deadline, match.seq)
        return [attached(due, now)]

    def _position(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> Facts:
        """The facts for a seat about the beginning of a game: its view, also attached, and the commitments."""
        view = self.files_of(match).position(match, row, seat, out)
        return {"view": view, "commitments": match.play.commitments(match), "levels": match.play.levels(match)}

    def _asked(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> Facts:
        """Attach the files of what is due: earlier ones may tell what a restored server has forgotten."""
        if match.phase == "playing":
            self.files_of(match).position(match, row, seat, out)
        elif not match.begins_by_itself:
            self.files_of(match).setup(match, row, seat, out)
        return {}

    def _of_turn(self, notice: Notice, row: MatchRow, out: OutgoingLetter) -> Facts:
        """The facts for the report of a turn; attaches the reports as the file whose hash is in the transcript."""
        match, seat, facts = notice.match, notice.seat, notice.facts
        name = f"{match.id}-game-{match.game}-turn-{facts['turn']}"
        file = self.vouched(match, f"{name}.json", facts["file"])
        out.attachments.append((file["file_name"], "application/json", facts["file"]))
        taken_up, stand_in, played = facts["taken_up"], facts["stand_in"], None
        hidden = hides_players(match)
        levels = {one: level for one, level in facts["levels"].items() if one == seat or not hidden}
        # The server played default orders for this seat: the receipt proves which.
        if stand_in is not None:
            receipt, paper = f"{name}-default.receipt.txt", stand_in.paper.encode()
            out.attachments.append((receipt, "text/plain", paper))
            hashed = sha256_hex(paper)
            played = {"text": stand_in.text, "branch": branch_facts(match, stand_in), "file": receipt, "hash": hashed}
            played["signature"] = self._archive.vouch(match.id, hashed)
        view = self.files_of(match).position(match, row, seat, out, facts["reports"])
        return {
            "played": played,
            "levels": levels,
            "others_by_default": [match.name(other) for other in facts["by_default"] if other != seat],
            "unused": [escaped(fault) for fault in taken_up.faults] if taken_up else [],
            "branch": branch_facts(match, taken_up.submission) if taken_up else None,
            "later": sorted(turn for (owner, turn), kept in match.stored.items() if owner == seat and kept.standing),
            "view": view,
            "over": is_over(match),
            **file,
        }

    def vouched(self, match: Match, name: str, content: bytes) -> dict[str, str]:
        """The name and hash of an attached file, and the server's signature of the hash."""
        hashed = sha256_hex(content)
        return {"file_name": name, "file_hash": hashed, "file_signature": self._archive.vouch(match.id, hashed)}

    def _of_seats(self, notice: Notice, row: MatchRow, out: OutgoingLetter) -> Facts:
        """The facts about a seat that gets another player: for the newcomer, its setup and all that it knows."""
        match, seat, facts = notice.match, notice.seat, notice.facts
        if notice.kind == "substitute":
            told = {"by": match.name(facts["by"]), "leaver": match.name(facts["seat"]), "gone": facts["seat"]}
            return told | {"program": self._people.is_program(facts["name"])}
        if notice.kind == "substituted":
            return {"who": match.name(facts["seat"]), "keys": match.players[facts["seat"] - 1].keys}
        if match.phase != "playing":
            return {"setup": None, "file_name": ""}
        opening: Facts = {"file_name": ""}
        # Some games have none. It names who sent it: at a hidden seat, the player who left.
        if (submission := match.setups.get(seat)) and not hides_players(match):
            name, paper = f"{match.id}-game-{match.game}-seat-{seat}.opening.txt", submission.paper.encode()
            out.attachments.append((name, "text/plain", paper))
            opening = self.vouched(match, name, paper)
        return {"setup": match.setup_text(seat), **self._position(match, row, seat, out), **opening}

    def _reveal(self, notice: Notice, latest: Match, row: MatchRow, out: OutgoingLetter, now: datetime) -> Facts:
        match, seat = notice.match, notice.seat
        game = part_of(match.terms.game, "boards")
        truth, view = match.play.truth(match), match.view(seat)
        name = f"{match.id}-game-{match.game}.pbem.zip"
        bundled = not hides_players(latest)
        return {
            "apart": bundled and self._bring_bundle(name, notice, latest, row, out, now),
            "outcome": outcome_of_game(match, notice.facts["ended"]),
            "setups": match.play.setups(match),
            "levels": match.play.levels(match),
            "bundle_name": name if bundled else None,
            "truth": truth,
            "view": view,
            "boards": None if game is None else game.truth(truth, seat) if truth else game.boards(view or {}),
        }

    def _close(self, notice: Notice, latest: Match, row: MatchRow, out: OutgoingLetter, now: datetime) -> Facts:
        """The facts about the end of a match; attaches the bundle if no game ended, since no other letter does."""
        match, name = notice.match, None
        if len(match.games) < match.game:
            name = f"{match.id}.pbem.zip"
            self._bring_bundle(name, notice, latest, row, out, now)
        rematch = None
        if match.terms.proposed:
            rev = self._players.handled_count(match.name(notice.seat)) + 1
            rematch = {"lines": rematch_of(match, notice.seat), "rev": rev}
        facts = {"outcome": outcome_of_match(match), "rematch": rematch, "address": self._composer.address}
        return facts | {"bundle_name": name} | self._beside(match, match.name(notice.seat))[1]

    def _bring_bundle(
        self, name: str, notice: Notice, latest: Match, row: MatchRow, out: OutgoingLetter, now: datetime
    ) -> bool:
        """Attach the bundle, or post a large one in a letter of its own and return True."""
        content = self._archive.bundle(notice.match, row)
        own_letter = self.proof(notice.match, row, notice.seat, latest, (name, content))
        if own_letter is None:
            out.attachments.append((name, "application/zip", content))
        else:
            # Before the letter about the end: if this one bounces, the later one still proves that mail arrives.
            self._writer.post_alone(row, notice.seat, own_letter, now)
        return own_letter is not None

    def proof(
        self, match: Match, row: MatchRow, seat: int, latest: Match, bundle: tuple[str, bytes]
    ) -> OutgoingLetter | None:
        """A separate letter for a large bundle, or about one that no letter can bring; None for a small one."""
        name, content = bundle
        if len(content) <= _BESIDE:
            return None
        out = self.thread(match, row, seat, _PROOF.given(game=match.game), latest)
        fits = len(content) <= self._writer.room_for(match.name(seat))
        if fits:
            out.attachments.append((name, "application/zip", content))
        m = self.view(match, row, seat, latest)
        out.text = self._writer.template("letters/bundle.txt", m=m, bundle_name=name, fits=fits)
        return out

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
                continue  # of turns that only the reveal of a sealed game shows, nobody got a report
            name = f"{match.id}-game-{game}-turn-{turn}.json"
            out.attachments.append((name, "application/json", file))
            reports = json.loads(file)["reports"]
            again.append({"turn": turn, "reports": reports, "file": name, "hash": sha256_hex(file)})
        m = self.view(match, row, seat)
        out.text = self._writer.template("letters/again.txt", m=m, game=game, again=again)
        return out if again else None


def _of_missed(notice: Notice, latest: Match) -> Facts:
    """The facts about a seat that was late; only its own player learns its default orders."""
    match, seat = notice.match, notice.seat
    who = notice.facts["seat"]
    own = notice.kind == "missed" and who == seat and match.terms.miss == "default"
    return {
        "who": who,
        "moved_on": stage_of(latest) != stage_of(match),
        "default": stored_orders.default(match, seat) if own else None,
        "faults": [escaped(fault) for fault in stored_orders.faults_of_default(match, seat)] if own else [],
    }
