"""Files of public keys as OpenSSH, git and forges write them."""

from __future__ import annotations

import pytest
from data.material import KEYS
from vectors.matches import good

from pbem.identity import parse_key
from pbem.proof.known_keys import compared, keys_in

NAMES = ("ed25519", "ecdsa", "rsa", "ed25519-sk", "ecdsa-sk", "passkey")
LINES = {name: " ".join((KEYS / f"ssh-{name}.pub").read_text().split()[:2]) for name in NAMES}
PRINTS = [parse_key(line).fingerprint for line in LINES.values()]
FIRST, OTHER = PRINTS[0], LINES["rsa"]
FILES = {
    "as a forge publishes them": ("\n".join(LINES.values()) + "\n", PRINTS),
    "authorized_keys": (f'# mine\n\nno-pty,from="*.example" {LINES["ed25519"]} ann@home\nrestrict {OTHER}\r\n', None),
    "options with blanks": (f'command="echo \\"hello, ann\\"",no-pty {LINES["ed25519"]} ann@home', [FIRST]),
    "no touch is asked for": (f"no-touch-required {LINES['ed25519']}", [FIRST]),
    "allowed_signers": (f'ann@home.example,ann namespaces="git" {LINES["ed25519"]} ann@home\n', [FIRST]),
    "the two signers' lines of one": (f"ann {LINES['ed25519']}\nann {OTHER}\n", None),
    "a line taken back": (f"#{OTHER}\n# {OTHER}\n{LINES['ed25519']}", [FIRST]),
    "what cannot sign here": (
        f"ssh-dss AAAA old\n{LINES['ed25519']}\nssh-mldsa44-ed25519@openssh.com AAAA new",
        [FIRST],
    ),
    "an authority": (f"ann cert-authority {OTHER}\ncert-authority {OTHER}\n{LINES['ed25519']}", [FIRST]),
    "as Notepad writes it": (f"\ufeff{LINES['ed25519']}\r\n{OTHER}\r\n", None),
    "a line end that is none": (f"# old\x0c{OTHER}\n{LINES['ed25519']} ann\u2028{OTHER}", [FIRST]),
    "a quote that nothing closes": ('"\\' * 200_000 + f"\n{LINES['ed25519']}", [FIRST]),
    "OpenPGP": (
        (KEYS / "pgp-anna.pub.asc").read_text(),
        [parse_key((KEYS / "pgp-anna.pub.asc").read_bytes()).fingerprint],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_what_files_hold(name: str) -> None:
    text, prints = FILES[name]
    assert [key.fingerprint for key in keys_in(text)] == (prints or [FIRST, parse_key(OTHER).fingerprint])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "one line"),
        ("<html>Not Found</html>", "begins with its type"),
        (f"pty@home.example {LINES['ed25519']}\nrestrict@home.example {OTHER}\n", "several people"),
        (f"cert-authority {OTHER}", "begins with its type"),
        (f"ann {LINES['ed25519']}\nbob {OTHER}\n", "several people"),
        (f'ann@home.example {LINES["ed25519"]}\nbob@home.example namespaces="git" {OTHER}\n', "several people"),
        ((KEYS / "ssh-ed25519").read_text(), "private key"),
    ],
)
def test_what_is_no_file_of_one_persons_keys(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        keys_in(text)


def test_a_finding_names_the_entry_that_brought_the_key() -> None:
    found = compared(good("keys").entries, {"ann": keys_in(OTHER)})
    assert [(one.standing, one.seq) for one in found] == [("open", 1), ("open", 3), ("open", 7)]
