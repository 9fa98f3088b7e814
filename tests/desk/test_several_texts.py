"""Letters with several texts of players without a key: the text that counts is read, above or below others.

Gateways and virus scanners put a text of their own beside the player's, and Apple Mail cuts a text where a picture
stands. Both verifiers judge what counted (`Table.proof`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desk.test_one_letter import OTHERS, Table, table
from in_a_box.keyless import HOME, reply_to
from in_a_box.referee import ANN, BOB, Referee, body

if TYPE_CHECKING:
    from email.message import EmailMessage

__all__ = ["table"]

WARNINGS = (
    "[EXTERNAL] This message came from outside. Do not click on links.",
    "CAUTION: External sender",
    "Achtung: Diese E-Mail kommt von außerhalb.",
    "-- \nScanned for viruses",
    "Help us save paper: think before you print.",
    "> quoted by a gateway",
)
PICTURE = "Content-Type: image/png; name=board.png\r\nContent-Disposition: inline\r\n\r\nx"


def quoting(letter: EmailMessage, said: str) -> str:
    quoted = "".join(f"> {line}\n" for line in body(letter).split("\n"))
    return f"{said}\n\nOn 1 March 2026 at 12:00 pbem <{reply_to(letter)}> wrote:\n\n{quoted}"


def crafted(table: Table, letter: EmailMessage, *texts: str) -> bytes:
    """A letter of Bob's of these texts, with a picture behind each, signed by his domain."""
    parts = [f"Content-Type: text/plain; charset=utf-8\r\n\r\n{text}".replace("\n", "\r\n") for text in texts]
    pieces = "".join(f"--b\r\n{part}\r\n".replace("\r\r", "\r") for one in parts for part in (one, PICTURE))
    raw = table.referee.raw(table.bob, "").replace(b"To: pbem@play.example", f"To: {reply_to(letter)}".encode())
    raw = raw.replace(b"text/plain; charset=utf-8", b"multipart/mixed; boundary=b")
    return HOME.craft(raw + f"{pieces}--b--\r\n".encode(), headers=("to", *OTHERS))


def sends(table: Table, letter: EmailMessage, *texts: str) -> str:
    """The answer to such a letter, in one line."""
    table.referee.deliver(crafted(table, letter, *texts), table.bob.address, reply_to(letter))
    return " ".join(table.bob.text.split())


@pytest.mark.parametrize("warning", WARNINGS)
def test_bare_orders_and_a_yes_count_beside_a_text_of_a_gateway(table: Table, warning: str) -> None:
    orders = quoting(table.begins, "Gx4")
    assert "Your orders for turn 1 stand" in sends(table, table.begins, warning, orders)
    assert table.orders() == "Gx4"
    sends(table, table.bob.last, quoting(table.bob.last, "Gx5"), warning)
    assert table.orders() == "Gx5"
    sends(table, table.bob.last, warning, quoting(table.bob.last, "gx3"))
    assert "Gx3" in table.bob.text
    assert table.orders() == "Gx5"
    sends(table, table.bob.last, warning, quoting(table.bob.last, "Ja, bitte!"), "Sent from my iPhone")
    assert table.orders() == "Gx3"
    table.referee.turn((table.ann, ""))
    table.proof()


@pytest.mark.parametrize("warning", WARNINGS)
def test_terms_and_a_setup_count_beside_it(referee: Referee, warning: str) -> None:
    ann, bob = referee.registered("ann"), referee.person("bob")
    table = Table(referee, ann, bob)
    referee.send(bob, "register bob\n", sign=False)
    table.reply("register bob")
    referee.send(ann, "new spaceships with bob\nsettle: 0\nend\n")
    sends(table, bob.last, warning, quoting(bob.last, "yes, let us play!"))
    sends(table, bob.find("send your setup"), warning, BOB)
    assert referee.match().setups[2].standing
    referee.send(ann, ann.filled("setup", ANN))
    assert referee.match().phase == "playing"
    table.proof()


def test_of_two_texts_that_would_count_none_does_and_the_answer_says_so(table: Table) -> None:
    told = sends(table, table.begins, "Gx4", "Gx5")
    assert "Nothing in your letter counts" in told
    assert "more than one" in told
    assert table.orders() is None
    told = sends(table, table.bob.last, "Gx4", quoting(table.bob.last, "Gx4"))
    assert "Nothing in your letter counts" in told
    assert table.orders() is None
    table.reply("Gx4")
    assert table.orders() == "Gx4"
    table.proof()


def test_words_of_another_text_that_may_change_orders_leave_them_in_doubt(table: Table) -> None:
    """As words of the same text do: they come back, to be confirmed."""
    told = sends(table, table.begins, "Gx4", "and gx5, too: Gx5")
    assert table.orders() is None
    assert "Gx4" in told


def test_a_letter_that_comes_again_is_known_by_the_text_that_counted(table: Table) -> None:
    """Other orders to the same address are no repetition, and the same below another warning are one."""
    begins = table.begins
    sends(table, begins, WARNINGS[0], "Gx4")
    assert "is not obeyed twice" in sends(table, begins, WARNINGS[1], "Gx4")
    assert "Nothing has changed yet" in sends(table, begins, WARNINGS[0], "Gx5")
    assert table.orders() == "Gx4"


def test_a_signed_letter_is_read_as_it_was(table: Table) -> None:
    """Of a player with a key the signed text counts, and no reply address makes bare orders of one."""
    referee, ann = table.referee, table.ann
    signed = referee.signed(ann, ann.filled("orders", "Gx3"))
    raw = referee.raw(ann, "")
    raw = raw.replace(b"text/plain; charset=utf-8", b"multipart/mixed; boundary=b")
    texts = "".join(f"--b\n\n{text}\n" for text in (WARNINGS[1], signed, "Gx9"))
    referee.deliver(raw + f"{texts}--b--\n".replace("\n", "\r\n").encode(), ann.address)
    orders = referee.match().orders[1]
    assert orders.standing
    assert orders.text == "Gx3"
