"""The states of matches, by the newest letters, and the decision that each of them awaits.

Only reading: what letters change is in `belief`. Whatever a match does not allow now is refused with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.terms import Terms
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble
from pbem.player.known import MatchKnown
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.player.account_file import Account
    from pbem.player.memory import Memory, SentForm


PHASES: Mapping[str, Phrase] = {
    "open": Phrase("open"),
    "proposed": Phrase("proposed"),
    "setup": Phrase("waiting for setups"),
    "playing": Phrase("being played"),
    "closed": Phrase("closed"),
    "declined": Phrase("declined"),
    "withdrawn": Phrase("withdrawn"),
}
"""The phases of matches, as a sentence says them."""


class Impossible(PlayerTrouble):
    """Something cannot be sent in the present state; the text tells the player why."""


class Contradiction(Exception):
    """A contradiction between statements of the server; the text says which."""


class OwnMatches:
    """The matches of one player, as a memory has them."""

    def __init__(self, account: Account, memory: Memory) -> None:
        self._account = account
        self._memory = memory

    @property
    def standings(self) -> list[MatchView]:
        """The state of each match, by the newest letters."""
        return self._memory.standings()

    @property
    def programs(self) -> set[str]:
        """The players who are programs, by any match: a program stays one."""
        return {
            name
            for standing in self.standings
            for seat, name in enumerate(standing.players, start=1)
            if name and seat in standing.programs
        }

    def standing(self, match: str) -> MatchView:
        """The state of a match; raises `Impossible` if no letter told of it."""
        known = self._memory.standing(match)
        if known is None:
            raise Impossible("No letter about {match} has come. `pbem play` lists your matches.", match=match)
        return known

    def running(self, match: str) -> MatchView:
        """The state of a match that has begun and is not over; raises `Impossible`."""
        standing = self.standing(match)
        if standing.phase not in {"setup", "playing"}:
            raise Impossible(
                "{match} is {phase}: there is nothing to say about it now.", match=match, phase=PHASES[standing.phase]
            )
        return standing

    def position(self, match: str) -> JsonObject | None:
        """The latest position of a match, as a letter's file brought it."""
        return self._memory.latest(match, "position")

    def setup_file(self, match: str) -> JsonObject | None:
        """The latest file about the setup of the current game, or about anything that is due in a sealed one."""
        return self._memory.paper(match, self.standing(match).game, 0, "setup")

    def pending(self, match: str) -> SentForm | None:
        """Setup or orders for what is due now that are on their way, or accepted."""
        sent = self._last(match)
        return None if sent is None or self._is_asked_again(sent) else sent

    def unused(self, match: str) -> SentForm | None:
        """Orders in advance for the turn that is due now, which do not count: they were illegal when it came."""
        sent = self._last(match)
        return sent if sent is not None and self._is_asked_again(sent) else None

    def _last(self, match: str) -> SentForm | None:
        standing = self.standing(match)
        command, place = due(standing)
        alive = [sent for sent in self._memory.sent(command, match, place) if _is_alive(sent, standing)]
        # With a higher revision it was withdrawn since, or replaced from elsewhere.
        return alive[-1] if alive and standing.rev <= alive[-1].rev + 1 else None

    def _is_asked_again(self, sent: SentForm) -> bool:
        return sent.state == "done" and self.standing(sent.match).asked

    def stored(self, match: str) -> dict[int, SentForm]:
        """Orders of ours for later turns of this game, by turn, and default orders at `DEFAULT`."""
        standing = self.standing(match)
        last: dict[int, SentForm] = {}
        letters = [*self._memory.prepared("orders", match), *self._memory.prepared("clear", match)]
        for sent in sorted(letters, key=lambda sent: sent.rev):
            turn = early(standing, sent.place)
            if turn is not None and _is_alive(sent, standing) and (sent.command, sent.state) != ("clear", "bounced"):
                last[turn] = sent
        return {turn: sent for turn, sent in sorted(last.items()) if sent.command == "orders"}

    def setup_asked(self, match: str) -> JsonObject:
        """The request for the setup of the next game; raises `Impossible`."""
        standing = self.standing(match)
        if standing.phase != "setup":
            raise Impossible(
                "{match} asks for no setup now: it is {phase}.", match=match, phase=PHASES[standing.phase]
            )
        asked = self.setup_file(match)
        if asked is None:
            raise Impossible("The letter that asks for the setup of {match} has not come.", match=match)
        return asked

    def position_asked(self, match: str) -> JsonObject:
        """The position of the turn for which this player has to order; raises `Impossible`."""
        standing = self.standing(match)
        demand_playing(standing)
        position = self._memory.paper(match, standing.game, standing.turn, "position")
        if position is None:
            raise Impossible(
                "The letter that brings turn {turn} of {match} has not come.", turn=standing.turn, match=match
            )
        ordered = standing.rev > 1  # orders of ours were accepted for the turn, and may still be replaced
        if position["view"].get("entitled") is None or not (standing.asked or ordered):
            raise Impossible("It is not your move in {match}.", match=match)
        return position

    def terms(self, match: str) -> Terms:
        """The terms of a proposal, exactly those whose hash `accept` names; raises `Impossible`."""
        standing = self.standing(match)
        try:
            found = Terms.read(standing.agreement or {})
            hashed = found.hash(self._account.server, match)
        except (KeyError, TypeError, ValueError) as error:
            raise Impossible("The terms of {match} cannot be read.", match=match) from error
        if hashed != standing.hash:
            raise Impossible(
                "The hash that the server gives for {match} is not that of its terms: do not accept it.", match=match
            )
        return found

    def agreed(self, match: str) -> Terms | None:
        """The terms to which we agreed from here; None if no such letter was written."""
        agreed = self._memory.known(MatchKnown, match).agreed
        return Terms.read(agreed) if agreed else None

    def agreed_or_entered(self, match: str) -> Terms | None:
        """The terms to which we agreed; in a tournament that we entered, those of its matches, without players."""
        if (agreed := self.agreed(match)) is not None:
            return agreed
        told = self._memory.tournament(self.standing(match).tournament or "")
        entered = told.terms_for(self._account.server) if told is not None else None
        return entered.of_matches if entered is not None else None


def demand_playing(standing: MatchView) -> None:
    """Raise `Impossible` if nothing is ordered in a match now."""
    if standing.phase != "playing":
        raise Impossible(
            "{match} asks for no orders now: it is {phase}.", match=standing.match, phase=PHASES[standing.phase]
        )


def due(standing: MatchView) -> tuple[str, str]:
    """The command for which a match waits, and its place; no place if it waits for none."""
    if standing.phase == "setup":
        return "setup", f"game {standing.game}"
    if standing.phase == "playing":
        return "orders", place_of(standing, standing.turn)
    return "", ""


def place_of(standing: MatchView, turn: int) -> str:
    """The place of orders for a turn of this game, or of default orders."""
    return f"game {standing.game} {named(turn)}"


def named(turn: int) -> str:
    """A turn, or `DEFAULT`, as forms name it."""
    return f"turn {turn}" if turn != DEFAULT else "default"


def early(standing: MatchView, place: str) -> int | None:
    """The later turn of this game whose place this is, or `DEFAULT`; None if it is the place of neither."""
    if standing.phase != "playing":
        return None
    if place == place_of(standing, DEFAULT):
        return DEFAULT
    turn = place.removeprefix(f"game {standing.game} turn ")
    return int(turn) if turn.isdecimal() and int(turn) > standing.turn else None


def is_late(standing: MatchView, sent: SentForm) -> bool:
    """True if a letter is a setup or orders for what is over."""
    here = due(standing)[1]
    return sent.command in {"setup", "orders"} and sent.place != here and early(standing, sent.place) is None


def _is_alive(sent: SentForm, standing: MatchView) -> bool:
    """True if a letter may count: it was not refused, nor sent to a server that was restored since."""
    return sent.state not in {"refused", "asked"} and sent.generation >= standing.generation
