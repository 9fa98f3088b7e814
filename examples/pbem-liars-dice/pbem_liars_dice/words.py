"""The words beside the board of Liar's Dice: hands, what happened, orders read back. No layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pbem.games.squares import Square
from pbem.phrase import Phrase
from pbem_liars_dice.boards import HIDDEN, boards, happened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report

__all__ = ["boards", "happened"]

KEY: Final = ((Square("5", "own"), Phrase("a die")), (HIDDEN, Phrase("under a cup")))
SHOWN: Final = ((Square("5", "own"), Phrase("a die")), (Square("5", "seen"), Phrase("counts")))
"""The meaning of the squares, before and after the cups are lifted."""


def hands(view: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[Phrase]:
    """The dice of each seat, the reader's own first."""
    seats = sorted(view["counts"], key=lambda seat: (int(seat) != view["seat"], int(seat)))
    for seat in seats:
        count, name = view["counts"][seat], names[int(seat)]
        if int(seat) == view["seat"] and view["own"]:
            yield Phrase("You have {dice}", dice=" ".join(map(str, view["own"])))
        elif count:
            yield Phrase("{name}: dice {count}", name=name, count=count)
        else:
            yield Phrase("{name} is out", name=name)


def standing(view: Mapping[str, Any], names: Mapping[int, str]) -> Phrase:
    """The last bid, or who begins."""
    if view["over"]:
        return Phrase("The game is over")
    if not view["due"]:
        return Phrase("Everybody shakes")
    if view["bid"]:
        return Phrase("The bid of {name}: {bid}", name=names[view["bid"]["seat"]], bid=_bid(view["bid"]))
    return Phrase("{name} begins", name=names[view["due"]])


def _bid(bid: Mapping[str, Any]) -> str:
    return f"{bid['number']} x {bid['face']}"


def told(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Phrase]:
    """The events of a turn."""
    for report in reports:
        name = names[report["seat"]]
        match report["kind"]:
            case "bid":
                yield Phrase("{name} bids {bid}", name=name, bid=_bid(report))
            case "liar":
                yield Phrase("{name} says: liar", name=name)
                for owner, dice in report["dice"].items():
                    yield Phrase("{name} shows {dice}", name=names[int(owner)], dice=" ".join(map(str, dice)))
                facts = {"bid": _bid(report), "found": report["found"], "name": names[report["loser"]]}
                yield Phrase("Bid {bid}, shown {found}: {name} loses a die", **facts)
            case "hand" if report["seat"] == seat:
                yield Phrase("You roll {dice}", dice=" ".join(map(str, report["dice"])))
            case "begins":
                yield Phrase("{name} begins", name=name)


def summary(reports: Sequence[Report], names: Mapping[int, str]) -> Phrase:
    """The outcome of a turn, in one line."""
    for report in reports:
        if report["kind"] == "bid":
            return Phrase("{name} bids {bid}", name=names[report["seat"]], bid=_bid(report))
        if report["kind"] == "liar":
            return Phrase("{name} loses a die", name=names[report["loser"]])
    return Phrase("The dice are rolled")


def said(text: str) -> list[Phrase]:
    """Orders in words."""
    match text.split():
        case ["bid", count, face]:
            return [Phrase("bid: at least {count} dice show {face}", count=count, face=face)]
        case ["liar"]:
            return [Phrase("call the last bid a lie")]
    return [Phrase("shake the dice")]


def sheet_rows(mine: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a record sheet, three turns in each: the player's own orders, then empty places."""
    turns = [f"{turn}. {' '.join(mine[turn - 1]) if turn <= len(mine) else ''}" for turn in range(1, len(mine) + 46)]
    last = turns[max(0, len(mine) - 15) // 3 * 3 :][:45]
    return ["\t".join(last[at : at + 3]) for at in range(0, len(last), 3)]
