"""7 and 12.2. Terms, and the letters that propose or announce them."""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, Any

from verifier.conventions import must, sha256
from verifier.forms import is_hash, is_like, is_number, is_object, is_text, list_of, object_of, one_of, or_null
from verifier.rules import GAMES, Refused, rules
from verifier.transcript import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verifier.commands import Command
    from verifier.state import Match


TERMS = {
    "bank": is_number,
    "edition": is_number,
    "game": is_text,
    "grace": is_number,
    "kind": one_of("single", "scored", "continued"),
    "miss": one_of("wait", "pass", "pass always", "leave", "forfeit", "default"),
    "options": is_object,
    "pace": is_number,
    "players": list_of(is_text),
    "privacy": one_of("public", "private"),
    "settle": is_number,
    "victory": one_of("sum of scores", "last game"),
    "weekends": one_of("count", "free"),
    "games": or_null(is_number),
    "target": or_null(is_number),
    "keys": one_of("optional", "demanded"),
    "sealed": one_of(True, False),
    "unreachable": one_of("loses", "stands"),
    "tournament": object_of(id=is_text, terms=is_object),
    "pairing": object_of(round=is_number, board=is_number, entry=is_hash),
    "substitutes": one_of("majority"),
    "press": one_of("between turns", "none"),
    "anonymous": one_of(True),
}
TOURNAMENT = {"tournament", "pairing"}
MAY = {*TOURNAMENT, "substitutes", "press", "anonymous"}
PRESET = {"substitutes": "all", "press": "all", "anonymous": False}
"""The terms that are there only if they are not the preset."""
PACKAGE = object_of(
    name=is_like("[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"),
    version=is_like("[A-Za-z0-9][A-Za-z0-9.+]{0,62}"),
    code=or_null(is_hash),
)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
RANGES = {"settle": (0, 604800), "grace": (0, 7776000), "bank": (0, 31622400)}


def is_judged(terms: Mapping[str, Any]) -> bool:
    """True if the rules are here; of another game (13), only the keys are looked at."""
    if terms["game"] in GAMES:
        return True
    must(is_text(terms["game"]) and {*terms, *MAY, "rules_package"} == {*TERMS, "rules_package"}, "terms: keys")
    must("rules_package" not in terms or PACKAGE(terms["rules_package"]), "terms: rules_package")
    return False


def check_terms(terms: Mapping[str, Any]) -> None:
    must(set(terms) | MAY == set(TERMS), "other keys in the terms")
    check_tournament(terms)
    for key, value in terms.items():
        must(TERMS[key](value), f"terms: {key}")
    must(terms["edition"] in rules(terms["game"]).EDITIONS, "an unknown edition")
    for key, (least, most) in RANGES.items():
        must(least <= terms[key] <= most, f"terms: {key}")
    must(terms["pace"] == 0 or 3600 <= terms["pace"] <= 7776000, "terms: pace")
    must(
        all(can_be_written(terms[key]) for key in ("settle", "pace", "grace", "bank")), "a time that no line can give"
    )
    for key in ("games", "target"):
        must(terms[key] is None or 1 <= terms[key] <= 9999, f"terms: {key}")
    if terms["kind"] == "single":
        must(terms["games"] == 1 and terms["target"] is None, "a single match")
    must(terms["pace"] or terms["unreachable"] == "stands", "no deadlines")
    if terms["sealed"]:
        must(terms["keys"] == "demanded" and terms["settle"] == 0 and len(terms["players"]) == 2, "no sealed match")
        must(terms["miss"] in {"wait", "forfeit"}, "no sealed match")
        must(terms.get("press") != "between turns", "no sealed match")
    if terms.get("anonymous"):
        must(not terms["sealed"] and terms["unreachable"] == "loses", "no anonymous match")
        must("tournament" not in terms, "an anonymous match of a tournament")
        must(terms["players"] == seat_names(terms["players"]), "players by name in an anonymous match")
    must(terms["miss"] not in {"pass", "pass always"} or terms["game"] == "spaceships", "nobody can pass")
    must(terms["miss"] != "leave", "nobody can pass, and leave the game to others")
    must(len(set(terms["players"])) == len(terms["players"]), "a player twice")
    made = rules(terms["game"]).options(terms["options"], len(terms["players"]))
    must(made == terms["options"], "options that are the default")


def seat_names(players: list[str]) -> list[str]:
    return [f"seat-{seat}" for seat, _ in enumerate(players, start=1)]


def named(match: Match, players: list[str]) -> list[str]:
    """The players as the terms name them."""
    return seat_names(players) if match.terms.get("anonymous") else players


def called(match: Match, seat: int) -> str:
    """The name of a seat in what players sign."""
    return f"seat-{seat}" if match.terms.get("anonymous") else match.players[seat].name


def check_tournament(terms: Mapping[str, Any]) -> None:
    must(("tournament" in terms) == ("pairing" in terms), "half a tournament")
    if "tournament" in terms:
        must(all(TERMS[key](terms[key]) for key in TOURNAMENT), "terms: tournament")
        own = {key: value for key, value in terms.items() if key not in {"players", *TOURNAMENT}}
        must(terms["tournament"]["terms"].get("match") == own, "terms that the tournament does not have")


def agrees(match: Match, seat: int, command: Command, *, by_key: bool) -> bool:
    if "tournament" in match.terms:
        return enters(match, command) and not (by_key and {"server", "player"} - command.said.keys())
    if command.name == "accept":
        return (command.said.get("*match"), command.said.get("*hash")) == (match.id, match.rules_hash)
    return command.name == "new" and seat == 1 and proposes(match, command)


def enters(match: Match, command: Command) -> bool:
    held = match.terms["tournament"]
    rules_hash = tournament_hash(match.server, held["id"], held["terms"])
    said = (command.said.get("*tournament"), command.said.get("*hash"))
    return command.name == "enter" and said == (held["id"], rules_hash)


def tournament_hash(server: str, name: str, terms: Mapping[str, Any]) -> str:
    document = canonical({"server": server, "terms": terms, "tournament": name})
    return sha256(f"pbem tournament terms 1\n{document}".encode())


def proposes(match: Match, command: Command) -> bool:
    names = command.said.get("*with", "").split()
    others_ = match.terms["players"][1:]
    must(not (names and match.terms.get("anonymous")), "players by name in an anonymous match")
    fits = all(name == other or "@" in name for name, other in zip(names, others_, strict=False))
    if command.said.get("*name") != match.terms["game"] or len(names) > len(others_) or not fits:
        return False
    seats = command.options.get("seats", str(min(rules(match.terms["game"]).SEATS)))
    if not seats.isdecimal() or len(match.terms["players"]) != max(len(names) + 1, int(seats)):
        return False
    made = terms_of(command.options, match.terms)
    return made is not None and made == {
        key: one for key, one in match.terms.items() if key not in {"game", "players"}
    }


GENERAL = {*TERMS, "rules"} - {"options"}
"""The lines whose words count in any letter case."""


def terms_of(lines: Mapping[str, str], terms: Mapping[str, Any]) -> dict[str, Any] | None:
    made: dict[str, Any] = {
        "kind": "single",
        "games": None,
        "target": None,
        "victory": "sum of scores",
        "settle": terms["settle"],
        "pace": 604800,
        "grace": 259200,
        "miss": "wait",
        "weekends": "count",
        "bank": 0,
        "privacy": "public",
        "keys": "optional",
        "sealed": False,
        "unreachable": "loses",
        "edition": terms["edition"],
        **PRESET,
    }
    raw = {}
    lines = {name: " ".join(value.lower().split()) if name in GENERAL else value for name, value in lines.items()}
    for name, value in lines.items():
        if name in {"settle", "pace", "grace", "bank"}:
            made[name] = 0 if (name, value) == ("pace", "none") else time_of(value)
        elif name in {"games", "target"}:
            made[name] = int(value) if re.fullmatch("[1-9][0-9]{0,3}", value) else "?"
        elif name == "rules":
            made["edition"] = int(value) if value.isdecimal() else "?"
        elif name in {"sealed", "anonymous"}:
            made[name] = {"yes": True, "no": False}.get(value, "?")
        elif name in made:
            made[name] = value
        elif name != "seats":
            raw[name] = value
    if made["sealed"] is True:
        must(lines.get("keys", "demanded") == "demanded" and lines.get("settle", "0") == "0", "no sealed match")
        must(made["miss"] in {"wait", "forfeit"}, "no sealed match")
        must(made["press"] != "between turns", "no sealed match")
        made |= {"keys": "demanded", "settle": 0}
    if not made["pace"]:
        must(lines.get("unreachable", "stands") == "stands", "no deadlines")
        made["unreachable"] = "stands"
    if made["kind"] == "single":
        made["games"] = 1
    made["options"] = game_options(raw, terms)
    return {name: value for name, value in made.items() if name not in PRESET or value != PRESET[name]}


def time_of(text: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,6}) ?([smhd])|0", text)
    if not found:
        return None
    return int(found[1]) * UNITS[found[2]] if found[1] else 0


def can_be_written(time: int) -> bool:
    return any(time % unit == 0 and time // unit < 10**6 for unit in UNITS.values())


def game_options(lines: Mapping[str, str], terms: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that these lines give: each value is TOML, or text where only that is accepted."""
    made: dict[str, Any] = {}
    game, seats = rules(terms["game"]), len(terms["players"])
    for name, value in lines.items():
        made[name] = value
        with contextlib.suppress(ValueError):
            made[name] = tomllib.loads(f"v = {value}")["v"] if len(value) <= 4000 else value
        for one in (made[name], value):
            with contextlib.suppress(Refused):
                game.options({name: one}, seats)
                made[name] = one
                break
    try:
        made = game.options(made, seats)
    except Refused:
        return None
    return made


ROUND_ROBINS = ("round robin", "double round robin")
FORMATS = (*ROUND_ROBINS, "swiss", "ladder")
YEAR, WEEK = 31_622_400, 604_800
OF_A_FORMAT: dict[str, tuple[tuple[str, ...], int, int, int]] = {
    "group": (ROUND_ROBINS, 12, 5, 12),
    "at_once": (ROUND_ROBINS, 0, 0, 22),
    "seats": (("swiss",), 2, 2, 20),
    "rounds": (("swiss",), 0, 0, 12),
    "round": (("swiss",), 0, WEEK, YEAR),
    "places": (("ladder",), 3, 1, 20),
    "rematch": (("ladder",), 1_209_600, 0, YEAR),
    "idle": (("ladder",), 7_776_000, WEEK, YEAR),
    "longest": (("ladder",), 15_552_000, WEEK, YEAR),
}
"""The formats that know a number, its default, the least and the most."""
TIMES = {"round", "rematch", "idle", "longest"}
OWN = {"format", "closes", "entrants", "programs", *OF_A_FORMAT}
LINES = {key.replace("_", "-") for key in OWN}


def check_tournament_terms(terms: Mapping[str, Any]) -> None:
    must(set(terms) | {"seats"} == OWN | {"match"} and terms.get("seats") != 2, "other keys in the terms")
    form = terms["format"]
    must(form in FORMATS, "an unknown format")
    must(terms["programs"] in {"no", "yes"}, "terms: programs")
    for key, (formats, default, low, high) in OF_A_FORMAT.items():
        value = terms.get(key, 2) if key == "seats" else terms[key]
        must(is_number(value), f"terms: {key}")
        possible = low <= value <= high and (key not in TIMES or can_be_written(value))
        must(value == default or (form in formats and possible), f"terms: {key}")
    must(is_number(terms["entrants"]) and max(fewest(terms), 2) <= terms["entrants"] <= 128, "terms: entrants")
    closes = terms["closes"]
    if form == "ladder":
        must(closes is None, "a ladder never closes")
    else:
        must(isinstance(closes, str) and closes.endswith("T00:00:00Z"), "terms: closes")
    match = terms["match"]
    must(isinstance(match, dict) and not {"players", "tournament", "pairing"} & set(match), "terms: match")
    if not is_judged({**match, "players": []}):
        return
    check_terms({**match, "players": nobody(terms)})
    must(match["privacy"] == "public" and match["pace"], "matches that are private, or without deadlines")
    must(match["games"] or match["target"], "matches without an end")
    must(match["miss"] in {"forfeit", "pass", "leave"}, "matches that wait")
    ends_for_all = match["kind"] != "single" or match["miss"] == "pass"
    must(terms.get("seats", 2) == 2 or not ends_for_all, "matches that one ends for all")
    must(match["unreachable"] == "loses", "nobody wins where a mailbox refuses letters")


def nobody(terms: Mapping[str, Any]) -> list[str]:
    return [str(seat) for seat in range(terms.get("seats", 2))]


def fewest(terms: Mapping[str, Any]) -> int:
    """The fewest lines with which it is played."""
    of_pairs = {"swiss": 16, "ladder": 0}.get(terms["format"], 3)
    return of_pairs if terms.get("seats", 2) == 2 else 2 * terms["seats"]


def announces(command: Command, terms: Mapping[str, Any]) -> bool:
    """True if the lines of `tournament new` give these terms; what they leave to the server may be anything."""
    lines = command.options
    own = {name: " ".join(value.lower().split()) for name, value in lines.items() if name in LINES}
    rest = {name: value for name, value in lines.items() if name not in LINES}
    match = {**terms["match"], "players": nobody(terms)}
    if command.said["*name"] != match["game"]:
        return False
    if not is_judged(match):
        return True
    made = terms_of({"keys": "demanded", "miss": "forfeit", **rest}, match)
    right = {key: value for key, value in match.items() if key not in {"game", "players"}}
    return made == right and own_terms(own) == {"seats": 2, **{key: terms[key] for key in terms if key != "match"}}


def own_terms(lines: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {key: default for key, (_, default, _, _) in OF_A_FORMAT.items()}
    made |= {"format": lines.get("format", "round robin"), "closes": None}
    made |= {"entrants": 12 if made["format"] in ROUND_ROBINS else 128, "programs": lines.get("programs", "no")}
    for line, value in lines.items():
        key = line.replace("-", "_")
        must(key not in OF_A_FORMAT or made["format"] in OF_A_FORMAT[key][0], "a line of another format")
        if key == "round":
            made[key] = 0 if value == "none" else time_of(value) or "?"
        elif key in TIMES:
            made[key] = time_of(value)
        elif key == "closes":
            made[key] = f"{value}T00:00:00Z"
        elif key not in {"format", "programs"}:
            made[key] = int(value) if re.fullmatch("[1-9][0-9]{0,3}", value) else "?"
    return made
