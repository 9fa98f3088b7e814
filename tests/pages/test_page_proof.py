"""The page's verifier, without a browser: of bundles true and forged it says nothing that `pbem verify` does not."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from attackers import droppers, pretexts
from attackers.droppers import Dropper
from attackers.forgers import checked, tampered, with_entry
from in_a_box.referee import Referee
from msgspec.structs import replace
from page_scripts.javascript import PAGES, Scripts
from page_scripts.verifying import PUBLIC, RUN, checks, fails
from vectors.matches import VECTORS, good
from world.mutations import mutated, paper_changed, paper_dropped, papers_swapped, rewritten, signed_again

from pbem.desk.public import Public
from pbem.json_object import DEPTH
from pbem.match.transcript import Entry, canonical
from pbem.pages.match_page import checking, packed, revealed
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.proof.bundle import Bundle

LETTER = "letters/game-1-turn-1-seat-1.eml"
GOOD = sorted((VECTORS / "good").iterdir())


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


def test_a_seat_that_changed_hands(referee: Referee, verifier: Scripts) -> None:
    """On a public page the forms of the newcomer count by the newcomer's keys, those before by the other's."""
    ann, bob = referee.begun("settle: 0")
    referee.turn((ann, "Ry3 Ry4"), (bob, "Ov1"))
    carl = referee.registered("carl")
    for person in (bob, ann):
        referee.send(person, "substitute m1 carl for bob\n")
    referee.send(carl, carl.form("substitute"))
    referee.turn((ann, "Rz3"), (carl, "Ov1"))
    referee.send(ann, "resign m1 match\n")
    (match,) = Public("play.example", referee.database, referee.vault).finished()
    assert match.bundle is not None
    assert {"game-1-turn-1-seat-2", "game-1-turn-2-seat-2"} <= match.forms.keys()
    said = verifier.evaluate(PUBLIC, [packed(bundle.write(match.bundle)), dict(match.forms)])
    assert [one for one in said if one["holds"] is not True] == []
    assert any("player carl" in one["said"] for one in said)


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
        with pytest.raises(ValueError):  # noqa: PT011 - in whatever words
            Entry.read(line)
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


@pytest.mark.parametrize(("old", "new"), [("turn = 2", "turn = 1"), ("seat = 2", "seat = 3"), (None, "")])
def test_the_record_must_say_who_left_the_game_and_when(old: str | None, new: str, verifier: Scripts) -> None:
    found = good("one-leaves")
    record = found.papers["records/game-1.pbem.toml"].decode()
    before, left, after = record.partition("[[left]]\nseat = 2\nturn = 2\n\n")
    other = before + (left.replace(old, new) if old else "") + after
    said = fails(verifier, rewritten(found, "records/game-1.pbem.toml", other.encode()))
    assert said == "games: records/game-1.pbem.toml: not those who left, by the transcript"


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


FOUND = {"chain", "forced", "foreign", "hidden", "key", "letter", "missing", "newcomer", "record", "server", "setup",
         "sealed-answer", "sealed-letter", "sealed-resigned", "sealed-reveal", "sealed-scores", "sealed-step",
         "left-another", "left-stays", "shared",
         "stays", "terms", "third", "trace", "winner"}  # fmt: skip
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


@pytest.mark.parametrize("change", [{"winners": [2]}, {"scores": [4, 0]}])
@pytest.mark.parametrize("name", ["ssh", "continued", "sealed", "sealed-silent", "sealed-shoot-em-up", "draw"])
def test_the_match_must_end_as_its_games_say(verifier: Scripts, name: str, change: dict[str, object]) -> None:
    found = good(name)
    forged = signed_again(with_entry(found, -1, lambda body: body.update(change)))
    assert not checked(forged)[-1].holds
    assert (fails(verifier, forged) or "").endswith("winner and scores of the match do not follow from its games")
