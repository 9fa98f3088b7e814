"""What the demo shows beside a sealed match: that the server's files hold no secret, and what it costs in letters.

The search opens all that is sealed at rest with the server's own key, as its operator could, and looks into letters
as their readers do.
"""

from __future__ import annotations

import email
import email.policy
import re
import subprocess
import zipfile
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from machines.post_office import Trouble

from pbem.player.memory import Memory
from pbem.player.secret_vault import Secrets
from pbem.store.database import Database
from pbem.store.rows import SEALS
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


def allowed(game: str, seats: int) -> float:
    """Letters a turn for all players together, beside one at the end."""
    return {"spaceships": 3.4, "dueling-masters": 1.15}.get(game, 2 * seats - 1) + 0.6


class Cost(NamedTuple):
    """What a match cost: its turns, the letters with steps, their octets, and what a person did."""

    turns: int
    letters: int
    octets: int
    acts: int

    def __str__(self) -> str:
        each = f"{self.octets / max(self.letters, 1):.0f} octets each"
        return (
            f"{self.letters / self.turns:.2f} letters a turn for all players together, {each};"
            f" {self.acts / self.turns:.2f} human acts a turn and player"
        )


def cost(turns: int, memories: Iterable[Path], decisions: Sequence[int]) -> Cost:
    """By what all players remember of their own letters; `decisions` of each person, the setup left out."""
    raws = []
    for path in memories:
        with closing(Memory(path)) as memory:
            raws += [sent.raw for sent in memory.prepared("step", "m1") if sent.state in {"sent", "done"}]
    return Cost(turns, len(raws), sum(map(len, raws)), max(decisions))


def search(folder: Path, vaults: Iterable[Path], game: str) -> int:
    """Look for what is secret in all files of the server; how many places were looked into. Raises `Trouble`."""
    opens = game == "shoot-em-up"  # when all have committed to theirs
    wanted = [(str(vault), needle) for vault in vaults for needle in _needles(vault, opens_setups=opens)]
    if not wanted:
        raise Trouble("there are no secrets")
    looked = 0
    for place, content in _contents(folder):
        looked += 1
        plain = b" ".join(content.split())
        for name, needle in wanted:
            if _holds(content, needle) or _holds(plain, needle):
                raise Trouble(f"{place} holds a secret of {name}")
    return looked


def _holds(content: bytes, needle: bytes) -> bool:
    """True if a secret is in this text; the cells of a destroyed ship are no secret.

    An expression that looks behind is tried at each octet, so the plain needle is looked for first.
    """
    return needle in content and re.search(b"(?<!destroyed )" + re.escape(needle), content) is not None


def _needles(vault: Path, *, opens_setups: bool) -> Iterator[bytes]:
    """What nobody else may have while the game goes on."""
    yield (vault / "code").read_bytes().strip()
    for file in vault.glob("*.json"):
        secrets = Secrets.read(file.read_bytes())
        yield bytes.fromhex(secrets.seed)
        yield secrets.seed.encode()
        if not opens_setups:
            yield " ".join(secrets.setup.split()).encode()
            yield from (line.encode() for line in secrets.setup.splitlines() if len(line) > 8)
            # Targets are revealed, but destinations and missiles are not.
            yield from (text.encode() for text in secrets.by_turn.values() if "-" in text or " m" in text)


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All that the server's files say: as they are, and what its own key opens of them."""
    for file in sorted(folder.glob("*")):
        if file.is_file():
            yield file.name, file.read_bytes()
    vault = Vault(load_key(folder / "keys" / "store.key"))
    with closing(Database(str(folder / "store.sqlite"), migrate=False)) as database:
        for table, seals in SEALS.items():
            for row in database.table(table):
                for column in seals.columns:
                    content = seals.open(vault, column, row)
                    yield f"{table}.{column}", content
                    yield from ((f"{table}.{column}", inner) for inner in _inner(content))


def _inner(content: bytes) -> Iterator[bytes]:
    """What is packed in it: the parts of a letter, or what was deflated."""
    try:
        yield zlib.decompress(content)
    except zlib.error:
        for part in email.message_from_bytes(content, policy=email.policy.default).walk():
            inner = part.get_payload(decode=True)
            if isinstance(inner, bytes):
                yield inner


def check_sums(bundle: Path, folder: Path) -> str:
    """What stock `sha256sum` says of the commitments of a bundle; raises `Trouble`."""
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(folder)
    words = ["sha256sum", "-c", "commitments.sha256"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or "openings/" not in done.stdout:
        raise Trouble(f"sha256sum: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
