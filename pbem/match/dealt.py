"""The chance dealt in a turn: neither the server nor a player can choose it.

Before a game begins, the server draws a secret, hashes it again and again, and publishes the last hash: the first
link of a chain. Each turn takes the next link, which only the server knows, and the orders of this turn and those
before, which no server can know when it begins the chain: all of them cite a later head. The turn's entry shows the
link; in a game whose hands are secret, the reveal shows that of the last turn, from which the others follow.
Implements docs/bundle.md, 13.2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pbem.match.step import Document
from pbem.match.transcript import TranscriptError, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.transcript import Entry

LINKS: Final = 20_000
"""The links of a game's chain: no match has as many turns, because a bundle has at most as many entries."""

NO_SEED: Final = "0" * 64
"""The value that stands for the seed of the turn before the first."""

_NEVER: Final = 999_999_999
"""The game with which a paper opens that nobody ever gets: no match has as many."""


@lru_cache(maxsize=4)  # of some megabytes
def _chain(secret: str) -> tuple[str, ...]:
    """All links, the first one first; the secret is the last."""
    links = [secret]
    for _ in range(LINKS):
        links.append(hashed(links[-1]))
    return tuple(reversed(links))


def hashed(link: str, times: int = 1) -> str:
    """The link that is so many before this one in its chain."""
    for _ in range(times):
        link = sha256_hex(f"pbem chance link 1\n{link}\n".encode())
    return link


def file_chain(step: Step) -> dict[str, str]:
    """Begin the chain of a game with chance; returns how the entry that begins the game names it."""
    match = step.match
    if not match.rules.chance:
        return {}
    path = f"chance/game-{match.game}.txt"
    secret = step.world.chain(path)
    step.match = replace(match, chance=secret)
    if secret:
        step.papers.append(Document(path, secret.encode(), _NEVER))
    return {"chance": _link(step, 0)}


def deal(step: Step, texts: Mapping[int, str]) -> tuple[str, dict[str, str]]:
    """The seed of the turn that is resolved with these orders, and how the entry shows its link."""
    match = step.match
    if not match.rules.chance:
        return "", {}
    link = _link(step, match.turn)
    return seed_of(match, link, texts), {} if match.rules.secret_chance else {"chance": link}


def shown_at_the_end(step: Step) -> dict[str, str]:
    """The entry that reveals a game shows the link of its last turn, if no turn showed its own."""
    return {"chance": _link(step, len(step.match.turns))} if step.match.rules.secret_chance else {}


def _link(step: Step, turn: int) -> str:
    """The link of a turn (0: the first, which is published at once), by our secret, or else as entries show it."""
    match = step.match
    return _chain(match.chance)[turn] if match.chance else step.world.link(match)


def seed_of(match: Match, link: str, texts: Mapping[int, str]) -> str:
    """The seed of a turn: of what the server fixed before, and of what the players wrote in this game after that.

    That of the turn before is in it, so that one word that nobody could guess serves for all later turns, too.
    """
    lines = [
        "pbem chance 1",
        match.rules_hash,
        f"game {match.game} turn {match.turn}",
        link,
        match.turns[-1].chance if match.turns else NO_SEED,
        *(f"{seat} {sha256_hex(text.encode())}" for seat, text in sorted(texts.items())),
    ]
    return sha256_hex("".join(f"{line}\n" for line in lines).encode())


def shown_link(entries: Sequence[Entry]) -> str:
    """The link of the first of these entries: it shows it, or else the next one that shows any leads to it."""
    turns = 0
    for entry in entries:
        if "chance" in entry.body:
            return hashed(entry.body["chance"], max(turns - 1, 0))
        turns += entry.type == "turn"
    raise ValueError("no entry shows what chance dealt")


def check_chain(entries: Sequence[Entry]) -> None:
    """Check that each link that is shown leads to the one before; raises `TranscriptError`."""
    before, since = "", 0
    for entry in entries:
        if entry.type == "commitments":
            before, since = entry.body.get("chance", ""), 0
        since += entry.type == "turn"
        if entry.type in {"turn", "revealed"} and (link := entry.body.get("chance")) is not None:
            if since > LINKS or not before or hashed(link, since) != before:
                raise TranscriptError(entry.seq, None, f"{entry.type}: `chance` does not belong to the game's chain")
            before, since = link, 0
