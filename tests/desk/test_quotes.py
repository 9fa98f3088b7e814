"""Unsigned letters whose quotes bear no marks, and whose lines were broken: what counts, and what comes back.

Both verifiers judge what counted (`Table.proof`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desk.test_one_letter import OTHERS, Table, table
from in_a_box.keyless import HOME, reply_to
from in_a_box.referee import ANN, BOB, Referee, body, form_in
from in_a_box.replies import REPLIES

from pbem.mail.commands import COMMANDS, parse

if TYPE_CHECKING:
    from email.message import EmailMessage


__all__ = ["table"]

WRAPPED = "Gx3 # I hope that this hits the death star whose corner was seen at\nGx4"
IN_A_FORM = "Gx3 # with luck this is the last cell of the kill cruiser, and so the\nend of it\nGy3 Gy4"
UNKNOWN = "{said}\n\nLe dim. 1 mars 2026, pbem a écrit\n\n{text}"
BARE = "{said}\n\n{text}"
GAMES = ("dueling-masters", "shoot-em-up", "spaceships")


def sends(table: Table, said: str, program: str, letter: EmailMessage | None = None, text: str | None = None) -> str:
    """Bob's answer by a mail program; what comes back, in one line."""
    letter = letter or table.bob.last
    to = reply_to(letter)
    written = program.format(said=said, to=to, text=body(letter) if text is None else text)
    raw = table.referee.raw(table.bob, written).replace(b"To: pbem@play.example", f"To: {to}".encode())
    table.referee.deliver(HOME.craft(raw, headers=("to", *OTHERS)), table.bob.address, to)
    return " ".join(table.bob.text.split())


@pytest.mark.parametrize("first", range(9))
def test_orders_and_yes_above_it_count_at_once(table: Table, first: int) -> None:
    """In each turn of a match by another program: every ninth, from the first on."""
    for turn, program in enumerate([*REPLIES][first::9], start=1):
        assert f"Your orders for turn {turn} stand" in sends(table, "Gx4", REPLIES[program]), program
        assert table.orders() == "Gx4"
        sends(table, "gx3", REPLIES[program])
        assert table.orders() == "Gx4", program
        answer = sends(table, "Yes", REPLIES[program])
        assert table.orders() == "Gx3", program
        assert "Not understood" not in answer
        table.referee.turn((table.ann, ""))
    table.proof()


@pytest.mark.parametrize("program", [REPLIES["Outlook on the web"], UNKNOWN, BARE])
def test_a_form_below_other_words_is_not_obeyed(table: Table, program: str) -> None:
    """Neither of a letter nor by itself, in whatever quote."""
    table.reply("gx3", table.begins)
    form = form_in(table.bob.text, "orders")
    for said in ("No, do not play that!", "Nein, das nicht!"):
        for text in (None, form):
            sends(table, said, program, text=text)
            assert table.orders() is None, program


@pytest.mark.parametrize("language", ["en", "de"])
def test_thanks_for_help_asks_for_nothing(table: Table, language: str) -> None:
    """A command that names no place counts below other words, and help shows all of them."""
    table.referee.send(table.ann, f"set language {language}\n")
    for topic in ("", *COMMANDS, *GAMES, "keys", "mailbox", "sealed", "signing"):
        table.referee.send(table.ann, f"help {topic}\n")
        answer = UNKNOWN.format(said="Thanks!", text=body(table.ann.last))
        found = parse(answer, signed=False).commands
        told = [one.echo for one in found if not (one.faults or COMMANDS[one.name].only_asks)]
        assert not told, topic


@pytest.mark.parametrize("program", ["Outlook on the web", "Yahoo, German", "Thunderbird without marks"])
def test_a_form_of_a_quote_with_nothing_above_is_no_answer(table: Table, program: str) -> None:
    """Its sender has said nothing."""
    table.reply("gx3", table.begins)
    sends(table, "", REPLIES[program], text=form_in(table.bob.text, "orders"))
    assert table.orders() is None


@pytest.mark.parametrize(
    "above", ["", "\n\n", "# greetings\n", "> quoted\n\n", "On 1 March, 12:00 x wrote:\n> quoted\n\n"]
)
@pytest.mark.parametrize("program", ["Outlook on the web", "Yahoo, German", "Thunderbird without marks"])
def test_the_form_sent_back_alone_counts(table: Table, program: str, above: str) -> None:
    table.reply("gx3", table.begins)
    sends(table, f"{above}{form_in(table.bob.text, 'orders')}", REPLIES[program])
    assert table.orders() == "Gx3"
    table.proof()


def test_the_day_above_an_author_is_no_header(table: Table) -> None:
    """A header begins with the author's address, or with `On`, and all of its own sentence."""
    by = "On 1 March 2026\npbem <pbem@play.example> wrote at 12:00:"
    sends(table, f"Gx3\n{by}\nGx4", BARE, table.begins, text="")
    assert table.orders() is None
    sends(table, f"Gx3\n\n{by.partition(chr(10))[2]}\nGx4", BARE, text="")
    assert table.orders() == "Gx3"
    table.proof()


def test_an_agreement_below_words_comes_back(table: Table) -> None:
    table.referee.send(table.ann, "new spaceships with bob\nsettle: 0\nend\n")
    accept = form_in(table.bob.text, "accept", lines=1)
    offer = table.bob.last
    assert "it may be a quote" in sends(table, f"No, never!\n\n{accept}", BARE, text="")
    assert form_in(table.bob.text, "accept", lines=1) == accept
    assert table.referee.match(2).phase == "proposed"
    sends(table, accept, REPLIES["Outlook on the web"], offer)
    assert table.referee.match(2).phase == "setup"


def test_what_a_key_signed_counts_below_words_of_any_kind(table: Table) -> None:
    form = table.ann.filled("orders", f"Gx1 # {'x' * 60}\nGx2")
    table.referee.send(table.ann, f"Hello!\n\n{form}")
    assert table.referee.match().orders[1].text.endswith("Gx2")
    form = table.ann.filled("orders", "Gx3").replace("\nrev 1\n", "\nrev 2\n")
    table.referee.send(table.ann, f"-----Original Message-----\n\n{form}")
    assert table.referee.match().orders[1].text == "Gx3"
    table.proof()


@pytest.mark.parametrize(
    "quote", ["{text}", "> x\n{text}", "On 1 March, 12:00, Ann <ann@mail.example> wrote:\n{text}"]
)
def test_yes_is_never_to_what_an_opponent_wrote(table: Table, quote: str) -> None:
    """A form in a message, which our letters mark; or in a quote within the quote, or beside ours."""
    table.reply("gx3", table.begins)
    form = form_in(table.bob.text, "orders").replace("Gx3", "Gx9")
    shown = "\n".join(f": {line}" for line in form.split("\n"))
    for text in (
        shown,
        quote.format(text=f"a letter\n\n{REPLIES['K-9'].format(said='', to='x@y.example', text=form)}"),
    ):
        sends(table, "yes", REPLIES["Outlook 2003"], text=text)
        assert table.orders() is None
    sends(table, "yes", REPLIES["Outlook 2003"], text=f"{body(table.bob.last)}\n\n{form}\n\n{form}")
    assert table.orders() is None


def test_a_faked_header_in_ones_own_words_hides_what_is_below_and_nothing_above(table: Table) -> None:
    sends(table, "Gx3\n\n-----Original Message-----\nGx4\n\nclear", BARE, table.begins, text="")
    assert table.orders() == "Gx3"
    sends(table, "-----Original Message-----\nGx4", BARE, text="")
    assert table.orders() == "Gx3"
    table.proof()


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (f"{WRAPPED} sRv1", "Gx3 Gx4 sRv1"),
        (f"{WRAPPED} hidden, by the way", "Gx3"),
        ("Gx3 Gy3 # this is the last cell of the kill cruiser, as it \nGx5 is", None),
        ("# I hope that this hits the death star whose corner was seen at\nGx4\nGx3", "Gx4 Gx3"),
    ],
)
def test_what_may_be_the_rest_of_a_broken_comment_is_asked_about(
    table: Table, words: str, completed: str | None
) -> None:
    told = sends(table, words, REPLIES["Yahoo"], table.begins)
    assert table.orders() is None
    if completed:
        assert "a mail program broke off" in told
        sends(table, "yes", REPLIES["Yahoo"])
        assert table.orders() == completed
        table.proof()


@pytest.mark.parametrize("words", [IN_A_FORM, WRAPPED])
def test_a_comment_broken_in_a_form_is_asked_about(table: Table, words: str) -> None:
    told = sends(table, table.bob.filled("orders", words), REPLIES["Outlook 2003"], table.begins)
    assert table.orders() is None
    assert "a mail program broke off" in told
    sends(table, "yes", REPLIES["Outlook 2003"])
    assert table.orders() == ("Gx3" if words == IN_A_FORM else "Gx3 Gx4")
    table.proof()


@pytest.mark.parametrize(
    "words",
    [f"Gx3 # {'x' * 53}\nGx4", f"Gx3 # {'x' * 60}\n# and\nGx4", f"Gx3\nGx4 # {'x' * 60}", f"Gx3 # {'x' * 60}"],
)
def test_whole_comments_do_no_harm(table: Table, words: str) -> None:
    sends(table, words, REPLIES["Outlook 2003"], table.begins)
    assert table.orders() is not None
    table.proof()


def test_a_setup_is_asked_about_as_well(table: Table) -> None:
    """It waits for the next game: here only its refusal is looked at."""
    told = sends(table, f"setup m1 game 1\nserver play.example\nA # {'x' * 60}\nB\nend", BARE, table.begins, text="")
    assert "a mail program broke off" in told


# Letters with several texts: gateways add their own, and Apple Mail cuts one where a picture stands.


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


def sends_texts(table: Table, letter: EmailMessage, *texts: str) -> str:
    """The answer to such a letter, in one line."""
    table.referee.deliver(crafted(table, letter, *texts), table.bob.address, reply_to(letter))
    return " ".join(table.bob.text.split())


@pytest.mark.parametrize("warning", WARNINGS)
def test_bare_orders_and_a_yes_count_beside_a_text_of_a_gateway(table: Table, warning: str) -> None:
    orders = quoting(table.begins, "Gx4")
    assert "Your orders for turn 1 stand" in sends_texts(table, table.begins, warning, orders)
    assert table.orders() == "Gx4"
    sends_texts(table, table.bob.last, quoting(table.bob.last, "Gx5"), warning)
    assert table.orders() == "Gx5"
    sends_texts(table, table.bob.last, warning, quoting(table.bob.last, "gx3"))
    assert "Gx3" in table.bob.text
    assert table.orders() == "Gx5"
    sends_texts(table, table.bob.last, warning, quoting(table.bob.last, "Ja, bitte!"), "Sent from my iPhone")
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
    sends_texts(table, bob.last, warning, quoting(bob.last, "yes, let us play!"))
    sends_texts(table, bob.find("send your setup"), warning, BOB)
    assert referee.match().setups[2].standing
    referee.send(ann, ann.filled("setup", ANN))
    assert referee.match().phase == "playing"
    table.proof()


def test_two_texts_that_would_count_cancel_each_other(table: Table) -> None:
    told = sends_texts(table, table.begins, "Gx4", "Gx5")
    assert "Nothing in your letter counts" in told
    assert "more than one" in told
    assert table.orders() is None
    told = sends_texts(table, table.bob.last, "Gx4", quoting(table.bob.last, "Gx4"))
    assert "Nothing in your letter counts" in told
    assert table.orders() is None
    table.reply("Gx4")
    assert table.orders() == "Gx4"
    table.proof()


def test_words_of_another_text_that_may_change_orders_leave_them_in_doubt(table: Table) -> None:
    """As words of the same text do: they come back, to be confirmed."""
    told = sends_texts(table, table.begins, "Gx4", "and gx5, too: Gx5")
    assert table.orders() is None
    assert "Gx4" in told


def test_orders_beside_another_text_in_answer_to_a_message_come_back(table: Table) -> None:
    """The gateway's words are no message then."""
    table.referee.send(table.ann, "press m1\nShall we talk on Sunday?\nend\n")
    came = len(table.ann.letters)
    told = sends_texts(table, table.bob.last, "CAUTION: External sender", "Gx4")
    assert "Nothing has changed yet" in told
    assert "Gx4" in told
    assert not [letter for letter in table.ann.letters[came:] if "writes to you" in body(letter)]


def test_a_letter_that_comes_again_is_known_by_the_text_that_counted(table: Table) -> None:
    """Other orders to the same address are no repetition, and the same below another warning are one."""
    begins = table.begins
    sends_texts(table, begins, WARNINGS[0], "Gx4")
    assert "is not obeyed twice" in sends_texts(table, begins, WARNINGS[1], "Gx4")
    assert "Nothing has changed yet" in sends_texts(table, begins, WARNINGS[0], "Gx5")
    assert table.orders() == "Gx4"


def test_a_signed_letter_is_read_as_it_was(table: Table) -> None:
    """For a player with a key the signed text counts, and a reply address makes no orders of another."""
    referee, ann = table.referee, table.ann
    signed = referee.signed(ann, ann.filled("orders", "Gx3"))
    raw = referee.raw(ann, "")
    raw = raw.replace(b"text/plain; charset=utf-8", b"multipart/mixed; boundary=b")
    texts = "".join(f"--b\n\n{text}\n" for text in (WARNINGS[1], signed, "Gx9"))
    referee.deliver(raw + f"{texts}--b--\n".replace("\n", "\r\n").encode(), ann.address)
    orders = referee.match().orders[1]
    assert orders.standing
    assert orders.text == "Gx3"
