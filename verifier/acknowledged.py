"""10. The end of what was acknowledged: an opening, a receipt or a withdrawal that a player kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from verifier.conventions import moment, seconds, sha256
from verifier.papers import read_opening, read_receipt
from verifier.transcript import read_file, read_transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verifier.transcript import Entry

WORST = ("dropped", "open", "later")
Paper = dict[str, str]


def end(bundle: bytes, kept: bytes) -> str:
    """The end of what this paper acknowledges, in a bundle that holds; `dropped` convicts."""
    papers = read_file(bundle)
    entries, said = read_transcript(papers["transcript.jsonl"]), read(kept)
    game, came = int(said["game"]), said["received"]
    begun = [one.seq for one in entries if one.type == "sealed" and one.body["game"] == game]
    misses = [one for one in entries if one.type == "missed" and one.body["game"] == game]
    misses = [one for one in misses if one.body["seat"] == int(said["seat"]) and (not begun or one.seq < begun[0])]
    # What came in the time of grace, and before the miss was entered, should have prevented it.
    grace = seconds(entries[0].body["terms"]["grace"])
    misses = [one for one in misses if moment(came) - moment(one.body["deadline"]) < grace and came < one.time]
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


def later(one: Paper, said: Paper) -> bool:
    higher = int(one["rev"]) > int(said["rev"]) and one["mail"] != said["mail"]
    return higher and moment(said["received"]) - moment(one["received"]) <= timedelta(1)


def in_turn(papers: dict[str, bytes], entries: Sequence[Entry], kept: bytes, turn: int, misses: list[Entry]) -> str:
    """The end of a paper in one of the turns that it is for: the first of section 10 that is proved."""
    said = read(kept)
    kind, seat, for_default = said["*"], said["seat"], "orders" in said
    withdrawal = kind == "withdrawal"
    by_default = kind == "receipt" and for_default and turn != 0 and said["turn"] == "0"
    of_game = [one for one in reversed(entries) if one.body.get("game") == int(said["game"])]
    here = {(one.type, one.body.get("turn", 0)): one for one in of_game}
    begun = here.get(("commitments", 0), here.get(("sealed", 0)))
    closing = here.get(("turn", turn)) if turn else begun
    closing = None if withdrawal and for_default else closing
    over = None if closing else here.get(("ended", 0), entries[-1] if entries[-1].type == "closed" else None)
    silent = for_silence(entries, over, int(seat), turn) if over and not withdrawal else None
    silent = next((one for one in entries if left_for_silence(one, {**said, "turn": str(turn)})), silent)
    at_once = by_default and closing is not None and due_at_once(papers, entries, said, closing, misses[0])
    gone = left(entries, said, misses[0] if at_once else closing or over, begun)
    stood = what_stood(papers, said, turn) if closing else None
    # Default orders may be refused in one turn and played in another.
    traced = papers.get(f"traces/game-{said['game']}-turn-{turn}.txt", b"") if by_default and closing else None
    aside_in = [paper for path, paper in papers.items() if set_aside(path)]
    named = kept in aside_in if traced is None else sha256(kept).encode() in traced

    aside = [one for path, paper in papers.items() if set_aside(path) and same(one := read(paper), said)]
    if by_default and closing:
        aside = [one for one in aside if moment(one["received"]) <= moment(misses[0].time)]
    elif not by_default:
        opened = (here.get(("turn", turn - 1)) or begun) if turn else None
        if not (opened and moment(said["received"]) <= moment(opened.time)):
            aside = [one for one in aside if one["*"] == "withdrawal"]

    known = ("revealed", 0) in here or ("sealed", 0) in here or over is not None
    if known and not had_seat(entries, said):
        return "dropped"
    for miss in misses if known and not (withdrawal or for_default or named) else ():
        waited = any(moment(one["received"]) <= moment(miss.time) for one in aside)
        if not waited and not (gone and gone < miss.seq):
            return "dropped"
    if not (gone or closing or over):
        return "later"

    where = "commitments" if kind == "opening" else "orders" if turn else "receipts"
    variants = {sha256(kept)}  # and with the branch that was played
    if said["*"] != "opening" and "branch" not in said:
        variants |= {sha256(kept + b"branch %d\n" % branch) for branch in range(1, 9)}
    played = bool(closing and closing.body.get(where, {}).get(seat) in variants)
    played |= by_default and stood is not None and strip(stood) == strip(said)
    own = stood is not None and "orders" not in stood
    replaced = not at_once if by_default and own else stood and later(stood, said) and own != by_default
    took_effect = named and (not stood or not own or later(stood, said))
    due = over and (over.type == "closed" or turn <= over.body["turns"] + (over.body["reason"] != "rules"))
    ends: dict[str, object] = {
        "left": gone,
        "played": not withdrawal and played,
        "refused by the rules": named and kind == "receipt",
        "replaced": not withdrawal and replaced,
        "withdrawn": not withdrawal and aside,
        "took effect": withdrawal and took_effect,
        "never came": over and not silent and not (withdrawal and due),
        "came too late": silent and moment(said["received"]) > moment(silent.time),
    }
    return next((name for name, proved in ends.items() if proved), "dropped" if known else "open")


def due_at_once(papers: dict[str, bytes], entries: Sequence[Entry], said: Paper, closing: Entry, miss: Entry) -> bool:
    """True if the turn waited for nobody but this seat when it was missed."""
    between = entries[miss.seq : closing.seq]
    if any(one.type in {"paused", "restored"} for one in between):
        return False
    if any(one.type == "left" and str(one.body["seat"]) != said["seat"] for one in between):
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
        if one.type not in {"substituted", "left"} or one.body["seat"] != int(said["seat"]):
            continue
        since = name == said["player"] and moment(one.time) >= moment(said["received"])
        if one.type == "left":
            was_due = said["*"] == "receipt" and "orders" not in said and left_for_silence(one, said)
            if since and begun and one.seq > begun.seq and not was_due:
                return one.seq
            continue
        found = one.seq
        if since:
            return found
        name = one.body["player"]["name"]
    return found if name != said["player"] else None


def had_seat(entries: Sequence[Entry], said: Paper) -> bool:
    """True if the player of this paper had the seat when it came, or a day before."""
    name = entries[0].body["players"].get(said["seat"], {}).get("name")
    for one in entries:
        if one.type == "substituted" and one.body["seat"] == int(said["seat"]):
            if name == said["player"] and moment(said["received"]) - moment(one.time) <= timedelta(1):
                return True
            name = one.body["player"]["name"]
    return bool(name == said["player"])


def left_for_silence(one: Entry, said: Paper) -> bool:
    """True if the seat of this paper left the game, by this entry, because it was silent in the turn of the paper."""
    place = {"game": int(said["game"]), "turn": int(said.get("turn", "0")), "seat": int(said["seat"])}
    wanted = place | {"cause": "silent"}
    return one.type == "left" and wanted.items() <= one.body.items()


def for_silence(entries: Sequence[Entry], over: Entry, seat: int, turn: int) -> Entry | None:
    """The entry that ended it for the silence of a seat in a turn, if one did."""
    cause = next(one for one in reversed(entries[: over.seq - 1]) if one.type != "left")
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
