"""4.4 Traces: what was set aside."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.conventions import No, moment, must
from verifier.letters import (
    Letter,
    Player,
    Want,
    clears,
    given_revision,
    in_one_letter,
    is_legal,
    letter_named,
    proven,
)
from verifier.papers import read_receipt, read_trace
from verifier.rules import Refused

if TYPE_CHECKING:
    from verifier.commands import Command
    from verifier.state import Match
    from verifier.transcript import Entry


def trace(match: Match, entry: Entry, name: str, turn: int) -> list[dict[str, str]]:
    head, listed = read_trace(match.paper(f"traces/{name}.txt", entry.body["trace"]))
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(turn)}
    must(all(head[key] == value for key, value in right.items()), "a trace of something else")
    return [set_aside(match, entry, (name, turn), path, digest) for path, digest in listed.items()]


def set_aside(match: Match, entry: Entry, of: tuple[str, int], path: str, digest: str) -> dict[str, str]:
    name, turn = of
    withdrawal = path.startswith("withdrawals/")
    must(withdrawal or path.startswith("receipts/"), "a strange path")
    paper = read_receipt(match.paper(path, digest), withdrawal=withdrawal)
    default = "orders" in paper
    what = "setup" if name.endswith("-setup") or match.phase == "setup" else "default" if default else "turn"
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(0 if default else turn)}
    right |= {"level": "mailbox" if "evidence" in paper else "key"}
    must(all(paper[key] == value for key, value in right.items()), "a paper of something else")
    at_end = name.endswith("-end")
    must(not (default and withdrawal) or at_end, "withdrawn default orders in another trace")
    is_over = what != "setup" and match.position.result
    must(default or not at_end or not is_over, "a turn with a trace of its own")
    must(what != "setup" or withdrawal, "an unused setup")
    must("branch" not in paper, "a branch of what was not played")
    seat = int(paper["seat"])
    player = match.player(seat)
    if paper["player"] != player.name:
        player = match.former.get((seat, paper["player"]), player)
    must(paper["player"] == player.name, "somebody else")
    if (match.turn_due, seat) in match.left:
        match = replace(match, position=match.before_leaving[seat])
        is_over = None
    for game, other, rev, over in match.defaults:
        late = (game, other) != (match.game, seat) or rev >= int(paper["rev"]) or moment(paper["received"]) >= over
        must(not (withdrawal and default) or late, "played, although it was withdrawn")
    if default and not withdrawal:
        must(seat in match.asked and not is_over, "default orders that were not due")
    elif not withdrawal:
        must(moment(paper["received"]) <= moment(match.opened), "these orders did not wait for the turn")
    kind = "withdrawn" if withdrawal else "unused"
    said = f"turn-{turn}" if what == "turn" else what
    stem = f"game-{match.game}-{said}-{kind}-seat-{seat}-rev-{paper['rev']}"
    must(path.rpartition("/")[2] == f"{stem}.txt", "another name")
    letter = letter_named(match, entry, f"letters/{stem}.eml", paper["mail"], paper["received"])
    prove_set_aside(match, letter, player, paper, what)
    return paper


def prove_set_aside(match: Match, letter: Letter, player: Player, paper: dict[str, str], what: str) -> None:
    withdrawal = "withdrawn" in letter.path
    seat, turn = int(paper["seat"]), int(paper["turn"])
    prevs = match.printed if what != "setup" else [match.prev]
    waited = "waited" if withdrawal else "unused"
    vouched = match.papers.get(letter.path.replace("letters/", "evidence/").replace(".eml", ".txt"), b"")
    here = f"\nplace game {match.game} turn {turn}\n".encode() in vouched
    for read, key in proven(letter, player, paper.get("evidence"), waited=waited, turn=turn):
        if key != paper["key"]:
            continue
        commands = in_one_letter(letter, paper, read, seat, player.name)
        want = Want(match, player.name, prevs, "evidence" in paper)
        if not withdrawal:
            must(not any(clears(match, want, one, what, turn) for one in commands), "orders and their withdrawal")
        fitting = [command for command in commands if want.fits(command, int(paper["rev"]))]
        cleared = [command for command in fitting if withdrawal and clears(match, want, command, what, turn)]
        if cleared:
            rev = given_revision(cleared)
            match.once(paper["mail"], "withdrawal", seat, match.game, turn, rev, what == "default")
            return
        for command in fitting:
            cited = command.said.get("prev")
            early = not here and (cited in match.printed[: turn - 1] or (cited is None and want.mailbox))
            orders = not withdrawal and command.orders("default" if what == "default" else paper["turn"])
            if orders and (early or what == "default") and unplayable(match, player, paper, seat, command):
                return
    raise No(f"{letter.path} does not prove it")


def unplayable(match: Match, player: Player, paper: dict[str, str], seat: int, command: Command) -> bool:
    if command.said["*turn"] == "default" and match.terms["miss"] != "default":
        return False
    try:
        match.position.store(seat, int(paper["turn"]), command.block)
    except Refused:
        return False
    former = player.former.get(paper["key"])
    if "evidence" in paper:
        counts = (not player.keys and not player.former) or player.keyless == match.prev
    else:
        counts = paper["key"] in player.keys or (former is not None and former[1] == match.prev)
    if not counts or seat not in match.asked:
        return True
    return not is_legal(match, seat, command)
