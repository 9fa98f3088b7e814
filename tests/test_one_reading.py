"""Each rule by which a signed letter is read, at the door of each reader: the desk, the proof, another player.

They call the same functions; so a rule that changes is noticed by all of them, and here it is shown for each.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.config.limits import Limits
from pbem.desk.reading import Question, find
from pbem.games import rules
from pbem.games.sealed import sealed_rules
from pbem.identity import parse_key, ssh
from pbem.match.sealed_game import SealedGameState, SealedMoment
from pbem.match.step import Signed
from pbem.player.correspondence.standings import Contradiction
from pbem.player.memory import SignedText
from pbem.player.signed_texts import Missing, fold
from pbem.proof.signed_letters import BundleLetters
from pbem.requests import Resign, Seal, Section, SignedForm

if TYPE_CHECKING:
    from collections.abc import Callable

SERVER = "play.example"
KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
PUBLIC = parse_key(ssh.public(KEY))
RULES: Any = sealed_rules("spaceships")
OPTIONS: Any = rules("spaceships").options({}, 2)
HEAD, COMMITMENT = "ab" * 32, "cd" * 32
RESIGN = f"resign m1 game 1\nserver {SERVER}\nplayer ann\nturn 1\nprev {HEAD}\nrev 1\nend\n"
SEAL = f"seal m1 game 1\nserver {SERVER}\nplayer ann\nprev {HEAD}\nrev 1\ncommitment {COMMITMENT}\nend\n"


def resigned(rev: int | None = 1) -> SignedForm[Resign]:
    return SignedForm(Resign(match="m1", game=1), SERVER, "ann", HEAD, rev, 1, 1)


def sealed(*commitments: str) -> SignedForm[Seal]:
    sections = tuple(Section("commitment", (one,), "") for one in commitments)
    return SignedForm(Seal(match="m1", sections=sections), SERVER, "ann", HEAD, 1, 1, None)


RESIGNED, SEALED = resigned(), sealed(COMMITMENT)


class Case(NamedTuple):
    """A letter, and whether it says what its form asks for."""

    text: str
    says: bool
    form: SignedForm[Any] = RESIGNED


CASES = {
    "a form is read": Case(RESIGN, says=True),
    "a form with a block is read": Case(SEAL, True, SEALED),
    "the server belongs to the form": Case(RESIGN.replace(SERVER, "other.example"), says=False),
    "the player belongs to the form": Case(RESIGN.replace("ann", "bob"), says=False),
    "the head belongs to the form": Case(RESIGN.replace(HEAD, "00" * 32), says=False),
    "the turn belongs to the form": Case(RESIGN.replace("turn 1", "turn 2"), says=False),
    "capitals do not matter": Case(RESIGN.upper(), says=True),
    "line ends are blanks": Case(RESIGN.replace("\n", " "), says=True),
    "fields come in any order": Case(RESIGN.replace("rev 1\n", "").replace("server", "rev 1\nserver"), says=True),
    "no-break spaces are blanks": Case(RESIGN.replace(" ", "\u00a0"), says=True),
    "invisible characters are nothing": Case(RESIGN.replace("resign", "re\u200bsign"), says=True),
    "a quoted line is not read": Case(RESIGN.replace("turn", "> hello\nturn"), says=True),
    "a quoted line behind blanks is not read": Case(RESIGN.replace("turn", "  > hello\nturn"), says=True),
    "nothing is read below `-- `": Case(f"-- \n{RESIGN}", says=False),
    "nothing is read after `stop`": Case(f"stop\n{RESIGN}", says=False),
    "four unknown lines are passed over": Case("hello\n" * 4 + RESIGN, says=True),
    "five unknown lines end the reading": Case("hello\n" * 5 + RESIGN, says=False),
    "a stray `end` is no unknown line": Case("end\n" * 9 + RESIGN, says=True),
    "a comment is no unknown line": Case("# hello\n" * 9 + RESIGN, says=True),
    "a form is read after another command": Case(f"draw m2\n{RESIGN}", says=True),
    "two hundred commands are read": Case("draw m2\n" * 200 + RESIGN, says=False),
    "no field appears twice": Case(RESIGN.replace("rev 1", "rev 1\nrev 1"), says=False),
    "no revision is 0": Case(RESIGN.replace("rev 1", "rev 0"), False, resigned(0)),
    "a revision is a number": Case(RESIGN.replace("rev 1", "rev one"), False, resigned(None)),
    "a revision has nine digits": Case(RESIGN.replace("rev 1", "rev 1234567890"), False, resigned(1234567890)),
    "words and fields name one game": Case(RESIGN.replace("turn 1", "turn 1\ngame 2"), says=False),
    "a command needs its words": Case(RESIGN.replace("resign m1 game 1", "resign game 1"), says=False),
    "a block has its `end`": Case(SEAL.removesuffix("end\n"), False, SEALED),
    "`END` closes a block": Case(SEAL.replace("end\n", "END\n"), True, SEALED),
    "`end` in a comment closes nothing": Case(
        SEAL.replace("commitment", "# the end of it\ncommitment"), True, SEALED
    ),
    "a section is known": Case(SEAL.replace("commitment", "promise it\ncommitment"), False, SEALED),
    "a commitment is a hash": Case(SEAL.replace(COMMITMENT, "cd"), False, sealed("cd")),
    "no section appears twice": Case(
        SEAL.replace("end\n", f"commitment {COMMITMENT}\nend\n"), False, sealed(COMMITMENT, COMMITMENT)
    ),
}


def signed(text: str, key: Ed25519PrivateKey = KEY, namespace: str = f"pbem@{SERVER}") -> str:
    return text + ssh.sign(key, text.encode(), namespace)


SIGNATURES = {
    "a signature is for this server": signed(RESIGN, namespace="pbem@other.example"),
    "a signature is by this player": signed(RESIGN, OTHER),
    "a signature covers the text": signed(RESIGN).replace("rev 1", "rev 2"),
    "a letter bears one signature": signed(RESIGN) + ssh.sign(KEY, RESIGN.encode(), f"pbem@{SERVER}"),
    "a letter bears a signature": RESIGN,
}


def the_desk(content: str, form: SignedForm[Any]) -> bool:
    question = Question(_letter(content), datetime(2026, 3, 1, tzinfo=UTC), SERVER, [PUBLIC])
    understood = find(question, Limits()).understood
    assert understood is not None
    commands = understood.reading.commands if understood.judged.verdict.kind == "valid" else []
    return form in [command.form for command in commands if not command.faults]


def the_proof(content: str, form: SignedForm[Any]) -> bool:
    listed = {"format": PUBLIC.format, "fingerprint": PUBLIC.fingerprint, "public": PUBLIC.public}
    player = SimpleNamespace(name="ann", keys=(listed,))
    match: Any = SimpleNamespace(
        id="m1", server=SERVER, name=lambda _: "ann", players=(player,), phase="playing", game=1, turn=1
    )
    received = Signed(_letter(content), "key", PUBLIC.fingerprint, "2026-03-01T00:00:00Z")
    try:
        return BundleLetters({}).proved_form(match, form, 1, received, None) == form
    except ValueError:
        return False


def another_player(content: str, form: SignedForm[Any]) -> bool:
    begun = SealedMoment(RULES, SERVER, "m1", 1, ("ann", "bob"), HEAD, SealedGameState({}, {}), RULES.begin(OPTIONS))
    keys = {"1": [PUBLIC.public], "2": [ssh.public(OTHER)]}
    earlier = SEAL.replace(HEAD, "11" * 32)
    texts = [signed(earlier.replace("ann", "bob"), OTHER), content]
    if not isinstance(form.request, Seal):
        texts.append(signed(earlier))
    try:
        folded = fold(begun, keys, {}, [SignedText(text.encode()) for text in texts], {2: HEAD})
    except (Contradiction, Missing):
        return False
    return folded.play.game.commitments[1] == COMMITMENT if isinstance(form.request, Seal) else folded.given_up == 1


def _letter(content: str) -> bytes:
    head = "From: ann@mail.example\nTo: pbem@play.example\nContent-Type: text/plain; charset=utf-8\n"
    return f"{head}Content-Transfer-Encoding: 8bit\n\n{content}".replace("\n", "\r\n").encode()


DOORS = [the_desk, the_proof, another_player]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_text(door: Callable[[str, SignedForm[Any]], bool], case: Case) -> None:
    assert door(signed(case.text), case.form) is case.says


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("content", SIGNATURES.values(), ids=SIGNATURES)
def test_a_signature(door: Callable[[str, SignedForm[Any]], bool], content: str) -> None:
    assert not door(content, RESIGNED)
