"""The reader: text in, commands with their arguments and blocks out.

`parse` never raises: faults are part of the command that has them. Implements protocol.md, "Commands" and
"Identity" (the signed forms).
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Generic

import msgspec

from pbem.games import Fault
from pbem.mail.commands.arguments import FIELDS, FINAL, masked
from pbem.mail.commands.cursor import Words, clean, first_paragraph, own_lines
from pbem.mail.commands.sections import read_sections
from pbem.mail.commands.table import COMMANDS, command_at
from pbem.phrase import Phrase
from pbem.requests import Accept, AnyForm, AnyRequest, InMatch, Requested_co, SignedForm

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pbem.mail.commands.arguments import Given
    from pbem.mail.commands.table import CommandSpec

_Wrong = tuple[str | None, Phrase]
"""A token as written, and its fault."""

MOST = 200
"""The most commands of one letter that desk and proof read; both ignore the rest."""

MAX_UNKNOWN = 5
"""The number of unknown lines that end the reading: a letter to somebody else is not searched for commands."""

NUMBERED = ("game", "turn")
"""The numeric fields of sentences whose own words do not name their game or turn."""

WRAPPED = re.compile(r"(?m)^(?=.{59,}\S)[^#\n]*#.*\n(?=[^\s#])")
"""A long line with a comment, and one at the margin behind it: perhaps the rest of a comment that a program broke."""

ALONE = Phrase(
    "not signed with a key, a form counts only if no other words stand above it: it may be a quote. Send it alone"
)
BROKEN = Phrase("the line behind a long comment may be the rest of it, which a mail program broke off")

_OPTIONS = 100
"""The most options of one command, and faults in them: the answer names each."""

_REV = re.compile(r"[1-9][0-9]{0,8}")
_MAIL = r"(?: sending)?(?: me)?(?: all| any| more| these| your)* (?:e-?)?mails?"
_COURTESY = r"(?:[ ,.!]+(?:please|thanks|thank you|bitte|danke))*[ ,.!]*"
_LEAVES = re.compile(rf"(?:stop|unsubscribe)(?:{_MAIL})?{_COURTESY}(?:\n|\Z|(?<= )(?:server|player) )", re.I)
"""A first line that asks for no more mail, and says nothing else."""
_STOP = re.compile(r"stop(?![\w?-])", re.I)

_END = re.compile(r"(?<![^\s,;])end(?![^\s,;.])", re.I)
_SCAN = re.compile(rf"#[^\n]*|({_END.pattern})", re.I)
_LAST_END = re.compile(r"(?<!\S)(end)\s*\Z", re.I)
_LINE_OF_END = re.compile(r"^ *(end) *$", re.I | re.M)
_PARAGRAPH_END = re.compile(r"\n *\n")
_COMMENT = re.compile(r"#[^\n]*")
_SECRET = re.compile(rf"\b({'|'.join(name for name, spec in COMMANDS.items() if spec.body == 'text')})\s+m\d", re.I)


class Command(msgspec.Struct, Generic[Requested_co], frozen=True):
    """One command of a letter."""

    name: str
    echo: str
    """The command as written, without quotes and invisible characters."""
    head: str
    """The words of the command itself, without the fields and the block that follow them."""
    line: int
    """1-based line of the text that was parsed."""
    form: SignedForm[Requested_co]
    """The request, and the place that it names."""
    fields: dict[str, str] = {}
    """The header fields of a signed form as written: `server`, `player`, `prev`, `rev` and the rest of `FIELDS`."""
    block: str | None = None
    """The block's own text, line ends as written; None if the command has no block, or an unclosed one."""
    unclosed: str = ""
    """If a setup, orders or a proposal lack their `end`: the paragraph that might be their text."""
    block_line: int = 0
    """1-based line of the text that was parsed where the block's own text begins."""
    faults: tuple[Fault, ...] = ()
    words: str = ""
    """The SHA-256 of the whole command, with one blank between its words; of a secret one, of its echo."""

    @property
    def same(self) -> Hashable:
        """A value for comparison: equal for commands that differ only in capitals, blanks and quotes."""
        if self.faults:
            return (self.name, " ".join(self.echo.lower().split()))
        form: AnyForm = self.form
        if "text" in form.request.__struct_fields__:
            form = msgspec.structs.replace(form, request=msgspec.structs.replace(form.request, text=""))
        words = tuple((self.block or "").split())
        return (self.name, msgspec.json.encode((form, self.fields), order="sorted"), words)

    @property
    def request(self) -> Requested_co:
        """The request of the form."""
        return self.form.request

    @property
    def match(self) -> str | None:
        """The name of the match, such as `m17`, if the command names one."""
        return self.request.match if isinstance(self.request, InMatch) else None


AnyCommand = Command[AnyRequest]


class Reading(msgspec.Struct, frozen=True):
    """The commands in a letter, and the lines that were ignored."""

    commands: list[AnyCommand]
    ignored: list[str]
    """The lines that were skipped, in their order, also those after `stop`; a quote, or all after `-- `, is a run."""
    optout: bool = False
    """The first word is `stop`, or the first line `unsubscribe`: no more mail, except about running matches."""
    place: dict[str, str] = {}
    """The server and the player that a `stop` names."""
    short: str = ""
    """The first paragraph without its quotes, if the letter has no commands but faulty ones that name no match, and
    `accept` without a hash.

    Nothing in it is masked: a proof reads it."""
    meant: list[AnyCommand] | None = None
    """The commands that might have had an effect, if the letter must have none."""


def asked_by_subject(subject: str) -> list[AnyCommand]:
    """The command that a subject line gives, if any; a text of one word, such as `Help!`, is read in the same way."""
    word = subject.strip(" .!?").lower()
    spec = COMMANDS.get(word)
    return parse(word).commands if spec is not None and spec.by_subject else []


def asked_by_nothing() -> AnyCommand:
    """The command that answers a player whose letter has none."""
    name = next(spec.name for spec in COMMANDS.values() if spec.by_nothing)
    return parse(name).commands[0]


def parse(text: str, *, signed: bool = True) -> Reading:
    """Read the commands of a text, up to a limit, and ignore the rest; never raises.

    What no key signed may be a quote, or broken on its way: commands that this may have made get a fault.
    """
    lines = own_lines(clean(text), signed=signed)
    words = Words(lines.kept)
    commands, skipped = _read(words, signed=signed)
    skipped += lines.quotes
    if words.more:
        numbers = (number for number, _ in lines.kept if number >= words.line(words.start))
        unread = zip(numbers, words.text[words.start :].split("\n"), strict=True)
        skipped += [(number, line.strip()) for number, line in unread if line.strip()]
    first = first_paragraph(lines)
    leaves = not commands and _LEAVES.match(first) is not None
    optout = leaves or (not commands and _STOP.match(first) is not None)
    if not commands and not optout:  # a proof may read commands, so their reading must not change
        # What a phone or the introduction of a quote adds below may have made prose of `block ann`.
        alone, rest = _read(Words([(1, first)]), signed=signed)
        commands = asked_by_subject(first) or [one for one in alone if not (rest or one.faults)]
        skipped = [(line, run) for line, run in skipped if not commands or run != first]
    skipped.sort()
    ignored = [masked(run) for run in (*(run for _, run in skipped), *lines.tail)]
    # `Stop it, you bully!` in answer to a message is said to its writer.
    short = "" if leaves or any(map(_is_whole, commands)) else first
    place = {}
    if optout:
        words.take()
    while optout and words.low() in {"server", "player"}:
        name = words.take().lower()
        place[name] = words.take().lower()
    return Reading(commands, ignored, optout, place, short)


def holds_commands(text: str) -> bool:
    """True if an unsigned text has a command, or begins with `stop`: of a letter's texts, such a one is read.

    Those that only ask are not enough where other words follow on their lines: a gateway's text may be `Help us save
    paper`, and the player's has bare orders.
    """
    kept = own_lines(clean(text), signed=False).kept
    words = Words(kept)
    if words.low() == "stop":
        return True
    commands, skipped = _read(words, signed=False)
    lines = dict(kept)
    if all(COMMANDS[one.name].only_asks for one in commands):
        return bool(commands) and all(run == lines[number].strip() for number, run in skipped)
    return True


def _read(words: Words, *, signed: bool) -> tuple[list[AnyCommand], list[tuple[int, str]]]:
    """The commands of a text, up to a limit, and the numbered lines between them."""
    commands: list[AnyCommand] = []
    skipped: list[tuple[int, str]] = []
    unknown = 0
    below = False
    while words.more and words.low() != "stop" and unknown < MAX_UNKNOWN and len(commands) < MOST:
        spec = command_at(words)
        start = words.start
        if spec is not None:
            command = _command(words, spec)
            commands.append(command if signed else _doubted(command, words, start, below=below))
            continue
        # A stray `end` or a comment does not count as an unknown line.
        is_unknown = not (_END.match(words.word()) or words.word().startswith("#"))
        unknown += is_unknown
        # What is left on a command's line is no line of its own.
        below = below or (is_unknown and not (words.at and words.same_line()))
        words.take()
        words.take_line()
        skipped.append((words.line(start), words.text[start : words.passed]))
    return commands, skipped


def _is_whole(command: AnyCommand) -> bool:
    """True if a command says all of something; an `accept` without the hash of the terms does not."""
    if isinstance(command.request, Accept) and command.request.hash is None:
        return False
    return command.match is not None or not command.faults


def without_effect(reading: Reading) -> Reading:
    """The reading of a letter that must have no effect: its questions are answered, and nothing else is obeyed."""
    asked = [command for command in reading.commands if COMMANDS[command.name].only_asks]
    meant = [command for command in reading.commands if not COMMANDS[command.name].only_asks]
    return Reading(asked, reading.ignored, short=reading.short, meant=meant)


def _doubted(command: AnyCommand, words: Words, start: int, *, below: bool) -> AnyCommand:
    """A command that was read from its `start` to the cursor, with the faults that it has where nobody signed it."""
    doubts = []
    if below and ({*FIELDS} & command.fields.keys() or getattr(command.request, "hash", None)):
        doubts.append(ALONE)
    lines = words.text[words.text.rfind("\n", 0, start) + 1 : words.passed]
    if COMMANDS[command.name].body not in {None, "press"} and WRAPPED.search(lines):
        doubts.append(BROKEN)
    faults = [Fault(command.name, None, message) for message in doubts]
    return msgspec.structs.replace(command, faults=(*command.faults, *faults)) if faults else command


def _command(words: Words, spec: CommandSpec) -> AnyCommand:
    start = words.start
    words.at += len(spec.name.split())
    given: Given = {}
    wrong = _read_slots(words, spec, given)
    head = words.text[start : words.passed]
    fields = _read_fields(words, spec, given, wrong)
    wrong += _contradicted(given, fields)
    block: str | None = None
    unclosed = ""
    block_line = words.line(words.start) if spec.block else 0
    if spec.block:
        begins = words.start
        block = _take_block(words, spec, wrong)
        if block is None and spec.body in {"text", "options"}:
            unclosed = _PARAGRAPH_END.split(words.text[begins:], 1)[0].strip()
        given |= _read_block(spec, block, fields, wrong)
    elif wrong:
        words.take_line()
    elif words.low() == "end" and (fields or any(slot.closed for slot in spec.slots)):
        words.take()
    line = words.line(start)
    faults = tuple(Fault(spec.name, token, message) for token, message in wrong)
    whole = words.text[start : words.passed]
    echo = masked(whole)
    if spec.secret:
        whole = echo = f"{spec.name} ..."
    elif spec.body == "sections":  # its note to oneself is unreadable
        echo = head
    return Command(
        spec.name,
        echo,
        head,
        line,
        _form(spec, given, fields),
        fields,
        block,
        unclosed,
        block_line,
        faults,
        sha256(" ".join(whole.split()).encode("utf-8", "replace")).hexdigest(),
    )


def _form(spec: CommandSpec, given: Given, fields: dict[str, str]) -> AnyForm:
    """The arguments as a request, with its place, which includes a game or turn that the words name."""
    if spec.body == "fields":
        given |= fields
    holds = {name: value for name, value in given.items() if name in spec.request.__struct_fields__}
    place: dict[str, object] = {name: fields.get(name) for name in ("server", "player", "prev")}
    place |= {name: _number(spec, name, fields[name]) for name in ("rev", *NUMBERED) if name in fields}
    place |= {name: given[name] for name in NUMBERED if name in given}
    return msgspec.convert({"request": {"type": spec.request.__name__, **holds}, **place}, AnyForm)


def _read_slots(words: Words, spec: CommandSpec, given: Given) -> list[_Wrong]:
    for slot in spec.slots:
        token = words.word() if words.same_line() else None
        missing = slot.read(words, given)
        if missing is not None:
            return [(token, Phrase("`{command}`: {missing}.", command=spec.name, missing=missing))]
    return []


def _read_fields(words: Words, spec: CommandSpec, given: Given, wrong: list[_Wrong]) -> dict[str, str]:
    """Take the header fields of a signed form, in any order, `final` among them."""
    fields: dict[str, str] = {}
    # A signed message begins with two fields; a single `server` may well be the first word of one.
    signed = words.low() in FIELDS and words.low(2) in FIELDS
    if not spec.has_fields or (spec.body == "press" and not signed):
        return fields
    known = {*FIELDS, *(NUMBERED if spec.sentence else ()), *(["final"] if FINAL in spec.slots else ())}
    # A `challenge` that names a tournament is the next command.
    while (name := words.low()) in known and command_at(words) is None:
        if name == "final":
            FINAL.read(words, given)
            continue
        words.at += 1
        # Fingerprints in base64 depend on case; everything else is compared in lower case.
        value = words.word() if name == "fingerprint" else words.low()
        if words.low() in {"", "end", *FIELDS}:
            wrong.append((name, Phrase("`{name}` has no value.", name=name)))
            continue
        words.at += 1
        if name in fields:
            wrong.append((name, Phrase("`{name}` appears twice.", name=name)))
        elif name in {"rev", *NUMBERED} and _number(spec, name, value) is None:
            wrong.append((value, Phrase("`{name}` must be a whole number, at least 1.", name=name)))
        fields.setdefault(name, value)
    return fields


def _number(spec: CommandSpec, name: str, value: str) -> int | None:
    """The number in a field, or None; it may be turn 0, in which some games open setups, but not to withdraw."""
    at_first = name == "turn" and value == "0" and not spec.withdraws
    return int(value) if at_first or _REV.fullmatch(value) else None


def _contradicted(given: Given, fields: dict[str, str]) -> list[_Wrong]:
    """The faults of games and turns for which the fields and the command's own words name different numbers."""
    twice = ((name, fields[name]) for name in NUMBERED if name in fields and name in given)
    return [
        (value, Phrase("`{name}` appears twice.", name=name)) for name, value in twice if value != str(given[name])
    ]


def _take_block(words: Words, spec: CommandSpec, wrong: list[_Wrong]) -> str | None:
    """Take the words up to `end`, and return the text between."""
    start = words.start
    # A text ends at the first `end` outside comments.
    in_text = (match.span(1) for match in _SCAN.finditer(words.text, start) if match[1])
    closing = _press_end(words) if spec.body == "press" else next(in_text, None)
    if closing is None:
        words.move_to(len(words.text))
        # The rest may be meant as the block's text: to obey commands in it would be guessing.
        wrong.append(
            (
                None,
                Phrase(
                    "The final line `end` of `{command}` is missing. Nothing after it was read.", command=spec.name
                ),
            )
        )
        return None
    words.move_to(closing[1])
    return words.text[start : closing[0]].strip()


def _press_end(words: Words) -> tuple[int, int] | None:
    """The place of the `end` of a message, whose text may contain that word: see the cases."""
    text, start = words.text, words.start
    # A message of one line, behind its command: the last word of that line.
    if words.same_line():
        end = _LAST_END.search(text[start:].partition("\n")[0])
        if end is not None:
            return start + end.start(1), start + end.end(1)
    else:
        start = text.rfind("\n", 0, start) + 1
    # Otherwise a line of its own.
    end = _LINE_OF_END.search(text, start)
    if end is not None:
        return end.span(1)
    # Otherwise the very last word of the letter.
    end = _LAST_END.search(text[start:])
    return None if end is None else (start + end.start(1), start + end.end(1))


def _read_block(spec: CommandSpec, block: str | None, fields: dict[str, str], wrong: list[_Wrong]) -> Given:
    """The fields of the request that a block's text fills; its faults are added."""
    if block is None:
        return {}
    if spec.body == "options":
        return {"options": _read_options(block, wrong)}
    if spec.body == "sections":
        sections, faults = read_sections(spec.name, block)
        wrong += faults
        return {"sections": sections}
    if spec.body == "press" and _SECRET.search(block):
        # If an `end` was forgotten, the next command's secrets would go to the opponent.
        wrong.append(
            (None, Phrase("The message contains the beginning of another command: close it with a line `end`."))
        )
    if spec.body == "fields":
        wrong.extend(
            (None, Phrase("`{name}` is missing.", name=name))
            for name in ("server", "challenge")
            if name not in fields
        )
        if _COMMENT.sub("", block).strip():
            wrong.append((block.split()[0], Phrase("Only the lines of the form may be here.")))
    return {"text": block}


def _read_options(block: str, wrong: list[_Wrong]) -> dict[str, str]:
    """Read `option: value` pairs: a word that ends in a colon begins the next one."""
    values: dict[str, list[str]] = {}
    last: list[str] | None = None
    for word in _COMMENT.sub("", block).split():
        if len(wrong) + len(values) > _OPTIONS:
            wrong.append((None, Phrase("These are too many options.")))
            return {}
        if word.endswith(":") and len(word) > 1:
            name = word[:-1].lower()
            if name in values:
                wrong.append((word, Phrase("`{name}` appears twice.", name=name)))
            last = values.setdefault(name, [])
        elif last is not None:
            last.append(word)
        else:
            wrong.append((word, Phrase("Options are written `option: value`.")))
    wrong.extend(
        (f"{name}:", Phrase("`{name}` has no value.", name=name)) for name, value in values.items() if not value
    )
    return {name: " ".join(value) for name, value in values.items()}
