"""Letters signed and dressed in every way: line ends, marks and blanks that programs read differently."""

from __future__ import annotations

import base64
import functools
from typing import TYPE_CHECKING

import pysequoia
from in_a_box.referee import SERVER, Mailbox, own_key
from signing.signers import by_smime, pgp_signer

from pbem.identity import ssh

if TYPE_CHECKING:
    from collections.abc import Callable

SSH_BEGIN = "-----BEGIN SSH SIGNATURE-----"


# Ways of signing: a text, and its signature.


def by_ssh(text: bytes) -> bytes:
    return ssh.sign(own_key("ann"), text, f"pbem@{SERVER}").encode()


def by_openpgp(text: bytes) -> bytes:
    return pysequoia.sign(pgp_signer("anna"), text, mode=pysequoia.SignatureMode.DETACHED)


def clear(text: bytes) -> bytes:
    return pysequoia.sign(pgp_signer("anna"), text, mode=pysequoia.SignatureMode.CLEAR)


def marked(sign: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """A signature below a byte order mark, as some editors save it."""
    return lambda text: b"\xef\xbb\xbf" + sign(text)


def by_crlf(sign: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda text: sign(text).replace(b"\n", b"\r\n")


def with_words(sign: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda text: sign(text) + b"\n-- \nAnn\n"


SIGNATURES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "ssh": ("sig", by_ssh),
    "openpgp": ("asc", by_openpgp),
    **{
        f"{name}, {dress.__name__}": (suffix, dress(sign))
        for name, suffix, sign in (("ssh", "sig", by_ssh), ("openpgp", "asc", by_openpgp))
        for dress in (marked, by_crlf, with_words)
    },
}


# Ways of sending.


def part(content: bytes, name: str = "", kind: str = "text/plain; charset=utf-8") -> bytes:
    named = f'Content-Disposition: attachment; filename="{name}"\r\n' if name else ""
    head = f"Content-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n{named}\r\n".encode()
    return head + base64.encodebytes(content).replace(b"\n", b"\r\n")


def several(kind: str, *parts: bytes) -> bytes:
    pieces = b"".join(b"--b\r\n" + one + b"\r\n" for one in parts)
    return f"MIME-Version: 1.0\r\nContent-Type: {kind}; boundary=b\r\n\r\n".encode() + pieces + b"--b--\r\n"


def beside(*parts: bytes) -> bytes:
    return several("multipart/mixed", part(b"As attached.\r\n"), *parts)


def inline(name: str, text: bytes) -> bytes:
    return part(text + SIGNATURES[name][1](text))


def flowed(name: str, text: bytes) -> bytes:
    return part(text + SIGNATURES[name][1](text), kind="text/plain; charset=utf-8; format=flowed")


def attached(name: str, text: bytes) -> bytes:
    suffix, sign = SIGNATURES[name]
    return beside(part(text, "seal.txt"), part(sign(text), f"seal.txt.{suffix}", "application/octet-stream"))


def in_one_file(name: str, text: bytes) -> bytes:
    return beside(part(text + SIGNATURES[name][1](text), "seal.txt"))


def clear_signed(text: bytes) -> bytes:
    return part(clear(text))


def clear_signed_file(text: bytes) -> bytes:
    return beside(part(clear(text), "seal.txt.asc"))


def openpgp_mime(text: bytes) -> bytes:
    entity = b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + text
    signature = part(by_openpgp(entity), "signature.asc", "application/pgp-signature")
    return several('multipart/signed; protocol="application/pgp-signature"; micalg=pgp-sha512', entity, signature)


def smime(text: bytes) -> bytes:
    whole = by_smime(Mailbox("ann", "ann@mail.example", own_key("ann")), text.decode("utf-8", "replace"))
    return whole[whole.index(b"MIME-Version") :]


WAYS: dict[str, Callable[[bytes], bytes]] = {
    **{
        f"{way.__name__} {name}": functools.partial(way, name)
        for name in SIGNATURES
        for way in (inline, flowed, attached, in_one_file)
    },
    "clear-signed": clear_signed,
    "clear-signed file": clear_signed_file,
    "PGP/MIME": openpgp_mime,
    "S/MIME": smime,
}


# Dresses of the words.


def mixed(text: bytes) -> bytes:
    first, rest = text.split(b"\n", 1)
    return first + b"\r\n" + rest


def commented(mark: str) -> Callable[[bytes], bytes]:
    return lambda text: text.replace(b"\nend", f"\n# {mark}\nend".encode(), 1)


DRESSES: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda text: text,
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "two byte order marks": lambda text: b"\xef\xbb\xbf" * 2 + text,
    "byte order mark within": lambda text: text.replace(b"\nplayer", b"\n\xef\xbb\xbfplayer"),
    "CR LF": lambda text: text.replace(b"\n", b"\r\n"),
    "CR": lambda text: text.replace(b"\n", b"\r"),
    "mixed line ends": mixed,
    "doubled CR": lambda text: text.replace(b"\n", b"\r\r\n", 2),
    "no last line feed": lambda text: text.removesuffix(b"\n"),
    "a last blank, no line feed": lambda text: text.removesuffix(b"\n") + b" ",
    "a last tab, no line feed": lambda text: text.removesuffix(b"\n") + b"\t",
    "a last NBSP, no line feed": lambda text: text.removesuffix(b"\n") + "\u00a0".encode(),
    "a last CR": lambda text: text.removesuffix(b"\n") + b"\r",
    "a last form feed": lambda text: text + b"\f",
    "blanks at line ends": lambda text: text.replace(b"\n", b"  \n"),
    "blanks before": lambda text: b"  " + text.replace(b"\n", b"\n  "),
    "blank lines around": lambda text: b"\n\n" + text + b"\n\n",
    "blank lines between": lambda text: text.replace(b"\n", b"\n\n"),
    "NBSP": lambda text: text.replace(b" ", "\u00a0".encode(), 2),
    "zero width": lambda text: text.replace(b" ", " \u200b".encode(), 1),
    "line separator": lambda text: text.replace(b"\nserver", "\u2028server".encode()),
    "vertical tab": lambda text: text.replace(b"\nserver", b"\vserver"),
    "NUL": lambda text: text.replace(b"\nend", b"\n# \0\nend"),
    "quoted": lambda text: b"> " + text.replace(b"\n", b"\n> "),
    "greeting": lambda text: b"Dear server,\n\nhere it is:\n\n" + text,
    "a form before": lambda text: b"help\n\n" + text,
    "footer": lambda text: text + b"-- \nAnn\n",
    "dashes": lambda text: text.replace(b"\nend", b"\n# - \n- # dashes\nend").replace(b"- # d", b"# d"),
    "a line that begins with a dash": lambda text: b"- \n" + text,
    "typographic": lambda text: text.replace(b"\nend", "\n# \u201cso\u201d \u2026 \u2013\nend".encode()),
    "latin-1": lambda text: text.replace(b"\nend", b"\n# \xe4\nend"),
    "long comment": lambda text: text.replace(b"\nend", b"\n#" + b" word" * 40 + b"\nend"),
    "From": lambda text: b"From here on\n" + text,
    "a mark of SSH": commented(SSH_BEGIN),
    "a mark of OpenPGP": commented("-----BEGIN PGP SIGNATURE-----"),
    "a mark of a clear-signed text": commented("-----BEGIN PGP SIGNED MESSAGE-----"),
    "a mark of an OpenPGP message": commented("-----BEGIN PGP MESSAGE-----"),
    "a mark of PKCS 7": commented("-----BEGIN PKCS7-----"),
    "a mark at a line's beginning": lambda text: text.replace(b"\nend", f"\n#\n{SSH_BEGIN}\nend".encode()),
    "a quoted mark": lambda text: f"> {SSH_BEGIN}\n".encode() + text,
    "a mark behind": lambda text: text + f"{SSH_BEGIN}\n".encode(),
}
