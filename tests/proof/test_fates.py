"""The fate of each paper that acknowledges something, in a small match of three turns and in forgeries of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from attackers.droppers import second_standing
from attackers.forgers import with_papers
from judges.profiled import calls
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import signed_again

from pbem.match.documents import Opening, Receipt, Withdrawal
from pbem.match.transcript import Entry, sha256_hex
from pbem.proof import bundle
from pbem.proof.compare.fates import Fates

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle

Fate = tuple[str, str, int | None]

WHOLE = good("ssh-rsa")
"""Commitments are entry 2, the turns 3 to 5; entry 6 ends the game, 7 reveals it, and 8 closes the match."""
UNREVEALED = replace(WHOLE, entries=WHOLE.entries[:5])
BEFORE, AFTER = "2028-06-01T11:59:00Z", "2028-06-01T12:00:01Z"
"""All entries are of the minute between."""
A_DAY_LATER = "2028-06-02T12:00:02Z"


def of_its_own(changes: dict[str, Any]) -> dict[str, Any]:
    """The changes of a paper; another revision also names another letter."""
    return {"mail": f"{changes['rev']:064}", **changes} if "rev" in changes else changes


def opening(**changes: Any) -> Opening:
    changes = of_its_own(changes)
    return replace(Opening.read(WHOLE.papers["openings/game-1-seat-1.txt"].decode()), **changes)


def receipt(turn: int = 1, **changes: Any) -> Receipt:
    changes = of_its_own(changes)
    return replace(Receipt.read(WHOLE.papers["receipts/game-1-turn-1-seat-1.txt"].decode()), turn=turn, **changes)


def withdrawal(turn: int = 1) -> Withdrawal:
    return Withdrawal(
        server="play.example",
        match="m1",
        game=1,
        turn=turn,
        seat=1,
        player="ann",
        rev=2,
        level="key",
        key="k",
        mail="0" * 64,
        received=BEFORE,
        salt="0" * 64,
    )


def fate(found: Bundle, paper: Opening | Receipt | Withdrawal) -> Fate:
    """The standing of a paper, the reason, and the entry; the second verifier finds the same standing."""
    content = paper.text().encode()
    fated = Fates(found).of(paper, sha256_hex(content))
    assert second_standing(bundle.write(signed_again(found)), content) == fated.standing
    return fated.standing, fated.found, fated.seq


def with_entry(seq: int, kind: str, **body: Any) -> Bundle:
    """The match with another entry in this place."""
    before = WHOLE.entries[seq - 1]
    made = Entry(seq, before.prev, before.time, kind, {"game": 1, **body})
    return replace(WHOLE, entries=[*WHOLE.entries[: seq - 1], made, *WHOLE.entries[seq:]])


def story(*told: tuple[str, dict[str, Any]], terms: str = "wait", **papers: Opening | Receipt | Withdrawal) -> Bundle:
    """A match of these terms in which this happened, entry by entry; its papers are named as in a bundle."""
    first = WHOLE.entries[0]
    body = {**first.body, "terms": {**first.body["terms"], "miss": terms}}
    entries = [replace(first, body=body)]
    entries += [
        Entry(seq, "", first.time, kind, {"game": 1, "seat": 1, **body}) for seq, (kind, body) in enumerate(told, 2)
    ]
    written = {
        f"{folder}/game-1-{'turn-1' if folder == 'receipts' else 'end'}{name}-seat-1.txt": paper.text().encode()
        for where, paper in papers.items()
        for folder, _, name in [where.partition("_")]
    }
    return replace(WHOLE, entries=entries, papers=written)


BEGUN: tuple[str, dict[str, Any]] = "commitments", {"commitments": {}}
MISS: tuple[str, dict[str, Any]] = "missed", {"turn": 1, "deadline": "2028-06-01T11:58:00Z"}
TURN: tuple[str, dict[str, Any]] = "turn", {"turn": 1, "orders": {}}
WAITED: tuple[str, dict[str, Any]] = "turn", {"turn": 1, "orders": {"2": "2" * 64}}
"""The same, after seat 2 had ordered, too: nobody knows when."""
CLAIM: tuple[str, dict[str, Any]] = "claimed", {"seat": 2, "against": [1]}
CARL: tuple[str, dict[str, Any]] = "substituted", {"player": {"name": "carl"}}
END: tuple[tuple[str, dict[str, Any]], ...] = ("ended", {"turns": 0, "reason": "forfeit"}), ("revealed", {})


TAKEN_OVER = with_entry(4, "substituted", seat=1, player={"name": "carl"})
MISSED = with_entry(4, "missed", turn=3, seat=1, deadline="2028-06-01T11:58:00Z")
FORFEITED = with_entry(5, "forfeited", seats=[1])
OTHER = "1" * 64
MADE = "was neither played, replaced nor withdrawn"
GIVEN_UP = "given up with the seat in entry 4"
REVEAL = "the reveal will show what became of it"
LATER = "the bundle does not have that yet; ask for a newer one"


@pytest.mark.parametrize(
    ("found", "paper", "expected"),
    [
        (WHOLE, opening(), ("agrees", "", 2)),
        (WHOLE, opening(rev=0), ("agrees", "replaced by rev 1", 2)),
        (WHOLE, opening(setup="x"), ("dropped", f"{MADE}: entry 2 was made with rev 1", 2)),
        (WHOLE, opening(game=2), ("agrees", "it ended before with entry 8", 8)),
        (UNREVEALED, opening(game=2), ("later", LATER, None)),
        (WHOLE, receipt(), ("agrees", "", 3)),
        (UNREVEALED, receipt(), ("agrees", "", 3)),
        (WHOLE, receipt(rev=0), ("agrees", "replaced by rev 1", 3)),
        (WHOLE, receipt(salt=OTHER), ("dropped", f"{MADE}: entry 3 was made with rev 1", 3)),
        (UNREVEALED, receipt(salt=OTHER), ("open", REVEAL, 3)),
        (WHOLE, receipt(9), ("agrees", "it ended before with entry 6", 6)),
        (WHOLE, receipt(orders="default", salt=OTHER), ("dropped", f"{MADE}: entry 3 was made with rev 1", 3)),
        (UNREVEALED, receipt(9), ("later", LATER, None)),
        (WHOLE, withdrawal(), ("dropped", "the withdrawal left no trace up to entry 3", 3)),
        (UNREVEALED, withdrawal(), ("open", REVEAL, 3)),
        (WHOLE, withdrawal(9), ("agrees", "it ended before with entry 6", 6)),
        (UNREVEALED, withdrawal(9), ("later", LATER, None)),
        (UNREVEALED, withdrawal(0), ("open", REVEAL, 2)),
        (TAKEN_OVER, receipt(3, salt=OTHER), ("agrees", GIVEN_UP, 4)),
        (TAKEN_OVER, receipt(1, salt=OTHER), ("dropped", f"{MADE}: entry 3 was made with rev 1", 3)),
        (TAKEN_OVER, receipt(3, salt=OTHER, player="carl"), ("dropped", f"{MADE}: entry 5 was made with rev 1", 5)),
        (
            TAKEN_OVER,
            receipt(3, salt=OTHER, seat=2, player="bob"),
            ("dropped", f"{MADE}: entry 5 was made with rev 1", 5),
        ),
        (
            MISSED,
            receipt(3, received=BEFORE),
            ("dropped", "entry 4 counts the time of seat 1 as missed, although this was in by then", 4),
        ),
        (MISSED, receipt(3, salt=OTHER, received=AFTER), ("dropped", f"{MADE}: entry 5 was made with rev 1", 5)),
        (
            FORFEITED,
            receipt(4, received=BEFORE),
            (
                "dropped",
                "was in, and neither replaced nor withdrawn: entry 5 ends it for the silence of this seat",
                5,
            ),
        ),
        (FORFEITED, receipt(4, received=AFTER), ("agrees", "came after entry 5", 5)),
        (FORFEITED, receipt(4, seat=2, player="bob"), ("agrees", "it ended before with entry 6", 6)),
        (FORFEITED, receipt(5), ("agrees", "it ended before with entry 6", 6)),
        (WHOLE, receipt(rev=0, seat=2), ("dropped", "seat 2 was not ann's when this came", 8)),
        (WHOLE, receipt(rev=0, player="carl"), ("dropped", "seat 1 was not carl's when this came", 8)),
        (TAKEN_OVER, receipt(3, salt=OTHER, player="dora"), ("dropped", "seat 1 was not dora's when this came", 8)),
        (
            TAKEN_OVER,
            receipt(3, salt=OTHER, received=A_DAY_LATER),
            ("dropped", "seat 1 was not ann's when this came", 8),
        ),
        (UNREVEALED, receipt(3, salt=OTHER, player="carl"), ("open", REVEAL, 5)),
    ],
)
def test_the_fate_of_what_was_acknowledged(
    found: Bundle, paper: Opening | Receipt | Withdrawal, expected: Fate
) -> None:
    assert fate(found, paper) == expected


@pytest.mark.parametrize(
    ("paper", "what"),
    [
        (opening(), "opening of game 1, seat 1"),
        (receipt(), "receipt of game 1, turn 1, rev 1"),
        (receipt(0, orders="default"), "receipt of default orders of game 1, rev 1"),
        (withdrawal(0), "withdrawal of game 1, setup, rev 2"),
        (replace(withdrawal(0), orders="default"), "withdrawal of default orders of game 1, rev 2"),
    ],
)
def test_a_fate_names_its_paper(paper: Opening | Receipt | Withdrawal, what: str) -> None:
    assert Fates(WHOLE).of(paper, "0" * 64).what == what


@pytest.mark.parametrize(
    ("between", "lost"),
    [
        ((), True),
        (("extended", {"to": [1]}), False),
        (("extended", {"to": [2]}), True),
        (("step", {"seat": 1}), False),
        (("step", {"seat": 2}), True),
        (("turn", {"turn": 2}), False),
        (BEGUN, False),
        (("sealed", BEGUN[1]), False),
        (("revealed", {}), False),
        (("draw", {"seat": 1}), True),
    ],
    ids=str,
)
def test_who_was_given_time_or_answered_was_not_silent(between: tuple[Any, ...], *, lost: bool) -> None:
    """A claim takes nothing from who had missed the time, and then had it, or answered."""
    found = with_entry(5, "claimed", against=[1])
    missed = with_entry(3, "missed", turn=4, seat=1, deadline="2028-06-01T11:58:00Z").entries[2]
    fourth = with_entry(4, between[0], **between[1]).entries[3] if between else replace(missed, seq=4)
    found = replace(found, entries=[*found.entries[:2], missed, fourth, *found.entries[4:]])
    fated = fate(found, receipt(4))
    assert (fated[0], fated[2]) == (("dropped", 5) if lost else ("agrees", 6))


BY_DEFAULT = receipt(0, orders="default", received=BEFORE)


@pytest.mark.parametrize(
    ("waits", "between", "left"),
    [
        (True, ("left", {"seat": 1, "game": 1, "turn": 3, "cause": "resigned"}), True),
        (False, ("left", {"seat": 1, "game": 1, "turn": 3, "cause": "resigned"}), False),
        (True, ("left", {"seat": 2, "game": 1, "turn": 3, "cause": "resigned"}), False),
        (True, ("draw", {"seat": 1}), False),
    ],
    ids=str,
)
def test_default_orders_are_played_where_a_turn_was_missed(
    between: tuple[str, Any], *, waits: bool, left: bool
) -> None:
    """Only who left the game while it waited for the other is owed nothing: else the turn follows at once."""
    missed = with_entry(3, "missed", turn=3, seat=1, deadline="2028-06-01T11:58:00Z").entries[2]
    kind, body = between
    path = "receipts/game-1-turn-3-seat-2.txt"
    other = replace(Receipt.read(WHOLE.papers[path].decode()), received=AFTER if waits else "2028-06-01T11:49:00Z")
    papers = {**WHOLE.papers, path: other.text().encode()}
    del papers["receipts/game-1-turn-3-seat-1.txt"]
    entries = [*WHOLE.entries[:2], missed, with_entry(4, kind, **body).entries[3], *WHOLE.entries[4:]]
    fated = fate(replace(WHOLE, entries=entries, papers=papers), BY_DEFAULT)
    gone = ("agrees", "left with the seat in entry 4", 4)
    lie = ("dropped", "turn 3 was missed, and entry 5 did not play them", 5)
    assert fated == (gone if left else lie)


def test_orders_that_lie_beside_the_others_as_unused() -> None:
    unused = receipt(3, salt=OTHER)
    paper = unused.text().encode()
    found = with_papers(WHOLE, {"receipts/game-1-turn-3-unused-seat-1-rev-1.txt": paper})
    said = fate(found, unused)
    assert said == ("agrees", "not legal when its turn came", 5)


def test_a_seat_that_changes_hands_twice_was_given_up_the_first_time() -> None:
    first = with_entry(3, "substituted", seat=1, player={"name": "carl"}).entries[2]
    second = with_entry(4, "substituted", seat=1, player={"name": "dora"}).entries[3]
    found = replace(WHOLE, entries=[*WHOLE.entries[:2], first, second, *WHOLE.entries[4:]])
    for name, entry in (("ann", 3), ("carl", 4)):
        said = fate(found, receipt(3, salt=OTHER, player=name, received=BEFORE))
        assert said == ("agrees", f"given up with the seat in entry {entry}", entry)


def ended_by(said: str, seq: int) -> Fate:
    return ("agrees", said, seq)


NOT_PLAYED = ("dropped", "turn 1 was missed, and entry 4 did not play them", 4)
CLAIMED = ("dropped", "were in, and entry 4 ends it for the silence of this seat", 4)
FINE = ("agrees", "", None)
SETUP_MISSED = ("dropped", f"{MADE}: entry 3 was made with nothing", 3)
NOT_DEFAULT = replace(BY_DEFAULT, turn=1, orders="")
CLEARED = replace(withdrawal(0), orders="default")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (story(BEGUN, MISS, TURN, *END), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, *END, receipts=replace(BY_DEFAULT, turn=1)), ended_by("", 4)),
        (story(BEGUN, MISS, TURN, *END, receipts=replace(BY_DEFAULT, turn=1, mail="0" * 64)), NOT_PLAYED),
        (
            story(BEGUN, MISS, TURN, *END, receipts=replace(BY_DEFAULT, turn=1, rev=2, mail="0" * 64)),
            ended_by("replaced by rev 2", 4),
        ),
        (story(BEGUN, MISS, TURN, *END, receipts=replace(BY_DEFAULT, turn=1, rev=0)), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, *END, receipts=NOT_DEFAULT), NOT_PLAYED),
        (story(BEGUN, MISS, WAITED, *END, receipts=NOT_DEFAULT), ended_by("replaced by orders for the turn", 4)),
        (story(BEGUN, MISS, TURN, *END, withdrawals=CLEARED), ended_by("withdrawn by rev 2", 4)),
        (story(BEGUN, MISS, TURN, *END, withdrawals=replace(CLEARED, rev=1)), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, *END, withdrawals=replace(CLEARED, seat=2)), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, *END, withdrawals=replace(CLEARED, received=AFTER)), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, *END, withdrawals=withdrawal(1)), NOT_PLAYED),
        (story(BEGUN, (MISS[0], {**MISS[1], "seat": 2}), TURN, *END), FINE),
        (story((MISS[0], {**MISS[1], "turn": 0}), BEGUN, TURN, *END), SETUP_MISSED),
        (story(BEGUN, (MISS[0], {**MISS[1], "game": 2}), TURN, *END), FINE),
        (story(BEGUN, (MISS[0], {**MISS[1], "deadline": "2028-05-29T11:59:00Z"}), TURN, *END), FINE),
        (story(BEGUN, (MISS[0], {**MISS[1], "deadline": "2028-05-29T11:59:01Z"}), TURN, *END), NOT_PLAYED),
        (story(BEGUN, MISS, TURN, END[0]), ("open", REVEAL, 4)),
        (story(BEGUN, MISS, TURN), ("open", REVEAL, 4)),
        (story(BEGUN, MISS), ("later", LATER, None)),
        (story(BEGUN, MISS, CLAIM, *END), CLAIMED),
        (story(BEGUN, MISS, CLAIM, *END, terms="default"), CLAIMED),
        (story(BEGUN, MISS, CLAIM, *END, terms="pass"), ended_by("it ended before with entry 5", 5)),
        (
            story(BEGUN, MISS, (CLAIM[0], {**CLAIM[1], "against": [2]}), *END),
            ended_by("it ended before with entry 5", 5),
        ),
        (
            story(BEGUN, MISS, (CLAIM[0], {**CLAIM[1], "against": [1, 2]}), *END),
            ended_by("it ended before with entry 5", 5),
        ),
        (
            story(BEGUN, MISS, CLAIM, *END, withdrawals=replace(CLEARED, received=AFTER)),
            ended_by("withdrawn by rev 2", 5),
        ),
        (story(BEGUN, MISS, ("forfeited", {"seats": [1]}), *END), CLAIMED),
        (story(BEGUN, MISS, CARL, TURN, *END), ("dropped", NOT_PLAYED[1].replace("4", "5"), 5)),
        (story(BEGUN, MISS, CARL, WAITED, *END), ("agrees", GIVEN_UP, 4)),
        (story(BEGUN, MISS, ("paused", {}), CARL, TURN, *END), ("agrees", GIVEN_UP.replace("4", "5"), 5)),
        (story(BEGUN, MISS, TURN, CARL, *END), NOT_PLAYED),
    ],
)
def test_default_orders_and_each_turn_that_was_missed(found: Bundle, expected: Fate) -> None:
    assert fate(found, BY_DEFAULT) == expected


@pytest.mark.parametrize(
    ("reason", "turns", "turn", "standing"),
    [
        ("rules", 3, 3, "dropped"),
        ("rules", 3, 4, "agrees"),
        ("resignation", 3, 4, "dropped"),
        ("resignation", 3, 5, "agrees"),
        ("resignation", 0, 1, "dropped"),
    ],
)
def test_what_was_withdrawn_of_a_turn_that_never_came(reason: str, turns: int, turn: int, standing: str) -> None:
    """A resignation ends the turn that was due."""
    found = story(BEGUN, ("ended", {"turns": turns, "reason": reason}), ("revealed", {}))
    said = "it ended before with entry 3" if standing == "agrees" else "the withdrawal left no trace up to entry 3"
    assert fate(found, withdrawal(turn)) == (standing, said, 3)


def test_default_orders_that_were_withdrawn_leave_their_trace_at_the_end() -> None:
    assert fate(story(BEGUN, TURN), CLEARED) == ("later", LATER, None)
    said = ("dropped", "the withdrawal left no trace up to entry 4", 4)
    assert fate(story(BEGUN, TURN, *END), CLEARED) == said
    kept = story(BEGUN, TURN, *END, withdrawals=CLEARED)
    assert fate(kept, CLEARED) == ("agrees", "withdrawn", 4)


@pytest.mark.parametrize(
    ("aside", "said"),
    [
        ({}, f"{MADE}: entry 3 was made with nothing"),
        ({"withdrawals": withdrawal(1)}, "withdrawn by rev 2"),
        ({"withdrawals": replace(withdrawal(1), rev=1)}, f"{MADE}: entry 3 was made with nothing"),
        ({"withdrawals": withdrawal(2)}, f"{MADE}: entry 3 was made with nothing"),
        ({"withdrawals": replace(withdrawal(1), received="2028-05-31T11:59:00Z")}, "withdrawn by rev 2"),
        (
            {"withdrawals": replace(withdrawal(1), received="2028-05-31T11:58:59Z")},
            f"{MADE}: entry 3 was made with nothing",
        ),
        (
            {"receipts_-unused": receipt(1, rev=3, received=BEFORE)},
            "replaced by orders that were not legal, in rev 3",
        ),
        (
            {"withdrawals": withdrawal(1), "receipts_-unused": receipt(1, rev=3, received=BEFORE)},
            "replaced by orders that were not legal, in rev 3",
        ),
        (
            {"withdrawals": replace(withdrawal(1), rev=4), "receipts_-unused": receipt(1, rev=3, received=BEFORE)},
            "withdrawn by rev 4",
        ),
    ],
)
def test_orders_that_were_set_aside(aside: dict[str, Any], said: str) -> None:
    """A higher revision replaces them, even if it seems to have come up to a day earlier."""
    found = story(BEGUN, TURN, *END, **aside)
    fated = fate(found, receipt(1, received=BEFORE))
    assert fated == ("dropped" if said.startswith(MADE) else "agrees", said, 3)


@pytest.mark.parametrize(("day", "standing"), [(1, "agrees"), (3, "dropped")])
def test_orders_that_are_not_legal_replace_only_what_came_before_their_turn_was_asked_for(
    day: int, standing: str
) -> None:
    came = f"2028-06-0{day}T18:00:00Z"
    aside: dict[str, Any] = {"receipts_-unused": receipt(2, rev=3, received=came)}
    found = story(BEGUN, TURN, ("turn", {"turn": 2, "orders": {}}), *END, **aside)
    late = [
        replace(entry, time=f"2028-06-0{entry.seq - 1 if entry.seq < 4 else 4}T12:00:00Z")
        for entry in found.entries[2:]
    ]
    found = replace(found, entries=[*found.entries[:2], *late])
    assert fate(found, receipt(2, received=came))[::2] == (standing, 4)


@pytest.mark.parametrize(("hour", "later"), [("12", True), ("11", False)])
def test_a_server_gives_no_earlier_letter_the_higher_revision(hour: str, *, later: bool) -> None:
    """Without a form, the revision is that of an address, which the server chooses; a day is for its clock."""
    played = receipt(1, rev=5, received=f"2028-05-31T{hour}:00:00Z")
    found = story(BEGUN, TURN, *END, receipts=played)
    fated = fate(found, receipt(1, rev=2, received="2028-06-01T12:00:00Z"))
    assert fated[0] == ("agrees" if later else "dropped")
    withdrawn = replace(withdrawal(1), received="2028-06-01T12:00:00Z")
    found = story(BEGUN, TURN, *END, receipts=played, withdrawals=withdrawn)
    fated = fate(found, withdrawn)
    assert fated[0] == ("agrees" if later else "dropped")
    assert later or fated[1] == "entry 3 was made with rev 5, which it withdrew"


def test_orders_that_were_missed_and_then_given_up() -> None:
    """The trace tells who withdrew them, so that the miss was true: a withdrawal by the newcomer is no excuse."""
    found = story(BEGUN, MISS, CARL, TURN, *END)
    said = "entry 3 counts the time of seat 1 as missed, although this was in by then"
    assert fate(found, receipt(1, received=BEFORE)) == ("dropped", said, 3)
    gone = replace(withdrawal(1), rev=3, received=BEFORE)
    for withdrew, standing in ((gone, "agrees"), (replace(gone, player="carl"), "dropped")):
        traced = story(BEGUN, MISS, CARL, TURN, *END, withdrawals=withdrew)
        assert fate(traced, receipt(1, received=BEFORE))[0] == standing
    assert fate(found, receipt(1, received=AFTER)) == ("agrees", GIVEN_UP, 4)
    first_given_up = story(BEGUN, CARL, MISS, TURN, *END)
    assert fate(first_given_up, receipt(1, received=BEFORE)) == ("agrees", "given up with the seat in entry 3", 3)


@pytest.mark.parametrize(("paper", "most"), [(receipt(999), 0), (receipt(0, orders="default"), 1)])
def test_a_receipt_costs_little_however_many_turns_were_missed(paper: Receipt, most: int) -> None:
    """Letters may bring thousands: none is compared with the misses of other turns, and no turn looked up anew."""
    costs = []
    for count in (50, 100):
        turns = [{"turn": turn, "deadline": BEFORE} for turn in range(1, count + 1)]
        told = [one for turn in turns for one in (("missed", turn), ("turn", {**turn, "orders": {}}))]
        fates = Fates(story(BEGUN, *told, *END))
        costs.append(calls(partial(fates.of, replace(paper, received=AFTER), "0" * 64)))
    few, many = costs
    assert many - few <= most * 50, f"{few} calls become {many}"
