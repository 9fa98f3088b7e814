"""All seats of a sealed match have committed to their setups: the game begins, and nobody else knows them.

Implements docs/bundle.md, "Sealed matches" (`sealed`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pbem.match.asking import ask_for_steps
from pbem.match.changed import replace
from pbem.match.documents import Receipt
from pbem.match.entry_forms import anything, by_seat, hash_, mapping, number
from pbem.match.entry_type import EntryType
from pbem.match.sealed_game import ToldGame
from pbem.match.sealed_letters import receipt_path, seal
from pbem.match.set_aside import file_trace
from pbem.match.step import Document
from pbem.match.transcript import sha256_hex
from pbem.requests import Seal, SignedForm

if TYPE_CHECKING:
    from pbem.match.remaking import Remaking
    from pbem.match.step import Step


def begin(step: Step) -> None:
    """Publish the seats' commitments, and ask for the first step."""
    match = step.match
    assert match.options is not None
    assert match.sealed_rules is not None
    open_to_all = match.game - 1  # as what was revealed before: nothing in it is secret
    seals = _file_seals(step, open_to_all)
    trace = file_trace(step, "setup", open_to_all)
    setups = sorted(match.setups.items())
    commitments = {seat: submission.text for seat, submission in setups}
    body = {
        "game": match.game,
        "options": dict(match.options.changed),
        "commitments": {str(seat): commitment for seat, commitment in commitments.items()},
        "receipts": {str(seat): sha256_hex(submission.paper.encode()) for seat, submission in setups},
    }
    step.append_entry("sealed", trace | body)
    step.match = replace(
        step.match,
        phase="playing",
        setups={},
        prev=step.match.head,
        position=match.sealed_rules.begin(match.options),
        sealed_game=ToldGame(commitments, seals),
        silent={},
        said={},
    )
    ask_for_steps(step)
    step.notify("begin")


def _file_seals(step: Step, game: int) -> dict[int, str]:
    """Keep letters of seals, and their receipts, with the papers of this game; where the letters lie, by seat."""
    match, seals = step.match, {}
    for seat, submission in sorted(match.setups.items()):
        step.papers.append(Document(receipt_path(match.game, seat), submission.paper.encode(), game, seat))
        letter = f"game-{match.game}-seal-seat-{seat}"
        step.file_letter(letter, submission.letter, submission.evidence, game, seat)
        seals[seat] = f"letters/{letter}.eml"
    return seals


def remake(remaking: Remaking) -> Step:
    """The beginning of a sealed game again, from the letters of its seals."""
    step = remaking.at_work()
    aside = remaking.set_aside(remaking.match, "setup")
    for seat in remaking.match.seats:
        path = receipt_path(remaking.match.game, seat)
        expected = remaking.entry.body["receipts"][str(seat)]
        content = remaking.hashed(path, expected, "is not the receipt that the transcript names")
        receipt = remaking.read(path, Receipt.read, content)
        letter = f"letters/game-{remaking.match.game}-seal-seat-{seat}.eml"
        remaking.was_not_withdrawn(path, receipt, aside)
        wanted = SignedForm(Seal(match=remaking.match.id), game=remaking.match.game)
        form, signed = remaking.signed(wanted, seat, letter, receipt)
        remaking.judged(letter, partial(seal, step), seat, form, signed)
    remaking.advance(step)
    return step


ENTRY = EntryType(
    "sealed",
    mapping(
        {
            "trace": hash_,
            "game": number,
            "options": anything,
            "commitments": by_seat(hash_),
            "receipts": by_seat(hash_),
        }
    ),
    remake=remake,
    says="game {game}: all have committed to their setups, signed; they keep them to themselves",
)
