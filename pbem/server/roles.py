"""The roles of a server: if several servers share a store, each may do less than everything.

Here live the names of the roles and what they mean. `pbem serve --roles` says which roles a server has; `daemon` does
each part, or not. Implements docs/many-machines.md, "Roles".
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A part of a server's work."""

    INTAKE = "intake"
    """Letters are taken in: the listeners, and the mailbox that is fetched from."""
    DESK = "desk"
    """Letters are handled, and deadlines, reminders and digests seen to, while no other server does."""
    POST = "post"
    """Letters are sent, names looked up in the DNS, and witnesses asked."""


ALL = frozenset(Role)

UNDONE = {
    Role.INTAKE: "no letter is taken in",
    Role.DESK: "letters wait, none is handled, and no deadline is seen to",
    Role.POST: "no letter is sent",
}
"""The result if no server has a role."""


def named(text: str) -> frozenset[Role]:
    """The roles of a list such as "intake,post"; raises ValueError."""
    try:
        return frozenset(Role(name.strip()) for name in text.split(","))
    except ValueError:
        raise ValueError(f"`{text}`: roles are {', '.join(Role)}, with commas between them") from None
