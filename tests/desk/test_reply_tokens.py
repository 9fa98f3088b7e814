"""People without keys: single-use reply tokens and DKIM, what counts, what does not, and the proof of it all."""

from __future__ import annotations

import binascii
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import HOME, reply_to
from in_a_box.referee import ANN, BOB, Mailbox, Referee, attachment, body, form_in, html, new
from signing.domains import Domain, rsa_key

from pbem.config.server import Identity
from pbem.desk.strangers import EACH
from pbem.identity import ssh
from pbem.proof.verification import verify
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "mx.play.example"


class Post:
    """A referee among people without keys, whose domain signs what they send."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee

    def reply(
        self,
        person: Mailbox,
        text: str,
        *,
        to: str | None = None,
        envelope: str | None = None,
        sign: Callable[[bytes], bytes] | None = None,
        headers: str = "",
    ) -> None:
        """An answer to the person's latest letter, with what mail programs quote beneath."""
        address = to or reply_to(person.last)
        quoted = "".join(f"> {line}\n" for line in person.text.split("\n")) if person.letters else ""
        raw = self.referee.raw(person, f"{text}\nOn Sunday the referee wrote:\n{quoted}", headers=headers)
        raw = raw.replace(b"To: pbem@play.example", f"To: {address}".encode())
        raw = (sign or self.sign)(raw)
        self.referee.deliver(raw, person.address, envelope or address)

    def sign(self, raw: bytes) -> bytes:
        return HOME.sign(raw, self.referee.now)

    def registered(self, name: str) -> Mailbox:
        person = self.referee.person(name)
        self.referee.send(person, f"register {name}\n", sign=False)
        self.reply(person, f"register {name}")
        assert "You are registered as" in person.text
        return person

    def proposed(self) -> Mailbox:
        """Bob without a key, whose latest letter proposes m1; Ann, who has one, is its other player."""
        _, bob = self.referee.opened("Ann with a key, Bob without, proposed", self._propose)
        return bob

    def _propose(self) -> list[Mailbox]:
        ann, bob = self.referee.registered("ann"), self.registered("bob")
        self.referee.send(ann, "new spaceships with bob\nend\n")
        return [ann, bob]

    def agreed(self, options: str = "settle: 0") -> tuple[Mailbox, Mailbox]:
        """Ann with a key and Bob without, in match m1, their setups asked for."""
        ann, bob = self.referee.registered("ann"), self.registered("bob")
        self.referee.send(ann, f"new spaceships with bob\n{options}\nend\n")
        self.reply(bob, form_in(bob.text, "accept", lines=1))
        return ann, bob

    def begun(self, options: str = "settle: 0") -> tuple[Mailbox, Mailbox]:
        about = f"Ann with a key, Bob without, {options}"
        ann, bob = self.referee.opened(about, lambda: [*self._begin(options)])
        return ann, bob

    def _begin(self, options: str) -> tuple[Mailbox, Mailbox]:
        ann, bob = self.agreed(options)
        self.referee.send(ann, ann.filled("setup", ANN))
        self.reply(bob, bob.filled("setup", BOB), to=reply_to(bob.find("send your setup")))
        return ann, bob

    def trust(self, authserv_id: str) -> None:
        """Take the word of this server, from now on."""
        identity = Identity(authserv_id=authserv_id)
        self.referee.configure(identity=identity)

    def standing(self, seat: int) -> str | None:
        """The orders that stand for a seat."""
        loaded = self.referee.desk.archive.load(1)
        assert loaded is not None
        orders = loaded[0].orders.get(seat)
        return orders.text if orders and orders.standing else None


def checks(content: bytes) -> list[str]:
    return [f"{'ok' if check.holds else 'FAIL'} {check.what}: {check.found}" for check in verify(content)]


@pytest.fixture
def post(referee: Referee) -> Post:
    return Post(referee)


# Registration.


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda raw: raw, "no DKIM signature"),
        (lambda raw: Domain("evil.example").craft(raw), "signed (DKIM) by evil.example"),
        (lambda raw: HOME.craft(raw, l="5"), "covers only the beginning"),
        (lambda raw: HOME.craft(raw) + b"footer\r\n", "the text was changed"),
        (lambda raw: Domain("mail.example", key=rsa_key(2048, 1)).craft(raw), "does not hold"),
    ],
)
def test_registration_needs_dkim(post: Post, change: Callable[[bytes], bytes], told: str) -> None:
    bob = post.referee.person("bob")
    post.referee.send(bob, "register bob\n", sign=False)
    asked = reply_to(bob.last)
    post.reply(bob, "register bob", sign=change)
    assert told in " ".join(bob.text.split())
    assert "help mailbox" in " ".join(bob.text.split())
    assert post.referee.desk.players.by_name("bob") is None
    post.reply(bob, "register bob", to=asked)
    assert "You are registered as bob" in bob.text


# A whole match.


def test_a_match_of_a_key_against_a_mailbox(post: Post) -> None:
    ann, bob = post.begun()
    assert "(level mailbox)" in body(ann.find("send your setup"))
    assert "bob, at the level mailbox" in ann.text
    assert "at the level mailbox" in body(bob.find("orders"))
    for turn in range(1, 4):
        asked = bob.find(f"game 1, turn {turn - 1}" if turn > 1 else "begins")
        post.referee.turn((ann, ""))
        post.reply(bob, bob.filled("orders", "final\nbOy3Oy5"), to=reply_to(asked))
        assert "Level of the orders: ann key, bob mailbox." in body(ann.find(f"game 1, turn {turn}"))
    page = html(bob.find("game 1, turn 3"))
    assert "Answer this letter with your orders" in page
    assert "Level of the orders: ann key, bob mailbox." in page
    post.reply(bob, "transcript m1")
    part = checks(attachment(bob.last, ".pbem.zip"))
    assert all(line.startswith("ok") for line in part)
    post.reply(bob, "resign m1 game 1")
    content = attachment(ann.find(", the end"), ".pbem.zip")
    found = checks(content)
    assert all(line.startswith("ok") for line in found), found
    assert sum("bob: mailbox, DKIM with the key record that the server kept" in line for line in found) == 4
    assert any("resigned the game, signed (mailbox, DKIM" in line for line in found)
    assert "bob, at the level mailbox" in " ".join(body(ann.find(", the end")).split())


def test_the_lines_about_a_resignation_are_no_wider_than_others(post: Post) -> None:
    """The longest title of a game, and a player without a key."""
    ann, bob = post.referee.registered("ann"), post.registered("bob")
    post.referee.send(ann, "new dueling-masters with bob\nend\n")
    post.reply(bob, form_in(bob.text, "accept", lines=1))
    post.reply(bob, "resign m1 match")
    told = body(ann.find("bob resigned"))
    assert "resigned the whole match m1 (Dueling Masters of Space-Time)" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 78


# Tokens.


def test_a_token_is_good_for_one_letter(post: Post) -> None:
    _, bob = post.begun()
    asked, form = reply_to(bob.last), bob.form("orders")
    post.reply(bob, bob.filled("orders", "bOy3Oy5"), to=asked)
    assert post.standing(2) == "bOy3Oy5"
    receipt = bob.text
    # The very same letter again: answered, and nothing changes.
    post.reply(bob, form.replace("end", "bOy3Oy5\nend"), to=asked)
    changed = form.replace("\nrev 1", "\nrev 2").replace("end", "Gx3\nend")
    post.reply(bob, changed, to=asked)
    assert "good for one letter, which came on Sunday 1 March 2026" in " ".join(bob.text.split())
    assert post.standing(2) == "bOy3Oy5"
    # The refusal brings a fresh one.
    post.reply(bob, changed)
    assert "at the level mailbox" in bob.text
    assert post.standing(2) != "bOy3Oy5"
    assert receipt != bob.text


@pytest.mark.parametrize(
    "text", ["set timezone Asia/Tokyo", "set mail digest", "press m1\nHi.\nend", "observe m1", "unobserve m1"]
)
def test_settings_and_messages_need_a_token_and_dkim_too(post: Post, text: str) -> None:
    ann, bob = post.begun()
    before, fresh = len(ann.letters), reply_to(bob.last)
    for to, sign in (("pbem@play.example", post.sign), ("pbem+m1@play.example", post.sign), (fresh, bytes)):
        post.reply(bob, text, to=to, sign=sign)
        assert "Refused" in bob.text
    assert len(ann.letters) == before
    assert post.referee.desk.players.setting("bob", text.split()[1], "as it was") == "as it was"


def test_a_message_may_answer_any_letter_of_its_match(post: Post) -> None:
    ann, bob = post.begun()
    early = reply_to(bob.find("begins"))
    post.referee.turn((ann, ""))
    post.reply(bob, bob.filled("orders", "final"))
    post.referee.send(ann, "new spaceships with bob\nend\n")
    post.reply(bob, "press m1\nOf another match.\nend", to=reply_to(bob.find("proposes")))
    assert "belongs to another match" in " ".join(bob.text.split())
    post.reply(bob, "press m1\nWell played.\nend", to=early)
    assert "Well played." in ann.text
    post.reply(bob, "press m1\nAnother one.\nend", to=early)
    assert "Another one." in ann.text


def test_an_answer_brings_a_player_back_who_was_out_of_reach_and_a_forged_one_does_not(post: Post) -> None:
    _, bob = post.begun()
    referee, players = post.referee, post.referee.desk.players
    used = reply_to(bob.last)
    post.reply(bob, bob.filled("orders", "final"), to=used)
    with referee.database.transaction():
        players.note_unreachable("bob", to_db(referee.now), 1)
    referee.now += timedelta(hours=1)
    fresh = reply_to(bob.last)
    for to, sign in (("pbem+m1@play.example", post.sign), (used, post.sign), (fresh, bytes)):
        post.reply(bob, "status m1", to=to, sign=sign)
        assert players.unreachable("bob")
    post.reply(bob, "status m1", to=fresh)
    assert players.unreachable("bob") is None
    # Nor by the same letter, should it be seen and sent once more.
    with referee.database.transaction():
        players.note_unreachable("bob", to_db(referee.now), 1)
    referee.now += timedelta(hours=1)
    post.reply(bob, "status m1 # again", to=fresh)
    assert players.unreachable("bob")


def test_another_players_token(post: Post) -> None:
    ann, bob = post.begun()
    carl = post.registered("carl")
    post.reply(bob, bob.filled("orders", "bOy3Oy5"), to=reply_to(carl.last))
    assert "given to somebody else" in " ".join(bob.text.split())
    post.reply(bob, bob.filled("orders", "bOy3Oy5"), to=reply_to(ann.last))
    assert "must be a reply" in " ".join(bob.text.split())
    post.reply(carl, bob.filled("orders", "bOy3Oy5"), to=reply_to(bob.find("begins")))
    assert post.standing(2) is None


@pytest.mark.parametrize("said", ["Gx3", "resign m1 match"])
def test_an_answer_from_a_second_address_says_which_one_counts(post: Post, said: str) -> None:
    """Its writer is no newcomer, who has to register."""
    _, bob = post.begun()
    alias = post.referee.person("bob.miller")
    post.reply(alias, said, to=reply_to(bob.find("begins")))
    told = " ".join(alias.text.split())
    assert "your answer counts only from there" in told
    assert "register" not in told


def test_an_address_that_only_a_key_could_confirm_is_not_asked(post: Post) -> None:
    _, bob = post.begun()
    alias = post.referee.person("bob.miller")
    post.reply(bob, "address add bob.miller@mail.example")
    assert "only a key can confirm a second address" in " ".join(bob.text.split())
    assert not alias.letters


@pytest.mark.parametrize("added", ["", "To: pbem@play.example\r\n", "Cc: pbem@play.example\r\n"])
def test_a_letter_to_others_changes_nothing_when_they_send_it_on(post: Post, added: str) -> None:
    """Some programs show all addresses of a letter that they forward."""
    _, bob = post.begun()
    words = f"Ann, shall I write this?\n\nresign m1 match\n\nReply-To: {reply_to(bob.find('begins'))}\n"
    raw = post.referee.raw(bob, words).replace(b"To: pbem@play.example", b"To: ann <ann@mail.example>")
    post.referee.deliver(added.encode() + post.sign(raw), "ann@mail.example")
    assert post.referee.match().phase == "playing"
    assert "written to others" in " ".join(bob.text.split())


def test_tokens_are_found_wherever_mail_programs_put_them(post: Post) -> None:
    _, bob = post.begun()
    elsewhere = "pbem@play.example"
    for rev, place in enumerate(("To", "Cc", "Delivered-To", "quoted"), start=1):
        token = reply_to(bob.last)
        text = bob.filled("orders", "bOy3Oy5", rev=rev)
        if place == "quoted":
            text += f"\nAm Sonntag schrieb <{token}>:\n"
        post.reply(
            bob,
            text,
            to=token if place == "To" else elsewhere,
            envelope=elsewhere,
            headers=f"{place}: {token}\n" if place in {"Cc", "Delivered-To"} else "",
        )
        assert f"revision {rev}, at the level mailbox" in bob.text, place


def test_every_letter_to_a_mailbox_has_a_token_of_its_own_and_the_store_only_hashes(post: Post) -> None:
    ann, bob = post.begun()
    addresses = [reply_to(letter) for letter in bob.letters[1:]]
    assert len(set(addresses)) == len(addresses) >= 4
    assert all(re.fullmatch(r"pbem\+(m1|reply)\.[a-z2-7]{20}@play\.example", address) for address in addresses)
    assert len({reply_to(letter) for letter in ann.letters if "m1" in str(letter["Subject"])}) == 1
    stored = str(post.referee.database.rows("SELECT * FROM reply_tokens"))
    assert not any(address.partition(".")[2].partition("@")[0] in stored for address in addresses)


# Whose word is taken.


FORGED = f"Authentication-Results: {OURS}; dkim=pass header.d=mail.example\r\n".encode()
GENUINE = FORGED.replace(b"pass", b"fail")
WAYS: dict[str, Callable[[bytes], bytes]] = {
    "another server's": lambda raw: FORGED.replace(OURS.encode(), b"mx.google.com") + HOME.craft(raw) + b"footer\r\n",
    "beneath our own": lambda raw: GENUINE + FORGED + HOME.craft(raw) + b"footer\r\n",
    "from before it came to us": lambda raw: (
        b"Received: by a\r\nReceived: by b\r\n" + FORGED + HOME.craft(raw) + b"x"
    ),
    "of no signature": lambda raw: FORGED + raw,
    "of another domain's": lambda raw: FORGED + Domain("evil.example").craft(raw),
    "l tag": lambda raw: HOME.craft(raw, l="10") + b"injected\r\n",
    "l tag, passed": lambda raw: FORGED + HOME.craft(raw, l="10") + b"injected\r\n",
}


@pytest.mark.parametrize("authserv_id", ["", OURS])
def test_case_24_forged_results_and_l_tags_never_raise_trust(post: Post, authserv_id: str) -> None:
    """Named in reliability.md: injected Authentication-Results, DKIM with `l=`."""
    post.trust(authserv_id)
    _, bob = post.begun()
    text, asked = bob.filled("orders", "bOy3Oy5"), reply_to(bob.find("begins"))
    for name, way in WAYS.items():
        post.reply(bob, text, to=asked, sign=way)
        assert "Refused" in bob.text, name
        assert post.standing(2) is None, name
    post.reply(bob, text, to=asked)
    assert post.standing(2) == "bOy3Oy5"


def test_the_word_of_our_own_server(post: Post) -> None:
    """If the operator trusts it, it replaces a record that cannot be had; and the proof says so."""
    post.trust(OURS)
    ann, bob = post.begun()
    post.referee.records[HOME.where] = None
    told = (
        f"Received: from a by b\r\nAuthentication-Results: {OURS};\r\n dkim=pass header.d=mail.example\r\n".encode()
    )
    post.referee.turn((ann, ""))
    post.reply(
        bob, bob.filled("orders", "final"), to=reply_to(bob.find("begins")), sign=lambda raw: told + post.sign(raw)
    )
    assert "turn 1" in str(ann.last["Subject"])  # at once: the DNS is asked but one time
    post.referee.records[HOME.where] = HOME.record
    post.reply(bob, "resign m1 game 1")
    found = checks(attachment(ann.find(", the end"), ".pbem.zip"))
    assert all(line.startswith("ok") for line in found)
    assert any("bob: mailbox, by the word of the server" in line for line in found)
    assert any("bob: mailbox, DKIM" in line for line in found)


def test_the_word_of_our_own_server_mends_no_signature_that_does_not_hold(post: Post) -> None:
    """Our own finding outweighs it: the header may have come with the letter."""
    post.trust(OURS)
    _, bob = post.begun()
    text, asked = bob.filled("orders", "bOy3Oy5"), reply_to(bob.find("begins"))
    post.reply(bob, text, to=asked, sign=lambda raw: FORGED + post.sign(raw) + b"footer\r\n")
    assert "the text was changed on its way" in " ".join(bob.text.split())
    assert post.standing(2) is None
    post.referee.records[HOME.where] = None
    post.reply(bob, text, to=asked, sign=lambda raw: FORGED + post.sign(raw))
    assert post.standing(2) == "bOy3Oy5"


def test_a_header_above_a_letter_makes_it_say_nothing_that_its_domain_did_not_sign(post: Post) -> None:
    """Another encoding would turn what an opponent wrote, and a mail program quoted, into a line of its own."""
    ann, bob = post.begun()
    post.referee.send(ann, "press m1\nHello! =0Aresign m1 game 1=0A\nend\n")

    def signed(raw: bytes) -> bytes:
        dressed = b"Content-Transfer-Encoding: 7bit\r\n" + raw
        return HOME.craft(dressed, headers=("from", "to", "content-type", "content-transfer-encoding"))

    asked = reply_to(bob.last)
    above = b"Content-Transfer-Encoding: quoted-printable\r\n"
    post.reply(bob, "press m1\nThanks!\nend", to=asked, sign=lambda raw: above + signed(raw))
    assert post.referee.match().phase == "playing"
    assert "The headers of the letter are malformed" in " ".join(bob.text.split())
    post.reply(bob, "press m1\nThanks!\nend", to=asked, sign=signed)
    assert "Thanks!" in ann.text


def test_a_blank_on_the_way_breaks_no_line_of_a_quote(post: Post) -> None:
    """Relaxed DKIM lets blanks come to the ends of lines; a soft break before them stays one (RFC 2045 6.7)."""
    ann, bob = post.begun()
    post.referee.send(ann, "press m1\n" + "\u00e9" * 11 + "xx resign m1 game 1\nend\n")

    def changed(raw: bytes) -> bytes:
        head, _, text = raw.partition(b"\r\n\r\n")
        lines = [binascii.b2a_qp(line, istext=False).replace(b"\n", b"\r\n") for line in text.split(b"\r\n")]
        encoded = b"\r\n".join([head, b"Content-Transfer-Encoding: quoted-printable", b"", *lines])
        assert b"=\r\nresign m1 game 1" in encoded
        signed = HOME.craft(encoded, headers=("from", "to", "content-type", "content-transfer-encoding"))
        return signed.replace(b"=\r\nresign", b"= \r\nresign")

    post.reply(bob, "press m1\nThanks!\nend", to=reply_to(bob.last), sign=changed)
    assert "Thanks!" in ann.text
    assert post.referee.match().phase == "playing"


def test_a_reply_that_waits_for_the_dns_when_its_time_is_over_came_in_time(post: Post) -> None:
    ann, bob = post.begun()
    post.referee.turn((ann, ""))
    post.referee.wait(timedelta(days=10, minutes=-1))
    post.referee.records[HOME.where] = None
    post.reply(bob, bob.filled("orders", "bOy3Oy5"))
    assert post.referee.inbox.count("waiting") == 1
    post.referee.wait(timedelta(minutes=3))
    post.referee.records[HOME.where] = HOME.record
    post.referee.wait(timedelta(minutes=6))
    assert "turn 1" in str(ann.last["Subject"])
    assert not any("a deadline was missed" in str(letter["Subject"]) for letter in ann.letters)


def test_a_signature_that_had_expired_when_its_letter_counts_as_received_proves_nothing(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verification judges it at that time: what was stored before a miss, and came after it."""
    _, bob = post.begun()
    now = post.referee.now
    monkeypatch.setattr("pbem.desk.authenticate.Authentication._arrival", lambda *_: now + timedelta(hours=1))
    ends = int((now + timedelta(minutes=30)).timestamp())
    post.reply(bob, bob.filled("orders", "Rv1"), sign=lambda raw: HOME.craft(raw, x=str(ends)))
    assert "The DKIM signature of mail.example had expired" in " ".join(bob.text.split())
    assert post.standing(2) is None
    monkeypatch.setattr("pbem.desk.authenticate.Authentication._arrival", lambda *_: now + timedelta(minutes=20))
    post.reply(bob, bob.filled("orders", "Rv1"), sign=lambda raw: HOME.craft(raw, x=str(ends)))
    assert post.standing(2) == "Rv1"


# Who may play at this level.


def test_a_match_that_demands_keys_refuses_mailboxes(post: Post) -> None:
    ann, bob = post.referee.registered("ann"), post.registered("bob")
    post.referee.send(ann, "new spaceships with bob\nkeys: demanded\nend\n")
    assert "bob is registered without one" in " ".join(ann.text.split())
    post.reply(bob, "new spaceships with ann\nkeys: demanded\nend")
    assert "bob is registered without one" in " ".join(bob.text.split())
    carl = post.referee.registered("carl")
    post.referee.send(ann, "new spaceships with carl\nkeys: demanded\nend\n")
    assert "keys      demanded" in carl.text


def test_a_signature_by_a_key_that_is_not_registered_is_no_hindrance(post: Post) -> None:
    _, bob = post.begun()
    other = post.referee.person("elsewhere")
    text = post.referee.signed(other, bob.filled("orders", "bOy3Oy5"))
    post.reply(bob, text)
    assert post.standing(2) == "bOy3Oy5"


def test_a_first_key_comes_after_notice_and_delay_and_what_waits_still_counts(post: Post) -> None:
    ann, bob = post.begun()
    post.reply(bob, f"key add\n{ssh.public(bob.key)}\n", to=reply_to(bob.find("begins")))
    assert "you have no key yet" in bob.text
    post.referee.send(bob, f"recover\n{ssh.public(bob.key)}\n", sign=False)
    post.referee.send(bob, form_in(body(bob.find("says that your keys are lost")), "confirm"))
    assert "bob" in ann.text
    post.reply(bob, bob.filled("orders", "final\nbOy3Oy5"), to=reply_to(bob.find("begins")))
    post.referee.wait(timedelta(days=7))
    post.referee.turn((ann, ""))
    assert "Level of the orders: ann key, bob mailbox." in body(ann.find("game 1, turn 1"))
    post.reply(bob, bob.filled("orders", "final\nbOy3Oy5"), to=reply_to(bob.find("game 1, turn 1")))
    assert "must be signed" in bob.text
    post.referee.turn((ann, ""), (bob, "bOy3Oy5"))
    assert "Level of the orders" not in body(ann.find("game 1, turn 2"))
    post.referee.send(bob, "resign m1 game 1\n")
    found = checks(attachment(ann.find(", the end"), ".pbem.zip"))
    assert all(line.startswith("ok") for line in found), found


# Letters of all kinds.


def test_who_knows_a_used_reply_address_makes_us_repeat_nothing(post: Post) -> None:
    _, bob = post.begun()
    used = reply_to(bob.find("begins"))
    post.reply(bob, bob.filled("orders", "Gx3"), to=used)
    count = len(bob.letters)
    for number in range(9):
        post.reply(bob, f"Gx4 Gy{number % 5 + 1}", to=used, sign=lambda raw: raw)
    assert len(bob.letters) - count == EACH
    assert all("Gx4" not in body(letter) for letter in bob.letters[count:])


def test_who_has_no_key_is_never_told_to_sign_and_the_form_of_each_letter_counts(post: Post) -> None:
    ann, bob = post.begun()
    post.referee.registered("carl")
    post.referee.wait(timedelta(days=4))
    assert "a reminder" in str(bob.last["Subject"])
    assert "Answer this letter with your orders" in bob.text
    post.reply(bob, bob.filled("orders", "Gx3"))
    assert post.standing(2) == "Gx3"
    post.referee.send(ann, "substitute m1 carl for ann\n")
    assert "with `yes`, or with this form" in bob.text
    post.reply(bob, form_in(bob.text, "substitute"))
    assert "Refused" not in bob.text
    post.referee.wait(timedelta(days=7))
    asked = bob.find("a deadline was missed")
    assert "Answer this letter with these lines" in body(asked)
    post.reply(bob, form_in(body(asked), "claim"), to=reply_to(asked))
    assert post.referee.match().phase == "closed"
    assert not [
        letter["Subject"] for letter in bob.letters if re.search(r"\b[Ss]ign(ed)? (and|it|this)", body(letter))
    ]


@pytest.mark.parametrize("before", ["Re: ", "AW: ", "AW: Re: ", "Antw: RE : SV:", ""])
def test_an_answer_stays_under_its_subject_whatever_mail_programs_write_before_it(post: Post, before: str) -> None:
    bob = post.registered("bob")
    raw = post.referee.raw(bob, "whoami\n", subject=f"{before}[pbem m1] Spaceships: Re")
    post.referee.deliver(post.sign(raw), bob.address)
    assert str(bob.last["Subject"]) == "Re: [pbem m1] Spaceships: Re"


def test_an_anonymous_match_tells_nobody_else_who_has_no_key(post: Post) -> None:
    ann, bob = post.referee.registered("ann"), post.registered("bob")
    post.referee.send(ann, "new spaceships\nanonymous: yes\nsettle: 0\nkind: scored\ngames: 2\nend\n")
    post.reply(bob, "join m1")
    post.reply(bob, form_in(bob.text, "accept", lines=1))
    post.referee.send(ann, ann.filled("setup", ANN))
    post.reply(bob, bob.filled("setup", BOB), to=reply_to(bob.find("send your setup")))
    post.referee.turn((ann, "Rv1"))
    post.reply(bob, bob.filled("orders", "final\nRv1"), to=reply_to(bob.find("game 1 begins")))
    assert "turn 1" in str(ann.last["Subject"])
    post.reply(bob, "resign m1 game 1", to=reply_to(bob.find("turn 1")))
    assert ann.find("game 1, the end")
    post.referee.send(ann, "status m1\ndiary m1\n", sign=False)
    assert not any("mailbox" in body(letter) or "bob" in body(letter) for letter in ann.letters)


def test_nobody_without_a_key_is_asked_to_agree_without_one(post: Post) -> None:
    """Somebody invited by address may register by any form."""
    referee = post.referee
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(ann, new(ann, "spaceships", "bob@mail.example", options="keys: demanded\n"))
    for _ in range(2):
        post.reply(bob, "register bob")
    offer = bob.find("proposes a match")
    assert "To agree, sign this line" in body(offer)
    assert "`yes`" not in body(offer)
    post.reply(bob, form_in(body(offer), "accept", lines=1), to=reply_to(offer))
    assert "bob is registered without one: `recover`, with a key below it," in " ".join(bob.text.split())
