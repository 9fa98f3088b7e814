"""Signed notes, checkpoints and proofs, as C2SP writes them: published examples, and what is refused."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.tlog.checkpoint import Checkpoint, CosignRequest, InclusionProof
from pbem.tlog.note import NotANote, Note, NoteSignature, cosigned, holds, signed
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

# The example in the documentation of Go's package sumdb/note, whose format C2SP describes.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NEUMANN = """If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
"""
# The example of C2SP tlog-witness and tlog-cosignature.
SOFA = """old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa \
Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
"""
WITNESS = "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA=="
TIMESTAMPED = (
    "ZGhGuQAAAABm/qTPeyKXD+R2rzyQsxPiP8mXum7qq/iF0u4vanlqJyocWODBt97w9uL+8qT7S5gxEHWWOworDcFiEBYJXORmnFBOBA=="
)
TEXT = "play.example\n1\n" + base64.b64encode(bytes(32)).decode() + "\n"


def test_a_published_note_holds_by_its_published_key() -> None:
    key, note = VerifierKey.read(PETER), Note.read(NEUMANN)
    assert (str(key), str(note)) == (PETER, NEUMANN)
    assert note.by(key)
    assert not Note(note.text.replace("think", "thank"), note.signatures).by(key)
    assert not note.by(VerifierKey("PeterNeuman", key.kind, key.public))
    assert not note.by(VerifierKey(key.name, COSIGNATURE, key.public))


def test_published_requests_and_cosignatures_are_read_and_written_again() -> None:
    request = CosignRequest.read(SOFA)
    assert str(request) == SOFA
    assert (request.old, len(request.proof)) == (20852014, 4)
    found = Checkpoint.read(request.note.text)
    assert (found.origin, found.size) == ("example.com/behind-the-sofa", 20852163)
    assert str(found) == request.note.text
    assert NoteSignature.read(f"— witness.example.com/w1 {WITNESS}").time == 1679315147
    assert NoteSignature.read(f"— w {TIMESTAMPED}").time == 1727964367


def test_a_witness_signs_text_and_time() -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public = key.public_key().public_bytes_raw()
    log, witness = VerifierKey("play.example", LOG, public), VerifierKey("w.example", COSIGNATURE, public)
    note = Note(TEXT, (signed("play.example", key, TEXT), cosigned("w.example", key, TEXT, 1679315147)))
    assert Note.read(str(note)) == note
    seen = note.by(witness)
    assert seen is not None
    assert seen.time == 1679315147
    assert note.by(log)
    # What is signed, by the words of tlog-cosignature.
    key.public_key().verify(seen.content[8:], f"cosignature/v1\ntime 1679315147\n{TEXT}".encode())
    later = NoteSignature(seen.name, seen.id, (1679315148).to_bytes(8, "big") + seen.content[8:])
    assert not holds(witness, TEXT, later)
    assert VerifierKey.read(str(witness)) == witness
    # Of two signatures of one key both must hold.
    assert note.with_(later).by(witness) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "+1+2", PETER.replace("c7", "c8"), PETER[:-4], "Peter Neumann+c74f20a3+ARpc", PETER + "=",
        "rekor.sigstore.dev+12345678+AwEB", "bananas.sigstore.dev+12344556", "a+b+c+d",
    ],
)  # fmt: skip
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|hash"):
        VerifierKey.read(text)


def test_of_several_keys_it_is_told_which_is_none() -> None:
    with pytest.raises(ValueError, match=r'^"play\.example\+1a2b3c4d\+AQ\.\.\." is no key'):
        VerifierKey.read("play.example+1a2b3c4d+AQ...")


@pytest.mark.parametrize(
    "text",
    [
        "", "\n\n", NEUMANN.replace("\n\n", "\n"), NEUMANN.rstrip("\n"), NEUMANN.replace("— ", "- "), NEUMANN + "x\n",
        NEUMANN.replace("x08go", "x08g!"), NEUMANN.replace("AM=", "AN="), NEUMANN[:103],
        NEUMANN.replace("think", "th\rink"),         NEUMANN + NEUMANN[101:] * 16, NEUMANN.replace(" x08", "  x08"),
    ],
)  # fmt: skip
def test_what_is_no_note(text: str) -> None:
    with pytest.raises(NotANote):
        Note.read(text)


@pytest.mark.parametrize(
    "text",
    [
        TEXT + "more\n", TEXT.rstrip("\n"), TEXT.replace("\n1\n", "\n01\n"), TEXT.replace("\n1\n", "\n-1\n"),
        TEXT.replace("\n1\n", "\n\u0661\n"), TEXT.replace("AAA=", "AAB="), TEXT[:-3] + "\n", TEXT[12:],
    ],
)  # fmt: skip
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(NotANote):
        Checkpoint.read(text)


@pytest.mark.parametrize(
    "text",
    [
        SOFA.replace("old ", "new "), SOFA.replace("old 2", "old 02"), SOFA.replace("PlRN", "P!RN"),
        SOFA.replace("\n\nexample", "\nexample"), "old 1\n" + "A\n" * 70,
    ],
)  # fmt: skip
def test_what_is_no_request(text: str) -> None:
    with pytest.raises(NotANote):
        CosignRequest.read(text)


def test_a_proof_is_written_as_c2sp_has_it() -> None:
    note = CosignRequest.read(SOFA).note
    proof = InclusionProof(73894, CosignRequest.read(SOFA).proof, note)
    lines = str(proof).split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "index 73894", "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw="]
    assert InclusionProof.read(str(proof)) == proof
    assert InclusionProof.read(str(proof).replace("\nindex", "\nextra eA==\nindex")) == proof
    assert not proof.proves(b"anything")
    for wrong in ("c2sp.org/tlog-proof@v2", "index -5", "index x", ""):
        with pytest.raises(NotANote):
            InclusionProof.read(
                str(proof).replace("c2sp.org/tlog-proof@v1" if "c2sp" in wrong else "index 73894", wrong)
            )
