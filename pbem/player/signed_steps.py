"""What others signed in a sealed game, compared with what the server told about it.

A server in league with one player could show the other a commitment that nobody signed, and exchange it later. So the
signed text itself comes with the letters: its signature, its words, and the head that it cites must fit. A text that
cannot be read at all is another player's doing, and not the server's lie: that is `Unread`. Pure.
Implements sealed.md 1.5, "Letters".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused
from pbem.games.sealed import COMMIT
from pbem.identity import BadKey
from pbem.mail.commands import parse
from pbem.player.correspondence.matches import Impossible
from pbem.player.sealed_game import Contradiction
from pbem.proof.signed_letters import shown
from pbem.requests import Resign, Sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.mail.commands import AnyCommand
    from pbem.player.sealed_game import ToldGame, ToldStep
    from pbem.requests import Section

__all__ = ["Unread", "check", "check_resigned", "check_seal", "unproved"]


class Unread(Impossible):
    """What another player signed cannot be read; the text says what, and why, and `content` is what was signed."""

    def __init__(self, why: str, content: bytes) -> None:
        super().__init__(why)
        self.content = content


def unproved(game: ToldGame, proved: int) -> Iterator[tuple[int, Sequence[ToldStep]]]:
    """The letters of others, each as the place of its first step and its steps, but for the first `proved` steps.

    They are counted as they are told, because the server could choose the numbers freely.
    """
    steps = game.told.steps
    at = 0
    while at < len(steps):
        first = steps[at]
        end = at + 1
        while end < len(steps) and first.mail is not None and steps[end].mail == first.mail:
            end += 1
        if first.seat != game.place.seat and end > proved:
            yield at, steps[at:end]
        at = end


def check(game: ToldGame, at: int, steps: Sequence[ToldStep], content: bytes, heads: Mapping[int, str]) -> None:
    """Whether a signed text is what was told as these steps, the first of which is at this place of the game.

    `heads`: the known heads, by their entries. Raises `Contradiction`; `Impossible` if the letter cites a
    head that no letter has shown yet; `Unread`.
    """
    first = steps[0]
    where = f"turn {first.turn}, seat {first.seat}, {first.step}"
    command = _signed(game, first.seat, content, where)
    if _place_of(command) != _place(game, first.seat, "step", first.turn):
        raise Contradiction(f"{where}: what was signed belongs elsewhere")
    prev = command.fields.get("prev")
    seq = next((seq for seq, head in heads.items() if head == prev), None)
    if seq is None:
        raise Impossible(f"{where}: what was signed follows a head that no letter has shown here yet")
    if not _since(game, at) <= seq < first.seq:
        raise Contradiction(f"{where}: what was signed follows another step than the one told here")
    sections = [section for section in _sections(command) if section.name != "note"]
    if len(sections) != len(steps):
        raise Contradiction(f"{where}: other steps were signed than told")
    for number, ((name, words, text), told) in enumerate(zip(sections, steps, strict=True)):
        values = _values(game, told)
        try:
            lines = game.rules.judge(game.tables[at + number], told.seat, told.step, text)
        except Refused as refused:
            raise Contradiction(f"{where}: what was signed is no such step") from refused
        if (name, list(words), list(lines)) != (told.step, values, told.lines):
            raise Contradiction(f"{where}: something else was signed than told")


def check_seal(game: ToldGame, seat: int, content: bytes) -> None:
    """Check that a signed text commits a seat to the setup that was told; raises `Contradiction`, `Unread`."""
    where = f"seat {seat}, setup"
    command = _signed(game, seat, content, where)
    if _place_of(command) != _place(game, seat, "seal"):
        raise Contradiction(f"{where}: what was signed belongs elsewhere")
    if ("commitment", (game.told.commitments.get(str(seat)),), "") not in _sections(command):
        raise Contradiction(f"{where}: something else was signed than told")


def check_resigned(game: ToldGame, seat: int, content: bytes, heads: Mapping[int, str], begun: int) -> None:
    """Check that a text gives up this game for a seat, and was signed after all steps that were told.

    An earlier resignation that was refused then must not count now: if no step was told yet, it must cite a later
    entry than `begun`. Raises `Contradiction`.
    """
    where = f"game {game.place.game}, seat {seat}, resignation"
    player = game.players[seat - 1]
    place = ("resign", game.place.match, game.place.server, player, str(game.table.turn))
    earliest = game.told.steps[-1].seq if game.told.steps else begun + 1
    for command in _commands(game, seat, content, where):
        form, asked = command.form, command.request
        named = (command.name, command.match, form.server, form.player, str(form.turn))
        after = next((seq for seq, head in heads.items() if head == form.prev), -1)
        if (
            named == place
            and isinstance(asked, Resign)
            and (asked.whole or asked.game == game.place.game)
            and after >= earliest
            and not command.faults
        ):
            return
    raise Contradiction(f"{where}: no such thing was signed here")


def _place(game: ToldGame, seat: int, command: str, turn: int | None = None) -> tuple[object, ...]:
    """Where such a letter of a seat belongs."""
    return command, game.place.match, game.place.game, turn, game.place.server, game.players[seat - 1]


def _place_of(command: AnyCommand) -> tuple[object, ...]:
    """Where it says that it belongs."""
    form = command.form
    return command.name, command.match, form.game, form.turn, form.server, form.player


def _sections(command: AnyCommand) -> Sequence[Section]:
    return command.request.sections if isinstance(command.request, Sections) else ()


def _values(game: ToldGame, told: ToldStep) -> list[str | None]:
    """The words of a step's section before its lines."""
    if told.step == COMMIT:
        return [told.paper]
    return [(told.values or {}).get(head) for head in game.rules.papers[told.step].values]


def _since(game: ToldGame, at: int) -> int:
    """The entry from which on the seat owed the step at this place: its letter may cite heads from there on."""
    steps, seat = game.told.steps, game.told.steps[at].seat
    while at and game.rules.owed(game.tables[at - 1], seat) and steps[at - 1].seat != seat:
        at -= 1
    return steps[at - 1].seq if at else 0


def _signed(game: ToldGame, seat: int, content: bytes, where: str) -> AnyCommand:
    """The one command that a text signs with a key of this seat; raises `Unread`."""
    commands = _commands(game, seat, content, where)
    if len(commands) != 1 or commands[0].faults:
        raise Unread(_unread(game, seat, where, "It is not one letter of a sealed game."), content)
    return commands[0]


def _commands(game: ToldGame, seat: int, content: bytes, where: str) -> Sequence[AnyCommand]:
    """The commands that a text signs with a key of this seat; raises `Unread`."""
    try:
        read = shown(content, game.told.keys.get(str(seat), ()), game.place.server)
    except BadKey as error:
        raise Unread(_unread(game, seat, where, error.reason), content) from error
    if read.verdict.kind != "valid":
        raise Unread(_unread(game, seat, where, read.verdict.reason), content)
    return parse(read.text).commands


def _unread(game: ToldGame, seat: int, where: str, why: str) -> str:
    return f"what {game.players[seat - 1]} signed cannot be read (game {game.place.game}, {where}): {why}"
