"""Players' letters beside a flood of others': how many of those are handled before theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attackers.hostile_letters import LINES, plain

from pbem.store.inbox import BATCH, Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from in_a_box.referee import Mailbox, Referee

LARGE = plain("> something quoted, and long\r\n" * (LINES - 100))
ANN = b"ann@mail.example"
ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"


def flood(referee: Referee, count: int, sender: str = "evil{}@x.example") -> None:
    """Letters that are so large that no two of them are handled together."""
    assert len(LARGE) > BATCH / 2
    for number in range(count):
        address = sender.format(number)
        raw = LARGE.replace(b"<1@", b"<flood.%d@" % next(referee.sent)).replace(ANN, address.encode())
        referee.inbox.put(Envelope(address, ("pbem@play.example",), "elsewhere"), raw, referee.now)


def write(referee: Referee, person: Mailbox, rev: int = 1) -> None:
    referee.put(person, person.filled("orders", ORDERS, rev))


def handled(referee: Referee, meanwhile: Callable[[], None]) -> list[str]:
    """The senders of handled letters, in order, if something happens once the first of them is leased."""
    done = {row["id"] for row in referee.database.rows("SELECT id FROM inbox WHERE state = 'done'")}
    senders: list[str] = []
    waits = [meanwhile]

    def look(point: str) -> None:
        if point == "letter leased" and waits:
            waits.pop()()
        if point == "effects committed":
            for row in referee.database.rows("SELECT id, sender FROM inbox WHERE state = 'done' ORDER BY id"):
                if row["id"] not in done:
                    done.add(row["id"])
                    senders.append(row["sender"].partition("@")[0])

    referee.desk.points = look
    referee.work()
    return senders


def test_a_players_letter_waits_for_what_is_in_hand_and_no_longer(referee: Referee) -> None:
    ann, _ = referee.begun()
    flood(referee, 12)
    order = handled(referee, lambda: write(referee, ann))
    assert order.index("ann") <= 2
    assert len(order) == 13
    assert "rev 1" in ann.text


def test_who_writes_in_anns_name_delays_nobody_but_ann(referee: Referee) -> None:
    ann, bob = referee.begun()
    flood(referee, 12, ann.address)
    order = handled(referee, lambda: write(referee, bob))
    assert order.index("bob") <= 2
    assert order.count("ann") == 12
