"""Two servers and a witness, each a process of its own, that write to each other: every head is cosigned twice."""

from __future__ import annotations

import asyncio
import json
import mailbox
import signal
import smtplib
import subprocess
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from aiosmtpd.smtp import SMTP
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from post_office import PBEM
from referee import Letters, Mailbox, confirming, form_in

from pbem.identity import ssh
from pbem.proof.kept_letters import kept
from pbem.tlog.proof import InclusionProof
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aiosmtpd.smtp import Envelope, Session

pytestmark = pytest.mark.long

ONE, TWO, BOX = "one.example", "two.example", "witness@mail.example"

CONFIG = """\
server = "{name}"
store = "{folder}/pbem.sqlite"
keys = "{folder}/keys"
[smtp]
listen = "127.0.0.1:0"
[smarthost]
port = {port}
[log]
format = "text"
[witness]
every = "1s"
{witness}
"""

WITNESS = """\
name = "w.example"
address = "{box}"
mail_in = "maildir:{maildir}"
mail_out = "smtp://127.0.0.1:{port}"
logs = ["{log} pbem@one.example"]
"""


class Smarthost:
    """Carries letters to servers by their domains, and keeps those to people."""

    def __init__(self, witness: mailbox.Maildir) -> None:
        self.ports: dict[str, int] = {}
        self.people: dict[str, list[bytes]] = {}
        self._witness = witness

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        raw = envelope.content
        assert isinstance(raw, bytes)
        for to in envelope.rcpt_tos:
            if to == BOX:
                self._witness.add(raw.replace(b"\r\n", b"\n"))
            elif port := self.ports.get(to.rpartition("@")[2]):
                send = partial(deliver, port, str(envelope.mail_from or ""), to, raw)
                await asyncio.get_running_loop().run_in_executor(None, send)
            else:
                self.people.setdefault(to, []).append(raw)
        return "250 2.0.0 ok"


def deliver(port: int, sender: str, to: str, raw: bytes) -> None:
    with smtplib.SMTP("127.0.0.1", port) as client:
        client.sendmail(sender, [to], raw)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def smarthost(tmp_path: Path) -> Iterator[tuple[Smarthost, int]]:
    found, loop = Smarthost(mailbox.Maildir(tmp_path / "witnessed")), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listening = loop.create_server(lambda: SMTP(found, loop=loop), "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(listening, loop).result(10)
    yield found, server.sockets[0].getsockname()[1]
    asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(10)
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_match_is_witnessed_by_another_server_and_by_a_program(
    smarthost: tuple[Smarthost, int], tmp_path: Path
) -> None:
    post, port = smarthost
    log = VerifierKey.read(log_of(ONE, tmp_path, port))
    two = VerifierKey(TWO, COSIGNATURE, VerifierKey.read(log_of(TWO, tmp_path, port)).public)
    settings = tmp_path / "witness.toml"
    settings.write_text(WITNESS.format(box=BOX, maildir=tmp_path / "witnessed", port=port, log=log))
    processes: list[subprocess.Popen[str]] = []
    try:
        program = subprocess.Popen(
            [PBEM, "witness", "--config", str(settings)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        processes.append(program)
        assert program.stdout is not None
        own = VerifierKey.read(program.stdout.readline().rpartition(" ")[2])
        witnesses = {
            ONE: f'cosigners = ["{two} pbem@{TWO}", "{own} {BOX}"]',
            TWO: f'logs = ["{log} pbem@{ONE}"]',
        }
        processes += [started(name, tmp_path, port, witness) for name, witness in witnesses.items()]
        for name in witnesses:
            until((tmp_path / name / "ready").exists)
            post.ports[name] = json.loads((tmp_path / name / "ready").read_text())["smtp"]["port"]
        letters = agreed(post)

        # Each of the next letters shows what was seen by then, at last by both.
        def seen() -> set[str]:
            write(post, letters, f"status m1\n# {len(letters.letters)}\n")
            shown = kept("x", letters.letters.came[-1]).logged
            note = InclusionProof.read(shown[0].proof).note if shown else None
            return {key.name for key in (own, two) if note and note.by(key)}

        until(lambda: seen() == {"w.example", TWO})
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.communicate(timeout=30)


def started(name: str, folder: Path, port: int, witness: str) -> subprocess.Popen[str]:
    """A server, with these lines in its `[witness]`."""
    home = folder / name
    home.mkdir(exist_ok=True)
    (home / "ready").unlink(missing_ok=True)
    (home / "pbem.toml").write_text(CONFIG.format(name=name, folder=home, port=port, witness=witness))
    words = [PBEM, "serve", "--config", str(home / "pbem.toml"), "--ready-file", str(home / "ready")]
    with (home / "log").open("ab") as file:
        return subprocess.Popen(words, stdout=file, stderr=file, text=True)


def log_of(name: str, folder: Path, port: int) -> str:
    """The key of a new server's log, as its operator finds it."""
    server = started(name, folder, port, "")
    until((folder / name / "ready").exists)
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    words = [PBEM, "doctor", "--no-mail", "--config", str(folder / name / "pbem.toml")]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.partition("the key of its log is ")[2].split()[0]


def write(post: Smarthost, person: Mailbox, text: str) -> None:
    """A signed letter, and the answer to it."""
    had = len(post.people.get(person.address, []))
    signed = text + ssh.sign(person.key, text.encode(), f"pbem@{ONE}") if had else text
    raw = f"From: {person.address}\nTo: pbem@{ONE}\nMessage-ID: <{time.monotonic_ns()}@x>\n\n{signed}"
    deliver(post.ports[ONE], person.address, f"pbem@{ONE}", raw.replace("\r\n", "\n").replace("\n", "\r\n").encode())
    until(lambda: len(post.people.get(person.address, [])) > had)
    read(post, person)


def read(post: Smarthost, person: Mailbox) -> None:
    came = post.people.get(person.address, [])
    person.letters = Letters(came, range(len(came)))


def agreed(post: Smarthost) -> Mailbox:
    """Ann, who agreed on a match with Bob."""
    ann, bob = (Mailbox(name, f"{name}@home.example", Ed25519PrivateKey.generate()) for name in ("ann", "bob"))
    for person in (ann, bob):
        write(post, person, f"register {person.name}\n{ssh.public(person.key)} {person.name}@home\n")
        write(post, person, confirming(person))
    write(post, ann, f"new spaceships with bob\nserver {ONE}\nplayer ann\nend\n")
    until(lambda: any(b"proposes a match" in raw for raw in post.people[bob.address]))
    read(post, bob)
    write(post, bob, form_in(bob.text, "accept", lines=1))
    return ann
