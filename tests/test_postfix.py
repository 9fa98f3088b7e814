"""A real Postfix around pbem: players write to it by LMTP; letters to them, and bounces, go out and come back.

The examples in config/postfix are what it runs on. Needs Postfix (Debian: `apt-get install postfix`) and root, as
Postfix changes users; it runs beside any other one, on ports and in a folder of its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import smtplib
import subprocess
import tempfile
import time
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import ANN, BOB, Letters, Mailbox, confirming, form_in
from machines.post_office import PBEM, serving
from world.listening import free_port, mail_server

from pbem.desk.strangers import EACH
from pbem.identity import sender_auth, ssh
from pbem.mail.message import read_letter
from pbem.store.database import Database
from pbem.store.inbox import Inbox
from pbem.store.players import Players
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[1] / "config" / "postfix"
PATIENCE = 120  # seconds until a letter counts as lost; nothing here is timed

MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
maillog_file_prefixes = {folder}
maillog_file = {folder}/mail.log
myhostname = mx.play.example
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtp_dns_support_level = disabled
smtp_host_lookup = native
alias_maps =
alias_database =
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_recipient_restrictions = reject_unlisted_recipient
"""
MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""
CONFIG = """
server = "play.example"
operator = "operator@mail.example"
store = "store.sqlite"
[smtp]
listen = ""
[lmtp]
listen = "unix:{socket}"
[smarthost]
port = {port}
[identity]
authserv_id = "play.example"
[clock]
settle = "0s"
"""


class Provider:
    """The mail provider of the players, mail.example: files letters by recipient, and refuses the dead."""

    def __init__(self) -> None:
        self.letters: dict[str, Letters] = {}
        self.return_paths: list[str] = []
        self.dead: set[str] = set()
        self.port = free_port()

    async def handle_RCPT(self, _s: Any, _session: Any, envelope: Any, address: str, _options: list[str]) -> str:
        if address in self.dead:
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        for recipient in envelope.rcpt_tos:
            self.letters.setdefault(recipient, Letters()).bring(envelope.content)
        self.return_paths.append(envelope.mail_from)
        return "250 ok"


class Town:
    """Postfix, pbem and the players' provider."""

    def __init__(self, folder: Path, provider: Provider) -> None:
        self.folder = folder
        self.provider = provider
        self.port = free_port()
        self.socket = folder / "lmtp.sock"
        self.config = folder / "pbem" / "pbem.toml"

    def person(self, name: str) -> Mailbox:
        letters = self.provider.letters.setdefault(f"{name}@mail.example", Letters())
        return Mailbox(name, f"{name}@mail.example", Ed25519PrivateKey.generate(), letters)

    def send(self, person: Mailbox, text: str, to: str = "pbem@play.example", *, sign: bool = True) -> None:
        """Hand a letter to Postfix, as a provider does, and wait until something was answered."""
        had = len(person.letters)
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = person.address, to, "orders"
        letter["Message-ID"] = f"<{time.monotonic_ns()}@mail.example>"
        letter.set_content(text + ssh.sign(person.key, text.encode(), "pbem@play.example") if sign else text)
        with smtplib.SMTP("127.0.0.1", self.port) as client:
            client.send_message(letter, person.address, to)
        self.until(lambda: len(person.letters) > had)

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, (self.folder / "mail.log").read_text()[-3000:]
            time.sleep(0.05)

    def until_letter(self, person: Mailbox, subject: str) -> None:
        self.until(lambda: any(subject in str(letter["Subject"]) for letter in person.letters))

    @contextlib.contextmanager
    def postfix(self) -> Iterator[None]:
        folder = self.folder / "postfix"
        for name in ("queue", "data"):
            (self.folder / name).mkdir(mode=0o755)
        shutil.chown(self.folder / "data", "postfix")
        folder.mkdir(mode=0o755)
        for example in EXAMPLES.iterdir():
            text = example.read_text().replace("/run/pbem/lmtp.sock", str(self.socket))
            (folder / example.name).write_text(text.replace("/etc/postfix", str(folder)))
        with (folder / "pbem_transport").open("a") as transport:
            transport.write(f"mail.example smtp:[127.0.0.1]:{self.provider.port}\n")
        daemons = subprocess.run(["postconf", "-dh", "daemon_directory"], capture_output=True, text=True, check=True)
        main = MAIN.format(folder=self.folder, daemons=daemons.stdout.strip())
        (folder / "main.cf").write_text(main + (folder / "main.cf").read_text())
        (folder / "master.cf").write_text(MASTER.format(port=self.port) + (folder / "master.cf").read_text())
        subprocess.run(["postfix", "-c", str(folder), "start"], check=True, capture_output=True)
        try:
            yield
        finally:
            subprocess.run(["postfix", "-c", str(folder), "stop"], check=True, capture_output=True)

    @contextlib.contextmanager
    def server(self) -> Iterator[None]:
        self.config.parent.mkdir(mode=0o700)
        self.config.write_text(CONFIG.format(socket=self.socket, port=self.port))
        with serving(self.config.with_name("ready"), "--config", str(self.config)):
            assert self.socket.stat().st_mode & 0o777 == 0o660
            shutil.chown(self.socket, group="postfix")  # what SocketGroup= does in config/systemd
            yield


@pytest.fixture
def town() -> Iterator[Town]:
    if shutil.which("postfix") is None or os.geteuid() != 0:
        pytest.fail("this test needs Postfix, and to be run as root: apt-get install postfix")
    # Not tmp_path: Postfix runs as a user of its own, which must be able to go there.
    folder = Path(tempfile.mkdtemp(prefix="pbem-postfix-"))
    folder.chmod(0o755)
    town = Town(folder, Provider())
    try:
        with mail_server(town.provider, town.provider.port), town.postfix(), town.server():
            yield town
    finally:
        shutil.rmtree(folder)


def test_nobody_brings_along_what_our_own_server_says(town: Town) -> None:
    """In no dress; what other servers said stays, and so does what is forwarded in a letter."""
    forged = (
        "Authentication-Results: play.example; dkim=pass header.d=mail.example\r\n",
        "authentication-results:\r\n (mine)\r\n PLAY.example 1;\r\n dkim=pass\r\n header.d=mail.example\r\n",
        "Authentication-Results : (x) play.example; dkim=pass header.d=mail.example\r\n",
    )
    other = "Authentication-Results: mx.mail.example; dkim=pass header.d=mail.example\r\n"
    text = "help\r\n-- \r\n" + forged[0] + "\r\n"
    raw = f"From: ann@mail.example\r\nTo: pbem@play.example\r\n{''.join(forged)}{other}Subject: x\r\n\r\n{text}"
    ann = town.person("ann")
    with smtplib.SMTP("127.0.0.1", town.port) as client:
        client.sendmail(ann.address, "pbem@play.example", raw.encode())
    town.until(lambda: bool(ann.letters))
    vault = Vault(load_key(town.folder / "pbem" / "keys" / "store.key"))
    with Database(town.folder / "pbem" / "store.sqlite") as database:
        head, _, body = Inbox(database, vault).raw(1).decode().partition("\r\n\r\n")
    assert head.lower().count("authentication-results") == 1
    assert "mx.mail.example" in head
    assert body == text


def test_what_the_filter_does_not_recognise_is_not_believed(town: Town) -> None:
    """It knows one expression, and a reader of structured headers knows more ways to write a name."""
    good = b"; dkim=pass header.d=mail.example; spf=pass smtp.mailfrom=ann@mail.example\r\n"
    forged = (
        b"Authentication-Results: play\\x.example" + good,
        b"Authentication-Results: play\\.example" + good,
        b"Authentication-Results: (\0) play.example" + good,
        b"Authentication-Results:\r\n \r\n\t(a(b)\\)) play.example" + good,
        b"Authentication-Results: mx.mail.example\r; x=y\r\n play.example" + good,
        b"Authentication-Results: mx.mail.example\nAuthentication-Results: play.example" + good,
        b"Authentication-Results: \xff play.example" + good,
        b"Authentication-Results: " + b"(" + b"x" * 3000 + b") play.example" + good,
        b"X: y\r\r\nAuthentication-Results: play.example" + good,
        b"X: y\rAuthentication-Results: play.example" + good,
    )
    ann = town.person("ann")
    for head in forged:
        raw = b"%bFrom: ann@mail.example\r\nTo: pbem@play.example\r\nSubject: x\r\n\r\nhelp\r\n" % head
        with smtplib.SMTP("127.0.0.1", town.port) as client:
            client.sendmail(ann.address, "pbem@play.example", raw)
    vault = Vault(load_key(town.folder / "pbem" / "keys" / "store.key"))
    with Database(town.folder / "pbem" / "store.sqlite") as database:
        inbox = Inbox(database, vault)
        town.until(lambda: database.scalar("SELECT count(*) FROM inbox WHERE state = 'done'") == len(forged))
        for number in range(1, len(forged) + 1):
            letter = read_letter(inbox.raw(number))
            word = sender_auth.passed(letter, "play.example") or sender_auth.sent_from(letter, "play.example")
            assert not word or sender_auth.is_unclear(letter, "play.example"), letter.raw
    town.until(lambda: len(ann.letters) >= EACH)
    assert len(ann.letters) == EACH, "nobody vouches for any of them"


def test_a_registration_a_turn_and_a_bounce_pass_through_postfix_both_ways(town: Town) -> None:
    ann, bob = town.person("ann"), town.person("bob")
    for person in (ann, bob):
        town.send(person, f"register {person.name}\n{ssh.public(person.key)} {person.name}@home\n", sign=False)
        town.send(person, confirming(person))
        assert "You are registered" in person.text
    town.send(ann, "new spaceships with bob\nserver play.example\nplayer ann\nend\n")
    town.until_letter(bob, "proposes a match to you")
    town.send(bob, form_in(bob.text, "accept", lines=1))
    town.until_letter(ann, "send your setup")
    town.until_letter(bob, "send your setup")
    # Sub-addresses arrive as they were written: the answer goes to that of the match.
    setup = str(ann.find("send your setup")["Reply-To"])
    assert setup.startswith("pbem+m1@")
    town.send(ann, ann.filled("setup", ANN), to=setup)
    town.send(bob, bob.filled("setup", BOB))
    for person in (ann, bob):
        town.until_letter(person, "game 1 begins")
        town.send(person, person.filled("orders", "final\n"))
    for person in (ann, bob):
        town.until_letter(person, "turn 1")
    assert len(set(town.provider.return_paths)) == len(town.provider.return_paths)
    assert all(path.startswith("pbem+b") for path in town.provider.return_paths)

    with pytest.raises(smtplib.SMTPRecipientsRefused):
        town.send(ann, "help\n", to="nobody@play.example")

    words = (PBEM, "doctor", "--deadline", str(PATIENCE), "--config", str(town.config))
    doctor = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "came back in" in doctor.stdout

    # Postfix takes the letter, learns that bob is dead, and reports it to the return path: a real DSN.
    town.provider.dead.add(bob.address)
    town.send(ann, "press m1\nare you there?\nend\n")
    town.send(ann, form_in(ann.text, "press"))
    town.until_letter(ann, "letters do not reach")
    with Database(town.folder / "pbem" / "store.sqlite") as database:
        assert Players(database).unreachable("bob") is not None
        assert Players(database).unreachable("ann") is None
        row = database.row("SELECT kind, status FROM bounces")
        assert row == {"kind": "permanent", "status": "5.1.1"}
    operator = town.provider.letters["operator@mail.example"]
    town.until(lambda: bool(operator))
    assert "bob@mail.example" in operator[-1].get_content()

    town.provider.dead.clear()
    town.send(bob, "status m1\n")
    town.until_letter(ann, "can be reached again")
