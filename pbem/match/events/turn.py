"""A turn is resolved: its orders become known, the rules give reports, and the next orders are asked for.

Implements protocol.md, "A match" and "Transcript".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.games import BUILT_IN
from pbem.games.draws import play_turn
from pbem.match import stored_orders, submissions
from pbem.match.asking import ask_for_orders, file_replies, named_replies
from pbem.match.dealt import deal
from pbem.match.documents import SALT, Receipt, level_in_words, read_set_aside, salt_in
from pbem.match.entry_type import EntryType, by_seat, either, hash_, mapping, number, seats
from pbem.match.events.ended import end_game
from pbem.match.events.interventions import pause
from pbem.match.state import Played, Reports, standing, without
from pbem.match.step import Document, Notice, Unresolved
from pbem.match.submissions import order
from pbem.match.transcript import canonical, dumped, sha256_hex, utc
from pbem.requests import DEFAULT, SignedForm, SubmitOrders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report, State
    from pbem.match.documents import SetAside
    from pbem.match.remaking import Remaking
    from pbem.match.state import Match, Submission
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


class Ordered(msgspec.Struct, frozen=True):
    """The orders of one seat in a turn, as in their receipt, which was compared with the letter."""

    seat: int
    player: str
    rev: int
    level: str
    key: str
    by_default: bool = False
    """True if they are the default orders, for a turn that the seat missed."""
    branch: str = ""
    """The branch that was played, if the orders had conditions."""


def resolve(step: Step) -> None:
    """Play the turn that is due, with the orders there are."""
    match = step.match
    due = match.under_way.due
    submitted = len(step.submitted)
    stand_ins = _stand_ins(step)
    sent = {seat: orders for seat, orders in match.orders.items() if orders.standing}
    given = dict(sorted({**sent, **stand_ins}.items()))
    texts = {seat: counts.text if (counts := given.get(seat) or forced) else "" for seat, forced in due.items()}
    seed, shown = deal(step, texts)
    turn = partial(_by_the_rules, match, texts, seed)
    if match.terms.game not in BUILT_IN:
        try:
            step.world.rehearse(match, lambda: _shown(match, turn()[1]))
        except Unresolved as error:
            del step.submitted[submitted:]
            pause(step, str(error))
            return
    position, reports = turn()
    name = f"game-{match.game}-turn-{match.turn}"
    for seat, counts in given.items():
        step.papers.append(Document(f"receipts/{name}-seat-{seat}.txt", counts.paper.encode(), match.game, seat))
        step.file_letter(f"{name}-seat-{seat}", counts.letter, counts.evidence, match.game, seat)
    told = Reports(reports)
    files, everything = _file_reports(step, match.turn, told, match.game)
    trace = step.file_trace(f"turn-{match.turn}", match.game)
    step.append_entry(
        "turn",
        {
            **trace,
            **file_replies(step),
            "game": match.game,
            "turn": match.turn,
            "orders": {str(seat): sha256_hex(submission.paper.encode()) for seat, submission in given.items()},
            "shown": {str(seat): sha256_hex(content) for seat, content in files.items()},
            "reports": everything,
            "default": list(stand_ins),
            **shown,
        },
    )
    step.match = replace(
        step.match,
        position=position,
        turns=match.turns.and_(Played(match.prev, texts, told, seed)),
        orders={},
        resolve_at=None,
        prev=step.match.head,
        sentence_revs={},
        misses=without(match.misses, *sent),
    )
    ask_for_orders(step)
    taken_up = submissions.take_up(step)
    for seat, content in files.items():
        facts = {
            "turn": match.turn,
            "what": match.asks_for,
            "reports": match.show(seat, told),
            "file": content,
            "levels": {number: orders.level for number, orders in given.items()},
            "by_default": tuple(stand_ins),
            "stand_in": stand_ins.get(seat),
            "taken_up": taken_up.get(seat),
        }
        step.notices.append(Notice("turn", seat, step.match, facts))


def _by_the_rules(match: Match, texts: Mapping[int, str], seed: str) -> tuple[State, list[Report]]:
    """The position after a turn, and its reports."""
    orders = {seat: match.orders_of(seat, text) for seat, text in texts.items()}
    return play_turn(match.rules, match.under_way, orders, seed)


def _shown(match: Match, reports: Sequence[Report]) -> None:
    """Show each reader a turn's reports, to try that, too."""
    for reader in (*match.seats, None):
        match.show(reader, Reports(reports))


def tell(step: Step, turn: int, told: Reports) -> dict[int, bytes]:
    """The reports of a turn that the players of a sealed game told each other; returns their files, by seat."""
    game = step.match.game
    files, everything = _file_reports(step, turn, told, step.match.last_revealed)
    shown = {str(seat): sha256_hex(content) for seat, content in files.items()}
    step.append_entry("turn", {"game": game, "turn": turn, "shown": shown, "reports": everything})
    return files


def _file_reports(step: Step, turn: int, told: Reports, opens_with: int) -> tuple[dict[int, bytes], str]:
    """Keep the reports of a turn, to open with this game: as each seat may read them, and the hash of all."""
    match = step.match
    # Written without a check of their values: they are part of all reports, which `canonical` checks below.
    files = {seat: dumped(_report_file(step, turn, seat, match.show(seat, told))) for seat in match.seats}
    everything = canonical(_report_file(step, turn, None, told))
    for seat, content in files.items():
        step.papers.append(Document(_report_path(match.game, turn, seat), content, opens_with, seat))
    step.papers.append(Document(_report_path(match.game, turn, None), everything, opens_with))
    return files, sha256_hex(everything)


def _report_path(game: int, turn: int, seat: int | str | None) -> str:
    """The path of the reports of a turn as a seat may read them (None: of all)."""
    return f"reports/game-{game}-turn-{turn}{f'-seat-{seat}' if seat else ''}.json"


def play_on(step: Step) -> None:
    """Play turns in which nobody has a choice, and end the game if the rules ended it."""
    while True:
        position = step.match.under_way
        if position.result is not None:
            end_game(step, position.result)
            return
        if step.match.paused or step.match.choosing:
            return
        resolve(step)


def _stand_ins(step: Step) -> dict[int, Submission]:
    """The default orders that are played in this turn, by seat, each with its receipt for this turn."""
    match = step.match
    found = {}
    for seat in sorted(match.missed):
        orders = None if standing(match.orders, seat) else stored_orders.default(match, seat)
        if orders is not None:
            path = f"receipts/game-{match.game}-turn-{match.turn}-seat-{seat}.txt"
            receipt = replace(Receipt.read(orders.paper), turn=match.turn, salt=step.world.salt(path))
            found[seat] = replace(orders, paper=receipt.text())
            step.submitted.append((match.game, match.turn, seat, found[seat]))
    return found


def _report_file(step: Step, turn: int, seat: int | None, reports: Sequence[Report]) -> dict[str, object]:
    """The reports of the turn as mailed to a seat (None: all of them), for the file that the transcript hashes."""
    match = step.match
    return {
        "pbem": "reports 1",
        "server": match.server,
        "match": match.id,
        "game": match.game,
        "turn": turn,
        "seat": seat,
        "salt": step.world.salt(_report_path(match.game, turn, seat)),
        "reports": reports,
    }


def remake(remaking: Remaking) -> Step:
    """The turn again, from the receipts of its orders."""
    body = remaking.entry.body
    name = f"game-{remaking.match.game}-turn-{remaking.match.turn}"
    receipts = {}
    for seat in remaking.match.seats:
        if str(seat) not in body["orders"]:
            continue
        path = f"receipts/{name}-seat-{seat}.txt"
        expected = body["orders"][str(seat)]
        content = remaking.hashed(path, expected, "is not the receipt that the transcript names")
        receipts[seat] = remaking.read(path, Receipt.read, content)
    for reader in (*remaking.match.seats, None):
        path = _report_path(remaking.match.game, remaking.match.turn, reader)
        expected = body["shown"][str(reader)] if reader else body["reports"]
        content = remaking.hashed(path, expected, "is not the report that the transcript names")
        if not SALT.fullmatch(salt_in(content)):
            raise remaking.untrue(path, "has no salt")
    found = remaking.set_aside(remaking.match, f"turn-{remaking.match.turn}")
    # Default orders that the rules refused have revisions of their own, and answer no miss.
    aside = [(seat, one) for seat, one in found if not one.unused_default]
    step = remaking.at_work()
    step.match = replace(step.match, stored={})
    for seat, receipt in sorted(receipts.items(), key=lambda item: item[1].by_default):
        letter = f"letters/{name}-seat-{seat}.eml"
        turn = DEFAULT if receipt.by_default else remaking.match.turn
        wanted = SignedForm(SubmitOrders(match=remaking.match.id), turn=turn)
        form, signed = remaking.signed(wanted, seat, letter, receipt)
        event = order
        if not receipt.by_default:
            remaking.was_not_withdrawn(letter, receipt, aside)
            _came_after_a_miss(remaking, letter, receipt, aside)
        elif seat not in remaking.match.missed:
            raise remaking.untrue(letter, f"default orders, although seat {seat} had not missed the turn")
        else:
            remaking.played.setdefault((receipt.game, seat), []).append((receipt, remaking.match.late_from[seat]))
            event = submissions.store
        remaking.judged(letter, event, step, seat, form, signed)
    step.match = replace(step.match, resolve_at=step.world.now)
    remaking.advance(step)
    return step


def _came_after_a_miss(
    remaking: Remaking, path: str, receipt: Receipt, aside: Sequence[tuple[int, SetAside]]
) -> None:
    """Check that a seat whose time counted as missed had no orders by then."""
    seat, match = receipt.seat, remaking.match
    if seat not in match.missed:
        return
    over = match.late_from[seat]
    papers = [read_set_aside(one.paper) for other, one in aside if other == seat]
    gone = [paper.received for paper in papers if paper.player == receipt.player]
    if all(utc(when) > over for when in gone) and utc(receipt.received) < over:
        raise remaking.untrue(path, f"came in time: it was received before the time of seat {seat} was over")


def ordered(entry: Entry, papers: Mapping[str, bytes]) -> Iterator[Ordered]:
    """The orders of this turn, by the receipts."""
    for seat in entry.body.get("orders", ()):
        path = f"receipts/game-{entry.body['game']}-turn-{entry.body['turn']}-seat-{seat}.txt"
        yield msgspec.convert(Receipt.read(papers[path].decode()), Ordered, from_attributes=True)


def _named(entry: Entry) -> Iterator[tuple[str, str]]:
    body = entry.body
    name = f"game-{body['game']}-turn-{body['turn']}"
    yield _report_path(body["game"], body["turn"], None), body["reports"]
    yield f"traces/{name}.txt", body["trace"]
    yield from named_replies(entry)
    for seat, value in body["orders"].items():
        yield f"receipts/{name}-seat-{seat}.txt", value
    for seat, value in body["shown"].items():
        yield _report_path(body["game"], body["turn"], seat), value


def _says(entry: Entry, papers: Mapping[str, bytes]) -> str:
    levels = ", ".join(
        f"{one.player}: {level_in_words(one.level, one.key)}{', by default' if one.by_default else ''}"
        f"{f', branch {one.branch}' if one.branch else ''}"
        for one in ordered(entry, papers)
    )
    game, turn = entry.body["game"], entry.body["turn"]
    if "orders" not in entry.body:
        return f"game {game}, turn {turn}: the reports follow from what both told"
    orders = f"orders signed ({levels}) and legal" if levels else "no orders but forced and empty ones"
    return f"game {game}, turn {turn}: {orders}; the reports follow"


ENTRY = EntryType(
    "turn",
    either(
        mapping(
            {
                "trace": hash_,
                "game": number,
                "turn": number,
                "orders": by_seat(hash_),
                "shown": by_seat(hash_),
                "reports": hash_,
                "default": seats,
            },
            {"replies": hash_, "chance": hash_},
        ),
        mapping({"game": number, "turn": number, "shown": by_seat(hash_), "reports": hash_}),
    ),
    remake=remake,
    says=_says,
    papers=_named,
)
