"""How players find each other: proposals, the open list, invitations by address, agreeing and declining.

A match whose players are not all known stands with seats that are kept free; when the last is taken it becomes a
proposal like any other, and its hash can be accepted. Implements protocol.md, "Commands" (`new`, `list`, `join`,
`accept`, `decline`, `withdraw`) and the first step of "A match".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from email_validator import EmailNotValidError, validate_email

from pbem.desk.answer import NOT_TO_BE_ASKED, Answer
from pbem.desk.clerk import Out, named
from pbem.desk.table import Seated, Tables
from pbem.games import GAMES, Fault, Refused, rules
from pbem.match.life import PHASES, Step
from pbem.match.terms import Terms
from pbem.match.transcript import BEFORE
from pbem.phrase import Phrase, either
from pbem.store.database import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, timedelta

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.match.life import Match, World
    from pbem.store.people import People
    from pbem.store.players import PlayerRow, Players

__all__ = ["Gathering"]

_LISTED = 50
"""How many matches the open list shows."""

_PENDING = 20
"""How many proposals of one player may wait for an answer at a time."""


class Gathering(Tables):
    """The proposals of a server; `settle` is its default settling time."""

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        players: Players,
        archive: Archive,
        clerk: Clerk,
        world: Callable[[datetime], World],
        people: People,
        settle: timedelta,
    ) -> None:
        super().__init__(players, archive, clerk, world)
        self._people = people
        self._settle = settle
        self.commands: Mapping[str, Callable[[Caller, Command], Answer]] = {
            "new": self._new,
            "list": self._list,
            "join": self._join,
            "accept": self._accept,
            "decline": self._decline,
            "withdraw": self._withdraw,
        }

    def welcome(self, player: str, address: str, now: datetime) -> None:
        """Seat a player who has just registered wherever the address was invited."""
        for number in self._people.kept_for(address):
            seat = next(
                seat for seat, kept in self._people.free(number).items() if kept and kept.lower() == address.lower()
            )
            self._seat(number, seat, player, now)

    # Proposing.

    def _new(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        game, lines = command.arguments["rules"], dict(command.options)
        names, free, faults = self._wanted(caller.player.name, command.arguments.get("players", ()))
        unasked = {fault.token for fault in faults}
        more, wrong = self._more_seats(game, len(names), lines.pop("seats", None))
        free |= dict.fromkeys(more)
        faults += wrong
        names += tuple(f"?{seat}" for seat in free if seat > len(names))
        if lines.get("privacy", "").strip().lower() == "private" and None in free.values():
            faults.append(
                Fault("privacy", "private", Phrase("a private match is not on the open list: name your opponents"))
            )
        terms = None
        try:
            terms = Terms.propose(game, lines, names, self._settle)
        except Refused as refused:
            faults += refused.faults
        if terms is not None:
            faults += self._without_keys(terms, *(name for name in names if name not in unasked))
        if self._archive.matches.pending(caller.player.name) >= _PENDING:
            faults.append(
                Fault("new", None, Phrase("enough proposals of yours wait for an answer; withdraw one first"))
            )
        if faults or terms is None:
            raise Refused(*faults)
        self._people.speak(caller.address)
        known = [(seat, name, seat == 1) for seat, name in enumerate(names, 1) if seat not in free]
        phase = "open" if free else "proposed"
        number = self._archive.matches.create(terms.document(), known, BEFORE, stamp(caller.now), phase)
        self._archive.consent(number, 1, caller.signed)
        told = {}
        for seat, address in free.items():
            self._people.keep_free(number, seat, address)
            if address is not None:
                told[address] = self._invite(address, caller.player.name, terms, number, caller.now)
        seated = self._seated(number, caller.player.name)
        if not free:
            self._propose(seated, caller.now)
        facts = {"invited": told, "free": free} | self._facts(seated)
        return Answer("new", facts, match=seated.place)

    def _wanted(
        self, proposer: str, wanted: tuple[str, ...]
    ) -> tuple[tuple[str, ...], dict[int, str | None], list[Fault]]:
        """The players in seat order, the seats kept for addresses, and what is wrong."""
        names, free, faults = [proposer], dict[int, str | None](), list[Fault]()
        for name in wanted:
            seat = len(names) + 1
            if "@" not in name:
                if self._listening(self._players.by_name(name)) is None:
                    faults.append(Fault("new", name, NOT_TO_BE_ASKED.given(name=name)))
                names.append(name)
                continue
            player = self._listening(self._players.by_address(name))
            if player is not None:
                names.append(player.name)
                continue
            try:
                free[seat] = validate_email(name, check_deliverability=False, test_environment=True).normalized
            except EmailNotValidError:
                faults.append(Fault("new", name, Phrase("this is no address")))
            names.append(f"?{seat}")
        return tuple(names), free, faults

    def _listening(self, player: PlayerRow | None) -> PlayerRow | None:
        """The player, unless there is none, or one who wants to hear no more: nobody can tell the two apart."""
        return None if player is None or self._people.silent(player.address) else player

    @staticmethod
    def _more_seats(game: str, taken: int, wanted: str | None) -> tuple[range, list[Fault]]:
        """Seats for anybody, up to the number that was asked for or that the game needs at the least."""
        if game not in GAMES:
            return range(0), []
        allowed = rules(game).seats
        if wanted is not None and (not wanted.strip().isdecimal() or int(wanted) not in allowed):
            fault = Fault(
                "seats",
                wanted,
                Phrase(
                    "{title} is for {numbers} players", title=rules(game).title, numbers=either(map(str, allowed))
                ),
            )
            return range(0), [fault]
        return range(taken + 1, int(wanted or min(allowed)) + 1), []

    def _invite(self, address: str, by: str, terms: Terms, number: int, now: datetime) -> bool:
        """One polite invitation, never a second; whether it was sent."""
        if self._people.silent(address) or not self._people.invite(address, stamp(now)):
            return False
        text = self._clerk.draft(
            "letters/invitation.txt",
            by=by,
            terms=terms,
            title=rules(terms.game).title,
            match=f"m{number}",
            found=self._people.standing(terms.game, by),
        )
        self._clerk.send(address, Out(Phrase("[pbem] {by} invites you to a game by mail", by=by), text), now)
        return True

    def _propose(self, seated: Seated, now: datetime, but: int | None = None) -> None:
        """Ask all who have not accepted yet, but the seat that is asked in its answer."""
        subject = Phrase("{by} proposes a match to you", by=seated.match.name(1))
        for row in seated.row.seats:
            if not row.accepted and row.seat != but:
                facts = {"standings": self._standings(seated.match, row.seat)}
                self._write_to(seated, row.seat, "proposal", subject, now, **facts)

    def _standings(self, match: Match, seat: int) -> list[Any]:
        """What the others have played so far, to be seen before one accepts."""
        return [self._people.standing(match.terms.game, match.name(other)) for other in match.seats if other != seat]

    # The open list.

    def _list(self, caller: Caller, command: Command) -> Answer:
        if command.arguments.get("which") == "open" or caller.player is None:
            return Answer("list_open", {"matches": self._open_matches()})
        loaded = [self._archive.load(number) for number in self._archive.matches.of_player(caller.player.name)]
        rows = [_summary(match, match.seat_of(caller.player.name) or 0) for match, _ in filter(None, loaded)]
        return Answer("list", {"matches": rows})

    def _open_matches(self) -> list[dict[str, Any]]:
        found = []
        for number in self._people.open_matches(_LISTED):
            loaded = self._archive.load(number)
            assert loaded is not None
            match, _ = loaded
            free = [seat for seat, kept in self._people.free(number).items() if kept is None]
            proposer = self._people.standing(match.terms.game, match.name(1))
            found.append(_summary(match, 0) | {"free": len(free), "terms": match.terms, "by": proposer})
        return found

    def _join(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        name = command.match or ""
        number = int(name.removeprefix("m") or 0)
        free = self._people.free(number)
        seat = next((seat for seat, kept in free.items() if kept is None), None)
        if seat is None:
            raise Refused(
                Fault("join", name, Phrase("this match is not on the open list; `list open` shows those that are"))
            )
        loaded = self._archive.load(number)
        if loaded and loaded[0].seat_of(caller.player.name):
            raise Refused(Fault("join", name, Phrase("you have a seat in it already")))
        if loaded and (keyless := self._without_keys(loaded[0].terms, caller.player.name)):
            raise Refused(*keyless)
        self._people.speak(caller.address)
        seated = self._seat(number, seat, caller.player.name, caller.now, tell=False)
        facts = {"standings": self._standings(seated.match, seat)}
        return Answer("join", facts | self._facts(seated), match=seated.place)

    def _seat(self, number: int, seat: int, player: str, now: datetime, *, tell: bool = True) -> Seated:
        """Give a free seat to a player; with the last one the match becomes a proposal, and all are asked."""
        loaded = self._archive.load(number)
        assert loaded is not None
        terms = loaded[0].terms
        players = tuple(player if other == seat else name for other, name in enumerate(terms.players, 1))
        self._people.take(number, seat)
        phase = "open" if self._people.free(number) else "proposed"
        self._archive.matches.seat(number, seat, player, replace(terms, players=players).document(), phase)
        self._archive.forget()
        seated = self._seated(number, player)
        if phase == "proposed":
            self._propose(seated, now, None if tell else seat)
        joined = {"by": player, "found": self._people.standing(terms.game, player)}
        for other in seated.row.seats:
            if other.accepted:
                self._write_to(seated, other.seat, "joined", Phrase("{player} joins", player=player), now, **joined)
        return seated

    # Agreeing.

    def _accept(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        match = seated.match
        if match.phase != "proposed":
            raise Refused(
                Fault(
                    "accept",
                    match.id,
                    Phrase("this match is {phase} and waits for no agreement", phase=PHASES[match.phase]),
                )
            )
        given = command.arguments.get("hash")
        if given is None:
            raise Refused(
                Fault(
                    "accept", None, Phrase("repeat the hash of the agreed rules: `accept {id} <hash>`", id=match.id)
                )
            )
        if given != match.rules_hash:
            raise Refused(
                Fault(
                    "accept",
                    given,
                    Phrase("the hash of what was proposed is {rules_hash}", rules_hash=match.rules_hash),
                )
            )
        if keyless := self._without_keys(match.terms, match.name(seated.seat)):
            raise Refused(*keyless)
        self._people.speak(caller.address)
        self._archive.matches.accept(seated.row.number, seated.seat)
        self._archive.consent(seated.row.number, seated.seat, caller.signed)
        agreed = {seat.seat for seat in seated.row.seats if seat.accepted} | {seated.seat}
        if len(agreed) == len(match.seats):
            self._begin(seated, caller.now)
        return Answer("accept", self._facts(seated), match=seated.place)

    def _begin(self, seated: Seated, now: datetime) -> None:
        """All have agreed; but who has other keys than those that signed it is asked once more."""
        match, number = seated.match, seated.row.number
        step = Step(match, self._world(now))
        players = [
            self._pinned(name, match, seat, step.world.salt())
            for seat, name in enumerate(match.terms.players, start=1)
        ]
        consents = self._archive.consents(number)
        stale = [
            seat
            for seat, signed in consents.items()
            if not players[seat - 1].counts(signed.level, signed.key, BEFORE)
        ]
        if stale:
            for seat in stale:
                self._archive.matches.ask_again(number, seat)
            self._propose(self._seated(number, match.name(seated.seat)), now, seated.seat)
            return
        step.agree(tuple(players), list(consents.values()) if len(consents) == len(players) else ())
        self._commit(seated, step)

    def _decline(self, caller: Caller, command: Command) -> Answer:
        return self._give_up(caller, command, "declined")

    def _withdraw(self, caller: Caller, command: Command) -> Answer:
        return self._give_up(caller, command, "withdrawn")

    def _give_up(self, caller: Caller, command: Command, phase: str) -> Answer:
        seated = self._table(caller, command)
        match, number = seated.match, seated.row.number
        if match.phase not in ("proposed", "open"):
            done = Phrase(
                "this match is {phase} and cannot be {wanted} any more",
                phase=PHASES[match.phase],
                wanted=PHASES[phase],
            )
            raise Refused(Fault(command.name, match.id, done))
        if phase == "withdrawn" and seated.seat != 1:
            raise Refused(
                Fault(
                    "withdraw",
                    match.id,
                    Phrase("{name} proposed it; you may `decline {id}`", name=match.name(1), id=match.id),
                )
            )
        self._people.withdraw(number)
        self._archive.matches.update(number, phase, None)
        self._archive.forget()
        for other in seated.row.seats:
            if other.seat != seated.seat:
                self._write_to(
                    seated, other.seat, "declined", PHASES[phase], caller.now, by=match.name(seated.seat), done=phase
                )
        return Answer("decline", {"done": phase} | self._facts(seated), match=seated.place)


def _summary(match: Match, seat: int) -> dict[str, Any]:
    return {
        "id": match.id,
        "title": match.rules.title,
        "names": [named(name) for name in match.names],
        "phase": match.phase,
        "game": match.game,
        "turn": match.turn,
        "totals": match.totals,
        "asked": match.asked(seat),
    }
