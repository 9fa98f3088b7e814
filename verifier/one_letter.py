"""6.7 of bundle.md: what a letter without a form gives at its reply address."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier.commands import COMMANDS, FIELDS, Command, is_broken, only_command, read_commands
from verifier.text import marked, uncommented

if TYPE_CHECKING:
    from collections.abc import Sequence

YES = frozenset(
    re.findall(
        r"\w+",
        "yes yeah yep sure accept accepted agree agreed ja jawohl gern gerne klar einverstanden angenommen abgemacht"
        " akzeptier akzeptiert akzeptiere nehme dabei",
    )
)
RECEIVED = frozenset(["ok", "okay", "fine", "passt"])
BESIDE = frozenset(
    re.findall(
        r"\w+",
        "i we with it of course the this match game please thanks thank you very much gladly play to all right let us"
        " s d m ll am in love like would happy glad ready"
        " ich wir bin sind an die das diese partie spiel bitte danke sehr doch natürlich alles spielen mit lass lasst"
        " uns spiele mach mache los geht auf freue mich dir euch",
    )
)
SENTENCES = {
    "proposed": {"accept"},
    "setup": {"clear", "resign"},
    "playing": {"clear", "resign", "draw", "annul", "extend", "claim", "substitute"},
}
MOST = 4000
"""The most characters of the blocks that several texts give."""
SAYS_NOTHING = re.compile(r"(?:#[^\n]*|[\s,;])*")
FINAL = re.compile(r"(?i)(?<![^\s,;])final(?![^\s,;.])[,;.]?")
ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")
TIME = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


@dataclass
class Place:
    """The place where a letter counts: the seat and the revision, and what the match says of the addresses."""

    server: str
    match: str
    phase: str
    game: int
    turn: int
    prev: str
    """The head that is printed; of a proposal the hash of the terms."""
    player: str
    seat: int
    rev: int
    salt: str

    @property
    def token(self) -> str:
        said = (
            f"pbem reply address 1\nprev {self.prev}\nseat {self.seat}\nrev {self.rev}\nsalt {self.salt}\n".encode()
        )
        return base64.b32encode(hashlib.sha256(said).digest()).decode()[:20].lower()

    @property
    def head(self) -> str:
        """The first line of the form of what is due."""
        kind = f"orders {self.match} turn {self.turn}" if self.phase == "playing" else ""
        return kind or f"setup {self.match} game {self.game}"

    def command(self, name: str, block: str = "", **more: str) -> Command:
        where = {"*turn": str(self.turn)} if self.phase == "playing" else {"*game": str(self.game)}
        said = {"*match": self.match, "server": self.server, "player": self.player, "prev": self.prev}
        return Command(name, said | {"rev": str(self.rev)} | where | more, block)


def detail_in(to: Sequence[str]) -> str | None:
    """The match and the token of the only reply address in To: not of a name, a group or a comment."""
    parts = (part for value in to for part in re.split("[,;]", uncommented(value) or ""))
    bare = (part.rpartition(":")[2].rpartition("<")[2].partition(">")[0].strip(" \t\r\n") for part in parts)
    sent = [address.lower() for address in bare if ADDRESS.fullmatch(address)]
    found = {one[1] for address in sent if (one := re.search(r"([a-z0-9]{0,20}\.[a-z2-7]{20})@", address))}
    return found.pop() if len(found) == 1 else None


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


def quoted_form(place: Place, lines: Sequence[str]) -> Command | None:
    """The one form in the letter that was answered, up to its last marked line: due, or for a substitute."""
    once = [re.fullmatch(r" *> *+((?!>).*)", line) for line in lines]
    asked = f"substitute {place.match} "
    firsts = {at: line[1].strip().lower() for at, line in enumerate(once) if line}
    heads = [
        at
        for at, line in firsts.items()
        if line == place.head or (place.phase == "playing" and line.startswith(asked))
    ]
    if len(heads) != 1:
        return None
    whole = []
    for line in once[heads[0] :]:
        if line is None:
            break
        whole.append(line[1])
    form = read_commands("\n".join(whole), signed=False)[0]
    said, agrees = form.said, form.name == "substitute"
    if agrees:  # its turn is a field
        said = {key: value for key, value in said.items() if key != "turn"} | {"*turn": said.get("turn", "")}
    more = {key: value for key, value in said.items() if key in {"*final", "*name", "*leaver", "*hash"}}
    here = place.command(form.name, **more)
    right = all(said.get(key) == value for key, value in here.said.items() if key != "rev") and "rev" in said
    empty = SAYS_NOTHING.fullmatch(form.block or "") and not agrees
    if form.fault or empty or not right or (agrees and "game" in said):
        return None
    here.block = form.block
    return here


def named(place: Place, short: str) -> Command | None:
    """The one command that a text is, if it only leaves out the match."""
    name, rest = [*short.strip(" .!").split(None, 1), "", ""][:2]
    if COMMANDS.get(name.lower(), ("", "", ""))[0].split()[:1] not in (["match"], ["like"]):
        return None
    if name.lower() == "accept" and rest.lower() in {"", place.match}:
        rest = place.prev
    if not rest and name.lower() == "resign" and place.phase == "playing":
        rest = f"game {place.game}"
    command = only_command(f"{name} {place.match} {rest}")
    if command is None or FIELDS & {*command.said} or command.said.get("*match") != place.match:
        return None
    if command.name not in SENTENCES["playing"]:
        return command
    for one, due in (("turn", place.turn), ("game", place.game)):
        if one in command.said or command.said.get(f"*{one}", str(due)) not in {str(due), "match"}:
            return None
    return command


def of_these_terms(place: Place, lines: Sequence[str], *, quoted: bool) -> bool:
    text = "\n".join(re.sub(r"^ *>? *", "", line) for line in lines)
    found = set(re.findall(rf"(?m)^accept {place.match}\s{{1,9}}([0-9a-f]{{8,64}})\b", text))
    return found == {place.prev} or not (found or quoted)


def given(place: Place, text: str) -> Command | None:
    """The command that a text without one gives at this place."""
    written, lines = text.split("\n"), marked(text).split("\n")
    mine = lines[: next((at for at, line in enumerate(lines) if line.rstrip() == "--"), None)]
    if re.match(r"\s*stop(?!\w)", "\n".join(line for line in mine if not line.lstrip().startswith(">")), re.I):
        return None
    short = "\n".join(first_paragraph(mine))
    command = named(place, short)
    words = re.findall(r"[^\W\d_]+", short.lower())
    agrees = YES if place.phase == "proposed" else YES | RECEIVED
    yes = not re.search(r"[\d?\uff1f]", short) and agrees & {*words} and {*words} <= YES | RECEIVED | BESIDE
    if command is not None:
        if command.name not in SENTENCES[place.phase]:
            return None
        if command.name == "accept":
            right = command.said["*hash"] == place.prev and of_these_terms(place, written, quoted=False)
            return command if right else None
        where = {key: one for key, one in command.said.items() if key != "*match"}
        return place.command(command.name, **where)
    if place.phase == "proposed":
        accepts = yes and of_these_terms(place, written, quoted=True)
        return Command("accept", {"*match": place.match, "*hash": place.prev}) if accepts else None
    if yes:
        return quoted_form(place, lines)
    if is_broken(short):
        return None
    own = re.sub(r"(?i)\A(orders|setup)[:,]?\s+", "", short).strip()
    if place.phase == "setup":
        return None if SAYS_NOTHING.fullmatch(own) else place.command("setup", own)
    orders = FINAL.sub("", own).strip()
    final = {"*final": "yes"} if FINAL.search(short) else {}
    if SAYS_NOTHING.fullmatch(orders) and (orders or not final):
        return None
    return place.command("orders", orders, **final)
