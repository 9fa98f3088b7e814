"""A tournament of the players with keys: announced, entered, played, and its table computed again from files."""

from __future__ import annotations

import email
from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.proof.tournament_proof import verify_tournament
from simulation.parts import Part
from verifier import Wrong, judged_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.players import Player
    from simulation.world import World

NAME = "t1"
FILE = f"{NAME}.pbem-tournament.zip"
FORMATS = ("round robin", "round robin", "double round robin")
TERMS = "programs: yes\nat-once: 2\nsettle: 0"
LEAVES = 0.1
"""The probability that somebody leaves it at some time of the week."""
OFTEN = 1800.0
"""How often players look whether there is something to enter."""
CLOSES = timedelta(days=2)
"""When entries close, if not all who may enter have done so before."""
PATIENCE = 10 * 86_400.0
"""How long after the week it may go on at most."""


class Tournament(Part):
    """A round robin; whoever has a key enters it."""

    name = "tournament"
    often = 0.5

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._members: list[Player] = []
        self._letters: dict[str, str] = {}
        """By player: the Message-ID of the letter that announces or enters it."""
        self._format = self.random.choice(FORMATS)
        self._files: dict[str, bytes] = {}
        """By address: the proof that came at the end."""

    def play(self) -> None:
        players = self.world.players
        self._members = [players[name] for name in self.world.names if players[name].signs]
        if len(self._members) > 1:
            self._announce(self._members[0])
            for player in self._members:
                self._look(player)
                if self.random.random() < LEAVES:
                    self.world.loop.call_later(
                        self.random.random() * self.world.week.days * 86_400, self._leave, player
                    )

    def _announce(self, organiser: Player) -> None:
        week, game = self.world.week, self.random.choice(self.world.week.games)
        closes = (self.world.now() + CLOSES).date()
        options = f"closes: {closes}\nentrants: {len(self._members)}\npace: {week.pace}\n{self.world.options[game]}"
        self._letters[""] = organiser.say(f"tournament new {game}", f"format: {self._format}\n{TERMS}\n{options}")

    def _look(self, player: Player) -> None:
        """Enter it, once it is announced; say so again if that was refused."""
        if self._is_forgotten:
            return
        organiser = self._members[0]
        told = organiser.memory.tournament(NAME)
        if player is organiser and told is None and self._is_refused("") and not self.world.hurried:
            self._announce(organiser)
        new = player.name not in self._letters or self._is_refused(player.name)
        if told is not None and told.phase == "open" and new:
            self._letters[player.name] = player.say(f"enter {NAME} {told.hash}")
        if not self._is_over:
            self.world.loop.call_later(OFTEN, self._look, player)

    def _leave(self, player: Player) -> None:
        told = player.memory.tournament(NAME)
        if told is not None and told.entered and not self.world.hurried:
            player.say(f"leave {NAME}")

    def _is_refused(self, name: str) -> bool:
        sent = (self.world.players.get(name) or self._members[0]).memory.by_message_id(self._letters.get(name, ""))
        return sent is not None and sent.state == "refused"

    @property
    def _is_forgotten(self) -> bool:
        """Whether a restored server forgot the announcement, or who entered: nobody begins it anew."""
        return any(self.world.operator.has_lost(sent) for sent in self._letters.values())

    @property
    def _entered(self) -> list[Player]:
        """Who knows of being in it, and is owed its proof."""
        if self._is_forgotten:
            return []
        told = [(player, player.memory.tournament(NAME)) for player in self._members]
        return [player for player, standing in told if standing is not None and standing.entered]

    @property
    def _is_over(self) -> bool:
        """Whether everybody in it has the proof, or it was never announced."""
        pending = [sent for player in self._members for sent in player.memory.in_state("ready", "sent")]
        return self.world.hurried and not pending and all(one.address in self._files for one in self._entered)

    def finish(self) -> None:
        self._ends = self.world.loop.time() + PATIENCE

    @property
    def waits(self) -> bool:
        return not self._is_over and self.world.loop.time() < self._ends

    def take(self, recipient: str, raw: bytes) -> None:
        if FILE.encode() in raw:
            for part in email.message_from_bytes(raw).walk():
                content = part.get_payload(decode=True) if part.get_filename() == FILE else None
                if isinstance(content, bytes):
                    self._files[recipient] = content

    def broken(self) -> Iterator[str]:
        """It ended, and its table follows from its own file and those of its matches, by both verifiers.

        The second one finds all pairs anew: each meets as often as it should, and no result counts twice.
        """
        yield from (f"{one.name} has no proof of {NAME}" for one in self._entered if one.address not in self._files)
        bundles = [content for _, content in self.world.proved]
        for content in dict.fromkeys(self._files.values()):
            for check in verify_tournament(content, bundles):
                operator = self.world.operator  # the bundle of a match that was ended by it came to nobody
                if check.standing != "ok" and not operator.ended and not operator.explains(check.found):
                    yield f"{NAME} does not verify: {check}"
            if not self.world.figures.restores:
                try:
                    judged_tournament(content, bundles)
                except Wrong as wrong:
                    yield f"{NAME}, by the second verifier: {wrong}"
