"""What each command of `pbem play` stands on: the player's account and letters, and the ways in and out.

Here lives what is common to the commands: fetching, sending, waiting, the question before a signature, and the
troubles that are told in one sentence. What a match looks like is `shown`'s, and what an event says is `told`'s.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pbem.cli.play import event_text
from pbem.cli.play.event_text import about, clean, line_of
from pbem.cli.play.proved import prove_ended
from pbem.games import Refused
from pbem.player import mail_in, mail_out, signing
from pbem.player.account_file import Account, BadAccount
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.player.exchange import fetch, flush
from pbem.player.forms import Unfit
from pbem.player.memory import BadMemory, Memory
from pbem.player.sealed_view import Contradiction
from pbem.player.secret_vault import BadNote, BadSecrets, SecretVault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.player.account_file import Places
    from pbem.player.correspondence.event import Event
    from pbem.player.memory import SentForm
    from pbem.player.sealed_agent import Agent
    from pbem.player.standing import MatchStanding

__all__ = ["MATCH", "PlayTable", "at_table", "confirm", "passphrase", "state", "troubles", "yes_option"]

MATCH = re.compile(r"m[1-9][0-9]{0,8}")
_SOON, _LOOK = 0.1, 1.0  # seconds between two looks into the mailbox: at first, and at most
_SPINNER = "|/-\\"


class PlayTable:
    """A player's table: the account, its letters, and the ways in and out. Each is opened when first needed."""

    def __init__(self, folders: Places, name: str, patience: float, secrets: Path | None = None) -> None:
        self.folders = folders
        self.name = name
        self.patience = patience
        self.secrets = secrets
        """Where the secrets of sealed matches are kept, if not beside the memory."""
        self.afterwards = ExitStack()
        self._account: Account | None = None
        self._correspondence: Correspondence | None = None
        self._agent: Agent | None = None
        self._source: mail_in.MailSource | None = None
        self._key: signing.SigningKey | None = None
        self.unproved: set[str] = set()
        """Subjects of letters that cannot be judged before the server's key is known."""

    @property
    def account(self) -> Account:
        """The account."""
        if self._account is None:
            self._account = self.folders.load(self.name)
        return self._account

    @property
    def key(self) -> signing.SigningKey:
        """The player's key; its private half is opened when something is signed."""
        if self._key is None:
            self._key = signing.read(Path(self.account.key).expanduser(), passphrase)
        return self._key

    @property
    def letters(self) -> Correspondence:
        """The correspondence of the account."""
        if self._correspondence is None:
            memory = Memory(self.folders.memory(self.account.id))
            self.afterwards.callback(memory.close)
            sign = self._sign if self.account.key else None
            self._correspondence = Correspondence(self.account.party, memory, sign, os.urandom)
        return self._correspondence

    @property
    def agent(self) -> Agent:
        """The agent that plays sealed matches."""
        from pbem.player.sealed_agent import Agent  # few commands play sealed matches

        if self._agent is None:
            vault = SecretVault(self.secrets or self.folders.secrets(self.account.id))
            self._agent = Agent(self.letters, vault, os.urandom)
        return self._agent

    def _sign(self, text: bytes, namespace: str) -> str:
        return self.key.sign(text, namespace)

    def now(self) -> datetime:
        """The time by this machine's clock."""
        return datetime.now(UTC)

    def fetch(self) -> list[Event]:
        """Take in the letters that have come, and tell the player what matters."""
        if self._source is None:
            self._source = mail_in.source(self.account)
            self.afterwards.callback(self._source.close)
        events = list(fetch(self.letters, self._source, self.now))
        events += self.agent.hear(events, self.now())
        for event in events:
            event_text.report(event)
        self.unproved = {event.subject for event in events if event.kind == "unpinned"}
        prove_ended(self.letters, events)
        if (self.letters.registration.confirm(self.now()) is not None) | bool(self.agent.act(self.now())):
            self.send()
        return events

    def take_back(self, match: str) -> None:
        """Go on in a sealed match, whatever the agent holds there; what else does not hold is told."""
        for event in self.agent.take_back(match, self.now()):
            event_text.report(event)
        self.agent.act(self.now())
        self.send()

    def send(self) -> bool:
        """Send all letters that are ready; returns whether none is left."""
        complete = True
        for sent, said, left in flush(self.letters, lambda sent: mail_out.send(self.account, sent)):
            if left:
                click.echo(f"{about(sent)}: {line_of(said)}.")
            else:
                complete = False
                click.echo(
                    f"Not sent yet: {about(sent)}: {line_of(said)}\nIt lies ready; the next `pbem play` tries again.",
                    err=True,
                )
        return complete

    def wait(self, until: Callable[[list[Event]], bool], what: str) -> bool:
        """Look for letters until the awaited one is there; returns whether it came in time."""
        end = time.monotonic() + self.patience
        turn, pause = 0, _SOON
        shown = sys.stderr.isatty()
        try:
            while True:
                if until(self.fetch()):
                    return True
                if time.monotonic() >= end:
                    return False
                if shown:
                    sys.stderr.write(f"\r{_SPINNER[turn % 4]} Waiting for {what} (Ctrl-C: go on without) ")
                    sys.stderr.flush()
                turn += 1
                time.sleep(min(pause, max(0.0, end - time.monotonic())))
                pause = min(2 * pause, _LOOK)
        except KeyboardInterrupt:
            return False
        finally:
            if shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def settle(self, sent: SentForm) -> None:
        """Send a letter, wait for the server's answer, and report it; exits with 1 if it was refused."""
        if self.send() and self.patience:
            self.wait(lambda _: state(self.letters, sent) not in {"ready", "sent"}, "the server's answer")
        match state(self.letters, sent):
            case "refused":
                sys.exit(1)
            case "ready" | "sent":
                click.echo("No answer yet; `pbem play` fetches it when it comes.")


def state(letters: Correspondence, sent: SentForm) -> str:
    """How a letter of the player's stands now."""
    found = letters.memory.by_message_id(sent.message_id)
    return found.state if found else "ready"


def passphrase(prompt: str) -> str:
    """Ask the player for the passphrase of a key."""
    return str(click.prompt(prompt, hide_input=True, err=True))


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        yield
    except Refused as refused:
        _refused([fault.message for fault in refused.faults])
    except Contradiction as error:
        raise click.ClickException(f"What was told cannot be: {clean(str(error))}") from error
    except (
        *(BadAccount, BadMemory, BadNote, BadSecrets, Impossible, Unfit),
        *(signing.CannotSign, mail_in.NoMail),
    ) as error:
        raise click.ClickException(clean(str(error))) from error
    except sqlite3.Error as error:
        raise click.ClickException(
            f"What is remembered cannot be read or written: {error}. Nothing is lost: the same again goes on."
        ) from error


def _refused(faults: Sequence[str]) -> NoReturn:
    click.echo("Not legal; nothing was signed or sent:", err=True)
    for fault in faults:
        click.echo(f"  - {line_of(fault)}", err=True)
    sys.exit(1)


def confirm(table: PlayTable, yes: bool, shown: MatchStanding | None = None) -> None:
    """Ask once; then the match must be as it was shown: another `pbem play` may have fetched meanwhile."""
    if not yes:
        click.confirm("Sign and send?" if table.account.key else "Send?", default=True, abort=True)
    if shown is not None:
        now = table.letters.matches.standing(shown.match)
        if (now.phase, now.game, now.turn, now.hash) != (shown.phase, shown.game, shown.turn, shown.hash):
            raise Impossible(f"A letter about {shown.match} came while you looked; nothing was signed. Look again.")


at_table = click.make_pass_decorator(PlayTable)
yes_option = click.option("--yes", is_flag=True, help="Do not ask before signing.")
