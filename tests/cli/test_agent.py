"""`pbem agent` and `pbem play` in a sealed match, as their user sees them: letters in a Maildir, drafts out."""

from __future__ import annotations

import io
import random
import re
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import RAW, Owner, propose
from in_a_box.terminal import Terminal
from playing import random_players

from pbem.cli.agent import _typed
from pbem.cli.play.terminal import Terminal as Front
from pbem.games import rules
from pbem.match.events.sealed_events import sealed
from pbem.player import secret_vault
from pbem.player.account_file import places
from pbem.player.correspondence.standings import Contradiction
from pbem.player.memory import Memory
from pbem.player.play_table import PlayTable
from pbem.player.secret_vault import Code, SecretVault
from pbem.player.told_checks import Accusations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from in_a_box.referee import Referee


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_vault, "_ROUNDS", 10)


@pytest.fixture
def terminal(tmp_path: Path, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal(tmp_path, referee)
    monkeypatch.setenv("HOME", str(found.home))  # for `~`
    monkeypatch.setattr(PlayTable, "now", lambda _: referee.now)
    found.register()
    found()
    return found


@pytest.fixture
def bob(tmp_path: Path, referee: Referee) -> Iterator[Owner]:
    found = Owner(referee, referee.person("bob"), tmp_path / "bob" / "memory.sqlite")
    found.register()
    yield found
    found.close()


def begun(referee: Referee, terminal: Terminal, bob: Owner) -> str:
    """A match in which both have committed to their setups; what ann's terminal said of hers."""
    propose(referee, [bob.person, terminal.ann], "spaceships")
    terminal("accept", "m1", "--yes")
    options = rules("spaceships").options(RAW["spaceships"], 2)
    setup = random_players.PLAYERS["spaceships"].setup(random.Random(1), options, 2)
    said = terminal("setup", "m1", *setup.splitlines(), "--yes")
    bob.look()
    bob.look()
    return said


def test_a_sealed_match_at_the_terminal(referee: Referee, terminal: Terminal, bob: Owner) -> None:
    said = begun(referee, terminal, bob)
    (words,) = re.findall(r"^    ((?:[a-z]{5} ?){6})$", said, re.MULTILINE)
    assert words in terminal("words")
    folder = terminal.home / ".local/state/pbem/ann@play.example.secrets"
    assert [path.stat().st_mode & 0o777 for path in sorted(folder.glob("*.json"))] == [0o600]
    for turn in (1, 2, 3):
        said = until_asked(terminal, bob, turn)
        assert "Your space" in said
        assert ": your move" in terminal()
        assert f"m1, turn {turn}: you order" in terminal("m1", "Gx3", "--yes")
        assert ": your move" not in terminal()
    terminal("resign", "m1", "--whole", "--yes")
    said = ""
    while "m1: verified" not in said:
        bob.look()
        said = terminal.run("agent", "--once")
    assert not bob.accusations
    assert "closed: " in terminal()


def until_asked(terminal: Terminal, bob: Owner, turn: int) -> str:
    """Look until orders are asked for in a turn; all that was said."""
    said = ""
    for _ in range(6):
        while bob.look():
            pass
        said += terminal.run("agent", "--once")
        if f"m1, turn {turn}: your orders? pbem play m1 ORDERS" in said:
            return said
    pytest.fail("nobody was asked")


def test_orders_in_advance_wait_here_and_count_when_they_are_due(
    referee: Referee, terminal: Terminal, bob: Owner
) -> None:
    begun(referee, terminal, bob)
    until_asked(terminal, bob, 1)
    plan = "if Gx3 hit then Gx4 else next Gx3 Gx5"
    said = terminal("m1", "--turn", "2", *plan.split(), typed="\n")
    assert (
        "m1, turn 2: you order\n"
        "  branch 1, if you hit Gx3: conventional strikes at Gx4\n"
        "  branch 2, otherwise: next Gx3 Gx5\n"
        "Keep it here, for the agent to commit to when it is due? [Y/n]"
    ) in said
    terminal("m1", "--turn", "4", "Gw2", "--yes")
    assert " ".join(terminal().split()).endswith("left); stored: turn 2, turn 4")
    shown = terminal("m1")
    assert f"\nYours, turn 2 (it waits here, and nobody else knows it):\n\n    {plan}\n" in shown
    assert "Forget it?" in terminal("clear", "m1", "--turn", "4", typed="\n")
    terminal("m1", "--turn", "3", "--yes", "if", "lost", "any", "then", "Gw2")
    terminal("m1", "--turn", "1", "Gx3", "--yes")
    said = until_asked(terminal, bob, 3)
    assert "m1, turn 2: of the orders that waited here, branch 2 counts:\n    Gx5\n" in said
    assert "turn 2: your orders?" not in said
    assert "Yours, but it does not count:\n\n    if lost any then Gw2\n" in said
    assert "none of the conditions holds" in said
    assert "\n        what you had ordered does not count\n" in terminal()
    assert not bob.accusations


def test_secrets_are_revealed_when_their_owner_says_so(referee: Referee, terminal: Terminal, bob: Owner) -> None:
    """The server alone says that both have agreed to a draw."""
    begun(referee, terminal, bob)
    while bob.look():
        pass
    bob.letters.say("m1", "draw m1 offer", referee.now)
    bob.flush()
    terminal("draw", "m1", "accept", "--yes")
    for _ in range(2):
        shown = terminal.run("agent", "--once")
        assert "the server asks for your secrets. The steps that came do not end the game." in shown.replace(
            "\n", " "
        )
        assert not revealed(referee)
    assert "ended otherwise, as by an agreed draw" in terminal("reveal", "m1", "--yes")
    assert revealed(referee) == [2]
    assert "Nothing is to be revealed" in terminal("reveal", "m1", "--yes", status=4)


def revealed(referee: Referee) -> list[int]:
    """The seats that have revealed."""
    game = sealed(referee.match()).game
    return list(game.reveals)


@contextmanager
def asked(referee: Referee, terminal: Terminal, bob: Owner) -> Iterator[tuple[PlayTable, SecretVault]]:
    """Ann's table and her secrets, where her orders for turn 1 are asked for."""
    begun(referee, terminal, bob)
    while "turn 1: your orders? pbem play m1 ORDERS" not in terminal.run("agent", "--once"):
        assert bob.look()
    folders = places({"HOME": str(terminal.home)})
    table = PlayTable(folders, "", Front(), 1.0)
    with table.afterwards:
        yield table, SecretVault(folders.secrets(table.account.id))


def test_a_match_typed_alone_is_shown_and_nothing_is_ordered(
    referee: Referee, terminal: Terminal, bob: Owner, capsys: pytest.CaptureFixture[str]
) -> None:
    with asked(referee, terminal, bob) as (table, vault):
        for typed, orders in (("m1\n", {}), (" M1   --nothing\n", {1: ""})):
            capsys.readouterr()
            _typed(table, typed, yes=True)
            assert ("Your space" in capsys.readouterr().out) == (not orders)
            secrets = vault.secrets("m1", 1)
            assert secrets is not None
            assert secrets.by_turn == orders


def test_orders_are_asked_about_before_they_bind(
    referee: Referee,
    terminal: Terminal,
    bob: Owner,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with asked(referee, terminal, bob) as (table, vault):
        for answer, orders in (("n", {}), ("y", {1: ""})):
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
            _typed(table, "m1 --nothing\n", yes=False)
            secrets = vault.secrets("m1", 1)
            assert secrets is not None
            assert secrets.by_turn == orders
            assert ("Nothing was signed or sent." in capsys.readouterr().err) == (answer == "n")


def test_an_accusation_is_listed_until_it_is_taken_back(
    terminal: Terminal, referee: Referee, bob: Owner, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(referee, terminal, bob)
    folders = places({"HOME": str(terminal.home)})
    with closing(Memory(folders.memory("ann@play.example"))) as memory:
        Accusations(memory).accuse("m1", Contradiction("two things cannot both be true"), referee.now)
    shown = terminal()
    assert "ALARM" in shown
    assert (
        "your agent has stopped: two things cannot both be true.\n        To go on anyway: pbem play take-back m1\n"
        in shown
    )
    table = PlayTable(folders, "", Front(), 1.0)
    with table.afterwards:
        _typed(table, "m1 --take-back\n", yes=False)
    assert not capsys.readouterr().err
    shown = terminal()
    assert "ALARM" not in shown
    assert "your agent has stopped" not in shown


def test_words_are_taken_over_and_strange_ones_are_refused(terminal: Terminal) -> None:
    mine = Code.drawn(random.randbytes).words
    assert mine in terminal("words", *mine.split())
    assert mine in terminal("words")
    assert "no word of such a code: hello" in terminal("words", "hello", *mine.split()[1:], status=4)
