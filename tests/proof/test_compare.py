"""Letters that players kept, against bundles: honest ones agree, and a server that told two stories is convicted."""

from __future__ import annotations

import email
import email.policy
import re
import textwrap
from dataclasses import dataclass
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import against
from in_a_box.referee import Referee, attachment, body
from world import mutations

from pbem.proof import bundle
from pbem.proof.kept_letters import kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.proof.compare.finding import JudgedLetter
    from pbem.proof.prove import Against

OPTIONS = "fleet: cost:3\nsettle: 0\nkind: continued\ngames: 2"
ANN = "MD Rv1 Rv2 Rv3"
ANN_2 = "MD1 Rv1 Rv2 Rv3\nMD2 Gv1 Gv2 Gv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


@dataclass
class Played:
    """A match that was played: the bundles of its games, and each player's letters as they were mailed."""

    bundles: list[bytes]
    letters: dict[str, list[bytes]]


def played(
    folder: Path, seed: str = "die", *, first: str = "Yx1", second: str = "Rv1", dropped: bool = False
) -> Played:
    folder.mkdir()
    referee = Referee(folder, seed)
    ann, bob = referee.agreed(OPTIONS)
    referee.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3"))
    referee.send(ann, ann.filled("setup", ANN, rev=2))
    referee.send(bob, bob.filled("setup", BOB))
    referee.send(ann, ann.filled("orders", first))
    if not dropped:
        referee.send(ann, ann.filled("orders", f"final\n{second}", rev=2))
    referee.send(bob, bob.filled("orders", "final\n"))
    for cell in ("Rv3", "Bz5", "Rv1"):
        if "turn" in ann.form("orders") and not any("game 1, the end" in str(one["Subject"]) for one in ann.letters):
            referee.turn((ann, cell), (bob, ""))
    referee.send(ann, "report m1 all\ntranscript m1\nstatus m1\n", sign=False)
    referee.send(bob, "transcript m1\n", sign=False)
    referee.send(ann, ann.filled("setup", ANN_2))
    referee.send(bob, bob.filled("setup", BOB))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(bob, "transcript m1\nstatus m1\n", sign=False)
    for cell in ("Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    bundles = [attachment(ann.find(f"game {game}, the end"), ".zip") for game in (1, 2)]
    referee.close()
    return Played(bundles, {person.name: [one.as_bytes() for one in person.letters] for person in (ann, bob)})


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return played(tmp_path_factory.mktemp("match") / "store")


@pytest.fixture(scope="module")
def whole(match: Played) -> Against:
    return against(match.bundles[1])


def judged(whole: Against, *raws: bytes) -> list[JudgedLetter]:
    return [whole.judge(kept(f"letter {number}", raw)) for number, raw in enumerate(raws)]


def worst(whole: Against, *raws: bytes) -> str:
    order = ("silent", "agrees", "later", "open", "broken", "contradicts", "two stories")
    return max((letter.standing for letter in judged(whole, *raws)), key=order.index)


def find(letters: list[bytes], *words: str) -> bytes:
    """The first letter with all these words in subject or text."""
    for raw in letters:
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        if all(word in f"{parsed['Subject']}\n{body(parsed)}" for word in words):
            return raw
    raise AssertionError(f"no letter with {words}")


class TestHonestLetters:
    def test_all_letters_of_both_agree(self, match: Played, whole: Against) -> None:
        for raws in match.letters.values():
            found = judged(whole, *raws)
            assert {letter.standing for letter in found} <= {"silent", "agrees"}, found
            whats = {re.sub(r"\d+", "N", finding.what) for letter in found for finding in letter.findings}
            assert {
                "head of entry N",
                "commitments",
                "reports of game N, turn N",
                "receipt of game N, turn N, rev N",
                "position of game N, turn N",
                "opening of game N, seat N",
                "mN.pbem.zip",
                "mN-game-N.pbem.zip",
            } <= whats

    def test_what_says_nothing(self, match: Played, whole: Against) -> None:
        silent = [letter for letter in judged(whole, *match.letters["ann"]) if letter.standing == "silent"]
        assert {letter.kept.subject for letter in silent} == {"Re: orders"}  # registration and acceptance
        for raw in (b"", b"\r\n\r\n", b"From: x\r\n\r\nhello m1\r\n", b"\xff" * 1000, b"PK\x03\x04"):
            assert worst(whole, raw) == "silent"

    def test_every_head_that_a_template_prints_is_read(self, match: Played) -> None:
        """Template and reader, together: each letter that speaks of heads has one, and of papers, theirs."""
        heads = papers = 0
        for raw in (*match.letters["ann"], *match.letters["bob"]):
            parsed = email.message_from_bytes(raw, policy=email.policy.default)
            assert isinstance(parsed, EmailMessage)
            text, found = body(parsed), kept("", raw)
            assert len(found.heads) == len(re.findall(r"^  head  ", text, re.M))
            assert len(found.papers) == len(re.findall(r"^  sha256  ", text, re.M))
            assert not found.faults
            heads += len(found.heads)
            papers += len(found.papers)
        assert heads > 20
        assert papers > 15

    def test_letters_later_than_the_bundle(self, match: Played) -> None:
        first = against(match.bundles[0])
        for raws in match.letters.values():
            found = {letter.standing for letter in judged(first, *raws)}
            assert found == {"silent", "agrees", "later"}

    def test_letters_of_another_match_or_server(self, match: Played, whole: Against) -> None:
        for old, new in ((b"m1", b"m2"), (b"play.example", b"plan.example")):
            raws = [raw.replace(old, new) for raw in match.letters["ann"] if b"attachment" not in raw]
            assert worst(whole, *raws) == "silent"


def lines(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n")


def shuffled(raw: bytes) -> bytes:
    parsed = email.message_from_bytes(raw)
    headers = parsed.items()
    for name, _ in headers:
        del parsed[name]
    for name, value in reversed(headers):
        parsed[name] = value
    parsed["X-Status"] = "RO"
    return parsed.as_bytes()


def text_of(raw: bytes) -> str:
    parsed = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    return body(parsed)


def quoted(raw: bytes, mark: str = "> ") -> bytes:
    said = "".join(f"{mark}{line}\n" for line in text_of(raw).split("\n"))
    return f"From: Ann <ann@mail.example>\nSubject: look at this\n\nSee what it wrote:\n\n{said}\nHm.\n".encode()


def wrapped(raw: bytes) -> bytes:
    said = "\n".join("\n".join(textwrap.wrap(line, 70)) for line in text_of(raw).split("\n"))
    return f"From: Ann <ann@mail.example>\nSubject: look at this\n\n{said}\n".encode()


def chopped(raw: bytes) -> bytes:
    """Each line cut hard at 60 characters, in the midst of numbers, and quoted."""
    said = "".join(f"> {piece}\n" for line in text_of(raw).split("\n") for piece in textwrap.wrap(line, 60) or [""])
    return f"From: Ann <ann@mail.example>\nSubject: look at this\n\n{said}\n".encode()


def forwarded(raw: bytes) -> bytes:
    return (
        b"From: ann@mail.example\nSubject: Fwd\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nsee below\n"
        b"--b\nContent-Type: message/rfc822\n\n" + raw + b"\n--b--\n"
    )


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "LF": lines,
    "headers in another order": shuffled,
    "quoted": quoted,
    "quoted twice": lambda raw: quoted(quoted(raw), ">>"),
    "wrapped": wrapped,
    "chopped": chopped,
    "forwarded as a file": forwarded,
}


class TestWhatMailboxesDoToLetters:
    @pytest.mark.parametrize("way", WAYS)
    def test_heads_survive(self, match: Played, whole: Against, way: str) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        (letter,) = judged(whole, WAYS[way](raw))
        assert {finding.standing for finding in letter.findings} == {"agrees"}
        assert letter.findings[0].what == "head of entry 14"

    @pytest.mark.parametrize("way", ["LF", "headers in another order", "forwarded as a file"])
    def test_attachments_survive(self, match: Played, whole: Against, way: str) -> None:
        for raw in match.letters["bob"]:
            before, after = judged(whole, raw, WAYS[way](raw))
            assert [finding.what for finding in before.findings] == [finding.what for finding in after.findings]
            assert before.standing == after.standing

    def test_the_html_alone(self, match: Played, whole: Against) -> None:
        """A program that keeps what it shows, and no text beside it."""
        raw = find(match.letters["ann"], "game 2, turn 2")
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        page = parsed.get_body(("html",))
        assert page is not None
        alone = EmailMessage(policy=email.policy.SMTP)
        alone.set_content(page.get_content(), subtype="html")
        found = kept("", alone.as_bytes())
        assert (len(found.heads), len(found.papers), found.faults) == (1, 1, ())
        assert [finding.standing for finding in judged(whole, alone.as_bytes())[0].findings] == ["agrees", "agrees"]


class TestBrokenLetters:
    """A letter that was changed proves nothing, and says so; it accuses nobody."""

    @pytest.mark.parametrize("mark", ["  head      ", "  signature ", "            "])
    def test_an_altered_digit(self, match: Played, whole: Against, mark: str) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        found = re.search(mark.encode() + rb"[0-9a-f]{64}\n", raw)
        assert found
        at = found.start() + len(mark) + 5
        changed = raw[:at] + (b"0" if raw[at : at + 1] != b"0" else b"1") + raw[at + 1 :]
        (letter,) = judged(whole, changed)
        assert letter.standing == "broken"
        assert any("did not sign it" in finding.found for finding in letter.findings)

    def test_an_altered_key_is_no_other_server(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        at = raw.index(b"  key       ") + 20
        changed = raw[:at] + (b"0" if raw[at : at + 1] != b"0" else b"1") + raw[at + 1 :]
        assert worst(whole, changed) == "agrees"  # the bundle's key holds, whatever the letter says of it

    def test_cut_off(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        cut = raw[: raw.index(b"  signature") + 40]
        assert worst(whole, cut) == "broken"


def another_salt(content: bytes) -> bytes:
    """The same match with another salt in its last reports: no player's letter cites what comes after."""
    found, path = bundle.read(content), "reports/game-2-turn-3.json"
    salted = re.sub(rb'"salt":"[0-9a-f]{64}"', b'"salt":"' + b"77" * 32 + b'"', found.papers[path])
    return bundle.write(mutations.rewritten(found, path, salted))


REWRITTEN = ["another salt", "other turns", "other salts and commitments", "dropped orders"]


@pytest.fixture(scope="module")
def rewritten(match: Played, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Other bundles of the same match, each whole in itself, signed with the key of the same server."""
    folder = tmp_path_factory.mktemp("rewritten")
    made = [
        another_salt(match.bundles[1]),
        played(folder / "turns", second="Bz5").bundles[1],
        played(folder / "salts", "other").bundles[1],
        played(folder / "dropped", dropped=True, first="final\nYx1").bundles[1],
    ]
    return dict(zip(REWRITTEN, made, strict=True))


class TestAServerThatRewritesHistory:
    """A test double with the server's own key: its second bundle holds in itself, and letters convict it."""

    @pytest.mark.parametrize("name", ["ann", "bob"])
    @pytest.mark.parametrize("how", REWRITTEN)
    def test_it_is_caught_with_the_letters_of_either(
        self, rewritten: dict[str, bytes], match: Played, how: str, name: str
    ) -> None:
        assert rewritten[how] != match.bundles[1]
        found = judged(against(rewritten[how]), *match.letters[name])
        convicting = [letter for letter in found if letter.standing == "two stories"]
        assert convicting
        sentences = [f.found for letter in convicting for f in letter.findings if f.standing == "two stories"]
        assert any("play.example signed two different entries" in sentence for sentence in sentences)
        assert all(letter.kept.message_id and letter.kept.subject for letter in convicting)

    def test_orders_that_were_dropped(self, rewritten: dict[str, bytes], match: Played) -> None:
        """Ann's second orders were received, receipted, and not played: her receipt is signed."""
        raw = find(match.letters["ann"], "Your orders for turn 1 stand, revision 2")
        (letter,) = judged(against(rewritten["dropped orders"]), raw)
        assert [(f.standing, f.seq) for f in letter.findings] == [("two stories", 3)]
        assert "neither played, replaced nor withdrawn: entry 3 was made with rev 1" in letter.findings[0].found


class TestWhatTheServerDidNotSign:
    """It convinces whoever got the letter, and the answer says that it convinces nobody else."""

    def test_a_signature_of_a_head_is_none_of_a_paper(self, match: Played, whole: Against) -> None:
        head = kept("", find(match.letters["ann"], "the match is closed")).heads[0]
        text = f"Paper of m1, signed by play.example:\n  sha256    {head.head}\n  signature {head.signature}\n"
        assert worst(whole, f"From: pbem@play.example\n\n{text}".encode()) == "broken"

    def test_the_head_that_a_form_cites(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "game 2, turn 1")
        at = raw.index(b"\nprev ") + 20
        changed = raw[:at] + (b"0" if raw[at : at + 1] != b"0" else b"1") + raw[at + 1 :]
        assert worst(whole, changed) == "contradicts"
        assert worst(whole, quoted(changed)) == "agrees"  # a quotation is its writer's word

    def test_a_position(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "game 2, turn 1")
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        for part in parsed.iter_attachments():
            content = part.get_content()
            if isinstance(content, bytes) and b"position 1" in content:
                assert b'"destroyed":["Rv1"]' in content
                name = part.get_filename()
                changed = content.replace(b'"destroyed":["Rv1"]', b'"destroyed":["Rv2"]')
                part.set_content(changed, "application", "json", filename=name)
        (letter,) = judged(whole, parsed.as_bytes())
        assert letter.standing == "broken"  # the bulletin names another file
        assert "shows another position" in str(letter.findings)


class TestReceipts:
    def test_a_running_game_shows_little_of_the_other(self, tmp_path: Path) -> None:
        referee = Referee(tmp_path)
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        referee.send(ann, ann.filled("orders", "Rv2"))
        referee.send(ann, ann.filled("orders", "final\nRv1", rev=2))
        referee.send(bob, bob.filled("orders", "final\n"))
        for person, wanted in ((bob, "open"), (ann, "agrees")):
            referee.send(person, "transcript m1\n", sign=False)
            shown = against(attachment(person.last, ".zip"))
            assert worst(shown, *[one.as_bytes() for one in ann.letters]) == wanted
        referee.close()
