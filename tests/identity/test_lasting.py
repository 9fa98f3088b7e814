"""Signatures that are accepted today hold in ten years; what would not is refused when it comes, with its reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pysequoia
import pytest
from asn1crypto import cms, core
from data.material import KEYS, SIGNED
from judges.reasons import is_whole
from signing.cms_maker import ENTITY, FORM, attribute, signed_data, signer
from signing.decryptors import OpenpgpReader
from signing.openpgp_maker import BINARY, BORN, REVOCATION, Signer, armored, expires, notation, packet, sub

from pbem import identity
from pbem.identity import BadKey, Verdict, parse_key
from pbem.mail.message import Letter, read_letter
from pbem.proof.normal_form import VOCABULARY

judge = partial(identity.judge, words=VOCABULARY)

SERVER = "play.example"
ANN = Signer()
RECEIVED = BORN + timedelta(days=10)


def pasted(text: str, signature: str) -> bytes:
    return f"From: ann@mail.example\nContent-Type: text/plain; charset=utf-8\n\n{text}{signature}".encode()


def verdict(*said: bytes, made: datetime = BORN, at: datetime | None = RECEIVED, key: str = "") -> Verdict:
    letter = read_letter(pasted(FORM, ANN.over(FORM.encode(), made, *said)))
    return judge(letter, [parse_key(key or ANN.certificate())], SERVER, at=at)


class TestOpenPGP:
    def test_a_signature_that_expires(self) -> None:
        """Refused while it would still hold: ten thousand days on, nobody could verify the match."""
        found = verdict(expires(10000))
        assert (found.kind, found.signed) == ("refused", b"")
        assert "default-sig-expire" in found.reason
        assert verdict(sub(3, b"\0\0\0\0")).kind == "valid"  # never, says RFC 9580 5.2.3.18
        assert verdict(expires(10000), at=None).kind == "valid"  # taken up before this was refused

    def test_a_signature_from_the_future(self) -> None:
        assert verdict(made=RECEIVED + timedelta(minutes=20)).kind == "valid"
        found = verdict(made=RECEIVED + timedelta(hours=1))
        assert found.kind == "refused"
        assert "in the future" in found.reason

    def test_a_signature_with_conditions(self) -> None:
        assert verdict(notation(critical=False)).kind == "valid"
        for said in (notation(critical=True), sub(100, b"x", critical=True), sub(26, b"x:", critical=True)):
            found = verdict(said)
            assert found.kind == "refused"
            assert "conditions" in found.reason

    def test_a_signature_that_names_its_key_by_a_short_number(self) -> None:
        """GnuPG did so before 2.1."""
        for issuer, kind in ((ANN.fingerprint[-8:], "valid"), (bytes(8), "unknown key")):
            made = ANN.signature(BINARY, FORM.encode(), issuer=sub(16, issuer))
            letter = read_letter(pasted(FORM, armored("SIGNATURE", made)))
            assert judge(letter, [parse_key(ANN.certificate())], SERVER, at=RECEIVED).kind == kind

    @pytest.mark.parametrize(
        ("place", "octet", "reason"),
        [
            (0, 3, "version"),
            (0, 5, "version"),
            (1, 0x10, "does not sign a document"),
            (2, 17, "RSA, ECDSA and EdDSA"),
            (3, 2, "weak digest"),
            (3, 1, "weak digest"),
        ],
    )
    def test_a_signature_of_another_kind(self, place: int, octet: int, reason: str) -> None:
        made = bytearray(ANN.signature(BINARY, FORM.encode()))
        made[6 + place] = octet
        found = judge(
            read_letter(pasted(FORM, armored("SIGNATURE", bytes(made)))), [parse_key(ANN.certificate())], SERVER
        )
        assert (found.kind, is_whole(found.reason)) == ("refused", True)
        assert reason in found.reason

    def test_a_signature_of_nobody(self) -> None:
        made = armored("SIGNATURE", ANN.signature(BINARY, FORM.encode(), issuer=b""))
        found = judge(read_letter(pasted(FORM, made)), [parse_key(ANN.certificate())], SERVER)
        assert found.kind == "refused"
        assert "does not say which key" in found.reason

    def test_a_signature_that_ends_early(self) -> None:
        body = ANN.signature(BINARY, FORM.encode())[6:]
        for end in range(len(body)):
            letter = read_letter(pasted(FORM, armored("SIGNATURE", packet(2, body[:end]))))
            found = judge(letter, [parse_key(ANN.certificate())], SERVER)
            assert (found.kind, is_whole(found.reason)) == ("bad", True)

    @pytest.mark.parametrize("profile", [pysequoia.Profile.RFC4880, pysequoia.Profile.RFC9580], ids=["4880", "9580"])
    def test_a_key_of_each_edition_signs(self, profile: pysequoia.Profile) -> None:
        person = OpenpgpReader(pysequoia.Tsk.generate("Ann", profile=profile))
        made = pysequoia.sign(person.tsk.signer(), FORM.encode(), mode=pysequoia.SignatureMode.DETACHED).decode()
        found = judge(read_letter(pasted(FORM, made.replace("\r", ""))), [person.key], SERVER)
        assert (found.kind, found.signed) == ("valid", FORM.encode())

    def test_a_key_that_has_expired_since(self) -> None:
        """For this key it is years later: at receipt nothing more counts, and what was taken up still verifies."""
        key = ANN.certificate(valid_days=30)
        assert parse_key(key).state == "pinned"
        assert [verdict(at=at, key=key).kind for at in (RECEIVED, None)] == ["valid", "valid"]
        assert verdict(at=BORN + timedelta(days=31), key=key).kind == "expired"

    def test_a_revocation_that_is_yet_to_come(self) -> None:
        """The key is superseded in ten years: today Sequoia lets it pass, and then nothing would verify."""
        data, late = ANN.hashed(ANN.body), datetime.now(tz=UTC) + timedelta(days=3650)
        revocation = ANN.signature(REVOCATION, data, late, sub(29, b"\x01"))
        key = ANN.certificate(behind=revocation)
        assert (parse_key(key).state, parse_key(key, RECEIVED).state) == ("pinned", "revoked")
        assert verdict(key=key).kind == "revoked"

    def test_a_key_none_of_whose_names_is_valid_today(self) -> None:
        """Sequoia has no name for it: that is no reason to call the key damaged, now or in ten years."""
        early = Signer(born=datetime.now(tz=UTC) + timedelta(days=400))
        assert parse_key(early.certificate()).state == "pinned"


def letter(*attributes: cms.CMSAttribute | bytes) -> Letter:
    """An opaque S/MIME letter with these attributes beside the two that must be."""
    head = b"From: a@b.example\nContent-Type: application/pkcs7-mime\nContent-Transfer-Encoding: binary\n\n"
    return read_letter(head + signed_data(signer(ENTITY, *attributes)))


def signing_time(time: datetime) -> cms.Time:
    return cms.Time("utc_time", core.UTCTime(time))


class TestSMIME:
    AT = datetime(2026, 11, 22, tzinfo=UTC)
    ACCEPTED = (
        (),
        (attribute("signing_time", signing_time(AT + timedelta(hours=20))),),
        (attribute("signing_time", signing_time(datetime(1999, 1, 1, tzinfo=UTC))),),
        (attribute("1.2.3.4.5", core.Integer(1)),),
    )
    REFUSED = (
        (attribute("signing_time", signing_time(AT + timedelta(hours=30))), "in the future"),
        (attribute("signing_time", signing_time(AT), signing_time(AT)), "twice"),
        (
            cms.CMSAttribute.load(bytes.fromhex("301d06092a864886f70d0109053110180e3230323631313232303030303030")),
            "damaged",
        ),
        (attribute("1.2.840.113549.1.9.16.2.2", core.Integer(1)), "conditions"),
        (attribute("1.2.840.113549.1.9.16.2.15", core.Integer(1)), "conditions"),
    )
    KEY = parse_key((KEYS / "sm-rsa.crt").read_bytes(), AT)

    @pytest.mark.parametrize("attributes", ACCEPTED, ids=["none", "today", "long ago", "unknown"])
    def test_accepted(self, attributes: tuple[cms.CMSAttribute, ...]) -> None:
        assert judge(letter(*attributes), [self.KEY], SERVER, at=self.AT).kind == "valid"

    @pytest.mark.parametrize(("one", "reason"), REFUSED, ids=["future", "two times", "no zone", "label", "policy"])
    def test_refused(self, one: cms.CMSAttribute | bytes, reason: str) -> None:
        found = judge(letter(one), [self.KEY], SERVER, at=self.AT)
        assert (found.kind, found.signed) == ("bad" if reason == "damaged" else "refused", b"")
        assert reason in found.reason
        assert judge(letter(one), [self.KEY], SERVER).kind == "valid"  # taken up before

    def test_a_certificate_that_is_not_valid_yet(self) -> None:
        with pytest.raises(BadKey, match="not valid yet"):
            parse_key((KEYS / "sm-rsa.crt").read_bytes(), datetime(2026, 11, 1, tzinfo=UTC))


_LIBRARIES = [*Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), Path(os.environ.get("FAKETIME_LIBRARY", "-"))]
FAKETIME = next((str(path) for path in _LIBRARIES if path.exists()), None)
_JUDGE_ALL = """
import json, sys
sys.path.insert(0, "tests")
from datetime import UTC, datetime
from pathlib import Path
from data.material import KEYS, SIGNED
from pbem.identity import judge, parse_key
from pbem.mail.message import Letter, read_letter
from pbem.proof.signed_letters import VOCABULARY
keys = [parse_key(path.read_bytes()) for path in sorted(KEYS.glob("*.pub*")) + sorted(KEYS.glob("sm-*.crt"))
        if not any(name in path.name for name in ("-ca", "evil", "before", "cert", "dkim"))]
def kinds(at):
    return [judge(read_letter(path.read_bytes()), keys, "play.example", words=VOCABULARY, at=at,
                  namespace="pbem-order@play.example").kind for path in sorted(SIGNED.glob("*/*.eml"))]
print(json.dumps([datetime.now().year, kinds(None), kinds(datetime(2026, 11, 21, 12, tzinfo=UTC))]))
"""


@pytest.mark.skipif(FAKETIME is None, reason="needs libfaketime")
def test_all_samples_by_the_clock_of_another_year() -> None:
    """All that verifies now verifies then, and the other way round: by the entry, and by the time of receipt."""

    def run(clock: dict[str, str]) -> list[object]:
        environment = {**os.environ, **clock}
        made = subprocess.run([sys.executable, "-c", _JUDGE_ALL], env=environment, capture_output=True, check=True)
        return list(json.loads(made.stdout))

    assert FAKETIME is not None
    then = run({"LD_PRELOAD": FAKETIME, "FAKETIME": "@2046-01-02 00:00:00"})
    now = run({})
    assert then[0] == 2046
    assert then[1:] == now[1:]
    assert len(list(SIGNED.glob("*/*.eml"))) == len(now[1])  # type: ignore[arg-type]  # a list, written as JSON
