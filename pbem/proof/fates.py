"""The fate of acknowledged submissions: played, replaced, withdrawn, illegal in their turn, or dropped.

A bundle leaves no order without a trace. So a receipt whose orders were neither played, nor replaced,
nor withdrawn convicts the server, and so does a miss that was counted although there was an answer. The bundle must
have been verified: this module trusts its contents. Implements protocol.md, "Transcript", and docs/bundle.md,
"Letters that players kept".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec

from pbem.games.conditional_orders import MOST_BRANCHES
from pbem.match.changed import replace
from pbem.match.documents import Opening, Receipt, Withdrawal, read_set_aside
from pbem.match.transcript import sha256_hex, utc
from pbem.proof.compare.index import first_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle

AGAIN = timedelta(days=1)
"""The most by which the later of two letters may seem to have come earlier: a server whose clock stands, and whose
machine boots, counts from the same time again, and their own dates may be as wrong."""

Sent = Opening | Receipt | Withdrawal
Kind = TypeVar("Kind")


class Fate(msgspec.Struct, frozen=True):
    """The fate of a submission: `agrees` if the bundle accounts for it, `dropped` if it does not."""

    standing: Literal["agrees", "later", "open", "dropped"]
    what: str
    found: str = ""
    seq: int | None = None


class _Miss(NamedTuple):
    """A miss and the turn that followed, looked up once for all receipts to compare."""

    entry: Entry
    deadline: datetime
    time: datetime
    resolved: Entry | None
    """The entry of the turn."""
    resigned: bool
    """True if the seat left the game to the others in between."""
    stood: Receipt | None
    """The receipt of the orders that were played; unknown before the game is revealed."""


class Fates:
    """The fates in a bundle."""

    def __init__(self, found: Bundle) -> None:
        self.found = found
        paths = [path for path in found.papers if path.startswith("withdrawals/") or "-unused-" in path]
        papers = [found.papers[path] for path in paths if path.startswith(("withdrawals/", "receipts/"))]
        self._aside: dict[tuple[int, int, int, bool], list[Receipt | Withdrawal]] = {}
        """The papers set aside in revealed games, by game, seat, turn, and whether they are of default orders."""
        for one in (read_set_aside(paper.decode()) for paper in papers):
            self._aside.setdefault((one.game, one.seat, one.turn, one.by_default), []).append(one)
        self._hashes = {sha256_hex(paper) for paper in papers}
        entries = found.entries
        # In a sealed game, receipts hold no secrets, so they are open from the start.
        self._revealed = {entry.body["game"] for entry in entries if entry.type in {"revealed", "sealed"}}
        self._places = first_entries(entries)
        self._grace = timedelta(seconds=int(entries[0].body["terms"]["grace"]))
        self._resigned: dict[int, list[int]] = {}
        """The entries by which a seat resigned, by seat."""
        for entry in entries:
            if entry.type == "resigned":
                self._resigned.setdefault(entry.body["seat"], []).append(entry.seq)
        begun = {entry.body["game"]: entry.seq for entry in reversed(entries) if entry.type == "sealed"}
        self._missed: dict[tuple[int, int], dict[int, list[_Miss]]] = {}
        """The misses by game and seat, then by turn: an index, because letters may bring any number of receipts.

        In a sealed game, only misses before the commitments: later steps are neither setups nor orders.
        """
        for entry in entries:
            if entry.type == "missed" and entry.seq < begun.get(entry.body["game"], len(entries) + 1):
                turns = self._missed.setdefault((entry.body["game"], entry.body["seat"]), {})
                turns.setdefault(entry.body["turn"], []).append(self._miss(entry))
        self._changes = [entry for entry in entries if entry.type == "substituted"]
        """The changes of players."""

    def of(self, paper: Sent, sha256: str) -> Fate:
        """The fate of the submission that this paper, of this hash, acknowledges."""
        what = _what(paper)
        given_up = self._given_up(paper)
        missed = None if isinstance(paper, Withdrawal) else self._missed_in_time(paper)
        if isinstance(paper, Receipt) and paper.by_default and not paper.turn and sha256 not in self._hashes:
            return self._of_default_orders(paper, what, given_up)
        # The submission may have been withdrawn before the miss, and its trace lost with the seat.
        if given_up and missed and missed.seq < given_up:
            reason = _missed_although_in(missed)
            return Fate("open", what, f"{reason}; what was withdrawn and then given up leaves no trace", missed.seq)
        if given_up:
            return Fate("agrees", what, f"given up with the seat in entry {given_up}", given_up)
        if isinstance(paper, Withdrawal):
            return self._of_withdrawal(paper, what, sha256)
        if sha256 in self._hashes or _without_branch(paper) in self._hashes:
            return Fate("agrees", what, "not legal when its turn came")
        if missed:
            return Fate("dropped", what, _missed_although_in(missed), missed.seq)
        return self._of_answer(paper, what, sha256)

    def _of_answer(self, paper: Opening | Receipt, what: str, sha256: str) -> Fate:
        """The fate of a setup, or of the orders of a turn."""
        entry = self._resolved(paper)
        if entry is None:
            return self._never_due(paper, what)
        names = "commitments" if isinstance(paper, Opening) else "receipts" if entry.type == "sealed" else "orders"
        named = entry.body[names].get(str(paper.seat))
        if named == sha256 or named in _with_branch(paper):
            return Fate("agrees", what, "", entry.seq)
        stood = self._stood(paper)
        if stood is not None and _is_later(stood, paper) and not _is_by_default(stood):
            return Fate("agrees", what, f"replaced by rev {stood.rev}", entry.seq)
        if paper.game not in self._revealed:
            return Fate("open", what, "others stood in the end; the reveal will show which, and when", entry.seq)
        if later := self._set_aside(paper):
            return Fate("agrees", what, _done(later), entry.seq)
        played = f"rev {stood.rev}" if stood else "nothing"
        reason = f"was neither played, replaced nor withdrawn: entry {entry.seq} was made with {played}"
        return Fate("dropped", what, reason, entry.seq)

    def _never_due(self, paper: Opening | Receipt, what: str) -> Fate:
        """The fate of a submission for a turn or game that never came to its end."""
        ended = self._end(paper)
        if ended is None:
            return Fate("later", what, "the bundle does not have that yet; ask for a newer one")
        cause = self.found.entries[ended.seq - 2]
        lost = cause.body.get("against") or cause.body.get("seats") or ()
        due = isinstance(paper, Opening) or paper.turn == ended.body.get("turns", 0) + 1
        if not self._for_silence(cause) or paper.seat not in lost or not due:
            return Fate("agrees", what, f"it ended before with entry {ended.seq}", ended.seq)
        if later := self._set_aside(paper):
            return Fate("agrees", what, _done(later), ended.seq)
        if utc(paper.received) > utc(cause.time):
            return Fate("agrees", what, f"came after entry {cause.seq}", cause.seq)
        reason = f"was in, and neither replaced nor withdrawn: entry {cause.seq} ends it for the silence of this seat"
        return Fate("dropped", what, reason, cause.seq)

    def _of_default_orders(self, paper: Receipt, what: str, given_up: int | None) -> Fate:
        """The fate of default orders: each turn that was missed after they came must account for them."""
        received, withdrawn = utc(paper.received), self._withdrawn(paper)
        for miss in chain.from_iterable(self._missed.get((paper.game, paper.seat), {}).values()):
            missed, entry, stood = miss.entry, miss.resolved, miss.stood
            # They ended with the seat's player; later misses need no account.
            if (given_up and (entry is None or entry.seq > given_up)) or miss.resigned:
                break
            # They came too late for this miss, or were withdrawn before it.
            if not self._in_time(received, miss) or (withdrawn and withdrawn <= miss.time):
                continue
            if paper.game not in self._revealed:
                return Fate("open", what, "a turn was missed; the reveal will show what was played", missed.seq)
            # The turn was played: with these default orders, a later revision, or orders of its own.
            if entry is not None:
                if stood is None or (stood.by_default and stood.rev < paper.rev):
                    reason = f"turn {missed.body['turn']} was missed, and entry {entry.seq} did not play them"
                    return Fate("dropped", what, reason, entry.seq)
                continue
            # The turn was never played: a claim for silence must not win over default orders that were in.
            ended = self._end(paper)
            cause = self.found.entries[ended.seq - 2] if ended else None
            if ended is None or cause is None or cause.type != "claimed" or paper.seat not in cause.body["against"]:
                continue
            if self._for_silence(cause) and not withdrawn:
                reason = f"were in, and entry {cause.seq} claims the game although they may have been legal"
                return Fate("dropped", what, reason, cause.seq)
        return Fate("agrees", what, f"given up with the seat in entry {given_up}" if given_up else "", given_up)

    def _of_withdrawal(self, paper: Withdrawal, what: str, sha256: str) -> Fate:
        """The fate of a withdrawal: it leaves a trace where the submission was due, or none if that never was."""
        entry = self._end(paper) if paper.by_default else self._resolved(paper) or self._end(paper)
        if sha256 in self._hashes:
            stood = self._stood(paper)
            if entry is None or stood is None or _is_by_default(stood) or _is_later(stood, paper):
                return Fate("agrees", what, "withdrawn")
            reason = f"entry {entry.seq} was made with rev {stood.rev}, which it withdrew"
            return Fate("dropped", what, reason, entry.seq)
        if entry is None:
            return Fate("later", what, "the bundle does not have that yet; ask for a newer one")
        if entry.type in {"commitments", "turn"} and paper.game not in self._revealed:
            return Fate("open", what, "the reveal will show it", entry.seq)
        if entry.type == "ended" and paper.turn > entry.body["turns"] + (entry.body["reason"] != "rules"):
            return Fate("agrees", what, "that turn never came", entry.seq)
        return Fate("dropped", what, f"the withdrawal left no trace up to entry {entry.seq}", entry.seq)

    # Lookups in the bundle.

    def _missed_in_time(self, paper: Opening | Receipt) -> Entry | None:
        """The miss that was counted although this answer to it had come in time; None if there is none."""
        if isinstance(paper, Receipt) and paper.by_default:
            return None
        turn = paper.turn if isinstance(paper, Receipt) else 0
        misses = self._missed.get((paper.game, paper.seat), {}).get(turn, ())
        if not misses:
            return None
        received, withdrawn = utc(paper.received), self._withdrawn(paper)
        for miss in misses:
            if self._in_time(received, miss) and not (withdrawn and withdrawn <= miss.time):
                return miss.entry
        return None

    def _in_time(self, received: datetime, miss: _Miss) -> bool:
        """True if a submission had come before the missed time was over, however late the miss was entered.

        If a zone's clocks were changed, grace may be over a little sooner; and a submission that came after the
        miss was never in time.
        """
        return received - miss.deadline < self._grace and received < miss.time

    def _miss(self, entry: Entry) -> _Miss:
        game, seat, turn = entry.body["game"], entry.body["seat"], entry.body["turn"]
        resolved = self._turn(game, turn)
        resigned = resolved and any(entry.seq < seq < resolved.seq for seq in self._resigned.get(seat, ()))
        stood = self._read(Receipt.read, f"receipts/game-{game}-turn-{turn}-seat-{seat}.txt") if resolved else None
        return _Miss(entry, utc(entry.body["deadline"]), utc(entry.time), resolved, bool(resigned), stood)

    def _withdrawn(self, paper: Opening | Receipt) -> datetime | None:
        """The time at which a submission was first set aside; the earliest possible time if nobody knows it yet."""
        if paper.game not in self._revealed and self._end(paper) is None:
            return datetime.min.replace(tzinfo=UTC)
        return min((utc(one.received) for one in self._set_aside(paper)), default=None)

    def _set_aside(self, paper: Opening | Receipt) -> list[Receipt | Withdrawal]:
        """The later papers, of a higher revision, that were set aside for the same turn: withdrawals, illegal orders.

        Later by their revisions: the times at which they came may seem the other way round, see `AGAIN`.
        """
        turn = paper.turn if isinstance(paper, Receipt) else 0
        by_default = isinstance(paper, Receipt) and paper.by_default
        return [
            one for one in self._aside.get((paper.game, paper.seat, turn, by_default), ()) if _is_later(one, paper)
        ]

    def _resolved(self, paper: Sent) -> Entry | None:
        turn = 0 if isinstance(paper, Opening) else paper.turn
        if turn:
            return self._turn(paper.game, turn)
        return self._first("commitments", paper.game) or self._first("sealed", paper.game)

    def _turn(self, game: int, turn: int) -> Entry | None:
        return self._places.get(("turn", game, turn))

    def _first(self, kind: str, game: int) -> Entry | None:
        return self._places.get((kind, game, None))

    def _end(self, paper: Sent) -> Entry | None:
        """The entry that ended the game, or the match in which it never began."""
        last = self.found.entries[-1]
        return self._first("ended", paper.game) or (last if last.type == "closed" else None)

    def _stood(self, paper: Sent) -> Opening | Receipt | None:
        if isinstance(paper, Opening):
            return self._read(Opening.read, f"openings/game-{paper.game}-seat-{paper.seat}.txt")
        place = f"turn-{paper.turn}" if paper.turn else "setup"
        return self._read(Receipt.read, f"receipts/game-{paper.game}-{place}-seat-{paper.seat}.txt")

    def _read(self, reader: Callable[[str], Kind], path: str) -> Kind | None:
        """The paper, if it is here and well-formed: before the reveal, only its hash was compared."""
        try:
            return reader(self.found.papers[path].decode())
        except (KeyError, ValueError):
            return None

    def _for_silence(self, cause: Entry) -> bool:
        """True if the cause ended the game because seats were silent, and not because no letter reached them."""
        if cause.type != "claimed":
            return cause.type == "forfeited"
        claimable = self.found.entries[0].body["terms"]["miss"] in {"wait", "default"}
        return claimable and set(cause.body["against"]) <= self._silent_at(cause)

    def _silent_at(self, cause: Entry) -> set[int]:
        """The seats that had missed their time, and not answered since, when this entry was made."""
        silent: set[int] = set()
        for entry in self.found.entries[: cause.seq - 1]:
            if entry.type == "missed":
                silent.add(entry.body["seat"])
            elif entry.type in {"commitments", "sealed", "turn", "revealed"}:
                silent.clear()
            elif entry.type in {"step", "substituted"}:
                silent.discard(entry.body["seat"])
            elif entry.type == "extended":
                silent.difference_update(entry.body["to"])
        return silent

    def _given_up(self, paper: Sent) -> int | None:
        """The entry by which the paper's player gave up the seat, and with it the submission; None if none did.

        Default orders can be given up until the game ends.
        """
        waits = not isinstance(paper, Opening) and paper.by_default and not paper.turn
        entry = (None if waits else self._resolved(paper)) or self._end(paper)
        until = entry.seq if entry else len(self.found.entries) + 1
        name = self.found.entries[0].body["players"].get(str(paper.seat), {}).get("name")
        left = None
        for change in self._changes:
            if change.seq < until and change.body["seat"] == paper.seat:
                if name == paper.player and utc(change.time) >= utc(paper.received):
                    return change.seq
                name, left = change.body["player"]["name"], change.seq
        return left if name != paper.player else None


def _is_later(one: Sent, other: Sent) -> bool:
    """True if one has a higher revision, and came later, as far as the server's clock tells.

    Revisions without a form are the server's: it could make that of an earlier letter the higher one.
    """
    return one.rev > other.rev and utc(other.received) - utc(one.received) <= AGAIN


def _with_branch(paper: Opening | Receipt) -> set[str]:
    """The hashes that a receipt of orders in advance has once the branch of their conditions that counts is known."""
    if isinstance(paper, Opening) or paper.branch:
        return set()
    return {sha256_hex(replace(paper, branch=str(branch)).text().encode()) for branch in range(1, MOST_BRANCHES + 1)}


def _without_branch(paper: Opening | Receipt) -> str:
    """The hash that a receipt has once nothing of it is played."""
    return "" if isinstance(paper, Opening) else sha256_hex(replace(paper, branch="").text().encode())


def _is_by_default(one: Sent) -> bool:
    return isinstance(one, Receipt) and one.by_default


def _what(paper: Sent) -> str:
    """The description of a paper: its kind, game, turn or seat, and revision."""
    if isinstance(paper, Opening):
        return f"opening of game {paper.game}, seat {paper.seat}"
    kind = "withdrawal" if isinstance(paper, Withdrawal) else "receipt"
    if paper.by_default and not paper.turn:
        return f"{kind} of default orders of game {paper.game}, rev {paper.rev}"
    turn = f", turn {paper.turn}" if paper.turn else ", setup"
    return f"{kind} of game {paper.game}{turn}, rev {paper.rev}"


def _missed_although_in(missed: Entry) -> str:
    seat = missed.body["seat"]
    return f"entry {missed.seq} counts the time of seat {seat} as missed, although this was in by then"


def _done(later: list[Receipt | Withdrawal]) -> str:
    last = max(later, key=lambda one: one.rev)
    done = "withdrawn by" if isinstance(last, Withdrawal) else "replaced by orders that were not legal, in"
    return f"{done} rev {last.rev}"
