"""A sealed game from its players' side: what they say next, what they check, and what secrets they need for it."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from attackers import sealed_lies
from in_a_box.sealed_post import Post
from playing import random_players

from pbem.games import rules
from pbem.games.sealed import COMMIT
from pbem.identity import ssh
from pbem.player.correspondence.standings import Contradiction
from pbem.player.sealed_view import NextLetter, OrdersAsked, SealedSide

SPACESHIPS = "spaceships"
GAMES: dict[str, dict[str, Any]] = {
    SPACESHIPS: {"fleet": "cost:24"},
    "dueling-masters": {"max_turns": 40},
    "shoot-em-up": {"max_turns": 12},
}
"""The options of each game."""


def begun(game: str) -> Post:
    raw, rnd, player = GAMES[game], random.Random(1), random_players.PLAYERS[game]
    options = rules(game).options(raw, 2)
    return Post(game, raw, {seat: player.setup(rnd, options, seat) for seat in (1, 2)})


def play(post: Post, letters: int) -> None:
    """Play it until so many letters were sent."""
    rnd, give = random.Random(2), random_players.PLAYERS[post.game].orders
    while post.letters < letters:
        seat = next(iter(post.table.due))
        side = post.side(seat)
        assert side.agrees(post.secrets[seat])
        found = side.letter(post.secrets[seat], post.prev)
        if isinstance(found, OrdersAsked):
            text = side.rules.order(found.own, give(rnd, dict(side.rules.own_view(found.own, found.table))))
            found = side.letter(post.secrets[seat].with_orders(found.table.turn, text), post.prev)
        assert isinstance(found, NextLetter)
        post.take(seat, found)


@pytest.mark.parametrize("game", GAMES)
def test_neither_order_nor_repetition_of_what_was_signed_counts(game: str) -> None:
    post = begun(game)
    play(post, 21)
    texts, true = [*post.texts.values()], post.side(1)
    for other in (texts[::-1], texts * 2, random.Random(1).sample(texts, len(texts))):
        assert post.side(1, other).table == true.table


def test_a_text_that_a_player_did_not_sign_so_is_none() -> None:
    """Each word of it, its signer, its server, its match and its game."""
    post = begun(SPACESHIPS)
    play(post, 9)
    *before, true = post.texts.values()
    seat = int([*post.texts][-1].partition("-seat-")[2][0])
    words = true.partition(b"-----BEGIN")[0].decode()

    def signed(text: str, by: int = seat, server: str = "play.example") -> bytes:
        return (text + ssh.sign(post.keys[by], text.encode(), f"pbem@{server}")).encode()

    wrong = [signed(words.replace("m1", "m2")), signed(words, 3 - seat), signed(words, server="other.example")]
    for content in (*wrong, true.replace(b"turn", b"turn 1", 1), words.encode(), b""):
        with pytest.raises(Contradiction, match=r"no player has signed|not a letter of this match"):
            post.side(1, [*before, content])
    elsewhere = post.side(1, [*before, signed(words.replace("game 1", "game 2"))])
    assert len(elsewhere.steps) < len(post.side(1).steps)


def test_a_text_that_takes_long_to_read_is_none() -> None:
    """Its server did not take it by most servers' limits, and each letter could bring hundreds of them."""
    post = begun(SPACESHIPS)
    play(post, 9)
    name = [*post.texts][-1]
    words = post.texts[name].partition(b"-----BEGIN")[0].decode().replace("\nend\n", "\n" + "# x\n" * 6000 + "end\n")
    seat = int(name.partition("-seat-")[2][0])
    post.texts[name] = (words + ssh.sign(post.keys[seat], words.encode(), "pbem@play.example")).encode()
    with pytest.raises(Contradiction, match="no player has signed"):
        post.side(1)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"keys": 1},
        {"keys": {}, "note": 1},
    ],
)
def test_what_has_no_such_form_is_not_believed(told: object) -> None:
    post = begun(SPACESHIPS)
    with pytest.raises(Contradiction, match="has no such form"):
        post.side(1, sealed=told)


@pytest.mark.parametrize("options", [{"fleet": "cost:5"}, [], "x", None, {"fleet": 10**30}])
def test_options_under_which_our_setup_is_none_stop_no_program(options: object) -> None:
    """A game that is not installed, or no longer, stops none either."""
    post = begun(SPACESHIPS)
    with pytest.raises(Contradiction):
        post.side(1, options=options).letter(post.secrets[1], post.prev)
    standing = msgspec.structs.replace(post.standing(1), rules="chess")
    with pytest.raises(Contradiction, match="chess is not played sealed"):
        SealedSide.of(standing, "play.example", post.document(), post.public, [], {})


@pytest.mark.parametrize("name", sealed_lies.RULES)
def test_a_step_that_the_server_should_have_refused_is_found(name: str) -> None:
    """But for the head that a letter cites, which is the server's word until the bundle is verified."""
    assert sealed_lies.player_finds(*sealed_lies.entered(name)) == (name != "the head that is cited")


def test_a_letter_of_another_turn_is_none_of_this_one() -> None:
    """A verifier looks for letters by their turn, and would not find it either."""
    table = sealed_lies.after(sealed_lies.begun(), 2)
    lie = sealed_lies.signed(table, 1, turn=2)
    assert sealed_lies.server_finds(table, lie)
    with sealed_lies.without("the head that is cited"):
        table.take(*lie)
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
