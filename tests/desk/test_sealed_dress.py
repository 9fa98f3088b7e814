"""A letter of a sealed match, however signed and dressed: refused at once, or read alike by the other's program.

The other's program is shown the words with their signature, as a text. If it read them differently, it would not
answer, and its player would lose by the clock.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pysequoia
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from material import KEYS
from owners import Owner, live, propose
from referee import SERVER, Mailbox, Referee
from signers import by_smime, pgp_signer, private_key

from pbem import identity
from pbem.identity import ssh
from pbem.match.transcript import sha256_hex
from pbem.player import sealed
from pbem.player.sealed_game import Contradiction, ToldGame
from pbem.player.signed_steps import check_seal
from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SSH_BEGIN = "-----BEGIN SSH SIGNATURE-----"


# Ways of signing: a text, and its signature.


def by_ssh(text: bytes) -> bytes:
    return ssh.sign(ann_key(), text, f"pbem@{SERVER}").encode()


def by_minisign(text: bytes, untrusted: str = "signature", trusted: str = "a comment") -> bytes:
    public = base64.b64decode((KEYS / "minisign.pub").read_text().split()[-1])
    secret = base64.b64decode((KEYS / "minisign.key").read_text().split("\n")[1])
    private = Ed25519PrivateKey.from_private_bytes(secret[62:94])
    signature = private.sign(hashlib.blake2b(text).digest())
    whole = base64.b64encode(private.sign(signature + trusted.encode())).decode()
    first = base64.b64encode(b"ED" + public[2:10] + signature).decode()
    return f"untrusted comment: {untrusted}\n{first}\ntrusted comment: {trusted}\n{whole}\n".encode()


def by_openpgp(text: bytes) -> bytes:
    return pysequoia.sign(pgp_signer("anna"), text, mode=pysequoia.SignatureMode.DETACHED)


def by_ed25519(text: bytes) -> bytes:
    private = private_key("raw-ed25519.key")
    assert isinstance(private, Ed25519PrivateKey)
    return b"signature: " + base64.b64encode(private.sign(text)) + b"\n"


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
    "minisign": ("minisig", by_minisign),
    "openpgp": ("asc", by_openpgp),
    "ed25519": ("ed25519", by_ed25519),
    "minisign, untrusted mark": ("minisig", functools.partial(by_minisign, untrusted=SSH_BEGIN)),
    "minisign, trusted mark": ("minisig", functools.partial(by_minisign, trusted=SSH_BEGIN)),
    "minisign, trusted signature": ("minisig", functools.partial(by_minisign, trusted=f"signature: {'A' * 86}==")),
    "minisign, carriage return": ("minisig", functools.partial(by_minisign, trusted="a\rcomment")),
    **{
        f"{name}, {dress.__name__}": (suffix, dress(sign))
        for name, suffix, sign in (
            ("ssh", "sig", by_ssh),
            ("minisign", "minisig", by_minisign),
            ("openpgp", "asc", by_openpgp),
        )
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
    whole = by_smime(Mailbox("ann", "ann@mail.example", ann_key()), text.decode("utf-8", "replace"))
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
    "a mark of minisign": commented("untrusted comment: signature"),
    "a mark of Ed25519": commented("signature: " + "A" * 86 + "=="),
    "a mark at a line's beginning": lambda text: text.replace(b"\nend", f"\n#\n{SSH_BEGIN}\nend".encode()),
    "a quoted mark": lambda text: f"> {SSH_BEGIN}\n".encode() + text,
    "a mark behind": lambda text: text + f"{SSH_BEGIN}\n".encode(),
}


def ann_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"ann").digest())


class Post(NamedTuple):
    """Ann may commit to a setup of m2 again and again; and how bob's program reads m1, with the same people."""

    referee: Referee
    bob: Owner
    game: ToldGame
    revisions: Iterator[int]

    def send(self, way: str, dresses: tuple[str, ...]) -> bool:
        """Commit by a letter signed in this way, and dressed in these, one over the other; whether it was taken."""
        rev = next(self.revisions)
        match, ann = self.referee.match(2), self.referee.people["ann@mail.example"]
        commitment = sha256_hex(str(rev).encode())
        place = f"seal m2 game 1\nserver {SERVER}\nplayer ann\nprev {match.prev}\nrev {rev}\n"
        text = f"{place}commitment {commitment}\nend\n".encode()
        for dress in dresses:
            text = DRESSES[dress](text)
        head = f"From: {ann.address}\r\nTo: pbem@{SERVER}\r\nSubject: seal\r\nMessage-ID: <{rev}@mail.example>\r\n"
        raw = head.encode() + WAYS[way](text)
        self.referee.deliver(raw, ann.address)
        seal = self.referee.match(2).setups.get(1)
        if seal is None or seal.rev != rev:
            return False
        shown = self.referee.desk.archive.matches.text(2, sha256_hex(raw))
        assert shown is not None
        told_ = msgspec.structs.replace(self.game.told, commitments={"1": commitment})
        game = dataclasses.replace(self.game, place=dataclasses.replace(self.game.place, match="m2"), told=told_)
        check_seal(game, 1, shown.encode())
        return True


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    folder = tmp_path_factory.mktemp("dress")
    with pytest.MonkeyPatch.context() as patch, closing(Referee(folder)) as referee:
        patch.setattr(sealed, "_ROUNDS", 10)
        referee.now = datetime.now(UTC).replace(microsecond=0)  # no OpenPGP signature may be later than its receipt
        ann, bob = (Owner(referee, referee.person(name), folder / name / "memory.sqlite") for name in ("ann", "bob"))
        with closing(ann), closing(bob):
            for owner in (ann, bob):
                owner.register()
            for file in ("minisign.pub", "pgp-anna.pub.asc", "raw-ed25519.pub", "sm-p256.crt"):
                key = identity.parse_key((KEYS / file).read_bytes())
                row = KeyRow(key.format, key.fingerprint, key.public, "2026-03-01T12:00:00Z")
                with referee.database.transaction():
                    referee.desk.players.add_key("ann", row, row.added)
            propose(referee, [ann, bob], "spaceships")
            for _ in live([ann, bob]):
                if referee.match().sealed_game is not None:
                    break
            bob.look()
            propose(referee, [ann, bob], "spaceships", "\npace: 4d")
            bob.receive()
            bob.letters.accept("m2", referee.now)
            bob.flush()
            game = bob.agent.game(bob.letters.matches.standing("m1"))
            yield Post(referee, bob, game, count(1))


TAKEN = ["inline ssh", "inline minisign", "inline openpgp", "attached ssh", "attached openpgp", "clear-signed"]
HARMLESS = ["as it is", "CR LF", "no last line feed"]


@pytest.mark.parametrize("dress", HARMLESS)
@pytest.mark.parametrize("way", TAKEN)
def test_plain_words_are_taken(post: Post, way: str, dress: str) -> None:
    assert post.send(way, (dress,))


def test_the_refusal_says_how_to_sign(post: Post) -> None:
    assert not post.send("attached ssh", ("byte order mark",))
    assert "as UTF-8 without a byte order mark" in " ".join(post.referee.people["ann@mail.example"].text.split())


@pytest.mark.parametrize("dress", DRESSES)
def test_a_dress_is_refused_or_read_alike(post: Post, dress: str) -> None:
    for way in WAYS:
        try:
            post.send(way, (dress,))
        except Contradiction as wrong:
            pytest.fail(f"{way}: {wrong}")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(WAYS)), st.lists(st.sampled_from(list(DRESSES)), min_size=2, max_size=4))
def test_so_are_several_dresses_over_each_other(post: Post, way: str, dresses: list[str]) -> None:
    post.send(way, tuple(dresses))
