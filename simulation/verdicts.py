"""The proofs of a week, judged by both verifiers and by the letters that people kept: nobody honest is accused.

After the week, by seed, a server with its key changes bundles, and players show letters that they changed. Both
verifiers refuse a changed bundle alike, or kept letters tell it from the true one: each shows a head of its chain. A
changed letter convicts nobody. docs/threats.md has these lies one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from world.mutations import mutated

from pbem.match.transcript import Entry
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify
from pbem.store import own_keys
from pbem.store.matches import Matches
from verifier import Wrong, verified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.proof.compare.finding import Finding
    from pbem.proof.kept import Kept
    from pbem.store.database import Database
    from pbem.store.vault import Vault
    from simulation.world import World

ACCUSES = {"contradicts", "two stories"}
"""What a letter may say against a bundle that holds."""
HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Read(NamedTuple):
    """A letter that came, and who kept it."""

    reader: str
    raw: bytes
    kept: Kept


def judged(world: World, database: Database, vault: Vault) -> Iterator[str]:
    """Whoever is accused though honest, and each lie that was believed."""
    letters = [
        Read(player.name, raw, kept("", raw))
        for player in world.players.values()
        for raw in dict.fromkeys(player.came)
    ]
    hashes = sorted({found for read in letters for found in HASH.findall(read.raw)})
    draw, config = world.random("lies"), world.machine.config
    key = own_keys.load(config.store_key, config.signing_key, draw.randbytes).signing
    for (match, content), proved in world.proved.items():
        if (wrong := _second(content)) is not None:
            yield f"the second verifier refuses an honest bundle: {match}: {wrong}"
        for read, finding in _findings(proved, letters):
            if finding.standing in ACCUSES and not world.operator.explains(finding.found):
                yield f"the honest server is accused by a letter: of {read.reader}, {match}: {finding.found}"
        for _ in range(world.week.lies):
            yield from (f"{said}: {match}" for said in _of_server(world, content, draw, key, letters))
            yield from (f"{said}: {match}" for said in _of_player(world, proved, draw, letters, hashes))
    yield from _broken_off(world, database, vault)


def _broken_off(world: World, database: Database, vault: Vault) -> Iterator[str]:
    """The matches that were ended after a restore: what the server kept of them is a proof."""
    matches = Matches(database, vault)
    for match in sorted(world.operator.ended):
        number = int(match.removeprefix("m"))
        entries = [(Entry.read(row.entry), row.signature) for row in matches.entries(number)]
        if not entries:
            continue  # the restored server has never heard of it
        if all(entry.type != "restored" for entry, _ in entries):
            yield f"the transcript does not say that the server was restored: {match}"
        games = [entry.body["game"] for entry, _ in entries if "game" in entry.body]
        papers = matches.papers(number, max(games, default=0), 0, None)
        content = bundle.write(
            bundle.Bundle([entry for entry, _ in entries], [signature for _, signature in entries], papers)
        )
        *_, last = verify(content)
        if not last.holds:
            yield f"a match that was ended after a restore does not verify: {match}: {last.found}"
        if (wrong := _second(content)) is not None:
            yield f"the second verifier refuses a match that was ended after a restore: {match}: {wrong}"


def _of_server(
    world: World, true: bytes, draw: Random, key: Ed25519PrivateKey, letters: Sequence[Read]
) -> Iterator[str]:
    """A bundle that a server with its key changed: what is wrong with the judgement of it."""
    forged = mutated(bundle.read(true), draw, key)
    if forged == true:
        return
    world.figures.lies += 1
    proved = Proved()
    *_, last = verify(forged, proved=proved)
    second = _second(forged)
    if (second is None) != bool(last.holds):
        yield f"the verifiers disagree: one finds {last.found}, the other {second or 'that it holds'}"
    elif last.holds:
        assert proved.bundle is not None
        # Letters know later entries than a bundle that was cut off, and that is all that they can say of it.
        cut = len(proved.bundle.entries) < len(bundle.read(true).entries)
        tells = ACCUSES | {"later"} if cut else ACCUSES
        if not any(finding.standing in tells for _, finding in _findings(proved, letters)):
            yield "a changed bundle holds, and no letter tells of it"


def _of_player(
    world: World, proved: Proved, draw: Random, letters: Sequence[Read], hashes: Sequence[bytes]
) -> Iterator[str]:
    """A letter that a player changed, such as a receipt with another hash: it must not convict the server."""
    read = draw.choice(letters)
    there = list(HASH.finditer(read.raw))
    if not there:
        return
    world.figures.lies += 1
    at = draw.choice(there).start()
    other = draw.choice((draw.choice(hashes), draw.randbytes(32).hex().encode()))
    forged = read._replace(kept=kept("", read.raw[:at] + other + read.raw[at + 64 :]))
    for _, finding in _findings(proved, [forged]):
        if finding.standing == "two stories":
            yield f"a letter that its reader changed convicts the honest server: {finding.found}"


def _findings(proved: Proved, letters: Sequence[Read]) -> Iterator[tuple[Read, Finding]]:
    assert proved.bundle is not None
    assert proved.match is not None
    against = Against(proved.bundle, proved.match, proved.notices)
    for read in letters:
        for finding in against.judge(read.kept).findings:
            yield read, finding


def _second(content: bytes) -> Wrong | None:
    try:
        verified(content)
    except Wrong as wrong:
        return wrong
    return None
