"""The words beside the map: who stands where, what became of each order, orders read back. No layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pbem.games.player_text import Text
from pbem.phrase import Phrase, either
from pbem_diplomacy.geography import standard
from pbem_diplomacy.notation import Reader, spelled
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, HOLD, MOVE, RETREAT, SUPPORT, WAIVE
from pbem_diplomacy.state import PHASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem_diplomacy.orders import Order

POWERS: Final[Mapping[str, Phrase]] = {
    "AUSTRIA": Phrase("Austria"),
    "ENGLAND": Phrase("England"),
    "FRANCE": Phrase("France"),
    "GERMANY": Phrase("Germany"),
    "ITALY": Phrase("Italy"),
    "RUSSIA": Phrase("Russia"),
    "TURKEY": Phrase("Turkey"),
}

OUTCOMES: Final[Mapping[str, Phrase]] = {
    "bounced": Phrase("bounced with {units}"),
    "cut": Phrase("cut by {units}"),
    "dislodged": Phrase("dislodged by {units}"),
    "disrupted": Phrase("its convoy was broken"),
    "paradox": Phrase("it carries nobody: a paradox"),
    "no-route": Phrase("no fleets carried it"),
    "unused": Phrase("it was not needed"),
    "unmatched": Phrase("the other unit was ordered otherwise"),
    "excess": Phrase("one too many"),
    "illegal": Phrase("it could not be carried out"),
}
"""The words for an order that did not succeed, by its outcome."""


def title(view: Mapping[str, Any]) -> Phrase:
    """The phase that is due: `Fall 1903`."""
    return PHASES[view["phase"]][2].given(year=view["year"])


def standing(view: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[tuple[Phrase, str]]:
    """Each power with its player and the number of its centres, and its units in the notation."""
    for power, name in POWERS.items():
        units = sorted(text.split()[1:] for text in view["units"] if text.split()[0] == power)
        count = [*view["owned"].values()].count(power)
        if not units and not count:
            continue
        here = ", ".join(f"{kind} {spelled(place)}" for kind, place in units)
        if not view["powers"]:  # they are still to be dealt
            yield Phrase("{power}, centres {count}", power=name, count=count), here
            continue
        seats = [seat for seat, one in enumerate(view["powers"], start=1) if one == power]
        player = names[seats[0]] if seats and seats[0] not in view["gone"] else Phrase("no player")
        label = Phrase("{power} ({player}), centres {count}", power=name, player=player, count=count)
        yield label, here


def retreats(view: Mapping[str, Any]) -> Iterator[Phrase]:
    """The units that must retreat, and where they may go."""
    for each in view["dislodged"]:
        power, kind, place = each["unit"].split()
        unit = f"{kind} {spelled(place)}"
        if each["open"]:
            places = either([*map(spelled, each["open"])])
            yield Phrase("{power}: {unit} may retreat to {places}", power=POWERS[power], unit=unit, places=places)
        else:
            yield Phrase("{power}: {unit} can retreat nowhere", power=POWERS[power], unit=unit)


def own(view: Mapping[str, Any]) -> Phrase | None:
    """The reader's own power."""
    if not view["seat"] or not view["powers"]:
        return None
    return Phrase("You are {power}", power=POWERS[view["powers"][view["seat"] - 1]])


def asked(view: Mapping[str, Any]) -> Phrase:
    """The request for orders, in words."""
    if view["phase"] == "dealing":
        return Phrase("Write `deal` with a word of your own, such as `deal abracadabra`: then the powers are dealt")
    power = view["powers"][view["seat"] - 1]
    if view["entitled"] == "movement":
        return Phrase("Write an order for each unit, such as `A Par-Bur` or `F Lon S A Yor-Nth`")
    if view["entitled"] == "retreats":
        return Phrase("Write where your dislodged units retreat (`A Bur R Par`), or that they disband (`A Bur D`)")
    count = view["adjustments"].get(power, 0)
    if count > 0:
        return Phrase("You may build {count}: `build A Par`, `build F Bre`, or `waive`", count=count)
    return Phrase("You have to remove {count}: `A Par D`", count=-count)


def told(reports: Sequence[Report], names: Mapping[int, str]) -> Iterator[Phrase]:
    """The events of a turn, by power."""
    for report in sorted(reports, key=lambda report: (report["kind"] == "centres", report["power"])):
        power = POWERS[report["power"]]
        match report["kind"]:
            case "dealt":
                yield Phrase("{name} plays {power}", name=names[report["seat"]], power=power)
            case "order":
                yield _of_order(report, power)
            case "dislodged" if report["open"]:
                facts = {"unit": report["unit"], "places": either(report["open"])}
                yield Phrase("{power}: {unit} must retreat to {places}", power=power, **facts)
            case "dislodged" | "disbanded":
                yield Phrase("{power}: {unit} is disbanded", power=power, unit=report["unit"])
            case "removed":
                yield Phrase("{power}: {unit} is removed, for want of an order", power=power, unit=report["unit"])
            case "centres":
                yield _of_centres(report, power)


def _of_centres(report: Report, power: Phrase) -> Phrase:
    """The centres of a power after fall, and what it may build or has to remove."""
    if not report["count"]:
        return Phrase("{power} has lost its last centre", power=power)
    says = Phrase("{power}, centres {count}: {places}")
    if report["due"] > 0:
        says = Phrase("{power}, centres {count}: {places}; may build {due}")
    if report["due"] < 0:
        says = Phrase("{power}, centres {count}: {places}; has to remove {due}")
    facts = {"count": report["count"], "places": ", ".join(report["places"]), "due": abs(report["due"])}
    return says.given(power=power, **facts)


def _of_order(report: Report, power: Phrase) -> Phrase:
    if report["outcome"] == "ok":
        return Phrase("{power}: {order}", power=power, order=report["order"])
    why = OUTCOMES[report["outcome"]]
    if "{units}" in why.template:
        why = why.given(units=", ".join(report["by"])) if report["by"] else Phrase("failed")
    return Phrase("{power}: {order} ({why})", power=power, order=report["order"], why=why)


def summary(reports: Sequence[Report]) -> Phrase:
    """The outcome of a turn, in one line."""
    orders = [report for report in reports if report["kind"] == "order"]
    done = sum(report["outcome"] == "ok" for report in orders)
    lost = sum(report["kind"] == "dislodged" for report in reports)
    if any(report["kind"] == "dealt" for report in reports):
        return Phrase("The powers are dealt")
    if not orders:
        return Phrase("Nothing was ordered")
    facts = {"done": done, "all": len(orders), "lost": lost}
    return Phrase("Orders that succeeded: {done} of {all}; dislodged units: {lost}", **facts)


def said(text: str) -> list[Phrase]:
    """Orders in words."""
    return [_said(order) for _, order in Reader(Text(text)).orders()] or [Phrase("deal the powers")]


def _said(order: Order) -> Phrase:
    names = {
        place: standard().provinces[place.partition("/")[0]].name
        for place in (order.place, order.to, order.of_place)
        if place
    }
    facts = {
        "unit": names.get(order.place, ""),
        "to": names.get(order.to, ""),
        "other": names.get(order.of_place, ""),
    }
    sentences = {
        HOLD: Phrase("{unit} holds"),
        MOVE: Phrase("{unit} moves to {to}"),
        SUPPORT: Phrase("{unit} supports the move from {other} to {to}")
        if order.to
        else Phrase("{unit} supports {other}"),
        CONVOY: Phrase("{unit} carries the army from {other} to {to}"),
        RETREAT: Phrase("{unit} retreats to {to}"),
        DISBAND: Phrase("{unit} disbands"),
        BUILD: Phrase("a new unit in {unit}"),
        WAIVE: Phrase("a build is waived"),
    }
    return sentences[order.verb].given(**facts)


def sheet_rows(mine: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a record sheet: the player's own orders, turn by turn."""
    return [f"{turn}. {'; '.join(lines)[:70]}" for turn, lines in enumerate(mine[-20:], start=max(1, len(mine) - 19))]
