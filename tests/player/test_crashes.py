"""An agent of a sealed match is stopped dead, and no note comes back: its secrets on the disk suffice.

It is stopped at each point in `test_sealed_plans`, and a program that plays openly in `test_program`.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import Owner, live_out, propose
from machines.deaths import Death, Killed

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Referee


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", [4, *(pytest.param(number, marks=pytest.mark.long) for number in (3, 5))])
def test_secrets_on_the_disk_suffice(
    referee: Referee, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before the letter was made that opens one turn and commits to the next."""
    monkeypatch.setattr("pbem.player.secret_vault._NOTE", 0)
    death = Death("secrets kept", number)
    ann = Owner(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite", death)
    bob = Owner(referee, referee.person("bob"), tmp_path / "bob" / "memory.sqlite")
    with closing(ann), closing(bob):
        ann.register()
        bob.register()
        propose(referee, [ann, bob], "shoot-em-up")
        with pytest.raises(Killed):
            live_out([ann, bob])
        ann.restart()
        live_out([ann, bob])
        assert not ann.accusations
        assert not ann.refusals
        proof = ann.proof
        assert proof.holds, proof.checks[-1]
        assert "the record replays" in " ".join(check.found for check in proof.checks)
        steps = defaultdict(set)
        for sent in ann.memory.prepared("step", "m1"):
            steps[sent.place].add(sent.raw)
        assert len(steps) > 4
        assert all(len(raws) == 1 for raws in steps.values())
