"""Letters without a form: both verifiers read the same in them, and what a server makes of them is found out."""

from __future__ import annotations

import re
from collections import Counter
from email import message_from_bytes
from random import Random
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import fails, holds
from desk.test_keyless import Phones
from in_a_box.keyless import HOME
from in_a_box.small_games import SHIPS
from msgspec.structs import replace
from vectors.matches import good, home
from world.mutations import rewritten

from pbem.mail.commands import clean, holds_commands, parse
from pbem.mail.message import decoded as in_first
from pbem.mail.message import read_letter
from pbem.mail.quotes import marked as marked_by_first
from pbem.match.transcript import sha256_hex
from pbem.match.transcript_replay import begin, replay_transcript
from pbem.proof import bundle, one_letter
from pbem.proof.mailbox_evidence import detail_in_to
from pbem.proof.signed_letters import BundleLetters
from pbem.requests import Draw
from verifier import Wrong, verified
from verifier.commands import holds_commands as held
from verifier.commands import read_commands
from verifier.letters import whole
from verifier.one_letter import Place, detail_in, given
from verifier.text import decoded as in_second
from verifier.text import marked, plain

if TYPE_CHECKING:
    from in_a_box.referee import Referee

    from pbem.match.state import Match
    from pbem.proof.bundle import Bundle

LETTER = "letters/game-1-turn-1-seat-2.eml"
PIECES = (
    *("Gx3", "Gx3 Gy4", "gy4,", "final", "orders", "orders:", "Setup", "yes", "Yes!", "ja", "NATÜRLICH", "please"),
    *("ok \U0001f44d", "clear", "Clear.", "5", "end", "stop", "help", "key", "accept", "draw accept", "resign"),
    *(
        "Resign match.",
        "extend 3d",
        "claim",
        "clear turn 2",
        "resign game 1",
        "# note",
        "x:",
        "wrote:",
        "m",
        "server",
    ),
    *("On 1 March, 12:00 pbem", "> quoted", "> orders m1 turn 1", "> server play.example", "> Gx3", "> end"),
    *("Stop it", "Stop. Gx3"),
    *(">> orders m1 turn 1", "", "--", " --", "-- ", "Sent from my iPhone", "12:30", "\u00a0", "\u200b", "\ufeff"),
    *("\x0b", "\x85", "\t", "\u017fure", "\u0130", "İn", "\u017fent: x", "status m\u0661", "rev 1", "rules are"),
    *("new idea here", "new spaceships", "block him please", "confirm this letter", "challenge end", "end.", "end;"),
    *(
        "key add",
        "vacation 2026-01-01 to 2026-01-03",
        "accept m1 deadbeef",
        "clear default",
        "> help",
        "draw m1 offer",
    ),
)
SALT = "0" * 64


def stages() -> list[Match]:
    """A match as it is proposed, as it waits for setups, and in its first turn."""
    found = good("one-letter")
    proposed = replace(begin(found.entries[0]), phase="proposed")
    later = [replay_transcript(found.entries, BundleLetters(found.papers), until=until) for until in (1, 2)]
    return [replace(match, replies=SALT) for match in (proposed, *later)]


@pytest.mark.parametrize("match", stages(), ids=lambda match: match.phase)
def test_both_verifiers_read_the_same_in_a_text_without_a_command(match: Match) -> None:
    random, read, given_ = Random(5), 0, Counter[str]()
    prev = match.rules_hash if match.phase == "proposed" else match.prev
    here = Place(match.server, match.id, match.phase, match.game, match.turn, prev, match.name(2), 2, 1, SALT)
    forms: tuple[str, ...] = (
        f"> setup m1 game 1\n> player bob\n> prev {match.prev}",
        f"> accept m1 {match.rules_hash}",
    )
    head = f"> orders m1 turn 1\n> server play.example\n> player bob\n> prev {match.prev}\n> rev 1\n"
    forms += tuple(
        f"yes\n\n{head}> {text}\n> end\n" for text in ("final", "final\n> # x", "final\n> ,", "# x", "Gx3")
    )
    named = f"> server play.example\n> player bob\n> prev {match.prev}\n> rev 1\n"
    forms += tuple(
        f"yes\n\n> substitute m1 {words}\n{named}{more}> end\n"
        for words, more in (
            *(("carl for ann", f"> {place}\n") for place in ("turn 1", "turn 2", "game 1", "turn 1\n> game 1")),
            *(("carl for ann", ""), ("NAME for ann", "> turn 1\n"), (f"carl for ann\n> {'0' * 64}", "> turn 1\n")),
        )
    )
    forms += (forms[2].replace("yes", "ok", 1), "##- reply above -##", "#", ", ;", "final")
    pieces = (*PIECES, *forms, f"accept m1 {match.rules_hash}", "> accept m1 0123456789", "DS Ry3-Oz4", "> rev 1")
    for _ in range(1000):
        count = random.randrange(1, 7)
        text = "".join(random.choice(pieces) + random.choice((" ", "\n", "\n\n", "\r\n")) for _ in range(count))
        short, commands = parse(text, signed=False).short, read_commands(text, signed=False)
        assert holds_commands(text) == held(text), repr(text)
        if any(map(whole, commands)):
            continue
        second = given(here, plain(text))
        if not short:
            # A word that asks for something by itself: no orders of any game.
            assert second is None or parse(text, signed=False).commands, repr(text)
            continue
        read += 1
        first = dict(one_letter.counting(match, 2, 1, f"m1.{here.token}", [text])).get(text)
        assert (first and first.name) == (second and second.name), repr(text)
        if first is None or second is None:
            continue
        given_[first.name] += 1
        form = first.form
        said = {"*match": "m1"} if first.name == "accept" else {"*match": "m1", "prev": match.prev, "rev": "1"}
        assert said.items() <= second.said.items(), repr(text)
        assert (first.block or "") == second.block, repr(text)
        assert second.said.get("*hash") == getattr(form.request, "hash", None), repr(text)
        assert ("*final" in second.said) is getattr(form.request, "final", False), repr(text)
        for name in ("name", "leaver"):
            assert second.said.get(f"*{name}") == getattr(form.request, name, None), repr(text)
        assert second.said.get("word") == getattr(form.request, "word", None), repr(text)
        assert (second.said.get("*game") == "match") is getattr(form.request, "whole", False), repr(text)
    assert read > 350
    playing = {"orders", "clear", "resign", "draw", "extend", "claim", "substitute"}
    wanted = {"proposed": {"accept"}, "setup": {"setup", "clear", "resign"}}
    assert set(given_) == wanted.get(match.phase, playing), given_


WHOLE = f"orders m1 turn 1\nserver play.example\nplayer bob\nprev {'0' * 64}\nrev 1\nGx3\nend"
LONG = f"Gx3 # {'x' * 58}"
LINES = (
    *(WHOLE, WHOLE, f"accept m1 {'0' * 64}", "orders m1 turn 1\nGx3\nend", f"orders m1 turn 1\n{LONG}\nGx4\nend"),
    *(f"orders m1 turn 1\n{LONG}\n Gx4\nend", f"orders m1 turn 1\n{LONG}\n# Gx4\n end", LONG, f"{LONG}  "),
    *("draw m1 accept\nserver play.example\nplayer bob\nend", "new spaceships with ann\nsettle: 0\nend"),
    *("resign never", "press m1 hello end", "press m1\nhello\nresign m1\nend", "press m1 public\nhi\nend"),
    *("status m1", "help orders", "No!", "Do not play that", "# note", "end", "end,x", "stop,", "--", "", "", ">"),
    *("> quoted", "> > twice", "-----Original Message-----", "----- Ursprüngliche Nachricht -----", "_" * 32),
    *("-" * 10, "-- Original message --", "at 12:30:", "\u200b", "\x85", "| To | bob | 2026 |", "--- x ---"),
    *("From: pbem", "Von: pbem", "Sent: Sunday", "*Date:* x", "Gesendet : x", "To: bob", "An: bob", "Subject: hey"),
    *("On Sun, 1 Mar 2026, pbem <a@b.example>", "wrote:", "Am 1.3.2026 um 12:00", "schrieb pbem:", "wrote: hello"),
    *("On 1 March 2026, 12:00 x wrote:", "On 1 March 2026", "x <x@y.example> wrote on 1 March at 12:00:"),
    *("a <a@b.example> schrieb am 1. März 2026:", "hat x Folgendes geschrieben: ", "\u5199\u9053\uff1a"),
    *("De : x <a@b.example>\nEnvoyé : 12:00\nÀ : bob", "De : x <a@b.example>", "Envoyé : 12:00", "À : bob"),
    *("Begin forwarded message:", "register"),
)


def test_both_verifiers_read_the_same_commands_in_a_text_that_no_key_signed() -> None:
    random, faults = Random(7), 0
    for _ in range(4000):
        count = random.randrange(1, 10)
        text = "".join(random.choice(LINES) + random.choice(("\n", "\n", "\n\n", " ", "\r\n")) for _ in range(count))
        assert marked_by_first(clean(text)) == marked(plain(text)), repr(text)
        first = [(one.name, bool(one.faults)) for one in parse(text, signed=False).commands]
        second = [(one.name, one.fault) for one in read_commands(text, signed=False)]
        # What a message says is no matter of a proof.
        assert [one for one in first if one[0] != "press"] == [one for one in second if one[0] != "press"], repr(text)
        faults += sum(faulty for _, faulty in first)
    assert faults > 500


ANNABELLA, BARTHOLOMEW = "annabella-the-magnificent-of-ulm", "bartholomew-from-the-river-bank"


@pytest.mark.parametrize(
    ("rest", "names"),
    [
        *(
            (f"\n{BARTHOLOMEW}", 2),
            (f" {BARTHOLOMEW},\n cem;dan\nno more", 3),
            (f"\n{BARTHOLOMEW} cem dan eve\n{'f' * 30}", 6),
        ),
        *(("\nbob", 1), (f"\n\n{BARTHOLOMEW}", 1), (f" {BARTHOLOMEW}\nstatus m1", 2)),
        *((f" {BARTHOLOMEW}\n{field} 1", 2) for field in ("server", "turn", "game", "end")),
    ],
)
def test_both_verifiers_find_all_names_of_a_list_that_a_mail_program_broke(rest: str, names: int) -> None:
    text = f"draw m1 offer for {ANNABELLA}{rest}"
    first, second = parse(text).commands[0].request, read_commands(text)[0]
    assert isinstance(first, Draw)
    assert len(first.sharing) == names
    assert second.said["*sharing"] == " ".join(first.sharing)


@pytest.mark.parametrize("rest", ["", "\ncarl", " ,"])
def test_for_both_verifiers_a_draw_for_nobody_is_at_fault(rest: str) -> None:
    text = f"draw m1 offer for{rest}"
    assert parse(text).commands[0].faults
    assert read_commands(text)[0].fault


@pytest.mark.parametrize("words", ["draw m1 offer for", "Draw offer for"])
def test_a_draw_counts_for_all_whose_names_a_mail_program_wrapped(referee: Referee, words: str) -> None:
    referee.records[HOME.where], phones = HOME.record, Phones(referee)
    ann, bart, cem = people = [phones.registered(name) for name in (ANNABELLA, BARTHOLOMEW, "cem")]
    phones.reply(ann, f"new shoot-em-up with {BARTHOLOMEW} cem\nsettle: 0\nend")
    for person in (bart, cem):
        phones.reply(person, "yes", person.find("proposes"))
    for person, setup in zip(people, SHIPS.values(), strict=False):
        phones.reply(person, setup, person.find("send your setup"))
    phones.reply(cem, f"{words} {ANNABELLA}\n{BARTHOLOMEW}", cem.find("begins"))
    assert referee.match().offers == {"draw": {3: (1, 2)}}


@pytest.fixture
def found() -> Bundle:
    return good("one-letter")


def signed(found: Bundle, *changes: tuple[str, str], headers: str = "", over: tuple[str, ...] = ("to",)) -> Bundle:
    """The letter of turn 1 with other words, signed by its domain once more, wherever it is named."""
    raw = found.papers[LETTER]
    raw = raw[raw.index(b"From:") :]
    for old, new in changes:
        assert old.encode() in raw
        raw = raw.replace(old.encode(), new.encode())
    letter = headers.encode() + home().craft(raw, headers=("from", "subject", "message-id", "content-type", *over))
    return rewritten(found, LETTER, letter)


WARNING = "CAUTION: External sender"


def of_texts(found: Bundle, *texts: str) -> str:
    """The fault of turn 1 if its letter has these texts."""
    raw = found.papers[LETTER].decode()
    kind = re.search(r"(?m)^Content-Type: [^\r\n]*", raw)
    assert kind is not None
    parts = "".join(f"--b\r\n\r\n{text}\r\n" for text in texts)
    body = raw.partition("\r\n\r\n")[2]
    changes = (
        (kind[0], "Content-Type: multipart/mixed; boundary=b"),
        (f"\r\n\r\n{body}", f"\r\n\r\n{parts}--b--\r\n"),
    )
    return turn_1(signed(found, *changes))


def test_of_several_texts_that_one_counts_which_is_legal(found: Bundle) -> None:
    """Wherever it stands, and whatever gateways and mail programs put beside it."""
    for texts in (
        ("Gx2 final", WARNING),
        (WARNING, "Gx2 final"),
        ("Help us save paper, please", "Gx2 final"),
        ("", "-- \r\nscanned", "Gx2 final", "Sent from my iPhone"),
        ("Gx99", "Gx2 final"),
        ("# nothing", "yes", "Gx2 final"),
    ):
        assert of_texts(found, *texts) == "", texts
    assert of_texts(found, WARNING, "Gx3") != ""  # other reports follow


def test_a_server_that_chose_between_two_texts_is_convicted(found: Bundle) -> None:
    """Whichever it chose: also if both say the same, and if only a form in a quote makes the other count."""
    prev = next(entry.head for entry in found.entries if entry.type == "commitments")
    form = "\r\n".join(FORM).replace("PREV", prev)
    for texts in (
        ("Gx2 final", "Gx3"),
        ("Gx3", "Gx2 final"),
        ("Gx2 final", WARNING, "Gx2 final"),
        ("Gx2 final", "final"),
        ("Gx2 final", form),
        ("Gx2 final", "Gx3 " + "# long\r\n" * 600),
    ):
        assert "holds no `orders` for this place" in of_texts(found, *texts), texts


def test_of_several_texts_a_form_alone_is_read(found: Bundle) -> None:
    """Bare orders beside a form do not count, and of two forms neither does."""
    form = "orders m1 turn 1\r\nGx2\r\nend"
    assert of_texts(found, "Gx3", form) == ""
    assert of_texts(found, form, "Gx3") == ""
    assert "holds no" in of_texts(found, form, form)
    assert "holds no" in of_texts(found, "Gx2 final", "help")


def address(found: Bundle) -> str:
    told = re.search(rb"(?m)^To: (\S+)", found.papers[LETTER])
    assert told is not None
    return told[1].decode()


def turn_1(found: Bundle) -> str:
    """The fault of the letter of turn 1, on which both verifiers agree; empty if only a later entry fails."""
    try:
        verified(bundle.write(found))
    except Wrong as wrong:
        second = str(wrong)
    said = fails(found)
    assert ("entry 3" in said) is ("entry 3" in second)
    return said if "entry 3" in said else ""


def test_it_holds_and_what_is_signed_once_more_counts(found: Bundle) -> None:
    holds(found)
    verified(bundle.write(found))
    assert turn_1(signed(found)) == ""
    assert turn_1(signed(found, ("Gx2", "Gx3"))) != ""  # other reports follow


def test_an_address_counts_where_a_signed_to_sends_the_letter(found: Bundle) -> None:
    to = address(found)
    other = to.replace(to.partition(".")[2][:3], "aaa")
    assert turn_1(signed(found, (f"To: {to}", f"To: The referee <{to.upper()}>, ann@mail.example"))) == ""
    for change in (
        (f"To: {to}", f"To: {to}, {other}"),
        (f"To: {to}", f'To: "{to}" <eve@mail.example>'),
        (f"To: {to}", f"To: pbem@play.example\r\nCc: {to}"),
        (f"To: {to}", f"To: pbem@play.example\r\nReferences: <{to}>"),
        (f"To: {to}", f"To: {other}\r\nCc: {to}"),
        (f"To: {to}", f"To: {to.replace('+m1.', '+m2.')}"),
        (f"To: {to}", f"To: {to.replace('+m1.', '+xm1.')}"),
        (f"To: {to}", f"To: {to}, {to.replace('+m1.', '+m2.')}"),
    ):
        assert "holds no `orders` for this place" in turn_1(signed(found, change)), change
    assert "holds no" in turn_1(signed(found, over=("date",)))
    assert "holds no" in turn_1(signed(found, (f"To: {to}", f"To: {to}\r\nTo: {to}")))
    assert turn_1(signed(found, (f"To: {to}", f"To: {to}\r\nTo: {to}"), over=("to", "to"))) == ""


@pytest.mark.parametrize(
    ("shown", "counts"), [("a@b.{}@c", True), (".{}@ <eve@x>", True), ("{}@c", False), ("a.{}\u212a@c", False)]
)
def test_both_verifiers_find_the_words_that_the_evidence_names(found: Bundle, shown: str, *, counts: bool) -> None:
    """For a form they may stand anywhere (docs/bundle.md, 6.6), as an address or not."""
    to = address(found)
    token = to.partition(".")[2].partition("@")[0]
    cc = f"To: pbem@play.example\r\nCc: {shown.format(token)}"
    form = ("Gx2 final", "orders m1 turn 1\r\nGx2\r\nend")
    assert (turn_1(signed(found, (f"To: {to}", cc), form)) == "") is counts


def test_an_address_that_its_turn_did_not_commit_to_counts_for_nothing(found: Bundle) -> None:
    """Whatever the evidence says of it; and one that it committed to, for the place alone that the evidence names."""
    to, path = address(found), "evidence/game-1-turn-1-seat-2.txt"
    token = to.partition(".")[2].partition("@")[0]
    other = token[::-1]
    invented = signed(found, (f"To: {to}", f"To: {to.replace(token, other)}"))
    paper = invented.papers[path].replace(sha256_hex(token.encode()).encode(), sha256_hex(other.encode()).encode())
    assert paper != invented.papers[path]
    assert "holds no `orders` for this place" in turn_1(rewritten(invented, path, paper))
    paper = found.papers[path].replace(b"game 1 turn 1", b"game 1 turn 0")
    assert "holds no `orders` for this place" in turn_1(rewritten(found, path, paper))


@pytest.mark.parametrize("words", ["yes", "Gx2\r\nclear m1", "stop\r\nGx2", "final", "-- \r\nGx2", "> Gx2"])
def test_other_words_are_no_orders(found: Bundle, words: str) -> None:
    assert turn_1(signed(found, ("Gx2 final", words))) != ""


FORM = (
    "yes",
    "",
    "> orders m1 turn 1",
    "> server play.example",
    "> player bob",
    "> prev PREV",
    "> rev 1",
    "> Gx2",
    "> end",
)


def quoting(found: Bundle, *lines: str) -> str:
    """The fault of turn 1 if its letter has these lines."""
    prev = next(entry.head for entry in found.entries if entry.type == "commitments")
    return turn_1(signed(found, ("Gx2 final", "\r\n".join(lines).replace("PREV", prev))))


@pytest.mark.parametrize("at", [3, 7, 8])
@pytest.mark.parametrize("line", ["> > from elsewhere", "-----BEGIN SSH SIGNATURE-----", ""])
def test_both_verifiers_see_where_a_quoted_form_is_cut_off(found: Bundle, at: int, line: str) -> None:
    """A quote within the quote may have a blank between its marks; a signature ends the text."""
    assert quoting(found, *FORM) == ""
    assert "holds no" in quoting(found, *FORM[:at], line, *FORM[at:])


def test_a_quoted_form_names_its_revision_and_stands_in_the_text(found: Bundle) -> None:
    assert "holds no" in quoting(found, *(line for line in FORM if line != "> rev 1"))
    assert "holds no" in quoting(found, *FORM[:2], "-----BEGIN SSH SIGNATURE-----", *FORM[2:])


def test_who_says_more_than_yes_in_digits_says_something_else(found: Bundle) -> None:
    """Also in those of a recovery code, which answers mask."""
    assert "not legal" in quoting(found, "yes 0123-4567-89ab-cdef-0123-4567-89ab-cdef", *FORM[1:])


@pytest.mark.parametrize("words", ["yes?", "ok?", "Sure\uff1f", "ja ?"])
def test_a_question_agrees_to_nothing(found: Bundle, words: str) -> None:
    assert "not legal" in quoting(found, words, *FORM[1:])


def test_who_ends_with_a_quote_introduces_it_all_the_same(found: Bundle) -> None:
    for end in ("", "\r\n", "\r\n-- \r\nBob", "\r\n-----BEGIN SSH SIGNATURE-----"):
        text = f"Gx2\r\nOn 1 March, 12:00, pbem\r\nwrote:\r\n> Gx3{end}"
        assert turn_1(signed(found, ("Gx2 final\r\n", text))) == "", repr(end)


@pytest.mark.parametrize(
    ("counts", "old", "new"),
    [
        (True, "Content-Type: text/plain", "Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\nX: y"),
        (True, "\r\n\r\nGx2 final", "\r\nContent-Transfer-Encoding: base64 (folded)\r\n\r\nR3gyIGZpbmFs"),
        (False, "\r\n\r\nGx2 final", "\r\nContent-Transfer-Encoding: base64\r\n\r\nR3gyIGZpbmFsDQo=\r\nfooter"),
        (False, "Content-Type: text/plain", "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n bare"),
        (False, "Content-Type:", ":x\r\nContent-Type:"),
        (False, "Content-Type:", "no header\r\nContent-Type:"),
        (False, "To: pbem", "To: \x1fpbem"),
    ],
)
def test_both_verifiers_cut_an_odd_letter_alike(found: Bundle, old: str, new: str, *, counts: bool) -> None:
    assert (turn_1(signed(found, (old, new), headers="From mbox\r\n")) == "") is counts


def test_a_letter_without_a_last_line_end_is_the_same(found: Bundle) -> None:
    """The signed text ends with a line end, and has no blanks before it."""
    cut = signed(found, ("Gx2 final\r\n", "Gx2 final\r\n-- \r\n"))
    assert turn_1(rewritten(cut, LETTER, cut.papers[LETTER].rstrip(b"\r\n"))) == ""


def test_both_verifiers_read_what_a_charset_does_not_have() -> None:
    """A wrong octet below the text changes nothing above."""
    octets = "natürlich\nGx3\u00a0Gy3\n".encode() + b"\xe9"
    for charset in ("utf-8", "iso-8859-1", "gbk", "x-unknown", ""):
        assert in_second(octets, charset) == in_first(octets, charset)


HEADER = (
    *("<", ">", ",", ";", ":", '"', "(", ")", "\\", " ", "Bob", "ann@x.y", "=?utf-8?q?", "?=", "'", "\r\n ", "\t"),
    *("[", "]", ".", "@", "\u212a", "\u2028", "\xe9"),
)


def test_both_verifiers_find_the_same_address_in_any_to() -> None:
    random, some = Random(7), 0
    ours = (f"pbem+m1.{'a' * 20}@play.example", f"PBEM+M1.{'B' * 20}@PLAY.example")
    for _ in range(5000):
        to = "".join(random.choice((*HEADER, *ours, *ours)) for _ in range(random.randrange(1, 9)))
        raw = f"From: bob@mail.example\r\nTo: {to}\r\n\r\nGx2\r\n".encode()
        first = detail_in_to(read_letter(raw))
        second = detail_in([str(one) for one in message_from_bytes(raw).get_all("To") or []])
        assert first == (second or ""), to
        some += bool(first)
    assert some > 100


WITHOUT_MARKS = ("-----Original Message-----", "From: pbem", "", *(line.removeprefix("> ") for line in FORM[2:]))


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        (("yes", "", *WITHOUT_MARKS), True),
        (("Gx2", "", *WITHOUT_MARKS), True),
        (WITHOUT_MARKS, False),
        (tuple(line for line in WITHOUT_MARKS[3:] if line != "rev 1"), True),
        (("No!", "", *WITHOUT_MARKS), False),
        (("No!", "", *WITHOUT_MARKS[3:]), False),
        (("yes", "", *WITHOUT_MARKS[:3], "Look:", "", *WITHOUT_MARKS), False),
        ((f"Gx2 # {'x' * 60}", "Gx3"), False),
        ((f"Gx2 # {'x' * 60}",), True),
    ],
)
def test_what_counts_of_a_quote_without_marks_both_verifiers_know(
    found: Bundle, lines: tuple[str, ...], *, counts: bool
) -> None:
    assert (quoting(found, *lines) == "") is counts
