"""Records that second adjudicators wrote, legal and not, against `pbem replay`.

Each game's slow adjudicator (verifier/rules/) plays a game at random and writes down what it thinks
of it: every report, the result, or the turn and the seat of the fault that was put in. The record is written by hand
here, in the freedom that TOML allows. What `pbem replay --json` answers must be the same, with its exit status.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from games.dueling_masters import test_second_hand as masters
from games.shoot_em_up import test_second_hand as shooting
from games.spaceships import test_second_hand as spaceships

from pbem.cli.group import group
from verifier.rules import dueling_masters, shoot_em_up
from verifier.rules import spaceships as spaceships_rules

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Story:
    """A game as it was played, and what the second adjudicator has to say of it."""

    game: str
    options: dict[str, Any]
    setups: list[str]
    turns: list[dict[str, str]] = field(default_factory=list)
    reports: list[list[dict[str, Any]]] = field(default_factory=list)
    winner: int | None = None
    scores: list[int] = field(default_factory=list)
    left: list[dict[str, int]] = field(default_factory=list)
    """Who resigned while the others played on, and when."""
    fault: tuple[int, int | None] | None = None
    result: dict[str, Any] | None = None

    @property
    def expected(self) -> dict[str, Any]:
        if self.fault:
            return {"game": self.game, "error": {"turn": self.fault[0], "seat": self.fault[1]}}
        over = self.winner is not None or self.result is not None
        winner = self.winner if self.result is None else self.result["winner"]
        reason = None if not over else (self.result or {}).get("reason", "rules")
        return {
            "game": self.game,
            "turns": [{"turn": number, "reports": reports} for number, reports in enumerate(self.reports, start=1)],
            "result": {"over": over, "winner": winner, "scores": self.scores, "reason": reason},
        }

    def toml(self, dice: random.Random) -> str:
        """The record, written one way or another."""

        def text(words: str) -> str:
            if dice.random() < 0.5 or "'" in words:
                return json.dumps(words)
            return f"'''\n{words}'''" if dice.random() < 0.5 else f'"""\n{words}"""'

        def value(thing: Any) -> str:
            if isinstance(thing, dict):
                return "{" + ", ".join(f"{key} = {value(inner)}" for key, inner in thing.items()) + "}"
            return json.dumps(thing)

        lines = [f"game = {text(self.game)}", "record = 1"]
        lines += dice.choice(([], ["rules = 1"], ['note = "of chance"', 'match = "m17"', "round = 2"]))
        if self.left:
            lines = [*(line for line in lines if not line.startswith("rules")), "rules = 2"]
        if self.options:
            lines += ["[options]", *(f"{key} = {value(inner)}" for key, inner in self.options.items())]
        for setup in self.setups:
            lines += ["[[seat]]", *dice.choice(([], ['name = "Somebody"'])), f"setup = {text(setup)}"]
        for turn in self.turns:
            keys = list(turn.items())
            dice.shuffle(keys)
            lines += ["[[turn]]", *(f"{dice.choice((key, json.dumps(key)))} = {text(words)}" for key, words in keys)]
        for one in dice.sample(self.left, len(self.left)):
            lines += ["[[resigned]]", *(f"{key} = {inner}" for key, inner in one.items())]
        if self.result is not None:
            lines += ["[result]", *(f"{key} = {value(inner)}" for key, inner in self.result.items())]
        return "\n".join(lines) + dice.choice(("", "\n", "\n[extra]\nanything = [{goes = 1}]\n"))


# Each game: a story, with a fault in some turn's orders if `bad`


def story_of_masters(dice: random.Random, bad: bool) -> Story:
    homes, mobile, most = dice.choice((1, 3)), dice.random() < 0.4, dice.choice((6, 20, 60))
    setups = {seat: masters.some_setup(dice, seat, homes, crowded=dice.random() < 0.4) for seat in (1, 2)}
    texts = ["\n".join(f"{name} {dueling_masters.name_of(at)}" for name, at in setups[seat]) for seat in (1, 2)]
    story = Story("dueling-masters", {"homes": homes, "mobile_home": mobile, "max_turns": most}, texts)
    game = dueling_masters.begin(story.options, texts)
    until = dice.randrange(1, most + 1)
    while game.result is None and game.turn <= until:
        seat = 2 - game.turn % 2
        if bad and (game.turn == until or dice.random() < 0.1):
            story.turns.append({str(seat): wrong_move(dice, game, seat)})
            story.fault = (len(story.turns), seat)
            break
        words = masters.some_order(dice, game, seat)
        story.turns.append({str(seat): words})
        story.reports.append(game.play({seat: words}))
    story.winner, story.scores = game.result and game.result.winner, [*game.scores]
    return story


def wrong_move(dice: random.Random, game: dueling_masters.Game, seat: int) -> str:
    """Orders that the second adjudicator takes for wrong."""
    able = list(game.choices(seat))
    if not able:
        return "W A1-B3" if dice.random() < 0.5 else "pass"
    while True:
        piece = dice.choice(game.of(seat))
        start, end = (
            dice.choice((piece.at, piece.at, dice.choice(dueling_masters.BOARD))),
            dice.choice(dueling_masters.BOARD),
        )
        if start == piece.at and game.legal(piece, end):
            continue
        good = able[0]
        whole = f"{good[0].name} {dueling_masters.name_of(good[0].at)}-{dueling_masters.name_of(good[1])}"
        living = {other.name for other in game.of(seat)}
        named = ["W", "B", "X1", "X2", "Y1", "Y2", "Z1", "Z2", "Z3", "Z4"]
        lost = [name for name in named if name not in living] or ["X3"]
        return dice.choice(
            (
                f"{piece.name} {dueling_masters.name_of(start)}-{dueling_masters.name_of(end)}",
                f"{piece.name} {dueling_masters.name_of(piece.at)}-{dueling_masters.name_of(piece.at)}",
                f"{dice.choice(lost)} {dueling_masters.name_of(start)}-{dueling_masters.name_of(end)}",
                "",
                whole.lower(),
                whole.replace("-", " "),
                f"{whole}\n{whole}",
                whole.replace(good[0].name, good[0].name[0] + "9"),
                whole + "0",
                whole.split(maxsplit=1)[0],
            )
        )


def story_of_shooting(dice: random.Random, bad: bool) -> Story:
    seats = dice.choice((2, 3, 4))
    columns, rows = dice.choice(((5, 5), (5, 5), (5, 6), (7, 5), (9, 9)))
    most = dice.choice((3, 12, 40))
    setups = [shooting.some_setup(dice, seat, columns, rows) for seat in range(1, seats + 1)]
    story = Story("shoot-em-up", {"board": f"{columns}x{rows}", "max_turns": most}, setups)
    table = shoot_em_up.begin(story.options, setups)
    until = dice.randrange(1, 8)
    while table.result is None and len(story.turns) < until:
        wrong = bad and (len(story.turns) + 1 == until or dice.random() < 0.2)
        due = table.remaining
        blamed, turn = dice.choice(due), {}
        given: dict[int, str] = {}
        for seat in due:
            while True:
                words = shooting.some_orders(dice, table, seat)
                accepted = shooting.accepted(table, seat, words)
                if (accepted is None) == (wrong and seat == blamed):
                    break
            turn[str(seat)] = words
            given[seat] = accepted or ""
        story.turns.append(turn)
        if wrong:
            story.fault = (len(story.turns), blamed)
            break
        story.reports.append(table.play(given))
        staying = table.remaining
        while table.result is None and len(staying) > 2 and dice.random() < 0.3:
            seat = staying.pop(dice.randrange(len(staying)))
            assert table.leaves(seat)
            story.left.append({"seat": seat, "turn": table.turn})
    story.winner, story.scores = table.result and table.result.winner, [*table.scores]
    return story


def story_of_spaceships(dice: random.Random, bad: bool) -> Story:
    kind, first = dice.choice(list(spaceships.FLEETS)), dice.choice(("alternate", "1", "2"))
    kinds = [dice.choice(spaceships.FLEETS[kind]) for _ in range(2)]
    setups = [spaceships.setup_of(spaceships.fleet(dice, codes)) for codes in kinds]
    story = Story("spaceships", {"fleet": kind, "first": first}, setups)
    game = spaceships_rules.begin(story.options, setups)
    until = dice.randrange(1, 12)
    while game.result is None and len(story.turns) < until:
        wrong = bad and (len(story.turns) + 1 == until or dice.random() < 0.1)
        given, blamed = {}, dice.choice((1, 2))
        for seat, player in game.players.items():
            enemy = game.players[3 - seat]
            orders = spaceships.some_orders(dice, player, enemy, game.turn)
            given[seat] = spaceships.text_of(dice, player, orders)
            while wrong and seat == blamed and spaceships.canonical(game, seat, given[seat]) is not None:
                orders = spaceships.worse_orders(dice, player, enemy, orders)
                given[seat] = spaceships.text_of(dice, player, orders)
        story.turns.append({str(seat): text for seat, text in given.items()})
        if wrong:
            story.fault = (len(story.turns), blamed)
            break
        story.reports.append(game.play(given))
    story.winner, story.scores = game.result and game.result.winner, [*game.scores]
    return story


STORIES = {
    "dueling-masters": story_of_masters,
    "shoot-em-up": story_of_shooting,
    "spaceships": story_of_spaceships,
}


# Faults of the record itself


def spoil(dice: random.Random, story: Story) -> None:
    """Something wrong with the record, and where."""
    last = len(story.turns)
    at = dice.randrange(last)
    turn = story.turns[at]
    kinds = [no_orders, no_text, no_such_seat, no_such_option, no_such_key, too_few, too_many, wrong_result, a_result]
    if story.game == "shoot-em-up":
        kinds += [nobody_resigns, too_late, with_one_other]
    if story.winner is not None:
        kinds += [after_the_end, after_the_end, not_by_rules]
    if story.game == "dueling-masters" or len(turn) < len(story.setups):
        kinds += [out_of_turn, out_of_turn]
    dice.choice(kinds)(dice, story, at + 1)


def no_orders(dice: random.Random, story: Story, at: int) -> None:
    key = dice.choice(list(story.turns[at - 1]))
    del story.turns[at - 1][key]
    story.fault = (at, int(key))


def no_text(dice: random.Random, story: Story, _at: int) -> None:
    seat = dice.randrange(len(story.setups))
    story.setups[seat] = dice.choice(("", "nothing", "Z9 A1"))
    story.fault = (0, seat + 1)


def no_such_seat(dice: random.Random, story: Story, at: int) -> None:
    story.turns[at - 1][dice.choice(("0", "5", "seat"))] = ""
    story.fault = (0, None)


def no_such_option(dice: random.Random, story: Story, _at: int) -> None:
    story.options |= dice.choice(({"colour": "red"}, {"fleet": "large"}, {"homes": 2}, {"board": "4x4"}))
    story.fault = (0, None)


def no_such_key(_dice: random.Random, story: Story, _at: int) -> None:
    story.result = {"winner": 1, "scores": story.scores, "note": "?"}
    story.fault = (0, None)


def too_few(_dice: random.Random, story: Story, _at: int) -> None:
    del story.setups[1:]
    story.fault = (0, None)


def too_many(dice: random.Random, story: Story, _at: int) -> None:
    story.setups += [story.setups[0]] * dice.choice((3, 4))
    story.fault = (0, None)


def wrong_result(dice: random.Random, story: Story, _at: int) -> None:
    scores = [*story.scores]
    scores[dice.randrange(len(scores))] += 1
    reason = "rules" if story.winner is not None else dice.choice(("rules", "agreement", "forfeit", "abandoned"))
    story.result = {"winner": story.winner or 0, "scores": scores, "reason": reason}
    story.fault = (len(story.turns), None)


def a_result(dice: random.Random, story: Story, _at: int) -> None:
    """No fault at all, if the game is not over: it ended from outside."""
    reason = dice.choice(("agreement", "resignation", "forfeit", "abandoned"))
    story.result = {"winner": dice.randrange(3), "scores": story.scores, "reason": reason}
    if story.winner is not None:
        story.fault = (len(story.turns), None)


def not_by_rules(_dice: random.Random, story: Story, _at: int) -> None:
    assert story.winner is not None
    story.result = {"winner": (story.winner + 1) % 3, "scores": story.scores}
    story.fault = (len(story.turns), None)


def after_the_end(_dice: random.Random, story: Story, _at: int) -> None:
    story.turns.append(dict(story.turns[-1]))
    story.fault = (len(story.turns), None)


def nobody_resigns(_dice: random.Random, story: Story, _at: int) -> None:
    story.left.append({"seat": len(story.setups) + 1, "turn": 1})
    story.fault = (0, None)


def too_late(_dice: random.Random, story: Story, _at: int) -> None:
    """Whoever it is: the turn never came."""
    gone = {one["seat"] for one in story.left}
    seat = next(seat for seat in range(1, len(story.setups) + 1) if seat not in gone)
    story.left.append({"seat": seat, "turn": len(story.turns) + 2})
    story.fault = (len(story.turns), seat)


def with_one_other(_dice: random.Random, story: Story, _at: int) -> None:
    """At the start so many leave that one alone would be left."""
    story.left = [{"seat": seat, "turn": 1} for seat in range(2, len(story.setups) + 1)]
    story.fault = (1, len(story.setups))


def out_of_turn(dice: random.Random, story: Story, at: int) -> None:
    turn = story.turns[at - 1]
    absent = [seat for seat in range(1, len(story.setups) + 1) if str(seat) not in turn]
    seat = dice.choice(absent)
    turn[str(seat)] = ""
    story.fault = (at, seat)


def check(game: str, seed: int, folder: Path) -> Story:
    dice = random.Random(f"{game} {seed}")
    story = STORIES[game](dice, bad=seed % 3 == 1)
    if seed % 3 == 2:
        spoil(dice, story)
    elif story.fault is None and dice.random() < 0.5 and story.winner is not None:
        story.result = {"winner": story.winner, "scores": story.scores}
        story.winner = story.result["winner"]
    file = folder / "story.pbem.toml"
    text = story.toml(dice)
    file.write_text(text, encoding="utf-8", newline="")
    done = CliRunner().invoke(group, ["replay", "--json", str(file)])
    found = json.loads(done.stdout)
    if "error" in found:
        found["error"] = {key: found["error"][key] for key in ("turn", "seat")}
    assert found == story.expected, text
    assert done.exit_code == bool(story.fault)
    return story


@pytest.mark.parametrize("game", STORIES)
@pytest.mark.parametrize("batch", range(3))
def test_replay_says_the_same(game: str, batch: int, tmp_path: Path) -> None:
    for seed in range(batch * 30, batch * 30 + 30):
        check(game, seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("game", STORIES)
@pytest.mark.parametrize("batch", range(3, 60))
def test_replay_says_the_same_at_length(game: str, batch: int, tmp_path: Path) -> None:
    for seed in range(batch * 30, batch * 30 + 30):
        check(game, seed, tmp_path)
