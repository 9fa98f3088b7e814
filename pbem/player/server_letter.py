"""A letter from the server: its bulletin and its JSON files, once they are known to be its own; and what came of it.

A letter may come from anybody. No header is believed here, only what the server's key signed for this player. What
of that is believed is said in `correspondence.belief`. Implements docs/attachments.md, "The bulletin".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from pbem.config.limits import Limits
from pbem.identity import ed25519_points
from pbem.json_object import DEPTH, JsonObject, depth
from pbem.mail.compose import BULLETIN
from pbem.mail.message import Unreadable, read_letter
from pbem.match.transcript import announcement, canonical, is_time, sha256_hex
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble
from pbem.player.results import PlayResult, ToldLine, faults, line_of
from pbem.proof import bundle
from pbem.proof.kept_letters import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.mail.message import Letter
    from pbem.player.memory import SentForm
    from pbem.player.results import Say


LIMITS: Final = Limits(
    message_bytes=64 << 20, message_lines=1_000_000, headers=500, header_bytes=256 << 10, parts=200
)
"""Wider than a server's, for bundles are large; what is beyond is no letter of a server's."""

_Word = Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{1,320}\Z")]
_SIGNATURE = re.compile("[0-9a-f]{128}")


class NotGenuine(PlayerTrouble):
    """The letter is not the server's own, or not as the server wrote it; the text says why."""


class _Bulletin(msgspec.Struct, frozen=True):
    """The form of a bulletin; `files` are the hashes of attached files, by name."""

    key: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    server: _Word
    to: _Word
    time: str
    items: Annotated[tuple[JsonObject, ...], msgspec.Meta(max_length=500)]
    files: JsonObject
    generation: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    """The number of times that the server was restored from a backup, plus one."""
    forgotten: dict[Literal["matches", "tournaments"], tuple[int, int]]
    """The numbers that the last restore has forgotten, from and to."""

    def __post_init__(self) -> None:
        if not is_time(self.time):
            raise ValueError("its time is none")


class HeardBulletin(_Bulletin, frozen=True):
    """The contents of a letter from the server that programs read; `files` are the attached JSON files, by name."""

    texts: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """The attached text files, by their names: what others signed in sealed matches."""
    bundles: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """The attached bundles, by their names; they prove themselves."""


def opened(raw: bytes) -> Letter:
    """A letter taken apart; raises `NotGenuine` beyond the limits."""
    try:
        return read_letter(raw, LIMITS)
    except Unreadable as error:
        raise NotGenuine("it cannot be read: {reason}", reason=error.reason) from error


def hear(letter: Letter) -> HeardBulletin | None:
    """Read the part of a letter for programs, signed by the key that it names; None if it has no bulletin.

    Whose key that is, and whether the letter is for this player, is not checked here. Raises `NotGenuine`.
    """
    packed = letter.values(BULLETIN)
    if not packed:
        return None
    if len(packed) > 1:
        raise NotGenuine("it has two bulletins")
    try:
        # Canonical JSON has no number that browsers read otherwise, and `_loaded` no half of a character.
        document: JsonObject = _loaded(canonical(unpacked(packed[0])))
    except (TypeError, ValueError) as error:
        raise NotGenuine("its bulletin is damaged") from error
    if not isinstance(document, dict) or document.get("pbem") != "bulletin 1":
        raise NotGenuine("its bulletin is of another kind")
    signature = document.pop("signature", None)
    try:
        said = msgspec.convert(document, _Bulletin)
    except msgspec.ValidationError as error:
        raise NotGenuine("its bulletin has not the form of one") from error
    if not (isinstance(signature, str) and _SIGNATURE.fullmatch(signature)):
        raise NotGenuine("its bulletin is not signed")
    statement = announcement(said.server, sha256_hex(canonical(document)))
    if not ed25519_points.holds(bytes.fromhex(said.key), bytes.fromhex(signature), statement):
        raise NotGenuine("the signature of its bulletin does not hold")
    # A forwarded letter is no file where letters are compared with a bundle.
    parts = [part for part in letter.parts if part.content_type != "message/rfc822"]
    attached = {part.filename: part.content for part in parts if part.filename}
    files, texts = _files(attached, said.files)
    bundles = {name: content for name, content in attached.items() if name.endswith(".pbem.zip")}
    return HeardBulletin(**msgspec.structs.asdict(said) | {"files": files}, texts=texts, bundles=bundles)


def _loaded(content: bytes) -> Any:
    """JSON in which every text is valid Unicode, and no deeper than others read it; raises ValueError."""
    if depth(content) > DEPTH:
        raise ValueError("nested too deep")
    found = json.loads(content)
    json.dumps(found, ensure_ascii=False).encode()  # not so with half a character in it
    return found


def _files(attached: Mapping[str, bytes], hashes: JsonObject) -> tuple[dict[str, JsonObject], dict[str, bytes]]:
    """The JSON files and the texts that the bulletin names; each must be there, unchanged."""
    found, texts = {}, {}
    for name, hashed in hashes.items():
        content = attached.get(name)
        if content is None:
            raise NotGenuine("its file {name} was taken away", name=name)
        if sha256_hex(content) != hashed:
            raise NotGenuine("its file {name} was changed", name=name)
        if name.endswith(".txt"):
            texts[name] = content
            continue
        try:
            document = _loaded(content)
            if canonical(document) != content or len(content) > bundle.LIMITS.paper_octets:
                raise ValueError("not as files are that are compared with a bundle")
        except (TypeError, ValueError) as error:
            raise NotGenuine("its file {name} is no JSON", name=name) from error
        if isinstance(document, dict):
            found[name] = document
    return found, texts


Kind = Literal[
    "foreign",
    "unpinned",
    "forged",
    "doubled",
    "news",
    "answer",
    "challenge",
    "account",
    "open",
    "contradiction",
    "forgotten",
    "bounced",
]


_OUTCOMES = {
    "done": Phrase("done"),
    "asked": Phrase("something is asked first; read the letter"),
    "again": Phrase("it had its effect before"),
}

_LOUD = {
    "forged": Phrase("NOT BELIEVED: “{about}”: {said}"),
    "contradiction": Phrase("ALARM: “{about}”: {said}"),
    "forgotten": Phrase("ALARM: “{about}”: {said}"),
}


class Event(PlayResult, frozen=True):
    """The outcome of a letter: its kind, the match that it is about, and what the player should know.

    `foreign`: not from this server; `unpinned`: it says so, but no key is known yet that would prove it; `forged`: it
    says so, and is not, or not for this player; `doubled`: it was read before; `news` about a match; an `answer` to a
    letter of ours; a `challenge`; an `account`; the `open` list; a `contradiction`, which accuses the server;
    `forgotten`: the server was restored from a backup, and told something before that it does not know any more;
    `bounced`: a letter of ours came back.
    """

    kind: Kind
    subject: str = ""
    match: str = ""
    said: str = ""
    faults: tuple[str, ...] = ()
    sent: SentForm | None = None

    def told(self, say: Say) -> Iterator[ToldLine]:
        """The words of what matters to the player: not of other mail, and of letters that cannot be judged yet."""
        subject, said = line_of(self.subject, say), line_of(self.said, say)
        letter = self.sent.about if self.sent else ""
        match self.kind:
            case "news":
                yield ToldLine(Phrase("Came: {subject}", subject=subject))
            case "answer" if self.said == "refused":
                yield ToldLine(Phrase("Refused: {letter}:", letter=letter), loud=True)
                yield from faults(self.faults, say)
            case "answer" if letter != "register":  # of that, the challenge tells
                outcome = _OUTCOMES.get(self.said) or said
                yield ToldLine(Phrase("Answered: {letter}: {outcome}.", letter=letter, outcome=outcome))
            case "challenge":
                yield ToldLine(Phrase("The server asks your key to prove itself."))
            case "account" if said:
                yield ToldLine(Phrase("Registered. Your recovery code, to be kept somewhere else:"))
                yield ToldLine(f"\n    {said}\n")
            case "account":
                yield ToldLine(Phrase("Registered, without a key."))
            case "forged" | "contradiction" | "forgotten":
                yield ToldLine(_LOUD[self.kind].given(about=subject or line_of(self.match), said=said), loud=True)
            case "doubled":
                yield ToldLine(Phrase("Received again; it changes nothing: {subject}", subject=subject))
            case "bounced":
                came = Phrase("CAME BACK: {letter} did not reach the server. Repeat the command to send it again.")
                yield ToldLine(came.given(letter=letter), loud=True)
