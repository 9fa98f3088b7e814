"""The position and the year: spring and fall with their retreats, then winter with its adjustments.

A phase in which no player is asked is played at once. A power without a player is in civil disorder: its units hold,
those that are dislodged are disbanded, and too many are removed by the rule of 2023.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Result
from pbem.phrase import Phrase
from pbem_diplomacy import adjustments, retreats
from pbem_diplomacy.geography import standard
from pbem_diplomacy.movement import move
from pbem_diplomacy.notation import spelled, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem_diplomacy.geography import Unit
    from pbem_diplomacy.movement import Dislodged, Outcome
    from pbem_diplomacy.orders import Order

DEALT: Final = "dealt"
DEALING: Final = "dealing"
MOVEMENT: Final = "movement"
RETREATS: Final = "retreats"
ADJUSTMENT: Final = "adjustments"

PACES: Final[Mapping[str, Fraction]] = {RETREATS: Fraction(1, 7), ADJUSTMENT: Fraction(2, 7)}
"""The kinds of phase that take a part of the agreed pace: a day or two of a week."""

PHASES: Final[Mapping[str, tuple[str, str, Phrase]]] = {
    DEALING: ("spring", DEALING, Phrase("Dealing of the powers")),
    "spring": ("spring retreats", MOVEMENT, Phrase("Spring {year}")),
    "spring retreats": ("fall", RETREATS, Phrase("Spring {year}, retreats")),
    "fall": ("fall retreats", MOVEMENT, Phrase("Fall {year}")),
    "fall retreats": ("winter", RETREATS, Phrase("Fall {year}, retreats")),
    "winter": ("spring", ADJUSTMENT, Phrase("Winter {year}, adjustments")),
}
"""The phases of a year: what follows each, its kind, and its name."""

SOLO: Final = 18
"""The number of centres with which a power has won alone."""


class Options(NamedTuple):
    """The options on which the players agreed."""

    powers: str = DEALT
    """`dealt`, or the power of each seat."""
    until: int = 1920
    """The year after whose winter the game is drawn among those who are left."""
    seats: int = 7

    @property
    def changed(self) -> Mapping[str, object]:
        """The options that differ from the default; the number of seats is agreed on otherwise."""
        agreed = {"powers": self.powers, "until": self.until}
        return {key: value for key, value in agreed.items() if value != self._field_defaults[key]}

    @property
    def turns(self) -> int:
        """The most turns that a game can have."""
        return 1 + 5 * (self.until - standard().year + 1)


class Written(NamedTuple):
    """The orders of a seat in a turn, and their text."""

    text: str
    orders: tuple[Order, ...]


class State(NamedTuple):
    """A position. It never changes: a turn makes a new one."""

    options: Options
    phase: str
    year: int
    powers: tuple[str, ...]
    """The power of each seat; none before they are dealt."""
    units: tuple[Unit, ...]
    owned: Mapping[str, str]
    """The power that owns each centre, but for those that nobody has."""
    dislodged: tuple[Dislodged, ...] = ()
    contested: frozenset[str] = frozenset()
    gone: frozenset[int] = frozenset()
    """The seats that left the game."""
    turn: int = 1
    result: Result | None = None

    @classmethod
    def begin(cls, options: Options) -> State:
        """The position of 1901."""
        board = standard()
        powers = () if options.powers == DEALT else tuple(options.powers.upper().split())
        phase = "spring" if powers else DEALING
        return cls(options, phase, board.year, powers, board.start, board.owned)

    @property
    def kind(self) -> str:
        """The kind of the phase that is due."""
        return PHASES[self.phase][1]

    @property
    def title(self) -> Phrase:
        """The name of the phase that is due."""
        return PHASES[self.phase][2].given(year=self.year)

    @property
    def seats_by_power(self) -> Mapping[str, int]:
        """The seat of each power that has a player."""
        return {power: seat for seat, power in enumerate(self.powers, start=1)}

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats whose power has a unit or a centre."""
        seats = range(1, self.options.seats + 1)
        alive = {unit.power for unit in self.orderable} | {*self.owned.values()} | {one.power for one in self.units}
        playing = [seat for seat in seats if not self.powers or self.powers[seat - 1] in alive]
        return tuple(seat for seat in playing if seat not in self.gone)

    @property
    def orderable(self) -> tuple[Unit, ...]:
        """The units that orders of this phase can be for: in retreats, those that were dislodged."""
        return tuple(each.unit for each in self.dislodged) if self.kind == RETREATS else self.units

    @property
    def adjustments(self) -> Mapping[str, int]:
        """The units that each power has to build, or to remove if it is below zero."""
        return adjustments.due(self.units, self.owned)

    def open_to(self, unit: Unit) -> tuple[str, ...]:
        """The places to which a dislodged unit may retreat."""
        (found,) = (each for each in self.dislodged if each.unit == unit)
        return retreats.open_to(standard(), found, self.units, self.contested)

    @property
    def due(self) -> Mapping[int, None]:
        """The seats that have a choice in this phase."""
        if self.result:
            return {}
        return dict.fromkeys(seat for seat in self.remaining if self._chooses(seat))

    def _chooses(self, seat: int) -> bool:
        if self.phase == DEALING:
            return True
        power = self.powers[seat - 1]
        if self.kind == ADJUSTMENT:
            count = self.adjustments.get(power, 0)
            return count < 0 or (count > 0 and bool(adjustments.sites(standard(), power, self.units, self.owned)))
        own = [unit for unit in self.orderable if unit.power == power]
        return any(self.open_to(unit) for unit in own) if self.kind == RETREATS else bool(own)

    @property
    def scores(self) -> tuple[int, ...]:
        """The number of each seat's centres."""
        if not self.powers:
            return (0,) * self.options.seats
        return tuple([*self.owned.values()].count(power) for power in self.powers)

    # What a turn does.

    def dealt(self, order: Sequence[int], words: Mapping[int, str]) -> tuple[State, list[Report]]:
        """The position once each seat has a power, by numbers that were drawn; its word is told with it."""
        powers = tuple(standard().powers[number] for number in order[: self.options.seats])
        reports: list[Report] = [
            {"kind": "dealt", "seat": seat, "power": power, "word": words.get(seat, "")}
            for seat, power in enumerate(powers, start=1)
        ]
        return self._replace(powers=powers, phase="spring", turn=self.turn + 1), reports

    def played(self, orders: Sequence[Order]) -> tuple[State, list[Report]]:
        """The position after this phase, and after those that follow of which nobody is asked."""
        state, reports = self.phase_played(orders)
        while not state.result and not state.due:
            state, more = state.phase_played(())
            reports += more
        return (state if state.result else state._replace(turn=self.turn + 1)), reports

    def without(self, seat: int) -> State | None:
        """The position once a seat has left; None if no two others are in the game.

        A phase that waited for this seat alone is then played, and told, as a turn of which nobody is asked.
        """
        state = self._replace(gone=self.gone | {seat})
        return state if len(state.remaining) > 1 else None

    def phase_played(self, orders: Sequence[Order]) -> tuple[State, list[Report]]:
        """The position after this phase, and what happened."""
        following = PHASES[self.phase][0]
        if self.kind == MOVEMENT:
            moved = move(standard(), self.units, orders)
            after = self._replace(units=moved.units, dislodged=moved.dislodged, contested=moved.contested)
            reports = [*self._told(moved.outcomes), *after.who_retreats()]
            return after._replace(phase=following), reports
        if self.kind == RETREATS:
            back = retreats.retreat(standard(), self.units, self.dislodged, self.contested, orders)
            after = self._replace(units=back.units, dislodged=(), contested=frozenset(), phase=following)
            reports = [*self._told(back.outcomes), *self._gone("disbanded", back.disbanded)]
            return after.harvested(reports) if following == "winter" else (after, reports)
        adjusted = adjustments.adjust(standard(), self.units, self.owned, orders)
        reports = [*self._told(adjusted.outcomes), *self._gone("removed", adjusted.civil_disorder)]
        after = self._replace(units=adjusted.units, phase=following, year=self.year + 1)
        if self.year < self.options.until:
            return after, reports
        return after._replace(result=Result(after.remaining, after.scores), phase=self.phase, year=self.year), reports

    def harvested(self, reports: list[Report]) -> tuple[State, list[Report]]:
        """The position once the centres belong to whose units stand on them: who has enough has won."""
        centres = {code for code, province in standard().provinces.items() if province.centre}
        taken = {unit.province: unit.power for unit in self.units if unit.province in centres}
        owned = {**self.owned, **taken}
        after = self._replace(owned=dict(sorted(owned.items())))
        counts = {power: [*owned.values()].count(power) for power in standard().powers}
        told: list[Report] = [
            {
                "kind": "centres",
                "seat": self.seats_by_power.get(power, 0),
                "power": power,
                "year": self.year,
                "count": count,
                "places": [spelled(centre) for centre, owner in after.owned.items() if owner == power],
                "due": after.adjustments.get(power, 0),
            }
            for power, count in counts.items()
            if count or power in self.owned.values()
        ]
        winner = next((seat for seat in after.remaining if counts[self.powers[seat - 1]] >= SOLO), 0)
        if winner:
            after = after._replace(result=Result((winner,), after.scores))
        return after, reports + told

    # What is told.

    def _told(self, outcomes: Sequence[Outcome]) -> list[Report]:
        return [
            {
                "kind": "order",
                "seat": self.seats_by_power.get(outcome.order.power, 0),
                "power": outcome.order.power,
                "phase": self.phase,
                "order": written(outcome.order),
                "outcome": outcome.code,
                "by": [self._unit_at(place) for place in outcome.by],
            }
            for outcome in outcomes
        ]

    def _unit_at(self, province: str) -> str:
        """The unit in a province, by the first letters of its power: `Ger A Mun`; the province if there is none."""
        for unit in self.orderable:
            if unit.province == province:
                return f"{unit.power[:3].capitalize()} {unit.kind} {spelled(unit.place)}"
        return spelled(province)

    def who_retreats(self) -> list[Report]:
        """The units that were dislodged, and where they may go."""
        return [
            {
                "kind": "dislodged",
                "seat": self.seats_by_power.get(each.unit.power, 0),
                "power": each.unit.power,
                "unit": f"{each.unit.kind} {spelled(each.unit.place)}",
                "from": spelled(each.origin),
                "open": [spelled(place) for place in retreats.open_to(standard(), each, self.units, self.contested)],
            }
            for each in self.dislodged
        ]

    def _gone(self, kind: str, units: Sequence[Unit]) -> list[Report]:
        return [
            {
                "kind": kind,
                "seat": self.seats_by_power.get(unit.power, 0),
                "power": unit.power,
                "unit": f"{unit.kind} {spelled(unit.place)}",
            }
            for unit in units
        ]
