"""The seats of a match whose rules are not here: who left, voted and shared, by the entries alone.

Whether the others play on without a seat, who is asked, and who is out of the game, only the rules know: that stays
open. Sealed matches are for two, and have no such entries. Implements docs/bundle.md, 13.1.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pbem.match.transcript import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.match.silence_rules import SilenceRule
    from pbem.match.terms import Terms
    from pbem.match.transcript import Entry

_OF_A_PLAYER: Final = frozenset({"missed", "extended", "resigned", "claimed", "draw", "annul"})
"""The entries of a player who has not left the game."""


def check_remaining(entries: Sequence[Entry], papers: Mapping[str, bytes], terms: Terms) -> None:
    """Check who leaves, by which entries, who says something afterwards, and who shares; raises `TranscriptError`."""
    remaining = Remaining(papers, terms.silence, terms.kind == "single", entries[0], [0] * len(terms.players))
    for entry in entries[1:]:
        remaining.follow(entry)
    if remaining.due:
        raise TranscriptError(len(entries) + 1, None, f"`{remaining.due[0][0]}` should stand here")


@dataclass
class Remaining:
    """The seats of the game that is played, as the entries so far show them."""

    papers: Mapping[str, bytes]
    silence: SilenceRule
    single: bool
    """True if the match is of one game."""
    before: Entry
    """The entry before the one that is followed."""
    totals: list[int]
    """The scores of all games so far, by seat."""
    winners: list[int] | None = None
    """Those of the last game that ended."""
    game: int = 1
    turn: int = 0
    """The turn that is due; 0 while setups are asked for."""
    paused: bool = False
    left: dict[int, int] = field(default_factory=dict)
    """The seats that left, each with the turn that was due."""
    missed: set[int] = field(default_factory=set)
    misses: dict[int, list[int]] = field(default_factory=dict)
    """The entries of each seat's misses in a row."""
    claimed: list[int] = field(default_factory=list)
    """The seats that may leave next, because they were claimed."""
    offers: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    """By seat, those who would share a draw: nobody is named where all who remain would."""
    due: list[tuple[str, str | None]] = field(default_factory=list)
    """The entries that must follow, with their reasons."""

    def follow(self, entry: Entry) -> None:
        """Check the next entry."""
        body, kind = entry.body, entry.type
        if self.due:
            wanted, reason = self.due.pop(0)
            self._demand(entry, (kind, entry.time) == (wanted, self.before.time), f"`{wanted}` should stand here")
            self._demand(
                entry, reason in {None, body.get("reason")}, f"`reason`: all agreed to another end: {reason}"
            )
        else:
            self._demand(entry, kind != "closed" or body["reason"] != "annulled", "not all agreed to annul the match")
        if self.claimed or self.before.type in {"resigned", "claimed"}:
            at_once = kind in {"left", "ended", "closed"} and entry.time == self.before.time
            self._demand(entry, at_once, "somebody gave up or was claimed: `left`, or the end, should stand here")
        says = [body["seat"]] if kind in _OF_A_PLAYER else body["seats"] if kind == "forfeited" else ()
        says = [body["seat"]] if kind == "substitute" and body["seat"] != body["for"] else says
        self._demand(entry, self.left.keys().isdisjoint(says), "a seat that left the game")
        if kind in _FOLLOWS:
            _FOLLOWS[kind](self, entry)
        if kind not in {"claimed", "left"}:
            self.claimed = []
        self.before = entry

    def _demand(self, entry: Entry, condition: object, says: str) -> None:
        if not condition:
            raise TranscriptError(entry.seq, None, f"{entry.type}: {says}")

    def _ask(self) -> None:
        self.missed.clear()
        self.offers.clear()

    def begin_game(self, entry: Entry) -> None:
        """Begin a game: setups were committed to."""
        self.game, self.turn = entry.body["game"], 1
        self.left.clear()
        self.misses.clear()
        self._ask()

    def end_turn(self, entry: Entry) -> None:
        """Check whose orders are played, and ask for the next ones."""
        ordered = {int(seat) for seat in entry.body["orders"]}
        self._demand(entry, ordered.isdisjoint(self.left), "orders of a seat that left the game")
        # Who left in this turn may have changed who is asked.
        for seat in self.missed - ordered if self.turn not in self.left.values() else ():
            rule, misses = self.silence, len(self.misses[seat])
            passes = rule.plays == "empty" and (not rule.turns or misses < rule.turns)
            self._demand(entry, passes, f"the orders of seat {seat} are missing")
        for seat in ordered - set(entry.body["default"]):
            self.misses.pop(seat, None)
        self.turn += 1
        self._ask()

    def miss(self, entry: Entry) -> None:
        """Note that a seat missed its time."""
        seat = entry.body["seat"]
        self._demand(entry, (entry.body["game"], entry.body["turn"]) == (self.game, self.turn), "another turn is due")
        self._demand(entry, seat not in self.missed, "this seat had missed its time before")
        misses = self.misses.setdefault(seat, [])
        misses.append(entry.seq)
        if self.turn or len(misses) >= self.silence.setups:
            self.missed.add(seat)

    def pause(self, entry: Entry) -> None:
        """Note whether the match is paused."""
        self.paused = entry.type != "resumed"

    def extend(self, entry: Entry) -> None:
        """Forget the last misses of those who were given time."""
        for seat in self.missed & set(entry.body["to"]):
            self.missed.remove(seat)
            self.misses[seat].pop()

    def substitute(self, entry: Entry) -> None:
        """Forget the misses and offers of who sat there."""
        self._forget(entry.body["seat"])
        for offers in self.offers.values():
            offers.pop(entry.body["seat"], None)

    def _forget(self, seat: int) -> None:
        self.missed.discard(seat)
        self.misses.pop(seat, None)

    def claim(self, entry: Entry) -> None:
        """Note the seats that may leave now: where the match waits for the silent, those claimed."""
        against = entry.body["against"]
        leave = self.silence.leaves and self.silence.claimable and self.missed.issuperset(against)
        self.claimed = list(against) if leave else []

    def leave(self, entry: Entry) -> None:
        """Check a seat's leave: by a resignation, a claim, or misses in a row."""
        seat, cause = entry.body["seat"], entry.body["cause"]
        self._demand(entry, self.turn and seat not in self.left, "this seat does not play")
        follows = entry.time == self.before.time
        if cause == "resigned":
            resigned = self.before.type == "resigned" and self.before.body["seat"] == seat
            self._demand(entry, follows and resigned, "nobody resigned")
            rests_on = [self.before.seq]
        else:
            rests_on, rule = self.misses.get(seat, []), self.silence
            for_long = rule.leaves and 0 < rule.turns <= len(rests_on) and seat in self.missed
            claimed = follows and self.claimed[:1] == [seat]
            self._demand(entry, claimed or (for_long and not self.paused), "nobody was silent for that long")
        made = {"game": self.game, "seat": seat, "turn": self.turn, "cause": cause, "entries": rests_on}
        for name, value in made.items():
            self._demand(entry, entry.body[name] == value, f"`{name}`: {entry.body[name]}, and not {value}")
        self.left[seat] = self.turn
        self.claimed = self.claimed[1:]
        self._forget(seat)
        self.offers.clear()

    def offer(self, entry: Entry) -> None:
        """Check an offer or answer; if all who have not left offer the same, that must follow."""
        kind, seat, word = entry.type, entry.body["seat"], entry.body["word"]
        sharing = entry.body.get("sharing", [])
        self._demand(entry, kind == "annul" or self.turn, "no game is played")
        self._demand(entry, self.left.keys().isdisjoint(sharing), "shared with a seat that left the game")
        offered = self.offers.get(kind, {})
        alike = [one for one in offered.values() if one == sharing or not (one and sharing)]
        there_is_one = offered if word == "decline" else alike if word == "accept" else True
        self._demand(entry, there_is_one, "there is no such offer")
        self._demand(entry, word == "decline" or offered.get(seat) != sharing, "made already")
        self.offers[kind] = willing = {} if word == "decline" else {**offered, seat: sharing}
        all_agree = {*range(1, len(self.totals) + 1)} - self.left.keys() <= willing.keys()
        if all_agree and all(one == sharing for one in willing.values()):
            annulled = [*([("ended", "abandoned"), ("revealed", None)] if self.turn else []), ("closed", "annulled")]
            self.due = [("ended", "agreement")] if kind == "draw" else annulled

    def end_game(self, entry: Entry) -> None:
        """Note the result, and check a draw: all offers that stand are of those who share it."""
        winners, willing = entry.body["winners"], self.offers.get("draw", {})
        self.winners = winners
        self.totals = [total + score for total, score in zip(self.totals, entry.body["scores"], strict=True)]
        if entry.body["reason"] != "agreement":
            return
        alike = willing and all(one in ([], winners) for one in willing.values())
        self._demand(entry, self.before.type == "draw" and alike, "not all agreed to this draw")
        remain = sorted(willing) if [] in willing.values() else winners
        shared = winners == remain and willing.keys() >= {*winners}
        self._demand(entry, shared, "`winners`: these are not those who agreed to share")

    def reveal(self, entry: Entry) -> None:
        """Check who left by the record; the next game is everybody's."""
        path = f"records/game-{entry.body['game']}.pbem.toml"
        if path in self.papers:
            seats = [{"seat": seat, "turn": turn} for seat, turn in self.left.items()]
            shown = tomllib.loads(self.papers[path].decode()).get("left", [])
            if shown != sorted(seats, key=lambda one: (one["turn"], one["seat"])):
                raise TranscriptError(entry.seq, path, "names other seats that left the game")
        self.game, self.turn = self.game + 1, 0
        self.left.clear()
        self._ask()

    def close(self, entry: Entry) -> None:
        """Check that the match ends as its games did."""
        self._demand(entry, entry.body["scores"] == self.totals, "`scores`: not the sum of the games'")
        one_game = self.single and self.winners is not None
        self._demand(entry, not one_game or entry.body["winners"] == self.winners, "`winners`: not those of the game")


_FOLLOWS: Final[Mapping[str, Callable[[Remaining, Entry], None]]] = {
    "commitments": Remaining.begin_game,
    "turn": Remaining.end_turn,
    "missed": Remaining.miss,
    "extended": Remaining.extend,
    "substituted": Remaining.substitute,
    **dict.fromkeys(("paused", "resumed", "restored"), Remaining.pause),
    "claimed": Remaining.claim,
    "left": Remaining.leave,
    "draw": Remaining.offer,
    "annul": Remaining.offer,
    "ended": Remaining.end_game,
    "revealed": Remaining.reveal,
    "closed": Remaining.close,
}
