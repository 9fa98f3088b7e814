"""The whole file of a server, and the tables that are no module's own; what contradicts what in it."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from pbem.config.limits import Limits
from pbem.config.mail import Delivery, Dkim, ListenerConfig, MailboxConfig, SmarthostConfig, account_faults
from pbem.config.values import LOOPBACK, ConfigTable, Cosigner, Count, Duration, Listen
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.networks import DOMAIN
from pbem.verifier_key import COSIGNATURE, MOST_SIGNATURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.store_place import Place
else:
    Place = object  # msgspec knows no union of types that are not its own; `pbem.config.toml_file` reads this one


_MAILBOX = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,24}[a-z0-9])?")


def _text(pattern: str, description: str) -> msgspec.Meta:
    """The form of a text, which may be empty where that is its default."""
    return msgspec.Meta(pattern=rf"\A(?:{pattern})\Z", description=description)


_Server = Annotated[str, _text(DOMAIN.pattern, "a host name in lower case")]
_AuthservId = Annotated[str, _text("[A-Za-z0-9._-]{0,253}", "the name of a server")]
_Player = Annotated[str, _text("(?:[a-z][a-z0-9_-]{0,31})?", "the name of a player in lower case")]
_Pages = Annotated[
    str,
    _text(
        "(?:https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?:[A-Za-z0-9._~-]+/)*)?",
        'an address such as "https://play.example/pbem/"',
    ),
]


_SOME_TIME = (
    *("limits.session", "limits.idle", "limits.reading", "limits.reading_processor"),
    *("delivery.first_retry", "delivery.give_up"),
    *("mailbox.poll", "mailbox.timeout", "smarthost.timeout", "witness.every"),
)
"""The times without which nothing is taken, fetched, read or sent: 0 does not mean that there is no limit."""


class ClockConfig(ConfigTable, frozen=True):
    """The trust in the server's clock when it leaps; and defaults of matches that agree on nothing else."""

    trusted: bool = False
    settle: Duration = Duration(minutes=10)
    outage: Duration = Duration(hours=1)
    vacation_days: Annotated[int, msgspec.Meta(ge=0, le=366)] = 30


class Identity(ConfigTable, frozen=True):
    """The mail server whose verdict on the sender of a letter is believed."""

    authserv_id: _AuthservId = ""


class HousePlayer(ConfigTable, frozen=True):
    """The program that plays with anybody: the file that starts it, its name as a player, and its address."""

    config: str = ""
    name: _Player = ""
    address: str = ""


class GamesConfig(ConfigTable, frozen=True):
    """The games of other packages that are played here, beside those of pbem."""

    enabled: tuple[str, ...] = ()


class WitnessConfig(ConfigTable, frozen=True):
    """The witnesses of this server's log: docs/witnesses.md."""

    cosigners: tuple[Cosigner, ...] = ()
    every: Duration = Duration(minutes=10)

    def faults(self, server: str) -> Iterator[str]:
        """The faults of the witnesses of this server."""
        if len(self.cosigners) >= MOST_SIGNATURES:
            yield f"witness: cosigners: a checkpoint has room for {MOST_SIGNATURES - 1}"
        names = [one.key.name for one in self.cosigners]
        if len(names) != len(set(names)):
            yield "witness: cosigners: two of them have one name"
        for one in self.cosigners:
            if one.key.kind != COSIGNATURE or one.key.name == server:
                yield f"witness: cosigners: {one.key} is the key of no other cosigner"


_Host = Annotated[
    str, _text(rf"{DOMAIN.pattern}(?::[1-9][0-9]{{0,4}})?", "a host in lower case, perhaps with a port")
]


class NotifyConfig(ConfigTable, frozen=True):
    """The hosts at which players may have themselves notified beside their mail: they speak as ntfy does."""

    hosts: tuple[_Host, ...] = ()


class Recovery(ConfigTable, frozen=True):
    """New keys for players who lost all of theirs."""

    delay: Duration = Duration(days=7)
    codes_per_day: Count = 5


class LogConfig(ConfigTable, frozen=True):
    """The log, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "text"] = "auto"
    """`auto`: text in a terminal, else JSON."""


class Config(ConfigTable, frozen=True):
    """The whole file; paths are absolute once loaded."""

    server: _Server
    address: str = ""
    delimiter: Literal["+", "-", "=", "_", ""] = "+"
    operator: str = ""
    pages: _Pages = ""
    language: str = ENGLISH
    store: Place = Path("pbem.sqlite")
    keys: Path = Path("keys")
    smtp: ListenerConfig = ListenerConfig(listen=Listen("127.0.0.1", 2525))
    lmtp: ListenerConfig = ListenerConfig()
    mailbox: MailboxConfig = MailboxConfig()
    smarthost: SmarthostConfig = SmarthostConfig()
    delivery: Delivery = Delivery()
    limits: Limits = Limits()
    dkim: Dkim = Dkim()
    clock: ClockConfig = ClockConfig()
    identity: Identity = Identity()
    games: GamesConfig = GamesConfig()
    house: HousePlayer = HousePlayer()
    witness: WitnessConfig = WitnessConfig()
    notify: NotifyConfig = NotifyConfig()
    recovery: Recovery = Recovery()
    log: LogConfig = LogConfig()

    def wrong(self) -> list[str]:
        """All faults, each in a sentence; empty for a configuration that can be used."""
        return [*self._misnamed(), *self._contradictory()]

    def _misnamed(self) -> Iterator[str]:
        """The faults of the server's addresses and language."""
        local, _, domain = self.mail_address.rpartition("@")
        if not _MAILBOX.fullmatch(local) or not DOMAIN.fullmatch(domain):
            yield f'address = "{self.address}" is no simple address in lower case'
        if self.delimiter and self.delimiter in local:
            yield f'delimiter = "{self.delimiter}" stands in the address "{self.mail_address}" itself'
        for key, told in (("operator", self.operator), ("house: address", self.house.address)):
            if told and ("@" not in told or not told.isprintable() or " " in told):
                yield f'{key} = "{told}" is no address'
        if self.language not in LANGUAGES:
            yield f'language = "{self.language}": one of {", ".join(LANGUAGES)} is possible'

    def _contradictory(self) -> Iterator[str]:
        """Values that contradict each other."""
        yield from account_faults(self.mailbox, self.smarthost)
        if self.mailbox and 2 * self.mailbox.poll > self.clock.outage:
            yield f'mailbox: poll = "{self.mailbox.poll}": at most half of clock.outage, as no answer is an outage'
        if not self.delimiter and not self.mailbox:
            yield 'delimiter = "": without sub-addresses, letters are fetched from a [mailbox]'
        for place in _SOME_TIME:
            if not attrgetter(place)(self):
                yield f"{place.replace('.', ': ')} is no time at all"
        yield from self.limits.faults()
        yield from self.witness.faults(self.server)
        if bool(self.dkim.selector) != bool(self.dkim.key_file):
            yield "dkim: selector and key_file are given together, or none of them"
        if self.delivery.longest_retry < self.delivery.first_retry:
            yield "delivery: longest_retry is shorter than first_retry"

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
    def mailbox_account(self) -> str:
        """The name of the mailbox from which letters are fetched; empty if there is none."""
        return self.mailbox.account(self.mail_address) if self.mailbox else ""

    @property
    def pages_host(self) -> str:
        """The host of the pages, to which the players' passkeys belong; empty if there are none."""
        return urlsplit(self.pages).hostname or ""

    @property
    def house_name(self) -> str:
        """The name of the house as a player; empty if there is none."""
        return self.house.name or ("house" if self.house.config else "")

    @property
    def return_paths(self) -> bool:
        """True if each letter has its own return path (VERP); providers let only the account send."""
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
