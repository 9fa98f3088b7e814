"""The mail of a server: where letters come in and go out, how often sending is tried, and who signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from pbem.config.values import LOOPBACK, ConfigTable, Count, Duration, Listen, Port
from pbem.networks import DOMAIN, HOST

if TYPE_CHECKING:
    from collections.abc import Iterator


_Host = Annotated[str, msgspec.Meta(pattern=rf"\A(?:{HOST.pattern})?\Z", description="a host name")]
"""Also an address of the network, and a name that IDNA turns into one."""
_Domain = Annotated[str, msgspec.Meta(pattern=rf"\A({DOMAIN.pattern})?\Z", description="a host name in lower case")]


class ListenerConfig(ConfigTable, frozen=True):
    """A listener for mail over one protocol."""

    listen: Listen = Listen()
    certificate: str = ""
    certificate_key: str = ""

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.certificate_key):
            raise ValueError("certificate and certificate_key belong together: give both or none")


class _Login(ConfigTable, frozen=True):
    """A login at a mail server: with a password, or with a command that prints an access token."""

    user: str = ""
    password_file: str = ""
    password_command: str = ""
    token_command: str = ""

    @property
    def secrets(self) -> list[str]:
        """The secrets that are set; one is enough."""
        return [given for given in (self.password_file, self.password_command, self.token_command) if given]


class SmarthostConfig(_Login, frozen=True):
    """The mail server that takes outgoing letters."""

    host: _Host = "127.0.0.1"
    port: Port = 25
    tls: Literal["none", "starttls", "implicit"] = "none"
    timeout: Duration = Duration(seconds=60)
    maildirs: str = ""


class MailboxConfig(_Login, frozen=True):
    """The mailbox that letters are fetched from: a provider's (`imap`), one on this machine (`maildir`), or none."""

    imap: _Host = ""
    port: Port = 993
    tls: Literal["none", "starttls", "implicit"] = "implicit"
    spam: str = ""
    maildir: str = ""
    poll: Duration = Duration(seconds=60)
    timeout: Duration = Duration(seconds=60)

    def __bool__(self) -> bool:
        return bool(self.imap or self.maildir)

    def account(self, address: str) -> str:
        """The name of this mailbox, for a server whose mail goes to this address."""
        return self.maildir or f"{self.user or address} {self.imap}:{self.port}"


class Delivery(ConfigTable, frozen=True):
    """Retries of sending; RFC 5321 4.5.4.1 demands 4 to 5 days."""

    concurrency: Count = 4
    first_retry: Duration = Duration(seconds=60)
    factor: Annotated[float, msgspec.Meta(ge=1)] = 2.0
    longest_retry: Duration = Duration(hours=6)
    give_up: Duration = Duration(days=5)
    per_day: Annotated[int, msgspec.Meta(ge=0)] = 0


class Dkim(ConfigTable, frozen=True):
    """The signature of outgoing letters; nothing is signed without a selector."""

    selector: _Domain = ""
    domain: _Domain = ""
    key_file: str = ""


def account_faults(box: MailboxConfig, smarthost: SmarthostConfig) -> Iterator[str]:
    """The faults of the mailbox from which letters are fetched, and of the server that takes them."""
    if box.imap and box.maildir:
        yield "mailbox: imap and maildir: give one of them"
    if box.imap and not box.secrets:
        yield "mailbox: imap needs password_file, password_command or token_command"
    for name, host, account in (("mailbox", box.imap, box), ("smarthost", smarthost.host, smarthost)):
        if len(account.secrets) > 1:
            yield f"{name}: password_file, password_command and token_command: give one of them"
        if account.secrets and account.tls == "none" and host not in LOOPBACK:
            secret = "token" if account.token_command else "password"
            yield f'{name}: tls = "none" shows the {secret} to the network: one of starttls, implicit is possible'
    if smarthost.token_command and not smarthost.user:
        yield "smarthost: token_command needs user, the account that the token is for"
