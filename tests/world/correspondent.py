"""A program of the house at a mailbox, of a server simulated or real: what it was told, and what it writes."""

from __future__ import annotations

import sqlite3
import weakref
from random import Random
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from pbem.games import GAMES
from pbem.identity import ssh
from pbem.letters.render import Templates
from pbem.player.account_file import Account
from pbem.player.blind import PROGRAM, Plan, comment
from pbem.player.correspondence import Correspondence
from pbem.player.memory import Memory, may_repeat
from pbem.player.opponent import edition, is_played
from pbem.player.program import PlanKnown, Program
from pbem.player.program_config import GameLimits, PlayerLimits, ProgramSettings
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import SecretVault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path

    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.player.server_letter import Event

SERVER = "play.example"
TO = f"pbem@{SERVER}"


_KEPT: list[Memory] = []
"""Memories that were forgotten in another thread, which may not close them."""


def close_if_forgotten(owner: object, memory: Memory) -> None:
    """Close the memory of a program that no test closed, once nobody has it: Python 3.13 warns of open ones."""
    weakref.finalize(owner, _close, memory)


def _close(memory: Memory) -> None:
    try:
        memory.close()
    except sqlite3.ProgrammingError:
        _KEPT.append(memory)


def words(name: str, /, **facts: object) -> str:
    """The words of programs."""
    return Templates().render(f"player/{name}.txt", **facts).strip()


def program(
    agent: Agent, account: Account, random: Callable[[int], bytes], play: PlayerLimits | None = None
) -> Program:
    """A program that plays all games at level 1."""
    games = {game: GameLimits(1) for game in GAMES if is_played(game)}
    account = replace(account, key=account.key or "none")  # one must be named, and nobody reads it
    settings = ProgramSettings(account=account, play=play or PlayerLimits(), games=games)
    return Program(agent, settings, random, words)


class Correspondent:
    """A program at its mailbox: what it was told, and what it writes."""

    signs = True
    """Whether it has a key."""

    def __init__(
        self, seed: str, name: str, folder: Path, now: Callable[[], datetime], send: Callable[[SentForm], None]
    ) -> None:
        self.name = name
        self.address = f"{name}@mail.example"
        self.events: list[Event] = []
        self.random = Random(f"{seed} player {name}")
        self.key = Ed25519PrivateKey.from_private_bytes(self.random.randbytes(32))
        self.memory = Memory(None)
        close_if_forgotten(self, self.memory)
        account = Account(name, SERVER, TO, self.address, "", "", "")
        sign = self._sign if self.signs else None
        self.letters = Correspondence(account, self.memory, sign, self.random.randbytes)
        agent = self._agent(SecretVault(folder / f"{name}.secrets"))
        # A program asks for octets when it makes a plan, and for nothing else.
        self._secret = Random(f"{seed} secret {name}")
        limits = PlayerLimits(joins="off")
        self.program = program(agent, account, self._secret.randbytes, play=limits)
        self._now, self._send = now, send
        self._seeds: dict[tuple[str, str], bytes] = {}
        """The matches that were proposed here, by game and opponent."""
        self._proposal = "", ""
        """The words and the text of the proposal that was made."""

    def _agent(self, vault: SecretVault) -> Agent:
        """The agent that answers for this player in sealed matches."""
        return Agent(self.letters, vault, self.random.randbytes)

    def _sign(self, text: bytes, namespace: str) -> str:
        return ssh.sign(self.key, text, namespace)

    def keep_other_secrets(self, secrets: str) -> None:
        """Plan all matches differently, with everything else the same."""
        self._secret.seed(secrets)

    def close(self) -> None:
        self.memory.close()

    def begin(self) -> None:
        public = ssh.public(self.key)
        self.program.begin(public, ssh.parse(public).fingerprint, self._now())
        self._post()

    @property
    def registered(self) -> bool:
        return self.memory.account().name is not None

    def propose(self, game: str, other: Correspondent, options: str) -> None:
        """Propose a match, and say in the proposal that the program plays blind."""
        seed = self._secret.randbytes(16)
        self._seeds[game, other.name] = seed
        plan = Plan(SERVER, self.name, game, 1, seed)
        self._proposal = f"new {game} with {other.name}", f"{options}\n{comment(plan.commitment)}"
        self._propose()
        self._post()

    def _propose(self) -> None:
        words, text = self._proposal
        self.letters.tell(words, self._now(), text=text)

    def _propose_again(self, now: datetime) -> None:
        """Propose once more what was refused, for its date, by a server whose clock was wrong."""
        refused = self.memory.sent("new", "", "")
        if refused and refused[-1].state == "refused" and may_repeat(refused, now):
            self._propose()

    def read(self, letters: Iterable[bytes]) -> None:
        """Read letters, and answer them."""
        now = self._now()
        events = [event for raw in letters for event in self.letters.inbox.receive(raw, now)]
        self.events += events
        self._plan()
        self._hear(events, now)
        self._propose_again(now)
        self._before_it_acts()
        self._act(now)
        self._post()

    def _hear(self, events: list[Event], now: datetime) -> None:
        """Note what letters told."""
        self.program.hear(events, now)

    def _act(self, now: datetime) -> None:
        """Do what is due."""
        self.program.act(now)

    def _before_it_acts(self) -> None:
        """Do what else is due when letters were read."""

    def act(self) -> None:
        """Do what is due without a new letter."""
        now = self._now()
        self._propose_again(now)
        self._act(now)
        self._post()

    def _plan(self) -> None:
        """Remember how the matches proposed here are played.

        There are two of one proposal if it was made again, and an old copy of it counted as well.
        """
        for standing in self.letters.matches.standings:
            for (game, other), seed in self._seeds.items():
                proposed = standing.rules == game and other in standing.players and not standing.tournament
                if proposed and not self.seeds(standing.match):
                    account = self.letters.account
                    plan = Plan(account.server, account.name, game, 1, seed, PROGRAM, edition(game))
                    self.memory.keep(PlanKnown(plan), standing.match)

    def _post(self) -> None:
        for sent in self.letters.outbox.unsent():
            self._send(sent)
            self.letters.outbox.has_left(sent)

    @property
    def played(self) -> list[MatchView]:
        """The matches in which this player has not left the seat to somebody else."""
        return list(self.letters.matches.standings)

    def seeds(self, match: str) -> list[bytes]:
        """The plan by which this player plays a match."""
        plan = self.memory.known(PlanKnown, match).plan
        return [plan.seed] if plan else []
