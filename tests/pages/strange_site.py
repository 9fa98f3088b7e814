"""Write all pages in the language that nobody speaks into a folder: to be run in `judges.strange_place`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import structlog
from in_a_box.mailing_club import Club
from in_a_box.referee import ANN, BOB, SERVER, Referee, attachment, form_in, new, placed
from judges.strange_place import TAG
from pages.test_site import PAGES, SMALL, SMALL_ANN, SMALL_BOB, play
from playing.random_players import PLAYERS, sensible_orders
from vectors.matches import good

from pbem.desk.public import Public
from pbem.desk.tournament.tournament_pages import public_tournaments
from pbem.i18n import LANGUAGES
from pbem.pages import fragment, home_page, site
from pbem.pages.match_page import replay

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox

SETUPS = {
    "spaceships": {"ann": ANN, "bob": BOB},
    "dueling-masters": {
        "ann": "* A1 A2 A3 A4 A5 A6 A7\nW C1\nB C2\nX C3 C4\nY C5 C6\nZ C7 C8 C9 C10\nH B5",
        "bob": "* J1 J2 J3 J4 J5 J6 J7\nW H1\nB H2\nX H3 H4\nY H5 H6\nZ H7 H8 H9 H10\nH I5",
    },
    "shoot-em-up": {
        "ann": "A b1 N\nB c1 N\nC d1 N",
        "bob": "D b9 S\nE c9 S\nF d9 S",
        "cem": "G a3 E\nH a4 E\nI a5 E",
    },
}


def composing() -> dict[str, list[str]]:
    """The ends of links to the composers, by game: one for a setup, others for orders, with what happened before."""
    found: dict[str, list[str]] = {}
    for game, setups in SETUPS.items():
        with tempfile.TemporaryDirectory() as place:
            referee = Referee(Path(place))
            people = [referee.registered(name) for name in setups]
            referee.send(people[0], f"set language {TAG}\n{placed(people[0])}")
            first, *others = people
            referee.send(first, new(first, game, *(other.name for other in others), options="settle: 0"))
            for other in others:
                referee.send(other, form_in(other.text, "accept", lines=1))
            for person in people:
                referee.send(person, person.filled("setup", setups[person.name]))
            random = Random(2)
            orders = sensible_orders if game == "spaceships" else PLAYERS[game].orders
            for _ in range(4):
                asked = []
                for person in people:
                    position = json.loads(latest(person, "position.json"))
                    asked += [(person, orders(random, position["view"]))] if position["asked"] else []
                referee.turn(*asked)
            files = [
                attachment(letter, "position.json") for letter in first.letters if "position.json" in str(letter)
            ]
            wanted = [latest(first, "setup.json"), *files[::3]]
            found[game] = [fragment(json.loads(file)) for file in wanted]
            referee.close()
    return found


def latest(person: Mailbox, name: str) -> bytes:
    """The file of this name in the latest letter that has one."""
    return attachment(next(letter for letter in reversed(person.letters) if name in str(letter)), name)


def main(folder: Path) -> None:
    assert TAG in LANGUAGES
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as place:
        referee = Referee(Path(place))
        ann, bob = play(referee)
        referee.send(ann, "press m1 public\n2 + 2 = 4\nend\n")
        referee.send(ann, "new spaceships\nsettle: 0\nend\n")
        referee.send(ann, f"new spaceships with bob\n{SMALL}\nend\n")
        referee.send(bob, form_in(bob.text, "accept", lines=1))
        referee.send(ann, ann.filled("setup", SMALL_ANN))
        referee.send(bob, bob.filled("setup", SMALL_BOB))
        club = Club(referee, "carl", "dora", "emil")
        club.announce("carl")
        club.enter("carl", "dora", "emil")
        club.start()
        club.win(club.awaited[0], club.awaited[0].players[0])
        public = Public(SERVER, referee.database, referee.vault)
        facts = {"server": SERVER, "address": f"pbem@{SERVER}", "delimiter": "+", "pages": PAGES, "house": "house"}
        played = list(public_tournaments(SERVER, referee.database, referee.vault))
        files = dict(site.pages({**facts, **public.site()}, public.finished(), (), played))
        referee.close()
    for name in ("dueling-masters", "three-seats", "sealed", "continued", "running"):
        found = good(name)
        files[f"replay-{name}.{TAG}.html"] = replay(found, language=TAG)
    files[f"home.{TAG}.html"] = home_page("", bool, TAG)
    (folder / "links.json").write_text(json.dumps(composing()))
    for name, content in files.items():
        if name.endswith((f".{TAG}.html", f".{TAG}.xml")):
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
