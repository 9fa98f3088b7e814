"""Short replies of players without keys: what counts as it stands, and what comes back to be confirmed."""

from __future__ import annotations

import pytest
from desk.test_reply_tokens import Post, post
from in_a_box.keyless import reply_to
from in_a_box.referee import BOB

__all__ = ["post"]


@pytest.mark.parametrize(
    "written",
    [
        *("Accept!", "accept", "yes \U0001f44d", "I accept.", "Einverstanden.", "accept m1", "Accept m1."),
        *(
            "Ja gern!\n\nBob",
            "Einverstanden!\n\nBob.",
            "Yes, please",
            "Sure, gladly!",
            "Yes, let us play!",
            "Let's play, yes",
            "Okay, yes",
        ),
        *("Ja", "Ja, gerne!", "ja gerne", "Ich nehme die Partie an", "Natürlich, einverstanden", "Bin dabei!"),
    ],
)
def test_terms_are_accepted_in_one_letter(post: Post, written: str) -> None:
    bob = post.proposed()
    post.reply(bob, written)
    assert post.referee.match().phase == "setup"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("ok", "you have read the terms"),
        ("Okay, thanks!", "you have read the terms"),
        ("Yes! Looking forward to it.", "says more than `yes`"),
        ("Of course, yes.\n\nAnn, who is that?", "says more than `yes`"),
        ("Gerne. Wer spielt mit?", "says more than `yes`"),
        ("Sure, sounds good", "says more than `yes`"),
        ("Klingt super! Bin dabei.", "says more than `yes`"),
        ("I'm in", "says more than `yes`"),
        ("Einverstanden!\nBob", "says more than `yes`"),
        ("Einverstanden!\n\nBen", "says more than `yes`"),
    ],
)
def test_a_yes_in_doubt_brings_the_line_and_the_reason(post: Post, written: str, why: str) -> None:
    bob = post.proposed()
    post.reply(bob, written)
    assert post.referee.match().phase == "proposed"
    assert "This is the completed form" in bob.text
    assert why in " ".join(bob.text.split())
    post.reply(bob, "yes")
    assert post.referee.match().phase == "setup"


@pytest.mark.parametrize("written", ["Yes, but not before Monday", "Ja, aber mit vier Spielern", "Not so good", ""])
def test_an_answer_with_a_condition_is_not_completed_to_a_yes(post: Post, written: str) -> None:
    bob = post.proposed()
    post.reply(bob, written)
    assert "This is the completed form" not in bob.text


@pytest.mark.parametrize("written", ["yes", "Ja, gerne!", "ok"])
def test_yes_to_an_empty_form_is_asked_once_more(post: Post, written: str) -> None:
    """The question is whether nothing is to be ordered: the form in it says so, and so does its word `final`."""
    _, bob = post.begun()
    post.reply(bob, bob.form("orders"), to=reply_to(bob.find("begins")))
    assert "There are no orders in your form, and nothing was stored" in bob.text
    for _ in range(2):
        post.reply(bob, written)
        assert "There are no orders in your letter, and nothing was stored" in bob.text
        assert "still stands" not in bob.text, "nothing does"
        assert "Not understood" not in bob.text
        assert post.standing(2) is None
    post.reply(bob, bob.form("orders") if written == "ok" else "final")
    assert ", final, at the level mailbox:\n\n  (none)" in bob.text
    post.reply(bob, written)
    assert "What you submitted before still stands" in bob.text


def test_a_yes_in_doubt_brings_the_form_again(post: Post) -> None:
    """Orders are not made doubtful by what stands below every letter of some people."""
    _, bob = post.begun()
    post.reply(bob, "gx3 final", to=reply_to(bob.find("begins")))
    for written in ("yes\n\nThis letter is for its recipient alone.", "Sure, sounds good"):
        post.reply(bob, written)
        assert post.standing(2) is None
        assert "\nrev 1\nfinal\nGx3\nend\n" in bob.text
        assert "says more than `yes`" in " ".join(bob.text.split())
    post.reply(bob, f"{bob.form('orders')}\n\nThis letter is for its recipient alone.")
    assert post.standing(2) == "Gx3"


@pytest.mark.parametrize("written", ["Gx3\n\nfinal", "Gx3\n\nFinal.\n\nBob"])
def test_final_below_orders_makes_them_final(post: Post, written: str) -> None:
    _, bob = post.begun()
    post.reply(bob, written)
    assert "rev 1\nfinal\nGx3\nend" in bob.text
    post.reply(bob, "yes")
    assert post.referee.match().orders[2].final


def test_what_a_mail_program_broke_into_lines_is_read_whole(post: Post) -> None:
    """Also a setup as our letters show one, a ship in each line."""
    _, bob = post.agreed()
    rev = 0
    for text in (BOB, BOB.replace(" ", "\n"), f"Setup:\n{BOB}"):
        post.reply(bob, text, to=reply_to(bob.last if bob.text.startswith("> ") else bob.find("send your setup")))
        stored = post.referee.match().setups[2]
        assert stored.standing
        assert stored.rev > rev
        rev = stored.rev


def test_a_completed_form_says_what_it_leaves_out(post: Post) -> None:
    """Words below a blank line, such as a message to the others, are in no form."""
    _, bob = post.begun()
    post.reply(bob, "gx3\n\npress to ann\nMay I?\nend", to=reply_to(bob.find("begins")))
    assert "This is the completed form" in bob.text
    assert "Not understood, and ignored:\n\n  press to ann\n  May I?" in bob.text


@pytest.mark.parametrize("written", ["Gx3 Gy9", "Gx3\nGy9 Gz1", "orders: gx3 Gy9. final"])
def test_what_is_wrong_with_what_is_nearly_an_order_is_told(post: Post, written: str) -> None:
    _, bob = post.begun()
    post.reply(bob, written, to=reply_to(bob.find("begins")))
    assert "there is no cell `Gy9`" in bob.text
    assert post.standing(2) is None
    post.reply(bob, "Gx3 Gy1")
    assert post.standing(2) == "Gx3 Gy1"


def test_final_above_what_is_no_order_does_not_order_nothing(post: Post) -> None:
    _, bob = post.begun()
    post.reply(bob, "final\nGx9")
    assert "Not understood, and ignored:\n\n  final\n  Gx9\n" in bob.text


@pytest.mark.parametrize("written", ["Gx3\n\nGx4", "Hi,\n\nGx3\nGx4", "Hi,\nGx3\nGx4", "Hi Ann, Gx3\n\nGx4"])
def test_orders_of_several_lines_come_back_whole(post: Post, written: str) -> None:
    _, bob = post.begun()
    post.reply(bob, written)
    assert post.standing(2) is None
    assert "Not understood" not in bob.text
    post.reply(bob, "yes")
    assert post.standing(2) == "Gx3 Gx4"


@pytest.mark.parametrize(
    "written", ["My orders: gx3, Gx4", "Here are my orders\nGx3 Gx4", "Meine Befehle für Zug 1:\n\nGx3\nGx4"]
)
def test_orders_below_their_introduction_come_back_whole(post: Post, written: str) -> None:
    _, bob = post.begun()
    post.reply(bob, written)
    assert "Not understood" not in bob.text
    assert "no ship" not in bob.text
    post.reply(bob, "yes")
    assert post.standing(2) == "Gx3 Gx4"


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("above", ["Hi,{}Here is my setup:{}", "Hallo Ann!{}", "Meine Aufstellung:{}", ""])
@pytest.mark.parametrize("below", ["{}Bob", "{}- bob", "{}Thanks, and have fun!"])
def test_a_setup_in_a_whole_letter_comes_back_to_be_confirmed(post: Post, above: str, below: str, gap: str) -> None:
    _, bob = post.agreed()
    post.reply(bob, f"{above}{BOB}{below}".replace("{}", gap), to=reply_to(bob.find("send your setup")))
    if not post.referee.match().setups:
        assert f"\n{BOB}\nend\n" in bob.text
        assert ("Not understood" in bob.text) is ("fun" in below)
        post.reply(bob, "yes")
    assert post.referee.match().setups[2].standing


def test_final_above_orders_makes_them_final(post: Post) -> None:
    _, bob = post.begun()
    post.reply(bob, "final\n\nGx3")
    assert "rev 1\nfinal\nGx3\nend" in bob.text
    post.reply(bob, "yes")
    assert post.standing(2) == "Gx3"


@pytest.mark.parametrize("written", ["Hi,\n\nyes", "Hello Ann! Yes, gladly!"])
def test_a_yes_below_a_salutation_brings_the_true_reason(post: Post, written: str) -> None:
    """It quotes the terms, and all of it was understood."""
    bob = post.proposed()
    post.reply(bob, written)
    assert "says more than `yes`" in " ".join(bob.text.split())
    assert "Not understood" not in bob.text


@pytest.mark.parametrize(
    ("written", "line"),
    [
        *(("Hi,\n\nresign", "resign m1 game 1"), ("Hi Ann,\n\nextend 3d\n\nBob", "extend m1 3d")),
        *(("Hallo,\n\ndraw offer", "draw m1 offer"), ("Hi,\n\nDraw", "draw m1 offer"), ("Remis!", "draw m1 offer")),
    ],
)
def test_a_command_below_a_salutation_brings_its_line(post: Post, written: str, line: str) -> None:
    _, bob = post.begun()
    post.reply(bob, written)
    assert "Nothing has changed yet" in bob.text
    assert f"\n\n{line}\n" in bob.text
    assert "Refused" not in bob.text


def test_accept_below_a_salutation_brings_the_whole_line(post: Post) -> None:
    bob = post.proposed()
    post.reply(bob, "Hi,\n\naccept")
    assert f"accept m1 {post.referee.match().rules_hash}\n" in bob.text
    post.reply(bob, "yes")
    assert post.referee.match().phase == "setup"


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        *((words, "new spaceships with ann\nsettle: 0\nend") for words in ("Rematch!", "Revanche?", "Another game?")),
        *((words, f"press m1\n{words}\nend") for words in ("gg", "Danke!", "Good game! I never saw that beam.")),
    ],
)
def test_words_after_the_end_bring_the_lines_that_pass_them_on(post: Post, written: str, lines: str) -> None:
    ann, bob = post.begun()
    post.referee.send(ann, "resign m1 game 1\n")
    came = len(ann.letters)
    post.reply(bob, f"{written}\n\nBob")
    assert len(ann.letters) == came
    assert f"\n\n{lines}\n" in bob.text
    post.reply(bob, lines)
    assert ("proposes a match" if "new" in lines else f"  : {written}") in ann.text


def test_polite_words_above_a_command_bring_no_lines(post: Post) -> None:
    ann, bob = post.begun()
    post.referee.send(ann, "resign m1 game 1\n")
    post.reply(bob, "gg\nend\nresign")
    assert "Refused" in bob.text
    assert "press m1" not in bob.text


def test_an_empty_form_for_a_later_turn_leaves_what_is_stored_for_it(post: Post) -> None:
    _, bob = post.begun()
    empty = "orders m1 turn 5\nend"
    post.reply(bob, empty, to=reply_to(bob.find("begins")))
    assert "Then add the line `final`." in bob.text
    assert "still stands" not in bob.text, "nothing does"
    post.reply(bob, empty.replace("end", "Gx3\nend"))
    post.reply(bob, empty)
    assert "What you submitted before still stands." in bob.text
