"""A match through the desk, letter by letter, as two players would play it."""

from __future__ import annotations

import hashlib
import io
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held, sentence_of
from in_a_box.referee import Mailbox, Referee, attachment, body, confirming
from in_a_box.small_games import FLEETS, SMALL
from in_a_box.stores import at_rest, of_sqlite

from pbem.identity import ssh
from pbem.store.errors import FullError
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path


def test_commitments_open_with_sha256sum(referee: Referee, tmp_path: Path) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    opening = attachment(_answer(bob), ".opening.txt")
    assert hashlib.sha256(opening).hexdigest() in body(ann.find("game 1 begins"))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    folder = tmp_path / "unzipped"
    with zipfile.ZipFile(io.BytesIO(attachment(ann.find(", the end"), ".zip"))) as archive:
        archive.extractall(folder)
    done = subprocess.run(
        ["sha256sum", "-c", "commitments.sha256"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout == "openings/game-1-seat-1.txt: OK\nopenings/game-1-seat-2.txt: OK\n"
    assert (folder / "openings/game-1-seat-2.txt").read_bytes() == opening


def test_orders_with_an_old_prev_come_back_with_the_present_one(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, FLEETS)
    present = ann.filled("orders", "Rv1")
    before, now = (ann.form(kind).split("prev ")[1].split("\n")[0] for kind in ("setup", "orders"))
    referee.send(ann, present.replace(now, before))
    assert f"wrong `prev`; expected {now}" in " ".join(ann.text.split())
    assert ann.form("orders") == present
    referee.send(ann, ann.form("orders"))
    assert "Your orders for turn 1 stand, revision 1" in ann.text


def _answer(person: Mailbox) -> EmailMessage:
    return next(letter for letter in person.letters if "Your setup stands" in body(letter))


def test_a_running_game_shows_only_ones_own_papers_in_the_transcript(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.turn((ann, "mRv1 Rv5"), (bob, ""))
    referee.send(bob, "transcript m1\n", sign=False)
    with zipfile.ZipFile(io.BytesIO(attachment(bob.last, ".zip"))) as archive:
        names = [name for name in archive.namelist() if "/" in name]
        assert b"mRv1" not in b"".join(archive.read(name) for name in archive.namelist())
    assert names
    assert {name for name in names if "seat-2" not in name} == {"letters/agreed-seat-1.eml"}
    held(bob.last)


def test_a_message_has_four_thousand_characters_at_most(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    before = len(bob.letters)
    referee.send(ann, f"press m1 public\n{'so ' * 1400}\nend\n")
    assert "a message has at most 4000 characters, and this one has 4199" in " ".join(ann.text.split())
    assert len(bob.letters) == before
    referee.send(ann, f"press m1 public\n{'so ' * 1300}\nend\n")
    assert len(bob.letters) == before + 1


@pytest.mark.parametrize(
    "text",
    [
        *("set timezone Asia/Tokyo", "set mail digest", "set format text", "set language de", "set program yes"),
        *("press m1\nHi.\nend", "observe m2", "unobserve m2"),
    ],
)
def test_whatever_changes_something_of_a_player_with_a_key_is_signed(referee: Referee, text: str) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    before = len(bob.letters)
    # What a revealed letter shows in its To: routes, and grants nothing.
    for to in ("pbem@play.example", str(ann.find("game 1 begins")["Reply-To"])):
        referee.send(ann, f"{text}\n", sign=False, to=to)
        assert "must be signed with your key" in ann.text
    assert len(bob.letters) == before
    assert referee.desk.players.setting("ann", text.split()[1], "as it was") == "as it was"
    assert not referee.desk.people.is_program("ann")


def test_what_cannot_be_done_is_refused_with_its_reason(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.turn((ann, "Rv5"), (bob, ""))
    referee.send(ann, "new spaceships with bob@mail.example\nend\n")
    assert "accept m2" in body(bob.last), "an address is as good as a name"
    some = "ab" * 32
    for text, told in {
        "accept m2": "repeat the hash of the agreed rules: `accept m2 <hash>`",
        f"accept m2 {some}": f"the hash of what was proposed is {referee.match(2).rules_hash}",
        "address add ann@mail.example": "this address is yours already",
        "clear m1 turn 1": "that turn is not being played",
        "clear m1\norders m1 turn 2\nGx3\nend": "this letter also submits what it withdraws: send one of the two",
        "orders m1 turn 2\nGx3\nend\nclear m1": "this letter also withdraws what it submits: send one of the two",
        f"confirm ann\nserver play.example\nchallenge {some}\nend": "ann@mail.example",
        f"confirm carl\nserver play.example\nchallenge {some}\nend": "this address has no pending registration",
        "diary m2": "nothing has happened yet: not everybody has accepted",
        "new spaceships\nserver play.example\n3 days\nend": "Options are written `option: value`.",
        "press m1\nend": "the message is empty",
        "preview m1 turn 1\nGx3\nend": "turn 2 is being played",
        "register anne": "your address is already registered as ann",
        "set timezone Mars/Olympus": "no such time zone",
        "sheet chess": "no such game; there are: ",
        "substitute m1 carl for dora": "dora has no seat in this match",
        f"substitute m1 carl for bob {some}": "the hash is for the newcomer to say: leave it out",
        "transcript m2": "the transcript begins when everybody has accepted",
    }.items():
        referee.send(ann, f"{text}\n")
        assert told in " ".join(ann.text.split()), text
    referee.send(bob, "decline m2\n")
    referee.send(ann, "press m2\nA pity.\nend\n")
    assert "this match was declined" in ann.text
    eve, fay = referee.person("eve"), referee.person("fay")
    referee.send(eve, f"register eve\n{ssh.public(ann.key)}\n", sign=False)
    assert "this key is already registered" in " ".join(eve.text.split())
    for one in (eve, fay):
        referee.send(one, f"register gil\n{ssh.public(one.key)}\n", sign=False)
    for one in (eve, fay):
        referee.send(one, confirming(one))
    assert "You are registered" in eve.text
    assert "this name has been taken meanwhile; register another" in " ".join(fay.text.split())
    referee.send(fay, "resign\n", sign=False)
    assert "name the match, such as m17" in fay.text


def test_every_letter_is_marked_and_threaded(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    for letter in (*ann.letters, *bob.letters):
        assert letter["Auto-Submitted"].startswith("auto-")
        assert letter["X-Loop"]
        assert letter["Message-ID"].endswith("@play.example>")
        if "[pbem m1]" in letter["Subject"]:
            assert str(letter["References"]).startswith("<m1.thread@play.example>")
            assert letter["Reply-To"] == "pbem+m1@play.example", "it names the match, and holds no secret"
        assert body(letter).isascii()
        assert all(len(line) <= 80 for line in body(letter).split("\n") if not line.startswith(">")), body(letter)


def test_nothing_secret_rests_in_the_open(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.turn((ann, "mRv1 Gw4"), (bob, ""))
    referee.send(ann, ann.filled("orders", "Ox5 mRv2 Yy1"))
    files = at_rest(referee.database)
    for secret in (b"Rv1 Rv2", b"LG3 Bz5", b"mRv1 Gw4", b"Ox5 mRv2", b"orders m1"):
        assert secret not in files
    assert b"spaceships" in files


def test_a_letter_for_two_matches_gives_no_secret_away(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, FLEETS)
    referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
    both = ann.filled("orders", "Rv1") + ann.filled("orders", "Rv1").replace("m1", "m2")
    referee.send(ann, both)
    assert ann.text.count("one match per letter") == 2
    referee.send(ann, "status m1\n", sign=False)
    assert "You have submitted no orders" in ann.text


def test_a_refused_signed_letter_is_not_obeyed_later(referee: Referee) -> None:
    ann, bob = referee.begun(f"{SMALL}\nkind: scored", FLEETS)
    text = sentence_of(referee, ann, "resign m1 game 1\n").replace("game 1", "game 2")
    resignation = referee.signed(ann, text)
    referee.deliver(referee.raw(ann, resignation), ann.address)
    assert "Refused" in ann.text
    referee.send(ann, "resign m1 game 1\n")
    referee.send(ann, ann.filled("setup", FLEETS[0]))
    referee.send(bob, bob.filled("setup", FLEETS[1]))
    referee.deliver(referee.raw(ann, resignation), "evil@elsewhere.example")
    assert "Refused" in ann.text
    referee.send(ann, "status m1\n", sign=False)
    assert "turn 1 is being played" in ann.text


def test_what_hides_is_shown_escaped(referee: Referee) -> None:
    ann = referee.person("ann")
    referee.send(ann, "help \x1b[31mred\u202e\nnonsense \x00\n", sign=False)
    assert "\\x1b[31mred" in ann.text
    assert "\\u202e" in ann.text
    assert "\x1b" not in ann.text


@of_sqlite
def test_a_store_that_fails_costs_a_letter_no_attempt(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.inbox.put(
        Envelope(ann.address, ("pbem@play.example",)), referee.raw(ann, "rules spaceships\n"), referee.now
    )
    # Room for the lease, and none for what comes of it: a disk that is almost full.
    pages = referee.database.scalar("PRAGMA page_count")
    for _ in range(5):
        referee.database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(FullError):
            referee.running.handle_next(referee.now)
    referee.database.execute(f"PRAGMA max_page_count = {pages + 1000}")
    referee.work()
    assert "SPACESHIPS" in ann.text
