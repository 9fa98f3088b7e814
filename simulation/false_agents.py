"""An agent that lies in sealed matches: about its own board, in its reveal, by silence, or by answering too late.

What the server does not refuse of it must be convicted at the end, and win nothing: `simulation.sealed`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Refused
from pbem.player.correspondence.standings import Contradiction
from pbem.player.sealed_agent import Agent
from pbem.player.sealed_view import SealedSide

if TYPE_CHECKING:
    from random import Random

    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.player.sealed_view import NextLetter
    from pbem.player.secret_vault import SecretVault
    from pbem.requests import Section
    from simulation.liars import Liar

WAYS = ("board", "board", "board", "reveal", "silence", "delay")
"""How it may lie in a match; about the board most often."""
OFTEN = 0.3
"""The probability that a letter says something false of the board."""
LATE = timedelta(minutes=20)
"""How long after its deadline a late answer is written."""
CELL = re.compile(r"[ROYGB][v-z][1-5]|[A-J](?:10|[1-9])")
INSTEAD = {"miss": "hit", "hit": "miss", "none": "ship", "ship": "none"}


class FalseAgent(Agent):
    """The agent of a liar."""

    def __init__(self, liar: Liar, vault: SecretVault) -> None:
        super().__init__(liar.letters, vault, liar.random.randbytes)
        self._liar = liar
        self.told: list[tuple[str, str]] = []
        """The match and the Message-ID of each letter that says something false."""

    def way(self, match: str) -> str:
        """How it lies in a match."""
        return self._dice(match).choice(WAYS)

    def _dice(self, match: str) -> Random:
        return self._liar.world.random(f"false agent of {self._liar.name} in {match}")

    def _is_silent(self, standing: MatchView) -> bool:
        """True if it says nothing now, whatever is due."""
        match, world = standing.match, self._liar.world
        if standing.phase != "playing":
            return False
        if self.way(match) == "silence":
            return standing.turn >= self._dice(match).randrange(1, 4) or standing.revealing
        if self.way(match) == "reveal" and standing.revealing:
            return bool(self.memory.sent("reveal", match, f"game {standing.game}"))  # it was refused
        if self.way(match) == "delay" and standing.deadline:
            return world.now() < datetime.fromisoformat(standing.deadline) + LATE
        return False

    def asks(self, match: str) -> bool:
        return not self._is_silent(self.letters.matches.standing(match)) and super().asks(match)

    def act(self, now: datetime) -> list[SentForm]:
        with suppress(Refused):  # what it told does not fit its own board
            return super().act(now)
        return []

    def _act(self, standing: MatchView, now: datetime) -> SentForm | None:
        return None if self._is_silent(standing) else super()._act(standing, now)

    def _check(self, standing: MatchView) -> None:
        with suppress(Contradiction):  # it told what it did not mean
            super()._check(standing)

    def _step(self, standing: MatchView, game: SealedSide, letter: NextLetter, now: datetime) -> SentForm:
        match, before = standing.match, len(self.memory.prepared("step", standing.match))
        other = self._falsified(game, letter.sections) if self.way(match) == "board" else None
        sent = super()._step(standing, game, letter if other is None else replace(letter, sections=other), now)
        if other is not None and len(self.memory.prepared("step", match)) > before:
            self.told.append((match, sent.message_id))
            self._liar.note_lie(f"about the board of {match}", sent.raw)
        return sent

    def _falsified(self, game: SealedSide, sections: tuple[Section, ...]) -> tuple[Section, ...] | None:
        """The sections with one word of a step exchanged, or one line left out; None for the truth."""
        dice = self._liar.dice
        places = [at for at, one in enumerate(sections) if one.name in game.rules.papers and one.text.strip()]
        if not places or dice.random() >= OFTEN:
            return None
        at = dice.choice(places)
        lines = sections[at].text.splitlines()
        line = dice.randrange(len(lines))
        words = lines[line].split()
        chosen = [place for place, word in enumerate(words) if word in INSTEAD or CELL.fullmatch(word)]
        if not chosen or dice.random() < 0.2:
            del lines[line]
        else:
            place = dice.choice(chosen)
            words[place] = INSTEAD.get(words[place]) or self._other_cell(words[place])
            lines[line] = " ".join(words)
        return (*sections[:at], sections[at]._replace(text="\n".join(lines)), *sections[at + 1 :])

    def _other_cell(self, cell: str) -> str:
        """Another row of the same plane, or another column of the same row."""
        rows = "vwxyz" if cell[1] in "vwxyz" else "123456789"
        return cell[0] + self._liar.dice.choice([row for row in rows if row != cell[1]]) + cell[2:]

    def _reveal(self, standing: MatchView, now: datetime) -> SentForm:
        match, place = standing.match, f"game {standing.game}"
        if self.way(match) != "reveal":
            return super()._reveal(standing, now)
        other = [
            one._replace(text=CELL.sub(lambda cell: self._other_cell(cell[0]), one.text, count=1))
            for one in SealedSide.reveal(self._demanded(standing, self.game(standing)))
        ]
        sent = self.letters.reveal(match, place, tuple(other), now)
        self._liar.note_lie(f"in the reveal of {match}", sent.raw)
        return sent
