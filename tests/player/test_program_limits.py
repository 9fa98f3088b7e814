"""What a program accepts and joins, by its configuration, and when it claims."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import BOB, Mailbox, Referee
from msgspec.structs import replace
from player.program_matches import STANDARD, bob, house, limited, propose, read

from pbem.examples import example_folder
from pbem.player.account_file import BadAccount
from pbem.player.opponent import STRATEGIES
from pbem.player.program_config import GameLimits, PlayerLimits, load

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.machine import Machine


__all__ = ["bob", "house"]


class TestLimits:
    @pytest.mark.parametrize(
        ("changed", "options", "reason"),
        [
            ({}, "pace: none", "My pace is 1h at least and 90d at most."),
            ({"play": PlayerLimits(pace=("1h", "30d"))}, "pace: 31d", "My pace is 1h at least and 30d at most."),
            ({"games": {"shoot-em-up": GameLimits()}}, "", "I play other games: shoot-em-up."),
            ({"games": {"spaceships": GameLimits(options="standard")}}, "fleet: cost:3", "only with its standard"),
            ({}, "fleet: cost:625", "I find no setup for these options."),
        ],
    )
    def test_what_does_not_fit_is_declined_with_the_reason(
        self, referee: Referee, house: Machine, bob: Mailbox, changed: dict[str, Any], options: str, reason: str
    ) -> None:
        house.program.settings = replace(house.program.settings, **changed)
        propose(referee, house, bob, f"{STANDARD}\n{options}")
        assert referee.match().phase == "declined"
        assert reason in read(bob)

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
        "proposed",
        [
            *("new shoot-em-up\nseats: 3\nend\n", "new spaceships\npace: none\nend\n"),
            *("new spaceships\nfleet: cost:625\nend\n", "set program yes\n"),
        ],
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


def test_the_example_of_a_configuration_says_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "opponent.toml"
    file.write_bytes((example_folder() / "opponent.example.toml").read_bytes())
    found = load(file)
    assert (found.play, found.memory) == (PlayerLimits(), str(tmp_path / "opponent.sqlite"))
    assert found.games == dict.fromkeys(STRATEGIES, GameLimits())
