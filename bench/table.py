"""A match to measure with: Ann and Bob at Spaceships, with letters of theirs that are signed and ready to go.

The store is made by the referee of the tests, which is the real desk, and can then be served by a daemon.
"""

from __future__ import annotations

import itertools
import logging
import time
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import structlog
from in_a_box.referee import ANN, BOB, START, Referee, body, form_in

from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Mailbox

    from pbem.games import State

__all__ = ["ORDERS", "START", "Table"]

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"
"""Seven strikes at space where nothing of Ann's or Bob's is."""


class Table:
    """Matches of Ann and Bob on a store of their own, the first turn due in each; `apart`: each of another two."""

    def __init__(self, folder: Path, matches: int = 1, *, apart: bool = False) -> None:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        self.folder = folder
        self.referee = Referee(folder)
        self.revisions = itertools.count(2)
        keys = folder / "keys"
        keys.mkdir(mode=0o700)
        for name, key in (("store", bytes(32)), ("signing", self.referee.signing_key.private_bytes_raw())):
            (keys / f"{name}.key").write_text(key.hex() + "\n")
            (keys / f"{name}.key").chmod(0o600)
        self.ann, self.bob = self.referee.begun()
        self.firsts = [self.ann]
        """Of each match the player who proposed it."""
        self.opening = self.position()
        for number in range(1, matches):
            names = (f"ann{number}", f"bob{number}") if apart else ()
            if apart and number % 20 == 0:  # no domain brings more new mailboxes than some fifty a day
                self.referee.wait(timedelta(days=1))
            first, second = (self.referee.registered(name) for name in names) if apart else (self.ann, self.bob)
            self._another(number, first, second)

    def _another(self, number: int, first: Mailbox, second: Mailbox) -> None:
        self.firsts.append(first)
        # The same text a second time would change nothing.
        self.referee.send(first, f"new spaceships with {second.name}\npace: {7 + number}d\nend\n")
        self.referee.send(second, form_in(body(second.find("proposes")), "accept", lines=1))
        for person, setup in ((first, ANN), (second, BOB)):
            self.referee.send(person, person.filled("setup", setup))

    def position(self) -> State:
        """The position of the first match as the desk has it."""
        loaded = self.referee.desk.archive.load(1)
        assert loaded is not None
        assert loaded[0].position is not None
        return loaded[0].position

    def turn(self, match: int = 1) -> None:
        """Both play the turn that is due, and it is resolved at once."""
        for person in (self.ann, self.bob):
            self.referee.deliver(self.orders(person, match, 1, final=True), person.address)
            del person.letters[:-8]

    def effect(self, raw: bytes, address: str) -> float:
        """The milliseconds from a letter's bytes to its effect and the answer in the outbox."""
        start = time.perf_counter()
        self.referee.inbox.put(Envelope(address, ("pbem@play.example",)), raw, self.referee.now)
        self.referee.running.handle_next(self.referee.now)
        milliseconds = (time.perf_counter() - start) * 1000
        self.referee.collect()
        return milliseconds

    def form(self, person: Mailbox, match: int) -> str:
        """The head of the latest form for orders of this match."""
        for letter in reversed(person.letters):
            body = letter.get_body(("plain",))
            text = str(body.get_content()).replace("\r\n", "\n") if body else ""
            start = text.find(f"\norders m{match} turn")
            if start >= 0:
                return text[start + 1 :].partition("\nend\n")[0].rstrip()
        raise AssertionError(f"no form for m{match}")

    def bundle(self, match: int) -> bytes:
        """The bundle of a match; of a long one no letter brings it."""
        loaded = self.referee.desk.archive.load(match)
        assert loaded is not None
        return self.referee.desk.archive.bundle(*loaded, None)

    def orders(self, person: Mailbox, match: int, rev: int, *, final: bool = False, size: int = 0) -> bytes:
        """A signed letter with such orders, as it comes by SMTP, padded to so many octets.

        Each revision has them in another sequence: the same words get thirty answers a day.
        """
        strikes = " ".join(Random(rev).sample(ORDERS.split(), 7))
        head = "\n".join(
            f"rev {rev}" if line.startswith("rev ") else line for line in self.form(person, match).split("\n")
        )
        text = f"{head}\n{'final ' if final else ''}{strikes}\nend\n"
        raw = self.referee.raw(person, self.referee.signed(person, text))
        return raw + b"".join(b"> quoted %-60d\r\n" % line for line in range(max(0, size - len(raw)) // 71))
