"""The page's verifier, without a browser: of bundles true and forged it says nothing that `pbem verify` does not."""

from __future__ import annotations

import quopri
import re
from datetime import timedelta
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from attackers import droppers, pretexts
from attackers.droppers import Dropper
from attackers.forgers import checked, letter_by, proof, signed_by, tampered, with_entry
from in_a_box.referee import Referee, form_in
from in_a_box.sealed_seats import agreed, play
from page_scripts.javascript import PAGES, Scripts
from signing.dresses import beside, part, several
from vectors.matches import VECTORS, good
from world.mutations import mutated, paper_changed, paper_dropped, papers_swapped, rewritten, signed_again

from pbem.desk.public import Public, signed_form
from pbem.identity import ed25519_points
from pbem.json_object import DEPTH
from pbem.match.changed import replace
from pbem.match.transcript import Entry, canonical
from pbem.pages.match_page import checking, packed, replay, revealed
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.proof.bundle import Bundle

LETTER = "letters/game-1-turn-1-seat-1.eml"
GOOD = sorted((VECTORS / "good").iterdir())
RUN = """async (packed) => {
    const found = [];
    for await (const check of VERIFY.run(packed)) found.push(check);
    return found;
}"""

PUBLIC = RUN.replace("async (packed)", "async ([packed, forms])").replace("run(packed)", "run(packed, forms)")
"""The same of a bundle without letters, and of their signed forms."""


@pytest.fixture
def verifier() -> Scripts:
    return Scripts(*checking("spaceships", sealed=True))


def checks(verifier: Scripts, found: Bundle) -> list[dict[str, Any]]:
    """The page's checks of the bundle in it."""
    terms = found.entries[0].body.get("terms", {})
    if terms.get("sealed") and terms["game"] != "spaceships":
        verifier = Scripts(*checking(terms["game"], sealed=True))
    said: list[dict[str, Any]] = verifier.evaluate(RUN, packed(bundle.write(found)))
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


def test_the_secret_of_reply_addresses_is_checked(verifier: Scripts) -> None:
    found, path = good("one-letter"), "evidence/replies-2.txt"
    paper = found.papers[path]
    missing = replace(found, papers={name: one for name, one in found.papers.items() if name != path})
    assert (fails(verifier, missing) or "").endswith(f"{path} is missing")
    for other in (paper.replace(b"salt ", b"salt 0"), paper + b"more\n", paper.replace(b"m1", b"m2")):
        changed = replace(found, papers={**found.papers, path: other})
        assert (fails(verifier, changed) or "").endswith(f"{path} is not what the transcript names")
        anew = rewritten(found, path, other)
        assert f"entry 2: {path}" in (fails(verifier, anew) or "")
        assert not all(check.holds for check in checked(anew))


def test_what_was_set_aside_may_be_left_out_while_a_game_runs(verifier: Scripts) -> None:
    """The list of it may be there all the same, as may any paper that has its hash."""
    found = good("one-letter")
    shown = ("evidence/agreed", "evidence/mailbox-1", "letters/agreed", "traces/game-1-turn", "openings")
    papers = {name: paper for name, paper in found.papers.items() if name.startswith(shown)}
    running = replace(found, entries=found.entries[:4], signatures=found.signatures[:4], papers=papers)
    assert checked(running)[-1].holds
    assert fails(verifier, running) is None


def test_a_page_of_a_match_that_runs_keeps_what_belongs_to_games_that_are_over() -> None:
    found = good("one-letter")
    begun = replace(found.entries[1], seq=9, body={**found.entries[1].body, "game": 2})
    running = replace(
        found, entries=(*found.entries[:7], begun), papers={**found.papers, "evidence/replies-9.txt": b""}
    )
    assert {path for path in revealed(running).papers if "replies" in path} == {
        f"evidence/replies-{what}.txt" for what in ("game-1", 2, 3, 4)
    }


@pytest.mark.parametrize("entries", [1, 2])
def test_a_page_of_a_keyless_match_that_runs_has_the_secret_of_the_agreement(verifier: Scripts, entries: int) -> None:
    found = good("by-words-alone")
    of_the_agreement = re.compile(r"[a-z]+/(agreed|mailbox-1-|replies-game-0)")
    papers = {path: paper for path, paper in found.papers.items() if of_the_agreement.match(path)}
    running = replace(found, entries=found.entries[:entries], signatures=found.signatures[:entries], papers=papers)
    assert checked(running)[-1].holds
    shown = revealed(running)
    assert "evidence/replies-game-0.txt" in shown.papers
    assert fails(verifier, shown) is None


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
    found = good("ssh")
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
    found = good("ssh")
    line = found.entries[2].canonical()[:-1] + b',"x":' + b"[" * (deep - 1) + b"]" * (deep - 1) + b"}"
    changed = replace(found, entries=(*found.entries[:2], Written(1, "", "", "", {}, line), *found.entries[3:]))
    try:
        bundle.read(bundle.write(changed))
        said = ""
    except bundle.NotABundle as error:
        said = str(error)
    assert ("in one another" in said) == (deep > DEPTH)
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
    last = verifier.evaluate(RUN, packed(content))[-1]
    assert last["holds"] is False
    assert re.search(said, last["said"])


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("transcript.jsonl", b'"turn":2', b'"turn":3', r"chain: entry \d+ does not follow the entry before it"),
        ("heads.txt", b"\n2 ", b"\n3 ", "server: heads.txt: entry 2: not the head"),
        ("commitments.sha256", b"  openings", b" *openings", "papers: commitments.sha256 is not the list"),
    ],
)
def test_what_is_changed_in_a_list_is_named(path: str, old: bytes, new: bytes, said: str, verifier: Scripts) -> None:
    content = (VECTORS / "good" / "ssh.pbem.zip").read_bytes()
    last = verifier.evaluate(RUN, packed(tampered(content, path, lambda lines: lines.replace(old, new, 1))))[-1]
    assert last["holds"] is False
    assert re.match(said, last["said"])


def another_place(found: Bundle) -> Bundle:
    """A letter of another turn, which its player did sign."""
    return rewritten(found, LETTER, found.papers[LETTER.replace("turn-1", "turn-2")])


def others_keys(body: dict[str, Any]) -> None:
    body["players"]["1"]["keys"] = body["players"]["2"]["keys"]


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (another_place, f"players: {LETTER} is signed, but for another place"),
        (
            lambda found: signed_again(with_entry(found, 0, others_keys)),
            "players: letters/agreed-seat-1.eml is signed with a key that is not the player's",
        ),
        (
            lambda found: signed_again(with_entry(found, 0, lambda body: body["terms"].update(victory="last game"))),
            "chain: entry 1: the hash of the agreed rules is not that of the terms",
        ),
    ],
    ids=["place", "key", "rules"],
)
def test_a_server_that_lies_is_found_out(forge: Callable[[Bundle], Bundle], said: str, verifier: Scripts) -> None:
    found = good("ssh")
    assert fails(verifier, forge(found)) == said


def quoted_printable(body: bytes) -> bytes:
    return b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + quopri.encodestring(body)


def with_its_signature(body: bytes) -> bytes:
    text, mark, armor = body.replace(b"\r\n", b"\n").partition(b"-----BEGIN")
    return beside(part(text, "orders.txt"), part(mark + armor, "orders.txt.sig", "application/octet-stream"))


@pytest.mark.parametrize(
    ("shape", "left_open"),
    [
        (quoted_printable, False),
        (part, False),
        (with_its_signature, False),
        (lambda body: b"\r\n" + body.replace(b"rev 1", b"rev 2"), True),
    ],
    ids=["quoted-printable", "base64", "attached", "of other words"],
)
def test_letters_are_judged_in_the_shapes_that_mail_programs_give_them(
    shape: Callable[[bytes], bytes], left_open: bool, verifier: Scripts
) -> None:
    """A text that does not fit its signature may be rewrapped, which only `pbem verify` undoes: it is left open."""
    found = good("ssh")
    head, _, body = found.papers[LETTER].partition(b"Content-Type:")
    said = checks(verifier, rewritten(found, LETTER, head + shape(body.partition(b"\r\n\r\n")[2])))
    assert False not in [one["holds"] for one in said]
    assert [LETTER in one["said"] for one in said if one["holds"] is None] == [True] * left_open


@pytest.mark.parametrize(("old", "new"), [("turn = 2", "turn = 1"), ("seat = 2", "seat = 3"), (None, "")])
def test_the_record_must_say_who_left_the_game_and_when(old: str | None, new: str, verifier: Scripts) -> None:
    found = good("one-leaves")
    record = found.papers["records/game-1.pbem.toml"].decode()
    before, left, after = record.partition("[[left]]\nseat = 2\nturn = 2\n\n")
    other = before + (left.replace(old, new) if old else "") + after
    said = fails(verifier, rewritten(found, "records/game-1.pbem.toml", other.encode()))
    assert said == "games: records/game-1.pbem.toml: not those who left, by the transcript"


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
    found = good("claim")
    verdicts = set()
    for key in (*points(), b"", bytes(31), bytes([2, *bytes(32)])):
        other = signed_again(with_entry(found, 0, lambda body: body.update(server_key=key.hex())))  # noqa: B023
        said = fails(credulous, other)
        assert (said is None) == ed25519_points.is_sound(key), (key, said)
        assert said is None or said == f"server: the key {key.hex()} is none under which a signature proves anything"
        verdicts.add(said is None)
    assert verdicts == {True, False}


def test_signatures_that_are_written_otherwise_are_refused_alike(credulous: Scripts) -> None:
    found = good("claim")
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


@pytest.mark.parametrize(("name", "version"), [("ssh", 2), ("ssh", None), ("sealed", 3), ("sealed", "1")])
def test_a_version_that_the_page_does_not_know_is_refused(verifier: Scripts, name: str, version: object) -> None:
    found = good(name)
    forged = signed_again(with_entry(found, 0, lambda body: body.update(bundle=version)))
    assert "which this page cannot read" in str(fails(verifier, forged))
    assert not checked(forged)[-1].holds


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


LONG = 60_000
"""As much of one sign in a line as a letter may have: nobody waits for what takes the square of it."""
SECONDS = 3
ASIDE = "press m1\nIn setup m2 game 5 I was lucky.\nend\n"
WORDS: dict[str, Callable[[str], str]] = {
    "another turn first": lambda form: f"{form.replace('turn 3', 'turn 2')}\n{form}",
    "other words first": lambda form: ASIDE + form,
    "commas": lambda form: form.replace("orders m1 turn 3", "orders m1, turn 3:"),
    "a soft hyphen": lambda form: form.replace("orders", "or\u00adders"),
    "a quote in the command": lambda form: form.replace("orders m1", "orders m1\n > as you wrote\n", 1),
    "a long run of dots": lambda form: f"# {'.' * LONG}x\n{form}",
    "a long run of blanks": lambda form: f"# x{' ' * LONG}x\n{form}",
    "no line end at last": lambda form: form.replace("turn 3", "turn 3 ", 1).rstrip("\n"),
    "two line ends at last": lambda form: f"{form}\n",
}
LETTERS: dict[str, Callable[[str], str]] = {
    "below a quote": lambda signed: f"{quoted(signed)}\n{signed}",
    "below half a quote": lambda signed: f"> -----BEGIN SSH SIGNATURE-----\n> abc\n\n{signed}",
}


BLANKS = f"x{' ' * LONG}x\r\n".encode()
FILES = {
    "beside damaged base64": b"base64\r\n\r\nAAAAA\r\n",
    "beside base64 that goes on behind its end": b"base64\r\n\r\nAA==AAAA\r\n",
    "beside many blanks": b"quoted-printable\r\n\r\n" + BLANKS,
}


def in_one_line(signed: str) -> str:
    _, mark, armor = signed.partition("-----BEGIN")
    return " ".join(f"{mark}{armor}".split("\n"))


def beside_it(*head: str, above: str = "") -> Callable[[str, str], bytes]:
    """A part of this type, with these headers, that holds the signature of somebody else."""
    fields = "".join(f"{line}\r\n" for line in head)
    return lambda signed, other: several(
        "multipart/mixed", f"{fields}\r\n{above}{other}".encode(), part(signed.encode())
    )


STRANGERS: dict[str, Callable[[str, str], bytes]] = {
    "in a quoted line": lambda signed, other: part(f"> {in_one_line(other)}\n\n{signed}".encode()),
    "in a nameless attachment": beside_it("Content-Type: text/plain", "Content-Disposition: attachment"),
    "in a vcard": beside_it("Content-Type: text/vcard; x-name=ann.vcf"),
    "in a key file": beside_it(
        "Content-Type: application/pgp-keys; name=key.asc", above="-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    ),
    "behind a line that begins like the boundary": beside_it("Content-Type: text/html", "", "<p>", "--boring", ""),
    "in a letter within the letter": beside_it("Content-Type: message/rfc822; x-name=a.eml", "", "Subject: hello"),
}
"""What else a letter may hold that somebody else signed, and `pbem` does not take for a signature of the letter."""


@pytest.mark.parametrize(
    "way", [*WORDS, *LETTERS, *FILES, *STRANGERS, *(f"own, {way}" for way in STRANGERS), "beside HTML"]
)
def test_the_page_accuses_no_honest_server_whatever_else_a_letter_holds(verifier: Scripts, way: str) -> None:
    """It stands in the last turn, whose head no letter cites."""
    found, path = good("ssh"), "letters/game-1-turn-3-seat-1.eml"
    form = form_in(found.papers[path].decode().replace("\r\n", "\n"), "orders")
    raw = letter_by("ann", WORDS.get(way, str)(form))
    head, _, signed = raw.partition(b"\r\n\r\n")
    head += b"\r\n"
    if way in LETTERS:
        raw = head + b"\r\n" + LETTERS[way](signed.decode().replace("\r\n", "\n")).replace("\n", "\r\n").encode()
    if way in FILES:
        file = b'Content-Type: application/octet-stream; name="a.bin"\r\nContent-Transfer-Encoding: ' + FILES[way]
        raw = head + several("multipart/mixed", part(signed), file)
    own, way = way.startswith("own, "), way.removeprefix("own, ")
    strange = signed_by("ann", "orders m1 turn 9\nend\n") if own else signed_by("bob", "status m1\n")
    if way in STRANGERS:
        raw = head + STRANGERS[way](signed.decode(), strange)
    if way == "beside HTML":
        html = f"<p>You wrote:<pre>{strange}</pre>".encode()
        raw = head + several("multipart/alternative", part(html, kind="text/html; charset=utf-8"), part(signed))
    told = rewritten(found, path, raw)
    assert checked(told)[-1].holds
    began = monotonic()
    assert fails(verifier, told) is None
    assert monotonic() - began < SECONDS
    if way in STRANGERS or way.endswith(" at last"):
        assert published(verifier, told) == [], "nor where the signed form alone is shown"


def published(verifier: Scripts, found: Bundle) -> list[str]:
    """The checks that fail or stay open on a public page, which has signed forms in place of letters."""
    forms, players = {}, found.entries[0].body["players"]
    for path, letter in found.papers.items():
        if path.startswith("letters/game-"):
            name = path.removeprefix("letters/").removesuffix(".eml")
            forms[name] = signed_form(letter, "play.example", players[name[-1]]["keys"])
    assert None not in forms.values()
    papers = {path: paper for path, paper in found.papers.items() if not path.startswith("letters/")}
    said = verifier.evaluate(PUBLIC, [packed(bundle.write(replace(found, papers=papers))), forms])
    return [one["said"] for one in said if one["holds"] is not True]


def test_forms_whose_signature_the_page_cannot_check_are_not_published() -> None:
    found = good("ssh-rsa")
    agreement = found.entries[0].body
    for seat, signs in (("1", False), ("2", True)):
        letter = found.papers[f"letters/game-1-turn-1-seat-{seat}.eml"]
        assert (signed_form(letter, agreement["server"], agreement["players"][seat]["keys"]) is not None) == signs


FOUND = {"chain", "forced", "foreign", "hidden", "key", "letter", "missing", "newcomer", "record", "server", "setup",
         "sealed-answer", "sealed-letter", "sealed-resigned", "sealed-reveal", "sealed-scores", "sealed-step",
         "left-another", "left-stays", "shared",
         "stays", "terms", "third", "trace", "version", "version-1", "version-3", "winner"}  # fmt: skip
"""The lies that the page finds; the others want the rules of the game, the clock, or a letter's date to be known."""


@pytest.mark.parametrize("path", sorted((VECTORS / "bad").iterdir()), ids=name)
def test_lies_are_found_as_far_as_a_page_can(path: Path, verifier: Scripts) -> None:
    said = verifier.evaluate(RUN, packed(path.read_bytes()))
    assert (said[-1]["holds"] is False) == (name(path) in FOUND | {"cut"}), said[-1]


@pytest.mark.parametrize(
    ("lie", "way"),
    [
        (pretexts.orders_refused_at_the_end, "in advance"),
        (pretexts.orders_missed_at_the_end, "in advance"),
        (pretexts.orders_replaced_by_refused_ones, "in its turn"),
        (pretexts.default_refused, "in its turn"),
        (pretexts.default_refused_at_the_end, "in its turn"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_nothing_is_said_to_be_unused_of_a_turn_for_which_it_did_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verifier: Scripts, lie: Callable[[Dropper], bytes], way: str
) -> None:
    referee = Referee(tmp_path)
    content = lie(Dropper(referee, monkeypatch, droppers.GAMES["spaceships"], way=way))
    (*_, last) = verifier.evaluate(RUN, packed(content))
    assert last["holds"] is False
    assert "-unused-seat-2-rev-" in last["said"]
    referee.close()


# Sealed matches


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_the_page_of_a_sealed_match_without_its_letters_is_proved(tmp_path: Path, game: str) -> None:
    referee, verifier = Referee(tmp_path), Scripts(*checking(game, sealed=True))
    options = "fleet: cost:3\n" if game == "spaceships" else "max_turns: 6\n"
    play(referee, agreed(referee, "ann", "bob", game=game, options=options))
    (match,) = Public("play.example", referee.database, referee.vault).finished()
    assert match.bundle is not None
    assert any(path.startswith("steps/") for path in match.bundle.papers) == (game != "shoot-em-up")
    said = verifier.evaluate(PUBLIC, [packed(bundle.write(match.bundle)), dict(match.forms)])
    assert [one for one in said if one["holds"] is not True] == []
    assert any("letters signed with these keys" in one["said"] for one in said)
    replay(match.bundle, forms=match.forms)
    referee.close()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"\nseat 1\n", b"\nseat 2\n", "steps: game 1: turn 1: a paper of seat 1 does not match its hash"),
        (b"\nto 5", b"\nto 6", "steps: game 1: turn 1: a paper of seat 1 does not cite the paper before it"),
        (b"Rv1 miss", b"Rv1 hit", "steps: entry 8: reports/game-1-turn-1.json does not follow from the steps"),
        (b"Rv1 miss", b"Rv1 lost", "steps: entry 6: this is no step of such a game"),
    ],
)
def test_a_paper_of_a_step_is_read_and_not_only_hashed(verifier: Scripts, old: bytes, new: bytes, said: str) -> None:
    found = good("sealed")
    path = "steps/game-1-turn-1-seat-1-answers.txt"
    forged = rewritten(found, path, found.papers[path].replace(old, new, 1))
    assert fails(verifier, forged) == said
    assert not checked(forged)[-1].holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"paper": "00" * 32}, "turn 1: seat 1 opened something other than what it committed to"),
        ({"turn": 7}, "turn 7: the step commit of seat 1 was not due"),
    ],
)
def test_a_step_opens_what_was_committed_to_when_it_is_due(
    verifier: Scripts, change: dict[str, object], said: str
) -> None:
    found = good("sealed")
    forged = signed_again(with_entry(found, 2, lambda body: body.update(change)))
    assert fails(verifier, forged) == f"steps: game 1: {said}"
    assert not checked(forged)[-1].holds


@pytest.mark.parametrize("words", ["resign m1 match\n", "annul m1 offer\n"])
def test_a_sealed_match_that_ends_in_a_setup_after_a_game_that_was_not_revealed(tmp_path: Path, words: str) -> None:
    """The setups that were withdrawn are listed by the number of the game that did not begin."""
    referee = Referee(tmp_path)
    ann, bob = seats = agreed(referee, "ann", "bob", options="fleet: cost:3\nkind: scored\ngames: 2\n")
    play(referee, seats, 6)
    referee.send(ann.box, "resign m1 game 1\n")
    bob.write(referee)
    referee.wait(timedelta(days=30))
    referee.send(ann.box, words)
    if words.startswith("annul"):
        referee.send(bob.box, "annul m1 accept\n")
    assert referee.match().phase == "closed"
    found = proof(referee, bob.box)
    assert "traces/game-2-end.txt" in found.papers
    assert checked(found)[-1].holds
    scripts = Scripts(*checking("spaceships", sealed=True))
    assert fails(scripts, found) is None
    ended = scripts.evaluate(OUTCOME, packed(bundle.write(found)))
    assert (ended["winners"], ended["reason"]) == (
        (["bob"], "resignation") if words.startswith("resign") else ([], "annulled")
    )
    referee.close()


OUTCOME = "async (packed) => BUNDLE.outcome(BUNDLE.unzip(await BUNDLE.unpacked(packed)))"
GAMES = "async (packed) => BUNDLE.games(BUNDLE.unzip(await BUNDLE.unpacked(packed))).map((game) => game.number)"


def test_a_game_after_one_that_was_not_revealed_is_drawn_and_checked(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    options = "max_turns: 2\nkind: scored\ngames: 2\n"
    ann, bob = seats = agreed(referee, "ann", "bob", game="dueling-masters", options=options)
    play(referee, seats, 4)
    referee.send(ann.box, "resign m1 game 1\n")
    bob.write(referee)
    referee.wait(timedelta(days=11))
    assert referee.match().game == 2
    play(referee, seats)
    found, scripts = proof(referee, bob.box), Scripts(*checking("dueling-masters", sealed=True))
    assert [path for path in found.papers if path.startswith("records/")] == ["records/game-2.pbem.toml"]
    assert checked(found)[-1].holds
    assert fails(scripts, found) is None
    assert scripts.evaluate(GAMES, packed(bundle.write(found))) == [2]
    record = "records/game-2.pbem.toml"
    other = found.papers[record].replace(b"winner = ", b"winner = 7")
    assert (
        fails(scripts, rewritten(found, record, other))
        == f"games: {record}: its result is not that of the entry `ended`"
    )
    referee.close()


@pytest.mark.parametrize("change", [{"winners": [2]}, {"scores": [4, 0]}])
@pytest.mark.parametrize("name", ["ssh", "continued", "sealed", "sealed-silent", "sealed-shoot-em-up", "draw"])
def test_the_match_must_end_as_its_games_say(verifier: Scripts, name: str, change: dict[str, object]) -> None:
    found = good(name)
    forged = signed_again(with_entry(found, -1, lambda body: body.update(change)))
    assert not checked(forged)[-1].holds
    assert (fails(verifier, forged) or "").endswith("winner and scores of the match do not follow from its games")


@pytest.mark.parametrize(
    ("name", "old", "new"), [("sealed-shoot-em-up", "MSF", "SSS"), ("sealed-dueling-masters", "D9-D6", "D9-D7")]
)
def test_the_orders_of_a_sealed_game_are_those_that_were_committed_to(
    verifier: Scripts, name: str, old: str, new: str
) -> None:
    found = good(name)
    path = "records/game-1.pbem.toml"
    before, head, turns = found.papers[path].decode().partition("[[turn]]")
    assert old in turns
    forged = rewritten(found, path, f"{before}{head}{turns.replace(old, new, 1)}".encode())
    said = fails(verifier, forged) or ""
    assert re.fullmatch(f"games: {path}: the orders of seat . in turn [0-9]+ are not those of their opening", said)
    assert not checked(forged)[-1].holds


def test_no_line_of_a_step_is_read_in_more_ways_than_one() -> None:
    """Whoever writes steps into a link or a bundle would halt the page of whoever opens it."""
    for game in ("dueling-masters", "spaceships", "shoot-em-up"):
        scripts = Scripts(*checking(game, sealed=True))
        began = monotonic()
        assert not scripts.evaluate("(line) => SEALED.line.test(line)", "check " + "B1 " * 26 + "!")
        assert monotonic() - began < SECONDS
