"""The command language: every command, destroyed line ends, prose around, and nothing that raises."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mail.one_command import HASH, KEY, asked, only

from pbem.mail.commands import (
    COMMANDS,
    AnyCommand,
    CommandSpec,
    asked_by_nothing,
    asked_by_subject,
    parse,
    without_effect,
)
from pbem.requests import DEFAULT, Propose

if TYPE_CHECKING:
    from collections.abc import Mapping

ORDERS = f"orders m17 turn 5\nserver play.example\nplayer anna\nprev {HASH}\nrev 1\nGx3 bGx1Gx3 m2\nOx4 sYw3\nend\n"


def options_of(command: AnyCommand) -> dict[str, str]:
    """The options of a proposal."""
    assert isinstance(command.request, Propose)
    return command.request.options


def gist(text: str) -> list[tuple[str, Mapping[str, object], Mapping[str, str], list[str] | None, bool]]:
    """The commands in a text, without its line ends and blanks."""
    return [
        (
            one.name,
            asked(one),
            one.fields,
            None if one.block is None else one.block.split(),
            bool(one.faults),
        )
        for one in parse(text).commands
    ]


# One of each, as help shows them.
EXAMPLES = {
    "help": "help orders",
    "games": "games",
    "rules": "rules spaceships",
    "sheet": "sheet spaceships",
    "register": f"register anna\n{KEY}",
    "confirm": f"confirm anna\nserver play.example\nchallenge {'ab' * 32}\nend",
    "whoami": "whoami",
    "key add": f"key add\n{KEY}",
    "key revoke": "key revoke SHA256:tYw4Jk",
    "key keep": "key keep",
    "recover": f"recover 3f2a-91bc-3f2a-91bc-3f2a-91bc-3f2a-91bc\n{KEY}",
    "address add": "address add anna@mail.example",
    "set": "set timezone Europe/Berlin",
    "set notify": "set notify https://ntfy.example/TOPIC",
    "vacation": "vacation 2026-12-20 to 2027-01-03",
    "new": "new spaceships with rolf\npace: 3 days\nend",
    "list": "list open",
    "accept": f"accept m17 {HASH}",
    "decline": "decline m17",
    "join": "join m17",
    "withdraw": "withdraw m17",
    "tournament new": "tournament new spaceships\nformat: ladder\nend",
    "tournament": "tournament t3",
    "enter": f"enter t3 {HASH} team red",
    "leave": "leave t3",
    "challenge": "challenge t3 rolf",
    "rule": "rule t3 substitute carl for rolf\nreason: he is ill\nend",
    "setup": "setup m17 game 2\nDS Rv1 Rv2\nend",
    "orders": ORDERS,
    "seal": f"seal m17 game 2\ncommitment {HASH}\nend",
    "step": f"step m17 game 2 turn 5\ncommit {HASH}\nend",
    "reveal": f"reveal m17 game 2\nseed {HASH}\nsetup DS Rv1 Rv2 done\nend",
    "clear": "clear m17",
    "status": "status m17",
    "preview": "preview m17 turn 5\nGx3\nend",
    "report": "report m17 game 2 turn 3",
    "diary": "diary m17",
    "transcript": "transcript m17",
    "press": "press m17\nGood luck!\nend",
    "observe": "observe m17",
    "unobserve": "unobserve m17",
    "block": "block rolf",
    "unblock": "unblock rolf",
    "standings": "standings",
    "resign": "resign m17",
    "draw": "draw m17 offer",
    "annul": "annul m17 accept",
    "extend": "extend m17 3d",
    "claim": "claim m17",
    "substitute": f"substitute m17 carl for rolf {HASH}",
}


@pytest.mark.parametrize("form", COMMANDS.values(), ids=lambda form: form.name)
def test_every_command_has_help_and_an_example(form: CommandSpec) -> None:
    assert form.help.endswith(".")
    assert form.help[0].isupper()
    assert len(form.help) <= 120
    assert form.usage.startswith(form.name)
    assert ("end" in form.usage.split()) == form.block
    for text in (EXAMPLES[form.name], EXAMPLES[form.name].upper().replace(KEY.upper(), KEY)):
        reading = parse(text)
        assert [command.name for command in reading.commands] == [form.name]
        assert reading.commands[0].faults == ()
        assert reading.ignored == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_block_is_one_before_any_command_and_in_no_prose(name: str) -> None:
    assert [command.name for command in parse(f"block rolf\n{EXAMPLES[name]}").commands] == ["block", name]
    assert not parse("block the centre and run").commands


def test_orders() -> None:
    command = only(ORDERS)
    assert asked(command) == {"match": "m17", "turn": 5}
    assert command.fields == {"server": "play.example", "player": "anna", "prev": HASH, "rev": "1"}
    assert (command.match, command.form.rev, command.line, command.block_line) == ("m17", 1, 1, 6)
    assert command.block == "Gx3 bGx1Gx3 m2\nOx4 sYw3"
    assert command.echo == ORDERS.strip()


@pytest.mark.parametrize("place", ["orders m17 turn 5 ", "rev 1 ", "rev 1\n", "player anna\n"])
def test_final_may_stand_anywhere_in_the_head(place: str) -> None:
    text = ORDERS.replace(place.strip(), f"{place}FINAL", 1)
    assert asked(only(text)) == {"match": "m17", "turn": 5, "final": True}
    assert only(text).block == only(ORDERS).block


def test_an_end_in_a_comment_does_not_close() -> None:
    command = only("orders m17 turn 5\nGx3 # the end\nOx4 # END\n#end\nend")
    assert command.block == "Gx3 # the end\nOx4 # END\n#end"
    assert only("orders m17 turn 5 Gx3,Ox4;end").block == "Gx3,Ox4;"
    assert only("orders m17 turn 5 bending legend\nEND.").block == "bending legend"


@pytest.mark.parametrize("name", ["orders m17 turn 5", "setup m17", "new spaceships", "press m17", "confirm anna"])
def test_a_block_that_is_not_closed(name: str) -> None:
    reading = parse(f"{name}\nserver x challenge a: y\nresign m17\nstatus m17\n")
    (command,) = reading.commands
    assert command.block is None
    assert any("`end`" in fault.message for fault in command.faults)


def test_what_might_be_the_text_of_a_block_that_is_not_closed_is_told_and_not_obeyed() -> None:
    found = only("orders m17 turn 5\nrev 1\nGx3\nGy3\n \nYours, Anna")
    assert (found.block, found.unclosed) == (None, "Gx3\nGy3")
    assert found.faults
    assert only(ORDERS).unclosed == ""
    assert only("press m17\nHello").unclosed == ""


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("\n  Gx3 Gy3 \nOn Sunday the referee wrote:\n> orders m17 turn 5\n", "Gx3 Gy3"),
        ("> quoted first\nyes\n-- \nAnna", "yes"),
        ("DS Ov1\n KC Gv4 \n\nAnna", "DS Ov1\nKC Gv4"),
        ("Gx3\n> quoted between\nGy3", "Gx3"),
        ("On Sunday the referee wrote:\n> Turn 5\n\nGx3\nGy3\n", "Gx3\nGy3"),
        ("On Sun, Mar 1, 2026 at 12:00 PM pbem wrote:\n\n> Turn 5\n>\n> x\n\nGx3\nGy3\n\nBob", "Gx3\nGy3"),
        ("On Sun, Mar 1, 2026 at 12:00 PM pbem <pbem+m1.a2@play.example>\nwrote:\n\n> Turn 5\n\nGx3\n\n> x\n", "Gx3"),
        ("Gx3\n\nGy3\n\nOn Sunday the referee wrote:\n\n> Turn 5\n", "Gx3"),
        ("Gx3\n\n> Turn 5\n\nGy3\n", "Gx3"),
        ("Gx3\nGy3\nAm 1. M\u00e4rz schrieb pbem:\n> Zug 5\n", "Gx3\nGy3"),
        ("Accept\n", "Accept"),
        ("accept m17\n", "accept m17"),
        (ORDERS, ""),
        ("whoami\n", ""),
        ("stop\nyes\n", ""),
        ("> only quotes\n", ""),
        ("", ""),
    ],
)
def test_a_short_reply(text: str, short: str) -> None:
    assert parse(text).short == without_effect(parse(text)).short == short


def test_armor_ends_the_reading() -> None:
    text = f"{ORDERS}-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\nresign m17\n"
    reading = parse(text)
    assert [command.name for command in reading.commands] == ["orders"]
    assert reading.ignored == ["resign m17"]
    assert parse("orders m17 turn 5 Gx3 -----BEGIN SSH SIGNATURE----- end").commands[0].faults


def test_missing_arguments_are_named() -> None:
    for text, word in [
        ("substitute m5 carl", "m5 carl for bob"),
        ("set notify mine", "topic"),
        ("extend m17 soon", "how long"),
        ("vacation 2026-12-20 until 2027-01-03", "vacation off"),
        ("vacation 2026-12-20 to Monday", "vacation off"),
        ("draw m17 perhaps", "offer, accept or decline"),
        ("enter t3 team with", "team"),
        ("rule t3 end", "annul"),
        ("orders m17\nGx3\nend", "turn"),
        ("orders turn 5\nGx3\nend", "match"),
        ("orders m17 turn x\nGx3\nend", "turn"),
        ("setup m17 game two\nend", "game"),
        ("register", "name"),
        ("accept", "match"),
        ("report m17 turn soon", "turn"),
        ("new spaceships with end", "opponents"),
        ("resign m99999999999", "match"),
    ]:
        command = only(text)
        assert len(command.faults) == 1, command
        assert word in command.faults[0].message
        assert command.faults[0].rule == command.name


def test_header_fields() -> None:
    shuffled = "orders m17 turn 5 rev 3 prev ab player Anna server Play.Example Gx3 end"
    assert only(shuffled).fields == {"rev": "3", "prev": "ab", "player": "anna", "server": "play.example"}
    assert only("orders m17 turn 5 rev 0 end").faults[0].token == "0"
    assert only("orders m17 turn 5 rev 0 end").form.rev is None
    assert "twice" in only("orders m17 turn 5 rev 1 rev 2 end").faults[0].message
    assert "`prev` has no value" in only("orders m17 turn 5 prev rev 2 end").faults[0].message
    assert only("orders m17 turn 5 Gx3 rev 2 end").block == "Gx3 rev 2"
    at_first = only("resign m17 server play.example player anna turn 0 prev ab rev 1 end")
    assert (at_first.form.turn, at_first.faults) == (0, ())
    assert only("clear m17 game 0 server play.example end").faults[0].token == "0"
    resign = only("resign m17\nserver play.example\nplayer anna\nprev ab\nrev 1\nend\n")
    assert (resign.fields["prev"], resign.faults) == ("ab", ())


def test_the_challenge_form() -> None:
    command = only(EXAMPLES["confirm"])
    assert asked(command) == {"name": "anna", "challenge": "ab" * 32}
    assert command.fields == {"server": "play.example", "challenge": "ab" * 32}
    assert "missing" in only("confirm anna server play.example end").faults[0].message
    assert only("confirm anna server play.example challenge ab and more end").faults[0].token == "and"


def test_a_proposal() -> None:
    command = only(
        "new Spaceships with Rolf, nora\nkind: continued\nVictory: sum of scores # or so\n ships: RG\n RG DS\nend"
    )
    assert asked(command) == {"rules": "spaceships", "players": ("rolf", "nora")}
    assert options_of(command) == {"kind": "continued", "victory": "sum of scores", "ships": "RG RG DS"}
    assert options_of(only("new spaceships end")) == {}
    assert options_of(only("new spaceships pace: 3 : 4 days end")) == {"pace": "3 : 4 days"}
    assert "no value" in only("new spaceships pace: end").faults[0].message
    assert "twice" in only("new spaceships pace: 1 pace: 2 end").faults[0].message
    assert only("new spaceships with rolf: end").faults
    assert only("new spaceships\nserver play.example\nplayer anna\npace: 3 days\nend").fields["player"] == "anna"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("help", {}),
        ("help Orders.", {"topic": "orders"}),
        ("help key add", {"topic": "key add"}),
        ("help key games", {"topic": "key"}),
        ("status M17.", {"match": "m17"}),
        ("status of it all?", {}),
        ("clear m17 default", {"match": "m17", "turn": DEFAULT}),
        ("clear m17 Turn 5,", {"match": "m17", "turn": 5}),
        ("resign m17 game 2", {"match": "m17", "game": 2}),
        ("resign m17\nmatch", {"match": "m17", "whole": True}),
        ("report M17, game 2, turn all.", {"match": "m17", "game": 2, "all": True}),
        ("set notify OFF", {"value": "off"}),
        ("set notify ABCD2345.", {"value": "abcd2345"}),
        ("set notify https://NTFY.example/Topic", {"value": "https://ntfy.example/Topic"}),
        (
            "new spaceships with <Rolf@mail.example>; Nora,carl end",
            {"rules": "spaceships", "players": ("Rolf@mail.example", "nora", "carl")},
        ),
        ("press m17 Public\nhello\nend", {"match": "m17", "public": True}),
        ("press m17\npublic hello\nend", {"match": "m17"}),
        ("orders m17 DEFAULT Gx3 end", {"match": "m17", "turn": DEFAULT}),
        ("substitute m17 Carl for Rolf", {"match": "m17", "name": "carl", "leaver": "rolf"}),
        ("rule t3 Annul m17 end", {"tournament": "t3", "what": "annul", "match": "m17"}),
        (
            "rule t3 substitute carl for rolf end",
            {"tournament": "t3", "what": "substitute", "name": "carl", "leaver": "rolf"},
        ),
        ("rule t3 close end", {"tournament": "t3", "what": "close"}),
        ("enter t3 team Red", {"tournament": "t3", "team": "red"}),
        ("vacation off", {"off": True}),
        ("vacation 2026-12-20 To 2027-01-03", {"first": "2026-12-20", "last": "2027-01-03"}),
    ],
)
def test_what_may_be_left_out_or_said_in_another_way(text: str, given: dict[str, object]) -> None:
    first = parse(text).commands[0]
    assert (asked(first), first.faults) == (given, ())


@pytest.mark.parametrize(("some", "told"), [(100, False), (101, True)])
def test_a_proposal_with_a_hundred_options_is_a_mistake(some: int, *, told: bool) -> None:
    options = "\n".join(f"option-{number}: x" for number in range(some))
    (found,) = parse(f"new spaceships with bob\n{options}\nend\n").commands
    assert any("too many options" in str(fault.message) for fault in found.faults) == told


def test_press() -> None:
    for text, block in [
        ("press m17\nGood luck!\nAt the end we meet.\nend", "Good luck!\nAt the end we meet."),
        ("press m17 good luck end", "good luck"),
        ("press m17 well,\nin the end\nyou win\n  END \n", "well,\nin the end\nyou win"),
        ("press m17\nserver is down again\nend", "server is down again"),
        ("press m17\ngood luck end", "good luck"),
        ("press m17 end", ""),
        ("press m17\nend", ""),
    ]:
        command = only(text)
        assert (command.block, command.faults) == (block, ())
    signed = only("press m17\nserver play.example\nplayer anna\nrev 1\nhello\nend")
    assert (signed.fields["player"], signed.block) == ("anna", "hello")


def test_a_forgotten_end_never_mails_secrets_to_the_opponent() -> None:
    (press,) = parse(f"press m17\nhello\n{ORDERS}").commands
    assert "another command" in press.faults[0].message
    assert [one.name for one in parse(f"press m17 hello end\n{ORDERS}").commands] == ["press", "orders"]


def test_prose_opens_no_block() -> None:
    reading = parse(f"Orders follow below.\nNew here, sorry.\nConfirm that, please\nPress on!\n{ORDERS}")
    assert [command.name for command in reading.commands] == ["orders"]
    assert reading.ignored == ["Orders follow below.", "New here, sorry.", "Confirm that, please", "Press on!"]


def test_quotes_signatures_and_footers_are_ignored() -> None:
    reading = parse(f"> resign m17\n> end\nstatus m17\n > clear m17\n{ORDERS}-- \nAnna\nresign m17\n")
    assert [command.name for command in reading.commands] == ["status", "orders"]
    assert [command.line for command in reading.commands] == [3, 5]
    assert reading.ignored == ["> resign m17\n> end", " > clear m17", "-- \nAnna\nresign m17"]
    quoted = only("orders m17 turn 5\nGx3\n> On Monday you wrote\nOx4\nend")
    assert quoted.block == "Gx3\nOx4"


@pytest.mark.parametrize(
    ("text", "asks"), [("Help!", True), (" help . ", True), ("whoami", False), ("resign", False), ("hello", False)]
)
def test_one_word_asks_as_a_subject_and_help_even_as_a_text(text: str, *, asks: bool) -> None:
    wanted = ["help"] if asks else []
    assert [command.name for command in asked_by_subject(text)] == wanted
    reading = parse(f"\n{text}\n\nGreetings\n")
    if asks:
        assert [command.name for command in reading.commands] == wanted
        assert reading.ignored == ["Greetings"]


def test_a_first_paragraph_is_a_command_that_no_proof_reads_whatever_stands_below() -> None:
    assert [command.name for command in parse("block bob\n\nSent from my phone").commands] == ["block"]
    for text in ("new toy\n\nHello there", "confirm this\n\nThanks", "I must\nblock bob\n\nSent from my phone"):
        assert not parse(text).commands


def test_stop() -> None:
    reading = parse("status m17\nstop\nresign m17\n")
    assert [command.name for command in reading.commands] == ["status"]
    assert (reading.ignored, reading.optout) == (["stop", "resign m17"], False)
    below = "On 3 May, 10:15, we wrote:\n> Hello\n\nunsubscribe"
    for text in ("\n STOP\nplease", "Stop.", "stop, please!", "Stop sending me your e-mails!", below):
        assert (parse(text).optout, parse(text).short) == (True, "")
    for text in ("Stop it!", "stop it\nplease", "stop m17", "Stop. I want none of this."):
        assert (parse(text).optout, parse(text).short) == (True, text), "it may be said to who wrote a message"
    for text in ("Hello\nstop", "Please stop that", "stop?", "Stopped at last", "Stop-gap orders follow"):
        assert not parse(text).optout
    placed = parse("stop\nserver Play.example\nplayer Anna\nprev ab\n")
    assert (placed.optout, placed.place) == (True, {"server": "play.example", "player": "anna"})
    assert parse("status\nstop\nserver play.example\n").place == {}


def test_a_letter_that_asks_for_nothing_is_answered_by_one_command() -> None:
    asks = asked_by_nothing()
    assert (COMMANDS[asks.name].by_nothing, asks.faults) == (True, ())


def test_five_unknown_commands_end_the_reading() -> None:
    four = "one\ntwo words\nthree\nfour\n"
    assert [command.name for command in parse(four + "status m17").commands] == ["status"]
    reading = parse(four + "five\nstatus m17\nresign m17")
    assert reading.commands == []
    assert reading.ignored == ["one", "two words", "three", "four", "five", "status m17", "resign m17"]


def test_look_alikes_are_not_changed() -> None:
    assert parse("\u043erders m17 turn 5\nend").commands == []
    assert only("orders m17 turn 5 \u201cGx3\u201d end").block == "\u201cGx3\u201d"
    assert only("status m\u0661").faults


def test_absurd_numbers_are_no_numbers() -> None:
    assert only(f"orders m17 turn {'9' * 10_000} end").faults
    assert only(f"orders m17 turn 5 rev {'9' * 10_000} end").form.rev is None


ENDS_A_LINE = {"register", "key add", "recover"}  # a key may have a comment, up to the end of its line
ONE_OF_EACH = st.sampled_from([text for name, text in EXAMPLES.items() if name not in {"press", *ENDS_A_LINE}])
GAP = st.sampled_from([" ", "\n", "\r\n", "\u00a0", "  ", " \n ", "\t", "\n\n", "\u200b \ufeff"])


@given(st.lists(ONE_OF_EACH, min_size=1, max_size=4), st.data())
def test_line_ends_weigh_as_blanks(texts: list[str], data: st.DataObject) -> None:
    # A topic must stand on the line of its help, so that gap alone stays.
    words = "\n".join(texts).replace("help orders", "help\0orders").split()
    mangled = "".join(word + data.draw(GAP) for word in words).replace("\0", " ")
    assert gist(mangled) == gist("\n".join(texts))
    assert parse(mangled).ignored == []


MARKS = ("end", "END", "#", ">", "-- ", "stop", "with", "all", "game", "a:", ":", KEY, "")


@given(st.lists(st.sampled_from([*COMMANDS, *ORDERS.split(), *MARKS]) | st.text(max_size=3)), st.data())
def test_parse_never_raises_on_what_looks_like_commands(words: list[str], data: st.DataObject) -> None:
    text = "".join(word + data.draw(st.sampled_from([" ", "\n"])) for word in words)
    reading = parse(text)
    for command in reading.commands:
        assert command.name in COMMANDS
        assert command.line >= 1
        assert command.block is not None or not COMMANDS[command.name].block or command.faults


@pytest.mark.parametrize(
    "filler",
    ["orders m17 turn 5 ", "help ", "press m17 ", "> a\n", "# ", "register a ssh-ed25519 AAAA ", "end ", " \n"],
)
def test_large_letters_are_read_in_linear_time(filler: str) -> None:
    assert len(parse(filler * (256 * 1024 // len(filler))).commands) <= 200


@pytest.mark.parametrize("text", [*EXAMPLES.values(), f"press m1\nThe seed is {'0123' * 8}.\nend"])
def test_programs_know_a_command_by_its_words(text: str) -> None:
    """As docs/attachments.md has it: all of them, even those that are masked in an echo, but of a secret one none."""
    (command,) = parse(f"> quoted\n\n  {text}\n-- \nAnn").commands
    said = f"{command.name} ..." if COMMANDS[command.name].secret else " ".join(text.split())
    assert command.words == hashlib.sha256(said.encode()).hexdigest()
