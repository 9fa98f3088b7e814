"""Ann at her terminal, with `pbem play`: letters in a Maildir, drafts out, the referee in a box behind both."""

from __future__ import annotations

import mailbox
import re
import stat
from typing import TYPE_CHECKING

from click.testing import CliRunner

from pbem.cli.group import group

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from in_a_box.referee import Referee
    from signing.domains import Domain


class Terminal:
    """Ann at her terminal: a home, a Maildir, a folder of drafts that she sends with her mail program."""

    def __init__(self, folder: Path, referee: Referee) -> None:
        self.referee = referee
        self.home = folder / "home"
        self.drafts = folder / "drafts"
        self.maildir = mailbox.Maildir(folder / "Maildir")
        self.ann = referee.person("ann")
        self.came = 0
        self.sent: list[bytes] = []
        self.charset = "utf-8"
        self.provider: Domain | None = None
        """The domain that signs what leaves, for a player without a key."""
        self.own_ids = False
        """True if the mail program that sends the drafts gives them Message-IDs of its own."""

    def __call__(self, *words: str, typed: str = "", status: int = 0) -> str:
        """Run `pbem play` after the letters that have come, then send the drafts; returns what the terminal shows."""
        return self.run("play", "--wait", "0", *words, typed=typed, status=status)

    def run(self, *words: str, typed: str = "", status: int = 0) -> str:
        self.bring()
        environment = {"HOME": str(self.home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        result: Result = CliRunner(self.charset).invoke(group, list(words), input=typed, env=environment)
        assert result.exit_code == status, result.output
        self.post()
        return result.output

    def bring(self) -> None:
        for raw in self.ann.letters.came[self.came :]:
            self.maildir.add(raw.replace(b"\r\n", b"\n"))
        self.came = len(self.ann.letters.came)

    def post(self) -> None:
        for draft in sorted(self.drafts.glob("*.eml")) if self.drafts.exists() else ():
            raw = draft.read_bytes()
            assert raw.startswith(b"X-Unsent: 1\r\n")
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
            self.sent.append(raw)
            if self.own_ids:
                raw = re.sub(rb"(?m)^Message-ID: <", b"Message-ID: <own.", raw)
            to = next(line for line in raw.decode().splitlines() if line.startswith("To: ")).removeprefix("To: ")
            if self.provider is not None:
                raw = self.provider.sign(raw.removeprefix(b"X-Unsent: 1\r\n"), self.referee.now)
            self.referee.deliver(raw, self.ann.address, to)
            draft.unlink()

    @property
    def ways(self) -> tuple[str, ...]:
        """The options that say how letters come and go."""
        return "--in", f"maildir:{self.maildir._path}", "--out", f"drafts:{self.drafts}"

    def register(self) -> str:
        given = ("--address", self.ann.address, "--key", "~/key", "--new-key", *self.ways)
        first = self("register", "ann@play.example", *given)
        return first + self() + self()
