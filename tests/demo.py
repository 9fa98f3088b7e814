"""A whole match by mail, for looking at: the real server, two scripted players, and the proof at the end.

The demo starts `pbem serve` on a fresh store and a free port, and is the server's smarthost itself: each letter is
filed in the maildir of the player that it is for. The players, ann and bob, reach the server only by SMTP and know
only what their letters say; they read the printed charts and lists as people do. They play a continued match of two
games of Spaceships to its end; then `pbem verify` judges the bundle that came with the last letter.
Exit status 0 means that all of it went well. `make demo` runs it; the play is the same for the same --seed.
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
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from aiosmtpd.smtp import SMTP
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pbem.identity import ssh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aiosmtpd.smtp import Envelope, Session

SERVER = "play.example"
SEED = "34"
GAMES = 2
PATIENCE = 20.0  # seconds until a letter counts as lost
TURNS = 80  # no game between players who strike lasts longer
MARKER = ".made-by-the-demo"
SCORES = r"^  (\w+) +(\d+)$"
PBEM = str(Path(sys.executable).with_name("pbem"))

CONFIG = """\
server = "{server}"
operator = "operator@{server}"
store = "store.sqlite"
keys = "keys"

[smtp]
listen = "127.0.0.1:0"

[smarthost]
host = "127.0.0.1"
port = {port}

[log]
format = "text"
"""


class Trouble(Exception):  # noqa: N818 - a sentence for who runs the demo
    """Something that the demo promises did not happen; the message says what."""


# The space: 125 cells, and every place that a ship of each type can take.

Point = tuple[int, int, int]
CELLS = {at: "ROYGB"[at[0]] + "vwxyz"[at[1]] + "12345"[at[2]] for at in product(range(5), repeat=3)}
POINTS = {cell: at for at, cell in CELLS.items()}
BOXES = {
    "DS": (2, 2, 2),
    "KC": (3, 2, 1),
    "FS": (2, 2, 1),
    "PC": (4, 1, 1),
    "MD": (3, 1, 1),
    "HS": (2, 1, 1),
    "LS": (1, 1, 1),
    "AG": (2, 1, 1),
    "LG": (1, 1, 1),
}
LETTERS = dict(zip(BOXES, "DKFPMHSAG", strict=True))  # as they stand in the printed charts
ADDITIONAL = {"KC": 6, "FS": 4, "MD": 3, "AG": 2, "LG": 1}


def places(box: Point) -> list[frozenset[str]]:
    """All places of a box, whichever way it is turned."""
    found = set()
    turned = {
        (box[a], box[b], box[c]) for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    }
    for sides in turned:
        for corner in product(*(range(6 - side) for side in sides)):
            cells = product(*(range(low, low + side) for low, side in zip(corner, sides, strict=True)))
            found.add(frozenset(CELLS[a, b, c] for a, b, c in cells))
    return sorted(found, key=sorted)


PLACES = {code: places(box) for code, box in BOXES.items()}
DIRECTIONS: list[Point] = [d for d in product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1)) if d > (0, 0, 0)]


def step(cell: str, direction: Sequence[int], times: int = 1) -> str | None:
    a, b, c = (at + times * by for at, by in zip(POINTS[cell], direction, strict=True))
    return CELLS.get((a, b, c))


def beam_lines() -> list[tuple[Point, tuple[str, str, str]]]:
    lines: list[tuple[Point, tuple[str, str, str]]] = []
    for cell, direction in product(POINTS, DIRECTIONS):
        second, third = step(cell, direction), step(cell, direction, 2)
        if second and third:
            lines.append((direction, (cell, second, third)))
    return lines


BEAM_LINES = beam_lines()


# Setups


def fleet(random: Random, additional: int) -> list[str]:
    """The types of a standard fleet, and of additional ships that cost exactly so much."""
    codes = ["DS", "KC", random.choice(("FS", "PC")), "MD", random.choice(("LS", "HS"))]
    while additional:
        code = random.choice([code for code, cost in ADDITIONAL.items() if cost <= additional])
        codes.append(code)
        additional -= ADDITIONAL[code]
    return sorted(codes, key=list(BOXES).index)


def packed(random: Random, codes: Sequence[str]) -> list[frozenset[str]]:
    """A place for each ship, none in another's way; begun anew whenever the room gives out."""
    while True:
        taken: set[str] = set()
        found: list[frozenset[str]] = []
        for code in codes:
            free = [place for place in PLACES[code] if taken.isdisjoint(place)]
            if not free:
                break
            found.append(random.choice(free))
            taken |= found[-1]
        if len(found) == len(codes):
            return found


def setup(random: Random, letter: str) -> str:
    """A setup such as the letter asks for."""
    asked = re.search(r"To these you add ships whose costs add up to exactly (\d+)", " ".join(letter.split()))
    codes = fleet(random, int(asked[1]) if asked else 0)
    several = Counter(codes)
    number: Counter[str] = Counter()
    lines = []
    for code, place in zip(codes, packed(random, codes), strict=True):
        number[code] += 1
        name = f"{code}{number[code]}" if several[code] > 1 else code
        lines.append(" ".join([name, *sorted(place, key=POINTS.__getitem__)]))
    return "\n".join(lines)


# What a letter says of the position


class Due(NamedTuple):
    """One line of what may be ordered: how many, and the text beside it."""

    many: int
    detail: str


def chart(letter: str, title: str) -> dict[str, str]:
    """The symbol of each cell in the chart under this title: five grids of 15 columns side by side."""
    lines = letter.split("\n")
    top = next(at for at, line in enumerate(lines) if line.startswith(title)) + 3
    return {cell: lines[top + row][15 * colour + 4 + 2 * column] for (colour, row, column), cell in CELLS.items()}


def due(letter: str) -> dict[str, Due]:
    """What may be ordered, by kind."""
    lines = letter.partition("you may order any or all of:")[2].partition("Written, say:")[0]
    text = re.sub(r"\n {29}", " ", lines)  # long lines go on under their text
    found = re.findall(
        r"^ +(\d+) (conventional|beam|missile|kamikaze|scan)s?\b(?: strikes?)?(.*)$", text, re.MULTILINE
    )
    return {kind: Due(int(count), detail.strip()) for count, kind, detail in found}


def sunk(letter: str) -> set[str]:
    """The cells of the opponent's ships that were wholly destroyed."""
    listed = re.findall(r"all destroyed: ((?:[ROYGB][v-z][1-5]\s*)+)", letter)
    return set(" ".join(listed).split())


def launches(detail: str) -> list[list[str]]:
    """The cells that may launch, ship by ship: `MD from Bx1, By1 or Bz1; LG2 from Oz1`."""
    return [re.findall(r"[ROYGB][v-z][1-5]", ship.partition(" from ")[2]) for ship in detail.split(";") if ship]


def beam_directions(letter: str) -> list[Point]:
    """Along which lines the death star can still fire: two whole cells of it lie that way."""
    own = chart(letter, "Your space")
    whole = {cell for cell, symbol in own.items() if symbol == "D"}
    return [d for d in DIRECTIONS if any(step(cell, d) in whole for cell in whole)]


class Position:
    """The opponent's space as the letter draws it, and where a strike is worth most."""

    def __init__(self, random: Random, letter: str, opponent: str) -> None:
        self._chart = chart(letter, f"{opponent}'s space")
        self._sunk = sunk(letter)
        self._worth = dict.fromkeys(POINTS, 0.0)
        for code, all_places in PLACES.items():
            for place in all_places:
                weight = self._weight(code, place)
                for cell in place if weight else ():
                    self._worth[cell] += weight
        for cell, symbol in self._chart.items():
            standing = symbol == "#" or (symbol.isupper() and symbol != "X")
            unseen = symbol == "."
            self._worth[cell] = 1e6 if standing else self._worth[cell] * (0.9 + random.random() / 5) * unseen

    def _weight(self, code: str, place: frozenset[str]) -> float:
        """How likely a ship of this type lies just here: more for each wound that it would explain."""
        symbols = [self._chart[cell] for cell in place]
        if "o" in symbols or not self._sunk.isdisjoint(place):
            return 0.0
        if any(symbol not in ".#X" and symbol.upper() != LETTERS[code] for symbol in symbols):
            return 0.0
        return 30.0 ** sum(symbol != "." for symbol in symbols)

    def surest(self) -> float:
        return max(self._worth.values())

    def target(self) -> str:
        """The best cell; what lies around it is then worth a little less, to spread strikes that seek."""
        best = max(self._worth, key=self._worth.__getitem__)
        self._aimed(best)
        return best

    def beam(self, directions: Sequence[Point]) -> tuple[str, str, str]:
        possible = [line for direction, line in BEAM_LINES if direction in directions]
        best = max(possible, key=lambda line: sum(self._worth[cell] for cell in line))
        for cell in best:
            self._aimed(cell)
        return best

    def _aimed(self, cell: str) -> None:
        self._worth[cell] = 0.0
        for direction in DIRECTIONS:
            for by in (1, -1):
                near = step(cell, direction, by)
                if near and self._worth[near] < 1e6:
                    self._worth[near] *= 0.8


def orders(random: Random, letter: str, opponent: str) -> str:
    """Sensible orders: strikes where they are worth most, scans at what is left; kamikazes only at a sure hit."""
    may = due(letter)
    if not may:
        return ""
    position = Position(random, letter, opponent)
    lines = [
        f"m{random.choice(cells)} {position.target()}" for cells in launches(may.get("missile", Due(0, "")).detail)
    ]
    lines += [position.target() for _ in range(may.get("conventional", Due(0, "")).many)]
    if "beam" in may:
        first, _, last = position.beam(beam_directions(letter))
        lines.append(f"b{first}{last}")
    for cells in launches(may.get("kamikaze", Due(0, "")).detail):
        if position.surest() >= 1e6:
            lines.append(f"k{random.choice(cells)} {position.target()}")
    lines += [f"s{position.target()}" for _ in range(may.get("scan", Due(0, "")).many)]
    return "\n".join(lines)


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

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd
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
        server = self._loop.run_until_complete(
            self._loop.create_server(
                lambda: SMTP(self, hostname="smarthost.example", loop=self._loop), "127.0.0.1", 0
            )
        )
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=self._loop.run_forever, name="post office")
        thread.start()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(server.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()


class Server:
    """The server as a process of its own: the place where it listens, its log, its end."""

    def __init__(self, folder: Path, smarthost: int) -> None:
        config, self._ready, self._log = folder / "pbem.toml", folder / "ready.json", folder / "server.log"
        config.write_text(CONFIG.format(server=SERVER, port=smarthost), "utf-8")
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


class Letter:
    """A letter as its reader sees it: the text without what it quotes, and the attachments."""

    def __init__(self, raw: bytes) -> None:
        self.message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(self.message, EmailMessage)
        part = self.message.get_body(("plain",))
        whole = str(part.get_content()).replace("\r\n", "\n") if part else ""
        self.text = "\n".join(line for line in whole.split("\n") if not line.startswith(">"))

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
    server: Server
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
        with smtplib.SMTP("127.0.0.1", self.server.port, timeout=PATIENCE) as connection:
            connection.send_message(message)

    def wait(self, words: str) -> Letter:
        """The letter that says these words, now or soon."""
        end = time.monotonic() + PATIENCE
        while True:
            for letter in self.letters:
                if words in letter.text:
                    self.letters.remove(letter)
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
        self.letters.append(letter)


def new_player(folder: Path, name: str, seed: str, server: Server, office: PostOffice) -> Player:
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
    player.send(challenge.form("confirm"), answering=challenge)
    player.wait(f"You are registered as {player.name}.")


def agree(ann: Player, bob: Player) -> None:
    ann.send(f"new spaceships with {bob.name}\nkind: continued\ngames: {GAMES}\nsettle: 0\nend\n")
    ann.wait("Proposed:")
    proposal = bob.wait("accept m1")
    form = proposal.form("accept", 1)
    bob.send(form, answering=proposal)
    print(f"ann proposes, bob accepts: {form}")


def set_up(player: Player, game: int) -> None:
    letter = player.wait(f"game {game}: your setup is asked for")
    player.send(letter.filled("setup", setup(player.random, letter.text)), answering=letter)
    player.wait("Your setup stands")


def hits(report: Letter) -> Counter[int]:
    """Hits by seat, from the attachment for programs."""
    _, content = report.attachment(".json")
    told: list[dict[str, Any]] = json.loads(content)["reports"]
    return Counter(each["seat"] for each in told if each.get("result") == "hit")


def counted(player: Player, number: int) -> str:
    return f"{player.name} {number} {'hit' if number == 1 else 'hits'}"


def play_turn(players: Sequence[Player], letters: list[Letter], game: int, turn: int) -> list[Letter]:
    """Both order; gives the reports, which hold the forms of the next turn."""
    for player, letter in zip(players, letters, strict=True):
        opponent = next(other.name for other in players if other is not player)
        block = f"final\n{orders(player.random, letter.text, opponent)}"
        player.send(letter.filled("orders", block), answering=letter)
    for player in players:
        player.wait(f"Your orders for turn {turn} stand")
    reports = [player.wait(f"game {game}: turn {turn}\n") for player in players]
    ann, bob = (hits(report) for report in reports)
    if ann != bob:
        raise Trouble(f"game {game}, turn {turn}: the two reports tell of different hits")
    told = ", ".join(counted(player, ann[seat]) for seat, player in enumerate(players, 1))
    print(f"game {game}, turn {turn}: {told}", flush=True)
    return reports


def play_game(players: Sequence[Player], game: int) -> list[Letter]:
    """Play one game from setups to reveal; gives the reports that the first player got."""
    for player in players:
        set_up(player, game)
    letters = [player.wait(f"game {game}: the game begins") for player in players]
    reports: list[Letter] = []
    for turn in range(1, TURNS):
        letters = play_turn(players, letters, game, turn)
        reports.append(letters[0])
        if "The game is over." in letters[0].text:
            return reports
    raise Trouble(f"game {game} does not end")


def reveal(players: Sequence[Player], game: int) -> Letter:
    """The letter of the end, which each player gets; the first player's."""
    letters = [player.wait(f"game {game}: the end") for player in players]
    line = re.search(r"^.* after \d+ turns?.*$", letters[0].text, re.MULTILINE)
    scores = re.findall(SCORES, letters[0].text, re.MULTILINE)
    if not line:
        raise Trouble(f"the letter of the end of game {game} names no result")
    print(f"game {game}: {line[0]} {', '.join(' '.join(score) for score in scores)}\n", flush=True)
    return letters[0]


def play(players: Sequence[Player]) -> tuple[Letter, Letter]:
    """The whole match; gives a report from the midst of it, and the last letter with a bundle."""
    for player in players:
        register(player)
        print(f"{player.name} is registered with the key {ssh.parse(ssh.public(player.key)).fingerprint}")
    agree(*players)
    shown: list[Letter] = []
    last: list[Letter] = []
    for game in range(1, GAMES + 1):
        reports = play_game(players, game)
        shown.append(reports[len(reports) // 2])
        last.append(reveal(players, game))
    closed = [player.wait("the match is closed") for player in players]
    outcome = re.search(r"^.*(?:has won the match|The match is a draw).*$", closed[0].text, re.MULTILINE)
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


def demonstrate(folder: Path, seed: str) -> None:
    office = PostOffice(folder)
    with office.opened():
        server = Server(folder, office.port)
        try:
            server.get_ready()
            office.box(f"operator@{SERVER}")
            players = [new_player(folder, name, seed, server, office) for name in ("ann", "bob")]
            print(f"The server listens at 127.0.0.1:{server.port}; its letters go to 127.0.0.1:{office.port}.\n")
            shown, last = play(players)
            server.stop()
            print("The server has stopped, status 0.")
        except Exception:
            print(f"{rule('the end of the log')}{server.log_tail()}\n", file=sys.stderr)
            raise
        finally:
            server.kill()
    print(f"{rule('one letter of many')}Subject: {shown.message['Subject']}\n\n{shown.text}{rule('end of it')}")
    bundle = verify(folder, last)
    print(f"\nMaildirs  {folder / 'ann'}, {folder / 'bob'}   (look into them with: mutt -f {folder / 'ann'})")
    print(f"Store     {folder / 'store.sqlite'}\nLog       {folder / 'server.log'}\nBundle    {bundle}")


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
        "--keep", metavar="DIR", type=Path, default=Path("demo"), help="the folder that is left behind"
    )
    parser.add_argument("--seed", default=SEED, help="another seed, another match")
    given = parser.parse_args()
    start = time.monotonic()
    try:
        demonstrate(fresh(given.keep), given.seed)
    except (Trouble, OSError, smtplib.SMTPException, subprocess.TimeoutExpired) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    print(f"Done in {time.monotonic() - start:.1f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
