"""The log of all heads, and those who witness it: checkpoints by mail, what letters carry, and servers that fork."""

from __future__ import annotations

import email
import email.policy
import itertools
import json
import re
import shutil
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from unittest.mock import patch

import msgspec
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from desk.test_tournaments import Club
from in_a_box.referee import SERVER, Letters, Mailbox, Referee, attachment, body, form_in, new
from in_a_box.stores import of_sqlite
from judges import sentences
from machines.witness_double import Double

from pbem.cli.verify import verify
from pbem.config.witnessing import Correspondent, WitnessConfig
from pbem.desk import housekeeping
from pbem.desk.public import Public
from pbem.match.changed import replace
from pbem.pages.site import pages as pages_of
from pbem.player import signing
from pbem.player.checkpoint_witness import Witness, WitnessSettings
from pbem.proof.bundle import Bundle, read_tournament, write_tournament
from pbem.proof.kept_letters import kept
from pbem.proof.tournament_log import logged
from pbem.store.errors import BusyError
from pbem.store.vault import Vault
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.cosigning import REPEATED, answer
from pbem.tlog.note import Note, cosigned, signed
from pbem.tlog.proof import InclusionProof
from pbem.tlog.tree import EMPTY
from pbem.tournament.tournament_entries import TournamentEntry, tournament_statement
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pbem.store.witness_requests import WitnessRequest

ADDRESS = "witness@elsewhere.example"
LOG_KEY = VerifierKey(
    SERVER, LOG, Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
)
TEN = timedelta(minutes=10)
NUMBERS = itertools.count()


class Desk(Referee):
    """A referee whose log somebody witnesses."""

    def watch(self, *keys: VerifierKey) -> None:
        cosigners = tuple(Correspondent(key, ADDRESS) for key in keys)
        self.config = msgspec.structs.replace(self.config, witness=WitnessConfig(cosigners=cosigners))
        self.people[ADDRESS] = Mailbox("witness", ADDRESS, Ed25519PrivateKey.generate())
        self.people["operator@play.example"] = Mailbox("o", "operator@play.example", Ed25519PrivateKey.generate())
        self.open_desk()

    @property
    def requests(self) -> list[bytes]:
        return self.people[ADDRESS].letters.came

    @property
    def seen(self) -> int | None:
        """The size of the latest checkpoint that a witness cosigned."""
        found = self.desk.log.witnessed()
        return found.size if found else None


class Watching:
    """A desk, and its witness, who reads and answers its mail."""

    def __init__(self, folder: Path) -> None:
        key = folder / "witness_ed25519"
        signing.make(key, ADDRESS)
        self.settings = WitnessSettings(
            "w.example",
            (f"{LOG_KEY} pbem@{SERVER}",),
            ADDRESS,
            "maildir:x",
            "smtp://x",
            key=str(key),
            memory=str(folder / "memory"),
        )
        self.witness = Witness(self.settings)
        self.referee = Desk(folder)
        self.referee.watch(self.witness.verifier)
        self.read = 0
        self.said: list[str] = []

    def post(self) -> None:
        """The witness reads what came, and what it answers arrives."""
        for number, raw in enumerate(self.referee.requests[self.read :], start=self.read):
            self.said.append(self.witness.receive(raw, str(number), self.referee.now))
            self.read += 1
        self.carry(self.referee)

    def carry(self, referee: Referee) -> None:
        """What the witness answers arrives."""
        for sent in list(self.witness.unsent()):
            self.witness.has_left(sent)
            referee.deliver(sent.raw, ADDRESS)

    def lose(self) -> None:
        """What the witness answers is lost."""
        for sent in list(self.witness.unsent()):
            self.witness.has_left(sent)

    def wait(self, time: timedelta = TEN) -> None:
        self.referee.wait(time)
        self.post()

    def begun(self, options: str = "keys: demanded") -> tuple[Mailbox, Mailbox]:
        """Ann and Bob, in a match of which the witness has seen the first heads."""
        people = self.referee.begun(options)
        self.post()
        self.wait()
        return people

    def outcomes(self) -> list[str]:
        return [row[0] for row in self.referee.database.execute("SELECT outcome FROM inbox ORDER BY id")]

    def close(self) -> None:
        self.witness.close()
        self.referee.close()


def watched_club(watching: Watching) -> Club:
    """A tournament whose first entries the witness has seen, and whose end it has not."""
    club = Club(watching.referee, "ann", "bob", "carl")
    club.announce("ann", "entrants: 3")
    club.enter("ann", "bob", "carl")
    watching.post()
    watching.wait()
    for pairing in club.awaited:
        club.win(pairing, min(pairing.players))
    return club


def kept_of(club: Club, folder: Path) -> tuple[Path, Path]:
    """The tournament's file and the letters, as a player has them."""
    file, letters = folder / "t1.zip", folder / "letters"
    file.write_bytes(club.referee.desk.tournaments.archive.bundle(1, letters=True))
    letters.mkdir()
    for number, raw in enumerate(club.people["ann"].letters.came):
        (letters / f"{number}.eml").write_bytes(raw)
    return file, letters


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    with closing(Watching(tmp_path)) as found:
        yield found


def sizes(letters: list[bytes]) -> list[tuple[int, int]]:
    """What was asked of a witness: from which size to which."""
    found = [
        CosignRequest.read(body(email.message_from_bytes(raw, policy=email.policy.default)).strip() + "\n")
        for raw in letters
    ]
    return [(request.old, Checkpoint.read(request.note.text).size) for request in found]


def test_heads_are_logged_and_cosigned_and_letters_show_it(watching: Watching, tmp_path: Path) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    seq = referee.match().seq
    assert not kept("x", ann.letters.came[-1]).logged, "nobody has seen anything yet"
    watching.post()
    assert watching.said == [f"cosigned: {SERVER} 1"], "the first head is a log"
    watching.wait()
    assert watching.said[1:] == [f"cosigned: {SERVER} {seq}"]
    assert sizes(referee.requests) == [(0, 1), (1, seq)]
    # The next letter shows it; and the next checkpoint, after as long, goes on from there.
    referee.turn((ann, ""), (bob, ""))
    (logged,) = kept("x", ann.letters.came[-1]).logged
    assert (logged.match, logged.seq) == ("m1", seq)
    assert len(logged.proof) < 1024
    assert len(referee.requests) == 2
    referee.send(bob, "resign m1 match\n")
    referee.wait(timedelta(seconds=1))
    assert len(referee.requests) == 3, "what is revealed is logged at once"
    watching.post()
    assert sizes(referee.requests)[2:] == [(seq, referee.match().seq)]
    watching.wait(TEN)
    assert len(referee.requests) == 3, "nothing new is no checkpoint"
    referee.send(ann, "transcript m1\n")
    bundle = tmp_path / "m1.zip"
    bundle.write_bytes(attachment(ann.last, ".zip"))
    letters = tmp_path / "letters"
    letters.mkdir()
    for number, raw in enumerate(ann.letters.came):
        (letters / f"{number}.eml").write_bytes(raw)
    key = str(watching.witness.verifier)
    done = CliRunner().invoke(verify, [str(bundle), "--witness", key, "--against", str(letters)])
    assert done.exit_code == 0, done.output
    last = referee.match().seq
    assert f"w.example saw entry {last} of {last} in the server's log, by 2026-" in done.output
    other = VerifierKey("v.example", COSIGNATURE, bytes(32))
    done = CliRunner().invoke(verify, [str(bundle), "--witness", str(other), "--against", str(letters)])
    assert done.exit_code == 3
    assert "v.example: no letter shows that it saw an entry of this match." in done.output
    assert CliRunner().invoke(verify, [str(bundle), "--witness", key]).exit_code == 2
    assert CliRunner().invoke(verify, [str(bundle), "--witness", "x", "--against", str(letters)]).exit_code == 2


@contextmanager
def forked(referee: Desk, ann: Mailbox, bob: Mailbox) -> Iterator[Desk]:
    """A second server of this name, of one store and one mail up to here; the first one has gone on by a turn."""
    referee.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (referee.folder / "other").mkdir()
    shutil.copy(referee.folder / "store.sqlite", referee.folder / "other" / "store.sqlite")
    had = {person.name: [raw.as_bytes() for raw in person.letters] for person in (ann, bob)}
    referee.turn((ann, ""), (bob, ""))
    with closing(Desk(referee.folder / "other")) as double:
        double.nonces.cast, double.die.cast = 10_000, 10_000
        for person in (ann, bob):
            double.people[person.address] = person
            person.letters = Letters(had[person.name], range(len(had[person.name])))
        yield double


@of_sqlite
def test_a_server_that_forks_is_refused_and_both_stories_stand_in_the_report(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = watching.begun()
    with forked(referee, ann, bob) as double:
        # The same server, which tells another story: of as many entries, and then of more.
        watching.wait()
        double.now = referee.now
        double.watch(watching.witness.verifier)
        double.turn((ann, ""), (bob, "Rv1"))
        double.wait(TEN)
        (fork,) = double.requests
        assert watching.witness.receive(fork, "forked", double.now) == f"forked: {SERVER} {double.match().seq}"
        watching.carry(double)
        told = body(double.people["operator@play.example"].find("refuses"))
        assert "w.example" in told
        assert told.count(f"\n{SERVER}\n") == 2, "both notes"
        ((_, refused),) = watching.witness.refused()
        before, now = (part.partition(":\n\n")[2] for part in refused.split("This ")[1:])
        assert Note.read(before.rstrip("\n") + "\n").by(LOG_KEY)
        assert Note.read(now).by(LOG_KEY)
        (logged,) = kept("x", ann.letters.came[-1]).logged
        assert logged.seq == 2, "nothing of the fork was seen by anybody"
        # It goes on all the same, further than the first story: that is no continuation, either.
        double.turn((ann, ""), (bob, "Rv2"))
        double.wait(2 * TEN)
        for said in ("behind", "unproved"):
            assert watching.witness.receive(double.requests[-1], said, double.now).startswith(said)
            watching.carry(double)
        assert [said.split()[0] for _, said in watching.witness.refused()] == ["forked", "unproved"]


def test_what_others_write_about_the_log_changes_nothing(watching: Watching) -> None:
    referee = watching.referee
    ann, _ = referee.begun("keys: demanded")
    referee.wait(TEN)
    size = 2
    note = referee.desk.log.checkpoint(size)
    assert note is not None
    text = Note.read(note.note).text
    stranger = Ed25519PrivateKey.generate()
    line = str(cosigned("w.example", stranger, text, int(referee.now.timestamp())))
    forged = line.replace(line.split()[2][:6], str(watching.witness.verifier.id.hex()), 1)
    at_hand = str(cosigned("x.example", stranger, text, 1))
    headers = (
        f"From: <{{}}>\r\nTo: <pbem@{SERVER}>\r\nMessage-ID: <{{}}@x>\r\nContent-Type: text/plain; charset=utf-8\r\n"
    )
    for number, (sender, said) in enumerate([
        ("mallory@mail.example", f"cosigned {SERVER} {size}\n{line}\n"),
        (ADDRESS, f"cosigned {SERVER} {size}\n{forged}\n{at_hand}\n"),
        (ADDRESS, f"cosigned {SERVER} 999\n{line}\n"),
        (ADDRESS, f"behind {SERVER} 0\n"),
        ("mallory@mail.example", f"behind {SERVER} 1\n"),
        ("mallory@mail.example", f"forked {SERVER} 1\n"),
        ("mallory@mail.example", "old 0\n\nx\n"),
    ]):  # fmt: skip
        raw = headers.format(sender, number) + "\r\n" + said.replace("\n", "\r\n")
        referee.deliver(raw.encode(), sender)
    assert referee.seen is None
    assert len(referee.requests) == 2
    referee.send(ann, "status m1\n")
    assert not kept("x", ann.letters.came[-1]).logged
    assert not referee.people["operator@play.example"].letters


def arrives(referee: Referee, text: str, sender: str = ADDRESS) -> None:
    """A letter in anybody's name."""
    head = f"From: {sender}\nMessage-ID: <{next(NUMBERS)}@x>\nContent-Type: text/plain; charset=utf-8\n\n"
    referee.deliver((head + text).replace("\n", "\r\n").encode(), sender)


def test_a_cosignature_counts_once_and_one_that_does_not_hold_hides_no_other(watching: Watching) -> None:
    """A witness that writes its line often would leave a note that nobody can read."""
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.witness.receive(referee.requests[0], "0", referee.now)
    (sent,) = watching.witness.unsent()
    said, line, *_ = body(email.message_from_bytes(sent.raw, policy=email.policy.default)).splitlines()
    spoilt = f"{line[:-8]}AAAAAA=="
    arrives(referee, "\n".join([said, spoilt, *[line] * 20, spoilt, ""]))
    found = referee.desk.log.witnessed()
    assert found is not None
    assert len(Note.read(found.note).signatures) == 2
    referee.turn((ann, ""), (bob, ""))
    assert len(InclusionProof.read(kept("x", ann.letters.came[-1]).logged[0].proof).note.signatures) == 2


def test_a_log_that_is_shorter_than_what_a_witness_saw_is_told_to_the_operator(watching: Watching) -> None:
    """As after a backup was restored."""
    referee = watching.referee
    referee.begun("keys: demanded")
    arrives(referee, f"behind {SERVER} 999\n")
    assert "behind" in body(referee.people["operator@play.example"].find("refuses"))
    assert sizes(referee.requests) == [(0, 1)]


def test_forged_alarms_use_up_no_room_of_one_that_proves_itself(watching: Watching) -> None:
    """Three a day are told: whoever runs a second server with our key would write them first."""
    referee = watching.referee
    referee.begun("keys: demanded")
    operator = referee.people["operator@play.example"]
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))

    def notes(first: Ed25519PrivateKey, second: Ed25519PrivateKey, size: int = 2) -> str:
        texts = [str(Checkpoint(SERVER, size, bytes([number] * 32))) for number in (1, 2)]
        keys = zip(texts, (first, second), strict=True)
        one, two = (Note(text, (signed(SERVER, key, text),)) for text, key in keys)
        return f"forked {SERVER} {size}\n\nThis was cosigned here:\n\n{one}\nThis came now:\n\n{two}"

    ours = referee.signing_key
    for text in (notes(stranger, stranger), notes(ours, stranger), f"forked {SERVER} 2\nx\n", notes(stranger, ours)):
        arrives(referee, text)
    assert len(operator.letters) == 3
    assert "no forgery" not in operator.text
    for size in range(2, 9):
        arrives(referee, notes(ours, ours, size))
    assert len(operator.letters) == 6
    assert sentences.BOTH_NOTES_BELOW_ARE_SIGNED_WITH in operator.text


def test_letters_in_the_name_of_a_witness_do_not_make_us_write_without_end(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = watching.begun()
    asked = len(referee.requests)
    for number in range(REPEATED + 20):
        arrives(referee, f"behind {SERVER} {number % 2}\n")
    assert len(referee.requests) == asked, "it cosigned all that there is"
    referee.turn((ann, ""), (bob, ""))
    referee.wait(TEN)
    asked = len(referee.requests)
    for number in range(REPEATED + 20):
        arrives(referee, f"behind {SERVER} {number % 2}\n")
    assert len(referee.requests) == asked + REPEATED
    watching.read = len(referee.requests)
    referee.wait(timedelta(days=1))
    for _ in range(3):
        watching.wait(timedelta(hours=1))
    assert referee.seen == referee.match().seq


def test_whose_answers_are_lost_twice_is_asked_until_it_cosigned(watching: Watching) -> None:
    """Of the last checkpoint, too, after which nothing follows."""
    referee = watching.referee
    referee.begun("keys: demanded")
    watching.post()
    referee.wait(TEN)

    def lost() -> None:
        for raw in referee.requests[watching.read :]:
            watching.said.append(watching.witness.receive(raw, str(watching.read), referee.now))
            watching.read += 1
        watching.lose()

    lost()
    watching.wait(timedelta(hours=1))
    assert watching.said[-1].startswith("behind")
    lost()
    assert watching.said[-1].startswith("cosigned")
    for _ in range(2):
        watching.wait(timedelta(hours=1))
    watching.post()
    assert referee.seen == referee.match().seq


@pytest.mark.parametrize("size", [0, 2])
def test_letters_in_the_name_of_a_witness_keep_no_checkpoint_from_it(watching: Watching, size: int) -> None:
    """What it knows is believed by what it cosigned; somebody else has used up all letters that it answers today."""
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    for number in range(REPEATED + 2):
        watching.witness.receive(referee.requests[0], f"replayed {number}", referee.now)
    watching.lose()
    referee.wait(TEN)
    watching.read = len(referee.requests)  # this letter is lost
    arrives(referee, f"behind {SERVER} {size}\n")
    for _ in range(3):
        watching.wait(timedelta(hours=1))
    assert referee.seen == referee.match().seq
    for number in range(REPEATED + 2):
        arrives(referee, f"behind {SERVER} {number % 2}\n")
    watching.read = len(referee.requests)
    referee.turn((ann, ""), (bob, ""))
    watching.wait()
    assert watching.said[-1] == f"cosigned: {SERVER} {referee.match().seq}"


def test_who_has_a_note_of_a_log_cannot_make_a_witness_write_without_end(watching: Watching) -> None:
    """Notes stand in letters; with one, anybody can write a request."""
    referee, witness = watching.referee, watching.witness
    referee.begun("keys: demanded")
    watching.post()
    first = referee.requests[0]
    said = [witness.receive(first, f"again {number}", referee.now) for number in range(REPEATED + 20)]
    assert len(list(witness.unsent())) == REPEATED
    assert said[-1].endswith("not answered any more today")
    watching.lose()
    watching.wait()
    assert watching.said[-1] == f"cosigned: {SERVER} {referee.match().seq}", "what is new is answered"
    witness.receive(first, "tomorrow", referee.now + timedelta(days=1))
    assert len(list(witness.unsent())) == 1


def test_a_spoilt_proof_is_kept_once_without_lines_that_others_added(watching: Watching) -> None:
    referee, witness = watching.referee, watching.witness
    referee.begun("keys: demanded")
    watching.post()
    referee.wait(TEN)
    text = body(email.message_from_bytes(referee.requests[-1], policy=email.policy.default)).strip()
    request = CosignRequest.read(text + "\n")
    head = b"From: m@x.example\r\nMessage-ID: <1@x>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    for number in range(3):
        stranger = cosigned("x.example", Ed25519PrivateKey.generate(), request.note.text, number)
        spoilt = CosignRequest(request.old, (bytes(32), bytes(32)), request.note.with_(stranger))
        assert witness.receive(head + str(spoilt).encode(), str(number), referee.now).startswith("unproved")
    assert len(witness.refused()) == 1
    watching.post()
    assert watching.said[-1] == f"cosigned: {SERVER} {referee.match().seq}", "the log did not fork"


def test_a_proof_that_was_altered_shows_nothing(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    referee = watching.referee
    ann, bob = watching.begun()
    referee.turn((ann, ""), (bob, ""))
    raw = ann.letters.came[-1]
    referee.send(bob, "resign m1 match\n")
    referee.send(ann, "transcript m1\n")
    (tmp_path / "m1.zip").write_bytes(attachment(ann.last, ".zip"))
    (tmp_path / "letter.eml").write_bytes(raw)
    words = [str(tmp_path / "m1.zip"), "--witness", str(watching.witness.verifier), "--against"]
    found = kept("x", raw)
    (logged,) = found.logged
    text = logged.proof
    at = text.index("— w.example")
    spoilt = f"{text[at:-9]}AAAAAA==\n"
    for changed, said in (
        (logged, "seen by w.example"),
        (replace(logged, proof=text.replace("@v1", "@v2")), "no proof of a transparency log"),
        (replace(logged, proof=text.replace("index 1", "index 0")), "the proof does not lead to the bundle's"),
        (replace(logged, seq=3), "the proof does not lead to the bundle's"),
        (replace(logged, seq=99), "the bundle has no such entry"),
        (replace(logged, proof=text.replace("\n2\n", "\n3\n")), "its checkpoint is not signed with the bundle's key"),
        (replace(logged, proof=text[:at]), "cosigned by no witness that was named"),
        (replace(logged, proof=text[:at] + spoilt), "cosigned by no witness that was named"),
        (replace(logged, proof=text + text[at:] * 20), "too many signatures"),
    ):
        letter = replace(found, logged=(changed,))
        monkeypatch.setattr("pbem.proof.kept_letters.kept", lambda _source, _raw, letter=letter: letter)
        done = CliRunner().invoke(verify, [*words, str(tmp_path / "letter.eml")])
        assert said in done.output
        assert done.exit_code == (0 if changed == logged else 3)
        assert ("w.example saw entry 2" in done.output) == (changed == logged)


def test_an_empty_log_is_cosigned() -> None:
    own, key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    log = VerifierKey("l.example", LOG, own.public_key().public_bytes_raw())
    text = str(Checkpoint("l.example", 0, EMPTY))
    request = CosignRequest(0, (), Note(text, (signed("l.example", own, text),)))
    assert answer(request, [log], None, "w.example", key, 1).outcome == "cosigned"


def test_matches_go_on_when_the_log_cannot(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    referee.wait(TEN)
    referee.database.execute("UPDATE checkpoints SET note = 'spoilt'")
    referee.wait(timedelta(hours=2))
    referee.turn((ann, ""), (bob, ""))
    assert referee.match().seq == 3


def test_a_server_witnesses_the_log_of_another(tmp_path: Path) -> None:
    """Two desks that write to each other."""
    (tmp_path / "two").mkdir()
    with closing(Desk(tmp_path)) as one, closing(Referee(tmp_path / "two")) as two:
        two.signing_key = Ed25519PrivateKey.from_private_bytes(bytes(32))
        public = two.signing_key.public_key().public_bytes_raw()
        log = Correspondent(LOG_KEY, f"pbem@{SERVER}")
        two.config = msgspec.structs.replace(two.config, server="two.example", witness=WitnessConfig(logs=(log,)))
        two.people[f"pbem@{SERVER}"] = Mailbox("one", f"pbem@{SERVER}", Ed25519PrivateKey.generate())
        two.vault = Vault(bytes(31) + b"2", two.nonces)
        two.inbox, two.outbox = type(two.inbox)(two.database, two.vault), type(two.outbox)(two.database, two.vault)
        two.open_desk()
        key = VerifierKey("two.example", COSIGNATURE, public)
        one.watch(key)
        ann, bob = one.begun("keys: demanded")
        for _ in range(2):
            one.wait(TEN)
            two.deliver(one.requests[-1], f"pbem@{SERVER}", "pbem@two.example")
            one.deliver(two.people[f"pbem@{SERVER}"].letters.came[-1], "pbem@two.example")
            found = one.desk.log.witnessed()
            assert found is not None
            assert found.size == one.match().seq
            assert Note.read(found.note).by(key)
            one.turn((ann, ""), (bob, ""))
        assert sizes(one.requests) == [(0, 1), (0, 2), (2, 3)]
        # What is known already is not answered without end: here a cosignature that is asked for again.
        came = len(two.people[f"pbem@{SERVER}"].letters)
        for number in range(REPEATED + 1):
            again = one.requests[-1].replace(b"Message-ID: <", b"Message-ID: <%d." % number)
            two.deliver(again, f"pbem@{SERVER}", "pbem@two.example")
        assert len(two.people[f"pbem@{SERVER}"].letters) == came + REPEATED
        # A log that is not witnessed there, and one whose key is another's, get no answer.
        came = len(two.people[f"pbem@{SERVER}"].letters)
        two.config = msgspec.structs.replace(
            two.config,
            witness=WitnessConfig(logs=(Correspondent(VerifierKey(SERVER, LOG, bytes(32)), f"pbem@{SERVER}"),)),
        )
        two.open_desk()
        two.deliver(one.requests[-1], f"pbem@{SERVER}", "pbem@two.example")
        assert len(two.people[f"pbem@{SERVER}"].letters) == came


def begin_to_witness(two: Referee) -> Mailbox:
    """The operator of a server that witnesses our log."""
    address = f"pbem@{SERVER}"
    witness = WitnessConfig(logs=(Correspondent(LOG_KEY, address),))
    two.config = msgspec.structs.replace(two.config, server="two.example", witness=witness)
    for one in (address, "operator@play.example"):
        two.people[one] = Mailbox(one.partition("@")[0], one, Ed25519PrivateKey.generate())
    two.open_desk()
    return two.people["operator@play.example"]


def ask_to_cosign(two: Referee, number: int, old: int, size: int) -> None:
    """A request of our log's, for a tree of its own; its consistency proof is none."""
    address, own = f"pbem@{SERVER}", Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    text = str(Checkpoint(SERVER, size, bytes([number] * 32)))
    proof = (bytes(32),) * (size - old if old else 0)
    request = CosignRequest(old, proof, Note(text, (signed(SERVER, own, text),)))
    raw = f"From: {address}\nMessage-ID: <{number}@x>\nContent-Type: text/plain; charset=utf-8\n\n{request}"
    two.deliver(raw.replace("\n", "\r\n").encode(), address, "pbem@two.example")


def test_who_runs_a_witness_is_told_of_a_log_that_forked(tmp_path: Path) -> None:
    """The log itself is told as well, and may lose the proof."""
    with closing(Referee(tmp_path)) as two:
        operator = begin_to_witness(two)
        for number in range(6):
            ask_to_cosign(two, number, 0, 1)
            if not number:
                assert not operator.letters
        assert len(operator.letters) == 3
        assert operator.last["Subject"] == f"[pbem] The log of {SERVER} forked"
        convicted = [Note.read(f"{one.strip()}\n") for one in re.split("This .*:\n\n", operator.text)[1:]]
        assert all(note.by(LOG_KEY) for note in convicted)
        assert len({note.text for note in convicted}) == 2


def test_who_runs_a_witness_is_told_of_a_log_that_skips_the_size_at_which_it_forked(tmp_path: Path) -> None:
    """No two notes of one size convict it then; and who carries letters cannot use up the count of those that do."""
    with closing(Referee(tmp_path)) as two:
        operator, told = begin_to_witness(two), []
        for number, (old, size) in enumerate([(0, 1), *[(1, 2)] * 5, (1, 1)]):
            ask_to_cosign(two, number, old, size)
            told.append(len(operator.letters))
        assert told == [0, 1, 2, 3, 3, 3, 4]
        unproved, forked = operator.letters[0], operator.letters[-1]
        assert unproved["Subject"] == f"[pbem] The log of {SERVER} was not cosigned"
        assert sentences.THIS_ALONE_PROVES_NOTHING in body(unproved)
        convicted = [Note.read(f"{one.strip()}\n") for one in re.split("This .{1,40}:\n\n", body(unproved))[1:]]
        assert [(bool(note.by(LOG_KEY)), Checkpoint.read(note.text).size) for note in convicted] == [
            (True, 1),
            (True, 2),
        ]
        assert forked["Subject"] == f"[pbem] The log of {SERVER} forked"
        assert sentences.PROVE_THAT_TO_EVERYBODY in body(forked)


def test_without_witnesses_no_log_is_kept_and_with_them_all_of_it_later(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as referee:
        ann, bob = referee.begun("keys: demanded")
        referee.wait(TEN)
        assert referee.desk.log.waits() is None
        seq = referee.match().seq
        referee.watch(VerifierKey("w.example", COSIGNATURE, bytes(32)))
        referee.wait(timedelta(seconds=1))
        assert sizes(referee.requests) == [(0, seq)]
        referee.turn((ann, ""), (bob, ""))
        referee.open_desk()
        referee.wait(TEN)
        assert sizes(referee.requests)[1:] == [(0, referee.match().seq)], "and none of it twice"


def test_of_each_day_the_last_checkpoint_that_was_cosigned_stays(watching: Watching) -> None:
    """So that the page of an old match shows the same, however the log grows."""
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    for _ in range(2):
        watching.wait()
        referee.turn((ann, ""), (bob, ""))
        watching.wait()
        referee.wait(timedelta(days=1))
        referee.turn((ann, ""), (bob, ""))
    watching.wait()
    rows = referee.database.execute("SELECT substr(time, 1, 10), size FROM checkpoints WHERE cosigned = 1").fetchall()
    assert len(rows) > 3
    referee.now += referee.config.limits.letters_kept + timedelta(days=5)
    referee.alive()
    while housekeeping.look(referee.desk, referee.now):
        pass
    kept_now = referee.database.execute("SELECT substr(time, 1, 10), size FROM checkpoints").fetchall()
    assert sorted(kept_now) == sorted(dict(sorted(rows)).items())


def test_the_public_page_of_a_match_shows_who_saw_its_end_and_stays_the_same(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded\nprivacy: public")
    watching.post()
    referee.turn((ann, ""), (bob, ""))
    watching.wait()

    def logged() -> Sequence[tuple[int, str]]:
        public = Public(SERVER, referee.database, referee.vault)
        (finished,) = public.finished()
        site = {"server": SERVER, "address": f"pbem@{SERVER}", "delimiter": "+", "pages": "", **public.site()}
        pages = dict(pages_of(site, [finished], [str(watching.witness.verifier)]))
        for _, proof in finished.logged:
            assert all(json.dumps(proof)[1:-1] in pages[name] for name in ("m1.html", "m1.de.html"))
        assert str(watching.witness.verifier) in pages["m1.html"]
        return finished.logged

    seq = referee.match().seq
    referee.send(bob, "resign m1 match\n")
    ((shown, _),) = logged()
    assert shown == seq, "the last that was seen by now"
    watching.wait(timedelta(seconds=1))
    last = referee.match().seq
    ((shown, proof),) = logged()
    assert shown == last
    assert InclusionProof.read(proof).note.by(watching.witness.verifier)
    size = referee.desk.log.size
    referee.send(ann, new(ann, "spaceships", "bob"))
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    watching.wait()
    assert referee.desk.log.size > size
    assert logged() == [(last, proof)], "the log has grown, and the page has not changed"


# By HTTP.


class ByHttp:
    """A desk, and a witness that is asked by HTTP; whoever carries requests there is the test."""

    def __init__(self, desk: Desk, double: Double) -> None:
        self.referee = desk
        self.referee.watch(double.verifier)
        witness = Correspondent(double.verifier, "https://double.example/of/logs")
        self.referee.config = msgspec.structs.replace(
            self.referee.config, witness=WitnessConfig(cosigners=(witness,))
        )
        self.referee.open_desk()
        self.double = double

    def post(self) -> list[tuple[int, int]]:
        """What is due is asked and answered, until nothing is: from which size, and the status."""
        found = []
        while due := self.referee.desk.witness_requests.due(self.referee.now, self.referee.now):
            (asked,) = due
            status, _, said = self.double("add-checkpoint", asked.request.encode())
            found.append((CosignRequest.read(asked.request).old, status))
            self.referee.desk.witness_requests.settle(asked, status, said.decode())
            self.referee.wait(timedelta(seconds=1))
        return found

    def again(self) -> list[WitnessRequest]:
        """What is asked an hour later."""
        self.referee.wait(timedelta(hours=1))
        return self.referee.desk.witness_requests.due(self.referee.now, self.referee.now)

    @property
    def told(self) -> list[str]:
        return [body(letter) for letter in self.referee.people["operator@play.example"].letters]


def test_a_witness_that_is_asked_by_http_cosigns_and_is_told_where_it_stands(tmp_path: Path) -> None:
    double = Double(LOG_KEY)
    asked = ByHttp(Desk(tmp_path), double)
    with closing(asked.referee) as referee:
        ann, bob = referee.begun("keys: demanded")
        assert asked.post() == [(0, 200)]
        referee.wait(TEN)
        assert asked.post() == [(1, 200)]
        assert referee.seen == referee.match().seq == 2
        referee.turn((ann, ""), (bob, ""))
        (logged,) = kept("x", ann.letters.came[-1]).logged
        assert logged.seq == 2
        assert InclusionProof.read(logged.proof).note.by(double.verifier)
        # Of what it cosigned nothing came back: it says where it stands, and is asked from there.
        referee.wait(TEN)
        (lost,) = referee.desk.witness_requests.due(referee.now, referee.now)
        double("add-checkpoint", lost.request.encode())
        assert asked.post() == [(2, 409), (3, 200)]
        assert referee.seen == 3
        # It lost its memory.
        double.known.clear()
        referee.turn((ann, ""), (bob, ""))
        referee.wait(TEN)
        assert asked.post() == [(3, 409), (0, 200)]
        assert referee.seen == 4
        assert not asked.told
        assert not referee.requests, "nothing by mail"


@of_sqlite
def test_a_server_that_forks_is_refused_by_http_too(tmp_path: Path) -> None:
    double = Double(LOG_KEY)
    first = ByHttp(Desk(tmp_path), double)
    referee = first.referee
    ann, bob = referee.begun("keys: demanded")
    first.post()
    referee.wait(TEN)
    first.post()
    with closing(referee), forked(referee, ann, bob) as other:
        referee.wait(TEN)
        assert first.post() == [(2, 200)]
        second = ByHttp(other, double)
        other.now = referee.now
        other.turn((ann, ""), (bob, "Rv1"))
        other.wait(TEN)
        assert second.post() == [(2, 409), (3, 409)], "another tree of the size that it knows"
        assert '"forked"' in second.told[-1]
        assert f"HTTP 409\n\n{SERVER}\n3\n" in second.told[-1]
        other.turn((ann, ""), (bob, "Rv2"))
        other.wait(TEN)
        assert second.post() == [(2, 409), (3, 422)], "no continuation of what it saw"
        assert '"unproved"' in second.told[-1]
        assert other.seen == 2
        # Some say where they stand whenever they refuse.
        (due,) = second.again()
        for _ in range(2):
            other.desk.witness_requests.settle(due, 409, "3\n")
            other.wait(timedelta(seconds=1))
            (due,) = other.desk.witness_requests.due(other.now, other.now) or [due]
        assert '"forked"' in second.told[-1]
        double.known[SERVER] = 99, bytes(32)
        other.wait(timedelta(days=1))
        assert second.post() == [(2, 409)], "shorter than what it saw"
        assert '"behind"' in second.told[-1]


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_witness_that_does_not_know_the_log_is_told_to_the_operator(tmp_path: Path, status: int) -> None:
    asked = ByHttp(Desk(tmp_path), Double())
    with closing(asked.referee) as referee:
        referee.begun("keys: demanded")
        (due,) = referee.desk.witness_requests.due(referee.now, referee.now)
        referee.desk.witness_requests.settle(due, status, "who are you?\n")
        referee.wait(timedelta(seconds=1))
        (told,) = asked.told
        assert sentences.DOES_NOT_KNOW in told
        assert f"HTTP {status}\nwho are you?\n" in told
        for _ in range(30):
            referee.wait(timedelta(hours=1))
            asked.post()
        assert len(asked.told) <= 7, "three a day"


def test_cosignatures_by_http_count_by_their_signatures_alone(tmp_path: Path) -> None:
    asked = ByHttp(Desk(tmp_path), Double(LOG_KEY))
    with closing(asked.referee) as referee:
        referee.begun("keys: demanded")
        (due,) = referee.desk.witness_requests.due(referee.now, referee.now)
        text = CosignRequest.read(due.request).note.text
        stranger = cosigned("double.example", Ed25519PrivateKey.generate(), text, 1)
        for said in ("", "hello\n", f"{stranger}\n", "— x AAAA\n" * 300):
            with referee.database.transaction():
                referee.desk.witness_requests.put("double.example", due.request, referee.now)
            (again,) = referee.desk.witness_requests.due(referee.now, referee.now)
            referee.desk.witness_requests.settle(again, 200, said)
            referee.wait(timedelta(seconds=1))
            assert referee.seen is None
        # A newer request takes the place of one that is being asked.
        with referee.database.transaction():
            referee.desk.witness_requests.put("double.example", f"{due.request} ", referee.now)
        referee.desk.witness_requests.settle(due, 200, f"{stranger}\n")
        assert referee.desk.witness_requests.answered() is None
        assert not asked.told


def test_a_tournament_is_logged_and_witnessed_too(watching: Watching, tmp_path: Path) -> None:
    club = watched_club(watching)
    file, letters = kept_of(club, tmp_path)

    def said(key: VerifierKey) -> str:
        run = CliRunner().invoke(verify, [str(file), "--witness", str(key), "--against", str(letters)])
        assert run.exit_code == 3, "no bundles of matches are here"
        return run.output

    output = said(watching.witness.verifier)
    assert re.search(r"(?m)^ok +log +entry 6 in the log of play.example: size [0-9]+, seen by w.example$", output)
    assert re.search(r"(?m)^ok +witness +w.example saw entry 6 of 10, by 2026\S+Z at the latest$", output)
    other = VerifierKey("x.example", COSIGNATURE, Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    assert re.search(r"(?m)^OPEN +witness +x.example: no letter shows that it saw an entry$", said(other))


def test_a_tournament_of_two_stories_is_convicted_by_the_log(watching: Watching, tmp_path: Path) -> None:
    """The server tells another story from entry 6 on than the one that its witness saw."""
    file, letters = kept_of(watched_club(watching), tmp_path)
    found = read_tournament(file.read_bytes(), TournamentEntry)
    entries = list(found.entries[:6])
    entries[5] = replace(entries[5], time="2027-01-01T00:00:00Z")
    key = watching.referee.signing_key
    signatures = [key.sign(tournament_statement(SERVER, "t1", one.seq, one.head)) for one in entries]
    content = write_tournament(Bundle(entries, signatures, found.papers))
    told = [kept(str(path), path.read_bytes()) for path in letters.iterdir()]
    checks = [check for check in logged(content, told, [watching.witness.verifier]) if check.what == "log"]
    assert {check.standing for check in checks} == {"FAIL"}
    assert "it has another entry 6 than the bundle" in checks[0].found


def test_heads_are_stated_though_their_desk_died_before_it_made_the_checkpoint(watching: Watching) -> None:
    """Otherwise the last entries of a match are in no checkpoint until another match has one (short week 64006)."""
    referee = watching.referee
    ann, bob = referee.begun()
    watching.wait()
    referee.turn((ann, ""), (bob, ""))
    before = sizes(referee.requests)[-1][1]
    broke = patch("pbem.desk.witnesses._state", side_effect=BusyError("the connection broke"))
    with broke, pytest.raises(BusyError):
        watching.wait()
    assert referee.desk.log.waits() is None
    watching.wait(2 * TEN)
    assert sizes(referee.requests)[-1][1] == referee.desk.log.size > before
