"""The page's words on witnesses, without a browser: of proofs true and altered it says what `pbem verify` says."""

from __future__ import annotations

import base64
import quopri
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box import witnessed
from msgspec.structs import replace
from page_scripts.javascript import Scripts

from pbem.i18n import LANGUAGES, catalogue, template_folder
from pbem.json_object import DEPTH
from pbem.match.transcript import statement
from pbem.pages.match_page import checking, packed
from pbem.proof import bundle
from pbem.proof.kept import Kept, Logged
from pbem.proof.kept_letters import kept
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify
from pbem.tlog.checkpoint import InclusionProof
from pbem.tlog.note import Note, NoteSignature, cosigned
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.proof.bundle import Bundle

W, V = "w.example", "v.example"
KEYS = [str(witnessed.witness(name)[0]) for name in (W, V)]
AT = "2026-03-01T12:00:00Z"
SECONDS = 1772366400
LOOK = """async ([packed, shown, keys, letters]) => {
    const about = WITNESS.match(BUNDLE.unzip(await BUNDLE.unpacked(packed)));
    const given = shown.map(([seq, proof]) => ({ server: about.server, match: about.match, seq, proof }));
    const believed = await Promise.all(keys.map(WITNESS.key));
    return WITNESS.look(about, [...given, ...letters.flatMap(WITNESS.letter)], believed);
}"""
STRANGERS = Ed25519PrivateKey.from_private_bytes(bytes(32))
NONE: dict[str, list[int]] = {"bundle": [], "letters": [], "closed": []}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return witnessed.short_match(tmp_path_factory.mktemp("match"))


@pytest.fixture(scope="module")
def scripts() -> Scripts:
    return Scripts(*checking("spaceships", sealed=True), "witness.js")


def look(
    scripts: Scripts,
    found: Bundle,
    shown: Sequence[tuple[int, str]] = (),
    keys: Sequence[str] = KEYS,
    letters: Sequence[bytes] = (),
) -> dict[str, Any]:
    content, texts = packed(bundle.write(found)), [raw.decode() for raw in letters]
    said: dict[str, Any] = scripts.evaluate(LOOK, [content, [list(one) for one in shown], list(keys), texts])
    return said


def test_the_latest_entry_that_each_witness_saw_and_when_at_the_latest(scripts: Scripts, found: Bundle) -> None:
    last = len(found.entries)
    shown = [
        (2, str(witnessed.proof(found, 2, {W: SECONDS - 900}))),
        (last, str(witnessed.proof(found, last, {W: SECONDS + 600}, behind=40))),
        (last, str(witnessed.proof(found, last, {W: SECONDS}))),
        (3, str(witnessed.proof(found, 3, {V: SECONDS}))),
    ]
    said = look(scripts, found, shown)
    assert said["seen"] == [{"name": W, "seq": last, "time": AT}, {"name": V, "seq": 3, "time": AT}]
    assert (said["unseen"], said["faults"], said["stories"]) == ([], [], NONE)
    # The same from letters, one of which forwards another.
    raw = [witnessed.letter(found, [witnessed.logged(seq, proof)]) for seq, proof in shown]
    forwarded = b"From: ann@x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\n"
    letters = [raw[0], forwarded + b"--b\nContent-Type: message/rfc822\n\n".join([b"x", *raw[1:]])]
    assert look(scripts, found, letters=letters) == said
    # A witness that is not believed counts for nothing, one that nobody shows is named.
    other = str(witnessed.witness("u.example")[0])
    said = look(scripts, found, shown, [other])
    assert (said["seen"], said["unseen"], said["proofs"]) == ([], ["u.example"], 4)


def by_python(found: Bundle, shown: Sequence[tuple[int, str]]) -> tuple[dict[str, tuple[int, int]], int]:
    """The result of `pbem verify`: what was seen, and the number of worthless proofs."""
    proved = Proved(keep_notices=True)
    assert all(check.holds for check in verify(bundle.write(found), proved=proved))
    assert proved.bundle is not None
    assert proved.match is not None
    keys = [witnessed.witness(name)[0] for name in (W, V)]
    bench = Against(proved.bundle, proved.match, proved.notices, witnesses=keys)
    faults = 0
    for seq, proof in shown:
        letter = bench.judge(Kept("x", None, "", logged=(Logged(*witnessed.about(found), seq, proof),)))
        faults += not any(one.standing == "agrees" for one in letter.findings)
    return bench.witnessed, faults


def test_of_altered_proofs_it_says_what_the_program_says(scripts: Scripts, found: Bundle) -> None:
    random, last = Random(7), len(found.entries)
    whole = [
        (seq, str(witnessed.proof(found, seq, times, before=before, behind=behind)))
        for seq, times, before, behind in (
            (last, {W: SECONDS, V: SECONDS + 5}, 3, 60),
            (3, {V: SECONDS}, 0, 0),
            (1, {}, 7, 1),
        )
    ]
    shown = list(whole)
    for seq, text in whole:
        shown += [(seq + 1, text), (seq - 1, text), (seq, text + "\n"), (seq, text.replace("index ", "index 0"))]
        lines = text.split("\n")
        for number, line in enumerate(lines):
            shown.append((seq, "\n".join([*lines[:number], *lines[number + 1 :]])))
            shown.append((seq, "\n".join([*lines[:number], line, *lines[number:]])))
            if line:
                at = random.randrange(len(line))
                other = random.choice("AZaz09+/ =\n—")
                shown.append(
                    (seq, "\n".join([*lines[:number], line[:at] + other + line[at + 1 :], *lines[number + 1 :]]))
                )
    for one in shown:
        seen, faults = by_python(found, [one])
        said = look(scripts, found, [one])
        assert {name["name"]: name["seq"] for name in said["seen"]} == {
            name: seq for name, (seq, _) in seen.items()
        }, one
        assert len(said["faults"]) == faults, (one, said)
    assert len(shown) > 100


def test_what_is_not_of_this_server_or_this_bundle_shows_nothing(scripts: Scripts, found: Bundle) -> None:
    last = len(found.entries)
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    false = witnessed.proof(found, last, {W: SECONDS}, key=stranger)
    other = witnessed.proof(found, last, {W: SECONDS}, head="a" * 64)
    for shown, why in (
        (false, "not signed with this server's key"),
        (other, "it does not lead to this bundle's entry"),
    ):
        said = look(scripts, found, [(last, str(shown))])
        assert not said["seen"]
        assert why in said["faults"][0]
    later = look(scripts, found, [(last + 1, str(other))])
    assert f"the bundle ends with entry {last}" in later["faults"][0]
    # Another match's, and what is no letter at all.
    raw = witnessed.letter(found, [witnessed.logged(last, other) | {"match": "m2"}])
    assert (
        look(scripts, found, letters=[raw, b"", b"X-Pbem-Bulletin: e30=\n\n", b"X-Pbem-Bulletin: !\n\n"])["faults"]
        == []
    )
    german = Scripts(*checking("spaceships", sealed=True), "witness.js", language="de")
    assert look(german, found, [(last, str(other))])["faults"][0].startswith(
        f"Ein Nachweis zu Eintrag {last} zeigt nichts: "
    )


@pytest.mark.parametrize(
    ("heads", "key", "finished", "told"),
    [
        ("b", witnessed.KEY, True, {"closed": [0]}),
        ("bb", witnessed.KEY, True, {"closed": [0]}),
        ("b", STRANGERS, True, {}),
        ("bb", witnessed.KEY, False, {}),
        ("bc", witnessed.KEY, False, {"letters": [0]}),
        ("bc", STRANGERS, False, {}),
    ],
)
def test_what_the_server_signed_beyond_the_bundle_as_verify_says_it(
    scripts: Scripts,
    found: Bundle,
    heads: str,
    key: Ed25519PrivateKey,
    finished: bool,
    told: dict[str, list[int]],
) -> None:
    """After `closed` nothing follows; of a match that goes on, two letters agree."""
    assert found.entries[-1].type == "closed"
    given = found if finished else bundle.Bundle(found.entries[:-1], found.signatures[:-1], found.papers)
    seq = len(given.entries) + 1
    letters = [witnessed.letter(given, [witnessed.signed_head(given, seq, head * 64, key)]) for head in heads]
    at = {kind: [seq + one for one in entries] for kind, entries in told.items()}
    assert look(scripts, given, letters=letters)["stories"] == NONE | at
    proved = Proved(keep_notices=True)
    list(verify(bundle.write(found), proved=proved))
    assert proved.match is not None
    against = Against(given, proved.match)
    standings = [against.judge(kept("x", raw)).standing for raw in letters]
    assert ("two stories" in standings) is bool(told)


def convicted(found: Bundle, whole: Bundle, letters: Sequence[bytes]) -> set[int | None]:
    """The entries of which `pbem verify --against` says that the server told two stories; None for its log."""
    proved = Proved(keep_notices=True)
    list(verify(bundle.write(whole), proved=proved))
    assert proved.match is not None
    against = Against(found, proved.match)
    findings = [one for raw in letters for one in against.judge(kept("x", raw)).findings]
    return {one.seq for one in findings if one.standing == "two stories"}


def on_the_page(scripts: Scripts, found: Bundle, letters: Sequence[bytes]) -> set[int | None]:
    said = look(scripts, found, letters=letters)
    return {seq for seqs in said["stories"].values() for seq in seqs} | ({None} if said["forks"] else set())


def odd_item(random: Random, found: Bundle) -> dict[str, Any]:
    """An item of a bulletin with a head, a proof, or both; signed or not, of an entry that there is or is not."""
    last = len(found.entries)
    seq = random.choice([0, 1, 2, 3, last, last + 1, last + 1, last + 2, 10**9 - 1, 10**9, 2**40, -1])
    heads = ["b" * 64, "b" * 64, "c" * 64, "B" * 64, "b" * 63]
    head = random.choice([*heads, *[found.entries[seq - 1].head] * 3] if 1 <= seq <= last else heads)
    made: dict[str, Any] = witnessed.signed_head(found, seq, head, random.choice([*[witnessed.KEY] * 5, STRANGERS]))
    made["head"]["seq"] = random.choice([*[seq] * 8, float(seq), str(seq), seq == 1])
    if random.random() < 0.2:
        made["head"]["signature"] = random.choice(["0" * 128, made["head"]["signature"].upper()])
    if random.random() < 0.1:
        made["match"] = random.choice([["m1"], "m2", None])
    if random.random() < 0.4:
        place = random.choice([2, 3, last])
        shown = random.choice(["", "b" * 64, head if len(head) == 64 else ""])
        made |= witnessed.logged(place, witnessed.proof(found, place, {}, head=shown))
        made["head"]["seq"] = random.choice([place, made["head"]["seq"]])
    return made


def odd_letter(random: Random, found: Bundle) -> bytes:
    """A letter whose bulletin is written in one of the ways that readers might read differently."""
    items = [odd_item(random, found) for _ in range(random.choice([1, 1, 2]))]
    raw = witnessed.letter(found, items)
    head, _, packed = raw.partition(b"X-Pbem-Bulletin: ")
    said = base64.b64decode(packed.partition(b"\r\n\r\n")[0])
    ways = {
        "a number that is none": said[:-1] + b', "x": NaN}',
        "a long number": said[:-1] + b', "x": ' + b"1" * 5000 + b"}",
        "in UTF-16": said.decode().encode("utf-16"),
        "with a mark before it": b"\xef\xbb\xbf" + said,
        "with an octet that is no text": said[:-1] + b', "x": "\xff"}',
    }
    content = base64.b64encode(random.choice([*[said] * 8, *ways.values()])).decode()
    lines = random.choice(["\r\n ".join(content[at : at + 60] for at in range(0, len(content), 60)), content])
    lines = random.choice([*[lines] * 8, lines.rstrip("="), f"{lines[:20]}!-{lines[20:]}"])
    return head + b"X-Pbem-Bulletin: " + lines.encode() + b"\r\n\r\nHello\r\n" + odd_text(random, found)


def odd_text(random: Random, found: Bundle) -> bytes:
    if random.random() < 0.7:
        return b""
    last = len(found.entries)
    seq = random.choice([1, 2, last, last + 1])
    head = random.choice(["b" * 64, found.entries[min(seq, last) - 1].head])
    return shown_to_people(found, seq, head, random.choice([*[witnessed.KEY] * 5, STRANGERS])).encode()


def shown_to_people(found: Bundle, seq: int, head: str, key: Ed25519PrivateKey = witnessed.KEY) -> str:
    """A signed head as letters show it to people."""
    server, match = witnessed.about(found)
    signature = key.sign(statement(server, match, seq, head)).hex()
    signs = f"Transcript of {match} after entry {seq}, signed by {server}:"
    return f"{signs}\r\n\r\n  head      {head}\r\n  signature {signature[:64]}\r\n            {signature[64:]}\r\n"


def test_of_odd_bulletins_page_and_program_convict_for_the_same(scripts: Scripts, found: Bundle) -> None:
    random, said = Random(3), {True: 0, False: 0}
    runs_on = bundle.Bundle(found.entries[:-1], found.signatures[:-1], found.papers)
    for _ in range(150):
        given = random.choice([found, runs_on])
        letters = [odd_letter(random, given) for _ in range(random.choice([1, 1, 2]))]
        by_program = convicted(given, found, letters)
        assert on_the_page(scripts, given, letters) == by_program, letters
        said[bool(by_program)] += 1
    assert min(said.values()) > 30


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}"), ('[{"]":', "}]")])
@pytest.mark.parametrize("deep", [DEPTH, DEPTH + 1, 1000, 5000])
def test_bulletins_nested_too_deep_are_nobodys(
    scripts: Scripts, found: Bundle, opened: str, closed: str, deep: int
) -> None:
    """An engine reads what another cannot: each stops at the same depth, which no bulletin of ours comes near."""
    times, more = divmod(deep - 1, 2 if "{" in opened and "[" in opened else 1)
    nested = "[" * more + opened * times + "0" + closed * times + "]" * more
    head, _, packed = witnessed.letter(found, [witnessed.signed_head(found, 2, "b" * 64)]).partition(b"letin: ")
    said = base64.b64decode(packed.partition(b"\r\n\r\n")[0])[:-1] + f', "x": {nested}, "y": "[[\\"[["}}'.encode()
    raw = head + b"letin: " + base64.b64encode(said) + b"\r\n\r\nHello\r\n"
    assert on_the_page(scripts, found, [raw]) == convicted(found, found, [raw]) == ({2} if deep == DEPTH else set())


def test_a_signature_that_holds_for_programs_convicts_beside_one_for_people_that_does_not(found: Bundle) -> None:
    raw = witnessed.letter(found, [witnessed.signed_head(found, 2, "b" * 64)])
    spoilt = shown_to_people(found, 2, "b" * 64, STRANGERS).encode()
    assert convicted(found, found, [raw + spoilt]) == {2}


PLAIN = "Content-Type: text/plain; charset=utf-8\r\n"
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: f"{PLAIN}\r\n{text}",
    "quoted": lambda text: f"{PLAIN}\r\n> " + text.replace("\r\n", "\r\n> "),
    "in base64": lambda text: (
        f"{PLAIN}Content-Transfer-Encoding: base64\r\n\r\n{base64.encodebytes(text.encode()).decode()}"
    ),
    "quoted-printable": lambda text: (
        f"{PLAIN}Content-Transfer-Encoding: quoted-printable\r\n\r\n{text.replace('head', '=68ead')}"
    ),
    "as HTML": lambda text: f"Content-Type: text/html\r\n\r\n<p>{text.replace('  ', '&nbsp; ')}</p>",
    "as HTML beside a text": lambda text: (
        "Content-Type: multipart/alternative; boundary=a\r\n\r\n"
        f"--a\r\n{PLAIN}\r\nHello\r\n--a\r\n{WAYS['as HTML'](text)}\r\n--a--\r\n"
    ),
    "forwarded": lambda text: (
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n"
        f"From: x@y.example\r\n{WAYS['in base64'](text)}\r\n--b--\r\n"
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("head", "key", "told"), [("b", witnessed.KEY, {2}), ("b", STRANGERS, set()), ("", witnessed.KEY, set())]
)
def test_a_head_that_only_people_were_shown(
    scripts: Scripts, found: Bundle, way: str, head: str, key: Ed25519PrivateKey, told: set[int]
) -> None:
    """A server might show another to programs, or none."""
    text = shown_to_people(found, 2, head * 64 or found.entries[1].head, key)
    raw = f"From: pbem@play.example\r\nSubject: m1\r\n{WAYS[way](text)}".encode()
    assert on_the_page(scripts, found, [raw]) == told
    assert convicted(found, found, [raw]) == told


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_people_are_shown_in_each_language(scripts: Scripts, found: Bundle, language: str) -> None:
    """In a file of letters, too."""
    said = "Transcript of %(id)s after entry %(seq)s, signed by %(server)s:"
    server, match = witnessed.about(found)
    facts = {"id": match, "seq": 2, "server": server}
    text = shown_to_people(found, 2, "b" * 64).replace(
        said % facts, catalogue((template_folder(),), language).gettext(said) % facts
    )
    raw = f"From: pbem@play.example\r\n{WAYS['in base64'](text)}".encode()
    assert convicted(found, found, [raw]) == {2}
    box = b"From ann Mon Nov 23 2026\n" + b"From ann Mon Nov 23 2026\n".join([b"From: x\n\nHello\n\n", raw])
    assert on_the_page(scripts, found, [box]) == {2}


def test_another_entry_that_is_in_the_log_is_another_story(scripts: Scripts, found: Bundle) -> None:
    """Signed in the letter or not: the checkpoint is signed."""
    last, other = len(found.entries), "b" * 64
    for seq in (2, last + 1):
        item = witnessed.signed_head(found, seq, other, STRANGERS)
        grown = bundle.Bundle((*found.entries, replace(found.entries[-1], seq=last + 1)), found.signatures, {})
        shown = witnessed.logged(seq, witnessed.proof(grown, seq, {W: SECONDS}, head=other))
        letters = [witnessed.letter(found, [item, shown])]
        said = look(scripts, found, letters=letters)
        assert (on_the_page(scripts, found, letters), said["faults"], said["seen"]) == ({seq}, [], [])
        assert convicted(found, found, letters) == {seq}


def test_two_logs_of_one_size_are_two_stories(scripts: Scripts, found: Bundle) -> None:
    """Each proof holds by itself; the letters may be about different matches."""
    shown = witnessed.letter(found, [witnessed.logged(3, witnessed.proof(found, 3, {W: SECONDS}))])
    ways: list[tuple[dict[str, Any], str, set[None]]] = [
        ({}, "m1", {None}),
        ({}, "m2", {None}),
        ({"behind": 4}, "m1", set()),
        ({"key": STRANGERS}, "m1", set()),
        ({"origin": "two.example"}, "m1", set()),
    ]
    for other, match, told in ways:
        proof = witnessed.proof(found, 3, {}, head="b" * 64, **other)
        letters = [shown, witnessed.letter(found, [witnessed.logged(3, proof) | {"match": match}])]
        assert on_the_page(scripts, found, letters) == told
        assert convicted(found, found, letters) == told


@pytest.mark.parametrize("way", WAYS)
def test_the_letter_of_a_witness_that_refuses_convicts(scripts: Scripts, found: Bundle, way: str) -> None:
    one, two = (witnessed.proof(found, 3, {W: SECONDS}, head=head).note for head in ("", "b" * 64))
    server, _ = witnessed.about(found)
    text = f"forked {server} 11\n\nThis was cosigned here:\n\n{one}\nThis came now:\n\n{two}".rstrip("\n")
    if way == "quoted-printable":
        text = quopri.encodestring(text.encode()).decode()
    text = text.replace("\n", "\r\n")
    letters = [f"From: w@example.org\r\n{WAYS[way](text)}".encode()]
    assert look(scripts, found, letters=letters)["forks"] == [11]
    assert convicted(found, found, letters) == {None}


def test_what_strangers_write_takes_no_place_of_what_proves_something(scripts: Scripts, found: Bundle) -> None:
    """Letters are anybody's, and so are lines below a note."""
    last, true = len(found.entries), witnessed.proof(found, 3, {W: SECONDS})
    mine = Ed25519PrivateKey.from_private_bytes(bytes(32))
    ahead = witnessed.proof(found, last, {})
    spoilt = Note(ahead.note.text, (*ahead.note.signatures, NoteSignature(W, witnessed.witness(W)[0].id, bytes(72))))
    half = str(true).replace("index", "extra \ud800\nindex")
    padded = str(true).replace("index", f"extra {'x' * 1000}\nindex")
    hostile = [
        (last, str(witnessed.proof(found, last, {W: 0}, key=mine))),  # not of this server's log
        (last, str(witnessed.proof(found, last, {W: 0}, origin="two.example"))),
        (last, str(InclusionProof(ahead.index, ahead.hashes, spoilt))),  # anybody can write a line below
        (3, half),
        *((10**9 + number, str(true)) for number in range(3)),
    ]
    shown = [*hostile, (3, padded), (3, str(true))]
    for order in (shown, shown[::-1]):
        said = look(scripts, found, order, [str(witnessed.witness(W)[0])])
        assert said["seen"] == [{"name": W, "seq": 3, "time": AT}]


def test_of_odd_lines_below_a_note_it_says_what_the_program_says(scripts: Scripts, found: Bundle) -> None:
    true, (_, own) = witnessed.proof(found, 3, {W: SECONDS}), witnessed.witness(W)
    held = {True: 0, False: 0}
    names = ["a", "a\x7fb", "a\x85b", "a\xa0b", "a\x1cb", "a\x01b", "a\ufeffb", "a\u200bb", "a\u2003b", "a\ud800b"]
    names += ["\U0001f600" * 200, "a" * 253, "a" * 254, "é", "</script>"]
    lines = [NoteSignature(name, b"abcd", bytes(72)) for name in names]
    lines += [NoteSignature("a", b"abcd", bytes(length)) for length in (1, 2, 5000, 6000)]
    # A point R of small order; and a signature for no time that any clock will have.
    weak = (1).to_bytes(32, "little")
    lines += [NoteSignature(W, witnessed.witness(W)[0].id, bytes(8) + weak + bytes(32))]
    lines += [cosigned(W, own, true.note.text, time) for time in (0, 2**64 - 1)]
    for line in lines:
        shown = (3, str(InclusionProof(true.index, true.hashes, true.note.with_(line))))
        seen, faults = by_python(found, [shown])
        said = look(scripts, found, [shown])
        assert [one["name"] for one in said["seen"]] == list(seen), line
        assert len(said["faults"]) == faults, line
        held[bool(seen)] += 1
    assert min(held.values()) > 5


def test_a_key_of_small_order_cosigns_for_nobody(scripts: Scripts, found: Bundle) -> None:
    """Under it, one signature holds for any text: anybody could write it."""
    weak = VerifierKey(W, COSIGNATURE, (1).to_bytes(32, "little"))
    shown = witnessed.proof(found, 3, {})
    # S is 1, R the base point: what holds whatever is signed, where nobody looks at the key.
    base = bytes([0x58]) + bytes([0x66] * 31)
    line = NoteSignature(W, weak.id, SECONDS.to_bytes(8, "big") + base + (1).to_bytes(32, "little"))
    text = str(InclusionProof(shown.index, shown.hashes, shown.note.with_(line)))
    assert shown.note.with_(line).by(weak) is None
    assert look(scripts, found, [(3, text)], [str(weak)])["unseen"] == [W]
