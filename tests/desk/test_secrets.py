"""Non-interference by mail: vary what a player cannot have learned, and all letters to that player stay the same.

Two matches are played on two servers. The player who is watched sends the same words at the same times; the others'
secrets are another draw of what `unlearned.vary` allows, their orders are written otherwise, and before the ones that
count they send at random moments previews, other orders, also in advance and by default, orders that are refused,
withdrawals and questions. Then each letter to the watched player, echoes, refusals and previews as well as reports,
must have come at the same time, with the same length, and byte for byte the same but for what is drawn by chance or a
hash: as many digits there. At each moment at which the watched player writes, a view of the match, of which letters,
bulletins and pages are made, holds the same for that player, and for the public.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from in_a_box.referee import START, Mailbox, form_in
from in_a_box.watched import HOUR, Watched, blotted, contents
from playing import random_players, unlearned
from playing.conditions import with_conditions

from pbem.games import parts, rules
from pbem.games.audience import EVERYBODY
from pbem.games.dueling_masters.knowledge import SHOWN
from pbem.match.view import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, timedelta
    from pathlib import Path

    from pbem.testing import World

NAMES = ("ann", "bob", "cem", "dan")
NOISE = (
    "preview",
    "orders",
    "ahead",
    "default",
    "refused",
    "clear",
    "status",
    "transcript",
    "report",
    "list mine\nhelp\nwhoami\nstatus",
)
UNASKED = ("orders", "refused", "preview", "ahead", "default")
WRONG_NOW = {"spaceships": "Rv1 " * 40, "dueling-masters": "Z2 A1-A2", "shoot-em-up": ""}
"""Orders that are well formed, and hardly ever legal."""
WRONG = "Gx9 A: FM Z9 A1-A1"
SECRET_NO_MORE = re.compile("game [0-9]+, the end|the match is closed")


@dataclass
class Stage:
    """Setups or a turn: what is sent by whom in the end, from when on."""

    kind: str
    texts: dict[int, str]
    start: datetime
    turn: int = 0
    views: dict[int, dict[str, Any]] = field(default_factory=dict)
    revs: Counter[int] = field(default_factory=Counter)


class Play:
    """One of the two matches."""

    def __init__(self, referee: Watched, told: World, watched: int, noise: Random) -> None:
        self.referee, self.told, self.watched, self.noise = referee, told, watched, noise
        self.made: Counter[object] = Counter()
        self.early: Counter[tuple[int, int]] = Counter()
        """The revisions of what was sent before its turn, by seat and turn; 0 is that of default orders."""
        seats = len(told.setups)
        self.people = [referee.registered(name) for name in NAMES[:seats]]
        first, *others = self.people
        wanted = "\n".join(f"{name}: {option(value)}" for name, value in told.options.changed.items())
        proposal = f"new {told.judge.name} with {' '.join(other.name for other in others)}"
        referee.send(first, f"{proposal}\nsettle: 2d\nmiss: default\n{wanted}\nend\n")
        for other in others:
            referee.send(other, form_in(other.text, "accept", lines=1))

    def person(self, seat: int) -> Mailbox:
        return self.people[seat - 1]

    def go(self) -> list[tuple[timedelta, bytes]]:
        """Setups and all turns; what the watched one got."""
        self.play_stage(Stage("setup", dict(enumerate(self.told.setups, start=1)), START))
        judge = rules(self.told.judge.name)
        shown: dict[int, list[Any]] = {seat: [] for seat in range(1, len(self.people) + 1)}
        positions = list(self.told.positions())
        for number, texts in enumerate(self.told.orders, start=1):
            state = positions[number - 1][0]
            asked = {seat: texts[seat] for seat, forced in state.due.items() if forced is None}
            views: dict[int, Any] = {seat: parts.view(judge, state, seat, reports) for seat, reports in shown.items()}
            revs = Counter({seat: self.early[seat, number] for seat in asked})
            self.play_stage(Stage("orders", asked, START + number * 24 * HOUR, number, views, revs))
            for seat, reports in shown.items():
                reports.append([found for report in positions[number][1] if (found := judge.show(report, seat))])
        address = self.person(self.watched).address
        return [(time, raw) for to, time, raw in self.referee.noted if to == address]

    def play_stage(self, stage: Stage) -> None:
        """The watched one acts at fixed times; the others whenever they like, but for what counts."""
        times = [(stage.start + (2 + number / 4) * HOUR, act) for number, act in enumerate(self.watch(stage))]
        plan: list[tuple[datetime, Callable[[], object]]] = [
            (when, do) for when, act in times for do in (self.look, act)
        ]
        others = [seat for seat in range(1, len(self.people) + 1) if seat != self.watched]
        for seat in others:
            wishes = self.noise.choices(NOISE, k=self.noise.randrange(5))
            plan += [(stage.start + self.noise.random() * 5 * HOUR, self.act(seat, what, stage)) for what in wishes]
        last = [seat for seat in others if seat in stage.texts]
        self.noise.shuffle(last)
        for number, seat in enumerate(last):  # whoever comes last, the turn is resolved at the same moment
            plan.append((stage.start + 6 * HOUR - number * HOUR / 60, self.finish(seat, stage)))
        for when, act in sorted(plan, key=lambda planned: planned[0]):
            self.referee.until(when)
            act()

    def look(self) -> None:
        """Note what the watched one and the public may know of the match."""
        match = self.referee.match()
        for reader in (self.watched, 0):
            known = msgspec.json.encode([view(match, reader), match.view(reader or None)])
            self.referee.views.append(blotted(known))

    def watch(self, stage: Stage) -> Iterator[Callable[[], object]]:
        """The actions of the watched player, the same in both matches."""
        me, text, kind = self.person(self.watched), stage.texts.get(self.watched), stage.kind
        send = self.referee.send
        if text is not None and kind == "orders":
            yield lambda: send(me, f"preview m1 turn {turn_of(me)}\n{text}\nend\n", sign=False)
            yield lambda: send(me, f"preview m1 turn {turn_of(me)}\n{WRONG}\nend\n", sign=False)
        if text is not None and kind == "orders":  # the answer says which branch would be played now, if any
            game = self.told.judge.name
            plan = with_conditions(Random(stage.turn), game, text or "Rv1", WRONG_NOW[game])
            self.early[self.watched, 0] += 1
            form = me.filled("orders", plan, self.early[self.watched, 0])
            yield lambda: send(me, form.replace(f"turn {stage.turn}", "default", 1))
        if text is not None:
            yield lambda: send(me, me.filled(kind, WRONG, 1))
            yield lambda: send(me, me.filled(kind, text, 1))
            yield lambda: send(me, me.filled(kind, f"final\n{text}" if kind == "orders" else text, 2))
        yield lambda: send(me, "status m1\nlist mine\nreport m1\ntranscript m1\nreport m1 all\n", sign=False)

    def act(self, seat: int, what: str, stage: Stage) -> Callable[[], None]:
        """Something of no consequence that another seat does, unseen by the watched one."""
        person, send, kind = self.person(seat), self.referee.send, stage.kind
        asked = seat in stage.texts
        text = self.other_text(seat, stage) if asked else "nothing"

        def do() -> None:
            self.made[what] += 1
            if what in ("orders", "refused") and asked:
                stage.revs[seat] += what == "orders"
                send(person, person.filled(kind, text if what == "orders" else WRONG, stage.revs[seat] or 1))
                if kind == "setup" and what == "orders":  # a setup that stood might begin the game
                    self.clear(person, seat, stage)
            elif what in ("ahead", "default") and asked and kind == "orders":
                self.send_early(seat, what, text, stage)
            elif what == "preview" and asked and kind == "orders":
                send(person, f"preview m1 turn {turn_of(person)}\n{text}\nend\n", sign=False)
            elif what == "clear":
                self.clear(person, seat, stage)
            else:
                send(person, f"{'status' if what in UNASKED else what} m1\n", sign=False)

        return do

    def clear(self, person: Mailbox, seat: int, stage: Stage) -> None:
        """A withdrawal uses up a revision of the turn that it names: perhaps the next one has begun."""
        self.referee.send(person, "clear m1\n")
        if "Withdrawn" not in person.text:
            return
        said = re.search(r"^> turn (\d+)$", person.text, re.MULTILINE)
        if said is None or int(said[1]) == stage.turn:
            stage.revs[seat] += 1
        else:
            self.early[seat, int(said[1])] += 1

    def send_early(self, seat: int, what: str, text: str, stage: Stage) -> None:
        """Orders for the next turn that asks this seat, or default orders; what counts replaces them then."""
        alternating = self.told.judge.name == "dueling-masters"
        turn = 0 if what == "default" else stage.turn + 1 + alternating
        self.early[seat, turn] += 1
        form = self.person(seat).filled("orders", text, self.early[seat, turn])
        place = f"turn {turn}" if turn else "default"
        self.referee.send(self.person(seat), form.replace(f"turn {stage.turn}", place, 1))
        self.made[what, "Stored, revision" in self.person(seat).text] += 1

    def other_text(self, seat: int, stage: Stage) -> str:
        player = random_players.PLAYERS[self.told.judge.name]
        if stage.kind == "setup":
            return player.setup(self.noise, self.told.options, seat)
        one, other = (player.orders(self.noise, stage.views[seat]) for _ in range(2))
        return with_conditions(self.noise, self.told.judge.name, one, other) if self.noise.random() < 0.5 else one

    def finish(self, seat: int, stage: Stage) -> Callable[[], None]:
        def do() -> None:
            person, text = self.person(seat), stage.texts[seat]
            stage.revs[seat] += 1
            if stage.kind == "orders":
                if text and self.noise.random() < 0.5:
                    text = with_conditions(self.noise, self.told.judge.name, text, text)
                text = "final\n" + unlearned.rewritten(self.noise, self.told.judge.name, text)
            self.referee.send(person, person.filled(stage.kind, text, stage.revs[seat]))

        return do


def turn_of(person: Mailbox) -> int:
    found = re.search(r"turn (\d+)", person.form("orders"))
    assert found is not None
    return int(found[1])


def option(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {inner}" for key, inner in value.items()) + "}"
    return str(value).lower()


def letters(
    folder: Path, told: World, watched: int, seed: str
) -> tuple[list[tuple[timedelta, bytes]], list[bytes], Counter[object]]:
    """The watched player's letters and views up to the end of the game, when secrets are told."""
    referee = Watched(folder)
    play = Play(referee, told, watched, Random(seed))
    got = play.go()
    referee.close()
    subjects = [str(email.message_from_bytes(raw, policy=email.policy.default)["Subject"]) for _, raw in got]
    end = next((at for at, subject in enumerate(subjects) if SECRET_NO_MORE.search(subject)), len(got))
    assert sum(", turn " in subject for subject in subjects[:end]) >= len(told.orders) > 1
    return got[:end], referee.views, play.made


def difference(one: str, other: str) -> tuple[str, str]:
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), 0)
    return one[max(at - 200, 0) : at + 40], other[max(at - 200, 0) : at + 40]


def same_letters(folder: Path, told: World, varied: World, watched: int) -> Counter[object]:
    one, views, noise = letters(folder / "one", told, watched, "first")
    other, other_views, other_noise = letters(folder / "other", varied, watched, "second")
    assert noise != other_noise
    assert views == other_views
    assert len(one) == len(other)
    for (time, raw), (other_time, other_raw) in zip(one, other, strict=True):
        assert time == other_time
        for content, other_content in zip(contents(raw), contents(other_raw), strict=True):
            same = content == other_content
            assert same, difference(str(content), str(other_content))
        assert len(raw) == len(other_raw)
    return noise + other_noise


class Bout(NamedTuple):
    game: str
    case: int
    """The number of the options in `random_players`."""
    turns: int
    watched: int
    seed: int

    def pair(self) -> tuple[World, World]:
        random = Random(f"{self.game} {self.seed}")
        told = unlearned.play(self.game, random, self.case, self.turns)
        varied = unlearned.vary(random, told, self.watched, tries=200)
        assert (varied.changes.total() > 2) == bool(unlearned.CHANGES[self.game])
        return told, varied


def bouts(seed: int) -> list[Bout]:
    return [
        Bout("spaceships", 1, 5, 1, seed),
        Bout("spaceships", 2, 5, 2, seed),
        Bout("dueling-masters", 0, 14, 2, seed),
        Bout("dueling-masters", 3, 14, 1, seed),
        Bout("shoot-em-up", 1, 4, 1, seed),
        Bout("shoot-em-up", 2, 4, 3, seed),
    ]


def name(bout: Bout) -> str:
    return f"{bout.game}-{bout.case}-{bout.seed}"


@pytest.mark.parametrize("bout", bouts(1)[::2], ids=name)
def test_letters_are_the_same(bout: Bout, tmp_path: Path) -> None:
    made = same_letters(tmp_path, *bout.pair(), bout.watched)
    assert made["ahead", True]


@pytest.mark.long
@pytest.mark.parametrize("bout", [bout for seed in range(2, 10) for bout in bouts(seed)], ids=name)
def test_letters_are_the_same_at_length(bout: Bout, tmp_path: Path) -> None:
    same_letters(tmp_path, *bout.pair(), bout.watched)


def test_a_leak_that_was_planted_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A destination that is shown to the opponent: the letters differ just when it is."""
    told, varied = unlearned.two_destinations()
    same_letters(tmp_path / "sound", told, varied, 2)
    monkeypatch.setitem(SHOWN, "check", {**SHOWN["check"], "to": EVERYBODY})
    with pytest.raises(AssertionError):
        same_letters(tmp_path / "leaking", told, varied, 2)
