"""5.2 and 5.4: commitments and turn; and the reports (4.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.conventions import No, moment, must
from verifier.ends import ask_orders, end_game
from verifier.letters import Want, clears, game_of, in_one_letter, is_legal, letter_of, proven
from verifier.papers import SALT, read_opening, read_receipt, read_replies
from verifier.rules import Refused, Report
from verifier.traces import trace
from verifier.transcript import Entry, canonical, read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.commands import Command
    from verifier.state import Match


def commitments(match: Match, entry: Entry) -> None:
    body = entry.body
    must(not match.is_sealed, "a sealed match")
    must(match.phase == "setup" and not match.paused and body["game"] == match.game, "no setups are asked for")
    must(match.options == body["options"], "other options")
    must(list(body["commitments"]) == [str(seat) for seat in match.seats], "other seats")
    aside = trace(match, entry, f"game-{match.game}-setup", 0)
    for seat in match.seats:
        match.setups[seat] = opening(match, entry, seat, body["commitments"][str(seat)], aside)
    match.position = match.rules.begin(match.options, [match.setups[seat] for seat in match.seats])
    match.phase, match.prev, match.printed = "playing", entry.head, [entry.head]
    match.replies = read_replies(match, entry, f"replies-{entry.seq}")
    match.said.clear()
    match.silent.clear()
    ask_orders(match, entry)


def opening(match: Match, entry: Entry, seat: int, commitment: str, aside: Sequence[dict[str, str]]) -> str:
    paper = read_opening(match.paper(f"openings/game-{match.game}-seat-{seat}.txt", commitment))
    player, rev = match.players[seat], int(paper["rev"])
    path = f"letters/game-{match.game}-setup-seat-{seat}.eml"
    letter = letter_of(match, entry, path, seat, paper, aside, rules=match.rules_hash)
    match.once(paper["mail"], "setup", seat, match.game, 0)
    match.answered(seat, paper["received"])
    for read, _ in proven(letter, player, paper.get("evidence"), waited="waited", turn=0):
        commands = in_one_letter(letter, paper, read, seat, player.name)
        want = Want(match, player.name, [match.prev], "evidence" in paper)
        due = {match.game, 0} if want.mailbox else {match.game}
        fits = [one for one in commands if one.name == "setup" and want.fits(one, rev) and game_of(one) in due]
        withdrawn = any(clears(match, want, one, "setup") for one in commands)
        must(not withdrawn, "a setup and its withdrawal")
        for command in fits:
            try:
                made: str = match.rules.setup(match.options, seat, command.block)
            except Refused:
                continue
            if made == paper["setup"]:
                return made
    raise No(f"{path} holds no such setup")


def turn(match: Match, entry: Entry) -> None:
    body, state = entry.body, match.position
    must(match.phase == "playing" and not match.paused and not match.is_sealed, "no orders are asked for")
    must((body["game"], body["turn"]) == (match.game, state.turn), "another turn")
    default = body["default"]
    # Default orders that the rules refused have revisions of their own.
    found = trace(match, entry, f"game-{match.game}-turn-{state.turn}", state.turn)
    aside = [one for one in found if "orders" not in one]
    must(all(int(seat) in match.asked for seat in body["orders"]), "orders of a seat that is not asked")
    must({str(seat) for seat in default} <= set(body["orders"]), "default orders without a receipt")
    orders = {seat: forced for seat, forced in state.due.items() if forced is not None}
    for seat in match.asked:
        if str(seat) in body["orders"]:
            must(seat not in default or (seat in match.missed and match.terms["miss"] == "default"), "not missed")
            orders[seat] = receipt(match, entry, seat, aside, default=seat in default)
        else:
            word, misses = match.terms["miss"], len(match.silent[seat])
            passes = seat in match.missed and (word == "pass always" or (word in {"pass", "leave"} and misses < 2))
            must(passes, "orders are missing")
            orders[seat] = state.order(seat, "")
    check_reports(match, entry, body["turn"], state.play(orders))
    match.played.append(orders)
    for seat in map(int, body["orders"]):
        if seat not in default:
            match.silent[seat] = []
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
    level, later = "mailbox" if "evidence" in paper else "key", [] if default else aside
    letter = letter_of(match, entry, f"letters/{stem}.eml", seat, paper, later, turn=str(number), level=level)
    must(("orders" in paper) == default, "orders by default or not")
    if seat in match.missed and not default:
        over = match.missed[seat]
        mine = [one for one in aside if (one["seat"], one["player"]) == (paper["seat"], paper["player"])]
        late = all(moment(one["received"]) > over for one in mine)
        must(not late or moment(paper["received"]) >= over, "these orders came in time")
    if default and seat in match.missed:
        match.defaults.append((match.game, seat, int(paper["rev"]), match.missed[seat]))
    match.once(paper["mail"], "orders", seat, match.game, number)
    if not default:
        match.answered(seat, paper["received"])
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
        if command.orders(said) and want.fits(command, rev) and is_legal(match, seat, command):
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
        all_of_it, shown = seat is None or match.is_sealed, reports
        if not all_of_it:  # where a checked piece went is its owner's (8.4)
            shown = [{key: one[key] for key in one if key != "to" or one["seat"] == seat} for one in reports]
        made = {"pbem": "reports 1", "server": match.server, "match": match.id, "game": match.game, "seat": seat}
        made |= {"turn": turn, "salt": found["salt"], "reports": shown}
        must(canonical(made).encode() == paper, f"{path} does not come out")
