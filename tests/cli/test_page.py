"""`pbem page`: one file a game that loads nothing, under a policy that allows its own style and script alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pbem.cli.group import group
from pbem.games import GAMES
from pbem.i18n import LANGUAGES

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_is_utf_8_in_any_terminal() -> None:
    narrow, wide = (
        CliRunner(charset=charset).invoke(group, ["page", "spaceships"]) for charset in ("latin-1", "utf-8")
    )
    assert narrow.stdout_bytes == wide.stdout_bytes


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", GAMES)
def test_the_page_of_a_game_is_whole_in_itself(game: str, language: str) -> None:
    done = CliRunner().invoke(group, ["page", game, "--language", language])
    assert done.exit_code == 0
    page = done.stdout
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for kind in ("script", "style"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    # A name of XML, and origins that signatures of passkeys are compared with: no places.
    page = re.sub(r'"http://www\.w3\.org/2000/svg"|`https://\$\{application\}`|"http://localhost"', "", page)
    # Nothing is loaded from anywhere, and no attribute runs or styles anything.
    assert not re.search(r"https?://|//[a-z]+\.[a-z]|@import|\burl\(|<link|<img|\ssrc=|\son[a-z]+=|\sstyle=", page)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|sendBeacon|WebSocket|import\(|eval\(|innerHTML", page)
    assert len(page) < 250_000


def test_another_game_is_refused() -> None:
    done = CliRunner().invoke(group, ["page", "chess"])
    assert done.exit_code == 2
    assert "spaceships" in done.stderr


def test_with_a_configuration_the_page_is_for_that_server(tmp_path: Path) -> None:
    config = tmp_path / "pbem.toml"
    config.write_text('server = "play.example"\naddress = "games@mail.example"\ndelimiter = "-"\n', encoding="utf-8")
    done = CliRunner().invoke(group, ["page", "spaceships", "--config", str(config)])
    assert done.exit_code == 0, done.output
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', done.stdout)
    assert json.loads(data) == {"server": "play.example", "address": "games@mail.example", "delimiter": "-"}
    assert "its letters go to <strong>games@mail.example</strong>" in done.stdout
    missing = CliRunner().invoke(group, ["page", "spaceships", "--config", str(tmp_path / "none.toml")])
    assert missing.exit_code == 4
    assert "none.toml" in missing.stderr
