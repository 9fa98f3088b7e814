"""A whole match by mail, for looking at: the real server, its house, and `pbem play`, with the proof at the end.

The demo starts `pbem serve` on a fresh store and a free port, with a house beside it, and is everybody's mail server
itself (`post_office`). Ann has nothing but a Maildir and `pbem play`: what she does here, anybody can type. Which
orders she gives she asks the weakest level of the programs that play (`pbem.player.opponent`), who know no more than
her letters. With more than two players there is bob, who plays in the same way. Then `pbem verify` judges the bundle
that came with the last letter, and that the house played blind. Exit status 0 means that all of it went well.

`make demo-many` has three servers, which share a store in PostgreSQL and are written to in turn. One of them is
killed as soon as it has taken a letter: the others handle that, and nobody notices but by the time that it takes.
"""

from __future__ import annotations

import argparse
import os
import queue
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from demo import demo_sealed
from machines import forked
from machines.post_office import PATIENCE, PBEM, SERVER, Letter, PostOffice, Servers, Trouble, served

from pbem.games import rules
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.memory import Memory
from pbem.player.opponent import Chance, Position, strategy
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import SecretVault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from subprocess import CompletedProcess

    from pbem.games import Options
    from pbem.match.view import MatchView

HOUSE = "house"
LEVEL = 1
"""Of what tells Ann her moves; the house plays at level 2."""
MATCH = "m1"
LOOK = 0.3
"""Seconds between two looks at what an agent knows: each replays all of the game."""
MARKER = ".made-by-the-demo"

HOUSE_CONFIG = """\
[account]
name = "{name}"
server = "{server}"
server_address = "pbem@{server}"
address = "{name}@mail.example"
key = "{name}_ed25519"
mail_in = "maildir:{folder}"
mail_out = "smtp://127.0.0.1:{port}"

[games.{game}]
level = 2
"""


class Played(NamedTuple):
    """How a game is shown."""

    people: tuple[str, ...]
    """Who plays beside the house."""
    options: tuple[str, ...]
    boards: str
    """How the line begins with which the boards begin, after what happened; empty where they are part of that."""


PLAYED = {
    "spaceships": Played(("ann",), (), "Your space"),
    "dueling-masters": Played(("ann",), ("max_turns: 60",), "Left your pieces"),
    "shoot-em-up": Played(("ann", "bob"), ("board: 7x7", "max_turns: 12"), ""),
}


class Terminal:
    """Somebody at a terminal, who knows what came to their mailbox."""

    def __init__(self, folder: Path, name: str, office: PostOffice, seed: str) -> None:
        self.name = name
        self.maildir = folder / name
        self._arrivals = office.box(f"{name}@mail.example")
        self._home = folder / f"{name}-home"
        self._port = office.port
        self._chance = Chance(f"{seed} {name}".encode())
        self.environment = {**os.environ, "HOME": str(self._home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
        self._read: list[Letter] = []

    def __call__(self, *words: str, until: str = "") -> None:
        """Run `pbem play`, and show it as it would be seen, all of it or until a line that begins so."""
        print(f"{self.name}$ pbem play {shlex.join(words)}", flush=True)
        done = self._run(*words)
        if done.returncode:
            raise Trouble(f"status {done.returncode}\n{done.stdout}{done.stderr}")
        lines = done.stdout.rstrip("\n").split("\n")
        end = next((at for at, line in enumerate(lines) if until and line.startswith(until)), None)
        if end is not None:
            lines[end:] = ["..."]
        print("".join(f"    {line}".rstrip() + "\n" for line in lines), flush=True)

    def _run(self, *words: str, patience: float = PATIENCE) -> CompletedProcess[str]:
        return forked.run(["play", "--wait", str(patience), *words], self.environment, 3 * PATIENCE)

    def register(self) -> None:
        ways = ("--in", f"maildir:{self.maildir}", "--out", f"smtp://127.0.0.1:{self._port}")
        self("register", f"{self.name}@{SERVER}", "--address", f"{self.name}@mail.example", "--new-key", *ways)

    def is_asked(self, patience: float = 0.1) -> bool:
        """Whether something is asked of them, or the match is over, now or soon."""
        done = self._run("wait", MATCH, patience=patience)
        if done.returncode not in {0, 3}:
            raise Trouble(f"{self.name} cannot wait: status {done.returncode}\n{done.stdout}{done.stderr}")
        return not done.returncode

    def wait(self) -> None:
        """Wait until something is asked of them."""
        if not self.is_asked(PATIENCE):
            raise Trouble(f"{self.name} waits in vain")

    def receive(self, words: str) -> Letter:
        """The letter that says these words, now or soon."""
        end = time.monotonic() + PATIENCE
        while True:
            for letter in self._read:
                if words in letter.text:
                    return letter
            try:
                self._read.append(Letter(self._arrivals.get(timeout=max(0.0, end - time.monotonic()))))
            except queue.Empty:
                raise Trouble(f"{self.name} waits in vain for “{words}”") from None

    @property
    def standing(self) -> MatchView:
        """How the match stands, by the letters that were fetched."""
        with closing(self._memory()) as memory:
            return self._standing(memory)

    def setup(self) -> list[str]:
        """A setup such as is asked for, in lines."""
        with closing(self._memory()) as memory:
            standing = self._standing(memory)
            options = self._options(memory, standing)
        chance = self._chance.of("setup")
        return strategy(standing.rules).setup(LEVEL, chance, options, standing.seat).splitlines()

    def orders(self) -> list[str]:
        """Orders for the turn that is due, in lines; `--nothing` where there is nothing to order."""
        with closing(self._memory()) as memory:
            standing = self._standing(memory)
            options, turn = self._options(memory, standing), standing.turn
            now = memory.paper(MATCH, 1, turn, "position")
            told = [memory.paper(MATCH, 1, past, "reports") for past in range(1, turn)]
        if now is None or None in told:
            raise Trouble(f"{self.name} lacks a letter before turn {turn}")
        position = Position(options, standing.seat, now["view"], [paper["reports"] for paper in told if paper])
        chance = self._chance.of(f"turn {turn}")
        return strategy(standing.rules).orders(LEVEL, chance, position).splitlines() or ["--nothing"]

    @property
    def remembered(self) -> Path:
        return self._home / f".local/state/pbem/{self.name}@{SERVER}.sqlite"

    @property
    def secrets(self) -> Path:
        return self._home / f".local/state/pbem/{self.name}@{SERVER}.secrets"

    def _memory(self) -> Memory:
        return Memory(self.remembered)

    def _standing(self, memory: Memory) -> MatchView:
        found = memory.standing(MATCH)
        if found is None:
            raise Trouble(f"{self.name} knows of no match")
        return found

    def _options(self, memory: Memory, standing: MatchView) -> Options:
        asked = memory.paper(MATCH, 1, 0, "setup")
        if asked is None:
            raise Trouble(f"{self.name} was asked for no setup")
        return rules(standing.rules).options(asked["options"], len(standing.players))


class AtAgent:
    """Somebody for whom `pbem agent` answers, and who types what it asks for."""

    def __init__(self, terminal: Terminal, log: Path) -> None:
        self.terminal = terminal
        self.decided = 0
        self._said = log.open("w", encoding="utf-8")
        print(f"{terminal.name}$ pbem agent --yes      (from now on)", flush=True)
        self._process = subprocess.Popen(
            [PBEM, "agent", "--yes"],
            env=terminal.environment,
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def asked(self) -> int:
        """The turn whose orders it asks for; 0 for none."""
        status = self._process.poll()
        if status is not None:
            raise Trouble(f"{self.terminal.name}'s agent ended by itself, with status {status}")
        with self._agent() as agent:
            return agent.shown(MATCH).turn if agent.asks(MATCH) else 0

    @contextmanager
    def _agent(self) -> Iterator[Agent]:
        """What it knows, to look at."""
        with closing(self.terminal._memory()) as memory:
            account = Account(self.terminal.name, SERVER, "", "", "", "", "")
            yield Agent(
                Correspondence(account, memory, None, os.urandom), SecretVault(self.terminal.secrets), os.urandom
            )

    def type(self, turn: int) -> None:
        """Type the orders that it asks for, and wait until it has them."""
        standing = self.terminal.standing
        with self._agent() as agent:
            shown, options = agent.shown(MATCH), agent.game(standing).options
        position = Position(options, standing.seat, shown.view, shown.reports)
        chance = self.terminal._chance.of(f"turn {turn}")
        orders = strategy(standing.rules).orders(LEVEL, chance, position).splitlines() or ["--nothing"]
        print(f"{self.terminal.name}, at pbem agent, turn {turn}: {MATCH} {'; '.join(orders)}", flush=True)
        assert self._process.stdin is not None
        self._process.stdin.write(f"{MATCH} {'; '.join(orders)}\n")
        self._process.stdin.flush()
        self.decided += 1
        end = time.monotonic() + PATIENCE
        while self.asked() == turn:
            if time.monotonic() > end:
                raise Trouble(f"{self.terminal.name}'s agent does not take the orders")
            time.sleep(LOOK)

    def close(self) -> None:
        """End it well."""
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)
        self._said.close()


# The match


def begin(people: Sequence[Terminal], game: str, option: str) -> None:
    """The match from its proposal to the setups of all."""
    ann, *others = people
    ann("new", game, *(other.name for other in others), HOUSE, *PLAYED[game].options, option, "--yes")
    for other in others:
        other.wait()
        other("accept", MATCH, "--yes")
    for person in people:
        person.wait()
        person("setup", MATCH, *person.setup(), "--yes")


def play(people: Sequence[Terminal], game: str) -> None:
    """The whole match, from the proposal until it is closed and each bundle is verified."""
    begin(people, game, "settle: 0")
    ann = people[0]
    start = time.monotonic()
    ann.wait()
    ann(MATCH)
    while (mover := whose_move(people)) is not None:
        if start and mover.standing.turn > 1:
            print(f"Stopwatch: the first report {time.monotonic() - start:.1f} s after the setups, moves included.\n")
            start = 0.0
        if mover is ann and mover.standing.turn > 1:
            mover(MATCH, until=PLAYED[game].boards)
        mover(MATCH, *mover.orders(), "--final", "--yes")
    for person in people:
        person("verify", MATCH)
    ann(MATCH)


def play_sealed(people: Sequence[Terminal], game: str, folder: Path) -> None:
    """The same with a sealed match: agents answer, people order, and the server's files are searched at each turn."""
    begin(people, game, "sealed: yes")
    ann = people[0]
    with ExitStack() as afterwards:
        agents = [AtAgent(person, folder / f"{person.name}-home" / "agent.log") for person in people]
        for agent in agents:
            afterwards.callback(agent.close)
        searched = order_all(agents, folder, game)
    print(f"\nIn each of {searched.times} turns all files of the server were searched for what is secret, the last")
    print(f"time in {searched.places} places, all that it keeps sealed opened with its own key: nothing was found.\n")
    for person in people:
        person("verify", MATCH)
    ann(MATCH)
    memories = [*(person.remembered for person in people), folder / f"{HOUSE}-own" / "opponent.sqlite"]
    cost = demo_sealed.cost(ann.standing.ended[0].turns, memories, [agent.decided for agent in agents])
    print(f"{cost}.")
    if cost.letters > demo_sealed.allowed(game, len(memories)) * cost.turns:
        raise Trouble("these are more letters than a sealed match needs")


class Searched(NamedTuple):
    """How often the server's files were searched, and how many places there were at last."""

    times: int
    places: int


def order_all(agents: Sequence[AtAgent], folder: Path, game: str) -> Searched:
    """Order what is asked for until the match is over; before each turn is ordered, nothing is to be found."""
    searched, end = Searched(0, 0), time.monotonic() + PATIENCE
    while any(agent.terminal.standing.phase != "closed" for agent in agents):
        for agent in agents:
            if turn := agent.asked():
                secrets = [*folder.glob("*-home/.local/state/pbem/*.secrets"), *folder.glob("*-own/*.secrets")]
                searched = Searched(searched.times + 1, demo_sealed.search(folder, secrets, game))
                agent.type(turn)
                end = time.monotonic() + PATIENCE
        if time.monotonic() > end:
            raise Trouble("nobody is asked for orders")
        time.sleep(LOOK)
    return searched


def whose_move(people: Sequence[Terminal]) -> Terminal | None:
    """Somebody who is asked for orders; None once the match is over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for person in people:
            if person.is_asked():
                return person if person.standing.phase == "playing" else None
    raise Trouble("nobody is asked for orders")


def verify(folder: Path, ann: Terminal) -> Path:
    """Let `pbem verify` judge the bundle that came with the last letter, and the house by the seed that it opened."""
    name, content = ann.receive("the match is closed").attachment(".pbem.zip")
    bundle, opening = folder / name, folder / "seed.eml"
    bundle.write_bytes(content)
    opening.write_bytes(ann.receive("It proves that I saw nothing").message.as_bytes())
    words = ("verify", str(bundle), "--opponent", str(opening))
    print(f"ann$ pbem {shlex.join(words)}", flush=True)
    done = subprocess.run([PBEM, *words], timeout=3 * PATIENCE, check=False, capture_output=True, text=True)
    print(done.stdout, flush=True)
    if done.returncode:
        raise Trouble(f"pbem verify: status {done.returncode}\n{done.stderr}")
    if "played blind" not in done.stdout:
        raise Trouble("the house is not said to have played blind")
    return bundle


@contextmanager
def housed(folder: Path, office: PostOffice, game: str, store: str, number: int) -> Iterator[Servers]:
    """The servers, and their house, which is registered."""
    own = folder / f"{HOUSE}-own"
    own.mkdir()
    config = own / "opponent.toml"
    config.write_text(
        HOUSE_CONFIG.format(name=HOUSE, server=SERVER, folder=folder / HOUSE, port=office.port, game=game), "utf-8"
    )
    arrivals = office.box(f"{HOUSE}@mail.example")
    office.box(f"operator@{SERVER}")
    try:
        with served(office, folder, store, number, house=str(config)) as servers:
            while "now on you are a program" not in Letter(arrivals.get(timeout=PATIENCE)).text:
                pass
            yield servers
    except Exception:
        for log in sorted(folder.rglob("server.log")):
            last = log.read_text("utf-8", "replace").splitlines()[-25:]
            print(f"---- the end of {log}", *last, sep="\n", file=sys.stderr)
        raise


def demonstrate(folder: Path, game: str, seed: str, servers: int, store: str, *, sealed: bool) -> None:
    """One match, with all that is said of it."""
    office = PostOffice(folder)
    with office.opened():
        names = PLAYED[game].people[: 1 if sealed else None]  # a sealed match is for two
        people = [Terminal(folder, name, office, seed) for name in names]
        with housed(folder, office, game, store, servers) as server:
            places = ", ".join(f"127.0.0.1:{port}" for port in server.ports)
            who = "Servers listen" if servers > 1 else "A server listens"
            print(f"{who} at {places}, and the house, a program, is registered.")
            print("Each command below could be yours: it writes a letter, or reads those that came.\n")
            for person in people:
                person.register()
            if sealed:
                play_sealed(people, game, folder)
            else:
                play(people, game)
            bundle = verify(folder, people[0])
    if sealed:
        print(f"$ sha256sum -c commitments.sha256\n{demo_sealed.check_sums(bundle, folder / 'unpacked')}")
    print(f"The server{'s have' if servers > 1 else ' has'} stopped, status 0.")
    maildirs = ", ".join(str(person.maildir) for person in people)
    print(f"\nMaildirs  {maildirs}   (look into them with: mutt -f {people[0].maildir})")
    logs = ", ".join(map(str, sorted(folder.rglob("server.log"))))
    print(f"Store     {folder / store if servers == 1 else store}\nLog       {logs}\nBundle    {bundle}")


def fresh(folder: Path) -> Path:
    """Make the folder anew; one that the demo did not make is left alone."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise Trouble(f"{folder} is not empty and was not made by the demo: name another with --keep")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Play a match by mail, and prove it.")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, default=Path("demo-output"), help="the folder that is left behind"
    )
    parser.add_argument(
        "--game", choices=list(PLAYED), help="which game is played; without it Spaceships, or all sealed"
    )
    parser.add_argument("--seed", default="1", help="another seed, other moves of the people")
    parser.add_argument("--servers", type=int, default=1, help="how many servers share the store")
    parser.add_argument("--store", default="store.sqlite", help="postgresql://..., where there are several")
    parser.add_argument("--sealed", action="store_true", help="a sealed match, in which the server holds no secret")
    given = parser.parse_args()
    start = time.monotonic()
    try:
        folder = fresh(given.keep).resolve()
        if given.sealed and not given.game:
            for game in PLAYED:
                print(f"==== {game}\n")
                (folder / game).mkdir()
                demonstrate(folder / game, game, given.seed, given.servers, given.store, sealed=True)
        else:
            game = given.game or next(iter(PLAYED))
            demonstrate(folder, game, given.seed, given.servers, given.store, sealed=given.sealed)
    except (Trouble, AssertionError, OSError, queue.Empty, subprocess.TimeoutExpired) as error:
        print(f"\nThe demo failed: {error or type(error).__name__}", file=sys.stderr)
        return 1
    print(f"Done in {time.monotonic() - start:.1f} s.")
    return 0
