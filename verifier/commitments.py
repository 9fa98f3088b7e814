"""5.2 commitments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.asking import ask_orders
from verifier.conventions import No, must
from verifier.letters import Want, clears, game_of, in_one_letter, letter_named, proven
from verifier.papers import read_opening, read_replies
from verifier.rules import Refused
from verifier.traces import trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.state import Match
    from verifier.transcript import Entry


def commitments(match: Match, entry: Entry) -> None:
    body = entry.body
    must(not match.is_sealed, "a sealed match")
    must(match.phase == "setup" and not match.paused and body["game"] == match.game, "no setups are asked for")
    must(match.options == body["options"], "other options")
    must(list(body["commitments"]) == [str(seat) for seat in match.seats], "other seats")
    aside = trace(match, entry, f"game-{match.game}-setup", 0)
    for seat in match.seats:
        match.setups[seat] = opening(match, entry, seat, body["commitments"][str(seat)], aside)
    match.position = match.rules.begin(match.options, [match.setups[seat] for seat in match.seats])
    match.phase, match.prev, match.printed = "playing", entry.head, [entry.head]
    match.replies = read_replies(match, entry, f"replies-{entry.seq}")
    match.said.clear()
    match.silent.clear()
    ask_orders(match, entry)


def opening(match: Match, entry: Entry, seat: int, commitment: str, aside: Sequence[dict[str, str]]) -> str:
    paper = read_opening(match.paper(f"openings/game-{match.game}-seat-{seat}.txt", commitment))
    player = match.players[seat]
    right = {"server": match.server, "match": match.id, "game": str(match.game), "seat": str(seat)}
    right |= {"player": player.name, "rules": match.rules_hash}
    must(all(paper[key] == value for key, value in right.items()), "an opening of something else")
    path = f"letters/game-{match.game}-setup-seat-{seat}.eml"
    letter = letter_named(match, entry, path, paper["mail"], paper["received"])
    rev = int(paper["rev"])
    must(all(int(one["rev"]) < rev for one in aside if one["seat"] == str(seat)), "set aside later")
    match.once(paper["mail"], "setup", seat, match.game, 0)
    for read, _ in proven(letter, player, paper.get("evidence"), waited="waited", turn=0):
        commands = in_one_letter(letter, paper, read, seat, player.name)
        want = Want(match, player.name, [match.prev], "evidence" in paper)
        due = {match.game, 0} if want.mailbox else {match.game}
        fits = [one for one in commands if one.name == "setup" and want.fits(one, rev) and game_of(one) in due]
        withdrawn = any(clears(match, want, one, "setup") for one in commands)
        must(not withdrawn, "a setup and its withdrawal")
        for command in fits:
            try:
                made = match.rules.setup(match.options, seat, command.block)
            except Refused:
                continue
            if made == paper["setup"]:
                return made
    raise No(f"{path} holds no such setup")
