"""The proof of a seat that changed hands: a server that puts in somebody without the consent of all is found out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import (
    against,
    fails,
    fails_for_both,
    holds,
    letter_by,
    nth,
    retold,
    with_papers,
    without_entry,
)
from in_a_box.referee import Referee, attachment, form_in, own_key
from msgspec.structs import replace
from vectors.matches import asked, good, home, keyless, proposed, reply
from vectors.matches import proof as bundle_of
from world.mutations import rewritten

from pbem.identity import parse_key, ssh
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pbem.proof.bundle import Bundle

DAY = timedelta(days=1)
SETUPS = ("MD Rv1 Rv2 Rv3", "MD Gz3 Gz4 Gz5")
WORD, CONSENT = "letters/substitute-5-seat-1.eml", "letters/substituted-6-seat-2.eml"
"""Ann names Carl for Bob, who missed turn 2; and Carl takes the seat."""


@pytest.fixture
def found() -> Bundle:
    return good("substitute")


def form_of(found: Bundle, path: str, kind: str = "substitute") -> str:
    """The form in a letter, without its signature."""
    return form_in(found.papers[path].decode().replace("\r\n", "\n"), kind)


def listed(name: str) -> dict[str, str]:
    """A player's key, as a transcript lists it."""
    public = ssh.public(own_key(name))
    return {"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public}


def test_without_the_opponents_word(found: Bundle) -> None:
    moved = with_papers(found, {CONSENT.replace("6", "5"): found.papers[CONSENT]})
    fails_for_both(without_entry(moved, nth(found, "substitute")), "carl was not asked to take this seat")


def test_of_somebody_who_was_not_gone(found: Bundle) -> None:
    """The miss left out: letters have other numbers then, but the word for a player who plays on is refused first."""
    papers = {
        path.replace("substitute-5", "substitute-4").replace("substituted-6", "substituted-5"): paper
        for path, paper in found.papers.items()
    }
    fails_for_both(without_entry(replace(found, papers=papers), nth(found, "missed")), "bob plays on")


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
        ("substituted", {"player": {"name": "carl", "keys": [listed("dora")]}}, "signature of carl does not hold"),
    ],
)
def test_another_body(found: Bundle, kind: str, body: dict[str, Any], said: str) -> None:
    fails_for_both(retold(found, nth(found, kind), **body), said)


def test_another_newcomer_than_was_agreed(found: Bundle) -> None:
    """A letter that Dora really signed, and an entry that lists her key: nobody agreed to her."""
    raw = letter_by("dora", form_of(found, CONSENT).replace("carl", "dora"))
    forged = rewritten(found, CONSENT, raw)
    player = {"name": "dora", "keys": [listed("dora")]}
    fails_for_both(retold(forged, nth(found, "substituted"), player=player), "dora was not asked to take this seat")


@pytest.mark.parametrize(
    "change",
    [("prev ", "prev 0"), ("server play", "server other"), ("player ann\n", ""), ("prev ", "# prev ")],
)
def test_a_word_from_another_moment(found: Bundle, change: tuple[str, str]) -> None:
    """Ann's true signature, under words that were not for this moment of this match."""
    raw = letter_by("ann", form_of(found, WORD).replace(*change))
    fails_for_both(rewritten(found, WORD, raw), "holds no `substitute carl for bob` for this place")


def test_letters_of_bob_after_he_lost_the_seat(found: Bundle) -> None:
    """From the entry on the newcomer's keys count, and Bob's no longer."""
    path = "letters/game-1-turn-2-seat-2.eml"
    raw = letter_by("bob", form_of(found, path, "orders"))
    assert sha256_hex(raw) != sha256_hex(found.papers[path])
    fails_for_both(rewritten(found, path, raw), "the signature of carl does not hold")


def test_a_running_match_can_be_checked_too(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    ann, bob = referee.begun("fleet: cost:3", SETUPS)
    referee.registered("carl")
    for who in (bob, ann):
        referee.send(who, "substitute m1 carl for bob\n")
    carl = referee.people["carl@mail.example"]
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


@pytest.mark.parametrize(
    ("by_key", "setup", "ends"),
    [(True, False, False), (True, True, True), (False, True, False), (False, False, True)],
)
def test_what_was_withdrawn_before_the_seat_changed_hands(
    tmp_path: Path, *, by_key: bool, setup: bool, ends: bool
) -> None:
    """It stays in the trace, so that nobody can call the miss an invented one; the newcomer may withdraw, too."""
    referee, domain = Referee(tmp_path), home()
    options = "fleet: cost:3\nmiss: wait\nsettle: 0"
    kind, text = ("setup", SETUPS[1]) if setup else ("orders", "Gx3")
    if by_key:
        ann, bob = referee.agreed(options) if setup else referee.begun(options, SETUPS)
    elif setup:
        _, ann, bob = proposed(referee, options)
        reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
    else:
        ann, bob = keyless(referee, SETUPS, options)

    def write(text: str, kind: str = "") -> None:
        if by_key:
            referee.send(bob, text)
        else:
            reply(referee, domain, bob, text, asked(bob, kind) if kind else None)

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
