"""Changes of keys in a bundle: what the proof accepts, and the forgeries of entries and letters that it catches."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import against, fails, holds, with_entry
from in_a_box.referee import SERVER, Mailbox, Referee, attachment, body, form_in, sent_from
from vectors.make import SETUPS, SMALL, by, key
from world.mutations import signed_again

from pbem.identity import parse_key, ssh
from pbem.match.changed import replace
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.store.players import Players

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import JudgedLetter
    from pbem.proof.kept import Kept


def fingerprint(private: Ed25519PrivateKey) -> str:
    return parse_key(ssh.public(private)).fingerprint


def add(referee: Referee, person: Mailbox, new: Ed25519PrivateKey) -> None:
    by(referee, person, f"key add\n{ssh.public(new)}\n", person.key)
    by(referee, person, form_in(person.text, "confirm"), new)


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Ann adds a key, revokes the old one while her orders wait, recovers by code; Bob recovers by his mailbox."""
    referee = Referee(tmp_path_factory.mktemp("keys"))
    ann, bob = referee.begun(SMALL, SETUPS)
    code = body(ann.letters[1]).split("lose your keys:\n\n")[1].split()[0]
    new = key("ann")
    add(referee, ann, new)
    referee.send(ann, ann.filled("orders", "final\nRv1"))
    by(referee, ann, f"key revoke {fingerprint(ann.key)}\n", new)
    referee.send(bob, bob.filled("orders", "final\n"))
    ann.key = new
    referee.turn((ann, "Rv3"), (bob, ""))
    referee.send(bob, bob.filled("orders", "final\n"))
    lost = f"recover\n{ssh.public(key('bob'))}\n"
    referee.deliver(referee.raw(bob, lost, headers=sent_from(bob.address)), bob.address)
    by(referee, bob, form_in(body(bob.find("says that your keys are lost")), "confirm"), key("bob"))
    referee.wait(timedelta(days=7))
    by(referee, ann, f"recover {code}\n{ssh.public(key('by code'))}\n", None)
    by(referee, ann, form_in(ann.text, "confirm"), key("by code"))
    by(referee, ann, ann.filled("orders", "final\nBz5"), key("by code"))
    content = attachment(bob.find(", the end"), ".zip")
    referee.close()
    return content


@pytest.fixture
def match(proof: bytes) -> Bundle:
    return bundle.read(proof)


def changed(found: Bundle, at: int, change: Callable[[dict[str, Any]], object]) -> Bundle:
    return signed_again(with_entry(found, at, change))


def of_keys(found: Bundle) -> list[int]:
    return [at for at, entry in enumerate(found.entries) if entry.type == "keys"]


def test_an_honest_match_holds(proof: bytes, match: Bundle) -> None:
    found = [check.found for check in holds(proof)]
    told = [(match.entries[at].body["change"], match.entries[at].body["how"]) for at in of_keys(match)]
    assert told == [
        ("added", "signed"),
        ("revoked", "signed"),
        ("replaced", "mailbox, after notice and delay"),
        ("replaced", "recovery code"),
    ]
    for change, how in told:
        assert any(f"key {change} ({how})" in one for one in found)
    assert len([path for path in match.papers if path.startswith("letters/keys-")]) == 5


@pytest.mark.parametrize("who", [0, 1, 2, 3])
def test_every_part_of_an_entry(match: Bundle, who: int) -> None:
    at = of_keys(match)[who]
    evil = {"format": "ssh", "fingerprint": fingerprint(key("evil")), "public": ssh.public(key("evil"))}
    old = match.entries[0].body["players"]["2"]["keys"][0]
    for change in (
        lambda content: content.update(seat=3 - content["seat"]),
        lambda content: content.update(seat=3),
        lambda content: content.update(seat="1"),
        lambda content: content.update(change={"added": "revoked"}.get(content["change"], "added")),
        lambda content: content.update(change="taken"),
        lambda content: content.update(how={"signed": "recovery code"}.get(content["how"], "signed")),
        lambda content: content.update(
            how={"recovery code": "mailbox, after notice and delay"}.get(content["how"], "recovery code")
        ),
        lambda content: content.update(added=[*content["added"], evil]),
        lambda content: content.update(added=[evil]),
        lambda content: content.update(added=[old]),
        lambda content: content["added"][0].update(public=ssh.public(key("evil"))) if content["added"] else 1 / 0,
        lambda content: content["added"][0].update(fingerprint=evil["fingerprint"]) if content["added"] else 1 / 0,
        lambda content: content.update(added=[] if content["added"] else [evil]),
        lambda content: content.update(revoked=[evil["fingerprint"]]),
        lambda content: content.update(revoked=[*content["revoked"], evil["fingerprint"]]),
        lambda content: content.update(revoked=[] if content["revoked"] else [old["fingerprint"]]),
        lambda content: content.update(letters={}),
        lambda content: content["letters"].update(new=sha256_hex(b"")),
        lambda content: content["letters"].update(other=sha256_hex(b"")),
        lambda content: content.update(more=1),
        lambda content: content.pop("letters"),
    ):
        try:
            forged = changed(match, at, change)
        except ZeroDivisionError:
            continue  # there is no such part
        fails(forged, f"entry {at + 1}")


def test_letters_dropped_and_exchanged(match: Bundle) -> None:
    paths = [path for path in match.papers if path.startswith("letters/keys-")]
    orders = next(path for path in match.papers if path.startswith("letters/game-1-turn-1-seat-1"))
    for path in paths:
        number, _, seat = path.removeprefix("letters/keys-").removesuffix(".eml").partition("-seat-")
        who = seat[2:]
        fails(replace(match, papers={name: paper for name, paper in match.papers.items() if name != path}), path)
        for other in {*paths, orders} - {path}:
            papers = {**match.papers, path: match.papers[other]}
            fails(replace(match, papers=papers), path)

            def renamed(content: dict[str, Any], who: str = who, other: str = other) -> None:
                content["letters"][who] = sha256_hex(match.papers[other])

            fails(changed(replace(match, papers=papers), int(number) - 1, renamed), f"entry {number}")


def test_a_key_that_the_server_made_up(match: Bundle) -> None:
    """Letters that its own key signed prove it; that an old key asked for it, nothing does."""
    evil = key("evil")
    text = f"confirm bob\nserver {SERVER}\nchallenge 0\nfingerprint {fingerprint(evil)}\nproof old-key\nend\n"
    letter = f"From: bob@mail.example\nSubject: x\n\n{text}{ssh.sign(evil, text.encode(), f'pbem@{SERVER}')}".encode()
    at = of_keys(match)[0] + 1
    for old in (letter, match.papers["letters/game-1-turn-1-seat-2.eml"]):
        content = {
            "seat": 2,
            "change": "added",
            "how": "signed",
            "added": [{"format": "ssh", "fingerprint": fingerprint(evil), "public": ssh.public(evil)}],
            "revoked": [],
            "letters": {"old": sha256_hex(old), "new": sha256_hex(letter)},
        }
        entries = list(match.entries)
        entries.insert(at, replace(entries[at], type="keys", body=content))
        papers = {f"letters/keys-{at + 1}-seat-2-{who}.eml": raw for who, raw in (("old", old), ("new", letter))}
        fails(signed_again(replace(match, entries=entries, papers={**match.papers, **papers})), f"entry {at + 1}")


class TestWhichKeysCount:
    """A server that obeys a key which the transcript does not pin at that time is found out."""

    @pytest.fixture
    def referee(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Referee]:
        referee = Referee(tmp_path_factory.mktemp("referee"))
        yield referee
        referee.close()

    def revoked(self, referee: Referee) -> tuple[Mailbox, Mailbox, Ed25519PrivateKey]:
        """Ann's old key is revoked in the transcript; she has a new one."""
        ann, bob = referee.begun(SMALL, SETUPS)
        add(referee, ann, key("ann"))
        by(referee, ann, f"key revoke {fingerprint(ann.key)}\n", key("ann"))
        return ann, bob, key("ann")

    def end(self, referee: Referee, ann: Mailbox, bob: Mailbox, *cells: str) -> bytes:
        for cell in cells:
            referee.turn((ann, cell), (bob, ""))
        return attachment(bob.find(", the end"), ".zip")

    def test_orders_signed_with_a_revoked_key_of_an_earlier_turn(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Players, "revoke_key", lambda *_: None)
        ann, bob, new = self.revoked(referee)
        old, ann.key = ann.key, new
        referee.turn((ann, "Rv1"), (bob, ""))
        ann.key = old
        referee.turn((ann, "Rv3"), (bob, ""))
        ann.key = new
        fails(self.end(referee, ann, bob, "Bz5"), "letters/game-1-turn-2-seat-1.eml", "not one of your keys here")

    def test_a_resignation_counts_at_once(self, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Players, "revoke_key", lambda *_: None)
        ann, bob, _ = self.revoked(referee)
        by(referee, ann, "resign m1 match\n", ann.key)
        fails(self.end(referee, ann, bob), "letters/resign-", "not one of your keys here")

    def test_a_key_that_no_entry_pinned(self, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        monkeypatch.setattr("pbem.desk.account_keys.enter", lambda *_: None)
        add(referee, ann, key("ann"))
        ann.key = key("ann")
        fails(self.end(referee, ann, bob, "Rv1", "Rv3", "Bz5"), "letters/game-1-turn-1-seat-1.eml")

    def test_what_waited_counts(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        add(referee, ann, key("ann"))
        by(referee, ann, f"key revoke {fingerprint(ann.key)}\n", key("ann"))
        referee.open_desk()
        referee.send(bob, bob.filled("orders", "final\n"))
        ann.key = key("ann")
        holds(self.end(referee, ann, bob, "Rv3", "Bz5"))


class TestAgainstLetters:
    def test_a_server_that_hides_a_change(self, tmp_path: Path) -> None:
        referee = Referee(tmp_path)
        ann, bob = referee.begun(SMALL, SETUPS)
        for cell in ("Rv1", "Rv3"):
            referee.turn((ann, cell), (bob, ""))
        referee.send(ann, ann.filled("orders", "final\nBz5"))
        add(referee, ann, key("ann"))  # later orders would cite a head that is not there
        referee.send(bob, bob.filled("orders", "final\n"))
        content = attachment(bob.find(", the end"), ".zip")
        kept_letters = [kept("letter", letter.as_bytes()) for letter in bob.letters]
        referee.close()
        assert {judged.standing for judged in judge(content, kept_letters)} <= {"silent", "agrees"}
        match = bundle.read(content)
        (at,) = of_keys(match)
        papers = {path: paper for path, paper in match.papers.items() if not path.startswith("letters/keys-")}
        hidden = signed_again(replace(match, entries=[*match.entries[:at], *match.entries[at + 1 :]], papers=papers))
        about = [one for one in kept_letters if "has changed keys" in one.subject]
        assert [judged.standing for judged in judge(bundle.write(hidden), about)] == ["two stories"]


def judge(content: bytes, letters: list[Kept]) -> list[JudgedLetter]:
    bench = against(content)
    return [bench.judge(one) for one in letters]
