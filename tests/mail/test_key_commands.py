"""Commands about keys: a key pasted in any number of lines, and recovery codes that are never repeated."""

from __future__ import annotations

import pytest
from data.material import KEYS
from mail.one_command import KEY, asked, only

from pbem.mail.commands import parse


@pytest.mark.parametrize(
    "pasted",
    [
        KEY,
        KEY + " anna@home",
        KEY.replace(" ", "\n"),
        KEY[:40] + "\n" + KEY[40:],
        KEY[:20] + "\r\n" + KEY[20:60] + "\r\n" + KEY[60:] + "\r\nanna@home",
        KEY + " my old laptop end",
        KEY + "\nend\n",
    ],
)
def test_a_pasted_key(pasted: str) -> None:
    reading = parse(f"Register Anna\n{pasted}\nhelp")
    assert [command.name for command in reading.commands] == ["register", "help"]
    assert reading.ignored == []
    command = reading.commands[0]
    assert asked(command)["name"] == "anna"
    assert str(asked(command)["key"]).split()[:2] == KEY.split()


@pytest.mark.parametrize("name", ["ed25519-sk", "ecdsa-sk", "passkey", "ecdsa", "rsa"])
def test_a_longer_key_may_be_wrapped_too(name: str) -> None:
    """A passkey's, too long for a line of most mail programs."""
    kind, text, comment = (KEYS / f"ssh-{name}.pub").read_text().split()
    pieces = [text[at : at + 70] for at in range(0, len(text), 70)]
    for wrapped in ("\n".join([kind, *pieces, comment]), "\n".join([f"{kind} {pieces[0]}", *pieces[1:], comment])):
        assert (
            asked(only(f"key add\n{wrapped}\nserver play.example\nplayer anna\nend\n"))["key"]
            == f"{kind} {text} {comment}"
        )


CODE = "3f2a-91bc-0d4e-77aa-3f2a-91bc-0d4e-77aa"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (f"key add\n{KEY}", {"key": KEY}),
        ("key add SHA256:" + "x" * 43, {"fingerprint": "SHA256:" + "x" * 43}),
        ("key revoke SHA256:tYw4Jk.", {"fingerprint": "SHA256:tYw4Jk"}),
        ("key revoke ABCD EF01 2345\n6789", {"fingerprint": "ABCDEF0123456789"}),
        ("key\nkeep", {}),
        ("address add <anna@mail.example>", {"address": "anna@mail.example"}),
        (f"recover {CODE}\n{KEY}", {"code": CODE.replace("-", ""), "key": KEY}),
        (f"recover\n{KEY}", {"key": KEY}),
        ("recover 0O1l-what\nThanks, Anna", {"code": "0o1lwhat"}),
        (f"recover {CODE[:20]}\n{CODE[20:].upper()}", {"code": CODE.replace("-", "")}),
    ],
)
def test_keys(text: str, given: dict[str, str]) -> None:
    assert asked(only(text)) == given


@pytest.mark.parametrize(
    "missing",
    ["key revoke", "key revoke end", "key revoke server play.example", "address add", "address add nobody"],
)
def test_what_is_missing_is_said(missing: str) -> None:
    assert only(missing).faults


@pytest.mark.parametrize(
    "text",
    [
        f"recover {CODE}",
        f"recover {CODE[:-1]}",
        f"recover {CODE} {KEY}",
        f"recover O{CODE}",
        f"recovr {CODE}",
        f"hello {CODE.upper()}",
        f"> {CODE}",
        f"-- \n{CODE}",
        f"press m17\nmy code is {CODE}\nend",
        f"recover {CODE[:20]}\n{CODE[20:]}",
        f"help {CODE.replace('-', '')}",
    ],
)
def test_a_recovery_code_is_never_repeated(text: str) -> None:
    reading = parse(text)
    told = " ".join([*(command.echo for command in reading.commands), *reading.ignored])
    assert "91bc" not in told.lower()
    faults = " ".join(f"{fault.token} {fault.message}" for command in reading.commands for fault in command.faults)
    assert "91bc" not in faults.lower()
