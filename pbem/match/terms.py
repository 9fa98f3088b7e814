"""The terms of a match, on which the players agree before it starts, and their hash.

This module judges the option lines of a proposal, once, in the words of the match; the game judges its own options.
The hash goes into every commitment. Implements protocol.md, "A match".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.games import GAMES, Fault, Options, Refused, part_of, rules
from pbem.games.outside import PACKAGES, Package
from pbem.games.sealed import sealed_rules
from pbem.match.entry_type import anything, hash_, mapping, number, text
from pbem.match.naming import seat_name
from pbem.match.option_lines import Choice, Number, Option, OptionLines, Switch, Time
from pbem.match.record import toml_value
from pbem.match.silence_rules import SILENCE, SilenceRule
from pbem.match.transcript import canonical, sha256_hex
from pbem.phrase import Phrase, either

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.json_object import JsonObject

_H, _D = 3600, 86400

OPTIONS: Mapping[str, Option] = {
    "kind": Choice(
        Phrase("single (default), scored or continued: one game, several, or several in which survivors carry over"),
        ("single", "scored", "continued"),
    ),
    "games": Number(
        Phrase("the number of games; without it, the match goes on to the target, or until a player resigns it")
    ),
    "target": Number(Phrase("the match ends after the game in which somebody's scores add up to this")),
    "victory": Choice(
        Phrase("sum of scores (default) or last game: who wins a scored or continued match"),
        ("sum of scores", "last game"),
    ),
    "settle": Time(
        Phrase("time in which orders may still be replaced once all are in, such as 10m or 2h; 0 for none"),
        default=None,
        bounds=(0, 7 * _D),
    ),
    "privacy": Choice(
        Phrase("public (default): others may watch what everybody may know; or private"), ("public", "private")
    ),
    "rules": Number(Phrase("edition of the rulings; the newest by default")),
    "pace": Time(
        Phrase("time for each turn and setup, such as 3d or 12h (default 7d); none: there are no deadlines"),
        default=7 * _D,
        bounds=(_H, 90 * _D),
        none=True,
    ),
    "grace": Time(
        Phrase("time after the deadline before anything happens (default 3d); 0 for none"),
        default=3 * _D,
        bounds=(0, 90 * _D),
    ),
    "miss": Choice(
        Phrase(
            "what happens then: wait (default) until the opponent claims the game; pass: empty orders are played,"
            " and two misses in a row lose; pass always: empty orders are played, however often; leave: like pass,"
            " but whoever misses two in a row leaves the game, and the others play on; forfeit: the game is lost,"
            " or, where the rules let the others play on, left to them;"
            " default: the player's default orders are played (`orders m17 default`); if none of them are legal, it"
            " is as with wait"
        ),
        tuple(SILENCE),
    ),
    "unreachable": Choice(
        Phrase(
            "loses (default): if letters to a player bounce, the player's clock runs on, and the player loses after"
            " the same time as by silence; or stands: the clock stands meanwhile, and the opponent may end the match"
            " without a winner, after pace and grace, at least a week"
        ),
        ("loses", "stands"),
    ),
    "weekends": Choice(Phrase("count (default), or free: no clock runs on Saturdays and Sundays"), ("count", "free")),
    "bank": Time(
        Phrase("a time bank for the whole match, such as 21d, drawn on when the pace is over; none by default"),
        default=0,
        bounds=(0, 366 * _D),
    ),
    "keys": Choice(
        Phrase("optional (default) or demanded: whether every player must sign with a key, or a mailbox will do"),
        ("optional", "demanded"),
    ),
    "sealed": Switch(
        Phrase(
            "no (default), or yes: we see no setup and no orders before they are revealed; each player keeps them,"
            " and answers for them (`help sealed`)"
        )
    ),
    "substitutes": Choice(
        Phrase(
            "all (default): somebody new takes a seat when all others agree; or majority: when more of them agree"
            " than do not; those who are gone are not asked"
        ),
        ("all", "majority"),
    ),
    "press": Choice(
        Phrase(
            "all (default): players may write to each other at any time; between turns: until their own orders for"
            " the turn are in; or none: not before the match is over"
        ),
        ("all", "between turns", "none"),
    ),
    "anonymous": Switch(
        Phrase(
            "no (default), or yes: nobody learns who plays before the match is over; who wants a seat joins it, and"
            " letters name the seats (`seat-2`)"
        )
    ),
}
"""The options of a match: help, the judgement of lines and `Terms.lines` all read this table."""

_SEALED_SEATS = 2
"""The number of players in a sealed match: with more, one could leave while the others depend on its answers."""

_SOME: Mapping[str, object] = {
    "tournament": None,
    "pairing": None,
    "rules_package": None,
    "substitutes": "all",
    "press": "all",
    "anonymous": False,
}
"""The terms that only some matches have, with the value that stands for the others."""
_TOURNAMENT = mapping({"id": text, "terms": anything})
_PAIRING = mapping({"round": number, "board": number, "entry": hash_})

_VALUE = 4000
"""The most characters of an option that are read as TOML: the library takes the square of a key with many parts."""


class Terms(msgspec.Struct, frozen=True):
    """The agreed terms: the game and its options, kind and length of the match, players in seat order."""

    game: str
    edition: int
    options: Mapping[str, object]
    kind: str
    games: int | None
    target: int | None
    victory: str
    settle: int
    privacy: str
    players: tuple[str, ...]
    pace: int
    """Seconds; 0: there are no deadlines."""
    grace: int
    miss: str
    weekends: str
    bank: int
    keys: str
    sealed: bool
    """True if players send no secrets before the game is over, and answer for their own sides."""
    unreachable: str
    """The fate of a player whose letters bounce: `loses` as by silence, or the clock `stands`."""
    tournament: JsonObject | None = None
    """The tournament of the match, its `id` and its `terms`, which hold the terms of all its matches."""
    pairing: JsonObject | None = None
    """The match's place in the tournament: `round`, `board`, and the head of the `entry` that paired its players."""
    rules_package: Package | None = None
    """The package whose rules the server had when the match was proposed; None for a game of pbem itself."""
    substitutes: str = "all"
    """The players who must agree to somebody new in a seat."""
    press: str = "all"
    """The time at which players may write to each other."""
    anonymous: bool = False
    """True if nobody learns who has which seat before the match is over: `players` are then the names of seats."""

    @property
    def settling(self) -> timedelta:
        """The wait after the last orders of a turn came in, unless all said `final`."""
        return timedelta(seconds=self.settle)

    @property
    def silence(self) -> SilenceRule:
        """The consequences of a missed deadline."""
        return SILENCE[self.miss]

    def first_options(self) -> Options:
        """The options of the match's first game."""
        return rules(self.game).options(self.options, len(self.players))

    def lines(self) -> dict[str, str]:
        """The option lines that differ from the defaults; they propose the same again, by the newest edition."""
        implied = {"games": self.kind == "single", "settle": self.sealed, "keys": self.sealed, "rules": True}
        implied["unreachable"] = not self.pace
        lines = {}
        for key, option in OPTIONS.items():
            text = "" if implied.get(key) else option.written(getattr(self, key))
            if text and (option.default is None or text != option.written(option.default)):
                lines[key] = text
        own = {key: value if isinstance(value, str) else toml_value(value) for key, value in self.options.items()}
        return lines | own

    def general_lines(self) -> dict[str, str]:
        """The option lines of the match, without those of its game, by which these terms could be proposed."""
        own = {key: str(text) for key, text in self.lines().items() if key not in self.options}
        return {**own, "rules": str(self.edition)}

    def demand_possible(self) -> None:
        """Check that option lines could give these terms; raises `Refused`, or ValueError and TypeError."""
        proposed = Terms.propose(self.game, self.general_lines(), self.players, self.settling)
        options = {key: _plain(value) for key, value in self.first_options().changed.items()}
        unsaid: dict[str, object] = {"tournament": self.tournament, "pairing": self.pairing}
        if self.game in PACKAGES:
            unsaid["rules_package"] = self.rules_package
        if canonical(replace(proposed, options=options, **unsaid).document()) != canonical(self.document()):
            raise ValueError("these are not the terms that their lines give")

    def document(self) -> JsonObject:
        """The terms as in the transcript's first entry: a JSON object."""
        document = {name: _plain(getattr(self, name)) for name in self.__struct_fields__}
        if self.rules_package is not None:
            document["rules_package"] = self.rules_package._asdict()
        return {name: value for name, value in document.items() if name not in _SOME or value != _SOME[name]}

    @property
    def proposed(self) -> bool:
        """True if a player proposed these terms; not if a tournament has them."""
        return self.tournament is None

    @property
    def as_announced(self) -> bool:
        """True unless these are terms of a tournament's match that the tournament does not have."""
        if self.tournament is None:
            return self.pairing is None
        if not (_TOURNAMENT(self.tournament) and _PAIRING(self.pairing)):
            return False
        own = {"players": list(self.players), "tournament": self.tournament, "pairing": self.pairing}
        return self.document() == {**self.tournament["terms"]["match"], **own}

    @classmethod
    def read(cls, document: JsonObject) -> Terms:
        """The terms of a JSON object that `document` made; raises KeyError, TypeError or ValueError."""
        if {*document, *_SOME} != {*cls.__struct_fields__} or not isinstance(document["game"], str):
            raise ValueError("not the keys of terms")
        package = Package.read(document["rules_package"]) if "rules_package" in document else None
        return cls(**{**document, "players": tuple(document["players"]), "rules_package": package})

    def hash(self, server: str, match: str) -> str:
        """The hash of the agreed terms, which each commitment repeats."""
        document = canonical({"server": server, "match": match, "terms": self.document()})
        return sha256_hex(b"pbem terms 1\n" + document)

    @classmethod
    def propose(cls, game: str, lines: Mapping[str, str], players: Sequence[str], settle: timedelta) -> Terms:
        """The terms of a proposal's option lines; `settle` is the server's default; raises `Refused`."""
        if game not in GAMES:
            raise Refused(Fault("new", game, Phrase("no such game; there are: {games}", games=", ".join(GAMES))))
        return _Proposal(game, lines, tuple(players), settle).judge()


def named_in_terms(players: Sequence[str], *, anonymous: bool) -> tuple[str, ...]:
    """The players as terms name them: anonymous ones by their seats, so that the hash of the terms hides them."""
    return tuple(seat_name(seat) for seat, _ in enumerate(players, start=1)) if anonymous else tuple(players)


def hash_of_tournament(server: str, tournament: str, terms: object) -> str:
    """The hash of the terms of a tournament, by their document: who enters agrees to it, and so to every match."""
    document = canonical({"server": server, "tournament": tournament, "terms": terms})
    return sha256_hex(b"pbem tournament terms 1\n" + document)


class _Proposal(OptionLines):
    """The judgement of a proposal's option lines."""

    def __init__(self, game: str, lines: Mapping[str, str], players: tuple[str, ...], settle: timedelta) -> None:
        super().__init__(lines)
        self.rules = rules(game)
        self.players = players
        self.settle = settle

    def judge(self) -> Terms:
        self.judge_players()
        settle = replace(OPTIONS["settle"], default=int(self.settle.total_seconds()))
        terms = self.values({**OPTIONS, "settle": settle})
        edition = terms.pop("rules", None) or self.rules.editions[-1]
        # A single game is one game; only longer matches have a number or a target.
        if terms.get("kind") == "single":
            if terms.get("target") or terms.get("games") not in (None, 1):
                self.refuse("games", None, Phrase("a single game has neither a number of games nor a target"))
            terms["games"] = 1
        if terms.get("pace") == 0:
            terms |= self.without_deadlines(terms.get("unreachable"))
        if terms.get("sealed"):
            terms |= self.sealed()
        if terms.get("anonymous"):
            self.judge_anonymous(terms)
        # The server plays empty orders, which some games do not have, and some end for all when a player leaves.
        miss = str(terms.get("miss"))
        if miss in SILENCE and SILENCE[miss].plays == "empty" and not self.rules.empty_orders:
            says = Phrase("{title} has no empty order: wait, forfeit or default", title=self.rules.title)
            self.refuse("miss", miss, says)
        elif miss == "leave" and part_of(self.rules.name, "without") is None:
            says = Phrase("{title} ends for all when a player leaves it: pass or pass always", title=self.rules.title)
            self.refuse("miss", miss, says)
        if edition not in self.rules.editions:
            self.refuse("rules", str(edition), Phrase("no such edition of the rulings"))
        terms["options"] = self.game_options({key: text for key, text in self.lines.items() if key not in OPTIONS})
        if self.faults:
            raise Refused(*self.faults)
        terms |= {"game": self.rules.name, "edition": edition}
        terms["players"] = named_in_terms(self.players, anonymous=bool(terms["anonymous"]))
        return Terms(**terms, rules_package=PACKAGES.get(self.rules.name))  # type: ignore[arg-type]  # by name, above

    def judge_players(self) -> None:
        if len(self.players) not in self.rules.seats:
            wanted = either(self.rules.seats)
            says = Phrase("{title} is for {numbers} players, you included", title=self.rules.title, numbers=wanted)
            self.refuse("new", None, says)
        if len(set(self.players)) != len(self.players):
            self.refuse("new", None, Phrase("the same player twice"))

    def without_deadlines(self, unreachable: object) -> dict[str, object]:
        """The terms that no deadlines imply: nobody loses by silence, and so nobody by being out of reach."""
        if "unreachable" in self.lines and unreachable == "loses":
            says = Phrase("without deadlines nobody loses by silence: unreachable is {word}", word="stands")
            self.refuse("unreachable", "loses", says)
        return {"unreachable": "stands"}

    def judge_anonymous(self, terms: Mapping[str, object]) -> None:
        """Note the terms by which players would learn, or have to be told, who plays."""
        # In sealed play, the players' programs know each other by their keys.
        if terms.get("sealed"):
            self.refuse("anonymous", "yes", Phrase("a sealed match cannot be anonymous"))
        # Whoever loses by silence need not be told of a clock that stands because letters bounce.
        if terms.get("unreachable") == "stands":
            says = Phrase("in an anonymous match, there are deadlines, and unreachable is {word}", word="loses")
            self.refuse("anonymous", "yes", says)

    def sealed(self) -> dict[str, object]:
        """The terms that sealed play implies: nobody can answer for another player, nor change an answer."""
        wanted = {"keys": ("demanded",), "miss": ("wait", "forfeit"), "settle": ("0",), "press": ("all", "none")}
        for key, words in wanted.items():
            if key in self.lines and " ".join(self.lines[key].lower().split()) not in words:
                says = Phrase("in a sealed match, {key} is {words}", key=key, words=either(words))
                self.refuse(key, self.lines[key], says)
        if self.rules.chance:
            says = Phrase("{title} cannot be played sealed: we deal its dice or cards", title=self.rules.title)
            self.refuse("sealed", "yes", says)
        elif sealed_rules(self.rules.name) is None:
            self.refuse("sealed", "yes", Phrase("{title} cannot be played sealed", title=self.rules.title))
        if len(self.players) > _SEALED_SEATS:
            self.refuse("sealed", "yes", Phrase("a sealed match is for {number} players", number=_SEALED_SEATS))
        return {"keys": "demanded", "settle": 0}

    def game_options(self, lines: dict[str, str]) -> Mapping[str, object]:
        if len(self.players) not in self.rules.seats:
            return {}
        raw = {key: self.value(key, text) for key, text in lines.items()}
        try:
            changed = self.rules.options(raw, len(self.players)).changed
            return {key: _plain(value) for key, value in changed.items()}
        except Refused as refused:
            self.faults.extend(refused.faults)
            return {}

    def value(self, key: str, text: str) -> object:
        """The option's value: as TOML if the game accepts that (`homes: 3`), otherwise as plain text (`first: 1`)."""
        import tomllib

        if len(text) > _VALUE:
            return text
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # a number of thousands of digits raises no TOMLDecodeError
            return text
        for candidate in (value, text):
            try:
                self.rules.options({key: candidate}, len(self.players))
            except Refused:
                continue
            return candidate
        return value


def _plain(value: object) -> object:
    """A JSON value of a frozen one: tuples become lists, mappings dictionaries."""
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return value
