"""A server in league with one player: what it could tell the other, who finds it out and says nothing more.

The desk itself lies here: its letters to bob are whole, signed and hashed as ever, but what they tell of the game is
not what ann signed, or not what bob said. After the lie bob's agent sends no step, so that nothing is learned.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import ExitStack, closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from desk.test_tournaments import Club
from in_a_box.machine import Machine
from in_a_box.owners import Owner, in_second_turn, live, live_out, propose, seated, steps_of
from in_a_box.referee import form_in, new

from pbem.desk import bulletin
from pbem.desk.sealed_files import SealedFiles
from pbem.desk.tournament import tournament_archive, tournament_facts
from pbem.identity import ssh
from pbem.match.documents import text_name
from pbem.match.events.sealed_events import sealed
from pbem.match.state import Ended
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import strategy
from pbem.store.matches import Matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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

BOB = 2
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
        """What was signed, without the signature."""
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


def a_commitment_that_nobody_signed(desk: Liar) -> bool:
    """Ann is not bound by it: she could choose her orders once bob's are open."""
    return exchanged(desk, desk.last())


def a_commitment_of_a_later_turn(desk: Liar) -> bool:
    return exchanged(desk, desk.last(turn=2))


def exchanged(desk: Liar, name: str) -> bool:
    """Another hash under ann's signature."""
    if name:
        desk.texts[name] = re.sub(rb"commit\s+[0-9a-f]{64}", f"commit {OTHER}".encode(), desk.texts[name])
    return bool(name)


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


def another_answer(desk: Liar) -> bool:
    """What bob struck was nothing, though ann said otherwise before, or the other way."""
    for name in {**desk.before}:
        if "seat-1" in name and "\nanswers " in (words := desk.words(name)):
            return desk.sign(name, words.replace(" none", " ship").replace("miss", "hit"))
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


def another_setup_than_ann_committed_to(desk: Liar) -> bool:
    """A commitment that ann never signed, which she could open as another fleet."""
    name = "m1-game-1-seal-seat-1.signed.txt"
    if name not in desk.texts:
        return False
    desk.texts[name] = re.sub(rb"commitment\s+[0-9a-f]{64}", f"commitment {OTHER}".encode(), desk.texts[name])
    return True


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


ACCUSED = [
    another_setup_than_ann_committed_to,
    another_setup_from_the_second_turn_on,
    a_commitment_that_nobody_signed,
    a_commitment_of_a_later_turn,
    orders_other_than_committed,
    another_answer,
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
        for _ in live(owners):
            if "m1" in owners[1].agent.hindered:
                break
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


class Asking:
    """A desk that tells bob, but nobody else, that the game is over, from turn 2 on and as long as it likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asks, self.asked = True, False
        self.told: JsonObject = {}
        """Its further lies: facts of a match by name."""
        self._of_match, honest = bulletin.of_match, SealedFiles.position_document
        monkeypatch.setattr(bulletin, "of_match", self.of_match)

        def position_document(files: SealedFiles, match: Match, row: Any, seat: int, out: Any) -> Any:
            document = honest(files, match, row, seat, out)
            document["sealed"]["revealing"] |= seat == BOB and self.asks and match.turn >= 2
            return document

        monkeypatch.setattr(SealedFiles, "position_document", position_document)

    def of_match(self, stands: MatchView) -> Any:
        found = self._of_match(stands)
        if (
            self.asks
            and stands.seat == BOB
            and stands.phase == "playing"
            and stands.turn >= 2
            and not stands.revealing
        ):
            self.asked = True
            found |= {"revealing": True, "asked": True, **self.told}
        return found


class Careful(Owner):
    """A player who lays nothing open that the agent does not."""

    def decide(self, match: str) -> None:
        if not self.letters.matches.standing(match).revealing:
            super().decide(match)


def test_nothing_is_revealed_because_the_server_says_so(
    referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bob's secrets, server and opponent would play on; once he was deceived, he says nothing more."""
    ann, bob = (Careful(referee, referee.person(name), tmp_path / name / "memory.sqlite") for name in ("ann", "bob"))
    desk = Asking(monkeypatch)
    for owner in (ann, bob):
        owner.register()
    propose(referee, [ann, bob], "spaceships")
    live_out([ann, bob])
    assert desk.asked
    assert not bob.memory.prepared("reveal", "m1")
    assert bob.agent.asks("m1")

    bob.agent.reveal("m1", referee.now)
    bob.flush()
    desk.asks = False
    before = steps_of(referee.match(), BOB)
    bob.letters.ask("report m1", referee.now)
    live_out([ann, bob])
    assert "the server had you reveal your secrets, and now the game goes on" in " ".join(bob.accusations)
    assert steps_of(referee.match(), BOB) == before
    for owner in (ann, bob):
        owner.close()


def test_nothing_is_revealed_because_of_a_resignation_that_had_no_effect(
    referee: Referee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob thinks that his letter was lost, and plays on; the server could not enter it any more."""
    with seated(referee, tmp_path, Careful, Careful) as (ann, bob):
        propose(referee, [ann, bob], "spaceships")
        for _ in live([ann, bob]):
            if referee.match().turn == 1:
                break
        bob.receive()
        bob.letters.outbox.has_left(bob.letters.say("m1", "resign m1 match", referee.now))
        desk = Asking(monkeypatch)
        live_out([ann, bob])
        assert desk.asked
        assert not bob.memory.prepared("reveal", "m1")
        assert bob.agent.asks("m1")


@pytest.fixture
def house(referee: Referee, tmp_path: Path) -> Iterator[Machine]:
    with closing(Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite")) as found:
        found.live()
        yield found


def against_a_program(referee: Referee, ann: Owner, house: Machine, *, until: int) -> None:
    """A sealed game against a program, in which this turn has begun, and the program has answered."""
    propose(referee, [ann, house], "spaceships", "\nmiss: forfeit")
    for moved in live([ann, house]):
        if referee.match().turn == until and moved is house:
            break


def test_no_program_reveals_because_the_server_says_so(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Asking(monkeypatch)
    against_a_program(referee, owners[0], house, until=2)
    live_out([owners[0], house])
    assert desk.asked
    assert not house.memory.prepared("reveal", "m1")


@pytest.mark.parametrize("days", [1, 11])
def test_a_program_reveals_once_its_opponent_was_silent_for_the_whole_pace(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    against_a_program(referee, owners[0], house, until=2)
    if days == 1:
        Asking(monkeypatch)
        house.letters.ask("report m1", referee.now)
    referee.wait(timedelta(days=days))
    live_out([house])
    assert house.letters.matches.standing("m1").revealing
    assert bool(house.memory.prepared("reveal", "m1")) == (days == 11)


@pytest.mark.parametrize("wish", ["draw", None])
def test_a_program_reveals_after_a_draw_to_which_it_agreed(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch, wish: str | None
) -> None:
    """Otherwise only the server says that there was one."""
    ann = owners[0]
    against_a_program(referee, ann, house, until=2)
    monkeypatch.setattr(strategy("spaceships"), "wish", lambda *_: wish)
    if wish is None:
        Asking(monkeypatch)
        house.letters.ask("report m1", referee.now)
    ann.receive()
    ann.letters.say("m1", "draw m1 offer", referee.now)
    ann.flush()
    house.live()
    assert house.letters.matches.standing("m1").revealing
    assert bool(house.memory.prepared("reveal", "m1")) == (wish == "draw")


def test_no_program_reveals_after_an_offer_of_an_earlier_turn(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offer has lapsed; the server tells of its turn as of the present one."""
    monkeypatch.setattr(strategy("spaceships"), "wish", lambda *_: "draw")
    against_a_program(referee, owners[0], house, until=2)
    offers = [sent.place for sent in house.memory.prepared("draw", "m1")]
    assert [place.split("; ")[1] for place in offers] == ["game 1 turn 1"]
    Asking(monkeypatch).told = {"turn": 1}
    house.letters.ask("report m1", referee.now)
    live_out([house])
    assert house.letters.matches.standing("m1").revealing
    assert not house.memory.prepared("reveal", "m1")


def test_a_program_asks_for_the_letter_that_shows_the_end(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resignation that was lost on its way: nobody would have to look after the program."""
    ann = owners[0]
    against_a_program(referee, ann, house, until=2)
    ann.receive()
    ann.letters.say("m1", "resign m1 match", referee.now)
    ann.flush()
    assert referee.match().awaits
    with monkeypatch.context() as patch:
        patch.setattr(house.letters.inbox._belief, "_put_files", lambda *_: None)
        house.look()
    assert house.letters.matches.standing("m1").revealing
    assert not house.memory.prepared("reveal", "m1")
    house.live()
    assert [asked.about for asked in house.memory.sent("ask", "", "")][-1] == "report m1"
    assert house.memory.prepared("reveal", "m1")


def test_a_program_reveals_after_a_resignation_by_a_key_that_was_added(
    referee: Referee, owners: list[Owner], house: Machine
) -> None:
    """Otherwise whoever has lost would win, because the program did not reveal."""
    ann, new = owners[0], Ed25519PrivateKey.from_private_bytes(bytes(32))
    against_a_program(referee, ann, house, until=2)
    referee.send(ann.person, f"key add\n{ssh.public(new)} another\n")
    ann.person.key = new
    referee.send(ann.person, form_in(ann.person.text, "confirm"))
    ann.receive()
    standing = ann.letters.matches.standing("m1")
    place = f"server play.example\nplayer ann\nturn {standing.turn}\nprev {standing.prev}\nrev 1"
    referee.send(ann.person, f"resign m1 match\n{place}\n")
    assert referee.match().awaits
    house.live()
    assert house.memory.prepared("reveal", "m1")


def test_a_player_is_told_that_the_letter_which_asks_for_the_reveal_is_missing(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other letters tell that the game is over; only that one binds the server to it."""
    bob = owners[1]
    resigned(referee, owners, "match")
    monkeypatch.setattr(bob.letters.inbox._belief, "_put_files", lambda *_: None)
    bob.receive()
    for lost in ("DELETE FROM texts", "DELETE FROM papers"):
        with pytest.raises(Impossible, match="asks for your secrets of m1 has not come"):
            bob.agent.reveal("m1", referee.now)
        bob.memory._database.execute(lost)


def resigned(referee: Referee, owners: list[Owner], what: str) -> None:
    """A sealed game in its second turn or later, which ann resigns."""
    ann = owners[0]
    in_second_turn(referee, owners)
    ann.agent.hear(ann.receive(), referee.now)
    ann.letters.say("m1", f"resign m1 {what}", referee.now)
    ann.flush()
    assert referee.match().awaits


def test_options_that_were_told_falsely_are_shown_by_the_letters(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In later games of a continued match: nobody has agreed on them, and an illegal fleet loses."""
    ann = owners[0]
    for name in ("setup_document", "position_document"):
        honest = getattr(SealedFiles, name)

        def document(files: SealedFiles, match: Match, row: Any, seat: int, out: Any, honest: Any = honest) -> Any:
            found = honest(files, match, row, seat, out)
            return found | ({"options": {"fleet": "cost:3"}} if match.game == 2 and seat != BOB else {})

        monkeypatch.setattr(SealedFiles, name, document)
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


@pytest.mark.parametrize("what", ["game 1", "match"])
def test_both_agents_reveal_after_a_resignation(referee: Referee, owners: list[Owner], what: str) -> None:
    """Who resigned knows; the other one's agent reads the signed resignation."""
    ann, bob = owners
    resigned(referee, owners, what)
    before = ann.decided, bob.decided
    live_out(owners)
    assert not ann.accusations + bob.accusations
    assert (ann.decided, bob.decided) == before
    assert referee.match().phase == "closed"
    assert referee.match().games[-1] == Ended(
        (BOB,), referee.match().totals, "resignation", referee.match().games[-1].turns
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("resign m1 match", "resign m1 game 1"),
        lambda _: "",
        lambda text: text.partition("-----BEGIN")[0],
    ],
    ids=["other-words", "none", "unsigned"],
)
def test_a_resignation_that_nobody_signed_makes_no_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]
) -> None:
    """The player is asked, and nobody is accused: the server may have got what it cannot show."""
    told = Matches.text

    def text(self: Matches, number: int, mail: str) -> str | None:
        found = told(self, number, mail)
        return (change(found) or None) if found and found.startswith("resign") else found

    monkeypatch.setattr(Matches, "text", text)
    bob = owners[1]
    resigned(referee, owners, "match")
    before = bob.decided
    live_out(owners)
    assert bob.decided == before + 1
    assert not bob.accusations
    assert referee.match().phase == "closed"


def test_a_resignation_of_an_earlier_turn_makes_no_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was refused then, say; the server asks for reveals, and shows it."""
    ann, bob = owners
    propose(referee, owners, "spaceships")
    for _ in live(owners):
        if referee.match().turn == 1 and ann.letters.matches.standing("m1").phase == "playing":
            break
    old = ann.letters.say("m1", "resign m1 match", referee.now).form
    signed = referee.signed(ann.person, old)
    ann.memory.settle(ann.memory.prepared("resign", "m1")[-1].id, "refused")
    for owner in live(owners):
        if owner is bob and referee.match().turn > 1:
            break
    ann.agent.hear(ann.receive(), referee.now)
    monkeypatch.setattr(Matches, "text", _instead_of_resignations(Matches.text, signed))
    ann.letters.say("m1", "resign m1 match", referee.now)
    ann.flush()
    before = bob.decided
    live_out(owners)
    assert bob.decided == before + 1


@pytest.mark.parametrize("is_earlier", [True, False], ids=["game-1", "game-2"])
def test_a_resignation_of_an_earlier_game_makes_no_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, is_earlier: bool
) -> None:
    """It gave up the match in turn 1 of game 1, and was refused; game 2 is in turn 1, and nobody has made a step."""
    ann, bob = owners
    propose(referee, owners, "spaceships", "\nkind: continued\ngames: 2\nfirst: 2")
    for _ in live(owners):
        if referee.match().turn == 1 and ann.letters.matches.standing("m1").phase == "playing":
            break
    signed = referee.signed(ann.person, ann.letters.say("m1", "resign m1 match", referee.now).form)
    ann.memory.settle(ann.memory.prepared("resign", "m1")[-1].id, "refused")
    for _ in live(owners):
        if (referee.match().game, referee.match().phase) == (2, "playing"):
            break
    ann.agent.hear(ann.receive(), referee.now)
    if is_earlier:
        monkeypatch.setattr(Matches, "text", _instead_of_resignations(Matches.text, signed))
    ann.letters.say("m1", "resign m1 match", referee.now)
    ann.flush()
    before, game = bob.decided, sealed(referee.match()).game
    assert not game.steps
    live_out(owners)
    assert bob.decided == before + is_earlier
    assert not bob.accusations


def _instead_of_resignations(told: Callable[..., str | None], other: str) -> Callable[..., str | None]:
    def text(self: Matches, number: int, mail: str) -> str | None:
        found = told(self, number, mail)
        return other if found and found.startswith("resign") else found

    return text


def test_a_sealed_match_is_never_told_of_as_another(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setup would be asked for openly: bob's program would send it, signed."""
    told = bulletin.of_match

    def of_match(stands: MatchView) -> Any:
        found = told(stands)
        if stands.phase == "setup":
            del found["sealed"]
        return found

    monkeypatch.setattr(bulletin, "of_match", of_match)
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
    club = Club(referee, "org")
    sides = [Machine(referee, referee.person(name), tmp_path / name / "memory.sqlite") for name in ("x", "y", "z")]
    rules = club.announce("org", "format: round robin\nprograms: yes\nsealed: yes\nat-once: 1")
    with ExitStack() as stack:
        for side in sides:
            stack.callback(side.close)
            side.live()
            side.letters.tell(f"enter t1 {rules}", referee.now)
            side.live()
        club.start()
        for side in sides:
            side.live()
        sent = {one.command for side in sides for one in side.memory._sent("match <> ''")}
    assert ("seal" in sent, "setup" in sent) == (told == "as it is", False)


THREE: dict[str, Any] = {"seat": 3, "players": ["ann", "cid", "bob"]}


@pytest.mark.parametrize("other", [{"hash": OTHER}, {"seat": 1}, THREE], ids=["terms", "seat", "another seat"])
def test_a_setup_is_committed_to_as_was_agreed(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """A commitment under other terms, or for another seat, is one that bob could never open: he would be silent."""
    told, asked = bulletin.of_match, SealedFiles.setup_document

    def of_match(stands: MatchView) -> Any:
        return told(stands) | (other if stands.seat == BOB and stands.phase == "setup" else {})

    def setup_document(self: SealedFiles, match: Match, row: Any, seat: int, out: Any) -> Any:
        return {**asked(self, match, row, seat, out), **({"seat": other.get("seat", BOB)} if seat == BOB else {})}

    monkeypatch.setattr(bulletin, "of_match", of_match)
    monkeypatch.setattr(SealedFiles, "setup_document", setup_document)
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert not owners[1].memory.prepared("seal", "m1")
    assert owners[1].accusations


@pytest.mark.parametrize("end", ["game 1", "game 2", "between"])
def test_no_program_opens_its_seed_because_the_server_says_so(
    referee: Referee, owners: list[Owner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Whoever has the seed knows its setups, those of games to come, too."""
    ann, told, lies = owners[0], bulletin.of_match, [end == "between"]

    def of_match(stands: MatchView) -> JsonObject:
        found = told(stands)
        if lies[0] and stands.seat == BOB and (end != "between" or stands.game == 2):
            found |= {"phase": "closed", "asked": False}
        return found

    monkeypatch.setattr(bulletin, "of_match", of_match)
    house = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite")
    with closing(house):
        house.live()
        options = "sealed: yes\nfleet: cost:3\nsettle: 0\nkind: scored\ngames: 2"
        referee.send(ann.person, new(ann.person, "spaceships", "house", options=options))
        for _ in live([ann, house]):
            match = referee.match()
            if end == f"game {match.game}" and match.turn:
                break
        lies[0] = True
        live_out([ann, house])
        lies[0] = False
        plan = house.program._plan(house.letters.matches.standing("m1"))
        assert plan is not None
        opened = any(plan.seed.hex() in sent.form for sent in house.memory.prepared("press", "m1"))
        setups = [sent.place for sent in house.memory.prepared("seal", "m1")]
        if end != "between":
            assert house.letters.matches.standing("m1").phase == "closed"
            assert not opened
            return
        assert opened
        assert setups == ["game 1"]
        referee.send(ann.person, "press m1\nHello\nend")
        live_out([ann, house])
        assert [sent.place for sent in house.memory.prepared("seal", "m1")] == ["game 1"]
        assert house.agent.held.accused("m1") == "the server had you open your seed, and now the match goes on"


def test_a_program_that_opened_its_seed_decides_nothing_more(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shoot 'em up has no reveals: there it opens it when the server says that the match is closed."""
    ann, told, lies = owners[0], bulletin.of_match, [False]

    def of_match(stands: MatchView) -> JsonObject:
        return told(stands) | ({"phase": "closed", "asked": False} if lies[0] and stands.seat == BOB else {})

    monkeypatch.setattr(bulletin, "of_match", of_match)
    propose(referee, [ann, house], "shoot-em-up")
    for _ in live([ann, house]):
        if referee.match().turn == 3:
            break
    house.live()
    for lies[0] in (True, False):
        house.letters.ask("report m1", referee.now)
        live_out([house])
    before = steps_of(referee.match(), BOB)
    live_out([ann, house])
    assert steps_of(referee.match(), BOB) == before
    assert house.agent.held.accused("m1") == "the server had you open your seed, and now the match goes on"
