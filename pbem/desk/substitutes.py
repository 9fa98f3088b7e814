"""Substitutes by mail: who is named for a seat, who agrees, and the newcomer who takes it.

The newcomer is asked when all others agree, knows until then what anybody may know, and gets everything that the seat
knows with the entry that gives the seat away. Implements protocol.md, "Commands" (`substitute`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pbem.desk.answer import NOT_TO_BE_ASKED, Answer
from pbem.desk.clerk import Out
from pbem.desk.places import placed
from pbem.desk.table import Seated, Tables
from pbem.games import Fault, Refused
from pbem.match import substitutes
from pbem.match.life import Step
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.match.life import World
    from pbem.store.people import People
    from pbem.store.players import Players

__all__ = ["Substitutes"]

_PLACE = ("server", "player", "prev", "rev")
"""What the newcomer's form must say: the sentence must not be good for another moment of the match."""

_WILL_YOU = Phrase("[pbem {match}] {title}: will you take the seat of {leaver}?")
_TAKEN = Phrase("[pbem {match}] {title}: {name} has taken your seat")


class Substitutes(Tables):
    """The seats of a server that change hands."""

    def __init__(
        self, players: Players, archive: Archive, clerk: Clerk, world: Callable[[datetime], World], people: People
    ) -> None:
        super().__init__(players, archive, clerk, world)
        self._people = people
        self.commands: Mapping[str, Callable[[Caller, Command], Answer]] = {"substitute": self._substitute}

    def _substitute(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        number = int((command.match or "").removeprefix("m") or 0)
        loaded = self._archive.load(number)
        name = caller.player.name
        if loaded and not loaded[0].seat_of(name):
            match, row = loaded
            for seat, nomination in match.nominated.items():
                if nomination.name == name and substitutes.agreed(match, seat, caller.now):
                    return self._newcomer(Seated(match, row, seat), caller, command)
        return self._word(self._table(caller, command), caller, command)

    # The players.

    def _word(self, seated: Seated, caller: Caller, command: Command) -> Answer:
        """A player names somebody for a seat, agrees to that, or wants nobody there after all."""
        match, given = seated.match, command.arguments
        name, seat = given["name"], match.seat_of(given["leaver"])
        if seat is None:
            raise Refused(
                Fault("substitute", given["leaver"], Phrase("{name} has no seat in this match", name=given["leaver"]))
            )
        if name != substitutes.NOBODY:
            self._judge(seated, name)
        facts: dict[str, Any] = {"by": match.name(seated.seat), "name": name, "leaver": given["leaver"], "hash": ""}
        before = substitutes.agreed(match, seat, caller.now) and match.nominated[seat].name == name
        step = Step(match, self._world(caller.now))
        said = placed(caller, command, match, seated.seat)
        substitutes.nominate(step, seated.seat, seat, name, said, caller.signed)
        self._commit(seated, step)
        asked = not before and substitutes.agreed(seated.match, seat, caller.now)
        if asked:
            self._ask(seated, seat, name, caller.now)
        facts["state"] = "nobody" if name == substitutes.NOBODY else "asked" if asked else "named"
        return Answer("substitute", facts | self._facts(seated), match=seated.place)

    def _judge(self, seated: Seated, name: str) -> None:
        """Refuse to name somebody who could never take the seat."""
        player = self._players.by_name(name)
        if player is None or self._people.silent(player.address):
            raise Refused(Fault("substitute", name, NOT_TO_BE_ASKED.given(name=name)))
        if keyless := self._without_keys(seated.match.terms, name):
            raise Refused(*keyless)

    # The newcomer.

    def _ask(self, seated: Seated, seat: int, name: str, now: datetime) -> None:
        """All agree: ask the newcomer, who is told what anybody may know."""
        match, row = seated.match, seated.row
        player = self._players.by_name(name)
        assert player is not None
        facts = {
            "name": name,
            "leaver": match.name(seat),
            "hash": match.rules_hash,
            "m": self._stranger(seated, name),
            "standings": [
                self._people.standing(match.terms.game, match.name(one)) for one in match.seats if one != seat
            ],
        }
        text = self._clerk.draft("letters/take_seat.txt", **facts)
        subject = _WILL_YOU.given(match=match.id, title=match.rules.title, leaver=match.name(seat))
        out = Out(subject, text)
        out.place = (row.number, match.game, match.turn)
        self._clerk.send(player.address, out, now)

    def _stranger(self, seated: Seated, name: str) -> dict[str, Any]:
        """What the newcomer may know of the match before the seat is taken: the `m` of the templates."""
        keys = self._players.keys(name)
        return self._clerk.public_facts(seated.match, seated.row) | {
            "prev": seated.match.prev,
            "address": self._clerk.address,
            "level": self._players.level(name),
            "format": keys[-1].format if keys else "ssh",
        }

    def _newcomer(self, seated: Seated, caller: Caller, command: Command) -> Answer:
        """Somebody who was named takes the seat, or declines it."""
        assert caller.player is not None
        match, seat, name, now = seated.match, seated.seat, caller.player.name, caller.now
        given, left = command.arguments, seated.match.name(seated.seat)
        facts = {"name": name, "leaver": left, "hash": match.rules_hash}
        if (given["name"], given["leaver"]) == (substitutes.NOBODY, left):
            for row in seated.row.seats:
                if row.player != left or not self._players.unreachable(left):
                    self._write_to(
                        seated, row.seat, "seat_declined", Phrase("{name} does not come", name=name), now, **facts
                    )
            return Answer("substitute", facts | {"state": "declined", "m": self._stranger(seated, name)})
        if (given["name"], given["leaver"]) != (name, left):
            raise Refused(
                Fault(
                    "substitute",
                    None,
                    Phrase("you were asked to take the seat of {left}, and nothing else", left=left),
                )
            )
        if given.get("hash", match.rules_hash) != match.rules_hash:
            raise Refused(
                Fault(
                    "substitute",
                    given["hash"],
                    Phrase("the hash of the agreed rules is {rules_hash}", rules_hash=match.rules_hash),
                )
            )
        signed = caller.verdict.kind == "valid"
        if "hash" not in given or (signed and not command.fields.keys() >= set(_PLACE)):
            return Answer("substitute_form", facts | {"m": self._stranger(seated, name)})
        place = (seated.row.number, match.game, match.turn)
        if caller.proof and caller.proof.token and caller.proof.token.place != place:
            raise Refused(Fault("substitute", None, Phrase("answer the letter that asked you to take this seat")))
        willing = seat in match.nominated[seat].willing
        step = Step(match, self._world(now))
        newcomer = self._pinned(name, match, seat, step.world.salt())
        said = placed(caller, command, substitutes.seated(match, seat, newcomer), seat)
        substitutes.take_over(step, seat, newcomer, said, caller.signed)
        step.advance()
        self._seat_taken(seated, step, name)
        self._people.speak(caller.address)
        if not willing:
            found = self._people.standing(match.terms.game, left)
            self._people.record(match.terms.game, [replace(found, abandoned=found.abandoned + 1)])
        if gone := self._players.by_name(left):
            text = self._clerk.draft(
                "letters/seat_left.txt", willing=willing, **facts, m=self._stranger(seated, left)
            )
            subject = _TAKEN.given(match=match.id, title=match.rules.title, name=name)
            self._clerk.send(gone.address, Out(subject, text), now)
        return Answer("substitute", facts | {"state": "taken"} | self._facts(seated), match=seated.place)

    def _seat_taken(self, seated: Seated, step: Step, name: str) -> None:
        """Write that the seat has changed hands, and tell those who sit there now."""
        number, before = seated.row.number, seated.match
        matches = self._archive.matches
        matches.give_up(number, before.game, before.turn, seated.seat)
        matches.reseat(number, seated.seat, name)
        self._people.unobserve(number, name)
        row = matches.row(number)
        assert row is not None
        seated.row = row
        self._commit(seated, step)
