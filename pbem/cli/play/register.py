"""How a player begins: `pbem play register` opens an account, `pbem play try` a game on a trial server at home."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli import home
from pbem.cli.play.display import show
from pbem.cli.telling import line_of, tell
from pbem.games import BUILT_IN, rules
from pbem.phrase import Phrase
from pbem.player import mail_in, signing
from pbem.player.account_file import Account, split
from pbem.player.blind import OCTETS
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import Chance, strategy

if TYPE_CHECKING:
    from pbem.cli.play.foundation import PlayTable
    from pbem.player.standing import MatchStanding


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
    if letters.memory.account().name is None:
        if ours is None:
            letters.registration.register_mailbox(table.now(), anew=anew)
        else:
            letters.registration.register(ours.public, ours.fingerprint, table.now(), anew=anew)
        table.send()
        table.wait(lambda _: letters.memory.account().name is not None, "the server's answers")
    if letters.memory.account().name is not None:
        return True
    tell(Phrase("The server has not answered yet; `pbem play` goes on when it does."))
    for subject in sorted(table.unproved):
        tell(Phrase("This letter, which nothing proves yet, may say why: “{subject}”", subject=line_of(subject)))
    return False


_NAME, _ADDRESS = "guest", "guest@home.localhost"
ACCOUNT = f"{_NAME}@{home.SERVER}"
"""The account of whoever only tries."""
_HOUSE = "house"
_LEVEL = 1
"""The level of the fleet that is placed for a newcomer."""
PATIENCE = 60.0
"""The first start of a server and its house takes longer than an answer."""


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
    if standing.phase == "playing" and standing.asked:
        show(table, standing)
    else:
        standing = see_the_move(table, standing)
    if standing.asked:
        which = f" --account {table.name}" if len(table.folders.accounts) > 1 else ""
        click.echo(f"\nYour move: pbem play{which} {standing.match} ORDERS, such as those of the example")


def begin_to_play(table: PlayTable, game: str) -> MatchStanding:
    """The newest match of a game against the house that is not over, or a new one; a fleet is placed for it."""
    if table.name not in table.folders.accounts:
        _save_account(table)
    mail_in.begin(table.account)
    if table.letters.memory.account().name is None:
        introduce(table, table.key)
    table.fetch()
    standing = _running(table, game) or _begin(table, game)
    if standing is None:
        raise Impossible("The house has not answered yet; the same command goes on when it has.")
    if standing.phase == "setup" and standing.asked:
        _place(table, standing)
    return standing


def see_the_move(table: PlayTable, before: MatchStanding) -> MatchStanding:
    """Wait until it is one's move again or the game is over, and show that.

    At home the server runs no longer than the command, and the house answers quickly.
    """

    def standing() -> MatchStanding:
        return table.letters.matches.standing(before.match)

    def come(_: object) -> bool:
        now = standing()
        moved = (now.phase, now.game, now.turn) != (before.phase, before.game, before.turn)
        return moved and (now.asked or now.phase != "playing")

    table.wait(come, "your move")
    show(table, standing())
    return standing()


def _save_account(table: PlayTable) -> None:
    """Write the account of a newcomer at home, with a key of its own."""
    key = table.folders.config / f"{table.name}_ed25519"
    if not key.exists():
        signing.make(key, _ADDRESS)
    home.begin()
    host, port = home.listens_at()
    table.folders.save(
        Account(
            name=_NAME,
            server=home.SERVER,
            server_address=home.ADDRESS,
            address=_ADDRESS,
            key=str(key),
            mail_in=f"maildir:{home.letters(_ADDRESS)}",
            mail_out=f"smtp://{host}:{port}",
        )
    )


def _running(table: PlayTable, game: str) -> MatchStanding | None:
    """The newest match of this game that is not over."""
    going = {"proposed", "setup", "playing"}
    found = [one for one in table.letters.matches.standings if one.rules == game and one.phase in going]
    return found[-1] if found else None


def _begin(table: PlayTable, game: str) -> MatchStanding | None:
    """Propose a match to the house, and wait until it has accepted."""
    table.wait(lambda _: home.house_is_there(), "the house")
    table.settle(table.letters.tell(f"new {game} with {_HOUSE}", table.now(), match="", text="pace: none"))

    def begun(_: object) -> bool:
        found = _running(table, game)
        return found is not None and found.phase == "setup" and found.asked

    table.wait(begun, "the house")
    return _running(table, game)


def _place(table: PlayTable, standing: MatchStanding) -> None:
    """Send a setup as the house would, which places its fleet at random."""
    asked = table.letters.matches.setup_asked(standing.match)["options"]
    options = rules(standing.rules).options(asked, len(standing.players))
    text = strategy(standing.rules).setup(_LEVEL, Chance(os.urandom(OCTETS)), options, standing.seat)
    table.settle(table.letters.set_up(standing.match, text, table.now()))
