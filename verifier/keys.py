"""5.11 and 4.9: keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verifier.agreed import read_keys
from verifier.commands import Command, read_commands
from verifier.conventions import Body, No, must
from verifier.letters import Letter, Player, letter_named, proven
from verifier.signature import Key, fingerprint, form_of, signed_text
from verifier.text import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verifier.state import Match
    from verifier.transcript import Entry

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
    added = read_added(player, body)
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


def read_added(player: Player, body: Body) -> Key | None:
    added = read_keys(body["added"])
    must(not added.keys() & {*player.keys, *player.former}, "a key that was there")
    return next(iter(added.values()), None)


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
            if revokes and placed and named_keys(player, command) == body["revoked"]:
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


def named_keys(player: Player, command: Command) -> list[str]:
    mark = plain_mark(command.said.get("*fingerprint", ""))
    return [one for one in player.keys if len(mark) >= 6 and plain_mark(one).startswith(mark)]


def new_says(letter: Letter, player: Player, added: Key, body: Body) -> None:
    text = signed_text(letter.message, added, letter.match)
    for command in read_commands(text or ""):
        right = command.name == "confirm" and not command.fault and given_right(letter.match, player, command)
        named = command.said.get("*name") == player.name and command.said.get("fingerprint") == added.fingerprint
        if right and named and command.said.get("proof") == PROOFS[body["how"]]:
            return
    raise No(f"{letter.path} does not say so")
