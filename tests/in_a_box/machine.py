"""Programs that play, at a referee in a box: `pbem.player.program` over a side's letters, and their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.referee import SERVER
from in_a_box.table import TO, Side

from pbem.failpoints import passing
from pbem.letters.render import Templates
from pbem.player.account_file import Account
from pbem.player.opponent import STRATEGIES
from pbem.player.program import Program
from pbem.player.program_config import GameLimits, PlayerLimits, ProgramSettings

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox, Referee

    from pbem.failpoints import Failpoints
    from pbem.player.server_letter import Event


def settings(name: str, address: str, level: int = 1, limits: PlayerLimits | None = None) -> ProgramSettings:
    account = Account(name, SERVER, TO, address, "key", "maildir:/nowhere", "sendmail:")
    games = {game: GameLimits(level) for game in STRATEGIES}
    return ProgramSettings(account=account, play=limits or PlayerLimits(), games=games)


def words(name: str, /, **facts: object) -> str:
    return Templates().render(f"player/{name}.txt", **facts).strip()


class Machine(Side):
    """A side at which a program sits."""

    def __init__(
        self,
        referee: Referee,
        person: Mailbox,
        path: Path | None,
        failpoint: Failpoints = passing,
        level: int = 1,
        limits: PlayerLimits | None = None,
    ) -> None:
        self.settings = settings(person.name, person.address, level, limits)
        super().__init__(referee, person, path, failpoint)

    def start(self) -> None:
        super().start()
        self.program = Program(self.agent, self.settings, self.random, words)
        self.begun = False

    def look(self) -> list[Event]:
        """What one pass of `pbem opponent` does."""
        if not self.begun:
            self.program.begin(self.key, self.fingerprint, self.referee.now)
            self.begun = True
        events = self.receive()
        self.program.hear(events, self.referee.now)
        self.program.act(self.referee.now)
        self.flush()
        return events

    def live(self) -> None:
        """Pass after pass, until nothing comes."""
        self.look()
        while self.look():
            pass
