"""A seat in a match, for commands: looking it up, the place of its sentences, writing steps, telling the others.

Here lives what all commands about matches share, and no command. Nobody has to type a place: a sentence that leaves
some of it out is answered with the whole sentence, ready to be signed; at level `mailbox`, the reply address stands
for the place. Implements design.md, "The way of a letter", and protocol.md, "Identity".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from pbem.desk.caller import Caller, demand_text, refused
from pbem.games import Fault
from pbem.mail.commands import COMMANDS, AnyCommand, Command
from pbem.match import progress
from pbem.match.documents import NamedMailbox
from pbem.match.events import clocks
from pbem.match.naming import seen_by
from pbem.match.pinned_keys import Player
from pbem.match.state import RUNNING, Match, Submission
from pbem.match.step import Environment, Signed, Step, at_reply_address
from pbem.match.transcript import sha256_hex, utc
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_archive import MatchRepository
    from pbem.desk.match_letters import MatchLetters
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Facts
    from pbem.mail.compose import Attachment
    from pbem.match.terms import Terms
    from pbem.requests import Requested, SignedForm
    from pbem.store.matches import MatchRow
    from pbem.store.players import Players
    from pbem.store.tokens import Place

    T = TypeVar("T")
    Event = Callable[[Step, int, SignedForm[Requested], Signed], T]
    """An event in a match: a seat's signed form takes effect in a step."""


_PLAYED = 100
"""The most matches that a player plays at a time; the server's house plays as many as are proposed to it."""

_ABOUT = re.compile(r"\[pbem m([1-9][0-9]{0,8})\]")
_ADDRESS = re.compile(r"\bm([1-9][0-9]{0,8})@")
"""The match in a subject, and in a reply address, of a letter about it."""


@dataclass(frozen=True, eq=False, repr=False)
class Seats:
    """The seats in matches: where these are kept, what is written about them, and their environment at a time."""

    archive: MatchRepository
    letters: LetterWriter
    match_letters: MatchLetters
    world: Callable[[datetime], Environment]
    house: str
    """The name of the server's house program; empty if there is none."""
    over: Callable[[Match, datetime], Callable[[], None]]
    """Hears that a match has closed; returns what follows from that, once its players are told."""
    time_beside: Callable[[Match], str]
    """The time of the last entry of the tournament of a match; empty without one."""


class SeatContext(msgspec.Struct):
    """A seat in a match, with the row of the match; it follows the match as it changes."""

    _seats: Seats
    match: Match
    row: MatchRow
    seat: int = 0
    """0 is no seat: that of the operator and the clock."""

    @property
    def place(self) -> Place:
        """The place of the match."""
        return self.row.number, *self.match.letter_place

    def step(self, now: datetime, oldest_unhandled: datetime | None = None) -> Step:
        """A new step of the match.

        The clock stands still while an older letter waits; the match and its tournament go on by letters. Their time
        never goes back: a match that closed before the last entry of its tournament would have kept back its result.
        """
        match = self.match
        received = (time for submission in match.waiting for time in submission.received)
        last = max([match.time, self._seats.time_beside(match), *received])  # in the order of time as texts, too
        now = max(now, utc(last)) if last else now
        return Step(self.match, replace(self._seats.world(now), oldest_unhandled=oldest_unhandled))

    def commit(self, step: Step) -> None:
        """Write the result of a step, and tell everybody."""
        self._seats.archive.save(self.row.number, self.match, step)
        follow = None
        if step.match.phase == "closed" != self.match.phase:
            follow = self._seats.over(step.match, step.world.now)
        self._seats.match_letters.tell(step.notices, step.match, self.row, step.world.now)
        self.match = step.match
        if follow is not None:
            follow()

    def say(self, caller: Caller, command: Command[Requested], event: Event[Requested, T]) -> tuple[Step, T]:
        """A new step in which this seat says what a command says, and what came of that; raises `Refused`."""
        match, matches = self.match, self._seats.archive.matches
        read = command.name in match.play.read_by_others and match.phase in RUNNING
        if read:
            demand_text(caller, command, match.players[self.seat - 1].public_keys)
        step = self.step(caller.now)
        found = event(step, self.seat, placed(caller, command, match, self.seat), caller.signed)
        if read:  # the other players' programs believe what was signed, and nobody's word
            matches.keep_text(self.row.number, caller.signed.hash, caller.signed.pasted)
        return step, found

    def submit(self, step: Step, submission: Submission, turn: int | None = None) -> None:
        """Write what this seat sent or withdrew, for what is due or for a later turn; and the result."""
        self._seats.archive.submit(self.row.number, self.match, self.seat, submission, turn)
        progress.advance(step)
        self.commit(step)

    def keep_note(self, text: str) -> None:
        """Keep the note that the player's program wrote to itself."""
        self._seats.archive.matches.keep_note(self.row.number, self.match.game, self.seat, text)

    def give_up(self, phase: str) -> None:
        """Write that the match, which has not begun, never will."""
        self._seats.archive.matches.update(self.row.number, phase, None)
        self.match = replace(self.match, phase=phase)

    def note_press(self, by: str, text: str, now: datetime, *, everybody: bool) -> None:
        """Note a message of this seat's player, and bring observers one that is for everybody."""
        self._seats.archive.matches.note_press(self.row.number, by, to_db(now))
        if everybody:
            self._seats.archive.publish(self.row.number, self.match, by, text, to_db(now))
            shown = self.name(self.seat, 0)
            self._seats.match_letters.tell_observers_press(self.match, self.row, shown, text, now)

    def name(self, seat: int, reader: int) -> str:
        """The name of a seat for another one: its player's, unless the match hides that."""
        return seen_by(self.match, reader).name(seat)

    def facts(self) -> Facts:
        """The facts about the match for an answer."""
        return {"m": self._seats.match_letters.view(self.match, self.row, self.seat)}

    def enclosed(self, paper: str, name: str, hashed: str) -> tuple[Facts, list[Attachment]]:
        """A paper as an attached file, and the answer's facts about it; that of its hash is called `hashed`."""
        content = paper.encode()
        sha256 = sha256_hex(content)
        facts = {"file_name": name, hashed: sha256, "signature": self._seats.archive.vouch(self.match.id, sha256)}
        return facts, [(name, "text/plain", content)]

    def receipt(self, submission: Submission, what: str) -> tuple[Facts, list[Attachment]]:
        """The receipt for orders, as an attached file, and the answer's facts about it."""
        name = f"{self.match.id}-game-{self.match.game}-{what}-rev-{submission.rev}.receipt.txt"
        facts, files = self.enclosed(submission.paper, name, "receipt")
        return facts | {"rev": submission.rev, "level": submission.level}, files

    def withdrawn(self, submission: Submission) -> tuple[Facts, list[Attachment]]:
        """The paper of a withdrawal, for its player, and the letter's facts about it."""
        aside = submission.aside[-1]
        return self.enclosed(aside.paper, f"{self.match.id}-{aside.stem}.txt", "hash")

    def write_at_once(self, seat: int, template: str, subject: Phrase, now: datetime, /, **facts: object) -> None:
        """A letter to a seat of the match that waits for no digest."""
        out = self._seats.match_letters.about(self.match, self.row, seat, subject, template, **facts)
        self._seats.letters.post_alone(self.row, seat, out, now)

    def write_to(
        self,
        seat: int,
        template: str,
        subject: Phrase,
        now: datetime,
        items: Sequence[JsonObject] = (),
        /,
        **facts: object,
    ) -> None:
        """A separate letter to another seat of the match; its bulletin has these `items`, too."""
        out = self._seats.match_letters.about(self.match, self.row, seat, subject, template, **facts)
        out.bulletin += items
        self._seats.letters.post(self.row, seat, [(template, out)], self.match, now)


def number_of(command: AnyCommand) -> int:
    """The number of the match that a command names; 0, which no match has, if it names none."""
    return int((command.match or "m0").removeprefix("m"))


def find_seat(seats: Seats, number: int, player: str) -> SeatContext | None:
    """A player's seat in a match; None if there is none."""
    loaded = seats.archive.load(number)
    seat = loaded[0].seat_of(player) if loaded else None
    return SeatContext(seats, *loaded, seat) if loaded and seat else None


def seat_at(seats: Seats, number: int, player: str) -> SeatContext:
    """The seat of a player who has one in this match."""
    match, row = seats.archive.known(number)
    return SeatContext(seats, match, row, match.names.index(player) + 1)


def running(seats: Seats, player: str) -> Iterator[SeatContext]:
    """A player's seats in all matches that are under way, oldest first."""
    for number in seats.archive.matches.of_player(player, RUNNING):
        yield seat_at(seats, number, player)


def answered_at(seats: Seats, caller: Caller) -> SeatContext | None:
    """The seat whose letter a player answers, whatever the answer says; None if there is none.

    Only the reply addresses of players without a key are secret; those of the others, and subjects, name the match.
    """
    if caller.player is None or caller.keyless_name:
        return find_seat(seats, caller.answers[0], caller.player.name) if caller.player and caller.answers else None
    about = _ADDRESS.search("\n".join(caller.row.envelope.recipients)) or _ABOUT.search(caller.letter.subject)
    return find_seat(seats, int(about[1]), caller.player.name) if about else None


def own_match(seats: Seats, caller: Caller) -> str | None:
    """A match of the caller's, to be named as an example: that of the letter that is answered, else the latest."""
    if caller.player is None:
        return None
    if (at := answered_at(seats, caller)) is not None:
        return at.match.id
    matches = seats.archive.matches
    own = [f"m{number}" for number in matches.of_player(caller.player.name)]
    about = _ABOUT.search(caller.letter.subject)
    if about is not None and f"m{about[1]}" in own:
        return f"m{about[1]}"
    under_way = matches.of_player(caller.player.name, ("proposed", "setup", "playing"))
    return f"m{under_way[-1]}" if under_way else own[-1] if own else None


def seated_at(seats: Seats, command: AnyCommand, player: str, now: datetime) -> SeatContext:
    """A player's seat in the match that a command names; a match of others does not exist for the player.

    Outages are taken from its clocks first, so that the command meets the true deadlines. Nothing else that is due is
    done here: deadlines are missed by `due_tasks` alone. Raises `Refused`.
    """
    seated = find_seat(seats, number_of(command), player)
    if seated is None:
        raise refused(command.name, command.match or "", Phrase("you have no such match; `list mine` shows yours"))
    step = seated.step(now)
    clocks.catch_up(step)
    if step.entries:
        seated.commit(step)
    return seated


def demand_leisure(seats: Seats, player: str, more: int = 1) -> None:
    """Refuse more matches to who plays very many: a lost letter is told in each, while the store is locked."""
    if player != seats.house and len(seats.archive.matches.of_player(player, RUNNING)) + more > _PLAYED:
        reason = Phrase(
            "nobody plays more than {count} matches at once, as {player} would", count=_PLAYED, player=player
        )
        raise refused("matches", None, reason)


def without_keys(players: Players, terms: Terms, *names: str) -> list[Fault]:
    """The players who cannot take part if the terms demand keys."""
    demanded = terms.keys == "demanded"
    says = Phrase(
        "the match demands keys, and {name} is registered without one: `recover`, with a key below it, adds one"
    )
    return [
        Fault("keys", name, says.given(name=name)) for name in names if demanded and players.level(name) == "mailbox"
    ]


def pinned(players: Players, name: str, place: tuple[str, str, int], salt: str) -> Player:
    """A player as a transcript pins one: by keys, or by the mailbox; the place is server, match and seat."""
    row = players.known(name)
    keys = tuple(key.document() for key in row.keys)
    if row.level != "mailbox":
        return Player(name, keys)
    server, match, seat = place
    named = NamedMailbox(server=server, match=match, seat=seat, player=name, address=row.address.lower(), salt=salt)
    return Player(name, keys, mailbox=sha256_hex(named.text().encode()), named=named)


def missing(command: AnyCommand, match: Match | None) -> dict[str, str]:
    """The parts of its place that a signed command leaves out, as they would be now, except server and player.

    Setups and orders are instead refused by their match, with all faults: each letter brings their form.
    """
    if not COMMANDS[command.name].sentence or match is None or match.phase not in RUNNING:
        return {}
    playing = match.phase == "playing"
    place: dict[str, str] = {"turn": str(match.turn)} if playing and command.form.turn is None else {}
    if not playing and command.form.game is None:
        place = {"game": str(match.game)}
    return place | {"prev": match.prev}


def filled_in(command: Command[Requested], place: Mapping[str, str]) -> Command[Requested]:
    """The command with this whole place."""
    numbers = {name: int(place[name]) for name in ("rev", "game", "turn") if name in place}
    named = {name: place[name] for name in ("server", "player", "prev") if name in place}
    return replace(command, form=replace(command.form, **named, **numbers))


def placed(caller: Caller, command: Command[Requested], match: Match, seat: int) -> SignedForm[Requested]:
    """The form of a command; without a signature, completed with what its reply address stands for."""
    if caller.verdict.kind == "valid":
        return command.form
    found = at_reply_address(command.form, match, seat)
    return found if found.rev is not None else replace(found, rev=next_rev(command, match, seat))


def next_rev(command: AnyCommand, match: Match, seat: int) -> int:
    """The next revision for this command."""
    spec = COMMANDS[command.name]
    if not (spec.stands or spec.withdraws):
        return match.sentence_revs.get((seat, command.name), 0) + 1
    before = match.submission(seat, match.turn if command.form.turn is None else command.form.turn)
    return before.rev + 1 if before else 1


def sentence(command: AnyCommand, place: Mapping[str, str]) -> str:
    """The whole sentence of a command: its words, its place and its block."""
    lines = [command.head, *(f"{key} {value}" for key, value in place.items())]
    if (options := getattr(command.request, "options", None)) is not None:
        lines += [f"{key}: {value}" for key, value in options.items()]
    elif command.block:
        lines.append(command.block)
    return "\n".join([*lines, "end"])
