"""5.4 turn, and the reports (4.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.asking import ask_orders
from verifier.conventions import No, moment, must
from verifier.ends import end_game
from verifier.letters import Want, clears, in_one_letter, letter_named, proven
from verifier.papers import SALT, read_receipt, read_replies
from verifier.rules import Refused, Report
from verifier.traces import trace
from verifier.transcript import Entry, canonical, read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.commands import Command
    from verifier.state import Match


def turn(match: Match, entry: Entry) -> None:
    body, state = entry.body, match.position
    must(match.phase == "playing" and not match.paused and not match.is_sealed, "no orders are asked for")
    must((body["game"], body["turn"]) == (match.game, state.turn), "another turn")
    default = body["default"]
    must(default == sorted(set(default)), "default")
    aside = trace(match, entry, f"game-{match.game}-turn-{state.turn}", state.turn)
    must(all(int(seat) in match.asked for seat in body["orders"]), "orders of a seat that is not asked")
    must({str(seat) for seat in default} <= set(body["orders"]), "default orders without a receipt")
    orders = {seat: forced for seat, forced in state.due.items() if forced is not None}
    for seat in match.asked:
        mine = [one for one in aside if one["seat"] == str(seat)]
        if str(seat) in body["orders"]:
            must(seat not in default or (seat in match.missed and match.terms["miss"] == "default"), "not missed")
            orders[seat] = receipt(match, entry, seat, mine, default=seat in default)
        else:
            passes = seat in match.missed and match.terms["miss"] == "pass" and match.silent[seat] < 2
            must(passes, "orders are missing")
            orders[seat] = state.order(seat, "")
    check_reports(match, entry, body["turn"], state.play(orders))
    match.played.append(orders)
    for seat in map(int, body["orders"]):
        if seat not in default:
            match.silent[seat] = 0
    match.prev, match.replies = entry.head, read_replies(match, entry, f"replies-{entry.seq}")
    match.printed.append(entry.head)
    match.said.clear()
    if state.result:
        end_game(match, state.result)
    else:
        ask_orders(match, entry)


def receipt(match: Match, entry: Entry, seat: int, aside: Sequence[dict[str, str]], *, default: bool) -> str:
    number = match.position.turn
    stem = f"game-{match.game}-turn-{number}-seat-{seat}"
    paper = read_receipt(match.paper(f"receipts/{stem}.txt", entry.body["orders"][str(seat)]))
    player = match.players[seat]
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(number)}
    right |= {"seat": str(seat), "player": player.name}
    right |= {"level": "mailbox" if "evidence" in paper else "key"}
    must(all(paper[key] == value for key, value in right.items()), "a receipt of something else")
    must(("orders" in paper) == default, "orders by default or not")
    must(default or all(int(one["rev"]) < int(paper["rev"]) for one in aside), "set aside later")
    if seat in match.missed and not default:
        over = match.missed[seat]
        late = all(moment(one["received"]) > over for one in aside if one["player"] == paper["player"])
        must(not late or moment(paper["received"]) >= over, "these orders came in time")
    if default and seat in match.missed:
        match.defaults.append((match.game, seat, int(paper["rev"]), match.missed[seat]))
    letter = letter_named(match, entry, f"letters/{stem}.eml", paper["mail"], paper["received"])
    match.once(paper["mail"], "orders", seat, match.game, number)
    for read, key in proven(letter, player, paper.get("evidence"), waited="waited", turn=number):
        if key == paper["key"]:
            commands = in_one_letter(letter, paper, read, seat, player.name)
            want = Want(match, player.name, match.printed, "evidence" in paper)
            found = ordered(match, want, commands, seat, int(paper["rev"]), default=default)
            if found is not None:
                must(paper.get("branch", "0") == str(match.position.branch(seat, found)), "another branch")
                return str(match.position.order(seat, found))
    raise No(f"letters/{stem}.eml holds no such orders")


def ordered(
    match: Match, want: Want, commands: Sequence[Command], seat: int, rev: int, *, default: bool
) -> str | None:
    number = match.position.turn
    said = "default" if default else str(number)
    withdrawn = any(clears(match, want, one, "default" if default else "turn", number) for one in commands)
    must(not withdrawn, "orders and their withdrawal")
    numbered = [one for one in commands if one.said.get("rev") == str(rev)]
    for command in [*numbered, *commands]:
        if command.orders(said) and want.fits(command, rev):
            try:
                match.position.order(seat, command.block)
            except Refused:
                continue
            return command.block
    return None


def check_reports(match: Match, entry: Entry, turn: int, reports: Sequence[Report]) -> None:
    body = entry.body
    must(list(body["shown"]) == [str(seat) for seat in match.seats], "reports of other seats")
    stem = f"reports/game-{match.game}-turn-{turn}"
    for seat in (None, *match.seats):
        path = f"{stem}.json" if seat is None else f"{stem}-seat-{seat}.json"
        digest = body["reports"] if seat is None else body["shown"][str(seat)]
        paper = match.paper(path, digest)
        must(paper.isascii(), "not ASCII")
        found = read_json(paper.decode())
        must(isinstance(found, dict) and isinstance(found.get("salt"), str), "no salt")
        must(SALT.fullmatch(found["salt"]), "no salt of 64 digits")
        all_of_it = seat is None or match.is_sealed
        shown = reports if all_of_it else [without_secret(one, seat) for one in reports]
        made = {"pbem": "reports 1", "server": match.server, "match": match.id, "game": match.game, "seat": seat}
        made |= {
            "turn": turn,
            "salt": found["salt"],
            "reports": shown,
        }
        must(canonical(made).encode() == paper, f"{path} does not come out")


def without_secret(report: Report, seat: int | None) -> Report:
    """A report as the seat may see it (8.4): where a checked piece went is its owner's."""
    return {key: one for key, one in report.items() if key != "to" or report["seat"] == seat}
