"""The conformance kit finds planted faults: each in our example, by the check whose name says what is wrong."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.metadata import version
from random import Random
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from in_a_box.outside import POWERS, RACE, STICKS, found_in, install, record

from pbem.cli.group import group
from pbem.games.outside import enable
from pbem.match.record import Record, Turn
from pbem.testing import CHECKS, Nonconforming, World, checks, subject, write_records
from pbem.testing.secrecy import vary, whole

if TYPE_CHECKING:
    from pathlib import Path

GUESS = '"number": guess, "answer": answer, "hidden": hidden}'
SHOW = 'return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 3)))'
READ = "    found = re.fullmatch("
RULES = "RULES = Rules()\n"

FAULTS: dict[str, tuple[str, str, *tuple[str, ...]]] = {
    "a leak in the answer to orders": (
        *("secret", "answers to orders, turn 1: "),
        *("_number(state.options, text, ", "_number(Options(sum(state.hidden)), text, "),
    ),
    "everything shown": ("told", "is shown", SHOW, "return report"),
    "a field shown that nobody named": (
        *("told", "a field that is not known is shown of guess"),
        *(
            SHOW,
            'return {n: v for n, v in report.items() if n != "hidden"} if seat != 3 and "number" in report else None',
        ),
    ),
    "the public shown more": (
        *("told", "the public is shown more than seat"),
        *(
            SHOW,
            'return cut(report, SHOWN, audience(None if seat and report["seat"] != seat else seat, seat, range(1)))',
        ),
    ),
    "a misspelt field in the table of readers": (
        *("told", "SHOWN.guess.numbre is of no report in the random games"),
        *('everybody("seat", "kind", "number", "answer")', 'everybody("seat", "kind", "numbre", "answer")'),
    ),
    "a misspelt kind of report in the table of readers": (
        *("told", "SHOWN.gues is of no report"),
        *('Shown = {"guess": ', 'Shown = {"guess": everybody("number"), "gues": '),
    ),
    "an unsorted set": ("again", "another process", GUESS, GUESS[:-1] + ', "odd": list({*"abcdefgh", answer})}'),
    "faults in the order of a set": (
        *("again", "another process"),
        *(
            'raise Refused(Fault("1", text.strip(), says))',
            "raise Refused(*{Fault(one, None, says) for one in 'abcdef'})",
        ),
    ),
    "an exception in turn": (
        *("turns", "ZeroDivisionError"),
        *("seat, guess = state.seat, ", "seat, guess = state.seat, 0 // (3 - state.turn) + "),
    ),
    "a turn that does not count": ("turns", "says turn", "state.turn + (result is None)", "state.turn + 2"),
    "a memory of its own": (
        *("turns", "gives another position or reports when played again"),
        *(GUESS, GUESS[:-1] + ', "odd": COUNTED.append(1) or len(COUNTED)}', "RULES = ", "COUNTED = []\nRULES = "),
    ),
    "a clock": ("pure", "__init__.py, line 11: uses time", "import re\n", "import re\nimport time\n"),
    "a die": ("pure", "uses random", "import re\n", "import re\nfrom random import choice\n"),
    "a file": ("pure", "uses open", "RULES = ", 'open("/dev/null").close()\nRULES = '),
    "a text that raises": ("texts", "raises ValueError", READ, f"    len(text) < 3000 or int(text)\n{READ}"),
    "a digit that is no number": (
        *("texts", "raises ValueError"),
        *(READ, f"    [int(word) for word in text.split() if len(word) < 9 and word.isdigit()]\n{READ}"),
    ),
    "a slow expression": ("texts", "processor time", READ, f'    re.fullmatch("(a? ?)*b", text)\n{READ}'),
    "a refusal that says nothing": (
        *("texts", "without a fault"),
        *('raise Refused(Fault("1", text.strip(), says))', "raise Refused"),
    ),
    "orders ahead that a later position refuses": (
        *("ahead", " could be stored before turn 1"),
        RULES,
        f'{RULES}\ndef ahead(state, *_: object):\n    return (Fault("1", None, "late"),) * (state.turn > 2)\n',
    ),
    "an option that nobody knows": ("options", "an unknown option is not refused", 'set(raw) - {"most"} or', ""),
    "any number of seats": ("options", " seats are not refused", "if seats != 2 or set(raw)", "if set(raw)"),
    "options that are written otherwise": (
        *("options", "gives other options"),
        *('else {"most": self.most}', 'else {"most": self.most + 1}'),
    ),
    "canonical text that is not legal": ("notation", "and refused", 'Words(f"{verb} {', 'Words(f"{verb} 0{'),
    "canonical text that no letter brings": (
        *("notation", "through"),
        *(
            '{{0,2}})\\s*", text)',
            '{{0,2}})(?:\\send)?\\s*", text)',
            'Words(f"{verb} {found[1]}"',
            'Words(f"{verb} {found[1]} end"',
        ),
    ),
    "a correction of what is right": ("notation", "is, corrected, ", RULES, f"{RULES}\nslips = str.upper\n"),
    "empty orders that are refused": (
        *("turns", "turn 1: empty orders of seats [1] are refused"),
        *("empty_orders = False", "empty_orders = True"),
    ),
    "a fraction": ("plain", "is not JSON: ", GUESS, GUESS.replace("hidden}", "hidden / 2}")),
    "a large number": ("plain", "has a number beyond 2^53", GUESS, GUESS.replace("hidden}", "hidden + 2**53}")),
    "a tuple": ("plain", "changes on its way through JSON", GUESS, GUESS.replace("hidden}", "(hidden,)}")),
    "a game without an end": ("ends", "is not over after ", 'if answer == "right" else None', "if False else None"),
    "scores that are not the result's": (
        *("ends", "are not those of"),
        *("self.result.scores if self.result else (0, 0)", "(0, 0)"),
    ),
    "options that cannot be carried over": ("ends", "`carry` gives options", "min(options.most + 1, 999)", "1000"),
}
"""By name: the check that finds it, what that says, and pairs of what is written in the example, and what instead."""


def rewrite(path: Path, *pairs: str) -> None:
    text = path.read_text("utf-8")
    for before, after in zip(pairs[::2], pairs[1::2], strict=True):
        assert before in text, before
        text = text.replace(before, after, 1)
    path.write_text(text, "utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_name(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "SECONDS", 0.5)
    check, said, *pairs = FAULTS[fault]
    rewrite(install(tmp_path) / "__init__.py", *pairs)
    with found_in(tmp_path):
        enable(["marbles"])
        with pytest.raises(Nonconforming) as found:
            CHECKS[check](subject("marbles"))
        assert said in str(found.value)


DREW = "number, card = chance.die(6), chance.shuffled(52)[0]"

OF_CHANCE: dict[str, tuple[str, str, *tuple[str, ...]]] = {
    "chance that is not drawn": ("chance", "draws nothing", DREW, "number, card = 3, 4; del chance"),
    "chance of an earlier turn": (
        *("turns", "gives another position or reports when played again"),
        *(DREW, f"chance = KEPT.setdefault(0, chance); {DREW}"),
        *("RULES = ", "KEPT: dict[int, Any] = {}\nRULES = "),
    ),
    "a memory of other chances": (
        *("chance", "turn 1 gives another position or reports after a turn with another chance"),
        *(DREW, f"COUNTED.append(1); {DREW}; card = (card + len(COUNTED)) % 52"),
        *("RULES = ", "COUNTED: list[int] = []\nRULES = "),
    ),
    "a position that keeps the chance": (
        *("chance", "the position keeps the chance of a turn: state.cards.0"),
        *(
            "cards = (*state.cards, card)",
            "cards = (Same(chance._seed),)",
            "RULES = ",
            """
from pbem.games.draws import Draws

class Same(Draws):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return 1

RULES = """,
        ),
    ),
    "orders to choose from in two lines": (
        "plain",
        "are not lines of text",
        '"throw luck", ',
        '"throw\\nluck", ',
    ),
    "a secret card shown in a view": (
        *("secret", "view, after turn 1: "),
        *('"cards": cards if seat else []', '"cards": list(state.cards)'),
    ),
    "secret orders that can be tried until they lead to what was drawn": (
        "secret",
        "is shown what was drawn, but not all orders from which it follows",
        "    secret_chance = True\n",
        "",
    ),
    "chance that is secret, in a game without": (
        "chance",
        "`secret_chance` without `chance`",
        "chance = True\n",
        "\n",
    ),
}

OF_RECALL: dict[str, tuple[str, str, *tuple[str, ...]]] = {
    "a side recalled otherwise": ("recalled", "judged", 'view["left"], view["turn"]', '0, view["turn"]'),
    "a view that is none raises something else": (
        *("recalled", "raises AttributeError"),
        *('view["seat"] != seat', 'view.get("seat").real != seat'),
    ),
    "anything taken for a view": (
        *("recalled", "it is no view"),
        *('    if view["seat"] != seat:', "    view = {'seats': 2, 'left': 20, 'turn': 1, **view}\n    if False:"),
    ),
}

OF_MANY: dict[str, tuple[str, str, *tuple[str, ...]]] = {
    "a whisper for all": (
        *("told", "which `to` does not name, is shown more for those whom it names: "),
        *('report.get("to", ())', 'range(1, 7) if report.get("to") else ()'),
    ),
    "a whisper for nobody": (
        *("told", "which `to` names, is shown no more: pass `to` to `audience`: "),
        *('report.get("to", ())', "()"),
    ),
    "a pace that is no fraction": (
        *("turns", "pace 0.5 is no Fraction up to 1"),
        *("return Fraction(1, 7) if state.beaten else Fraction(1)", "return 0.5"),
    ),
    "a seat that resigned and orders": (
        *("without", " are due in turn "),
        *("asked = self.beaten or self.remaining", "asked = (*self.left, *(self.beaten or self.remaining))"),
        *("for seat in asked if seat in self.remaining", "for seat in asked"),
    ),
    "a seat that resigned and remains": (
        *("without", "it remains in turn "),
        *("left=state.left | {seat}", "left=state.left"),
    ),
    "a pace that says who whispered": (
        *("secret", "pace, after turn "),
        *("beaten=beaten, rounds", 'left=frozenset(range(10, 10 + str(told).count("to"))), beaten=beaten, rounds'),
        *("Fraction(1, 7) if state.beaten else Fraction(1)", "Fraction(1, 1 + len(state.left))"),
    ),
}


@pytest.mark.parametrize("fault", OF_CHANCE | OF_RECALL | OF_MANY)
def test_a_fault_planted_in_another_game_is_found_by_name(fault: str, tmp_path: Path) -> None:
    source, faults = next(
        (source, faults)
        for source, faults in ((RACE, OF_CHANCE), (STICKS, OF_RECALL), (POWERS, OF_MANY))
        if fault in faults
    )
    game, (check, said, *pairs) = source.name.removeprefix("pbem_"), faults[fault]
    folder = install(tmp_path, f"pbem-{game}", game=game, source=source)
    rewrite(next(path for path in folder.glob("*.py") if pairs[0] in path.read_text("utf-8")), *pairs)
    with found_in(tmp_path):
        enable([game])
        with pytest.raises(Nonconforming) as found:
            CHECKS[check](subject(game))
        assert said in str(found.value)


def test_a_turn_in_which_all_have_no_choice_is_no_fault(tmp_path: Path) -> None:
    """The last cards of both hands are played for them: nobody is asked, and the view says so."""
    forced = 'Words(f"guess {(one := min(self.turn // 2 + 1, self.options.most))}", one) if self.turn > 1 else None'
    rewrite(install(tmp_path) / "__init__.py", "{self.seat: None}", f"{{self.seat: {forced}}}")
    with found_in(tmp_path):
        enable(["marbles"])
        for check in ("texts", "secret"):
            CHECKS[check](subject("marbles"))


def test_a_varied_world_is_another(tmp_path: Path) -> None:
    """With few secrets to choose from, many changes in a row come back to the first: nothing would be compared."""
    install(tmp_path)
    with found_in(tmp_path):
        enable(["marbles"])
        game, random = subject("marbles"), Random("few")
        first = World(game.judge, game.judge.options({"most": 2}, 2), ["hide 1", "hide 2"], [], [])
        for _ in range(20):
            other = vary(random, first, 1, whole(game.judge, game.players), tries=9)
            assert (other.setups != first.setups) == bool(other.changes)


@pytest.mark.parametrize(
    ("file", "pairs", "said"),
    [
        ("position.txt", None, "TemplateNotFound: 'marbles/position.txt'"),
        ("about.txt", None, "TemplateNotFound"),
        (
            *("events.txt", ("report.answer]", "report.nothing]")),
            "letters/events.txt cannot be made: UndefinedError: 'dict object' has no attribute 'nothing' (templates/",
        ),
        ("rules.txt", ("MARBLES", "{% if %}"), "(templates/marbles/rules.txt, line 1)"),
        (
            *("position.txt", ("guess so far", f"guess so far{'!' * 70}")),
            "the letter '[pbem m1] Marbles, game 1, turn 1' has a line of 85 columns, and may have 78: ",
        ),
    ],
)
def test_a_planted_fault_in_the_words_is_found_by_mail(
    file: str, pairs: tuple[str, ...] | None, said: str, tmp_path: Path
) -> None:
    path = install(tmp_path) / "templates" / "marbles" / file
    path.unlink() if pairs is None else rewrite(path, *pairs)
    record(tmp_path, "pbem_marbles")
    with found_in(tmp_path):
        enable(["marbles"])
        with pytest.raises(Nonconforming) as found:
            CHECKS["mail"](subject("marbles"))
        assert said in str(found.value)


def test_a_game_of_many_that_ends_late_is_played_by_mail(tmp_path: Path) -> None:
    """After some turns one after the other resigns, whose turn it is: the others play on."""
    install(tmp_path, "pbem-powers", game="powers", source=POWERS)
    with found_in(tmp_path):
        enable(["powers"])
        game = subject("powers")
        assert len(game.played[0].orders) > 30
        CHECKS["without"](game)
        CHECKS["mail"](game)


def test_random_players_continue_an_opening(tmp_path: Path) -> None:
    """Where somebody would guess 30 only after long: a fault there is found in the first turns."""
    path = install(tmp_path) / "__init__.py"
    rewrite(path, "hidden = state.hidden[2 - seat]", "hidden = state.hidden[2 - seat] // (guess != 500)")
    turns = (Turn({1: "guess 499"}), Turn({2: "guess 500"}))
    opening = Record("marbles", (("", "hide 7"), ("", "hide 498")), turns, {"most": 999})
    with found_in(tmp_path):
        enable(["marbles"])
        game = subject("marbles")
        CHECKS["turns"](game)
        played = replace(game, players=replace(game.players, openings=[opening._replace(turns=turns[:1])])).played[-1]
        assert (played.setups, played.orders[0]) == (["hide 7", "hide 498"], {1: "guess 499"})
        with pytest.raises(Nonconforming, match=r"with options {'most': 999} and an opening, .* ZeroDivisionError"):
            CHECKS["turns"](replace(game, players=replace(game.players, openings=[opening])))
        again = opening._replace(turns=(Turn({2: "guess 5"}),))
        with pytest.raises(Nonconforming, match="an opening"):
            CHECKS["turns"](replace(game, players=replace(game.players, openings=[again])))


@pytest.mark.parametrize(
    ("requires", "fault"),
    [
        ("jinja2", "jinja2"),
        ("jinja2==0.1", "jinja2==0.1"),
        ("no-such-library==1.0", "no-such-library==1.0"),
        ("pbem-others>=1", "pbem-others>=1"),
        (f"jinja2=={version('jinja2')}", None),
        ("pbem[server]>=1", None),
        ('pytest; extra == "test"', None),
    ],
)
def test_a_library_without_its_version_is_found(requires: str, fault: str | None, tmp_path: Path) -> None:
    """The code of libraries is not in the hash of the rules, to which the players agree."""
    install(tmp_path)
    with (tmp_path / "pbem_marbles-0.1.0.dist-info" / "METADATA").open("a") as metadata:
        metadata.write(f"Requires-Dist: {requires}\n")
    with found_in(tmp_path):
        enable(["marbles"])
        if fault is None:
            CHECKS["pinned"](subject("marbles"))
        else:
            with pytest.raises(Nonconforming, match=rf"installed here: {fault}$"):
                CHECKS["pinned"](subject("marbles"))


def test_a_changed_edition_is_found(tmp_path: Path) -> None:
    """Whoever changes the rules of an edition, and does not know it, has matches that do not replay."""
    install(tmp_path)
    with found_in(tmp_path):
        enable(["marbles"])
        CHECKS["editions"](subject("marbles"))
        assert write_records(subject("marbles")) == []
    rewrite(tmp_path / "pbem_marbles" / "__init__.py", '"more" if hidden > guess', '"more" if hidden >= guess + 2')
    with found_in(tmp_path):
        enable(["marbles"])
        with pytest.raises(Nonconforming, match=r"edition 1 has changed: 1\.pbem\.toml gives other reports"):
            CHECKS["editions"](subject("marbles"))


def test_the_command_runs_all_checks(tmp_path: Path) -> None:
    folder = install(tmp_path)
    shutil.rmtree(folder / "records")
    record(tmp_path, "pbem_marbles")
    with found_in(tmp_path):
        done = CliRunner().invoke(group, ["check-game", "marbles"])
        assert "FAULT  editions   edition 1 has no records: pbem check-game marbles --write" in done.output
        assert done.output.count("ok     ") == len(CHECKS) - 1
        assert done.exit_code == 1
        done = CliRunner().invoke(group, ["check-game", "marbles", "--write"])
        assert [line.split()[0] for line in done.output.splitlines()] == ["wrote"] * 3 + ["ok"] * len(CHECKS)
        assert done.exit_code == 0
        for path in (folder / "records" / "edition-1").iterdir():
            path.unlink()
        done = CliRunner().invoke(group, ["check-game", "marbles", "--write", "--only", "editions", "--only", "pure"])
        said = [line.split() for line in done.output.splitlines()]
        assert [words[0] for words in said] == ["wrote"] * 3 + ["ok"] * 2
        assert [words[1] for words in said[3:]] == ["editions", "pure"]
        (folder / "players.py").unlink()
    with found_in(tmp_path):
        done = CliRunner().invoke(group, ["check-game", "marbles"])
        assert "pbem_marbles.players is missing" in done.output or "is damaged" in done.output
    done = CliRunner().invoke(group, ["check-game", "chess"])
    assert 'Error: no package that is installed here has a game "chess"' in done.output


def test_the_command_names_what_a_game_raises_in_any_check(tmp_path: Path) -> None:
    rewrite(install(tmp_path) / "__init__.py", *FAULTS["an exception in turn"][2:])
    with found_in(tmp_path):
        done = CliRunner().invoke(group, ["check-game", "marbles"])
    assert done.exit_code == 1
    (said,) = (line for line in done.output.splitlines() if line.startswith("FAULT  secret "))
    assert "ZeroDivisionError: " in said
    assert "(__init__.py, line " in said
    assert len(done.output.splitlines()) == len(CHECKS)
