"""The way of a letter into the outbox: put into words, drawn, composed, and held for a digest where that is wanted.

What a letter says was decided before, and its wording is in `templates/`. Nothing here knows what may be said of a
match: see `match_letters`. Implements protocol.md, "Addresses and threads".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from pbem.boards.picture import draw, sheet
from pbem.desk import bulletin
from pbem.desk.daily_limits import NOTIFICATION, DailyCounts, DailyLimit
from pbem.games import part_of
from pbem.identity import Key, encryption
from pbem.letters import draft, mailing_lists
from pbem.letters.digest import MOST, can_wait, framed_html, framed_text, joined, next_digest
from pbem.letters.draft import Composing, Facts, LetterSection, OutgoingLetter, Posted, TemplateText, WrittenLetter
from pbem.letters.render import InWords
from pbem.letters.safe_text import visible
from pbem.mail.commands import SETTINGS
from pbem.mail.compose import LETTER, Composer, Content, Encrypting
from pbem.mail.marks import asked_for
from pbem.match.seat_clock import zone_named
from pbem.match.transcript import canonical, dumped, sha256_hex
from pbem.pages import Home, composer, fragment, page_file
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from pbem.boards.drawn import DrawnBoard
    from pbem.config.server import Config
    from pbem.desk.match_archive import MatchRepository
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.games.squares import Board
    from pbem.letters.draft import Enclosed
    from pbem.mail.compose import Attachment
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.store.matches import MatchRow
    from pbem.store.outbox import DigestQueue, Outbox
    from pbem.store.players import KeyRow, PlayerRow, Players
    from pbem.store.questions import Notifications

_CUT = Phrase("This answer became too long, and the rest is left out: ask for it in separate letters.")
_LEFT_OUT = Phrase("Not attached, because this letter became too long: {names}. Ask for them in separate letters.")

_WAITING = msgspec.json.Decoder(WrittenLetter)

_ROOM = 6 * 1024 * 1024
"""The largest bundle, in octets, that is mailed: mail servers accept ten million, and base64 adds a third.

Players can make a bundle larger, because it holds their letters.
"""


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

    def template(self, template: str, /, **facts: Any) -> TemplateText:
        """A template with its facts, to be rendered later."""
        names = {"server": self._composer.server, "address": self._composer.address}
        return TemplateText(template, {**names, "operator": self._config.operator, **facts})

    def rendered(self, draft: TemplateText | str, language: str) -> InWords:
        """A draft or a phrase in a language, for a letter."""
        templates = self._composer.templates.of(language)
        if isinstance(draft, TemplateText):
            return templates.words(draft.template, **draft.facts)
        return InWords(templates.say(draft))

    def text(self, draft: TemplateText | str, language: str) -> str:
        """The text of a draft or a phrase in a language."""
        return self.rendered(draft, language).text

    def setting(self, player: str, name: str) -> str:
        """The choice of the player of this name, or the default."""
        return self._players.setting(player, name, SETTINGS[name][0])

    def shows(self, player: str) -> bool:
        """True if the player of this name wants HTML parts."""
        return self.setting(player, "format") not in {"text", "words"}

    def room_for(self, player: str) -> int:
        """The largest bundle, in octets, that is mailed to this player."""
        # What is encrypted is in base64 a second time.
        return _ROOM * 3 // 4 if self.setting(player, "encrypted") == "yes" else _ROOM

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

    def send(self, address: str, out: OutgoingLetter | WrittenLetter, now: datetime) -> str:
        """Put a letter into the outbox, with its bytes and its Message-ID fixed for ever; its Message-ID.

        For a player without a key, it has a Reply-To that is good for one letter. For one who wants encrypted
        letters, it is encrypted, or a letter without any of its contents goes in its place.
        """
        player = self._players.by_address(address)
        language = out.language or self.language_of(player)
        letter = self.written(out, language) if isinstance(out, OutgoingLetter) else replace(out)
        message_id, reply_to = self._addressed(letter, player, now)
        mailing = None
        # Without sub-addresses, one click can carry no token.
        if player and letter.mailing and self._composer.delimiter:
            mailing = (letter.mailing, self._mailboxes.ask("write", address, player.name, now))
        encrypting = None
        if player is not None and not letter.open and self.setting(player.name, "encrypted") == "yes":
            letter, encrypting = self._encrypted(letter, keys_of(player.keys), language, now)
        page = framed_html(letter)
        raw = self._composer.compose(
            address,
            self.text(letter.subject, language),
            Content(
                visible(framed_text(letter.sections)),
                visible(self.text(self.template("letters/together.html", **page), language)) if page else None,
                letter.pictures,
                letter.attachments,
            ),
            message_id=message_id,
            date=now,
            reply_to=reply_to,
            in_reply_to=letter.in_reply_to,
            references=letter.references,
            mailing=mailing,
            bulletin=self._bulletin(address, letter, now),
            returns="" if self._config.return_paths else self._outbox.return_token(address, message_id),
            encrypting=encrypting,
        )
        self._outbox.put(address, message_id, raw, now)
        return message_id

    def _addressed(self, letter: WrittenLetter, player: PlayerRow | None, now: datetime) -> tuple[str, str | None]:
        """A letter's Message-ID and Reply-To; tells programs without a key where they can answer it once."""
        keyless = player is None or player.keyless
        if player is not None and keyless and not letter.asks:
            letter.detail = letter.detail or self._mailboxes.draw()
            letter.reply_to = self._composer.reply_address(letter.detail)
            self._mailboxes.give(letter.detail, player, letter.place, now)
        message_id, reply_to = self._composer.answerable(letter.reply_to, self._random(16).hex(), self._mark)
        if letter.bulletin and letter.reply_to and keyless and not letter.asks:
            item = bulletin.of_reply(reply_to or self._composer.address, message_id, letter.place)
            letter.bulletin = [*letter.bulletin, item]
        return message_id, reply_to

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
            text = self.template(f"letters/{limit.template}.txt", last_today=left == 0, **facts)
            self.send(self._config.operator, OutgoingLetter(subject, text, attachments=[*attached]), now)
        return left >= 0

    def _encrypted(
        self, letter: WrittenLetter, keys: Sequence[Key], language: str, now: datetime
    ) -> tuple[WrittenLetter, Encrypting | None]:
        """A letter and how it is encrypted; if no key can decrypt it, the letter without contents in its place."""
        about = draft.subject_outside(letter.subject)
        if not (can := encryption.usable(keys, now)):
            # It goes in place of one that cannot be encrypted, and holds nothing of it.
            faults = [(key, encryption.fault(key, now)) for key in keys]
            told = [LetterSection(self.rendered(self.template("letters/held_back.txt", faults=faults), language))]
            subject = Phrase("{about} A letter that cannot be encrypted", about=about)
            return replace(letter, subject=subject, sections=told, pictures=[], attachments=[], bulletin=[]), None
        cover = self.text(self.template("letters/encrypted.txt", file=LETTER), language)
        return letter, Encrypting(about, cover, partial(encryption.encrypt, can))

    def _bulletin(self, address: str, letter: WrittenLetter, now: datetime) -> bytes:
        """A letter's signed bulletin; nothing if there is nothing to say."""
        if not letter.bulletin:
            return b""
        server, key = (self._composer.server, self._composer.generation), self._archive.key
        document = bulletin.unsigned(*server, address, now, letter.bulletin, letter.attachments, key)
        return dumped(document | {"signature": self._archive.announce(sha256_hex(canonical(document)))})

    def written(self, out: OutgoingLetter, language: str) -> WrittenLetter:
        """A letter with its words, its picture and its files, in a language."""
        if out.composing is not None:
            out = self._with_composing(out, out.composing, language)
        html, pictures = out.html, out.pictures
        if out.drawing is not None and html is not None:
            content = draw(out.drawing.boards, out.drawing.names)
            content_id = f"{sha256_hex(content)[:32]}@{self._composer.server}"
            pictures = [*pictures, (content_id, out.drawing.file_name, content)]
            html = replace(html, facts={**html.facts, "picture": content_id})
        say = partial(self.text, language=language)
        words = self.rendered(out.text, language)
        text = words.text
        enclosed, left_out = _fitting(out.room, text, out.attachments)
        if out.room is not None and len(text) > out.room:
            text = text[: out.room].rpartition("\n")[0] + "\n...\n\n" + say(_CUT) + "\n"
        if left_out:
            text += "\n" + say(_LEFT_OUT.given(names=", ".join(left_out))) + "\n"
        posted = {name: getattr(out, name) for name in Posted.__struct_fields__} | {
            "language": language,
            "pictures": pictures,
            "due": say(out.due) if out.due is not None else None,
        }
        return WrittenLetter(
            # An answer has the subject of what it answers, or mail programs see no thread.
            say(out.subject) if out.in_reply_to else draft.subject_fitting(out.subject, say),
            [LetterSection(replace(words, text=text), self.rendered(html, language) if html else None)],
            enclosed,
            **posted,
        )

    def _with_composing(self, out: OutgoingLetter, told: Composing, language: str) -> OutgoingLetter:
        """A letter with the composer's data, as a file and, if the pages are served, as a link."""
        words = {name: self.text(text, language).strip("\n") for name, text in told.words.items()}
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

    def sheet(self, title: str, boards: Sequence[Board | DrawnBoard], words: TemplateText, language: str) -> bytes:
        """A record sheet as a PDF."""
        return sheet(title, boards, self.text(words, language))

    def blank_sheet(self, game: str, title: str, language: str) -> bytes:
        """The empty sheet of a game that has boards, drawn once."""
        if (known := self._blank.get((game, language))) is None:
            boards = part_of(game, "boards")
            known = self.sheet(title, boards.blank(), self.template(f"{game}/sheet.txt", m=None), language)
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
        waiting = [_WAITING.decode(held.content) for held in self._held.take(player.name, row.number)]
        language = self.language_of(player)
        self._send_together(player, [*waiting, *(self.written(out, language) for _, out in outs)], now)

    def _digest_of(self, player: PlayerRow, now: datetime) -> datetime:
        """The time at which the player's next digest goes."""
        return next_digest(now, zone_named(self._players.setting(player.name, "timezone", "UTC")) or "UTC")

    def hold(self, player: PlayerRow, match: int, outs: Sequence[OutgoingLetter], now: datetime) -> None:
        """Put letters about a match (0: about none) into the player's next digest."""
        language, due = self.language_of(player), self._digest_of(player, now)
        for out in outs:
            self._held.hold(player.name, match, msgspec.json.encode(self.written(out, language)), due)

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
        player = self._players.known(self._held.players_due(now)[0])
        matches: dict[int, list[WrittenLetter]] = {}
        for row in self._held.take(player.name):
            about = row.match if player.keyless else 0
            matches.setdefault(about, []).append(_WAITING.decode(row.content))
        for outs in matches.values():
            self._send_together(player, outs, now, digest=True)

    def _send_together(
        self, player: PlayerRow, letters: Sequence[WrittenLetter], now: datetime, *, digest: bool = False
    ) -> None:
        for first in range(0, len(letters), MOST):
            some = letters[first : first + MOST]
            one = joined(some)
            if digest:
                one.mailing = mailing_lists.DIGESTS
                if len(some) > 1:
                    preface = self.template("letters/digest.txt", subjects=[letter.subject for letter in some])
                    one.sections.insert(0, LetterSection(self.rendered(preface, self.language_of(player))))
            for letter in some:
                if letter is not one and letter.detail and letter.detail != one.detail:
                    self._mailboxes.give(letter.detail, player, letter.place, now)
            message_id = self.send(player.address, one, now)
            # If a letter has several turns of a match, watch it for the last one.
            for (match, seat), asked in {
                letter.watch[:2]: letter.watch[2] for letter in some if letter.watch
            }.items():
                self._outbox.watch(message_id, match, seat, asked)
            if dues := {letter.place: letter.due for letter in some if letter.due is not None}:
                self._notify(player, list(dues.values()), now)

    def _notify(self, player: PlayerRow, deadlines: Sequence[str], now: datetime) -> None:
        """Tell the player's topic beside the mail, if there is one, that something is due: no word of any match."""
        if not self._notifications.is_confirmed(player.name) or self._counts.left(NOTIFICATION, now, player.name) < 0:
            return
        deadline = deadlines[0] if len(deadlines) == 1 else ""
        text = self.text(self.template("letters/notification.txt", deadline=deadline), self.language_of(player))
        self._notifications.tell(player.name, text.strip(), now)


def keys_of(rows: Iterable[KeyRow]) -> list[Key]:
    """The keys in these rows, which letters are signed with, or encrypted to."""
    return [Key(row.format, row.fingerprint, row.public) for row in rows]


def _fitting(room: int | None, text: str, enclosed: Sequence[Enclosed]) -> tuple[list[Attachment], list[str]]:
    """The files for which there is room beside a text, and the names of the others, which are not even made.

    Files for programs need no room: a program stands still without one, and opponents can make them long.
    """
    kept: list[Attachment] = []
    left_out: list[str] = []
    left = (room or 0) - len(text)
    for name, kind, content in enclosed:
        free = room is None or bulletin.is_for_programs(name, kind)
        if free or not left_out:
            made = content if isinstance(content, bytes) else content()
            left -= 0 if free else len(made)
            if free or left >= 0:
                kept.append((name, kind, made))
                continue
        left_out.append(name)
    return kept, left_out
