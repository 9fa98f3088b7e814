"""The matches whose bundles are in tests/vectors/good/, each played by mail at a referee in a box."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from data.material import IN_FORCE, KEYS
from in_a_box.inquiries import early
from in_a_box.keyless import reply_to
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in, own_key, placed
from in_a_box.sealed_seats import agreed, play
from signing.domains import Domain
from signing.signers import by_clear_openpgp, by_passkey, by_smime, by_ssh, private_key

from pbem.identity import parse_key, ssh
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from in_a_box.sealed_seats import SealedSeat

    from pbem.proof.bundle import Bundle

VECTORS = Path(__file__).parent
SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
CELLS = ("Rv1", "Rv3", "Bz5")
OVER = timedelta(days=11)


def good(name: str) -> Bundle:
    """The bundle of a true match."""
    return bundle.read((VECTORS / "good" / f"{name}.pbem.zip").read_bytes())


def proof(referee: Referee, person: Mailbox) -> bytes:
    """The bundle as this player may have it now."""
    referee.send(person, "transcript m1\n", sign=False)
    return attachment(person.last, ".zip")


def played(referee: Referee, ann: Mailbox, bob: Mailbox) -> None:
    for cell in CELLS:
        referee.turn((ann, cell), (bob, ""))


def single(referee: Referee) -> bytes:
    ann, bob = referee.begun(SMALL, SETUPS)
    played(referee, ann, bob)
    return proof(referee, ann)


def scored(referee: Referee) -> bytes:
    ann, bob = referee.begun(f"{SMALL}\nkind: continued\ngames: 2", SETUPS)
    played(referee, ann, bob)
    referee.send(ann, ann.filled("setup", f"{SETUPS[0].replace('MD', 'MD1')}\nMD2 Gv1 Gv2 Gv3"))
    referee.send(bob, bob.filled("setup", SETUPS[1]))
    played(referee, ann, bob)
    return proof(referee, ann)


def masters(referee: Referee) -> bytes:
    ann, bob = referee.agreed("settle: 0", "dueling-masters")
    referee.send(ann, ann.filled("setup", MASTERS[0]))
    referee.send(bob, bob.filled("setup", MASTERS[1]))
    for person, order in ((ann, "Z1 D1-J1"), (bob, "Z1 G2-G3"), (ann, "Z1 J1-J2")):
        referee.turn((person, order))
    return proof(referee, bob)


MASTERS = (
    "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
    "* I2 I4 I6 I8 I10 G1 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G2 G4 G6 G8\nH J1",
)
THREE = {"ann": "A b1 E\nB c1 W\nC d1 N", "bob": "D b5 S\nE c5 S\nF d5 S", "cem": "G a2 N\nH a3 E\nI a4 S"}
TURNS = ("A: SSL\nB: LRL\nC: LRL", "D: LRL\nE: LRL\nF: LRL", "G: SSS\nH: SSS\nI: SSS")


def three_seats(referee: Referee) -> bytes:
    """Cem rams himself out in turn 1; the others play until the last turn."""
    ann, bob, cem = referee.table("shoot-em-up", "board: 5x5\nsettle: 0\nmax_turns: 3", THREE)
    referee.turn((ann, "A: SSL\nB: LRL\nC: LRL"), (bob, "D: LRL\nE: LRL\nF: LRL"), (cem, "G: MFF\nH: LFF\nI: MFF"))
    referee.turn((ann, "A: RRR\nB: LLL\nC: LRL"), (bob, "D: LRL\nE: LLL\nF: LRL"))
    referee.turn((ann, "A: LRL\nB: LRL\nC: LRL"), (bob, "D: RMS\nE: RSS\nF: RRR"))
    return proof(referee, cem)


def one_leaves(referee: Referee) -> bytes:
    """Bob resigns while his orders for turn 2 wait; the others play on."""
    ann, bob, cem = people = referee.table("shoot-em-up", "board: 5x5\nsettle: 0\nmax_turns: 2", THREE)
    referee.turn(*zip(people, TURNS, strict=True))
    referee.turn((bob, "D: LRL\nE: LLL\nF: LRL"))
    referee.send(bob, "resign m1 game 1\n")
    referee.turn((ann, "A: RRR\nB: LLL\nC: LRL"), (cem, "G: SSS\nH: SSS\nI: SSS"))
    return proof(referee, cem)


def silent_leaves(referee: Referee) -> bytes:
    """Bob is silent, and Ann claims: he leaves, and the others play on, until they share the game."""
    terms = "board: 5x5\nsettle: 0\npace: 2d\ngrace: 1d\nmax_turns: 3"
    ann, bob, cem = people = referee.table("shoot-em-up", terms, THREE)
    referee.turn(*zip(people, TURNS, strict=True))
    referee.turn((ann, "A: RRR\nB: LLL\nC: LRL"), (cem, "G: SSS\nH: SSS\nI: SSS"))
    referee.wait(OVER)
    referee.send(ann, "claim m1\n")
    referee.send(ann, "draw m1 offer for cem ann\n")
    referee.send(cem, "draw m1 accept for ann cem\n")
    return proof(referee, bob)


def default(referee: Referee) -> bytes:
    """Orders in advance, some of them unused, and Bob's default orders, which he withdraws at last."""
    ann, bob = referee.begun(f"{SMALL}\nmiss: default", SETUPS)
    early(referee, ann, "turn 2", "final\nRv3")
    early(referee, ann, "turn 3", "final\nmRv1 Rv5")
    early(referee, bob, "default", "")
    referee.turn((ann, "Rv1"))
    referee.wait(OVER)
    referee.wait(OVER)
    referee.send(bob, "clear m1 default\n")
    referee.turn((ann, "Bz5"), (bob, ""))
    if referee.match().phase != "closed":
        referee.send(bob, "resign m1 match\n")
    return proof(referee, ann)


def conditional(referee: Referee) -> bytes:
    """Conditional orders with target lists: a branch counts in advance and by default, and once none holds."""
    ann, bob = referee.begun(f"{SMALL}\nmiss: default", SETUPS)
    early(referee, ann, "turn 2", "if lost any then Rv2\nelse if Rv1 hit and sunk LG then next Rv1 Rv3\nelse Gx3")
    early(referee, ann, "turn 3", "if Rv3 miss or not sunk LG2 then Gx3")
    early(referee, ann, "default", "if Rv1 hit or can bRv1Rv3 then Gx3 else next Rv1 Rv3 Bz5")
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.turn((bob, ""))
    referee.turn((bob, ""))
    referee.wait(OVER)
    return proof(referee, ann)


def withdrawal(referee: Referee) -> bytes:
    ann, bob = referee.agreed(SMALL)
    referee.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3"))
    referee.send(ann, "clear m1\n")
    referee.send(ann, ann.filled("setup", SETUPS[0], rev=3))
    referee.send(bob, bob.filled("setup", SETUPS[1]))
    for cell in CELLS[:2]:
        referee.turn((ann, cell), (bob, ""))
    referee.send(ann, ann.filled("orders", "Rv5"))
    referee.send(ann, "clear m1\n")
    referee.send(ann, ann.filled("orders", "final\nBz5", rev=3))
    referee.send(bob, bob.filled("orders", "final\n"))
    return proof(referee, bob)


def draw(referee: Referee) -> bytes:
    ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 2", SETUPS)
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(ann, "extend m1 3d\n")
    referee.send(ann, "draw m1 offer\n")
    referee.send(bob, "draw m1 decline\n")
    referee.send(bob, "draw m1 offer\n")
    referee.send(ann, "draw m1 accept\n")
    referee.send(bob, "annul m1 offer\n")
    referee.send(ann, "annul m1 accept\n")
    return proof(referee, ann)


def resignation(referee: Referee) -> bytes:
    ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 2", SETUPS)
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(bob, "resign m1 game 1\n")
    referee.send(ann, "resign m1 match\n")
    return proof(referee, ann)


def claim(referee: Referee) -> bytes:
    ann, _ = referee.begun(SMALL, SETUPS)
    referee.turn((ann, "Rv1"))
    referee.wait(OVER)
    referee.send(ann, "claim m1\n")
    return proof(referee, ann)


def forfeit(referee: Referee) -> bytes:
    ann, bob = referee.begun(f"{SMALL}\nmiss: pass\nkind: scored\ngames: 2", SETUPS)
    for cell in CELLS[:2]:
        referee.turn((ann, cell))
        referee.wait(OVER)
    referee.wait(5 * OVER)
    return proof(referee, bob)


def substitute(referee: Referee) -> bytes:
    ann, bob = referee.begun(SMALL, SETUPS)
    referee.turn((ann, "Rv1"), (bob, ""))
    carl = referee.registered("carl")
    referee.turn((ann, "Rv3"))
    referee.wait(OVER)
    referee.send(ann, "substitute m1 carl for bob\n")
    referee.send(carl, carl.form("substitute"))
    referee.turn((carl, ""))
    referee.send(carl, "resign m1 match\n")
    return proof(referee, ann)


def key(name: str) -> Ed25519PrivateKey:
    return own_key(f"key {name}")


def keys(referee: Referee) -> bytes:
    """Ann adds a key, revokes the old one while her orders wait, and recovers by code."""
    ann, bob = referee.begun(SMALL, SETUPS)
    code = body(ann.letters[1]).split("lose your keys:\n\n")[1].split()[0]
    new = key("ann")
    referee.send(ann, f"key add\n{ssh.public(new)}\n")
    referee.send(ann, form_in(ann.text, "confirm"), key=new)
    referee.send(ann, ann.filled("orders", "final\nRv1"))
    referee.send(ann, f"key revoke {parse_key(ssh.public(ann.key)).fingerprint}\n", key=new)
    referee.send(bob, bob.filled("orders", "final\n"))
    ann.key = new
    referee.turn((ann, "Rv3"), (bob, ""))
    referee.send(ann, f"recover {code}\n{ssh.public(key('by code'))}\n", sign=False)
    referee.send(ann, form_in(ann.text, "confirm"), key=key("by code"))
    ann.key = key("by code")
    referee.turn((ann, "Bz5"), (bob, ""))
    return proof(referee, ann)


def home() -> Domain:
    private = private_key("dkim-rsa.key")
    assert isinstance(private, RSAPrivateKey)
    return Domain("mail.example", key=private)


def reply(referee: Referee, domain: Domain, person: Mailbox, text: str, to: str | None = None) -> None:
    """An answer without a key, signed by the person's domain."""
    address = to or reply_to(person.last)
    raw = referee.raw(person, text).replace(b"To: pbem@play.example", f"To: {address}".encode())
    referee.deliver(domain.sign(raw, referee.now), person.address, address)


def asked(person: Mailbox, kind: str) -> str:
    """The reply address of the latest letter with such a form."""
    form = person.form(kind)
    letter = next(one for one in reversed(person.letters) if form in body(one))
    return reply_to(letter)


def proposed(referee: Referee, options: str = SMALL) -> tuple[Domain, Mailbox, Mailbox]:
    """The domain of Bob, who has no key; and Ann, who has proposed a match to him."""
    domain = home()
    referee.records[domain.where] = domain.record
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(bob, "register bob\n", sign=False)
    reply(referee, domain, bob, "register bob\n")
    referee.send(ann, f"new spaceships with bob\n{placed(ann)}{options}\nend\n")
    return domain, ann, bob


def keyless(referee: Referee, setups: tuple[str, str] = SETUPS, options: str = SMALL) -> tuple[Mailbox, Mailbox]:
    """Ann, and Bob, who has no key and is to order turn 1."""
    domain, ann, bob = proposed(referee, options)
    reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", setups[0]))
    reply(referee, domain, bob, bob.filled("setup", setups[1]), asked(bob, "setup"))
    return ann, bob


def mailbox(referee: Referee) -> bytes:
    domain = home()
    ann, bob = keyless(referee)
    for cell in CELLS[:2]:
        where = asked(bob, "orders")
        referee.turn((ann, cell))
        reply(referee, domain, bob, bob.filled("orders", "final"), where)
    reply(referee, domain, bob, "resign m1 game 1\n")
    return proof(referee, ann)


def one_letter(referee: Referee) -> bytes:
    """Bob, without a key, writes orders alone, others, `clear`, and yes to what he nearly wrote."""
    domain = home()
    ann, bob = keyless(referee, SETUPS[::-1])
    for words in (("Gx1", "Gx2 final"), ("Gx3", "clear", "gx4")):
        for text in words:
            reply(referee, domain, bob, f"{text}\n")
        if words[-1] == "gx4":
            quoted = "".join(f"> {line}\n" for line in bob.text.split("\n"))
            reply(referee, domain, bob, f"Yes!\n\nOn 1 March 2026, 12:00 pbem wrote:\n\n{quoted}")
        referee.turn((ann, ""))
    reply(referee, domain, bob, "resign m1 game 1\n")
    return proof(referee, ann)


def by_words_alone(referee: Referee) -> bytes:
    """Bob, without a key, agrees, sets up, orders and resigns by words alone."""
    domain, ann, bob = proposed(referee)
    quoted = "".join(f"> {line}\n" for line in bob.text.split("\n"))
    reply(referee, domain, bob, f"Yes, let us play!\n\nOn 1 March 2026, 12:00 pbem wrote:\n\n{quoted}")
    where = asked(bob, "setup")
    reply(referee, domain, bob, f"{SETUPS[0]}\n", where)
    referee.send(ann, ann.filled("setup", SETUPS[1]))
    where = asked(bob, "orders")
    reply(referee, domain, bob, "Gx2\n", where)
    referee.turn((ann, ""))
    where = asked(bob, "orders")
    reply(referee, domain, bob, "Resign!\n", where)
    return proof(referee, ann)


def by_format(file: str, signer: Callable[[Mailbox, str], bytes], referee: Referee) -> bytes:
    """Ann signs her setup and orders with a key of this format."""
    referee.now = IN_FORCE
    ann, bob = referee.registered("ann"), referee.registered("bob")
    found = parse_key((KEYS / file).read_bytes(), referee.now)
    referee.database.execute(
        "INSERT INTO keys (fingerprint, player, format, public, added) VALUES (?, 'ann', ?, ?, ?)",
        (found.fingerprint, found.format, found.public, "2028-06-01T12:00:00Z"),
    )
    referee.send(ann, f"new spaceships with bob\n{placed(ann)}{SMALL}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    referee.deliver(signer(ann, ann.filled("setup", SETUPS[0])), ann.address)
    referee.send(bob, bob.filled("setup", SETUPS[1]))
    for cell in CELLS:
        referee.deliver(signer(ann, ann.filled("orders", f"final\n{cell}")), ann.address)
        referee.send(bob, bob.filled("orders", "final\n"))
    return proof(referee, ann)


def running(referee: Referee) -> bytes:
    """Game 1 is over; in game 2 one turn was played, and Ann's bundle has her own papers."""
    ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 3", SETUPS)
    referee.send(ann, "draw m1 offer\n")
    referee.send(bob, "draw m1 accept\n")
    for person, setup in zip((ann, bob), SETUPS, strict=True):
        referee.send(person, person.filled("setup", setup))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(bob, "extend m1 3d\n")
    return proof(referee, ann)


def resigned(referee: Referee) -> list[SealedSeat]:
    """Two turns of a sealed game, which the second player resigns."""
    seats = agreed(referee, "ann", "bob", options="fleet: cost:12\n")
    play(referee, seats, 9)
    referee.send(seats[1].box, "resign m1 game 1\n")
    return seats


def sealed(referee: Referee) -> bytes:
    """Both reveal."""
    seats = resigned(referee)
    play(referee, seats)
    return proof(referee, seats[0].box)


def sealed_silent(referee: Referee) -> bytes:
    """The one who is ahead does not reveal."""
    seats = resigned(referee)
    seats[1].write(referee)
    referee.wait(OVER)
    return proof(referee, seats[0].box)


def sealed_by_rules(game: str, options: str, letters: int, referee: Referee) -> bytes:
    """As much of a game as so many letters come to."""
    seats = agreed(referee, "ann", "bob", game=game, options=options)
    play(referee, seats, letters)
    return proof(referee, seats[0].box)


GOOD: dict[str, Callable[[Referee], bytes]] = {
    "ssh": single,
    "continued": scored,
    "dueling-masters": masters,
    "three-seats": three_seats,
    "one-leaves": one_leaves,
    "silent-leaves": silent_leaves,
    "default": default,
    "conditional": conditional,
    "withdrawal": withdrawal,
    "draw": draw,
    "resignation": resignation,
    "sealed": sealed,
    "sealed-silent": sealed_silent,
    "sealed-dueling-masters": partial(sealed_by_rules, "dueling-masters", "max_turns: 10\n", 1000),
    "sealed-shoot-em-up": partial(sealed_by_rules, "shoot-em-up", "max_turns: 3\n", 1000),
    "sealed-running": partial(sealed_by_rules, "spaceships", "fleet: cost:12\n", 8),
    "claim": claim,
    "forfeit": forfeit,
    "substitute": substitute,
    "keys": keys,
    "mailbox": mailbox,
    "one-letter": one_letter,
    "by-words-alone": by_words_alone,
    "running": running,
    "openpgp": partial(by_format, "pgp-anna.pub.asc", by_clear_openpgp),
    "smime": partial(by_format, "sm-p256.crt", by_smime),
    "ssh-rsa": partial(by_format, "ssh-rsa.pub", by_ssh),
    "passkey": partial(by_format, "ssh-passkey.pub", by_passkey),
}


def made(name: str) -> bytes:
    """One match, played again."""
    with tempfile.TemporaryDirectory() as folder:
        referee = Referee(Path(folder), name)
        try:
            return GOOD[name](referee)
        finally:
            referee.close()
