"""A sealed game: all commit to their setups, each step is an entry at once, all reveal, and each seat is judged.

A seat that refuses to reveal has no say. If one of two seats is honest, it has won; a game in which nobody was honest
is annulled. Implements docs/playing.md and docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from pbem.games import Fault, Refused, refuse
from pbem.match.asking import banks, start_clocks
from pbem.match.documents import SALT, Receipt, salt_in
from pbem.match.entry_type import (
    EntryType,
    anything,
    by_seat,
    either,
    hash_,
    mapping,
    number,
    one_of,
    seat_number,
    text,
    time,
)
from pbem.match.events.ended import conclude, end_game
from pbem.match.events.turn import tell
from pbem.match.remaking import of_letter
from pbem.match.sealed_game import HONEST, SILENT, SealedMoment
from pbem.match.sealed_letters import Entered, judge_reveal, judge_steps, receipt_path
from pbem.match.sealed_verdict import ANNULLED, FALSE, closed_by, result_of_lies, true_result, verdict
from pbem.match.state import Played, Reports, Submission, without
from pbem.match.step import Document, Notice, again, misplaced
from pbem.match.submissions import answered
from pbem.phrase import Phrase
from pbem.requests import Reveal, Seal, SignedForm, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games.sealed import Table
    from pbem.match.record import Record
    from pbem.match.remaking import Remaking
    from pbem.match.sealed_mode import SealedMode
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.match.transcript import Entry


def sealed(match: Match, what: str = "step") -> SealedMode:
    """The play of a sealed match; raises `Refused` for another one."""
    if not match.terms.sealed:
        raise Refused(Fault(what, match.id, Phrase("this match is not sealed")))
    return cast("SealedMode", match.play)


def table_of(match: Match) -> Table:
    """The position of a sealed game that has begun."""
    return cast("Table", match.position)


def seal(step: Step, seat: int, form: SignedForm[Seal], signed: Signed) -> Submission:
    """A seat's commitment to its setup of the next game, which begins with the last commitment.

    It may be replaced until then. Raises `Refused`.
    """
    match = step.match
    step.demand_key(signed)
    before = match.setups.get(seat)
    faults = misplaced(match, form, seat, before, game=match.game)
    if match.phase != "setup" or not match.terms.sealed:
        raise Refused(Fault("seal", None, Phrase("no commitment is due")))
    found = [section.words[0] for section in form.request.sections if section.name == "commitment"]
    if len(found) != 1:
        faults.append(Fault("seal", None, Phrase("the line `commitment HASH` is missing")))
    refuse(faults)
    if same := again(before, form.rev, found[0]):
        return same
    receipt = Receipt.of(match, seat, 0, form.rev, signed, step.world.salt(receipt_path(match.game, seat)))
    submission = Submission.of(form.rev, found[0], receipt.text(), signed, before)
    step.match = replace(match, setups={**match.setups, seat: submission})
    answered(step, seat, signed)
    return submission


def _remake_sealed(remaking: Remaking) -> Step:
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


SEALED = EntryType(
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
    remake=_remake_sealed,
    says="game {game}: all have committed to their setups, signed; they keep them to themselves",
    begins=True,
    opens=True,
)


def ask_for_steps(step: Step, by: int | None = None) -> None:
    """Ask those who owe a step of a sealed game; the clock of a seat that owed one before continues.

    `by` is the seat whose letter led here: its next step must cite the letters that are sent now.
    """
    match, play = step.match, sealed(step.match)
    game = play.game
    asked = [seat for seat in match.seats if match.asked(seat)]
    before = {seat: heads for seat, heads in game.printed.items() if seat in asked and seat != by}
    printed = {seat: (*before.get(seat, ()), match.prev) for seat in asked}
    going = {seat: match.clocks[seat] for seat in asked if seat in game.printed and seat in match.clocks}
    play = replace(play, game=replace(game, printed=printed))
    step.match = replace(match, banks=banks(step), missed=match.missed & going.keys(), play=play)
    start_clocks(step, [seat for seat in asked if seat not in going], going)


def take(step: Step, seat: int, form: SignedForm[TakeSteps], signed: Signed) -> Entered:
    """The steps of a letter, all or none of them. Raises `Refused`."""
    match = step.match
    step.demand_key(signed)
    _demand_due(step, seat, form)
    name = f"step-{match.seq + 1}-seat-{seat}"
    play, where, restored = sealed(match), (match.server, match.id, match.game), match.restored > 0
    moment = SealedMoment(play.rules, *where, match.names, match.rules_hash, play.game, table_of(match), restored)
    taken = judge_steps(moment, seat, form, signed.hash, f"letters/{name}.eml")
    step.file_letter(name, signed.raw, signed.evidence, match.last_revealed, seat)
    told = Entered(seat, match.turn)
    for one in taken:
        filed = one.filed
        if one.paper:
            step.papers.append(Document(filed.path, one.paper.encode(), match.last_revealed, seat))
        body = {"game": match.game, "turn": filed.turn, "seat": filed.seat, "step": filed.step, "paper": filed.paper}
        path = {"path": filed.path} if filed.path else {}
        entry = step.append_entry("step", {**body, **path, **step.named(signed)})
        filed = replace(filed, seq=entry.seq, head=entry.head)
        play = replace(play, game=replace(play.game, steps=play.game.steps.and_(filed)))
        step.match = replace(step.match, play=play)
        told = _finish(step, one.play.table, replace(told, steps=(*told.steps, filed)))
    step.match = replace(step.match, misses=without(step.match.misses, seat))
    if not step.match.owes(seat):
        answered(step, seat, signed)
    step.match = replace(step.match, prev=step.match.head, sentence_revs={})
    ask_for_steps(step, by=seat)
    step.notify("step", seat, told=told)
    if (result := table_of(step.match).result) is not None:
        end_game(step, result)
    return told


def _refuse_paused(match: Match, what: str) -> None:
    """Refuse steps while the match is paused, because they would be told at once."""
    if match.paused:
        says = Phrase("the match is paused; send this again when it resumes")
        raise Refused(Fault(what, match.id, says))


def _demand_due(step: Step, seat: int, form: SignedForm[TakeSteps]) -> None:
    """Refuse a letter for which it is not the time, or that belongs elsewhere."""
    match = step.match
    game = sealed(match).game
    if match.phase != "playing" or game.ending is not None:
        raise Refused(Fault("step", match.id, Phrase("no step is due")))
    _refuse_paused(match, "step")
    said = replace(form, rev=0)  # what is an entry at once needs no revision
    if form.prev is not None and game.printed.get(seat):
        said = replace(said, prev=match.prev)  # which of those printed it may cite, `judge_steps` knows
    refuse(misplaced(match, said, seat, None, game=match.game))


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


_TAKE_AGAIN = of_letter("step", lambda match: SignedForm(TakeSteps(match=match.id), turn=match.turn), take)


def _remake_step(remaking: Remaking) -> Step:
    """The steps of a letter again."""
    step = _TAKE_AGAIN(remaking)
    for paper in step.papers:
        if paper.path.startswith("reports/") and not SALT.fullmatch(salt_in(paper.content)):
            raise remaking.untrue(paper.path, "has no salt")
    return step


STEP = EntryType(
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
    remake=_remake_step,
    says="game {game}, turn {turn}: seat {seat}: {step}, signed, as it was due",
)


def reveal(step: Step, seat: int, form: SignedForm[Reveal], signed: Signed) -> None:
    """A seat's setup and orders of the finished game, which open all its commitments. Raises `Refused`."""
    match, play = step.match, sealed(step.match, "reveal")
    step.demand_key(signed)
    if not play.awaits(match):
        raise Refused(Fault("reveal", match.id, Phrase("nothing is to be revealed before the game is over")))
    if seat in play.game.reveals:
        raise Refused(Fault("reveal", match.id, Phrase("you have revealed this game")))
    _refuse_paused(match, "reveal")
    faults = misplaced(match, replace(form, rev=0), seat, None, game=match.game)
    try:
        revealed, papers = judge_reveal(match, play.game, seat, form)
    except Refused as refused:
        raise Refused(*faults, *refused.faults) from refused
    refuse(faults)
    step.file_letter(f"reveal-{match.seq + 1}-seat-{seat}", signed.raw, signed.evidence, match.last_revealed, seat)
    for path, content in papers.items():
        step.papers.append(Document(path, content.encode(), match.last_revealed, seat))
    step.append_entry("reveal", {"game": match.game, "seat": seat, **step.named(signed)})
    game = replace(play.game, reveals={**play.game.reveals, seat: revealed})
    step.match = replace(step.match, play=replace(play, game=game), missed=match.missed - {seat})
    answered(step, seat, signed)
    for other in match.seats:
        if step.match.asked(other) and other not in step.match.missed:  # else the verdict says more at once
            step.notices.append(Notice("revealed", other, step.match, {"seat": seat}))


_REVEAL_AGAIN = of_letter("reveal", lambda match: SignedForm(Reveal(match=match.id), game=match.game), reveal)


def _remake_reveal(remaking: Remaking) -> Step:
    """The reveal again, and the verdict if it was the last."""
    step = _REVEAL_AGAIN(remaking)
    remaking.advance(step)
    return step


REVEAL = EntryType(
    "reveal",
    mapping({"game": number, "seat": seat_number, "mail": hash_, "received": time}),
    remake=_remake_reveal,
    says="game {game}: seat {seat} revealed, signed; it opens all that the seat had committed to",
    letter="reveal",
)


def judge(step: Step) -> None:
    """Judge the finished game, and end it. Raises `Refused` while a reveal is still due."""
    match, play = step.match, sealed(step.match, "verdict")
    ending = play.game.ending
    if ending is None or not is_due(match):
        raise Refused(Fault("verdict", match.id, Phrase("nothing is to be judged yet")))
    found = verdict(match, play.rules, play.game)
    verdicts = {
        str(seat): word if isinstance(word, str) else {FALSE: word._asdict()} for seat, word in sorted(found.items())
    }
    step.append_entry("verdict", {"game": match.game, "verdicts": verdicts})
    record: Record | None = None
    if all(word == HONEST for word in found.values()):
        result, record = true_result(match, ending, play.game)
    else:
        result = result_of_lies(match, ending, found)
    closes = closed_by(match, ending, result, found)
    if closes is None and record is None and (match.terms.kind == "continued" or result.reason == ANNULLED):
        closes = result.winners, result.reason
    conclude(step, result, record, closes=closes, by=ending.by, verdict=found)


def is_due(match: Match) -> bool:
    """True if the verdict is due: everybody has revealed, or missed the time for it."""
    waited = any(match.asked(seat) and seat not in match.missed for seat in match.seats)
    return match.awaits is not None and not waited


def _remake_verdict(remaking: Remaking) -> Step:
    """The verdict after the last deadline for a reveal was missed."""
    remaking.goes_on()
    step = remaking.at_work()
    judge(step)
    return step


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    words = []
    for seat, word in entry.body["verdicts"].items():
        if isinstance(word, str):
            words.append(f"seat {seat}: {word}")
        else:
            false = word[FALSE]
            words.append(f"seat {seat}: false in turn {false['turn']}, {false['step']} (ruling {false['ruling']})")
    return f"game {entry.body['game']}: {'; '.join(words)}"


_FALSEHOOD = mapping({FALSE: mapping({"turn": number, "step": text, "ruling": text})})

VERDICT = EntryType(
    "verdict",
    mapping({"game": number, "verdicts": by_seat(either(one_of(HONEST, SILENT), _FALSEHOOD))}),
    remake=_remake_verdict,
    says=_says,
)
