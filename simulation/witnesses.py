"""Two witnesses of the server's log: slow, forgetful, and out of reach for hours."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec.structs import replace
from world.correspondent import SERVER

from pbem.config.server import WitnessConfig
from pbem.config.values import Cosigner, Duration
from pbem.match.transcript import statement
from pbem.player.checkpoint_witness import Witness, WitnessSettings
from pbem.proof.kept_letters import kept
from pbem.proof.prove import against
from pbem.server.http_call import Unreachable
from pbem.store import own_keys
from pbem.store.tlog import _ENTRIES, TransparencyLog
from pbem.tlog import tree
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import Note
from pbem.tournament.tournament_entries import tournament_statement
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey
from simulation.parts import Part, Spells

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.config.server import Config
    from pbem.store.database import Database
    from simulation.world import World

HOUR = 3600.0
MOODS = [("well", 24 * HOUR), ("well", 24 * HOUR), ("away", 24 * HOUR), ("slow", 24 * HOUR)]
FORGETS = 0.03
"""The probability that a witness goes back to an earlier memory of its own before it answers."""
PATIENCE = 48 * HOUR
"""How long after the last match a witness may not have cosigned everything."""
REFUSES = b"Subject: [pbem] A witness refuses our log"
STATUS = {"cosigned": 200, "behind": 409, "forked": 409, "unproved": 422, "refused": 403}


class ForgetfulWitness:
    """A witness, and what it cosigned."""

    def __init__(self, world: World, folder: Path, name: str) -> None:
        self._world = world
        self._folder = folder / name
        self._random = world.random(name)
        self._key = Ed25519PrivateKey.from_private_bytes(self._random.randbytes(32))
        self.spells = Spells(world, self._random, MOODS, 12 * HOUR)
        self.verifier = VerifierKey(name, COSIGNATURE, self._key.public_key().public_bytes_raw())
        self.cosigner = Cosigner(self.verifier, f"https://{name}/log")
        self.notes: list[Note] = []
        """What it cosigned."""
        self.refused: list[str] = []
        """How it refused what was asked."""

    @cached_property
    def _witness(self) -> Witness:
        """Made when it is asked first: only then its log has a key."""
        self._folder.mkdir()
        key = self._folder / "key"
        key.touch(0o600)
        key.write_bytes(self._key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        config = self._world.machine.config
        server = own_keys.load(config.store_key, config.signing_key, self._random.randbytes).signing
        log = VerifierKey(SERVER, LOG, server.public_key().public_bytes_raw())
        memory = str(self._folder / "memory")
        return Witness(WitnessSettings(self.verifier.name, "", (str(log),), str(key), memory))

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Answer a request; raises `Unreachable`."""
        mood, random = self.spells.mood, self._random
        await asyncio.sleep(random.random() * (30 if mood == "slow" else 2))
        if mood == "away" or (mood == "slow" and random.random() < 0.3):
            raise Unreachable("nobody answers")
        if mood == "slow" and random.random() < 0.3:
            return 503, b""
        self._forget()
        made = self._witness.answer(CosignRequest.read(body.decode()), self._world.now())
        if made.outcome == "cosigned":
            self.notes.append(self.known)
        elif made.outcome != "behind":
            self.refused.append(made.outcome)
        if mood == "slow" and random.random() < 0.3:
            raise Unreachable("the answer was lost")
        said = f"{made.note.signatures[-1]}" if made.outcome == "cosigned" and made.note else f"{made.size}"
        return STATUS[made.outcome], f"{said}\n".encode()

    @property
    def known(self) -> Note:
        """The last note that it knows."""
        note = self._witness._known(SERVER)
        assert note is not None
        return Note.read(note)

    def _forget(self) -> None:
        """Go back to an earlier memory, as from a backup."""
        if self.notes and not self._world.hurried and self._random.random() < FORGETS:
            self._world.note("a witness forgets", self.verifier.name)
            note = str(self._random.choice(self.notes))
            self._witness._database.execute("UPDATE logs SET note = ?", (note,))

    def close(self) -> None:
        if "_witness" in vars(self):
            self._witness.close()


class Witnesses(Part):
    """The server has two witnesses."""

    name = "witnesses"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        names = ("one.witness.example", "two.witness.example")
        self._both = [ForgetfulWitness(world, world.folder, name) for name in names]
        self._forgotten: list[dict[int, bytes]] = []
        """The roots of logs that the server forgot, by their size."""
        self._told = True
        """Whether the operator was told since that a witness refuses the log, if one has to."""
        world.fetch = self._post

    async def _post(self, url: str, body: bytes) -> tuple[int, bytes]:
        return await next(one for one in self._both if url.startswith(one.cosigner.url)).post(body)

    def configured(self, config: Config) -> Config:
        cosigners = tuple(one.cosigner for one in self._both)
        return replace(config, witness=WitnessConfig(cosigners, every=Duration(minutes=30)))

    def take(self, _recipient: str, raw: bytes) -> None:
        self._told = self._told or REFUSES in raw

    def go_back(self, database: Database) -> None:
        self._forgotten.append(_roots(database))
        self._told = False
        self.world.excused.add("witness refused")

    @cached_property
    def _ends(self) -> float:
        """When to wait no longer, from the first look after all matches: until then, the server may be down."""
        return self.world.loop.time() + PATIENCE

    @property
    def waits(self) -> bool:
        due = self._is_behind or self._is_silent
        return due and self.world.loop.time() < self._ends

    @property
    def _is_behind(self) -> bool:
        """Whether a witness has not cosigned all heads yet: the server asks it again and again."""
        with self.world.machine.store() as database:
            log = TransparencyLog(database)
            latest = log.latest()
            all_in = log.waits() is None and (latest is None or latest.size == log.size)
            asked = [one.verifier for one in self._both if not self._convicts(one, _roots(database))]
            signed = latest is None or all(Note.read(latest.note).by(key) for key in asked)
        return not all_in or not signed

    def _convicts(self, witness: ForgetfulWitness, roots: dict[int, bytes]) -> bool:
        """Whether a witness knows entries that the server forgot when it was restored, and so cosigns no others."""
        if not self._forgotten or not witness.notes:
            return False
        known = Checkpoint.read(witness.known.text)
        return roots.get(known.size) != known.root

    @property
    def _is_silent(self) -> bool:
        """Whether a witness would convict the server, and its operator does not know."""
        if self._told or not self._forgotten:
            return False
        with self.world.machine.store() as database:
            roots = _roots(database)
        return any(self._convicts(one, roots) for one in self._both)

    def broken(self) -> Iterator[str]:
        """What witnesses cosigned is in the one log, and the letters prove that to whoever has a bundle.

        A restored server has another log than a witness saw of it: that one refuses it, and letters convict it.
        """
        with self.world.machine.store() as database:
            logs = [*self._forgotten, _roots(database)]
            missing = database.scalar(f"SELECT (SELECT count(*) FROM {_ENTRIES}) - (SELECT count(*) FROM log_leaves)")
        if missing or self._is_behind:
            yield f"a witness was not asked for all heads in two days, and {missing} are not in the log"
        if self._is_silent:
            yield "a witness knows what a restored server forgot, and the operator was told of no refusal"
        for one in self._both:
            if not self._forgotten:
                yield from (f"{one.verifier.name} was shown a log that {what}" for what in one.refused)
            for note in one.notes:
                shown = Checkpoint.read(note.text)
                if shown.root not in {roots.get(shown.size) for roots in logs}:
                    yield f"{one.verifier.name} cosigned another log of {shown.size} heads"
        believed = [one.verifier for one in self._both]
        letters = [kept("a letter", taken.raw) for taken in self.world.taken if taken.recipient in self.world.people]
        for (match, _), proved in self.world.proved.items():
            bench = against(proved, believed)
            for letter in letters:
                for finding in bench.judge(letter).findings:
                    explained = self.world.operator.explains(finding.found)
                    if finding.standing not in {"agrees", "open", "later"} and not explained:
                        yield f"{match}: {letter.subject!r}: {finding}"

    def close(self) -> None:
        for one in self._both:
            one.close()


def _roots(database: Database) -> dict[int, bytes]:
    """The root of the log at each of its sizes, made from the heads in the store."""
    query = (
        f"SELECT log_leaves.match, log_leaves.seq, head FROM log_leaves JOIN {_ENTRIES}"
        " ON entries.match = log_leaves.match AND entries.seq = log_leaves.seq ORDER BY number"
    )
    nodes: dict[tuple[int, int], bytes] = {}
    found = {}
    for number, row in enumerate(database.rows(query)):
        match, seq, head = row["match"], row["seq"], row["head"]
        if match < 0:
            said = tournament_statement(SERVER, f"t{-match}", seq, head)
        else:
            said = statement(SERVER, f"m{match}", seq, head)
        for level, place, hashed in tree.grown(number, tree.leaf_hash(said), lambda *at: nodes[at]):
            nodes[level, place] = hashed
        found[number + 1] = tree.root(number + 1, lambda *at: nodes[at])
    return found
