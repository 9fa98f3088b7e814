"""Agents and programs reveal their secrets after a signed end of the game, never because the server says so."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.machine import Machine
from in_a_box.owners import Owner, in_second_turn, live, live_out, live_until, propose, seated, steps_of
from in_a_box.referee import form_in, new
from player.lying_desk import BOB, lie_in_bulletins, lie_in_files

from pbem.desk import sealed_files
from pbem.identity import ssh
from pbem.match.events.sealed_events import sealed
from pbem.match.state import Ended
from pbem.player.correspondence.standings import Impossible
from pbem.player.opponent import strategy
from pbem.store.matches import Matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from in_a_box.referee import Referee

    from pbem.json_object import JsonObject
    from pbem.match.state import Match
    from pbem.match.view import MatchView
pytestmark = pytest.mark.usefixtures("quick")
FLEET = "cost:12"
"""A game in which there is a third turn."""


class Asking:
    """A desk that tells bob, but nobody else, that the game is over, from turn 2 on and as long as it likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asks, self.asked = True, False
        self.told: JsonObject = {}
        """Its further lies: facts of a match by name."""
        lie_in_bulletins(monkeypatch, self.ask)
        lie_in_files(monkeypatch, self.ask_in_file)

    def ask_in_file(self, match: Match, document: Any, _out: object) -> None:
        document["sealed"]["revealing"] |= self.asks and match.turn >= 2

    def ask(self, stands: MatchView, found: JsonObject) -> None:
        if self.asks and stands.phase == "playing" and stands.turn >= 2 and not stands.revealing:
            self.asked = True
            found.update({"revealing": True, "asked": True, **self.told})


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
        live_until([ann, bob], lambda: referee.match().turn == 1)
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


def against_a_program(referee: Referee, ann: Owner, house: Machine) -> None:
    """A sealed game against a program, in which turn 2 has begun, and the program has answered."""
    propose(referee, [ann, house], "spaceships", "\nmiss: forfeit")
    for moved in live([ann, house]):
        if referee.match().turn == 2 and moved is house:
            break


@pytest.mark.parametrize("days", [1, 11])
def test_a_program_reveals_once_its_opponent_was_silent_for_the_whole_pace(
    referee: Referee, owners: list[Owner], house: Machine, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    against_a_program(referee, owners[0], house)
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
    against_a_program(referee, ann, house)
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
    against_a_program(referee, owners[0], house)
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
    against_a_program(referee, ann, house)
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
    against_a_program(referee, ann, house)
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


@pytest.mark.parametrize("what", ["game 1", "match"])
def test_both_agents_reveal_after_a_resignation(referee: Referee, owners: list[Owner], what: str) -> None:
    """One player resigned; the other's agent reads the signed resignation."""
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


@pytest.mark.parametrize("is_earlier", [True, False], ids=["game-1", "game-2"])
def test_a_resignation_of_an_earlier_game_makes_no_agent_reveal(
    referee: Referee, owners: list[Owner], monkeypatch: pytest.MonkeyPatch, is_earlier: bool
) -> None:
    """It gave up the match in turn 1 of game 1, and was refused; game 2 is in turn 1, and nobody has made a step."""
    ann, bob = owners
    propose(referee, owners, "spaceships", "\nkind: continued\ngames: 2\nfirst: 2")
    live_until(owners, lambda: referee.match().turn == 1 and ann.letters.matches.standing("m1").phase == "playing")
    signed = referee.signed(ann.person, ann.letters.say("m1", "resign m1 match", referee.now).form)
    ann.memory.settle(ann.memory.prepared("resign", "m1")[-1].id, "refused")
    live_until(owners, lambda: (referee.match().game, referee.match().phase) == (2, "playing"))
    ann.agent.hear(ann.receive(), referee.now)
    if is_earlier:
        told = Matches.text

        def text(self: Matches, number: int, mail: str) -> str | None:
            found = told(self, number, mail)
            return signed if found and found.startswith("resign") else found

        monkeypatch.setattr(Matches, "text", text)
    ann.letters.say("m1", "resign m1 match", referee.now)
    ann.flush()
    before, game = bob.decided, sealed(referee.match()).game
    assert not game.steps
    live_out(owners)
    assert bob.decided == before + is_earlier
    assert not bob.accusations


@pytest.mark.parametrize("end", ["game 1", "game 2", "between"])
def test_no_program_opens_its_seed_because_the_server_says_so(
    referee: Referee, owners: list[Owner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Whoever has the seed knows its setups, those of games to come, too."""
    ann, lies = owners[0], [end == "between"]

    def lie(stands: MatchView, found: JsonObject) -> None:
        if lies[0] and (end != "between" or stands.game == 2):
            found.update({"phase": "closed", "asked": False})

    lie_in_bulletins(monkeypatch, lie)
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
    ann, lies = owners[0], [False]
    closed: JsonObject = {"phase": "closed", "asked": False}
    lie_in_bulletins(monkeypatch, lambda _stands, found: lies[0] and found.update(closed))
    propose(referee, [ann, house], "shoot-em-up")
    live_until([ann, house], lambda: referee.match().turn == 3)
    house.live()
    for lies[0] in (True, False):
        house.letters.ask("report m1", referee.now)
        live_out([house])
    before = steps_of(referee.match(), BOB)
    live_out([ann, house])
    assert steps_of(referee.match(), BOB) == before
    assert house.agent.held.accused("m1") == "the server had you open your seed, and now the match goes on"


KEYS = {seat: Ed25519PrivateKey.from_private_bytes(bytes([seat]) * 32) for seat in (1, 2)}


class Inventor:
    """A desk that tells bob of letters that it signed itself, by keys that are said to be players'."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seats: tuple[int, ...]) -> None:
        self.ends = False
        self.signed: list[tuple[str, str]] = []
        """The file and words of each letter that it invents."""
        keys_of = sealed_files.of_seat

        def of_seat(match: Match, note: str | None) -> Any:
            told = keys_of(match, note)
            for seat in seats:
                told["keys"][str(seat)].append(ssh.public(KEYS[seat]))
            return told

        monkeypatch.setattr(sealed_files, "of_seat", of_seat)
        lie_in_files(monkeypatch, self.invent)
        lie_in_bulletins(monkeypatch, self.ask)

    def invent(self, match: Match, document: JsonObject, out: Any) -> None:
        if self.ends:
            for name, words in self.invented(match, document["prev"]):
                key = KEYS[int(name.partition("-seat-")[2][0])]
                content = words + ssh.sign(key, words.encode(), "pbem@play.example")
                out.attachments.append((name, "text/plain", content.encode()))
            document["sealed"]["revealing"] = True

    def ask(self, stands: MatchView, found: JsonObject) -> None:
        if self.ends and stands.phase == "playing":
            found.update({"revealing": True, "asked": True})

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
