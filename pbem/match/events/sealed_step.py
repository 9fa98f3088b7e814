"""A step of a player in a sealed match: a commitment to orders, their opening, or answers for the player's own side.

Each step is an entry at once, and cannot be replaced; one letter may bring several. The last step of a turn brings
the turn's reports, merged from what both sides told. Implements docs/playing.md, "Sealed matches" (`step`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.games import Fault, Refused
from pbem.match.asking import ask_for_steps
from pbem.match.changed import replace, without
from pbem.match.documents import SALT, salt_in
from pbem.match.entry_forms import hash_, mapping, number, seat_number, text, time
from pbem.match.entry_type import EntryType
from pbem.match.events.ended import end_game
from pbem.match.events.turn import tell
from pbem.match.remaking import of_letter
from pbem.match.sealed_letters import judge_steps, refuse_paused, under_way
from pbem.match.step import Document, misplaced
from pbem.match.submissions import answered
from pbem.match.turns import Played, Reports
from pbem.phrase import Phrase
from pbem.requests import SignedForm, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games.sealed import Table
    from pbem.match.remaking import Remaking
    from pbem.match.sealed_game import Filed
    from pbem.match.signed import Signed
    from pbem.match.step import Step


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


def take(step: Step, seat: int, form: SignedForm[TakeSteps], signed: Signed) -> Entered:
    """The steps of a letter, all or none of them. Raises `Refused`."""
    match = step.match
    step.demand_key(signed)
    _demand_due(step, seat, form)
    name = f"step-{match.seq + 1}-seat-{seat}"
    taken = judge_steps(under_way(match), seat, form, signed.hash, f"letters/{name}.eml")
    step.file_letter(name, signed.raw, signed.evidence, match.game - 1, seat)
    told = Entered(seat, match.turn)
    for one in taken:
        if one.paper:
            step.papers.append(Document(one.filed.path, one.paper.encode(), match.game - 1, seat))
        told = replace(told, steps=(*told.steps, _enter(step, one.filed, signed)))
        told = _finish(step, one.play.table, told)
    step.match = replace(step.match, silent=without(step.match.silent, seat))
    if not step.match.owes(seat):
        answered(step, seat, signed)
    step.match = replace(step.match, prev=step.match.head, said={})
    ask_for_steps(step, by=seat)
    step.notify("step", seat, told=told)
    if step.match.table.result is not None:
        end_game(step, step.match.table.result)
    return told


def _demand_due(step: Step, seat: int, form: SignedForm[TakeSteps]) -> None:
    """Refuse a letter for which it is not the time, or that belongs elsewhere."""
    match = step.match
    if match.sealed_rules is None:
        raise Refused(Fault("step", match.id, Phrase("this match is not sealed")))
    if match.sealed_game is None or match.phase != "playing" or match.revealing:
        raise Refused(Fault("step", match.id, Phrase("no step is due")))
    refuse_paused(match, "step")
    said = replace(form, rev=0)  # what is an entry at once needs no revision
    if form.prev is not None and match.sealed_game.printed.get(seat):
        said = replace(said, prev=match.prev)  # which of those printed it may cite, `judge_steps` knows
    if faults := misplaced(match, said, seat, None, game=match.game):
        raise Refused(*faults)


def _enter(step: Step, filed: Filed, signed: Signed) -> Filed:
    """Append the entry of a step."""
    match = step.match
    assert match.sealed_game is not None
    path = {"path": filed.path} if filed.path else {}
    body = {"game": match.game, "turn": filed.turn, "seat": filed.seat, "step": filed.step, "paper": filed.paper}
    entry = step.append_entry("step", {**body, **path, **step.named(signed)})
    filed = replace(filed, seq=entry.seq, head=entry.head)
    game = replace(match.sealed_game, steps=match.sealed_game.steps.and_(filed))
    step.match = replace(step.match, sealed_game=game)
    return filed


def _finish(step: Step, table: Table, told: Entered) -> Entered:
    """Give the match this table, with an entry for each turn that it finished."""
    before = step.match
    step.match = replace(before, position=table)
    for reports in table.played[len(before.turns) :]:
        turn, found = len(step.match.turns) + 1, Reports(reports)
        files = tell(step, turn, found)
        turns = step.match.turns.and_(Played(before.prev, {}, found))
        step.match = replace(step.match, turns=turns, offers={})
        told = replace(told, files={**told.files, turn: files}, reports={**told.reports, turn: found})
    return told


_REMAKE = of_letter("step", lambda match: SignedForm(TakeSteps(match=match.id), turn=match.turn), take)


def remake(remaking: Remaking) -> Step:
    """The steps of a letter again."""
    step = _REMAKE(remaking)
    for paper in step.papers:
        if paper.path.startswith("reports/") and not SALT.fullmatch(salt_in(paper.content)):
            raise remaking.untrue(paper.path, "has no salt")
    return step


ENTRY = EntryType(
    "step",
    mapping(
        {
            "game": number,
            "turn": number,
            "seat": seat_number,
            "step": text,
            "paper": hash_,
            "mail": hash_,
            "received": time,
        },
        {"path": text},
    ),
    remake=remake,
    says="game {game}, turn {turn}: seat {seat}: {step}, signed, as it was due",
)
