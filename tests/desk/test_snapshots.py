"""Snapshots: a cold match is read without walking through its transcript, and nothing comes of it but speed."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import structlog
from referee import Die, Referee, attachment, body, known

import pbem
from pbem.desk import matches, snapshots
from pbem.desk.snapshots import fingerprint
from pbem.proof.signed_letters import Letters
from pbem.proof.verify import verify
from pbem.store.inbox import Envelope
from pbem.store.snapshots import SnapshotRows
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from referee import Mailbox

    from pbem.match.state import Match

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
FOUR = {
    "ann": "A c1 N\nB d1 N\nC e1 N",
    "bob": "D c9 S\nE d9 S\nF e9 S",
    "cem": "G a4 E\nH a5 E\nI a6 E",
    "dan": "J i4 W\nK i5 W\nL i6 W",
}


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    return referee.begun(f"{SMALL}\n{options}", SETUPS)


def play(referee: Referee, people: Sequence[Mailbox], turns: int) -> None:
    """So many turns in which Ann misses, and Bob, who has nothing to strike with, orders nothing."""
    ann, bob = people
    for number in range(turns):
        referee.turn((ann, ("Gv1", "Gv2", "Gv3")[number % 3]), (bob, ""))


class Counted:
    """How often something is done from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: object, name: str) -> None:
        self.times = 0
        done: Callable[..., object] = getattr(where, name)

        def counted(*arguments: object, **options: object) -> object:
            self.times += 1
            return done(*arguments, **options)

        monkeypatch.setattr(where, name, counted)


def walks(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch, matches, "replay_transcript")


def fetches(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch, SnapshotRows, "turns")


def test_a_cold_letter_neither_retraces_nor_fetches(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    people = begun(referee)
    ann, bob = people
    play(referee, people, 3)
    walked, fetched = walks(monkeypatch), fetches(monkeypatch)
    for person, text in ((ann, "Gv1"), (bob, "final\n"), (ann, "final\nGv2")):
        referee.open_desk()
        referee.send(person, person.filled("orders", text, 2 if "Gv2" in text else 1))
    assert referee.match().turn == 5
    for command in ("status m1\n", "list mine\n", "report m1\n"):
        referee.open_desk()
        referee.send(ann, command, sign=False)
    referee.open_desk()
    assert all(known(referee.match(), reader) for reader in (1, 2, None))
    assert (walked.times, fetched.times) == (0, 0)
    referee.read_three_ways()


@pytest.mark.parametrize("game", ["dueling-masters", "shoot-em-up"])
def test_nor_in_the_other_games(referee: Referee, monkeypatch: pytest.MonkeyPatch, game: str) -> None:
    walked, fetched = walks(monkeypatch), fetches(monkeypatch)
    if game == "shoot-em-up":
        people = referee.table(game, "", FOUR)
        for _ in range(3):
            for person in people:
                referee.open_desk()
                letters = "ABCDEFGHIJKL"[3 * people.index(person) :][:3]
                orders = "\n".join(f"{ship} RRR" for ship in letters)
                referee.send(person, person.filled("orders", f"final\n{orders}"))
    else:
        pieces = (
            "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
            "* I2 I4 I6 I8 I10 G1 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G2 G4 G6 G8\nH J1",
        )
        people = referee.table(game, "", dict(zip(("ann", "bob"), pieces, strict=True)))
        for person, move in zip(people * 2, ("Z1 D1-D2", "Z1 G2-G3", "Z1 D2-D3", "Z1 G3-G2"), strict=True):
            referee.open_desk()
            referee.send(person, person.filled("orders", f"final\n{move}"))
    assert referee.match().turn > 3
    referee.open_desk()
    assert all(known(referee.match(), reader) for reader in (*referee.match().seats, None))
    assert (walked.times, fetched.times) == (0, 0)
    referee.read_three_ways()


def test_turns_are_fetched_where_they_are_asked_for(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    people = begun(referee)
    ann, bob = people
    early = ann.filled("orders", "Gz1").replace("turn 1", "turn 9", 1)  # cites what the first letter printed
    play(referee, people, 3)
    walked, fetched = walks(monkeypatch), fetches(monkeypatch)
    referee.open_desk()
    referee.send(ann, early)
    assert (walked.times, fetched.times) == (0, 1)
    assert referee.match().stored
    referee.open_desk()
    referee.send(bob, "resign m1 match\n")
    assert (walked.times, fetched.times) == (0, 3)  # once for the sentence that did not say its place
    checks = list(verify(attachment(bob.find(", the end"), ".zip"), Letters))
    assert all(check.holds for check in checks), checks[-1]
    assert rows(referee, "snapshot_turns") == 0  # the game is over
    referee.open_desk()
    referee.send(bob, "status m1\n", sign=False)
    assert walked.times == 0
    referee.read_three_ways()


def test_before_the_second_turn_nothing_is_to_be_fetched(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    people = begun(referee)
    walked, fetched = walks(monkeypatch), fetches(monkeypatch)
    for turns in (0, 1):
        referee.open_desk()
        assert len(list(referee.match().turns)) == turns
        play(referee, people, 1)
    assert (walked.times, fetched.times) == (0, 0)


def rows(referee: Referee, table: str) -> int:
    return int(referee.database.scalar(f"SELECT count(*) FROM {table}"))


def test_what_is_written_does_not_grow(referee: Referee) -> None:
    """Each turn adds a row of its own, and the snapshot is as large as it was."""
    people = begun(referee)
    play(referee, people, 4)
    size = referee.database.scalar("SELECT length(sealed) FROM snapshots")
    play(referee, people, 6)
    assert rows(referee, "snapshots") == 1
    assert rows(referee, "snapshot_turns") == 10
    assert referee.database.scalar("SELECT max(length(sealed)) < 500 FROM snapshot_turns") == 1
    assert referee.database.scalar("SELECT length(sealed) FROM snapshots") < size + 200


def test_few_turns_are_kept_in_memory(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    people = begun(referee)
    monkeypatch.setattr(snapshots, "AT_HAND", 2)
    play(referee, people, 6)
    assert referee.match().turns.at_hand <= 2
    referee.send(people[0], "resign m1 match\n")
    checks = list(verify(attachment(people[0].find(", the end"), ".zip"), Letters))
    assert all(check.holds for check in checks), checks[-1]


class NoMatch:
    """What opens, and is nothing that was ever kept."""


def another_key(referee: Referee) -> None:
    vault = Vault(b"another key of 32 octets........", Die("nonce"))
    content = referee.database.scalar("SELECT sealed FROM snapshots")
    row = referee.database.row("SELECT * FROM snapshots")
    assert row is not None
    context = f"snapshot 1 {row['head']} {row['code']}"
    content = vault.seal(referee.vault.open(row["sealed"], context), context)
    change(referee, "UPDATE snapshots SET sealed = ?", content)


def another_pickle(referee: Referee) -> None:
    row = referee.database.row("SELECT * FROM snapshots")
    assert row is not None
    content = referee.vault.seal(pickle.dumps(NoMatch()), f"snapshot 1 {row['head']} {row['code']}")
    change(referee, "UPDATE snapshots SET sealed = ?", content)


def of_an_earlier_head(referee: Referee) -> None:
    """A genuine snapshot, passed off as one of the head that stands."""
    row = referee.database.row("SELECT * FROM snapshots")
    people = list(referee.people.values())
    play(referee, people, 1)
    assert row is not None
    change(referee, "UPDATE snapshots SET sealed = ?", row["sealed"])


def change(referee: Referee, sql: str, *parameters: object) -> None:
    with referee.database.transaction():
        assert referee.database.execute(sql, parameters).rowcount >= 1


DAMAGES: dict[str, tuple[Callable[[Referee], None], str]] = {
    "no snapshot": (lambda referee: change(referee, "DELETE FROM snapshots"), ""),
    "another head": (lambda referee: change(referee, f"UPDATE snapshots SET head = '{'0' * 64}'"), ""),
    "an earlier head's": (of_an_earlier_head, "does not open"),
    "other code": (lambda referee: change(referee, f"UPDATE snapshots SET code = '{'0' * 64}'"), ""),
    "damaged": (
        lambda referee: change(referee, "UPDATE snapshots SET sealed = substr(sealed, 1, 99)"),
        "does not open",
    ),
    "another key": (another_key, "does not open"),
    "another pickle": (another_pickle, "TypeError"),
    "empty": (lambda referee: change(referee, "UPDATE snapshots SET sealed = substr(sealed, 1, 0)"), "does not open"),
    "a turn is missing": (
        lambda referee: change(referee, "DELETE FROM snapshot_turns WHERE first = 1"),
        "LookupError",
    ),
    "a turn is damaged": (
        lambda referee: change(referee, "UPDATE snapshot_turns SET sealed = substr(sealed, 1, 1) WHERE first = 1"),
        "does not open",
    ),
    "no turns": (lambda referee: change(referee, "DELETE FROM snapshot_turns"), "LookupError"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_used_is_retraced(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ruin, why = DAMAGES[damage]
    people = begun(referee)
    ann, bob = people
    play(referee, people, 4)
    ruin(referee)
    warm: Match = referee.match()
    referee.open_desk()
    walked = walks(monkeypatch)
    with structlog.testing.capture_logs() as entries:
        assert referee.match() == warm
    assert walked.times == 1
    told = [entry for entry in entries if entry["event"] == "snapshot not used"]
    assert [entry["why"] for entry in told] == ([why] if why else [])
    assert all(entry.keys() == {"event", "log_level", "match", "why"} for entry in told)
    referee.open_desk()
    play(referee, people, 1)
    assert body(ann.find(f"turn {warm.turn}"))
    if "turn" not in damage:  # what is asked for only at the end is made anew by then
        walked.times = 0
        referee.open_desk()
        assert len(list(referee.match().turns)) == warm.turn
        assert walked.times == 0
    referee.read_three_ways()
    referee.open_desk()
    referee.send(bob, "resign m1 match\n")
    checks = list(verify(attachment(bob.find(", the end"), ".zip"), Letters))
    assert all(check.holds for check in checks), checks[-1]
    assert "Rv1" not in capsys.readouterr().out


def test_a_letter_that_fails_leaves_no_snapshot_behind(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    people = begun(referee)
    play(referee, people, 2)
    before = referee.database.rows("SELECT * FROM snapshots")

    def fails(*_: object) -> None:
        raise RuntimeError("after the snapshot")

    with monkeypatch.context() as patched:
        patched.setattr(SnapshotRows, "add_turns", fails)
        for person in people:
            orders = "final\nGv1" if person.name == "ann" else "final\n"
            raw = referee.raw(person, referee.signed(person, person.filled("orders", orders)))
            referee.inbox.put(Envelope(person.address, ("pbem@play.example",)), raw, referee.now)
            referee.desk.handle_next(referee.now)
    assert referee.database.rows("SELECT * FROM snapshots") == before
    referee.work()
    assert referee.match().turn == 4
    referee.read_three_ways()


def test_another_code_has_another_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "pbem"
    shutil.copytree(Path(pbem.__file__).parent, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(snapshots, "pbem", SimpleNamespace(__file__=str(root / "__init__.py")))
    anew = fingerprint.__wrapped__
    found = {anew()}
    assert found == {fingerprint()}
    for changed in (
        "match/life.py",
        "games/spaceships/turn.py",
        "games/__init__.py",
        "phrase.py",
        "desk/snapshots.py",
    ):
        with (root / changed).open("a") as file:
            file.write("# changed\n")
        found.add(anew())
    assert len(found) == 6
    (root / "mail/intake.py").write_text("# another room\n")
    assert anew() in found
    monkeypatch.setattr("sys.version", "4.0")
    assert anew() not in found


def test_nothing_secret_can_be_read_in_them(referee: Referee) -> None:
    people = begun(referee)
    play(referee, people, 2)
    for table in ("snapshots", "snapshot_turns"):
        for row in referee.database.rows(f"SELECT * FROM {table}"):
            for secret in (b"Rv2", b"Gv1", b"pbem.match", b"Opening"):
                assert secret not in row["sealed"]
