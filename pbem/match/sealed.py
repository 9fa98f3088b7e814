"""The players' letters in a sealed match, judged by form: seals, steps, reveals; and the verdict on what was told.

The server can tell whether a step is due, opens what was committed to, and contradicts nothing that was told. Only
the reveal shows whether it is true. Nothing here enters a transcript; the events `sealed`, `step`, `reveal` and
`verdict` do that. Implements docs/playing.md, "Sealed matches" (`seal`, `step`, `reveal`), and docs/bundle.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pbem.games import Fault, Refused
from pbem.games.sealed import COMMIT
from pbem.grown import Grown
from pbem.match.changed import replace
from pbem.match.documents import Receipt
from pbem.match.sealed_documents import NOTHING, ORDERS, SETUP, Place, hashed, paper, path, salt
from pbem.match.sealed_game import HONEST, SILENT, Filed, Revealed, SealedGame
from pbem.match.state import Submission
from pbem.match.step import again
from pbem.match.submissions import answered
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.games.sealed import Falsehood, Paper, SealedRules, Table
    from pbem.match.sealed_game import Verdict
    from pbem.match.signed import Signed
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.requests import Reveal, Seal, Section, SignedForm, TakeSteps

_Kept: TypeAlias = "tuple[str, Place, int, Mapping[str, str]]"
"""Of a paper that its owner kept the name, the place, the turn and the head."""

__all__ = ["Taken", "judge_reveal", "judge_steps", "place", "receipt_path", "refuse_paused", "seal", "verdict"]


def place(match: Match, seat: int) -> Place:
    """The place of a seat's papers in the current game."""
    return Place(match.server, match.id, match.game, seat, match.name(seat))


def receipt_path(game: int, seat: int) -> str:
    """The path of the receipt for the letter by which a seat committed to its setup."""
    return f"receipts/game-{game}-setup-seat-{seat}.txt"


def seal(step: Step, seat: int, form: SignedForm[Seal], signed: Signed) -> Submission:
    """A seat's commitment to its setup of the next game, which begins with the last commitment.

    It may be replaced until then. Raises `Refused`.
    """
    match = step.match
    step.demand_key(signed)
    before = match.setups.get(seat)
    faults = step.misplaced(form, seat, before, game=match.game)
    if match.phase != "setup" or match.sealed_rules is None:
        raise Refused(Fault("seal", None, Phrase("no commitment is due")))
    found = [section.words[0] for section in form.request.sections if section.name == "commitment"]
    if len(found) != 1:
        faults.append(Fault("seal", None, Phrase("the line `commitment HASH` is missing")))
    if faults:
        raise Refused(*faults)
    if same := again(before, form.rev, found[0]):
        return same
    aside = before.aside if before else ()
    submission = Submission(
        form.rev or 1, found[0], _receipt(step, seat, form, signed).text(), signed.raw, aside=aside
    )
    step.match = replace(match, setups={**match.setups, seat: submission})
    answered(step, seat, signed)
    return submission


def _receipt(step: Step, seat: int, form: SignedForm[Seal], signed: Signed) -> Receipt:
    """What names the letter by which a seat commits to its setup."""
    match = step.match
    return Receipt(
        match.server,
        match.id,
        match.game,
        0,
        seat,
        match.name(seat),
        form.rev or 1,
        signed.level,
        signed.key,
        signed.hash,
        step.world.salt(receipt_path(match.game, seat)),
        received=signed.received,
    )


def refuse_paused(match: Match, what: str) -> None:
    """Refuse steps while the match is paused, because they would be told at once."""
    if match.paused:
        says = Phrase("the match is paused; send this again when it goes on")
        raise Refused(Fault(what, match.id, says))


class Taken(NamedTuple):
    """A judged step: how it will be filed, its paper, and the table after it."""

    filed: Filed
    paper: str
    """Empty for a commitment."""
    table: Table


def judge_steps(match: Match, seat: int, form: SignedForm[TakeSteps], mail: str, letter: str) -> list[Taken]:
    """The steps of a letter, in order: all that its seat owes, or the first of them. Raises `Refused`.

    `mail` is the hash of the letter, `letter` its future path in the bundle.
    """
    judge = _StepJudge(match, seat, form, mail, letter)
    taken = [judge.take(section) for section in form.request.sections if section.name != "note"]
    if not taken:
        raise Refused(Fault("step", None, judge.due()))
    return taken


class _StepJudge:
    """A letter's steps being judged, each on the table after the step before it."""

    def __init__(self, match: Match, seat: int, form: SignedForm[TakeSteps], mail: str, letter: str) -> None:
        assert match.sealed_rules is not None
        assert match.sealed_game is not None
        self.match, self.seat, self.form = match, seat, form
        self.mail, self.letter = mail, letter
        self.rules: SealedRules = match.sealed_rules
        self.game: SealedGame = match.sealed_game
        self.table: Table = match.table

    def due(self) -> Phrase:
        """What a letter of this seat should bring now."""
        owed = self.rules.owed(self.table, self.seat)
        if not owed:
            return Phrase("nothing is due from you: the match waits for another player")
        return Phrase("what is due from you: {steps}", steps=", ".join(f"`{step}`" for step in owed))

    def take(self, section: Section) -> Taken:
        step, turn = section.name, self.table.turn
        if step not in self.rules.owed(self.table, self.seat)[:1]:
            raise Refused(Fault("step", step, self.due()))
        lines = self.rules.judge(self.table, self.seat, step, section.text)
        if step == COMMIT:
            filed = self._filed(step, lines, {}, section.words[0], "")
            written = ""
        else:
            kind = self.rules.papers[step]
            values = self._values(kind, step, section.words)
            where = place(self.match, self.seat)
            written = paper(kind.name, where, turn, values, lines)
            self._opens(kind, step, hashed(written))
            before = [one for one in self.game.of(self.seat, turn) if one.step == step]
            filed = self._filed(step, lines, values, hashed(written), path(kind.name, where, turn, len(before) + 1))
        # A copy: what is filed in the end, with its entry, grows out of those of the match.
        self.game = replace(self.game, steps=Grown((*self.game.steps, filed)))
        self.table = self.rules.enter(self.table, self.seat, step, lines)
        return Taken(filed, written, self.table)

    def _filed(self, step: str, lines: tuple[str, ...], values: Mapping[str, str], sha256: str, where: str) -> Filed:
        prev = str(self.form.prev)
        return Filed(self.table.turn, self.seat, step, lines, values, sha256, where, self.mail, self.letter, prev)

    def _values(self, kind: Paper, step: str, words: tuple[str, ...]) -> dict[str, str]:
        """The head of the paper: the known values, and those in the letter, which must agree with the known ones."""
        if len(words) != len(kind.values):
            wanted = Phrase("`{step}` begins with {values}", step=step, values=" ".join(kind.values).upper())
            raise Refused(Fault("step", " ".join((step, *words))[:80], wanted))
        said = dict(zip(kind.values, words, strict=True))
        known = self._known(kind)
        faults = [
            Fault("step", word, Phrase("wrong `{key}`; expected {value}", key=head, value=known[head]))
            for head, word in said.items()
            if known.get(head, word) != word
        ]
        if faults:
            raise Refused(*faults)
        return {head: said.get(head) or known[head] for head in kind.heads}

    def _known(self, kind: Paper) -> dict[str, str]:
        """The heads of the paper that follow from what was told."""
        turn = self.table.turn
        committed = self.game.committed(self.seat, turn)
        cited = [one.paper for one in self.game.of(3 - self.seat, turn) if one.step in kind.to]
        own = [one.paper for one in self.game.of(self.seat, turn) if one.step == "open"]
        return {
            "rules": self.match.rules_hash,
            "setup": self.game.commitments[self.seat],
            "after": committed.prev if committed else str(self.form.prev),
            "to": next(iter(cited), NOTHING),
            "own": next(iter(own), NOTHING),
        }

    def _opens(self, kind: Paper, step: str, sha256: str) -> None:
        """Refuse a paper other than the one to which its seat has committed."""
        if kind.name == SETUP:
            committed: str | None = self.game.commitments[self.seat]
        else:
            commitment = self.game.committed(self.seat, self.table.turn)
            committed = commitment.paper if commitment else None
        if committed not in (None, sha256):
            says = Phrase(
                "this paper has the hash {hash}, and you committed to {committed}", hash=sha256, committed=committed
            )
            raise Refused(Fault("step", step, says))


def judge_reveal(match: Match, seat: int, form: SignedForm[Reveal]) -> tuple[Revealed, dict[str, str]]:
    """What a seat reveals, and its papers by path: all its commitments in this game. Raises `Refused`."""
    assert match.sealed_game is not None
    found = {(section.name, *section.words): section.text for section in form.request.sections}
    seeds = [section.words[0] for section in form.request.sections if section.name == "seed"]
    if not seeds or (SETUP,) not in found:
        raise Refused(Fault("reveal", None, Phrase("`seed` and `setup` are due")))
    seed, where = bytes.fromhex(seeds[0]), place(match, seat)
    setup, orders, papers, faults = "", dict[int, str](), dict[str, str](), list[Fault]()
    try:
        setup, papers[path(SETUP, where, 0)] = _setup_opened(match, where, seed, found[SETUP,])
    except Refused as refused:
        faults += refused.faults
    commitment = match.sealed_game.commitments[seat]
    for turn, expected in named_orders(match.sealed_game, seat):
        head = {"setup": commitment, "salt": salt(seed, where, turn, ORDERS)}
        try:
            opened = _orders_opened((ORDERS, where, turn, head), expected, found.get((ORDERS, str(turn))))
        except Refused as refused:
            faults += refused.faults
        else:
            orders[turn], papers[path(ORDERS, where, turn)] = opened
    if faults:
        raise Refused(*faults)
    return Revealed(setup, orders), papers


def _setup_opened(match: Match, where: Place, seed: bytes, text: str) -> tuple[str, str]:
    """The setup that a seat committed to, and its paper; raises `Refused` for another one."""
    assert match.sealed_game is not None
    commitment = match.sealed_game.commitments[where.seat]
    head = {"rules": match.rules_hash, "salt": salt(seed, where, 0, SETUP)}
    found = _opened((SETUP, where, 0, head), commitment, _setups(match, where.seat, text))
    if found is None:
        says = Phrase("seed and setup are not those that you committed to with {hash}", hash=commitment)
        raise Refused(Fault("reveal", "setup", says))
    return found


def _orders_opened(what: _Kept, expected: str, text: str | None) -> tuple[str, str]:
    """The orders of a turn whose paper has this hash, and that paper; raises `Refused` for others."""
    turn = what[2]
    if text is None:
        raise Refused(Fault("reveal", None, Phrase("the orders of turn {turn} are missing", turn=turn)))
    found = _opened(what, expected, _texts(text))
    if found is None:
        says = Phrase(
            "the orders of turn {turn} are not those that you committed to with {hash}", turn=turn, hash=expected
        )
        raise Refused(Fault("reveal", f"orders {turn}", says))
    return found


def named_orders(game: SealedGame, seat: int) -> Iterator[tuple[int, str]]:
    """The turns for which a seat gave a hash of its orders, with that hash."""
    for filed in game.steps:
        if filed.seat == seat and ORDERS in filed.values:
            yield filed.turn, filed.values[ORDERS]


def _opened(what: _Kept, expected: str, texts: Iterator[str]) -> tuple[str, str] | None:
    """Of several texts that a letter may mean, the one whose paper has this hash, and that paper."""
    for text in texts:
        written = paper(*what, text.split("\n") if text else [])
        if hashed(written) == expected:
            return text, written
    return None


def _texts(text: str) -> Iterator[str]:
    """What a text may have been before a mail program broke its lines."""
    yield text
    yield " ".join(text.split())


def _setups(match: Match, seat: int, text: str) -> Iterator[str]:
    """The same of a setup, whose lines the rules know if it is legal."""
    assert match.options is not None
    yield from _texts(text)
    try:
        yield match.rules.setup(match.options, seat, text).text
    except Refused:
        return


def verdict(match: Match) -> Verdict:
    """The verdict on each seat by its own reveal; pure."""
    assert match.sealed_game is not None
    return {seat: _judge(match, seat, match.sealed_game) for seat in match.seats}


def _judge(match: Match, seat: int, game: SealedGame) -> str | Falsehood:
    assert match.sealed_rules is not None
    assert match.options is not None
    revealed = game.reveals.get(seat)
    if revealed is None:
        return SILENT
    found = match.sealed_rules.first_false(match.options, seat, revealed.setup, revealed.orders, game.told())
    return found or HONEST
