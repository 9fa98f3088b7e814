"""`pbem opponent` as it runs: the real daemon, a program at one end, `pbem play` or another program at the other."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from machines import post_office
from machines.post_office import PostOffice, Servers
from world.members import Machine
from world.mutations import rewritten

from pbem.cli.verify import verify
from pbem.player import blind
from pbem.player.blind import OCTETS, PROGRAM, Plan, comment, replayed
from pbem.player.exchange import fetch
from pbem.player.opponent import STRATEGIES, edition
from pbem.proof.bundle import read, write
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Proved
from pbem.proof.verification import verify as check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TERMS = {
    "spaceships": "fleet: cost:3",
    "dueling-masters": "max_turns: 8",
    "shoot-em-up": "board: 7x7\nmax_turns: 3",
}
SHORT = {
    "spaceships": "fleet: cost:1",
    "dueling-masters": "max_turns: 3",
    "shoot-em-up": "board: 5x5\nmax_turns: 2",
}
LOAD = int(os.environ.get("PBEM_LOAD", "12"))
"""Matches of the load; docs/opponent.md says with how many it was run."""

EACH = 20
"""Matches that one partner proposes."""

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

    def seed(self, match: str) -> str:
        with closing(sqlite3.connect(self.folder / "opponent.sqlite")) as memory:
            (fact,) = memory.execute("SELECT value FROM facts WHERE name = ?", (f"plan {match}",)).fetchone()
            return str(fact).split()[1]


class Partner(Machine):
    """A program in this process, which proposes matches."""

    def until(self, condition: Callable[[], object], patience: float = 120.0) -> None:
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, [standing.phase for standing in self.letters.matches.standings]
            self.look()
            time.sleep(0.02)

    def propose(self, game: str, terms: str) -> str:
        """Propose a match to the house, committing to a seed in that very letter; its name."""
        seed, level = os.urandom(OCTETS), self.level
        plan = Plan("play.example", self.name, game, level, seed)
        text = f"{terms}\nsettle: 0\n{comment(plan.commitment)}"
        known = {standing.match for standing in self.letters.matches.standings}
        self.letters.tell(f"new {game} with house", datetime.now(UTC), text=text)
        found: list[str] = []
        self.flush()  # its plan must be known before it is looked at again
        end = time.monotonic() + 60
        while not found:
            assert time.monotonic() < end
            events = list(fetch(self.letters, self.source, self.clock))
            found = [standing.match for standing in self.letters.matches.standings if standing.match not in known]
            for match in found:
                self.memory.know(f"plan {match}", f"{level} {seed.hex()} {edition(game)} {PROGRAM}")
            self.program.hear(events, datetime.now(UTC))
            time.sleep(0.02)
        return found[0]

    def verified(self, folder: Path, match: str, house: House) -> str:
        """What `pbem verify --opponent` says of both programs."""
        bundle = self.memory.bundle(match)
        assert bundle is not None
        file = folder / f"{match}.pbem.zip"
        file.write_bytes(bundle)
        seeds = [house.seed(match), str(self.memory.fact(f"plan {match}")).split()[1]]
        words_ = [word for seed in seeds for word in ("--opponent", seed)]
        done = CliRunner().invoke(verify, [str(file), *words_])
        assert done.exit_code == 0, done.output
        return done.output


@contextmanager
def table(folder: Path, number: int = 1) -> Iterator[tuple[House, list[Partner]]]:
    """A house, and so many partners: nobody proposes without end on one day."""
    office = PostOffice(folder)
    with office.opened():
        server = Servers(folder, office.port, "store.sqlite")
        house: House | None = None
        partners: list[Partner] = []
        try:
            names = [f"partner{each}" for each in range(number)]
            for name in ("operator@play.example", "house@mail.example", *(f"{name}@mail.example" for name in names)):
                office.box(name)
            house = House(folder / "program", folder / "house", server.ports[0])
            house.until("registered as house")
            for at, name in enumerate(names):
                partner = Partner(folder, server.ports[0], name, partial(datetime.now, UTC), 1 + at % 2)
                partners.append(partner)
                partner.until(partial(partner.memory.fact, "account"))
            yield house, partners
            house.stop()
            server.stop()
        finally:
            for partner in partners:
                partner.memory.close()
            if house is not None:
                house.kill()
            server.kill()


def played(partner: Partner, house: House, matches: list[str]) -> None:
    """Go on until all of these are closed, with their seeds opened."""

    def over() -> bool:
        closed = {one.match for one in partner.letters.matches.standings if one.phase == "closed"}
        log = house.log if closed >= set(matches) else ""
        return all(f"{match}: closed; its seed" in log for match in matches)

    partner.until(over, 60.0 + 20.0 * len(matches))


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


@pytest.mark.long
def test_a_load_of_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once, in all games; the house is killed in their midst, and started again. Nothing is lost."""
    monkeypatch.setattr(post_office, "PATIENCE", 120.0)
    with table(tmp_path, -(-LOAD // EACH)) as (house, partners):
        games = [game for _ in range(LOAD) for game in STRATEGIES][:LOAD]
        proposed: list[tuple[Partner, list[str]]] = []
        for at, partner in enumerate(partners):
            own = games[at * EACH : (at + 1) * EACH]
            whole = len(STRATEGIES) if at == 0 else 0  # most matches are over after a few letters
            terms = [TERMS[game] for game in own[:whole]] + [SHORT[game] for game in own[whole:]]
            proposed.append((partner, [partner.propose(*each) for each in zip(own, terms, strict=True)]))
            if len(proposed) == 1:
                partner.until(lambda: any(one.phase == "playing" for one in partners[0].letters.matches.standings))
                house.kill()
                house.start()
        for partner, matches in proposed:
            played(partner, house, matches)
        end = time.monotonic() + 60
        while unsettled(tmp_path):
            assert time.monotonic() < end
            time.sleep(0.1)
        for partner, matches in proposed:
            partner.look()
            assert not partner.memory.alarms()
            for match in matches:
                assert partner.verified(tmp_path, match, house).count("played blind") == 2
        assert " ERROR " not in house.log
        assert " WARNING " not in house.log
        partner, matches = proposed[0]
        for match in matches[: len(STRATEGIES)]:
            bundle = partner.memory.bundle(match)
            assert bundle is not None
            convicted(bundle, house.seed(match))


def unsettled(folder: Path) -> int:
    """Letters that came to the server and are not handled, or left it for nobody's Maildir."""
    with closing(sqlite3.connect(folder / "store.sqlite")) as store:
        ((waiting,),) = store.execute("SELECT count(*) FROM inbox WHERE state <> 'done'")
        ((sent,),) = store.execute("SELECT count(*) FROM outbox")
    filed = sum(1 for _ in folder.glob("*/new/*"))
    return int(waiting) + abs(int(sent) - filed)


def convicted(bundle: bytes, seed: str) -> None:
    """Another seed, another level, and one byte of an order of the house do not pass."""

    def judged(opened: str) -> set[str]:
        proved = Proved()
        *_, last = check(bundle, Letters, None, proved)
        assert last.holds, last
        return {one.standing for one in replayed(proved, [bytes.fromhex(opened)]) if one.what == "seat 2"}

    assert judged(seed) == {"agrees"}
    assert judged(f"{int(seed[0], 16) ^ 1:x}{seed[1:]}") == {"contradicts"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blind, "LEVELS", (2, 3))  # it says 1
        assert judged(seed) == {"contradicts"}
    found = read(bundle)
    path = next(name for name in sorted(found.papers) if re.fullmatch(r"letters/game-1-turn-\d+-seat-2\.eml", name))
    letter = bytearray(found.papers[path])
    letter[letter.index(b"\nfinal") + 8] ^= 1
    *_, last = check(write(rewritten(found, path, bytes(letter))), Letters, None, Proved())
    assert not last.holds
