"""13. Matches whose rules are not here: their papers and letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verifier.agreed import begin, read_keys
from verifier.commands import Command, read_commands
from verifier.conventions import must, sha256
from verifier.events import restored
from verifier.letters import Player
from verifier.running import look_up
from verifier.signature import signed_text
from verifier.terms import check_tournament, enters
from verifier.text import entity
from verifier.transcript import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.state import Match
    from verifier.transcript import Entry

LINKS = 20_000


def step_without_rules(match: Match, entry: Entry, *, running: bool) -> None:
    """The keys and papers of an entry."""
    body = entry.body
    if entry.seq == 1:
        begin(match, body)
        check_tournament(match.terms)
        for seat, said in body["players"].items():
            must(said["keys"] or "mailbox" in said, "neither key nor mailbox")
            match.players[int(seat)] = Player(said["name"], read_keys(said["keys"]))
    else:
        must(entry.type != "agreed", "agreed twice")
        must(entry.type != "commitments" or not match.is_sealed, "a sealed match")
    if entry.type == "restored":
        restored(match, entry)
    elif entry.type == "substituted":
        must(body["player"]["keys"] or "mailbox" in body["player"], "neither key nor mailbox")
        match.players[body["seat"]].keys |= read_keys(body["player"]["keys"])
    elif entry.type == "keys":
        match.players[body["seat"]].keys |= read_keys(body["added"])
    look_up(match, entry, whole=not running)


def check_without_rules(match: Match, entries: Sequence[Entry]) -> None:
    """The papers, the letters and the links of chance, after all entries."""
    check_named(match, entries)
    check_chance(entries)
    for path, raw in match.papers.items():
        place = re.search(r"-seat-([0-9]{1,2})\b", path)
        evidence = path.replace("letters/", "evidence/").replace(".eml", ".txt")
        if not path.startswith("letters/") or not place or evidence in match.papers:
            continue
        player = match.player(int(place[1]))
        texts = [signed_text(entity(raw), key, match) for key in player.keys.values()]
        text = next((text for text in texts if text is not None), None)
        must(text is not None, f"{path} is not signed by its player")
        assert text is not None
        if path.startswith("letters/agreed-"):
            agrees = any(accepts(match, int(place[1]), command) for command in read_commands(text))
            must(agrees, f"{path} does not accept these terms")


def accepts(match: Match, seat: int, command: Command) -> bool:
    said = command.said
    if command.fault:
        return False
    if "tournament" in match.terms:
        placed = (said.get("server"), said.get("player")) == (match.server, match.players[seat].name)
        return placed and enters(match, command)
    if command.name == "new":
        return seat == 1 and said["*name"] == match.terms["game"]
    return command.name == "accept" and (said["*match"], said.get("*hash")) == (match.id, match.rules_hash)


def check_named(match: Match, entries: Sequence[Entry]) -> None:
    """Some entry, or a paper that is named and is no letter, has the hash of each paper."""
    rest: dict[str, list[str]] = {}
    for path, paper in match.papers.items():
        rest.setdefault(sha256(paper), []).append(path)
    following = [canonical(entry.body).encode() for entry in entries]
    while following:
        for digest in re.findall(rb"[0-9a-f]{64}", following.pop()):
            paths = rest.pop(digest.decode(), [])
            following += [match.papers[path] for path in paths if not path.startswith("letters/")]
    must(not rest, "a paper that nobody names")


def check_chance(entries: Sequence[Entry]) -> None:
    """13.2: each link that is shown leads to the one before."""
    before, since = "", 0
    for entry in entries:
        if entry.type == "commitments":
            before, since = entry.body.get("chance", ""), 0
        since += entry.type == "turn"
        link = entry.body.get("chance") if entry.type in {"turn", "revealed"} else None
        if link is not None:
            must(before and since <= LINKS, "no chain of chance")
            made = link
            for _ in range(since):
                made = sha256(f"pbem chance link 1\n{made}\n".encode())
            must(made == before, "another chain of chance")
            before, since = link, 0
