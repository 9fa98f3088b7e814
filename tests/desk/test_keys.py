"""Registration and a turn with a key of each format, and the bundle that proves it."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from data.material import IN_FORCE, KEYS
from in_a_box.referee import Mailbox, Referee, attachment, body, confirming, form_in, placed
from in_a_box.small_games import FLEETS, SMALL
from signing import passkeys
from signing.signers import WAYS, by_openpgp_mime, by_ssh, head, pasted

from pbem.identity import parse_key, ssh
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    referee = Referee(tmp_path)
    referee.now = IN_FORCE
    yield referee
    referee.close()


def attached(person: Mailbox, text: str, name: str, content: bytes) -> bytes:
    return (
        f"{head(person)}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{text}\r\n"
        f'--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="{name}"\r\n'
        f"Content-Transfer-Encoding: base64\r\n\r\n{base64.b64encode(content).decode()}\r\n--b--\r\n"
    ).encode()


def test_the_first_attached_file_that_is_a_key_registers(referee: Referee) -> None:
    ann = referee.person("ann")
    raw = attached(ann, "register ann", "notes.asc", b"see below")
    key = ssh.public(ann.key).encode()
    end = b"--b\r\nContent-Disposition: attachment; filename=id.pub\r\n\r\n" + key + b"\r\n--b--\r\n"
    referee.deliver(raw.replace(b"--b--\r\n", end), ann.address)
    assert parse_key(key).fingerprint in ann.text
    referee.deliver(raw, ann.address)
    assert "nothing was changed" in ann.text


@pytest.mark.parametrize("way", WAYS)
def test_register_play_and_prove(referee: Referee, way: str) -> None:
    kind, file, sign = WAYS[way]
    content = (KEYS / file).read_bytes()
    ann = referee.person("ann")

    def send(text: str, sign: Callable[[Mailbox, str], bytes] = sign) -> None:
        referee.deliver(sign(ann, text), ann.address)

    referee.deliver(attached(ann, "register ann", file, content), ann.address)
    fingerprint = parse_key(content).fingerprint
    assert fingerprint in ann.text
    send(confirming(ann))
    assert "You are registered" in ann.text, ann.text
    bob = referee.registered("bob")
    referee.send(bob, f"new spaceships with ann\n{SMALL}\nend\n")
    send(form_in(ann.text, "accept", lines=1))
    send(ann.filled("setup", FLEETS[1]))
    assert "above the signed text" not in ann.text
    referee.send(bob, bob.filled("setup", FLEETS[0]))
    for cell in ("Rv1", "Rv3", "Bz5"):
        send(ann.filled("orders", "final\n"))
        referee.send(bob, bob.filled("orders", f"final\n{cell}"))
    bundle = attachment(bob.find(", the end"), ".zip")
    checks = list(verify(bundle))
    assert all(check.holds for check in checks), checks
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        transcript = next(name for name in archive.namelist() if "transcript" in name)
        text = archive.read(transcript).decode()
    assert f'"format":"{kind}"' in text
    assert fingerprint in text


def test_a_key_attached_within_the_signature(referee: Referee) -> None:
    """PGP/MIME covers the attachment: nothing need be named."""
    ann = referee.person("ann")
    pgp = (KEYS / "pgp-anna.pub.asc").read_text()
    referee.deliver(pasted(ann, f"register ann\n{pgp}"), ann.address)
    referee.deliver(by_openpgp_mime(ann, confirming(ann)), ann.address)
    public = (KEYS / "ssh-rsa.pub").read_text()
    parts = (
        f"Content-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: text/plain\n\nkey add\n{placed(ann)}\n"
        "--c\nContent-Type: text/plain\nContent-Disposition: attachment; filename=new.pub\n\n"
        f"{public}\n--c--"
    )
    referee.deliver(by_openpgp_mime(ann, parts, content_type=""), ann.address)
    assert "proof old-key" in ann.text, ann.text
    referee.deliver(by_ssh(ann, confirming(ann)), ann.address)
    assert "and valid from now on" in ann.text


def test_a_signed_entity_that_programs_read_in_different_ways_has_no_effect(referee: Referee) -> None:
    """Two headers, or HTML beside the text, would let the signer say another thing to people than to the server."""
    ann = referee.person("ann")
    pgp = (KEYS / "pgp-anna.pub.asc").read_text()
    referee.deliver(pasted(ann, f"register ann\n{pgp}"), ann.address)
    referee.deliver(by_openpgp_mime(ann, confirming(ann)), ann.address)
    wish = f"set mail words\n{placed(ann)}"
    plain, page = "Content-Type: text/plain\n", "Content-Type: text/html\n"
    parts = f"--c\n{plain}\n{wish}\n--c\n{page}\n<p>Hello!</p>\n--c--"
    for kind, content in ((plain + page, wish), ("Content-Type: multipart/alternative; boundary=c\n", parts)):
        referee.deliver(by_openpgp_mime(ann, f"\n{content}", content_type=kind), ann.address)
        assert ann.last["Subject"] == "[pbem] A letter in your name was not accepted"
        assert "in different ways" in " ".join(ann.text.split())
    referee.deliver(by_openpgp_mime(ann, f"\n{wish}", content_type=plain), ann.address)
    assert "not accepted" not in ann.last["Subject"]


def test_revoked_and_expired_keys_are_not_registered(referee: Referee) -> None:
    ann = referee.person("ann")
    for name, state in (("revo", "revoked"), ("exie", "expired")):
        text = (KEYS / f"pgp-{name}.pub.asc").read_text()
        referee.send(ann, f"register ann\n{text}", sign=False)
        assert f"this key is {state}" in ann.text


def test_a_private_key_is_refused(referee: Referee) -> None:
    ann = referee.person("ann")
    for name in ("pgp-anna.sec.asc", "ssh-ed25519"):
        referee.send(ann, f"register ann\n{(KEYS / name).read_text()}", sign=False)
        assert "private key" in ann.text, ann.text


@pytest.mark.parametrize(
    ("host", "pages", "taken"),
    [
        ("cards.example", "https://cards.example/pbem/", True),
        ("cards.example", "https://Cards.Example:8443/", True),
        ("cards.example", "https://play.example/", False),
        ("play.cards.example", "https://cards.example/", False),
        ("cards.example", "", False),
        ("localhost", "https://cards.example/", True),
        ("ssh:games", "", True),
    ],
)
def test_passkeys_are_of_the_servers_pages(referee: Referee, host: str, pages: str, *, taken: bool) -> None:
    referee.configure(pages=pages)
    ann = referee.person("ann")
    key = passkeys.public(ec.derive_private_key(1234567890, ec.SECP256R1()), host)
    referee.send(ann, f"register ann\n{key} ann@home\n", sign=False)
    assert (parse_key(key).fingerprint in ann.text) == taken
    assert taken or f"passkey is for {host}" in " ".join(ann.text.split())


@pytest.mark.parametrize("way", [way for way in WAYS if way != "PGP/MIME"])
def test_letters_say_how_to_sign_with_ones_own_key(referee: Referee, way: str) -> None:
    kind, file, sign = WAYS[way]
    ann, bob = referee.person("ann"), referee.registered("bob")
    referee.deliver(pasted(ann, f"register ann\n{(KEYS / file).read_text()}"), ann.address)
    referee.deliver(sign(ann, confirming(ann)), ann.address)
    referee.send(bob, f"new spaceships with ann\n{SMALL}\nend\n")
    words = {
        "openpgp": "gpg --clearsign",
        "smime": "openssl smime -sign",
        "ssh": "ssh-keygen -Y sign",
        "passkey": "with your passkey",
    }
    for letter, name in (("proposes", "accept.txt"), ("your setup", "setup.txt")):
        if letter == "your setup":
            referee.deliver(sign(ann, form_in(body(ann.find("proposes")), "accept", lines=1)), ann.address)
        text = body(ann.find(letter))
        assert (name in text) == (way != "passkey")
        assert [other for other, command in words.items() if command in text] == [way if way in words else kind]
        assert max(map(len, text.split("\n"))) <= 80
    assert "ssh-keygen -Y sign" in body(bob.find("your setup"))
