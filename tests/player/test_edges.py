"""The edges of a player's side: how letters come and go, what signs them, and the file of an account."""

from __future__ import annotations

import base64
import mailbox
import os
import shutil
import smtplib
import socket
import sqlite3
import ssl
import stat
import subprocess
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from data.material import KEYS, SIGNED
from machines import certificate
from msgspec.structs import replace
from world.listening import mail_server

from pbem.identity import ssh
from pbem.mailbox.imap import Imap
from pbem.player import mail_in, mail_out, signing
from pbem.player.account_file import Account, BadAccount, places, split
from pbem.player.mail_in import FoundLetter, LmtpListener, NoMail, Provider
from pbem.player.mail_out import NotSent
from pbem.player.memory import BadMemory, Memory, SentForm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RAW = b"From: ann@mail.example\r\nTo: pbem@play.example\r\nSubject: a\r\n\r\n.hidden dot\r\nend\r\n"
SENT = SentForm(1, "<1@mail.example>", "orders", "m1", "", 1, "", RAW, "pbem+m1@play.example", "ready")


def account(mail_in_: str = "maildir:/x", mail_out_: str = "sendmail:", **other: str) -> Account:
    given = ("ann", "play.example", "pbem@play.example", "ann@mail.example", "~/key", mail_in_, mail_out_)
    return Account(*given, **other)


def _tls_of(url: str) -> str:
    source = mail_in.source(account(url, password_file="p"))
    assert isinstance(source, Provider)
    assert isinstance(source._mailbox, Imap)
    return source._mailbox.tls


def nothing_seen(_handle: str) -> bool:
    return False


class TestComing:
    def test_by_lmtp_a_letter_is_taken_in_before_250_is_said(self) -> None:
        listener = mail_in.source(account("lmtp://127.0.0.1:0"))
        assert isinstance(listener, LmtpListener)
        said: list[object] = []

        def deliver() -> None:
            with smtplib.LMTP("127.0.0.1", listener.server_address[1]) as connection:
                said.append(connection.sendmail("a@b.example", ["ann@mail.example"], RAW))

        thread = threading.Thread(target=deliver)
        thread.start()
        found: list[FoundLetter] = []
        while not found:
            for one in listener.letters(nothing_seen):
                assert not said, "before it is on the disk nothing is promised"
                found.append(one)
        thread.join(10)
        assert [one.raw for one in found] == [RAW]
        assert said == [{}]
        listener.close()

    def test_by_lmtp_nothing_but_the_dot_between_line_ends_is_the_end(self) -> None:
        """Any other end of data would let a letter smuggle commands; each recipient that counts has its reply."""
        listener = LmtpListener("127.0.0.1", 0)
        with socket.create_connection(("127.0.0.1", listener.server_address[1]), 10) as connection:
            to = b"RCPT TO:<ann@mail.example>\r\n"
            words = b"LHLO x\r\nDATA\r\nMAIL FROM:<a@b.example>\r\n" + to + b"RSET\r\n" + to + b"NOOP\r\n" + to
            data = b"DATA\r\none\r\n.\nMAIL FROM:<x>\r\n..\r\n.\r\n"
            connection.sendall(words + data + b"DATA\r\nMAIL FROM:<>\r\n" + to + data + b"QUIT\r\n")
            found: list[FoundLetter] = []
            while len(found) < 2:
                found += listener.letters(nothing_seen)
            with connection.makefile("rb") as replies:
                codes = b" ".join(line[:4].strip() for line in replies).decode()
        assert {one.raw for one in found} == {b"one\r\n\nMAIL FROM:<x>\r\n.\r\n"}
        greeting, twice, once = "220 250- 250- 250 503", "250 250 250 250 250 250 354 250 250", "250 250 354 250"
        assert codes == f"{greeting} {twice} 503 {once} 221"
        listener.close()

    def test_a_name_that_begins_as_an_address_of_this_machine_is_none(self) -> None:
        """No password is sent there without TLS, either."""
        for host in ("127.mail.example", "127.0.0.1.mail.example", "mail.example"):
            with pytest.raises(NoMail, match="letters are taken from this machine alone"):
                mail_in.source(account(f"lmtp://{host}:0"))
            assert _tls_of(f"imap://{host}") == "starttls"
        assert _tls_of("imap://127.0.0.2") == _tls_of("imap://localhost") == _tls_of("imap://[::1]") == "none"

    def test_by_lmtp_what_nobody_takes_in_is_kept_by_whoever_brought_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(LmtpListener, "PATIENCE", 0.1)
        listener = LmtpListener("127.0.0.1", 0)
        with smtplib.LMTP("127.0.0.1", listener.server_address[1]) as connection:
            with pytest.raises(smtplib.SMTPDataError) as refused:
                connection.sendmail("a@b.example", ["ann@mail.example"], RAW)
            assert refused.value.smtp_code == 451
        listener.close()

    def test_the_maildir_of_a_new_account_is_made_where_nothing_is(self, tmp_path: Path) -> None:
        there, beside = account(f"maildir:{tmp_path / 'mail' / 'ann'}"), account(f"mbox:{tmp_path / 'mbox'}")
        assert mail_in.begin(there) == tmp_path / "mail" / "ann"
        assert list(mail_in.source(there).letters(nothing_seen)) == []
        assert mail_in.begin(there) is mail_in.begin(beside) is None
        with pytest.raises(NoMail, match="make it, with `cur`, `new` and `tmp` in it"):
            list(mail_in.source(account(f"maildir:{tmp_path / 'other'}")).letters(nothing_seen))
        (tmp_path / "file").touch()
        with pytest.raises(NoMail, match="file"):
            mail_in.begin(account(f"maildir:{tmp_path / 'file' / 'ann'}"))

    def test_a_maildir_is_left_as_it_is_and_each_letter_is_read_once(self, tmp_path: Path) -> None:
        box = mailbox.Maildir(tmp_path / "box")
        key = box.add(RAW)
        source = mail_in.source(account(f"maildir:{tmp_path / 'box'}"))
        (found,) = source.letters(nothing_seen)
        source.done(found)
        message = box[key]
        message.set_subdir("cur")
        message.add_flag("S")
        box[key] = message
        (again,) = source.letters(nothing_seen)
        assert again.handle == found.handle, "a mail program showed it"
        assert list(source.letters({found.handle}.__contains__)) == []

    def test_an_mbox_file_is_read_when_it_has_changed(self, tmp_path: Path) -> None:
        source = mail_in.source(account(f"mbox:{tmp_path / 'an%20mbox'}"))
        assert list(source.letters(nothing_seen)) == [], "many systems take an empty file away"
        handles: set[str] = set()
        for raws in ([RAW], [], [RAW.replace(b"hidden", b"second")]):
            with closing(mailbox.mbox(tmp_path / "an mbox")) as box:
                for raw in raws:
                    box.add(raw)
            found = list(source.letters(handles.__contains__))
            assert [one.raw.replace(b"\r\n", b"\n") for one in found] == [raw.replace(b"\r\n", b"\n") for raw in raws]
            handles |= {one.handle for one in found}
            assert list(source.letters(nothing_seen)) == []
        assert len(handles) == 2


class _Office:
    """A mail server that takes letters, or does not."""

    def __init__(self, answer: str = "250 ok") -> None:
        self.answer = answer
        self.came: list[tuple[str, list[str], bytes]] = []

    async def auth_XOAUTH2(self, server: SMTP, words: list[str]) -> AuthResult:  # noqa: N802 - aiosmtpd's name
        """As Google's: what is wrong is a challenge, which wants an answer."""
        if base64.b64decode(words[1]) == b"user=ann@mail.example\1auth=Bearer TOKEN\1\1":
            return AuthResult(success=True)
        assert await server.challenge_auth('{"status":"400"}') == b""
        return AuthResult(success=False, handled=False)

    async def handle_DATA(self, _server: SMTP, _session: object, envelope: Any) -> str:
        self.came.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return self.answer


@pytest.fixture
def office() -> Iterator[tuple[_Office, int]]:
    found = _Office()
    own = LoginPassword(b"ann@mail.example", b"secret")
    with mail_server(
        found, auth_require_tls=False, authenticator=lambda *given: AuthResult(success=given[-1] == own)
    ) as port:
        yield found, port


class TestGoing:
    def test_by_smtp_the_bytes_go_as_they_are(self, office: tuple[_Office, int]) -> None:
        found, port = office
        assert mail_out.send(account(mail_out_=f"smtp://127.0.0.1:{port}"), SENT) == "sent by 127.0.0.1"
        assert found.came == [("ann@mail.example", ["pbem+m1@play.example"], RAW)]

    def test_what_is_not_taken_is_said_and_lies_ready(self, office: tuple[_Office, int]) -> None:
        found, port = office
        found.answer = "554 5.7.1 no"
        with pytest.raises(NotSent, match=r"^127\.0\.0\.1: 554 5\.7\.1 no"):
            mail_out.send(account(mail_out_=f"smtp://127.0.0.1:{port}"), SENT)
        with pytest.raises(NotSent, match=r"^127\.0\.0\.1 refuses the letter: 5\d\d "):
            mail_out.send(account(mail_out_=f"smtp://127.0.0.1:{port}"), SENT._replace(to="<"))
        for way in ("smtp://127.0.0.1:1", "pigeon:", "smtps://127.0.0.1:1", "submission://127.0.0.1:1"):
            with pytest.raises(NotSent, match=r"^127\.0\.0\.1: Connection refused|^pigeon:: no way for letters"):
                mail_out.send(account(mail_out_=way), SENT)

    def test_without_tls_no_password_goes_out(self, office: tuple[_Office, int], tmp_path: Path) -> None:
        _, port = office
        file = tmp_path / "password"
        file.write_text("secret\n")
        file.chmod(0o600)
        with pytest.raises(NotSent) as refused:
            mail_out.send(account(mail_out_=f"submission://127.0.0.1:{port}", password_file=str(file)), SENT)
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize(("way", "served"), [("smtps", "tls"), ("submission", "tls_context")])
    def test_nothing_goes_to_a_server_of_an_unknown_certificate(self, tmp_path: Path, way: str, served: str) -> None:
        context, found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), _Office()
        context.load_cert_chain(*certificate.make(tmp_path))
        served_by: dict[str, Any] = {served: context}
        with mail_server(found, **served_by) as port, pytest.raises(NotSent, match="certificate"):
            mail_out.send(account(mail_out_=f"{way}://127.0.0.1:{port}"), SENT)
        assert found.came == []

    def test_a_password_opens_the_submission(self, office: tuple[_Office, int], tmp_path: Path) -> None:
        (tmp_path / "password").write_text("secret\n")
        (tmp_path / "password").chmod(0o600)
        for own in (account(password_file=str(tmp_path / "password")), account(password_command="echo secret")):
            with smtplib.SMTP("127.0.0.1", office[1], timeout=30) as connection:
                mail_out._log_in(connection, "ann@mail.example", own)
                assert connection.docmd("AUTH", "PLAIN") == (503, b"Already authenticated")

    @pytest.mark.parametrize("access", ["TOKEN", "old"])
    def test_an_access_token_opens_the_submission(self, access: str, office: tuple[_Office, int]) -> None:
        found, port = office
        own = account(mail_out_=f"submission://127.0.0.1:{port}", token_command=f"echo {access}")
        with smtplib.SMTP("127.0.0.1", port, timeout=10) as connection:
            if access == "TOKEN":
                mail_out._log_in(connection, "ann@mail.example", own)
                return
            with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
                mail_out._log_in(connection, "ann@mail.example", own)
            assert refused.value.smtp_code == 535
            with pytest.raises(NotSent, match="no token"):
                mail_out._log_in(connection, "ann@mail.example", account(token_command="echo"))
        assert found.came == []

    def test_a_machine_without_sendmail_is_told_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mail_out, "_SENDMAIL", "/nowhere/sendmail")
        with pytest.raises(NotSent, match=r"^/nowhere/sendmail: No such file or directory"):
            mail_out.send(account(mail_out_="sendmail:"), SENT)

    def test_by_sendmail(self, tmp_path: Path) -> None:
        program = tmp_path / "sendmail"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat > {tmp_path}/letter\n')
        program.chmod(0o700)
        mail_out.send(account(mail_out_=f"sendmail:{program} -oi"), SENT)
        assert (tmp_path / "words").read_text() == "-oi -i -f ann@mail.example -- pbem+m1@play.example\n"
        assert (tmp_path / "letter").read_bytes() == RAW.replace(b"\r\n", b"\n")
        program.write_text("#!/bin/sh\nexit 75\n")
        with pytest.raises(NotSent, match="sendmail ended with status 75"):
            mail_out.send(account(mail_out_=f"sendmail:{program}"), SENT)

    def test_the_same_draft_is_the_same_file(self, tmp_path: Path) -> None:
        for _ in range(2):
            mail_out.send(account(mail_out_=f"drafts:{tmp_path / 'drafts'}"), SENT)
        (draft,) = (tmp_path / "drafts").iterdir()
        assert draft.read_bytes() == b"X-Unsent: 1\r\n" + RAW
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600


def never(_prompt: str) -> str:
    raise AssertionError("nobody asked for a passphrase")


def untouched() -> None:
    raise AssertionError("nobody asked for a touch")


def keygen(folder: Path, signature: str) -> None:
    """A stand-in for `ssh-keygen`, and for the security key that it finds: it makes a sample's signature."""
    armor = SIGNED / f"sshsig/{signature}.txt.sig"
    program = folder / "ssh-keygen"
    program.write_text(f"""#!/bin/sh
echo "$1" >> {folder}/asked
case "$1" in -l) echo "256 SHA256:x ann (ED25519-SK)";; *) cat > {folder}/text; cat {armor};; esac
""")
    program.chmod(0o755)


def holds(armor: str, key: str) -> bool:
    return ssh.verify(ssh.read_signature(armor), ssh.parse(key), b"orders\n")


class TestSigning:
    def test_a_key_that_is_there_is_not_replaced(self, tmp_path: Path) -> None:
        signing.make(tmp_path / "id", "ann@mail.example")
        with pytest.raises(signing.CannotSign, match="there already"):
            signing.make(tmp_path / "id", "ann@mail.example")

    @pytest.mark.skipif(not shutil.which("ssh-agent"), reason="OpenSSH is not here")
    def test_an_agent_signs_for_a_public_key(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "id"
        signing.make(path, "ann")
        socket = tmp_path / "agent"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            while not socket.exists():
                assert agent.poll() is None
            subprocess.run(["ssh-add", "-q", str(path)], check=True, capture_output=True)
            path.unlink()
            key = signing.read(path.with_name("id.pub"), never, untouched)
            assert holds(key.sign(b"orders\n", "pbem@play.example"), key.public)
        finally:
            agent.terminate()
            agent.wait()
        with pytest.raises(signing.CannotSign, match="ssh-keygen does not sign"):
            key.sign(b"orders\n", "pbem@play.example")

    def test_a_security_key_is_touched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        keygen(tmp_path, "ed25519-sk")
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        (tmp_path / "id.pub").write_text((KEYS / "ssh-ed25519-sk.pub").read_text())
        touched: list[str] = []

        def touch() -> None:
            touched.append((tmp_path / "asked").read_text())

        key = signing.read(tmp_path / "id.pub", never, touch)
        key.unlock()
        text = (SIGNED / "sshsig/ed25519-sk.txt").read_bytes()
        armor = key.sign(text, "pbem-order@play.example")
        assert ssh.verify(ssh.read_signature(armor), ssh.parse(key.public), text)
        assert (tmp_path / "text").read_bytes() == text
        assert touched == ["-l\n"], "it was asked for once, before the device waited for it"

    def test_a_key_that_nobody_touches(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        keygen(tmp_path, "ed25519-sk")
        program = tmp_path / "ssh-keygen"
        program.write_text(program.read_text().replace("*) ", "*) exec sleep 60; "))
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setattr(signing, "_SECONDS", 1.0)
        (tmp_path / "id.pub").write_text((KEYS / "ssh-ed25519-sk.pub").read_text())
        with pytest.raises(signing.CannotSign, match="not touched"):
            signing.read(tmp_path / "id.pub", never, lambda: None).sign(b"orders\n", "pbem@play.example")

    def test_what_no_server_takes_is_not_handed_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        keygen(tmp_path, "untouched")
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        (tmp_path / "id.pub").write_text((KEYS / "ssh-untouched.pub").read_text())
        with pytest.raises(signing.CannotSign, match="Nobody touched"):
            signing.read(tmp_path / "id.pub", never, lambda: None).sign(b"orders\n", "pbem@play.example")


class TestMemory:
    def test_what_another_version_wrote_or_is_damaged_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.sqlite"
        Memory(path).close()
        assert path.read_bytes()[60:64] == (1).to_bytes(4, "big")
        Memory(path).close()
        database = sqlite3.connect(path)
        database.execute("PRAGMA user_version = 2")
        database.close()
        written = path.read_bytes()
        with pytest.raises(BadMemory, match="another pbem wrote it"):
            Memory(path)
        assert path.read_bytes() == written
        path.write_bytes(b"nonsense" * 1000)
        with pytest.raises(BadMemory, match="not a database"):
            Memory(path)
        with pytest.raises(BadMemory, match="memory"):
            Memory(path / "within")

    def test_it_is_for_its_owner_alone_also_when_a_copy_was_brought_back(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.sqlite"
        Memory(path).close()
        path.chmod(0o644)
        Memory(path).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


class TestAccounts:
    def test_a_file_for_each_for_its_owner_alone(self, tmp_path: Path) -> None:
        folders = places({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": str(tmp_path / "state")})
        with pytest.raises(BadAccount, match="no account yet"):
            folders.load()
        path = folders.save(account())
        assert path == tmp_path / ".config/pbem/ann@play.example.toml"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert folders.load() == folders.load("ann@play.example") == account()
        assert folders.memory("ann@play.example") == tmp_path / "state/pbem/ann@play.example.sqlite"
        folders.save(replace(account(), name="bob"))
        with pytest.raises(BadAccount, match=r"--account ann@play\.example, bob@play\.example"):
            folders.load()
        path.write_text(path.read_text() + 'nonsense = "x"\n')
        with pytest.raises(BadAccount, match="nonsense"):
            folders.load("ann@play.example")
        with pytest.raises(BadAccount, match="address"):
            folders.save(Account("cem", "play.example", "pbem@play.example", "nonsense", "", "", ""))
        with pytest.raises(BadAccount, match="give one of them"):
            account(password_command="pass ann", token_command="token ann")
        assert "cem@play.example" not in folders.accounts
        for ways in (("imaps://ann:secret@mail.example",), ("maildir:/x", "smtps://ann:secret@mail.example")):
            with pytest.raises(BadAccount, match="password") as refused:
                folders.save(account(*ways))
            assert "secret" not in str(refused.value)
            assert "secret" not in folders.file("ann@play.example").read_text()

    @pytest.mark.parametrize("way", ["h:99999", "h:2x", "[::1", "mail..example", f"{'h' * 64}.example"])
    def test_no_letter_goes_where_no_host_can_be(self, way: str) -> None:
        for ways in ((f"imaps://ann@{way}", "drafts:/x"), ("maildir:/x", f"smtps://ann@{way}")):
            with pytest.raises(BadAccount, match=r"write a host, and perhaps a port"):
                account(*ways)
        for ways in (("lmtp://[::1]:2525", "smtps://ann%40x@m\u00e4il.example.:465"), ("mbox:/a[b", "sendmail:")):
            assert account(*ways)

    @pytest.mark.parametrize("text", ["anna", "@x.example", "a b@x.example", "anna@", "anna@x/../y", "anna@-x"])
    def test_what_names_no_account(self, text: str) -> None:
        with pytest.raises(BadAccount):
            split(text)
        assert split("Anna@Play.example") == ("anna", "play.example")
