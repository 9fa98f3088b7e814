"""The fetching and sending of letters: between the mailbox, the correspondence and the mail servers.

The order makes a crash harmless: a received letter is on the disk before its mailbox is told, and a letter of ours
before it leaves. Implements mailbox.md, "Exactly once", for players.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.player.mail_out import NotSent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pbem.player.correspondence import Correspondence
    from pbem.player.correspondence.event import Event
    from pbem.player.mail_in import MailSource
    from pbem.player.memory import SentForm


def fetch(correspondence: Correspondence, source: MailSource, clock: Callable[[], datetime]) -> Iterator[Event]:
    """Take in all letters that are there, and report the outcome of each. Raises `NoMail`."""
    memory = correspondence.memory
    for found in source.letters(memory.has_seen):
        events = correspondence.inbox.receive(found.raw, clock())
        kinds = {event.kind for event in events}
        if "unpinned" not in kinds:  # it can be judged when the server's key is known
            memory.see(found.handle, forged="forged" in kinds)
            if not kinds <= {"foreign", "forged"}:
                source.done(found)
        yield from events


def flush(correspondence: Correspondence, send: Callable[[SentForm], str]) -> Iterator[tuple[SentForm, str, bool]]:
    """Send all letters that are ready: each with the mail system's reply, and whether it left."""
    for sent in correspondence.outbox.unsent():
        try:
            said = send(sent)
        except NotSent as error:
            yield sent, error.args[0], False
            continue
        correspondence.outbox.has_left(sent)
        yield sent, said, True
