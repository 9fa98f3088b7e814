"""One letter a turn without a key: orders alone, `clear`, and `yes`, in answer to an address that proves their place.

What such a letter looks like on its way, and what makes it no orders: other words, other addresses, other headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import hold_for_both, types
from in_a_box.keyless import HOME, reply_to
from in_a_box.referee import ANN, BOB, Mailbox, Openings, Referee, attachment, body, form_in
from judges.honest import accused

from pbem.desk import bulletin
from pbem.proof.verification import verify
from pbem.store.tokens import Tokens
from verifier import Wrong, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage
    from pathlib import Path

OPENINGS = Openings()
OTHERS = ("from", "subject", "message-id", "content-type")


@dataclass
class Table:
    """Ann with a key and Bob without, in the first turn of m1."""

    referee: Referee
    ann: Mailbox
    bob: Mailbox

    def reply(
        self,
        text: str,
        letter: EmailMessage | None = None,
        *,
        to: str | None = None,
        envelope: str | None = None,
        headers: str = "",
        shown: str | None = None,
        over: tuple[str, ...] = ("to", *OTHERS),
    ) -> str:
        """Bob's answer above the quote of a letter, signed by his domain; what comes back, in one line."""
        letter = letter or self.bob.last
        quoted = "".join(f"> {line}\n" for line in (body(letter) if shown is None else shown).split("\n"))
        to = reply_to(letter) if to is None else to
        named = to if "<" in to else f"<{to}>"
        foot = f"Sent from my iPhone\n\nOn 1 March, 12:00 {named}\nwrote:\n\n{quoted}".replace("\0", "\n")
        raw = self.referee.raw(self.bob, f"{text}\n\n{foot}")
        raw = raw.replace(b"To: pbem@play.example", f"{headers}To: {to}".encode())
        self.referee.deliver(HOME.craft(raw, headers=over), self.bob.address, envelope or reply_to(letter))
        return " ".join(self.bob.text.split())

    @property
    def begins(self) -> EmailMessage:
        return self.bob.find("begins")

    def orders(self) -> str | None:
        orders = self.referee.match().orders.get(2)
        return orders.text if orders and orders.standing else None

    def proof(self) -> bytes:
        """The bundle after Bob has resigned; it holds, and the second verifier agrees."""
        self.reply("resign m1 match")
        content = attachment(self.ann.find(", the end"), ".pbem.zip")
        hold_for_both(content)
        assert accused(self.referee) == []
        return content


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """At a referee of its own, which some of these tests let lie: `--accused` shall not judge that."""
    referee = Referee(tmp_path, openings=OPENINGS)
    referee.records[HOME.where] = HOME.record

    def begin() -> list[Mailbox]:
        ann, bob = referee.registered("ann"), referee.person("bob")
        made = Table(referee, ann, bob)
        referee.send(bob, "register bob\n", sign=False)
        made.reply("register bob")
        referee.send(ann, "new spaceships with bob\nsettle: 0\nend\n")
        made.reply(form_in(bob.text, "accept", lines=1))
        referee.send(ann, ann.filled("setup", ANN))
        made.reply(bob.filled("setup", BOB), bob.find("send your setup"))
        return [ann, bob]

    yield Table(referee, *referee.opened("one letter a turn", begin))
    referee.close()


def test_orders_alone_are_changed_and_withdrawn_alone(table: Table) -> None:
    """Each in one letter, and the answer reads back what they change."""
    assert "Your orders for turn 1 stand" in table.reply("Gx3 Gy3", table.begins)
    assert table.orders() == "Gx3 Gy3"
    told = table.reply("Gx3 Gy4")
    assert "They replace revision 1: Gx3 Gy3" in told
    assert table.orders() == "Gx3 Gy4"
    assert "Withdrawn: Gx3 Gy4" in table.reply("Clear")
    assert table.orders() is None
    table.reply("Gx5")
    assert table.orders() == "Gx5"
    table.referee.turn((table.ann, ""))
    assert table.referee.match().turn == 2
    table.reply("Gz1", table.bob.find("game 1, turn 1"))
    assert table.orders() == "Gz1"
    table.proof()


def test_an_address_of_a_past_turn_orders_nothing(table: Table) -> None:
    table.reply("Gx3", table.begins)
    older = table.bob.last
    table.referee.turn((table.ann, ""))
    for letter in (table.begins, older):
        assert "you answered an older letter; turn 2 is due now" in table.reply("Gx4", letter)
    assert table.orders() is None
    table.reply("yes")
    assert table.orders() == "Gx4"
    table.proof()


LONG = "Gx3\n\n" + "Many words. " * 500


@pytest.mark.parametrize(
    "words", ["Gx3\n\nNo wait, Gx4", "Gx3\nGx4 too", "Gx3 Gy9", "gx3", "Gx3.", "# Gx3", "resign", LONG, "Gx3 " * 2000]
)
def test_what_is_in_doubt_does_not_count_yet(table: Table, words: str) -> None:
    table.reply(words, table.begins)
    assert table.orders() is None


@pytest.mark.parametrize("words", ["Gx3\n\nGood luck, Ann!", "Gx3\n\n-- \nBob", "Gx3\n\nBob Miller\nAm Markt 5"])
def test_other_words_do_no_harm(table: Table, words: str) -> None:
    table.reply(words, table.begins)
    assert table.orders() == "Gx3"


@pytest.mark.parametrize(
    "words", ["yes, but Gx4", "Yes. But Gx4 instead.", "yes\n\nNo, wait!", "No!", "yes please!", "5"]
)
def test_yes_is_nothing_but_yes(table: Table, words: str) -> None:
    table.reply("gx3", table.begins)
    table.reply(words)
    assert (table.orders() is not None) is (words == "yes please!")


@pytest.mark.parametrize(
    "change",
    [
        lambda form: "".join(f"> {line}\n" for line in form.split("\n")),  # a quote within the quote
        lambda form: "".join(f": {line}\n" for line in form.split("\n")),  # a message of the opponent's
        lambda form: form.replace("\nend\n", "\n"),
        lambda form: f"{form}\n{form}",
        lambda form: form.replace("prev ", "prev 0"),
        lambda form: form.replace("turn 1", "turn 2"),
        lambda form: form.replace("player bob", "player ann"),
        lambda form: form.replace("server play", "server other"),
        lambda form: form.replace("Gx3", ""),
        lambda form: form.replace("Gx3", "Gx9"),
    ],
)
def test_yes_is_to_the_whole_form_of_the_letter_that_it_answers(table: Table, change: Callable[[str], str]) -> None:
    table.reply("gx3", table.begins)
    table.reply("yes", shown=change(body(table.bob.last)))
    assert table.orders() is None


def test_a_form_of_which_a_program_broke_a_line_is_not_whole(table: Table) -> None:
    """Some break the lines of a quote, and leave the rest of each without a mark."""
    table.reply("gx3 gy3", table.begins)
    table.reply("yes", shown=body(table.bob.last).replace("Gx3 Gy3", "Gx3\0Gy3"))
    assert table.orders() is None


@pytest.mark.parametrize("where", ["Cc", "References", "quote", "envelope"])
def test_an_address_elsewhere_than_in_to_opens_nothing(table: Table, where: str) -> None:
    told = reply_to(table.begins)
    headers = {"Cc": f"Cc: {told}\n", "References": f"References: <{told}>\n"}.get(where, "")
    text = f"Gx3\n\nOn Sunday <{told}> wrote:\n" if where == "quote" else "Gx3"
    table.reply(text, table.begins, to="pbem@play.example", headers=headers)
    assert table.orders() is None


@pytest.mark.parametrize(
    "dress",
    [
        "PBEM+M1.{}@PLAY.example",
        "The referee <pbem+m1.{}@play.example>",
        "ann@mail.example, pbem+m1.{}@play.example",
    ],
)
def test_an_address_in_other_dress_or_beside_others_is_the_same(table: Table, dress: str) -> None:
    token = reply_to(table.begins).partition(".")[2].partition("@")[0]
    table.reply("Gx3", table.begins, to=dress.format(token.upper() if "PBEM" in dress else token))
    assert table.orders() == "Gx3"
    table.proof()


def test_nobody_else_may_use_it(table: Table) -> None:
    """Not even the opponent, whose domain vouches, and who saw it."""
    writes(table, table.ann, "Gx3\n", to=reply_to(table.begins))
    assert table.orders() is None


def test_a_substitute_cannot_use_an_address_of_the_former_player(table: Table) -> None:
    """The evidence would name an address of Carl's own, and the proof find no orders at that."""
    table.reply("status m1", table.begins)
    carl = table.referee.person("carl")
    table.referee.send(carl, "register carl\n", sign=False)
    writes(table, carl, "register carl\n")
    table.reply("substitute m1 carl for bob")
    table.referee.send(table.ann, form_in(table.ann.text, "substitute"))
    writes(table, carl, form_in(carl.text, "substitute"))
    writes(table, carl, "Gx3", to=reply_to(table.begins), headers=f"Cc: {reply_to(carl.last)}\n")
    assert table.orders() is None
    writes(table, carl, "Gx3")
    table.referee.turn((table.ann, ""))
    table.bob = carl
    table.proof()


def writes(table: Table, person: Mailbox, text: str, *, to: str = "", headers: str = "") -> None:
    """An answer of somebody without a key to the last letter, or to this address."""
    to = to or reply_to(person.last)
    raw = table.referee.raw(person, text).replace(b"To: pbem@play.example", f"{headers}To: {to}".encode())
    table.referee.deliver(HOME.craft(raw, headers=("to", *OTHERS)), person.address, to)


COPIES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "as it was": lambda raw, to: raw.replace(b"To: pbem@play.example", b"To: " + to),
    "with another address in Cc": lambda raw, to: b"Cc: " + to + b"\r\n" + raw,
    "delivered to another address": lambda raw, to: b"Delivered-To: " + to + b"\r\n" + raw,
    "its signature folded": lambda raw, to: b"Cc: " + to + b"\r\n" + re.sub(rb"([; ]b=\w{9})", rb"\1\r\n  ", raw),
    "its signature in other spare bits": lambda raw, to: b"Cc: " + to + b"\r\n" + spare(raw),
    "beside another signature": lambda raw, to: b"Cc: " + to + b"\r\n" + HOME.craft(raw).partition(b"From:")[0] + raw,
}


def spare(raw: bytes) -> bytes:
    """A letter whose signature ends in a digit of base64 that stands for the same octets."""
    found = re.search(rb"[; ]b=[^;=]*([AEIMQUYcgkosw048])=", raw)
    assert found is not None
    return raw[: found.start(1)] + bytes([found[1][0] + 1]) + raw[found.end(1) :]


def copied(table: Table, copy: Callable[[bytes, bytes], bytes]) -> list[str]:
    """The entries after Bob's gift of time, which Ann is shown, came again to an address that Bob never used."""
    table.reply("status m1", table.begins)
    unused, used = reply_to(table.bob.last), reply_to(table.begins)
    shown = HOME.craft(table.referee.raw(table.bob, "extend m1 3d\n"), headers=OTHERS)
    for to, change in ((used, COPIES["as it was"]), (unused, copy)):
        table.referee.deliver(change(shown, to.encode()), table.bob.address, to)
    return types(table.referee)


@pytest.mark.parametrize("copy", COPIES)
def test_a_shown_letter_counts_at_no_other_address(table: Table, copy: str) -> None:
    """Bob's domain does not sign To."""
    assert copied(table, COPIES[copy]).count("extended") == 1


@pytest.mark.parametrize("copy", COPIES)
def test_a_server_that_lets_a_copy_count_does_not_verify(
    table: Table, monkeypatch: pytest.MonkeyPatch, copy: str
) -> None:
    monkeypatch.setattr(Tokens, "counted", lambda *_: None)
    assert copied(table, COPIES[copy]).count("extended") == 2
    table.referee.send(table.ann, "resign m1 match\n")
    content = table.referee.desk.archive.bundle(*table.referee.desk.archive.known(1), 1)
    assert "DKIM signature" in [check for check in verify(content) if not check.holds][-1].found
    with pytest.raises(Wrong, match="DKIM signature"):
        verified(content)


def test_nobody_uses_up_a_letter_by_its_signature_above_another(table: Table) -> None:
    """Carl got a copy, and his own letter overtakes Bob's: each has the signature of Bob's domain."""
    table.reply("status m1", table.begins)
    unused = reply_to(table.bob.last)
    shown = HOME.craft(table.referee.raw(table.bob, "extend m1 3d\n"), headers=OTHERS)
    carl = table.referee.person("carl")
    table.referee.send(carl, "register carl\n", sign=False)
    raw = table.referee.raw(carl, "register carl\n").replace(b"pbem@play.example", reply_to(carl.last).encode(), 1)
    raw = HOME.craft(raw, headers=OTHERS)
    table.referee.deliver(shown.partition(b"From:")[0] + raw, carl.address, reply_to(carl.last))
    assert "carl" in carl.text
    table.referee.deliver(shown.replace(b"pbem@play.example", unused.encode(), 1), table.bob.address, unused)
    assert types(table.referee).count("extended") == 1
    table.proof()


def test_a_signature_by_a_key_of_elsewhere_takes_nothing_from_a_letter(table: Table) -> None:
    table.reply(table.referee.signed(table.bob, "orders m1 turn 1\nGx3\nend\n"), table.begins)
    assert table.orders() == "Gx3"


def test_no_revision_follows_the_highest(table: Table) -> None:
    """Papers have nine digits for it: what is withdrawn or replaced then was a fault of the server."""
    table.reply(table.bob.filled("orders", "Gx3").replace("\nrev 1\n", "\nrev 999999999\n"), table.begins)
    for words in ("clear m1", "orders m1 turn 1\nGx4\nend"):
        assert "there is no higher revision than 999999999" in table.reply(words), words
    table.reply("Gx4")
    assert table.orders() == "Gx3"
    table.proof()


def test_an_address_that_the_reveal_showed_proves_nothing_any_more(table: Table) -> None:
    """Whoever has the bundle can make the addresses of its turns, and add one to a letter that Bob once signed."""
    table.reply("status m1", table.begins)
    never = table.bob.last
    table.reply("Gx3", table.begins)
    table.referee.turn((table.ann, ""))
    table.proof()
    told = table.reply("set timezone Asia/Tokyo", never, to="pbem@play.example", headers=f"Cc: {reply_to(never)}\n")
    assert "Refused" in told
    assert table.referee.desk.players.setting("bob", "timezone", "as it was") == "as it was"


def test_an_address_that_names_another_match_orders_nothing_in_this_one(table: Table) -> None:
    """A server that gives Bob an address of m1 as one of m2 gets no letter of his to m1."""
    told = reply_to(table.begins)
    assert "+m1." in told
    table.reply("Gx3", table.begins, to=told.replace("+m1.", "+m2."))
    assert table.orders() is None


def test_a_server_that_gives_an_address_out_as_one_of_another_match_is_convicted(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_reply = bulletin.of_reply
    monkeypatch.setattr(bulletin, "of_reply", lambda address, number, _place: of_reply(address, number, (2, 1, 1)))
    table.reply("status m1", table.begins)
    table.reply("Gx3")
    table.referee.turn((table.ann, ""))
    table.reply("resign m1 match")
    said = accused(table.referee)
    assert said
    assert all("reply address" in one and "it was for m2 game 1 turn 1" in one for one in said), said


def test_a_server_that_uses_an_address_elsewhere_is_convicted_by_the_letter_that_brought_it(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells Bob that the address is for turn 1, and plays what comes in turn 2."""
    table.reply("Gx3", table.begins)
    of_reply = bulletin.of_reply
    monkeypatch.setattr(bulletin, "of_reply", lambda address, number, _place: of_reply(address, number, (1, 1, 1)))
    table.referee.turn((table.ann, ""))
    table.reply("Gx4", table.bob.find("game 1, turn 1"))
    table.referee.turn((table.ann, ""))
    table.reply("resign m1 match")
    said = accused(table.referee)
    assert said
    assert all("reply address" in one and "it was for m1 game 1 turn 1" in one for one in said), said
