"""Games with dice and cards: what chance deals follows from a chain that the server began before, and the orders."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import fails_for_both, saying, with_entry
from in_a_box.inquiries import held
from in_a_box.outside import RACE, found_in, install
from in_a_box.referee import Referee, attachment
from world.mutations import signed_again

from pbem.games import rules
from pbem.games.draws import Draws
from pbem.games.outside import enable
from pbem.match.dealt import hashed
from pbem.match.record import Illegal, read, replay, write
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.verification import verify
from pbem.testing import CHECKS, subject, write_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage
    from pathlib import Path


@pytest.fixture(scope="module", params=["open", "secret"])
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    module = install(folder, "pbem-race", game="race", source=RACE)
    if request.param == "open":
        source = (module / "__init__.py").read_text()
        (module / "__init__.py").write_text(source.replace("secret_chance = True", "secret_chance = False"))
    with found_in(folder):
        enable(["race"])
        yield request.param


@pytest.fixture
def referee(site: str, tmp_path: Path) -> Iterator[Referee]:
    assert site
    with closing(Referee(tmp_path)) as referee:
        yield referee


@pytest.fixture(scope="module")
def end(site: str, tmp_path_factory: pytest.TempPathFactory) -> EmailMessage:
    """The letter at the end of a race."""
    assert site
    with closing(Referee(tmp_path_factory.mktemp("race"))) as referee:
        people = referee.agreed("", game="race")
        for turn in range(100):
            person = people[turn % 2]
            referee.send(person, person.filled("orders", f"final\nthrow {'abcdefghij'[turn % 10]}"))
            if turn == 2:
                referee.read_cold()
            if any("the end" in str(letter["Subject"]) for letter in person.letters):
                return person.find("the end")
    raise AssertionError("nobody has won")


def test_a_race_is_played_and_proved(end: EmailMessage, site: str) -> None:
    assert held(end)
    found = bundle.read(attachment(end, ".zip"))
    bodies = [entry.body for entry in found.entries]
    turns = [entry.body for entry in found.entries if entry.type == "turn"]
    (revealed,) = [entry.body for entry in found.entries if entry.type == "revealed"]
    assert all(("chance" in body) == (site == "open") for body in turns)
    assert ("chance" in revealed) == (site == "secret")
    last = turns[-1] if site == "open" else revealed
    assert hashed(last["chance"], len(turns)) == bodies[1]["chance"]
    assert not [path for path in found.papers if "chance" in path]
    record = read(found.papers["records/game-1.pbem.toml"].decode())
    seed = "0" * 64
    for number, turn in enumerate(record.turns, 1):
        link = hashed(last["chance"], len(turns) - number)
        orders = [f"{seat} {sha256_hex(text.encode())}" for seat, text in sorted(turn.orders.items())]
        lines = ["pbem chance 1", bodies[0]["rules"], f"game 1 turn {number}", link, seed, *orders]
        seed = sha256_hex("".join(f"{line}\n" for line in lines).encode())
        assert turn.chance == seed, "docs/bundle.md, 13.2"
    assert len({turn.chance for turn in record.turns}) == len(turns)
    assert write(record).encode() == found.papers["records/game-1.pbem.toml"]
    assert replay(record).result["winner"] in {1, 2}


def test_a_link_of_another_chain_convicts(end: EmailMessage) -> None:
    found = bundle.read(attachment(end, ".zip"))
    at = max(number for number, entry in enumerate(found.entries) if "chance" in entry.body)
    forged = signed_again(with_entry(found, at, saying(chance="0" * 64)), at)
    fails_for_both(forged, "does not belong to the game's chain")
    first = signed_again(with_entry(found, 1, lambda body: body.pop("chance")), 1)
    fails_for_both(first, "does not belong to the game's chain")


def test_a_running_game_shows_that_its_links_belong_together(referee: Referee, site: str) -> None:
    ann, bob = referee.agreed("", game="race")
    for person in (ann, bob):
        referee.send(person, person.filled("orders", "final\nthrow it"))
    referee.send(ann, "transcript m1\n")
    found = bundle.read(attachment(ann.last, ".zip"))
    assert [check.holds for check in verify(attachment(ann.last, ".zip"))][-1] is not False
    assert sum("chance" in entry.body for entry in found.entries) == (3 if site == "open" else 1)


@pytest.mark.parametrize("site", ["secret"], indirect=True)
def test_the_game_conforms(site: str) -> None:
    assert site
    game = subject("race")
    write_records(game)
    for check in CHECKS.values():
        check(game)


@pytest.mark.parametrize("site", ["secret"], indirect=True)
def test_a_record_names_what_was_dealt(site: str) -> None:
    assert site
    game = subject("race")
    write_records(game)
    text = next(game.records.rglob("*.pbem.toml")).read_text()
    assert read(text).turns[0].chance
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("chance"))
    with pytest.raises(Illegal, match="turn 1: `chance` is missing"):
        replay(read(without))
    with pytest.raises(Illegal, match="not a seed"):
        read(text.replace('chance = "', 'chance = "x'))
    assert rules("race").chance


def test_numbers_of_the_stream() -> None:
    """The test vectors of docs/bundle.md, 13.2."""
    seed = "5e" * 32
    chance = Draws(seed)
    assert [chance.die(6) for _ in range(8)] == [6, 6, 2, 1, 1, 2, 6, 4]
    assert Draws(seed).shuffled(8) == (6, 7, 4, 2, 5, 1, 0, 3)
    large = Draws(seed)
    assert [large.below(2**31 + 1) for _ in range(3)] == [1843040267, 1195279001, 1196111466]  # one is passed over
    with pytest.raises(ValueError, match="below 0"):
        chance.below(0)
    assert hashed(seed, 20_000) == "46fff1e8ec1f4f881295dcbbf32470d908bb1ec7dc02a601aaf4dede38901648"
