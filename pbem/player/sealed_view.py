"""A sealed game as one player knows it: the signed texts, folded; answers from own secrets; the next letter.

Pure: signed texts and the player's secrets in, the sections of a letter out, with the secrets that must be on the
disk before it leaves. `signed_texts` folds. Implements playing.md, "Sealed matches".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pbem.games import GAMES, Refused, rules
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.match.sealed_game import (
    ORDERS,
    PaperPlace,
    SealedGameState,
    SealedMoment,
    hashed,
    lines_of,
    orders_paper,
    setup_paper,
)
from pbem.match.sealed_letters import write_step
from pbem.player.correspondence.standings import Contradiction
from pbem.player.signed_texts import Folded, SealedState, fold, judged, refusal
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Options
    from pbem.games.sealed import SealedRules, SealedStep, Table
    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.player.memory import SignedText
    from pbem.player.secret_vault import Secrets
    from pbem.player.signed_texts import Keys


_OPEN = "open"
"""The step that brings the paper which `commit` named."""


class NextLetter(msgspec.Struct, frozen=True):
    """The sections of the next letter, and what must be on the disk before it leaves."""

    sections: tuple[Section, ...]
    secrets: Secrets
    turn: int
    """The turn of the first step."""
    ordered: int
    """The turn whose orders are in it; 0 if none are."""


class OrdersAsked(msgspec.Struct, frozen=True):
    """Orders are needed before anything can be sent; with the state for the player who decides on them."""

    own: Any
    table: Table


class SealedSide(msgspec.Struct, frozen=True):
    """A sealed game from the side of one player."""

    options: Options
    place: PaperPlace
    """The own one."""
    told: SealedState
    signed: Folded

    @classmethod
    def of(
        cls,
        standing: MatchView,
        server: str,
        document: JsonObject,
        keys: Keys,
        texts: Sequence[SignedText],
        heads: Mapping[int, str],
    ) -> SealedSide:
        """The game that was signed by these keys, with the options of a position's file.

        Raises `Contradiction`, `Impossible`.
        """
        told = SealedState.read(document.get("sealed"))
        found = sealed_rules(standing.rules) if standing.rules in GAMES else None
        if found is None:
            raise Contradiction(f"{standing.rules} is not played sealed")
        players = tuple(str(player) for player in standing.players)
        options = _options(standing.rules, document, len(players))
        place = PaperPlace(server, standing.match, document["game"], standing.seat, standing.player)
        where = (server, place.match, place.game, players, standing.hash)
        begun = SealedMoment(found, *where, SealedGameState({}, {}), found.begin(options), standing.restored > 0)
        signed = fold(begun, keys, told.keys, texts, heads)
        return cls(options, place, told, signed)

    @property
    def play(self) -> SealedMoment:
        """The game as it was signed."""
        return self.signed.play

    @property
    def is_over(self) -> bool:
        """True if it was played to its end, or the other player resigned it."""
        return self.table.result is not None or self.signed.given_up not in {0, self.place.seat}

    @property
    def rules(self) -> SealedRules:
        """The rules for sealed play."""
        return self.play.rules

    @property
    def table(self) -> Table:
        """The public facts of the game."""
        return self.play.table

    @property
    def steps(self) -> Sequence[SealedStep]:
        """All steps, as they were entered."""
        return self.play.game.steps_for_rules()

    def commitment(self, secrets: Secrets) -> str:
        """The commitment to the player's own setup."""
        return commitment(self.play.terms, secrets)

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

    def letter(self, secrets: Secrets, prev: str) -> NextLetter | OrdersAsked | None:
        """The next letter, which cites `prev`; or what must be decided before; None if nothing is due.

        What a restored server may have forgotten is signed again in the same words, after the same head. Raises
        `Contradiction` if that does not fit what was signed since.
        """
        seat, play = self.place.seat, self.play
        sections, ordered = list[Section](), 0
        while owed := play.rules.owed(play.table, seat):
            step, turn = owed[0], play.table.turn
            own = self.own(play, secrets)
            if play.rules.asks(own, play.table):
                return OrdersAsked(own, play.table)
            if self._binds(step) and play.game.committed(seat, turn) is None:
                ordered = turn
                if str(turn) not in secrets.orders:
                    secrets = secrets.with_orders(turn, play.rules.orders(own, turn))  # there was nothing to choose
                secrets = secrets.committed(turn, secrets.after.get(str(turn), prev))
            sections.append(self._made(play, step, secrets, prev))
            try:
                play = judged(play, seat, sections[-1], prev).play
            except Refused as refused:
                raise refusal(f"turn {turn}, seat {seat}, {step}, as signed here before", refused) from refused
        return NextLetter(tuple(sections), secrets, self.table.turn, ordered) if sections else None

    def _made(self, play: SealedMoment, step: str, secrets: Secrets, prev: str) -> Section:
        """The section of a step that is owed."""
        after = secrets.after.get(str(play.table.turn), prev)
        if step == COMMIT:
            return Section(step, (hashed(self._written(play, _OPEN, secrets, after)[1]),), "")
        values, written = self._written(play, step, secrets, after)
        kind = play.rules.papers[step]
        return Section(step, tuple(values[head] for head in kind.values), lines_of(written, kind.name))

    def _written(self, play: SealedMoment, step: str, secrets: Secrets, after: str) -> tuple[Mapping[str, str], str]:
        """The head of the own paper of a step, and the paper."""
        kind, turn = play.rules.papers[step], play.table.turn
        values = {"after": after, "salt": secrets.salt(turn, kind.name)}
        if ORDERS in kind.heads:
            values[ORDERS] = self._orders(secrets, turn)
        lines = play.rules.lines(self.own(play, secrets), play.table, step)
        return write_step(play, self.place.seat, step, values, lines)

    def own(self, play: SealedMoment, secrets: Secrets) -> Any:
        """The own side at this moment; raises `Contradiction` if it cannot be what was agreed to be played."""
        try:
            return play.rules.own(self.options, self.place.seat, secrets.setup, secrets.by_turn, play.table)
        except Refused as refused:
            raise refusal("your setup or orders", refused) from refused

    def _orders(self, secrets: Secrets, turn: int) -> str:
        """The hash of the own paper of a turn's orders."""
        seed, text = bytes.fromhex(secrets.seed), secrets.orders[str(turn)]
        return hashed(orders_paper(seed, self.place, turn, self.commitment(secrets), text))

    @staticmethod
    def reveal(secrets: Secrets) -> tuple[Section, ...]:
        """The reveal when the game is over: seed, setup, and all orders; those that were never told are ignored."""
        orders = [Section("orders", (str(turn),), text) for turn, text in secrets.by_turn.items()]
        return (Section("seed", (secrets.seed,), ""), Section("setup", (), secrets.setup), *orders)

    def _binds(self, step: str) -> bool:
        return step == COMMIT or self.rules.papers[step].ordered


def commitment(terms: str, secrets: Secrets) -> str:
    """The hash of a setup's paper."""
    return hashed(setup_paper(bytes.fromhex(secrets.seed), secrets.place, terms, secrets.setup))


def _options(name: str, document: JsonObject, seats: int) -> Options:
    try:
        return rules(name).options(dict(document["options"]), seats)
    except (Refused, KeyError, TypeError, ValueError) as error:
        raise Contradiction("the options of the sealed game cannot be read") from error
