"""The pretexts under which a server drops what it acknowledged, one for each end that this may have come to."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from attackers.droppers import OVER, SEAT, Dropper
from msgspec.structs import replace

from pbem.match.documents import Opening, Receipt
from pbem.match.stored_orders import counting
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.match.state import Submission

# Setups, and seals of setups.


def setup_replaced(lie: Dropper) -> bytes:
    """The game begins with the setup that Bob had replaced."""
    lie.forget_setup(by=two_setups(lie))
    lie.others_set_up()
    return lie.over()


def two_setups(lie: Dropper) -> Submission:
    """The first one."""
    first = lie.set_up()
    lie.say("bob", "setup", lie.game.other_setup, 2)
    assert lie.match.setups[SEAT].rev == 2, lie.bob.text
    return first


def setup_left_later(lie: Dropper) -> bytes:
    """The same; then Bob resigns, which excuses nothing before."""
    lie.forget_setup(by=two_setups(lie))
    lie.others_set_up()
    lie.write("bob", "resign m1 match\n")
    return lie.over()


def setup_of_an_earlier_letter(lie: Dropper) -> bytes:
    """The same, where no letter gives its revision: that of the first is now said to be the higher one."""
    lie.agree()
    sent = []
    for text in (lie.game.setups["bob"], lie.game.other_setup):
        lie.say("bob", "setup", text, rev=0)
        sent.append(lie.match.setups[SEAT])
    assert [one.rev for one in sent] == [1, 2], lie.bob.text
    lie.forget_setup(by=replace(sent[0], rev=3, paper=replace(Opening.read(sent[0].paper), rev=3).text()))
    lie.others_set_up()
    return lie.over()


def setup_never_came(lie: Dropper) -> bytes:
    """The match is claimed from Bob, who had sent his setup."""
    lie.set_up()
    lie.forget_setup()
    lie.others_set_up()
    return lie.claim()


def setup_came_too_late(lie: Dropper) -> bytes:
    """The same, where it came after the miss, and before the claim."""
    lie.agree()
    lie.referee.wait(OVER)
    assert SEAT in lie.match.missed
    lie.say("bob", "setup", lie.game.setups["bob"])
    lie.forget_setup()
    lie.others_set_up()
    return lie.claim()


def setup_withdrawn(lie: Dropper) -> bytes:
    """A withdrawal of an earlier revision is to excuse the later one."""
    lie.set_up()
    withdrawn = lie.withdraw()
    lie.say("bob", "setup", lie.game.other_setup, 3)
    lie.forget_setup(by=withdrawn)
    lie.others_set_up()
    return lie.claim()


def withdrawn_setup_played(lie: Dropper) -> bytes:
    """The game begins with the setup that Bob had withdrawn."""
    first = lie.set_up()
    lie.withdraw()
    lie.forget_setup(by=first)
    lie.others_set_up()
    return lie.over()


def withdrawn_setup_forgotten(lie: Dropper) -> bytes:
    """The match ends before it begins, without a trace of the withdrawal."""
    lie.set_up()
    lie.withdraw()
    lie.forget_setup()
    return lie.over()


# Orders of a turn: in their turn, in advance, with conditions.


def orders_replaced(lie: Dropper) -> bytes:
    """The orders are played that Bob had replaced."""
    lie.begin()
    lie.order(lie.game.other, lie.text(), keep=1)
    return lie.play_on()


def orders_of_an_earlier_letter(lie: Dropper) -> bytes:
    """The same, where no letter gives its revision: that of the first is now said to be the higher one."""
    lie.begin()
    first, _ = lie.order(lie.game.other, lie.text(), keep=1, revs=False)
    lie.forget(lie.at, by=replace(first, rev=3, paper=replace(Receipt.read(first.paper), rev=3).text()))
    return lie.play_on()


def orders_missed(lie: Dropper) -> bytes:
    """His time is said to have gone by, and Ann claims the game."""
    lie.begin()
    lie.order(lie.text())
    lie.others_move()
    return lie.claim()


def orders_forfeited(lie: Dropper) -> bytes:
    lie.begin("forfeit")
    lie.order(lie.text())
    lie.others_move()
    lie.referee.wait(3 * OVER)
    return lie.over()


def orders_missed_and_sent_again(lie: Dropper) -> bytes:
    """The miss was invented; Bob's later orders are played."""
    lie.begin()
    lie.order(lie.text())
    lie.miss()
    lie.say("bob", "orders", f"final\n{lie.game.other}", 5)
    return lie.over()


def orders_missed_and_left(lie: Dropper) -> bytes:
    """The miss was invented; then Bob resigned, which excuses nothing before."""
    lie.begin()
    lie.order(lie.text())
    lie.miss()
    lie.write("bob", "resign m1 game 1\n")
    return lie.over()


def orders_came_too_late(lie: Dropper) -> bytes:
    """They came after the miss, and before the claim, and were acknowledged."""
    lie.begin()
    lie.reach()
    lie.referee.wait(OVER)
    assert SEAT in lie.match.missed
    lie.say("bob", "orders", lie.text())
    assert lie.match.orders[SEAT].standing, lie.bob.text
    lie.forget(lie.at)
    lie.others_move()
    return lie.claim()


def orders_withdrawn(lie: Dropper) -> bytes:
    """A withdrawal of an earlier revision is to excuse the later one."""
    lie.begin()
    lie.order(lie.game.other, keep=1)
    withdrawn = lie.withdraw()
    # The letter about its turn asked a player without a key for plain words, and brought no form.
    lie.say("bob", "orders", lie.text(), 3, f"turn {lie.match.turn}")
    assert lie.match.orders[SEAT].rev == 3, lie.bob.text
    lie.forget(lie.at, by=withdrawn)
    lie.others_move()
    return lie.claim()


def orders_refused(lie: Dropper) -> bytes:
    """Legal orders are listed as unused in their turn, and others of Bob's played."""
    lie.begin()
    _, last = lie.order(lie.game.other, lie.text(), keep=1)
    lie.unused[False].append(last)
    return lie.play_on()


def orders_refused_at_the_end(lie: Dropper) -> bytes:
    """The same in the turn that ends the game, in whose last trace nobody is asked any more."""
    lie.begin()
    lie.at = len(lie.game.turns)
    _, last = lie.order(lie.right(), lie.game.conditional or lie.game.other, keep=1)
    lie.unused[True].append(last)
    return lie.play_on()


def orders_missed_at_the_end(lie: Dropper) -> bytes:
    """A miss is invented in that turn, and what stood then listed as unused."""
    lie.begin()
    lie.at = len(lie.game.turns)
    first, _ = lie.order(lie.text(), lie.game.other)
    lie.miss()
    lie.unused[True].append(first)
    lie.say("bob", "orders", f"final\n{lie.right()}", 5)
    return lie.over()


def orders_replaced_by_refused_ones(lie: Dropper) -> bytes:
    """A letter that was refused in the turn itself is to have replaced them before it."""
    lie.begin()
    lie.order(lie.text())
    lie.referee.wait(timedelta(hours=1))
    form = lie.bob.filled("orders", lie.game.refused, rev=2)
    heads = [entry.head for entry in lie.entries() if entry.type in {"commitments", "turn"}]
    form = form.replace(heads[-1], heads[-2])
    raw = lie.referee.raw(lie.bob, lie.referee.signed(lie.bob, form))
    lie.referee.deliver(raw, lie.bob.address)
    assert "Refused" in lie.bob.text, lie.bob.text
    lie.obey(raw, 2, unused=True)
    lie.others_move()
    return lie.claim()


def orders_of_a_refused_letter(lie: Dropper) -> bytes:
    """Bob ordered twice in one letter, and was told that neither counts; then the first is played."""
    lie.begin()
    lie.reach()
    form = lie.bob.filled("orders", lie.text()) + lie.bob.filled("orders", lie.game.other)
    raw = lie.referee.raw(lie.bob, lie.referee.signed(lie.bob, form))
    lie.referee.deliver(raw, lie.bob.address)
    assert "Refused" in lie.bob.text, lie.bob.text
    text, match = lie.text(), lie.match
    assert match.position is not None
    judged = match.rules.order(match.position, SEAT, text)
    lie.put(orders={**match.orders, SEAT: counting(match, SEAT, replace(lie.obey(raw, 1), text=text), judged)})
    return lie.play_on()


def orders_left_later(lie: Dropper) -> bytes:
    lie.begin()
    lie.order(lie.game.other, lie.text(), keep=1)
    lie.others_move()
    lie.referee.wait(timedelta(hours=2))
    return lie.leave()


def orders_of_a_newcomer(lie: Dropper) -> bytes:
    """Carl takes Bob's seat, and what he orders is dropped."""
    lie.begin()
    lie.reach()
    lie.people["bob"] = lie.hand_over()
    lie.order(lie.game.other, lie.text(), keep=1)
    return lie.play_on()


def orders_handed_over_later(lie: Dropper) -> bytes:
    lie.begin()
    lie.order(lie.game.other, lie.text(), keep=1)
    lie.others_move()
    lie.referee.wait(timedelta(hours=2))
    lie.hand_over()
    return lie.over()


def orders_missed_and_handed_over(lie: Dropper) -> bytes:
    """A miss is invented; as Bob is said to be gone, the others give his seat to Carl."""
    lie.begin()
    lie.order(lie.text())
    lie.others_move()
    return handed_over(lie)


def handed_over(lie: Dropper) -> bytes:
    lie.referee.wait(OVER)
    assert SEAT in lie.match.missed
    lie.hand_over(gone=True)
    return lie.over()


def setup_missed_and_handed_over(lie: Dropper) -> bytes:
    lie.set_up()
    lie.forget_setup()
    lie.others_set_up()
    return handed_over(lie)


def withdrawn_orders_played(lie: Dropper) -> bytes:
    """The orders are played that Bob had withdrawn."""
    lie.begin()
    lie.order(lie.text(), keep=1)
    first = lie.match.orders[SEAT]
    lie.withdraw()
    lie.forget(lie.at, by=first)
    return lie.play_on()


def withdrawn_orders_left_later(lie: Dropper) -> bytes:
    """The same; then Bob resigns."""
    lie.begin()
    lie.order(lie.text(), keep=1)
    first = lie.match.orders[SEAT]
    lie.withdraw()
    lie.forget(lie.at, by=first)
    lie.others_move()
    lie.referee.wait(timedelta(days=6))
    return lie.leave()


def withdrawn_orders_forgotten(lie: Dropper) -> bytes:
    """The game ends in their turn, without a trace of the withdrawal."""
    lie.begin()
    lie.order(lie.text(), keep=1)
    lie.withdraw()
    lie.forget(lie.at)
    return lie.over()


# Default orders.


def default_replaced(lie: Dropper) -> bytes:
    """The default orders are played that Bob had replaced."""
    lie.begin("default")
    lie.by_default(lie.game.other, lie.text(), keep=1)
    lie.miss()
    return lie.play_on()


def default_of_an_earlier_letter(lie: Dropper) -> bytes:
    """The same, where no letter gives its revision: that of the first is now said to be the higher one."""
    lie.begin("default")
    first, _ = lie.by_default(lie.game.other, lie.text(), keep=1, revs=False)
    lie.forget(DEFAULT, by=replace(first, rev=3, paper=replace(Receipt.read(first.paper), rev=3).text()))
    lie.miss()
    return lie.play_on()


def default_refused(lie: Dropper) -> bytes:
    """The same; at the end of the game, the others are listed as unused."""
    lie.begin("default")
    _, last = lie.by_default(lie.game.other, lie.text(), keep=1)
    lie.unused[True].append(last)
    lie.miss()
    return lie.over()


def default_refused_at_the_end(lie: Dropper) -> bytes:
    """The same in the turn that ends the game, after which nobody is asked any more."""
    lie.at = len(lie.game.turns)
    return default_refused(lie)


def default_never_came(lie: Dropper) -> bytes:
    """Ann claims the game from Bob, although he had sent default orders."""
    lie.begin("default")
    lie.by_default(lie.text())
    lie.others_move()
    return lie.claim()


def default_refused_although_legal(lie: Dropper) -> bytes:
    """The same, where they are listed as unused in the turn that was due."""
    lie.begin("default")
    lie.unused[True] += lie.by_default(lie.text())
    lie.others_move()
    return lie.claim()


def default_withdrawn(lie: Dropper) -> bytes:
    """A withdrawal of an earlier revision is to excuse the later one."""
    lie.begin("default")
    lie.by_default(lie.game.other, keep=1)
    withdrawn = lie.withdraw(default=True)
    lie.say("bob", "orders", lie.text(), 3, "default")
    assert lie.match.stored[SEAT, DEFAULT].rev == 3, lie.bob.text
    lie.forget(DEFAULT, by=withdrawn)
    lie.others_move()
    return lie.claim()


def withdrawn_default_played(lie: Dropper) -> bytes:
    lie.begin("default")
    (first,) = lie.by_default(lie.text(), keep=1)
    lie.withdraw(default=True)
    lie.forget(DEFAULT, by=first)
    lie.miss()
    return lie.play_on()


def default_left_later(lie: Dropper) -> bytes:
    lie.begin("default")
    lie.by_default(lie.game.other, lie.text(), keep=1)
    lie.miss()
    return lie.leave()


def default_missed_and_handed_over(lie: Dropper) -> bytes:
    """They are withheld until the others give Bob's seat to Carl, who orders in that turn."""
    lie.begin("default")
    lie.by_default(lie.text())
    lie.miss()
    assert SEAT in lie.match.missed
    carl = lie.hand_over(gone=True)
    lie.referee.send(carl, carl.filled("orders", f"final\n{lie.right()}"))
    return lie.over()


def withdrawn_default_forgotten(lie: Dropper) -> bytes:
    """The game ends without a trace of the withdrawal."""
    lie.begin("default")
    lie.by_default(lie.text(), keep=1)
    lie.withdraw(default=True)
    lie.forget(DEFAULT)
    return lie.over()
