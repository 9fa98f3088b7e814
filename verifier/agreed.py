"""5.1, 5.11 and 4.9: agreed, and keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verifier.commands import Command, read_commands
from verifier.conventions import Body, No, must, sha256
from verifier.ends import ask_setups
from verifier.letters import Letter, Player, in_one_letter, letter_named, proven
from verifier.papers import lines_of, read_replies
from verifier.rules import Result
from verifier.signature import Key, fingerprint, form_of, signed_text
from verifier.terms import agrees, check_terms, named
from verifier.text import parts_of
from verifier.transcript import canonical

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
        heads = ["server", "match", "seat", "player", "address", "salt"]
        found = lines_of(match.paper(path, player.mailbox), "pbem mailbox 1", heads)
        must(found["address"] == found["address"].lower(), "no lower case")
        right = {"server": match.server, "match": match.id, "seat": str(seat), "player": player.name}
        must(all(found[key] == value for key, value in right.items()), "a mailbox of something else")
        player.address = found["address"]
    return player


def begin(match: Match, body: Body) -> None:
    """The terms, and whose they are."""
    match.server, match.id, match.terms = body["server"], body["match"], body["terms"]
    placed = {"match": match.id, "server": match.server, "terms": match.terms}
    match.rules_hash = sha256(f"pbem terms 1\n{canonical(placed)}".encode())
    must(body["rules"] == match.rules_hash, "another hash of the terms")
    seats = [str(seat) for seat in range(1, len(match.terms["players"]) + 1)]
    must(list(body["players"]) == list(body["letters"]) == seats, "other seats")
    must(named(match, [one["name"] for one in body["players"].values()]) == match.terms["players"], "other names")


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
    ask_setups(match, entry, Result((), tuple(match.totals)))


def check_agreement(match: Match, entry: Entry, seat: int, said: Mapping[str, str]) -> None:
    letter = letter_named(match, entry, f"letters/agreed-seat-{seat}.eml", said["mail"], said["received"])
    player = match.players[seat]
    match.once(said["mail"], "agreed", seat)
    for read, _ in proven(letter, player, said.get("evidence"), waited=""):
        commands = in_one_letter(letter, said, read, seat, player.name)
        for command in commands:
            by_key, right = "evidence" not in said, given_right(match, player, command)
            if right and not command.fault and agrees(match, seat, command, by_key=by_key):
                return
    raise No("no agreement to these terms")


CHANGES = {
    ("added", "signed"): ("old", "new"),
    ("revoked", "signed"): ("old",),
    ("replaced", "recovery code"): ("new",),
    ("replaced", "mailbox, after notice and delay"): ("new",),
}
PROOFS = {"signed": "old-key", "recovery code": "recovery-code", "mailbox, after notice and delay": "mailbox"}


def keys(match: Match, entry: Entry) -> None:
    body = entry.body
    player, how = match.player(body["seat"]), (body["change"], body["how"])
    must(how in CHANGES and set(body["letters"]) == set(CHANGES[how]), "no such change")
    must(len(body["added"]) == ("new" in body["letters"]), "not one added key")
    revoked = body["revoked"]
    if body["change"] == "added":
        must(not revoked, "an added key revokes none")
    elif body["change"] == "replaced":
        must(revoked == sorted(player.keys), "not all that counted")
    else:
        must(len(revoked) == 1 and revoked[0] in player.keys and len(player.keys) > 1, "not one of several")
    brought = read_keys(body["added"])
    must(not brought.keys() & {*player.keys, *player.former}, "a key that was there")
    added = next(iter(brought.values()), None)
    for which, digest in body["letters"].items():
        path = f"letters/keys-{entry.seq}-seat-{body['seat']}-{which}.eml"
        letter = letter_named(match, entry, path, digest, None)
        match.once(digest, "keys", which, body["seat"], body["change"])
        if which == "old":
            old_says(letter, player, body)
        else:
            assert added
            new_says(letter, player, added, body)
    keyless = not player.keys and not player.former
    player.former |= {mark: (player.keys.pop(mark), match.prev) for mark in revoked}
    if added:
        player.keys[added.fingerprint] = added
        player.keyless = match.prev if keyless else player.keyless


def given_right(match: Match, player: Player, command: Command) -> bool:
    said = command.said
    return said.get("server", match.server) == match.server and said.get("player", player.name) == player.name


def old_says(letter: Letter, player: Player, body: Body) -> None:
    match = letter.match
    for commands, _ in proven(letter, player, None, waited=""):
        for command in commands:
            if command.fault or not given_right(match, player, command):
                continue
            if command.name == "key add" and body["change"] == "added" and brings(letter, command, body["added"][0]):
                return
            revokes = command.name == "key revoke" and body["change"] == "revoked"
            placed = {"server", "player"} <= set(command.said)
            mark = plain_mark(command.said.get("*fingerprint", ""))
            named = [one for one in player.keys if len(mark) >= 6 and plain_mark(one).startswith(mark)]
            if revokes and placed and named == body["revoked"]:
                return
    raise No(f"{letter.path} does not say so")


def brings(letter: Letter, command: Command, added: Mapping[str, str]) -> bool:
    if public := command.said.get("*key"):
        return form_of(public) == added["format"] and fingerprint(added["format"], public) == added["fingerprint"]
    if mark := command.said.get("*fingerprint"):
        return plain_mark(mark) == plain_mark(added["fingerprint"])
    return any(added["public"].strip() in part.text for part in parts_of(letter.message) if part.name)


def plain_mark(mark: str) -> str:
    return re.sub(r"^sha256:|:|=$", "", mark.lower())


def new_says(letter: Letter, player: Player, added: Key, body: Body) -> None:
    text = signed_text(letter.message, added, letter.match)
    for command in read_commands(text or ""):
        right = command.name == "confirm" and not command.fault and given_right(letter.match, player, command)
        named = command.said.get("*name") == player.name and command.said.get("fingerprint") == added.fingerprint
        if right and named and command.said.get("proof") == PROOFS[body["how"]]:
            return
    raise No(f"{letter.path} does not say so")
