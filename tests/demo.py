"""A whole match by mail, for looking at: the real server, two scripted players, and the proof at the end.

The demo starts `pbem serve` on a fresh store and a free port, and is the server's smarthost itself: each letter is
filed in the maildir of the player that it is for. The players, ann and bob (and cem), reach the server only by SMTP
and know only what their letters say; how they play each game is in `demo_players/`. They play a continued match of
two games of Spaceships, or one game of another kind, to its end; then `pbem verify` judges the bundle that came with
the last letter. Exit status 0 means that all of it went well. `make demo GAME=shoot-em-up` runs it; the play is the
same for the same --seed.

`make demo-many` has three servers, which share a store in PostgreSQL and are written to in turn. One of them is
killed as soon as it has taken a letter: the others handle that, and nobody notices but by the time that it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import email
import email.policy
import json
import mailbox
import queue
import re
import shutil
import signal
import smtplib
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from aiosmtpd.smtp import SMTP
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pbem.identity import ssh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from aiosmtpd.smtp import Envelope, Session

SERVER = "play.example"
SEED = "34"
PLAYED = ("spaceships", "dueling-masters", "shoot-em-up")
PATIENCE = 20.0  # seconds until a letter counts as lost
FATAL = 11
"""With several servers, the letter whose server is killed when it has taken it: orders, in the midst of a game."""

MARKER = ".made-by-the-demo"
SCORES = r"^  (\w+) +(\d+)$"
PBEM = str(Path(sys.executable).with_name("pbem"))

CONFIG = """\
server = "{server}"
operator = "operator@{server}"
store = "{store}"
keys = "{keys}"

[smtp]
listen = "127.0.0.1:0"

[smarthost]
host = "127.0.0.1"
port = {port}

[log]
format = "text"
"""


class Trouble(Exception):
    """Something that the demo promises did not happen; the message says what."""


# Mail


class PostOffice:
    """The smarthost: takes each letter of the server, files it in a maildir, and lets the player know."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boxes: dict[str, tuple[mailbox.Maildir, queue.Queue[bytes]]] = {}
        self._loop = asyncio.new_event_loop()
        self.port = 0

    def box(self, address: str) -> queue.Queue[bytes]:
        """Open the mailbox of an address; what comes in is in the queue, too."""
        name = address.partition("@")[0]
        arrivals: queue.Queue[bytes] = queue.Queue()
        self._boxes[address] = mailbox.Maildir(self._folder / name), arrivals
        return arrivals

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        raw = envelope.content
        assert isinstance(raw, bytes)
        for recipient in envelope.rcpt_tos:
            if recipient not in self._boxes:
                return "550 5.1.1 nobody of that name here"
            maildir, arrivals = self._boxes[recipient]
            maildir.add(raw.replace(b"\r\n", b"\n"))
            arrivals.put(raw)
        return "250 2.0.0 filed"

    @contextmanager
    def opened(self) -> Iterator[PostOffice]:
        thread = threading.Thread(target=self._loop.run_forever, name="post office")
        thread.start()
        listening = self._loop.create_server(
            lambda: SMTP(self, hostname="smarthost.example", loop=self._loop), "127.0.0.1", 0
        )
        server = asyncio.run_coroutine_threadsafe(listening, self._loop).result(PATIENCE)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(server.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()


class Server:
    """The server as a process of its own: the place where it listens, its log, its end."""

    def __init__(self, folder: Path, smarthost: int, store: str, keys: Path) -> None:
        folder.mkdir(exist_ok=True)
        config, self._ready, self._log = folder / "pbem.toml", folder / "ready.json", folder / "server.log"
        config.write_text(CONFIG.format(server=SERVER, port=smarthost, store=store, keys=keys), "utf-8")
        command = [PBEM, "serve", "--config", str(config), "--ready-file", str(self._ready)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.port = 0

    def get_ready(self) -> None:
        """Wait until it listens."""
        self._wait(self._ready.exists, "the server does not get ready")
        self.port = json.loads(self._ready.read_text("utf-8"))["smtp"]["port"]

    def _wait(self, condition: Callable[[], bool], trouble: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise Trouble(f"{trouble}, {PATIENCE:.0f} s long")
            time.sleep(0.02)

    def check(self) -> None:
        """Make sure that it still runs."""
        status = self._process.poll()
        if status is not None:
            raise Trouble(f"the server ended by itself, with status {status}")

    def stop(self) -> None:
        """Ask it to end, and make sure that it ends well."""
        self.check()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Trouble("the server does not stop at SIGTERM") from None
        if status:
            raise Trouble(f"the server stopped with status {status}")

    def kill(self) -> None:
        """Leave nothing running, whatever happened."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines: int = 25) -> str:
        return "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-lines:])


class Servers:
    """One server, or several that share a store: each letter goes to the next of them."""

    def __init__(self, folder: Path, smarthost: int, store: str, number: int) -> None:
        self._living: list[Server] = []
        self._several = number > 1
        self._taken = 0
        self._killed = 0.0
        """When one was killed whose letter is not answered yet."""
        try:
            for each in range(1, number + 1):
                own = folder / f"server-{each}" if self._several else folder
                self._living.append(Server(own, smarthost, store, folder / "keys"))
                self._living[-1].get_ready()  # the first one makes the keys
        except BaseException:
            self.kill()
            raise

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self._living]

    def take(self, message: EmailMessage) -> None:
        """Give a letter to the next server; if it is the fatal one, that server takes no other."""
        self._taken += 1
        server = self._living[self._taken % len(self._living)]
        with smtplib.SMTP("127.0.0.1", server.port, timeout=PATIENCE) as connection:
            connection.send_message(message)
            if self._several and self._taken == FATAL:
                server.kill()
                self._living.remove(server)
                self._killed = time.monotonic()
                print(f"The server at 127.0.0.1:{server.port} has taken a letter and is killed.", flush=True)
                connection.close()

    def answered(self) -> None:
        """Say how long it took until the letter was answered whose server died."""
        if self._killed:
            print(f"Its letter is answered {time.monotonic() - self._killed:.1f} s later.", flush=True)
            self._killed = 0.0

    def check(self) -> None:
        for server in self._living:
            server.check()

    def stop(self) -> None:
        for server in self._living:
            server.stop()

    def kill(self) -> None:
        for server in self._living:
            server.kill()

    def log_tail(self) -> str:
        return "\n\n".join(server.log_tail() for server in self._living)


class Letter:
    """A letter as its reader sees it: the text without what it quotes, and the attachments."""

    def __init__(self, raw: bytes) -> None:
        self.message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(self.message, EmailMessage)
        part = self.message.get_body(("plain",))
        whole = str(part.get_content()).replace("\r\n", "\n") if part else ""
        self.text = "\n".join(line for line in whole.split("\n") if not line.startswith(">"))

    def parts(self) -> list[Letter]:
        """The letter, as many times as it tells of something, each with the text about that alone."""
        found = []
        for text in self.text.split(f"\n\n{'=' * 72}\n\n"):
            part = copy(self)
            part.text = text
            found.append(part)
        return found

    def form(self, kind: str, length: int | None = None) -> str:
        """The form that begins with this word, up to its `end` or so many lines long."""
        lines = self.text.split("\n")
        start = next((at for at, line in enumerate(lines) if line.startswith(f"{kind} ")), None)
        if start is None:
            raise Trouble(f"a letter without a form “{kind}”:\n\n{self.text}")
        end = start + length if length else lines.index("end", start) + 1
        return "\n".join(lines[start:end]) + "\n"

    def filled(self, kind: str, block: str) -> str:
        head = self.form(kind).removesuffix("end\n").rstrip("\n")
        return f"{head}\n{block}\nend\n"

    def attached(self, suffix: str) -> dict[str, Any]:
        """What an attachment for programs says."""
        found: dict[str, Any] = json.loads(self.attachment(suffix)[1])
        return found

    def attachment(self, suffix: str) -> tuple[str, bytes]:
        for part in self.message.iter_attachments():
            name = part.get_filename() or ""
            if name.endswith(suffix):
                content = part.get_content()
                return name, content if isinstance(content, bytes) else str(content).encode()
        raise Trouble(f"the letter “{self.message['Subject']}” has no attachment {suffix}")


@dataclass
class Player:
    """One player: an address, a key, and the letters that came and were not yet taken up."""

    name: str
    server: Servers
    arrivals: queue.Queue[bytes]
    random: Random
    key: Ed25519PrivateKey
    letters: list[Letter] = field(default_factory=list)
    sent: int = 0

    @property
    def address(self) -> str:
        return f"{self.name}@mail.example"

    def send(self, text: str, *, answering: Letter | None = None, sign: bool = True) -> None:
        """Mail a text, signed as `pbem sign` would, to the server or in answer to one of its letters."""
        self.sent += 1
        message = EmailMessage(email.policy.SMTP)
        message["From"] = f"{self.name.title()} <{self.address}>"
        message["To"] = str(answering.message["Reply-To"] or f"pbem@{SERVER}") if answering else f"pbem@{SERVER}"
        message["Subject"] = f"Re: {answering.message['Subject']}" if answering else "A match"
        message["Message-ID"] = f"<{self.sent}.{self.name}@mail.example>"
        message.set_content(text + (ssh.sign(self.key, text.encode(), f"pbem@{SERVER}") if sign else ""))
        self.server.take(message)

    def wait(self, words: str) -> Letter:
        """The letter that says these words, now or soon."""
        end = time.monotonic() + PATIENCE
        while True:
            for letter in self.letters:
                if words in letter.text:
                    self.letters.remove(letter)
                    self.server.answered()
                    return letter
            self._receive(words, end)

    def _receive(self, words: str, end: float) -> None:
        try:
            letter = Letter(self.arrivals.get(timeout=0.25))
        except queue.Empty:
            self.server.check()
            if time.monotonic() > end:
                waiting = "".join(f"\n  {letter.message['Subject']}" for letter in self.letters)
                raise Trouble(f"{self.name} waits in vain for “{words.strip()}”; unread:{waiting}") from None
            return
        if "nothing was changed" in letter.text:
            raise Trouble(f"{self.name} was refused:\n\n{letter.text}")
        self.letters += letter.parts()


def new_player(folder: Path, name: str, seed: str, server: Servers, office: PostOffice) -> Player:
    """A player with a fresh key, written as `ssh-keygen` would."""
    key = Ed25519PrivateKey.generate()
    file = folder / f"{name}.key"
    file.touch(0o600)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    file.with_suffix(".key.pub").write_text(f"{ssh.public(key)} {name}@mail.example\n", "utf-8")
    player = Player(name, server, queue.Queue(), Random(f"{seed} {name}"), key)
    player.arrivals = office.box(player.address)
    return player


# The match


def register(player: Player) -> None:
    player.send(f"register {player.name}\n{ssh.public(player.key)} {player.name}@mail.example\n", sign=False)
    challenge = player.wait("To prove that the key")
    player.send(challenge.form("confirm").replace("NAME", player.name), answering=challenge)
    player.wait(f"You are registered as {player.name}.")


def agree(players: Sequence[Player], game: str, plays: ModuleType) -> None:
    first, *others = players
    names = " ".join(other.name for other in others)
    place = f"server {SERVER}\nplayer {first.name}"
    first.send(f"new {game} with {names}\n{place}\n{plays.TERMS}\nsettle: 0\nend\n")
    first.wait("Proposed:")
    for other in others:
        proposal = other.wait("accept m1")
        form = proposal.form("accept", 1)
        other.send(form, answering=proposal)
        print(f"{first.name} proposes, {other.name} accepts: {form}", end="")
    print()


def headed(plays: ModuleType, game: int, what: str) -> str:
    """How the title of a letter about this game ends."""
    return f", game {game}: {what}" if plays.GAMES > 1 else f": {what}"


def set_up(player: Player, game: int, plays: ModuleType) -> None:
    letter = player.wait(headed(plays, game, "send your setup"))
    player.send(letter.filled("setup", plays.setup(player.random, letter)), answering=letter)
    player.wait("Your setup stands")


def play_turn(
    players: Sequence[Player], letters: list[Letter], game: int, turn: int, plays: ModuleType
) -> list[Letter]:
    """All who are asked order; gives the reports, which hold the forms of the next turn."""
    for player, letter in zip(players, letters, strict=True):
        if "\norders m1 " in letter.text:
            player.send(letter.filled("orders", f"final\n{plays.orders(player.random, letter)}"), answering=letter)
            player.wait(f"Your orders for turn {turn} stand")
    reports = [player.wait(headed(plays, game, f"turn {turn}\n")) for player in players]
    names = {seat: player.name for seat, player in enumerate(players, start=1)}
    told = {plays.told(report.attached(f"turn-{turn}.json")["reports"], names) for report in reports}
    if len(told) > 1:
        raise Trouble(f"game {game}, turn {turn}: the reports tell of different things: {told}")
    print(f"game {game}, turn {turn}: {told.pop()}", flush=True)
    return reports


def play_game(players: Sequence[Player], game: int, plays: ModuleType) -> list[Letter]:
    """Play one game from setups to reveal; gives the reports that the first player got."""
    for player in players:
        set_up(player, game, plays)
    letters = [player.wait(headed(plays, game, "the game begins")) for player in players]
    reports: list[Letter] = []
    for turn in range(1, plays.TURNS + 1):
        letters = play_turn(players, letters, game, turn, plays)
        reports.append(letters[0])
        if "The game is over." in letters[0].text:
            return reports
    raise Trouble(f"game {game} does not end")


def reveal(players: Sequence[Player], game: int, plays: ModuleType) -> Letter:
    """The letter of the end, which each player gets; the first player's."""
    letters = [player.wait(headed(plays, game, "the end")) for player in players]
    line = re.search(r"^.* after \d+ turns?.*$", letters[0].text, re.MULTILINE)
    score = re.findall(r"^Score (?:of this game|after 1 game): (.*)\.$", letters[0].text, re.MULTILINE)
    if not line or not score:
        raise Trouble(f"the letter of the end of game {game} names no result")
    print(f"game {game}: {line[0]} Scores: {score[-1]}\n", flush=True)
    return letters[0]


def play(players: Sequence[Player], game: str, plays: ModuleType) -> tuple[Letter, Letter]:
    """The whole match; gives a report from the midst of it, and the last letter with a bundle."""
    for player in players:
        register(player)
        print(f"{player.name} is registered with the key {ssh.parse(ssh.public(player.key)).fingerprint}")
    agree(players, game, plays)
    shown: list[Letter] = []
    last: list[Letter] = []
    for number in range(1, plays.GAMES + 1):
        reports = play_game(players, number, plays)
        shown.append(reports[len(reports) // 2])
        last.append(reveal(players, number, plays))
    closed = [player.wait("the match is closed") for player in players]
    outcome = re.search(
        r"^.*(?:(?:has|have) (?:won|lost) the match|The match is a draw).*$", closed[0].text, re.MULTILINE
    )
    if not outcome:
        raise Trouble(f"the match is closed without a result:\n\n{closed[0].text}")
    print(outcome[0])
    for name, score in re.findall(SCORES, closed[0].text, re.MULTILINE):
        print(f"  {name} {score}")
    return shown[0], last[-1]


def verify(folder: Path, letter: Letter) -> Path:
    """Let `pbem verify` judge the bundle of a letter, and show what it says."""
    name, content = letter.attachment(".pbem.zip")
    bundle = folder / name
    bundle.write_bytes(content)
    print(f"\n$ pbem verify {bundle}", flush=True)
    done = subprocess.run(
        [PBEM, "verify", str(bundle)], timeout=3 * PATIENCE, check=False, capture_output=True, text=True
    )
    print(done.stdout, end="")
    if done.returncode:
        raise Trouble(f"pbem verify: status {done.returncode}\n{done.stderr}")
    return bundle


def rule(title: str) -> str:
    return f"\n---- {title} {'-' * (74 - len(title))}\n"


def demonstrate(folder: Path, game: str, seed: str, servers: int, store: str) -> None:
    plays = import_module(f"demo_players.{game.replace('-', '_')}")
    office = PostOffice(folder)
    with office.opened():
        server = Servers(folder, office.port, store, servers)
        try:
            office.box(f"operator@{SERVER}")
            players = [new_player(folder, name, seed, server, office) for name in plays.NAMES]
            places = ", ".join(f"127.0.0.1:{port}" for port in server.ports)
            who = "The servers listen" if servers > 1 else "The server listens"
            print(f"{who} at {places}; letters go out to 127.0.0.1:{office.port}.\n")
            shown, last = play(players, game, plays)
            server.stop()
            print(f"The server{'s have' if servers > 1 else ' has'} stopped, status 0.")
        except Exception:
            print(f"{rule('the end of the log')}{server.log_tail()}\n", file=sys.stderr)
            raise
        finally:
            server.kill()
    print(f"{rule('one letter of many')}Subject: {shown.message['Subject']}\n\n{shown.text}{rule('end of it')}")
    bundle = verify(folder, last)
    maildirs = ", ".join(str(folder / name) for name in plays.NAMES)
    print(f"\nMaildirs  {maildirs}   (look into them with: mutt -f {folder / 'ann'})")
    logs = ", ".join(map(str, sorted(folder.rglob("server.log"))))
    print(f"Store     {folder / store if servers == 1 else store}\nLog       {logs}\nBundle    {bundle}")


def fresh(folder: Path) -> Path:
    """Make the folder anew; one that the demo did not make is left alone."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise Trouble(f"{folder} is not empty and was not made by the demo: name another with --keep")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Play a match by mail, and prove it.")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, default=Path("demo-output"), help="the folder that is left behind"
    )
    parser.add_argument("--game", choices=PLAYED, default=PLAYED[0], help="which game is played")
    parser.add_argument("--seed", default=SEED, help="another seed, another match")
    parser.add_argument("--servers", type=int, default=1, help="how many servers share the store")
    parser.add_argument("--store", default="store.sqlite", help="postgresql://..., where there are several")
    given = parser.parse_args()
    start = time.monotonic()
    try:
        demonstrate(fresh(given.keep).resolve(), given.game, given.seed, given.servers, given.store)
    except (Trouble, OSError, smtplib.SMTPException, subprocess.TimeoutExpired) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    print(f"Done in {time.monotonic() - start:.1f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
