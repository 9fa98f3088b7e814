"""Others' signed texts in a sealed game, judged in the place of the server's account of them.

A server in league with one player could show the other a commitment that nobody signed, and exchange it later: so the
signed text itself comes with the letters, and must bring the very steps that were told. A text that cannot be read is
another player's doing, and not the server's lie: that is `Unread`. Pure. Implements sealed.md 1.5, "Letters".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pbem.games import Refused
from pbem.identity import BadKey
from pbem.mail.commands import parse
from pbem.match.changed import replace
from pbem.match.sealed_letters import judge_steps
from pbem.player.correspondence.standings import Impossible
from pbem.player.sealed_view import Contradiction, refusal
from pbem.proof.signed_letters import shown
from pbem.requests import Resign, Seal, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.mail.commands import AnyCommand
    from pbem.player.sealed_view import SealedSide
    from pbem.requests import Requested, SignedForm


class Unread(Impossible):
    """A text signed by another player cannot be read; the message says which and why, `content` is the text."""

    def __init__(self, why: str, content: bytes) -> None:
        super().__init__(why)
        self.content = content


def unproved(game: SealedSide, proved: int) -> Iterator[tuple[int, int]]:
    """The first step of each letter of others, and its number of steps; without the first `proved` steps.

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
            yield at, end - at
        at = end


def check_steps(
    game: SealedSide, at: int, count: int, content: bytes, heads: Mapping[int, str], cited: Sequence[str]
) -> str:
    """Judge a signed text in the place of these steps that were told, of which there must be the same.

    `at` and `count`: where its first step is in the game, and how many there are. `heads`: the known heads, by their
    entries. `cited`: which head the letter of each step before cites, as far as it is known. Returns the head that it
    cites. Raises `Contradiction`; `Impossible` if no letter has shown that head yet; `Unread`.
    """
    first = game.told.steps[at]
    where = f"turn {first.turn}, seat {first.seat}, {first.step}"
    said, since = _signed(game, first.seat, content, where, TakeSteps), _since(game, at)
    if said.prev not in heads.values():
        raise Impossible("{where}: what was signed follows a head that no letter has shown here yet", where=where)
    printed = tuple(head for seq, head in heads.items() if since <= seq < first.seq)
    play = game.plays[at]
    steps = tuple(replace(filed, prev=prev) for filed, prev in zip(play.game.steps, cited, strict=True))
    play = replace(play, game=replace(play.game, steps=steps, printed={first.seat: printed}))
    try:
        taken = judge_steps(play, first.seat, said, first.mail or "", first.letter or "")
    except Refused as refused:
        raise refusal(f"{where}: what was signed is no such step", refused) from refused
    told = game.play.game.steps[at : at + count]
    if tuple(replace(one.filed, prev="") for one in taken) != told:
        raise Contradiction(f"{where}: something else was signed than told")
    return str(said.prev)


def check_seal(game: SealedSide, seat: int, content: bytes) -> None:
    """Check that a signed text commits a seat to the setup that was told; raises `Contradiction`, `Unread`."""
    where = f"seat {seat}, setup"
    said = _signed(game, seat, content, where, Seal)
    if ("commitment", (game.told.commitments.get(str(seat)),), "") not in said.request.sections:
        raise Contradiction(f"{where}: something else was signed than told")


def check_resigned(game: SealedSide, seat: int, content: bytes, heads: Mapping[int, str], begun: int) -> None:
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
        given_up = isinstance(asked, Resign) and (asked.whole or asked.game == game.place.game)
        if named == place and given_up and after >= earliest and not command.faults:
            return
    raise Contradiction(f"{where}: no such thing was signed here")


def _since(game: SealedSide, at: int) -> int:
    """The entry from which on the seat owed the step at this place: its letter may cite heads from there on."""
    steps, seat = game.told.steps, game.told.steps[at].seat
    while at and game.rules.owed(game.plays[at - 1].table, seat) and steps[at - 1].seat != seat:
        at -= 1
    return steps[at - 1].seq if at else 0


def _signed(game: SealedSide, seat: int, content: bytes, where: str, kind: type[Requested]) -> SignedForm[Requested]:
    """The form of the one command of a kind that a text signs with a key of this seat, for this game.

    Raises `Contradiction`, `Unread`.
    """
    commands = _commands(game, seat, content, where)
    if len(commands) != 1 or commands[0].faults:
        raise Unread(_unread(game, seat, where, "It is not one letter of a sealed game."), content)
    form, place = commands[0].form, game.place
    named = commands[0].match, form.game, form.server, form.player
    if type(form.request) is not kind or named != (place.match, place.game, place.server, game.players[seat - 1]):
        raise Contradiction(f"{where}: what was signed belongs elsewhere")
    return cast("SignedForm[Requested]", form)


def _commands(game: SealedSide, seat: int, content: bytes, where: str) -> Sequence[AnyCommand]:
    """The commands that a text signs with a key of this seat; raises `Unread`."""
    try:
        read = shown(content, game.told.keys.get(str(seat), ()), game.place.server)
    except BadKey as error:
        raise Unread(_unread(game, seat, where, error.reason), content) from error
    if read.verdict.kind != "valid":
        raise Unread(_unread(game, seat, where, read.verdict.reason), content)
    return parse(read.text).commands


def _unread(game: SealedSide, seat: int, where: str, why: str) -> str:
    return f"what {game.players[seat - 1]} signed cannot be read (game {game.place.game}, {where}): {why}"
