"""The house at games of other packages: it plays them as their random players do, and as blind as its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.machine import Machine
from in_a_box.outside import RACE, enabled, found_in, install, record
from in_a_box.referee import SERVER, Referee, new
from player.program_matches import agrees, convicted, judged

from pbem.games.outside import enable
from pbem.player.account_file import BadAccount
from pbem.player.blind import seeds
from pbem.player.opponent import is_played
from pbem.player.program_config import GameLimits, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


ACCOUNT = f"""\
[account]
name = "house"
server = "{SERVER}"
server_address = "pbem@{SERVER}"
address = "house@mail.example"
key = "k"
mail_in = "mbox:/m"
mail_out = "sendmail:"
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    install(tmp_path / "site")
    with found_in(tmp_path / "site"):
        yield tmp_path / "site"


def played(folder: Path, game: str, *orders: str) -> tuple[bytes, list[bytes]]:
    """A match against the house; its bundle, and the seed that the house opened."""
    referee = Referee(folder)
    house = Machine(referee, referee.person("house"), folder / "house" / "memory.sqlite")
    bob = referee.registered("bob")
    house.live()
    referee.send(bob, new(bob, game, "house"))
    house.live()
    while (standing := house.letters.matches.standing("m1")).phase != "closed":
        if standing.turn > 5:
            referee.send(bob, "resign m1 match\n")
        elif standing.phase == "setup":
            referee.send(bob, bob.filled("setup", "hide 7"))
        elif not standing.asked:
            referee.send(bob, bob.filled("orders", f"final\n{orders[standing.turn % len(orders)]}"))
        house.live()
    bundle, opened = house.memory.bundle("m1"), seeds(bob.text)
    house.close()
    referee.close()
    assert bundle is not None
    return bundle, opened


def test_the_house_plays_it_blind(tmp_path: Path) -> None:
    install(tmp_path / "site")
    with found_in(tmp_path / "site"):
        enable(["marbles"])
        bundle, opened = played(tmp_path, "marbles", *(f"guess {number}" for number in range(1, 10)))
        assert agrees(bundle, opened)
        assert convicted(bundle, [bytes(16)])
    # Other players than those of the package that was agreed on convict nobody.
    players = tmp_path / "site" / "pbem_marbles" / "players.py"
    players.write_text(players.read_text().replace("randint(1, ", "randint(2, "))
    with found_in(tmp_path / "site"):
        enable(["marbles"])
        (finding,) = judged(bundle, opened)
    assert (finding.standing, "the package of marbles is another here" in finding.found) == ("open", True)


def test_a_game_without_setups_asks_for_none(tmp_path: Path) -> None:
    with enabled(tmp_path / "site", "race", RACE):
        assert agrees(*played(tmp_path, "race", "throw it"))


def test_its_file_enables_the_games_that_it_names(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "opponent.toml"
    file.write_text(f"{ACCOUNT}[games.marbles]\n[games.spaceships]\n")
    assert not is_played("marbles")
    assert load(file).games == dict.fromkeys(("marbles", "spaceships"), GameLimits())
    assert is_played("marbles")
    file.write_text(f"{ACCOUNT}[games.chess]\n")
    with pytest.raises(BadAccount, match='no package that is installed here has a game "chess"'):
        load(file)
    assert site


def test_a_game_without_players_is_refused(site: Path, tmp_path: Path) -> None:
    (site / "pbem_marbles" / "players.py").unlink()
    record(site, "pbem_marbles")
    file = tmp_path / "opponent.toml"
    file.write_text(f"{ACCOUNT}[games.marbles]\n")
    with pytest.raises(BadAccount, match=r"games\.marbles: its package has no players"):
        load(file)
