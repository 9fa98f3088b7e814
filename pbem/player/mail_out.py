"""Sending a player's letters: by submission, by `sendmail`, or as a draft for the player's mail program.

The bytes were fixed before, and are sent as they are. Nothing here decides whether to send them. Implements RFC 6409
(submission) and RFC 8314 (implicit TLS), as a client.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pbem import durable
from pbem.mailbox import PasswordError, password, token
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble
from pbem.player.results import PlayResult, ToldLine, line_of

if TYPE_CHECKING:
    import smtplib
    from collections.abc import Callable, Iterator

    from pbem.player.account_file import Account
    from pbem.player.correspondence import Correspondence
    from pbem.player.memory import SentForm
    from pbem.player.results import Say


_SECONDS = 60.0
_SENDMAIL = "/usr/sbin/sendmail"


class LetterSent(PlayResult, frozen=True):
    """A letter that left, with the mail system's reply."""

    form: SentForm
    said: str

    def told(self, say: Say) -> Iterator[ToldLine]:
        """Which letter, and the reply."""
        yield ToldLine(f"{self.form.about}: {line_of(self.said, say)}.")


class LetterUnsent(PlayResult, frozen=True):
    """A letter that did not leave, and why."""

    form: SentForm
    said: str

    def told(self, say: Say) -> Iterator[ToldLine]:
        """Which letter, and why."""
        said = line_of(self.said, say)
        yield ToldLine(Phrase("Not sent yet: {letter}: {said}", letter=self.form.about, said=said), loud=True)
        yield ToldLine(Phrase("It is kept; the next `pbem play` retries."), loud=True)


class NotSent(PlayerTrouble):
    """The letter did not leave, and stays ready; the text says why, without a password."""


def send(account: Account, sent: SentForm) -> str:
    """Hand a letter over; returns a sentence for the player about the result. Raises `NotSent`."""
    import smtplib

    url = urlsplit(account.mail_out)
    try:
        match url.scheme:
            case "smtp" | "smtps" | "submission":
                return _submit(account, sent)
            case "sendmail":
                words = [*shlex.split(unquote(url.path) or _SENDMAIL), "-i", "-f", account.address, "--", sent.to]
                raw = sent.raw.replace(b"\r\n", b"\n")  # what sendmail reads are lines of this machine
                done = subprocess.run(words, input=raw, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - the player's
                if done.returncode:
                    raise NotSent("{command} ended with status {status}", command=words[0], status=done.returncode)
                return Phrase("sent by {way}", way=words[0])
            case "drafts":  # for a mail program; the same letter gives the same file
                name = f"{sent.command}-{sent.message_id.strip('<>').partition('@')[0]}.eml"
                path = Path(unquote(url.path)).expanduser() / name
                durable.replace(path, b"X-Unsent: 1\r\n" + sent.raw)
                return Phrase("a draft; send it with your mail program: `mutt -H {path}`", path=path)
    except smtplib.SMTPRecipientsRefused as error:
        said = "; ".join(f"{code} {text.decode('latin-1')}" for code, text in error.recipients.values())
        raise NotSent("{host} refuses the letter: {said}", host=url.hostname, said=said) from error
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode("latin-1") if isinstance(error.smtp_error, bytes) else str(error.smtp_error)
        raise NotSent(f"{url.hostname}: {error.smtp_code} {said}") from error
    except (OSError, smtplib.SMTPException, subprocess.SubprocessError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise NotSent(f"{url.hostname or url.path or _SENDMAIL}: {why}") from error
    raise NotSent(
        "{way}: no way for letters to go; write smtps://USER@HOST, sendmail: or drafts:FOLDER", way=account.mail_out
    )


def _submit(account: Account, sent: SentForm) -> str:
    import smtplib
    import ssl

    url = urlsplit(account.mail_out)
    host = url.hostname or "localhost"
    port = url.port or {"smtps": 465, "submission": 587, "smtp": 25}[url.scheme]
    if url.scheme == "smtps":
        tls = ssl.create_default_context()
        connection: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=tls)
    else:
        connection = smtplib.SMTP(host, port, timeout=_SECONDS)
    with connection:
        if url.scheme == "submission":
            connection.starttls(context=ssl.create_default_context())
        if url.scheme != "smtp":
            _log_in(connection, unquote(url.username or account.address), account)
        connection.sendmail(account.address, [sent.to], sent.raw)
    return Phrase("sent by {way}", way=host)


def _log_in(connection: smtplib.SMTP, user: str, account: Account) -> None:
    try:
        if account.token_command:
            # XOAUTH2, as Gmail and Outlook have it: what is wrong comes as a challenge, and wants an empty answer.
            access = f"user={user}\x01auth=Bearer {token(account.token_command)}\x01\x01"
            connection.ehlo_or_helo_if_needed()
            connection.auth("XOAUTH2", lambda challenge=None: access if challenge is None else "")
        elif account.password_file or account.password_command:
            connection.login(user, password(account.password_file, account.password_command))
    except PasswordError as error:
        raise NotSent(*error.args) from error


def flush(letters: Correspondence, send: Callable[[SentForm], str]) -> Iterator[LetterSent | LetterUnsent]:
    """Send all letters that are ready, and report the outcome of each."""
    for form in letters.outbox.unsent():
        try:
            said = send(form)
        except NotSent as error:
            yield LetterUnsent(form, error.args[0])
            continue
        letters.outbox.has_left(form)
        yield LetterSent(form, said)
