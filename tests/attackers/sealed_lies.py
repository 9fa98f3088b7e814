"""Letters with steps that no judge of a sealed game may take, each with the rule that forbids it.

The server, a verifier and a player's program have one judge: without one of its rules, all three take the letter.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from in_a_box.referee import SERVER
from msgspec.structs import replace
from playing.sealed_match import SealedMatch, changed

from pbem.desk import sealed_files
from pbem.games import Refused
from pbem.match import sealed_letters
from pbem.match.view import view
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.memory import SignedText
from pbem.player.sealed_view import SealedSide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from playing.sealed_match import Owner

    from pbem.match.step import Signed
    from pbem.requests import SignedForm

OTHER = "ab" * 32


class Lie(NamedTuple):
    """A letter with steps that must not count."""

    teller: Owner
    said: SignedForm[Any]
    signed: Signed


class Rule(NamedTuple):
    """A rule of the judge: the method that knows it, what is there without it, and a letter that it forbids."""

    method: str
    without: Callable[..., Any]
    lie: Callable[[SealedMatch], Lie]


def begun() -> SealedMatch:
    table = SealedMatch("spaceships", 1, 2, fleet="cost:3")
    table.begin()
    return table


def signed(table: SealedMatch, seat: int, most: int = 9, computed: str = "", cited: str = "", turn: int = 0) -> Lie:
    """The step that the seat owes, computed after this head, in a letter that cites another, or another turn."""
    owner, match = table.owners[seat - 1], table.match
    found = owner.steps(replace(match, prev=computed or match.prev), most=most)
    table.match = replace(match, prev=cited or match.prev)
    letter = table.letter(owner, "step", f"game 1 turn {turn or match.turn}", found)
    table.match = match
    return Lie(owner, *letter)


def after(table: SealedMatch, told: int) -> SealedMatch:
    """The game after Anna's commitment, or after Bob's strikes as well."""
    for owner in table.owners[:told]:
        table.tell(owner)
    return table


def another_head(table: SealedMatch) -> Lie:
    """Anna opens, and cites the head of the agreement: so she could open in two histories of the game."""
    return signed(after(table, 2), 1, cited=table.entries[0].head)


def another_after(table: SealedMatch) -> Lie:
    """Bob's paper does not name the head that he saw."""
    return signed(after(table, 1), 2, computed=OTHER)


def another_after_committed_to(table: SealedMatch) -> Lie:
    """Nor does Anna's, to which she committed."""
    table.take(*signed(table, 1, computed=OTHER))
    table.tell(table.owners[1])
    return signed(table, 1)


def another_link(table: SealedMatch) -> Lie:
    """Anna answers other strikes than Bob's."""
    table.owners[0].lie = changed("answers", lambda words, text: ((OTHER, words[1]), text))
    return signed(after(table, 2), 1)


def another_paper(table: SealedMatch) -> Lie:
    """Anna opens another paper than the one to which she committed."""
    table.owners[0].lie = changed("open", lambda words, text: ((*words[:2], OTHER), text))
    return signed(after(table, 2), 1, most=1)


def unasked(judge: Any, step: str, words: tuple[str, ...]) -> Mapping[str, str]:
    return dict(zip(judge.play.rules.papers[step].values, words, strict=True))


def nothing(*_: object) -> None:
    return None


RULES = {
    "the head that is cited": Rule("demand_now", nothing, another_head),
    "the head that a paper names": Rule("_said", unasked, another_after),
    "the head that a paper names that was committed to": Rule("_said", unasked, another_after_committed_to),
    "the paper that is answered": Rule("_said", unasked, another_link),
    "the paper that was committed to": Rule("_demand_opened", nothing, another_paper),
}


def entered(name: str) -> tuple[SealedMatch, Lie]:
    """A match that has gone on with such a letter, on a server without the rule."""
    table = begun()
    lie = RULES[name].lie(table)
    with without(name):
        table.take(*lie)
    return table, lie


@contextmanager
def without(name: str) -> Iterator[None]:
    """A judge without this rule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed_letters._StepJudge, RULES[name].method, RULES[name].without)
        yield


def server_finds(table: SealedMatch, lie: Lie) -> bool:
    try:
        table.fork().take(*lie)
    except Refused:
        return True
    return False


def verifier_finds(table: SealedMatch) -> bool:
    return not table.checks()[-1].holds


def player_finds(table: SealedMatch, lie: Lie) -> bool:
    """True if the other player's program finds the lie in the signed texts."""
    match, seat = table.match, 3 - lie.teller.seat
    assert match.options is not None
    sealed = sealed_files.of_seat(match, None)
    document = {"game": 1, "options": dict(match.options.changed), "sealed": sealed}
    heads = {entry.seq: entry.head for entry in table.entries}
    try:
        SealedSide.of(view(match, seat), SERVER, document, sealed["keys"], [*pasted(table)], heads)
    except (Contradiction, Impossible):
        return True
    return False


def pasted(table: SealedMatch) -> Iterator[SignedText]:
    for path, content in table.papers.items():
        if path.startswith(("letters/game-", "letters/step-")):
            yield SignedText(content.partition(b"\r\n\r\n")[2].replace(b"\r\n", b"\n"))
