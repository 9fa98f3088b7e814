"""The director of tournaments: writes their steps, begins their matches, and tells their players.

Every call is part of the decision that caused it: a letter, the clock, or the end of a match. Implements
docs/bundle.md, 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pbem.desk.due_tasks import PER_TICK, TRY_AGAIN, UNHANDLED
from pbem.desk.seats import SeatContext
from pbem.desk.tournament.tournament_archive import TournamentRepository, pinned_in_match
from pbem.desk.tournament.tournament_facts import facts_of
from pbem.letters.draft import Facts, OutgoingLetter
from pbem.match.events import begun, keys_changed
from pbem.match.state import AGREEING, RUNNING
from pbem.match.transcript import BEFORE, Entry, utc, written
from pbem.phrase import Phrase
from pbem.store.database import to_db
from pbem.tournament.fold import can_start
from pbem.tournament.tournament_step import TournamentStep

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime

    from pbem.desk.due_tasks import DueTasks
    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.seats import Seats
    from pbem.letters.draft import Enclosed
    from pbem.match.state import Match
    from pbem.match.step import Signed
    from pbem.store.inbox import Inbox
    from pbem.store.matches import Matches
    from pbem.store.people import People
    from pbem.store.players import Players
    from pbem.store.tournament_rows import TournamentTask
    from pbem.tournament.tournament_entries import TournamentEntry
    from pbem.tournament.tournament_state import Pairing, Tournament

_BESIDE = 640 * 1024
"""The largest proof, in octets, that comes with the letter about the end, which then has less than a mebibyte.

All get it, and entrants can make it longer. A larger one comes to those who ask."""

_NEWS = {
    "started": Phrase("it begins"),
    "paired": Phrase("a bye"),
    "ruled": Phrase("a ruling"),
    "withdrawn": Phrase("you are out"),
    "ended": Phrase("it is over"),
}
"""The entries of which players get a letter, and its subjects: of their own matches they hear from these."""


@dataclass(frozen=True, eq=False, repr=False)
class Director:
    """Directs the tournaments of a server."""

    archive: TournamentRepository
    matches: Matches
    players: Players
    people: People
    letters: LetterWriter
    inbox: Inbox
    server: str
    address: str

    # Steps.

    def step(self, t: Tournament, now: datetime) -> TournamentStep:
        """A new step of a tournament, whose time never goes back, as that of a match (`SeatContext.step`)."""
        now = max(now, utc(t.time))
        return TournamentStep(t, now, lambda: self.next_match(now))

    def next_match(self, now: datetime) -> str:
        """The name of the match that is planned next."""
        return f"m{self.matches.plan(BEFORE, to_db(now))}"

    def commit(self, step: TournamentStep, signed: Signed | None = None) -> None:
        """Write a step, which `signed` caused, if a letter did, and all that follows from it or is due by now."""
        self._advance(step, signed)
        self._go_on(step)

    def _advance(self, step: TournamentStep, signed: Signed | None = None) -> None:
        """Let the tournament start, or its next round begin, if that is due, and write the step."""
        t = step.tournament
        number = t.number
        paused = self.archive.rows.paused(number)
        # A letter that came before entries closed may still be unhandled: it may be an entry.
        oldest, closes = self.inbox.oldest_unhandled(), t.terms.closes
        waits = closes is not None and oldest is not None and oldest < utc(closes) <= step.now
        if not paused and can_start(t, written(step.now)) and not waits:
            step.start(self.archive.rows.secret(number))
        if not paused and t.phase == "playing":
            step.wake()
        # The clock looks at it again when entries close, or the round ends.
        t, due = step.tournament, None
        if t.phase == "open" and closes is not None:
            due = to_db(max(utc(closes), step.now + UNHANDLED))
        elif t.phase == "playing" and t.round_ends and utc(t.round_ends) > step.now:
            due = to_db(utc(t.round_ends))
        self.archive.save(step, None if paused else due, signed)

    def _go_on(self, step: TournamentStep) -> None:
        """Plan the matches that begin with a step, and the letters about it."""
        t, number = step.tournament, step.tournament.number
        news = [entry for entry in step.entries if entry.type in _NEWS]
        concerned = {t.organiser.name, *(entrant.player.name for entrant in t.entrants.values())}
        concerned |= {entry.body["player"] for entry in news if _nominates(entry)}
        for name in sorted(concerned) if news else ():
            own = [entry.seq for entry in news if self._concerns(entry, t, name)]
            if own:
                self.archive.rows.plan_letter(number, name, own[0])
        for pairing in step.begins:
            self.archive.rows.plan_match(number, pairing.match)

    # What is planned: hundreds of matches and letters may be, and everybody's letters wait while the store is locked.

    def carry_out(self, seats: Seats, task: TournamentTask, now: datetime) -> None:
        """Begin a match, or write a letter, that is planned."""
        if not self.archive.rows.take(task):
            return
        t = self.archive.known(task.tournament)
        if task.match is not None:
            pairing = t.pairing_of(task.match)
            assert pairing is not None
            self._begin(seats, t, pairing, now)
        elif task.player is not None:
            self._tell(t, task.player, task.since or 0, now)

    def begin_matches(self, seats: Seats, t: Tournament, now: datetime, enters: str = "") -> None:
        """Begin the planned matches of a tournament, or only those of the line for which this player enters.

        They begin with the keys by which their players entered. All of a tournament would take too long for a letter.
        """
        for task in self.archive.rows.tasks(t.number):
            pairing = t.pairing_of(task.match or "")
            players = [t.entrants[name].player.name for name in pairing.names] if pairing else []
            if pairing and (not enters or enters in players or t.nominated.get(enters) in pairing.names):
                self.carry_out(seats, task, now)

    # Causes beside letters.

    def over(self, match: Match, now: datetime) -> Callable[[], None]:
        """Write the result of a match that has closed; returns what follows, once its players are told."""
        t = self._beside(match)
        if t is None:
            return lambda: None
        step = self.step(t, now)
        rows = self.matches.entries(int(match.id[1:]))
        step.take([Entry.read(row.entry) for row in rows])
        self._advance(step)
        return partial(self._go_on, step)

    def time_beside(self, match: Match) -> str:
        """The time of the last entry of a match's tournament; empty without one."""
        t = self._beside(match)
        return t.time if t is not None else ""

    def _beside(self, match: Match) -> Tournament | None:
        terms = match.terms.tournament
        return self.archive.known(int(terms["id"][1:])) if terms is not None else None

    def restored(
        self, seats: Seats, began: int, alone: Callable[[str], AbstractContextManager[None]], now: datetime
    ) -> None:
        """Enter a restore; matches that may have begun since stand still like all others."""
        for number in self.archive.rows.running():
            with alone(f"t{number}"):
                t = self.archive.known(number)
                self.begin_matches(seats, t, now)
                step = self.step(t, now)
                step.restored(began)
                self.commit(step)

    def wake(self, number: int, now: datetime) -> None:
        """Do what is due in a tournament by the clock."""
        t = self.archive.known(number)
        self.commit(self.step(t, now))

    # The matches.

    def _begin(self, seats: Seats, t: Tournament, pairing: Pairing, now: datetime) -> None:
        """Begin the match of a pairing, to which its players agreed when they entered."""
        number, matches = int(pairing.match[1:]), self.matches
        terms = t.match_terms(pairing).document()
        for seat, name in enumerate(pairing.players, start=1):
            matches.seat(number, seat, name, terms, "proposed")
            matches.accept(number, seat)
        at = SeatContext(seats, *seats.archive.known(number))
        step = at.step(now)
        players, consents = [], []
        for seat, (name, mail) in enumerate(zip(pairing.names, pairing.mails, strict=True), start=1):
            signed, mailbox = self.archive.consent(t, mail)
            place = t.server, pairing.match, seat
            players.append(pinned_in_match(t.entrants[name].player, mailbox, place, step.world.salt()))
            consents.append(signed)
        begun.agree(step, tuple(players), consents)
        for seat, name in enumerate(pairing.players, start=1):
            for change in self.archive.changes(t, name):
                keys_changed.change(step, seat, change)
        at.commit(step)

    # The letters.

    def _tell(self, t: Tournament, name: str, since: int, now: datetime) -> None:
        """Tell a player all news since an entry, in one letter; without any, put the table into the next digest."""
        player = self.players.by_name(name)
        if player is None:
            return
        if not since:
            self.letters.hold(player, 0, [self.letter(t, name, Phrase("the table"), [])], now)
            return
        entries = self.archive.entries(t.number, since)
        own = [entry for entry in entries if entry.type in _NEWS and self._concerns(entry, t, name)]
        if own:
            news: list[tuple[str, object]] = [(entry.type, entry.body) for entry in own]
            self.letters.send(player.address, self.letter(t, name, _NEWS[own[-1].type], news), now)

    def _concerns(self, entry: TournamentEntry, t: Tournament, name: str) -> bool:
        """True if a player gets a letter about an entry; who has left hears so in the answer.

        Who takes no part any more, has blocked the organiser, or wants no mail, gets one about the end alone.
        """
        if entry.type == "ended":
            return True
        if entry.type == "paired" and name not in [t.entrants[line].player.name for line in entry.body["byes"]]:
            return False  # whoever has a match hears from that
        if not self._wants(t, name):
            return False
        if entry.type == "withdrawn":
            return bool(entry.body["why"] == "silent" and t.entrants[entry.body["player"]].player.name == name)
        if _nominates(entry) and entry.body["player"] == name:
            return True
        return name == t.organiser.name or t.entrant_of(name) is not None

    def _wants(self, t: Tournament, name: str) -> bool:
        """True if a player wants to hear of a tournament while it goes on."""
        player = self.players.by_name(name)
        stopped = player is None or self.people.opted_out(player.address)
        return not stopped and not self.people.blocks(name, t.organiser.name)

    def facts(self, t: Tournament, reader: str) -> Facts:
        """The facts of a tournament for a reader: the `t` of the templates."""
        level = self.players.level(reader, t.terms.match.get("keys", ""))
        return facts_of(t, reader) | {"address": self.address, "level": level}

    def letter(self, t: Tournament, name: str, subject: Phrase, news: list[tuple[str, object]]) -> OutgoingLetter:
        """A letter about a tournament, with its table, and its reader's games."""
        proof = None
        if t.phase == "ended" and name in {entrant.player.name for entrant in t.entrants.values()}:
            proof = self.archive.proof(t, _BESIDE)
        facts = {"t": self.facts(t, name), "news": news, "attached": proof is not None}
        out = OutgoingLetter(Phrase("[pbem {id}] {subject}", id=t.id, subject=subject), "")
        out.text = self.letters.template("letters/tournament.txt", **facts)
        if self.letters.shows(name):
            out.html = self.letters.template("letters/tournament.html", **facts)
        out.references = [self.letters.thread(t.id)]
        out.bulletin = self.archive.items(t, name)
        if proof is not None:
            out.attachments.append((file_name(t), "application/zip", proof))
        return out

    def proof(self, t: Tournament, name: str) -> tuple[list[Enclosed], list[OutgoingLetter]]:
        """The file of a tournament for one who takes part and asks: with the answer, or in a letter of its own."""
        content = self.archive.proof(t, self.letters.room_for(name))
        if content is not None and len(content) <= _BESIDE:
            return [(file_name(t), "application/zip", content)], []
        out = OutgoingLetter(Phrase("[pbem {id}] {subject}", id=t.id, subject=Phrase("the proof")), "")
        out.text = self.letters.template(
            "letters/tournament_proof.txt", id=t.id, file=file_name(t), fits=content is not None
        )
        out.references = [self.letters.thread(t.id)]
        if content is not None:
            out.attachments.append((file_name(t), "application/zip", content))
        return [], [out]

    def to_begin(self, player: str) -> int:
        """The most matches that may yet begin together for a player, in the tournaments that the player is in."""
        count = 0
        for number in self.archive.rows.of_player(player):
            t = self.archive.known(number)
            running = sum(bool(one.match) and player in one.players for one in t.awaited)
            count += max(0, t.terms.games_at_once - running)
        return count

    def of_player(self, player: str) -> list[str]:
        """The matches and tournaments of a player that are not over."""
        matches = self.matches.of_player(player, (*AGREEING, *RUNNING))
        return [f"m{number}" for number in matches] + [f"t{number}" for number in self.archive.rows.of_player(player)]

    # By the clock.

    def start_due(self, tasks: DueTasks, now: datetime) -> datetime | None:
        """Start tournaments and rounds that are due; returns when to call again."""
        rows = self.archive.rows
        for number in rows.due(to_db(now), PER_TICK):
            if not tasks.decided("tournament", partial(self.wake, number, now), {"tournament": number}):
                with tasks.database.transaction():
                    rows.look_at(number, to_db(now + TRY_AGAIN))
        return rows.next_due()

    def plan_tables(self, tasks: DueTasks, now: datetime) -> None:
        """Plan the tables of this month for digests: that of one tournament in each decision."""
        rows, month = self.archive.rows, now.date().isoformat()[:7]
        while (told := tasks.database.meta("tables told") or "") != month:
            last = int(told.split()[1]) if told.startswith(f"{month} ") else 0
            with tasks.decision():
                after = next((one for one in rows.running() if one > last), None)
                tasks.database.set_meta("tables told", month if after is None else f"{month} {after}")
                if after is None:
                    break
                t = self.archive.known(after)
                for name in [entrant.player.name for entrant in t.live if t.phase == "playing"]:
                    if self.letters.setting(name, "mail") == "digest" and self._wants(t, name):
                        rows.plan_letter(after, name, 0)

    def carry_out_planned(self, seats: Seats, tasks: DueTasks, now: datetime) -> datetime | None:
        """Carry out what is planned; returns when to call again."""
        done, failed, planned = 0, False, self.archive.rows.tasks()
        for task in planned:
            if done == PER_TICK:  # those that fail stay, and must not stand before all others
                break
            about = {"tournament": task.tournament}
            if tasks.decided("tournament", partial(self.carry_out, seats, task, now), about):
                done += 1
            else:
                failed = True
        if done == PER_TICK < len(planned):
            return now
        return now + TRY_AGAIN if failed else None


def _nominates(entry: TournamentEntry) -> bool:
    """True if a ruling lets somebody enter in another's place."""
    return entry.type == "ruled" and entry.body["what"] == "substitute"


def file_name(t: Tournament) -> str:
    """The name of a tournament's file."""
    return f"{t.id}.pbem-tournament.zip"
