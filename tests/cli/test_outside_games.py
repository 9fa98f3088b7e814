"""A game of another package, played from the terminal and on the page at home, and enabled on a server."""

from __future__ import annotations

import json
import re
import tomllib
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest
from cli.test_operator import House
from in_a_box.outside import MARCH, RACE, enabled, found_in, install
from in_a_box.referee import Referee, form_in, new
from in_a_box.terminal import Terminal

from pbem.cli.play.terminal import Terminal as Front
from pbem.games import GAMES, outside, part_of
from pbem.pages import hash_of
from pbem.player import program_config, trial_server
from pbem.player.account_file import places
from pbem.player.beginning import begin_to_play
from pbem.player.correspondence.standings import Impossible
from pbem.player.page_room import PlayRoom
from pbem.player.play_table import PlayTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from in_a_box.referee import Mailbox

    from pbem.player.page_port import PageAnswer


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    with enabled(tmp_path / "site", *getattr(request, "param", ())):
        referee = Referee(tmp_path)
        found = Terminal(tmp_path, referee)
        monkeypatch.setenv("HOME", str(found.home))
        monkeypatch.setattr(PlayTable, "now", lambda _: referee.now)
        yield found
        referee.close()


def begun(terminal: Terminal) -> Mailbox:
    terminal.register()
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, "marbles", "ann"))
    shown = terminal("accept", "m1", "--yes")
    assert "  rules     those of pbem-marbles 0.1.0, which is not part of pbem\n  code      " in shown
    assert "Careful" not in shown
    assert "setup of game 1: your move" in terminal()
    return bob


def test_a_match_is_played_from_the_terminal(terminal: Terminal) -> None:
    bob = begun(terminal)
    assert "Hide from 1 to 9: `hide 5`" in terminal("m1")
    assert "say `hide` and a number from 1 to 9" in terminal("setup", "m1", "hide 10", "--yes", status=1)
    assert "your setup\n  hide 3\n" in terminal("setup", "m1", "hide 3", "--yes")
    terminal.referee.send(bob, bob.filled("setup", "hide 5"))
    terminal.referee.send(bob, bob.filled("orders", "final\nguess 2"))
    shown = terminal("m1")
    assert "bob guesses 2: more" in shown
    assert "Guess a number from 1 to 9" in shown
    assert "m1, turn 2: you order\n  guess 5\n" in terminal("m1", "guess", "5", "--final", "--yes")
    assert "closed: you won" in terminal()
    assert "checks hold" in terminal("verify", "m1")


def test_other_code_than_the_servers_is_told_before_it_is_agreed_on(terminal: Terminal) -> None:
    terminal.register()
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, "marbles", "ann"))
    outside.PACKAGES["marbles"] = outside.Package("pbem-marbles", "0.2.0", None)
    shown = terminal("m1")
    assert (
        "Careful: here is pbem-marbles 0.2.0, of unknown code; the server plays by pbem-marbles 0.1.0, code " in shown
    )


def test_whoever_does_not_enable_it_is_told_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with enabled(tmp_path / "site"):
        referee = Referee(tmp_path)
        terminal = Terminal(tmp_path, referee)
        monkeypatch.setattr(PlayTable, "now", lambda _: referee.now)
        begun(terminal)
    with found_in(tmp_path / "site"):
        assert "marbles with bob" in terminal()
        assert (
            'm1 cannot be shown: the game "marbles" of pbem-marbles 0.1.0 is not enabled: pbem --game marbles'
            in terminal("m1", status=4)
        )
    referee.close()


def test_the_page_at_home_shows_the_text_and_takes_what_is_written(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = begun(terminal)
    room, of = room_of(terminal, monkeypatch)

    def shown(what: str) -> str:
        return page(room, what, of).content.decode()

    def done(what: str, **asked: object) -> Any:
        answer = room.act(what, {**of, **asked})
        assert answer is not None
        return json.loads(answer.content)

    pages = set()
    """The addresses under which the browser has seen what is to be written, without what it would not load anew."""

    def moment() -> Any:
        found = json.loads(shown("match"))
        assert found["board"] == "composer"
        pages.add(found["position"].partition("#")[0])
        return [found["phase"], found["game"], found["turn"], found["hash"]]

    assert "Hide from 1 to 9" in shown("composer")
    assert '<textarea id="notation"' in shown("composer")
    assert "say `hide` and a number" in done("judge", text="hide 10")["faults"][0]
    assert done("judge", text="hide 3")["words"] == ["hide 3"]
    assert "sent" in done("send", text="hide 3", shown=moment())
    terminal.post()
    terminal.referee.send(bob, bob.filled("setup", "hide 5"))
    terminal.referee.send(bob, bob.filled("orders", "final\nguess 2"))
    terminal.bring()
    room.look()
    assert "bob guesses 2: more" in shown("board")
    assert "textarea" not in shown("board")
    assert "Guess a number from 1 to 9" in shown("composer")
    assert done("judge", text="guess 5")["words"] == ["guess 5"]
    assert "sent" in done("send", text="guess 5", final=True, shown=moment())
    terminal.post()
    terminal.bring()
    room.look()
    assert len(pages) == 2
    assert "closed" in shown("match")
    assert "bob: guess 2" in shown("replay")
    del GAMES["marbles"]
    assert shown("replay") == "The bundle of m1 cannot be shown."
    GAMES["marbles"] = "pbem_marbles"
    for game in ("spaceships", "marbles"):
        assert f'data-game="{game}"' in shown("")
        assert (f'href="lesson?game={game}"' in shown("")) == (game == "spaceships")
    assert '<option value="marbles">' in shown("")


def test_the_house_at_home_plays_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with enabled(tmp_path / "site"):
        for _ in range(2):
            trial_server.offer("marbles")
        trial_server.offer("spaceships")
        config = tmp_path / ".local/share/pbem/pbem.toml"
        assert tomllib.loads(config.read_text("utf-8"))["games"] == {"enabled": ["marbles"]}
        assert {"spaceships", "marbles"} <= program_config.load(config.with_name("house.toml")).games.keys()


@pytest.mark.parametrize("terminal", [("march", MARCH)], indirect=True)
def test_a_trial_game_of_three_without_setups_begins_when_all_programs_have_accepted(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.register()
    programs = [terminal.referee.registered(name) for name in ("bob", "carl")]
    monkeypatch.setattr(trial_server, "offer", lambda _: [program.name for program in programs])
    monkeypatch.setattr(trial_server, "is_there", lambda _: True)
    accepting: list[Mailbox] = []

    def wait(table: PlayTable, until: Callable[[], bool], _: str) -> bool:
        """One look, as if the patience were over then."""
        terminal.post()
        for program in accepting:
            terminal.referee.send(program, form_in(program.text, "accept", lines=1))
        accepting.clear()
        terminal.bring()
        table.fetch()
        return until()

    monkeypatch.setattr(PlayTable, "wait", wait)
    table = PlayTable(places({"HOME": str(terminal.home)}), "ann@play.example", Front())
    for _ in range(2):  # again, too: it is not shown before it begins
        with pytest.raises(Impossible, match="The house has not answered yet"):
            begin_to_play(table, "march")
    accepting += programs
    standing = begin_to_play(table, "march")
    assert (standing.phase, standing.turn, len(standing.players)) == ("playing", 1, 3)


@pytest.mark.parametrize("terminal", [("race", RACE)], indirect=True)
def test_the_page_at_home_draws_what_the_game_draws_and_offers_orders(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.register()
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, "race", "ann"))
    terminal("accept", "m1", "--yes")
    terminal.referee.send(bob, bob.filled("orders", "final\nthrow it"))
    assert "m1" in terminal()
    room, of = room_of(terminal, monkeypatch)
    room.look()
    composer = page(room, "composer", of)
    text = composer.content.decode()
    score, _ = terminal.referee.match().under_way.scores
    words = f"A track of thirty fields: seat 1 is on field {score}, seat 2 on field 0."
    assert f'alt="{words}"' in text
    drawn = re.search(r'<img src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', text)
    assert drawn
    assert b64decode(drawn[1]).decode() == part_of("race", "boards").boards({"scores": [score, 0]})[0].svg
    assert '<option value="throw luck"></option>' in text
    inline = re.search(r"<script>(.*)</script>", text, re.DOTALL)
    assert inline
    assert f"script-src '{hash_of(inline[1])}';" in composer.policy
    assert "img-src data:;" in composer.policy
    board = page(room, "board", of)
    assert "script-src" not in board.policy
    text = board.content.decode()
    assert words in text
    assert "<textarea" not in text
    assert "<script" not in text


def room_of(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> tuple[PlayRoom, dict[str, str]]:
    """The page at home, and what its requests about match m1 name."""
    table = PlayTable(places({"HOME": str(terminal.home)}), "ann@play.example", Front())
    room = PlayRoom(table.folders, "", "en", print)
    monkeypatch.setattr(room.work, "ask", lambda work, _: work())  # no other thread
    return room, {"account": room.seat(table), "match": "m1"}


def page(room: PlayRoom, what: str, of: dict[str, str]) -> PageAnswer:
    answer = room.view(what, of)
    assert answer is not None
    return answer


# The server.


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A server on which a match of marbles is under way, whose configuration enables it."""
    give = House(tmp_path)
    give.config.write_text(give.config.read_text() + '[games]\nenabled = ["marbles"]\n')
    return give


def test_the_operator_sees_what_is_enabled(house: House, tmp_path: Path) -> None:
    install(tmp_path / "one")
    with found_in(tmp_path / "one"):
        assert "ok     games      marbles is of pbem-marbles 0.1.0, code " in house.run("check-config", status=1)
    install(tmp_path / "other", name="pbem-more-marbles")
    with found_in(tmp_path / "one", tmp_path / "other"):
        both = "pbem-marbles 0.1.0 and pbem-more-marbles 0.1.0"
        assert f'FAULT  games      there are two games "marbles", of {both}' in house.run("check-config", status=1)
    with found_in(tmp_path / "empty"):
        said = 'no package that is installed here has a game "marbles"'
        assert f"FAULT  games      {said}" in house.run("check-config", status=1)


def test_a_server_does_not_start_without_its_games(tmp_path: Path) -> None:
    """It does not start with two packages of one game, nor without a game of which it keeps matches."""
    with enabled(tmp_path / "one"):
        referee = Referee(tmp_path)
        referee.agreed(game="marbles")
        referee.close()
    house = House(tmp_path)
    with found_in(tmp_path / "one"):
        for command in ("serve", "status"):
            said = 'there are matches of "marbles" in the store: name it in [games] enabled'
            assert said in house.run(command, status=4)
    house.config.write_text(house.config.read_text() + '[games]\nenabled = ["marbles"]\n')
    with found_in(tmp_path / "none"):
        assert 'no package that is installed here has a game "marbles"' in house.run("serve", status=4)
    install(tmp_path / "other", name="pbem-more-marbles")
    with found_in(tmp_path / "one", tmp_path / "other"):
        assert "pbem-marbles 0.1.0 and pbem-more-marbles 0.1.0" in house.run("serve", status=4)
    with found_in(tmp_path / "one"):
        assert "m1" in house.run("match", "list")
