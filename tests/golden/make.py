"""Makes what every later pbem must read: `PYTHONPATH=tests python -m golden.make 1.0`, once for 1.0, never again.

A server as its operator keeps it, with all that can be under way; a player's home in a sealed match, as `pbem play`
keeps it; a player's letters; a witness; bundles of all kinds. Nothing in it is of chance: made twice, it is the same.
"""

from __future__ import annotations

import io
import lzma
import mailbox
import sys
import tarfile
import tempfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cli.test_operator import CONFIG, give_keys
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from desk.test_anonymous import opened
from desk.test_notify import notified
from desk.test_witnesses import LOG_KEY, TEN, Desk
from golden.kept import FOLDER, verdicts
from in_a_box.bounces import bounce, return_path
from in_a_box.mailing_club import Club
from in_a_box.outside import RACE, referee_of
from in_a_box.owners import Owner, live, propose
from in_a_box.referee import SERVER, Referee, another, form_in, new, placed
from in_a_box.restores import back_up, put_back, resume_all
from in_a_box.signed_club import SignedClub
from judges.honest import bundles_now
from vectors.make import KEPT
from vectors.matches import GOOD, MASTERS, SETUPS, SMALL, VECTORS, key, keyless, made, proof

from pbem.config.server import NotifyConfig
from pbem.identity import ssh
from pbem.match.events import TYPES
from pbem.player.account_file import Account, Places
from pbem.player.checkpoint_witness import Witness, load
from pbem.proof.bundle import is_tournament, read
from pbem.store.operator import Instructions
from pbem.store.own_keys import OwnKeys, note
from pbem.tlog.checkpoint import CosignRequest

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox

ALIKE = {"claim", "ssh", "three-seats", "sealed", "sealed-running", "default", "one-letter"}
"""Vectors of which the others show everything."""


def interrupted(referee: Referee) -> bytes:
    """A game that stands still for all reasons, is put back from a backup, and is ended by the operator."""
    ann, bob = referee.begun(f"{SMALL}\nunreachable: stands", SETUPS)
    referee.away = {bob.address}
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.wait(timedelta(hours=5))
    referee.away.clear()
    referee.wait(timedelta(hours=1))
    referee.send(ann, "vacation 2026-03-10 to 2026-03-20\n")
    for what in ("pause", "resume"):
        referee.instruct(what)
    put_back(referee, back_up(referee))
    resume_all(referee)
    referee.instruct("end")
    return proof(referee, ann)


def raced(folder: Path) -> bytes:
    """A game of another package, with dice."""
    with referee_of(folder, "race", RACE) as referee:
        ann, bob = referee.agreed("", game="race")
        for person in (ann, bob, ann):
            referee.send(person, person.filled("orders", "final\nthrow a"))
        referee.send(bob, "resign m1 match\n")
        return proof(referee, ann)


def anonymous(referee: Referee) -> bytes:
    """A match whose players nobody knew before one resigned."""
    ann, bob, cem = people = [referee.registered(name) for name in ("ann", "bob", "cem")]
    opened(referee, people)
    for person in (bob, cem):
        referee.send(person, "resign m1 match\n")
    return proof(referee, ann)


def agreed(referee: Referee, one: Mailbox, other: Mailbox, game: str, options: str, setups: tuple[str, ...]) -> None:
    """A match to which both agree, with the first setups."""
    referee.send(one, new(one, game, other.name, options=options))
    referee.send(other, form_in(other.text, "accept", lines=1))
    for person, setup in zip((one, other), setups, strict=False):
        referee.send(person, person.filled("setup", setup))


def matches(referee: Referee) -> list[Mailbox]:
    """Match m1 is over; in m2 to m8, orders, setups or answers are waited for."""
    ann, _ = keyless(referee)
    referee.send(ann, "resign m1 match\n")
    carl, dan, eve = map(referee.registered, ("carl", "dan", "eve"))
    agreed(referee, ann, carl, "spaceships", f"{SMALL}\nmiss: default\nprivacy: private", SETUPS)
    referee.turn((ann, "Rv1"), (carl, ""))
    for place, text in (("turn 2", "final\nRv3"), ("turn 3", "if lost any then Rv2 else Bz5"), ("default", "Gx3")):
        _, _, form = ann.filled("orders", text).partition("\n")
        referee.send(ann, f"orders m2 {place}\n{form}")
    agreed(referee, dan, eve, "dueling-masters", "settle: 0", MASTERS)
    referee.turn((dan, "Z1 D1-J1"))
    referee.send(ann, "observe m3\n")
    referee.send(dan, "press m3 public\nGood luck!\nend\n")
    opened(referee, [referee.registered(name) for name in ("hal", "ida", "jo")], match="m4")
    agreed(referee, dan, carl, "spaceships", SMALL, SETUPS[:1])
    referee.send(dan, new(dan, "spaceships", "eve", options=SMALL))
    referee.send(dan, new(dan, "dueling-masters", "guest@mail.example"))
    referee.send(dan, "new shoot-em-up\nseats: 4\nend\n")
    return [ann, carl, dan, eve]


def sealed(referee: Referee, home: Path) -> None:
    """The sealed match m9, and the home of Fay, who has planned her next turn."""
    places = Places(home / "config" / "pbem", home / "state" / "pbem")
    account = Account("fay", SERVER, f"pbem@{SERVER}", "fay@mail.example", "~/key", "maildir:~/mail", "drafts:~/out")
    places.config.mkdir(parents=True)
    places.save(account)
    with tempfile.TemporaryDirectory() as elsewhere:
        fay = Owner(referee, referee.person("fay"), places.memory(account.id))
        gus = Owner(referee, referee.person("gus"), Path(elsewhere) / "memory.sqlite")
        for owner in (fay, gus):
            owner.register()
        propose(referee, [fay, gus], "spaceships")
        for moved in live([fay, gus]):
            if moved is gus and referee.match(9).turn > 1:
                break
        fay.agent.ahead.store("m9", referee.match(9).turn + 1, "")
        for owner in (fay, gus):
            owner.close()


def tournaments(referee: Referee) -> None:
    """Tournament t1 is being played, one match of it is over; t2 may be entered."""
    club = Club(referee, "una", "vic", "wim")
    club.announce("una", "entrants: 3")
    club.enter("una", "vic", "wim")
    club.win(club.awaited[0], club.awaited[0].players[0])
    referee.send(club.people["vic"], f"key add\n{ssh.public(key('vic'))}\n")
    referee.send(club.people["vic"], form_in(club.people["vic"].text, "confirm"), key=key("vic"))
    club.say("wim", f"tournament new spaceships\n{placed(club.people['wim'])}format: ladder\n{SMALL}\nend")


def people_and_post(referee: Desk, ann: Mailbox, carl: Mailbox, dan: Mailbox, eve: Mailbox) -> None:
    """Settings, keys, blocks, vacations; letters that came back, wait, failed, or were set aside."""
    referee.outage(timedelta(hours=20))
    notified(referee, eve)
    for line in ("set language de", "set mail digest", f"key add\n{ssh.public(another('ann'))}"):
        referee.send(ann, f"{line}\n")
    referee.send(carl, "block bob\nvacation 2026-07-01 to 2026-07-20\naddress add carl@home.example\n")
    referee.send(referee.person("zoe"), f"register zoe\n{ssh.public(another('zoe'))}\n", sign=False)
    for person in (ann, carl, dan, eve):
        referee.send(person, new(person, "spaceships", "una"))
    referee.send(carl, f"stop\n{placed(carl)}")
    referee.put(eve, "help\n")
    referee.database.execute("UPDATE inbox SET attempts = 3 WHERE state = 'waiting'")
    referee.work()
    bounce(referee, return_path(referee, carl), lost=carl.address)
    referee.away = {dan.address}
    referee.turn((eve, "Z1 G2-G3"))
    referee.put(carl, "help\n")
    Instructions(referee.database).give("pause", "m3", "the server moves", "root", referee.now)


def witnessed(referee: Desk, home: Path) -> None:
    """A checkpoint of the log is seen by a witness with this home."""
    home.mkdir()
    private = key("witness").private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (home / "witness_ed25519").write_bytes(private)
    settings = home / "witness.toml"
    settings.write_text(f'name = "w.example"\nlisten = "127.0.0.1:2526"\nlogs = ["{LOG_KEY}"]\n')
    with closing(Witness(load(settings))) as witness:
        referee.watch(witness.verifier)
        referee.wait(TEN)
        (asked,) = referee.due
        answer = witness.answer(CosignRequest.read(asked.request), referee.now)
        assert answer.note
        referee.answered(asked, 200, f"{answer.note.signatures[-1]}\n")


def server(folder: Path) -> dict[str, bytes]:
    """The folder of a server, the home of Fay and Ann's letters about m2; returns all that the server can prove."""
    home = folder / "server"
    home.mkdir()
    give_keys(home)
    (home / "pbem.toml").write_text(CONFIG.format(store="store.sqlite", listen=2525, port=2525))
    referee = Desk(home, "golden")
    note(referee.database, OwnKeys(referee.vault, referee.signing_key))
    referee.configure(notify=NotifyConfig(hosts=("ntfy.example",)))
    people = matches(referee)
    witnessed(referee, folder / "witness")
    referee.send(people[0], "status m2\n")  # whose answer brings what the witness saw
    sealed(referee, folder / "fay")
    tournaments(referee)
    people_and_post(referee, *people)
    tables = referee.database.engine.tables()
    empty = {table for table in tables if not referee.database.scalar(f"SELECT count(*) FROM {table}")}
    assert empty == {"owners", "tournament_tasks"}, empty  # who is at work, and on what
    (folder / "letters").mkdir()
    with closing(mailbox.mbox(folder / "letters" / "ann.mbox")) as letters:
        for raw in people[0].letters.came:
            if b"\nTranscript of m2 " in raw:
                letters.add(b"From pbem\n" + raw)
    bundles = {f"{read(content).entries[0].body['match']}.pbem": content for content in bundles_now(referee)}
    bundles["t1.pbem-tournament"] = referee.desk.director.archive.bundle(1, letters=True)
    for statement in (
        "DELETE FROM inbox WHERE state = 'done' AND id NOT IN (SELECT inbox FROM bounces)",  # as servers forget them
        "DELETE FROM outbox WHERE state = 'delivered' AND id NOT IN (SELECT outbox FROM bounces)",
        "PRAGMA journal_mode = DELETE",
        "VACUUM",
    ):
        referee.database.execute(statement)
    referee.close()
    return bundles


def others() -> dict[str, bytes]:
    """Bundles of what is not on that server: the vectors, and more."""
    bundles = {f"{name}.pbem": made(name) for name in GOOD.keys() - ALIKE - KEPT}
    for name in KEPT:
        bundles[f"{name}.pbem"] = (VECTORS / "good" / f"{name}.pbem.zip").read_bytes()
    for name, play in (("interrupted", interrupted), ("anonymous", anonymous)):
        with tempfile.TemporaryDirectory() as folder, closing(Referee(Path(folder), name)) as referee:
            bundles[f"{name}.pbem"] = play(referee)
    with tempfile.TemporaryDirectory() as folder:
        bundles["race.pbem"] = raced(Path(folder))
    swiss = SignedClub("format: swiss\nrounds: 3", *(f"player{number}" for number in range(16)))
    swiss.start()
    while pairing := next(swiss.state.awaited, None):
        swiss.resign(pairing.match, 2)
    ladder = SignedClub("format: ladder", "ann", "bob", "cem")
    ladder.win(ladder.challenge("cem", "bob"), 1)
    clubs = {"swiss.pbem-tournament": swiss.tournament(), "ladder.pbem-tournament": ladder.tournament()}
    return bundles | clubs


def keep(folder: Path) -> None:
    """Fill a folder with all that is kept."""
    bundles = server(folder) | others()
    (folder / "bundles").mkdir()
    for name, content in bundles.items():
        (folder / "bundles" / f"{name}.zip").write_bytes(content)
    matches = [read(content) for content in bundles.values() if not is_tournament(content)]
    assert {entry.type for match in matches for entry in match.entries} == {*TYPES}


def packed(folder: Path) -> bytes:
    """An archive of what is in a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = tarfile.TarInfo(path.relative_to(folder).as_posix())
            info.mode, info.size = 0o600, path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(info, file)
    return lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def write(version: str) -> None:
    """The archive of a version, and the verdicts beside it."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as again:
        for folder in (one, again):
            keep(Path(folder))
        content = packed(Path(one))
        assert content == packed(Path(again)), "made twice, these differ"
        with (FOLDER / f"{version}.tar.xz").open("xb") as file:  # none that is there is written over
            file.write(content)
        (FOLDER / f"{version}.txt").write_text("".join(verdicts(Path(one))), "utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
