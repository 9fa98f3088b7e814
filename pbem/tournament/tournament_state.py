"""The state of a tournament: immutable, the fold of its entries; and how it stands for a reader.

An *entrant* is a line of the table. It has the name by which somebody entered, and keeps it if a substitute plays on.
`TournamentView` is what a bulletin has as JSON, and what a player's program decodes: an item of another form is not
believed, whoever signed it. Implements docs/bundle.md, 12.3, and docs/attachments.md, "`about`: `tournament`".
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from pbem.match.state import Count, Line
from pbem.match.terms import Terms
from pbem.match.transcript import BEFORE
from pbem.match.view import Hash, Number, TranscriptHead, Word
from pbem.tournament.tournament_terms import TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.match.pinned_keys import Player
    from pbem.tournament.tournament_entries import MatchResult


FULL, FULL_OCTETS = 5_000, 8 << 20
"""The entries, and their octets, with which a transcript is full: verifiers must be able to read it, and a restarted
server to fold it in a moment. What follows by itself comes on top; octets count for entrants with many long keys."""


class Entrant(msgspec.Struct, frozen=True):
    """One line of the table."""

    name: str
    player: Player
    """The player in this place now, with the keys of the latest entry letter."""
    mail: str
    """The hash of that letter, which stands for the agreement to every match."""
    words: str
    """The hash of what it says."""
    team: str | None = None
    ordinal: int = 0
    """The place in the lot, from 1; in a ladder, in the order of entering."""
    active: str = ""
    """In a ladder, the time of the last game or of sinking to the end."""
    silent: int = 0
    """The number of matches in a row that were lost by silence, of those that began with the present player."""
    leaves: str = ""
    """The reason for which the entrant is to be withdrawn: `left` or `silent`."""
    out: str = ""
    """Withdrawn: its games are `annulled`, those that have not begun are `forfeited`, or all are `kept`."""


class Pairing(msgspec.Struct, frozen=True):
    """The entrants of a match: in a round robin from the start, otherwise since they were paired."""

    round: int
    board: int
    names: tuple[str, ...]
    """The entrants, in seat order."""
    match: str = ""
    """The match; empty until it begins."""
    entry: str = ""
    """The head of the entry that paired them."""
    until: str = ""
    """In a ladder, the end of the longest time of the match."""
    pinned: tuple[Player, ...] = ()
    """The players of these lines at that time, with their keys."""
    mails: tuple[str, ...] = ()
    """The hashes of their entry letters."""
    result: MatchResult | None = None
    over: str = ""
    """The time of the result."""
    before: str = ""
    """The time of the entry before the result."""
    annulled: bool = False
    """By a ruling."""
    late: bool = False
    """In a ladder: the longest time of a match was over before its result, for which nobody waits any more."""

    @property
    def players(self) -> tuple[str, ...]:
        """The names of the players when they were paired."""
        return tuple(player.name for player in self.pinned)

    @property
    def pairs(self) -> set[frozenset[str]]:
        """Each two entrants that meet in it."""
        return {frozenset(pair) for pair in combinations(self.names, 2)}


class Tournament(msgspec.Struct, frozen=True):
    """The state of a tournament."""

    id: str
    server: str
    server_key: str
    terms: TournamentTerms
    rules_hash: str
    """The hash of the terms."""
    secret_hash: str | None
    """Of the server's secret for the lot; None: nothing is drawn."""
    organiser: Player
    phase: str
    """`open`, `playing` or `ended`; a ladder is played from the announcement on."""
    seq: int = 0
    head: str = BEFORE
    time: str = ""
    entrants: Mapping[str, Entrant] = {}
    pairings: tuple[Pairing, ...] = ()
    ladder: tuple[str, ...] = ()
    """The entrants of a ladder, the highest first."""
    challenge: tuple[str, str] | None = None
    """The challenge that is to be paired: the challenger, and the other."""
    entered: Mapping[str, int] = {}
    """The number of letters of entry of each player, also of those who left."""
    nominated: Mapping[str, str] = {}
    """The substitutes whose entry is awaited, each with the entrant."""
    rounds: int = 0
    """The number of rounds of a Swiss tournament."""
    round: int = 0
    """The latest round that was paired."""
    round_ends: str = ""
    """The time from which the next round does not wait for results."""
    byes: tuple[str, ...] = ()
    closing: bool = False
    """A ruling ends the tournament."""
    octets: int = 0
    """The length of all entries."""
    generation: int = 1
    """The number of times that the server was restored from a backup, plus one, as far as the entries say."""
    restored: int = 0
    """The entry of the last of these restores; 0 if there was none."""
    heard: frozenset[str] = frozenset()
    """The hashes of the signed words, and of the letters without a key, that were obeyed: none is obeyed twice."""

    @property
    def number(self) -> int:
        """The number in the id."""
        return int(self.id[1:])

    @property
    def groups(self) -> list[list[str]]:
        """The entrants of each group, in the order of the lot; only round robins have several groups."""
        drawn = sorted(self.entrants.values(), key=lambda entrant: entrant.ordinal)
        count = -(-len(drawn) // self.terms.group) if self.terms.robin else 1
        return [[entrant.name for entrant in drawn[group::count]] for group in range(count)]

    @property
    def is_full(self) -> bool:
        """True if no letter may lengthen the transcript any more; what follows by itself still has room."""
        return self.seq >= FULL or self.octets >= FULL_OCTETS

    def closed_to(self, received: str) -> bool:
        """True for a letter of this time that must not change the lot."""
        return self.phase == "open" and self.terms.closes is not None and received > self.terms.closes

    @property
    def live(self) -> list[Entrant]:
        """The entrants that are not withdrawn."""
        return [entrant for entrant in self.entrants.values() if not entrant.out]

    def entrant_of(self, player: str) -> Entrant | None:
        """The entrant, not withdrawn, for which a player plays."""
        return next((entrant for entrant in self.live if entrant.player.name == player), None)

    def pairing_of(self, match: str) -> Pairing | None:
        """The pairing of a match."""
        return next((pairing for pairing in self.pairings if match and pairing.match == match), None)

    def is_void(self, pairing: Pairing) -> bool:
        """True if a pairing does not count, whatever its result."""
        return pairing.annulled or any(self.entrants[name].out == "annulled" for name in pairing.names)

    def is_forfeited(self, pairing: Pairing) -> bool:
        """True if a pairing never begins, because an entrant was withdrawn."""
        return not pairing.match and any(self.entrants[name].out for name in pairing.names)

    @property
    def awaited(self) -> Iterator[Pairing]:
        """The pairings whose results count, and are waited for."""
        gone = {name for name, entrant in self.entrants.items() if entrant.out}
        return (
            pairing
            for pairing in self.pairings
            if pairing.result is None
            and not (pairing.annulled or pairing.late)
            and (gone.isdisjoint(pairing.names) or not (self.is_void(pairing) or self.is_forfeited(pairing)))
        )

    def match_terms(self, pairing: Pairing) -> Terms:
        """The terms of the match of a pairing that begins: the template, the players and their place."""
        return Terms.read(
            {
                **self.terms.match,
                "players": pairing.players,
                "tournament": {"id": self.id, "terms": self.terms.document()},
                "pairing": {"round": pairing.round, "board": pairing.board, "entry": pairing.entry},
            }
        )


class TableCell(msgspec.Struct, frozen=True):
    """A meeting of two lines of a table; it has no points if it does not count, or not yet."""

    match: Word
    """Empty where none begins or none has begun."""
    points: Count | None
    annulled: bool


class TableLine(msgspec.Struct, frozen=True):
    """A line of a tournament's table, with its meetings with each line of its group, where all play all."""

    name: Word
    player: Word
    played: Count
    points: Count
    out: bool
    cells: list[list[TableCell]]


class TournamentView(msgspec.Struct, frozen=True):
    """The state of a tournament for this player, who may have no place in it, when the server wrote a letter."""

    tournament: Annotated[str, msgspec.Meta(pattern=r"\At[1-9][0-9]{0,8}\Z")]
    head: TranscriptHead
    generation: Number
    """The number of times that the server was restored from a backup, plus one, as its transcript says."""
    restored: Count
    """The last entry that tells of a restored backup; 0 if none does."""
    format: Line
    phase: Annotated[str, msgspec.Meta(pattern=r"\A(open|playing|ended)\Z")]
    rules: Word
    organiser: Word
    entrants: Count
    agreement: dict[str, Any]
    hash: Hash
    entered: bool
    place: Count | None
    of: Count | None
    points: Count | None
    running: Count
    table: list[list[TableLine]]

    @property
    def seq(self) -> int:
        """The number of the last entry."""
        return self.head.seq

    def terms_for(self, server: str) -> TournamentTerms | None:
        """The terms, exactly those of the hash that `enter` names; None if they are others, or unreadable."""
        try:
            found = TournamentTerms.read(self.agreement)
            _ = found.of_matches  # raises if those are unreadable
            is_same = found.hash(server, self.tournament) == self.hash
        except (KeyError, TypeError, ValueError):
            return None
        return found if is_same else None
