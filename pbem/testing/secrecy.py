"""The checks of what a game shows: nothing that nobody decided to show, and nothing that a reader has not learned.

Pairs of worlds, which differ only in others' secrets, must look the same to a reader; and a seat's own view is enough
to judge its orders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pbem.games import Refused, part_of, parts
from pbem.games.audience import ANY
from pbem.games.draws import play_turn
from pbem.match.transcript import canonical
from pbem.testing.subject import Nonconforming, World, demand, play, readers, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pbem.games import Report, Rules, State
    from pbem.games.audience import Fields
    from pbem.testing.subject import Change, RandomPlayers, Subject

_WORLDS: Final = 8  # pairs of worlds that are compared
_VARIED: Final = 3  # of them in which some secret could be varied: with fewer, nothing was tried


def told(subject: Subject) -> None:
    """Denied by default: what nobody decided to show is shown to nobody, and the public learns the least.

    What somebody decided to show comes up in some game: a misspelt field would be shown to nobody.
    """
    judge = subject.judge
    reports = [report for game in subject.played for turn in game.reports for report in turn]
    never = list(_unused(part_of(subject.name, "SHOWN") or {}, [{report["kind"]: report} for report in reports]))
    said = "of no report in the random games, so it is misspelt, or needs one of the `openings`"
    demand(not never, f"{', '.join(never)} is {said}")
    for game in subject.played:
        seats, nobody = len(game.setups), max(judge.seats) + 1
        for reader in readers(seats):
            demand(
                not judge.show({"kind": "no such kind", "seat": 1}, reader), "a report of an unknown kind is shown"
            )
        for report in (report for reports in game.reports for report in reports):
            demand(judge.show(report, nobody) is None, f"seat {nobody}, which there is not, is shown {report}")
            public = judge.show(report, None) or {}
            for reader in readers(seats):
                known = judge.show(report, reader)
                if isinstance(report.get("to"), list) and reader != report.get("seat"):
                    gains, is_named = known != judge.show({**report, "to": []}, reader), reader in report["to"]
                    said = f"seat {reader}, which `to` does not name, is shown more for those whom it names: {report}"
                    demand(is_named or not gains, said)
                    said = f"seat {reader}, which `to` names, is shown no more: pass `to` to `audience`: {report}"
                    demand(gains or not is_named, said)
                for planted in ("planted", {"planted": "planted"}, [{"planted": "planted"}]):
                    more = judge.show({**report, "planted": planted}, reader)
                    demand("planted" not in str(more), f"a field that is not known is shown of {report['kind']}")
                    demand(more == known, f"a field that is not known changes what is shown of {report}")
                demand(_part(public, known or {}), f"the public is shown more than seat {reader} of {report}")


def _unused(fields: Fields, values: Sequence[Report], path: str = "SHOWN.") -> Iterator[str]:
    """The names in a table of readers that none of these values has."""
    for name, inner in fields.items():
        named = [value[name] for value in values if name in value] if name != ANY else [*values]
        if not named:
            yield f"{path}{name}"
        elif isinstance(inner, Mapping):
            several = [one for value in named for one in (value if isinstance(value, list) else [value])]
            yield from _unused(inner, several, f"{path}{name}.")


def _part(less: object, more: object) -> bool:
    """True if one value is a part of the other."""
    if isinstance(less, dict) and isinstance(more, dict):
        return all(name in more and _part(value, more[name]) for name, value in less.items())
    if isinstance(less, list) and isinstance(more, list):
        return len(less) == len(more) and all(map(_part, less, more))
    return less == more


def secret(subject: Subject) -> None:
    """Vary what a reader cannot have learned, and all that the reader sees stays the same."""
    players, varied = subject.players, 0
    if not players.secrets:
        return
    changes = [*players.changes, *whole(subject.judge, players)]
    for seed in range(_WORLDS):
        random = Random(f"{subject.name} {seed}")
        case = random.randrange(len(players.beginnings))
        reader = random.choice([*readers(players.beginnings[case].seats)])
        first = world(subject.judge, players, random, case, random.choice((3, 8, 24)))
        other = vary(random, first, reader, changes)
        varied += bool(other.changes)
        who = "the public" if reader is None else f"seat {reader}"
        pairs = zip(seen(first, reader, players.nearly), seen(other, reader, players.nearly), strict=True)
        for (what, one), (_, instead) in pairs:
            said = f"{what}: {who} sees {one}, and {instead} where only the others' secrets differ"
            setups = [text for text in zip(first.setups, other.setups, strict=True) if len(set(text)) > 1]
            orders = [turn for turn in zip(first.orders, other.orders, strict=True) if turn[0] != turn[1]]
            demand(one == instead, f"{said}: {f'setups {setups}, orders {orders}'[:500]}")
        if subject.judge.chance and not subject.judge.secret_chance:
            _hides_from_draws(first, other, reader, who)
    demand(
        varied >= _VARIED,
        f"secrets could be varied in {varied} of {_WORLDS} games: everything is shown; or PLAYERS needs `changes`, or"
        " `secrets=False`, if nothing is hidden",
    )


def _hides_from_draws(first: World, other: World, reader: int | None, who: str) -> None:
    """No draw that a reader is shown follows from orders that it is not: it could try which ones lead to the draw."""
    judge, states = first.judge, [state for state, _ in first.positions()]
    turns = zip(states, first.orders, other.orders, first.chance, strict=False)  # after the last turn nobody orders
    for number, (state, texts, instead, seed) in enumerate(turns, start=1):
        if texts == instead:
            continue
        orders = {seat: judge.order(state, seat, text) for seat, text in texts.items()}
        drawn, again = (
            list(shown(judge, play_turn(judge, state, orders, of)[1], reader)) for of in (seed, seed[::-1])
        )
        demand(
            drawn == again,
            f"turn {number}: {who} is shown what was drawn, but not all orders from which it follows, and can find"
            f" these by trying: say `secret_chance = True`, or show {texts}",
        )


def recalled(subject: Subject) -> None:
    """A seat's own side, made again from its view, judges that seat's orders as the position itself does."""
    judge, random = subject.judge, Random(f"recalled {subject.name}")
    for game in subject.played:
        seats = range(1, len(game.setups) + 1)
        known: Mapping[int, list[Any]] = {seat: [] for seat in seats}
        for number, state in enumerate(game.states):
            for seat, told_so_far in known.items():
                if number:
                    told_so_far.append(shown(judge, game.reports[number - 1], seat))
                view = json.loads(canonical(dict(parts.view(judge, state, seat, told_so_far))))
                demand(
                    (view.get("entitled") is not None) >= (state.due.get(seat, 0) is None),
                    f"turn {state.turn}: seat {seat} is asked, and `entitled` of its view is None",
                )
                again = _recalled(subject, view, seat)
                if again is None:  # the server alone judges this game's orders
                    continue
                early = (seat, state.turn + len(seats), "nonsense")
                said = f"turn {state.turn}, seat {seat}: orders ahead are judged otherwise than in the position"
                demand(parts.ahead(judge, state, *early) == parts.ahead(judge, again, *early), said)
                demand((seat in again.remaining) == (seat in state.remaining), f"seat {seat} is recalled as gone")
                if state.due.get(seat, 0) is not None:
                    continue
                nearly = [random.choice(subject.players.nearly)] if subject.players.nearly else []
                for text in (game.orders[number][seat], "nonsense", *nearly):
                    one, other = (list(answers(judge, found, seat, [text])) for found in (state, again))
                    demand(one == other, f"turn {state.turn}, seat {seat}: {text!r} is judged {other}, not {one}")
    for nothing in ({}, {"own": None}, {"turn": 1, "own": {}}):
        try:
            found = parts.recalled(judge, nothing, 1)
        except (KeyError, TypeError, ValueError, IndexError):
            continue
        except Exception as error:  # whatever a game raises
            raise Nonconforming(f"recalled({nothing}) raises {type(error).__name__}: {error}") from error
        demand(found is None, f"recalled({nothing}) raises nothing, and it is no view")


def _recalled(subject: Subject, view: Mapping[str, Any], seat: int) -> State | None:
    try:
        return parts.recalled(subject.judge, view, seat)
    except Exception as error:  # whatever a game raises
        raise Nonconforming(f"recalled raises {type(error).__name__} of seat {seat}'s own view: {error}") from error


def world(judge: Rules, players: RandomPlayers, random: Random, case: int, most: int) -> World:
    """A game between random players, in canonical text."""
    played = play(judge, players, random, players.beginnings[case], most)
    orders = [
        {seat: judge.order(state, seat, text).text for seat, text in texts.items()}
        for state, texts in zip(played.states, played.orders, strict=False)
    ]
    return World(judge, played.options, played.setups, orders, played.chance)


def vary(random: Random, first: World, reader: int | None, changes: Iterable[Change], tries: int = 100) -> World:
    """A world in which the reader is shown the same, with as many secrets changed as could be in so many tries.

    No change leads back to the game itself, with which the world is compared.
    """
    original, before, kinds = first, first.told(reader), list(changes)
    others = [seat for seat in range(1, len(first.setups) + 1) if seat != reader]
    for _ in range(tries if kinds else 0):
        change, changed = random.choice(kinds), first.copy()
        change(random, changed, random.choice(others))
        if changed not in (original, first) and changed.told(reader) == before:
            changed.changes[getattr(change, "__name__", "change")] += 1
            first = changed
    return first


def whole(judge: Rules, players: RandomPlayers) -> list[Change]:
    """The changes that any game has: another setup of a seat, other orders in one turn, or other hidden cards."""

    def another_setup(random: Random, world: World, seat: int) -> None:
        text = players.setup(random, world.options, seat)
        world.setups[seat - 1] = world.judge.setup(world.options, seat, text).text

    def other_orders(random: Random, world: World, seat: int) -> None:
        turns = [number for number, texts in enumerate(world.orders) if seat in texts]
        if not turns:
            return
        number, told = random.choice(turns), []
        for at, (state, reports) in enumerate(world.positions()):
            if at:
                told.append(shown(world.judge, reports, seat))
            if at == number:
                if state.due[seat] is not None:
                    return
                text = players.orders(random, dict(parts.view(world.judge, state, seat, told)))
                world.orders[at][seat] = world.judge.order(state, seat, text).text
                return

    def another_chance(random: Random, world: World, _seat: int) -> None:
        world.chance[random.randrange(len(world.chance))] = random.randbytes(32).hex()

    dealt = [another_chance] if judge.secret_chance else []  # otherwise everybody can compute it
    return [another_setup, other_orders, *dealt]


def seen(found: World, reader: int | None, texts: Iterable[str] = ()) -> Iterator[tuple[str, object]]:
    """All that a reader gets to see in the course of a game, each with what it is; `texts` are what it sends."""
    told = []
    for number, (state, reports) in enumerate(found.positions()):
        if number:
            told.append(shown(found.judge, reports, reader))
            yield f"show, turn {number}", list(told[-1])
        yield f"view, after turn {number}", parts.view(found.judge, state, reader, told)
        yield f"due, after turn {number}", {seat: forced is None for seat, forced in state.due.items()}
        yield f"pace, after turn {number}", parts.pace(found.judge, state)
        yield f"period, after turn {number}", parts.period(found.judge, state)
        sides = [[*parts.side(found.judge, state, seat)] for seat in range(1, len(found.setups) + 1)]
        yield f"side, after turn {number}", sides
        if reader is not None and reader in state.due:
            own = found.orders[number][reader] if number < len(found.orders) else ""
            yield f"answers to orders, turn {number + 1}", [*answers(found.judge, state, reader, [own, *texts])]


def answers(judge: Rules, state: State, reader: int, texts: Iterable[str]) -> Iterator[object]:
    """The words that a seat gets when these orders are sent or previewed."""
    for text in texts:
        try:
            orders = judge.order(state, reader, text)
        except Refused as refused:
            yield refused.faults
        else:
            yield orders.text, parts.unused(judge, state, reader, orders)
