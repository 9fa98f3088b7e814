"""DKIM (RFC 6376): whether the domain of a letter's From vouches for it; no key of a person is involved.

dkimpy verifies; our additional demands are here: only a signature by From's own domain or a parent of it, over From
and the whole body, counts. Key records and the time are handed in, so a kept record verifies for ever. Implements
protocol.md, "Identity", and reliability.md, case 24.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from pbem.identity import ed25519_points
from pbem.identity.verdict import BadSignature, Verdict
from pbem.phrase import Phrase
from pbem.structured_header import is_repeated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import dkim

    from pbem.mail.message import Letter

SIGNATURES = 10  # how many DKIM-Signature headers of a letter are looked at
OWN = 3  # how many of them by From's domain: dkimpy makes the canonical text anew for each
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

_NUMBER = re.compile(rb"[0-9]{1,12}")


class DkimSignature(msgspec.Struct, frozen=True):
    """One DKIM-Signature header that may count: its position among them, its tags, and its domain."""

    index: int
    domain: str
    selector: str
    tags: Mapping[bytes, bytes]
    headers: tuple[bytes, ...]
    """The names of the signed headers, in lower case."""

    @property
    def name(self) -> str:
        """The name of the key in the DNS."""
        return f"{self.selector}._domainkey.{self.domain}"

    def covers(self, letter: Letter, header: str) -> bool:
        """True if it covers each header of this name, and there is one."""
        return 0 < len(letter.values(header)) <= self.headers.count(header.encode())

    @property
    def covers_encoding(self) -> bool:
        """True if nobody can change, or add, the headers by which the text is decoded."""
        return {b"content-type", b"content-transfer-encoding"} <= {*self.headers}

    @property
    def until(self) -> int | None:
        """The time at which it expires, of one that was timely once."""
        return int(self.tags[b"x"]) if b"x" in self.tags else None


def signatures(letter: Letter) -> tuple[list[DkimSignature], Verdict]:
    """The signatures of a letter that may count, before any key is known, and the verdict if none does."""
    if letter.sender is None:
        return [], Verdict("refused", Phrase("The letter does not have exactly one From with one address."), "dkim")
    verdict = Verdict("none", _NONE, "dkim")
    found: list[DkimSignature] = []
    if not any(name == "dkim-signature" for name, _ in letter.root.headers):
        return [], verdict
    start = len(letter.raw) - len(letter.root.body)
    try:
        # Of the text its first octet shows already whether it begins in the same place.
        message = _message(letter, start + 1)
    except BadSignature as unfit:
        return [], Verdict(unfit.kind, unfit.reason, "dkim")
    headers = [value for name, value in message.headers if name.lower() == b"dkim-signature"]
    for index, value in enumerate(headers[:SIGNATURES]):
        try:
            if len(found) < OWN:
                found.append(_signature(index, value, letter.sender))
        except BadSignature as unfit:
            # Report the signature that is closest to counting: the others are of lists and forwarders.
            if verdict.kind == "none" or unfit.kind != "none":
                verdict = Verdict(unfit.kind, unfit.reason, "dkim")
    return found, verdict


def verify(letter: Letter, signature: DkimSignature, record: str | None, at: datetime) -> Verdict:
    """Verify one signature of a letter; never raises.

    `record` is the TXT record of its key, "" if the DNS has none, None if the DNS could not be asked. `at` is when
    the letter was received.
    """
    import dkim

    try:
        # The signature must have been made, and not expired, when the letter came (RFC 6376 3.5).
        times = {}
        for tag in (b"t", b"x"):
            value = signature.tags.get(tag)
            if value is not None and not _NUMBER.fullmatch(value):
                raise _bad(signature, _MALFORMED)
            times[tag] = None if value is None else int(value)
        made, ends = times[b"t"], times[b"x"]
        now = at.timestamp()
        if ends is not None and (now > ends or (made is not None and ends < made)):
            raise BadSignature(
                Phrase("The DKIM signature of {domain} had expired.", domain=signature.domain), "expired"
            )
        if made is not None and made > now + SLOP:
            raise _bad(signature, Phrase("it is dated in the future"))
        _check(letter, signature, _key(signature, record))
    except BadSignature as error:
        unfit = error
    except dkim.ValidationError as error:
        changed = "body hash" in str(error)
        unfit = _bad(signature, Phrase("the text was changed on its way") if changed else _MALFORMED)
    except Exception:  # dkimpy raises of many kinds on hostile headers, and all mean the same here
        unfit = _bad(signature, Phrase("it cannot be read"))
    else:
        reason = Phrase(
            "{domain} vouches for this letter, with the key {name}.", domain=signature.domain, name=signature.name
        )
        return Verdict("valid", reason, "dkim", f"dkim:{signature.name}", letter.raw, entity=True)
    return Verdict(unfit.kind, unfit.reason, "dkim")


_MALFORMED = Phrase("it is malformed")
_NONE = Phrase(
    "The letter has no DKIM signature of your mail provider for the address it comes from. Most providers make one by"
    " themselves when you send with their own programs or servers."
)


def _message(letter: Letter, most: int | None = None) -> dkim.DKIM:
    """Dkimpy's reading of a letter's first octets, if ours is the same: what is verified must be what is read."""
    import dkim

    refused = BadSignature(Phrase("The headers of the letter are malformed."))
    if is_repeated(letter.root.headers):  # the lowest is signed, and the topmost read (RFC 6376 8.15)
        raise refused
    raw = letter.raw
    if letter.root.body:  # dkimpy adds a missing line end after it looked for blanks there, and takes all others away
        raw += b"\r\n"
    try:
        message = dkim.DKIM(raw[:most])
    except (dkim.DKIMException, IndexError) as error:
        raise refused from error
    start = len(letter.raw) - len(letter.root.body)
    body = re.sub(rb"\r?\n", b"\r\n", raw[start:most])
    if message.body != body or len(message.headers) != len(letter.root.headers):
        raise refused
    return message


def _signature(index: int, value: bytes, sender: str) -> DkimSignature:
    import dkim
    from dkim.util import InvalidTagValueList, parse_tag_value

    malformed = BadSignature(Phrase("The letter's DKIM signature is malformed."), "bad")
    if len(value) > HEADER:
        raise malformed
    try:
        tags = parse_tag_value(value)
        # dkimpy would hold the times against the clock of this machine; see `verify`.
        dkim.validate_signature_fields({name: text for name, text in tags.items() if name not in {b"t", b"x"}})
        domain, selector = tags[b"d"].decode("ascii").lower(), tags[b"s"].decode("ascii")
        _octets(tags)  # or it is malformed, whatever its key is
    except (dkim.DKIMException, InvalidTagValueList, IndexError, UnicodeDecodeError, binascii.Error) as error:
        if "unknown signature algorithm" in str(error):
            raise _weak() from error
        raise malformed from error
    author = sender.rpartition("@")[2].lower()
    if not DOMAIN.fullmatch(domain) or not SELECTOR.fullmatch(selector):
        raise malformed
    if author != domain and not author.endswith(f".{domain}"):
        other = Phrase(
            "The letter is signed (DKIM) by {domain}, not by {author}, the domain in From.",
            domain=domain,
            author=author,
        )
        raise BadSignature(other, "none")
    if tags[b"a"] not in ALGORITHMS:
        raise _weak()
    if b"l" in tags:
        partly = Phrase(
            "The letter's DKIM signature covers only the beginning of the text (`l=`); that is not accepted."
        )
        raise BadSignature(partly)
    headers = tuple(name.strip().lower() for name in tags[b"h"].split(b":"))
    if b"from" not in headers:
        raise BadSignature(Phrase("The letter's DKIM signature does not cover From."))
    return DkimSignature(index, domain, selector, tags, headers)


def _octets(tags: Mapping[bytes, bytes]) -> bytes:
    return base64.b64decode(re.sub(rb"\s", b"", tags[b"b"]))


def _weak() -> BadSignature:
    return BadSignature(Phrase("The letter's DKIM signature is made with an algorithm that is not accepted."))


def _key(signature: DkimSignature, record: str | None) -> _RsaNumbers | _Ed25519:
    """The key in a key record (RFC 6376 3.6.1)."""
    from dkim.util import InvalidTagValueList, parse_tag_value

    if record is None:
        silent = Phrase(
            "The name server of {domain} could not be asked for the key {name}. Send the letter again later.",
            domain=signature.domain,
            name=signature.name,
        )
        raise BadSignature(silent, "unknown key")
    if not record:
        raise BadSignature(Phrase("There is no DKIM key {name} in the DNS.", name=signature.name), "unknown key")
    unfit = BadSignature(Phrase("The DKIM key {name} is not of an accepted kind.", name=signature.name))
    if len(record) > RECORD or not (record.isascii() and record.isprintable()):
        raise unfit
    try:
        tags: Mapping[bytes, bytes] = parse_tag_value(record.encode("ascii"))
        public = base64.b64decode(re.sub(rb"\s", b"", tags[b"p"]), validate=True)
    except (InvalidTagValueList, KeyError, binascii.Error) as error:
        raise unfit from error
    if not public:
        raise BadSignature(Phrase("The DKIM key {name} is revoked.", name=signature.name), "revoked")
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
        raise BadSignature(tested)
    identity = signature.tags.get(b"i", b"@" + signature.domain.encode()).decode("ascii", "replace")
    if b"s" in flags and identity.rpartition("@")[2].lower() != signature.domain:
        raise unfit
    return _public(kind, public, signature.name)


def _public(kind: bytes, public: bytes, name: str) -> _RsaNumbers | _Ed25519:
    malformed = BadSignature(Phrase("The DKIM key {name} is malformed.", name=name))
    if kind == b"ed25519":
        if not ed25519_points.is_sound(public):
            raise malformed
        return _Ed25519(public)
    try:
        key = load_der_public_key(public)
    except ValueError as error:
        raise BadSignature(Phrase("The DKIM key {name} is malformed or too short.", name=name)) from error
    if not isinstance(key, RSAPublicKey):
        raise BadSignature(Phrase("The DKIM key {name} is not accepted: RSA keys need 1024 bits or more.", name=name))
    if key.key_size not in RSA_BITS:
        short = Phrase(
            "The DKIM key {name} of {bits} bits is not accepted: RSA keys need 1024 bits or more.",
            name=name,
            bits=key.key_size,
        )
        raise BadSignature(short)
    numbers = key.public_numbers()
    if numbers.e.bit_length() > 64:  # nobody has such a key, and it would take long
        raise malformed
    return {"modulus": numbers.n, "publicExponent": numbers.e}


_RsaNumbers = dict[str, int]
"""`modulus` and `publicExponent`: an RSA key as dkimpy has it."""


class _Ed25519:
    """An Ed25519 key (RFC 8463) with PyNaCl's interface, as dkimpy needs it; remembers whether a signature held."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.held = False

    def verify(self, message: bytes, signature: bytes) -> None:
        self.held = ed25519_points.holds(self._key, signature, message)


def _check(letter: Letter, signature: DkimSignature, key: _RsaNumbers | _Ed25519) -> None:
    """Verify a signature by its key; raises `BadSignature`, and whatever dkimpy raises."""
    bits = 256 if isinstance(key, _Ed25519) else key["modulus"].bit_length()
    if max(map(len, re.findall(rb"[ \t]+", letter.root.body)), default=0) > BLANKS:
        raise _bad(signature, Phrase("the text has lines of hundreds of blanks"))
    octets = _octets(signature.tags)
    if isinstance(key, dict) and (len(octets) != (bits + 7) // 8 or int.from_bytes(octets) >= key["modulus"]):
        # RFC 8017 8.2.2 and 5.2.2; dkimpy takes the same signature in other writings, too.
        raise _bad(signature, _MALFORMED)
    message = _message(letter)
    message.pk, message.keysize, message.ktag = key, bits, ALGORITHMS[signature.tags[b"a"]]
    headers = [(name, value) for name, value in message.headers if name.lower() == b"dkim-signature"]
    header = headers[signature.index]
    held = message.verify_sig_process(dict(signature.tags), list(signature.headers), header, None)
    if not held or (isinstance(key, _Ed25519) and not key.held):
        raise _bad(signature, Phrase("a signed header was changed on its way, or another key made it"))


def _bad(signature: DkimSignature, why: Phrase) -> BadSignature:
    reason = Phrase("The DKIM signature of {domain} does not hold: {why}.", domain=signature.domain, why=why)
    return BadSignature(reason, "bad")


def _words(value: bytes) -> set[bytes]:
    return {word.strip() for word in value.split(b":")}
