"""A club whose players sign: a tournament with its letters, and its matches from the letters of entry to their end.

No desk and no store: letters are read as `proof` reads them, and lead a `TournamentStep` or a match's `Step` on.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from in_a_box.club import SERVER_KEY, Club
from in_a_box.referee import SERVER, Die, another
from msgspec.structs import replace
from signing.domains import Domain, rsa_key

from pbem.identity import parse_key, ssh
from pbem.mail import commands
from pbem.match import submissions
from pbem.match.documents import Evidence, NamedMailbox
from pbem.match.events.begun import agree
from pbem.match.events.endings import resign
from pbem.match.modes import proposed
from pbem.match.pinned_keys import Player
from pbem.match.progress import advance, tick
from pbem.match.step import Environment, Signed, Step
from pbem.match.transcript import Entry, sha256_hex, statement, written
from pbem.proof.bundle import Bundle, write, write_tournament
from pbem.proof.normal_form import hash_of_entry_words
from pbem.tournament.tournament_entries import tournament_statement
from pbem.tournament.tournament_step import SaidLetter, TournamentStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.match.state import Match
    from pbem.requests import AnyForm
    from pbem.tournament.tournament_entries import TournamentEntry
    from pbem.tournament.tournament_state import Pairing

HOME = Domain("mail.example", key=rsa_key(1024))
FLEETS = {1: "MD Rv1 Rv2 Rv3", 2: "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"}
SHOTS = ("Rv1", "Rv3", "Bz5")


@dataclass
class PlayedMatch:
    """A match under way, with all that its bundle holds."""

    match: Match
    entries: list[Entry] = field(default_factory=list)
    papers: dict[str, bytes] = field(default_factory=dict)

    @property
    def bundle(self) -> bytes:
        about = [statement(SERVER, self.match.id, one.seq, one.head) for one in self.entries]
        return write(Bundle(self.entries, [SERVER_KEY.sign(text) for text in about], self.papers))


class SignedClub(Club):
    """A tournament of a club, and the matches of it that have begun."""

    def __init__(self, lines: str = "", *names: str, game: str = "spaceships") -> None:
        self.die = Die("club")
        self.papers: dict[str, bytes] = {}
        self.matches: dict[str, PlayedMatch] = {}
        self._revs = itertools.count(1)
        self._signed: dict[str, Signed] = {}
        self._named: dict[str, NamedMailbox] = {}
        self.keys: dict[str, Ed25519PrivateKey] = {}
        super().__init__(lines, names=names, game=game)

    def usual_options(self, game: str) -> dict[str, str]:
        return {"fleet": "cost:3"} if game == "spaceships" else {}

    # Players and letters.

    def key(self, name: str) -> Ed25519PrivateKey:
        return self.keys.setdefault(name, another(name))

    def player(self, name: str) -> Player:
        public = ssh.public(self.key(name))
        return Player(name, ({"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public},))

    def letter(self, name: str, command: str, block: str = "") -> SaidLetter:
        return self.said(name, command, block)[1]

    def said(self, name: str, command: str, block: str = "", place: str = "") -> tuple[AnyForm, SaidLetter]:
        """A signed letter with this command, a minute after the last one, and what it says."""
        self.now += timedelta(minutes=1)
        place = place or f"rev {next(self._revs)}\n"
        text = f"{command}\nserver {SERVER}\nplayer {name}\n{place}{block}\nend\n"
        raw = self.mailed(name, text + ssh.sign(self.key(name), text.encode(), f"pbem@{SERVER}"))
        (read,) = commands.parse(text).commands
        assert not read.faults, read.faults
        signed = Signed(raw, "key", self.player(name).keys[0]["fingerprint"], received=written(self.now))
        self._signed[signed.hash] = signed
        return read.form, SaidLetter(signed, hash_of_entry_words(text))

    def mailed(self, name: str, text: str) -> bytes:
        head = f"From: {name}@mail.example\nMessage-ID: <{next(self._letters)}@mail.example>\n\n"
        return (head + text).replace("\n", "\r\n").encode()

    # The tournament.

    def took(self, step: TournamentStep) -> TournamentStep:
        super().took(step)
        self.papers |= {paper.path: paper.content for paper in step.papers}
        for pairing in step.begins:
            played = PlayedMatch(proposed(pairing.match, SERVER, self.state.match_terms(pairing)))
            self.matches[pairing.match] = played
            self.begins(played, pairing, self.consents(pairing))
        return step

    def consents(self, pairing: Pairing) -> list[Signed]:
        return [self._signed[mail] for mail in pairing.mails]

    def begins(self, played: PlayedMatch, pairing: Pairing, consents: Sequence[Signed]) -> None:
        players = tuple(
            self._pinned(self.state.entrants[name].player, played.match, seat)
            for seat, name in enumerate(pairing.names, start=1)
        )
        self._event(played, partial(agree, players=players, consents=consents))

    def _pinned(self, player: Player, match: Match, seat: int) -> Player:
        """A player as a match pins one: a mailbox has a paper of the match's own."""
        if player.keys:
            return player
        named = replace(self._named[player.name], match=match.id, seat=seat)
        return replace(player, mailbox=sha256_hex(named.text().encode()), named=named)

    def enter_by_mailbox(self, name: str, text: str = "") -> None:
        """An answer to our letter, which a domain signs."""
        self.now += timedelta(minutes=1)
        token = sha256_hex(name.encode())[:20].translate(str.maketrans("0189", "abcd"))
        named = NamedMailbox(
            server=SERVER, match="t1", seat=0, player=name, address=f"{name}@{HOME.name}", salt="5a" * 32
        )
        player = Player(name, (), mailbox=sha256_hex(named.text().encode()), named=named)
        head = f"From: {named.address}\nTo: pbem.{token}@{SERVER}\nSubject: t\n\n"
        text = text or f"enter t1 {self.state.rules_hash}\n"
        raw = HOME.sign((head + text).replace("\n", "\r\n").encode(), self.now)
        evidence = Evidence(
            server=SERVER,
            match="m1",
            player=name,
            mail=sha256_hex(raw),
            received=written(self.now),
            token=sha256_hex(token.encode()),
            place="none",
            by="dkim",
            name=HOME.where,
            record=HOME.record,
        )
        signed = Signed(raw, "mailbox", evidence.key, written(self.now), evidence.text().encode())
        self._signed[signed.hash] = signed
        self._named[name] = named
        step = self.step()
        step.enter(player, None, SaidLetter(signed, hash_of_entry_words(text)))
        self.took(step)

    # The matches.

    def _event(self, played: PlayedMatch, event: Callable[[Step], object]) -> None:
        key = SERVER_KEY.public_key().public_bytes_raw().hex()
        step = Step(played.match, Environment(self.now, self.die, "pbem 0.1.0", key))
        event(step)
        advance(step)
        played.match = step.match
        played.entries += step.entries
        played.papers |= {paper.path: paper.content for paper in step.papers}
        if played.match.phase == "closed":
            taken = self.step()
            taken.take(played.entries)
            self.took(taken)

    def send(self, match: str, seat: int, command: str, block: str, event: Callable[..., object]) -> None:
        played = self.matches[match]
        turn = f"turn {played.match.turn}\n" if "turn" not in command and played.match.phase == "playing" else ""
        game = f"game {played.match.game}\n" if "game" not in command and played.match.phase == "setup" else ""
        fields = turn + game if event is resign else ""
        name = played.match.name(seat)
        form, letter = self.said(name, command, block, f"prev {played.match.prev}\nrev 1\n{fields}")
        self._event(played, lambda step: event(step, seat, form, letter.signed))

    def begin(self, match: str, winner: int = 1) -> None:
        self.set_up(match, *(FLEETS[1 if seat == winner else 2] for seat in (1, 2)))

    def set_up(self, match: str, *setups: str) -> None:
        for seat, fleet in enumerate(setups, start=1):
            self.send(match, seat, f"setup {match} game 1", fleet, submissions.setup)

    def win(self, match: str, winner: int) -> None:
        """A match that a seat wins in three turns."""
        self.begin(match, winner)
        for turn, shot in enumerate(SHOTS, start=1):
            self.order(match, turn, *(shot if seat == winner else "# nothing" for seat in (1, 2)))

    def order(self, match: str, turn: int, *orders: str) -> None:
        for seat, text in enumerate(orders, start=1):
            self.send(match, seat, f"orders {match} turn {turn}", text, submissions.order)

    def resign(self, match: str, seat: int) -> None:
        self.send(match, seat, f"resign {match} match", "", resign)

    def fall_silent(self, match: str) -> None:
        """Nobody sends anything."""
        self.now += timedelta(days=30)
        self._event(self.matches[match], tick)

    # What is published.

    def tournament(self) -> bytes:
        return signed_tournament(self.entries, self.papers)

    def bundles(self) -> list[bytes]:
        return [played.bundle for played in self.matches.values()]


def signed_tournament(entries: Sequence[TournamentEntry], papers: dict[str, bytes]) -> bytes:
    """The file of a tournament with these entries, as its server signs them."""
    about = [tournament_statement(SERVER, "t1", one.seq, one.head) for one in entries]
    return write_tournament(Bundle(entries, [SERVER_KEY.sign(text) for text in about], papers))
