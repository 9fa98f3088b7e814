"""A server in league with one player: what it could tell the other, who finds it out and says nothing more.

The desk itself lies here: its letters to bob are whole, signed and hashed as ever, but what they tell of the game is
not what ann signed, or not what bob said. After the lie bob's agent sends no step, so that nothing is learned.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.owners import Owner, live, live_out, live_until, propose, steps_of
from player.lying_desk import ANN, BOB, lie_in_bulletins, lie_in_files
from player.program_matches import entered

from pbem.desk import bulletin
from pbem.desk.sealed_files import SealedFiles
from pbem.desk.tournament import tournament_archive, tournament_facts
from pbem.identity import ssh
from pbem.match.documents import text_name
from pbem.match.events.sealed_events import sealed
from pbem.player.correspondence.standings import Impossible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.referee import Mailbox, Referee

    from pbem.json_object import JsonObject
    from pbem.match.state import Match
    from pbem.match.view import MatchView
    from pbem.tournament.tournament_state import Tournament

    Lie = Callable[["Liar"], bool]
    """Changes what bob is shown of a game; whether it did."""

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:12"
"""A game in which there is a third turn."""

OTHER = hashlib.sha256(b"something else").hexdigest()


class Liar:
    """A desk that lies to bob, from the first time on that there is something to lie about, in league with ann."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, referee: Referee, ann: Mailbox, lie: Lie) -> None:
        self.referee, self.ann = referee, ann
        self.said: int | None = None
        """How many steps of bob's there were when it began."""
        self.told: dict[str, Any] = {}
        self.names: list[str] = []
        """The files of the letters that make the game, in order."""
        self.texts: dict[str, bytes] = {}
        """What a letter brings of what was signed."""
        self.before: dict[str, bytes] = {}
        """The same of all earlier letters."""
        honest = SealedFiles.position_document

        def position_document(files: SealedFiles, match: Match, row: Any, seat: int, out: Any) -> Any:
            kept, out.attachments = out.attachments, []
            document = honest(files, match, row, seat, out)
            if seat == BOB and sealed(match).game.commitments:
                self.told, self.texts = document["sealed"], {name: content for name, _, content in out.attachments}
                self.names = [text_name("m1", path) for path in sealed(match).game.letters]
                if lie(self) and self.said is None:
                    self.said = steps_of(match, BOB)
                self.before |= self.texts
                out.attachments = [(name, "text/plain", content) for name, content in self.texts.items()]
            out.attachments = [*kept, *out.attachments]
            return document

        monkeypatch.setattr(SealedFiles, "position_document", position_document)

    def words(self, name: str) -> str:
        """The signed text, without its signature."""
        return self.before.get(name, self.texts.get(name, b"")).decode().partition("-----BEGIN")[0]

    def sign(self, name: str, words: str) -> bool:
        """Show something else that ann signs."""
        if words == self.words(name):
            return False
        self.texts[name] = self.referee.signed(self.ann, words).encode()
        return True

    def last(self, *, turn: int = 1) -> str:
        """The file that brings ann's commitment, if it was the last step; empty if it was not."""
        name = self.names[-1]
        steps = re.findall(r"^(commit|open|answers|flash) ", self.words(name), re.M)
        now = int(self.words(name).partition(" turn ")[2].split()[0]) if steps else 0
        now += steps[0:1] != ["commit"]
        return name if "seat-1" in name and steps[-1:] == ["commit"] and now >= turn else ""


def an_earlier_letter_in_its_place(desk: Liar) -> bool:
    """A signature of ann's that is good, under other steps."""
    if not (name := desk.last(turn=2)):
        return False
    desk.texts[name] = desk.before[[one for one in desk.names if "step-" in one and "seat-1" in one][-2]]
    return True


def orders_other_than_committed(desk: Liar) -> bool:
    """Ann's strikes once bob's are known."""
    for name in desk.texts:
        if "seat-1" in name and re.search("^open ", desk.words(name), re.M):
            words = re.sub(r"strike \w+", "strike Gx3", desk.words(name))
            return desk.sign(name, words) or desk.sign(name, words.replace("Gx3", "Gx4"))
    return False


def words_put_into_bobs_mouth(desk: Liar) -> bool:
    """Under a key that is said to be his, too."""
    for name in {**desk.before}:
        if "seat-2" in name and "\nopen " in (words := desk.words(name)):
            desk.told["keys"][str(BOB)].append(ssh.public(desk.ann.key))
            return desk.sign(name, words.replace("\ndone", "\nscan Bz5\ndone", 1))
    return False


def another_commitment_of_bobs(desk: Liar) -> bool:
    desk.told["keys"][str(BOB)].append(ssh.public(desk.ann.key))
    return another_seal(desk, BOB)


def another_seal(desk: Liar, seat: int) -> bool:
    name = f"m1-game-1-seal-seat-{seat}.signed.txt"
    words = re.sub(r"commitment\s+[0-9a-f]{64}", f"commitment {OTHER}", desk.words(name))
    return bool(words) and desk.sign(name, words)


def another_setup_from_the_second_turn_on(desk: Liar) -> bool:
    """When letters do not bring the letter of her commitment any more; and now she has signed this one."""
    return bool(desk.last(turn=2)) and another_seal(desk, 1)


def a_commitment_exchanged_once_bob_is_bound(desk: Liar) -> bool:
    """Ann signed the first one, and bob has opened: now she would open another paper than she was bound to."""
    names = desk.names
    if "seat-2" not in names[-1] or not re.search("^open ", desk.words(names[-1]), re.M) or "step-" not in names[-2]:
        return False
    words = re.sub(r"commit\s+[0-9a-f]{64}", f"commit {OTHER}", desk.words(names[-2]))
    return desk.sign(names[-2], words)


def a_letter_of_another_match(desk: Liar) -> bool:
    name = desk.last()
    return bool(name) and desk.sign(name, desk.words(name).replace(" m1 ", " m2 "))


def a_letter_that_takes_long_to_read(desk: Liar) -> bool:
    """Most servers would not take it, and each letter of this one could bring hundreds."""
    name = desk.last()
    return bool(name) and desk.sign(name, desk.words(name).replace("\nend\n", "\n" + "# x\n" * 6000 + "end\n"))


ACCUSED = [
    a_letter_of_another_match,
    a_letter_that_takes_long_to_read,
    another_setup_from_the_second_turn_on,
    orders_other_than_committed,
    words_put_into_bobs_mouth,
    a_commitment_exchanged_once_bob_is_bound,
]


@pytest.mark.parametrize("lie", ACCUSED, ids=lambda lie: lie.__name__)
def test_a_lying_server_is_accused_and_learns_nothing(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    ann, bob = owners
    liar = Liar(monkeypatch, referee, ann.person, lie)
    propose(referee, owners, "spaceships")
    live_out([ann, bob, bob])  # he reads what answers his own letter before what ann writes
    assert liar.said is not None, "there was nothing to lie about"
    assert bob.accusations
    assert not re.search(r"None|\{", str(bob.accusations)), "a fact is missing"
    assert not ann.accusations
    assert steps_of(referee.match(), BOB) == liar.said
    assert referee.match().phase == "playing"


def a_step_left_out(desk: Liar) -> bool:
    """Bob is to open although ann has not committed."""
    return bool(desk.texts.pop(desk.last(), None))


KEPT_BACK = [a_step_left_out, an_earlier_letter_in_its_place, another_commitment_of_bobs]


@pytest.mark.parametrize("lie", KEPT_BACK, ids=lambda lie: lie.__name__)
def test_a_server_that_keeps_something_back_gets_nothing(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    monkeypatch.setattr(owners[1].agent, "_ask", lambda *_: None)  # the answer would bring it
    liar = Liar(monkeypatch, referee, owners[0].person, lie)
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert liar.said is not None
    assert steps_of(referee.match(), BOB) == liar.said
    assert "m1" in owners[1].agent.hindered


def test_what_was_lost_on_its_way_is_asked_for(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to look after a program: with the answer to its own question it goes on."""
    with monkeypatch.context() as patch:
        Liar(patch, referee, owners[0].person, lambda desk: bool(desk.texts.pop(desk.last(), None)))
        propose(referee, owners, "spaceships")
        live_until(owners, lambda: "m1" in owners[1].agent.hindered)
    live_out(owners)
    assert [asked.about for asked in owners[1].memory.sent("ask", "", "")] == ["report m1"]
    assert referee.match().phase == "closed"


def test_another_setup_than_the_one_committed_to_is_no_setup(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Shoot 'em up setups are opened first: ann could have waited for bob's."""
    Liar(monkeypatch, referee, owners[0].person, lambda desk: another_seal(desk, 1))
    propose(referee, owners, "shoot-em-up")
    live_out(owners)
    assert "commitments to its setup" in " ".join(owners[1].accusations)
    assert steps_of(referee.match(), BOB) <= 1


def test_options_that_were_told_falsely_are_shown_by_the_letters(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In later games of a continued match: nobody has agreed on them, and an illegal fleet loses."""
    ann = owners[0]

    def lie(match: Match, document: JsonObject, _out: object) -> None:
        if match.game == 2:
            document["options"] = {"fleet": "cost:3"}

    lie_in_files(monkeypatch, lie, "setup_document", "position_document", seat=ANN)
    propose(referee, owners, "spaceships", "\nkind: continued\ngames: 2")
    for game, what in ((1, "game 1"), (2, "match")):
        for _ in live(owners):
            if (referee.match().game, referee.match().turn) == (game, 1):
                break
        ann.agent.hear(ann.receive(), referee.now)
        ann.letters.say("m1", f"resign m1 {what}", referee.now)
        ann.flush()
    live_out(owners)
    assert referee.match().phase == "closed"
    assert [owner.proof.checks[-1].holds for owner in owners] == [True, True]
    assert not owners[1].proof.accusing
    found = [finding for letter in ann.proof.accusing for finding in letter.findings]
    assert any("other options than those of the game" in finding.found for finding in found)


def test_a_sealed_match_is_never_told_of_as_another(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setup would be asked for openly: bob's program would send it, signed."""

    def lie(stands: MatchView, found: JsonObject) -> None:
        if stands.phase == "setup":
            del found["sealed"]

    lie_in_bulletins(monkeypatch, lie)
    propose(referee, owners, "spaceships")
    live_out(owners)
    bob = owners[1]
    assert "it was agreed on as a sealed match" in " ".join(bob.accusations)
    with pytest.raises(Impossible):
        bob.letters.set_up("m1", "MD Rv1 Rv2 Rv3\nMD Ow1 Ow2 Ow3", referee.now)
    assert not bob.memory.prepared("setup", "m1")


@pytest.mark.parametrize("told", ["as it is", "refereed", "other terms"])
def test_a_match_of_a_sealed_tournament_is_never_told_of_as_another(
    referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    """It begins without an agreement, by terms to which a player agreed by entering."""
    honest = bulletin.of_match

    def of_match(stands: MatchView) -> Any:
        found = honest(stands)
        if told != "as it is":
            found.pop("sealed", None)
        return found

    def item_of(t: Tournament, reader: str, signature: bytes) -> Any:
        found = honest_item_of(t, reader, signature)
        found["agreement"]["match"]["sealed"] = told != "other terms" or t.phase == "open"
        return found

    honest_item_of = tournament_facts.item_of
    monkeypatch.setattr(bulletin, "of_match", of_match)
    monkeypatch.setattr(tournament_archive, "item_of", item_of)
    with entered(referee, tmp_path, "sealed: yes") as (_, sides):
        for side in sides:
            side.live()
        sent = {one.command for side in sides for one in side.memory._sent("match <> ''")}
    assert ("seal" in sent, "setup" in sent) == (told == "as it is", False)


@pytest.mark.parametrize("told", [None, {}, {"keys": 1}, {"keys": {}, "note": 1}])
def test_what_has_no_such_form_is_not_believed(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, told: object
) -> None:
    lie_in_files(monkeypatch, lambda _match, document, _out: document.update(sealed=told))
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert "has no such form" in " ".join(owners[1].accusations)
    assert steps_of(referee.match(), BOB) == 0


THREE: dict[str, Any] = {"seat": 3, "players": ["ann", "cid", "bob"]}


@pytest.mark.parametrize("other", [{"hash": OTHER}, {"seat": 1}, THREE], ids=["terms", "seat", "another seat"])
def test_a_setup_is_committed_to_as_was_agreed(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """A commitment under other terms, or for another seat, is one that bob could never open: he would be silent."""

    def lie(stands: MatchView, found: JsonObject) -> None:
        found.update(other if stands.phase == "setup" else {})

    lie_in_bulletins(monkeypatch, lie)
    lie_in_files(monkeypatch, lambda _match, asked, _out: asked.update(seat=other.get("seat", BOB)), "setup_document")
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert not owners[1].memory.prepared("seal", "m1")
    assert owners[1].accusations
