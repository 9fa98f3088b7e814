"""An opponent who has the other's agent accuse the server: it would say nothing more, and lose by the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.owners import Owner, live, live_out, live_until, propose, seated, steps_of
from in_a_box.referee import form_in

from pbem.desk import answer_letter
from pbem.identity import openpgp, ssh
from pbem.player.signed_texts import SealedState

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Referee

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:8"
"""A game in which there is a third turn."""


class Altering(Owner):
    """A player whose letters of one kind go out otherwise than the program made them."""

    kind = "step"

    def altered(self, form: str) -> bytes:
        raise NotImplementedError

    def flush(self) -> None:
        for sent in self.letters.outbox.unsent():
            raw = self.altered(sent.form) if sent.command == self.kind else sent.raw
            self.sent.append(raw)
            self.referee.deliver(raw, self.person.address, sent.to)
            self.letters.outbox.has_left(sent)


class Twice(Altering):
    """A player who says everything twice."""

    def altered(self, form: str) -> bytes:
        return self.referee.raw(self.person, self.referee.signed(self.person, form + form))


@pytest.mark.parametrize("kind", ["seal", "step"])
def test_what_the_other_agent_cannot_read_as_one_letter_is_refused(
    referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(Twice, "kind", kind)
    with seated(referee, tmp_path, Twice, Owner) as (ann, bob):
        propose(referee, [ann, bob], "spaceships")
        live_out([ann, bob])
        assert not bob.accusations
        assert any("send nothing else in it" in text for text in ann.texts)
        assert referee.match().phase != "closed"


class Verbose(Altering):
    """A player whose steps end with many words, in a character set in which they are short."""

    def altered(self, form: str) -> bytes:
        text = self.referee.signed(self.person, f"{form}\n-- \n" + f"{'€' * 90}\n" * 2400)
        raw = self.referee.raw(self.person, text).decode().replace("utf-8", "cp1252").encode("cp1252")
        assert len(raw) < 256 << 10 < len(text.encode())
        return raw


def test_what_a_server_takes_is_not_too_long_for_an_agent(referee: Referee, tmp_path: Path) -> None:
    with seated(referee, tmp_path, Verbose, Owner) as (ann, bob):
        propose(referee, [ann, bob], "spaceships")
        live_until([ann, bob], lambda: steps_of(referee.match(), 2) > 1)
        assert not bob.accusations
        assert steps_of(referee.match(), 2) > 1


def test_a_key_that_a_server_takes_is_not_too_long_for_an_agent() -> None:
    """One for RSA with three subkeys has more than 4,000 letters."""
    armored = openpgp._KEY_BYTES * 4 // 3 * 65 // 64 + 200
    told = {"keys": {"1": ["x" * armored]}}
    assert SealedState.read(told).keys == told["keys"]


@pytest.mark.parametrize("steps", [2, *(pytest.param(steps, marks=pytest.mark.long) for steps in (1, 5))])
def test_a_player_decides_whether_a_replaced_key_is_the_others(
    referee: Referee, owners: list[Owner], steps: int
) -> None:
    """The key was stolen, say. Texts from before the revocation are checked with the old key."""
    propose(referee, owners, "spaceships")
    ann, bob = owners
    old, replaced = ann.person.key, False
    for owner in live(owners):
        if replaced or owner is not ann or steps_of(referee.match(), 1) < steps:
            continue
        replaced = True
        new = Ed25519PrivateKey.from_private_bytes(bytes(32))
        for text, key in (
            (f"key add\n{ssh.public(new)} another\n", old),
            (None, new),
            (f"key revoke {ann.fingerprint}\n", new),
        ):
            ann.person.key = key
            referee.send(ann.person, text or form_in(ann.person.text, "confirm"))
    assert replaced
    assert "changed keys" in " ".join(str(letter["Subject"]) for letter in bob.person.letters)
    assert not ann.accusations
    assert "seat 1 signed with a key that was not told at first" in str(bob.agent.held.accused("m1"))
    assert not bob.agent.take_back("m1", referee.now)
    live_out(owners)
    assert not ann.memory.alarms() + bob.memory.alarms()
    assert referee.match().phase == "closed"


class Padding(Altering):
    """A player whose steps end with many words."""

    def altered(self, form: str) -> bytes:
        padded = f"{form}\n-- \n" + f"{'x' * 75}\n" * 3000
        return self.referee.raw(self.person, self.referee.signed(self.person, padded))


def test_what_is_asked_for_anew_comes_however_long_the_other_writes(
    referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the loss of a machine, the player resumes from the answer to `report`."""
    monkeypatch.setattr(answer_letter, "_ANSWER", 400_000)  # two such letters; one of each step would fill a MiB
    with seated(referee, tmp_path, Padding, Owner) as (ann, bob):
        propose(referee, [ann, bob], "spaceships")
        live_until([ann, bob], lambda: steps_of(referee.match(), 1) > 7 and referee.match().owes(2))
        referee.send(bob.person, "report m1\n")
        names = [str(part.get_filename()) for part in bob.person.last.iter_attachments()]
        assert sum(name.endswith(".signed.txt") for name in names) > 1
        assert names[-1] == "m1-game-1-position.json"
