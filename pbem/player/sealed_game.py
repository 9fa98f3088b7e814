"""A sealed game as one player knows it: what was told, checked; answers from own secrets; the next letter.

Pure: the server's document and the player's secrets in, the sections of a letter out, with the secrets that must be
on the disk before it leaves. False statements of the server are found here; signatures are checked elsewhere.
Implements sealed.md 1.3 and 1.5, "Papers", from the player's side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from pbem.games import Refused, rules
from pbem.games.sealed import COMMIT, Step, sealed_rules
from pbem.match.changed import replace
from pbem.match.sealed_documents import NOTHING, ORDERS, SETUP, Place, hashed, paper
from pbem.match.transcript import canonical, sha256_hex
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Options
    from pbem.games.sealed import Paper, SealedRules, Table
    from pbem.json_object import JsonObject
    from pbem.player.sealed import Secrets

__all__ = [
    "Changed",
    "Contradiction",
    "NextLetter",
    "OrdersAsked",
    "SealedState",
    "ToldGame",
    "ToldStep",
    "commitment",
]

_OPEN = "open"
"""The step that brings the paper which `commit` named."""

_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Line = Annotated[str, msgspec.Meta(max_length=4000)]
_Key = Annotated[str, msgspec.Meta(max_length=1 << 17)]
"""An OpenPGP key of all octets that a server takes is shorter."""
_Seat = Annotated[str, msgspec.Meta(pattern=r"\A[12]\Z")]


class Contradiction(Exception):
    """What was told is impossible, whoever told it; the text says why."""


class Changed(Contradiction):
    """What was told differs from what was told before."""


class ToldStep(msgspec.Struct, frozen=True):
    """A step as the server reports it."""

    turn: _Number
    seat: Annotated[int, msgspec.Meta(ge=1, le=99)]
    step: Annotated[str, msgspec.Meta(pattern=r"\A[a-z]{1,20}\Z")]
    lines: list[_Line]
    seq: _Number
    head: _Hash
    values: dict[str, _Hash] | None = None
    """Those of its paper's head that its letter said."""
    paper: _Hash | None = None
    mail: _Hash | None = None
    letter: _Line | None = None

    @property
    def said(self) -> str:
        """The hash of its contents, which are told for each step as long as its game lasts."""
        return sha256_hex(canonical([self.turn, self.seat, self.step, self.lines]))


class SealedState(msgspec.Struct, frozen=True):
    """What a letter's file says about a sealed game, in addition to its position or its setup."""

    owes: list[str]
    """The steps that the reader owes."""
    terms: _Hash
    """Hash of the agreed terms, which the paper of a setup names."""
    note: Annotated[str, msgspec.Meta(max_length=8192)] | None = None
    keys: dict[str, list[_Key]] = {}
    """By seat the public keys that its letters may be signed with."""
    seals: dict[_Seat, _Line] = {}
    """By seat the file of the letter by which it committed to its setup, as long as letters bring that."""
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
    """That of its first step."""
    ordered: int
    """The turn whose orders are in it; 0 if none are."""


class OrdersAsked(msgspec.Struct, frozen=True):
    """Orders are needed before anything can be sent; with the state for the player who decides on them."""

    own: Any
    table: Table


class _Papers(NamedTuple):
    """The hashes of this turn's papers, by seat and step."""

    turn: int
    hashes: Mapping[tuple[int, str], str]

    def latest(self, seat: int, steps: Sequence[str]) -> str:
        """The seat's latest paper among those steps."""
        found = [value for (by, step), value in self.hashes.items() if by == seat and step in steps]
        return found[-1] if found else NOTHING

    def and_(self, turn: int, seat: int, step: str, value: str) -> _Papers:
        before = self.hashes if turn == self.turn else {}
        kept = {key: old for key, old in before.items() if key != (seat, step)}
        return _Papers(turn, {**kept, (seat, step): value})


class ToldGame(msgspec.Struct, frozen=True):
    """A sealed game: the table as it was told, with the hashes of this turn's papers."""

    rules: SealedRules
    game: str
    options: Options
    place: Place
    """The own one."""
    players: Sequence[str]
    told: SealedState
    prev: str
    """The head that the next letter cites, whoever writes it."""
    table: Table
    papers: _Papers
    tables: tuple[Table, ...] = ()
    """As it was before each step."""
    commits: Mapping[int, str] = msgspec.field(default_factory=dict)
    """By seat the hash of a paper of this turn that was not opened yet."""

    @classmethod
    def of(cls, standing: JsonObject, server: str, document: JsonObject) -> ToldGame:
        """The game in a position's file; raises `Contradiction`."""
        told = SealedState.read(document.get("sealed"))
        name, seat = standing["rules"], standing["seat"]
        found = sealed_rules(name)
        if found is None:
            raise Contradiction(f"{name} is not played sealed")
        options = _options(name, document, len(standing["players"]))
        place = Place(server, standing["match"], document["game"], seat, standing["player"])
        players = [str(player) for player in standing["players"]]
        prev = str(document.get("prev"))
        game = cls(found, name, options, place, players, told, prev, found.begin(options), _Papers(0, {}))
        for step in told.steps:
            game = game._entered(step)
        return game

    def _entered(self, told: ToldStep) -> ToldGame:
        """The game after a step that was told; raises `Contradiction`."""
        where = f"turn {told.turn}, seat {told.seat}, {told.step}"
        owed = self.rules.owed(self.table, told.seat) if told.seat <= len(self.players) else ()
        if owed[:1] != (told.step,) or told.turn != self.table.turn:
            raise Contradiction(f"{where}: that was not due")
        try:
            lines = self.rules.judge(self.table, told.seat, told.step, "\n".join(told.lines))
        except Refused as refused:
            said = "; ".join(fault.message for fault in refused.faults)
            raise Contradiction(f"{where}: {said}") from refused
        if list(lines) != told.lines:
            raise Contradiction(f"{where}: its lines are not written as they are judged")
        papers, commits = self.papers, self.commits
        if told.step == COMMIT:
            commits = {**commits, **({told.seat: told.paper} if told.paper else {})}
        elif told.values is not None:
            papers = papers.and_(told.turn, told.seat, told.step, self._checked(told, where))
        if told.step == _OPEN:
            commits = {seat: named for seat, named in commits.items() if seat != told.seat}
        table = self.rules.enter(self.table, told.seat, told.step, lines)
        tables = (*self.tables, self.table)
        return replace(self, table=table, tables=tables, papers=papers, commits=commits)

    def _checked(self, told: ToldStep, where: str) -> str:
        """The hash of a step's paper, made again from what was told; raises `Contradiction`."""
        assert told.values is not None
        kind = self.rules.papers[told.step]
        if set(kind.values) - told.values.keys():
            raise Contradiction(f"{where}: it lacks something")
        heads = {**told.values, **self._common(told.seat)}
        value = self._hash(kind, told.seat, told.turn, heads, told.lines)
        if value != told.paper:
            raise Contradiction(f"{where}: its paper is not the one that is named")
        if told.step == _OPEN and (named := self.commits.get(told.seat)) is not None and named != value:
            raise Contradiction(f"{where}: it opens another paper than the one committed to")
        if kind.name == SETUP and value != self.told.commitments.get(str(told.seat)):
            raise Contradiction(f"{where}: it is another setup than the one committed to")
        links = self._links(kind, told.seat, told.turn)
        for head, wanted in links.items():
            if heads[head] != wanted:
                raise Contradiction(f"{where}: `{head}` names another paper")
        return value

    def _common(self, seat: int) -> dict[str, str]:
        return {"rules": self.told.terms, "setup": self.told.commitments.get(str(seat), NOTHING)}

    def _links(self, kind: Paper, seat: int, turn: int) -> dict[str, str]:
        """The hashes in a paper of other papers of its turn."""
        papers = self.papers if self.papers.turn == turn else _Papers(turn, {})
        other = 3 - seat if len(self.players) == 2 else 0  # with more seats no paper names another
        found = {"to": papers.latest(other, kind.to), "own": papers.latest(seat, (_OPEN,))}
        return {head: found[head] for head in kind.heads if head in found}

    def _hash(self, kind: Paper, seat: int, turn: int, heads: Mapping[str, str], lines: Sequence[str]) -> str:
        """The hash of the paper of a step."""
        place = replace(self.place, seat=seat, player=self.players[seat - 1])
        return hashed(paper(kind.name, place, turn, {head: heads[head] for head in kind.heads}, lines))

    # The own side.

    def commitment(self, secrets: Secrets) -> str:
        """The commitment to the player's own setup."""
        return commitment(self.told.terms, secrets)

    def own(self, secrets: Secrets) -> Any:
        """The own side."""
        return self.rules.own(self.options, self.place.seat, secrets.setup, secrets.by_turn, self.table)

    def agrees(self, secrets: Secrets) -> bool:
        """Whether these are the committed secrets, and rebuild everything that was sent with them."""
        seat = self.place.seat
        if self.commitment(secrets) != self.told.commitments.get(str(seat)):
            return False
        bound = [step for step in self.told.steps if step.seat == seat and self._binds(step.step)]
        if not all(str(step.turn) in secrets.orders for step in bound):
            return False
        for step in bound:
            if step.values and "orders" in step.values and step.values["orders"] != self._orders(secrets, step.turn):
                return False
        named = self.commits.get(seat)
        after = secrets.after.get(str(self.table.turn))
        return named is None or (after is not None and self._bound(secrets, after) == named)

    def letter(self, secrets: Secrets, prev: str) -> NextLetter | OrdersAsked | None:
        """The next letter, which cites `prev`; or what must be decided before; None if nothing is due."""
        seat = self.place.seat
        game, sections, ordered = self, list[Section](), 0
        while owed := game.rules.owed(game.table, seat):
            step, turn = owed[0], game.table.turn
            own = game.own(secrets)
            if game.rules.asks(own, game.table):
                return OrdersAsked(own, game.table)
            section, value, lines, secrets = game._made(step, secrets, prev)
            sections.append(section)
            ordered = turn if game._binds(step) and seat not in game.commits else ordered
            papers = game.papers if step == COMMIT else game.papers.and_(turn, seat, step, value)
            table = game.rules.enter(game.table, seat, step, lines)
            game = replace(game, table=table, papers=papers)
        return NextLetter(tuple(sections), secrets, self.table.turn, ordered) if sections else None

    def _made(self, step: str, secrets: Secrets, prev: str) -> tuple[Section, str, tuple[str, ...], Secrets]:
        """The section of a step that is owed, the hash of its paper, its lines, and the secrets that it needs."""
        turn, seat = self.table.turn, self.place.seat
        own = self.own(secrets)
        paper = self.rules.papers[_OPEN if step == COMMIT else step]
        if self._binds(step) and str(turn) not in secrets.orders:
            secrets = secrets.with_orders(turn, self.rules.orders(own, turn))  # there was nothing to choose
        if step == COMMIT:
            value = self._bound(secrets, prev)
            return Section(step, (value,), ""), value, (), secrets.committed(turn, prev)
        lines = self.rules.lines(own, self.table, step)
        after = secrets.after.get(str(turn), prev)
        heads = self._heads(paper, secrets, after) | self._links(paper, seat, turn)
        value = self._hash(paper, seat, turn, heads, lines)
        words = tuple(heads[head] for head in paper.values)
        return Section(step, words, "\n".join(lines)), value, lines, secrets

    def _bound(self, secrets: Secrets, after: str) -> str:
        """The hash of the own paper that is committed to in this turn."""
        paper, turn = self.rules.papers[_OPEN], self.table.turn
        lines = self.rules.lines(self.own(secrets), self.table, _OPEN)
        return self._hash(paper, self.place.seat, turn, self._heads(paper, secrets, after), lines)

    def _heads(self, paper: Paper, secrets: Secrets, after: str) -> dict[str, str]:
        """The values in a paper's head other than hashes of papers."""
        turn = self.table.turn
        heads = {"after": after, "salt": secrets.salt(turn, paper.name), **self._common(self.place.seat)}
        return heads | ({"orders": self._orders(secrets, turn)} if "orders" in paper.heads else {})

    def _orders(self, secrets: Secrets, turn: int) -> str:
        """The hash of the own paper of a turn's orders."""
        values = {"setup": self.commitment(secrets), "salt": secrets.salt(turn, ORDERS)}
        text = secrets.orders[str(turn)]
        return hashed(paper(ORDERS, self.place, turn, values, text.splitlines()))

    def reveal(self, secrets: Secrets) -> tuple[Section, ...]:
        """The reveal when the game is over: seed, setup, and the orders of all turns that were played."""
        told = {step.turn for step in self.told.steps if step.seat == self.place.seat and self._binds(step.step)}
        orders = [Section("orders", (str(turn),), text) for turn, text in secrets.by_turn.items() if turn in told]
        return (Section("seed", (secrets.seed,), ""), Section("setup", (), secrets.setup), *orders)

    def _binds(self, step: str) -> bool:
        return step == COMMIT or self.rules.papers[step].ordered

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, as they were entered."""
        return tuple(Step(step.turn, step.seat, step.step, tuple(step.lines)) for step in self.told.steps)


def commitment(terms: str, secrets: Secrets) -> str:
    """The hash of a setup's paper."""
    values = {"rules": terms, "salt": secrets.salt(0, SETUP)}
    return hashed(paper(SETUP, secrets.place, 0, values, secrets.setup.splitlines()))


def _options(name: str, document: JsonObject, seats: int) -> Options:
    try:
        return rules(name).options(document["options"], seats)
    except (Refused, KeyError, TypeError, ValueError) as error:
        raise Contradiction("the options of the sealed game cannot be read") from error
