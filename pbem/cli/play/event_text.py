"""The words of `pbem play` for events, and for the player's own letters.

Others' words cannot move the cursor, nor begin a line of ours: they pass through `clean` or `line_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pbem.cli.harmless import harmless
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.player.correspondence.event import Event
    from pbem.player.memory import SentForm


_LONGEST = 500  # characters of others within a line of ours

_OUTCOMES = {
    "done": "done",
    "asked": "something is asked first; read the letter",
    "again": "it had its effect before",
}

_LOUD = {
    "forged": "NOT BELIEVED",
    "contradiction": "ALARM",
    "unread": "WARNING",
}


def report(event: Event) -> None:
    """Tell the player what matters of an event; other mail, and letters that cannot be judged yet, do not."""
    match event.kind:
        case "news":
            click.echo(f"Came: {line_of(event.subject)}")
        case "answer" if event.said == "refused":
            assert event.sent is not None
            click.echo(f"Refused: {about(event.sent)}:", err=True)
            for fault in event.faults:
                click.echo(f"  - {line_of(fault)}", err=True)
        case "answer" if event.sent is not None and event.sent.command == "register":
            pass  # the challenge says so
        case "answer":
            assert event.sent is not None
            click.echo(f"Answered: {about(event.sent)}: {_OUTCOMES.get(event.said, line_of(event.said))}.")
        case "challenge":
            click.echo("The server asks your key to prove itself.")
        case "account":
            code = f". Your recovery code, to be kept somewhere else:\n\n    {line_of(event.said)}\n"
            click.echo(f"Registered{code if event.said else ', without a key.'}")
        case "forged" | "contradiction" | "unread":
            about_what = line_of(event.subject or event.match)
            click.echo(f"{_LOUD[event.kind]}: “{about_what}”: {line_of(event.said)}", err=True)
        case "doubled":
            click.echo(f"Received again; it changes nothing: {line_of(event.subject)}")
        case "bounced":
            assert event.sent is not None
            click.echo(
                f"CAME BACK: {about(event.sent)} did not reach the server. Repeat the command to send it again.",
                err=True,
            )


def about(sent: SentForm) -> str:
    """A letter of the player's in a few words."""
    if sent.command == "ask":
        return sent.form.partition("\n")[0]
    return " ".join(
        filter(None, [sent.command, sent.match, sent.place if sent.command in {"orders", "setup"} else ""])
    )


def when(turn: int) -> str:
    """The turn for which orders are, or the turns for which default orders are."""
    return f"turn {turn}" if turn != DEFAULT else "whenever you miss a turn"


def indented(text: str) -> str:
    """Lines of a letter within what we say."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def line_of(text: str) -> str:
    """Others' words within a line of ours: they stay within the line, and cannot begin one of their own."""
    return clean(text).replace("\n", "\\n")[:_LONGEST]


def clean(text: str) -> str:
    """Others' words: nothing in them can move the cursor."""
    return harmless(text, kept="\n")
