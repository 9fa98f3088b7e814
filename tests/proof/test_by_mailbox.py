"""The proof of letters without a key, whose forms say their place by the address that they answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from forgers import holds, proof
from honest import accused
from make_vectors import SETUPS, SMALL, asked, home, reply
from referee import Mailbox, Referee, form_in, placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.bundle import Bundle


def without_revision(form: str) -> str:
    return re.sub(r"(?m)^rev .*\n", "", form)


def address(person: Mailbox) -> str:
    """Where the latest letter of the match wants its answer."""
    letter = next(one for one in reversed(person.letters) if "+m1" in str(one["Reply-To"]))
    return str(letter["Reply-To"]).rpartition("<")[2].rstrip(">")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Referee, Bundle]]:
    """Bob has no key: one letter orders two turns, the second in vain; another withdraws twice what it may once."""
    referee = Referee(tmp_path_factory.mktemp("mailbox"))
    domain = home()
    referee.records[domain.where] = domain.record
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(bob, "register bob\n", sign=False)
    reply(referee, domain, bob, "register bob\n")
    referee.send(ann, f"new spaceships with bob\n{placed(ann)}{SMALL}\nend\n")
    reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", SETUPS[0]))
    reply(referee, domain, bob, bob.filled("setup", SETUPS[1]), asked(bob, "setup"))
    ahead = without_revision(bob.filled("orders", "final\nmRv1 Rv5")).replace("turn 1", "turn 2", 1)
    reply(referee, domain, bob, f"{bob.filled('orders', 'final')}\n{ahead}", asked(bob, "orders"))
    referee.turn((ann, "Rv1"))
    reply(referee, domain, bob, bob.filled("orders", ""), asked(bob, "orders"))
    reply(referee, domain, bob, "clear m1\nclear m1 turn 2\n", address(bob))
    reply(referee, domain, bob, "resign m1 match\n", address(bob))
    yield referee, proof(referee, ann)
    referee.close()


def test_what_was_not_used_and_what_was_withdrawn(table: tuple[Referee, Bundle]) -> None:
    referee, found = table
    holds(found)
    assert {path.partition("seat-2-")[2] for path in found.papers if path.startswith("evidence/game-1-turn-2")} == {
        *("rev-1.txt", "rev-3.txt")
    }
    assert accused(referee) == []
