"""`block` and `unblock`: from whom a player wants no letters.

A name need not be anybody's: or the answer would tell who has an account. Whoever is blocked reads what is read of
players who want no mail at all. Implements protocol.md, "Commands".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, Reply, refused
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from pbem.mail.commands import Command
    from pbem.requests import Block, Unblock
    from pbem.store.people import People

_MOST = 500
"""The most names that one player may block."""


def block(people: People, caller: Caller, command: Command[Block]) -> Reply:
    """`block`: nothing more comes from a player."""
    player, name = caller.known_player.name, command.request.name
    if name == player:
        raise refused("block", name, Phrase("this is you"))
    if len(people.blocked(player)) >= _MOST:
        raise refused("block", name, Phrase("you block {most} names already", most=_MOST))
    people.block(player, name, to_db(caller.now))
    return Reply("block", {"name": name, "off": False, "blocked": people.blocked(player)})


def unblock(people: People, caller: Caller, command: Command[Unblock]) -> Reply:
    """`unblock`: letters come from the player again."""
    player, name = caller.known_player.name, command.request.name
    if not people.unblock(player, name):
        raise refused("unblock", name, Phrase("you do not block {name}", name=name))
    return Reply("block", {"name": name, "off": True, "blocked": people.blocked(player)})
