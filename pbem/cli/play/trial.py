"""`pbem play try`: a game against the house of a trial server, from nothing to the first board by one command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from pbem.cli import home
from pbem.cli.play.display import show
from pbem.cli.play.register import introduce
from pbem.games import BUILT_IN, rules
from pbem.phrase import Phrase
from pbem.player import mail_in, signing
from pbem.player.account_file import Account
from pbem.player.blind import OCTETS
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import strategy
from pbem.player.opponent.chance import Chance

if TYPE_CHECKING:
    from pbem.cli.play.foundation import PlayTable
    from pbem.player.standing import MatchStanding

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
        click.echo(f"\nYour move: pbem play{_which(table)} {standing.match} ORDERS, such as those of the example")


def begin_to_play(table: PlayTable, game: str) -> MatchStanding:
    """The newest match of a game against the house that is not over, or a new one; a fleet is placed for it."""
    if table.name not in table.folders.accounts:
        _save_account(table)
    mail_in.begin(table.account)
    if table.letters.memory.fact("account") is None:
        introduce(table, table.key)
    table.fetch()
    standing = _running(table, game) or _begin(table, game)
    if standing is None:
        raise Impossible(Phrase("The house has not answered yet; the same command goes on when it has."))
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


def _which(table: PlayTable) -> str:
    """The option that names this account, where there are others."""
    return f" --account {table.name}" if len(table.folders.accounts) > 1 else ""
