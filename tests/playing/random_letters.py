"""Letters of several commands, most of them nearly right, for both players of a match; one may have no key."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from in_a_box.keyless import reply_to
from in_a_box.referee import SERVER, Mailbox, form_in, placed
from vectors.matches import home, proposed, reply

if TYPE_CHECKING:
    from random import Random

    from in_a_box.referee import Referee

OPTIONS = "fleet: cost:3\nsettle: 0\nkind: scored\ngames: 2\nmiss: "
SETUPS = ("MD Rv1 Rv2 Rv3", "MD Bv1 Bv2 Bv3")
CELLS = ("Rv1", "Rv2", "Bv1", "Bv2", "Bz5", "Gx3", "Gw2")
NAMES = (
    "orders",
    "orders",
    "later",
    "later",
    "default",
    "clear",
    "clear",
    "setup",
    "extend",
    "draw",
    "annul",
    "claim",
    "substitute",
    "resign",
    "press",
    "preview",
    "status",
    "help",
)


class Table:
    """A match between Ann and Bob, of whom letters come; Carl may take a seat."""

    def __init__(self, referee: Referee, random: Random) -> None:
        self.referee, self.random = referee, random
        self.boxed = random.random() < 0.5
        options = OPTIONS + random.choice(("default", "default", "default", "wait", "pass", "forfeit"))
        if self.boxed:
            domain, *self.people = proposed(referee, options)
            bob = self.people[1]
            reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
        else:
            self.people = list(referee.agreed(options))
        self.people.append(referee.registered("carl"))

    @property
    def first(self) -> Mailbox:
        """The player in seat 1."""
        return next(one for one in self.people if one.name == self.referee.match().name(1))

    def play(self, letters: int) -> None:
        """Let so many letters come; in half of them somebody does what is due."""
        for _ in range(letters):
            match = self.referee.match()
            if match.phase not in {"setup", "playing"}:
                break
            person = self.random.choice([one for one in self.people if one.name in match.names])
            if self.chance(0.5):
                self.send(person, self.due(person))
                continue
            count = self.random.choice((1, 2, 2, 3, 4))
            self.send(person, "".join(self.command(person) for _ in range(count)))
            if self.chance(0.1):
                self.referee.wait(timedelta(days=self.random.choice((1, 8, 11))))

    def send(self, person: Mailbox, text: str) -> None:
        if self.by_key(person):
            self.referee.send(person, text, follow=self.chance(0.5))
            return
        latest = next(one for one in reversed(person.letters) if "+m1" in str(one["Reply-To"]))
        reply(self.referee, home(), person, text, reply_to(latest))

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def by_key(self, person: Mailbox) -> bool:
        return not (self.boxed and person.name == "bob")

    # What letters say.

    def due(self, person: Mailbox) -> str:
        """The setup or the orders that are due, as they should be."""
        match = self.referee.match()
        seat = match.seat_of(person.name) or 1
        setting_up = match.phase == "setup"
        before = (match.setups if setting_up else match.orders).get(seat)
        head = f"setup m1 game {match.game}" if setting_up else f"orders m1 turn {match.turn}"
        text = SETUPS[seat - 1] if setting_up else f"final\n{self.random.choice(CELLS)}"
        return f"{head}\n{placed(person)}prev {match.prev}\nrev {before.rev + 1 if before else 1}\n{text}\nend\n"

    def command(self, person: Mailbox) -> str:
        """A command that may or may not be right here."""
        match = self.referee.match()
        name = self.random.choice(NAMES)
        if match.phase == "setup" and self.chance(0.6):
            name = self.random.choice(("setup", "setup", "clear"))
        if name in {"orders", "later", "default", "setup"}:
            return self.block(person, name)
        match name:
            case "press":
                return f"press m1\n{placed(person)}orders m1 turn 1 rev 1 Rv1\nresign m1 match\nend\n"
            case "preview":
                return f"preview m1 turn {match.turn}\nRv1\nend\n"
            case "status" | "help":
                return f"{name}\n"
        words = self.words(name, match.names)
        lines = self.place(person)
        if match.phase == "playing":
            lines += [f"turn {match.turn}"] * (" turn " not in words and self.chance(0.9))
            lines += [f"game {self.random.choice((1, 2))}"] * self.chance(0.1)
        else:
            lines += [f"game {match.game}"] * self.chance(0.9) + ["turn 1"] * self.chance(0.05)
        return self.written([f"{name} m1{words}", *lines]) + "end\n" * (bool(lines) and self.chance(0.8))

    def words(self, name: str, names: tuple[str, ...]) -> str:
        """The words of a sentence behind the match."""
        match, choice = self.referee.match(), self.random.choice
        if name == "clear":
            return choice(("", f" turn {match.turn}", f" turn {match.turn + 1}", " default"))
        if name == "extend":
            return choice((" 1h", " 60m", " 3d", " 72h"))
        if name in {"draw", "annul"}:
            return choice((" offer", " offer", " decline", " accept" if name == "draw" else " offer"))
        if name == "substitute":
            return f" {choice(('carl', 'none'))} for {choice(names)}" + f" {match.rules_hash}" * self.chance(0.2)
        if name == "resign":
            return choice((" game 9", " game 9", " game 9", f" game {match.game}"))
        return ""

    def block(self, person: Mailbox, name: str) -> str:
        """A setup, or orders."""
        match, choice = self.referee.match(), self.random.choice
        heads = {
            "setup": f"setup m1 game {match.game}" if self.chance(0.9) else "setup m1",
            "orders": f"orders m1 turn {match.turn}",
            "later": f"orders m1 turn {match.turn + choice((1, 1, 2))}",
            "default": "orders m1 default",
        }
        text = choice((*SETUPS, "MD Gx1 Gx2 Gx3", "XYZ"))
        if name != "setup":
            cell, other = choice(CELLS), choice(CELLS)
            text = choice(("", "# none", cell, cell, f"{cell} {other}", f"{cell} # {other}", "mRv1 Rv5", "XYZ"))
        final = ["final"] * (name != "setup" and self.chance(0.7))
        return self.written([heads[name], *self.place(person), *final]) + f"{text}\nend\n"

    def place(self, person: Mailbox) -> list[str]:
        """The lines that say where a form belongs: of who has no key, few of them."""
        match = self.referee.match()
        of = 0.95 if self.by_key(person) else 0.25
        prev = (
            match.prev if self.chance(0.8) else self.random.choice([match.prev, *(turn.prev for turn in match.turns)])
        )
        lines = (
            f"server {SERVER}",
            f"player {person.name}",
            f"prev {prev}",
            f"rev {self.random.choice((1, 1, 2, 3, 5))}",
        )
        return [line for line in lines if self.chance(of)]

    def written(self, lines: list[str]) -> str:
        """In lines, or in one; sometimes in capitals."""
        text = self.random.choice(("\n", "\n", " ")).join(lines) + "\n"
        return text.upper() if self.chance(0.1) else text
