"""A sealed game from its players' side: what they say next, what they check, and what secrets they need for it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from attackers import sealed_lies
from in_a_box.sealed_post import Post
from playing import random_players

from pbem.games import rules
from pbem.games.sealed import COMMIT
from pbem.identity import ssh
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.sealed_view import NextLetter, OrdersAsked, SealedSide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def lies(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each way in which the server could name other files: one less, one twice, two in another order."""
    for at, name in enumerate(names):
        if at < len(names) - 1:
            yield f"without {name}", names[:at] + names[at + 1 :]
            yield f"{name} later", [*names[:at], names[at + 1], name, *names[at + 2 :]]
        yield f"{name} twice", [*names[: at + 1], name, *names[at + 1 :]]


def test_another_choice_of_what_was_signed_is_no_game() -> None:
    """But for both commitments to setups: their order means nothing."""
    post = begun(SPACESHIPS)
    play(post, 21)
    names, believed = [*post.texts], []
    for what, signed in lies(names):
        try:
            post.side(1, signed=signed)
        except Contradiction:
            continue
        believed.append(what)
    assert believed == [f"{names[0]} later"]


def test_a_text_that_a_player_did_not_sign_so_is_none() -> None:
    """Each word of it, its signer, its server, its match and its game."""
    post = begun(SPACESHIPS)
    play(post, 9)
    name = [*post.texts][-1]
    true = post.texts[name]
    seat = int(name.partition("-seat-")[2][0])
    words = true.partition(b"-----BEGIN")[0].decode()
    assert post.side(1).play.game.steps
    for changed in (words.replace("game 1", "game 2"), words.replace("m1", "m2")):
        post.texts[name] = (changed + ssh.sign(post.keys[seat], changed.encode(), "pbem@play.example")).encode()
        with pytest.raises(Contradiction):
            post.side(1)
    other = words.encode() + ssh.sign(post.keys[3 - seat], words.encode(), "pbem@play.example").encode()
    elsewhere = words.encode() + ssh.sign(post.keys[seat], words.encode(), "pbem@other.example").encode()
    for content in (true.replace(b"turn", b"turn 1", 1), words.encode(), b"", other, elsewhere):
        post.texts[name] = content
        with pytest.raises(Contradiction, match=r"signed it|belongs elsewhere|not a letter of this game"):
            post.side(1)
    del post.texts[name]
    with pytest.raises(Impossible, match="has not arrived"):
        post.side(1, signed=[*post.texts, name])


def test_a_text_that_takes_long_to_read_is_none() -> None:
    """Its server did not take it by most servers' limits, and each letter could bring hundreds of them."""
    post = begun(SPACESHIPS)
    play(post, 9)
    name = [*post.texts][-1]
    words = post.texts[name].partition(b"-----BEGIN")[0].decode().replace("\nend\n", "\n" + "# x\n" * 6000 + "end\n")
    seat = int(name.partition("-seat-")[2][0])
    post.texts[name] = (words + ssh.sign(post.keys[seat], words.encode(), "pbem@play.example")).encode()
    with pytest.raises(Contradiction, match="no player has signed it"):
        post.side(1)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"keys": 1},
        {"keys": {}, "signed": "x"},
        {"keys": {}, "note": 1},
        {"keys": {}, "signed": ["m1-step-17-seat-1.txt"]},
        {"keys": {}, "resigned": "../m1-resign-17-seat-1.signed.txt"},
    ],
)
def test_what_has_no_such_form_is_not_believed(told: object) -> None:
    post = begun(SPACESHIPS)
    document = {"game": 1, "options": {}, "sealed": told}
    with pytest.raises(Contradiction, match="has no such form"):
        SealedSide.of(post.standing(1), "play.example", document, post.texts.get, {})


@pytest.mark.parametrize("options", [{"fleet": "cost:5"}, [], "x", None, {"fleet": 10**30}])
def test_options_under_which_our_setup_is_none_stop_no_program(options: object) -> None:
    """Nor does a game that is not installed here, or not any more."""
    post = begun(SPACESHIPS)
    document = post.document() | {"options": options}
    with pytest.raises(Contradiction):
        SealedSide.of(post.standing(1), "play.example", document, post.texts.get, {}).letter(
            post.secrets[1], post.prev
        )
    standing = msgspec.structs.replace(post.standing(1), rules="chess")
    with pytest.raises(Contradiction, match="chess is not played sealed"):
        SealedSide.of(standing, "play.example", post.document(), post.texts.get, {})


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
    assert post.side(1).steps[-1].step == COMMIT
    assert post.side(1).agrees(secrets)
    assert not post.side(1).agrees(secrets.committed(1, "cd" * 32))
    assert not post.side(1).agrees(secrets.with_orders(1, ""))
