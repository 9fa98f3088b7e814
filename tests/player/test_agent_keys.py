"""A server that invents keys for the seats of a sealed match: with them it could end a game that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.owners import in_second_turn, live, live_out, propose

from pbem.desk import bulletin, sealed_files
from pbem.desk.sealed_files import SealedFiles
from pbem.identity import ssh

if TYPE_CHECKING:
    from in_a_box.owners import Owner
    from in_a_box.referee import Referee

    from pbem.match.state import Match
    from pbem.match.view import MatchView

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:12"
BOB = 2
KEYS = {seat: Ed25519PrivateKey.from_private_bytes(bytes([seat]) * 32) for seat in (1, 2)}


class Inventor:
    """A desk that tells bob of letters that it signed itself, by keys that are said to be players'."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seats: tuple[int, ...]) -> None:
        self.ends = False
        self.signed: list[tuple[str, str]] = []
        """The file and words of each letter that it invents."""
        keys_of, document, of_match = sealed_files.of_seat, SealedFiles.position_document, bulletin.of_match

        def of_seat(match: Match, note: str | None) -> Any:
            told = keys_of(match, note)
            for seat in seats:
                told["keys"][str(seat)].append(ssh.public(KEYS[seat]))
            return told

        def position_document(files: SealedFiles, match: Match, row: Any, seat: int, out: Any) -> Any:
            found = document(files, match, row, seat, out)
            if seat == BOB and self.ends:
                for name, words in self.invented(match, found["prev"]):
                    key = KEYS[int(name.partition("-seat-")[2][0])]
                    content = words + ssh.sign(key, words.encode(), "pbem@play.example")
                    out.attachments.append((name, "text/plain", content.encode()))
                found["sealed"]["revealing"] = True
            return found

        def told(stands: MatchView) -> Any:
            ends = self.ends and stands.seat == BOB and stands.phase == "playing"
            return of_match(stands) | ({"revealing": True, "asked": True} if ends else {})

        monkeypatch.setattr(sealed_files, "of_seat", of_seat)
        monkeypatch.setattr(SealedFiles, "position_document", position_document)
        monkeypatch.setattr(bulletin, "of_match", told)

    def invented(self, match: Match, head: str) -> list[tuple[str, str]]:
        """A resignation of ann's."""
        place = f"server play.example\nplayer ann\nturn {match.turn}\nprev {head}\nrev 1"
        return [("m1-resign-99-seat-1.signed.txt", f"resign m1 match\n{place}\n")]


class Passing(Inventor):
    """One that invents two passes, which end a game of Dueling Masters."""

    def invented(self, match: Match, head: str) -> list[tuple[str, str]]:
        passes = []
        for turn, prev in ((match.turn, head), (match.turn + 1, "cd" * 32)):
            seat = 2 - turn % 2
            place = f"server play.example\nplayer {match.name(seat)}\nprev {prev}"
            words = f"step m1 game 1 turn {turn}\n{place}\ndeparts {prev} {'ab' * 32}\npass\ndone\nend\n"
            passes.append((f"m1-step-{90 + turn}-seat-{seat}.signed.txt", words))
        return passes


def asked_to_reveal(referee: Referee, bob: Owner, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The matches in which bob's player is asked, once the server says that the game is over."""
    asked: list[str] = []
    monkeypatch.setattr(bob, "decide", asked.append)
    bob.letters.ask("report m1", referee.now)
    live_out([bob])
    return asked


def test_no_resignation_by_an_invented_key_makes_an_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = owners[1]
    in_second_turn(referee, owners)
    desk = Inventor(monkeypatch, (1,))
    desk.ends = True
    assert "m1" in asked_to_reveal(referee, bob, monkeypatch)
    assert not bob.memory.prepared("reveal", "m1")


def test_no_end_by_steps_of_ours_that_we_did_not_make_makes_an_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys were told so from the beginning."""
    bob = owners[1]
    desk = Passing(monkeypatch, (1, 2))
    propose(referee, owners, "dueling-masters")
    for owner in live(owners):
        if owner is bob and referee.match().turn > 2:
            break
    desk.ends = True
    asked = asked_to_reveal(referee, bob, monkeypatch)
    assert not bob.accusations
    assert bob.agent.game(bob.letters.matches.standing("m1")).table.result is not None
    assert "m1" in asked
    assert not bob.memory.prepared("reveal", "m1")
