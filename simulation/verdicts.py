"""The proofs of a week, judged by both verifiers and by what people kept: no honest server is accused, no lie holds.

After the week a server with its key changes bundles, by seed. Each such lie must be refused by both verifiers alike,
or be convicted by letters that a player kept; docs/threats.md lists what nobody can tell: a bare word that no letter
contradicts does not exist here, as each letter shows the head of its chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attackers.forgers import signed_again
from attackers.mutations import mutated

from pbem.proof import bundle
from pbem.proof.compare.against import Against
from pbem.proof.kept_letters import kept
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Check, Proved, verify
from pbem.store import own_keys
from verifier import Wrong, verified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.kept import Kept
    from simulation.world import World

ACCUSES = {"contradicts", "two stories"}
"""What letters may say against a bundle that holds."""


def honest(world: World) -> Iterator[str]:
    """Nobody who is honest is accused: each bundle holds for both verifiers, and beside every letter that came."""
    letters = _kept(world)
    for (match, content), proved in world.proved.items():
        if (wrong := _second(content)) is not None:
            yield f"{match}: the second verifier refuses an honest bundle: {wrong}"
        for name, said in _accused(proved, letters):
            yield f"{match}: the honest server is accused by letters of {name}: {said}"


def lies(world: World) -> Iterator[str]:
    """Bundles that a server with its key changed: both verifiers refuse them, or kept letters convict the server."""
    draw, config = world.random("lies"), world.machine.config
    letters = _kept(world)
    key = own_keys.load(config.store_key, config.signing_key, draw.randbytes).signing
    for (match, content), _ in world.proved.items():
        for number in range(world.week.lies):
            try:
                forged = mutated(bundle.read(content), draw)
                forged = bundle.write(signed_again(bundle.read(forged), key=key))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # no bundle can be made of it
            world.figures.lies += 1
            proved = Proved()
            *_, last = verify(forged, Letters, None, proved)
            yield from (f"{match}, lie {number}: {said}" for said in _believed(forged, content, last, proved, letters))


def _believed(
    forged: bytes, true: bytes, last: Check, proved: Proved, letters: list[tuple[str, Kept]]
) -> Iterator[str]:
    """What is wrong with the judgement of a lie."""
    second = _second(forged)
    if (second is None) != bool(last.holds):
        yield f"one verifier says: {last.found}; the other: {second or 'holds'}"
    if last.holds and forged != true:
        standings = {finding.standing for _, finding in _findings(proved, letters)}
        if not standings & {*ACCUSES, "later"}:
            yield "a changed bundle holds, and no letter convicts the server"


def _accused(proved: Proved, letters: list[tuple[str, Kept]]) -> Iterator[tuple[str, str]]:
    for name, finding in _findings(proved, letters):
        if finding.standing in ACCUSES:
            yield name, f"{finding.what}: {finding.found}"


def _findings(proved: Proved, letters: list[tuple[str, Kept]]) -> Iterator[tuple[str, Any]]:
    assert proved.bundle is not None
    assert proved.match is not None
    against = Against(proved.bundle, proved.match, proved.told)
    for name, letter in letters:
        for finding in against.judge(letter).findings:
            yield name, finding


def _kept(world: World) -> list[tuple[str, Kept]]:
    """All letters that came to players, as they are read, with their readers."""
    return [(player.name, kept("", raw)) for player in world.players.values() for raw in dict.fromkeys(player.came)]


def _second(content: bytes) -> Wrong | None:
    try:
        verified(content)
    except Wrong as wrong:
        return wrong
    return None
