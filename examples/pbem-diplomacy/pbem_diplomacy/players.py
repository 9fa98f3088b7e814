"""Random play of Diplomacy: towards centres of others, with support for one's own moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers
from pbem_diplomacy import adjustments
from pbem_diplomacy.geography import ARMY, FLEET, standard
from pbem_diplomacy.notation import written
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, MOVE, RETREAT, SUPPORT, Order, Position
from pbem_diplomacy.recall import recalled
from pbem_diplomacy.state import ADJUSTMENT, MOVEMENT, RETREATS

if TYPE_CHECKING:
    from random import Random

    from pbem_diplomacy.geography import Unit
    from pbem_diplomacy.state import State


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from all that it knows."""
    seat = view["seat"]
    state = recalled(view, seat)
    if not state.powers:
        return f"deal {random.choice(('luck', 'abracadabra', 'six6'))}"
    power = state.powers[seat - 1]
    own = [unit for unit in state.orderable if unit.power == power]
    kinds = {MOVEMENT: _movement, RETREATS: _retreats, ADJUSTMENT: _adjustments}
    chosen = kinds[state.kind](random, state, power, random.sample(own, len(own)))
    return "\n".join(map(written, chosen))


def _movement(random: Random, state: State, power: str, own: list[Unit]) -> list[Order]:
    """The orders of a movement: each unit helps a move that was chosen before, or makes one, or sails."""
    position = Position.of(standard(), state.units)
    found: list[Order] = []
    for unit in own:
        me = power, unit.kind, unit.place
        moves = [order for order in found if order.verb == MOVE]
        helping = [Order(*me, SUPPORT, move.to, move.kind, move.place) for move in moves]
        helping += [Order(*me, CONVOY, move.to, move.kind, move.place) for move in moves]
        going = [Order(*me, MOVE, place) for place in sorted(position.geography.reached(unit))]
        going += [
            Order(*me, MOVE, place, via=True)
            for place in sorted(set(position.geography.provinces))
            if position.at_sea and unit.kind == ARMY and position.can_be_carried(unit, place)
        ][:3]
        legal = [order for order in helping if position.legal(order)]
        if legal and random.random() < 0.5:
            found.append(random.choice(legal))
        elif going and random.random() < 0.9:
            towards = [order for order in going if _gains(state, order)]
            found.append(random.choice(towards or going))
    return found


def _gains(state: State, order: Order) -> bool:
    """True if a move leads to a centre of somebody else."""
    province = standard().provinces[order.to_province]
    return province.centre and state.owned.get(province.code) != order.power


def _retreats(random: Random, state: State, power: str, own: list[Unit]) -> list[Order]:
    """The orders of retreats."""
    found = []
    for unit in own:
        me = power, unit.kind, unit.place
        places = state.open_to(unit)
        stays = not places or random.random() < 0.2
        found.append(Order(*me, DISBAND) if stays else Order(*me, RETREAT, random.choice(places)))
    return found


def _adjustments(random: Random, state: State, power: str, own: list[Unit]) -> list[Order]:
    """The orders of adjustments."""
    count = state.adjustments.get(power, 0)
    if count < 0:
        return [Order(power, unit.kind, unit.place, DISBAND) for unit in own[: random.randint(0, -count)]]
    sites = adjustments.sites(standard(), power, state.units, state.owned)
    found = []
    for site in random.sample(sites, min(count, len(sites))):
        province = standard().provinces[site]
        fleet = province.kind == "coast" and random.random() < 0.5
        place = random.choice(province.coasts or (site,)) if fleet else site
        found.append(Order(power, FLEET if fleet else ARMY, place, BUILD))
    return found


PLAYERS = RandomPlayers(
    options=[
        ({"until": 1902}, 7),
        ({"powers": "France Germany", "until": 1903}, 2),
        ({"powers": "England Russia Turkey", "until": 1903}, 3),
        ({"until": 1901}, 5),
    ],
    orders=orders,
    secrets=False,
    nearly=[
        "deal luck",
        "deal a b",
        "A Par-Bur",
        "a paris - burgundy",
        "F Lon S A Yor-Nth",
        "A Lon-Nth-Bel",
        "A Lon-Bel via",
        "F Nth C A Lon-Bel",
        "A Par H A Par H",
        "A Par",
        "Par-Bur",
        "F Stp(sc)-Bot",
        "build F Stp",
        "build F Stp/nc",
        "waive",
        "A Mun D",
        "A Mun R Ber",
        "A Xyz-Bur",
        "A Par S",
        "A Par S A Mar-",
    ],
)
