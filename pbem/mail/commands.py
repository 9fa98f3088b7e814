"""The command language of letters: text in, commands with their arguments and blocks out.

Here live the table of commands, from which parsing and help both come, and its reader. No rules, no
decisions: whether a command may be obeyed is for the desk. `parse` never raises; what is wrong with a
command stands in its faults. Implements protocol.md, "Commands" and "Identity" (the signed forms).
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypedDict

from pbem.games import Fault
from pbem.i18n import LANGUAGES
from pbem.phrase import Phrase, either

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

_Wrong = tuple[str | None, Phrase]
"""A token as written, and what is wrong with it."""

__all__ = ["COMMANDS", "SETTINGS", "Arguments", "Command", "Form", "Reading", "clean", "masked", "parse"]

MAX_UNKNOWN = 5
"""So many unknown lines end the reading: a letter to somebody else is not searched for commands."""

FIELDS = ("server", "player", "prev", "rev", "challenge", "fingerprint", "proof")
"""Header fields of the signed forms, each with one word as its value."""

NUMBERED = ("game", "turn")
"""Fields of the sentences whose own words do not name the game or turn that they are about; each a number."""

_WHICH: dict[str, Literal["open", "mine"]] = {"open": "open", "mine": "mine"}
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "format": ("both", "pictures", "text"),
    "language": LANGUAGES,
    "mail": ("each", "digest"),
    "timezone": ("UTC",),
}
"""What `set` sets: each setting with its values, the default first."""

ANY_WORD = frozenset({"timezone"})
"""The settings whose values are too many to be listed: they are judged where they are known."""

_RESERVED = frozenset({*FIELDS, "end", "final", "with", "stop"})

ARMOR = "-----BEGIN SSH SIGNATURE-----"
_ARMOR_END = "-----END SSH SIGNATURE-----"


class Arguments(TypedDict, total=False):
    """What stands between the name of a command and its block; only what was given is there."""

    match: str
    """As `m17`, lower case."""
    turn: int
    game: int
    all: bool
    whole: bool
    """The whole match, not one game of it."""
    final: bool
    default: bool
    """Orders for whichever turn is missed, in place of a turn's number."""
    public: bool
    """Press to observers, too."""
    name: str
    """A player's name, lower case."""
    leaver: str
    """The name of the player whose seat somebody is to take, lower case."""
    rules: str
    """Name of a game, lower case."""
    topic: str
    which: Literal["open", "mine"]
    hash: str
    """Lower case."""
    players: tuple[str, ...]
    setting: tuple[str, str]
    """A name and a value of `SETTINGS`."""
    time: int
    """Seconds."""
    word: str
    """Of an agreement: `offer`, `accept` or `decline`."""
    first: str
    last: str
    """Days, as `2026-12-20`."""
    off: bool
    key: str
    """A public key line, the pieces that a mail program made of it joined."""
    fingerprint: str
    """Of a key, or the beginning of one, as written but for the blanks in it."""
    code: str
    """A recovery code, or what was given for one: lower case, without blanks and hyphens."""
    address: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a letter."""

    name: str
    echo: str
    """As written, quotes and invisible characters taken out."""
    head: str
    """The words of the command itself, without the fields and the block that follow them."""
    line: int
    """1-based line of the text that was parsed."""
    arguments: Arguments = field(default_factory=Arguments)
    fields: dict[str, str] = field(default_factory=dict)
    """The header fields of a signed form: `server`, `player`, `prev`, `rev`, `challenge` and the rest of `FIELDS`."""
    options: dict[str, str] = field(default_factory=dict)
    """The `option: value` lines of `new`, names in lower case."""
    block: str | None = None
    """The block's own text, line ends as written; None where the command has none or it is not closed."""
    block_line: int = 0
    """1-based line of the text that was parsed where the block's own text begins."""
    faults: tuple[Fault, ...] = ()

    @property
    def same(self) -> Hashable:
        """What is equal for commands that say the same, in capitals, blanks and quotes of whatever kind."""
        if self.faults:
            return (self.name, " ".join(self.echo.lower().split()))
        words = tuple((self.block or "").split())
        read = (self.arguments, self.fields, self.options)
        return (self.name, *(tuple(sorted(found.items())) for found in read), words)

    @property
    def match(self) -> str | None:
        """Name of the match, `m17`, where one was given."""
        return self.arguments.get("match")

    @property
    def rev(self) -> int | None:
        """The revision in the signed form, where there is one without fault."""
        return self.number("rev")

    def number(self, name: str) -> int | None:
        """The number in a field of the signed form, where there is one without fault."""
        value = self.fields.get(name, "")
        return int(value) if _REV.fullmatch(value) else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a letter."""

    commands: list[Command]
    ignored: list[str]
    """Runs of lines that were skipped, in their order: quotes, unknown lines, all after `-- ` or `stop`."""
    optout: bool = False
    """`stop` was the very first word: the sender wants no more mail, except about running matches."""
    place: dict[str, str] = field(default_factory=dict)
    """The server and the player that a `stop` names."""


_MATCH = re.compile(r"m[1-9][0-9]{0,8}", re.I)
_LIKE_A_MATCH = re.compile(r"m?\d|m$", re.I)
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.I)
_HASH = re.compile(r"[0-9a-f]{8,64}", re.I)
_TIME = re.compile(r"([1-9][0-9]{0,5})([mhd])", re.I)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REV = re.compile(r"[1-9][0-9]{0,8}")
_KEY_TYPE = re.compile(r"(ssh|ecdsa|sk)-[a-z0-9@.-]+", re.I)
_KEY_BLOCK = re.compile(
    r"-----BEGIN (PGP PUBLIC KEY BLOCK|CERTIFICATE|PUBLIC KEY|[A-Z ]{0,20}PRIVATE KEY[A-Z ]{0,6})-----"
    r"(?:[^-]|-(?!----))*-----END \1-----"
)
_MINISIGN_LINE = r"RW[A-Za-z0-9+/]{54}(?!\S)"
_MINISIGN_KEY = re.compile(rf"(?:untrusted comment:(?:[^\S\n]*+(?!{_MINISIGN_LINE})\S++)*+\s++)?{_MINISIGN_LINE}")
_KEY_START = re.compile(r"(ssh|ecdsa|sk)-[a-z0-9@.-]+$|-----BEGIN|untrusted$|RW[A-Za-z0-9+/]{54}$", re.I)
_FINGERPRINT = re.compile(r"[A-Za-z0-9+/:=]{4,200}")
_WHOLE_FINGERPRINT = re.compile(
    r"SHA256:[A-Z0-9+/]{43}=?|[0-9A-F]{40}|[0-9A-F]{64}|(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", re.I
)
_GROUP = re.compile(r"[0-9A-F]{4}", re.I)
_CODE_PIECE = re.compile(r"[0-9a-f-]{2,39}", re.I)
_CODE = re.compile(r"(?<![0-9a-f-])[0-9a-f]{4}(?:(?:-\s?)?[0-9a-f]{4}){7}(?![0-9a-f-])", re.I)
_CODE_DIGITS = 32
_MAILBOX = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,189}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_END = re.compile(r"(?<![^\s,;])end(?![^\s,;.])", re.I)
_SCAN = re.compile(rf"#[^\n]*|({_END.pattern})", re.I)
_LAST_END = re.compile(r"(?<!\S)(end)\s*\Z", re.I)
_LINE_OF_END = re.compile(r"^ *(end) *$", re.I | re.M)
_COMMENT = re.compile(r"#[^\n]*")
_SECRET = re.compile(r"\b(orders|setup|preview)\s+m\d", re.I)

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_LINE_END = re.compile(r"\r\n?|[\n\v\f\x85\u2028\u2029]")
_BLANK = re.compile(r"[^\S\n]")
_WORD = re.compile(r"\S+")
_UNCLEAN = re.compile(r"[^\n -~]")


def clean(text: str) -> str:
    """Bring line ends to LF and every other white space to a blank, and take out what cannot be seen."""
    if not _UNCLEAN.search(text):
        return text
    return _BLANK.sub(" ", _LINE_END.sub("\n", text).translate(_INVISIBLE))


def masked(text: str) -> str:
    """A text in which no recovery code can be read."""
    return _CODE.sub("****", text)


class _Words:
    """A cursor over the words of a text whose quotes are taken out."""

    def __init__(self, numbered: list[tuple[int, str]]) -> None:
        self.text = "\n".join(line for _, line in numbered)
        self._numbers = [number for number, _ in numbered]
        self._line_starts = list(accumulate((len(line) + 1 for _, line in numbered), initial=0))
        found = list(_WORD.finditer(self.text))
        self._words = [word[0] for word in found]
        self._starts = [word.start() for word in found]
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        """The word at the cursor as written, "" after the last."""
        at = self.at + ahead
        return self._words[at] if at < len(self._words) else ""

    def low(self, ahead: int = 0) -> str:
        return self.word(ahead).lower()

    def bare(self, ahead: int = 0) -> str:
        """The word without the punctuation that people put after arguments."""
        return self.word(ahead).rstrip(",;.:")

    def take(self) -> str:
        self.at += 1
        return self.word(-1)

    @property
    def more(self) -> bool:
        return self.at < len(self._words)

    @property
    def start(self) -> int:
        """Offset of the word at the cursor."""
        return self._starts[self.at] if self.more else len(self.text)

    @property
    def passed(self) -> int:
        """Offset behind the word before the cursor."""
        return self._starts[self.at - 1] + len(self._words[self.at - 1]) if self.at else 0

    def same_line(self) -> bool:
        """Whether the word at the cursor stands on the line of the word before it."""
        return self.more and "\n" not in self.text[self.passed : self.start]

    def move_to(self, offset: int) -> None:
        self.at = bisect_left(self._starts, offset)

    def take_line(self) -> None:
        while self.same_line():
            self.at += 1

    def line(self, offset: int) -> int:
        """1-based line, in the text as it came, of an offset."""
        at = min(bisect_left(self._line_starts, offset + 1), len(self._numbers))
        return self._numbers[at - 1] if self._numbers else 1


def _match(words: _Words, given: Arguments) -> Phrase | None:
    if not _MATCH.fullmatch(words.bare()):
        return Phrase("name the match, such as m17")
    given["match"] = words.bare().lower()
    words.take()
    return None


def _match_or_none(words: _Words, given: Arguments) -> Phrase | None:
    return _match(words, given) if _LIKE_A_MATCH.match(words.word()) else None


def _number(words: _Words, keyword: str) -> int | None:
    if words.low() != keyword or not _NUMBER.fullmatch(words.bare(1)):
        return None
    number = int(words.bare(1))
    words.at += 2
    return number


def _turn(words: _Words, given: Arguments) -> Phrase | None:
    number = _number(words, "turn")
    if number is None:
        return Phrase("name the turn, such as turn 5")
    given["turn"] = number
    return None


def _turn_or_default(words: _Words, given: Arguments) -> Phrase | None:
    if words.bare().lower() == "default":
        given["default"] = True
        words.take()
        return None
    return _turn(words, given)


def _what_stands(words: _Words, given: Arguments) -> Phrase | None:
    return _turn_or_default(words, given) if words.bare().lower() in {"turn", "default"} else None


def _whole(words: _Words, given: Arguments) -> Phrase | None:
    if words.bare().lower() == "match":
        given["whole"] = True
        words.take()
        return None
    return _game(words, given)


def _turn_or_all(words: _Words, given: Arguments) -> Phrase | None:
    at_all = 1 if words.low() == "turn" else 0
    if words.bare(at_all).lower() == "all":
        given["all"] = True
        words.at += at_all + 1
        return None
    return _turn(words, given) if words.low() == "turn" else None


def _game(words: _Words, given: Arguments) -> Phrase | None:
    if words.low() != "game":
        return None
    number = _number(words, "game")
    if number is None:
        return Phrase("after game comes its number, such as game 2")
    given["game"] = number
    return None


def _final(words: _Words, given: Arguments) -> Phrase | None:
    if words.low() == "final":
        given["final"] = True
        words.take()
    return None


def _setting(words: _Words, given: Arguments) -> Phrase | None:
    name, value = words.low(), words.bare(1)
    if name not in ANY_WORD or not value:
        value = value.lower()
        if value not in SETTINGS.get(name, ()):
            return Phrase(
                "write {settings}",
                settings=either(f"`set {name} {value}`" for name in SETTINGS for value in SETTINGS[name]),
            )
    given["setting"] = (name, value)
    words.at += 2
    return None


def _time(words: _Words, given: Arguments) -> Phrase | None:
    found = _TIME.fullmatch(words.bare())
    if found is None:
        return Phrase("say how long, such as 3d or 12h")
    given["time"] = int(found[1]) * {"m": 60, "h": 3600, "d": 86400}[found[2].lower()]
    words.take()
    return None


def _word(words: _Words, given: Arguments) -> Phrase | None:
    word = words.bare().lower()
    if word not in {"offer", "accept", "decline"}:
        return Phrase("say offer, accept or decline")
    given["word"] = word
    words.take()
    return None


def _days(words: _Words, given: Arguments) -> Phrase | None:
    if words.bare().lower() == "off":
        given["off"] = True
        words.take()
        return None
    first, last = words.bare(), words.bare(2)
    if words.low(1) != "to" or not _DATE.fullmatch(first) or not _DATE.fullmatch(last):
        return Phrase("write `vacation 2026-12-20 to 2027-01-03`, or `vacation off`")
    given["first"], given["last"] = first, last
    words.at += 3
    return None


def _public(words: _Words, given: Arguments) -> Phrase | None:
    # Alone on the line of the command: what a player writes to the opponent may begin with any word.
    if words.low() == "public" and words.same_line():
        words.take()
        if words.same_line():
            words.at -= 1
        else:
            given["public"] = True
    return None


def _rules(words: _Words, given: Arguments) -> Phrase | None:
    if not _NAME.fullmatch(words.bare()):
        return Phrase("name the game; `games` lists them all")
    given["rules"] = words.bare().lower()
    words.take()
    return None


def _game_or_match(words: _Words, given: Arguments) -> Phrase | None:
    return _match(words, given) and _rules(words, given)


def _name(words: _Words, given: Arguments) -> Phrase | None:
    if not _NAME.fullmatch(words.bare()) or words.bare().lower() in _RESERVED:
        return Phrase("give a name: a letter a to z, then up to 31 of a to z, 0 to 9, - and _")
    given["name"] = words.bare().lower()
    words.take()
    return None


def _leaver(words: _Words, given: Arguments) -> Phrase | None:
    if words.low() != "for" or not _NAME.fullmatch(words.bare(1)) or words.bare(1).lower() in _RESERVED:
        return Phrase("say for whom: `substitute m17 carl for bob`")
    given["leaver"] = words.bare(1).lower()
    words.at += 2
    return None


def _topic(words: _Words, given: Arguments) -> Phrase | None:
    # The one argument that must stand on the line of its command: any word could be a topic.
    if words.same_line():
        given["topic"] = words.bare().lower()
        words.take()
        if words.same_line() and f"{given['topic']} {words.bare().lower()}" in COMMANDS:
            given["topic"] += f" {words.take().rstrip(',;.:').lower()}"
    return None


def _which(words: _Words, given: Arguments) -> Phrase | None:
    which = _WHICH.get(words.bare().lower())
    if which is not None:
        given["which"] = which
        words.take()
    return None


def _hash(words: _Words, given: Arguments) -> Phrase | None:
    if _HASH.fullmatch(words.bare()):
        given["hash"] = words.bare().lower()
        words.take()
    return None


def _players(words: _Words, given: Arguments) -> Phrase | None:
    if words.low() != "with":
        return None
    words.take()
    players = []
    while words.more and not (words.word().endswith(":") or words.bare().lower() in _RESERVED):
        players += [name for name in words.take().split(",") if name]
    given["players"] = tuple(name.lower() if _NAME.fullmatch(name) else name.strip("<>;") for name in players)
    return None if players else Phrase("after with come the opponents' names, or their addresses")


def _key(words: _Words, given: Arguments) -> Phrase | None:
    block = _KEY_BLOCK.match(words.text, words.start) or _MINISIGN_KEY.match(words.text, words.start)
    if block is not None:
        given["key"] = block[0]
        words.move_to(block.end())
        return None
    if not _KEY_TYPE.fullmatch(words.word()):
        return None
    kind = words.take()
    blob = _joined_key(words, kind)
    comment = []
    while words.same_line() and words.low() != "end":
        comment.append(words.take())
    if not comment and "@" in words.word():  # a comment that was wrapped away from its key
        comment.append(words.take())
    given["key"] = " ".join([kind, blob, *comment])
    return None


def _joined_key(words: _Words, kind: str) -> str:
    """Join the pieces of a wrapped key: its own lengths say where it ends."""
    blob = ""
    for ahead in range(64):
        if not _BASE64.fullmatch(words.word(ahead)):
            break
        blob += words.word(ahead)
        if _is_whole(blob, strings=2 if kind.lower() == "ssh-ed25519" else 3):
            words.at += ahead + 1
            return blob
    return words.take() if words.same_line() else ""


def _is_whole(blob: str, strings: int) -> bool:
    """Whether base64 text holds exactly so many RFC 4251 strings."""
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return False
    at = 0
    for _ in range(strings):
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return at == len(data)


def _fingerprint(words: _Words, given: Arguments) -> Phrase | None:
    if not _FINGERPRINT.fullmatch(words.bare()) or words.bare().lower() in _RESERVED:
        return Phrase("name the key by its fingerprint, or enough of its beginning; `whoami` lists yours")
    parts = [words.bare()]
    words.take()
    while _GROUP.fullmatch(parts[-1]) and _GROUP.fullmatch(words.bare()):  # gpg prints it in groups
        parts.append(words.bare())
        words.take()
    given["fingerprint"] = "".join(parts)
    return None


def _key_or_fingerprint(words: _Words, given: Arguments) -> Phrase | None:
    if _key(words, given) is None and "key" in given:
        return None
    if _WHOLE_FINGERPRINT.fullmatch(words.bare()) or (words.same_line() and _GROUP.fullmatch(words.bare())):
        return _fingerprint(words, given)
    return None


def _code(words: _Words, given: Arguments) -> Phrase | None:
    # Whatever stands there is taken for the code, however it was mistyped: it is not to be shown as a line ignored.
    code = ""
    while words.more and len(code) < _CODE_DIGITS and not _KEY_START.match(words.word()):
        if words.low() in _RESERVED or not (words.same_line() or _CODE_PIECE.fullmatch(words.word())):
            break
        code += words.take().lower().replace("-", "")
    if code:
        given["code"] = code
    return None


def _address(words: _Words, given: Arguments) -> Phrase | None:
    address = words.bare().strip("<>")
    if not _MAILBOX.fullmatch(address):
        return Phrase("give the address, such as anna@mail.example")
    given["address"] = address
    words.take()
    return None


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument of a command: how help writes it, and how it is read."""

    usage: str
    read: Callable[[_Words, Arguments], Phrase | None]
    """Take the argument from the words; return None, or what is missing."""


_MATCH_SLOT = Slot("m17", _match)
_TURN_SLOT = Slot("turn 5", _turn)
_GAME_SLOT = Slot("[game 2]", _game)


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the table of commands."""

    name: str
    help: Phrase
    """One sentence: what the command does."""
    slots: tuple[Slot, ...] = ()
    body: Literal["text", "options", "press", "fields"] | None = None
    """How the block up to `end` is read; None: the command has no block."""
    signed: bool = False
    """Whether it changes something, so that it must be signed, or at level `mailbox` answer a letter of ours."""
    place: Literal["none", "player", "terms", "turn"] = "none"
    """What a signed one names, so that it is good nowhere else: server and player; the hash of the terms, which
    stands for both; or server, player, game or turn, head and revision."""
    once: bool = False
    """Whether the same signed words are obeyed only once. Setups and orders are held together by their revisions."""
    shown: Literal["never", "later", "at once"] = "never"
    """Whether the letter is shown to the other players: with the game, or as soon as it has its effect."""
    alone: bool = False
    """Whether nothing else may stand in the letter."""
    level: Literal["anyone", "mailbox", "key"] = "mailbox"
    """The least proof of identity with which it is ever obeyed."""
    opens: re.Pattern[str] | None = None
    """What must follow the name, or the line is prose that happens to begin with that word."""
    bulky: bool = False
    """Whether its answer is long, drawn or packed: a letter brings a few of those."""
    secret: bool = False
    """Whether the answer must not repeat what was written: the echo is the name alone."""
    a_day: int | None = None
    """How often a player may have it done in a day, where it makes letters that are large, or go to others."""

    @property
    def sentence(self) -> bool:
        """Whether it has its effect at once, at one place of a match, or withdraws what was said for one."""
        return self.place == "turn" and not self.block

    @property
    def block(self) -> bool:
        """Whether the command goes on up to `end`."""
        return self.body is not None

    @property
    def has_fields(self) -> bool:
        """Whether the header fields of the signed forms may stand in it."""
        return self.block or self.signed

    @property
    def usage(self) -> str:
        """The line that help shows."""
        words = [self.name, *(slot.usage for slot in self.slots), *(["… end"] if self.block else [])]
        return " ".join(words)


# Judged over the two words that follow.
_A_MATCH = re.compile(r"(m?[0-9]\S*|turn|game)( |$)", re.I)
_A_GAME = re.compile(r"[a-z][a-z0-9_-]*[,;.:]?( with| server| player| prev| rev| \S+:| end\S?)?$", re.I)
_A_SETTING = re.compile(rf"({'|'.join(SETTINGS)})( |$)", re.I)
_A_VACATION = re.compile(r"([0-9]|off\b)", re.I)
_A_CHALLENGE = re.compile(r"\S+ (server|challenge|end)$|(server|challenge|end)( |$)|\S*$", re.I)

_A_RECOVERY = re.compile(r"((?=\S{8})\S*[0-9]|[0-9a-f]{4}\b|-----BEGIN|RW|untrusted|end\b|$)", re.I)

COMMANDS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("help", Phrase("Explain a command, or list them all."), (Slot("[topic]", _topic),), level="anyone"),
        Form("games", Phrase("List the games that are played here."), level="anyone"),
        Form("rules", Phrase("Mail the rules of a game."), (Slot("GAME", _rules),), level="anyone", bulky=True),
        Form(
            "sheet",
            Phrase("Mail a record sheet to be printed: of a game, empty, or of your match, with all that you know."),
            (Slot("GAME|m17", _game_or_match),),
            level="anyone",
            bulky=True,
        ),
        Form(
            "register",
            Phrase(
                "Open an account for your address; paste your SSH public key after it, and send back the answer"
                " signed."
            ),
            (Slot("NAME", _name), Slot("[ssh-ed25519 AAAA…]", _key)),
            level="anyone",
        ),
        Form(
            "confirm",
            Phrase("Prove that a key is yours: the form that an answer brought, signed with that key."),
            (Slot("NAME", _name),),
            body="fields",
            signed=True,
            level="key",
            opens=_A_CHALLENGE,
            shown="at once",
            alone=True,
        ),
        Form("whoami", Phrase("Show your account, its addresses and keys.")),
        Form(
            "key add",
            Phrase("Use one more key: signed with a key of yours here; its answer is to be signed with the new one."),
            (Slot("[ssh-ed25519 AAAA…|FINGERPRINT]", _key_or_fingerprint),),
            signed=True,
            level="key",
            place="player",
            once=True,
            shown="at once",
            alone=True,
        ),
        Form(
            "key revoke",
            Phrase("Never accept this key of yours again: named by its fingerprint, signed with any key of yours."),
            (Slot("FINGERPRINT", _fingerprint),),
            signed=True,
            level="key",
            place="player",
            once=True,
            shown="at once",
            alone=True,
        ),
        Form(
            "key keep",
            Phrase("You still have your key: stop a recovery that somebody asked for in your name."),
            signed=True,
            level="key",
            place="player",
            once=True,
        ),
        Form(
            "recover",
            Phrase(
                "You lost your keys: a new one takes their place, by your recovery code, or without it after a delay."
            ),
            (Slot("[CODE]", _code), Slot("[ssh-ed25519 AAAA…]", _key)),
            opens=_A_RECOVERY,
            secret=True,
        ),
        Form(
            "address add",
            Phrase("Write from one more address: it is mailed a form that is to be sent back signed."),
            (Slot("anna@mail.example", _address),),
            signed=True,
            level="key",
            place="player",
            once=True,
        ),
        Form(
            "set",
            Phrase(
                "Choose your time zone, language, a letter an event or one a day, and reports with HTML (both),"
                " pictures or text."
            ),
            (Slot("timezone Europe/Berlin|language de|mail digest|format text", _setting),),
            signed=True,
            opens=_A_SETTING,
            place="player",
            once=True,
        ),
        Form(
            "vacation",
            Phrase("Let your clocks stand from the first day to the last, in all your matches; off: you are back."),
            (Slot("2026-12-20 to 2027-01-03|off", _days),),
            signed=True,
            opens=_A_VACATION,
            place="player",
            once=True,
        ),
        Form(
            "new",
            Phrase(
                "Propose a match to players, or to addresses that are then invited; without, to all in the open list."
            ),
            (Slot("GAME", _rules), Slot("[with PLAYER...]", _players)),
            body="options",
            a_day=30,
            signed=True,
            opens=_A_GAME,
            place="player",
            once=True,
            shown="at once",
        ),
        Form(
            "list",
            Phrase("List the open proposals, or your own matches."),
            (Slot("[open|mine]", _which),),
            level="anyone",
        ),
        Form(
            "accept",
            Phrase("Agree to a proposed match; the hash is that of its agreed rules."),
            (_MATCH_SLOT, Slot("[hash]", _hash)),
            signed=True,
            place="terms",
            once=True,
            shown="at once",
        ),
        Form(
            "decline", Phrase("Turn a proposed match down."), (_MATCH_SLOT,), signed=True, place="player", once=True
        ),
        Form(
            "join",
            Phrase("Take a seat in a match of the open list."),
            (_MATCH_SLOT,),
            signed=True,
            opens=_A_MATCH,
            place="player",
            once=True,
        ),
        Form(
            "withdraw",
            Phrase("Take back a proposal of yours."),
            (_MATCH_SLOT,),
            signed=True,
            opens=_A_MATCH,
            place="player",
            once=True,
        ),
        Form(
            "setup",
            Phrase("Hand in your secret setup of the next game, replacing an earlier one."),
            (_MATCH_SLOT, _GAME_SLOT),
            body="text",
            signed=True,
            opens=_A_MATCH,
            place="turn",
            shown="later",
        ),
        Form(
            "orders",
            Phrase(
                "Hand in all your orders of this turn or a later one, or default ones; they replace earlier ones."
            ),
            (_MATCH_SLOT, Slot("turn 5|default", _turn_or_default), Slot("[final]", _final)),
            body="text",
            signed=True,
            opens=_A_MATCH,
            place="turn",
            shown="later",
        ),
        Form(
            "clear",
            Phrase(
                "Withdraw your orders of this turn or a later one, default ones, or a setup before the game begins."
            ),
            (_MATCH_SLOT, Slot("[turn 5|default]", _what_stands)),
            signed=True,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "status",
            Phrase("Show what is stored and what is awaited in a match; without one, all of yours on one page."),
            (Slot("[m17]", _match_or_none),),
        ),
        Form(
            "preview",
            Phrase("Judge orders without storing them."),
            (_MATCH_SLOT, _TURN_SLOT, Slot("[final]", _final)),
            body="text",
            opens=_A_MATCH,
            shown="later",
        ),
        Form(
            "report",
            Phrase("Send reports again: the last one, one turn's, or all."),
            (_MATCH_SLOT, _GAME_SLOT, Slot("[turn 5|all]", _turn_or_all)),
            bulky=True,
        ),
        Form("diary", Phrase("What happened in a match, and when."), (_MATCH_SLOT,), opens=_A_MATCH),
        Form("transcript", Phrase("Send the transcript of a match."), (_MATCH_SLOT,), bulky=True, a_day=20),
        Form(
            "press",
            Phrase("Send a message to the other players; with `public`, to those who watch, too."),
            (_MATCH_SLOT, Slot("[public]", _public)),
            body="press",
            a_day=50,
            signed=True,
            opens=_A_MATCH,
            place="player",
            once=True,
        ),
        Form(
            "observe",
            Phrase("Watch a public match: what everybody may know of it."),
            (_MATCH_SLOT,),
            signed=True,
            opens=_A_MATCH,
            place="player",
            once=True,
        ),
        Form(
            "unobserve",
            Phrase("Watch it no longer."),
            (_MATCH_SLOT,),
            opens=_A_MATCH,
            signed=True,
            place="player",
            once=True,
        ),
        Form("standings", Phrase("Who has played how many matches, and the ratings."), level="anyone"),
        Form(
            "resign",
            Phrase("Give the game up, or the whole match."),
            (_MATCH_SLOT, Slot("game 2|match", _whole)),
            signed=True,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "draw",
            Phrase(
                "Offer a draw of the game, or answer an offer; it stands until it is answered or the turn is"
                " resolved."
            ),
            (_MATCH_SLOT, Slot("offer|accept|decline", _word)),
            signed=True,
            opens=_A_MATCH,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "annul",
            Phrase("Offer that the whole match be annulled and count for nothing, or answer such an offer."),
            (_MATCH_SLOT, Slot("offer|accept|decline", _word)),
            signed=True,
            opens=_A_MATCH,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "extend",
            Phrase("Give your opponent more time for what is asked now."),
            (_MATCH_SLOT, Slot("3d", _time)),
            signed=True,
            opens=_A_MATCH,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "claim",
            Phrase(
                "Claim the game from an opponent whose deadline and grace are over, or end a match that nobody else"
                " can."
            ),
            (_MATCH_SLOT,),
            signed=True,
            opens=_A_MATCH,
            place="turn",
            once=True,
            shown="later",
        ),
        Form(
            "substitute",
            Phrase(
                "Let somebody new have the seat of a player who leaves or is gone; all say so, the newcomer with"
                " a hash."
            ),
            (_MATCH_SLOT, Slot("CARL", _name), Slot("for BOB", _leaver), Slot("[hash]", _hash)),
            signed=True,
            opens=_A_MATCH,
            place="turn",
            once=True,
            shown="later",
        ),
    )
}


_KEY_SLOTS = (_key, _key_or_fingerprint)
"""What may be closed by an `end`, as a pasted block is."""


def parse(text: str, most: int | None = None) -> Reading:
    """Read the commands of a text, so many at the most, and ignore what is behind them; never raises."""
    kept, skipped, signature = _split(clean(text))
    words = _Words(kept)
    commands: list[Command] = []
    unknown = 0
    optout = words.low() == "stop"
    while words.more and words.low() != "stop" and unknown < MAX_UNKNOWN and len(commands) != most:
        form = _known(words)
        if form is not None:
            commands.append(_command(words, form))
            continue
        start = words.start
        # A stray `end` or a comment is ignored without being held against the letter.
        unknown += not (_END.match(words.word()) or words.word().startswith("#"))
        words.take()
        words.take_line()
        skipped.append((words.line(start), words.text[start : words.passed]))
    if words.more:
        skipped.append((words.line(words.start), words.text[words.start :].rstrip()))
    skipped.sort(key=lambda found: found[0])
    ignored = [masked(run) for run in (*(run for _, run in skipped), *signature)]
    return Reading(commands, ignored, optout, _place_of_stop(words) if optout else {})


def _place_of_stop(words: _Words) -> dict[str, str]:
    """The fields that follow a `stop`."""
    words.take()
    place = {}
    while words.low() in {"server", "player"}:
        name = words.take().lower()
        place[name] = words.take().lower()
    return place


def _split(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]], list[str]]:
    """Part the numbered lines to be read from the quotes, and from what follows `-- ` or a signature."""
    text, armor, after = text.partition(ARMOR)
    after = after.partition(_ARMOR_END)[2].strip() if armor else ""
    kept: list[tuple[int, str]] = []
    quotes: list[tuple[int, list[str]]] = []
    tail = [after] if after else []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "--":
            tail.insert(0, "\n".join(lines[number - 1 :]).strip())
            break
        if not line.lstrip().startswith(">"):
            kept.append((number, line))
        elif quotes and quotes[-1][0] + len(quotes[-1][1]) == number:
            quotes[-1][1].append(line)
        else:
            quotes.append((number, [line]))
    return kept, [(number, "\n".join(run)) for number, run in quotes], tail


def _known(words: _Words) -> Form | None:
    form = COMMANDS.get(f"{words.low()} {words.low(1)}") or COMMANDS.get(words.low())
    if form is None or form.opens is None:
        return form
    follows = " ".join(word for ahead in (1, 2) if (word := words.word(ahead)))
    return form if form.opens.match(follows) else None


def _command(words: _Words, form: Form) -> Command:
    start = words.start
    words.at += len(form.name.split())
    given: Arguments = {}
    wrong = _read_slots(words, form, given)
    head = words.text[start : words.passed]
    fields = _read_fields(words, form, given, wrong)
    options: dict[str, str] = {}
    block: str | None = None
    block_line = words.line(words.start) if form.block else 0
    if form.block:
        block = _take_block(words, form, wrong)
        options = _read_block(form, block, fields, wrong)
    elif wrong:
        words.take_line()
    elif words.low() == "end" and (fields or any(slot.read in _KEY_SLOTS for slot in form.slots)):
        words.take()
    line = words.line(start)
    faults = tuple(Fault(form.name, token, message, line) for token, message in wrong)
    echo = f"{form.name} ..." if form.secret else masked(words.text[start : words.passed])
    return Command(form.name, echo, head, line, given, fields, options, block, block_line, faults)


def _read_slots(words: _Words, form: Form, given: Arguments) -> list[_Wrong]:
    for slot in form.slots:
        token = words.word() if words.same_line() else None
        missing = slot.read(words, given)
        if missing is not None:
            return [(token, Phrase("`{command}`: {missing}.", command=form.name, missing=missing))]
    return []


def _read_fields(words: _Words, form: Form, given: Arguments, wrong: list[_Wrong]) -> dict[str, str]:
    """Take the header fields of a signed form, in any order, `final` among them."""
    fields: dict[str, str] = {}
    if not form.has_fields or (form.body == "press" and not _opens_signed_press(words)):
        return fields
    while True:
        name = words.low()
        if name == "final" and any(slot.read is _final for slot in form.slots):
            _final(words, given)
            continue
        if name not in FIELDS and not (form.sentence and name in NUMBERED):
            return fields
        words.take()
        value = words.word() if name == "fingerprint" else words.low()
        if not value or value in FIELDS or value.lower() == "end":
            wrong.append((name, Phrase("`{name}` has no value.", name=name)))
            continue
        words.take()
        if name in fields:
            wrong.append((name, Phrase("`{name}` stands twice.", name=name)))
        elif name in {"rev", *NUMBERED} and not _REV.fullmatch(value):
            wrong.append((value, Phrase("`{name}` is a number from 1.", name=name)))
        fields.setdefault(name, value)


def _opens_signed_press(words: _Words) -> bool:
    """Whether a message begins with fields: `server` alone may well be its first word."""
    return words.low() in FIELDS and words.low(2) in FIELDS


def _take_block(words: _Words, form: Form, wrong: list[_Wrong]) -> str | None:
    """Take the words up to `end`, and return the text between."""
    start = words.start
    closing = _press_end(words) if form.body == "press" else _text_end(words)
    if closing is None:
        words.move_to(len(words.text))
        # What follows may be meant as the block's text: obeying commands found there would be guessing.
        wrong.append(
            (
                None,
                Phrase(
                    "`{command}` is not closed: write `end` after it. Nothing behind it was read.", command=form.name
                ),
            )
        )
        return None
    words.move_to(closing[1])
    return words.text[start : closing[0]].strip()


def _text_end(words: _Words) -> tuple[int, int] | None:
    """Where the first `end` outside of a comment stands."""
    return next((found.span(1) for found in _SCAN.finditer(words.text, words.start) if found[1]), None)


def _press_end(words: _Words) -> tuple[int, int] | None:
    """Where a message ends: at the last word of its first line, at a line `end`, or at the very last word."""
    text, start = words.text, words.start
    line_end = text.find("\n", start)
    if words.passed and words.same_line():
        found = _LAST_END.search(text[start : len(text) if line_end < 0 else line_end])
        if found is not None:
            return start + found.start(1), start + found.end(1)
    else:
        start = text.rfind("\n", 0, start) + 1
    alone = _LINE_OF_END.search(text, start)
    if alone is not None:
        return alone.span(1)
    found = _LAST_END.search(text[start:])
    return None if found is None else (start + found.start(1), start + found.end(1))


def _read_block(form: Form, block: str | None, fields: dict[str, str], wrong: list[_Wrong]) -> dict[str, str]:
    """Judge the shape of a block's text; return the options of `new`."""
    if block is None:
        return {}
    if form.body == "options":
        return _read_options(block, wrong)
    if form.body == "press" and _SECRET.search(block):
        # An `end` was forgotten, and the next command's secrets would go to the opponent.
        wrong.append(
            (None, Phrase("The message holds the beginning of another command: close it with a line `end`."))
        )
    if form.body == "fields":
        wrong.extend(
            (None, Phrase("`{name}` is missing.", name=name))
            for name in ("server", "challenge")
            if name not in fields
        )
        if _COMMENT.sub("", block).strip():
            wrong.append((block.split()[0], Phrase("Nothing but the lines of the form may stand here.")))
    return {}


def _read_options(block: str, wrong: list[_Wrong]) -> dict[str, str]:
    """Read `option: value` pairs: a word that ends in a colon begins the next one."""
    values: dict[str, list[str]] = {}
    last: list[str] | None = None
    for word in _COMMENT.sub("", block).split():
        if word.endswith(":") and len(word) > 1:
            name = word[:-1].lower()
            if name in values:
                wrong.append((word, Phrase("`{name}` stands twice.", name=name)))
            last = values.setdefault(name, [])
        elif last is not None:
            last.append(word)
        else:
            wrong.append((word, Phrase("Options are written `option: value`.")))
    wrong.extend(
        (f"{name}:", Phrase("`{name}` has no value.", name=name)) for name, value in values.items() if not value
    )
    return {name: " ".join(value) for name, value in values.items()}
