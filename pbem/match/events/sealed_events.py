"""A sealed game: all commit to their setups, each step is an entry at once, all reveal, and each seat is judged.

A seat that refuses to reveal has no say. If one of two seats is honest, it has won; a game in which nobody was honest
is annulled. Implements docs/playing.md and docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from pbem.games import Fault, Refused, Result
from pbem.games.sealed import settled as settle
from pbem.match.asking import ask_for_steps
from pbem.match.changed import replace, without
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
from pbem.match.events.ended import conclude, end_game, record_of
from pbem.match.events.silence import forfeit, losing_seats
from pbem.match.events.turn import tell
from pbem.match.record import Turn
from pbem.match.remaking import of_letter
from pbem.match.sealed_game import HONEST, SILENT, SealedGameState
from pbem.match.sealed_letters import judge_reveal, judge_steps, receipt_path, refuse_paused, seal, under_way, verdict
from pbem.match.state import Played, Reports, only_one_without
from pbem.match.step import Document, Notice, misplaced
from pbem.match.submissions import answered
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase
from pbem.requests import Reveal, Seal, SignedForm, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games.sealed import Table
    from pbem.match.record import Record
    from pbem.match.remaking import Remaking
    from pbem.match.sealed_game import Ending, Filed, Verdict
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.match.transcript import Entry


def begin(step: Step) -> None:
    """Publish the seats' commitments, and ask for the first step."""
    match = step.match
    assert match.options is not None
    assert match.sealed_rules is not None
    open_to_all = match.last_revealed  # nothing in it is secret
    setups, seals = sorted(match.setups.items()), {}
    for seat, submission in setups:
        paper = submission.paper.encode()
        step.papers.append(Document(receipt_path(match.game, seat), paper, open_to_all, seat))
        letter = f"game-{match.game}-seal-seat-{seat}"
        step.file_letter(letter, submission.letter, submission.evidence, open_to_all, seat)
        seals[seat] = f"letters/{letter}.eml"
    trace = step.file_trace("setup", open_to_all)
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
        sealed_game=SealedGameState(commitments, seals),
        misses={},
        sentence_revs={},
    )
    ask_for_steps(step)
    step.notify("begin")


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
)


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
    step.file_letter(name, signed.raw, signed.evidence, match.last_revealed, seat)
    told = Entered(seat, match.turn)
    for one in taken:
        if one.paper:
            step.papers.append(Document(one.filed.path, one.paper.encode(), match.last_revealed, seat))
        told = replace(told, steps=(*told.steps, _enter(step, one.filed, signed)))
        told = _finish(step, one.play.table, told)
    step.match = replace(step.match, misses=without(step.match.misses, seat))
    if not step.match.owes(seat):
        answered(step, seat, signed)
    step.match = replace(step.match, prev=step.match.head, sentence_revs={})
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
    match = step.match
    step.demand_key(signed)
    if match.sealed_game is None or not match.revealing:
        raise Refused(Fault("reveal", match.id, Phrase("nothing is to be revealed before the game is over")))
    if seat in match.sealed_game.reveals:
        raise Refused(Fault("reveal", match.id, Phrase("you have revealed this game")))
    refuse_paused(match, "reveal")
    faults = misplaced(match, replace(form, rev=0), seat, None, game=match.game)
    try:
        revealed, papers = judge_reveal(match, seat, form)
    except Refused as refused:
        raise Refused(*faults, *refused.faults) from refused
    if faults:
        raise Refused(*faults)
    step.file_letter(f"reveal-{match.seq + 1}-seat-{seat}", signed.raw, signed.evidence, match.last_revealed, seat)
    for path, content in papers.items():
        step.papers.append(Document(path, content.encode(), match.last_revealed, seat))
    step.append_entry("reveal", {"game": match.game, "seat": seat, **step.named(signed)})
    game = replace(match.sealed_game, reveals={**match.sealed_game.reveals, seat: revealed})
    step.match = replace(step.match, sealed_game=game, missed=match.missed - {seat})
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

FALSE = "false"
"""The reason of a result where somebody told something false; `SILENT` where somebody would not reveal."""

ANNULLED = "annulled"


def proceed(step: Step) -> None:
    """Judge the game when it is over, and forfeit for silence; the turns are reported by the players themselves."""
    match = step.match
    if _is_due(match):
        judge(step)
    elif gone := [seat for seat in losing_seats(match) if match.asked(seat)]:
        forfeit(step, gone)


def judge(step: Step) -> None:
    """Judge the finished game, and end it. Raises `Refused` while a reveal is still due."""
    match = step.match
    if match.sealed_game is None or match.sealed_game.ending is None or not _is_due(match):
        raise Refused(Fault("verdict", match.id, Phrase("nothing is to be judged yet")))
    ending, found = match.sealed_game.ending, verdict(match)
    verdicts = {
        str(seat): word if isinstance(word, str) else {FALSE: word._asdict()} for seat, word in sorted(found.items())
    }
    step.append_entry("verdict", {"game": match.game, "verdicts": verdicts})
    record: Record | None = None
    if all(word == HONEST for word in found.values()):
        result, record = _true_result(match, ending, match.sealed_game)
    else:
        result = _result_of_lies(match, ending, found)
    closes = _closes(match, ending, result, found)
    if closes is None and record is None and (match.terms.kind == "continued" or result.reason == ANNULLED):
        closes = result.winner, result.reason
    conclude(step, result, record, closes=closes, by=ending.by, verdict=found)


def _closes(match: Match, ending: Ending, result: Result, found: Verdict) -> tuple[int, str] | None:
    """The match's winner and the reason if it was resigned: as it is when it is resigned, unless that winner lied.

    A single match is over with its game, and has the winner of that.
    """
    if ending.closes is None:
        return None
    winner, _ = ending.closes
    if found[winner] != HONEST:
        return result.winner, result.reason
    return None if match.terms.kind == "single" else ending.closes


def _is_due(match: Match) -> bool:
    """True if the verdict is due: everybody has revealed, or missed the time for it."""
    return match.revealing and not any(match.asked(seat) and seat not in match.missed for seat in match.seats)


def _true_result(match: Match, ending: Ending, game: SealedGameState) -> tuple[Result, Record]:
    """The result of a game in which everybody was honest, and its record."""
    assert match.options is not None
    setups = {seat: revealed.setup for seat, revealed in game.reveals.items()}
    played = len(match.turns)  # a turn that somebody left unanswered does not count
    orders = {
        seat: {turn: text for turn, text in revealed.orders.items() if turn <= played}
        for seat, revealed in game.reveals.items()
    }
    settled = settle(match.rules, match.options, setups, orders)
    told = ending.result
    result = settled.result or Result(told.winner, settled.scores, told.reason)
    return result, record_of(match, result, setups, [Turn(orders) for orders in settled.orders])


def _result_of_lies(match: Match, ending: Ending, found: Verdict) -> Result:
    """The result of a game in which somebody was dishonest: the other one has won, unless both were."""
    dishonest = [seat for seat, word in found.items() if word != HONEST]
    if len(dishonest) == len(match.seats):
        return Result(0, tuple(0 for _ in match.seats), ANNULLED)
    honest = only_one_without(match.seats, dishonest[0])
    scores = tuple(
        score if seat == honest else 0 for seat, score in zip(match.seats, ending.result.scores, strict=True)
    )
    gave_up = ending.given_up and honest != ending.result.winner
    return Result(0 if gave_up else honest, scores, SILENT if found[dishonest[0]] == SILENT else FALSE)


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
