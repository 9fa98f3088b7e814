"""Whether a program played blind: by its seed and its letters alone, and by the edition that it promised."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from in_a_box.referee import ANN, BOB, Mailbox, Referee
from msgspec.structs import replace
from player.program_matches import bob, convicted, house, judged, plan_of, play, propose

from pbem.cli.verify import verify as verify_command
from pbem.player import blind
from pbem.player.blind import Plan, comment
from pbem.player.opponent import EDITIONS, spaceships

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.machine import Machine


__all__ = ["bob", "house"]


class TestConvicted:
    """Whoever did not play by its seed and its letters; the bundle itself holds all the same."""

    @pytest.fixture
    def cheated(
        self, referee: Referee, house: Machine, bob: Mailbox, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., bytes]:
        """Play a match otherwise than the plan says, by default with a setup by hand; its bundle."""

        def played(what: str = "setup", instead: Callable[..., str] = lambda *_: ANN) -> bytes:
            true = getattr(Plan, what)
            with monkeypatch.context() as patch:
                patch.setattr(Plan, what, lambda plan, *at: instead(true, plan, *at))
                return play(referee, house, bob)

        return played

    @pytest.mark.parametrize(
        ("what", "instead", "said"),
        [
            ("orders", lambda true, plan, *at: "Bz5" if at[1] == 2 else true(plan, *at), "turn 2: house sent “Bz5”"),
            ("orders", lambda true, plan, *at: true(replace(plan, level=2), *at), "turn"),
            ("setup", lambda *_: ANN, "game 1, setup: house sent “DS"),
        ],
        ids=["by hand in one turn", "another level", "another setup"],
    )
    def test_who_plays_otherwise(
        self, house: Machine, cheated: Callable[..., bytes], what: str, instead: Callable[..., str], said: str
    ) -> None:
        assert said in convicted(cheated(what, instead), [plan_of(house).seed])

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
        self, house: Machine, cheated: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another version that plays the same edition is no excuse."""
        bundle = cheated()
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
        self, cheated: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cheating program could name an edition that nobody can look up."""
        seed = bytes(16)
        invented = Plan("play.example", "house", "spaceships", 1, seed, edition=7)
        monkeypatch.setattr("pbem.player.program.comment", lambda _: comment(invented.commitment))
        bundle = cheated()
        assert convicted(bundle, [seed])
        monkeypatch.setattr(blind, "PROGRAM", "0.6")
        (finding,) = judged(bundle, [seed])
        assert finding.standing == "open"
        assert "if nobody has published that, nothing shows that it was blind" in finding.found

    def test_who_committed_to_what_gives_no_setup_is_convicted(
        self, house: Machine, cheated: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever accepts against its own limits plays by hand."""
        bundle = cheated()
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
