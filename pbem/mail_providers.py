"""Mail providers: the hosts by which a mailbox is read and letters are sent, and where its password is made.

A table, by the domain of an address. Implements docs/playing.md, "An account", and docs/operating.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

GOOGLE: Final = "https://myaccount.google.com/apppasswords"
OFFICE: Final = "submission://smtp-mail.outlook.com"
APPLE: Final = "https://account.apple.com"
FASTMAIL: Final = "https://app.fastmail.com/settings/security"
BRIDGE: Final = "Proton Mail Bridge, set to SSL, its certificate trusted on this machine"
GMX: Final = "https://hilfe.gmx.net/pop-imap/einschalten.html"
WEB: Final = "https://hilfe.web.de/pop-imap/einschalten.html"
YAHOO: Final = "https://login.yahoo.com/account/security"


class MailProvider(NamedTuple):
    """A provider's hosts, as it publishes them."""

    title: str
    domains: str
    imap: str
    """The host, and its port if that is not 993."""
    submission: str
    """The host, behind `smtps://` (TLS at once, port 465) or `submission://` (STARTTLS, port 587)."""
    password: str | None = ""
    """Where a password for programs is made; "" if the mailbox's own is enough, None if only a token is taken."""

    def ways(self, address: str) -> tuple[str, str]:
        """The URLs of the mailbox with this address, and of the way out."""
        user = quote(address, safe="")
        scheme, _, host = self.submission.partition("://")
        return f"imaps://{user}@{self.imap}", f"{scheme}://{user}@{host}"


_TABLE: Final = (
    MailProvider("Gmail", "gmail.com googlemail.com", "imap.gmail.com", "smtps://smtp.gmail.com", GOOGLE),
    MailProvider("Outlook", "outlook.com hotmail.com live.com msn.com", "outlook.office365.com", OFFICE, None),
    MailProvider("iCloud", "icloud.com me.com mac.com", "imap.mail.me.com", "submission://smtp.mail.me.com", APPLE),
    MailProvider("Fastmail", "fastmail.com fastmail.fm", "imap.fastmail.com", "smtps://smtp.fastmail.com", FASTMAIL),
    MailProvider("Proton", "proton.me protonmail.com pm.me", "127.0.0.1:1143", "smtps://127.0.0.1:1025", BRIDGE),
    MailProvider("GMX", "gmx.net gmx.de gmx.at gmx.ch", "imap.gmx.net", "smtps://mail.gmx.net", GMX),
    MailProvider("web.de", "web.de", "imap.web.de", "smtps://smtp.web.de", WEB),
    MailProvider("Posteo", "posteo.de posteo.net", "posteo.de", "smtps://posteo.de"),
    MailProvider("mailbox.org", "mailbox.org", "imap.mailbox.org", "smtps://smtp.mailbox.org"),
    MailProvider("Yahoo", "yahoo.com yahoo.de", "imap.mail.yahoo.com", "smtps://smtp.mail.yahoo.com", YAHOO),
)
PROVIDERS: Final[dict[str, MailProvider]] = {domain: one for one in _TABLE for domain in one.domains.split()}
"""Providers by domain."""


def provider_of(address: str) -> MailProvider | None:
    """The provider of an address, if it is in the table."""
    return PROVIDERS.get(address.rpartition("@")[2].lower())
