"""The terms of a match, on which the players agree before it starts, and their hash.

This module judges the option lines of a proposal, once, in the words of the match; the game judges its own options.
The hash goes into every commitment. Implements protocol.md, "A match".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.games import GAMES, Fault, Options, Refused, rules
from pbem.games.outside import PACKAGES, Package
from pbem.games.sealed import sealed_rules
from pbem.match.changed import replace
from pbem.match.entry_type import anything, hash_, mapping, number, text
from pbem.match.record import toml_value
from pbem.match.transcript import canonical, sha256_hex
from pbem.phrase import Phrase, either

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.json_object import JsonObject

KINDS = ("single", "scored", "continued")
VICTORIES = ("sum of scores", "last game")
MISSES = ("wait", "pass", "forfeit", "default")
WEEKENDS = ("count", "free")
KEYS = ("optional", "demanded")
SEALED = ("no", "yes")
UNREACHABLE = ("loses", "stands")
PRIVACIES = ("public", "private")

OPTIONS: Mapping[str, Phrase] = {
    "kind": Phrase(
        "single (default), scored or continued: one game, several, or several in which survivors carry over"
    ),
    "games": Phrase("the number of games; without it, the match goes on to the target, or until a player resigns it"),
    "target": Phrase("the match ends after the game in which somebody's scores add up to this"),
    "victory": Phrase("sum of scores (default) or last game: who wins a scored or continued match"),
    "settle": Phrase("time in which orders may still be replaced once all are in, such as 10m or 2h; 0 for none"),
    "privacy": Phrase("public (default): others may watch what everybody may know; or private"),
    "rules": Phrase("edition of the rulings; the newest by default"),
    "pace": Phrase("time for each turn and setup, such as 3d or 12h (default 7d); none: there are no deadlines"),
    "grace": Phrase("time after the deadline before anything happens (default 3d); 0 for none"),
    "miss": Phrase(
        "what happens then: wait (default) until the opponent claims the game; pass: empty orders are played,"
        " and two misses in a row lose; forfeit: the game is lost; default: the player's default orders are"
        " played (`orders m17 default`); if none of them are legal, it is as with wait"
    ),
    "unreachable": Phrase(
        "loses (default): if letters to a player bounce, the player's clock runs on, and the player loses after the"
        " same time as by silence; or stands: the clock stands meanwhile, and the opponent may end the match without"
        " a winner, after pace and grace, at least a week"
    ),
    "weekends": Phrase("count (default), or free: no clock runs on Saturdays and Sundays"),
    "bank": Phrase("a time bank for the whole match, such as 21d, drawn on when the pace is over; none by default"),
    "keys": Phrase("optional (default) or demanded: whether every player must sign with a key, or a mailbox will do"),
    "sealed": Phrase(
        "no (default), or yes: we see no setup and no orders before they are revealed; each player keeps them, and"
        " answers for them (`help sealed`)"
    ),
}
"""The options of a match, with their meaning: help and the parser both read this table."""

_TIMES = {
    (False, False): Phrase("{key} is a time such as 10m, 2h or 1d, at most {most}d, or 0"),
    (True, False): Phrase("{key} is a time such as 10m, 2h or 1d, at least {least}h and at most {most}d"),
    (True, True): Phrase("{key} is a time such as 10m, 2h or 1d, at least {least}h and at most {most}d, or none"),
}
"""The faults of a malformed time, by two properties: it has a minimum, and it may be `none`."""

_SEALED_SEATS = 2
"""The number of players in a sealed match: with more, one could leave while the others depend on its answers."""

_CHOICES = {
    "kind": KINDS,
    "victory": VICTORIES,
    "privacy": PRIVACIES,
    "miss": MISSES,
    "weekends": WEEKENDS,
    "keys": KEYS,
    "unreachable": UNREACHABLE,
    "sealed": SEALED,
}
"""The options with a fixed choice of words, the default first."""

_DEFAULTS = {key: words[0] for key, words in _CHOICES.items()} | {"pace": "7d", "grace": "3d", "bank": "0"}
"""The options as no line needs to say them."""

_SOME = frozenset({"tournament", "pairing", "rules_package"})
"""The terms that only some matches have: those of tournaments, those of other packages' games."""
_TOURNAMENT = mapping({"id": text, "terms": anything})
_PAIRING = mapping({"round": number, "board": number, "entry": hash_})

_VALUE = 4000
"""The most characters of an option that are read as TOML: the library takes the square of a key with many parts."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_SETTLING = 7 * 86400
_PACE = 7 * 86400
_GRACE = 3 * 86400
_PACES = (3600, 90 * 86400)
_LONGEST_GRACE = 90 * 86400
_LONGEST_BANK = 366 * 86400


@dataclass(frozen=True, slots=True)
class Terms:
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
    pace: int = _PACE
    """Seconds; 0: there are no deadlines."""
    grace: int = _GRACE
    miss: str = MISSES[0]
    weekends: str = WEEKENDS[0]
    bank: int = 0
    keys: str = KEYS[0]
    sealed: bool = False
    """True if players send no secrets before the game is over, and answer for their own sides."""
    unreachable: str = UNREACHABLE[1]
    """The fate of a player whose letters bounce: `loses` as by silence, or the clock `stands`."""
    tournament: JsonObject | None = None
    """The tournament of the match, its `id` and its `terms`, which hold the terms of all its matches."""
    pairing: JsonObject | None = None
    """The match's place in the tournament: `round`, `board`, and the head of the `entry` that paired its players."""
    rules_package: Package | None = None
    """The package whose rules the server had when the match was proposed; None for a game of pbem itself."""

    @property
    def settling(self) -> timedelta:
        """The wait after the last orders of a turn came in, unless all said `final`."""
        return timedelta(seconds=self.settle)

    @property
    def claimable(self) -> bool:
        """True if a match keeps waiting for a player who missed the time, until the others claim it."""
        return self.miss in {"wait", "default"}

    def first_options(self) -> Options:
        """The options of the match's first game."""
        return rules(self.game).options(self.options, len(self.players))

    def lines(self) -> dict[str, str]:
        """The option lines that differ from the defaults; they propose the same again, by the newest edition."""
        lines = {
            "kind": self.kind,
            "games": str(self.games or ""),
            "target": str(self.target or ""),
            "victory": self.victory,
            "settle": written_duration(self.settle),  # the default is each server's own
            "privacy": self.privacy,
            "pace": written_duration(self.pace) if self.pace else "none",
            "grace": written_duration(self.grace),
            "miss": self.miss,
            "weekends": self.weekends,
            "bank": written_duration(self.bank),
            "keys": self.keys,
            "sealed": SEALED[self.sealed],
            "unreachable": self.unreachable,
        }
        implied = {"games": self.kind == KINDS[0], "settle": self.sealed, "keys": self.sealed}
        implied["unreachable"] = not self.pace
        own = {key: value if isinstance(value, str) else toml_value(value) for key, value in self.options.items()}
        said = (key for key, text in lines.items() if text and text != _DEFAULTS.get(key) and not implied.get(key))
        return {key: lines[key] for key in said} | own

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
        document = {name: _plain(getattr(self, name)) for name in self.__slots__}
        if self.rules_package is not None:
            document["rules_package"] = self.rules_package._asdict()
        return {name: value for name, value in document.items() if value is not None or name not in _SOME}

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
        if {*document} | _SOME != {*cls.__slots__} or not isinstance(document["game"], str):
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


def hash_of_tournament(server: str, tournament: str, terms: object) -> str:
    """The hash of the terms of a tournament, by their document: who enters agrees to it, and so to every match."""
    document = canonical({"server": server, "tournament": tournament, "terms": terms})
    return sha256_hex(b"pbem tournament terms 1\n" + document)


class OptionLines:
    """Option lines, each judged by its kind; all faults are collected."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines = lines
        self.faults: list[Fault] = []

    def refuse(self, what: str, token: str | None, says: Phrase) -> None:
        """Note a fault."""
        self.faults.append(Fault(what, token, says))

    def choice(self, key: str, words: tuple[str, ...]) -> str:
        """One of these words, the first by default."""
        text = " ".join(self.lines.get(key, words[0]).lower().split())
        if text not in words:
            self.refuse(key, text, Phrase("{key} is one of: {words}", key=key, words=", ".join(words)))
        return text

    def number(self, key: str, least: int = 1, most: int = 9999) -> int | None:
        """A whole number within these bounds; None by default."""
        text = self.lines.get(key)
        if text is None:
            return None
        if not (re.fullmatch(r"[1-9][0-9]{0,3}", text) and least <= int(text) <= most):
            self.refuse(
                key, text, Phrase("{key} is a number from {least} to {most}", key=key, least=least, most=most)
            )
            return None
        return int(text)

    def time(self, key: str, default: int, bounds: tuple[int, int], *, none: bool = False) -> int:
        """A time in seconds within these bounds; `none` allows that word, which is 0."""
        text = self.lines.get(key)
        if text is None:
            return default
        if none and text.strip().lower() == "none":
            return 0
        seconds = duration(text)
        least, most = bounds
        if seconds is None or not least <= seconds <= most:
            says = _TIMES[bool(least), none].given(key=key, least=least // 3600, most=most // 86400)
            self.refuse(key, text, says)
            return default
        return seconds


class _Proposal(OptionLines):
    """The judgement of a proposal's option lines."""

    def __init__(self, game: str, lines: Mapping[str, str], players: tuple[str, ...], settle: timedelta) -> None:
        super().__init__(lines)
        self.rules = rules(game)
        self.players = players
        self.settle = settle

    def judge(self) -> Terms:
        self.judge_players()
        chosen = {key: self.choice(key, words) for key, words in _CHOICES.items()}
        kind = chosen["kind"]
        games = self.number("games")
        target = self.number("target")
        # A single game is one game; only longer matches have a number or a target.
        if kind == "single" and (target or games not in (None, 1)):
            self.refuse("games", None, Phrase("a single game has neither a number of games nor a target"))
        terms: dict[str, object] = {
            "game": self.rules.name,
            "edition": self.number("rules") or self.rules.editions[-1],
            **chosen,
            "games": 1 if kind == "single" else games,
            "target": target,
            "settle": self.time("settle", int(self.settle.total_seconds()), (0, _LONGEST_SETTLING)),
            "pace": self.time("pace", _PACE, _PACES, none=True),
            "grace": self.time("grace", _GRACE, (0, _LONGEST_GRACE)),
            "bank": self.time("bank", 0, (0, _LONGEST_BANK)),
            "sealed": chosen["sealed"] == SEALED[1],
            "rules_package": PACKAGES.get(self.rules.name),
        }
        if not terms["pace"]:
            terms |= self.without_deadlines(chosen["unreachable"])
        if terms["sealed"]:
            terms |= self.sealed()
        # With `miss: pass`, the server plays empty orders, which some games do not have.
        if terms["miss"] == "pass" and not self.rules.empty_orders:
            says = Phrase("{title} has no empty order: wait, forfeit or default", title=self.rules.title)
            self.refuse("miss", "pass", says)
        if terms["edition"] not in self.rules.editions:
            self.refuse("rules", str(terms["edition"]), Phrase("no such edition of the rulings"))
        options = self.game_options({key: text for key, text in self.lines.items() if key not in OPTIONS})
        if self.faults:
            raise Refused(*self.faults)
        return Terms(**terms, options=options, players=self.players)  # type: ignore[arg-type]  # by name, above

    def judge_players(self) -> None:
        if len(self.players) not in self.rules.seats:
            wanted = either(self.rules.seats)
            says = Phrase("{title} is for {numbers} players, you included", title=self.rules.title, numbers=wanted)
            self.refuse("new", None, says)
        if len(set(self.players)) != len(self.players):
            self.refuse("new", None, Phrase("the same player twice"))

    def without_deadlines(self, unreachable: str) -> dict[str, object]:
        """The terms that no deadlines imply: nobody loses by silence, and so nobody by being out of reach."""
        if "unreachable" in self.lines and unreachable == UNREACHABLE[0]:
            says = Phrase("without deadlines nobody loses by silence: unreachable is {word}", word=UNREACHABLE[1])
            self.refuse("unreachable", UNREACHABLE[0], says)
        return {"unreachable": UNREACHABLE[1]}

    def sealed(self) -> dict[str, object]:
        """The terms that sealed play implies: nobody can answer for another player, nor change an answer."""
        wanted = {"keys": KEYS[1:], "miss": ("wait", "forfeit"), "settle": ("0",)}
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
        return {"keys": KEYS[1], "settle": 0}

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


def duration(text: str) -> int | None:
    """Seconds of a time such as `10m`, `2h`, `3d` or `0`; None if it is malformed."""
    time = re.fullmatch(r"([0-9]{1,6}) ?([smhd])", text.strip().lower())
    if time:
        return int(time[1]) * _UNITS[time[2]]
    return 0 if text.strip() == "0" else None


def written_duration(seconds: int) -> str:
    """A time as `duration` reads it, in the largest unit that is exact."""
    if not seconds:
        return "0"
    return next(f"{seconds // size}{unit}" for unit, size in reversed(_UNITS.items()) if seconds % size == 0)


def _plain(value: object) -> object:
    """A JSON value of a frozen one: tuples become lists, mappings dictionaries."""
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return value
