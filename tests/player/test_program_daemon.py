"""`pbem opponent` as it runs: the real daemon, a program at one end, `pbem play` or another program at the other."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

from machines import post_office

from pbem.player.opponent import STRATEGIES

if TYPE_CHECKING:
    from pathlib import Path


CONFIG = """\
[account]
name = "house"
server = "play.example"
server_address = "pbem@play.example"
address = "house@mail.example"
key = "house_ed25519"
mail_in = "maildir:{maildir}"
mail_out = "smtp://127.0.0.1:{port}"
[play]
matches = 1000
matches_each = 1000
"""


class House:
    """`pbem opponent`, a process of its own."""

    def __init__(self, folder: Path, maildir: Path, port: int) -> None:
        folder.mkdir()
        self.folder = folder
        tables = "".join(f"[games.{game}]\nlevel = 1\n" for game in STRATEGIES)
        (folder / "opponent.toml").write_text(CONFIG.format(maildir=maildir, port=port) + tables)
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [post_office.PBEM, "opponent", "--config", str(self.folder / "opponent.toml")]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def until(self, words: str, patience: float = 60.0) -> None:
        """Wait until its log says so."""
        end = time.monotonic() + patience
        while words not in self.log:
            assert time.monotonic() < end, self.log
            time.sleep(0.05)


def test_one_plays_at_a_time_and_another_stands_by(tmp_path: Path) -> None:
    """As the servers that share a store start them: with one memory, for one file."""
    maildir = tmp_path / "mail"
    (maildir / "new").mkdir(parents=True)
    (maildir / "cur").mkdir()
    first = House(tmp_path / "program", maildir, 1)
    second: subprocess.Popen[str] | None = None
    command = [post_office.PBEM, "opponent", "--config", str(first.folder / "opponent.toml")]
    try:
        first.until("plays spaceships")
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 4
        assert "Another `pbem opponent` runs with" in refused.stderr
        second = subprocess.Popen([*command, "--standby"], stderr=subprocess.PIPE, text=True)
        assert second.stderr is not None
        assert "this one waits until it ends" in second.stderr.readline()
        first.stop()
        assert "plays spaceships" in second.stderr.readline()
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
    finally:
        first.kill()
        if second is not None:
            second.kill()
            second.wait()
            assert second.stderr is not None
            second.stderr.close()
