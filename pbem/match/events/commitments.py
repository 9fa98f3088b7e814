"""All setups are in: their commitments are published, and the game begins. Where there are none, it begins at once.

Implements protocol.md, "Commitments".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pbem.match.asking import ask_for_orders
from pbem.match.changed import replace
from pbem.match.dealt import file_chain
from pbem.match.documents import Evidence, Opening, level_in_words
from pbem.match.entry_type import EntryType, anything, by_seat, hash_, mapping, number
from pbem.match.events.turn import play_on
from pbem.match.replies import file_replies, named_replies
from pbem.match.step import Document
from pbem.match.submissions import setup
from pbem.match.transcript import sha256_hex
from pbem.requests import SignedForm, SubmitSetup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.match.remaking import Remaking
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


def begin(step: Step) -> None:
    """Publish the commitments to the setups, and begin the game."""
    match = step.match
    assert match.options is not None
    for seat, submission in sorted(match.setups.items()):
        opening = f"openings/game-{match.game}-seat-{seat}.txt"
        step.papers.append(Document(opening, submission.paper.encode(), match.game, seat))
        letter = f"game-{match.game}-setup-seat-{seat}"
        step.file_letter(letter, submission.letter, submission.evidence, match.game, seat)
    trace = step.file_trace("setup", match.game)
    step.append_entry(
        "commitments",
        {
            **trace,
            **file_replies(step),
            **file_chain(step),
            "game": match.game,
            "options": dict(match.options.changed),
            "commitments": {
                str(seat): sha256_hex(submission.paper.encode()) for seat, submission in sorted(match.setups.items())
            },
        },
    )
    setups = [match.rules.setup(match.options, seat, match.setup_text(seat)) for seat in match.seats]
    position = match.rules.begin(match.options, setups)
    head = step.match.head
    begun = {seat: replace(submission, aside=()) for seat, submission in match.setups.items()}
    step.match = replace(step.match, phase="playing", setups=begun, prev=head, position=position, silent={}, said={})
    ask_for_orders(step, position)
    step.notify("begin")
    play_on(step)


def remake(remaking: Remaking) -> Step:
    """The beginning of a game again, from the openings of its setups."""
    step = remaking.at_work()
    aside = remaking.set_aside(remaking.match, "setup")
    for seat in remaking.match.seats if remaking.match.rules.secret_setups else ():
        path = f"openings/game-{remaking.match.game}-seat-{seat}.txt"
        expected = remaking.entry.body["commitments"][str(seat)]
        content = remaking.hashed(path, expected, "does not open the commitment")
        opening = remaking.read(path, Opening.read, content)
        letter = f"letters/game-{remaking.match.game}-setup-seat-{seat}.eml"
        remaking.was_not_withdrawn(path, opening, aside)
        wanted = SignedForm(SubmitSetup(match=remaking.match.id), game=remaking.match.game)
        form, signed = remaking.signed(wanted, seat, letter, opening)
        remaking.judged(letter, partial(setup, step), seat, form, signed)
    remaking.advance(step)
    return step


def _named(entry: Entry) -> Iterator[tuple[str, str]]:
    for seat, value in entry.body["commitments"].items():
        yield f"openings/game-{entry.body['game']}-seat-{seat}.txt", value
    yield f"traces/game-{entry.body['game']}-setup.txt", entry.body["trace"]
    yield from named_replies(entry)


def _says(entry: Entry, papers: Mapping[str, bytes]) -> str:
    game, mailboxes = entry.body["game"], ""
    if not entry.body["commitments"]:
        return f"game {game}: it begins, without setups"
    for seat in entry.body["commitments"]:
        if paper := papers.get(f"evidence/game-{game}-setup-seat-{seat}.txt"):
            evidence = Evidence.read(paper.decode())
            mailboxes += f" ({evidence.player}: {level_in_words('mailbox', evidence.key)})"
    return f"game {game}: the commitments open; the setups are signed{mailboxes} and legal"


ENTRY = EntryType(
    "commitments",
    mapping(
        {"trace": hash_, "game": number, "options": anything, "commitments": by_seat(hash_)},
        {"replies": hash_, "chance": hash_},
    ),
    remake=remake,
    says=_says,
    papers=_named,
)
