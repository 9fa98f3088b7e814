"""How a player begins: `pbem play register` opens an account, `pbem play try` a game on a trial server at home."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from pbem.cli.play.display import show
from pbem.games import BUILT_IN
from pbem.player.account_file import Account, split
from pbem.player.beginning import ACCOUNT, PATIENCE, begin_to_play, open_account, see_the_move

if TYPE_CHECKING:
    from pbem.player.play_table import PlayTable


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
    table.front.show(open_account(table, made, new_key=new_key, server_key=server_key))


@click.command("try")
@click.argument("game", type=click.Choice(list(BUILT_IN)), default=next(iter(BUILT_IN)))
@click.pass_obj
def trial(table: PlayTable, game: str) -> None:
    """Play against a program, here and now: no mail, no account, no other server.

    A server of your own runs as long as a command of `pbem play` does. The first time, this registers you there,
    proposes a game to the house, and places a fleet for you; afterwards it shows that game again.
    """
    table.name, table.patience = ACCOUNT, max(table.patience, PATIENCE)
    standing = begin_to_play(table, game)
    if not (standing.phase == "playing" and standing.asked):
        standing = see_the_move(table, standing)
    show(table, standing)
