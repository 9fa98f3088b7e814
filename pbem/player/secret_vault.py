"""The secrets of one sealed game: on the player's disk before a hash of them leaves, and in a note.

Seed, setup and orders are enough to rebuild all of their owner's papers, because all salts come from the seed. A
note to self is the same data under six words that a program drew: the server keeps it unread, and gives it back.
`agent` uses the secrets. Randomness is handed in. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import logging
import os
import re
import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from pbem.durable import make_folder, replace
from pbem.match.sealed_game import PaperPlace, salt
from pbem.match.transcript import canonical
from pbem.player import PlayerTrouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


log = logging.getLogger(__name__)

_SEED: Final = 32
_NOTE: Final = 4096
"""Octets of a note, which the server keeps."""
_INFLATED: Final = 1 << 20
_ROUNDS = 600_000
_SALT, _NONCE, _TAG = 16, 12, 16
_PIECE: Final = 1024
"""A note has a multiple of so many octets: server and opponent see how long it is."""
_WORDS: Final = 6
_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aiou"
_WORD = re.compile(f"(?:[{_CONSONANTS}][{_VOWELS}]){{2}}[{_CONSONANTS}]")
_TITLE: Final = "secrets 1"
_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Turn = Annotated[str, msgspec.Meta(pattern=r"\A[1-9][0-9]{0,5}\Z")]


class BadNote(PlayerTrouble):
    """A note cannot be opened; the text says why."""


class BadSecrets(PlayerTrouble):
    """The file of a game's secrets cannot be used; the text says why."""


class Secrets(msgspec.Struct, frozen=True):
    """The secrets of one player in one game."""

    server: str
    match: str
    game: int
    seat: int
    player: str
    seed: _Hash
    """32 octets in hex, of which all salts are made."""
    setup: str
    """Canonical."""
    orders: dict[_Turn, str] = {}
    """The canonical orders, by turn."""
    after: dict[_Turn, _Hash] = {}
    """The head that our committed paper follows, by turn; it is revealed when we open the paper.

    Those of all turns: a server that is restored from a backup asks again for what it has forgotten.
    """
    pbem: str = _TITLE

    def salt(self, turn: int, what: str) -> str:
        """The salt of a paper: `setup` (turn 0), `orders`, or the name of the paper that is committed to."""
        return salt(bytes.fromhex(self.seed), self.place, turn, what)

    @property
    def place(self) -> PaperPlace:
        """The player and the game to which they belong."""
        return PaperPlace(self.server, self.match, self.game, self.seat, self.player)

    def with_orders(self, turn: int, text: str) -> Secrets:
        """The same, with the orders of a turn."""
        after = {number: head for number, head in self.after.items() if number != str(turn)}
        return msgspec.structs.replace(self, orders={**self.orders, str(turn): text}, after=after)

    def without_orders(self, turn: int) -> Secrets:
        """The same, before the orders of a turn were decided on."""
        orders = {number: text for number, text in self.orders.items() if number != str(turn)}
        return msgspec.structs.replace(self, orders=orders)

    def committed(self, turn: int, head: str) -> Secrets:
        """The same, once the paper of a turn is made after this head."""
        return msgspec.structs.replace(self, after={**self.after, str(turn): head})

    @property
    def noted(self) -> Secrets:
        """The part that a note to self has: of earlier turns no heads, which would make it too long."""
        latest = sorted(self.after, key=int)[-2:]
        return msgspec.structs.replace(self, after={turn: self.after[turn] for turn in latest})

    @property
    def by_turn(self) -> dict[int, str]:
        """The orders, by turn."""
        return {int(turn): text for turn, text in sorted(self.orders.items(), key=lambda item: int(item[0]))}

    @classmethod
    def read(cls, content: bytes) -> Secrets:
        """The secrets as they were kept; raises ValueError."""
        found = msgspec.json.decode(content, type=cls)
        if found.pbem != _TITLE:
            raise ValueError(f"{found.pbem}: of another edition")
        return found

    @classmethod
    def begun(cls, place: PaperPlace, setup: str, random: Callable[[int], bytes]) -> Secrets:
        """New secrets for a game that begins."""
        return cls(**msgspec.structs.asdict(place), seed=random(_SEED).hex(), setup=setup)


class _Plans(msgspec.Struct, frozen=True):
    """The orders in advance of one game, by turn, and default orders at `DEFAULT`: they are in no note."""

    setup: _Hash
    """The commitment to the setup: once a server is restored from a backup, a game of this number may begin anew."""
    orders: dict[Annotated[str, msgspec.Meta(pattern=r"\A(0|[1-9][0-9]{0,5})\Z")], str]
    pbem: Literal["plans 1"] = "plans 1"


class Code:
    """The six words under which notes are sealed; each note gets its own key from them, which takes a while."""

    def __init__(self, words: str, random: Callable[[int], bytes]) -> None:
        self.words = understood(words)
        self._random = random

    @classmethod
    def drawn(cls, random: Callable[[int], bytes]) -> Code:
        """A new code of 96 bits, which nobody can guess."""
        return cls(" ".join(_proquint(int.from_bytes(random(2))) for _ in range(_WORDS)), random)

    def note(self, secrets: Secrets) -> str | None:
        """The note to self, in base64; None if there is too much to note."""
        plain = zlib.compressobj(9, wbits=-15)
        # The same JSON as long as others: blanks stand before it, in a stored block (RFC 1951, 3.2.4).
        deflated = plain.compress(canonical(msgspec.structs.asdict(secrets.noted))) + plain.flush()
        head = struct.Struct("<BHH")
        blanks = -(_SALT + _NONCE + _TAG + head.size + len(deflated)) % _PIECE
        content = head.pack(0, blanks, blanks ^ 0xFFFF) + b" " * blanks + deflated
        salt, nonce = self._random(_SALT), self._random(_NONCE)
        sealed = salt + nonce + AESGCM(self._key(salt)).encrypt(nonce, content, _bound(secrets.place))
        return base64.b64encode(sealed).decode() if len(sealed) <= _NOTE else None

    def opened(self, note: str, place: PaperPlace) -> Secrets:
        """The contents of a note, if it belongs to this server, match, game, seat and player. Raises `BadNote`."""
        try:
            sealed = base64.b64decode("".join(note.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadNote("the note is damaged") from error
        salt, nonce, content = sealed[:_SALT], sealed[_SALT : _SALT + _NONCE], sealed[_SALT + _NONCE :]
        try:
            packed = AESGCM(self._key(salt)).decrypt(nonce, content, _bound(place))
        except (InvalidTag, ValueError) as error:
            raise BadNote("the note does not open: these are other words, or it is none of this game's") from error
        try:
            plain = zlib.decompressobj(wbits=-15)
            return Secrets.read(plain.decompress(packed, _INFLATED))
        except (zlib.error, ValueError) as error:
            raise BadNote("the note opens, and cannot be read: a later pbem may have written it") from error

    def _key(self, salt: bytes) -> bytes:
        return PBKDF2HMAC(SHA256(), 32, salt, _ROUNDS).derive(self.words.encode())


def understood(text: str) -> str:
    """The code that somebody typed, as it was drawn; raises `BadNote`, which names a wrong word."""
    found = re.split(r"[\s-]+", text.strip().lower())
    strange = [word for word in found if not _WORD.fullmatch(word)]
    if strange:
        raise BadNote(f"no word of such a code: {', '.join(strange)}")
    if len(found) != _WORDS:
        raise BadNote(f"such a code has {_WORDS} words, and these are {len(found)}")
    return " ".join(found)


def _proquint(number: int) -> str:
    """Sixteen bits as a pronounceable word (Wilkerson, arXiv:0901.4016)."""
    letters = ((12, _CONSONANTS), (10, _VOWELS), (6, _CONSONANTS), (4, _VOWELS), (0, _CONSONANTS))
    return "".join(some[number >> shift & len(some) - 1] for shift, some in letters)


def _bound(place: PaperPlace) -> bytes:
    """The unencrypted part that binds a note to its game."""
    lines = [f"{name} {value}\n" for name, value in msgspec.structs.asdict(place).items()]
    return "".join(["pbem note 1\n", *lines]).encode()


def _read(path: Path) -> bytes | None:
    """The content of a file; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadSecrets(f"{path}: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    """Write a file: when this returns, all of it is on the disk."""
    try:
        replace(path, content)
    except OSError as error:
        raise BadSecrets(f"{path}: {error.strerror}") from error


class SecretVault:
    """The secrets of an account: a file for each game, in a folder that nobody else may read."""

    def __init__(self, folder: Path, account: str = "") -> None:
        self._folder = folder
        self._account = account

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other program change anything here meanwhile: two programs would commit to two things.

        Raises `BadSecrets` if the folder is that of another account, whose matches may have the same names.
        """
        make_folder(self._folder)
        with os.fdopen(os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._claim()
            yield

    def _claim(self) -> None:
        if not self._account:
            return
        path, line = self._folder / "account", f"{self._account}\n".encode()
        if (known := _read(path)) is None:
            _write(path, line)
        elif known != line:
            owner = known.decode("utf-8", "replace").strip()
            raise BadSecrets(f"{self._folder}: here are the secrets of {owner}; each account needs its own folder")

    def secrets(self, match: str, game: int) -> Secrets | None:
        """The secrets of a game; None if there are none. Raises `BadSecrets`."""
        path = self._path(match, game)
        content = _read(path)
        try:
            return None if content is None else Secrets.read(content)
        except ValueError as error:
            raise BadSecrets(f"{path}: {error}") from error

    def keep(self, secrets: Secrets) -> None:
        """Keep secrets: when this returns, all of them are on the disk, whatever happens meanwhile.

        Only while this program is `alone`: another would write what it read before. Raises `BadSecrets`: then nothing
        may leave that they are needed for.
        """
        _write(self._path(secrets.match, secrets.game), canonical(msgspec.structs.asdict(secrets)) + b"\n")

    def plans(self, match: str, game: int, setup: str) -> dict[int, str]:
        """The orders in advance of a game with this commitment, by turn, and default orders at `DEFAULT`.

        Raises `BadSecrets`.
        """
        path = self._path(match, game, "-plans")
        if (content := _read(path)) is None:
            return {}
        try:
            found = msgspec.json.decode(content, type=_Plans)
        except ValueError as error:
            said = f"these orders in advance cannot be read ({error}); remove the file, and give them anew"
            raise BadSecrets(f"{path}: {said}") from error
        return {int(turn): text for turn, text in found.orders.items()} if found.setup == setup else {}

    def keep_plans(self, match: str, game: int, setup: str, plans: Mapping[int, str]) -> None:
        """Keep orders in advance: when this returns, they are on the disk.

        Only while this program is `alone`. Raises `BadSecrets`.
        """
        kept = _Plans(setup, {str(turn): text for turn, text in plans.items()})
        _write(self._path(match, game, "-plans"), canonical(msgspec.structs.asdict(kept)) + b"\n")

    def code(self) -> str | None:
        """The six words of this account, if some are kept here. Raises `BadSecrets`."""
        words = _read(self._folder / "code")
        return None if words is None else words.decode("ascii", "replace").strip()

    def keep_code(self, words: str) -> None:
        """Keep the six words of this account: when this returns they are on the disk.

        Only while this program is `alone`.
        """
        _write(self._folder / "code", f"{words}\n".encode("ascii"))

    def drawn(self, random: Callable[[int], bytes]) -> Code:
        """The code of this account, or a new one. Only while this program is `alone`: another would draw one, too."""
        if known := self.code():
            return Code(known, random)
        code = Code.drawn(random)
        self.keep_code(code.words)
        return code

    def noted(self, place: PaperPlace, note: str | None) -> Secrets | None:
        """The secrets of a game in a note that the words of this account open."""
        words = self.code()
        try:
            return Code(words, os.urandom).opened(note, place) if note and words else None
        except BadNote as error:
            log.warning("%s: %s", place.match, error)
            return None

    def _path(self, match: str, game: int, what: str = "") -> Path:
        if not re.fullmatch("m[1-9][0-9]{0,8}", match):
            raise BadSecrets(f"{match} is no match")
        return self._folder / f"{match}-game-{game}{what}.json"
