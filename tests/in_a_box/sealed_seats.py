"""Players of sealed matches as the desk knows them: they write from their own secrets and from what letters brought.

Nothing here looks at the desk's match: the table is played again from the steps in the last document of the match.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from in_a_box.bulletins import FIELD, bulletin
from in_a_box.referee import Mailbox, attachment
from playing import random_players

from pbem.games import rules
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.mail.commands.sections import written
from pbem.match.sealed_game import NOTHING, ORDERS, SETUP, PaperPlace, hashed, paper, salt
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage

    from in_a_box.referee import Referee


def document(letter: EmailMessage) -> dict[str, Any] | None:
    """What a letter says of a match, the position or the requested setup; the last one, as it may tell of several."""
    found = None
    for part in letter.iter_attachments():
        if str(part.get_filename()).endswith(("-position.json", "-setup.json")):
            content = part.get_content()
            found = json.loads(content if isinstance(content, bytes) else content.encode())
    return found


@dataclass
class SealedSeat:
    """A player's secrets of one game, and the letters that follow from them."""

    box: Mailbox
    random: Random
    orders: dict[int, str] = field(default_factory=dict)
    setup: str = ""
    note: str = ""
    read: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    owes: list[str] = field(default_factory=list)
    letters: int = 0
    commitment: str = ""
    plan: dict[int, str] = field(default_factory=dict)
    """The orders of some turns; those of the others are decided."""
    lie: Callable[[str, tuple[str, ...]], tuple[str, ...]] = lambda _, lines: lines
    """What is told in place of the truth, by the step and its lines."""
    hide: Callable[[str], str] = hashed
    """What hides a secret paper."""

    @property
    def seed(self) -> bytes:
        return hashed(self.box.name).encode()[:32]

    def look(self) -> dict[str, Any]:
        """What the latest letters say."""
        for letter in self.box.letters[self.read :]:
            for item in bulletin(letter)["items"] if letter[FIELD] else ():
                if item["about"] == "match" and "sealed" in item:
                    self.owes = item["sealed"]["owes"][str(item["seat"])]
            found = document(letter)
            if found is not None:
                if found["game"] != self.told.get("game"):
                    self.orders, self.setup = {}, ""
                self.told = found
        self.read = len(self.box.letters)
        return self.told

    @property
    def place(self) -> PaperPlace:
        told = self.told
        return PaperPlace(told["server"], told["match"], told["game"], told["seat"], told["player"])

    def salt(self, turn: int, what: str) -> str:
        return salt(self.seed, self.place, turn, what)

    def table(self) -> Any:
        """What was told, played again."""
        sealed = sealed_rules(self.told["rules"])
        assert sealed is not None
        table = sealed.begin(self.options)
        for step in self.told["sealed"]["steps"]:
            table = sealed.enter(table, step["seat"], step["step"], step["lines"])
        return table

    @property
    def options(self) -> Any:
        return rules(self.told["rules"]).options(self.told["options"], len(self.told["names"]))

    def head(self, command: str, *, rev: int | None = None) -> str:
        told = self.told
        turn = f" turn {told['turn']}" if command == "step" else ""
        lines = [f"{command} {told['match']} game {told['game']}{turn}", f"server {told['server']}"]
        lines += [f"player {told['player']}", f"prev {told['prev']}"]
        return "\n".join(lines + ([f"rev {rev}"] if rev else []))

    def sections(self) -> list[Section]:
        """All that is owed, as sections."""
        owes = self.told["sealed"]["owes"]
        if owes == ["seal"]:
            return [Section("commitment", (self.commit_to_setup(),), "")]
        if owes == ["reveal"]:
            named = [Section(ORDERS, (str(turn),), text) for turn, text in sorted(self.orders.items())]
            return [Section("seed", (self.seed.hex(),), ""), Section(SETUP, (), self.setup), *named]
        return list(self.steps())

    def commit_to_setup(self) -> str:
        player, judge = random_players.PLAYERS[self.told["rules"]], rules(self.told["rules"])
        if not self.setup:
            text = player.setup(self.random, self.options, self.told["seat"])
            self.setup = judge.setup(self.options, self.told["seat"], text).text
        values = {"rules": self.told["sealed"]["terms"], "salt": self.salt(0, SETUP)}
        self.commitment = self.hide(paper(SETUP, self.place, 0, values, self.setup.split("\n")))
        return self.commitment

    def steps(self) -> Iterator[Section]:
        sealed = sealed_rules(self.told["rules"])
        assert sealed is not None
        table, seat = self.table(), self.told["seat"]
        papers = self.papers()
        while owed := sealed.owed(table, seat):
            own = sealed.own(self.options, seat, self.setup, self.orders, table)
            if sealed.asks(own, table):
                decide = random_players.PLAYERS[self.told["rules"]].orders
                if self.told["rules"] == "spaceships":
                    decide = random_players.sensible_orders
                text = self.plan.get(table.turn)
                if text is None:
                    text = decide(self.random, dict(sealed.own_view(own, table)))
                self.orders[table.turn] = sealed.order(own, text)
                own = sealed.own(self.options, seat, self.setup, self.orders, table)
            lines = self.lie(owed[0], sealed.lines(own, table, owed[0]))
            turn = table.turn
            if owed[0] == COMMIT:
                (opens,) = (step for step in ("open",) if step in sealed.papers)
                after = self.told["prev"]
                self.orders.setdefault(turn, sealed.orders(own, turn))
                told = self.lines_to_open(sealed, own, table)
                yield Section(COMMIT, (self.written(sealed, opens, table, papers, told, own, after)[1],), "")
                papers.append((turn, seat, COMMIT, "", after))
            else:
                committed = [after for t, s, step, _, after in papers if (t, s, step) == (turn, seat, COMMIT)]
                after = committed[-1] if committed else self.told["prev"]
                if owed[0] in ("open", "departs"):
                    self.orders.setdefault(turn, sealed.orders(own, turn))
                values, sha256 = self.written(sealed, owed[0], table, papers, lines, own, after)
                words = tuple(values[name] for name in sealed.papers[owed[0]].values)
                papers.append((turn, seat, owed[0], sha256, ""))
                yield Section(owed[0], words, "\n".join(lines))
            table = sealed.enter(table, seat, owed[0], lines)

    def lines_to_open(self, sealed: Any, own: Any, table: Any) -> tuple[str, ...]:
        """What the commitment is to: the lines of the step that opens it."""
        lines: tuple[str, ...] = sealed.lines(own, sealed.enter(table, self.told["seat"], COMMIT, ()), "open")
        return lines

    def papers(self) -> list[tuple[int, int, str, str, str]]:
        """Of the steps so far: turn, seat, step, hash of the paper, and the head that a commitment came after."""
        found = []
        for step in self.told["sealed"]["steps"]:
            after = self.afters.get(step.get("paper", ""), "")
            found.append((step["turn"], step["seat"], step["step"], step.get("paper", ""), after))
        return found

    afters: dict[str, str] = field(default_factory=dict)
    """By the hash that was committed to, the head that stands in the paper."""

    def written(
        self, sealed: Any, step: str, table: Any, papers: list[Any], lines: tuple[str, ...], own: Any, after: str
    ) -> tuple[dict[str, str], str]:
        kind, turn, seat = sealed.papers[step], table.turn, self.told["seat"]
        cited = [sha256 for t, s, name, sha256, _ in papers if t == turn and s != seat and name in kind.to]
        opened = [sha256 for t, s, name, sha256, _ in papers if (t, s, name) == (turn, seat, "open")]
        commitment = self.told["sealed"]["commitments"][str(seat)]
        values = {
            "rules": self.told["sealed"]["terms"],
            "setup": commitment,
            "after": after,
            "to": cited[-1] if cited else NOTHING,
            "own": opened[-1] if opened else NOTHING,
            "salt": self.salt(turn, kind.name),
        }
        if ORDERS in kind.heads:
            secret = {"setup": commitment, "salt": self.salt(turn, ORDERS)}
            text = sealed.orders(own, turn)
            values[ORDERS] = self.hide(paper(ORDERS, self.place, turn, secret, text.split("\n") if text else []))
        values = {name: values[name] for name in kind.heads}
        sha256 = hashed(paper(kind.name, self.place, turn, values, lines))
        self.afters[sha256] = after
        return values, sha256

    def letter(self) -> str | None:
        """The letter that is due, unsigned; None where nothing is."""
        self.look()
        owes = self.owes
        if not owes:
            return None
        assert owes == self.told["sealed"]["owes"], "bulletin and document say the same"
        command = owes[0] if owes[0] in ("seal", "reveal") else "step"
        found = self.sections()
        if self.note and command != "reveal":
            found.append(Section("note", (), self.note))
        head = self.head(command, rev=self.told["rev"] if command == "seal" else None)
        return f"{head}\n{written(found)}\nend\n"

    def write(self, referee: Referee) -> bool:
        """Send what is due; whether anything was."""
        text = self.letter()
        if text is None:
            return False
        before = len(self.box.letters)
        referee.send(self.box, text, follow=False)
        self.letters += 1
        answer = referee.people[self.box.address].letters[before]
        assert "refused" not in str(answer.get_body(("plain",))).lower(), text + str(answer.get_body(("plain",)))
        return True


def agreed(referee: Referee, *names: str, game: str = "spaceships", options: str = "") -> list[SealedSeat]:
    """A sealed match that everybody has accepted."""
    boxes = [referee.registered(name) for name in names]
    with_ = ", ".join(names[1:])
    referee.send(boxes[0], f"new {game} with {with_}\nsealed: yes\n{options}end\n")
    for box in boxes[1:]:
        line = next(line for line in box.text.split("\n") if line.startswith("accept m"))
        referee.send(box, line + "\n")
    return [SealedSeat(box, Random(name)) for box, name in zip(boxes, names, strict=True)]


def play(referee: Referee, seats: list[SealedSeat], most: int = 1000) -> int:
    """Let everybody send what is due, until nothing is or so many letters were sent; how many."""
    sent = 0
    while sent < most:
        before = sent
        for seat in seats:
            sent += seat.write(referee)
        if sent == before:
            break
    return sent


__all__ = ["SealedSeat", "agreed", "attachment", "document", "play"]
