"""A mailbox by IMAP: letters come whole and once, move when they are done with, and trouble is never their end."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from machines import certificate
from world.imap_server import PASSWORD, USER, Account, Broken, Session, serving

from pbem.mailbox import Denied, Handle, MailboxUnreachable, Withheld
from pbem.mailbox.imap import Imap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.mailbox.imap import Tls

LETTER = b"From: a@b.example\r\nSubject: x\r\n\r\nbare \n and \xff and\r\n.\r\n"


@contextmanager
def opened(account: Account, secret: Callable[[], str] = lambda: PASSWORD, **options: Any) -> Iterator[Imap]:
    given = {"most": 1000, "tls": "none", **options}
    with serving(account) as port, closing(Imap("127.0.0.1", port, given.pop("tls"), USER, secret, **given)) as box:
        yield box


def test_an_access_token_opens_the_account_and_is_asked_for_each_time() -> None:
    account = Account(token="ya29.first")
    account.put(LETTER)
    tokens = ["ya29.first", "ya29.second"]

    def hang_up(command: str) -> None:
        if account.token == "ya29.second" and command == "NOOP":
            account.passing = lambda _: None
            raise Broken

    account.passing = hang_up
    given = iter(tokens)
    with opened(account, lambda: next(given), xoauth2=True) as box:
        assert [one.raw for one in box.letters()] == [LETTER]
        account.token = "ya29.second"
        with pytest.raises(MailboxUnreachable):
            list(box.letters())
        assert [one.raw for one in box.letters()] == [LETTER]
    assert account.seen.count("AUTHENTICATE") == 2
    assert "LOGIN" not in account.seen


def test_an_access_token_that_is_over_is_no_trouble_of_the_network() -> None:
    account = Account(token="ya29.now")
    with (
        opened(account, lambda: "ya29.past", xoauth2=True) as box,
        pytest.raises(Denied, match="does not accept this user and access token") as caught,
    ):
        list(box.letters())
    assert "ya29" not in str(caught.value)


def test_letters_come_octet_by_octet_and_move_when_they_are_done_with() -> None:
    account = Account()
    for number in range(3):
        account.put(b"%d\r\n" % number + LETTER)
    with opened(account) as box:
        found = list(box.letters())
        assert [one.raw for one in found] == [b"%d\r\n" % number + LETTER for number in range(3)]
        assert [one.raw for one in box.letters()] == [one.raw for one in found], (
            "nothing is gone before it is done with"
        )
        for one in found[:2]:
            box.done(one.handle)
        assert account.raws() == [found[2].raw]
        assert account.raws("pbem/done") == [found[0].raw, found[1].raw]
        assert [one.raw for one in box.letters()] == [found[2].raw]
        box.done(found[0].handle)  # again: it is gone
    assert "UID MOVE" in account.seen
    assert "EXPUNGE" not in account.seen


def test_what_comes_between_the_look_and_the_wait_is_no_later() -> None:
    account = Account()
    with opened(account) as box:
        for number in range(3):
            assert len(list(box.letters())) == number
            account.put(LETTER)
            start = time.monotonic()
            box.wait(600)
            assert time.monotonic() - start < 60


def test_what_lay_there_is_left_alone_once_there_is_a_mark_of_it() -> None:
    account = Account(flags={"Spam": "\\Junk"}, last=4711)
    account.folders["Spam"] = {}
    for folder in ("INBOX", "INBOX", "Spam"):
        account.put(b"old" + LETTER, folder)
    with opened(account) as box:
        left = box.mark(datetime(2026, 3, 1, 0, 30, tzinfo=UTC))
        assert left.letters == 3
        assert len(list(box.letters())) == 3, "a mark alone changes nothing"
        box.leave(left.mark)
        assert not list(box.letters()), "the last one, which a range always has, neither"
        account.put(b"new" + LETTER)
        account.put(b"new" + LETTER, "Spam")
        assert [one.raw[:3] for one in box.letters()] == [b"new"] * 2
        # A folder that was made anew, or that was not there: by the day alone, the one before included.
        account.validity += 1
        account.dates = dict.fromkeys(account.folders["INBOX"], date(2026, 2, 27))
        account.put(b"day" + LETTER)
        account.dates[account.last] = date(2026, 2, 28)
    with opened(account) as box:
        box.leave(left.mark)
        assert [one.raw[:3] for one in box.letters() if one.handle.folder == "INBOX"] == [b"day"]


def test_what_was_seen_is_not_fetched_again() -> None:
    account = Account()
    seen = {str(account.put(LETTER)) for _ in range(3)}
    account.put(b"new" + LETTER)
    with opened(account) as box:
        assert [one.raw[:3] for one in box.letters(lambda handle: handle.name in seen)] == [b"new"]
    assert account.seen.count("UID FETCH") == 1


def test_what_is_flagged_as_deleted_is_left_alone() -> None:
    account = Account()
    account.deleted.add(("INBOX", account.put(LETTER)))
    with opened(account) as box:
        assert not list(box.letters())


@pytest.mark.parametrize(("name", "flags"), [("Unwanted", "\\Junk"), ("Spam", "")])
def test_the_folder_of_spam_is_read_too(name: str, flags: str) -> None:
    account = Account(flags={name: flags})
    account.folders[name] = {}
    account.put(b"1" + LETTER, name)
    account.put(b"2" + LETTER)
    with opened(account) as box:
        for one in box.letters():
            box.done(one.handle)
        assert account.raws("pbem/done") == [b"1" + LETTER, b"2" + LETTER]


@pytest.mark.parametrize("command", ["LIST", "NAMESPACE"])
def test_a_provider_that_cannot_name_its_folders_now_is_asked_again(command: str) -> None:
    """It was read without its folder of spam, or with another place for read letters, for a whole connection."""
    account = Account(flags={"Spam": "\\Junk"}, namespace=("INBOX.", "."))
    account.folders["Spam"] = {}
    account.put(LETTER, "Spam")
    account.lies[command] = b"TAG NO [UNAVAILABLE] later\r\n"
    with opened(account) as box:
        with pytest.raises(MailboxUnreachable):
            list(box.letters())
        account.lies.clear()
        (found,) = box.letters()
        box.done(found.handle)
    assert account.raws("INBOX.pbem.done") == [LETTER]
    assert list(account.folders) == ["INBOX", "Work", "Spam", "INBOX.pbem.done"]


def test_a_folder_of_spam_can_be_named() -> None:
    account = Account()
    account.put(LETTER, "Work")
    with opened(account, spam="Work") as box:
        assert [one.handle.folder for one in box.letters()] == ["Work"]


def test_of_a_letter_that_is_too_long_only_so_much_is_fetched() -> None:
    account = Account()
    account.put(b"x" * 5000)
    with opened(account, most=1000) as box:
        assert [len(one.raw) for one in box.letters()] == [1001]


def test_what_broke_off_is_done_again() -> None:
    """The connection dies at each command in turn: on a new one, the letter comes, and is moved."""
    for command in (
        "LOGIN",
        "LIST",
        "SELECT",
        "UID SEARCH",
        "UID FETCH",
        "UID FETCH done",
        "UID MOVE",
        "UID MOVE done",
    ):
        account, left = Account(), [command]

        def passing(at: str, left: list[str] = left) -> None:
            if at in left:
                left.remove(at)
                raise Broken

        account.passing = passing
        account.put(LETTER)
        came = 0
        with opened(account) as box:
            while not account.raws("pbem/done") or account.raws():
                try:
                    for one in box.letters():
                        came += 1
                        box.done(one.handle)
                except MailboxUnreachable:
                    assert not left
        assert not left, command
        assert account.raws("pbem/done") == [LETTER]
        assert came == 1, command


def test_nothing_moves_under_a_number_that_means_another_letter_now() -> None:
    account = Account()
    account.put(LETTER)
    with opened(account) as box:
        (one,) = box.letters()
        account.validity += 1
        box.close()
        box.done(one.handle)
        assert account.raws() == [LETTER]
        assert next(box.letters()).handle == Handle("INBOX", "1", "2")


@pytest.mark.parametrize("capabilities", [("IMAP4rev1", "IDLE"), ("IMAP4rev1",)])
def test_who_waits_can_be_interrupted(capabilities: tuple[str, ...]) -> None:
    account = Account(capabilities=capabilities)
    with opened(account) as box:
        list(box.letters())
        timer = threading.Timer(0.1, box.interrupt)
        timer.start()
        began = time.monotonic()
        box.wait(60)
        assert time.monotonic() - began < 30
        timer.join()
        with pytest.raises(MailboxUnreachable, match="interrupted"):
            list(box.letters())


def test_a_wrong_password_is_said_and_not_shown() -> None:
    with opened(Account(), lambda: "sesame") as box, pytest.raises(Denied, match="this user and password") as denied:
        list(box.letters())
    assert "sesame" not in str(denied.value)


@pytest.mark.parametrize("kind", ["starttls", "implicit"])
def test_tls_with_a_certificate_that_is_known_and_with_one_that_is_not(tmp_path: Path, kind: Tls) -> None:
    cert, key = certificate.make(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(cert, key)
    account = Account()
    account.put(LETTER)
    known = ssl.create_default_context(cafile=cert)
    known.check_hostname = False  # it is served at an address
    with serving(account, tls, implicit=kind == "implicit") as port:
        with closing(Imap("127.0.0.1", port, kind, USER, lambda: PASSWORD, most=1000, tls_context=known)) as box:
            assert [one.raw for one in box.letters()] == [LETTER]
        account.seen.clear()
        with pytest.raises(MailboxUnreachable, match=r"certificate|SSL"):
            list(Imap("127.0.0.1", port, kind, USER, lambda: PASSWORD, most=1000).letters())
        assert "LOGIN" not in account.seen


LIES = {
    "a literal without end": ("UID FETCH", b"* 1 FETCH (UID 1 BODY[]<0> {99999999999999}\r\n"),
    "a literal of more than there can be": ("UID FETCH", b"* 1 FETCH (UID 1 BODY[]<0> {%b}\r\n" % (b"9" * 40)),
    "a literal of more digits than a number has": (
        "UID FETCH",
        b"* 1 FETCH (UID 1 BODY[]<0> {%b}\r\n" % (b"9" * 5000),
    ),
    "a length that is none": ("UID FETCH", b"* 1 FETCH (UID 1 BODY[]<0> {-1}\r\nx)\r\nTAG OK done\r\n"),
    "numbers that are none": ("UID SEARCH", b"* SEARCH 1:* x \xff\r\nTAG OK done\r\n"),
    "one number that is none": ("UID SEARCH", b"* SEARCH x\r\nTAG OK done\r\n"),
    "a search that is a literal": ("UID SEARCH", b"* SEARCH {3}\r\n1 2\r\nTAG OK done\r\n"),
    "folders that are none": ("LIST", b"* LIST nonsense\r\n* LIST () {2}\r\nab\r\nTAG OK done\r\n"),
    "no folders": ("LIST", b"* LIST\r\nTAG OK done\r\n"),
    "folders of no name": ("LIST", b'* LIST (\\Junk) NIL ""\r\nTAG OK done\r\n'),
    "a name in no UTF-7": ("LIST", b'* LIST (\\Junk) "/" "&!!-&AA"\r\nTAG OK done\r\n'),
    "capabilities that are none": ("CAPABILITY", b"* CAPABILITY {1}\r\nx\r\nTAG OK done\r\n"),
    "namespaces that are none": ("NAMESPACE", b'* NAMESPACE {4}\r\n(("x\r\nTAG OK done\r\n'),
    "a validity that is none": ("SELECT", b"* OK [UIDVALIDITY {1}\r\nx] \r\nTAG OK done\r\n"),
    "nothing at all": ("NOOP", b"\r\n"),
    "another's answer": ("NOOP", b"XXXX1 OK done\r\n"),
    "a farewell": ("NOOP", b"* BYE\r\n"),
    "a continuation": ("NOOP", b"+ go on\r\n+ go on\r\nTAG NO never\r\n"),
}


@pytest.mark.parametrize(("command", "said"), LIES.values(), ids=LIES)
def test_whatever_a_server_says_it_is_out_of_reach_at_worst(command: str, said: bytes) -> None:
    """No other error is raised, little memory is taken, and honest answers afterwards are read as ever."""
    account = Account(lies={command: said})
    account.put(LETTER)
    with opened(account, timeout=0.5) as box:
        with contextlib.suppress(MailboxUnreachable):
            for one in box.letters():
                box.done(one.handle)
        account.lies.clear()
        box.close()
        for one in box.letters():
            box.done(one.handle)
    assert LETTER in account.raws("pbem/done")
    assert not account.raws()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        *((command, b"* OK still here\r\n") for command in ("NOOP", "LIST", "UID SEARCH", "UID FETCH", "IDLE")),
        ("UID FETCH", b"x" * 65536),
        ("UID FETCH", b"* 1 FETCH (UID 1 BODY[] {60000}\r\n" + b"x" * 60000),
    ],
)
def test_an_answer_without_end_is_not_read_to_its_end(
    command: str, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pbem.mailbox.imap.ANSWER", 100_000)
    account = Account(lies={command: b"+ idling\r\n" + said if command == "IDLE" else said}, endless=True)
    account.put(LETTER)

    def use(box: Imap) -> None:
        list(box.letters())
        box.wait(60)

    with opened(account, timeout=5.0) as box, pytest.raises(MailboxUnreachable, match=r"abort|error"):
        use(box)


def test_letters_at_which_the_server_hangs_up_are_named_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more of a folder in one look than cost as many connections as a provider may allow."""
    account = Account()
    fetch = Session.do_uid_fetch

    def hang_up(session: Session, rest: str) -> None:
        if int(rest.partition(" ")[0]) < 20:
            raise Broken
        fetch(session, rest)

    monkeypatch.setattr(Session, "do_uid_fetch", hang_up)
    for _ in range(20):
        account.put(LETTER)
    skipped: list[Handle] = []
    looks = []
    with opened(account) as box:
        for _ in range(2):
            came = list[bytes]()
            with pytest.raises(Withheld) as withheld:
                came.extend(one.raw for one in box.letters(skipped.__contains__))
            skipped += withheld.value.handles
            looks.append((len(withheld.value.handles), len(came)))
    assert looks == [(10, 0), (9, 1)]


def test_the_octets_of_another_letter_are_not_taken_for_those_that_were_asked_for() -> None:
    account = Account(lies={"UID FETCH": b"* 2 FETCH (UID 2 BODY[]<0> {3}\r\nabc)\r\nTAG OK done\r\n"})
    account.put(LETTER)
    with opened(account) as box:
        assert not list(box.letters())


@pytest.mark.parametrize("more", [(), ("UIDPLUS",)])
def test_where_letters_cannot_be_moved_what_others_deleted_stays(more: tuple[str, ...]) -> None:
    """EXPUNGE alone would take away for good what the account's owner has only marked, and may want back."""
    account = Account(capabilities=("IMAP4rev1", *more))
    mine = account.put(b"mine\r\n" + LETTER)
    account.deleted.add(("INBOX", mine))
    account.put(LETTER)
    with opened(account) as box:
        for one in box.letters():
            box.done(one.handle)
        assert not list(box.letters())
    assert account.raws("pbem/done") == [LETTER]
    assert b"mine\r\n" + LETTER in account.raws()
    assert "EXPUNGE" not in account.seen
    assert len(account.raws()) == (1 if more else 2)


def test_a_connection_that_is_open_before_tls_is_not_used() -> None:
    """Whoever stands in between says PREAUTH, so that STARTTLS is out of place (CVE-2021-38370)."""
    account = Account(greeting=b"* PREAUTH welcome")
    account.put(LETTER)
    with opened(account, tls="starttls") as box, pytest.raises(MailboxUnreachable):
        list(box.letters())
    assert not {"LOGIN", "AUTHENTICATE", "SELECT"} & set(account.seen)


@pytest.mark.parametrize("more", [(), ("NAMESPACE",)])
def test_where_folders_have_no_folders_in_them_the_one_for_read_letters_stands_alone(more: tuple[str, ...]) -> None:
    account = Account(
        namespace=("", ""), capabilities=("IMAP4rev1", "MOVE", *more), folders={"INBOX": {}, "Junk": {}}
    )
    account.put(LETTER)
    account.put(b"spam" + LETTER, "Junk")
    with opened(account) as box:
        for one in list(box.letters()):
            box.done(one.handle)
    assert sorted(account.folders) == ["INBOX", "Junk", "pbem-done"]
    assert account.raws("pbem-done") == [b"spam" + LETTER, LETTER]


def test_a_provider_that_wants_to_know_by_whom_it_is_read_is_told() -> None:
    account = Account(names=None, capabilities=("IMAP4rev1", "MOVE", "ID"))
    account.put(LETTER)
    with opened(account) as box:
        assert [one.raw for one in box.letters()] == [LETTER]
    assert account.names == '("name" "pbem")'


@pytest.mark.parametrize("octets", [b'""', b"NIL", b"{0}\r\n"])
def test_a_letter_without_octets_is_withheld_and_not_passed_over(octets: bytes) -> None:
    """It may come later: a provider that keeps letters elsewhere says so of one that it cannot find now."""
    account = Account(lies={"UID FETCH": b"* 1 FETCH (UID 1 BODY[]<0> " + octets + b")\r\nTAG OK done\r\n"})
    account.put(LETTER)
    with opened(account) as box:
        with pytest.raises(Withheld) as caught:
            list(box.letters())
        assert [handle.name for handle in caught.value.handles] == ["1"]
        account.lies.clear()
        assert [one.raw for one in box.letters()] == [LETTER]
