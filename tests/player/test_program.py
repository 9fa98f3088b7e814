"""A program that plays by mail: it accepts what fits, plays blind, and whoever has its seed can tell."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.machine import Machine
from in_a_box.referee import BOB, Mailbox, Referee, new
from in_a_box.restores import back_up, put_back
from machines.deaths import Death, Killed
from msgspec.structs import replace
from player.program_matches import STANDARD, agrees, bob, closed, entered, house, plan_of, play, propose, read

from pbem.cli.opponent import _Lines
from pbem.desk.strangers import EACH
from pbem.player.blind import Plan, seeds
from pbem.player.correspondence import POINTS
from pbem.player.known import AccountKnown
from pbem.player.opponent import strategy
from pbem.player.program import NoAccount, ProgramKnown
from pbem.player.server_letter import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.games import Options

__all__ = ["bob", "house"]


class TestAMatch:
    def test_is_played_blind_and_opened(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        bundle = play(referee, house, bob)
        opened = seeds(bob.text)
        assert plan_of(house).seed in opened
        assert "at level 1" in agrees(bundle, opened)
        assert not house.memory.alarms()
        assert all(
            sent.state == "done" and "\nfinal\n" in sent.form for sent in house.memory.prepared("orders", "m1")
        )
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


def test_what_came_back_goes_again_at_the_next_start(
    referee: Referee, house: Machine, bob: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    propose(referee, house, bob)
    (accepted,) = house.memory.prepared("accept", "m1")
    house.memory.settle(accepted.id, "bounced")
    refused = Event("answer", match="m1", said="refused", faults=("no", "none"), sent=accepted)
    lie = Event("forged", "news", "m1", "it is signed by another server")
    house.program.hear([Event("bounced", match="m1", sent=accepted), refused, lie], referee.now)
    assert caplog.messages[-3:] == [
        "came back, and goes again at the next start: accept m1",
        "refused: accept m1: no; none",
        "m1: forged: 'news': it is signed by another server",
    ]
    house.live()
    assert house.sent.count(accepted.raw) == 1
    house.restart()
    house.live()
    assert house.sent.count(accepted.raw) == 2


@pytest.mark.parametrize("known", [True, False])
def test_letters_of_another_key_than_that_of_its_configuration_register_nobody(
    referee: Referee, house: Machine, *, known: bool
) -> None:
    key = referee.desk.archive.key if known else "0" * 64
    house.program.settings = replace(house.program.settings, server_key=key)
    house.live()
    assert (house.memory.account().name, house.memory.account().server_key) == ("house" if known else None, key)


class TestWishes:
    def begun(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        propose(referee, house, bob)
        referee.send(bob, bob.filled("setup", BOB))
        house.live()

    def test_a_draw_is_offered_once_a_game(
        self, referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(strategy("spaceships"), "wish", lambda *_: "draw")
        self.begun(referee, house, bob)
        referee.turn((bob, ""))
        house.live()
        assert [sent.form.split("\n")[0] for sent in house.memory.prepared("draw", "m1")] == ["draw m1 offer"]
        assert len(house.memory.prepared("orders", "m1")) == 2

    def test_a_draw_is_accepted(
        self, referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.begun(referee, house, bob)
        monkeypatch.setattr(strategy("spaceships"), "wish", lambda *_: "draw")
        referee.send(bob, "draw m1 offer\n")
        house.live()
        assert closed(house).reason == "agreement"

    def test_a_draw_is_declined_by_who_does_not_wish_it(self, referee: Referee, house: Machine, bob: Mailbox) -> None:
        self.begun(referee, house, bob)
        referee.send(bob, "draw m1 offer\n")
        house.live()
        assert house.letters.matches.standing("m1").phase == "playing"
        assert house.letters.matches.standing("m1").offers == []

    def test_it_resigns(
        self, referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(strategy("spaceships"), "wish", lambda *_: "resign")
        self.begun(referee, house, bob)
        assert closed(house).reason == "resignation"
        assert house.memory.prepared("orders", "m1") == []


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
    root.memory.keep(AccountKnown(challenge="0" * 64))
    assert root.letters.registration.confirm(referee.now)
    (asked,) = root.memory.prepared("register", "")
    root.program.hear([Event("answer", said="refused", sent=asked)], referee.now)  # its key may still prove itself
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


def test_it_registers_again_at_its_next_start_where_a_restored_server_has_forgotten_it(
    referee: Referee, house: Machine
) -> None:
    empty = back_up(referee)
    house.live()
    put_back(referee, empty)
    house.restart()
    house.live()
    assert referee.desk.players.setting("house", "program", "no") == "yes"


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
@pytest.mark.parametrize("number", [1, 4, *(pytest.param(number, marks=pytest.mark.long) for number in (2, 6, 8))])
def test_no_death_doubles_or_loses_a_letter(tmp_path: Path, point: str, number: int) -> None:
    referee = Referee(tmp_path)
    death = Death(point, number)
    house = Mortal(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite", death)
    bundle = play(referee, house, referee.registered("bob"))
    assert house.deaths == 1
    agrees(bundle, [plan_of(house).seed])
    contents = defaultdict(set)
    for sent in house.memory.in_state("ready", "sent", "done", "refused", "asked", "bounced"):
        assert sent.state in {"sent", "done"} or sent.command == "register", sent
        contents[sent.command, sent.match, sent.place, sent.rev].add(sent.raw)
    assert all(len(raws) == 1 for raws in contents.values())
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


def test_whoever_lost_the_seed_of_a_setup_that_stands_promises_no_other(referee: Referee, tmp_path: Path) -> None:
    """In a tournament its greeting promises: a second one would not be kept."""
    with entered(referee, tmp_path, "pace: 3d") as (_, (first, *_)):
        first.live()
        assert first.memory.prepared("press", "m1")
        with closing(Machine(referee, first.person, tmp_path / "new" / "memory.sqlite")) as second:
            second.live()
            referee.wait(timedelta(days=2))
            second.live()
            assert second.letters.matches.standing("m1").phase == "setup"
            assert not second.memory.prepared("press", "m1")
