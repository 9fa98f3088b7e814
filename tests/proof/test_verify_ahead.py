"""The proof of orders before their turn: in no other turn or game, and by default only where a turn was missed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import against, fails, holds, index, proved, with_entry, with_papers
from in_a_box.referee import Referee, attachment
from vectors.make import early
from world.mutations import signed_again

from pbem.match.changed import replace
from pbem.match.documents import NotADocument, Receipt
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from in_a_box.referee import Mailbox

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import Finding

OPTIONS = "fleet: cost:3\nsettle: 0\nmiss: default\nkind: scored\ngames: 2"
ANN = "MD Rv1 Rv2 Rv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"
OVER = timedelta(days=11)


def with_setups(referee: Referee, ann: Mailbox, bob: Mailbox) -> None:
    for person, text in ((ann, ANN), (bob, BOB)):
        referee.send(person, person.filled("setup", text))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """In game 1 Ann ordered turns 2 and 3 in advance, and Bob missed turns 1 and 2; in game 2 Bob ordered by mail."""
    referee = Referee(tmp_path_factory.mktemp("ahead"))
    ann, bob = referee.agreed(OPTIONS)
    with_setups(referee, ann, bob)
    early(referee, ann, "turn 2", "final\nRv3")
    early(referee, ann, "turn 3", "final\nBz5")
    early(referee, bob, "default", "")
    referee.turn((ann, "Rv1"))
    referee.wait(OVER)
    referee.wait(OVER)
    referee.turn((bob, ""))
    with_setups(referee, ann, bob)
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    yield bundle.read(attachment(ann.find("game 2, the end"), ".zip"))
    referee.close()


def receipt_of(found: Bundle, game: int, turn: int, seat: int) -> tuple[str, Receipt]:
    path = f"receipts/game-{game}-turn-{turn}-seat-{seat}.txt"
    return path, Receipt.read(found.papers[path].decode())


def exchanged(found: Bundle, place: tuple[int, int, int], by: bytes, **changes: Any) -> Bundle:
    """The letter of a game's turn and seat exchanged, with a receipt and an entry that fit."""
    game, turn, seat = place
    path, receipt = receipt_of(found, *place)
    letter = f"letters/game-{game}-turn-{turn}-seat-{seat}.eml"
    forged = with_papers(found, {letter: by})
    paper = replace(receipt, mail=sha256_hex(by), **changes).text().encode()
    at = index(forged, "turn", game, turn)
    forged = with_entry(forged, at, lambda body: body["orders"].update({str(seat): sha256_hex(paper)}))
    return signed_again(with_papers(forged, {path: paper}))


def letter_of(found: Bundle, game: int, turn: int, seat: int) -> bytes:
    return found.papers[f"letters/game-{game}-turn-{turn}-seat-{seat}.eml"]


def test_an_honest_match_holds(found: Bundle) -> None:
    told = [check.found for check in holds(found) if "orders signed" in check.found]
    assert ["by default" in line for line in told] == [True, True, *[False] * 4]
    assert found.entries[index(found, "turn", 1, 1)].body["default"] == [2]
    assert found.entries[index(found, "turn", 1, 3)].body["default"] == []
    assert letter_of(found, 1, 1, 2) == letter_of(found, 1, 2, 2)
    assert receipt_of(found, 1, 1, 2)[1].salt != receipt_of(found, 1, 2, 2)[1].salt


def test_in_another_turn(found: Bundle) -> None:
    """What Ann sent for turn 3 is played in turn 2, or the other way round."""
    forged = exchanged(found, (1, 2, 1), letter_of(found, 1, 3, 1))
    assert "letters/game-1-turn-2-seat-1.eml" in fails(forged, "holds no `orders` for this place")
    forged = exchanged(found, (1, 3, 1), letter_of(found, 1, 2, 1))
    assert "letters/game-1-turn-3-seat-1.eml" in fails(forged, "holds no `orders` for this place")


def test_in_another_game(found: Bundle) -> None:
    """The head that they cite was printed in game 1."""
    fails(exchanged(found, (2, 3, 1), letter_of(found, 1, 3, 1)), "letters/game-2-turn-3-seat-1.eml", "wrong `prev`")
    fails(exchanged(found, (2, 2, 1), letter_of(found, 1, 2, 1)), "letters/game-2-turn-2-seat-1.eml", "wrong `prev`")


def test_by_default_in_another_game(found: Bundle) -> None:
    forged = exchanged(found, (2, 1, 2), letter_of(found, 1, 1, 2), orders="default")
    fails(forged, "although seat 2 had not missed the turn")


def test_by_default_although_the_turn_was_not_missed(found: Bundle) -> None:
    """Bob's own orders of turn 3 are exchanged for his default orders."""
    forged = exchanged(found, (1, 3, 2), letter_of(found, 1, 1, 2), orders="default")
    fails(forged, "letters/game-1-turn-3-seat-2.eml", "although seat 2 had not missed the turn")
    at = index(found, "turn", 1, 3)
    fails(signed_again(with_entry(forged, at, lambda body: body.update(default=[2]))), "had not missed the turn")


def test_default_orders_as_if_they_had_been_sent_for_the_turn(found: Bundle) -> None:
    path, receipt = receipt_of(found, 1, 2, 2)
    paper = replace(receipt, orders="").text().encode()
    at = index(found, "turn", 1, 2)
    forged = with_entry(found, at, lambda body: body["orders"].update({"2": sha256_hex(paper)}))
    fails(signed_again(with_papers(forged, {path: paper})), "holds no `orders` for this place")


def test_the_orders_of_a_turn_as_if_they_were_default_orders(found: Bundle) -> None:
    """What Bob sent for turn 3 stands for what he sent for a miss."""
    fails(exchanged(found, (1, 2, 2), letter_of(found, 1, 3, 2)), "holds no `default orders` for this place")


@pytest.mark.parametrize("told", [None, [], [1], [1, 2], "2"])
def test_the_entry_says_who_played_by_default(found: Bundle, told: object) -> None:
    def change(body: dict[str, Any]) -> None:
        del body["default"]
        body.update({} if told is None else {"default": told})

    word = "`default` is not what follows" if isinstance(told, list) else "its body has not the form of one"
    fails(signed_again(with_entry(found, index(found, "turn", 1, 2), change)), word)


def test_a_receipt_of_another_revision(found: Bundle) -> None:
    path, receipt = receipt_of(found, 1, 2, 2)
    paper = replace(receipt, rev=2).text().encode()
    forged = with_entry(
        found, index(found, "turn", 1, 2), lambda body: body["orders"].update({"2": sha256_hex(paper)})
    )
    fails(signed_again(with_papers(forged, {path: paper})), "holds no `default orders`")


def test_without_the_miss(found: Bundle) -> None:
    at = next(at for at, entry in enumerate(found.entries) if entry.type == "missed")
    forged = replace(found, entries=(*found.entries[:at], *found.entries[at + 1 :]))
    fails(signed_again(forged), "although seat 2 had not missed the turn")


def test_receipts_say_which_orders_they_are_of(found: Bundle) -> None:
    _, receipt = receipt_of(found, 1, 2, 2)
    assert receipt.by_default
    assert "\norders default\nreceived " in receipt.text()
    assert Receipt.read(receipt.text()) == receipt
    for text in (receipt.text().replace("orders default", "orders other"), receipt.text() + "orders default\n"):
        with pytest.raises(NotADocument):
            Receipt.read(text)


# What players kept.


def judged(content: bytes, person: Mailbox, *, without: str | None = None) -> list[Finding]:
    """What is to be said of the receipts that a player kept.

    `without` leaves out the papers whose path holds that word, as if the server had set nothing of the kind aside.
    """
    told = proved(content)
    if without:
        whole = bundle.read(content)
        told.bundle = replace(
            whole, papers={path: paper for path, paper in whole.papers.items() if without not in path}
        )
        assert told.bundle.papers != whole.papers
        fails(told.bundle, "is missing")
    bench = against(told)
    findings = [finding for raw in person.letters.came for finding in bench.judge(kept("", raw)).findings]
    if not without:
        assert {finding.standing for finding in findings} <= {"agrees", "open", "later", "silent"}
    return [finding for finding in findings if "receipt" in finding.what]


def test_orders_that_were_passed_over_for_default_orders(referee: Referee) -> None:
    """What Bob withdrew, and what was not legal in time, left a trace; without one his receipt convicts."""
    ann, bob = referee.agreed(OPTIONS)
    with_setups(referee, ann, bob)
    early(referee, bob, "default", "")
    early(referee, bob, "turn 2", "mRv1 Gx1")
    referee.send(bob, bob.filled("orders", "mRv3 Gx1"))
    referee.send(bob, "clear m1\n")
    referee.turn((ann, "Rv1"))
    referee.wait(OVER)
    referee.turn((ann, "Rv3"))
    referee.wait(OVER)
    referee.send(ann, "resign m1 match\n")
    content = attachment(ann.find(", the end"), ".zip")
    told = judged(content, bob)
    assert [(finding.what, finding.standing, finding.found) for finding in told] == [
        ("receipt of default orders of game 1, rev 1", "agrees", ""),
        ("receipt of game 1, turn 2, rev 1", "agrees", "not legal when its turn came"),
        ("receipt of game 1, turn 1, rev 1", "agrees", "withdrawn by rev 2"),
        ("receipt of game 1, turn 1, rev 1", "agrees", ""),
        ("receipt of game 1, turn 2, rev 1", "agrees", ""),
    ]
    for without, which in (("-unused-", 1), ("withdrawals/", 2)):
        told = judged(content, bob, without=without)
        assert [n for n, finding in enumerate(told) if finding.standing == "two stories"] == [which]
        assert "entry" in told[which].found
        assert "although this was in by then" in told[which].found


def test_a_claim_although_there_were_default_orders(referee: Referee) -> None:
    ann, bob = referee.agreed(OPTIONS)
    with_setups(referee, ann, bob)
    early(referee, bob, "default", "Gx1")
    referee.turn((ann, "Rv1"))
    referee.wait(OVER)
    referee.send(ann, "claim m1\n")
    content = attachment(ann.find(", the end"), ".zip")
    (told,) = judged(content, bob)
    what = "receipt of default orders of game 1, rev 1"
    assert (told.what, told.standing, told.found) == (what, "agrees", "not legal when its turn came")
    (told,) = judged(content, bob, without="-unused-")
    assert (told.what, told.standing) == (what, "two stories")
    assert "ends it for the silence of this seat" in told.found
