"""A player's agent in sealed matches: it checks what comes, answers and opens by itself, and asks only for orders.

Secrets are in a vault before a hash of them is in any letter, and its next letter follows from letters and vault, so
it may be killed at any point. If the server contradicts itself, the agent accuses it, and sends nothing more.
Sans-IO except for the vault. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from pbem.failpoints import passing
from pbem.games import Refused, parts, rules
from pbem.mail.commands import parse
from pbem.match import transcript
from pbem.match.sealed_game import PaperPlace
from pbem.player.correspondence.judge import Judged
from pbem.player.correspondence.standings import Contradiction, Impossible, demand_playing
from pbem.player.forms import Unfit
from pbem.player.sealed_plans import OrdersInAdvance, Planning, canonical
from pbem.player.sealed_view import NextLetter, OrdersAsked, SealedSide, commitment
from pbem.player.secret_vault import Secrets, understood
from pbem.player.server_letter import Event
from pbem.player.signed_texts import Missing, SealedState, not_all_came
from pbem.player.told_checks import (
    Accusations,
    check_agreed,
    check_own,
    check_unrevealed,
    first_keys,
)
from pbem.requests import Seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.games import Report
    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import SentForm
    from pbem.player.sealed_plans import Followed
    from pbem.player.secret_vault import SecretVault


log = logging.getLogger(__name__)

_ASKS = timedelta(days=1)

POINTS = ("secrets kept",)
"""The points, besides those of the correspondence, at which an agent may be killed without harm."""


class ShownGame(msgspec.Struct, frozen=True):
    """The state of a sealed game for its player: the view of the refereed game, and the reports of all turns told."""

    turn: int
    asked: bool
    """True if orders are due."""
    view: Mapping[str, Any]
    """JSON, as a refereed game's position is attached."""
    reports: Sequence[Sequence[Report]]
    """The reports of each turn."""


class Agent:
    """The agent that plays the sealed matches of one account.

    `random` returns octets; `failpoint` is called at each of `POINTS`.
    """

    def __init__(
        self,
        letters: Correspondence,
        vault: SecretVault,
        random: Callable[[int], bytes],
        failpoint: Failpoints = passing,
    ) -> None:
        self.letters = letters
        self.memory = letters.memory
        self.vault = vault
        self.held = Accusations(self.memory)
        self.trusts_later_keys = False
        """True if keys that were added since a match began may sign: a program has nobody to ask whose they are."""
        self.ahead = OrdersInAdvance(vault, self._ahead)
        self._random = random
        self._at = failpoint
        self._games: dict[str, tuple[object, SealedSide]] = {}
        """What the game of each match was last made from, and that game."""
        self._passed: dict[str, SealedSide] = {}
        """The last game of each match in which we said all that was told in our name."""
        self.followed: list[Followed] = []
        """Orders in advance that were committed to, of which nobody was told yet."""
        self.hindered: dict[str, str] = {}
        """The reason for each match in which it could not do what is due."""

    @property
    def words(self) -> str:
        """The six words that seal notes: those of this account, or new ones, which are then stored."""
        with self.vault.alone():
            return self.vault.drawn(self._random).words

    def use_words(self, words: str) -> None:
        """Use six words that were drawn elsewhere; raises `BadNote` for a malformed one."""
        code = understood(words)
        with self.vault.alone():
            self.vault.keep_code(code)

    # Letters in.

    def hear(self, events: Iterable[Event], now: datetime) -> list[Event]:
        """Check the news about sealed matches: a contradiction is a separate event, and stops the match."""
        faults = []
        for match in dict.fromkeys(event.match for event in events if event.kind == "news"):
            if not self.held.accused(match):
                faults += self._judge(match, now)
        return faults

    def _judge(self, match: str, now: datetime) -> list[Event]:
        """Check the news about a sealed match; records an accusation, and returns it as an event."""
        if not self.letters.matches.standing(match).sealed:
            return []
        try:
            # In one transaction, because `pbem play` may read letters at the same time.
            with self.memory.transaction(), self.held.unless_taken_back(match):
                self._check(self.letters.matches.standing(match))
        except Impossible as missing:
            log.info("%s: %s", match, missing)
        except Contradiction as wrong:
            self.held.accuse(match, wrong, now)
            return [Event("contradiction", match=match, said=str(wrong))]
        return []

    def take_back(self, match: str, now: datetime) -> list[Event]:
        """Resume a match: its player withdraws the accusation, or passes over texts that contradict each other.

        Returns the faults that are left. Raises `Impossible` if nothing is held against anybody.
        """
        with self.memory.transaction():
            self.held.take_back(match, again=self._is_wrong(match))
            if self._is_wrong(match):  # if there are two texts for one place, the server says again which counts
                self.memory.forget_signed_texts(match)
                self.letters.ask(f"report {match}", now)
        return self._judge(match, now)

    def _is_wrong(self, match: str) -> bool:
        """True if what was signed in a sealed match contradicts itself."""
        standing = self.letters.matches.standing(match)
        if not standing.sealed:
            return False
        try:
            self.game(standing)
        except Contradiction:
            return True
        except Impossible:
            pass
        return False

    def _checked(self, standing: MatchView) -> SealedSide:
        """The game, after a check of all that is known; raises `Contradiction`, `Impossible`."""
        self._check(standing)
        return self.game(standing)

    def _check(self, standing: MatchView) -> None:
        """Compare what was signed with everything known; raises `Contradiction`, `Impossible`."""
        match = standing.match
        if standing.phase == "setup":
            with self.held.unless_taken_back(match):
                check_agreed(self.letters, standing)
                first_keys(self.memory, standing, self.letters.matches.setup_asked(match))
        if standing.phase != "playing":
            return
        game = self.game(standing)
        owed = game.rules.owed(game.table, standing.seat)
        if standing.turn != game.table.turn or (standing.asked and not standing.revealing and not owed):
            raise not_all_came(match)
        with self.held.unless_taken_back(match):
            check_unrevealed(self.memory, standing, game)
        secrets = self._secrets(standing, game) if self._passed.get(match) is not game else None
        if secrets is not None:
            with self.held.unless_taken_back(match):
                check_own(game, secrets)
            self._passed[match] = game

    # The state of a match.

    def game(self, standing: MatchView) -> SealedSide:
        """The current game; raises `Contradiction`, or `Impossible` if a letter is missing."""
        match, file = standing.match, self.letters.matches.setup_file(standing.match)
        if file is None:
            raise not_all_came(match)
        first, told = first_keys(self.memory, standing, file), SealedState.read(file.get("sealed")).keys
        # What we did not say ourselves, the secrets show.
        keys = told if self.trusts_later_keys else first | {str(standing.seat): told.get(str(standing.seat), [])}
        made_from = file, keys, self.memory.signed_texts(match), self.memory.heads(match)
        known, given = self._games.get(match), (standing, *made_from)
        if known is not None and known[0] == given:
            return known[1]
        game = SealedSide.of(standing, self.letters.account.server, *made_from)
        self._games[match] = given, game
        return game

    def _place(self, standing: MatchView) -> PaperPlace:
        """The place of our papers in the current game."""
        return PaperPlace(self.letters.account.server, standing.match, standing.game, standing.seat, standing.player)

    def _asked(self, standing: MatchView) -> SealedState:
        """The data of the letter that asks for the setup."""
        return SealedState.read(self.letters.matches.setup_asked(standing.match).get("sealed"))

    def shown(self, match: str) -> ShownGame:
        """The state of the game, including own secrets; raises `Contradiction`, `Impossible`, `Refused`."""
        now = self._planning(self.letters.matches.standing(match))
        table = now.asked.table
        shown = [now.game.rules.own_view(now.asked.own, table), list(table.played)]
        view, reports = json.loads(transcript.canonical(shown))
        return ShownGame(table.turn, now.due, view, reports)

    def asks(self, match: str) -> bool:
        """True if its player has something to decide: a setup, orders, or whether to go on."""
        standing = self.letters.matches.standing(match)
        try:
            if self.held.accused(match) or not self._is_due(standing):
                return False
            if standing.phase == "setup":
                return not self._committed(standing) and not self._setup_to_send(standing)
            if standing.revealing:
                sent = self.letters.outbox.alive("reveal", match, f"game {standing.game}")
                return not sent and not self._is_over(standing)
            return self.shown(match).asked
        except (Impossible, Contradiction, Refused):
            return False

    # Letters out.

    def act(self, now: datetime) -> list[SentForm]:
        """Prepare everything that needs no decision."""
        prepared = []
        self.hindered = {}
        for standing in self.letters.matches.standings:
            if not self._is_due(standing):
                continue
            try:
                with self.vault.alone():
                    sent = self._act(self.letters.matches.standing(standing.match), now)
            except (Impossible, Unfit, Contradiction) as error:
                self.hindered[standing.match] = error.args[0]
                sent = self._ask(standing.match, now) if isinstance(error, Missing) else None
            if sent is not None:
                prepared.append(sent)
        return prepared

    def _ask(self, match: str, now: datetime) -> SentForm | None:
        """Ask for all that was signed in a match, once a day: the letters that brought it may be lost."""
        asked = [one for one in self.memory.sent("ask", "", "") if one.form.startswith(f"report {match}\n")]
        if asked and abs(now - asked[-1].written) < _ASKS:
            return None
        return self.letters.ask(f"report {match}", now)

    def _is_due(self, standing: MatchView) -> bool:
        """True if something may be due: of a setup or a reveal the server says so, of steps what was signed."""
        asked = standing.asked if standing.phase == "setup" or standing.revealing else standing.phase == "playing"
        return standing.sealed and asked and not standing.paused

    def _act(self, standing: MatchView, now: datetime) -> SentForm | None:
        if not self._is_due(standing):
            return None  # another process of the same player was first
        self.held.demand_none(standing.match)
        if standing.phase == "setup":
            secrets = self._setup_to_send(standing)
            if secrets is None:
                return None
            self.letters.outbox.demand_unrefused(standing, "seal", _setup_place(standing), now)
            return self._seal(standing, secrets, now)
        if not standing.revealing:
            return self._answer(standing, now)
        if self._is_over(standing):
            return self._reveal(standing, now)
        if not self.game(standing).told.revealing:
            raise not_all_came(standing.match)
        return None

    def _answer(self, standing: MatchView, now: datetime) -> SentForm | None:
        """Send the steps that are owed by what was signed, with orders that wait, if some are asked for."""
        game = self._checked(standing)
        if not game.rules.owed(game.table, standing.seat):
            return None
        planning = self._planning(standing)
        secrets = planning.secrets
        if secrets != self.vault.secrets(standing.match, standing.game):
            self._keep(secrets)  # from the note of another machine, which continued the game
        planned = self.ahead.followed(planning, now)
        if planned is not None:
            secrets = secrets.with_orders(planned.turn, planned.orders)
        found = game.letter(secrets, standing.prev)
        if not isinstance(found, NextLetter):
            return None
        self.letters.outbox.demand_unrefused(standing, "step", _place(game), now)
        sent = self._step(standing, game, found, now)
        if planned is not None:
            self.followed.append(planned)
        return sent

    def set_up(self, match: str, text: str, now: datetime) -> SentForm:
        """Choose the setup of the game that begins, and commit to it. Raises `Refused`, `Impossible`."""
        judged = self.letters.judge.setup(match, text)
        self.held.demand_none(match)
        with self.vault.alone():
            standing = self.letters.matches.standing(match)
            before = self._setup(standing)
            if before is not None and before.setup == judged.text:
                return self._seal(standing, before, now)
            if before is not None and self._is_bound(standing):
                raise Impossible("You committed to a setup, and it cannot be changed.")
            secrets = Secrets.begun(self._place(standing), judged.text, self._random)
            self._keep(secrets)
            return self._seal(standing, secrets, now)

    def judge_orders(self, match: str, text: str) -> Judged:
        """Judge orders for the turn that is due; raises `Refused`, or `Impossible` if none are due."""
        standing = self.letters.matches.standing(match)
        game, seat = self.game(standing), standing.seat
        asked = self._asking(standing, game, self._demanded(standing, game))
        (found, _), judge = canonical(standing, game, asked, text), rules(standing.rules)
        state = game.rules.recalled(asked.own, asked.table)
        return Judged(found, parts.unused(judge, state, seat, judge.order(state, seat, found)))

    def order(self, match: str, text: str, now: datetime) -> SentForm:
        """Decide on the orders for the turn that is due, and prepare their letter. Raises as `judge_orders`."""
        self.held.demand_none(match)
        with self.vault.alone():
            standing = self.letters.matches.standing(match)
            game = self._checked(standing)
            secrets = self._demanded(standing, game)
            asked = self._asking(standing, game, secrets)
            orders, _ = canonical(standing, game, asked, text)
            secrets = secrets.with_orders(asked.table.turn, orders)
            found = game.letter(secrets, standing.prev)
            if not isinstance(found, NextLetter):
                raise Impossible("It is not your move in {match}.", match=match)
            return self._step(standing, game, found, now)

    def _ahead(self, match: str) -> Planning:
        """The game of a match in which orders may wait; raises `Contradiction`, `Impossible`."""
        standing = self.letters.matches.standing(match)
        demand_playing(standing)
        return self._planning(standing)

    def _planning(self, standing: MatchView) -> Planning:
        """The game of a match, and what it asks for now; raises `Contradiction`, `Impossible`."""
        game = self.game(standing)
        secrets = self._demanded(standing, game)
        found = game.letter(secrets, standing.prev)
        if not isinstance(found, OrdersAsked):
            return Planning(standing, game, OrdersAsked(game.own(game.play, secrets), game.table), False, secrets)
        # A step on its way is no longer owed, although the server's letters may not show it yet.
        sent = self.letters.outbox.alive("step", standing.match, _place(game)) is not None
        return Planning(standing, game, found, not (standing.paused or standing.revealing or sent), secrets)

    def _asking(self, standing: MatchView, game: SealedSide, secrets: Secrets) -> OrdersAsked:
        """The decision that is due; raises `Impossible`."""
        match = standing.match
        # A signed step cannot be changed: a server that refused it may enter it all the same, when a copy comes.
        # Orders that are in no letter yet can be, so they count as not decided.
        if self.memory.sent("step", match, _place(game)):
            raise Impossible("What you owe in {match} is signed, and cannot be changed.", match=match)
        found = game.letter(secrets, standing.prev)
        if found is None or standing.paused or standing.revealing:
            raise Impossible("It is not your move in {match}.", match=match)
        if isinstance(found, NextLetter):
            found = game.letter(secrets.without_orders(found.ordered), standing.prev)
        if not isinstance(found, OrdersAsked):
            raise Impossible("There is nothing to order in {match} now: `pbem play` answers by itself.", match=match)
        return found

    def _step(self, standing: MatchView, game: SealedSide, letter: NextLetter, now: datetime) -> SentForm:
        match, place = standing.match, _place(game)
        if (sent := self.letters.outbox.alive("step", match, place)) is not None:
            return self.letters.outbox.again(sent)
        self._keep(letter.secrets)
        note = self._note(letter.secrets)
        return self.letters.step(match, place, letter.turn, letter.sections, note, now)

    def _seal(self, standing: MatchView, secrets: Secrets, now: datetime) -> SentForm:
        match, place = standing.match, _setup_place(standing)
        if (sent := self._committed(standing)) is not None:
            return self.letters.outbox.again(sent)
        self._check(standing)
        value = commitment(standing.hash, secrets)
        return self.letters.seal(match, place, value, self._note(secrets), now)

    def _reveal(self, standing: MatchView, now: datetime) -> SentForm:
        match, place = standing.match, f"game {standing.game}"
        if (sent := self.letters.outbox.alive("reveal", match, place)) is not None:
            return self.letters.outbox.again(sent)
        self.letters.outbox.demand_unrefused(standing, "reveal", place, now)
        try:
            secrets = self._demanded(standing, self.game(standing))
        except (Contradiction, Impossible):  # the player decided, although what was signed makes no game
            if (kept := self.vault.secrets(match, standing.game)) is None:
                raise
            secrets = kept
        return self.letters.reveal(match, place, SealedSide.reveal(secrets), now)

    def _is_over(self, standing: MatchView) -> bool:
        """True if the game has ended by signed steps, or by a resignation signed here or by the other player.

        Anything else is only the server's claim, and a server in league with the opponent would like to see the
        secrets. What we do not know to have said is its claim, too; and a resignation of ours that had no effect in
        its turn can have none later.
        """
        try:
            game = self._checked(standing)
            place = f"; game {standing.game} turn {game.table.turn}; "
            ours = self.memory.prepared("resign", standing.match)
            resigned = any(place in sent.place and sent.state != "refused" for sent in ours)
            return resigned or (game.is_over and self._secrets(standing, game) is not None)
        except (Contradiction, Impossible):
            return False

    def to_reveal(self, match: str) -> MatchView:
        """The state of a match in which secrets are to be revealed; raises `Impossible`."""
        standing = self.letters.matches.standing(match)
        if not standing.reveals:
            raise Impossible("Nothing is to be revealed in {match} now.", match=match)
        return standing

    def reveal(self, match: str, now: datetime) -> SentForm:
        """Reveal everything by the player's decision, although no checked step ends the game.

        Raises `Impossible`, `Contradiction`.
        """
        self.held.demand_none(match)
        with self.vault.alone():
            standing = self.to_reveal(match)
            file = self.letters.matches.setup_file(match)
            if file is None or not SealedState.read(file["sealed"]).revealing:
                raise Impossible(
                    "The letter that asks for your secrets of {match} has not come: `pbem play ask report {match}`",
                    match=match,
                )
            return self._reveal(standing, now)

    def _committed(self, standing: MatchView) -> SentForm | None:
        """The commitment to a setup that stands, or is on its way; if the server asks again, it was withdrawn."""
        sent = self.letters.outbox.alive("seal", standing.match, _setup_place(standing))
        return None if sent is not None and sent.state == "done" and standing.asked else sent

    # A server that was restored from a backup asks again for what it has forgotten: each place gets the same answer,
    # as whoever got the first one could otherwise have two. It goes in a new letter: the restored server may know the
    # first one, and have refused it while the match was paused.

    def _is_bound(self, standing: MatchView) -> bool:
        """True if a setup that was signed must be the same again: unless it was withdrawn, a copy may still count."""
        signed = self.memory.sent("seal", standing.match, _setup_place(standing))
        withdrawn = not signed or (signed[-1].state == "done" and standing.asked)
        return not withdrawn or any(one.first < standing.generation and one.state != "refused" for one in signed)

    def _keep(self, secrets: Secrets) -> None:
        self.vault.keep(secrets)
        self._at("secrets kept")

    # Secrets.

    def _note(self, secrets: Secrets) -> str | None:
        note = self.vault.drawn(self._random).note(secrets)
        if note is None:
            log.warning("%s: the game is too long for a note: keep a copy of its secrets", secrets.match)
        return note

    def _setup(self, standing: MatchView) -> Secrets | None:
        """The secrets of a game whose setup is due: from the vault, or from our own note in the server's letter."""
        secrets = self.vault.secrets(standing.match, standing.game)
        return secrets or self.vault.noted(self._place(standing), self._asked(standing).note)

    def _setup_to_send(self, standing: MatchView) -> Secrets | None:
        """The secrets of a game whose setup is due, unless its player withdrew it, and so must decide again."""
        sealed = self.letters.outbox.alive("seal", standing.match, _setup_place(standing))
        return None if sealed and not self._committed(standing) else self._setup(standing)

    def _demanded(self, standing: MatchView, game: SealedSide) -> Secrets:
        secrets = self._secrets(standing, game)
        if secrets is None:
            raise Impossible(
                "Your secrets of {match} are not on this machine, and its six words open no note. Take over those"
                " that you wrote down: pbem play words WORD WORD ...",
                match=standing.match,
            )
        return secrets

    def _secrets(self, standing: MatchView, game: SealedSide) -> Secrets | None:
        """The secrets that agree with all that was signed: from the vault, or from a note."""
        kept = self.vault.secrets(standing.match, standing.game)
        if kept is not None and game.agrees(kept):
            return kept
        # A server that says that a setup was withdrawn may still enter it: each of ours is in a letter of our own.
        seals = self.memory.sent("seal", standing.match, _setup_place(standing))
        for note in (game.told.note, *(_note_of(sent) for sent in seals)):
            noted = self.vault.noted(self._place(standing), note)
            if noted is not None and game.agrees(noted):
                return noted
        return None


def _note_of(sent: SentForm) -> str | None:
    """The note in a letter of ours by which we committed to a setup."""
    asked = parse(sent.form).commands[0].form.request
    sections = asked.sections if isinstance(asked, Seal) else ()
    return next((section.text for section in sections if section.name == "note"), None)


def _place(game: SealedSide) -> str:
    """The place of our next step: its game and turn, and its number among our steps in this game."""
    count = sum(step.seat == game.place.seat for step in game.steps)
    return f"game {game.place.game} turn {game.table.turn} step {count + 1}"


def _setup_place(standing: MatchView) -> str:
    return f"game {standing.game}"
