"""Players without keys, who answer each letter on a phone: one letter for each step, and nothing to copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import hold_for_both
from in_a_box.keyless import HOME, SIGNED, reply_to
from in_a_box.referee import ANN, BOB, MAIL_SERVER, Mailbox, Referee, attachment, body, confirming
from judges.honest import accused
from msgspec.structs import replace
from world.mutations import rewritten, with_body

from pbem.identity import ssh
from pbem.match import asking
from pbem.match.documents import salt_in
from pbem.match.transcript import sha256_hex
from pbem.match.transcript_replay import begin
from pbem.proof import bundle
from pbem.proof.bundle import Bundle
from pbem.proof.verification import verify
from verifier import Wrong, verified

if TYPE_CHECKING:
    from email.message import EmailMessage

    from in_a_box.referee import Mailbox, Referee


WRITES = {
    "en": "On Sun, 1 Mar 2026, 12:00 pbem <{}> wrote:",
    "de": "Am So., 1. März 2026 um 12:00 schrieb pbem <{}>:",
}
FOOT = {"en": "Sent from my iPhone", "de": "Von meinem iPhone gesendet"}


class Phones:
    """People with phones, who write above what they quote; their domain signs it."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.sent = 0
        self.told = ""  # what our own mail server writes above a letter

    def reply(
        self,
        person: Mailbox,
        text: str,
        letter: EmailMessage | None = None,
        *,
        language: str = "en",
        shown: str | None = None,
        over: tuple[str, ...] = SIGNED,
        html: bool = False,
    ) -> str:
        """An answer to the latest letter, above its text; what comes back, in one line."""
        self.sent += 1
        letter = letter or (person.last if person.letters else None)
        to = reply_to(letter) if letter else "pbem@play.example"
        shown = body(letter) if letter and shown is None else shown or ""
        quoted = "".join(f"> {line}\n" for line in shown.split("\n")) if shown else ""
        quoted = f"{FOOT[language]}\n\n{WRITES[language].format(to)}\n\n{quoted}" if quoted else FOOT[language]
        plain = f"--b\nContent-Type: text/plain; charset=utf-8\n\n{text}\n\n{quoted}\n"
        page = f"--b\nContent-Type: text/html; charset=utf-8\n\n<p>{text.replace(chr(10), '<br>')}</p>\n"
        raw = (
            f"From: {person.name} <{person.address}>\nTo: {to}\nSubject: Re: {letter['Subject'] if letter else ''}\n"
            f"Message-ID: <{next(self.referee.sent)}.{person.name}@mail.example>\nContent-Language: {language}\n"
            "MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n"
            f"{'' if html else plain}{page}--b--\n"
        )
        before = len(person.letters)
        signed = HOME.craft(raw.encode().replace(b"\n", b"\r\n"), headers=over)
        self.referee.deliver(self.told.encode().replace(b"\n", b"\r\n") + signed, person.address, to)
        return " ".join(" ".join(body(one) for one in person.letters[before:]).split())

    def registered(self, name: str, language: str = "en") -> Mailbox:
        person = self.referee.person(name)
        self.reply(person, f"register {name}", language=language)
        self.reply(person, f"register {name}", language=language)
        assert self.referee.desk.players.level(name) == "mailbox"
        return person

    def proposed(self) -> tuple[Mailbox, Mailbox]:
        """Ann has proposed m1 to Bob, who has read nothing else since."""
        ann, bob = self.referee.opened("phones, proposed", self._propose)
        return ann, bob

    def playing(self) -> tuple[Mailbox, Mailbox]:
        """Both in the first turn of m1."""
        ann, bob = self.referee.opened("phones, playing", self._begin)
        assert self.phase == "playing"
        return ann, bob

    def _propose(self) -> list[Mailbox]:
        ann, bob = self.registered("ann"), self.registered("bob")
        self.reply(ann, "new spaceships with bob\nsettle: 0\nend")
        return [ann, bob]

    def _begin(self) -> list[Mailbox]:
        ann, bob = self._propose()
        self.reply(bob, "Yes, let us play!")
        self.reply(ann, ANN, ann.find("send your setup"))
        self.reply(bob, BOB, bob.find("send your setup"))
        return [ann, bob]

    @property
    def phase(self) -> str:
        return self.referee.match().phase

    def proof(self, reader: Mailbox) -> None:
        """Both verifiers hold what the end brought."""
        content = attachment(reader.find(", the end"), ".pbem.zip")
        hold_for_both(content)
        assert accused(self.referee) == []


@pytest.fixture
def phones(referee: Referee) -> Phones:
    return Phones(referee)


# What counts, and what does not.


def test_resign_and_other_sentences_are_about_the_match_of_the_letter(phones: Phones) -> None:
    ann, bob = phones.playing()
    assert "has 3 days more" in phones.reply(bob, "extend 3d")
    phones.reply(bob, "Draw offer.")
    assert phones.referee.match().offers == {"draw": {2: (1, 2)}}
    phones.reply(ann, "draw decline")
    assert not phones.referee.match().offers["draw"]
    assert "> report m1" in phones.reply(bob, "report")
    assert "Legal" in phones.reply(bob, "preview turn 1 Gx3 end")
    phones.reply(bob, "press I like this! end")
    assert "I like this!" in body(ann.last)
    phones.reply(bob, "Gx3")
    phones.reply(bob, "clear")
    assert not phones.referee.match().orders[2].standing
    phones.reply(bob, "transcript")
    running = attachment(bob.last, ".pbem.zip")
    hold_for_both(running)
    phones.reply(ann, "Resign!", ann.find("begins"))
    assert phones.phase == "closed"
    phones.proof(bob)


def test_a_match_that_is_resigned_before_its_game_proves_it(phones: Phones) -> None:
    """The addresses of setups are shown when the match closes; what was withdrawn by one stands in the trace."""
    ann, bob = phones.proposed()
    phones.reply(bob, "ja gerne")
    phones.reply(bob, BOB)
    phones.reply(bob, "clear")
    assert "`resign m1 match`" in phones.reply(bob, "resign")
    phones.reply(bob, "transcript")
    running = attachment(bob.last, ".pbem.zip")
    assert b"evidence/replies-game-1.txt" not in running
    hold_for_both(running)
    phones.reply(bob, "resign match")
    assert phones.phase == "closed"
    phones.reply(ann, "transcript")
    content = attachment(ann.last, ".pbem.zip")
    assert b"evidence/replies-game-1.txt" in content
    hold_for_both(content)


def test_the_html_that_asks_for_a_setup_breaks_its_lines_only_where_a_phone_does(phones: Phones) -> None:
    ann, bob = phones.proposed()
    phones.reply(bob, "Yes, let us play!")
    part = ann.find("send your setup").get_body(("html",))
    assert part is not None
    paragraphs = re.findall(r"<p\b[^>]*>(.*?)</p>", " ".join(part.get_content().split()))
    assert any(one.startswith("Your space has") and one.endswith("Capitals matter.") for one in paragraphs)
    assert any("or with <code>clear</code>" in one for one in paragraphs)


def test_a_setup_is_not_withdrawn_with_orders(phones: Phones) -> None:
    """Default orders are no setup; and no turn is due yet."""
    _, bob = phones.proposed()
    phones.reply(bob, "Yes, let us play!")
    phones.reply(bob, BOB, bob.find("send your setup"))
    for words in ("clear default", "clear turn 1", "clear m1 default", "clear m1 turn 1"):
        phones.reply(bob, words)
        assert phones.referee.match().setups[2].standing, words
    phones.reply(bob, "clear")
    assert not phones.referee.match().setups[2].standing


def test_a_match_of_two_games_has_addresses_for_each_setup(phones: Phones) -> None:
    ann, bob = phones.registered("ann"), phones.registered("bob")
    phones.reply(ann, "new spaceships with bob\nsettle: 0\nkind: scored\ngames: 2\nend")
    phones.reply(bob, "accept")
    for game in (1, 2):
        for person, setup in ((ann, ANN), (bob, BOB)):
            phones.reply(person, setup, person.find("send your setup"))
        assert (phones.phase, phones.referee.match().game) == ("playing", game)
        phones.reply(bob, "Gx3", bob.find("begins"))
        if game == 1:
            phones.reply(ann, "resign", ann.find("begins"))
            phones.proof(bob)
    phones.referee.read_cold()
    phones.reply(ann, "resign", ann.find("begins"))
    assert phones.phase == "closed"
    phones.proof(bob)


def test_another_name_costs_no_further_letter(phones: Phones) -> None:
    phones.registered("ann")
    gw = phones.referee.person("gw")
    assert "this name is taken" in phones.reply(gw, "register ann")
    phones.reply(gw, "register gw2")
    assert phones.referee.desk.players.level("gw2") == "mailbox"
    eve = phones.referee.person("eve")
    phones.reply(eve, "register eve")
    phones.reply(eve, "register eve2")
    assert phones.referee.desk.players.level("eve2") == "mailbox"


def test_nobody_is_registered_by_what_a_phone_writes_below(phones: Phones) -> None:
    """`Sent from my iPhone`: the name would be nobody else's for ever."""
    bob = phones.referee.person("bob")
    for words in ("register bob", "register"):
        told = phones.reply(bob, words)
    assert "give a name" in told
    assert phones.referee.desk.players.by_name("sent") is None


def test_an_answer_to_the_rules_is_about_the_match_that_waits(phones: Phones) -> None:
    _, bob = phones.proposed()
    phones.reply(bob, "rules spaceships", shown="")
    rules = next(letter for letter in reversed(bob.letters) if "A cell is" in body(letter))
    told = phones.reply(bob, "yes", rules)
    assert phones.phase == "proposed", "what it quotes are no terms"
    assert "does not quote what you agree to" in told
    phones.reply(bob, "accept", rules)
    assert phones.phase == "setup"


@pytest.mark.parametrize("by", ["the domain, but not To", "our own server"])
def test_where_yes_cannot_count_it_is_not_offered_and_the_reason_is_named(phones: Phones, by: str) -> None:
    """Nobody could check later to which address such a letter went."""
    over = tuple(name for name in SIGNED if name != "to")
    _, bob = phones.proposed()
    if by == "our own server":
        phones.referee.records[HOME.where] = None
        phones.told = f"Authentication-Results: {MAIL_SERVER}; dkim=pass header.d=mail.example\n"
    for words in ("Yes, let us play!", "yes", "accept"):
        told = phones.reply(bob, words, over=over)
        assert "covers the line To" in told, words
        assert "with `yes`" not in told
        assert "with these lines" in told
    assert phones.phase == "proposed"
    line = next(line for line in body(bob.last).split("\n") if line.startswith("accept m1 "))
    phones.reply(bob, line, over=over)
    assert phones.phase == "setup"
    told = phones.reply(bob, BOB, over=over)
    assert "covers the line To" in told
    phones.reply(bob, bob.form("setup"), over=over)
    assert phones.referee.match().setups[2].standing
    told = phones.reply(bob, "resign match", over=over)
    assert "covers the line To" in told
    assert "quoted text: resign m1 match" in told


SAID = ("clear", "resign", "resign m1", "resign match", "draw offer", "draw accept", "annul decline")
MORE = ("annul offer", "extend 3d", "claim", "substitute carl for bob", "accept", "decline", "withdraw")


@pytest.mark.parametrize(("phase", "html"), [("setup", True), ("playing", False)])
@pytest.mark.parametrize("words", [*SAID, *MORE])
def test_every_form_that_an_answer_offers_is_accepted(phones: Phones, words: str, phase: str, *, html: bool) -> None:
    """Also where no sentence counts by itself, because nobody signs To, or because HTML alone came."""
    over = tuple(name for name in SIGNED if name != "to")
    if phase == "playing":
        _, bob = phones.playing()
    else:
        _, bob = phones.proposed()
        phones.reply(bob, "Yes, let us play!")
    phones.registered("carl")
    told = phones.reply(bob, words, over=over, html=html)
    if "completed form" in told:
        form = body(bob.last).split("with these lines")[1].split("\n\n")[1]
        told = phones.reply(bob, form, over=over)
        assert "Refused" not in told
        assert "Nothing has changed" not in told


@pytest.mark.parametrize("words", ["No thanks", "Nein danke!", "Sorry, not now. Kind regards, Bob", "Leider nicht"])
def test_a_refusal_in_plain_words_is_told_how_to_decline(phones: Phones, words: str) -> None:
    _, bob = phones.proposed()
    told = phones.reply(bob, words)
    assert phones.phase == "proposed"
    assert "If this is what you mean, answer this letter with this, above the quoted text: decline m1" in told
    assert "Not understood" not in told
    phones.reply(bob, "decline m1")
    assert phones.phase == "declined"


@pytest.mark.parametrize("words", ["I resign. Good game!", "Ich gebe auf.", "I give up"])
@pytest.mark.parametrize("phase", ["setup", "playing"])
def test_a_resignation_in_plain_words_is_told_the_line_to_send(phones: Phones, words: str, phase: str) -> None:
    if phase == "playing":
        ann, bob = phones.playing()
    else:
        ann, bob = phones.proposed()
        phones.reply(bob, "Yes, let us play!")
    for _ in range(5):  # more than the letters without a command that are answered in a day
        came = len(ann.letters)
        told = phones.reply(bob, words)
        assert (phones.phase, len(ann.letters)) == (phase, came)
        assert "If this is what you mean, answer this letter" in told
    phones.reply(bob, "set language de")
    assert "Wenn du das meinst, antworte auf diesen Brief" in phones.reply(bob, words, language="de")
    phones.reply(bob, {"setup": "resign m1 match", "playing": "resign m1 game 1"}[phase])
    assert phones.phase == "closed"


@pytest.mark.parametrize("words", ["nothing", "Nichts.", "pass"])
def test_who_orders_nothing_in_plain_words_is_told_the_lines_to_send(phones: Phones, words: str) -> None:
    ann, bob = phones.playing()
    told = phones.reply(bob, words)
    assert not phones.referee.match().orders.get(2)
    assert "To order nothing this turn" in told
    phones.reply(bob, "orders m1 turn 1\nfinal\nend")
    assert phones.referee.match().orders[2].final
    phones.reply(ann, "resign", ann.find("begins"))
    phones.proof(ann)


@pytest.mark.parametrize("words", ["Do you resign?", "I never resign", "Nothing is better than this game"])
def test_other_words_are_told_no_command_to_send(phones: Phones, words: str) -> None:
    _, bob = phones.playing()
    assert "Your letter has no command that we know" in phones.reply(bob, words)


@pytest.mark.parametrize(
    "shown",
    [
        "accept m1 " + "0" * 64,
        "Will you take part in something else?",
        "accept m2 HASH",
        "accept m1 HASH\naccept m1 " + "1" * 64,
        "> accept m1 HASH",  # a quote within the quote
        ": accept m1 HASH",  # a message of the opponent's
        "Do you agree? accept m1 HASH",
    ],
)
def test_yes_is_to_the_terms_that_are_quoted(phones: Phones, shown: str) -> None:
    _, bob = phones.proposed()
    terms = phones.referee.match().rules_hash
    told = phones.reply(bob, "Yes, let us play!", shown=shown.replace("HASH", terms))
    assert phones.phase == "proposed"
    assert "does not quote what you agree to" in told
    phones.reply(bob, "yes")
    assert phones.phase == "setup"


@pytest.mark.parametrize("words", ["Ja?", "Accept?", "Sure, let us play?"])
def test_a_question_is_no_consent(phones: Phones, words: str) -> None:
    _, bob = phones.proposed()
    told = phones.reply(bob, words)
    assert phones.phase == "proposed"
    assert "with `yes`" in told
    phones.reply(bob, "ja")
    assert phones.phase == "setup"


def test_a_setup_with_other_ships_below_is_in_doubt(phones: Phones) -> None:
    _, bob = phones.proposed()
    phones.reply(bob, "yes")
    phones.reply(bob, f"{BOB}\n\nNo, rather:\n\nLS Rv2")
    assert not phones.referee.match().setups


EDITS = {
    "other words": (b"\r\n\r\nYes, let us play!", b"\r\n\r\nNo, let us not play!"),
    "thanks alone": (b"\r\n\r\nYes, let us play!", b"\r\n\r\nOk, thanks!"),
    "quote of other terms": (b"> accept m1 ", b"> accept m1 0123456789"),
    "no quote of terms": (b"> accept m1 ", b"> to accept, write "),
    "another match": (b"To: pbem+m1.", b"To: pbem+m2."),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_consent_to_something_else_is_refused_by_both_verifiers(phones: Phones, edit: str) -> None:
    found = agreed(phones)
    old, new = EDITS[edit]
    raw = found.papers["letters/agreed-seat-2.eml"]
    assert raw.count(old) == 1
    raw = raw[raw.index(b"From:") :].replace(old, new)
    refused(rewritten(found, "letters/agreed-seat-2.eml", HOME.craft(raw, headers=SIGNED)))


def test_a_consent_at_another_address_is_refused_by_both_verifiers(phones: Phones) -> None:
    """The address of another seat, of another revision, of other terms, and one that To does not sign."""
    found = agreed(phones)
    path, evidence = "letters/agreed-seat-2.eml", "evidence/agreed-seat-2.txt"
    raw = found.papers[path]
    raw = raw[raw.index(b"From:") :]
    holds(rewritten(found, path, HOME.craft(raw, headers=SIGNED)))
    refused(rewritten(found, path, HOME.craft(raw, headers=tuple(name for name in SIGNED if name != "to"))))
    body_ = found.entries[0].body
    letters = body_["letters"]
    for rev in (2, 3):
        refused(with_body(found, 0, {**body_, "letters": {**letters, "2": {**letters["2"], "rev": rev}}}))
    without = {key: value for key, value in letters["2"].items() if key != "rev"}
    refused(with_body(found, 0, {**body_, "letters": {**letters, "2": without}}))
    papers, salt = found.papers, found.papers["evidence/replies-game-0.txt"]
    refused(rewritten(found, "evidence/replies-game-0.txt", salt.replace(b"salt ", b"salt 0")[:-2] + b"\n"))
    refused(rewritten(found, evidence, papers[evidence].replace(b"place game 0 turn 0", b"place game 1 turn 0")))
    refused(rewritten(found, evidence, papers[evidence].replace(b"match m1", b"match m2")))
    token = re.search(rb"To: pbem\+m1\.([a-z2-7]{20})@", raw)
    assert token is not None
    other = asking.token(replace(begin(found.entries[0]), phase="proposed", replies=salt_in(salt)), 1, 1).encode()
    moved = rewritten(found, path, HOME.craft(raw.replace(token[1], other), headers=SIGNED))
    names = sha256_hex(token[1]).encode(), sha256_hex(other).encode()
    refused(rewritten(moved, evidence, moved.papers[evidence].replace(*names)))


def test_a_setup_and_a_resignation_elsewhere_are_refused_by_both_verifiers(phones: Phones) -> None:
    found = agreed(phones)
    setup, resignation = "letters/game-1-setup-seat-2.eml", "letters/resign-3-seat-1.eml"
    assert resignation in found.papers
    for path, old, new in (
        (setup, b"\r\n\r\nDS Ry3-Oz4", b"\r\n\r\nDS Ry3-Oz3"),
        (setup, b"To: pbem+m1.", b"To: pbem+m2."),
        (resignation, b"\r\n\r\nresign\r\n", b"\r\n\r\nresign match\r\n"),
        (resignation, b"\r\n\r\nresign\r\n", b"\r\n\r\nI resign\r\n"),
        (resignation, b"To: pbem+m1.", b"To: pbem+m2."),
    ):
        raw = found.papers[path]
        assert raw.count(old) == 1, (path, old)
        raw = raw[raw.index(b"From:") :].replace(old, new)
        refused(rewritten(found, path, HOME.craft(raw, headers=SIGNED)))
    salt = found.papers["evidence/replies-game-1.txt"]
    refused(rewritten(found, "evidence/replies-game-1.txt", salt.replace(b"salt ", b"salt 0")[:-2] + b"\n"))
    papers = {path: paper for path, paper in found.papers.items() if path != "evidence/replies-game-1.txt"}
    refused(Bundle(found.entries, found.signatures, papers))


def agreed(phones: Phones) -> Bundle:
    """The bundle of a match that was agreed, set up and resigned by words alone."""
    ann, bob = phones.playing()
    phones.reply(ann, "resign", ann.find("begins"))
    found = bundle.read(attachment(bob.find(", the end"), ".pbem.zip"))
    holds(found)
    return found


def holds(found: Bundle) -> None:
    hold_for_both(bundle.write(found))


def refused(found: Bundle) -> None:
    """Both verifiers refuse it."""
    content = bundle.write(found)
    assert not all(check.holds for check in verify(content))
    with pytest.raises(Wrong):
        verified(content)


def test_a_letter_is_asked_about_whose_quote_another_encoding_would_open(phones: Phones) -> None:
    """Ann's provider signs neither how her letter is encoded; without the quote, nothing in it is anybody else's."""
    ann, _ = phones.playing()
    letter = ann.find("begins")
    to = reply_to(letter)
    for quote, says in (
        ("> so=0Aresign m1 match=0A\n", "does not sign how your letter is encoded"),
        ("", "orders for turn 1 stand"),
    ):
        head = (
            f"From: ann <{ann.address}>\nTo: {to}\nSubject: Re: turn 1\nMessage-ID: <{len(quote)}@mail.example>\n\n"
        )
        raw = f"{head}Rv5\n\n{quote}".replace("\n", "\r\n").encode()
        phones.referee.deliver(HOME.craft(raw, headers=SIGNED), ann.address, to)
        assert says in " ".join(body(ann.last).split())
        assert bool(phones.referee.match().orders) == (not quote)


@pytest.mark.parametrize("shown", ["whole", "of another turn", "with orders", "not at all"])
def test_yes_agrees_to_the_one_substitute_that_is_quoted(phones: Phones, shown: str) -> None:
    ann, bob = phones.playing()
    carl = phones.registered("carl")
    phones.reply(ann, "substitute carl for ann", ann.find("begins"))
    asked = body(bob.last)
    assert "with `yes`, or with this form" in asked
    orders = "orders m1 turn 1\nserver play.example\n"
    quoted = {
        "whole": asked,
        "of another turn": asked.replace("turn 1", "turn 2"),
        "with orders": asked.replace("To refuse", f"{orders}\nTo refuse"),
        "not at all": "",
    }
    told = phones.reply(bob, "Yes, please!", shown=quoted[shown])
    assert ("carl has been asked to take ann's seat" in told) == (shown == "whole")
    if shown == "whole":
        phones.reply(carl, "Yes, gladly!")
        assert phones.referee.match().name(1) == "ann"
        phones.reply(carl, body(carl.last).partition("quoted text:\n\n")[2].partition("\n\n")[0])
        assert phones.referee.match().name(1) == "carl"
        phones.reply(carl, "resign", carl.find("your seat"))
        phones.proof(bob)


@pytest.mark.parametrize("words", ["No!", "Nein danke"])
def test_no_to_a_substitute_brings_its_line_and_the_newcomers_counts(phones: Phones, words: str) -> None:
    ann, bob = phones.playing()
    carl = phones.registered("carl")
    phones.reply(ann, "substitute carl for ann", ann.find("begins"))
    asked = bob.last
    phones.reply(bob, words)
    assert "\n\nsubstitute m1 none for ann\n" in body(bob.last)
    phones.reply(bob, "Yes, please!", asked)
    phones.reply(carl, words)
    assert "carl declines the seat" in str(ann.last["Subject"])
    assert phones.referee.match().name(1) == "ann"


# The way in from an invitation's page: one letter that its button writes, two answers, and the match begins.


def invited(phones: Phones, options: str = "settle: 0") -> tuple[Mailbox, Mailbox]:
    ann = phones.registered("ann")
    phones.reply(ann, f"new spaceships\n{options}\nend")
    return ann, phones.referee.person("carl")


def test_three_letters_lead_from_the_page_into_the_match(phones: Phones) -> None:
    _, carl = invited(phones)
    phones.reply(carl, "register carl m1")
    assert "\nregister carl m1\n" in body(carl.last)
    told = phones.reply(carl, "register carl m1")
    assert "You are registered as carl" in told
    assert "You have a seat in m1." in told
    phones.reply(carl, "yes", carl.find("m1"))
    assert phones.phase == "setup"
    assert phones.referee.match().names == ("ann", "carl")


def test_a_seat_that_is_gone_leaves_the_account(phones: Phones) -> None:
    ann, carl = invited(phones)
    phones.reply(carl, "register carl m1")
    phones.reply(ann, "withdraw m1")
    told = phones.reply(carl, "register carl m1")
    assert "You did not get the seat in m1" in told
    assert "not on the open list" in told
    assert phones.referee.desk.players.level("carl") == "mailbox"


def test_with_a_key_the_seat_comes_with_the_proof_of_it(referee: Referee) -> None:
    ann, dora = referee.registered("ann"), referee.person("dora")
    referee.send(ann, "new spaceships\nend\n")
    referee.send(dora, f"register dora m1\n{ssh.public(dora.key)}\n", sign=False)
    assert referee.match().names != ("ann", "dora")
    referee.send(dora, confirming(dora))
    assert any("You have a seat in m1." in dora.letters.text(at) for at in range(len(dora.letters)))
    assert referee.match().names == ("ann", "dora")
