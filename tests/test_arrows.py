"""The arrows between rooms: which room may import which; and within a room, that its modules point one way, too."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pbem
from pbem.games import GAMES
from pbem.i18n import template_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ROOT = Path(pbem.__file__).parent

LEAVES = {
    "bound_process",
    "config",
    "connections",
    "durable",
    "examples",
    "failpoints",
    "grown",
    "i18n",
    "json_object",
    "linked_names",
    "mail_providers",
    "networks",
    "phrase",
    "requests",
    "store_place",
    "structured_header",
    "verifier_key",
}
"""Modules that every room may use, and that use no room."""

ARROWS: dict[str, set[str]] = {
    "games": set(),
    "identity": set(),
    "boards": {"games"},
    "match": {"games"},
    "store": set(),
    "tlog": {"identity"},
    "mail": {"games"},
    "mailbox": set(),
    "tournament": {"games", "match"},
    "proof": {"games", "identity", "mail", "match", "tlog", "tournament"},
    "letters": {"boards", "games", "mail", "match"},
    "pages": {"boards", "games", "letters", "mail", "match", "proof", "tournament"},
    "player": {
        *("boards", "games", "identity", "letters", "mail", "mailbox", "match", "pages", "proof", "tlog"),
        "tournament",
    },
    "smtp": {"mail", "store"},
    "desk": {
        *("boards", "games", "identity", "letters", "mail", "match", "pages", "proof", "store", "tlog", "tournament"),
    },
    "testing": {"desk", "games", "identity", "letters", "mail", "match", "player", "store"},
    "server": {
        *("desk", "games", "identity", "letters", "mail", "mailbox", "match", "proof", "smtp", "store", "tournament"),
    },
    "cli": {
        *("boards", "desk", "games", "identity", "letters", "mail", "match", "pages", "player", "proof", "server"),
        *("store", "testing", "tlog", "tournament"),
    },
}
"""The imports of each room at run time, beside the leaves; names for types alone do not count."""

LANGUAGE = {"pbem.games", "pbem.i18n", "pbem.linked_names", "pbem.mail.quotes", "pbem.phrase", "pbem.requests"}
"""The modules below the language of commands: no letters, no sockets."""

WAY = ("letter_handling", "authenticate", "dispatch", "commands")
"""The rooms of the desk in the order of a letter's way, each with those behind it alone."""


def modules(room: str, *, for_types: bool = False) -> Iterator[tuple[str, set[str]]]:
    """The modules of a room, and what of pbem each imports when it runs, or names for its types as well."""
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("pbem", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        if f"{name}.".startswith(f"pbem.{room}."):
            yield name, set(imported(ast.parse(path.read_text("utf-8")), for_types=for_types))


def imported(node: ast.AST, *, for_types: bool = False) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if (
            not for_types
            and isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        ):
            continue
        if isinstance(child, ast.ImportFrom) and (child.module or "").partition(".")[0] == "pbem":
            for alias in child.names:
                inner = ROOT.joinpath(*(child.module or "").split(".")[1:], alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield f"{child.module}.{alias.name}" if is_module else str(child.module)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name.startswith("pbem."))
        else:
            yield from imported(child, for_types=for_types)


def of_desk() -> dict[str, set[str]]:
    """The modules of the desk, and those of the desk that each imports; its commands are one."""

    def short(name: str) -> str:
        return name.removeprefix("pbem.desk.").partition(".")[0]

    found: dict[str, set[str]] = {}
    for name, others in modules("desk"):
        if name != "pbem.desk":
            inner = {short(other) for other in others if other.startswith("pbem.desk.")}
            found.setdefault(short(name), set()).update(inner - {short(name)})
    return found


def demand_no_circle(arrows: Mapping[str, set[str]]) -> None:
    """None comes back to where it began; what they point at elsewhere does not count."""
    seen: set[str] = set()
    while left := arrows.keys() - seen:
        free = {one for one in left if arrows[one] & arrows.keys() <= seen}
        assert free, f"a circle among {sorted(left)}"
        seen |= free


def test_every_room_has_its_arrows() -> None:
    found = {path.name.removesuffix(".py") for path in ROOT.iterdir() if not path.name.startswith("__")}
    assert found - {"py.typed", "templates"} == ARROWS.keys() | LEAVES


def test_the_guide_says_what_is_in_every_room() -> None:
    table = ROOT.with_name("CONTRIBUTING.md").read_text("utf-8").partition("| room |")[2]
    rooms = set(re.findall(r"`pbem/(\w+)/`", table.partition("\n\n")[0]))
    assert rooms == ARROWS.keys() | {"config"}


@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_a_leaf_imports_leaves_alone(leaf: str) -> None:
    for name, others in modules(leaf):
        assert {other.split(".")[1] for other in others if "." in other} <= LEAVES, name


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_those_that_it_may(room: str) -> None:
    for name, others in modules(room):
        rooms = {other.split(".")[1] for other in others if "." in other}
        assert rooms - {room} - LEAVES <= ARROWS[room], name


def test_the_arrows_point_one_way() -> None:
    demand_no_circle(ARROWS)


@pytest.mark.parametrize("room", ARROWS)
def test_the_modules_of_a_room_point_one_way(room: str) -> None:
    demand_no_circle({name: others - {name} for name, others in modules(room)})


@pytest.mark.parametrize("room", ["desk", "match.events", "proof", "mail"])
def test_types_point_one_way_too(room: str) -> None:
    """The types that a module names lie below it, too."""
    demand_no_circle({name: others - {name} for name, others in modules(room, for_types=True)})


def test_the_language_of_commands_knows_no_letters() -> None:
    order = ["cursor", "arguments", "sections", "table", "reader"]
    for name, others in modules("mail.commands"):
        own = {other.rpartition(".")[2] for other in others if other.startswith("pbem.mail.commands.")}
        module = name.rpartition(".")[2]
        if module in order:
            assert own <= set(order[: order.index(module)]), name
        assert {other for other in others if not other.startswith("pbem.mail.commands")} <= LANGUAGE, name


def test_a_program_that_plays_knows_the_rules_and_no_more() -> None:
    """Its orders then come from its letters, and from nowhere else."""
    found = dict(modules("player.opponent"))
    assert len(found) > 4
    for name, others in found.items():
        assert {other for other in others if not other.startswith(("pbem.games", "pbem.player.opponent"))} == set(), (
            name
        )


def test_no_module_of_the_desk_reaches_back() -> None:
    arrows = of_desk()
    demand_no_circle(arrows)
    for at, room in enumerate(WAY):
        assert not arrows[room] & set(WAY[:at]), room


def test_nobody_is_handed_the_whole_desk_but_its_loop() -> None:
    found = dict(modules("desk", for_types=True))
    assert {name for name in found if "pbem.desk.wiring" in found[name]} == {"pbem.desk.letter_handling"}
    assert not any("pbem.desk.letter_handling" in uses for uses in found.values())


def test_no_two_classes_have_one_name_but_for_a_games_own() -> None:
    """The name of a class says whose it is; each game has its own `State`, `Orders` and so on."""
    found: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] == "games" and len(place.parts) > 2:
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(place))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_two_modules_have_one_name_but_for_a_games_own() -> None:
    """A module is found by its name alone; each game has its own `view`, `words` and so on."""
    places = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")) if not path.name.startswith("__")]
    named = Counter(place.name for place in places if place.parts[0] != "games" or len(place.parts) == 2)
    assert [name for name, count in named.items() if count > 1] == []


def test_nobody_else_knows_a_game_by_name() -> None:
    """Outside `games/`, a game's own templates, and how programs play it, no line names a game."""
    package = Path(pbem.__file__).parent
    own = {"games", "opponent"}
    places = [path for path in package.rglob("*.py") if own.isdisjoint(path.parts[len(package.parts) :])]
    places += [path for room in ("letters", "answers") for path in (template_folder() / room).iterdir()]
    assert len(places) > 50
    names = "|".join([*GAMES, *(name.replace("-", "[ _]") for name in GAMES)])
    for path in places:
        assert not re.search(names, path.read_text("utf-8"), re.IGNORECASE), path
