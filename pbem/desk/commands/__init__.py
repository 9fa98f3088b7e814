"""The commands' functions, by the names of their rows in the list of commands: `pbem/mail/commands/table.py`.

A function may touch only its arguments: those that `handlers` names beside it, then the caller's seat, if the command
is about a match, then the caller and the command; never the desk. It changes a match by an event on a `Step` and
`SeatContext.commit`, an account through `Keyring`, people through the stores that it is handed. It returns a
`Reply`, or raises `Refused` if nothing is to change. It reads no mail, sends no letter but through `SeatContext` or
an argument, and checks none of its row's demands: `dispatch` has checked them. `stop`, which ends the reading of a
letter, has no row. Implements protocol.md, "Commands".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pbem.desk.commands import (
    account,
    beside_orders,
    help,  # noqa: A004 - the command's own name
    history,
    key_commands,
    orders,
    proposals,
    substitutes,
    tournament_commands,
)
from pbem.desk.seats import SeatContext, seated_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.desk.caller import Caller
    from pbem.desk.outcomes import Handler, Reply
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import Command


def handlers(desk: Desk) -> Mapping[str, Handler]:
    """The functions of commands, each with what it may touch, by the names of their rows."""
    keys, matches, people, seats = desk.keys, desk.archive.matches, desk.people, desk.seats

    def at_seat(handle: Callable[[SeatContext, Caller, Command[Any]], Reply]) -> Handler:
        return lambda by, said: handle(seated_at(seats, said, by.known_player.name, by.now), by, said)

    return {
        "help": partial(help.explain, desk.config),
        "games": help.games,
        "rules": partial(help.mail_rules, desk.letters),
        "sheet": partial(history.sheet, seats, desk.letters),
        "status": partial(history.status, seats),
        "report": at_seat(partial(history.report, desk.match_letters)),
        "diary": at_seat(partial(history.diary, matches, desk.time)),
        "transcript": at_seat(partial(history.transcript, desk.match_letters)),
        "register": partial(account.register, keys, desk.offers),
        "confirm": partial(account.confirm, keys, desk.offers),
        "whoami": partial(account.whoami, keys, people),
        "set": partial(account.choose, desk.players, people, matches, desk.held),
        "set notify": partial(account.notify, keys),
        "key add": partial(key_commands.add, keys),
        "key revoke": partial(key_commands.revoke, keys),
        "key keep": partial(key_commands.keep, keys),
        "recover": partial(key_commands.recover, keys),
        "address add": partial(key_commands.add_address, keys, people, desk.strangers),
        "vacation": partial(beside_orders.vacation, seats, desk.players, desk.time, desk.config.clock.vacation_days),
        "extend": at_seat(beside_orders.extend),
        "claim": at_seat(beside_orders.claim),
        "new": partial(proposals.new, desk.offers, desk.config.clock.settle, desk.config.pages),
        "list": partial(history.list_matches, seats, people, desk.config.pages),
        "accept": at_seat(partial(proposals.accept, desk.offers)),
        "decline": at_seat(partial(proposals.give_up, people, desk.held)),
        "join": partial(proposals.join, desk.offers),
        "withdraw": at_seat(partial(proposals.give_up, people, desk.held)),
        "tournament new": partial(tournament_commands.new, desk.tournaments, desk.config.clock.settle),
        "tournament": partial(tournament_commands.show, desk.tournaments),
        "enter": partial(tournament_commands.enter, desk.tournaments, people),
        "leave": partial(tournament_commands.leave, desk.tournaments),
        "challenge": partial(tournament_commands.challenge, desk.tournaments),
        "rule": partial(tournament_commands.rule, desk.tournaments),
        "setup": at_seat(orders.setup),
        "orders": at_seat(orders.orders),
        "clear": at_seat(orders.clear),
        "preview": at_seat(orders.preview),
        "seal": at_seat(orders.seal),
        "step": at_seat(orders.take),
        "reveal": at_seat(orders.reveal),
        "press": at_seat(partial(beside_orders.press, people)),
        "resign": at_seat(beside_orders.resign),
        "observe": partial(help.observe, seats, people),
        "unobserve": partial(help.unobserve, people),
        "standings": partial(help.standings, people),
        "block": partial(account.block, people),
        "unblock": partial(account.unblock, people),
        "draw": at_seat(beside_orders.agree),
        "annul": at_seat(beside_orders.agree),
        "substitute": partial(substitutes.substitute, desk.offers),
    }
