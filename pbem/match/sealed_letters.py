"""The players' letters in a sealed match, judged by form: seals, steps and reveals.

The server can tell whether a step is due, opens what was committed to, and contradicts nothing that was told. Only
the reveal shows whether it is true. Nothing here enters a transcript; the events `sealed`, `step`, `reveal` and
`verdict` do that.

A step is judged by `judge_steps` when its letter comes, again when a verifier makes the entry again (both in
`events.sealed_events`), and by the players' programs, from the signed text itself (`pbem.player.signed_texts`).
Implements docs/playing.md and docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from pbem.games import Fault, Refused, refuse
from pbem.games.sealed import COMMIT
from pbem.grown import Grown
from pbem.match.sealed_game import (
    NOTHING,
    ORDERS,
    SETUP,
    Filed,
    PaperPlace,
    Revealed,
    SealedMoment,
    hashed,
    orders_paper,
    paper,
    path,
    setup_paper,
)
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pbem.games.sealed import Paper
    from pbem.match.sealed_game import SealedGameState
    from pbem.match.state import Match, Reports
    from pbem.requests import Reveal, Section, SignedForm, TakeSteps


def place(match: Match, seat: int) -> PaperPlace:
    """The place of a seat's papers in the current game."""
    return PaperPlace(match.server, match.id, match.game, seat, match.name(seat))


def receipt_path(game: int, seat: int) -> str:
    """The path of the receipt for the letter by which a seat committed to its setup."""
    return f"receipts/game-{game}-setup-seat-{seat}.txt"


class Taken(NamedTuple):
    """A judged step: how it will be filed, its paper, and the game after it."""

    filed: Filed
    paper: str
    """Empty for a commitment."""
    play: SealedMoment


class Entered(msgspec.Struct, frozen=True):
    """The result of a letter with steps, for the letters that report it."""

    seat: int
    turn: int
    """The turn of the first step."""
    steps: tuple[Filed, ...] = ()
    files: Mapping[int, Mapping[int, bytes]] = msgspec.field(default_factory=dict)
    """The files of reports, by finished turn and by seat."""
    reports: Mapping[int, Reports] = msgspec.field(default_factory=dict)
    """The reports, by finished turn."""


def judge_steps(play: SealedMoment, seat: int, form: SignedForm[TakeSteps], mail: str, letter: str) -> list[Taken]:
    """The steps of a letter, in order: all that its seat owes, or the first of them. Raises `Refused`.

    `mail` is the hash of the letter, `letter` its future path in the bundle. That it names this server, game and
    player is checked elsewhere.
    """
    judge = _StepJudge(play, seat, form.prev, mail, letter)
    judge.demand_now(form)
    taken = [judge.take(section) for section in form.request.sections if section.name != "note"]
    if not taken:
        raise Refused(Fault("step", None, judge.due()))
    return taken


def write_step(
    play: SealedMoment, seat: int, step: str, own: Mapping[str, str], lines: Iterable[str]
) -> tuple[Mapping[str, str], str]:
    """The head and the text of the paper of a step: `own` has the values that do not follow from what was told."""
    return _StepJudge(play, seat).written(step, own, tuple(lines))


class _StepJudge:
    """A letter's steps being judged, each in the game after the step before it."""

    def __init__(
        self, play: SealedMoment, seat: int, prev: str | None = None, mail: str = "", letter: str = ""
    ) -> None:
        self.play, self.seat = play, seat
        self.prev, self.mail, self.letter = prev, mail, letter

    def due(self) -> Phrase:
        """The phrase for what is due from this seat."""
        owed = self.play.rules.owed(self.play.table, self.seat)
        if not owed:
            return Phrase("nothing is due from you: the match waits for another player")
        return Phrase("what is due from you: {steps}", steps=", ".join(f"`{step}`" for step in owed))

    def demand_now(self, form: SignedForm[TakeSteps]) -> None:
        """Refuse a letter if nothing is due; one of another turn; one that cites a head from before it was due."""
        if not self.play.rules.owed(self.play.table, self.seat):
            raise Refused(Fault("step", None, self.due()))
        printed = self.play.game.printed.get(self.seat, ())
        prev = self.prev if self.prev in printed else (NOTHING, *printed)[-1]
        faults = [
            Fault(key, f"{key} {given}", Phrase("wrong `{key}`; expected {value}", key=key, value=value))
            for key, value in {"turn": self.play.table.turn, "prev": prev}.items()
            if (given := getattr(form, key)) != value
        ]
        refuse(faults)

    def take(self, section: Section) -> Taken:
        step = section.name
        if step not in self.play.rules.owed(self.play.table, self.seat)[:1]:
            raise Refused(Fault("step", step, self.due()))
        lines = self.play.rules.judge(self.play.table, self.seat, step, section.text)
        if step == COMMIT:
            return self._enter(step, lines, {}, section.words[0], "")
        values, written = self.written(step, self._said(step, section.words), lines)
        self._demand_opened(step, hashed(written))
        return self._enter(step, lines, values, hashed(written), written)

    def written(self, step: str, own: Mapping[str, str], lines: Sequence[str]) -> tuple[Mapping[str, str], str]:
        """The head of a step's paper, and the paper."""
        kind = self.play.rules.papers[step]
        known = self._known(kind)
        values = {head: own.get(head) or known[head] for head in kind.heads}
        return values, paper(kind.name, self.play.place(self.seat), self.play.table.turn, values, lines)

    def _enter(
        self, step: str, lines: tuple[str, ...], values: Mapping[str, str], sha256: str, written: str
    ) -> Taken:
        play, turn, where = self.play, self.play.table.turn, ""
        if step != COMMIT:
            before = [one for one in play.game.of(self.seat, turn) if one.step == step]
            where = path(play.rules.papers[step].name, play.place(self.seat), turn, len(before) + 1)
        brought = self.mail, self.letter, self.prev or ""
        filed = Filed(turn, self.seat, step, lines, values, sha256, where, *brought)
        # A copy: what is filed in the end, with its entry, grows out of those of the match.
        game = replace(play.game, steps=Grown((*play.game.steps, filed)))
        self.play = replace(play, game=game, table=play.rules.enter(play.table, self.seat, step, lines))
        return Taken(filed, written, self.play)

    def _said(self, step: str, words: tuple[str, ...]) -> Mapping[str, str]:
        """The values in the letter, which must agree with the known ones."""
        kind = self.play.rules.papers[step]
        if len(words) != len(kind.values):
            wanted = Phrase("`{step}` begins with {values}", step=step, values=" ".join(kind.values).upper())
            raise Refused(Fault("step", " ".join((step, *words))[:80], wanted))
        said, known = dict(zip(kind.values, words, strict=True)), self._known(kind)
        faults = [
            Fault("step", word, Phrase("wrong `{key}`; expected {value}", key=head, value=known[head]))
            for head, word in said.items()
            if known.get(head, word) != word
        ]
        refuse(faults)
        return said

    def _known(self, kind: Paper) -> Mapping[str, str]:
        """The heads of the paper that follow from what was told."""
        game, turn = self.play.game, self.play.table.turn
        committed = game.committed(self.seat, turn)
        after = committed.prev if committed else self.prev
        cited = [one.paper for one in game.of(3 - self.seat, turn) if one.step in kind.to]
        own = [one.paper for one in game.of(self.seat, turn) if one.step == "open"]
        return {
            "rules": self.play.terms,
            "setup": game.commitments[self.seat],
            **({"after": after} if after and not self.play.restored else {}),
            "to": next(iter(cited), NOTHING),
            "own": next(iter(own), NOTHING),
        }

    def _demand_opened(self, step: str, sha256: str) -> None:
        """Refuse a paper other than the one to which its seat has committed."""
        if self.play.rules.papers[step].name == SETUP:
            committed = self.play.game.commitments[self.seat]
            says = Phrase("it is another setup than the one committed to, {committed}", committed=committed)
        else:
            commitment = self.play.game.committed(self.seat, self.play.table.turn)
            committed = commitment.paper if commitment else sha256
            says = Phrase(
                "this paper has the hash {hash}, and you committed to {committed}", hash=sha256, committed=committed
            )
        if committed != sha256:
            raise Refused(Fault("step", step, says))


def judge_reveal(
    match: Match, game: SealedGameState, seat: int, form: SignedForm[Reveal]
) -> tuple[Revealed, dict[str, str]]:
    """A seat's reveal, and its papers by path: all its commitments in this game. Raises `Refused`."""
    found = {(section.name, *section.words): section.text for section in form.request.sections}
    seeds = [section.words[0] for section in form.request.sections if section.name == "seed"]
    if not seeds or (SETUP,) not in found:
        raise Refused(Fault("reveal", None, Phrase("`seed` and `setup` are due")))
    seed, where = bytes.fromhex(seeds[0]), place(match, seat)
    commitment = game.commitments[seat]
    setup, orders, papers, faults = "", dict[int, str](), dict[str, str](), list[Fault]()
    try:
        setup, papers[path(SETUP, where, 0)] = _setup_opened(match, commitment, where, seed, found[SETUP,])
    except Refused as refused:
        faults += refused.faults
    for turn, expected in named_orders(game, seat):
        write = partial(orders_paper, seed, where, turn, commitment)
        try:
            opened = _orders_opened(write, turn, expected, found.get((ORDERS, str(turn))))
        except Refused as refused:
            faults += refused.faults
        else:
            orders[turn], papers[path(ORDERS, where, turn)] = opened
    refuse(faults)
    return Revealed(setup, orders), papers


def _setup_opened(match: Match, commitment: str, where: PaperPlace, seed: bytes, text: str) -> tuple[str, str]:
    """The setup that a seat committed to, and its paper; raises `Refused` for another one."""
    write = partial(setup_paper, seed, where, match.rules_hash)
    found = _opened(write, commitment, _setups(match, where.seat, text))
    if found is None:
        says = Phrase("seed and setup are not those that you committed to with {hash}", hash=commitment)
        raise Refused(Fault("reveal", "setup", says))
    return found


def _orders_opened(write: Callable[[str], str], turn: int, expected: str, text: str | None) -> tuple[str, str]:
    """The orders of a turn whose paper has this hash, and that paper; raises `Refused` for others."""
    if text is None:
        raise Refused(Fault("reveal", None, Phrase("the orders of turn {turn} are missing", turn=turn)))
    found = _opened(write, expected, _texts(text))
    if found is None:
        says = Phrase(
            "the orders of turn {turn} are not those that you committed to with {hash}", turn=turn, hash=expected
        )
        raise Refused(Fault("reveal", f"orders {turn}", says))
    return found


def named_orders(game: SealedGameState, seat: int) -> Iterator[tuple[int, str]]:
    """The turns for which a seat gave a hash of its orders, with that hash."""
    for filed in game.steps:
        if filed.seat == seat and ORDERS in filed.values:
            yield filed.turn, filed.values[ORDERS]


def _opened(write: Callable[[str], str], expected: str, texts: Iterator[str]) -> tuple[str, str] | None:
    """The text whose paper has this hash, among those that a letter may mean, and that paper."""
    for text in texts:
        written = write(text)
        if hashed(written) == expected:
            return text, written
    return None


def _texts(text: str) -> Iterator[str]:
    """The readings of a text whose lines a mail program may have broken."""
    yield text
    yield " ".join(text.split())


def _setups(match: Match, seat: int, text: str) -> Iterator[str]:
    """The readings of a setup: the rules know the lines of a legal one."""
    yield from _texts(text)
    with suppress(Refused):
        yield match.setup_of(seat, text).text
