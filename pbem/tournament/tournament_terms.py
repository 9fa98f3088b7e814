"""The terms of a tournament, which its organiser announces, and to which every entry agrees by their hash.

They hold the terms of all its matches as a template: whoever enters has accepted every match that follows from it.
Implements docs/bundle.md, 12.2.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec.structs import replace

from pbem.games import GAMES, Fault, Refused, rules
from pbem.match.option_lines import Choice, Day, Number, Option, OptionLines, Time
from pbem.match.terms import Terms, hash_of_tournament
from pbem.match.transcript import utc
from pbem.phrase import Phrase, either

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pbem.json_object import JsonObject

ROUND_ROBIN, DOUBLE, SWISS, LADDER = FORMATS = ("round robin", "double round robin", "swiss", "ladder")

PAIR, _MOST_SEATS = 2, 20
"""The seats at a match, unless the terms say otherwise, and the most that they may say."""

_FEWEST: Mapping[object, int] = {ROUND_ROBIN: 3, DOUBLE: 3, SWISS: 16, LADDER: 0}
"""The fewest entrants with which a tournament of pairs is played: a smaller Swiss one runs out of opponents.

With more seats at a match, two full tables are enough.
"""

_DAY = 86400
_LONGEST = timedelta(days=366)
"""The longest time for which entries stay open."""
_ROBINS = (ROUND_ROBIN, DOUBLE)
_STARTED = (*_ROBINS, SWISS)
_OF_ONE_MATCH = {"players", "tournament", "pairing"}
"""The terms of a match that its tournament does not hold."""

OPTIONS: Mapping[str, tuple[Option, tuple[str, ...]]] = {
    "format": (
        Choice(
            Phrase(
                "round robin (default): all play all; double round robin: twice; swiss: a few rounds, for 16 and"
                " more; or ladder: who wins a challenge takes the other's place"
            ),
            FORMATS,
        ),
        FORMATS,
    ),
    "closes": (Day(Phrase("the day, such as 2026-12-20, with whose beginning (UTC) entries close")), _STARTED),
    "entrants": (
        Number(
            Phrase("the most entrants, at most 128 (default; 12 in round robins); with the last of them, it starts"),
            default=None,
            bounds=(2, 128),
        ),
        FORMATS,
    ),
    "programs": (Choice(Phrase("no (default) or yes: whether programs may enter"), ("no", "yes")), FORMATS),
    "group": (
        Number(Phrase("the most entrants of a group, 5 to 12 (default 12)"), default=12, bounds=(5, 12)),
        _ROBINS,
    ),
    "at-once": (
        Number(Phrase("the most games that a player has at once; all by default"), default=0, bounds=(1, 22)),
        _ROBINS,
    ),
    "seats": (
        Number(
            Phrase("the players at each match, as many as the game takes, such as 3 (default 2)"),
            default=PAIR,
            bounds=(PAIR, _MOST_SEATS),
        ),
        (SWISS,),
    ),
    "rounds": (
        Number(
            Phrase("the number of rounds; by default as many as leave one player without a loss"),
            default=0,
            bounds=(1, 12),
        ),
        (SWISS,),
    ),
    "round": (
        Time(
            Phrase("the time after which the next round is paired without the last results; none by default"),
            default=0,
            bounds=(7 * _DAY, 366 * _DAY),
            none=True,
        ),
        (SWISS,),
    ),
    "places": (
        Number(Phrase("how many places above one may be challenged (default 3)"), default=3, bounds=(1, 20)),
        (LADDER,),
    ),
    "rematch": (
        Time(
            Phrase("the time before the same two meet again (default 14d); 0 for none"),
            default=14 * _DAY,
            bounds=(0, 366 * _DAY),
        ),
        (LADDER,),
    ),
    "idle": (
        Time(
            Phrase("the time without a game after which a player sinks to the end (default 90d)"),
            default=90 * _DAY,
            bounds=(7 * _DAY, 366 * _DAY),
        ),
        (LADDER,),
    ),
    "longest": (
        Time(
            Phrase("the time after which nobody waits for a match; its result still counts (default 180d)"),
            default=180 * _DAY,
            bounds=(7 * _DAY, 366 * _DAY),
        ),
        (LADDER,),
    ),
}
"""The options of a tournament, each with its formats; all other lines are about its matches."""


class TournamentTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The terms of a tournament; an option that its format does not have is at its default."""

    match: dict[str, object]
    """The terms of each match, but for `players`, `tournament` and `pairing`."""
    format: str
    closes: str | None
    """The time at which entries close; None: never."""
    entrants: int
    programs: str
    group: int
    at_once: int
    """0: all games."""
    rounds: int
    """0: the fewest after which one player is without a loss."""
    round: int
    """Seconds; 0: a round waits for its last result."""
    places: int
    rematch: int
    """Seconds."""
    idle: int
    """Seconds."""
    longest: int
    """Seconds after which nobody waits for a match that is not over."""
    seats: Annotated[int, msgspec.Meta(ge=PAIR, le=_MOST_SEATS)] = PAIR
    """The seats at each match."""

    @property
    def robin(self) -> bool:
        """True if all play all."""
        return self.format in _ROBINS

    @property
    def games_at_once(self) -> int:
        """The most games that an entrant begins with; one a round in Swiss tournaments, by a challenge in ladders."""
        if not self.robin:
            return 1
        games = (min(self.group, self.entrants) - 1) * (2 if self.format == DOUBLE else 1)
        return min(self.at_once or games, games)

    @property
    def of_matches(self) -> Terms:
        """The terms of the matches, whose players are not known yet; raises KeyError, TypeError or ValueError."""
        return Terms.read({**self.match, "players": _nobody(self.seats)})

    @property
    def fewest(self) -> int:
        """The fewest entrants with which the tournament is played."""
        return _fewest(self.format, self.seats)

    def document(self) -> JsonObject:
        """The terms as entry 1 has them; `seats` only where a match has more than a pair."""
        terms = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in terms.items() if (name, value) != ("seats", PAIR)}

    @classmethod
    def read(cls, document: object) -> TournamentTerms:
        """The terms of such a document; raises ValueError."""
        return msgspec.convert(document, cls)

    def demand_possible(self, *, by_rules: bool) -> None:
        """Check that an announcement's lines could give these terms; raises as `Terms.demand_possible` does.

        Of matches by rules that are not those that were agreed on, only the keys are checked.
        """
        match = self.of_matches
        if self.format not in FORMATS:
            raise ValueError("no such format")
        written = {
            key: option.written(getattr(self, key.replace("-", "_")))
            for key, (option, formats) in OPTIONS.items()
            if self.format in formats
        }
        lines = {key: text for key, text in written.items() if text}
        template = {name: value for name, value in match.document().items() if name not in _OF_ONE_MATCH}
        announcement = _Announcement(lines)
        proposed = announcement.terms(announcement.own(), template)
        if by_rules:
            match.demand_possible()
            lines |= {**match.general_lines(), "keys": match.keys, "miss": match.miss}
            proposed = replace(TournamentTerms.propose(match.game, lines, match.settling), match=template)
        if proposed != self:
            raise ValueError("these are not the terms that their lines give")

    def demand_open(self, now: datetime) -> None:
        """Raise `Refused` unless entries close after this time, and within a year of it."""
        if self.closes is not None and not now < utc(self.closes) <= now + _LONGEST:
            day = OPTIONS["closes"][0].written(self.closes)
            raise Refused(Fault("closes", day, Phrase("entries close on a day to come, within a year")))

    def hash(self, server: str, tournament: str) -> str:
        """The hash of the terms, which each entry repeats."""
        return hash_of_tournament(server, tournament, self.document())

    @classmethod
    def propose(cls, game: str, lines: Mapping[str, str], settle: timedelta) -> TournamentTerms:
        """The terms of an announcement's option lines; `settle` is the server's default; raises `Refused`."""
        return _Announcement(lines).judge(game, settle)


def _fewest(format_: object, seats: int) -> int:
    return _FEWEST.get(format_, 0) if seats == PAIR else 2 * seats


def _nobody(seats: int) -> tuple[str, ...]:
    """The players of a match who are not known yet."""
    return tuple(str(seat) for seat in range(1, seats + 1))


class _Announcement(OptionLines):
    """The judgement of an announcement's option lines."""

    def judge(self, game: str, settle: timedelta) -> TournamentTerms:
        """The terms of the tournament and of its matches; raises `Refused`."""
        own = self.own()
        return self.terms(own, self.template(game, settle, own))

    def own(self) -> dict[str, Any]:
        """The values of the tournament's own options, without those whose lines are at fault."""
        values: dict[str, Any] = self.values({"format": OPTIONS["format"][0]})
        format_ = values.get("format")
        options = {}
        for key, (option, formats) in OPTIONS.items():
            if format_ in {None, *formats}:
                options[key] = option
            elif key in self.lines:
                self.refuse(
                    key, self.lines[key], Phrase("the format {format} has no option `{key}`", format=format_, key=key)
                )
            values.setdefault(key.replace("-", "_"), option.default)
        default = 12 if format_ in _ROBINS else 128
        if "seats" in options:
            values |= self.values({"seats": options.pop("seats")})
        fewest = _fewest(format_, values["seats"]) or 2
        options["entrants"] = replace(options["entrants"], default=default, bounds=(fewest, 128))
        if "closes" in options and "closes" not in self.lines:
            self.refuse("closes", None, Phrase("say when entries close: closes: 2026-12-20"))
        del options["format"]
        return values | {key.replace("-", "_"): value for key, value in self.values(options).items()}

    def terms(self, own: Mapping[str, object], match: JsonObject) -> TournamentTerms:
        """The terms, with those of the matches; raises `Refused`."""
        if self.faults:
            raise Refused(*self.faults)
        return TournamentTerms.read({**own, "match": match})

    def template(self, game: str, settle: timedelta, own: Mapping[str, Any]) -> JsonObject:
        """The terms of each match: by default, players sign with a key, and silence loses."""
        lines = {key: text for key, text in self.lines.items() if key not in OPTIONS}
        seats = own["seats"]
        if game in GAMES and seats not in rules(game).seats:
            title, numbers = rules(game).title, either(rules(game).seats)
            says = Phrase("{title} is for {numbers} players: format: swiss, and seats", title=title, numbers=numbers)
            self.refuse("seats", str(seats), says)
            return {}
        try:
            terms = Terms.propose(game, {"keys": "demanded", "miss": "forfeit", **lines}, _nobody(seats), settle)
        except Refused as refused:
            self.faults += refused.faults
            return {}
        # A match that need not end holds up all others, nobody wins one that is abandoned because a mailbox refuses
        # our letters, and a private one proves nothing to those who read the table.
        wanted: dict[str, tuple[str, ...]] = {
            "privacy": ("public",),
            "miss": ("forfeit", "pass", "leave"),
            "unreachable": ("loses",),
        }
        if seats > PAIR:  # Else a friend, by giving up, could end a match for all before somebody lost it.
            wanted |= {"kind": ("single",), "miss": ("forfeit", "leave")}
        for key, words in wanted.items():
            if getattr(terms, key) not in words:
                says = Phrase("in a tournament, {key} is {words}", key=key, words=either(words))
                self.refuse(key, lines.get(key), says)
        if not terms.pace or not (terms.games or terms.target):
            self.refuse("pace", None, Phrase("the matches of a tournament have deadlines and an end: pace, games"))
        if terms.anonymous:
            self.refuse("anonymous", "yes", Phrase("the matches of a tournament are not anonymous"))
        template = terms.document()
        del template["players"]
        return template
