"""Letters as the page's verifier reads them: other shapes, quotes and strangers' signatures accuse nobody."""

from __future__ import annotations

import quopri
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import checked, letter_by, signed_by
from in_a_box.referee import form_in
from page_scripts.verifying import checks, fails, published
from signing.dresses import beside, part, several
from vectors.matches import good
from world.mutations import rewritten

from pbem.desk.public import signed_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from page_scripts.javascript import Scripts


LETTER = "letters/game-1-turn-1-seat-1.eml"


def quoted_printable(body: bytes) -> bytes:
    return b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + quopri.encodestring(body)


def with_its_signature(body: bytes) -> bytes:
    text, mark, armor = body.replace(b"\r\n", b"\n").partition(b"-----BEGIN")
    return beside(part(text, "orders.txt"), part(mark + armor, "orders.txt.sig", "application/octet-stream"))


@pytest.mark.parametrize(
    ("shape", "left_open"),
    [
        (quoted_printable, False),
        (part, False),
        (with_its_signature, False),
        (lambda body: b"\r\n" + body.replace(b"rev 1", b"rev 2"), True),
    ],
    ids=["quoted-printable", "base64", "attached", "of other words"],
)
def test_letters_are_judged_in_the_shapes_that_mail_programs_give_them(
    shape: Callable[[bytes], bytes], left_open: bool, verifier: Scripts
) -> None:
    """A text that does not fit its signature may be rewrapped, which only `pbem verify` undoes: it is left open."""
    found = good("ssh")
    head, _, body = found.papers[LETTER].partition(b"Content-Type:")
    said = checks(verifier, rewritten(found, LETTER, head + shape(body.partition(b"\r\n\r\n")[2])))
    assert False not in [one["holds"] for one in said]
    assert [LETTER in one["said"] for one in said if one["holds"] is None] == [True] * left_open


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


LONG = 60_000
"""As much of one sign in a line as a letter may have: nobody waits for what takes the square of it."""
SECONDS = 3
ASIDE = "press m1\nIn setup m2 game 5 I was lucky.\nend\n"
WORDS: dict[str, Callable[[str], str]] = {
    "another turn first": lambda form: f"{form.replace('turn 3', 'turn 2')}\n{form}",
    "other words first": lambda form: ASIDE + form,
    "commas": lambda form: form.replace("orders m1 turn 3", "orders m1, turn 3:"),
    "a soft hyphen": lambda form: form.replace("orders", "or\u00adders"),
    "a quote in the command": lambda form: form.replace("orders m1", "orders m1\n > as you wrote\n", 1),
    "a long run of dots": lambda form: f"# {'.' * LONG}x\n{form}",
    "a long run of blanks": lambda form: f"# x{' ' * LONG}x\n{form}",
    "no line end at last": lambda form: form.replace("turn 3", "turn 3 ", 1).rstrip("\n"),
    "two line ends at last": lambda form: f"{form}\n",
}
LETTERS: dict[str, Callable[[str], str]] = {
    "below a quote": lambda signed: f"{quoted(signed)}\n{signed}",
    "below half a quote": lambda signed: f"> -----BEGIN SSH SIGNATURE-----\n> abc\n\n{signed}",
}


BLANKS = f"x{' ' * LONG}x\r\n".encode()
FILES = {
    "beside damaged base64": b"base64\r\n\r\nAAAAA\r\n",
    "beside base64 that goes on behind its end": b"base64\r\n\r\nAA==AAAA\r\n",
    "beside many blanks": b"quoted-printable\r\n\r\n" + BLANKS,
}


def in_one_line(signed: str) -> str:
    _, mark, armor = signed.partition("-----BEGIN")
    return " ".join(f"{mark}{armor}".split("\n"))


def beside_it(*head: str, above: str = "") -> Callable[[str, str], bytes]:
    """A part of this type, with these headers, that holds the signature of somebody else."""
    fields = "".join(f"{line}\r\n" for line in head)
    return lambda signed, other: several(
        "multipart/mixed", f"{fields}\r\n{above}{other}".encode(), part(signed.encode())
    )


STRANGERS: dict[str, Callable[[str, str], bytes]] = {
    "in a quoted line": lambda signed, other: part(f"> {in_one_line(other)}\n\n{signed}".encode()),
    "in a nameless attachment": beside_it("Content-Type: text/plain", "Content-Disposition: attachment"),
    "in a vcard": beside_it("Content-Type: text/vcard; x-name=ann.vcf"),
    "in a key file": beside_it(
        "Content-Type: application/pgp-keys; name=key.asc", above="-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    ),
    "behind a line that begins like the boundary": beside_it("Content-Type: text/html", "", "<p>", "--boring", ""),
    "in a letter within the letter": beside_it("Content-Type: message/rfc822; x-name=a.eml", "", "Subject: hello"),
}
"""Parts of a letter that somebody else signed, which `pbem` does not take for a signature of the letter."""


@pytest.mark.parametrize(
    "way", [*WORDS, *LETTERS, *FILES, *STRANGERS, *(f"own, {way}" for way in STRANGERS), "beside HTML"]
)
def test_the_page_accuses_no_honest_server_whatever_else_a_letter_holds(verifier: Scripts, way: str) -> None:
    """It stands in the last turn, whose head no letter cites."""
    found, path = good("ssh"), "letters/game-1-turn-3-seat-1.eml"
    form = form_in(found.papers[path].decode().replace("\r\n", "\n"), "orders")
    raw = letter_by("ann", WORDS.get(way, str)(form))
    head, _, signed = raw.partition(b"\r\n\r\n")
    head += b"\r\n"
    if way in LETTERS:
        raw = head + b"\r\n" + LETTERS[way](signed.decode().replace("\r\n", "\n")).replace("\n", "\r\n").encode()
    if way in FILES:
        file = b'Content-Type: application/octet-stream; name="a.bin"\r\nContent-Transfer-Encoding: ' + FILES[way]
        raw = head + several("multipart/mixed", part(signed), file)
    own, way = way.startswith("own, "), way.removeprefix("own, ")
    strange = signed_by("ann", "orders m1 turn 9\nend\n") if own else signed_by("bob", "status m1\n")
    if way in STRANGERS:
        raw = head + STRANGERS[way](signed.decode(), strange)
    if way == "beside HTML":
        html = f"<p>You wrote:<pre>{strange}</pre>".encode()
        raw = head + several("multipart/alternative", part(html, kind="text/html; charset=utf-8"), part(signed))
    told = rewritten(found, path, raw)
    assert checked(told)[-1].holds
    began = monotonic()
    assert fails(verifier, told) is None
    assert monotonic() - began < SECONDS
    if way in STRANGERS or way.endswith(" at last"):
        assert published(verifier, told) == [], "nor where the signed form alone is shown"


def test_forms_whose_signature_the_page_cannot_check_are_not_published() -> None:
    found = good("ssh-rsa")
    agreement = found.entries[0].body
    for seat, signs in (("1", False), ("2", True)):
        letter = found.papers[f"letters/game-1-turn-1-seat-{seat}.eml"]
        assert (signed_form(letter, agreement["server"], agreement["players"][seat]["keys"]) is not None) == signs
