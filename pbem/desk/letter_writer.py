"""The way of a letter into the outbox: put into words, drawn, composed, and held for a digest where that is wanted.

What a letter says was decided before, and its wording is in `templates/`. Nothing here knows what may be said of a
match: see `match_letters`. Implements protocol.md, "Addresses and threads".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pbem.boards.picture import draw
from pbem.boards.sheet import sheet
from pbem.desk import bulletin
from pbem.desk.daily_limits import NOTIFICATION, DailyCounts, DailyLimit
from pbem.games import GAMES, part_of
from pbem.identity import Key, encryption
from pbem.letters import draft
from pbem.letters.digest import MOST, can_wait, joined, next_digest, pack, together, unpack
from pbem.letters.draft import Composing, Facts, OutgoingLetter, TemplateText
from pbem.letters.render import visible
from pbem.mail.commands import SETTINGS
from pbem.mail.compose import LETTER, Attachment, Composer, Encrypting
from pbem.mail.marks import asked_for
from pbem.match.changed import replace
from pbem.match.seat_clock import zone_named
from pbem.match.transcript import canonical, sha256_hex
from pbem.pages import Home, composer, fragment, page_file
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.config.server import Config
    from pbem.desk.match_archive import MatchRepository
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.games.squares import Board
    from pbem.letters.draft import Enclosed
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.store.matches import MatchRow
    from pbem.store.outbox import DigestQueue, Outbox
    from pbem.store.players import PlayerRow, Players
    from pbem.store.questions import Notifications

_CUT = Phrase("This answer became too long, and the rest is left out: ask for it in separate letters.")
_LEFT_OUT = Phrase("Not attached, because this letter became too long: {names}. Ask for them in separate letters.")


@dataclass(eq=False, repr=False)
class LetterWriter:
    """Writes the letters of a server; its randomness makes Message-IDs that reveal nothing.

    Without their own return paths, letters carry the same secret in a header, which bounces quote.
    """

    _config: Config
    _composer: Composer
    _outbox: Outbox
    _players: Players
    _archive: MatchRepository
    _random: Callable[[int], bytes]
    _digest: Callable[[bytes], str]
    _mailboxes: ReplyTokens
    _held: DigestQueue
    _notifications: Notifications
    _counts: DailyCounts
    _blank: dict[tuple[str, str], bytes] = field(default_factory=dict)
    _pages_written: dict[tuple[str, str], str] = field(default_factory=dict)

    def draft(self, template: str, /, **facts: Any) -> TemplateText:
        """A template with its facts, to be rendered later."""
        return TemplateText(template, {"server": self._composer.server, "operator": self._config.operator, **facts})

    def write(self, draft: TemplateText | str, language: str) -> str:
        """The text of a draft or a phrase in a language."""
        templates = self._composer.templates.of(language)
        if not isinstance(draft, TemplateText):
            return templates.say(draft)
        if draft.template.removesuffix("/rules.txt") not in GAMES:  # those say the same to everybody
            return templates.render(draft.template, **draft.facts)
        if (page := self._pages_written.get((draft.template, language))) is None:
            page = self._pages_written[draft.template, language] = templates.render(draft.template, **draft.facts)
        return page

    def setting(self, player: str, name: str) -> str:
        """The choice of the player of this name, or the default."""
        return self._players.setting(player, name, SETTINGS[name][0])

    def _mark(self, token: str) -> str:
        """The keyed mark of a Message-ID: nobody without the key can make another letter look like ours."""
        return self._digest(f"Message-ID {token}".encode())[:12]

    def is_own(self, letter: Letter) -> bool:
        """True if this is a letter of ours that came round."""
        local, _, host = (letter.message_id or "").strip("<>").lower().rpartition("@")
        mark, _, token = local.partition(".")
        return host == self._composer.server and mark == self._mark(token)

    def language_of(self, player: PlayerRow | None, letter: Letter | None = None) -> str:
        """The language that a player chose; otherwise the one that a letter asks for, or the server's own."""
        chosen = self._players.setting(player.name, "language", "") if player else ""
        return chosen or (letter and asked_for(letter)) or self._config.language

    def send(self, address: str, out: OutgoingLetter, now: datetime) -> str:
        """Put a letter into the outbox, with its bytes and its Message-ID fixed for ever; its Message-ID.

        For a player without a key, it has a Reply-To that is good for one letter. For one who wants encrypted
        letters, it is encrypted, or a letter without any of its contents goes in its place.
        """
        player = self._players.by_address(address)
        language = out.language or self.language_of(player)
        if player is not None and player.level == "mailbox" and not out.asks:
            out.detail = out.detail or self._mailboxes.draw()
            out.reply_to = self._composer.reply_address(out.detail)
            self._mailboxes.give(out.detail, player, out.place, now)
        message_id, reply_to = self._composer.answerable(out.reply_to, self._random(16).hex(), self._mark)
        leave_to = None
        if player and out.mailing and self._composer.delimiter:  # without sub-addresses, one click can carry no token
            leave_to = self._mailboxes.ask("write", address, player.name, now)
        if out.bulletin and out.reply_to and not out.asks and (player is None or player.level == "mailbox"):
            where = reply_to or self._composer.address
            out = replace(out, bulletin=[*out.bulletin, bulletin.of_reply(where, message_id, out.place)])
        made = self._rendered(out, language)
        encrypting = None
        if player is not None and not out.open and self.setting(player.name, "encrypted") == "yes":
            made, encrypting = self._encrypted(made, keys_of(player), language, now)
        attachments = [(name, kind, _content(content)) for name, kind, content in made.attachments]
        raw = self._composer.compose(
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
            returns="" if self._config.return_paths else self._outbox.return_token(address, message_id),
            encrypting=encrypting,
        )
        self._outbox.put(address, message_id, raw, now)
        return message_id

    def tell_operator(
        self,
        limit: DailyLimit,
        now: datetime,
        subject: Phrase,
        facts: Facts,
        *,
        about: Sequence[str] = (),
        attached: Sequence[Enclosed] = (),
    ) -> bool:
        """Write to the operator, if there is one and this is not too much today; returns True if it was written.

        The letter's fact `last_today` says that no more such letters follow today.
        """
        left = self._counts.left(limit, now, *about) if self._config.operator else -1
        if left >= 0:
            text = self.draft(f"letters/{limit.template}.txt", last_today=left == 0, **facts)
            self.send(self._config.operator, OutgoingLetter(subject, text, attachments=[*attached]), now)
        return left >= 0

    def _encrypted(
        self, made: OutgoingLetter, keys: Sequence[Key], language: str, now: datetime
    ) -> tuple[OutgoingLetter, Encrypting | None]:
        """A letter and how it is encrypted; if no key can decrypt it, the letter without contents in its place."""
        about = draft.subject_outside(made.subject)
        if not (can := encryption.usable(keys, now)):
            # It goes in place of one that cannot be encrypted, and holds nothing of it.
            faults = [(key, encryption.fault(key, now)) for key in keys]
            text = self.write(self.draft("letters/held_back.txt", faults=faults), language)
            subject = self.write(Phrase("{about} A letter that cannot be encrypted", about=about), language)
            held = replace(made, subject=subject, text=text, html=None, pictures=[], attachments=[], bulletin=[])
            return held, None
        cover = self.write(self.draft("letters/encrypted.txt", file=LETTER), language)
        return made, Encrypting(about, cover, partial(encryption.encrypt, can))

    def _bulletin(self, address: str, made: OutgoingLetter, files: Sequence[Attachment], now: datetime) -> bytes:
        """A letter's signed bulletin; nothing if there is nothing to say."""
        if not made.bulletin:
            return b""
        server, key = (self._composer.server, self._composer.generation), self._archive.key
        document = bulletin.unsigned(*server, address, now, made.bulletin, files, key)
        return canonical(document | {"signature": self._archive.announce(sha256_hex(canonical(document)))})

    def _rendered(self, out: OutgoingLetter, language: str) -> OutgoingLetter:
        """A letter with its words, its picture and its files, in a language."""
        if out.parts:
            parts = [self._rendered(part, language) for part in out.parts]

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
        said = say(out.subject) if out.in_reply_to else draft.subject_fitting(out.subject, say)
        text = self.write(out.text, language)
        enclosed, left_out = _fitting(out.room, text, out.attachments)
        if out.room is not None and len(text) > out.room:
            text = text[: out.room].rpartition("\n")[0] + "\n...\n\n" + self.write(_CUT, language) + "\n"
        if left_out:
            text += "\n" + self.write(_LEFT_OUT.given(names=", ".join(left_out)), language) + "\n"
        return replace(
            out,
            subject=said,
            text=text,
            html=self.write(html, language) if html else None,
            due=say(out.due) if out.due is not None else None,
            drawing=None,
            pictures=pictures,
            attachments=enclosed,
        )

    def _with_composing(self, out: OutgoingLetter, told: Composing, language: str) -> OutgoingLetter:
        """A letter with the composer's data, as a file and, if the pages are served, as a link."""
        words = {name: self.write(text, language).strip("\n") for name, text in told.words.items()}
        content = {**told.content, **words}
        link = f"{told.pages}{page_file(told.game, language)}#{fragment(content)}" if told.pages else ""
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
            boards = part_of(game, "boards")
            assert boards is not None
            known = self.sheet(title, boards.blank(), self.draft(f"{game}/sheet.txt", m=None), language)
            self._blank[game, language] = known
        return known

    def post(
        self, row: MatchRow, seat: int, outs: Sequence[tuple[str, OutgoingLetter]], match: Match, now: datetime
    ) -> None:
        """Send a seat letters, each with its kind, as one: at once, or with the next digest if all can wait."""
        player = self._players.by_name(row.of(seat).player)
        if player is None:
            return
        if self.setting(player.name, "mail") == "digest":
            due = self._digest_of(player, now)
            if all(can_wait(kind, match, seat, due) for kind, _ in outs):
                self.hold(player, row.number, [out for _, out in outs], now)
                return
        # Waiting news about the same match comes along: no player must read of the end before the turn.
        waiting = [unpack(held.content) for held in self._held.take(player.name, row.number)]
        self._send_together(player, [*waiting, *(out for _, out in outs)], now)

    def _digest_of(self, player: PlayerRow, now: datetime) -> datetime:
        """The time at which the player's next digest goes."""
        return next_digest(now, zone_named(self._players.setting(player.name, "timezone", "UTC")) or "UTC")

    def hold(self, player: PlayerRow, match: int, outs: Sequence[OutgoingLetter], now: datetime) -> None:
        """Put letters about a match (0: about none) into the player's next digest."""
        language, due = self.language_of(player), self._digest_of(player, now)
        for out in outs:
            self._held.hold(player.name, match, pack(self._rendered(out, language)), due)

    def thread(self, about: str) -> str:
        """The Message-ID to which all letters about a match or a tournament refer."""
        return self._composer.message_id(f"{about}.thread")

    def post_alone(self, row: MatchRow, seat: int, out: OutgoingLetter, now: datetime) -> None:
        """Send a seat a letter at once, with no other."""
        player = self._players.by_name(row.of(seat).player)
        if player is not None:
            self.send(player.address, out, now)

    def send_digest(self, now: datetime) -> None:
        """Send the first digest that is due; to a player without a key, one for each match, for its reply address."""
        player = self._players.by_name(self._held.due(now)[0])
        assert player is not None
        matches: dict[int, list[OutgoingLetter]] = {}
        for row in self._held.take(player.name):
            matches.setdefault(row.match if player.level == "mailbox" else 0, []).append(unpack(row.content))
        for outs in matches.values():
            self._send_together(player, outs, now, digest=True)

    def _send_together(
        self, player: PlayerRow, outs: list[OutgoingLetter], now: datetime, *, digest: bool = False
    ) -> None:
        for first in range(0, len(outs), MOST):
            some = outs[first : first + MOST]
            one = joined(some, digest=digest)
            if digest:
                one.mailing = draft.DIGESTS
            for out in some:
                if out is not one and out.detail and out.detail != one.detail:
                    self._mailboxes.give(out.detail, player, out.place, now)
            message_id = self.send(player.address, one, now)
            # If a letter has several turns of a match, watch it for the last one.
            for (match, seat), asked in {out.watch[:2]: out.watch[2] for out in some if out.watch}.items():
                self._outbox.watch(message_id, match, seat, asked)
            if dues := {out.place: out.due for out in some if out.due is not None}:
                self._notify(player, list(dues.values()), now)

    def _notify(self, player: PlayerRow, deadlines: Sequence[str], now: datetime) -> None:
        """Tell the player's topic beside the mail, if there is one, that something is due: no word of any match."""
        if not self._notifications.is_confirmed(player.name) or self._counts.left(NOTIFICATION, now, player.name) < 0:
            return
        deadline = deadlines[0] if len(deadlines) == 1 else ""
        text = self.write(self.draft("letters/notification.txt", deadline=deadline), self.language_of(player))
        self._notifications.tell(player.name, text.strip(), now)


def keys_of(player: PlayerRow) -> list[Key]:
    """The player's valid keys, as those to which letters can be encrypted."""
    return [Key(row.format, row.fingerprint, row.public) for row in player.keys]


def _fitting(room: int | None, text: str, enclosed: Sequence[Enclosed]) -> tuple[list[Enclosed], list[str]]:
    """The files for which there is room beside a text, and the names of the others, which are not even made.

    Files for programs need no room: a program stands still without one, and opponents can make them long.
    """
    kept: list[Enclosed] = []
    left_out: list[str] = []
    left = (room or 0) - len(text)
    for name, kind, content in enclosed:
        free = room is None or bulletin.is_for_programs(name, kind)
        if free or not left_out:
            made = _content(content)
            left -= 0 if free else len(made)
            if free or left >= 0:
                kept.append((name, kind, made))
                continue
        left_out.append(name)
    return kept, left_out


def _content(content: bytes | Callable[[], bytes]) -> bytes:
    return content if isinstance(content, bytes) else content()
