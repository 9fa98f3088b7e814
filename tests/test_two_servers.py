"""Two servers that are made to write to each other: every letter that one sends the other dies there."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.referee import MAIL_SERVER, Referee
from signing.domains import Domain, rsa_key

from pbem.desk.daily_limits import NEW_MAILBOX
from pbem.desk.reading import InProcess
from pbem.desk.strangers import EACH
from pbem.desk.wiring import Desk
from pbem.identity import parse_key, ssh
from pbem.mail.compose import Composer
from pbem.store.database import to_db
from pbem.store.inbox import Envelope
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE, TWO = "one.example", "two.example"


class Server(Referee):
    """A desk of another name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        folder.mkdir()
        super().__init__(folder, name)

    def open_desk(self) -> None:
        self.config = msgspec.structs.replace(self.config, server=self.name, operator=f"operator@{self.name}")
        composer = Composer(self.name, "pbem", self.templates)
        reader = InProcess(self.config.limits)
        self.desk = Desk(self.config, self.database, self.vault, self.signing_key, composer, self.die, reader)

    def add(self, name: str, address: str) -> None:
        """A player who proved once to have this address; the key is made from the name."""
        key = parse_key(ssh.public(self.person(name).key))
        with self.database.transaction():
            row = KeyRow(key.format, key.fingerprint, key.public)
            self.desk.players.add(name, address, row, to_db(self.now))
        self.desk.players.forget()

    def sentence(self, name: str, text: str) -> str:
        person = self.person(name)
        return text + ssh.sign(person.key, text.encode(), f"pbem@{self.name}")


class Post:
    """Two servers, and the mail between them: each vouches for what it sends, and bounces what it does not know."""

    def __init__(self, folder: Path) -> None:
        self.servers = {name: Server(folder / name, name) for name in (ONE, TWO)}
        self.domains = [Domain(name, key=rsa_key(1024)) for name in self.servers]
        for server in self.servers.values():
            server.records |= {domain.where: domain.record for domain in self.domains}
        self.sent: Counter[tuple[str, str]] = Counter()
        """The number of letters from each server to each address."""

    def write(self, server: str, text: str, sender: str, *, envelope: str = "", headers: str = "") -> None:
        """A letter to a server, and all that comes of it."""
        to = f"pbem@{server}"
        head = f"From: {sender}\nTo: {to}\nSubject: x\nMessage-ID: <{next(self.servers[server].sent)}@x.example>\n"
        raw = f"{head}{headers}\n{text}".replace("\n", "\r\n").encode()
        self.servers[server].inbox.put(Envelope(envelope or sender, (to,)), raw, self.servers[server].now)
        self.carry()

    def carry(self) -> None:
        """Carry letters to and fro until there are none."""
        while any([self._work(server) for server in self.servers.values()]):  # noqa: C419 - each has its turn
            assert self.sent.total() < 200, self.sent

    def _work(self, server: Server) -> bool:
        moved = False
        while server.running.handle_next(server.now) or server.look_up():
            moved = True
        server.running.tick(server.now)
        while row := server.outbox.lease(server.now):
            moved = True
            self.sent[server.name, row.recipient] += 1
            with server.database.transaction():
                server.outbox.delivered(row.id, "250 ok", server.now)
            self._deliver(server, row.recipient, row.raw, f"pbem+b{row.token}@{server.name}")
        return moved

    def _deliver(self, server: Server, recipient: str, raw: bytes, sender: str) -> None:
        local, _, host = recipient.lower().rpartition("@")
        if (other := self.servers.get(host)) is None:
            return
        if local.partition("+")[0] not in {"pbem", "postmaster", "operator"}:
            report = f"From: <>\nSubject: Undelivered Mail\n\n{recipient}: no such user\n".replace("\n", "\r\n")
            server.inbox.put(Envelope("", (sender,)), report.encode(), server.now)
            return
        domain = next(one for one in self.domains if one.name == server.name)
        word = f"Authentication-Results: {MAIL_SERVER}; spf=pass smtp.mailfrom={sender}\r\n".encode()
        other.inbox.put(Envelope(sender, (recipient,)), word + domain.sign(raw, other.now), other.now)

    def days(self, count: int) -> None:
        for _ in range(count):
            for server in self.servers.values():
                server.now += timedelta(days=1)
                server.alive()
            self.carry()

    def between(self) -> int:
        """The number of letters from one of the servers to the other, or to itself."""
        return sum(count for (_, to), count in self.sent.items() if to.rpartition("@")[2] in self.servers)


_MARKS = re.compile(
    rb"(?im)^(?:auto-submitted|x-[a-z-]+|list-[a-z]+|message-id|in-reply-to|references|from):.*\r\n(?:[ \t].*\r\n)*"
)


class Gateway(Post):
    """The same behind a gateway that takes all marks off, and writes From and Message-ID anew."""

    def __init__(self, folder: Path, sender: str) -> None:
        super().__init__(folder)
        self._sender = sender

    def _deliver(self, server: Server, recipient: str, raw: bytes, sender: str) -> None:
        number = self.sent.total()
        sender = self._sender.format(number, server.name)
        host = recipient.rpartition("@")[2]
        head = f"From: {sender}\r\nMessage-ID: <{number}@gateway.example>\r\n".encode()
        if host in self.servers:
            super()._deliver(server, f"pbem@{host}", head + _MARKS.sub(b"", raw), sender)


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    made = Post(tmp_path)
    yield made
    for server in made.servers.values():
        server.close()


VOUCHED = f"Authentication-Results: {MAIL_SERVER}; spf=pass smtp.mailfrom=pbem@{TWO}\n"
EVE = "eve@elsewhere.example"


@pytest.mark.parametrize(
    ("sender", "text", "headers", "most"),
    [
        (f"pbem@{TWO}", "register two\n", "", 1),
        (f"pbem@{TWO}", "help\n", VOUCHED, 1),
        (f"pbem+m1.x@{TWO}", "stop\n", "", 1),
        (f"postmaster@{TWO}", "help\n", "", 0),
        (f"nobody@{TWO}", "help\n", "", 1),
        (f"operator@{TWO}", "help\n", "", 1),
        (EVE, "help\n", f"Reply-To: pbem@{TWO}\n", 0),
        (f"pbem@{ONE}", "help\n", "", 0),
        (f"pbem+m1.x@{ONE}", "help\n", "", 0),
    ],
)
def test_an_answer_is_not_answered(post: Post, sender: str, text: str, headers: str, most: int) -> None:
    post.write(ONE, text, sender, headers=headers)
    assert post.between() == most, post.sent


@pytest.mark.parametrize(("sender", "most"), [("pbem@{1}", 30), ("ticket-{0}@{1}", 4 * NEW_MAILBOX.most + 2)])
@pytest.mark.parametrize("text", ["help\n", "hello\n", "register two\n", "rules spaceships\n", "stop\n"])
def test_a_gateway_that_takes_all_marks_off_makes_no_endless_loop(
    tmp_path: Path, sender: str, most: int, text: str
) -> None:
    made = Gateway(tmp_path, sender)
    made.write(ONE, text, sender.format("x", TWO), headers=VOUCHED.replace(f"pbem@{TWO}", sender.format("x", TWO)))
    assert 0 < made.between() <= most
    for server in made.servers.values():
        server.close()


def test_forged_letters_in_each_others_name_bring_each_three_a_day(post: Post) -> None:
    for number in range(8):
        post.write(ONE, f"help\n# {number}\n", f"pbem@{TWO}", envelope=EVE)
        post.write(TWO, f"help\n# {number}\n", f"pbem@{ONE}", envelope=EVE)
    assert post.between() == 2 * EACH


def test_a_server_that_plays_at_another_says_nothing(post: Post) -> None:
    """Each is a player at the other, is invited, proposed to, made observer, written to, and misses its turns."""
    one, two = post.servers.values()
    for here, other in ((one, TWO), (two, ONE)):
        here.add("rival", f"pbem@{other}")
        here.add("ann", "ann@mail.example")
    for server in post.servers:
        place = f"server {server}\nplayer ann\n"

        def say(text: str, name: str = "ann", server: str = server) -> None:
            sender = "ann@mail.example" if name == "ann" else f"pbem@{TWO if server == ONE else ONE}"
            post.write(server, post.servers[server].sentence(name, text), sender)

        say(f"new spaceships with pbem+x@{TWO if server == ONE else ONE}\n{place}end\n")
        say(f"new spaceships with rival\n{place}pace: 1d\nmiss: pass\nend\n")
        hashed = post.servers[server].match(2).rules_hash
        say(f"accept m2 {hashed}\n", "rival")
        assert post.servers[server].match(2).phase == "setup"
        say(f"observe m2\n{place.replace('ann', 'rival')}end\n", "rival")
        say(f"set mail digest\n{place.replace('ann', 'rival')}end\n", "rival")
        for number in range(3):
            say(f"press m2\n{place}Hello {number}.\nend\n")
    post.days(40)
    assert post.between() >= 10
    # What came is what was written here and what the other sent: nothing of it brought a further letter.
    outcomes = [
        row["outcome"]
        for server in post.servers.values()
        for row in server.database.rows("SELECT outcome FROM inbox WHERE sender LIKE 'pbem+b%'")
    ]
    assert len(outcomes) == post.between()
    assert all(outcome.startswith("automatic") for outcome in outcomes)
    sent = post.sent.copy()
    post.days(60)
    assert post.sent == sent
