"""A server in league with one player: what it could tell the other, who finds it out and says nothing more.

The desk itself lies here: its letters to bob are whole, signed and hashed as ever, but what they tell of the game is
not what ann signed, or not what bob said. After the lie bob's agent sends no step, so that nothing is learned.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.machine import Machine
from in_a_box.owners import Owner, in_second_turn, live, live_out, propose, steps_of
from in_a_box.referee import new

from pbem.desk import bulletin, position_files
from pbem.desk.position_files import PositionFiles
from pbem.games.sealed import COMMIT
from pbem.match.sealed_game import PaperPlace, paper
from pbem.match.state import Ended
from pbem.player.correspondence.standings import Impossible
from pbem.store.matches import Matches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from in_a_box.referee import Referee

    from pbem.json_object import JsonObject
    from pbem.mail.compose import Attachment
    from pbem.match.state import Match
    from pbem.match.view import MatchView

    Lie = Callable[[dict[str, Any], Match], bool]
    """Changes what is told of a game; whether it did."""

pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:12"
"""A game in which there is a third turn."""

BOB = 2
OTHER = hashlib.sha256(b"something else").hexdigest()


class Liar:
    """A desk that lies to bob, from the first time on that there is something to lie about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lie: Lie, texts: bool = True) -> None:
        self.lie = lie
        self.with_texts = texts
        self.said: int | None = None
        """How many steps of bob's there were when it began."""
        self._of_seat, self._signed_texts = position_files.of_seat, position_files.signed_texts
        monkeypatch.setattr(position_files, "of_seat", self.of_seat)
        monkeypatch.setattr(position_files, "signed_texts", self.signed_texts)

    def of_seat(self, match: Match, stands: MatchView, note: str | None, texts: Sequence[Attachment]) -> Any:
        told = self._of_seat(match, stands, note, texts)
        if stands.seat == BOB and match.sealed_game is not None and self.lie(told, match) and self.said is None:
            self.said = steps_of(match, BOB)
        return told

    def signed_texts(self, match: Match, seat: int, number: int, matches: Any) -> list[Attachment]:
        found = self._signed_texts(match, seat, number, matches)
        return found if self.with_texts or seat != BOB else []


def last(told: dict[str, Any], *, seat: int, step: str, turn: int = 1) -> bool:
    """Whether the last step told is such a one."""
    found = told["steps"][-1:]
    return any((one["seat"], one["step"]) == (seat, step) and one["turn"] >= turn for one in found)


def instead(told: dict[str, Any], **changed: Any) -> bool:
    told["steps"][-1] = {**told["steps"][-1], **changed}
    return True


def a_commitment_that_nobody_signed(told: dict[str, Any], _match: Match) -> bool:
    """Ann is not bound by it: she could choose her orders once bob's are open."""
    return last(told, seat=1, step=COMMIT) and instead(told, paper=OTHER)


def a_commitment_of_a_later_turn(told: dict[str, Any], _match: Match) -> bool:
    return last(told, seat=1, step=COMMIT, turn=2) and instead(told, paper=OTHER)


def an_earlier_letter_in_its_place(told: dict[str, Any], _match: Match) -> bool:
    """A signature of ann's that is good, under other steps."""
    if not last(told, seat=1, step=COMMIT, turn=2):
        return False
    mail = told["steps"][-1]["mail"]
    earlier = [step for step in told["steps"] if step["seat"] == 1 and step.get("letter") and step["mail"] != mail]
    for at, step in enumerate(told["steps"]):
        if step.get("mail") == mail:
            told["steps"][at] = {**step, "letter": earlier[-1]["letter"]}
    return True


def orders_other_than_committed(told: dict[str, Any], match: Match) -> bool:
    """Ann's strikes once bob's are known, in a paper that is whole in itself."""
    at = next((at for at, step in enumerate(told["steps"]) if (step["seat"], step["step"]) == (1, "open")), None)
    if at is None or told["steps"][at].get("values") is None:
        return False
    step = told["steps"][at]
    lines = ["strike Gx3"] if step["lines"] != ["strike Gx3"] else ["strike Gx4"]
    place = PaperPlace(match.server, match.id, match.game, 1, match.name(1))
    text = paper("strikes", place, step["turn"], step["values"], tuple(lines))
    told["steps"][at] = {**step, "lines": lines, "paper": hashlib.sha256(text.encode()).hexdigest()}
    return True


def another_answer(told: dict[str, Any], _match: Match) -> bool:
    """What bob struck is told to be nothing, though ann said otherwise, or the other way."""
    for at, step in enumerate(told["steps"]):
        if (step["seat"], step["step"]) == (1, "answers") and step["lines"] and step.get("values"):
            lines = [line.replace(" none", " ship") if "none" in line else line for line in step["lines"]]
            lines = [f"{' '.join(line.split()[:2])} miss" if "strike" in line else line for line in lines]
            if lines != step["lines"]:
                told["steps"][at] = {**step, "lines": lines}
                return True
    return False


def words_put_into_bobs_mouth(told: dict[str, Any], match: Match) -> bool:
    """A step under bob's own name that he never wrote, in a paper that is whole in itself."""
    for at, step in enumerate(told["steps"]):
        if (step["seat"], step["step"]) == (BOB, "open") and step.get("values"):
            lines = [line for line in step["lines"] if not line.startswith("scan")] + ["scan Bz5"]
            if lines == step["lines"]:
                lines[-1] = "scan Bz4"
            place = PaperPlace(match.server, match.id, match.game, BOB, match.name(BOB))
            text = paper("strikes", place, step["turn"], step["values"], tuple(lines))
            told["steps"][at] = {**step, "lines": lines, "paper": hashlib.sha256(text.encode()).hexdigest()}
            return True
    return False


def steps_told_otherwise_later(told: dict[str, Any], _match: Match) -> bool:
    """A transcript with another past: the heads that bob's letters cited are no longer in it."""
    if not last(told, seat=1, step=COMMIT, turn=2):
        return False
    told["steps"][0] = {**told["steps"][0], "head": OTHER}
    return True


def a_step_left_out(told: dict[str, Any], _match: Match) -> bool:
    """Bob is to open although ann has not committed."""
    if not last(told, seat=1, step=COMMIT):
        return False
    del told["steps"][-1]
    return True


def another_key(told: dict[str, Any], _match: Match) -> bool:
    """From the second turn on ann's letters could be anybody's."""
    if not last(told, seat=1, step=COMMIT, turn=2):
        return False
    told["keys"]["1"] = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAtcnhzUc7kx4zGTY3hyBd0bUbnKBmK8MHrhzJGkaM7z"]
    return True


def another_commitment_of_bobs(told: dict[str, Any], _match: Match) -> bool:
    told["commitments"][str(BOB)] = OTHER
    return True


def another_setup_than_ann_committed_to(told: dict[str, Any], _match: Match) -> bool:
    """A commitment that ann never signed, which she could open as another fleet."""
    told["commitments"]["1"] = OTHER
    return True


def a_commitment_under_an_old_number(told: dict[str, Any], match: Match) -> bool:
    """An entry before the one that was checked last would count as checked."""
    return a_commitment_that_nobody_signed(told, match) and instead(told, seq=0)


def a_commitment_exchanged_under_its_head(told: dict[str, Any], _match: Match) -> bool:
    """Ann signed the first one, and bob has opened: now she would open another paper than she was bound to."""
    if not last(told, seat=BOB, step="open", turn=2):
        return False
    told["steps"][-2] = {**told["steps"][-2], "paper": OTHER}
    return True


def an_old_answer_told_otherwise(told: dict[str, Any], _match: Match) -> bool:
    """No papers are told of turns long past, so that their hashes do not show it."""
    for at, step in enumerate(told["steps"]):
        lines = [line.replace("miss", "hit") for line in step["lines"]]
        if "values" not in step and (step["seat"], step["step"]) == (1, "answers") and lines != step["lines"]:
            told["steps"][at] = {**step, "lines": lines}
            return True
    return False


def another_setup_from_the_second_turn_on(told: dict[str, Any], _match: Match) -> bool:
    """When letters do not bring the letter of her commitment any more."""
    if not last(told, seat=1, step=COMMIT, turn=2):
        return False
    told["commitments"]["1"] = OTHER
    return True


ACCUSED = [
    another_setup_than_ann_committed_to,
    another_setup_from_the_second_turn_on,
    a_commitment_that_nobody_signed,
    a_commitment_of_a_later_turn,
    an_earlier_letter_in_its_place,
    orders_other_than_committed,
    another_answer,
    words_put_into_bobs_mouth,
    steps_told_otherwise_later,
    another_key,
    a_commitment_under_an_old_number,
    a_commitment_exchanged_under_its_head,
    an_old_answer_told_otherwise,
]


@pytest.mark.parametrize("lie", ACCUSED, ids=lambda lie: lie.__name__)
def test_a_lying_server_is_accused_and_learns_nothing(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    liar = Liar(monkeypatch, lie)
    propose(referee, owners, "spaceships")
    ann, bob = owners
    live_out([ann, bob, bob])  # he reads what answers his own letter before what ann writes
    assert liar.said is not None, "there was nothing to lie about"
    assert bob.accusations
    assert not ann.accusations
    assert steps_of(referee.match(), BOB) == liar.said
    assert referee.match().phase == "playing"


@pytest.mark.parametrize("lie", [a_step_left_out, another_commitment_of_bobs], ids=lambda lie: lie.__name__)
def test_a_server_that_keeps_something_back_gets_nothing(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    liar = Liar(monkeypatch, lie)
    propose(referee, owners, "spaceships")
    live_out(owners)
    assert liar.said == 0
    assert steps_of(referee.match(), BOB) == 0


def test_without_the_signed_text_nothing_is_opened(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    Liar(monkeypatch, lambda _told, _match: False, texts=False)
    propose(referee, owners, "spaceships")
    with pytest.raises(Impossible, match="what ann signed has not arrived"):
        live_out(owners)
    assert steps_of(referee.match(), BOB) == 0
    assert steps_of(referee.match(), 1) == 1


def test_another_setup_than_the_one_committed_to_is_no_setup(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Shoot 'em up setups are opened first: ann could have waited for bob's."""

    def another(told: dict[str, Any], _match: Match) -> bool:
        told["commitments"]["1"] = OTHER
        return True

    Liar(monkeypatch, another)
    propose(referee, owners, "shoot-em-up")
    live_out(owners)
    assert "it is another setup than the one committed to" in " ".join(owners[1].accusations)
    assert steps_of(referee.match(), BOB) <= 1


class Asking(Liar):
    """A desk that tells bob, but nobody else, that the game is over, from turn 2 on and as long as it likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch, self.ask)
        self.asks = True
        self._of_match = bulletin.of_match
        monkeypatch.setattr(bulletin, "of_match", self.of_match)

    def is_time(self, match: Match | MatchView) -> bool:
        return self.asks and match.phase == "playing" and match.turn >= 2 and not match.revealing

    def ask(self, told: dict[str, Any], match: Match) -> bool:
        if self.is_time(match):
            told["owes"] = ["reveal"]
        return self.is_time(match)

    def of_match(self, stands: MatchView) -> Any:
        found = self._of_match(stands)
        if stands.seat == BOB and self.is_time(stands):
            found["sealed"] = {"owes": {"1": ["reveal"], "2": ["reveal"]}}
        return found


class Careful(Owner):
    """A player who lays nothing open that the agent does not."""

    def decide(self, match: str) -> None:
        if self.letters.matches.standing(match).owes != ["reveal"]:
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
    assert desk.said is not None
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


def resigned(referee: Referee, owners: list[Owner], what: str) -> None:
    """A sealed game in its second turn or later, which ann resigns."""
    ann = owners[0]
    in_second_turn(referee, owners)
    ann.agent.hear(ann.receive(), referee.now)
    ann.letters.say("m1", f"resign m1 {what}", referee.now)
    ann.flush()
    assert referee.match().revealing


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
        BOB, referee.match().totals, "resignation", referee.match().games[-1].turns
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
    before, game = bob.decided, referee.match().sealed_game
    assert game is not None
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


@pytest.mark.parametrize("other", [{"terms": OTHER}, {"seat": 1}], ids=["terms", "seat"])
def test_a_setup_is_committed_to_as_was_agreed(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """A commitment under other terms, or for another seat, is one that bob could never open: he would be silent."""
    told, of_seat, asked = bulletin.of_match, position_files.of_seat, PositionFiles.setup_document

    def of_match(stands: MatchView) -> Any:
        lies = stands.seat == BOB and stands.phase == "setup" and "seat" in other
        return told(stands) | ({"seat": other["seat"]} if lies else {})

    def sealed_of_seat(match: Match, stands: MatchView, *rest: Any) -> Any:
        found = of_seat(match, stands, *rest)
        return found | ({"terms": other["terms"]} if stands.seat == BOB and "terms" in other else {})

    def setup_document(self: PositionFiles, match: Match, row: Any, seat: int, out: Any) -> Any:
        return {**asked(self, match, row, seat, out), **({"seat": other.get("seat", BOB)} if seat == BOB else {})}

    monkeypatch.setattr(bulletin, "of_match", of_match)
    monkeypatch.setattr(position_files, "of_seat", sealed_of_seat)
    monkeypatch.setattr(PositionFiles, "setup_document", setup_document)
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
            found["sealed"] = {"owes": {}}
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
        assert house.agent.held.accused("m1") == "the server had you open your seed, and now another game begins"
