"""The proof of a seat that changed hands: a server that puts in somebody without the consent of all is found out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import against, fails, fails_for_both, holds, proved, with_papers
from in_a_box.referee import Referee, attachment, body, form_in, placed
from vectors.make import asked, home, reply
from vectors.make import proof as bundle_of
from world.mutations import rewritten, signed_again

from pbem.identity import parse_key, ssh
from pbem.match.changed import replace
from pbem.match.transcript import Entry, sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from in_a_box.referee import Mailbox

    from pbem.proof.bundle import Bundle

DAY = timedelta(days=1)
SETUPS = ("MD Rv1 Rv2 Rv3", "MD Gz3 Gz4 Gz5")


@pytest.fixture(scope="module")
def referee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Referee]:
    """Bob missed turn 2, Ann and Carl agreed, and the match was resigned; Dora looks on."""
    referee = Referee(tmp_path_factory.mktemp("proof"))
    ann, bob = referee.begun("fleet: cost:3", SETUPS)
    referee.turn((ann, ""), (bob, ""))
    for name in ("carl", "dora"):
        referee.registered(name)
    referee.send(ann, ann.filled("orders", "final"))
    referee.wait(11 * DAY)
    referee.send(ann, "substitute m1 carl for bob\n")
    carl = person(referee, "carl")
    referee.send(carl, form_in(carl.text, "substitute"))
    referee.turn((carl, ""))
    referee.send(carl, "resign m1 match\n")
    yield referee
    referee.close()


@pytest.fixture(scope="module")
def proof(referee: Referee) -> Bundle:
    return bundle.read(attachment(person(referee, "ann").find("the end"), ".zip"))


def person(referee: Referee, name: str) -> Mailbox:
    return referee.people[f"{name}@mail.example"]


def at(found: Bundle, kind: str, number: int = 0) -> int:
    return [place for place, entry in enumerate(found.entries) if entry.type == kind][number]


def changed(found: Bundle, kind: str, number: int = 0, **body: Any) -> Bundle:
    """The bundle with another body of this entry, as a server would make it that rewrites the past."""
    place = at(found, kind, number)
    entries = list(found.entries)
    entries[place] = replace(entries[place], body={**entries[place].body, **body})
    return signed_again(replace(found, entries=tuple(entries)))


def without(found: Bundle, place: int) -> Bundle:
    """The same without an entry: letters keep the numbers that they are named by, as long as none follows."""
    entries = (*found.entries[:place], *found.entries[place + 1 :])
    return signed_again(replace(found, entries=entries))


def until(found: Bundle, *, entries: Sequence[Entry]) -> Bundle:
    """A match that goes on after these entries, with none of the papers that were filed later."""
    return signed_again(replace(found, entries=entries))


def letter_by(referee: Referee, who: str, text: str) -> bytes:
    return referee.raw(person(referee, who), referee.signed(person(referee, who), text))


def test_what_happened_holds(proof: Bundle) -> None:
    kinds = [entry.type for entry in proof.entries]
    assert kinds == [
        *("agreed", "commitments", "turn", "missed", "substitute", "substituted", "turn"),
        *("resigned", "ended", "revealed", "closed"),
    ]
    assert any("carl takes seat 2, as agreed" in check.found for check in holds(proof))
    holds(signed_again(proof))


def test_without_the_opponents_word(proof: Bundle) -> None:
    letters = {"letters/substituted-5-seat-2.eml": proof.papers["letters/substituted-6-seat-2.eml"]}
    fails(without(with_papers(proof, letters), at(proof, "substitute")), "carl was not asked to take this seat")


def test_of_somebody_who_was_not_gone(proof: Bundle) -> None:
    """The miss left out: letters have other numbers then, but the word for a player who plays on is refused first."""
    place = at(proof, "missed")
    papers = {
        path.replace("substitute-5", "substitute-4").replace("substituted-6", "substituted-5"): paper
        for path, paper in proof.papers.items()
    }
    fails(without(replace(proof, papers=papers), place), "bob plays on")


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("substitute", {"name": "dora"}, "holds no `substitute dora for bob` for this place"),
        ("substitute", {"for": 1}, "holds no `substitute carl for ann` for this place"),
        ("substitute", {"seat": 2}, "is missing"),
        ("substitute", {"for": 7}, "`for` names a seat that there is not"),
        ("substitute", {"mail": "0" * 64}, "is not the letter that the transcript names"),
        ("substituted", {"seat": 1}, "is missing"),
        ("substituted", {"mail": "0" * 64}, "is not the letter that the transcript names"),
    ],
)
def test_another_body(proof: Bundle, kind: str, body: dict[str, Any], said: str) -> None:
    fails(changed(proof, kind, **body), said)


def test_another_newcomer_than_was_agreed(proof: Bundle, referee: Referee) -> None:
    """A letter that Dora really signed, and an entry that lists her keys: nobody agreed to her."""
    carl = proof.entries[at(proof, "substituted")]
    form = form_in(body(person(referee, "carl").find("will you")), "substitute")
    raw = letter_by(referee, "dora", form.replace("carl", "dora"))
    public = ssh.public(person(referee, "dora").key)
    key = {**carl.body["player"]["keys"][0], "public": public, "fingerprint": parse_key(public).fingerprint}
    forged = changed(
        with_papers(proof, {"letters/substituted-6-seat-2.eml": raw}),
        "substituted",
        player={"name": "dora", "keys": [key]},
        mail=sha256_hex(raw),
    )
    fails(forged, "dora was not asked to take this seat")


def test_a_newcomer_who_never_said_so(proof: Bundle, referee: Referee) -> None:
    """Carl's keys are exchanged for the server's own: Carl's letter is not signed with them."""
    carl = proof.entries[at(proof, "substituted")]
    public = ssh.public(person(referee, "dora").key)
    key = {**carl.body["player"]["keys"][0], "public": public, "fingerprint": parse_key(public).fingerprint}
    fails(changed(proof, "substituted", player={"name": "carl", "keys": [key]}), "signature of carl does not hold")


@pytest.mark.parametrize(
    "change",
    [("prev ", "prev 0"), ("server play", "server other"), ("player ann\n", ""), ("prev ", "# prev ")],
)
def test_a_word_from_another_moment(proof: Bundle, referee: Referee, change: tuple[str, str]) -> None:
    """Ann's true signature, under words that were not for this moment of this match."""
    sent = form_in(proof.papers["letters/substitute-5-seat-1.eml"].decode().replace("\r\n", "\n"), "substitute")
    raw = letter_by(referee, "ann", sent.replace(*change))
    forged = changed(with_papers(proof, {"letters/substitute-5-seat-1.eml": raw}), "substitute", mail=sha256_hex(raw))
    fails(forged, "holds no `substitute carl for bob` for this place")


def test_letters_of_bob_after_he_lost_the_seat(proof: Bundle, referee: Referee) -> None:
    """From the entry on the newcomer's keys count, and Bob's no longer."""
    path = "letters/game-1-turn-2-seat-2.eml"
    form = person(referee, "carl").filled("orders", "final")
    assert "player carl\n" in form
    raw = letter_by(referee, "bob", form)
    receipt = proof.papers["receipts/game-1-turn-2-seat-2.txt"].decode()
    receipt = receipt.replace(sha256_hex(proof.papers[path]), sha256_hex(raw))
    papers = with_papers(proof, {path: raw, "receipts/game-1-turn-2-seat-2.txt": receipt.encode()})
    turn = proof.entries[at(proof, "turn", 1)]
    forged = changed(papers, "turn", 1, orders={**turn.body["orders"], "2": sha256_hex(receipt.encode())})
    fails(forged, "the signature of carl does not hold")


def test_a_hidden_substitution_is_told_by_kept_letters(proof: Bundle, referee: Referee) -> None:
    """A bundle that leaves it out stands against the letters that everybody has."""
    shorter = until(proof, entries=proof.entries[:4])
    kinds = ("game-1-turn-1", "letters/agreed-seat", "traces/game-1-setup")
    papers = {path: paper for path, paper in shorter.papers.items() if any(kind in path for kind in kinds)}
    state = proved(replace(shorter, papers=papers))
    other = signed_again(
        replace(proof, entries=(*proof.entries[:4], replace(proof.entries[4], time="2026-03-13T00:00:00Z")))
    )
    state.bundle = other
    bench = against(state)
    letters = [kept(str(letter["Subject"]), letter.as_bytes()) for letter in person(referee, "bob").letters]
    assert "two stories" in {bench.judge(letter).standing for letter in letters}


def test_a_running_match_can_be_checked_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    referee = Referee(tmp_path_factory.mktemp("running"))
    ann, bob = referee.begun("fleet: cost:3", SETUPS)
    referee.registered("carl")
    for who in (bob, ann):
        referee.send(who, "substitute m1 carl for bob\n")
    carl = person(referee, "carl")
    referee.send(carl, form_in(carl.text, "substitute"))
    for who in (ann, carl):
        referee.send(who, "transcript m1\n", sign=False)
        found = bundle.read(attachment(who.last, ".zip"))
        holds(found)
        papers = {path: paper + b"!" if "substitut" in path else paper for path, paper in found.papers.items()}
        assert papers != found.papers
        fails(replace(found, papers=papers), "is not what the transcript names")
    referee.close()


def forged(found: Bundle, withdrawn: Sequence[str]) -> None:
    """Bob's withdrawal, said to be of somebody who never sat there, fails."""
    (path,) = (one for one in withdrawn if found.papers[one].decode().count("player bob"))
    other = rewritten(found, path, found.papers[path].replace(b"player bob", b"player dora"))
    fails_for_both(other, "does not belong here")


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_what_was_withdrawn_before_the_seat_changed_hands(
    tmp_path: Path, *, by_key: bool, setup: bool, ends: bool
) -> None:
    """It stays in the trace, so that nobody can call the miss an invented one; the newcomer may withdraw, too."""
    referee, domain = Referee(tmp_path), home()
    referee.records[domain.where] = domain.record
    ann, bob = referee.registered("ann"), referee.registered("bob") if by_key else referee.person("bob")

    def write(text: str, kind: str = "") -> None:
        if by_key:
            referee.send(bob, text)
        else:
            reply(referee, domain, bob, text, asked(bob, kind) if kind else None)

    if not by_key:
        referee.send(bob, "register bob\n", sign=False)
        reply(referee, domain, bob, "register bob\n")
    referee.send(ann, f"new spaceships with bob\n{placed(ann)}fleet: cost:3\nmiss: wait\nsettle: 0\nend\n")
    write(form_in(bob.text, "accept", lines=1))
    kind, text = ("setup", SETUPS[1]) if setup else ("orders", "Gx3")
    if not setup:
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        write(bob.filled("setup", SETUPS[1]), "setup")
    write(bob.filled(kind, text), kind)
    write("clear m1\n")
    assert "Withdrawn" in bob.text, bob.text
    referee.send(ann, ann.filled(kind, SETUPS[0] if setup else "final"))
    referee.wait(11 * DAY)
    carl = referee.registered("carl")
    referee.send(ann, "substitute m1 carl for bob\n")
    referee.send(carl, form_in(carl.text, "substitute"))
    assert referee.read_cold().name(2) == "carl"
    if not ends:
        referee.send(ann, "clear m1\n")
        referee.send(carl, carl.filled(kind, SETUPS[0] if setup else "Gx3"))
        assert "Refused" not in carl.text, carl.text
        referee.send(carl, "clear m1\n")
        assert "Withdrawn" in carl.text, carl.text
        referee.send(carl, carl.filled(kind, SETUPS[1] if setup else "final", rev=5))
        referee.send(ann, ann.filled(kind, SETUPS[0] if setup else "final", rev=3))
        assert referee.read_cold().turn == (1 if setup else 2), carl.text
    referee.send(ann, "resign m1 match\n")
    content = bundle_of(referee, ann)
    found = bundle.read(content)
    withdrawn = [path for path in found.papers if path.startswith("withdrawals/")]
    assert len(withdrawn) == (1 if ends else 3)
    holds(content)
    verified(content)
    bench = against(content)
    letters = [kept("", raw) for one in (ann, bob, carl) for raw in one.letters.came]
    findings = [finding for letter in letters for finding in bench.judge(letter).findings]
    assert {finding.standing for finding in findings} <= {"agrees", "later"}, findings
    forged(found, withdrawn)
    referee.close()
