"""SSH signatures on the page: of security keys and passkeys it says what `pbem.identity` says, octet by octet."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from data.material import KEYS, SIGNED
from identity.test_security_keys import FALSE, HONEST, KEY, TEXT, application_of, odd_armors, signed_as
from page_scripts.javascript import Scripts
from signing import passkeys
from signing.passkeys import armored

from pbem.identity import ssh
from pbem.identity.verdict import BadKey, BadSignature

HOLD = """async (cases) => {
    const found = [];
    for (const [armor, key, text] of cases) {
        const read = SSHSIG.read(armor.match(SSHSIG.ARMOR)[1]);
        const known = read && read.key === key.split(" ")[1] && SSHSIG.isKnown(read);
        found.push(Boolean(known) && await SSHSIG.under(read, [text]) !== null);
    }
    return found;
}"""
TRUE = ("ed25519", "ed25519-sk", "ecdsa-sk", "passkey")


@pytest.fixture(scope="module")
def scripts() -> Scripts:
    return Scripts("ed25519.js", "sshsig.js")


def hold(armor: str, line: str, text: bytes) -> bool:
    """The verdict in Python."""
    try:
        return ssh.verify(ssh.read_signature(armor), ssh.parse(line), text)
    except (BadKey, BadSignature):
        return False


def sample(name: str) -> tuple[str, str, bytes]:
    path = SIGNED / f"sshsig/{name}.txt"
    return path.with_suffix(".txt.sig").read_text(), (KEYS / f"ssh-{name}.pub").read_text(), path.read_bytes()


def alike(scripts: Scripts, cases: list[tuple[str, str, bytes]]) -> list[bool]:
    """The verdict of both."""
    told: list[Any] = [(armor, line, text.decode()) for armor, line, text in cases]
    said: list[bool] = scripts.evaluate(HOLD, told)
    assert said == [hold(*case) for case in cases]
    return said


def test_the_desk_knows_which_keys_pages_can_check(scripts: Scripts) -> None:
    kinds = list(ssh._ALGORITHMS)
    known = scripts.evaluate(
        "(kinds) => kinds.map((kind) => SSHSIG.isKnown({ kind, algorithm: kind, hash: 'sha256' }))", kinds
    )
    assert [kind in ssh.ON_PAGES for kind in kinds] == known


def test_what_ssh_keygen_and_browsers_sign_holds(scripts: Scripts) -> None:
    assert alike(scripts, [sample(name) for name in TRUE]) == [True] * len(TRUE)
    assert alike(scripts, [(sample(name)[0], sample(name)[1], b"something else") for name in TRUE]) == [False] * 4
    assert alike(scripts, [sample("untouched")]) == [False]
    made = [
        (passkeys.sign(KEY, TEXT, wish=wish, application=of), passkeys.public(KEY, of), TEXT)
        for wish in HONEST.values()
        for of in [application_of(wish)]
    ]
    assert alike(scripts, made) == [True] * len(HONEST)


def test_what_no_honest_browser_signs_holds_nowhere(scripts: Scripts) -> None:
    made = [(passkeys.sign(KEY, TEXT, wish=wish), passkeys.public(KEY), TEXT) for wish, _ in FALSE.values()]
    assert alike(scripts, made) == [False] * len(FALSE)


@pytest.mark.parametrize("application", ["ssh:", "", "Play.example", "play.example:443", ".", "a\0", "\ufeffa"])
def test_a_key_is_of_an_application_that_there_may_be(scripts: Scripts, application: str) -> None:
    made = passkeys.sign(KEY, TEXT, wish=passkeys.Wish(host=application), application=application)
    assert alike(scripts, [(made, passkeys.public(KEY, application), TEXT)]) == [False]


def test_base64_has_one_form(scripts: Scripts) -> None:
    assert not any(alike(scripts, [(armor, passkeys.public(KEY), TEXT) for armor in odd_armors()]))


def test_what_a_browser_adds_may_be_long(scripts: Scripts) -> None:
    wish = passkeys.Wish(rest=f',"more":"{"x" * 150_000}"}}')
    assert alike(scripts, [(passkeys.sign(KEY, TEXT, wish=wish), passkeys.public(KEY), TEXT)]) == [True]


def test_a_point_has_one_encoding(scripts: Scripts) -> None:
    """The hybrid one (X9.62) tells the sign of y twice: some browsers read it."""
    armor, line = passkeys.sign(KEY, TEXT), passkeys.public(KEY)
    kind, blob = line.split()[0], base64.b64decode(line.split()[1])
    at = blob.index(b"\0\0\0\x41\x04") + 4
    other = blob[:at] + bytes([6 | blob[at + 64] & 1]) + blob[at + 1 :]
    key = f"{kind} {base64.b64encode(other).decode()}"
    assert alike(scripts, [(signed_as(armor, other), key, TEXT)]) == [False]


@pytest.mark.parametrize("name", TRUE)
def test_no_changed_octet_holds(scripts: Scripts, name: str) -> None:
    armor, line, text = sample(name)
    blob, cases = base64.b64decode("".join(armor.split("\n")[1:-2])), []
    for at in range(len(blob)):
        changed = bytearray(blob)
        changed[at] ^= 1 << at % 8
        cases.append((armored(bytes(changed)), line, text))
    cases += [(armored(other), line, text) for other in (blob[:-1], blob + b"\0", blob[:10], blob + blob)]
    # As an entry of a transcript would name the key that is in the signature, whatever it is.
    for at in range(14, 14 + int.from_bytes(blob[10:14], "big")):
        changed = bytearray(blob)
        changed[at] ^= 1
        key = changed[14 : 14 + int.from_bytes(blob[10:14], "big")]
        kind = line.split()[0]
        cases.append((armored(bytes(changed)), f"{kind} {base64.b64encode(key).decode()}", text))
    assert not any(alike(scripts, cases))


@pytest.mark.parametrize(
    ("host", "possible"),
    [("play.example", True), ("localhost", True), ("play.example.", False), ("192.0.2.1", False), ("[::1]", False)],
)
def test_no_page_makes_a_passkey_that_no_server_takes(host: str, *, possible: bool) -> None:
    hindrance = """(hostname) => {
        const location = { protocol: "https:", hostname };
        Object.assign(globalThis, { location, isSecureContext: true, PublicKeyCredential: {} });
        return PASSKEY.hindrance();
    }"""
    assert (Scripts("say.js", "sshsig.js", "passkey.js").evaluate(hindrance, host) == "") == possible
