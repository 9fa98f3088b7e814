"""A whole game by two people without keys, on phones: one letter each step, in English and in German.

The server is a process of its own with a name server on this machine, and their providers sign by DKIM. Both
verifiers judge the proof that comes with the last letter.
"""

from __future__ import annotations

import email
import email.policy
import smtplib
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.replies import REPLIES
from machines.named_server import asking, name_server
from machines.post_office import PATIENCE, PBEM, PostOffice
from signing.domains import Domain

from verifier import verified

if TYPE_CHECKING:
    import queue
    from email.message import EmailMessage
    from pathlib import Path

GMAIL = "{said}\n\nOn Sat, Nov 28, 2026 at 9:00 PM pbem <{to}>\nwrote:\n\n{quoted}"
APPLE = "{said}\n\nVon meinem iPhone gesendet\n\n> Am 28.11.2026 um 21:00 schrieb pbem <{to}>:\n> \n{quoted}"
OUTLOOK = REPLIES["Outlook for Android, German"]


class Phone:
    """Somebody who only ever answers the latest letter, above its quote."""

    def __init__(
        self, office: PostOffice, name: str, domain: Domain, headers: str, programs: tuple[str, ...]
    ) -> None:
        self.name, self.address = name, f"{name}@{domain.name}"
        self.sent = 0
        self.letters: list[EmailMessage] = []
        self._office, self._domain, self._headers, self._programs = office, domain, headers, programs
        self._arrivals: queue.Queue[bytes] = office.box(self.address)

    def wait(self, words: str) -> EmailMessage:
        """The next letter with these words in its subject or its first lines; those before it are read, too."""
        while True:
            raw = self._arrivals.get(timeout=PATIENCE)
            letter = email.message_from_bytes(raw, policy=email.policy.default)
            self.letters.append(letter)
            if words in " ".join(f"{letter['Subject']} {text(letter)[:200]}".split()):
                return letter

    def write(self, said: str) -> None:
        """The first letter to the server."""
        self._send("pbem@play.example", said, "")

    def answer(self, letter: EmailMessage, said: str) -> None:
        """The answer, as the program makes it whose turn it is."""
        program = self._programs[self.sent % len(self._programs)]
        to, old = str(letter["Reply-To"]).rpartition("<")[2].rstrip(">"), text(letter)
        quoted = "".join(f"> {line}\n" for line in old.split("\n"))
        thread = f"In-Reply-To: {letter['Message-ID']}\nReferences: {letter['Message-ID']}\n"
        self._send(to, program.format(said=said, to=to, text=old, quoted=quoted), thread, f"Re: {letter['Subject']}")

    def _send(self, to: str, written: str, thread: str, subject: str = "Hi") -> None:
        self.sent += 1
        now = datetime.now(UTC)
        subject = subject.encode("ascii", "replace").decode()
        head = (
            f"From: {self.name.title()} <{self.address}>\nTo: {to}\nSubject: {subject}\n"
            f"Date: {now:%a, %d %b %Y %T +0000}\n"
            f"Message-ID: <{self.sent}.{now:%s%f}@{self._domain.name}>\n{thread}{self._headers}MIME-Version: 1.0\n"
            "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
        )
        raw = self._domain.sign((head + written).replace("\n", "\r\n").encode(), now)
        with smtplib.SMTP("127.0.0.1", self._office.port, timeout=PATIENCE) as connection:
            connection.sendmail(self.address, [to], raw)


def text(letter: EmailMessage) -> str:
    part = letter.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


@pytest.mark.long
def test_two_phones_play_a_game_to_its_end_in_one_letter_each_step(tmp_path: Path) -> None:
    home, post = Domain("mail.example"), Domain("post.example")
    records = {domain.where: domain.record for domain in (home, post)}
    with name_server(records) as port, PostOffice(tmp_path).opened() as office:
        amy = Phone(office, "amy", home, "", (GMAIL,))
        bert = Phone(office, "bert", post, "Content-Language: de-DE\n", (APPLE, OUTLOOK))
        servers = office.servers = asking(port)(tmp_path, office.port, "store.sqlite")
        try:
            play(amy, bert)
            servers.stop()
        finally:
            servers.kill()
            told(tmp_path, amy, bert)
    for phone in (amy, bert):
        bundle = next(part for part in phone.letters[-1].iter_attachments() if "zip" in str(part.get_filename()))
        content = bundle.get_content()
        (tmp_path / "m1.pbem.zip").write_bytes(content)
        subprocess.run([PBEM, "verify", str(tmp_path / "m1.pbem.zip")], check=True)
        verified(content)
    assert (amy.sent, bert.sent) == (6, 6)


def play(amy: Phone, bert: Phone) -> None:
    for phone, words in ((amy, "You are registered"), (bert, "angemeldet")):
        phone.write(f"register {phone.name}")
        phone.answer(phone.wait("register"), f"register {phone.name}")
        phone.wait(words)
    amy.answer(amy.letters[-1], "new spaceships with bert\nfleet: cost:4\nsettle: 0\nend")
    bert.answer(bert.wait("schlägt dir"), "Ja, gerne!")
    amy.answer(amy.wait("send your setup"), "FS Rv1 Rv2 Rw1 Rw2")
    bert.answer(bert.wait("schick deine Aufstellung"), "PC Gx1 Gx2 Gx3 Gx4")
    amy.answer(amy.wait("game 1 begins"), "Gx1 Gx2")
    bert.answer(bert.wait("Spiel 1 beginnt"), "Bz5 Bz4")
    amy.answer(amy.wait("game 1, turn 1"), "Gx3 Gx4")
    bert.answer(bert.wait("Spiel 1, Zug 1"), "Bz3")
    amy.wait("the end")
    bert.wait("Ende")


def told(folder: Path, *phones: Phone) -> None:
    """All letters, to be read by people."""
    for phone in phones:
        shown = (f"--- {one['Subject']}\nReply-To: {one['Reply-To']}\n\n{text(one)}\n" for one in phone.letters)
        (folder / f"{phone.name}.txt").write_text("\n".join(shown), "utf-8")
