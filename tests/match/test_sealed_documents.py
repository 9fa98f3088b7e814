"""The papers of sealed matches: the vectors of the protocol, octet for octet, and the salts that nobody can guess."""

from __future__ import annotations

from pbem.match.sealed_game import PaperPlace, hashed, paper, salt
from pbem.match.transcript import sha256_hex

SEED = bytes(range(32))
ANNA = PaperPlace("play.example", "m17", 2, 1, "anna")
BOB = PaperPlace("play.example", "m17", 2, 2, "bob")
RULES = sha256_hex(b"the agreed terms of this example")
SETUP = """DS Rv1 Rv2 Rw1 Rw2 Ov1 Ov2 Ow1 Ow2
KC Gx1 Gx2 Gx3 Gy1 Gy2 Gy3
PC Bv1 Bv2 Bv3 Bv4
MD Yz1 Yz2 Yz3
HS Bz4 Bz5"""
STRIKES = ["beam Rv1 Rv2 Rv3", "strike Gx3", "strike Gx4", "strike Ox4", "strike Gz1", "strike Gx5", "scan Yw3"]
ANSWERS = [
    *("beam Rv1 miss", "beam Rv2 miss", "beam Rv3 hit", "strike Gx3 hit explodes Gx3 Gx4", "strike Gx4 duplicate"),
    *("strike Ox4 miss", "strike Gz1 miss", "strike Gx5 hit destroyed MD Gx3 Gx4 Gx5", "scan Yw3 ship"),
]


def test_the_papers_of_the_example() -> None:
    setup = paper("setup", ANNA, 0, {"rules": RULES, "salt": salt(SEED, ANNA, 0, "setup")}, SETUP.split("\n"))
    assert hashed(setup) == "0909ceef3e2571c06dd70452e97af406ffb574288a321c4b86f563cb96eb70a8"
    values = {"setup": hashed(setup), "salt": salt(SEED, ANNA, 5, "orders")}
    assert values["salt"] == "e06430640c29dc8aafa62c5b970a3a2bc546cf895d641a8671d97fad0af09f41"
    orders = paper("orders", ANNA, 5, values, ["bRv1Rv3 Gx3 Gx4 Ox4 Gz1 mYz1 Gx5 sYw3"])
    assert hashed(orders) == "b4c14d500145002bfde90bae7dc66fae0053c288f3d54cb6ca6e04054bbf50a8"
    assert len(orders) == 274
    after = sha256_hex(b"the head of the example")
    values = {"after": after, "orders": hashed(orders), "salt": salt(SEED, ANNA, 5, "strikes")}
    strikes = paper("strikes", ANNA, 5, values, STRIKES)
    assert hashed(strikes) == "450c72cef6ebaa5ae08b3f142e03050f39689d9959814b6df9b5b4cec0d82b82"
    answers = paper("answers", BOB, 5, {"to": hashed(strikes), "own": sha256_hex(b"bob's strikes paper")}, ANSWERS)
    assert hashed(answers) == "c481acc68695304aa45061e589b9b91358cff5588c173b8524c183ba3812d248"
    assert len(answers) == 413
    assert answers.startswith(
        "pbem sealed answers 1\nserver play.example\nmatch m17\ngame 2\nturn 5\nseat 2\nplayer bob\n"
    )
    assert "\nanswers\nbeam Rv1 miss\n" in answers
    assert answers.endswith("scan Yw3 ship\nend\n")
