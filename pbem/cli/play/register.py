"""`pbem play register`: an account on a server, and the dialogue that proves the player's key to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.telling import line_of, tell
from pbem.phrase import Phrase
from pbem.player import mail_in, signing
from pbem.player.account_file import Account, split

if TYPE_CHECKING:
    from pbem.cli.play.foundation import PlayTable


@click.command()
@click.argument("account", metavar="NAME@SERVER")
@click.option("--address", required=True, help="Your mail address, to which the server writes.")
@click.option("--to", "server_address", default="", help="The server's address, if it is not pbem@SERVER.")
@click.option(
    "--key",
    default="~/.ssh/id_ed25519",
    show_default=True,
    help="Your SSH key: a private key, or the .pub of a key in an agent.",
)
@click.option("--new-key", is_flag=True, help="Make that key; it must not exist yet.")
@click.option("--no-key", is_flag=True, help="Play without a key: your mail provider must sign what you send (DKIM).")
@click.option(
    "--in",
    "mail_in",
    default="maildir:~/Maildir",
    show_default=True,
    metavar="URL",
    help="Where your letters arrive: maildir:PATH, mbox:PATH, imaps://USER@HOST or lmtp://127.0.0.1:PORT.",
)
@click.option(
    "--out",
    "mail_out",
    default="sendmail:",
    show_default=True,
    metavar="URL",
    help="Where letters go: smtps://USER@HOST, submission://USER@HOST, smtp://HOST:PORT, sendmail: or drafts:FOLDER.",
)
@click.option("--password-file", default="", help="A file with the mailbox's password, readable by you alone.")
@click.option("--password-command", default="", help="A command that prints that password.")
@click.option("--token-command", default="", help="A command that prints an access token instead (XOAUTH2).")
@click.option(
    "--server-key", default="", metavar="HEX", help="The server's Ed25519 key, if you know it: 64 hex digits."
)
@click.pass_obj
def register(
    table: PlayTable,
    /,
    account: str,
    new_key: bool,
    no_key: bool,
    server_key: str,
    server_address: str,
    **settings: str,
) -> None:
    """Open an account, and prove to the server that the key is yours.

    NAME is what you will be called there, SERVER the server's name: `pbem play register anna@play.example --address
    anna@home.example` writes to pbem@play.example. If it was interrupted, the same command continues.
    """
    name, server = split(account)
    if no_key and new_key:
        raise click.UsageError("--no-key, or --new-key")
    if no_key:
        settings["key"] = ""
    made = Account(name=name, server=server, server_address=server_address or f"pbem@{server}", **settings)
    if server_key and not re.fullmatch("[0-9a-f]{64}", server_key):
        raise click.UsageError("--server-key: 64 hex digits")
    open_account(table, made, new_key=new_key, server_key=server_key)


def open_account(table: PlayTable, made: Account, *, new_key: bool, server_key: str = "") -> None:
    """Write an account, if its key and its mailbox can be used, and begin the dialogue that opens it."""
    path = Path(made.key).expanduser()
    if new_key:
        signing.make(path, made.address)
    ours = signing.read(path, table.passphrase, table.touch) if made.key else None
    if place := mail_in.begin(made):
        tell(
            Phrase(
                "Maildir  {place}, made: have the letters to {address} delivered there",
                place=place,
                address=made.address,
            )
        )
    mail_in.source(made).close()
    changed = made.id in table.folders.accounts and table.folders.load(made.id) != made
    file = table.folders.save(made)
    table.name = made.id
    tell(Phrase("Account  {file}", file=file))
    tell(Phrase("Key      {key}", key=ours.fingerprint if ours else Phrase("none")))
    if server_key:
        table.letters.inbox.pin_key(server_key)
    if introduce(table, ours, anew=changed):
        tell(Phrase("You are {name} on {server}.", name=made.name, server=made.server))
        tell(Phrase("Find somebody: `pbem play new GAME OPPONENT`, or `pbem play ask list open`"))


def introduce(table: PlayTable, ours: signing.SigningKey | None, *, anew: bool = False) -> bool:
    """The dialogue that opens the account, as far as the server has answered; returns True if it is open.

    `anew`: ask again at once, as the account was written otherwise before.
    """
    letters = table.letters
    if letters.memory.fact("account") is None:
        if ours is None:
            letters.registration.register_mailbox(table.now(), anew=anew)
        else:
            letters.registration.register(ours.public, ours.fingerprint, table.now(), anew=anew)
        table.send()
        table.wait(lambda _: letters.memory.fact("account") is not None, "the server's answers")
    if letters.memory.fact("account") is not None:
        return True
    tell(Phrase("The server has not answered yet; `pbem play` goes on when it does."))
    for subject in sorted(table.unproved):
        tell(Phrase("This letter, which nothing proves yet, may say why: “{subject}”", subject=line_of(subject)))
    return False
