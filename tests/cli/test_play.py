"""`pbem play` as its user sees it: letters in a Maildir, drafts out, the referee in a box behind both."""

from __future__ import annotations

import base64
import json
import re
import stat
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import icalendar
import msgspec
import pytest
from cli.test_outside_games import page, room_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.mailing_club import Club
from in_a_box.referee import Referee, attachment, new, placed
from in_a_box.restores import back_up, put_back
from in_a_box.table import ANN, BOB, SMALL
from in_a_box.terminal import Terminal
from player.changed_letters import forged
from signing.domains import Domain, rsa_key

from pbem.boards.picture import draw, miniature
from pbem.cli.play.display import _show_glance
from pbem.games import part_of
from pbem.games.squares import Glance
from pbem.mail_providers import PROVIDERS, MailProvider
from pbem.pages import Home, composer
from pbem.pages.match_page import replay
from pbem.player import page_views
from pbem.player.account_file import Places
from pbem.player.correspondence.judge import Judge
from pbem.player.memory import Memory
from pbem.player.page_port import PageAnswer
from pbem.player.play_facts import revealed, seen
from pbem.player.play_table import PlayTable
from pbem.proof.bundle import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.referee import Mailbox

    from pbem.json_object import JsonObject
    from pbem.player.correspondence.judge import Judged


@pytest.fixture
def terminal(tmp_path: Path, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal(tmp_path, referee)
    monkeypatch.setenv("HOME", str(found.home))  # for `~`
    monkeypatch.setattr(PlayTable, "now", lambda _: referee.now)
    return found


@pytest.fixture
def prompt(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The terminal, where the referee answers while it waits."""
    wait = PlayTable.wait

    def answered(table: PlayTable, until: Callable[[], bool], what: str) -> bool:
        terminal.post()
        terminal.bring()
        return wait(table, until, what)

    monkeypatch.setattr(PlayTable, "wait", answered)
    return partial(terminal, "--wait", "5")


def agreed(terminal: Terminal) -> Mailbox:
    """Ann and Bob have agreed on m1, which Bob proposed; their setups are asked for."""
    referee = terminal.referee
    terminal.register()
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    assert "proposed: pbem play accept m1" in terminal()
    shown = terminal("accept", "m1", typed="y\n")
    assert "  pace      7 days for each turn and setup\n" in shown
    assert "  settling  none\n" in shown
    assert "Sign and send? [Y/n]" in shown
    return bob


def begun(terminal: Terminal) -> Mailbox:
    bob = agreed(terminal)
    terminal.referee.send(bob, bob.filled("setup", BOB))
    terminal("setup", "m1", ANN, "--yes")
    return bob


def test_a_newcomer_registers(terminal: Terminal) -> None:
    shown = terminal.register()
    assert "The server asks your key to prove itself." in shown
    assert "confirm: a draft" in shown
    assert re.search(r"(?m)^Registered\. Your recovery code, .*:\n\n    [0-9a-f-]{39}\n$", shown)
    assert terminal().splitlines()[0] == "ann@play.example"
    for place in (".config/pbem/ann@play.example.toml", ".local/state/pbem/ann@play.example.sqlite", "key"):
        assert stat.S_IMODE((terminal.home / place).stat().st_mode) == 0o600, place


def test_a_newcomer_registers_with_three_words_and_a_password(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = MailProvider("Home", "home.example", "127.0.0.1:1", "smtps://127.0.0.1:1", "https://home.example/programs")
    monkeypatch.setitem(PROVIDERS, "home.example", home)
    shown = terminal("register", typed="ann\nplay.example\nann@\nann@home.example\ns3cret\n", status=4)
    assert "Write it like anna@mail.example." in shown, "and asked again"
    assert "Your password at Home (a password for programs: https://home.example/programs)" in shown
    folder = terminal.home / ".config/pbem"
    account = Places(folder, folder).load()
    assert account.mail_in == "imaps://ann%40home.example@127.0.0.1:1"
    assert account.mail_out == "smtps://ann%40home.example@127.0.0.1:1"
    assert (folder / "ann@play.example.password").read_text() == "s3cret\n"
    assert account.key == str(folder / "ann@play.example_ed25519")
    token_only = home._replace(password=None)
    monkeypatch.setitem(PROVIDERS, "home.example", token_only)
    assert "give a --token-command" in terminal("register", typed="ann\nb.example\nann@home.example\n", status=2)


def test_a_newcomer_at_another_provider_is_asked_for_its_hosts(terminal: Terminal) -> None:
    typed = "ann\nplay.example\nann@far.example\nimaps://ann@127.0.0.1:1\nsmtps://ann@127.0.0.1:1\ns3cret\n"
    shown = terminal("register", typed=typed, status=4)
    assert "Where your letters arrive, such as imaps://anna@imap.mail.example [maildir:~/Maildir]" in shown
    assert "Your password at 127.0.0.1" in shown
    folder = terminal.home / ".config/pbem"
    account = Places(folder, folder).load()
    assert (account.mail_in, account.mail_out) == ("imaps://ann@127.0.0.1:1", "smtps://ann@127.0.0.1:1")
    assert (folder / "ann@play.example.password").read_text() == "s3cret\n"


def test_a_registration_that_went_astray_is_sent_again_at_once(terminal: Terminal) -> None:
    """After a mistyped way out, the same command with the right one need not wait for a day."""
    given = ("register", "ann@play.example", "--address", terminal.ann.address, "--key", "~/key")
    where = ("--in", terminal.ways[1], "--out")
    terminal(*given, "--new-key", *where, f"drafts:{terminal.home / 'nowhere'}")
    assert not terminal.sent
    assert "a draft" not in terminal(*given, *where, f"drafts:{terminal.home / 'nowhere'}"), "it may be on its way"
    assert "register: a draft" in terminal(*given, *where, f"drafts:{terminal.drafts}")
    assert "Registered." in terminal() + terminal()


def test_a_match_from_the_proposal_to_the_proof(terminal: Terminal) -> None:
    referee = terminal.referee
    bob = agreed(terminal)
    shown = terminal("m1")
    assert "setup of game 1: your move, until" in shown
    assert "Your fleet may be any ships whose costs add up to exactly 3" in shown
    referee.send(bob, bob.filled("setup", BOB))
    shown = terminal("setup", "m1", "MD Rv1 Rv2", "--yes", status=1)
    assert "Not legal; nothing was signed or sent:" in shown
    assert "Did you mean" not in shown
    assert "Did you mean: MD Rv1-Rv3" in terminal("setup", "m1", "md rv1\N{EN DASH}rv3", "--yes", status=1)
    assert "your setup\n  MD Rv1 Rv2 Rv3\n" in terminal("m1", ANN, "--yes")
    shown = terminal("m1")
    assert "Answered: setup m1 game 1: done." in shown
    assert "bob's space, as you know it" in terminal("m1", "--full").lower()
    assert "bob's space" in shown
    assert "You may order: 1 conventional strike, 1 missile strike\n  pbem play m1 Gx3 m" in shown
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((bob, ""))
        shown = terminal("m1", cell, "--final", "--yes")
        assert f"you order\n  conventional strikes at {cell}\n" in shown
    shown = terminal()
    assert "m1: verified: " in shown
    assert "closed: you won" in shown
    assert "verified" not in terminal(), "once is enough"
    assert "checks hold" in terminal("verify", "m1")
    shown = terminal("m1")
    assert "bob's space                               0 undamaged cells\n" in shown, "both fleets, as they were"
    assert "Again          pbem play new spaceships bob\n" in shown


def test_words_teach_whoever_writes_something_else(terminal: Terminal) -> None:
    bob = agreed(terminal)
    terminal.referee.send(bob, bob.filled("setup", BOB))
    assert "pbem play setup m1    shows how a setup is written" in terminal("setup", "m1", "Q99", "--yes", status=1)
    assert "your setup\n  " in terminal("setup", "m1", "--random", "--yes")
    shown = terminal("m1", "Q99", "--yes", status=1)
    assert "`Q99` is not an order" in shown
    assert "which is: " in shown
    assert "One of each:" in terminal("m1", "help")
    assert "play against a program, here and now" in terminal("help")
    assert "Where nobody can answer, say --yes." in terminal("m1", "--nothing", typed="", status=4)


def test_with_several_accounts_all_are_listed_and_a_match_is_found_where_it_is(terminal: Terminal) -> None:
    begun(terminal)
    folder = terminal.home / ".config/pbem"
    ann = Places(folder, folder).load()
    elsewhere = {"server": "else.example", "key": "", "mail_in": "imaps://ann@127.0.0.1:1"}
    Places(folder, folder).save(msgspec.structs.replace(ann, **elsewhere))
    shown = terminal(status=4)
    assert "No letters were fetched: 127.0.0.1:1: Connection refused. This is known" in shown
    assert "ann@else.example  (not registered yet)" in shown
    assert "  m1    Spaceships with bob" in shown
    assert "  pbem play m1 Gx3" in terminal("m1"), "its account need not be named"
    said = "You have several accounts; name one of them: pbem play --account ann@else.example, ann@play.example"
    assert said in terminal("ask", "list", status=4)
    state = terminal.home / ".local/state/pbem"
    (state / "ann@else.example.sqlite").write_bytes((state / "ann@play.example.sqlite").read_bytes())
    assert "You have several accounts" in terminal("m1", status=4)
    assert "  pbem play --account ann@play.example m1 Gx3" in terminal("--account", "ann@play.example", "m1")


def test_nobody_is_asked_to_sign_what_makes_no_sense(terminal: Terminal) -> None:
    begun(terminal)
    sent = len(terminal.sent)
    assert "is not one of 'offer', 'accept', 'decline'" in terminal("draw", "m1", "maybe", status=2)
    assert "soon is no time; write one such as 12h or 3d" in terminal("extend", "m1", "soon", status=2)
    assert "Nothing is to be revealed in m1 now." in terminal("reveal", "m1", status=4)
    assert "Nothing is held against anybody in m1." in terminal("take-back", "m1", status=4)
    assert "A command comes before the match: pbem play resign m1" in terminal("m1", "resign", status=4)
    assert "Sign and send? [y/N]" in terminal("resign", "m1", typed="\n", status=4), "Enter alone loses no game"
    assert len(terminal.sent) == sent
    terminal("resign", "m1", "--whole", typed="y\n")
    terminal()
    shown = terminal("resign", "m1", status=4)
    assert "m1 is closed: there is nothing to say about it now." in shown
    assert "Sign and send?" not in shown


@pytest.mark.parametrize("spaces", [1, 2])
def test_what_changed_is_cut_to_a_terminal(capsys: pytest.CaptureFixture[str], spaces: int) -> None:
    boards = [("a space", "", part_of("spaceships", "boards").blank()[0])] * spaces
    _show_glance([f"change {at}" for at in range(40)], Glance(boards, ["a sign"]), ["due", "due", "next"])
    shown = capsys.readouterr().out.splitlines()
    assert "  ... (--full says it all)" in shown
    assert len(shown) == 21  # with the prompt, the match and the headline


def test_orders_are_asked_about_once_and_nothing_is_sent_without_a_yes(terminal: Terminal) -> None:
    begun(terminal)
    sent = len(terminal.sent)
    shown = terminal("m1", "Rv1", typed="n\n", status=4)
    assert shown.count("Sign and send?") == 1
    assert "Unused" not in shown
    assert "you order\n  nothing\nUnused: 1 conventional strike." in terminal(
        "m1", "--nothing", typed="n\n", status=4
    )
    assert len(terminal.sent) == sent
    assert "Did you mean" not in terminal("m1", "Rv9", status=1)
    assert "you order\n  conventional strikes at Rv1" in terminal("m1", "rV1", typed="n\n", status=4), (
        "capitals alone"
    )
    shown = terminal("m1", "Rv1!", typed="n\n", status=1)
    assert shown.count("Did you mean: Rv1? [Y/n]") == 1
    assert "Not legal; nothing was signed" in shown
    assert "you order\n  conventional strikes at Rv1" in terminal("m1", "Rv1!", typed="\nn\n", status=4)
    assert "Did you mean: Rv1\n" in terminal("m1", "Rv1!", "--yes", status=1), "who is not asked agrees to no guess"
    assert len(terminal.sent) == sent
    terminal("m1", "Rv1", typed="\n")
    assert len(terminal.sent) == sent + 1
    assert "turn 1: waiting for the others" in terminal()
    shown = terminal("m1")
    assert "\nYours (it stands): Rv1\n  pbem play m1 --full    shows all of it\n" in shown
    assert len(shown.splitlines()) < 24, "what waits fits in a terminal, too"
    assert "\nYours (it stands):\n\n    orders m1 turn 1\n" in terminal("m1", "--full")


def test_help_fits_in_a_terminal_and_a_ruling_is_a_number(terminal: Terminal) -> None:
    assert max(map(len, terminal("--help").splitlines())) <= 80
    assert "'x' is not a valid integer." in terminal("rules", "spaceships", "x", status=2)


def test_the_rest_of_the_language(terminal: Terminal) -> None:
    bob = begun(terminal)
    terminal("press", "m1", "Good", "luck!", "--yes")
    assert "Good luck!" in bob.text
    terminal("press", "m1", "--to", "bob", "Not", "publicly.", "--yes")
    assert "writes to you alone" in bob.text
    terminal("press", "m1", "--to", "bob", "--public", "Both?", status=2)
    terminal("draw", "m1", "offer", "--for", "ann", "--yes")
    assert "ann offers to end this game as won by ann." in bob.text
    terminal("draw", "m1", "offer", "--for", "ann", "--for", "cara", "--yes")
    terminal()
    assert "nobody who still plays this game" in terminal("letter", "m1")
    terminal.referee.send(bob, "press m1\nserver play.example\nplayer bob\nrev 1\n船\nend\n")
    terminal.charset = "latin-1"
    assert "\\u8239" in terminal("letter", "m1")
    terminal.charset = "utf-8"
    terminal("draw", "m1", "offer", "--yes")
    assert "offers a draw" in bob.text
    terminal.referee.send(bob, "draw m1 decline\n")
    assert "declines" in terminal("letter", "m1")
    terminal("ask", "list", "open")
    assert "Answered: list open: done." in terminal()
    terminal("new", "dueling-masters", "bob", "pace: 3d", "--yes")
    assert "proposes a match" in bob.text
    assert "proposed; others have not agreed yet" in terminal()
    terminal("withdraw", "m2", "--yes")
    terminal("resign", "m1", "--whole", "--yes")
    assert "closed: you lost to bob" in terminal()


def test_a_name_that_is_taken_is_told(terminal: Terminal) -> None:
    """The reason, or the subject alone where a mail program gave the letter another Message-ID; the key proves it."""
    terminal.referee.registered("bob")
    key, ways = terminal.referee.signing_key.public_key().public_bytes_raw().hex(), terminal.ways
    given = ("--address", terminal.ann.address, "--key", "~/key", *ways)
    terminal.own_ids = True
    terminal("register", "bob@play.example", *given, "--new-key")
    shown = terminal("register", "bob@play.example", *given)
    assert "This letter, which nothing proves yet, may say why: “[pbem] Your letter”" in shown
    shown = terminal("register", "bob@play.example", *given, "--server-key", key)
    assert "nothing proves yet" not in shown
    terminal.own_ids = False
    terminal("register", "bob@play.example", *given)
    terminal.referee.deliver(terminal.sent[0], terminal.ann.address)
    assert "Refused: register:\n  - this name is taken; choose another" in terminal()


def test_a_mail_program_may_give_drafts_another_message_id(terminal: Terminal) -> None:
    terminal.own_ids = True
    assert "Registered. Your recovery code" in terminal.register()


def test_forged_letters_are_told_and_move_no_cursor(terminal: Terminal) -> None:
    begun(terminal)
    terminal()
    before = terminal()
    terminal.maildir.add(b"From: pbem@play.example\nSubject: turn 9 \x1b[2J\n\nYou have won.\n")
    terminal.maildir.add(b"From: friend@mail.example\nSubject: lunch?\n\nToday?\n")
    shown = terminal()
    assert "NOT BELIEVED" in shown
    assert "\x1b" not in shown
    assert "lunch" not in shown
    assert terminal() == before, "once is enough"


def test_what_a_stranger_signs_writes_no_line_of_its_own(terminal: Terminal) -> None:
    """A file's name, by anybody's key: it once could say that something was verified."""
    begun(terminal)
    terminal()
    name = "x\nm1: verified: 90 checks hold\x1b[2J" + "x" * 10_000
    terminal.maildir.add(forged(Ed25519PrivateKey.generate(), [], files={name: "0" * 64}))
    shown = terminal()
    (line,) = [line for line in shown.splitlines() if "verified" in line]
    assert line.startswith("NOT BELIEVED")
    assert len(line) < 1000
    assert "\x1b" not in shown


def test_orders_are_for_the_turn_that_was_shown(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one command asks, another may have fetched the next turn."""
    begun(terminal)
    terminal()
    judges: list[Judge] = []
    orders, confirm = Judge.orders, click.confirm

    def judged(judge: Judge, match: str, text: str) -> Judged:
        judges.append(judge)
        return orders(judge, match, text)

    def asked(*words: Any, **more: Any) -> object:
        matches = judges[-1]._matches
        standing = matches.standing("m1")
        later = msgspec.structs.replace(standing, turn=standing.turn + 1)
        matches._memory.stand("9999-01-01T00:00:00Z", later)
        return confirm(*words, **more)

    monkeypatch.setattr(Judge, "orders", judged)
    monkeypatch.setattr(click, "confirm", asked)
    sent = len(terminal.sent)
    assert "A letter about m1 came while you looked; nothing was signed." in terminal(
        "m1", "Rv1", typed="y\n", status=4
    )
    assert len(terminal.sent) == sent


@pytest.mark.parametrize("view", [{}, {"entitled": 3}, {"entitled": {"conventional": [7]}, "own": []}])
def test_a_position_that_is_none_is_said(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, view: dict[str, object]
) -> None:
    """A server may sign anything under a position's name."""
    begun(terminal)
    terminal()
    latest, paper = Memory.latest, Memory.paper

    def spoilt(found: JsonObject | None) -> JsonObject | None:
        return found | {"view": view} if found and "view" in found else found

    monkeypatch.setattr(Memory, "latest", lambda *place: spoilt(latest(*place)))
    monkeypatch.setattr(Memory, "paper", lambda *place: spoilt(paper(*place)))
    for words in (("m1",), ("m1", "Rv1", "--yes")):
        shown = terminal(*words, status=4)
        assert shown.splitlines()[-1].startswith("Error: ")


def test_what_could_not_be_sent_lies_ready(terminal: Terminal, tmp_path: Path) -> None:
    begun(terminal)
    file = terminal.home / ".config/pbem/ann@play.example.toml"
    written = file.read_text("utf-8")
    file.write_text(written.replace(f"drafts:{terminal.drafts}", "smtp://127.0.0.1:1"), "utf-8")
    shown = terminal("m1", "Rv1", "--yes")
    assert "Not sent yet: orders m1 game 1 turn 1: 127.0.0.1: " in shown
    assert "yours is not sent yet" in terminal()
    file.write_text(written, "utf-8")
    sent = len(terminal.sent)
    assert "orders m1 game 1 turn 1: a draft" in terminal()
    assert len(terminal.sent) == sent + 1
    del tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "You have no account yet"),
        (("m1",), "You have no account yet"),
        (("--account", "x@y.example", "m1"), "No such file"),
        (("register", "anna", "--address", "a@b.example"), "NAME@SERVER"),
        (("register", "a@b.example", "--address", "nonsense"), "address"),
        (("register", "a@b.example", "--address", "a@c.example", "--in", "pigeon:"), "maildir:PATH"),
        (("register", "a@b.example", "--address", "a@c.example", "--key", "/nowhere"), "--new-key"),
        (("register", "a@b.example", "--address", "a@c.example", "--in", "lmtp://0.0.0.0:24"), "this machine"),
    ],
)
def test_what_is_missing_is_said(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    key = ("--key", str(terminal.home / "key"), "--new-key")
    made = key if words[:1] == ("register",) and "--key" not in words else ()
    assert said in terminal(*words, *made, status=4)


def test_a_question_that_is_no_command_is_told_how_to_ask(terminal: Terminal) -> None:
    terminal.register()
    shown = terminal("ask", "how", "do", "I", "win?", status=4)
    assert "`how` is no command of the server's: `pbem play ask help` lists them" in shown


def test_waiting_ends_with_a_proposal_a_move_and_the_end(terminal: Terminal) -> None:
    terminal.register()
    assert "It is not your move." in terminal("wait", status=3)
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    assert "proposed: pbem play accept m1" in terminal("wait", "m1")
    terminal.referee.send(bob, "withdraw m1\n")  # which nobody is told who had not accepted
    terminal("accept", "m1", "--yes")
    assert "Refused: accept m1" in terminal("wait", "m1")
    assert "withdrawn" in terminal("m1").splitlines()[0]
    assert "It is not your move." in terminal("wait", status=3)


def test_without_a_key(terminal: Terminal) -> None:
    terminal.provider = Domain("mail.example", key=rsa_key(1024))
    terminal.referee.records[terminal.provider.where] = terminal.provider.record
    shown = terminal("register", "ann@play.example", "--address", terminal.ann.address, "--no-key", *terminal.ways)
    assert "Key      none" in shown
    shown = terminal() + terminal()
    assert "Registered, without a key" in shown
    assert not (terminal.home / "key").exists()
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    assert "Send? [Y/n]" in terminal("accept", "m1", typed="y\n")
    assert "setup of game 1: your move" in terminal()


def test_of_a_proposal_it_is_shown_who_is_a_program(terminal: Terminal) -> None:
    terminal.register()
    robo = terminal.referee.registered("robo")
    terminal.referee.send(robo, "set program yes\n")
    terminal.referee.send(robo, new(robo, "spaceships", "ann", options=SMALL))
    assert "Spaceships with robo (a program)" in terminal()
    shown = terminal("accept", "m1", typed="n\n", status=4)
    assert "seats     1 robo (a program), 2 ann" in shown


def test_tournaments_are_entered_listed_and_left(terminal: Terminal) -> None:
    referee = terminal.referee
    terminal.register()
    bob = referee.registered("bob")
    referee.send(bob, f"tournament new spaceships\n{placed(bob)}closes: 2026-03-10\n{SMALL}\nend\n")
    assert "The terms of t1 have not come" in terminal("enter", "t1", status=4)
    shown = terminal("enter", "t1", typed="y\n")
    assert "tournament t1, by bob" in shown
    assert "0 players have entered so far.\nTo enter is to accept all your matches in it." in shown
    assert re.search(r"  t1    Spaceships, round robin\n +open, until .+;\n +1 entered, you too\n", terminal())
    terminal("leave", "t1", "--yes")
    assert "t1 " not in terminal()


def test_the_list_fits_a_small_terminal(terminal: Terminal) -> None:
    """Each deadline, and each command to type, stands on one line."""
    bob = begun(terminal)
    terminal.referee.send(bob, new(bob, "shoot-em-up", "ann", options="settle: 0"))
    lines = terminal().splitlines()
    assert max(map(len, lines)) < 80
    assert "\n        turn 1: your move, until Sun 08 Mar" in "\n".join(lines)
    assert [line for line in lines if line.endswith("left)")]
    assert [line for line in lines if line.endswith("pbem play accept m2")]


def test_what_cannot_be_entered_is_said_once(terminal: Terminal, prompt: Callable[..., str]) -> None:
    terminal.register()
    shown = prompt("enter", "t9", status=1)
    assert "there is no such tournament here" in shown
    assert "have not come" not in shown


def test_a_latecomer_is_told_before_signing_that_entries_are_closed(
    terminal: Terminal, prompt: Callable[..., str]
) -> None:
    terminal.register()
    club = Club(terminal.referee, "bob", "carl", "dora")
    club.announce("bob", "entrants: 3")
    club.enter("bob", "carl", "dora")
    shown = prompt("enter", "t1", typed="n\n", status=4)
    assert "Entries are closed: only a substitute" in shown
    assert "entered so far" not in shown


def test_a_tournament_is_announced_and_friends_are_told_how_to_enter(
    terminal: Terminal, prompt: Callable[..., str]
) -> None:
    terminal.register()
    assert "say when entries close" in terminal("tournament", "new", "spaceships", status=1)
    shown = prompt("tournament", "new", "spaceships", "closes: 2026-03-10", "pace: 3d", typed="y\n")
    assert "tournament new spaceships\ncloses: 2026-03-10\npace: 3d\n" in shown
    assert "Announced. Your friends write to pbem@play.example: enter t1\n" in shown
    assert " 0 entered;\n        to enter: pbem play enter t1\n" in terminal()
    assert " 1 entered, you too\n" in prompt("enter", "t1", "--yes")
    shown = terminal("tournament", "new", "spaceships", "closes: 2026-02-01", "--yes", status=1)
    assert "nothing was signed or sent:\n  - entries close on a day to come" in shown


def test_an_organiser_rules_at_the_terminal(terminal: Terminal, prompt: Callable[..., str]) -> None:
    terminal.register()
    terminal("tournament", "new", "spaceships", "closes: 2026-03-10", "--yes")
    club = Club(terminal.referee, "bob", "carl", "dora")
    club.enter("bob", "carl", "dora")
    assert "Missing option '--reason'" in terminal("tournament", "rule", "t1", "close", status=2)
    shown = prompt("tournament", "rule", "t1", "close", "--reason", "too few of us", "--yes")
    assert "rule t1 close\nreason: too few of us\n" in shown
    assert "Your ruling counts; everybody in the tournament is told.\n" in shown
    assert club.t.phase == "ended"


def test_a_ladder_is_climbed_at_the_terminal(terminal: Terminal, prompt: Callable[..., str]) -> None:
    terminal.register()
    club = Club(terminal.referee, "bob")
    club.announce("bob", "format: ladder")
    club.enter("bob")
    prompt("enter", "t1", "--yes")
    prompt("tournament", "challenge", "t1", "bob", "--yes")
    assert [set(pairing.players) for pairing in club.awaited] == [{"ann", "bob"}]


def test_deadlines_for_the_calendar(terminal: Terminal) -> None:
    bob, path = agreed(terminal), terminal.home / "pbem.ics"
    events: list[Any] = []
    for _ in range(2):
        assert f"{path}: 1 deadline." in terminal("--calendar", str(path))
        (event,) = icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")
        (letter,) = icalendar.Calendar.from_ical(attachment(bob.letters[-1], ".ics")).walk("VEVENT")
        # The same event as in the letter, but for the seat.
        assert str(event["UID"]) == str(letter["UID"]).replace("seat-1", "seat-2")
        assert (event.decoded("DTSTART"), event["SEQUENCE"]) == (letter.decoded("DTSTART"), letter["SEQUENCE"])
        events.append(str(event["SUMMARY"]))
        if len(events) == 1:
            terminal.referee.send(bob, bob.filled("setup", BOB))
            terminal("setup", "m1", ANN, "--yes")
            terminal()
    assert events == ["Spaceships with bob, m1: setup", "Spaceships with bob, m1: turn 1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    terminal("resign", "m1", "--yes")
    terminal()
    assert f"{path}: 0 deadlines." in terminal("--calendar", str(path))
    assert icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT") == []
    assert "go without a command: pbem play --browser" in terminal("--calendar", str(path), "m1", status=2)
    assert "Not a directory" in terminal("--calendar", str(path / "x"), status=4)


@pytest.mark.parametrize("key", [("--key", "~/key"), ("--no-key",)])
def test_who_was_forgotten_registers_again(terminal: Terminal, key: tuple[str, ...]) -> None:
    """As operators ask their players to who restored a backup; an account that the server knows stays open."""
    terminal.provider = Domain("mail.example", key=rsa_key(1024))
    terminal.referee.records[terminal.provider.where] = terminal.provider.record
    empty = back_up(terminal.referee)
    given = ("register", "ann@play.example", "--address", terminal.ann.address, *key, *terminal.ways)
    terminal(*given, *(("--new-key",) if "--key" in key else ()))
    for above, store in enumerate((empty, None), start=1):
        assert terminal() + terminal()
        put_back(terminal.referee, store or back_up(terminal.referee), above)
        terminal(*given)
        shown = terminal() + terminal()
        assert ("Registered" in shown) is (above == 1)
        assert ("already registered as ann" in shown) is (above == 2)
        assert terminal.referee.desk.players.by_name("ann")
        assert terminal().splitlines()[0] == "ann@play.example"


class HomePage:
    """The page of Ann's account at home, without its script: her letters come when it looks."""

    def __init__(self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
        self.terminal = terminal
        self.room, self.of = room_of(terminal, monkeypatch)
        self.table = self.room._tables[self.of["account"]]

    def shown(self, view: str = "match", name: str = "m1") -> Any:
        self.terminal.post()
        self.terminal.bring()
        self.room._next.clear()
        self.room.look()
        return json.loads(page(self.room, view, self.of | {"match": name}).content)

    def press(self, act: str, facts: JsonObject | None = None, **asked: object) -> Any:
        moment = facts and [facts[name] for name in ("phase", "game", "turn", "hash")]
        answer = self.room.act(act, self.of | {"shown": moment} | asked)
        assert answer is not None
        return json.loads(answer.content)

    def position(self) -> Any:
        packed = base64.urlsafe_b64decode(self.shown()["position"].removeprefix("#") + "==")
        return json.loads(zlib.decompress(packed, -15))


def test_the_page_at_home_shows_terms_and_then_asks_for_a_setup(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.register()
    bob, home = terminal.referee.registered("bob"), HomePage(terminal, monkeypatch)
    terminal.referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    proposed = home.shown()
    assert "\n  settling  none\n  hash      " in proposed["terms"]
    assert [proposed[name] for name in ("composing", "board", "rematch", "talk")] == [False, "", "", []]
    assert home.press("say", proposed, what="accept") == {"sent": True}
    setup = home.shown()
    assert [setup[name] for name in ("composing", "board", "terms", "asked")] == [True, "composer", "", True]
    for views, said in (
        (("board", "miniature"), b"Nothing is to be seen of m1 yet."),
        (("replay", "picture"), b"No bundle of m1 has come: it comes when a game has ended."),
    ):
        assert [page(home.room, view, home.of).content for view in views] == [said] * 2
    assert home.press("judge", setup, text=ANN)["words"] == [ANN]
    assert home.press("send", setup, text=ANN) == {"sent": True, "words": ""}


def test_the_page_at_home_draws_a_position_whether_orders_are_due_or_not(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, home = begun(terminal), HomePage(terminal, monkeypatch)
    playing = home.shown()
    assert playing["conditions"][0] == {"form": "… hit", "words": "you hit …"}
    (fault,) = home.press("judge", playing, text="Gx9")["faults"]
    assert fault == "there is no cell `Gx9`: the cells of a plane go from v1 to z5"
    assert home.press("judge", playing, text="Gx3")["words"] == ["conventional strikes at Gx3"]
    assert home.press("send", playing, text="Gx3", final=True)["sent"]
    assert home.press("send", playing, text="Rv2", turn=3)["sent"]
    terminal.post()
    terminal.referee.turn((bob, ""))
    due = home.position()
    assert (due["turn"], due["view"]["known"]["1"]["empty"]) == (2, ["Gx3"])
    assert due["events"].splitlines()[2:4] == ["You", "  strike    Gx3  miss"]
    assert home.press("send", playing, text="Gx4")["error"].startswith("A letter about m1 came while you looked;")
    assert home.press("say", home.shown(), what="clear", word="turn 3") == {"sent": True}
    monkeypatch.setattr(page_views, "composed", lambda *_: None)
    watched = home.position()
    assert watched.items() <= due.items()
    assert due.keys() - watched.keys() == {"asked", "deadline", "standing"}
    drawn = composer("spaceships", Home("play.example", "pbem@play.example"), "en")
    assert page(home.room, "composer", home.of) == PageAnswer(drawn.encode(), framed=True)


def test_the_page_at_home_shows_a_match_that_is_over_and_proposes_it_again(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(terminal)
    home = HomePage(terminal, monkeypatch)
    assert home.press("say", home.shown(), what="press", word="Well played!", to="bob") == {"sent": True}
    assert home.press("say", home.shown(), what="resign", word="match") == {"sent": True}
    closed = home.shown()
    assert closed["talk"] == [["ann", "Well played!", 1]]
    assert (closed["board"], closed["rematch"]) == ("replay", "spaceships with bob\nsettle: 0\nfleet: cost:3")
    assert home.press("verify")["said"] == "m1: verified: 10 checks hold, and 5 of your letters agree."
    letters, boards = home.table.letters, part_of("spaceships", "boards")
    known = seen(home.table.agent, letters.matches.standing("m1"))
    assert known is not None
    assert known["view"]["entitled"] is None, "nothing is to be ordered any more"
    stepped = replay(read(letters.memory.bundle("m1") or b""), seat=2, language="en")
    ends = draw(boards.truth(revealed(letters, "m1"), 2), {1: "bob: 3", 2: "ann: 3"})
    for view, answer in (
        ("replay", PageAnswer(stepped.encode(), framed=True)),
        ("picture", PageAnswer(ends, "image/png")),
        ("miniature", PageAnswer(miniature(boards.boards(known["view"])), "image/png")),
    ):
        assert page(home.room, view, home.of) == answer


def test_the_page_at_home_enters_a_tournament_by_the_terms_that_it_shows(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.register()
    bob, home = terminal.referee.registered("bob"), HomePage(terminal, monkeypatch)
    terminal.referee.send(bob, f"tournament new spaceships\n{placed(bob)}closes: 2026-03-10\n{SMALL}\nend\n")
    assert home.press("ask", word="tournament  t1") == {"sent": True}
    cup = home.shown("tournament", "t1")
    assert cup["terms"].startswith("  tournament t1, by bob\n")
    assert [cup[name] for name in ("title", "entrants", "table")] == ["Spaceships", 0, []]
    assert cup["letters"] == [["Re: ask", home.room._answered]]
    entry: dict[str, Any] = {"tournament": "t1", "what": "enter"}
    others = home.press("take-part", **entry, hash="0" * 64)
    assert others["error"] == "The terms of t1 are others than you saw; nothing was signed."
    assert home.press("take-part", **entry, hash=cup["hash"]) == {"sent": True}
    assert home.shown("tournament", "t1")["entered"]
    assert home.press("take-part", tournament="t1", what="leave") == {"sent": True}
    assert not home.shown("tournament", "t1")["entered"]
