"""A player without a key, who plays whole matches: each letter answers one of the server's, and a provider signs it.

The provider's key is in the DNS, which fails and lies (`simulation.name_server`). Orders are as often written without
a form, as people write them. What was refused is said again, in answer to the refusal.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from world.correspondent import SERVER

from pbem.games import Refused
from pbem.games.spaceships.space import CELLS
from pbem.player.blind import Plan
from pbem.player.correspondence.outgoing import composed
from pbem.player.correspondence.standings import Impossible
from simulation.name_server import NameServer
from simulation.parts import Part
from simulation.players import Player, provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from world.correspondent import Correspondent

    from pbem.match.view import MatchView
    from pbem.player.server_letter import Event
    from simulation.players import Habits
    from simulation.world import World

ASKS = timedelta(hours=6)
"""The time between two questions how a match stands."""
CONDITIONAL = "dueling-masters", "spaceships"
"""The games whose orders may have conditions."""
AHEAD = 0.3
"""The probability that the next turn is ordered, too, with a condition."""
REGISTERS = timedelta(hours=9)
"""The time between two registrations: strangers get few answers a day."""
UNHEARD = timedelta(days=2)
"""The time after which a proposal without an answer is made again."""


class KeylessPart(Part):
    """One of the players has no key, and the DNS has its moods."""

    name = "keyless"
    often = 0.7

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.dns = NameServer(world, self.random, world.resolve)
        world.resolve = self.dns.resolve
        self._name = self.random.choice(world.names)

    def player(self, name: str, habits: Habits) -> Player | None:
        if name != self._name:
            return None
        self._player = KeylessPlayer(self.world, name, habits, self.world.folder)
        self.world.keyless.append(self._player)
        return self._player

    def broken(self) -> Iterator[str]:
        """Its letters count although it signs nothing."""
        sent = self._player.sent
        yield from (f"{self._name} has no key, and signed" for _, raw in sent if b"SSH SIGNATURE" in raw)


class KeylessPlayer(Player):
    """A player whose letters count through their reply addresses."""

    signs = False

    def __init__(self, world: World, name: str, habits: Habits, folder: Path) -> None:
        super().__init__(world, name, habits, folder)
        self._sign_as_provider = provider(folder)
        self._plans: dict[str, Plan] = {}
        self._bare: set[tuple[str, str]] = set()
        """The places for which orders went without a form: if they are asked for again, they go with one."""
        self._asked = world.now() - ASKS
        self._registered = world.now() - REGISTERS
        self._signed: dict[bytes, bytes] = {}
        """Each letter as the provider signed it."""
        self.sent: list[tuple[str, bytes]] = []
        """To which address each letter went that may have an effect, and its bytes."""

    def begin(self) -> None:
        self.act()

    def propose(self, game: str, other: Correspondent, options: str) -> None:
        """Propose a match, as soon as there is a letter to answer."""
        self._proposal = f"new {game} with {other.name}", options
        self.act()

    def _propose_again(self, now: datetime) -> None:
        sent = self.memory.sent("new", "", "")
        # While the DNS denies the provider's key, the answer does not say which letter it doubts.
        unheard = bool(sent) and sent[-1].state == "sent" and now - sent[-1].written > UNHEARD
        if self._proposal[0] and (not sent or unheard or sent[-1].state == "refused"):
            self._try(self._propose, "whoami")

    def _hear(self, events: list[Event], now: datetime) -> None:
        """Nothing but the state of matches matters."""

    def _act(self, now: datetime) -> None:
        """Write whatever a letter asks for."""
        if not self.registered:
            if now - self._registered >= REGISTERS:
                self._registered = now
                self.letters.registration.register_mailbox(now)
            self.letters.registration.confirm(now)
            return
        for standing in self.letters.matches.standings:
            if not standing.paused:
                self._try(partial(self._answer, standing, now), f"status {standing.match}")

    def _try(self, write: Callable[[], object], question: str) -> None:
        """Write something; if no letter is left to answer, ask for one."""
        now = self._now()
        try:
            write()
        except Impossible:
            if now - self._asked >= ASKS:
                self._asked = now
                self.letters.ask(question, now)

    def _answer(self, standing: MatchView, now: datetime) -> None:
        match, letters = standing.match, self.letters
        if standing.phase == "proposed" and not standing.accepted:
            letters.accept(match, now)
        for what in standing.offers:
            if not letters.has_said(match, f"{what} {match} decline", now):
                letters.say(match, f"{what} {match} decline", now)
        if not standing.asked or letters.matches.pending(match) is not None:
            return
        if standing.phase == "playing" and self.world.hurried:
            return  # it resigns
        plan = self._plans.setdefault(match, Plan(SERVER, self.name, standing.rules, 1, self._secret.randbytes(16)))
        if standing.phase == "setup":
            options = self.program._options(standing)
            letters.set_up(match, plan.setup(standing.game, options, standing.seat), now)
        elif (position := self.program._position(standing)) is not None:
            one, other = (plan.orders(standing.game, turn, position) for turn in (standing.turn, standing.turn + 1))
            self._order(standing, one, now)
            if standing.rules in CONDITIONAL and self.random.random() < AHEAD:
                with suppress(Impossible, Refused):
                    struck = [cell for cell in one.split() if cell in CELLS]
                    condition = self.random.choice(("lost any", *(f"{cell} miss" for cell in struck[:1])))
                    text = f"if {condition} then {one} else {other}"
                    letters.order(match, text, now, turn=standing.turn + 1)

    def _order(self, standing: MatchView, text: str, now: datetime) -> None:
        place = standing.match, f"{standing.game} {standing.turn}"
        if place in self._bare or not text.strip() or self.random.random() < 0.5:
            self.letters.order(standing.match, text, now, final=True)
            return
        answered = self.letters.outbox._reply_place("orders", standing.match)
        assert answered is not None, "it raises, or finds one"
        self._bare.add(place)
        self.memory.spend(answered)
        message_id = f"<{self.random.randbytes(16).hex()}@mail.example>"
        letter = composed(self.address, answered.address, "Re: your letter", message_id, now)
        letter["In-Reply-To"] = letter["References"] = answered.message_id
        letter.set_content(text)
        self._hand_in(answered.address, letter.as_bytes())

    def _resign(self, standing: MatchView) -> None:
        self._try(partial(super()._resign, standing), f"status {standing.match}")

    def _hand_in(self, to: str, raw: bytes, delay: float = 0.0, *, once: bool = False) -> None:
        """Let the provider sign a letter, and deliver it."""
        if b"\nSubject: ask" not in raw:  # a question uses no address up
            self.sent.append((to, raw))
        # Signed anew, a letter that is written again would be another one, with an answer of its own.
        signed = self._signed.setdefault(raw, self._sign_as_provider(raw, self._now()))
        super()._hand_in(to, signed, delay, once=once)
