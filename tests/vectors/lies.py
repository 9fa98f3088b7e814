"""The lies below tests/vectors/bad/: one each, told of a true bundle. README.md describes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attackers.forgers import index, retold, with_entry, with_papers, without_entry
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from signing import passkeys
from signing.signers import AT_HOME, private_key
from vectors.matches import good, home, key
from world.mutations import rewritten, signed_again

from pbem.identity import parse_key, ssh
from pbem.match.terms import Terms
from pbem.match.transcript import Entry
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from signing.passkeys import Wish

    from pbem.proof.bundle import Bundle

FALSE = {"false": {"turn": 1, "step": "answers", "ruling": "22"}}


def edited(found: Bundle, path: str, old: str, new: str) -> Bundle:
    """A paper with other words, and its hash wherever it is named."""
    paper = found.papers[path]
    assert old.encode() in paper, path
    return rewritten(found, path, paper.replace(old.encode(), new.encode(), 1))


def altered(found: Bundle, path: str, old: str, new: str) -> Bundle:
    """A paper with other words, which nothing else knows of."""
    return with_papers(found, {path: found.papers[path].replace(old.encode(), new.encode(), 1)})


def without_paper(found: Bundle, path: str) -> Bundle:
    return replace(found, papers={name: one for name, one in found.papers.items() if name != path})


def exchanged(found: Bundle, path: str, by: str) -> Bundle:
    return rewritten(found, path, found.papers[by])


def other_terms(found: Bundle) -> Bundle:
    body = dict(found.entries[0].body)
    terms = {**body["terms"], "pace": 3600}
    return retold(found, 0, terms=terms, rules=Terms.read(terms).hash(str(body["server"]), str(body["match"])))


def unsigned(found: Bundle) -> Bundle:
    return signed_again(found, key=Ed25519PrivateKey.from_private_bytes(bytes(32)))


def cut_off(found: Bundle) -> bytes:
    return bundle.write(found)[:-1]


def broken_chain(found: Bundle) -> Bundle:
    return with_entry(found, 2, lambda body: body.update(turn=9))


def foreign(found: Bundle) -> Bundle:
    return with_papers(found, {"letters/more.eml": b"Subject: more\r\n\r\nmore\r\n"})


def trace_without(found: Bundle) -> Bundle:
    """The trace does not list what was withdrawn."""
    path = "traces/game-1-turn-3.txt"
    lines = found.papers[path].splitlines(keepends=True)
    return rewritten(found, path, b"".join(line for line in lines if b"withdrawn" not in line))


def unused_branch(found: Bundle) -> Bundle:
    path = "receipts/game-1-turn-3-unused-seat-1-rev-1.txt"
    return rewritten(found, path, found.papers[path] + b"branch 1\n")


def no_miss(found: Bundle) -> Bundle:
    return without_entry(found, index(found, "missed", turn=1))


def signed_by_passkey(found: Bundle, wish: Wish) -> Bundle:
    """Orders as no honest browser signs them."""
    path, private = "letters/game-1-turn-1-seat-1.eml", private_key("ssh-passkey")
    assert isinstance(private, EllipticCurvePrivateKey)
    raw, _, _ = found.papers[path].decode().replace("\r", "").partition(ssh.BEGIN)
    text = raw.partition("\n\n")[2]
    made = raw + passkeys.sign(private, text.encode(), wish=wish, application="localhost")
    return rewritten(found, path, made.replace("\n", "\r\n").encode())


def keyed(found: Bundle) -> Bundle:
    """The key that was added is another."""
    public = ssh.public(key("somebody"))
    one = {"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public}
    return retold(found, 2, added=[one])


def newcomer(found: Bundle) -> Bundle:
    at = index(found, "substituted")
    return retold(found, at, player={**found.entries[at].body["player"], "name": "dora"})


def hidden(found: Bundle) -> Bundle:
    path = "openings/game-2-seat-1.txt"
    return with_papers(found, {path: found.papers[path].replace(b"rev 1", b"rev 2")})


def salted(found: Bundle) -> Bundle:
    """A salt in capitals."""
    path = "receipts/game-1-turn-1-seat-1.txt"
    head, mark, salt = found.papers[path].partition(b"salt ")
    return rewritten(found, path, head + mark + salt.upper())


def nowhere(found: Bundle) -> Bundle:
    """A vacation of a third of two."""
    told = Entry(0, "", found.entries[1].time, "vacation", {"seat": 3, "from": "2026-03-02", "to": "2026-03-03"})
    return signed_again(replace(found, entries=(*found.entries[:2], told, *found.entries[2:])))


def signed_otherwise(found: Bundle, path: str, old: str = "", new: str = "", over: str = "to") -> Bundle:
    """A letter with other words, signed by its domain again, and perhaps without To."""
    raw = found.papers[path]
    raw = raw[raw.index(b"From:") :].replace(old.encode(), new.encode())
    letter = home().craft(raw, headers=("from", over, "subject", "message-id", "content-type"))
    return rewritten(found, path, letter)


def moved_on(found: Bundle) -> Bundle:
    """The letter of turn 1, with evidence that says that its address was one of turn 2."""
    stem, paper = "game-1-turn-2-seat-2", found.papers["evidence/game-1-turn-1-seat-2.txt"]
    for path, content in (
        (f"letters/{stem}.eml", found.papers["letters/game-1-turn-1-seat-2.eml"]),
        (f"evidence/{stem}.txt", paper.replace(b"game 1 turn 1", b"game 1 turn 2")),
    ):
        found = rewritten(found, path, content)
    return found


def excused(found: Bundle) -> Bundle:
    """A clock that stands because letters bounce, where by the terms that loses."""
    told = Entry(0, "", found.entries[1].time, "halted", {"seat": 1, "reason": "unreachable"})
    return signed_again(replace(found, entries=(*found.entries[:2], told, *found.entries[2:])))


LIES: dict[str, tuple[str, Callable[[Bundle], Bundle | bytes]]] = {
    "passkey-page": (
        "passkey",
        partial(signed_by_passkey, wish=replace(AT_HOME, origin="http://cards.localhost:40321")),
    ),
    "passkey-untouched": ("passkey", partial(signed_by_passkey, wish=replace(AT_HOME, flags=0))),
    "passkey-challenge": ("passkey", partial(signed_by_passkey, wish=replace(AT_HOME, challenge=bytes(32)))),
    "cut": ("ssh", cut_off),
    "chain": ("ssh", broken_chain),
    "server": ("ssh", unsigned),
    "foreign": ("ssh", foreign),
    "missing": ("ssh", partial(without_paper, path="letters/game-1-turn-2-seat-1.eml")),
    "terms": ("ssh", other_terms),
    "setup": ("ssh", partial(edited, path="openings/game-1-seat-1.txt", old="MD Rv1 Rv2 Rv3", new="MD Gv1 Gv2 Gv3")),
    "letter": (
        "ssh",
        partial(exchanged, path="letters/game-1-turn-3-seat-1.eml", by="letters/game-1-turn-2-seat-1.eml"),
    ),
    "orders": ("ssh", partial(edited, path="letters/game-1-turn-3-seat-1.eml", old="Bz5", new="Bz4")),
    "revision": ("ssh", partial(edited, path="receipts/game-1-turn-2-seat-1.txt", old="rev 1", new="rev 2")),
    "report": ("ssh", partial(edited, path="reports/game-1-turn-1-seat-2.json", old="hit", new="miss")),
    "record": ("ssh", partial(edited, path="records/game-1.pbem.toml", old="winner = 1", new="winner = 2")),
    "winner": ("ssh", partial(retold, at=5, winners=[2])),
    "closed": ("ssh", partial(without_entry, at=7)),
    "backwards": ("ssh", partial(retold, at=3, time="2026-02-01T12:00:00Z")),
    "carried-over": ("continued", partial(retold, at=7, options={"fleet": "cost:3"})),
    "forced": ("dueling-masters", partial(retold, at=2, orders={})),
    "stays": ("one-leaves", partial(retold, at=3, seat=3)),
    "third": ("three-seats", partial(retold, at=7, winners=[3])),
    "not-missed": ("default", no_miss),
    "by-default": ("default", partial(retold, at=3, default=[])),
    "branch": (
        "conditional",
        partial(edited, path="receipts/game-1-turn-2-seat-1.txt", old="branch 2", new="branch 3"),
    ),
    "branch-unused": ("conditional", unused_branch),
    "no-branch": ("conditional", partial(edited, path="receipts/game-1-turn-2-seat-1.txt", old="branch 2\n", new="")),
    "trace": ("withdrawal", trace_without),
    "draw": ("draw", partial(retold, at=5, word="accept")),
    "gift": ("draw", partial(retold, at=3, seconds=2592000)),
    "left-stays": ("silent-leaves", partial(without_entry, at=5)),
    "left-another": ("silent-leaves", partial(retold, at=5, seat=3)),
    "left-cause": ("silent-leaves", partial(retold, at=5, cause="resigned")),
    "left-rests": ("silent-leaves", partial(retold, at=5, entries=[3])),
    "left-late": ("silent-leaves", partial(retold, at=5, turn=3)),
    "sharing": ("silent-leaves", partial(retold, at=7, sharing=[1])),
    "shared": ("silent-leaves", partial(retold, at=9, winners=[1])),
    "resigned": ("resignation", partial(retold, at=3, match=True)),
    "deadline": ("claim", partial(retold, at=2, deadline="2026-03-02T12:00:00Z")),
    "forfeit": ("forfeit", partial(retold, at=5, seats=[1])),
    "newcomer": ("substitute", newcomer),
    "key": ("keys", keyed),
    "dkim": ("mailbox", partial(edited, path="evidence/game-1-turn-1-seat-2.txt", old="p=MII", new="p=MIJ")),
    "token": (
        "mailbox",
        partial(edited, path="evidence/game-1-turn-2-seat-2.txt", old="place game 1", new="place game 2"),
    ),
    "another-turn": ("one-letter", moved_on),
    "unsigned-to": ("one-letter", partial(signed_otherwise, path="letters/game-1-turn-1-seat-2.eml", over="date")),
    "yes": (
        "one-letter",
        partial(signed_otherwise, path="letters/game-1-turn-2-seat-2.eml", old="> Gx4", new="> > Gx4"),
    ),
    "other-terms": (
        "by-words-alone",
        partial(signed_otherwise, path="letters/agreed-seat-2.eml", old="> accept m1 ", new="> accept m1 0123456789"),
    ),
    "thanks": (
        "by-words-alone",
        partial(signed_otherwise, path="letters/agreed-seat-2.eml", old="Yes, let us play!", new="Ok, thanks!"),
    ),
    "other-address": (
        "by-words-alone",
        partial(signed_otherwise, path="letters/game-1-setup-seat-2.eml", old="To: pbem+m1.", new="To: pbem+m2."),
    ),
    "other-sentence": (
        "by-words-alone",
        partial(signed_otherwise, path="letters/resign-4-seat-2.eml", old="Resign!", new="I resign!"),
    ),
    "salt": ("ssh", salted),
    "nowhere": ("ssh", nowhere),
    "excused": ("ssh", excused),
    "malformed": ("running", partial(edited, path="openings/game-2-seat-1.txt", old="rev 1\n", new="")),
    "hidden": ("running", hidden),
    "sealed-answer": (
        "sealed",
        partial(edited, path="steps/game-1-turn-1-seat-2-answers.txt", old=" miss", new=" hit"),
    ),
    "sealed-letter": (
        "sealed",
        partial(exchanged, path="letters/step-10-seat-1.eml", by="letters/step-4-seat-2.eml"),
    ),
    "sealed-step": ("sealed", partial(without_entry, at=15)),
    "sealed-verdict": ("sealed", partial(retold, at=19, verdicts={"1": "honest", "2": FALSE})),
    "sealed-reveal": (
        "sealed",
        partial(altered, path="openings/game-1-turn-1-seat-1.txt", old="orders\n", new="orders\nsRv1 "),
    ),
    "sealed-silent": ("sealed-silent", partial(without_entry, at=18)),
    "sealed-scores": ("sealed-silent", partial(retold, at=20, winners=[1])),
    "sealed-resigned": ("sealed-silent", partial(retold, at=20, winners=[2])),
    "sealed-commitment": ("sealed-running", partial(retold, at=1, commitments={"1": "0" * 64, "2": "1" * 64})),
}


def lied(name: str) -> bytes:
    """A lie, made of the true bundle that it is about."""
    of, lie = LIES[name]
    made = lie(good(of))
    return made if isinstance(made, bytes) else bundle.write(made)
