"""The most that is read, refused in a sentence; and hostile inputs, whose work grows as they do and no faster."""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import against, checked, saying, with_entry
from attackers.hostile_inputs import agreement, bundles, kept_letters, keys, positions, records
from click.testing import CliRunner
from in_a_box.referee import Referee
from judges.profiled import calls
from msgspec.structs import replace
from playing.sealed_match import SealedMatch
from vectors.matches import VECTORS
from world.mutations import signed_again

from pbem.cli.publish import publish
from pbem.cli.verify import verify as verify_command
from pbem.json_object import DEPTH, depth
from pbem.match.record import LONGEST, Illegal, NotARecord, read
from pbem.match.record import replay as played
from pbem.proof import bundle, listed_keys
from pbem.proof.bundle import LIMITS, BeyondLimits, Bundle
from pbem.proof.compare import papers
from pbem.proof.kept_letters import LIMITS as LETTER_LIMITS
from pbem.proof.kept_letters import kept
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.proof.prove import Against

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def _signatures_verified_once() -> None:
    """Not here: the work is counted, all of it."""


@pytest.fixture(scope="module")
def content() -> bytes:
    """The bundle of a small match."""
    return (VECTORS / "good" / "ssh.pbem.zip").read_bytes()


@pytest.fixture(scope="module")
def match(content: bytes) -> Bundle:
    return bundle.read(content)


@pytest.fixture(scope="module")
def bench(content: bytes) -> Against:
    return against(content)


# What is refused


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("octets", 2000, "the file has more than 2,000 octets"),
        ("members", 9, "the bundle has more than 9 files"),
        ("member_octets", 900, "transcript.jsonl has more than 900 octets"),
        ("record_octets", 9, "records/game-1.pbem.toml has more than 9 octets"),
        ("paper_octets", 9, "openings/game-1-seat-1.txt has more than 9 octets"),
        ("letter_octets", 9, "letters/agreed-seat-1.eml has more than 9 octets"),
        ("entries", 4, "transcript.jsonl has more than 4 entries"),
        ("entry_octets", 600, "transcript.jsonl: entry 1 has more than 600 octets"),
        ("values", 40, "transcript.jsonl has more than 40 values"),
    ],
)
def test_each_limit_of_a_bundle(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    monkeypatch.setattr(bundle, "LIMITS", replace(LIMITS, **{limit: most}))
    with pytest.raises(BeyondLimits, match=said):
        bundle.read(content)
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(content)
    done = CliRunner().invoke(verify_command, [str(file)])
    assert done.exit_code == 2, "nobody is accused: it was not looked at"
    assert said in done.output
    done = CliRunner().invoke(publish, [str(file)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_long_list_is_as_many_values(match: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "LIMITS", replace(LIMITS, values=2000))
    for count, much in ((900, False), (2000, True)):
        told = bundle.write(signed_again(with_entry(match, 0, saying(list=[0] * count))))
        with pytest.raises(BeyondLimits, match="more than 2,000 values") if much else nullcontext():
            bundle.read(told)


def test_beyond_a_limit_nothing_is_proved(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "LIMITS", replace(LIMITS, entries=4))
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(content)
    found = json.loads(CliRunner().invoke(verify_command, [str(file), "--json"]).stdout)
    assert (found["status"], found["holds"], found["match"]) == (2, False, None)
    assert [check["what"] for check in found["checks"]] == ["limits"]


@pytest.mark.parametrize("deep", [DEPTH - 1, DEPTH, 500, 100_000])
def test_lists_in_lists(match: Bundle, deep: int) -> None:
    """The body is one more; whatever stands in a text is none."""
    value = "[" * deep + "]" * deep
    line = match.entries[0].canonical().replace(b'"body":{', b'"body":{"a":%s,"b":"[[{\\"",' % value.encode(), 1)
    found = depth(line)
    assert found == deep + 2
    assert depth(b'{"a":"' + b"[" * 1000 + b'\\"]"}') == 1
    assert depth(b'"\\"' * 1000 + b"[") <= 1


def test_more_keys_than_anybody_has(match: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    (key,) = match.entries[0].body["players"]["1"]["keys"]
    many = [key] * (LIMITS.keys + 1)
    found = signed_again(with_entry(match, 0, lambda body: body["players"]["1"].update(keys=many)))
    assert "more than 40 keys" in checked(found)[-1].found
    parsed: list[object] = []
    monkeypatch.setattr(listed_keys, "parsed_key", parsed.append)
    checked(found)
    assert not parsed


def test_more_pauses_than_a_turn_may_have(match: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.match.events.interventions.MOST_STOPS", 3)
    first, reason = match.entries[0], {"by": "operator", "reason": "x"}
    for count, holds in ((6, True), (10, False)):
        entries = [replace(first, type=("paused", "resumed")[n % 2], body=reason) for n in range(count)]
        last = checked(signed_again(Bundle((first, *entries), (), agreement(match))))[-1]
        assert last.holds is holds
        assert holds or "stood still more than 3 times" in last.found


@pytest.mark.parametrize("limit", ["letters", "all_kept_octets"])
def test_more_letters_than_are_looked_at(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(content)
    (tmp_path / "kept").mkdir()
    for number in range(3):
        (tmp_path / "kept" / f"{number}.eml").write_bytes(b"Subject: x\n\nhello\n")
    monkeypatch.setattr("pbem.cli.verify.LIMITS", replace(LIMITS, **{limit: 2}))
    done = CliRunner().invoke(verify_command, [str(file), "--against", str(tmp_path / "kept")])
    assert done.exit_code == 2
    assert "give fewer at once" in done.output


def test_a_letter_that_is_too_large_leaves_something_open(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, letter, box = tmp_path / "m1.pbem.zip", tmp_path / "big.eml", tmp_path / "box"
    file.write_bytes(content)
    letter.write_bytes(b"Subject: x\n\n" + b"hello\n" * 100)
    box.write_bytes(b"From x Mon Jan  1 00:00:00 2026\n" + letter.read_bytes())
    monkeypatch.setattr("pbem.cli.verify.LIMITS", replace(LIMITS, kept_octets=100))
    monkeypatch.setattr("pbem.proof.kept_letters.LIMITS", replace(LETTER_LIMITS, message_bytes=100))
    for place in (letter, box):
        done = CliRunner().invoke(verify_command, [str(file), "--json", "--against", str(place)])
        found = json.loads(done.stdout)["letters"][0]
        assert (done.exit_code, found["standing"]) == (3, "open")
        assert found["findings"][0]["found"] == "the letter cannot be read: more than 100 octets"


def test_a_setup_or_orders_longer_than_any_letter() -> None:
    record = 'record = 1\ngame = "spaceships"\n[[seat]]\nsetup = "{}"\n[[seat]]\nsetup = "x"\n'
    with pytest.raises(Illegal, match=r"longer than any letter: 262,145 characters, 262,144 at most"):
        played(read(record.format("x" * (LONGEST + 1))))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[turn]]\n" * 150_001, "more than 300,000 keys, lists and tables"),
        ("x = 0x" + "f" * 5000, "a number of thousands of digits"),
        ("x = [+1e-" + "0" * 5000 + "]", "a number of thousands of digits"),
        ("a.b.c.d.e.f = 1\n" * 20_001, "keys of hundreds of parts"),
    ],
)
def test_a_record_that_would_take_more_than_its_size(text: str, said: str) -> None:
    with pytest.raises(NotARecord, match=said):
        read(f'record = 1\ngame = "spaceships"\n{text}\n')


def test_a_text_is_no_number_however_long_its_words() -> None:
    text = f'record = 1\ngame = "spaceships"\nnote = "{"_" * 5000} {"Face" * 2000}"\n'
    assert read(text).note == "_" * 5000 + " " + "Face" * 2000


def test_keys_that_would_be_dear_to_use(match: Bundle) -> None:
    """A key with an RSA number of half a million bits is refused before anything is computed with it."""
    for name, key in keys(MIB):
        players = match.entries[0].body["players"]
        made = with_entry(match, 0, saying(players={**players, "1": {**players["1"], "keys": [key]}}))
        found = checked(signed_again(made))[-1]
        assert not found.holds, name
        assert any(word in found.found for word in ("RSA key", "public key", "certificate")), found.found


def test_a_pipe_or_a_file_that_cannot_be_read_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, pipe, shut = tmp_path / "m1.pbem.zip", tmp_path / "pipe", tmp_path / "kept" / "shut"
    bundled.write_bytes(content)
    os.mkfifo(pipe)
    done = CliRunner().invoke(verify_command, [str(bundled), "--against", str(pipe)])
    assert done.exit_code == 2
    assert f"{pipe} cannot be read: neither a file nor a folder" in done.output
    shut.parent.mkdir()
    shut.write_bytes(b"x")
    opened = type(shut).open

    def forbidden(path: Path, *given: Any) -> Any:
        if path == shut:  # as for anybody but root
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *given)

    monkeypatch.setattr(type(shut), "open", forbidden)
    done = CliRunner().invoke(verify_command, [str(bundled), "--against", str(shut.parent)])
    assert done.exit_code == 2
    assert f"{shut} cannot be read: Permission denied" in done.output


def test_numbers_of_characters_that_are_none(bench: Against) -> None:
    page = b"Content-Type: text/html\n\n<p>&#" + b"9" * 5000 + b";&#x" + b"f" * 5000 + b";&#65;&#x42;</p>"
    assert bench.judge(kept("x", page)).standing == "silent"


def test_what_has_no_bytes_is_shown_escaped(match: Bundle, tmp_path: Path) -> None:
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(bundle.write(signed_again(with_entry(match, 0, lambda body: body.update(match="\ud800")))))
    assert r"(\ud800 at play.example)</title>" in CliRunner().invoke(publish, [str(file)]).output
    assert CliRunner().invoke(verify_command, [str(file)]).exit_code == 1


# What it costs


def judged(content: bytes) -> list[Any]:
    return list(verify(content))


def recorded(text: str) -> str:
    try:
        played(read(text))
    except (NotARecord, Illegal) as error:
        return str(error)
    return "legal"


def _judged(bench: Against, raw: bytes) -> object:
    return bench.judge(kept("x", raw))


def grows_no_faster(
    one: Iterator[tuple[str, Any]], two: Iterator[tuple[str, Any]], work: Callable[[Any], Any]
) -> None:
    for (name, small), (_, large) in zip(one, two, strict=True):
        work(small)  # what is imported and remembered is so
        few, many = calls(partial(work, small)), calls(partial(work, large))
        assert many < 2.3 * few + 2000, f"{name}: {few} calls become {many}"


SIZE = 48 * 1024


def test_the_work_for_hostile_bundles(match: Bundle) -> None:
    grows_no_faster(bundles(match, SIZE), bundles(match, 2 * SIZE), judged)


def test_the_work_for_hostile_letters(match: Bundle, bench: Against) -> None:
    grows_no_faster(kept_letters(match, SIZE), kept_letters(match, 2 * SIZE), partial(_judged, bench))


def test_the_work_for_letters_grows_with_letter_or_bundle_alone(match: Bundle) -> None:
    """The same letter costs the same whether the transcript is long or short."""
    reason = {"by": "operator", "reason": "x"}
    first = match.entries[0]
    benches = []
    for count in (100, 1000):
        entries = [replace(first, type=("paused", "resumed")[n % 2], body=reason) for n in range(count)]
        benches.append(against(bundle.write(signed_again(Bundle((first, *entries), (), agreement(match))))))
    for name, raw in kept_letters(match, SIZE):
        few, many = (calls(partial(_judged, one, raw)) for one in benches)
        assert many < 1.1 * few + 2000 + 20 * 1000, f"{name}: {few} calls become {many}"


def test_the_work_for_hostile_records() -> None:
    grows_no_faster(records(SIZE), records(2 * SIZE), recorded)


@pytest.fixture(scope="module")
def proved_after() -> dict[int, Proved]:
    """A sealed match, proved after so many turns: the second time it is twice as long."""
    match, found = SealedMatch(), {}
    for owner in match.owners:
        owner.ordering = lambda _random, _view: "Rw1"
    match.begin()
    for turns in (25, 50):
        match.play(turns)
        ended, proved = match.fork(), Proved()
        ended.resign(ended.owners[0])
        for owner in ended.owners:
            ended.reveal(owner)
        assert list(verify(ended.bundle(), proved=proved))[-1].holds
        found[turns] = proved
    return found


def test_what_is_remembered_of_a_match_grows_as_it_does(proved_after: dict[int, Proved]) -> None:
    """The match is remembered as it was after each turn, but memory does not grow with their square."""
    few, many = (pointers(proved_after[turns].notices) for turns in (25, 50))
    assert many < 2.2 * few, f"{few} pointers become {many}"


def pointers(value: object) -> int:
    """The number of references between all values that can be reached from one."""
    seen, found, count = {id(value)}, [value], 0
    while found:
        for one in gc.get_referents(found.pop()):
            count += 1
            if id(one) not in seen and not isinstance(one, type | ModuleType | FunctionType):
                seen.add(id(one))
                found.append(one)
    return count


@pytest.mark.parametrize("cites", ["one", "each"])
def test_the_work_for_positions_in_letters_does_not_grow_with_the_match(
    proved_after: dict[int, Proved], monkeypatch: pytest.MonkeyPatch, cites: str
) -> None:
    """Small documents that cite one late head, or late heads backwards: no view begins with turn 1 each time."""
    monkeypatch.setattr(papers, "STRIDE", 5)
    found = []
    for proved in proved_after.values():
        heads = [notice.match.prev for notice in reversed(proved.notices) if notice.kind == "step"][:40]
        bench = against(proved)
        bench.judge(kept("x", positions(heads[-1:])))  # as far as that, each turn is looked at once
        found.append(calls(partial(_judged, bench, positions(heads if cites == "each" else heads[:1] * 40))))
    few, many = found
    assert many < 1.2 * few, f"{few} calls become {many}"


PEAK = """
import json, os, sys
from contextlib import redirect_stdout
from pathlib import Path
from pbem.cli import main

def run(command):
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        try:
            main(command)
        except SystemExit:
            pass

run(["verify", sys.argv[1]])
for line in sys.stdin:
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        continue
    run(json.loads(line))
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], flush=True)
    os._exit(0)
"""


@pytest.fixture
def peak(content: bytes, tmp_path: Path) -> Iterator[Callable[..., int]]:
    """The octets that `pbem verify`, or another command, had at its peak, the interpreter's own among them.

    Each runs in a process of its own, forked from one that did nothing but verify a small bundle.
    """
    small, file = tmp_path / "m1.pbem.zip", tmp_path / "peak"
    small.write_bytes(content)
    command = [sys.executable, "-c", PEAK, str(small)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def measured(given: bytes, *command: str) -> int:
            file.write_bytes(given)
            print(json.dumps([*(command or ("verify",)), str(file)]), file=asked, flush=True)
            return int(told.readline()) * 1024

        yield measured


def test_memory_stays_in_proportion(content: bytes, match: Bundle, peak: Callable[[bytes], int]) -> None:
    """Above what a small bundle takes: three times the bundle, and eight times the size that was aimed at."""
    least = peak(content)
    for name, hostile in bundles(match, 2 * MIB):
        grown = peak(hostile) - least
        print(f"{name}: {len(hostile) / MIB:.1f} MiB take {grown / MIB:.1f} MiB more than {least / MIB:.1f}")
        assert grown < 3 * len(hostile) + 8 * 2 * MIB, name


@pytest.mark.long
@pytest.mark.parametrize("command", ["publish", "replay", "--against"])
def test_the_memory_of_the_other_commands(
    match: Bundle, content: bytes, tmp_path: Path, peak: Callable[..., int], command: str
) -> None:
    """Above what a small input takes: three times the input, and 64 MiB."""
    record, bundled = match.papers["records/game-1.pbem.toml"], str(tmp_path / "m1.pbem.zip")
    inputs: dict[str, tuple[list[str], bytes, Iterator[tuple[str, bytes]]]] = {
        "publish": (["publish"], content, bundles(match, 8 * MIB)),
        "replay": (["replay", "--json"], record, ((name, text.encode()) for name, text in records(8 * MIB))),
        "--against": (
            ["verify", bundled, "--against"],
            b"Subject: x\n\nx\n",
            kept_letters(match, 8 * MIB),
        ),
    }
    given, little, hostile = inputs[command]
    least = peak(little, *given)
    for name, large in hostile:
        grown = peak(large, *given) - least
        print(f"{command}, {name}: {len(large) / MIB:.1f} MiB take {grown / MIB:.1f} more than {least / MIB:.1f}")
        assert grown < 3 * len(large) + 64 * MIB, name


@pytest.mark.long
def test_the_memory_for_a_thousand_turns(tmp_path: Path, peak: Callable[[bytes], int]) -> None:
    """The process, with its interpreter, stays within three times the bundle and 64 MiB."""
    referee = Referee(tmp_path)
    people = referee.begun()
    for _ in range(1000):
        referee.turn(*((person, "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4") for person in people))
        for person in people:
            del person.letters[:-8]
    referee.send(people[1], "resign m1 game 1\n")
    loaded = referee.desk.archive.load(1)
    assert loaded is not None
    content = referee.desk.archive.bundle(*loaded, None)  # it has become too large for a letter
    found = peak(content)
    print(f"{len(content) / MIB:.1f} MiB take {found / MIB:.1f} MiB")
    assert found < 3 * len(content) + 64 * MIB
