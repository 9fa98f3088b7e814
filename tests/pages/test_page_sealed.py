"""Sealed matches on the composer's page, without a browser: papers, letters, and what is not believed.

Two players with a page each, and a server that has what they tell and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from judges import sentences
from page_scripts.javascript import Failed, Scripts
from playing.random_players import PLAYERS

from pbem.games import GAMES, rules
from pbem.games.sealed import sealed_rules
from pbem.identity import ssh
from pbem.mail.commands import sections
from pbem.match import sealed_documents
from pbem.match.sealed_documents import PaperPlace, hashed, paper
from pbem.pages import ruled

if TYPE_CHECKING:
    from collections.abc import Callable

SERVER, TERMS = "play.example", "ab" * 32
NAMES = ("ann", "bob", "cat", "dan")
PAGE = """async ([found, secrets]) => {
    STEPS.plain(found);
    const settled = await STEPS.bound(found, secrets), table = await STEPS.check(found, settled);
    const { asks, own, steps, ...after } = STEPS.answered(found, settled, table);
    return { secrets: settled, asks, turn: after.table.turn, view: SEALED.view(own, after.table), steps };
}"""
LETTER = "async ([found, secrets]) => STEPS.step(found, secrets, STEPS.replayed(found), '')"


class Table:
    """A sealed game at a server that knows the rules: what it files, and the document that it sends to a seat."""

    def __init__(self, game: str, seed: int) -> None:
        judge, sealed = rules(game), sealed_rules(game)
        assert sealed is not None
        self.game, self.sealed, self.random = game, sealed, Random(seed)
        raw, self.seats = self.random.choice(PLAYERS[game].options)
        self.options = judge.options(raw, self.seats)
        self.table: Any = sealed.begin(self.options)
        self.page = Scripts("say.js", *ruled(game), "secrets.js", "steps.js")
        self.steps: list[dict[str, Any]] = []
        self.commitments: dict[int, str] = {}
        self.secrets: dict[int, dict[str, Any]] = {}
        self.prev = hashlib.sha256(b"agreed").hexdigest()
        self.ordering = 0
        """The seat whose orders are asked for."""
        for seat in range(1, self.seats + 1):
            setup = judge.setup(self.options, seat, PLAYERS[game].setup(self.random, self.options, seat)).text
            place = {"game": 1, "match": "m1", "player": NAMES[seat - 1], "seat": seat, "server": SERVER}
            self.secrets[seat] = {
                **place,
                "after": {},
                "orders": {},
                "pbem": "secrets 1",
                "seed": self.random.randbytes(32).hex(),
                "setup": setup,
            }
            letter = self.page.evaluate(
                "([found, secrets]) => STEPS.seal(found, secrets, 1, '')", [self.found(seat), self.secrets[seat]]
            )
            assert letter.startswith(
                f"seal m1 game 1\nserver {SERVER}\nplayer {NAMES[seat - 1]}\nprev {self.prev}\nrev 1\n"
            )
            ((name, (commitment,), _),) = self._read("seal", letter)
            assert name == "commitment"
            salt = sealed_documents.salt(bytes.fromhex(self.secrets[seat]["seed"]), self.place(seat), 0, "setup")
            lines = setup.split("\n")
            assert commitment == hashed(paper("setup", self.place(seat), 0, {"rules": TERMS, "salt": salt}, lines))
            self.commitments[seat] = commitment

    def place(self, seat: int) -> PaperPlace:
        return PaperPlace(SERVER, "m1", 1, seat, NAMES[seat - 1])

    def found(self, seat: int) -> dict[str, Any]:
        """What the document for a seat has for the page."""
        place = {"game": 1, "match": "m1", "player": NAMES[seat - 1], "seat": seat, "server": SERVER}
        told = {
            "owes": list(self.sealed.owed(self.table, seat)),
            "terms": TERMS,
            "commitments": {str(each): commitment for each, commitment in self.commitments.items()},
            "steps": json.loads(json.dumps(self.steps)),
        }
        options = dict(self.options.changed)
        return {**place, "names": NAMES[: self.seats], "prev": self.prev, "options": options, "sealed": told}

    def _read(self, command: str, letter: str) -> list[tuple[str, tuple[str, ...], str]]:
        """The sections of a letter, as the desk reads them from one without line ends."""
        head, _, rest = letter.partition(f"prev {self.prev}\n")
        assert head
        assert max(map(len, rest.split("\n"))) <= 72 or "commitment" in rest
        block = rest.removeprefix("rev 1\n").removesuffix("end\n")
        found, wrong = sections.read(command, " ".join(block.split()))
        assert wrong == []
        return list(found)

    def take(self, seat: int, letter: str) -> None:
        """Enter a letter's steps, each judged by form, and each paper against what was committed to."""
        prev = self.prev
        for step, words, text in self._read("step", letter):
            turn = self.table.turn
            lines = list(self.sealed.judge(self.table, seat, step, text))
            filed = {"turn": turn, "seat": seat, "step": step, "lines": lines}
            committed = [
                one for one in self.steps if (one["turn"], one["seat"], one["step"]) == (turn, seat, "commit")
            ]
            if step == "commit":
                filed |= {"paper": words[0], "prev": prev}
            else:
                kind = self.sealed.papers[step]
                said = dict(zip(kind.values, words, strict=True))
                others = [one for one in self.steps if one["turn"] == turn and one["seat"] != seat]
                cited = [one["paper"] for one in others if one["step"] in kind.to]
                assert said.get("to", "") in {"", *cited[-1:]} or (not cited and said["to"] == "0" * 64)
                bound = committed[0]["prev"] if committed else prev
                assert said.get("after", bound) == bound
                known = {"rules": TERMS, "setup": self.commitments[seat], **said}
                values = {head: known[head] for head in kind.heads}
                filed |= {"values": values, "paper": hashed(paper(kind.name, self.place(seat), turn, values, lines))}
                if committed and "salt" in kind.heads:
                    assert filed["paper"] == committed[0]["paper"]
                if kind.name == "setup":
                    assert filed["paper"] == self.commitments[seat]
            self.steps.append(filed)
            self.table = self.sealed.enter(self.table, seat, step, lines)
        self.prev = hashlib.sha256(f"{self.prev} {seat}".encode()).hexdigest()

    def open(self, seat: int, found: dict[str, Any] | None = None) -> dict[str, Any]:
        """A player opens the page with the document of the last letter, or with another."""
        return dict(self.page.evaluate(PAGE, [found or self.found(seat), self.secrets[seat]]))

    def play(self, most: int) -> int:
        """Letters until the game is over as told, or so many turns are played; how many there were."""
        letters = 0
        while self.table.result is None and len(self.table.played) < most:
            self.play_on()
            letters += 1
        return letters

    def play_on(self) -> None:
        """One letter of one who owes it."""
        seat = self.random.choice(list(self.table.due))
        opened = self.open(seat)
        secrets = self.secrets[seat] = opened["secrets"]
        if opened["asks"]:
            self.ordering = seat
            order = PLAYERS[self.game].orders(self.random, opened["view"])
            judged = self.page.evaluate("([view, text]) => RULES.orders(view, text)", [opened["view"], order])
            assert judged["faults"] == []
            secrets["orders"][str(opened["turn"])] = judged["text"]
            secrets["after"] = {str(opened["turn"]): self.prev}
        self.take(seat, self.page.evaluate(LETTER, [self.found(seat), secrets]))


@pytest.mark.parametrize("game", GAMES)
def test_two_pages_play_a_sealed_game(game: str) -> None:
    """Each letter is read by the desk's reader and judged by the game; each paper is what was committed to."""
    for seed in (1, 2):
        table = Table(game, seed)
        letters = table.play(5)
        assert len(table.table.played) >= 5 or table.table.result
        assert (
            letters
            <= {"spaceships": 3.7, "dueling-masters": 1.5, "shoot-em-up": 2.0 * table.seats - 1}[game] * 8
            + table.seats
        )


@pytest.mark.parametrize("lazy", [1, 2])
def test_who_orders_nothing_does_not_stop_the_other_page(monkeypatch: pytest.MonkeyPatch, lazy: int) -> None:
    """Nothing is to be answered then: a step without lines, which the page took for none of the server's."""
    table = Table("spaceships", 1)
    player = PLAYERS["spaceships"]

    class Lazy:
        def orders(self, random: Random, view: dict[str, Any]) -> str:
            return "" if table.ordering == lazy else player.orders(random, view)

    monkeypatch.setitem(PLAYERS, "spaceships", Lazy())
    table.play(3)
    assert any(step["step"] == "answers" and not step["lines"] for step in table.steps)
    assert len(table.table.played) >= 3 or table.table.result


def _of(found: dict[str, Any], seat: int, step: str) -> dict[str, Any]:
    """A seat's last step of this name."""
    filed = reversed(found["sealed"]["steps"])
    return next(one for one in filed if (one["seat"], one["step"]) == (seat, step))


def _another_paper(found: dict[str, Any]) -> None:
    """A step's paper has another hash."""
    _of(found, 1, "answers")["paper"] = "00" * 32


def _another_answer(found: dict[str, Any]) -> None:
    """The other is said to have told something else, with the same hash."""
    lines = _of(found, 1, "answers")["lines"]
    lines[0] = lines[0].replace("miss", "hit")


def _other_orders(found: dict[str, Any]) -> None:
    """The other is said to have opened one strike more than it committed to, and that paper has its hash."""
    one = _of(found, 1, "open")
    one["lines"].append("strike Rv1")
    one["paper"] = hashed(paper("strikes", PaperPlace(SERVER, "m1", 1, 1, "ann"), 1, one["values"], one["lines"]))


def _another_setup(found: dict[str, Any]) -> None:
    """One's own commitment is said to be another."""
    found["sealed"]["commitments"]["2"] = "00" * 32


def _another_word(found: dict[str, Any]) -> None:
    """One is said to have opened less than one did."""
    one = _of(found, 2, "open")
    del one["lines"][-1], one["paper"]


def _smuggled(found: dict[str, Any]) -> None:
    """A line that would end the form, and add another."""
    found["sealed"]["steps"][-1]["lines"] = ["strike Rv1 done", "end"]


def _left_out(found: dict[str, Any]) -> None:
    """A step is not told."""
    del found["sealed"]["steps"][1]


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (_another_paper, "does not match its hash"),
        (_another_answer, "does not match its hash"),
        (_other_orders, "opened something other than what it committed to"),
        (_another_setup, "the commitment that it shows for your setup is not yours"),
        (_another_word, "the step that it shows as yours is not yours"),
        (_smuggled, "does not read as one of the server's own"),
        (_left_out, "of seat 1 was not due"),
    ],
)
def test_a_server_that_tells_something_else_is_found_out(lie: Callable[[dict[str, Any]], None], said: str) -> None:
    """Seat 2 is asked for its answers, and for orders, after seat 1 opened what it had committed to."""
    table = Table("spaceships", 3)
    for _ in range(3):
        table.play_on()
    found = table.found(2)
    assert table.open(2, found)["asks"]
    lie(found)
    with pytest.raises(Failed, match=said):
        table.open(2, found)


@pytest.mark.parametrize("game", GAMES)
def test_whatever_is_brought_is_refused_in_words(game: str) -> None:
    """Documents with anything missing, or anything else in its place: believed, or refused by a sentence of ours."""
    table = Table(game, 6)
    for _ in range(4 * table.seats):
        table.play_on()
    seat = next(iter(table.table.due))
    for junk in (None, 7, "x", [], {}, [None], {"1": 1}, "\n", True):
        for _ in range(12):
            found = table.found(seat)
            place: Any = found if table.random.random() < 0.2 else found["sealed"]
            key: Any = table.random.choice(
                ["names", "options"] if place is found else ["terms", "commitments", "steps"]
            )
            if key == "steps" and table.random.random() < 0.8:
                place = table.random.choice(place["steps"])
                key = table.random.choice(["turn", "seat", "step", "lines", "paper", "values"])
            place[key] = junk
            with suppress(Failed):  # or believed
                table.open(seat, found)
                continue
            with pytest.raises(Failed, match=r"^Error: "):  # a sentence of ours, and no TypeError
                table.open(seat, found)


HEARD = "([found, secrets]) => STEPS.heard(found, secrets)"


def test_what_was_told_once_cannot_be_told_otherwise() -> None:
    """A server in league with seat 1 shows seat 2 a commitment, and another one once seat 2 has opened its orders."""
    table = Table("spaceships", 3)
    table.play_on()
    shown = table.found(2)
    table.secrets[2] = table.page.evaluate(HEARD, [shown, table.open(2, shown)["secrets"]])
    table.play_on()
    table.play_on()
    found = table.found(2)
    assert table.open(2, found)["asks"]
    commit, opened = _of(found, 1, "commit"), _of(found, 1, "open")
    opened["lines"].append("strike Rv1")
    told = paper("strikes", table.place(1), 1, opened["values"], opened["lines"])
    commit["paper"] = opened["paper"] = hashed(told)
    with pytest.raises(Failed, match="it contradicts an earlier letter about seat 1"):
        table.open(2, found)


def test_what_was_told_long_ago_cannot_be_told_otherwise() -> None:
    """A link has no papers of earlier turns: the page remembers what it answered."""
    table = Table("spaceships", 3)
    for _ in range(3):
        table.play_on()
    found = table.found(2)
    table.secrets[2] = table.page.evaluate(HEARD, [found, table.open(2, found)["secrets"]])
    told = _of(found, 1, "answers")
    told["lines"][0] = told["lines"][0].replace("miss", "hit")
    del told["paper"], told["values"]
    with pytest.raises(Failed, match="it contradicts an earlier letter about seat 1"):
        table.open(2, found)


TRIED = """async ([found, secrets]) => {
    let tried = secrets;
    for (const text of ["Rv1", "Rv2", "Rv3"]) {
        const now = { ...tried, orders: { 1: text }, after: { 1: found.prev } };
        tried = SECRETS.tried(now, 1, text, found.prev);
    }
    const sent = { ...tried, orders: { 1: "Rv2" } };
    return [tried, await STEPS.step(found, sent, STEPS.replayed(found), "")];
}"""


def test_of_several_letters_the_one_that_was_sent_binds() -> None:
    """Whoever composed three commitments and sent the second goes on with that."""
    table = Table("spaceships", 4)
    table.secrets[1], letter = table.page.evaluate(TRIED, [table.found(1), table.secrets[1]])
    assert table.secrets[1]["orders"]["1"] == "Rv3"
    table.take(1, letter)
    assert table.open(1)["secrets"]["orders"]["1"] == "Rv2"
    table.secrets[1]["tried"] = []
    with pytest.raises(Failed, match="does not know the orders that you committed to"):
        table.open(1)


def test_a_setup_is_the_one_that_was_committed_to() -> None:
    """In Shoot 'em up a player in league with the server could wait for the other's setup, and choose one then."""
    table = Table("shoot-em-up", 3)
    while not any(step["step"] == "setup" and step["seat"] != 1 for step in table.steps):
        table.play_on()
    found = table.found(1)
    found["sealed"]["commitments"]["2"] = "00" * 32
    with pytest.raises(Failed, match="opened something other than what it committed to"):
        table.page.evaluate("([found, secrets]) => STEPS.check(found, secrets)", [found, table.secrets[1]])


@pytest.mark.parametrize("length", [1, 300, 974, 975, 976, 3000])
def test_the_note_of_the_page_is_as_long_as_others(length: int) -> None:
    """What is sealed says the same to whoever inflates it, and has, once sealed, a multiple of 1024 octets."""
    deflater = zlib.compressobj(9, wbits=-15)
    said = json.dumps({"setup": Random(length).randbytes(length).hex()}).encode()
    deflated = deflater.compress(said) + deflater.flush()
    page = Scripts("tables.js", "papers.js", "note.js")
    padded = bytes(page.evaluate("(octets) => [...NOTE.padded(Uint8Array.from(octets))]", [*deflated]))
    assert (16 + 12 + len(padded) + 16) % 1024 == 0
    assert len(padded) - len(deflated) < 5 + 1024
    assert json.loads(zlib.decompress(padded, wbits=-15)) == json.loads(said)


HEAD, EARLIER = "cd" * 32, "ef" * 32
RESIGNED = f"resign m1 game 1\nserver {SERVER}\nplayer ann\nturn 2\nprev {HEAD}\nrev 1\nend\n"
ANN, EVE = (Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32)) for seed in (1, 2))
DOUBT = """async ([letters, own, heads]) => {
    const kept = new Map(), setItem = (name, text) => { kept.set(name, text); };
    const storage = { getItem: (name) => kept.get(name) ?? null, setItem };
    for (const found of letters) RESIGNATION.remember(storage, found);
    const found = letters.at(-1);
    return RESIGNATION.doubt(found, own, RESIGNATION.remembered(storage, found), heads, 2);
}"""


def resigning(
    text: str = RESIGNED,
    key: Ed25519PrivateKey = ANN,
    namespace: str = f"pbem@{SERVER}",
    *,
    keys: tuple[str, ...] = (ssh.public(ANN),),
    heads: dict[int, str] | None = None,
    steps: int = 2,
    behind: str = "",
) -> str:
    """Why bob's page doubts a resignation: one letter told ann's keys, the next brings it and asks for a reveal."""
    page = Scripts("say.js", "ed25519.js", "sshsig.js", "resignation.js")
    told = {"server": SERVER, "match": "m1", "game": 1, "seat": 2, "player": "bob", "names": NAMES[:2]}
    before = {**told, "sealed": {"owes": ["seal"], "keys": {"1": list(keys)}}}
    resignation = text + ssh.sign(key, text.encode(), namespace) + behind
    now = {"owes": ["reveal"], "keys": {"1": [ssh.public(key)]}, "resignation": resignation}
    last = {**told, "sealed": {**now, "steps": [{}, {"head": HEAD}][:steps]}}
    letters = [before, last, last] if keys else [last, last]
    return str(page.evaluate(DOUBT, [letters, [ssh.public(EVE).split()[1]], heads or {1: EARLIER}]))


def test_a_resignation_of_this_place_leaves_no_doubt() -> None:
    """Of the game or the match, in the lines that a mail program left; before any step, after the first head."""
    assert resigning() == ""
    assert resigning(RESIGNED.replace("game 1", "match").replace("\n", " ")) == ""
    assert resigning(steps=0, heads={0: HEAD}) == ""
    assert resigning(RESIGNED.replace("player ann", "player bob"), EVE) == "", "one's own"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("resign", "extend"),
        ("resign", "# resign"),
        ("m1", "m2"),
        ("game 1", "game 2"),
        ("game 1", ""),
        (SERVER, "other.example"),
        ("ann", "cat"),
        ("turn 2", "turn 1"),
        (HEAD, EARLIER),
        (f"prev {HEAD}\n", ""),
        ("rev 1", f"prev {EARLIER}"),
        ("rev 1", "unless asked"),
        ("end\n", ""),
        ("end\n", "later\n"),
        ("end\n", "end\nrevoke\n"),
    ],
)
def test_a_resignation_of_another_place_is_doubted(old: str, new: str) -> None:
    """Signed by ann all the same: an earlier one that was refused then, say."""
    assert sentences.NOT_FOR_THIS_PLACE_IN_THE in resigning(RESIGNED.replace(old, new, 1))


def test_a_resignation_that_the_opponent_did_not_sign_is_doubted() -> None:
    """By another key, for another server, with more beneath it; or by a key that is new, or of another kind."""
    assert sentences.NOT_SIGNED_WITH_A_KEY in resigning(key=EVE)
    assert sentences.NOT_SIGNED_WITH_A_KEY in resigning(namespace="pbem@other.example")
    assert sentences.NOT_SIGNED_WITH_A_KEY in resigning(behind="more\n")
    assert sentences.KNEW_NO_KEY_OF_THAT_PLAYER in resigning(keys=())
    assert sentences.CANNOT_CHECK_SUCH_A_SIGNATURE in resigning(keys=("ssh-rsa AAAA", "-----BEGIN PGP"))


def test_a_resignation_after_fewer_steps_than_were_told_is_doubted() -> None:
    """The server shows an earlier head as that of the last step; or no letter told where the game began."""
    assert sentences.NOT_FOR_THIS_PLACE_IN_THE in resigning(heads={1: HEAD})
    assert sentences.NOT_FOR_THIS_PLACE_IN_THE in resigning(steps=0)
