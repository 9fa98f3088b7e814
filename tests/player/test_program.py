"""A program that plays by mail: it accepts what fits, plays blind, and whoever has its seed can tell."""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from in_a_box.machine import Machine
from in_a_box.referee import ANN, BOB, Mailbox, Referee, new
from machines.deaths import Death, Killed

from pbem.cli.opponent import _Lines
from pbem.cli.verify import verify as verify_command
from pbem.desk.strangers import EACH
from pbem.examples import example_folder
from pbem.match.changed import replace
from pbem.player import blind
from pbem.player.account_file import BadAccount
from pbem.player.blind import PROGRAM, Plan, comment, replayed, seeds
from pbem.player.correspondence import POINTS
from pbem.player.opponent import EDITIONS, STRATEGIES, Position, edition, spaceships, strategy
from pbem.player.program import NoAccount, PlanKnown, Program, ProgramKnown
from pbem.player.program_config import GameLimits, PlayerLimits, load
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pbem.games import Options
    from pbem.match.state import MatchOutcome
    from pbem.match.view import MatchView
    from pbem.proof.compare.finding import Finding


STANDARD = "settle: 0"


@pytest.fixture
def house(referee: Referee, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A program, within the limits that a test may give it."""
    limits = PlayerLimits(**getattr(request, "param", {}))
    found = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite", limits=limits)
    yield found
    found.close()


def limited(*limits: dict[str, object]) -> pytest.MarkDecorator:
    """A house of these limits, or several."""
    return pytest.mark.parametrize("house", limits, indirect=True)


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
    assert finding.standing == "contradicts", finding
    return finding.found


def closed(house: Machine) -> MatchOutcome:
    outcome = house.letters.matches.standing("m1").outcome
    assert outcome is not None
    return outcome


def plan_of(house: Machine, match: str = "m1") -> Plan:
    found = house.program._plan(house.letters.matches.standing(match))
    assert found is not None
    return found


def read(person: Mailbox) -> str:
    """All that came to somebody."""
    return "\n".join(person.letters.text(at) for at in range(len(person.letters)))


class TestAMatch:
    def test_is_played_blind_and_opened(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        bundle = play(referee, house, bob)
        opened = seeds(bob.text)
        assert plan_of(house).seed in opened
        assert "at level 1" in agrees(bundle, opened)
        assert not house.memory.alarms()
        assert all(sent.state == "done" for sent in house.memory.prepared("orders", "m1"))
        # Opened once, and after the end.
        house.restart()
        house.live()
        opening = [sent for sent in house.memory.prepared("press", "m1") if plan_of(house).seed.hex() in sent.form]
        assert len(opening) == 1
        assert bob.text.count("It proves that I saw nothing") == 1

    def test_of_several_games(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        bundle = play(referee, house, bob, f"{STANDARD}\nkind: scored\ngames: 2")
        agrees(bundle, [plan_of(house).seed])
        places = [sent.place for sent in house.memory.prepared("setup", "m1")]
        assert places == ["game 1", "game 2"]

    def test_greets_once_with_its_commitment_before_anybody_sets_up(
        self, referee: Referee, house: Machine, bob: Mailbox
    ) -> None:
        propose(referee, house, bob)
        house.live()
        assert house.memory.known(ProgramKnown).marked
        assert read(bob).count(plan_of(house).commitment.hash) == 1
        assert plan_of(house).seed.hex() not in read(bob)

    def test_an_offer_to_annul_is_declined_once(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob)
        referee.send(bob, "annul m1 offer\n")
        house.live()
        house.live()
        assert len(house.memory.prepared("annul", "m1")) == 1
        assert house.letters.matches.standing("m1").phase == "setup"


class Wishing:
    """A strategy that wishes something."""

    def __init__(self, wish: str) -> None:
        self.wished = wish

    def __getattr__(self, name: str) -> object:
        return getattr(strategy("spaceships"), name)

    def wish(self, level: int, position: Position) -> str:
        del level, position
        return self.wished


class TestWishes:
    @pytest.fixture
    def wish(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        return lambda wish: monkeypatch.setattr("pbem.player.program.strategy", lambda _: Wishing(wish))

    def begun(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob)
        referee.send(bob, bob.filled("setup", BOB))
        house.live()

    def test_a_draw_is_offered_once_a_game(
        self, referee: Referee, house: Machine, bob: Mailbox, wish: Callable[[str], None]
    ) -> None:
        wish("draw")
        self.begun(referee, house, bob)
        referee.turn((bob, ""))
        house.live()
        assert [sent.form.split("\n")[0] for sent in house.memory.prepared("draw", "m1")] == ["draw m1 offer"]
        assert len(house.memory.prepared("orders", "m1")) == 2

    def test_a_draw_is_accepted(
        self, referee: Referee, house: Machine, bob: Mailbox, wish: Callable[[str], None]
    ) -> None:
        self.begun(referee, house, bob)
        wish("draw")
        referee.send(bob, "draw m1 offer\n")
        house.live()
        assert closed(house).reason == "agreement"

    def test_a_draw_is_declined_by_who_does_not_wish_it(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        self.begun(referee, house, bob)
        referee.send(bob, "draw m1 offer\n")
        house.live()
        assert house.letters.matches.standing("m1").phase == "playing"
        assert house.letters.matches.standing("m1").offers == []

    def test_it_resigns(self, referee: Referee, house: Machine, bob: Mailbox, wish: Callable[[str], None]) -> None:
        wish("resign")
        self.begun(referee, house, bob)
        assert closed(house).reason == "resignation"
        assert house.memory.prepared("orders", "m1") == []


class TestLimits:
    @pytest.mark.parametrize(
        ("house", "pace", "most"), [({}, "none", "90d"), ({"pace": ("1h", "30d")}, "31d", "30d")], indirect=["house"]
    )
    def test_what_does_not_fit_is_declined_with_the_reason(
        self, referee: Referee, house: Machine, bob: Mailbox, pace: str, most: str
    ) -> None:
        propose(referee, house, bob, f"{STANDARD}\npace: {pace}")
        assert referee.match().phase == "declined"
        assert f"My pace is 1h at least and {most} at most." in read(bob)

    @pytest.mark.parametrize(
        "options", ["fleet: cost:375\nkind: scored\ngames: 9", "fleet: cost:240\nkind: continued\ngames: 9"]
    )
    def test_a_fleet_for_which_it_finds_room_by_luck_alone_is_declined(
        self, referee: Referee, house: Machine, bob: Mailbox, options: str
    ) -> None:
        """A trial with another seed found one; its own found none when it was due, and it lost by the clock.

        Who gives up the first game of a continued match leaves the other twice as many ships.
        """
        propose(referee, house, bob, f"{STANDARD}\n{options}")
        assert referee.match().phase == "declined"
        assert "I find no setup for these options" in read(bob)

    def test_a_continued_match_of_standard_fleets_is_accepted(
        self, referee: Referee, house: Machine, bob: Mailbox
    ) -> None:
        propose(referee, house, bob, f"{STANDARD}\nkind: continued\ntarget: 60")
        assert referee.match().phase == "setup"

    def test_so_many_at_once_with_one_person(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        house.live()
        for number in (1, 2, 3):
            propose(referee, house, bob, f"{STANDARD}\npace: {number}d")
        assert [referee.match(number).phase for number in (1, 2, 3)] == ["setup", "setup", "declined"]
        assert "I play 2 with one of you already" in read(bob)

    @limited({"matches": 1})
    def test_so_many_in_all(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        house.live()
        for number in (1, 2):
            propose(referee, house, bob, f"{STANDARD}\npace: {number}d")
        assert [referee.match(number).phase for number in (1, 2)] == ["setup", "declined"]

    @limited({"delay": "2h"})
    def test_a_delay_is_kept_but_no_deadline_missed(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob)
        referee.now += timedelta(hours=1, minutes=59)
        house.look()
        assert not house.memory.prepared("setup", "m1")
        referee.now += timedelta(minutes=1)
        house.look()
        assert house.memory.prepared("setup", "m1")

    @limited({"delay": "2d"})
    def test_half_of_the_time_is_the_longest_delay(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob, f"{STANDARD}\npace: 1d")
        referee.now += timedelta(hours=13)
        house.look()
        assert house.memory.prepared("setup", "m1")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[games.chess]\n", "games.chess"),
            ("", "no game is accepted"),
            ("[games.spaceships]\nlevle = 1\n", "levle is no key of this file; did you mean games.spaceships.level"),
            ("[games.spaceships]\noptions = 'all'\n", "games.spaceships.options = 'all': one of any, standard"),
            ("[games.spaceships]\n[play]\npace = ['1h', 'soon']\n", "soon"),
        ],
    )
    def test_a_bad_file_is_named(self, tmp_path: Path, text: str, said: str) -> None:
        file = tmp_path / "opponent.toml"
        account = 'name="house"\nserver="a.example"\nserver_address="p@a.example"\naddress="h@a.example"\nkey="k"\n'
        file.write_text(f'[account]\n{account}mail_in="mbox:/m"\nmail_out="sendmail:"\n{text}')
        with pytest.raises(BadAccount, match=re.escape(said)) as caught:
            load(file)
        assert "`" not in str(caught.value), "the words of a library"

    def test_all_faults_of_a_file_are_named(self, tmp_path: Path) -> None:
        file = tmp_path / "opponent.toml"
        file.write_text(
            'server_key = "AB"\n[account]\nname="The House"\naddress="h"\n'
            "[play]\nmatches = 0\n[games.spaceships]\nlevel = 9\n"
        )
        with pytest.raises(BadAccount) as caught:
            load(file)
        assert str(caught.value).removeprefix(f"{file}: ").split("; ") == [
            "server_key = 'AB': a key of 64 hex digits in lower case is expected",
            "account.server is missing",
            "account.server_address is missing",
            "account.key is missing",
            "account.mail_in is missing",
            "account.mail_out is missing",
            "account.name = 'The House': a player's name in lower case is expected",
            "account.address = 'h': a mail address such as anna@mail.example is expected",
            "play.matches: a whole number of at least 1 is expected",
            "games.spaceships.level: a whole number of at most 3 is expected",
        ]
        file.write_text("server_key = ")
        with pytest.raises(BadAccount, match="no TOML"):
            load(file)


class TestConvicted:
    """Whoever did not play by its seed and its letters; the bundle itself holds all the same."""

    @pytest.fixture
    def cheats(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Plays otherwise than the plan says; who replays it does not."""

        def patch(**changed: Callable[..., object]) -> None:
            def planned(program: Program, standing: MatchView) -> _Cheat | None:
                found = plan(program, standing)
                return _Cheat(found, changed) if found else None

            plan = Program._plan
            monkeypatch.setattr(Program, "_plan", planned)

        return patch

    @pytest.fixture
    def set_up(
        self, referee: Referee, house: Machine, bob: Mailbox, cheats: Callable[..., None]
    ) -> Callable[[], bytes]:
        """Play a match, for which it sets up by hand; its bundle."""

        def played() -> bytes:
            cheats(setup=lambda *_: ANN)
            return play(referee, house, bob)

        return played

    @pytest.mark.parametrize(
        ("what", "instead", "said"),
        [
            ("orders", lambda plan, *at: "Bz5" if at[1] == 2 else plan.orders(*at), "turn 2: house sent “Bz5”"),
            ("orders", lambda plan, *at: replace(plan, level=2).orders(*at), "turn"),
            ("setup", lambda *_: ANN, "game 1, setup: house sent “DS"),
        ],
        ids=["by hand in one turn", "another level", "another setup"],
    )
    def test_who_plays_otherwise(
        self,
        referee: Referee,
        house: Machine,
        bob: Mailbox,
        cheats: Callable[..., None],
        what: str,
        instead: Callable[..., object],
        said: str,
    ) -> None:
        cheats(**{what: instead})
        assert said in convicted(play(referee, house, bob), [plan_of(house).seed])

    def test_a_seed_that_opens_nothing(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        bundle = play(referee, house, bob)
        seed = bytearray(plan_of(house).seed)
        seed[0] ^= 1
        assert "no seed given here opens" in convicted(bundle, [bytes(seed)])

    @pytest.mark.parametrize(("times", "said"), [(0, "nobody here committed"), (2, "more than one")])
    def test_who_never_committed_or_twice_in_one_letter(
        self, referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch, times: int, said: str
    ) -> None:
        monkeypatch.setattr("pbem.player.program.comment", lambda commitment: comment(commitment) * times)
        assert said in convicted(play(referee, house, bob), [plan_of(house).seed])

    def test_another_edition_leaves_it_open_and_says_which_pbem_to_take(
        self, house: Machine, set_up: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another version that plays the same edition is no excuse."""
        bundle = set_up()
        assert convicted(bundle, [plan_of(house).seed])
        monkeypatch.setattr(blind, "PROGRAM", "99.0")
        assert convicted(bundle, [plan_of(house).seed])
        monkeypatch.setitem(EDITIONS, "spaceships", (*EDITIONS["spaceships"], "98.0"))
        (finding,) = judged(bundle, [plan_of(house).seed])
        assert finding.standing == "open"
        assert f"edition 1 was promised, and this pbem plays edition 2: take pbem {EDITIONS['spaceships'][0]}" in (
            finding.found
        )

    def test_an_edition_that_its_own_version_does_not_play_is_no_excuse(
        self, set_up: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cheating program could name an edition that nobody can look up."""
        seed = bytes(16)
        invented = Plan("play.example", "house", "spaceships", 1, seed, edition=7)
        monkeypatch.setattr("pbem.player.program.comment", lambda _: comment(invented.commitment))
        bundle = set_up()
        assert convicted(bundle, [seed])
        monkeypatch.setattr(blind, "PROGRAM", "0.6")
        (finding,) = judged(bundle, [seed])
        assert finding.standing == "open"
        assert "if nobody has published that, nothing shows that it was blind" in finding.found

    def test_who_committed_to_what_gives_no_setup_is_convicted(
        self, house: Machine, set_up: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever accepts against its own limits plays by hand."""
        bundle = set_up()
        monkeypatch.setattr(spaceships, "setup", Mock(side_effect=ValueError("no ships add up")))
        assert "not its own" in convicted(bundle, [plan_of(house).seed])


class TestEditions:
    def test_what_another_edition_promised_is_not_played_by_this_one(
        self,
        referee: Referee,
        house: Machine,
        bob: Mailbox,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """An honest program would convict itself by an upgrade in the midst of a match."""
        propose(referee, house, bob)
        referee.send(bob, bob.filled("setup", BOB))
        monkeypatch.setitem(EDITIONS, "spaceships", (*EDITIONS["spaceships"], "98.0"))
        house.live()
        assert house.letters.matches.standing("m1").asked
        assert not house.memory.prepared("orders", "m1")
        assert "m1: it cannot be played as promised: edition 1" in caplog.text


class TestOpenList:
    """It takes seats that nobody else wants, and claims from who is silent for long."""

    OPEN = "new spaceships\nsettle: 0\n"

    def later(self, referee: Referee, house: Machine, time: timedelta) -> None:
        referee.now += time
        house.live()

    def test_people_come_first(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        house.live()
        referee.send(bob, f"{self.OPEN}end\n")
        self.later(referee, house, timedelta(hours=23))
        assert not house.memory.prepared("join", "m1")
        self.later(referee, house, timedelta(hours=2))
        assert referee.match().phase == "setup"
        assert referee.match().names == ("bob", "house")
        assert "house joins" in read(bob)
        referee.send(bob, bob.filled("setup", BOB))
        referee.turn((bob, ""))
        house.live()
        referee.send(bob, "resign m1 match\n")
        house.live()
        bundle = house.memory.bundle("m1")
        assert bundle is not None
        agrees(bundle, [plan_of(house).seed])

    def test_one_at_a_time_and_the_oldest_first(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        cem = referee.registered("cem")
        house.live()
        referee.send(bob, f"{self.OPEN}end\n")
        referee.send(cem, f"{self.OPEN}end\n")
        self.later(referee, house, timedelta(days=2))
        assert [referee.match(number).phase for number in (1, 2)] == ["setup", "open"]
        self.later(referee, house, timedelta(minutes=59))
        assert referee.match(2).phase == "open"
        self.later(referee, house, timedelta(minutes=1))
        assert referee.match(2).phase == "setup"

    @pytest.mark.parametrize(
        "proposed", ["new shoot-em-up\nseats: 3\nend\n", "new spaceships\npace: none\nend\n", "set program yes\n"]
    )
    def test_what_does_not_fit_is_left_to_others(
        self, referee: Referee, house: Machine, bob: Mailbox, proposed: str
    ) -> None:
        house.live()
        referee.send(bob, proposed)
        if proposed.startswith("set"):
            referee.send(bob, f"{self.OPEN}end\n")
        self.later(referee, house, timedelta(days=2))
        assert referee.match().phase == "open"
        assert not house.memory.prepared("join", "m1")

    @limited({"joins": "off"})
    def test_where_it_is_off_it_does_not_even_look(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        house.live()
        referee.send(bob, f"{self.OPEN}end\n")
        self.later(referee, house, timedelta(days=2))
        assert referee.match().phase == "open"
        assert not house.memory.prepared("ask", "")

    @limited({}, {"claims": "off"})
    def test_it_claims_from_who_is_silent(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        """For seven days, unless it is told otherwise."""
        propose(referee, house, bob, f"{STANDARD}\npace: 1d\ngrace: 1d\nmiss: wait")
        referee.wait(timedelta(days=3))
        house.live()
        assert house.letters.matches.standing("m1").claim
        referee.wait(timedelta(days=6))
        house.restart()
        house.live()
        assert referee.match().phase == "setup"
        referee.wait(timedelta(days=2))
        house.live()
        assert referee.match().phase == ("setup" if house.program.settings.play.claims == "off" else "closed")

    def test_who_comes_back_goes_on(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob, f"{STANDARD}\npace: 1d\ngrace: 1d\nmiss: wait")
        referee.wait(timedelta(days=3))
        house.live()
        referee.send(bob, bob.filled("setup", BOB))
        house.live()
        assert not house.letters.matches.standing("m1").claim
        self.later(referee, house, timedelta(days=8))
        assert not house.memory.prepared("claim", "m1")


class _Cheat:
    """A plan that commits as it should, and plays as it likes."""

    def __init__(self, plan: Plan, changed: dict[str, Callable[..., object]]) -> None:
        self._plan = plan
        self._changed = changed

    def __getattr__(self, name: str) -> object:
        found = getattr(self._plan, name)
        if name in self._changed:
            return lambda *given: self._changed[name](self._plan, *given)
        return found


class Mortal(Machine):
    """A program that is started again after each death."""

    deaths = 0

    def live(self) -> None:
        for _ in range(20):
            try:
                super().live()
            except Killed:
                self.deaths += 1
                self.restart()
            else:
                return


def test_a_name_that_nobody_may_have_ends_it_with_a_word(referee: Referee, tmp_path: Path) -> None:
    """It would wait for ever."""
    root = Machine(referee, referee.person("root"), tmp_path / "root" / "memory.sqlite")
    with pytest.raises(NoAccount, match=r"does not register root: this name is taken.*another `name`"):
        root.live()
    root.close()


def test_it_registers_anew_where_nobody_answers_for_a_day(referee: Referee, house: Machine) -> None:
    """Whoever knows its address can use up what is answered there in a day."""
    for number in range(EACH):
        head = f"From: {house.person.address}\r\nMessage-ID: <{number}@evil.example>\r\n\r\n"
        referee.deliver(f"{head}help\r\n".encode(), "eve@evil.example")
    head = f"From: {house.person.address}\r\nMessage-ID: <more@evil.example>\r\n\r\n"
    referee.deliver(f"{head}register mallory\r\n".encode(), "eve@evil.example")
    house.live()
    referee.wait(timedelta(hours=23))
    house.live()
    assert len(house.sent) == 1
    referee.wait(timedelta(hours=1))
    house.live()
    assert house.memory.account().name == "house"


@contextmanager
def clock_wrong(referee: Referee, by: timedelta) -> Iterator[None]:
    """The clock of the server, but not that of the program, is wrong by so much."""
    deliver = referee.deliver

    def late(raw: bytes, sender: str, to: str) -> None:
        referee.now += by
        deliver(raw, sender, to)
        referee.now -= by

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(referee, "deliver", late)
        yield


@pytest.mark.parametrize("by", [timedelta(days=365), timedelta(days=-365)])
def test_what_a_server_refused_whose_clock_was_wrong_is_sent_again(
    referee: Referee, house: Machine, bob: Mailbox, by: timedelta
) -> None:
    """Its date cannot be right by such a clock; the program would have lost by the clock."""
    house.live()
    referee.send(bob, new(bob, "spaceships", "house", options=STANDARD))
    house.look()
    with clock_wrong(referee, by):
        house.live()

    def states() -> list[str]:
        return [sent.state for sent in house.memory.sent("setup", "m1", "game 1")]

    assert states() == ["refused"]
    house.live()
    assert states() == ["refused"], "not at once"
    referee.wait(timedelta(hours=1))
    house.live()
    assert states() == ["refused", "done"]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("number", [4, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 2, 6, 8))])
def test_no_death_doubles_or_loses_a_letter(tmp_path: Path, point: str, number: int) -> None:
    referee = Referee(tmp_path)
    death = Death(point, number)
    house = Mortal(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite", death)
    bundle = play(referee, house, referee.registered("bob"))
    assert house.deaths == 1
    agrees(bundle, [plan_of(house).seed])
    contents = defaultdict(set)
    for sent in house.memory.in_state("ready", "sent", "done", "refused", "asked", "bounced"):
        assert sent.state in {"sent", "done"} or (sent.command, sent.state) == ("register", "asked"), sent
        contents[sent.command, sent.match, sent.place, sent.rev].add(sent.raw)
    assert set(house.sent) == {raw for raws in contents.values() for raw in raws}
    counted = Counter(command for command, *_ in contents)
    # The orders of the fourth turn stood when bob resigned.
    assert (counted["accept"], counted["setup"], counted["orders"], counted["press"]) == (1, 1, 4, 2)
    house.close()
    referee.close()


def test_nothing_secret_is_logged(
    referee: Referee, house: Machine, bob: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pbem.player")
    play(referee, house, bob)
    assert "m1: accepted: spaceships" in caplog.text
    assert "game 1 turn 1: answered" in caplog.text
    plan = plan_of(house)
    assert plan.seed.hex() not in caplog.text
    for command in ("setup", "orders"):
        for sent in house.memory.prepared(command, "m1"):
            body = sent.form.split("\n")[5:-2]
            assert not any(line and line != "final" and line in caplog.text for line in body)


def test_a_letter_writes_no_line_of_its_own_in_the_log() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "forged: %s", ("a\n2026 INFO m1: won\x1b[2J",), None)
    assert _Lines("%(levelname)s %(message)s").format(record) == "ERROR forged: a\\n2026 INFO m1: won\\x1b[2J"


def test_an_error_in_one_match_stops_no_other(
    referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = Plan.setup

    def broken(plan: Plan, number: int, options: Options, seat: int) -> str:
        if plan == plan_of(house, "m1"):
            raise RuntimeError("DS Rv1-Ow2 is secret")
        return original(plan, number, options, seat)

    monkeypatch.setattr(Plan, "setup", broken)
    propose(referee, house, bob)
    propose(referee, house, bob, f"{STANDARD}\npace: 6d")
    assert not house.memory.prepared("setup", "m1")
    assert house.memory.prepared("setup", "m2")
    assert "m1: cannot go on: RuntimeError at" in caplog.text
    assert "secret" not in caplog.text


def against_each_other(referee: Referee, first: Machine, second: Machine, game: str, options: str) -> bytes:
    """A match of two programs; whoever proposes commits in that very letter."""
    seed = first.random(16)
    level = first.program.settings.games[game].level
    plan = Plan(referee.config.server, first.person.name, game, level, seed, PROGRAM, edition(game))
    text = f"{options}\n{comment(plan.commitment)}"
    before = len(first.letters.matches.standings)
    first.post(first.letters.tell(f"new {game} with {second.person.name}", referee.now, text=text))
    standing = first.letters.matches.standings[-1]
    assert len(first.letters.matches.standings) == before + 1
    first.memory.keep(PlanKnown(plan), standing.match)
    while second.look() or first.look():
        pass
    found = first.memory.bundle(standing.match)
    assert found is not None, first.letters.matches.standing(standing.match)
    return found


GAMES = {
    "spaceships": "fleet: cost:3\nsettle: 0",
    "dueling-masters": "settle: 0\nmax_turns: 30",
    "shoot-em-up": "settle: 0\nboard: 7x7",
}


@pytest.mark.parametrize("game", sorted(STRATEGIES))
def test_two_programs(referee: Referee, tmp_path: Path, game: str) -> None:
    machines = [
        Machine(referee, referee.person(name), tmp_path / name / "memory.sqlite", level=2)
        for name in ("house", "home")
    ]
    for machine in machines:
        machine.live()
    bundle = against_each_other(referee, machines[0], machines[1], game, GAMES[game])
    findings = judged(bundle, [plan_of(machine).seed for machine in machines])
    assert [finding.standing for finding in findings] == ["agrees", "agrees"], findings
    for machine in machines:
        machine.close()


def test_pbem_verify_says_whether_a_program_was_blind(
    referee: Referee, house: Machine, bob: Mailbox, tmp_path: Path
) -> None:
    """`--opponent`: by its seed, or by the letter that opened it."""
    file, letter = tmp_path / "m1.pbem.zip", tmp_path / "opening.eml"
    file.write_bytes(play(referee, house, bob))
    letter.write_bytes(bob.letters.came[-1])
    for given, status, words in (
        ([plan_of(house).seed.hex()], 0, "ok    opponent   seat 2: house played blind"),
        ([str(letter), "--json"], 0, '"standing": "agrees"'),
        (["00" * 16], 1, "FAIL  opponent"),
        (["00"], 2, ""),
    ):
        done = CliRunner().invoke(verify_command, [str(file), "--opponent", *given])
        assert (done.exit_code, words in done.output) == (status, True), done.output
        assert status == 0 or "Everything holds" not in done.output


def test_the_example_of_a_configuration_says_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "opponent.toml"
    file.write_bytes((example_folder() / "opponent.example.toml").read_bytes())
    found = load(file)
    assert (found.play, found.memory) == (PlayerLimits(), str(tmp_path / "opponent.sqlite"))
    assert found.games == dict.fromkeys(STRATEGIES, GameLimits())
