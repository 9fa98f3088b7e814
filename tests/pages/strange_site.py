"""Write all pages in the language that nobody speaks into a folder: to be run in `judges.strange_place`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import structlog
from desk.test_tournaments import Club
from in_a_box.referee import SERVER, Referee, form_in
from judges.strange_place import TAG
from pages.test_site import PAGES, SMALL, SMALL_ANN, SMALL_BOB, play
from vectors.make import VECTORS

from pbem.desk.public import Public
from pbem.i18n import LANGUAGES
from pbem.pages import site
from pbem.pages.home_page import home_page
from pbem.pages.match_page import replay
from pbem.proof import bundle


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
        files = dict(site.pages({**facts, **public.site()}, public.finished(), (), list(public.tournaments())))
        referee.close()
    for name in ("dueling-masters", "three-seats", "sealed", "continued", "running"):
        found = bundle.read((VECTORS / "good" / f"{name}.pbem.zip").read_bytes())
        files[f"replay-{name}.{TAG}.html"] = replay(found, language=TAG)
    files[f"home.{TAG}.html"] = home_page("", TAG)
    for name, content in files.items():
        if name.endswith((f".{TAG}.html", f".{TAG}.xml")):
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
