"""The recipients whose mail is accepted: the server's mailbox, its sub-addresses, postmaster and abuse; no others."""

from __future__ import annotations

from pbem.store.inbox import ROLES


class Recipients:
    """The addresses of one server, and how many of them one letter may have."""

    def __init__(self, server: str, address: str, delimiter: str, most: int) -> None:
        self._server = server
        self._local, _, self._domain = address.lower().rpartition("@")
        self._delimiter = delimiter
        self._most = most

    @property
    def mailbox(self) -> str:
        """The server's address."""
        return f"{self._local}@{self._domain}"

    def knows(self, recipient: str) -> bool:
        """True if letters for this address are accepted: the mailbox, its sub-addresses, postmaster and abuse."""
        local, _, domain = recipient.lower().rpartition("@")
        if domain not in {self._domain, self._server}:
            return False
        detail = local.removeprefix(self._local + self._delimiter) if self._delimiter else ""
        return local in {self._local, *ROLES} or detail not in {local, ""}

    def judged(self, recipient: str, others: list[str]) -> str:
        """Add a recipient to the others if letters for it are accepted; returns the reply to its RCPT."""
        if not self.knows(recipient):
            return "550 5.1.1 no such mailbox here"
        if len(others) >= self._most:
            return "452 4.5.3 too many recipients"  # RFC 5321 4.5.3.1.10
        others.append(recipient)
        return "250 2.1.5 known"
