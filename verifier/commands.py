"""6.3 Commands."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verifier.conventions import No
from verifier.text import marked, parts_of, plain, strings, unbase64

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import Message

    from verifier.text import Part

M = r"(m?[0-9]\S*|turn|game)( |$)"
B = (
    r"[a-z][a-z0-9_-]*( (server|player|end|#\S*|help|games|whoami|standings|rules|sheet|register|confirm|key|recover"
    r"|address|set|vacation|new|list|accept|decline|join|withdraw|setup|seal|step|reveal|orders|clear|status|preview"
    r"|report|transcript|diary|press|observe|unobserve|block|unblock|resign|draw|annul|extend|claim|substitute"
    r"|tournament|enter|leave|challenge|rule))?$"
)
C = r"\S+ (server|challenge|end)$|(server|challenge|end)( |$)|\S*$"
N = r"[a-z][a-z0-9_-]*[,;.:]?( with| server| player| prev| rev| \S+:| end\S?)?$"
T = r"t[0-9]\S*( |$)"
R = r"((?=\S{8})\S*[0-9]|[0-9a-f]{4}\b|-----BEGIN|end\b|$)"
COMMANDS: dict[str, tuple[str, str, str]] = {
    "help": ("?line", "", ""),
    "games": ("", "", ""),
    "whoami": ("", "", ""),
    "standings": ("", "", ""),
    "rules": ("sheet", "", ""),
    "sheet": ("sheet", "", ""),
    "register": ("-name like ?key", "", ""),
    "confirm": ("name", "fields block", C),
    "key add": ("?key ?fingerprint", "fields", ""),
    "key revoke": ("fingerprint", "fields", ""),
    "key keep": ("", "fields", ""),
    "recover": ("?code ?key", "", R),
    "address add": ("any", "fields", ""),
    "set": ("any any", "fields", r"(format|language|mail|reminders|timezone|composer|program)( |$)"),
    "set notify": ("any", "fields", ""),
    "vacation": ("days", "fields", r"([0-9]|off\b)"),
    "new": ("name ?with", "fields options", N),
    "list": ("?=open|mine", "", ""),
    "accept": ("match ?hash", "fields", ""),
    "decline": ("match", "fields", ""),
    "join": ("match", "fields", M),
    "withdraw": ("match", "fields", M),
    "tournament new": ("name", "fields options", ""),
    "tournament": ("tournament", "", T),
    "enter": ("tournament ?hash ?team", "fields", T),
    "leave": ("tournament", "fields", T),
    "challenge": ("tournament name", "fields", T),
    "rule": ("tournament ruling", "fields options", T),
    "setup": ("match ?game", "fields block", M),
    "seal": ("match ?game", "fields block", M),
    "step": ("match ?game turn0", "fields block", M),
    "reveal": ("match ?game", "fields block", M),
    "orders": ("match turn ?final", "fields block", M),
    "clear": ("match ?turn", "fields+", ""),
    "status": ("like", "", ""),
    "preview": ("match turn ?final", "fields block", M),
    "report": ("match ?game ?turn", "", ""),
    "transcript": ("match", "", ""),
    "diary": ("match", "", M),
    "press": ("match", "message", M),
    "observe": ("match", "fields", M),
    "unobserve": ("match", "fields", M),
    "block": ("name", "fields", B),
    "unblock": ("name", "fields", B),
    "resign": ("match ?game", "fields+", ""),
    "draw": ("match =offer|accept|decline ?sharing", "fields+", M),
    "annul": ("match =offer|accept|decline", "fields+", M),
    "extend": ("match time", "fields+", M),
    "claim": ("match", "fields+", M),
    "substitute": ("match name for leaver ?hash", "fields+", M),
}
ASK = {"help", "games", "rules", "sheet", "whoami", "list", "tournament", "status", "report", "diary", "transcript"}
ASK |= {"standings"}
FIELDS = {"server", "player", "prev", "rev", "challenge", "fingerprint", "proof"}
RESERVED = {*FIELDS, "end", "final", "with", "stop"}
NAME = re.compile(
    r"(?!(?:server|player|prev|rev|challenge|fingerprint|proof|end|final|with|stop)$)[a-z][a-z0-9_-]{0,31}"
)
WORDS = {
    "match": re.compile(r"m[1-9][0-9]{0,8}"),
    "tournament": re.compile(r"t[1-9][0-9]{0,8}"),
    "sheet": re.compile("[a-z][a-z0-9_-]{0,31}"),
    "day": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "to": re.compile("to"),
    "off": re.compile("off"),
    "number": re.compile(r"[1-9][0-9]{0,4}"),
    "name": NAME,
    "leaver": NAME,
    "hash": re.compile(r"[0-9a-f]{8,64}"),
    "time": re.compile(r"[1-9][0-9]{0,5}[mhd]"),
    "any": re.compile(r"\S+"),
    "for": re.compile("for"),
    "code": re.compile(r"\S+"),
    "final": re.compile("final"),
}
ARMOR = re.compile(
    r"-----BEGIN (PGP PUBLIC KEY BLOCK|CERTIFICATE|PUBLIC KEY)-----(?:[^-]|-(?!----))*-----END \1-----"
)
SSH_KEY = re.compile(r"(ssh|ecdsa|sk)-[a-z0-9@.-]+")
WHOLE = re.compile(r"(?i)sha256:[a-z0-9+/]{43}=?|[0-9a-f]{40}|[0-9a-f]{64}|([0-9a-f]{2}:){31}[0-9a-f]{2}")
STRINGS = {"ssh-ed25519": 2, "sk-ecdsa-sha2-nistp256@openssh.com": 4}


@dataclass
class Command:
    name: str
    said: dict[str, str] = field(default_factory=dict)
    block: str = ""
    options: dict[str, str] = field(default_factory=dict)
    fault: bool = False

    def orders(self, turn: str) -> bool:
        """True if these are orders for a turn, or by `default`; a form that is empty and not final asks."""
        touched = self.block or "*final" in self.said
        return bool(touched) and self.name == "orders" and self.said.get("*turn") == turn


class Reading:
    """The row of words of a text."""

    def __init__(self, text: str, *, signed: bool) -> None:
        text = plain(text).split("-----BEGIN SSH SIGNATURE-----")[0]
        text = text if signed else marked(text)
        lines = list(itertools.takewhile(lambda line: line.rstrip() != "--", text.split("\n")))
        self.text = "\n".join(line for line in lines if not line.lstrip().startswith(">"))
        self.at = 0

    def peek(self, number: int = 0) -> str:
        found = re.match(r"\s*(\S+)(?!\S)" * (number + 1), self.text[self.at :])
        return found[number + 1] if found else ""

    def take(self, count: int = 1) -> str:
        """The last of the next words, which are taken."""
        found = re.compile(r"\s*(\S*)" * count).match(self.text, self.at)
        assert found
        self.at = found.end()
        return found[count]

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def bare(word: str) -> str:
    return word.rstrip(",;.:")


def read_commands(text: str, *, signed: bool = True, left: list[str] | None = None) -> list[Command]:
    """The commands of a text; what is left on their lines is added to `left`."""
    reading, found, unknown, below = Reading(text, signed=signed), list[Command](), 0, False
    while unknown < 5 and len(found) < 200 and (word := reading.peek().lower()):
        if word == "stop":
            break
        name = command_here(reading)
        if name is None:
            is_unknown = not (word.startswith("#") or re.match(r"end(?![^\s,;.])", word))
            unknown += is_unknown
            taken = reading.take()
            begins = not reading.text[: reading.at - len(taken)].rpartition("\n")[2].strip()
            below |= begins and is_unknown
            if left is not None and not begins:
                left.append(word)
            reading.skip_line()
            continue
        reading.take()
        begun = reading.text.rfind("\n", 0, reading.at) + 1
        reading.take(len(name.split()) - 1)
        command = Command(name)
        arguments(reading, command)
        if not signed:
            command.fault |= below and bool({*FIELDS, "*hash"} & command.said.keys())
            blocked = {"block", "options"} & {*COMMANDS[name][1].split()}
            command.fault |= bool(blocked and is_broken(reading.text[begun : reading.at]))
        found.append(command)
    return found


def is_broken(text: str) -> bool:
    """True if a line at the margin follows a long one with a comment."""
    lines = text.split("\n")
    pairs = itertools.pairwise(lines)
    return any(len(one.rstrip()) >= 60 and "#" in one and other[:1] not in {"", " ", "#"} for one, other in pairs)


def holds_commands(text: str) -> bool:
    left: list[str] = []
    names = {one.name for one in read_commands(text, signed=False, left=left)}
    stops = Reading(text, signed=False).peek().lower() == "stop"
    return stops or not names <= ASK or bool(names and not left)


def text_of(message: Message) -> str:
    return text_in([*parts_of(message)])


def text_in(parts: Sequence[Part]) -> str:
    """The text that is read: of several, the one that holds commands, or the first (6.1)."""
    return next(iter(texts_in(parts)), "")


def texts_in(parts: Sequence[Part]) -> list[str]:
    """The text that alone holds commands, or all if none does."""
    shown = [part for part in parts if part.kind == "text/plain" and not part.attached]
    written = [part for part in shown if part.text.strip()]
    chosen = [part for part in written if not part.name] or written or shown[:1]
    texts = [part.text.replace("\r\n", "\n") for part in chosen]
    holding = [text for text in texts if holds_commands(text)]
    if len(texts) > 1 and len(holding) > 1:
        return []
    return holding or texts


def only_command(text: str) -> Command | None:
    """The command of a text that has nothing else, and no fault."""
    reading = Reading(text, signed=True)
    name = command_here(reading)
    if name is None:
        return None
    reading.take(len(name.split()))
    command = Command(name)
    arguments(reading, command)
    blocks = {"block", "message", "options"} & set(COMMANDS[name][1].split())
    ends = not blocks and bare(text.rsplit(maxsplit=1)[-1].lower()) == "end"
    is_cut = reading.text != plain(text)
    return None if command.fault or ends or is_cut or reading.peek() else command


def command_here(reading: Reading) -> str | None:
    for count in (2, 1):
        name = " ".join(reading.peek(number).lower() for number in range(count))
        if name in COMMANDS:
            follow = " ".join(filter(None, (reading.peek(count), reading.peek(count + 1))))
            opens = re.compile(COMMANDS[name][2], re.IGNORECASE)
            return name if opens.match(follow) else None
    return None


def arguments(reading: Reading, command: Command) -> None:
    wanted, then, _ = COMMANDS[command.name]
    for one in wanted.split():
        is_below = one[0] == "-" and re.compile(r"[^\S\n]*\S").match(reading.text, reading.at) is None
        if is_below or (not argument(reading, command, one.lstrip("?-")) and one[0] != "?"):
            command.fault = True
            break
    if "fields" in then:
        fields(reading, command, more="+" in then)
    if then == "message":
        message(reading, command)
    elif "block" in then or "options" in then:
        block(reading, command)
        if "options" in then and not command.fault:
            options(command)
    elif command.fault:
        reading.skip_line()
    elif reading.peek().lower() == "end" and ("?key" in wanted or {*FIELDS, "game", "turn"} & command.said.keys()):
        reading.take()
    if command.name == "confirm":
        content = re.sub(r"#[^\n]*", "", command.block).strip()
        command.fault |= not {"server", "challenge"} <= set(command.said) or bool(content)


def argument(reading: Reading, command: Command, one: str) -> bool:
    word = bare(reading.peek().lower())
    if one == "turn0" and (word, bare(reading.peek(1))) == ("turn", "0"):
        command.said["*turn"] = "0"
        reading.take(2)
        return True
    if one in {"turn", "turn0", "game"}:
        return argument_of_place(reading, command, one.rstrip("0"), word)
    if one == "days":
        days = ("off",) if word == "off" else ("day", "to", "day")
        return all(argument(reading, command, day) for day in days)
    if one == "like":
        return argument(reading, command, "match") or not re.match(r"m?\d|m$", word)
    if one == "line":
        return argument_on_line(reading)
    if one == "with":
        return others(reading, command)
    if one == "sharing":
        return those_who_share(reading, command)
    if one in {"key", "fingerprint"}:
        return argument_of_key(reading, command, one)
    if one == "team":
        return argument_of_team(reading, command, word)
    if one == "ruling":
        return argument_of_ruling(reading, command, word)
    pattern = re.compile(one[1:]) if one.startswith("=") else WORDS.get(one)
    if pattern is None or not pattern.fullmatch(word):
        return False
    command.said["word" if one.startswith("=") else f"*{one}"] = word
    if one == "time":
        command.said["seconds"] = str(int(word[:-1]) * {"m": 60, "h": 3600, "d": 86400}[word[-1]])
    reading.take()
    return True


def argument_of_place(reading: Reading, command: Command, one: str, word: str) -> bool:
    if word in {"default", "all", "match"} and (one, word) not in {("game", "default")}:
        command.said[f"*{one}"] = word
        reading.take()
        return True
    number = bare(reading.peek(1))
    if word != one or not WORDS["number"].fullmatch(number):
        return False
    command.said[f"*{one}"] = number
    reading.take(2)
    return True


def argument_on_line(reading: Reading) -> bool:
    """A word on the command's line, or two that name a command."""
    words = [bare(word).lower() for word in reading.text[reading.at :].partition("\n")[0].split()]
    for _ in range(2 if len(words) > 1 and " ".join(words[:2]) in COMMANDS else len(words[:1])):
        reading.take()
    return bool(words)


def argument_of_team(reading: Reading, command: Command, word: str) -> bool:
    if word == "team" and NAME.fullmatch(name := bare(reading.peek(1).lower())):
        command.said["*team"] = name
        reading.take(2)
    elif word == "team":
        command.fault = True
    return True


def argument_of_ruling(reading: Reading, command: Command, word: str) -> bool:
    wanted = {"annul": "match", "substitute": "name for leaver", "close": ""}.get(word)
    if wanted is None:
        return False
    command.said["*what"] = word
    reading.take()
    return all(argument(reading, command, one) for one in wanted.split())


def others(reading: Reading, command: Command) -> bool:
    if reading.peek().lower() != "with":
        return False
    reading.take()
    names: list[str] = []
    while (word := reading.peek()) and not word.endswith(":") and bare(word.lower()) not in RESERVED:
        names += [name.strip("<>;").lower() for name in reading.take().split(",") if name]
    command.said["*with"] = " ".join(names)
    return bool(names)


def those_who_share(reading: Reading, command: Command) -> bool:
    """The names after `for`, on its line."""
    if re.compile(r"[^\S\n]*for(?!\S)", re.I).match(reading.text, reading.at) is None:
        return False
    reading.take()
    names = set[str]()
    while (word := reading.peek()) and goes_on(reading, word):
        names |= {name.lower() for name in reading.take().rstrip(";.:").split(",") if name}
    command.said["*sharing"] = " ".join(sorted(names))
    command.fault = not names
    return bool(names)


def goes_on(reading: Reading, word: str) -> bool:
    """True if the next word is on the line of the last one, or may be the rest of one that was too long."""
    gap = reading.text[reading.at : reading.text.index(word, reading.at)]
    words = [*reading.text[: reading.at].rpartition("\n")[2].split(), word]
    is_broken_off = gap.count("\n") == 1 and len(" ".join(words)) > 66
    is_name = word.lower() not in RESERVED | {"game", "turn"} and command_here(reading) is None
    return "\n" not in gap or (is_broken_off and is_name)


def argument_of_key(reading: Reading, command: Command, one: str) -> bool:
    found = reading.match(ARMOR) if one == "key" else None
    if found or (one == "key" and SSH_KEY.fullmatch(reading.peek())):
        command.said["*key"] = found[0] if found else ssh_key(reading)
        return True
    word = bare(reading.peek())
    if one == "key" or word.lower() in RESERVED or not re.fullmatch(r"[A-Za-z0-9+/:=]{4,200}", word):
        return False
    group = re.fullmatch("[0-9A-Fa-f]{4}", word) and re.match(r" *\S", reading.text[reading.at :])
    if command.name == "key add" and not (group or WHOLE.fullmatch(word)):
        return False
    command.said["*fingerprint"] = reading.take()
    while re.fullmatch(r"[0-9A-Fa-f]{4}", command.said["*fingerprint"][-4:]) and len(word) == 4:
        if not re.fullmatch(r"[0-9A-Fa-f]{4}", reading.peek()):
            break
        command.said["*fingerprint"] += reading.take()
    return True


def ssh_key(reading: Reading) -> str:
    """A key, of however many words a mail program made it."""
    kind, blob = reading.take(), ""
    while re.fullmatch(r"[A-Za-z0-9+/=]+", reading.peek()) and not is_whole(blob, STRINGS.get(kind, 3)):
        blob += reading.take()
    reading.skip_line()
    return f"{kind} {blob}"


def is_whole(blob: str, count: int) -> bool:
    try:
        return len(strings(unbase64(blob))) == count
    except No:
        return False


def fields(reading: Reading, command: Command, *, more: bool) -> None:
    known = (
        FIELDS
        | ({"game", "turn"} if more else set())
        | ({"final"} if command.name in {"orders", "preview"} else set())
    )
    while (word := reading.peek().lower()) in known and command_here(reading) is None:
        reading.take()
        if word == "final":
            command.said["*final"] = "yes"
            continue
        value = reading.peek()
        value = value if word == "fingerprint" else value.lower()
        if not value or value in FIELDS or value.lower() == "end":
            command.fault = True
            continue
        reading.take()
        at_first = (word, value) == ("turn", "0") and command.name != "clear"
        number = word not in {"rev", "game", "turn"} or at_first or re.fullmatch(r"[1-9][0-9]{0,8}", value)
        command.fault |= word in command.said or not number
        command.fault |= word in {"game", "turn"} and command.said.get(f"*{word}", "match") not in {"match", value}
        command.said[word] = value


def block(reading: Reading, command: Command) -> None:
    rest = reading.text[reading.at :]
    for found in re.finditer(r"(?i)(?<![^\s,;])end(?=[\s,;.]|$)", rest):
        line = rest[: found.start()].rpartition("\n")[2]
        if "#" not in line:
            command.block = rest[: found.start()].strip()
            reading.at += found.end()
            reading.match(re.compile(r"(?<!\s)[,;.]\S*"))
            return
    command.fault = True
    reading.at = len(reading.text)


def message(reading: Reading, command: Command) -> None:
    def line() -> str:
        return reading.text[reading.at :].partition("\n")[0]

    if not command.fault and line().strip().lower() == "public":
        reading.take()
    if reading.peek().lower() in FIELDS and reading.peek(2).lower() in FIELDS:
        fields(reading, command, more=False)
    rest = reading.text[reading.at :]
    last = re.compile(r"(?i)(?<!\S)end\s*\Z")
    found = last.search(line()) or re.search(r"(?im)(?<=\n) *end *$", rest) or last.search(rest)
    command.fault |= found is None
    reading.at += found.end() if found else len(rest)


def options(command: Command) -> None:
    name = ""
    for word in re.sub(r"#[^\n]*", "", command.block).split():
        if word.endswith(":") and len(word) > 1:
            command.fault |= word[:-1].lower() in command.options
            name = word[:-1].lower()
            command.options[name] = ""
        else:
            command.fault |= not name
            command.options[name] = f"{command.options.get(name, '')} {word}".strip()
    command.fault |= not all(command.options.values())
