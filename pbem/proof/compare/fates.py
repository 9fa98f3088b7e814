"""The fates of acknowledged submissions: in each turn that one was for, its end, and the entry that proves it.

A submission that comes to none of the ends in `ends` convicts the server, and so does a
miss that was counted although it was in. The bundle must have been verified: this module trusts its contents.
Implements protocol.md, "Transcript", and docs/bundle.md, "The end of what was acknowledged".
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from pbem.games.conditional_orders import MOST_BRANCHES
from pbem.match.documents import Opening, Receipt, Trace, Withdrawal, read_set_aside
from pbem.match.events import BEGIN, OPEN
from pbem.match.transcript import sha256_hex, utc
from pbem.proof.compare.ends import AGAIN, ENDS, Case, EndProof, Sent, is_by_default, is_later
from pbem.proof.compare.index import first_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle


class Fate(msgspec.Struct, frozen=True):
    """The fate of a submission: `agrees` if the bundle accounts for it, `dropped` if it does not."""

    standing: Literal["agrees", "later", "open", "dropped"]
    what: str
    found: str = ""
    seq: int | None = None


class _Misses:
    """The times that seats missed: an index, because letters may bring any number of receipts.

    In a game that is open from its beginning on, only those before it: later steps are neither setups nor orders.
    """

    def __init__(self, bundle: Bundle, places: Mapping[tuple[str, int, int | None], Entry]) -> None:
        self._grace = timedelta(seconds=bundle.entries[0].body["terms"]["grace"])
        self._by_seat: dict[tuple[int, int], dict[int, list[Entry]]] = {}
        """The misses by game and seat, then by turn."""
        self._times: dict[int, tuple[datetime, datetime]] = {}
        """The deadline and the time of entry of each miss, by its number."""
        for entry in (one for one in bundle.entries if one.type == "missed"):
            begun = places.get(("begun", entry.body["game"], None))
            if begun is None or begun.type not in OPEN or entry.seq < begun.seq:
                turns = self._by_seat.setdefault((entry.body["game"], entry.body["seat"]), {})
                turns.setdefault(entry.body["turn"], []).append(entry)
                self._times[entry.seq] = utc(entry.body["deadline"]), utc(entry.time)

    def of(self, paper: Sent) -> Mapping[int, Sequence[Entry]]:
        """The misses of a paper's seat in its game, by turn."""
        return self._by_seat.get((paper.game, paper.seat), {})

    def entered(self, miss: Entry) -> datetime:
        """The time at which a miss was entered."""
        return self._times[miss.seq][1]

    def is_in_time(self, received: datetime, miss: Entry) -> bool:
        """True if a submission had come before the missed time was over, however late the miss was entered.

        If a zone's clocks were changed, grace may be over a little sooner; and a submission that came after the
        miss was never in time.
        """
        deadline, entered = self._times[miss.seq]
        return received - deadline < self._grace and received < entered


class Fates:
    """The fates in a bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        entries = bundle.entries
        aside = [path for path in bundle.papers if path.startswith("withdrawals/") or "-unused-" in path]
        papers = [bundle.papers[path] for path in aside if path.startswith(("withdrawals/", "receipts/"))]
        self._hashes = {sha256_hex(paper) for paper in papers}
        self._aside: dict[tuple[int, int, int, bool], list[Receipt | Withdrawal]] = {}
        """The papers set aside, by game, seat, turn, and whether they are of default orders."""
        for one in (read_set_aside(paper.decode()) for paper in papers):
            self._aside.setdefault(_place(one), []).append(one)
        self._revealed = {entry.body["game"] for entry in entries if entry.type in OPEN}
        self._places = first_entries(entries)
        self._settle = timedelta(seconds=entries[0].body["terms"]["settle"])
        self._misses = _Misses(bundle, self._places)
        self._changes = [entry for entry in entries if entry.type in {"substituted", "left"}]
        """The entries by which players left their seats, to somebody else or to the others."""

    def of(self, paper: Sent, sha256: str) -> Fate:
        """The fate of the submission that this paper, of this hash, acknowledges: the worst of those in its turns."""
        what = _what(paper)
        fates = [self._in_turn(case, what) for case in self._cases(paper, sha256)]
        return min(fates, key=lambda fate: _WORST.index(fate.standing), default=Fate("agrees", what))

    def _cases(self, paper: Sent, sha256: str) -> Iterator[Case]:
        """The turns that a submission was for; of default orders, each that was missed since."""
        if isinstance(paper, Opening) or paper.turn or isinstance(paper, Withdrawal) or not paper.by_default:
            yield self._case(paper, sha256, 0 if isinstance(paper, Opening) else paper.turn)
            return
        received = utc(paper.received)
        for misses in self._misses.of(paper).values():
            for miss in misses:
                if self._misses.is_in_time(received, miss):
                    yield self._case(paper, sha256, miss.body["turn"], miss)

    def _case(self, paper: Sent, sha256: str, turn: int, miss: Entry | None = None) -> Case:
        game = paper.game
        closing = None if isinstance(paper, Withdrawal) and paper.by_default else self._closing(game, turn)
        # The entry that ended the game, or the match in which it never began.
        over = self.bundle.entries[-1]
        never = over if over.type == "closed" else None
        ended = None if closing else self._places.get(("ended", game, None)) or never
        last = closing or ended
        at_once = bool(miss and closing and closing.type == "turn" and self._waited_for_nobody(closing, miss))
        until = miss if at_once else last
        departure = self._departure(paper, until.seq if until else len(self.bundle.entries) + 1)
        return Case(
            paper=paper,
            turn=turn,
            closing=closing,
            ended=ended,
            silenced=self._silenced(paper, turn, ended),
            stood=self._stood(paper, turn) if closing else None,
            departure=departure,
            at_once=at_once,
            is_named=closing is not None and _is_named(paper, sha256, closing),
            is_aside=sha256 in (self._traced(game, turn) if miss and closing else self._hashes),
            aside=self._replacing(paper, turn, closing, miss),
        )

    def _in_turn(self, case: Case, what: str) -> Fate:
        """The fate in one turn: the first end that is proved, unless a miss was counted against the submission."""
        # What was set aside is known once the game is revealed, or has ended without a reveal.
        paper, is_known = case.paper, case.paper.game in self._revealed or case.ended is not None
        if is_known and not self._had_seat(paper):
            seq = len(self.bundle.entries)
            return Fate("dropped", what, f"seat {paper.seat} was not {paper.player}'s when this came", seq)
        if is_known and (wrong := self._wrong_miss(case)):
            reason = f"entry {wrong.seq} counts the time of seat {paper.seat} as missed, although this was in by then"
            return Fate("dropped", what, reason, wrong.seq)
        proofs = (proof for end in ENDS if (proof := end(case)))
        if proof := next(proofs, None):
            return Fate("agrees", what, proof.words, proof.entry.seq)
        if case.last is None:
            return Fate("later", what, "the bundle does not have that yet; ask for a newer one")
        if not is_known:
            return Fate("open", what, "the reveal will show what became of it", case.last.seq)
        return Fate("dropped", what, _dropped(case, case.last), (case.silenced or case.last).seq)

    def _had_seat(self, paper: Sent) -> bool:
        """True if a paper's player had its seat when it came, as far as the server's clock tells."""
        name = self.bundle.entries[0].body["players"].get(str(paper.seat), {}).get("name")
        for change in self._changes:
            if change.type == "substituted" and change.body["seat"] == paper.seat:
                if name == paper.player and utc(paper.received) - utc(change.time) <= AGAIN:
                    return True
                name = change.body["player"]["name"]
        return bool(name == paper.player)

    def _wrong_miss(self, case: Case) -> Entry | None:
        """The miss that was counted although this answer to it had come in time, and stood; None if there is none."""
        if isinstance(case.paper, Withdrawal) or is_by_default(case.paper) or case.is_aside:
            return None
        received = utc(case.paper.received)
        for miss in self._misses.of(case.paper).get(case.turn, ()):
            was_gone = case.departure is not None and case.departure.entry.seq < miss.seq
            if was_gone or not self._misses.is_in_time(received, miss):
                continue
            if not any(utc(one.received) <= utc(miss.time) for one in case.aside):
                return miss
        return None

    def _waited_for_nobody(self, closing: Entry, miss: Entry) -> bool:
        """True if the orders of all others were in, and settled, when a seat was said to have missed a turn.

        It may have waited for another one, which left since.
        """
        for entry in self.bundle.entries[miss.seq : closing.seq]:
            left = entry.type == "left" and entry.body["seat"] != miss.body["seat"]
            if left or entry.type in {"paused", "restored"}:
                return False
        seats = [int(seat) for seat in closing.body["orders"] if int(seat) != miss.body["seat"]]
        stood = [self._stood_at(closing.body["game"], closing.body["turn"], seat) for seat in seats]
        settled = self._misses.entered(miss) - self._settle
        return all(one and not one.by_default and utc(one.received) <= settled for one in stood)

    # Lookups in the bundle.

    def _traced(self, game: int, turn: int) -> Collection[str]:
        """The hashes of what the trace of a turn names: of default orders, those that the rules refused in it."""
        try:
            return Trace.read(self.bundle.papers[f"traces/game-{game}-turn-{turn}.txt"].decode()).named.values()
        except (KeyError, ValueError):  # before the reveal
            return ()

    def _closing(self, game: int, turn: int) -> Entry | None:
        """The entry that closed the setups of a game, or a turn."""
        if turn:
            return self._places.get(("turn", game, turn))
        return self._places.get(("begun", game, None))

    def _silenced(self, paper: Sent, turn: int, ended: Entry | None) -> Entry | None:
        """The entry that took the seat out because it was silent in this turn, or ended it for all."""
        seat = paper.seat
        for change in self._changes:
            if change.body["seat"] == seat and _for_silence_in(change, paper.game, turn):
                return change
        if ended is None:
            return None
        before = reversed(self.bundle.entries[: ended.seq - 1])
        cause = next(entry for entry in before if entry.type != "left")
        lost = cause.body.get("against") or cause.body.get("seats") or ()
        due = not turn or turn == ended.body.get("turns", 0) + 1
        return cause if due and seat in lost and self._for_silence(cause) else None

    def _replacing(
        self, paper: Sent, turn: int, closing: Entry | None, miss: Entry | None
    ) -> list[Receipt | Withdrawal]:
        """What the trace of a turn names that replaced a paper.

        What could not be played replaced what came before its turn was asked for; of default orders, what came before
        the turn was missed.
        """
        aside = [one for one in self._aside.get(_place(paper), ()) if is_later(one, paper)]
        aside = [one for one in aside if one.player == paper.player]
        withdrawn = [one for one in aside if isinstance(one, Withdrawal)]
        if miss:
            return [one for one in aside if utc(one.received) <= utc(miss.time)] if closing else aside
        opened = self._closing(paper.game, turn - 1) if turn else None
        came_in_advance = opened and utc(paper.received) <= utc(opened.time)
        return aside if came_in_advance else [*withdrawn]

    def _stood(self, paper: Sent, turn: int) -> Opening | Receipt | None:
        """The paper of what was played, if it is here and well-formed: before the reveal, only its hash was compared.

        What a withdrawal of default orders withdrew is in no one turn.
        """
        try:
            if isinstance(paper, Opening):
                return Opening.read(self.bundle.papers[f"openings/game-{paper.game}-seat-{paper.seat}.txt"].decode())
        except (KeyError, ValueError):
            return None
        return self._stood_at(paper.game, turn, paper.seat)

    def _stood_at(self, game: int, turn: int, seat: int) -> Receipt | None:
        where = f"game-{game}-{f'turn-{turn}' if turn else 'setup'}-seat-{seat}.txt"
        try:
            return Receipt.read(self.bundle.papers[f"receipts/{where}"].decode())
        except (KeyError, ValueError):
            return None

    def _for_silence(self, cause: Entry) -> bool:
        """True if the cause ended the game because seats were silent, and not because no letter reached them."""
        if cause.type != "claimed":
            return cause.type == "forfeited"
        claimable = self.bundle.entries[0].body["terms"]["miss"] in {"wait", "default"}
        return claimable and set(cause.body["against"]) <= self._silent_at(cause)

    def _silent_at(self, cause: Entry) -> set[int]:
        """The seats that had missed their time, and not answered since, when this entry was made."""
        silent: set[int] = set()
        for entry in self.bundle.entries[: cause.seq - 1]:
            if entry.type == "missed":
                silent.add(entry.body["seat"])
            elif entry.type in {*BEGIN, *OPEN, "turn"}:
                silent.clear()
            elif entry.type in {"step", "substituted"}:
                silent.discard(entry.body["seat"])
            elif entry.type == "extended":
                silent.difference_update(entry.body["to"])
        return silent

    def _departure(self, paper: Sent, until: int) -> EndProof | None:
        """The entry, before this one, by which the paper's player left the seat to somebody else, or to the others.

        Who leaves a game leaves that one alone.
        """
        game = self._closing(paper.game, 0)
        name = self.bundle.entries[0].body["players"].get(str(paper.seat), {}).get("name")
        left = None
        for change in self._changes:
            if change.seq >= until or change.body["seat"] != paper.seat:
                continue
            since = utc(change.time) >= utc(paper.received)
            if change.type == "left":
                # What was in for this very turn was no silence.
                was_due = isinstance(paper, Receipt) and _for_silence_in(change, paper.game, paper.turn)
                if since and not was_due and game and change.seq > game.seq and name == paper.player:
                    return EndProof(change, f"left with the seat in entry {change.seq}")
                continue
            left = EndProof(change, f"given up with the seat in entry {change.seq}")
            if name == paper.player and since:
                return left
            name = change.body["player"]["name"]
        return left if name != paper.player else None


def _for_silence_in(left: Entry, game: int, turn: int) -> bool:
    """True if a seat left the game because it was silent in this turn."""
    return left.type == "left" and (left.body["cause"], left.body["game"], left.body["turn"]) == (
        "silent",
        game,
        turn,
    )


_WORST = ("dropped", "open", "later", "agrees")


def _place(paper: Sent) -> tuple[int, int, int, bool]:
    """The game, seat and turn that a submission was for, and whether it is for any turn that is missed."""
    if isinstance(paper, Opening):
        return paper.game, paper.seat, 0, False
    return paper.game, paper.seat, paper.turn, paper.by_default


def _is_named(paper: Sent, sha256: str, closing: Entry) -> bool:
    """True if the entry that closed the turn names this paper, or the same with the branch that counted."""
    parts = ("commitments",) if isinstance(paper, Opening) else ("receipts", "orders")
    named = next((closing.body[part].get(str(paper.seat)) for part in parts if part in closing.body), None)
    if named == sha256:
        return True
    if not isinstance(paper, Receipt) or paper.branch or paper.by_default or not paper.turn:
        return False
    branches = (replace(paper, branch=str(branch)) for branch in range(1, MOST_BRANCHES + 1))
    return any(named == sha256_hex(one.text().encode()) for one in branches)


def _what(paper: Sent) -> str:
    """The description of a paper: its kind, game, turn or seat, and revision."""
    if isinstance(paper, Opening):
        return f"opening of game {paper.game}, seat {paper.seat}"
    kind = "withdrawal" if isinstance(paper, Withdrawal) else "receipt"
    if paper.by_default and not paper.turn:
        return f"{kind} of default orders of game {paper.game}, rev {paper.rev}"
    turn = f", turn {paper.turn}" if paper.turn else ", setup"
    return f"{kind} of game {paper.game}{turn}, rev {paper.rev}"


def _dropped(case: Case, last: Entry) -> str:
    """The reason why a submission that came to no end convicts."""
    if isinstance(case.paper, Withdrawal):
        if case.is_aside and case.stood:
            return f"entry {last.seq} was made with rev {case.stood.rev}, which it withdrew"
        return f"the withdrawal left no trace up to entry {last.seq}"
    if case.for_any_miss and case.silenced:
        return f"were in, and entry {case.silenced.seq} ends it for the silence of this seat"
    if case.for_any_miss:
        return f"turn {case.turn} was missed, and entry {last.seq} did not play them"
    if case.silenced:
        neither = "was in, and neither replaced nor withdrawn"
        return f"{neither}: entry {case.silenced.seq} ends it for the silence of this seat"
    played = f"rev {case.stood.rev}" if case.stood else "nothing"
    return f"was neither played, replaced nor withdrawn: entry {last.seq} was made with {played}"
