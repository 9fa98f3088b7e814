"""A player who falls silent in a game of many leaves it, and the others play on, until some of them share it.

Each lie about that is convicted by the bundle; about acknowledged orders see `tests/proof/test_broken_receipts.py`.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import both, checked, fails, fails_for_both, proof, saying, second, with_entry
from in_a_box.bounces import bounce, return_path
from in_a_box.outside import MARCH, referee_of
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in, new
from judges.honest import accused
from msgspec.structs import replace
from world.mutations import signed_again

from pbem.match.events import clocks
from pbem.match.events import silence as silences
from pbem.match.record import read
from pbem.match.record import replay as replay_record
from pbem.match.transcript import sha256_hex
from pbem.match.view import view
from pbem.proof import bundle
from pbem.proof.bundle import write
from pbem.proof.verification import verify
from verifier.acknowledged import end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.match.step import Signed, Step
    from pbem.proof.bundle import Bundle
    from pbem.requests import Extend, SignedForm

DICE = Path(__file__).parents[2] / "examples" / "pbem-liars-dice" / "pbem_liars_dice"
NAMES = ("ann", "bob", "carl", "dan", "erin")
SETUPS = {"ann": "A b1 N\nB c1 N\nC d1 N", "bob": "D b9 S\nE c9 S\nF d9 S", "carl": "G a2 E\nH a3 E\nI a4 E"}


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    with referee_of(tmp_path, "march", MARCH) as referee:
        yield referee


def begun(referee: Referee, miss: str, names: tuple[str, ...] = NAMES, settle: str = "0") -> list[Mailbox]:
    terms = f"pace: 2d\ngrace: 1d\nsettle: {settle}\nmiss: {miss}"
    return referee.opened(("march", terms, *names), lambda: referee._agree("march", terms, names))


def walk(referee: Referee, *people: Mailbox) -> None:
    referee.turn(*((person, "walk 2") for person in people))


def silence(referee: Referee, *others: Mailbox) -> None:
    """All others order, and the time of the rest goes by."""
    walk(referee, *others)
    referee.wait(timedelta(days=3, minutes=1))


def in_game(referee: Referee) -> tuple[int, ...]:
    position = referee.match().position
    assert position
    return position.remaining


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The bundle of a draw of three; tests of its lies need `referee`, too, so that its game is enabled."""
    with referee_of(tmp_path_factory.mktemp("shared"), "march", MARCH) as referee:
        return draw_of_three(referee)


def draw_of_three(referee: Referee) -> Bundle:
    """Erin falls silent, and leaves; Dan resigns; Ann, Bob and Carl share, of whom Dan is none."""
    ann, bob, carl, dan, erin = begun(referee, "leave")
    walk(referee, ann, bob, carl, dan, erin)
    silence(referee, ann, bob, carl, dan)
    assert (referee.match().turn, in_game(referee)) == (3, (1, 2, 3, 4, 5))
    assert "Whoever misses two turns in a row leaves" in body(ann.find("a deadline was missed"))
    referee.send(erin, erin.filled("orders", "walk 3").replace("turn 3", "turn 5"))
    silence(referee, ann, bob, carl, dan)
    assert (referee.match().turn, in_game(referee)) == (4, (1, 2, 3, 4))
    left = "\n".join(map(body, ann.letters))
    assert "erin was silent for too long and has left this game." in left
    assert "You were silent for too long and have left this game." in "\n".join(map(body, erin.letters))
    referee.read_cold()
    referee.send(erin, "orders m1 turn 4\nwalk 1\nend\n")
    assert "you have nothing to order in turn 4" in erin.text
    referee.send(erin, "draw m1 offer\n")
    assert "you are out of this game" in erin.text
    referee.send(dan, "resign m1 game 1\n")
    assert in_game(referee) == (1, 2, 3)
    assert "The others play on. You still get the reports" in dan.text
    assert "The others play on without dan; the rules say what becomes" in "\n".join(map(body, ann.letters))
    referee.send(ann, "draw m1 offer for bob ann\n")
    assert "ann offers to end this game as a draw of ann, bob alone." in "\n".join(map(body, carl.letters))
    assert "draw m1 accept for ann bob" in "\n".join(map(body, carl.letters))
    referee.send(carl, "draw m1 accept\n")
    assert "there is no such offer" in carl.text
    referee.send(carl, "draw m1 offer for carl, dan\n")
    assert "`dan`: this is nobody who still plays this game; there are " in carl.text
    referee.send(carl, "draw m1 accept for ann bob\n")
    referee.send(bob, "draw m1 accept for carl\n")
    assert "there is no such offer" in bob.text
    assert "carl agrees: a draw of ann, bob." in "\n".join(map(body, erin.letters))
    referee.send(bob, "draw m1 offer\n")
    referee.send(ann, "draw m1 accept\n")
    assert referee.match().phase == "playing"
    referee.send(carl, "draw m1 accept\n")
    assert referee.match().phase == "closed"
    assert "ann, bob, carl share March game 1" in body(erin.find("the end"))
    assert "ann, bob, carl share the match" in body(ann.find("the match is closed"))
    return proof(referee, ann)


def test_a_draw_of_three_without_who_left(referee: Referee) -> None:
    shared = draw_of_three(referee)
    found = [(entry.type, entry.body) for entry in shared.entries]
    kinds = [kind for kind, _ in found]
    assert kinds[4:12] == ["turn", "missed", "left", "turn", "resigned", "left", "draw", "draw"]
    misses = [number for number, kind in enumerate(kinds, 1) if kind == "missed"]
    left = [body for kind, body in found if kind == "left"]
    assert left[0] == {"game": 1, "seat": 5, "turn": 3, "cause": "silent", "entries": misses}
    assert left[1] == {"game": 1, "seat": 4, "turn": 4, "cause": "resigned", "entries": [kinds.index("resigned") + 1]}
    ended = next(body for kind, body in found if kind == "ended")
    assert (ended["winners"], ended["reason"]) == ([1, 2, 3], "agreement")
    assert found[-1][1]["winners"] == [1, 2, 3]
    record = shared.papers["records/game-1.pbem.toml"].decode()
    assert "winner = 0\nwinners = [1, 2, 3]\n" in record
    assert "[[left]]\nseat = 5\nturn = 3\n\n[[left]]\nseat = 4\nturn = 4\n" in record
    assert replay_record(read(record)).result == {
        "over": True,
        "winner": 0,
        "winners": [1, 2, 3],
        "scores": [6, 6, 6, 6, 2],
        "reason": "agreement",
    }
    assert second(shared) is None, "its rules are not there"
    assert accused(referee) == []


def at(found: Bundle, kind: str, nth: int = 0) -> int:
    return [number for number, entry in enumerate(found.entries) if entry.type == kind][nth]


LIES: dict[str, tuple[str, int, dict[str, Any], str]] = {
    "another seat": ("left", 0, {"seat": 1}, "nobody was silent for that long"),
    "another turn": ("left", 0, {"turn": 2}, "`turn`"),
    "another cause": ("left", 0, {"cause": "resigned"}, "`cause`"),
    "no misses": ("left", 0, {"entries": []}, "`entries`"),
    "other entries": ("left", 0, {"entries": [2, 3]}, "`entries`"),
    "silent who resigned": ("left", 1, {"cause": "silent"}, "`cause`"),
    "another than resigned": ("left", 1, {"seat": 3}, "`seat`"),
    "a vote for others": ("draw", 0, {"sharing": [1, 3]}, "holds no `draw offer for ann carl`"),
    "a vote for all": ("draw", 0, {"sharing": [1, 2, 3]}, "`draw offer for ann bob carl`"),
    "a vote declined": ("draw", 1, {"word": "offer"}, "draw"),
    "another end": ("ended", 0, {"winners": [1, 2]}, "`winners`"),
    "nobody": ("ended", 0, {"winners": []}, "`winners`"),
    "seats not there": ("closed", 0, {"winners": [1, 9]}, "names a seat"),
    "another result": ("closed", 0, {"winners": [1]}, "`winners`"),
}


@pytest.mark.usefixtures("referee")
def test_lies_about_who_left_and_who_shares(shared: Bundle) -> None:
    for name, (kind, nth, lie, word) in LIES.items():
        forged = signed_again(with_entry(shared, at(shared, kind, nth), saying(**lie)))
        assert word in fails(forged), name


@pytest.mark.usefixtures("referee")
def test_who_left_orders_nothing_more(shared: Bundle) -> None:
    left = at(shared, "left") + 1
    fails(signed_again(with_entry(shared, left, lambda body: body["orders"].update({"5": body["orders"]["4"]}))))


@pytest.mark.usefixtures("referee")
def test_who_is_to_leave_stays_in_no_bundle_and_leaves_once(shared: Bundle) -> None:
    silent, entries = at(shared, "left"), shared.entries

    def forged(*ranges: slice) -> Bundle:
        return signed_again(replace(shared, entries=tuple(entry for one in ranges for entry in entries[one])))

    fails(forged(slice(0, silent), slice(silent + 1, None)), "`left` should stand here, not `turn`")
    fails(forged(slice(0, silent + 1), slice(silent, None)), "nobody was silent for that long")
    miss = at(shared, "missed")
    early = replace(entries[silent], time=entries[miss].time)
    early_left = (*entries[: miss + 1], early, *entries[miss + 1 :])
    fails(signed_again(replace(shared, entries=early_left)), "nobody was silent for that long")
    resigned = at(shared, "left", 1)
    fails(forged(slice(0, resigned), slice(resigned + 1, None)), "`left` should stand here, not `draw`")
    lost = replace(entries[silent], type="forfeited", body={"game": 1, "seats": [5]})
    all_lost = (*entries[:silent], lost, *entries[silent + 1 :])
    fails(signed_again(replace(shared, entries=all_lost)), "the others play on")


@pytest.mark.usefixtures("referee")
def test_the_record_names_who_left(shared: Bundle) -> None:
    path = "records/game-1.pbem.toml"
    record = shared.papers[path]
    for lie in (record.replace(b"seat = 5\nturn = 3", b"seat = 3\nturn = 3"), record.split(b"[[left]]")[0]):
        forged = signed_again(
            with_entry(
                replace(shared, papers={**shared.papers, path: lie}),
                at(shared, "revealed"),
                saying(record=sha256_hex(lie)),
            )
        )
        fails(forged)


@pytest.mark.usefixtures("referee")
def test_all_who_remain_agree_and_then_it_ends(shared: Bundle) -> None:
    """A draw is no draw as long as one of them is silent; and it is one as soon as all have agreed."""
    entries, last = shared.entries, at(shared, "ended") - 1
    declined = replace(entries[last], body={**entries[last].body, "word": "decline"})
    for forged in (
        (*entries[: last - 1], *entries[last:]),  # the last but one agrees to nothing
        (*entries[: last + 1], declined, *entries[last + 1 :]),
    ):
        fails(signed_again(replace(shared, entries=forged)))


def test_an_annulment_needs_nobody_who_left(referee: Referee) -> None:
    """A seat that left has no say in it; one of those that play on is enough to prevent it."""
    ann, bob, carl = begun(referee, "leave", NAMES[:3])
    referee.send(carl, "resign m1 game 1\n")
    referee.send(carl, "annul m1 offer\n")
    assert "you are out of this game, and the others play on" in carl.text
    referee.send(ann, "annul m1 offer\n")
    assert "Those who play on decide that." in body(carl.letters[-1])
    assert "annul m1 accept" not in body(carl.letters[-1])
    assert "annul m1 accept" in body(bob.letters[-1])
    assert [view(referee.match(), seat).offers for seat in (1, 2, 3)] == [[], ["annul"], []]
    assert referee.match().phase == "playing"
    referee.send(bob, "annul m1 accept\n")
    assert referee.match().outcome == {"winners": [], "scores": [0, 0, 0], "reason": "annulled"}
    found = proof(referee, carl)
    assert all(check.holds for check in checked(found))
    assert accused(referee) == []
    entries, accepted = found.entries, at(found, "annul", 1)
    lie = signed_again(replace(found, entries=(*entries[:accepted], *entries[accepted + 1 :])))
    fails(lie)
    fails(signed_again(with_entry(found, accepted, saying(seat=3))))


def test_late_orders_keep_a_seat(referee: Referee) -> None:
    """They come after the second miss, while the orders of the others are settling."""
    ann, bob, carl = begun(referee, "leave", NAMES[:3], settle="12h")
    silence(referee, ann, bob)
    for person in (ann, bob):
        referee.send(person, person.filled("orders", "walk 1"))
    referee.wait(timedelta(days=3, minutes=1))
    assert referee.match().missed == {3}
    assert in_game(referee) == (1, 2, 3)
    walk(referee, carl)
    referee.wait(timedelta(days=1))
    assert (referee.match().turn, in_game(referee)) == (3, (1, 2, 3))
    silence(referee, ann, bob)
    assert (referee.match().turn, in_game(referee)) == (4, (1, 2, 3)), "two in a row"


def test_the_last_two_do_not_play_on_without_each_other(referee: Referee) -> None:
    """Two of three are silent: one leaves, and the other then loses."""
    ann, bob, _ = begun(referee, "leave", NAMES[:3])
    walk(referee, ann)
    referee.wait(timedelta(days=4))
    walk(referee, ann)
    referee.wait(timedelta(days=4))
    found = proof(referee, ann)
    assert [entry.type for entry in found.entries[-5:]] == ["left", "forfeited", "ended", "revealed", "closed"]
    assert found.entries[-1].body == {"winners": [1], "scores": [2, 0, 0], "reason": "forfeit"}
    assert list(verify(attachment(bob.find("the end"), ".zip")))[-1].holds
    assert accused(referee) == []


def test_empty_orders_without_end(referee: Referee) -> None:
    ann, bob, carl = begun(referee, "pass always", NAMES[:3])
    for turn in range(4):
        assert (referee.match().turn, in_game(referee)) == (turn + 1, (1, 2, 3))
        silence(referee, ann, bob)
    assert "Empty orders are played for you if nothing arrives by" in body(carl.find("turn 4"))
    walk(referee, carl)
    assert 3 in referee.match().orders
    referee.send(ann, "resign m1 match\n")
    assert referee.match().phase == "playing"
    assert accused(referee) == []


@pytest.mark.parametrize("miss", ["wait", "default"])
def test_a_claim_ends_the_game_for_nobody_else(referee: Referee, miss: str) -> None:
    """In a game whose rules both verifiers know."""
    terms = f"settle: 0\nmax_turns: 2\nmiss: {miss}\ngrace: 1d"
    ann, bob, carl = referee.table("shoot-em-up", terms, SETUPS)
    still = ["\n".join(f"{line[0]}: LRL" for line in SETUPS[name].split("\n")) for name in ("ann", "bob")]
    referee.turn((ann, still[0]), (bob, still[1]))
    referee.wait(timedelta(days=9))
    referee.send(ann, "claim m1\n")
    assert in_game(referee) == (1, 2)
    referee.send(bob, "resign m1 match\n")
    found = proof(referee, carl)
    assert [entry.type for entry in found.entries][3:6] == ["claimed", "left", "turn"]
    assert both(found)
    assert accused(referee) == []


def test_a_claim_takes_out_the_silent_alone(referee: Referee) -> None:
    """And who still owes orders may send them afterwards."""
    ann, bob, carl, dan = begun(referee, "wait", NAMES[:4])
    walk(referee, ann, carl)
    referee.wait(timedelta(days=4))
    assert referee.match().missed == {2, 4}
    assert "this takes bob out of the\ngame" in body(ann.find("a deadline was missed"))
    walk(referee, dan)
    referee.send(ann, "claim m1\n")
    assert "who was silent has left, and you play on" in ann.text
    assert in_game(referee) == (1, 3, 4)
    assert referee.match().turn == 2
    referee.send(bob, "extend m1 2d\n")
    assert "you are out of this game, and the others play on" in bob.text
    referee.send(carl, "draw m1 offer for carl\n")
    assert "carl offers to end this game as won by carl." in "\n".join(map(body, dan.letters))
    referee.send(ann, "draw m1 accept for carl\n")
    referee.send(dan, "draw m1 accept for carl\n")
    assert referee.match().outcome == {"winners": [3], "scores": [2, 0, 2, 2], "reason": "agreement"}
    assert "You won March game 1" in body(carl.find("the end"))
    assert "carl won March game 1" in body(bob.find("the end"))
    found = proof(referee, bob)
    assert [entry.type for entry in found.entries[2:7]] == ["missed", "missed", "claimed", "left", "turn"]
    assert accused(referee) == []


def test_both_verifiers_count_who_annuls(referee: Referee) -> None:
    """In a game whose rules both know."""
    ann, bob, carl = referee.table("shoot-em-up", "settle: 0", SETUPS)
    referee.send(bob, "resign m1 game 1\n")
    referee.send(ann, "annul m1 offer\n")
    referee.send(carl, "annul m1 accept\n")
    found = proof(referee, bob)
    assert found.entries[-1].body["reason"] == "annulled"
    assert both(found)
    fails_for_both(signed_again(with_entry(found, at(found, "annul", 1), saying(seat=2))))


def test_a_friends_silence_ends_the_game_for_nobody_else(referee: Referee) -> None:
    """The term `forfeit` takes out the silent alone: else a friend could save a player who loses, or is out."""
    ann, bob, carl = referee.table("shoot-em-up", "settle: 0\nmax_turns: 2\nmiss: forfeit\ngrace: 1d", SETUPS)
    asked = "You leave the game, and the others play on, if nothing arrives by"
    assert asked in " ".join("\n".join(map(body, carl.letters)).split())
    for turn in (1, 2):
        still = ["\n".join(f"{line[0]}: LRL" for line in SETUPS[name].split("\n")) for name in ("ann", "bob")]
        referee.turn((ann, still[0]), (bob, still[1]))
        if turn == 1:
            referee.wait(timedelta(days=9))
            assert "As agreed, the others play on alone" in " ".join(body(bob.find("a deadline was missed")).split())
    found = proof(referee, carl)
    left = found.entries[at(found, "left")]
    assert (left.body["seat"], len(left.body["entries"])) == (3, 1)
    assert found.entries[at(found, "ended")].body["reason"] == "rules"
    assert both(found)
    fails_for_both(signed_again(with_entry(found, at(found, "left"), saying(seat=2))))
    assert accused(referee) == []


@contextmanager
def lax(monkeypatch: pytest.MonkeyPatch, forgets: str) -> Iterator[None]:
    """A server that forgets a part of the match when time is given."""
    extend = clocks.extend

    def forgetful(step: Step, seat: int, form: SignedForm[Extend], signed: Signed) -> list[int]:
        kept = getattr(step.match, forgets)
        step.match = replace(step.match, **{forgets: {}})
        to = extend(step, seat, form, signed)
        step.match = replace(step.match, **{forgets: kept})
        return to

    with monkeypatch.context() as patched:
        patched.setattr(clocks, "extend", forgetful)
        yield


def test_two_of_three_keep_nobody_waiting_for_ever(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is silent, and the other gives time: once a turn, also before the server's own key."""
    terms = "settle: 0\nmax_turns: 2\nmiss: forfeit\ngrace: 1d"
    ann, bob, carl = referee.table("shoot-em-up", terms, SETUPS)
    referee.send(bob, "extend m1 2d\n")
    referee.send(bob, "extend m1 2d\n")
    assert "where more than two play, each gives once a turn" in " ".join(bob.text.split())
    referee.send(carl, "extend m1 2d\n")

    with lax(monkeypatch, "sentence_revs"):
        referee.send(carl, "extend m1 2d\n")
    for person in (bob, carl):
        referee.send(person, "resign m1 game 1\n")
    found = proof(referee, ann)
    assert "each gives once a turn" in fails(found)
    assert second(found) is False


def test_who_left_gives_nobody_time(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that let who left stretch the others' time without end is convicted."""
    ann, bob, carl = referee.table("shoot-em-up", "settle: 0", SETUPS)
    referee.send(bob, "resign m1 game 1\n")
    with lax(monkeypatch, "left"):
        referee.send(bob, "extend m1 2d\n")
    referee.send(carl, "resign m1 game 1\n")
    found = proof(referee, ann)
    assert [entry.type for entry in found.entries[2:5]] == ["resigned", "left", "extended"]
    assert "you are out of this game" in fails(found)
    assert second(found) is False


@pytest.mark.parametrize("silent", [True, False])
def test_whose_turn_it_is_once_another_has_left(tmp_path: Path, *, silent: bool) -> None:
    """In an alternating game the next seat is asked, with a form and a clock."""
    with referee_of(tmp_path, "liars-dice", DICE) as referee:
        people = referee._agree("liars-dice", "pace: 2d\ngrace: 1d\nsettle: 0", NAMES[:4])
        referee.turn(*((person, f"shake {person.name}") for person in people))
        (mover,) = referee.match().choosing
        if silent:
            referee.wait(timedelta(days=4))
            claimant = people[mover % 4]
            referee.send(claimant, "claim m1\n")
        else:
            referee.send(people[mover - 1], "resign m1 game 1\n")
        (after,) = referee.match().choosing
        assert after == mover % 4 + 1
        asked = people[after - 1]
        assert f"Now that {people[mover - 1].name} has left, it is your move." in body(asked.find("has left"))
        assert referee.match().deadline(after) == referee.now + timedelta(days=2)
        referee.read_cold()
        referee.turn((asked, "bid 1 3"))
        assert referee.match().turn == 3
        for person in people:
            if person.name not in {people[mover - 1].name, asked.name}:
                referee.send(person, "draw m1 offer\n")
        referee.send(asked, "draw m1 accept\n")
        assert referee.match().phase == "closed"
        assert referee.match().outcome == {
            "winners": [seat for seat in range(1, 5) if seat != mover],
            "scores": [0 if seat == mover else 5 for seat in range(1, 5)],
            "reason": "agreement",
        }
        assert list(verify(attachment(people[mover - 1].find("the end"), ".zip")))[-1].holds
        assert accused(referee) == []


@pytest.mark.parametrize(
    ("game", "count", "says"),
    [
        ("shoot-em-up", 3, "has no empty order"),
        ("spaceships", 2, "ends for all when a player leaves it"),
    ],
)
def test_a_game_must_have_empty_orders_and_go_on(referee: Referee, game: str, count: int, says: str) -> None:
    first, *others = [referee.registered(name) for name in NAMES[:count]]
    referee.send(first, new(first, game, *(one.name for one in others), options="miss: leave"))
    assert says in first.text


def test_nobody_ends_the_match_because_who_left_is_out_of_reach(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others play on, and wait for nobody: whoever is about to lose could else have the match abandoned."""
    ann, bob, carl = referee.table("shoot-em-up", "settle: 0\nunreachable: stands\npace: 4d", SETUPS)
    referee.send(carl, "resign m1 game 1\n")
    for _ in range(2):
        for _ in range(8):
            bounce(referee, return_path(referee, carl), lost=carl.address)
            referee.wait(timedelta(hours=12))
        for person in (ann, bob):
            still = "\n".join(f"{line[0]}: LRL" for line in SETUPS[person.name].split("\n"))
            referee.send(person, person.filled("orders", f"final\n{still}"))
    assert clocks.out_of_reach(referee.match(), 3, referee.now)
    referee.send(ann, "claim m1\n")
    assert "first send what is due" in ann.text
    assert referee.match().phase == "playing"
    with monkeypatch.context() as lax:
        lax.setattr(silences, "_lost", lambda *_: {3})
        referee.send(ann, "claim m1 # again\n")
    assert referee.match().outcome == {"winners": [], "scores": [3, 3, 0], "reason": "abandoned"}
    fails_for_both(proof(referee, bob), "nobody has missed the deadline")


def test_a_claim_of_one_of_three_before_the_game_is_told_to_win_nothing(referee: Referee) -> None:
    people = [referee.registered(name) for name in SETUPS]
    ann, bob, _carl = people
    referee.send(ann, new(ann, "shoot-em-up", "bob", "carl", options="pace: 1d\ngrace: 0"))
    for other in people[1:]:
        referee.send(other, form_in(other.text, "accept", lines=1))
    for person in people[:2]:
        referee.send(person, person.filled("setup", SETUPS[person.name]))
    referee.wait(timedelta(days=2))
    told = " ".join(ann.text.split())
    assert "this ends the match for all. You win it only if all others have missed the deadline, too" in told
    assert "wins you" not in told
    referee.send(ann, "claim m1\n")
    assert referee.match().outcome == {"winners": [], "scores": [0, 0, 0], "reason": "forfeit"}
    assert "The match ends without a winner" in bob.text


LEFT = [("carl", "resign m1 match\n"), ("ann", "claim m1\n")]


def left_after_a_miss(referee: Referee, defaults: str, by: str, word: str) -> tuple[Bundle, bytes]:
    """Carl alone misses a turn, for which he has default orders, and then leaves; the receipt of these."""
    terms = "settle: 0\nmax_turns: 1\nmiss: default\ngrace: 1d"
    ann, bob, carl = people = referee.table("shoot-em-up", terms, SETUPS)
    referee.send(carl, carl.filled("orders", defaults).replace("turn 1", "default"))
    receipt = attachment(carl.last, ".receipt.txt")
    for person, ships in ((ann, "ABC"), (bob, "DEF")):
        referee.send(person, person.filled("orders", "\n".join(f"{ship}: LRL" for ship in ships)))
    referee.wait(timedelta(days=9))
    referee.read_cold()
    referee.send(next(person for person in people if person.name == by), word)
    assert referee.match().phase == "closed"
    return bundle.read(attachment(ann.find("the end"), ".zip")), receipt


@pytest.mark.parametrize(("by", "word"), LEFT)
def test_illegal_default_orders_accuse_nobody_once_their_player_has_left(
    referee: Referee, by: str, word: str
) -> None:
    """Their trace shows that the rules refused them, by the position before: two ships of three had none."""
    found, receipt = left_after_a_miss(referee, "G: LRL", by, word)
    assert both(found) is True
    assert end(write(found), receipt) == "refused by the rules"
    assert accused(referee) == []


@pytest.mark.parametrize(("by", "word"), LEFT)
def test_no_legal_default_orders_are_withheld_until_their_player_leaves(
    referee: Referee, by: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pbem.match.stored_orders.default", lambda *_: None)
    found, _ = left_after_a_miss(referee, "G: LRL\nH: LRL\nI: LRL", by, word)
    fails_for_both(found, "these orders are legal, and were not used")
