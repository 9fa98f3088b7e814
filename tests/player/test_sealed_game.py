"""A sealed game from its players' side: what they say next, what they check, and what secrets they need for it."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import pytest
from attackers import sealed_lies
from in_a_box.sealed_post import Post
from playing import random_players

from pbem.games import rules
from pbem.games.sealed import COMMIT
from pbem.player.sealed_view import Contradiction, NextLetter, OrdersAsked, SealedSide

if TYPE_CHECKING:
    from collections.abc import Callable

SPACESHIPS = "spaceships"
GAMES: dict[str, tuple[dict[str, Any], int]] = {
    SPACESHIPS: ({"fleet": "cost:24"}, 2),
    "dueling-masters": ({"max_turns": 40}, 2),
    "shoot-em-up": ({"max_turns": 12}, 2),
}
"""By game its options, and how many play."""

ORDERS = {SPACESHIPS: random_players.sensible_orders}
"""Who plays purposefully, where random orders take hundreds of turns."""


def begun(game: str, seed: int = 1) -> Post:
    raw, seats = GAMES[game]
    rnd, player = random.Random(seed), random_players.PLAYERS[game]
    options = rules(game).options(raw, seats)
    return Post(game, raw, {seat: player.setup(rnd, options, seat) for seat in range(1, seats + 1)})


def play(post: Post, most: int = 400, seed: int = 2, orders: Callable[..., str] | None = None) -> int:
    """Play it to its end, or to a number of letters; how many times somebody had to decide."""
    rnd, decided = random.Random(seed), 0
    give = orders or ORDERS.get(post.game) or random_players.PLAYERS[post.game].orders
    while post.table.result is None and post.letters < most:
        seat = next(iter(post.table.due))
        side = post.side(seat)
        assert side.agrees(post.secrets[seat])
        found = side.letter(post.secrets[seat], post.prev)
        if isinstance(found, OrdersAsked):
            decided += 1
            text = side.rules.order(found.own, give(rnd, dict(side.rules.own_view(found.own, found.table))))
            found = side.letter(post.secrets[seat].with_orders(found.table.turn, text), post.prev)
        assert isinstance(found, NextLetter)
        post.take(seat, found)
    return decided


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_is_played_and_each_side_is_honest(game: str) -> None:
    post = begun(game)
    decided = play(post)
    turns = len(post.table.played)
    assert post.table.result is not None
    assert decided <= len(post.setups) * turns + 1  # one act a turn
    for seat in post.setups:
        side = post.side(seat)
        secrets = post.secrets[seat]
        given = {int(turn): text for turn, text in secrets.orders.items()}
        assert side.rules.first_false(side.options, seat, secrets.setup, given, side.steps) is None
        seed, setup, *orders = side.reveal(secrets)
        assert (seed.words, setup.text) == ((secrets.seed,), secrets.setup)
        assert [int(section.words[0]) for section in orders] == sorted(given)


def test_what_is_said_is_said_alike_again() -> None:
    """A letter follows from what was told and the secrets: a program that begins anew says the same."""
    post = begun(SPACESHIPS)
    play(post, 20)
    (seat,) = post.table.due
    side, secrets = post.side(seat), post.secrets[seat]
    found = side.letter(secrets, post.prev)
    if isinstance(found, OrdersAsked):
        found = side.letter(secrets.with_orders(found.table.turn, ""), post.prev)
    assert isinstance(found, NextLetter)
    assert side.letter(found.secrets, post.prev) == found


def lies(steps: list[dict[str, Any]]) -> list[tuple[str, dict[int, dict[str, Any]]]]:
    """Each way in which one thing of the last two turns could be told otherwise, with what it changes."""
    found: list[tuple[str, dict[int, dict[str, Any]]]] = []
    for at, step in enumerate(steps):
        if step["turn"] < steps[-1]["turn"] - 1:
            continue
        other = "ab" * 32
        found.append((f"{at} paper", {at: {"paper": other}}))
        found.append((f"{at} no paper", {at: {"paper": None}}))
        found += [(f"{at} {name}", {at: {"values": {**step["values"], name: other}}}) for name in step["values"]]
        found += [(f"{at} lacks {name}", {at: {"values": {}}}) for name in list(step["values"])[:1]]
        found += [
            (f"{at} line {number}", {at: {"lines": step["lines"][:number] + step["lines"][number + 1 :]}})
            for number in range(len(step["lines"]))
        ]
        found.append((f"{at} seat", {at: {"seat": 3 - step["seat"]}}))
        found.append((f"{at} turn", {at: {"turn": step["turn"] + 1}}))
        found.append((f"{at} step", {at: {"step": "reveal"}}))
    return found


def test_whatever_is_told_otherwise_is_found_out() -> None:
    """Of the steps of this and the last turn every hash, line, seat and turn."""
    post = begun(SPACESHIPS)
    play(post, 21)
    standing, document = post.standing(1), post.document(1)
    planted = lies(document["sealed"]["steps"])
    assert len(planted) > 40
    believed = []
    for what, changed in planted:
        told = copy.deepcopy(document)
        for at, values in changed.items():
            told["sealed"]["steps"][at].update(values)
        try:
            SealedSide.of(standing, "play.example", told)
        except Contradiction:
            continue
        believed.append(what)
    last = len(document["sealed"]["steps"]) - 1
    # A commitment is not opened yet: nothing but the other's signature says what it is.
    assert believed in ([], [f"{last} paper"])
    assert not believed or document["sealed"]["steps"][last]["step"] == COMMIT


@pytest.mark.parametrize(
    "told", [None, {}, {"owes": []}, {"owes": [], "terms": "x"}, {"owes": 1, "terms": "ab" * 32}]
)
def test_what_has_no_such_form_is_not_believed(told: object) -> None:
    post = begun(SPACESHIPS)
    with pytest.raises(Contradiction):
        SealedSide.of(post.standing(1), "play.example", {"game": 1, "options": {}, "sealed": told})


@pytest.mark.parametrize("name", sealed_lies.RULES)
def test_a_step_that_the_server_should_have_refused_is_found(name: str) -> None:
    assert sealed_lies.player_finds(*sealed_lies.entered(name))


def test_a_letter_of_another_turn_is_none_of_this_one() -> None:
    """Nor would a verifier find it there: it looks for letters by their turn."""
    table = sealed_lies.after(sealed_lies.begun(), 2)
    lie = sealed_lies.signed(table, 1, turn=2)
    assert sealed_lies.server_finds(table, lie)
    with sealed_lies.without("the head that is cited"):
        table.take(*lie)
        assert not sealed_lies.player_finds(table, lie)
    assert sealed_lies.player_finds(table, lie)


def test_secrets_of_another_game_or_turn_do_not_agree() -> None:
    post = begun(SPACESHIPS)
    play(post, 12)
    for seat, secrets in post.secrets.items():
        side = post.side(seat)
        assert side.agrees(secrets)
        turns = sorted(map(int, secrets.orders))
        for turn in turns[:-1]:
            assert not side.agrees(secrets.without_orders(turn)), turn
        assert not side.agrees(post.secrets[3 - seat])


def test_orders_that_were_committed_to_cannot_be_others_later() -> None:
    post = begun(SPACESHIPS)
    play(post, 1)
    secrets = post.secrets[1]
    assert post.steps[-1]["step"] == COMMIT
    assert post.side(1).agrees(secrets)
    assert not post.side(1).agrees(secrets.committed(1, "cd" * 32))
    assert not post.side(1).agrees(secrets.with_orders(1, ""))
