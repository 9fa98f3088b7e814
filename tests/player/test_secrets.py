"""The secrets of sealed games: files that nobody else may read, salts, the six words, and the note to self."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.referee import Die
from msgspec.structs import asdict, replace

from pbem.match.sealed_game import PaperPlace
from pbem.player import secret_vault
from pbem.player.secret_vault import BadNote, BadSecrets, Code, Secrets, SecretVault, understood

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = bytes(range(32)).hex()
PLACE = PaperPlace("play.example", "m17", 2, 1, "anna")
MINE = Secrets(
    **asdict(PLACE), seed=SEED, setup="MD Rv1 Rv2 Rv3", orders={"1": "Rv1", "2": ""}, after={"2": "ab" * 32}
)
WORDS = "lusab babad gutih tugad mudof sakat"
VECTOR = Path(__file__).with_name("sealed_note.json")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in no time; the vector's is made as everywhere."""
    monkeypatch.setattr(secret_vault, "_ROUNDS", 10)


SETUP = "0" * 64


def test_salts_are_those_of_the_study() -> None:
    assert MINE.salt(5, "orders") == "e06430640c29dc8aafa62c5b970a3a2bc546cf895d641a8671d97fad0af09f41"
    assert len({MINE.salt(turn, what) for turn in (1, 2) for what in ("orders", "strikes")}) == 4


def test_what_was_kept_is_read_again_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    vault = SecretVault(tmp_path / "secrets")
    assert vault.secrets("m17", 2) is None
    vault.keep(MINE)
    assert SecretVault(tmp_path / "secrets").secrets("m17", 2) == MINE
    file = tmp_path / "secrets" / "m17-game-2.json"
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]
    vault.keep_code(WORDS)
    assert ((tmp_path / "secrets" / "code").stat().st_mode & 0o777, vault.code()) == (0o600, WORDS)


def test_a_disk_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = SecretVault(tmp_path)
    vault.keep(MINE)
    vault.keep_plans("m17", 2, SETUP, {4: "Gx3"})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadSecrets, match="No space left"):
        vault.keep(MINE.with_orders(3, "Rv2"))
    with pytest.raises(BadSecrets, match="No space left"):
        vault.keep_plans("m17", 2, SETUP, {})
    assert vault.secrets("m17", 2) == MINE
    assert vault.plans("m17", 2, SETUP) == {4: "Gx3"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pbem": "secrets 2"}', "\0"])
def test_a_damaged_file_is_said_to_be_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "m17-game-2.json").write_text(content)
    with pytest.raises(BadSecrets, match=r"m17-game-2\.json"):
        SecretVault(tmp_path).secrets("m17", 2)
    with pytest.raises(BadSecrets, match="is no match"):
        SecretVault(tmp_path).secrets("../m17", 2)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pbem": "plans 2"}', '{"orders": {"02": ""}}', "\0", "\ud800"])
def test_damaged_orders_in_advance_are_no_secrets_and_it_says_so(tmp_path: Path, content: str) -> None:
    """Only they are lost, unlike with the file of secrets beside them."""
    (tmp_path / "m17-game-2-plans.json").write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(BadSecrets, match=r"m17-game-2-plans\.json: .*; remove the file, and give them anew"):
        SecretVault(tmp_path).plans("m17", 2, SETUP)


def test_a_folder_is_that_of_one_account(tmp_path: Path) -> None:
    """On two servers there is a match m17: one would have its secrets in the place of the other's."""
    for account in ("ann@play.example", "ann@play.example", ""):
        with SecretVault(tmp_path, account).alone():
            pass
    with (
        pytest.raises(BadSecrets, match=r"the secrets of ann@play\.example; each account needs its own folder"),
        SecretVault(tmp_path, "ann@other.example").alone(),
    ):
        pytest.fail("the secrets of another account can be changed")


def test_nobody_else_changes_secrets_meanwhile(tmp_path: Path) -> None:
    entered = threading.Event()
    done: list[str] = []

    def other() -> None:
        entered.set()
        with SecretVault(tmp_path).alone():
            done.append("other")

    with SecretVault(tmp_path).alone():
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
        thread.join(0.05)
        done.append("first")
    thread.join(5)
    assert done == ["first", "other"]


def test_orders_replaced_forget_the_head_of_what_they_replace() -> None:
    assert MINE.with_orders(2, "Rv3").after == {}
    third = MINE.committed(3, "cd" * 32)
    assert third.after == {"2": "ab" * 32, "3": "cd" * 32}  # the letter with the third may open the second
    fourth = third.committed(4, "ef" * 32)
    assert fourth.after == {"2": "ab" * 32, "3": "cd" * 32, "4": "ef" * 32}  # a restored server asks for all again
    assert fourth.noted.after == {"3": "cd" * 32, "4": "ef" * 32}
    assert MINE.with_orders(10, "x").by_turn == {1: "Rv1", 2: "", 10: "x"}


def test_a_code_is_six_words_that_can_be_said_and_typed() -> None:
    codes = {Code.drawn(Die(f"code {number}")).words for number in range(50)}
    assert len(codes) == 50
    for words in codes:
        assert understood(f"  {words.upper().replace(' ', '-')}\n") == words
    for wrong, said in (("lusab babad", "has 6 words"), (WORDS.replace("gutih", "qutih"), "no word of .*qutih")):
        with pytest.raises(BadNote, match=said):
            understood(wrong)


def test_a_note_opens_with_its_words_for_its_place_alone() -> None:
    note = Code(WORDS, Die()).note(MINE)
    assert note is not None
    assert Code(WORDS, Die()).opened("\n".join([note[:40], note[40:]]), PLACE) == MINE
    for place in ({"game": 1}, {"seat": 2}, {"match": "m1"}, {"player": "bob"}, {"server": "other.example"}):
        with pytest.raises(BadNote):
            Code(WORDS, Die()).opened(note, replace(PLACE, **place))
    with pytest.raises(BadNote):
        Code(WORDS.replace("lusab", "lusad"), Die()).opened(note, PLACE)


def spoilt(note: bytes) -> Iterator[bytes]:
    yield from (note[:at] for at in range(0, len(note), 7))
    yield from (note[:at] + bytes([note[at] ^ 1]) + note[at + 1 :] for at in range(0, len(note), 5))


def test_a_spoilt_note_is_refused_and_never_believed() -> None:
    note = Code(WORDS, Die()).note(MINE)
    assert note is not None
    for spoiled in spoilt(base64.b64decode(note)):
        with pytest.raises(BadNote):
            Code(WORDS, Die()).opened(base64.b64encode(spoiled).decode(), PLACE)
    with pytest.raises(BadNote, match="damaged"):
        Code(WORDS, Die()).opened("no base64!", PLACE)


def test_a_note_never_tells_the_secrets_and_has_a_limit() -> None:
    note = Code(WORDS, Die()).note(MINE)
    assert note is not None
    assert len(note) <= 5464
    die = Die("long")
    long = msgspec.structs.replace(MINE, orders={str(turn): die(30).hex() for turn in range(1, 200)})
    assert Code(WORDS, Die()).note(long) is None


def test_the_length_of_a_note_does_not_tell_what_it_holds() -> None:
    """Server and opponent see it: which scout a fleet has, and where a piece flew, told by a few octets."""
    setups = ("HS Gv1 Gv2", "LS Gv1", "* A1 A2 B5 C9 D1 E4 E7\nW A10\nB B2\nX A3 A4\nZ C3 C3 D1 E9\nH A5")
    destinations = ("A1", "A10", "J10", "C3")
    notes = [
        Code(WORDS, Die()).note(msgspec.structs.replace(MINE, setup=setup, orders={"1": f"Z1 C3-{square}"}))
        for setup in setups
        for square in destinations
    ]
    assert {len(base64.b64decode(note or "")) for note in notes} == {1024}
    die = Die("longer")
    for turns in range(1, 60, 7):
        orders = {str(turn): die(turn % 30).hex() for turn in range(1, turns)}
        note = Code(WORDS, Die()).note(msgspec.structs.replace(MINE, orders=orders))
        assert note is not None
        assert len(base64.b64decode(note)) % 1024 == 0
        assert Code(WORDS, Die()).opened(note, PLACE).orders == orders


def test_the_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other program that keeps such notes must be able to read this one."""
    monkeypatch.undo()
    vector = json.loads(VECTOR.read_text())
    found = Code(vector["words"], Die()).opened(vector["note"], PaperPlace(**vector["place"]))
    assert msgspec.structs.asdict(found) == vector["secrets"]
