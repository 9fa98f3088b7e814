"""The page's verifier, without a browser: of bundles true and forged it says nothing that `pbem verify` does not."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import checked, proof, signed_again, tampered, with_entry
from attackers.mutations import mutated, paper_changed, paper_dropped, papers_swapped, rewritten
from in_a_box.referee import Referee
from in_a_box.sealed_seats import agreed, play
from judges import sentences
from page_scripts.javascript import PAGES, Scripts
from signing.dresses import part, several
from vectors.make import VECTORS

from pbem.desk.public import Public
from pbem.identity import ed25519_points
from pbem.json_object import DEPTH
from pbem.match.changed import replace
from pbem.match.transcript import Entry, canonical
from pbem.pages.match_page import _packed, checking, replay, revealed
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.proof.bundle import Bundle

GOOD = sorted((VECTORS / "good").iterdir())
RUN = """async (packed) => {
    const found = [];
    for await (const check of VERIFY.run(packed)) found.push(check);
    return found;
}"""


@pytest.fixture
def verifier() -> Scripts:
    return Scripts(*checking("spaceships", sealed=True))


def checks(verifier: Scripts, found: Bundle) -> list[dict[str, Any]]:
    """What the page says of a bundle that is in it, check by check."""
    terms = found.entries[0].body.get("terms", {})
    if terms.get("sealed") and terms["game"] != "spaceships":
        verifier = Scripts(*checking(terms["game"], sealed=True))
    said: list[dict[str, Any]] = verifier.evaluate(RUN, _packed(bundle.write(found)))
    return said


def fails(verifier: Scripts, found: Bundle) -> str | None:
    """The failing check, the last one."""
    said = checks(verifier, found)
    assert False not in [one["holds"] for one in said[:-1]]
    return said[-1]["said"] if said[-1]["holds"] is False else None


def test_what_is_wrong_is_said_in_the_language_of_the_page(verifier: Scripts) -> None:
    """Every reason that these scripts can give is a message of the catalogue, and what fails is said in German."""
    for script in ("verify.js", "bundle.js"):
        source = (PAGES / script).read_text("utf-8")
        bare = re.findall(r"(?:must\(.*, |new Wrong\()([\"`][^\"`]*[\"`])\);", source)
        assert not {reason for reason in bare if "error.message" not in reason}
    found = bundle.read(GOOD[0].read_bytes())
    changed = replace(found, entries=found.entries[::2], signatures=found.signatures[::2])
    assert (fails(verifier, changed) or "").startswith("chain: entry 2 ")
    german = Scripts(*checking("spaceships", sealed=True), language="de")
    assert (fails(german, changed) or "").startswith("Kette: Eintrag 2 ")


def name(path: Path) -> str:
    return path.name.split(".")[0]


# Canonical JSON, and the chain of it


def some_value(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(6 if depth < 3 else 4)
    if kind == 0:
        return random.choice((None, True, False))
    if kind == 1:
        return random.choice((0, -1, 2**53 - 1, 1 - 2**53, random.randrange(10**6)))
    if kind < 4:
        signs = (
            "a",
            '"',
            "\\",
            "/",
            "\x00",
            "\n",
            "\x1f",
            "\x7f",
            "\x80",
            "ä",
            "\u2028",
            "\ue000",
            "\U0001f600",
            "\ud800",
        )
        return "".join(random.choices(signs, k=random.randrange(6)))
    if kind == 4:
        return [some_value(random, depth + 1) for _ in range(random.randrange(4))]
    names = ("a", "B", "_", "aa", "10", "9", "__proto__", "constructor", 'q"', "\x7f", "")
    return {key: some_value(random, depth + 1) for key in random.sample(names, random.randrange(5))}


def test_canonical_json_is_the_same() -> None:
    random = Random(3)
    values = [some_value(random) for _ in range(2000)]
    written = Scripts("tables.js", "bundle.js").evaluate("(values) => values.map(BUNDLE.canonical)", values)
    assert written == [canonical(value).decode() for value in values]


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_a_true_bundle_has_the_same_head_and_nothing_that_fails(path: Path, verifier: Scripts) -> None:
    found = revealed(bundle.read(path.read_bytes()))
    said = checks(verifier, found)
    assert [one for one in said if one["holds"] is False] == []
    head = found.entries[-1].head
    assert f"chain: {len(found.entries)} entries, unbroken; head {head}" in [one["said"] for one in said]


OTHERWISE: dict[str, Callable[[bytes], bytes]] = {
    "blank": lambda line: line.replace(b'":', b'": ', 1),
    "order": lambda line: b"{" + b",".join(reversed(line[1:-1].rsplit(b",", 1))) + b"}",
    "fraction": lambda line: re.sub(rb'"seq":([0-9]+)', rb'"seq":\1.0', line),
    "twice": lambda line: line.replace(b"{", b'{"body":{},', 1),
    "escape": lambda line: line.replace(b'"type"', b'"\\u0074ype"'),
    "more": lambda line: line + b" ",
    "none": lambda line: line[:-1],
    "list": lambda line: b"[" + line + b"]",
}


@pytest.mark.parametrize("way", OTHERWISE)
def test_an_entry_that_is_written_otherwise_is_none(way: str, verifier: Scripts) -> None:
    found = bundle.read((VECTORS / "good" / "ssh.pbem.zip").read_bytes())
    for at, entry in enumerate(found.entries):
        line = OTHERWISE[way](entry.canonical())
        assert line != entry.canonical()
        assert not is_entry(line)
        entries = (*found.entries[:at], Written(1, "", "", "", {}, line), *found.entries[at + 1 :])
        said = fails(verifier, replace(found, entries=entries))
        assert said is not None
        assert re.match(
            rf"chain: entry {at + 1} (cannot be read|is not written as entries are|bears the number)", said
        )


@pytest.mark.parametrize("deep", [DEPTH, DEPTH + 1, 3000])
def test_an_entry_nested_too_deep_is_refused_in_the_same_words(deep: int, verifier: Scripts) -> None:
    """However deep an engine could read: whoever asks the page and `pbem verify` hears the same."""
    found = bundle.read((VECTORS / "good" / "ssh.pbem.zip").read_bytes())
    line = found.entries[2].canonical()[:-1] + b',"x":' + b"[" * (deep - 1) + b"]" * (deep - 1) + b"}"
    changed = replace(found, entries=(*found.entries[:2], Written(1, "", "", "", {}, line), *found.entries[3:]))
    try:
        bundle.read(bundle.write(changed))
        said = ""
    except bundle.NotABundle as error:
        said = str(error)
    assert (sentences.IN_ONE_ANOTHER in said) == (deep > DEPTH)
    assert (fails(verifier, changed) == f"chain: {said}") == (deep > DEPTH)


def is_entry(line: bytes) -> bool:
    try:
        Entry.read(line)
    except ValueError:
        return False
    return True


class Written(Entry, frozen=True):
    """An entry in a transcript as somebody wrote it."""

    line: bytes = b""

    def canonical(self) -> bytes:
        return self.line


@pytest.mark.parametrize("path", ["transcript.jsonl", "heads.txt"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "does not end with a line"),
        (lambda lines: lines + b"\n", "entry [0-9]+ cannot be read|heads.txt does not have one line"),
        (lambda lines: lines + b" ", "does not end with a line"),
    ],
)
def test_a_list_whose_lines_have_not_each_an_end_is_none(
    path: str, change: Callable[[bytes], bytes], said: str, verifier: Scripts
) -> None:
    content = tampered((VECTORS / "good" / "ssh.pbem.zip").read_bytes(), path, change)
    with pytest.raises(bundle.NotABundle):
        bundle.read(content)
    last = verifier.evaluate(RUN, _packed(content))[-1]
    assert last["holds"] is False
    assert re.search(said, last["said"])


@pytest.mark.parametrize(("old", "new"), [("turn = 2", "turn = 1"), ("seat = 2", "seat = 3"), (None, "")])
def test_the_record_must_say_who_left_the_game_and_when(old: str | None, new: str, verifier: Scripts) -> None:
    found = bundle.read((VECTORS / "good" / "one-leaves.pbem.zip").read_bytes())
    record = found.papers["records/game-1.pbem.toml"].decode()
    before, left, after = record.partition("[[resigned]]\nseat = 2\nturn = 2\n\n")
    other = before + (left.replace(old, new) if old else "") + after
    said = fails(verifier, rewritten(found, "records/game-1.pbem.toml", other.encode()))
    assert said == "games: records/game-1.pbem.toml: not the resignations of the transcript"


# Ed25519: what is judged before the browser is asked, whatever that may answer

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
YS = (*sorted(ed25519_points.SMALL), 2, 3, P - 2, P - 3, *range(P, 2**255))


def points() -> Iterator[bytes]:
    for y in YS:
        yield y.to_bytes(32, "little")
        yield (y | 1 << 255).to_bytes(32, "little")


@pytest.fixture
def credulous(verifier: Scripts) -> Scripts:
    """A browser for which every signature holds."""
    verifier.evaluate("() => { crypto.subtle.verify = async () => true; }")
    return verifier


def test_keys_under_which_nothing_is_proved_are_refused_alike(credulous: Scripts) -> None:
    found = bundle.read((VECTORS / "good" / "claim.pbem.zip").read_bytes())
    verdicts = set()
    for key in (*points(), b"", bytes(31), bytes([2, *bytes(32)])):
        other = signed_again(with_entry(found, 0, lambda body: body.update(server_key=key.hex())))  # noqa: B023
        said = fails(credulous, other)
        assert (said is None) == ed25519_points.is_sound(key), (key, said)
        assert said is None or said == f"server: the key {key.hex()} is none under which a signature proves anything"
        verdicts.add(said is None)
    assert verdicts == {True, False}


def test_signatures_that_are_written_otherwise_are_refused_alike(credulous: Scripts) -> None:
    found = bundle.read((VECTORS / "good" / "claim.pbem.zip").read_bytes())
    made = found.signatures[1]
    numbers = (0, 1, ORDER - 1, ORDER, ORDER + 1, ORDER + int.from_bytes(made[32:], "little"), 2**256 - 1)
    cases = [point + made[32:] for point in points()] + [made[:32] + one.to_bytes(32, "little") for one in numbers]
    verdicts = set()
    for signature in (made, *cases, made[:63], made + b"\0", b""):
        said = fails(credulous, replace(found, signatures=(found.signatures[0], signature, *found.signatures[2:])))
        assert (said is None) == ed25519_points.is_sound_signature(signature), (signature, said)
        assert said is None or said == "server: entry 2: the server's signature does not hold"
        verdicts.add(said is None)
    assert verdicts == {True, False}


# Forged bundles


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_what_is_changed_without_the_servers_key_is_found_by_both(path: Path, verifier: Scripts) -> None:
    found = revealed(bundle.read(path.read_bytes()))
    for way in (paper_changed, paper_dropped, papers_swapped, head_changed, signature_changed):
        other = way(found, Random(path.name))
        assert (fails(verifier, other) is None) == checked(other)[-1].holds, way


def head_changed(found: Bundle, dice: Random) -> Bundle:
    """One entry says something else, and the rest follows from what it said before."""
    at = dice.randrange(len(found.entries))
    return with_entry(found, at, lambda body: body.update(more="so"))


def signature_changed(found: Bundle, dice: Random) -> Bundle:
    at = dice.randrange(len(found.signatures))
    made = bytearray(found.signatures[at])
    made[dice.randrange(64)] ^= 1 << dice.randrange(8)
    return replace(found, signatures=(*found.signatures[:at], bytes(made), *found.signatures[at + 1 :]))


def test_the_page_accuses_nobody_whom_pbem_verify_does_not(verifier: Scripts) -> None:
    """With the server's key much can be forged that the page does not look at; what it does find is so."""
    accused = 0
    for path in GOOD:
        found = bundle.read(path.read_bytes())
        for seed in range(3):
            try:
                other = revealed(bundle.read(mutated(found, Random(f"{path.name} {seed}"))))
            except (ValueError, KeyError, TypeError, AttributeError):  # what no page can be made of
                continue
            if fails(verifier, other) is not None:
                accused += 1
                assert not checked(other)[-1].holds, (path.name, seed)
    assert accused > len(GOOD)


@pytest.mark.parametrize(("name", "version"), [("ssh", 3), ("ssh", 4), ("ssh", None), ("sealed", 4), ("sealed", "3")])
def test_a_version_that_the_page_does_not_know_is_refused(verifier: Scripts, name: str, version: object) -> None:
    found = bundle.read((VECTORS / "good" / f"{name}.pbem.zip").read_bytes())
    forged = signed_again(with_entry(found, 0, lambda body: body.update(bundle=version)))
    assert sentences.WHICH_THIS_PAGE_CANNOT_READ in str(fails(verifier, forged))
    assert not checked(forged)[-1].holds


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


ASIDE = "press m1\nIn setup m2 game 5 I was lucky.\nend\n"
WORDS: dict[str, Callable[[str], str]] = {
    "another turn first": lambda form: f"{form.replace('turn 1', 'turn 2')}\n{form}",
    "other words first": lambda form: ASIDE + form,
    "commas": lambda form: form.replace("orders m1 turn 1", "orders m1, turn 1:"),
    "a soft hyphen": lambda form: form.replace("orders", "or\u00adders"),
}
LETTERS: dict[str, Callable[[str], str]] = {
    "below a quote": lambda signed: f"{quoted(signed)}\n{signed}",
    "below half a quote": lambda signed: f"> -----BEGIN SSH SIGNATURE-----\n> abc\n\n{signed}",
}


@pytest.mark.parametrize("way", [*WORDS, *LETTERS, "beside HTML"])
def test_the_page_accuses_no_honest_server_whatever_else_a_letter_holds(
    verifier: Scripts, tmp_path: Path, way: str
) -> None:
    referee = Referee(tmp_path)
    ann, bob = referee.begun("settle: 0")
    signed = referee.signed(ann, WORDS.get(way, str)(ann.filled("orders", "Gx3")))
    raw = referee.raw(ann, LETTERS.get(way, str)(signed))
    if way == "beside HTML":
        html = f"<p>You wrote:<pre>{referee.signed(bob, 'status m1')}</pre>".encode()
        head, _, _ = raw.partition(b"Content-Type:")
        raw = head + several(
            "multipart/alternative", part(html, kind="text/html; charset=utf-8"), part(signed.encode())
        )
    referee.deliver(raw, ann.address)
    referee.send(bob, bob.filled("orders", "Gx3"))
    assert referee.match().turn > 1
    referee.send(bob, "resign m1 match\n")
    found = proof(referee, bob)
    assert checked(found)[-1].holds
    assert fails(verifier, found) is None
    referee.close()


FOUND = {"chain", "forced", "foreign", "hidden", "key", "letter", "missing", "newcomer", "record", "server", "setup",
         "sealed-answer", "sealed-letter", "sealed-reveal", "sealed-step", "stays", "terms", "trace", "version",
         "version-1", "version-3", "winner"}  # fmt: skip
"""The lies that the page finds; the others want the rules of the game, the clock, or a letter's date to be known."""


@pytest.mark.parametrize("path", sorted((VECTORS / "bad").iterdir()), ids=name)
def test_lies_are_found_as_far_as_a_page_can(path: Path, verifier: Scripts) -> None:
    said = verifier.evaluate(RUN, _packed(path.read_bytes()))
    assert (said[-1]["holds"] is False) == (name(path) in FOUND | {"cut"}), said[-1]


# Sealed matches


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_the_page_of_a_sealed_match_without_its_letters_is_proved(tmp_path: Path, game: str) -> None:
    referee, verifier = Referee(tmp_path), Scripts(*checking(game, sealed=True))
    options = "fleet: cost:3\n" if game == "spaceships" else "max_turns: 6\n"
    play(referee, agreed(referee, "ann", "bob", game=game, options=options))
    (match,) = Public("play.example", referee.database, referee.vault).finished()
    assert match.bundle is not None
    assert any(path.startswith("steps/") for path in match.bundle.papers) == (game != "shoot-em-up")
    run = RUN.replace("async (packed)", "async ([packed, forms])").replace("run(packed)", "run(packed, forms)")
    said = verifier.evaluate(run, [_packed(bundle.write(match.bundle)), dict(match.forms)])
    assert [one for one in said if one["holds"] is not True] == []
    assert any(sentences.LETTERS_SIGNED_WITH_THESE_KEYS in one["said"] for one in said)
    replay(match.bundle, forms=match.forms)
    referee.close()
