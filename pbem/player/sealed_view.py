"""A sealed game as one player knows it: what was told, judged; answers from own secrets; the next letter.

Pure: the server's document and the player's secrets in, the sections of a letter out, with the secrets that must be
on the disk before it leaves. The functions of `match.sealed_letters` judge what is told. Implements sealed.md 1.3
and 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from pbem.games import Refused, rules
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.match.sealed_game import (
    NOTHING,
    ORDERS,
    PaperPlace,
    SealedPlay,
    ToldGame,
    hashed,
    lines_of,
    orders_paper,
    setup_paper,
)
from pbem.match.sealed_letters import judge_lines, judge_steps, write_step
from pbem.match.transcript import canonical, sha256_hex
from pbem.player.correspondence.standings import Impossible
from pbem.requests import Section, SignedForm, TakeSteps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Options
    from pbem.games.sealed import SealedRules, SealedStep, Table
    from pbem.json_object import JsonObject
    from pbem.match.sealed_letters import Taken
    from pbem.match.view import MatchView
    from pbem.player.secret_vault import Secrets


_OPEN = "open"
"""The step that brings the paper which `commit` named."""

_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Line = Annotated[str, msgspec.Meta(max_length=4000)]
_Key = Annotated[str, msgspec.Meta(max_length=1 << 17)]
"""An OpenPGP key of all octets that a server takes is shorter."""
_Seat = Annotated[str, msgspec.Meta(pattern=r"\A[12]\Z")]


class Contradiction(Exception):
    """The server's statements cannot all be true; the text says why."""


class Changed(Contradiction):
    """The server's statement differs from an earlier one."""


class ToldStep(msgspec.Struct, frozen=True):
    """A step as the server reports it."""

    turn: _Number
    seat: Annotated[int, msgspec.Meta(ge=1, le=99)]
    step: Annotated[str, msgspec.Meta(pattern=r"\A[a-z]{1,20}\Z")]
    lines: list[_Line]
    seq: _Number
    head: _Hash
    values: dict[str, _Hash] | None = None
    """The values of its paper's head that were in its letter."""
    paper: _Hash | None = None
    mail: _Hash | None = None
    letter: _Line | None = None

    @property
    def said(self) -> str:
        """The hash of its contents, which are told for each step as long as its game lasts."""
        return sha256_hex(canonical([self.turn, self.seat, self.step, self.lines]))


class SealedState(msgspec.Struct, frozen=True):
    """The sealed part of a position's or a setup's file."""

    owes: list[str]
    """The steps that the reader owes."""
    terms: _Hash
    """Hash of the agreed terms, which the paper of a setup names."""
    note: Annotated[str, msgspec.Meta(max_length=8192)] | None = None
    keys: dict[str, list[_Key]] = {}
    """The public keys of each seat that may sign its letters."""
    seals: dict[_Seat, _Line] = {}
    """The file of the letter that committed to each seat's setup, as long as letters bring it."""
    commitments: dict[str, _Hash] = {}
    steps: list[ToldStep] = []
    resigned: _Line | None = None
    """The file of the letter by which a player gave up the game."""

    @classmethod
    def read(cls, document: object) -> SealedState:
        """Read it from the `sealed` of such a file; raises `Contradiction`."""
        try:
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise Contradiction(f"what is told of the sealed game has no such form: {error}") from error


class NextLetter(msgspec.Struct, frozen=True):
    """The sections of the next letter, and what must be on the disk before it leaves."""

    sections: tuple[Section, ...]
    secrets: Secrets
    turn: int
    """The turn of the first step."""
    ordered: int
    """The turn whose orders are in it; 0 if none are."""


class SignedBefore(NamedTuple):
    """A step that its player signed for a server that was restored since, and may have forgotten it.

    Both sides know it, so it is told again in the same words.
    """

    section: Section
    prev: str
    """The head that its letter cites."""


class OrdersAsked(msgspec.Struct, frozen=True):
    """Orders are needed before anything can be sent; with the state for the player who decides on them."""

    own: Any
    table: Table


class SealedSide(msgspec.Struct, frozen=True):
    """A sealed game from the side of one player: as it was told, at each moment."""

    options: Options
    place: PaperPlace
    """The own one."""
    told: SealedState
    prev: str
    """The head that the next letter cites, whoever writes it."""
    plays: tuple[SealedPlay, ...]
    """The game before each step, and at last as it is now."""

    @classmethod
    def of(cls, standing: MatchView, server: str, document: JsonObject) -> SealedSide:
        """The game in a position's file; raises `Contradiction`."""
        told = SealedState.read(document.get("sealed"))
        found = sealed_rules(standing.rules)
        if found is None:
            raise Contradiction(f"{standing.rules} is not played sealed")
        players = tuple(str(player) for player in standing.players)
        options = _options(standing.rules, document, len(players))
        place = PaperPlace(server, standing.match, document["game"], standing.seat, standing.player)
        commitments = {seat: told.commitments.get(str(seat), NOTHING) for seat in range(1, len(players) + 1)}
        where, game = (server, place.match, place.game, players), ToldGame(commitments, {})
        plays = [SealedPlay(found, *where, told.terms, game, found.begin(options), standing.restored > 0)]
        for step in told.steps:
            plays.append(_entered(plays[-1], step))
        if any(step.paper is None and step.turn >= plays[-1].table.turn - 1 for step in told.steps):
            raise Contradiction("papers of this turn or the last are not told")
        return cls(options, place, told, str(document.get("prev")), tuple(plays))

    @property
    def play(self) -> SealedPlay:
        """The game as it is now."""
        return self.plays[-1]

    @property
    def rules(self) -> SealedRules:
        """The rules for sealed play."""
        return self.play.rules

    @property
    def table(self) -> Table:
        """The public facts of the game."""
        return self.play.table

    @property
    def players(self) -> Sequence[str]:
        """The players, in the order of their seats."""
        return self.play.players

    @property
    def steps(self) -> Sequence[SealedStep]:
        """All steps, as they were entered."""
        return self.play.game.told()

    def commitment(self, secrets: Secrets) -> str:
        """The commitment to the player's own setup."""
        return commitment(self.told.terms, secrets)

    def agrees(self, secrets: Secrets) -> bool:
        """True if these are the committed secrets, and rebuild everything that was sent with them."""
        game, seat, turn = self.play.game, self.place.seat, self.table.turn
        if self.commitment(secrets) != game.commitments[seat]:
            return False
        bound = [step for step in game.steps if step.seat == seat and self._binds(step.step)]
        if not all(str(step.turn) in secrets.orders for step in bound):
            return False
        named = [step for step in bound if ORDERS in step.values]
        if any(step.values[ORDERS] != self._orders(secrets, step.turn) for step in named):
            return False
        committed = game.committed(seat, turn)
        if committed is None:
            return True
        after = secrets.after.get(str(turn))
        return after is not None and hashed(self._written(self.play, _OPEN, secrets, after)[1]) == committed.paper

    def letter(
        self, secrets: Secrets, prev: str, signed: Mapping[int, SignedBefore] | None = None
    ) -> NextLetter | OrdersAsked | None:
        """The next letter, which cites `prev`; or what must be decided before; None if nothing is due.

        `signed`: the player's steps that a restored server may have forgotten, by their number in the game. Raises
        `Contradiction` if they do not fit what is told now, `Impossible` if the secrets lack their orders.
        """
        seat, play = self.place.seat, self.play
        sections, ordered = list[Section](), 0
        while owed := play.rules.owed(play.table, seat):
            step, turn = owed[0], play.table.turn
            before = (signed or {}).get(self.count + len(sections) + 1)
            own = self.own(play, secrets)
            if play.rules.asks(own, play.table):
                if before is not None:
                    raise Impossible(
                        "What you owe in {match} is signed, and cannot be changed.", match=self.place.match
                    )
                return OrdersAsked(own, play.table)
            if self._binds(step) and play.game.committed(seat, turn) is None:
                ordered = turn
                if str(turn) not in secrets.orders:
                    secrets = secrets.with_orders(turn, play.rules.orders(own, turn))  # there was nothing to choose
            if step == COMMIT:
                secrets = secrets.committed(turn, before.prev if before else prev)
            sections.append(before.section if before else self._made(play, step, secrets, prev))
            try:
                play = _judged(play, seat, turn, sections[-1]).play
            except Refused as refused:
                raise refusal(f"turn {turn}, seat {seat}, {step}, as signed here before", refused) from refused
        return NextLetter(tuple(sections), secrets, self.table.turn, ordered) if sections else None

    @property
    def count(self) -> int:
        """The number of own steps in this game."""
        return sum(step.seat == self.place.seat for step in self.told.steps)

    def _made(self, play: SealedPlay, step: str, secrets: Secrets, prev: str) -> Section:
        """The section of a step that is owed."""
        if step == COMMIT:
            return Section(step, (hashed(self._written(play, _OPEN, secrets, prev)[1]),), "")
        values, written = self._written(play, step, secrets, secrets.after.get(str(play.table.turn), prev))
        kind = play.rules.papers[step]
        return Section(step, tuple(values[head] for head in kind.values), lines_of(written, kind.name))

    def _written(self, play: SealedPlay, step: str, secrets: Secrets, after: str) -> tuple[Mapping[str, str], str]:
        """The head of the own paper of a step, and the paper."""
        kind, turn = play.rules.papers[step], play.table.turn
        values = {"after": after, "salt": secrets.salt(turn, kind.name)}
        if ORDERS in kind.heads:
            values[ORDERS] = self._orders(secrets, turn)
        lines = play.rules.lines(self.own(play, secrets), play.table, step)
        return write_step(play, self.place.seat, step, values, lines)

    def own(self, play: SealedPlay, secrets: Secrets) -> Any:
        """The own side at this moment."""
        return play.rules.own(self.options, self.place.seat, secrets.setup, secrets.by_turn, play.table)

    def _orders(self, secrets: Secrets, turn: int) -> str:
        """The hash of the own paper of a turn's orders."""
        seed, text = bytes.fromhex(secrets.seed), secrets.orders[str(turn)]
        return hashed(orders_paper(seed, self.place, turn, self.commitment(secrets), text))

    def reveal(self, secrets: Secrets) -> tuple[Section, ...]:
        """The reveal when the game is over: seed, setup, and the orders of all turns that were played."""
        told = {step.turn for step in self.steps if step.seat == self.place.seat and self._binds(step.step)}
        orders = [Section("orders", (str(turn),), text) for turn, text in secrets.by_turn.items() if turn in told]
        return (Section("seed", (secrets.seed,), ""), Section("setup", (), secrets.setup), *orders)

    def _binds(self, step: str) -> bool:
        return step == COMMIT or self.rules.papers[step].ordered


def _entered(play: SealedPlay, told: ToldStep) -> SealedPlay:
    """The game after a step that was told; raises `Contradiction`."""
    where = f"turn {told.turn}, seat {told.seat}, {told.step}"
    if told.seat > len(play.players):
        raise Contradiction(f"{where}: there is no such seat")
    kind, values, text = play.rules.papers.get(told.step), told.values or {}, "\n".join(told.lines)
    try:
        if told.paper is None:
            taken = judge_lines(play, told.seat, told.step, text)
        else:
            words = tuple(values[head] for head in kind.values if head in values) if kind else (told.paper,)
            section = Section(told.step, words, text)
            taken = _judged(play, told.seat, told.turn, section, told.mail or "", told.letter or "")
    except Refused as refused:
        raise refusal(where, refused) from refused
    filed = taken.filed
    if (filed.turn, list(filed.lines), filed.paper) != (told.turn, told.lines, told.paper or ""):
        raise Contradiction(f"{where}: its turn, its lines or its paper are told otherwise than they are judged")
    return taken.play


def _judged(play: SealedPlay, seat: int, turn: int, section: Section, mail: str = "", letter: str = "") -> Taken:
    """One step, judged as it would be in a letter; the head that this would cite is not told."""
    form = SignedForm(
        TakeSteps(sections=(section,)), play.server, play.players[seat - 1], game=play.number, turn=turn
    )
    return judge_steps(play, seat, form, mail, letter)[0]


def commitment(terms: str, secrets: Secrets) -> str:
    """The hash of a setup's paper."""
    return hashed(setup_paper(bytes.fromhex(secrets.seed), secrets.place, terms, secrets.setup))


def refusal(where: str, refused: Refused) -> Contradiction:
    """The refusal of a step by the rules as a contradiction."""
    said = "; ".join(str(fault.message) for fault in refused.faults)
    return Contradiction(f"{where}: it would be refused: {said}")


def _options(name: str, document: JsonObject, seats: int) -> Options:
    try:
        return rules(name).options(document["options"], seats)
    except (Refused, KeyError, TypeError, ValueError) as error:
        raise Contradiction("the options of the sealed game cannot be read") from error
