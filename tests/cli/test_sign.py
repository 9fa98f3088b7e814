"""`pbem sign`: what it prints verifies; what cannot be signed is said and not signed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from data.material import KEYS

from pbem import identity
from pbem.cli.group import group
from pbem.identity import ssh
from pbem.mail.message import Letter, read_letter
from pbem.proof.normal_form import VOCABULARY

judge = partial(identity.judge, words=VOCABULARY)

FORM = f"orders m17 turn 5\nserver play.example\nplayer anna\nprev {'8c1f' * 16}\nrev 1\nGx3 bGx1Gx3 # so\nend\n"


def mailed(text: str) -> Letter:
    return read_letter(f"From: anna@players.example\nContent-Type: text/plain; charset=utf-8\n\n{text}".encode())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(form: str | bytes, *options: str, key: Path = KEYS / "ssh-ed25519", typed: str = "") -> Result:
    Path("orders.txt").write_bytes(form.encode() if isinstance(form, str) else form)
    return CliRunner().invoke(group, ["sign", "orders.txt", "--key", str(key), *options], input=typed)


def signed(output: str, name: str = "ed25519", server: str = "play.example") -> str:
    found = judge(mailed(output), [ssh.parse((KEYS / f"ssh-{name}.pub").read_text())], server)
    assert found.kind == "valid", found
    return found.signed.decode()


@pytest.mark.parametrize("name", ["ed25519", "ecdsa", "rsa"])
def test_what_is_printed_verifies(name: str) -> None:
    result = run(FORM, key=KEYS / f"ssh-{name}")
    assert result.exit_code == 0
    assert result.stdout.startswith(FORM + ssh.BEGIN)
    assert result.stdout.endswith(ssh.END + "\n")
    assert signed(result.stdout, name) == FORM


def test_the_form_may_come_from_a_pipe() -> None:
    result = CliRunner().invoke(group, ["sign", "-", "--key", str(KEYS / "ssh-ed25519")], input=FORM)
    assert signed(result.stdout) == FORM


@pytest.mark.parametrize(
    "given",
    [
        FORM.replace("\n", "\r\n"),
        "\ufeff\n\n" + FORM.replace("\n", "  \n") + "\n\n",
        "".join(f"> {line}\n" for line in FORM.splitlines()),
        "".join(f">> {line}\n" for line in FORM.splitlines()),
        "".join(f"    {line}\n" for line in FORM.splitlines()),
    ],
)
def test_quotes_and_margins_are_taken_away(given: str) -> None:
    assert signed(run(given).stdout) == FORM


def test_in_any_terminal_it_is_utf_8_that_was_signed() -> None:
    given = FORM.replace("# so", "# süß, 船")
    Path("orders.txt").write_text(given, encoding="utf-8")
    result = CliRunner(charset="latin-1").invoke(group, ["sign", "orders.txt", "--key", str(KEYS / "ssh-ed25519")])
    assert signed(result.stdout_bytes.decode()) == given


def test_a_server_by_option() -> None:
    result = run("accept m17 5d0c5d0c\n", "--server", "Other.Example")
    assert signed(result.stdout, server="other.example") == "accept m17 5d0c5d0c\n"


@pytest.mark.parametrize(
    ("form", "options", "said"),
    [
        ("", (), "no form"),
        ("> \n", (), "no form"),
        ("Dear referee,\n" + FORM, (), "Dear referee"),
        (FORM + "-- \nAnna\n", (), "no part of it"),
        (FORM.replace("end", ""), (), "is missing"),
        (FORM.replace("server play.example\n", ""), (), "--server"),
        (FORM, ("--server", "other.example"), "several servers"),
        (FORM + ssh.BEGIN, (), "signed already"),
        (b"\xff\xfe", (), "UTF-8"),
        (FORM.replace("# so", "# \x1b[31mso"), (), "U+001B"),
    ],
)
def test_what_is_no_form_is_not_signed(form: str | bytes, options: tuple[str, ...], said: str) -> None:
    result = run(form, *options)
    assert result.exit_code == 4
    assert said in result.stderr
    assert result.stdout == ""


def pem(key: ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey, passphrase: str = "") -> bytes:
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def test_a_passphrase_is_asked_for_and_never_shown(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "key").write_bytes(pem(key, "secret"))
    result = run(FORM, key=tmp_path / "key", typed="wrong\nsecret\n")
    assert result.exit_code == 0
    assert judge(mailed(result.stdout), [ssh.parse(ssh.public(key))], "play.example").signed == FORM.encode()
    assert "Wrong passphrase" in result.stderr
    assert "secret" not in result.stdout + result.stderr
    locked = run(FORM, key=tmp_path / "key", typed="a\nb\nc\n")
    assert (locked.exit_code, locked.stdout) == (4, "")
    assert "stays locked" in locked.stderr


def test_keys_that_cannot_sign_are_named(tmp_path: Path) -> None:
    """OpenSSH itself is asked for those that only it may be able to use."""
    path = tmp_path / "a key"
    for data in (pem(x25519.X25519PrivateKey.generate()), b"none of ours", (KEYS / "ssh-ed25519.pub").read_bytes()):
        path.write_bytes(data)
        result = run(FORM, key=path)
        assert (result.exit_code, result.stdout) == (4, "")
        assert str(path) in result.stderr


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    result = run(FORM, key=tmp_path / "none")
    assert result.exit_code == 4
    assert "--key" in result.stderr
