"""The configuration of a server: one TOML file, typed, every key with its default.

Here live the shape of the file, the units of its values (durations, places to listen) and the messages about its
faults. Nothing is opened or created here. `config/pbem.example.toml` documents every key; the limits'
defaults are those of reliability.md, "Limits".
"""

from __future__ import annotations

import contextlib
import difflib
import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

from pbem.i18n import ENGLISH, LANGUAGES
from pbem.store_place import PostgresqlAddress
from pbem.verifier_key import COSIGNATURE, LOG, MOST_SIGNATURES, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pbem.store_place import Place
else:
    Place = object  # msgspec knows no union of types that are not its own; `_value` reads this one

__all__ = [
    "Clock",
    "Config",
    "ConfigError",
    "Correspondent",
    "Delivery",
    "Dkim",
    "Duration",
    "HousePlayer",
    "Identity",
    "Limits",
    "Listen",
    "Listener",
    "Log",
    "Mailbox",
    "Metrics",
    "Smarthost",
    "Witness",
    "converted",
    "faults",
    "load",
    "place",
    "read_as",
]

_Read = TypeVar("_Read", bound=msgspec.Struct)

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"([0-9]{1,9})([smhd])")
# Letters, digits and hyphens (RFC 1123 2.1); lower case, because the name is hashed into what players sign.
DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
_HOST = re.compile(r"[\w.:%-]{1,253}")  # also an address of the network, and a name that IDNA turns into one
_ADDRESS = re.compile(r"[^\s@<>\x00-\x20]{1,64}@[A-Za-z0-9.-]{1,253}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
AUTHSERV_ID = re.compile(r"[A-Za-z0-9._-]{1,253}")
LOOPBACK = frozenset({"", "127.0.0.1", "::1", "localhost"})
MAILBOX = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,30}[a-z0-9])?")
PLAYER = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_SUBMISSION = re.compile(r"(https?)://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]{1,253})(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?")
PAGES = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?:[A-Za-z0-9._~-]+/)*")

Count = Annotated[int, msgspec.Meta(ge=1)]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class ConfigError(Exception):
    """The configuration file is missing or something in it is wrong; the message says where and what."""


class Duration(timedelta):
    """A length of time, written as a whole number and a unit: 60s, 10m, 6h, 5d."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The duration that a text names; raises ValueError."""
        match = DURATION.fullmatch(text)
        if match is None:
            raise ValueError(f'"{text}" is no duration: write a number and one of s, m, h, d, such as "10m"')
        return cls(**{UNITS[match[2]]: int(match[1])})


class Listen:
    """A place to listen at: host and port (0: any free one), a Unix socket, systemd's sockets, or nowhere."""

    __slots__ = ("host", "path", "port", "systemd")

    def __init__(self, host: str = "", port: int = 0, path: Path | None = None, *, systemd: bool = False) -> None:
        self.host = host
        self.port = port
        self.path = path
        self.systemd = systemd

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port`, `[host]:port`, `unix:/path`, `systemd` or the empty text; raises ValueError."""
        if not text:
            return cls()
        if text == "systemd":
            return cls(systemd=True)
        if text.startswith("unix:"):
            return cls(path=Path(text.removeprefix("unix:")))
        host, colon, port = text.rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise ValueError(f'"{text}" is no place to listen: write host:port, unix:/path or systemd')
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __bool__(self) -> bool:
        return bool(self.host or self.path or self.systemd)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listen) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        if self.systemd:
            return "systemd"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.host else ""

    __repr__ = __str__


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all tables: unknown keys are errors, and nothing changes after loading."""


class Listener(_Table, frozen=True):
    """Where mail is taken in over one protocol."""

    listen: Listen = Listen()
    certificate: str = ""
    certificate_key: str = ""
    proxy: bool = False

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.certificate_key):
            raise ValueError("certificate and certificate_key belong together: give both or none")


class _Login(_Table, frozen=True):
    """Who logs in at a mail server, and how: with a password, or a command that prints an access token."""

    user: str = ""
    password_file: str = ""
    password_command: str = ""
    token_command: str = ""

    @property
    def secrets(self) -> list[str]:
        """Which of these are given; one is enough."""
        return [given for given in (self.password_file, self.password_command, self.token_command) if given]


class Smarthost(_Login, frozen=True):
    """The mail server that takes outgoing letters."""

    host: str = "127.0.0.1"
    port: Port = 25
    tls: Literal["none", "starttls", "implicit"] = "none"
    timeout: Duration = Duration(seconds=60)
    maildirs: str = ""


class Mailbox(_Login, frozen=True):
    """The mailbox that letters are fetched from: a provider's (`imap`), one on this machine (`maildir`), or none."""

    imap: str = ""
    port: Port = 993
    tls: Literal["none", "starttls", "implicit"] = "implicit"
    spam: str = ""
    maildir: str = ""
    poll: Duration = Duration(seconds=60)
    timeout: Duration = Duration(seconds=60)

    def __bool__(self) -> bool:
        return bool(self.imap or self.maildir)

    def account(self, address: str) -> str:
        """Which mailbox this is, for a server whose mail goes to this address."""
        return self.maildir or f"{self.user or address} {self.imap}:{self.port}"


class Delivery(_Table, frozen=True):
    """How long and how often sending is tried; RFC 5321 4.5.4.1 demands 4 to 5 days."""

    concurrency: Count = 4
    first_retry: Duration = Duration(seconds=60)
    factor: Annotated[float, msgspec.Meta(ge=1)] = 2.0
    longest_retry: Duration = Duration(hours=6)
    give_up: Duration = Duration(days=5)
    per_day: Annotated[int, msgspec.Meta(ge=0)] = 0


class Dkim(_Table, frozen=True):
    """The signature of outgoing letters; nothing is signed without a selector."""

    selector: str = ""
    domain: str = ""
    key_file: str = ""


class Limits(_Table, frozen=True):
    """How much one letter, one connection and one sender may demand of the server."""

    message_bytes: Count = 256 * 1024
    message_lines: Count = 5000
    line_bytes: Count = 64 * 1024
    headers: Count = 200
    header_bytes: Count = 64 * 1024
    received: Count = 50
    parts: Count = 50
    depth: Count = 10
    recipients: Count = 10
    connections: Count = 200
    connections_per_address: Count = 10
    messages_per_connection: Count = 100
    session: Duration = Duration(minutes=10)
    idle: Duration = Duration(seconds=60)
    letters_per_day: Count = 200
    answers_to_strangers: Count = 200
    letters_kept: Duration = Duration(days=90)
    reserve_bytes: Count = 64 * 1024 * 1024
    reading: Duration = Duration(seconds=20)
    reading_processor: Duration = Duration(seconds=5)
    reading_bytes: Count = 512 * 1024 * 1024


class Clock(_Table, frozen=True):
    """The clock's defaults, if a match does not agree on something else."""

    settle: Duration = Duration(minutes=10)
    outage: Duration = Duration(hours=1)
    vacation_days: Annotated[int, msgspec.Meta(ge=0, le=366)] = 30


class Identity(_Table, frozen=True):
    """Whose word is taken for who wrote a letter."""

    authserv_id: str = ""


class HousePlayer(_Table, frozen=True):
    """The program that plays with anybody: the file that starts it, its name as a player, and its address."""

    config: str = ""
    name: str = ""
    address: str = ""


class Correspondent:
    """A log or a witness: its key, as C2SP writes it, and the address of its mail, or where it is asked by HTTP."""

    __slots__ = ("address", "key")

    def __init__(self, key: VerifierKey, address: str) -> None:
        self.key = key
        self.address = address

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `name+hash+key address`; raises ValueError. Without TLS, HTTP is for this machine alone."""
        key, _, address = text.strip().partition(" ")
        address = address.strip()
        if "://" not in address:
            known = _ADDRESS.fullmatch(address) is not None
        else:
            place = _SUBMISSION.fullmatch(address)
            known = place is not None and urlsplit(address).port != 0  # what is no port raises ValueError
            if place and place[1] == "http" and place[2].strip("[]") not in LOOPBACK:
                raise ValueError(f'"{text}": a witness on another machine is asked by https')
        if not known:
            raise ValueError(f'"{text}": write the key, a blank, and its mail address, or its https address')
        return cls(VerifierKey.read(key), address)

    @property
    def by_http(self) -> bool:
        """Whether it is asked by HTTP, and not by mail."""
        return "://" in self.address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Correspondent) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.key} {self.address}"

    __repr__ = __str__


class Witness(_Table, frozen=True):
    """Who confirms that this server takes back nothing that it said, and whom it confirms that of."""

    cosigners: tuple[Correspondent, ...] = ()
    logs: tuple[Correspondent, ...] = ()
    every: Duration = Duration(minutes=10)


class Metrics(_Table, frozen=True):
    """Where figures for Prometheus are served."""

    listen: Listen = Listen()


class Recovery(_Table, frozen=True):
    """How players who lost all their keys get new ones."""

    delay: Duration = Duration(days=7)
    codes_per_day: Count = 5


class Log(_Table, frozen=True):
    """What is logged, to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"


class Config(_Table, frozen=True):
    """The whole file; paths are absolute once loaded."""

    server: str
    address: str = ""
    delimiter: str = "+"
    operator: str = ""
    pages: str = ""
    language: str = ENGLISH
    desks: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    store: Place = Path("pbem.sqlite")
    keys: Path = Path("keys")
    smtp: Listener = Listener(listen=Listen("127.0.0.1", 2525))
    lmtp: Listener = Listener()
    mailbox: Mailbox = Mailbox()
    smarthost: Smarthost = Smarthost()
    delivery: Delivery = Delivery()
    limits: Limits = Limits()
    dkim: Dkim = Dkim()
    clock: Clock = Clock()
    identity: Identity = Identity()
    house: HousePlayer = HousePlayer()
    witness: Witness = Witness()
    metrics: Metrics = Metrics()
    recovery: Recovery = Recovery()
    log: Log = Log()

    def wrong(self) -> list[str]:
        """All faults, each in a sentence; empty for a configuration that can be used."""
        return [*self._misnamed(), *self._contradictory()]

    def _misnamed(self) -> Iterator[str]:
        """What is wrong with the server's names and addresses."""
        if not DOMAIN.fullmatch(self.server):
            yield f'server = "{self.server}" is no host name in lower case'
        if self.delimiter not in {"+", "-", "=", "_", ""}:
            yield f'delimiter = "{self.delimiter}": one of + - = _ is possible, or none'
        local, _, domain = self.mail_address.rpartition("@")
        if not MAILBOX.fullmatch(local) or not DOMAIN.fullmatch(domain):
            yield f'address = "{self.address}" is no simple address in lower case'
        if self.delimiter and self.delimiter in local:
            yield f'delimiter = "{self.delimiter}" stands in the address "{self.mail_address}" itself'
        if self.operator and ("@" not in self.operator or not self.operator.isprintable() or " " in self.operator):
            yield f'operator = "{self.operator}" is no address'
        if self.pages and not PAGES.fullmatch(self.pages):
            yield f'pages = "{self.pages}" is no address such as "https://play.example/pbem/"'
        if self.language not in LANGUAGES:
            yield f'language = "{self.language}": one of {", ".join(LANGUAGES)} is possible'
        if self.house.name and not PLAYER.fullmatch(self.house.name):
            yield f'house: name = "{self.house.name}" is no name of a player in lower case'
        if self.identity.authserv_id and not AUTHSERV_ID.fullmatch(self.identity.authserv_id):
            yield f'identity: authserv_id = "{self.identity.authserv_id}" is no name of a server'

    def _contradictory(self) -> Iterator[str]:
        """Values that contradict each other."""
        yield from self._mailbox_faults()
        yield from self._witness_faults()
        if bool(self.dkim.selector) != bool(self.dkim.key_file):
            yield "dkim: selector and key_file are given together, or none of them"
        for name in (self.dkim.selector, self.dkim.domain):
            if name and not DOMAIN.fullmatch(name):
                yield f'dkim: "{name}" is no host name in lower case'
        place = self.metrics.listen
        if place.path is not None or place.systemd or place.host not in LOOPBACK:
            yield f'metrics: listen = "{place}": figures are given out on 127.0.0.1 or [::1] alone'
        for box in (self.smtp, self.lmtp):
            if box.listen and str(box.listen) == str(self.metrics.listen) and box.listen.port:
                yield f"metrics: {box.listen} is taken by mail"
        if self.delivery.longest_retry < self.delivery.first_retry:
            yield "delivery: longest_retry is shorter than first_retry"

    def _witness_faults(self) -> Iterator[str]:
        if len(self.witness.cosigners) >= MOST_SIGNATURES:
            yield f"witness: cosigners: a checkpoint has room for {MOST_SIGNATURES - 1}"
        for name, kind, given in (
            ("cosigners", COSIGNATURE, self.witness.cosigners),
            ("logs", LOG, self.witness.logs),
        ):
            names = [one.key.name for one in given]
            if len(given) != len(set(names)):
                yield f"witness: {name}: two of them have one name"
            for one in given:
                if one.key.kind != kind or one.key.name == self.server:
                    yield f"witness: {name}: {one.key} is the key of no other {name.removesuffix('s')}"
        for one in self.witness.logs:
            if one.by_http:
                yield f"witness: logs: {one.key}: the logs of others are witnessed here by mail"

    def _mailbox_faults(self) -> Iterator[str]:
        box = self.mailbox
        if box.imap and box.maildir:
            yield "mailbox: imap and maildir: give one of them"
        if box.imap and not box.secrets:
            yield "mailbox: imap needs password_file, password_command or token_command"
        if box.imap and box.tls == "none" and box.imap not in LOOPBACK:
            yield 'mailbox: tls = "none" shows the password to the network: one of starttls, implicit is possible'
        for name, host in (("mailbox.imap", box.imap), ("smarthost.host", self.smarthost.host)):
            if host and not _HOST.fullmatch(host):
                yield f'{name} = "{host}" is no host name'
        for name, account in (("mailbox", box), ("smarthost", self.smarthost)):
            if len(account.secrets) > 1:
                yield f"{name}: password_file, password_command and token_command: give one of them"
        smarthost = self.smarthost
        if smarthost.token_command and not smarthost.user:
            yield "smarthost: token_command needs user, the account that the token is for"
        if smarthost.token_command and smarthost.tls == "none" and smarthost.host not in LOOPBACK:
            yield 'smarthost: tls = "none" shows the token to the network: one of starttls, implicit is possible'
        if not self.delimiter and not box:
            yield 'delimiter = "": without sub-addresses, letters are fetched from a [mailbox]'

    def loops(self) -> Iterator[str]:
        """Settings that would lead our own letters back to us: no real server needs one."""
        for name, listener in (("smtp", self.smtp), ("lmtp", self.lmtp)):
            place = listener.listen
            here = place.host in LOOPBACK | {"0.0.0.0", "::"} and self.smarthost.host in LOOPBACK  # noqa: S104 - nothing listens by this
            if place.port == self.smarthost.port and (here or place.host == self.smarthost.host):
                yield f"smarthost: {self.smarthost.host}:{place.port} is where {name} listens: a loop"
        local, _, domain = self.operator.lower().rpartition("@")
        own, _, host = self.mail_address.rpartition("@")
        detailed = self.delimiter and local.startswith(own + self.delimiter)
        if domain == host and (local == own or detailed):
            yield f'operator = "{self.operator}" is the server itself: give an address that a person reads'

    @property
    def mail_address(self) -> str:
        """The one address that everything is sent to and from."""
        return self.address or f"pbem@{self.server}"

    @property
    def house_name(self) -> str:
        """The name of the house as a player; empty if there is none."""
        return self.house.name or ("house" if self.house.config else "")

    @property
    def return_paths(self) -> bool:
        """Whether each letter has its own return path (VERP); providers let only the account send."""
        return bool(self.delimiter) and not self.mailbox.imap

    @property
    def dkim_domain(self) -> str:
        """The domain that signs for letters: that of the address, so that it is aligned with From (RFC 7489 3.1)."""
        return self.dkim.domain or self.mail_address.rpartition("@")[2]

    @property
    def signing_key(self) -> Path:
        """The file of the key that signs transcript heads."""
        return self.keys / "signing.key"

    @property
    def store_key(self) -> Path:
        """The file of the key that seals the store."""
        return self.keys / "store.key"


def place(environment: Mapping[str, str]) -> Path:
    """Where the configuration is if nobody names it: in this folder, else in the user's data folder (XDG)."""
    here = Path("pbem.toml")
    home = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or "/").joinpath(".local", "share"))
    return here if here.exists() else Path(home, "pbem", "pbem.toml")


def load(path: Path | str) -> Config:
    """Read a configuration file; paths in it are relative to its folder. Raises `ConfigError`."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        config = parse(table)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: no TOML: brackets in brackets, too deep") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigError(f"{path}: {_plain(str(error))}") from error
    return _anchored(config, path.absolute().parent)


def parse(table: dict[str, object]) -> Config:
    """A configuration from the tables of its TOML; raises ValueError. Paths stay as they are written."""
    config = msgspec.convert(table, Config, dec_hook=_value)
    if wrong := config.wrong():
        raise ValueError("; ".join(wrong))
    return config


def faults(path: Path | str) -> tuple[list[str], Config | None]:
    """All faults of a configuration file, each in a sentence, and the configuration without the faulty parts.

    The latter is None if too little of the file can be read.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        return [f"cannot be read: {error.strerror}"], None
    except ValueError as error:
        return [f"no TOML: {error}"], None
    except RecursionError:
        return ["no TOML: brackets in brackets, too deep"], None
    found = list(_table_faults(Config, table, ""))
    try:
        config = msgspec.convert({"server": "missing.invalid", **table}, Config, dec_hook=_value)
    except ValueError as error:
        return [*found, _plain(str(error))], None
    return [*found, *config.wrong(), *config.loops()], _anchored(config, path.absolute().parent)


def read_as(kind: type[_Read], path: Path) -> _Read:
    """The values of a TOML file of another kind; raises OSError, and ValueError like `converted`."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"no TOML: {error}") from error
    except RecursionError as error:
        raise ValueError("no TOML: brackets in brackets, too deep") from error
    return converted(kind, table)


def converted(kind: type[_Read], table: dict[str, object]) -> _Read:
    """The values of such a table; raises ValueError with all faults, each in a sentence."""
    if wrong := list(_table_faults(kind, table, "")):
        raise ValueError("; ".join(wrong))
    try:
        return msgspec.convert(table, kind, dec_hook=_value)
    except ValueError as error:
        raise ValueError(_plain(str(error))) from error


def _table_faults(kind: type[msgspec.Struct], table: dict[str, object], where: str) -> Iterator[str]:
    """The faults of a table, key by key; faulty keys are removed, so that the rest can be checked."""
    kinds = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in table:
            yield f"{where}{field.name} is missing"
    for key, value in list(table.items()):
        place, wanted = f"{where}{key}", kinds.get(key)
        for inner, of_inner, found in _inner_tables(place, value, wanted):
            yield from _table_faults(inner, found, f"{of_inner}.")
            if any(field.required and field.name not in found for field in msgspec.structs.fields(inner)):
                del table[key]  # so it says all that can be said of it
        if key not in table:
            continue
        fault = _fault(place, value, wanted, kinds, where)
        if fault:
            yield fault
            del table[key]


def _inner_tables(
    place: str, value: object, wanted: object
) -> Iterator[tuple[type[msgspec.Struct], str, dict[str, object]]]:
    """The tables in the value of a key, of which the faults are told one by one; each with its kind and its place."""
    if not isinstance(value, dict):
        return
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        yield wanted, place, value
    elif get_origin(wanted) is dict:
        kind = get_args(wanted)[1]
        yield from ((kind, f"{place}.{name}", inner) for name, inner in value.items() if isinstance(inner, dict))


def _fault(place: str, value: object, wanted: object, kinds: Iterable[str], where: str) -> str:
    """What is wrong with the value of a key; empty when nothing is."""
    if wanted is None:
        close = difflib.get_close_matches(place.removeprefix(where), kinds, 1)
        return f"{place} is no key of this file" + (f"; did you mean {where}{close[0]}?" if close else "")
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct) and not isinstance(value, dict):
        return f"{place} is a table: write [{place}]"
    if get_origin(wanted) is Literal and value not in get_args(wanted):
        return f"{place} = {value!r}: one of {', '.join(get_args(wanted))} is possible"
    if isinstance(value, str) and _CONTROL.search(value):
        return f"{place} = {value!a}: control characters, such as the end of a line, are in no value"
    try:
        msgspec.convert(value, wanted, dec_hook=_value)
    except ValueError as error:
        form = next((meta.description for meta in get_args(wanted)[1:] if isinstance(meta, msgspec.Meta)), None)
        if form and isinstance(value, str):
            return f"{place} = {value!r}: {form} is expected"
        return f"{place}: {_plain(str(error))}"
    return ""


def _value(kind: type, text: object) -> object:
    if not isinstance(text, str):
        raise ValueError(f"a text in quotes is expected, not {text!r}")
    if kind is object:
        return PostgresqlAddress.parse(text)
    if kind is Path:
        return Path(text)
    if kind is Duration:
        return Duration.parse(text)
    if kind is Listen:
        return Listen.parse(text)
    if kind is Correspondent:
        return Correspondent.parse(text)
    raise NotImplementedError(kind)


def _plain(message: str) -> str:
    """Msgspec's message in the words of the file: keys and tables, not fields and objects."""
    message = message.replace("Object contains unknown field", "unknown key")
    message = message.replace("Object missing required field", "missing key")
    message = _EXPECTED.sub(_expected, message)
    return re.sub(r" - at `\$\.?([^`]*)`", lambda found: f" (at {found[1]})" if found[1] else "", message)


_EXPECTED = re.compile(
    r"Expected `(\w+)`(?: of length (?P<length>\d+))?(?: (?P<bound>[<>]=) (?P<most>[\d.]+))?"
    r"(?:, got `(?P<given>\w+)`(?: of length (?P<long>\d+))?|, got (?P<count>\d+))?"
)
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list in brackets",
    "object": "a table",
}
_BOUNDS = {">=": "at least", "<=": "at most"}


def _expected(found: re.Match[str]) -> str:
    """What a key wants, and what it was given, where msgspec names types."""
    wanted = _KINDS.get(found[1], found[1])
    wanted += f" of length {found['length']}" if found["length"] else ""
    wanted += f" of {_BOUNDS[found['bound']]} {found['most']}" if found["bound"] else ""
    given = f", not {_KINDS.get(found['given'], found['given'])}" if found["given"] and not found["length"] else ""
    return f"{wanted} is expected{given}"


def _anchored(config: Config, folder: Path) -> Config:
    return msgspec.structs.replace(
        config,
        store=folder / config.store if isinstance(config.store, Path) else config.store,
        keys=folder / config.keys,
        smtp=_anchored_listener(config.smtp, folder),
        lmtp=_anchored_listener(config.lmtp, folder),
        mailbox=msgspec.structs.replace(
            config.mailbox,
            password_file=_anchored_name(config.mailbox.password_file, folder),
            maildir=_anchored_name(config.mailbox.maildir, folder),
        ),
        smarthost=msgspec.structs.replace(
            config.smarthost,
            password_file=_anchored_name(config.smarthost.password_file, folder),
            maildirs=_anchored_name(config.smarthost.maildirs, folder),
        ),
        house=_anchored_house(config.house, folder),
        dkim=msgspec.structs.replace(config.dkim, key_file=_anchored_name(config.dkim.key_file, folder)),
    )


def _anchored_listener(listener: Listener, folder: Path) -> Listener:
    path = listener.listen.path
    return msgspec.structs.replace(
        listener,
        listen=listener.listen if path is None else Listen(path=folder / path),
        certificate=_anchored_name(listener.certificate, folder),
        certificate_key=_anchored_name(listener.certificate_key, folder),
    )


def _anchored_house(house: HousePlayer, folder: Path) -> HousePlayer:
    """With the address from its own file, if none is given; that file may be missing, or be written later."""
    file = _anchored_name(house.config, folder)
    address = house.address
    if file and not address:
        with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            address = msgspec.toml.decode(Path(file).read_bytes(), type=_HouseFile).account.address
    return msgspec.structs.replace(house, config=file, address=address)


class _HouseAccount(msgspec.Struct, frozen=True):
    address: str = ""


class _HouseFile(msgspec.Struct, frozen=True):
    """What is read of the house's own configuration."""

    account: _HouseAccount = _HouseAccount()


def _anchored_name(name: str, folder: Path) -> str:
    return str(folder / name) if name else ""
