"""`pbem opponent`: a program that plays by mail like any player, until it is told to stop.

Thin: `pbem.player.program` does the work; here its letters come and go. Implements docs/opponent.md.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pbem.cli.programs import alone, settings_option, stopping, troubles
from pbem.letters.render import Templates
from pbem.phrase import harmless
from pbem.player import mail_in, mail_out, signing
from pbem.player.correspondence import Correspondence
from pbem.player.memory import Memory
from pbem.player.player_modes import agent_of
from pbem.player.program import Program
from pbem.player.program_config import load

if TYPE_CHECKING:
    import threading

    from pbem.player.mail_in import MailSource
    from pbem.player.program_config import ProgramSettings


log = logging.getLogger(__name__)

_SOON, _LOOK = 0.05, 1.0  # seconds between two looks into the mailbox: after letters came, and at most
_AGAIN = 30.0  # when mail could not be fetched, or not be sent


@click.command()
@settings_option("opponent")
@click.option("--standby", is_flag=True, help="Wait while another one runs with the same memory.")
def opponent(config_file: Path, standby: bool) -> None:
    """Play by mail, as a program, against anybody whose proposal is within its limits.

    It is a player like any other, with its own key and its own mailbox: it registers itself, accepts proposals within
    its limits, sends setups and orders, and proves afterwards that it saw nothing but its letters (`pbem verify
    --opponent`). It runs until SIGTERM or SIGINT.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(message)s"))
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    stop = stopping()
    with troubles():
        settings = load(config_file)
        with alone(Path(settings.memory), "pbem opponent", stop if standby else None):
            if not stop.is_set():
                _run(settings, stop)


class _Lines(logging.Formatter):
    """A line for each record, in UTC: anybody may write letters, and none may write a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record))


def _run(settings: ProgramSettings, stop: threading.Event) -> None:
    account = settings.account
    path = Path(account.key)
    if not path.exists():
        signing.make(path, account.address)
        log.info("made the key %s", path)

    def nobody(prompt: str = "The key is on a security key, and nobody is here to touch it") -> NoReturn:
        raise signing.CannotSign(f"{prompt}: give the program a key file without a passphrase.")

    key = signing.read(path, nobody, nobody)
    templates = Templates(language=settings.language)

    def words(name: str, /, **facts: object) -> str:
        return templates.render(f"player/{name}.txt", **facts).strip()

    if place := mail_in.begin(account):
        log.info("made the Maildir %s", place)
    with closing(Memory(Path(settings.memory))) as memory, closing(mail_in.source(account)) as source:
        letters = Correspondence(account, memory, key.sign, os.urandom)
        program = Program(agent_of(letters, Path(f"{settings.memory}.secrets")), settings, os.urandom, words)
        program.begin(key.public, key.fingerprint, _now())
        log.info("%s plays %s", account.id, ", ".join(settings.games))
        pause = _SOON
        while not stop.is_set():
            pause = _pass(program, source, settings, pause)
            stop.wait(pause)
    log.info("stopped")


def _pass(program: Program, source: MailSource, settings: ProgramSettings, pause: float) -> float:
    """Fetch, act and send, after a pause; returns the seconds until the next look: few if more letters may follow."""
    again = min(2 * pause, _LOOK)
    events = []
    try:
        for event in mail_in.fetch(program.letters, source, _now):
            events.append(event)  # noqa: PERF402 - what came before the mailbox failed counts
    except mail_in.NoMail as error:
        log.warning("mail cannot be fetched now: %s", error)
        again = _AGAIN
    program.hear(events, _now())
    program.act(_now())
    for result in mail_out.flush(program.letters, lambda form: mail_out.send(settings.account, form)):
        if isinstance(result, mail_out.LetterUnsent):
            log.warning("not sent yet: %s %s: %s", result.form.command, result.form.match, result.said)
            return _AGAIN
    return _SOON if events else again


def _now() -> datetime:
    return datetime.now(UTC)
