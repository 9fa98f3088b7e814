"""The common part of all composers, without a browser: drafts, loaded letters, signatures, shapes, ways."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from page_scripts.javascript import Failed, Scripts
from pages.test_page_rules import mangled
from playing.random_players import PLAYERS

from pbem.games import GAMES, Refused, parts, rules
from pbem.i18n import catalogue, say, template_folder
from pbem.pages import fragment, ruled

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND = {
    "pbem": "position 1",
    "server": "play.example",
    "match": "m1",
    "game": 1,
    "turn": 3,
    "seat": 1,
    "player": "ann",
}
STORAGE = """
    class Storage {
        constructor() { this.kept = new Map(); }
        get length() { return this.kept.size; }
        key(at) { return [...this.kept.keys()][at]; }
        getItem(name) { return this.kept.has(name) ? this.kept.get(name) : null; }
        setItem(name, value) { this.kept.set(name, value); }
    }
    const storage = new Storage();
"""


def drafted(steps: str, found: dict[str, Any] | None = None) -> Any:
    return Scripts("say.js", "draft.js").evaluate(f"(found) => {{ {STORAGE} {steps} }}", {**FOUND, **(found or {})})


def test_what_is_written_is_undone_and_done_again() -> None:
    steps = """
        let draft = ["Rv1", "Rv1 Rv2", "Rv2"].reduce(DRAFT.write, DRAFT.begin(found));
        const said = [];
        for (const step of ["undo", "undo", "redo", "undo", "undo", "undo"]) {
            draft = DRAFT[step](draft);
            said.push(draft.text);
        }
        return [...said, DRAFT.redo(DRAFT.write(draft, "Gx3")).text];
    """
    assert drafted(steps) == ["Rv1 Rv2", "Rv1", "Rv1 Rv2", "Rv1", "", "", "Gx3"]


def test_a_revision_rises_when_something_else_is_sent() -> None:
    steps = """
        let draft = DRAFT.write(DRAFT.begin(found), "Rv1");
        const said = [DRAFT.revision(draft)];
        draft = DRAFT.opened(draft, DRAFT.revision(draft));
        said.push(DRAFT.revision(draft), DRAFT.stands(draft));
        const other = DRAFT.write(draft, "Rv2");
        said.push(DRAFT.revision({ ...draft, final: true }), DRAFT.revision(other), DRAFT.stands(other));
        return [...said, DRAFT.revision(DRAFT.undo(other))];
    """
    assert drafted(steps) == [1, 1, True, 2, 2, False, 1]
    assert drafted(steps, {"rev": 4}) == [4, 4, True, 5, 5, False, 4]


def test_a_draft_is_kept_for_its_turn_alone() -> None:
    steps = """
        const draft = DRAFT.opened(DRAFT.write(DRAFT.begin(found), "Rv1"), 1);
        DRAFT.keep(storage, draft, 1);
        const again = DRAFT.resume(storage, { ...found, rev: 2 });
        const next = DRAFT.resume(storage, { ...found, turn: 4 });
        const other = DRAFT.resume(storage, { ...found, match: "m2" });
        const said = [again.text, again.found.rev, DRAFT.revision(again), next.text, other.text];
        DRAFT.keep(storage, DRAFT.write(next, "Gx3"), 2);
        const old = DRAFT.keep(storage, draft, 3), later = DRAFT.later(storage, found);
        DRAFT.keep(storage, DRAFT.begin({ ...found, match: "m2" }), 4);
        storage.setItem("pbem match of nobody", "{");
        const kept = DRAFT.kept(storage).map((one) => `${one.found.match} ${one.found.turn} ${one.text}`);
        return [...said, old, later.turn, kept];
    """
    assert drafted(steps) == ["Rv1", 2, 1, "", "", False, 4, ["m2 3 ", "m1 4 Gx3"]]


POSITION = {**FOUND, "rules": "spaceships", "view": {"entitled": {"scans": 1}}, "names": ["ann", "Jörg"]}
LINK = f"https://play.example/spaceships.html#{fragment(POSITION)}"


QUOTED = json.dumps(POSITION, ensure_ascii=False).replace("ö", "=C3=B6").replace(", ", ",=\r\n ")


def letter(encoding: str, body: str) -> str:
    head = 'Content-Type: application/json; name="m1-game-1-position.json"'
    return f"From: x\r\n\r\n--b\r\n{head}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{body}\r\n--b--\r\n"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(POSITION),
        f"Turn 3.\n\nClick your orders together: {LINK}\n\nYour form\n",
        "\n".join(f"> {part}" for part in ("See", LINK[:60], LINK[60:130], LINK[130:], "", "end")),
        letter("base64", base64.encodebytes(json.dumps(POSITION).encode()).decode()),
        letter("7bit", json.dumps(POSITION)),
        letter("quoted-printable", QUOTED),
        f"Content-Transfer-Encoding: quoted-printable\n\nClick: {LINK[:50]}=\n{LINK[50:120]}=\n{LINK[120:]}\n",
    ],
)  # fmt: skip
def test_a_report_is_read_as_it_is_brought(text: str) -> None:
    assert Scripts("say.js", "report.js").evaluate("(text) => REPORT.read(text)", text) == POSITION


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Turn 3.", "no position.json or setup.json"),
        (LINK[:-30], "no position.json or setup.json"),
        (json.dumps(POSITION)[:-5], "cut off"),
    ],
)
def test_what_is_no_report_is_told_in_words(text: str, words: str) -> None:
    with pytest.raises(Failed, match=words):
        Scripts("say.js", "report.js").evaluate("(text) => REPORT.read(text)", text)


def test_forms_are_found_in_a_letter() -> None:
    confirm = "confirm ann\nserver play.example\nchallenge tYw4\nend\n"
    accept = f"accept m4 {'3f' * 32}\n"
    text = f"Welcome, ann. Confirm it:\n\n{confirm}\nSign it.\n> {accept}\nregister NAME\n"
    assert Scripts("report.js").evaluate("(text) => REPORT.forms(text)", text) == [confirm, accept]


CHANCE = "let seed = 7; const chance = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };"


def test_fleets_laid_out_by_chance_are_legal() -> None:
    judge, scripts = rules("spaceships"), Scripts("say.js", *ruled("spaceships"), "composer/spaceships/shapes.js")
    source = f"""([options, seat]) => {{ {CHANCE}
        return Array.from({{ length: 5 }}, () => SHAPES.scattered(SHAPES.fleet(options, seat, chance), chance)); }}"""
    laid = set()
    for raw, seats in [({}, 2), *PLAYERS["spaceships"].options]:
        options = judge.options(raw, seats)
        for ships in scripts.evaluate(source, [dict(options.changed), 1]):
            several = [ship["code"] for ship in ships]
            names = [
                f"{code}{several[: at + 1].count(code)}" if several.count(code) > 1 else code
                for at, code in enumerate(several)
            ]
            text = "\n".join(" ".join([name, *ship["cells"]]) for name, ship in zip(names, ships, strict=True))
            laid.add(judge.setup(options, 1, text).text)
    assert len(laid) > 10


def test_any_setup_of_dueling_masters_is_legal() -> None:
    judge = rules("dueling-masters")
    scripts = Scripts("say.js", *ruled("dueling-masters"), "board.js", "composer/dueling-masters.js")
    for raw in ({}, {"homes": 3}):
        options = judge.options(raw, 2)
        for seat in (1, 2):
            text = scripts.evaluate(
                f"([options, seat]) => {{ {CHANCE} return GAME.random({{ options, seat }}, chance); }}",
                [dict(options.changed), seat],
            )
            assert judge.setup(options, seat, text).text
    passed = scripts.evaluate("(moves) => moves.map(([from, to]) => GAME.transit(from, to))",
                              [["C7", "G7"], ["A1", "D4"], ["B3", "B1"], ["C1", "E2"], ["A1", "A2"]])  # fmt: skip
    assert passed == [["D7", "E7", "F7"], ["B2", "C3"], ["B2"], [], []]


def test_a_ship_goes_where_its_path_says() -> None:
    """Alone on a board, it is after each action where the page shows it."""
    judge, random = rules("shoot-em-up"), Random(5)
    scripts = Scripts("say.js", *ruled("shoot-em-up"), "board.js", "composer/shoot-em-up.js")
    options = judge.options({}, 2)
    setups = [judge.setup(options, 1, "A b1 N\nB d1 N\nC h1 W"), judge.setup(options, 2, "D b9 S\nE e9 S\nF h9 E")]
    state: Any = judge.begin(options, setups)
    board = {"columns": 9, "rows": 9}
    for _ in range(6):
        asked = {seat: "\n".join(f"{ship}: {''.join(random.choices('LRMS', k=3))}" for ship in ships)
                 for seat, ships in ((1, "ABC"), (2, "DEF"))}  # fmt: skip
        orders = {seat: judge.order(state, seat, text) for seat, text in asked.items()}
        view: Any = parts.view(judge, state, 1, [])
        state, reports = judge.turn(state, orders)
        told = [report["ships"] for report in reports if report["kind"] == "state"]
        for line in "\n".join(asked.values()).split("\n"):
            ship = next(one for one in view["ships"] if one["ship"] == line[0])
            path = scripts.evaluate(
                "([ship, given, board]) => GAME.path(ship, given, board)", [ship, line[3:], board]
            )
            went = [f"{step['square']} {step['facing']}" for step in path]
            if all(line[0] in ships for ships in told) and not any(report["kind"] == "hit" for report in reports):
                assert went == [" ".join(ships[line[0]].split()[:2]) for ships in told]


def faults(judge: Callable[[], Any]) -> list[str]:
    try:
        judge()
    except Refused as refused:
        known = catalogue((template_folder(),), "de")
        return [str(say(fault.message, known)) for fault in refused.faults]
    return []


@pytest.mark.parametrize("game", GAMES)
def test_faults_of_a_setup_are_told_in_german_as_in_letters(game: str) -> None:
    """The catalogue is the same, word for word, except for messages of the page alone."""
    random, judge, player = Random(3), rules(game), PLAYERS[game]
    scripts = Scripts("say.js", *ruled(game), language="de")
    options = judge.options({}, 2)
    told = 0
    for _ in range(60):
        text = mangled(random, player.setup(random, options, 1), game)
        wanted = faults(lambda: judge.setup(options, 1, text))  # noqa: B023 - called at once
        found = scripts.evaluate("(text) => RULES.setup({}, 1, text).faults.map((fault) => fault.message)", text)
        assert len(found) == len(wanted)
        same = [(one, other) for one, other in zip(found, wanted, strict=True) if "du hast" not in one]
        assert [one for one, _ in same] == [other for _, other in same], text
        told += len(found)
    assert told > 20
