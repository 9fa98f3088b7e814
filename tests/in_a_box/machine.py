"""Programs that play, at a referee in a box: `pbem.player.program` over a side's letters, and their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.table import Side
from world.correspondent import program

from pbem.failpoints import passing

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox, Referee

    from pbem.failpoints import Failpoints
    from pbem.player.program_config import PlayerLimits
    from pbem.player.server_letter import Event


class Machine(Side):
    """A side at which a program sits."""

    def __init__(
        self,
        referee: Referee,
        person: Mailbox,
        path: Path | None,
        failpoint: Failpoints = passing,
        limits: PlayerLimits | None = None,
    ) -> None:
        self._limits = limits
        super().__init__(referee, person, path, failpoint)

    def start(self) -> None:
        super().start()
        self.program = program(self.agent, self.letters.account, self.random, self._limits)
        self.begun = False

    def look(self) -> list[Event]:
        """Run one pass of `pbem opponent`."""
        if not self.begun:
            self.program.begin(self.key, self.fingerprint, self.referee.now)
            self.begun = True
        events = self.receive()
        self.program.hear(events, self.referee.now)
        self.program.act(self.referee.now)
        self.flush()
        return events

    def live(self) -> None:
        self.look()
        while self.look():
            pass
