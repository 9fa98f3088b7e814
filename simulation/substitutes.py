"""A player hands a seat over: all say the same sentence, and a newcomer takes the seat and plays on."""

from __future__ import annotations

import email
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from world.correspondent import SERVER

from pbem.phrase import Phrase
from pbem.player.blind import Plan
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import Position
from simulation.parts import Part
from simulation.players import Habits, Player

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.match.view import MatchView
    from simulation.world import World

NAME = "fay"
OFTEN, ASKS = 900.0, 21600.0
"""Seconds between two looks for something to say, and two requests: a week's may come on one day, which has 30."""
FORM = re.compile(rf"(?ms)^substitute (m\d+) {NAME} for (\w+)\s+[0-9a-f]{{64}}$.*?^end$")


class Newcomer(Player):
    """The newcomer: she has the letters since she took the seat, and no plan that anybody was promised."""

    leaver: Player | None = None

    def _act(self, now: datetime) -> None:
        if not self.registered:
            super()._act(now)
            return
        for standing in self.letters.matches.standings:
            pending = self.letters.matches.pending(standing.match)
            if standing.asked and standing.phase == "playing" and pending is None:
                with suppress(Impossible):
                    self.letters.order(standing.match, self._orders(standing), now, final=True)

    def _orders(self, standing: MatchView) -> str:
        """What her strategy says of the position in the last letter; the options she knows from the terms."""
        match, game = standing.match, standing.game
        position = self.memory.paper(match, game, standing.turn, "position")
        if position is None or self.leaver is None:
            raise Impossible(Phrase("no letter has the position"))
        options = self.leaver.program._options(self.leaver.letters.matches.standing(match))
        plan = Plan(SERVER, self.name, standing.rules, 1, self._secret.randbytes(16))
        return plan.orders(game, standing.turn, Position(options, standing.seat, position["view"], []))


class Substitutes(Part):
    """One seat of an open match of players with keys changes hands."""

    name = "substitutes"
    often = 0.4

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._fay = Newcomer(world, NAME, Habits(), world.folder)
        self._leaver: Player | None = None
        self._match = ""
        self._asked = 0.0
        self._took: float | None = None
        """When the newcomer wrote that she takes the seat."""

    def newcomers(self) -> Iterator[Player]:
        yield self._fay

    def has_left(self, player: str, match: str) -> bool:
        return self._leaver is not None and (self._leaver.name, self._match) == (player, match) and self._has_seat

    def may_read(self, player: str, match: str, at: float) -> bool:
        return (player, match) == (NAME, self._match) and self._took is not None and at >= self._took

    def play(self) -> None:
        at = self.random.random() * 0.3 * self.world.week.days * 86_400
        self.world.loop.call_later(at, self._look)

    def _look(self) -> None:
        """Name the newcomer, and agree to her, until she has the seat."""
        if self.world.hurried or self._has_seat:
            return
        self.world.loop.call_later(OFTEN, self._look)
        if not self._match and not self._choose():
            return
        self._fay.look()
        if (asked := self._fay.memory.prepared("substitute", self._match)) and asked[-1].state == "refused":
            # The match went on meanwhile: the words without the hash bring the form for now.
            if self.world.loop.time() - self._asked < ASKS:
                return
            self._asked = self.world.loop.time()
            self._fay.letters.tell(self._words, self.world.now())
            self._fay._post()
            return
        for player in self._both:
            player.look()
            standing = player.letters.matches.standing(self._match)
            said = [one for one in player.memory.prepared("substitute", self._match) if one.state != "refused"]
            if not said and standing.phase in {"setup", "playing"}:
                with suppress(Impossible):
                    player.letters.say(self._match, self._words, self.world.now())
                player._post()
                return  # the other one says it once this one is heard
            if said and said[-1].state != "done":
                return

    def _choose(self) -> bool:
        """Choose a match that is under way, and who leaves it."""
        found = [
            (standing.match, player)
            for pair in self.world.pairs
            for player in pair
            for standing in player.letters.matches.standings
            if all(one.signs for one in pair)
            and standing.phase == "playing"
            and not standing.sealed
            and standing.tournament is None
            and {one.name for one in pair} == set(standing.players)
        ]
        if found:
            self._match, self._leaver = self.random.choice(found)
            self._fay.leaver = self._leaver
        return bool(found)

    @property
    def _words(self) -> str:
        assert self._leaver is not None
        return f"substitute {self._match} {NAME} for {self._leaver.name}"

    @property
    def _both(self) -> list[Player]:
        """The players of the match, the one who leaves first."""
        assert self._leaver is not None
        others = self._leaver.letters.matches.standing(self._match).players
        return [self._leaver, *(self.world.players[name] for name in others if name and name != self._leaver.name)]

    @property
    def _has_seat(self) -> bool:
        return any(one.state == "done" for one in self._fay.memory.prepared("substitute", self._match))

    def take(self, recipient: str, raw: bytes) -> None:
        """The newcomer is asked: she signs the form that the letter brings, some time later."""
        if recipient != self._fay.address or self._has_seat:
            return
        for part in email.message_from_bytes(raw).walk():
            content = part.get_payload(decode=True) if part.get_content_type() == "text/plain" else None
            form = FORM.search(content.decode().replace("\r\n", "\n")) if isinstance(content, bytes) else None
            leaver = self._leaver.name if self._leaver is not None else ""
            if form is not None and (form[1], form[2]) == (self._match, leaver):
                wait = self.random.random() * self.world.week.leisure / 10  # before the next turn is over
                self.world.loop.call_later(wait, self._agree, form[0] + "\n")

    def _agree(self, form: str) -> None:
        before = self._fay.memory.prepared("substitute", self._match)
        said = any(sent.form == form or sent.state != "refused" for sent in before)
        if self.world.hurried or said:
            return
        if self._took is None:
            self._took = self.world.loop.time()
        self._fay.letters.outbox.prepare(
            "substitute", self._match, self._words, len(before) + 1, form, self.world.now()
        )
        self._fay._post()
