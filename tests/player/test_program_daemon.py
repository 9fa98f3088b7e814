"""`pbem opponent` as it runs: the real daemon, a program at one end, `pbem play` or another program at the other."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING

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


def test_one_plays_at_a_time_and_another_stands_by(tmp_path: Path) -> None:
    """Servers that share a store start them so: with one memory and one configuration."""
    maildir, config = tmp_path / "mail", tmp_path / "opponent.toml"
    for name in ("new", "cur"):
        (maildir / name).mkdir(parents=True)
    tables = "".join(f"[games.{game}]\nlevel = 1\n" for game in STRATEGIES)
    config.write_text(CONFIG.format(maildir=maildir, port=1) + tables)
    command = [post_office.PBEM, "opponent", "--config", str(config)]
    with ExitStack() as ended:

        def started(*more: str) -> tuple[subprocess.Popen[str], IO[str]]:
            process = ended.enter_context(subprocess.Popen([*command, *more], stderr=subprocess.PIPE, text=True))
            ended.callback(process.kill)
            assert process.stderr is not None
            return process, process.stderr

        first, log = started()
        assert any("plays spaceships" in line for line in log)
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 4
        assert "Another `pbem opponent` runs with" in refused.stderr
        second, waiting = started("--standby")
        assert "this one waits until it ends" in waiting.readline()
        first.terminate()
        assert first.wait(30) == 0
        assert any("plays spaceships" in line for line in waiting)
        second.terminate()
        assert second.wait(30) == 0
