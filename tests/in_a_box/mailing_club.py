"""A club that plays a tournament by mail, at a referee in a box: announced, entered, ruled on and proved."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from in_a_box.referee import START, Mailbox, Referee, body, placed

from pbem.desk.public import Public
from pbem.desk.tournament.tournament_pages import public_tournaments
from pbem.pages.site import pages, publish
from pbem.proof.tournament_proof import verify_tournament
from verifier import judged_tournament

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pbem.tournament.tournament_state import Pairing, Tournament

DAY = timedelta(days=1)
CLOSES = (START + 4 * DAY).date().isoformat()
SMALL = "fleet: cost:3\nsettle: 0"
RULED = "It is shown with your reason, as your word"


class Club:
    """The players of one tournament, at a referee in a box."""

    def __init__(self, referee: Referee, *names: str) -> None:
        self.referee = referee
        self.people = {name: referee.registered(name) for name in names}

    def announce(self, by: str, options: str = "") -> str:
        person = self.people[by]
        closes = "" if "ladder" in options else f"closes: {CLOSES}\n"
        self.referee.send(person, f"tournament new spaceships\n{placed(person)}{closes}{SMALL}\n{options}\nend\n")
        assert "Announced." in person.text, person.text
        return self.t.rules_hash

    def say(self, name: str, text: str) -> str:
        """The answer to a letter; what comes of it comes later, in letters of its own."""
        person = self.people[name]
        before = len(person.letters)
        self.referee.send(person, f"{text}\n")
        answers = [one for one in person.letters[before:] if str(one["Subject"]).startswith("Re: ")]
        return body(answers[-1]) if answers else person.text

    def enter(self, *names: str) -> None:
        for name in names:
            text = self.say(name, f"enter t1 {self.t.rules_hash}")
            assert "You are in." in text, text

    def start(self) -> None:
        self.referee.wait(START + 3.5 * DAY + timedelta(hours=1) - self.referee.now)
        assert self.t.phase != "open"

    def begin(self, options: str = "") -> None:
        """Ann, Bob and Carl enter what Ann announces, and it starts."""
        self.announce("ann", options)
        self.enter("ann", "bob", "carl")
        self.start()

    def win(self, pairing: Pairing, winner: str) -> None:
        """The other player resigns the match."""
        loser = next(name for name in pairing.players if name != winner)
        self.say(loser, f"resign {pairing.match} match")

    def play_out(self) -> None:
        """Play all matches under way; whoever comes first in the alphabet wins."""
        for pairing in self.awaited:
            self.win(pairing, min(pairing.players))

    @property
    def t(self) -> Tournament:
        found = self.referee.desk.director.archive.load(1)
        assert found is not None
        return found

    @property
    def awaited(self) -> list[Pairing]:
        return [pairing for pairing in self.t.awaited if pairing.match]

    def publish(self, folder: Path) -> None:
        """Write the public pages of the server."""
        desk = self.referee.desk
        public = Public(desk.config.server, desk.database, desk.vault)
        home = {"server": "play.example", "address": "pbem@play.example", "delimiter": "+", "pages": ""}
        tournaments = list(public_tournaments(desk.config.server, desk.database, desk.vault))
        publish(folder, pages({**home, **public.site()}, public.finished(), (), tournaments))

    def proof(self, bundles: Iterable[bytes] | None = None) -> list[str]:
        content = self.referee.desk.director.archive.bundle(1, letters=True)
        found = list(verify_tournament(content, bundles))
        judged_tournament(content, bundles or ())
        assert not [check for check in found if check.standing == "FAIL"], found[-1]
        return [f"{check.standing} {check.found}" for check in found]

    def bundles(self) -> list[bytes]:
        desk = self.referee.desk
        matches = [int(pairing.match[1:]) for pairing in self.t.pairings if pairing.match]
        return [desk.archive.bundle(*desk.archive.known(number), None) for number in matches]


def letters_about(person: Mailbox, subject: str) -> list[str]:
    return [body(letter) for letter in person.letters if subject in str(letter["Subject"])]


def planned(club: Club) -> Referee:
    """The referee of a tournament whose matches are about to begin."""
    club.announce("ann")
    club.enter("ann", "bob", "carl")
    referee = club.referee
    referee.now = START + 4 * DAY
    with referee.database.transaction():
        referee.desk.director.wake(1, referee.now)
    return referee
