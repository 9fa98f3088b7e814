"""A player's side at a referee in a box: the correspondence of one player, whose letters the desk itself reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from in_a_box.referee import SERVER, Die

from pbem.failpoints import passing
from pbem.identity import ssh
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.memory import Memory
from pbem.player.play_table import prove
from pbem.player.sealed_agent import Agent
from pbem.player.secret_vault import SecretVault

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee

    from pbem.failpoints import Failpoints
    from pbem.player.memory import SentForm
    from pbem.player.server_letter import Event
    from pbem.proof.prove import Proof

TO = f"pbem@{SERVER}"
SMALL = "fleet: cost:3\nsettle: 0"
ANN, BOB = "MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


class Side:
    """A player who writes with `pbem.player` alone; `restart` is what a crash and a new start come to."""

    def __init__(self, referee: Referee, person: Mailbox, path: Path | None, failpoint: Failpoints = passing) -> None:
        self.referee = referee
        self.person = person
        self.path = path
        self.secrets = (path or Path("forgotten")).with_suffix(".secrets")
        self.failpoint = failpoint
        self.random = Die(f"side {person.name}")
        self.sent: list[bytes] = []
        """Each letter that left, as often as it was sent."""
        self.taken = 0
        self.events: list[Event] = []
        self.start()

    def start(self) -> None:
        self.memory = Memory(self.path)
        # Deaths here are a program's, no machine's: what it wrote is kept by the system that lives on.
        self.memory._database.execute("PRAGMA synchronous = OFF")
        account = Account(self.person.name, SERVER, TO, self.person.address, "", "", "")
        self.letters = Correspondence(account, self.memory, self._sign, self.random, self.failpoint)
        self.agent = Agent(self.letters, SecretVault(self.secrets), self.random, self.failpoint)

    def restart(self) -> None:
        self.memory.close()
        self.start()

    def close(self) -> None:
        self.memory.close()

    def _sign(self, text: bytes, namespace: str) -> str:
        return ssh.sign(self.person.key, text, namespace)

    @property
    def key(self) -> str:
        return ssh.public(self.person.key)

    @property
    def fingerprint(self) -> str:
        return ssh.parse(self.key).fingerprint

    @property
    def proof(self) -> Proof:
        """The proof by the first match's bundle and the kept letters, whether it holds or not."""
        found = prove(self.memory, "m1")
        assert found is not None
        return found

    def receive(self) -> list[Event]:
        events = []
        while self.taken < len(self.person.letters.came):
            events += self.letters.inbox.receive(self.person.letters.came[self.taken], self.referee.now)
            self.taken += 1
        self.events += events
        return events

    def flush(self) -> None:
        for sent in self.letters.outbox.unsent():
            self.sent.append(sent.raw)
            self.referee.deliver(sent.raw, self.person.address, sent.to)
            self.letters.outbox.has_left(sent)

    def post(self, sent: SentForm) -> list[Event]:
        """Send what was prepared, and read the answers."""
        del sent
        self.flush()
        return self.receive()

    def register(self) -> None:
        now = self.referee.now
        self.post(self.letters.registration.register(self.key, self.fingerprint, now))
        if (confirm := self.letters.registration.confirm(now)) is not None:
            self.post(confirm)  # none where the account was there before a crash, and its letter is read only now
        assert self.memory.account().name == self.person.name
