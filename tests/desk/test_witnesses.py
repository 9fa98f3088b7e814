"""The log of all heads, and those who witness it: checkpoints, what letters carry, and servers that fork."""

from __future__ import annotations

import json
import shutil
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.mailing_club import Club
from in_a_box.referee import SERVER, Letters, Mailbox, Referee, attachment, body, form_in, new
from in_a_box.stores import of_sqlite
from machines.http_double import Asked
from machines.witness_double import Double
from msgspec.structs import replace

from pbem.cli.verify import verify
from pbem.config.server import WitnessConfig
from pbem.config.values import Cosigner
from pbem.desk.daily_limits import WITNESS_BEHIND
from pbem.desk.public import Public
from pbem.pages.site import pages as pages_of
from pbem.proof.bundle import Bundle, read_tournament, write_tournament
from pbem.proof.kept_letters import kept
from pbem.proof.tournament_proof import compared
from pbem.store.errors import BusyError
from pbem.tlog.checkpoint import Checkpoint, CosignRequest, InclusionProof
from pbem.tlog.note import cosigned
from pbem.tournament.tournament_entries import TournamentEntry, tournament_statement
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pbem.store.questions import WitnessRequest

LOG_KEY = VerifierKey(
    SERVER, LOG, Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
)
TEN = timedelta(minutes=10)


class Desk(Referee):
    """A referee whose log somebody witnesses."""

    def watch(self, key: VerifierKey) -> None:
        witness = WitnessConfig(cosigners=(Cosigner(key, "https://double.example/of/logs"),))
        self.configure(witness=witness)
        self.people["operator@play.example"] = Mailbox("o", "operator@play.example", Ed25519PrivateKey.generate())

    @property
    def due(self) -> list[WitnessRequest]:
        """The requests to the witness that are due now."""
        return self.desk.due_tasks.witnesses.requests.due(self.now, self.now)

    def answered(self, asked: WitnessRequest, status: int, said: str) -> None:
        """The witness answers, and the desk hears that."""
        self.desk.due_tasks.witnesses.requests.settle(asked, status, said)
        self.wait(timedelta(seconds=1))

    @property
    def told(self) -> list[str]:
        """The texts of the operator's letters."""
        return [body(letter) for letter in self.people["operator@play.example"].letters]

    @property
    def seen(self) -> int | None:
        """The size of the latest checkpoint that a witness cosigned."""
        found = self.desk.due_tasks.witnesses.log.witnessed()
        return found.size if found else None


class Watching:
    """A desk, and its witness; whoever carries what is asked and answered is the test."""

    def __init__(self, desk: Desk, witness: Double | None = None) -> None:
        self.referee = desk
        self.double = witness or Double(LOG_KEY, name="w.example")
        self.referee.watch(self.double.verifier)
        self.asked: list[tuple[int, int]] = []
        """The requests, each from which size to which."""

    def post(self) -> list[tuple[int, int]]:
        """Ask and answer all requests that are due: each from which size, and the status."""
        found = []
        while due := self.referee.due:
            (asked,) = due
            request = CosignRequest.read(asked.request)
            self.asked.append(size_of(asked))
            answer = self.double(Asked("add-checkpoint", {}, asked.request.encode()))
            found.append((request.old, answer.status))
            self.referee.answered(asked, answer.status, answer.body.decode())
        return found

    def wait(self, time: timedelta = TEN) -> list[tuple[int, int]]:
        self.referee.wait(time)
        return self.post()


def size_of(asked: WitnessRequest) -> tuple[int, int]:
    """From which size to which a witness is asked."""
    request = CosignRequest.read(asked.request)
    return request.old, Checkpoint.read(request.note.text).size


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    with closing(Desk(tmp_path)) as desk:
        yield Watching(desk)


def test_heads_are_logged_and_cosigned_and_letters_show_it(watching: Watching, tmp_path: Path) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    seq = referee.match().seq
    assert not kept("x", ann.letters.came[-1]).logged, "nobody has seen anything yet"
    assert watching.post() == [(0, 200)], "the first head is a log"
    assert watching.wait() == [(1, 200)]
    assert watching.asked == [(0, 1), (1, seq)]
    # The next letter shows it; and the next checkpoint, after as long, goes on from there.
    referee.turn((ann, ""), (bob, ""))
    (logged,) = kept("x", ann.letters.came[-1]).logged
    assert (logged.match, logged.seq) == ("m1", seq)
    assert len(logged.proof) < 1024
    assert not watching.post()
    referee.send(bob, "resign m1 match\n")
    assert watching.wait(timedelta(seconds=1)) == [(seq, 200)], "what is revealed is logged at once"
    assert watching.asked[2:] == [(seq, referee.match().seq)]
    assert not watching.wait(), "nothing new is no checkpoint"
    referee.send(ann, "transcript m1\n")
    bundle = tmp_path / "m1.zip"
    bundle.write_bytes(attachment(ann.last, ".zip"))
    letters = tmp_path / "letters"
    letters.mkdir()
    for number, raw in enumerate(ann.letters.came):
        (letters / f"{number}.eml").write_bytes(raw)
    key = str(watching.double.verifier)
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


def test_a_witness_is_told_where_it_stands(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    watching.wait()
    referee.turn((ann, ""), (bob, ""))
    # Of what it cosigned nothing came back: it says where it stands, and is asked from there.
    referee.wait(TEN)
    (lost,) = referee.due
    watching.double(Asked("add-checkpoint", {}, lost.request.encode()))
    assert watching.post() == [(2, 409), (3, 200)]
    assert referee.seen == 3
    # It lost its memory.
    watching.double.known.clear()
    referee.turn((ann, ""), (bob, ""))
    assert watching.wait() == [(3, 409), (0, 200)]
    assert referee.seen == 4
    assert not referee.told


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
def test_a_server_that_forks_is_refused(watching: Watching) -> None:
    """The same server, which tells another story: of as many entries, and then of more."""
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    watching.wait()
    with forked(referee, ann, bob) as other:
        assert watching.wait() == [(2, 200)]
        second = Watching(other, watching.double)
        other.now = referee.now
        other.turn((ann, ""), (bob, "Rv1"))
        assert second.wait() == [(2, 409), (3, 409)], "another tree of the size that it knows"
        assert '"forked"' in other.told[-1]
        assert f"HTTP 409\n\n{SERVER}\n3\n" in other.told[-1]
        (logged,) = kept("x", ann.letters.came[-1]).logged
        assert logged.seq == 2, "nothing of the fork was seen by anybody"
        other.turn((ann, ""), (bob, "Rv2"))
        assert second.wait() == [(2, 409), (3, 422)], "no continuation of what it saw"
        assert '"unproved"' in other.told[-1]
        assert other.seen == 2
        # Some say where they stand whenever they refuse.
        other.wait(timedelta(hours=1))
        (due,) = other.due
        for _ in range(2):
            other.answered(due, 409, "3\n")
            (due,) = other.due or [due]
        assert '"forked"' in other.told[-1]
        watching.double.known[SERVER] = 99, bytes(32)
        assert second.wait(timedelta(days=1)) == [(2, 409)], "shorter than what it saw"
        assert '"behind"' in other.told[-1]


def test_a_witness_that_names_ever_other_sizes_is_not_asked_without_end(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    watching.wait()
    referee.turn((ann, ""), (bob, ""))
    referee.wait(TEN)
    asked = 0
    while due := referee.due:
        asked += 1
        referee.answered(due[0], 409, f"{asked % 2}\n")
    assert asked == WITNESS_BEHIND.most + 1
    referee.wait(timedelta(days=1))
    watching.post()
    assert referee.seen == referee.match().seq


def test_a_proof_that_was_altered_shows_nothing(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded")
    watching.post()
    watching.wait()
    referee.turn((ann, ""), (bob, ""))
    raw = ann.letters.came[-1]
    referee.send(bob, "resign m1 match\n")
    referee.send(ann, "transcript m1\n")
    (tmp_path / "m1.zip").write_bytes(attachment(ann.last, ".zip"))
    (tmp_path / "letter.eml").write_bytes(raw)
    words = [str(tmp_path / "m1.zip"), "--witness", str(watching.double.verifier), "--against"]
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


def test_without_witnesses_no_log_is_kept_and_with_them_all_of_it_later(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as referee:
        ann, bob = referee.begun("keys: demanded")
        referee.wait(TEN)
        assert referee.desk.due_tasks.witnesses.log.waits() is None
        seq = referee.match().seq
        referee.watch(VerifierKey("w.example", COSIGNATURE, bytes(32)))
        referee.wait(timedelta(seconds=1))
        assert list(map(size_of, referee.due)) == [(0, seq)]
        referee.turn((ann, ""), (bob, ""))
        referee.open_desk()
        referee.wait(TEN)
        assert list(map(size_of, referee.due)) == [(0, referee.match().seq)], "and none of it twice"


def test_the_public_page_of_a_match_shows_who_saw_its_end_and_stays_the_same(watching: Watching) -> None:
    referee = watching.referee
    ann, bob = referee.begun("keys: demanded\nprivacy: public")
    watching.post()
    referee.turn((ann, ""), (bob, ""))
    watching.wait()

    def compared() -> Sequence[tuple[int, str]]:
        public = Public(SERVER, referee.database, referee.vault)
        (finished,) = public.finished()
        site = {"server": SERVER, "address": f"pbem@{SERVER}", "delimiter": "+", "pages": "", **public.site()}
        pages = dict(pages_of(site, [finished], [str(watching.double.verifier)]))
        for _, proof in finished.logged:
            assert all(json.dumps(proof)[1:-1] in pages[name] for name in ("m1.html", "m1.de.html"))
        assert str(watching.double.verifier) in pages["m1.html"]
        return finished.logged

    seq = referee.match().seq
    referee.send(bob, "resign m1 match\n")
    ((shown, _),) = compared()
    assert shown == seq, "the last that was seen by now"
    watching.wait(timedelta(seconds=1))
    last = referee.match().seq
    ((shown, proof),) = compared()
    assert shown == last
    assert InclusionProof.read(proof).note.by(watching.double.verifier)
    size = referee.desk.due_tasks.witnesses.log.size
    referee.send(ann, new(ann, "spaceships", "bob"))
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    watching.wait()
    assert referee.desk.due_tasks.witnesses.log.size > size
    assert compared() == [(last, proof)], "the log has grown, and the page has not changed"


def test_cosignatures_count_by_their_signatures_alone(watching: Watching) -> None:
    referee = watching.referee
    referee.begun("keys: demanded")
    (due,) = referee.due
    text = CosignRequest.read(due.request).note.text
    stranger = cosigned("w.example", Ed25519PrivateKey.generate(), text, 1)
    for said in ("", "hello\n", f"{stranger}\n", "— x AAAA\n" * 300):
        with referee.database.transaction():
            referee.desk.due_tasks.witnesses.requests.put("w.example", due.request, referee.now)
        (again,) = referee.due
        referee.answered(again, 200, said)
        assert referee.seen is None
    # A newer request takes the place of one that is being asked.
    with referee.database.transaction():
        referee.desk.due_tasks.witnesses.requests.put("w.example", f"{due.request} ", referee.now)
    referee.desk.due_tasks.witnesses.requests.settle(due, 200, f"{stranger}\n")
    assert referee.desk.due_tasks.witnesses.requests.answered() is None
    assert not referee.told


def test_a_tournament_of_two_stories_is_convicted_by_the_log(watching: Watching) -> None:
    """The server tells another story from entry 6 on than the one that its witness saw."""
    club = Club(watching.referee, "ann", "bob", "carl")
    club.announce("ann", "entrants: 3")
    club.enter("ann", "bob", "carl")
    watching.post()
    watching.wait()
    club.play_out()
    honest = watching.referee.desk.director.archive.bundle(1, letters=True)
    told = [kept("a letter", raw) for raw in club.people["ann"].letters.came]
    stranger = VerifierKey("stranger.example", COSIGNATURE, bytes(32))
    *_, saw, never = compared(honest, told, [watching.double.verifier, stranger])
    said = "w.example saw entry 6 of 10, by 2026-03-01T12:00:00Z at the latest"
    assert (saw.standing, saw.what, saw.found, saw.seq) == ("ok", "witness", said, 6)
    assert {never.standing, *(nothing.standing for nothing in compared(honest, [], []))} == {"OPEN"}
    found = read_tournament(honest, TournamentEntry)
    entries = list(found.entries[:6])
    entries[5] = replace(entries[5], time="2027-01-01T00:00:00Z")
    key = watching.referee.signing_key
    signatures = [key.sign(tournament_statement(SERVER, "t1", one.seq, one.head)) for one in entries]
    content = write_tournament(Bundle(entries, signatures, found.papers))
    checks = [check for check in compared(content, told, [watching.double.verifier]) if check.what == "log"]
    assert {check.standing for check in checks} == {"FAIL"}
    assert "it has another entry 6 than the bundle" in checks[0].found


def test_heads_are_stated_though_their_desk_died_before_it_made_the_checkpoint(watching: Watching) -> None:
    """Otherwise the last entries of a match are in no checkpoint until another match has one (short week 64006)."""
    referee = watching.referee
    ann, bob = referee.begun()
    watching.post()
    watching.wait()
    referee.turn((ann, ""), (bob, ""))
    before = watching.asked[-1][1]
    broke = patch("pbem.desk.witnesses.signed", side_effect=BusyError("the connection broke"))
    with broke, pytest.raises(BusyError):
        watching.wait()
    assert referee.desk.due_tasks.witnesses.log.waits() is None
    watching.wait(2 * TEN)
    assert watching.asked[-1][1] == referee.desk.due_tasks.witnesses.log.size > before
