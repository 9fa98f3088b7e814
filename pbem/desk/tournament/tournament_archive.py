"""Tournaments from the store and back: folded from their entries, signed, and queued for the log.

Every call is part of a decision. The cache is of what was folded to a head, so a decision that is undone leaves
nothing wrong in it. Implements docs/bundle.md, 12.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.desk import bulletin
from pbem.desk.caller import refused
from pbem.desk.match_archive import latest_proof, nothing_is_signed
from pbem.desk.tournament.tournament_facts import item_of, standing_of
from pbem.match.documents import NamedMailbox
from pbem.match.pinned_keys import KeyChange, Player
from pbem.match.step import Signed
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase
from pbem.proof import bundle
from pbem.store.matches import EntryRow
from pbem.store.tournament_rows import TournamentLetter, Tournaments
from pbem.tournament.fold import begun, fold
from pbem.tournament.tournament_entries import TournamentEntry, tournament_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.json_object import JsonObject
    from pbem.letters.draft import Facts
    from pbem.match.state import Match
    from pbem.store.tlog import TransparencyLog
    from pbem.tournament.tournament_state import Tournament
    from pbem.tournament.tournament_step import TournamentStep


_KEYS = 256 << 10
"""The octets of a player's letters about keys since the entry, beyond which there is no room for a new key."""


@dataclass(eq=False, repr=False)
class TournamentRepository:
    """The tournaments of a server; a caller that only reads them needs no signature."""

    rows: Tournaments
    _server: str
    _sign: Callable[[bytes], bytes] = nothing_is_signed
    _log: TransparencyLog | None = None
    _warm: dict[int, tuple[Tournament, ...]] = field(default_factory=dict)
    """The last two states of each: what a decision made of one counts no more if it is undone."""
    _proof: tuple[str, bytes] = ("", b"")
    """A head, and the file of its tournament."""

    def known(self, number: int) -> Tournament:
        """The tournament of a number that must exist."""
        loaded = self.load(number)
        assert loaded is not None
        return loaded

    def load(self, number: int) -> Tournament | None:
        """The tournament of this number; None if there is none."""
        head = self.rows.head(number)
        if head is None:
            return None
        for known in self._warm.get(number, ()):
            if known.head == head:
                return known
        first, *others = self.entries(number)
        return self._remembered(reduce(fold, others, begun(first)))

    def _remembered(self, t: Tournament) -> Tournament:
        self._warm[t.number] = (*self._warm.get(t.number, ())[-1:], t)
        return t

    def entries(self, number: int, since: int = 1) -> list[TournamentEntry]:
        """The entries of a tournament, from this one on."""
        return [TournamentEntry.read(row.entry) for row in self.rows.entries(number, since)]

    def save(self, step: TournamentStep, due: str | None, signed: Signed | None = None) -> None:
        """Write a step's entries, papers and row; `signed` is the letter that caused it."""
        t = step.tournament
        number = t.number
        for paper in step.papers:
            if signed is not None and paper.path.startswith("letters/"):
                kept = TournamentLetter(paper.path, signed.key, signed.received, paper.content)
                self.rows.file_letter(number, signed.hash, kept)
            else:
                self.rows.file(number, paper.path, paper.content)
        about = partial(tournament_statement, self._server, t.id)
        made = [
            EntryRow(entry.seq, entry.canonical(), entry.head, self._sign(about(entry.seq, entry.head)))
            for entry in step.entries
        ]
        if made:
            self.rows.append(number, step.entries[0].prev, made)
        if self._log is not None:
            self._log.queue(-number, [row.seq for row in made], hurry=False)
        self.rows.seat(number, [entrant.player.name for entrant in t.live])
        self.rows.update(number, t.phase, due)
        self._remembered(t)

    def consent(self, t: Tournament, mail: str) -> tuple[Signed, NamedMailbox | None]:
        """The letter of this hash by which a player entered, and the player's mailbox, if the entry pinned one."""
        number = t.number
        found = self.rows.letter(number, mail)
        place = found.path.removeprefix("letters/entered-").removesuffix(".eml")
        evidence = self.rows.paper(number, f"evidence/entered-{place}.txt") or b""
        named = self.rows.paper(number, f"evidence/mailbox-{place}.txt")
        level = "mailbox" if evidence else "key"
        signed = Signed(found.sealed, level, found.signer, found.received, evidence)
        return signed, NamedMailbox.read(named.decode()) if named else None

    def mailbox(self, t: Tournament, player: Player) -> NamedMailbox | None:
        """The mailbox that a tournament pins for a player; None if the player signs with keys."""
        papers = self.rows.papers(t.number) if player.mailbox else {}
        found = (content for path, content in papers.items() if path.startswith("evidence/mailbox-"))
        return next((NamedMailbox.read(one.decode()) for one in found if sha256_hex(one) == player.mailbox), None)

    def change_keys(self, player: str, change: KeyChange) -> None:
        """Keep a change of a player's keys for the matches that are to begin.

        One that replaces all keys takes the place of earlier changes: there, it replaces those of the entry. A new
        key is refused if the letters about earlier ones, which each match that begins gets, are long by now.
        """
        letters = {who: letter.hex() for who, letter in change.letters.items()}
        for number in self.rows.of_player(player):
            kept, t = change, self.known(number)
            long = sum(len(one) for before in self.changes(t, player) for one in before.letters.values()) > _KEYS
            if change.change == "added" and long:
                says = Phrase(
                    "{id} keeps the letters about your last keys for your matches, and they are long: first send"
                    " `enter {id} {hash}`",
                    id=t.id,
                    hash=t.rules_hash,
                )
                raise refused("key", t.id, says)
            if change.change == "replaced" and (entrant := t.entrant_of(player)) is not None:
                self.rows.forget_keys(number, player)
                kept = replace(change, revoked=tuple(key["fingerprint"] for key in entrant.player.keys))
            self.rows.change_keys(number, player, {"body": kept.body(0), "letters": letters})

    def changes(self, t: Tournament, player: str) -> list[KeyChange]:
        """The changes of a player's keys since the latest letter of entry."""
        kept = self.rows.changed_keys(t.number, player)
        return [
            KeyChange.read(one["body"], {who: bytes.fromhex(letter) for who, letter in one["letters"].items()})
            for one in kept
        ]

    def state(self, t: Tournament, reader: str) -> JsonObject:
        """The state of a tournament for programs, with its signed head, to which letters hold the server."""
        signature = self._sign(tournament_statement(self._server, t.id, t.seq, t.head))
        return item_of(t, reader, signature)

    def beside(self, match: Match, reader: str) -> tuple[list[JsonObject], Facts]:
        """The items of a bulletin about a match, and the facts about its end, that come from its tournament."""
        if (held := match.terms.tournament) is None:
            return [], {"tournament": None}
        t = self.known(int(held["id"][1:]))
        return [self.state(t, reader)], {"tournament": standing_of(t, reader)}

    def items(self, t: Tournament, reader: str) -> list[JsonObject]:
        """The part of a letter's bulletin about a tournament: its state, and its latest entry that a witness saw."""
        told = [self.state(t, reader)]
        number = t.number
        if self._log is not None and (logged := latest_proof(self._log, -number)) is not None:
            seq, proof = logged
            head = next(row.head for row in self.rows.entries(number) if row.seq == seq)
            told.append(bulletin.of_log(seq, proof, {"tournament": t.id, "head": head}))
        return told

    def proof(self, t: Tournament, most: int) -> bytes | None:
        """The file of a tournament, with all letters, for those who take part; None beyond this many octets."""
        number = t.number
        if t.octets + self.rows.octets(number) > most:
            return None
        if self._proof[0] != t.head:
            self._proof = t.head, self.bundle(number, letters=True)
        content = self._proof[1]
        return content if len(content) <= most else None

    def bundle(self, number: int, *, letters: bool) -> bytes:
        """The file of a tournament; without the letters, it has no address of anybody."""
        rows = self.rows.entries(number)
        papers = self.rows.papers(number) if letters else {}
        return bundle.write_tournament(bundle.Bundle(self.entries(number), [row.signature for row in rows], papers))


def pinned_in_match(player: Player, mailbox: NamedMailbox | None, place: tuple[str, str, int], salt: str) -> Player:
    """The player of a line as a match at this place (server, match and seat) pins one."""
    if mailbox is None:
        return replace(player, mailbox="", named=None)
    server, match, seat = place
    named = NamedMailbox(
        server=server, match=match, seat=seat, player=player.name, address=mailbox.address, salt=salt
    )
    return replace(player, mailbox=sha256_hex(named.text().encode()), named=named)
