"""A sealed match: programs answer for their boards, and the server holds neither setup nor orders until the end."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from world.promises import name_of

from pbem.match.sealed_game import HONEST, SILENT
from simulation.false_agents import FalseAgent
from simulation.parts import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.world import World


REVEALS = {"shoot-em-up": ("reveal", "step")}
"""The letters that may show a setup, where it is laid open before the first turn."""


class Sealed(Part):
    """One match of the week is sealed."""

    name = "sealed"

    def terms(self, at: int) -> dict[str, str]:
        return {"sealed": "yes", "settle": "0"} if at == self._at else {}

    @cached_property
    def _at(self) -> int | None:
        """The place of the match: both of its players must have keys."""
        places = [at for at, pair in enumerate(self.world.pairs) if all(player.signs for player in pair)]
        return self.random.choice(places) if places else None

    def broken(self) -> Iterator[str]:
        """The letters of a player show no setup and no salt until they reveal it; only liars are convicted.

        Setups are lines of their own there: that a ship was destroyed is said in a longer one.
        """
        for player in self.world.players.values():
            letters = [raw for raw, sender in self.world.answered if sender == player.address]
            for standing in player.letters.matches.standings:
                hidden, about = player.hidden(standing.match), f" {standing.match} ".encode()
                reveals = tuple(f"\n{word} ".encode() for word in REVEALS.get(standing.rules, ("reveal",)))
                for raw in letters:
                    revealed = any(word in raw for word in reveals)
                    if about in raw and not revealed and any(b"\n%b\r\n" % one in raw for one in hidden):
                        name = name_of(raw).decode()
                        yield f"{player.name} showed the server what is sealed in {standing.match}: {name}"
        false = untrue(self.world)
        for (match, _), proved in self.world.proved.items():
            assert proved.bundle is not None
            entries = proved.bundle.entries
            verdicts = [entry.body["verdicts"].items() for entry in entries if entry.type == "verdict"]
            for seat, said in chain.from_iterable(verdicts):
                if said not in (HONEST, SILENT) and (match, int(seat)) not in false:
                    yield f"{match}: an honest program is told: {said}"
                if said == HONEST and (match, int(seat)) in false:
                    yield f"{match}: what seat {seat} told falsely was not found"
                if said != HONEST and entries[-1].body["winners"] == [int(seat)]:
                    yield f"{match}: seat {seat} won, and is told: {said}"


def untrue(world: World) -> set[tuple[str, int]]:
    """The seats, by match, that told something false in a sealed match which the server took."""
    found = set()
    for player in world.players.values():
        if isinstance(agent := player.program.agent, FalseAgent):
            for match, name in agent.told:
                sent = player.memory.by_message_id(name)
                if sent is not None and sent.state == "done":
                    found.add((match, player.letters.matches.standing(match).seat))
    return found
