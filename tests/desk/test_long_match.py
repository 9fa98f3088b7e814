"""The long continued match: twenty games over two years, with all that happens to people and servers in between."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Referee, attachment, body, form_in
from judges import sentences
from judges.golden import reads_like

from pbem.identity import ssh
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from in_a_box.referee import Mailbox

    from pbem.match.state import Match

DAY = timedelta(days=1)
CELLS = ["".join(cell) for cell in product("ROYGB", "vwxyz", "12345")]
BASE = 3
CODE = re.compile(r"(?:[0-9a-f]{4}-){7}[0-9a-f]{4}")
BOUNCE = """From: MAILER-DAEMON@mx.example
To: {to}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; bob@mail.example
Action: failed
Status: 5.1.1
--b--
"""


def fleet(cost: int) -> str:
    """A missile destroyer, and light gunboats for the rest, in the first cells of space."""
    gunboats = [f"LG{number} {cell}" for number, cell in enumerate(CELLS[BASE:cost], start=1)]
    if len(gunboats) == 1:
        gunboats = [gunboats[0].replace("LG1", "LG")]
    return "\n".join([f"MD {' '.join(CELLS[:BASE])}", *gunboats])


class Years:
    """Two players, their match of twenty games, and a way to end each."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.left: Mailbox
        self.ann, self.bob = referee.agreed(
            f"fleet: cost:{BASE}\nkind: continued\ngames: 20\npace: 16d\ngrace: 4d\nmiss: pass\nsettle: 10m"
            "\nunreachable: stands"
        )
        referee.send(self.bob, "set timezone America/New_York\n")

    def setups(self) -> None:
        for seat, person in enumerate((self.ann, self.bob)):
            changed: dict[str, Any] = dict(self.match.options.changed) if self.match.options else {}
            additional = changed.get("additional", (0, 0))
            cost = BASE + additional[seat]
            self.referee.send(person, person.filled("setup", fleet(cost)))
            self.referee.wait(5 * DAY)

    @property
    def match(self) -> Match:
        """The match as the desk has it."""
        loaded = self.referee.desk.archive.load(1)
        assert loaded is not None
        return loaded[0]

    def orders(self, person: Mailbox, text: str, final: bool = True) -> None:
        self.referee.send(person, person.filled("orders", ("final\n" if final else "") + text))

    # How a game goes, and ends.

    def by_the_rules(self) -> None:
        for shot in CELLS[:BASE]:
            self.orders(self.ann, shot)
            self.referee.wait(4 * DAY)
            self.orders(self.bob, "")

    def by_resignation(self) -> None:
        self.orders(self.ann, CELLS[0], final=False)
        self.orders(self.bob, CELLS[1], final=False)
        self.referee.wait(5 * DAY)
        self.orders(self.ann, "")
        self.referee.send(self.bob, f"resign m1 game {self.match.game}\n")

    def by_agreement(self) -> None:
        self.orders(self.ann, CELLS[2])
        self.referee.send(self.ann, f"draw m1 offer # game {self.match.game}\n")
        self.referee.wait(3 * DAY)
        self.referee.send(self.bob, f"draw m1 accept # game {self.match.game}\n")

    def by_silence(self) -> None:
        for _ in range(2):
            self.orders(self.bob, CELLS[1])
            self.referee.wait(20 * DAY)

    def by_silence_of_both(self) -> None:
        self.referee.wait(35 * DAY)

    def after_a_miss(self) -> None:
        self.orders(self.ann, CELLS[0])
        self.referee.wait(20 * DAY)
        self.orders(self.ann, CELLS[1])
        self.referee.send(self.ann, f"extend m1 2d # game {self.match.game}\n")
        self.referee.wait(16 * DAY)
        self.orders(self.bob, "")
        self.by_resignation()

    def after_a_vacation(self) -> None:
        today = self.referee.now.date()
        self.referee.send(self.bob, f"vacation {today + DAY} to {today + 6 * DAY}\n")
        self.orders(self.ann, CELLS[0])
        self.referee.wait(25 * DAY)
        self.orders(self.bob, CELLS[3])
        self.by_agreement()

    def after_an_outage(self) -> None:
        self.orders(self.ann, CELLS[0])
        self.referee.wait(5 * DAY)
        self.referee.outage(3 * DAY)
        self.referee.wait(3 * DAY)
        self.orders(self.bob, CELLS[4])
        self.by_resignation()

    def after_a_bounce(self) -> None:
        self.orders(self.ann, CELLS[0])
        query = "SELECT token FROM outbox WHERE recipient = ? ORDER BY id DESC"
        for _ in range(50):
            to = f"pbem+b{self.referee.database.scalar(query, (self.bob.address,))}@play.example"
            self.referee.deliver(BOUNCE.format(to=to).replace("\n", "\r\n").encode(), "", to)
            self.referee.wait(DAY / 2)
        reads_like(self.ann.find("do not reach"), "long-match/unreachable")
        self.referee.send(self.bob, "status m1 # here I am\n")
        reads_like(self.ann.find("can be reached again"), "long-match/reachable")
        self.orders(self.bob, CELLS[3])
        self.by_agreement()

    def after_a_lost_key(self) -> None:
        self.orders(self.ann, CELLS[0])
        code = next(found[0] for letter in self.bob.letters if (found := CODE.search(body(letter))))
        new = Ed25519PrivateKey.from_private_bytes(bytes(range(100, 132)))
        self.referee.send(self.bob, f"recover {code}\n{ssh.public(new)}\n", sign=False)
        self.bob.key = new
        self.referee.send(self.bob, form_in(self.bob.text, "confirm"))
        reads_like(self.ann.find("has changed keys"), "long-match/changed-keys")
        self.orders(self.bob, CELLS[4])
        self.by_resignation()

    def after_a_substitution(self) -> None:
        """Bob is silent; Carl takes the seat, and wants one letter a day."""
        self.orders(self.ann, CELLS[0])
        self.referee.wait(20 * DAY)
        carl = self.referee.registered("carl")
        self.referee.send(carl, "set mail digest\n")
        self.orders(self.ann, CELLS[1])
        self.referee.send(self.ann, "substitute m1 carl for bob\n")
        reads_like(carl.find("will you take"), "long-match/will-you-take-the-seat")
        self.referee.wait(2 * DAY)
        self.referee.send(carl, form_in(body(carl.find("will you take")), "substitute"))
        reads_like(carl.find("your seat"), "long-match/welcome")
        self.left, self.bob = self.bob, carl
        self.orders(self.bob, CELLS[3])
        self.referee.wait(2 * DAY)
        self.by_resignation()

    def after_a_late_letter(self) -> None:
        self.orders(self.ann, CELLS[0], final=False)
        self.orders(self.bob, CELLS[4], final=False)
        self.referee.away = {self.ann.address}
        self.referee.wait(2 * DAY)
        self.referee.away.clear()
        self.referee.wait(DAY)
        reads_like(self.ann.find("you have more time"), "long-match/late-letter")
        self.orders(self.ann, CELLS[1])
        self.orders(self.bob, "")
        self.by_agreement()

    def play(self) -> None:
        ways: list[Callable[[], None]] = [
            self.by_the_rules,
            self.by_resignation,
            self.by_agreement,
            self.after_a_miss,
            self.by_silence,
            self.after_a_vacation,
            self.after_an_outage,
            self.by_silence_of_both,
            self.by_resignation,
            self.by_agreement,
        ]
        later = [self.after_a_bounce, self.after_a_lost_key, self.after_a_substitution, self.after_a_late_letter]
        for game, end in enumerate([*ways, *later, *ways[1:7]], start=1):
            assert self.match.game == game
            self.setups()
            end()
            self.referee.open_desk()
            self.referee.wait(12 * DAY)
        assert self.match.phase == "closed"


def test_twenty_games_over_two_years(referee: Referee) -> None:
    began = referee.now
    years = Years(referee)
    years.play()
    assert referee.now - began > 730 * DAY
    last = years.ann.find("game 20, the end")
    checks = list(verify(attachment(last, ".zip"), Letters))
    assert all(check.holds for check in checks), checks[-1]
    assert sum("the record replays" in check.found for check in checks) == 20
    rows = referee.database.execute("SELECT entry FROM entries WHERE match = 1 ORDER BY seq")
    entries = [json.loads(row[0]) for row in rows]
    reasons = [entry["body"]["reason"] for entry in entries if entry["type"] == "ended"]
    assert set(reasons) == {"rules", "resignation", "agreement", "forfeit", "abandoned"}
    assert {"missed", "extended", "vacation", "moved", "halted", "draw", "forfeited", "keys", "substituted"} <= {
        entry["type"] for entry in entries
    }
    # The running score stands in each letter, from the first finished game on.
    for person in (years.ann, years.bob):
        assert "Score after 19 games: ann" in body(person.find("game 20 begins"))
    assert entries[-1]["body"]["winner"] == 1
    status = "status\n"
    referee.send(years.ann, status, sign=False)
    assert sentences.ONE_MORE_MATCH_IS_OVER in years.ann.text
    referee.send(years.bob, "diary m1\n", sign=False)
    reads_like(years.bob.last, "long-match/diary")
    closed = body(years.bob.find("the match is closed"))
    totals = [sum(entry["body"]["scores"][seat] for entry in entries if entry["type"] == "ended") for seat in (0, 1)]
    assert all(f" {total}\n" in closed for total in totals)
    # No letter twice, by its Message-ID and by what it says.
    for person in (years.ann, years.bob, years.left):
        assert len({letter["Message-ID"] for letter in person.letters}) == len(person.letters)
        reminders = [
            (letter["Subject"], body(letter).split("\n\n")[1])
            for letter in person.letters
            if "a reminder" in str(letter["Subject"])
        ]
        assert len(set(reminders)) == len(reminders) > 10
