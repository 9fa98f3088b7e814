"""Letters that players kept, against bundles: honest ones agree, and a server that told two stories is convicted."""

from __future__ import annotations

import email
import email.policy
import re
import textwrap
from email.message import EmailMessage
from typing import TYPE_CHECKING, NamedTuple

import pytest
from attackers.forgers import against
from in_a_box.referee import Referee, attachment, body

from pbem.proof.kept_letters import kept

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.proof.compare.finding import JudgedLetter
    from pbem.proof.prove import Against

OPTIONS = "fleet: cost:3\nsettle: 0\nkind: continued\ngames: 2"
ANN = "MD Rv1 Rv2 Rv3"
ANN_2 = "MD1 Rv1 Rv2 Rv3\nMD2 Gv1 Gv2 Gv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


class Played(NamedTuple):
    """A match that was played: the bundles of its games, and each player's letters as they were mailed."""

    bundles: list[bytes]
    letters: dict[str, list[bytes]]


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Played:
    referee = Referee(tmp_path_factory.mktemp("match"))
    ann, bob = referee.agreed(OPTIONS)
    referee.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3"))
    referee.send(ann, ann.filled("setup", ANN, rev=2))
    referee.send(bob, bob.filled("setup", BOB))
    referee.send(ann, ann.filled("orders", "Yx1"))
    referee.send(ann, ann.filled("orders", "final\nRv1", rev=2))
    referee.send(bob, bob.filled("orders", "final\n"))
    for cell in ("Rv3", "Bz5"):
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
            of_no_entry = [finding.what for letter in found for finding in letter.findings if finding.seq is None]
            assert all(what.startswith("paper ") for what in of_no_entry)
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

    def test_an_altered_key_is_no_other_server(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        at = raw.index(b"  key       ") + 20
        changed = raw[:at] + (b"0" if raw[at : at + 1] != b"0" else b"1") + raw[at + 1 :]
        assert worst(whole, changed) == "agrees"  # the bundle's key holds, whatever the letter says of it

    def test_cut_off(self, match: Played, whole: Against) -> None:
        raw = find(match.letters["ann"], "the match is closed")
        cut = raw[: raw.index(b"  signature") + 40]
        assert worst(whole, cut) == "broken"


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
