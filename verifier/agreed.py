"""5.1 agreed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verifier.asking import ask_setups
from verifier.conventions import Body, No, must
from verifier.letters import Player, in_one_letter, letter_named, proven
from verifier.papers import read_mailbox, read_replies
from verifier.rules import Result
from verifier.signature import Key, fingerprint
from verifier.terms import agrees, check_terms, terms_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verifier.state import Match
    from verifier.transcript import Entry


def read_keys(listed: Sequence[Mapping[str, str]]) -> dict[str, Key]:
    """The keys of a list, by fingerprint."""
    keys = {}
    for one in listed:
        must(fingerprint(one["format"], one["public"]) == one["fingerprint"], "a key of another fingerprint")
        keys[one["fingerprint"]] = Key(one["format"], one["fingerprint"], one["public"])
    must(len(keys) == len(listed), "a key twice")
    return keys


def read_player(match: Match, seat: int, said: Mapping[str, Any], seq: int) -> Player:
    """The person at a seat; at seat 0, a player of a tournament."""
    keys = read_keys(said["keys"])
    player = Player(said["name"], keys, said.get("mailbox"))
    must(keys or player.mailbox, "neither key nor mailbox")
    if player.mailbox and (seat or match.papers):  # of a tournament, there may be no papers at all
        path = f"evidence/mailbox-{seq}-seat-{seat}.txt" if seat else f"evidence/mailbox-{seq}.txt"
        found = read_mailbox(match.paper(path, player.mailbox))
        right = {"server": match.server, "match": match.id, "seat": str(seat), "player": player.name}
        must(all(found[key] == value for key, value in right.items()), "a mailbox of something else")
        player.address = found["address"]
    return player


def begin(match: Match, body: Body) -> None:
    """The terms, and whose they are."""
    match.server, match.id, match.terms = body["server"], body["match"], body["terms"]
    match.rules_hash = terms_hash(match.server, match.id, match.terms)
    must(body["rules"] == match.rules_hash, "another hash of the terms")
    seats = [str(seat) for seat in range(1, len(match.terms["players"]) + 1)]
    must(list(body["players"]) == list(body["letters"]) == seats, "other seats")
    must([one["name"] for one in body["players"].values()] == match.terms["players"], "other names")


def agreed(match: Match, entry: Entry) -> None:
    body = entry.body
    begin(match, body)
    must(re.fullmatch("m[1-9][0-9]{0,8}", match.id), "no match")
    check_terms(match.terms)
    seats = list(body["players"])
    for seat in seats:
        match.players[int(seat)] = read_player(match, int(seat), body["players"][seat], 1)
    match.phase, match.replies = "proposed", read_replies(match, entry, "replies-game-0", "proposal")
    addressed = any("rev" in letter for letter in body["letters"].values())
    must(("proposal" in body) == addressed, "addresses of a proposal that nobody used")
    for seat in seats:
        check_agreement(match, entry, int(seat), body["letters"][seat])
    match.totals = [0] * len(seats)
    match.head = entry.head
    ask_setups(match, entry, Result(0, tuple(match.totals)))


def check_agreement(match: Match, entry: Entry, seat: int, said: Mapping[str, str]) -> None:
    letter = letter_named(match, entry, f"letters/agreed-seat-{seat}.eml", said["mail"], said["received"])
    player = match.players[seat]
    match.once(said["mail"], "agreed", seat)
    for read, _ in proven(letter, player, said.get("evidence"), waited=""):
        commands = in_one_letter(letter, said, read, seat, player.name)
        for command in commands:
            given = {"server": match.server, "player": player.name}
            right = all(command.said.get(key, value) == value for key, value in given.items())
            by_key = "evidence" not in said
            if right and not command.fault and agrees(match, seat, command, by_key=by_key):
                return
    raise No("no agreement to these terms")
