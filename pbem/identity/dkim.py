"""DKIM (RFC 6376): whether the domain of a letter's From vouches for it; no key of a person is involved.

dkimpy verifies; our additional demands are here. Only a signature by From's own domain or a parent of it, over From
and the whole body, counts. Key records are handed in as they were found in the DNS, so nothing here waits for the
network, and a kept record verifies for ever. Time is handed in, too. Implements protocol.md, "Identity", and
reliability.md, case 24.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Protocol

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from pbem.identity import ed25519_points
from pbem.identity.verdict import Verdict
from pbem.phrase import Phrase
from pbem.structured_header import is_repeated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import dkim

__all__ = ["Received", "Signature", "signatures", "verify"]

SIGNATURES = 10  # how many DKIM-Signature headers of a letter are looked at
HEADER = 3000  # octets of one; dkimpy takes them apart with expressions that are not linear
RECORD = 4000  # octets of a key record; RSA with 8192 bits has 1500
BLANKS = 500  # blanks in a row: dkimpy's relaxed canonicalization of the body takes the square of them
RSA_BITS = range(1024, 8193)  # RFC 8301 3.2: shorter ones must not be accepted; longer ones only cost time
SLOP = 36000  # seconds by which a signature may seem to come from the future: clocks in the wrong zone

DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?)+", re.I)
SELECTOR = re.compile(
    r"(?=.{1,200}\Z)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*", re.I
)
ALGORITHMS = {b"rsa-sha256": b"rsa", b"ed25519-sha256": b"ed25519"}

_MANDATORY = (b"v", b"a", b"b", b"bh", b"d", b"h", b"s")
_NUMBER = re.compile(rb"[0-9]{1,12}")


class Headed(Protocol):
    """The outermost entity of a letter."""

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """Name in lower case and unfolded value of each header, in their order."""

    @property
    def body(self) -> bytes:
        """What follows the headers."""


class Received(Protocol):
    """What this module needs of a letter."""

    @property
    def raw(self) -> bytes:
        """The very bytes received."""

    @property
    def root(self) -> Headed:
        """The whole letter as the outermost entity."""

    @property
    def sender(self) -> str | None:
        """The one address of the one From without defect, if there is one."""


class Signature(msgspec.Struct, frozen=True):
    """One DKIM-Signature header that may count: its position among them, its tags, and its domain."""

    index: int
    domain: str
    selector: str
    tags: Mapping[bytes, bytes]
    headers: tuple[bytes, ...]
    """The names of the signed headers, in lower case."""
    mark: str
    """By what it is known again, however it is written: the SHA-256 of its octets."""

    @property
    def name(self) -> str:
        """The name of the key in the DNS."""
        return f"{self.selector}._domainkey.{self.domain}"

    @property
    def until(self) -> int | None:
        """When it expires, of one that was timely once."""
        return int(self.tags[b"x"]) if b"x" in self.tags else None


class _Unfit(Exception):
    """A signature that does not count, as a verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


def signatures(letter: Received) -> tuple[list[Signature], Verdict]:
    """The signatures of a letter that may count, before any key is known, and the verdict if none does."""
    if letter.sender is None:
        return [], Verdict("refused", Phrase("The letter does not have exactly one From with one address."), "dkim")
    verdict = Verdict("none", _NONE, "dkim")
    found: list[Signature] = []
    if not any(name == "dkim-signature" for name, _ in letter.root.headers):
        return [], verdict
    start = len(letter.raw) - len(letter.root.body)
    try:
        # Of the text its first octet shows already whether it begins in the same place.
        message = _message(letter, start + 1)
    except _Unfit as unfit:
        return [], unfit.verdict
    headers = [value for name, value in message.headers if name.lower() == b"dkim-signature"]
    for index, value in enumerate(headers[:SIGNATURES]):
        try:
            found.append(_signature(index, value, letter.sender))
        except _Unfit as unfit:
            # Of several, the one that stands closest to counting says most: others are of lists and forwarders.
            if verdict.kind == "none" or unfit.verdict.kind != "none":
                verdict = unfit.verdict
    return found, verdict


def verify(letter: Received, signature: Signature, record: str | None, at: datetime) -> Verdict:
    """Verify one signature of a letter; never raises.

    `record` is the TXT record of its key, "" if the DNS has none, None if the DNS could not be asked. `at` is when
    the letter was received.
    """
    import dkim

    try:
        _timely(signature, at)
        kind, key, bits = _key(signature, record)
        held = _held(letter, signature, kind, key, bits)
    except _Unfit as unfit:
        return unfit.verdict
    except dkim.ValidationError as error:
        if "body hash" in str(error):
            return _bad(signature, Phrase("the text was changed on its way"))
        return _bad(signature, Phrase("it is malformed"))
    except Exception:  # dkimpy raises of many kinds on hostile headers, and all mean the same here
        return _bad(signature, Phrase("it cannot be read"))
    if not held:
        return _bad(signature, Phrase("a signed header was changed on its way, or another key made it"))
    reason = Phrase(
        "{domain} vouches for this letter, with the key {name}.", domain=signature.domain, name=signature.name
    )
    return Verdict("valid", reason, "dkim", f"dkim:{signature.name}", letter.raw, entity=True)


_NONE = Phrase(
    "The letter has no DKIM signature of your mail provider for the address it comes from. Most providers make one by"
    " themselves when you send with their own programs or servers."
)


def _message(letter: Received, most: int | None = None) -> dkim.DKIM:
    """Dkimpy's reading of a letter's first octets, if ours is the same: what is verified must be what is read."""
    import dkim

    refused = Verdict("refused", Phrase("The headers of the letter are malformed."), "dkim")
    if is_repeated(letter.root.headers):  # the lowest is signed, and the topmost read (RFC 6376 8.15)
        raise _Unfit(refused)
    try:
        message = dkim.DKIM(letter.raw[:most])
    except (dkim.DKIMException, IndexError) as error:
        raise _Unfit(refused) from error
    start = len(letter.raw) - len(letter.root.body)
    body = re.sub(rb"\r?\n", b"\r\n", letter.raw[start:most])
    if message.body != body or len(message.headers) != len(letter.root.headers):
        raise _Unfit(refused)
    return message


def _signature(index: int, value: bytes, sender: str) -> Signature:
    import dkim
    from dkim.util import InvalidTagValueList, parse_tag_value

    malformed = Verdict("bad", Phrase("The letter's DKIM signature is malformed."), "dkim")
    if len(value) > HEADER:
        raise _Unfit(malformed)
    try:
        tags = parse_tag_value(value)
        # dkimpy would hold the times against the clock of this machine; see `_timely`.
        dkim.validate_signature_fields({name: text for name, text in tags.items() if name not in {b"t", b"x"}})
        domain, selector = tags[b"d"].decode("ascii").lower(), tags[b"s"].decode("ascii")
        mark = hashlib.sha256(_octets(tags)).hexdigest()
    except (dkim.DKIMException, InvalidTagValueList, IndexError, UnicodeDecodeError, binascii.Error) as error:
        if "unknown signature algorithm" in str(error):
            raise _Unfit(_weak()) from error
        raise _Unfit(malformed) from error
    author = sender.rpartition("@")[2].lower()
    if not DOMAIN.fullmatch(domain) or not SELECTOR.fullmatch(selector):
        raise _Unfit(malformed)
    if author != domain and not author.endswith(f".{domain}"):
        other = Phrase(
            "The letter is signed (DKIM) by {domain}, not by {author}, the domain in From.",
            domain=domain,
            author=author,
        )
        raise _Unfit(Verdict("none", other, "dkim"))
    if tags[b"a"] not in ALGORITHMS:
        raise _Unfit(_weak())
    if b"l" in tags:
        partly = Phrase(
            "The letter's DKIM signature covers only the beginning of the text (`l=`); that is not accepted."
        )
        raise _Unfit(Verdict("refused", partly, "dkim"))
    headers = tuple(name.strip().lower() for name in tags[b"h"].split(b":"))
    if b"from" not in headers:
        raise _Unfit(Verdict("refused", Phrase("The letter's DKIM signature does not cover From."), "dkim"))
    return Signature(index, domain, selector, tags, headers, mark)


def _octets(tags: Mapping[bytes, bytes]) -> bytes:
    return base64.b64decode(re.sub(rb"\s", b"", tags[b"b"]))


def _weak() -> Verdict:
    return Verdict(
        "refused", Phrase("The letter's DKIM signature is made with an algorithm that is not accepted."), "dkim"
    )


def _timely(signature: Signature, at: datetime) -> None:
    """Refuse a signature that had expired, or was not made yet, when the letter came (RFC 6376 3.5)."""
    times = {}
    for tag in (b"t", b"x"):
        value = signature.tags.get(tag)
        if value is not None and not _NUMBER.fullmatch(value):
            raise _Unfit(_bad(signature, Phrase("it is malformed")))
        times[tag] = None if value is None else int(value)
    made, ends = times[b"t"], times[b"x"]
    now = at.timestamp()
    if ends is not None and (now > ends or (made is not None and ends < made)):
        raise _Unfit(
            Verdict("expired", Phrase("The DKIM signature of {domain} had expired.", domain=signature.domain), "dkim")
        )
    if made is not None and made > now + SLOP:
        raise _Unfit(_bad(signature, Phrase("it is dated in the future")))


def _key(signature: Signature, record: str | None) -> tuple[bytes, _RsaNumbers | _Ed25519, int]:
    """The kind, the key and its size, from a key record (RFC 6376 3.6.1)."""
    from dkim.util import InvalidTagValueList, parse_tag_value

    if record is None:
        silent = Phrase(
            "The name server of {domain} could not be asked for the key {name}. Send the letter again later.",
            domain=signature.domain,
            name=signature.name,
        )
        raise _Unfit(Verdict("unknown key", silent, "dkim"))
    if not record:
        raise _Unfit(
            Verdict("unknown key", Phrase("There is no DKIM key {name} in the DNS.", name=signature.name), "dkim")
        )
    unfit = _Unfit(
        Verdict("refused", Phrase("The DKIM key {name} is not of an accepted kind.", name=signature.name), "dkim")
    )
    if len(record) > RECORD or not (record.isascii() and record.isprintable()):
        raise unfit
    try:
        tags: Mapping[bytes, bytes] = parse_tag_value(record.encode("ascii"))
        public = base64.b64decode(re.sub(rb"\s", b"", tags[b"p"]), validate=True)
    except (InvalidTagValueList, KeyError, binascii.Error) as error:
        raise unfit from error
    if not public:
        raise _Unfit(Verdict("revoked", Phrase("The DKIM key {name} is revoked.", name=signature.name), "dkim"))
    kind = tags.get(b"k", b"rsa")
    if (
        tags.get(b"v", b"DKIM1") != b"DKIM1"
        or kind != ALGORITHMS[signature.tags[b"a"]]
        or not {b"*", b"email"} & _words(tags.get(b"s", b"*"))
        or b"sha256" not in _words(tags.get(b"h", b"sha256"))
    ):
        raise unfit
    flags = _words(tags.get(b"t", b""))
    if b"y" in flags:
        # RFC 6376 3.6.1: such letters must not be treated otherwise than unsigned ones.
        tested = Phrase(
            "{domain} says that it is only testing DKIM (`t=y`), so its signature does not count.",
            domain=signature.domain,
        )
        raise _Unfit(Verdict("refused", tested, "dkim"))
    identity = signature.tags.get(b"i", b"@" + signature.domain.encode()).decode("ascii", "replace")
    if b"s" in flags and identity.rpartition("@")[2].lower() != signature.domain:
        raise unfit
    return (kind, *_public(kind, public, signature))


def _public(kind: bytes, public: bytes, signature: Signature) -> tuple[_RsaNumbers | _Ed25519, int]:
    if kind == b"ed25519":
        if not ed25519_points.is_sound(public):
            raise _Unfit(Verdict("refused", Phrase("The DKIM key {name} is malformed.", name=signature.name), "dkim"))
        return _Ed25519(public), 256
    try:
        key = load_der_public_key(public)
    except ValueError as error:
        raise _Unfit(
            Verdict("refused", Phrase("The DKIM key {name} is malformed or too short.", name=signature.name), "dkim")
        ) from error
    if not isinstance(key, RSAPublicKey) or key.key_size not in RSA_BITS:
        unfit = Phrase("The DKIM key {name} is not accepted: RSA keys need 1024 bits or more.", name=signature.name)
        if isinstance(key, RSAPublicKey):
            unfit = Phrase(
                "The DKIM key {name} of {bits} bits is not accepted: RSA keys need 1024 bits or more.",
                name=signature.name,
                bits=key.key_size,
            )
        raise _Unfit(Verdict("refused", unfit, "dkim"))
    numbers = key.public_numbers()
    if numbers.e.bit_length() > 64:  # nobody has such a key, and it would take long
        raise _Unfit(Verdict("refused", Phrase("The DKIM key {name} is malformed.", name=signature.name), "dkim"))
    return {"modulus": numbers.n, "publicExponent": numbers.e}, key.key_size


_RsaNumbers = dict[str, int]
"""`modulus` and `publicExponent`: an RSA key as dkimpy has it."""


class _Ed25519:
    """An Ed25519 key (RFC 8463) with PyNaCl's interface, as dkimpy needs it; remembers whether a signature held."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.held = False

    def verify(self, message: bytes, signature: bytes) -> None:
        self.held = ed25519_points.holds(self._key, signature, message)


def _held(letter: Received, signature: Signature, kind: bytes, key: _RsaNumbers | _Ed25519, bits: int) -> bool:
    if max(map(len, re.findall(rb"[ \t]+", letter.root.body)), default=0) > BLANKS:
        raise _Unfit(_bad(signature, Phrase("the text has lines of hundreds of blanks")))
    octets = _octets(signature.tags)
    if isinstance(key, dict) and (len(octets) != (bits + 7) // 8 or int.from_bytes(octets) >= key["modulus"]):
        # RFC 8017 8.2.2 and 5.2.2; dkimpy takes the same signature in other writings, too.
        raise _Unfit(_bad(signature, Phrase("it is malformed")))
    message = _message(letter)
    message.pk, message.keysize, message.ktag = key, bits, kind
    headers = [(name, value) for name, value in message.headers if name.lower() == b"dkim-signature"]
    header = headers[signature.index]
    held = message.verify_sig_process(dict(signature.tags), list(signature.headers), header, None)
    return bool(held) and (not isinstance(key, _Ed25519) or key.held)


def _bad(signature: Signature, why: Phrase) -> Verdict:
    return Verdict(
        "bad",
        Phrase("The DKIM signature of {domain} does not hold: {why}.", domain=signature.domain, why=why),
        "dkim",
    )


def _words(value: bytes) -> set[bytes]:
    return {word.strip() for word in value.split(b":")}
