"""The form that mends a text, with its place filled in and its slips mended, to be signed or sent.

It is offered only if it would be legal as it is. Notation stays strict in what is signed.
Implements protocol.md, "Commands".
"""

from __future__ import annotations

import re
import textwrap
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pbem.desk.reply_tokens import least
from pbem.games import Fault, parts
from pbem.mail.commands import ALONE, COMMANDS, AnyCommand, parse
from pbem.match.state import Match, standing
from pbem.match.step import here
from pbem.phrase import Phrase
from pbem.proof.one_letter import FINAL, MOST, faults_of, says_something
from pbem.requests import PLACE, Accept, SubmitOrders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.desk.seats import SeatContext

_WIDTH = 72
"""The width, in columns, of a text that is to be signed."""

_COMMENT = re.compile(r"#[^\n]*")

_WORD = re.compile(r"[^\s,;]+")

NOT_SIGNED = Phrase("this must be signed with your key; `help signing` says how")
"""The fault of a form of a player's with a key that no key signed."""


def completed(
    seated: SeatContext, command: AnyCommand, faults: tuple[Fault, ...]
) -> tuple[tuple[Fault, ...], str | None]:
    """The faults of a refused setup or orders, and the form that mends all of them, if there is one."""
    match, seat = seated.match, seated.seat
    form, request = command.form, command.request
    if isinstance(request, Accept) and match.phase == "proposed":
        # Only the lack of the hash, or words beside it, can be mended.
        is_whole = request.hash and not command.faults
        others = [fault for fault in command.faults if fault.message != ALONE]
        return faults, None if is_whole or others else accepting(match)
    here_and_now = form.turn in {match.turn, None} and form.game in {match.game, None}
    if command.name != match.play.due(match, seat) or not here_and_now:
        return faults, None
    text = command.unclosed if command.block is None else command.block
    mended = complete(match, seat, text, final=getattr(request, "final", False), rev=form.rev)
    judged = faults_of(match, seat, text)
    others = [fault for fault in faults if fault not in judged]
    removed = (fault in command.faults or fault.message == NOT_SIGNED or _is_of_place(fault) for fault in others)
    if mended is None or not all(removed):
        return faults, None
    whole, slips = mended
    return (*others, *slips), whole


def _is_of_place(fault: Fault) -> bool:
    """True if the right place removes a fault; a text that names another server, player or turn is left alone."""
    return fault.rule in PLACE and (fault.token is None or fault.rule in {"prev", "rev"})


def stands(seated: SeatContext, command: AnyCommand) -> bool:
    """True if the seat has submitted before what this command submits, and it stands, or is stored for later."""
    match, seat = seated.match, seated.seat
    stored = any(of == seat for of, _ in match.stored) or standing(match.submissions, seat) is not None
    return stored and (command.name, match.phase) in {("setup", "setup"), ("orders", "playing")}


def proposing(command: AnyCommand, server: str, player: str) -> str | None:
    """The form of a proposal that lacks only its `end`, with its place."""
    if COMMANDS[command.name].body != "options" or command.block is not None or len(command.unclosed) > MOST:
        return None
    place = {"server": server, "player": player, **command.fields}
    lines = [*(f"{name} {value}" for name, value in place.items()), *command.unclosed.splitlines(), "end"]
    form = "\n".join([" ".join(command.head.split()), *(line for line in lines if line.strip())])
    reading = parse(form)
    whole = len(reading.commands) == 1 and not reading.ignored and not reading.commands[0].faults
    return form if whole else None


def complete(
    match: Match, seat: int, text: str, *, final: bool = False, rev: int | None = None
) -> tuple[str, list[Fault]] | None:
    """The form of what is due, with this text, and its slips; None if nothing legal is one slip away."""
    if not says_something(text) or len(text) > MOST or match.play.due(match, seat) is None:
        return None
    # The text as it is, then as it was probably meant: with `final` where it belongs, and without slips.
    bare = FINAL.sub("", text)
    readings = [(_COMMENT.sub("", text), final), (bare, True)]
    readings += [(parts.meant(match.rules, text), final), (parts.meant(match.rules, bare), True)]
    judged: set[str] = set()  # most readings are one and the same, and a game takes its time over many faults
    says = says_something(bare)
    for meant, at_once in readings:
        # Of a thumb that is up, nothing is left: that orders nothing, and so not even that nothing is done.
        if says_something(meant) is says and meant not in judged and not faults_of(match, seat, meant):
            return _form(match, seat, meant, final=at_once, rev=rev), list(_slips(text, meant))
        judged.add(meant)
    return None


def accepting(match: Match) -> str:
    """The line that accepts a proposal."""
    return f"accept {match.id} {match.rules_hash}"


def _form(match: Match, seat: int, text: str, *, final: bool, rev: int | None) -> str:
    playing = match.phase == "playing"
    place = here(match, seat, max(rev or 0, least(match, seat)), SubmitOrders())
    lines = [f"orders {match.id} turn {match.turn}" if playing else f"setup {match.id} game {match.game}"]
    lines += [f"server {place.server}", f"player {place.player}", f"prev {place.prev}", f"rev {place.rev}"]
    if final and playing:
        lines.append("final")
    written = "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    wrapped = "\n".join(
        textwrap.fill(line, _WIDTH, break_long_words=False, break_on_hyphens=False) for line in written.split("\n")
    )
    return "\n".join([*lines, wrapped if _mean_the_same(match, seat, written, wrapped) else written, "end"])


def _mean_the_same(match: Match, seat: int, one: str, other: str) -> bool:
    """True if two texts say the same, even if their lines end elsewhere."""
    if one == other or faults_of(match, seat, other):
        return one == other
    read = match.setup_of if match.phase == "setup" else match.orders_of
    return read(seat, one).text == read(seat, other).text


def _slips(text: str, meant: str) -> Iterator[Fault]:
    """Each place where the text differs from what was meant."""
    found = list(_WORD.finditer(_COMMENT.sub("", FINAL.sub("", text))))
    written, words = [word[0] for word in found], _WORD.findall(meant)
    for kind, start, end, first, last in SequenceMatcher(None, written, words, autojunk=False).get_opcodes():
        if kind == "replace":
            line = found[start].string.count("\n", 0, found[start].start()) + 1
            token, word = " ".join(written[start:end]), " ".join(words[first:last])
            message = Phrase("did you mean {meant}?", meant=word)
            if token.lower() == word.lower():
                message = Phrase("did you mean {meant}? Capitals matter", meant=word)
            yield Fault("meant", token, message, line)
