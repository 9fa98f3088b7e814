"""A mailbox at a real Dovecot is enough: a match by letters that are put into it, and answers sent by submission.

The daemon is killed after each letter and starts again. Needs Dovecot (Debian: `apt-get install dovecot-imapd`) and
root, as Dovecot changes users; it runs beside any other one, on a port and in a folder of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imap_tools
import pytest
from aiosmtpd.smtp import AuthResult
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import ANN, BOB, Letters, Mailbox, attachment, confirming, form_in
from machines import certificate
from machines.post_office import PBEM
from signing.domains import Domain, rsa_key
from world.listening import free_port, mail_server

from pbem.identity import ssh
from pbem.proof.verification import verify
from pbem.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:Requiring AUTH"),  # TLS is there before aiosmtpd begins, which it cannot know
    pytest.mark.filterwarnings("ignore:Session.login_data"),
]

ACCOUNT, PASSWORD = "games@home.example", "app-password"
HOME = Domain("mail.example", key=rsa_key(1024))
OLD = ("INBOX", "INBOX", "Spamverdacht")
"""The folders with letters before the first start."""
PATIENCE = 60  # seconds until a letter counts as lost; nothing here is timed

DOVECOT = """
base_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = required
ssl_cert = <{certificate}
ssl_key = <{key}
service imap-login {{
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/homes/%u
}}
mail_location = maildir:~/Maildir
first_valid_uid = 1
first_valid_gid = 1
namespace inbox {{
  inbox = yes
  separator = {separator}
  mailbox Spamverdacht {{
    special_use = \\Junk
    auto = create
  }}
}}
"""
CHANGES = (
    ('delimiter = "+"', 'delimiter = "{delimiter}"'),
    ('imap = "imap.home.example"', 'imap = "localhost"\nport = {port}'),
    ('host = "smtp.home.example"\nport = 465', 'host = "localhost"\nport = {submission}'),
    ('authserv_id = ""', 'authserv_id = "mx.home.example"\n[clock]\nsettle = "0s"'),
)
"""The differences from the guesses of `pbem init`."""


class Submission:
    """The provider's submission server: knows the account, lets it send as itself alone, and files by recipient."""

    def __init__(self) -> None:
        self.letters: dict[str, Letters] = {}
        self.known: set[bytes] = set()
        self.home: Callable[[str, bytes], None] = lambda _to, _raw: None
        self.port = free_port()
        self.options: Any = {"authenticator": self.authenticate, "auth_required": True, "auth_require_tls": False}

    def authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == (ACCOUNT.encode(), PASSWORD.encode()))

    async def handle_MAIL(self, _s: Any, _session: Any, envelope: Any, address: str, _options: list[str]) -> str:
        if address != ACCOUNT:
            return "553 5.7.1 not your address"
        envelope.mail_from = address
        return "250 ok"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        if envelope.content not in self.known:  # mail programs show the same letter once
            self.known.add(envelope.content)
            for recipient in envelope.rcpt_tos:
                if recipient.partition("@")[2] == "home.example":
                    await asyncio.to_thread(self.home, recipient, envelope.content)
                self.letters.setdefault(recipient, Letters()).bring(envelope.content)
        return "250 ok"


class House:
    """A server at home: its files, its mailbox at the provider, and its daemon, dead or alive."""

    def __init__(self, folder: Path, delimiter: str, separator: str) -> None:
        self.folder = folder
        self.delimiter = delimiter
        self.separator = separator
        self.port = free_port()
        self.submission = Submission()
        self.certificate, self.key = certificate.make(folder, "localhost")
        self.pbem = folder / "pbem"
        self.kills = 0
        self.submission.home = self.deliver
        self._daemon: subprocess.Popen[bytes] | None = None

    def person(self, name: str) -> Mailbox:
        letters = self.submission.letters.setdefault(f"{name}@mail.example", Letters())
        return Mailbox(name, f"{name}@mail.example", Ed25519PrivateKey.generate(), letters)

    @contextlib.contextmanager
    def dovecot(self) -> Iterator[None]:
        config = self.folder / "dovecot.conf"
        (self.folder / "homes").mkdir(mode=0o777)
        (self.folder / "homes").chmod(0o777)
        words = {"folder": self.folder, "certificate": self.certificate, "key": self.key, "port": self.port}
        config.write_text(DOVECOT.format(**words, password=PASSWORD, separator=self.separator))
        with subprocess.Popen(["dovecot", "-F", "-c", str(config)]) as dovecot:
            try:
                yield
            finally:
                dovecot.terminate()
                dovecot.wait(30)

    def init(self) -> None:
        """Set the server up, as an operator does once."""
        options = ("--kind", "mailbox", "--address", ACCOUNT, "--operator", "operator@mail.example")
        self.run("init", str(self.pbem), *options)
        (self.pbem / "password").write_text(f"{PASSWORD}\n")
        (self.pbem / "password").chmod(0o600)
        words = {"port": self.port, "submission": self.submission.port, "delimiter": self.delimiter}
        text = (self.pbem / "pbem.toml").read_text()
        for guessed, here in CHANGES:
            assert guessed in text
            text = text.replace(guessed, here.format(**words))
        (self.pbem / "pbem.toml").write_text(text)
        assert "All is well." in self.run("check-config")

    def run(self, *words: str) -> str:
        environment = os.environ | {"SSL_CERT_FILE": self.certificate, "PBEM_CONFIG": str(self.pbem / "pbem.toml")}
        done = subprocess.run([PBEM, *words], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self) -> None:
        (self.pbem / "ready").unlink(missing_ok=True)
        with (self.pbem / "log").open("ab") as log:
            self._daemon = subprocess.Popen(
                [PBEM, "serve", "--config", "pbem.toml", "--ready-file", "ready"],
                cwd=self.pbem,
                env=os.environ | {"SSL_CERT_FILE": self.certificate},
                stderr=log,
            )
        self.until((self.pbem / "ready").exists)

    def kill(self) -> None:
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()
        self.kills += 1

    def stop(self) -> None:
        assert self._daemon is not None
        self._daemon.send_signal(signal.SIGTERM)
        assert self._daemon.wait(30) == 0

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, (self.pbem / "log").read_text()[-3000:]
            time.sleep(0.02)

    def reachable(self) -> bool:
        with contextlib.suppress(OSError), self.mailbox():
            return True
        return False

    @contextlib.contextmanager
    def mailbox(self) -> Iterator[imap_tools.MailBox]:
        tls = ssl.create_default_context(cafile=self.certificate)
        with imap_tools.MailBox("localhost", self.port, 30, ssl_context=tls).login(ACCOUNT, PASSWORD) as box:
            yield box

    def deliver(self, to: str, raw: bytes, folder: str = "INBOX", above: str = "") -> None:
        """File a letter for the account, as the provider does."""
        with self.mailbox() as box:
            box.append(f"{above}Delivered-To: {to}\r\n".encode() + raw, folder)

    def send(self, person: Mailbox, text: str, *, sign: bool = True, folder: str = "INBOX") -> None:
        """A letter that the provider took in; the daemon dies soon after. Returns when something was answered."""
        had = len(person.letters)
        # As mail programs write it: Python's own way would encode a Message-ID that is longer than a line.
        letter = EmailMessage(policy.default.clone(max_line_length=998))
        to, last = ACCOUNT, person.letters[-1] if person.letters else None
        if last is not None:
            to = str(last["Reply-To"] or last["From"]).partition("<")[2].rstrip(">") or str(last["Reply-To"])
            letter["In-Reply-To"] = letter["References"] = str(last["Message-ID"])
        letter["From"], letter["To"], letter["Subject"] = person.address, to, "orders"
        letter["Message-ID"] = f"<{time.monotonic_ns()}@mail.example>"
        letter.set_content(
            text + ssh.sign(person.key, text.encode(), "pbem@games.home-example.internal") if sign else text
        )
        raw = HOME.sign(letter.as_bytes().replace(b"\n", b"\r\n"), datetime.now(UTC))
        above = (
            f"Return-Path: <{person.address}>\r\nReceived: from a by mx.home.example; now\r\n"
            "Authentication-Results: mx.home.example; dkim=pass header.d=mail.example\r\n"
        )
        self.deliver(to, raw, folder, above)
        time.sleep(random.uniform(0, 0.4))
        self.kill()
        self.start()
        self.until(lambda: len(person.letters) > had)

    def until_letter(self, person: Mailbox, subject: str) -> None:
        self.until(lambda: any(subject in str(letter["Subject"]) for letter in person.letters))


@pytest.fixture(params=[("+", "/"), ("", ".")], ids=["sub-addresses", "none"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    if shutil.which("dovecot") is None or os.geteuid() != 0:
        pytest.fail("this test needs Dovecot, and to be run as root: apt-get install dovecot-imapd")
    # Not tmp_path: Dovecot runs as users of its own, which must be able to go there.
    folder = Path(tempfile.mkdtemp(prefix="pbem-dovecot-"))
    folder.chmod(0o755)
    house = House(folder, *request.param)
    try:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(house.certificate, house.key)
        with mail_server(house.submission, house.submission.port, tls, **house.submission.options), house.dovecot():
            house.until(house.reachable)
            house.init()
            for lies in OLD:
                house.deliver(ACCOUNT, b"From: x@mail.example\r\nSubject: years ago\r\n\r\nhelp\r\n", lies)
            house.start()
            # What comes before the first look would be old, too.
            house.until(lambda: "left alone" in (house.pbem / "log").read_text())
            try:
                yield house
                house.stop()
            finally:
                house.kill()
    finally:
        shutil.rmtree(folder)


def test_a_match_by_a_mailbox_alone_with_the_daemon_killed_after_each_letter(house: House) -> None:
    ann, bob = house.person("ann"), house.person("bob")
    house.send(ann, f"register ann\n{ssh.public(ann.key)} ann@home\n", sign=False)
    house.send(ann, confirming(ann))
    assert "You are registered" in ann.text
    house.send(bob, "register bob\n", sign=False)
    house.send(bob, "register bob\n", sign=False, folder="Spamverdacht")
    assert "You are registered as bob, at the level `mailbox`" in bob.text
    house.send(ann, "new spaceships with bob\nserver games.home-example.internal\nplayer ann\nend\n")
    house.until_letter(bob, "proposes a match to you")
    house.send(bob, form_in(bob.text, "accept", lines=1), sign=False)
    for person in (ann, bob):
        house.until_letter(person, "send your setup")
    house.send(bob, bob.filled("setup", BOB), sign=False)
    house.send(ann, ann.filled("setup", ANN))
    for person in (ann, bob):
        house.until_letter(person, "game 1 begins")
    house.send(bob, bob.filled("orders", "final\n"), sign=False)
    house.send(ann, ann.filled("orders", "final\n"))
    for person in (ann, bob):
        house.until_letter(person, "turn 1")
    house.send(bob, "resign m1 match\n", sign=False)
    house.until_letter(ann, "closed")
    content = attachment(ann.find("what was secret"), ".pbem.zip")
    found = [check for check in verify(content) if not check.holds]
    assert not found
    with house.mailbox() as box:
        for folder, old in Counter(OLD).items():
            box.folder.set(folder)

            def is_left_alone(count: int = old) -> bool:
                box.client.noop()
                return len(box.uids()) == count

            house.until(is_left_alone)
        box.folder.set(f"pbem{house.separator}done")
        assert len(box.uids()) == 11
    with Database(house.pbem / "pbem.sqlite") as database:
        assert database.scalar("SELECT count(*) FROM inbox WHERE state = 'done'") == 11
        assert database.scalar("SELECT count(*) FROM inbox") == 11
    assert house.kills == 11
    assert "came back in" in house.run("doctor", "--deadline", str(PATIENCE))
    for person in (ann, bob):
        subjects = [str(letter["Subject"]) for letter in person.letters]
        assert len([subject for subject in subjects if "turn 1" in subject]) == 1, subjects
