"""The proof that a program saw nothing but its letters: it commits to a seed, and opens it at the end.

Its setups and orders are a function of level, seed and letters, so that anybody who has the seed and the bundle can
play the seat again, from the reports that were mailed to it. Pure. Implements docs/opponent.md, "Blind".
"""

from __future__ import annotations

import json
import re
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from pbem.games import Refused, rules
from pbem.games.outside import is_agreed
from pbem.games.sealed import COMMIT
from pbem.match.record import read
from pbem.match.sealed_game import ORDERS, SETUP, PaperPlace, lines_of, path
from pbem.match.sealed_mode import SealedMode
from pbem.match.transcript import canonical, sha256_hex
from pbem.player.opponent import EDITIONS, LEVELS, SEED_OCTETS, Chance, Position, edition, strategy
from pbem.proof.compare.finding import Finding
from pbem.proof.signed_letters import signed_agreement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.games import Options
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle
    from pbem.proof.verification import Proved


PROGRAM: Final = version("pbem")
"""The version that plays. Strategies have editions of their own: versions with the same edition play alike."""

_COMMITTED = re.compile(
    r"^# played by pbem (\S{1,40}?), edition ([1-9]\d{0,4}); commitment:\n# ([0-9a-f]{64})$", re.MULTILINE
)
_SEED = re.compile(rf"\b[0-9a-f]{{{2 * SEED_OCTETS}}}\b")
_LETTER: Final = 1 << 20
"""Characters of a letter that are searched for seeds."""


class Commitment(NamedTuple):
    """A program's commitment when it agreed: which version plays, which edition, and the hash."""

    program: str
    edition: int
    """The edition of its strategy."""
    hash: str


class Plan(msgspec.Struct, frozen=True):
    """The player, level and seed of a match: everything that moves depend on except the letters."""

    server: str
    player: str
    game: str
    level: int
    seed: bytes
    program: str = PROGRAM
    edition: int | None = None
    """The edition that its commitment names; None: the one of this program."""

    @property
    def commitment(self) -> Commitment:
        """The hash that commits to it, and reveals nothing."""
        played = edition(self.game) if self.edition is None else self.edition
        lines = (
            "pbem opponent 1",
            *(f"server {self.server}", f"player {self.player}", f"game {self.game}", f"level {self.level}"),
            f"program {self.program}",
            *(f"edition {played}", f"seed {self.seed.hex()}", ""),
        )
        return Commitment(self.program, played, sha256_hex("\n".join(lines).encode()))

    @property
    def elsewhere(self) -> str | None:
        """A sentence that names the pbem that plays its edition; None if this one does."""
        played, here = self.edition, edition(self.game)
        if played is None or played == here:
            return None
        if played < here:
            first = EDITIONS[self.game][played - 1]
            return f"edition {played} was promised, and this pbem plays edition {here}: take pbem {first}"
        return (
            f"edition {played} was promised, and pbem {PROGRAM} knows {here} alone: take pbem {self.program};"
            " if nobody has published that, nothing shows that it was blind"
        )

    def setup(self, number: int, options: Options, seat: int) -> str:
        """The setup of a game of the match, by its number."""
        return strategy(self.game).setup(self.level, Chance(self.seed).of(f"game {number} setup"), options, seat)

    def orders(self, number: int, turn: int, position: Position) -> str:
        """The orders of a turn."""
        chance = Chance(self.seed).of(f"game {number} turn {turn}")
        return strategy(self.game).orders(self.level, chance, position)


def comment(commitment: Commitment) -> str:
    """The comment with the commitment in a signed letter, which commands ignore."""
    return f"# played by pbem {commitment.program}, edition {commitment.edition}; commitment:\n# {commitment.hash}\n"


def seeds(text: str) -> list[bytes]:
    """Everything that may be a seed in a text, such as the letter that opened it."""
    return [bytes.fromhex(found) for found in dict.fromkeys(_SEED.findall(text[:_LETTER]))]


def replayed(proved: Proved, opened: Sequence[bytes]) -> Iterator[Finding]:
    """Play each seat again whose commitment one of these seeds opens; `proved` is a verified bundle.

    `agrees`: it saw only its letters. `contradicts`: it saw more. `open`: that cannot be decided.
    """
    bundle, match = proved.whole
    committed = 0
    for seat in match.seats:
        promised = _COMMITTED.findall(signed_agreement(bundle, seat))
        committed += bool(promised)
        if len(promised) > 1:
            yield Finding("contradicts", f"seat {seat}", "its letter commits to more than one seed", 1)
        elif promised:
            program, named, hashed = promised[0]
            yield _judged(bundle, match, proved.notices, seat, Commitment(program, int(named), hashed), opened)
    if not committed and not match.terms.proposed:  # its programs commit in their greetings
        yield Finding("open", "opponent", "letters of entry into a tournament commit to no seed", 1)
    elif not committed:
        yield Finding("contradicts", "opponent", "nobody here committed to a seed when agreeing", 1)


def _judged(
    bundle: Bundle, match: Match, notices: Sequence[Notice], seat: int, promised: Commitment, opened: Sequence[bytes]
) -> Finding:
    """Play a seat again by its commitment."""
    what = f"seat {seat}"
    player = str(bundle.entries[0].body["players"][str(seat)]["name"])
    plans = (
        Plan(match.server, player, match.terms.game, level, seed, promised.program, promised.edition)
        for seed in opened
        for level in LEVELS
    )
    # The seed that was committed to, at any level.
    plan = next((plan for plan in plans if plan.commitment == promised), None)
    if plan is None:
        return Finding("contradicts", what, f"no seed given here opens the commitment of {player}", 1)
    moves = 0
    for seq, where, played, again in _PlayedSeat(bundle, match, notices, seat, plan).moves():
        if again is None:
            return Finding("contradicts", what, f"{where}: {player} is a program, and these are not its own", seq)
        if played != again:
            said = f"{where}: {player} sent {_line(played)}; its seed and its letters give {_line(again)}"
            # Another edition of the program may play otherwise, so that a difference convicts nobody.
            if plan.elsewhere and promised.program != PROGRAM:
                return Finding("open", what, f"{said}. But {plan.elsewhere}", seq)
            if not is_agreed(plan.game, match.terms.rules_package):
                return Finding("open", what, f"{said}. But the package of {plan.game} is another here", seq)
            return Finding("contradicts", what, said, seq)
        moves += 1
    for entry in bundle.entries:
        if entry.type == "verdict" and entry.body["verdicts"][str(seat)] == "not revealed":
            return Finding("open", what, f"game {entry.body['game']}: {player} revealed nothing of it", entry.seq)
    if not moves:
        return Finding("open", what, f"the seed is that of {player}; but nothing of its play is revealed", 1)
    many = f"all {moves} setups and orders" if moves > 1 else "its setup"
    return Finding("agrees", what, f"{player} played blind, at level {plan.level}: {many} follow from its seed")


def _canonical(judge: Callable[[str], str], text: str) -> str:
    """A text as the rules write it, or as it is if they refuse it."""
    try:
        return judge(text)
    except Refused:
        return text


def _line(text: str) -> str:
    """Orders in one line."""
    return f"“{'; '.join(text.splitlines())[:200]}”"


class _PlayedSeat(msgspec.Struct, frozen=True):
    """One seat of a bundle, and the plan that is to give its moves again."""

    bundle: Bundle
    match: Match
    notices: Sequence[Notice]
    seat: int
    plan: Plan

    def moves(self) -> Iterator[tuple[int, str, str, str | None]]:
        """The moves in order: entry, place, text sent, and the text that the plan gives (None: none)."""
        before = {
            (notice.match.game, notice.match.turn): notice.match
            for notice in reversed(self.notices)  # the game's last notice is about the turn that ended it
            if notice.seat == self.seat and notice.kind in {"begin", "turn"}
        }
        for entry in self.bundle.entries:
            game = int(entry.body.get("game", 0))
            record_path = f"records/game-{game}.pbem.toml"
            if entry.type == "substituted" and entry.body.get("seat") == self.seat:
                return  # from here on somebody else plays
            if entry.type == "sealed":  # whose own secrets are revealed though there may be no record
                if (setup := self._revealed(game, SETUP)) is not None:
                    yield entry.seq, f"game {game}, setup", setup, self._setup(entry)
                    yield from self._sealed_orders(entry.seq, game, setup)
                continue
            if record_path not in self.bundle.papers:
                continue
            record = read(self.bundle.papers[record_path].decode())
            if entry.type == "commitments":
                yield entry.seq, f"game {game}, setup", record.seats[self.seat - 1][1], self._setup(entry)
            elif entry.type == "turn" and str(self.seat) in entry.body.get("orders", ()):
                turn = entry.body["turn"]
                played = record.turns[turn - 1].orders[self.seat]
                by_default = self.seat in entry.body.get("default", ())
                again = None if by_default else self._orders(before[game, turn])
                yield entry.seq, f"game {game}, turn {turn}", played, again

    def _setup(self, entry: Entry) -> str | None:
        judge = rules(self.plan.game)
        options = judge.options(entry.body["options"], len(self.match.terms.players))
        try:
            text = self.plan.setup(entry.body["game"], options, self.seat)
        except ValueError:  # it finds none, and would not have accepted
            return None
        return _canonical(lambda text: judge.setup(options, self.seat, text).text, text)

    def _revealed(self, game: int, name: str, turn: int = 0) -> str | None:
        """A setup or orders to which the seat committed in a sealed game, once the paper is in the bundle."""
        place = PaperPlace(self.plan.server, self.match.id, game, self.seat, self.plan.player)
        content = self.bundle.papers.get(path(name, place, turn))
        return None if content is None else lines_of(content.decode(), name)

    def _sealed_orders(self, seq: int, game: int, setup: str) -> Iterator[tuple[int, str, str, str | None]]:
        """The orders of a sealed game, each with those of the plan from what was public when the seat was bound.

        Up to the first step that was false: what came after it does not follow from the seat's own secrets.
        """
        begun = [
            one.match for one in self.notices if one.match.game == game and one.match.play.commitments(one.match)
        ]
        options, play = (begun[-1].options, begun[-1].play) if begun else (None, None)
        if options is None or not isinstance(play, SealedMode):
            return
        judge, seat, false = play.rules, self.seat, self._first_false(game)
        table, given = judge.begin(options), dict[int, str]()
        for step in play.game.steps_for_rules():
            turn = table.turn
            played = self._revealed(game, ORDERS, turn) if step.seat == seat and turn not in given else None
            if played is not None:
                own = judge.own(options, seat, setup, given, table)
                if judge.asks(own, table):
                    view, told = json.loads(canonical([judge.own_view(own, table), list(table.played)]))
                    text = self.plan.orders(game, turn, Position(options, seat, view, told))
                    yield seq, f"game {game}, turn {turn}", played, _canonical(partial(judge.order, own), text)
                    given[turn] = played
                elif step.step == COMMIT or judge.papers[step.step].ordered:
                    given[turn] = played  # there was nothing to choose
            if (step.seat, turn, step.step) == (seat, *false):
                return
            table = judge.enter(table, step.seat, step.step, step.lines)

    def _first_false(self, game: int) -> tuple[int, str]:
        """The turn and the step in which the seat was false first, by the verdict; turn 0 if it was in none."""
        for entry in self.bundle.entries:
            found = entry.body["verdicts"][str(self.seat)] if entry.type == "verdict" else None
            if isinstance(found, dict) and entry.body["game"] == game:
                return found["false"]["turn"], found["false"]["step"]
        return 0, ""

    def _orders(self, match: Match) -> str:
        options, state = match.options, match.under_way
        turns = [
            json.loads(self.bundle.papers[f"reports/game-{match.game}-turn-{turn}-seat-{self.seat}.json"])["reports"]
            for turn in range(1, match.turn)
        ]
        view = json.loads(canonical(match.view(self.seat)))  # as it was attached
        text = self.plan.orders(match.game, match.turn, Position(options, self.seat, view, turns))
        return _canonical(lambda text: rules(self.plan.game).order(state, self.seat, text).text, text)
