"""The server's step of a tournament: an entry that something causes, and all entries that follow from it.

Implements docs/bundle.md, 12.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.match.step import Document
from pbem.match.transcript import BEFORE, VERSION, sha256_hex, written
from pbem.tournament.crosstable import drawn
from pbem.tournament.fold import begun, fold
from pbem.tournament.following import follows
from pbem.tournament.tournament_entries import TournamentEntry, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.json_object import JsonObject
    from pbem.match.pinned_keys import Player
    from pbem.match.step import Signed
    from pbem.match.transcript import Entry
    from pbem.tournament.tournament_state import Pairing, Tournament
    from pbem.tournament.tournament_terms import TournamentTerms


class SaidLetter(msgspec.Struct, frozen=True):
    """A letter that causes an entry: as it was signed, and the hash of what it says."""

    signed: Signed
    words: str


class TournamentStep(msgspec.Struct):
    """A tournament, and all results of this transaction, in order.

    Each method raises `Refused`, and has changed nothing then, if its entry may not follow here.
    """

    tournament: Tournament
    now: datetime
    match_name: Callable[[], str]
    """Names the next match that begins, such as `m17`."""
    entries: list[TournamentEntry] = msgspec.field(default_factory=list)
    papers: list[Document] = msgspec.field(default_factory=list)

    @property
    def begins(self) -> list[Pairing]:
        """The pairings whose matches begin with this step."""
        heads = {entry.head for entry in self.entries}
        return [pairing for pairing in self.tournament.pairings if pairing.entry in heads]

    def enter(self, player: Player, team: str | None, letter: SaidLetter) -> None:
        """A player enters, takes a place as a substitute, or enters again because of other keys."""
        self._append("entered", {"player": player.document(), "team": team}, letter, player)

    def leave(self, player: str, letter: SaidLetter) -> None:
        """A player leaves."""
        self._append("left", {"player": player}, letter)

    def challenge(self, player: str, against: str, letter: SaidLetter) -> None:
        """A player of a ladder challenges another one."""
        self._append("challenged", {"player": player, "against": against}, letter)

    def rule(self, ruling: JsonObject, letter: SaidLetter | None = None, organiser: Player | None = None) -> None:
        """The organiser rules, by a letter; or the operator does. `organiser`: as pinned anew, by other keys."""
        other = {"organiser": organiser.document()} if organiser is not None else {}
        self._append("ruled", {**ruling, "by": "organiser" if letter else "operator", **other}, letter, organiser)

    def restored(self, generation: int) -> None:
        """The server was restored from a backup."""
        self._append("restored", {"generation": generation})

    def start(self, secret: str) -> None:
        """The lot is drawn, with the server's secret."""
        tournament = self.tournament
        entries = {name: entrant.words for name, entrant in tournament.entrants.items()}
        self._append("started", {"secret": secret, "order": drawn(tournament.rules_hash, secret, entries)})

    def take(self, entries: Sequence[Entry]) -> None:
        """Take the result of the match of this transcript; nothing happens if it is not over, or was taken before."""
        body = result_of(entries)
        pairing = self.tournament.pairing_of(body["match"]) if body else None
        if body and pairing and pairing.result is None and self.tournament.phase != "ended":
            self._append("result", body)

    def wake(self) -> None:
        """Do what is due because of the time alone: the next round of a Swiss tournament begins."""
        self._follow(written(self.now))

    def _append(
        self, kind: str, body: JsonObject, letter: SaidLetter | None = None, player: Player | None = None
    ) -> None:
        papers = []
        if letter is not None:
            papers = _papers(kind, self.tournament.seq + 1, letter, player)
            body = body | _named(letter)
        self._add(kind, body)
        self.papers += papers
        self._follow()

    def _follow(self, time: str = "") -> None:
        while (due := follows(self.tournament, time)) is not None:
            kind, body = due
            if kind == "paired":
                body = {**body, "pairs": [{**pair, "match": self.match_name()} for pair in body["pairs"]]}
            self._add(kind, body)
            time = ""

    def _add(self, kind: str, body: JsonObject) -> None:
        tournament = self.tournament
        entry = TournamentEntry(tournament.seq + 1, tournament.head, written(self.now), kind, body)
        self.tournament = fold(tournament, entry)
        self.entries.append(entry)


def announce(  # noqa: PLR0913 - the facts of an announcement, each by its name
    tournament: str,
    terms: TournamentTerms,
    organiser: Player,
    letter: SaidLetter,
    *,
    server: str,
    server_key: str,
    version: str,
    secret: str | None,
    now: datetime,
    match_name: Callable[[], str],
) -> TournamentStep:
    """A tournament is announced; `secret` (64 hex digits) is for its lot, and None for a ladder; raises `Refused`."""
    body = {
        "register": VERSION,
        "version": version,
        "server": server,
        "server_key": server_key,
        "tournament": tournament,
        "terms": terms.document(),
        "rules": terms.hash(server, tournament),
        "secret": sha256_hex(secret.encode()) if secret is not None else None,
        "organiser": organiser.document(),
        **_named(letter),
    }
    entry = TournamentEntry(1, BEFORE, written(now), "announced", body)
    papers = _papers("announced", 1, letter, organiser)
    return TournamentStep(begun(entry), now, match_name, [entry], papers)


def _named(letter: SaidLetter) -> JsonObject:
    """The parts of a body that name its letter."""
    signed = letter.signed
    level = {"level": "mailbox", "evidence": signed.evidence_hash} if signed.evidence else {}
    return {"mail": signed.hash, "received": signed.received, "words": letter.words, **level}


def _papers(kind: str, seq: int, letter: SaidLetter, player: Player | None) -> list[Document]:
    """The papers of an entry: its letter, the evidence for it, and the mailbox of a player whom it pins."""
    papers = {f"letters/{kind}-{seq}.eml": letter.signed.raw, f"evidence/{kind}-{seq}.txt": letter.signed.evidence}
    if player is not None and player.named is not None:
        papers[f"evidence/mailbox-{seq}.txt"] = player.named.text().encode()
    return [Document(path, content) for path, content in papers.items() if content]
