"""The common parts of the commands of `pbem play`.

The player's account and letters are here, with fetching, sending, waiting, the question before a signature, and the
errors that are reported in one sentence. `display` shows a match, and `event_text` words an event.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from pbem.cli import home, programs, telling
from pbem.cli.ending import Status
from pbem.cli.play import event_text
from pbem.cli.play.event_text import about, indented, prove_ended
from pbem.cli.telling import clean, line_of, tell
from pbem.games import Refused
from pbem.phrase import Phrase
from pbem.player import mail_in, mail_out, signing
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.player.memory import Memory
from pbem.player.sealed_view import Contradiction
from pbem.player.secret_vault import SecretVault
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.match.view import MatchView
    from pbem.player.account_file import Account, Places
    from pbem.player.correspondence.judge import Judged
    from pbem.player.memory import SentForm
    from pbem.player.sealed_agent import Agent
    from pbem.player.server_letter import Event


MATCH = re.compile(r"m[1-9][0-9]{0,8}")
SIX_WORDS = Phrase("""\
Your six words, to be kept somewhere other than on this machine:

    {words}

Setup and orders of sealed matches stay here, and the server keeps a copy that only these words open. If this
machine is lost, another goes on with them: pbem play words WORD WORD ...""")

NOT_LEGAL = Phrase("Not legal; nothing was signed or sent:")

_SOON, _LOOK = 0.1, 1.0  # seconds between two looks into the mailbox: at first, and at most
_ERASED = "\r\x1b[K"
_Options = ParamSpec("_Options")


class PlayTable:
    """A player's table: the account, its letters, and the ways in and out. Each is opened when first needed."""

    def __init__(self, folders: Places, name: str, patience: float, secrets: Path | None = None) -> None:
        self.folders = folders
        self.name = name
        self.patience = patience
        self.secrets = secrets
        """The folder of the secrets of sealed matches, if they are not beside the memory."""
        self.passphrase: Callable[[str], str] = programs.passphrase
        self.touch: Callable[[], None] = programs.touch
        self.browser: Callable[[signing.SigningKey, bytes, str], str] = programs.no_browser
        """The way to a signature by a passkey, which only a browser can make."""
        self.afterwards = ExitStack()
        self.unproved: set[str] = set()
        """Subjects of letters that cannot be judged before the server's key is known."""

    @cached_property
    def account(self) -> Account:
        """The account."""
        account = self.folders.load(self.name)
        if account.server == home.SERVER:
            self.afterwards.enter_context(home.running())
        return account

    @cached_property
    def key(self) -> signing.SigningKey:
        """The player's key; its private half is opened when something is signed."""
        return signing.read(Path(self.account.key).expanduser(), self.passphrase, self.touch)

    @cached_property
    def letters(self) -> Correspondence:
        """The correspondence of the account."""
        memory = Memory(self.folders.memory(self.account.id))
        self.afterwards.callback(memory.close)
        return Correspondence(self.account, memory, self._sign if self.account.key else None, os.urandom)

    @cached_property
    def agent(self) -> Agent:
        """The agent that plays sealed matches."""
        from pbem.player.sealed_agent import Agent  # few commands play sealed matches

        vault = SecretVault(self.secrets or self.folders.secrets(self.account.id), self.account.id)
        return Agent(self.letters, vault, os.urandom)

    @cached_property
    def source(self) -> mail_in.MailSource:
        """The mailbox of the account."""
        source = mail_in.source(self.account)
        self.afterwards.callback(source.close)
        return source

    def _sign(self, text: bytes, namespace: str) -> str:
        return self.browser(self.key, text, namespace) if self.key.is_passkey else self.key.sign(text, namespace)

    def judged(self, standing: MatchView, text: str, turn: int | None = None) -> Judged:
        """Judge orders for the turn that is due, or for another one; raises `Refused`, `Impossible`."""
        if turn is not None:
            ahead = self.agent.judge_ahead if standing.sealed else self.letters.judge.ahead
            return ahead(standing.match, turn, text)
        judge = self.agent.judge_orders if standing.sealed else self.letters.judge.orders
        return judge(standing.match, text)

    def order(
        self, standing: MatchView, text: str, *, final: bool = False, turn: int | None = None
    ) -> SentForm | None:
        """Prepare orders for the turn that is due, or for another one; None: they wait here, as in a sealed match."""
        if not standing.sealed:
            return self.letters.order(standing.match, text, self.now(), final=final, turn=turn)
        if turn is None:
            return self.agent.order(standing.match, text, self.now())
        self.agent.store(standing.match, turn, text)
        return None

    def set_up(self, standing: MatchView, text: str) -> tuple[SentForm, str]:
        """Prepare a setup; also returns what its player is told of the six words, if they are new."""
        if not standing.sealed:
            return self.letters.set_up(standing.match, text, self.now()), ""
        new = self.agent.vault.code() is None
        sent = self.agent.set_up(standing.match, text, self.now())
        return sent, telling.said(SIX_WORDS.given(words=self.agent.words)) if new else ""

    def is_later(self, standing: MatchView, turn: int) -> bool:
        """True if this turn is not the one for which orders are due, so that they would wait."""
        if turn == DEFAULT or not standing.sealed or standing.phase != "playing":
            return turn != standing.turn or turn == DEFAULT
        shown = self.agent.shown(standing.match)
        return not shown.asked or turn != shown.turn

    def now(self) -> datetime:
        """The time by this machine's clock."""
        return datetime.now(UTC)

    def fetch(self) -> list[Event]:
        """Take in the letters that have come, and tell the player what matters."""
        events = list(mail_in.fetch(self.letters, self.source, self.now))
        events += self.agent.hear(events, self.now())
        for event in events:
            event_text.report(event)
        self.unproved = {event.subject for event in events if event.kind == "unpinned"}
        prove_ended(self.letters, events)
        if (self.letters.registration.confirm(self.now()) is not None) | self.act():
            self.send()
        return events

    def act(self) -> bool:
        """Prepare what needs no decision in sealed matches, and tell which orders in advance count now."""
        prepared = self.agent.act(self.now())
        for followed in self.agent.followed:
            count = Phrase("{match}, turn {turn}: the orders that waited here count:")
            if followed.branch:
                count = Phrase("{match}, turn {turn}: of the orders that waited here, branch {branch} counts:")
            tell(count.given(**followed._asdict()))
            click.echo(indented(followed.orders or telling.said(Phrase("nothing"))), nl=False)
        self.agent.followed.clear()
        return bool(prepared)

    def take_back(self, match: str) -> None:
        """Go on in a sealed match, whatever the agent holds there; what else does not hold is told."""
        for event in self.agent.take_back(match, self.now()):
            event_text.report(event)
        self.act()
        self.send()

    def send(self) -> bool:
        """Send all letters that are ready; returns whether none is left."""
        complete = True
        for sent, said, left in mail_out.flush(self.letters, lambda sent: mail_out.send(self.account, sent)):
            if left:
                tell(f"{about(sent)}: {line_of(said)}.")
            else:
                complete = False
                tell(Phrase("Not sent yet: {letter}: {said}", letter=about(sent), said=line_of(said)), loud=True)
                tell(Phrase("It is kept; the next `pbem play` retries."), loud=True)
        return complete

    def wait(self, until: Callable[[list[Event]], bool], what: str) -> bool:
        """Look for letters until the awaited one is there; returns whether it came in time."""
        end = time.monotonic() + self.patience
        pause = _SOON
        waiting = f"Waiting for {what} (Ctrl-C: go on without) " if sys.stderr.isatty() else ""
        try:
            while True:
                found = until(self.fetch())
                if found or time.monotonic() >= end:
                    return found
                click.echo(waiting, nl=False, err=True)
                try:
                    time.sleep(min(pause, max(0.0, end - time.monotonic())))
                finally:
                    if waiting:  # what is reported next has the line for itself
                        click.echo(_ERASED, nl=False, err=True)
                pause = min(2 * pause, _LOOK)
        except KeyboardInterrupt:
            return False

    def settle(self, sent: SentForm) -> None:
        """Send a letter, wait for the server's answer, and report it; exits with 1 if it was refused."""
        if self.send() and self.patience:
            self.wait(lambda _: state(self.letters, sent) not in {"ready", "sent"}, "the server's answer")
        match state(self.letters, sent):
            case "refused":
                sys.exit(Status.REFUSED)
            case "ready" | "sent":
                tell(Phrase("No answer yet; `pbem play` fetches it when it comes."))


def state(letters: Correspondence, sent: SentForm) -> str:
    """The present state of a letter of the player's."""
    found = letters.memory.by_message_id(sent.message_id)
    return found.state if found else "ready"


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        with programs.troubles():
            yield
    except Refused as refused:
        report_refused(refused)
        sys.exit(Status.REFUSED)
    except Contradiction as error:
        found = Phrase("The server's statements cannot all be true: {found}", found=clean(str(error)))
        raise click.ClickException(telling.said(found)) from error


def report_refused(refused: Refused) -> None:
    """Print why orders or a setup are not legal."""
    tell(NOT_LEGAL, loud=True)
    for fault in refused.faults:
        tell(f"  - {line_of(fault.message)}", loud=True)


def confirm(table: PlayTable, yes: bool, shown: MatchView | None = None, question: str = "") -> None:
    """Ask once; then the match must be as it was shown: another `pbem play` may have fetched meanwhile."""
    if not yes:
        question = question or ("Sign and send?" if table.account.key else "Send?")
        click.confirm(question, default=True, abort=True)
    if shown is not None:
        demand_unchanged(table, shown.match, moment(shown))


def moment(standing: MatchView) -> tuple[str, int, int, str]:
    """The moment of a match for which something is signed."""
    return standing.phase, standing.game, standing.turn, standing.hash


def demand_unchanged(table: PlayTable, match: str, shown: tuple[str, int, int, str]) -> None:
    """Raise `Impossible` unless a match is at the moment that the player was shown."""
    if moment(table.letters.matches.standing(match)) != shown:
        raise Impossible("A letter about {match} came while you looked; nothing was signed. Look again.", match=match)


def at_table(command: Callable[Concatenate[PlayTable, _Options], None]) -> Callable[_Options, None]:
    """Hand a command the player's table, with the letters that have come."""

    @wraps(command)
    def seated(*values: _Options.args, **options: _Options.kwargs) -> None:
        table = click.get_current_context().find_object(PlayTable)
        assert table is not None
        table.fetch()
        command(table, *values, **options)

    return seated


def turn_options(command: Callable[..., None]) -> Callable[..., None]:
    """Hand a command the turn that `--turn` or `--default` names, `DEFAULT` for the latter; None: what is due."""

    @click.option("--turn", type=click.IntRange(1), metavar="N", help="In advance: for this later turn.")
    @click.option("--default", is_flag=True, help="Whenever you miss a turn, if you agreed on `miss: default`.")
    @wraps(command)
    def named(*values: object, turn: int | None, default: bool, **options: object) -> None:
        if turn is not None and default:
            raise click.UsageError("--turn or --default: one of the two")
        command(*values, turn=DEFAULT if default else turn, **options)

    return named


yes_option = click.option("--yes", is_flag=True, help="Do not ask before signing.")
