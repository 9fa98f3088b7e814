"""The map of Diplomacy, from a view of the game: units, owners, and an arrow for each order of the last turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pbem.boards.drawn import DrawnBoard
from pbem.games.player_text import Text
from pbem.phrase import Phrase
from pbem_diplomacy.drawing import drawn
from pbem_diplomacy.notation import Reader, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem_diplomacy.orders import Order

EMPTY: Final[Mapping[str, Any]] = {"owned": {}, "units": [], "dislodged": []}
"""As much of a view as the map needs, with nothing on it."""


def boards(view: Mapping[str, Any]) -> list[DrawnBoard]:
    """The map: the owners of centres, all units, and what was ordered last."""
    units = [*view["units"], *(each["unit"] for each in view["dislodged"])]
    words = Phrase("A map of Europe with these units: {units}.", units=", ".join(map(_short, units)))
    return [DrawnBoard(0, drawn(view, [(_order(each), each["done"]) for each in view["last"]]), words)]


def truth(views: Mapping[int, Mapping[str, Any]], seat: int) -> list[DrawnBoard]:
    """The map at the end: nothing on it was secret."""
    return boards(views[seat])


def blank() -> list[DrawnBoard]:
    """The map of a record sheet, without units."""
    return [DrawnBoard(0, drawn(EMPTY), Phrase("A map of Europe."))]


def happened(reports: Sequence[Report]) -> None:
    """None: the arrows of a turn are on the map."""
    del reports


def _order(told: Mapping[str, Any]) -> Order:
    """The order that a view tells of."""
    ((_, order),) = Reader(Text(told["order"])).orders()
    return order._replace(power=told["power"])


def _short(unit: str) -> str:
    """A unit with the first letters of its power: `Ger A Mun`."""
    power, kind, place = unit.split()
    return f"{power[:3].capitalize()} {kind} {spelled(place)}"
