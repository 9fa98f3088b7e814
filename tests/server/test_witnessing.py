"""Servers and a witness, each a process of its own, that write to each other, by mail and by HTTP."""

from __future__ import annotations

import asyncio
import json
import mailbox
import re
import shutil
import signal
import smtplib
import subprocess
import threading
import time
from email import message_from_bytes
from email.policy import default
from functools import partial
from typing import TYPE_CHECKING

import pytest
from aiosmtpd.smtp import SMTP
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Letters, Mailbox, confirming, form_in
from judges import sentences
from machines.post_office import PBEM

from pbem.identity import ssh
from pbem.proof.kept_letters import kept
from pbem.tlog.checkpoint import Checkpoint
from pbem.tlog.note import Note
from pbem.tlog.proof import InclusionProof
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aiosmtpd.smtp import Envelope, Session

pytestmark = pytest.mark.long

ONE, TWO, BOX, OPERATOR = "one.example", "two.example", "witness@mail.example", "operator@home.example"

CONFIG = """\
server = "{name}"
operator = "{operator}"
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
{more}
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
    settings.write_text(WITNESS.format(box=BOX, maildir=tmp_path / "witnessed", port=port, log=log, more=""))
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
            post.ports[name] = ready(name, tmp_path)
        letters, _ = agreed(post)

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


@pytest.mark.parametrize("way", ["mail", "http"])
def test_a_server_that_tells_two_stories_is_refused_within_one_checkpoint(
    smarthost: tuple[Smarthost, int], tmp_path: Path, way: str
) -> None:
    """Players compare nothing: the witness has both stories, and the operator is told."""
    post, port = smarthost
    log = VerifierKey.read(log_of(ONE, tmp_path, port))
    settings = tmp_path / "witness.toml"
    more = 'listen = "127.0.0.1:0"'
    settings.write_text(WITNESS.format(box=BOX, maildir=tmp_path / "witnessed", port=port, log=log, more=more))
    words = [PBEM, "witness", "--config", str(settings)]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)]
    said = processes[0].stdout
    assert said is not None
    try:
        own = VerifierKey.read(said.readline().rpartition(" ")[2])
        where = {"mail": BOX, "http": f"http://{said.readline().removeprefix('listening at ').strip()}"}[way]
        witness = f'cosigners = ["{own} {where}"]'
        processes.append(started(ONE, tmp_path, port, witness))
        post.ports[ONE] = ready(ONE, tmp_path)
        ann, bob = agreed(post)
        seq = seen_by(post, ann, own)
        # Two servers with one name, one key, and one store up to here.
        processes[-1].send_signal(signal.SIGTERM)
        assert processes.pop().wait(30) == 0
        (tmp_path / "fork").mkdir()
        shutil.copytree(tmp_path / ONE, tmp_path / "fork" / ONE)
        processes.append(started(ONE, tmp_path, port, witness))
        post.ports[ONE] = ready(ONE, tmp_path)
        resign(post, ann)
        until(lambda: seen_by(post, ann, own) > seq)
        assert OPERATOR not in post.people
        processes.append(started(ONE, tmp_path / "fork", port, witness))
        post.ports[ONE] = ready(ONE, tmp_path / "fork")
        resign(post, bob)
        began = time.monotonic()
        until(lambda: OPERATOR in post.people)
        assert time.monotonic() - began < 30, "one checkpoint, and no longer"
        told = message_from_bytes(post.people[OPERATOR][0], policy=default)
        assert sentences.REFUSES_OUR_LOG in told["Subject"]
        assert '"forked"' in str(told.get_content())
        convicts(words, log, own)
        # The second story's letters show nothing that anybody saw of it.
        write(post, bob, "status m1\n")
        (shown,) = kept("x", post.people[bob.address][-1]).logged
        assert shown.seq == seq
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.communicate(timeout=30)


def seen_by(post: Smarthost, person: Mailbox, witness: VerifierKey) -> int:
    """The latest entry of the match that a letter shows as seen by a witness."""

    end = time.monotonic() + 60
    while time.monotonic() < end:
        write(post, person, f"status m1\n# {time.monotonic_ns()}\n")
        shown = kept("x", person.letters.came[-1]).logged
        if shown and InclusionProof.read(shown[0].proof).note.by(witness):
            return shown[0].seq
    raise AssertionError("no letter shows anything")


def convicts(words: list[str], log: VerifierKey, own: VerifierKey) -> None:
    """Both stories stand in the witness's report, both signed by the log; it cosigned the first alone."""
    refused = subprocess.run([*words, "--refused"], capture_output=True, text=True, check=True).stdout
    assert f"forked {ONE}" in refused
    notes = [Note.read(f"{one.strip()}\n") for one in re.split("This .*:\n\n", refused)[1:]]
    first, second = (Checkpoint.read(note.text) for note in notes)
    assert first.size == second.size
    assert first.root != second.root
    assert all(note.by(log) for note in notes)
    assert [bool(note.by(own)) for note in notes] == [True, False]


def resign(post: Smarthost, person: Mailbox) -> None:
    """An entry in the transcript, and a checkpoint at once."""
    write(post, person, "resign m1 match\n")
    write(post, person, form_in(person.text, "resign"))


def ready(name: str, folder: Path) -> int:
    """The port of a server, when it takes letters."""
    until((folder / name / "ready").exists)
    return int(json.loads((folder / name / "ready").read_text())["smtp"]["port"])


def started(name: str, folder: Path, port: int, witness: str) -> subprocess.Popen[str]:
    """A server, with these lines in its `[witness]`."""
    home = folder / name
    home.mkdir(exist_ok=True)
    (home / "ready").unlink(missing_ok=True)
    (home / "pbem.toml").write_text(
        CONFIG.format(name=name, operator=OPERATOR, folder=home, port=port, witness=witness)
    )
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


def agreed(post: Smarthost) -> tuple[Mailbox, Mailbox]:
    """Ann and Bob, who agreed on a match."""
    ann, bob = (Mailbox(name, f"{name}@home.example", Ed25519PrivateKey.generate()) for name in ("ann", "bob"))
    for person in (ann, bob):
        write(post, person, f"register {person.name}\n{ssh.public(person.key)} {person.name}@home\n")
        write(post, person, confirming(person))
    write(post, ann, f"new spaceships with bob\nserver {ONE}\nplayer ann\nend\n")
    until(lambda: any(b"proposes a match" in raw for raw in post.people[bob.address]))
    read(post, bob)
    write(post, bob, form_in(bob.text, "accept", lines=1))
    return ann, bob
