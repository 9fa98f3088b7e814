"""The arguments of commands: how help writes each one, and how it is read.

The table lists the arguments of each command. Nothing here raises: the reader of an argument takes it from the
words, or returns a phrase for what is missing. Implements protocol.md, "Commands".
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

import msgspec

from pbem.i18n import LANGUAGES
from pbem.phrase import Phrase, either
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from pbem.mail.commands.cursor import Words

    ReadSlot = Callable[[Words, "Given"], Phrase | None]

FIELDS = ("server", "player", "prev", "rev", "challenge", "fingerprint", "proof")
"""Header fields of the signed forms, each with one word as its value."""

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "format": ("both", "pictures", "text", "words"),
    "language": LANGUAGES,
    "mail": ("each", "digest"),
    "reminders": ("on", "off"),
    "timezone": ("UTC",),
    "composer": ("off", "on"),
    "encrypted": ("no", "yes"),
    "program": ("no", "yes"),
}
"""The settings of `set`, each with its values, the default first."""

ANY_WORD = frozenset({"timezone"})
"""The settings with too many values to list here; the command `set` checks them."""

OF_ANY_PLACE = frozenset({"language", "timezone"})
"""The settings that a signed letter may choose without naming its place, if the player has not chosen them yet: they
decide how each of our letters to that player is written."""

RESERVED = frozenset({*FIELDS, "end", "final", "with", "stop"})


Given = dict[str, object]
"""The arguments of a command, taken from the words between its name and its block: each by its name in the request,
or as `game` or `turn`."""

_MATCH = re.compile(r"m[1-9][0-9]{0,8}", re.I)
_TOURNAMENT = re.compile(r"t[1-9][0-9]{0,8}", re.I)
_LIKE_A_MATCH = re.compile(r"m?\d|m$", re.I)
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.I | re.A)
WRITTEN: Mapping[str, str] = {"match": _MATCH.pattern, "player": _NAME.pattern}
"""The patterns of matches' and players' names, in either case."""
_HASH = re.compile(r"[0-9a-f]{8,64}", re.I)
# A pattern that few letters need is text, which `re` compiles at its first use.
_TIME = r"(?i)([1-9][0-9]{0,5})([mhd])"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_KEY_TYPE = r"(?i)(ssh|ecdsa|sk)-[a-z0-9@.-]+"
_KEY_BLOCK = re.compile(
    r"-----BEGIN (PGP PUBLIC KEY BLOCK|CERTIFICATE|PUBLIC KEY|[A-Z ]{0,20}PRIVATE KEY[A-Z ]{0,6})-----"
    r"(?:[^-]|-(?!----))*-----END \1-----"
)
_STRINGS = {"ssh-ed25519": 2, "sk-ecdsa-sha2-nistp256@openssh.com": 4}
"""The strings of RFC 4251 that a key consists of; those of other types of three."""
_KEY_START = r"(?i)(ssh|ecdsa|sk)-[a-z0-9@.-]+$|-----BEGIN"
_FINGERPRINT = r"[A-Za-z0-9+/:=]{4,200}"
_WHOLE_FINGERPRINT = r"(?i)SHA256:[A-Z0-9+/]{43}=?|[0-9A-F]{40}|[0-9A-F]{64}|(?:[0-9A-F]{2}:){31}[0-9A-F]{2}"
_GROUP = r"(?i)[0-9A-F]{4}"
_CODE_PIECE = r"(?i)[0-9a-f-]{2,39}"
_CODE = re.compile(r"(?<![0-9A-Fa-f-])[0-9A-Fa-f]{4}(?:(?:-\s?)?[0-9A-Fa-f]{4}){7}(?![0-9A-Fa-f-])")
_CODE_DIGITS = 32
_MAILBOX = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,189}"
_A_TOPIC = "https://ntfy.example/TOPIC"
TOPIC = r"(?ia)https://([a-z0-9.-]{1,253}(?::[1-9][0-9]{0,4})?)/([A-Z0-9_-]{1,64})"
"""The address of a topic, with the characters that ntfy allows: its host, perhaps with a port, and its name."""
_NOTIFY_CODE = r"[a-z2-7]{8}"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def masked(text: str) -> str:
    """A text with its recovery codes masked."""
    return _CODE.sub("****", text)


NAME_THE_MATCH = Phrase("name the match, such as {match}", match="m17")
"""The fault of a missing match; a desk that knows the sender names one of the sender's own."""


def _noted(words: Words, given: Given, count: int, **found: object) -> Phrase | None:
    """Note the arguments found in the next words, this many; nothing is missing."""
    given.update(found)
    words.at += count
    return None


def _word(name: str, form: re.Pattern[str], missing: Phrase | None = None, but: Container[str] = ()) -> ReadSlot:
    """The reader of a single word, stored in lower case; without `missing`, the argument is optional."""

    def read(words: Words, given: Given) -> Phrase | None:
        word = words.bare().lower()  # first: some letters are two, and then none of a name's
        if not form.fullmatch(word) or word in but:
            return missing
        return _noted(words, given, 1, **{name: word})

    return read


def _number(keyword: str, missing: Phrase) -> ReadSlot:
    """The reader of a keyword and its number, such as `turn 5`."""

    def read(words: Words, given: Given) -> Phrase | None:
        if words.low() != keyword or not _NUMBER.fullmatch(words.bare(1)):
            return missing
        return _noted(words, given, 2, **{keyword: int(words.bare(1))})

    return read


_match = _word("match", _MATCH, NAME_THE_MATCH)
_tournament = _word("tournament", _TOURNAMENT, Phrase("name the tournament, such as t3"))
_rules = _word("rules", _NAME, Phrase("name the game; `games` lists them all"))
_GIVE_A_NAME = Phrase("give a name: a letter a to z, then up to 31 of a to z, 0 to 9, - and _")
_name = _word("name", _NAME, _GIVE_A_NAME, but=RESERVED)
_turn = _number("turn", Phrase("name the turn, such as turn 5"))
_number_of_game = _number("game", Phrase("after `game`, give its number, such as game 2"))


def _step_turn(words: Words, given: Given) -> Phrase | None:
    if words.low() == "turn" and words.bare(1) == "0":  # some games open setups in it
        return _noted(words, given, 2, turn=0)
    return _turn(words, given)


def _turn_or_default(words: Words, given: Given) -> Phrase | None:
    if words.bare().lower() == "default":
        return _noted(words, given, 1, turn=DEFAULT)
    return _turn(words, given)


def _optional_turn(words: Words, given: Given) -> Phrase | None:
    return _turn_or_default(words, given) if words.bare().lower() in {"turn", "default"} else None


def _game(words: Words, given: Given) -> Phrase | None:
    return _number_of_game(words, given) if words.low() == "game" else None


def _game_or_all(words: Words, given: Given) -> Phrase | None:
    if words.bare().lower() == "match":
        return _noted(words, given, 1, whole=True)
    return _game(words, given)


def _turn_or_all(words: Words, given: Given) -> Phrase | None:
    at_all = 1 if words.low() == "turn" else 0
    if words.bare(at_all).lower() == "all":
        return _noted(words, given, at_all + 1, all=True)
    return _turn(words, given) if words.low() == "turn" else None


def _setting(words: Words, given: Given) -> Phrase | None:
    name, value = words.low(), words.bare(1)
    if name not in ANY_WORD or not value:
        value = value.lower()
        if value not in SETTINGS.get(name, ()):
            return Phrase(
                "write {settings}",
                settings=either(f"`set {name} {value}`" for name in SETTINGS for value in SETTINGS[name]),
            )
    return _noted(words, given, 2, name=name, value=value)


def _notify(words: Words, given: Given) -> Phrase | None:
    value = words.bare()
    if topic := re.fullmatch(TOPIC, value):
        return _noted(words, given, 1, value=f"https://{topic[1].lower()}/{topic[2]}")
    if value.lower() == "off" or re.fullmatch(_NOTIFY_CODE, value.lower()):
        return _noted(words, given, 1, value=value.lower())
    return Phrase("write the address of your topic, such as {url}; the code posted there; or off", url=_A_TOPIC)


def _time(words: Words, given: Given) -> Phrase | None:
    duration = re.fullmatch(_TIME, words.bare())
    if duration is None:
        return Phrase("say how long, such as 3d or 12h")
    return _noted(words, given, 1, seconds=int(duration[1]) * {"m": 60, "h": 3600, "d": 86400}[duration[2].lower()])


def _days(words: Words, given: Given) -> Phrase | None:
    if words.bare().lower() == "off":
        return _noted(words, given, 1, off=True)
    first, last = words.bare(), words.bare(2)
    if words.low(1) != "to" or not re.fullmatch(_DATE, first) or not re.fullmatch(_DATE, last):
        return Phrase("write `vacation 2026-12-20 to 2027-01-03`, or `vacation off`")
    return _noted(words, given, 3, first=first, last=last)


def _public(words: Words, given: Given) -> Phrase | None:
    # Only if it ends the command's line: the message itself may begin with any word, and so with `public`.
    if words.low() == "public" and words.same_line():
        words.take()
        if words.same_line():
            words.at -= 1
        else:
            given["public"] = True
    return None


def _readers(words: Words, given: Given) -> Phrase | None:
    # `to` is never the message's first word: what is meant for one player must not go to all.
    if words.low() != "to" or not words.same_line():
        return _public(words, given)
    words.take()
    to = []
    while words.same_line():
        to += [name for name in words.take().lower().split(",") if name]
    given["to"] = tuple(to)
    if to and all(_NAME.fullmatch(name) and name not in RESERVED for name in to):
        return None
    return Phrase("after `to`, give only players' names; the message begins on the next line")


def _leaver(words: Words, given: Given) -> Phrase | None:
    leaver = words.bare(1).lower()
    if words.low() != "for" or not _NAME.fullmatch(leaver) or leaver in RESERVED:
        return Phrase("say for whom: `substitute {match} carl for bob`", match=given.get("match", "m17"))
    return _noted(words, given, 2, leaver=leaver)


def _team(words: Words, given: Given) -> Phrase | None:
    if words.low() != "team":
        return None
    team = words.bare(1).lower()
    if not _NAME.fullmatch(team) or team in RESERVED:
        return Phrase("after `team`, give its name")
    return _noted(words, given, 2, team=team)


def _ruling(words: Words, given: Given) -> Phrase | None:
    what = words.bare().lower()
    if what not in {"annul", "substitute", "close"}:
        return Phrase("write `annul m17`, `substitute carl for bob`, or `close`")
    _noted(words, given, 1, what=what)
    if what == "annul":
        return _match(words, given)
    return (_name(words, given) or _leaver(words, given)) if what == "substitute" else None


def _players(words: Words, given: Given) -> Phrase | None:
    if words.low() != "with":
        return None
    words.take()
    players = []
    while words.more and not (words.word().endswith(":") or words.bare().lower() in RESERVED):
        players += [name for name in words.take().split(",") if name]
    given["players"] = tuple(name.lower() if _NAME.fullmatch(name) else name.strip("<>;") for name in players)
    return None if players else Phrase("after `with`, give the opponents' names or addresses")


def _key(words: Words, given: Given) -> Phrase | None:
    # A key of several lines shows by its own marks where it ends.
    block = _KEY_BLOCK.match(words.text, words.start)
    if block is not None:
        given["key"] = block[0]
        words.move_to(block.end())
        return None
    # An SSH key is one line, its comment last, and a mail program may have wrapped it anywhere.
    if not re.fullmatch(_KEY_TYPE, words.word()):
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


def _joined_key(words: Words, kind: str) -> str:
    """Join the pieces of a wrapped key: the lengths inside the key show where it ends."""
    blob = ""
    for ahead in range(64):
        if not _BASE64.fullmatch(words.word(ahead)):
            break
        blob += words.word(ahead)
        if _is_whole(blob, strings=_STRINGS.get(kind.lower(), 3)):
            words.at += ahead + 1
            return blob
    return words.take() if words.same_line() else ""


def _is_whole(blob: str, strings: int) -> bool:
    """True if base64 text holds exactly this many RFC 4251 strings."""
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return False
    at = 0
    for _ in range(strings):
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return at == len(data)


def _fingerprint(words: Words, given: Given) -> Phrase | None:
    if not re.fullmatch(_FINGERPRINT, words.bare()) or words.bare().lower() in RESERVED:
        return Phrase("name the key by its fingerprint, or enough of its beginning; `whoami` lists your keys")
    parts = [words.bare()]
    words.take()
    while re.fullmatch(_GROUP, parts[-1]) and re.fullmatch(_GROUP, words.bare()):  # gpg prints fingerprints in groups
        parts.append(words.bare())
        words.take()
    given["fingerprint"] = "".join(parts)
    return None


def _key_or_fingerprint(words: Words, given: Given) -> Phrase | None:
    if _key(words, given) is None and "key" in given:
        return None
    if re.fullmatch(_WHOLE_FINGERPRINT, words.bare()) or (words.same_line() and re.fullmatch(_GROUP, words.bare())):
        return _fingerprint(words, given)
    return None


def _code(words: Words, given: Given) -> Phrase | None:
    # Take even a mistyped code as the code: otherwise the answer would quote it among the lines that were ignored.
    code = ""
    while words.more and len(code) < _CODE_DIGITS and not re.match(_KEY_START, words.word()):
        if words.low() in RESERVED or not (words.same_line() or re.fullmatch(_CODE_PIECE, words.word())):
            break
        code += words.take().lower().replace("-", "")
    if code:
        given["code"] = code
    return None


def _address(words: Words, given: Given) -> Phrase | None:
    address = words.bare().strip("<>")
    if not re.fullmatch(_MAILBOX, address):
        return Phrase("give the address, such as anna@mail.example")
    return _noted(words, given, 1, address=address)


class Slot(msgspec.Struct, frozen=True):
    """One argument of a command: how help writes it, and how it is read."""

    usage: str
    read: ReadSlot
    """Take the argument from the words; return None, or what is missing."""
    closed: bool = False
    """True if an `end` may close it, as if it were a pasted block."""


MATCH = Slot("m17", _match)
TOURNAMENT = Slot("t3", _tournament)
TEAM = Slot("[team NAME]", _team)
RULING = Slot("annul m17|substitute CARL for BOB|close", _ruling)
OPTIONAL_MATCH = Slot(
    "[m17]", lambda words, given: _match(words, given) if _LIKE_A_MATCH.match(words.word()) else None
)
GAME = Slot("[game 2]", _game)
TURN = Slot("turn 5", _turn)
STEP_TURN = Slot("turn 5", _step_turn)
TURN_OR_DEFAULT = Slot("turn 5|default", _turn_or_default)
WHAT_STANDS = Slot("[turn 5|default]", _optional_turn)
TURN_OR_ALL = Slot("[turn 5|all]", _turn_or_all)
GAME_OR_WHOLE = Slot("game 2|match", _game_or_all)
FINAL = Slot("[final]", lambda words, given: _noted(words, given, 1, final=True) if words.low() == "final" else None)
RULES = Slot("GAME", _rules)
RULES_OR_MATCH = Slot("GAME|m17", lambda words, given: _match(words, given) and _rules(words, given))
NAME = Slot("NAME", _name)
OWN_NAME = Slot("NAME", lambda words, given: _name(words, given) if words.same_line() else _GIVE_A_NAME)
"""On the command's line: what a phone writes below must be nobody's name for ever."""
NEWCOMER = Slot("CARL", _name)
LEAVER = Slot("for BOB", _leaver)
PLAYERS = Slot("[with PLAYER...]", _players)
READERS = Slot("[public|to CARL...]", _readers)
WHICH = Slot("[open|mine]", _word("which", re.compile("open|mine", re.I)))
HASH = Slot("[hash]", _word("hash", _HASH))
WORD = Slot(
    "offer|accept|decline",
    _word("word", re.compile("offer|accept|decline", re.I), Phrase("say offer, accept or decline")),
)
TIME = Slot("3d", _time)
DAYS = Slot("2026-12-20 to 2027-01-03|off", _days)
SETTING = Slot("timezone Europe/Berlin|language de|mail digest|format text", _setting)
NOTIFY = Slot(f"{_A_TOPIC}|CODE|off", _notify)
ADDRESS = Slot("anna@mail.example", _address)
FINGERPRINT = Slot("FINGERPRINT", _fingerprint)
CODE = Slot("[CODE]", _code)
KEY = Slot("[ssh-ed25519 AAAA…]", _key, closed=True)
KEY_OR_FINGERPRINT = Slot("[ssh-ed25519 AAAA…|FINGERPRINT]", _key_or_fingerprint, closed=True)
