"""Security keys and passkeys: whatever is signed otherwise than a touched device and an honest browser do is refused.

The samples by `ssh-keygen` are in test_ssh.py and test_formats.py.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import shutil
import subprocess
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from data.material import KEYS, SIGNED
from judges.reasons import is_whole
from signing import passkeys
from signing.passkeys import Wish

from pbem.identity import security_keys, ssh
from pbem.identity.security_keys import string, take
from pbem.identity.verdict import BadKey, BadSignature
from verifier import signature as second
from verifier.conventions import No
from verifier.entries import UNREADABLE

if TYPE_CHECKING:
    from pathlib import Path

KEY = ec.derive_private_key(1234567890, ec.SECP256R1())
TEXT = b"orders m17 turn 5\nserver play.example\nplayer ann\nGx3 Gx4\nend\n"
NAMESPACE = "pbem@play.example"


def holds(armor: str, application: str = "play.example", text: bytes = TEXT) -> bool:
    return ssh.verify(ssh.read_signature(armor), ssh.parse(passkeys.public(KEY, application)), text)


HONEST = {
    "as Chromium signs": Wish(),
    "a counter": Wish(counter=0xFFFFFFFF),
    "a touch alone, as of a device without PIN": Wish(flags=0x01),
    "no word of other origins, as older browsers": Wish(rest="}"),
    "more members": Wish(rest=',"crossOrigin":false,"other_keys_can_be_added_here":"do not compare"}'),
    "extensions": Wish(flags=0x81, extensions=b"\xa1\x63abc\x01"),
    "another port": Wish(origin="https://play.example:8443"),
    "localhost": Wish(origin="http://localhost:40321", host="localhost"),
    "localhost, encrypted": Wish(origin="https://localhost:8443", host="localhost"),
}
FALSE = {
    "nobody there": (Wish(flags=0x1C), "touch"),
    "nobody there, but recognised": (Wish(flags=0x04), "touch"),
    "a key that is made": (Wish(flags=0x41), "damaged"),
    "extensions that are not there": (Wish(flags=0x81), "damaged"),
    "extensions without their flag": (Wish(flags=0x01, extensions=b"\xa0"), "damaged"),
    "another host's device": (Wish(host="evil.example"), ""),
    "another page": (Wish(origin="https://evil.example"), "page"),
    "a page of a host below": (Wish(origin="https://cards.play.example"), "page"),
    "a page of a host above": (Wish(origin="https://example"), "page"),
    "a page of a host that begins so": (Wish(origin="https://play.example.evil.example"), "page"),
    "a page in clear text": (Wish(origin="http://play.example"), "page"),
    "a page and its path": (Wish(origin="https://play.example/"), "page"),
    "an app": (Wish(origin="android:apk-key-hash:AAAA"), "page"),
    "a page with a line end": (Wish(origin="https://play.example\n"), "page"),
    "no page": (Wish(origin=""), "damaged"),
    "another page than is signed": (Wish(origin="https://evil.example", shown="https://play.example"), ""),
    "a page within another site's": (Wish(rest=',"crossOrigin":true}'), ""),
    "a login somewhere": (Wish(challenge=b"0123456789abcdef"), ""),
    "another namespace": (Wish(challenge=b"SSHSIG" + string(b"file")), ""),
    "a new passkey": (Wish(start='{"type":"webauthn.create","challenge":"'), ""),
    "a payment": (Wish(start='{"type":"payment.get","challenge":"'), ""),
    "another order": (Wish(start='{"challenge":"x","type":"webauthn.get","challenge":"'), ""),
    "a blank": (Wish(start='{ "type":"webauthn.get","challenge":"'), ""),
    "more behind it": (Wish(behind=b"\0"), "damaged"),
}


def application_of(wish: Wish) -> str:
    return "localhost" if wish.host == "localhost" else "play.example"


@pytest.mark.parametrize("name", HONEST)
def test_what_browsers_sign_holds(name: str) -> None:
    application = application_of(HONEST[name])
    armor = passkeys.sign(KEY, TEXT, NAMESPACE, HONEST[name], application)
    assert holds(armor, application)
    assert not holds(armor, application, TEXT + b"\n")
    device = ssh.read_signature(armor).device
    assert device is not None
    assert (device.origin, device.counter) == (HONEST[name].origin, HONEST[name].counter)


@pytest.mark.parametrize("name", FALSE)
def test_what_no_honest_browser_signs_is_refused(name: str) -> None:
    wish, reason = FALSE[name]
    armor = passkeys.sign(KEY, TEXT, NAMESPACE, wish)
    if not reason:
        assert not holds(armor)
        return
    with pytest.raises(BadSignature, match=reason):
        ssh.read_signature(armor)


def test_a_namespace_that_was_not_signed() -> None:
    blob = base64.b64decode("".join(passkeys.sign(KEY, TEXT, "file").split("\n")[1:-2]))
    armor = passkeys.armored(blob.replace(string(b"file"), string(NAMESPACE.encode())))
    assert ssh.read_signature(armor).namespace == NAMESPACE
    assert not holds(armor)


def signed_as(armor: str, publickey: bytes) -> str:
    """The signature as another key's."""
    blob = base64.b64decode("".join(armor.split("\n")[1:-2]))
    _, rest = take(blob[10:])
    return passkeys.armored(blob[:10] + string(publickey) + rest)


def test_a_signature_is_of_one_application() -> None:
    """Its key is the same point, but no other key's signature holds as its own, nor a plain one's."""
    lines = [passkeys.public(KEY, name) for name in ("play.example", "localhost", "ssh:", "ssh:play.example")]
    keys = [ssh.parse(line) for line in [*lines, ssh.public(KEY)]]
    made = [passkeys.sign(KEY, TEXT), ssh.sign(KEY, TEXT, NAMESPACE)]
    for armor, key in itertools.product(made, keys):
        blob = base64.b64decode(key.public.split()[1])
        try:
            held = ssh.verify(ssh.read_signature(signed_as(armor, blob)), key, TEXT)
        except BadSignature:
            continue
        assert held == (blob == ssh.read_signature(armor).publickey)


@pytest.mark.parametrize(
    "application", ["", "SSH:", "ssh: ", "Play.example", "play.example:443", "https://play.example", ".", "*", "a\0"]
)
def test_applications_that_no_key_has(application: str) -> None:
    with pytest.raises(BadKey, match="no passkey"):
        ssh.parse(passkeys.public(KEY, application))


@pytest.mark.parametrize(
    ("application", "host", "taken"),
    [
        ("play.example", "play.example", True),
        ("play.example", "other.example", False),
        ("play.example", "", False),
        ("localhost", "play.example", True),
        ("localhost", "", True),
        ("ssh:", "play.example", True),
        ("ssh:play.example", "", True),
    ],
)
def test_a_passkey_is_of_the_servers_pages_or_of_a_page_at_home(application: str, host: str, *, taken: bool) -> None:
    key = ssh.parse(passkeys.public(KEY, application))
    assert security_keys.way("ssh", key.public) == ("ssh" if application.startswith("ssh:") else "passkey")
    if taken:
        security_keys.check_host(key, host)
        return
    with pytest.raises(BadKey) as refused:
        security_keys.check_host(key, host)
    assert is_whole(refused.value.reason)
    assert application in refused.value.reason


def test_no_browser_signs_with_ed25519() -> None:
    kind, blob = (KEYS / "ssh-ed25519-sk.pub").read_text().split()[:2]
    other = base64.b64decode(blob)[:-8] + string(b"play.example")
    with pytest.raises(BadKey, match="no passkey"):
        ssh.parse(f"{kind} {base64.b64encode(other).decode()}")
    named = base64.b64decode(blob)[:-8] + string(b"ssh:games")
    assert ssh.parse(f"{kind} {base64.b64encode(named).decode()}").public.startswith(kind)


@pytest.mark.parametrize("change", [b"\0", string(b""), b"\0\0\0\x01"])
@pytest.mark.parametrize("name", ["ed25519-sk", "ecdsa-sk", "passkey"])
def test_a_key_has_one_encoding(name: str, change: bytes) -> None:
    kind, blob = (KEYS / f"ssh-{name}.pub").read_text().split()[:2]
    for octets in (base64.b64decode(blob) + change, base64.b64decode(blob)[:-1]):
        with pytest.raises(BadKey):
            ssh.parse(f"{kind} {base64.b64encode(octets).decode()}")


def by_the_other(armor: str, key: str) -> bool:
    """The word of the second verifier."""
    try:
        return second.by_ssh(second.Key("ssh", "", key), armor, TEXT, "play.example")
    except (No, *UNREADABLE):
        return False


@pytest.mark.parametrize("name", [*HONEST, *FALSE])
def test_the_second_verifier_agrees(name: str) -> None:
    wish = HONEST.get(name) or FALSE[name][0]
    application = application_of(wish)
    armor = passkeys.sign(KEY, TEXT, NAMESPACE, wish, application)
    assert by_the_other(armor, passkeys.public(KEY, application)) == (name in HONEST)


def other_forms(base64_: str) -> list[str]:
    """The same octets in base64 that OpenSSH does not write: without padding, with more, with bits that are spare."""
    bare = base64_.rstrip("=")
    letters = ascii_uppercase + ascii_lowercase + digits + "+/"
    odd = bare[:-1] + letters[letters.index(bare[-1]) + 1] + base64_[len(bare) :]
    return [base64_ + "=", bare, odd] if bare != base64_ else [base64_ + "="]


def odd_armors() -> list[str]:
    """Signatures whose base64 has another form."""
    made = [passkeys.sign(KEY, TEXT, wish=Wish(rest="}" + "x" * length)) for length in range(3)]
    bodies = ["".join(armor.split("\n")[1:-2]) for armor in made]
    return [f"{ssh.BEGIN}\n{form}\n{ssh.END}\n" for body in bodies for form in other_forms(body)]


def test_base64_has_one_form() -> None:
    armors = odd_armors()
    assert len(armors) == 7
    for armor in armors:
        with pytest.raises(BadSignature, match="damaged"):
            ssh.read_signature(armor)
        assert not by_the_other(armor, passkeys.public(KEY))
    kind, text = passkeys.public(KEY, "aa.example").split()
    assert text.endswith("=")
    for form in other_forms(text):
        with pytest.raises(BadKey, match="damaged"):
            ssh.parse(f"{kind} {form}")
        armor = passkeys.sign(KEY, TEXT, wish=Wish("https://aa.example", "aa.example"), application="aa.example")
        assert not by_the_other(armor, f"{kind} {form}")


def test_an_armor_whose_first_line_end_was_lost() -> None:
    armor = passkeys.sign(KEY, TEXT).replace("\n", "")
    assert holds(armor)
    assert by_the_other(armor, passkeys.public(KEY))


def by_a_device(flags: int = 1) -> tuple[str, str]:
    """The line of a security key of Ed25519, and its signature of the text."""
    private = Ed25519PrivateKey.from_private_bytes(b"a" * 32)
    kind = b"sk-ssh-ed25519@openssh.com"
    public = b"".join(map(string, (kind, private.public_key().public_bytes_raw(), b"ssh:")))
    fields = b"".join(map(string, (NAMESPACE.encode(), b"", b"sha256")))
    state = bytes([flags]) + b"\0\0\0\x07"
    asked = hashlib.sha256(b"SSHSIG" + fields + string(hashlib.sha256(TEXT).digest())).digest()
    made = private.sign(hashlib.sha256(b"ssh:").digest() + state + asked)
    blob = b"SSHSIG\0\0\0\1" + string(public) + fields + string(string(kind) + string(made) + state)
    return f"{kind.decode()} {base64.b64encode(public).decode()}", passkeys.armored(blob)


def held(armor: str, line: str) -> bool:
    try:
        return ssh.verify(ssh.read_signature(armor), ssh.parse(line), TEXT)
    except BadSignature:
        return False


@pytest.mark.parametrize(("flags", "good"), [(0x01, True), (0x05, True), (0x00, False), (0x41, False), (0x81, False)])
def test_a_security_key_is_touched(flags: int, *, good: bool) -> None:
    line, armor = by_a_device(flags)
    assert held(armor, line) == by_the_other(armor, line) == good


@pytest.mark.parametrize("name", ["security key", "passkey"])
def test_no_octet_can_be_changed_and_both_verifiers_say_so(name: str) -> None:
    line, armor = by_a_device() if name == "security key" else (passkeys.public(KEY), passkeys.sign(KEY, TEXT))
    blob = base64.b64decode("".join(armor.split("\n")[1:-2]))
    assert held(armor, line)
    assert by_the_other(armor, line)
    for at in range(len(blob)):
        changed = passkeys.armored(blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :])
        assert not held(changed, line), at
        assert not by_the_other(changed, line), at


def test_stock_ssh_keygen_agrees(tmp_path: Path) -> None:
    """It takes whatever is taken here; the samples say the same where there is none."""
    keygen = shutil.which("ssh-keygen")
    if keygen is None:
        return
    for name, wish in HONEST.items():
        application = application_of(wish)
        (tmp_path / "allowed").write_text(f"ann {passkeys.public(KEY, application)}\n")
        (tmp_path / "sig").write_text(passkeys.sign(KEY, TEXT, NAMESPACE, wish, application))
        words = [keygen, "-Y", "verify", "-f", "allowed", "-I", "ann", "-n", NAMESPACE, "-s", "sig"]
        for text, good in ((TEXT, True), (TEXT + b"\n", False)):
            done = subprocess.run(words, input=text, cwd=tmp_path, capture_output=True, check=False)
            assert (done.returncode == 0) == good, (name, done.stderr)
    for name in ("ed25519-sk", "ecdsa-sk", "passkey"):
        (tmp_path / "allowed").write_text(f"ann {(KEYS / f'ssh-{name}.pub').read_text()}")
        sample = SIGNED / f"sshsig/{name}.txt"
        words = [keygen, "-Y", "verify", "-f", "allowed", "-I", "ann", "-n", "pbem-order@play.example"]
        done = subprocess.run([*words, "-s", f"{sample}.sig"], input=sample.read_bytes(), cwd=tmp_path, check=False)
        assert done.returncode == 0
