"""Matches of people against a program at a referee in a box: its fixtures, and the verdict on how it played."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from in_a_box.machine import Machine
from in_a_box.mailing_club import Club
from in_a_box.referee import BOB, Mailbox, Referee, new

from pbem.player.blind import Plan, replayed
from pbem.player.program_config import PlayerLimits
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pbem.match.state import MatchOutcome
    from pbem.proof.compare.finding import Finding


STANDARD = "settle: 0"


@pytest.fixture
def house(referee: Referee, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A program, within the limits that a test may give it."""
    limits = PlayerLimits(**getattr(request, "param", {}))
    found = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite", limits=limits)
    yield found
    found.close()


@pytest.fixture
def bob(referee: Referee) -> Mailbox:
    return referee.registered("bob")


def propose(referee: Referee, house: Machine, bob: Mailbox, options: str = STANDARD) -> None:
    house.live()
    referee.send(bob, new(bob, "spaceships", "house", options=options))
    house.live()


def play(referee: Referee, house: Machine, bob: Mailbox, options: str = STANDARD, turns: int = 3) -> bytes:
    """A match in which bob strikes nothing, and resigns each game after so many turns; its bundle."""
    propose(referee, house, bob, options)
    for _ in range(30):
        standing = house.letters.matches.standing("m1")
        if standing.phase == "closed":
            break
        if standing.phase == "setup":
            referee.send(bob, bob.filled("setup", BOB))
        elif standing.turn <= turns:
            referee.turn((bob, ""))
        else:
            referee.send(bob, f"resign m1 game {standing.game}\n")
        house.live()
    bundle = house.memory.bundle("m1")
    assert bundle is not None
    return bundle


@contextmanager
def entered(referee: Referee, folder: Path, options: str) -> Iterator[tuple[Club, list[Machine]]]:
    """Three programs in a round robin of these terms, whose matches begin."""
    club = Club(referee, "org")
    sides = [Machine(referee, referee.person(name), folder / name / "memory.sqlite") for name in ("x", "y", "z")]
    rules = club.announce("org", f"format: round robin\nprograms: yes\nat-once: 1\n{options}")
    with ExitStack() as stack:
        for side in sides:
            stack.callback(side.close)
            side.live()
            side.letters.tell(f"enter t1 {rules}", referee.now)
            side.live()
        club.start()
        yield club, sides


def judged(bundle: bytes, opened: Sequence[bytes]) -> list[Finding]:
    proved = Proved()
    *_, last = verify(bundle, proved=proved)
    assert last.holds, last
    return list(replayed(proved, opened))


def agrees(bundle: bytes, opened: Sequence[bytes]) -> str:
    """The finding about a program that played blind."""
    (finding,) = judged(bundle, opened)
    assert finding.standing == "agrees", finding
    return finding.found


def convicted(bundle: bytes, opened: Sequence[bytes]) -> str:
    """Why a program did not."""
    (finding,) = judged(bundle, opened)
    assert (finding.standing, finding.seq is None) == ("contradicts", False), finding
    return finding.found


def plan_of(house: Machine, match: str = "m1") -> Plan:
    found = house.program._plan(house.letters.matches.standing(match))
    assert found is not None
    return found


def read(person: Mailbox) -> str:
    """All that came to somebody."""
    return "\n".join(person.letters.text(at) for at in range(len(person.letters)))


def closed(house: Machine) -> MatchOutcome:
    outcome = house.letters.matches.standing("m1").outcome
    assert outcome is not None
    return outcome


def limited(*limits: dict[str, object]) -> pytest.MarkDecorator:
    """A house of these limits, or several."""
    return pytest.mark.parametrize("house", limits, indirect=True)
