"""Two ends of one match, in every order: entries, letters, ratings and proof name one winner, or none, and the same.

Nobody wins a game that was resigned, or lost by silence, on that very side, whatever comes after it.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.bounces import bounce, return_path
from in_a_box.referee import ANN, Mailbox, Referee, attachment, body, form_in, placed
from in_a_box.sealed_seats import SealedSeat, agreed, play
from playing import random_players

from pbem.proof.verification import verify
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

NAMES = ("ann", "bob")
OPTIONS = {"spaceships": "fleet: cost:6", "dueling-masters": "max_turns: 8", "shoot-em-up": "max_turns: 4"}
OVER = timedelta(days=11)
LONG = timedelta(days=40)


@dataclass
class Table:
    """A match under way, of open or of sealed play."""

    referee: Referee
    game: str
    boxes: Sequence[Mailbox]
    seats: Sequence[SealedSeat] = ()
    """The seats of a sealed match, with their secrets."""
    random: Random = field(default_factory=lambda: Random("ends 0"))

    def send(self, seat: int, text: str) -> None:
        self.referee.send(self.boxes[seat - 1], text)

    def answer(self, seat: int) -> bool:
        """Send what is due from a seat; whether anything was."""
        match = self.referee.match()
        if self.seats:
            return bool(match.owes(seat)) and self.seats[seat - 1].write(self.referee)
        if not match.asked(seat):
            return False
        player, kind = random_players.PLAYERS[self.game], "orders" if match.turn else "setup"
        if kind == "setup":
            text = player.setup(self.random, match.options, seat)
        else:
            view = json.loads(json.dumps(match.view(seat), default=list))
            give = random_players.sensible_orders if self.game == "spaceships" else player.orders
            text = give(self.random, view)
        self.send(seat, self.boxes[seat - 1].filled(kind, f"final\n{text}" if kind == "orders" else text))
        return True

    def play(self, games: int = 99) -> None:
        """Play on by the rules: of a sealed match, until the reveals are due."""
        match = self.referee.match()
        while match.phase != "closed" and not match.awaits and len(match.games) < games:
            assert any([self.answer(1), self.answer(2)])
            match = self.referee.match()

    def entries(self) -> list[dict[str, Any]]:
        rows = self.referee.database.execute("SELECT entry FROM entries WHERE match = 1 ORDER BY seq")
        return [json.loads(row[0]) for row in rows]


def begun(referee: Referee, game: str, options: str, first: str, *, sealed: bool) -> Table:
    """The match in its second turn or later; after the first end, if that is a regular one: it is long."""
    key = (game, options, sealed, first == "regular")

    def open_(_: object = None) -> list[Mailbox]:
        table = Table(referee, game, [])
        if sealed:
            table.seats = agreed(referee, *NAMES, game=game, options=f"{options}\n")
            table.boxes = [seat.box for seat in table.seats]
            play(referee, list(table.seats), 9)
        else:
            table.boxes = referee.agreed(options, game)
            while referee.match().turn < 2:
                assert any([table.answer(1), table.answer(2)])
        if first == "regular":
            table.play()
        _SEATS[key] = [deepcopy(seat, {id(seat.box): None}) for seat in table.seats]
        _RANDOM[key] = table.random.getstate()
        return list(table.boxes)

    boxes = referee.opened(("endings", *key), open_)
    seats = deepcopy(_SEATS[key])
    for seat, box in zip(seats, boxes, strict=False):
        seat.box = box
    table = Table(referee, game, boxes, seats)
    table.random.setstate(_RANDOM[key])
    if first != "regular":
        (SEALED if sealed else OPEN)[first](table, 2)
    return table


_SEATS: dict[object, list[SealedSeat]] = {}
_RANDOM: dict[object, Any] = {}


# Ends, each as a seat brings it about, if it can.


def resign_game(table: Table, seat: int) -> None:
    table.send(seat, f"resign m1 game {table.referee.match().game}\n")


def resign_match(table: Table, seat: int) -> None:
    table.send(seat, "resign m1 match\n")


def both(what: str) -> Callable[[Table, int], None]:
    def agree(table: Table, seat: int) -> None:
        table.send(seat, f"{what} m1 offer\n")
        table.send(3 - seat, f"{what} m1 accept\n")

    return agree


def silence(table: Table, seat: int) -> None:
    """A seat is silent: it loses by the terms, or the other claims."""
    while table.answer(3 - seat):
        pass
    table.referee.wait(OVER)
    table.send(3 - seat, "claim m1\n")


def gone(table: Table, seat: int) -> None:
    """No letter reaches a seat's player, and the other claims the end."""
    lost = table.boxes[seat - 1]
    bounce(table.referee, return_path(table.referee, lost), lost=lost.address)
    table.referee.wait(LONG)
    table.send(3 - seat, "claim m1\n")


def stop(table: Table, _: int) -> None:
    table.referee.instruct("end", reason="enough")


def substitute(table: Table, seat: int) -> None:
    """Carl takes the seat, if all agree."""
    if "carl@mail.example" in table.referee.people:
        return
    carl = table.referee.registered("carl")
    leaver = table.boxes[seat - 1].name
    for box in table.boxes:
        table.referee.send(box, f"substitute m1 carl for {leaver}\n")
    if "substitute m1" in carl.text:
        table.referee.send(carl, form_in(carl.text, "substitute"))
        table.boxes = [carl if box.name == leaver else box for box in table.boxes]


def regular(table: Table, _: int) -> None:
    table.play()


def reveals(*, own: bool, other: bool) -> Callable[[Table, int], None]:
    def some(table: Table, seat: int) -> None:
        for wanted, one in ((own, seat), (other, 3 - seat)):
            if wanted and table.referee.match().awaits:
                table.answer(one)
        if not (own and other):
            table.referee.wait(OVER)

    return some


ENDS: dict[str, Callable[[Table, int], None]] = {
    "resign game": resign_game,
    "resign match": resign_match,
    "draw": both("draw"),
    "annul": both("annul"),
    "silence": silence,
    "gone": gone,
    "stop": stop,
    "regular": regular,
}
OPEN = ENDS | {"substitute": substitute}
SEALED = ENDS | {
    "reveal": reveals(own=True, other=True),
    "reveal alone": reveals(own=True, other=False),
    "reveal nothing": reveals(own=False, other=False),
}


# What all say.


def given_up(entries: Sequence[dict[str, Any]]) -> Iterator[tuple[int, bool]]:
    """The seats that gave up the last game or the match; and whether it was the match."""
    last = max((at for at, entry in enumerate(entries) if entry["type"] in {"commitments", "sealed"}), default=0)
    for entry, following in zip(entries[last:], [*entries[last + 1 :], entries[-1]], strict=True):
        body_ = entry["body"]
        if entry["type"] == "resigned":
            yield body_["seat"], body_["match"]
        elif entry["type"] == "forfeited":
            yield from ((seat, False) for seat in body_["seats"])
        elif entry["type"] == "claimed" and following["body"].get("reason") != "abandoned":
            yield from ((seat, False) for seat in body_["against"])


def check(table: Table) -> None:
    """One winner, or none, in the entries, the letters to each side, the ratings and the proof."""
    referee, match = table.referee, table.referee.match()
    entries = table.entries()
    proof(table)
    ends = [entry["body"] for entry in entries if entry["type"] == "ended"]
    assert [ended["winners"] for ended in ends] == [list(ended.winners) for ended in match.games]
    losers = dict(given_up(entries))
    if ends:
        assert only(ends[-1]) not in losers or ends[-1]["game"] != match.game
        said(
            table,
            "the end",
            only(ends[-1]),
            *(rf"You {word} .* game {ends[-1]['game']}\b" for word in ("won", "lost")),
        )
    if match.phase != "closed":
        return
    (closed,) = [entry["body"] for entry in entries if entry["type"] == "closed"]
    assert match.outcome is not None
    assert closed["winners"] == match.outcome["winners"]
    assert only(closed) not in [seat for seat, whole in losers.items() if whole or match.terms.kind == "single"]
    if match.terms.kind == "single" and ends:
        assert closed["winners"] == ends[-1]["winners"]
    elif ends and closed["reason"] != "agreed length" and ends[-1]["game"] == match.game:
        assert only(closed) in {0, only(ends[-1])} or only(ends[-1]) == 0
    said(table, "the match is closed", only(closed), "You have won the match", "You have lost the match")
    for seat, box in enumerate(table.boxes, 1):
        standing = referee.desk.archive._people.standing(table.game, box.name)
        assert standing.won == (only(closed) == seat)
        assert standing.played in {0, 1}
        assert standing.played or not only(closed) or not match.games


def only(ended: dict[str, Any]) -> int:
    """The one winner; 0 if several share, or nobody won."""
    return int(ended["winners"][0]) if len(ended["winners"]) == 1 else 0


def said(table: Table, subject: str, winner: int, won: str, lost: str) -> None:
    """Check that the latest letters about this name the winner to each side."""
    for seat, box in enumerate(table.boxes, 1):
        if box.name not in NAMES:  # the newcomer was not there for all of it
            continue
        text = " ".join(body(box.find(subject)).split())
        named = {one for one, words in ((seat, won), (3 - seat, lost)) if re.search(words, text)}
        assert named == ({winner} if winner else set()), text[:400]


def proof(table: Table) -> None:
    table.referee.send(table.boxes[0], "transcript m1\n", sign=False)
    content = attachment(table.boxes[0].last, ".zip")
    last = list(verify(content))[-1]
    assert last.holds, last
    verified(content)
    match = table.referee.match()
    if match.outcome is not None and only(match.outcome):
        assert last.found.startswith(f"{match.name(only(match.outcome))} won")
    elif match.outcome is not None:
        assert last.found.startswith("a draw" if match.outcome["winners"] else "nobody won")


def pairs(ends: Iterable[str]) -> list[Any]:
    """Each end before each, in each game, under each terms; silence under both that say what it costs.

    In every run, of a single game of Spaceships, each end after a regular one, and after itself.
    """
    return [
        pytest.param(
            *(game, first, then, miss, kind),
            id=f"{game}-{first}-{then}-{miss}-{kind.split()[0]}",
            marks=() if (game, kind) == ("spaceships", "single") and first in {then, "regular"} else pytest.mark.long,
        )
        for game in OPTIONS
        for first in ends
        for then in ends
        for miss in (("wait", "forfeit") if "silence" in (first, then) else ("wait",))
        for kind in ("single", "scored\ngames: 2")
    ]


ONE_WINNER = ("game", "first", "then", "miss", "kind")


@pytest.mark.parametrize(ONE_WINNER, pairs(OPEN))
@pytest.mark.parametrize("seat", [1, pytest.param(2, marks=pytest.mark.long)])
def test_one_winner(referee: Referee, game: str, first: str, then: str, miss: str, kind: str, seat: int) -> None:
    table = begun(referee, game, f"settle: 0\n{OPTIONS[game]}\nmiss: {miss}\nkind: {kind}", first, sealed=False)
    OPEN[then](table, seat)
    check(table)


@pytest.mark.parametrize(ONE_WINNER, pairs(SEALED))
@pytest.mark.parametrize("seat", [1, pytest.param(2, marks=pytest.mark.long)])
def test_one_winner_sealed(
    referee: Referee, game: str, first: str, then: str, miss: str, kind: str, seat: int
) -> None:
    table = begun(referee, game, f"{OPTIONS[game]}\nmiss: {miss}\nkind: {kind}", first, sealed=True)
    SEALED[then](table, seat)
    if table.referee.match().awaits:
        reveals(own=True, other=True)(table, 1)
    check(table)


def test_who_gives_up_a_game_leaves_the_other_a_legal_setup(referee: Referee) -> None:
    """In a continued match. Whoever cannot set up loses it, and no ships that are allowed here cost what is left."""
    ann, bob = referee.begun("kind: continued\ntarget: 60\nadditional_allowed: {LG = 9, AG = 4}")
    place = f"{placed(bob)}turn 1\nprev {referee.match().prev}\nrev 1\n"
    referee.send(bob, f"resign m1 game 1\n{place}end\n")
    assert referee.match().totals == (23, 22)
    more = "AG1 Rv1 Rv2\nAG2 Rw1 Rw2\nAG3 Rx1 Rx2\nAG4 Ry1 Ry2\nLG1 Rv3\nLG2 Rw3\nLG3 Rx3\nLG4 Ry3\n"
    more += "LG5 Rv4\nLG6 Rw4\nLG7 Rx4\nLG8 Ry4\nLG9 Rv5"
    referee.send(ann, ann.filled("setup", f"{ANN}\n{more}"))
    assert "Your setup stands" in ann.text, ann.text


@pytest.mark.parametrize("opened", [0, 1, 2])
def test_who_resigns_a_sealed_game_before_its_first_turn_leaves_the_ships_that_were_shown(
    referee: Referee, opened: int
) -> None:
    """A seat whose setup is not open yet has no ship, for both verifiers."""
    seats = agreed(referee, *NAMES, game="shoot-em-up")
    while referee.match().phase != "playing":
        play(referee, seats, 1)
    for seat in seats[:opened]:
        assert seat.write(referee)
    referee.send(seats[0].box, "resign m1 match\n")
    (*_, closed) = Table(referee, "shoot-em-up", ()).entries()
    assert closed["type"] == "closed"
    assert sorted(closed["body"]["scores"]) == sorted([3] * opened + [0] * (2 - opened))
    bundle = attachment(seats[0].box.find(", the end"), ".zip")
    assert all(check.holds for check in verify(bundle))
    verified(bundle)
