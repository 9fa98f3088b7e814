"""A player's account as a file: who plays where, with which key, and how letters come and go.

There is one TOML file for each account, NAME@SERVER.toml, in the user's configuration folder; its memory is in
the user's state folder (XDG Base Directory Specification 0.8). Neither holds a password. No network, no letters.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
import tomli_w

from pbem.config.toml_file import converted, toml
from pbem.durable import replace
from pbem.networks import HOST
from pbem.player import PlayerTrouble
from pbem.player.trial_server import SERVER

if TYPE_CHECKING:
    from collections.abc import Mapping


_Settings = TypeVar("_Settings", bound=msgspec.Struct)

_NAME = r"[a-z][a-z0-9_-]{0,31}"
_SERVER = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_ACCOUNT = re.compile(rf"({_NAME})@({_SERVER})")
Address = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,255}$",
        description="a mail address such as anna@mail.example",
    ),
]
"""A mail address without a name."""


class BadAccount(PlayerTrouble):
    """An account does not exist, or its file is faulty; the text says what to do."""


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An account, from its file."""

    name: Annotated[str, msgspec.Meta(pattern=f"^{_NAME}$", description="a player's name in lower case")]
    """The player's name on the server."""
    server: Annotated[str, msgspec.Meta(pattern=f"^{_SERVER}$", description="a host name in lower case")]
    """The server's name, which everything that is signed names."""
    server_address: Address
    """The address at which the server reads letters, such as pbem@play.example."""
    address: Address
    """The player's own mail address."""
    key: str
    """The file of the SSH key: a private one, or the public one of a key that an agent holds; "" is no key."""
    mail_in: str
    """The mailbox as a URL: `maildir:PATH`, `mbox:PATH`, `imaps://USER@HOST`, `lmtp://HOST:PORT`."""
    mail_out: str
    """The way out as a URL: `smtps://USER@HOST`, `submission://USER@HOST` (STARTTLS), `smtp://HOST:PORT`,
    `sendmail:COMMAND`, or `drafts:FOLDER` for one's own mail program."""
    password_file: str = ""
    """A file with the password of the mailbox and of the submission, which nobody else may read (0600)."""
    password_command: str = ""
    """A command that prints it."""
    token_command: str = ""
    """A command that prints an access token in its place (XOAUTH2), anew for each connection."""

    def __post_init__(self) -> None:
        for url in (self.mail_in, self.mail_out):
            if "@" in url and ":" in url.partition("//")[2].rpartition("@")[0]:
                raise BadAccount(
                    "A password does not belong in a URL: give a --password-file, --password-command or"
                    " --token-command."
                )
            try:
                place = urlsplit(url)
                host, _ = place.hostname, place.port  # ValueError: what is no port
            except ValueError:
                host = ""
            if host is not None and not HOST.fullmatch(host):
                raise BadAccount("{url}: write a host, and perhaps a port, such as imaps://USER@HOST:993", url=url)
        if sum(map(bool, (self.password_file, self.password_command, self.token_command))) > 1:
            raise BadAccount("password_file, password_command and token_command: give one of them")

    @property
    def id(self) -> str:
        """NAME@SERVER."""
        return f"{self.name}@{self.server}"


def read_settings(kind: type[_Settings], path: Path) -> _Settings:
    """The values of a player's file; raises `BadAccount` with all of its faults."""
    try:
        return converted(kind, toml(path))
    except OSError as error:
        raise BadAccount(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadAccount(f"{path}: {error}") from error


def beside(path: Path, name: str) -> str:
    """The absolute path of a file that the file at this path names."""
    return str(path.absolute().parent / Path(name).expanduser())


class Places(NamedTuple):
    """The folders of accounts and their memories."""

    config: Path
    state: Path

    @property
    def accounts(self) -> list[str]:
        """NAME@SERVER of all accounts."""
        return sorted(path.stem for path in self.config.glob("*@*.toml"))

    @property
    def usual(self) -> list[str]:
        """The accounts of which one is meant if none is named: one at home only if there is no other."""
        return [name for name in self.accounts if not name.endswith(f"@{SERVER}")] or self.accounts

    def file(self, account: str) -> Path:
        """The file of an account."""
        return self.config / f"{account}.toml"

    def memory(self, account: str) -> Path:
        """The file of an account's memory."""
        return self.state / f"{account}.sqlite"

    def secrets(self, account: str) -> Path:
        """The folder of an account's secrets of sealed matches."""
        return self.state / f"{account}.secrets"

    def passkey(self, account: str, line: str) -> Path:
        """The file for the line of a passkey: each has its own, as one that fails to register must replace none."""
        return self.config / f"{account}.{hashlib.sha256(line.encode()).hexdigest()[:16]}.pub"

    def load(self, account: str = "") -> Account:
        """The account of this name, or the usual one if there are no two; raises `BadAccount`."""
        if not account:
            known = self.usual
            if not known:
                raise BadAccount(
                    "You have no account yet. Against a program, here and now: pbem play try. Against people, by"
                    " mail: pbem play register"
                )
            if len(known) != 1:
                raise BadAccount(
                    "You have several accounts; name one of them: pbem play --account {accounts}",
                    accounts=", ".join(known),
                )
            account = known[0]
        path = self.file(account)
        loaded = read_settings(Account, path)
        if loaded.id != account:
            raise BadAccount("{path} is the file of another account, {id}", path=path, id=loaded.id)
        return loaded

    def save(self, account: Account) -> Path:
        """Replace the file of an account, readable only by its owner: all of it, or nothing; raises `BadAccount`."""
        given = {name: value for name, value in msgspec.structs.asdict(account).items() if value or name == "key"}
        try:
            converted(Account, dict(given))
        except ValueError as error:
            raise BadAccount(str(error)) from error
        path = self.file(account.id)
        replace(path, tomli_w.dumps(given).encode())
        return path


def places(environment: Mapping[str, str]) -> Places:
    """The folders of this user, from the environment."""
    home = Path(environment.get("HOME") or Path.home())
    config = environment.get("XDG_CONFIG_HOME") or home / ".config"
    state = environment.get("XDG_STATE_HOME") or home / ".local" / "state"
    return Places(Path(config) / "pbem", Path(state) / "pbem")


def split(text: str) -> tuple[str, str]:
    """NAME and SERVER of NAME@SERVER; raises `BadAccount`."""
    found = _ACCOUNT.fullmatch(text.lower())
    if not found:
        raise BadAccount("{text}: an account is written NAME@SERVER, such as anna@play.example", text=text)
    return found[1], found[2]
