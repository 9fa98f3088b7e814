"""A program that plays by mail: it registers, accepts proposals, plays blind, and opens its seed at the end.

Its next action follows only from its memory and the letters, and all that it sends is in the memory before it
leaves, so it may be killed at any point. Sans-IO. The log has no orders, setups or seeds. Implements
docs/opponent.md.
"""

from __future__ import annotations

import logging
import traceback
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

from pbem.games import Result, rules
from pbem.match.option_lines import duration
from pbem.match.terms import Terms
from pbem.player import PlayerTrouble
from pbem.player.blind import PROGRAM, Plan, comment
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.forms import Unfit
from pbem.player.known import Known, OpenMatches
from pbem.player.memory import may_repeat
from pbem.player.opponent import SEED_OCTETS, Position, edition, strategy
from pbem.player.player_modes import matches_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pbem.games import Options
    from pbem.match.view import MatchView
    from pbem.player.program_config import ProgramSettings
    from pbem.player.sealed_agent import Agent
    from pbem.player.server_letter import Event


log = logging.getLogger(__name__)

_LOOKS = timedelta(hours=1)
"""The time between two requests for the open list."""

_GAMES = 20
"""The number of games of a match that must have setups before it agrees."""

_MOST_SCORE = 1000
"""A score above that of any seat in any game."""

_REFUSALS = 3
"""The number of refusals at one place after which it waits, even if the match has changed since."""


class ProgramKnown(Known):
    """Whether the server was told that this is a program, and when the open list was last asked for."""

    kind = "program"

    marked: bool = False
    looked: datetime | None = None


class PlanKnown(Known):
    """A match: the plan to which the program committed, if it agreed here, and what it does once."""

    kind = "plan"

    plan: Plan | None = None
    offered: int = 0
    """The last game in which it offered a draw."""
    claims: dict[str, datetime] = {}  # noqa: RUF012 - msgspec copies it
    """The time at which a silent player's game could first be claimed, by place."""


class NoAccount(PlayerTrouble):
    """The server registers nobody of the program's name; the text says what to do."""


class ProgramWords(Protocol):
    """A renderer of the texts for players, by the name of their template."""

    def __call__(self, name: Literal["greeting", "decline", "opening"], /, **facts: object) -> str:
        """The text."""


class Program:
    """One program that plays on one server."""

    def __init__(
        self, agent: Agent, settings: ProgramSettings, random: Callable[[int], bytes], words: ProgramWords
    ) -> None:
        self.agent = agent
        """The agent that answers in sealed matches, and asks for setups and orders."""
        agent.trusts_later_keys = True
        letters = self.letters = agent.letters
        self.memory = letters.memory
        self.settings = settings
        self._random = random
        self._words = words
        self._waiting: set[str] = set()
        """Matches in which something may be due."""
        self._key = "", ""
        """The public key and its fingerprint."""
        self._due: dict[tuple[str, str], datetime] = {}
        """The time at which a decision became due, by match and place."""

    def begin(self, public: str, fingerprint: str, now: datetime) -> None:
        """Start: register, send bounced letters once more, and act in all matches.

        A server that knows the account says so; one that was restored from a backup may have forgotten it.
        """
        if self.settings.server_key:
            self.letters.inbox.pin_key(self.settings.server_key)
        with self.memory.transaction():
            for sent in self.memory.in_state("bounced"):
                self.memory.settle(sent.id, "ready")
        self._key = public, fingerprint
        self.letters.registration.register(*self._key, now, anew=self.memory.account().name is not None)
        self.letters.registration.confirm(now)
        self._waiting = {standing.match for standing in self.letters.matches.standings}
        self.act(now)

    def hear(self, events: Iterable[Event], now: datetime) -> None:
        """Note the events of new letters, for `act`."""
        events = list(events)
        events += self.agent.hear(events, now)
        for event in events:
            self._log(event)
            self._end_without_a_name(event)
            if event.kind == "account":
                self.memory.keep(ProgramKnown())
            if event.kind == "challenge":
                self.letters.registration.confirm(now)
            if event.kind == "open":
                self._join(now)
            if event.match:
                self._waiting.add(event.match)

    def _end_without_a_name(self, event: Event) -> None:
        """Raise `NoAccount` if the server refuses the name, unless our key is about to prove itself."""
        sent = event.sent
        refused = (
            event.kind == "answer" and event.said == "refused" and sent is not None and sent.command == "register"
        )
        if refused and self.memory.account().name is None and not self.memory.prepared("confirm", ""):
            account = self.settings.account
            raise NoAccount(
                f"{account.server} does not register {account.name}: {'; '.join(event.faults)}. Names of roles, and"
                " that of a server's own house, are for nobody else: give another `name` in [account]."
            )

    def act(self, now: datetime) -> None:
        """Prepare everything that is due by now."""
        if self.memory.account().name is None:
            if self.letters.registration.is_overdue(self._key[1], now):
                self.letters.registration.register(*self._key, now)
            self.letters.registration.confirm_again(now)
            return
        known = self.memory.known(ProgramKnown)
        if not known.marked:
            with self.memory.noting(ProgramKnown) as noted:
                noted.marked = True
                self.letters.tell("set program yes", now)
        joins = duration(self.settings.play.joins) is not None
        if joins and (known.looked is None or abs(now - known.looked) >= _LOOKS):
            with self.memory.noting(ProgramKnown) as noted:
                noted.looked = now
                self.letters.ask("list open", now)
        self.agent.act(now)
        for match, why in self.agent.hindered.items():
            log.warning("%s: %s", match, why)
        for match in sorted(self._waiting):
            try:
                waits = self._act(self.letters.matches.standing(match), now)
            except (Impossible, Unfit) as error:
                log.warning("%s: %s", match, error)
                waits = False
            except Exception as error:
                # One match must not stop the others; its next letter makes the program try again. The error's text is
                # not logged, because it may quote orders.
                place = traceback.extract_tb(error.__traceback__)[-1]
                log.error("%s: cannot go on: %s at %s:%s", match, type(error).__name__, place.filename, place.lineno)
                waits = False
            if not waits:
                self._waiting.discard(match)

    # The open list.

    def _join(self, now: datetime) -> None:
        """Take the last free seat of a match that waited long, one match at a time: people come first."""
        after, name = duration(self.settings.play.joins), self.letters.account.name
        for item in reversed(self.memory.known(OpenMatches).items):  # the oldest first
            match, others = item["match"], self.letters.matches.standings
            try:
                terms = Terms.read(item["agreement"])
                (seat,) = item["free"]
                waited = (now - datetime.fromisoformat(item["since"])).total_seconds()
            except (KeyError, TypeError, ValueError):
                continue  # not exactly one free seat, or unreadable
            people = {player for player in terms.players if not player.startswith("?")}
            unfit = item.get("programs") or name in people or self.memory.prepared("join", match)
            if after is None or waited < after or unfit or any(self.settings.faults(terms, seat, people, others)):
                continue
            self.letters.tell(f"join {match}", now, match=match)
            log.info("%s: joined: %s", match, terms.game)
            return

    def _act(self, standing: MatchView, now: datetime) -> bool:
        """Do what is due in a match; returns True if it must act again later without another letter."""
        match standing.phase:
            case "proposed" if not standing.accepted:
                return self._answer(standing, now)
            case "setup" | "playing" if not standing.paused:
                return self._play(standing, now)
            case "closed":
                self._open(standing, now)
        return False

    # Proposals.

    def _answer(self, standing: MatchView, now: datetime) -> bool:
        """Accept or decline a proposal; returns True if the server refused an acceptance, to be sent again later."""
        match = standing.match
        if self.memory.prepared("decline", match):
            return False
        terms = self.letters.matches.terms(match)
        others = [other for other in self.letters.matches.standings if other.match != match]
        people = {name for name in standing.players if name != standing.player}
        reasons = list(self.settings.faults(terms, standing.seat, people, others))
        if not reasons and not self.memory.prepared("accept", match) and not self._has_setups(standing, terms):
            reasons.append("setup")
        if reasons:
            with self.memory.transaction():
                text = self._words("decline", reasons=reasons, limits=self.settings.play, games=self.settings.games)
                self.letters.tell(f"press {match}", now, match=match, text=text)
                self.letters.tell(f"decline {match}", now, match=match)
            log.info("%s: declined: %s", match, ", ".join(reasons))
            return False
        accepted = self.memory.prepared("accept", match)
        refused = bool(accepted) and accepted[-1].state == "refused"
        heard = bool(accepted) and accepted[-1].generation >= standing.generation
        if not heard or (refused and may_repeat(accepted, now)):
            with self.memory.transaction():
                plan = self._planned(standing)
                self.letters.accept(match, now, comment(plan.commitment))
            log.info("%s: accepted: %s", match, terms.game)
        return refused

    def _has_setups(self, standing: MatchView, terms: Terms) -> bool:
        """True if the plan has a setup for each game, or for the first ones of many.

        An opponent may propose fleets for which there is hardly room: a program that agreed without a setup would
        lose by the clock.
        """
        plan, games = self._planned(standing), min(terms.games or _GAMES, _GAMES)
        options = terms.first_options()
        try:
            for number in range(1, games + 1):
                plan.setup(number, options, standing.seat)
                if terms.kind == "continued":  # the next game may begin with all ships, if the opponent gives up
                    options = rules(terms.game).carry(options, Result((), (_MOST_SCORE,) * len(terms.players)))
        except ValueError:
            return False
        return True

    def _planned(self, standing: MatchView) -> Plan:
        """The plan for this match, or a new one, which is then stored."""
        if (plan := self._plan(standing)) is not None:
            return plan
        level, seed = self.settings.games[standing.rules].level, self._random(SEED_OCTETS)
        account, game = self.letters.account, standing.rules
        plan = Plan(account.server, account.name, game, level, seed, PROGRAM, edition(game))
        with self.memory.noting(PlanKnown, standing.match) as known:
            known.plan = plan
        return plan

    def _plan(self, standing: MatchView) -> Plan | None:
        """The plan for this match; None if we did not agree to the match here."""
        return self.memory.known(PlanKnown, standing.match).plan

    # Playing.

    def _play(self, standing: MatchView, now: datetime) -> bool:
        """Do what is due in a match that runs; returns True if it must act again later without another letter."""
        plan, match = self._promised(standing), standing.match
        if plan is None:
            return False
        if not self.memory.prepared("press", match):
            text = self._words("greeting", level=plan.level, commitment=plan.commitment.hash)
            self.letters.tell(f"press {match}", now, match=match, text=text)
        place = f"game {standing.game} turn {standing.turn}"
        asked = matches_like(standing, self.agent).asks(standing)
        position = self._position(standing) if asked or standing.offers else None
        wish = strategy(plan.game).wish(plan.level, position) if position else None
        for what in standing.offers:
            answer = "accept" if what == "draw" and wish == "draw" else "decline"
            self._say(match, f"{what} {match} {answer}", now)
        if not asked:
            return not standing.asked and self._claim(standing, place, now)
        if self._was_refused(standing, now) or self._early(standing, place, now):
            return True
        if standing.revealing and not self._saw_the_end(standing, now):
            return True
        if self._move(standing, plan, position, wish, now):
            self._due.pop((match, place), None)
            log.info("%s: %s: answered", match, place)
        return False

    def _promised(self, standing: MatchView) -> Plan | None:
        """The plan by which a match can be played here, if any."""
        plan = self._plan(standing)
        first = (standing.phase, standing.game) == ("setup", 1) and standing.asked
        if plan is None and first and standing.tournament:
            # It begins without asking: the entry has accepted it, and the greeting brings the hash. A setup that
            # stands already is of a seed that was lost.
            plan = self._planned(standing)
        if plan is not None and not plan.elsewhere:
            return plan
        why = f" as promised: {plan.elsewhere}" if plan else ": its seed is not in the memory"
        log.error("%s: it cannot be played%s", standing.match, why)
        return None

    def _move(
        self, standing: MatchView, plan: Plan, position: Position | None, wish: str | None, now: datetime
    ) -> bool:
        """Send the setup, orders or reveal that is due; returns False if letters are missing."""
        match, game, mode = standing.match, standing.game, matches_like(standing, self.agent)
        if standing.revealing:
            self.agent.reveal(match, now)
        elif mode.keeps_secrets and self._has_opened(
            match, plan
        ):  # whoever has the seed knows all that it would decide
            said = Contradiction("the server had you open your seed, and now the match goes on")
            self.agent.held.accuse(match, said, now)
            return False
        elif standing.phase == "setup":
            mode.set_up(match, plan.setup(game, self._options(standing), standing.seat), now)
        elif position is None:
            log.warning("%s: letters of turns before turn %s are missing", match, standing.turn)
            return False
        elif wish == "resign":
            self._say(match, f"resign {match} game {game}", now)
        else:
            self._offer(standing, wish, now)
            mode.order(match, plan.orders(game, mode.turn(standing), position), now, final=True, turn=None)
        return True

    def _saw_the_end(self, standing: MatchView, now: datetime) -> bool:
        """True if it agreed to a draw, or has waited for its opponent for the whole pace.

        Its agent reveals by itself if signed texts end the game; else, that it is over is only the server's claim.
        """
        match, game = standing.match, self.agent.game(standing)
        place = f"; game {standing.game} turn {game.table.turn}; "  # an earlier offer lapsed, whatever we are told
        draws = [sent for sent in self.memory.prepared("draw", match) if place in sent.place]
        if any(sent.state != "refused" and f"draw {match} decline" not in sent.place for sent in draws):
            return True
        terms = self.letters.matches.agreed_or_entered(match)
        if terms is None or not terms.pace or game.rules.owed(game.table, standing.seat):
            return False
        letters = [*self.memory.prepared("seal", match), *self.memory.prepared("step", match)]
        return (now - max(sent.written for sent in letters)).total_seconds() >= terms.pace

    def _claim(self, standing: MatchView, place: str, now: datetime) -> bool:
        """Claim a silent player's game, if the terms allow it and the time is over; returns True while it waits."""
        after, match = duration(self.settings.play.claims), standing.match
        if after is None or not standing.claim:
            return False
        with self.memory.noting(PlanKnown, match) as known:
            since = known.claims.setdefault(place, now)
        if (now - since).total_seconds() < after:
            return True
        self._say(match, f"claim {match}", now)
        return False

    def _early(self, standing: MatchView, place: str, now: datetime) -> bool:
        """True if it is too early to answer: the delay is not over, and no deadline is near."""
        since = self._due.setdefault((standing.match, place), now)
        end = since + timedelta(seconds=duration(self.settings.play.delay) or 0)
        if standing.deadline:
            left = datetime.fromisoformat(standing.deadline) - since
            end = min(end, since + left / 2)
        return now < end

    def _was_refused(self, standing: MatchView, now: datetime) -> bool:
        """True if the server refused the same, in the present state or too often, not long ago."""
        command = "setup" if standing.phase == "setup" else "orders"
        turn = f" turn {standing.turn}" if command == "orders" else ""
        place = f"game {standing.game}{turn}"
        sent_here = self.memory.sent(command, standing.match, place)
        refused = [sent for sent in sent_here if sent.generation >= standing.generation]
        same = any(f"\nprev {standing.prev}\n" in sent.form for sent in refused)
        return (same or len(refused) >= _REFUSALS) and not may_repeat(refused, now)

    def _options(self, standing: MatchView) -> Options:
        agreed = self.letters.matches.agreed_or_entered(standing.match)
        if agreed is not None and not rules(standing.rules).secret_setups:  # no letter asks for one
            return agreed.first_options()
        asked = self.memory.paper(standing.match, standing.game, 0, "setup")
        if asked is None:
            raise Impossible("the letter that asks for the setup of game {game} has not come", game=standing.game)
        return rules(standing.rules).options(asked["options"], len(standing.players))

    def _position(self, standing: MatchView) -> Position | None:
        """The position of the turn that is due; None if there is none, or a letter is missing."""
        if standing.phase != "playing" or standing.revealing:
            return None
        told = matches_like(standing, self.agent).told(standing)
        return None if told is None else Position(self._options(standing), standing.seat, *told)

    # Sentences.

    def _offer(self, standing: MatchView, wish: str | None, now: datetime) -> None:
        """Offer a draw, once a game."""
        match = standing.match
        if wish == "draw" and not standing.offers and self.memory.known(PlanKnown, match).offered != standing.game:
            with self.memory.noting(PlanKnown, match) as known:
                self._say(match, f"draw {match} offer", now)
                known.offered = standing.game

    def _say(self, match: str, words: str, now: datetime) -> None:
        if not self.letters.has_said(match, words, now):
            self.letters.say(match, words, now)
            log.info("%s: %s", match, words)

    def _open(self, standing: MatchView, now: datetime) -> None:
        """Open the seed, once: after the end of the match, it reveals no secrets.

        In a sealed match, that it is over is only the server's claim, unless the program has revealed all anyway. A
        game whose every turn is opened has no reveals.
        """
        plan, match = self._plan(standing), standing.match
        if plan is None or self._has_opened(match, plan):
            return
        if matches_like(standing, self.agent).is_unrevealed(standing):
            return
        text = self._words("opening", match=match, level=plan.level, seed=plan.seed.hex())
        self.letters.tell(f"press {match}", now, match=match, text=text)
        log.info("%s: closed; its seed is opened", match)

    def _has_opened(self, match: str, plan: Plan) -> bool:
        return any(plan.seed.hex() in sent.form for sent in self.memory.prepared("press", match))

    def _log(self, event: Event) -> None:
        match event.kind:
            case "answer" if event.said == "refused" and event.sent is not None:
                # Faults of orders quote them.
                secret = event.sent.command in {"orders", "setup"}
                said = "" if secret else f": {'; '.join(event.faults)}"
                level = logging.INFO if event.sent.command == "register" else logging.WARNING  # asked at each start
                log.log(level, "refused: %s %s%s", event.sent.command, event.match, said)
            case "bounced" if event.sent is not None:
                log.warning("came back, and goes again at the next start: %s %s", event.sent.command, event.match)
            case "forged" | "contradiction" | "forgotten":
                log.error("%s: %s: %r: %s", event.match, event.kind, event.subject, event.said)
            case "account":
                log.info("registered as %s", self.letters.account.name)
