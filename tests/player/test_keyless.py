"""A player without a key: each letter answers one of the server's, and its mail provider vouches for it (DKIM)."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import SERVER, Mailbox, Referee, new, placed
from in_a_box.table import ANN, BOB, SMALL, TO, Side
from signing.domains import Domain, rsa_key

from pbem.config.mail import MailboxConfig
from pbem.player.account_file import Account
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.proof.tournament_proof import verify_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.player.memory import SentForm
    from pbem.player.server_letter import Event

HOME = Domain("mail.example", key=rsa_key(1024))


class Guest(Side):
    """A side without a key, whose provider signs what it sends, unless it does not."""

    signs = True

    def start(self) -> None:
        super().start()
        account = Account(self.person.name, SERVER, TO, self.person.address, "", "", "")
        self.letters = Correspondence(account, self.memory, None, self.random, self.failpoint)

    def flush(self) -> None:
        for sent in self.letters.outbox.unsent():
            self.sent.append(sent.raw)
            raw = HOME.sign(sent.raw, self.referee.now) if self.signs else sent.raw
            self.referee.deliver(raw, self.person.address, sent.to)
            self.letters.outbox.has_left(sent)

    def register(self) -> None:
        self.post(self.letters.registration.register_mailbox(self.referee.now))
        back = self.letters.registration.confirm(self.referee.now)
        assert back is not None
        self.post(back)

    def said(self, sent: SentForm) -> list[str]:
        """The server's outcome of a letter."""
        return [event.said for event in self.post(sent) if event.kind == "answer"]


@pytest.fixture(params=["sub-addresses", "none"])
def referee(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Referee]:
    found = Referee(tmp_path)
    found.records[HOME.where] = HOME.record
    if request.param == "none":
        provider = MailboxConfig(imap="imap.example", password_file="p")
        found.config = msgspec.structs.replace(found.config, delimiter="", mailbox=provider)
        found.open_desk()
    yield found
    found.close()


@pytest.fixture
def ann(referee: Referee, tmp_path: Path) -> Iterator[Guest]:
    side = Guest(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")
    yield side
    side.close()


@pytest.fixture
def bob(referee: Referee) -> Mailbox:
    return referee.registered("bob")


@pytest.fixture
def playing(referee: Referee, ann: Guest, bob: Mailbox) -> Guest:
    ann.register()
    referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    ann.receive()
    assert ann.said(ann.letters.accept("m1", referee.now)) == ["done"]
    referee.send(bob, bob.filled("setup", BOB))
    ann.receive()
    assert ann.said(ann.letters.set_up("m1", ANN, referee.now)) == ["done"]
    return ann


@pytest.mark.parametrize("answered", [False, True])
def test_what_others_write_in_its_name_keeps_nobody_from_registering(
    referee: Referee, ann: Guest, answered: bool
) -> None:
    """The server asks whatever it told others before, and its question is answered, and no later letter."""
    sent = ann.letters.registration.register_mailbox(referee.now)
    if answered:
        ann.flush()
    ann.letters.outbox.has_left(sent)
    head = f"From: {ann.person.address}\r\nTo: {TO}\r\nMessage-ID: {sent.message_id}\r\n\r\n"
    referee.deliver(f"{head}help\r\n".encode(), "eve@evil.example")
    if not answered:
        referee.deliver(HOME.sign(sent.raw, referee.now), ann.person.address, sent.to)
    ann.receive()
    back = ann.letters.registration.confirm(referee.now)
    assert back is not None
    ann.post(back)
    assert ann.memory.account().name == "ann"


def test_each_letter_goes_to_an_address_of_its_own(referee: Referee, playing: Guest) -> None:
    """Orders are replaced, sentences said, another match proposed: each answers a letter about its own place."""
    letters = playing.letters
    assert playing.said(letters.order("m1", "Gx3", referee.now)) == ["done"]
    assert playing.said(letters.order("m1", "Gx4", referee.now)) == ["done"]
    assert playing.said(letters.tell("press m1", referee.now, match="m1", text="Good luck!")) == ["done"]
    assert playing.said(letters.say("m1", "draw m1 offer", referee.now)) == ["done"]
    assert playing.said(letters.tell("new spaceships with bob", referee.now)) == ["done"]
    assert playing.said(letters.ask("status m1", referee.now)) == ["done"]
    assert playing.said(letters.order("m1", "Gx5", referee.now)) == ["done"]
    answered = [email.message_from_bytes(raw)["In-Reply-To"] for raw in playing.sent[1:]]
    changing = [known for raw, known in zip(playing.sent[1:], answered, strict=True) if b"Subject: ask" not in raw]
    assert len(set(changing)) == len(changing)
    assert not any(event.kind == "forged" for event in playing.events)


def test_where_every_letter_is_answered_it_waits_or_asks(referee: Referee, playing: Guest) -> None:
    letters = playing.letters
    while any(place.turn for place in playing.memory.places()):  # nothing leaves: no answers come
        letters.order("m1", f"Gx{3 + playing.memory.count() % 2}", referee.now)
    with pytest.raises(Impossible, match="pbem play ask status m1"):
        letters.order("m1", f"Gx{3 + playing.memory.count() % 2}", referee.now)
    for place in playing.memory.places():
        playing.memory.spend(place)
    with pytest.raises(Impossible, match="pbem play ask whoami"):
        letters.tell("new spaceships with bob", referee.now)
    for sent in letters.outbox.unsent():
        playing.memory.settle(sent.id, "refused")
    assert playing.said(letters.ask("status m1", referee.now)) == ["done"]
    assert playing.said(letters.order("m1", "Gx5", referee.now)) == ["done"]


def test_a_provider_that_signs_nothing_is_told_and_another_may_be_tried(referee: Referee, ann: Guest) -> None:
    ann.signs = False
    ann.register()
    assert ann.memory.account().name is None
    (answer,) = [event for event in ann.events if event.kind == "answer" and event.said == "refused"]
    assert "DKIM" in " ".join(answer.faults)
    assert ann.letters.registration.confirm(referee.now) is not None
    assert not ann.letters.outbox.unsent(), "the same is not sent without end"
    ann.signs = True
    ann.register()
    assert ann.memory.account().name == "ann"


def test_nobody_else_gives_it_the_servers_key(referee: Referee, ann: Guest, tmp_path: Path) -> None:
    """Another one of that name, with keys of its own, is not believed without knowing what was written."""
    (tmp_path / "forger").mkdir()
    forger = Referee(tmp_path / "forger")
    forger.signing_key = Ed25519PrivateKey.generate()
    forger.open_desk()
    stranger = forger.person("ann")
    forger.send(stranger, "register ann\n", sign=False)
    sent = ann.letters.registration.register_mailbox(referee.now)
    before = ann.letters.inbox.receive(stranger.letters.came[-1], referee.now)
    forger.close()
    assert [event.kind for event in before] == ["unpinned"]
    assert ann.memory.account().server_key is None
    assert ann.memory.places() == []
    ann.post(sent)
    assert ann.memory.account().server_key == referee.desk.archive.key
    after = ann.letters.inbox.receive(stranger.letters.came[-1], referee.now)
    assert [event.kind for event in after] == ["forged"]


def test_a_death_spends_no_address_without_a_letter(referee: Referee, playing: Guest) -> None:
    class Dead(BaseException):
        pass

    def die(point: str) -> None:
        if point == "form signed":
            raise Dead

    places = playing.memory.places()
    playing.failpoint = die
    playing.restart()
    with pytest.raises(Dead):
        playing.letters.order("m1", "Gx3", referee.now)
    assert playing.memory.places() == places
    playing.failpoint = lambda _: None
    playing.restart()
    sent = playing.letters.order("m1", "Gx3", referee.now)
    playing.restart()
    assert playing.letters.outbox.unsent() == [sent]
    assert playing.said(sent) == ["done"]
    again: list[Event] = playing.post(playing.letters.order("m1", "Gx3", referee.now))
    assert again == []


def test_two_at_once_answer_a_letter_each(referee: Referee, playing: Guest) -> None:
    """Two commands look at the same letters of the server's: of what answers the same one, only one would count."""
    account, others = playing.letters.account, []
    other = Correspondence(account, playing.memory, None, playing.random)

    def meanwhile(point: str) -> None:
        if point == "form signed":
            others.append(other.say("m1", "draw m1 offer", referee.now))

    slow = Correspondence(account, playing.memory, None, playing.random, meanwhile)
    orders = slow.order("m1", "Gx3", referee.now)
    playing.flush()
    answers = [event for event in playing.receive() if event.kind == "answer"]
    assert {event.sent.id: event.said for event in answers if event.sent} == {orders.id: "done", others[0].id: "done"}


def test_a_tournament_is_entered_and_played(referee: Referee, tmp_path: Path) -> None:
    """The player only answers its letters; the proof has the evidence that vouches for them."""
    ann = referee.registered("ann")
    closes = "closes: 2026-03-04\nkeys: optional\nfleet: cost:1\nsettle: 0"
    referee.send(ann, f"tournament new spaceships\n{placed(ann)}{closes}\nend\n")
    t = referee.desk.director.archive.load(1)
    assert t is not None
    referee.send(ann, f"enter t1 {t.rules_hash}\n")
    guests = [Guest(referee, referee.person(name), tmp_path / f"{name}.sqlite") for name in ("gus", "hal")]
    ida = Guest(referee, referee.person("ida"), tmp_path / "ida.sqlite")
    for guest in (*guests, ida):
        guest.register()
        assert guest.said(guest.letters.tell(f"enter t1 {t.rules_hash}", referee.now)) == ["done"]
    assert ida.said(ida.letters.tell("leave t1", referee.now)) == ["done"]
    ida.close()
    referee.wait(datetime(2026, 3, 4, 1, tzinfo=UTC) - referee.now)
    for guest in guests:
        guest.receive()
        running = [standing.match for standing in guest.letters.matches.standings if standing.phase == "setup"]
        for match in running:
            assert guest.said(guest.letters.say(match, f"resign {match} match", referee.now)) == ["done"]
    archive, matches = referee.desk.director.archive, referee.desk.archive
    bundles = [matches.bundle(*matches.known(number)) for number in (1, 2, 3)]
    found = list(verify_tournament(archive.bundle(1, letters=True), bundles))
    assert {check.standing for check in found} == {"ok"}, [one for one in found if one.standing != "ok"]
    assert found[-1].found.startswith("ann 4")
    for guest in guests:
        guest.close()


def test_a_copy_of_its_letter_is_answered_without_a_receipt(referee: Referee, playing: Guest) -> None:
    """Its mail system sent it twice, and lost the answer to one of them: that accuses nobody."""
    sent = playing.letters.order("m1", "Gx3", referee.now)
    playing.flush()
    raw = HOME.sign(b"X-Copy: 1\r\n" + sent.raw, referee.now)
    referee.deliver(raw, playing.person.address, sent.to)
    del playing.person.letters.came[-2]
    assert [event.said for event in playing.receive() if event.kind == "answer"] == ["again"]
    assert not playing.memory.alarms()
