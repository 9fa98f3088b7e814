"""The one table of notices: everything that is true of a kind of letter is in its row, and nowhere else.

A notice is what a match tells its seats: `Step.notify` sends it to those that its row names, and `MatchLetters.tell`
in `pbem/desk/match_letters.py` writes the letters. The other kinds are the desk's own letters that can wait for a
digest. The words are in `templates/letters/`, one template per notice, named after its kind. No look-ups, no
decisions. Implements protocol.md, "Commands" (`set mail`), and design.md, "One place for one fact".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping


class NoticeSpec(msgspec.Struct, frozen=True):
    """One row of the table of notices."""

    kind: str
    subject: Phrase | None = None
    """The subject; None if the desk that writes the letter chooses it."""
    to: Literal["all", "others", "some"] = "all"
    """The seats that get it: all; all but the one whose act it announces; or some, which the event chooses."""
    can_wait: bool = False
    """True if it can wait for the digest: offers lapse, keys are a matter of security, setups begin a game."""
    public: bool = False
    """True if observers hear of it."""
    leads: bool = False
    """True if it comes before all else that is told at one moment: the result, before the turn that brought it."""
    closes: bool = False
    """True if it comes after all else: thanks, and the way to a rematch."""
    says_why: bool = False
    """True if it comes even before the result, because it says what led to it."""
    html: bool = False
    """True if it has an HTML part: it shows a position, or asks for one."""
    unasked: bool = False
    """True if it only reminds of what was told before: it has a list of its own, which its reader may leave."""
    starts_clock: bool = False
    """True if it asks for something: as long as it is under way, the clock stands."""
    talks: bool = False
    """True if plain words in answer to it are a message to the other players."""
    of_player: bool = False
    """True if it tells of a player, not of the game: of one whom the match hides, nobody is told."""
    moves_deadline: bool = False
    """True if it tells of another deadline for what was asked before."""

    @property
    def text(self) -> str:
        """The template of its text."""
        return f"letters/{self.kind}.txt"

    @property
    def brings_deadline(self) -> bool:
        """True if the deadline comes with it as a calendar file."""
        return self.starts_clock or self.moves_deadline


NOTICES: Mapping[str, NoticeSpec] = {
    one.kind: one
    for one in (
        NoticeSpec("setup", Phrase("game {game}, send your setup"), html=True, starts_clock=True),
        NoticeSpec("begin", Phrase("game {game} begins"), can_wait=True, public=True, html=True, starts_clock=True),
        NoticeSpec("turn", Phrase("game {game}, {what}"), can_wait=True, public=True, html=True, starts_clock=True),
        NoticeSpec(
            "step",
            Phrase("game {game}, turn {turn}: {who} has played"),
            to="others",
            public=True,
            html=True,
            starts_clock=True,
        ),
        NoticeSpec("reveals", Phrase("game {game} is over: reveal your secrets"), starts_clock=True),
        NoticeSpec("revealed", Phrase("game {game}: {who} has revealed everything"), to="some"),
        NoticeSpec(
            "ended", Phrase("game {game}, the end: {result}"), can_wait=True, public=True, leads=True, html=True
        ),
        NoticeSpec("closed", Phrase("the match is closed"), can_wait=True, public=True, closes=True, html=True),
        NoticeSpec("reminder", Phrase("game {game}, {what}: a reminder"), to="some", can_wait=True, unasked=True),
        NoticeSpec("missed", Phrase("game {game}, {what}: a deadline was missed"), can_wait=True, says_why=True),
        NoticeSpec(
            "extended",
            Phrase("game {game}, {what}: you have more time"),
            to="some",
            can_wait=True,
            moves_deadline=True,
        ),
        NoticeSpec(
            "moved", Phrase("game {game}, {what}: you have more time"), to="some", can_wait=True, moves_deadline=True
        ),
        NoticeSpec("vacation", Phrase("game {game}, {what}: a vacation"), to="others", can_wait=True, of_player=True),
        NoticeSpec("offer", Phrase("game {game}, {what}: {matter}"), to="others", says_why=True),
        NoticeSpec("keys", Phrase("{by} has changed keys"), to="others", of_player=True),
        NoticeSpec("substitute", Phrase("who takes a seat?"), to="some"),
        NoticeSpec("substituted", Phrase("{who} takes a seat"), to="others", can_wait=True),
        NoticeSpec("welcome", Phrase("game {game}, {what}: your seat"), to="some", starts_clock=True),
        NoticeSpec("paused", Phrase("the match is paused"), can_wait=True),
        NoticeSpec("restored", Phrase("the match is paused: the server was restored")),
        NoticeSpec("resumed", Phrase("the match goes on"), can_wait=True, starts_clock=True),
        NoticeSpec("press", can_wait=True, talks=True),
        NoticeSpec("press_alone", can_wait=True),
        NoticeSpec("joined", can_wait=True),
        NoticeSpec(
            "left",
            Phrase("{who} has left"),
            to="some",
            can_wait=True,
            says_why=True,
            starts_clock=True,
        ),
        NoticeSpec("resigned", can_wait=True),
        NoticeSpec("declined", can_wait=True),  # of a proposed match; of a draw, it is an `offer`
        NoticeSpec("proposal", can_wait=True, html=True),
        NoticeSpec("seat_declined", can_wait=True),
    )
}
"""The rows by their kinds."""
