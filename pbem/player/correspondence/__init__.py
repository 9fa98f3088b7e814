"""A player's correspondence with one server: letters come in, are checked, and say how matches stand; forms go out.

Here are the forms by which a player acts in matches; `registration` has those of the account. Sans-IO: bytes in,
events out; time, randomness and the signer are handed in. Implements docs/attachments.md, from the reader's side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.failpoints import passing
from pbem.mail.commands import COMMANDS
from pbem.mail.commands.sections import written as written_sections
from pbem.match.transcript import written
from pbem.player import forms
from pbem.player.correspondence.incoming import LetterInbox
from pbem.player.correspondence.judge import Judge
from pbem.player.correspondence.outgoing import FormOutbox
from pbem.player.correspondence.registration import Registration
from pbem.player.correspondence.standings import PHASES, Impossible, OwnMatches, due, named, place_of
from pbem.player.known import MatchKnown
from pbem.player.memory import may_repeat
from pbem.requests import DEFAULT, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.match.view import MatchView
    from pbem.player.account_file import Account
    from pbem.player.memory import Memory, SentForm


POINTS = ("letter taken in", "form signed", "form kept", "letter sent", "sending noted")
"""The points at which a player's program may be stopped dead without harm; tests stop it there."""


class Correspondence:
    """The letters of one player and one server.

    `sign` makes an armoured signature of a text for a namespace; None: a player without a key, whose letters go to
    the reply addresses of the server's letters. `random` returns octets; `failpoint` is called at each of `POINTS`.
    """

    def __init__(
        self,
        account: Account,
        memory: Memory,
        sign: Callable[[bytes, str], str] | None,
        random: Callable[[int], bytes],
        failpoint: Failpoints = passing,
    ) -> None:
        self.account = account
        self.memory = memory
        self.inbox = LetterInbox(account, memory, failpoint)
        self.matches = OwnMatches(account, memory)
        self.judge = Judge(self.matches)
        self.outbox = FormOutbox(account, memory, sign, random, failpoint)
        self.registration = Registration(account, memory, self.outbox, random)

    def order(
        self, match: str, text: str, now: datetime, *, final: bool = False, turn: int | None = None
    ) -> SentForm:
        """Prepare orders for the turn that is due: signed, and on the disk. The same again is the same letter.

        `turn`: a later one, or `DEFAULT`; what is signed then is what was written. Raises `Refused`, `Impossible`.
        """
        standing = self.matches.standing(match)
        if turn is None:
            turn, text = standing.turn, self.judge.orders(match, text).text
        else:
            self.judge.ahead(match, turn, text)
        # An empty form counts as a question, unless it says that it is final.
        final = final or not text.strip()
        head = f"orders {match} {named(turn)}"
        return self._stand(standing, place_of(standing, turn), head, text, now, final=final)

    def set_up(self, match: str, text: str, now: datetime) -> SentForm:
        """Prepare the setup that is due, in the same way."""
        judged = self.judge.setup(match, text)
        standing = self.matches.standing(match)
        command, place = due(standing)
        return self._stand(standing, place, f"{command} {match} {place}", judged.text, now)

    def _stand(
        self, standing: MatchView, place: str, head: str, text: str, now: datetime, *, final: bool = False
    ) -> SentForm:
        """Prepare a form that counts until a higher revision replaces it."""
        match, command = standing.match, head.split(maxsplit=1)[0]
        rev = self._next_rev(command, standing, place)
        for sent in filter(None, (self.matches.pending(match), *self.matches.stored(match).values())):
            if (sent.place, sent.rev + 1) == (place, rev):
                fields = self._fields(standing) | {"rev": sent.rev}
                if sent.form == forms.block(head, fields, text, final=final):
                    return self.outbox.again(sent)
        form = forms.block(head, self._fields(standing) | {"rev": rev}, text, final=final)
        return self.outbox.prepare(command, match, place, rev, form, now)

    def _next_rev(self, command: str, standing: MatchView, place: str) -> int:
        """The next revision at a place: for a later turn, which no letter tells, that of our own letters."""
        sent = self.memory.sent(command, standing.match, place) + self.memory.sent("clear", standing.match, place)
        return max([standing.rev if place == due(standing)[1] else 1, *(one.rev + 1 for one in sent)])

    def _fields(self, standing: MatchView) -> dict[str, object]:
        return {"server": self.account.server, "player": self.account.name, "prev": standing.prev}

    def seal(self, match: str, place: str, commitment: str, note: str | None, now: datetime) -> SentForm:
        """Prepare a commitment to a setup, of which the server learns only the hash; `place` is that of its game."""
        standing = self.matches.standing(match)
        sections = [Section("commitment", (commitment,), ""), *_noted(note)]
        rev = max([standing.rev, *(sent.rev + 1 for sent in self.memory.sent("seal", match, place))])
        form = forms.block(
            f"seal {match} game {standing.game}", self._fields(standing) | {"rev": rev}, written_sections(sections)
        )
        return self.outbox.prepare("seal", match, place, rev, form, now)

    def step(
        self, match: str, place: str, turn: int, sections: Sequence[Section], note: str | None, now: datetime
    ) -> SentForm:
        """Prepare the steps of a sealed match that are due; the first belongs to this turn."""
        return self._unrevised("step", match, f" turn {turn}", place, [*sections, *_noted(note)], now)

    def reveal(self, match: str, place: str, sections: Sequence[Section], now: datetime) -> SentForm:
        """Prepare the reveal after a game of a sealed match."""
        return self._unrevised("reveal", match, "", place, sections, now)

    def _unrevised(
        self, command: str, match: str, turn: str, place: str, sections: Sequence[Section], now: datetime
    ) -> SentForm:
        """Prepare a letter that is never replaced: it differs only if an earlier one was refused."""
        standing = self.matches.standing(match)
        head = f"{command} {match} game {standing.game}{turn}"
        form = forms.block(head, self._fields(standing), written_sections(sections))
        rev = len(self.memory.sent(command, match, place)) + 1
        return self.outbox.prepare(command, match, place, rev, form, now)

    def say(self, match: str, words: str, now: datetime) -> SentForm:
        """Prepare a sentence about a running match, such as `resign m1` or `draw m1 offer`."""
        standing = self.matches.running(match)
        command, place = words.split(maxsplit=1)[0], _spoken(standing, words)
        before = self.memory.sent(command, match, place)
        if before and before[-1].state not in {"refused", "done"}:
            return self.outbox.again(before[-1])
        # What withdraws something has the next revision of just that.
        said = standing.rev - 1 if COMMANDS[command].withdraws else standing.said.get(command, 0)
        rev = max([said + 1, *(sent.rev + 1 for sent in before)])
        turn = {"turn": standing.turn} if standing.phase == "playing" else {"game": standing.game}
        where: dict[str, object] = {"server": self.account.server, "player": self.account.name, **turn}
        form = forms.sentence(words, {**where, "prev": standing.prev, "rev": rev})
        return self.outbox.prepare(command, match, place, rev, form, now)

    def withdraw(self, match: str, turn: int | None, now: datetime) -> SentForm:
        """Prepare the withdrawal of what is due (None), of orders for a later turn, or of default orders."""
        standing = self.matches.standing(match)
        if turn is None or turn == standing.turn != DEFAULT:
            return self.say(match, f"clear {match}", now)
        place = place_of(standing, turn)
        rev = self._next_rev("orders", standing, place)
        before = self.memory.sent("clear", match, place)
        if before and before[-1].rev + 1 == rev and before[-1].state not in {"refused", "done"}:
            return self.outbox.again(before[-1])
        form = forms.sentence(f"clear {match} {named(turn)}", self._fields(standing) | {"rev": rev})
        return self.outbox.prepare("clear", match, place, rev, form, now)

    def has_said(self, match: str, words: str, now: datetime) -> bool:
        """True if this sentence was prepared before in the present state of the match, and not refused long ago."""
        standing = self.matches.standing(match)
        before = self.memory.sent(words.split(maxsplit=1)[0], match, _spoken(standing, words))
        if not before or before[-1].generation < standing.generation:
            return False
        return not (before[-1].state == "refused" and may_repeat(before, now))

    def accept(self, match: str, now: datetime, comment: str = "") -> SentForm:
        """Prepare the agreement to a proposal, by the hash of its terms; the signed text may have comments."""
        standing = self.matches.standing(match)
        if standing.phase != "proposed":
            raise Impossible(
                "{match} is {phase}: there is nothing to accept.", match=match, phase=PHASES[standing.phase]
            )
        if standing.accepted:
            raise Impossible("You have agreed to {match}; others have not yet.", match=match)
        self.matches.terms(match)
        with self.memory.noting(MatchKnown, match) as known:
            known.agreed = standing.agreement
        before = self.memory.sent("accept", match, standing.hash)
        if before and before[-1].state != "refused":
            return self.outbox.again(before[-1])
        form = forms.sentence(f"accept {match} {standing.hash}", {}, comment)
        rev = len(before) + 1
        return self.outbox.prepare("accept", match, standing.hash, rev, form, now)

    def tell(self, words: str, now: datetime, *, match: str = "", text: str = "") -> SentForm:
        """Prepare something signed that belongs to no turn: `new`, `join`, `decline`, `withdraw`, `press`, `set`.

        A comment dates it: a lost or older memory counts from a lower revision, and no words are obeyed twice.
        """
        rev = self.memory.count() + 1
        place = {"server": self.account.server, "player": self.account.name, "rev": rev}
        form = forms.block(words, place, text) + f"# {written(now)}\n"
        return self.outbox.prepare(words.split(maxsplit=1)[0], match, "", rev, form, now)

    def ask(self, words: str, now: datetime) -> SentForm:
        """Prepare a question, such as `list open`; signed, so that it is answered in full.

        A comment numbers and dates it: signed words that came before are answered in short, a few times a day.
        """
        rev = self.memory.count() + 1
        form = forms.sentence(words, {}, f"# {rev} {written(now)}\n")
        return self.outbox.prepare("ask", "", "", rev, form, now)


def _spoken(standing: MatchView, words: str) -> str:
    """The place of a sentence: it may be repeated when the state of the match has changed."""
    return f"{words}; {due(standing)[1]}; {standing.prev}"


def _noted(note: str | None) -> list[Section]:
    """The section for a note to self."""
    return [Section("note", (), note)] if note else []
