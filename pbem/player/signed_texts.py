"""A sealed game as its players signed it: their texts, folded by the functions of the server and the verifiers.

Nothing else is believed of the game, neither names nor order of the files: a text counts where it is due by the
rules, and two of one seat at one place are an accusation. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from pbem.games import Refused
from pbem.identity import BadKey
from pbem.mail.commands import parse
from pbem.match.changed import replace
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
    """What a file of a position or a setup adds to what was signed."""

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


class _Letter:
    """A letter of the game, and those of its steps that are not entered yet."""

    def __init__(self, seat: int, form: SignedForm[Any], counts: bool) -> None:
        self.seat, self.form, self.counts = seat, form, counts
        self.begun = False
        self.left: list[Section] = []
        if isinstance(form.request, TakeSteps):
            self.left = [section for section in form.request.sections if section.name != "note"]

    def offers(self, play: SealedMoment, step: str) -> bool:
        """True if it brings this step next, which its seat owes now, and answers nothing that has not come."""
        is_now = self.begun or self.form.turn == play.table.turn
        if not self.left or self.left[0].name != step or not is_now:
            return False
        kind = play.rules.papers.get(step)
        answered = dict(zip(kind.values if kind else (), self.left[0].words, strict=False)).get("to", NOTHING)
        return answered == NOTHING or any(step.paper == answered for step in play.game.steps)

    def judged(self, play: SealedMoment) -> Taken:
        """Its next step; raises `Refused`."""
        form = SignedForm(TakeSteps(sections=(self.left[0],)), prev=self.form.prev, turn=play.table.turn)
        game = replace(play.game, printed={self.seat: (str(form.prev),)})
        return judge_steps(replace(play, game=game), self.seat, form, "", "")[-1]

    def enter(self) -> None:
        self.begun = True
        del self.left[0]


def fold(
    play: SealedMoment, keys: Keys, later: Keys, texts: Iterable[SignedText], heads: Mapping[int, str]
) -> Folded:
    """The game that was signed, from its beginning.

    `keys` of each seat count; with one of the `later` ones, nobody signs. `heads`: the known heads of the transcript,
    by their entries. Raises `Contradiction`, and `Missing`.
    """
    letters = [one for text in texts for one in _letters(play, keys, later, text)]
    seqs = {head: seq for seq, head in heads.items()}
    return _Fold(_begun(play, letters), letters, seqs).folded()


class _Fold:
    """A game that is being folded."""

    def __init__(self, play: SealedMoment, letters: Sequence[_Letter], seqs: Mapping[str, int]) -> None:
        self._play, self._letters, self._seqs = play, letters, seqs
        self._seats = range(1, len(play.players) + 1)
        begun = (one for one in letters if isinstance(one.form.request, Seal) and one.counts)
        self._cited = max(seqs.get(str(one.form.prev), 0) for one in begun)
        """The last entry that a letter cited."""

    def folded(self) -> Folded:
        while any(self._enter(seat) for seat in self._seats):
            pass
        if any(letter.left for letter in self._letters if letter.counts):
            raise not_all_came(self._play.match)
        goes_on = any(self._offered(seat) for seat in self._seats)
        return Folded(self._play, self._given_up(), goes_on)

    def _enter(self, seat: int) -> bool:
        """Enter the step that is due from a seat, if a letter that counts has brought it."""
        offered = self._offered(seat)
        if len({taken.filed.paper for _, taken in offered}) > 1:
            raise Changed(f"turn {self._play.table.turn}: seat {seat} signed two different steps at one place")
        counting = [(letter, taken) for letter, taken in offered if letter.counts]
        if not counting:
            return False
        letter, taken = counting[0]
        self._play, self._cited = taken.play, max(self._cited, self._seqs.get(str(letter.form.prev), 0))
        for letter, _ in offered:
            letter.enter()
        return True

    def _offered(self, seat: int) -> list[tuple[_Letter, Taken]]:
        """The letters that bring the step that is due from a seat now, with this step."""
        offered, owed = [], self._play.rules.owed(self._play.table, seat)
        for letter in self._letters if owed else ():
            if letter.seat != seat or not letter.offers(self._play, owed[0]):
                continue
            try:
                offered.append((letter, letter.judged(self._play)))
            except Refused as refused:
                if letter.counts:
                    raise refusal(f"turn {self._play.table.turn}, seat {seat}", refused) from refused
        return offered

    def _given_up(self) -> int:
        """The seat that resigned after all other letters, 0 for none: an earlier resignation was refused then."""
        for letter in self._letters:
            form, asked = letter.form, letter.form.request
            whole = isinstance(asked, Resign) and (asked.whole or asked.game == self._play.number)
            now = form.turn == self._play.table.turn and self._seqs.get(str(form.prev), 0) > self._cited
            if whole and now and letter.counts:
                return letter.seat
        return 0


def _begun(play: SealedMoment, letters: Sequence[_Letter]) -> SealedMoment:
    """The game once all have committed to their setups."""
    found, counting = dict[int, str](), set[int]()
    for letter in letters:
        if not isinstance(letter.form.request, Seal):
            continue
        for section in letter.form.request.sections:
            if section.name == "commitment" and found.setdefault(letter.seat, section.words[0]) != section.words[0]:
                raise Changed(f"seat {letter.seat} signed two different commitments to its setup")
        counting |= {letter.seat} if letter.counts else set()
    if counting & found.keys() != set(range(1, len(play.players) + 1)):
        raise not_all_came(play.match)
    return replace(play, game=replace(play.game, commitments=found))


def _letters(play: SealedMoment, keys: Keys, later: Keys, text: SignedText) -> Iterator[_Letter]:
    """The letters of this game in a text; raises `Contradiction` if it is no player's."""
    seat, commands = _signed(play, keys, text.content)
    resigns = [one for one in commands if isinstance(one.request, Resign)]
    if not seat and resigns:
        return  # the server may have got what it cannot show: the owner is asked, as if nobody had resigned
    if not seat:
        if other := _signed(play, later, text.content)[0]:
            raise Changed(f"seat {other} signed with a key that was not told at first: is it that player's?")
        raise Contradiction("a text came that no player has signed")
    place = play.match, play.server, play.players[seat - 1]
    found = [one for one in commands if (one.match, one.form.server, one.form.player) == place and not one.faults]
    if not resigns and (len(commands) != 1 or not found):
        raise Contradiction(f"a text of seat {seat} came that is not a letter of this match")
    for command in found:
        if command in resigns or (not resigns and command.form.game == play.number):
            yield _Letter(seat, command.form, text.counts)


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
