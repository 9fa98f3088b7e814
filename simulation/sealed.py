"""A sealed match: programs answer for their boards, and the server holds neither setup nor orders until the end."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pbem.match.sealed_game import HONEST, SILENT
from simulation.parts import Part
from simulation.promises import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        """The letters of a player show no setup and no salt until they reveal it; nobody is taken for a liar.

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
        for (match, _), proved in self.world.proved.items():
            assert proved.bundle is not None
            for entry in proved.bundle.entries:
                said = entry.body["verdicts"].values() if entry.type == "verdict" else ()
                yield from (
                    f"{match}: an honest program is told: {one}" for one in said if one not in {HONEST, SILENT}
                )
