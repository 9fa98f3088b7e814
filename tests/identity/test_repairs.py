"""A signed text as Windows saved or piped it, in a letter whose names became links: all find what was signed."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from data.material import IN_FORCE
from page_scripts.javascript import Scripts
from signing.openpgp_maker import BINARY, Signer, armored
from signing.repairs import FILES, FORM, LINKS, OTHERS

from pbem import identity
from pbem.identity import BadKey, Key, Verdict, parse_key, ssh
from pbem.linked_names import unlinked
from pbem.mail import commands
from pbem.mail.commands import clean
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY, hash_of_words, judged_text
from pbem.requests import Notify, Propose
from verifier.commands import read_commands
from verifier.signature import ways
from verifier.text import plain

SERVER = "play.example"
PRIVATE = Ed25519PrivateKey.from_private_bytes(b"a" * 32)
ANN = parse_key(ssh.public(PRIVATE))
PGP = Signer()

UNDER = """async (cases) => {
    const under = ([armor, text]) => SSHSIG.under(SSHSIG.read(armor.match(SSHSIG.ARMOR)[1]), [text]);
    return Promise.all(cases.map(under));
}"""


def armor(signed: bytes) -> str:
    return ssh.sign(PRIVATE, signed, f"pbem@{SERVER}")


def judged(text: str, key: Key = ANN) -> Verdict:
    raw = b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + text.encode()
    letter = read_letter(raw)
    return judged_text(letter, identity.judge(letter, [key], SERVER, words=VOCABULARY, at=IN_FORCE)).verdict


def said(verdict: Verdict) -> list[str]:
    """The words from which commands are read."""
    return clean(verdict.signed.decode()).split()


GREETING = "Dear server,\n\nmy proposal:\n\n"
CASES = [
    *((file, "Outlook", greeting) for file in FILES for greeting in ("", GREETING)),
    *(("as it is", link, "") for link in LINKS),
]


def case(file: str, link: str, greeting: str) -> tuple[bytes, str]:
    """The signed text, and the text that arrived."""
    signed = FILES.get(file, str)(FORM).encode()
    return signed, greeting + LINKS.get(link, str)(FORM)


@pytest.mark.parametrize(("file", "link", "greeting"), CASES)
def test_an_ssh_signature(file: str, link: str, greeting: str) -> None:
    signed, text = case(file, link, greeting)
    found = judged(text + armor(signed))
    assert (found.kind, found.signed) == ("valid", signed)
    assert judged(found.pasted).signed == signed  # as an opponent's program is shown it
    assert signed in ways(text)
    assert said(found) == FORM.split()


def test_the_page_finds_the_same() -> None:
    cases = [case(file, link, "") for file, link, greeting in CASES if not greeting]
    scripts = Scripts("ed25519.js", "sshsig.js")
    assert scripts.evaluate(UNDER, [[armor(signed), text] for signed, text in cases]) == [
        signed.decode() for signed, _ in cases
    ]


@pytest.mark.parametrize("file", FILES)
def test_an_openpgp_signature(file: str) -> None:
    """Pasted beneath the text; and around it, where it is in the clear."""
    signed, text = case(file, "Apple Mail", "")
    key = parse_key(PGP.certificate())
    assert judged(text + PGP.over(signed, kind=BINARY), key).signed == signed
    canonical = b"\r\n".join(
        line.rstrip() for line in signed.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    )
    made = armored("SIGNATURE", PGP.signature(1, canonical))
    found = judged(f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{text}{made}", key)
    assert (found.kind, found.signed) == ("valid", canonical)


@pytest.mark.parametrize("file", FILES)
def test_dressed_otherwise_they_are_the_same_words(file: str) -> None:
    """A replay in another dress is not obeyed again."""
    letter = read_letter(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + FORM.encode())
    signed = Verdict("valid", identity.judge(letter, [], SERVER, words=VOCABULARY).reason, signed=FORM.encode())
    dressed = Verdict("valid", signed.reason, signed=FILES[file](FORM).encode())
    assert judged_text(letter, dressed).words == judged_text(letter, signed).words


@pytest.mark.parametrize("link", [link for link in LINKS if "wrapped" not in link])
def test_a_link_that_was_signed_is_no_other_word(link: str) -> None:
    assert hash_of_words(clean(LINKS[link](FORM))) == hash_of_words(FORM)


@pytest.mark.parametrize("link", LINKS)
def test_commands_are_read_without_links(link: str) -> None:
    text = LINKS[link](FORM)
    (command,) = commands.parse(text).commands
    assert isinstance(command.request, Propose)
    assert command.request.players == ("carol@mail.example", "dave@mail.example")
    assert (command.fields["server"], command.faults) == (SERVER, ())
    (second,) = read_commands(text)
    assert (second.said["*with"].split(), second.said["server"]) == ([*command.request.players], SERVER)
    assert clean(text) == plain(text) == unlinked(text)
    assert Scripts("ed25519.js", "sshsig.js").evaluate("(text) => SSHSIG.unlinked(text)", text) == plain(text)


@pytest.mark.parametrize("other", OTHERS)
def test_a_link_to_something_else_stays(other: str) -> None:
    name, linked = OTHERS[other]
    text = FORM.replace(name, linked, 1)
    assert clean(text) == plain(text) == text
    assert Scripts("ed25519.js", "sshsig.js").evaluate("(text) => SSHSIG.unlinked(text)", text) == text
    found = judged(text + armor(FORM.encode()))
    assert (found.kind, found.signed) == ("bad", b"")
    if "://" in linked or "mailto:" in linked:
        assert ("turned into links" in found.reason) == (other != "another scheme")


def test_a_topic_that_became_a_link() -> None:
    (command,) = commands.parse("set notify https://ntfy.example/Topic<https://ntfy.example/Topic>").commands
    assert isinstance(command.request, Notify)
    assert command.request.value == "https://ntfy.example/Topic"


COMMENTED = FORM.replace("end", "# bis später\nend")


@pytest.mark.parametrize("line_end", ["", "\r\n"])
@pytest.mark.parametrize(
    ("named", "encoding"),
    [("UTF-16", "utf-16-le"), ("UTF-16", "utf-16-be"), ("Windows-1252", "cp1252"), ("ASCII", "ascii")],
)
def test_a_file_in_another_encoding_is_named(named: str, encoding: str, line_end: str) -> None:
    """PowerShell's `>`, Notepad's "ANSI", and a pipe that knows ASCII alone."""
    mark = "\ufeff" if named == "UTF-16" else ""
    file = mark + COMMENTED.replace("\n", "\r\n").removesuffix("\r\n") + line_end
    found = judged(GREETING + COMMENTED + armor(file.encode(encoding, "replace")))
    assert (found.kind, found.signed) == ("bad", b"")
    assert f"is in {named}: save it as UTF-8" in found.reason
    other = judged(COMMENTED.replace("carol", "eve") + armor(file.encode(encoding, "replace")))
    assert "UTF-8" not in other.reason


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_files_in_utf_16_are_named(encoding: str) -> None:
    """A signature, or a key, that PowerShell wrote by `>`."""
    content = ("\ufeff" + armor(FORM.encode())).encode(encoding)
    with pytest.raises(BadKey, match="UTF-16"):
        parse_key(("\ufeff" + ANN.public).encode(encoding))
    parts = [("form.txt", FORM.encode()), ("form.txt.sig", content)]
    body = b"".join(
        b'--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="%s"\r\n'
        b"Content-Transfer-Encoding: base64\r\n\r\n%s\r\n" % (name.encode(), base64.encodebytes(data))
        for name, data in parts
    )
    letter = read_letter(b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + body + b"--b--\r\n")
    found = identity.judge(letter, [ANN], SERVER, words=VOCABULARY)
    assert (found.kind, "UTF-16" in found.reason) == ("refused", True)
