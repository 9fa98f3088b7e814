"""4. Papers, and the record (4.8)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verifier.conventions import NUMBER, No, must

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.rules import Result
    from verifier.state import Match
    from verifier.transcript import Entry


def lines_of(
    paper: bytes, title: str, keys: Sequence[str], optional: Sequence[str] = (), *, more: bool = False
) -> dict[str, str]:
    """The values of a text paper, and of one that has `more` below them, that as `*`."""
    try:
        text = paper.decode()
    except UnicodeDecodeError as error:
        raise No("not UTF-8") from error
    found: dict[str, str] = {}
    must(text.endswith("\n"), "no line end")
    rest = text.split("\n")
    must(rest.pop(0) == title, f"no {title}")
    for key in keys:
        if rest and rest[0].startswith(f"{key} "):
            found[key] = rest.pop(0)[len(key) + 1 :]
        else:
            must(key in optional, f"no {key}")
    found["*"] = "\n".join(rest)
    must(more or found.pop("*") == "", f"more than {title}")
    for key, pattern in PATTERNS.items():
        must(key not in found or pattern.fullmatch(found[key]), f"no {key}")
    must("salt" not in found or SALT.fullmatch(found["salt"]), "no salt")
    return found


SALT = re.compile("[0-9a-f]{64}")
PATTERNS = {**dict.fromkeys(("game", "turn", "seat", "rev"), NUMBER), "orders": re.compile("default")}
PATTERNS["branch"] = re.compile("[1-8]")


def read_opening(paper: bytes) -> dict[str, str]:
    keys = ["server", "match", "game", "seat", "player", "rules", "mail", "evidence", "received", "rev", "salt"]
    found = lines_of(paper, "pbem opening 1", keys, ["evidence"], more=True)
    must(found["*"].startswith("setup\n") and found["*"].endswith("\nend\n"), "no setup")
    found["setup"] = found.pop("*")[6:-5]
    return found


def read_receipt(paper: bytes, *, withdrawal: bool = False) -> dict[str, str]:
    keys = ["server", "match", "game", "turn", "seat", "player", "rev", "level", "key", "mail"]
    keys += ["evidence", "orders", "received", "salt", *([] if withdrawal else ["branch"])]
    title = "pbem withdrawal 1" if withdrawal else "pbem receipt 1"
    return lines_of(paper, title, keys, ["evidence", "orders", "branch"])


def read_trace(paper: bytes) -> tuple[dict[str, str], dict[str, str]]:
    found = lines_of(paper, "pbem trace 1", ["server", "match", "game", "turn", "salt"], more=True)
    lines = found["*"].split("\n")
    must(lines.pop() == "", "no line end")
    listed: dict[str, str] = {}
    for line in lines:
        parts = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line)
        must(parts, "no line of a trace")
        assert parts
        listed[parts[2]] = parts[1]
    must(list(listed) == sorted(listed) and len(listed) == len(lines), "a trace out of order")
    return found, listed


def read_evidence(paper: bytes) -> dict[str, str]:
    keys = ["server", "match", "player", "mail", "received", "token", "place", "by", "name", "record"]
    return lines_of(paper, "pbem evidence 1", keys)


def read_replies(match: Match, entry: Entry, name: str, key: str = "replies") -> str:
    """The secret of the reply addresses for what this entry asks for; empty if it names none."""
    if key not in entry.body:
        return ""
    paper = match.paper(f"evidence/{name}.txt", entry.body[key])
    found = lines_of(paper, "pbem replies 1", ["server", "match", "salt"])
    must((found["server"], found["match"]) == (match.server, match.id), "replies of something else")
    return found["salt"]


def toml_text(text: str, *, lines: bool = False) -> str:
    made = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
    return '"""\n' + made.replace("\\n", "\n") + '"""' if lines and "\n" in text else f'"{made}"'


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return toml_text(value) if isinstance(value, str) else str(value)


def record(match: Match, result: Result) -> bytes:
    head = ["record = 1", f'game = "{match.terms["game"]}"', f"rules = {match.terms['edition']}"]
    head += [f'match = "{match.id}"', f"round = {match.game}"]
    head += [f'previous = "{match.previous}"'] if match.previous else []
    tables = ["\n".join(head)]
    if match.options:
        tables.append("\n".join(["[options]", *(f"{key} = {toml(one)}" for key, one in match.options.items())]))
    for seat in match.seats:
        setup = toml_text(match.setups[seat], lines=True)
        tables.append(f"[[seat]]\nname = {toml_text(match.players[seat].name)}\nsetup = {setup}")
    for played in match.played:
        lines = [f"{seat} = {toml_text(played[seat], lines=True)}" for seat in sorted(played)]
        tables += ["\n".join(["[[turn]]", *lines])]
    tables += [f"[[left]]\nseat = {seat}\nturn = {turn}" for turn, seat in sorted(match.left)]
    winner = result.winners[0] if len(result.winners) == 1 else 0
    several = 1 < len(result.winners) < len(match.seats)
    shared = f"winners = {toml(list(result.winners))}\n" if several else ""
    scores = toml(list(result.scores))
    tables.append(f'[result]\nwinner = {winner}\n{shared}scores = {scores}\nreason = "{result.reason}"')
    return ("\n\n".join(tables) + "\n").encode()
