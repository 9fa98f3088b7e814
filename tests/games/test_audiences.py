"""The readers of each report, written a second time from the rules pages and the record format.

The tables below say of fields whether they go to the owner of the report, an opponent, an eliminated player, an
observer and the public. Beside what the record format knows they name what a careless hand could add: the secrets.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import GAMES, rules
from pbem.games.audience import ANY, EVERYBODY, Audience, Shown, cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OWNER, NAMED, OPPONENT, ELIMINATED, OBSERVER, PUBLIC = Audience
COLUMNS = (OWNER, OPPONENT, ELIMINATED, OBSERVER, PUBLIC)

TABLES = {
    "spaceships": """
        strike          yes yes yes yes yes  seat kind cell result explosions destroyed.ship destroyed.cells
        strike          yes yes yes yes yes  flashcube.cell flashcube.ship flashcube.destroyed
        strike          no  no  no  no  no   destroyed.fired flashcube.fired launch weapon ship
        beam            yes yes yes yes yes  seat kind cell result explosions destroyed.ship destroyed.cells
        beam            yes yes yes yes yes  flashcube.cell flashcube.ship flashcube.destroyed
        beam            no  no  no  no  no   destroyed.fired flashcube.fired by burnt_out
        scan            yes yes yes yes yes  seat kind cell result
        scan            no  no  no  no  no   ship
        kamikaze death  yes yes yes yes yes  seat kind cell destroyed.ship destroyed.cells flashcube.cell
        kamikaze death  yes yes yes yes yes  flashcube.ship flashcube.destroyed
        kamikaze death  no  no  no  no  no   destroyed.fired flashcube.fired ship target
        entitled        no  no  no  no  no   kind strikes
        setup           no  no  no  no  no   kind ships
    """,
    "dueling-masters": """
        check           yes yes yes yes yes  seat kind piece from
        check           yes no  no  no  no   to
        check           no  no  no  no  no   path
        collision       yes yes yes yes yes  kind square pieces.1 pieces.2 destroyed.1 destroyed.2
        collision       no  no  no  no  no   pieces.0 destroyed.0
        departure       yes yes yes yes yes  seat kind piece square
        departure       no  no  no  no  no   to ram
        pass            yes yes yes yes yes  seat kind
        pass            no  no  no  no  no   pieces
        ram             no  no  no  no  no   seat kind piece square
        setup           no  no  no  no  no   kind pieces
    """,
    "shoot-em-up": """
        hit             yes yes yes yes yes  action kind ship where by shields destroyed
        hit             no  no  no  no  no   orders
        state           yes yes yes yes yes  action kind ships.*
        state           no  no  no  no  no   orders
        orders          no  no  no  no  no   kind ships
    """,
}
LISTS = {"flashcube", "explosions", "cells", "by"}
OWN_SHIPS = {1: "A", 2: "D", 3: "G", 4: "J"}


def rows(game: str) -> Iterator[tuple[str, str, frozenset[Audience]]]:
    """Kind, field and who may read it."""
    for line in TABLES[game].strip().splitlines():
        words = line.split()
        at = next(at for at, word in enumerate(words) if word in {"yes", "no"})
        kind, fields = " ".join(words[:at]), words[at + len(COLUMNS) :]
        readers = frozenset(column for column, word in zip(COLUMNS, words[at:], strict=False) if word == "yes")
        readers |= {NAMED} if OPPONENT in readers else set()  # a named seat is an opponent who may read more
        yield from ((kind, field, readers) for field in fields)


def flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, frozenset[Audience]]]:
    """Each field of a table of the games with its readers, the inner ones as `outer.inner`."""
    for name, allowed in fields.items():
        if isinstance(allowed, frozenset):
            yield f"{prefix}{name}", allowed
        else:
            yield from flat(allowed, f"{prefix}{name}.")


def full(game: str, kind: str, owner: int) -> dict[str, Any]:
    """A report of this kind with every field that the table names, the secret ones too."""
    report: dict[str, Any] = {}
    for found, field, _ in rows(game):
        if found != kind:
            continue
        outer, _, inner = field.partition(".")
        value: Any = {"kind": kind, "seat": owner, "ship": OWN_SHIPS[owner] if game == "shoot-em-up" else "DS"}.get(
            field
        )
        if inner:
            report.setdefault(outer, {})[inner if inner != ANY else "A"] = "said"
        else:
            report[field] = value or ["said"] if field in LISTS else value or "said"
    return {name: [value] if name == "flashcube" else value for name, value in report.items()}


def said(value: Mapping[str, Any]) -> Iterator[str]:
    """The fields of what was shown, the inner ones as `outer.inner`."""
    for name, inner in value.items():
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield from (f"{name}.{field}" for field in said(each))
            else:
                yield name


@pytest.mark.parametrize("game", GAMES)
def test_every_game_shows_what_the_table_says(game: str) -> None:
    judge = rules(game)
    shown = import_module(f"{GAMES[game]}.knowledge").SHOWN
    expected = {(kind, field): readers for kind, field, readers in rows(game)}
    found = {(kind, field): readers for kind, fields in shown.items() for field, readers in flat(fields)}
    assert found == {place: readers for place, readers in expected.items() if readers}
    for kind in {kind for kind, _ in expected}:
        for owner in (1, 2):
            report = full(game, kind, owner)
            for seat, reader in ((owner, OWNER), (3 - owner, OPPONENT), (None, PUBLIC)):
                owned = reader if "seat" in report or "ship" in report or seat is None else OPPONENT
                left = {field for (name, field), readers in expected.items() if name == kind and owned in readers}
                seen = judge.show(report, seat)
                assert {field.replace(".A", f".{ANY}") for field in said(seen or {})} == left, (kind, seat)
            assert judge.show(report, 9) is None


def test_a_report_of_which_nothing_is_for_a_reader_is_not_there() -> None:
    """No report of our games is of that kind; one of another game may be."""
    mine = frozenset({OWNER})
    shown: Shown = {
        "find": {"square": mine, "piece": {"name": mine}},
        "shot": {"cell": EVERYBODY, "by": {"ship": mine}},
    }
    find = {"kind": "find", "square": "A1", "piece": {"name": "X2"}}
    assert cut(find, shown, OWNER) == {"square": "A1", "piece": {"name": "X2"}}
    assert cut(find, shown, OPPONENT) is None
    shot = {"kind": "shot", "cell": "Rv1", "by": {"ship": "DS"}}
    assert cut(shot, shown, OWNER) == {"cell": "Rv1", "by": {"ship": "DS"}}
    assert cut(shot, shown, PUBLIC) == {"cell": "Rv1"}
    for hidden in ({"secret": 1}, [{"secret": 1}]):
        assert cut({"kind": "shot", "cell": hidden}, shown, PUBLIC) == {}, "the table names no field of it"
        assert cut({"kind": "find", "square": hidden, "piece": {}}, shown, OWNER) == {"piece": {}}
