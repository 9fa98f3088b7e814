"""What a signed letter said: from raw bytes to the form that a match understands, at the desk and at verification.

Here the rooms meet that may not know each other: reading (mail), signatures (identity) and the life of a match.
No store, no effect. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from pbem import identity
from pbem.desk import evidence as proofs
from pbem.desk.mailbox import vouched
from pbem.games import Refused
from pbem.mail import commands
from pbem.mail.letter import Unreadable, read
from pbem.match.ahead import DEFAULT
from pbem.match.life import Form
from pbem.match.papers import Evidence, Receipt, pinned_mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pbem.identity import Key, Verdict
    from pbem.mail.commands import Command
    from pbem.mail.letter import Letter
    from pbem.match.keys import KeyChange
    from pbem.match.life import Match
    from pbem.match.papers import Opening

__all__ = ["Letters", "form", "said", "setup_revision"]


def form(command: Command) -> Form:
    """The form that a command holds: what it says of its place, and its block."""
    given = command.arguments
    return Form(
        server=command.fields.get("server"),
        player=command.fields.get("player"),
        prev=command.fields.get("prev"),
        rev=command.rev,
        game=given.get("game"),
        turn=DEFAULT if given.get("default") else given.get("turn"),
        final=given.get("final", False),
        text=command.block or "",
    )


@dataclass(slots=True)
class Letters:
    """The letters of a bundle as a source for retracing: each signature is checked, nothing is trusted."""

    papers: Mapping[str, bytes]

    def paper(self, path: str) -> bytes | None:
        """The file of this path in the bundle."""
        return self.papers.get(path)

    def form(  # noqa: PLR0913, PLR0917 - a source's
        self,
        match: Match,
        kind: str,
        seat: int,
        letter: bytes,
        paper: Opening | Receipt | None,
        evidence: bytes = b"",
    ) -> Form:
        """What the letter said, once it proved to be the player's; raises ValueError when it is not so."""
        if evidence:
            level, (key, text) = "mailbox", self._vouched(match, seat, letter, evidence)
        else:
            player = match.players[seat - 1]
            # What waited was judged when it came; what had its effect at once, by the keys of that moment.
            keys = player.keys_at(match.prev) if paper else player.keys
            level, (key, text) = "key", self._signed(match, seat, letter, keys)
        if isinstance(paper, Receipt) and paper.by_default:
            kind = "default orders"
        if isinstance(paper, Receipt) and (paper.level, paper.key) != (level, key):
            raise ValueError("the receipt names another level or key")
        reading = commands.parse(text)
        found = [command for command in reading.commands if _fits(command, match, kind, seat) and not command.faults]
        if isinstance(paper, Receipt):
            found = [command for command in found if command.rev == paper.rev]
        if not found:
            raise ValueError(f"holds no `{kind}` for this place")
        forms = [form(command) for command in found]
        return next((form for form in forms if _stood(form, match, seat, paper)), forms[-1])

    @staticmethod
    def _vouched(match: Match, seat: int, letter: bytes, content: bytes) -> tuple[str, str]:
        """What a letter at level `mailbox` rests on, and its text; it counts only of a player without a key."""
        player, vouching = match.players[seat - 1], Evidence.read(content.decode())
        if not player.mailbox_at(match.prev):
            raise ValueError(f"{player.name} has a key, and this letter is not signed with it")
        if (vouching.server, vouching.match, vouching.player) != (match.server, match.id, player.name):
            raise ValueError("the evidence belongs to another match or player")
        try:
            found = read(letter)
        except Unreadable as error:
            raise ValueError(f"cannot be read: {error}") from error
        if pinned_mailbox(match.server, match.id, found.sender or "") != player.mailbox:
            raise ValueError(f"does not come from the mailbox of {player.name}")
        if fault := vouched(found, vouching):
            raise ValueError(f"it is not vouched for: {fault}")
        return vouching.key, found.text or ""

    @staticmethod
    def _signed(match: Match, seat: int, letter: bytes, keys: Iterable[Mapping[str, str]]) -> tuple[str, str]:
        """The key that signed a letter, and the signed text."""
        try:
            # Expiry was judged at receipt; a bundle is verified at any time after, and does not say when that was.
            verdict = identity.judge(read(letter), [_listed(key) for key in keys], match.server)
            text = said(verdict) if verdict.kind == "valid" else ""
        except Unreadable as error:
            raise ValueError(f"cannot be read: {error}") from error
        if verdict.kind != "valid":
            raise ValueError(f"the signature of {match.name(seat)} does not hold: {verdict.reason}")
        return verdict.key or "", text

    def keys(self, match: Match, seat: int, change: KeyChange) -> None:
        """Check that the letters of a key change prove it; raises ValueError."""
        player = match.players[seat - 1]
        for who, raw in change.letters.items():
            keys = [_listed(key) for key in (player.keys if who == "old" else change.added)]
            try:
                letter = read(raw)
                verdict = identity.judge(letter, keys, match.server)
                found = commands.parse(said(verdict)).commands if verdict.kind == "valid" else []
            except Unreadable as error:
                raise ValueError(f"the {who} key's letter cannot be read: {error}") from error
            if verdict.kind != "valid":
                raise ValueError(f"the signature of {player.name}'s {who} key does not hold: {verdict.reason}")
            spoken = proofs.Spoken(letter, verdict, found)
            if not proofs.says(spoken, who, change, player, match.server):
                raise ValueError(f"the letter signed by the {who} key does not say so")


def _stood(form: Form, match: Match, seat: int, paper: Opening | Receipt | None) -> bool:
    """Whether the desk took this form of a letter that holds several: the refused ones beside it count for nothing.

    Of forms with one revision the desk takes the first that is legal; an opening says itself which setup it was.
    """
    heads = match.printed if isinstance(paper, Receipt) else (match.prev,)
    if paper is None or (form.server, form.player) != (match.server, match.name(seat)) or form.prev not in heads:
        return paper is None
    try:
        if isinstance(paper, Receipt):
            assert match.position is not None
            match.rules.order(match.position, seat, form.text)
            return True
        assert match.options is not None
        return match.rules.setup(match.options, seat, form.text).text == paper.setup
    except Refused:
        return False


def said(verdict: Verdict, read: Callable[[bytes], Letter] = read) -> str:
    """The text that a signature covers, from the signed bytes alone; `read` reads those that are a MIME entity.

    Raises `Unreadable` when they are a letter beyond the limits.
    """
    if verdict.entity:
        return read(verdict.signed).text or ""
    return verdict.signed.decode("utf-8", "replace")


def setup_revision(match: str, game: int, raw: bytes) -> int | None:
    """The revision of the setup that a letter, proved before, brought; None when it holds none or several."""
    letter = read(raw)
    texts = [letter.text or "", *(part.text for part in letter.parts if part.text != letter.text)]
    found = {
        command.rev
        for text in texts
        for command in commands.parse(text).commands
        if (command.name, command.match, command.arguments.get("game")) == ("setup", match, game)
    }
    return found.pop() if len(found) == 1 else None


_parsed = lru_cache(maxsize=256)(identity.parse_key)
"""The key that a transcript lists, as it was read for the letter before."""


def _listed(key: Mapping[str, str]) -> Key:
    """A key as the transcript lists it; raises ValueError when it is not the key that its fingerprint names."""
    found = _parsed(key["public"])
    if (found.format, found.fingerprint) != (key["format"], key["fingerprint"]):
        raise ValueError(f"the key {key['fingerprint']} is not the one that stands beside it")
    return replace(found, state="pinned")


PLACED = ("extend", "claim", "draw", "annul")
"""Kinds of letters that may say their place, and then must say it right."""


def _sentence(command: Command) -> str:
    """What a command `substitute` says."""
    given = command.arguments
    words = ["substitute", given.get("name", ""), "for", given.get("leaver", ""), given.get("hash", "")]
    return " ".join(filter(None, words))


def _fits(command: Command, match: Match, kind: str, seat: int) -> bool:
    """Whether the command is of this kind and meant for the place at which the match stands."""
    if command.match != match.id:
        return False
    given = command.arguments
    if kind == "setup":
        return command.name == "setup" and given.get("game") == match.game
    if kind == "default orders":
        return command.name == "orders" and given.get("default", False)
    if kind == "orders":
        return command.name == "orders" and given.get("turn") == match.turn
    player = match.name(seat)
    place = {"server": match.server, "player": player, "prev": match.prev}
    if kind.startswith(PLACED) and any(command.fields.get(key, value) != value for key, value in place.items()):
        return False
    if kind.startswith("extend "):
        return command.name == "extend" and given.get("time") == int(kind.split()[1])
    if kind.startswith(("draw ", "annul ")):
        return f"{command.name} {given.get('word')}" == kind
    if kind == "claim":
        return command.name == "claim"
    if kind.startswith("substitute "):
        return command.name == "substitute" and place.items() <= command.fields.items() and _sentence(command) == kind
    if command.name != "resign":
        return False
    return given.get("whole", False) if kind == "resign match" else given.get("game") == match.game
