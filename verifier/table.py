"""12.6 and 12.7: pairing, and points and the table, of what a tournament keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verifier.terms import ROUND_ROBINS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verifier.conventions import Body
    from verifier.tournament_state import Pairing, Tournament


LISTS = 1000
Pairs = list[tuple[str, str]]


def groups(names: Sequence[str], most: int) -> list[list[str]]:
    """Lines by ordinal, dealt to as few groups as the terms allow."""
    count = -(-len(names) // most)
    return [list(names[at::count]) for at in range(count)]


def berger(lines: Sequence[str], *, double: bool) -> list[Pairs]:
    """The rounds of a group; whoever would meet the number that nobody has is free."""
    even = len(lines) + len(lines) % 2
    rounds = []
    for number in range(even - 1):
        shift = number * even // 2

        def at(place: int, shift: int = shift) -> int:
            return (place + shift - 1) % (even - 1) + 1

        pairs = [(even, at(1)) if number % 2 else (at(1), even)]
        pairs += [(at(k), at(even + 1 - k)) for k in range(2, even // 2 + 1)]
        rounds.append([(lines[a - 1], lines[b - 1]) for a, b in pairs if max(a, b) <= len(lines)])
    return rounds + ([[(b, a) for a, b in pairs] for pairs in rounds] if double else [])


def swiss(ranked: Sequence[str], met: Callable[[str, str], bool]) -> tuple[Pairs, int]:
    """The pairs of a round, the higher one first; and how many were allowed to meet again."""
    for allowed in range(len(ranked) // 2 + 1):
        failed: set[tuple[tuple[str, ...], int]] = set()
        pairs = paired(tuple(ranked), met, allowed, failed)
        if pairs is not None:
            return pairs, allowed
    raise AssertionError("all may meet again")


def paired(
    rest: tuple[str, ...], met: Callable[[str, str], bool], allowed: int, failed: set[tuple[tuple[str, ...], int]]
) -> Pairs | None:
    if not rest:
        return []
    if (rest, allowed) in failed:
        return None
    one = rest[0]
    for other in rest[1:]:
        again = int(met(one, other))
        if again <= allowed and len(failed) < LISTS:
            more = paired(tuple(name for name in rest[1:] if name != other), met, allowed - again, failed)
            if more is not None:
                return [(one, other), *more]
    failed.add((rest, allowed))
    return None


def shares(result: Body) -> tuple[int, int]:
    """The scores of the seats by a result."""
    if result["winner"]:
        return (2, 0) if result["winner"] == 1 else (0, 2)
    return (1, 1) if drawn(result) else (0, 0)


def drawn(result: Body) -> bool:
    return bool(result["turns"]) and result["reason"] in {"rules", "agreement", "agreed length"}


def played(pairing: Pairing) -> bool:
    result = pairing.result
    return result is not None and bool(result["turns"]) and (bool(result["winner"]) or drawn(result))


def points_of(state: Tournament, name: str, *, awaited: int = 0) -> int:
    """The points of a line; a pairing that awaits its result may count, too."""
    total = 2 * state.byes.count(name)
    for pairing in state.pairings:
        if name not in pairing.names or state.void(pairing):
            continue
        if pairing.result:
            total += shares(pairing.result)[pairing.names.index(name)]
        elif state.forfeited(pairing):
            total += 0 if state.lines[name].out else 2
        else:
            total += awaited
    return total


def table(state: Tournament) -> list[list[Body]]:
    form = state.document["format"]
    names = state.by_ordinal()
    if form == "ladder":
        return [[row(state, name, names) for name in state.ladder]]
    made = []
    for group in groups(names, state.document["group"]) if form in ROUND_ROBINS else [names]:
        rows = [row(state, name, group) for name in group]
        rows.sort(
            key=lambda one: (
                *(-one[key] for key in ("points", "direct", "sonneborn", "buchholz", "wins")),
                one["missed"],
                one["ordinal"],
            )
        )
        made.append(rows)
    return made


def row(state: Tournament, name: str, group: list[str]) -> dict[str, Any]:
    mine = [one for one in state.pairings if name in one.names and not state.void(one) and one.result]
    points = points_of(state, name)
    games = []
    for pairing in filter(played, mine):
        seat = pairing.names.index(name)
        assert pairing.result
        games.append((pairing.names[1 - seat], shares(pairing.result)[seat]))
    theirs = [points_of(state, other) for other, _ in games]
    return {
        "entrant": name,
        "points": points,
        "direct": direct(state, [one for one in group if points_of(state, one) == points], name),
        "sonneborn": sum(their * own for their, (_, own) in zip(theirs, games, strict=True)),
        "buchholz": sum(theirs) - min(theirs, default=0) if state.document["format"] == "swiss" else 0,
        "wins": sum(own == 2 for _, own in games),
        "missed": sum(one.result["missed"][one.names.index(name)] for one in mine if one.result),
        "ordinal": state.lines[name].ordinal,
    }


def direct(state: Tournament, level: list[str], name: str) -> int:
    """The points against those of the same points, if all of these have met."""
    among = [one for one in state.pairings if {*one.names} <= {*level} and played(one) and not state.void(one)]
    if len({frozenset(one.names) for one in among}) < len(level) * (len(level) - 1) // 2:
        return 0
    return sum(shares(one.result)[one.names.index(name)] for one in among if name in one.names and one.result)
