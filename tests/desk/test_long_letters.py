"""Letters as long as they may be, and letters that ask for much: memory, the store's lock, and opponents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held
from in_a_box.referee import SERVER, Mailbox, Referee, body, form_in, new, placed
from in_a_box.small_games import DESTROYERS, SMALL

from pbem.boards.picture import sheet as boards_sheet
from pbem.desk import answer_letter, letter_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games.squares import Board


PAD = ("# " + "x" * 60 + "\n") * 3500
"""Some 220,000 octets, which are signed."""

MOST = 2 * 1024 * 1024
"""The most octets of the letters of two players that wait in a match."""


PROPOSALS = {
    "an address of combining marks": "with " + ("a" + "\u0301\u0323" * 14_000 + "@mail.example\n") * 4 + "end\n",
    "many opponents": "with "
    + "".join(f"b{number}{' ' if number % 999 else chr(10)}" for number in range(35_000))
    + "\nend\n",
    "many addresses": "with "
    + "".join(f"a{at}@b.example{' ' if at % 99 else chr(10)}" for at in range(14_000))
    + "\nend\n",
    "opponents with long names": "with " + "".join(f"{'b' * 50_000}{at}\n" for at in range(4)) + "end\n",
    "options with long names": "".join(f"{'b' * 50_000}{at}: x\n" for at in range(4)) + "end\n",
    "one option again and again": ("a: b " * 8 + "\n") * 4500 + "end\n",
    "many options": "".join(f"k{at}: v{' ' if at % 9 else chr(10)}" for at in range(20_000)) + "\nend\n",
    "many options without a value": "".join(f"k{at}:{' ' if at % 9 else chr(10)}" for at in range(20_000))
    + "\nend\n",
    "keys of many parts": "with bob\n" + "".join(f"k{at}: {{{'a.' * 30_000}b=1}}\n" for at in range(3)) + "end\n",
}


@pytest.mark.parametrize("heavy", PROPOSALS)
def test_a_heavy_proposal_is_refused_at_little_cost(referee: Referee, heavy: str) -> None:
    """It is judged under the lock, so that each other letter waits for it; what it says wrong is told in brief."""
    ann, _ = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships with bob\nend\n")  # what is loaded at the first time
    began = time.process_time()
    referee.send(ann, "new spaceships " + PROPOSALS[heavy])
    assert time.process_time() - began < 1
    assert "Refused" in ann.text
    assert len(ann.letters[-1].as_bytes()) < 32 * 1024, "its bulletin was 3.4 MB"


def padded(referee: Referee, person: Mailbox, text: str) -> str:
    referee.send(person, PAD + text)
    return person.text


def octets(referee: Referee) -> int:
    match = referee.match()
    return sum(kept.octets for kept in (*match.orders.values(), *match.stored.values(), *match.setups.values()))


def withdraw(referee: Referee, person: Mailbox, rev: int) -> str:
    place = f"server {SERVER}\nplayer {person.name}\nprev {referee.match().prev}\n"
    return padded(referee, person, f"clear m1 turn 1\n{place}rev {rev}\nend\n")


def test_orders_that_are_sent_and_withdrawn_again_and_again_become_no_longer(referee: Referee) -> None:
    """It was seven milliseconds more under the lock with each, and all of them in memory, without end."""
    ann, _ = referee.begun(SMALL, DESTROYERS)
    refused = []
    for rev in range(1, 21, 2):
        assert "Refused" not in padded(referee, ann, ann.filled("orders", "# none", rev=rev))
        refused.append("would become too long together" in withdraw(referee, ann, rev + 1))
    assert not refused[0]
    assert refused[-1]
    assert octets(referee) < MOST
    referee.read_cold()
    # What was withdrawn can still be replaced.
    ann_sends = ann.filled("orders", "# none", rev=99)
    referee.send(ann, ann_sends)
    assert "Your orders for turn 1 stand" in ann.text


def test_orders_in_advance_become_no_longer_than_that_either(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, DESTROYERS)
    forms = {person.name: person.filled("orders", "# none") for person in (ann, bob)}
    for turn in range(2, 11):
        for person in (ann, bob):
            padded(referee, person, forms[person.name].replace("turn 1", f"turn {turn}", 1))
    assert "would become too long together" in " ".join(bob.text.split())
    assert len(referee.match().stored) > 2
    assert octets(referee) < MOST
    # Letters as people write them have room.
    referee.send(ann, forms["ann"].replace("turn 1", "turn 11", 1))
    assert "Refused" not in ann.text


def test_the_end_of_a_game_comes_without_what_no_mail_server_takes(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it bounces, and whose letters bounce does not hear that the next setup is due."""
    monkeypatch.setattr("pbem.desk.letter_writer._ROOM", 1024 * 1024)
    ann, bob = referee.begun(f"{SMALL}\nkind: scored", DESTROYERS)
    for _ in range(6):
        padded(referee, ann, ann.filled("orders", "final\n# none"))
        referee.send(bob, bob.filled("orders", "final\n# none"))
    padded(referee, ann, f"resign m1 game 1\nserver {SERVER}\nplayer ann\nprev {referee.match().prev}\nend\n")
    end = bob.find("game 1, the end")
    assert len(end.as_bytes()) < 512 * 1024
    proof = bob.find("game 1, the proof")
    assert len(proof.as_bytes()) < 512 * 1024
    assert "m1-game-1.pbem.zip has become too large for a letter. The operator" in body(proof)
    assert bob.form("setup").startswith("setup m1 game 2")
    referee.send(bob, "transcript m1\n", sign=False)
    told, answer = bob.letters[-2:]
    assert "m1.pbem.zip has become too large for a letter. The operator" in body(told)
    assert "there is a letter of its own about it" in " ".join(body(answer).split())
    assert len(told.as_bytes()) + len(answer.as_bytes()) < 512 * 1024


def test_the_proposals_of_strangers_do_not_hide_what_is_under_way(referee: Referee) -> None:
    ann, _ = referee.agreed()
    for account in range(3):
        mallory = referee.registered(f"mallory{account}")
        for number in range(19):
            referee.send(mallory, new(mallory, "spaceships", "ann", options=f"pace: {number + 1}d"))
    referee.send(ann, "status\n", sign=False)
    assert ann.text.index("m1  Spaceships against bob; game 1, setups") < ann.text.index(
        "m2  Spaceships against mallory0"
    )
    assert "8 more matches are under way or proposed" in ann.text


def test_who_plays_very_many_matches_begins_no_other(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost letter was told in each of 400 in one go, and the next letter waited 1.4 s for its 250."""
    ann, bob = referee.begun(SMALL, DESTROYERS)
    carl = referee.registered("carl")
    referee.send(carl, new(carl, "spaceships", "ann"))
    referee.send(carl, new(carl, "spaceships"))
    accepting = f"accept m2 {referee.match(2).rules_hash}\n"
    for person in (bob, ann, carl):
        referee.send(person, "substitute m1 carl for bob\n")
    taking = form_in(carl.text, "substitute")
    monkeypatch.setattr("pbem.desk.seats._PLAYED", 1)
    for text in (new(ann, "spaceships", "bob", options="pace: 9d"), accepting, "join m3\n"):
        referee.send(ann, text)
        assert "nobody plays more than 1 matches at once" in " ".join(ann.text.split())
    monkeypatch.setattr("pbem.desk.seats._PLAYED", 0)
    referee.send(carl, taking)
    assert "nobody plays more than 0 matches at once" in " ".join(carl.text.split())
    monkeypatch.setattr("pbem.desk.seats._PLAYED", 1)
    referee.send(ann, "resign m1 match\n")
    referee.send(ann, f"{accepting}# again\n")
    assert referee.match(2).phase == "setup", ann.text


# Letters that ask for much.


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the sheets that are drawn."""
    titles: list[str] = []

    def sheet(title: str, boards: Sequence[Board], text: str) -> bytes:
        titles.append(title)
        return boards_sheet(title, boards, text)

    monkeypatch.setattr(letter_writer, "sheet", sheet)
    return titles


def test_the_same_in_other_spelling_is_answered_once(referee: Referee, drawn: list[str]) -> None:
    ann = referee.person("ann")
    text = "sheet spaceships\nSHEET Spaceships\nsheet   spaceships,\nSheet\nspaceships\nsheet spaceships.\n" * 4
    referee.send(ann, text, sign=False)
    assert len(list(ann.last.iter_attachments())) == 1
    assert len(drawn) == 1
    assert ann.text.count("> ") == 1


def test_what_only_looks_alike_is_not_the_same(referee: Referee) -> None:
    """Capitals of orders matter; so does what is wrong with a command."""
    ann, _ = referee.begun()
    orders = "preview m1 turn 1\nRw1 Rw2\nend\npreview m1 turn 1\nrw1 rw2\nend\npreview m1 turn 1\nRw1\n  Rw2\nend\n"
    referee.send(ann, orders + "press m2\nend\npress m2\nhello\nend\nsheet ?\nsheet !\n", sign=False)
    assert ann.text.count("> preview") == 2
    assert ann.text.count("> press") == 2
    assert ann.text.count("> sheet") == 2


def test_a_letter_brings_a_few_sheets_and_reports(referee: Referee, drawn: list[str]) -> None:
    ann, _ = referee.begun()
    games = "sheet spaceships\nsheet shoot-em-up\nsheet dueling-masters\n"
    referee.send(ann, games + "sheet m1\nhelp\nrules spaceships\nrules dueling-masters\ntranscript m1\n", sign=False)
    assert ann.text.count("one letter may ask for at most 5") == 2
    assert len(list(ann.last.iter_attachments())) == 4
    assert len(drawn) == 4


def test_orders_are_short(referee: Referee) -> None:
    """A game judges them while the store is locked: as many words as fit into a letter took it a second and more."""
    ann, _ = referee.begun()
    referee.send(ann, ann.filled("orders", "xx " * 20_000))
    assert "have at most 10000 characters together" in " ".join(ann.text.split())
    many = "".join(f"preview m1 turn 1\n{f'x{at} ' * 1000}\nend\n" for at in range(10))
    referee.send(ann, many, sign=False)
    assert " ".join(ann.text.split()).count("characters together") == 7
    referee.send(ann, ann.filled("orders", f"# {'x' * 9000}\nRw1 Rw2"))
    assert "characters together" not in " ".join(ann.text.split())


def test_an_answer_that_becomes_too_long_says_what_is_left_out(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_letter, "_ANSWER", 40_000)
    ann = referee.person("ann")
    referee.send(ann, "sheet spaceships\nsheet shoot-em-up\nsheet dueling-masters\n", sign=False)
    files = [part.get_filename() for part in ann.last.iter_attachments()]
    assert files == ["spaceships-sheet.pdf"]
    assert "too long: shoot-em-up-sheet.pdf, dueling-masters-sheet.pdf" in " ".join(ann.text.split())
    monkeypatch.setattr(answer_letter, "_ANSWER", 3000)
    referee.send(ann, "help\nhelp setup\nhelp orders\nhelp signing\n", sign=False)
    assert "the rest is left out" in " ".join(ann.text.split())
    assert len(ann.text) < 3300


def test_a_bundle_that_an_opponent_makes_large_comes_in_a_letter_of_its_own(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many mail servers refuse large letters: the request for the next setup must not be in one."""
    monkeypatch.setattr("pbem.desk.match_letters._BESIDE", 1 << 19)
    ann, bob = referee.begun("kind: scored\ngames: 2")
    place = f"{placed(ann)}turn 1\nprev {referee.match().prev}\n"
    padding = "\n-- \n" + f"{'x' * 75}\n" * 3000
    for rev in range(1, 11, 2):  # each that is withdrawn stays in the bundle
        referee.send(ann, ann.filled("orders", "", rev) + padding)
        referee.send(ann, f"clear m1\n{place}rev {rev + 1}\nend\n{padding}")
    referee.send(ann, f"resign m1 game 1\n{place}rev 1\nend\n")
    *_, proof, end = bob.letters.came
    assert len(end) < 200_000 < 1 << 19 < len(proof)
    assert bob.form("setup")
    assert "which is so large that it comes in a letter of its own" in " ".join(bob.text.split())
    held(bob.letters[-2])
    referee.send(bob, "transcript m1\n", sign=False)
    told, answer = bob.letters[-2:]
    assert "a letter of its own about it" in " ".join(body(answer).split())
    held(told)
