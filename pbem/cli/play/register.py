"""How a player begins: `pbem play register` opens an account, `pbem play try` a game on a trial server at home."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import msgspec

from pbem import durable
from pbem.cli.play.display import show
from pbem.games import GAMES
from pbem.mail_providers import provider_of
from pbem.player.account_file import Account, Address, split
from pbem.player.beginning import ACCOUNT, PATIENCE, begin_to_play, fill_in_ways, open_account, see_the_move

if TYPE_CHECKING:
    from pbem.player.play_table import PlayTable

_KEY = "~/.ssh/id_ed25519"

_WAYS = {
    "mail_in": ("Where your letters arrive, such as imaps://anna@imap.mail.example", "maildir:~/Maildir"),
    "mail_out": ("Where letters go, such as smtps://anna@smtp.mail.example", "sendmail:"),
}
"""The questions at a provider that is not known, each with the usual answer of a machine that has mail of its own."""


@click.command()
@click.argument("account", metavar="[NAME@SERVER]", required=False)
@click.option("--address", default="", help="Your mail address, to which the server writes.")
@click.option("--to", "server_address", default="", help="The server's address, if it is not pbem@SERVER.")
@click.option(
    "--key",
    default="",
    show_default=f"{_KEY}, or one is made",
    help="Your SSH key: a private key, or the .pub of a key in an agent.",
)
@click.option("--new-key", is_flag=True, help="Make that key; it must not exist yet.")
@click.option("--no-key", is_flag=True, help="Play without a key: your mail provider must sign what you send (DKIM).")
@click.option(
    "--in",
    "mail_in",
    default="",
    show_default="your provider's, or maildir:~/Maildir",
    metavar="URL",
    help="Where your letters arrive: maildir:PATH, mbox:PATH, imaps://USER@HOST or lmtp://127.0.0.1:PORT.",
)
@click.option(
    "--out",
    "mail_out",
    default="",
    show_default="your provider's, or sendmail:",
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
    account: str | None,
    new_key: bool,
    no_key: bool,
    server_key: str,
    server_address: str,
    **settings: str,
) -> None:
    """Open an account, and prove to the server that the key is yours.

    NAME is what you will be called there, SERVER the server's name: `pbem play register anna@play.example --address
    anna@home.example` writes to pbem@play.example. What is missing is asked for; hosts of large mail providers are
    known. If it was interrupted, the same command continues.
    """
    asks = account is None
    if account is None:
        account = "@".join(click.prompt(what) for what in ("Your name there, such as anna", "The server's name"))
    settings["address"] = settings["address"] or click.prompt("Your mail address", value_proc=_address)
    name, server = split(account)
    if no_key and new_key:
        raise click.UsageError("--no-key, or --new-key")
    default = Path(_KEY).expanduser()
    if not settings["key"] and not no_key:
        own = table.folders.config / f"{name}@{server}_ed25519"
        settings["key"] = _KEY if default.exists() or new_key else str(own)
        new_key |= not default.exists() and not own.exists()
    elif no_key:
        settings["key"] = ""
    if asks and provider_of(settings["address"]) is None:
        for way, (what, otherwise) in _WAYS.items():
            settings[way] = settings[way] or click.prompt(what, default=otherwise)
    _ask_password(table, f"{name}@{server}", settings, asks=asks)
    made = Account(name=name, server=server, server_address=server_address or f"pbem@{server}", **settings)
    if server_key and not re.fullmatch("[0-9a-f]{64}", server_key):
        raise click.UsageError("--server-key: 64 hex digits")
    table.front.show(open_account(table, made, new_key=new_key, server_key=server_key))


def _address(text: str) -> str:
    """A mail address that was typed; whoever mistypes is asked again."""
    try:
        return msgspec.convert(text.strip(), Address)
    except msgspec.ValidationError:
        raise click.BadParameter("Write it like anna@mail.example.") from None


def _ask_password(table: PlayTable, account: str, settings: dict[str, str], *, asks: bool) -> None:
    """Ask for the password at a known provider, or at a host that was asked for, and keep it in a file of its own."""
    provider = fill_in_ways(settings)
    host = "" if provider else urlsplit(settings["mail_in"]).hostname or urlsplit(settings["mail_out"]).hostname
    given = any(settings[name] for name in ("password_file", "password_command", "token_command"))
    if given or not (provider or (asks and host)):
        return
    if provider and provider.password is None:
        raise click.UsageError(f"{provider.title} takes no passwords of programs: give a --token-command")
    file = table.folders.config / f"{account}.password"
    if not file.exists():
        where = f" (a password for programs: {provider.password})" if provider and provider.password else ""
        password = click.prompt(f"Your password at {provider.title if provider else host}{where}", hide_input=True)
        durable.replace(file, f"{password}\n".encode())
    settings["password_file"] = str(file)


@click.command("try")
@click.argument("game", type=click.Choice(list(GAMES)), default=next(iter(GAMES)))
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
