"""Makes tests/data/version-1: `PYTHONPATH=tests python -m vectors.version_1`. From 1.0 on, nobody makes it again.

A store as a server leaves it, with a match that is over, one under way and one proposed; and bundles.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from in_a_box.referee import Referee, form_in
from in_a_box.signed_club import SignedClub
from vectors.matches import SETUPS, SMALL, VECTORS, keyless, made, proof

FOLDER = VECTORS.parent / "data" / "version-1"
BUNDLES = ("continued", "mailbox", "one-leaves", "running", "sealed")


def write() -> None:
    """The store, the bundle of its first match, and bundles of other kinds."""
    with tempfile.TemporaryDirectory() as folder:
        referee = Referee(Path(folder), "version 1")
        ann, _ = keyless(referee)  # m1 is over: Ann signs, Bob has no key
        referee.send(ann, "resign m1 match\n")
        (FOLDER / "m1.pbem.zip").write_bytes(proof(referee, ann))
        carl = referee.registered("carl")
        referee.send(ann, f"new spaceships with carl\n{SMALL}\nend\n")  # m2 is under way
        referee.send(carl, form_in(carl.text, "accept", lines=1))
        for person, setup in zip((ann, carl), SETUPS, strict=True):
            referee.send(person, person.filled("setup", setup))
        referee.turn((ann, "Rv1"), (carl, ""))
        referee.send(ann, ann.filled("orders", "final\nRv3"))
        referee.send(ann, "set language de\n")
        referee.send(carl, "block bob\n")
        referee.send(carl, "new dueling-masters with ann\nend\n")  # m3 waits for Ann
        referee.database.execute("DELETE FROM outbox WHERE state = 'delivered'")  # as servers forget them
        referee.database.execute("PRAGMA journal_mode = DELETE")
        referee.database.execute("VACUUM")
        referee.close()
        shutil.copyfile(Path(folder) / "store.sqlite", FOLDER / "store.sqlite3")
    for name in BUNDLES:
        (FOLDER / f"{name}.pbem.zip").write_bytes(made(name))
    club = SignedClub("", "ann", "bob", "carl")
    club.start()
    (FOLDER / "t1.pbem-tournament.zip").write_bytes(club.tournament())


if __name__ == "__main__":
    write()
