"""Sealed play: each player keeps the secrets, answers for them, and reveals them at the end.

The events are in `events.sealed_events`. Implements docs/playing.md and docs/bundle.md, "Sealed matches".
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from pbem.games import Fault, Refused, Result
from pbem.games.sealed import sealed_rules
from pbem.match.asking import banks, start_clocks
from pbem.match.events.ended import conclude
from pbem.match.events.sealed_events import ask_for_steps, is_due, judge, table_of
from pbem.match.events.silence import forfeit
from pbem.match.play import Play
from pbem.match.sealed_game import KEEPS_SECRETS, SETUP, Ending, SealedGameState
from pbem.match.sealed_letters import receipt_path
from pbem.match.sealed_verdict import open_record
from pbem.match.state import losing_seats
from pbem.match.step import Document
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from pbem.games import ShownReports, State
    from pbem.games.sealed import SealedRules, Table
    from pbem.json_object import JsonObject
    from pbem.match.events.ended import Closing
    from pbem.match.state import Match, Reports
    from pbem.match.step import Step


class SealedMode(Play, frozen=True):
    """The play of a match whose secrets stay with their owners."""

    code: str
    """The code of the match's game."""
    game: SealedGameState = SealedGameState()

    entries = frozenset({"sealed", "step", "reveal", "verdict"})
    hides = False
    position_files = ("setup 1", "position 1")
    read_by_others = frozenset({"seal", "step", "reveal", "resign"})
    stays = Phrase("nobody can take over a seat of a sealed match: only its player has the secrets")

    @property
    def rules(self) -> SealedRules:
        """The sealed rules of the game."""
        return cast("SealedRules", sealed_rules(self.code))

    def anew(self) -> SealedMode:
        return SealedMode(self.code)

    def due(self, match: Match, seat: int) -> None:
        return None  # a program writes it

    def asked(self, match: Match, seat: int) -> bool:
        if self.game.ending is not None:
            return seat not in self.game.reveals
        return seat in match.choosing

    def owes(self, match: Match, seat: int) -> tuple[str, ...]:
        """The steps due from this seat: `seal`, the game's steps in order, or `reveal`."""
        if not match.asked(seat):
            return ()
        if match.phase == "setup":
            return ("seal",)
        return ("reveal",) if self.game.ending is not None else self.rules.owed(table_of(match), seat)

    def pace(self, match: Match, position: State) -> Fraction:
        return Fraction(1)  # for each step

    def period(self, match: Match, position: State) -> None:
        return None  # of what all told each other, no game says it yet

    def side(self, match: Match, position: State, seat: int) -> tuple[()]:
        return ()

    def awaits(self, match: Match) -> Phrase | None:
        return Phrase("reveal") if match.phase == "playing" and self.game.ending is not None else None

    def refuse_secrets(self, match: Match, what: str) -> None:
        raise Refused(Fault(what, match.id, KEEPS_SECRETS))

    def counted_as_received(self, match: Match, seat: int, received: datetime, *, default: bool) -> datetime:
        """No proof asks when a step came."""
        begun = bool(self.game.commitments)
        return received if begun else super().counted_as_received(match, seat, received, default=default)

    def view(self, match: Match, position: State, seat: int | None) -> Mapping[str, object]:
        return self.rules.view(cast("Table", position), seat)

    def show(self, match: Match, seat: int | None, reports: Reports) -> Reports:
        return reports  # the players have told each other all

    def latest(self, match: Match, seat: int | None) -> ShownReports:
        return table_of(match).played[-1]

    def keeps_views(self, match: Match) -> bool:
        return True  # the table has all reports

    def truth(self, match: Match) -> dict[int, Mapping[str, Any]] | None:
        if not self.rules.reveals:
            return {owner: match.view(owner) or {} for owner in match.seats}
        if len(self.game.reveals) < len(match.seats):
            return None
        table = table_of(match)
        try:
            own = {
                owner: self.rules.own(match.options, owner, revealed.setup, revealed.orders, table)
                for owner, revealed in sorted(self.game.reveals.items())
            }
        except Refused:
            return None
        return {owner: self.rules.own_view(side, table) for owner, side in own.items()}

    def setups(self, match: Match) -> dict[int, str]:
        if self.rules.reveals:
            return {seat: revealed.setup for seat, revealed in sorted(self.game.reveals.items())}
        return dict(sorted((one.seat, "\n".join(one.lines)) for one in self.game.steps if one.step == SETUP))

    def commitments(self, match: Match) -> dict[int, str]:
        return dict(sorted(self.game.commitments.items()))

    def levels(self, match: Match) -> dict[int, str]:
        return dict.fromkeys(match.seats, "key")

    def without(self, match: Match, position: State, seat: int) -> None:
        return None  # two play

    def keys_in(self, document: JsonObject) -> set[tuple[str, str]]:
        match document:
            case {"sealed": {"keys": dict(keys)}}:
                return {(seat, str(key)) for seat, told in keys.items() if isinstance(told, list) for key in told}
        return set()

    def begin(self, step: Step) -> None:
        """Publish the seats' commitments, and ask for the first step."""
        match = step.match
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
            position=self.rules.begin(match.options),
            play=replace(self, game=SealedGameState(commitments, seals)),
            misses={},
            sentence_revs={},
        )
        ask_for_steps(step)
        step.notify("begin")

    def proceed(self, step: Step) -> None:
        """Judge the game when it is over, and forfeit for silence; turns are reported by the players themselves."""
        match = step.match
        if is_due(match):
            judge(step)
        elif gone := [seat for seat in losing_seats(match) if match.asked(seat)]:
            forfeit(step, gone)

    def end(self, step: Step, result: Result, closes: Closing | None, by: str, resignation: str) -> None:
        """Ask everybody to reveal what was kept secret, if the game is not open by then."""
        match = step.match
        if not self.rules.reveals or result.reason == "abandoned":
            record = open_record(match, self.rules, self.game, result)
            conclude(step, result, record, closes=closes, by=by)
            return
        ending = Ending(result, closes, by, resignation)
        step.match = replace(
            match,
            prev=match.head,
            play=replace(self, game=replace(self.game, ending=ending, printed={})),
            banks=banks(step),
            missed=frozenset(),
            offers={},
            sentence_revs={},
        )
        start_clocks(step, match.seats)
        step.notify("reveals", ending=ending)
