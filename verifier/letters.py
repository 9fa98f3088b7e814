"""6.4, 6.5 and 6.7: where a letter belongs, once, by which keys it counts, and what it gives without a form."""

from __future__ import annotations

import contextlib
import email
import email.utils
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from verifier.commands import Command, read_commands, texts_in
from verifier.conventions import Body, No, moment, must, sha256
from verifier.mailbox import dkim_holds, evidence
from verifier.one_letter import MOST, SENTENCES, Place, detail_in, given
from verifier.papers import read_evidence
from verifier.rules import Refused
from verifier.signature import Key, signed_text
from verifier.text import entity, parts_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from email.message import Message

    from verifier.state import Match
    from verifier.transcript import Entry


@dataclass
class Want:
    """The words that a command must say to count: its fields, and the heads that it may cite."""

    match: Match
    player: str
    prevs: Sequence[str]
    mailbox: bool
    demanded: tuple[str, ...] = ("server", "player", "prev", "rev")

    def fits(self, command: Command, rev: int | None, **more: str) -> bool:
        if command.fault or command.said.get("*match") != self.match.id:
            return False
        said = command.said
        right = {"server": [self.match.server], "player": [self.player], "prev": self.prevs}
        right |= {key: [value] for key, value in more.items()}
        if rev is not None:
            right["rev"] = [str(rev)]
        if not self.mailbox and not {*self.demanded, *more} <= set(said):
            return False
        return all(said[key] in values for key, values in right.items() if key in said)


@dataclass
class Letter:
    """A letter of the bundle, as it is named."""

    match: Match
    entry: Entry
    path: str
    raw: bytes
    received: str | None

    @property
    def message(self) -> Message:
        return entity(self.raw)


def letter_named(match: Match, entry: Entry, path: str, digest: str, received: str | None) -> Letter:
    raw = match.paper(path, digest)
    letter = Letter(match, entry, path, raw, received)
    if received is not None:
        must(moment(received) <= moment(entry.time), "received after the entry")
        dates = letter.message.get_all("Date") or []
        with contextlib.suppress(ValueError, OverflowError, TypeError):  # what is no date says none
            (date,) = (email.utils.parsedate_to_datetime(str(one)) for one in dates)
            date = date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
            came = moment(received)
            must(came - timedelta(days=10) <= date <= came + timedelta(days=1), "another date")
    return letter


def letter_of(
    match: Match,
    entry: Entry,
    path: str,
    seat: int,
    paper: Mapping[str, str],
    aside: Sequence[Mapping[str, str]],
    **right: str,
) -> Letter:
    """The letter of what an opening or receipt acknowledges, if nothing of its seat that was set `aside` is later."""
    right |= {"server": match.server, "match": match.id, "game": str(match.game), "seat": str(seat)}
    right |= {"player": match.players[seat].name}
    must(all(paper[key] == value for key, value in right.items()), "a paper of something else")
    must(all(int(one["rev"]) < int(paper["rev"]) for one in aside if one["seat"] == str(seat)), "set aside later")
    return letter_named(match, entry, path, paper["mail"], paper["received"])


@dataclass
class Player:
    """The player at a seat."""

    name: str
    keys: dict[str, Key]
    mailbox: str | None = None
    address: str = ""
    former: dict[str, tuple[Key, str]] = field(default_factory=dict)
    keyless: str | None = None


def proven(
    letter: Letter, player: Player, proof: str | None, *, waited: str, turn: int | None = None
) -> Iterator[tuple[list[Command], str]]:
    """The commands of a letter, and by which key they are signed."""
    for text, mark in proven_texts(letter, player, proof, waited=waited, turn=turn):
        yield read_commands(text, signed=proof is None), mark


def proven_texts(
    letter: Letter, player: Player, proof: str | None, *, waited: str, turn: int | None = None
) -> Iterator[tuple[str, str]]:
    """The texts of a letter that are proven, and by which key; `proof` is the hash of evidence.

    `waited`: "" at once, "waited" with the former keys of now, "unused" with all that there ever were.
    """
    match = letter.match
    if proof is not None:
        must(match.terms.get("keys") != "demanded", "keys are demanded")
        keyless = not player.keys and not player.former
        must(player.mailbox, "no mailbox")
        must(keyless or player.keyless == match.prev or waited == "unused", "a mailbox no longer counts")
        yield evidence(letter, proof, player, turn=turn), match.vouched[letter.path]
        return
    keys = dict(player.keys)
    if waited:
        keys |= {mark: key for mark, (key, prev) in player.former.items() if waited == "unused" or prev == match.prev}
    for key in keys.values():
        text = signed_text(letter.message, key, match)
        if text is not None:
            yield text, key.fingerprint


def whole(command: Command) -> bool:
    """True if a command says all of something; an `accept` without the hash does not."""
    if command.name == "accept" and "*hash" not in command.said:
        return False
    return not command.fault or "*match" in command.said


def in_one_letter(
    letter: Letter, paper: Mapping[str, Any], commands: list[Command], seat: int, player: str
) -> list[Command]:
    """The commands of a letter, or what it gives at its reply address if it has none (6.7)."""
    match, texts = letter.match, texts_in([*parts_of(letter.message)])
    bare_letter = len(texts) > 1 or not any(map(whole, commands))
    if "evidence" not in paper or "rev" not in paper or not bare_letter or not match.replies:
        return commands
    if match.phase not in SENTENCES:
        return commands
    vouching = read_evidence(match.papers[letter.path.replace("letters/", "evidence/").replace(".eml", ".txt")])
    detail = detail_in([str(to) for to in letter.message.get_all("To") or []])
    prev = match.rules_hash if match.phase == "proposed" else match.prev
    place = Place(
        match.server,
        match.id,
        match.phase,
        match.game,
        match.turn_due,
        prev,
        player,
        seat,
        int(paper["rev"]),
        match.replies,
    )
    here = f"game {match.game} turn {match.turn_due}"
    if vouching["by"] != "dkim" or (vouching["match"], vouching["place"]) != (match.id, here):
        return commands
    if detail != f"{match.id}.{place.token}" or sha256(place.token.encode()) != vouching["token"]:
        return commands
    try:
        dkim_holds(letter.raw, vouching["name"], vouching["record"], moment(vouching["received"]), "to")
    except No:
        return commands
    bare = [text for text in texts if not any(map(whole, read_commands(text, signed=False)))]
    read = [given(place, plain(text).split("-----BEGIN SSH SIGNATURE-----")[0]) for text in bare]
    found = [command for command in read if command is not None]
    if len(texts) > 1:
        short_enough = sum(len(command.block) for command in found) <= MOST
        found = [command for command in found if short_enough and is_legal(match, seat, command)]
        return found if len(found) == 1 else []
    return found or commands


def is_legal(match: Match, seat: int, command: Command) -> bool:
    try:
        if command.name == "setup":
            match.rules.setup(match.options, seat, command.block)
        elif command.name == "orders":
            match.position.order(seat, command.block)
    except Refused:
        return False
    return True


def game_of(command: Command) -> int:
    return int(command.said.get("*game", "0"))


def clears(match: Match, want: Want, command: Command, what: str, turn: int = 0) -> bool:
    """True if this is `clear` for a setup, a turn, or default orders."""
    if command.name != "clear" or not want.fits(command, None):
        return False
    said = command.said
    game, about = said.get("game"), said.get("*turn", said.get("turn"))
    if what == "setup":
        return about is None and game in {str(match.game), *([None] if want.mailbox else [])}
    if about is None and want.mailbox:  # it may leave out the turn, which is that of the moment
        about = str(turn)
    return game in {None, str(match.game)} and about == ("default" if what == "default" else str(turn))


def sentence(
    match: Match, entry: Entry, what: str, player: Player | None = None, *, game: str = "", **said: str | None
) -> Command:
    body = entry.body
    seat = body["seat"]
    player = player or match.player(seat)
    path = f"letters/{what}-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    want = Want(match, player.name, [match.prev], "level" in body)
    name = "substitute" if what == "substituted" else what
    for read, _ in proven(letter, player, body.get("evidence"), waited=""):
        commands = in_one_letter(letter, body, read, seat, player.name)
        found = []
        for command in commands:
            fits = command.name == name and want.fits(command, body["rev"]) and here(match, command, body)
            fits = fits and game in {"", command.said.get("*game", command.said.get("game"))}
            if fits and all(command.said.get(key) == value for key, value in said.items()):
                found.append(command)
        if found:
            rev = given_revision(found)
            match.once(body["mail"], what, body.get("word"), seat, match.game, match.turn_due, rev)
            must(body["rev"] > match.said.get((what, seat), 0), "not obeyed twice")
            match.said[what, seat] = body["rev"]
            return found[0]
    raise No(f"{path} holds no such sentence")


def given_revision(commands: Sequence[Command]) -> str | None:
    """The revision that one of these gives; otherwise it is the server's word, and no reason to count them twice."""
    return next((command.said["rev"] for command in commands if "rev" in command.said), None)


def here(match: Match, command: Command, body: Body) -> bool:
    """True if a sentence says the turn, or the game, that is due."""
    place, number = ("turn", match.turn_due) if match.phase == "playing" else ("game", match.game)
    given = [command.said[key] for key in (place, f"*{place}") if command.said.get(key, "match") != "match"]
    other = "game" if place == "turn" else "turn"
    right = {"game": match.game, "turn": match.turn_due}[other]
    if command.said.get(other, str(right)) != str(right):
        return False
    return all(one == str(number) for one in given) and (bool(given) or "level" in body)
