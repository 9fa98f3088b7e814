"""One verdict over a letter: the samples, what mail programs do to a form, and what must never pass."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

import pytest
from data.material import SIGNED
from hypothesis import given
from hypothesis import strategies as st
from judges.reasons import is_whole
from msgspec.structs import replace

from pbem import identity
from pbem.identity import Key, Verdict, ssh
from pbem.mail.message import Letter, Part, read_letter
from pbem.proof.normal_form import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

judge = partial(identity.judge, words=VOCABULARY)

SERVER = "play.example"


def leaf(
    filename: str | None,
    content: bytes,
    content_type: str = "application/octet-stream",
    children: tuple[Part, ...] = (),
) -> Part:
    return Part(content, content, (), content_type, {}, "", filename, "", children)


def mail(text: str | None, parts: tuple[Part, ...]) -> Letter:
    root = leaf(None, b"", "multipart/mixed", parts)
    return Letter(b"", root, None, None, None, (), (), "", (), 0, () if text is None else (text,))


def opened(path: Path) -> Letter:
    return read_letter(path.read_bytes())


def pinned(*names: str) -> list[Key]:
    return [ssh.parse((SIGNED / f"keys/ssh-{name}.pub").read_text()) for name in names]


ED25519, ECDSA, RSA, EVIL = pinned("ed25519", "ecdsa", "rsa", "evil")
PRIVATE = ssh.load((SIGNED / "keys/ssh-ed25519").read_bytes())

FORM = (
    f"orders m17 turn 5\nserver play.example\nplayer anna\nprev {'8c1f' * 16}\nrev 1\nGx3 bGx1Gx3 m2 Ox4 sYw3\nend\n"
)


def signature(text: str | bytes, namespace: str = f"pbem@{SERVER}") -> str:
    return ssh.sign(PRIVATE, text.encode() if isinstance(text, str) else text, namespace)


def verdict(text: str | None = None, *parts: Part, keys: tuple[Key, ...] = (ED25519,)) -> Verdict:
    found = judge(mail(text, parts), keys, SERVER)
    assert is_whole(found.reason)
    return found


def test_the_namespace_is_the_servers() -> None:
    found = verdict(FORM + signature(FORM))
    assert (found.kind, found.key) == ("valid", ED25519.fingerprint)
    assert ED25519.fingerprint in found.reason
    assert judge(opened(SIGNED / "sshsig/ed25519.eml"), [ED25519], SERVER).kind == "refused"
    assert verdict(FORM + signature(FORM, "pbem@other.example")).kind == "refused"
    found = verdict(FORM + signature(FORM, "file"))
    assert (found.kind, found.signed) == ("refused", b"")
    assert "'file'" in found.reason
    assert f"pbem@{SERVER}" in found.reason


def test_no_signature() -> None:
    assert verdict(FORM).kind == "none"
    assert verdict(None).kind == "none"
    assert verdict("hello", leaf("photo.jpg", b"\xff\xd8")).kind == "none"


def test_a_key_that_is_not_offered() -> None:
    assert verdict(FORM + signature(FORM), keys=()).kind == "unknown key"
    found = verdict(FORM + signature(FORM), keys=(ECDSA, EVIL))
    assert (found.kind, found.key) == ("unknown key", None)
    assert ED25519.fingerprint in found.reason


def test_revoked_and_expired_keys() -> None:
    for state in ("revoked", "expired"):
        found = verdict(FORM + signature(FORM), keys=(replace(ED25519, state=state),))
        assert (found.kind, found.key, found.signed) == (state, ED25519.fingerprint, b"")
        assert ED25519.fingerprint in found.reason
        assert state in found.reason
        assert verdict("x" + FORM + signature(FORM), keys=(replace(ED25519, state=state),)).kind == "bad"


def test_two_signatures_are_refused() -> None:
    one = FORM + signature(FORM)
    assert verdict(one + one).kind == "refused"
    assert verdict(one, leaf("a.txt", FORM.encode()), leaf("a.txt.sig", signature(FORM).encode())).kind == "refused"
    assert verdict(one, leaf("a.txt", one.replace("Ox4", "Ox5").encode())).kind == "refused"
    pgp = leaf("signature.asc", b"-----BEGIN PGP SIGNATURE-----", "application/pgp-signature")
    assert verdict(one, pgp).kind == "refused"
    assert verdict(FORM + "-----BEGIN PGP SIGNATURE-----\n" + signature(FORM)).kind == "refused"


def test_a_quoted_signature_does_not_count() -> None:
    old = textwrap.indent("orders m17 turn 4\nend\n" + signature("orders m17 turn 4\nend\n"), "> ", lambda _: True)
    assert verdict(f"{old}\n{FORM}{signature(FORM)}\n{old}").signed == FORM.encode()
    assert verdict(old).kind == "none"


def test_a_signed_text_attachment() -> None:
    whole = leaf("orders.txt", (FORM + signature(FORM)).encode(), "text/plain")
    assert verdict("see attachment", whole).signed == FORM.encode()


def test_a_body_with_a_name_is_one_signature() -> None:
    one = FORM + signature(FORM)
    assert verdict(one, leaf("orders.txt", one.replace("\n", "\r\n").encode(), "text/plain")).signed == FORM.encode()


def test_a_part_without_a_name_brings_no_signature() -> None:
    """HTML beside the text repeats the text's."""
    one = FORM + signature(FORM)
    assert verdict(one, leaf(None, f"<pre>{one}</pre>".encode(), "text/html")).signed == FORM.encode()


def test_a_pair_needs_its_partner() -> None:
    sig = leaf("orders.txt.sig", signature(FORM).encode())
    text = leaf("orders.txt", FORM.encode())
    assert verdict(FORM, text, sig).signed == FORM.encode()
    alone = verdict(FORM, sig)
    assert alone.kind == "refused"
    assert "'orders.txt.sig'" in alone.reason
    assert "'orders.txt'" in alone.reason
    assert verdict(FORM, text, text, sig).kind == "refused"
    assert verdict(FORM, text, replace(sig, body=b"untrusted")).kind == "refused"
    assert verdict(FORM, leaf("other.txt", FORM.encode()), sig).kind == "refused"
    other = verdict(FORM, replace(text, body=b"orders m17"), sig)
    assert other.kind == "bad"
    assert "attached text" in other.reason


@pytest.mark.parametrize("name", ["notes.asc", "notes.sig"])
def test_a_file_that_is_called_like_a_signature(name: str) -> None:
    """An .asc may be any text; what is called .sig was meant as a signature."""
    found = verdict(FORM + signature(FORM), leaf(name, b"hello"))
    assert found.kind == ("valid" if name.endswith(".asc") else "refused")


def test_attachments_may_hold_any_bytes() -> None:
    data = b"orders m17 turn 5\r\n\xff\xfe\0 end"
    pair = (leaf("o", data), leaf("o.sig", signature(data).encode()))
    assert verdict(None, *pair).signed == data


MANGLED: dict[str, Callable[[str], str]] = {
    "as it is": lambda form: form,
    "CRLF": lambda form: form.replace("\n", "\r\n"),
    "CR": lambda form: form.replace("\n", "\r"),
    "blanks at line ends": lambda form: form.replace("\n", "  \n"),
    "NBSP": lambda form: form.replace(" ", "\u00a0"),
    "BOM": lambda form: "\ufeff" + form,
    "zero-width": lambda form: form.replace("m17", "m\u200b17"),
    "blank lines around": lambda form: f"\n \n{form}\n\n",
    "double-spaced": lambda form: form.replace("\n", "\n\n"),
    "indented": lambda form: textwrap.indent(form, "    "),
    "last line end lost": lambda form: form.rstrip("\n") + "\n\n",
    "salutation": lambda form: f"Dear referee,\n\nhere they are.\n\n{form}",
    "quote above": lambda form: f"On Monday pbem wrote:\n> orders m17 turn 4\n> end\n\n{form}",
    "wrapped at 60": lambda form: "".join(
        textwrap.fill(line, 60, break_long_words=False) + "\n" for line in form.splitlines()
    ),
    "one line": lambda form: " ".join(form.split()) + "\n",
    "all re-wrapped": lambda form: textwrap.fill(form, 72) + "\n",
}


@pytest.mark.parametrize("trait", MANGLED)
def test_what_mail_programs_do_to_a_form(trait: str) -> None:
    found = verdict(MANGLED[trait](FORM) + signature(FORM) + "\n-- \nSent from my phone\n")
    assert (found.kind, found.signed) == ("valid", FORM.encode())


def test_soft_line_ends_are_undone_and_no_others() -> None:
    """format=flowed (RFC 3676 4): a line goes on behind a blank, but for that of the dashes above a signature."""
    form = f"press m17\nserver {SERVER}\nplayer anna\nOn Monday, or perhaps on Tuesday.\nSo\n-- \nAnna\nend\n"
    flowed = form.replace("Monday, ", "Monday, \n").replace("perhaps ", "perhaps \n")
    assert verdict(flowed + signature(form)).signed == form.encode()


@pytest.mark.parametrize("sent", ["\n", "\r\n"])
@pytest.mark.parametrize("form", [FORM, FORM.replace("rev 1\n", "rev 1\n\n")], ids=["dense", "spaced"])
def test_files_signed_with_other_line_ends(sent: str, form: str) -> None:
    for signed in (form, form.replace("\n", "\r\n"), form.rstrip("\n"), form.replace("\n", "\r\n").rstrip("\r\n")):
        text = signed.rstrip("\r\n").replace("\r\n", "\n").replace("\n", sent) + sent
        assert verdict(text + signature(signed)).signed == signed.encode()


def test_a_long_line_that_was_wrapped() -> None:
    form = FORM.replace("Gx3", "Gx3 bGx1Gx3 " * 12 + "# and then we shall see\nGx3")
    wrapped = "".join(textwrap.fill(line, 76) + "\n" for line in form.splitlines())
    assert wrapped != form
    assert verdict(wrapped + signature(form)).signed == form.encode()


def test_a_line_that_would_have_fitted_was_not_wrapped() -> None:
    """Programs wrap at 72 characters: a line with room for the next word was ended by its writer."""
    line = "Gx3 " * 16 + "Gx3"
    assert len(f"{line} bGx1") == 72
    form = FORM.replace("Gx3 bGx1Gx3 m2 Ox4 sYw3", f"{line}\nbGx1 Gx3 {line}")
    wrapped = "".join(textwrap.fill(line, 72, break_long_words=False) + "\n" for line in form.splitlines())
    assert verdict(wrapped + signature(form)).signed == form.encode()


def test_the_hash_in_a_form_is_no_sign_that_its_lines_were_wrapped() -> None:
    changed = verdict(FORM.replace("Gx3", "Gx4") + signature(FORM))
    assert changed.kind == "bad"
    assert "wrapped" not in str(changed.reason)
    long = FORM.replace("sYw3", "sYw3 # this turn goes to the left, the next one to the right")
    assert "wrapped" in str(verdict(long.replace("Gx3", "Gx4") + signature(long)).reason)


def test_damaged_armor() -> None:
    armor = signature(FORM)
    assert verdict(FORM + armor.replace(ssh.END, "")).kind == "bad"
    assert verdict(FORM + armor.replace(ssh.END, "?" * len(ssh.END))).kind == "bad"
    assert verdict(FORM + armor[:80] + armor[81:]).kind in {"bad", "refused"}
    assert verdict(FORM + f"{ssh.BEGIN}\n{ssh.END}\n").kind == "bad"


@given(st.text(), st.binary(), st.sampled_from(["a.sig", "a", None, "a.txt"]))
def test_judging_never_raises(text: str, content: bytes, name: str | None) -> None:
    leaves = (leaf(name, content), leaf("a", content))
    for body in (text, text + signature(FORM), FORM + text + signature(FORM), signature(FORM)[:60] + text):
        verdict(body, *leaves)


def test_a_large_letter_is_judged_in_bounds() -> None:
    for filler in ("orders m17 turn 5\n", " \n", "a " * 30, "end ", "> -----BEGIN SSH SIGNATURE-----", "server x "):
        text = filler * (256 * 1024 // len(filler))
        assert verdict(f"{text}\n{signature(FORM)}").kind == "bad"


def test_an_attached_signature_is_known_by_its_name_whatever_its_type() -> None:
    """Mutt calls every .sig file application/pgp-signature."""
    pair = (
        leaf("orders.txt", FORM.encode(), "text/plain"),
        leaf("orders.txt.sig", signature(FORM).encode(), "application/pgp-signature"),
    )
    assert verdict("see attachment", *pair).signed == FORM.encode()
    other = replace(pair[1], filename="signature.asc")
    assert verdict("see attachment", pair[0], other).kind == "refused"
