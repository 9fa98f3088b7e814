"""The life of a match: who may do what when, how games and matches end, and that the store tells the same story."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from judges.refusals import faults, refused
from match.by_hand import ANN, BOB, RECEIVED, START, Table, here, signed
from msgspec.structs import replace

from pbem.games import Refused
from pbem.match import stored_orders, submissions
from pbem.match.events import clocks, endings, keys_changed, substituted
from pbem.match.pinned_keys import KeyChange, Player
from pbem.match.step import Signed
from pbem.requests import DEFAULT, Annul, Draw, Extend, Resign, Substitute

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.match.state import Match


class TestPhases:
    def test_events_out_of_phase_are_refused(self) -> None:
        table = Table()
        form = here(table.match, 1, 1, Resign(whole=True))
        assert refused(endings.resign, table.step(), 1, form, signed(b"")) == ["resign"]
        assert refused(table.clear, 1) == ["clear"]
        assert refused(table.setup, 1, ANN) == ["setup"]
        assert refused(table.order, 1, "") == ["orders"]
        table.agree()
        assert refused(table.order, 1, "Rv1") == ["orders"]
        assert refused(table.agree) == ["accept"]
        assert refused(table.resign, 1) == ["resign"]
        table.begin()
        assert refused(table.setup, 1, ANN, game=1, rev=2) == ["setup"]
        assert refused(table.agree) == ["accept"]
        table.resign(1, match=True)
        assert table.match.phase == "closed"
        before = table.match
        for event in (table.setup, table.order):
            refused(event, 1, ANN)
        assert refused(table.agree) == ["accept"]
        for whole in (True, False):
            assert refused(table.resign, 2, match=whole) == ["resign"]
        assert refused(table.clear, 1) == ["clear"]
        table.done(table.step())
        assert table.match == before

    @pytest.mark.parametrize("wrong", [2, None])
    def test_setups_for_another_game(self, wrong: int | None) -> None:
        table = Table().agree()
        assert refused(table.setup, 1, ANN, game=wrong) == ["game"]
        assert not table.match.setups

    @pytest.mark.parametrize(
        ("key", "wrong"),
        [
            *(("server", "x"), ("player", "bob"), ("prev", "0" * 64), ("turn", 2)),
            *((key, None) for key in ("server", "player", "prev", "rev")),
        ],
    )
    def test_orders_for_another_place(self, key: str, wrong: Any) -> None:
        table = Table().agree().begin()
        assert refused(table.order, 1, "Rv1", **{key: wrong}) == [key]
        assert refused(table.order, 1, "zz9", **{key: wrong})[0] == key
        assert len(refused(table.order, 1, "zz9", **{key: wrong})) > 1
        assert not table.match.orders

    def test_orders_of_the_game_before_are_refused(self) -> None:
        """The form names a turn and no game: the head that it cites tells the games apart."""
        table = Table(kind="scored").agree().begin()
        old = table.match.prev
        table.resign(2)
        table.begin()
        assert table.match.turn == 1
        assert refused(table.order, 1, "Rv1", prev=old) == ["prev"]


class TestPapers:
    """With which game a paper is revealed, and who may see it before."""

    def test_setups_and_orders(self) -> None:
        table = Table().agree().begin()
        assert {(paper.path, paper.opens_with, paper.seat) for paper in table.papers if paper.opens_with == 1} == {
            *((f"openings/game-1-seat-{seat}.txt", 1, seat) for seat in (1, 2)),
            *((f"letters/game-1-setup-seat-{seat}.eml", 1, seat) for seat in (1, 2)),
            ("traces/game-1-setup.txt", 1, None),
        }
        table.papers.clear()
        for seat in (1, 2):
            table.order(seat, "")
        found = {paper.path: (paper.opens_with, paper.seat) for paper in table.papers}
        for seat in (1, 2):
            assert found[f"receipts/game-1-turn-1-seat-{seat}.txt"] == (1, seat)
            assert found[f"letters/game-1-turn-1-seat-{seat}.eml"] == (1, seat)

    def test_a_sentence_belongs_to_the_game_in_which_it_was_said(self) -> None:
        """What is said before a game begins betrays nothing of it, and is open with what was before."""

        def papers(table: Table) -> list[tuple[int, int | None]]:
            step = table.step()
            clocks.extend(step, 1, here(table.match, 1, 1, Extend(seconds=3600)), signed(b"extend"))
            return [(paper.opens_with, paper.seat) for paper in step.papers]

        assert papers(Table().agree()) == [(0, 1)]
        assert papers(Table().agree().begin()) == [(1, 1)]


class TestRevisions:
    def test_a_higher_one_replaces(self) -> None:
        table = Table().agree().begin()
        first = table.order(1, "Rv5")
        assert table.order(1, "Rv5") is first
        assert refused(table.order, 1, "Rv4") == ["rev"]
        assert refused(table.order, 1, "Rv5", final=True) == ["rev"]
        second = table.order(1, "Rv4", rev=7)
        assert refused(table.order, 1, "Rv5", rev=6) == ["rev"]
        assert refused(table.order, 1, "Rv5") == ["rev"]
        assert table.match.orders[1] is second
        assert (second.rev, second.text) == (7, "Rv4")

    def test_setups_alike(self) -> None:
        table = Table().agree()
        first = table.setup(1, ANN)
        assert table.setup(1, ANN) is first
        assert refused(table.setup, 1, BOB) == ["rev"]
        table.setup(1, BOB, rev=2)
        assert refused(table.setup, 1, ANN) == ["rev"]
        assert table.match.setups[1].text != first.text

    def test_what_was_withdrawn_is_not_forgotten_when_something_else_stands(self) -> None:
        """Its trace is laid open with the game: without it, the server would be accused."""
        table = Table().agree()
        setups, orders = {1: ANN, 2: BOB}, {1: "Rv5", 2: ""}
        for sent, send in ((setups, table.setup), (orders, table.order)):
            send(1, sent[1])
            table.clear(1)
            table.papers.clear()
            assert len(send(1, sent[1], rev=3).aside) == 1
            send(2, sent[2])
            assert [paper.path for paper in table.papers if paper.path.startswith("withdrawals/")] == [
                f"withdrawals/game-1-{'setup' if sent is setups else 'turn-1'}-withdrawn-seat-1-rev-2.txt"
            ]
        form = table.form(1, "Rv3", turn=4)
        step = table.step()
        submissions.store(step, 1, form, signed(b"orders"))
        submissions.withdraw(step, 1, replace(form, rev=2), signed(b"clear"))
        assert len(submissions.store(step, 1, replace(form, rev=3), signed(b"orders")).aside) == 1


class TestEnds:
    def test_the_last_game_decides_where_that_was_agreed(self) -> None:
        winners = {}
        for victory in ("sum of scores", "last game"):
            table = Table(kind="scored", games="3", victory=victory).agree()
            for winner in (1, 1, 2):
                table.win(winner)
            assert table.match.outcome is not None
            winners[victory] = table.match.outcome["winners"]
        assert winners == {"sum of scores": [1], "last game": [2]}


class TestResigning:
    @pytest.mark.parametrize("whole", [True, False])
    def test_orders_that_settle_are_given_up(self, *, whole: bool) -> None:
        """Their time must not resolve the first turn of the next game, nor wake the clock for a closed match."""
        table = Table(kind="scored", settle="10m").agree().begin()
        table.order(1, "Rv1")
        table.order(2, "")
        assert table.match.wakes is not None
        table.resign(1, match=whole)
        assert table.match.resolve_at is None
        assert not table.match.orders
        if not whole:
            table.now += timedelta(hours=1)
            table.begin()
            table.order(1, "Rv1")
            table.order(2, "")
            assert table.match.turn == 1
            assert table.match.resolve_at == table.now + timedelta(minutes=10)


# Levels.


def test_a_match_that_demands_keys_takes_nothing_at_level_mailbox() -> None:
    table = Table(keys="demanded").agree()
    mailbox = Signed(b"letter", "mailbox", "dkim:s1._domainkey.mail.example", RECEIVED, b"evidence")
    assert refused(submissions.setup, table.step(), 1, table.form(1, ANN), mailbox) == ["keys"]
    table.begin()
    assert refused(submissions.order, table.step(), 1, table.form(1, ""), mailbox) == ["keys"]
    assert refused(endings.resign, table.step(), 1, here(table.match, 1, 1, Resign(whole=True)), mailbox) == ["keys"]
    assert table.match.orders == {}


class TestSubstitutes:
    """Carl takes Ann's seat: what was hers is given up, and what is Bob's stays."""

    def table(self, **lines: str) -> Table:
        table = Table(**lines).agree()
        table.setup(2, BOB)
        return table

    def taken(self, table: Table, **before: Any) -> Match:
        """The match afterwards, of which this was so before."""
        for by in (1, 2):
            table.nominate(by, 1)
        table.match = replace(table.match, **before)
        table.take(1)
        return table.match

    def test_an_offer_is_not_the_newcomers(self) -> None:
        table = Table().agree().begin()
        table.draw(1, "offer")
        assert self.taken(table).offers == {"draw": {}}
        assert refused(table.draw, 2, "accept") == ["draw"]

    def test_who_was_late_or_out_of_reach(self) -> None:
        match = self.taken(
            self.table(),
            missed=frozenset({1, 2}),
            misses={1: (5, 8), 2: (6,)},
            unreachable={1: START, 2: START},
            banks={1: 5, 2: 7},
        )
        assert match.missed == {2}
        assert match.misses == {2: (6,)}
        assert match.unreachable == {2: START}
        assert match.banks == {2: 7}

    def test_what_was_sent(self) -> None:
        table = self.table()
        assert set(self.taken(table).setups) == {2}
        assert table.kinds == [("welcome", 1), ("substituted", 2), ("setup", 1)]
        table = self.table(settle="10m")
        table.setup(1, ANN)
        for seat in (1, 2):
            table.order(seat, "")
        assert table.match.resolve_at
        match = self.taken(table)
        assert (set(match.orders), match.resolve_at) == ({2}, None)
        assert table.kinds == [("welcome", 1), ("substituted", 2)]


# Words that make no sense at this point.

THREE = (Player("ann", ()), Player("bob", ()), Player("cem", ()))
SHIPS = ("A b1 E\nB c1 W\nC d1 N", "D b5 S\nE c5 S\nF d5 S", "G a2 N\nH a3 E\nI a4 S")


class TestSentencesOutOfPlace:
    def test_when_all_is_over(self) -> None:
        table = Table().agree().begin()
        table.resign(1, match=True)
        form = here(table.match, 1, 1, Annul(word="offer"))
        carl = here(table.match, 1, 1, Substitute(name="carl"))
        change = KeyChange("revoked", "signed", revoked=("x",), letters={"old": b"revoke"})
        assert refused(endings.agree, table.step(), 1, form, signed(b"annul")) == ["annul"]
        assert refused(substituted.nominate, table.step(), 1, 1, carl, signed(b"carl")) == ["substitute"]
        assert refused(keys_changed.change, table.step(), 1, change) == ["keys"]

    def test_no_sentence_is_obeyed_twice(self) -> None:
        table = Table().agree().begin()
        for rev in (1, 2):
            step, form = table.step(), here(table.match, 1, rev, Extend(seconds=3600))
            clocks.extend(step, 1, form, signed(b"extend"))
            table.done(step)
            form = replace(form, prev=table.match.prev)
            again = (table.step(), 1, form, signed(b"extend"))
            assert faults(clocks.extend, *again) == [("rev", f"rev {rev}", None)]


def given(table: Table, seconds: int) -> None:
    clocks.extend(table.step(), 1, here(table.match, 1, 1, Extend(seconds=seconds)), signed(b"extend"))


def withdraw(table: Table, turn: int) -> None:
    submissions.withdraw(table.step(), 1, table.form(1, "", turn=turn), signed(b"clear"))


def in_play(**lines: str) -> Table:
    return Table(**lines).agree().begin()


def offered() -> Table:
    table = in_play()
    table.draw(1, "offer")
    return table


def nominating() -> Table:
    table = Table().agree()
    table.nominate(1, 1)
    return table


WORDS: list[tuple[Callable[[], Table], Callable[[Table], object], str]] = [
    (
        offered,
        lambda table: table.draw(1, "offer"),
        "draw offer: you have already made this offer; the others have yet to answer",
    ),
    (
        lambda: Table().agree(),
        lambda table: table.draw(1, "offer"),
        "draw m1: no game has begun, so there is nothing to draw",
    ),
    (
        lambda: in_play(pace="none"),
        lambda table: given(table, 3600),
        "extend m1: your opponent has no running deadline",
    ),
    (in_play, lambda table: given(table, 3599), "extend None: give at least 1h and at most 30d"),
    (in_play, lambda table: given(table, 30 * 86400 + 1), "extend None: give at least 1h and at most 30d"),
    (
        lambda: Table().agree(),
        lambda table: table.resign(1),
        "resign None: no game has begun; `resign m1 match` resigns the whole match",
    ),
    (nominating, lambda table: table.take(1), "substitute m1: the others no longer agree to it"),
    (
        nominating,
        lambda table: table.nominate(1, 1),
        "substitute carl: you have already said so; others have yet to agree",
    ),
    (nominating, lambda table: table.nominate(2, 2), "substitute carl: carl is named for another seat of this match"),
    (in_play, lambda table: table.nominate(1, 1, "bob"), "substitute bob: bob already has a seat in this match"),
    (in_play, lambda table: table.nominate(1, 2, "none"), "substitute none: nobody was named for bob's seat"),
    (in_play, lambda table: table.agree(), "accept m1: this match is playing and waits for no agreement"),
    (in_play, lambda table: withdraw(table, DEFAULT), "clear None: you have stored no default orders"),
]


@pytest.mark.parametrize(("table", "event", "says"), WORDS, ids=[says for _, _, says in WORDS])
def test_why_it_is_refused_is_said(table: Callable[[], Table], event: Callable[[Table], object], says: str) -> None:
    with pytest.raises(Refused) as caught:
        event(table())
    assert [f"{fault.rule} {fault.token}: {fault.message}" for fault in caught.value.faults] == [says]


class TestWhoIsOut:
    """Cem's ships ram each other in turn 1: he is out of the game, and the others play on."""

    @pytest.fixture
    def table(self) -> Table:
        table = Table("shoot-em-up", *THREE, board="5x5").agree()
        for seat, setup in enumerate(SHIPS, 1):
            table.setup(seat, setup)
        for seat, orders in enumerate(
            ("A: SSL\nB: LRL\nC: LRL", "D: LRL\nE: LRL\nF: LRL", "G: MFF\nH: LFF\nI: MFF"), 1
        ):
            table.order(seat, orders)
        assert table.match.position is not None
        assert table.match.position.remaining == (1, 2)
        return table

    def test_orders_nothing_in_advance(self, table: Table) -> None:
        form = table.form(3, "G: MFF", turn=3)
        assert "orders" in refused(submissions.store, table.step(), 3, form, signed(b"orders"))

    def test_has_no_word_in_a_draw(self, table: Table) -> None:
        form = here(table.match, 3, 1, Annul(word="offer"))
        draw = replace(form, request=Draw(word="offer"))
        assert refused(endings.agree, table.step(), 3, draw, signed(b"draw")) == ["draw"]
        step = table.step()
        assert not endings.agree(step, 3, form, signed(b"annul"))


# Keys.

KEYS: list[dict[str, str]] = [{"format": "ssh", "fingerprint": name, "public": name} for name in ("one", "two")]


def test_a_key_that_was_revoked_is_not_added_again() -> None:
    player = Player("ann", (KEYS[0],), former=(("0" * 64, KEYS[1]),))
    for known in KEYS:
        change = KeyChange("added", "signed", (known,), letters={"old": b"old", "new": b"new"})
        with pytest.raises(ValueError, match="known already"):
            change.after(player, "1" * 64)


def test_keys_are_revoked_one_by_one() -> None:
    third = {"format": "ssh", "fingerprint": "third", "public": "third"}
    change = KeyChange("revoked", "signed", revoked=("one", "two"), letters={"old": b"old"})
    with pytest.raises(ValueError, match="one key is revoked"):
        change.after(Player("ann", (*KEYS, third)), "1" * 64)


def test_orders_by_the_mailbox_count_no_longer_once_there_is_a_key() -> None:
    """Those for later turns, which cite a head that was printed before."""
    table = Table("spaceships", Player("ann", (), mailbox="0" * 64), Player("bob", ())).agree().begin()
    step = table.step()
    mailbox = Signed(b"letter", "mailbox", "dkim:s1._domainkey.mail.example", RECEIVED, b"evidence")
    submissions.store(step, 1, table.form(1, "Rv1", turn=2), mailbox)
    keys_changed.change(step, 1, KeyChange("replaced", "recovery code", (KEYS[0],), letters={"new": b"new"}))
    table.done(step)
    for seat in (1, 2):
        table.order(seat, "")
    assert (table.match.turn, table.match.orders[1].standing) == (2, False)
    (fault,) = refused(stored_orders.judge, table.match, 1, table.match.orders[1])
    assert fault == "keys"
