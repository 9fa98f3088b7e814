"""`pbem witness`: the answers of C2SP tlog-witness, what is no request, and what was refused or forgotten."""

from __future__ import annotations

import hashlib
import http.client
import re
import socket
import subprocess
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from machines.post_office import PBEM

from pbem.cli.witness import witness
from pbem.player import checkpoint_witness, signing
from pbem.player.account_file import BadAccount
from pbem.player.checkpoint_witness import Witness, WitnessListener, load
from pbem.tlog import tree
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import Note, NoteSignature, cosigned, holds, signed
from pbem.verifier_key import COSIGNATURE, LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
LEAVES = [bytes([number]) for number in range(5)]


def node(leaves: list[bytes]) -> tree.Nodes:
    nodes: dict[tuple[int, int], bytes] = {}
    for number, leaf in enumerate(leaves):
        for level, place, content in tree.grown(number, tree.leaf_hash(leaf), lambda *at: nodes[at]):
            nodes[level, place] = content
    return lambda *at: nodes[at]


def request(old: int, leaves: list[bytes], name: str = "l.example", key: Ed25519PrivateKey = KEY) -> CosignRequest:
    text = str(Checkpoint(name, len(leaves), tree.root(len(leaves), node(leaves))))
    proof = tree.consistency(old, len(leaves), node(leaves)) if old <= len(leaves) else []
    return CosignRequest(old, tuple(proof), Note(text, (signed(name, key, text),)))


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "witness.toml"
    log = VerifierKey("l.example", LOG, KEY.public_key().public_bytes_raw())
    file.write_text(f'name = "w.example"\nlisten = "127.0.0.1:0"\nlogs = ["{log}"]\n')
    return file


class Case:
    def __init__(self, file: Path) -> None:
        self.settings = load(file)
        signing.make(file.with_name("witness_ed25519"), "w.example")
        # As the program does: of many threads that make a memory at once, some find it locked, and do not wait.
        Witness(self.settings).close()
        self.said: list[str] = []
        self.listener = WitnessListener(self.settings, lambda: NOW, self.said.append)
        self.port = int(self.listener.server_address[1])

    def post(self, body: str | bytes, path: str = "/add-checkpoint", **headers: str) -> tuple[int, str, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("POST", path, body.encode() if isinstance(body, str) else body, headers)
            with connection.getresponse() as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()


@pytest.fixture
def case(settings: Path) -> Iterator[Case]:
    found = Case(settings)
    with closing(found.listener):
        yield found


def test_a_log_that_grows_is_cosigned_and_told_where_it_stands(case: Case) -> None:
    with closing(Witness(case.settings)) as found:
        key = found.verifier
    for old, size in ((0, 1), (1, 3), (3, 3), (3, 5)):
        asked = request(old, LEAVES[:size])
        status, kind, said = case.post(str(asked), path="/any/where/add-checkpoint")
        assert (status, kind) == (200, "text/plain; charset=utf-8")
        assert said.count("\n") == 1
        signature = NoteSignature.read(said.rstrip("\n"))
        assert holds(key, asked.note.text, signature)
        assert signature.time == int(NOW.timestamp())
    assert case.post(str(request(3, LEAVES))) == (409, "text/x.tlog.size", "5\n")
    assert case.post(str(request(0, LEAVES[:2]))) == (409, "text/x.tlog.size", "5\n")
    assert case.said[0] == "cosigned: l.example 1"


def test_what_does_not_continue_the_log_is_refused_and_kept(case: Case) -> None:
    case.post(str(request(0, LEAVES[:3])))
    other = [*LEAVES[:2], b"other", b"more"]
    assert case.post(str(request(3, other[:3])))[:2] == (409, "text/x.tlog.size")
    assert case.post(str(request(3, other)))[0] == 422
    with closing(Witness(case.settings)) as found:
        assert [said.split()[0] for _, said in found.refused()] == ["forked", "unproved"]
        assert all(said.count("\nl.example\n") == 2 for _, said in found.refused())
    assert case.post(str(request(3, LEAVES)))[0] == 200, "the log itself goes on"


def test_other_logs_other_keys_and_what_is_no_request_have_their_numbers(case: Case) -> None:
    assert case.post(str(request(0, LEAVES[:1], name="m.example")))[0] == 404
    stranger = Ed25519PrivateKey.from_private_bytes(b"\1" * 32)
    assert case.post(str(request(0, LEAVES[:1], key=stranger)))[0] == 403
    assert case.post(str(request(2, LEAVES[:1])))[0] == 400
    for text in ("", "old 0\n\n", "old 0\n\nl.example\n1\nx\n\n", b"\xff" * 9):
        assert case.post(text)[0] == 400, text
    good = str(request(0, LEAVES[:1]))
    assert case.post(good, path="/")[0] == 404
    assert case.post(good, **{"Content-Length": "x"})[0] == 411
    assert case.post("", **{"Content-Length": "9" * 30})[0] == 413
    assert case.post("", **{"Content-Length": str(checkpoint_witness.MOST + 1)})[0] == 413
    assert case.post(good)[0] == 200


# What the published tests of litewitness, another program, ask it by Sigsum's own protocol, and what it says: a log
# of Sigsum signs the text of C2SP tlog-checkpoint. Of each the status, old size, size, signature, and proof.
SIGSUM = "ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f"
ROOTS = {
    1: "2a00000000000000000000000000000000000000000000000000000000000000",
    3: "45c088d4d939e9971298811f227d1295eaad57bbafae55cd71c171e7de48c25d",
    5: "42bb57ad06420afa4882c4a63ac6a1ec77480b330b2f20dfc53a0caa5f564e36",
}
SIGNED = {
    1: "b7cf653aa9c565a1ca359db81bd3bc656ab2890c6ea4c0aec42295e80aa05049"
    "423505026434f987923ccdf07d440c152cd59e736e5914d8ada8d7a4d51b2106",
    3: "655bb4871d15bc05032d67eece88900c4863a27f190393b99176391577f5def9"
    "71b023d9a418c3226b7b7ea47b33686d9b3849451dadc6b07c007c595af1ea0a",
    5: "0fc43899968b48b5150b0e8fe7ad07b17c21c7056a6fe381deb0cd19ece103d5"
    "9b2119b5dbe5d54d8a1262ce67f01245c5898b4b56f747495804a17a2eec0f0c",
}
LEAF = {number: bytes([0x2A, number]).ljust(32, b"\0").hex() for number in range(5)}
PAIR = "f9f50357e93def4078237b8aaea24ce1a3f5965a0f64ff26bebd99e30470d8b2"
FIRST = "c2088815d65f60dbfa594d4e96504ab169cb6084bf0c132ab7c521fd2e0eba41"
EXCHANGE = [
    (200, 0, 1, SIGNED[1], []),
    (403, 1, 3, SIGNED[3][:-1] + "b", [LEAF[1], LEAF[2]]),
    (422, 1, 3, SIGNED[3], []),
    (422, 1, 3, SIGNED[3], [LEAF[1], LEAF[2][:-1] + "1"]),
    (200, 1, 3, SIGNED[3], [LEAF[1], LEAF[2]]),
    (409, 1, 5, SIGNED[5], [LEAF[1], PAIR, LEAF[4]]),
    (200, 3, 5, SIGNED[5], [LEAF[2], LEAF[3], FIRST, LEAF[4]]),
]


def test_it_answers_a_log_of_sigsum_as_another_witness_does(settings: Path) -> None:
    public = bytes.fromhex(SIGSUM)
    name = f"sigsum.org/v1/tree/{hashlib.sha256(public).hexdigest()}"
    log = VerifierKey(name, LOG, public)
    settings.write_text(re.sub("logs = .*", f'logs = ["{log}"]', settings.read_text()))
    found = Case(settings)
    with closing(found.listener):
        for status, old, size, signature, proof in EXCHANGE:
            text = str(Checkpoint(name, size, bytes.fromhex(ROOTS[size])))
            note = Note(text, (NoteSignature(name, log.id, bytes.fromhex(signature)),))
            asked = CosignRequest(old, tuple(map(bytes.fromhex, proof)), note)
            assert found.post(str(asked))[0] == status
        assert found.post(str(asked).replace(name, f"{name[:-1]}0"))[0] == 404


def test_a_memory_that_is_out_of_reach_answers_nobody_and_says_so(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_witness, "Witness", _gone)
    assert case.post(str(request(1, LEAVES[:1])))[0] == 503


BEGUN = b"POST /add-checkpoint HTTP/1.0\r\nContent-Length: 9000\r\n\r\n"


@contextmanager
def slow(port: int, addresses: Iterable[str]) -> Iterator[list[socket.socket]]:
    """Connections from these addresses that each write a request, an octet now and then, without an end."""
    over = threading.Event()
    with ExitStack() as stack:
        lines = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 10, (address, 0)))
            for address in addresses
        ]
        for line in lines:
            line.sendall(BEGUN)

        def trickle() -> None:
            while not over.wait(0.05):
                for line in lines:
                    with suppress(OSError):  # it was ended
                        line.sendall(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            yield lines
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("address", ["127.0.0.{}", "127.0.{}.1"], ids=["of one network", "of many networks"])
def test_who_writes_slowly_keeps_nobody_out(case: Case, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """An octet now and then is no silence: so many strangers would have all the room, by coming again for ever."""
    monkeypatch.setattr("pbem.connections.PATIENCE", 0.1)
    with slow(case.port, [address.format(number) for number in range(2, 18)]):
        time.sleep(0.2)
        assert case.post(str(request(0, LEAVES[:1])))[0] == 200
        assert [case.post(str(request(1, LEAVES[:1])))[0] for _ in range(40)] == [200] * 40


def test_whose_request_is_being_answered_makes_room_for_nobody(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a disk is slow, say; more than sixteen are turned away then."""
    monkeypatch.setattr("pbem.connections.PATIENCE", 0.0)
    go_on, statuses, under_way = threading.Event(), list[int](), threading.Semaphore(0)
    answer = case.listener.answer

    def slowly(text: str) -> tuple[int, str]:
        under_way.release()
        go_on.wait(20)
        return answer(text)

    monkeypatch.setattr(case.listener, "answer", slowly)
    asking = [
        threading.Thread(target=lambda: statuses.append(case.post(str(request(0, LEAVES[:1])))[0])) for _ in range(16)
    ]
    for thread in asking:
        thread.start()
        assert under_way.acquire(timeout=10)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        case.post(str(request(0, LEAVES[:1])))
    go_on.set()
    for thread in asking:
        thread.join()
    assert sorted(statuses) == [200, *[409] * 15]


def _gone(_: object) -> Witness:
    raise BadAccount("its key is gone")


def test_the_program_answers_until_it_is_ended(settings: Path) -> None:
    words = [PBEM, "witness", "--config", str(settings)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("cosigning as w.example+")
        where = process.stdout.readline().removeprefix("listening at ").strip()
        with closing(http.client.HTTPConnection(where, timeout=10)) as connection:
            connection.request("POST", "/add-checkpoint", str(request(0, LEAVES)).encode())
            with connection.getresponse() as answer:
                assert answer.status == 200
        process.terminate()
        assert process.communicate(timeout=20)[0] == "cosigned: l.example 5\n"
        assert process.returncode == 0


def run(settings: Path, *words: str, status: int = 0) -> str:
    done = CliRunner().invoke(witness, ["--config", str(settings), *words])
    assert done.exit_code == status, done.output
    return done.output


def test_a_log_that_is_forgotten_begins_anew_and_what_was_known_is_kept(settings: Path) -> None:
    signing.make(settings.with_name("witness_ed25519"), "w.example")
    with closing(Witness(load(settings))) as found:
        assert "nothing is remembered of a log 'l.example'" in run(settings, "--forget", "l.example", status=1)
        assert found.answer(request(0, LEAVES[:1]), NOW).outcome == "cosigned"
        assert run(settings, "--refused") == ""
        assert found.answer(request(0, [b"two"]), NOW).outcome == "forked"
        shown = run(settings, "--refused")
        assert shown.index("This was cosigned here") < shown.index("This came now")
        assert shown.count("\nl.example\n1\n") == 2
        note = run(settings, "--forget", "l.example").partition("\n\n")[2]
        assert "\n\n— l.example " in note
        assert note in run(settings, "--refused").partition("\nforgotten l.example\n\n")[2]
        assert found.answer(request(0, [b"two"]), NOW).outcome == "cosigned"


def test_a_spoilt_proof_is_kept_once_without_lines_that_others_added(case: Case) -> None:
    case.post(str(request(0, LEAVES[:1])))
    asked = request(1, LEAVES[:3])
    for number in range(3):
        stranger = cosigned("x.example", Ed25519PrivateKey.generate(), asked.note.text, number)
        spoilt = CosignRequest(asked.old, (bytes(32), bytes(32)), asked.note.with_(stranger))
        assert case.post(str(spoilt))[0] == 422
    with closing(Witness(case.settings)) as found:
        assert len(found.refused()) == 1
    assert case.post(str(asked))[0] == 200, "the log did not fork"


def test_settings_that_cannot_be_are_named(settings: Path) -> None:
    text = settings.read_text()
    for listen, said in (("", "host:port"), ("unix:/x", "host:port"), ("systemd", "host:port"), ("x", "no place")):
        settings.write_text(text.replace("127.0.0.1:0", listen))
        assert said in run(settings, status=1)
    settings.write_text(text.replace('listen = "127.0.0.1:0"\n', ""))
    assert "listen is missing" in run(settings, status=1)
    settings.write_text(text.replace('name = "w.example"', 'name = "w example"'))
    assert "a name without blanks or + is expected" in run(settings, status=1)
    settings.write_text(re.sub("logs = .*", f'logs = ["{VerifierKey("l.example", COSIGNATURE, bytes(32))}"]', text))
    assert "not the key of a log" in run(settings, status=1)
    settings.write_text(text.replace('"]', ' pbem@l.example"]'))
    assert "witness.toml: " in run(settings, status=1)
