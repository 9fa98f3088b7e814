"""A live daemon under odd mail, fuzzers, floods and bombs: it lives, and stays small.

Nothing here looks at what is answered but for one thing: the daemon is the same process, of bounded size, and serves
the others. Mutations come from a seed that is printed; another one is taken from PBEM_SEED.
"""

from __future__ import annotations

import asyncio
import contextlib
import email
import os
import smtplib
import socket
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from attackers.hostile_letters import letters as hostile_letters
from attackers.hostile_letters import plain
from data.material import KEYS
from machines.crashes import Table
from machines.house import deliver
from machines.lives import MAILBOX, Server, Smarthost, children

from pbem.config.limits import Limits
from pbem.desk.reading import Question, find
from pbem.games import GAMES
from pbem.identity import parse_key
from pbem.mail.marks import Arrival, marks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.store.database import Database

RECEIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOUND = 64 * 2**20  # octets by which a daemon may grow, whatever comes
HELP = b"From: anna@mail.example\r\nMessage-ID: <%d@mail.example>\r\n\r\nhelp\r\n"
ROOMY = "[limits]\nletters_per_day = 100000\nmessages_per_connection = 10000\n"


@pytest.fixture
def smarthost() -> Iterator[Smarthost]:
    with Smarthost().open() as smarthost:
        yield smarthost


@pytest.fixture
def server(tmp_path: Path, smarthost: Smarthost) -> Iterator[Server]:
    server = Server(tmp_path, smarthost.port, f'{ROOMY}[lmtp]\nlisten = "unix:lmtp"\n')
    server.start(worker=True)
    yield server
    server.kill()


def seed() -> Random:
    given = os.environ.get("PBEM_SEED") or "pbem"
    print(f"PBEM_SEED={given}")
    return Random(given)


def size(pid: int) -> int:
    """The peak memory of a daemon and its desk, in octets; a reader has a limit of its own."""
    return sum(peak(process) for process in (pid, *children(pid)))


def peak(pid: int) -> int:
    """The peak memory of a process, in octets."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024


def settled(server: Server) -> None:
    """Wait until the desk has been through all letters."""
    end = time.monotonic() + 300
    with server.store() as (_, inbox, _):
        while inbox.count("waiting") + inbox.count("leased"):
            assert server.alive
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.odd
def test_all_odd_mail_by_smtp_and_lmtp(server: Server, odd_and_signed_mail: list[bytes]) -> None:
    server.send(HELP % 0)
    settled(server)
    born, before = server.pid, size(server.pid)
    with smtplib.SMTP("127.0.0.1", server.port, "client.example", timeout=120) as client:
        for mail in odd_and_signed_mail:
            assert client.sendmail("anna@mail.example", [MAILBOX], mail) == {}
    with smtplib.LMTP(str(server.folder / "lmtp"), local_hostname="client.example", timeout=120) as client:
        for mail in odd_and_signed_mail:
            # One recipient: smtplib's LMTP reads no more than one reply.
            assert client.sendmail("bob@mail.example", [MAILBOX], mail) == {}
    settled(server)
    assert server.pid == born
    assert size(server.pid) - before < BOUND
    with server.store() as (database, inbox, _):
        assert inbox.count("done") == inbox.count()
        assert database.scalar("SELECT count(*) FROM players") == 0
        assert database.scalar("SELECT count(*) FROM entries") == 0
    server.stop()


VERBS = [
    b"EHLO x", b"HELO x", b"LHLO x", b"MAIL FROM:<a@mail.example>", b"MAIL FROM:<>", b"RCPT TO:<pbem@play.example>",
    b"RCPT TO:<x@y>", b"DATA", b".", b"RSET", b"NOOP", b"QUIT", b"HELP", b"VRFY x", b"EXPN x", b"AUTH PLAIN",
    b"STARTTLS", b"BDAT 5 LAST", b"Subject: x", b"", b"From: a@mail.example", b"GET / HTTP/1.0",
    b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2",
]  # fmt: skip
JUNK = [b"\r\n", b"\n", b"\r", b"\r\n.\r\n", b"\x00", b"\xff", b" ", b"<", b">", b":", b"x" * 3000, b"\x16\x03\x01"]


def babble(random: Random) -> bytes:
    """The babble of a client that knows some words."""
    words = []
    for _ in range(random.randint(1, 40)):
        words.append(random.choice(VERBS) if random.random() < 0.8 else random.randbytes(random.randint(1, 60)))
        words.append(b"\r\n" if random.random() < 0.85 else random.choice(JUNK))
    return b"".join(words)


def fuzz_socket(server: Server, random: Random, rounds: int) -> None:
    for number in range(rounds):
        babbled = babble(random)
        lmtp = number % 3 == 0
        client = socket.socket(socket.AF_UNIX if lmtp else socket.AF_INET)
        with client, contextlib.suppress(OSError):
            client.settimeout(0.05)
            client.connect(str(server.folder / "lmtp") if lmtp else ("127.0.0.1", server.port))
            at = 0
            while at < len(babbled):
                step = random.choice((1, 7, 100, 5000))
                client.sendall(babbled[at : at + step])
                at += step
                if random.random() < 0.3:
                    client.recv(4000)
            if random.random() < 0.5:
                client.shutdown(socket.SHUT_WR)
                while client.recv(4000):
                    pass
        assert server.alive, babbled


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.long)])
def test_a_fuzzer_at_the_socket(server: Server, rounds: int) -> None:
    random = seed()
    server.send(HELP % 0)
    before = size(server.pid)
    fuzz_socket(server, random, rounds)
    assert server.send(HELP % 1).startswith("250")
    settled(server)
    assert size(server.pid) - before < BOUND
    server.stop()


PIECES = [
    b"Content-Type: multipart/mixed; boundary=b\r\n", b"Content-Type: text/plain; charset=", b"--b\r\n", b"--b--\r\n",
    b"From: ", b"a@b.example", b"=?utf-8?q?", b"?=", b"Content-Transfer-Encoding: base64\r\n", b"name*0*=", b"; ",
    b"-----BEGIN PGP SIGNED MESSAGE-----\r\n", b"-----BEGIN PGP SIGNATURE-----\r\n",
    b"-----END PGP SIGNATURE-----\r\n", b"-----BEGIN SSH SIGNATURE-----\r\n", b"-----END SSH SIGNATURE-----\r\n",
    b"-----BEGIN PGP SIGNATURE-----", b"\r\n\r\n", b"Content-Disposition: attachment; filename=orders.txt.sig\r\n",
    b"\xef\xbb\xbf", b"\x00", b"orders m1 turn 1\r\n",
]  # fmt: skip


def mutated(random: Random, mail: bytes) -> bytes:
    """A letter with some of its octets cut, doubled, moved, changed, or replaced by what means something."""
    data = bytearray(mail)
    for _ in range(random.randint(1, 8)):
        at, to = sorted(random.randrange(len(data) + 1) for _ in range(2))
        to = min(to, at + random.choice((1, 20, 2000)))
        way = random.randrange(5)
        if way == 0:
            del data[at:to]
        elif way == 1:
            data[at:at] = data[at:to] * random.choice((1, 1, 50))
        elif way == 2:
            data[at:at] = random.choice(PIECES)
        elif way == 3:
            data[at:to] = random.randbytes(to - at)
        else:
            data[at:at] = random.choice(PIECES) * random.choice((1, 3, 200))
    return bytes(data[:300_000])


@pytest.mark.odd
@pytest.mark.parametrize("rounds", [600, pytest.param(30_000, marks=pytest.mark.long)])
def test_a_fuzzer_at_the_reader(odd_and_signed_mail: list[bytes], rounds: int) -> None:
    """No exception, no surrogate that could not be stored, and the same verdict twice."""
    random = seed()
    keys = [parse_key((KEYS / name).read_bytes()) for name in ("pgp-anna.pub.asc", "sm-p256.crt", "ssh-ed25519.pub")]
    read = 0
    for _ in range(rounds):
        raw = mutated(random, random.choice(odd_and_signed_mail))
        began = time.process_time()
        question = Question(raw, RECEIVED, "play.example", keys, returned=True)
        found = find(question, Limits())
        if found.understood is None:
            continue
        read += 1
        letter = found.letter
        marks_of(Arrival(letter, "a@b.example", MAILBOX, 50))
        assert found == find(question, Limits())
        repr(letter).encode()
        assert time.process_time() - began < 10, raw[:2000]
    assert read > rounds / 2


@pytest.mark.odd
@pytest.mark.parametrize("rounds", [40, pytest.param(1500, marks=pytest.mark.long)])
def test_mutated_letters_through_a_live_daemon(server: Server, odd_and_signed_mail: list[bytes], rounds: int) -> None:
    random = seed()
    before = size(server.pid)
    with smtplib.SMTP("127.0.0.1", server.port, "client.example", timeout=120) as client:
        for _ in range(rounds):
            with contextlib.suppress(smtplib.SMTPDataError):
                client.sendmail("anna@mail.example", [MAILBOX], mutated(random, random.choice(odd_and_signed_mail)))
    settled(server)
    with server.store() as (_, inbox, _):
        assert inbox.count("done") == inbox.count() > rounds / 2
    assert size(server.pid) - before < BOUND
    server.stop()


async def others(server: Server, seconds: list[float], done: asyncio.Event) -> None:
    """Somebody else, from another address, who sends letters all the time; how long each took."""
    number = 0
    while not done.is_set():
        number += 1
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, local_addr=("127.0.0.9", 0))
        commands = [b"", b"HELO x", b"MAIL FROM:<anna@mail.example>", b"RCPT TO:<pbem@play.example>", b"DATA"]
        for command in [*commands, HELP % number + b"."]:
            writer.write(command + b"\r\n" if command else b"")
            reply = await reader.readline()
            assert reply[:1] in b"23", reply
        seconds.append(time.monotonic() - began)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        await asyncio.sleep(0.05)


async def flood(server: Server, count: int) -> None:
    """Open this many connections, and hold them as long as the server lets them be."""
    room = asyncio.Semaphore(400)

    async def one() -> None:
        async with room:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(), 1)
                writer.close()

    await asyncio.gather(*(one() for _ in range(count)))


async def oversized(server: Server, piece: bytes, times: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"HELO x\r\nMAIL FROM:<evil@x.example>\r\nRCPT TO:<pbem@play.example>\r\nDATA\r\n")
    with contextlib.suppress(ConnectionError):
        for _ in range(times):
            writer.write(piece)
            await writer.drain()
        writer.write(b"\r\n.\r\n")
        assert b"250 2.0.0 stored" not in await asyncio.wait_for(reader.readuntil(b"too"), 60)
    writer.close()


async def bombs(server: Server) -> None:
    nested = b"From: evil@x.example\r\n"
    for level in range(900):
        nested += b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level)
    wide = b"From: evil@x.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 1200
    for number in range(30):
        for bomb in (nested, wide):
            raw = bomb + b"\r\n%d\r\n" % number
            assert (await asyncio.to_thread(server.send, raw, f"evil{number}@x.example")).startswith("250")


SHEETS = "".join(f"sheet {game}\r\nrules {game}\r\n" for game in GAMES) + "help\r\n" * 20


@cache
def heavy_letters() -> list[bytes]:
    """Some of the heaviest letters of each kind, and short ones that ask for much."""
    letters = dict(hostile_letters())
    names = (
        "marks -----BEGIN SSH SIGNATURE-----",
        "DER with long tags",
        "DER with a long number",
        "lines in base64",
        "options",
    )
    chosen = [*(letters[name].raw for name in names), *[plain(SHEETS)] * 5] * 2
    return [raw.replace(b"<1@", b"<heavy.%d@" % number) for number, raw in enumerate(chosen)]


async def heavy(server: Server) -> None:
    for number, raw in enumerate(heavy_letters()):
        reply = await asyncio.to_thread(server.send, raw, f"evil{number}@x.example")
        assert reply.startswith("250"), reply


ATTACKS: dict[str, Any] = {
    "heavy letters": heavy,
    "5,000 connections": lambda server: flood(server, 5000),
    "a letter of 30 MB": lambda server: oversized(server, (b"x" * 998 + b"\r\n") * 100, 300),
    "30 MB of empty lines": lambda server: oversized(server, b"\r\n" * 50_000, 300),
    "30 MB without a line end": lambda server: oversized(server, b"x" * 100_000, 300),
    "MIME bombs": bombs,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_memory_is_bounded_and_the_others_are_served(
    server: Server, attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.send(HELP % 0)
    if attack == "heavy letters":
        server.send(heavy_letters()[-1], "evil@x.example")  # what it loads once is no growth
    settled(server)
    before = size(server.pid)
    seconds: list[float] = []

    async def main() -> None:
        done = asyncio.Event()
        other = asyncio.create_task(others(server, seconds, done))
        await asyncio.sleep(0.2)
        began = len(seconds)
        await ATTACKS[attack](server)
        while len(seconds) < began + 3:  # noqa: ASYNC110 - what is waited for is the server's doing
            await asyncio.sleep(0.05)
        done.set()
        await other

    asyncio.run(main())
    settled(server)
    grown = size(server.pid) - before
    with capsys.disabled():
        print(f"\n{attack}: grown by {grown / 2**20:.1f} MiB; others waited {max(seconds):.2f} s at most", end=" ")
    assert grown < BOUND
    server.stop()


HEAVY = 1000
GAMES_BESIDE = 40
"""More than are played while the letters of the attack are worked on."""

MOST_MEMORY = 160 * 2**20  # octets, of any process of the server
MOST_TO_OTHERS = 2**20  # octets that go out for the attack; it brings 78 MiB

ACCEPTED, ANSWERED = 1.0, 5.0
"""Within how many seconds a player's letter is taken, and its answer brought to the smarthost."""


class Beside(Table):
    """Two players at play while somebody else writes, and how long each of their letters took meanwhile."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "beside", terms=f"fleet: cost:9\nkind: scored\ngames: {GAMES_BESIDE}\nsettle: 1s")
        self.smarthost._random = None  # takes all letters at once
        self.accepted: list[float] = []
        self.brought: list[float] = []
        self.to_others: list[int] = []
        """The octets of each letter that went out and was no player's own business."""
        self.peaks: dict[int, int] = {}
        """The peak memory of each process of the server, in octets."""
        self.most_waiting = 0
        """The most letters of others that waited at once."""
        self.seconds = 0.0
        """From the first letter of the attack until none of it waited."""
        self.replies: Counter[int] = Counter()
        """The replies to the attack while it sent."""
        self._orders = 0
        self._under_way: dict[str, float] = {}
        self._over = False

    def play_beside(self, attack: Callable[[Server, Counter[int]], None]) -> None:
        """Begin a match, and play on while letters of an attack come in, until none of these waits."""
        with self.smarthost.open():
            server = Server(self.folder, self.smarthost.port, ROOMY)
            server.start(worker=True)
            self.servers = [server]
            try:
                self.begin()
                self.until(lambda: self._orders >= 4)
                self.accepted.clear()
                self.brought.clear()
                self._under_way.clear()
                began = time.monotonic()
                attacker = threading.Thread(target=attack, args=(server, self.replies))
                attacker.start()
                with server.store() as (database, _, _):
                    self.until(lambda: not self._waiting(database) and not attacker.is_alive())
                self.seconds = time.monotonic() - began
                self._over = True
                self.until(lambda: not self._under_way)
                server.stop()
            finally:
                server.kill()

    def _waiting(self, database: Database) -> int:
        """The number of letters of others that wait; their answers may still be under way."""
        of_others = "state = 'waiting' AND attempts = 0 AND suspect = 0 AND network <> ''"
        count = int(database.scalar(f"SELECT count(*) FROM inbox WHERE {of_others}"))
        self.most_waiting = max(self.most_waiting, count)
        return count

    def post(self) -> None:
        for player in self.players.values():
            while player.outgoing and not self._over:
                raw = player.outgoing.pop(0)
                began = time.monotonic()
                assert self.servers[0].send(raw, player.address).startswith("250")
                self.accepted.append(time.monotonic() - began)
                self._under_way[str(email.message_from_bytes(raw)["Message-ID"])] = began
                self._orders += b"\norders m" in raw

    def collect(self) -> bool:
        for process in family(self.servers[0].pid):
            with contextlib.suppress(FileNotFoundError, IndexError):  # a reader may have ended
                self.peaks[process] = peak(process)
        return super().collect()

    def take(self, recipient: str, raw: bytes) -> None:
        answered = str(email.message_from_bytes(raw)["In-Reply-To"])
        if recipient not in self.players or answered.startswith("<heavy."):
            self.to_others.append(len(raw))
            return
        if began := self._under_way.pop(answered, None):
            self.brought.append(time.monotonic() - began)
        super().take(recipient, raw)


def family(process: int) -> list[int]:
    """A process, and all that it started."""
    return [process, *(one for child in children(process) for one in family(child))]


def write_heavily(server: Server, replies: Counter[int]) -> None:
    """The heaviest letter of each kind in turn, each from another address in another network, as fast as can be.

    Every other one is in a player's name, half of these by the envelope, too.
    """
    letters = [letter.raw for _, letter in hostile_letters()] + [plain(SHEETS)] * 20
    for number in range(HEAVY):
        raw = letters[number * 37 % len(letters)].replace(b"<1@", b"<heavy.%d@" % number)
        sender, client = f"evil{number}@x{number}.example", f"10.{number // 250}.{number % 250}.1"
        if number % 2:
            raw = raw.replace(b"From: ann@mail.example", b"From: " + sender.encode())
        elif number % 4:
            sender = "ann@mail.example"
        replies[deliver(server.port, raw, sender, client=client)[0]] += 1


def shares(seconds: list[float]) -> str:
    """The middle of so many, that which one in a hundred is above, and the most."""
    ordered = sorted(seconds)
    of = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "most": -1}
    return ", ".join(f"{name} {ordered[at]:.2f} s" for name, at in of.items())


@pytest.mark.long
def test_two_play_on_beside_a_thousand_heavy_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 31: players' letters are taken within a second and answered within five, whatever strangers send."""
    table = Beside(tmp_path)
    table.play_beside(write_heavily)
    with capsys.disabled():
        print(f"\nheavy letters, by reply: {dict(table.replies)}, in {table.seconds:.0f} s", end="; ")
        print(f"waiting at once: {table.most_waiting}")
        print(f"{len(table.accepted)} letters of players: taken: {shares(table.accepted)}")
        print(f"answered: {shares(table.brought)}")
        print(f"memory of each process, MiB: {[octets >> 20 for octets in table.peaks.values()]}")
        print(f"to others: {len(table.to_others)} letters of {sum(table.to_others)} octets")
    assert table.replies.keys() == {250, 552}, "some are too large"
    assert table.replies.total() == HEAVY
    assert max(table.accepted) < ACCEPTED
    # The reader gives way to others (nice): where they take the whole processor, one letter in a hundred may be late.
    assert len(table.brought) >= 50
    assert sorted(table.brought)[len(table.brought) * 99 // 100] < ANSWERED
    assert max(table.brought) < 4 * ANSWERED
    assert max(table.peaks.values()) < MOST_MEMORY
    assert sum(table.to_others) < MOST_TO_OTHERS
