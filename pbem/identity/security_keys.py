"""SSH keys that a device or a browser holds: security keys (`sk-…`), and passkeys among them.

Such a key belongs to an *application*: `ssh:` or another name that begins so, or for a passkey the host of the page
that made it. The device signs the hash of its application, whether somebody touched it, a counter, and a hash: of the
octets to be signed, or of the browser's JSON, which quotes them as its challenge and names the page. Implements
PROTOCOL.u2f of OpenSSH, and WebAuthn level 2, 5.8.1.1 and 6.1; docs/bundle.md, 6.2.
The strings and numbers of all SSH keys are read here, too (RFC 4251 5): ValueError if cut off, or in another form.
"""

from __future__ import annotations

import base64
import hashlib
import re

import msgspec

from pbem.identity.verdict import BadKey, BadSignature, Key
from pbem.phrase import Phrase


def unbase64(text: str) -> bytes:
    """The octets of base64 in its one form; OpenSSH reads no other, and a key in another would be sought in vain."""
    octets = base64.b64decode(text)
    if base64.b64encode(octets).decode() != text:
        raise ValueError("no base64, or in another form")
    return octets


def string(data: bytes) -> bytes:
    """A string: its length, and its octets."""
    return len(data).to_bytes(4, "big") + data


def take(data: bytes) -> tuple[bytes, bytes]:
    """Split a string off the front."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < end:
        raise ValueError("cut off")
    return data[4:end], data[end:]


def take_name(data: bytes) -> tuple[str, bytes]:
    """Split a string of ASCII off the front."""
    name, rest = take(data)
    return name.decode("ascii"), rest


def mpint(number: int) -> bytes:
    """A number that is not negative."""
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def take_mpint(data: bytes) -> tuple[int, bytes]:
    """Split a positive number in its shortest form off the front."""
    raw, rest = take(data)
    shortest = raw and not raw[0] & 0x80 and (raw[0] or raw[1:2] >= b"\x80")
    if not shortest:
        raise ValueError("no shortest form")
    return int.from_bytes(raw, "big"), rest


PLAIN = {"sk-ssh-ed25519@openssh.com": "ssh-ed25519", "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256"}
"""The type of the plain key within a key of each type."""

_WEBAUTHN = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"

ALGORITHMS = {
    "sk-ssh-ed25519@openssh.com": frozenset({"sk-ssh-ed25519@openssh.com"}),
    "sk-ecdsa-sha2-nistp256@openssh.com": frozenset({"sk-ecdsa-sha2-nistp256@openssh.com", _WEBAUTHN}),
}

_APPLICATION = re.compile(r"ssh:[!-~]{0,100}|(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_PORT = re.compile(r"(?::[1-9][0-9]{0,4})?")
_PRESENT, _ATTESTED, _EXTENDED = 0x01, 0x40, 0x80


class Device(msgspec.Struct, frozen=True):
    """The additions of device and browser to a signature, with the names of PROTOCOL.u2f."""

    application: str
    flags: int
    counter: int
    """The number of signatures that the device made, by its own word; of a synced passkey 0."""
    origin: str = ""
    """The page where a passkey signed; empty for keys of `ssh-keygen`."""
    client_data: bytes = b""
    extensions: bytes = b""

    def signed(self, message: bytes) -> bytes:
        """The octets that were signed, if the message was; raises ValueError if the browser quotes another."""
        if self.origin:
            challenge = base64.urlsafe_b64encode(message).decode().rstrip("=")
            quoted = f'{{"type":"webauthn.get","challenge":"{challenge}","origin":"{self.origin}"'.encode()
            if not self.client_data.startswith(quoted):
                raise ValueError("another challenge")
            # The page lay within another site's page, which may have hidden what is signed. OpenSSH does not look.
            if self.client_data.startswith(b',"crossOrigin":true', len(quoted)):
                raise ValueError("on a page within another site's")
            message = self.client_data
        application = hashlib.sha256(self.application.encode()).digest()
        state = bytes([self.flags]) + self.counter.to_bytes(4, "big") + self.extensions
        return application + state + hashlib.sha256(message).digest()


def taken_apart(blob: bytes) -> tuple[str, bytes, str]:
    """The type of the plain key within a security key, that key's blob, and the application.

    Raises ValueError, and BadKey for an application that no key may have.
    """
    fields = []
    while blob:
        field, blob = take(blob)
        fields.append(field)
    kind, *middle, last = fields
    plain, application = PLAIN[kind.decode("ascii")], last.decode("ascii")
    # A browser's Ed25519 key could sign nothing: OpenSSH has no algorithm for its signatures.
    if not _APPLICATION.fullmatch(application) or (plain == "ssh-ed25519" and not application.startswith("ssh:")):
        unfit = Phrase(
            "This key is for {application}: it is no key of ssh-keygen, and no passkey that can sign here.",
            application=ascii(application),
        )
        raise BadKey(unfit)
    return plain, b"".join(map(string, (plain.encode(), *middle))), application


def passkey_host(public: str) -> str:
    """The host whose pages alone can have a key sign, if it is a passkey; empty for a key of any other format."""
    kind, _, text = public.partition(" ")
    named = taken_apart(base64.b64decode(text))[2] if kind in PLAIN else "ssh:"
    return "" if named.startswith("ssh:") else named


def way(form: str, public: str) -> str:
    """The kind of a key's signatures: its format, or `passkey`."""
    return "passkey" if passkey_host(public) else form


def check_host(key: Key, host: str) -> None:
    """Refuse a passkey of another host: a page there could have its owner sign; raises `BadKey`.

    One of localhost is of a page on its owner's own machine, such as that of `pbem play --browser`.
    """
    named, hosts = passkey_host(key.public), [*filter(None, [host]), "localhost"]
    if named and named not in hosts:
        foreign = Phrase(
            "This passkey is for {application}: here count those that were made on a page of {hosts}.",
            application=named,
            hosts=", ".join(hosts),
        )
        raise BadKey(foreign)


def read_device(application: str, algorithm: str, data: bytes) -> Device:
    """Read what follows the plain signature; raises ValueError and `BadSignature`."""
    flags, counter, rest = data[:1], data[1:5], data[5:]
    origin = client_data = extensions = b""
    if algorithm == _WEBAUTHN:
        origin, rest = take(rest)
        client_data, rest = take(rest)
        extensions, rest = take(rest)
    if rest or len(counter) < 4 or bool(origin) != (algorithm == _WEBAUTHN):
        raise ValueError("more or less than a signature")
    if flags[0] & _ATTESTED or bool(flags[0] & _EXTENDED) != bool(extensions):
        raise ValueError("flags of something else")
    if not flags[0] & _PRESENT:
        raise BadSignature(Phrase("Nobody touched the key that signed this: sign again, and touch it."))
    page = origin.decode("ascii")
    if not _fits(page, application):
        reason = Phrase(
            "This was signed on the page {page}, with a key that is for {application}.",
            page=ascii(page),
            application=application,
        )
        raise BadSignature(reason)
    return Device(application, flags[0], int.from_bytes(counter, "big"), page, client_data, extensions)


def _fits(page: str, application: str) -> bool:
    """True for a page of the very host of a passkey, none of a host below it, and for no page with any other key."""
    if application.startswith("ssh:"):
        return not page
    schemes = ("https", "http") if application == "localhost" else ("https",)
    starts = [f"{scheme}://{application}" for scheme in schemes]
    return any(page.startswith(start) and _PORT.fullmatch(page, len(start)) for start in starts)
