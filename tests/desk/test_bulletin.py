"""The bulletin of a letter: what a program needs of it, signed by the server, and nothing beyond its words."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from in_a_box.bulletins import FIELD, bulletin
from in_a_box.referee import SERVER, Mailbox, Referee, attachment, new
from in_a_box.small_games import FLEETS, SMALL

from pbem.match.documents import Opening

if TYPE_CHECKING:
    from email.message import EmailMessage

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def items(letter: EmailMessage, about: str) -> list[dict[str, Any]]:
    return [item for item in bulletin(letter)["items"] if item["about"] == about]


def match(person: Mailbox) -> dict[str, Any]:
    """The match by the last letter with a bulletin about it."""
    return next(items(letter, "match")[-1] for letter in reversed(person.letters) if letter[FIELD])


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def holds(letter: EmailMessage, key: Ed25519PublicKey) -> None:
    """Check a bulletin by what docs/attachments.md says of it, and nothing else."""
    found = bulletin(letter)
    assert canonical(found) == canonical(json.loads(canonical(found)))
    signature = bytes.fromhex(found.pop("signature"))
    hashed = hashlib.sha256(canonical(found)).hexdigest()
    key.verify(signature, f"pbem bulletin 1\nserver {SERVER}\nsha256 {hashed}\n".encode())
    assert (found["pbem"], found["server"], found["to"]) == ("bulletin 1", SERVER, letter["To"])
    assert found["key"] == key.public_bytes_raw().hex()
    files = {
        part.get_filename(): hashlib.sha256(part.get_content()).hexdigest()
        for part in letter.iter_attachments()
        if part.get_content_type() == "application/json"
    }
    assert found["files"] == files
    for item in found["items"]:
        if item["about"] == "match" and (head := item["head"]):
            said = f"pbem head 1\nserver {SERVER}\nmatch {item['match']}\nseq {head['seq']}\nhead {head['head']}\n"
            key.verify(bytes.fromhex(head["signature"]), said.encode())


def test_a_match_is_followed_by_bulletins_alone(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, new(ann, "spaceships", "bob", options=SMALL))
    asked = match(bob)
    assert (asked["phase"], asked["accepted"], asked["players"]) == ("proposed", False, ["ann", "bob"])
    assert asked["agreement"]["game"] == asked["rules"] == "spaceships"
    assert match(ann)["accepted"]
    referee.send(bob, f"accept m1 {asked['hash']}\n")
    assert match(bob)["phase"] == "setup"
    assert match(bob)["asked"]
    assert match(bob)["deadline"]
    for person, setup in ((ann, FLEETS[0]), (bob, FLEETS[1])):
        referee.send(person, sent := person.filled("setup", setup))
    answered = hashlib.sha256(str(bob.last["In-Reply-To"]).encode()).hexdigest()
    done: dict[str, object] = {"about": "command", "command": "setup", "faults": [], "match": "m1", "outcome": "done"}
    words = hashlib.sha256(" ".join(sent.split()).encode()).hexdigest()
    opening = Opening.read(attachment(bob.last, ".opening.txt").decode())
    done |= {
        "tournament": None,
        "answers": answered,
        "words": words,
        "mail": opening.mail,
        "received": opening.received,
    }
    assert items(bob.last, "command") == [done]
    before = match(ann)
    assert (before["phase"], before["turn"], before["asked"], before["rev"]) == ("playing", 1, True, 1)
    referee.send(ann, ann.filled("orders", "Rv1"))
    assert (match(ann)["asked"], match(ann)["rev"], match(ann)["deadline"]) == (False, 2, None)
    assert match(ann)["head"]["seq"] == before["head"]["seq"]
    referee.send(bob, bob.filled("orders", "nonsense"))
    (answer,) = items(bob.last, "command")
    assert (answer["outcome"], len(answer["faults"])) == ("refused", 1)
    assert match(bob)["asked"]
    referee.turn((bob, ""))
    referee.send(bob, "draw m1 offer\n")
    assert match(ann)["offers"] == ["draw"]
    assert match(bob)["offers"] == []
    assert match(bob)["said"] == {"draw": 1}
    referee.send(ann, "draw m1 accept\n")
    assert match(ann)["phase"] == "closed"
    assert match(ann)["ended"] == [{"winners": [1, 2], "scores": [3, 2], "reason": "agreement", "turns": 1}]
    assert match(ann)["outcome"]
    key = referee.signing_key.public_key()
    counted = [letter for person in (ann, bob) for letter in person.letters if letter[FIELD]]
    assert len(counted) >= 15
    for letter in counted:
        holds(letter, key)


def test_what_waits_for_a_digest_keeps_its_bulletin(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL + "\npace: 14d", FLEETS)
    referee.send(ann, f"set mail digest\nserver {SERVER}\nplayer ann\nend\n")
    came = len(ann.letters)
    referee.turn((ann, "Rv1"), (bob, ""))
    assert len(ann.letters) == came + 1, "the answer alone"
    referee.wait(timedelta(days=1))
    (standing,) = items(ann.last, "match")
    assert standing["turn"] == 2
    holds(ann.last, referee.signing_key.public_key())
