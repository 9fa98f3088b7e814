"""Many matches at once over three servers that share a store, against a simple model.

The model of a match is the rules alone, played in one thread from what its players sent last for each turn; it knows
nothing of letters, servers or transactions. Players write to any server, revise their orders at another, and send now
and then again what was taken in already.
"""

from __future__ import annotations

import io
import re
import time
import tomllib
import zipfile
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import attachment, body
from in_a_box.stores import of_postgresql, place
from machines.lives import PATIENCE, SERVER, Figures, Player, Server, Table
from playing.random_players import random_setup

from pbem.games import rules
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify
from pbem.server import daemon
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

pytestmark = of_postgresql

SERVERS = 3
REVISED, AGAIN = 0.3, 0.05
OPTIONS = {"fleet": "cost:7"}
LEASE = timedelta(minutes=2)
"""However slow the machine, no server is held dead here: what is given back then comes after what is newer."""

MOMENT = 10.0
"""At most so many seconds count as waited for at once: the whole of us may have been stopped meanwhile."""


class Wavering(Player):
    """Changes its mind: now and then it sends orders, and then other ones that are final."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.played: dict[int, str] = {}
        """By turn, what was sent last."""
        self.drafted = ""
        self.aim = 0.95
        self.options = rules("spaceships").options(OPTIONS, 2)

    def write(self, text: str, *, sign: bool = True) -> None:
        if text.startswith("orders ") and self.random.random() < REVISED:
            head, _, final = text.partition("final\n")
            super().write(f"{head}{self.drafted}end\n")
            text = re.sub(r"^rev (\d+)$", lambda rev: f"rev {int(rev[1]) + 1}", head, flags=re.MULTILINE)
            text += f"final\n{final}"
        super().write(text, sign=sign)

    def _block(self, kind: str, head: str, letter: EmailMessage) -> str:
        if kind == "setup":
            self.setups[1] = random_setup(self.random, self.options, 1)
            return self.setups[1] + "\n"
        block = super()._block(kind, head, letter)
        if kind == "orders":
            self.played[int(head.partition("\n")[0].split()[-1])] = block.removeprefix("final\n")
            self.drafted = super()._block(kind, head, letter).removeprefix("final\n")
        return block


class ManyMatches(Table):
    """As many matches, each of two players of its own."""

    def __init__(self, folder: Path, seed: str, matches: int, figures: Figures) -> None:
        super().__init__(folder, seed, lambda _: None, figures)
        self.pairs: list[tuple[Wavering, Wavering]] = []
        for number in range(matches):
            terms = f"fleet: {OPTIONS['fleet']}\nkind: scored\ngames: 1\nsettle: 6h"
            proposal = f"new spaceships with bob{number}\nserver {SERVER}\nplayer ann{number}\n{terms}\nend\n"
            ann, bob = Wavering(f"ann{number}", self.random, proposal), Wavering(f"bob{number}", self.random)
            ann.opponent, bob.opponent = bob, ann
            self.pairs.append((ann, bob))
        self.players = {player.address: player for pair in self.pairs for player in pair}
        self.again = 0

    def play(self) -> None:
        address = place(self.folder)
        assert isinstance(address, PostgresqlAddress)
        with ExitStack() as stack:
            stack.enter_context(self.smarthost.open())
            (self.folder / "keys").mkdir(mode=0o700)
            self.server = Server(self.folder, self.smarthost.port, shared=address)
            self.servers = []
            for number in range(SERVERS):
                folder = self.folder / f"server{number}"
                folder.mkdir()
                (folder / "keys").symlink_to(self.folder / "keys")
                server = Server(folder, self.smarthost.port, lease=(LEASE, daemon.RENEW), shared=address)
                stack.callback(server.kill)
                server.start()
                self.servers.append(server)
            self._play()
            self._settle()
            for server in self.servers:
                server.stop()
            self.check()
        self.figures.matches += len(self.pairs)

    def _play(self) -> None:
        for _, bob in self.pairs:
            bob.register()
        registered = "You are registered"
        begun = 0
        waited, now = 0.0, time.monotonic()
        while not all(player.closed for player in self.players.values()):
            for ann, bob in self.pairs[begun:]:
                if not any(registered in body(letter) for letter in bob.letters.values()):
                    break
                ann.register()
                begun += 1
            self._post()
            waited += min(time.monotonic() - now, MOMENT)
            now = time.monotonic()
            while self._collect():
                waited = 0.0
            assert waited < PATIENCE, f"nothing happens any more: {self._state()}"

    def _post(self) -> None:
        """A letter of each of some players, to any of the servers; now and then one that was taken in before."""
        writing = [player for player in self.players.values() if player.outgoing]
        for player in self.random.sample(writing, min(len(writing), 8)):
            raw = player.outgoing[0]
            if not self.random.choice(self.servers).send(raw, player.address).startswith("250"):
                self.figures.retried += 1  # the store was busy for long
                continue
            player.note_sent()
            self.figures.sent += 1
            if self.random.random() < AGAIN:
                self.random.choice(self.servers).send(raw, player.address)
                self.again += 1

    def _settle(self) -> None:
        give_up = time.monotonic() + PATIENCE
        with self.server.store() as (_, inbox, outbox):
            while inbox.count("done") < inbox.count() or outbox.count("delivered") < outbox.count():
                assert time.monotonic() < give_up, f"something waits for ever: {self._state()}"
                time.sleep(0.05)
        while self._collect():
            pass


def record_of(player: Player) -> tuple[dict[str, Any], bytes]:
    """The record of a player's only game, and the bundle in which it is."""
    for letter in reversed(player.letters.values()):
        if any((part.get_filename() or "").endswith(".pbem.zip") for part in letter.iter_attachments()):
            content = attachment(letter, ".pbem.zip")
            with zipfile.ZipFile(io.BytesIO(content)) as bundle:
                (name,) = (name for name in bundle.namelist() if name.startswith("records/"))
                return tomllib.loads(bundle.read(name).decode()), content
    raise AssertionError("no letter has a bundle")


def expected(pair: tuple[Wavering, Wavering]) -> tuple[list[str], list[dict[str, str]], dict[str, Any]]:
    """What the rules make of what both sent last: setups, turns, and the result."""
    judge = rules("spaceships")
    options = judge.options(OPTIONS, 2)
    setups = [judge.setup(options, seat, player.setups[1]) for seat, player in enumerate(pair, 1)]
    state = judge.begin(options, setups)
    turns: list[dict[str, str]] = []
    while state.result is None:
        number = len(turns) + 1
        orders = {seat: judge.order(state, seat, pair[seat - 1].played[number]) for seat in state.due}
        turns.append({str(seat): order.text for seat, order in orders.items()})
        state, _ = judge.turn(state, orders)
    result = {"winner": state.result.winner, "scores": list(state.result.scores)}
    return [setup.text for setup in setups], turns, result


def played(folder: Path, matches: int) -> ManyMatches:
    table = ManyMatches(folder, f"many matches {matches}", matches, Figures())
    table.play()
    for pair in table.pairs:
        record, bundle = record_of(pair[0])
        setups, turns, result = expected(pair)
        assert [seat["name"] for seat in record["seat"]] == [player.name for player in pair]
        assert [seat["setup"] for seat in record["seat"]] == setups
        assert [{seat: turn[seat] for seat in turn if seat.isdecimal()} for turn in record["turn"]] == turns
        assert {name: record["result"][name] for name in result} == result
        assert record_of(pair[1])[1] == bundle
        assert all(check.holds for check in verify(bundle, Letters))
    return table


def test_some_matches_over_three_servers(tmp_path: Path) -> None:
    table = played(tmp_path, 4)
    with table.server.store() as (database, _, _):
        assert database.scalar("SELECT count(*) FROM matches WHERE phase = 'closed'") == 4


@pytest.mark.long
def test_two_hundred_matches_over_three_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = played(tmp_path, 200)
    turns = Counter(len(ann.played) for ann, _ in table.pairs)
    with capsys.disabled():
        print(f"\n{table.figures}; {table.again} given again; turns of matches: {sorted(turns.items())}")
    assert table.again
