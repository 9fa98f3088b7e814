"""10. The end of what was acknowledged: an opening, a receipt or a withdrawal that a player kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from verifier.conventions import moment, seconds, sha256
from verifier.file import read_file
from verifier.papers import read_opening, read_receipt
from verifier.transcript import read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verifier.transcript import Entry

WORST = ("dropped", "open", "later")
Paper = dict[str, str]


def end(bundle: bytes, kept: bytes) -> str:
    """The end of what this paper acknowledges, in a bundle that holds; `dropped` convicts."""
    papers = read_file(bundle)
    entries, said = read_transcript(papers["transcript.jsonl"]), read(kept)
    begun = [one.seq for one in entries if one.type == "sealed" and one.body["game"] == int(said["game"])]
    misses = [one for one in entries if one.type == "missed" and about(one, said)]
    misses = [one for one in misses if not begun or one.seq < begun[0]]
    misses = [one for one in misses if precedes(entries, said, one)]
    if said["*"] == "receipt" and "orders" in said and said["turn"] == "0":
        found = [in_turn(papers, entries, kept, miss.body["turn"], [miss]) for miss in misses]
        return min(found, key=lambda one: WORST.index(one) if one in WORST else 3, default="no turn was missed")
    turn = int(said.get("turn", "0"))
    return in_turn(papers, entries, kept, turn, [one for one in misses if one.body["turn"] == turn])


def read(paper: bytes) -> Paper:
    kind = paper.split(b" ", 2)[1].decode()
    if kind == "opening":
        return {**read_opening(paper), "*": kind}
    return {**read_receipt(paper, withdrawal=kind == "withdrawal"), "*": kind}


def about(entry: Entry, said: Paper) -> bool:
    return (entry.body["game"], entry.body["seat"]) == (int(said["game"]), int(said["seat"]))


def precedes(entries: Sequence[Entry], said: Paper, miss: Entry) -> bool:
    came, grace = moment(said["received"]), seconds(entries[0].body["terms"]["grace"])
    return came - moment(miss.body["deadline"]) < grace and came < moment(miss.time)


def later(one: Paper, said: Paper) -> bool:
    higher = int(one["rev"]) > int(said["rev"]) and one["mail"] != said["mail"]
    return higher and moment(said["received"]) - moment(one["received"]) <= timedelta(1)


@dataclass
class Case:
    """A paper in one of the turns that it is for, and what the bundle says of that."""

    kept: bytes
    said: Paper
    turn: int
    by_default: bool
    closing: Entry | None
    """The `commitments`, `sealed` or `turn`."""
    over: Entry | None
    """Where there is none, the `ended` or `closed`."""
    silent: Entry | None
    """The entry before that, if it says that this seat was silent in this turn."""
    at_once: bool
    gone: int | None
    stood: Paper | None
    named: bool
    """The trace names this paper."""
    aside: list[Paper]
    """What was set aside later, and counts."""

    @property
    def withdrawal(self) -> bool:
        return self.said["*"] == "withdrawal"

    def played(self) -> bool:
        if not self.closing or self.withdrawal:
            return False
        where = "commitments" if self.said["*"] == "opening" else "orders" if self.turn else "receipts"
        if self.closing.body.get(where, {}).get(self.said["seat"]) in variants(self.kept, self.said):
            return True
        return self.by_default and self.stood is not None and strip(self.stood) == strip(self.said)

    def refused(self) -> bool:
        return self.named and self.said["*"] == "receipt" and not (self.by_default and self.closing)

    def replaced(self) -> bool:
        if self.stood is None or self.withdrawal:
            return False
        own = "orders" not in self.stood
        if self.by_default and own:
            return not self.at_once
        return later(self.stood, self.said) and own != self.by_default

    def withdrawn(self) -> bool:
        return bool(self.aside) and not self.withdrawal

    def took_effect(self) -> bool:
        stood = self.stood
        return self.withdrawal and self.named and (not stood or "orders" in stood or later(stood, self.said))

    def never_came(self) -> bool:
        if not self.over or self.silent:
            return False
        body = self.over.body
        due = self.over.type == "closed" or self.turn <= body["turns"] + (body["reason"] != "rules")
        return not (self.withdrawal and due)

    def too_late(self) -> bool:
        return bool(self.silent and moment(self.said["received"]) > moment(self.silent.time))


ENDS: dict[str, Callable[[Case], object]] = {
    "left": lambda case: case.gone,
    "played": Case.played,
    "refused by the rules": Case.refused,
    "replaced": Case.replaced,
    "withdrawn": Case.withdrawn,
    "took effect": Case.took_effect,
    "never came": Case.never_came,
    "came too late": Case.too_late,
}


def in_turn(papers: dict[str, bytes], entries: Sequence[Entry], kept: bytes, turn: int, misses: list[Entry]) -> str:
    said, game = read(kept), int(read(kept)["game"])
    here = {(one.type, one.body.get("turn", 0)): one for one in reversed(entries) if one.body.get("game") == game}
    begun = here.get(("commitments", 0), here.get(("sealed", 0)))
    closing = here.get(("turn", turn)) if turn else begun
    if said["*"] == "withdrawal" and "orders" in said:
        closing = None
    over = None if closing else here.get(("ended", 0), entries[-1] if entries[-1].type == "closed" else None)
    by_default = turn != 0 and "orders" in said and said["turn"] == "0" and said["*"] == "receipt"
    opened = (here.get(("turn", turn - 1)) or begun) if turn and not by_default else None
    at_once = by_default and closing is not None and due_at_once(papers, entries, said, closing, misses[0])
    case = Case(
        kept,
        said,
        turn,
        by_default,
        closing,
        over,
        for_silence(entries, over, int(said["seat"]), turn) if over and said["*"] != "withdrawal" else None,
        at_once,
        left(entries, said, misses[0] if at_once else closing or over, begun),
        what_stood(papers, said, turn) if closing else None,
        sha256(kept) in {sha256(one) for path, one in papers.items() if set_aside(path)},
        [one for one in map(read, (one for path, one in papers.items() if set_aside(path))) if same(one, said)],
    )
    if by_default and closing:
        by = moment(misses[0].time)
        case.aside = [one for one in case.aside if one["*"] == "withdrawal" and moment(one["received"]) <= by]
    elif not by_default and not (opened and moment(said["received"]) <= moment(opened.time)):
        case.aside = [one for one in case.aside if one["*"] == "withdrawal"]

    known = ("revealed", 0) in here or ("sealed", 0) in here or over is not None
    for miss in misses if known and said["*"] != "withdrawal" and "orders" not in said and not case.named else ():
        waited = any(moment(one["received"]) <= moment(miss.time) for one in case.aside)
        if not waited and not (case.gone and case.gone < miss.seq):
            return "dropped"
    if case.gone or closing or over:
        unproved = "dropped" if known else "open"
        return next((name for name, proved in ENDS.items() if proved(case)), unproved)
    return "later"


def due_at_once(papers: dict[str, bytes], entries: Sequence[Entry], said: Paper, closing: Entry, miss: Entry) -> bool:
    """True if the turn waited for nobody but this seat when it was missed."""
    if any(one.type in {"paused", "restored"} for one in entries[miss.seq : closing.seq]):
        return False
    others = [{**said, "seat": seat} for seat in closing.body["orders"] if seat != said["seat"]]
    stood = [what_stood(papers, one, closing.body["turn"]) for one in others]
    settled = moment(miss.time) - seconds(entries[0].body["terms"]["settle"])
    return all(one and "orders" not in one and moment(one["received"]) <= settled for one in stood)


def same(one: Paper, said: Paper) -> bool:
    """True if this was set aside later, and for the same."""
    place = all(one.get(key) == said.get(key, "0") for key in ("game", "seat", "turn", "player"))
    return place and ("orders" in one) == ("orders" in said) and later(one, said)


def set_aside(path: str) -> bool:
    return path.startswith("withdrawals/") or (path.startswith("receipts/") and "-unused-" in path)


def variants(kept: bytes, said: Paper) -> set[str]:
    """The hashes of this paper, and of the same with the branch that was played."""
    if said["*"] == "opening" or "branch" in said:
        return {sha256(kept)}
    return {sha256(kept), *(sha256(kept + b"branch %d\n" % branch) for branch in range(1, 9))}


def strip(paper: Paper) -> Paper:
    return {key: value for key, value in paper.items() if key not in {"turn", "salt", "branch"}}


def what_stood(papers: dict[str, bytes], said: Paper, turn: int) -> Paper | None:
    where = f"game-{said['game']}-{f'turn-{turn}' if turn else 'setup'}-seat-{said['seat']}.txt"
    path = f"receipts/{where}"
    if said["*"] == "opening":
        path = f"openings/game-{said['game']}-seat-{said['seat']}.txt"
    return read(papers[path]) if path in papers else None


def left(entries: Sequence[Entry], said: Paper, until: Entry | None, begun: Entry | None) -> int | None:
    """The entry by which the player of this paper left the seat."""
    name = entries[0].body["players"].get(said["seat"], {}).get("name")
    found = None
    for one in entries[: until.seq - 1] if until else entries:
        if one.type not in {"substituted", "resigned"} or one.body["seat"] != int(said["seat"]):
            continue
        since = name == said["player"] and moment(one.time) >= moment(said["received"])
        if one.type == "resigned":
            if since and begun and one.seq > begun.seq:
                return one.seq
            continue
        found = one.seq
        if since:
            return found
        name = one.body["player"]["name"]
    return found if name != said["player"] else None


def for_silence(entries: Sequence[Entry], over: Entry, seat: int, turn: int) -> Entry | None:
    """The entry that ended it for the silence of a seat in a turn, if one did."""
    cause = entries[over.seq - 2]
    due = not turn or turn == over.body.get("turns", 0) + 1
    if cause.type == "forfeited":
        return cause if due and seat in cause.body["seats"] else None
    if cause.type != "claimed" or entries[0].body["terms"]["miss"] not in {"wait", "default"}:
        return None
    silent: set[int] = set()
    for one in entries[: cause.seq - 1]:
        if one.type == "missed":
            silent.add(one.body["seat"])
        elif one.type in {"commitments", "sealed", "turn", "revealed"}:
            silent.clear()
        elif one.type in {"step", "substituted"}:
            silent.discard(one.body["seat"])
        elif one.type == "extended":
            silent -= set(one.body["to"])
    against = set(cause.body["against"])
    return cause if due and seat in against and against <= silent else None
