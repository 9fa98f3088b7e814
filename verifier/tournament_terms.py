"""12.2 The terms of a tournament, and the letter that announces them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from verifier.conventions import must
from verifier.forms import is_number
from verifier.terms import can_be_written, check_terms, is_judged, terms_of, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verifier.commands import Command

ROUND_ROBINS = ("round robin", "double round robin")
FORMATS = (*ROUND_ROBINS, "swiss", "ladder")
YEAR, WEEK = 31_622_400, 604_800
OF_A_FORMAT: dict[str, tuple[tuple[str, ...], int, int, int]] = {
    "group": (ROUND_ROBINS, 12, 5, 12),
    "at_once": (ROUND_ROBINS, 0, 0, 22),
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
    must(set(terms) == OWN | {"match"}, "other keys in the terms")
    form = terms["format"]
    must(form in FORMATS, "an unknown format")
    least = {"swiss": 16, "ladder": 2}.get(form, 3)
    must(is_number(terms["entrants"]) and least <= terms["entrants"] <= 128, "terms: entrants")
    must(terms["programs"] in {"no", "yes"}, "terms: programs")
    for key, (formats, default, low, high) in OF_A_FORMAT.items():
        value = terms[key]
        must(is_number(value), f"terms: {key}")
        possible = low <= value <= high and (key not in TIMES or can_be_written(value))
        must(value == default or (form in formats and possible), f"terms: {key}")
    closes = terms["closes"]
    if form == "ladder":
        must(closes is None, "a ladder never closes")
    else:
        must(isinstance(closes, str) and closes.endswith("T00:00:00Z"), "terms: closes")
    match = terms["match"]
    must(isinstance(match, dict) and not {"players", "tournament", "pairing"} & set(match), "terms: match")
    if not is_judged({**match, "players": []}):
        return
    check_terms({**match, "players": ["a", "b"]})
    must(match["privacy"] == "public" and match["pace"], "matches that are private, or without deadlines")
    must(match["games"] or match["target"], "matches without an end")
    must(match["miss"] in {"forfeit", "pass"}, "matches that wait")
    must(form != "ladder" or match["unreachable"] == "loses", "a place is kept by a mailbox that refuses letters")


def announces(command: Command, terms: Mapping[str, Any]) -> bool:
    """True if the lines of `tournament new` give these terms; what they leave to the server may be anything."""
    lines = command.options
    own = {name: " ".join(value.lower().split()) for name, value in lines.items() if name in LINES}
    rest = {name: value for name, value in lines.items() if name not in LINES}
    match = {**terms["match"], "players": ["a", "b"]}
    if command.said["*name"] != match["game"]:
        return False
    if not is_judged(match):
        return True
    made = terms_of({"keys": "demanded", "miss": "forfeit", **rest}, match)
    right = {key: value for key, value in match.items() if key not in {"game", "players"}}
    return "seats" not in rest and made == right and own_terms(own) == {key: terms[key] for key in OWN}


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
