"""What unfair players tried against a running daemon, by SMTP: false bounces, floods of proposals, questions."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import MAIL_SERVER, body, form_in, sent_from
from judges import sentences
from machines.house import House, configured, run

from pbem.config.server import ClockConfig, Identity
from pbem.config.values import Duration
from pbem.identity import ssh
from pbem.server.desk_opening import open_desk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from email.message import EmailMessage
    from pathlib import Path

HOUR = timedelta(hours=1)
TO = "pbem@play.example"
FAST = "fleet: cost:3\nsettle: 0\npace: 1h\ngrace: 0\nmiss: forfeit"
SETUPS = {"ann": "MD Rv1 Rv2 Rv3", "bob": "MD Gz3 Gz4 Gz5"}
BOUNCE = (
    "From: MAILER-DAEMON@mail.example\r\nTo: {to}\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\nContent-Type:"
    ' multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\nContent-Type:'
    " message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; bob@mail.example"
    "\r\nAction: failed\r\nStatus: 5.1.1\r\n--b--\r\n"
)


class World:
    """The players around a daemon, whose clock can be put forward."""

    house: House

    def __init__(self, folder: Path) -> None:
        self.later = timedelta()
        self.keys: dict[str, Ed25519PrivateKey] = {}
        self.sent = 0
        self.config = configured(
            folder,
            identity=Identity(MAIL_SERVER),
            clock=ClockConfig(outage=Duration(days=300)),
            operator="op@play.example",
        )

    def now(self) -> datetime:
        return datetime.now(UTC) + self.later

    def letters(self, name: str) -> list[EmailMessage]:
        return [
            email.message_from_bytes(raw, policy=email.policy.default)
            for _, recipient, raw in self.house.post.sent
            if recipient == f"{name}@mail.example"
        ]

    async def say(self, name: str, text: str, *, sign: bool = True) -> str:
        """A letter by SMTP; the text of the answer."""
        self.sent += 1
        key = self.keys.setdefault(name, Ed25519PrivateKey.generate())
        signature = ssh.sign(key, text.encode(), TO) if sign else ""
        address, mark = f"{name}@mail.example", f"<{self.sent}.{name}@mail.example>"
        raw = (
            f"From: {name} <{address}>\nTo: {TO}\nSubject: a\nMessage-ID: {mark}\n{sent_from(address)}"
            f"\n{text}{signature}"
        )
        assert (await self.house.send(raw.replace("\n", "\r\n").encode(), address))[0] == 250
        answers: list[EmailMessage] = []

        def answered() -> bool:
            answers[:] = [one for one in self.letters(name) if one["In-Reply-To"] == mark]
            return bool(answers)

        await self.house.until(answered)
        return body(answers[0])

    async def register(self, *names: str) -> None:
        for name in names:
            key = self.keys[name] = Ed25519PrivateKey.generate()
            answer = await self.say(name, f"register {name}\n{ssh.public(key)} {name}@home\n", sign=False)
            assert sentences.YOU_ARE_REGISTERED in await self.say(name, form_in(answer, "confirm"))

    async def propose(self, by: str, to: str, options: str = "") -> str:
        answer = await self.say(by, f"new spaceships with {to}\nserver play.example\nplayer {by}\n{options}\nend\n")
        return answer.partition("match     ")[2].partition("\n")[0]

    async def begin(self, options: str) -> None:
        """Ann and Bob play a match in which turn 1 is due."""
        await self.register("ann", "bob")
        await self.propose("ann", "bob", options)
        proposal = await self.say("bob", "status m1\n", sign=False)
        await self.say("bob", form_in(proposal, "accept", lines=1))
        for name, setup in SETUPS.items():
            await self.fill(name, "setup", setup)

    async def fill(self, name: str, kind: str, text: str) -> None:
        """The latest form of this kind, filled in."""
        await self.house.until(lambda: any(f"\n{kind} m1" in body(one) for one in self.letters(name)))
        form = form_in(next(body(one) for one in reversed(self.letters(name)) if f"\n{kind} m1" in body(one)), kind)
        head = form[: form.index("rev 1\n") + len("rev 1\n")]
        answer = await self.say(name, f"{head}{text}\nend\n")
        assert "Refused" not in answer

    async def bounce(self, name: str) -> None:
        """The latest letter to this person comes back, says somebody."""
        to = next(
            sender for sender, recipient, _ in reversed(self.house.post.sent) if recipient == f"{name}@mail.example"
        )
        before = len(self.letters("ann"))
        assert (await self.house.send(BOUNCE.format(to=to).encode(), "", to))[0] == 250
        await self.house.until(lambda: len(self.letters("ann")) > before)

    async def pass_time(self, time: timedelta) -> None:
        self.later += time
        self.house.daemon.wake()
        await self.say("ann", "help\n", sign=False)


def play(world: World, scene: Callable[[World], Awaitable[None]]) -> None:
    async def played(house: House) -> None:
        world.house = house
        await scene(world)

    run(world.config, played, desk=open_desk, now=world.now)


@pytest.mark.parametrize("unreachable", ["loses", "stands"])
def test_a_silent_player_gains_nothing_by_a_bounce_of_his_own(tmp_path: Path, unreachable: str) -> None:
    async def scene(world: World) -> None:
        await world.begin(f"{FAST}\nunreachable: {unreachable}")
        await world.fill("ann", "orders", "final\nRv1")
        await world.bounce("bob")
        if unreachable == "stands":
            await world.pass_time(25 * HOUR)  # by then it is known that the letter after it arrived
        await world.pass_time(2 * HOUR)
        await world.house.until(lambda: any("You won Spaceships" in body(one) for one in world.letters("ann")))

    play(World(tmp_path), scene)


def digests(world: World) -> list[EmailMessage]:
    return [one for one in world.letters("ann") if "Matches for you" in str(one["Subject"])]


def test_who_proposes_and_withdraws_writes_to_nobody_all_day(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        accounts = [f"mal{number}" for number in range(5)]
        await world.register("ann", *accounts)
        before = len(world.letters("ann"))
        for round_ in range(1, 4):
            for name in accounts:
                await world.propose(name, "ann", f"pace: {round_}d")
        for match in range(1, 15):
            name = accounts[(match - 1) % 5]
            await world.say(name, f"withdraw m{match}\nserver play.example\nplayer {name}\nend\n")
        assert len(world.letters("ann")) - before == 3
        await world.pass_time(24 * HOUR)
        await world.house.until(lambda: bool(digests(world)))
        (last,) = digests(world)
        assert "m15" in body(last)
        assert "m14" not in body(last)

    play(World(tmp_path), scene)


def test_substitute_tells_nobody_who_owes_orders_whether_the_other_came(tmp_path: Path) -> None:
    """The answers to Ann, but for what is quoted, are the same before and after Bob's orders came."""

    async def scene(world: World) -> None:
        await world.begin("fleet: cost:3\nsettle: 0\npace: 1h\ngrace: 0\nmiss: wait")
        await world.register("carl")
        await world.pass_time(2 * HOUR)
        told = [await world.say("ann", "substitute m1 carl for bob\n")]
        await world.fill("bob", "orders", "# none")
        told.append(await world.say("ann", "substitute m1 carl for bob\n# again\n"))
        assert [(sentences.FIRST_SEND_WHAT_IS_DUE in text) for text in told] == [True, True]

    play(World(tmp_path), scene)
