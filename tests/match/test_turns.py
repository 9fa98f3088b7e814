"""The turns of a game: some at hand, those before them fetched once, and nobody sees another's."""

from __future__ import annotations

from pbem.match.turns import Past, Played, Reports, Turns

PLAYED = [Played(f"{number:064x}", {1: "", 2: ""}, Reports(())) for number in range(5)]


class Store:
    """Keeps the first turns, and counts how often it is asked."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = 0

    def fetch(self) -> list[Played]:
        self.asked += 1
        return PLAYED[: self.count]

    def turns(self, *late: Played) -> Turns:
        return Turns(late, Past(self.count, self.fetch))


def test_a_turn_more_keeps_all_before_it() -> None:
    store = Store(2)
    before = store.turns(PLAYED[2])
    after = before.and_(PLAYED[3])
    assert (len(before), before.at_hand) == (3, 1)
    assert (len(after), after.at_hand) == (4, 2)
    assert (after[3], after[-1], after[2:]) == (PLAYED[3], PLAYED[3], (PLAYED[2], PLAYED[3]))
    assert store.asked == 0
    assert (list(before), list(after)) == (PLAYED[:3], PLAYED[:4])
    assert list(reversed(after)) == PLAYED[3::-1]
    assert (after[0], after[1:3]) == (PLAYED[0], (PLAYED[1], PLAYED[2]))
    assert store.asked == 1


def test_two_that_go_on_from_the_same_do_not_see_each_other() -> None:
    before = Turns(PLAYED[:2])
    one, other = before.and_(PLAYED[2]), before.and_(PLAYED[3])
    assert list(before) == PLAYED[:2]
    assert list(one) == PLAYED[:3]
    assert list(other) == [*PLAYED[:2], PLAYED[3]]
    assert list(one.and_(PLAYED[4])) == [*PLAYED[:3], PLAYED[4]]
    assert one != other
    assert one == before.and_(PLAYED[2])
    assert one != before
    assert before != PLAYED[:2]


def test_who_has_no_past_asks_nobody() -> None:
    store = Store(0)
    assert list(store.turns(PLAYED[0])) == [PLAYED[0]]
    assert store.asked == 0
