"""6.7 of bundle.md: what a letter without a form gives at the reply address of its turn."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier.commands import is_broken

if TYPE_CHECKING:
    from collections.abc import Sequence

YES = frozenset(
    re.findall(
        r"\w+",
        "yes yeah yep sure ok okay accept accepted agree agreed fine ja jawohl gern gerne klar einverstanden"
        " angenommen abgemacht akzeptier akzeptiert akzeptiere nehme dabei passt",
    )
)
BESIDE = frozenset(
    re.findall(
        r"\w+",
        "i we with it of course the this match game please thanks thank you very much gladly play to all right"
        " ich wir bin sind an die das diese partie spiel bitte danke sehr doch natürlich alles spielen mit",
    )
)
FINAL = re.compile(r"(?i)(?<![^\s,;])final(?![^\s,;.])[,;.]?")
ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")
TIME = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


@dataclass
class Place:
    """The place where a letter counts: the seat and the revision, and what its turn says of the addresses."""

    match: str
    turn: int
    prev: str
    seat: int
    rev: int
    salt: str

    @property
    def token(self) -> str:
        said = (
            f"pbem reply address 1\nprev {self.prev}\nseat {self.seat}\nrev {self.rev}\nsalt {self.salt}\n".encode()
        )
        return base64.b32encode(hashlib.sha256(said).digest()).decode()[:20].lower()


def detail_in(to: Sequence[str]) -> str | None:
    """The match and the token of the only reply address in To."""
    addresses = [address.lower() for value in to for address in sent_to(value)]
    found = {one[1] for address in addresses if (one := re.search(r"([a-z0-9]{0,20}\.[a-z2-7]{20})@", address))}
    return found.pop() if len(found) == 1 else None


def sent_to(value: str) -> list[str]:
    """The addresses to which one To sends the letter; none of a name, a group or a comment."""
    bare, depth, quoted, escaped = "", 0, False, False
    for one in value:
        inside = quoted or depth > 0
        if escaped or (inside and one == "\\"):
            escaped = not escaped
        elif quoted:
            quoted = one != '"'
        elif depth or one == "(":
            depth += {"(": 1, ")": -1}.get(one, 0)
            bare += " "
        else:
            quoted = one == '"'
            bare += one
    if depth or quoted:
        return []
    last = (one.rpartition(":")[2].rpartition("<")[2].partition(">")[0] for one in re.split("[,;]", bare))
    return [address for one in last if ADDRESS.fullmatch(address := one.strip(" \t\r\n"))]


def first_paragraph(lines: Sequence[str]) -> list[str]:
    """The first lines that belong together, without those that say whose quote follows."""
    found: list[str] = []
    gap = empty = False
    for line in [*lines, ""]:
        if line.lstrip().startswith(">"):
            gap = True
            continue
        if gap and found and found[-1].endswith(":"):
            timed = [at for at in range(max(len(found) - 3, 0), len(found)) if TIME.search(found[at])]
            found = found[: timed[-1] if timed else -1]
            empty = False
        if found and (gap or (empty and line.strip())):
            break
        gap, empty = False, not line.strip()
        found += [line.strip()] if line.strip() else []
    return found


def quoted_form(place: Place, lines: Sequence[str]) -> str | None:
    """The one form of orders for this turn in the letter that was answered, up to its last marked line."""
    once = [re.fullmatch(r" *> *+((?!>).*)", line) for line in lines]
    head = f"orders {place.match} turn {place.turn}"
    heads = [at for at, line in enumerate(once) if line and line[1].strip().lower() == head]
    if len(heads) != 1:
        return None
    whole = []
    for line in once[heads[0] :]:
        if line is None:
            break
        whole.append(line[1])
    return "\n".join(whole)


def given(place: Place, text: str) -> tuple[str, str, bool]:
    """The meaning of a text that has no command: `clear`, or `quoted` with a form, or `orders`, and whether final."""
    lines = text.split("\n")
    mine = lines[: next((at for at, line in enumerate(lines) if line.rstrip() == "--"), None)]
    if " ".join(line for line in mine if not line.lstrip().startswith(">")).lower().split()[:1] == ["stop"]:
        return "", "", False
    short = "\n".join(first_paragraph(mine))
    if short.strip(" .!").lower() == "clear":
        return "clear", "", False
    words = re.findall(r"[^\W\d_]+", short.lower())
    if not re.search(r"\d", short) and YES & {*words} and {*words} <= YES | BESIDE:
        form = quoted_form(place, lines)
        return ("quoted", form, False) if form else ("", "", False)
    if is_broken(short):
        return "", "", False
    orders = FINAL.sub("", re.sub(r"(?i)\A(orders|setup)[:,]?\s+", "", short)).strip()
    return ("orders" if orders else "", orders, FINAL.search(short) is not None)
