"""Sealed matches by mail: what letters bring, what they say, and what is refused."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from data.material import IN_FORCE, KEYS
from in_a_box.bulletins import bulletin
from in_a_box.referee import SERVER, Referee, attachment, body, confirming
from in_a_box.sealed_seats import SealedSeat, agreed, document, play, signed_texts
from in_a_box.stores import of_sqlite
from judges.honest import accused
from signing.signers import WAYS

from pbem import identity
from pbem.identity import parse_key, ssh
from pbem.mail.message import read_letter
from pbem.match.documents import text_name
from pbem.match.events.sealed_events import sealed
from pbem.match.sealed_game import hashed
from pbem.match.transcript import sha256_hex
from pbem.proof.normal_form import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = base64.b64encode(b"nobody else can read this").decode()


def begun(referee: Referee, **given: Any) -> tuple[SealedSeat, SealedSeat]:
    """A sealed game of Spaceships in which both have committed to their setups."""
    ann, bob = agreed(referee, "ann", "bob", **given)
    for seat in (ann, bob):
        assert seat.write(referee)
    return ann, bob


def turns(referee: Referee, seats: tuple[SealedSeat, ...], most: int) -> None:
    """Play until so many turns are over."""
    while len(referee.match().turns) < most:
        assert sum(seat.write(referee) for seat in seats)


def stands(referee: Referee) -> tuple[object, ...]:
    match = referee.match()
    return (match.head, match.setups, match.play)


# Whole games.


def test_letters_say_what_came_what_it_led_to_and_what_is_due_from_whom(referee: Referee) -> None:
    ann, bob = begun(referee)
    first = body(ann.box.find("game 1 begins"))
    assert "Due from you: the commitment to orders." in first
    assert "ann's space, as everybody knows it" in first
    assert "your setup stands" not in first.lower()
    assert ann.write(referee)
    assert "Entered, turn 1: the commitment to orders.\n\nDue from bob: the orders, revealed." in ann.box.text
    assert "ann sent: the commitment to orders." in bob.box.text
    assert "Due from you: the orders, revealed." in bob.box.text
    turns(referee, (ann, bob), 1)
    last = body(ann.box.find("bob has played"))
    assert "bob sent: the answers; the commitment to orders." in last.replace("\n", " ")
    assert re.search(r"^ann\n  (strike|beam) ", last, re.M) or "You\n" in last
    assert attachment(ann.box.last, "turn-1.json")


# What letters bring for programs.


def test_each_letter_brings_what_both_signed_lately(referee: Referee) -> None:
    ann, bob = begun(referee)
    turns(referee, (ann, bob), 3)
    keys = [parse_key(ssh.public(seat.box.key)) for seat in (ann, bob)]
    seen = set[str]()
    for letter in ann.box.letters:
        told = document(letter)
        if told is None or told["pbem"] == "setup 1":
            continue
        texts = signed_texts(letter)
        game = sealed(referee.match()).game
        last = {text_name("m1", step.letter) for step in game.steps if step.turn == told["turn"] - 1}
        assert last <= texts.keys()
        assert "view" not in told
        hashes = bulletin(letter)["files"]
        for name, content in texts.items():
            assert hashes[name] == sha256_hex(content)
            text = read_letter(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + content)
            verdict = identity.judge(text, keys, SERVER, words=VOCABULARY)
            assert verdict.kind == "valid"
            assert verdict.signed.startswith((b"step m1 ", b"seal m1 "))
        seen |= texts.keys()
    assert len(seen) > 10
    assert seen == {*signed(referee)}


def signed(referee: Referee) -> list[str]:
    """The files with what makes the game, in order."""
    match = referee.match()
    return [text_name(match.id, path) for path in sealed(match).game.letters]


def test_a_report_brings_all_that_was_signed(referee: Referee) -> None:
    """For a player who lost all earlier letters."""
    ann, bob = begun(referee)
    turns(referee, (ann, bob), 4)
    before = len(ann.box.letters)
    referee.send(ann.box, "report m1")
    texts = [name for letter in ann.box.letters[before:] for name in signed_texts(letter)]
    assert texts == signed(referee), "the older ones come first"
    assert signed(referee)[0] not in signed_texts(ann.box.last)
    said = next(body(letter) for letter in ann.box.letters[before:] if "as it was signed" in str(letter["Subject"]))
    assert "what the players signed earlier in this game" in " ".join(said.split())


def test_a_note_comes_back_to_its_writer_alone(referee: Referee) -> None:
    ann, bob = begun(referee)
    ann.note = NOTE
    assert ann.write(referee)
    for letter in ann.box.letters[-1:]:
        told = document(letter)
        assert told is not None
        assert told["sealed"]["note"] == NOTE
    assert NOTE not in ann.box.text, "it is not echoed"
    told = document(bob.box.last)
    assert told is not None
    assert told["sealed"]["note"] is None
    referee.send(ann.box, "report m1\n")
    told = document(ann.box.last)
    assert told is not None
    assert told["sealed"]["note"] == NOTE


def test_observers_are_told_of_each_turn_once(referee: Referee) -> None:
    ann, bob = begun(referee)
    carl = referee.registered("carl")
    referee.send(carl, "observe m1\n")
    before = len(carl.letters)
    turns(referee, (ann, bob), 2)
    told = [body(letter) for letter in carl.letters[before:]]
    assert len(told) == 2
    assert "match m1: turn 1" in told[0]
    assert "match m1: turn 2" in told[1]


def test_reminders_and_misses_say_what_is_due(referee: Referee) -> None:
    ann, bob = begun(referee)
    assert ann.write(referee)
    referee.wait(timedelta(days=6, hours=1))
    assert "One day is left, and your letter has not arrived yet." in bob.box.text
    assert "Due from you: the orders, revealed." in bob.box.text
    assert "orders m1" not in bob.box.text
    referee.wait(timedelta(days=5))
    missed = ann.box.find("a deadline was missed")
    assert "Signed and sent, this wins you the game" in body(missed)
    assert "substitute" not in body(missed)
    referee.send(ann.box, ann.box.form("claim"))
    # What was secret is asked for before anybody has won.
    assert "reveal your secrets" in str(ann.box.find("reveal your secrets")["Subject"])
    assert ann.write(referee)
    referee.wait(timedelta(days=11))
    ended = body(ann.box.find("the end: you won"))
    assert "bob has revealed nothing" in ended
    assert "ann told the truth in everything" in ended
    assert referee.match().phase == "closed"


@pytest.mark.parametrize("words", ["resign m1 game 1", "annul m1 offer", "extend m1 3d"])
def test_sentences_in_the_turn_in_which_setups_are_opened(referee: Referee, words: str) -> None:
    """It is turn 0, whose number no field could name."""
    ann, bob = begun(referee, game="shoot-em-up")
    assert referee.match().turn == 0
    before = referee.match().seq
    referee.send(ann.box, f"{words}\n")
    assert referee.match().seq > before, body(ann.box.last)
    if words.startswith("annul"):
        referee.send(bob.box, "annul m1 accept\n")
    elif words.startswith("extend"):
        play(referee, [ann, bob], 2)
        referee.send(ann.box, "resign m1 game 1\n")
    play(referee, [ann, bob])
    assert referee.match().phase == "closed"
    assert accused(referee) == []


def test_a_pause_takes_no_steps_and_what_follows_asks_again(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.instruct("pause")
    assert "Until it resumes, nothing is entered" in body(bob.box.find("the match is paused"))
    referee.send(bob.box, "status m1\n")
    assert "The match is paused; nothing is entered until it resumes" in bob.box.text
    text, before = ann.letter(referee.match()), stands(referee)
    assert text is not None
    referee.send(ann.box, text, follow=False)
    assert "the match is paused" in ann.box.text
    assert stands(referee) == before
    referee.instruct("resume", reason="it has moved")
    assert "Due from you: the commitment to orders." in ann.box.text
    assert document(ann.box.last) is not None
    turns(referee, (ann, bob), 1)


# What is refused.


@pytest.mark.parametrize(
    "text",
    [
        "setup m1 game 1\nserver {server}\nplayer ann\nprev {prev}\nrev 1\nDS Rv1-Ow2\nend\n",
        "orders m1 turn 1\nserver {server}\nplayer ann\nprev {prev}\nrev 1\nGx3\nend\n",
        "orders m1 turn 3\nserver {server}\nplayer ann\nprev {prev}\nrev 1\nGx3\nend\n",
        "orders m1 default\nserver {server}\nplayer ann\nprev {prev}\nrev 1\nGx3\nend\n",
        "preview m1 turn 1\nGx3\nend\n",
    ],
)
def test_a_sealed_match_refuses_setups_and_orders(referee: Referee, text: str) -> None:
    ann, _ = begun(referee)
    before = stands(referee)
    referee.send(ann.box, text.format(server=SERVER, prev=referee.match().prev))
    assert "this match is sealed: keep your secrets" in " ".join(ann.box.text.split())
    assert "still stands" not in ann.box.text
    assert stands(referee) == before


@pytest.mark.parametrize("way", WAYS)
def test_the_others_must_be_able_to_check_what_is_signed(referee: Referee, way: str) -> None:
    _, file, sign = WAYS[way]
    referee.now = IN_FORCE
    ann, bob = begun(referee)
    asked = f"key add\n{(KEYS / file).read_text()}\nserver {SERVER}\nplayer ann\n"
    referee.send(ann.box, asked)
    referee.deliver(sign(ann.box, confirming(ann.box)), ann.box.address)
    text = ann.letter(referee.match())
    assert text is not None
    referee.deliver(sign(ann.box, text), ann.box.address)
    if way in {"openpgp, clear-signed", "ssh", "passkey"}:
        assert "Entered, turn 1" in ann.box.text
        assert bob.write(referee)
    else:
        assert "sign it as text" in " ".join(ann.box.text.split())
        assert len(sealed(referee.match()).game.steps) == 0  # it has begun


def changed(*pair: str) -> Callable[[str], str]:
    return lambda text: re.sub(pair[0], pair[1], text, count=1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed(r"prev \w+", "prev " + "ab" * 32), "wrong `prev`"),
        (changed(r"player \w+", "player carl"), "wrong `player`"),
        (changed(r"turn 2", "turn 3"), "wrong `turn`"),
        (changed(r"game 1", "game 2"), "game"),
        (changed(r"open\n?\s*\w+", "open " + "ab" * 32), "ab" * 8),
        (changed(r"open(\s+\w+\s+\w+)\s+\w+", r"open\1 " + "ab" * 32), "you committed to"),
        (changed(r"answers\s+\w+", "answers " + "ab" * 32), "wrong `to`"),
        (changed(r"strike (\w+)\n", r"strike \1\nstrike \1\n"), ""),
        (changed(r"done", "# done"), "this is not a line of revealed orders"),
        (changed(r"answers(.|\n)*done\nend", "end"), None),
    ],
)
def test_a_step_that_is_not_as_it_should_be_changes_nothing(
    referee: Referee, change: Callable[[str], str], says: str | None
) -> None:
    ann, bob = begun(referee)
    turns(referee, (ann, bob), 1)
    seats = {"ann": ann, "bob": bob}
    # The committer reveals what it committed to, and answers.
    while True:
        name, text = next((name, text) for name, seat in seats.items() if (text := seat.letter(referee.match())))
        if "open" in text and "answers" in text:
            break
        assert seats[name].write(referee)
    wrong = change(text)
    before = stands(referee)
    referee.send(seats[name].box, wrong, follow=False)
    if says is None:  # it may stop early
        assert stands(referee) != before
        return
    assert stands(referee) == before, wrong
    assert says in " ".join(seats[name].box.text.split())
    assert seats[name].write(referee), "what is right is taken afterwards"


# Letters that come twice, late, or in another order.


def test_the_same_letter_again_is_answered_again_and_changes_nothing(referee: Referee) -> None:
    ann, bob = begun(referee)
    text = ann.letter(referee.match())
    assert text is not None
    raw = referee.raw(ann.box, referee.signed(ann.box, text))
    referee.deliver(raw, ann.box.address)
    before, letters = stands(referee), len(bob.box.letters)
    referee.deliver(raw, ann.box.address)  # the very same
    referee.send(ann.box, text, follow=False)  # the same words in another letter
    assert "This very text, with your signature, was received" in ann.box.text
    referee.send(ann.box, text.replace("\nend\n", f"\nnote {NOTE}\nend\n"), follow=False)
    assert stands(referee) == before
    assert len(bob.box.letters) == letters


# Who lies.


def test_a_lie_is_told_of_at_the_end_by_name(referee: Referee) -> None:
    ann, bob = agreed(referee, "ann", "bob")

    def deny(step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
        seen = next((at for at, line in enumerate(lines) if re.fullmatch("scan ... ship", line)), None)
        if step != "answers" or seen is None:
            return lines
        bob.lie = lambda _, lines: lines
        return (*lines[:seen], lines[seen].removesuffix("ship") + "none", *lines[seen + 1 :])

    bob.lie = deny
    while bob.lie is deny:
        assert sum(seat.write(referee) for seat in (ann, bob))
    referee.send(bob.box, "resign m1 game 1\n")
    assert "The game is over, because bob resigned." in body(ann.box.last)
    assert "The game is over, because you resigned." in body(bob.box.find("reveal your secrets"))
    play(referee, [ann, bob])
    told = body(ann.box.find("the match is closed"))
    assert "You won Spaceships game 1" in told
    assert "because bob had given false information" in " ".join(told.split())
    assert re.search(r"bob gave false information in turn \d \(the answers; ruling \d+\)", " ".join(told.split()))
    assert "You lost" in body(bob.box.find("the match is closed"))
    for seat in (ann, bob):
        lines = "\n".join(f"    {line}" for line in seat.setup.split("\n"))
        assert f"The setup of {seat.box.name}:\n\n{lines}\n" in body(ann.box.last)


# The promise: what is not sent is not here.


class World:
    """A server, and ann and bob, of whose secrets some are given; what hides secret papers hides them well."""

    def __init__(self, folder: Path, missile: str, capsys: pytest.CaptureFixture[str]) -> None:
        folder.mkdir()
        self.referee = Referee(folder)
        self.ann, self.bob = agreed(self.referee, "ann", "bob")
        rest = "DS Rv1-Ow2\nKC Gx1-Gy3\nFS Bv4-Bw5\n"
        self.ann.setup = f"{rest}MD {missile}\nHS Rz5 Oz5"
        self.ann.plan = {1: f"m{missile[:3]} Yx3 Gx1", 2: "Bv1 sOx1", 3: "sYy1"}
        self.bob.plan = {1: "Rv5 Rw5", 2: "Ox5 sRv1", 3: "Gz1"}
        self.bob.setup = f"{rest}MD Oz1 Oz2 Oz3\nHS Rz5 Oz5"
        self.secrets = [self.ann.setup, f"m{missile[:3]}", self.ann.salting.hex()]
        for seat in (self.ann, self.bob):
            # As a hash does of which nothing can be told: what it hides is in the same words wherever it belongs.
            seat.hide = lambda text: hashed("\n".join(text.split("\n")[:7]))
        for seat in (self.ann, self.bob):
            seat.write(self.referee)
        turns(self.referee, (self.ann, self.bob), 3)
        # The time on the wall is not the referee's.
        self.log = re.sub(r"^\S+ \S+ ", "", capsys.readouterr().out, flags=re.M)

    def store(self) -> list[object]:
        """Each row of each table."""
        database = self.referee.database
        return [(table, *database.table(table)) for table in database.engine.tables()]

    def mail(self) -> list[bytes]:
        return [letter.as_bytes() for seat in (self.ann, self.bob) for letter in seat.box.letters]

    def opened(self) -> bytes:
        """All that the store holds, with the server's key: letters, papers, submissions."""
        matches, found = self.referee.desk.archive.matches, list[bytes]()
        for row in self.referee.database.table("submissions"):
            context = "submission {match} {game} {turn} {seat}".format_map(row)
            found += [self.referee.vault.open(row[column], context) for column in ("sealed", "letter")]
        found += matches.papers(1, 99, 99, 1).values()
        found += matches.papers(1, 99, 99, 2).values()
        found += [entry.entry for entry in matches.entries(1)]
        return b"\n".join(found)


@of_sqlite  # PostgreSQL has times of its own
def test_what_is_not_told_leaves_no_trace_on_the_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = World(tmp_path / "one", "Yz1 Yz2 Yz3", capsys)
    other = World(tmp_path / "other", "Bz1 Bz2 Bz3", capsys)
    assert one.ann.setup != other.ann.setup
    assert one.ann.orders != other.ann.orders
    assert one.mail() == other.mail()
    assert one.store() == other.store()
    assert one.log == other.log
    assert len(one.mail()) > 20
    assert one.log
    for world in (one, other):
        opened = world.opened()
        assert b"strike Yx3" in opened
        for secret in world.secrets:
            assert secret.encode() not in opened
            assert secret.encode() not in b"\n".join(world.mail())
        world.referee.close()


def test_another_answer_leaves_another_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same, where what bob strikes is seen: so the test above can fail."""
    one = World(tmp_path / "one", "Yz1 Yz2 Yz3", capsys)
    other = World(tmp_path / "other", "Gz1 Gz2 Gz3", capsys)
    assert one.mail() != other.mail()
    assert one.store() != other.store()
    for world in (one, other):
        world.referee.close()


@pytest.mark.parametrize("options", ["", "kind: scored\ngames: 2\n"])
def test_who_ends_a_game_is_not_told_that_it_goes_on_while_secrets_are_due(referee: Referee, options: str) -> None:
    ann, bob = begun(referee, options=f"pace: 1d\ngrace: 0\n{options}")
    assert ann.write(referee)
    referee.wait(timedelta(days=1, hours=1))
    before = len(ann.box.letters)
    referee.send(ann.box, "claim m1\n")
    told = [body(letter) for letter in ann.box.letters[before:] if str(letter["Subject"]).startswith("Re: ")]
    assert "Your claim is granted: the game ends." in told[-1]
    play(referee, [ann, bob])


def test_who_resigns_is_not_told_to_have_nothing_to_do_while_secrets_are_due(referee: Referee) -> None:
    ann, _ = begun(referee)
    before = len(ann.box.letters)
    referee.send(ann.box, "resign m1 game 1\n")
    told = [body(letter) for letter in ann.box.letters[before:] if str(letter["Subject"]).startswith("Re: ")]
    assert "You have resigned game 1 of match m1." in told[-1]
    assert "nothing to do" not in told[-1]
