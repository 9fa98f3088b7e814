"""A club that plays tournaments without any letters: entries alone, and matches that end as somebody says."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import SERVER, SOFTWARE

from pbem.match.pinned_keys import Player
from pbem.match.step import Signed
from pbem.match.transcript import BEFORE, Entry, sha256_hex, written
from pbem.tournament.fold import begun, fold
from pbem.tournament.following import follows
from pbem.tournament.tournament_step import SaidLetter, TournamentStep, announce
from pbem.tournament.tournament_terms import TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.tournament.tournament_entries import TournamentEntry
    from pbem.tournament.tournament_state import Pairing, Tournament

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLOSES = "2026-03-10"
SERVER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRET = "5e" * 32
WON, LOST = 1, 2


class Club:
    """A tournament from its announcement on; `now` moves as the test says."""

    def __init__(self, lines: str = "", *, names: Iterable[str] = (), game: str = "spaceships") -> None:
        self.now = BEGIN
        self.entries: list[TournamentEntry] = []
        self._matches = map("m{}".format, itertools.count(1))
        self._letters = itertools.count(1)
        options = dict(line.split(": ", 1) for line in lines.split("\n") if line)
        if options.get("format") != "ladder":
            options.setdefault("closes", CLOSES)
        options = self.usual_options(game) | options
        letter = self.letter("org", f"tournament new {game}", "\n".join(map(": ".join, options.items())))
        terms = TournamentTerms.propose(game, options, timedelta())
        self.took(
            announce(
                "t1",
                terms,
                self.player("org"),
                letter,
                server=SERVER,
                server_key=SERVER_KEY.public_key().public_bytes_raw().hex(),
                version=SOFTWARE,
                secret=None if terms.format == "ladder" else SECRET,
                now=self.now,
                match_name=self._name,
            )
        )
        self.enter(*names)

    def usual_options(self, _game: str) -> dict[str, str]:
        return {"entrants": "128"}

    def _name(self) -> str:
        return next(self._matches)

    def took(self, step: TournamentStep) -> TournamentStep:
        self.state = step.tournament
        self.entries += step.entries
        return step

    def player(self, name: str) -> Player:
        return Player(name, ({"format": "ssh", "fingerprint": f"SHA256:{name}", "public": f"ssh-ed25519 {name}"},))

    def letter(self, name: str, command: str, block: str = "") -> SaidLetter:
        """A player's letter with this command."""
        raw = f"{name} {next(self._letters)} {command}\n{block}".encode()
        return SaidLetter(Signed(raw, "key", "SHA256:", written(self.now)), sha256_hex(raw))

    def step(self) -> TournamentStep:
        return TournamentStep(self.state, self.now, self._name)

    def enter(self, *names: str, team: str | None = None) -> None:
        for name in names:
            letter = self.letter(name, f"enter t1 {self.state.rules_hash}{f' team {team}' if team else ''}")
            step = self.step()
            step.enter(self.player(name), team, letter)
            self.took(step)

    def leave(self, name: str) -> None:
        letter = self.letter(name, "leave t1")
        step = self.step()
        step.leave(name, letter)
        self.took(step)

    def challenge(self, name: str, against: str) -> str:
        letter = self.letter(name, f"challenge t1 {against}")
        step = self.step()
        step.challenge(name, against, letter)
        self.took(step)
        return self.state.pairings[-1].match

    def rule(self, *, by: str = "operator", **ruling: str) -> None:
        ruling = {"reason": "so it is", **ruling}
        letter = None
        if by == "organiser":
            about = ruling.get("match") or (f"{ruling['player']} for {ruling['for']}" if "for" in ruling else "")
            letter = self.letter("org", f"rule t1 {ruling['what']} {about}", f"reason: {ruling['reason']}")
        step = self.step()
        step.rule(ruling, letter)
        self.took(step)

    def start(self) -> None:
        closes = self.state.terms.closes
        self.now = max(self.now, datetime.fromisoformat(closes or written(self.now)))
        step = self.step()
        step.start(SECRET)
        self.took(step)

    def wake(self) -> None:
        step = self.step()
        step.wake()
        self.took(step)

    def over(self, match: str, winner: int, **how: Any) -> None:
        played = self.played(match, winner, **how)
        step = self.step()
        step.take(played)
        self.took(step)
        # A server that died since does not know that it took this result.
        again = self.step()
        again.take(played)
        assert not again.entries

    def played(
        self,
        match: str,
        winner: int,
        *,
        reason: str = "agreed length",
        turns: int = 1,
        silent: Sequence[int] = (),
        missed: Sequence[int] = (),
        scores: Sequence[int] = (),
        newcomer: tuple[int, str] | None = None,
    ) -> list[Entry]:
        """The transcript of a match of the club, as far as it matters here."""
        pairing = self.state.pairing_of(match)
        assert pairing is not None
        players = {str(seat): {"name": name} for seat, name in enumerate(pairing.players, start=1)}
        bodies: list[tuple[str, dict[str, object]]] = [("agreed", {"match": match, "players": players})]
        bodies += [("turn", {})] * turns
        bodies += [("missed", {"seat": seat}) for seat in (*silent, *missed)]
        if newcomer:
            bodies.append(("substituted", {"seat": newcomer[0], "player": {"name": newcomer[1]}}))
        if silent:
            bodies.append(("forfeited", {"seats": list(silent)}))
        seats = range(1, len(pairing.names) + 1)
        winners = [winner] if winner else [] if reason in {"abandoned", "forfeit"} else [*seats]
        scores = [*scores] or [0 for _ in seats]
        bodies.append(("closed", {"winners": winners, "scores": scores, "reason": reason}))
        entries: list[Entry] = []
        for kind, body in bodies:
            head = entries[-1].head if entries else BEFORE
            entries.append(Entry(len(entries) + 1, head, written(self.now), kind, body))
        return entries

    @property
    def awaited(self) -> list[Pairing]:
        """The pairings whose matches are being played."""
        return [pairing for pairing in self.state.awaited if pairing.match]

    def folded(self) -> Tournament:
        """The state, from the entries alone, as a verifier folds them."""
        return refolded(self.entries)


def refolded(entries: Sequence[TournamentEntry]) -> Tournament:
    state = begun(entries[0])
    for entry in entries[1:]:
        state = fold(state, entry)
    assert follows(state) is None
    return state


def names(count: int) -> list[str]:
    return [f"p{number:02}" for number in range(1, count + 1)]
