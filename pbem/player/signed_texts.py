"""A sealed game as its players signed it: their texts, folded by the functions of the server and the verifiers.

Nothing else is believed of the game, neither names nor order of the files: a text counts where it is due by the
rules, and two of one seat at one place are an accusation. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from pbem.games import Refused
from pbem.identity import BadKey
from pbem.mail.commands import parse
from pbem.match.sealed_game import NOTHING
from pbem.match.sealed_letters import judge_steps
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.proof.normal_form import judged_by_others
from pbem.requests import Resign, Seal, SignedForm, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.mail.commands import AnyCommand
    from pbem.match.sealed_game import SealedMoment
    from pbem.match.sealed_letters import Taken
    from pbem.player.memory import SignedText
    from pbem.requests import Section

    Keys = Mapping[str, Sequence[str]]

_Key = Annotated[str, msgspec.Meta(max_length=1 << 17)]
"""An OpenPGP key of all octets that a server takes is shorter."""


class Changed(Contradiction):
    """Something differs from what was said earlier."""


class Missing(Impossible):
    """A text that makes the game has not arrived."""


class SealedState(msgspec.Struct, frozen=True):
    """The server's part of a sealed game, in the file of a position or setup: keys, note, and whether it is over."""

    keys: dict[str, list[_Key]]
    """The public keys of each seat that may sign its letters."""
    note: Annotated[str, msgspec.Meta(max_length=8192)] | None = None
    revealing: bool = False
    """True if the server asks for reveals: what it says here, a bundle contradicts."""

    @classmethod
    def read(cls, document: object) -> SealedState:
        """Read it from the `sealed` of such a file; raises `Contradiction`."""
        try:
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise Contradiction(f"what is said of the sealed game has no such form: {error}") from error


class Folded(NamedTuple):
    """A game, by what was signed."""

    play: SealedMoment
    given_up: int = 0
    """The seat that gave it up after all of that, 0 for none."""
    goes_on: bool = False
    """True if a step is known that the server has forgotten."""


class _Letter(msgspec.Struct):
    """A letter of the game, and those of its steps that are not entered yet."""

    seat: int
    form: SignedForm[Any]
    counts: bool
    left: list[Section]
    begun: bool = False

    def brings(self, step: str, play: SealedMoment) -> bool:
        """True if this step of its seat is the next one, and answers nothing that has not come."""
        is_now = self.begun or self.form.turn == play.table.turn
        if not self.left or self.left[0].name != step or not is_now:
            return False
        heads = play.rules.papers[step].values if step in play.rules.papers else ()
        answered = dict(zip(heads, self.left[0].words, strict=False)).get("to", NOTHING)
        return answered == NOTHING or any(one.paper == answered for one in play.game.steps)


def fold(
    play: SealedMoment, keys: Keys, later: Keys, texts: Iterable[SignedText], heads: Mapping[int, str]
) -> Folded:
    """The game that was signed, from its beginning.

    `keys` of each seat count; with one of the `later` ones, nobody signs. `heads`: the known heads of the transcript,
    by their entries. Raises `Contradiction`, and `Missing`.
    """
    letters = [one for text in texts for one in _letters(play, keys, later, text)]
    play = _entered(_begun(play, letters), letters)
    if any(letter.left for letter in letters if letter.counts):
        raise not_all_came(play.match)
    goes_on = any(_offered(play, seat, letters) for seat in range(1, len(play.players) + 1))
    return Folded(play, _given_up(play, letters, heads), goes_on)


def _entered(play: SealedMoment, letters: Sequence[_Letter]) -> SealedMoment:
    """The game after all steps that count, each entered when it was due."""
    while True:
        offers = (_offered(play, seat, letters) for seat in range(1, len(play.players) + 1))
        offered = next((found for found in offers if any(letter.counts for letter, _ in found)), None)
        if offered is None:
            return play
        play = next(taken.play for letter, taken in offered if letter.counts)
        for letter, _ in offered:
            letter.begun = True
            del letter.left[0]


def _offered(play: SealedMoment, seat: int, letters: Sequence[_Letter]) -> list[tuple[_Letter, Taken]]:
    """The letters that bring the step that is due from a seat now, with this step."""
    offered, owed, where = [], play.rules.owed(play.table, seat), f"turn {play.table.turn}, seat {seat}"
    for letter in letters if owed else ():
        if letter.seat == seat and letter.brings(owed[0], play):
            try:
                offered.append((letter, judged(play, seat, letter.left[0], str(letter.form.prev))))
            except Refused as refused:
                if letter.counts:
                    raise refusal(where, refused) from refused
    if len({taken.filed.paper for _, taken in offered}) > 1:
        raise Changed(f"{where}: two different steps were signed at one place")
    return offered


def judged(play: SealedMoment, seat: int, section: Section, prev: str) -> Taken:
    """The next step of a seat, in a letter that cites a head; raises `Refused`."""
    form = SignedForm(TakeSteps(sections=(section,)), prev=prev, turn=play.table.turn)
    return judge_steps(replace(play, game=replace(play.game, printed={seat: (prev,)})), seat, form, "", "")[-1]


def _given_up(play: SealedMoment, letters: Sequence[_Letter], heads: Mapping[int, str]) -> int:
    """The seat that resigned after all other letters, 0 for none: an earlier resignation was refused then."""
    seqs = {head: seq for seq, head in heads.items()}
    others = (one for one in letters if one.counts and not isinstance(one.form.request, Resign))
    cited = max(seqs.get(str(one.form.prev), 0) for one in others)
    for one in letters:
        form, asked = one.form, one.form.request
        is_now = form.turn == play.table.turn and seqs.get(str(form.prev), 0) > cited
        if one.counts and is_now and isinstance(asked, Resign) and (asked.whole or asked.game == play.number):
            return one.seat
    return 0


def _begun(play: SealedMoment, letters: Sequence[_Letter]) -> SealedMoment:
    """The game once all have committed to their setups."""
    seals = [one for one in letters if isinstance(one.form.request, Seal)]
    sections = [(one.seat, section) for one in seals for section in one.form.request.sections]
    found = {(seat, section.words[0]) for seat, section in sections if section.name == "commitment"}
    commitments = dict(sorted(found))
    if len(found) > len(commitments):
        raise Changed("a seat signed two different commitments to its setup")
    if len(commitments.keys() & {one.seat for one in seals if one.counts}) < len(play.players):
        raise not_all_came(play.match)
    return replace(play, game=replace(play.game, commitments=commitments))


def _letters(play: SealedMoment, keys: Keys, later: Keys, text: SignedText) -> Iterator[_Letter]:
    """The letters of this game in a text; raises `Contradiction` if it is no player's."""
    seat, forms = _said(play, keys, later, text.content)
    for form in forms:
        if isinstance(form.request, Resign) or form.game == play.number:
            sections = form.request.sections if isinstance(form.request, TakeSteps) else ()
            yield _Letter(seat, form, text.counts, [one for one in sections if one.name != "note"])


def _said(play: SealedMoment, keys: Keys, later: Keys, content: bytes) -> tuple[int, Sequence[SignedForm[Any]]]:
    """The seat that signed a text, and what it said of this match: a single thing, unless it resigned."""
    seat, commands = _signed(play, keys, content)
    resigns = any(isinstance(one.request, Resign) for one in commands)
    if not seat and resigns:
        return 0, ()  # the server may have got what it cannot show: the owner is asked, as if nobody had resigned
    if not seat:
        if other := _signed(play, later, content)[0]:
            raise Changed(f"seat {other} signed with a key that was not told at first: is it that player's?")
        raise Contradiction("a text came that no player has signed")
    place = play.match, play.server, play.players[seat - 1]
    found = [one for one in commands if (one.match, one.form.server, one.form.player) == place and not one.faults]
    if not resigns and not len(commands) == len(found) == 1:
        raise Contradiction(f"a text of seat {seat} came that is not a letter of this match")
    return seat, [one.form for one in found if isinstance(one.request, Resign) == resigns]


def _signed(play: SealedMoment, keys: Keys, content: bytes) -> tuple[int, Sequence[AnyCommand]]:
    """The seat that signed a text, 0 for none, and the commands in it."""
    for seat in range(1, len(play.players) + 1):
        try:
            commands = _commands(content, tuple(keys.get(str(seat), ())), play.server)
        except BadKey as error:
            raise Contradiction(f"the keys of seat {seat} cannot be read: {error.reason}") from error
        if commands is not None:
            return seat, commands
    return 0, parse(content.decode(errors="replace")).commands


@lru_cache(maxsize=2000)  # each letter brings the same game again, and a few texts more
def _commands(content: bytes, keys: tuple[str, ...], server: str) -> Sequence[AnyCommand] | None:
    """The commands in a text, if one of these keys signed it. Raises `BadKey`."""
    read = judged_by_others(content, keys, server)
    return parse(read.text).commands if read.verdict.kind == "valid" else None


def not_all_came(match: str) -> Missing:
    """The lack of texts that others follow, or without which nothing that the server asks for is due."""
    return Missing("Not all that was signed in {match} has arrived: `pbem play ask report {match}`", match=match)


def refusal(where: str, refused: Refused) -> Contradiction:
    """The refusal of a step by the rules as a contradiction: the server should not have entered it."""
    said = "; ".join(str(fault.message) for fault in refused.faults)
    return Contradiction(f"{where}: it would be refused: {said}")
