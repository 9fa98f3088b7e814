"""A sealed game as its players signed it: their texts, folded by the functions of the server and the verifiers.

Nothing else is believed of the game. The server only names the files that count, in order: another choice or order
is a game that the rules refuse, or that the transcript contradicts. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, cast

import msgspec

from pbem.games import Refused
from pbem.identity import BadKey
from pbem.mail.commands import parse
from pbem.match.changed import replace
from pbem.match.documents import SIGNED_TEXT
from pbem.match.sealed_letters import judge_steps
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.proof.normal_form import judged_by_others
from pbem.requests import Resign, Seal, Section, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from pbem.mail.commands import AnyCommand
    from pbem.match.sealed_game import SealedMoment
    from pbem.requests import SignedForm

log = logging.getLogger(__name__)

_Name = Annotated[str, msgspec.Meta(pattern=rf"\Am[0-9]{{1,9}}-[a-z0-9-]{{1,60}}{re.escape(SIGNED_TEXT)}\Z")]
"""Under any other name, nobody would look for it in a bundle."""
_Key = Annotated[str, msgspec.Meta(max_length=1 << 17)]
"""An OpenPGP key of all octets that a server takes is shorter."""


class Changed(Contradiction):
    """What the server says differs from what it said earlier."""


class Missing(Impossible):
    """A text that makes the game has not arrived."""


class SealedState(msgspec.Struct, frozen=True):
    """The sealed part of a position's or a setup's file."""

    keys: dict[str, list[_Key]]
    """The public keys of each seat that may sign its letters."""
    note: Annotated[str, msgspec.Meta(max_length=8192)] | None = None
    signed: list[_Name] = []
    """The files of the texts that make the game, in the order of the transcript."""
    resigned: _Name | None = None
    """The file of the letter by which a player gave up the game."""
    revealing: bool = False
    """True if the server asks for reveals: what it says here, a bundle contradicts."""

    @classmethod
    def read(cls, document: object) -> SealedState:
        """Read it from the `sealed` of such a file; raises `Contradiction`."""
        try:
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise Contradiction(f"what is said of the sealed game has no such form: {error}") from error


def fold(
    play: SealedMoment, told: SealedState, texts: Callable[[str], bytes | None], heads: Mapping[int, str]
) -> tuple[SealedMoment, int]:
    """The game that was signed, from its beginning, and the seat that gave it up after all of that, 0 for none.

    `texts`: the files that have arrived, by name; `heads`: the known heads of the transcript, by their entries.
    Raises `Contradiction`, and `Missing`.
    """
    seqs = {head: seq for seq, head in heads.items()}
    # A letter cites no head from before its steps were due, and a resignation none from before the last letter.
    since, cited = dict.fromkeys(range(1, len(play.players) + 1), 0), 0
    for name in told.signed:
        if (content := texts(name)) is None:
            raise Missing(
                "{name}, which a player signed, has not arrived: `pbem play ask report {match}`",
                name=name,
                match=play.match,
            )
        seat, commands = _signed(play, told, name, content)
        place, going = (play.match, play.server, play.number, play.players[seat - 1]), set[int]()
        named = [(one.match, one.form.server, one.form.game, one.form.player) for one in commands if not one.faults]
        if named != [place] or len(commands) > 1:
            raise Contradiction(f"{name}: it is not a letter of this game")
        form = commands[0].form
        seq, sealed = seqs.get(str(form.prev), 0), play.game.commitments
        match form.request:
            case TakeSteps() if len(sealed) == len(play.players):
                if seq and seq < since[seat]:
                    raise Contradiction(f"{name}: it cites a head from before it was due")
                going = {other for other in since if other != seat and play.rules.owed(play.table, other)}
                play = _taken(play, seat, cast("SignedForm[TakeSteps]", form), name)
            case Seal(sections=(Section("commitment", (commitment,)), *_)) if seat not in sealed:
                play = replace(play, game=replace(play.game, commitments={**sealed, seat: commitment}))
            case _:
                raise Contradiction(f"{name}: it is not what was due")
        cited = max(cited, seq)
        since = {one: at if one in going else max(at, seq + 1) for one, at in since.items()}
    return play, _resigned(play, told, texts, {head for head, seq in seqs.items() if seq > cited})


def _taken(play: SealedMoment, seat: int, form: SignedForm[TakeSteps], name: str) -> SealedMoment:
    """The game after a letter with steps."""
    game = replace(play.game, printed={seat: (str(form.prev),)})
    try:
        return judge_steps(replace(play, game=game), seat, form, "", "")[-1].play
    except Refused as refused:
        raise refusal(name, refused) from refused


def _resigned(
    play: SealedMoment, told: SealedState, texts: Callable[[str], bytes | None], now: Container[str | None]
) -> int:
    """The seat that resigned the game at one of these heads, 0 for none: an earlier resignation was refused then."""
    content = texts(told.resigned) if told.resigned else None
    if told.resigned is None or content is None:
        return 0
    try:
        seat, commands = _signed(play, told, told.resigned, content)
    except Contradiction as wrong:
        log.warning("%s: %s", play.match, wrong)  # the owner is asked, as if nobody had resigned
        return 0
    for command in commands:
        form, asked = command.form, command.request
        whole = isinstance(asked, Resign) and (asked.whole or asked.game == play.number) and not command.faults
        place = play.match, play.server, play.players[seat - 1], play.table.turn
        if whole and (command.match, form.server, form.player, form.turn) == place and form.prev in now:
            return seat
    return 0


def _signed(play: SealedMoment, told: SealedState, name: str, content: bytes) -> tuple[int, Sequence[AnyCommand]]:
    """The seat that signed a text, and the commands in it."""
    for seat in range(1, len(play.players) + 1):
        try:
            commands = _commands(content, tuple(told.keys.get(str(seat), ())), play.server)
        except BadKey as error:
            raise Contradiction(f"the keys of seat {seat} cannot be read: {error.reason}") from error
        if commands is not None:
            return seat, commands
    raise Contradiction(f"{name}: no player has signed it")


@lru_cache(maxsize=2000)  # each letter brings the same game again, and a few texts more
def _commands(content: bytes, keys: tuple[str, ...], server: str) -> Sequence[AnyCommand] | None:
    """The commands in a text, if one of these keys signed it. Raises `BadKey`."""
    read = judged_by_others(content, keys, server)
    return parse(read.text).commands if read.verdict.kind == "valid" else None


def refusal(where: str, refused: Refused) -> Contradiction:
    """The refusal of a step by the rules as a contradiction: the server should not have entered it."""
    said = "; ".join(str(fault.message) for fault in refused.faults)
    return Contradiction(f"{where}: it would be refused: {said}")
